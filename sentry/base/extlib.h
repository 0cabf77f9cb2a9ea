/*
 * extlib.h - libraries that few commands need, loaded when one does: linked,
 * they would cost every start some milliseconds.
 *
 * EXTLIB_FN(name) declares a pointer with the header's own type.
 */
#ifndef CLOCHE_EXTLIB_H
#define CLOCHE_EXTLIB_H

#include "base.h"

struct extlib_symbol {
	const char *name;
	void **at;
};

#define EXTLIB_FN(name) __typeof__(&name) name

/* Fills all pointers; -ENOSYS after a message that names the library. */
int MUST_CHECK extlib_load(const char *soname,
			   const struct extlib_symbol *symbols, size_t count);

#endif
