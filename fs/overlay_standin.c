/*
 * overlay_standin.c - made-up files in the place of lower ones that may not
 * be read, for a virtual root, who expects to read everything.
 *
 * A stand-in is a file or directory of the store with the lower's owner, mode
 * and times, made when the name is first looked up. It is empty but for the
 * few files that programs cannot do with empty (standin_text.c). Nothing of
 * the lower's content is ever read for it.
 *
 * Which lower files: system files that the user who started the sandbox may
 * not read, and what policy names (VFS_MASK_STANDIN). Not the user's own, and
 * not in the work directory: who works there would take empty files for the
 * real ones. Who in the sandbox may read the stand-in is decided by its mode.
 *
 * Law: what comes of a stand-in never counts as a version of the host's file:
 * its entry stays marked, and apply refuses it. [escape/vroot.sh]
 *
 * LIMIT: of a directory that may be searched but not listed, a virtual root
 * is shown only those names that were looked up already.
 */
#include "overlay_priv.h"
#include "standin_text.h"

#include <fcntl.h>

enum { STANDIN_SOURCE_MAX = 1 << 20 };

bool ov_standin_wanted(struct ov_node *dir, const char *name,
		       const struct stat *st)
{
	struct dentry *d = dir->inode->dir_dentry;

	if (dir->ov->direct || !dir->ov->sb->vfs->cfg.standins ||
	    (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)))
		return false;
	if (d && (dentry_child_mask(d, name) & VFS_MASK_STANDIN))
		return true;
	if (dir->lhost->changes)
		return false;
	if (st->st_uid == dir->ov->host.euid && !standin_text_of(name))
		return false;
	return hostfs_closed(dir->lhost, name, st);
}

/* What the guest may not see is no source either. */
static bool standin_hidden(struct ov_node *dir, const char *name)
{
	struct dentry *d = dir->inode->dir_dentry;

	return d && (dentry_child_mask(d, name) &
		     (VFS_MASK_HIDE | VFS_MASK_NOLOWER));
}

static int standin_source(struct ov_node *dir, const char *name,
			  struct strbuf *out)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	ssize_t got = 1;
	int ret = standin_hidden(dir, name)
			  ? -ENOENT
			  : hostfs_stat(dir->lhost, name, &st);

	if (!ret && !S_ISREG(st.st_mode))
		ret = -ENOENT;
	if (!ret)
		ret = hostfs_open(dir->lhost, name, O_RDONLY, &st, &fd);
	while (!ret && got > 0 && out->len < STANDIN_SOURCE_MAX) {
		char buf[4096];

		got = read(fd, buf, sizeof(buf));
		if (got > 0)
			strbuf_add(out, buf, (size_t)got);
	}
	return ret;
}

static void standin_text(struct ov_node *dir, const char *name,
			 const struct stat *st, struct strbuf *out)
{
	const struct standin_text *t = standin_text_of(name);
	struct strbuf from;

	if (!t)
		return;
	strbuf_init(&from, STANDIN_SOURCE_MAX + 4096);
	if (!t->source || !standin_source(dir, t->source, &from))
		t->make(from.data ? from.data : "", from.len,
			(long)(st->st_mtim.tv_sec / 86400), out);
	strbuf_fini(&from);
}

static int standin_fill(struct ov_node *n, const char *data, size_t len)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int ret = ov_object_open_quiet(n, O_RDWR, &fd);

	while (!ret && len) {
		ssize_t put = write(fd, data, len);

		if (put < 0)
			return ov_store_errno(errno, "stand-in");
		data += put;
		len -= (size_t)put;
	}
	if (ret)
		return ret;
	if (fchmod(fd, ov_object_mode(n)) < 0 || fstat(fd, &st) < 0)
		return ov_store_errno(errno, "stand-in");
	n->base.hashed = !changes_hash(fd, &n->base.hash);
	n->base.size = (uint64_t)st.st_size;
	return 0;
}

static int standin_times(struct ov_node *n)
{
	struct stat st;
	int ret = ov_times_to_object(n);

	if (!ret)
		ret = ov_object_stat(n, &st);
	if (!ret)
		n->ctime_mark = st.st_ctim;
	return ret;
}

static struct ov_node *standin_node(struct ov_node *dir, const struct stat *st)
{
	struct ov *ov = dir->ov;
	struct ov_node *n =
		ov_node_new(ov, st->st_mode & S_IFMT,
			    ov_lower_ino(ov, st->st_dev, st->st_ino));

	n->upper = n->standin = true;
	n->inode->mode = st->st_mode & 07777;
	n->inode->uid = ov_uid(ov, st->st_uid);
	n->inode->gid = ov_gid(ov, st->st_gid);
	n->atime = st->st_atim;
	n->mtime = st->st_mtim;
	n->ctime = st->st_ctim;
	n->btime.tv_sec = -1;
	return n;
}

int ov_standin_make(struct ov_node *dir, const char *name,
		    const struct stat *st, struct inode **out)
{
	struct ov_node *n = standin_node(dir, st);
	struct strbuf text;
	int ret = ov_object_make(n, dir, name);

	if (ret < 0) {
		inode_put(n->inode);
		return ret;
	}
	ov_entry_find(dir, name)->standin = true;
	if (S_ISDIR(n->inode->type)) {
		n->dir->populated = true;
		ov_set_parent(n, dir, name);
	} else {
		strbuf_init(&text, STANDIN_SOURCE_MAX * 2);
		standin_text(dir, name, st, &text);
		ret = standin_fill(n, text.data, text.len);
		strbuf_fini(&text);
	}
	if (!ret)
		ret = standin_times(n);
	if (ret < 0) /* it stands, if not as it should */
		log_debug("stand-in for %s: %s", name, strerror(-ret));
	*out = n->inode;
	return 0;
}

bool ov_standin_untouched(struct ov_node *n, const struct ov_entry *e,
			  const struct stat *st)
{
	AUTO_CLOSE int fd = -1;
	const char *name;
	struct stat now;
	uint64_t hash;
	int dirfd;

	if (!n->standin || !e->standin ||
	    (st->st_mode & (S_IFMT | 07777)) !=
		    (n->inode->type | n->inode->mode) ||
	    n->inode->uid != ov_uid(n->ov, st->st_uid) ||
	    n->inode->gid != ov_gid(n->ov, st->st_gid) || n->xattr_size)
		return false;
	if (S_ISDIR(n->inode->type))
		return true;
	if (ov_object_stat(n, &now) < 0 ||
	    (uint64_t)now.st_size != n->base.size || !n->base.hashed ||
	    ov_object_place(n, &dirfd, &name) < 0)
		return false;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && !changes_hash(fd, &hash) && hash == n->base.hash;
}
