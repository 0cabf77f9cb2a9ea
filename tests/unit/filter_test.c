/*
 * filter_test.c - the seccomp program, run in a simulator, against the table.
 *
 * The program that filter_build exports is interpreted here as the kernel
 * does it (net/core/filter.c, kernel/seccomp.c), and each verdict is compared
 * with the table's class and, for rows of class args, with the plain C oracle
 * filter_args_allow. Sweeps are seeded, so a failure repeats.
 */
#include <asm/ioctls.h>
#include <criterion/criterion.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "../../sentry/filter.h"
#include "../../syscalls/filter_args.h"
#include "../../syscalls/table.h"

#define X32	0x40000000
#define SIM_BAD 0xdeadbeefu
#define SWEEP	40

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint32_t sim_alu(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_LSH:
		return a << b;
	case BPF_RSH:
		return a >> b;
	}
	cr_assert_fail("unknown ALU operation %x", op);
	return 0;
}

static bool sim_jump(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSET:
		return a & b;
	}
	cr_assert_fail("unknown jump %x", op);
	return false;
}

static uint32_t sim_load(const struct seccomp_data *d, uint32_t off)
{
	uint32_t v;

	cr_assert(off % 4 == 0 && off + 4 <= sizeof(*d));
	memcpy(&v, (const char *)d + off, sizeof(v));
	return v;
}

static uint32_t sim_run(const struct sock_fprog *p,
			const struct seccomp_data *d)
{
	uint32_t a = 0, x = 0, mem[BPF_MEMWORDS] = {0};

	for (unsigned pc = 0; pc < p->len; pc++) {
		const struct sock_filter *f = &p->filter[pc];
		uint32_t src = BPF_SRC(f->code) == BPF_X ? x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			if (BPF_MODE(f->code) == BPF_ABS)
				a = sim_load(d, f->k);
			else if (BPF_MODE(f->code) == BPF_IMM)
				a = f->k;
			else
				a = mem[f->k % BPF_MEMWORDS];
			break;
		case BPF_LDX:
			x = BPF_MODE(f->code) == BPF_IMM
				    ? f->k
				    : mem[f->k % BPF_MEMWORDS];
			break;
		case BPF_ST:
			mem[f->k % BPF_MEMWORDS] = a;
			break;
		case BPF_STX:
			mem[f->k % BPF_MEMWORDS] = x;
			break;
		case BPF_ALU:
			a = sim_alu(BPF_OP(f->code), a, src);
			break;
		case BPF_MISC:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA)
				pc += f->k;
			else
				pc += sim_jump(BPF_OP(f->code), a, src) ? f->jt
									: f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		}
	}
	return SIM_BAD;
}

static struct sock_fprog prog[2];

/* Where there are rules about datagrams, what may name a place is notified;
 * all else is as in the jailed column. */
static void agree_datagrams(const struct sock_fprog *p, int nr)
{
	struct seccomp_data d = {.nr = nr, .arch = AUDIT_ARCH_X86_64};
	bool watched = nr == SYS_sendmsg || nr == SYS_sendmmsg;
	uint32_t got = sim_run(p, &d), jailed = sim_run(&prog[0], &d);

	cr_expect_eq(got, watched ? SECCOMP_RET_USER_NOTIF : jailed,
		     "call %d: %#x", nr, got);
}

static void setup(void)
{
	cr_assert_eq(filter_build(false, &prog[0]), 0);
	cr_assert_eq(filter_build(true, &prog[1]), 0);
}

static void teardown(void)
{
	filter_free(&prog[0]);
	filter_free(&prog[1]);
}

TestSuite(filter, .init = setup, .fini = teardown);

Test(filter, datagrams_are_watched)
{
	struct sock_fprog p;

	cr_assert_eq(filter_build_datagrams(&p), 0);
	for (int nr = 0; nr < SYSNR_MAX; nr++)
		agree_datagrams(&p, nr);
	filter_free(&p);
}

static uint32_t verdict(int nr, const uint64_t args[6], bool bare)
{
	struct seccomp_data d = {.nr = nr,
				 .arch = AUDIT_ARCH_X86_64,
				 .instruction_pointer = 0x1234};

	for (int i = 0; i < 6; i++)
		d.args[i] = args[i];
	return sim_run(&prog[bare], &d);
}

static uint32_t expected(int nr, const uint64_t args[6], bool bare)
{
	const struct sysrow *row = sysrow_find(nr);

	if (!row)
		return SECCOMP_RET_USER_NOTIF;
	switch (bare ? row->bare : row->jailed) {
	case SYS_NATIVE:
		return SECCOMP_RET_ALLOW;
	case SYS_TRACE:
		return SECCOMP_RET_TRACE;
	case SYS_ARGS:
		return filter_args_allow(nr, args, bare)
			       ? SECCOMP_RET_ALLOW
			       : SECCOMP_RET_USER_NOTIF;
	default:
		return SECCOMP_RET_USER_NOTIF;
	}
}

static void agree(int nr, const uint64_t args[6], bool bare)
{
	uint32_t got = verdict(nr, args, bare) & SECCOMP_RET_ACTION_FULL;
	uint32_t want = expected(nr, args, bare);

	cr_assert_eq(got, want,
		     "call %d bare %d args %lx %lx %lx %lx %lx: %x, not %x", nr,
		     bare, args[0], args[1], args[2], args[3], args[4], got,
		     want);
}

/* small numbers, negative ones, high halves: what programs pass */
static uint64_t arg_random(void)
{
	uint64_t v = rnd();

	switch (rnd() % 6) {
	case 0:
		return v % 64;
	case 1:
		return (uint32_t)v;
	case 2:
		return v % 0x6000;
	case 3:
		return (uint64_t) - (int64_t)(v % 5);
	case 4:
		return (v % 64) | (v << 32);
	default:
		return v;
	}
}

Test(filter, agrees_with_the_table_on_every_number)
{
	for (int nr = 0; nr < SYSNR_MAX + 64; nr++)
		for (int i = 0; i < 2 * SWEEP; i++) {
			uint64_t args[6];

			for (int k = 0; k < 6; k++)
				args[k] = arg_random();
			agree(nr, args, i & 1);
		}
}

Test(filter, agrees_around_every_rule)
{
	uint64_t none[6];
	int nr;
	size_t count = filter_args_sample(SIZE_MAX, &nr, none);

	cr_assert_gt(count, 100);
	for (size_t r = 0; r < count; r++)
		for (int i = 0; i < SWEEP; i++) {
			uint64_t args[6];

			for (int k = 0; k < 6; k++)
				args[k] = arg_random();
			filter_args_sample(r, &nr, args);
			agree(nr, args, i & 1);
			/* one bit wrong, in each half */
			args[rnd() % 3] ^= 1ull << rnd() % 32;
			agree(nr, args, i & 1);
			args[rnd() % 3] ^= 1ull << (32 + rnd() % 32);
			agree(nr, args, i & 1);
		}
}

Test(filter, every_rule_is_reachable_and_allows)
{
	uint64_t args[6];
	int nr;
	size_t count = filter_args_sample(SIZE_MAX, &nr, args);

	for (size_t r = 0; r < count; r++) {
		bool any = false;

		memset(args, 0, sizeof(args));
		filter_args_sample(r, &nr, args);
		for (int bare = 0; bare < 2; bare++) {
			const struct sysrow *row = sysrow_find(nr);

			cr_assert_not_null(row);
			if ((bare ? row->bare : row->jailed) == SYS_ARGS &&
			    verdict(nr, args, bare) == SECCOMP_RET_ALLOW)
				any = true;
		}
		cr_expect(any, "rule %zu of call %d never allows", r, nr);
	}
}

Test(filter, rows_of_class_args_have_rules)
{
	for (int nr = 0; nr < SYSNR_MAX; nr++) {
		const struct sysrow *row = sysrow_find(nr);

		if (row && row->jailed == SYS_ARGS)
			cr_expect(filter_args_known(nr, false), "%s",
				  row->name);
	}
}

/* Garbage in a high half of an int argument: notified, and known harmless. */
Test(filter, high_halves_of_ints_are_notified)
{
	const struct {
		int nr, arg;
		uint64_t args[6];
	} c[] = {
		{SYS_ioctl, 1, {1, TIOCGWINSZ}},
		{SYS_fcntl, 1, {1, 1}},
		{SYS_prctl, 0, {15}},
		{SYS_socketpair, 0, {AF_UNIX, SOCK_STREAM}},
		{SYS_getsockopt, 1, {3, SOL_SOCKET, SO_ERROR}},
		{SYS_getsockopt, 2, {3, SOL_SOCKET, SO_ERROR}},
		{SYS_clone, 0, {SIGCHLD}},
		{SYS_seccomp, 1, {1, 1}},
		{SYS_getrlimit, 0, {RLIMIT_STACK}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		for (int bit = 32; bit < 64; bit++) {
			uint64_t args[6];

			memcpy(args, c[i].args, sizeof(args));
			cr_assert_eq(verdict(c[i].nr, args, false),
				     SECCOMP_RET_ALLOW, "call %d", c[i].nr);
			args[c[i].arg] |= 1ull << bit;
			cr_assert_eq(verdict(c[i].nr, args, false),
				     SECCOMP_RET_USER_NOTIF);
			cr_assert(filter_args_truncated(c[i].nr, args, false));
		}
}

Test(filter, dangerous_arguments_are_notified_in_both_columns)
{
	const struct {
		int nr;
		uint64_t args[6];
	} c[] = {
		{SYS_ioctl, {0, TIOCSTI}},
		{SYS_ioctl, {0, TIOCSTI | 1ull << 32}},
		{SYS_ioctl, {0, TIOCGWINSZ | 1ull << 32}},
		{SYS_ioctl, {0, TIOCCONS}},
		{SYS_ioctl, {0, TIOCLINUX}},
		{SYS_ioctl, {0, TIOCGPTPEER}},
		{SYS_ioctl, {0, TIOCSETD}},
		{SYS_ioctl, {3, 0x40086602 /* FS_IOC_SETFLAGS */}},
		{SYS_clone, {CLONE_UNTRACED | SIGCHLD}},
		{SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
		{SYS_clone, {CLONE_NEWPID | SIGCHLD}},
		{SYS_clone, {CLONE_THREAD | CLONE_VM | CLONE_SIGHAND}},
		{SYS_seccomp, {1, 8 /* NEW_LISTENER */}},
		{SYS_socket, {40 /* AF_VSOCK */, SOCK_STREAM}},
		{SYS_socket, {AF_PACKET, SOCK_RAW}},
		{SYS_socket, {AF_INET, SOCK_RAW, 1}},
		{SYS_socket, {AF_NETLINK, SOCK_RAW, 15}},
		{SYS_setsockopt, {3, SOL_SOCKET, 36 /* SO_MARK */}},
		{SYS_setsockopt, {3, SOL_SOCKET, 50 /* ATTACH_BPF */}},
		{SYS_getsockopt, {3, SOL_SOCKET, SO_PEERCRED}},
		{SYS_fcntl, {3, 3 /* F_GETFL */}},
		{SYS_fcntl, {3, 6 /* F_SETLK */}},
		{SYS_fcntl, {3, 1024 /* F_SETLEASE */}},
		{SYS_fcntl, {3, 8 /* F_SETOWN */}},
		{SYS_prctl, {4 /* PR_SET_DUMPABLE */, 0}},
		{SYS_prctl, {35 /* PR_SET_MM */, 13 /* EXE_FILE */}},
		{SYS_prlimit64, {0, RLIMIT_NOFILE}},
		{SYS_prlimit64, {1, RLIMIT_STACK}},
		{SYS_sendto, {3, 0, 0, 0, 1, 16}},
		{SYS_sendto, {3, 0, 0, 0, 1ull << 32, 16}},
		{SYS_clone3, {0}},
		{SYS_io_uring_setup, {0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		for (int bare = 0; bare < 2; bare++)
			cr_expect_eq(verdict(c[i].nr, c[i].args, bare),
				     SECCOMP_RET_USER_NOTIF,
				     "row %zu call %d bare %d", i, c[i].nr,
				     bare);
}

Test(filter, what_programs_need_is_allowed)
{
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES |
				CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS | CLONE_PARENT_SETTID |
				CLONE_CHILD_CLEARTID;
	const struct {
		int nr;
		uint64_t args[6];
	} c[] = {
		{SYS_clone, {thread}},
		{SYS_clone,
		 {CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD}},
		{SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}},
		{SYS_clone, {CLONE_PARENT | SIGCHLD}},
		{SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}},
		{SYS_ioctl, {0, TCGETS}},
		{SYS_ioctl, {0, 0xffffffff80045430ull /* musl TIOCGPTN */}},
		{SYS_prctl, {0x53564d41}},
		{SYS_sendto, {3, 1, 1, 0, 0, 0}},
		{SYS_seccomp, {1, 1}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		for (int bare = 0; bare < 2; bare++)
			cr_expect_eq(verdict(c[i].nr, c[i].args, bare),
				     SECCOMP_RET_ALLOW, "row %zu bare %d", i,
				     bare);
}

Test(filter, x32_and_i386_are_notified)
{
	for (int nr = 0; nr < SYSNR_MAX; nr++)
		for (int bare = 0; bare < 2; bare++) {
			struct seccomp_data d = {.nr = nr,
						 .arch = AUDIT_ARCH_I386};
			uint64_t args[6] = {0};

			cr_assert_eq(sim_run(&prog[bare], &d),
				     SECCOMP_RET_USER_NOTIF);
			d.arch = AUDIT_ARCH_AARCH64;
			cr_assert_eq(sim_run(&prog[bare], &d),
				     SECCOMP_RET_USER_NOTIF);
			cr_assert_eq(verdict(nr | X32, args, bare),
				     SECCOMP_RET_USER_NOTIF);
		}
	for (int i = 0; i < SWEEP; i++) {
		uint64_t args[6] = {0};

		cr_assert_eq(verdict(-1 - i, args, i & 1),
			     SECCOMP_RET_USER_NOTIF);
	}
}

Test(filter, internet_sockets_only_in_the_jail)
{
	const uint64_t tcp[6] = {AF_INET, SOCK_STREAM, 6};
	const uint64_t msg[6] = {3, 4096, 0};

	cr_expect_eq(verdict(SYS_socket, tcp, false), SECCOMP_RET_ALLOW);
	cr_expect_eq(verdict(SYS_socket, tcp, true), SECCOMP_RET_USER_NOTIF);
	cr_expect_eq(verdict(SYS_sendmsg, msg, false), SECCOMP_RET_ALLOW);
	cr_expect_eq(verdict(SYS_sendmsg, msg, true), SECCOMP_RET_USER_NOTIF);
}
