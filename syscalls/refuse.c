/*
 * refuse.c - calls that are answered with an errno and nothing else, each
 * with a record (law 4): rows of class refuse, numbers without a row, and
 * entry by another ABI (law 5). Also what reached the listener although its
 * row is native or traced: a filter that is not ours came before (laws 2, 3).
 */
#include <linux/audit.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "../sentry/sentry.h"
#include "decode.h"
#include "dispatch.h"
#include "handlers.h"

int64_t refuse_call(struct call *c, int err, const char *rule, const char *hint)
{
	call_deny(c, rule, hint);
	return dispatch_finish(c, -err);
}

int64_t refuse_row(struct call *c)
{
	bool bare_only = c->s->bare && c->row->jailed != SYS_REFUSE;
	int err = c->row->refusal ? c->row->refusal : ENOSYS;

	decode_args(c);
	/* The C library tries it for every thread, and has another way. */
	c->ev.probe = c->nr == SYS_clone3;
	return refuse_call(c, err, bare_only ? "bare mode" : "not supported",
			   bare_only ? "a machine with user namespaces "
				       "(see cloche doctor)"
				     : NULL);
}

/* "syscall_500": the number is part of the name, so that the lines at the end
 * of a run tell them apart. */
static int64_t refuse_number(struct call *c, const char *prefix, unsigned nr,
			     const char *rule)
{
	enum { NAME_SIZE = 32 };
	char *name = call_alloc(c, NAME_SIZE);

	if (name)
		snprintf(name, NAME_SIZE, "%s_%u", prefix, nr);
	c->row = NULL; /* whose row it is does not matter: not our ABI */
	c->ev.call = name;
	return refuse_call(c, ENOSYS, rule, NULL);
}

int64_t refuse_unknown(struct call *c)
{
	return refuse_number(c, "syscall", (unsigned)c->nr, "unknown call");
}

int64_t refuse_arch(struct call *c)
{
	unsigned nr = (unsigned)c->nr;

	if (c->arch == AUDIT_ARCH_X86_64)
		return refuse_number(c, "x32", nr & 0x3fffffff, "x32 entry");
	return refuse_number(c, "i386", nr, "32-bit entry");
}

/* Class trace: only the tracer may carry these out. */
int64_t h_execve(struct call *c)
{
	call_deny(c, "exec only by the tracer", NULL);
	return -ENOSYS;
}

int64_t h_execveat(struct call *c)
{
	return h_execve(c);
}
