#include <stdio.h>

#include "greet.h"

int greet(char *out, size_t size, const char *name)
{
	int n = snprintf(out, size, "hello, %s", name);

	return n < 0 || (size_t)n >= size ? -1 : 0;
}
