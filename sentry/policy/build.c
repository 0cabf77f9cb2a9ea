/*
 * build.c - compiles options and the curated lists into a struct policy.
 *
 * Runs before the first guest instruction, so bad rules end by die(). Paths
 * of the host are resolved here once (home, work directory, toolchains that
 * are symbolic links), because the guest's walker asks about resolved paths.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/strbuf.h"
#include "curated.h"
#include "glob.h"
#include "policy.h"
#include "rules.h"
#include "worktree.h"

static uint32_t build_name(struct policy *p, char *name)
{
	p->names = realloc(p->names, (p->nnames + 1) * sizeof(*p->names));
	BUG_ON(!p->names);
	p->names[p->nnames++] = name;
	return (uint32_t)p->nnames;
}

/* Without doubled slashes, "." or a slash at the end; ".." is refused. */
static char *normalise(const char *path, const char *origin)
{
	char *out = xmalloc(strlen(path) + 2);
	size_t n = 0;

	if (*path != '/')
		die("%s: %s is not an absolute path", origin, path);
	for (const char *p = path; *p;) {
		size_t len;

		p += strspn(p, "/");
		len = strcspn(p, "/");
		if (len == 2 && memcmp(p, "..", 2) == 0)
			die("%s: write %s without \"..\"", origin, path);
		if (len && !(len == 1 && *p == '.')) {
			out[n++] = '/';
			memcpy(out + n, p, len);
			n += len;
		}
		p += len;
	}
	out[n] = '\0';
	return out;
}

static void build_place(struct policy *p, enum place_kind kind,
			const char *path, const char *why)
{
	struct place *x;

	p->places = realloc(p->places, (p->nplaces + 1) * sizeof(*p->places));
	BUG_ON(!p->places);
	x = &p->places[p->nplaces++];
	*x = (struct place){.kind = kind, .why = why};
	x->path = normalise(path, why);
	x->len = strlen(x->path);
	if (kind == PLACE_CLOSED)
		x->rule = build_name(
			p, xasprintf("profile %s: %s", p->cfg->profile, why));
}

static void build_secret(struct policy *p, const struct curated *c,
			 const char *home)
{
	bool standins = p->cfg->virtual_ids;
	struct secret *s;

	if (*c->path != '/' && !home)
		return;
	p->secrets =
		realloc(p->secrets, (p->nsecrets + 1) * sizeof(*p->secrets));
	BUG_ON(!p->secrets);
	s = &p->secrets[p->nsecrets++];
	memset(s, 0, sizeof(*s));
	s->pattern = *c->path == '/' ? xstrdup(c->path)
				     : xasprintf("%s/%s", home, c->path);
	s->literal = *c->path == '/'
			     ? strcspn(c->path, "*?[\\")
			     : strlen(home) + 1 + strcspn(c->path, "*?[\\");
	if (strncmp(c->path, "/**/", 4) == 0 && !strchr(c->path + 4, '/'))
		s->name_only = s->pattern + 3;
	s->why = c->why;
	for (size_t i = 0; standins && curated_standins[i]; i++)
		s->standin |= !strcmp(curated_standins[i], c->path);
	s->rule = build_name(p, xasprintf("secrets: %s", c->why));
}

static void build_files(struct policy *p)
{
	const struct config *cfg = p->cfg;

	p->nfiles = cfg->nfiles;
	p->files = xcalloc(cfg->nfiles, sizeof(*p->files));
	for (size_t i = 0; i < cfg->nfiles; i++) {
		const struct file_rule *from = &cfg->files[i];
		const char *origin = from->origin ? from->origin : from->path;
		struct file_rule *r = &p->files[i];

		r->access = from->access;
		r->path = normalise(from->path, origin);
		r->guest = normalise(from->guest ? from->guest : from->path,
				     origin);
		if (r->access == FILE_HIDE && glob_check(r->path))
			die("%s: bad pattern: %s", origin, glob_check(r->path));
		build_name(p, xstrdup(origin));
	}
}

/* The home directory, resolved; NULL where it is none that could be closed
 * (a service user's "/", "/usr/sbin" or "/nonexistent"). Owned. */
static char *build_home(const char *said)
{
	char *home;

	if (!said || *said != '/')
		return NULL;
	home = realpath(said, NULL);
	if (!home)
		home = normalise(said, "home directory");
	for (size_t i = 0; curated_system[i]; i++)
		if (path_covers(curated_system[i], strlen(curated_system[i]),
				home)) {
			free(home);
			return NULL;
		}
	for (size_t i = 0; curated_private[i]; i++)
		if (strcmp(curated_private[i], home) == 0) {
			free(home);
			return NULL;
		}
	if (!home[0] || strcmp(home, "/") == 0 || strcmp(home, "/var") == 0) {
		free(home);
		return NULL;
	}
	return home;
}

/* The names in a directory, each after a NUL; false if there are many, or it
 * cannot be read. */
static bool names_in(const char *dir, struct strbuf *out)
{
	enum { MOST = 8192 };
	_Alignas(struct dirent64) char buf[MOST];
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = 0;

	strbuf_putc(out, '\0');
	while (fd >= 0 && out->len < MOST &&
	       (n = getdents64(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);

			strbuf_add(out, d->d_name, strlen(d->d_name) + 1);
			at += d->d_reclen;
		}
	return fd >= 0 && n == 0;
}

/* The first component of path, in names_in's. */
static bool is_in(const struct strbuf *names, const char *path)
{
	size_t len = strcspn(path, "/");
	char name[NAME_LEN_MAX + 2] = "";

	if (len > NAME_LEN_MAX)
		return false;
	memcpy(name + 1, path, len);
	name[len + 1] = '\0';
	return memmem(names->data, names->len, name, len + 2);
}

static void build_toolchains(struct policy *p, const char *home)
{
	struct strbuf names;
	bool known;

	strbuf_init(&names, 0);
	known = names_in(home, &names);
	for (size_t i = 0; curated_home[i].path; i++) {
		const struct curated *c = &curated_home[i];
		AUTO_FREE char *path = xasprintf("%s/%s", home, c->path);
		/* most of them are not there: ask that first, it is cheaper */
		AUTO_FREE char *real = (!known || is_in(&names, c->path)) &&
						       access(path, F_OK) == 0
					       ? realpath(path, NULL)
					       : NULL;

		build_place(p, PLACE_SHOWN, path, c->why);
		/* the user's own link (dotfiles kept elsewhere), made before
		 * the guest ran; not to the whole home or above it */
		if (real && strcmp(real, path) != 0 &&
		    !path_covers(real, strlen(real), home))
			build_place(p, PLACE_SHOWN, real, c->why);
	}
	strbuf_fini(&names);
}

static void build_project(struct policy *p)
{
	const char *project = p->cfg->project;
	AUTO_FREE char *repository = NULL;

	if (!project)
		return;
	build_place(p, PLACE_SHOWN, project, "work directory");
	repository = worktree_repository(project);
	if (repository)
		build_place(p, PLACE_SHOWN, repository,
			    "repository of the worktree");
}

static void build_strict(struct policy *p, const char *home)
{
	build_place(p, PLACE_CLOSED, "/", "not a system directory");
	for (size_t i = 0; curated_system[i]; i++)
		build_place(p, PLACE_SHOWN, curated_system[i],
			    "system directory");
	for (size_t i = 0; curated_private[i]; i++)
		build_place(p, PLACE_SHOWN, curated_private[i],
			    "the sandbox's own");
	if (home) {
		build_place(p, PLACE_STUB, home, "home directory");
		build_place(p, PLACE_CLOSED, home, "home directory");
	}
}

static void build_agent(struct policy *p, const char *home, bool show_home)
{
	if (!home)
		return;
	if (show_home) {
		build_place(p, PLACE_SHOWN, home, "home directory");
		return;
	}
	build_place(p, PLACE_CLOSED, home, "home directory");
	build_place(p, PLACE_STUB, home, "home directory");
	build_toolchains(p, home);
}

/* Real root could read everybody's files: those are not the guest's. */
static void build_root(struct policy *p, const char *home)
{
	build_place(p, PLACE_CLOSED, "/home", "another user's home");
	build_place(p, PLACE_STUB, "/home", "users' homes");
	if (!home || !path_covers("/root", 5, home))
		build_place(p, PLACE_CLOSED, "/root", "another user's home");
	for (size_t i = 0; curated_root[i].path; i++)
		build_secret(p, &curated_root[i], NULL);
}

/* With --root names are the tree's; what --ro and --rw show is the host's. */
static void build_outside(struct policy *p, bool as_root)
{
	AUTO_FREE char *home = build_home(getenv("HOME"));
	size_t before = p->nsecrets;

	for (size_t i = 0; curated_secrets[i].path; i++)
		if (*curated_secrets[i].path != '/')
			build_secret(p, &curated_secrets[i], home);
	for (size_t i = 0; as_root && curated_root[i].path; i++)
		build_secret(p, &curated_root[i], NULL);
	for (size_t i = before; i < p->nsecrets; i++)
		p->secrets[i].outside = true;
}

/* What an explicit rule shows inside of a secret directory: the directory is
 * then shown as such, and everything else in it stays closed. */
static void build_exceptions(struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->nsecrets && !p->secrets[i].outside; i++) {
		const struct secret *s = &p->secrets[i];
		AUTO_FREE char *prefix = xstrdup(path);
		char *slash;

		while ((slash = strrchr(prefix, '/')) && slash > prefix) {
			*slash = '\0';
			if (glob_match(s->pattern, prefix))
				build_place(p, PLACE_CLOSED, prefix, s->why);
		}
	}
}

static bool build_is_explicit(const struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].access != FILE_HIDE &&
		    path_covers(p->files[i].guest, strlen(p->files[i].guest),
				path))
			return true;
	return false;
}

/* A work directory among the secrets is more likely a mistake than a wish. */
static void build_check_project(const struct policy *p)
{
	const char *project = p->cfg->project;

	if (!project || build_is_explicit(p, project))
		return;
	for (size_t i = 0; i < p->nsecrets && !p->secrets[i].outside; i++) {
		AUTO_FREE char *prefix = xstrdup(project);
		char *slash = prefix + strlen(prefix);

		for (; slash && slash > prefix; slash = strrchr(prefix, '/')) {
			*slash = '\0';
			if (*prefix &&
			    glob_match(p->secrets[i].pattern, prefix))
				die("the work directory %s is kept from "
				    "programs (%s): start somewhere else, or "
				    "add --ro %s or --rw %s",
				    project, p->secrets[i].why, project,
				    project);
		}
	}
}

static void build_profile(struct policy *p, bool as_root)
{
	const struct config *cfg = p->cfg;
	const char *profile = cfg->profile;
	AUTO_FREE char *home = cfg->root ? NULL : build_home(cfg->home);

	if (strcmp(profile, "observe") == 0)
		return;
	build_project(p); /* first: the most asked for */
	if (strcmp(profile, "strict") == 0)
		build_strict(p, home);
	else if (strcmp(profile, "home") == 0)
		build_agent(p, home, true);
	else if (strcmp(profile, "agent") == 0)
		build_agent(p, home, false);
	else
		die("unknown profile \"%s\": agent, home, strict or observe",
		    profile);
	for (size_t i = 0; curated_secrets[i].path; i++)
		build_secret(p, &curated_secrets[i], home);
	if (cfg->root)
		build_outside(p, as_root);
	else if (as_root)
		build_root(p, home);
	build_check_project(p);
	for (size_t i = 0; i < p->nfiles; i++) {
		if (p->files[i].access == FILE_HIDE)
			continue;
		build_exceptions(p, p->files[i].guest);
		build_place(p, PLACE_SHOWN, p->files[i].guest, "given");
	}
}

struct policy *policy_build(const struct config *cfg, bool as_root)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	p->cfg = cfg;
	p->samples = true;
	build_files(p);
	build_profile(p, as_root);
	alike_build(p);
	return p;
}

int policy_new(const struct config *cfg, struct policy **out)
{
	*out = policy_build(cfg, getuid() == 0 || geteuid() == 0);
	return 0;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nfiles; i++) {
		free(p->files[i].path);
		free(p->files[i].guest);
	}
	for (size_t i = 0; i < p->nsecrets; i++)
		free(p->secrets[i].pattern);
	for (size_t i = 0; i < p->nplaces; i++)
		free(p->places[i].path);
	for (size_t i = 0; i < p->nnames; i++)
		free(p->names[i]);
	free(p->files);
	free(p->secrets);
	free(p->places);
	free(p->names);
	free(p->told);
	free(p);
}
