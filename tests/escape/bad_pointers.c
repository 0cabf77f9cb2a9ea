// modes: bare
/* Every call with pointers that lead nowhere: the sentry refuses and lives. */
#include "escape.h"
#include <sys/inotify.h>

static bool left_out(long nr)
{
	static const long out[] = {
		SYS_exit,
		SYS_exit_group,
		SYS_pause,
		SYS_rt_sigreturn,
		SYS_rt_sigsuspend,
		SYS_fork,
		SYS_vfork,
		SYS_clone,
		SYS_kill,
		SYS_tkill,
		SYS_tgkill,
		SYS_munmap,
		SYS_mremap,
		SYS_brk,
		SYS_alarm,
		SYS_setitimer,
		SYS_ptrace,
		SYS_read,
		SYS_close,
		SYS_close_range,
		SYS_vhangup,
		SYS_restart_syscall,
		SYS_setsid,
		SYS_rt_sigprocmask,
		SYS_rseq,
		SYS_set_robust_list,
		SYS_mprotect,
		SYS_arch_prctl,
		SYS_prctl,
		SYS_seccomp,
		SYS_chdir,
		SYS_setuid,
		SYS_setgid,
		SYS_setreuid,
		SYS_setregid,
		SYS_setresuid,
		SYS_setresgid,
		SYS_futex,
		SYS_wait4,
		SYS_waitid,
		SYS_poll,
		SYS_unshare,
		335,
		336,
		462,
	};

	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		if (out[i] == nr)
			return true;
	return false;
}

static void one_call(long nr, unsigned long pointer, unsigned long fd)
{
	/* a call may well end the child: the sandbox is what must live */
	wait_for(CHILD({
		alarm(2);
		syscall(nr, pointer, pointer, pointer, pointer, pointer,
			pointer);
		syscall(nr, fd, pointer, fd, pointer, pointer, pointer);
		syscall(nr, fd, pointer, pointer, fd, pointer, fd);
		_exit(0);
	}));
}

static void all_calls(unsigned long pointer)
{
	struct stat st;
	int fds[3] = {OK(inotify_init()), OK(open(".", O_RDONLY)),
		      OK(socket(AF_UNIX, SOCK_STREAM, 0))};

	for (long nr = 0; nr < 470; nr++)
		if (!left_out(nr) && (nr < 334 || nr >= 424))
			one_call(nr, pointer, (unsigned long)fds[nr % 3]);
	for (int i = 0; i < 3; i++)
		syscall(SYS_inotify_add_watch, fds[0], pointer, 0xfff);
	OK(stat("/", &st));
}

TEST(pointers_to_nothing)
{
	all_calls(8);
}

TEST(pointers_beyond_user_memory)
{
	all_calls(0xffffffff80000000ul);
}

TEST(null_pointers)
{
	all_calls(0);
}
