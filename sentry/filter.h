/*
 * filter.h - the seccomp program of a sandbox, built from the table of calls.
 */
#ifndef CLOCHE_FILTER_H
#define CLOCHE_FILTER_H

#include <linux/filter.h>

#include "base/base.h"

/*
 * Builds the program of one column: NOTIFY for all that no row allows, for
 * unknown numbers and for entry by x32 or i386. out->filter is allocated
 * (free it by filter_free). 0 or -errno, with a line in the log. To be loaded
 * by seccomp(2) with NEW_LISTENER; libseccomp does not load it.
 */
int MUST_CHECK filter_build(bool bare, struct sock_fprog *out);
/* The jailed column of a sandbox with rules about datagrams: sendmsg and
 * sendmmsg are notified, so that where they go is opened and recorded. */
int MUST_CHECK filter_build_datagrams(struct sock_fprog *out);
/* The sentry's own filter (confine.h). */
int MUST_CHECK filter_build_self(struct sock_fprog *out);
/* Those of the gateway and of its maker of sockets (filter_net.c). */
int MUST_CHECK filter_build_gateway(struct sock_fprog *out);
int MUST_CHECK filter_build_maker(struct sock_fprog *out);
void filter_free(struct sock_fprog *prog);

/* The program of a libseccomp context, allocated. 0 or -errno. */
int MUST_CHECK filter_export(void *ctx, struct sock_fprog *out);

#endif
