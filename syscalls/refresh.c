/*
 * refresh.c - see refresh.h.
 */
#include "refresh.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>

#include "help.h"

enum { PROCESSES_MAX = 64 }; /* with more it stays as it is */

/* Does another process have the same description by the same number? As after
 * a fork, which is how offsets come to be shared. */
static bool shared(const struct call *c, gfd_t fd)
{
	const struct tgroup *own = c->task->tg;
	unsigned n = 0;
	long ret;

	list_for_each (p, &c->s->tgroups) {
		const struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (tg == own)
			continue;
		if (++n > PROCESSES_MAX)
			return true;
		ret = syscall(SYS_kcmp, own->pid, tg->pid, KCMP_FILE, fd, fd);
		/* what cannot be compared may be shared */
		if (ret == 0 || (ret < 0 && errno != EBADF && errno != ESRCH))
			return true;
	}
	return false;
}

int refresh_fd(struct call *c, gfd_t number, struct target *t)
{
	int flags, fd = -1;
	off_t at;

	if (t->fd < 0 || t->foreign || t->opath || !t->ref.inode ||
	    !vfs_may_be_stale(c->s->vfs, &t->ref, &t->st))
		return 0;
	flags = fcntl(t->fd, F_GETFL);
	if (flags < 0 || (flags & (O_ACCMODE | O_PATH)) != O_RDONLY ||
	    vfs_fresh_file(&c->vfs, &t->ref, &t->st,
			   flags & (O_APPEND | O_NONBLOCK), &fd) != 1)
		return 0;
	at = lseek(t->fd, 0, SEEK_CUR);
	if (ref_is_stdio(c, &t->ref) || shared(c, number) ||
	    (at > 0 && lseek(fd, at, SEEK_SET) < 0)) {
		close(fd);
		return 0;
	}
	/* LIMIT: what another thread puts there by dup2 in these
	 * microseconds is lost. */
	if (call_inject_fd(c, fd, help_guest_cloexec(c, number), number) < 0)
		return 0;
	target_put(t);
	return call_fd_target(c, number, t);
}
