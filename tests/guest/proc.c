// modes: bare
/* /proc of the program itself, limits, names. */
#include "guest.h"
#include <dirent.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static long field(const char *file, const char *key)
{
	const char *t = get(file);
	const char *p = strstr(t, key);

	if (!p)
		guest_fail(__FILE__, __LINE__, "no %s in %s", key, file);
	return atol(p + strlen(key));
}

TEST(self_exe_is_this_program)
{
	char b[PATH_MAX] = "";
	struct stat a, c;

	OK(readlink("/proc/self/exe", b, sizeof(b)));
	STREQ(b, guest_self);
	OK(stat("/proc/self/exe", &a));
	OK(stat(guest_self, &c));
	EQ(a.st_ino, c.st_ino);
	char h[4];
	int fd = OK(open("/proc/self/exe", O_RDONLY));
	EQ(read(fd, h, 4), 4);
	CHECK(!memcmp(h, "\177ELF", 4));
}

TEST(self_is_the_own_pid)
{
	char b[64] = "", want[64];

	OK(readlink("/proc/self", b, sizeof(b)));
	EQ(atoi(b), getpid());
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/thread-self", b, sizeof(b)));
	snprintf(want, sizeof(want), "%d/task/%d", getpid(), getpid());
	STREQ(b, want);
}

TEST(status_and_stat_show_ids)
{
	EQ(field("/proc/self/status", "\nPid:\t"), getpid());
	EQ(field("/proc/self/status", "\nTgid:\t"), getpid());
	EQ(field("/proc/self/status", "\nPPid:\t"), getppid());
	EQ(field("/proc/self/status", "\nUid:\t"), getuid());
	EQ(field("/proc/self/status", "\nGid:\t"), getgid());
	EQ(field("/proc/self/status", "\nThreads:\t"), 1);
	EQ(atoi(get("/proc/self/stat")), getpid());
	const char *p = strrchr(get("/proc/self/stat"), ')');
	CHECK(p);
	char state;
	int ppid, pgrp, sid;
	EQ(sscanf(p, ") %c %d %d %d", &state, &ppid, &pgrp, &sid), 4);
	EQ(state, 'R');
	EQ(ppid, getppid());
	EQ(pgrp, getpgrp());
	EQ(sid, getsid(0));
	CHECK(atol(get("/proc/self/statm")) > 0);
}

TEST(maps_list_this_program_and_libc)
{
	const char *m = get("/proc/self/maps");

	CHECK(strstr(m, guest_self));
	CHECK(strstr(m, "libc.so.6"));
	CHECK(strstr(m, "[stack]"));
	CHECK(strstr(m, "[heap]") || 1);
	unsigned long lo, hi;
	char perm[8];
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 200];
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		EQ(sscanf(line, "%lx-%lx %4s", &lo, &hi, perm), 3);
		CHECK(lo < hi);
		if ((unsigned long)(void *)field >= lo &&
		    (unsigned long)(void *)field < hi) {
			STREQ(perm, "r-xp");
			CHECK(strstr(line, guest_self));
			found = 1;
		}
	}
	CHECK(found);
}

TEST(cmdline_comm_environ)
{
	char b[256] = "";
	int fd = OK(open("/proc/self/cmdline", O_RDONLY));
	ssize_t n = OK(read(fd, b, sizeof(b) - 1));

	CHECK(n > 0 && b[n - 1] == 0);
	CHECK(strstr(b, "proc"));
	STREQ(get("/proc/self/comm"), "proc\n");
	OK(prctl(PR_SET_NAME, "renamed"));
	STREQ(get("/proc/self/comm"), "renamed\n");
	OK(prctl(PR_GET_NAME, b));
	STREQ(b, "renamed");
	put("/proc/self/comm", "written");
	OK(prctl(PR_GET_NAME, b));
	STREQ(b, "written");
	fd = OK(open("/proc/self/environ", O_RDONLY));
	static char e[65536];
	n = OK(read(fd, e, sizeof(e) - 1));
	CHECK(memmem(e, (size_t)n, "PATH=", 5));
}

TEST(cwd_and_root)
{
	char b[PATH_MAX] = "", cwd[PATH_MAX];

	CHECK(getcwd(cwd, sizeof(cwd)));
	OK(readlink("/proc/self/cwd", b, sizeof(b)));
	STREQ(b, cwd);
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/root", b, sizeof(b)));
	STREQ(b, "/");
	put("f", "x");
	STREQ(get("/proc/self/cwd/f"), "x");
	OK(mkdir("d", 0755));
	OK(chdir("d"));
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/cwd", b, sizeof(b)));
	CHECK(strstr(b, "/cwd_and_root/d"));
	OK(rmdir("../d"));
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/cwd", b, sizeof(b)));
	CHECK(strstr(b, "/d (deleted)"));
}

TEST(fd_listing)
{
	char b[PATH_MAX] = "", cwd[PATH_MAX], want[PATH_MAX + 32];
	int n = 0, p[2];

	OK(syscall(SYS_close_range, 3, ~0U, 0));
	put("f", "x");
	int fd = OK(open("f", O_RDONLY));
	EQ(fd, 3);
	OK(pipe(p));
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	CHECK(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n++;
	EQ(n, 7); /* 0-2, 3, the pipe, the directory */
	CHECK(getcwd(cwd, sizeof(cwd)));
	OK(readlink("/proc/self/fd/3", b, sizeof(b)));
	snprintf(want, sizeof(want), "%s/f", cwd);
	STREQ(b, want);
	OK(rename("f", "g"));
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/fd/3", b, sizeof(b)));
	snprintf(want, sizeof(want), "%s/g", cwd);
	STREQ(b, want);
	OK(unlink("g"));
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/fd/3", b, sizeof(b)));
	snprintf(want, sizeof(want), "%s/g (deleted)", cwd);
	STREQ(b, want);
	memset(b, 0, sizeof(b));
	OK(readlink("/proc/self/fd/4", b, sizeof(b)));
	CHECK(!strncmp(b, "pipe:[", 6));
	ERR(readlink("/proc/self/fd/99", b, sizeof(b)), ENOENT);
}

TEST(fdinfo_shows_position_and_flags)
{
	put("f", "0123456789");
	int fd = OK(open("f", O_RDWR | O_APPEND));
	char p[64];

	EQ(lseek(fd, 4, SEEK_SET), 4);
	snprintf(p, sizeof(p), "/proc/self/fdinfo/%d", fd);
	EQ(field(p, "pos:\t"), 4);
	long fl = strtol(strstr(get(p), "flags:\t") + 7, NULL, 8);
	EQ(fl & (O_ACCMODE | O_APPEND), O_RDWR | O_APPEND);
}

TEST(task_lists_threads)
{
	int p[2], n = 0;
	char c;
	void *body(void *a)
	{
		EQ(read(p[0], &c, 1), 1);
		return a;
	}
	pthread_t t[3];

	OK(pipe(p));
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, body, NULL);
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	EQ(n, 4);
	EQ(field("/proc/self/status", "\nThreads:\t"), 4);
	EQ(write(p[1], "xxx", 3), 3);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

TEST(a_child_is_shown_and_goes)
{
	char p[64], b[PATH_MAX] = "";
	pid_t k = CHILD(for (;;) pause());

	snprintf(p, sizeof(p), "/proc/%d/status", k);
	EQ(field(p, "\nPid:\t"), k);
	EQ(field(p, "\nPPid:\t"), getpid());
	snprintf(p, sizeof(p), "/proc/%d/exe", k);
	OK(readlink(p, b, sizeof(b)));
	STREQ(b, guest_self);
	snprintf(p, sizeof(p), "/proc/%d", k);
	CHECK(exists(p));
	OK(kill(k, SIGKILL));
	wait_for(k);
	CHECK(!exists(p));
	ERR(open("/proc/999999/stat", O_RDONLY), ENOENT);
}

TEST(listing_shows_numbers_of_processes)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int self = 0;

	CHECK(d);
	while ((e = readdir(d)))
		self |= atoi(e->d_name) == getpid();
	CHECK(self);
}

TEST(system_wide_files_can_be_read)
{
	const char *files[] = {
		"/proc/meminfo",
		"/proc/cpuinfo",
		"/proc/stat",
		"/proc/uptime",
		"/proc/loadavg",
		"/proc/version",
		"/proc/filesystems",
		"/proc/mounts",
		"/proc/self/mounts",
		"/proc/self/mountinfo",
		"/proc/self/limits",
		"/proc/self/cgroup",
		"/proc/sys/kernel/osrelease",
		"/proc/sys/kernel/pid_max",
		"/proc/sys/fs/file-max",
		"/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/random/uuid",
		"/sys/devices/system/cpu/online",
		"/sys/devices/system/cpu/possible",
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strlen(get(files[i])))
			guest_fail(__FILE__, __LINE__, "%s is empty", files[i]);
	CHECK(field("/proc/meminfo", "MemTotal:") > 0);
	struct utsname u;
	OK(uname(&u));
	CHECK(!strncmp(get("/proc/sys/kernel/osrelease"), u.release,
		       strlen(u.release)));
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) > 0);
	CHECK(strstr(get("/proc/mounts"), " / "));
}

TEST(proc_files_refuse_what_they_should)
{
	ERR(open("/proc/self/stat", O_CREAT | O_EXCL | O_RDWR, 0644), EEXIST);
	ERR(mkdir("/proc/x", 0755), ENOENT);
	/* a user's own directory says EPERM, others EACCES */
	CHECK(unlink("/proc/self/stat") == -1 &&
	      (errno == EPERM || errno == EACCES));
	ERR(open("/proc/none", O_RDONLY), ENOENT);
	ERR(open("/proc/self/none", O_RDONLY), ENOENT);
	struct stat st;
	OK(stat("/proc/self/stat", &st));
	EQ(st.st_size, 0);
	CHECK(S_ISREG(st.st_mode));
}

TEST(seek_and_pieces)
{
	char a[4096] = "", b[4096] = "";
	int fd = OK(open("/proc/self/status", O_RDONLY));
	ssize_t n = OK(read(fd, a, sizeof(a) - 1)), m = 0, r;

	CHECK(n > 100);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	while ((r = OK(read(fd, b + m, 7))) > 0)
		m += r;
	CHECK(!strncmp(a, b, 40));
	EQ(pread(fd, b, 5, 0), 5);
	CHECK(!memcmp(a, b, 5));
}
