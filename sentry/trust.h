/*
 * trust.h - the run's own certificate authority in the files where programs
 * look for those they trust: Debian's bundle and folder, those of other
 * systems, Java's key store, and variables for programs that bring a bundle
 * of their own. Only in the guests' view; no change in the sense of the
 * overlay.
 *
 * LIMIT: programs that have their authorities compiled in, or in a store of
 * their own (browsers, a virtual environment's certifi without the
 * variables), do not know it.
 */
#ifndef CLOCHE_TRUST_H
#define CLOCHE_TRUST_H

#include "base/base.h"

struct config;
struct vfs;

#define TRUST_OWN_FILE "/run/cloche/ca.pem"

/* The host's bundle that servers are verified by, or NULL. */
const char *trust_host_bundle(void);
/* der: of the authority; hash: its name in OpenSSL's folders. 0 or -errno. */
int MUST_CHECK trust_mounts(const struct config *cfg, struct vfs *vfs,
			    const void *der, size_t len, uint32_t hash);
/* NAME=value, as many as *count; NAME is set only where it is not yet. */
const char *const *trust_variables(size_t *count);

#endif
