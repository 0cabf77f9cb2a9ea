/*
 * run.c - one sandbox from start to end; see run.h.
 *
 * Order matters: the child that becomes init is forked while there is one
 * thread and nothing secret in memory; it is traced before it is filtered,
 * and filtered before it starts anything; the sentry confines itself before
 * the first guest instruction.
 */
#include "run_priv.h"

#include <fcntl.h>
#include <malloc.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "audit/audit.h"
#include "base/costs.h"
#include "command.h"
#include "confine.h"
#include "exec.h"
#include "filterdata.h"
#include "heap.h"
#include "jail.h"
#include "limits.h"
#include "mounts.h"
#include "notify.h"
#include "observe.h"
#include "outside.h"
#include "policy/policy.h"
#include "sentry.h"
#include "stdio.h"
#include "terminal.h"
#include "trace.h"
#include "workers.h"

enum {
	EXIT_TIMEOUT = 124,
	EXIT_CLOCHE = 125,
	NOFILE_WANTED = 65536,
	NOFILE_LEAST = 128,
	FDTABLE = 8192 /* 64 KiB of the kernel's */
};
enum { KILL_AGAIN_MS = 20, PIDS_DEFAULT = 4096, STORE_FULL_BYTES = 8192 };

/* personality(2), and the system's switch (proc_sys_kernel(5)). */
static bool aslr_is_on(void)
{
	char c = '2';
	AUTO_CLOSE int fd = open("/proc/sys/kernel/randomize_va_space",
				 O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, &c, 1) == 1 && c == '0')
		return false;
	return !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
}

static void sentry_init(struct sentry *s, const struct config *cfg)
{
	uint64_t id = 0;
	struct timespec ts;

	s->cfg = cfg;
	s->aslr = aslr_is_on();
	pthread_mutex_init(&s->lock, NULL);
	htable_init(&s->tasks);
	htable_init(&s->tgroups_by_pid);
	htable_init(&s->sockets);
	list_init(&s->tgroups);
	list_init(&s->fd_tables);
	list_init(&s->images);
	s->listener = s->devpts_fd = s->tty_ptmx = s->tty_slave_nr = -1;
	s->init_pidfd = -1;
	if (getrandom(&id, sizeof(id), 0) < 0)
		id = (uint64_t)getpid();
	snprintf(s->id, sizeof(s->id), "%012llx",
		 (unsigned long long)(id & 0xffffffffffffULL));
	clock_gettime(CLOCK_MONOTONIC, &ts);
	s->start_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A sandbox must not take the machine down when nobody said how much it may
 * use: half of the memory for files, four fifths for processes. */
static void default_limits(struct limits *l)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE);

	if (!l->pids)
		l->pids = PIDS_DEFAULT;
	if (!l->disk)
		l->disk = ram / 2;
	if (!l->memory)
		l->memory = ram / 5 * 4;
}

/* `begun` is what jail_begin said. */
static void jail_or_bare(struct run *r, int begun)
{
	const struct config *cfg = r->s.cfg;
	bool force = cfg->insecure_no_userns;
	int ret;

	if (!force) {
		if (!begun)
			begun = jail_ready(&r->jail);
		if (!begun)
			return;
		if (r->jail.fatal)
			die("cannot start a sandbox: %s; see `cloche doctor`",
			    r->jail.reason);
		log_warn("user namespaces do not work here (%s); running in "
			 "bare mode: weaker walls, no internet sockets; see "
			 "`cloche doctor`",
			 r->jail.reason);
		confine_undo(fd_take(&r->host_net));
	}
	ret = jail_begin(&r->jail, cfg, true);
	if (!ret)
		ret = jail_ready(&r->jail);
	if (ret)
		die("cannot start a sandbox: %s; see `cloche doctor`",
		    r->jail.reason);
	if (force)
		log_warn("bare mode was asked for: weaker walls, no internet "
			 "sockets");
	r->s.bare = true;
}

/* The sentry needs descriptors for every copy and every worker. */
/* A table of descriptors that grows while there are threads waits for all
 * processors (RCU, fs/file.c), 10 to 20 ms in the middle of a guest's open:
 * this one is large before there are any. */
static void grow_fdtable(rlim_t limit)
{
	AUTO_CLOSE int any = open("/", O_PATH | O_CLOEXEC);
	AUTO_CLOSE int last = -1;

	if (any >= 0)
		last = fcntl(any, F_DUPFD_CLOEXEC,
			     (int)(limit < FDTABLE ? limit : FDTABLE) - 1);
}

static void raise_nofile(struct config *cfg)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		die("getrlimit: %s", strerror(errno));
	cfg->nofile = rl;
	if (rl.rlim_max < NOFILE_LEAST)
		die("the hard limit of open files is %llu and cloche itself "
		    "needs %d; raise it, for example by `ulimit -Hn %d`",
		    (unsigned long long)rl.rlim_max, NOFILE_LEAST,
		    NOFILE_LEAST);
	rl.rlim_cur = rl.rlim_max < NOFILE_WANTED ? rl.rlim_max : NOFILE_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
		log_debug("NOFILE: %s", strerror(errno));
	grow_fdtable(rl.rlim_cur);
}

static void make_vfs(struct run *r)
{
	struct sentry *s = &r->s;
	struct vfs_config vc = {
		.store_fd = r->jail.store_fd,
		.store_emulated = s->bare,
		.mask = policy_mask,
		.dir_alike = policy_dir_alike,
		.name_told = policy_name_told,
		.mask_arg = s->policy,
		.owner_uid = s->cfg->uid,
		.owner_gid = s->cfg->gid,
		.map_owner = s->cfg->virtual_ids && geteuid() != 0,
		.host_uid = geteuid(),
		.host_gid = getegid(),
		.standins = s->cfg->virtual_ids,
		.quota_bytes = s->cfg->limits.disk,
	};
	int ret = vfs_new(&vc, &s->vfs);

	if (ret)
		die("cannot make the virtual file system: %s", strerror(-ret));
	mounts_build(s, r->jail.devpts_fd);
	outside_mounts(s);
	if (s->cfg->seed && s->cfg->seed(s->cfg, s->vfs))
		die("cannot start with what %s has", s->cfg->seed_name);
}

static struct taskcred *first_cred(const struct config *cfg)
{
	struct taskcred *c = xcalloc(1, sizeof(*c));

	c->refs = 1;
	c->ruid = c->euid = c->suid = c->fsuid = cfg->uid;
	c->rgid = c->egid = c->sgid = c->fsgid = cfg->gid;
	c->ngroups = cfg->ngroups < ARRAY_SIZE(c->groups)
			     ? cfg->ngroups
			     : ARRAY_SIZE(c->groups);
	memcpy(c->groups, cfg->groups, c->ngroups * sizeof(gid_t));
	c->cap_bounding = (1ULL << (CAP_LAST_CAP + 1)) - 1;
	/* Ids that are the caller's own cannot change. */
	c->no_new_privs = !cfg->virtual_root && !cfg->virtual_ids;
	if (cfg->virtual_root)
		c->cap_permitted = c->cap_effective = c->cap_bounding;
	return c;
}

/* Before there are other threads: they have the network namespace of their
 * maker. */
static void hold_init(struct run *r)
{
	struct sentry *s = &r->s;

	s->init = r->jail.init;
	s->init_pidfd = (int)syscall(SYS_pidfd_open, s->init, 0);
	if (s->init_pidfd < 0)
		die("cannot hold the sandbox's first process: %s",
		    strerror(errno));
	if (r->host_net < 0)
		r->host_net = confine_network();
	if (r->host_net >= 0)
		close(fd_take(&r->host_net));
}

/* Init's row in the task table: what its children inherit. */
static void make_first_task(struct run *r)
{
	struct sentry *s = &r->s;
	struct taskcred *cred = first_cred(s->cfg);
	struct vcred vc = {.uid = cred->fsuid,
			   .gid = cred->fsgid,
			   .groups = cred->groups,
			   .ngroups = cred->ngroups,
			   .caps = cred->cap_effective};
	struct vfs_ctx ctx = {.vfs = s->vfs,
			      .cred = &vc,
			      .root = vfs_root(s->vfs),
			      .cwd = vfs_root(s->vfs)};
	struct vfs_at at = {.path = s->cfg->workdir};
	struct vref ref = {0};
	mode_t mask = umask(0);
	struct task *t;
	int ret;

	umask(mask);
	ret = vfs_lookup(&ctx, &at, VFS_FOLLOW | VFS_DIRECTORY, &ref);
	if (ret)
		die("cannot use %s as the work directory: %s (as the sandbox "
		    "sees it; --workdir DIR chooses another)",
		    s->cfg->workdir, strerror(-ret));
	t = task_new_first(s, s->init,
			   fsctx_new(vfs_root(s->vfs), ref.dentry, mask), cred);
	vref_put(&ref);
	t->tg->nofile = s->cfg->nofile;
	t->tg->core = r->core;
}

static int load_filter(struct run *r)
{
	struct sock_fprog prog = !r->s.bare && outside_datagrams(&r->s)
					 ? filterdata_datagrams()
					 : filterdata_guest(r->s.bare);

	return jail_filter(&r->jail, &prog);
}

static void take_listener(struct run *r, int ret)
{
	if (!ret)
		ret = jail_listener(&r->jail);
	if (ret)
		die("cannot load the seccomp filter: %s; see `cloche doctor`",
		    strerror(-ret));
	r->s.listener = r->jail.listener;
	notify_tune(r->s.listener);
	audit_clock_settle(r->s.audit);
	if (pthread_create(&r->notify, NULL, notify_main, &r->s))
		die("cannot start a thread: %s", strerror(errno));
}

static void block_signals(struct run *r)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++)
		sigaddset(&set, sigs[i]);
	sigprocmask(SIG_BLOCK, &set, &r->old_mask);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN); /* a lease of store_busy was broken */
	r->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	BUG_ON(r->sigfd < 0);
}

static void start_timer(struct run *r)
{
	uint64_t ms = r->s.cfg->limits.timeout_ms;
	struct itimerspec it = {
		.it_value = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}};

	r->timer = -1;
	if (!ms)
		return;
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (r->timer < 0 || timerfd_settime(r->timer, 0, &it, NULL) < 0)
		die("cannot set the time limit: %s", strerror(errno));
}

/* A pty of the sandbox's own devpts for the caller's terminal. */
static void open_terminal(struct run *r)
{
	int ret;

	r->slave = -1;
	if (!r->io.want_tty)
		return;
	ret = run_open_pty(&r->s, &r->s.tty_ptmx, &r->slave);
	if (ret)
		die("cannot make a terminal for the sandbox: %s",
		    strerror(-ret));
	for (int i = 0; i < 3; i++)
		if (r->io.tty[i])
			r->io.fds[i] = r->slave;
}

static void audit_start(struct run *r)
{
	struct sentry *s = &r->s;
	struct audit_event ev = {.call = "start", .verdict = AUDIT_ALLOW};
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_puts(&b, "{\"argv\":[");
	for (char **a = s->cfg->argv; *a; a++) {
		if (a != s->cfg->argv)
			strbuf_putc(&b, ',');
		strbuf_json_string(&b, *a, strlen(*a));
	}
	strbuf_printf(&b, "],\"mode\":\"%s\",\"landlock\":%s,\"profile\":",
		      s->bare ? "bare" : "jailed",
		      r->jail.landlock ? "true" : "false");
	strbuf_json_string(&b, s->cfg->profile, strlen(s->cfg->profile));
	strbuf_puts(&b, ",\"cwd\":");
	strbuf_json_string(&b, s->cfg->workdir, strlen(s->cfg->workdir));
	strbuf_putc(&b, '}');
	ev.args = b.data;
	ev.args_len = b.len;
	audit_emit(s->audit, &ev);
	strbuf_fini(&b);
}

/* On the audit writer's thread. What is not recorded must not happen. */
static void on_audit_failure(void *arg, int err)
{
	struct run *r = arg;

	(void)err;
	r->audit_broken = true;
	r->s.ending = true;
	if (syscall(SYS_pidfd_send_signal, r->s.init_pidfd, SIGKILL, NULL, 0) <
	    0)
		log_debug("init has gone: %s", strerror(errno));
}

static void start_tracer(struct run *r)
{
	struct sentry *s = &r->s;
	int ret;

	workers_init(s);
	ret = trace_start(s, r->jail.init);
	if (ret)
		die("cannot trace the sandbox: %s; see `cloche doctor` "
		    "(Yama's ptrace_scope?)",
		    strerror(-ret));
}

/* Everything in the sandbox ends: pid 1 takes the rest with it, or, in bare
 * mode, one after the other until none is left. */
void run_kill(struct run *r)
{
	struct sentry *s = &r->s;

	s->ending = true; /* the tracer kills what forks meanwhile */
	/* Numbers may be somebody else's once the tracer has reaped. */
	if (syscall(SYS_pidfd_send_signal, s->init_pidfd, SIGKILL, NULL, 0) < 0)
		log_debug("init has gone: %s", strerror(errno));
	if (!s->bare)
		return;
	sentry_lock(s);
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		kill(tg->pid, SIGKILL);
	}
	sentry_unlock(s);
}

static void start_first(struct run *r)
{
	const struct config *cfg = r->s.cfg;
	struct run_command c = {
		.cwd = cfg->workdir,
		.argv = cfg->argv,
		.envp = cfg->envp,
		.tty = r->slave,
	};
	int ret;

	memcpy(c.fds, r->io.fds, sizeof(c.fds));
	ret = run_start(r, &c, true);
	if (ret)
		die("cannot start the command: %s", strerror(-ret));
	r->first = r->last_id;
	if (stdio_relay_start(&r->io))
		die("cannot start a relay thread");
	if (r->slave >= 0)
		r->term_on = terminal_start(&r->term, r->s.tty_ptmx) == 0;
}

static void on_jail_message(struct run *r)
{
	struct run_service *sv = r->s.cfg->service;
	struct jail_msg m;
	int fd, ret = jail_recv(r->jail.sock, &m, &fd, 1);

	if (ret == 0 && fd >= 0)
		close(fd); /* init may be anybody by now */
	if (ret == 0 && m.kind != JAIL_EXITED)
		return;
	if (ret == 0 && m.id != r->first) {
		if (sv)
			sv->exited(sv->arg, m.id, m.value);
		return;
	}
	if (r->ended)
		return;
	r->ended = true;
	if (ret == 0 && m.text[0])
		log_info("the command cannot be started: %.199s; --pids is "
			 "%llu",
			 m.text, (unsigned long long)r->s.cfg->limits.pids);
	if (ret == 0)
		r->s.exit_status = WIFSIGNALED(m.value)
					   ? 128 + WTERMSIG(m.value)
					   : WEXITSTATUS(m.value);
	else if (!r->timed_out)
		r->s.exit_status = 128 + SIGKILL;
	run_kill(r);
}

/* A kept sandbox outlives the session that it was started from. */
static void on_signal(struct run *r)
{
	bool keeps = r->s.cfg->service && r->s.cfg->service->keeps;
	struct signalfd_siginfo si;

	while (read(r->sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		int sig = (int)si.ssi_signo;

		/* Who asks twice does not want to wait for a program that
		 * is stopped, or does not listen. */
		if (!keeps && sig != SIGINT && r->asked_to_end++)
			run_kill(r);
		else if (!keeps)
			jail_signal(&r->jail, r->first, sig);
		else if (sig == SIGTERM || sig == SIGINT)
			run_end(&r->s, 128 + sig);
	}
}

static void record_limit(struct run *r, const char *what, const char *option)
{
	struct audit_event ev = {.call = "limit", .verdict = AUDIT_LIMIT};
	char args[96];

	ev.args = args;
	ev.args_len = (size_t)snprintf(args, sizeof(args), "{\"limit\":\"%s\"}",
				       what);
	snprintf(ev.rule, sizeof(ev.rule), "%s", option);
	audit_emit(r->s.audit, &ev);
}

/* Says what was limited, records it, and ends the sandbox. */
static void limit_reached(struct run *r, const char *what, const char *option)
{
	struct run_service *sv = r->s.cfg->service;
	char why[160];

	snprintf(why, sizeof(why),
		 "the limit of %s was reached and the "
		 "sandbox stopped; %s sets it",
		 what, option);
	record_limit(r, what, option);
	snprintf(r->limit_note, sizeof(r->limit_note), "%s", why);
	if (sv)
		sv->limited(sv->arg, why,
			    r->timed_out ? EXIT_TIMEOUT : 128 + SIGKILL);
	run_kill(r);
}

/* A limit at which calls fail and the sandbox goes on. */
static void limit_felt(struct run *r, bool *said, const char *what,
		       const char *option)
{
	if (!*said)
		record_limit(r, what, option);
	*said = true;
}

/* Processes are counted by the kernel and the store by its tmpfs: neither
 * tells of a call that failed. Both are looked at now and then. */
static void look_at_limits(struct run *r)
{
	uint64_t used, size;

	if (r->s.pids_full)
		limit_felt(r, &r->pids_said, "processes", "--pids");
	if (!r->disk_said && run_store_usage(&r->s, &used, &size) && size &&
	    size - used < STORE_FULL_BYTES)
		limit_felt(r, &r->disk_said, "disk", "--disk");
}

static void say_limits(const struct run *r)
{
	if (r->pids_said)
		log_info("the limit of processes and threads was reached: no "
			 "more could be started; --pids sets it");
	if (r->disk_said)
		log_info("the limit of what is written was reached; --disk "
			 "sets it");
}

static void on_timeout(struct run *r)
{
	uint64_t n;

	if (read(r->timer, &n, sizeof(n)) < 0)
		return;
	r->timed_out = true;
	limit_reached(r, "time", "--timeout");
}

static void sample_limits(struct run *r)
{
	const char *what = limits_check(&r->s, &r->memfiles);

	if (!what || r->limited)
		return;
	r->limited = true;
	limit_reached(r, what, what[0] == 'm' ? "--memory" : "--cpu-time");
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* What many files took is the host's again when they have gone. */
static void give_back(struct sentry *s)
{
	bool due;

	sentry_lock(s);
	due = vfs_trim_due(s->vfs);
	sentry_unlock(s);
	if (due)
		malloc_trim(0);
}

enum {
	P_JAIL,
	P_SIGNAL,
	P_TIMER,
	P_VFS,
	P_WAKE,
	P_SERVICE,
	P_OUTSIDE,
	P_HTTP,
	P_TERM,
	P_COUNT = P_TERM + TERMINAL_POLLFDS
};

static int loop_timeout(struct sentry *s, bool busy)
{
	int ms = affinity_timeout(s);

	if (ms >= 0)
		return ms;
	if (busy)
		return WORKERS_TICK_MS;
	return limits_sampled(s->cfg) ? LIMITS_TICK_MS : -1;
}

static void loop_once(struct run *r)
{
	struct sentry *s = &r->s;
	struct run_service *sv = s->cfg->service;
	bool busy = workers_busy(s);
	uint64_t n;
	struct pollfd p[P_COUNT] = {
		[P_JAIL] = {.fd = r->jail.sock, .events = POLLIN},
		[P_SIGNAL] = {.fd = r->sigfd, .events = POLLIN},
		[P_TIMER] = {.fd = r->timer, .events = POLLIN},
		[P_VFS] = {.fd = vfs_poll_fd(s->vfs), .events = POLLIN},
		[P_WAKE] = {.fd = workers_wake_fd(s), .events = POLLIN},
		[P_SERVICE] = {.fd = sv ? sv->fd : -1, .events = POLLIN},
		[P_OUTSIDE] = {.fd = outside_fd(s), .events = POLLIN},
		[P_HTTP] = {.fd = outside_http_fd(s), .events = POLLIN},
	};
	nfds_t count = P_TERM;

	if (r->term_on) {
		terminal_pollfds(&r->term, p + P_TERM);
		count = P_COUNT;
	}
	if (poll(p, count, loop_timeout(s, busy)) < 0)
		return;
	affinity_tick(s);
	if (limits_sampled(s->cfg) &&
	    now_ms() - r->sampled_ms >= LIMITS_TICK_MS) {
		r->sampled_ms = now_ms();
		sample_limits(r);
		look_at_limits(r);
		give_back(s);
	}
	if (p[P_WAKE].revents && read(workers_wake_fd(s), &n, sizeof(n)) < 0)
		return;
	if (busy)
		workers_tick(s);
	if (p[P_VFS].revents) {
		sentry_lock(s);
		vfs_poll(s->vfs);
		sentry_unlock(s);
	}
	if (r->term_on)
		terminal_handle(&r->term, p + P_TERM);
	if (p[P_SIGNAL].revents)
		on_signal(r);
	if (p[P_TIMER].revents)
		on_timeout(r);
	if (p[P_HTTP].revents)
		outside_http_event(s);
	if (p[P_OUTSIDE].revents)
		outside_event(s);
	if (p[P_SERVICE].revents)
		sv->poll(sv->arg);
	if (p[P_JAIL].revents)
		on_jail_message(r);
}

static int finish(struct run *r)
{
	struct sentry *s = &r->s;
	int status = r->timed_out ? EXIT_TIMEOUT : s->exit_status;

	if (r->audit_broken)
		status = EXIT_CLOCHE;
	/* In bare mode a guest may fork while the others are being killed. */
	while (!trace_join(s, KILL_AGAIN_MS))
		run_kill(r);
	pthread_join(r->notify, NULL);
	if (r->slave >= 0)
		close(r->slave);
	if (r->term_on)
		terminal_stop(&r->term);
	look_at_limits(r);
	say_limits(r); /* not while the terminal is raw */
	if (r->limit_note[0])
		log_info("%s", r->limit_note);
	if (r->audit_broken)
		log_info("the audit stream could not be written, so the "
			 "sandbox was stopped");
	/* What follows is between the caller and us: ^C means us again. */
	pthread_sigmask(SIG_SETMASK, &r->old_mask, NULL);
	stdio_relay_finish(&r->io);
	outside_finish(s);
	if (s->cfg->service)
		s->cfg->service->end(s->cfg->service->arg);
	if (s->cfg->after)
		s->cfg->after(s->cfg, s->vfs, s->audit);
	vfs_leave(s->vfs);
	jail_fini(&r->jail); /* bare mode's store was looked at till now */
	audit_close(s->audit, status);
	if (s->cfg->costs_fd >= 0 && costs_write(s->cfg->costs_fd))
		log_host(errno, "writing the costs");
	return status;
}

int sentry_run(struct config *cfg)
{
	struct run *r = xcalloc(1, sizeof(*r));
	struct sentry *s = &r->s;
	struct run_service *sv = cfg->service;
	bool keeps = sv && sv->keeps;
	int ret, filtered;

	heap_tune();
	outside_http_read(s, cfg);
	default_limits(&cfg->limits);
	raise_nofile(cfg);
	sentry_init(s, cfg);
	if (cfg->costs_fd >= 0)
		costs_enable();
	if (notify_check_sizes())
		die("this kernel has no seccomp user notification; Linux 5.19 "
		    "or newer is needed");
	if (keeps)
		stdio_none(&r->io);
	else
		stdio_classify(&r->io, cfg->limits.output);
	getrlimit(RLIMIT_CORE, &r->core);
	ret = cfg->insecure_no_userns ? 0 : jail_begin(&r->jail, cfg, false);
	heap_fill();
	r->host_net = -1;
	/* The gateway is to be in the host's network. */
	if (!ret && !cfg->insecure_no_userns && !outside_wanted(cfg))
		r->host_net = confine_network();
	if (policy_new(cfg, &s->policy))
		return EXIT_CLOCHE;
	jail_or_bare(r, ret);
	outside_start(s, r->jail.init);
	s->kuid = geteuid() ? geteuid() : JAIL_HIGH_ID;
	s->kgid = geteuid() ? getegid() : JAIL_HIGH_ID;
	s->stub_path = r->jail.stub_path;
	s->stub_dev = r->jail.stub_dev;
	s->stub_ino = r->jail.stub_ino;
	s->devpts_fd = r->jail.devpts_fd >= 0
			       ? fcntl(r->jail.devpts_fd, F_DUPFD_CLOEXEC, 3)
			       : -1;
	if (audit_open(cfg->audit, s->id, cfg->audit_head_fd, &s->audit))
		return EXIT_CLOCHE;
	if (observe_init(s))
		return EXIT_CLOCHE;
	hold_init(r);
	affinity_init(s);
	block_signals(r);
	start_tracer(r);
	filtered = load_filter(r); /* init's work, while we go on */
	make_vfs(r);
	make_first_task(r);
	open_terminal(r);
	for (int i = 0; i < 3; i++)
		memfiles_expect_fd(s, r->io.fds[i]);
	ret = stdio_register(&r->io, s);
	if (ret)
		die("cannot pass a file on descriptors 0-2: %s",
		    strerror(-ret));
	take_listener(r, filtered);
	audit_on_failure(s->audit, on_audit_failure, r);
	audit_start(r);
	if (audit_flush(s->audit))
		die("the audit stream cannot be written to %s: %s", cfg->audit,
		    strerror(audit_failed(s->audit)));
	if (confine_self())
		die("cannot confine the sentry itself");
	start_timer(r);
	if (sv && sv->start(sv->arg, s))
		return EXIT_CLOCHE;
	if (!keeps)
		start_first(r);
	r->sampled_ms = now_ms();
	while (!r->ended)
		loop_once(r);
	return finish(r);
}
