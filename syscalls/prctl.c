/*
 * prctl.c - the options of prctl(2) that are virtual or refused.
 *
 * What concerns only the caller's own attributes runs natively
 * (filter_args.c). DUMPABLE must not become real: it would take the guest's
 * memory and descriptors out of the sentry's reach. Capability options work
 * on the virtual sets, by the rules of security/commoncap.c.
 */
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>

#include "help.h"

#define SECUREBITS_ALL (SECURE_ALL_BITS | SECURE_ALL_LOCKS)

static int64_t pr_get_dumpable(struct call *c)
{
	return c->task->tg->dumpable;
}

static int64_t pr_set_dumpable(struct call *c)
{
	if (c->args[1] > 1)
		return -EINVAL;
	c->task->tg->dumpable = c->args[1];
	return 0;
}

static int64_t pr_get_keepcaps(struct call *c)
{
	return !!(c->task->cred->securebits & issecure_mask(SECURE_KEEP_CAPS));
}

static int64_t pr_set_keepcaps(struct call *c)
{
	unsigned bits = c->task->cred->securebits;

	if (c->args[1] > 1)
		return -EINVAL;
	if (bits & issecure_mask(SECURE_KEEP_CAPS_LOCKED))
		return -EPERM;
	bits &= ~(unsigned)issecure_mask(SECURE_KEEP_CAPS);
	if (c->args[1])
		bits |= issecure_mask(SECURE_KEEP_CAPS);
	task_cred_own(c->task)->securebits = bits;
	return 0;
}

static int64_t pr_capbset_read(struct call *c)
{
	if (c->args[1] > CAP_LAST_CAP)
		return -EINVAL;
	return c->task->cred->cap_bounding >> c->args[1] & 1;
}

static int64_t pr_capbset_drop(struct call *c)
{
	if (!help_capable(c, CAP_SETPCAP))
		return -EPERM;
	if (c->args[1] > CAP_LAST_CAP)
		return -EINVAL;
	task_cred_own(c->task)->cap_bounding &= ~(1ull << c->args[1]);
	return 0;
}

static int64_t pr_get_securebits(struct call *c)
{
	return c->task->cred->securebits;
}

static int64_t pr_set_securebits(struct call *c)
{
	unsigned old = c->task->cred->securebits;
	unsigned locked = (old & SECURE_ALL_LOCKS) >> 1;

	if (((old & SECURE_ALL_LOCKS) & ~c->args[1]) ||
	    (locked & (old ^ (unsigned)c->args[1])) ||
	    (c->args[1] & ~(uint64_t)SECUREBITS_ALL) ||
	    !help_capable(c, CAP_SETPCAP))
		return -EPERM;
	task_cred_own(c->task)->securebits = (unsigned)c->args[1];
	return 0;
}

static int64_t pr_cap_ambient(struct call *c)
{
	const struct taskcred *k = c->task->cred;
	uint64_t bit;

	if (c->args[1] == PR_CAP_AMBIENT_CLEAR_ALL) {
		if (c->args[2] | c->args[3] | c->args[4])
			return -EINVAL;
		task_cred_own(c->task)->cap_ambient = 0;
		return 0;
	}
	if ((c->args[3] | c->args[4]) || c->args[2] > CAP_LAST_CAP)
		return -EINVAL;
	bit = 1ull << c->args[2];
	switch (c->args[1]) {
	case PR_CAP_AMBIENT_IS_SET:
		return !!(k->cap_ambient & bit);
	case PR_CAP_AMBIENT_LOWER:
		task_cred_own(c->task)->cap_ambient &= ~bit;
		return 0;
	case PR_CAP_AMBIENT_RAISE:
		if (!(k->cap_permitted & k->cap_inheritable & bit) ||
		    (k->securebits &
		     issecure_mask(SECURE_NO_CAP_AMBIENT_RAISE)))
			return -EPERM;
		task_cred_own(c->task)->cap_ambient |= bit;
		return 0;
	}
	return -EINVAL;
}

/* Really it is set from the start. Where set-id programs have their virtual
 * effect (exec_ids), the guest sees and sets its own. */
static int64_t pr_set_no_new_privs(struct call *c)
{
	if (c->args[1] != 1 || (c->args[2] | c->args[3] | c->args[4]))
		return -EINVAL;
	task_cred_own(c->task)->no_new_privs = true;
	return 0;
}

static int64_t pr_get_no_new_privs(struct call *c)
{
	if (c->args[1] | c->args[2] | c->args[3] | c->args[4])
		return -EINVAL;
	return c->task->cred->no_new_privs;
}

/* A kernel without Yama. */
static int64_t pr_invalid(struct call *c UNUSED)
{
	return -EINVAL;
}

/* Natively needs a capability that a program rarely has. */
static int64_t pr_denied(struct call *c)
{
	return help_refuse_args(c, EPERM, "prctl option");
}

static const struct {
	int option;
	int64_t (*fn)(struct call *c);
} options[] = {
	{PR_GET_DUMPABLE, pr_get_dumpable},
	{PR_SET_DUMPABLE, pr_set_dumpable},
	{PR_GET_KEEPCAPS, pr_get_keepcaps},
	{PR_SET_KEEPCAPS, pr_set_keepcaps},
	{PR_CAPBSET_READ, pr_capbset_read},
	{PR_CAPBSET_DROP, pr_capbset_drop},
	{PR_GET_SECUREBITS, pr_get_securebits},
	{PR_SET_SECUREBITS, pr_set_securebits},
	{PR_CAP_AMBIENT, pr_cap_ambient},
	{PR_SET_NO_NEW_PRIVS, pr_set_no_new_privs},
	{PR_GET_NO_NEW_PRIVS, pr_get_no_new_privs},
	{PR_SET_PTRACER, pr_invalid},
	{PR_SET_MM, pr_denied},
	{57 /* PR_SET_IO_FLUSHER */, pr_denied},
	{58 /* PR_GET_IO_FLUSHER */, pr_denied},
	{62 /* PR_SCHED_CORE */, pr_invalid},
};

int64_t h_prctl(struct call *c)
{
	int option = arg_int(c, 0);

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].option == option)
			return options[i].fn(c);
	/* as by a kernel that does not know the option */
	return -EINVAL;
}
