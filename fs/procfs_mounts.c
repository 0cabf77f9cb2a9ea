/*
 * procfs_mounts.c - the texts of /proc/PID/mounts, mountinfo and mountstats.
 *
 * Made from the VFS's own list of file systems; where an overlay's files come
 * from on the host is not said.
 */
#include <inttypes.h>
#include <sys/sysmacros.h>

#include "procfs_impl.h"
#include "proctext.h"

static const char *mount_source(const struct super *sb)
{
	return sb->source && sb->source[0] != '/' ? sb->source : sb->fstype;
}

static void mount_options(const struct super *sb, struct strbuf *out)
{
	strbuf_puts(out, sb->flags & VFS_MNT_RO ? "ro" : "rw");
	if (sb->noexec)
		strbuf_puts(out, ",nosuid,nodev,noexec");
	strbuf_puts(out, ",relatime");
}

static uint64_t parent_id(const struct super *sb)
{
	const struct dentry *up = sb->root->parent;

	return up && up->inode ? up->inode->sb->mnt_id : 0;
}

static void line_mounts(const struct super *sb, const char *path,
			struct strbuf *out)
{
	proctext_mangle(out, mount_source(sb));
	strbuf_putc(out, ' ');
	proctext_mangle(out, path);
	strbuf_printf(out, " %s ", sb->fstype);
	mount_options(sb, out);
	strbuf_puts(out, " 0 0\n");
}

static void line_mountinfo(const struct super *sb, const char *path,
			   struct strbuf *out)
{
	strbuf_printf(out, "%" PRIu64 " %" PRIu64 " %u:%u / ", sb->mnt_id,
		      parent_id(sb), major(sb->dev), minor(sb->dev));
	proctext_mangle(out, path);
	strbuf_putc(out, ' ');
	mount_options(sb, out);
	strbuf_printf(out, " - %s ", sb->fstype);
	proctext_mangle(out, mount_source(sb));
	strbuf_printf(out, " %s\n", sb->flags & VFS_MNT_RO ? "ro" : "rw");
}

static void line_mountstats(const struct super *sb, const char *path,
			    struct strbuf *out)
{
	strbuf_puts(out, "device ");
	proctext_mangle(out, mount_source(sb));
	strbuf_puts(out, " mounted on ");
	proctext_mangle(out, path);
	strbuf_printf(out, " with fstype %s\n", sb->fstype);
}

void procfs_mounts_text(struct vfs *vfs, const struct dentry *root,
			enum proc_file what, struct strbuf *out)
{
	AUTO_FREE char *path = xmalloc(PATH_LEN_MAX + 32);

	list_for_each (p, &vfs->supers) {
		const struct super *sb =
			list_entry(p, const struct super, list);

		if (!sb->root || sb->root->mask & VFS_MASK_HIDE ||
		    dentry_path(sb->root, root, path, PATH_LEN_MAX + 32) < 0 ||
		    path[0] != '/')
			continue;
		if (what == PROC_MOUNTINFO)
			line_mountinfo(sb, path, out);
		else if (what == PROC_MOUNTSTATS)
			line_mountstats(sb, path, out);
		else
			line_mounts(sb, path, out);
	}
}
