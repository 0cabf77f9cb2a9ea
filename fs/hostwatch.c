/*
 * hostwatch.c - see hostwatch.h.
 *
 * Watch numbers are given out in turn, so a late event of a watch that was
 * dropped finds nobody. Mounts give no event in the directory that they cover,
 * hence the descriptor of mountinfo, which wakes us at each change.
 */
#include "hostwatch.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "../sentry/base/hash.h"
#include "../sentry/base/leave.h"

enum {
	WATCH_MAX = 16384,
	WATCH_SHARE = 4,     /* of the user's limit */
	WATCH_UNKNOWN = 512, /* where the limit cannot be read */
	WATCH_PAUSE = 4096,  /* attempts left out when the kernel has none */
	WATCH_BUF = 16384,
	EVENT_MAX = sizeof(struct inotify_event) + NAME_LEN_MAX + 1,
};

#define DIR_EVENTS                                                         \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
#define FILE_EVENTS \
	(IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

struct watched {
	struct hnode node; /* hostwatch.table */
	struct list age;   /* hostwatch.age, oldest first */
	struct list marks;
	int wd;
	bool used; /* since it was last looked at for going */
};

struct hostwatch {
	hostwatch_fn fn;
	int inotify, mounts, epoll;
	struct htable table;
	struct list age;
	size_t count, limit;
	unsigned pause;
	dev_t dev; /* of the last file system asked about */
	bool dev_known, dev_tells, dev_folds;
	char buf[WATCH_BUF]
		__attribute__((aligned(__alignof__(struct inotify_event))));
};

static uint64_t wd_hash(int wd)
{
	return hash_u64((uint64_t)wd, 0x7764);
}

static struct watched *watch_find(const struct hostwatch *hw, int wd)
{
	struct hnode *n = htable_first(&hw->table, wd_hash(wd));

	for (; n; n = htable_next(n)) {
		struct watched *w = container_of(n, struct watched, node);

		if (w->wd == wd)
			return w;
	}
	return NULL;
}

static size_t share_of_limit(void)
{
	AUTO_CLOSE int fd = open("/proc/sys/fs/inotify/max_user_watches",
				 O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t limit;

	if (n <= 0)
		return WATCH_UNKNOWN;
	text[n] = '\0';
	limit = strtoul(text, NULL, 10) / WATCH_SHARE;
	return limit < WATCH_MAX ? limit : WATCH_MAX;
}

struct hostwatch *hostwatch_new(hostwatch_fn fn, size_t limit)
{
	struct hostwatch *hw = xcalloc(1, sizeof(*hw));

	hw->fn = fn;
	hw->limit = limit;
	hw->inotify = hw->mounts = hw->epoll = -1;
	list_init(&hw->age);
	htable_init(&hw->table);
	return hw;
}

static int epoll_add(const struct hostwatch *hw, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	return epoll_ctl(hw->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int hostwatch_open(struct hostwatch *hw)
{
	if (hw->epoll >= 0)
		return 0;
	if (hw->limit == SIZE_MAX)
		return -ENOSYS;
	if (hw->pause) {
		hw->pause--;
		return -ENOSPC;
	}
	hw->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	hw->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	hw->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (hw->inotify >= 0 && hw->mounts >= 0 && hw->epoll >= 0 &&
	    !epoll_add(hw, hw->inotify, EPOLLIN) &&
	    !epoll_add(hw, hw->mounts, EPOLLPRI)) {
		if (!hw->limit)
			hw->limit = share_of_limit();
		return 0;
	}
	log_debug("no inotify for the host's files: %s", strerror(errno));
	auto_close_fd(&hw->inotify);
	auto_close_fd(&hw->mounts);
	auto_close_fd(&hw->epoll);
	hw->inotify = hw->mounts = hw->epoll = -1;
	hw->pause = WATCH_PAUSE; /* till others have given theirs back */
	return -ENOSPC;
}

/* ---- marks ------------------------------------------------------------- */

void hostmark_init(struct hostmark *m, void *owner, bool file)
{
	list_init(&m->same);
	m->watch = NULL;
	m->owner = owner;
	m->file = file;
}

size_t hostwatch_count(const struct hostwatch *hw)
{
	return hw->count;
}

void hostmark_used(struct hostmark *m)
{
	m->watch->used = true;
}

static void watch_free(struct hostwatch *hw, struct watched *w)
{
	while (!list_empty(&w->marks)) {
		struct hostmark *m =
			list_entry(w->marks.next, struct hostmark, same);

		list_del(&m->same);
		m->watch = NULL;
	}
	htable_del(&hw->table, &w->node);
	list_del(&w->age);
	hw->count--;
	free(w);
}

static void watch_drop(struct hostwatch *hw, struct watched *w)
{
	inotify_rm_watch(hw->inotify, w->wd);
	watch_free(hw, w);
}

void hostwatch_drop(struct hostwatch *hw, struct hostmark *m)
{
	struct watched *w = m->watch;

	if (!w)
		return;
	list_del(&m->same);
	list_init(&m->same);
	m->watch = NULL;
	if (list_empty(&w->marks))
		watch_drop(hw, w);
}

void hostwatch_free(struct hostwatch *hw)
{
	if (!hw)
		return;
	while (!list_empty(&hw->age))
		watch_free(hw, list_entry(hw->age.next, struct watched, age));
	htable_fini(&hw->table);
	auto_close_fd(&hw->epoll);
	auto_close_fd(&hw->mounts);
	leave_fd(&hw->inotify);
	free(hw);
}

/* The oldest that was not used lately. */
static void watch_evict(struct hostwatch *hw)
{
	for (;;) {
		struct watched *w =
			list_entry(hw->age.next, struct watched, age);

		if (!w->used) {
			watch_drop(hw, w);
			return;
		}
		w->used = false;
		list_del(&w->age);
		list_add_tail(&hw->age, &w->age);
	}
}

/* ---- which file systems tell --------------------------------------------- */

/* Those of this machine alone. Others may change without a word to us: on a
 * server (NFS, 9p, FUSE), in another layer (overlayfs), by going back to a
 * former state as a whole. */
static bool fs_tells(unsigned long magic, bool *folds)
{
	*folds = false;
	switch (magic) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		*folds = true;
		return true;
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case RAMFS_MAGIC:
		return true;
	}
	return false;
}

static int fs_ask(struct hostwatch *hw, int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!hw->dev_known || st.st_dev != hw->dev) {
		if (fstatfs(fd, &fs) < 0)
			return -errno;
		hw->dev_tells =
			fs_tells((unsigned long)fs.f_type, &hw->dev_folds);
		hw->dev = st.st_dev;
		hw->dev_known = true;
	}
	return hw->dev_tells ? 0 : -EOPNOTSUPP;
}

/* In a directory that takes "A" for "a" events bear another name than what was
 * looked up. An empty directory can become one: that is told by IN_ATTRIB. */
static int dir_compares_bytes(int fd)
{
	AUTO_CLOSE int dir =
		openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;

	if (dir < 0)
		return -errno;
	if (ioctl(dir, FS_IOC_GETFLAGS, &flags) < 0)
		return errno == ENOTTY || errno == EOPNOTSUPP ? 0 : -errno;
	return flags & FS_CASEFOLD_FL ? -EOPNOTSUPP : 0;
}

static int watch_allowed(struct hostwatch *hw, const struct hostmark *m, int fd)
{
	int ret = hostwatch_open(hw);

	if (ret < 0)
		return ret;
	if (hw->pause) {
		hw->pause--;
		return -ENOSPC;
	}
	ret = fs_ask(hw, fd);
	return ret || m->file || !hw->dev_folds ? ret : dir_compares_bytes(fd);
}

static int watch_add(struct hostwatch *hw, bool file, int fd)
{
	char path[64];
	int wd;

	snprintf(path, sizeof(path),
		 file ? "/proc/self/fd/%d" : "/proc/self/fd/%d/.", fd);
	if (!hw->limit)
		return -ENOSPC;
	if (hw->count >= hw->limit)
		watch_evict(hw);
	wd = inotify_add_watch(hw->inotify, path,
			       file ? FILE_EVENTS : DIR_EVENTS);
	if (wd >= 0)
		return wd;
	/* The user's other programs have them all. */
	if (errno == ENOSPC)
		hw->pause = WATCH_PAUSE;
	return -errno;
}

int hostwatch_set(struct hostwatch *hw, struct hostmark *m, int fd)
{
	struct watched *w;
	int wd, ret;

	BUG_ON(m->watch);
	ret = watch_allowed(hw, m, fd);
	if (ret < 0)
		return ret;
	wd = watch_add(hw, m->file, fd);
	if (wd < 0)
		return wd;
	w = watch_find(hw, wd);
	if (!w) {
		w = xcalloc(1, sizeof(*w));
		w->wd = wd;
		list_init(&w->marks);
		list_add_tail(&hw->age, &w->age);
		htable_add(&hw->table, &w->node, wd_hash(wd));
		hw->count++;
	}
	w->used = true;
	m->watch = w;
	list_add_tail(&w->marks, &m->same);
	return 0;
}

/* ---- events -------------------------------------------------------------- */

static void tell(struct hostwatch *hw, struct watched *w, enum hostnews news,
		 const char *name)
{
	list_for_each (p, &w->marks)
		hw->fn(list_entry(p, struct hostmark, same), news, name);
}

static void tell_all(struct hostwatch *hw)
{
	list_for_each (p, &hw->age)
		tell(hw, list_entry(p, struct watched, age), HOST_ALL, NULL);
}

static void take_event(struct hostwatch *hw, const struct inotify_event *e)
{
	struct watched *w;

	if (e->mask & IN_Q_OVERFLOW) {
		tell_all(hw);
		return;
	}
	w = watch_find(hw, e->wd);
	if (!w)
		return;
	if (e->len) {
		tell(hw, w, HOST_NAME, e->name);
		return;
	}
	tell(hw, w, HOST_SELF, NULL);
	if (e->mask & IN_IGNORED)
		watch_free(hw, w); /* the kernel has dropped it */
	else if ((e->mask & IN_ATTRIB) && (e->mask & IN_ISDIR))
		watch_drop(hw, w); /* how names compare may have changed */
}

static void take_events(struct hostwatch *hw)
{
	ssize_t n;

	do {
		n = read(hw->inotify, hw->buf, sizeof(hw->buf));
		if (n < 0 && errno != EAGAIN) {
			log_host(errno, "inotify");
			tell_all(hw);
		}
		for (char *p = hw->buf; p < hw->buf + n;) {
			struct inotify_event *e = (struct inotify_event *)p;

			take_event(hw, e);
			p += sizeof(*e) + e->len;
		}
		/* With room for one more, the queue was empty. */
	} while (n > (ssize_t)sizeof(hw->buf) - (ssize_t)EVENT_MAX);
}

void hostwatch_take(struct hostwatch *hw)
{
	struct epoll_event ready[2];
	int n;

	if (hw->epoll < 0)
		return;
	n = epoll_wait(hw->epoll, ready, ARRAY_SIZE(ready), 0);
	if (n < 0)
		tell_all(hw);
	for (int i = 0; i < n; i++) {
		if (ready[i].data.fd == hw->inotify)
			take_events(hw);
		else
			tell_all(hw);
	}
}
