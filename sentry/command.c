/*
 * command.c - see command.h.
 *
 * The block: struct head, then the work directory, the arguments and the
 * environment as strings, each with its NUL, and nothing behind.
 */
#include "command.h"

#include <sys/mman.h>

enum { BLOCK_MAGIC = 0x646d6363 }; /* "ccmd" */

struct head {
	uint32_t magic, argc, envc, len; /* len: bytes of all strings */
};

void command_fini(struct command *c)
{
	free(c->data);
	free(c->argv);
	free(c->envp);
	memset(c, 0, sizeof(*c));
}

/* Takes n strings from [p, end) into a new NULL-terminated array. */
static int take_words(char **p, const char *end, size_t n, char ***out)
{
	char **v = calloc(n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*out = v;
	for (size_t i = 0; i < n; i++) {
		char *nul = *p < end ? memchr(*p, 0, (size_t)(end - *p)) : NULL;

		if (!nul)
			return -EBADMSG;
		v[i] = *p;
		*p = nul + 1;
	}
	return 0;
}

int command_parse(const void *block, size_t len, struct command *out)
{
	struct head h;
	char **cwd = NULL, *p, *end;
	int ret;

	memset(out, 0, sizeof(*out));
	if (len > COMMAND_MAX)
		return -E2BIG;
	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, block, sizeof(h));
	if (h.magic != BLOCK_MAGIC || h.len != len - sizeof(h) || !h.argc ||
	    h.argc > COMMAND_WORDS_MAX || h.envc > COMMAND_WORDS_MAX ||
	    (size_t)h.argc + h.envc + 1 > h.len)
		return -EBADMSG;
	out->data = malloc(h.len);
	if (!out->data)
		return -ENOMEM;
	memcpy(out->data, (const char *)block + sizeof(h), h.len);
	p = out->data;
	end = p + h.len;
	ret = take_words(&p, end, 1, &cwd);
	if (!ret)
		out->cwd = cwd[0];
	if (!ret)
		ret = take_words(&p, end, h.argc, &out->argv);
	if (!ret)
		ret = take_words(&p, end, h.envc, &out->envp);
	if (!ret && p != end)
		ret = -EBADMSG;
	out->argc = h.argc;
	out->envc = h.envc;
	free(cwd);
	if (ret)
		command_fini(out);
	return ret;
}

int command_read(int fd, struct command *out)
{
	size_t len = 0, cap = 4096;
	char *buf = malloc(cap);
	ssize_t n = 0;
	int ret;

	memset(out, 0, sizeof(*out));
	while (buf && (n = pread(fd, buf + len, cap - len, (off_t)len)) > 0) {
		char *more;

		len += (size_t)n;
		if (len < cap)
			continue;
		if (len > COMMAND_MAX)
			break; /* command_parse says so */
		cap *= 2;
		more = realloc(buf, cap);
		if (!more)
			free(buf);
		buf = more;
	}
	if (!buf)
		return -ENOMEM;
	ret = n < 0 ? -errno : command_parse(buf, len, out);
	free(buf);
	return ret;
}

/* Appends the strings of v; grows *h. False if that is too long. */
static bool add_words(char **buf, struct head *h, char *const *v,
		      uint32_t *count)
{
	for (; v && *v; v++) {
		size_t n = strlen(*v) + 1;
		char *more;

		if (n > COMMAND_MAX - sizeof(*h) - h->len ||
		    *count == COMMAND_WORDS_MAX)
			return false;
		more = realloc(*buf, sizeof(*h) + h->len + n);
		BUG_ON(!more);
		*buf = more;
		memcpy(more + sizeof(*h) + h->len, *v, n);
		h->len += (uint32_t)n;
		++*count;
	}
	return true;
}

int command_write(const char *cwd, char *const *argv, char *const *envp,
		  int *fd)
{
	char *const dir[] = {(char *)(uintptr_t)(cwd ? cwd : ""), NULL};
	AUTO_FREE char *buf = xmalloc(sizeof(struct head));
	struct head h = {.magic = BLOCK_MAGIC};
	uint32_t one = 0;
	size_t len, done = 0;

	if (!add_words(&buf, &h, dir, &one) ||
	    !add_words(&buf, &h, argv, &h.argc) ||
	    !add_words(&buf, &h, envp, &h.envc))
		return -E2BIG;
	memcpy(buf, &h, sizeof(h));
	AUTO_CLOSE int out = memfd_create("command", MFD_CLOEXEC);
	if (out < 0)
		return -errno;
	for (len = sizeof(h) + h.len; done < len;) {
		ssize_t n = write(out, buf + done, len - done);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	*fd = fd_take(&out);
	return 0;
}

char **command_env(char *const *base, char *const *more)
{
	size_t nbase = 0, nmore = 0, n = 0;
	char **out;

	while (base && base[nbase])
		nbase++;
	while (more && more[nmore])
		nmore++;
	out = xcalloc(nbase + nmore + 1, sizeof(*out));
	for (; n < nbase; n++)
		out[n] = base[n];
	for (size_t i = 0; i < nmore; i++) {
		size_t len = strcspn(more[i], "="), j = 0;

		while (j < n && (strncmp(out[j], more[i], len) != 0 ||
				 out[j][len] != '='))
			j++;
		out[j] = more[i];
		if (j == n)
			n++;
	}
	return out;
}
