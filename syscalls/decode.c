/*
 * decode.c - see decode.h.
 *
 * Guest numbers are taken as the kernel takes them: int arguments from the
 * low 32 bits, sizes as 64. Everything copied has a bound: paths 4096 bytes,
 * strings 256, addresses a sockaddr_storage.
 */
#include "decode.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <time.h>

#include "flagnames.h"

int argspec_next(const char **spec, struct argspec *out)
{
	const char *p = *spec;
	size_t size = 0;

	while (*p == ' ')
		p++;
	if (!*p)
		return 0;
	if (p[1] != ':' || !strchr("dfpsiuxwoPSTma", p[0]))
		return -EINVAL;
	out->type = p[0];
	out->name = p + 2;
	out->name_len = strcspn(out->name, " =");
	p = out->name + out->name_len;
	if (*p == '=')
		for (p++; *p >= '0' && *p <= '9'; p++)
			size = size * 10 + (size_t)(*p - '0');
	out->size = size;
	if (!out->name_len || (*p && *p != ' ') || size > DECODE_MEM_MAX ||
	    (out->type == 'm') != (size != 0))
		return -EINVAL;
	*spec = p;
	return 1;
}

static void decode_string(struct call *c, int i, size_t max)
{
	char buf[PATH_LEN_MAX];
	ssize_t n;
	char *p;

	if (!c->args[i]) {
		c->arg_err[i] = -EFAULT;
		return;
	}
	n = call_read_str(c, c->args[i], buf, max);
	p = n < 0 ? NULL : call_alloc(c, (size_t)n + 1);
	if (!p) {
		c->arg_err[i] = n < 0 ? (int)n : -ENOMEM;
		return;
	}
	memcpy(p, buf, (size_t)n);
	p[n] = '\0';
	c->str[i] = p;
	c->str_len[i] = (size_t)n;
}

static void decode_struct(struct call *c, int i, size_t size)
{
	void *p;
	int ret;

	if (!c->args[i])
		return; /* NULL: mem is NULL with no error */
	p = call_alloc(c, size);
	ret = p ? call_read(c, c->args[i], p, size) : -ENOMEM;
	if (ret) {
		c->arg_err[i] = ret;
		return;
	}
	c->mem[i] = p;
	c->mem_len[i] = size;
}

/* move_addr_to_kernel: the length first, then the copy. */
static void decode_sockaddr(struct call *c, int i)
{
	int len = i < 5 ? (int)c->args[i + 1] : -1;

	if (len < 0 || (size_t)len > sizeof(struct sockaddr_storage)) {
		c->arg_err[i] = -EINVAL;
		return;
	}
	if (len == 0)
		return;
	decode_struct(c, i, (size_t)len);
	if (!c->mem[i] && !c->arg_err[i])
		c->arg_err[i] = -EFAULT;
}

static void decode_one(struct call *c, int i, const struct argspec *a)
{
	switch (a->type) {
	case 'p':
		decode_string(c, i, PATH_LEN_MAX);
		break;
	case 's':
		decode_string(c, i, DECODE_STR_MAX);
		break;
	case 'S':
		decode_sockaddr(c, i);
		break;
	case 'T':
		decode_struct(c, i, 2 * sizeof(struct timespec));
		break;
	case 'm':
		decode_struct(c, i, a->size);
		break;
	default:
		break; /* a number, or what the handler reads itself */
	}
}

/* On the way of every call, so it does not parse what it need not know: that
 * each row's spec is well-formed is tested by tests/unit. */
void decode_args(struct call *c)
{
	const char *p = c->row->spec, *at;
	struct argspec a;

	for (int i = 0; *p; i++) {
		BUG_ON(i == 6);
		at = p;
		while (*p && *p != ' ')
			p++;
		if (*at >= 'a' ? *at == 'p' || *at == 's' || *at == 'm'
			       : *at == 'S' || *at == 'T') {
			BUG_ON(argspec_next(&at, &a) <= 0);
			decode_one(c, i, &a);
		}
		while (*p == ' ')
			p++;
	}
}

/* ---- rendering ------------------------------------------------------- */

static void render_sockaddr(struct strbuf *out, const void *mem, size_t len)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_storage ss = {0};
	const struct sockaddr_in *in = (const void *)&ss;
	const struct sockaddr_in6 *in6 = (const void *)&ss;
	const size_t head = offsetof(struct sockaddr_un, sun_path);

	if (mem)
		memcpy(&ss, mem, len < sizeof(ss) ? len : sizeof(ss));
	if (len < sizeof(sa_family_t)) {
		strbuf_puts(out, "null");
	} else if (ss.ss_family == AF_INET && len >= sizeof(*in)) {
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		strbuf_printf(out, "\"%s:%u\"", text, ntohs(in->sin_port));
	} else if (ss.ss_family == AF_INET6 && len >= head) {
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		strbuf_printf(out, "\"[%s]:%u\"", text, ntohs(in6->sin6_port));
	} else if (ss.ss_family == AF_UNIX && len > head) {
		const char *path = (const char *)&ss + head;
		size_t n = path[0] ? strnlen(path, len - head) : len - head;

		strbuf_json_string(out, path, n);
	} else {
		strbuf_printf(out, "\"family %u\"", ss.ss_family);
	}
}

static void render_times(struct strbuf *out, const struct timespec *ts)
{
	if (!ts) {
		strbuf_puts(out, "null");
		return;
	}
	strbuf_putc(out, '[');
	for (int i = 0; i < 2; i++) {
		if (i)
			strbuf_putc(out, ',');
		if (ts[i].tv_nsec == UTIME_NOW)
			strbuf_puts(out, "\"now\"");
		else if (ts[i].tv_nsec == UTIME_OMIT)
			strbuf_puts(out, "\"omit\"");
		else
			strbuf_printf(out, "\"%lld.%09lld\"",
				      (long long)ts[i].tv_sec,
				      (long long)ts[i].tv_nsec);
	}
	strbuf_putc(out, ']');
}

static void render_string(const struct call *c, int i, struct strbuf *out)
{
	if (c->resolved[i])
		strbuf_json_string(out, c->resolved[i], strlen(c->resolved[i]));
	else if (c->str[i])
		strbuf_json_string(out, c->str[i], c->str_len[i]);
	else
		strbuf_puts(out, "null");
}

static void render_one(const struct call *c, int i, const struct argspec *a,
		       struct strbuf *out)
{
	uint64_t v = c->args[i];

	switch (a->type) {
	case 'd':
		if ((int)v == AT_FDCWD)
			strbuf_puts(out, "\"AT_FDCWD\"");
		else
			strbuf_dec(out, (int)v);
		break;
	case 'f':
		strbuf_dec(out, (int)v);
		break;
	case 'i':
		strbuf_dec(out, (int64_t)v);
		break;
	case 'u':
		/* Beyond 63 bits no number: many readers of JSON, ours too,
		 * would not take the record. */
		strbuf_printf(out, v > INT64_MAX ? "\"%llu\"" : "%llu",
			      (unsigned long long)v);
		break;
	case 'x':
	case 'a':
		strbuf_putc(out, '"');
		strbuf_hex(out, v);
		strbuf_putc(out, '"');
		break;
	case 'w':
		flagnames_render(out, a->name, a->name_len, (uint32_t)v);
		break;
	case 'o':
		strbuf_printf(out, "\"0%o\"", (unsigned)v);
		break;
	case 'S':
		render_sockaddr(out, c->mem[i], c->mem[i] ? c->mem_len[i] : 0);
		break;
	case 'T':
		render_times(out, c->mem[i]);
		break;
	default:
		render_string(c, i, out);
		break;
	}
}

void decode_render(const struct call *c, struct strbuf *out)
{
	const char *spec = c->row ? c->row->spec : "";
	struct argspec a;
	bool first = true;

	strbuf_putc(out, '{');
	for (int i = 0; i < 6 && argspec_next(&spec, &a) > 0; i++) {
		if (a.type == 'P' || a.type == 'm')
			continue;
		if (!first)
			strbuf_putc(out, ',');
		first = false;
		strbuf_json_string(out, a.name, a.name_len);
		strbuf_putc(out, ':');
		render_one(c, i, &a, out);
	}
	strbuf_putc(out, '}');
}
