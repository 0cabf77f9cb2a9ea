/*
 * table.h - the one table of system calls: what each row of table.def means.
 *
 * table.def holds one ROW per x86-64 system call:
 *
 *   ROW(nr, name, spec, jailed, bare, flags, intr, support, handler, note)
 *
 * spec     arguments, space-separated "type:name" (see enum argtype):
 *          d dirfd, f descriptor, p path (read from guest), s string,
 *          i int, u unsigned/size, x flags shown in hex (w: flags by a
 *          decoder named after the argument), o octal mode, P raw pointer
 *          (out or handler-read), S sockaddr (length in the next argument),
 *          T struct timespec[2] or NULL, m:NAME=SIZE fixed structure of SIZE
 *          bytes read in (NULL allowed), a address.
 * jailed, bare   class in each column (enum sysclass)
 * flags    ROW_READS_FD, ROW_NAMES (a decision about a name: audited),
 *          ROW_BLOCKS, ROW_MUTATES
 * intr     interruption class (law 7): NEVER RESTART ALWAYS BLOCKING
 * support  FULL PART EMUL REFUSED NATIVE NONE, for the docs
 * handler  function in syscalls/, declared by handlers.h; none for the kinds
 *          of row that need none (NATIVE, JAILED, REFUSE: see table.def)
 * note     for native rows: why native is safe; for others: what is missing
 *
 * From it come the dispatch array, both seccomp filters, audit decoding,
 * docs/syscalls.md and the list of missing tests.
 */
#ifndef CLOCHE_TABLE_H
#define CLOCHE_TABLE_H

#include "../sentry/call.h"
#include "../sentry/dispatch.h"

enum sysclass {
	SYS_NATIVE, /* filter ALLOW, no conditions */
	SYS_ARGS,   /* ALLOW if the argument rules in filter_args.c say so,
		     * NOTIFY otherwise */
	SYS_NOTIFY, /* answered by the handler */
	SYS_PASS,   /* notified; the handler may return CALL_CONTINUE */
	SYS_TRACE,  /* RET_TRACE: execve, execveat */
	SYS_REFUSE, /* notified; refused with the errno in `refusal` */
};

enum sysintr { INTR_NEVER, INTR_RESTART, INTR_ALWAYS, INTR_BLOCKING };
enum syssupport { SUP_FULL, SUP_PART, SUP_EMUL, SUP_REFUSED, SUP_NATIVE };

#define ROW_READS_FD 1u
#define ROW_NAMES    2u
#define ROW_BLOCKS   4u
#define ROW_MUTATES  8u

#define SYSNR_MAX 480 /* table size; higher numbers are unknown: ENOSYS */

struct sysrow {
	const char *name; /* NULL: no such call */
	const char *spec;
	enum sysclass jailed, bare;
	unsigned flags;
	enum sysintr intr;
	enum syssupport support;
	int64_t (*handler)(struct call *c);
	int refusal; /* errno of SYS_REFUSE rows (positive) */
	const char *note;
};

extern const struct sysrow systable[SYSNR_MAX];

/* Row of a number, or NULL. */
const struct sysrow *sysrow_find(int nr);

/* Argument rules of SYS_ARGS rows: adds the ALLOW rules of row nr to a
 * libseccomp filter (void * is scmp_filter_ctx). 0 or -errno. */
int filter_add_args(void *scmp, int nr, bool bare);
/* The same decision in plain C: filter_args_allow in sentry/dispatch.h. */

#endif
