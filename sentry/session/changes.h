/*
 * changes.h - a kept sandbox's changes as a change source (fs/changes.h).
 */
#ifndef CLOCHE_SESSION_CHANGES_H
#define CLOCHE_SESSION_CHANGES_H

#include "../../fs/changes.h"

struct session_changes;

/* 0, or -errno after a message. */
int MUST_CHECK session_changes_open(const char *name,
				    struct session_changes **out);
void session_changes_close(struct session_changes *sc);
void session_changes_source(struct session_changes *sc,
			    struct change_source *src);
/* Has the sandbox record that changes are brought to root (paths: which, none:
 * all) before that is done. 0, or -errno after a message. */
int MUST_CHECK session_changes_announce(struct session_changes *sc,
					const char *root,
					const char *const *paths, size_t npaths,
					size_t changes);
/* Where it works, as it sees it and on the host (NULL: with a tree of its
 * own). Borrowed. */
const char *session_changes_workdir(const struct session_changes *sc);
const char *session_changes_project(const struct session_changes *sc);

#endif
