/*
 * hosttree.c - see hosttree.h.
 *
 * Every name is matched against the rows one component at a time before the
 * host is asked, so a guest reaches only what a row names. Paths given to the
 * host hold no symlink: each directory on the way was itself looked up here
 * and seen to be one.
 */
#include "hosttree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>

enum { HOSTTREE_NAMES_MAX = 4096 };

struct hnode_path {
	const struct hosttree *tree;
	const struct hosttree_row *row; /* files */
	char rel[];			/* "" for the root */
};

const char hosttree_empty[] = "";

static const struct inode_ops dir_ops, file_ops;

enum match { MATCH_NONE, MATCH_DIR, MATCH_FILE };

/* Takes the next component of *p into buf; false at the end. */
static bool component(const char **p, char *buf, size_t size)
{
	const char *slash = strchrnul(*p, '/');
	size_t n = (size_t)(slash - *p);

	if (!n || n >= size)
		return false;
	memcpy(buf, *p, n);
	buf[n] = '\0';
	*p = *slash ? slash + 1 : slash;
	return true;
}

/* Does rel match pattern whole (FILE), or as a leading part (DIR)? The rest
 * of the pattern is given for DIR. */
static enum match row_match(const char *pattern, const char *rel,
			    const char **rest)
{
	char a[NAME_LEN_MAX + 1], b[NAME_LEN_MAX + 1];

	while (*rel) {
		if (!component(&pattern, a, sizeof(a)) ||
		    !component(&rel, b, sizeof(b)) || fnmatch(a, b, FNM_PERIOD))
			return MATCH_NONE;
	}
	*rest = pattern;
	return *pattern ? MATCH_DIR : MATCH_FILE;
}

static bool row_synthetic(const struct hosttree_row *r)
{
	return r->text || r->fn;
}

/* What rel is: the strongest row decides. synth: it exists by itself. */
static enum match tree_match(const struct hosttree *t, const char *rel,
			     const struct hosttree_row **row, bool *synth)
{
	enum match best = MATCH_NONE;
	const char *rest;

	*synth = false;
	for (const struct hosttree_row *r = t->rows; r->path; r++) {
		enum match m = row_match(r->path, rel, &rest);

		if (m == MATCH_NONE)
			continue;
		if (row_synthetic(r))
			*synth = true;
		if (m > best || (m == best && row_synthetic(r))) {
			best = m;
			*row = r;
		}
	}
	return best;
}

static struct inode *node_new(struct super *sb, const struct hosttree *t,
			      const struct hosttree_row *row, const char *rel,
			      mode_t type, mode_t mode, uint64_t ino)
{
	size_t len = strlen(rel) + 1;
	struct hnode_path *n = xcalloc(1, sizeof(*n) + len);
	struct inode *i;

	n->tree = t;
	n->row = row;
	memcpy(n->rel, rel, len);
	i = inode_new(sb, type == S_IFDIR ? &dir_ops : &file_ops, ino, type, n);
	i->mode = mode;
	i->uid = 0;
	i->gid = 0;
	i->revalidate = type == S_IFDIR;
	return i;
}

static uint64_t rel_ino(const struct hosttree *t, const char *rel)
{
	return (hash_bytes(rel, strlen(rel), (uint64_t)t->dirfd) >> 20) | 1;
}

struct inode *hosttree_root(struct super *sb, const struct hosttree *tree,
			    uint64_t ino)
{
	return node_new(sb, tree, NULL, "", S_IFDIR, 0555, ino);
}

static int join(const char *rel, const char *name, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s%s%s", rel, *rel ? "/" : "", name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Type and mode of the child at rel, if it is to be seen. */
static int probe(const struct hosttree *t, const char *rel,
		 const struct hosttree_row **row, mode_t *mode)
{
	bool synth;
	enum match m = tree_match(t, rel, row, &synth);
	struct stat st;

	if (m == MATCH_NONE)
		return -ENOENT;
	*mode = m == MATCH_DIR || (*row)->text == hosttree_empty
			? S_IFDIR | 0555
			: S_IFREG | 0444;
	if (m == MATCH_DIR ? synth : row_synthetic(*row))
		return 0;
	if (fstatat(t->dirfd, rel, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES ? -ENOENT : -errno;
	if ((st.st_mode & S_IFMT) != (*mode & S_IFMT))
		return -ENOENT;
	if (m == MATCH_FILE)
		*mode = S_IFREG | (st.st_mode & 0666);
	return 0;
}

static int tree_lookup(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       const char *name, struct inode **out)
{
	const struct hnode_path *n = dir->fs;
	const struct hosttree_row *row;
	char rel[PATH_LEN_MAX];
	mode_t mode;
	int err = join(n->rel, name, rel, sizeof(rel));

	if (!err)
		err = probe(n->tree, rel, &row, &mode);
	if (err)
		return err;
	*out = node_new(dir->sb, n->tree, row, rel, mode & S_IFMT, mode & 07777,
			rel_ino(n->tree, rel));
	return 0;
}

/* ---- listing --------------------------------------------------------- */

struct names {
	char *name[HOSTTREE_NAMES_MAX];
	size_t count;
};

static void names_add(struct names *l, const char *name)
{
	if (l->count >= HOSTTREE_NAMES_MAX)
		return;
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->name[i], name))
			return;
	l->name[l->count++] = xstrdup(name);
}

static void names_from_rows(struct names *l, const struct hnode_path *n)
{
	char buf[NAME_LEN_MAX + 1];
	const char *rest;

	for (const struct hosttree_row *r = n->tree->rows; r->path; r++)
		if (row_match(r->path, n->rel, &rest) == MATCH_DIR &&
		    component(&rest, buf, sizeof(buf)) && !strpbrk(buf, "*?["))
			names_add(l, buf);
}

static void names_from_host(struct names *l, const struct hnode_path *n)
{
	int fd = n->tree->dirfd < 0
			 ? -1
			 : openat(n->tree->dirfd, *n->rel ? n->rel : ".",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					  O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			names_add(l, e->d_name);
	closedir(d);
}

static int tree_readdir(struct vfs_ctx *ctx UNUSED, struct inode *dir,
			off_t *pos, vfs_dirent_fn fn, void *arg)
{
	const struct hnode_path *n = dir->fs;
	struct names *l = xcalloc(1, sizeof(*l));
	const struct hosttree_row *row;
	char rel[PATH_LEN_MAX];
	bool full = false;
	mode_t mode;

	names_from_rows(l, n);
	names_from_host(l, n);
	for (size_t i = 0; i < l->count; i++) {
		if (!full && (off_t)i >= *pos &&
		    !join(n->rel, l->name[i], rel, sizeof(rel)) &&
		    !probe(n->tree, rel, &row, &mode)) {
			full = fn(arg, l->name[i], strlen(l->name[i]),
				  rel_ino(n->tree, rel),
				  S_ISDIR(mode) ? DT_DIR : DT_REG,
				  (off_t)i + 1);
			if (!full)
				*pos = (off_t)i + 1;
		}
		free(l->name[i]);
	}
	free(l);
	return 0;
}

/* ---- files ----------------------------------------------------------- */

static int file_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		     struct dentry *dentry, int flags, struct vfs_opened *out)
{
	const struct hnode_path *n = inode->fs;
	struct strbuf text;
	int err = 0;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return -EACCES;
	strbuf_init(&text, PSEUDO_TEXT_MAX);
	if (n->row->fn)
		err = n->row->fn(n->tree->arg, &text);
	else if (n->row->text)
		strbuf_puts(&text, n->row->text);
	else
		err = pseudo_read_at(n->tree->dirfd, n->rel, &text);
	if (!err)
		err = pseudo_open_text(inode, dentry, flags, &text, out);
	strbuf_fini(&text);
	return err;
}

static int dir_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out)
{
	return pseudo_open_dir(inode, dentry, flags, out);
}

static void node_release(struct inode *inode)
{
	free(inode->fs);
}

static const struct inode_ops dir_ops = {
	.lookup = tree_lookup,
	.getattr = pseudo_op_getattr,
	.open = dir_open,
	.readdir = tree_readdir,
	.release = node_release,
};

static const struct inode_ops file_ops = {
	.getattr = pseudo_op_getattr,
	.open = file_open,
	.release = node_release,
};
