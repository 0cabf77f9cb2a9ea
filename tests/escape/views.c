/* A call that waits in the sentry keeps its own view: another thread changes
 * the cwd, which may be freed, and the sentry must live on. */
// timeout: 60
#include "escape.h"
#include <sys/file.h>

static volatile bool stop;

static void *change_directory(void *arg)
{
	(void)arg;
	for (int i = 0; !stop; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d", i);
		mkdir(name, 0700);
		chdir(name);
		usleep(i % 7 * 30);
		chdir("..");
		rmdir(name);
	}
	return NULL;
}

TEST(cwd_freed_under_a_bind)
{
	pthread_t t;
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	EQ(pthread_create(&t, NULL, change_directory, NULL), 0);
	for (int i = 0; i < 3000; i++) {
		int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));

		snprintf(un.sun_path, sizeof(un.sun_path), "s%d", i);
		if (bind(s, (void *)&un, sizeof(un)) == 0)
			unlink(un.sun_path);
		close(s);
	}
	stop = true;
	pthread_join(t, NULL);
	struct stat st;

	OK(stat("/", &st));
}

TEST(call_passed_from_worker_to_worker)
{
	/* a copy-up job, then the call itself waits again */
	for (int i = 0; i < 20; i++) {
		pid_t k[8];

		for (int j = 0; j < 8; j++)
			k[j] = CHILD({
				int fd = open("/usr/bin/gcc", O_RDWR);

				if (fd < 0)
					fd = open("/bin/sh", O_RDONLY);
				alarm(1);
				flock(fd, 2);
				_exit(0);
			});
		for (int j = 0; j < 8; j++)
			wait_for(k[j]);
	}
}

static int shared_fd;
static struct stat seen[2];

static void *other_table(void *arg)
{
	(void)arg;
	OK(unshare(CLONE_FILES));
	OK(dup2(OK(open("/etc/hostname", O_RDONLY)), shared_fd));
	OK(fstat(shared_fd, &seen[1]));
	return NULL;
}

/* What is decided on is the calling thread's descriptor. */
TEST(thread_with_a_table_of_its_own)
{
	struct stat a, b;
	pthread_t t;

	OK(stat("/etc/passwd", &a));
	OK(stat("/etc/hostname", &b));
	shared_fd = OK(open("/etc/passwd", O_RDONLY));
	EQ(pthread_create(&t, NULL, other_table, NULL), 0);
	pthread_join(t, NULL);
	OK(fstat(shared_fd, &seen[0]));
	EQ(seen[0].st_ino, a.st_ino);
	EQ(seen[1].st_ino, b.st_ino);
}

static void *after_the_leader(void *arg)
{
	struct stat st;

	(void)arg;
	usleep(50000);
	int fd = OK(open("/etc/passwd", O_RDONLY));

	OK(fstat(fd, &st));
	OK(fcntl(fd, F_GETFL));
	OK(openat(OK(open("/etc", O_RDONLY | O_DIRECTORY)), "hostname",
		  O_RDONLY));
	_exit(0);
}

TEST(leader_that_has_exited)
{
	EQ(wait_for(CHILD({
		   pthread_t t;

		   pthread_create(&t, NULL, after_the_leader, NULL);
		   pthread_exit(NULL);
	   })),
	   0);
}
