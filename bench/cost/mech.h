/*
 * mech.h - one way to intercept a call, behind one interface.
 *
 * A cell is one measurement: a mechanism, an operation, so many threads or
 * processes. It is run in a process of its own (cell.c): `start` prepares what
 * both sides share, the guest is forked and calls `intercept`, then loads
 * itself; the supervisor `answer`s until the guest has ended. A mechanism may
 * leave out what it does not need.
 *
 * The answer is always made up beforehand: what is measured is interception
 * and the copying of arguments, not a file system. Only `native` and `cloche`
 * do what the call asks for.
 *
 * Nothing here is trusted with anything: these are minimal forms of each
 * mechanism, without the checks that a sandbox needs, hence lower bounds.
 */
#ifndef CLOCHE_BENCH_MECH_H
#define CLOCHE_BENCH_MECH_H

#include <sys/stat.h>

#include "../../sentry/base/base.h"

enum cost_op {
	COST_CALL,   /* getppid: registers only */
	COST_STAT,   /* newfstatat: a path is read, a struct written */
	COST_OPEN,   /* openat and close: a descriptor is given */
	COST_SIGNAL, /* a handled signal: not intercepted, but made dearer */
	COST_FORK,   /* fork, exit, wait */
	COST_THREAD, /* create and join */
	COST_OPS
};

#define COST_BIT(op) (1u << (op))
/* What every mechanism can bear, intercepted or not. */
#define COST_LIFE \
	(COST_BIT(COST_SIGNAL) | COST_BIT(COST_FORK) | COST_BIT(COST_THREAD))

enum { COST_WORKERS_MAX = 256, COST_PATH_SIZE = 64 };

extern const char *const cost_op_names[COST_OPS];

/* What a guest found. Times are ns for one operation. */
struct cost_result {
	double min, median, p99;
	double per_second; /* operations, of all workers together */
	double guest_cpu, sentry_cpu;
	uint64_t count;
};

struct cost_slot; /* shared memory of mech_patch.c */

struct cost_cell {
	const struct cost_mech *mech;
	enum cost_op op;
	unsigned threads, procs; /* workers: one of the two is 1 */
	unsigned ms;
	bool by_libc; /* the guest calls libc's functions, not the sites */

	/* the mechanism's own */
	int listener;	/* notify: in the supervisor */
	int channel[2]; /* a socket pair: [0] guest, [1] supervisor */
	struct cost_slot *slot;

	/* the answers, made before the fork */
	struct stat st;
	int file; /* what COST_OPEN gives */
};

struct cost_mech {
	const char *name;
	const char *what; /* a line for the table's foot */
	unsigned ops;	  /* COST_BITs */
	bool many;	  /* more than one worker at a time */
	/* All return 0 or -errno; -EOPNOTSUPP: not on this machine. */
	int (*start)(struct cost_cell *c);
	int (*intercept)(struct cost_cell *c);
	/* Until the guest has ended; its wait status. NULL: just waits. */
	int (*answer)(struct cost_cell *c, pid_t guest, int *status);
	/* NULL: the guest is a fork. Else argv of a program that loads itself
	 * and prints its result: cost_guest_argv makes its tail. */
	int (*spawn)(struct cost_cell *c, int out, pid_t *pid);
};

extern const struct cost_mech cost_native, cost_filter_allow, cost_filter_errno,
	cost_notify, cost_notify_sync, cost_notify_pinned, cost_notify_spin,
	cost_ptrace_syscall, cost_ptrace_sysemu, cost_ptrace_seccomp, cost_trap,
	cost_dispatch, cost_int3, cost_jump, cost_jump_slot, cost_preload,
	cost_cloche;

/* In the order of the table; NULL ends it. */
extern const struct cost_mech *const cost_mechs[];

/* The path that COST_STAT and COST_OPEN name. */
extern const char cost_path[COST_PATH_SIZE];

/* ---- the guest: guest.c ---- */

/* Loads itself as the cell says. 0 or -errno. */
int MUST_CHECK cost_guest(const struct cost_cell *c, struct cost_result *r);
/* "cloche bench --guest SPEC": reads SPEC, loads itself, prints the result. */
int cost_guest_main(const char *spec);
/* SPEC for a cell; the result as it is printed. */
void cost_guest_spec(const struct cost_cell *c, char *buf, size_t size);
int MUST_CHECK cost_result_write(int fd, const struct cost_result *r);
int MUST_CHECK cost_result_read(int fd, struct cost_result *r);

/*
 * The guest's call sites, in sites.S: `mov $nr,%eax` (5 bytes, which the
 * patching mechanisms replace), `syscall`, `ret`.
 */
int64_t cost_site_getppid(void);
int64_t cost_site_stat(int dir, const char *path, struct stat *st, int flags);
int64_t cost_site_open(int dir, const char *path, int flags, int mode);
extern char cost_site_getppid_patch[], cost_site_stat_patch[];
enum { COST_SITE_LEN = 7, COST_PATCH_LEN = 5 }; /* from _patch on */
/* Where a patched site goes: saves what a call must keep, calls cost_gate. */
void cost_thunk_getppid(void);
void cost_thunk_stat(void);
extern int64_t (*cost_gate)(long nr, const uint64_t *args);

/* ---- shared by mechanisms: cell.c ---- */

/* The numbers that a mechanism intercepts, as a filter's instructions. */
struct sock_filter;
unsigned cost_filter(struct sock_filter *insns, uint32_t action);
/* Loads such a filter; the listener, 0, or -errno. */
int MUST_CHECK cost_filter_load(uint32_t action, unsigned flags);
int MUST_CHECK cost_pin(void); /* this process to the processor it is on */
/* This thread to the nth processor that it may use, from 0, round again. */
void cost_pin_nth(unsigned n);
int cost_wait(pid_t guest); /* its wait status */
/* An answer made inside the guest's own process. */
int64_t cost_answer_inside(const struct cost_cell *c, long nr,
			   const uint64_t *args);
/* Runs one cell in processes of its own. 0, -EOPNOTSUPP, or -errno. */
int MUST_CHECK cost_cell_run(struct cost_cell *c, struct cost_result *r);

#endif
