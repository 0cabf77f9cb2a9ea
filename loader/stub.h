/*
 * stub.h - what the two halves of the loader stub share; read by the
 * assembler too, so it holds numbers only.
 */
#ifndef CLOCHE_STUB_H
#define CLOCHE_STUB_H

#define STUB_SCRATCH 0x10000 /* the plan at its start, the stack at its end */

/* In the jail the stub is this file, and its name stands so many bytes before
 * its entry: a program's next exec takes it from there. */
#define STUB_PATH      "/s"
#define STUB_PATH_BACK 8

#endif
