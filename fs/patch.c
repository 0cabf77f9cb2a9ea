/*
 * patch.c - which files a patch tells of, and its headers; see patch.h.
 *
 * Every path has an old side (some record's lower is there) and a new side
 * (some record stands there now). A record whose places are nobody else's
 * becomes a rename; all others are told path by path: changed, removed, added,
 * or removed and added where the type differs. Removals come first, so that a
 * program that works line by line finds the place free.
 */
#include "patch_priv.h"

#include <stdio.h>

struct entry {
	const char *path;		/* relative to the root */
	const struct change *old, *new; /* records of its sides */
	bool rename; /* new only: told as a rename of old->lower */
};

struct patch {
	struct change_source *src;
	const struct patch_options *opts;
	struct entry *entries;
	size_t count, skipped;
	struct strbuf head, body;
};

static const char *relative(const struct patch *p, const char *path)
{
	const char *root = p->opts->root;
	size_t len = strlen(root);

	if (!path)
		return NULL;
	if (len == 1)
		len = 0;
	if (strncmp(path, root, len) != 0 || path[len] != '/' || !path[len + 1])
		return NULL;
	return path + len + 1;
}

static bool is_blob(mode_t mode)
{
	return S_ISREG(mode) || S_ISLNK(mode);
}

/* ---- entries --------------------------------------------------------- */

static int entry_compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path,
		      ((const struct entry *)b)->path);
}

static void entry_add(struct patch *p, const char *path,
		      const struct change *old, const struct change *new)
{
	p->entries[p->count++] = (struct entry){path, old, new, false};
}

/* Old and new sides of one path come together. */
static void entries_merge(struct patch *p)
{
	size_t kept = 0;

	if (p->count)
		qsort(p->entries, p->count, sizeof(*p->entries), entry_compare);
	for (size_t i = 0; i < p->count; i++) {
		struct entry *e = &p->entries[i];
		struct entry *last = kept ? &p->entries[kept - 1] : NULL;

		if (!last || strcmp(last->path, e->path) != 0) {
			p->entries[kept++] = *e;
			continue;
		}
		if (!last->old)
			last->old = e->old;
		if (!last->new)
			last->new = e->new;
	}
	p->count = kept;
}

static void entries_collect(struct patch *p, const struct change_list *list)
{
	p->entries = xcalloc(2 * list->count + 1, sizeof(*p->entries));
	for (size_t i = 0; i < list->count; i++) {
		const struct change *c = &list->all[i];
		const char *path = relative(p, c->path);
		const char *lower = relative(p, c->lower);

		if (lower && is_blob(c->old.mode))
			entry_add(p, lower, c, NULL);
		if (path && is_blob(c->new.mode))
			entry_add(p, path, NULL, c);
		else if (c->new.mode && !S_ISDIR(c->new.mode))
			p->skipped++;
		else if (!path && !lower)
			p->skipped++;
	}
	entries_merge(p);
}

static struct entry *entry_find(struct patch *p, const char *path)
{
	struct entry key = {.path = path};

	return bsearch(&key, p->entries, p->count, sizeof(key), entry_compare);
}

/* A file that moved from a place which is free now to one that was free. */
static void entries_renames(struct patch *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct entry *e = &p->entries[i], *from;
		const char *lower = e->new ? relative(p, e->new->lower) : NULL;

		if (e->old || !lower || !strcmp(lower, e->path) ||
		    (e->new->old.mode &S_IFMT) != (e->new->new.mode &S_IFMT))
			continue;
		from = entry_find(p, lower);
		if (!from || from->new || from->old != e->new)
			continue;
		e->rename = true;
		from->old = NULL;
	}
}

/* ---- headers --------------------------------------------------------- */

static bool needs_quotes(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == '"' ||
		    *name == '\\' || (unsigned char)*name >= 0x7f)
			return true;
	return false;
}

/* As git does: C escapes in quotes where a byte is not plain. */
static void put_name(struct strbuf *b, const char *prefix, const char *name)
{
	static const char codes[] = "abtnvfr"; /* 7 to 13 */

	if (!needs_quotes(name)) {
		strbuf_puts(b, prefix);
		strbuf_puts(b, name);
		return;
	}
	strbuf_printf(b, "\"%s", prefix);
	for (; *name; name++) {
		unsigned char ch = (unsigned char)*name;

		if (ch >= 7 && ch <= 13)
			strbuf_printf(b, "\\%c", codes[ch - 7]);
		else if (ch == '"' || ch == '\\')
			strbuf_printf(b, "\\%c", ch);
		else if (ch < 0x20 || ch >= 0x7f)
			strbuf_printf(b, "\\%03o", ch);
		else
			strbuf_putc(b, (char)ch);
	}
	strbuf_putc(b, '"');
}

static unsigned git_mode(mode_t mode)
{
	if (S_ISLNK(mode))
		return 0120000;
	return mode & S_IXUSR ? 0100755 : 0100644;
}

/* "--- a/name"; git ends it by a tab where GNU patch would stop at a space. */
static void put_file(struct strbuf *b, const char *mark, const char *prefix,
		     const char *name)
{
	strbuf_puts(b, mark);
	if (!name)
		strbuf_puts(b, "/dev/null");
	else
		put_name(b, prefix, name);
	if (name && strchr(name, ' ') && !needs_quotes(name))
		strbuf_putc(b, '\t');
	strbuf_putc(b, '\n');
}

struct sides {
	const char *old_path, *new_path; /* NULL: no such side */
	const struct change *old, *new;
};

static void put_modes(struct strbuf *b, const struct sides *s)
{
	unsigned old = s->old ? git_mode(s->old->old.mode) : 0;
	unsigned new = s->new ? git_mode(s->new->new.mode) : 0;

	if (!s->old)
		strbuf_printf(b, "new file mode %06o\n", new);
	else if (!s->new)
		strbuf_printf(b, "deleted file mode %06o\n", old);
	else if (old != new)
		strbuf_printf(b, "old mode %06o\nnew mode %06o\n", old, new);
}

static void put_head(struct patch *p, const struct sides *s,
		     const struct patch_side *a, const struct patch_side *b,
		     bool binary)
{
	static const char none[] = "0000000000000000000000000000000000000000";
	const char *old = s->old_path ? s->old_path : s->new_path;
	const char *new = s->new_path ? s->new_path : s->old_path;
	struct strbuf *h = &p->head;

	strbuf_puts(h, "diff --git ");
	put_name(h, "a/", old);
	strbuf_putc(h, ' ');
	put_name(h, "b/", new);
	strbuf_putc(h, '\n');
	put_modes(h, s);
	if (s->old && s->new &&strcmp(old, new) != 0) {
		strbuf_puts(h, "similarity index ");
		strbuf_puts(h, p->body.len ? "50%\n" : "100%\n");
		strbuf_puts(h, "rename from ");
		put_name(h, "", old);
		strbuf_puts(h, "\nrename to ");
		put_name(h, "", new);
		strbuf_putc(h, '\n');
	}
	if (s->old && s->new && !p->body.len)
		return; /* mode or name only */
	strbuf_printf(h, "index %s..%s", s->old ? a->id : none,
		      s->new ? b->id : none);
	if (s->old &&
	    s->new &&git_mode(s->old->old.mode) == git_mode(s->new->new.mode))
		strbuf_printf(h, " %06o", git_mode(s->new->new.mode));
	strbuf_putc(h, '\n');
	if (!p->body.len || binary)
		return;
	put_file(h, "--- ", "a/", s->old_path);
	put_file(h, "+++ ", "b/", s->new_path);
}

/* ---- writing --------------------------------------------------------- */

static bool says_nothing(const struct patch *p, const struct sides *s)
{
	return s->old && s->new && !p->body.len &&
	       !strcmp(s->old_path, s->new_path) &&
	       git_mode(s->old->old.mode) == git_mode(s->new->new.mode);
}

static int write_one(struct patch *p, const struct sides *s)
{
	struct patch_side a = {0}, b = {0};
	bool binary = false;
	int ret = 0;

	strbuf_reset(&p->head);
	strbuf_reset(&p->body);
	if (s->old)
		ret = patch_side_load(p->src, s->old, true, &a);
	if (!ret && s->new)
		ret = patch_side_load(p->src, s->new, false, &b);
	if (!ret)
		ret = patch_hunks(&a, &b, &p->body, &binary);
	if (!ret && !says_nothing(p, s)) {
		put_head(p, s, &a, &b, binary);
		ret = p->opts->write(p->opts->arg, p->head.data, p->head.len);
		if (!ret && p->body.len)
			ret = p->opts->write(p->opts->arg, p->body.data,
					     p->body.len);
	}
	patch_side_fini(&a);
	patch_side_fini(&b);
	if (ret == -EFBIG) {
		log_warn("%s is too large for a patch",
			 s->new_path ? s->new_path : s->old_path);
		p->skipped++;
		ret = 0;
	}
	return ret;
}

static bool same_type(const struct entry *e)
{
	return e->old && e->new &&
	       (e->old->old.mode & S_IFMT) == (e->new->new.mode &S_IFMT);
}

static int write_removals(struct patch *p)
{
	int ret = 0;

	for (size_t i = 0; i < p->count && !ret; i++) {
		const struct entry *e = &p->entries[i];
		struct sides s = {e->path, NULL, e->old, NULL};

		if (e->old && !same_type(e))
			ret = write_one(p, &s);
	}
	return ret;
}

static int write_others(struct patch *p)
{
	int ret = 0;

	for (size_t i = 0; i < p->count && !ret; i++) {
		const struct entry *e = &p->entries[i];
		struct sides s = {NULL, e->path, NULL, e->new};

		if (!e->new)
			continue;
		if (e->rename) {
			s.old_path = relative(p, e->new->lower);
			s.old = e->new;
		} else if (same_type(e)) {
			s.old_path = e->path;
			s.old = e->old;
		}
		ret = write_one(p, &s);
	}
	return ret;
}

int patch_write(struct change_source *src, const struct change_list *list,
		const struct patch_options *opts, size_t *skipped)
{
	struct patch p = {.src = src, .opts = opts};
	int ret;

	strbuf_init(&p.head, 0);
	strbuf_init(&p.body, (size_t)1 << 30);
	entries_collect(&p, list);
	entries_renames(&p);
	ret = write_removals(&p);
	if (!ret)
		ret = write_others(&p);
	if (skipped)
		*skipped = p.skipped;
	free(p.entries);
	strbuf_fini(&p.head);
	strbuf_fini(&p.body);
	return ret;
}

int patch_count(struct change_source *src, const struct change *c,
		struct patch_stat *out)
{
	struct patch_side a = {0}, b = {0};
	int ret = 0;

	memset(out, 0, sizeof(*out));
	if (is_blob(c->old.mode) && c->content)
		ret = patch_side_load(src, c, true, &a);
	if (!ret && is_blob(c->new.mode) && c->content)
		ret = patch_side_load(src, c, false, &b);
	if (!ret && (a.data || b.data))
		ret = patch_lines(&a, &b, out);
	patch_side_fini(&a);
	patch_side_fini(&b);
	return ret;
}
