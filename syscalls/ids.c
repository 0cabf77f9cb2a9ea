/*
 * ids.c - user and group ids as the guest sees them.
 *
 * The kernel's ids of a guest never change: it holds one unprivileged id
 * whatever it sees (law 9). What setuid and its kin do is done to the
 * sentry's struct taskcred, by the rules of Linux kernel/sys.c and
 * security/commoncap.c, with the virtual capabilities.
 */
#include <linux/capability.h>
#include <linux/securebits.h>

#include "help.h"

#define ID_KEEP ((uint32_t)-1)
#define FS_CAPS                                                             \
	(1ull << CAP_CHOWN | 1ull << CAP_MKNOD | 1ull << CAP_DAC_OVERRIDE | \
	 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_FOWNER |                 \
	 1ull << CAP_FSETID | 1ull << CAP_LINUX_IMMUTABLE |                 \
	 1ull << CAP_MAC_OVERRIDE)
#define GROUPS_SET_MAX 65536 /* NGROUPS_MAX of the kernel */

/* Real, effective, saved: the three that the checks compare with. */
struct idset {
	uint32_t r, e, s;
};

static struct idset uids(const struct taskcred *k)
{
	return (struct idset){k->ruid, k->euid, k->suid};
}

static struct idset gids(const struct taskcred *k)
{
	return (struct idset){k->rgid, k->egid, k->sgid};
}

static bool any_of(const struct idset *set, uint32_t id)
{
	return id == set->r || id == set->e || id == set->s;
}

static bool has_root(const struct idset *set)
{
	return any_of(set, 0);
}

/* security/commoncap.c cap_emulate_setxuid */
static void caps_fix(struct taskcred *k, const struct idset *old)
{
	struct idset now = uids(k);

	if (k->securebits & issecure_mask(SECURE_NO_SETUID_FIXUP))
		return;
	if (has_root(old) && !has_root(&now)) {
		if (!(k->securebits & issecure_mask(SECURE_KEEP_CAPS)))
			k->cap_permitted = k->cap_effective = 0;
		k->cap_ambient = 0;
	}
	if (old->e == 0 && now.e != 0)
		k->cap_effective = 0;
	if (old->e != 0 && now.e == 0)
		k->cap_effective = k->cap_permitted;
}

static int64_t uids_set(struct call *c, const struct idset *to)
{
	struct taskcred *k = task_cred_own(c->task);
	struct idset old = uids(k);

	k->ruid = to->r;
	k->euid = to->e;
	k->suid = to->s;
	k->fsuid = to->e;
	caps_fix(k, &old);
	return 0;
}

static int64_t gids_set(struct call *c, const struct idset *to)
{
	struct taskcred *k = task_cred_own(c->task);

	k->rgid = to->r;
	k->egid = to->e;
	k->sgid = to->s;
	k->fsgid = to->e;
	return 0;
}

/* setuid(2), setgid(2): all three with the capability, else the effective */
static int plan_set(struct idset *to, uint32_t id, bool cap)
{
	if (id == ID_KEEP)
		return -EINVAL;
	if (cap)
		*to = (struct idset){id, id, id};
	else if (id == to->r || id == to->s)
		to->e = id;
	else
		return -EPERM;
	return 0;
}

static int plan_setre(struct idset *to, uint32_t r, uint32_t e, bool cap)
{
	const struct idset old = *to;

	if (r != ID_KEEP) {
		if (!cap && r != old.r && r != old.e)
			return -EPERM;
		to->r = r;
	}
	if (e != ID_KEEP) {
		if (!cap && !any_of(&old, e))
			return -EPERM;
		to->e = e;
	}
	if (r != ID_KEEP || (e != ID_KEEP && e != old.r))
		to->s = to->e;
	return 0;
}

static int plan_setres(struct idset *to, const uint32_t id[3], bool cap)
{
	const struct idset old = *to;

	for (int i = 0; i < 3; i++)
		if (!cap && id[i] != ID_KEEP && !any_of(&old, id[i]))
			return -EPERM;
	to->r = id[0] == ID_KEEP ? old.r : id[0];
	to->e = id[1] == ID_KEEP ? old.e : id[1];
	to->s = id[2] == ID_KEEP ? old.s : id[2];
	return 0;
}

int64_t h_setuid(struct call *c)
{
	struct idset to = uids(c->task->cred);
	int err = plan_set(&to, (uint32_t)c->args[0],
			   help_capable(c, CAP_SETUID));

	return err ? err : uids_set(c, &to);
}

int64_t h_setgid(struct call *c)
{
	struct idset to = gids(c->task->cred);
	int err = plan_set(&to, (uint32_t)c->args[0],
			   help_capable(c, CAP_SETGID));

	return err ? err : gids_set(c, &to);
}

int64_t h_setreuid(struct call *c)
{
	struct idset to = uids(c->task->cred);
	int err = plan_setre(&to, (uint32_t)c->args[0], (uint32_t)c->args[1],
			     help_capable(c, CAP_SETUID));

	return err ? err : uids_set(c, &to);
}

int64_t h_setregid(struct call *c)
{
	struct idset to = gids(c->task->cred);
	int err = plan_setre(&to, (uint32_t)c->args[0], (uint32_t)c->args[1],
			     help_capable(c, CAP_SETGID));

	return err ? err : gids_set(c, &to);
}

int64_t h_setresuid(struct call *c)
{
	const uint32_t id[3] = {(uint32_t)c->args[0], (uint32_t)c->args[1],
				(uint32_t)c->args[2]};
	struct idset to = uids(c->task->cred);
	int err = plan_setres(&to, id, help_capable(c, CAP_SETUID));

	return err ? err : uids_set(c, &to);
}

int64_t h_setresgid(struct call *c)
{
	const uint32_t id[3] = {(uint32_t)c->args[0], (uint32_t)c->args[1],
				(uint32_t)c->args[2]};
	struct idset to = gids(c->task->cred);
	int err = plan_setres(&to, id, help_capable(c, CAP_SETGID));

	return err ? err : gids_set(c, &to);
}

int64_t h_setfsuid(struct call *c)
{
	uint32_t id = (uint32_t)c->args[0], old = c->task->cred->fsuid;
	struct idset set = uids(c->task->cred);
	struct taskcred *k;

	if (id == ID_KEEP ||
	    (!any_of(&set, id) && id != old && !help_capable(c, CAP_SETUID)))
		return old;
	k = task_cred_own(c->task);
	k->fsuid = id;
	if (k->securebits & issecure_mask(SECURE_NO_SETUID_FIXUP))
		return old;
	if (old == 0 && id != 0)
		k->cap_effective &= ~FS_CAPS;
	if (old != 0 && id == 0)
		k->cap_effective |= FS_CAPS & k->cap_permitted;
	return old;
}

int64_t h_setfsgid(struct call *c)
{
	uint32_t id = (uint32_t)c->args[0], old = c->task->cred->fsgid;
	struct idset set = gids(c->task->cred);

	if (id != ID_KEEP &&
	    (any_of(&set, id) || id == old || help_capable(c, CAP_SETGID)))
		task_cred_own(c->task)->fsgid = id;
	return old;
}

int64_t h_getuid(struct call *c)
{
	return c->task->cred->ruid;
}

int64_t h_geteuid(struct call *c)
{
	return c->task->cred->euid;
}

int64_t h_getgid(struct call *c)
{
	return c->task->cred->rgid;
}

int64_t h_getegid(struct call *c)
{
	return c->task->cred->egid;
}

static int64_t ids_out(struct call *c, const struct idset *set)
{
	const uint32_t id[3] = {set->r, set->e, set->s};
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		err = help_out(c, c->args[i], &id[i], sizeof(id[i]));
	return err;
}

int64_t h_getresuid(struct call *c)
{
	struct idset set = uids(c->task->cred);

	return ids_out(c, &set);
}

int64_t h_getresgid(struct call *c)
{
	struct idset set = gids(c->task->cred);

	return ids_out(c, &set);
}

int64_t h_getgroups(struct call *c)
{
	const struct taskcred *k = c->task->cred;
	int size = arg_int(c, 0);
	int err;

	if (size < 0)
		return -EINVAL;
	if (size == 0 || k->ngroups == 0)
		return (int64_t)k->ngroups;
	if ((size_t)size < k->ngroups)
		return -EINVAL;
	err = help_out(c, c->args[1], k->groups,
		       k->ngroups * sizeof(k->groups[0]));
	return err ? err : (int64_t)k->ngroups;
}

/* LIMIT: no more groups than struct taskcred holds (64). */
static int by_number(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return (x > y) - (x < y);
}

/* LIMIT: EINVAL above 64 groups. */
int64_t h_setgroups(struct call *c)
{
	unsigned n = (unsigned)c->args[0];
	gid_t list[ARRAY_SIZE(((struct taskcred *)0)->groups)];
	struct taskcred *k;
	int err;

	if (!help_capable(c, CAP_SETGID))
		return -EPERM;
	if (n > GROUPS_SET_MAX || n > ARRAY_SIZE(list))
		return -EINVAL;
	err = n ? call_read(c, c->args[1], list, n * sizeof(list[0])) : 0;
	if (err)
		return err;
	for (unsigned i = 0; i < n; i++)
		if (list[i] == ID_KEEP)
			return -EINVAL;
	k = task_cred_own(c->task);
	/* As the kernel keeps and shows them. */
	qsort(list, n, sizeof(list[0]), by_number);
	memcpy(k->groups, list, n * sizeof(list[0]));
	k->ngroups = n;
	return 0;
}
