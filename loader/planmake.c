/*
 * planmake.c - makes the plan that the loader stub follows; see planmake.h.
 *
 * Pure: no descriptor, no guest memory, no lock. The caller has validated the
 * images; lengths are checked here against the plan's fixed room.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "planmake.h"

void plan_args_init(struct plan_args *a)
{
	a->start = sizeof(a->buf);
	a->count = 0;
}

int plan_args_push(struct plan_args *a, const char *s)
{
	size_t size = strlen(s) + 1;

	if (size > a->start || a->count == PLAN_PREPEND)
		return -E2BIG;
	a->start -= size;
	a->count++;
	memcpy(a->buf + a->start, s, size);
	return 0;
}

int plan_args_push_script(struct plan_args *a, const char *path,
			  const struct script_line *line)
{
	int err = 0;

	/* a nested script's own path is there already: its script's line
	 * named it as the interpreter */
	if (!a->count)
		err = plan_args_push(a, path);
	if (!err && line->has_arg)
		err = plan_args_push(a, line->arg);
	return err ? err : plan_args_push(a, line->interp);
}

static int plan_fill_strings(struct plan *p, const struct plan_request *r)
{
	size_t size = strlen(r->execfn) + 1, rest = 0;

	if (r->args)
		rest = sizeof(r->args->buf) - r->args->start;
	if (size + rest > sizeof(p->strings))
		return -E2BIG;
	memcpy(p->strings, r->execfn, size);
	if (rest)
		memcpy(p->strings + size, r->args->buf + r->args->start, rest);
	p->nprepend = r->args ? r->args->count : 0;
	p->strings_len = (uint32_t)(size + rest);
	return 0;
}

/* comm is the last component, cut to 15 bytes. */
static void plan_fill_comm(struct plan *p, const char *name)
{
	const char *slash = strrchr(name, '/');

	if (slash)
		name = slash + 1;
	memcpy(p->comm, name, strnlen(name, sizeof(p->comm) - 1));
}

int plan_fill(struct plan *p, const struct plan_request *r)
{
	bool absolute;
	int err;

	memset(p, 0, offsetof(struct plan, strings));
	p->version = PLAN_VERSION;
	err = plan_fill_strings(p, r);
	if (err)
		return err;
	if (r->naux > PLAN_AUX)
		return -EINVAL;
	if (r->naux)
		memcpy(p->aux, r->aux, r->naux * sizeof(*r->aux));
	p->naux = r->naux;
	p->program = r->program->image;
	p->program.fd = r->program_fd;
	p->program.base = elf_choose_base(r->program, r->randomize);
	p->interp.fd = -1;
	if (r->interp) {
		p->interp = r->interp->image;
		p->interp.fd = r->interp_fd;
	}
	p->bounds = r->program->bounds;
	p->brk_start = elf_choose_brk(r->program, r->randomize, &absolute);
	p->brk_absolute = absolute;
	p->doomed = r->program->doomed || (r->interp && r->interp->doomed);
	p->stack_prot = r->program->exec_stack ? PROT_EXEC : 0;
	plan_fill_comm(p, r->comm ? r->comm : r->execfn);
	return 0;
}

void plan_refuse(struct plan *p, int status, const char *fmt, ...)
{
	va_list ap;

	memset(p, 0, sizeof(*p));
	p->version = PLAN_VERSION;
	p->program.fd = p->interp.fd = -1;
	p->error = status;
	va_start(ap, fmt);
	vsnprintf(p->message, sizeof(p->message), fmt, ap);
	va_end(ap);
}
