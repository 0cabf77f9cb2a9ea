// modes: bare
/* inotify: names, cookies, order, many events. */
#include "guest.h"
#include <sys/inotify.h>

static char evbuf[1 << 20] __attribute__((aligned(8)));
static ssize_t evlen, evpos;
static int in;

static struct inotify_event *next_event(int ms)
{
	if (evpos >= evlen) {
		struct pollfd p = {in, POLLIN, 0};
		if (poll(&p, 1, ms) <= 0)
			return NULL;
		evlen = OK(read(in, evbuf, sizeof(evbuf)));
		evpos = 0;
	}
	struct inotify_event *e = (void *)(evbuf + evpos);
	evpos += (ssize_t)(sizeof(*e) + e->len);
	return e;
}

static struct inotify_event *expect(uint32_t mask, const char *name)
{
	struct inotify_event *e = next_event(5000);

	if (!e)
		guest_fail(__FILE__, __LINE__, "no event, expected %#x %s",
			   mask, name);
	if (e->mask != mask || strcmp(e->len ? e->name : "", name))
		guest_fail(__FILE__, __LINE__,
			   "event %#x '%s', expected "
			   "%#x '%s'",
			   e->mask, e->len ? e->name : "", mask, name);
	return e;
}

static int watch(const char *p, uint32_t mask)
{
	in = OK(inotify_init1(IN_CLOEXEC));
	return OK(inotify_add_watch(in, p, mask));
}

#define COMMON (IN_CREATE | IN_DELETE | IN_MOVE | IN_CLOSE_WRITE | IN_MODIFY)

TEST(create_write_close_delete_by_another_process)
{
	OK(mkdir("d", 0755));
	int wd = watch("d", COMMON);
	pid_t p = CHILD({
		put("d/f", "x");
		OK(unlink("d/f"));
	});
	EQ(wait_for(p), 0);
	EQ(expect(IN_CREATE, "f")->wd, wd);
	expect(IN_MODIFY, "f");
	expect(IN_CLOSE_WRITE, "f");
	expect(IN_DELETE, "f");
	CHECK(!next_event(0));
}

TEST(rename_pairs_have_one_cookie)
{
	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	put("d/a", "x");
	int wd = watch("d", COMMON);
	int we = OK(inotify_add_watch(in, "e", COMMON));
	OK(rename("d/a", "d/b"));
	uint32_t c = expect(IN_MOVED_FROM, "a")->cookie;
	CHECK(c);
	EQ(expect(IN_MOVED_TO, "b")->cookie, c);
	OK(rename("d/b", "e/b"));
	struct inotify_event *v = expect(IN_MOVED_FROM, "b");
	EQ(v->wd, wd);
	CHECK(v->cookie != c);
	c = v->cookie;
	v = expect(IN_MOVED_TO, "b");
	EQ(v->wd, we);
	EQ(v->cookie, c);
}

TEST(directories_are_marked)
{
	OK(mkdir("d", 0755));
	watch("d", COMMON);
	OK(mkdir("d/x", 0755));
	expect(IN_CREATE | IN_ISDIR, "x");
	OK(rmdir("d/x"));
	expect(IN_DELETE | IN_ISDIR, "x");
	OK(symlink("f", "d/l"));
	expect(IN_CREATE, "l");
	put("f", "x");
	OK(link("f", "d/h"));
	expect(IN_CREATE, "h");
}

TEST(lower_directory_is_watched)
{
	watch(lower("dir"), COMMON);
	put(lower("dir/new"), "x");
	expect(IN_CREATE, "new");
	expect(IN_MODIFY, "new");
	expect(IN_CLOSE_WRITE, "new");
	int fd = OK(open(lower("dir/a"), O_WRONLY));
	EQ(write(fd, "y", 1), 1);
	OK(close(fd));
	expect(IN_MODIFY, "a");
	expect(IN_CLOSE_WRITE, "a");
	OK(unlink(lower("dir/b")));
	expect(IN_DELETE, "b");
	OK(rename(lower("dir/c"), lower("dir/d")));
	uint32_t c = expect(IN_MOVED_FROM, "c")->cookie;
	EQ(expect(IN_MOVED_TO, "d")->cookie, c);
	CHECK(!next_event(0));
}

TEST(watch_on_a_file_itself)
{
	put("f", "x");
	int wd = watch("f", IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF);
	int fd = OK(open("f", O_WRONLY));
	EQ(write(fd, "yy", 2), 2);
	OK(close(fd));
	expect(IN_MODIFY, "");
	OK(rename("f", "g"));
	expect(IN_MOVE_SELF, "");
	OK(unlink("g"));
	struct inotify_event *e = expect(IN_DELETE_SELF, "");
	EQ(e->wd, wd);
	expect(IN_IGNORED, "");
}

TEST(attrib_and_open_events)
{
	OK(mkdir("d", 0755));
	put("d/f", "x");
	watch("d", IN_ATTRIB | IN_OPEN | IN_CLOSE_NOWRITE | IN_ACCESS);
	OK(chmod("d/f", 0600));
	expect(IN_ATTRIB, "f");
	STREQ(get("d/f"), "x");
	expect(IN_OPEN, "f");
	expect(IN_ACCESS, "f");
	expect(IN_CLOSE_NOWRITE, "f");
}

TEST(remove_watch_and_directory)
{
	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	int wd = watch("d", COMMON | IN_DELETE_SELF);
	int we = OK(inotify_add_watch(in, "e", COMMON));
	CHECK(we != wd);
	EQ(inotify_add_watch(in, "d", COMMON | IN_DELETE_SELF), wd);
	OK(inotify_rm_watch(in, we));
	EQ(expect(IN_IGNORED, "")->wd, we);
	ERR(inotify_rm_watch(in, we), EINVAL);
	OK(rmdir("d"));
	EQ(expect(IN_DELETE_SELF, "")->wd, wd);
	EQ(expect(IN_IGNORED, "")->wd, wd);
}

TEST(errors)
{
	put("f", "x");
	in = OK(inotify_init1(IN_NONBLOCK));
	char b[64];
	ERR(read(in, b, sizeof(b)), EAGAIN);
	ERR(inotify_add_watch(in, "none", IN_CREATE), ENOENT);
	ERR(inotify_add_watch(in, "f", 0), EINVAL);
	ERR(inotify_add_watch(in, "f", IN_CREATE | IN_ONLYDIR), ENOTDIR);
	ERR(inotify_add_watch(99, "f", IN_CREATE), EBADF);
	int fd = OK(open("f", O_RDONLY));
	ERR(inotify_add_watch(fd, "f", IN_CREATE), EINVAL);
	ERR(inotify_init1(1), EINVAL);
	if (geteuid()) {
		OK(chmod("f", 0));
		ERR(inotify_add_watch(in, "f", IN_MODIFY), EACCES);
	}
}

TEST(ten_thousand_events)
{
	int creates = 0, deletes = 0;

	OK(mkdir("d", 0755));
	watch("d", IN_CREATE | IN_DELETE);
	pid_t p = CHILD({
		for (int i = 0; i < 5000; i++) {
			char n[32];
			snprintf(n, sizeof(n), "d/f%d", i);
			OK(close(OK(open(n, O_CREAT | O_WRONLY, 0600))));
			OK(unlink(n));
		}
	});
	while (creates + deletes < 10000) {
		struct inotify_event *e = next_event(10000);
		CHECK(e);
		CHECK(!(e->mask & IN_Q_OVERFLOW));
		creates += !!(e->mask & IN_CREATE);
		deletes += !!(e->mask & IN_DELETE);
	}
	EQ(wait_for(p), 0);
	EQ(creates, 5000);
	EQ(deletes, 5000);
	put("d/last", "x");
	expect(IN_CREATE, "last");
}
