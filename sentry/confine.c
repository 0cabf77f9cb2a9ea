/*
 * confine.c - see confine.h. The filter is compiled by filtergen.c from the
 * list in filter_self.c.
 */
#include "confine.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "filterdata.h"

bool confine_network(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNET) == 0;
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
