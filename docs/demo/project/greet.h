#ifndef GREET_H
#define GREET_H

#include <stddef.h>

/* Writes "hello, NAME" to out; 0, or -1 if it does not fit. */
int greet(char *out, size_t size, const char *name);

#endif
