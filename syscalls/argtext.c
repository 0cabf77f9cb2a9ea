/*
 * argtext.c - see argtext.h.
 *
 * Packed is a pointer to the row, then each argument that is shown in the
 * order of the row's spec: numbers in 8 bytes, the rest as a 32-bit length and
 * so many bytes (strings with a NUL more, which the length leaves out).
 */
#include "argtext.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <time.h>

#include "decode.h"
#include "flagnames.h"

#define NONE UINT32_MAX /* the length of what is not there */

/* The next argument of a spec that tests/unit knows to be well-formed. */
static bool spec_step(const char **spec, struct argspec *a)
{
	const char *p = *spec;

	while (*p == ' ')
		p++;
	if (!*p)
		return false;
	a->type = p[0];
	a->name = p + 2;
	for (p += 2; *p && *p != ' ' && *p != '=';)
		p++;
	a->name_len = (size_t)(p - a->name);
	while (*p && *p != ' ')
		p++;
	*spec = p;
	return true;
}

static bool is_shown(char type)
{
	return type != 'P' && type != 'm';
}

/* ---- packing ---------------------------------------------------------- */

static void pack_bytes(struct strbuf *out, const void *data, size_t len)
{
	uint32_t n = data ? (uint32_t)len : NONE;

	strbuf_add(out, &n, sizeof(n));
	if (data)
		strbuf_add(out, data, len);
}

/* Returns where the string begins. */
static size_t pack_string(const struct call *c, int i, struct strbuf *out)
{
	const char *s = c->resolved[i];
	size_t len = s ? strlen(s) : c->str_len[i], at;

	if (!s)
		s = c->str[i];
	at = out->len + sizeof(uint32_t);
	pack_bytes(out, s, len);
	if (s)
		strbuf_putc(out, '\0');
	return at;
}

static void pack_number(const struct call *c, int i, char type,
			struct strbuf *out)
{
	uint64_t v = c->args[i];

	/* what the kernel takes of it: equal calls are equal bytes */
	if (type == 'd' || type == 'f')
		v = (uint64_t)(int64_t)(int)v;
	else if (type == 'w' || type == 'o')
		v = (uint32_t)v;
	strbuf_add(out, &v, sizeof(v));
}

/* Where the call was not decoded. */
static const char *types_of(const char *spec, char types[DECODE_ARGS_MAX + 1])
{
	struct argspec a;
	int n = 0;

	while (n < DECODE_ARGS_MAX && spec_step(&spec, &a))
		types[n++] = a.type;
	types[n] = '\0';
	return types;
}

size_t argtext_pack(const struct call *c, struct strbuf *out)
{
	char own[DECODE_ARGS_MAX + 1];
	const char *types = c->types;
	size_t path_at = 0, at;

	if (!types)
		types = types_of(c->row ? c->row->spec : "", own);
	strbuf_add(out, &c->row, sizeof(c->row));
	for (int i = 0; types[i]; i++) {
		if (!is_shown(types[i]))
			continue;
		switch (types[i]) {
		case 'p':
		case 's':
			at = pack_string(c, i, out);
			if (c->ev.path && c->ev.path == c->resolved[i])
				path_at = at;
			break;
		case 'S':
			pack_bytes(out, c->mem[i],
				   c->mem[i] ? c->mem_len[i] : 0);
			break;
		case 'T':
			pack_bytes(out, c->mem[i], 2 * sizeof(struct timespec));
			break;
		default:
			pack_number(c, i, types[i], out);
			break;
		}
	}
	return path_at;
}

/* ---- text ------------------------------------------------------------- */

struct unpack {
	const struct audit_packed *args;
	size_t at;
	struct audit_span *path;
};

static void unpack_copy(struct unpack *u, void *out, size_t size)
{
	BUG_ON(size > u->args->len - u->at);
	memcpy(out, u->args->data + u->at, size);
	u->at += size;
}

/* NULL: there is none. */
static const char *unpack_bytes(struct unpack *u, size_t *len)
{
	const char *p = u->args->data + u->at + sizeof(uint32_t);
	uint32_t n;

	unpack_copy(u, &n, sizeof(n));
	*len = n == NONE ? 0 : n;
	BUG_ON(*len > u->args->len - u->at);
	u->at += *len;
	return n == NONE ? NULL : p;
}

static void render_string(struct unpack *u, struct strbuf *out)
{
	size_t at = u->at + sizeof(uint32_t), from = out->len, len;
	const char *s = unpack_bytes(u, &len);

	if (!s) {
		strbuf_lit(out, "null");
		return;
	}
	u->at++; /* the NUL */
	strbuf_json_string(out, s, len);
	if (at == u->args->path_at)
		*u->path = (struct audit_span){from, out->len - from};
}

static void render_sockaddr(struct unpack *u, struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_storage ss = {0};
	const struct sockaddr_in *in = (const void *)&ss;
	const struct sockaddr_in6 *in6 = (const void *)&ss;
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t len;
	const void *mem = unpack_bytes(u, &len);

	if (mem)
		memcpy(&ss, mem, len < sizeof(ss) ? len : sizeof(ss));
	if (len < sizeof(sa_family_t)) {
		strbuf_lit(out, "null");
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

static void render_times(struct unpack *u, struct strbuf *out)
{
	struct timespec ts[2];
	size_t len;
	const char *mem = unpack_bytes(u, &len);

	if (!mem) {
		strbuf_lit(out, "null");
		return;
	}
	BUG_ON(len != sizeof(ts));
	memcpy(ts, mem, sizeof(ts));
	strbuf_putc(out, '[');
	for (int i = 0; i < 2; i++) {
		if (i)
			strbuf_putc(out, ',');
		if (ts[i].tv_nsec == UTIME_NOW)
			strbuf_lit(out, "\"now\"");
		else if (ts[i].tv_nsec == UTIME_OMIT)
			strbuf_lit(out, "\"omit\"");
		else
			strbuf_printf(out, "\"%lld.%09lld\"",
				      (long long)ts[i].tv_sec,
				      (long long)ts[i].tv_nsec);
	}
	strbuf_putc(out, ']');
}

static void render_number(struct unpack *u, const struct argspec *a,
			  struct strbuf *out)
{
	uint64_t v;

	unpack_copy(u, &v, sizeof(v));
	switch (a->type) {
	case 'd':
		if ((int)v == AT_FDCWD)
			strbuf_lit(out, "\"AT_FDCWD\"");
		else
			strbuf_dec(out, (int)v);
		break;
	case 'u':
		/* Beyond 63 bits no number: many readers of JSON, ours too,
		 * would not take the record. */
		if (v > INT64_MAX)
			strbuf_printf(out, "\"%llu\"", (unsigned long long)v);
		else
			strbuf_udec(out, v);
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
	default:
		strbuf_dec(out, (int64_t)v);
		break;
	}
}

static void render_one(struct unpack *u, const struct argspec *a,
		       struct strbuf *out)
{
	switch (a->type) {
	case 'p':
	case 's':
		render_string(u, out);
		break;
	case 'S':
		render_sockaddr(u, out);
		break;
	case 'T':
		render_times(u, out);
		break;
	default:
		render_number(u, a, out);
		break;
	}
}

void argtext_render(const struct audit_packed *args, struct strbuf *out,
		    struct audit_span *path)
{
	struct unpack u = {.args = args, .path = path};
	const struct sysrow *row;
	const char *spec;
	struct argspec a;
	bool first = true;

	unpack_copy(&u, &row, sizeof(row));
	spec = row ? row->spec : "";
	strbuf_putc(out, '{');
	for (int i = 0; i < 6 && spec_step(&spec, &a); i++) {
		if (!is_shown(a.type))
			continue;
		if (first)
			strbuf_lit(out, "\"");
		else
			strbuf_lit(out, ",\"");
		first = false;
		strbuf_add(out, a.name, a.name_len);
		strbuf_lit(out, "\":");
		render_one(&u, &a, out);
	}
	strbuf_putc(out, '}');
}

void argtext_json(const struct call *c, struct strbuf *out)
{
	struct audit_packed args = {0};
	struct audit_span path;
	struct strbuf packed;

	strbuf_init(&packed, 0);
	args.path_at = argtext_pack(c, &packed);
	args.data = packed.data;
	args.len = packed.len;
	argtext_render(&args, out, &path);
	strbuf_fini(&packed);
}
