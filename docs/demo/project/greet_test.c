#include <stdio.h>
#include <string.h>

#include "greet.h"

int main(void)
{
	char out[16];

	if (greet(out, sizeof(out), "world") || strcmp(out, "hello, world"))
		return 1;
	if (greet(out, sizeof(out), "a name that is too long") != -1)
		return 1;
	puts("2 of 2 tests passed");
	return 0;
}
