/*
 * apply_journal.c - the file from which a half-done apply is finished.
 *
 * Text of netstring fields ("5:a/b/c," ...). The order of writing is the order
 * of events: header, stage directories (before each is made), steps, then one
 * line for each phase, synced before the phase begins. A journal is locked by
 * flock(2) as long as its apply runs. It lies in the user's state directory,
 * where nothing of a guest's comes; its numbers are bounded all the same.
 */
#include "apply_priv.h"
#include "netstr.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

#define JOURNAL_MAGIC "cloche-apply-1"
enum { JOURNAL_MAX = 1 << 30, XATTRS_MAX = 4096 };

char *apply_journal_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		return xasprintf("%s/cloche/apply", state);
	if (home && *home == '/')
		return xasprintf("%s/.local/state/cloche/apply", home);
	return NULL;
}

static int make_dirs(const char *dir)
{
	AUTO_FREE char *p = xstrdup(dir);

	for (char *s = p + 1;; s++) {
		char c = *s;

		if (c != '/' && c != '\0')
			continue;
		*s = '\0';
		if (mkdir(p, 0700) < 0 && errno != EEXIST)
			return -errno;
		*s = c;
		if (!c)
			return 0;
	}
}

/* ---- writing --------------------------------------------------------- */

static int journal_write(struct apply_work *w, const struct strbuf *b)
{
	size_t done = 0;

	if (b->truncated)
		return -EFBIG;
	while (done < b->len) {
		ssize_t n = write(w->journal, b->data + done, b->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return fsync(w->journal) < 0 ? -errno : 0;
}

int apply_journal_new(struct apply_work *w)
{
	AUTO_FREE char *dir = apply_journal_dir();
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int dirfd = -1;
	struct strbuf b;
	int ret;

	if (!dir)
		return -ENOTDIR;
	ret = make_dirs(dir);
	if (ret < 0)
		return ret;
	w->journal_path = xasprintf("%s/XXXXXX", dir);
	fd = mkostemp(w->journal_path, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(w->journal_path);
		w->journal_path = NULL;
		return ret;
	}
	if (flock(fd, LOCK_EX) < 0)
		return -errno;
	w->journal = fd_take(&fd);
	strbuf_init(&b, 0);
	netstr_put_str(&b, JOURNAL_MAGIC);
	netstr_put_str(&b, w->root_path);
	ret = journal_write(w, &b);
	strbuf_fini(&b);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd >= 0)
		(void)fsync(dirfd);
	return ret;
}

int apply_journal_stage(struct apply_work *w, const struct apply_stage *s)
{
	struct strbuf b;
	int ret;

	strbuf_init(&b, 0);
	netstr_put_str(&b, "stage");
	netstr_put_str(&b, s->dir);
	netstr_put_str(&b, s->name);
	ret = journal_write(w, &b);
	strbuf_fini(&b);
	return ret;
}

static void put_attr(struct strbuf *b, const struct apply_attr *a)
{
	netstr_put_num(b, a->mode);
	netstr_put_num(b, a->uid);
	netstr_put_num(b, a->gid);
	netstr_put_num(b, a->owner);
	netstr_put_num(b, a->times);
	netstr_put_num(b, (uint64_t)a->atime.tv_sec);
	netstr_put_num(b, (uint64_t)a->atime.tv_nsec);
	netstr_put_num(b, (uint64_t)a->mtime.tv_sec);
	netstr_put_num(b, (uint64_t)a->mtime.tv_nsec);
	netstr_put_num(b, a->nxattrs);
	for (size_t i = 0; i < a->nxattrs; i++) {
		netstr_put_str(b, a->xattrs[i].name);
		netstr_put(b, a->xattrs[i].value, a->xattrs[i].size);
	}
}

int apply_journal_steps(struct apply_work *w)
{
	struct strbuf b;
	int ret;

	strbuf_init(&b, JOURNAL_MAX);
	for (size_t i = 0; i < w->nsteps; i++) {
		const struct apply_step *s = &w->steps[i];
		char kind[2] = {(char)s->kind, '\0'};

		netstr_put_str(&b, kind);
		netstr_put_str(&b, s->path);
		netstr_put_num(&b, s->ino);
		if (s->kind == APPLY_META) {
			put_attr(&b, &s->old);
			put_attr(&b, &s->new);
			continue;
		}
		netstr_put_num(&b, s->stage);
		netstr_put_str(&b, s->slot);
	}
	ret = journal_write(w, &b);
	strbuf_fini(&b);
	return ret;
}

int apply_journal_phase(struct apply_work *w, enum apply_phase phase)
{
	struct strbuf b;
	char text[2] = {(char)phase, '\0'};
	int ret;

	strbuf_init(&b, 0);
	netstr_put_str(&b, "phase");
	netstr_put_str(&b, text);
	ret = journal_write(w, &b);
	strbuf_fini(&b);
	if (!ret)
		w->phase = (char)phase;
	return ret;
}

void apply_journal_remove(struct apply_work *w)
{
	if (w->journal_path)
		(void)unlink(w->journal_path);
}

/* ---- reading --------------------------------------------------------- */

static void get_slot(struct netstr *r, char slot[APPLY_SLOT])
{
	AUTO_FREE char *s = netstr_get_str(r);

	if (strlen(s) >= APPLY_SLOT || strchr(s, '/') || !*s)
		r->bad = true;
	snprintf(slot, APPLY_SLOT, "%s", r->bad ? "" : s);
}

static void get_attr(struct netstr *r, struct apply_attr *a)
{
	uint64_t count;

	a->mode = (mode_t)netstr_get_num(r);
	a->uid = (uid_t)netstr_get_num(r);
	a->gid = (gid_t)netstr_get_num(r);
	a->owner = netstr_get_num(r) != 0;
	a->times = netstr_get_num(r) != 0;
	a->atime.tv_sec = (time_t)netstr_get_num(r);
	a->atime.tv_nsec = (long)netstr_get_num(r);
	a->mtime.tv_sec = (time_t)netstr_get_num(r);
	a->mtime.tv_nsec = (long)netstr_get_num(r);
	count = netstr_get_num(r);
	if (count > XATTRS_MAX)
		r->bad = true;
	if (r->bad || !count)
		return;
	a->xattrs = xcalloc(count, sizeof(*a->xattrs));
	for (; a->nxattrs < count; a->nxattrs++) {
		struct change_xattr *x = &a->xattrs[a->nxattrs];

		x->name = netstr_get_str(r);
		x->value = netstr_get(r, &x->size);
	}
}

static void get_stage(struct netstr *r, struct apply_work *w)
{
	struct apply_stage *s;

	if (w->nstages == APPLY_STAGES_MAX) {
		r->bad = true;
		return;
	}
	w->stages = realloc(w->stages, (w->nstages + 1) * sizeof(*s));
	BUG_ON(!w->stages);
	s = &w->stages[w->nstages++];
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->dir = netstr_get_str(r);
	get_slot(r, s->name);
}

static void get_step(struct netstr *r, struct apply_work *w, char kind,
		     size_t *cap)
{
	struct apply_step *s;

	if (w->nsteps == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		w->steps = realloc(w->steps, *cap * sizeof(*s));
		BUG_ON(!w->steps);
	}
	s = &w->steps[w->nsteps++];
	memset(s, 0, sizeof(*s));
	s->kind = (enum apply_step_kind)kind;
	s->path = netstr_get_str(r);
	s->ino = (ino_t)netstr_get_num(r);
	if (kind == APPLY_META) {
		get_attr(r, &s->old);
		get_attr(r, &s->new);
		return;
	}
	s->stage = (unsigned)netstr_get_num(r);
	get_slot(r, s->slot);
	if (s->stage >= w->nstages)
		r->bad = true;
}

/* Where the last whole record ends: a torn one had not begun. */
static const char *parse(struct netstr *r, struct apply_work *w)
{
	const char *good = r->p;
	size_t cap = 0;

	w->phase = PHASE_STAGE;
	while (r->p < r->end && !r->bad) {
		AUTO_FREE char *word = netstr_get_str(r);

		if (r->bad)
			break;
		if (!strcmp(word, "stage")) {
			get_stage(r, w);
		} else if (!strcmp(word, "phase")) {
			AUTO_FREE char *phase = netstr_get_str(r);

			if (!r->bad)
				w->phase = *phase;
		} else if (strlen(word) == 1 && strchr("OPSM", *word)) {
			get_step(r, w, *word, &cap);
		} else {
			r->bad = true;
		}
		if (!r->bad)
			good = r->p;
	}
	return good;
}

static int read_all(int fd, struct strbuf *b)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(b, buf, (size_t)n);
	return n < 0 ? -errno : b->truncated ? -EFBIG : 0;
}

static int parse_all(struct apply_work *w, const struct strbuf *b)
{
	struct netstr r = {b->data, b->data + b->len, false};
	const char *good;
	AUTO_FREE char *magic = netstr_get_str(&r);

	w->root_path = netstr_get_str(&r);
	if (r.bad || strcmp(magic, JOURNAL_MAGIC) != 0)
		return -EINVAL;
	good = parse(&r, w);
	if (good < r.end && ftruncate(w->journal, good - b->data) < 0)
		return -errno;
	return 0;
}

int apply_journal_read(const char *path, struct apply_work *out)
{
	struct apply_work w = {.root = -1, .journal = -1};
	struct strbuf b;
	int ret;

	w.journal = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (w.journal < 0)
		return -errno;
	w.journal_path = xstrdup(path);
	strbuf_init(&b, JOURNAL_MAX);
	if (flock(w.journal, LOCK_EX | LOCK_NB) < 0)
		ret = -EBUSY;
	else
		ret = read_all(w.journal, &b);
	if (!ret)
		ret = parse_all(&w, &b);
	strbuf_fini(&b);
	if (ret < 0) {
		apply_work_fini(&w);
		return ret;
	}
	*out = w;
	return 0;
}

void apply_work_fini(struct apply_work *w)
{
	for (unsigned i = 0; i < w->nstages; i++) {
		free(w->stages[i].dir);
		auto_close_fd(&w->stages[i].fd);
	}
	for (size_t i = 0; i < w->nsteps; i++) {
		free(w->steps[i].path);
		apply_attr_fini(&w->steps[i].old);
		apply_attr_fini(&w->steps[i].new);
	}
	free(w->stages);
	free(w->steps);
	free(w->root_path);
	free(w->journal_path);
	auto_close_fd(&w->root);
	auto_close_fd(&w->journal);
	memset(w, 0, sizeof(*w));
	w->root = w->journal = -1;
}
