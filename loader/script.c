/*
 * script.c - the "#!" parser; see script.h.
 *
 * Works on a private copy of the head with fixed bounds; the pointer walk
 * follows the kernel's step by step so that odd files come out the same.
 */
#include "script.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Both look at [first, last], last included; NULL if there is none. */
static const char *next_non_blank(const char *first, const char *last)
{
	for (; first <= last; first++)
		if (!is_blank(*first))
			return first;
	return NULL;
}

static const char *next_terminator(const char *first, const char *last)
{
	for (; first <= last; first++)
		if (is_blank(*first) || !*first)
			return first;
	return NULL;
}

/* A newline before any NUL, as strnchr finds it. */
static const char *find_newline(const char *s, size_t len)
{
	for (; len && *s; s++, len--)
		if (*s == '\n')
			return s;
	return NULL;
}

static void copy_part(char *dst, const char *from, const char *to)
{
	size_t len = strnlen(from, (size_t)(to - from));

	memcpy(dst, from, len);
	dst[len] = '\0';
}

void script_take_head(const struct file_head *h, char head[SCRIPT_HEAD])
{
	size_t n = h->len < SCRIPT_HEAD ? h->len : SCRIPT_HEAD;

	memcpy(head, h->bytes, n);
	memset(head + n, 0, SCRIPT_HEAD - n);
}

/* The end of the line's text, or NULL where it may be truncated. */
static const char *line_end(const char *head, const char *last)
{
	const char *end = find_newline(head, SCRIPT_HEAD);

	if (!end) {
		end = next_non_blank(head + 2, last);
		if (!end || !next_terminator(end, last))
			return NULL;
		end = last;
	}
	while (is_blank(end[-1]))
		end--;
	return end;
}

int script_parse(const char head[SCRIPT_HEAD], struct script_line *out)
{
	const char *last = head + SCRIPT_HEAD - 1;
	const char *end, *name, *sep, *arg = NULL;

	memset(out, 0, sizeof(*out));
	if (head[0] != '#' || head[1] != '!')
		return -ENOEXEC;
	end = line_end(head, last);
	if (!end)
		return -ENOEXEC;
	name = next_non_blank(head + 2, end);
	if (!name || name == end)
		return -ENOEXEC;
	sep = next_terminator(name, end);
	if (sep && *sep)
		arg = next_non_blank(sep, end);
	copy_part(out->interp, name, arg ? sep : end);
	if (arg) {
		out->has_arg = true;
		copy_part(out->arg, arg, end);
	}
	return 0;
}
