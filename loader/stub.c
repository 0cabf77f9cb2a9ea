/*
 * stub.c - the loader stub: the only file that a guest executes natively.
 *
 * Freestanding, no libc, no data, no relocations. It gets its plan from the
 * sentry (plan.h), maps the program and its ELF interpreter, makes the stack
 * what the kernel would have made it, and jumps. Follows fs/binfmt_elf.c
 * (Linux 6.18). Runs in the guest, so nothing rests on it: a guest that
 * bends it only harms itself.
 *
 * LAW 1: it runs on scratch memory (stub.S); the guest's stack is written
 *   only where the final image lies.
 * LAW 2: a failure after the plan has come is the native one past the point
 *   of no return: SIGSEGV, by stub_die.
 * LAW 3: no data section and no vector registers; stub.ld checks the former.
 *
 * LIMIT: the stub's own page stays mapped in the guest.
 * LIMIT: an ET_EXEC file whose addresses meet the stub, the vdso or the stack
 *   dies, where natively only the latter two are in the way.
 * LIMIT: a program that runs with a tiny RLIMIT_DATA keeps the stub's brk.
 */
#include <stddef.h>
#include <stdint.h>
#include <linux/mman.h>
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/prctl.h>

#include "plan.h"
#include "stub.h"

#define PAGE	   4096ul
#define ADDR_LIMIT 0x7ffffffff000ul
#define STACK_TAIL 8 /* the kernel's NULs above the exec name */

_Static_assert(sizeof(struct plan) + 16384 <= STUB_SCRATCH, "scratch memory");

_Noreturn void stub_main(uint64_t *sp, struct plan *p);
_Noreturn void stub_enter(uint64_t sp, uint64_t entry, void *scratch);
_Noreturn void stub_die(void);

/* The initial stack, as found. */
struct stack {
	uint64_t argc, *argv, envc, *envp, *auxv, naux;
	uint64_t arg_start, arg_end, env_start, env_end;
};

/* The initial stack, as it will be. */
struct layout {
	uint64_t sp, strings, execfn, platform, random;
	uint64_t argc, *auxv;
};

static long call6(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		  uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static long call3(long nr, uint64_t a, uint64_t b, uint64_t c)
{
	return call6(nr, a, b, c, 0, 0, 0);
}

/* Upwards: right for overlapping memory that moves down. */
static void move_down(void *dst, const void *src, size_t len)
{
	__asm__ volatile("rep movsb"
			 : "+D"(dst), "+S"(src), "+c"(len)
			 :
			 : "memory");
}

static void clear(void *dst, size_t len)
{
	__asm__ volatile("rep stosb"
			 : "+D"(dst), "+c"(len)
			 : "a"(0)
			 : "memory");
}

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static _Noreturn void leave(int status)
{
	for (;;)
		call3(__NR_exit_group, (uint64_t)status, 0, 0);
}

static uint64_t map(uint64_t at, uint64_t len, int prot, int flags, int fd,
		    uint64_t offset)
{
	return (uint64_t)call6(__NR_mmap, at, len, (uint64_t)prot,
			       (uint64_t)flags, (uint64_t)fd, offset);
}

static int map_failed(uint64_t addr)
{
	return addr > -4096ul;
}

/* The first segment, for the whole span, as the kernel does it: the others take
 * their places in it, so that nobody else's mapping comes between. Returns
 * where it went, or 0 if the span must be reserved: none of the file's, or
 * aligned. */
static uint64_t map_first(const struct plan_image *im)
{
	const struct plan_segment *seg = &im->segment[0];
	uint64_t at = im->fixed ? im->low : im->base, got;

	if (!im->nsegments || !seg->filesz || seg->vaddr != im->low ||
	    (!at && im->align > PAGE))
		return 0;
	got = map(at, im->span, (int)seg->prot,
		  MAP_PRIVATE | (at ? MAP_FIXED_NOREPLACE : 0), im->fd,
		  seg->offset);
	return map_failed(got) ? 0 : got;
}

/* Reserves the whole span; returns where its lowest page went. */
static uint64_t reserve(const struct plan_image *im)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint64_t at = im->fixed ? im->low : im->base, slack, got;

	if (im->fixed || at) {
		got = map(at, im->span, PROT_NONE, flags | MAP_FIXED_NOREPLACE,
			  -1, 0);
		if (!map_failed(got))
			return got;
		if (im->fixed)
			stub_die();
	}
	slack = im->align - PAGE;
	if (im->align > ADDR_LIMIT || im->span > ADDR_LIMIT)
		stub_die();
	got = map(0, im->span + slack, PROT_NONE, flags, -1, 0);
	if (map_failed(got))
		stub_die();
	at = (got + slack) & ~(im->align - 1);
	if (at > got)
		call3(__NR_munmap, got, at - got, 0);
	if (got + slack > at)
		call3(__NR_munmap, at + im->span, got + slack - at, 0);
	return at;
}

static void map_segment(const struct plan_image *im,
			const struct plan_segment *seg, uint64_t bias,
			int mapped)
{
	uint64_t at = bias + seg->vaddr;
	int rest = PROT_READ | PROT_WRITE | (int)(seg->prot & PROT_EXEC);

	if (seg->filesz && !mapped &&
	    map_failed(map(at, seg->filesz, (int)seg->prot,
			   MAP_PRIVATE | MAP_FIXED, im->fd, seg->offset)))
		stub_die();
	/* the kernel ignores a page that it may not write, too */
	if (seg->zero_len && (seg->prot & PROT_WRITE))
		clear((void *)(bias + seg->zero_from), seg->zero_len);
	if (seg->memsz > seg->filesz &&
	    map_failed(map(at + seg->filesz, seg->memsz - seg->filesz, rest,
			   MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0)))
		stub_die();
}

/* The first mapped vaddr at or after `from`, and the end of its segment. */
static uint64_t next_mapped(const struct plan_image *im, uint64_t from,
			    uint64_t *end)
{
	uint64_t best = im->low + im->span;

	*end = best;
	for (uint32_t i = 0; i < im->nsegments; i++) {
		const struct plan_segment *seg = &im->segment[i];
		uint64_t stop = seg->vaddr + seg->memsz;
		uint64_t start = seg->vaddr > from ? seg->vaddr : from;

		if (stop > from && start < best) {
			best = start;
			*end = stop;
		}
	}
	return best;
}

/* Maps an image; returns its bias. */
static uint64_t map_image(const struct plan_image *im)
{
	uint64_t at = map_first(im), bias, end;
	int first = at != 0;

	if (im->nsegments > PLAN_SEGMENTS)
		stub_die();
	if (!first)
		at = reserve(im);
	bias = at - im->low;
	for (uint32_t i = 0; i < im->nsegments; i++)
		map_segment(im, &im->segment[i], bias, !i && first);
	/* natively there is nothing between segments */
	for (uint64_t v = im->low; v < im->low + im->span; v = end) {
		uint64_t start = next_mapped(im, v, &end);

		if (start > v)
			call3(__NR_munmap, bias + v, start - v, 0);
	}
	return bias;
}

static uint64_t *aux_find(uint64_t *auxv, uint64_t type)
{
	for (; *auxv != AT_NULL; auxv += 2)
		if (*auxv == type)
			return auxv + 1;
	return NULL;
}

static void aux_set(uint64_t *auxv, uint64_t type, uint64_t value)
{
	uint64_t *at = aux_find(auxv, type);

	if (at)
		*at = value;
}

static uint64_t aux_get(uint64_t *auxv, uint64_t type)
{
	const uint64_t *at = aux_find(auxv, type);

	return at ? *at : 0;
}

/* The kernel lays strings out as arguments, environment, exec name. */
static void stack_read(uint64_t *sp, struct stack *st)
{
	uint64_t *v = sp + 1;

	st->argc = *sp;
	st->argv = v;
	v += st->argc + 1;
	st->envp = v;
	while (*v)
		v++;
	st->envc = (uint64_t)(v - st->envp);
	st->auxv = ++v;
	for (; *v != AT_NULL; v += 2)
		;
	st->naux = (uint64_t)(v - st->auxv) / 2 + 1;
	st->env_end = aux_get(st->auxv, AT_EXECFN);
	if (!st->env_end)
		st->env_end = (uint64_t)(v + 2);
	st->env_start = st->envc ? st->envp[0] : st->env_end;
	st->arg_start = st->argc ? st->argv[0] : st->env_start;
	st->arg_end = st->env_start;
}

/* Places everything, from the kept strings down; see layout_write. */
static void layout_plan(const struct plan *p, const struct stack *st,
			struct layout *l)
{
	const char *platform = (const char *)aux_get(st->auxv, AT_PLATFORM);
	size_t execfn_size = length(p->strings) + 1;
	uint64_t top = st->arg_start, vector_end, words;

	l->argc = st->argc;
	if (p->nprepend) {
		if (st->argc > 1)
			top = st->argv[1];
		else
			top = st->env_start;
		l->argc = p->nprepend + (st->argc ? st->argc - 1 : 0);
		top -= p->strings_len - execfn_size;
	}
	l->strings = top;
	l->execfn = top -= execfn_size;
	l->platform = top -= platform ? length(platform) + 1 : 0;
	l->random = top = (top - 16) & ~15ul;
	/* the vector moves down only, whatever shrank above it */
	vector_end = (uint64_t)(st->auxv + 2 * st->naux);
	if (top > vector_end)
		top = vector_end;
	words = 1 + l->argc + 1 + st->envc + 1 + 2 * st->naux;
	l->sp = (top - words * 8) & ~15ul;
}

/* The new argument pointers; the strings themselves are written later. */
static uint64_t *write_argv(const struct plan *p, const struct stack *st,
			    const struct layout *l, uint64_t *v)
{
	const char *s = p->strings + length(p->strings) + 1;
	uint64_t at = l->strings, skip = p->nprepend && st->argc;

	for (uint32_t i = 0; i < p->nprepend; i++) {
		size_t size = length(s) + 1;

		*v++ = at;
		at += size;
		s += size;
	}
	move_down(v, st->argv + skip, (st->argc - skip) * 8);
	return v + (st->argc - skip);
}

static void write_strings(const struct plan *p, const struct layout *l)
{
	size_t execfn_size = length(p->strings) + 1;

	move_down((void *)l->execfn, p->strings, execfn_size);
	if (p->nprepend)
		move_down((void *)l->strings, p->strings + execfn_size,
			  p->strings_len - execfn_size);
}

/* Copies what lies above the vector first, since the new strings overlap it;
 * then the vector, ascending, then the strings. */
static void layout_write(const struct plan *p, const struct stack *st,
			 struct layout *l)
{
	char random[16], platform[32];
	const char *old_platform = (const char *)aux_get(st->auxv, AT_PLATFORM);
	const char *old_random = (const char *)aux_get(st->auxv, AT_RANDOM);
	size_t plen = old_platform ? length(old_platform) + 1 : 0;
	uint64_t *v = (uint64_t *)l->sp, naux = st->naux, envc = st->envc;

	if (plen > sizeof(platform))
		stub_die();
	move_down(platform, old_platform, plen);
	if (old_random)
		move_down(random, old_random, sizeof(random));
	*v++ = l->argc;
	v = write_argv(p, st, l, v);
	*v++ = 0;
	move_down(v, st->envp, (envc + 1) * 8);
	v += envc + 1;
	move_down(v, st->auxv, naux * 16);
	l->auxv = v;
	move_down((void *)l->platform, platform, plen);
	move_down((void *)l->random, random, sizeof(random));
	write_strings(p, l);
	aux_set(v, AT_PLATFORM, l->platform);
	aux_set(v, AT_RANDOM, l->random);
	aux_set(v, AT_EXECFN, l->execfn);
}

static void set_aux(const struct plan *p, const struct layout *l, uint64_t bias,
		    uint64_t interp_bias)
{
	aux_set(l->auxv, AT_PHDR, bias + p->program.phdr);
	aux_set(l->auxv, AT_PHENT, 56);
	aux_set(l->auxv, AT_PHNUM, p->program.phnum);
	aux_set(l->auxv, AT_ENTRY, bias + p->program.entry);
	aux_set(l->auxv, AT_BASE, interp_bias);
	for (uint32_t i = 0; i < p->naux && i < PLAN_AUX; i++)
		aux_set(l->auxv, p->aux[i].type, p->aux[i].value);
}

static uint64_t brk_place(const struct plan *p, uint64_t bias)
{
	const struct plan_image *im = &p->program;

	if (!p->brk_start)
		return bias + im->low + im->span;
	return p->brk_start + (p->brk_absolute ? 0 : bias);
}

/* Errors are ignored: a guest's own filter may refuse prctl, and the program
 * still runs, with the stub's heap and an odd command line. */
static void set_mm(const struct plan *p, const struct stack *st,
		   const struct layout *l, uint64_t bias)
{
	struct prctl_mm_map m;

	clear(&m, sizeof(m));
	m.start_code = bias + p->bounds.start_code;
	m.end_code = bias + p->bounds.end_code;
	if (m.end_code <= m.start_code)
		m.end_code = m.start_code + 1;
	m.start_data = bias + p->bounds.start_data;
	m.end_data = bias + p->bounds.end_data;
	m.start_brk = m.brk = brk_place(p, bias);
	m.start_stack = l->sp;
	m.arg_start = p->nprepend ? l->strings : st->arg_start;
	m.arg_end = st->arg_end;
	m.env_start = st->env_start;
	m.env_end = st->env_end;
	m.auxv = (void *)l->auxv;
	m.auxv_size = (uint32_t)(st->naux * 16); /* as long as the kernel's */
	m.exe_fd = (uint32_t)-1;
	call6(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, (uint64_t)&m, sizeof(m), 0,
	      0);
	call3(__NR_prctl, PR_SET_NAME, (uint64_t)p->comm, 0);
}

/* From the top page of the stack down to where it ends now and later. */
static void set_stack_prot(const struct plan *p, const struct stack *st)
{
	uint64_t top = st->env_end + length((const char *)st->env_end);
	uint64_t page = (top + STACK_TAIL) & ~(PAGE - 1);

	if (p->stack_prot)
		call3(__NR_mprotect, page, PAGE,
		      PROT_READ | PROT_WRITE | p->stack_prot | PROT_GROWSDOWN);
}

static void close_files(const struct plan *p)
{
	if (p->program.fd >= 0)
		call3(__NR_close, (uint64_t)p->program.fd, 0, 0);
	if (p->interp.fd >= 0)
		call3(__NR_close, (uint64_t)p->interp.fd, 0, 0);
}

static void fetch(struct plan *p)
{
	long got = call6(__NR_openat, (uint64_t)(int64_t)PLAN_DIRFD,
			 (uint64_t)p, PLAN_FLAGS, PLAN_MODE, sizeof(*p), 0);

	if (got < 0 || p->version != PLAN_VERSION)
		leave(127);
	if (p->error) {
		call3(__NR_write, 2, (uint64_t)p->message, length(p->message));
		leave(p->error);
	}
	if (p->doomed || p->nprepend > PLAN_PREPEND || !p->strings_len ||
	    p->strings_len > sizeof(p->strings) ||
	    p->strings[p->strings_len - 1])
		stub_die();
	if (p->interp.fd == PLAN_ANSWERED)
		p->interp.fd = (int32_t)got;
	else
		p->program.fd = (int32_t)got;
}

_Noreturn void stub_main(uint64_t *sp, struct plan *p)
{
	uint64_t bias, interp_bias = 0, entry;
	struct layout l;
	struct stack st;

	fetch(p);
	bias = map_image(&p->program);
	entry = bias + p->program.entry;
	if (p->interp.fd >= 0) {
		interp_bias = map_image(&p->interp);
		entry = interp_bias + p->interp.entry;
	}
	close_files(p);
	stack_read(sp, &st);
	set_stack_prot(p, &st);
	layout_plan(p, &st, &l);
	layout_write(p, &st, &l);
	set_aux(p, &l, bias, interp_bias);
	set_mm(p, &st, &l, bias);
	stub_enter(l.sp, entry, p);
}
