/*
 * stubimage.h - the loader stub's ELF file as bytes in this program; launch
 * writes it to the one file that a guest can execute natively.
 */
#ifndef CLOCHE_STUBIMAGE_H
#define CLOCHE_STUBIMAGE_H

#include <stddef.h>

extern const unsigned char stub_image[];
extern const size_t stub_image_size;

#endif
