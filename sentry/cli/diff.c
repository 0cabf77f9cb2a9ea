/*
 * diff.c - prints what changed: A, M, D, R, T (type) and P (mode, owner or
 * xattrs) lines with sizes, line counts, a patch, or JSON. Names are the
 * guest's: escaped, but in a patch, which quotes them as git does.
 */
#include "changes.h"

#include "../../fs/patch.h"

static void put_visible(struct strbuf *b, const char *s)
{
	strbuf_visible(b, s, strlen(s));
}

static void diff_text(struct strbuf *b, const struct change *c)
{
	strbuf_printf(b, "%c ", (char)c->kind);
	if (c->kind == VFS_RENAMED) {
		put_visible(b, c->lower);
		strbuf_puts(b, " -> ");
	}
	put_visible(b, c->path);
	if (S_ISDIR(c->new.mode ? c->new.mode : c->old.mode))
		strbuf_putc(b, '/');
	else if (c->kind == VFS_MODIFIED)
		strbuf_printf(b, " (%llu -> %llu bytes)",
			      (unsigned long long)c->old.size,
			      (unsigned long long)c->new.size);
	else if (c->kind == VFS_ADDED)
		strbuf_printf(b, " (%llu bytes)",
			      (unsigned long long)c->new.size);
	if (c->new.mode && c->old.mode &&
	    (c->new.mode & 07777) != (c->old.mode & 07777) &&
	    !S_ISLNK(c->new.mode))
		strbuf_printf(b, " mode %04o -> %04o", c->old.mode & 07777,
			      c->new.mode & 07777);
	strbuf_putc(b, '\n');
}

static void json_text(struct strbuf *b, const char *key, const char *value)
{
	strbuf_printf(b, ",\"%s\":", key);
	strbuf_json_string(b, value, strlen(value));
}

static void diff_json(struct strbuf *b, const struct change *c, bool first)
{
	strbuf_printf(b, "%s\n  {\"kind\":\"%c\",\"path\":", first ? "" : ",",
		      (char)c->kind);
	strbuf_json_string(b, c->path, strlen(c->path));
	if (c->kind == VFS_RENAMED)
		json_text(b, "old_path", c->lower);
	if (c->new.mode)
		strbuf_printf(b, ",\"mode\":\"%06o\"", c->new.mode);
	if (c->old.mode)
		strbuf_printf(b, ",\"old_mode\":\"%06o\"", c->old.mode);
	strbuf_printf(b, ",\"size\":%llu,\"old_size\":%llu",
		      (unsigned long long)c->new.size,
		      (unsigned long long)c->old.size);
	if (c->new.target)
		json_text(b, "target", c->new.target);
	if (c->group)
		strbuf_printf(b, ",\"links\":%llu",
			      (unsigned long long)c->group);
	if (c->by) {
		strbuf_printf(b, ",\"pid\":%d", (int)c->by_pid);
		json_text(b, "by", c->by);
	}
	strbuf_putc(b, '}');
}

static int put_out(const struct strbuf *b)
{
	return fwrite(b->data, 1, b->len, stdout) == b->len ? 0 : -EIO;
}

static int print_list(const struct change_list *l, bool json)
{
	struct strbuf b;
	bool first = true;
	int ret = 0;

	strbuf_init(&b, 0);
	if (json)
		fputs("{\"version\":1,\"changes\":[", stdout);
	for (size_t i = 0; i < l->count && !ret; i++) {
		if (l->all[i].inside)
			continue;
		strbuf_reset(&b);
		if (json)
			diff_json(&b, &l->all[i], first);
		else
			diff_text(&b, &l->all[i]);
		first = false;
		ret = put_out(&b);
	}
	if (json)
		fputs(first ? "]}\n" : "\n]}\n", stdout);
	strbuf_fini(&b);
	return ret;
}

/* ---- by program ------------------------------------------------------ */

static int by_compare(const void *a, const void *b)
{
	const struct change *x = *(const struct change *const *)a;
	const struct change *y = *(const struct change *const *)b;

	if (!x->by || !y->by) {
		if (x->by || y->by)
			return x->by ? -1 : 1;
	} else if (x->by_pid != y->by_pid) {
		return x->by_pid < y->by_pid ? -1 : 1;
	} else if (strcmp(x->by, y->by) != 0) {
		return strcmp(x->by, y->by);
	}
	return x->index < y->index ? -1 : x->index > y->index;
}

static int print_by(const struct change_list *l)
{
	AUTO_FREE const struct change **p = xcalloc(l->count + 1, sizeof(*p));
	struct strbuf b;
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < l->count; i++)
		if (!l->all[i].inside)
			p[n++] = &l->all[i];
	qsort(p, n, sizeof(*p), by_compare);
	strbuf_init(&b, 0);
	for (size_t i = 0; i < n && !ret; i++) {
		const struct change *c = p[i], *last = i ? p[i - 1] : NULL;

		strbuf_reset(&b);
		if (!last || !last->by != !c->by ||
		    (c->by && (last->by_pid != c->by_pid ||
			       strcmp(last->by, c->by) != 0))) {
			if (c->by) {
				strbuf_printf(&b, "%d ", (int)c->by_pid);
				put_visible(&b, c->by);
			} else {
				strbuf_puts(&b, "(not known)");
			}
			strbuf_puts(&b, ":\n");
		}
		strbuf_puts(&b, "  ");
		diff_text(&b, c);
		ret = put_out(&b);
	}
	strbuf_fini(&b);
	return ret;
}

bool cli_change_by(const struct change *c, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (!c->by)
		return false;
	if (*text && !*end)
		return c->by_pid == (pid_t)pid;
	return strstr(c->by, text) != NULL;
}

/* ---- counts and patches ---------------------------------------------- */

static int print_stat(struct change_source *src, const struct change_list *l)
{
	size_t files = 0, added = 0, deleted = 0;
	struct strbuf b;
	int ret = 0;

	strbuf_init(&b, 0);
	for (size_t i = 0; i < l->count && !ret; i++) {
		const struct change *c = &l->all[i];
		struct patch_stat st = {0};

		if (S_ISDIR(c->new.mode ? c->new.mode : c->old.mode) ||
		    (c->inside && c->kind == VFS_RENAMED))
			continue;
		ret = patch_count(src, c, &st);
		if (ret == -EFBIG) {
			st.binary = true;
			ret = 0;
		}
		strbuf_reset(&b);
		strbuf_printf(&b, " %c ", (char)c->kind);
		put_visible(&b, c->path);
		if (st.binary)
			strbuf_printf(&b, " | Bin %llu -> %llu bytes\n",
				      (unsigned long long)c->old.size,
				      (unsigned long long)c->new.size);
		else
			strbuf_printf(&b, " | +%zu -%zu\n", st.added,
				      st.deleted);
		files++;
		added += st.added;
		deleted += st.deleted;
		if (!ret)
			ret = put_out(&b);
	}
	if (!ret)
		printf(" %zu file%s, %zu line%s added, %zu deleted\n", files,
		       files == 1 ? "" : "s", added, added == 1 ? "" : "s",
		       deleted);
	strbuf_fini(&b);
	return ret;
}

static int patch_out(void *arg, const char *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static int print_patch(struct change_source *src, const struct change_list *l,
		       const char *root)
{
	struct patch_options o = {
		.root = root ? root : "/", .write = patch_out, .arg = stdout};
	size_t skipped;
	int ret = patch_write(src, l, &o, &skipped);

	if (!ret && skipped)
		log_warn("%zu change%s outside of %s, or that a patch cannot "
			 "hold, left out",
			 skipped, skipped == 1 ? "" : "s", o.root);
	return ret;
}

int cli_diff(struct change_source *src, const struct diff_format *f)
{
	struct change_list list;
	int ret = changes_load(src, f->patch ? CHANGES_IN_RENAMED : 0, &list);

	if (ret < 0)
		return ret;
	if (f->patch)
		ret = print_patch(src, &list, f->root);
	else if (f->stat)
		ret = print_stat(src, &list);
	else if (f->by && !f->json)
		ret = print_by(&list);
	else
		ret = print_list(&list, f->json);
	changes_free(src, &list);
	if (fflush(stdout) != 0 && !ret)
		ret = -EIO;
	return ret;
}
