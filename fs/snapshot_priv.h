/*
 * snapshot_priv.h - the form of a snapshot's bytes, for who writes and who
 * reads it. Plain data of one version of the program: the head tells which.
 */
#ifndef CLOCHE_SNAPSHOT_PRIV_H
#define CLOCHE_SNAPSHOT_PRIV_H

#include "overlay_priv.h"
#include "snapshot.h"

#include "../sentry/base/strbuf.h"

#define SNAP_MAGIC 0x63736e70u /* a change of the form changes it */

enum {
	SNAP_BYTES_MAX = 1 << 30,
	SNAP_TARGET_MAX = PATH_LEN_MAX,
	SNAP_PATH_MAX = 1 << 20,
	SNAP_XATTR_NAME_MAX = 255,
	SNAP_XATTR_MAX = 64 << 10,
};

struct snap_head {
	uint32_t magic, node_size;
	uint32_t nlayers, nwriters, noverlays, pad;
};

struct snap_overlay {
	uint64_t next_ino, dev, ino;
	uint32_t has_lower, nhostdirs, nlayerdirs, nnodes, nentries, pad;
};

/* Number 0 is the overlay's root; a parent comes before its children. */
struct snap_hostdir {
	uint64_t dev, ino;
	struct timespec born;
	uint32_t parent, changes;
};

/* Number 0 ... nlayers - 1 are the layers' roots. */
struct snap_layerdir {
	uint64_t ino;
	uint32_t parent, pad;
};

enum {
	SNAP_HAS_LOWER = 1 << 0,
	SNAP_UPPER = 1 << 1,
	SNAP_META = 1 << 2,
	SNAP_PINNED = 1 << 3,
	SNAP_HASHED = 1 << 4,
	SNAP_SETID_ARMED = 1 << 5,
	SNAP_XATTR_OWN = 1 << 6,
	SNAP_OPAQUE = 1 << 7,
	SNAP_STANDIN = 1 << 8,
	SNAP_GONE = 1 << 9,
	SNAP_TARGET = 1 << 10,
	SNAP_SRC = 1 << 11,
	SNAP_LOADED = 1 << 12,
	SNAP_ORIGIN = 1 << 13,
	SNAP_NODE_BASE = 1 << 14,
	SNAP_SETGID_STRANGER = 1 << 15,
};

/* Numbers of nodes: 1 is the root; 0 none. A parent comes first. Then follow,
 * where flags or type say so: name, what the lower is and its name, the base,
 * target, source, xattrs, origin. */
struct snap_node {
	uint64_t ino, nlink, rdev;
	uint32_t flags, mode, uid, gid, writer, parent, lhost, nxattrs;
	struct timespec atime, mtime, ctime, ctime_mark, btime;
};

struct snap_lower {
	struct stat lst;
	struct timespec born;
};

struct snap_src {
	uint64_t ino;
	int64_t size, blocks;
	uint32_t dir, pad;
};

enum { SNAP_WROTE = 1, SNAP_ENTRY_STANDIN = 2, SNAP_BASE = 4 };

struct snap_entry {
	uint32_t dir, child, gone, writer, flags, pad;
}; /* with SNAP_BASE a change_ident follows; then the name */

/* snapshot_bytes.c: bytes that are still to be read. */
struct snap_in {
	const char *p, *end;
	bool bad;
};

void snap_take(struct snap_in *in, void *out, size_t len);
/* Borrowed. */
const char *snap_take_bytes(struct snap_in *in, size_t max, size_t *len);
/* Owned; without NUL in it. A name is a single component. */
char *snap_take_text(struct snap_in *in, size_t max);
char *snap_take_name(struct snap_in *in);
/* Are there bytes for count records of size? */
bool snap_fits(struct snap_in *in, uint32_t count, size_t size);

/* vfs_restore.c: every cached name goes, but for those that a mount needs;
 * and these are asked again once the overlays are new. */
void vfs_names_forget(struct vfs *vfs);
void vfs_names_again(struct vfs *vfs);

#endif
