/*
 * store_watch.c - when does an object of the store end? See store.h.
 *
 * Unlinked objects are watched with inotify: the kernel queues IN_DELETE_SELF
 * when the last descriptor or mapping of one is gone. Watches are added by
 * "/proc/self/fd/DIR/NAME", because inotify has no call that takes a directory
 * descriptor.
 *
 * The instance of inotify is made when it is first needed: a user has few
 * (fs.inotify.max_user_instances). While none is to be had, or no watch, what
 * was to be watched is asked about each second, if it has a name in side/.
 * LIMIT: else (directories, stand-ins) what is known of it, some 200 bytes, is
 * kept until the sandbox ends.
 */
#include "../sentry/base/leave.h"
#include "store_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>

/* To be watched, but inotify is not to be had. */
struct store_unheard {
	struct list list;
	ino_t ino;
	char name[STORE_NAME_MAX]; /* in side/ */
};

#define WATCH_PROC_PATH "/proc/self/fd/%d/%s"

static void unheard_drop(struct store_unheard *u)
{
	list_del(&u->list);
	free(u);
}

static void store_watch_drop(struct store *s, struct store_watch *w)
{
	htable_del(&s->by_wd, &w->by_wd);
	htable_del(&s->by_ino, &w->by_ino);
	free(w);
}

void store_watches_free(struct store *s)
{
	while (!list_empty(&s->unheard))
		unheard_drop(list_entry(s->unheard.next, struct store_unheard,
					list));
	for (size_t i = 0; i <= s->by_wd.mask; i++)
		while (s->by_wd.buckets[i])
			store_watch_drop(s, container_of(s->by_wd.buckets[i],
							 struct store_watch,
							 by_wd));
	htable_fini(&s->by_wd);
	htable_fini(&s->by_ino);
	auto_close_fd(&s->timer);
	leave_fd(&s->inotify);
}

void store_leave(struct store *s)
{
	leave_fd(&s->inotify);
}

static struct store_watch *store_watch_find(struct store *s, int wd)
{
	struct hnode *n = htable_first(&s->by_wd, hash_u64((uint64_t)wd, 1));

	for (; n; n = htable_next(n)) {
		struct store_watch *w =
			container_of(n, struct store_watch, by_wd);

		if (w->wd == wd)
			return w;
	}
	return NULL;
}

struct store_watch *store_watch_of_ino(struct store *s, ino_t ino)
{
	struct hnode *n = htable_first(&s->by_ino, hash_u64(ino, 2));

	for (; n; n = htable_next(n)) {
		struct store_watch *w =
			container_of(n, struct store_watch, by_ino);

		if (w->ino == ino)
			return w;
	}
	return NULL;
}

static int poll_also(const struct store *s, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 ? -1 : epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Makes the instance; others of the user may have given theirs back. */
static bool store_listens(struct store *s)
{
	enum { PAUSE = 64 };

	if (s->inotify >= 0)
		return true;
	if (s->pause) {
		s->pause--;
		return false;
	}
	s->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (!poll_also(s, s->inotify))
		return true;
	if (!s->told)
		log_debug("no inotify for the store: %s", strerror(errno));
	s->told = true;
	s->pause = PAUSE;
	auto_close_fd(&s->inotify);
	s->inotify = -1;
	return false;
}

static struct store_unheard *unheard_find(struct store *s, ino_t ino)
{
	list_for_each (p, &s->unheard) {
		struct store_unheard *u =
			list_entry(p, struct store_unheard, list);

		if (u->ino == ino)
			return u;
	}
	return NULL;
}

static void unheard_tick(struct store *s, bool on)
{
	const struct itimerspec it = {{on, 0}, {on, 0}};

	if (s->timer < 0 && on) {
		s->timer = timerfd_create(CLOCK_MONOTONIC,
					  TFD_NONBLOCK | TFD_CLOEXEC);
		if (poll_also(s, s->timer) < 0)
			log_host(errno, "store: timer");
	}
	if (s->timer >= 0 && timerfd_settime(s->timer, 0, &it, NULL) < 0)
		log_host(errno, "store: timer");
}

static void unheard_add(struct store *s, const char *name, ino_t ino)
{
	struct store_unheard *u = unheard_find(s, ino);

	if (u)
		return;
	if (list_empty(&s->unheard))
		unheard_tick(s, true);
	u = xcalloc(1, sizeof(*u));
	u->ino = ino;
	snprintf(u->name, sizeof(u->name), "%s", name);
	list_add_tail(&s->unheard, &u->list);
}

int store_watch_mask(struct store *s, int dirfd, const char *name, bool closes)
{
	char path[NAME_LEN_MAX + sizeof(WATCH_PROC_PATH) + 16];
	uint32_t mask = IN_DELETE_SELF | IN_DONT_FOLLOW |
			(closes ? IN_CLOSE_WRITE | IN_CLOSE_NOWRITE : 0);

	snprintf(path, sizeof(path), WATCH_PROC_PATH, dirfd, name);
	return inotify_add_watch(s->inotify, path, mask);
}

int store_watch(struct store *s, int dirfd, const char *name, ino_t ino,
		bool closes)
{
	struct store_watch *w;
	int wd = -1;

	if (store_listens(s))
		wd = store_watch_mask(s, dirfd, name, closes);
	if (wd < 0 && (s->inotify < 0 || errno == ENOSPC)) {
		if (closes)
			unheard_add(s, name, ino);
		return 0;
	}
	if (wd < 0) {
		wd = -errno;
		log_host(wd, "store: inotify_add_watch");
		return wd == -ENOMEM ? -ENOMEM : -EIO;
	}
	w = store_watch_find(s, wd);
	if (w) {
		w->closes = closes;
		return 0;
	}
	w = xcalloc(1, sizeof(*w));
	w->wd = wd;
	w->ino = ino;
	w->closes = closes;
	htable_add(&s->by_wd, &w->by_wd, hash_u64((uint64_t)wd, 1));
	htable_add(&s->by_ino, &w->by_ino, hash_u64(ino, 2));
	return 0;
}

void store_unwatch(struct store *s, ino_t ino)
{
	struct store_watch *w = store_watch_of_ino(s, ino);
	struct store_unheard *u = unheard_find(s, ino);

	if (u)
		unheard_drop(u);
	if (!w)
		return;
	inotify_rm_watch(s->inotify, w->wd);
	store_watch_drop(s, w);
}

static void store_dispatch(struct store *s, const struct inotify_event *e)
{
	struct store_watch *w;
	ino_t ino;

	if (e->mask & IN_Q_OVERFLOW)
		log_warn("store: inotify queue overflowed; unlinked files "
			 "are freed later");
	w = store_watch_find(s, e->wd);
	if (!w)
		return;
	ino = w->ino;
	if (e->mask & (IN_DELETE_SELF | IN_IGNORED)) {
		store_watch_drop(s, w);
		if (s->fn)
			s->fn(s->arg, s->dev, ino, STORE_GONE);
	} else if (s->fn) {
		s->fn(s->arg, s->dev, ino, STORE_CLOSED);
	}
}

/* One that was closed meanwhile is freed; else it gets its watch at last. */
static void unheard_ask(struct store *s, struct store_unheard *u)
{
	const struct store_unheard was = *u;
	enum store_event what = STORE_CLOSED;
	struct stat st;

	unheard_drop(u);
	if (fstatat(s->side, was.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_ino != was.ino)
		what = STORE_GONE;
	else if (store_watch(s, s->side, was.name, was.ino, true) < 0)
		log_warn("store: %s is kept", was.name);
	if (s->fn)
		s->fn(s->arg, s->dev, was.ino, what);
}

/* Each once: what is still unheard is asked about again at the next tick. */
static void unheard_poll(struct store *s)
{
	uint64_t ticks;
	size_t n = 0;

	if (s->timer < 0 || read(s->timer, &ticks, sizeof(ticks)) < 0)
		return;
	s->pause = 0;
	list_for_each (p, &s->unheard)
		n++;
	while (n-- && !list_empty(&s->unheard))
		unheard_ask(s, list_entry(s->unheard.next, struct store_unheard,
					  list));
	if (list_empty(&s->unheard))
		unheard_tick(s, false);
}

void store_poll(struct store *s)
{
	char buf[4096]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	unheard_poll(s);
	while (s->inotify >= 0 &&
	       (n = read(s->inotify, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n;) {
			struct inotify_event *e = (struct inotify_event *)p;

			store_dispatch(s, e);
			p += sizeof(*e) + e->len;
		}
	}
}
