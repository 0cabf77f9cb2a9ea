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

/* Allocates nothing: the jail's child may be forked at any moment. */
static void *make_network(void *arg)
{
	struct confine_net *n = arg;

	if (unshare(CLONE_NEWNET) == 0)
		n->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return NULL;
}

void confine_network_begin(struct confine_net *n)
{
	n->fd = -1;
	n->started = geteuid() == 0 &&
		     pthread_create(&n->thread, NULL, make_network, n) == 0;
}

bool confine_network(struct confine_net *n)
{
	bool stands = false;

	if (!n->started)
		return false;
	pthread_join(n->thread, NULL);
	if (n->fd >= 0) {
		stands = setns(n->fd, CLONE_NEWNET) == 0;
		close(n->fd);
	}
	return stands;
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
