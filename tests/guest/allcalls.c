// modes: bare
// timeout: 120
/*
 * Every system call number with zero arguments, and with -1: whatever comes
 * back, the program survives and the next call works. The results differ by
 * rights and sandbox, so only survival is compared.
 */
#include "guest.h"

static const int skipped[] = {
	/* end or stop the caller, or fork */
	SYS_exit,
	SYS_exit_group,
	SYS_fork,
	SYS_vfork,
	SYS_clone,
	435,
	SYS_pause,
	SYS_rt_sigsuspend,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	/* wait for ever */
	SYS_read,
	SYS_select,
	SYS_pselect6,
	SYS_poll,
	SYS_ppoll,
	SYS_futex,
	SYS_wait4,
	SYS_waitid,
	SYS_epoll_wait,
	SYS_epoll_pwait,
	441,
	449,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_accept,
	SYS_accept4,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_flock,
	SYS_msgrcv,
	SYS_readv,
	454,
	455,
	456,
	/* take away what the test itself stands on */
	SYS_munmap,
	SYS_mmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_brk,
	SYS_arch_prctl,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_set_robust_list,
	SYS_close_range,
	SYS_close,
	SYS_alarm,
	SYS_setrlimit,
	SYS_seccomp,
	SYS_personality,
	SYS_sigaltstack,
	SYS_pkey_mprotect,
	SYS_munlockall,
	SYS_remap_file_pages,
	SYS_madvise,
	SYS_ptrace,
	462,
	/* touch the machine, if root runs this natively */
	SYS_reboot,
	SYS_sync,
	SYS_vhangup,
	SYS_umask,
	SYS_setsid,
	SYS_setuid,
	SYS_setgid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setgroups,
	SYS_syslog,
	SYS_acct,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_unshare,
	SYS_setns,
	SYS_swapon,
	SYS_swapoff,
	SYS_iopl,
	SYS_ioperm,
	SYS_delete_module,
	SYS_chroot,
	SYS_pivot_root,
	SYS_mount,
	SYS_umount2,
	SYS_quotactl,
	443,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_setpriority,
	SYS_ioprio_set,
	SYS_capset,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_sched_setaffinity,
	SYS_sched_setscheduler,
	SYS_sched_setparam,
	SYS_sched_setattr,
	SYS_prctl,
	SYS_vmsplice,
	SYS_splice,
	SYS_sendfile,
	SYS_ioctl,
	SYS_bpf,
	SYS_keyctl,
	SYS_modify_ldt,
	SYS_setitimer,
	SYS_userfaultfd,
	SYS_restart_syscall,
	SYS_uselib,
	SYS_nfsservctl,
	SYS_mlockall,
	SYS_lookup_dcookie,
	SYS_process_madvise,
	335,
	336, /* uretprobe, uprobe: SIGILL */
	SYS_msgget,
	SYS_semget,
	SYS_shmget,
	SYS_mq_open,
	SYS_add_key,
	SYS_request_key,
	SYS_fanotify_init,
	SYS_perf_event_open,
	SYS_landlock_restrict_self,
	SYS_chdir,
	SYS_fchdir,
	SYS_getitimer,
	SYS_dup2,
	SYS_dup3,
	SYS_init_module,
	SYS_finit_module,
	SYS_move_pages,
	SYS_migrate_pages,
	SYS_set_mempolicy,
	SYS_mbind,
	SYS_io_uring_setup,
};

static bool skip(int nr)
{
	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++)
		if (skipped[i] == nr)
			return true;
	return false;
}

static void walk(unsigned long a)
{
	struct stat st;
	int fd;

	/* descriptor 0 will be truncated, and lose its mode and owner: it
	 * must never be a device of the host, nor may any other be open */
	OK(syscall(SYS_close_range, 3, ~0U, 0));
	fd = OK(open("victim", O_CREAT | O_RDWR, 0600));
	OK(dup2(fd, 0));
	OK(fstat(0, &st));
	CHECK(S_ISREG(st.st_mode));
	put("f", "x");
	for (int nr = 0; nr <= 500; nr++) {
		if (skip(nr))
			continue;
		syscall(nr, a, a, a, a, a, a);
		if (stat("f", &st) || st.st_size != 1)
			guest_fail(__FILE__, __LINE__, "after call %d: %s", nr,
				   strerrorname_np(errno));
	}
}

TEST(with_zeros)
{
	walk(0);
}

TEST(with_ones)
{
	walk(~0UL);
}

TEST(with_an_unmapped_address)
{
	walk(0x10);
}

TEST(with_high_bits)
{
	walk(0x8000000000000000UL);
}
