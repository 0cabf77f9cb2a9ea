/*
 * worktree.c - see worktree.h.
 */
#include "worktree.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* The first line of a small regular file, or NULL. Owned. */
static char *read_line(const char *path)
{
	AUTO_CLOSE int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char buf[PATH_LEN_MAX + 16];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return xstrdup(buf);
}

static char *resolve(const char *base, const char *path)
{
	AUTO_FREE char *joined =
		*path == '/' ? xstrdup(path) : xasprintf("%s/%s", base, path);

	return realpath(joined, NULL);
}

static bool has(const char *dir, const char *name, mode_t type)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

char *worktree_repository(const char *project)
{
	AUTO_FREE char *dotgit = xasprintf("%s/.git", project);
	AUTO_FREE char *line = read_line(dotgit);
	AUTO_FREE char *real_dotgit = realpath(dotgit, NULL);

	if (!line || !real_dotgit || strncmp(line, "gitdir: ", 8) != 0)
		return NULL;
	AUTO_FREE char *gitdir = resolve(project, line + 8);
	if (!gitdir)
		return NULL;
	AUTO_FREE char *back_file = xasprintf("%s/gitdir", gitdir);
	AUTO_FREE char *back_line = read_line(back_file);
	AUTO_FREE char *back = back_line ? resolve(gitdir, back_line) : NULL;
	char *slash = strrchr(gitdir, '/');

	if (!back || strcmp(back, real_dotgit) != 0 || !slash)
		return NULL;
	*slash = '\0';
	slash = strrchr(gitdir, '/');
	if (!slash || strcmp(slash, "/worktrees") != 0)
		return NULL;
	*slash = '\0';
	if (!has(gitdir, "HEAD", S_IFREG) || !has(gitdir, "objects", S_IFDIR) ||
	    !has(gitdir, "refs", S_IFDIR))
		return NULL;
	return xstrdup(gitdir);
}
