#!/bin/bash
# host-side
# needs: gcc
# timeout: 100
# --stacks: libunwind reads tables that the guest wrote. They are programs, with
# loops: none holds the sentry or fills its memory.
. "$(dirname "$0")/lib.inc"

cat >t.c <<'END'
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (8 << 20)
static unsigned char *b;
static void put(size_t at, int v) { memcpy(b + at, &v, 4); }
static size_t bytes(size_t at, const char *s, size_t n)
{
	memcpy(b + at, s, n);
	return at + n;
}
/* An image made by hand: code at 0x800, its search table at 0x1000, how all
 * frames are described at 0x2000, and this one at 0x2100. */
int main(int argc, char **argv)
{
	static const char code[] =	/* openat(AT_FDCWD, "/nowhere", 0) */
		"\xb8\1\1\0\0\xbf\x9c\xff\xff\xff\x48\x8d\x35\x10\0\0\0"
		"\x31\xd2\x0f\5\xc3";
	static const char cie[] = "\1zR\0\1\x78\20\1\x1b\x0c\7\x08\x90\1";
	int fd = memfd_create("image", 0), kind = atoi(argv[1]);
	size_t n;

	if (argc != 2 || ftruncate(fd, SIZE))
		return 1;
	b = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd,
		 0);
	Elf64_Ehdr *e = (void *)b;
	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_phentsize = sizeof(Elf64_Phdr);
	e->e_phnum = 2;
	e->e_phoff = 64;
	Elf64_Phdr *p = (void *)(b + 64);
	p[0].p_type = PT_LOAD;
	p[1].p_type = PT_GNU_EH_FRAME;
	p[1].p_vaddr = 0x1000;
	bytes(0x800, code, sizeof(code) - 1);
	bytes(0x821, "/nowhere", 9);
	bytes(0x1000, "\1\x1b\3\x3b", 4);
	put(0x1004, 0x2000 - 0x1004);
	put(0x1008, kind == 5 ? -1 : 1);
	put(0x100c, 0x800 - 0x1000);
	put(0x1010, 0x2100 - 0x1000);
	bytes(0x2008, cie, sizeof(cie) - 1);
	put(0x2000, 0x1c);
	put(0x2104, 0x104);
	put(0x2108, 0x800 - 0x2108);
	put(0x210c, 0x100);
	n = 0x2111;
	if (kind == 0)	/* where the frame is: a jump to itself */
		n = bytes(n, "\x0f\3\x2f\xfd\xff", 5);
	if (kind == 1)	/* where the return address is */
		n = bytes(n, "\x10\x10\3\x2f\xfd\xff", 6);
	if (kind == 2)	/* what a register's value was: a conditional jump */
		n = bytes(n, "\x16\7\4\x31\x28\xfc\xff", 7);
	if (kind == 3)	/* the state is remembered, millions of times */
		memset(b + n, 0x0a, 4 << 20), n += 4 << 20;
	if (kind == 4)	/* nothing, millions of times */
		n += 4 << 20;
	n = (n + 7) & ~7ul;
	put(0x2100, n - 0x2104);
	for (int i = 0; i < 3; i++)
		((long (*)(void))(b + 0x800))();
	return puts("end") == EOF;
}
END
gcc -O1 -w -o t t.c || exit 77
runs() # KIND
{
	[ "$(timeout -s KILL 15 "$CLOCHE" run -q --audit a --stacks -- \
		./t "$1")" = end ] && grep -q '/nowhere.*"stack":\[' a
}
for kind in 0 1 2 3 4 5; do
	check "table-$kind" runs $kind
done
finish
