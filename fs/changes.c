/*
 * changes.c - lists of change records, whatever their source; see changes.h.
 */
#include "changes.h"

#include <xxhash.h>

static void meta_free(struct change_meta *m)
{
	for (size_t i = 0; i < m->nxattrs; i++) {
		free(m->xattrs[i].name);
		free(m->xattrs[i].value);
	}
	free(m->xattrs);
	free(m->target);
}

static void change_free(struct change_source *src, struct change *c)
{
	if (src->forget)
		src->forget(src, c);
	meta_free(&c->old);
	meta_free(&c->new);
	free(c->path);
	free(c->lower);
	free(c->host);
	free(c->lower_host);
	free(c->linked);
	free(c->by);
}

struct change *changes_add(struct change_list *list)
{
	if (list->count == list->cap) {
		list->cap = list->cap ? list->cap * 2 : 64;
		list->all = realloc(list->all, list->cap * sizeof(*list->all));
		BUG_ON(!list->all);
	}
	memset(&list->all[list->count], 0, sizeof(*list->all));
	return &list->all[list->count++];
}

/* "/" sorts before every other byte, so a directory's names stay together. */
static int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int change_compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int ret = path_compare(x->path, y->path);

	if (ret)
		return ret;
	return (y->kind == VFS_DELETED) - (x->kind == VFS_DELETED);
}

static void changes_number(struct change_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		list->all[i].index = i;
}

void changes_sort(struct change_list *list)
{
	if (list->count)
		qsort(list->all, list->count, sizeof(*list->all),
		      change_compare);
	changes_number(list);
}

int changes_load(struct change_source *src, unsigned flags,
		 struct change_list *out)
{
	int ret;

	memset(out, 0, sizeof(*out));
	ret = src->load(src, flags, out);
	if (ret < 0)
		changes_free(src, out);
	return ret;
}

void changes_free(struct change_source *src, struct change_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		change_free(src, &list->all[i]);
	free(list->all);
	memset(list, 0, sizeof(*list));
}

void changes_filter(struct change_source *src, struct change_list *list,
		    bool (*keep)(const struct change *c, void *arg), void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (keep(&list->all[i], arg))
			list->all[kept++] = list->all[i];
		else
			change_free(src, &list->all[i]);
	}
	list->count = kept;
}

struct change *changes_find(const struct change_list *list, const char *path)
{
	size_t lo = 0, hi = list->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (path_compare(list->all[mid].path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == list->count || strcmp(list->all[lo].path, path) != 0)
		return NULL;
	while (lo + 1 < list->count && !strcmp(list->all[lo + 1].path, path))
		lo++;
	return &list->all[lo];
}

bool changes_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

bool changes_same_bytes(int a, int b)
{
	enum { BLOCK = 32768 };
	AUTO_FREE char *x = xmalloc(BLOCK), *y = xmalloc(BLOCK);
	off_t pos = 0;

	for (;;) {
		ssize_t n = pread(a, x, BLOCK, pos);
		ssize_t m = pread(b, y, BLOCK, pos);

		if (n != m || n < 0)
			return false;
		if (!n)
			return true;
		if (memcmp(x, y, (size_t)n) != 0)
			return false;
		pos += n;
	}
}

int changes_hash(int fd, uint64_t *hash)
{
	enum { BLOCK = 65536 };
	XXH3_state_t *state = XXH3_createState();
	AUTO_FREE char *buf = xmalloc(BLOCK);
	off_t pos = 0;
	ssize_t n;

	BUG_ON(!state);
	XXH3_64bits_reset(state);
	while ((n = pread(fd, buf, BLOCK, pos)) > 0) {
		XXH3_64bits_update(state, buf, (size_t)n);
		pos += n;
	}
	*hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return n < 0 ? -errno : 0;
}

void changes_ident(struct change_ident *id, const struct stat *st)
{
	memset(id, 0, sizeof(*id));
	id->dev = st->st_dev;
	id->ino = st->st_ino;
	id->mode = st->st_mode;
	id->size = (uint64_t)st->st_size;
	id->mtime = st->st_mtim;
	id->ctime = st->st_ctim;
}

static bool time_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool changes_ident_equal(const struct change_ident *a,
			 const struct change_ident *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->mode == b->mode &&
	       a->size == b->size && time_equal(a->mtime, b->mtime) &&
	       time_equal(a->ctime, b->ctime);
}
