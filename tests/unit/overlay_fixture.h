/*
 * overlay_fixture.h - a host tree, a store and a vfs for the overlay's tests.
 *
 * The host tree is made anew for each test; fixture_fini fails the test if
 * anything of it changed (names, contents, mode, mtime, ctime). The store is
 * a detached tmpfs as root, else a directory in /dev/shm.
 */
#ifndef CLOCHE_OVERLAY_FIXTURE_H
#define CLOCHE_OVERLAY_FIXTURE_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "../../fs/vfs.h"
#include "../../fs/vfs_fs.h"
#include "../../fs/store.h"

enum { FX_BIG = 8 << 20 };

struct fixture {
	char host[64];
	char shm[64];
	struct vfs *vfs;
	struct vcred cred;
	struct vfs_ctx ctx;
	int jobs;
	unsigned flags;
	uint64_t hash;
	char text[1 << 16];
};

static uint64_t fx_hash_sum;
static size_t fx_watches; /* vfs_config.host_watches */

static inline int fx_hash_one(const char *path, const struct stat *st, int type,
			      struct FTW *ftw)
{
	char data[1024] = "";
	uint64_t h;

	(void)type;
	(void)ftw;
	if (S_ISREG(st->st_mode)) {
		int fd = open(path, O_RDONLY | O_NOATIME);

		if (read(fd, data, sizeof(data) - 1) < 0)
			data[0] = '?';
		close(fd);
	}
	h = hash_bytes(path, strlen(path), 0) ^
	    hash_bytes(data, strlen(data), 1);
	h = hash_u64(h, (uint64_t)st->st_mtim.tv_nsec ^
				(uint64_t)st->st_mtim.tv_sec << 20);
	h = hash_u64(h, (uint64_t)st->st_ctim.tv_nsec ^
				(uint64_t)st->st_ctim.tv_sec << 20);
	h = hash_u64(h, st->st_mode ^ (uint64_t)st->st_uid << 20 ^
				(uint64_t)st->st_size << 32);
	fx_hash_sum += h;
	return 0;
}

static inline uint64_t fx_hash(const char *path)
{
	fx_hash_sum = 0;
	nftw(path, fx_hash_one, 16, FTW_PHYS);
	return fx_hash_sum;
}

static inline void fx_host_file(struct fixture *f, const char *name,
				const char *data)
{
	char path[256];
	FILE *o;

	snprintf(path, sizeof(path), "%s/%s", f->host, name);
	o = fopen(path, "w");
	fputs(data, o);
	fclose(o);
}

static inline void fx_host_tree(struct fixture *f)
{
	char a[256], b[256];

	fx_host_file(f, "a", "alpha\n");
	snprintf(a, sizeof(a), "%s/d", f->host);
	mkdir(a, 0755);
	snprintf(a, sizeof(a), "%s/d/e", f->host);
	mkdir(a, 0755);
	fx_host_file(f, "d/y", "y\n");
	fx_host_file(f, "d/e/x", "x in e\n");
	fx_host_file(f, "h1", "hard");
	snprintf(a, sizeof(a), "%s/h1", f->host);
	snprintf(b, sizeof(b), "%s/h2", f->host);
	cr_assert_eq(link(a, b), 0);
	fx_host_file(f, "big", "start of a big sparse file");
	snprintf(a, sizeof(a), "%s/big", f->host);
	cr_assert_eq(truncate(a, FX_BIG), 0);
	snprintf(a, sizeof(a), "%s/l", f->host);
	cr_assert_eq(symlink("d/y", a), 0);
	snprintf(a, sizeof(a), "%s/fifo", f->host);
	cr_assert_eq(mkfifo(a, 0600), 0);
}

static inline int fx_store(struct fixture *f, bool *emulated)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), m, fd;

	*emulated = false;
	if (fs >= 0) {
		syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", "256m",
			0);
		syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "inode64", NULL,
			0);
		syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
		m = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
		close(fs);
		fd = openat(m, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(m);
		if (fd >= 0)
			return fd;
	}
	*emulated = true;
	snprintf(f->shm, sizeof(f->shm), "/dev/shm/ovtestXXXXXX");
	cr_assert(mkdtemp(f->shm));
	return open(f->shm, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A store and a vfs over f->host. */
static inline void fixture_mount(struct fixture *f)
{
	struct vfs_config cfg = {0};
	unsigned flags = f->flags;

	cfg.store_fd = fx_store(f, &cfg.store_emulated);
	cfg.owner_uid = geteuid();
	cfg.owner_gid = getegid();
	cfg.host_watches = fx_watches;
	cr_assert_eq(vfs_new(&cfg, &f->vfs), 0);
	cr_assert_eq(vfs_mount_host(f->vfs, f->host, "/w", flags), 0);
	f->cred.uid = geteuid();
	f->cred.gid = getegid();
	f->cred.caps = geteuid() ? 0 : ~0ULL;
	f->ctx = (struct vfs_ctx){.vfs = f->vfs,
				  .cred = &f->cred,
				  .root = vfs_root(f->vfs),
				  .cwd = vfs_root(f->vfs),
				  .umask = 022};
}

static inline void fixture_init(struct fixture *f, unsigned flags)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->host, sizeof(f->host), "/tmp/ovhostXXXXXX");
	cr_assert(mkdtemp(f->host));
	fx_host_tree(f);
	f->hash = fx_hash(f->host);
	f->flags = flags;
	fixture_mount(f);
}

static inline int fx_rm_one(const char *path, const struct stat *st, int type,
			    struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void fixture_fini(struct fixture *f)
{
	if (!(f->flags & VFS_MNT_DIRECT))
		cr_expect_eq(fx_hash(f->host), f->hash,
			     "the host tree changed");
	vfs_free(f->vfs);
	nftw(f->host, fx_rm_one, 16, FTW_PHYS | FTW_DEPTH);
	if (f->shm[0])
		cr_expect_eq(rmdir(f->shm), 0, "the store was not emptied");
}

static inline int fx_try_open(struct fixture *f, const char *path, int flags,
			      mode_t mode)
{
	struct vfs_at at = {NULL, path};
	struct vfs_opened o;
	int ret, fd;

	for (;;) {
		ret = vfs_open(&f->ctx, &at, flags, mode, 0, &o);
		if (ret < 0)
			return ret;
		if (o.kind != VFS_OPEN_JOB)
			break;
		f->jobs++;
		ret = vfs_job_run(o.job, NULL);
		ret = vfs_job_finish(f->vfs, o.job, ret);
		o.job = NULL;
		vfs_opened_fini(&o);
		if (ret < 0)
			return ret;
	}
	fd = o.fd;
	o.fd = -1;
	vfs_opened_fini(&o);
	return fd;
}

static inline int fx_open(struct fixture *f, const char *path, int flags,
			  mode_t mode)
{
	int fd = fx_try_open(f, path, flags, mode);

	cr_assert(fd >= 0, "open %s: %s", path, strerror(-fd));
	return fd;
}

static inline const char *fx_read(struct fixture *f, const char *path)
{
	int fd = fx_open(f, path, O_RDONLY, 0);
	ssize_t n = read(fd, f->text, sizeof(f->text) - 1);

	cr_assert(n >= 0);
	f->text[n] = '\0';
	close(fd);
	return f->text;
}

static inline void fx_put(struct fixture *f, const char *path, int flags,
			  const char *data)
{
	int fd = fx_open(f, path, O_WRONLY | flags, 0644);

	cr_assert_eq(write(fd, data, strlen(data)), (ssize_t)strlen(data));
	close(fd);
}

static inline void fx_append(struct fixture *f, const char *p, const char *d)
{
	fx_put(f, p, O_APPEND, d);
}

static inline void fx_write(struct fixture *f, const char *p, const char *d)
{
	fx_put(f, p, O_CREAT | O_TRUNC, d);
}

static inline struct vref fx_ref(struct fixture *f, const char *path)
{
	struct vfs_at at = {NULL, path};
	struct vref ref = {0};
	int ret = vfs_lookup(&f->ctx, &at, 0, &ref);

	cr_assert_eq(ret, 0, "lookup %s: %s", path, strerror(-ret));
	return ref;
}

static inline struct statx fx_stat(struct fixture *f, const char *path)
{
	struct vref ref = fx_ref(f, path);
	struct statx st = {0};

	cr_assert_eq(vfs_getattr(&f->ctx, &ref, &st), 0);
	vref_put(&ref);
	return st;
}

static inline int fx_chmod(struct fixture *f, const char *path, mode_t mode)
{
	struct vref ref = fx_ref(f, path);
	struct vfs_attr a = {.valid = VFS_ATTR_MODE, .mode = mode};
	int ret = vfs_setattr(&f->ctx, &ref, &a);

	vref_put(&ref);
	return ret;
}

static inline int fx_unlink(struct fixture *f, const char *path)
{
	struct vfs_at at = {NULL, path};

	return vfs_unlink(&f->ctx, &at);
}

static inline int fx_rmdir(struct fixture *f, const char *path)
{
	struct vfs_at at = {NULL, path};

	return vfs_rmdir(&f->ctx, &at);
}

static inline int fx_mkdir(struct fixture *f, const char *path, mode_t mode)
{
	struct vfs_at at = {NULL, path};

	return vfs_mkdir(&f->ctx, &at, mode);
}

static inline int fx_rename(struct fixture *f, const char *from, const char *to,
			    unsigned flags)
{
	struct vfs_at a = {NULL, from}, b = {NULL, to};

	return vfs_rename(&f->ctx, &a, &b, flags);
}

static inline int fx_link(struct fixture *f, const char *from, const char *to)
{
	struct vfs_at a = {NULL, from}, b = {NULL, to};
	struct vref ref = {0};
	int ret = vfs_lookup(&f->ctx, &a, 0, &ref);

	if (ret < 0)
		return ret;
	ret = vfs_link(&f->ctx, &ref, &b);
	vref_put(&ref);
	return ret;
}

/* ---- directories ----------------------------------------------------- */

struct fx_reader {
	struct fixture *f;
	struct vref ref;
	off_t pos;
	char name[NAME_LEN_MAX + 1];
	bool got;
};

static inline int fx_reader_one(void *arg, const char *name, size_t len,
				uint64_t ino, unsigned char type, off_t off)
{
	struct fx_reader *r = arg;

	(void)ino;
	(void)type;
	(void)off;
	if (r->got)
		return 1;
	r->got = true;
	memcpy(r->name, name, len);
	r->name[len] = '\0';
	return 0;
}

static inline void fx_reader_init(struct fx_reader *r, struct fixture *f,
				  const char *path)
{
	memset(r, 0, sizeof(*r));
	r->f = f;
	r->ref = fx_ref(f, path);
}

static inline bool fx_reader_next(struct fx_reader *r)
{
	r->got = false;
	cr_assert_eq(
		vfs_readdir(&r->f->ctx, &r->ref, &r->pos, fx_reader_one, r), 0);
	return r->got;
}

static inline void fx_reader_fini(struct fx_reader *r)
{
	vref_put(&r->ref);
}

static inline int fx_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted names, without "." and "..", separated by spaces. */
static inline const char *fx_list(struct fixture *f, const char *path)
{
	static char *names[4096];
	struct fx_reader r;
	size_t count = 0;

	fx_reader_init(&r, f, path);
	while (fx_reader_next(&r) && count < 4096)
		if (strcmp(r.name, ".") && strcmp(r.name, ".."))
			names[count++] = xstrdup(r.name);
	fx_reader_fini(&r);
	qsort(names, count, sizeof(*names), fx_compare);
	f->text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (i)
			strcat(f->text, " ");
		strcat(f->text, names[i]);
		free(names[i]);
	}
	return f->text;
}

static inline int fx_side_count(struct fixture *f)
{
	int fd = openat(store_side_fd(vfs_store(f->vfs)), ".",
			O_RDONLY | O_DIRECTORY);
	DIR *d = fdopendir(fd);
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline int fx_diff_one(void *arg, const struct vfs_change *c)
{
	struct fixture *f = arg;
	size_t len = strlen(f->text);

	snprintf(f->text + len, sizeof(f->text) - len, "%c %s%s%s|", c->kind,
		 c->old_path ? c->old_path : "", c->old_path ? ">" : "",
		 c->path);
	return 0;
}

static inline const char *fx_diff(struct fixture *f)
{
	f->text[0] = '\0';
	cr_assert_eq(vfs_diff(f->vfs, fx_diff_one, f), 0);
	return f->text;
}

#endif
