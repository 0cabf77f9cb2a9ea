/*
 * misc.c - clone and seccomp with flags that no rule allows; bounds.
 *
 * All are decided by registers alone and run natively otherwise.
 */
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "../sentry/memfiles.h"
#include "help.h"

#define AIO_EVENTS_MAX 8192
#define AIO_KERNEL_MAX 0x800000 /* fs/aio.c: 256 MiB of io_event */

#define CLONE_NAMESPACES                                               \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

int64_t h_clone(struct call *c)
{
	int err = c->args[0] & CLONE_NAMESPACES ? EPERM : EINVAL;

	return help_refuse_args(c, err, "clone flags");
}

/* A listener of the guest's own would see calls before the sentry does. */
int64_t h_seccomp(struct call *c)
{
	if (arg_int(c, 0) == SECCOMP_SET_MODE_FILTER)
		return help_refuse_args(c, EINVAL, "seccomp flags");
	return -EINVAL;
}

/* fs.aio-max-nr (65536) is shared with all programs of the host: a sandbox has
 * an eighth. LIMIT: what io_destroy gives back counts until exec or exit. */
int64_t h_io_setup(struct call *c)
{
	uint64_t nr = (uint32_t)c->args[0], sum = nr;

	uint64_t ctx;

	/* the kernel's order: what it would not look at costs nothing here */
	if (call_read(c, c->args[1], &ctx, sizeof(ctx)))
		return -EFAULT;
	if (ctx || !nr || (uint32_t)nr * 2 > AIO_KERNEL_MAX)
		return -EINVAL;
	list_for_each (p, &c->s->tgroups)
		sum += list_entry(p, struct tgroup, list)->aio_events;
	if (sum > AIO_EVENTS_MAX)
		return help_refuse_args(c, EAGAIN, "asynchronous requests");
	c->task->tg->aio_events += nr;
	return CALL_CONTINUE;
}

/* Nothing is decided but where to look for memory from now on. */
int64_t h_memfd_create(struct call *c)
{
	memfiles_expect(c->s, (unsigned)c->args[1]);
	return CALL_CONTINUE;
}

/* Only a register decides; the next exec asks the kernel what came of it. */
int64_t h_personality(struct call *c)
{
	if ((uint32_t)c->args[0] != 0xffffffff)
		c->task->tg->persona_set = true;
	return CALL_CONTINUE;
}
