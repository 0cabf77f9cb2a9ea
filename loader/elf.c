/*
 * elf.c - the ELF reader; see elf.h.
 *
 * Trusts nothing in the file: each number is bounded by the task size before
 * it is used, and every sum is checked. It reads a header and one page of
 * program headers, no matter what these say. No state, no locks.
 */
#include <elf.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "elf.h"

#define PAGE	    4096ull
#define PHDRS_BYTES PAGE /* load_elf_phdrs: size > ELF_MIN_ALIGN is refused */
#define TASK_END    0x7ffffffff000ull
#define PIE_BASE    0x555555554000ull /* ELF_ET_DYN_BASE */
#define PIE_RND	    28		      /* CONFIG_ARCH_MMAP_RND_BITS */
#define BRK_RND	    (1ull << 30)      /* arch_randomize_brk */

static uint64_t page_down(uint64_t v)
{
	return v & ~(PAGE - 1);
}

/* Only for values below TASK_END. */
static uint64_t page_up(uint64_t v)
{
	return page_down(v + PAGE - 1);
}

static bool header_fits(const Elf64_Ehdr *eh)
{
	return !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	       eh->e_machine == EM_X86_64;
}

/* The kernel's load_elf_phdrs; a failure is the caller's ENOEXEC/ELIBBAD. */
static int read_phdrs(const struct file_head *h, const Elf64_Ehdr *eh,
		      Elf64_Phdr *ph)
{
	size_t size = (size_t)eh->e_phentsize * eh->e_phnum;

	if (eh->e_phentsize != sizeof(*ph) || !size || size > PHDRS_BYTES)
		return -ENOEXEC;
	return file_head_get(h, ph, size, eh->e_phoff);
}

/* load_elf_binary's look at PT_INTERP; only the first one counts. */
static int read_interp_name(const struct file_head *h, const Elf64_Phdr *ph,
			    char *name)
{
	int err;

	if (ph->p_filesz > PATH_LEN_MAX || ph->p_filesz < 2)
		return -ENOEXEC;
	err = file_head_get(h, name, ph->p_filesz, ph->p_offset);
	if (err)
		return err;
	return name[ph->p_filesz - 1] ? -ENOEXEC : 0;
}

static uint32_t segment_prot(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) |
	       (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

/* The checks of load_elf_binary and elf_map; false: SIGSEGV natively. */
static bool segment_sane(const Elf64_Phdr *ph)
{
	uint64_t in_page = ph->p_vaddr & (PAGE - 1), end;

	if (ph->p_vaddr >= TASK_END || ph->p_filesz > ph->p_memsz ||
	    ph->p_memsz > TASK_END || TASK_END - ph->p_memsz < ph->p_vaddr)
		return false;
	if (!ph->p_filesz)
		return true;
	if (ph->p_offset < in_page || ((ph->p_offset - in_page) & (PAGE - 1)))
		return false;
	return !__builtin_add_overflow(ph->p_offset, ph->p_filesz, &end) &&
	       end <= INT64_MAX - PAGE;
}

/* The end of the file part is cleared in its last page; past the end of the
 * file there is no such page, and clearing it faults. */
static bool clearing_faults(const struct plan_segment *seg, uint64_t size)
{
	return seg->zero_len && (seg->prot & PROT_WRITE) &&
	       page_down(seg->offset + seg->filesz - 1) >= page_up(size);
}

static void segment_fill(const Elf64_Phdr *ph, struct plan_segment *seg)
{
	uint64_t start = page_down(ph->p_vaddr);
	uint64_t file_end = ph->p_vaddr + ph->p_filesz;

	seg->vaddr = start;
	seg->filesz = ph->p_filesz ? page_up(file_end) - start : 0;
	seg->memsz = page_up(ph->p_vaddr + ph->p_memsz) - start;
	seg->offset = ph->p_filesz ? ph->p_offset - (ph->p_vaddr - start) : 0;
	seg->prot = segment_prot(ph->p_flags);
	if (seg->filesz && ph->p_memsz > ph->p_filesz) {
		seg->zero_from = file_end;
		seg->zero_len = page_up(file_end) - file_end;
	}
}

static void bounds_add(struct elf_info *o, const Elf64_Phdr *ph)
{
	struct plan_bounds *b = &o->bounds;
	uint64_t file_end = ph->p_vaddr + ph->p_filesz;

	if (ph->p_vaddr < b->start_code)
		b->start_code = ph->p_vaddr;
	if (ph->p_vaddr > b->start_data)
		b->start_data = ph->p_vaddr;
	if ((ph->p_flags & PF_X) && file_end > b->end_code)
		b->end_code = file_end;
	if (file_end > b->end_data)
		b->end_data = file_end;
	if (ph->p_vaddr + ph->p_memsz > o->brk)
		o->brk = ph->p_vaddr + ph->p_memsz;
}

static int segment_add(struct elf_info *o, const Elf64_Phdr *ph, uint64_t phoff,
		       uint64_t size)
{
	struct plan_image *im = &o->image;
	struct plan_segment *seg;

	if (!segment_sane(ph)) {
		o->doomed = true;
		return 0;
	}
	if (ph->p_align > im->align && !(ph->p_align & (ph->p_align - 1)))
		im->align = ph->p_align;
	if (phoff >= ph->p_offset && phoff - ph->p_offset < ph->p_filesz)
		im->phdr = phoff - ph->p_offset + ph->p_vaddr;
	if (!ph->p_memsz)
		return 0;
	if (im->nsegments == PLAN_SEGMENTS)
		return -ENOEXEC;
	seg = &im->segment[im->nsegments++];
	segment_fill(ph, seg);
	if (clearing_faults(seg, size))
		o->doomed = true;
	bounds_add(o, ph);
	return 0;
}

static void image_close(struct elf_info *o)
{
	struct plan_image *im = &o->image;
	uint64_t end = 0;

	im->low = UINT64_MAX;
	for (uint32_t i = 0; i < im->nsegments; i++) {
		const struct plan_segment *seg = &im->segment[i];

		if (seg->vaddr < im->low)
			im->low = seg->vaddr;
		if (seg->vaddr + seg->memsz > end)
			end = seg->vaddr + seg->memsz;
	}
	if (!im->nsegments) {
		im->low = o->bounds.start_code = 0;
		o->doomed = true;
		return;
	}
	im->span = end - im->low;
}

static int scan_phdrs(const struct file_head *h, const Elf64_Ehdr *eh,
		      const Elf64_Phdr *ph, bool want_interp,
		      struct elf_info *o)
{
	int err = 0;

	for (unsigned i = 0; i < eh->e_phnum && !err; i++) {
		if (ph[i].p_type == PT_INTERP && want_interp && !o->interp[0])
			err = read_interp_name(h, &ph[i], o->interp);
		else if (ph[i].p_type == PT_GNU_STACK)
			o->exec_stack = ph[i].p_flags & PF_X;
		else if (ph[i].p_type == PT_LOAD)
			err = segment_add(o, &ph[i], eh->e_phoff,
					  (uint64_t)h->st.st_size);
	}
	return err;
}

static void info_reset(struct elf_info *o)
{
	memset(o, 0, sizeof(*o));
	o->image.fd = -1;
	o->image.align = PAGE;
	o->bounds.start_code = UINT64_MAX;
}

static void info_take_header(struct elf_info *o, const Elf64_Ehdr *eh)
{
	o->image.entry = eh->e_entry;
	o->image.phnum = eh->e_phnum;
	o->image.fixed = eh->e_type == ET_EXEC;
}

int elf_read_program(const struct file_head *h, struct elf_info *out)
{
	Elf64_Phdr ph[PHDRS_BYTES / sizeof(Elf64_Phdr)];
	Elf64_Ehdr eh;
	int err;

	info_reset(out);
	err = file_head_get(h, &eh, sizeof(eh), 0);
	if (err)
		return err == -EIO ? -ENOEXEC : err;
	if (!header_fits(&eh) || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
		return -ENOEXEC;
	if (read_phdrs(h, &eh, ph))
		return -ENOEXEC;
	info_take_header(out, &eh);
	err = scan_phdrs(h, &eh, ph, true, out);
	if (err)
		return err;
	image_close(out);
	return 0;
}

int elf_read_interp(const struct file_head *h, struct elf_info *out)
{
	Elf64_Phdr ph[PHDRS_BYTES / sizeof(Elf64_Phdr)];
	Elf64_Ehdr eh;
	int err;

	info_reset(out);
	err = file_head_get(h, &eh, sizeof(eh), 0);
	if (err)
		return err;
	if (!header_fits(&eh) || read_phdrs(h, &eh, ph))
		return -ELIBBAD;
	info_take_header(out, &eh);
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		out->doomed = true; /* load_elf_interp, past no return */
	if (scan_phdrs(h, &eh, ph, false, out))
		return -ELIBBAD;
	image_close(out);
	return 0;
}

static uint64_t random_below(uint64_t range)
{
	uint64_t v;

	/* the pool is ready long before any sandbox; cannot be short */
	BUG_ON(getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v));
	return v % range;
}

uint64_t elf_choose_base(const struct elf_info *info, bool randomize)
{
	const struct plan_image *im = &info->image;
	uint64_t bias = PIE_BASE;

	if (im->fixed || !info->interp[0])
		return 0;
	if (randomize)
		bias += random_below(1ull << PIE_RND) * PAGE;
	bias &= ~(im->align - 1);
	/* the kernel subtracts the first vaddr, so that `low` lands here */
	return bias;
}

uint64_t elf_choose_brk(const struct elf_info *info, bool randomize,
			bool *absolute)
{
	uint64_t brk;

	/* a loader or static PIE lies in the mmap area, where a heap would
	 * not have room to grow */
	*absolute = !info->image.fixed && !info->interp[0];
	brk = *absolute ? PIE_BASE : page_up(info->brk);
	if (!randomize)
		return brk;
	if (!*absolute)
		brk += PAGE;
	return brk + random_below(BRK_RND / PAGE) * PAGE;
}
