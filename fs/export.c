/*
 * export.c - see export.h. By libarchive, loaded at the first use.
 *
 * LIMIT: sockets are left out: tar has none.
 */
#include "export.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>

#include "../sentry/base/extlib.h"

static struct {
	bool loaded;
	EXTLIB_FN(archive_write_new);
	EXTLIB_FN(archive_write_set_format_pax);
	EXTLIB_FN(archive_write_set_bytes_in_last_block);
	EXTLIB_FN(archive_write_open_fd);
	EXTLIB_FN(archive_write_header);
	EXTLIB_FN(archive_write_data);
	EXTLIB_FN(archive_write_close);
	EXTLIB_FN(archive_write_free);
	EXTLIB_FN(archive_error_string);
	EXTLIB_FN(archive_entry_new);
	EXTLIB_FN(archive_entry_free);
	EXTLIB_FN(archive_entry_clear);
	EXTLIB_FN(archive_entry_copy_pathname);
	EXTLIB_FN(archive_entry_copy_symlink);
	EXTLIB_FN(archive_entry_copy_hardlink);
	EXTLIB_FN(archive_entry_set_mode);
	EXTLIB_FN(archive_entry_set_size);
	EXTLIB_FN(archive_entry_set_uid);
	EXTLIB_FN(archive_entry_set_gid);
	EXTLIB_FN(archive_entry_set_rdev);
	EXTLIB_FN(archive_entry_set_mtime);
	EXTLIB_FN(archive_entry_set_atime);
	EXTLIB_FN(archive_entry_xattr_add_entry);
	EXTLIB_FN(archive_entry_sparse_add_entry);
} ar;

#define SYMBOL(name)                     \
	{                                \
#name, (void **)&ar.name \
	}

static int ar_load(void)
{
	static const struct extlib_symbol symbols[] = {
		SYMBOL(archive_write_new),
		SYMBOL(archive_write_set_format_pax),
		SYMBOL(archive_write_set_bytes_in_last_block),
		SYMBOL(archive_write_open_fd),
		SYMBOL(archive_write_header),
		SYMBOL(archive_write_data),
		SYMBOL(archive_write_close),
		SYMBOL(archive_write_free),
		SYMBOL(archive_error_string),
		SYMBOL(archive_entry_new),
		SYMBOL(archive_entry_free),
		SYMBOL(archive_entry_clear),
		SYMBOL(archive_entry_copy_pathname),
		SYMBOL(archive_entry_copy_symlink),
		SYMBOL(archive_entry_copy_hardlink),
		SYMBOL(archive_entry_set_mode),
		SYMBOL(archive_entry_set_size),
		SYMBOL(archive_entry_set_uid),
		SYMBOL(archive_entry_set_gid),
		SYMBOL(archive_entry_set_rdev),
		SYMBOL(archive_entry_set_mtime),
		SYMBOL(archive_entry_set_atime),
		SYMBOL(archive_entry_xattr_add_entry),
		SYMBOL(archive_entry_sparse_add_entry),
	};

	if (!ar.loaded &&
	    extlib_load("libarchive.so.13", symbols, ARRAY_SIZE(symbols)) < 0)
		return -ENOSYS;
	ar.loaded = true;
	return 0;
}

struct export
{
	struct change_source *src;
	const struct change_list *list;
	const char *root;
	struct archive *archive;
	struct archive_entry *entry;
	const char **first; /* by group: the path in the archive */
	size_t skipped;
};

static const char *relative(const struct export *x, const char *path)
{
	size_t len = strcmp(x->root, "/") ? strlen(x->root) : 0;

	if (!path || strncmp(path, x->root, len) != 0 || path[len] != '/' ||
	    !path[len + 1])
		return NULL;
	return path + len + 1;
}

/* ---- entries --------------------------------------------------------- */

static int put_header(struct export *x)
{
	int ret = ar.archive_write_header(x->archive, x->entry);

	/* A warning: a name that is not UTF-8 was written as bytes. */
	if (ret >= ARCHIVE_WARN)
		return 0;
	log_warn("tar: %s", ar.archive_error_string(x->archive));
	return -EIO;
}

static int put_bytes(struct export *x, const char *data, size_t len)
{
	while (len) {
		ssize_t n = ar.archive_write_data(x->archive, data, len);

		if (n <= 0) {
			log_warn("tar: %s",
				 ar.archive_error_string(x->archive));
			return -EIO;
		}
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* libarchive takes the whole file and drops the holes itself. */
static void put_holes(struct export *x, int fd, off_t size)
{
	off_t pos = 0;

	if (lseek(fd, 0, SEEK_HOLE) >= size)
		return;
	while (pos < size) {
		off_t data = lseek(fd, pos, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (hole < 0 || hole > size)
			hole = size;
		if (data < 0 || data >= size)
			break;
		ar.archive_entry_sparse_add_entry(x->entry, data, hole - data);
		pos = hole;
	}
	if (!pos) /* nothing but a hole */
		ar.archive_entry_sparse_add_entry(x->entry, size, 0);
}

static int put_data(struct export *x, int fd, off_t size)
{
	enum { BLOCK = 1 << 16 };
	AUTO_FREE char *buf = xmalloc(BLOCK);
	off_t pos = 0;
	int ret = 0;

	while (pos < size && !ret) {
		size_t want = size - pos < BLOCK ? (size_t)(size - pos) : BLOCK;
		ssize_t n = pread(fd, buf, want, pos);

		if (n < 0)
			return -errno;
		if (!n) { /* it has become shorter meanwhile: zeros */
			memset(buf, 0, want);
			n = (ssize_t)want;
		}
		ret = put_bytes(x, buf, (size_t)n);
		pos += n;
	}
	return ret;
}

static void put_meta(struct export *x, const struct change *c, const char *path)
{
	const struct change_meta *m = &c->new;

	ar.archive_entry_clear(x->entry);
	ar.archive_entry_copy_pathname(x->entry, path);
	ar.archive_entry_set_mode(x->entry, m->mode);
	ar.archive_entry_set_uid(x->entry, m->uid);
	ar.archive_entry_set_gid(x->entry, m->gid);
	ar.archive_entry_set_mtime(x->entry, m->mtime.tv_sec, m->mtime.tv_nsec);
	if (S_ISLNK(m->mode))
		ar.archive_entry_copy_symlink(x->entry, m->target);
	if (S_ISCHR(m->mode) || S_ISBLK(m->mode))
		ar.archive_entry_set_rdev(x->entry, m->rdev);
	ar.archive_entry_set_size(x->entry, 0);
	for (size_t i = 0; i < m->nxattrs; i++) {
		/* trusted.* means something to who unpacks as root */
		if (!strncmp(m->xattrs[i].name, "trusted.", 8))
			continue;
		ar.archive_entry_xattr_add_entry(x->entry, m->xattrs[i].name,
						 m->xattrs[i].value,
						 m->xattrs[i].size);
	}
}

static int put_regular(struct export *x, const struct change *c,
		       const char *path)
{
	AUTO_CLOSE int fd = -1;
	int ret = x->src->open_new(x->src, c, &fd);
	struct stat st;

	if (ret < 0)
		return ret;
	if (fstat(fd, &st) < 0)
		return -errno;
	put_meta(x, c, path);
	ar.archive_entry_set_size(x->entry, st.st_size);
	put_holes(x, fd, st.st_size);
	ret = put_header(x);
	return ret ? ret : put_data(x, fd, st.st_size);
}

static int put_object(struct export *x, const struct change *c)
{
	AUTO_FREE char *dir = NULL;
	const char *path = relative(x, c->path);

	if (S_ISDIR(c->new.mode))
		path = dir = xasprintf("%s/", path);
	if (c->group && c->group <= x->list->count && x->first[c->group]) {
		put_meta(x, c, path);
		ar.archive_entry_copy_hardlink(x->entry, x->first[c->group]);
		return put_header(x);
	}
	if (c->group && c->group <= x->list->count)
		x->first[c->group] = path;
	if (S_ISREG(c->new.mode))
		return put_regular(x, c, path);
	put_meta(x, c, path);
	return put_header(x);
}

static int put_whiteout(struct export *x, const char *dir, size_t dir_len,
			const char *name)
{
	AUTO_FREE char *path = xasprintf("%.*s%s.wh.%s", (int)dir_len, dir,
					 dir_len ? "/" : "", name);

	ar.archive_entry_clear(x->entry);
	ar.archive_entry_copy_pathname(x->entry, path);
	ar.archive_entry_set_mode(x->entry, S_IFREG | 0600);
	ar.archive_entry_set_size(x->entry, 0);
	return put_header(x);
}

/* ---- what is gone ---------------------------------------------------- */

/* Is the lower name hidden already by what stands at or above it? */
static bool is_hidden(const struct export *x, const char *lower)
{
	AUTO_FREE char *path = xstrdup(lower);
	bool self = true;
	char *slash;

	do {
		const struct change *c = changes_find(x->list, path);

		/* another object stands in its place */
		if (c && c->kind != VFS_DELETED &&
		    (self || c->opaque || !S_ISDIR(c->new.mode) || !c->lower ||
		     strcmp(c->lower, c->path) != 0))
			return true;
		self = false;
		slash = strrchr(path, '/');
		*slash = '\0';
	} while (slash != path);
	return false;
}

static int gone_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int put_whiteouts(struct export *x)
{
	const char **gone = xcalloc(x->list->count + 1, sizeof(*gone));
	const char *above = NULL;
	size_t count = 0;
	int ret = 0;

	for (size_t i = 0; i < x->list->count; i++) {
		const struct change *c = &x->list->all[i];

		if ((c->kind == VFS_DELETED || c->kind == VFS_RENAMED) &&
		    relative(x, c->lower))
			gone[count++] = c->lower;
	}
	qsort(gone, count, sizeof(*gone), gone_compare);
	for (size_t i = 0; i < count && !ret; i++) {
		const char *path = relative(x, gone[i]);
		const char *slash = strrchr(path, '/');

		if (above && changes_below(gone[i], above))
			continue;
		if (is_hidden(x, gone[i]))
			continue;
		above = gone[i];
		ret = put_whiteout(x, path, slash ? (size_t)(slash - path) : 0,
				   slash ? slash + 1 : path);
	}
	free(gone);
	return ret;
}

/* A directory from elsewhere, where the lower has another one: what that holds
 * must not show through. */
static bool hides_another(const struct export *x, const struct change *c)
{
	if (!S_ISDIR(c->new.mode) || c->kind != VFS_RENAMED || c->inside)
		return false;
	for (size_t i = 0; i < x->list->count; i++) {
		const struct change *o = &x->list->all[i];

		if ((o->kind == VFS_DELETED || o->kind == VFS_RENAMED) &&
		    S_ISDIR(o->old.mode) && o->lower &&
		    !strcmp(o->lower, c->path))
			return true;
	}
	return false;
}

static int put_all(struct export *x)
{
	int ret = put_whiteouts(x);

	for (size_t i = 0; i < x->list->count && !ret; i++) {
		const struct change *c = &x->list->all[i];
		const char *path = relative(x, c->path);

		if (!path || S_ISSOCK(c->new.mode)) {
			x->skipped++;
			continue;
		}
		if (c->kind == VFS_DELETED)
			continue;
		ret = put_object(x, c);
		if (!ret && (c->opaque || hides_another(x, c)))
			ret = put_whiteout(x, path, strlen(path), ".wh..opq");
	}
	return ret;
}

int export_tar(struct change_source *src, const struct change_list *list,
	       const char *root, int fd, size_t *skipped)
{
	struct export x = {.src = src, .list = list, .root = root};
	int ret = ar_load();

	if (ret < 0)
		return ret;
	x.first = xcalloc(list->count + 1, sizeof(*x.first));
	x.archive = ar.archive_write_new();
	x.entry = ar.archive_entry_new();
	BUG_ON(!x.archive || !x.entry);
	ar.archive_write_set_format_pax(x.archive);
	ar.archive_write_set_bytes_in_last_block(x.archive, 1);
	if (ar.archive_write_open_fd(x.archive, fd) != ARCHIVE_OK)
		ret = -EIO;
	if (!ret)
		ret = put_all(&x);
	if (ar.archive_write_close(x.archive) != ARCHIVE_OK && !ret)
		ret = -EIO;
	ar.archive_entry_free(x.entry);
	ar.archive_write_free(x.archive);
	free(x.first);
	if (skipped)
		*skipped = x.skipped;
	return ret;
}
