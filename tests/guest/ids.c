// modes: bare vroot
/* User and group ids and capabilities, by random walks through the calls
 * that change them; what each gives is compared with the native run. */
#include "guest.h"
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>

static unsigned rnd_state;

static unsigned rnd(unsigned n)
{
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (rnd_state >> 16) % n;
}

static void show(const char *what, long ret)
{
	int e = errno;
	uid_t r, u, s;
	gid_t a, b, c;
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	OK(getresuid(&r, &u, &s));
	OK(getresgid(&a, &b, &c));
	memset(d, 0, sizeof(d));
	OK(syscall(SYS_capget, &h, d));
	/* Which capabilities root natively has depends on the machine. */
	printf("%s %ld %s: %d %d %d, %d %d %d, e%d p%d i%x\n", what, ret,
	       ret < 0 ? strerrorname_np(e) : "-", (int)r, (int)u, (int)s,
	       (int)a, (int)b, (int)c, d[0].effective != 0, d[0].permitted != 0,
	       d[0].inheritable & 0xff);
}

static uid_t pick(void)
{
	static const uid_t ids[] = {0, 1000, 1001, 2000, (uid_t)-1};

	return ids[rnd(5)];
}

static void step(void)
{
	uid_t a = pick(), b = pick(), c = pick();
	char what[80];
	long ret;

	errno = 0;
	switch (rnd(9)) {
	case 0:
		snprintf(what, sizeof(what), "setuid %d", (int)a);
		ret = syscall(SYS_setuid, a);
		break;
	case 1:
		snprintf(what, sizeof(what), "setgid %d", (int)a);
		ret = syscall(SYS_setgid, a);
		break;
	case 2:
		snprintf(what, sizeof(what), "setreuid %d %d", (int)a, (int)b);
		ret = syscall(SYS_setreuid, a, b);
		break;
	case 3:
		snprintf(what, sizeof(what), "setregid %d %d", (int)a, (int)b);
		ret = syscall(SYS_setregid, a, b);
		break;
	case 4:
		snprintf(what, sizeof(what), "setresuid %d %d %d", (int)a,
			 (int)b, (int)c);
		ret = syscall(SYS_setresuid, a, b, c);
		break;
	case 5:
		snprintf(what, sizeof(what), "setresgid %d %d %d", (int)a,
			 (int)b, (int)c);
		ret = syscall(SYS_setresgid, a, b, c);
		break;
	case 6:
		snprintf(what, sizeof(what), "setfsuid %d", (int)a);
		ret = syscall(SYS_setfsuid, a);
		break;
	case 7:
		snprintf(what, sizeof(what), "setfsgid %d", (int)a);
		ret = syscall(SYS_setfsgid, a);
		break;
	default:
		snprintf(what, sizeof(what), "KEEPCAPS %d", (int)(a & 1));
		ret = prctl(PR_SET_KEEPCAPS, a & 1, 0, 0, 0);
		break;
	}
	show(what, ret);
}

TEST(random_walks_through_ids)
{
	for (unsigned walk = 0; walk < 40; walk++) {
		pid_t k = CHILD({
			rnd_state = walk + 1;
			for (int i = 0; i < 8; i++)
				step();
		});
		EQ(wait_for(k), 0);
	}
}

TEST(supplementary_groups)
{
	gid_t g[3] = {1000, 5, 7}, got[8];

	if (geteuid())
		ERR(setgroups(3, g), EPERM);
	else
		OK(setgroups(3, g));
	int n = OK(getgroups(8, got));
	printf("%d groups\n", n);
	for (int i = 0; i < n; i++)
		printf("%d\n", (int)got[i]);
	if (n)
		ERR(syscall(SYS_getgroups, n - 1 ? n - 1 : -1, got), EINVAL);
	ERR(syscall(SYS_getgroups, -1, got), EINVAL);
	ERR(setgroups(70000, g), geteuid() ? EPERM : EINVAL);
}

TEST(files_are_made_with_the_fs_ids)
{
	struct stat st;

	if (geteuid())
		SKIP("needs root");
	OK(chmod(".", 0777));
	OK(setegid(1001));
	OK(seteuid(1001));
	put("f", "x");
	OK(stat("f", &st));
	EQ(st.st_uid, 1001);
	EQ(st.st_gid, 1001);
	ERR(chown("f", 0, 0), EPERM);
	ERR(open(lower("rootfile"), O_WRONLY), EACCES);
	OK(seteuid(0));
	OK(chown("f", 3, 4));
	OK(stat("f", &st));
	EQ(st.st_uid, 3);
	EQ(st.st_gid, 4);
	OK(setfsuid(1001));
	EQ(setfsuid(-1), 1001);
	ERR(open("f", O_WRONLY), EACCES);
}

TEST(capset_takes_away_and_gives_nothing_back)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {0}, full[2];

	OK(syscall(SYS_capget, &h, full));
	OK(syscall(SYS_capset, &h, d));
	if (geteuid() == 0) {
		ERR(syscall(SYS_capset, &h, full), EPERM);
		ERR(setuid(1000), EPERM);
		ERR(chown(lower("file"), 5, 5), EPERM);
	}
	d[0].effective = 1;
	ERR(syscall(SYS_capset, &h, d), EPERM);
	h.version = 1;
	ERR(syscall(SYS_capset, &h, d), EINVAL);
	EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
	h.version = 1;
	OK(syscall(SYS_capget, &h, NULL));
	h.pid = -1;
	ERR(syscall(SYS_capget, &h, full), EINVAL);
	h.pid = 4000000;
	ERR(syscall(SYS_capget, &h, full), ESRCH);
}

TEST(ids_survive_exec)
{
	static char *id[] = {"id", "-u", NULL}, *gid[] = {"id", "-G", NULL};

	if (geteuid())
		SKIP("needs root");
	OK(setgroups(0, NULL));
	OK(setresgid(1001, 1001, 1001));
	OK(setresuid(1001, 1001, 1001));
	EQ(run_prog(id), 0);
	EQ(run_prog(gid), 0);
}

static void *in_thread(void *arg)
{
	(void)arg;
	/* the raw call concerns the thread alone */
	OK(syscall(SYS_setresuid, 1001, 1001, 1001));
	return (void *)(long)syscall(SYS_geteuid);
}

TEST(raw_setuid_is_a_threads_own)
{
	pthread_t t;
	void *ret;

	if (geteuid())
		SKIP("needs root");
	EQ(pthread_create(&t, NULL, in_thread, NULL), 0);
	EQ(pthread_join(t, &ret), 0);
	EQ((long)ret, 1001);
	EQ(geteuid(), 0);
	OK(setuid(1001));
	EQ(geteuid(), 1001);
	ERR(setuid(0), EPERM);
}
