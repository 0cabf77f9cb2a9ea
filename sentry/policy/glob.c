/*
 * glob.c - see glob.h.
 *
 * Components are matched one by one; a failure goes back to the last `**`
 * only (an earlier one cannot help, since the later matches any run that it
 * would leave), and within a component to the last `*`.
 */
#include "glob.h"

/* Matches one byte against the class at *pat (just after '['); moves *pat
 * behind its ']'. A class without ']' is a literal '['. */
static bool class_match(const char **pat, const char *end, char c)
{
	const char *p = *pat;
	bool negate = p < end && (*p == '!' || *p == '^');
	bool hit = false;

	if (negate)
		p++;
	for (bool first = true; p < end && (first || *p != ']');
	     first = false) {
		unsigned char lo = (unsigned char)*p, hi = lo;

		if (p + 2 < end && p[1] == '-' && p[2] != ']') {
			hi = (unsigned char)p[2];
			p += 2;
		}
		p++;
		if ((unsigned char)c >= lo && (unsigned char)c <= hi)
			hit = true;
	}
	if (p >= end)
		return c == '[';
	*pat = p + 1;
	return hit != negate;
}

/* One element of the pattern (not '*') against one byte; moves *pat. */
static bool element_match(const char **pat, const char *end, char c)
{
	char p = *(*pat)++;

	if (p == '?')
		return true;
	if (p == '[')
		return class_match(pat, end, c);
	if (p == '\\' && *pat < end)
		p = *(*pat)++;
	return p == c;
}

static bool name_match(const char *pat, size_t pat_len, const char *name,
		       size_t len)
{
	const char *pat_end = pat + pat_len, *end = name + len;
	const char *star = NULL, *retry = NULL;

	while (name < end) {
		const char *next = pat;

		if (pat < pat_end && *pat == '*') {
			star = ++pat;
			retry = name;
			continue;
		}
		if (pat < pat_end && element_match(&next, pat_end, *name)) {
			pat = next;
			name++;
			continue;
		}
		if (!star)
			return false;
		pat = star;
		name = ++retry;
	}
	while (pat < pat_end && *pat == '*')
		pat++;
	return pat == pat_end;
}

static const char *component(const char **p, size_t *len)
{
	const char *s = *p;

	while (*s == '/')
		s++;
	*len = strcspn(s, "/");
	*p = s + *len;
	return s;
}

bool glob_match(const char *pattern, const char *path)
{
	const char *pat_retry = NULL, *path_retry = NULL;

	for (;;) {
		size_t pat_len, len;
		const char *next_pat = pattern, *next = path;
		const char *pat = component(&next_pat, &pat_len);
		const char *name = component(&next, &len);

		if (pat_len == 2 && pat[0] == '*' && pat[1] == '*') {
			pattern = next_pat;
			pat_retry = pattern;
			path_retry = path;
			if (!pattern[strspn(pattern, "/")])
				return len > 0;
			continue;
		}
		if (!pat_len && !len)
			return true;
		if (pat_len && len && name_match(pat, pat_len, name, len)) {
			pattern = next_pat;
			path = next;
			continue;
		}
		if (!pat_retry)
			return false;
		component(&path_retry, &len);
		if (!len)
			return false;
		pattern = pat_retry;
		path = path_retry;
	}
}

bool glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[\\") != NULL;
}

const char *glob_check(const char *pattern)
{
	if (!*pattern)
		return "it is empty";
	if (strlen(pattern) >= PATH_LEN_MAX)
		return "it is longer than a path can be";
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && !*++p)
			return "it ends in a backslash";
		if (*p == '[' && !strchr(p, ']'))
			return "a [ has no ]";
	}
	return NULL;
}
