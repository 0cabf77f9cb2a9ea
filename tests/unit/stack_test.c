/* Stacks of a stopped process, and symbols of damaged files. */
#include <criterion/criterion.h>

#include "sentry/audit/stack.h"
#include "sentry/audit/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

static unsigned reads;

static int read_guest(void *arg, gaddr_t addr, void *buf, size_t len)
{
	struct iovec l = {buf, len}, r = {(void *)(uintptr_t)addr, len};

	reads++;
	return process_vm_readv(*(pid_t *)arg, &l, 1, &r, 1, 0) == (ssize_t)len
		       ? 0
		       : -EFAULT;
}

static int read_maps(void *arg, struct strbuf *out)
{
	char path[64], buf[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", *(pid_t *)arg);
	fd = open(path, O_RDONLY);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	close(fd);
	return 0;
}

static int open_image(void *arg UNUSED, const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A frame that is kept by rbp, called by one that is not. */
__attribute__((noinline)) static int stack_test_inner(unsigned n)
{
	volatile char *p = __builtin_alloca(n);

	p[0] = 1;
	raise(SIGSTOP);
	return p[0];
}

__attribute__((noinline)) static int stack_test_outer(unsigned n)
{
	return stack_test_inner(n) + 1;
}

/* stack and insn of a child that stopped itself, parsed. */
static json_t *capture(struct stacks *st, struct user_regs_struct *change)
{
	struct stack_source src = {
		.read = read_guest, .maps = read_maps, .open = open_image};
	struct user_regs_struct regs;
	struct strbuf b;
	json_t *o;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		_exit(stack_test_outer(100));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	if (change) {
		regs.rsp = change->rsp;
		regs.rip = change->rip;
		regs.rbp = change->rbp;
	}
	src.arg = &pid;
	src.space = (uint64_t)pid;
	strbuf_init(&b, 1 << 20);
	strbuf_puts(&b, "{\"x\":1");
	reads = 0;
	stacks_capture(st, &src, &regs, &b);
	strbuf_putc(&b, '}');
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	o = json_loads(b.data, 0, NULL);
	cr_assert_not_null(o, "%s", b.data);
	strbuf_fini(&b);
	return o;
}

static size_t frame_with(const json_t *o, const char *name)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(o, "stack"), i,
			   f) if (strstr(json_string_value(f), name)) return i;
	return SIZE_MAX;
}

Test(stack, frames_have_their_names_in_order)
{
	struct stacks *st;
	json_t *o;

	cr_assert_eq(stacks_new(&st), 0);
	o = capture(st, NULL);
	cr_assert_neq(frame_with(o, "!stack_test_inner+0x"), SIZE_MAX);
	cr_assert_lt(frame_with(o, "!stack_test_inner+0x"),
		     frame_with(o, "!stack_test_outer+0x"));
	cr_assert_str_eq(json_string_value(json_object_get(
				 json_object_get(o, "insn"), "text")),
			 "syscall");
	json_decref(o);
	stacks_free(st);
}

Test(stack, registers_that_point_nowhere_give_a_short_stack)
{
	static const uint64_t bad[] = {0, 8, 0x7fffffffffffULL, ~0ULL,
				       0xffffffffff600000ULL};
	struct stacks *st;

	cr_assert_eq(stacks_new(&st), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct user_regs_struct r = {
			.rip = bad[i], .rsp = bad[i], .rbp = bad[i]};
		json_t *o = capture(st, &r);

		cr_assert_leq(json_array_size(json_object_get(o, "stack")), 64);
		json_decref(o);
	}
	stacks_free(st);
}

/* A stack that leads in a circle: every word is an address of itself. */
Test(stack, circles_end)
{
	struct stacks *st;
	uint64_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct user_regs_struct r;
	json_t *o;

	for (size_t i = 0; i < 1024; i++)
		page[i] = (uint64_t)(uintptr_t)&page[(i * 7 + 3) % 1024];
	r.rip = (uint64_t)(uintptr_t)stack_test_inner;
	r.rsp = r.rbp = (uint64_t)(uintptr_t)page;
	cr_assert_eq(stacks_new(&st), 0);
	o = capture(st, &r);
	cr_assert_leq(json_array_size(json_object_get(o, "stack")), 64);
	cr_assert_leq(reads, 4096);
	json_decref(o);
	stacks_free(st);
}

/* ---- symbols ---- */

struct file {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[3];
	Elf64_Sym sym[3];
	char str[16];
};

static const struct file good = {
	.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
	       .e_shoff = offsetof(struct file, sh),
	       .e_shentsize = sizeof(Elf64_Shdr),
	       .e_shnum = 3},
	.sh = {{0},
	       {.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct file, sym),
		.sh_size = sizeof(Elf64_Sym) * 3,
		.sh_entsize = sizeof(Elf64_Sym),
		.sh_link = 2},
	       {.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, str),
		.sh_size = 16}},
	.sym = {{0},
		{.st_name = 1,
		 .st_info = STT_FUNC,
		 .st_shndx = 1,
		 .st_value = 0x100,
		 .st_size = 0x10},
		{.st_name = 5,
		 .st_info = STT_FUNC,
		 .st_shndx = 1,
		 .st_value = 0x200}},
	.str = "\0one\0two",
};

static int read_file(const struct file *f, size_t size, struct symbols **s)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), ret;

	cr_assert_eq(write(fd, f, size), (ssize_t)size);
	ret = symbols_read(fd, s);
	close(fd);
	return ret;
}

Test(symbols, found_by_address)
{
	struct symbols *s;
	uint64_t off;

	cr_assert_eq(read_file(&good, sizeof(good), &s), 0);
	cr_assert_null(symbols_find(s, 0xff, &off));
	cr_assert_str_eq(symbols_find(s, 0x10f, &off), "one");
	cr_assert_eq(off, 0xf);
	cr_assert_null(symbols_find(s, 0x110, &off));
	cr_assert_str_eq(symbols_find(s, 0x5000, &off), "two");
	symbols_free(s);
}

Test(symbols, damaged_files_are_refused)
{
	struct symbols *s = NULL;
	struct file f;

	for (size_t cut = 0; cut < sizeof(good); cut += 8)
		cr_assert_lt(read_file(&good, cut, &s), 0, "%zu", cut);
	f = good;
	f.sh[1].sh_link = 7;
	cr_assert_eq(read_file(&f, sizeof(f), &s), -ENOEXEC);
	f = good;
	f.sh[1].sh_size = 1ULL << 40;
	cr_assert_eq(read_file(&f, sizeof(f), &s), -ENOEXEC);
	f = good;
	f.sh[2].sh_offset = UINT64_MAX - 4;
	cr_assert_eq(read_file(&f, sizeof(f), &s), -ENOEXEC);
	f = good;
	f.eh.e_shoff = UINT64_MAX;
	cr_assert_eq(read_file(&f, sizeof(f), &s), -ENOEXEC);
}

Test(symbols, names_stay_in_their_table)
{
	struct symbols *s;
	struct file f = good;
	uint64_t off;

	f.sym[1].st_name = 0xffffff;
	memset(f.str, 'x', sizeof(f.str)); /* no NUL */
	cr_assert_eq(read_file(&f, sizeof(f), &s), 0);
	cr_assert_null(symbols_find(s, 0x101, &off));
	cr_assert_eq(strlen(symbols_find(s, 0x201, &off)), 11);
	symbols_free(s);
}
