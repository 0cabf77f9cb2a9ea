/*
 * fuzz_walk.c - random paths and calls over a tree in memory.
 *
 * Input: a program of records {op, path, path}; paths end at a newline. After
 * each call the invariants of the dentry tree are asserted. Built with
 * -fsanitize=fuzzer,address,undefined and the objects of fs/.
 */
#include <sys/stat.h>

#include "../unit/memfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t take_byte(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static void take_path(struct input *in, char *buf)
{
	size_t n = 0;
	uint8_t c;

	while (in->size && (c = take_byte(in)) != '\n' && c &&
	       n < PATH_LEN_MAX - 1)
		buf[n++] = (char)c;
	buf[n] = '\0';
}

static void check_dentry(const struct dentry *d)
{
	BUG_ON(!d->hashed && d->parent);
	BUG_ON(d->deleted);
	BUG_ON(strlen(d->name) != d->len || d->len > NAME_LEN_MAX);
	BUG_ON(d->parent && (strchr(d->name, '/') || !d->len));
	BUG_ON(d->parent && dentry_child_mask(d->parent, d->name) != d->mask);
	BUG_ON(d->inode && !d->inode->refs);
	BUG_ON(dentry_inode(d) && S_ISDIR(d->inode->type) &&
	       d->inode->dir_dentry != d);
}

static void check_tree(struct vfs *vfs)
{
	size_t seen = 0;
	struct dentry *d = vfs->root;

	while (d) {
		check_dentry(d);
		seen += d->parent != NULL;
		if (!list_empty(&d->children)) {
			d = list_entry(d->children.next, struct dentry, child);
			continue;
		}
		while (d->parent && d->child.next == &d->parent->children)
			d = d->parent;
		d = d->parent ? list_entry(d->child.next, struct dentry, child)
			      : NULL;
	}
	BUG_ON(seen != vfs->dentries.count);
	BUG_ON(vfs->lru_count > vfs->lru_max);
	BUG_ON(!list_empty(&vfs->dead));
}

static void check_path(struct vfs_ctx *ctx, const struct vref *ref)
{
	struct vref again = {NULL, NULL};
	char buf[PATH_LEN_MAX];
	struct vfs_at a = {NULL, buf};

	if (!ref->dentry || dentry_deleted(ref->dentry) ||
	    dentry_path(ref->dentry, NULL, buf, sizeof(buf)) < 0)
		return;
	BUG_ON(vfs_lookup(ctx, &a, 0, &again));
	BUG_ON(again.dentry != ref->dentry);
	vref_put(&again);
}

static void one_open(struct vfs_ctx *ctx, const struct vfs_at *a, int flags)
{
	struct vfs_opened o;

	flags &= ~(O_PATH | (O_TMPFILE & ~O_DIRECTORY));
	if (vfs_open(ctx, a, flags, 0644, 0, &o) == 0) {
		check_path(ctx, &o.ref);
		vfs_opened_fini(&o);
	}
}

static void one_lookup(struct vfs_ctx *ctx, const struct vfs_at *a,
		       unsigned flags)
{
	struct vref ref = {NULL, NULL};

	if (vfs_lookup(ctx, a, flags & 0x1f7, &ref) == 0)
		check_path(ctx, &ref);
	vref_put(&ref);
}

static void one_link(struct vfs_ctx *ctx, const struct vfs_at *a,
		     const struct vfs_at *b)
{
	struct vref ref = {NULL, NULL};

	if (vfs_lookup(ctx, a, 0, &ref) == 0)
		(void)!vfs_link(ctx, &ref, b);
	vref_put(&ref);
}

static void change_cwd(struct vfs_ctx *ctx, const struct vfs_at *a,
		       struct vref *cwd)
{
	struct vref ref = {NULL, NULL};

	if (vfs_lookup(ctx, a, VFS_FOLLOW | VFS_DIRECTORY, &ref))
		return;
	vref_put(cwd);
	*cwd = ref;
	ctx->cwd = ref.dentry;
}

static void one_op(struct vfs_ctx *ctx, struct input *in, struct vref *cwd)
{
	static char p1[PATH_LEN_MAX], p2[PATH_LEN_MAX];
	struct vfs_at a = {NULL, p1}, b = {NULL, p2};
	uint8_t op = take_byte(in), arg = take_byte(in);

	take_path(in, p1);
	take_path(in, p2);
	switch (op % 9) {
	case 0:
		(void)!vfs_mkdir(ctx, &a, 0755);
		break;
	case 1:
		(void)!vfs_rmdir(ctx, &a);
		break;
	case 2:
		(void)!vfs_unlink(ctx, &a);
		break;
	case 3:
		(void)!vfs_symlink(ctx, p2, &a);
		break;
	case 4:
		(void)!vfs_rename(ctx, &a, &b, arg & 3u);
		break;
	case 5:
		one_link(ctx, &a, &b);
		break;
	case 6:
		one_open(ctx, &a, arg << 4 | (arg & 3));
		break;
	case 7:
		change_cwd(ctx, &a, cwd);
		break;
	default:
		one_lookup(ctx, &a, arg * 3u);
	}
}

static unsigned rules(void *arg, const char *path, unsigned inherited,
		      uint32_t *rule)
{
	size_t len = strlen(path);

	(void)arg;
	(void)inherited;
	*rule = 1;
	if (path[len - 1] == 'H')
		return VFS_MASK_HIDE;
	if (path[len - 1] == 'R')
		return VFS_MASK_RO;
	if (path[len - 1] == 'W')
		return VFS_MASK_RESET;
	*rule = 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct vref cwd = {NULL, NULL};
	struct vfs_ctx ctx;
	struct vfs *vfs = memfs_vfs(&ctx, rules, NULL);

	vfs->lru_max = 8;
	while (in.size) {
		one_op(&ctx, &in, &cwd);
		vfs_poll(vfs); /* frees what we put after the operation */
		check_tree(vfs);
	}
	vref_put(&cwd);
	memfs_end(vfs);
	return 0;
}
