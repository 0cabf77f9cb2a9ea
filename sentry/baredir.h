/*
 * baredir.h - the private host directory of a bare-mode sandbox: its stub and
 * its store.
 *
 * It is locked (flock(2)) as long as the sentry lives. What a killed sentry
 * left is removed by the next one of the same user.
 */
#ifndef CLOCHE_BAREDIR_H
#define CLOCHE_BAREDIR_H

#include "base/base.h"

/* Makes one where programs may be executed: its path (to be freed) and the
 * lock's descriptor. -ENOENT: nowhere. */
int MUST_CHECK baredir_make(char **path, int *lock);
/* Removes all of it, whatever modes its directories have. */
void baredir_remove(const char *path);
/* At the sentry's end: the same, unless a fork still needs what is in it. */
void baredir_end(const char *path, int lock);

/*
 * For a fork: if the layer (fs/layer.h) lies in a bare sandbox's directory,
 * that is kept as long as this process lives; layer_fd is borrowed.
 */
void baredir_hold(int layer_fd);
/* At the fork's end: what it held and nobody else does goes. */
void baredir_let_go(void);

#endif
