/*
 * procfs_file.c - the files and links of /proc.
 *
 * Text is made at open and copied to a snapshot. Two kinds give the host's
 * own descriptor instead: system-wide files which programs keep open and
 * re-read (PENT_LIVE; nothing private in them, read-only), and files that
 * exist to be written (PENT_WRITE), where the kernel checks the writer.
 */
#include "procfs_impl.h"

#include <fcntl.h>
#include <stdio.h>

static int node_access(struct vfs_ctx *ctx, const struct inode *inode)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;

	if (!(n->ent->flags & PENT_ACCESS))
		return 0;
	return p->src->may_access(p->arg, ctx, n->key);
}

static int make_text(struct vfs_ctx *ctx, struct inode *inode,
		     struct strbuf *text)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	const struct pent *e = n->ent;

	switch (e->kind) {
	case PENT_CONST:
		strbuf_puts(text, e->text);
		return 0;
	case PENT_TEXT:
		return p->src->text(p->arg, ctx, n->key,
				    (enum proc_file)e->what, n->fd, text);
	case PENT_GLOBAL:
		return p->src->global(p->arg, ctx, (enum proc_global)e->what,
				      e->text ? e->text : e->name, text);
	case PENT_HOST:
		return pseudo_read_at(p->host_proc, e->name, text);
	default:
		return -EACCES;
	}
}

static int open_live(struct inode *inode, struct dentry *dentry,
		     struct vfs_opened *out)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int err;

	fd = openat(p->host_proc, n->ent->name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	err = vfs_object_add(inode->sb->vfs, st.st_dev, st.st_ino, inode,
			     dentry, false);
	if (err)
		return err;
	out->kind = VFS_OPENED;
	out->fd = fd_take(&fd);
	return 0;
}

static int open_writable(struct inode *inode, int flags, struct vfs_opened *out)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	int fd = -1;
	/* Not registered: the host's numbers for these files are reused, and
	 * a descriptor that nobody knows is described by its own fstat. */
	int err =
		p->src->open_host(p->arg, n->key, (enum proc_file)n->ent->what,
				  flags & (O_ACCMODE | O_APPEND), &fd);

	if (err)
		return err;
	out->kind = VFS_OPENED;
	out->fd = fd;
	return 0;
}

static int file_open(struct vfs_ctx *ctx, struct inode *inode,
		     struct dentry *dentry, int flags, struct vfs_opened *out)
{
	const struct pnode *n = inode->fs;
	bool write = (flags & O_ACCMODE) != O_RDONLY;
	struct strbuf text;
	int err = node_access(ctx, inode);

	if (err)
		return err;
	if (write && !(n->ent->flags & PENT_WRITE))
		return -EACCES;
	if (write || (n->ent->flags & PENT_OWN))
		return open_writable(inode, flags, out);
	if (n->ent->kind == PENT_LIVE)
		return open_live(inode, dentry, out);
	strbuf_init(&text, PSEUDO_TEXT_MAX);
	err = make_text(ctx, inode, &text);
	if (!err)
		/* O_TRUNC does nothing here, as natively */
		err = pseudo_open_text(inode, dentry, flags & ~O_TRUNC, &text,
				       out);
	strbuf_fini(&text);
	return err;
}

static int file_setattr(struct vfs_ctx *ctx UNUSED, struct inode *inode UNUSED,
			struct vfs_attr *attr)
{
	/* truncation is what `>comm` asks for, and is nothing */
	return attr->valid & ~VFS_ATTR_SIZE ? -EPERM : 0;
}

static void node_release(struct inode *inode)
{
	free(inode->fs);
}

const struct inode_ops procfs_file_ops = {
	.getattr = pseudo_op_getattr,
	.setattr = file_setattr,
	.open = file_open,
	.release = node_release,
};

/* ---- links ----------------------------------------------------------- */

static ssize_t link_self(struct vfs_ctx *ctx, const struct inode *inode,
			 bool thread, char *buf, size_t size)
{
	const struct procfs *p = procfs_of(inode);
	struct proc_key key;
	char text[64];

	if (p->src->viewer(p->arg, ctx, &key) < 0)
		return -ENOENT;
	if (thread)
		snprintf(text, sizeof(text), "%d/task/%d", key.pid, key.tid);
	else
		snprintf(text, sizeof(text), "%d", key.pid);
	return pseudo_copy_link(text, buf, size);
}

static ssize_t link_object(struct vfs_ctx *ctx, const struct inode *inode,
			   char *buf, size_t size, struct vref *jump)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	char text[PATH_LEN_MAX + 16];
	struct vref ref = {NULL, NULL};
	int err =
		p->src->link(p->arg, ctx, n->key, (enum proc_link)n->ent->what,
			     &ref, text, sizeof(text));

	if (err)
		return err;
	if (jump) {
		*jump = ref;
		return 0;
	}
	vref_put(&ref);
	return pseudo_copy_link(text, buf, size);
}

/* What stands behind ns/NAME: it can be looked at, not entered. */
static const struct pent ns_object = {"", PENT_DENY, 0444, 0, 0, NULL, NULL};

static ssize_t link_ns(const struct inode *inode, char *buf, size_t size,
		       struct vref *jump)
{
	const struct pnode *n = inode->fs;
	char text[64];
	int err;

	if (!jump) {
		snprintf(text, sizeof(text), "%s:[%u]", n->ent->text,
			 n->ent->what);
		return pseudo_copy_link(text, buf, size);
	}
	err = procfs_inode(inode->sb, &ns_object, (struct proc_key){0, 0},
			   (int)(n->ent->what & 0xffff), &jump->inode);
	if (!err)
		jump->inode->ino = n->ent->what;
	return err;
}

static ssize_t node_readlink(struct vfs_ctx *ctx, struct inode *inode,
			     char *buf, size_t size, struct vref *jump)
{
	const struct pnode *n = inode->fs;
	int err = node_access(ctx, inode);

	if (err)
		return err;
	switch (n->ent->kind) {
	case PENT_SYMLINK:
		return pseudo_copy_link(n->ent->text, buf, size);
	case PENT_SELF:
		return link_self(ctx, inode, n->ent->what != 0, buf, size);
	case PENT_LINK:
		return link_object(ctx, inode, buf, size, jump);
	case PENT_NS:
		return link_ns(inode, buf, size, jump);
	default:
		return -EINVAL;
	}
}

const struct inode_ops procfs_link_ops = {
	.getattr = pseudo_op_getattr,
	.readlink = node_readlink,
	.release = node_release,
};
