/*
 * denials.c - see denials.h.
 */
#include "denials.h"

#include <errno.h>
#include <string.h>

enum { ALSO_MAX = 3, ARGS_MAX = 160 };

struct denial {
	struct hnode node;
	struct list link;
	char *call, *path, *rule, *hint; /* hint may be NULL */
	char *args; /* the first one's, where no path says what; or NULL */
	char *also[ALSO_MAX]; /* other calls on the same path, refused too */
	int64_t ret;
	uint64_t times;
};

void denials_init(struct denials *d)
{
	htable_init(&d->table);
	list_init(&d->order);
	d->count = 0;
	d->more = 0;
}

static void denial_free(struct denial *x)
{
	list_del(&x->link);
	for (size_t i = 0; i < ALSO_MAX; i++)
		free(x->also[i]);
	free(x->call);
	free(x->path);
	free(x->rule);
	free(x->hint);
	free(x->args);
	free(x);
}

void denials_fini(struct denials *d)
{
	list_for_each_safe (l, &d->order)
		denial_free(list_entry(l, struct denial, link));
	htable_fini(&d->table);
}

/* Calls that change what their path names. */
static bool is_write(const struct audit_event *ev)
{
	static const char *const calls[] = {
		"unlink",      "unlinkat",     "rmdir",	    "rename",
		"renameat",    "renameat2",    "mkdir",	    "mkdirat",
		"mknod",       "mknodat",      "creat",	    "truncate",
		"chmod",       "fchmodat",     "fchmodat2", "chown",
		"lchown",      "fchownat",     "utime",	    "utimes",
		"futimesat",   "utimensat",    "setxattr",  "lsetxattr",
		"removexattr", "lremovexattr", "symlink",   "symlinkat",
		"link",	       "linkat",
	};
	static const char *const flags[] = {"O_WRONLY", "O_RDWR", "O_CREAT",
					    "O_TRUNC"};
	static const char mark[] = "\"oflags\":\"";
	const char *at;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i], ev->call) == 0)
			return true;
	/* the key cannot be forged by a path: its quotes would be escaped */
	at = ev->args ? memmem(ev->args, ev->args_len, mark, sizeof(mark) - 1)
		      : NULL;
	for (size_t i = 0; at && i < ARRAY_SIZE(flags); i++)
		if (memmem(at, ev->args_len - (size_t)(at - ev->args), flags[i],
			   strlen(flags[i])))
			return true;
	return false;
}

/* A name that leads to a private address: the option is about the address,
 * which the record holds; a loopback cannot be allowed. */
static char *private_hint(const struct audit_event *ev)
{
	static const char mark[] = "\"addr\":\"";
	const char *at = ev->args ? memmem(ev->args, ev->args_len, mark,
					   sizeof(mark) - 1)
				  : NULL;
	const char *end;
	size_t len;

	if (!at)
		return NULL;
	at += sizeof(mark) - 1;
	end = memchr(at, '"', ev->args_len - (size_t)(at - ev->args));
	len = end ? (size_t)(end - at) : 0;
	if (!len || strncmp(at, "127.", 4) == 0 || strncmp(at, "::1\"", 4) == 0)
		return NULL;
	return memchr(at, ':', len)
		       ? xasprintf("--net-allow '[%.*s]/128'", (int)len, at)
		       : xasprintf("--net-allow %.*s/32", (int)len, at);
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* The option for this very refusal. Owned, or NULL. */
static char *hint_for(const struct audit_event *ev, const char *path)
{
	if (strcmp(ev->rule, "a private address by name") == 0)
		return private_hint(ev);
	if (!ev->hint)
		return NULL;
	if (strcmp(ev->hint, "--net-allow") == 0 ||
	    strcmp(ev->hint, "--net-allow udp") == 0) {
		if (ends_in(path, ":53"))
			return xstrdup("--net-allow HOST[:PORT], with the name "
				       "that is looked up");
		return *path ? xasprintf("--net-allow %s%s",
					 ends_in(ev->hint, "udp") ? "udp://"
								  : "",
					 path)
			     : xstrdup("--net-allow HOST[:PORT]");
	}
	if (strncmp(ev->hint, "--ro ", 5) == 0 && is_write(ev))
		return xasprintf("--rw %s", ev->hint + 5);
	return xstrdup(ev->hint);
}

/* One more refusal of what is known. */
static void denial_again(struct denial *x, const struct audit_event *ev)
{
	x->times++;
	if (x->hint && strncmp(x->hint, "--ro ", 5) == 0 && is_write(ev))
		x->hint[3] = 'w';
	if (strcmp(x->call, ev->call) == 0)
		return;
	for (size_t i = 0; i < ALSO_MAX; i++) {
		if (x->also[i] && strcmp(x->also[i], ev->call) == 0)
			return;
		if (!x->also[i]) {
			x->also[i] = xstrdup(ev->call);
			return;
		}
	}
}

static struct denial *denials_find(struct denials *d, uint64_t hash,
				   const struct audit_event *ev,
				   const char *path)
{
	struct hnode *n = htable_first(&d->table, hash);

	for (; n; n = htable_next(n)) {
		struct denial *x = container_of(n, struct denial, node);

		if ((*path || strcmp(x->call, ev->call) == 0) &&
		    strcmp(x->path, path) == 0 &&
		    strcmp(x->rule, ev->rule) == 0)
			return x;
	}
	return NULL;
}

static unsigned of_kind(const struct denials *d, const char *call,
			const char *rule)
{
	unsigned n = 0;

	list_for_each (l, &d->order) {
		const struct denial *x = list_entry(l, struct denial, link);

		n += !strcmp(x->call, call) && !strcmp(x->rule, rule);
	}
	return n;
}

/* A full table must not hide the first refusal of a kind behind many of
 * another: the newest of a kind that has several gives way. */
static bool make_room(struct denials *d, const struct audit_event *ev)
{
	if (of_kind(d, ev->call, ev->rule))
		return false;
	for (struct list *l = d->order.prev; l != &d->order; l = l->prev) {
		struct denial *x = list_entry(l, struct denial, link);

		if (of_kind(d, x->call, x->rule) < 2)
			continue;
		d->more += x->times;
		d->count--;
		htable_del(&d->table, &x->node);
		denial_free(x);
		return true;
	}
	return false;
}

void denials_add(struct denials *d, const struct audit_event *ev)
{
	const char *path = ev->path ? ev->path : "";
	uint64_t hash =
		hash_bytes(path, strlen(path), 1) ^
		(*path ? 0 : hash_bytes(ev->call, strlen(ev->call), 2)) ^
		hash_bytes(ev->rule, strlen(ev->rule), 3);
	struct denial *x;

	/* A probe for what this kernel does not have: the stream keeps it. */
	if (ev->ret == -ENOSYS)
		return;
	x = denials_find(d, hash, ev, path);
	if (x) {
		denial_again(x, ev);
		return;
	}
	if (d->count == DENIALS_MAX && !make_room(d, ev)) {
		d->more++;
		return;
	}
	x = xcalloc(1, sizeof(*x));
	x->call = xstrdup(ev->call);
	x->path = xstrdup(path);
	x->rule = xstrdup(ev->rule);
	x->hint = hint_for(ev, path);
	if (!*path && ev->args && ev->args_len < ARGS_MAX)
		x->args = xasprintf("%.*s", (int)ev->args_len, ev->args);
	x->ret = ev->ret;
	x->times = 1;
	htable_add(&d->table, &x->node, hash);
	list_add_tail(&d->order, &x->link);
	d->count++;
}

static void denial_line(const struct denial *x, struct strbuf *out)
{
	strbuf_puts(out, "refused: ");
	strbuf_visible(out, x->call, strlen(x->call));
	if (*x->path) {
		strbuf_putc(out, ' ');
		strbuf_visible(out, x->path, strlen(x->path));
	}
	if (x->args) {
		strbuf_putc(out, ' ');
		strbuf_visible(out, x->args, strlen(x->args));
	}
	if (x->ret < 0 && x->ret > -4096) {
		const char *name = strerrorname_np((int)-x->ret);

		strbuf_printf(out, " (%s)", name ? name : "error");
	}
	for (size_t i = 0; i < ALSO_MAX && x->also[i]; i++) {
		strbuf_puts(out, i ? ", " : ", also ");
		strbuf_visible(out, x->also[i], strlen(x->also[i]));
	}
	if (*x->rule) {
		strbuf_puts(out, ", rule ");
		strbuf_visible(out, x->rule, strlen(x->rule));
	}
	if (x->times > 1)
		strbuf_printf(out, ", %llu times",
			      (unsigned long long)x->times);
	if (x->hint) {
		strbuf_puts(out, "; to allow: ");
		strbuf_visible(out, x->hint, strlen(x->hint));
	}
	strbuf_putc(out, '\n');
}

void denials_text(const struct denials *d, struct strbuf *out)
{
	list_for_each (l, &d->order)
		denial_line(list_entry(l, struct denial, link), out);
	if (d->more)
		strbuf_printf(out, "refused: %llu more of other kinds\n",
			      (unsigned long long)d->more);
}
