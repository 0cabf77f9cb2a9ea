/*
 * runfs.c - see runfs.h. A hosttree without a host: all rows are made up.
 */
#include "runfs.h"

#include "hosttree.h"

enum { TMPFS_MAGIC_NR = 0x01021994 };

struct runfs {
	struct runfs_config cfg;
	struct hosttree tree;
};

static int denials(void *arg, struct strbuf *out)
{
	const struct runfs *r = arg;

	r->cfg.denials(r->cfg.arg, out);
	return 0;
}

static const struct hosttree_row run_rows[] = {
	{"denials", NULL, denials},
	{NULL, NULL, NULL},
};

static void runfs_free(struct super *sb)
{
	free(sb->fs);
	sb->fs = NULL;
}

int runfs_mount(struct vfs *vfs, const char *guest,
		const struct runfs_config *cfg)
{
	struct runfs *r = xcalloc(1, sizeof(*r));
	struct super *sb = super_new(vfs, "tmpfs", "tmpfs", TMPFS_MAGIC_NR, 0);
	struct inode *root;
	int err;

	r->cfg = *cfg;
	r->tree.dirfd = -1;
	r->tree.rows = run_rows;
	r->tree.arg = r;
	sb->fs = r;
	sb->free = runfs_free;
	sb->noexec = true;
	root = hosttree_root(sb, &r->tree, 1);
	err = vfs_mount_root(vfs, guest, root, "tmpfs", "tmpfs");
	inode_put(root);
	return err;
}
