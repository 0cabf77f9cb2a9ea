/*
 * heap.c - see heap.h.
 */
#include "heap.h"

#include <malloc.h>
#include <sys/mman.h>

#include "base/base.h"

enum { HEAP_KEPT = 1 << 20, HEAP_EARLY = 192 << 10, HEAP_PAGE = 4096 };

void heap_tune(void)
{
	/* Fixed, so that the end of a thread's heap is given back as well:
	 * malloc would raise them with each large block. */
	mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	/* A heap of a thread's own grows page by page, each by an mprotect. */
	mallopt(M_ARENA_MAX, 1);
}

void heap_fill(void)
{
	char *p = xmalloc(HEAP_EARLY);
	uintptr_t from =
		((uintptr_t)p + HEAP_PAGE - 1) & ~(uintptr_t)(HEAP_PAGE - 1);

	if (madvise((void *)from, HEAP_EARLY - HEAP_PAGE, MADV_POPULATE_WRITE) <
	    0)
		log_debug("heap: %s", strerror(errno)); /* before 5.14 */
	free(p);
}
