/*
 * cgroupfs.c - see cgroupfs.h. The files are those of a cgroup that is the
 * root of its cgroup namespace, as far as runtimes, monitors and shells read
 * them (Linux Documentation/admin-guide/cgroup-v2.rst).
 *
 * LIMIT: nothing can be written and no child be made; peaks are what is used
 * now; I/O is not counted.
 */
#include "cgroupfs.h"

#include <inttypes.h>

#include "hosttree.h"

enum { CGROUP2_SUPER_MAGIC_NR = 0x63677270, CPU_PERIOD_US = 100000 };

struct cgroupfs {
	struct cgroupfs_config cfg;
	struct hosttree tree;
};

static int limit_text(uint64_t v, struct strbuf *out)
{
	if (v)
		strbuf_printf(out, "%" PRIu64 "\n", v);
	else
		strbuf_puts(out, "max\n");
	return 0;
}

static struct cgroupfs_use use_now(const struct cgroupfs *c)
{
	struct cgroupfs_use u = {0};

	if (c->cfg.use)
		c->cfg.use(c->cfg.arg, &u);
	return u;
}

static int memory_max(void *arg, struct strbuf *out)
{
	return limit_text(((const struct cgroupfs *)arg)->cfg.memory, out);
}

static int memory_current(void *arg, struct strbuf *out)
{
	struct cgroupfs_use u = use_now(arg);

	strbuf_printf(out, "%" PRIu64 "\n", u.anon + u.shmem);
	return 0;
}

static int memory_stat(void *arg, struct strbuf *out)
{
	static const char *const zeros[] = {
		"kernel",	  "kernel_stack",     "pagetables",
		"sock",		  "file_mapped",      "file_dirty",
		"file_writeback", "inactive_file",    "active_file",
		"unevictable",	  "slab_reclaimable", "slab_unreclaimable",
		"slab",		  "pgfault",	      "pgmajfault"};
	struct cgroupfs_use u = use_now(arg);

	strbuf_printf(out, "anon %" PRIu64 "\nfile %" PRIu64 "\n", u.anon,
		      u.shmem);
	strbuf_printf(out, "shmem %" PRIu64 "\ninactive_anon %" PRIu64 "\n",
		      u.shmem, u.shmem);
	strbuf_printf(out, "active_anon %" PRIu64 "\n", u.anon);
	for (size_t i = 0; i < ARRAY_SIZE(zeros); i++)
		strbuf_printf(out, "%s 0\n", zeros[i]);
	return 0;
}

static int pids_max(void *arg, struct strbuf *out)
{
	return limit_text(((const struct cgroupfs *)arg)->cfg.pids, out);
}

static int pids_current(void *arg, struct strbuf *out)
{
	strbuf_printf(out, "%" PRIu64 "\n", use_now(arg).tasks);
	return 0;
}

static int cpu_max(void *arg, struct strbuf *out)
{
	const struct cgroupfs *c = arg;

	if (c->cfg.cpus > 0)
		strbuf_printf(out, "%" PRIu64 " %d\n",
			      (uint64_t)(c->cfg.cpus * CPU_PERIOD_US),
			      CPU_PERIOD_US);
	else
		strbuf_printf(out, "max %d\n", CPU_PERIOD_US);
	return 0;
}

static int cpu_stat(void *arg, struct strbuf *out)
{
	struct cgroupfs_use u = use_now(arg);

	strbuf_printf(out,
		      "usage_usec %" PRIu64 "\nuser_usec %" PRIu64
		      "\nsystem_usec %" PRIu64 "\n",
		      u.user_us + u.system_us, u.user_us, u.system_us);
	strbuf_puts(out, "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
			 "nr_bursts 0\nburst_usec 0\n");
	return 0;
}

static int procs(void *arg, struct strbuf *out)
{
	const struct cgroupfs *c = arg;

	if (c->cfg.list)
		c->cfg.list(c->cfg.arg, false, out);
	return 0;
}

static int threads(void *arg, struct strbuf *out)
{
	const struct cgroupfs *c = arg;

	if (c->cfg.list)
		c->cfg.list(c->cfg.arg, true, out);
	return 0;
}

static const struct hosttree_row cgroup_rows[] = {
	{"cgroup.controllers", "cpu memory pids\n", NULL},
	{"cgroup.events", "populated 1\nfrozen 0\n", NULL},
	{"cgroup.freeze", "0\n", NULL},
	{"cgroup.max.depth", "max\n", NULL},
	{"cgroup.max.descendants", "max\n", NULL},
	{"cgroup.procs", NULL, procs},
	{"cgroup.stat", "nr_descendants 0\nnr_dying_descendants 0\n", NULL},
	{"cgroup.subtree_control", "\n", NULL},
	{"cgroup.threads", NULL, threads},
	{"cgroup.type", "domain\n", NULL},
	{"cpu.idle", "0\n", NULL},
	{"cpu.max", NULL, cpu_max},
	{"cpu.max.burst", "0\n", NULL},
	{"cpu.stat", NULL, cpu_stat},
	{"cpu.weight", "100\n", NULL},
	{"cpu.weight.nice", "0\n", NULL},
	{"memory.current", NULL, memory_current},
	{"memory.events",
	 "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", NULL},
	{"memory.high", "max\n", NULL},
	{"memory.low", "0\n", NULL},
	{"memory.max", NULL, memory_max},
	{"memory.min", "0\n", NULL},
	{"memory.oom.group", "0\n", NULL},
	{"memory.peak", NULL, memory_current},
	{"memory.stat", NULL, memory_stat},
	{"memory.swap.current", "0\n", NULL},
	{"memory.swap.max", "max\n", NULL},
	{"pids.current", NULL, pids_current},
	{"pids.events", "max 0\n", NULL},
	{"pids.max", NULL, pids_max},
	{"pids.peak", NULL, pids_current},
	{NULL, NULL, NULL},
};

static void cgroupfs_free(struct super *sb)
{
	free(sb->fs);
	sb->fs = NULL;
}

int cgroupfs_mount(struct vfs *vfs, const char *guest,
		   const struct cgroupfs_config *cfg)
{
	struct cgroupfs *c = xcalloc(1, sizeof(*c));
	struct super *sb =
		super_new(vfs, "cgroup2", "cgroup2", CGROUP2_SUPER_MAGIC_NR, 0);
	struct inode *root;
	int err;

	c->cfg = *cfg;
	c->tree.dirfd = -1;
	c->tree.rows = cgroup_rows;
	c->tree.arg = c;
	sb->fs = c;
	sb->free = cgroupfs_free;
	sb->noexec = true;
	root = hosttree_root(sb, &c->tree, 1);
	err = vfs_mount_root(vfs, guest, root, "cgroup2", "cgroup2");
	inode_put(root);
	return err;
}
