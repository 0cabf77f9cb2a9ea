/*
 * diff_links.c - other names of a host file that was changed.
 *
 * A file of the host may have names at which the guest never looked: they show
 * the changed file, too. They are searched for in the directories that were
 * looked at, and only if a changed file has more names than are known.
 *
 * LIMIT: names in directories that the guest never looked into are not listed;
 * after an apply they keep the old contents.
 */
#include "diff_priv.h"

struct links {
	struct diff *d;
	struct ov_node *dir;
	struct ino_set *set;
};

struct ino_set {
	ino_t *all;
	size_t count;
};

static int by_ino(const void *a, const void *b)
{
	const ino_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool may_have_more(const struct ov_node *n)
{
	return !n->dir && n->has_lower && n->hashed && n->nlink &&
	       (n->upper || n->meta) && n->lst.st_nlink > 1;
}

static struct ino_set changed_links(const struct ov *ov)
{
	struct ino_set set = {NULL, 0};
	size_t cap = 0;

	list_for_each (p, &ov->nodes) {
		const struct ov_node *n = list_entry(p, struct ov_node, list);

		if (!may_have_more(n))
			continue;
		if (set.count == cap) {
			cap = cap ? 2 * cap : 16;
			set.all = realloc(set.all, cap * sizeof(*set.all));
			BUG_ON(!set.all);
		}
		set.all[set.count++] = n->lst.st_ino;
	}
	if (set.count)
		qsort(set.all, set.count, sizeof(*set.all), by_ino);
	return set;
}

static int links_one(void *arg, const char *name, ino_t ino UNUSED,
		     unsigned char type UNUSED)
{
	struct links *l = arg;
	struct ov_node *dir = l->dir, *n;
	struct stat st;
	struct diff_old old = {dir->lhost, name, &st};
	int kind;

	if (ov_entry_find(dir, name) || ov_lower_closed(dir, name) ||
	    hostfs_stat(dir->lhost, name, &st) < 0 || st.st_nlink < 2 ||
	    !bsearch(&st.st_ino, l->set->all, l->set->count, sizeof(st.st_ino),
		     by_ino))
		return 0;
	n = ov_lower_find(dir, &st);
	if (!n || !may_have_more(n))
		return 0;
	/* Without an entry it has been told at the name that was looked at. */
	if (list_empty(&n->names) && n->lhost == dir->lhost &&
	    !strcmp(n->lname, name))
		return 0;
	kind = diff_kind(n, &old);
	if (kind)
		diff_record(l->d, (enum vfs_change_kind)kind, dir, name, n,
			    &old, NULL);
	return 0;
}

int diff_links(struct diff *d)
{
	struct ino_set set = changed_links(d->ov);
	int ret = 0;

	list_for_each (p, &d->ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);
		struct links l = {d, n, &set};

		if (!ret && set.count && n->dir && n->nlink && n->has_lower &&
		    !n->dir->opaque && (n == d->ov->root || n->parent))
			ret = ov_lower_list(n, links_one, &l);
	}
	free(set.all);
	return ret;
}
