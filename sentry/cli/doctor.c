/*
 * doctor.c - `cloche doctor`: what this machine allows, which walls will
 * stand, and how to raise the rest.
 *
 * Each check does the thing itself in a child that then ends: the whole jail
 * is built, a listener is installed, a process is traced. A feature that a
 * file says is there may still be refused by a security module.
 */
#include <fcntl.h>
#include <jansson.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "cli.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum level { STANDS, WEAKER, ABSENT };

struct finding {
	enum level level;
	bool needed; /* without it cloche does not run at all */
	char detail[200];
	const char *raise; /* what to do about it, or NULL */
};

struct check {
	const char *name, *wall;
	void (*run)(struct finding *f);
};

/* ---- help ------------------------------------------------------------ */

static void say(struct finding *f, enum level level, const char *fmt, ...)
	PRINTF(3, 4);
static void say(struct finding *f, enum level level, const char *fmt, ...)
{
	va_list ap;

	f->level = level;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

static bool file_text(const char *path, char *buf, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0)
		return false;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

static bool file_put(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 &&
	       write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* What a child found out: the step that failed (0: none) and its errno. */
struct outcome {
	int step, err;
};

/* Runs fn in a child, which returns its outcome by a pipe. */
static struct outcome in_child(void (*fn)(struct outcome *o))
{
	struct outcome o = {.step = -1, .err = EIO};
	int pipefd[2];
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return o;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(10);
		o = (struct outcome){0, 0};
		fn(&o);
		_exit(write(pipefd[1], &o, sizeof(o)) != sizeof(o));
	}
	close(pipefd[1]);
	if (pid < 0 || read(pipefd[0], &o, sizeof(o)) != sizeof(o))
		o = (struct outcome){.step = -1, .err = EIO};
	close(pipefd[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return o;
}

/* ---- the jail -------------------------------------------------------- */

enum jail_step {
	JAIL_NONE,
	JAIL_USER,
	JAIL_MAP,
	JAIL_NAMESPACES,
	JAIL_MOUNT,
	JAIL_STORE,
	JAIL_PID,
};

static const char *const jail_steps[] = {
	[JAIL_NONE] = "",
	[JAIL_USER] = "a user namespace",
	[JAIL_MAP] = "its id map",
	[JAIL_NAMESPACES] = "mount, pid, net, ipc and uts namespaces in it",
	[JAIL_MOUNT] = "a tmpfs mounted in it",
	[JAIL_STORE] = "a detached tmpfs",
	[JAIL_PID] = "a first process in its pid namespace",
};

static bool jail_map(uid_t uid, gid_t gid)
{
	char text[64];

	if (!file_put("/proc/self/setgroups", "deny") && errno != ENOENT)
		return false;
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (!file_put("/proc/self/uid_map", text))
		return false;
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return file_put("/proc/self/gid_map", text);
}

static bool jail_store(void)
{
	AUTO_CLOSE int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	AUTO_CLOSE int mnt = -1;

	if (fs < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return false;
	mnt = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return mnt >= 0;
}

static bool jail_init(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(getpid() == 1 ? 0 : 1);
	errno = pid < 0 ? errno : ECHILD;
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static enum jail_step jail_build(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER) < 0)
		return JAIL_USER;
	if (!jail_map(uid, gid))
		return JAIL_MAP;
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
		    CLONE_NEWUTS) < 0)
		return JAIL_NAMESPACES;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
		return JAIL_MOUNT;
	if (!jail_store())
		return JAIL_STORE;
	return jail_init() ? JAIL_NONE : JAIL_PID;
}

static void jail_child(struct outcome *o)
{
	errno = 0;
	o->step = (int)jail_build();
	o->err = errno;
}

static const char *jail_advice(void)
{
	char text[32];

	if (file_text("/proc/sys/kernel/unprivileged_userns_clone", text,
		      sizeof(text)) &&
	    text[0] == '0')
		return "sysctl kernel.unprivileged_userns_clone=1";
	if (file_text("/proc/sys/user/max_user_namespaces", text,
		      sizeof(text)) &&
	    strcmp(text, "0") == 0)
		return "sysctl user.max_user_namespaces=10000";
	if (file_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		      text, sizeof(text)) &&
	    text[0] == '1')
		return "an AppArmor profile for cloche with \"userns,\", or "
		       "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
	return "if this is a container: allow unshare and mount in its seccomp "
	       "profile (docker: --security-opt seccomp=unconfined "
	       "--security-opt apparmor=unconfined)";
}

static void check_jail(struct finding *f)
{
	struct outcome o = in_child(jail_child);

	if (o.step == JAIL_NONE) {
		say(f, STANDS,
		    "the whole jail can be built: user, mount, pid, "
		    "net, ipc, uts, and its store");
		return;
	}
	say(f, ABSENT,
	    "refused: %s (%s); runs fall back to bare mode: no "
	    "namespaces, no internet sockets",
	    o.step > 0 ? jail_steps[o.step] : "the test itself",
	    strerror(o.err));
	f->raise = jail_advice();
}

/* ---- the others ------------------------------------------------------ */

static void check_kernel(struct finding *f)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	f->needed = true;
	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2) {
		say(f, WEAKER, "of unknown version");
		return;
	}
	if (strcmp(u.machine, "x86_64") != 0) {
		say(f, ABSENT, "%s on %s: only x86_64 is supported", u.release,
		    u.machine);
	} else if (major < 5 || (major == 5 && minor < 19)) {
		say(f, ABSENT, "%s: older than 5.19", u.release);
		f->raise = "a kernel of 5.19 or later; 6.12 or later is best";
	} else if (major < 6 || (major == 6 && minor < 12)) {
		say(f, WEAKER,
		    "%s: works; 6.12 and later also scope signals "
		    "and abstract sockets by Landlock",
		    u.release);
		f->raise = "a kernel of 6.12 or later";
	} else {
		say(f, STANDS, "%s", u.release);
	}
}

static int listener_install(unsigned long flags)
{
	struct sock_filter allow[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 1, .filter = allow};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void notify_child(struct outcome *o)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
			      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (listener_install(flags) >= 0)
		return;
	o->err = errno;
	o->step = 1;
	if (o->err == EINVAL &&
	    listener_install(SECCOMP_FILTER_FLAG_NEW_LISTENER) >= 0)
		o->step = 2;
}

static void check_notify(struct finding *f)
{
	struct outcome o = in_child(notify_child);

	f->needed = true;
	if (o.step == 0) {
		say(f, STANDS, "user notifications with WAIT_KILLABLE_RECV");
		return;
	}
	if (o.step == 2) {
		say(f, ABSENT,
		    "no WAIT_KILLABLE_RECV: signals would break "
		    "calls");
		f->raise = "a kernel of 5.19 or later";
		return;
	}
	say(f, ABSENT, "no listener can be installed: %s", strerror(o.err));
	f->raise = o.err == EBUSY ? "start cloche outside of the supervisor "
				    "that already listens "
				    "here (another cloche, or a container with "
				    "seccomp notify)"
				  : "a kernel with CONFIG_SECCOMP_FILTER, and "
				    "a container that "
				    "allows seccomp(2)";
}

static void trace_child(struct outcome *o)
{
	static volatile long word = 7;
	long copy = 0;
	struct iovec local = {&copy, sizeof(copy)};
	struct iovec remote = {(void *)&word, sizeof(word)};
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) < 0)
		*o = (struct outcome){1, errno};
	else if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
		*o = (struct outcome){2, errno};
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, __WALL);
	}
}

static void check_trace(struct finding *f)
{
	struct outcome o = in_child(trace_child);

	f->needed = true;
	if (o.step == 0) {
		say(f, STANDS, "a child can be traced and its memory copied");
		return;
	}
	say(f, ABSENT, "%s of a child: %s",
	    o.step == 1 ? "tracing" : "copying memory", strerror(o.err));
	f->raise = "allow ptrace and process_vm_readv in the container's "
		   "seccomp profile";
}

static void check_yama(struct finding *f)
{
	char text[16];

	if (!file_text("/proc/sys/kernel/yama/ptrace_scope", text,
		       sizeof(text))) {
		say(f, STANDS, "not in this kernel");
	} else if (text[0] == '3') {
		f->needed = true;
		say(f, ABSENT,
		    "ptrace_scope is 3: nothing can be traced until "
		    "the next boot");
		f->raise = "sysctl kernel.yama.ptrace_scope=1, and reboot";
	} else if (text[0] == '2' && geteuid() != 0) {
		f->needed = true;
		say(f, ABSENT, "ptrace_scope is 2: only administrators trace");
		f->raise = "sysctl kernel.yama.ptrace_scope=1";
	} else {
		say(f, STANDS, "ptrace_scope is %s", text);
	}
}

static void check_landlock(struct finding *f)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0) {
		say(f, ABSENT, "%s: the second wall around files is missing",
		    strerror(errno));
		f->raise =
			"boot with lsm=landlock,... (CONFIG_SECURITY_LANDLOCK)";
	} else if (abi < 6) {
		say(f, WEAKER,
		    "version %ld: no scopes for signals and "
		    "abstract sockets",
		    abi);
		f->raise = "a kernel of 6.12 or later";
	} else {
		say(f, STANDS, "version %ld", abi);
	}
}

/* The directory of our own cgroup in a unified hierarchy, or false. */
static bool own_cgroup(char *path, size_t size)
{
	char line[512];
	FILE *in = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::", 3) == 0;
	}
	if (in)
		fclose(in);
	if (found)
		snprintf(path, size, "/sys/fs/cgroup%s", line + 3);
	return found;
}

static void check_cgroup(struct finding *f)
{
	char path[600], procs[640], control[700], text[256];

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) < 0 ||
	    !own_cgroup(path, sizeof(path))) {
		say(f, WEAKER,
		    "no unified hierarchy (version 2): limits are "
		    "counted and sampled instead");
		f->raise = "boot with systemd.unified_cgroup_hierarchy=1";
		return;
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	snprintf(control, sizeof(control), "%s/cgroup.controllers", path);
	if (access(path, W_OK) < 0 || access(procs, W_OK) < 0) {
		say(f, WEAKER,
		    "version 2, not delegated: limits are counted "
		    "and sampled instead");
		f->raise = "systemd-run --user --scope -p Delegate=yes "
			   "cloche ...";
		return;
	}
	if (!file_text(control, text, sizeof(text)) ||
	    !strstr(text, "memory") || !strstr(text, "pids")) {
		say(f, WEAKER,
		    "version 2, delegated without memory and pids "
		    "controllers");
		f->raise = "systemctl edit user@.service: "
			   "[Service] Delegate=cpu memory pids";
		return;
	}
	say(f, STANDS, "version 2, delegated: %.150s", text);
}

static const struct check checks[] = {
	{"kernel", "the floor of it all", check_kernel},
	{"jail", "namespaces", check_jail},
	{"seccomp", "every named call is answered by cloche", check_notify},
	{"ptrace", "programs are started and ended by cloche", check_trace},
	{"yama", "who may trace", check_yama},
	{"landlock", "a second wall", check_landlock},
	{"cgroup", "exact limits", check_cgroup},
};

/* ---- output ---------------------------------------------------------- */

static const char *const level_names[] = {
	[STANDS] = "stands",
	[WEAKER] = "weaker",
	[ABSENT] = "absent",
};

struct doctor_options {
	bool json;
};

const struct opt cli_doctor_options[] = {
	{"json", 0, NULL, OPT_FLAG, offsetof(struct doctor_options, json), NULL,
	 "JSON instead of text"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static const char *doctor_verdict(const struct finding *all, bool *runs)
{
	*runs = true;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (all[i].needed && all[i].level == ABSENT)
			*runs = false;
	if (!*runs)
		return "cloche cannot run here";
	if (all[1].level == ABSENT)
		return "cloche runs in bare mode: weaker walls";
	return "cloche runs in full";
}

static void doctor_print(const struct finding *all, const char *verdict)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		printf("%-9s %-7s %s\n", checks[i].name,
		       level_names[all[i].level], all[i].detail);
		if (all[i].raise)
			printf("%17s to raise it: %s\n", "", all[i].raise);
	}
	printf("%s\n", verdict);
}

static void doctor_json(const struct finding *all, const char *verdict,
			bool runs)
{
	json_t *list = json_array();
	json_t *o;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:s,s:b,s:s*}", "name",
					checks[i].name, "wall", checks[i].wall,
					"level", level_names[all[i].level],
					"detail", all[i].detail, "needed",
					all[i].needed, "raise", all[i].raise));
	o = json_pack("{s:b,s:b,s:s,s:o}", "runs", runs, "bare",
		      all[1].level == ABSENT, "verdict", verdict, "checks",
		      list);
	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
}

int cli_doctor(int argc, char **argv)
{
	struct doctor_options o = {0};
	struct finding all[ARRAY_SIZE(checks)] = {0};
	const char *verdict;
	bool runs;
	int first = cli_options("doctor", cli_doctor_options, &o, argc, argv);

	if (first < 0)
		return first == OPT_HELP ? 0 : CLI_FAILED;
	if (first < argc) {
		log_info("doctor: unexpected \"%s\"", argv[first]);
		return CLI_FAILED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i].run(&all[i]);
	verdict = doctor_verdict(all, &runs);
	if (o.json)
		doctor_json(all, verdict, runs);
	else
		doctor_print(all, verdict);
	return runs ? 0 : 1;
}
