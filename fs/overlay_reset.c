/*
 * overlay_reset.c - all overlays become what they were when they were made,
 * so that a snapshot can be read into them (snapshot_load.c).
 *
 * No guest runs: nothing has descriptors, and dentries are asked anew
 * (vfs_restore). Nodes of the host's files that stand where the host has them
 * stay, without what the guest did to them, because mounts and tasks may hold
 * dentries of them; all others go.
 *
 * What can fail is done first, so a failure changes nothing.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>

struct fresh {
	struct ov *ov;
	int mirror; /* owned */
	char name[16];
};

static int fresh_make(struct fresh *f, struct store *s)
{
	int root = store_root_fd(s);

	snprintf(f->name, sizeof(f->name), "m%u", store_next_mirror(s));
	if (mkdirat(root, f->name, 0700) < 0)
		return ov_store_errno(errno, "mirror");
	f->mirror = openat(root, f->name,
			   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return f->mirror < 0 ? ov_store_errno(errno, "mirror") : 0;
}

/* Does the directory stand where the host has it, with all above it? */
static bool at_home(const struct ov_node *n)
{
	for (; n != n->ov->root; n = n->parent) {
		if (!n->has_lower || !n->hashed || !n->parent ||
		    !n->parent->has_lower ||
		    n->parent->lhost != n->lhost->parent ||
		    strcmp(n->name, n->lhost->name) != 0)
			return false;
	}
	return true;
}

static bool stays_as_lower(const struct ov_node *n)
{
	if (n == n->ov->root)
		return true;
	if (!n->has_lower || n->inode->gone)
		return false;
	return n->dir ? at_home(n) : n->hashed;
}

static void dir_forget(struct ov_node *n)
{
	struct ov_dir *d = n->dir;

	ov_index_free(n);
	for (size_t i = 0; i <= d->entries.mask; i++)
		while (d->entries.buckets[i])
			ov_entry_drop(n, container_of(d->entries.buckets[i],
						      struct ov_entry, node));
	ov_mirror_forget(n);
	d->populated = d->opaque = false;
}

static void node_forget(struct ov_node *n)
{
	if (n->dir)
		dir_forget(n);
	if (n->unlinked_watch)
		store_unwatch(n->ov->store, n->sino);
	if (n->side[0])
		store_side_remove(n->ov->store, n->side, false);
	n->side[0] = '\0';
	if (n->quiet)
		close(ov_quiet_take(n));
	ov_src_free(n->src, false);
	n->src = NULL;
	ov_xattr_free(n);
	inode_acl_forget(n->inode);
	n->setgid_stranger = false;
	n->unlinked_watch = n->object = n->meta = n->setid_armed = false;
	n->xattr_own = n->watched = n->birthless = n->standin = false;
	n->writer = 0;
	memset(&n->base, 0, sizeof(n->base));
	memset(&n->ctime_mark, 0, sizeof(n->ctime_mark));
}

static void node_reset(struct ov_node *n, bool stays)
{
	struct stat st = n->lst;

	node_forget(n);
	if (stays && n->has_lower) {
		n->upper = false;
		n->nlink = n->lst.st_nlink;
		ov_take_stat(n, &st);
	} else if (!stays) {
		ov_lower_unhash(n);
		n->nlink = 0;
		if (n->dir)
			n->dir->opaque = true;
		ov_set_parent(n, NULL, NULL);
	}
}

static void overlay_reset(struct ov *ov, struct fresh *f)
{
	size_t count = 0, i = 0;
	struct ov_node **all;
	bool *stays;

	list_for_each (p, &ov->nodes)
		count++;
	all = xcalloc(count + 1, sizeof(*all));
	stays = xcalloc(count + 1, sizeof(*stays));
	list_for_each (q, &ov->nodes) {
		all[i] = list_entry(q, struct ov_node, list);
		inode_get(all[i]->inode);
		stays[i] = stays_as_lower(all[i]);
		i++;
	}
	for (i = 0; i < count; i++)
		node_reset(all[i], stays[i]);
	layer_remove_tree(store_root_fd(ov->store), ov->mirror_name);
	close(ov->mirror);
	ov->mirror = f->mirror;
	memcpy(ov->mirror_name, f->name, sizeof(f->name));
	for (i = 0; i < count; i++) {
		if (all[i] != ov->root)
			ov_unpin(all[i]);
		inode_put(all[i]->inode);
	}
	free(all);
	free(stays);
}

int ov_reset_all(struct store *store)
{
	struct list *overlays = store_overlays(store);
	size_t count = 0, i = 0;
	struct fresh *fresh;
	int ret = 0;

	list_for_each (p, overlays)
		count++;
	fresh = xcalloc(count + 1, sizeof(*fresh));
	list_for_each (q, overlays) {
		struct ov *ov = list_entry(q, struct ov, list);

		fresh[i].mirror = -1;
		if (!ret && !ov->direct)
			ret = fresh_make(&fresh[i], store);
		fresh[i++].ov = ov;
	}
	for (i = 0; i < count; i++) {
		if (fresh[i].ov->direct)
			continue;
		if (!ret) {
			overlay_reset(fresh[i].ov, &fresh[i]);
		} else {
			auto_close_fd(&fresh[i].mirror);
			unlinkat(store_root_fd(store), fresh[i].name,
				 AT_REMOVEDIR);
		}
	}
	free(fresh);
	return ret;
}
