/*
 * worktree.h - where the repository of a git worktree lies.
 */
#ifndef CLOCHE_WORKTREE_H
#define CLOCHE_WORKTREE_H

#include "../base/base.h"

/*
 * The common git directory of the linked worktree `project`, or NULL if it is
 * none. The project may be hostile: its .git file alone is believed nothing.
 * The directory that it names must be DIR/worktrees/NAME, point back at this
 * very .git file, and DIR must look like a repository. Owned by the caller.
 */
char *worktree_repository(const char *project);

#endif
