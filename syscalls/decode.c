/*
 * decode.c - see decode.h.
 *
 * Guest numbers are taken as the kernel takes them: int arguments from the
 * low 32 bits, sizes as 64. Everything copied has a bound: paths 4096 bytes,
 * strings 256, addresses a sockaddr_storage. All of a call is copied by one
 * process_vm_readv, if no string is long.
 */
#include "decode.h"

#include <time.h>

#include "../sentry/gmem.h"
#include "../sentry/sentry.h"

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

/* ---- copying --------------------------------------------------------- */

static bool is_string(char type)
{
	return type == 'p' || type == 's';
}

static bool is_copied(char type)
{
	return is_string(type) || type == 'm' || type == 'S' || type == 'T';
}

struct decode_copy {
	char type;
	unsigned char arg;
	unsigned short size; /* with the NUL that ends a string */
};

/* What is copied for calls of a row, made of its spec at the first one:
 * strings last, since what they leave of their room is given back. */
struct decode_plan {
	bool made;
	unsigned char count, strings; /* all, and how many are strings */
	char types[DECODE_ARGS_MAX + 1];
	struct decode_copy copy[GMEM_PARTS_MAX];
};

static void plan_add(struct decode_plan *plan, int i, const struct argspec *a)
{
	size_t size = a->type == 'p'   ? PATH_LEN_MAX
		      : a->type == 's' ? DECODE_STR_MAX
		      : a->type == 'T' ? 2 * sizeof(struct timespec)
				       : a->size;

	BUG_ON(plan->count == ARRAY_SIZE(plan->copy));
	plan->copy[plan->count++] = (struct decode_copy){
		a->type, (unsigned char)i, (unsigned short)size};
	plan->strings += is_string(a->type);
}

static void plan_make(struct decode_plan *plan, const char *spec)
{
	for (int strings = 0; strings < 2; strings++) {
		const char *p = spec;
		struct argspec a;

		for (int i = 0; argspec_next(&p, &a) > 0; i++) {
			BUG_ON(i == DECODE_ARGS_MAX);
			plan->types[i] = a.type;
			if (is_copied(a.type) && is_string(a.type) == strings)
				plan_add(plan, i, &a);
		}
		BUG_ON(*p);
	}
	plan->made = true;
}

/* Of the notify thread alone, as all that decodes. */
static const struct decode_plan *plan_of(const struct call *c)
{
	struct decode_plan *plan;

	if (!c->s->decode_plans)
		c->s->decode_plans = xcalloc(SYSNR_MAX, sizeof(*plan));
	plan = (struct decode_plan *)c->s->decode_plans + (c->row - systable);
	if (!plan->made)
		plan_make(plan, c->row->spec);
	return plan;
}

/* move_addr_to_kernel: the length first, then the copy. */
static int sockaddr_size(const struct call *c, int i)
{
	int len = i < 5 ? (int)c->args[i + 1] : -1;

	return len < 0 || (size_t)len > sizeof(struct sockaddr_storage)
		       ? -EINVAL
		       : len;
}

/* Room for an argument, and how much of it to copy; false: nothing of it. A
 * structure that is NULL is so without an error. */
static bool copy_begin(struct call *c, const struct decode_copy *what,
		       struct gmem_part *part)
{
	int size = what->type == 'S' ? sockaddr_size(c, what->arg) : what->size;
	int *err = &c->arg_err[what->arg];

	if (size <= 0) {
		*err = size;
		return false;
	}
	part->addr = c->args[what->arg];
	if (!part->addr) {
		if (what->type != 'm' && what->type != 'T')
			*err = -EFAULT;
		return false;
	}
	part->len = (size_t)size;
	part->buf = call_room(c, part->len);
	if (!part->buf) {
		*err = -ENOMEM;
		return false;
	}
	call_keep(c, part->len);
	if (is_string(what->type))
		part->len = gmem_str_first(part->addr, part->len);
	return true;
}

static void copy_end(struct call *c, const struct decode_copy *what,
		     const struct gmem_part *part)
{
	int i = what->arg;
	ssize_t n;

	if (part->err) {
		c->arg_err[i] = part->err;
		return;
	}
	if (!is_string(what->type)) {
		c->mem[i] = part->buf;
		c->mem_len[i] = part->len;
		return;
	}
	n = gmem_read_str_on(c->tid, part->addr, part->buf, what->size,
			     part->len);
	if (n < 0) {
		c->arg_err[i] = (int)n;
		return;
	}
	c->str[i] = part->buf;
	c->str_len[i] = (size_t)n;
}

/* Strings had room for the longest: what they left is given back. */
static void strings_pack(struct call *c, size_t from)
{
	c->arena_used = from;
	for (int i = 0; i < 6; i++) {
		char *p;

		if (!c->str[i])
			continue;
		p = call_room(c, c->str_len[i] + 1);
		if (p != c->str[i])
			memmove(p, c->str[i], c->str_len[i] + 1);
		call_keep(c, c->str_len[i] + 1);
		c->str[i] = p;
	}
}

void decode_args(struct call *c)
{
	const struct decode_plan *plan = plan_of(c);
	const struct decode_copy *what[GMEM_PARTS_MAX];
	struct gmem_part parts[GMEM_PARTS_MAX];
	size_t strings = c->arena_used;
	unsigned n = 0;

	c->types = plan->types;
	for (unsigned k = 0; k < plan->count; k++) {
		if (k + plan->strings == plan->count)
			strings = c->arena_used;
		what[n] = &plan->copy[k];
		n += copy_begin(c, what[n], &parts[n]);
	}
	gmem_read_parts(c->tid, parts, n);
	for (unsigned k = 0; k < n; k++)
		copy_end(c, what[k], &parts[k]);
	if (plan->strings)
		strings_pack(c, strings);
}
