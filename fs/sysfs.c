/*
 * sysfs.c - see sysfs.h. The rows say what of the host's /sys is shown.
 */
#include "sysfs.h"

#include "hosttree.h"

enum { SYSFS_MAGIC_NR = 0x62656572 };

struct sysfs {
	struct sysfs_config cfg;
	struct hosttree tree;
};

#define H(path)                  \
	{                        \
		path, NULL, NULL \
	}
#define EMPTY(path)                        \
	{                                  \
		path, hosttree_empty, NULL \
	}
#define CPU  "devices/system/cpu/cpu[0-9]*/"
#define NODE "devices/system/node/node[0-9]*/"
#define LO   "class/net/lo/"

static const struct hosttree_row sys_rows[] = {
	H("devices/system/cpu/online"),
	H("devices/system/cpu/possible"),
	H("devices/system/cpu/present"),
	H("devices/system/cpu/offline"),
	H("devices/system/cpu/isolated"),
	H("devices/system/cpu/kernel_max"),
	H("devices/system/cpu/smt/active"),
	H("devices/system/cpu/smt/control"),
	H("devices/system/cpu/vulnerabilities/*"),
	H(CPU "online"),
	H(CPU "topology/*"),
	H(CPU "cache/index[0-9]*/*"),
	H("devices/system/node/online"),
	H("devices/system/node/possible"),
	H("devices/system/node/has_cpu"),
	H("devices/system/node/has_memory"),
	H("devices/system/node/has_normal_memory"),
	H(NODE "cpulist"),
	H(NODE "cpumap"),
	H(NODE "meminfo"),
	H(NODE "distance"),
	H(NODE "numastat"),
	H(NODE "hugepages/hugepages-*/*"),
	H("kernel/mm/transparent_hugepage/enabled"),
	H("kernel/mm/transparent_hugepage/defrag"),
	H("kernel/mm/transparent_hugepage/hpage_pmd_size"),
	H("kernel/mm/transparent_hugepage/shmem_enabled"),
	H("kernel/mm/transparent_hugepage/use_zero_page"),
	H("kernel/mm/hugepages/hugepages-*/*"),
	/* no device of the host is the guest's; tools look that there are none
	 */
	EMPTY("block"),
	EMPTY("bus"),
	EMPTY("class/block"),
	EMPTY("class/hwmon"),
	EMPTY("class/power_supply"),
	EMPTY("class/thermal"),
	EMPTY("class/tty"),
	EMPTY("dev/block"),
	EMPTY("dev/char"),
	EMPTY("devices/virtual"),
	EMPTY("firmware"),
	EMPTY("fs/bpf"),
	EMPTY("hypervisor"),
	EMPTY("module"),
	EMPTY("power"),
	/* a loopback interface is the same everywhere */
	{LO "address", "00:00:00:00:00:00\n", NULL},
	{LO "addr_len", "6\n", NULL},
	{LO "broadcast", "00:00:00:00:00:00\n", NULL},
	{LO "carrier", "1\n", NULL},
	{LO "dev_id", "0x0\n", NULL},
	{LO "flags", "0x9\n", NULL},
	{LO "ifindex", "1\n", NULL},
	{LO "iflink", "1\n", NULL},
	{LO "mtu", "65536\n", NULL},
	{LO "operstate", "unknown\n", NULL},
	{LO "tx_queue_len", "1000\n", NULL},
	{LO "type", "772\n", NULL},
	{LO "uevent", "INTERFACE=lo\nIFINDEX=1\n", NULL},
	{NULL, NULL, NULL},
};

static void sysfs_free(struct super *sb)
{
	struct sysfs *s = sb->fs;

	close(s->cfg.host_sys);
	free(s);
	sb->fs = NULL;
}

int sysfs_mount(struct vfs *vfs, const char *guest,
		const struct sysfs_config *cfg)
{
	struct sysfs *s = xcalloc(1, sizeof(*s));
	struct super *sb = super_new(vfs, "sysfs", "sysfs", SYSFS_MAGIC_NR, 0);
	struct inode *root;
	int err;

	s->cfg = *cfg;
	s->tree.dirfd = cfg->host_sys;
	s->tree.rows = sys_rows;
	s->tree.arg = s;
	sb->fs = s;
	sb->free = sysfs_free;
	sb->noexec = true;
	root = hosttree_root(sb, &s->tree, 1);
	err = vfs_mount_root(vfs, guest, root, "sysfs", "sysfs");
	inode_put(root);
	return err;
}
