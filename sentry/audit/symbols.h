/*
 * symbols.h - function names of an ELF file that a guest has mapped.
 *
 * .symtab where there is one, else .dynsym. The file is the guest's (hostile):
 * every offset, count and size is checked against bounds and the file's size.
 */
#ifndef CLOCHE_SYMBOLS_H
#define CLOCHE_SYMBOLS_H

#include "../base/base.h"

struct symbols;

/* Reads fd (stays the caller's). 0, or -ENOEXEC and the like. */
int MUST_CHECK symbols_read(int fd, struct symbols **out);
void symbols_free(struct symbols *s);
/* The function that holds vaddr, its name borrowed, and the offset in it; NULL
 * if none does. */
const char *symbols_find(const struct symbols *s, uint64_t vaddr,
			 uint64_t *offset);
/* Bytes of memory that it takes. */
size_t symbols_size(const struct symbols *s);

#endif
