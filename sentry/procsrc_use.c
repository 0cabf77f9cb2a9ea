/*
 * procsrc_use.c - what the sandbox uses, for its cgroup's files.
 *
 * Resident pages that processes share are counted once each: more than a real
 * cgroup would charge.
 */
#include "procsrc.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "../fs/cgroupfs.h"
#include "../fs/proctext.h"
#include "../fs/pseudo.h"
#include "../fs/store.h"
#include "procsrc_priv.h"

enum { STAT_UTIME = 14, STAT_STIME, STAT_CUTIME, STAT_CSTIME };

static uint64_t ticks_us(const struct strbuf *stat, unsigned a, unsigned b)
{
	long t = proctext_stat_field(stat->data, stat->len, a) +
		 proctext_stat_field(stat->data, stat->len, b);

	return t > 0 ? (uint64_t)t * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK)
		     : 0;
}

static void use_of(struct procsrc *ps, struct tgroup *tg, struct strbuf *b,
		   struct cgroupfs_use *u)
{
	const struct proctarget t = {tg, NULL, tg->pid, 0, 0, 0};
	unsigned long long total, pages = 0, shared = 0;

	u->tasks += tg->ntasks;
	strbuf_reset(b);
	if (!procsrc_read(ps, &t, "statm", b) &&
	    sscanf(b->data, "%llu %llu %llu", &total, &pages, &shared) == 3 &&
	    pages > shared)
		u->anon += (pages - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
	strbuf_reset(b);
	if (procsrc_read(ps, &t, "stat", b))
		return;
	u->user_us += ticks_us(b, STAT_UTIME, STAT_CUTIME);
	u->system_us += ticks_us(b, STAT_STIME, STAT_CSTIME);
}

void procsrc_use(void *arg, struct cgroupfs_use *out)
{
	struct procsrc *ps = procsrc_of(arg);
	struct strbuf b;
	struct statfs sf;

	strbuf_init(&b, 4096);
	list_for_each (p, &ps->s->tgroups)
		use_of(ps, list_entry(p, struct tgroup, list), &b, out);
	strbuf_fini(&b);
	if (!ps->s->bare && !fstatfs(store_root_fd(vfs_store(ps->s->vfs)), &sf))
		out->shmem = (uint64_t)(sf.f_blocks - sf.f_bfree) *
			     (uint64_t)sf.f_bsize;
}

void procsrc_list(void *arg, bool threads, struct strbuf *out)
{
	struct procsrc *ps = procsrc_of(arg);

	list_for_each (p, &ps->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (!threads) {
			strbuf_printf(out, "%d\n", tgroup_vpid(tg));
			continue;
		}
		list_for_each (q, &tg->tasks)
			strbuf_printf(
				out, "%d\n",
				task_vtid(list_entry(q, struct task, list)));
	}
}
