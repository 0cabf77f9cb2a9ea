/*
 * elf.h - reads the headers of an ELF64 x86-64 file as the kernel would.
 *
 * Rules are those of fs/binfmt_elf.c (Linux 6.18). What the kernel finds wrong
 * before its point of no return is an errno here; what it finds wrong later
 * (it then kills the process by SIGSEGV) sets `doomed`, and the stub dies the
 * same way. Never blocks beyond pread of a page of headers.
 *
 * LIMIT: more than PLAN_SEGMENTS PT_LOAD entries are ENOEXEC.
 * LIMIT: i386 and x32 programs are ENOEXEC.
 */
#ifndef CLOCHE_ELF_H
#define CLOCHE_ELF_H

#include "../sentry/base/base.h"
#include "filehead.h"
#include "plan.h"

struct elf_info {
	struct plan_image image; /* fd -1, base 0: for the caller to fill */
	struct plan_bounds bounds;
	uint64_t brk;		   /* end of the highest segment, vaddr */
	bool exec_stack;	   /* PT_GNU_STACK asks for PROT_EXEC */
	bool doomed;		   /* maps only as far as a SIGSEGV */
	char interp[PATH_LEN_MAX]; /* PT_INTERP path; "" if none */
};

/*
 * Reads a program. 0, -ENOEXEC, -EIO (the interpreter's name lies outside of
 * the file), or what pread gave.
 */
int MUST_CHECK elf_read_program(const struct file_head *h,
				struct elf_info *out);

/* Reads the file that PT_INTERP named: 0, -ELIBBAD, -EIO (too short). */
int MUST_CHECK elf_read_interp(const struct file_head *h, struct elf_info *out);

/*
 * Where the lowest page of a program goes: near 0x555555554000 for a PIE with
 * an interpreter, 0 (left to mmap) for every other ET_DYN and for ET_EXEC.
 * Without `randomize` (personality, sysctl) it is always the same.
 */
uint64_t elf_choose_base(const struct elf_info *info, bool randomize);

/* The start of the heap, as the kernel places it; *absolute says whether the
 * bias is still to be added. */
uint64_t elf_choose_brk(const struct elf_info *info, bool randomize,
			bool *absolute);

#endif
