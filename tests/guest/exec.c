// modes: bare
// timeout: 120
/* execve and execveat: errors, scripts, descriptors, threads. */
#include "guest.h"
#include <elf.h>
#include <sys/sendfile.h>

extern char **environ;

static char *none[] = {NULL};

/* Prints what a program was started with; the tests read it by a pipe. */
int guest_child(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "args")) {
		for (int i = 2; i < argc; i++)
			printf("[%s]", argv[i]);
		printf("\n");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "env")) {
		for (char **e = environ; *e; e++)
			printf("[%s]", *e);
		printf("\n");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "fds")) {
		for (int i = 3; i < 64; i++)
			if (fcntl(i, F_GETFD) >= 0)
				printf("[%d]", i);
		printf("\n");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "sig")) {
		struct sigaction sa;
		sigset_t m;
		sigaction(SIGUSR1, NULL, &sa);
		printf("%s ", sa.sa_handler == SIG_IGN	 ? "ign"
			      : sa.sa_handler == SIG_DFL ? "dfl"
							 : "?");
		sigaction(SIGUSR2, NULL, &sa);
		sigprocmask(SIG_BLOCK, NULL, &m);
		printf("%s %d\n", sa.sa_handler == SIG_DFL ? "dfl" : "?",
		       sigismember(&m, SIGHUP));
		return 0;
	}
	return 40;
}

/* Runs body in a child whose output is returned. */
static char outbuf[262144];
#define OUTPUT(...)                                                        \
	({                                                                 \
		int guest_o[2];                                            \
		OK(pipe2(guest_o, O_CLOEXEC));                             \
		pid_t guest_k = CHILD({                                    \
			dup2(guest_o[1], 1);                               \
			__VA_ARGS__;                                       \
			printf("exec: %s\n", strerrorname_np(errno));      \
		});                                                        \
		OK(close(guest_o[1]));                                     \
		size_t guest_n = 0;                                        \
		ssize_t guest_r;                                           \
		while ((guest_r = read(guest_o[0], outbuf + guest_n,       \
				       sizeof(outbuf) - 1 - guest_n)) > 0) \
			guest_n += (size_t)guest_r;                        \
		outbuf[guest_n] = 0;                                       \
		OK(close(guest_o[0]));                                     \
		wait_for(guest_k);                                         \
		outbuf;                                                    \
	})

static void script(const char *path, const char *text)
{
	put(path, text);
	OK(chmod(path, 0755));
}

TEST(errors_of_bad_files)
{
	char *a[] = {"x", NULL};

	ERR(execv("none", a), ENOENT);
	ERR(execv("", a), ENOENT);
	ERR(execv(".", a), EACCES);
	put("plain", "text");
	ERR(execv("plain", a), EACCES);
	ERR(execv("plain/x", a), ENOTDIR);
	OK(chmod("plain", 0755));
	ERR(execv("plain", a), ENOEXEC);
	script("empty", "");
	ERR(execv("empty", a), ENOEXEC);
	OK(symlink("loop", "loop"));
	ERR(execv("loop", a), ELOOP);
	OK(mkfifo("fifo", 0777));
	ERR(execv("fifo", a), EACCES);
	script("nointerp", "#!/none/such\n");
	ERR(execv("nointerp", a), ENOENT);
	script("dirinterp", "#!/tmp\n");
	ERR(execv("dirinterp", a), EACCES);
	script("noname", "#!\n");
	ERR(execv("noname", a), ENOEXEC);
	script("blank", "#!   \n");
	ERR(execv("blank", a), ENOEXEC);
	ERR(syscall(SYS_execve, NULL, a, environ), EFAULT);
	ERR(syscall(SYS_execve, 16, a, environ), EFAULT);
}

TEST(errors_of_bad_elf_headers)
{
	char *a[] = {"x", NULL};
	Elf64_Ehdr h;
	int fd = OK(open(guest_self, O_RDONLY));

	EQ(read(fd, &h, sizeof(h)), sizeof(h));
	void make(const char *name)
	{
		int o = OK(open(name, O_CREAT | O_WRONLY | O_TRUNC, 0755));
		EQ(write(o, &h, sizeof(h)), sizeof(h));
		OK(close(o));
	}
	make("short"); /* program headers past the end */
	CHECK(execv("short", a) == -1);
	CHECK(errno == ENOEXEC || errno == EIO);
	h.e_machine = EM_ARM;
	make("arm");
	ERR(execv("arm", a), ENOEXEC);
	h.e_machine = EM_X86_64;
	h.e_type = ET_REL;
	make("rel");
	ERR(execv("rel", a), ENOEXEC);
	h.e_type = ET_DYN;
	h.e_phentsize = 1;
	make("phent");
	ERR(execv("phent", a), ENOEXEC);
	script("magic", "\177ELF");
	ERR(execv("magic", a), ENOEXEC);
}

TEST(interpreter_missing_is_ENOENT)
{
	/* the same program with another interpreter name */
	static char img[8 << 20];
	char *a[] = {"x", NULL};
	int fd = OK(open(guest_self, O_RDONLY));
	ssize_t n = OK(read(fd, img, sizeof(img)));
	char *i = memmem(img, (size_t)n, "/lib64/ld-linux", 15);

	if (!i)
		SKIP("the program has no interpreter");
	memcpy(i, "/nib64", 6);
	int o = OK(open("bad", O_CREAT | O_WRONLY, 0755));
	EQ(write(o, img, (size_t)n), n);
	OK(close(o));
	ERR(execv("bad", a), ENOENT);
}

TEST(permissions)
{
	char *a[] = {"x", NULL};

	script("s", "#!/bin/sh\nexit 3\n");
	OK(chmod("s", 0644));
	ERR(execv("s", a), EACCES);
	OK(mkdir("d", 0755));
	script("d/s", "#!/bin/sh\nexit 3\n");
	script("i", "#!s\n");
	ERR(execv("i", a), EACCES);
	if (geteuid()) {
		OK(chmod("d", 0600));
		ERR(execv("d/s", a), EACCES);
		OK(chmod("d", 0700));
	}
	EQ(wait_for(CHILD(execv("d/s", a))), 3);
}

TEST(program_open_for_writing_is_ETXTBSY)
{
	char *a[] = {"x", NULL};
	int in = OK(open("/bin/true", O_RDONLY));
	struct stat st;

	OK(fstat(in, &st));
	int o = OK(open("t", O_CREAT | O_WRONLY, 0755));
	EQ(sendfile(o, in, NULL, (size_t)st.st_size), st.st_size);
	ERR(execv("t", a), ETXTBSY);
	OK(close(o));
	EQ(wait_for(CHILD(execv("t", a))), 0);
}

TEST(running_program_cannot_be_written)
{
	int in = OK(open("/bin/sleep", O_RDONLY));
	char *a[] = {"sleep", "100", NULL};
	struct stat st;

	OK(fstat(in, &st));
	int o = OK(open("t", O_CREAT | O_WRONLY, 0755));
	EQ(sendfile(o, in, NULL, (size_t)st.st_size), st.st_size);
	OK(close(o));
	int p[2];
	char c;
	OK(pipe2(p, O_CLOEXEC));
	pid_t k = CHILD(execv("t", a));
	OK(close(p[1]));
	EQ(read(p[0], &c, 1), 0); /* closed by the exec */
	ERR(open("t", O_WRONLY), ETXTBSY);
	ERR(open("t", O_RDWR | O_TRUNC), ETXTBSY);
	OK(close(OK(open("t", O_RDONLY))));
	OK(unlink("t"));
	OK(kill(k, SIGKILL));
	wait_for(k);
}

TEST(too_long_arguments_are_E2BIG)
{
	static char big[200 * 1024];
	char *a[] = {"true", big, NULL};

	memset(big, 'a', sizeof(big) - 1);
	ERR(execv("/bin/true", a), E2BIG);
	big[100 * 1024] = 0;
	EQ(wait_for(CHILD(execv("/bin/true", a))), 0);
	static char *many[3000];
	for (int i = 0; i < 2999; i++)
		many[i] = big;
	ERR(execv("/bin/true", many), E2BIG);
	/* and all still works */
	EQ(wait_for(CHILD(execv("/bin/true", a))), 0);
}

TEST(arguments_and_environment_arrive)
{
	char *a[] = {guest_self, "--child", "args", "", "a b", "\xff", NULL};
	char *b[] = {guest_self, "--child", "env", NULL};
	char *e[] = {"A=1", "B=", "odd", "C=x=y", NULL};

	STREQ(OUTPUT(execv(guest_self, a)), "[][a b][\xff]\n");
	STREQ(OUTPUT(execve(guest_self, b, e)), "[A=1][B=][odd][C=x=y]\n");
	STREQ(OUTPUT(execve(guest_self, b, NULL)), "\n");
	STREQ(OUTPUT(execve(guest_self, b, none)), "\n");
}

TEST(null_argv_gives_one_empty_argument)
{
	script("s", "#!/bin/sh\nexit 3\n");
	pid_t k = CHILD(syscall(SYS_execve, "/bin/true", NULL, environ));
	EQ(wait_for(k), 0);
}

TEST(ten_thousand_arguments)
{
	static char *a[10004];

	a[0] = guest_self;
	a[1] = "--child";
	a[2] = "args";
	for (int i = 3; i < 10003; i++)
		a[i] = "abc";
	EQ(strlen(OUTPUT(execv(guest_self, a))), 50001);
}

TEST(script_chain)
{
	char s[PATH_MAX + 64];
	char *a[] = {"zero", "one", "two words", NULL};

	snprintf(s, sizeof(s), "#! %s --child args\n", guest_self);
	if (strlen(s) > 250)
		SKIP("path of the program is too long for a script line");
	script("s1", "#!/bin/echo  opt with spaces \n");
	STREQ(OUTPUT(execv("./s1", a)), "opt with spaces ./s1 one two words\n");
	script("s2", "#!./s1 x\n");
	STREQ(OUTPUT(execv("./s2", a)),
	      "opt with spaces ./s1 x ./s2 one two words\n");
	script("s3", "#!./s2\n");
	script("s4", "#!./s3\n");
	script("s5", "#!./s4\n");
	script("s6", "#!./s5\n");
	CHECK(!strncmp(OUTPUT(execv("./s4", a)), "opt", 3));
	ERR(execv("./s6", a), ELOOP);
	script("rel", "#!/bin/echo\t-n\ttab");
	STREQ(OUTPUT(execv("./rel", a)), "-n\ttab ./rel one two words\n" + 0);
}

TEST(script_line_limits)
{
	char line[400];
	char *a[] = {"x", NULL};

	memset(line, 'a', sizeof(line));
	memcpy(line, "#!/bin/echo ", 12);
	line[300] = '\n', line[301] = 0;
	script("long", line);
	/* arguments are cut at 256 bytes of the line */
	size_t n = strlen(OUTPUT(execv("./long", a)));
	EQ(n, 256 - 12 + 1 + strlen("./long") + 1 - 1);
	memset(line, '/', 300);
	memcpy(line, "#!", 2);
	script("longname", line);
	ERR(execv("./longname", a), ENOEXEC);
}

TEST(shell_runs_a_file_without_a_first_line)
{
	script("s", "echo plain $1\n");
	char *a[] = {"sh", "-c", "./s arg", NULL};

	STREQ(OUTPUT(execv("/bin/sh", a)), "plain arg\n");
}

TEST(close_on_exec_and_the_rest)
{
	char *a[] = {guest_self, "--child", "fds", NULL};
	char want[64];

	put("f", "x");
	for (int i = 3; i < 64; i++)
		close(i);
	int x = OK(open("f", O_RDONLY | O_CLOEXEC));
	int y = OK(open("f", O_RDONLY));
	(void)x;
	snprintf(want, sizeof(want), "[%d]\n", y);
	STREQ(OUTPUT(execv(guest_self, a)), want);
}

TEST(signals_over_exec)
{
	char *a[] = {guest_self, "--child", "sig", NULL};
	sigset_t m;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, (void (*)(int))(void *)abort);
	sigemptyset(&m);
	sigaddset(&m, SIGHUP);
	OK(sigprocmask(SIG_BLOCK, &m, NULL));
	STREQ(OUTPUT(execv(guest_self, a)), "ign dfl 1\n");
}

TEST(fexecve_and_execveat)
{
	char *a[] = {"echo", "hi", NULL};
	int fd = OK(open("/bin/echo", O_RDONLY | O_CLOEXEC));
	int p = OK(open("/bin/echo", O_PATH | O_CLOEXEC));
	int d = OK(open("/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	STREQ(OUTPUT(fexecve(fd, a, environ)), "hi\n");
	STREQ(OUTPUT(fexecve(p, a, environ)), "hi\n");
	STREQ(OUTPUT(syscall(SYS_execveat, d, "echo", a, environ, 0)), "hi\n");
	STREQ(OUTPUT(syscall(SYS_execveat, fd, "", a, environ, AT_EMPTY_PATH)),
	      "hi\n");
	ERR(syscall(SYS_execveat, fd, "", a, environ, 0), ENOENT);
	ERR(syscall(SYS_execveat, 99, "x", a, environ, 0), EBADF);
	ERR(syscall(SYS_execveat, d, "", a, environ, AT_EMPTY_PATH), EACCES);
	ERR(syscall(SYS_execveat, d, "echo", a, environ, 0x40), EINVAL);
	OK(symlink("/bin/echo", "l"));
	ERR(syscall(SYS_execveat, AT_FDCWD, "l", a, environ,
		    AT_SYMLINK_NOFOLLOW),
	    ELOOP);
}

TEST(memfd_program)
{
	char *a[] = {"echo", "from memory", NULL};
	int in = OK(open("/bin/echo", O_RDONLY | O_CLOEXEC));
	int m = OK(memfd_create("prog", MFD_CLOEXEC));
	struct stat st;

	OK(fstat(in, &st));
	EQ(sendfile(m, in, NULL, (size_t)st.st_size), st.st_size);
	STREQ(OUTPUT(fexecve(m, a, environ)), "from memory\n");
	char p[64];
	snprintf(p, sizeof(p), "/proc/self/fd/%d", m);
	STREQ(OUTPUT(execv(p, a)), "from memory\n");
}

TEST(script_by_descriptor)
{
	char *a[] = {"s", "arg", NULL};

	script("s", "#!/bin/sh\necho script $1\n");
	int keep = OK(open("s", O_RDONLY));
	STREQ(OUTPUT(syscall(SYS_execveat, keep, "", a, environ,
			     AT_EMPTY_PATH)),
	      "script arg\n");
	int fd = OK(open("s", O_RDONLY | O_CLOEXEC));
	ERR(syscall(SYS_execveat, fd, "", a, environ, AT_EMPTY_PATH), ENOENT);
}

TEST(unlinked_program_by_descriptor)
{
	int in = OK(open("/bin/echo", O_RDONLY | O_CLOEXEC));
	char *a[] = {"echo", "gone", NULL};
	struct stat st;

	OK(fstat(in, &st));
	int o = OK(open("e", O_CREAT | O_WRONLY, 0755));
	EQ(sendfile(o, in, NULL, (size_t)st.st_size), st.st_size);
	OK(close(o));
	int fd = OK(open("e", O_RDONLY | O_CLOEXEC));
	OK(unlink("e"));
	STREQ(OUTPUT(fexecve(fd, a, environ)), "gone\n");
}

TEST(exec_from_another_thread_keeps_the_pid)
{
	void *body(void *a)
	{
		char *v[] = {"sh", "-c", "echo $$", NULL};
		(void)a;
		execv("/bin/sh", v);
		return NULL;
	}
	int p[2];
	char b[32] = "", want[32];

	OK(pipe2(p, O_CLOEXEC));
	pid_t k = CHILD({
		pthread_t t;
		dup2(p[1], 1);
		pthread_create(&t, NULL, body, NULL);
		for (;;)
			pause();
	});
	EQ(wait_for(k), 0);
	snprintf(want, sizeof(want), "%d\n", k);
	OK(read(p[0], b, 31));
	STREQ(b, want);
}

TEST(exec_with_other_threads_running)
{
	void *busy(void *a)
	{
		for (;;)
			access("f", F_OK);
		return a;
	}

	for (int i = 0; i < 20; i++)
		EQ(wait_for(CHILD({
			   pthread_t t;
			   char *v[] = {"true", NULL};
			   for (int j = 0; j < 4; j++)
				   pthread_create(&t, NULL, busy, NULL);
			   execv("/bin/true", v);
		   })),
		   0);
}

TEST(cwd_umask_and_nice_survive)
{
	char *a[] = {"sh", "-c", "pwd; umask; nice", NULL};
	char want[PATH_MAX + 300];

	umask(0137);
	snprintf(want, sizeof(want), "%s/cwd_umask_and_nice_survive\n0137\n0\n",
		 guest_start);
	STREQ(OUTPUT(execv("/bin/sh", a)), want);
}

TEST(lower_script_runs_and_after_change)
{
	char *a[] = {"x", "1", NULL};

	STREQ(OUTPUT(execv(lower("script.sh"), a)), "script 1\n");
	int fd = OK(open(lower("script.sh"), O_WRONLY | O_APPEND));
	EQ(write(fd, "echo more\n", 10), 10);
	OK(close(fd));
	STREQ(OUTPUT(execv(lower("script.sh"), a)), "script 1\nmore\n");
	OK(rename(lower("script.sh"), "moved"));
	STREQ(OUTPUT(execv("./moved", a)), "script 1\nmore\n");
}

TEST(comm_and_exe_of_the_new_program)
{
	char *a[] = {"cat", "/proc/self/comm", NULL};
	char *b[] = {"readlink", "/proc/self/exe", NULL};
	char want[PATH_MAX];

	STREQ(OUTPUT(execv("/bin/cat", a)), "cat\n");
	CHECK(realpath("/bin/readlink", want));
	strcat(want, "\n");
	STREQ(OUTPUT(execv("/bin/readlink", b)), want);
	OK(symlink("/bin/cat", "a-name-of-more-than-15"));
	STREQ(OUTPUT(execv("a-name-of-more-than-15", a)), "a-name-of-more-\n");
}

TEST(interpreter_run_by_hand)
{
	char *a[] = {"ld", "/bin/echo", "by hand", NULL};
	const char *ld = "/lib64/ld-linux-x86-64.so.2";

	STREQ(OUTPUT(execv(ld, a)), "by hand\n");
}

TEST(alternating_exec_in_one_process)
{
	char *a[] = {"sh",
		     "-c",
		     "i=${1:-0}; [ $i = 30 ] && exit 9;"
		     "exec sh -c \"$2\" sh $((i+1)) \"$2\"",
		     "sh",
		     "0",
		     "i=${1:-0}; [ $i = 30 ] && exit 9;"
		     "exec sh -c \"$2\" sh $((i+1)) \"$2\"",
		     NULL};

	EQ(wait_for(CHILD(execv("/bin/sh", a))), 9);
}

/* Memory that /proc/self/maps does not show is nobody's: each piece of it, from
 * `from` on, is unmapped, or its ends are taken. The stack has room to grow. */
static void use_what_is_not_shown(uintptr_t from, bool take)
{
	enum { MOST = 1 << 20 };
	uintptr_t a, b, holes[256][2];
	char line[512];
	size_t n = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	void use(uintptr_t at, size_t len)
	{
		if (take)
			mmap((void *)at, len, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		else
			munmap((void *)at, len);
	}
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &a, &b) != 2 || a >= 1ul << 47)
			continue;
		if (strstr(line, "[stack]"))
			a -= 64 << 20;
		if (a > from && n < 256)
			holes[n][0] = from, holes[n++][1] = a;
		from = b > from ? b : from;
	}
	for (size_t i = 0; i < n; i++) {
		size_t len = holes[i][1] - holes[i][0];
		size_t most = take && len > MOST ? MOST : len;

		use(holes[i][0], most);
		use(holes[i][1] - most, most);
	}
}

TEST(exec_after_using_all_memory_that_is_not_shown)
{
	char *a[] = {guest_self, "--child", "args", "a", NULL};
	char *bad[] = {"x", (char *)16, NULL};

	for (int take = 0; take < 2; take++) {
		CHECK(!strcmp(OUTPUT({
				      use_what_is_not_shown(1ul << 46, take);
				      execv("none", a);
				      execve(guest_self, bad, environ);
				      if (errno == EFAULT)
					      execv(guest_self, a);
			      }),
			      "[a]\n"));
		CHECK(!strcmp(OUTPUT({
				      use_what_is_not_shown(1ul << 46, take);
				      syscall(SYS_execveat, AT_FDCWD,
					      guest_self, a, environ, 0);
			      }),
			      "[a]\n"));
	}
}

TEST(file_open_for_writing_does_not_run)
{
	int in = OK(open("/bin/true", O_RDONLY | O_CLOEXEC));
	char *a[] = {"t", NULL};
	struct stat st;
	int status;

	OK(fstat(in, &st));
	int o = OK(open("t", O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
	EQ(sendfile(o, in, NULL, (size_t)st.st_size), st.st_size);
	ERR(execv("./t", a), ETXTBSY);
	OK(close(o));
	pid_t k = CHILD(execv("./t", a));
	OK(waitpid(k, &status, 0));
	EQ(status, 0);
}
