// modes: bare
/* POSIX access control lists by their raw attributes. What needs a second
 * user is for root, who becomes one. */
#include "guest.h"
#include <grp.h>
#include <sys/xattr.h>

#define ACCESS_ACL  "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"
#define NOID	    0xffffffffu

struct entry {
	uint16_t tag, perm;
	uint32_t id;
};

struct list {
	uint32_t version;
	struct entry e[8];
};

enum { UO = 1, US = 2, GO = 4, GR = 8, MA = 16, OT = 32 };

/* "u7 U1234:6 g4 G55:5 m7 o0" */
static size_t make(struct list *l, const char *text)
{
	static const char tags[] = "uUgGmo";
	size_t n = 0;

	l->version = 2;
	for (const char *p = text; *p; p += *p == ' ') {
		struct entry *e = &l->e[n++];

		e->tag = (uint16_t)(1 << (strchr(tags, *p++) - tags));
		e->id = NOID;
		if (e->tag & (US | GR)) {
			e->id = (uint32_t)strtoul(p, (char **)&p, 10);
			p++;
		}
		e->perm = (uint16_t)(*p++ - '0');
	}
	return 4 + n * 8;
}

static int set(const char *path, const char *name, const char *text)
{
	struct list l;
	size_t n = make(&l, text);

	return setxattr(path, name, &l, n, 0);
}

/* The list of path is text; "" for none. */
static void is(const char *path, const char *name, const char *text)
{
	struct list want, got;
	size_t n = make(&want, text);

	memset(&got, 0, sizeof(got));
	if (!*text) {
		ERR(getxattr(path, name, &got, sizeof(got)), ENODATA);
		return;
	}
	EQ(getxattr(path, name, NULL, 0), (ssize_t)n);
	EQ(getxattr(path, name, &got, sizeof(got)), (ssize_t)n);
	CHECK(!memcmp(&got, &want, n));
}

TEST(mode_follows_list_and_list_follows_mode)
{
	put("f", "x");
	OK(chmod("f", 0640));
	is("f", ACCESS_ACL, "");
	OK(set("f", ACCESS_ACL, "u6 U1234:7 g4 m7 o1"));
	EQ(mode_of("f"), 0671);
	OK(chmod("f", 0753));
	is("f", ACCESS_ACL, "u7 U1234:7 g4 m5 o3");
	EQ(mode_of("f"), 0753);
	EQ(listxattr("f", NULL, 0), (ssize_t)sizeof(ACCESS_ACL));
}

TEST(list_that_a_mode_can_say_is_not_kept)
{
	put("f", "x");
	OK(set("f", ACCESS_ACL, "u6 g4 o1"));
	EQ(mode_of("f"), 0641);
	is("f", ACCESS_ACL, "");
	OK(set("f", ACCESS_ACL, "u6 U1:7 g4 m7 o1"));
	OK(set("f", ACCESS_ACL, "u7 g0 o0"));
	is("f", ACCESS_ACL, "");
	EQ(mode_of("f"), 0700);
}

TEST(removal_leaves_the_mode)
{
	put("f", "x");
	OK(removexattr("f", ACCESS_ACL));
	OK(set("f", ACCESS_ACL, "u6 U1:7 g4 m7 o1"));
	OK(removexattr("f", ACCESS_ACL));
	is("f", ACCESS_ACL, "");
	EQ(mode_of("f"), 0671);
	EQ(listxattr("f", NULL, 0), 0);
	OK(mkdir("d", 0755));
	OK(set("d", DEFAULT_ACL, "u6 g4 o1"));
	OK(setxattr("d", DEFAULT_ACL, NULL, 0, 0));
	is("d", DEFAULT_ACL, "");
}

TEST(bad_lists_are_refused)
{
	static const char *const bad[] = {"u6",
					  "u6 g4",
					  "u6 U1:6 g4 o0",
					  "g4 u6 o0",
					  "u6 g4 m7 m7 o0",
					  "u6 u6 g4 o0",
					  "u6 g4 o0 U1:4 m4",
					  "u6 g4 G1:9 m4 o0"};
	struct list l;
	char b[64];

	put("f", "x");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ERR(set("f", ACCESS_ACL, bad[i]), EINVAL);
	make(&l, "u6 g4 o0");
	ERR(setxattr("f", ACCESS_ACL, &l, 27, 0), EINVAL);
	ERR(setxattr("f", ACCESS_ACL, &l, 3, 0), EINVAL);
	OK(setxattr("f", ACCESS_ACL, &l, 4, 0));
	l.version = 1;
	ERR(setxattr("f", ACCESS_ACL, &l, 28, 0), EOPNOTSUPP);
	make(&l, "U4294967295:6 u6 g4 o0");
	ERR(setxattr("f", ACCESS_ACL, &l, 36, 0), EINVAL);
	ERR(set("f", DEFAULT_ACL, "u6 g4 o0"), EACCES);
	OK(removexattr("f", DEFAULT_ACL));
	OK(symlink("f", "l"));
	make(&l, "u6 g4 o0");
	ERR(lsetxattr("l", ACCESS_ACL, &l, 28, 0), EOPNOTSUPP);
	ERR(lgetxattr("l", ACCESS_ACL, b, 64), EOPNOTSUPP);
	OK(set("f", ACCESS_ACL, "u6 U1:7 g4 m7 o1"));
	ERR(getxattr("f", ACCESS_ACL, b, 43), ERANGE);
	ERR(getxattr("f", "system.other", b, 43), EOPNOTSUPP);
}

TEST(default_list_takes_the_place_of_the_umask)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "d/s"};

	umask(077);
	OK(mkdir("d", 0755));
	OK(set("d", DEFAULT_ACL, "u7 U5:7 g5 G6:4 m7 o5"));
	close(OK(open("d/f", O_CREAT | O_RDWR, 0666)));
	is("d/f", ACCESS_ACL, "u6 U5:7 g5 G6:4 m6 o4");
	EQ(mode_of("d/f"), 0664);
	OK(mkdir("d/d", 0777));
	is("d/d", ACCESS_ACL, "u7 U5:7 g5 G6:4 m7 o5");
	is("d/d", DEFAULT_ACL, "u7 U5:7 g5 G6:4 m7 o5");
	EQ(mode_of("d/d"), 0775);
	OK(mkfifo("d/p", 0622));
	is("d/p", ACCESS_ACL, "u6 U5:7 g5 G6:4 m2 o0");
	OK(symlink("f", "d/l"));
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(bind(s, (struct sockaddr *)&un, sizeof(un)));
	EQ(mode_of("d/s"), 0700); /* bind(2) looks at the umask first */
	int fd = OK(open("d", O_TMPFILE | O_RDWR, 0640));
	EQ(fgetxattr(fd, ACCESS_ACL, NULL, 0), 4 + 6 * 8);
}

TEST(default_list_without_names_gives_a_mode)
{
	umask(0);
	OK(mkdir("d", 0755));
	OK(set("d", DEFAULT_ACL, "u6 g4 o0"));
	close(OK(open("d/f", O_CREAT | O_RDWR, 0777)));
	EQ(mode_of("d/f"), 0640);
	is("d/f", ACCESS_ACL, "");
	OK(mkdir("d/d", 0777));
	EQ(mode_of("d/d"), 0640);
	is("d/d", DEFAULT_ACL, "u6 g4 o0");
}

TEST(list_stays_with_the_file)
{
	const char *list = "u6 U1234:7 g4 m7 o1";

	OK(set(lower("file"), ACCESS_ACL, list));
	EQ(mode_of(lower("file")), 0671);
	STREQ(get(lower("file")), "lower file\n");
	put(lower("file"), "new");
	is(lower("file"), ACCESS_ACL, list);
	OK(link(lower("file"), "f"));
	OK(rename("f", "g"));
	is("g", ACCESS_ACL, list);
	is(lower("file"), ACCESS_ACL, list);
}

TEST(only_the_owner_changes_it)
{
	if (!geteuid())
		SKIP("root may");
	ERR(set("/etc/passwd", ACCESS_ACL, "u6 g4 o4"), EPERM);
	ERR(removexattr("/etc/passwd", ACCESS_ACL), EPERM);
}

/* ---- who may what ---------------------------------------------------- */

/* What access(2) says to a user: a digit of R_OK, W_OK, X_OK bits. */
static int may(const char *path, uid_t uid, gid_t gid, gid_t more)
{
	pid_t pid = OK(fork());
	int status, got = 0;

	if (!pid) {
		if (setgroups(1, &more) || setresgid(gid, gid, gid) ||
		    setresuid(uid, uid, uid))
			_exit(64);
		for (int bit = 1; bit < 8; bit *= 2)
			got |= access(path, bit) ? 0 : bit;
		_exit(got);
	}
	OK(waitpid(pid, &status, 0));
	return WEXITSTATUS(status);
}

static void need_users(void)
{
	if (geteuid() || may(".", 1000, 1000, 1000) == 64)
		SKIP("needs root");
	OK(chmod(".", 0755));
}

TEST(named_user_is_held_by_the_mask)
{
	need_users();
	put("f", "x");
	OK(chown("f", 2000, 2000));
	OK(set("f", ACCESS_ACL, "u6 U1000:7 g4 m5 o0"));
	EQ(may("f", 1000, 1000, 1000), 5);
	EQ(may("f", 1001, 1001, 1001), 0);
	EQ(may("f", 2000, 1, 1), 6);
	EQ(may("f", 1001, 2000, 1), 4);
	OK(chmod("f", 0600));
	EQ(may("f", 1000, 1000, 1000), 0);
	OK(chmod("f", 0670));
	EQ(may("f", 1000, 1000, 1000), 7);
}

TEST(groups_add_up_and_others_are_out)
{
	need_users();
	put("f", "x");
	OK(chown("f", 2000, 2000));
	OK(set("f", ACCESS_ACL, "u6 g1 G3000:4 G3001:2 m7 o7"));
	EQ(may("f", 1000, 3000, 1), 4);
	EQ(may("f", 1000, 1, 3001), 2);
	EQ(may("f", 1000, 3000, 3001), 6);
	EQ(may("f", 1000, 2000, 1), 1);
	EQ(may("f", 1000, 1, 1), 7);
	/* no group bit in the mode: the list is not asked, and 07 is theirs */
	OK(chmod("f", 0607));
	EQ(may("f", 1000, 1, 1), 7);
}

TEST(search_of_a_directory_by_its_list)
{
	need_users();
	OK(mkdir("d", 0700));
	put("d/f", "x");
	OK(chmod("d/f", 0644));
	EQ(may("d/f", 1000, 1000, 1), 0);
	OK(set("d", ACCESS_ACL, "u7 U1000:1 g0 m1 o0"));
	EQ(may("d/f", 1000, 1000, 1), 4);
	EQ(may("d/f", 1001, 1001, 1), 0);
	OK(removexattr("d", ACCESS_ACL));
	EQ(may("d/f", 1000, 1000, 1), 0);
}

TEST(set_gid_bit_goes_for_strangers_of_the_group)
{
	need_users();
	put("f", "x");
	OK(chown("f", 1000, 2000));
	OK(chmod("f", 02755));
	pid_t pid = OK(fork());
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) ||
		    setresuid(1000, 1000, 1000))
			_exit(64);
		_exit(set("f", ACCESS_ACL, "u7 U5:5 g5 m5 o5") ? errno : 0);
	}
	int status;
	OK(waitpid(pid, &status, 0));
	EQ(WEXITSTATUS(status), 0);
	EQ(mode_of("f"), 0755);
}
