/*
 * apply_ask.c - the conversation around apply (fs/apply.h): what would be
 * applied, what stands against it, questions, progress.
 *
 * The names are the guest's: shown escaped.
 */
#include "../audit/audit.h"
#include "changes.h"

#include <strings.h>

#include "../../fs/apply.h"

enum { PROBLEMS_SHOWN = 20, ASK_AGAIN_MAX = 5 };

struct talk {
	struct apply_request *r;
	struct change_source *src;
	struct change_list list;
	char **named, **forced; /* agreed to on the terminal */
	size_t nnamed, nforced, left_out;
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

static void advise(const struct talk *t, bool delicate, bool changed)
{
	if (delicate)
		log_info("what the host would run or obey later is applied "
			 "only when it is %s",
			 t->r->last ? "agreed to" : "named: give its path");
	if (changed && !t->r->last)
		log_info("--force takes the sandbox's version of what has "
			 "changed on the host");
	log_info("nothing was applied");
	if (t->r->last)
		log_info("the changes are gone with the sandbox; with --patch "
			 "they are printed, and with --name NAME --keep they "
			 "stay until `cloche apply NAME`");
}

static bool list_problems(const struct talk *t, const struct apply *a)
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
	if (n)
		advise(t, delicate, changed);
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
		.forced = (const char *const *)t->forced,
		.nforced = t->nforced,
		.want = t->r->by ? is_by : NULL,
		.want_arg = (void *)t->r->by,
		.force = t->r->force,
		.owner = geteuid() == 0,
		.step = on_step,
		.arg = t,
	};

	return apply_new(&o, t->src, &t->list, out);
}

struct refusal {
	const char *path;
	size_t dropped;
};

/* What is in a directory that is not wanted is not wanted either. */
static bool not_below(const struct change *c, void *arg)
{
	struct refusal *r = arg;
	bool drop = changes_below(c->host, r->path) ||
		    (c->lower_host && changes_below(c->lower_host, r->path));

	r->dropped += drop;
	return !drop;
}

static void add_word(char ***words, size_t *n, const char *word)
{
	*words = realloc(*words, (*n + 1) * sizeof(**words));
	BUG_ON(!*words);
	(*words)[(*n)++] = xstrdup(word);
}

static void ask_one(struct talk *t, const struct apply_problem *p)
{
	struct refusal no = {.path = p->path};
	AUTO_FREE char *why = xasprintf(" (%s)", p->why);
	bool yes;

	if (p->kind == APPLY_CHANGED)
		yes = ask(t->r->tty, "cloche: overwrite the host's ", p->path,
			  why);
	else
		yes = ask(t->r->tty, "cloche: apply ", p->path, why);
	if (yes && p->kind == APPLY_CHANGED) {
		add_word(&t->forced, &t->nforced, p->path);
	} else if (yes) {
		add_word(&t->named, &t->nnamed, p->path);
	} else {
		changes_filter(t->src, &t->list, not_below, &no);
		t->left_out += no.dropped;
	}
}

/* Asks about each problem that an answer can settle; what is refused leaves
 * the list. True: the plan has to be made anew. */
static bool ask_problems(struct talk *t, const struct apply *a)
{
	const struct apply_problem *p;
	size_t n = apply_problems(a, &p);
	const char *refused = NULL;
	bool asked = false;

	for (size_t i = 0; i < n; i++) {
		size_t before = t->left_out;

		if (p[i].kind == APPLY_CANNOT ||
		    (refused && changes_below(p[i].path, refused)))
			continue;
		asked = true;
		ask_one(t, &p[i]);
		if (t->left_out != before)
			refused = p[i].path;
	}
	if (asked)
		changes_sort(&t->list);
	return asked;
}

/* One line: what was done, by kind, and what was not. */
static void say_done(const struct talk *t, const struct apply *a)
{
	static const struct {
		enum vfs_change_kind kind;
		const char *word;
	} kinds[] = {
		{VFS_ADDED, "added"},	   {VFS_MODIFIED, "modified"},
		{VFS_DELETED, "deleted"},  {VFS_RENAMED, "renamed"},
		{VFS_TYPE, "of new type"}, {VFS_METADATA, "of new attributes"},
	};
	size_t left = t->left_out + apply_outside(a);
	const char *before = "";
	struct strbuf b;

	strbuf_init(&b, 0);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t n = 0;

		for (size_t i = 0; i < apply_count(a); i++) {
			const struct change *c = apply_record(a, i);

			n += c->kind == kinds[k].kind && !c->inside;
		}
		if (!n)
			continue;
		strbuf_printf(&b, "%s%zu %s", before, n, kinds[k].word);
		before = ", ";
	}
	if (left)
		strbuf_printf(&b, "; %zu left out", left);
	log_info("applied to %s: %s", t->r->root, b.data ? b.data : "nothing");
	strbuf_fini(&b);
}

/* -EBUSY: the host has changed meanwhile, and the plan has problems now. */
static int commit(struct talk *t, struct apply *a)
{
	const struct apply_problem *none;
	AUTO_FREE char *path = NULL;
	bool half;
	int ret;

	if (apply_count(a) && t->r->announce &&
	    t->r->announce(t->r->arg, t->r, apply_count(a)))
		return CLI_FAILED;
	t->progress = isatty(2) && apply_count(a) > 16;
	ret = apply_commit(a, &half, &path);
	if (t->progress)
		fputs("\r\033[K", stderr);
	if (!ret) {
		if (apply_count(a))
			say_done(t, a);
		return 0;
	}
	if (ret == -EBUSY && !half && apply_problems(a, &none))
		return -EBUSY;
	log_host(ret, "apply%s%s", path ? ": " : "", path ? path : "");
	if (half)
		log_warn("the tree is half changed and could not be brought "
			 "back; `cloche apply --recover` tries again");
	else
		log_info("nothing was applied");
	return CLI_FAILED;
}

static int say_nothing(const struct talk *t, const struct apply *a)
{
	if (t->left_out) {
		log_info("nothing was applied: all of it was refused");
		return 0;
	}
	log_info("there is nothing to apply%s",
		 apply_outside(a) && !t->r->npaths
			 ? " here; --outside takes the rest"
			 : "");
	return t->r->npaths ? 1 : 0;
}

/* Asks what is to be asked; *a is then a new plan, or NULL with -errno. */
static int talk_ask(struct talk *t, struct apply **a)
{
	if (!t->r->tty || !apply_count(*a) || !ask_problems(t, *a))
		return 0;
	apply_free(*a);
	*a = NULL;
	return make_plan(t, a);
}

/* The plan is made and agreed to. */
static int talk_commit(struct talk *t, struct apply **a)
{
	for (int again = 0;; again++) {
		int ret = talk_ask(t, a);

		if (ret < 0) {
			log_host(ret, "apply to %s", t->r->root);
			return CLI_FAILED;
		}
		if (t->r->dry_run)
			list_items(*a, stdout);
		if (list_problems(t, *a))
			return 1;
		ret = t->r->dry_run ? 0 : commit(t, *a);
		if (!ret && !apply_count(*a))
			return say_nothing(t, *a);
		if (ret != -EBUSY)
			return ret;
		/* the host changed while we asked: ask about that, too */
		if (!t->r->tty || again == ASK_AGAIN_MAX)
			return list_problems(t, *a) ? 1 : CLI_FAILED;
	}
}

static int talk(struct talk *t)
{
	struct apply *a;
	int ret = make_plan(t, &a);

	if (ret < 0) {
		log_host(ret, "apply to %s", t->r->root);
		return CLI_FAILED;
	}
	if (t->r->tty && apply_count(a)) {
		fputs("cloche: changes:\n", t->r->tty);
		list_items(a, t->r->tty);
		t->r->declined = !ask(t->r->tty, "cloche: apply them to ",
				      t->r->root, "");
	}
	if (t->r->declined)
		log_info("nothing was applied");
	ret = t->r->declined ? 1 : talk_commit(t, &a);
	if (a)
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

/* A path that was given and has no change is a mistake: says which. */
static int check_paths(const struct talk *t)
{
	int bad = 0;

	for (size_t i = 0; i < t->r->npaths; i++) {
		size_t k = 0;

		while (k < t->list.count &&
		       !changes_below(t->list.all[k].host, t->r->paths[i]))
			k++;
		if (k < t->list.count)
			continue;
		say(stderr, "cloche: apply: ", t->r->paths[i],
		    ": no change there or below; `cloche diff` lists them\n");
		bad = -ENOENT;
	}
	return bad;
}

static void free_words(char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	free(words);
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
	ret = check_paths(&t) ? 1 : talk(&t);
	if (!ret && !r->dry_run)
		settle(&t);
	free_words(t.named, t.nnamed);
	free_words(t.forced, t.nforced);
	changes_free(src, &t.list);
	return ret;
}

static bool any_change(struct change_source *src)
{
	struct change_list now;
	bool any = true; /* not known: rather say so */

	if (changes_load(src, 0, &now))
		return any;
	any = now.count != 0;
	changes_free(src, &now);
	return any;
}

/* After a run the stream is still open. */
static int record(void *arg, const struct apply_request *r, size_t changes)
{
	struct audit_event ev = {.call = "apply", .verdict = AUDIT_ALLOW};
	struct audit *audit = arg;
	struct strbuf args;
	int ret;

	strbuf_init(&args, 0);
	strbuf_puts(&args, "{\"root\":");
	strbuf_json_string(&args, r->root, strlen(r->root));
	strbuf_printf(&args, ",\"changes\":%zu}", changes);
	ev.args = args.data;
	ev.args_len = args.len;
	audit_emit(audit, &ev);
	ret = audit_flush(audit);
	strbuf_fini(&args);
	if (ret)
		log_info("the audit stream cannot be written, so nothing is "
			 "applied");
	return ret;
}

int cli_apply_ask(const struct config *cfg, struct vfs *vfs,
		  struct audit *audit)
{
	struct apply_request r = {.root = cfg->project,
				  .last = true,
				  .announce = audit ? record : NULL,
				  .arg = audit};
	struct change_source src;
	int ret;

	changes_from_vfs(&src, vfs);
	if (!any_change(&src))
		return 0;
	r.tty = cfg->project ? fopen("/dev/tty", "r+e") : NULL;
	if (!r.tty) {
		log_warn("--apply ask: %s; nothing was applied",
			 cfg->project ? "no terminal to ask on"
				      : "no work directory of the host is "
					"shown");
		return CLI_FAILED;
	}
	ret = cli_apply_changes(&src, &r);
	fclose(r.tty);
	return ret && !r.declined ? CLI_FAILED : 0;
}
