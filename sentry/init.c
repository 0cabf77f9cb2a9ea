/*
 * init.c - the guests' pid 1: the child that builds the walls around itself,
 * loads the filter, starts commands when the sentry says so, and reaps.
 *
 * It is a fork of the sentry that never executes another program, so no code
 * of the host runs inside. It is not trusted once the filter stands: it can
 * do what any guest can. What it starts is an exec request like any other.
 *
 * LAW 1: where real root started us, setgroups, setresgid and setresuid come
 *   before anything else: until then the child is host root.
 * LAW 2: no capability is left in any set when the filter is loaded, and the
 *   securebits that would give one back are locked.
 *   (test: tests/escape, capabilities and uid 0)
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "command.h"
#include "jail.h"
#include "../loader/stub.h"
#include "../loader/stubimage.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* linux/mount.h clashes with sys/mount.h in this libc; fsconfig commands. */
enum { FSCONF_FLAG = 0, FSCONF_STRING = 1, FSCONF_CREATE = 6 };
enum { MOVE_FROM_EMPTY = 4, FS_CLOEXEC = 1 };

enum { LOOSE_MOUNTS = 3 }; /* the store, pseudo-terminals, message queues */

#define PTY_MAX "512" /* of kernel.pty.max, which is the whole machine's */

/* A command that runs. */
struct running {
	uint32_t id;
	pid_t pid; /* 0: a free row */
	bool last; /* the sandbox ends with it */
};

struct init {
	const struct config *cfg;
	int sock, sigfd;
	bool bare;
	struct running running[JAIL_COMMANDS];
	sigset_t mask;		 /* what commands start with */
	bool fatal;		 /* what fails now is no reason for bare mode */
	bool stored;		 /* the store was made by the sentry */
	bool began;		 /* the first command */
	int loose[LOOSE_MOUNTS]; /* mounts that are nowhere; -1 */
};

/* Reports what failed and ends the child; the sentry falls back or dies. */
NORETURN static void init_fail(struct init *in, const char *what)
{
	struct jail_msg m = {
		.kind = JAIL_FAILED, .value = errno, .fatal = in->fatal};

	snprintf(m.text, sizeof(m.text), "%s", what);
	if (jail_send(in->sock, &m, NULL, 0))
		_exit(1);
	_exit(0);
}

#define MUST(in, what, expr)                 \
	do {                                 \
		if ((long)(expr) < 0)        \
			init_fail(in, what); \
	} while (0)

static void init_ids(struct init *in)
{
	const struct config *cfg = in->cfg;

	/* In the jail always: real root, which its map lacks, looks there like
	 * nobody, who may be asked for. */
	if (in->bare && geteuid() != 0)
		return;
	uid_t uid = in->bare ? JAIL_HIGH_ID : cfg->uid;
	gid_t gid = in->bare ? JAIL_HIGH_ID : cfg->gid;

	/* Denied where an unprivileged user made the maps: no groups then. */
	if (setgroups(0, NULL) < 0 && errno != EPERM)
		init_fail(in, "setgroups");
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	MUST(in, "setresgid", setresgid(gid, gid, gid));
	MUST(in, "setresuid", setresuid(uid, uid, uid));
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* setresuid cleared it */
}

static long read_number(const char *path)
{
	char text[32] = "";
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtol(text, NULL, 10);
}

/* What guests take of inotify counts against the user of the host as well:
 * half of it stays for programs outside. LIMIT: not in bare mode. */
static void init_inotify(void)
{
	static const char *const names[][2] = {
		{"/proc/sys/fs/inotify/max_user_instances",
		 "/proc/sys/user/max_inotify_instances"},
		{"/proc/sys/fs/inotify/max_user_watches",
		 "/proc/sys/user/max_inotify_watches"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		long half = read_number(names[i][0]) / 2;
		AUTO_CLOSE int fd = open(names[i][1], O_WRONLY | O_CLOEXEC);

		if (half <= 0 || fd < 0 || dprintf(fd, "%ld\n", half) < 0)
			log_debug("no limit of inotify in the sandbox: %s",
				  strerror(errno));
	}
}

/* Where something can be mounted before the host's root goes. */
static const char *const places[] = {"/tmp", "/mnt", "/proc", "/dev"};

/* A detached mount of a new instance; options are "key\0value\0". */
static int fs_make(const char *type, const char *const (*opts)[2])
{
	AUTO_CLOSE int fs = (int)syscall(SYS_fsopen, type, FS_CLOEXEC);

	if (fs < 0)
		return -1;
	for (; opts && (*opts)[0]; opts++) {
		const char *value = (*opts)[1];

		if (syscall(SYS_fsconfig, fs,
			    value ? FSCONF_STRING : FSCONF_FLAG, (*opts)[0],
			    value, 0) < 0)
			return -1;
	}
	if (syscall(SYS_fsconfig, fs, FSCONF_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return (int)syscall(SYS_fsmount, fs, FS_CLOEXEC, 0);
}

/* Who closes the last descriptor of a mount that is nowhere waits for all
 * processors (RCU). So they are put below the host's root, with which they go
 * in one. Best effort: those that cannot be cost a wait each. */
static void init_attach(struct init *in)
{
	for (size_t i = 0; i < LOOSE_MOUNTS; i++)
		for (size_t k = 0; in->loose[i] >= 0 && k < ARRAY_SIZE(places);
		     k++)
			if (syscall(SYS_move_mount, in->loose[i], "", AT_FDCWD,
				    places[k], MOVE_FROM_EMPTY) == 0)
				break;
}

static int open_root_of(int mnt)
{
	return openat(mnt, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Namespaces for the network, the machine's name, message queues, semaphores
 * and segments. Made only now that the ids are the guests': the root of the
 * message queues belongs to whoever makes it. Returns that, for Landlock. */
static int init_make_namespaces(struct init *in)
{
	MUST(in, "network, UTS and IPC namespaces",
	     unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC));
	return fs_make("mqueue", NULL);
}

static int init_make_store(struct init *in)
{
	char size[32], inodes[32];
	const char *const opts[][2] = {
		{"mode", "0700"},
		{"inode64", NULL},
		{"nr_inodes", inodes},
		{in->cfg->limits.disk ? "size" : NULL, size},
		{NULL, NULL},
	};
	int mnt;

	snprintf(size, sizeof(size), "%llu",
		 (unsigned long long)in->cfg->limits.disk);
	snprintf(inodes, sizeof(inodes), "%llu",
		 (unsigned long long)jail_store_inodes(in->cfg));
	mnt = fs_make("tmpfs", opts);
	MUST(in, "a tmpfs for the store", mnt);
	in->loose[0] = mnt;
	return open_root_of(mnt);
}

static void write_stub(struct init *in)
{
	int fd = open(&STUB_PATH[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		      0555);

	MUST(in, "writing the stub", fd);
	if (write(fd, stub_image, stub_image_size) != (ssize_t)stub_image_size)
		init_fail(in, "writing the stub");
	MUST(in, "chmod of the stub", fchmod(fd, 0555));
	close(fd);
}

/* An empty tmpfs with nothing but the stub becomes the root. */
static void init_root(struct init *in)
{
	static const char *const opts[][2] = {
		{"mode", "0755"},
		{"size", "65536"},
		{NULL, NULL},
	};
	int mnt = fs_make("tmpfs", opts), ret = -1;

	MUST(in, "a tmpfs for the empty root", mnt);
	MUST(in, "private mounts",
	     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	init_attach(in);
	for (size_t i = 0; i < ARRAY_SIZE(places) && ret < 0; i++)
		ret = syscall(SYS_move_mount, mnt, "", AT_FDCWD, places[i],
			      MOVE_FROM_EMPTY) < 0
			      ? -1
			      : chdir(places[i]);
	MUST(in, "mounting the empty root", ret);
	close(mnt);
	write_stub(in);
	MUST(in, "pivot_root", syscall(SYS_pivot_root, ".", "."));
	MUST(in, "detaching the host's root", umount2(".", MNT_DETACH));
	MUST(in, "chdir to the empty root", chdir("/"));
	MUST(in, "read-only root",
	     mount(NULL, "/", NULL,
		   MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		   NULL));
}

static void init_loopback(struct init *in)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	AUTO_CLOSE int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return; /* a kernel without IPv4 has no loopback either */
	MUST(in, "loopback", ioctl(s, SIOCGIFFLAGS, &ifr));
	ifr.ifr_flags |= IFF_UP | IFF_RUNNING;
	MUST(in, "loopback", ioctl(s, SIOCSIFFLAGS, &ifr));
}

/* Threads of our user on the whole machine. */
static rlim_t user_threads(void)
{
	AUTO_CLOSE int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct stat st;
	rlim_t n = 0;

	if (!dir)
		return 0;
	fd = -1;
	while ((d = readdir(dir))) {
		char task[NAME_MAX + sizeof("/task")];

		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(task, sizeof(task), "%s/task", d->d_name);
		if (fstatat(dirfd(dir), task, &st, 0) == 0 &&
		    st.st_uid == getuid() && st.st_nlink > 2)
			n += st.st_nlink - 2;
	}
	closedir(dir);
	return n;
}

/* Without a user namespace of its own the limit counts the user's other
 * processes too, so those of now are added.
 * LIMIT: what they start later takes from the sandbox's share. */
static void init_limit_pids(struct init *in)
{
	rlim_t most = in->cfg->limits.pids;
	struct rlimit r;

	MUST(in, "process limit", getrlimit(RLIMIT_NPROC, &r));
	if (in->bare)
		most += user_threads();
	if (most > r.rlim_max)
		most = r.rlim_max; /* the caller's own limit is lower */
	r = (struct rlimit){most, most};
	MUST(in, "process limit", setrlimit(RLIMIT_NPROC, &r));
}

static void init_limits(struct init *in)
{
	const struct limits *l = &in->cfg->limits;
	/* 0 would not stop a piped core handler; 1 does. */
	struct rlimit core = {1, 1};

	/* A hard limit of 0 was found harmless by jail_core_limit. */
	if (setrlimit(RLIMIT_CORE, &core) < 0 && errno != EPERM)
		init_fail(in, "core limit");
	if (setrlimit(RLIMIT_NOFILE, &in->cfg->nofile) < 0)
		init_fail(in, "limit of open files");
	if (l->pids)
		init_limit_pids(in);
}

/* All of those that the kernel has. */
static void drop_bounding(struct init *in)
{
	unsigned long cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	if (errno != EINVAL || cap <= CAP_CHECKPOINT_RESTORE)
		init_fail(in, "dropping capabilities");
}

/* By the calls themselves: a library that asks first what there is took two
 * hundred, and looked for /proc, which is not here. */
static void init_drop(struct init *in)
{
	const unsigned long bits =
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		SECBIT_NO_CAP_AMBIENT_RAISE |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	MUST(in, "capabilities", syscall(SYS_capget, &head, caps));
	if (caps[0].permitted & CAP_TO_MASK(CAP_SETPCAP)) {
		/* setresuid left it permitted, but not in effect */
		caps[0].effective |= CAP_TO_MASK(CAP_SETPCAP);
		MUST(in, "capabilities", syscall(SYS_capset, &head, caps));
		MUST(in, "securebits", prctl(PR_SET_SECUREBITS, bits, 0, 0, 0));
		drop_bounding(in);
		MUST(in, "dropping capabilities",
		     prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	}
	memset(caps, 0, sizeof(caps));
	MUST(in, "dropping capabilities", syscall(SYS_capset, &head, caps));
	MUST(in, "no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void init_build(struct init *in, const char *bare_dir)
{
	struct jail_msg m = {.kind = JAIL_READY};
	int fds[2] = {-1, -1};
	char stub[PATH_LEN_MAX];
	struct stat st;
	int ll, queues = -1;

	init_ids(in);
	if (!in->bare) {
		static const char *const pts[][2] = {
			{"ptmxmode", "0666"},
			{"mode", "0620"},
			{"max", PTY_MAX},
			{NULL, NULL},
		};
		int devpts = fs_make("devpts", pts);

		init_inotify();
		queues = init_make_namespaces(in);
		in->loose[1] = devpts;
		in->loose[2] = queues;
		if (!in->stored)
			fds[0] = init_make_store(in);
		fds[1] = devpts < 0 ? -1 : open_root_of(devpts);
		init_root(in);
		init_loopback(in);
	} else {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		if (chdir("/") < 0)
			init_fail(in, "chdir /");
	}
	in->fatal = true;
	init_limits(in);
	init_drop(in);
	snprintf(stub, sizeof(stub), "%s%s", in->bare ? bare_dir : "",
		 in->bare ? "/stub" : STUB_PATH);
	MUST(in, "looking at the stub", stat(stub, &st));
	m.stub_dev = st.st_dev;
	m.stub_ino = st.st_ino;
	ll = landlock_restrict(stub, queues);
	errno = -ll;
	MUST(in, "Landlock", ll);
	m.landlock = ll > 0;
	/* Changing ids made us undumpable, which would keep the tracer out. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	int null = open("/", O_PATH | O_CLOEXEC);

	MUST(in, "opening the empty root", null);
	for (unsigned i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			m.fdmask |= 1u << i;
		else
			fds[i] = null;
	}
	if (jail_send(in->sock, &m, fds, 2))
		_exit(1);
	/* The caller's descriptors are the first command's, not init's. */
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	close_range(4, ~0U, 0);
}

/* By write(2), which is native in both columns: nobody answers yet. */
static void init_tell(struct init *in, const struct jail_msg *m)
{
	if (write(in->sock, m, sizeof(*m)) != (ssize_t)sizeof(*m))
		_exit(1);
}

static void init_filter(struct init *in)
{
	struct jail_msg m;
	struct sock_fprog prog;
	struct sock_filter *code;
	int fd, listener;
	size_t len;

	if (jail_recv(in->sock, &m, &fd, 1) || m.kind != JAIL_FILTER)
		_exit(1);
	len = (size_t)m.value * sizeof(*code);
	code = malloc(len);
	if (!code || pread(fd, code, len, 0) != (ssize_t)len)
		_exit(1);
	close(fd);
	prog.len = (unsigned short)m.value;
	prog.filter = code;
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER |
					SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
				&prog);
	m.kind = listener < 0 ? JAIL_FAILED : JAIL_LISTENER;
	m.value = listener < 0 ? errno : listener;
	init_tell(in, &m);
	if (jail_recv(in->sock, &m, &fd, 1)) /* the sentry has its copy */
		_exit(1);
	close(listener);
	free(code);
}

static const char *env_path(char *const *envp)
{
	for (; *envp; envp++)
		if (!strncmp(*envp, "PATH=", 5))
			return *envp + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

static void try_exec(const char *path, const struct command *c)
{
	execve(path, c->argv, c->envp);
	if (errno == ENOEXEC) { /* as execvp(3): a script without "#!" */
		char **argv = xcalloc(c->argc + 2, sizeof(*argv));

		argv[0] = (char *)"sh";
		argv[1] = (char *)(uintptr_t)path;
		for (size_t i = 1; i < c->argc; i++)
			argv[i + 1] = c->argv[i];
		execve("/bin/sh", argv, c->envp);
		errno = ENOEXEC;
	}
}

NORETURN static void command_failed(const char *name, int err, bool exists)
{
	const char *hint = "";

	if (err == ENOENT && exists)
		hint = " (the file is there; its interpreter, of the first "
		       "line or the dynamic loader, is not)";
	else if (err == ENOENT)
		hint = " (as the sandbox sees it; is it hidden by the profile, "
		       "in the tree of --root, in PATH?)";
	dprintf(2, "cloche: cannot run '%s': %s%s\n", name, strerror(err),
		hint);
	_exit(err == ENOENT || err == ENOTDIR ? 127 : 126);
}

/* execvp(3)'s search, in the guest's view: each try is an exec request. */
NORETURN static void command_exec(const struct command *c)
{
	const char *name = c->argv[0], *p = env_path(c->envp);
	int err = ENOENT;
	bool exists = false;
	struct stat st;
	char path[PATH_LEN_MAX];

	if (strchr(name, '/')) {
		try_exec(name, c);
		err = errno;
		exists = stat(name, &st) == 0;
	} else {
		while (*p || p == env_path(c->envp)) {
			size_t n = strcspn(p, ":");

			snprintf(path, sizeof(path), "%.*s%s%s", (int)n, p,
				 n ? "/" : "", name);
			try_exec(path, c);
			if (errno != ENOENT && errno != ENOTDIR)
				err = errno;
			else if (stat(path, &st) == 0)
				exists = true;
			p += n;
			if (!*p)
				break;
			p++;
		}
	}
	if (!name[0])
		err = ENOENT;
	if (err == EACCES && strchr(name, '/') && stat(name, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		err = EISDIR;
	command_failed(name, err, exists);
}

static void place_fds(const struct jail_msg *m, const int *fds)
{
	unsigned k = 0;
	int tty = -1, at[3] = {-1, -1, -1};

	for (unsigned i = 0; i < 3; i++)
		if (m->fdmask & 1u << i)
			at[i] = fds[k++];
	if (m->fdmask & 1u << 3)
		tty = fds[k];
	if (tty >= 0) {
		setsid();
		ioctl(tty, TIOCSCTTY, 0);
	} else {
		setpgid(0, 0);
	}
	for (int i = 0; i < 3; i++) {
		if (at[i] >= 0)
			dup2(at[i], i);
		else
			close(i);
	}
	close_range(3, ~0U, 0);
}

/* A command's own process, in init's memory. err: c is none, and why. */
NORETURN static void command_main(const struct init *in,
				  const struct jail_msg *m, const int *fds,
				  const struct command *c, int err)
{
	sigprocmask(SIG_SETMASK, &in->mask, NULL);
	place_fds(m, fds);
	if (err) {
		dprintf(2, "cloche: cannot start a command: %s\n",
			strerror(-err));
		_exit(125);
	}
	if (*c->cwd && chdir(c->cwd) < 0) {
		dprintf(2,
			"cloche: cannot use '%s' as the work directory: "
			"%s (as the sandbox sees it)\n",
			c->cwd, strerror(errno));
		_exit(125);
	}
	command_exec(c);
}

static struct running *running_find(struct init *in, uint32_t id)
{
	for (unsigned i = 0; i < JAIL_COMMANDS; i++)
		if (in->running[i].pid && in->running[i].id == id)
			return &in->running[i];
	return NULL;
}

static struct running *running_free(struct init *in)
{
	for (unsigned i = 0; i < JAIL_COMMANDS; i++)
		if (!in->running[i].pid)
			return &in->running[i];
	return NULL;
}

static void tell_exited(struct init *in, uint32_t id, int status)
{
	struct jail_msg m = {.kind = JAIL_EXITED, .id = id, .value = status};

	init_tell(in, &m);
}

/* The process limit, most likely: errno says. */
static void tell_unstarted(struct init *in, uint32_t id)
{
	struct jail_msg m = {.kind = JAIL_EXITED, .value = 125 << 8, .id = id};

	snprintf(m.text, sizeof(m.text), "%s", strerror(errno));
	init_tell(in, &m);
}

/* For the first command init waits until its process has executed a program: a
 * copy of init's memory would take longer than that. Later there are guests,
 * who could stop that process, and init with it. */
static pid_t init_start(struct init *in, const struct jail_msg *m,
			const int *fds, struct command *c, int err)
{
	pid_t pid = in->began ? fork() : vfork();

	if (pid == 0)
		command_main(in, m, fds, c, err);
	in->began = true;
	return pid;
}

static void init_run(struct init *in, const struct jail_msg *m, const int *fds)
{
	struct running *r = running_free(in);
	struct command c;
	int err = command_read(fds[0], &c);
	pid_t pid = r ? init_start(in, m, fds + 1, &c, err) : -1;

	if (pid > 0)
		*r = (struct running){m->id, pid, m->value != 0};
	else
		tell_unstarted(in, m->id);
	if (!err)
		command_fini(&c);
}

static void init_reap(struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct running *r = in->running;

		while (r < in->running + JAIL_COMMANDS && r->pid != pid)
			r++;
		if (r == in->running + JAIL_COMMANDS)
			continue;
		r->pid = 0;
		tell_exited(in, r->id, status);
		if (r->last && !in->bare)
			_exit(0); /* everything in here ends with pid 1 */
	}
}

/* Until the child has made its own group the signal is for it alone. */
static void init_signal(struct init *in, const struct jail_msg *m)
{
	struct running *r = running_find(in, m->id);

	if (r && kill(-r->pid, m->value) < 0)
		kill(r->pid, m->value);
}

static void init_message(struct init *in)
{
	struct jail_msg m;
	int fds[JAIL_FDS];

	if (jail_recv(in->sock, &m, fds, JAIL_FDS))
		_exit(0); /* the sentry has gone */
	if (m.kind == JAIL_RUN)
		init_run(in, &m, fds);
	else if (m.kind == JAIL_SIGNAL)
		init_signal(in, &m);
	for (unsigned i = 0; i < JAIL_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void scrub_strings(char *const *v)
{
	for (; v && *v; v++)
		explicit_bzero(*v, strlen(*v));
}

/* The caller's environment may hold secrets, and a fork has a copy of it where
 * /proc/1/environ points. Commands come with their own. */
static void init_scrub(const struct config *cfg)
{
	extern char **environ;

	scrub_strings(environ);
	clearenv();
	scrub_strings(cfg->envp);
	scrub_strings(cfg->argv);
	prctl(PR_SET_NAME, "init", 0, 0, 0);
}

/* The socket becomes 3, the store's mount, if there is one, 4. */
static int keep_two(int sock, int mount_fd)
{
	int high = fcntl(sock, F_DUPFD_CLOEXEC, 5);
	bool two = mount_fd >= 0;

	if (high < 0 ||
	    (two && mount_fd != 4 && dup3(mount_fd, 4, O_CLOEXEC) < 0) ||
	    dup3(high, 3, O_CLOEXEC) < 0)
		return -errno;
	return close_range(two ? 5 : 4, ~0U, 0);
}

NORETURN void init_main(const struct config *cfg, int sock, int mount_fd,
			bool bare, const char *bare_dir)
{
	struct init in = {
		.cfg = cfg, .sock = sock, .bare = bare, .loose = {-1, -1, -1}};
	struct jail_msg m;
	sigset_t all;
	int none;

	if (jail_recv(sock, &m, &none, 1) || m.kind != JAIL_MAPPED)
		_exit(1);
	in.stored = m.value != 0;
	in.sock = 3;
	if (keep_two(sock, mount_fd))
		_exit(1);
	if (mount_fd >= 0)
		in.loose[0] = 4;
	sock = 3;
	/* A session whose leader has a number inside. */
	if (setsid() < 0)
		_exit(1);
	init_scrub(cfg);
	init_build(&in, bare_dir);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &in.mask);
	in.sigfd = signalfd(-1, &all, SFD_CLOEXEC);
	if (in.sigfd < 0)
		_exit(1);
	init_filter(&in);
	for (;;) {
		struct pollfd p[2] = {{.fd = sock, .events = POLLIN},
				      {.fd = in.sigfd, .events = POLLIN}};
		struct signalfd_siginfo si;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents &&
		    read(in.sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si))
			init_reap(&in);
		if (p[0].revents)
			init_message(&in);
	}
}
