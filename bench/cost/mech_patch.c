/*
 * mech_patch.c - the call's site is rewritten: int3 or a jump.
 *
 * int3 and jump answer in the guest's own process, as an in-process gate
 * does. jump-slot puts the call into a slot of shared memory, from which
 * another process, which spins for a while and then sleeps on a futex, takes
 * and answers it: no system call while both are awake. No wall, any of them:
 * the guest may jump past a patched site.
 */
#include "mech.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

int64_t (*cost_gate)(long nr, const uint64_t *args);

enum { IDLE, ASKED, ANSWERED, SPINS = 20000, SLEEP_MS = 10 };

/* A cache line for the state, the rest behind it. */
struct cost_slot {
	_Alignas(64) uint32_t state;
	_Alignas(64) long nr;
	int64_t result;
	char path[COST_PATH_SIZE];
	struct stat st;
};

/* Of the one cell in this process. */
static struct cost_cell *self;

static int64_t gate_inside(long nr, const uint64_t *args)
{
	return cost_answer_inside(self, nr, args);
}

/* Bytes over the site's first five. */
static int patch(char *site, const void *bytes, size_t len)
{
	uintptr_t page = (uintptr_t)site & ~(uintptr_t)4095;
	size_t span = (uintptr_t)site + len - page;

	if (mprotect((void *)page, span, PROT_READ | PROT_WRITE | PROT_EXEC) <
	    0)
		return errno == EACCES || errno == EPERM ? -EOPNOTSUPP : -errno;
	memcpy(site, bytes, len);
	return mprotect((void *)page, span, PROT_READ | PROT_EXEC) < 0 ? -errno
								       : 0;
}

static int patch_jump(char *site, void (*thunk)(void))
{
	int64_t far = (char *)thunk - (site + COST_PATCH_LEN);
	unsigned char insn[COST_PATCH_LEN] = {0xe9};
	int32_t near = (int32_t)far;

	if (near != far)
		return -ERANGE;
	memcpy(insn + 1, &near, sizeof(near));
	return patch(site, insn, sizeof(insn));
}

static int jump_to(int64_t (*gate)(long nr, const uint64_t *args))
{
	int ret;

	cost_gate = gate;
	ret = patch_jump(cost_site_getppid_patch, cost_thunk_getppid);
	return ret ? ret : patch_jump(cost_site_stat_patch, cost_thunk_stat);
}

static int jump(struct cost_cell *c)
{
	self = c;
	return jump_to(gate_inside);
}

/* rip is past the int3: the number tells itself by the site. */
static void on_sigtrap(int sig UNUSED, siginfo_t *info UNUSED, void *context)
{
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	uint64_t args[3] = {(uint64_t)g[REG_RDI], (uint64_t)g[REG_RSI],
			    (uint64_t)g[REG_RDX]};
	bool is_stat =
		(char *)(uintptr_t)g[REG_RIP] == cost_site_stat_patch + 1;

	g[REG_RAX] = cost_answer_inside(
		self, is_stat ? SYS_newfstatat : SYS_getppid, args);
	g[REG_RIP] += COST_SITE_LEN - 1;
}

static int int3(struct cost_cell *c)
{
	struct sigaction act = {.sa_sigaction = on_sigtrap,
				.sa_flags = SA_SIGINFO | SA_NODEFER};
	const unsigned char insn = 0xcc;
	int ret;

	self = c;
	if (sigaction(SIGTRAP, &act, NULL) < 0)
		return -errno;
	ret = patch(cost_site_getppid_patch, &insn, 1);
	return ret ? ret : patch(cost_site_stat_patch, &insn, 1);
}

/* ---- the slot ---- */

static void state_set(struct cost_slot *s, uint32_t state)
{
	__atomic_store_n(&s->state, state, __ATOMIC_RELEASE);
}

/* Spins, then wakes the other side, which may sleep on what it was before,
 * and sleeps. Whether the state is `want`. */
static bool state_wait(struct cost_slot *s, uint32_t want)
{
	struct timespec limit = {.tv_nsec = SLEEP_MS * 1000000L};
	uint32_t is = 0;

	for (int i = 0; i < SPINS; i++) {
		is = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);
		if (is == want)
			return true;
		__builtin_ia32_pause();
	}
	syscall(SYS_futex, &s->state, FUTEX_WAKE, 1, NULL, NULL, 0);
	syscall(SYS_futex, &s->state, FUTEX_WAIT, is, &limit, NULL, 0);
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == want;
}

static int64_t gate_slot(long nr, const uint64_t *args)
{
	struct cost_slot *s = self->slot;
	int64_t result;

	s->nr = nr;
	if (nr == SYS_newfstatat)
		memcpy(s->path, (const char *)(uintptr_t)args[1],
		       COST_PATH_SIZE);
	state_set(s, ASKED);
	while (!state_wait(s, ANSWERED))
		;
	result = s->result;
	if (nr == SYS_newfstatat && result == 0)
		memcpy((void *)(uintptr_t)args[2], &s->st, sizeof(s->st));
	state_set(s, IDLE);
	return result;
}

static int jump_slot(struct cost_cell *c)
{
	self = c;
	/* Two that spin on one processor wait for its clock each time. */
	cost_pin_nth(0);
	return jump_to(gate_slot);
}

static int slot_make(struct cost_cell *c)
{
	c->slot = mmap(NULL, sizeof(*c->slot), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return c->slot == MAP_FAILED ? -errno : 0;
}

static void slot_answer(struct cost_cell *c)
{
	struct cost_slot *s = c->slot;
	char path[COST_PATH_SIZE];

	s->result = 1;
	if (s->nr == SYS_newfstatat) {
		memcpy(path, s->path, sizeof(path));
		s->result =
			strncmp(path, cost_path, sizeof(path)) ? -ENOENT : 0;
		memcpy(&s->st, &c->st, sizeof(c->st));
	}
	state_set(s, ANSWERED);
}

static int slot_serve(struct cost_cell *c, pid_t guest, int *status)
{
	cost_pin_nth(1);
	for (;;) {
		if (state_wait(c->slot, ASKED)) {
			slot_answer(c);
			continue;
		}
		if (waitpid(guest, status, WNOHANG) == guest)
			return 0;
	}
}

const struct cost_mech cost_int3 = {
	.name = "int3",
	.what = "the site is a breakpoint, answered by a SIGTRAP handler",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_LIFE,
	.many = true,
	.intercept = int3,
};

const struct cost_mech cost_jump = {
	.name = "jump",
	.what = "the site jumps to a thunk, answered in the guest",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_LIFE,
	.many = true,
	.intercept = jump,
};

const struct cost_mech cost_jump_slot = {
	.name = "jump-slot",
	.what = "the thunk asks another process through shared memory",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_LIFE,
	.start = slot_make,
	.intercept = jump_slot,
	.answer = slot_serve,
};
