/*
 * locks.c - POSIX record locks as ranges; see locks.h.
 *
 * Semantics are those of Linux fs/locks.c: an owner's ranges on a file are
 * disjoint; a new one replaces what it covers and joins neighbours of its
 * type. Nothing here reads guest memory; offsets were checked by the caller
 * (0 <= start <= end).
 */
#include "locks.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

/* As MAX_DEADLK_ITERATIONS in fs/locks.c: beyond it no circle is seen. */
#define DEADLOCK_STEPS 10

struct lockfile {
	struct hnode node;
	struct lockkey key;
	struct list locks;
};

struct locktable {
	struct htable files;
	struct list waits;
	size_t count;
	void (*hold)(void *inode);
	void (*drop)(void *inode);
	pthread_mutex_t wake_lock; /* leaf */
	pthread_cond_t wake;
	uint64_t generation; /* under wake_lock */
};

struct locktable *locktable_new(void (*hold)(void *), void (*drop)(void *))
{
	struct locktable *t = xcalloc(1, sizeof(*t));
	pthread_condattr_t attr;

	htable_init(&t->files);
	list_init(&t->waits);
	t->hold = hold;
	t->drop = drop;
	pthread_mutex_init(&t->wake_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	return t;
}

void locktable_free(struct locktable *t)
{
	BUG_ON(t->count);
	htable_fini(&t->files);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->wake_lock);
	free(t);
}

size_t locktable_count(const struct locktable *t)
{
	return t->count;
}

static uint64_t key_hash(const struct lockkey *k)
{
	if (k->inode)
		return hash_u64((uintptr_t)k->inode, 0);
	return hash_u64(k->dev, k->ino);
}

static bool key_equal(const struct lockkey *a, const struct lockkey *b)
{
	if (a->inode || b->inode)
		return a->inode == b->inode;
	return a->dev == b->dev && a->ino == b->ino;
}

static struct lockfile *file_find(struct locktable *t,
				  const struct lockkey *key)
{
	struct hnode *n = htable_first(&t->files, key_hash(key));

	for (; n; n = htable_next(n)) {
		struct lockfile *f = container_of(n, struct lockfile, node);

		if (key_equal(&f->key, key))
			return f;
	}
	return NULL;
}

static struct lockfile *file_make(struct locktable *t,
				  const struct lockkey *key)
{
	struct lockfile *f = file_find(t, key);

	if (f)
		return f;
	f = xcalloc(1, sizeof(*f));
	f->key = *key;
	list_init(&f->locks);
	htable_add(&t->files, &f->node, key_hash(key));
	if (key->inode && t->hold)
		t->hold(key->inode);
	return f;
}

static void file_put(struct locktable *t, struct lockfile *f)
{
	if (!list_empty(&f->locks))
		return;
	htable_del(&t->files, &f->node);
	if (f->key.inode && t->drop)
		t->drop(f->key.inode);
	free(f);
}

static void lock_del(struct locktable *t, struct plock *l)
{
	list_del(&l->in_file);
	list_del(&l->in_owner);
	t->count--;
	free(l);
}

static void lock_add(struct locktable *t, struct lockfile *f,
		     const struct lockreq *r, int64_t start, int64_t end,
		     short type)
{
	struct plock *l = xcalloc(1, sizeof(*l));

	l->file = f;
	l->owner = r->owner;
	l->start = start;
	l->end = end;
	l->type = type;
	l->seen_dev = r->seen_dev;
	l->seen_ino = r->seen_ino;
	l->seen_fds = r->seen_fds;
	list_add_tail(&f->locks, &l->in_file);
	list_add_tail(r->owner, &l->in_owner);
	t->count++;
}

struct plock *locktable_conflict(struct locktable *t, const struct lockreq *req)
{
	struct lockfile *f = file_find(t, &req->key);

	if (!f || req->type == F_UNLCK)
		return NULL;
	list_for_each (p, &f->locks) {
		struct plock *l = list_entry(p, struct plock, in_file);

		if (l->owner != req->owner && l->start <= req->end &&
		    l->end >= req->start &&
		    (l->type == F_WRLCK || req->type == F_WRLCK))
			return l;
	}
	return NULL;
}

struct plock *locktable_find(struct locktable *t, const struct lockkey *key,
			     const struct list *owner)
{
	struct lockfile *f = file_find(t, key);

	if (!f)
		return NULL;
	list_for_each (p, &f->locks) {
		struct plock *l = list_entry(p, struct plock, in_file);

		if (l->owner == owner)
			return l;
	}
	return NULL;
}

static bool touches(const struct plock *l, int64_t start, int64_t end)
{
	bool before = l->end < start && l->end + 1 < start;
	bool after = l->start > end && l->start - 1 > end;

	return !before && !after;
}

/* Cuts [start, end] out of an owner's lock of another type. */
static void lock_cut(struct locktable *t, struct plock *l,
		     const struct lockreq *r, int64_t start, int64_t end)
{
	struct lockreq rest = *r;

	rest.seen_dev = l->seen_dev;
	rest.seen_ino = l->seen_ino;
	rest.seen_fds = l->seen_fds;
	if (l->start < start && l->end > end)
		lock_add(t, l->file, &rest, end + 1, l->end, l->type);
	if (l->start < start)
		l->end = start - 1;
	else if (l->end > end)
		l->start = end + 1;
	else
		lock_del(t, l);
}

static void range_replace(struct locktable *t, struct lockfile *f,
			  const struct lockreq *r)
{
	int64_t start = r->start, end = r->end;

	list_for_each_safe (p, &f->locks) {
		struct plock *l = list_entry(p, struct plock, in_file);

		if (l->owner != r->owner)
			continue;
		if (l->type == r->type && touches(l, start, end)) {
			start = l->start < start ? l->start : start;
			end = l->end > end ? l->end : end;
			lock_del(t, l);
		} else if (l->start <= end && l->end >= start) {
			lock_cut(t, l, r, start, end);
		}
	}
	if (r->type != F_UNLCK)
		lock_add(t, f, r, start, end, r->type);
}

static void wake_all(struct locktable *t)
{
	pthread_mutex_lock(&t->wake_lock);
	t->generation++;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->wake_lock);
}

int locktable_set(struct locktable *t, const struct lockreq *req)
{
	struct lockfile *f;

	if (req->type == F_UNLCK && !file_find(t, &req->key))
		return 0;
	if (locktable_conflict(t, req))
		return -EAGAIN;
	if (t->count + 2 > LOCKS_MAX)
		return -ENOLCK;
	f = file_make(t, &req->key);
	range_replace(t, f, req);
	file_put(t, f);
	wake_all(t); /* an unlock, or a downgrade */
	return 0;
}

void locktable_drop(struct locktable *t, struct list *owner,
		    const struct lockfile *file)
{
	bool any = false;

	list_for_each_safe (p, owner) {
		struct plock *l = list_entry(p, struct plock, in_owner);
		struct lockfile *f = l->file;

		if (file && f != file)
			continue;
		lock_del(t, l);
		any = true;
		file_put(t, f);
	}
	if (any)
		wake_all(t);
}

/* Whom does this owner wait for? NULL: nobody. */
static const struct list *blocker_of(struct locktable *t,
				     const struct list *owner)
{
	list_for_each (p, &t->waits) {
		struct lockwait *w = list_entry(p, struct lockwait, link);

		if (w->owner == owner)
			return w->blocker;
	}
	return NULL;
}

int locktable_wait_begin(struct locktable *t, struct lockwait *w,
			 const struct list *owner, const struct list *blocker)
{
	const struct list *at = blocker;

	for (int i = 0; at && i < DEADLOCK_STEPS; i++) {
		if (at == owner)
			return -EDEADLK;
		at = blocker_of(t, at);
	}
	w->owner = owner;
	w->blocker = blocker;
	list_add_tail(&t->waits, &w->link);
	return 0;
}

void locktable_wait_end(struct lockwait *w)
{
	list_del(&w->link);
}

uint64_t locktable_generation(struct locktable *t)
{
	uint64_t g;

	pthread_mutex_lock(&t->wake_lock);
	g = t->generation;
	pthread_mutex_unlock(&t->wake_lock);
	return g;
}

void locktable_wait(struct locktable *t, uint64_t generation, unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&t->wake_lock);
	while (t->generation == generation)
		if (pthread_cond_timedwait(&t->wake, &t->wake_lock, &until))
			break;
	pthread_mutex_unlock(&t->wake_lock);
}
