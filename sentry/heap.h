/*
 * heap.h - how the sentry's heap grows and shrinks.
 */
#ifndef CLOCHE_HEAP_H
#define CLOCHE_HEAP_H

/* Before there are threads. */
void heap_tune(void);
/* Takes what the start needs of it, at once; when the jail's child is forked.
 * A fault for each page costs more, and each page that is shared with the child
 * would be copied. */
void heap_fill(void);

#endif
