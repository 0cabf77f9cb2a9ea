/*
 * snapshot_load.c - reading a snapshot's bytes into the overlays; see
 * snapshot.h.
 *
 * The overlays have been emptied (overlay_reset.c) or are new. Nodes that
 * exist by then, those of host files at their place, are used again, and with
 * them their host directories: what the host has is one object for all.
 *
 * LAW: nothing of the bytes is believed. Sizes and numbers are checked, names
 *   are single components, directories of layers are opened below the layer's
 *   descriptor only, and a file of a layer must be a regular one with the
 *   number that was told. [snapshot_test: broken_bytes_are_refused]
 */
#include "snapshot_priv.h"

#include "core.h"

#include <fcntl.h>

struct reader {
	struct vfs *vfs;
	struct snap_in in;
	struct ov_layer **layers;
	size_t nlayers;

	/* Of one overlay. */
	struct ov *ov;
	struct snap_overlay head;
	struct hostdir **hostdirs; /* counted; NULL: not yet needed */
	struct snap_hostdir *hostdefs;
	char **hostnames;
	struct hostdir **layerdirs; /* counted */
	uint32_t *dirlayers;	    /* which layer each is in */
	struct inode **nodes;	    /* counted */
	uint32_t writers;	    /* added to their numbers */
};

/* ---- directories of host and layers ---------------------------------- */

static void take_hostdirs(struct reader *r)
{
	uint32_t n = r->head.nhostdirs;

	if (!snap_fits(&r->in, n, sizeof(struct snap_hostdir)))
		return;
	r->hostdirs = xcalloc(n + 1u, sizeof(struct hostdir *));
	r->hostdefs = xcalloc(n + 1u, sizeof(*r->hostdefs));
	r->hostnames = xcalloc(n + 1u, sizeof(char *));
	if (r->ov->has_lower)
		r->hostdirs[0] = hostdir_get(r->ov->root->lhost);
	for (uint32_t i = 1; i <= n && !r->in.bad; i++) {
		snap_take(&r->in, &r->hostdefs[i], sizeof(r->hostdefs[i]));
		r->hostnames[i] = snap_take_name(&r->in);
		if (r->hostdefs[i].parent >= i)
			r->in.bad = true;
	}
}

/* Borrowed. Made when it is needed, with those above it. */
static struct hostdir *hostdir_of(struct reader *r, uint32_t number)
{
	while (number <= r->head.nhostdirs && !r->hostdirs[number]) {
		uint32_t i = number;
		const struct snap_hostdir *d;
		struct hostdir *made;
		struct stat st = {0};

		while (!r->hostdirs[r->hostdefs[i].parent])
			i = r->hostdefs[i].parent;
		d = &r->hostdefs[i];
		st.st_dev = d->dev;
		st.st_ino = d->ino;
		made = hostdir_child(r->hostdirs[d->parent], r->hostnames[i],
				     &st);
		made->changes = d->changes;
		made->born = d->born;
		r->hostdirs[i] = made;
	}
	if (number > r->head.nhostdirs) {
		r->in.bad = true;
		return r->hostdirs[0];
	}
	return r->hostdirs[number];
}

static void take_layerdirs(struct reader *r)
{
	uint32_t n = r->head.nlayerdirs, all;

	if (!snap_fits(&r->in, n, sizeof(struct snap_layerdir)))
		return;
	all = n + (uint32_t)r->nlayers;
	r->layerdirs = xcalloc(all + 1u, sizeof(struct hostdir *));
	r->dirlayers = xcalloc(all + 1u, sizeof(*r->dirlayers));
	for (uint32_t i = 0; i < r->nlayers; i++) {
		r->layerdirs[i] = hostdir_get(r->layers[i]->root);
		r->dirlayers[i] = i;
	}
	for (uint32_t i = (uint32_t)r->nlayers; i < all && !r->in.bad; i++) {
		struct snap_layerdir d;
		struct stat st = {0};
		AUTO_FREE char *name = NULL;

		snap_take(&r->in, &d, sizeof(d));
		name = snap_take_name(&r->in);
		if (r->in.bad || d.parent >= i) {
			r->in.bad = true;
			return;
		}
		st.st_dev = r->layerdirs[d.parent]->dev;
		st.st_ino = d.ino;
		r->layerdirs[i] =
			hostdir_child(r->layerdirs[d.parent], name, &st);
		r->dirlayers[i] = r->dirlayers[d.parent];
	}
}

/* ---- nodes ----------------------------------------------------------- */

static struct ov_node *node_of(struct reader *r, uint32_t number)
{
	return ov_node(r->nodes[number]);
}

static bool type_is_good(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		return true;
	}
	return false;
}

struct noded { /* a node's record with what follows it */
	struct snap_node n;
	struct snap_lower lower;
	struct change_ident base;
	char *name, *lname, *target, *srcname, *origin; /* owned */
	struct snap_src src;
	uint32_t number;
};

static void noded_fini(struct noded *d)
{
	free(d->name);
	free(d->lname);
	free(d->target);
	free(d->srcname);
	free(d->origin);
}

static bool node_is_good(const struct reader *r, const struct noded *d)
{
	bool dir = S_ISDIR(d->n.mode), root = d->number == 1;
	uint32_t f = d->n.flags;

	if (!type_is_good(d->n.mode) || d->n.parent >= d->number ||
	    (!dir && d->n.parent) ||
	    (d->n.parent && !r->nodes[d->n.parent]->fs))
		return false;
	if (d->n.parent && !S_ISDIR(r->nodes[d->n.parent]->type))
		return false;
	if ((f & SNAP_HAS_LOWER) &&
	    (!r->ov->has_lower || d->n.lhost > r->head.nhostdirs ||
	     (d->lower.lst.st_mode & S_IFMT) != (d->n.mode & S_IFMT)))
		return false;
	if ((f & SNAP_TARGET) !=
	    (S_ISLNK(d->n.mode) && (f & SNAP_UPPER) ? SNAP_TARGET : 0))
		return false;
	if (S_ISREG(d->n.mode) && (f & SNAP_UPPER) && !(f & SNAP_SRC))
		return false;
	if ((f & SNAP_SRC) && (!S_ISREG(d->n.mode) || !(f & SNAP_UPPER)))
		return false;
	if (!(f & (SNAP_UPPER | SNAP_HAS_LOWER)) && !dir)
		return false;
	return !root || (d->n.mode & S_IFMT) == r->ov->root->inode->type;
}

/* A lower node that stands where this one did. */
static struct inode *node_again(struct reader *r, const struct noded *d)
{
	struct ov_node *n, *parent;

	if (d->number == 1)
		return inode_get(r->ov->root->inode);
	if (!(d->n.flags & SNAP_HAS_LOWER) || !(d->n.flags & SNAP_HASHED))
		return NULL;
	parent = d->n.parent ? node_of(r, d->n.parent) : r->ov->root;
	n = ov_lower_find(parent, &d->lower.lst);
	if (!n || n->meta || n->upper || !list_empty(&n->names) ||
	    (n->dir && strcmp(n->name, d->name) != 0))
		return NULL;
	return inode_get(n->inode);
}

static void node_lower(struct reader *r, struct ov_node *n,
		       const struct noded *d)
{
	bool known = n->has_lower;

	n->lst = d->lower.lst;
	n->known = false;
	n->lborn = d->lower.born;
	n->has_lower = true;
	if (known && n->dir) {
		/* One object for one directory of the host. */
		if (!r->hostdirs[d->n.lhost])
			r->hostdirs[d->n.lhost] = hostdir_get(n->lhost);
	} else {
		struct hostdir *old = n->lhost;

		n->lhost = hostdir_get(hostdir_of(r, d->n.lhost));
		if (old)
			hostdir_put(old);
	}
	if (!n->dir && d->number != 1) {
		free(n->lname);
		n->lname = xstrdup(d->lname);
	}
	if (n->lhost->changes && !known)
		ov_host_changes(n);
}

static void node_data(struct reader *r, struct ov_node *n,
		      const struct noded *d)
{
	const struct snap_src *s = &d->src;
	struct ov_src *src;

	if (!(d->n.flags & SNAP_SRC))
		return;
	src = ov_src_new(r->layers[r->dirlayers[s->dir]], r->layerdirs[s->dir],
			 d->srcname, (ino_t)s->ino);
	src->loaded = d->n.flags & SNAP_LOADED;
	src->size = s->size;
	src->blocks = s->blocks;
	n->src = src;
}

static void node_place(struct reader *r, struct ov_node *n,
		       const struct noded *d)
{
	if (d->n.parent)
		ov_set_parent(n, node_of(r, d->n.parent), d->name);
	if (!(d->n.flags & SNAP_HASHED) || n->hashed ||
	    !(d->n.flags & SNAP_HAS_LOWER) || d->number == 1)
		return;
	/* Files are found by their number alone. */
	htable_add(&n->ov->lower, &n->by_lower,
		   ov_lower_hash(n->dir ? n->parent : n->ov->root, &n->lst));
	n->hashed = true;
}

static void node_fill(struct reader *r, struct ov_node *n,
		      const struct noded *d)
{
	const struct snap_node *s = &d->n;
	uint32_t f = s->flags;

	n->nlink = s->nlink;
	n->rdev = s->rdev;
	n->upper = f & SNAP_UPPER;
	n->meta = f & SNAP_META;
	n->setid_armed = f & SNAP_SETID_ARMED;
	n->setgid_stranger = f & SNAP_SETGID_STRANGER;
	n->xattr_own = f & SNAP_XATTR_OWN;
	n->standin = f & SNAP_STANDIN;
	n->inode->gone = f & SNAP_GONE;
	inode_acl_forget(n->inode);
	n->inode->mode = s->mode & 07777;
	n->inode->uid = s->uid;
	n->inode->gid = s->gid;
	n->writer = s->writer ? s->writer + r->writers : 0;
	n->atime = s->atime;
	n->mtime = s->mtime;
	n->ctime = s->ctime;
	n->ctime_mark = s->ctime_mark;
	n->btime = s->btime;
	n->base = d->base;
	if (n->dir)
		n->dir->opaque = f & SNAP_OPAQUE;
	if (f & SNAP_HAS_LOWER)
		node_lower(r, n, d);
	if (d->target) {
		free(n->target);
		n->target = xstrdup(d->target);
	}
	node_data(r, n, d);
	node_place(r, n, d);
	if ((f & SNAP_PINNED) && n != r->ov->root)
		ov_pin(n);
	if (d->origin)
		dentry_origin_set(r->vfs, n->inode, d->origin);
}

static void take_node_rest(struct reader *r, struct noded *d)
{
	uint32_t f = d->n.flags;

	if (d->n.parent)
		d->name = snap_take_name(&r->in);
	if (f & SNAP_HAS_LOWER)
		snap_take(&r->in, &d->lower, sizeof(d->lower));
	if ((f & SNAP_HAS_LOWER) && !S_ISDIR(d->n.mode))
		d->lname = snap_take_name(&r->in);
	if (f & SNAP_NODE_BASE)
		snap_take(&r->in, &d->base, sizeof(d->base));
	if (f & SNAP_TARGET)
		d->target = snap_take_text(&r->in, SNAP_TARGET_MAX);
	if (f & SNAP_SRC) {
		snap_take(&r->in, &d->src, sizeof(d->src));
		d->srcname = snap_take_name(&r->in);
		if (d->src.dir >= r->nlayers + r->head.nlayerdirs ||
		    d->src.size < 0)
			r->in.bad = true;
	}
}

static void take_xattrs(struct reader *r, struct ov_node *n, uint32_t count)
{
	while (count-- && !r->in.bad) {
		AUTO_FREE char *name =
			snap_take_text(&r->in, SNAP_XATTR_NAME_MAX);
		size_t len;
		const char *value =
			snap_take_bytes(&r->in, SNAP_XATTR_MAX, &len);

		if (n->xattr_size > 4 * (size_t)OV_XATTR_NODE_MAX)
			r->in.bad = true;
		if (!r->in.bad)
			ov_xattr_restore(n, name, value, len);
	}
}

static void take_node(struct reader *r, uint32_t number)
{
	struct noded d = {.number = number};
	struct inode *inode;

	snap_take(&r->in, &d.n, sizeof(d.n));
	take_node_rest(r, &d);
	if (!r->in.bad && !node_is_good(r, &d))
		r->in.bad = true;
	if (!r->in.bad) {
		inode = node_again(r, &d);
		if (!inode)
			inode = ov_node_new(r->ov, d.n.mode & S_IFMT, d.n.ino)
					->inode;
		r->nodes[number] = inode;
		take_xattrs(r, ov_node(inode), d.n.nxattrs);
		if (d.n.flags & SNAP_ORIGIN)
			d.origin = snap_take_text(&r->in, SNAP_PATH_MAX);
		if (!r->in.bad)
			node_fill(r, ov_node(inode), &d);
	}
	noded_fini(&d);
}

static void take_nodes(struct reader *r)
{
	uint32_t n = r->head.nnodes;

	if (!n || !snap_fits(&r->in, n, sizeof(struct snap_node))) {
		r->in.bad = true;
		return;
	}
	r->nodes = xcalloc(n + 1u, sizeof(struct inode *));
	for (uint32_t i = 1; i <= n && !r->in.bad; i++)
		take_node(r, i);
}

/* ---- entries --------------------------------------------------------- */

static bool entry_is_good(const struct reader *r, const struct snap_entry *e)
{
	uint32_t n = r->head.nnodes;

	if (!e->dir || e->dir > n || e->child > n || e->gone > n ||
	    e->child == 1 || e->child == e->dir)
		return false;
	return S_ISDIR(r->nodes[e->dir]->type) &&
	       (!e->gone || S_ISDIR(r->nodes[e->gone]->type));
}

static void take_entry(struct reader *r)
{
	struct change_ident base = {0};
	struct snap_entry s;
	AUTO_FREE char *name = NULL;
	struct ov_entry *e;
	struct ov_node *dir, *child;

	snap_take(&r->in, &s, sizeof(s));
	if (s.flags & SNAP_BASE)
		snap_take(&r->in, &base, sizeof(base));
	name = snap_take_name(&r->in);
	if (r->in.bad || !entry_is_good(r, &s)) {
		r->in.bad = true;
		return;
	}
	dir = node_of(r, s.dir);
	child = s.child ? node_of(r, s.child) : NULL;
	/* A directory has one name, and knows it. */
	if (ov_entry_find(dir, name) ||
	    (child && child->dir &&
	     (child->parent != dir || strcmp(child->name, name) != 0))) {
		r->in.bad = true;
		return;
	}
	e = ov_entry_set(dir, name, child);
	e->wrote = s.flags & SNAP_WROTE;
	e->standin = s.flags & SNAP_ENTRY_STANDIN;
	e->writer = s.writer ? s.writer + r->writers : 0;
	if (s.flags & SNAP_BASE) {
		e->base = xmalloc(sizeof(*e->base));
		*e->base = base;
	}
	if (s.gone) {
		e->gone = node_of(r, s.gone);
		inode_get(e->gone->inode);
	}
}

static void take_entries(struct reader *r)
{
	if (!snap_fits(&r->in, r->head.nentries, sizeof(struct snap_entry)))
		return;
	for (uint32_t i = 0; i < r->head.nentries && !r->in.bad; i++)
		take_entry(r);
}

/* ---- all of it ------------------------------------------------------- */

static struct ov *overlay_find(struct reader *r, const char *guest,
			       const struct snap_overlay *h)
{
	list_for_each (p, store_overlays(vfs_store(r->vfs))) {
		struct ov *ov = list_entry(p, struct ov, list);

		if (!ov->direct && !strcmp(ov->guest, guest) &&
		    ov->has_lower == (h->has_lower != 0) &&
		    (!ov->has_lower || (ov->root->lst.st_dev == h->dev &&
					ov->root->lst.st_ino == h->ino)))
			return ov;
	}
	return NULL;
}

static void reader_forget(struct reader *r)
{
	for (uint32_t i = 0; r->hostdirs && i <= r->head.nhostdirs; i++) {
		hostdir_put(r->hostdirs[i]);
		free(r->hostnames[i]);
	}
	for (size_t i = 0; r->layerdirs && i < r->nlayers + r->head.nlayerdirs;
	     i++)
		hostdir_put(r->layerdirs[i]);
	for (uint32_t i = 0; r->nodes && i <= r->head.nnodes; i++)
		inode_put(r->nodes[i]);
	free(r->hostdirs);
	free(r->hostdefs);
	free(r->hostnames);
	free(r->layerdirs);
	free(r->dirlayers);
	free(r->nodes);
	r->hostdirs = r->layerdirs = NULL;
	r->hostdefs = NULL;
	r->hostnames = NULL;
	r->dirlayers = NULL;
	r->nodes = NULL;
}

static int take_overlay(struct reader *r)
{
	AUTO_FREE char *guest = snap_take_text(&r->in, SNAP_PATH_MAX);

	snap_take(&r->in, &r->head, sizeof(r->head));
	if (r->in.bad)
		return -EBADMSG;
	r->ov = overlay_find(r, guest, &r->head);
	if (!r->ov)
		return -ESTALE;
	take_hostdirs(r);
	if (!r->in.bad)
		take_layerdirs(r);
	if (!r->in.bad)
		take_nodes(r);
	if (!r->in.bad)
		take_entries(r);
	if (r->ov->next_ino < r->head.next_ino)
		r->ov->next_ino = r->head.next_ino;
	reader_forget(r);
	return r->in.bad ? -EBADMSG : 0;
}

static void take_writers(struct reader *r, uint32_t count)
{
	/* In the vfs that it was taken from they are there already. */
	for (uint32_t i = 0; i < count && !r->in.bad; i++) {
		pid_t pid;
		AUTO_FREE char *text = NULL;

		snap_take(&r->in, &pid, sizeof(pid));
		text = snap_take_text(&r->in, SNAP_PATH_MAX);
		if (!r->in.bad && i >= r->vfs->nwriters)
			(void)vfs_writer(r->vfs, pid, text);
	}
}

static int load(struct vfs *vfs, const void *data, size_t len,
		struct ov_layer **layers, size_t nlayers)
{
	struct reader r = {
		.vfs = vfs,
		.in = {data, (const char *)data + len, false},
		.layers = layers,
		.nlayers = nlayers,
	};
	struct snap_head head;
	int ret = 0;

	snap_take(&r.in, &head, sizeof(head));
	if (r.in.bad || head.magic != SNAP_MAGIC ||
	    head.node_size != sizeof(struct snap_node) ||
	    head.nlayers != nlayers)
		return -EBADMSG;
	take_writers(&r, head.nwriters);
	for (uint32_t i = 0; i < head.noverlays && !ret; i++)
		ret = take_overlay(&r);
	if (!ret && (r.in.bad || r.in.p != r.in.end))
		ret = -EBADMSG;
	return ret;
}

int snapshot_restore(struct vfs *vfs, const struct snapshot *s)
{
	int ret;

	vfs_names_forget(vfs);
	ret = ov_reset_all(vfs_store(vfs));
	if (!ret)
		ret = load(vfs, s->data, s->len, s->layers, s->nlayers);
	vfs_names_again(vfs);
	return ret;
}

int snapshot_adopt(struct vfs *vfs, const void *data, size_t len, int *fds,
		   size_t nfds)
{
	struct ov_layer **layers = xcalloc(nfds + 1, sizeof(*layers));
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < nfds; i++) {
		if (!ret)
			ret = layer_adopt(vfs_store(vfs), fds[i], &layers[i]);
		else
			close(fds[i]);
		n += !ret;
	}
	if (!ret) {
		vfs_names_forget(vfs);
		ret = ov_reset_all(vfs_store(vfs));
		if (!ret)
			ret = load(vfs, data, len, layers, nfds);
		vfs_names_again(vfs);
	}
	for (size_t i = 0; i < n; i++)
		layer_put(layers[i]);
	free(layers);
	return ret;
}
