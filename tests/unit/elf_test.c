/*
 * elf_test.c - the ELF reader and the plan it leads to, on made-up files.
 *
 * Every refusal is the errno of fs/binfmt_elf.c; what the kernel answers by
 * SIGSEGV past its point of no return is `doomed` here.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../loader/planmake.h"

struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[40];
	char interp[64];
	char text[8192];
};

static struct file sample(void)
{
	struct file f = {0};

	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_type = ET_DYN;
	f.eh.e_machine = EM_X86_64;
	f.eh.e_phoff = offsetof(struct file, ph);
	f.eh.e_phentsize = sizeof(Elf64_Phdr);
	f.eh.e_phnum = 3;
	f.eh.e_entry = 0x1010;
	strcpy(f.interp, "/lib64/ld-linux-x86-64.so.2");
	f.ph[0] = (Elf64_Phdr){
		.p_type = PT_INTERP,
		.p_offset = offsetof(struct file, interp),
		.p_filesz = strlen(f.interp) + 1,
	};
	f.ph[1] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = 0x1800,
		.p_memsz = 0x1800,
		.p_align = 4096,
	};
	f.ph[2] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = 0x1800,
		.p_vaddr = 0x3800,
		.p_filesz = 0x100,
		.p_memsz = 0x3000,
		.p_align = 4096,
	};
	return f;
}

static int file_fd(const struct file *f, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, f, len), (ssize_t)len);
	return fd;
}

static int read_program(const struct file *f, size_t len, struct elf_info *o)
{
	int fd = file_fd(f, len), err;
	struct file_head h;

	err = file_head_read(&h, fd);
	if (!err)
		err = elf_read_program(&h, o);
	close(fd);
	return err;
}

static int read_interp(const struct file *f, size_t len, struct elf_info *o)
{
	int fd = file_fd(f, len), err;
	struct file_head h;

	err = file_head_read(&h, fd);
	if (!err)
		err = elf_read_interp(&h, o);
	close(fd);
	return err;
}

static int program_of(const struct file *f, struct elf_info *o)
{
	return read_program(f, sizeof(*f), o);
}

Test(elf, segments_and_bss_are_laid_out_in_pages)
{
	struct file f = sample();
	struct elf_info o;

	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_not(o.doomed);
	cr_assert_str_eq(o.interp, f.interp);
	cr_assert_eq(o.image.nsegments, 2);
	cr_assert_eq(o.image.low, 0);
	cr_assert_eq(o.image.span, 0x7000);
	cr_assert_eq(o.image.phdr, f.eh.e_phoff);
	cr_assert_eq(o.image.segment[1].vaddr, 0x3000);
	cr_assert_eq(o.image.segment[1].offset, 0x1000);
	cr_assert_eq(o.image.segment[1].filesz, 0x1000);
	cr_assert_eq(o.image.segment[1].memsz, 0x4000);
	cr_assert_eq(o.image.segment[1].zero_from, 0x3900);
	cr_assert_eq(o.image.segment[1].zero_len, 0x700);
	cr_assert_eq(o.image.segment[1].prot, PROT_READ | PROT_WRITE);
	cr_assert_eq(o.brk, 0x6800);
	cr_assert_eq(o.bounds.start_data, 0x3800);
	cr_assert_eq(o.bounds.end_code, 0x1800);
}

Test(elf, wrong_header_is_enoexec)
{
	struct elf_info o;
	struct file f = sample();

	f.eh.e_ident[0] = 0;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f = sample();
	f.eh.e_machine = EM_386;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f = sample();
	f.eh.e_type = ET_REL;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f = sample();
	f.eh.e_phentsize = 32;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f = sample();
	f.eh.e_phnum = 0;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f.eh.e_phnum = 74;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f.eh.e_phnum = 0xffff;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
}

Test(elf, truncated_headers_are_enoexec)
{
	struct file f = sample();
	struct elf_info o;

	cr_assert_eq(read_program(&f, 0, &o), -ENOEXEC);
	cr_assert_eq(read_program(&f, sizeof(f.eh) - 1, &o), -ENOEXEC);
	cr_assert_eq(read_program(&f, sizeof(f.eh) + 20, &o), -ENOEXEC);
	f.eh.e_phoff = UINT64_MAX - 8;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
}

Test(elf, interpreter_name_is_checked_as_the_kernel_does)
{
	struct file f = sample();
	struct elf_info o;

	f.ph[0].p_filesz = 1;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f.ph[0].p_filesz = 4097;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
	f.ph[0].p_filesz = 5;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC, "no NUL at its end");
	f.ph[0].p_filesz = 28;
	f.ph[0].p_offset = sizeof(f) - 4;
	cr_assert_eq(program_of(&f, &o), -EIO);
	f.ph[0].p_offset = UINT64_MAX;
	cr_assert_eq(program_of(&f, &o), -EINVAL);
}

Test(elf, bad_interpreter_is_elibbad)
{
	struct file f = sample();
	struct elf_info o;

	cr_assert_eq(read_interp(&f, sizeof(f), &o), 0);
	cr_assert_str_empty(o.interp);
	f.eh.e_machine = EM_ARM;
	cr_assert_eq(read_interp(&f, sizeof(f), &o), -ELIBBAD);
	f = sample();
	f.eh.e_phnum = 0;
	cr_assert_eq(read_interp(&f, sizeof(f), &o), -ELIBBAD);
	cr_assert_eq(read_interp(&f, 10, &o), -EIO);
	f = sample();
	f.eh.e_type = ET_REL;
	cr_assert_eq(read_interp(&f, sizeof(f), &o), 0);
	cr_assert(o.doomed);
}

static bool doomed_with(Elf64_Phdr data)
{
	struct file f = sample();
	struct elf_info o;

	f.ph[2] = data;
	cr_assert_eq(program_of(&f, &o), 0);
	return o.doomed;
}

Test(elf, impossible_segments_are_doomed)
{
	Elf64_Phdr ok = sample().ph[2], p;

	cr_assert_not(doomed_with(ok));
	p = ok, p.p_vaddr = 0x7ffffffff000, p.p_offset = 0;
	cr_assert(doomed_with(p));
	p = ok, p.p_vaddr = UINT64_MAX - 0x7ff;
	cr_assert(doomed_with(p));
	p = ok, p.p_memsz = UINT64_MAX;
	cr_assert(doomed_with(p));
	p = ok, p.p_filesz = p.p_memsz + 1;
	cr_assert(doomed_with(p));
	p = ok, p.p_offset = 0x1801;
	cr_assert(doomed_with(p), "offset and vaddr differ within a page");
	p = ok, p.p_offset = 0x1000000000000800;
	cr_assert(doomed_with(p), "bss clearing past the end of the file");
	p = ok, p.p_offset = UINT64_MAX - 0x7ff;
	cr_assert(doomed_with(p));
	p = ok, p.p_offset = 0, p.p_vaddr = 0x3800;
	cr_assert(doomed_with(p), "offset below its place in the page");
}

Test(elf, file_without_load_segment_is_doomed)
{
	struct file f = sample();
	struct elf_info o;

	f.ph[1].p_type = f.ph[2].p_type = PT_NOTE;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert(o.doomed);
	cr_assert_eq(o.image.span, 0);
}

Test(elf, too_many_segments_are_enoexec)
{
	struct file f = sample();
	struct elf_info o;

	for (int i = 3; i < 40; i++)
		f.ph[i] = f.ph[1];
	f.eh.e_phnum = 1 + PLAN_SEGMENTS;
	cr_assert_eq(program_of(&f, &o), 0);
	f.eh.e_phnum = 2 + PLAN_SEGMENTS;
	cr_assert_eq(program_of(&f, &o), -ENOEXEC);
}

Test(elf, stack_flag_and_type_are_reported)
{
	struct file f = sample();
	struct elf_info o;

	f.ph[3] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_X};
	f.eh.e_phnum = 4;
	f.eh.e_type = ET_EXEC;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert(o.exec_stack);
	cr_assert(o.image.fixed);
	f.ph[3].p_flags = PF_R | PF_W;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_not(o.exec_stack);
}

Test(elf, pie_base_honours_the_largest_alignment)
{
	struct file f = sample();
	struct elf_info o;

	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_base(&o, false), 0x555555554000);
	f.ph[1].p_align = 0x200000;
	f.ph[2].p_align = 3; /* no power of two: ignored */
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_base(&o, false), 0x555555400000);
	for (int i = 0; i < 200; i++) {
		uint64_t base = elf_choose_base(&o, true);

		cr_assert_eq(base % 0x200000, 0);
		cr_assert_geq(base, 0x555555400000);
		cr_assert_lt(base, 0x655555554000);
	}
}

Test(elf, base_of_fixed_and_static_pie_is_left_open)
{
	struct file f = sample();
	struct elf_info o;

	f.eh.e_type = ET_EXEC;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_base(&o, true), 0);
	f = sample();
	f.ph[0].p_type = PT_NULL;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_base(&o, true), 0);
}

Test(elf, heap_follows_the_bss_or_lies_apart_for_static_pie)
{
	struct file f = sample();
	struct elf_info o;
	bool absolute;

	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_brk(&o, false, &absolute), 0x7000);
	cr_assert_not(absolute);
	cr_assert_gt(elf_choose_brk(&o, true, &absolute), 0x7000);
	f.ph[0].p_type = PT_NULL;
	cr_assert_eq(program_of(&f, &o), 0);
	cr_assert_eq(elf_choose_brk(&o, false, &absolute), 0x555555554000);
	cr_assert(absolute);
}

static struct plan plan;
static struct plan_args args;

Test(plan, nested_scripts_come_in_kernel_order)
{
	struct script_line a = {.interp = "/b", .arg = "x", .has_arg = true};
	struct script_line b = {.interp = "/c"};
	static const char want[] = "./a\0/c\0/b\0x\0./a";
	struct file f = sample();
	struct elf_info o;
	struct plan_request r = {.program = &o, .execfn = "./a", .args = &args};

	cr_assert_eq(program_of(&f, &o), 0);
	plan_args_init(&args);
	cr_assert_eq(plan_args_push_script(&args, "./a", &a), 0);
	cr_assert_eq(plan_args_push_script(&args, "/b", &b), 0);
	cr_assert_eq(plan_fill(&plan, &r), 0);
	cr_assert_eq(plan.nprepend, 4);
	cr_assert_eq(plan.strings_len, sizeof(want));
	cr_assert_arr_eq(plan.strings, want, sizeof(want));
	cr_assert_str_eq(plan.comm, "a");
	cr_assert_eq(plan.interp.fd, -1);
}

Test(plan, strings_that_do_not_fit_are_e2big)
{
	static char big[PLAN_STRINGS];
	struct file f = sample();
	struct elf_info o;
	struct plan_request r = {.program = &o, .execfn = big};

	cr_assert_eq(program_of(&f, &o), 0);
	memset(big, 'a', sizeof(big) - 1);
	cr_assert_eq(plan_fill(&plan, &r), 0);
	plan_args_init(&args);
	cr_assert_eq(plan_args_push(&args, big), 0);
	cr_assert_eq(plan_args_push(&args, ""), -E2BIG);
	r.args = &args;
	cr_assert_eq(plan_fill(&plan, &r), -E2BIG);
}

Test(plan, refusal_carries_its_message)
{
	plan_refuse(&plan, 126, "%s\n", "no");
	cr_assert_eq(plan.error, 126);
	cr_assert_str_eq(plan.message, "no\n");
	cr_assert_eq(plan.program.fd, -1);
}
