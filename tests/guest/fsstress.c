// modes: bare
/* Several processes work at random in one tree: then it must be whole. Every
 * name has its file, every file as many names as its link count says, every
 * block one writer, every unlinked file its data. FSSTRESS_SEED (0: by the
 * clock) and FSSTRESS_OPS choose the run. */
#include "guest.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/xattr.h>

enum { PROCS = 4, BLOCK = 64, BLOCKS = 40, KEPT = 6 };

static uint64_t seed;
static bool ours; /* all that is written in the tree */
static char who;  /* what this process writes */

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

static void any_path(char *p, size_t size)
{
	static const char *const names[] = {
		"a", "b", "c", "d", "dir", "sub", "tree", "\377\1 x", "file",
	};
	size_t len = 0;

	for (unsigned i = 0, n = 1 + rnd(3); i < n; i++)
		len += (size_t)snprintf(p + len, size - len, "%s%s",
					i ? "/" : "", names[rnd(9)]);
}

/* What others do meanwhile may make any of these of a call. */
static void may(const char *call, long ret)
{
	static const int all[] = {
		ENOENT, EEXIST,	 ENOTDIR, EISDIR, ENOTEMPTY, ELOOP,
		EINVAL, ENODATA, EPERM,	  EACCES, EXDEV,     ENXIO,
	};

	if (ret != -1)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (errno == all[i])
			return;
	guest_fail(__FILE__, __LINE__, "%s: %s", call, strerrorname_np(errno));
}

/* ---- files that are kept open ----------------------------------------- */

static struct kept {
	int fd;
	char data[BLOCK];
} kept[KEPT];

static void kept_check(struct kept *k)
{
	char got[BLOCK];
	struct stat st;

	if (k->fd < 0)
		return;
	EQ(pread(k->fd, got, BLOCK, 0), BLOCK);
	CHECK(!memcmp(got, k->data, BLOCK));
	OK(fstat(k->fd, &st));
	EQ(st.st_nlink, 0);
	EQ(st.st_size, BLOCK);
}

static void keep_open(void)
{
	struct kept *k = &kept[rnd(KEPT)];
	char name[32];

	kept_check(k);
	if (k->fd >= 0)
		OK(close(k->fd));
	snprintf(name, sizeof(name), "own.%c", who);
	k->fd = OK(open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	memset(k->data, (int)('0' + rnd(50)), BLOCK);
	OK(unlink(name));
	EQ(write(k->fd, k->data, BLOCK), BLOCK);
}

/* ---- operations ------------------------------------------------------- */

static void write_block(const char *p, int flags)
{
	int fd = open(p, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
	char data[BLOCK];

	if (fd < 0) {
		may("open", fd);
		return;
	}
	memset(data, who, BLOCK);
	EQ(pwrite(fd, data, BLOCK, (off_t)rnd(BLOCKS) * BLOCK), BLOCK);
	OK(close(fd));
}

static void list(const char *p)
{
	DIR *d = opendir(p);
	struct dirent *e;

	if (!d) {
		may("opendir", -1);
		return;
	}
	if (rnd(4) == 0)
		seekdir(d, telldir(d));
	while ((e = readdir(d)))
		CHECK(e->d_name[0]);
	closedir(d);
}

static void attribute(const char *p)
{
	char name[] = "user.x";

	name[5] = (char)('a' + rnd(3));
	switch (rnd(3)) {
	case 0:
		may("lsetxattr", lsetxattr(p, name, &who, 1, 0));
		break;
	case 1:
		may("lremovexattr", lremovexattr(p, name));
		break;
	case 2:
		may("llistxattr", llistxattr(p, NULL, 0));
		break;
	}
}

static void owner(const char *p)
{
	static const mode_t modes[] = {0755, 0700, 0777, 02775, 01777};
	struct timespec t[2] = {{rnd(1000000), 1}, {0, UTIME_OMIT}};

	switch (rnd(3)) {
	case 0:
		may("chmod", chmod(p, modes[rnd(5)]));
		break;
	case 1:
		may("lchown", lchown(p, getuid(), getgid()));
		break;
	case 2:
		may("utimensat",
		    utimensat(AT_FDCWD, p, t, AT_SYMLINK_NOFOLLOW));
		break;
	}
}

static void cut(const char *p)
{
	struct stat st;

	if (!lstat(p, &st) && S_ISREG(st.st_mode))
		may("truncate", truncate(p, (off_t)rnd(BLOCKS) * BLOCK));
}

static void move(const char *p, const char *q, unsigned flags)
{
	may("renameat2",
	    syscall(SYS_renameat2, AT_FDCWD, p, AT_FDCWD, q, flags));
}

static void one(void)
{
	char p[64], q[64];
	struct stat st;

	any_path(p, sizeof(p));
	any_path(q, sizeof(q));
	switch (rnd(20)) {
	case 0:
	case 1:
		write_block(p, O_CREAT);
		break;
	case 2:
		write_block(p, O_CREAT | O_EXCL);
		break;
	case 3:
		write_block(p, 0);
		break;
	case 4:
		write_block(p, O_TRUNC);
		break;
	case 5:
	case 6:
		may("mkdir", mkdir(p, 0755));
		break;
	case 7:
		may("rmdir", rmdir(p));
		break;
	case 8:
		may("unlink", unlink(p));
		break;
	case 9:
		may("link", link(p, q));
		break;
	case 10:
		may("symlink", symlink(q, p));
		break;
	case 11:
	case 12:
		move(p, q, 0);
		break;
	case 13:
		move(p, q, RENAME_NOREPLACE);
		break;
	case 14:
		move(p, q, RENAME_EXCHANGE);
		break;
	case 15:
		may("mkfifo", mkfifo(p, 0600));
		break;
	case 16:
		attribute(p);
		break;
	case 17:
		owner(p);
		break;
	case 18:
		cut(p);
		break;
	case 19:
		list(p);
		may("lstat", lstat(p, &st));
		keep_open();
		break;
	}
}

static void worker(unsigned i, uint64_t from, unsigned ops)
{
	seed = from + i * 7919;
	who = (char)('A' + i);
	for (int k = 0; k < KEPT; k++)
		kept[k].fd = -1;
	while (ops--)
		one();
	for (int k = 0; k < KEPT; k++)
		kept_check(&kept[k]);
}

/* ---- is it whole? ------------------------------------------------------ */

static struct seen {
	ino_t ino;
	nlink_t links, names;
} seen[4096];
static unsigned seen_count;

static void name_seen(const struct stat *st)
{
	for (unsigned i = 0; i < seen_count; i++)
		if (seen[i].ino == st->st_ino) {
			EQ(seen[i].links, st->st_nlink);
			seen[i].names++;
			return;
		}
	CHECK(seen_count < 4096);
	seen[seen_count++] = (struct seen){st->st_ino, st->st_nlink, 1};
}

static void check_data(const char *path, const struct stat *st)
{
	char b[BLOCK];
	int fd;

	EQ(st->st_size % BLOCK, 0);
	CHECK(st->st_size <= BLOCK * BLOCKS);
	fd = OK(open(path, O_RDONLY));
	while (read(fd, b, BLOCK) == BLOCK) {
		CHECK(!b[0] || (b[0] >= 'A' && b[0] < 'A' + PROCS));
		for (int i = 1; i < BLOCK; i++)
			EQ(b[i], b[0]);
	}
	OK(close(fd));
}

/* Names are listed once, with the type that they have. */
static void check_directory(const char *path, const struct stat *st)
{
	static char names[64][256];
	unsigned count = 0, subs = 0;
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat sub;

	CHECK(d);
	while ((e = readdir(d))) {
		for (unsigned i = 0; i < count; i++)
			CHECK(strcmp(names[i], e->d_name));
		CHECK(count < 64);
		snprintf(names[count++], 256, "%s", e->d_name);
		OK(fstatat(dirfd(d), e->d_name, &sub, AT_SYMLINK_NOFOLLOW));
		EQ(IFTODT(sub.st_mode), e->d_type);
		if (strcmp(e->d_name, ".."))
			EQ(sub.st_ino, e->d_ino);
		subs += S_ISDIR(sub.st_mode);
	}
	closedir(d);
	if (st->st_nlink != 1) /* btrfs and the like do not count */
		EQ(st->st_nlink, subs);
}

static int check_one(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	if (S_ISDIR(st->st_mode)) {
		check_directory(path, st);
		return 0;
	}
	name_seen(st);
	if (ours && S_ISREG(st->st_mode))
		check_data(path, st);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void check_empty(void)
{
	DIR *d = opendir(".");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	EQ(n, 2);
	EQ(nlink_of(".") > 2, 0);
}

static void stress(const char *dir)
{
	const char *s = getenv("FSSTRESS_SEED"), *o = getenv("FSSTRESS_OPS");
	uint64_t from = s ? strtoull(s, NULL, 0) : 0xf557;
	unsigned ops = o ? (unsigned)atoi(o) : 2000;
	pid_t p[PROCS];

	if (s && !from)
		from = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	printf("# FSSTRESS_SEED=%#llx\n", (unsigned long long)from);
	OK(chdir(dir));
	for (unsigned i = 0; i < PROCS; i++)
		p[i] = CHILD(worker(i, from, ops));
	for (unsigned i = 0; i < PROCS; i++)
		EQ(wait_for(p[i]), 0);
	EQ(nftw(".", check_one, 32, FTW_PHYS), 0);
	for (unsigned i = 0; i < seen_count; i++)
		EQ(seen[i].names, seen[i].links);
	EQ(nftw(".", remove_one, 32, FTW_PHYS | FTW_DEPTH), -1);
	EQ(errno, EINVAL); /* "." itself is left */
	check_empty();
}

TEST(tree_made_here)
{
	OK(mkdir("t", 0755));
	ours = true;
	stress("t");
}

TEST(tree_of_the_host)
{
	stress(lower("dir"));
}
