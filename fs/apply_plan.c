/*
 * apply_plan.c - which records are applied, and what of the old tree leaves
 * its place; see apply.h.
 */
#include "apply_priv.h"

#include <fcntl.h>
#include <stdio.h>

/* ---- paths ----------------------------------------------------------- */

/* Relative to the root; NULL: not below it. */
static const char *relative(const struct apply *a, const char *host)
{
	size_t len = strlen(a->root_path);

	if (!host)
		return NULL;
	if (len == 1)
		len = 0; /* "/" */
	if (strncmp(host, a->root_path, len) != 0 || host[len] != '/' ||
	    !host[len + 1])
		return NULL;
	return host + len + 1;
}

void apply_problem_add(struct apply *a, enum apply_problem_kind kind,
		       const char *rel, const char *why)
{
	struct apply_problem *p;

	a->problems = realloc(a->problems, (a->nproblems + 1) * sizeof(*p));
	BUG_ON(!a->problems);
	p = &a->problems[a->nproblems++];
	p->kind = kind;
	p->path = xasprintf("%s/%s",
			    strcmp(a->root_path, "/") ? a->root_path : "", rel);
	p->why = xstrdup(why);
}

/* ---- selection ------------------------------------------------------- */

static bool is_named(const struct apply_options *o, const struct change *c)
{
	for (size_t i = 0; i < o->npaths; i++)
		if (!strcmp(o->paths[i], c->host))
			return true;
	for (size_t i = 0; i < o->nnamed; i++)
		if (!strcmp(o->named[i], c->host))
			return true;
	return false;
}

static bool is_selected(const struct apply *a, const struct change *c)
{
	const struct apply_options *o = &a->opts;

	if (!relative(a, c->host) || (o->want && !o->want(c, o->want_arg)))
		return false;
	if (c->kind == VFS_RENAMED && !relative(a, c->lower_host))
		return false;
	for (size_t i = 0; i < o->npaths; i++)
		if (changes_below(c->host, o->paths[i]))
			return true;
	return !o->npaths;
}

static struct change *record_above(const struct apply *a,
				   const struct change *c)
{
	char *slash = strrchr(c->path, '/');
	AUTO_FREE char *dir = strndup(c->path, (size_t)(slash - c->path));

	return changes_find(a->list, dir);
}

/* A file in a new or renamed directory needs that. */
static void select_parents(const struct apply *a, bool *selected,
			   const struct change *c)
{
	for (;;) {
		c = record_above(a, c);
		if (!c || selected[c->index])
			return;
		if (c->kind == VFS_ADDED || c->kind == VFS_TYPE ||
		    c->kind == VFS_RENAMED)
			selected[c->index] = true;
		else
			return;
	}
}

static void add_item(struct apply *a, const struct change *c)
{
	const char *path = relative(a, c->host);
	const char *lower = relative(a, c->lower_host);
	struct apply_item *item;

	if (!path)
		return;
	item = &a->items[a->nitems++];
	memset(item, 0, sizeof(*item));
	item->c = c;
	item->path = xstrdup(path);
	item->lower = lower ? xstrdup(lower) : NULL;
	item->named = is_named(&a->opts, c);
	a->of_index[c->index] = a->nitems;
}

static void choose_items(struct apply *a)
{
	const struct change_list *l = a->list;
	AUTO_FREE bool *selected = xcalloc(l->count + 1, sizeof(*selected));

	for (size_t i = 0; i < l->count; i++)
		selected[i] = is_selected(a, &l->all[i]);
	for (size_t i = 0; i < l->count; i++)
		if (selected[i])
			select_parents(a, selected, &l->all[i]);
	a->items = xcalloc(l->count + 1, sizeof(*a->items));
	a->of_index = xcalloc(l->count + 1, sizeof(*a->of_index));
	for (size_t i = 0; i < l->count; i++) {
		const struct change *c = &l->all[i];

		if (selected[i])
			add_item(a, c);
		else if (!c->inside)
			a->outside++;
	}
}

/* ---- what leaves its old place --------------------------------------- */

static int compare_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool apply_leaves(const struct apply *a, const char *path)
{
	return bsearch(&path, a->leaving, a->nleaving, sizeof(*a->leaving),
		       compare_path) != NULL;
}

static void find_leaving(struct apply *a)
{
	a->leaving = xcalloc(a->nitems + 1, sizeof(*a->leaving));
	for (size_t i = 0; i < a->nitems; i++) {
		const struct apply_item *it = &a->items[i];

		if (it->lower &&
		    (it->c->kind == VFS_DELETED || it->c->kind == VFS_RENAMED))
			a->leaving[a->nleaving++] = it->lower;
	}
	qsort(a->leaving, a->nleaving, sizeof(*a->leaving), compare_path);
}

/* ---- the interface --------------------------------------------------- */

int apply_new(const struct apply_options *opts, struct change_source *src,
	      const struct change_list *list, struct apply **out)
{
	struct apply *a = xcalloc(1, sizeof(*a));
	int err;

	a->opts = *opts;
	a->src = src;
	a->list = list;
	a->work.root = a->work.journal = -1;
	a->root_path = realpath(opts->root, NULL);
	if (a->root_path)
		a->work.root =
			open(a->root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a->work.root < 0) {
		err = -errno;
		apply_free(a);
		return err;
	}
	a->work.root_path = xstrdup(a->root_path);
	a->work.step = opts->step;
	a->work.arg = opts->arg;
	choose_items(a);
	find_leaving(a);
	apply_check(a);
	*out = a;
	return 0;
}

void apply_free(struct apply *a)
{
	for (size_t i = 0; i < a->nitems; i++) {
		free(a->items[i].path);
		free(a->items[i].lower);
		free(a->items[i].staged);
	}
	for (size_t i = 0; i < a->nproblems; i++) {
		free(a->problems[i].path);
		free(a->problems[i].why);
	}
	free(a->items);
	free(a->of_index);
	free(a->problems);
	free(a->leaving);
	free(a->root_path);
	apply_work_fini(&a->work);
	free(a);
}

size_t apply_count(const struct apply *a)
{
	return a->nitems;
}

size_t apply_outside(const struct apply *a)
{
	return a->outside;
}

const struct change *apply_record(const struct apply *a, size_t i)
{
	return a->items[i].c;
}

size_t apply_problems(const struct apply *a, const struct apply_problem **out)
{
	*out = a->problems;
	return a->nproblems;
}

int apply_commit(struct apply *a, bool *half, char **path)
{
	struct apply_work *w = &a->work;
	const char *at = NULL;
	int ret, undone;

	*half = false;
	*path = NULL;
	if (a->nproblems)
		return -EBUSY;
	if (!a->nitems)
		return 0;
	ret = apply_check_again(a, false);
	if (ret < 0)
		return ret;
	ret = apply_stage_all(a, path);
	if (!ret)
		ret = apply_check_again(a, true);
	if (!ret) {
		apply_tick(w, NULL);
		ret = apply_journal_phase(w, PHASE_COMMIT);
	}
	if (!ret)
		ret = apply_forward(w, &at);
	if (at && !*path)
		*path = xstrdup(at);
	if (ret < 0 && w->phase != PHASE_STAGE) {
		undone = apply_back(w, &at);
		if (undone < 0) {
			*half = true;
			return ret;
		}
	}
	if (w->journal < 0)
		return ret; /* nothing was begun */
	undone = apply_clean(w);
	if (undone < 0)
		log_host(undone,
			 "removing %s/.cloche-*; see "
			 "`cloche apply --recover`",
			 w->root_path);
	return ret;
}
