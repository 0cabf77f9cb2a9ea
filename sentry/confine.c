/*
 * confine.c - see confine.h. The filter is compiled by filtergen.c from the
 * list in filter_self.c.
 */
#include "confine.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "filterdata.h"

int confine_network(void)
{
	AUTO_CLOSE int host = -1;

	if (geteuid() != 0)
		return -1;
	host = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (host < 0 || unshare(CLONE_NEWNET) < 0)
		return -1;
	return fd_take(&host);
}

void confine_undo(int host)
{
	if (host < 0)
		return;
	/* In a user namespace that does not own it: the empty one will do. */
	if (setns(host, CLONE_NEWNET) < 0)
		log_debug("back to the host's network: %s", strerror(errno));
	close(host);
}

int confine_self(void)
{
	struct sock_fprog prog = filterdata_self();
	long ret;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (ret)
		return ret < 0 ? -errno : -EBUSY;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}
