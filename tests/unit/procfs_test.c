/*
 * procfs_test.c - /proc, /dev, /sys and the rewriting of the host's texts.
 *
 * The rewriting is tested on text; the tree on a real VFS with a made-up
 * source of processes: 1 (another user's), 7 (the viewer) and 9 (a thread
 * group of two threads).
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "../../fs/devfs.h"
#include "../../fs/procfs.h"
#include "../../fs/proctext.h"
#include "../../fs/pseudo.h"
#include "../../fs/runfs.h"
#include "../../fs/cgroupfs.h"
#include "../../fs/sysfs.h"

/* ---- texts ----------------------------------------------------------- */

#define S(text) text, strlen(text)

Test(proctext, stat_with_parentheses_and_newline_in_comm)
{
	const struct proctext_ids ids = {7, 7, 1, 7, 7, 7, false};
	const char *in =
		"4711 (a) b)\n(c) t 4000 4711 4711 34816 4711 4194304 "
		"1 2 3 4 5 6 7 8 20 0 1 0 99 1000 50 18446744073709551"
		"615 111 222 333 444 555 0 0 0 0 777 0 0 17 1 0 0 0 0 0 "
		"1 2 3 4 5 6 7 0\n";
	struct strbuf out;

	strbuf_init(&out, 0);
	cr_assert_eq(proctext_stat(S(in), &ids, false, &out), 0);
	cr_assert_str_eq(
		out.data,
		"7 (a) b)\n(c) T 1 7 7 34816 7 4194304 "
		"1 2 3 4 5 6 7 8 20 0 1 0 99 1000 50 18446744073709551"
		"615 111 222 333 444 555 0 0 0 0 777 0 0 17 1 0 0 0 0 0 "
		"1 2 3 4 5 6 7 0\n");
	strbuf_reset(&out);
	cr_assert_eq(proctext_stat(S(in), &ids, true, &out), 0);
	cr_assert(strstr(out.data, " 1 1 0 0 0 0 0 0 0 0 0 0 17 "));
	cr_assert(strstr(out.data, " 0 0 0 0 0 0 0 0\n"));
	cr_assert_eq(proctext_stat_field(S(in), 7), 34816);
	cr_assert_eq(proctext_stat_field(S(in), 99), -1);
	cr_assert_eq(proctext_stat("12 (x", 5, &ids, false, &out), -EIO);
	cr_assert_eq(proctext_stat(")( S 1", 6, &ids, false, &out), -EIO);
	cr_assert_eq(proctext_stat("", 0, &ids, false, &out), -EIO);
	strbuf_fini(&out);
}

Test(proctext, status_shows_virtual_numbers_and_no_tracer)
{
	const struct proctext_ids ids = {8, 7, 1, 6, 5, -1, false};
	const gid_t groups[] = {20, 30};
	const struct proctext_cred cred = {
		.uid = {0, 1, 2, 3},
		.gid = {4, 5, 6, 7},
		.groups = groups,
		.ngroups = 2,
		.effective = 0xff,
	};
	const char *in = "Name:\tx\\nPid:\t1\nState:\tt (tracing stop)\n"
			 "Tgid:\t4711\nPid:\t4712\nPPid:\t9\nTracerPid:\t99\n"
			 "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 2 \n"
			 "NSpid:\t4712\t8\nNSpgid:\t4000\t6\nCapEff:\t00\n"
			 "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
			 "VmRSS:\t   12 kB\n";
	struct strbuf out;

	strbuf_init(&out, 0);
	proctext_status(S(in), &ids, &cred, &out);
	cr_assert_str_eq(out.data,
			 "Name:\tx\\nPid:\t1\nState:\tT (stopped)\n"
			 "Tgid:\t7\nPid:\t8\nPPid:\t1\nTracerPid:\t0\n"
			 "Uid:\t0\t1\t2\t3\nGid:\t4\t5\t6\t7\nGroups:\t20 30 \n"
			 "NSpid:\t8\nNSpgid:\t6\nCapEff:\t00000000000000ff\n"
			 "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"
			 "VmRSS:\t   12 kB\n");
	cr_assert_eq(proctext_status_last(S(in), "NSpgid"), 6);
	cr_assert_eq(proctext_status_last(S(in), "NSsid"), -1);
	strbuf_fini(&out);
}

static int map_cb(void *arg, struct proctext_map *m)
{
	(void)arg;
	if (!strcmp(m->path, "/host/stub"))
		return 0;
	if (m->ino == 5) {
		strcpy(m->path, "/bin/virtual name");
		m->ino = 77;
		m->dev_major = 0;
		m->dev_minor = 0x31;
	}
	return 1;
}

Test(proctext, maps_keep_columns_and_drop_whole_blocks)
{
	const char *in =
		"00400000-00401000 r--p 00001000 08:01 5                   "
		"              /host/bin/real\n"
		"Size:                  4 kB\n"
		"00600000-00601000 r-xp 00000000 08:01 6                   "
		"              /host/stub\n"
		"Size:                  8 kB\n"
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
		"VmFlags: rd wr \n"
		"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0           "
		"               [stack]\n"
		"garbage\n";
	struct strbuf out;

	strbuf_init(&out, 0);
	proctext_maps(S(in), map_cb, NULL, &out);
	cr_assert_str_eq(
		out.data,
		"00400000-00401000 r--p 00001000 00:31 77                  "
		"               /bin/virtual name\n"
		"Size:                  4 kB\n"
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
		"VmFlags: rd wr \n"
		"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0           "
		"               [stack]\n"
		"garbage\n");
	strbuf_fini(&out);
}

static pid_t to_virtual(void *arg, pid_t host)
{
	(void)arg;
	return host == 4711 ? 7 : 0;
}

Test(proctext, limits_fdinfo_sched_loadavg_unix)
{
	const struct proctext_limit rows[] = {
		{"Max open files", 1024, UINT64_MAX}};
	const struct proctext_fdinfo fi = {true, 33, 44, to_virtual, NULL};
	struct strbuf out;

	strbuf_init(&out, 0);
	proctext_limits(S("Max open files            1048576              "
			  "1048576              files     \n"),
			rows, 1, &out);
	cr_assert_str_eq(out.data, "Max open files            1024            "
				   "     unlimited            files     \n");
	strbuf_reset(&out);
	proctext_fdinfo(S("pos:\t5\nflags:\t02\nmnt_id:\t1\nino:\t2\n"
			  "lock:\t1: FLOCK\nPid:\t4711\n"),
			&fi, &out);
	cr_assert_str_eq(out.data,
			 "pos:\t5\nflags:\t02\nmnt_id:\t33\nino:\t44\n"
			 "Pid:\t7\n");
	strbuf_reset(&out);
	proctext_sched(S("a (b, #threads: 1) (4711, #threads: 2)\n--\n"), 7,
		       &out);
	cr_assert_str_eq(out.data, "a (b, #threads: 1) (7, #threads: 2)\n--\n");
	strbuf_reset(&out);
	proctext_loadavg(S("0.1 0.2 0.3 1/200 4711\n"), 9, &out);
	cr_assert_str_eq(out.data, "0.1 0.2 0.3 1/200 9\n");
	strbuf_reset(&out);
	proctext_net_unix(
		S("Num       RefCount Protocol Flags    Type St Inode Path\n"
		  "0000000000000000: 00000002 00000000 00010000 0001 01 12 s1\n"
		  "0000000000000000: 00000002 00000000 00010000 0001 01 13 @a\n"
		  "0000000000000000: 00000002 00000000 00000000 0001 01 14\n"),
		&out);
	cr_assert_str_eq(
		out.data,
		"Num       RefCount Protocol Flags    Type St Inode Path\n"
		"0000000000000000: 00000002 00000000 00010000 0001 01 12\n"
		"0000000000000000: 00000002 00000000 00010000 0001 01 13 @a\n"
		"0000000000000000: 00000002 00000000 00000000 0001 01 14\n");
	strbuf_fini(&out);
}

/* ---- a made-up sandbox ----------------------------------------------- */

struct fake {
	struct vfs *vfs;
	int pipe[2], memfd;
};

static struct fake fake;
static struct vcred user = {.uid = 1000, .gid = 1000};
static struct vfs_ctx ctx;

static pid_t fake_next_pid(void *arg, pid_t after)
{
	(void)arg;
	return after < 1 ? 1 : after < 7 ? 7 : after < 9 ? 9 : 0;
}

static pid_t fake_next_tid(void *arg, pid_t pid, pid_t after)
{
	(void)arg;
	if (after < pid)
		return pid;
	return pid == 9 && after < 10 ? 10 : 0;
}

static int fake_viewer(void *arg, const struct vfs_ctx *c, struct proc_key *out)
{
	(void)arg;
	*out = (struct proc_key){c->viewer_tgid, c->viewer_tid};
	return c->viewer_tgid ? 0 : -ENOENT;
}

static int fake_owner(void *arg, struct proc_key key, struct proc_owner *out)
{
	(void)arg;
	if (key.pid != 1 && key.pid != 7 && key.pid != 9)
		return -ESRCH;
	if (key.tid && key.tid != key.pid && (key.pid != 9 || key.tid != 10))
		return -ESRCH;
	*out = (struct proc_owner){1000, 1000, true, 5};
	if (key.pid == 1)
		*out = (struct proc_owner){0, 0, false, 5};
	return 0;
}

static int fake_may(void *arg, const struct vfs_ctx *c, struct proc_key key)
{
	(void)arg;
	(void)c;
	return key.pid == 1 ? -EACCES : 0;
}

static int fake_text(void *arg, struct vfs_ctx *c, struct proc_key key,
		     enum proc_file what, int fd, struct strbuf *out)
{
	(void)arg;
	(void)c;
	strbuf_printf(out, "%d %d %d %d\n", key.pid, key.tid, (int)what, fd);
	return 0;
}

static int fake_link(void *arg, struct vfs_ctx *c, struct proc_key key,
		     enum proc_link what, struct vref *out, char *text,
		     size_t size)
{
	(void)arg;
	(void)key;
	(void)what;
	snprintf(text, size, "/");
	out->dentry = dentry_get(c->root);
	out->inode = inode_get(dentry_inode(c->root));
	return 0;
}

static int fake_next_fd(void *arg, struct proc_key key, int from)
{
	(void)arg;
	(void)key;
	return from <= 0 ? 0 : from <= 3 ? 3 : from <= 12 ? 12 : -1;
}

static int fake_fd(void *arg, struct vfs_ctx *c, struct proc_key key, int fd,
		   struct proc_fd *out)
{
	int from = fd == 0 ? fake.pipe[0] : fd == 3 ? fake.pipe[1] : fake.memfd;

	(void)arg;
	(void)c;
	(void)key;
	out->copy = dup(from);
	out->flags = fcntl(from, F_GETFL);
	fstat(from, &out->st);
	snprintf(out->text, sizeof(out->text),
		 fd == 12 ? "/memfd:x (deleted)" : "pipe:[5]");
	return 0;
}

static int fake_global(void *arg, struct vfs_ctx *c, enum proc_global what,
		       const char *name, struct strbuf *out)
{
	(void)arg;
	(void)c;
	(void)what;
	strbuf_puts(out, name);
	return 0;
}

static const struct proc_source source = {
	.next_pid = fake_next_pid,
	.next_tid = fake_next_tid,
	.viewer = fake_viewer,
	.owner = fake_owner,
	.may_access = fake_may,
	.text = fake_text,
	.link = fake_link,
	.next_fd = fake_next_fd,
	.fd = fake_fd,
	.global = fake_global,
};

static void fake_denials(void *arg, struct strbuf *out)
{
	(void)arg;
	strbuf_puts(out, "nothing\n");
}

static int dirfd_of(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void set_up(void)
{
	char dir[] = "/tmp/procfs-test-XXXXXX";
	struct vfs_config cfg = {
		.owner_uid = 1000, .owner_gid = 1000, .store_emulated = true};
	const struct procfs_config proc = {&source, NULL, dirfd_of("/proc")};
	const struct sysfs_config sys = {dirfd_of("/sys")};
	const struct cgroupfs_config cg = {1 << 20, 0, 1.5, NULL, NULL, NULL};
	const struct devfs_config dev = {dirfd_of("/dev"), -1, 1000, NULL,
					 NULL};
	const struct runfs_config run = {fake_denials, NULL};

	cr_assert(mkdtemp(dir));
	cfg.store_fd = dirfd_of(dir);
	cr_assert_eq(vfs_new(&cfg, &fake.vfs), 0);
	cr_assert_eq(procfs_mount(fake.vfs, "/proc", &proc), 0);
	cr_assert_eq(devfs_mount(fake.vfs, "/dev", &dev), 0);
	cr_assert_eq(sysfs_mount(fake.vfs, "/sys", &sys), 0);
	cr_assert_eq(cgroupfs_mount(fake.vfs, "/sys/fs/cgroup", &cg), 0);
	cr_assert_eq(runfs_mount(fake.vfs, "/run/cloche", &run), 0);
	cr_assert_eq(pipe2(fake.pipe, O_CLOEXEC), 0);
	fake.memfd = memfd_create("x", MFD_CLOEXEC);
	ctx = (struct vfs_ctx){.vfs = fake.vfs,
			       .cred = &user,
			       .root = vfs_root(fake.vfs),
			       .cwd = vfs_root(fake.vfs),
			       .viewer_tgid = 7,
			       .viewer_tid = 7};
	rmdir(dir);
}

static void tear_down(void)
{
	vfs_free(fake.vfs);
	close(fake.pipe[0]);
	close(fake.pipe[1]);
	close(fake.memfd);
}

TestSuite(procfs, .init = set_up, .fini = tear_down);

/* Opens and reads path; -errno, or the length. */
static int slurp(const char *path, char *buf, size_t size)
{
	const struct vfs_at at = {NULL, path};
	struct vfs_opened o;
	int err = vfs_open(&ctx, &at, O_RDONLY, 0, 0, &o);
	ssize_t n;

	if (err)
		return err;
	n = read(o.fd, buf, size - 1);
	cr_assert_geq(n, 0, "%s", path);
	buf[n] = '\0';
	vfs_opened_fini(&o);
	return (int)n;
}

static int try_open(const char *path, int flags)
{
	const struct vfs_at at = {NULL, path};
	struct vfs_opened o;
	int err = vfs_open(&ctx, &at, flags, 0, 0, &o);

	if (!err)
		vfs_opened_fini(&o);
	return err;
}

static int link_of(const char *path, char *buf, size_t size)
{
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	const struct vfs_at at = {NULL, path};
	int err = vfs_lookup(&ctx, &at, 0, &ref);
	ssize_t n;

	if (err)
		return err;
	n = vfs_readlink(&ctx, &ref, buf, size - 1);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	return 0;
}

static int name_cb(void *arg, const char *name, size_t len, uint64_t ino,
		   unsigned char type, off_t off)
{
	struct strbuf *b = arg;

	(void)type;
	(void)off;
	cr_assert_neq(ino, 0);
	cr_assert_eq(strlen(name), len);
	/* one entry a call: the cursor must lead on to the next */
	if (b->len && b->data[b->len - 1] == '|')
		return 1;
	strbuf_printf(b, "%s|", name);
	return 0;
}

static void list(const char *path, struct strbuf *out)
{
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	const struct vfs_at at = {NULL, path};
	off_t pos = 0;
	size_t before;

	strbuf_reset(out);
	cr_assert_eq(vfs_lookup(&ctx, &at, VFS_FOLLOW, &ref), 0, "%s", path);
	do {
		before = out->len;
		if (out->len)
			out->data[out->len - 1] = ' ';
		cr_assert_eq(vfs_readdir(&ctx, &ref, &pos, name_cb, out), 0);
	} while (out->len > before);
}

Test(procfs, root_lists_pids_of_the_sandbox_only)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	list("/proc", &b);
	cr_assert(strstr(b.data, " vmstat zoneinfo 1 7 9 "), "%s", b.data);
	list("/proc/9/task", &b);
	cr_assert_str_eq(b.data, ". .. 9 10 ");
	list("/proc/self/fd", &b);
	cr_assert_str_eq(b.data, ". .. 0 3 12 ");
	list("/sys/fs/cgroup", &b);
	cr_assert(strstr(b.data, " memory.max "));
	list("/sys/devices/system/cpu", &b);
	cr_assert(strstr(b.data, " cpu0 "), "%s", b.data);
	cr_assert(!strstr(b.data, "uevent"));
	list("/dev", &b);
	cr_assert(strstr(b.data, " urandom ") && strstr(b.data, " shm "));
	strbuf_fini(&b);
	cr_assert_eq(try_open("/proc/8/stat", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/proc/07/stat", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/proc/7x", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/proc/99999999999999999999", O_RDONLY), -ENOENT);
	cr_assert_lt(try_open("/proc/kcore", O_RDONLY), 0);
	cr_assert_eq(try_open("/proc/acpi", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/proc/sys/kernel/keys", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/sys/kernel/slab", O_RDONLY), -ENOENT);
}

Test(procfs, texts_come_from_the_right_key)
{
	char buf[256], want[64];

	cr_assert_gt(slurp("/proc/self/stat", buf, sizeof(buf)), 0);
	snprintf(want, sizeof(want), "7 0 %d -1\n", PROC_STAT);
	cr_assert_str_eq(buf, want);
	cr_assert_gt(slurp("/proc/thread-self/status", buf, sizeof(buf)), 0);
	snprintf(want, sizeof(want), "7 7 %d -1\n", PROC_STATUS);
	cr_assert_str_eq(buf, want);
	cr_assert_gt(slurp("/proc/9/task/10/comm", buf, sizeof(buf)), 0);
	snprintf(want, sizeof(want), "9 10 %d -1\n", PROC_COMM);
	cr_assert_str_eq(buf, want);
	cr_assert_gt(slurp("/proc/7/fdinfo/3", buf, sizeof(buf)), 0);
	snprintf(want, sizeof(want), "7 0 %d 3\n", PROC_FDINFO);
	cr_assert_str_eq(buf, want);
	cr_assert_gt(slurp("/proc/net/tcp", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "tcp");
	cr_assert_eq(slurp("/proc/7/cgroup", buf, sizeof(buf)), 5);
	cr_assert_gt(slurp("/run/cloche/denials", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "nothing\n");
}

Test(procfs, others_private_files_are_refused)
{
	cr_assert_eq(try_open("/proc/1/environ", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/1/maps", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/1/fd", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/1/fd/0", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/1/exe", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/1/stat", O_RDONLY), 0);
	cr_assert_eq(try_open("/proc/7/mem", O_RDWR), -EACCES);
	cr_assert_eq(try_open("/proc/7/mem", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/7/stat", O_WRONLY), -EACCES);
	cr_assert_eq(try_open("/proc/meminfo", O_RDWR), -EACCES);
	cr_assert_eq(try_open("/proc/sys/kernel/core_pattern", O_RDWR),
		     -EACCES);
}

Test(procfs, no_access_for_virtual_root_to_what_is_no_ones)
{
	user.caps = ~0ULL;
	cr_assert_eq(try_open("/proc/7/mem", O_RDWR), -EACCES);
	cr_assert_eq(try_open("/proc/sys/kernel/core_pattern", O_RDWR),
		     -EACCES);
	cr_assert_eq(try_open("/proc/sys/kernel/core_pattern", O_RDONLY), 0);
	cr_assert_eq(try_open("/proc/new", O_CREAT | O_WRONLY), -ENOENT);
	user.caps = 0;
}

Test(procfs, links)
{
	char buf[256];

	cr_assert_eq(link_of("/proc/self", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "7");
	cr_assert_eq(link_of("/proc/thread-self", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "7/task/7");
	cr_assert_eq(link_of("/proc/self/fd/0", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "pipe:[5]");
	cr_assert_eq(link_of("/proc/self/ns/pid", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "pid:[4026531836]");
	cr_assert_eq(link_of("/proc/self/fd/4", buf, sizeof(buf)), -ENOENT);
	cr_assert_eq(link_of("/dev/stdin", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "/proc/self/fd/0");
	cr_assert_eq(try_open("/proc/self/cwd", O_RDONLY | O_DIRECTORY), 0);
	cr_assert_eq(try_open("/proc/self/root/proc/uptime", O_RDONLY), 0);
	cr_assert_eq(try_open("/proc/self/ns/pid", O_RDONLY), -EACCES);
}

Test(procfs, reopening_a_descriptor_gives_no_more_access)
{
	const struct vfs_at at = {NULL, "/dev/fd/3"};
	struct vfs_opened o;
	char c = 0;

	user.uid = getuid();
	user.caps = ~0ULL; /* the pipe's own mode is not what is tested */
	cr_assert_eq(try_open("/proc/self/fd/0", O_WRONLY), -EACCES);
	cr_assert_eq(try_open("/proc/self/fd/0", O_RDWR), -EACCES);
	cr_assert_eq(try_open("/proc/self/fd/3", O_RDONLY), -EACCES);
	cr_assert_eq(try_open("/proc/self/fd/0", O_RDONLY), 0);
	cr_assert_eq(try_open("/dev/fd/12", O_RDWR), 0);
	cr_assert_eq(vfs_open(&ctx, &at, O_WRONLY, 0, 0, &o), 0);
	cr_assert_eq(fcntl(o.fd, F_GETFL) & O_NONBLOCK, 0);
	cr_assert_eq(write(o.fd, "x", 1), 1);
	cr_assert_eq(read(fake.pipe[0], &c, 1), 1);
	cr_assert_eq(c, 'x');
	vfs_opened_fini(&o);
	user.caps = 0;
	user.uid = 1000;
}

Test(procfs, live_files_can_be_read_again_and_are_identified)
{
	const struct vfs_at at = {NULL, "/proc/uptime"};
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	struct vfs_opened o;
	struct stat st;
	struct statx stx;
	char path[64], buf[64];
	bool opath;

	cr_assert_eq(vfs_open(&ctx, &at, O_RDONLY, 0, 0, &o), 0);
	cr_assert_gt(read(o.fd, buf, sizeof(buf)), 0);
	cr_assert_eq(lseek(o.fd, 0, SEEK_SET), 0);
	cr_assert_gt(read(o.fd, buf, sizeof(buf)), 0);
	cr_assert_eq(vfs_identify(fake.vfs, o.fd, &ref, &st, &opath), 0);
	cr_assert_gt(dentry_path(ref.dentry, NULL, path, sizeof(path)), 0);
	cr_assert_str_eq(path, "/proc/uptime");
	cr_assert_eq(vfs_getattr(&ctx, &ref, &stx), 0);
	cr_assert_eq(stx.stx_mode, S_IFREG | 0444);
	cr_assert_eq(stx.stx_size, 0);
	vfs_opened_fini(&o);
}

Test(procfs, devices_are_the_hosts_and_look_native)
{
	const struct vfs_at at = {NULL, "/dev/null"};
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	struct vfs_opened o;
	struct statx stx;
	struct stat st;
	bool opath;
	int host = open("/dev/null", O_RDWR | O_CLOEXEC);

	cr_assert_eq(vfs_identify(fake.vfs, host, &ref, &st, &opath), 0);
	close(host);
	cr_assert_eq(vfs_open(&ctx, &at, O_RDWR, 0, 0, &o), 0);
	cr_assert_eq(write(o.fd, "x", 1), 1);
	cr_assert_eq(o.ref.inode, ref.inode);
	cr_assert_eq(vfs_getattr(&ctx, &o.ref, &stx), 0);
	cr_assert_eq(stx.stx_mode, S_IFCHR | 0666);
	cr_assert_eq(stx.stx_rdev_major, 1);
	cr_assert_eq(stx.stx_rdev_minor, 3);
	vfs_opened_fini(&o);
	cr_assert_eq(try_open("/dev/tty", O_RDWR), -ENXIO);
	cr_assert_eq(try_open("/dev/pts/0", O_RDWR), -ENOENT);
	cr_assert_eq(try_open("/dev/sda", O_RDWR), -ENOENT);
	user.caps = ~0ULL;
	cr_assert_eq(try_open("/dev/x", O_RDWR | O_CREAT), -EROFS);
	user.caps = 0;
}

Test(procfs, sysfs_and_sysctl)
{
	char buf[256], host[256];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, host, sizeof(host) - 1);

	close(fd);
	cr_assert_gt(n, 0);
	host[n] = '\0';
	cr_assert_gt(slurp("/sys/devices/system/cpu/online", buf, sizeof(buf)),
		     0);
	cr_assert_str_eq(buf, host);
	cr_assert_gt(slurp("/sys/fs/cgroup/cpu.max", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "150000 100000\n");
	cr_assert_gt(slurp("/sys/fs/cgroup/memory.max", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "1048576\n");
	cr_assert_gt(slurp("/sys/fs/cgroup/pids.max", buf, sizeof(buf)), 0);
	cr_assert_str_eq(buf, "max\n");
	cr_assert_gt(slurp("/sys/class/net/lo/mtu", buf, sizeof(buf)), 0);
	cr_assert_gt(slurp("/proc/sys/kernel/osrelease", buf, sizeof(buf)), 0);
	cr_assert_eq(slurp("/proc/sys/kernel/core_pattern", buf, sizeof(buf)),
		     5);
	cr_assert_eq(slurp("/proc/sys/kernel/random/uuid", buf, sizeof(buf)),
		     37);
	cr_assert_gt(slurp("/proc/sys/kernel/random/uuid", host, sizeof(host)),
		     0);
	cr_assert_str_neq(buf, host);
}

Test(procfs, mounts_text)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	procfs_mounts_text(fake.vfs, ctx.root, PROC_MOUNTS, &b);
	cr_assert(strstr(b.data, "proc /proc proc rw,"), "%s", b.data);
	strbuf_reset(&b);
	procfs_mounts_text(fake.vfs, ctx.root, PROC_MOUNTINFO, &b);
	cr_assert(strstr(b.data, " / /run/cloche rw,"), "%s", b.data);
	strbuf_fini(&b);
}
