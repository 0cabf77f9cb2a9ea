/*
 * handlers.h - declares the handler of every row of table.def: h_<call>.
 *
 * A handler runs with the state lock held, on the arguments that decode.c
 * copied, and returns what the guest's call returns, or a CALL_* code. execve
 * and execveat are the tracer's (class trace): their handlers answer a call
 * that reached the listener all the same.
 */
#ifndef CLOCHE_HANDLERS_H
#define CLOCHE_HANDLERS_H

#include "table.h"

#define NATIVE(nr, name, spec, intr, why)
#define JAILED(nr, name, spec, intr, err, why)
#define REFUSE(nr, name, spec, err, note)
#define ROW(nr, name, spec, jailed, bare, flags, intr, support, handler, note) \
	int64_t handler(struct call *c);
#include "table.def"

#endif
