// modes: bare
// timeout: 120
/*
 * Law 2: a descriptor number that is dup2()ed over while the sentry decides.
 * One is a file of the host, the other the guest's own.
 */
#include "escape.h"
#include <sys/file.h>

static int host, own, slot;
static volatile int stop;

static void *duper(void *arg)
{
	(void)arg;
	while (!stop) {
		dup2(host, slot);
		dup2(own, slot);
	}
	return NULL;
}

static void start(pthread_t *t)
{
	put("own", "own file");
	OK(chmod("own", 0600));
	host = OK(open("/etc/passwd", O_RDONLY));
	own = OK(open("own", O_RDONLY));
	slot = OK(dup(own));
	EQ(pthread_create(t, NULL, duper, NULL), 0);
}

TEST(fstat_never_mixes_two_files)
{
	pthread_t t;
	struct stat a, b, s;

	start(&t);
	OK(fstat(host, &a));
	OK(fstat(own, &b));
	for (int i = 0; i < 30000; i++) {
		OK(fstat(slot, &s));
		if (s.st_ino == a.st_ino && s.st_dev == a.st_dev) {
			EQ(s.st_size, a.st_size);
			EQ(s.st_mode, a.st_mode);
		} else {
			EQ(s.st_ino, b.st_ino);
			EQ(s.st_size, b.st_size);
			EQ(s.st_mode, b.st_mode);
		}
	}
	stop = 1;
	pthread_join(t, NULL);
}

TEST(changes_reach_only_what_was_decided)
{
	pthread_t t;
	struct stat a, s;

	if (geteuid() == 0)
		SKIP("root may change both, in the overlay");
	start(&t);
	OK(fstat(host, &a));
	for (int i = 0; i < 20000; i++) {
		fchmod(slot, 0640 + (i & 7));
		fchown(slot, getuid(), getgid());
		flock(slot, LOCK_EX | LOCK_NB);
		flock(slot, LOCK_UN);
		futimens(slot, NULL);
	}
	stop = 1;
	pthread_join(t, NULL);
	OK(fstat(host, &s));
	EQ(s.st_mode, a.st_mode);
	EQ(s.st_uid, a.st_uid);
	EQ(s.st_mtim.tv_sec, a.st_mtim.tv_sec);
	EQ(s.st_ctim.tv_sec, a.st_ctim.tv_sec);
}

TEST(openat_below_a_changing_directory)
{
	pthread_t t;

	OK(mkdir("d", 0755));
	put("d/passwd", "mine");
	host = OK(open("/etc", O_RDONLY | O_DIRECTORY));
	own = OK(open("d", O_RDONLY | O_DIRECTORY));
	slot = OK(dup(own));
	EQ(pthread_create(&t, NULL, duper, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		int fd = openat(slot, "shadow", O_RDONLY);
		CHECK(fd < 0);
		fd = openat(slot, "made", O_CREAT | O_WRONLY, 0644);
		if (fd >= 0)
			close(fd);
		unlinkat(slot, "made", 0);
	}
	stop = 1;
	pthread_join(t, NULL);
}

static char **racing_argv;

static void *exec_racer(void *arg)
{
	(void)arg;
	for (;;) {
		racing_argv[0] = "true";
		racing_argv[0] = (char *)16;
	}
	return NULL;
}

TEST(exec_arguments_that_change)
{
	int good = 0;

	racing_argv = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(racing_argv != MAP_FAILED);
	for (int i = 0; i < 100; i++) {
		int st = wait_for(CHILD({
			pthread_t t;
			racing_argv[0] = "true";
			pthread_create(&t, NULL, exec_racer, NULL);
			execv("/bin/true", racing_argv);
			_exit(errno == EFAULT ? 0 : 1);
		}));
		good += st == 0;
	}
	CHECK(good > 0);
}

static char racing_path[64];

static void *path_racer(void *arg)
{
	(void)arg;
	for (;;) {
		strcpy(racing_path, "/bin/true");
		strcpy(racing_path, "/bin/fals");
	}
	return NULL;
}

TEST(exec_path_that_changes)
{
	for (int i = 0; i < 200; i++) {
		int st = wait_for(CHILD({
			pthread_t t;
			char *v[] = {"x", NULL};
			strcpy(racing_path, "/bin/true");
			pthread_create(&t, NULL, path_racer, NULL);
			execv(racing_path, v);
			_exit(0);
		}));
		CHECK(st == 0 || st == -1000 - SIGKILL);
	}
}
