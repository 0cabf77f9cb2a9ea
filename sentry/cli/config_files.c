/*
 * config_files.c - the options that change what a run sees of the host.
 *
 * A policy file's entry comes this way too: then o->entry is set, relative
 * paths begin at the work directory, and a path that is missing may be
 * skipped or made, as the entry says.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "config_priv.h"

char *config_absolute(const struct run_options *o, const char *path)
{
	AUTO_FREE char *cwd = NULL;
	const char *home = getenv("HOME");

	if (*path == '/')
		return xstrdup(path);
	if (path[0] == '~' && (!path[1] || path[1] == '/') && home)
		return xasprintf("%s%s", home, path + 1);
	if (o->base)
		return xasprintf("%s/%s", o->base, path);
	cwd = getcwd(NULL, 0);
	return xasprintf("%s/%s", cwd ? cwd : "", path);
}

static struct file_rule *add_rule(struct run_options *o,
				  enum file_access access, const char *option,
				  const char *value)
{
	struct config *cfg = &o->cfg;
	struct file_rule *r;

	cfg->files = realloc(cfg->files, (cfg->nfiles + 1) * sizeof(*r));
	BUG_ON(!cfg->files);
	r = &cfg->files[cfg->nfiles++];
	memset(r, 0, sizeof(*r));
	r->access = access;
	r->origin = o->entry ? xstrdup(o->entry->origin)
			     : xasprintf("--%s %s", option, value);
	return r;
}

/* Resolved as far as it exists; the walker asks about resolved paths. */
static char *resolve_missing(const char *path)
{
	AUTO_FREE char *head = xstrdup(path);
	char *slash;

	while ((slash = strrchr(head, '/')) && slash > head) {
		char *real, *out;

		*slash = '\0';
		real = realpath(head, NULL);
		if (!real)
			continue;
		out = xasprintf("%s%s", strcmp(real, "/") ? real : "",
				path + (slash - head));
		free(real);
		return out;
	}
	return xstrdup(path);
}

/* What is not there: what a policy file's entry says of that. NULL: an error,
 * or (with errno 0) nothing to be done. */
static char *host_missing(const struct run_options *o, const char *whole,
			  enum file_access access)
{
	const struct policy_option *e = o->entry;

	if (!e || errno != ENOENT)
		return NULL;
	if (e->missing == MISSING_SKIPPED ||
	    (e->missing == MISSING_MADE && o->asks)) {
		errno = 0;
		return NULL;
	}
	/* only the user may look: it is for a program's state */
	if (e->missing == MISSING_MADE)
		return mkdir(whole, 0700) < 0 ? NULL : realpath(whole, NULL);
	/* a rule holds whether or not the path exists yet */
	return access == FILE_RO ? resolve_missing(whole) : NULL;
}

static int bad_host(const char *option, const char *value, const char *what,
		    struct strbuf *err)
{
	strbuf_printf(err, "--%s ", option);
	strbuf_visible(err, value, strlen(value));
	strbuf_printf(err, ": %s", what);
	return -EINVAL;
}

/* PATH or PATH:GUEST; a path that exists with its colon is taken whole. */
static int add_host(struct run_options *o, const char *value,
		    enum file_access access, struct strbuf *err)
{
	const char *option = access == FILE_RW ? "rw" : "ro";
	AUTO_FREE char *whole = config_absolute(o, value);
	char *real = realpath(whole, NULL), *guest = NULL;
	struct file_rule *r;

	if (!real && o->entry && strpbrk(value, "*?["))
		return bad_host(option, value,
				"a pattern goes with access: hide only", err);
	if (!real) {
		char *colon = strrchr(whole, ':');

		if (colon) {
			*colon = '\0';
			guest = colon + 1;
			real = realpath(whole, NULL);
		}
		if (real && guest && *guest != '/') {
			free(real);
			return bad_host(option, value,
					"the place inside must be an absolute "
					"path",
					err);
		}
	}
	if (!real && !guest)
		real = host_missing(o, whole, access);
	if (!real)
		return errno ? bad_host(option, value, strerror(errno), err)
			     : 0;
	r = add_rule(o, access, option, value);
	r->path = real;
	r->guest = xstrdup(guest ? guest : real);
	return 0;
}

int opt_ro(void *t, const char *value, struct strbuf *err)
{
	return add_host(t, value, FILE_RO, err);
}

int opt_rw(void *t, const char *value, struct strbuf *err)
{
	return add_host(t, value, FILE_RW, err);
}

int opt_tmpfs(void *t, const char *value, struct strbuf *err)
{
	AUTO_FREE char *path = config_absolute(t, value);
	char *real = realpath(path, NULL);
	struct file_rule *r;

	if (strcmp(path, "/") == 0) {
		strbuf_puts(err, "--tmpfs /: an empty root has no programs");
		free(real);
		return -EINVAL;
	}
	r = add_rule(t, FILE_TMPFS, "tmpfs", value);
	r->path = real ? real : xstrdup(path);
	r->guest = xstrdup(r->path);
	return 0;
}

/* Where relative paths begin, as a pattern that means just that. */
static char *quoted_base(const struct run_options *o)
{
	AUTO_FREE char *cwd = o->base ? xstrdup(o->base) : getcwd(NULL, 0);
	char *out = xmalloc(cwd ? 2 * strlen(cwd) + 1 : 1), *q = out;

	for (const char *p = cwd; p && *p; p++) {
		if (strchr("*?[\\", *p))
			*q++ = '\\';
		*q++ = *p;
	}
	*q = '\0';
	return out;
}

int opt_hide(void *t, const char *value, struct strbuf *err)
{
	bool special = strpbrk(value, "*?[\\") != NULL;
	struct file_rule *r;

	if (!*value) {
		strbuf_puts(err, "--hide: an empty pattern hides nothing");
		return -EINVAL;
	}
	r = add_rule(t, FILE_HIDE, "hide", value);
	if (*value == '/' || *value == '~') {
		r->path = config_absolute(t, value);
	} else if (!strchr(value, '/')) {
		r->path = xasprintf("/**/%s", value); /* a name anywhere */
	} else if (strncmp(value, "**/", 3) == 0) {
		r->path = xasprintf("/%s", value);
	} else {
		AUTO_FREE char *cwd = quoted_base(t);

		value += strncmp(value, "./", 2) == 0 ? 2 : 0;
		r->path = xasprintf("%s/%s", cwd, value);
	}
	if (!special) {
		/* the walker asks about resolved paths */
		char *real = realpath(r->path, NULL);

		if (real && !strpbrk(real, "*?[\\")) {
			free(r->path);
			r->path = real;
		} else {
			free(real);
		}
	}
	r->guest = xstrdup(r->path);
	return 0;
}

int opt_root(void *t, const char *value, struct strbuf *err)
{
	struct config *cfg = t;
	AUTO_FREE char *path = config_absolute(t, value);
	struct stat st;

	if (stat(path, &st) < 0 ||
	    (S_ISDIR(st.st_mode) && access(path, X_OK) < 0)) {
		strbuf_puts(err, "--root ");
		strbuf_visible(err, value, strlen(value));
		strbuf_printf(err, ": %s", strerror(errno));
		return -EINVAL;
	}
	if (!S_ISDIR(st.st_mode)) {
		strbuf_printf(err, "--root %s: not a directory", value);
		return -EINVAL;
	}
	free(cfg->root);
	cfg->root = realpath(path, NULL);
	/* The host's own tree, with what is kept from programs there. */
	if (cfg->root && !strcmp(cfg->root, "/")) {
		free(cfg->root);
		cfg->root = NULL;
	}
	return 0;
}
