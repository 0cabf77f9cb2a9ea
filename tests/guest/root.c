// modes: bare vroot
/* What root may do with files, devices and the root directory. */
#include "guest.h"
#include <linux/capability.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void need_root(void)
{
	if (geteuid())
		SKIP("needs root");
}

TEST(root_reads_and_writes_what_has_no_bits)
{
	need_root();
	put("f", "x");
	OK(chmod("f", 0));
	STREQ(get("f"), "x");
	put("f", "y");
	OK(mkdir("d", 0));
	put("d/f", "z");
	ERR(access("f", X_OK), EACCES);
	OK(access("d", X_OK));
}

TEST(owners_go_to_anybody_and_set_id_bits_go)
{
	struct stat st;

	need_root();
	put("f", "x");
	OK(chmod("f", 06755));
	OK(chown("f", 12, 34));
	OK(stat("f", &st));
	EQ(st.st_uid, 12);
	EQ(st.st_gid, 34);
	EQ(st.st_mode & 07777, 0755);
	OK(symlink("f", "l"));
	OK(lchown("l", 5, 6));
	OK(lstat("l", &st));
	EQ(st.st_uid, 5);
	OK(chmod("f", 06755));
	EQ(mode_of("f"), 06755);
	OK(chown(lower("file"), 7, 8));
	OK(stat(lower("file"), &st));
	EQ(st.st_uid, 7);
	STREQ(get(lower("file")), "lower file\n");
}

TEST(another_user_is_kept_out)
{
	need_root();
	OK(chmod(".", 0755));
	OK(mkdir("w", 0777));
	OK(chmod("w", 0777));
	put("f", "x");
	OK(chmod("f", 0600));
	EQ(wait_for(CHILD({
		   OK(setgid(1001));
		   OK(setuid(1001));
		   ERR(open("f", O_RDONLY), EACCES);
		   ERR(chown("f", 1001, 1001), EPERM);
		   ERR(chmod("f", 0666), EPERM);
		   ERR(unlink("f"), EACCES);
		   ERR(mknod("w/c", S_IFCHR | 0600, makedev(1, 3)), EPERM);
		   ERR(chroot("."), EPERM);
		   ERR(setuid(0), EPERM);
	   })),
	   0);
}

TEST(a_null_device_works)
{
	struct stat st;
	char b[4];
	int fd;

	need_root();
	OK(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	OK(stat("null", &st));
	CHECK(S_ISCHR(st.st_mode));
	EQ(st.st_rdev, makedev(1, 3));
	fd = OK(open("null", O_RDWR));
	EQ(write(fd, "x", 1), 1);
	EQ(read(fd, b, 4), 0);
	OK(mknod("zero", S_IFCHR | 0600, makedev(1, 5)));
	fd = OK(open("zero", O_RDONLY));
	EQ(read(fd, b, 4), 4);
	EQ(b[3], 0);
	OK(unlink("null"));
}

TEST(a_device_without_driver)
{
	struct stat st;

	need_root();
	OK(mknod("c", S_IFCHR | 0600, makedev(4000, 9)));
	OK(mknod("b", S_IFBLK | 0600, makedev(4000, 9)));
	OK(stat("b", &st));
	CHECK(S_ISBLK(st.st_mode));
	ERR(open("c", O_RDONLY), ENXIO);
	ERR(open("b", O_RDONLY), ENXIO);
	OK(chown("b", 3, 3));
	OK(rename("b", "b2"));
}

TEST(chroot_is_where_paths_begin)
{
	char buf[PATH_MAX];

	need_root();
	OK(mkdir("r", 0755));
	OK(mkdir("r/sub", 0755));
	put("r/f", "inside");
	put("f", "outside");
	OK(symlink("/f", "r/abs"));
	OK(symlink("../../../f", "r/sub/up"));
	OK(chroot("r"));
	STREQ(get("/f"), "inside");
	/* the current directory has stayed outside */
	STREQ(get("f"), "outside");
	OK(syscall(SYS_getcwd, buf, sizeof(buf)));
	CHECK(!strncmp(buf, "(unreachable)/", 14));
	OK(chdir("/"));
	STREQ(getcwd(buf, sizeof(buf)), "/");
	STREQ(get("../../f"), "inside");
	STREQ(get("/abs"), "inside");
	STREQ(get("/sub/up"), "inside");
	OK(chdir("sub"));
	STREQ(getcwd(buf, sizeof(buf)), "/sub");
	ERR(open("/etc/passwd", O_RDONLY), ENOENT);
	ERR(open("/proc/self/root", O_PATH), ENOENT);
}

TEST(chroot_in_chroot)
{
	char buf[PATH_MAX];

	need_root();
	OK(mkdir("r", 0755));
	OK(mkdir("r/r", 0755));
	put("r/f", "one");
	put("r/r/f", "two");
	OK(chroot("r"));
	OK(chdir("/"));
	OK(chroot("r"));
	STREQ(get("/f"), "two");
	STREQ(get("f"), "one");
	OK(chdir(".."));
	OK(chdir("/"));
	STREQ(getcwd(buf, sizeof(buf)), "/");
	STREQ(get("f"), "two");
}

TEST(chroot_is_inherited_and_its_own)
{
	int up;

	need_root();
	OK(mkdir("r", 0755));
	put("r/f", "inside");
	up = OK(open(".", O_PATH | O_DIRECTORY));
	EQ(wait_for(CHILD({
		   OK(chroot("r"));
		   EQ(wait_for(CHILD({ STREQ(get("/f"), "inside"); })), 0);
		   /* a descriptor of outside still leads there */
		   EQ(faccessat(up, "r/f", F_OK, 0), 0);
		   ERR(faccessat(up, "/r", F_OK, 0), ENOENT);
		   OK(fchdir(up));
		   OK(access("r/f", F_OK));
	   })),
	   0);
	ERR(access("/f", F_OK), ENOENT);
}

TEST(chroot_shows_in_proc)
{
	char want[PATH_MAX], buf[PATH_MAX];
	ssize_t n;
	int proc;

	need_root();
	OK(mkdir("r", 0755));
	CHECK(realpath("r", want));
	proc = OK(open("/proc", O_RDONLY | O_DIRECTORY));
	OK(chroot("r"));
	n = OK(readlinkat(proc, "self/root", buf, sizeof(buf) - 1));
	buf[n] = '\0';
	STREQ(buf, "/");
	EQ(faccessat(proc, "self/root/etc", F_OK, 0), -1);
}

TEST(chroot_of_what_is_no_directory)
{
	put("f", "x");
	ERR(chroot("none"), ENOENT);
	ERR(chroot("f"), ENOTDIR);
	ERR(chroot("f/x"), ENOTDIR);
	need_root();
	OK(mkdir("d", 0));
	OK(chroot("d"));
}

TEST(capabilities_of_root)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	OK(syscall(SYS_capget, &h, d));
	if (geteuid()) {
		EQ(d[0].effective, 0);
		EQ(d[0].permitted, 0);
		return;
	}
	/* chown, dac_override, fowner, setgid, setuid, sys_chroot, mknod */
	EQ(d[0].effective & 0x080400cb, 0x080400cb);
	d[0].effective = 0;
	OK(syscall(SYS_capset, &h, d));
	put("f", "x");
	ERR(chown("f", 5, 5), EPERM);
	ERR(chroot("."), EPERM);
}

TEST(only_the_sticky_directorys_users_remove)
{
	need_root();
	OK(chmod(".", 0755));
	OK(mkdir("t", 0777));
	OK(chmod("t", 01777));
	put("t/f", "x");
	OK(chown("t/f", 5, 5));
	EQ(wait_for(CHILD({
		   OK(setuid(6));
		   ERR(unlink("t/f"), EPERM);
		   ERR(rename("t/f", "t/g"), EPERM);
	   })),
	   0);
	EQ(wait_for(CHILD({
		   OK(setuid(5));
		   OK(unlink("t/f"));
	   })),
	   0);
}

TEST(priority_and_port_of_root)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "s"};
	struct ucred u;
	socklen_t len = sizeof(u);
	int s, sv[2];

	need_root();
	s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(bind(s, (struct sockaddr *)&un, sizeof(un)));
	OK(chown("s", 9, 9));
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	OK(getsockopt(sv[0], SOL_SOCKET, SO_PEERCRED, &u, &len));
	EQ(u.uid, 0);
	EQ(u.gid, 0);
}

static void copy_id(const char *to, uid_t uid, gid_t gid, mode_t mode)
{
	static char *cp[] = {"cp", "/usr/bin/id", NULL, NULL};

	cp[2] = (char *)to;
	EQ(run_prog(cp), 0);
	OK(chown(to, uid, gid));
	OK(chmod(to, mode));
}

/* Effective and real user and group, as the program sees them. */
static void show_ids(const char *id)
{
	static char *args[] = {"-u", "-ru", "-g", "-rg"};

	for (int i = 0; i < 4; i++) {
		char *argv[] = {(char *)id, args[i], NULL};

		fflush(stdout);
		EQ(run_prog(argv), 0);
	}
}

TEST(set_id_programs_have_their_effect)
{
	need_root();
	OK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	OK(chmod(".", 0755));
	copy_id("./user", 12, 34, 04755);
	copy_id("./group", 12, 34, 02755);
	copy_id("./both", 0, 0, 06755);
	copy_id("./locked", 12, 34, 02745);
	EQ(wait_for(CHILD({
		   OK(setgroups(0, NULL));
		   OK(setresgid(1001, 1001, 1001));
		   OK(setresuid(1001, 1001, 1001));
		   show_ids("./user");
		   show_ids("./group");
		   show_ids("./both");
		   show_ids("./locked");
		   OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		   EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
		   show_ids("./both");
	   })),
	   0);
	show_ids("./user");
}

TEST(exec_with_a_dropped_effective_id_keeps_what_can_come_back)
{
	static char *grep[] = {"grep", "-cE", "^Cap(Prm|Eff).*[1-9a-f]$",
			       "/proc/self/status", NULL};

	need_root();
	OK(seteuid(1001));
	fflush(stdout);
	EQ(run_prog(grep), 0);
}

TEST(another_real_id_is_told_to_the_loader)
{
	static char *sh[] = {"env", "LD_DEBUG=help", "/bin/true", NULL};

	/* a program that is AT_SECURE ignores it */
	need_root();
	OK(setresuid(1001, 0, 0));
	fflush(stdout);
	EQ(run_prog(sh), 0);
}
