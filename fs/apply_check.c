/*
 * apply_check.c - what stands against a plan: host files that are not what
 * the guest saw, and files that the host would run.
 *
 * Where a regular file differs in its times or number only, its contents are
 * compared: with the hash of what was copied up, or with the new contents.
 */
#include "apply_priv.h"

#include <fcntl.h>
#include <dirent.h>

#define CHANGED	 "changed on the host since the sandbox first looked at it"
#define REMOVED	 "removed on the host meanwhile"
#define APPEARED "the host has one by now"
#define MADE_UP	 "the sandbox never saw the host's, but a stand-in for it"

static bool same_contents(struct apply *a, const struct apply_item *it,
			  const char *path, const struct change_ident *base)
{
	AUTO_CLOSE int host = apply_host_open(
		a->work.root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	AUTO_CLOSE int new = -1;
	uint64_t hash;

	if (host < 0)
		return false;
	if (base && base->hashed && !changes_hash(host, &hash) &&
	    hash == base->hash)
		return true;
	if (!S_ISREG(it->c->new.mode) || !it->c->content ||
	    a->src->open_new(a->src, it->c, &new) < 0)
		return false;
	return changes_same_bytes(host, new);
}

static bool same_version(struct apply *a, const struct apply_item *it,
			 const char *path, const struct stat *st,
			 const struct change_ident *base)
{
	struct change_ident now;

	changes_ident(&now, st);
	if (a->links_host) /* our own link, maybe */
		now.ctime = base->ctime;
	if (changes_ident_equal(&now, base))
		return true;
	if (now.mode != base->mode)
		return false;
	if (S_ISDIR(now.mode)) /* what is in it is looked at by name */
		return now.ino == base->ino && now.dev == base->dev;
	return S_ISREG(now.mode) && now.size == base->size &&
	       same_contents(a, it, path, base);
}

/* The host's version at `path` against what was seen. */
static void check_seen(struct apply *a, const struct apply_item *it,
		       const char *path, enum change_base seen,
		       const struct change_ident *base)
{
	struct stat st;
	int ret = apply_host_stat(a->work.root, path, &st);

	if (ret == -ENOENT || ret == -ENOTDIR) {
		if (seen == CHANGE_SEEN && it->c->kind != VFS_DELETED)
			apply_problem_add(a, APPLY_CHANGED, path, REMOVED);
	} else if (ret < 0) {
		apply_problem_add(a, APPLY_CANNOT, path, strerror(-ret));
	} else if (seen == CHANGE_SEEN) {
		if (!same_version(a, it, path, &st, base))
			apply_problem_add(a, APPLY_CHANGED, path, CHANGED);
	} else if (!(S_ISDIR(st.st_mode) && S_ISDIR(it->c->new.mode)) &&
		   !(S_ISREG(st.st_mode) && same_contents(a, it, path, NULL))) {
		apply_problem_add(a, APPLY_CHANGED, path,
				  seen == CHANGE_STANDIN ? MADE_UP : APPEARED);
	}
}

/* All that the host has in a directory that goes must be known to go. */
static void check_directory(struct apply *a, const char *path)
{
	int fd = apply_host_open(a->work.root, path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
			apply_problem_add(a, APPLY_CANNOT, path, strerror(-fd));
		return;
	}
	while ((e = readdir(d))) {
		AUTO_FREE char *child = NULL;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		child = xasprintf("%s/%s", path, e->d_name);
		if (!apply_leaves(a, child))
			apply_problem_add(a, APPLY_CHANGED, child,
					  "the directory above goes, and the "
					  "sandbox did not see this in it");
	}
	closedir(d);
}

/* Does a directory above it come to its place only by this apply? */
static bool parent_is_new(const struct apply *a, const struct apply_item *it)
{
	AUTO_FREE char *path = xstrdup(it->c->path);
	char *slash;

	while ((slash = strrchr(path, '/')) && slash != path) {
		const struct change *c;

		*slash = '\0';
		c = changes_find(a->list, path);
		if (c &&
		    (c->kind == VFS_ADDED || c->kind == VFS_RENAMED ||
		     c->kind == VFS_TYPE) &&
		    a->of_index[c->index])
			return true;
	}
	return false;
}

static const char *old_place(const struct apply *a, const struct apply_item *it)
{
	switch (it->c->kind) {
	case VFS_MODIFIED:
	case VFS_METADATA:
	case VFS_TYPE:
		return it->lower;
	case VFS_RENAMED:
	case VFS_ADDED:
		return parent_is_new(a, it) ? NULL : it->path;
	case VFS_DELETED:
		break;
	}
	return NULL;
}

static void check_place(struct apply *a, struct apply_item *it)
{
	const struct change *c = it->c;
	const char *place = old_place(a, it);
	struct stat st;

	if (!place || apply_leaves(a, place))
		return;
	it->host_has = !apply_host_stat(a->work.root, place, &st);
	if (it->host_has &&
	    (c->kind == VFS_RENAMED ||
	     (c->kind == VFS_ADDED && c->has_base == CHANGE_NO_BASE)))
		check_seen(a, it, place, CHANGE_UNSEEN, NULL);
	/* both have made that directory */
	if (c->kind == VFS_ADDED && it->host_has && S_ISDIR(st.st_mode) &&
	    S_ISDIR(c->new.mode))
		it->none = true;
}

/* The tree may itself be in a repository's .git. */
static const char *delicate(const struct apply *a, const char *path,
			    const struct change *c)
{
	AUTO_FREE char *root = xasprintf("%s/", a->root_path);
	const char *git = strcasestr(root, "/.git/");
	AUTO_FREE char *full = xasprintf("%s%s", git ? git + 1 : "", path);

	return apply_delicate(full, c);
}

static void check_item(struct apply *a, struct apply_item *it)
{
	const struct change *c = it->c;
	const char *why = delicate(a, it->path, c);
	const char *old = it->lower ? it->lower : it->path;

	if (!why && c->kind == VFS_RENAMED)
		why = delicate(a, it->lower, c);
	if (why && !it->named && !(c->inside && c->kind == VFS_RENAMED))
		apply_problem_add(a, APPLY_DELICATE, it->path, why);
	if ((S_ISCHR(c->new.mode) || S_ISBLK(c->new.mode)) && !a->opts.owner)
		apply_problem_add(a, APPLY_CANNOT, it->path,
				  "only root can make a device");
	if (S_ISSOCK(c->new.mode)) /* of a server that is gone by then */
		it->none = true;
	if (c->kind == VFS_RENAMED && c->inside) {
		it->none = true;
		return;
	}
	if (c->has_base != CHANGE_NO_BASE)
		check_seen(a, it, old, c->has_base, &c->base);
	if (c->kind == VFS_DELETED || c->kind == VFS_TYPE) {
		struct stat st;

		if (S_ISDIR(c->old.mode))
			check_directory(a, old);
		if (apply_host_stat(a->work.root, old, &st) < 0)
			it->none = c->kind == VFS_DELETED;
	}
	check_place(a, it);
}

static bool is_obstacle(const struct apply *a, const struct apply_problem *p)
{
	const struct apply_options *o = &a->opts;

	if (p->kind != APPLY_CHANGED)
		return true;
	for (size_t i = 0; i < o->nforced; i++)
		if (!strcmp(o->forced[i], p->path))
			return false;
	return !o->force;
}

void apply_check(struct apply *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->nitems; i++)
		check_item(a, &a->items[i]);
	for (size_t i = 0; i < a->nproblems; i++) {
		if (is_obstacle(a, &a->problems[i])) {
			a->problems[kept++] = a->problems[i];
			continue;
		}
		free(a->problems[i].path);
		free(a->problems[i].why);
	}
	a->nproblems = kept;
}

int apply_check_again(struct apply *a, bool staged)
{
	AUTO_FREE struct apply_item *before =
		xcalloc(a->nitems + 1, sizeof(*before));

	if (a->nitems)
		memcpy(before, a->items, a->nitems * sizeof(*before));
	for (size_t i = 0; i < a->nitems; i++)
		a->items[i].none = a->items[i].host_has = false;
	apply_check(a);
	if (a->nproblems)
		return -EBUSY;
	for (size_t i = 0; staged && i < a->nitems; i++) {
		const struct apply_item *it = &a->items[i];

		if (it->none == before[i].none &&
		    it->host_has == before[i].host_has)
			continue;
		/* the steps were made for something else */
		apply_problem_add(a, APPLY_CHANGED, it->path, CHANGED);
		return -EBUSY;
	}
	return 0;
}
