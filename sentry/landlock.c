/*
 * landlock.c - one more wall around the guests: no file access of their own
 * but EXECUTE|READ_FILE of the stub, no TCP bind or connect, signals and
 * abstract sockets scoped (landlock(7)).
 *
 * It closes what a call that slipped through could do with an injected
 * descriptor: reopen by /proc/self/fd, *at() below a directory, exec. EXECUTE
 * alone gives EACCES once READ_FILE is handled, hence both. To the kernel a
 * message queue of mq_open(3) is a file, too: those of the guests' own IPC
 * namespace may be read and written.
 */
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "jail.h"

/* Newer than the distribution's header. */
struct landlock_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;	     /* ABI 6 */
};

static const uint64_t fs_rights[] = {
	/* highest right bit + 1 by ABI, 1-based (landlock.h of the kernel) */
	[1] = 13, [2] = 14, [3] = 15, [4] = 15, [5] = 16, [6] = 16,
};

static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static int landlock_allow(int ruleset, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights,
		.parent_fd = fd,
	};

	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
		    &rule, 0) < 0)
		return -errno;
	return 0;
}

static int landlock_allow_stub(int ruleset, const char *stub_path)
{
	AUTO_CLOSE int fd = open(stub_path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return landlock_allow(ruleset, fd,
			      LANDLOCK_ACCESS_FS_EXECUTE |
				      LANDLOCK_ACCESS_FS_READ_FILE);
}

int landlock_restrict(const char *stub_path, int queues)
{
	int abi = landlock_abi(), known, ret;
	struct landlock_attr attr = {0};
	size_t size = sizeof(uint64_t);

	if (abi < 1)
		return 0;
	known = abi < 6 ? abi : 6;
	attr.handled_access_fs = (1ULL << fs_rights[known]) - 1;
	if (abi >= 4) {
		attr.handled_access_net = 3; /* bind and connect of TCP */
		size = 2 * sizeof(uint64_t);
	}
	if (abi >= 6) {
		attr.scoped = 3; /* abstract Unix sockets, signals */
		size = sizeof(attr);
	}
	AUTO_CLOSE int rs =
		(int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (rs < 0)
		return -errno;
	ret = landlock_allow_stub(rs, stub_path);
	if (!ret && queues >= 0)
		ret = landlock_allow(rs, queues,
				     LANDLOCK_ACCESS_FS_READ_FILE |
					     LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (ret)
		return ret;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, rs, 0) < 0)
		return -errno;
	return 1;
}
