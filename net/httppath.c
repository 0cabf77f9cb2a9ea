/*
 * httppath.c - see httppath.h.
 */
#include "httppath.h"

#include <strings.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Length of the UTF-8 sequence at s, 0 if there is none. */
static size_t utf8(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char first, last, low, high; /* low: of the second */
		size_t n;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (s[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (len < forms[i].n || s[1] < forms[i].low ||
		    s[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].n; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].n;
	}
	return 0;
}

/* Into t->path, without looking at segments. */
static const char *decode(struct http_str in, struct http_target *t)
{
	size_t n = 0;

	for (size_t i = 0; i < in.len; i++) {
		int a, b;

		t->path[n] = in.p[i];
		if (in.p[i] == '\\')
			return "a backslash in the path";
		if (in.p[i] == '%') {
			a = i + 2 < in.len ? hex(in.p[i + 1]) : -1;
			b = i + 2 < in.len ? hex(in.p[i + 2]) : -1;
			if (a < 0 || b < 0)
				return "a percent sign that encodes nothing";
			t->path[n] = (char)(a << 4 | b);
			i += 2;
			if (t->path[n] == '/' || t->path[n] == '\\')
				return "an encoded slash";
		}
		if ((unsigned char)t->path[n] < 0x20 || t->path[n] == 0x7f)
			return "a control byte in the path";
		n++;
	}
	t->path[n] = '\0';
	for (size_t i = 0, step; i < n; i += step) {
		const char *p = t->path + i;

		step = utf8((const unsigned char *)p, n - i);
		if (!step)
			return "a path that is not UTF-8";
		if (*p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0)
			return "a path that is encoded twice";
	}
	return NULL;
}

static size_t dots(const char *seg, size_t len)
{
	size_t n = 0;

	while (n < len && seg[n] == '.')
		n++;
	return n > 2 || (n < len && seg[n] != ';') ? 0 : n;
}

/* Takes dot segments out of t->path; true if there were any. */
static const char *resolve(struct http_target *t, bool *changed)
{
	const char *in = t->path;
	size_t n = 0;

	*changed = false;
	while (*in) { /* at a slash */
		size_t len = strcspn(in + 1, "/"), d = dots(in + 1, len);

		if (d && d != len)
			return "a dot segment with parameters";
		if (!d) {
			memmove(t->path + n, in, len + 1);
			n += len + 1;
		} else {
			*changed = true;
			while (d == 2 && n && t->path[--n] != '/')
				;
			if (!in[len + 1]) /* the last one: a directory */
				t->path[n++] = '/';
		}
		in += len + 1;
	}
	if (!n)
		t->path[n++] = '/';
	t->path[n] = '\0';
	return NULL;
}

static void encode(struct http_target *t)
{
	static const char digits[] = "0123456789ABCDEF";

	t->send_len = 0;
	for (const char *p = t->path; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') ||
		    strchr("/-._~!$&'()*+,;=:@", *p)) {
			t->send[t->send_len++] = *p;
			continue;
		}
		t->send[t->send_len++] = '%';
		t->send[t->send_len++] = digits[c >> 4];
		t->send[t->send_len++] = digits[c & 15];
	}
}

/* http://HOST/PATH: leaves the path, or makes it "/". */
static const char *absolute(struct http_str *in, struct http_target *t)
{
	size_t skip = 7, n;

	if (in->len > 8 && !strncasecmp(in->p, "https://", 8)) {
		skip = 8;
		t->https = true;
	} else if (in->len <= 7 || strncasecmp(in->p, "http://", 7)) {
		return "a request target that is no path";
	}
	t->authority.p = in->p + skip;
	for (n = 0; skip + n < in->len; n++)
		if (strchr("/?", in->p[skip + n]))
			break;
	t->authority.len = n;
	if (!n || memchr(t->authority.p, '@', n))
		return "a request target without a host";
	in->p += skip + n;
	in->len -= skip + n;
	return NULL;
}

const char *http_target_parse(struct http_str target, struct http_target *t)
{
	static const char root[] = "/";
	const char *why = NULL, *mark;
	struct http_str in = target;
	bool changed;

	memset(&t->query, 0, sizeof(t->query));
	memset(&t->authority, 0, sizeof(t->authority));
	t->https = false;
	if (!in.len || in.len > HTTP_TARGET_MAX)
		return "a request target that is too long";
	if (in.p[0] != '/')
		why = absolute(&in, t);
	if (why)
		return why;
	mark = in.len ? memchr(in.p, '?', in.len) : NULL;
	if (mark) {
		t->query.p = mark + 1;
		t->query.len = in.len - (size_t)(mark + 1 - in.p);
		in.len = (size_t)(mark - in.p);
	}
	if (!in.len)
		in = (struct http_str){root, 1};
	why = decode(in, t);
	if (!why)
		why = resolve(t, &changed);
	if (why)
		return why;
	if (changed) {
		encode(t);
	} else {
		memcpy(t->send, in.p, in.len);
		t->send_len = in.len;
	}
	return NULL;
}

/* ---- patterns ---- */

/* One segment; "*" as of a shell, and never an empty one as a whole. */
static bool segment_match(const char *p, size_t plen, const char *s,
			  size_t slen)
{
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	if (plen == 1 && p[0] == '*')
		return slen > 0;
	while (k < slen) {
		if (i < plen && p[i] == '*') {
			star = i++;
			from = k;
		} else if (i < plen && p[i] == s[k]) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < plen && p[i] == '*')
		i++;
	return i == plen;
}

static size_t segment(const char *at)
{
	return strcspn(at + 1, "/");
}

/* Both begin with a slash, or are at their end. */
bool http_path_match(const char *pattern, const char *path)
{
	const char *star = NULL, *from = NULL;

	while (*path) {
		size_t n = *pattern ? segment(pattern) : 0, len = segment(path);

		if (*pattern && n == 2 && !memcmp(pattern + 1, "**", 2)) {
			star = pattern += n + 1;
			from = path;
		} else if (*pattern &&
			   segment_match(pattern + 1, n, path + 1, len)) {
			pattern += n + 1;
			path += len + 1;
		} else if (star) {
			pattern = star;
			from += segment(from) + 1;
			path = from;
		} else {
			return false;
		}
	}
	while (*pattern && segment(pattern) == 2 &&
	       !memcmp(pattern + 1, "**", 2))
		pattern += 3;
	return !*pattern;
}
