/*
 * stack.c - see stack.h.
 *
 * Mappings are read once and again when an address is in none of them, or
 * when the guest has another program (the source's `space`). Symbol tables
 * are kept by image, up to SYMBOLS_BYTES of them together.
 */
#include "stack.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/user.h>

#include "symbols.h"
#include "unwindlib.h"

enum {
	FRAMES_MAX = 64,
	READS_MAX = 4096, /* of guest memory, for one stack */
	/* Words that libunwind asks for. Its tables are programs, with loops,
	 * and each word is an allocation at most: this bounds them all. */
	STEP_WORDS_MAX = 1 << 14,  /* for one frame */
	STACK_WORDS_MAX = 1 << 18, /* for one stack */
	PHDRS_MAX = 64,
	MAPS_MAX = 4096,  /* mappings looked at */
	IMAGES_MAX = 256, /* symbol tables kept */
	MAPS_TEXT = 4 << 20,
	SYSCALL_LEN = 2,
	PAGE = 4096,
	PAGES = 64, /* of guest memory kept; a power of two */
};

#define SYMBOLS_BYTES ((size_t)128 << 20)

struct map {
	uint64_t start, end, offset;
	const char *path; /* in the text; "" for none */
	uint64_t file;	  /* a number for device and inode; 0: none */
	bool fixed;	  /* of a file, and not writable */
};

/* A page of guest memory. Of a fixed mapping it is good until the mappings are
 * read anew, else for one capture. */
struct page {
	uint64_t addr, capture;
	bool fixed, valid;
	uint8_t data[PAGE];
};

/* A symbol table; symbols NULL: there is none to be had. */
struct image {
	char *path;
	uint64_t file;
	struct symbols *symbols;
};

struct stacks {
	struct unwindlib lib;
	unw_addr_space_t as;
	csh capstone;
	pthread_mutex_t lock;

	/* of the capture under way */
	const struct stack_source *src;
	const struct user_regs_struct *regs;
	unsigned reads, words, step_words;
	bool reread;
	uint64_t capture;
	struct page pages[PAGES];

	/* mappings of `space` */
	uint64_t space;
	struct strbuf text;
	struct map maps[MAPS_MAX];
	size_t nmaps;

	struct image images[IMAGES_MAX];
	size_t nimages, bytes;
};

/* ---- mappings ------------------------------------------------------------ */

static const struct map *find_in(const struct stacks *st, uint64_t addr)
{
	for (size_t i = 0; i < st->nmaps; i++)
		if (addr >= st->maps[i].start && addr < st->maps[i].end)
			return &st->maps[i];
	return NULL;
}

static struct page *page_get(struct stacks *st, uint64_t addr)
{
	struct page *p = &st->pages[addr / PAGE % PAGES];
	const struct map *m;

	if (p->valid && p->addr == addr &&
	    (p->fixed || p->capture == st->capture))
		return p;
	p->valid = false;
	if (st->reads++ >= READS_MAX ||
	    st->src->read(st->src->arg, addr, p->data, PAGE))
		return NULL;
	m = find_in(st, addr);
	p->addr = addr;
	p->capture = st->capture;
	p->fixed = m && m->fixed;
	p->valid = true;
	return p;
}

static int guest_read(struct stacks *st, uint64_t addr, void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len) {
		uint64_t at = addr % PAGE;
		size_t n = len < PAGE - at ? len : PAGE - at;
		const struct page *p = page_get(st, addr - at);

		if (!p)
			return -EFAULT;
		memcpy(to, p->data + at, n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

/* "start-end perms offset major:minor inode   path\n": cut in place. */
static bool parse_map(char *line, struct map *m)
{
	unsigned long long start, end, offset, ino;
	unsigned major, minor;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end,
		   perms, &offset, &major, &minor, &ino, &at) != 7)
		return false;
	*m = (struct map){start,
			  end,
			  offset,
			  line + at,
			  ino ? ino * 31 + major * 7 + minor + 1 : 0,
			  ino && perms[1] != 'w'};
	return start < end;
}

static void read_maps(struct stacks *st)
{
	char *line, *next;

	st->nmaps = 0;
	for (size_t i = 0; i < PAGES; i++)
		st->pages[i].valid = false;
	strbuf_reset(&st->text);
	if (st->src->maps(st->src->arg, &st->text) || !st->text.data)
		return;
	for (line = st->text.data; *line && st->nmaps < MAPS_MAX; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		st->nmaps += parse_map(line, &st->maps[st->nmaps]);
	}
	st->space = st->src->space;
}

/* Once a capture the mappings are read anew for what is in none. */
static const struct map *find_map(struct stacks *st, uint64_t addr)
{
	const struct map *m = find_in(st, addr);

	if (m || st->reread)
		return m;
	st->reread = true;
	read_maps(st);
	return find_in(st, addr);
}

/* The mapping of the image's ELF header: the nearest before with offset 0. */
static const struct map *head_of(const struct stacks *st, const struct map *m)
{
	for (; m >= st->maps; m--)
		if (m->offset == 0)
			return m;
	return NULL;
}

/* Program headers of the image, from guest memory, and its load bias. */
static int read_phdrs(struct stacks *st, const struct map *head, Elf64_Phdr *ph,
		      unsigned *count, uint64_t *bias)
{
	Elf64_Ehdr eh;

	if (guest_read(st, head->start, &eh, sizeof(eh)) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_phentsize != sizeof(*ph) || !eh.e_phnum ||
	    eh.e_phnum > PHDRS_MAX || eh.e_phoff > (1u << 20) ||
	    guest_read(st, head->start + eh.e_phoff, ph,
		       eh.e_phnum * sizeof(*ph)))
		return -ENOEXEC;
	*count = eh.e_phnum;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || ph[i].p_offset != 0)
			continue;
		*bias = head->start - (ph[i].p_vaddr & ~(uint64_t)4095);
		return 0;
	}
	return -ENOEXEC;
}

/* ---- libunwind's accessors ----------------------------------------------- */

struct eh_frame_hdr {
	uint8_t version, frame_enc, count_enc, table_enc;
	int32_t frame;
	uint32_t count;
};

/* udata4; datarel | sdata4: what every linker writes */
enum { ENC_UDATA4 = 0x03, ENC_TABLE = 0x3b, TABLE_ENTRY = 8 };

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *pi, int need, void *arg)
{
	struct stacks *st = arg;
	const struct map *m = find_map(st, ip), *head = m ? head_of(st, m) : m;
	Elf64_Phdr ph[PHDRS_MAX];
	struct eh_frame_hdr h;
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	unsigned n = 0, i;
	uint64_t bias, at;

	if (!head || read_phdrs(st, head, ph, &n, &bias))
		return -UNW_ENOINFO;
	for (i = 0; i < n && ph[i].p_type != PT_GNU_EH_FRAME; i++)
		;
	if (i == n)
		return -UNW_ENOINFO;
	at = bias + ph[i].p_vaddr;
	if (guest_read(st, at, &h, sizeof(h)) || h.version != 1 ||
	    h.count_enc != ENC_UDATA4 || h.table_enc != ENC_TABLE)
		return -UNW_ENOINFO;
	di.start_ip = m->start;
	di.end_ip = m->end;
	di.u.rti.segbase = at;
	di.u.rti.table_data = at + sizeof(h);
	di.u.rti.table_len = (unw_word_t)h.count * TABLE_ENTRY / sizeof(at);
	return st->lib.search(as, ip, &di, pi, need, arg);
}

/* What it allocated for an entry of a table it takes back by itself. */
static void put_unwind_info(unw_addr_space_t as UNUSED,
			    unw_proc_info_t *pi UNUSED, void *arg UNUSED)
{
}

static int no_dyn_info(unw_addr_space_t as UNUSED, unw_word_t *addr UNUSED,
		       void *arg UNUSED)
{
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as UNUSED, unw_word_t addr,
		      unw_word_t *val, int write, void *arg)
{
	struct stacks *st = arg;

	if (write || st->step_words++ >= STEP_WORDS_MAX ||
	    st->words++ >= STACK_WORDS_MAX ||
	    guest_read(st, addr, val, sizeof(*val)))
		return -UNW_EINVAL;
	return 0;
}

static int access_reg(unw_addr_space_t as UNUSED, unw_regnum_t reg,
		      unw_word_t *val, int write, void *arg)
{
	const struct stacks *st = arg;
	const struct user_regs_struct *r = st->regs;
	const unsigned long long *const at[] = {
		[UNW_X86_64_RAX] = &r->rax, [UNW_X86_64_RDX] = &r->rdx,
		[UNW_X86_64_RCX] = &r->rcx, [UNW_X86_64_RBX] = &r->rbx,
		[UNW_X86_64_RSI] = &r->rsi, [UNW_X86_64_RDI] = &r->rdi,
		[UNW_X86_64_RBP] = &r->rbp, [UNW_X86_64_RSP] = &r->rsp,
		[UNW_X86_64_R8] = &r->r8,   [UNW_X86_64_R9] = &r->r9,
		[UNW_X86_64_R10] = &r->r10, [UNW_X86_64_R11] = &r->r11,
		[UNW_X86_64_R12] = &r->r12, [UNW_X86_64_R13] = &r->r13,
		[UNW_X86_64_R14] = &r->r14, [UNW_X86_64_R15] = &r->r15,
		[UNW_X86_64_RIP] = &r->rip,
	};

	if (write || reg < 0 || (size_t)reg >= ARRAY_SIZE(at) || !at[reg])
		return -UNW_EBADREG;
	*val = *at[reg];
	return 0;
}

static int no_fpreg(unw_addr_space_t as UNUSED, unw_regnum_t reg UNUSED,
		    unw_fpreg_t *val UNUSED, int write UNUSED, void *arg UNUSED)
{
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as UNUSED, unw_cursor_t *c UNUSED,
		     void *arg UNUSED)
{
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as UNUSED, unw_word_t ip UNUSED,
		   char *buf UNUSED, size_t len UNUSED, unw_word_t *off UNUSED,
		   void *arg UNUSED)
{
	return -UNW_ENOINFO;
}

/* ---- symbols ------------------------------------------------------------- */

static void forget_images(struct stacks *st)
{
	for (size_t i = 0; i < st->nimages; i++) {
		free(st->images[i].path);
		symbols_free(st->images[i].symbols);
	}
	st->nimages = 0;
	st->bytes = 0;
}

static const struct symbols *symbols_of(struct stacks *st, const struct map *m)
{
	struct image *im;
	int fd;

	for (size_t i = 0; i < st->nimages; i++)
		if (st->images[i].file == m->file &&
		    strcmp(st->images[i].path, m->path) == 0)
			return st->images[i].symbols;
	if (st->nimages == IMAGES_MAX || st->bytes > SYMBOLS_BYTES)
		forget_images(st);
	im = &st->images[st->nimages++];
	*im = (struct image){xstrdup(m->path), m->file, NULL};
	fd = st->src->open(st->src->arg, m->path);
	if (fd < 0)
		return NULL;
	if (symbols_read(fd, &im->symbols))
		im->symbols = NULL;
	close(fd);
	if (im->symbols)
		st->bytes += symbols_size(im->symbols);
	return im->symbols;
}

/* "IMAGE!SYMBOL+0x1f", "IMAGE+0x1f2", "0x7f…", as JSON. With `at`, of the
 * address itself, without a symbol. */
static void put_address(struct stacks *st, uint64_t ip, bool plain,
			struct strbuf *out)
{
	const struct map *m = find_map(st, ip), *head = m ? head_of(st, m) : m;
	const struct symbols *sym = NULL;
	Elf64_Phdr ph[PHDRS_MAX];
	uint64_t bias = 0, offset = 0;
	const char *name = NULL;
	struct strbuf b;
	unsigned n;
	bool elf;

	strbuf_init(&b, PATH_LEN_MAX * 2);
	elf = head && read_phdrs(st, head, ph, &n, &bias) == 0;
	if (elf && !plain && head->path[0] == '/')
		sym = symbols_of(st, head);
	if (sym)
		name = symbols_find(sym, ip - bias, &offset);
	if (name)
		strbuf_printf(&b, "%s!%s+0x%llx", head->path, name,
			      (unsigned long long)offset);
	else if (elf)
		strbuf_printf(&b, "%s+0x%llx", head->path,
			      (unsigned long long)(ip - bias));
	else if (m && m->path[0])
		strbuf_printf(&b, "%s+0x%llx", m->path,
			      (unsigned long long)(ip - m->start + m->offset));
	else
		strbuf_printf(&b, "0x%llx", (unsigned long long)ip);
	strbuf_json_string(out, b.data, b.len);
	strbuf_fini(&b);
}

/* ---- a capture ----------------------------------------------------------- */

static void put_frames(struct stacks *st, struct strbuf *out)
{
	unw_cursor_t c;
	unw_word_t ip = 0, sp = 0, last = 0;

	if (st->lib.init(&c, st->as, st) < 0)
		return;
	for (unsigned n = 0; n < FRAMES_MAX; n++) {
		if (st->lib.get_reg(&c, UNW_REG_IP, &ip) < 0 || !ip ||
		    st->lib.get_reg(&c, UNW_REG_SP, &sp) < 0 ||
		    (n && sp <= last))
			break;
		last = sp;
		if (n)
			strbuf_putc(out, ',');
		/* a return address may lie behind its function's end */
		put_address(st,
			    n && st->lib.is_signal_frame(&c) <= 0 ? ip - 1 : ip,
			    false, out);
		st->step_words = 0;
		if (st->lib.step(&c) <= 0)
			break;
	}
}

static void put_insn(struct stacks *st, uint64_t at, struct strbuf *out)
{
	uint8_t code[SYSCALL_LEN];
	cs_insn *insn = NULL;
	size_t n;

	if (guest_read(st, at, code, sizeof(code)))
		return;
	strbuf_puts(out, ",\"insn\":{\"at\":");
	put_address(st, at, true, out);
	n = st->lib.cs_disasm(st->capstone, code, sizeof(code), at, 1, &insn);
	if (n) {
		strbuf_puts(out, ",\"text\":");
		strbuf_json_string(out, insn->mnemonic, strlen(insn->mnemonic));
		st->lib.cs_free(insn, n);
	}
	strbuf_putc(out, '}');
}

void stacks_capture(struct stacks *st, const struct stack_source *src,
		    const struct user_regs_struct *regs, struct strbuf *out)
{
	pthread_mutex_lock(&st->lock);
	st->src = src;
	st->regs = regs;
	st->reads = st->words = 0;
	st->reread = false;
	st->capture++;
	if (st->space != src->space || !st->nmaps) {
		st->reread = true;
		read_maps(st);
	}
	strbuf_puts(out, ",\"stack\":[");
	put_frames(st, out);
	strbuf_putc(out, ']');
	put_insn(st, regs->rip - SYSCALL_LEN, out);
	pthread_mutex_unlock(&st->lock);
}

int stacks_new(struct stacks **out)
{
	unw_accessors_t acc = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dyn_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = no_fpreg,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	struct stacks *st = xcalloc(1, sizeof(*st));
	int ret = unwindlib_load(&st->lib);

	if (!ret) {
		st->as = st->lib.create(&acc, 0);
		if (!st->as || st->lib.cs_open(CS_ARCH_X86, CS_MODE_64,
					       &st->capstone) != CS_ERR_OK)
			ret = -ENOMEM;
	}
	if (ret) {
		free(st);
		return ret;
	}
	pthread_mutex_init(&st->lock, NULL);
	strbuf_init(&st->text, MAPS_TEXT);
	*out = st;
	return 0;
}

void stacks_free(struct stacks *st)
{
	if (!st)
		return;
	st->lib.destroy(st->as);
	st->lib.cs_close(&st->capstone);
	forget_images(st);
	strbuf_fini(&st->text);
	pthread_mutex_destroy(&st->lock);
	free(st);
}
