/*
 * overlay_freeze.c - what the overlays hold becomes shareable: a new layer.
 *
 * No call per file: a whole directory of the mirror is renamed into the layer
 * under a number, and the nodes below it then have their data there (`src`)
 * and no object. Their mirror is made anew when it is needed, as it is for
 * directories of the host. So 10,000 files cost a walk in memory.
 *
 * What a running guest may feel must not move: objects that it has open or
 * watches, FIFOs and sockets, and the directories above them, stay (`kept`).
 * In those directories the other files are renamed one by one. An open file is
 * copied into the layer, for the snapshot only (node->snap); in a directory
 * that is watched every file counts as open, since a rename would be told.
 *
 * Laws:
 * 1. Until the last rename is done only new objects were made, and renames are
 *    undone: a failure changes nothing. [snapshot_test: no_space_no_change]
 * 2. No file that somebody can write through a descriptor gets into a layer.
 *    [snapshot_test: open_file_is_copied]
 *
 * The caller has stopped the guests (trace_hold), so copies of several files
 * are of one moment. A call that goes on all the same is met by copying again.
 * LIMIT: its file is copied as it is found after COPY_TRIES tries.
 * LIMIT: a file or directory that was watched counts as watched as long as a
 * program runs, though the watch may be gone.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>

enum { COPY_TRIES = 5 };

enum move_kind { MOVE_ROOT, MOVE_NAME, MOVE_SIDE };

struct move {
	enum move_kind kind;
	struct ov *ov;
	struct ov_node *node; /* what moves */
	struct ov_entry *e;   /* MOVE_NAME: its name */
	int mirror;	      /* MOVE_ROOT: the new one; owned */
	bool done;
	char name[LAYER_NAME_MAX]; /* in the layer */
};

struct freeze {
	struct store *store;
	struct ov_layer *layer;
	bool idle;
	struct move *moves;
	size_t count, cap;
};

#define NEW_MIRROR "n%s" /* until the old one has gone */

/* ---- what stays ------------------------------------------------------ */

static bool has_data(const struct ov_node *n)
{
	return S_ISREG(n->inode->type) && n->upper && n->object && !n->src &&
	       n->nlink;
}

static bool in_watched_dir(const struct ov_node *n)
{
	list_for_each (p, &n->names)
		if (list_entry(p, struct ov_entry, same)->dir->watched)
			return true;
	return false;
}

/* A running program's file cannot be open for writing. */
static bool only_runs(int dirfd, const char *name)
{
	AUTO_CLOSE int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool only = fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;

	if (only)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return only;
}

static bool is_open(struct ov_node *n)
{
	const char *name;
	int dirfd;

	if (ov_object_place(n, &dirfd, &name) < 0)
		return true;
	if (n->inode->textrefs && only_runs(dirfd, name))
		return false;
	return store_busy(n->ov->store, dirfd, name, n->sino);
}

static bool stays(struct ov_node *n, bool idle)
{
	if (n->copy)
		return true;
	if (idle || !n->object || !n->nlink)
		return false;
	/* Its name in a watched directory must not go. */
	if (n->dir && n->parent && n->parent->watched)
		return true;
	if (n->watched || S_ISFIFO(n->inode->type) || S_ISSOCK(n->inode->type))
		return true;
	return has_data(n) && (in_watched_dir(n) || is_open(n));
}

static void keep_above(struct ov_node *dir)
{
	for (; dir && !dir->kept; dir = dir->parent)
		dir->kept = true;
}

static void mark_kept(struct ov *ov, bool idle)
{
	list_for_each (p, &ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		n->kept = false;
		if (idle)
			n->watched = false;
	}
	list_for_each (q, &ov->nodes) {
		struct ov_node *n = list_entry(q, struct ov_node, list);

		if (!stays(n, idle))
			continue;
		if (S_ISDIR(n->inode->type))
			keep_above(n);
		n->kept = true;
		list_for_each (r, &n->names)
			keep_above(list_entry(r, struct ov_entry, same)->dir);
	}
}

/* ---- copies of what stays -------------------------------------------- */

/* Who watches the file itself sees a reader; a name more would tell more. */
static int open_kept(struct ov_node *n, int *fd)
{
	const char *name;
	int dirfd, ret;

	if (!n->watched)
		return ov_object_open_quiet(n, O_RDONLY | O_NOATIME, fd);
	ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	*fd = openat(dirfd, name,
		     O_RDONLY | O_NOATIME | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? ov_store_errno(errno, "open") : 0;
}

/* The file as it was at one moment: copied again if it was written meanwhile.
 */
static int copy_still(int src, int dst, struct stat *st)
{
	for (int tries = 0; tries < COPY_TRIES; tries++) {
		struct stat after;
		int ret;

		if (fstat(src, st) < 0)
			return -EIO;
		ret = ov_copy_file(src, dst, st->st_size, NULL);
		if (ret < 0)
			return ret;
		if (fstat(src, &after) < 0)
			return -EIO;
		if (after.st_size == st->st_size &&
		    ts_equal(after.st_mtim, st->st_mtim) &&
		    ts_equal(after.st_ctim, st->st_ctim))
			return 0;
	}
	return 0;
}

static int copy_kept(struct freeze *f, struct ov_node *n)
{
	AUTO_CLOSE int src = -1;
	AUTO_CLOSE int dst = -1;
	char name[LAYER_NAME_MAX];
	struct stat st = {0}, made;
	int ret = open_kept(n, &src);

	if (ret < 0)
		return ret;
	layer_next_name(f->layer, name);
	dst = openat(f->layer->fd, name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dst < 0)
		return ov_store_errno(errno, "snapshot");
	ret = copy_still(src, dst, &st);
	if (ret < 0)
		return ret;
	if (fstat(dst, &made) < 0)
		return -EIO;
	ov_read_back(n, &st);
	n->snap = ov_src_new(f->layer, f->layer->root, name, made.st_ino);
	n->snap->loaded = true;
	n->snap->size = st.st_size;
	n->snap->blocks = made.st_blocks;
	return 0;
}

static int copy_all_kept(struct freeze *f, struct ov *ov)
{
	list_for_each (p, &ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);
		int ret = n->kept && has_data(n) ? copy_kept(f, n) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- what moves ------------------------------------------------------ */

static struct move *plan(struct freeze *f, enum move_kind kind,
			 struct ov_node *n)
{
	struct move *m;

	if (f->count == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 16;
		f->moves = realloc(f->moves, f->cap * sizeof(*f->moves));
		BUG_ON(!f->moves);
	}
	m = &f->moves[f->count++];
	*m = (struct move){.kind = kind, .ov = n->ov, .node = n, .mirror = -1};
	layer_next_name(f->layer, m->name);
	return m;
}

/* Names of a directory that stays. */
static void plan_names(struct freeze *f, struct ov_node *dir)
{
	struct htable *t = &dir->dir->entries;

	for (size_t i = 0; i <= t->mask; i++)
		for (struct hnode *h = t->buckets[i]; h; h = h->next) {
			struct ov_entry *e =
				container_of(h, struct ov_entry, node);
			struct ov_node *c = e->child;

			if (!c || !e->mirrored || c->kept)
				continue;
			if (S_ISDIR(c->inode->type) || has_data(c))
				plan(f, MOVE_NAME, c)->e = e;
		}
}

static bool has_mirrored_name(const struct ov_node *n)
{
	list_for_each (p, &n->names)
		if (list_entry(p, struct ov_entry, same)->mirrored)
			return true;
	return false;
}

static void plan_overlay(struct freeze *f, struct ov *ov)
{
	struct ov_node *root = ov->root;

	if (root->dir && !root->kept && root->dir->visible)
		plan(f, MOVE_ROOT, root);
	list_for_each (p, &ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		if (n->dir && n->kept && n->nlink)
			plan_names(f, n);
		else if (has_data(n) && !n->kept && n->side[0] &&
			 !has_mirrored_name(n))
			plan(f, MOVE_SIDE, n);
	}
}

static int prepare_root(struct freeze *f, struct move *m)
{
	int root = store_root_fd(f->store);
	char name[32];

	snprintf(name, sizeof(name), NEW_MIRROR, m->ov->mirror_name);
	if (mkdirat(root, name, 0700) < 0)
		return ov_store_errno(errno, "mirror");
	m->mirror = openat(root, name,
			   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return m->mirror < 0 ? ov_store_errno(errno, "mirror") : 0;
}

static int move_place(struct freeze *f, const struct move *m, int *dirfd,
		      const char **name)
{
	*dirfd = store_root_fd(f->store);
	*name = m->ov->mirror_name;
	if (m->kind == MOVE_SIDE) {
		*dirfd = store_side_fd(f->store);
		*name = m->node->side;
	} else if (m->kind == MOVE_NAME) {
		*dirfd = ov_mirror_fd(m->e->dir);
		*name = m->e->name;
	}
	return *dirfd < 0 ? *dirfd : 0;
}

static int move_do(struct freeze *f, struct move *m)
{
	int root = store_root_fd(f->store), dirfd, ret;
	const char *name;
	char made[32];

	ret = move_place(f, m, &dirfd, &name);
	if (ret < 0)
		return ret;
	if (renameat(dirfd, name, f->layer->fd, m->name) < 0)
		return ov_store_errno(errno, "snapshot");
	m->done = true;
	if (m->kind != MOVE_ROOT)
		return 0;
	snprintf(made, sizeof(made), NEW_MIRROR, name);
	return renameat(root, made, root, name) < 0
		       ? ov_store_errno(errno, "mirror")
		       : 0;
}

static void move_undo(struct freeze *f, struct move *m)
{
	int root = store_root_fd(f->store), dirfd;
	const char *name;
	char made[32];

	if (m->kind == MOVE_ROOT) {
		auto_close_fd(&m->mirror);
		snprintf(made, sizeof(made), NEW_MIRROR, m->ov->mirror_name);
		unlinkat(root, made, AT_REMOVEDIR);
	}
	if (!m->done)
		return;
	if (m->kind == MOVE_ROOT)
		unlinkat(root, m->ov->mirror_name, AT_REMOVEDIR);
	/* Into where it came from: no space and no new name is needed. */
	BUG_ON(move_place(f, m, &dirfd, &name) < 0 ||
	       renameat(f->layer->fd, m->name, dirfd, name) < 0);
}

static int move_all(struct freeze *f)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < f->count; i++)
		if (f->moves[i].kind == MOVE_ROOT)
			ret = prepare_root(f, &f->moves[i]);
	for (size_t i = 0; !ret && i < f->count; i++)
		ret = move_do(f, &f->moves[i]);
	for (size_t i = f->count; ret && i-- > 0;)
		move_undo(f, &f->moves[i]);
	return ret;
}

/* ---- the nodes after it ---------------------------------------------- */

struct below {
	struct ov_node *dir;
	struct hostdir *at; /* counted: where it is in the layer */
};

/* c's object is now the layer's (at, name). */
static void node_moved(struct freeze *f, struct ov_node *c, struct hostdir *at,
		       const char *name)
{
	if (has_data(c)) {
		c->src = ov_src_new(f->layer, at, name, c->sino);
		/* Another name of the same object must not be opened. */
		if (c->side[0])
			store_side_remove(f->store, c->side, false);
		c->side[0] = '\0';
	}
	c->object = c->side[0] != '\0';
	if (!c->object && c->quiet)
		close(ov_quiet_take(c));
}

/* The directory at (at, name), which was dir's mirror. */
static struct hostdir *moved_child(const struct freeze *f,
				   const struct ov_node *dir,
				   struct hostdir *at, const char *name)
{
	struct stat st = {.st_dev = store_dev(f->store), .st_ino = dir->sino};
	int fd = dir->sino ? -1 : hostdir_fd(at);

	/* Nothing was ever in it, or its number would be known. */
	if (!dir->sino &&
	    (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0))
		log_warn("store: a directory of a layer has no number");
	return hostdir_child(at, name, &st);
}

static void dir_moved(struct freeze *f, struct ov_node *top, struct hostdir *at)
{
	struct below *todo = xmalloc(sizeof(*todo));
	size_t count = 1, cap = 1;

	todo[0] = (struct below){top, hostdir_get(at)};
	while (count) {
		struct below b = todo[--count];
		struct ov_dir *d = b.dir->dir;

		ov_mirror_forget(b.dir);
		b.dir->object = d->populated = false;
		for (size_t i = 0; i <= d->entries.mask; i++)
			for (struct hnode *h = d->entries.buckets[i]; h;
			     h = h->next) {
				struct ov_entry *e =
					container_of(h, struct ov_entry, node);

				if (!e->child || !e->mirrored)
					continue;
				e->mirrored = false;
				if (!S_ISDIR(e->child->inode->type)) {
					node_moved(f, e->child, b.at, e->name);
					continue;
				}
				if (count == cap) {
					cap *= 2;
					todo = realloc(todo,
						       cap * sizeof(*todo));
					BUG_ON(!todo);
				}
				todo[count++] = (struct below){
					e->child, moved_child(f, e->child, b.at,
							      e->name)};
			}
		hostdir_put(b.at);
	}
	free(todo);
}

static void root_moved(struct freeze *f, struct move *m)
{
	struct hostdir *at;
	struct stat st;

	BUG_ON(fstat(m->ov->mirror, &st) < 0);
	at = hostdir_child(f->layer->root, m->name, &st);
	dir_moved(f, m->node, at);
	hostdir_put(at);
	close(m->ov->mirror);
	m->ov->mirror = m->mirror;
}

static void name_moved(struct freeze *f, struct move *m)
{
	struct hostdir *at;

	m->e->mirrored = false;
	m->e->dir->dir->populated = false;
	if (!S_ISDIR(m->node->inode->type)) {
		node_moved(f, m->node, f->layer->root, m->name);
		return;
	}
	at = moved_child(f, m->node, f->layer->root, m->name);
	dir_moved(f, m->node, at);
	hostdir_put(at);
}

static void side_moved(struct freeze *f, struct move *m)
{
	struct ov_node *n = m->node;

	n->side[0] = '\0';
	node_moved(f, n, f->layer->root, m->name);
}

static void moves_settle(struct freeze *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct move *m = &f->moves[i];

		if (m->kind == MOVE_ROOT)
			root_moved(f, m);
		else if (m->kind == MOVE_NAME)
			name_moved(f, m);
		else
			side_moved(f, m);
	}
}

/* ---- all ------------------------------------------------------------- */

void ov_freeze_end(struct store *store)
{
	list_for_each (p, store_overlays(store)) {
		struct ov *ov = list_entry(p, struct ov, list);

		list_for_each (q, &ov->nodes) {
			struct ov_node *n = list_entry(q, struct ov_node, list);

			ov_src_free(n->snap, true);
			n->snap = NULL;
		}
	}
}

static int freeze_all(struct freeze *f)
{
	int ret = 0;

	list_for_each (p, store_overlays(f->store)) {
		struct ov *ov = list_entry(p, struct ov, list);

		if (ov->direct)
			continue;
		mark_kept(ov, f->idle);
		if (!ret)
			ret = copy_all_kept(f, ov);
		if (!ret)
			plan_overlay(f, ov);
	}
	return ret ? ret : move_all(f);
}

int ov_freeze(struct store *store, bool idle, struct ov_layer **out)
{
	struct freeze f = {.store = store, .idle = idle};
	int ret = layer_new(store, &f.layer);

	*out = NULL;
	if (ret < 0)
		return ret;
	ret = freeze_all(&f);
	if (!ret)
		moves_settle(&f);
	else
		ov_freeze_end(store);
	free(f.moves);
	if (!ret && f.layer->refs > 1)
		*out = layer_get(f.layer);
	layer_put(f.layer);
	return ret;
}
