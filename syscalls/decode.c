/*
 * decode.c - see decode.h.
 *
 * Guest numbers are taken as the kernel takes them: int arguments from the
 * low 32 bits, sizes as 64. Everything copied has a bound: paths 4096 bytes,
 * strings 256, addresses a sockaddr_storage.
 */
#include "decode.h"

#include <time.h>

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
