/*
 * filehead.h - the start of a file that is to be executed, read once: the
 * script line or the headers nearly always lie in it.
 */
#ifndef CLOCHE_FILEHEAD_H
#define CLOCHE_FILEHEAD_H

#include <sys/stat.h>

#include "../sentry/base/base.h"

enum { FILE_HEAD = 1024 };

struct file_head {
	int fd;		/* borrowed */
	struct stat st; /* before it was read */
	size_t len;	/* less than FILE_HEAD: the whole file */
	char bytes[FILE_HEAD];
};

/* 0 or the errno of fstat or pread. The file offset is not used. */
int MUST_CHECK file_head_read(struct file_head *h, int fd);

/* Bytes from anywhere in the file: 0, -EIO beyond its end, -EINVAL where no
 * file can reach, or pread's errno. */
int MUST_CHECK file_head_get(const struct file_head *h, void *buf, size_t len,
			     uint64_t offset);

#endif
