/*
 * alike.c - where rules say the same of all names.
 *
 * A verdict costs microseconds, and a listing asks for one of every name. But
 * few directories have a rule below them, and a pattern can match a name only
 * with its own last component. So: a directory is alike if no rule and no
 * place lies below it, nor a pattern can match all that is in it; and a name
 * is told if it matches the last component of any pattern, be that pattern's
 * directory another one. Both err to the side of asking.
 *
 * Last components that begin and end with the same bytes are of one kind, and
 * each is there once: ten thousand rules about keys are one question.
 *
 * So of a name that is not told, in a directory that is alike, policy_mask says
 * what it says of any other such name there.
 * [policy_test: names_alike_get_one_answer]
 */
#include "../base/costs.h"
#include "glob.h"
#include "rules.h"

static void told_byte(uint64_t (*table)[TOLD_WORDS], int byte, size_t bit)
{
	int to = byte < 0 ? 255 : byte;

	for (int b = byte < 0 ? 0 : byte; b <= to; b++)
		table[b][bit / 64] |= UINT64_C(1) << bit % 64;
}

/* The byte that a match begins with; -1: any. */
static int glob_first(const char *glob)
{
	if (*glob == '\\')
		return (unsigned char)glob[1];
	return strchr("*?[", *glob) ? -1 : (unsigned char)*glob;
}

static int glob_last(const char *glob)
{
	char c = glob[strlen(glob) - 1];

	return strchr("*?]\\", c) ? -1 : (unsigned char)c;
}

static bool glob_known(const struct htable *globs, const char *glob,
		       uint64_t hash)
{
	struct hnode *n = htable_first(globs, hash);

	for (; n; n = htable_next(n))
		if (strcmp(container_of(n, struct told, node)->glob, glob) == 0)
			return true;
	return false;
}

static void told_add(struct policy *p, struct htable *globs,
		     const char *pattern)
{
	struct told *t = &p->told[p->ntold++];
	const char *last = strrchr(pattern, '/');
	uint64_t hash;
	int from, to;
	size_t bit;

	t->pattern = pattern;
	t->literal = strcspn(pattern, "*?[\\");
	if (!last || !last[1 + strspn(last + 1, "*")])
		return;
	t->glob = last + 1;
	hash = hash_bytes(t->glob, strlen(t->glob), 0);
	if (glob_known(globs, t->glob, hash))
		return;
	htable_add(globs, &t->node, hash);
	from = glob_first(t->glob);
	to = glob_last(t->glob);
	bit = (size_t)((from + 1) * 31 + to + 1) % TOLD_BITS;
	t->next = p->bytes.kind[bit];
	p->bytes.kind[bit] = t;
	told_byte(p->bytes.first, from, bit);
	told_byte(p->bytes.last, to, bit);
}

void alike_build(struct policy *p)
{
	struct htable globs;

	htable_init(&globs);
	p->told = xcalloc(p->nsecrets + p->nfiles, sizeof(*p->told));
	for (size_t i = 0; i < p->nsecrets; i++)
		told_add(p, &globs, p->secrets[i].pattern);
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].access == FILE_HIDE)
			told_add(p, &globs, p->files[i].path);
	htable_fini(&globs);
}

static bool told_matches(const struct policy *p, size_t bit, const char *name)
{
	for (const struct told *t = p->bytes.kind[bit]; t; t = t->next)
		if (glob_match(t->glob, name))
			return true;
	return false;
}

bool policy_name_told(void *policy, const char *name, size_t len)
{
	const struct policy *p = policy;
	const uint64_t *first = p->bytes.first[(unsigned char)name[0]];
	const uint64_t *last = p->bytes.last[(unsigned char)name[len - 1]];

	for (size_t w = 0; w < TOLD_WORDS; w++)
		for (uint64_t m = first[w] & last[w]; m; m &= m - 1)
			if (told_matches(p, 64 * w + __builtin_ctzll(m), name))
				return true;
	return false;
}

/* Can the pattern match something in dir, as far as its literal part tells? */
static bool may_match_below(const struct told *t, const char *dir, size_t len)
{
	size_t n = t->literal < len ? t->literal : len;

	return !memcmp(t->pattern, dir, n) &&
	       (t->literal <= len || t->pattern[len] == '/');
}

static bool lies_below(const char *path, const char *dir, size_t len)
{
	return strlen(path) > len && path_covers(dir, len, path);
}

/* dir is without a slash at its end, "" for the root. */
static bool names_alike(const struct policy *p, const char *dir)
{
	size_t len = strlen(dir);

	for (size_t i = 0; i < p->ntold; i++)
		if (!p->told[i].glob && may_match_below(&p->told[i], dir, len))
			return false;
	for (size_t i = 0; i < p->nplaces; i++)
		if (lies_below(p->places[i].path, dir, len))
			return false;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].access != FILE_HIDE &&
		    lies_below(p->files[i].guest, dir, len))
			return false;
	return true;
}

static bool dir_alike(const struct policy *p, const char *dir)
{
	AUTO_FREE char *host = NULL;
	size_t given;

	if (!strcmp(dir, "/"))
		dir = "";
	if (!names_alike(p, dir))
		return false;
	/* No rule lies below, so one shows all that is here. */
	host = policy_host_path(p, dir, &given);
	return !host || names_alike(p, host);
}

bool policy_dir_alike(void *policy, const char *dir)
{
	enum costs_part back = costs_enter(COSTS_POLICY);
	bool alike = dir_alike(policy, dir);

	costs_leave(back);
	return alike;
}
