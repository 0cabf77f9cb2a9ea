/*
 * place.h - where kept sandboxes are found: one directory per user with one
 * socket per sandbox.
 *
 * $XDG_RUNTIME_DIR/cloche, else /run/user/UID/cloche, else /tmp/cloche-UID,
 * whichever is the first that belongs to the user. The directory is held by a
 * descriptor and must be the user's own and closed to others (0700): names in
 * it are used through that descriptor, so a long path or a swapped directory
 * do not matter. A socket that nobody listens on is left over from a sandbox
 * that was killed, and is removed by whoever meets it.
 *
 * Two who make a sandbox of one name at once are told apart by a lock on the
 * directory, held only while the socket is being bound.
 */
#ifndef CLOCHE_PLACE_H
#define CLOCHE_PLACE_H

#include "../base/base.h"

enum { PLACE_NAME_MAX = 64 };

/* [A-Za-z0-9][A-Za-z0-9_.-]{0,63} */
bool place_name_valid(const char *name);

/* The directory, made if missing: a descriptor, or -errno (-EPERM: it is not
 * ours or open to others). *path, if not NULL, is owned by the caller. */
int MUST_CHECK place_open(char **path);

/* A listening socket of that name. -EEXIST: a sandbox of that name runs. */
int MUST_CHECK place_claim(const char *name, int *listener);
/* Removes the name; by the sandbox that has claimed it. */
void place_release(const char *name);

/* A connection to the sandbox. -ENOENT: there is none (a leftover socket has
 * been removed); -EACCES: it is somebody else's. */
int MUST_CHECK place_connect(const char *name, int *fd);

/* Names of all sockets there, sorted, NULL-terminated; place_list_free. */
char **place_list(void);
void place_list_free(char **names);

#endif
