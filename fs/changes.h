/*
 * changes.h - what the overlays changed against the host, as records.
 *
 * A *change source* gives the records and, for each, read-only descriptors of
 * the old content (the host's) and of the new content (the store's). The
 * sources: the VFS itself (changes_from_vfs), and a client of the control
 * socket, which receives records and descriptors and is not confined. What is
 * built on sources is the same for both: listing, patches (patch.h), tar
 * layers (export.h) and apply (apply.h). Nothing here writes to the host.
 *
 * Names, targets and xattrs of the new side are the guest's: hostile bytes.
 */
#ifndef CLOCHE_CHANGES_H
#define CLOCHE_CHANGES_H

#include "vfs.h"

#include "../sentry/base/strbuf.h"

/* What is told of a file to see later whether it is still the same. */
struct change_ident {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	uint64_t size;
	struct timespec mtime, ctime;
	uint64_t hash; /* of the contents (changes_hash); if hashed */
	bool hashed;
};

struct change_xattr {
	char *name;
	void *value;
	size_t size;
};

struct change_meta {
	mode_t mode; /* with its type; 0: there is no such side */
	uid_t uid;
	gid_t gid;
	dev_t rdev;
	uint64_t size;
	struct timespec atime, mtime;
	char *target;		     /* of a symlink */
	struct change_xattr *xattrs; /* new side only */
	size_t nxattrs;
};

enum change_base {
	CHANGE_NO_BASE, /* the host had nothing there */
	CHANGE_SEEN,	/* base is what it had when it was first looked at */
	CHANGE_UNSEEN,	/* the host has something by now: a conflict */
	CHANGE_STANDIN, /* what the guest saw there was made up: a conflict */
};

struct change {
	enum vfs_change_kind kind;
	char *path;  /* virtual, absolute: where it is now */
	char *lower; /* virtual: where the host has the old; NULL: nowhere */
	char *host;  /* host paths of the same two */
	char *lower_host;
	char *linked; /* A: host path of another, unchanged name of the file */
	struct change_meta old, new;
	bool content; /* data or link target differ */
	bool attr;    /* mode, owner or xattrs differ */
	bool inside;  /* follows from a deleted or renamed directory above */
	bool opaque;  /* a new directory hides the host's (CHANGES_OPAQUE) */
	enum change_base has_base;
	struct change_ident base; /* of lower */
	uint64_t group; /* records of one file have one number; 0: one name */
	char *by;	/* command line of the program that did it, or NULL */
	pid_t by_pid;	/* its virtual pid */
	size_t index;	/* in the list: what opens refer to */
	void *priv;	/* the source's */
};

struct change_list {
	/* Sorted by path, parents before children. What something was renamed
	 * onto has a VFS_DELETED record (inside) before that of the rename. */
	struct change *all;
	size_t count, cap;
};

/* Also tell what lies in a renamed directory, unchanged. */
#define CHANGES_IN_RENAMED 0x1u
/* Where a new directory stands in a lower one's place, list all that is in it
 * as added, instead of the difference. */
#define CHANGES_OPAQUE 0x2u

struct change_source {
	int (*load)(struct change_source *src, unsigned flags,
		    struct change_list *out);
	/* Read-only descriptors of regular files, owned by the caller. */
	int (*open_old)(struct change_source *src, const struct change *c,
			int *fd);
	int (*open_new)(struct change_source *src, const struct change *c,
			int *fd);
	/* Frees c->priv. May be NULL. */
	void (*forget)(struct change_source *src, struct change *c);
	void *arg;
};

/* The VFS as a source; the caller holds the state lock in every call. */
void changes_from_vfs(struct change_source *src, struct vfs *vfs);

int MUST_CHECK changes_load(struct change_source *src, unsigned flags,
			    struct change_list *out);
void changes_free(struct change_source *src, struct change_list *list);
/* Appends a zeroed record; borrowed until the next one. */
struct change *changes_add(struct change_list *list);
void changes_sort(struct change_list *list);
/* Drops records (freeing them) for which keep says no. */
void changes_filter(struct change_source *src, struct change_list *list,
		    bool (*keep)(const struct change *c, void *arg), void *arg);
/* The record of a path (not of what was replaced there), or NULL. */
struct change *changes_find(const struct change_list *list, const char *path);
/* Is path below dir (or dir itself)? */
bool changes_below(const char *path, const char *dir);

/* For another process: everything but priv. decode: -EBADMSG; the list then
 * is to be freed as well. */
void changes_encode(const struct change_list *list, struct strbuf *out);
int MUST_CHECK changes_decode(const char *data, size_t len,
			      struct change_list *out);

/* Are both descriptors of the same bytes? Reads by pread. */
bool changes_same_bytes(int a, int b);
/* XXH3 of all that the descriptor holds, the same in every process. */
int MUST_CHECK changes_hash(int fd, uint64_t *hash);
void changes_ident(struct change_ident *id, const struct stat *st);
bool changes_ident_equal(const struct change_ident *a,
			 const struct change_ident *b);

#endif
