/*
 * run_service.c - what a service that keeps a sandbox reachable needs of it;
 * see run.h. The loop thread's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

#include "command.h"
#include "run_priv.h"
#include "task.h"

static struct run *run_of(struct sentry *s)
{
	return container_of(s, struct run, s);
}

int run_start(struct run *r, const struct run_command *c, bool last)
{
	struct jail_command jc = {
		.id = ++r->last_id,
		.last = last,
		.tty = c->tty,
		.fds = c->fds,
	};
	AUTO_CLOSE int block = -1;
	int ret = command_write(c->cwd, c->argv, c->envp, &block);

	jc.block = block;
	return ret ? ret : jail_start(&r->jail, &jc);
}

int run_command(struct sentry *s, const struct run_command *c, uint32_t *id)
{
	struct run *r = run_of(s);
	int ret = r->ended ? -ESHUTDOWN : run_start(r, c, false);

	*id = r->last_id;
	return ret;
}

void run_signal(struct sentry *s, uint32_t id, int sig)
{
	jail_signal(&run_of(s)->jail, id, sig);
}

void run_signal_all(struct sentry *s, int sig)
{
	sentry_lock(s);
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (tg->pid != s->init)
			kill(tg->pid, sig);
	}
	sentry_unlock(s);
}

void run_end(struct sentry *s, int status)
{
	struct run *r = run_of(s);

	if (r->ended)
		return;
	r->ended = true;
	s->exit_status = status;
	run_kill(r);
}

bool run_store_usage(struct sentry *s, uint64_t *used, uint64_t *size)
{
	struct statfs sf;

	/* Bare mode's store shares its file system with others. */
	if (s->bare || fstatfs(run_of(s)->jail.store_fd, &sf) < 0)
		return false;
	*size = (uint64_t)sf.f_blocks * (uint64_t)sf.f_bsize;
	*used = (uint64_t)(sf.f_blocks - sf.f_bfree) * (uint64_t)sf.f_bsize;
	return true;
}

int run_open_pty(struct sentry *s, int *master, int *slave)
{
	int pts = s->devpts_fd, unlock = 0;
	AUTO_CLOSE int m =
		pts >= 0 ? openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
			 : posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (m < 0 || ioctl(m, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	*slave = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0)
		return -errno;
	*master = fd_take(&m);
	return 0;
}
