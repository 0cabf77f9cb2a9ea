/*
 * snapshot.h - the overlays of a vfs at one moment, as a list of bytes and the
 * layers (layer.h) that hold the data.
 *
 * The list has every node and entry that differs from the host, with names,
 * owners, modes, times, xattrs, whiteouts and origins. It is read into the
 * same vfs (restore) or into another one that shows the same host trees
 * (fork); the data is shared by all until one of them changes it. Mounts,
 * policy and what --rw changes on the host are no part of it.
 *
 * Bytes come from another process, which may have been taken over: the reader
 * checks every size and number.
 */
#ifndef CLOCHE_SNAPSHOT_H
#define CLOCHE_SNAPSHOT_H

#include "vfs.h"

struct ov_layer;

struct snapshot {
	struct vfs *vfs;
	char *data;
	size_t len;
	struct ov_layer **layers; /* counted */
	size_t nlayers;
	size_t names; /* entries */
};

/*
 * idle: no guest runs. Else the caller has stopped them: what is open is
 * copied. -ENOSPC, -ENFILE and so on change nothing.
 */
int MUST_CHECK snapshot_take(struct vfs *vfs, bool idle, struct snapshot **out);
void snapshot_free(struct snapshot *s);

/* The overlays go back. No guest runs. A failure changes nothing, but for
 * -EBADMSG. */
int MUST_CHECK snapshot_restore(struct vfs *vfs, const struct snapshot *s);

/* For another process: descriptors of the layers, owned by the caller. */
int MUST_CHECK snapshot_share(const struct snapshot *s, int *fds);
/* A new vfs takes over what another process shared; fds (taken) are in the
 * order of snapshot_share. -EBADMSG; -ESTALE: the host's trees are others. */
int MUST_CHECK snapshot_adopt(struct vfs *vfs, const void *data, size_t len,
			      int *fds, size_t nfds);

/* Layers' files that nothing needs any more go; after a fork has ended. */
void snapshot_sweep(struct vfs *vfs);
/* Space that layers of this store take is somebody else's as well? */
bool snapshot_is_shared(struct vfs *vfs);

#endif
