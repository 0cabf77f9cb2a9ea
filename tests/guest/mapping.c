// modes: bare
/* mmap, sparse files, shared memory, sendfile, splice. */
#include "guest.h"
#include <semaphore.h>
#include <sys/uio.h>
#include <sys/sendfile.h>

TEST(shared_mapping_is_coherent_with_write_and_other_processes)
{
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	OK(ftruncate(fd, 8192));
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	EQ(pwrite(fd, "abc", 3, 100), 3);
	CHECK(!memcmp(m + 100, "abc", 3));
	m[5000] = 'z';
	char c;
	EQ(pread(fd, &c, 1, 5000), 1);
	EQ(c, 'z');
	pid_t p = CHILD({
		int g = OK(open("f", O_RDWR));
		char *k = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
			       g, 0);
		CHECK(k != MAP_FAILED);
		EQ(k[5000], 'z');
		k[1] = 'y';
	});
	EQ(wait_for(p), 0);
	EQ(m[1], 'y');
	OK(msync(m, 8192, MS_SYNC));
	OK(munmap(m, 8192));
}

TEST(private_mapping_of_lower_file)
{
	int fd = OK(open(lower("file"), O_RDONLY));
	char *m = mmap(NULL, 11, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	CHECK(m != MAP_FAILED);
	m[0] = 'X';
	CHECK(!memcmp(m, "Xower file\n", 11));
	STREQ(get(lower("file")), "lower file\n");
	void *w = mmap(NULL, 11, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(w == MAP_FAILED && errno == EACCES);
}

TEST(shared_mapping_of_a_first_written_lower_file)
{
	int fd = OK(open(lower("data"), O_RDWR));
	char *m = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(m != MAP_FAILED);
	EQ(m[99999], 'x');
	m[0] = 'M';
	int r = OK(open(lower("data"), O_RDONLY));
	char c;
	EQ(read(r, &c, 1), 1);
	EQ(c, 'M');
}

/* The reader was there first: it sees what another process writes later, by
 * its descriptor (after fstat), by its path, and in a mapping made then. */
TEST(reader_that_was_first_sees_a_later_write)
{
	const char *path = lower("data");
	int r = OK(open(path, O_RDONLY)), w;
	struct stat st;
	char c, *m;

	EQ(pread(r, &c, 1, 5), 1);
	EQ(c, 'x');
	EQ(wait_for(CHILD(w = OK(open(path, O_WRONLY | O_APPEND));
			  EQ(write(w, "end", 3), 3);
			  w = OK(open(path, O_WRONLY));
			  EQ(pwrite(w, "W", 1, 5), 1))),
	   0);
	OK(fstat(r, &st));
	EQ(st.st_size, 100003);
	EQ(pread(r, &c, 1, 5), 1);
	EQ(c, 'W');
	m = OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, r, 0));
	EQ(m[5], 'W');
	OK(stat(path, &st));
	EQ(st.st_size, 100003);
	EQ(get(path)[5], 'W');
	w = OK(open(path, O_WRONLY));
	EQ(pwrite(w, "V", 1, 5), 1);
	EQ(m[5], 'V');
}

TEST(processes_share_a_mapping_of_a_lower_file)
{
	const char *path = lower("data");
	int fd = OK(open(path, O_RDWR));
	char *m = OK(
		mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));

	EQ(wait_for(
		   CHILD(int own = OK(open(path, O_RDWR));
			 char *p = OK(mmap(NULL, 100000, PROT_READ | PROT_WRITE,
					   MAP_SHARED, own, 0));
			 p[70000] = 'c'; m[70001] = 'd')),
	   0);
	EQ(m[70000], 'c');
	EQ(m[70001], 'd');
	OK(close(fd));
	m[70002] = 'e';
	fd = OK(open(path, O_RDONLY));
	char got[3];
	EQ(pread(fd, got, 3, 70000), 3);
	CHECK(!memcmp(got, "cde", 3));
}

TEST(sparse_file_of_64_GiB)
{
	struct stat st;
	const off_t big = 64LL << 30;
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	OK(ftruncate(fd, big));
	EQ(pwrite(fd, "page", 4, 1 << 20), 4);
	OK(fstat(fd, &st));
	EQ(st.st_size, big);
	CHECK(st.st_blocks <= 64);
	EQ(lseek(fd, 0, SEEK_DATA), 1 << 20);
	EQ(lseek(fd, 1 << 20, SEEK_HOLE), (1 << 20) + 4096);
	EQ(lseek(fd, 0, SEEK_HOLE), 0);
	ERR(lseek(fd, (1 << 20) + 8192, SEEK_DATA), ENXIO);
	OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20,
		     4096));
	ERR(lseek(fd, 0, SEEK_DATA), ENXIO);
	OK(fstat(fd, &st));
	CHECK(st.st_blocks <= 64);
}

TEST(posix_shared_memory)
{
	shm_unlink("/cloche-test-shm");
	int fd = OK(
		shm_open("/cloche-test-shm", O_CREAT | O_EXCL | O_RDWR, 0600));

	OK(ftruncate(fd, 4096));
	int *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	pid_t p = CHILD({
		int g = OK(shm_open("/cloche-test-shm", O_RDWR, 0));
		int *k = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, g,
			      0);
		CHECK(k != MAP_FAILED);
		*k = 42;
	});
	EQ(wait_for(p), 0);
	EQ(*m, 42);
	OK(shm_unlink("/cloche-test-shm"));
	ERR(shm_open("/cloche-test-shm", O_RDWR, 0), ENOENT);
}

TEST(named_semaphores)
{
	sem_unlink("/cloche-test-sem");
	sem_t *s = sem_open("/cloche-test-sem", O_CREAT | O_EXCL, 0600, 0);

	CHECK(s != SEM_FAILED);
	pid_t p = CHILD({
		sem_t *t = sem_open("/cloche-test-sem", 0);
		CHECK(t != SEM_FAILED);
		OK(sem_post(t));
	});
	OK(sem_wait(s));
	EQ(wait_for(p), 0);
	OK(sem_unlink("/cloche-test-sem"));
}

TEST(sendfile_and_splice)
{
	int in = OK(open(lower("data"), O_RDONLY));
	int out = OK(open("o", O_CREAT | O_RDWR, 0644));
	int p[2];
	off_t off = 10;

	EQ(sendfile(out, in, &off, 1000), 1000);
	EQ(off, 1010);
	OK(pipe(p));
	EQ(splice(in, NULL, p[1], NULL, 500, 0), 500);
	EQ(splice(p[0], NULL, out, NULL, 500, 0), 500);
	struct stat st;
	OK(fstat(out, &st));
	EQ(st.st_size, 1500);
}

TEST(memfd_with_seals)
{
	int fd = OK(memfd_create("m", MFD_ALLOW_SEALING | MFD_CLOEXEC));

	EQ(write(fd, "abc", 3), 3);
	OK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW));
	EQ(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW);
	ERR(write(fd, "x", 1), EPERM);
	char p[64];
	snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
	STREQ(get(p), "abc");
}

TEST(ordinary_files_cannot_be_sealed)
{
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
	CHECK(errno == EINVAL || errno == EPERM);
}

TEST(preadv_pwritev_and_offsets)
{
	struct iovec v[2] = {{"ab", 2}, {"cd", 2}};
	char a[3] = "", b[3] = "";
	struct iovec r[2] = {{a, 2}, {b, 2}};
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	EQ(pwritev(fd, v, 2, 10), 4);
	EQ(preadv(fd, r, 2, 10), 4);
	STREQ(b, "cd");
	EQ(lseek(fd, 0, SEEK_CUR), 0);
	ERR(lseek(fd, -1, SEEK_SET), EINVAL);
	ERR(lseek(fd, 0, 99), EINVAL);
	EQ(lseek(fd, 0, SEEK_END), 14);
	int e = OK(dup(fd));
	EQ(lseek(e, 3, SEEK_SET), 3);
	EQ(lseek(fd, 0, SEEK_CUR), 3);
}
