/*
 * apply_stage.c - builds the new objects beside the tree, and the steps.
 *
 * One stage directory for each mount that is touched, as high in the tree as
 * we may write, so that every later step is a rename within one file system.
 * A new directory is built there with all that is new in it and put in place
 * as one. Objects are finished (contents, owner, mode, xattrs, times, synced)
 * before the journal says that the commit begins.
 *
 * LIMIT: something renamed between two mounts of the host is refused (EXDEV).
 * LIMIT: a directory that the guest made writable only to change what is in it
 *        is not writable here at that time: EACCES, and nothing is changed.
 */
#include "apply_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>

enum { SYNC_EACH_MAX = 64 };

/* ---- stage directories ----------------------------------------------- */

/* The mount of the nearest directory above path that exists. */
static int mount_of(struct apply_work *w, const char *path, uint64_t *mount)
{
	AUTO_FREE char *dir = xstrdup(path);

	for (;;) {
		char *slash = strrchr(dir, '/');
		AUTO_CLOSE int fd = -1;

		if (slash)
			*slash = '\0';
		fd = apply_host_open(w->root, slash ? dir : ".",
				     O_PATH | O_DIRECTORY);
		if (fd >= 0)
			return apply_host_mount(fd, mount);
		if (!slash || (fd != -ENOENT && fd != -ENOTDIR))
			return fd;
	}
}

static int stage_make(struct apply_work *w, int dir, const char *path,
		      uint64_t mount)
{
	struct apply_stage *s;
	uint64_t id;
	int ret;

	if (w->nstages == APPLY_STAGES_MAX)
		return -EMLINK;
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return -EIO;
	w->stages = realloc(w->stages, (w->nstages + 1) * sizeof(*s));
	BUG_ON(!w->stages);
	s = &w->stages[w->nstages++];
	memset(s, 0, sizeof(*s));
	s->dir = xstrdup(path);
	s->mount = mount;
	s->fd = -1;
	snprintf(s->name, sizeof(s->name), ".cloche-%016llx",
		 (unsigned long long)id);
	ret = apply_journal_stage(w, s);
	apply_tick(w, path);
	if (!ret && mkdirat(dir, s->name, 0700) < 0)
		ret = -errno;
	if (ret < 0)
		return ret;
	s->fd = openat(dir, s->name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

/* In the highest directory on the way to path that is of the mount. */
static int stage_new(struct apply_work *w, const char *path, uint64_t mount)
{
	AUTO_FREE char *dir = xstrdup(path);
	char *end = dir;

	for (bool first = true;; first = false) {
		AUTO_CLOSE int fd = -1;
		uint64_t m;

		if (!first) {
			end = strchr(end, '/');
			if (!end)
				return -EACCES;
			*end = '\0';
		}
		fd = apply_host_open(w->root, first ? "." : dir,
				     O_PATH | O_DIRECTORY);
		if (fd >= 0 && !apply_host_mount(fd, &m) && m == mount &&
		    !faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
			return stage_make(w, fd, first ? "." : dir, mount);
		if (!first)
			*end++ = '/';
	}
}

/* The stage for an object at (or from) path. */
static int stage_for(struct apply_work *w, const char *path, unsigned *stage)
{
	uint64_t mount;
	int ret = mount_of(w, path, &mount);

	if (ret < 0)
		return ret;
	for (*stage = 0; *stage < w->nstages; ++*stage)
		if (w->stages[*stage].mount == mount)
			return 0;
	return stage_new(w, path, mount);
}

/* Few objects are synced one by one, many by their whole file system. */
static bool syncs_each(const struct apply *a)
{
	return a->nitems <= SYNC_EACH_MAX;
}

static int sync_stage(const struct apply *a, int fd)
{
	if (!syncs_each(a) && syncfs(fd) < 0)
		return -errno;
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* ---- objects --------------------------------------------------------- */

static bool builds(const struct apply_item *it)
{
	const struct change *c = it->c;

	return !it->none &&
	       (c->kind == VFS_ADDED || c->kind == VFS_MODIFIED ||
		c->kind == VFS_TYPE || (c->kind == VFS_RENAMED && c->content));
}

static struct apply_item *item_above(struct apply *a,
				     const struct apply_item *it)
{
	char *slash = strrchr(it->c->path, '/');
	AUTO_FREE char *dir =
		strndup(it->c->path, (size_t)(slash - it->c->path));
	const struct change *c = changes_find(a->list, dir);

	return c && a->of_index[c->index] ? &a->items[a->of_index[c->index] - 1]
					  : NULL;
}

static int build_regular(struct apply *a, const struct apply_item *it, int dir,
			 const char *name, int *fd)
{
	AUTO_CLOSE int from = -1;
	int ret = a->src->open_new(a->src, it->c, &from);

	if (ret < 0)
		return ret;
	*fd = openat(dir, name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return -errno;
	return apply_copy(from, *fd);
}

static int build_object(struct apply *a, const struct apply_item *it, int dir,
			const char *name, int *fd)
{
	const struct change *c = it->c;
	int ret;

	switch (c->new.mode &S_IFMT) {
	case S_IFREG:
		return build_regular(a, it, dir, name, fd);
	case S_IFDIR:
		ret = mkdirat(dir, name, 0700);
		break;
	case S_IFLNK:
		ret = symlinkat(c->new.target, dir, name);
		break;
	case S_IFIFO:
		ret = mknodat(dir, name, S_IFIFO | 0600, 0);
		break;
	case S_IFCHR:
	case S_IFBLK:
		ret = mknodat(dir, name, (c->new.mode &S_IFMT) | 0600,
			      c->new.rdev);
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (ret < 0)
		return -errno;
	*fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static int build_attrs(struct apply *a, const struct apply_item *it, int fd)
{
	struct apply_attr attr;
	int ret;

	apply_attr_of(&attr, it->c, a->opts.owner);
	if (S_ISDIR(it->c->new.mode))
		attr.mode |= 0700; /* until it stands in its place */
	ret = apply_attr_set_fd(fd, it->c->new.mode, &attr);
	apply_attr_fini(&attr);
	return ret;
}

/* One more name of a file that is staged already, or that the host has. */
static int build_link(struct apply *a, const struct apply_item *it,
		      const struct apply_item *first, int dir, const char *name)
{
	size_t len = strcmp(a->root_path, "/") ? strlen(a->root_path) : 0;
	const char *from_name;
	AUTO_CLOSE int from = -1;

	if (first)
		from = apply_host_parent(a->work.stages[first->stage].fd,
					 first->staged, &from_name);
	else
		from = apply_host_parent(a->work.root, it->c->linked + len + 1,
					 &from_name);
	if (!first)
		a->links_host = true;
	if (from < 0)
		return from;
	return linkat(from, from_name, dir, name, 0) < 0 ? -errno : 0;
}

static bool is_linked(const struct apply *a, const struct apply_item *it)
{
	return it->c->linked && !it->c->group &&
	       changes_below(it->c->linked, a->root_path) && !it->c->attr;
}

static int build(struct apply *a, struct apply_item *it,
		 const struct apply_item *first)
{
	const char *name;
	AUTO_CLOSE int dir = apply_host_parent(a->work.stages[it->stage].fd,
					       it->staged, &name);
	AUTO_CLOSE int fd = -1;
	int ret;

	if (dir < 0)
		return dir;
	apply_tick(&a->work, it->path);
	if (first || is_linked(a, it)) {
		ret = build_link(a, it, first, dir, name);
		if (!ret || first)
			return ret;
	}
	ret = build_object(a, it, dir, name, &fd);
	if (ret < 0)
		return ret;
	if (S_ISDIR(it->c->new.mode))
		return 0; /* when all is in it */
	ret = build_attrs(a, it, fd);
	if (!ret && S_ISREG(it->c->new.mode) && syncs_each(a) && fsync(fd) < 0)
		ret = -errno;
	return ret;
}

static int finish_directory(struct apply *a, const struct apply_item *it)
{
	AUTO_CLOSE int fd = apply_host_open(a->work.stages[it->stage].fd,
					    it->staged, O_RDONLY | O_DIRECTORY);
	int ret;

	if (fd < 0)
		return fd;
	ret = build_attrs(a, it, fd);
	if (!ret && syncs_each(a) && fsync(fd) < 0)
		ret = -errno;
	return ret;
}

static int build_all(struct apply *a, const char **path)
{
	AUTO_FREE size_t *groups = xcalloc(a->list->count + 2, sizeof(*groups));
	int ret = 0;

	for (size_t i = 0; i < a->nitems && !ret; i++) {
		struct apply_item *it = &a->items[i], *up, *first = NULL;
		uint64_t g = it->c->group;

		*path = it->path;
		if (!builds(it))
			continue;
		up = item_above(a, it);
		if (up && up->staged && S_ISDIR(up->c->new.mode)) {
			it->stage = up->stage;
			it->staged = xasprintf("%s/%s", up->staged,
					       strrchr(it->c->path, '/') + 1);
		} else {
			it->staged = xasprintf("n%zu", i);
			ret = stage_for(&a->work,
					it->lower ? it->lower : it->path,
					&it->stage);
		}
		if (g && g <= a->list->count && groups[g])
			first = &a->items[groups[g] - 1];
		if (first && first->stage != it->stage)
			first = NULL; /* another file system */
		if (!ret)
			ret = build(a, it, first);
		if (!ret && g && g <= a->list->count && !first)
			groups[g] = i + 1;
	}
	for (size_t i = a->nitems; i-- && !ret;) {
		*path = a->items[i].path;
		if (a->items[i].staged && S_ISDIR(a->items[i].c->new.mode))
			ret = finish_directory(a, &a->items[i]);
	}
	return ret;
}

/* ---- steps ----------------------------------------------------------- */

static struct apply_step *add_step(struct apply_work *w,
				   enum apply_step_kind kind, const char *path)
{
	struct apply_step *s;

	if (!(w->nsteps & (w->nsteps - 1))) {
		size_t cap = w->nsteps ? 2 * w->nsteps : 1;

		w->steps = realloc(w->steps, cap * sizeof(*s));
		BUG_ON(!w->steps);
	}
	s = &w->steps[w->nsteps++];
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->path = xstrdup(path);
	return s;
}

static bool goes_out(struct apply *a, const struct apply_item *it)
{
	const struct change *c = it->c;
	const struct apply_item *up;

	if (it->none || !it->lower)
		return false;
	if (c->kind == VFS_RENAMED)
		return true;
	if (c->kind != VFS_DELETED)
		return false;
	up = c->inside ? item_above(a, it) : NULL;
	/* It goes with its directory. */
	return !up || (up->c->kind != VFS_DELETED && up->c->kind != VFS_TYPE);
}

/* "a/b" before "a". */
static int deepest_first(const void *a, const void *b)
{
	return strcmp(((const struct apply_step *)b)->path,
		      ((const struct apply_step *)a)->path);
}

static int steps_out(struct apply *a, const char **path)
{
	struct apply_work *w = &a->work;
	size_t first = w->nsteps;
	int ret = 0;

	for (size_t i = 0; i < a->nitems && !ret; i++) {
		struct apply_item *it = &a->items[i];
		struct apply_step *s;

		*path = it->path;
		if (!goes_out(a, it))
			continue;
		s = add_step(w, APPLY_OUT, it->lower);
		snprintf(s->slot, sizeof(s->slot), "o%zu", i);
		ret = stage_for(w, it->lower, &s->stage);
		if (!it->staged)
			it->stage = s->stage;
	}
	if (w->nsteps > first)
		qsort(w->steps + first, w->nsteps - first, sizeof(*w->steps),
		      deepest_first);
	return ret;
}

static int slot_ino(struct apply *a, const struct apply_item *it,
		    const char *slot, ino_t *ino)
{
	struct stat st;
	int ret;

	if (it->staged) {
		if (fstatat(a->work.stages[it->stage].fd, slot, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	} else {
		ret = apply_host_stat(a->work.root, it->lower, &st);
		if (ret < 0)
			return ret;
	}
	*ino = st.st_ino;
	return 0;
}

static int steps_put(struct apply *a, const char **path)
{
	int ret = 0;

	for (size_t i = 0; i < a->nitems && !ret; i++) {
		struct apply_item *it = &a->items[i];
		struct apply_step *s;

		*path = it->path;
		if (it->none || it->c->kind == VFS_DELETED ||
		    it->c->kind == VFS_METADATA ||
		    (it->staged && strchr(it->staged, '/')))
			continue;
		s = add_step(&a->work, it->host_has ? APPLY_SWAP : APPLY_PUT,
			     it->path);
		s->stage = it->stage;
		snprintf(s->slot, sizeof(s->slot), "%c%zu",
			 it->staged ? 'n' : 'o', i);
		ret = slot_ino(a, it, s->slot, &s->ino);
	}
	return ret;
}

static bool wants_meta(const struct apply_item *it)
{
	const struct change *c = it->c;

	if (it->none)
		return false;
	if (c->kind == VFS_METADATA)
		return true;
	if (c->kind == VFS_RENAMED && !c->content)
		return c->attr;
	return it->staged && S_ISDIR(c->new.mode) &&
	       (c->new.mode & 0700) != 0700;
}

static int meta_old(struct apply *a, const struct apply_item *it,
		    struct apply_step *s)
{
	int root = it->staged ? a->work.stages[it->stage].fd : a->work.root;
	const char *path = it->staged ? it->staged : it->lower;
	struct stat st;
	int ret;

	if (!path)
		return -ENOENT;
	ret = apply_attr_get(root, path, &s->old);
	if (!ret)
		ret = apply_host_stat(root, path, &st);
	if (!ret)
		s->ino = st.st_ino;
	return ret;
}

static int steps_meta(struct apply *a, const char **path)
{
	int ret = 0;

	for (size_t i = a->nitems; i-- && !ret;) {
		struct apply_item *it = &a->items[i];
		struct apply_step *s;

		if (!wants_meta(it))
			continue;
		*path = it->path;
		s = add_step(&a->work, APPLY_META, it->path);
		apply_attr_of(&s->new, it->c, a->opts.owner);
		ret = meta_old(a, it, s);
	}
	return ret;
}

int apply_stage_all(struct apply *a, char **path)
{
	struct apply_work *w = &a->work;
	const char *at = NULL;
	int ret = apply_journal_new(w);

	if (ret < 0) {
		*path = apply_journal_dir();
		return ret;
	}
	w->phase = PHASE_STAGE;
	w->total = 3 * a->nitems;
	ret = build_all(a, &at);
	if (!ret)
		ret = steps_out(a, &at);
	if (!ret)
		ret = steps_put(a, &at);
	if (!ret)
		ret = steps_meta(a, &at);
	for (unsigned i = 0; !ret && i < w->nstages; i++)
		ret = sync_stage(a, w->stages[i].fd);
	if (ret < 0) {
		if (at)
			*path = xstrdup(at);
		return ret;
	}
	w->total = w->done + w->nsteps + 4;
	apply_tick(w, NULL);
	return apply_journal_steps(w);
}
