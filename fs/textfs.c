/*
 * textfs.c - see textfs.h.
 */
#include "textfs.h"

#include <fcntl.h>

#include "pseudo.h"

enum { TMPFS_MAGIC_NR = 0x01021994 };

struct text {
	size_t len;
	char data[];
};

static int text_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		     struct dentry *dentry, int flags, struct vfs_opened *out)
{
	const struct text *t = inode->sb->fs;
	struct strbuf text;
	int err;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return -EACCES;
	strbuf_init(&text, PSEUDO_TEXT_MAX);
	strbuf_add(&text, t->data, t->len);
	err = pseudo_open_text(inode, dentry, flags, &text, out);
	strbuf_fini(&text);
	return err;
}

static int text_getattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
			struct statx *out)
{
	const struct text *t = inode->sb->fs;

	pseudo_getattr(inode, out);
	out->stx_size = t->len;
	return 0;
}

static const struct inode_ops text_ops = {
	.getattr = text_getattr,
	.open = text_open,
};

static void text_free(struct super *sb)
{
	free(sb->fs);
	sb->fs = NULL;
}

int textfs_mount(struct vfs *vfs, const char *guest, const char *text)
{
	return textfs_mount_bytes(vfs, guest, text, strlen(text));
}

int textfs_mount_bytes(struct vfs *vfs, const char *guest, const void *data,
		       size_t len)
{
	struct super *sb = super_new(vfs, "tmpfs", "tmpfs", TMPFS_MAGIC_NR, 0);
	struct inode *root;
	struct text *t;
	int err;

	t = xmalloc(sizeof(*t) + len);
	t->len = len;
	memcpy(t->data, data, len);
	sb->fs = t;
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
