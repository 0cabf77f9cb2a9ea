/*
 * caps.c - capget(2) and capset(2) on the virtual capabilities.
 *
 * Guests hold no real capability (law 9); these sets are what the sentry
 * believes in when it checks. Rules: security/commoncap.c cap_capset.
 */
#include <linux/capability.h>

#include "help.h"

#define CAP_WORDS_MAX _LINUX_CAPABILITY_U32S_3
#define CAP_ALL	      ((1ull << (CAP_LAST_CAP + 1)) - 1)

/* Reads the header; *words is the number of data structures. A version that
 * is not known is answered with the one we like, and -EINVAL. */
static int header_read(struct call *c, struct __user_cap_header_struct *h,
		       unsigned *words)
{
	int err = call_read(c, c->args[0], h, sizeof(*h));
	uint32_t ours = _LINUX_CAPABILITY_VERSION_3;

	if (err)
		return err;
	switch (h->version) {
	case _LINUX_CAPABILITY_VERSION_1:
		*words = _LINUX_CAPABILITY_U32S_1;
		return 0;
	case _LINUX_CAPABILITY_VERSION_2:
	case _LINUX_CAPABILITY_VERSION_3:
		*words = _LINUX_CAPABILITY_U32S_3;
		return 0;
	}
	/* written although the call fails: no queued write would be done */
	err = call_write(c, c->args[0], &ours, sizeof(ours));
	return err ? err : -EINVAL;
}

static const struct taskcred *cred_of(struct call *c, int vpid)
{
	struct tgroup *tg;

	if (vpid == 0 || vpid == task_vtid(c->task))
		return c->task->cred;
	tg = tgroup_find_virtual(c->s, vpid);
	if (!tg || list_empty(&tg->tasks))
		return NULL;
	return list_entry(tg->tasks.next, struct task, list)->cred;
}

int64_t h_capget(struct call *c)
{
	struct __user_cap_data_struct data[CAP_WORDS_MAX];
	struct __user_cap_header_struct h;
	const struct taskcred *k;
	unsigned words = 0;
	int err = header_read(c, &h, &words);

	if (err)
		return err == -EINVAL && !c->args[1] ? 0 : err;
	if (h.pid < 0)
		return -EINVAL;
	k = cred_of(c, h.pid);
	if (!k)
		return -ESRCH;
	if (!c->args[1])
		return 0;
	for (unsigned i = 0; i < words; i++) {
		data[i].effective = (uint32_t)(k->cap_effective >> 32 * i);
		data[i].permitted = (uint32_t)(k->cap_permitted >> 32 * i);
		data[i].inheritable = (uint32_t)(k->cap_inheritable >> 32 * i);
	}
	return help_out(c, c->args[1], data, words * sizeof(data[0]));
}

int64_t h_capset(struct call *c)
{
	struct __user_cap_data_struct data[CAP_WORDS_MAX] = {0};
	struct __user_cap_header_struct h;
	uint64_t eff = 0, perm = 0, inh = 0;
	struct taskcred *k = c->task->cred;
	unsigned words = 0;
	int err = header_read(c, &h, &words);

	if (err)
		return err;
	if (h.pid != 0 && h.pid != task_vtid(c->task))
		return -EPERM;
	err = call_read(c, c->args[1], data, words * sizeof(data[0]));
	if (err)
		return err;
	for (unsigned i = 0; i < words; i++) {
		eff |= (uint64_t)data[i].effective << 32 * i;
		perm |= (uint64_t)data[i].permitted << 32 * i;
		inh |= (uint64_t)data[i].inheritable << 32 * i;
	}
	eff &= CAP_ALL;
	perm &= CAP_ALL;
	inh &= CAP_ALL;
	if (!help_capable(c, CAP_SETPCAP) &&
	    (inh & ~(k->cap_inheritable | k->cap_permitted)))
		return -EPERM;
	if ((inh & ~(k->cap_inheritable | k->cap_bounding)) ||
	    (perm & ~k->cap_permitted) || (eff & ~perm))
		return -EPERM;
	k = task_cred_own(c->task);
	k->cap_effective = eff;
	k->cap_permitted = perm;
	k->cap_inheritable = inh;
	k->cap_ambient &= perm & inh;
	return 0;
}
