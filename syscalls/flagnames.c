/*
 * flagnames.c - see flagnames.h. One table a decoder, one row a flag: a name
 * stands for value where (word & mask) == value. Names of several bits come
 * before their parts.
 */
#include "flagnames.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <stdio.h>

struct flagname {
	uint32_t mask, value;
	const char *name;
};

#define BITS(x)              \
	{                    \
		(x), (x), #x \
	}

static const struct flagname oflags[] = {
	{O_ACCMODE, O_RDONLY, "O_RDONLY"},
	{O_ACCMODE, O_WRONLY, "O_WRONLY"},
	{O_ACCMODE, O_RDWR, "O_RDWR"},
	{O_ACCMODE, O_ACCMODE, "O_ACCMODE"},
	BITS(O_TMPFILE),
	BITS(O_SYNC),
	BITS(O_CREAT),
	BITS(O_EXCL),
	BITS(O_NOCTTY),
	BITS(O_TRUNC),
	BITS(O_APPEND),
	BITS(O_NONBLOCK),
	BITS(O_DSYNC),
	BITS(O_ASYNC),
	BITS(O_DIRECT),
	BITS(O_DIRECTORY),
	BITS(O_NOFOLLOW),
	BITS(O_NOATIME),
	BITS(O_CLOEXEC),
	BITS(O_PATH),
	{0100000, 0100000, "O_LARGEFILE"},
};

static const struct flagname atflags[] = {
	BITS(AT_SYMLINK_NOFOLLOW), BITS(AT_EACCESS),
	BITS(AT_SYMLINK_FOLLOW),   BITS(AT_NO_AUTOMOUNT),
	BITS(AT_EMPTY_PATH),	   BITS(AT_STATX_FORCE_SYNC),
	BITS(AT_STATX_DONT_SYNC),
};

static const struct flagname unlinkflags[] = {
	BITS(AT_REMOVEDIR),
};

static const struct flagname renameflags[] = {
	BITS(RENAME_NOREPLACE),
	BITS(RENAME_EXCHANGE),
	BITS(RENAME_WHITEOUT),
};

static const struct flagname amode[] = {
	{~0u, F_OK, "F_OK"},
	BITS(R_OK),
	BITS(W_OK),
	BITS(X_OK),
};

#define TABLE(t)                     \
	{                            \
#t, t, ARRAY_SIZE(t) \
	}

static const struct flagtable {
	const char *name;
	const struct flagname *rows;
	size_t count;
} tables[] = {
	TABLE(oflags),	    TABLE(atflags), TABLE(unlinkflags),
	TABLE(renameflags), TABLE(amode),
};

static const struct flagtable *flagtable_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (strlen(tables[i].name) == len &&
		    !memcmp(tables[i].name, name, len))
			return &tables[i];
	return NULL;
}

bool flagnames_known(const char *name, size_t len)
{
	return flagtable_find(name, len) != NULL;
}

void flagnames_render(struct strbuf *out, const char *name, size_t len,
		      uint32_t value)
{
	const struct flagtable *t = flagtable_find(name, len);
	uint32_t seen = 0;
	const char *sep = "";

	strbuf_putc(out, '"');
	for (size_t i = 0; t && i < t->count; i++) {
		const struct flagname *f = &t->rows[i];

		if ((value & f->mask) != f->value || (seen & f->mask))
			continue;
		strbuf_puts(out, sep);
		strbuf_puts(out, f->name);
		seen |= f->mask;
		sep = "|";
	}
	if (value & ~seen)
		strbuf_printf(out, "%s0x%x", sep, value & ~seen);
	else if (!*sep)
		strbuf_putc(out, '0');
	strbuf_putc(out, '"');
}
