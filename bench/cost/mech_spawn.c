/*
 * mech_spawn.c - mechanisms that come with a program's start: LD_PRELOAD, and
 * cloche itself. The guest is this program again ("bench --guest").
 */
#include "mech.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

extern const char cost_preload_image[], cost_preload_image_end[];

enum { SPEC_MAX = 64 };

/* This program's own path; the link itself would name whatever runs it. */
static int own_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

/* Runs argv with `out` as its output; in the child. */
NORETURN static void become(char *const argv[], int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(out, STDOUT_FILENO) >= 0)
		execv(argv[0], argv);
	_exit(1);
}

static int spawn_preload(struct cost_cell *c, int out, pid_t *pid)
{
	size_t size = (size_t)(cost_preload_image_end - cost_preload_image);
	char self[PATH_MAX], spec[SPEC_MAX], env[64];
	char *argv[] = {self, "bench", "--guest", spec, NULL};
	int fd, ret = own_path(self, sizeof(self));

	c->by_libc = true;
	cost_guest_spec(c, spec, sizeof(spec));
	fd = memfd_create("preload", 0);
	if (ret || fd < 0 ||
	    write(fd, cost_preload_image, size) != (ssize_t)size)
		return ret ? ret : -errno;
	snprintf(env, sizeof(env), "/proc/self/fd/%d", fd);
	fflush(NULL);
	*pid = fork();
	if (*pid == 0) {
		setenv("LD_PRELOAD", env, 1);
		become(argv, out);
	}
	return *pid < 0 ? -errno : 0;
}

static int spawn_cloche(struct cost_cell *c, int out, pid_t *pid)
{
	char self[PATH_MAX], spec[SPEC_MAX];
	char *argv[] = {self, "run",   "--quiet", "--ro", self, "--",
			self, "bench", "--guest", spec,	  NULL};
	int ret = own_path(self, sizeof(self));

	if (ret)
		return ret;
	cost_guest_spec(c, spec, sizeof(spec));
	fflush(NULL);
	*pid = fork();
	if (*pid == 0)
		become(argv, out);
	return *pid < 0 ? -errno : 0;
}

const struct cost_mech cost_preload = {
	.name = "preload",
	.what = "LD_PRELOAD: libc's function is another",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_LIFE,
	.many = true,
	.spawn = spawn_preload,
};

const struct cost_mech cost_cloche = {
	.name = "cloche",
	.what = "cloche run: a real answer, checked and recorded; getppid "
		"is native there",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_BIT(COST_OPEN) |
	       COST_LIFE,
	.many = true,
	.spawn = spawn_cloche,
};
