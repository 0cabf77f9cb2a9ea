/*
 * fuzz_elf.c - feeds the ELF and "#!" readers with files of arbitrary bytes,
 * and checks of every image that they accept what the stub relies on.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../loader/planmake.h"

#define TASK_END 0x7ffffffff000ull
#define PAGE	 4096ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_segment(const struct plan_image *im,
			  const struct plan_segment *s)
{
	BUG_ON((s->vaddr | s->filesz | s->memsz | s->offset) % PAGE);
	BUG_ON(s->filesz > s->memsz || s->memsz > TASK_END);
	BUG_ON(s->vaddr < im->low);
	BUG_ON(s->vaddr + s->memsz > im->low + im->span);
	BUG_ON(s->zero_len >= PAGE);
	BUG_ON(s->zero_len &&
	       s->zero_from + s->zero_len != s->vaddr + s->filesz);
}

static void check_info(const struct elf_info *o)
{
	const struct plan_image *im = &o->image;

	BUG_ON(im->nsegments > PLAN_SEGMENTS);
	BUG_ON(im->align < PAGE || im->align & (im->align - 1));
	BUG_ON(im->low + im->span > TASK_END);
	BUG_ON(!im->nsegments && !o->doomed);
	for (uint32_t i = 0; i < im->nsegments; i++)
		check_segment(im, &im->segment[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_info program, interp;
	static struct plan plan;
	struct plan_request r = {
		.program = &program, .execfn = "x", .randomize = true};
	struct script_line line;
	char head[SCRIPT_HEAD];
	AUTO_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct file_head h;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    file_head_read(&h, fd))
		return 0;
	if (elf_read_interp(&h, &interp) == 0) {
		check_info(&interp);
		r.interp = &interp;
	}
	if (elf_read_program(&h, &program) == 0) {
		check_info(&program);
		BUG_ON(plan_fill(&plan, &r));
	}
	script_take_head(&h, head);
	if (!script_parse(head, &line))
		BUG_ON(strlen(line.interp) >= sizeof(line.interp));
	return 0;
}
