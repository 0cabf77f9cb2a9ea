/*
 * rseq.c - see rseq.h.
 */
#include "rseq.h"

#include <sys/syscall.h>

#include "base.h"

enum {
	RSEQ_LEAVE = 1, /* RSEQ_FLAG_UNREGISTER of linux/rseq.h */
	RSEQ_SIZE = 32, /* as the C library registers it */
};
#define RSEQ_MARK 0x53053053 /* RSEQ_SIG on x86 */

/* glibc 2.35 and later */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

void rseq_leave(void)
{
	char *self = __builtin_thread_pointer();

	if (&__rseq_offset && syscall(SYS_rseq, self + __rseq_offset, RSEQ_SIZE,
				      RSEQ_LEAVE, RSEQ_MARK) < 0)
		log_debug("rseq: %s", strerror(errno));
}
