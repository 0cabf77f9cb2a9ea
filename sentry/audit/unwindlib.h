/*
 * unwindlib.h - libunwind and Capstone, loaded when stacks are asked for.
 *
 * Include it in place of their headers; the functions below are then pointers,
 * good after unwindlib_load.
 */
#ifndef CLOCHE_UNWINDLIB_H
#define CLOCHE_UNWINDLIB_H

#include <capstone/capstone.h>
#include <libunwind.h>

#include "../base/base.h"

/* Exported by libunwind-x86_64 and not declared by its header: finds an entry
 * of a table of format UNW_INFO_FORMAT_REMOTE_TABLE. */
typedef int (*unwind_search_fn)(unw_addr_space_t as, unw_word_t ip,
				unw_dyn_info_t *di, unw_proc_info_t *pi,
				int need_unwind_info, void *arg);

struct unwindlib {
	unw_addr_space_t (*create)(unw_accessors_t *a, int byte_order);
	void (*destroy)(unw_addr_space_t as);
	int (*init)(unw_cursor_t *c, unw_addr_space_t as, void *arg);
	int (*step)(unw_cursor_t *c);
	int (*get_reg)(unw_cursor_t *c, int reg, unw_word_t *val);
	int (*is_signal_frame)(unw_cursor_t *c);
	unwind_search_fn search;
	cs_err (*cs_open)(cs_arch arch, cs_mode mode, csh *handle);
	size_t (*cs_disasm)(csh handle, const uint8_t *code, size_t size,
			    uint64_t address, size_t count, cs_insn **insn);
	void (*cs_free)(cs_insn *insn, size_t count);
	cs_err (*cs_close)(csh *handle);
};

/* 0, or -ENOSYS after a message that names what is to be installed. */
int MUST_CHECK unwindlib_load(struct unwindlib *lib);

#endif
