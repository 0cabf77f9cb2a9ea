/*
 * overlay_time.c - which time a change gets, and when a look counts.
 *
 * As the kernel's file systems do it since 6.13: a change gets the coarse
 * clock's time, unless the object's times were shown since its last change and
 * would not move by it; then the exact time, which all later stamps respect.
 * So who looks sees every change, and an order of changes is kept.
 * LIMIT: but not within a tick of the clock between an exact stamp of the
 * kernel's that nobody has asked for yet (a write, after a look) and ours.
 *
 * atime moves as with relatime. A host file's is the host's: it is shown, not
 * kept, so a look at an object that is not changed only lasts until the host
 * is asked again.
 */
#include "overlay_priv.h"

#include <fcntl.h>

#define DAY_S (24 * 60 * 60)

void ov_time_seen(struct ov *ov, struct timespec ts)
{
	struct timespec now;

	if (!ts_after(ts, ov->floor))
		return;
	/* A guest may set times ahead; those are no stamps. */
	clock_gettime(CLOCK_REALTIME, &now);
	if (!ts_after(ts, now))
		ov->floor = ts;
}

void ov_time_unseen(struct ov *ov)
{
	clock_gettime(CLOCK_REALTIME_COARSE, &ov->unseen);
}

/* By a file of the store that is always looked at: its next stamp is exact
 * where the kernel's are, and no later stamp of the kernel is earlier. */
static struct timespec ov_exact(struct ov *ov)
{
	struct timespec now;
	struct stat st;

	if (ov->clock < 0) {
		ov->clock = openat(store_root_fd(ov->store), ".",
				   O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (ov->clock >= 0)
			(void)!fstat(ov->clock, &st);
	}
	if (ov->clock >= 0 && !fchmod(ov->clock, 0600) &&
	    !fstat(ov->clock, &st))
		return st.st_ctim;
	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

struct timespec ov_now(struct ov *ov)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	if (ts_equal(ts, ov->unseen))
		ov_time_seen(ov, ov_exact(ov));
	ov->unseen.tv_sec = 0;
	/* A floor of another second means that the clock was set back. */
	if (ts_after(ov->floor, ts) && ov->floor.tv_sec - ts.tv_sec <= 1)
		ts = ov->floor;
	return ts;
}

struct timespec ov_now_for(struct ov_node *n)
{
	struct timespec ts = ov_now(n->ov);

	if (n->shown && !ts_after(ts, n->ctime)) {
		ts = ov_exact(n->ov);
		ov_time_seen(n->ov, ts);
	}
	n->shown = false;
	return ts;
}

void ov_accessed(struct inode *inode)
{
	struct ov_node *n = ov_node(inode);
	struct timespec now = ov_now(n->ov);

	if (ts_after(n->atime, n->mtime) && ts_after(n->atime, n->ctime) &&
	    now.tv_sec - n->atime.tv_sec < DAY_S)
		return;
	n->atime = now;
}
