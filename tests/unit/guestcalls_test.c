/*
 * guestcalls_test.c - the file calls end to end: a child under a real seccomp
 * listener, answered by the notify thread's loop from a VFS of one tmpfs.
 *
 * No jail, no tracer, no exec: only what a call gets back is looked at. The
 * child says which check failed by its exit status, the line number's low
 * byte.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "../../sentry/workers.h"
#include "../../syscalls/table.h"
#include "onetask.h"

#define CHECK(x)                                                            \
	do {                                                                \
		if (!(x)) {                                                 \
			dprintf(2, "line %d: %s: errno %d\n", __LINE__, #x, \
				errno);                                     \
			_exit(__LINE__ % 250 + 1);                          \
		}                                                           \
	} while (0)
#define FAILS(x, e) CHECK((errno = 0, (x)) == -1 && errno == (e))

/* Notifies what this folder's file handlers answer. */
static const int trapped[] = {
	SYS_open,      SYS_openat,     SYS_openat2,   SYS_creat,
	SYS_stat,      SYS_lstat,      SYS_fstat,     SYS_newfstatat,
	SYS_statx,     SYS_statfs,     SYS_fstatfs,   SYS_access,
	SYS_faccessat, SYS_faccessat2, SYS_link,      SYS_linkat,
	SYS_symlink,   SYS_symlinkat,  SYS_unlink,    SYS_unlinkat,
	SYS_rename,    SYS_renameat,   SYS_renameat2, SYS_mkdir,
	SYS_mkdirat,   SYS_mknod,      SYS_mknodat,   SYS_rmdir,
	SYS_readlink,  SYS_readlinkat, SYS_chmod,     SYS_fchmod,
	SYS_fchmodat,  SYS_chown,      SYS_fchown,    SYS_lchown,
	SYS_fchownat,  SYS_utime,      SYS_utimes,    SYS_futimesat,
	SYS_utimensat, SYS_truncate,   SYS_setxattr,  SYS_fsetxattr,
	SYS_getxattr,  SYS_fgetxattr,  SYS_listxattr, SYS_removexattr,
	SYS_getdents,  SYS_getdents64, SYS_getcwd,    SYS_chdir,
	SYS_fchdir,    SYS_umask,      SYS_mount,     452 /* fchmodat2 */,
};

static int listener_new(void)
{
	struct sock_filter prog[2 * ARRAY_SIZE(trapped) + 2];
	struct sock_fprog fprog = {.filter = prog};
	size_t n = 0;

	prog[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(trapped); i++) {
		prog[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped[i], 0, 1);
		prog[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	fprog.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &fprog);
}

static void guest_main(int to_parent, int from_parent, void (*fn)(void))
{
	int fd = listener_new();
	char go;

	if (fd < 0)
		_exit(255);
	if (write(to_parent, &fd, sizeof(fd)) != sizeof(fd) ||
	    read(from_parent, &go, 1) != 1)
		_exit(254);
	close(fd);
	fn();
	_exit(0);
}

/* Runs fn as a guest and answers its calls: its exit status. */
static int guest_run(void (*fn)(void))
{
	int up[2], down[2], fd, pidfd, status;
	pid_t pid;

	cr_assert_eq(pipe(up), 0);
	cr_assert_eq(pipe(down), 0);
	pid = fork();
	if (!pid)
		guest_main(up[1], down[0], fn);
	cr_assert_eq(read(up[0], &fd, sizeof(fd)), sizeof(fd));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	sentry.listener = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	cr_assert_geq(sentry.listener, 0);
	sentry.kuid = getuid();
	sentry.kgid = getgid();
	fs.refs = cred.refs = 100;
	cr_assert(task_new_first(&sentry, pid, &fs, &cred));
	workers_init(&sentry);
	cr_assert_eq(write(down[1], "g", 1), 1);
	notify_main(&sentry);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TestSuite(guestcalls, .init = start, .fini = stop);

static void guest_files(void)
{
	struct stat st, at;
	struct statx stx;
	char buf[100];
	int fd = open("/tmp/f", O_RDWR | O_CREAT | O_EXCL, 0666);

	CHECK(fd >= 0);
	CHECK(write(fd, "hello", 5) == 5);
	CHECK(fstat(fd, &st) == 0);
	CHECK(st.st_size == 5 && st.st_mode == (S_IFREG | 0644));
	CHECK(st.st_uid == 1000 && st.st_gid == 1000 && st.st_nlink == 1);
	CHECK(stat("/tmp/../tmp//f", &at) == 0 && at.st_ino == st.st_ino);
	CHECK(at.st_dev == st.st_dev);
	CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &stx) == 0);
	CHECK(stx.stx_ino == st.st_ino && stx.stx_size == 5);
	CHECK(link("/tmp/f", "/tmp/g") == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 2);
	CHECK(symlink("f", "/tmp/l") == 0);
	CHECK(readlink("/tmp/l", buf, sizeof(buf)) == 1 && buf[0] == 'f');
	CHECK(readlink("/tmp/l", buf, 0) == -1 && errno == EINVAL);
	FAILS(readlink("/tmp/f", buf, sizeof(buf)), EINVAL);
	CHECK(lstat("/tmp/l", &st) == 0 && S_ISLNK(st.st_mode));
	FAILS(open("/tmp/l", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK(open("/tmp/l", O_RDONLY) >= 0);
	FAILS(open("/tmp/f", O_CREAT | O_EXCL, 0600), EEXIST);
	FAILS(open("/tmp/none", O_RDONLY), ENOENT);
	FAILS(open("/tmp/f/x", O_RDONLY), ENOTDIR);
	FAILS(open("/tmp", O_WRONLY), EISDIR);
	CHECK(truncate("/tmp/f", 2) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 2);
	CHECK(unlink("/tmp/f") == 0 && unlink("/tmp/g") == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0);
	CHECK(pread(fd, buf, 9, 0) == 2);
	FAILS(stat("/tmp/l", &st), ENOENT);
}

Test(guestcalls, files_are_made_read_linked_and_removed)
{
	cr_expect_eq(guest_run(guest_files), 0);
}

static void guest_attributes(void)
{
	struct timespec ts[2] = {{1000, 5}, {2000, 7}};
	struct timespec omit[2] = {{0, UTIME_OMIT}, {3000, 0}};
	struct timespec bad[2] = {{0, 1000000000}, {0, 0}};
	struct stat st;
	char buf[100];
	int fd = open("/tmp/f", O_RDWR | O_CREAT, 0666);

	CHECK(chmod("/tmp/f", 0600) == 0 && fchmod(fd, 0604) == 0);
	CHECK(utimensat(AT_FDCWD, "/tmp/f", ts, 0) == 0);
	CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0604);
	CHECK(st.st_atim.tv_sec == 1000 && st.st_mtim.tv_nsec == 7);
	CHECK(futimens(fd, omit) == 0 && fstat(fd, &st) == 0);
	CHECK(st.st_atim.tv_sec == 1000 && st.st_mtim.tv_sec == 3000);
	FAILS(futimens(fd, bad), EINVAL);
	CHECK(utimensat(AT_FDCWD, "/tmp/f", NULL, 0) == 0);
	CHECK(stat("/tmp/f", &st) == 0 && st.st_mtim.tv_sec > 100000);
	FAILS(chown("/tmp/f", 0, 0), EPERM);
	CHECK(chown("/tmp/f", (uid_t)-1, (gid_t)-1) == 0);
	CHECK(access("/tmp/f", R_OK | W_OK) == 0);
	FAILS(access("/tmp/f", X_OK), EACCES);
	CHECK(setxattr("/tmp/f", "user.a", "value", 5, 0) == 0);
	CHECK(fgetxattr(fd, "user.a", NULL, 0) == 5);
	CHECK(getxattr("/tmp/f", "user.a", buf, 100) == 5);
	CHECK(!memcmp(buf, "value", 5));
	FAILS(getxattr("/tmp/f", "user.a", buf, 3), ERANGE);
	FAILS(setxattr("/tmp/f", "user.a", "", 0, XATTR_CREATE), EEXIST);
	CHECK(listxattr("/tmp/f", buf, 100) == 7);
	CHECK(removexattr("/tmp/f", "user.a") == 0);
	FAILS(getxattr("/tmp/f", "user.a", buf, 100), ENODATA);
	CHECK(mkfifo("/tmp/p", 0600) == 0);
	FAILS(open("/tmp/p", O_WRONLY | O_NONBLOCK), ENXIO);
	CHECK(syscall(452, AT_FDCWD, "/tmp/f", 0640, 0) == 0);
}

Test(guestcalls, attributes_are_set_and_read)
{
	cr_expect_eq(guest_run(guest_attributes), 0);
}

static int count_entries(DIR *d)
{
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] == 'x';
	return n;
}

static void guest_directories(void)
{
	char name[50], buf[100], page[24];
	struct stat st;
	int fd, path;
	DIR *d;

	CHECK(mkdir("/tmp/d", 0777) == 0 && chdir("/tmp/d") == 0);
	CHECK(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/tmp/d"));
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		fd = open(name, O_CREAT | O_WRONLY, 0600);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	CHECK((d = opendir(".")));
	CHECK(count_entries(d) == 300 && count_entries(d) == 0);
	rewinddir(d);
	CHECK(count_entries(d) == 300);
	CHECK(fstatat(dirfd(d), "x7", &st, 0) == 0 && S_ISREG(st.st_mode));
	rewinddir(d);
	FAILS((int)syscall(SYS_getdents64, dirfd(d), page, 8), EINVAL);
	FAILS((int)syscall(SYS_getdents64, dirfd(d), NULL, 4096), EFAULT);
	CHECK(count_entries(d) == 300);
	CHECK((path = open("/tmp", O_PATH | O_DIRECTORY)) >= 0);
	CHECK(fstatat(path, "d/x9", &st, 0) == 0);
	FAILS((int)syscall(SYS_getdents64, path, page, 24), EBADF);
	CHECK(unlinkat(dirfd(d), "x8", 0) == 0);
	FAILS(unlinkat(path, "d", AT_REMOVEDIR), ENOTEMPTY);
	CHECK(renameat(path, "d", path, "e") == 0);
	CHECK(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/tmp/e"));
	CHECK(fchdir(path) == 0 && !fstatat(AT_FDCWD, "e", &st, 0));
	FAILS(getcwd(buf, 3) ? 0 : -1, ERANGE);
	CHECK(fstat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

Test(guestcalls, directories_are_read_and_walked)
{
	cr_expect_eq(guest_run(guest_directories), 0);
}

static void guest_faults(void)
{
	char *ro =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	int p[2];

	FAILS(stat("/tmp", (struct stat *)(void *)ro), EFAULT);
	CHECK(ro[0] == 0 && ro[100] == 0);
	FAILS(stat((char *)1, &st), EFAULT);
	CHECK(pipe(p) == 0 && fstat(p[0], &st) == 0);
	CHECK(S_ISFIFO(st.st_mode) && st.st_uid == 1000);
	FAILS(fchdir(p[0]), ENOTDIR);
	FAILS(fstat(99, &st), EBADF);
	FAILS((int)syscall(SYS_mount, 0, 0, 0, 0, 0), EPERM);
	FAILS((int)syscall(SYS_fstat, 0x100000000 + 99, &st), EBADF);
}

Test(guestcalls, faults_and_foreign_descriptors)
{
	cr_expect_eq(guest_run(guest_faults), 0);
}

static char record[] = "/tmp/guestcalls-XXXXXX";

static void start_audited(void)
{
	int fd = mkstemp(record);

	cr_assert_geq(fd, 0);
	close(fd);
	cfg.audit = record;
	start();
}

static void stop_audited(void)
{
	unlink(record);
	stop();
}

TestSuite(recordedcalls, .init = start_audited, .fini = stop_audited);

static void guest_recorded(void)
{
	struct stat st;
	int dir;

	CHECK(mkdir("/tmp/d", 0755) == 0);
	CHECK(symlink("d", "/tmp/l") == 0);
	CHECK((dir = open("/tmp/d", O_RDONLY | O_DIRECTORY)) >= 0);
	CHECK(mkdirat(dir, "../l/./sub", 0755) == 0);
	CHECK(chdir("/tmp/l") == 0);
	CHECK(stat("sub/..", &st) == 0);
	FAILS(unlink("none"), ENOENT);
	FAILS(stat("../secret", &st), ENOENT);
	FAILS(mkdir("/tmp/secret", 0755), EACCES);
	FAILS((int)syscall(SYS_mount, 0, "/a", 0, 1, 0), EPERM);
	FAILS(fstat(77, &st), EBADF);
}

static void expect_line(const char *text, const char *a, const char *b)
{
	for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)(end - p), p);
		if (strstr(line, a) && strstr(line, b))
			return;
	}
	cr_expect(false, "no record with %s and %s in\n%s", a, b, text);
}

Test(recordedcalls, records_show_resolved_paths_and_refusals)
{
	static char text[1 << 16];
	FILE *f;

	cr_assert_eq(guest_run(guest_recorded), 0);
	cr_assert_eq(audit_flush(sentry.audit), 0);
	cr_assert(f = fopen(record, "r"));
	cr_assert_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	expect_line(text, "\"mkdirat\"", "\"path\":\"/tmp/d/sub\"");
	expect_line(text, "\"chdir\"", "\"path\":\"/tmp/d\"");
	expect_line(text, "\"newfstatat\"", "\"path\":\"/tmp/d\"");
	expect_line(text, "\"unlink\"", "/tmp/d/none");
	expect_line(text, "/tmp/d/none", "ENOENT");
	expect_line(text, "/tmp/secret", "\"deny\"");
	expect_line(text, "\"mount\"", "\"deny\"");
	cr_expect_null(strstr(text, "AT_EMPTY_PATH"), "%s", text);
}
