/*
 * filter_self.c - the sentry's own filter; compiled by filtergen.c.
 *
 * A guest that takes over the sentry finds a process without network that
 * cannot execute anything. The filter's default is to allow: it is a list of
 * what the sentry never does, not of what it does.
 */
#include <seccomp.h>
#include <sys/socket.h>

#include "filter.h"

static const int refused[] = {
	SCMP_SYS(execve),	   SCMP_SYS(execveat),
	SCMP_SYS(mount),	   SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),	   SCMP_SYS(chroot),
	SCMP_SYS(move_mount),	   SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),	   SCMP_SYS(fsmount),
	SCMP_SYS(mount_setattr),   SCMP_SYS(setns),
	SCMP_SYS(init_module),	   SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),   SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load), SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup),
	SCMP_SYS(userfaultfd),	   SCMP_SYS(add_key),
	SCMP_SYS(request_key),	   SCMP_SYS(keyctl),
	SCMP_SYS(swapon),	   SCMP_SYS(swapoff),
	SCMP_SYS(reboot),	   SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),   SCMP_SYS(open_by_handle_at),
	SCMP_SYS(personality),	   SCMP_SYS(acct),
	SCMP_SYS(quotactl),
};

int filter_build_self(struct sock_fprog *out)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int ret = f ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < ARRAY_SIZE(refused); i++)
		ret = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	if (!ret)
		ret = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM),
				       SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_NE, AF_UNIX));
	if (!ret)
		ret = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!ret)
		ret = filter_export(f, out);
	if (f)
		seccomp_release(f);
	return ret;
}
