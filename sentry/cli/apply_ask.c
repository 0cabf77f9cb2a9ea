/*
 * apply_ask.c - the conversation around apply (fs/apply.h): what would be
 * applied, what stands against it, questions, progress.
 *
 * The names are the guest's: shown escaped.
 */
#include "changes.h"

#include <strings.h>

#include "../../fs/apply.h"

enum { PROBLEMS_SHOWN = 20 };

struct talk {
	struct apply_request *r;
	struct change_source *src;
	struct change_list list;
	char **named; /* agreed to on the terminal */
	size_t nnamed;
	bool progress;
};

static void say(FILE *to, const char *before, const char *path,
		const char *after)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_puts(&b, before);
	strbuf_visible(&b, path, strlen(path));
	strbuf_puts(&b, after);
	fputs(b.data, to);
	strbuf_fini(&b);
}

static bool ask(FILE *tty, const char *before, const char *path,
		const char *after)
{
	char answer[64];

	say(tty, before, path, after);
	fputs("? [y/N] ", tty);
	fflush(tty);
	if (!fgets(answer, sizeof(answer), tty))
		return false;
	return strcasecmp(answer, "y\n") == 0 ||
	       strcasecmp(answer, "yes\n") == 0;
}

/* ---- progress -------------------------------------------------------- */

static void on_step(void *arg, size_t n, size_t total, const char *path)
{
	const struct talk *t = arg;

	(void)path;
	if (t->progress && total && (n % 16 == 0 || n + 1 == total))
		fprintf(stderr, "\rcloche: applying %zu of %zu\033[K", n + 1,
			total);
}

/* ---- what there is --------------------------------------------------- */

static void list_items(const struct apply *a, FILE *to)
{
	for (size_t i = 0; i < apply_count(a); i++) {
		const struct change *c = apply_record(a, i);
		char kind[] = {' ', ' ', (char)c->kind, ' ', '\0'};

		if (c->inside)
			continue;
		if (c->kind == VFS_RENAMED) {
			say(to, kind, c->lower_host, " -> ");
			say(to, "", c->host, "\n");
		} else {
			say(to, kind, c->host, "\n");
		}
	}
	if (apply_outside(a))
		fprintf(to, "  (%zu more outside of what is applied)\n",
			apply_outside(a));
}

static bool list_problems(const struct apply *a)
{
	const struct apply_problem *p;
	size_t n = apply_problems(a, &p), changed = 0, delicate = 0;

	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *why = xasprintf(": %s\n", p[i].why);

		if (i < PROBLEMS_SHOWN)
			say(stderr, "cloche: ", p[i].path, why);
		changed += p[i].kind == APPLY_CHANGED;
		delicate += p[i].kind == APPLY_DELICATE;
	}
	if (n > PROBLEMS_SHOWN)
		fprintf(stderr, "cloche: and %zu more\n", n - PROBLEMS_SHOWN);
	if (delicate)
		log_info("what the host would run or obey later is applied "
			 "only when it is named: give its path");
	if (changed)
		log_info("--force takes the sandbox's version of what has "
			 "changed on the host");
	if (n)
		log_info("nothing was applied");
	return n != 0;
}

static bool is_by(const struct change *c, void *arg)
{
	return cli_change_by(c, arg);
}

/* ---- one try --------------------------------------------------------- */

static int make_plan(struct talk *t, struct apply **out)
{
	struct apply_options o = {
		.root = t->r->root,
		.paths = t->r->paths,
		.npaths = t->r->npaths,
		.named = (const char *const *)t->named,
		.nnamed = t->nnamed,
		.want = t->r->by ? is_by : NULL,
		.want_arg = (void *)t->r->by,
		.force = t->r->force,
		.owner = geteuid() == 0,
		.step = on_step,
		.arg = t,
	};

	return apply_new(&o, t->src, &t->list, out);
}

static bool not_this(const struct change *c, void *arg)
{
	return strcmp(c->host, arg) != 0;
}

/* Asks for each delicate file; those refused leave the list. True: the plan
 * has to be made anew. */
static bool ask_delicate(struct talk *t, const struct apply *a)
{
	const struct apply_problem *p;
	size_t n = apply_problems(a, &p);
	bool asked = false;

	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *why = xasprintf(" (%s)", p[i].why);

		if (p[i].kind != APPLY_DELICATE)
			continue;
		asked = true;
		if (!ask(t->r->tty, "cloche: apply ", p[i].path, why)) {
			changes_filter(t->src, &t->list, not_this, p[i].path);
			changes_sort(&t->list);
			continue;
		}
		t->named =
			realloc(t->named, (t->nnamed + 1) * sizeof(*t->named));
		BUG_ON(!t->named);
		t->named[t->nnamed++] = xstrdup(p[i].path);
	}
	return asked;
}

static int commit(struct talk *t, struct apply *a)
{
	AUTO_FREE char *path = NULL;
	bool half;
	int ret;

	t->progress = isatty(2) && apply_count(a) > 16;
	ret = apply_commit(a, &half, &path);
	if (t->progress)
		fputs("\r\033[K", stderr);
	if (!ret)
		return 0;
	log_host(ret, "apply%s%s", path ? ": " : "", path ? path : "");
	if (half)
		log_warn("the tree is half changed and could not be brought "
			 "back; `cloche apply --recover` tries again");
	else
		log_info("nothing was applied");
	return CLI_FAILED;
}

/* A path that was given and has no change is a mistake. */
static int say_nothing(const struct talk *t, const struct apply *a)
{
	if (t->r->npaths) {
		log_info("no change at or below what was named");
		return 1;
	}
	log_info("there is nothing to apply%s",
		 apply_outside(a) ? " here; --outside takes the rest" : "");
	return 0;
}

static int talk(struct talk *t)
{
	struct apply *a;
	int ret = make_plan(t, &a);

	if (!ret && t->r->tty && apply_count(a)) {
		fputs("cloche: changes:\n", t->r->tty);
		list_items(a, t->r->tty);
		if (!ask(t->r->tty, "cloche: apply them to ", t->r->root, "")) {
			apply_free(a);
			return 1;
		}
		if (ask_delicate(t, a)) {
			apply_free(a);
			ret = make_plan(t, &a);
		}
	}
	if (ret < 0) {
		log_host(ret, "apply to %s", t->r->root);
		return CLI_FAILED;
	}
	if (t->r->dry_run)
		list_items(a, stdout);
	ret = list_problems(a) ? 1 : 0;
	if (!ret && !t->r->dry_run)
		ret = commit(t, a);
	if (!ret && !apply_count(a))
		ret = say_nothing(t, a);
	apply_free(a);
	return ret;
}

/* The source looks at the host once more, and finds what is there now. */
static void settle(struct talk *t)
{
	struct change_list now;

	if (!changes_load(t->src, 0, &now))
		changes_free(t->src, &now);
}

int cli_apply_changes(struct change_source *src, struct apply_request *r)
{
	struct talk t = {.r = r, .src = src};
	size_t found;
	int ret = apply_recover(r->root, &found);

	if (ret < 0)
		return CLI_FAILED;
	if (found)
		log_info("finished %zu apply that had been interrupted", found);
	ret = changes_load(src, 0, &t.list);
	if (ret < 0) {
		log_host(ret, "list of changes");
		return CLI_FAILED;
	}
	ret = talk(&t);
	if (!ret && !r->dry_run)
		settle(&t);
	for (size_t i = 0; i < t.nnamed; i++)
		free(t.named[i]);
	free(t.named);
	changes_free(src, &t.list);
	return ret;
}

int cli_apply_ask(const struct config *cfg, struct vfs *vfs)
{
	struct apply_request r = {.root = cfg->project};
	struct change_source src;
	int ret;

	if (!cfg->project) {
		log_warn("--apply: no work directory of the host is shown");
		return 0;
	}
	r.tty = fopen("/dev/tty", "r+e");
	if (!r.tty) {
		log_warn("--apply ask: no terminal to ask on; nothing was "
			 "applied");
		return 0;
	}
	changes_from_vfs(&src, vfs);
	ret = cli_apply_changes(&src, &r);
	fclose(r.tty);
	return ret == CLI_FAILED ? -EIO : 0;
}
