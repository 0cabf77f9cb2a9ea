/*
 * procfs_tables.c - the rows of /proc: what exists, and where it comes from.
 *
 * A row of PENT_HOST or PENT_LIVE kind names a file of the host: only such
 * that say nothing about processes, mounts or users may be listed.
 */
#include "procfs_impl.h"

#define T(n, mode, what, flags)                             \
	{                                                   \
		n, PENT_TEXT, mode, what, flags, NULL, NULL \
	}
#define C(n, mode, text)                              \
	{                                             \
		n, PENT_CONST, mode, 0, 0, text, NULL \
	}
#define D(n, mode, kids)                            \
	{                                           \
		n, PENT_DIR, mode, 0, 0, NULL, kids \
	}
#define HOST(n)                                      \
	{                                            \
		n, PENT_HOST, 0444, 0, 0, NULL, NULL \
	}
#define LIVE(n)                                      \
	{                                            \
		n, PENT_LIVE, 0444, 0, 0, NULL, NULL \
	}
#define DENY(n, mode)                                \
	{                                            \
		n, PENT_DENY, mode, 0, 0, NULL, NULL \
	}
#define NET(n)                                                \
	{                                                     \
		n, PENT_GLOBAL, 0444, PROC_NET, 0, NULL, NULL \
	}
#define LINK(n, what)                                             \
	{                                                         \
		n, PENT_LINK, 0777, what, PENT_ACCESS, NULL, NULL \
	}
/* Inode numbers of the kernel's first namespaces (linux/proc_ns.h). */
#define NS(n, text, ino)                                       \
	{                                                      \
		n, PENT_NS, 0777, ino, PENT_ACCESS, text, NULL \
	}
#define END                                         \
	{                                           \
		NULL, PENT_DIR, 0, 0, 0, NULL, NULL \
	}

static const struct pent ns_entries[] = {
	NS("cgroup", "cgroup", 4026531835u),
	NS("ipc", "ipc", 4026531839u),
	NS("mnt", "mnt", 4026531841u),
	NS("net", "net", 4026531840u),
	NS("pid", "pid", 4026531836u),
	NS("pid_for_children", "pid", 4026531836u),
	NS("time", "time", 4026531834u),
	NS("time_for_children", "time", 4026531834u),
	NS("user", "user", 4026531837u),
	NS("uts", "uts", 4026531838u),
	END,
};

static const struct pent attr_entries[] = {
	T("current", 0666, PROC_ATTR_CURRENT, 0),
	C("exec", 0666, ""),
	C("fscreate", 0666, ""),
	C("keycreate", 0666, ""),
	C("prev", 0444, ""),
	C("sockcreate", 0666, ""),
	END,
};

static const struct pent net_entries[] = {
	NET("dev"),    NET("if_inet6"),	 NET("route"),	   NET("tcp"),
	NET("tcp6"),   NET("udp"),	 NET("udp6"),	   NET("unix"),
	NET("arp"),    NET("protocols"), NET("sockstat"),  NET("sockstat6"),
	NET("snmp"),   NET("netstat"),	 NET("fib_trie"),  NET("ipv6_route"),
	NET("raw"),    NET("raw6"),	 NET("packet"),	   NET("netlink"),
	NET("igmp"),   NET("igmp6"),	 NET("mcfilter"),  NET("mcfilter6"),
	NET("icmp"),   NET("icmp6"),	 NET("dev_mcast"), NET("snmp6"),
	NET("psched"), NET("ptype"),	 NET("anycast6"),  NET("rt_cache"),
	END,
};

static const struct pent no_entries[] = {END};

#define ID_MAP "         0          0 4294967295\n"
#define A      PENT_ACCESS

const struct pent procfs_pid_entries[] = {
	C("arch_status", 0444, ""),
	D("attr", 0555, attr_entries),
	{"autogroup", PENT_CONST, 0644, 0, PENT_THREAD, "/autogroup-1 nice 0\n",
	 NULL},
	T("auxv", 0400, PROC_AUXV, A),
	C("cgroup", 0444, "0::/\n"),
	T("children", 0444, PROC_CHILDREN, PENT_TIDONLY),
	{"clear_refs", PENT_TEXT, 0200, PROC_CLEAR_REFS, PENT_WRITE, NULL,
	 NULL},
	T("cmdline", 0444, PROC_CMDLINE, 0),
	T("comm", 0644, PROC_COMM, PENT_WRITE),
	T("coredump_filter", 0644, PROC_COREDUMP_FILTER,
	  PENT_THREAD | PENT_WRITE),
	C("cpuset", 0444, "/\n"),
	LINK("cwd", PROC_CWD),
	T("environ", 0400, PROC_ENVIRON, A),
	LINK("exe", PROC_EXE),
	{"fd", PENT_FDS, 0500, 0, A, NULL, NULL},
	{"fdinfo", PENT_FDINFOS, 0555, 0, A, NULL, NULL},
	C("gid_map", 0644, ID_MAP),
	T("io", 0400, PROC_IO, A),
	T("ksm_merging_pages", 0400, PROC_KSM_PAGES, A),
	T("ksm_stat", 0400, PROC_KSM_STAT, A),
	T("limits", 0444, PROC_LIMITS, 0),
	C("loginuid", 0644, "4294967295"),
	/* LIMIT: map_files is empty; maps tells what is mapped. */
	{"map_files", PENT_DIR, 0500, 0, PENT_THREAD, NULL, no_entries},
	T("maps", 0444, PROC_MAPS, A),
	DENY("mem", 0600),
	T("mountinfo", 0444, PROC_MOUNTINFO, 0),
	T("mounts", 0444, PROC_MOUNTS, 0),
	{"mountstats", PENT_TEXT, 0400, PROC_MOUNTSTATS, PENT_THREAD, NULL,
	 NULL},
	D("net", 0555, net_entries),
	D("ns", 0511, ns_entries),
	T("numa_maps", 0444, PROC_NUMA_MAPS, A),
	T("oom_adj", 0644, PROC_OOM_ADJ, PENT_WRITE),
	T("oom_score", 0444, PROC_OOM_SCORE, 0),
	T("oom_score_adj", 0644, PROC_OOM_SCORE_ADJ, PENT_WRITE),
	DENY("pagemap", 0400),
	T("personality", 0400, PROC_PERSONALITY, A),
	C("projid_map", 0644, ID_MAP),
	LINK("root", PROC_ROOT),
	T("sched", 0644, PROC_SCHED, 0),
	T("schedstat", 0444, PROC_SCHEDSTAT, 0),
	C("sessionid", 0444, "4294967295"),
	C("setgroups", 0644, "allow\n"),
	T("smaps", 0444, PROC_SMAPS, A),
	T("smaps_rollup", 0444, PROC_SMAPS_ROLLUP, A),
	DENY("stack", 0400),
	T("stat", 0444, PROC_STAT, 0),
	T("statm", 0444, PROC_STATM, 0),
	T("status", 0444, PROC_STATUS, 0),
	{"syscall", PENT_CONST, 0400, 0, A, "running\n", NULL},
	{"task", PENT_TASKS, 0555, 0, PENT_THREAD, NULL, NULL},
	{"timens_offsets", PENT_CONST, 0644, 0, PENT_THREAD,
	 "monotonic           0         0\nboottime            0         0\n",
	 NULL},
	{"timers", PENT_TEXT, 0444, PROC_TIMERS, PENT_THREAD, NULL, NULL},
	{"timerslack_ns", PENT_TEXT, 0666, PROC_TIMERSLACK,
	 PENT_THREAD | PENT_WRITE | PENT_OWN, NULL, NULL},
	C("uid_map", 0644, ID_MAP),
	C("wchan", 0444, "0"),
	END,
};

const char procfs_filesystems[] =
	"nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tcgroup2\n"
	"nodev\tdevtmpfs\nnodev\tdevpts\nnodev\toverlay\n\text4\n";

static const char cgroups[] =
	"#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
	"cpuset\t0\t1\t1\ncpu\t0\t1\t1\ncpuacct\t0\t1\t1\n"
	"memory\t0\t1\t1\npids\t0\t1\t1\n";

static const char tty_drivers[] =
	"/dev/tty             /dev/tty        5       0 system:/dev/tty\n"
	"/dev/console         /dev/console    5       1 system:console\n"
	"/dev/ptmx            /dev/ptmx       5       2 system\n"
	"pty_slave            /dev/pts      136 0-1048575 pty:slave\n"
	"pty_master           /dev/ptm      128 0-1048575 pty:master\n";

static const struct pent tty_entries[] = {
	D("driver", 0500, no_entries),
	C("drivers", 0444, tty_drivers),
	D("ldisc", 0555, no_entries),
	C("ldiscs", 0444, "n_tty       0\n"),
	END,
};

#define PRESSURE(n)                                                         \
	{                                                                   \
		n, PENT_GLOBAL, 0444, PROC_PRESSURE, 0, "pressure/" n, NULL \
	}
static const struct pent pressure_entries[] = {
	PRESSURE("cpu"),
	PRESSURE("io"),
	PRESSURE("memory"),
	END,
};

const struct pent procfs_root_entries[] = {
	HOST("buddyinfo"),
	D("bus", 0555, no_entries),
	/* all of the unified hierarchy, of the sandbox's own cgroup */
	C("cgroups", 0444, cgroups),
	C("cmdline", 0444, "BOOT_IMAGE=/boot/vmlinuz ro\n"),
	HOST("config.gz"),
	C("consoles", 0444, ""),
	LIVE("cpuinfo"),
	HOST("crypto"),
	HOST("devices"),
	LIVE("diskstats"),
	D("driver", 0555, no_entries),
	HOST("execdomains"),
	C("filesystems", 0444, procfs_filesystems),
	D("fs", 0555, no_entries),
	LIVE("interrupts"),
	DENY("kallsyms", 0400),
	DENY("kcore", 0400),
	C("key-users", 0444, ""),
	C("keys", 0444, ""),
	DENY("kmsg", 0400),
	DENY("kpagecgroup", 0400),
	DENY("kpagecount", 0400),
	DENY("kpageflags", 0400),
	{"loadavg", PENT_GLOBAL, 0444, PROC_LOADAVG, 0, NULL, NULL},
	{"locks", PENT_GLOBAL, 0444, PROC_LOCKS, 0, NULL, NULL},
	LIVE("meminfo"),
	HOST("misc"),
	C("modules", 0444, ""),
	{"mounts", PENT_SYMLINK, 0777, 0, 0, "self/mounts", NULL},
	{"net", PENT_SYMLINK, 0777, 0, 0, "self/net", NULL},
	DENY("pagetypeinfo", 0400),
	HOST("partitions"),
	D("pressure", 0555, pressure_entries),
	LIVE("schedstat"),
	{"self", PENT_SELF, 0777, 0, 0, NULL, NULL},
	DENY("slabinfo", 0400),
	LIVE("softirqs"),
	LIVE("stat"),
	C("swaps", 0444, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	{"sys", PENT_SYS, 0555, 0, 0, NULL, NULL},
	DENY("sysrq-trigger", 0200),
	{"thread-self", PENT_SELF, 0777, 1, 0, NULL, NULL},
	DENY("timer_list", 0400),
	D("tty", 0555, tty_entries),
	LIVE("uptime"),
	LIVE("version"),
	DENY("vmallocinfo", 0400),
	LIVE("vmstat"),
	HOST("zoneinfo"),
	END,
};

#define R(path)                  \
	{                        \
		path, NULL, NULL \
	}

const struct hosttree_row procfs_sys_rows[] = {
	{"kernel/core_pattern", "core\n", NULL},
	{"kernel/core_uses_pid", "0\n", NULL},
	R("kernel/ostype"),
	R("kernel/osrelease"),
	R("kernel/version"),
	R("kernel/hostname"),
	R("kernel/domainname"),
	R("kernel/arch"),
	R("kernel/pid_max"),
	R("kernel/threads-max"),
	R("kernel/ngroups_max"),
	R("kernel/cap_last_cap"),
	R("kernel/random/boot_id"),
	R("kernel/random/uuid"),
	R("kernel/random/entropy_avail"),
	R("kernel/random/poolsize"),
	R("kernel/random/urandom_min_reseed_secs"),
	R("kernel/random/write_wakeup_threshold"),
	R("kernel/overflowuid"),
	R("kernel/overflowgid"),
	R("kernel/sched_*"),
	R("kernel/seccomp/*"),
	R("kernel/shmmax"),
	R("kernel/shmall"),
	R("kernel/shmmni"),
	R("kernel/sem"),
	R("kernel/msgmax"),
	R("kernel/msgmnb"),
	R("kernel/msgmni"),
	R("kernel/shm_rmid_forced"),
	R("kernel/perf_event_paranoid"),
	R("kernel/perf_event_mlock_kb"),
	R("kernel/perf_event_max_sample_rate"),
	R("kernel/unprivileged_bpf_disabled"),
	R("kernel/kptr_restrict"),
	R("kernel/dmesg_restrict"),
	R("kernel/randomize_va_space"),
	R("kernel/printk"),
	R("kernel/panic"),
	R("kernel/panic_on_oops"),
	R("kernel/numa_balancing"),
	R("kernel/tainted"),
	R("kernel/sysrq"),
	R("kernel/osrelease"),
	R("kernel/io_uring_disabled"),
	R("kernel/pty/max"),
	R("kernel/pty/nr"),
	R("kernel/pty/reserve"),
	R("vm/overcommit_memory"),
	R("vm/overcommit_ratio"),
	R("vm/overcommit_kbytes"),
	R("vm/max_map_count"),
	R("vm/mmap_min_addr"),
	R("vm/swappiness"),
	R("vm/nr_hugepages"),
	R("vm/nr_overcommit_hugepages"),
	R("vm/hugetlb_shm_group"),
	R("vm/dirty_*"),
	R("vm/min_free_kbytes"),
	R("vm/vfs_cache_pressure"),
	R("vm/zone_reclaim_mode"),
	R("vm/page-cluster"),
	R("vm/mmap_rnd_bits"),
	R("vm/mmap_rnd_compat_bits"),
	R("vm/legacy_va_layout"),
	R("vm/oom_kill_allocating_task"),
	R("vm/panic_on_oom"),
	R("vm/user_reserve_kbytes"),
	R("vm/admin_reserve_kbytes"),
	R("vm/unprivileged_userfaultfd"),
	R("vm/memfd_noexec"),
	R("fs/file-max"),
	R("fs/file-nr"),
	R("fs/nr_open"),
	R("fs/inode-nr"),
	R("fs/inode-state"),
	R("fs/dentry-state"),
	R("fs/pipe-max-size"),
	R("fs/pipe-user-pages-*"),
	R("fs/inotify/*"),
	R("fs/aio-max-nr"),
	R("fs/aio-nr"),
	R("fs/protected_*"),
	R("fs/suid_dumpable"),
	R("fs/epoll/*"),
	R("fs/lease-break-time"),
	R("fs/leases-enable"),
	R("fs/overflowuid"),
	R("fs/overflowgid"),
	R("fs/mqueue/*"),
	R("net/core/somaxconn"),
	R("net/core/[rw]mem_*"),
	R("net/core/netdev_max_backlog"),
	R("net/core/optmem_max"),
	R("net/ipv4/ip_local_port_range"),
	R("net/ipv4/tcp_*"),
	R("net/ipv4/ip_unprivileged_port_start"),
	R("net/ipv4/ip_forward"),
	R("net/ipv4/ping_group_range"),
	R("net/ipv4/udp_*"),
	R("net/ipv6/bindv6only"),
	R("net/ipv6/conf/all/disable_ipv6"),
	R("net/ipv6/conf/default/disable_ipv6"),
	R("net/ipv6/conf/lo/disable_ipv6"),
	R("net/unix/max_dgram_qlen"),
	R("user/max_*"),
	{NULL, NULL, NULL},
};
