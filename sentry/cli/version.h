/*
 * version.h - the one place that says which version this is.
 */
#ifndef CLOCHE_VERSION_H
#define CLOCHE_VERSION_H

#define CLOCHE_VERSION "0.1.0"

#endif
