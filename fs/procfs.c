/*
 * procfs.c - the directories of /proc: look-up and listing by the rows of
 * procfs_tables.c; mounting.
 *
 * Directories are never cached (inode.revalidate): processes and descriptors
 * come and go without the VFS being told. The inode number is made from the
 * row, the key and the process's generation, so a dentry of a process that
 * has gone is not taken for a new one of the same number.
 */
#include "procfs_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

enum {
	PROC_SUPER_MAGIC_NR = 0x9fa0,
	TMPFS_MAGIC_NR = 0x01021994,
	PID_COOKIE = 256, /* pids are listed after the fixed names */
};

static const struct inode_ops dir_ops;

static const struct pent root_ent = {"",   PENT_DIR,	       0555, 0, 0,
				     NULL, procfs_root_entries};
static const struct pent pid_ent = {"",	  PENT_DIR,	     0555, 0, 0,
				    NULL, procfs_pid_entries};
static const struct pent tid_ent = {"",	  PENT_DIR,	     0555, 1, 0,
				    NULL, procfs_pid_entries};

static const struct inode_ops *const kind_ops[PENT_KINDS] = {
	[PENT_DIR] = &dir_ops,
	[PENT_TASKS] = &dir_ops,
	[PENT_FDS] = &procfs_fds_ops,
	[PENT_FDINFOS] = &procfs_fds_ops,
	[PENT_TEXT] = &procfs_file_ops,
	[PENT_CONST] = &procfs_file_ops,
	[PENT_GLOBAL] = &procfs_file_ops,
	[PENT_HOST] = &procfs_file_ops,
	[PENT_LIVE] = &procfs_file_ops,
	[PENT_DENY] = &procfs_file_ops,
	[PENT_LINK] = &procfs_link_ops,
	[PENT_SYMLINK] = &procfs_link_ops,
	[PENT_SELF] = &procfs_link_ops,
	[PENT_NS] = &procfs_link_ops,
	[PENT_FD] = &procfs_fd_ops,
};

static mode_t kind_type(enum pent_kind k)
{
	switch (k) {
	case PENT_DIR:
	case PENT_TASKS:
	case PENT_FDS:
	case PENT_FDINFOS:
	case PENT_SYS:
		return S_IFDIR;
	case PENT_LINK:
	case PENT_SYMLINK:
	case PENT_SELF:
	case PENT_NS:
	case PENT_FD:
		return S_IFLNK;
	default:
		return S_IFREG;
	}
}

uint64_t procfs_ino(const struct pent *ent, struct proc_key key, int fd)
{
	uint64_t h = hash_u64((uintptr_t)ent,
			      (uint64_t)key.pid << 32 | (uint32_t)key.tid);

	if (ent == &root_ent)
		return 1;
	return (hash_u64(h, (uint64_t)fd) >> 20) | 1;
}

/* Inodes of system-wide live files are kept: descriptors refer to them. */
static struct inode **live_slot(struct procfs *p, const struct pent *ent)
{
	for (size_t i = 0; i < PROCFS_LIVE_MAX; i++) {
		if (p->live_ent[i] == ent)
			return &p->live[i];
		if (!p->live_ent[i]) {
			p->live_ent[i] = ent;
			return &p->live[i];
		}
	}
	BUG_ON(true); /* more rows than PROCFS_LIVE_MAX */
	return NULL;
}

static struct inode *inode_make(struct super *sb, const struct pent *ent,
				struct proc_key key, int fd, uint64_t gen)
{
	struct pnode *n = xcalloc(1, sizeof(*n));
	uint64_t ino = procfs_ino(ent, key, fd);
	struct inode *i;

	n->ent = ent;
	n->key = key;
	n->fd = fd;
	if (gen)
		ino = (hash_u64(ino, gen) >> 20) | 1;
	i = inode_new(sb, kind_ops[ent->kind], ino, kind_type(ent->kind), n);
	i->mode = ent->mode;
	i->uid = 0;
	i->gid = 0;
	i->revalidate = i->type == S_IFDIR;
	i->no_negative = i->revalidate;
	i->link_stable = ent->kind == PENT_SYMLINK;
	return i;
}

int procfs_inode(struct super *sb, const struct pent *ent, struct proc_key key,
		 int fd, struct inode **out)
{
	struct procfs *p = sb->fs;
	struct inode **slot;
	struct proc_owner o = {0, 0, true, 0};

	if (ent->kind == PENT_SYS) {
		*out = inode_get(p->sys_root);
		return 0;
	}
	if (ent->kind == PENT_LIVE) {
		slot = live_slot(p, ent);
		if (!*slot)
			*slot = inode_make(sb, ent, key, fd, 0);
		*out = inode_get(*slot);
		return 0;
	}
	if (key.pid && p->src->owner(p->arg, key, &o) < 0)
		return -ENOENT;
	*out = inode_make(sb, ent, key, fd, hash_u64(o.generation, o.uid));
	/* a process that is not dumpable keeps its public directories only
	 * (task_dump_owner in Linux fs/proc/base.c) */
	if (o.dumpable || ((*out)->type == S_IFDIR && ent->mode == 0555)) {
		(*out)->uid = o.uid;
		(*out)->gid = o.gid;
	}
	return 0;
}

/* ---- look-up --------------------------------------------------------- */

/* A file of the host is shown where this kernel has it. */
static bool is_absent(struct procfs *p, const struct pent *e)
{
	size_t i = (size_t)(e - procfs_root_entries);

	BUG_ON(i >= PROCFS_ROOT_MAX);
	if (e->kind != PENT_HOST && e->kind != PENT_LIVE &&
	    e->kind != PENT_DENY)
		return false;
	if (p->has[i] == PROCFS_UNASKED)
		p->has[i] = faccessat(p->host_proc, e->name, F_OK, 0) < 0
				    ? PROCFS_ABSENT
				    : PROCFS_HERE;
	return p->has[i] == PROCFS_ABSENT;
}

static bool ent_hidden(struct procfs *p, const struct pnode *dir,
		       const struct pent *e)
{
	if (dir->ent == &root_ent)
		return is_absent(p, e);
	return e->flags & (dir->key.tid ? PENT_THREAD : PENT_TIDONLY);
}

static int lookup_pid(struct inode *dir, const char *name, struct inode **out)
{
	long pid = pseudo_parse_number(name, PROCFS_PID_MAX, false);
	struct proc_key key = {(pid_t)pid, 0};

	if (!pid)
		return -ENOENT;
	return procfs_inode(dir->sb, &pid_ent, key, -1, out);
}

static int lookup_tid(struct inode *dir, const char *name, struct inode **out)
{
	const struct pnode *n = dir->fs;
	long tid = pseudo_parse_number(name, PROCFS_PID_MAX, false);
	struct proc_key key = {n->key.pid, (pid_t)tid};

	if (!tid)
		return -ENOENT;
	return procfs_inode(dir->sb, &tid_ent, key, -1, out);
}

static int dir_lookup(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		      const char *name, struct inode **out)
{
	const struct pnode *n = dir->fs;

	if (n->ent->kind == PENT_TASKS)
		return lookup_tid(dir, name, out);
	for (const struct pent *e = n->ent->children; e->name; e++)
		if (!strcmp(e->name, name) && !ent_hidden(procfs_of(dir), n, e))
			return procfs_inode(dir->sb, e, n->key, -1, out);
	if (n->ent == &root_ent)
		return lookup_pid(dir, name, out);
	return -ENOENT;
}

/* ---- listing --------------------------------------------------------- */

static unsigned char ent_dtype(const struct pent *e)
{
	return (unsigned char)(kind_type(e->kind) >> 12);
}

/* Emits pids or tids from *pos - base on; 1 when the buffer is full. */
static void list_numbers(struct inode *dir, off_t *pos, off_t base,
			 vfs_dirent_fn fn, void *arg)
{
	const struct procfs *p = procfs_of(dir);
	const struct pnode *n = dir->fs;
	bool tids = n->ent->kind == PENT_TASKS;
	pid_t at = (pid_t)(*pos - base);
	char name[16];

	for (;;) {
		struct proc_key key = n->key;
		int len;

		at = tids ? p->src->next_tid(p->arg, key.pid, at)
			  : p->src->next_pid(p->arg, at);
		if (!at)
			return;
		if (tids)
			key.tid = at;
		else
			key.pid = at;
		len = snprintf(name, sizeof(name), "%d", at);
		if (fn(arg, name, (size_t)len,
		       procfs_ino(tids ? &tid_ent : &pid_ent, key, -1), DT_DIR,
		       base + at))
			return;
		*pos = base + at;
	}
}

static int dir_readdir(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       off_t *pos, vfs_dirent_fn fn, void *arg)
{
	const struct pnode *n = dir->fs;
	const struct pent *e = n->ent->children;

	if (*pos < 0 || *pos > PROCFS_PID_MAX * 2)
		return 0;
	if (n->ent->kind == PENT_TASKS) {
		list_numbers(dir, pos, 0, fn, arg);
		return 0;
	}
	for (off_t i = 0; e[i].name; i++) {
		if (i < *pos || ent_hidden(procfs_of(dir), n, &e[i]))
			continue;
		if (fn(arg, e[i].name, strlen(e[i].name),
		       procfs_ino(&e[i], n->key, -1), ent_dtype(&e[i]), i + 1))
			return 0;
		*pos = i + 1;
	}
	if (n->ent != &root_ent)
		return 0;
	if (*pos < PID_COOKIE)
		*pos = PID_COOKIE;
	list_numbers(dir, pos, PID_COOKIE, fn, arg);
	return 0;
}

static unsigned count_tids(const struct procfs *p, pid_t pid)
{
	unsigned count = 0;

	for (pid_t t = 0; (t = p->src->next_tid(p->arg, pid, t));)
		count++;
	return count;
}

static unsigned count_dirs(struct procfs *p, const struct pnode *n)
{
	unsigned count = 0;

	for (const struct pent *e = n->ent->children; e->name; e++)
		if (kind_type(e->kind) == S_IFDIR && !ent_hidden(p, n, e))
			count++;
	return count;
}

static int dir_getattr(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       struct statx *out)
{
	struct procfs *p = procfs_of(dir);
	const struct pnode *n = dir->fs;

	pseudo_getattr(dir, out);
	out->stx_blksize = 1024;
	out->stx_nlink =
		2 + (n->ent->kind == PENT_TASKS ? count_tids(p, n->key.pid)
						: count_dirs(p, n));
	return 0;
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
	.lookup = dir_lookup,
	.getattr = dir_getattr,
	.open = dir_open,
	.readdir = dir_readdir,
	.release = node_release,
};

/* ---- mounting -------------------------------------------------------- */

static void procfs_free(struct super *sb)
{
	struct procfs *p = sb->fs;

	for (size_t i = 0; i < PROCFS_LIVE_MAX; i++)
		if (p->live[i])
			inode_put(p->live[i]);
	if (p->sys_root)
		inode_put(p->sys_root);
	if (p->host_sys >= 0)
		close(p->host_sys);
	close(p->host_proc);
	free(p);
	sb->fs = NULL;
}

int procfs_mount(struct vfs *vfs, const char *guest,
		 const struct procfs_config *cfg)
{
	struct procfs *p = xcalloc(1, sizeof(*p));
	struct super *sb =
		super_new(vfs, "proc", "proc", PROC_SUPER_MAGIC_NR, 0);
	struct inode *root = NULL;
	int err;

	p->src = cfg->src;
	p->arg = cfg->arg;
	p->host_proc = cfg->host_proc;
	p->host_sys =
		openat(p->host_proc, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->sb = sb;
	sb->fs = p;
	sb->noexec = true;
	p->anon = super_new(vfs, "tmpfs", "tmpfs", TMPFS_MAGIC_NR, 0);
	sb->free = procfs_free;
	if (p->src->attach)
		p->src->attach(p->arg, p->host_proc);
	p->sys.dirfd = p->host_sys;
	p->sys.rows = procfs_sys_rows;
	p->sys.arg = p;
	p->sys_root = hosttree_root(sb, &p->sys, 2);
	err = procfs_inode(sb, &root_ent, (struct proc_key){0, 0}, -1, &root);
	if (err)
		return err;
	err = vfs_mount_root(vfs, guest, root, "proc", "proc");
	inode_put(root);
	return err;
}
