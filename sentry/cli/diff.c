/*
 * diff.c - prints what a run changed: A, M, D, R, T (type) and P (mode, owner
 * or times) lines with sizes, or JSON. Names are the guest's: escaped.
 */
#include <stdio.h>

#include "../../fs/vfs.h"
#include "cli.h"

struct diff_print {
	bool json;
	bool any;
	struct strbuf line;
};

static void diff_text(struct strbuf *b, const struct vfs_change *c)
{
	bool dir = S_ISDIR(c->mode);

	strbuf_printf(b, "%c ", (char)c->kind);
	if (c->old_path) {
		strbuf_visible(b, c->old_path, strlen(c->old_path));
		strbuf_puts(b, " -> ");
	}
	strbuf_visible(b, c->path, strlen(c->path));
	if (dir)
		strbuf_putc(b, '/');
	else if (c->kind == VFS_MODIFIED)
		strbuf_printf(b, " (%llu -> %llu bytes)",
			      (unsigned long long)c->old_size,
			      (unsigned long long)c->size);
	else if (c->kind == VFS_ADDED)
		strbuf_printf(b, " (%llu bytes)", (unsigned long long)c->size);
	strbuf_putc(b, '\n');
}

static void diff_json(struct strbuf *b, const struct vfs_change *c, bool first)
{
	strbuf_printf(b, "%s\n  {\"kind\":\"%c\",\"path\":", first ? "" : ",",
		      (char)c->kind);
	strbuf_json_string(b, c->path, strlen(c->path));
	if (c->old_path) {
		strbuf_puts(b, ",\"old_path\":");
		strbuf_json_string(b, c->old_path, strlen(c->old_path));
	}
	if (c->mode)
		strbuf_printf(b, ",\"mode\":\"%06o\"", c->mode);
	strbuf_printf(b, ",\"size\":%llu,\"old_size\":%llu}",
		      (unsigned long long)c->size,
		      (unsigned long long)c->old_size);
}

static int diff_one(void *arg, const struct vfs_change *c)
{
	struct diff_print *d = arg;

	strbuf_reset(&d->line);
	if (d->json)
		diff_json(&d->line, c, !d->any);
	else
		diff_text(&d->line, c);
	d->any = true;
	return fwrite(d->line.data, 1, d->line.len, stdout) == d->line.len ?
		0 : -EIO;
}

int cli_print_diff(struct vfs *vfs, bool json)
{
	struct diff_print d = {.json = json};
	int err;

	strbuf_init(&d.line, 0);
	if (json)
		fputs("{\"version\":1,\"changes\":[", stdout);
	err = vfs_diff(vfs, diff_one, &d);
	if (json)
		fputs(d.any ? "\n]}\n" : "]}\n", stdout);
	if (fflush(stdout) != 0 && !err)
		err = -EIO;
	strbuf_fini(&d.line);
	return err;
}
