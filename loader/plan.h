/*
 * plan.h - the ABI between the sentry and the loader stub that starts every
 * guest program. Included by both; freestanding: no libc headers.
 *
 * The kernel executes the stub (a static PIE) with the guest's own argv and
 * envp. The stub asks for its plan by
 *     openat(PLAN_DIRFD, buf, PLAN_FLAGS, PLAN_MODE, sizeof(struct plan))
 * which the filter notifies and which the sentry answers once per exec: it
 * injects the program (and the ELF interpreter) as descriptors, writes the
 * struct plan to buf, and returns -errno or the descriptor of the last image:
 * injecting is answering then, which saves a round. The stub maps the images,
 * rebuilds the stack where a script needs more arguments, sets brk, auxv and
 * argument bounds by PR_SET_MM_MAP, closes the descriptors and jumps.
 *
 * The stub is not trusted: the sentry validates everything here beforehand
 * and gives no access by it that the guest does not have.
 */
#ifndef CLOCHE_PLAN_H
#define CLOCHE_PLAN_H

#include <stdint.h>

#define PLAN_DIRFD    (-0x636c6f) /* "clo": no valid directory descriptor */
#define PLAN_FLAGS    0x20000000  /* an openat flags word nobody else uses */
#define PLAN_MODE     0x636c6f63
#define PLAN_VERSION  2
#define PLAN_ANSWERED (-2)  /* an fd: the one openat returned */
#define PLAN_SEGMENTS 16    /* PT_LOAD entries per image; more: ENOEXEC */
#define PLAN_STRINGS  16384 /* exec name and script arguments, NUL-separated */
#define PLAN_PREPEND  32    /* script arguments at most */
#define PLAN_AUX      8	    /* auxiliary values that the sentry overrides */

struct plan_segment {
	uint64_t vaddr;	 /* page-aligned, relative to the image's bias */
	uint64_t filesz; /* bytes mapped from the file, page-rounded up */
	uint64_t memsz;	 /* whole length, page-rounded up */
	uint64_t offset; /* page-aligned file offset */
	uint64_t zero_from, zero_len; /* bytes to clear after filesz (bss) */
	uint32_t prot;		      /* PROT_* */
	uint32_t pad;
};

struct plan_image {
	int32_t fd; /* in the guest; -1: no such image; PLAN_ANSWERED */
	uint32_t nsegments;
	uint64_t base;	/* ET_DYN: where `low` goes, 0: the kernel chooses;
			 * ET_EXEC: unused, addresses are absolute */
	uint64_t align; /* of base; a power of two, at least a page */
	uint64_t span;	/* from the lowest page to the end of the highest */
	uint64_t low;	/* lowest page's vaddr */
	uint64_t entry, phdr; /* vaddr, before the bias */
	uint32_t phnum;
	uint32_t fixed; /* 1: ET_EXEC, map at vaddr itself */
	struct plan_segment segment[PLAN_SEGMENTS];
};

/* Bounds of the program for /proc/PID/stat and brk: vaddrs before the bias. */
struct plan_bounds {
	uint64_t start_code, end_code, start_data, end_data;
};

struct plan_aux {
	uint64_t type, value; /* replaces the value of an entry that exists */
};

struct plan {
	uint32_t version;
	int32_t error; /* nonzero: print message, exit `error` (126/127) */
	struct plan_image program, interp;
	struct plan_bounds bounds;
	uint64_t brk_start;    /* 0: end of the program's image */
	uint32_t brk_absolute; /* 0: brk_start is a vaddr, before the bias */
	uint32_t doomed; /* the kernel would have killed it by SIGSEGV here */
	uint32_t naux;
	uint32_t pad;
	struct plan_aux aux[PLAN_AUX];
	uint64_t stack_prot; /* extra PROT_EXEC for the stack, or 0 */
	char comm[16];
	/* strings: exec name (AT_EXECFN), then nprepend script arguments that
	 * replace argv[0] (interpreter, optional argument, script path) */
	uint32_t nprepend;
	uint32_t strings_len;
	uint64_t personality; /* READ_IMPLIES_EXEC and the like, 0 */
	char message[256];    /* NUL-terminated; may be empty */
	/* Last: only the bytes in use are written to the guest. */
	char strings[PLAN_STRINGS];
};

/* Bytes of a plan that its reader looks at. */
#define PLAN_SIZE(p) \
	(__builtin_offsetof(struct plan, strings) + (p)->strings_len)

#endif
