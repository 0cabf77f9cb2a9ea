/*
 * apply_commit.c - the steps from the old tree to the new one and back, and
 * recovery; see apply_priv.h for the laws.
 *
 * Whether a step was done is seen from its slot in the stage directory:
 *   OUT   done when the slot exists
 *   PUT   done when the slot is gone (all OUT steps were done before)
 *   SWAP  done when the slot holds another object than the one to be put
 *   META  may be done again
 */
#include "apply_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>

void apply_tick(struct apply_work *w, const char *path)
{
	if (w->step)
		w->step(w->arg, w->done, w->total, path);
	w->done++;
}

static int stage_fd(struct apply_work *w, unsigned i)
{
	struct apply_stage *s = &w->stages[i];
	AUTO_FREE char *path = NULL;

	if (s->fd >= 0)
		return s->fd;
	path = xasprintf("%s/%s", s->dir, s->name);
	s->fd = apply_host_open(w->root, path, O_RDONLY | O_DIRECTORY);
	return s->fd;
}

static int move(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;

	if (!renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without the flag. */
	if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(from_dir, from, to_dir, to) < 0 ? -errno : 0;
}

/* 1: the slot exists (st filled), 0: no, or -errno. */
static int slot_stat(int stage, const char *slot, struct stat *st)
{
	if (fstatat(stage, slot, st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

struct place {
	int stage;
	const char *name;
	int slot; /* as slot_stat */
	struct stat st;
};

static int step_place(struct apply_work *w, const struct apply_step *s,
		      struct place *p)
{
	p->stage = stage_fd(w, s->stage);
	if (p->stage < 0)
		return p->stage;
	p->slot = slot_stat(p->stage, s->slot, &p->st);
	return p->slot < 0 ? p->slot : 0;
}

/* OUT forward and PUT back; OUT back and PUT forward. */
static int step_in_slot(struct apply_work *w, const struct apply_step *s,
			bool in)
{
	AUTO_CLOSE int dir = -1;
	struct place p;
	int ret = step_place(w, s, &p);

	if (ret < 0 || p.slot == (int)in)
		return ret;
	dir = apply_host_parent(w->root, s->path, &p.name);
	if (dir < 0)
		return dir;
	return in ? move(dir, p.name, p.stage, s->slot)
		  : move(p.stage, s->slot, dir, p.name);
}

/* Without RENAME_EXCHANGE: by a second slot, in two moves. */
static int swap_slowly(const struct apply_step *s, const struct place *p,
		       int dir, bool put)
{
	AUTO_FREE char *aside = xasprintf("%s.x", s->slot);
	struct stat st;
	int has = slot_stat(p->stage, aside, &st), ret = 0;

	if (has < 0)
		return has;
	if (put) {
		if (!has)
			ret = move(dir, p->name, p->stage, aside);
		return ret ? ret : move(p->stage, s->slot, dir, p->name);
	}
	if (!has)
		return 0;
	if (!p->slot)
		ret = move(dir, p->name, p->stage, s->slot);
	return ret ? ret : move(p->stage, aside, dir, p->name);
}

static int step_swap(struct apply_work *w, const struct apply_step *s, bool put)
{
	AUTO_FREE char *aside = xasprintf("%s.x", s->slot);
	AUTO_CLOSE int dir = -1;
	struct place p;
	struct stat st;
	bool is_put, half;
	int ret = step_place(w, s, &p);

	if (ret < 0)
		return ret;
	is_put = !p.slot || p.st.st_ino != s->ino;
	half = slot_stat(p.stage, aside, &st) > 0;
	if (put ? is_put : !is_put && !half)
		return 0;
	dir = apply_host_parent(w->root, s->path, &p.name);
	if (dir < 0)
		return dir;
	if (half)
		return swap_slowly(s, &p, dir, put);
	if (!renameat2(p.stage, s->slot, dir, p.name, RENAME_EXCHANGE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return swap_slowly(s, &p, dir, put);
}

static int step_meta(struct apply_work *w, const struct apply_step *s, bool new)
{
	AUTO_CLOSE int fd =
		apply_host_open(w->root, s->path, O_PATH | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return new ? fd : 0; /* going back: it had not been put */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != s->ino)
		return new ? -ESTALE : 0;
	return apply_attr_set_fd(fd, st.st_mode, new ? &s->new : &s->old);
}

static int step_run(struct apply_work *w, const struct apply_step *s,
		    bool forward)
{
	apply_tick(w, s->path);
	switch (s->kind) {
	case APPLY_OUT:
		return step_in_slot(w, s, forward);
	case APPLY_PUT:
		return step_in_slot(w, s, !forward);
	case APPLY_SWAP:
		return step_swap(w, s, forward);
	case APPLY_META:
		return step_meta(w, s, forward);
	}
	return -EINVAL;
}

/* ---- phases ---------------------------------------------------------- */

static bool same_parent(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
	size_t n = x ? (size_t)(x - a) : 0, m = y ? (size_t)(y - b) : 0;

	return n == m && !x == !y && strncmp(a, b, n) == 0;
}

static int sync_stages(struct apply_work *w)
{
	for (unsigned i = 0; i < w->nstages; i++) {
		int fd = stage_fd(w, i);

		if (fd < 0)
			return fd;
		if (fsync(fd) < 0 && errno != EINVAL)
			return -errno;
	}
	return 0;
}

/* Runs the steps of [from, to) of the phase; syncs what they changed. */
static int run_steps(struct apply_work *w, bool out, bool forward,
		     const char **path)
{
	const char *last = NULL;
	int ret = 0;

	for (size_t k = 0; k < w->nsteps; k++) {
		const struct apply_step *s =
			&w->steps[forward ? k : w->nsteps - 1 - k];

		if ((s->kind == APPLY_OUT) != out)
			continue;
		ret = step_run(w, s, forward);
		if (ret < 0) {
			*path = s->path;
			return ret;
		}
	}
	for (size_t k = 0; k < w->nsteps; k++) {
		const struct apply_step *s = &w->steps[k];

		if ((s->kind == APPLY_OUT) != out || s->kind == APPLY_META ||
		    (last && same_parent(last, s->path)))
			continue;
		/* One whose parent moved on is synced with that. */
		ret = apply_host_sync_parent(w->root, s->path);
		if (ret < 0 && ret != -ENOENT && ret != -ENOTDIR)
			return ret;
		last = s->path;
	}
	return sync_stages(w);
}

static int next_phase(struct apply_work *w, enum apply_phase phase)
{
	apply_tick(w, NULL);
	return apply_journal_phase(w, phase);
}

int apply_forward(struct apply_work *w, const char **path)
{
	int ret = 0;

	if (w->phase == PHASE_COMMIT) {
		ret = run_steps(w, true, true, path);
		if (!ret)
			ret = next_phase(w, PHASE_PUT);
	}
	if (!ret && w->phase == PHASE_PUT) {
		ret = run_steps(w, false, true, path);
		if (!ret)
			ret = next_phase(w, PHASE_DONE);
	}
	return ret;
}

int apply_back(struct apply_work *w, const char **path)
{
	int ret = 0;

	if (w->phase == PHASE_PUT)
		ret = next_phase(w, PHASE_UNPUT);
	else if (w->phase == PHASE_COMMIT)
		ret = next_phase(w, PHASE_UNOUT);
	if (!ret && w->phase == PHASE_UNPUT) {
		ret = run_steps(w, false, false, path);
		if (!ret)
			ret = next_phase(w, PHASE_UNOUT);
	}
	if (!ret && w->phase == PHASE_UNOUT)
		ret = run_steps(w, true, false, path);
	return ret;
}

int apply_clean(struct apply_work *w)
{
	int ret = 0;

	for (unsigned i = 0; i < w->nstages; i++) {
		struct apply_stage *s = &w->stages[i];
		AUTO_CLOSE int dir =
			apply_host_open(w->root, s->dir, O_PATH | O_DIRECTORY);
		int one = dir < 0 ? dir : 0;

		apply_tick(w, s->name);
		auto_close_fd(&s->fd);
		if (!one)
			one = apply_remove_tree(dir, s->name);
		if (one < 0 && one != -ENOENT)
			ret = one;
	}
	if (!ret)
		apply_journal_remove(w);
	return ret;
}

/* ---- recovery -------------------------------------------------------- */

static int recover_one(struct apply_work *w)
{
	const char *path = NULL;
	int ret = 0;

	w->root = open(w->root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->root < 0)
		return -errno;
	if (w->phase == PHASE_COMMIT || w->phase == PHASE_PUT) {
		ret = apply_forward(w, &path);
		if (ret < 0)
			ret = apply_back(w, &path);
	} else if (w->phase == PHASE_UNPUT || w->phase == PHASE_UNOUT) {
		ret = apply_back(w, &path);
	}
	if (ret < 0) {
		log_host(ret, "recovery of %s at %s (journal %s)", w->root_path,
			 path ? path : "?", w->journal_path);
		return ret;
	}
	return apply_clean(w);
}

int apply_recover(const char *root, size_t *found)
{
	AUTO_FREE char *dir = apply_journal_dir();
	DIR *d = dir ? opendir(dir) : NULL;
	const struct dirent *e;
	int ret = 0;

	*found = 0;
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		AUTO_FREE char *path = xasprintf("%s/%s", dir, e->d_name);
		struct apply_work w;
		int one;

		if (e->d_name[0] == '.')
			continue;
		one = apply_journal_read(path, &w);
		if (one == -EINVAL && !unlink(path))
			continue; /* torn before it named anything */
		if (one < 0) {
			if (one != -EBUSY)
				log_host(one, "journal %s", path);
			continue;
		}
		if (!root || !strcmp(root, w.root_path)) {
			++*found;
			one = recover_one(&w);
			if (one < 0)
				ret = one;
		}
		apply_work_fini(&w);
	}
	closedir(d);
	return ret;
}
