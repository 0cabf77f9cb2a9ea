/*
 * own.c - a command of the user's: natively, by cloche, and by the peers that
 * are installed.
 *
 * Every round runs each side once, in an order that turns, so that what else
 * the machine does falls on all; a ratio is of two runs of the same round. The
 * peak of memory is sampled in a run of its own, and the calls and where the
 * sentry's time went come from another with an audit stream: both would
 * disturb the clock.
 */
#include "suite.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "../../sentry/base/strbuf.h"
#include "own.h"
#include "stats.h"

enum { PREFIX_MAX = 24, RUNS_MAX = 10000 };

struct peer {
	const char *name, *program;
	const char *prefix[PREFIX_MAX]; /* "@": the work directory */
};

/* Each in its usual way of running a command here, with files shared. */
static const struct peer peers[] = {
	{"native", NULL, {NULL}},
	{"cloche", NULL, {"run", "--quiet", "--"}},
	{"bwrap",
	 "bwrap",
	 {"--unshare-all", "--bind", "/", "/", "--dev", "/dev", "--proc",
	  "/proc", "--chdir", "@", "--"}},
	{"strace", "strace", {"-f", "-qq", "-o", "/dev/null", "--"}},
	{"proot", "proot", {"-r", "/", "-w", "@"}},
	{"runsc", "runsc", {"--rootless", "--network=none", "do", "--"}},
	{"sandlock", "sandlock", {"run", "-r", "/", "-w", "@", "--"}},
	{"syd", "syd", {"-poff", "--"}},
};

enum { SIDES = ARRAY_SIZE(peers) };

struct side {
	char *argv[PREFIX_MAX + 4096];
	double wall[RUNS_MAX], cpu[RUNS_MAX];
	size_t runs;
	char left_out[160];
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The path of an installed program, or NULL. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");

	for (const char *p = path; p && *p; p += *p == ':') {
		size_t len = strcspn(p, ":");
		char *full = xasprintf("%.*s/%s", (int)len, p, name);

		if (len && access(full, X_OK) == 0)
			return full;
		free(full);
		p += len;
	}
	return NULL;
}

/* In a child: quiet, and dead with us. */
NORETURN static void become(char *const argv[], bool quiet)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 ||
	    (quiet && dup2(null, STDERR_FILENO) < 0))
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static pid_t spawn(char *const argv[], bool quiet)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(argv, quiet);
	return pid;
}

static int prepare(const struct own_options *o)
{
	char *argv[] = {"/bin/sh", "-c", (char *)o->prepare, NULL};
	pid_t pid;
	int status;

	if (!o->prepare)
		return 0;
	pid = spawn(argv, false);
	status = pid < 0 ? -1 : cost_wait(pid);
	if (status == 0)
		return 0;
	log_info("bench: --prepare failed (status %d): %s",
		 WIFEXITED(status) ? WEXITSTATUS(status) : 128, o->prepare);
	return -EINVAL;
}

static double used_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

/* One run: its wall and processor time; its exit status, or 128 + signal. */
static int timed(char *const argv[], bool quiet, double *wall, double *cpu)
{
	double begin = now_ms();
	pid_t pid = spawn(argv, quiet);
	struct rusage u = {0};
	int status = 0;

	if (pid < 0)
		return 125;
	while (wait4(pid, &status, 0, &u) < 0 && errno == EINTR)
		;
	*wall = now_ms() - begin;
	*cpu = used_ms(&u);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int suite_peers_known(const char *list)
{
	char name[64];

	for (const char *p = list; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");
		bool known = len == 4 && !strncmp(p, "none", len);

		for (size_t i = 2; i < ARRAY_SIZE(peers); i++)
			known |= strlen(peers[i].name) == len &&
				 !strncmp(p, peers[i].name, len);
		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		p += len;
		if (known)
			continue;
		log_info("bench: there is no peer \"%s\"; `cloche help bench` "
			 "has them",
			 name);
		return -EINVAL;
	}
	return 0;
}

static bool wanted(const struct own_options *o, size_t i)
{
	return i < 2 || !o->peers || suite_names(o->peers, peers[i].name);
}

/* Fills argv; false: not installed. */
static bool side_argv(struct side *s, const struct peer *p, char *self,
		      char *cwd, char **command)
{
	size_t n = 0;

	if (p->program || p->prefix[0]) {
		s->argv[n] = p->program ? find_program(p->program) : self;
		if (!s->argv[n++])
			return false;
	}
	for (size_t i = 0; i < PREFIX_MAX && p->prefix[i]; i++)
		s->argv[n++] = strcmp(p->prefix[i], "@") == 0
				       ? cwd
				       : (char *)p->prefix[i];
	for (size_t i = 0; command[i] && n < ARRAY_SIZE(s->argv) - 1; i++)
		s->argv[n++] = command[i];
	return true;
}

static void side_leave(struct side *s, const char *why, int status)
{
	snprintf(s->left_out, sizeof(s->left_out), why, status);
}

/* Runs one side once; `count` keeps the times. Only a native failure is an
 * error: what a peer cannot run is left out, and says so. */
static int side_run(struct side *sides, size_t i, const struct own_options *o,
		    bool count, int *native)
{
	struct side *s = &sides[i];
	double wall = 0, cpu = 0;
	int status = prepare(o);

	if (status)
		return status;
	status = timed(s->argv, !(i == 0 && !count), &wall, &cpu);
	if (i == 0 && !count) {
		*native = status;
		if (status == 127 || status == 126) {
			log_info("bench: %s cannot be run", s->argv[0]);
			return -EINVAL;
		}
	} else if (status != *native) {
		char why[96];

		snprintf(why, sizeof(why),
			 "its status is %%d, natively it is %d", *native);
		side_leave(s, why, status);
		return 0;
	}
	if (count && s->runs < RUNS_MAX) {
		s->wall[s->runs] = wall;
		s->cpu[s->runs++] = cpu;
	}
	return 0;
}

static int run_all(struct side *sides, const struct own_options *o)
{
	unsigned rounds = o->warmup + o->runs;
	int native = 0, ret = 0;

	for (unsigned r = 0; r < rounds && !ret; r++) {
		for (size_t k = 0; k < SIDES && !ret; k++) {
			/* warm-up runs begin with the native one */
			size_t i = r < o->warmup ? k : (k + r) % SIDES;

			if (*sides[i].left_out)
				continue;
			suite_progress("run %u of %u: %s", r + 1, rounds,
				       peers[i].name);
			ret = side_run(sides, i, o, r >= o->warmup, &native);
		}
	}
	if (native)
		log_info("bench: note: the command's status is %d", native);
	return ret;
}

/* ---- the peak of memory, and the calls ----------------------------------- */

static uint64_t resident(pid_t pid)
{
	char path[64];
	unsigned long long size, pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t tree_resident(pid_t pid, unsigned depth)
{
	uint64_t sum = resident(pid);
	char path[64];
	FILE *f;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = depth < 32 ? fopen(path, "re") : NULL;
	while (f && fscanf(f, "%d", &child) == 1)
		sum += tree_resident(child, depth + 1);
	if (f)
		fclose(f);
	return sum;
}

/* KiB resident of all its processes together, at most; 0: unknown. */
static uint64_t peak_of(char *const argv[])
{
	const struct timespec pause = {.tv_nsec = 5000000};
	pid_t pid = spawn(argv, true);
	uint64_t most = 0, is;

	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
		is = tree_resident(pid, 0);
		most = is > most ? is : most;
		nanosleep(&pause, NULL);
	}
	return most / 1024;
}

static json_t *side_json(struct side *sides, size_t i)
{
	struct side *s = &sides[i];
	json_t *o = json_pack("{s:s}", "name", peers[i].name);
	double *ratio;
	struct stats st;

	if (*s->left_out) {
		json_object_set_new(o, "left_out", json_string(s->left_out));
		return o;
	}
	if (i > 0 && s->runs) {
		ratio = xcalloc(s->runs, sizeof(*ratio));
		for (size_t k = 0; k < s->runs; k++)
			ratio[k] = s->wall[k] / sides[0].wall[k];
		st = stats_of(ratio, s->runs);
		json_object_set_new(o, "ratio",
				    json_pack("{s:f,s:f,s:f}", "median",
					      st.median, "low", st.low, "high",
					      st.high));
		free(ratio);
	}
	return o;
}

/* After the ratios: sorts the times. */
static void side_times(json_t *o, struct side *s, json_t *root, bool native)
{
	struct stats wall = stats_of(s->wall, s->runs);
	struct stats cpu = stats_of(s->cpu, s->runs);

	if (*s->left_out)
		return;
	json_object_set_new(o, "median", json_real(wall.median));
	json_object_set_new(o, "min", json_real(wall.min));
	json_object_set_new(o, "max", json_real(wall.max));
	json_object_set_new(o, "spread", json_real(wall.spread));
	json_object_set_new(o, "cpu", json_real(cpu.median));
	suite_progress("memory: %s", s->argv[0]);
	json_object_set_new(o, "peak_kib",
			    json_integer((json_int_t)peak_of(s->argv)));
	if (native && wall.spread > 0.15)
		suite_warn(root,
			   "half of the native runs differ by %.0f %%: take "
			   "the intervals seriously, or more --runs",
			   wall.spread * 100);
}

static char *command_line(char **argv)
{
	struct strbuf b;

	strbuf_init(&b, 4096);
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			strbuf_putc(&b, ' ');
		strbuf_visible(&b, argv[i], strlen(argv[i]));
	}
	return b.data;
}

static void results(json_t *root, struct side *sides,
		    const struct own_options *o)
{
	AUTO_FREE char *line = command_line(o->argv);
	json_t *list = json_array();
	json_t *c = json_pack("{s:s,s:i,s:i,s:o}", "line", line ? line : "",
			      "runs", (int)o->runs, "warmup", (int)o->warmup,
			      "sides", list);

	for (size_t i = 0; i < SIDES; i++)
		if (sides[i].argv[0])
			json_array_append_new(list, side_json(sides, i));
	for (size_t i = 0, k = 0; i < SIDES; i++)
		if (sides[i].argv[0] && prepare(o) == 0)
			side_times(json_array_get(list, k++), &sides[i], root,
				   i == 0);
	if (!*sides[1].left_out && prepare(o) == 0)
		own_calls(c, o->argv);
	json_object_set_new(root, "command", c);
}

int suite_command(json_t *root, const struct own_options *o)
{
	struct side *sides = xcalloc(SIDES, sizeof(*sides));
	char self[PATH_MAX], cwd[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int ret = 0;

	if (n < 0 || !getcwd(cwd, sizeof(cwd))) {
		ret = -errno;
		log_host(-ret, "bench: where this is");
	} else {
		self[n] = '\0';
		for (size_t i = 0; i < SIDES; i++)
			if (!wanted(o, i) || !side_argv(&sides[i], &peers[i],
							self, cwd, o->argv))
				side_leave(&sides[i], "not installed", 0);
		ret = run_all(sides, o);
	}
	if (!ret)
		results(root, sides, o);
	suite_progress_end();
	free(sides);
	return ret;
}
