/*
 * procsrc_numa.c - /proc/PID/numa_maps: the host's lines, by address, with the
 * file names that the guest's own maps show. What these leave out (the stub)
 * is left out.
 */
#include <stdio.h>

#include "../fs/pseudo.h"
#include "procsrc_priv.h"

/* The file that the maps, as the guest sees them, have at the address. */
static bool numa_file(const struct strbuf *maps, const char *addr, size_t len,
		      struct strbuf *out)
{
	const char *p = maps->data, *end = p + maps->len;

	while (p && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end, *path;

		if ((size_t)(stop - p) > len && !memcmp(p, addr, len) &&
		    p[len] == '-') {
			path = memchr(p, '/', (size_t)(stop - p));
			for (; path && path < stop; path++) {
				if (*path == ' ' || *path == '\\')
					strbuf_printf(out, "\\%03o", *path);
				else
					strbuf_putc(out, *path);
			}
			return true;
		}
		p = stop + 1;
	}
	return false;
}

static void numa_line(const struct strbuf *maps, const char *line, size_t len,
		      struct strbuf *out)
{
	const char *sp = memchr(line, ' ', len), *file, *rest;
	const char *end = line + len;
	struct strbuf path;

	strbuf_init(&path, PATH_LEN_MAX * 4);
	if (sp && numa_file(maps, line, (size_t)(sp - line), &path)) {
		file = memmem(line, len, " file=", 6);
		if (!file)
			file = rest = end;
		else if (!(rest = memchr(file + 1, ' ',
					 (size_t)(end - file - 1))))
			rest = end;
		strbuf_add(out, line, (size_t)(file - line));
		if (path.len && file < end)
			strbuf_printf(out, " file=%.*s", (int)path.len,
				      path.data);
		strbuf_add(out, rest, (size_t)(end - rest));
		strbuf_putc(out, '\n');
	}
	strbuf_fini(&path);
}

int procsrc_numa_maps(struct procsrc *ps, struct vfs_ctx *ctx,
		      const struct proctarget *t, struct strbuf *out)
{
	struct strbuf maps, numa;
	const char *p, *end;
	int err;

	strbuf_init(&maps, PSEUDO_TEXT_MAX);
	strbuf_init(&numa, PSEUDO_TEXT_MAX);
	err = procsrc_maps(ps, ctx, t, "maps", &maps);
	if (!err)
		err = procsrc_read(ps, t, "numa_maps", &numa);
	p = numa.data;
	end = p + numa.len;
	while (!err && p && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		numa_line(&maps, p, (size_t)(stop - p), out);
		p = stop + 1;
	}
	strbuf_fini(&maps);
	strbuf_fini(&numa);
	return err;
}
