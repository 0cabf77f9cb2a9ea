/*
 * stack.h - the call stack of a stopped guest thread, and the instruction that
 * made its call, as JSON for a record.
 *
 * Unwinding is libunwind's with accessors of our own: its ptrace ones stop at
 * images that are mapped from injected descriptors. Unwind tables are read from
 * guest memory, symbols from the files that the guest has mapped.
 *
 * All of it is guest data (hostile): frames, reads of memory, sizes of tables
 * and names are bounded, nothing is executed, and a stack is a hint for a
 * person, never ground for a decision. Thread-safe: one capture at a time.
 */
#ifndef CLOCHE_STACK_H
#define CLOCHE_STACK_H

#include "../base/base.h"
#include "../base/strbuf.h"

struct user_regs_struct;
struct stacks;

/* How a capture reaches its guest. Callbacks may be called many times. */
struct stack_source {
	void *arg;
	/* Reads guest memory; 0 or -errno. */
	int (*read)(void *arg, gaddr_t addr, void *buf, size_t len);
	/* Appends the text of /proc/PID/maps with virtual paths; 0 or -errno.
	 */
	int (*maps)(void *arg, struct strbuf *out);
	/* Opens an image by its virtual path for reading; descriptor (the
	 * caller's) or -errno. */
	int (*open)(void *arg, const char *path);
	uint64_t space; /* the same for the same mappings as far as known */
};

/* Loads libunwind and Capstone. 0 or -errno after a message. */
int MUST_CHECK stacks_new(struct stacks **out);
void stacks_free(struct stacks *st);

/*
 * Appends  ,"stack":["IMAGE!SYMBOL+0x1f",...],"insn":{...}  for registers as
 * they are behind the syscall instruction. insn is {"at": "IMAGE+0x…",
 * "text": "syscall"}. What cannot be found is an address.
 */
void stacks_capture(struct stacks *st, const struct stack_source *src,
		    const struct user_regs_struct *regs, struct strbuf *out);

#endif
