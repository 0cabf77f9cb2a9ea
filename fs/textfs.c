/*
 * textfs.c - see textfs.h.
 */
#include "textfs.h"

#include <fcntl.h>

#include "pseudo.h"

enum { TMPFS_MAGIC_NR = 0x01021994 };

static int text_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		     struct dentry *dentry, int flags, struct vfs_opened *out)
{
	struct strbuf text;
	int err;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return -EACCES;
	strbuf_init(&text, PSEUDO_TEXT_MAX);
	strbuf_puts(&text, inode->sb->fs);
	err = pseudo_open_text(inode, dentry, flags, &text, out);
	strbuf_fini(&text);
	return err;
}

static const struct inode_ops text_ops = {
	.getattr = pseudo_op_getattr,
	.open = text_open,
};

static void text_free(struct super *sb)
{
	free(sb->fs);
	sb->fs = NULL;
}

int textfs_mount(struct vfs *vfs, const char *guest, const char *text)
{
	struct super *sb = super_new(vfs, "tmpfs", "tmpfs", TMPFS_MAGIC_NR, 0);
	struct inode *root;
	int err;

	sb->fs = xstrdup(text);
	sb->free = text_free;
	sb->noexec = true;
	root = inode_new(sb, &text_ops, 1, S_IFREG, NULL);
	root->mode = 0444;
	root->uid = 0;
	root->gid = 0;
	err = vfs_mount_root(vfs, guest, root, "tmpfs", "tmpfs");
	inode_put(root);
	return err;
}
