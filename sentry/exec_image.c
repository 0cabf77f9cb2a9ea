/*
 * exec_image.c - opened programs and interpreters, and which of them are kept
 * for the next exec.
 *
 * Most execs are of a few files of the system: shells, compilers, the dynamic
 * loader. Such a file is looked up and judged anew each time; what is kept is
 * its open descriptor and what its headers say.
 *
 * Laws:
 * 1. A kept image serves only while the tree still leads to the very host file
 *    (vfs_open_exec_again) and fstat of the descriptor says that neither its
 *    content nor its inode has changed since before the headers were read.
 *    [guest/exec: replaced_programs_run_anew]
 * 2. Only files that had not changed for a while are kept: two changes within
 *    one tick of the host's clock look alike. Never the store's, nor those of
 *    trees that change: a shared mapping writes without a new time.
 * 3. Guests get the descriptor as their stub does: for reading, and closed
 *    before the program runs.
 *
 * The tracer's, but for exec_image_put; all under the state lock, but for the
 * reading of headers.
 */
#include <time.h>

#include "exec_priv.h"
#include "sentry.h"

enum { IMAGES_KEPT = 32, IMAGES_SHARE = 16, SETTLED_SECONDS = 2 };

struct exec_image *exec_image_new(int fd)
{
	struct exec_image *im = xmalloc(sizeof(*im));

	/* The rest is set when the headers are read. */
	list_init(&im->link);
	im->refs = 1;
	im->fd = fd;
	im->inode = NULL;
	return im;
}

void exec_image_put(struct exec_image *im)
{
	if (!im || --im->refs)
		return;
	close(im->fd);
	if (im->inode)
		inode_put(im->inode);
	free(im);
}

static void drop(struct sentry *s, struct exec_image *im)
{
	list_del(&im->link);
	s->images_kept--;
	exec_image_put(im);
}

void exec_images_forget(struct sentry *s)
{
	while (!list_empty(&s->images))
		drop(s, list_entry(s->images.next, struct exec_image, link));
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool unchanged(const struct exec_image *im, struct stat *st)
{
	const struct stat *was = &im->st;

	return fstat(im->fd, st) == 0 && st->st_nlink &&
	       st->st_mode == was->st_mode && st->st_size == was->st_size &&
	       same_time(&st->st_mtim, &was->st_mtim) &&
	       same_time(&st->st_ctim, &was->st_ctim);
}

static struct exec_image *kept(const struct sentry *s,
			       const struct inode *inode, bool interp)
{
	list_for_each (p, &s->images) {
		struct exec_image *im = list_entry(p, struct exec_image, link);

		if (im->inode == inode && im->is_interp == interp)
			return im;
	}
	return NULL;
}

int exec_image_find(struct sentry *s, struct vfs_ctx *ctx,
		    const struct vref *ref, bool interp,
		    struct exec_image **out)
{
	struct exec_image *im = kept(s, ref->inode, interp);
	struct stat st;
	int ret;

	if (!im)
		return 1;
	ret = unchanged(im, &st) ? vfs_open_exec_again(ctx, ref, im->fd, &st)
				 : 1;
	if (ret > 0)
		drop(s, im);
	if (ret)
		return ret;
	list_del(&im->link);
	list_add(&s->images, &im->link);
	im->refs++;
	*out = im;
	return 0;
}

static bool settled(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_ctim.tv_sec + SETTLED_SECONDS < now.tv_sec &&
	       st->st_mtim.tv_sec + SETTLED_SECONDS < now.tv_sec;
}

/* No more than a small part of the descriptors that the sentry may have. */
static unsigned images_most(const struct sentry *s)
{
	rlim_t share = s->cfg->nofile.rlim_max / IMAGES_SHARE;

	return share < IMAGES_KEPT ? (unsigned)share : IMAGES_KEPT;
}

void exec_image_keep(struct sentry *s, struct exec_image *im,
		     struct inode *inode)
{
	if (im->inode || im->info.doomed || !vfs_is_fixed(inode, &im->st) ||
	    !settled(&im->st))
		return;
	im->inode = inode_get(inode);
	im->refs++;
	list_add(&s->images, &im->link);
	if (++s->images_kept > images_most(s))
		drop(s, list_entry(s->images.prev, struct exec_image, link));
}

int exec_image_read(struct exec_image *im, bool interp, char *head)
{
	struct file_head h;
	int ret = file_head_read(&h, im->fd);

	if (ret)
		return ret;
	im->st = h.st;
	im->is_interp = interp;
	if (head && h.len > 2 && h.bytes[0] == '#' && h.bytes[1] == '!') {
		script_take_head(&h, head);
		return 1;
	}
	return interp ? elf_read_interp(&h, &im->info)
		      : elf_read_program(&h, &im->info);
}
