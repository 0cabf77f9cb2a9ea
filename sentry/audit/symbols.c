#include "symbols.h"

#include <elf.h>
#include <sys/stat.h>

enum {
	SECTIONS_MAX = 4096,
	TABLE_MAX = 32 << 20, /* bytes of a symbol or string table */
};

struct symbol {
	uint64_t value, size;
	uint32_t name; /* offset in the strings */
};

struct symbols {
	struct symbol *list; /* by value */
	size_t count;
	char *strings; /* ends in a NUL */
	size_t strings_len;
};

static int read_at(int fd, void *buf, size_t len, uint64_t at)
{
	if (at > INT64_MAX - len)
		return -ENOEXEC;
	return pread(fd, buf, len, (off_t)at) == (ssize_t)len ? 0 : -ENOEXEC;
}

static int read_sections(int fd, Elf64_Shdr **out, size_t *count)
{
	Elf64_Ehdr eh;
	Elf64_Shdr *sh;
	size_t size;

	if (read_at(fd, &eh, sizeof(eh), 0) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_shentsize != sizeof(*sh) || eh.e_shnum == 0 ||
	    eh.e_shnum > SECTIONS_MAX)
		return -ENOEXEC;
	size = (size_t)eh.e_shnum * sizeof(*sh);
	sh = malloc(size);
	if (!sh)
		return -ENOMEM;
	if (read_at(fd, sh, size, eh.e_shoff)) {
		free(sh);
		return -ENOEXEC;
	}
	*out = sh;
	*count = eh.e_shnum;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

/* Keeps the functions among them. */
static int take_functions(struct symbols *s, const Elf64_Sym *sym, size_t n)
{
	s->list = malloc((n ? n : 1) * sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		unsigned type = ELF64_ST_TYPE(sym[i].st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
		    sym[i].st_shndx == SHN_UNDEF || !sym[i].st_value ||
		    sym[i].st_name >= s->strings_len)
			continue;
		s->list[s->count++] = (struct symbol){
			sym[i].st_value, sym[i].st_size, sym[i].st_name};
	}
	qsort(s->list, s->count, sizeof(*s->list), by_value);
	return 0;
}

static int read_table(int fd, const Elf64_Shdr *sh, size_t count, size_t i,
		      struct symbols *s)
{
	const Elf64_Shdr *str;
	AUTO_FREE Elf64_Sym *sym = NULL;
	int ret;

	if (sh[i].sh_link >= count || sh[i].sh_entsize != sizeof(*sym))
		return -ENOEXEC;
	str = &sh[sh[i].sh_link];
	if (sh[i].sh_size > TABLE_MAX || str->sh_size > TABLE_MAX ||
	    !str->sh_size)
		return -ENOEXEC;
	sym = malloc(sh[i].sh_size + 1);
	s->strings = malloc(str->sh_size + 1);
	if (!sym || !s->strings)
		return -ENOMEM;
	ret = read_at(fd, sym, sh[i].sh_size, sh[i].sh_offset);
	if (!ret)
		ret = read_at(fd, s->strings, str->sh_size, str->sh_offset);
	if (ret)
		return ret;
	s->strings[str->sh_size] = '\0';
	s->strings_len = str->sh_size;
	return take_functions(s, sym, sh[i].sh_size / sizeof(*sym));
}

int symbols_read(int fd, struct symbols **out)
{
	AUTO_FREE Elf64_Shdr *sh = NULL;
	struct symbols *s;
	size_t count, at;
	int ret = read_sections(fd, &sh, &count);

	if (ret)
		return ret;
	at = count;
	for (size_t i = 0; i < count; i++)
		if (sh[i].sh_type == SHT_SYMTAB ||
		    (sh[i].sh_type == SHT_DYNSYM && at == count))
			at = i;
	if (at == count)
		return -ENOEXEC;
	s = xcalloc(1, sizeof(*s));
	ret = read_table(fd, sh, count, at, s);
	if (ret)
		symbols_free(s);
	else
		*out = s;
	return ret;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	free(s->list);
	free(s->strings);
	free(s);
}

size_t symbols_size(const struct symbols *s)
{
	return s->strings_len + s->count * sizeof(*s->list);
}

const char *symbols_find(const struct symbols *s, uint64_t vaddr,
			 uint64_t *offset)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->list[mid].value <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	*offset = vaddr - s->list[low - 1].value;
	/* beyond its end: a static function that the table lacks */
	if (s->list[low - 1].size && *offset >= s->list[low - 1].size)
		return NULL;
	return s->strings + s->list[low - 1].name;
}
