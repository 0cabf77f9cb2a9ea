/*
 * overlay_base.c - what is remembered for those who ask for the changes: what
 * the host had when the guest first looked at it, and which program changed
 * a file last.
 *
 * A node keeps the identity of its own lower file; an entry that hides a lower
 * name keeps that of what it hides. A removed lower directory stays known to
 * its whiteout, with the identities of all that the guest removed in it.
 */
#include "overlay_priv.h"

enum {
	WRITERS_MAX = 65536,
	WRITER_TEXT_MAX = 1024,
	WRITERS_LOOKED_AT = 64,
};

struct vfs_writer {
	pid_t pid;
	char *cmdline;
};

void ov_base_seen(struct ov_node *n, const struct stat *st)
{
	/* While the guest has changed nothing it sees the host's latest. */
	if (!n->base.mode || !(n->meta || n->upper))
		changes_ident(&n->base, st);
}

void ov_base_copied(struct ov_node *n, const struct stat *st, int fd)
{
	changes_ident(&n->base, st);
	/* Larger ones are told by size and times alone. */
	n->base.hashed = st->st_size <= OV_INLINE_COPY &&
			 !changes_hash(fd, &n->base.hash);
}

void ov_base_hide(struct ov_entry *e, const struct ov_node *n,
		  const struct stat *st)
{
	struct change_ident id = {0};

	if (e->base)
		return; /* the lower was hidden before */
	if (n && n->has_lower && n->base.mode)
		id = n->base;
	else if (st)
		changes_ident(&id, st);
	else
		return;
	e->base = xmalloc(sizeof(*e->base));
	*e->base = id;
}

void ov_base_gone(struct ov_entry *e, struct ov_node *n)
{
	if (e->gone || !n->has_lower || !S_ISDIR(n->inode->type))
		return;
	inode_get(n->inode);
	e->gone = n;
}

void ov_base_again(struct ov_node *n, struct ov_entry *e, const struct stat *st)
{
	struct change_ident id;

	changes_ident(&id, st);
	if (n->has_lower)
		n->base = id;
	if (!e->base)
		e->base = xmalloc(sizeof(*e->base));
	*e->base = id;
}

void ov_base_free(struct ov_entry *e)
{
	free(e->base);
	if (e->gone)
		inode_put(e->gone->inode);
}

static uint32_t writer_of(struct vfs_ctx *ctx)
{
	if (!ctx->writer && ctx->ask_writer) {
		ctx->writer = ctx->ask_writer(ctx->ask_arg);
		ctx->ask_writer = NULL;
	}
	return ctx->writer;
}

void ov_wrote(struct vfs_ctx *ctx, struct ov_node *n)
{
	uint32_t writer = writer_of(ctx);

	if (writer)
		n->writer = writer;
}

void ov_wrote_name(struct vfs_ctx *ctx, struct ov_node *dir, const char *name)
{
	uint32_t writer = writer_of(ctx);
	struct ov_entry *e = writer ? ov_entry_find(dir, name) : NULL;

	if (e)
		e->writer = writer;
}

uint32_t vfs_writer(struct vfs *vfs, pid_t pid, const char *cmdline)
{
	struct vfs_writer *w;

	/* Programs come one after the other, and callers keep the number. */
	for (uint32_t i = vfs->nwriters;
	     i && vfs->nwriters - i < WRITERS_LOOKED_AT; i--)
		if (vfs->writers[i - 1].pid == pid &&
		    !strcmp(vfs->writers[i - 1].cmdline, cmdline))
			return i;
	if (vfs->nwriters == WRITERS_MAX)
		return 0;
	if (!(vfs->nwriters & (vfs->nwriters - 1))) { /* a power of two */
		size_t cap = vfs->nwriters ? 2 * (size_t)vfs->nwriters : 1;

		w = realloc(vfs->writers, cap * sizeof(*w));
		BUG_ON(!w);
		vfs->writers = w;
	}
	w = &vfs->writers[vfs->nwriters++];
	w->pid = pid;
	w->cmdline = strndup(cmdline, WRITER_TEXT_MAX);
	BUG_ON(!w->cmdline);
	return vfs->nwriters;
}

bool vfs_writer_get(struct vfs *vfs, uint32_t writer, pid_t *pid,
		    const char **cmdline)
{
	if (!writer || writer > vfs->nwriters)
		return false;
	*pid = vfs->writers[writer - 1].pid;
	*cmdline = vfs->writers[writer - 1].cmdline;
	return true;
}

void vfs_writers_free(struct vfs *vfs)
{
	for (uint32_t i = 0; i < vfs->nwriters; i++)
		free(vfs->writers[i].cmdline);
	free(vfs->writers);
}
