/*
 * base.c - messages, traps and allocation; see base.h.
 */
#include "base.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void log_line(const char *prefix, int err, const char *fmt, va_list ap)
{
	char buf[1024];
	int n = snprintf(buf, sizeof(buf), "cloche: %s", prefix);

	vsnprintf(buf + n, sizeof(buf) - (size_t)n, fmt, ap);
	if (err)
		fprintf(stderr, "%s: %s\n", buf, strerror(err));
	else
		fprintf(stderr, "%s\n", buf);
}

void bug_fatal(const char *cond, const char *file, int line)
{
	fprintf(stderr, "cloche: bug: %s at %s:%d; the sandbox is stopped\n",
		cond, file, line);
	abort();
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("", 0, fmt, ap);
	va_end(ap);
	exit(125);
}

#define LOG_FUNCTION(name, prefix)            \
	void name(const char *fmt, ...)       \
	{                                     \
		va_list ap;                   \
                                              \
		va_start(ap, fmt);            \
		log_line(prefix, 0, fmt, ap); \
		va_end(ap);                   \
	}

LOG_FUNCTION(log_warn, "warning: ")
LOG_FUNCTION(log_info, "")

void log_debug(const char *fmt, ...)
{
	va_list ap;

	if (!getenv("CLOCHE_DEBUG"))
		return;
	va_start(ap, fmt);
	log_line("debug: ", 0, fmt, ap);
	va_end(ap);
}

void log_host(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("host: ", err < 0 ? -err : err, fmt, ap);
	va_end(ap);
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	BUG_ON(!p);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	BUG_ON(!p);
	return p;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	BUG_ON(!p);
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&p, fmt, ap) < 0)
		p = NULL;
	va_end(ap);
	BUG_ON(!p);
	return p;
}

void auto_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void auto_free_ptr(void *p)
{
	free(*(void **)p);
}

ssize_t base_read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}
