/*
 * filterdata.h - the compiled seccomp programs, made by filtergen.c when
 * cloche is built: compiling them takes longer than all the rest of a start.
 */
#ifndef CLOCHE_FILTERDATA_H
#define CLOCHE_FILTERDATA_H

#include <linux/filter.h>

#include "base/base.h"

/* Borrowed constants. */
struct sock_fprog filterdata_guest(bool bare);
struct sock_fprog filterdata_datagrams(void); /* filter_build_datagrams */
struct sock_fprog filterdata_self(void);      /* the sentry's own */
struct sock_fprog filterdata_gateway(void);   /* filter_net.c */
struct sock_fprog filterdata_maker(void);

#endif
