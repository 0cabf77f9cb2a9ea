/*
 * patch_text.c - the difference of two contents as text, by libgit2, which is
 * loaded at the first use.
 *
 * LIMIT: files over PATCH_FILE_MAX are not told (-EFBIG).
 */
#include "patch_priv.h"

#include <fcntl.h>
#include <git2.h>

#include "../sentry/base/extlib.h"

#define PATCH_FILE_MAX ((off_t)256 << 20)

static struct {
	bool loaded;
	EXTLIB_FN(git_libgit2_init);
	EXTLIB_FN(git_patch_from_buffers);
	EXTLIB_FN(git_patch_to_buf);
	EXTLIB_FN(git_patch_free);
	EXTLIB_FN(git_patch_line_stats);
	EXTLIB_FN(git_patch_get_delta);
	EXTLIB_FN(git_buf_dispose);
	EXTLIB_FN(git_odb_hash);
	EXTLIB_FN(git_oid_tostr);
	EXTLIB_FN(git_diff_options_init);
} git;

#define SYMBOL(name)                      \
	{                                 \
#name, (void **)&git.name \
	}

static int git_load(void)
{
	static const struct extlib_symbol symbols[] = {
		SYMBOL(git_libgit2_init),     SYMBOL(git_patch_from_buffers),
		SYMBOL(git_patch_to_buf),     SYMBOL(git_patch_free),
		SYMBOL(git_patch_line_stats), SYMBOL(git_patch_get_delta),
		SYMBOL(git_buf_dispose),      SYMBOL(git_odb_hash),
		SYMBOL(git_oid_tostr),	      SYMBOL(git_diff_options_init),
	};
	int ret;

	if (git.loaded)
		return 0;
	ret = extlib_load("libgit2.so." LIBGIT2_SOVERSION, symbols,
			  ARRAY_SIZE(symbols));
	if (ret < 0)
		return ret;
	if (git.git_libgit2_init() < 0)
		return -EIO;
	git.loaded = true;
	return 0;
}

/* ---- one side -------------------------------------------------------- */

static int side_map(int fd, struct patch_side *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > PATCH_FILE_MAX)
		return -EFBIG;
	out->data = "";
	out->size = (size_t)st.st_size;
	if (!out->size)
		return 0;
	/* Copied: what is mapped may be cut short by its owner meanwhile. */
	out->owned = malloc(out->size);
	if (!out->owned)
		return -ENOMEM;
	for (size_t done = 0; done < out->size;) {
		ssize_t n = pread(fd, out->owned + done, out->size - done,
				  (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			out->size = done;
		done += (size_t)n;
	}
	out->data = out->owned;
	return 0;
}

int patch_side_load(struct change_source *src, const struct change *c, bool old,
		    struct patch_side *out)
{
	const struct change_meta *m = old ? &c->old : &c->new;
	AUTO_CLOSE int fd = -1;
	git_oid id;
	int ret = git_load();

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	if (S_ISLNK(m->mode)) {
		out->owned = xstrdup(m->target ? m->target : "");
		out->data = out->owned;
		out->size = strlen(out->owned);
	} else {
		ret = old ? src->open_old(src, c, &fd)
			  : src->open_new(src, c, &fd);
		if (!ret)
			ret = side_map(fd, out);
	}
	if (!ret &&
	    git.git_odb_hash(&id, out->data, out->size, GIT_OBJECT_BLOB) < 0)
		ret = -EIO;
	if (ret < 0) {
		patch_side_fini(out);
		return ret;
	}
	git.git_oid_tostr(out->id, sizeof(out->id), &id);
	return 0;
}

void patch_side_fini(struct patch_side *s)
{
	free(s->owned);
	memset(s, 0, sizeof(*s));
}

/* ---- both ------------------------------------------------------------ */

static int patch_make(const struct patch_side *old,
		      const struct patch_side *new, git_patch **out)
{
	git_diff_options opts;
	int ret = git_load();

	if (ret < 0)
		return ret;
	git.git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
	opts.flags = GIT_DIFF_SHOW_BINARY;
	opts.id_abbrev = 40;
	opts.max_size = PATCH_FILE_MAX + 1;
	return git.git_patch_from_buffers(out, old->data, old->size, "f",
					  new->data, new->size, "f", &opts) < 0
		       ? -EIO
		       : 0;
}

/* The part of git's text that is not its header. */
static void take_body(const git_buf *text, struct strbuf *out, bool *binary)
{
	const char *p = text->ptr, *end = text->ptr + text->size;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!strncmp(p, "@@ ", 3) || !strncmp(p, "GIT binary", 10)) {
			*binary = *p == 'G';
			strbuf_add(out, p, (size_t)(end - p));
			return;
		}
		p = nl ? nl + 1 : end;
	}
}

int patch_hunks(const struct patch_side *old, const struct patch_side *new,
		struct strbuf *out, bool *binary)
{
	git_buf text = {0};
	git_patch *patch;
	int ret;

	*binary = false;
	if (old->size == new->size &&
	    (!old->size || !memcmp(old->data, new->data, old->size)))
		return 0;
	ret = patch_make(old, new, &patch);
	if (ret < 0)
		return ret;
	ret = git.git_patch_to_buf(&text, patch) < 0 ? -EIO : 0;
	if (!ret)
		take_body(&text, out, binary);
	git.git_buf_dispose(&text);
	git.git_patch_free(patch);
	return out->truncated ? -EFBIG : ret;
}

int patch_lines(const struct patch_side *old, const struct patch_side *new,
		struct patch_stat *out)
{
	git_patch *patch;
	int ret = patch_make(old, new, &patch);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	out->binary =
		git.git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY;
	if (git.git_patch_line_stats(NULL, &out->added, &out->deleted, patch) <
	    0)
		ret = -EIO;
	git.git_patch_free(patch);
	return ret;
}
