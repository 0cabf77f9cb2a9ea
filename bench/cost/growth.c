/*
 * growth.c - does a call's price grow with what there is?
 *
 * Files in one directory (created, looked at, renamed, removed, by name and in
 * a shuffled order), processes and threads that look at a file at the same
 * time, and rules of a policy: each natively and inside, in a work folder that
 * goes away. Flat lines are what is wanted.
 */
#include "suite.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "growth.h"
#include "stats.h"

enum { RULES_MAX = 10000, ARGS_MAX = 2 * RULES_MAX + 32, NAME_SIZE = 16 };

#define NEW_NAMES "1000"

/* Of many workers each gets to its work seldom: longer, then, or the first
 * calls of each are all that is measured. */
#define SHARE(workers) ((workers) > 16 ? (workers) / 16 : 1)

static const unsigned file_counts[] = {100, 1000, 10000, 100000};
static const unsigned proc_counts[] = {1, 4, 16, 64, 256};
static const unsigned thread_counts[] = {1, 4, 16, 64};
static const unsigned rule_counts[] = {10, 100, 1000, 10000};
static const char *const file_ops[] = {"create", "stat", "rename", "unlink"};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the guest's part ---------------------------------------------------- */

static int file_op(unsigned op, unsigned i)
{
	char a[NAME_SIZE], b[NAME_SIZE];
	struct stat st;
	int fd;

	snprintf(a, sizeof(a), "f%u", i);
	snprintf(b, sizeof(b), "g%u", i);
	switch (op) {
	case 0:
		fd = open(a, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		return fd < 0 ? -errno : close(fd);
	case 1:
		return stat(a, &st) < 0 ? -errno : 0;
	case 2:
		return rename(a, b) < 0 ? -errno : 0;
	default:
		return unlink(b) < 0 ? -errno : 0;
	}
}

int cost_growth_guest(unsigned files)
{
	/* 7919 is prime, and no count is a multiple of it: each i once */
	const unsigned stride = 7919;

	if (files == 0 || files % stride == 0 || mkdir("files", 0755) < 0 ||
	    chdir("files") < 0)
		return 125;
	for (unsigned op = 0; op < ARRAY_SIZE(file_ops); op++) {
		double begin = now();

		for (uint64_t i = 0; i < files; i++)
			if (file_op(op, (unsigned)(i * stride % files)))
				return 125;
		printf("%.17g\n", (now() - begin) / files);
	}
	if (chdir("..") < 0 || rmdir("files") < 0)
		return 125;
	return fflush(stdout) ? 125 : 0;
}

/* ---- running it ---------------------------------------------------------- */

/* argv in dir; what it prints, at most size - 1 bytes. */
static int output_of(char *const argv[], const char *dir, char *buf,
		     size_t size)
{
	size_t len = 0;
	int pipes[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(dir) == 0 && dup2(pipes[1], STDOUT_FILENO) >= 0)
			execv(argv[0], argv);
		_exit(127);
	}
	close(pipes[1]);
	while (pid > 0 && len < size - 1 &&
	       (n = read(pipes[0], buf + len, size - 1 - len)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	buf[len] = '\0';
	close(pipes[0]);
	status = pid > 0 ? cost_wait(pid) : -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

struct place {
	char self[PATH_MAX], dir[PATH_MAX];
};

/* Runs "bench HOW SPEC" natively or inside, with `rules` rules more. */
static int run_guest(const struct place *p, bool inside, unsigned rules,
		     const char *how, const char *spec, char *buf, size_t size)
{
	char **argv = xcalloc(ARGS_MAX, sizeof(*argv));
	unsigned at = 0;
	char *made = NULL;
	int ret;

	argv[at++] = (char *)p->self;
	if (inside) {
		argv[at++] = "run";
		argv[at++] = "--quiet";
		argv[at++] = "--ro";
		argv[at++] = (char *)p->self;
		for (unsigned i = 0; i < rules; i++) {
			argv[at++] = "--hide";
			argv[at++] = made = xasprintf("**/rule-%u/*.key", i);
		}
		argv[at++] = "--";
		argv[at++] = (char *)p->self;
	}
	argv[at++] = "bench";
	argv[at++] = (char *)how;
	argv[at++] = (char *)spec;
	ret = output_of(argv, p->dir, buf, size);
	for (unsigned i = 0; made && i < at; i++)
		if (strncmp(argv[i], "**/rule-", 8) == 0)
			free(argv[i]);
	free(argv);
	return ret;
}

static json_t *line(json_t *list, const char *name, const char *unit)
{
	json_t *o = json_pack("{s:s,s:s,s:[],s:[]}", "name", name, "unit", unit,
			      "native", "inside");

	json_array_append_new(list, o);
	return o;
}

static void point(json_t *o, bool inside, unsigned n, double value)
{
	json_array_append_new(json_object_get(o, inside ? "inside" : "native"),
			      json_pack("[i,f]", (int)n, value));
}

static void grow_files(json_t *list, const struct place *p)
{
	json_t *o[ARRAY_SIZE(file_ops)];
	char buf[512], spec[16], name[64];

	for (size_t i = 0; i < ARRAY_SIZE(file_ops); i++) {
		snprintf(name, sizeof(name), "%s, by files in the directory",
			 file_ops[i]);
		o[i] = line(list, name, "files");
	}
	for (size_t i = 0; i < 2 * ARRAY_SIZE(file_counts); i++) {
		unsigned n = file_counts[i / 2];
		bool inside = i % 2;
		double v[ARRAY_SIZE(file_ops)];

		suite_progress("growth: %u files", n);
		snprintf(spec, sizeof(spec), "%u", n);
		if (run_guest(p, inside, 0, "--guest-files", spec, buf,
			      sizeof(buf)) ||
		    sscanf(buf, "%lf %lf %lf %lf", &v[0], &v[1], &v[2],
			   &v[3]) != 4)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(file_ops); k++)
			point(o[k], inside, n, v[k]);
	}
}

/* ns of one stat while all of n workers do it: n / rate. */
static void grow_workers(json_t *list, const struct place *p, bool threads,
			 const struct suite_options *opt)
{
	const unsigned *counts = threads ? thread_counts : proc_counts;
	size_t many =
		threads ? ARRAY_SIZE(thread_counts) : ARRAY_SIZE(proc_counts);
	json_t *o = line(list,
			 threads ? "stat, of all threads together"
				 : "stat, of all processes together",
			 threads ? "threads" : "processes");
	char buf[512], spec[64];

	for (size_t i = 0; i < 2 * many; i++) {
		unsigned n = counts[i / 2];
		struct cost_cell c = {.op = COST_STAT,
				      .threads = threads ? n : 1,
				      .procs = threads ? 1 : n,
				      .ms = opt->ms * SHARE(n)};
		double skip, rate;

		suite_progress("growth: %u %s", n,
			       threads ? "threads" : "processes");
		cost_guest_spec(&c, spec, sizeof(spec));
		if (run_guest(p, i % 2, 0, "--guest", spec, buf, sizeof(buf)) ||
		    sscanf(buf, "%lf %lf %lf %lf", &skip, &skip, &skip,
			   &rate) != 4 ||
		    rate <= 0)
			continue;
		point(o, i % 2, n, 1e9 / rate);
	}
}

static void grow_rules(json_t *list, const struct place *p,
		       const struct suite_options *opt)
{
	json_t *o = line(list, "stat, by rules of the policy", "rules");
	json_t *made = line(list, "create, by rules of the policy", "rules");
	struct cost_cell c = {
		.op = COST_STAT, .threads = 1, .procs = 1, .ms = opt->ms};
	char buf[512], spec[64];
	double low;

	cost_guest_spec(&c, spec, sizeof(spec));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rule_counts); i++) {
		unsigned n = rule_counts[i / 2];

		suite_progress("growth: %u rules", n);
		if (run_guest(p, i % 2, n, "--guest", spec, buf, sizeof(buf)) ==
			    0 &&
		    sscanf(buf, "%lf", &low) == 1)
			point(o, i % 2, n, low);
		/* a known name has its verdict; each of these is new */
		if (run_guest(p, i % 2, n, "--guest-files", NEW_NAMES, buf,
			      sizeof(buf)) == 0 &&
		    sscanf(buf, "%lf", &low) == 1)
			point(made, i % 2, n, low);
	}
}

static int remove_one(const char *path, const struct stat *st UNUSED,
		      int type UNUSED, struct FTW *at UNUSED)
{
	return remove(path);
}

/* Inside all new files are in memory. */
static void warn_of_disk(json_t *root, const char *dir)
{
	struct statfs sf;

	if (statfs(dir, &sf) == 0 && sf.f_type != TMPFS_MAGIC)
		suite_warn(root,
			   "growth: natively %s is on a disk's file system, "
			   "inside files are in memory: look at each line's "
			   "slope, or set TMPDIR to a folder on a tmpfs",
			   dir);
}

int suite_growth(json_t *root, const struct suite_options *opt)
{
	const char *tmp = getenv("TMPDIR");
	json_t *list = json_array();
	struct place p;
	ssize_t n = readlink("/proc/self/exe", p.self, sizeof(p.self) - 1);

	json_object_set_new(root, "growth", list);
	if (n < 0)
		return -errno;
	p.self[n] = '\0';
	snprintf(p.dir, sizeof(p.dir), "%s/cloche-bench.XXXXXX",
		 tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(p.dir)) {
		log_host(errno, "bench: making %s", p.dir);
		return -EIO;
	}
	warn_of_disk(root, p.dir);
	grow_files(list, &p);
	grow_workers(list, &p, false, opt);
	grow_workers(list, &p, true, opt);
	grow_rules(list, &p, opt);
	nftw(p.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	suite_progress_end();
	return 0;
}
