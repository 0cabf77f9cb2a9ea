/*
 * changes_fixture.h - an overlay with every kind of change in it, and trees as
 * text, so that two of them can be compared.
 */
#ifndef CLOCHE_CHANGES_FIXTURE_H
#define CLOCHE_CHANGES_FIXTURE_H

#include "overlay_fixture.h"

#include "../../fs/changes.h"

struct cx_lines {
	char *line[4096];
	size_t count;
};

static inline char *cx_join(struct cx_lines *l)
{
	size_t len = 1;
	char *out, *p;

	qsort(l->line, l->count, sizeof(*l->line), fx_compare);
	for (size_t i = 0; i < l->count; i++)
		len += strlen(l->line[i]) + 1;
	out = p = xmalloc(len);
	for (size_t i = 0; i < l->count; i++) {
		p = stpcpy(stpcpy(p, l->line[i]), "\n");
		free(l->line[i]);
	}
	*p = '\0';
	return out;
}

static struct cx_lines cx_found;
static size_t cx_root_len;
static bool cx_git;	     /* only what git keeps */
static bool cx_links = true; /* numbers of links count */

static inline uint64_t cx_sum(int fd)
{
	uint64_t buf[8192], sum = 5381;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		memset((char *)buf + n, 0, -(size_t)n % sizeof(*buf));
		for (ssize_t i = 0; i < n; i += 8)
			sum = (sum ^ buf[i / 8]) * 0x100000001b3 ^ sum >> 29;
	}
	return sum;
}

static inline void cx_line(const char *path, mode_t mode, nlink_t nlink,
			   const char *target, uint64_t size, uint64_t sum)
{
	if (S_ISFIFO(mode) || !*path)
		return;
	if (cx_git) {
		if (S_ISDIR(mode))
			return;
		mode = S_ISLNK(mode) ? mode : mode & (S_IFMT | 0100);
		nlink = 0;
	}
	if (S_ISDIR(mode) || !cx_links)
		nlink = 0;
	cx_found.line[cx_found.count++] = xasprintf(
		"%s %o %lu %s %llu %llx", path, mode, (unsigned long)nlink,
		target, (unsigned long long)size, (unsigned long long)sum);
	cr_assert(cx_found.count < 4096);
}

static inline int cx_host_one(const char *path, const struct stat *st, int type,
			      struct FTW *ftw)
{
	char target[PATH_MAX] = "";
	uint64_t sum = 0;

	(void)type;
	(void)ftw;
	if (S_ISREG(st->st_mode)) {
		int fd = open(path, O_RDONLY);

		cr_assert(fd >= 0);
		sum = cx_sum(fd);
		close(fd);
	}
	if (S_ISLNK(st->st_mode))
		cr_assert(readlink(path, target, sizeof(target) - 1) >= 0);
	cx_line(path + cx_root_len, st->st_mode, st->st_nlink, target,
		S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0, sum);
	return 0;
}

/* The host's tree as text; owned. */
static inline char *cx_host(const char *root)
{
	cx_found.count = 0;
	cx_root_len = strlen(root);
	nftw(root, cx_host_one, 16, FTW_PHYS);
	return cx_join(&cx_found);
}

static inline void cx_guest_dir(struct fixture *f, const char *dir)
{
	struct fx_reader r;

	fx_reader_init(&r, f, dir);
	while (fx_reader_next(&r)) {
		char target[PATH_MAX] = "";
		struct statx st;
		struct vref ref;
		uint64_t sum = 0;
		char *path;

		if (!strcmp(r.name, ".") || !strcmp(r.name, ".."))
			continue;
		path = xasprintf("%s/%s", dir, r.name);
		st = fx_stat(f, path);
		ref = fx_ref(f, path);
		if (S_ISREG(st.stx_mode)) {
			int fd = fx_open(f, path, O_RDONLY, 0);

			sum = cx_sum(fd);
			close(fd);
		}
		if (S_ISLNK(st.stx_mode))
			cr_assert(vfs_readlink(&f->ctx, &ref, target,
					       sizeof(target) - 1) >= 0);
		cx_line(path + cx_root_len, st.stx_mode, st.stx_nlink, target,
			S_ISREG(st.stx_mode) ? st.stx_size : 0, sum);
		vref_put(&ref);
		if (S_ISDIR(st.stx_mode))
			cx_guest_dir(f, path);
		free(path);
	}
	fx_reader_fini(&r);
}

/* What the guest sees at /w as text; owned. */
static inline char *cx_guest(struct fixture *f)
{
	cx_found.count = 0;
	cx_root_len = strlen("/w");
	cx_guest_dir(f, "/w");
	return cx_join(&cx_found);
}

static inline void cx_symlink(struct fixture *f, const char *target,
			      const char *path)
{
	struct vfs_at at = {NULL, path};

	cr_assert_eq(vfs_symlink(&f->ctx, target, &at), 0);
}

/* More of the host's files than the fixture has. */
static inline void cx_host_tree(struct fixture *f)
{
	static const char *const dirs[] = {"gone",     "gone/deep", "moved",
					   "moved/in", "swap1",	    "swap2",
					   "again",    "todir"};
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->host, dirs[i]);
		cr_assert_eq(mkdir(path, 0755), 0);
	}
	fx_host_file(f, "gone/one", "1\n");
	fx_host_file(f, "gone/deep/two", "2\n");
	fx_host_file(f, "moved/kept", "kept\n");
	fx_host_file(f, "moved/changed", "line 1\nline 2\nline 3\n");
	fx_host_file(f, "moved/in/side", "inside\n");
	fx_host_file(f, "swap1/x", "x1\n");
	fx_host_file(f, "swap2/x", "x2\n");
	fx_host_file(f, "s1", "first\n");
	fx_host_file(f, "s2", "second\n");
	fx_host_file(f, "again/old", "old\n");
	fx_host_file(f, "again/both", "before\n");
	fx_host_file(f, "file", "file to directory\n");
	fx_host_file(f, "todir/in", "directory to file\n");
	fx_host_file(f, "over", "overwritten by a rename\n");
	fx_host_file(f, "source", "renamed over another\n");
	fx_host_file(f, "run.sh", "#!/bin/sh\n");
	fx_host_file(f, "with space", "space\n");
	fx_host_file(f, "noeol", "a\nb");
	snprintf(path, sizeof(path), "%s/bin", f->host);
	fx_host_file(f, "bin", "x");
	int fd = open(path, O_WRONLY | O_TRUNC);

	cr_assert_eq(write(fd, "\0\1\2\3binary\0\377\376", 13), 13);
	close(fd);
	f->hash = fx_hash(f->host);
}

/* Every kind of change. */
static inline void cx_changes(struct fixture *f)
{
	int fd;

	fx_append(f, "/w/a", "more\n");
	fx_write(f, "/w/new file", "added\n");
	fx_write(f, "/w/empty", "");
	fx_write(f, "/w/quote\"\\\t\xff", "odd name\n");
	cr_assert_eq(fx_mkdir(f, "/w/nd", 0750), 0);
	cr_assert_eq(fx_mkdir(f, "/w/nd/sub", 0755), 0);
	fx_write(f, "/w/nd/sub/f", "deep\n");
	cr_assert_eq(fx_link(f, "/w/nd/sub/f", "/w/nd/hard"), 0);
	cx_symlink(f, "../a", "/w/nd/link");
	cr_assert_eq(fx_chmod(f, "/w/run.sh", 0755), 0);
	cr_assert_eq(fx_unlink(f, "/w/gone/one"), 0);
	cr_assert_eq(fx_unlink(f, "/w/gone/deep/two"), 0);
	cr_assert_eq(fx_rmdir(f, "/w/gone/deep"), 0);
	cr_assert_eq(fx_rmdir(f, "/w/gone"), 0);
	cr_assert_eq(fx_rename(f, "/w/moved", "/w/nd/moved", 0), 0);
	fx_append(f, "/w/nd/moved/changed", "line 4\n");
	cr_assert_eq(fx_unlink(f, "/w/nd/moved/in/side"), 0);
	fx_write(f, "/w/nd/moved/in/fresh", "fresh\n");
	cr_assert_eq(fx_rename(f, "/w/swap1", "/w/swap2", RENAME_EXCHANGE), 0);
	cr_assert_eq(fx_rename(f, "/w/s1", "/w/s2", RENAME_EXCHANGE), 0);
	cr_assert_eq(fx_unlink(f, "/w/again/old"), 0);
	cr_assert_eq(fx_unlink(f, "/w/again/both"), 0);
	cr_assert_eq(fx_rmdir(f, "/w/again"), 0);
	cr_assert_eq(fx_mkdir(f, "/w/again", 0755), 0);
	fx_write(f, "/w/again/both", "after\n");
	cr_assert_eq(fx_unlink(f, "/w/file"), 0);
	cr_assert_eq(fx_mkdir(f, "/w/file", 0755), 0);
	fx_write(f, "/w/file/now", "in a directory\n");
	cr_assert_eq(fx_unlink(f, "/w/todir/in"), 0);
	cr_assert_eq(fx_rmdir(f, "/w/todir"), 0);
	fx_write(f, "/w/todir", "now a file\n");
	cr_assert_eq(fx_rename(f, "/w/source", "/w/over", 0), 0);
	cr_assert_eq(fx_unlink(f, "/w/l"), 0);
	cx_symlink(f, "elsewhere", "/w/l");
	fx_append(f, "/w/with space", "more\n");
	fx_append(f, "/w/noeol", "c");
	fd = fx_open(f, "/w/bin", O_WRONLY, 0);
	cr_assert_eq(pwrite(fd, "\0changed", 8, 4), 8);
	close(fd);
	fd = fx_open(f, "/w/newbin", O_WRONLY | O_CREAT, 0755);
	cr_assert_eq(write(fd, "\0\0\0\1", 4), 4);
	close(fd);
}

#endif
