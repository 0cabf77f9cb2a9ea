/*
 * policy.c - the verdict on a path; see policy.h. build.c compiles the rules.
 *
 * Order of strength: an explicit --hide, then an explicit rule for the very
 * path, then the curated secrets, then what the profile closes. A rule on a
 * directory covers what is below it, the last one that covers a path wins,
 * and a hide on a path wins over any rule on an ancestor. Where a directory is
 * shown at another place (--ro PATH:GUEST, --root), both names count.
 *
 * Trust: paths come from the guest (walked, absolute, without ".."); rules
 * are the operator's. Immutable, so no locks.
 */
#include "policy.h"

#include <stdio.h>

#include "../../fs/vfs.h"
#include "../base/costs.h"
#include "curated.h"
#include "glob.h"
#include "rules.h"

/* What the explicit rules say of one path: numbers from 1, 0 none. */
struct explicit_match {
	size_t hide;  /* last hide rule that matches the path itself */
	size_t exact; /* last other rule on this very path */
	size_t cover; /* last other rule on it or an ancestor */
	bool above;   /* the path is an ancestor of a rule's path */
};

static void explicit_find(const struct policy *p, const char *path,
			  size_t path_len, struct explicit_match *m)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct file_rule *r = &p->files[i];
		size_t len;

		if (r->access == FILE_HIDE) {
			if (glob_match(r->path, path))
				m->hide = i + 1;
			continue;
		}
		len = strlen(r->guest);
		if (path_covers(r->guest, len, path)) {
			m->cover = i + 1;
			if (path_len == len)
				m->exact = i + 1;
		} else if (path_covers(path, path_len, r->guest)) {
			m->above = true;
		}
	}
}

static bool is_sample(const struct policy *p, const char *path)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; p->samples && name && curated_env_samples[i]; i++)
		if (strcmp(name + 1, curated_env_samples[i]) == 0)
			return true;
	return false;
}

/* Most patterns fail on one byte: this is asked of every name once. */
static bool secret_match(const struct secret *s, const char *path,
			 size_t path_len, const char *name)
{
	if (s->name_only)
		return name[1] == s->name_only[1] &&
		       glob_match(s->name_only, name);
	return path_len >= s->literal &&
	       path[s->literal - 1] == s->pattern[s->literal - 1] &&
	       memcmp(path, s->pattern, s->literal) == 0 &&
	       glob_match(s->pattern, path);
}

static const struct secret *secret_find(const struct policy *p,
					const char *path, size_t path_len,
					bool outside)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name && i < p->nsecrets; i++)
		if ((outside || !p->secrets[i].outside) &&
		    secret_match(&p->secrets[i], path, path_len, name) &&
		    !is_sample(p, path))
			return &p->secrets[i];
	return NULL;
}

/* The closed place that hides the path, or NULL if it is shown. */
static const struct place *closed_find(const struct policy *p, const char *path,
				       size_t path_len)
{
	const struct place *closed = NULL;

	for (size_t i = 0; i < p->nplaces; i++) {
		const struct place *x = &p->places[i];

		if (x->kind == PLACE_CLOSED && path_len > x->len &&
		    path_covers(x->path, x->len, path) &&
		    (!closed || x->len > closed->len))
			closed = x;
	}
	for (size_t i = 0; closed && i < p->nplaces; i++) {
		const struct place *x = &p->places[i];

		if (x->kind == PLACE_CLOSED)
			continue;
		if (x->kind == PLACE_SHOWN && x->len >= closed->len &&
		    x->len <= path_len && path_covers(x->path, x->len, path))
			return NULL;
		if (x->len >= path_len && path_covers(path, path_len, x->path))
			return NULL; /* on the way to something shown */
	}
	return closed;
}

static unsigned secret_mask(const struct secret *s, uint32_t *rule)
{
	*rule = s->rule;
	return VFS_MASK_NOLOWER | (s->standin ? VFS_MASK_STANDIN : 0);
}

char *policy_host_path(const struct policy *p, const char *path, size_t *given)
{
	const struct file_rule *r = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct file_rule *x = &p->files[i];
		size_t len = strlen(x->guest);

		if (x->access == FILE_HIDE || len < longest ||
		    !path_covers(x->guest, len, path))
			continue;
		longest = len;
		r = x;
	}
	if (!r || r->access == FILE_TMPFS ||
	    (!p->cfg->root && !strcmp(r->path, r->guest)))
		return NULL;
	*given = strlen(r->path);
	return xasprintf("%s%s", r->path, path + longest);
}

/* What is kept by its name on the host is kept wherever it is shown: what the
 * rules say of the host's names, below the one that was given. */
static unsigned host_mask(const struct policy *p, const char *path,
			  const struct explicit_match *m, uint32_t *rule)
{
	size_t given = 0;
	AUTO_FREE char *host = policy_host_path(p, path, &given);
	const struct secret *secret = NULL;
	const struct place *closed;

	if (!host)
		return 0;
	for (size_t i = p->nfiles; i > m->exact; i--)
		if (p->files[i - 1].access == FILE_HIDE &&
		    glob_match(p->files[i - 1].path, host)) {
			*rule = (uint32_t)i;
			return VFS_MASK_HIDE;
		}
	if (m->exact)
		return 0;
	/* A secret directory may itself be shown, for what is given in it. */
	for (size_t n = given + 1; !secret && host[n - 1]; n++) {
		char end = host[n];

		if (end && end != '/')
			continue;
		host[n] = '\0';
		if (end || !m->above)
			secret = secret_find(p, host, n, true);
		host[n] = end;
	}
	if (secret)
		return secret_mask(secret, rule);
	closed = closed_find(p, host, strlen(host));
	if (!closed || closed->len <= given)
		return 0;
	*rule = closed->rule;
	return VFS_MASK_NOLOWER;
}

static unsigned mask_find(const struct policy *p, const char *path,
			  unsigned inherited, uint32_t *rule)
{
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);
	struct explicit_match m;
	const struct secret *secret = NULL;
	const struct place *closed;
	unsigned mask = 0;

	*rule = 0;
	if (inherited & VFS_MASK_HIDE)
		return VFS_MASK_HIDE;
	explicit_find(p, len ? path : "", len, &m);
	if (m.hide && m.exact < m.hide) {
		*rule = (uint32_t)m.hide;
		return VFS_MASK_HIDE;
	}
	if (m.cover) {
		*rule = (uint32_t)m.cover;
		if (p->files[m.cover - 1].access == FILE_RO)
			mask |= VFS_MASK_RO;
	}
	if (m.cover) {
		unsigned host = host_mask(p, path, &m, rule);

		if (host)
			return mask | host;
	}
	if (m.exact)
		return mask | VFS_MASK_RESET;
	if (!m.above)
		secret = secret_find(p, path, len, false);
	if (secret)
		return mask | secret_mask(secret, rule);
	closed = closed_find(p, len ? path : "", len);
	if (closed) {
		/* what is closed already has a more telling name */
		if (!(inherited & VFS_MASK_NOLOWER))
			*rule = closed->rule;
		mask |= VFS_MASK_NOLOWER;
	}
	return mask;
}

unsigned policy_mask(void *policy, const char *path, unsigned inherited,
		     uint32_t *rule)
{
	enum costs_part back = costs_enter(COSTS_POLICY);
	unsigned mask = mask_find(policy, path, inherited, rule);

	costs_leave(back);
	return mask;
}

const char *policy_rule_name(const struct policy *p, uint32_t rule)
{
	if (rule == 0 || rule > p->nnames)
		return "default";
	return p->names[rule - 1];
}

/* A path as a shell reads it back: the guest may have chosen its name. */
static void hint_path(const char *option, const char *path, char *buf,
		      size_t size)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_./+,@%:=-";
	bool quote = path[strspn(path, plain)] != '\0';
	size_t n =
		(size_t)snprintf(buf, size, "%s %s", option, quote ? "'" : "");

	for (; *path && n + 6 < size; path++) {
		if (*path == '\'') {
			memcpy(buf + n, "'\\''", 4);
			n += 4;
		} else {
			buf[n++] = *path;
		}
	}
	if (*path) /* half a path would name something else */
		n = (size_t)snprintf(buf, size, "%s PATH", option);
	else if (quote)
		buf[n++] = '\'';
	buf[n] = '\0';
}

const char *policy_rule_hint(const struct policy *p, uint32_t rule,
			     const char *path, char *buf, size_t size)
{
	if (rule == 0 || rule > p->nnames)
		return NULL;
	if (rule > p->nfiles) {
		size_t given;
		AUTO_FREE char *host = policy_host_path(p, path, &given);
		AUTO_FREE char *both =
			host ? xasprintf("%s:%s", host, path) : NULL;

		hint_path("--ro", both ? both : path, buf, size);
	} else if (p->files[rule - 1].access == FILE_HIDE ||
		   p->files[rule - 1].access == FILE_RO) {
		snprintf(buf, size, "leave out %s", p->names[rule - 1]);
	} else {
		return NULL;
	}
	return buf;
}

static void show_places(const struct policy *p, enum place_kind kind,
			const char *title, struct strbuf *out)
{
	bool any = false;
	size_t missing = 0;

	for (size_t i = 0; i < p->nplaces; i++) {
		const struct place *x = &p->places[i];

		if (x->kind != kind)
			continue;
		if (kind == PLACE_SHOWN && !p->cfg->root && x->len &&
		    access(x->path, F_OK) < 0 && errno == ENOENT) {
			missing++;
			continue;
		}
		if (!any)
			strbuf_puts(out, title);
		any = true;
		strbuf_puts(out, "  ");
		strbuf_visible(out, x->len ? x->path : "/",
			       x->len ? x->len : 1);
		strbuf_printf(out, "  (%s)\n", x->why);
	}
	if (missing)
		strbuf_printf(out, "  %zu more that do not exist here\n",
			      missing);
}

void policy_show(const struct policy *p, struct strbuf *out)
{
	static const char *const words[] = {
		[FILE_RO] = "ro",
		[FILE_RW] = "rw",
		[FILE_HIDE] = "hide",
		[FILE_TMPFS] = "tmpfs",
	};

	strbuf_printf(out, "profile: %s\n", p->cfg->profile);
	if (p->nfiles)
		strbuf_puts(out, "rules given, the last that matches wins:\n");
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct file_rule *r = &p->files[i];
		const char *path = r->access == FILE_HIDE ? r->path : r->guest;

		strbuf_printf(out, "  %-5s ", words[r->access]);
		strbuf_visible(out, path, strlen(path));
		strbuf_puts(out, "  (");
		strbuf_visible(out, p->names[i], strlen(p->names[i]));
		strbuf_puts(out, ")\n");
	}
	show_places(p, PLACE_CLOSED,
		    "not shown but for what is listed below "
		    "under \"shown\":\n",
		    out);
	show_places(p, PLACE_SHOWN, "shown (what is written goes to memory):\n",
		    out);
	show_places(p, PLACE_STUB, "shown as a directory only:\n", out);
	if (p->nsecrets)
		strbuf_puts(out, "secrets, not shown (the program may make its "
				 "own in memory):\n");
	for (size_t i = 0; i < p->nsecrets; i++)
		strbuf_printf(
			out, "  %s  (%s%s%s)\n", p->secrets[i].pattern,
			p->secrets[i].why,
			p->secrets[i].standin ? "; a made-up one is shown" : "",
			p->secrets[i].outside ? "; the host's, by --ro" : "");
	if (!p->nplaces || p->places[0].kind != PLACE_CLOSED ||
	    p->places[0].len)
		strbuf_puts(out, "everything else: shown as the user may read "
				 "it; what is written goes to memory\n");
}
