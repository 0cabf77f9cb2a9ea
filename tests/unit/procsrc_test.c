/*
 * procsrc_test.c - /proc as made from the task table and the host's /proc.
 *
 * The guest is a child in a pid namespace of its own where the machine allows
 * one, so that its numbers differ from the host's: no host number may show.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fs/procfs.h"
#include "../../sentry/procsrc.h"
#include "../../sentry/task.h"

static struct config config;
static struct sentry sentry;
static struct vcred cred;
static struct vfs_ctx ctx;
static pid_t guest;
static bool inner; /* the guest has its own pid namespace */
static int pipes[2];

static void guest_main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "odd) name");
	for (;;)
		pause();
}

static pid_t guest_start(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone,
				   CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0,
				   NULL, NULL, 0);

	inner = pid >= 0;
	if (pid < 0)
		pid = fork();
	if (!pid)
		guest_main();
	return pid;
}

static void set_up(void)
{
	char dir[] = "/tmp/procsrc-test-XXXXXX";
	struct vfs_config cfg = {.store_emulated = true};
	struct procfs_config proc = {procsrc_ops(), &sentry, -1};
	struct taskcred *c = xcalloc(1, sizeof(*c));
	struct task *t;

	cr_assert(mkdtemp(dir));
	cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
	cfg.store_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(vfs_new(&cfg, &sentry.vfs), 0);
	rmdir(dir);
	guest = guest_start();
	cr_assert_gt(guest, 0);
	usleep(50000);
	sentry.cfg = &config;
	sentry.bare = !inner;
	sentry.devpts_fd = -1;
	htable_init(&sentry.tasks);
	htable_init(&sentry.tgroups_by_pid);
	list_init(&sentry.tgroups);
	list_init(&sentry.fd_tables);
	proc.host_proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(procfs_mount(sentry.vfs, "/proc", &proc), 0);
	c->refs = 1;
	c->ruid = c->euid = c->suid = c->fsuid = 1234;
	c->rgid = c->egid = c->sgid = c->fsgid = 1234;
	t = task_new_first(
		&sentry, guest,
		fsctx_new(vfs_root(sentry.vfs), vfs_root(sentry.vfs), 022), c);
	t->tg->nofile = (struct rlimit){77, 78};
	cred = (struct vcred){.uid = 1234, .gid = 1234};
	ctx = (struct vfs_ctx){.vfs = sentry.vfs,
			       .cred = &cred,
			       .root = vfs_root(sentry.vfs),
			       .cwd = vfs_root(sentry.vfs),
			       .viewer_tgid = guest,
			       .viewer_tid = guest};
}

static void tear_down(void)
{
	kill(guest, SIGKILL);
	waitpid(guest, NULL, 0);
}

TestSuite(procsrc, .init = set_up, .fini = tear_down);

static int slurp(const char *path, char *buf, size_t size)
{
	const struct vfs_at at = {NULL, path};
	struct vfs_opened o;
	int err = vfs_open(&ctx, &at, O_RDONLY, 0, 0, &o);
	ssize_t n;

	if (err)
		return err;
	n = read(o.fd, buf, size - 1);
	cr_assert_geq(n, 0);
	buf[n] = '\0';
	vfs_opened_fini(&o);
	return (int)n;
}

static pid_t vpid(void)
{
	return inner ? 1 : guest;
}

/* Is the host's number of the guest in the text, as a word? */
static bool shows_host_pid(const char *text)
{
	char num[16];
	size_t len = (size_t)snprintf(num, sizeof(num), "%d", guest);

	for (const char *p = text; inner && (p = strstr(p, num)); p++)
		if ((p == text || p[-1] < '0' || p[-1] > '9') &&
		    (p[len] < '0' || p[len] > '9'))
			return true;
	return false;
}

Test(procsrc, stat_and_status_show_the_sandboxs_numbers)
{
	char buf[8192], want[64];

	cr_assert_gt(slurp("/proc/self/stat", buf, sizeof(buf)), 0);
	snprintf(want, sizeof(want), "%d (odd) name) R 0 ", vpid());
	cr_assert_eq(strncmp(buf, want, strlen(want)), 0, "%s", buf);
	cr_assert_gt(slurp("/proc/self/status", buf, sizeof(buf)), 0);
	cr_assert(!shows_host_pid(buf), "%s", buf);
	snprintf(want, sizeof(want), "\nPid:\t%d\nPPid:\t0\n", vpid());
	cr_assert(strstr(buf, want), "%s", buf);
	cr_assert(strstr(buf, "\nUid:\t1234\t1234\t1234\t1234\n"));
	cr_assert(strstr(buf, "\nCapBnd:\t0000000000000000\n"));
	cr_assert_gt(slurp("/proc/self/sched", buf, sizeof(buf)), -ENOENT - 1);
	cr_assert(!shows_host_pid(buf), "%s", buf);
}

Test(procsrc, limits_are_virtual)
{
	char buf[8192];

	cr_assert_gt(slurp("/proc/self/limits", buf, sizeof(buf)), 0);
	cr_assert(strstr(buf, "Max open files            77                   "
			      "78                   files     \n"),
		  "%s", buf);
	cr_assert(strstr(buf, "Max core file size        0                    "
			      "0                    bytes     \n"),
		  "%s", buf);
}

Test(procsrc, all_own_files_can_be_read)
{
	static const char *const names[] = {"auxv",	    "cmdline",
					    "comm",	    "environ",
					    "io",	    "limits",
					    "maps",	    "smaps",
					    "smaps_rollup", "mounts",
					    "mountinfo",    "mountstats",
					    "oom_score",    "oom_score_adj",
					    "oom_adj",	    "schedstat",
					    "stat",	    "statm",
					    "status",	    "cgroup",
					    "wchan",	    "uid_map",
					    "setgroups",    "coredump_filter",
					    "loginuid",	    "personality",
					    "attr/current", "fdinfo/0",
					    "net/unix",	    "net/dev"};
	static char buf[1 << 20];
	char path[64];

	/* whose network is shown */
	sentry.init = getpid();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", names[i]);
		cr_assert_geq(slurp(path, buf, sizeof(buf)), 0, "%s", path);
	}
	cr_assert_gt(slurp("/proc/loadavg", buf, sizeof(buf)), 0);
	cr_assert_gt(slurp("/proc/self/smaps_rollup", buf, sizeof(buf)), 0);
}

Test(procsrc, maps_show_no_path_of_the_host)
{
	static char buf[1 << 20];

	cr_assert_gt(slurp("/proc/self/maps", buf, sizeof(buf)), 0);
	cr_assert(!strstr(buf, "/lib"), "%s", buf);
	cr_assert(strstr(buf, "[stack]"), "%s", buf);
}

Test(procsrc, descriptors_have_native_texts)
{
	char buf[256], path[64], host[64];
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	const struct vfs_at at = {NULL, path};
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipes[0]);
	cr_assert_eq(vfs_lookup(&ctx, &at, 0, &ref), 0);
	n = vfs_readlink(&ctx, &ref, buf, sizeof(buf) - 1);
	cr_assert_gt(n, 0);
	buf[n] = '\0';
	n = readlink(path, host, sizeof(host) - 1);
	cr_assert_gt(n, 0);
	host[n] = '\0';
	cr_assert_str_eq(buf, host);
}

Test(procsrc, who_may_not_look_sees_only_public_files)
{
	char buf[8192];

	cred.uid = 99;
	ctx.viewer_tgid = ctx.viewer_tid = 0;
	snprintf(buf, sizeof(buf), "/proc/%d/environ", vpid());
	cr_assert_eq(slurp(buf, buf, sizeof(buf)), -EACCES);
	snprintf(buf, sizeof(buf), "/proc/%d/maps", vpid());
	cr_assert_eq(slurp(buf, buf, sizeof(buf)), -EACCES);
	snprintf(buf, sizeof(buf), "/proc/%d/cmdline", vpid());
	cr_assert_gt(slurp(buf, buf, sizeof(buf)), 0);
	cred.caps = ~0ULL;
	snprintf(buf, sizeof(buf), "/proc/%d/environ", vpid());
	cr_assert_geq(slurp(buf, buf, sizeof(buf)), 0);
}
