// modes: bare
/* Random work on one file, against a copy of it in memory: read, write, both
 * through mappings, truncate, fallocate, holes, copy_file_range, appending, a
 * second name, and descriptors that were opened before. FSX_SEED (0: by the
 * clock) and FSX_OPS choose the run. */
#include "guest.h"

#include <linux/falloc.h>

enum { MAX = 192 * 1024, OPEN = 4 };

static struct {
	const char *path;
	char other[PATH_MAX]; /* the second name */
	unsigned char good[MAX], temp[MAX];
	size_t size;
	int fd[OPEN], reader; /* the reader is the first of all */
	uint64_t seed;
	unsigned n; /* operations done */
} x;

static unsigned rnd(unsigned n)
{
	x.seed = x.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(x.seed >> 33) % n;
}

static int any_fd(void)
{
	return x.fd[rnd(OPEN)];
}

/* Offset and length below limit; often at a page's edge. */
static void range(size_t limit, size_t *off, size_t *len)
{
	*off = rnd((unsigned)limit);
	if (!rnd(4))
		*off &= ~4095UL;
	*len = 1 + rnd(rnd(3) ? 5000 : 60000);
	if (*off + *len > limit)
		*len = limit - *off;
}

static void same(const unsigned char *got, size_t off, size_t len,
		 const char *what)
{
	for (size_t i = 0; i < len; i++)
		if (got[i] != x.good[off + i])
			guest_fail(__FILE__, __LINE__,
				   "operation %u, %s: byte %zu is %02x, "
				   "expected %02x",
				   x.n, what, off + i, got[i], x.good[off + i]);
}

static void grow(size_t size)
{
	if (size <= x.size)
		return;
	memset(x.good + x.size, 0, size - x.size);
	x.size = size;
}

static void fill(size_t len)
{
	for (size_t i = 0; i < len; i++)
		x.temp[i] = (unsigned char)(x.n + i * 7 + i / 256);
}

static void do_read(void)
{
	size_t off, len, want;
	int fd = any_fd();
	struct stat st;

	range(MAX, &off, &len);
	want = off >= x.size ? 0 : off + len > x.size ? x.size - off : len;
	if (!rnd(3)) { /* inside, it then follows a host file's first write */
		fd = x.reader;
		OK(fstat(fd, &st));
	}
	EQ(pread(fd, x.temp, len, (off_t)off), want);
	same(x.temp, off, want, "read");
}

static void do_write(void)
{
	size_t off, len;

	range(MAX, &off, &len);
	fill(len);
	EQ(pwrite(any_fd(), x.temp, len, (off_t)off), len);
	grow(off + len);
	memcpy(x.good + off, x.temp, len);
}

static void do_append(void)
{
	size_t off, len;
	int fd = OK(open(x.path, O_WRONLY | O_APPEND));

	range(MAX, &off, &len);
	if (x.size + len > MAX)
		len = MAX - x.size;
	fill(len);
	EQ(write(fd, x.temp, len), len);
	off = x.size;
	grow(off + len);
	memcpy(x.good + off, x.temp, len);
	OK(close(fd));
}

static void do_map(bool write)
{
	size_t off, len, base;
	unsigned char *p;

	if (!x.size)
		return;
	range(x.size, &off, &len);
	base = off & ~4095UL;
	p = OK(mmap(NULL, off - base + len, PROT_READ | PROT_WRITE, MAP_SHARED,
		    any_fd(), (off_t)base));
	if (write) {
		fill(len);
		memcpy(p + (off - base), x.temp, len);
		memcpy(x.good + off, x.temp, len);
		if (!rnd(64))
			OK(msync(p, off - base + len, MS_SYNC));
	} else {
		same(p + (off - base), off, len, "mapping");
	}
	OK(munmap(p, off - base + len));
}

static void do_truncate(void)
{
	size_t size = rnd(MAX);

	if (rnd(2))
		OK(ftruncate(any_fd(), (off_t)size));
	else
		OK(truncate(x.path, (off_t)size));
	grow(size);
	x.size = size;
}

static void do_fallocate(int mode)
{
	size_t off, len, end;

	range(MAX, &off, &len);
	if (fallocate(any_fd(), mode, (off_t)off, (off_t)len)) {
		EQ(errno, EOPNOTSUPP);
		return;
	}
	if (!(mode & FALLOC_FL_KEEP_SIZE))
		grow(off + len);
	end = off + len < x.size ? off + len : x.size;
	if ((mode & FALLOC_FL_PUNCH_HOLE) && off < end)
		memset(x.good + off, 0, end - off);
}

static void do_copy(void)
{
	size_t from, to, len, other;
	off_t a, b;

	if (!x.size)
		return;
	range(x.size, &from, &len);
	range(MAX, &to, &other);
	if (to + len > MAX)
		len = MAX - to;
	if (from < to + len && to < from + len)
		return; /* EINVAL where they overlap */
	for (size_t done = 0; done < len;) {
		ssize_t n;

		a = (off_t)(from + done);
		b = (off_t)(to + done);
		n = OK(copy_file_range(any_fd(), &a, any_fd(), &b, len - done,
				       0));
		CHECK(n > 0);
		done += (size_t)n;
	}
	grow(to + len);
	memmove(x.good + to, x.good + from, len);
}

static void do_reopen(void)
{
	int i = (int)rnd(OPEN);

	OK(close(x.fd[i]));
	x.fd[i] =
		OK(open(rnd(2) && exists(x.other) ? x.other : x.path, O_RDWR));
}

static void do_names(void)
{
	if (!exists(x.other))
		OK(link(x.path, x.other));
	else if (rnd(2))
		OK(unlink(x.other));
	else if (rnd(2)) /* nothing happens: one file */
		OK(rename(x.path, x.other));
	else
		OK(syscall(SYS_renameat2, AT_FDCWD, x.path, AT_FDCWD, x.other,
			   RENAME_EXCHANGE));
}

static void do_holes(void)
{
	off_t data = lseek(any_fd(), 0, SEEK_DATA), hole;

	if (data < 0) { /* all of it a hole */
		EQ(errno, ENXIO);
		data = (off_t)x.size;
	}
	for (off_t i = 0; i < data; i++)
		CHECK(!x.good[i]);
	if (!x.size)
		return;
	hole = OK(lseek(any_fd(), 0, SEEK_HOLE));
	CHECK(hole >= 0 && (size_t)hole <= x.size);
}

static void do_sizes(void)
{
	struct stat st;

	OK(fstat(any_fd(), &st));
	EQ(st.st_size, x.size);
	OK(stat(x.path, &st));
	EQ(st.st_size, x.size);
	EQ(st.st_nlink, exists(x.other) ? 2 : 1);
}

static void one(void)
{
	switch (rnd(16)) {
	case 0:
	case 1:
		do_read();
		break;
	case 2:
	case 3:
		do_write();
		break;
	case 4:
		do_append();
		break;
	case 5:
		do_map(false);
		break;
	case 6:
	case 7:
		do_map(true);
		break;
	case 8:
		do_truncate();
		break;
	case 9:
		do_fallocate(rnd(2) ? FALLOC_FL_KEEP_SIZE : 0);
		break;
	case 10:
		do_fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
		break;
	case 11:
		do_copy();
		break;
	case 12:
		do_reopen();
		break;
	case 13:
		do_names();
		break;
	case 14:
		do_holes();
		break;
	case 15:
		do_sizes();
		break;
	}
}

static void work(const char *path, uint64_t salt)
{
	const char *s = getenv("FSX_SEED"), *o = getenv("FSX_OPS");
	unsigned ops = o ? (unsigned)atoi(o) : 4000;
	ssize_t n;

	x.seed = (s ? strtoull(s, NULL, 0) : 0xf5c0) + salt;
	if (s && !strcmp(s, "0"))
		x.seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	printf("# FSX_SEED=%#llx\n", (unsigned long long)(x.seed - salt));
	x.path = path;
	snprintf(x.other, sizeof(x.other), "%s.other", path);
	x.reader = OK(open(path, O_RDONLY | O_CREAT, 0644));
	for (int i = 0; i < OPEN; i++)
		x.fd[i] = OK(open(path, O_RDWR));
	n = OK(pread(x.fd[0], x.good, MAX, 0));
	x.size = (size_t)n;
	for (x.n = 0; x.n < ops; x.n++)
		one();
	EQ(pread(x.fd[0], x.temp, MAX, 0), x.size);
	same(x.temp, 0, x.size, "the end");
}

TEST(file_made_here)
{
	work("f", 0);
}

TEST(file_of_the_host)
{
	work(lower("data"), 1);
}

TEST(file_that_was_unlinked)
{
	int fd = OK(open("f", O_RDWR | O_CREAT | O_EXCL, 0644));
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(unlink("f"));
	x.reader = fd;
	for (int i = 0; i < OPEN; i++)
		x.fd[i] = OK(open(path, O_RDWR));
	x.path = path;
	x.seed = 3;
	for (x.n = 0; x.n < 2000; x.n++)
		switch (rnd(6)) {
		case 0:
			do_read();
			break;
		case 1:
			do_write();
			break;
		case 2:
			do_map(true);
			break;
		case 3:
			do_truncate();
			break;
		case 4:
			do_append();
			break;
		case 5:
			do_copy();
			break;
		}
	EQ(pread(fd, x.temp, MAX, 0), x.size);
	same(x.temp, 0, x.size, "the end");
}
