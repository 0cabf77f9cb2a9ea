/*
 * suite.c - runs every mechanism with every operation, interleaved.
 *
 * Rounds are the outer loop, so that what else the machine does falls on all
 * mechanisms alike. Of the rounds the least minimum and the median of medians
 * are kept.
 */
#include "suite.h"

#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "stats.h"

enum { ROUNDS_MAX = 64, MECHS_MAX = 32 };

static const unsigned worker_counts[] = {1, 2, 4, 8, 16};

void suite_progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}

void suite_progress_end(void)
{
	suite_progress("%s", "");
}

void suite_warn(json_t *root, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(root, "warnings"),
			      json_string(text));
}

static void cpu_name(char *buf, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(buf, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, "model name");
		char *colon = at ? strchr(at, ':') : NULL;

		if (!colon)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(buf, size, "%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

static long cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return sysconf(_SC_NPROCESSORS_ONLN);
	return CPU_COUNT(&set);
}

/* How unlike short measurements of the same thing are. */
static double noise(void)
{
	double v[9];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct cost_cell c = {.mech = &cost_native,
				      .op = COST_CALL,
				      .threads = 1,
				      .procs = 1,
				      .ms = 20};
		struct cost_result r;

		if (cost_cell_run(&c, &r))
			return 0;
		v[i] = r.median;
	}
	return stats_of(v, ARRAY_SIZE(v)).spread;
}

json_t *suite_new(void)
{
	json_t *root = json_pack("{s:i,s:[]}", "bench", 1, "warnings");
	struct utsname u;
	char cpu[256], when[32];
	double load = 0, spread;
	time_t now = time(NULL);
	struct tm tm;

	uname(&u);
	cpu_name(cpu, sizeof(cpu));
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)getloadavg(&load, 1);
	suite_progress("how quiet is this machine?");
	spread = noise();
	json_object_set_new(root, "machine",
			    json_pack("{s:s,s:s,s:s,s:i,s:f,s:f,s:i,s:s}",
				      "kernel", u.release, "arch", u.machine,
				      "cpu", cpu, "cpus", (int)cpus(), "load",
				      load, "noise", spread, "uid",
				      (int)getuid(), "time", when));
	if (load > 0.5 * (double)cpus())
		suite_warn(root,
			   "the load is %.1f on %ld processors: figures are "
			   "too high; trust minima and ratios only",
			   load, cpus());
	if (spread > 0.1)
		suite_warn(root,
			   "the same native call differed by %.0f %% from one "
			   "moment to the next: this machine is noisy",
			   spread * 100);
	return root;
}

/* ---- mechanisms ---------------------------------------------------------- */

bool suite_names(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, len) == 0 &&
		    (p[len] == '\0' || p[len] == ','))
			return true;
	}
	return false;
}

static int check_only(const char *only)
{
	char word[64];

	for (const char *p = only; p && *p; p += *p == ',') {
		size_t len = strcspn(p, ",");
		bool known = false;

		snprintf(word, sizeof(word), "%.*s", (int)len, p);
		for (size_t i = 0; cost_mechs[i]; i++)
			known |= strcmp(cost_mechs[i]->name, word) == 0;
		if (!known) {
			log_info("bench: there is no mechanism %s; `cloche "
				 "bench --list` has them",
				 word);
			return -EINVAL;
		}
		p += len;
	}
	return 0;
}

struct gathered {
	double min, median[ROUNDS_MAX], p99[ROUNDS_MAX], rate[ROUNDS_MAX],
		guest[ROUNDS_MAX], sentry[ROUNDS_MAX];
	size_t rounds;
	int failed;
};

static void gather(struct gathered *g, const struct cost_mech *m,
		   enum cost_op op, unsigned ms)
{
	struct cost_cell c = {
		.mech = m, .op = op, .threads = 1, .procs = 1, .ms = ms};
	struct cost_result r;
	size_t n = g->rounds;

	if (g->failed || n == ROUNDS_MAX)
		return;
	g->failed = cost_cell_run(&c, &r);
	if (g->failed)
		return;
	g->min = n == 0 || r.min < g->min ? r.min : g->min;
	g->median[n] = r.median;
	g->p99[n] = r.p99;
	g->rate[n] = r.per_second;
	g->guest[n] = r.guest_cpu;
	g->sentry[n] = r.sentry_cpu;
	g->rounds++;
}

static json_t *gathered_json(struct gathered *g)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "min", g->min, "median",
			 stats_of(g->median, g->rounds).median, "p99",
			 stats_of(g->p99, g->rounds).median, "per_second",
			 stats_of(g->rate, g->rounds).median, "guest_cpu",
			 stats_of(g->guest, g->rounds).median, "supervisor_cpu",
			 stats_of(g->sentry, g->rounds).median);
}

/* [[N, per second]...] of one mechanism. */
static json_t *scaling(const struct cost_mech *m, bool threads, unsigned ms)
{
	enum cost_op op = m->ops & COST_BIT(COST_STAT) ? COST_STAT : COST_CALL;
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(worker_counts); i++) {
		unsigned n = worker_counts[i];
		struct cost_cell c = {.mech = m,
				      .op = op,
				      .threads = threads ? n : 1,
				      .procs = threads ? 1 : n,
				      .ms = ms};
		struct cost_result r;

		suite_progress("%s: %u %s", m->name, n,
			       threads ? "threads" : "processes");
		if (cost_cell_run(&c, &r))
			break;
		json_array_append_new(list,
				      json_pack("[i,f]", (int)n, r.per_second));
	}
	return list;
}

static json_t *mech_json(const struct cost_mech *m, struct gathered *g,
			 unsigned ms)
{
	json_t *o = json_pack("{s:s,s:s}", "name", m->name, "what", m->what);
	json_t *calls = json_object();
	int failed = 0;

	for (int op = 0; op < COST_OPS; op++) {
		failed = g[op].failed ? g[op].failed : failed;
		if (g[op].rounds)
			json_object_set_new(calls, cost_op_names[op],
					    gathered_json(&g[op]));
	}
	json_object_set_new(o, "calls", calls);
	if (failed == -EOPNOTSUPP)
		json_object_set_new(o, "missing",
				    json_string("not on this machine"));
	else if (failed)
		json_object_set_new(o, "missing",
				    json_string(strerror(-failed)));
	else if (m->many) {
		json_object_set_new(o, "threads", scaling(m, true, ms));
		json_object_set_new(o, "processes", scaling(m, false, ms));
	}
	return o;
}

static void run_rounds(struct gathered (*all)[COST_OPS],
		       const struct suite_options *o)
{
	for (unsigned round = 0; round < o->rounds; round++) {
		for (size_t i = 0; cost_mechs[i]; i++) {
			const struct cost_mech *m = cost_mechs[i];

			if (o->only && !suite_names(o->only, m->name) &&
			    m != &cost_native)
				continue;
			for (int op = 0; op < COST_OPS; op++) {
				if (!(m->ops & COST_BIT(op)))
					continue;
				suite_progress("round %u of %u: %s, %s",
					       round + 1, o->rounds, m->name,
					       cost_op_names[op]);
				gather(&all[i][op], m, (enum cost_op)op, o->ms);
			}
		}
	}
}

int suite_mechanisms(json_t *root, const struct suite_options *o)
{
	struct gathered(*all)[COST_OPS];
	json_t *list = json_array();
	int ret = check_only(o->only);

	json_object_set_new(root, "mechanisms", list);
	if (ret)
		return ret;
	all = xcalloc(MECHS_MAX, sizeof(*all));
	run_rounds(all, o);
	for (size_t i = 0; cost_mechs[i]; i++) {
		const struct cost_mech *m = cost_mechs[i];

		if (!o->only || suite_names(o->only, m->name) ||
		    m == &cost_native)
			json_array_append_new(list,
					      mech_json(m, all[i], o->ms));
	}
	free(all);
	suite_progress_end();
	return 0;
}
