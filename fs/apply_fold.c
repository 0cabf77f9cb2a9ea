/*
 * apply_fold.c - a path as a file system may take it that does not compare
 * bytes: ext4's and f2fs's casefold directories (the form NFDICF: no marks
 * that are ignored, full case folding), vfat's (no dots at the end), those of
 * servers.
 *
 * Only what can become ASCII matters here, since the guarded names are that.
 */
#include "apply_priv.h"

#include "../sentry/base/strbuf.h"

struct range {
	uint32_t from, to;
};

/* Default_Ignorable_Code_Point of Unicode. */
static const struct range ignored[] = {
	{0xad, 0xad},	    {0x34f, 0x34f},	{0x61c, 0x61c},
	{0x115f, 0x1160},   {0x17b4, 0x17b5},	{0x180b, 0x180f},
	{0x200b, 0x200f},   {0x202a, 0x202e},	{0x2060, 0x206f},
	{0x3164, 0x3164},   {0xfe00, 0xfe0f},	{0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfff8},	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

/* All that fold to ASCII and are none. */
static const struct {
	uint32_t c;
	const char *as;
} folded[] = {
	{0xdf, "ss"},	{0x17f, "s"},	 {0x37e, ";"},	  {0x1e9e, "ss"},
	{0x1fef, "`"},	{0x212a, "k"},	 {0xfb00, "ff"},  {0xfb01, "fi"},
	{0xfb02, "fl"}, {0xfb03, "ffi"}, {0xfb04, "ffl"}, {0xfb05, "st"},
	{0xfb06, "st"},
};

/* The character at p, which is not NUL, and its length; bytes that are not
 * UTF-8 are one each, beyond Unicode. */
static size_t decode(const unsigned char *p, uint32_t *c)
{
	size_t n = *p < 0xc2 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

	if (*p < 0x80) {
		*c = *p;
		return 1;
	}
	*c = *p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			n = 1;
			break;
		}
		*c = *c << 6 | (p[i] & 0x3f);
	}
	if (n == 1)
		*c = UINT32_MAX;
	return n;
}

static bool is_ignored(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (c >= ignored[i].from && c <= ignored[i].to)
			return true;
	return false;
}

static const char *fold_of(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(folded); i++)
		if (folded[i].c == c)
			return folded[i].as;
	return NULL;
}

static void trim(struct strbuf *b, size_t from)
{
	while (b->len > from &&
	       (b->data[b->len - 1] == '.' || b->data[b->len - 1] == ' '))
		b->data[--b->len] = '\0';
}

char *apply_fold(const char *path)
{
	const unsigned char *p = (const unsigned char *)path;
	size_t start = 0, n;
	struct strbuf b;

	strbuf_init(&b, 0);
	for (uint32_t c; *p; p += n) {
		const char *as;

		n = decode(p, &c);
		as = n > 1 ? fold_of(c) : NULL;
		if (c == '/') {
			trim(&b, start);
			start = b.len + 1;
		}
		if (as)
			strbuf_puts(&b, as);
		else if (n == 1 || !is_ignored(c))
			strbuf_add(&b, p, n);
	}
	trim(&b, start);
	return b.data ? b.data : xstrdup("");
}
