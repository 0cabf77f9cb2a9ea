/*
 * jail.c - the sentry's side of building the jail; see jail.h.
 *
 * LAW 9: started by real root the child stops being host root before anything
 *   else (init.c), and maps to a high id that nothing on the host uses.
 *   (test: tests/escape, host root files)
 */
#include "jail.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "baredir.h"
#include "../loader/stub.h"
#include "../loader/stubimage.h"

int jail_send(int sock, const struct jail_msg *m, const int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int) * JAIL_FDS)];
	} ctl = {0};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	BUG_ON(nfds > JAIL_FDS);
	if (nfds) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&ctl.h), fds, sizeof(int) * nfds);
	}
	if (sendmsg(sock, &mh, MSG_NOSIGNAL) != (ssize_t)sizeof(*m))
		return -errno;
	return 0;
}

int jail_recv(int sock, struct jail_msg *m, int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int) * JAIL_FDS)];
	} ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof(ctl.space)};
	struct cmsghdr *c;
	ssize_t n;

	for (unsigned i = 0; i < nfds; i++)
		fds[i] = -1;
	do {
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof(*m))
		return -EPIPE;
	c = CMSG_FIRSTHDR(&mh);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		size_t got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int *have = (int *)(void *)CMSG_DATA(c);

		for (size_t i = 0; i < got; i++) {
			if (i < nfds)
				fds[i] = have[i];
			else
				close(have[i]);
		}
	}
	return 0;
}

static int write_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static int jail_map_ids(struct jail *j)
{
	bool root = geteuid() == 0;
	char text[64];
	int ret;

	if (!root) {
		ret = write_proc(j->init, "setgroups", "deny");
		if (ret)
			return ret;
	}
	snprintf(text, sizeof(text), "%u %u 1\n", j->cfg->gid,
		 root ? JAIL_HIGH_ID : getegid());
	ret = write_proc(j->init, "gid_map", text);
	if (ret)
		return ret;
	snprintf(text, sizeof(text), "%u %u 1\n", j->cfg->uid,
		 root ? JAIL_HIGH_ID : geteuid());
	return write_proc(j->init, "uid_map", text);
}

/* As real root the store belongs to our own user namespace: the guests' ids
 * are only numbers in the sentry. Whoever closes the mount last waits for all
 * processors (RCU): that is init, when nobody waits for it. */
static int store_make_as_root(struct jail *j, const struct config *cfg)
{
	char size[32], inodes[32];
	int mnt = -1, root;
	AUTO_CLOSE int fs = (int)syscall(SYS_fsopen, "tmpfs", 1);

	if (fs < 0)
		return -errno;
	snprintf(size, sizeof(size), "%llu",
		 (unsigned long long)cfg->limits.disk);
	snprintf(inodes, sizeof(inodes), "%llu",
		 (unsigned long long)jail_store_inodes(cfg));
	if (syscall(SYS_fsconfig, fs, 1, "mode", "0700", 0) < 0 ||
	    syscall(SYS_fsconfig, fs, 0, "inode64", NULL, 0) < 0 ||
	    (cfg->limits.disk &&
	     syscall(SYS_fsconfig, fs, 1, "size", size, 0) < 0) ||
	    syscall(SYS_fsconfig, fs, 1, "nr_inodes", inodes, 0) < 0 ||
	    syscall(SYS_fsconfig, fs, 6, NULL, NULL, 0) < 0)
		return -errno;
	mnt = (int)syscall(SYS_fsmount, fs, 1, 0);
	if (mnt < 0)
		return -errno;
	root = openat(mnt, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		root = -errno;
		close(mnt);
		return root;
	}
	j->mount_fd = mnt;
	return root;
}

static int bare_stub_write(struct jail *j)
{
	struct stat st;

	j->stub_path = xasprintf("%s/stub", j->bare_dir);
	AUTO_CLOSE int fd = open(j->stub_path,
				 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	if (fd < 0)
		return -errno;
	if (write(fd, stub_image, stub_image_size) !=
		    (ssize_t)stub_image_size ||
	    fchmod(fd, 0555) < 0 || fstat(fd, &st) < 0)
		return -EIO;
	j->stub_dev = st.st_dev;
	j->stub_ino = st.st_ino;
	return 0;
}

static int bare_prepare(struct jail *j)
{
	AUTO_FREE char *store = NULL;
	int ret = baredir_make(&j->bare_dir, &j->bare_lock);

	if (ret) {
		snprintf(j->reason, sizeof(j->reason),
			 "no writable directory without noexec in /dev/shm, "
			 "$XDG_RUNTIME_DIR, /tmp");
		return ret;
	}
	ret = bare_stub_write(j);
	if (ret)
		return ret;
	store = xasprintf("%s/store", j->bare_dir);
	if (mkdir(store, 0700) < 0)
		return -errno;
	j->store_fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->store_fd < 0)
		return -errno;
	return 0;
}

static void jail_child(struct jail *j, int sock)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	init_main(j->cfg, sock, j->mount_fd, j->bare, j->bare_dir);
}

static int jail_spawn(struct jail *j)
{
	unsigned long flags = SIGCHLD;
	int sv[2];
	long pid;

	/* The child makes the others itself (init.c), while we go on: that of
	 * the network takes as long as all the rest. */
	if (!j->bare)
		flags |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	pid = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (pid < 0) {
		int err = errno;

		close(sv[0]);
		close(sv[1]);
		snprintf(j->reason, sizeof(j->reason), "making namespaces: %s",
			 strerror(err));
		return -err;
	}
	if (pid == 0) {
		close(sv[0]);
		jail_child(j, sv[1]);
	}
	close(sv[1]);
	j->init = (pid_t)pid;
	j->sock = sv[0];
	return 0;
}

static int jail_wait_ready(struct jail *j)
{
	struct jail_msg m;
	int fds[2];
	int ret = jail_recv(j->sock, &m, fds, 2);

	if (ret) {
		snprintf(j->reason, sizeof(j->reason),
			 "the child that builds it died");
		return ret;
	}
	if (m.kind != JAIL_READY) {
		m.text[sizeof(m.text) - 1] = '\0';
		snprintf(j->reason, sizeof(j->reason), "%s: %s", m.text,
			 strerror(m.value));
		j->fatal = m.fatal;
		return -m.value;
	}
	if (m.fdmask & 1)
		j->store_fd = fd_take(&fds[0]);
	if (m.fdmask & 2)
		j->devpts_fd = fd_take(&fds[1]);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	j->landlock = m.landlock;
	if (!j->bare) {
		j->stub_dev = (dev_t)m.stub_dev;
		j->stub_ino = (ino_t)m.stub_ino;
	}
	return 0;
}

/* Nothing is left behind if ret is an error; returns it. */
static int jail_failed(struct jail *j, int ret)
{
	if (j->mount_fd >= 0)
		close(fd_take(&j->mount_fd));
	if (!ret)
		return 0;
	if (!j->reason[0])
		snprintf(j->reason, sizeof(j->reason), "%s", strerror(-ret));
	jail_fini(j);
	return ret;
}

/*
 * A core dump of a guest must not start the host's handler: the real limit is
 * 1, since a piped handler runs at 0. Where the caller's hard limit is 0 and
 * cannot be raised, that is only safe without a piped handler.
 */
static int jail_core_limit(struct jail *j)
{
	struct rlimit rl;
	char first = 0;

	if (getrlimit(RLIMIT_CORE, &rl) < 0 || rl.rlim_max >= 1)
		return 0;
	rl.rlim_cur = rl.rlim_max = 1;
	if (setrlimit(RLIMIT_CORE, &rl) == 0)
		return 0;
	AUTO_CLOSE int fd =
		open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &first, 1) == 1 && first != '|')
		return 0;
	snprintf(j->reason, sizeof(j->reason),
		 "the hard limit of core files is 0 and this machine pipes "
		 "core dumps to a program; run `ulimit -Hc 1` or more");
	return -EPERM;
}

int jail_begin(struct jail *j, const struct config *cfg, bool bare)
{
	struct jail_msg go = {.kind = JAIL_MAPPED};
	int ret;

	memset(j, 0, sizeof(*j));
	j->cfg = cfg;
	j->bare = bare;
	j->bare_lock = j->mount_fd = -1;
	j->sock = j->store_fd = j->devpts_fd = j->listener = -1;
	ret = jail_core_limit(j);
	if (ret)
		return ret;
	if (bare) {
		ret = bare_prepare(j);
	} else {
		j->stub_path = xstrdup(STUB_PATH);
		ret = geteuid() == 0 ? store_make_as_root(j, cfg) : 0;
		if (ret > 0) {
			j->store_fd = ret;
			ret = 0;
		}
	}
	if (!ret)
		ret = jail_spawn(j);
	if (!ret && !bare) {
		ret = jail_map_ids(j);
		if (ret)
			snprintf(j->reason, sizeof(j->reason),
				 "mapping ids: %s", strerror(-ret));
	}
	go.value = !bare && j->store_fd >= 0;
	if (!ret)
		ret = jail_send(j->sock, &go, NULL, 0);
	return jail_failed(j, ret);
}

int jail_ready(struct jail *j)
{
	return jail_failed(j, jail_wait_ready(j));
}

int jail_filter(struct jail *j, const struct sock_fprog *prog)
{
	struct jail_msg m = {.kind = JAIL_FILTER};
	size_t len = prog->len * sizeof(*prog->filter);
	AUTO_CLOSE int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0 || write(fd, prog->filter, len) != (ssize_t)len)
		return -EIO;
	m.value = (int32_t)prog->len;
	return jail_send(j->sock, &m, &fd, 1);
}

int jail_listener(struct jail *j)
{
	struct jail_msg m;
	int none, ret = jail_recv(j->sock, &m, &none, 1);

	if (ret)
		return ret;
	if (m.kind != JAIL_LISTENER)
		return m.value ? -m.value : -EPROTO;
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, j->init, 0);
	/* Filtered, init may not send descriptors before we answer calls. */
	j->listener = (int)syscall(SYS_pidfd_getfd, pidfd, m.value, 0);
	if (j->listener < 0)
		return -errno;
	m.kind = JAIL_MAPPED;
	return jail_send(j->sock, &m, NULL, 0);
}

int jail_start(struct jail *j, const struct jail_command *c)
{
	struct jail_msg m = {.kind = JAIL_RUN, .id = c->id, .value = c->last};
	int send[JAIL_FDS] = {c->block};
	unsigned n = 1;

	for (int i = 0; i < 3; i++) {
		if (c->fds[i] < 0)
			continue;
		m.fdmask |= 1u << i;
		send[n++] = c->fds[i];
	}
	if (c->tty >= 0) {
		m.fdmask |= 1u << 3;
		send[n++] = c->tty;
	}
	return jail_send(j->sock, &m, send, n);
}

void jail_signal(struct jail *j, uint32_t id, int sig)
{
	struct jail_msg m = {.kind = JAIL_SIGNAL, .id = id, .value = sig};

	if (jail_send(j->sock, &m, NULL, 0))
		log_debug("passing signal %d on failed", sig);
}

void jail_fini(struct jail *j)
{
	if (j->sock >= 0)
		close(j->sock);
	j->sock = -1;
	if (j->init > 0 && j->listener < 0) {
		kill(j->init, SIGKILL);
		waitpid(j->init, NULL, __WALL);
	}
	if (j->bare_dir) {
		baredir_end(j->bare_dir, j->bare_lock);
		free(j->bare_dir);
		j->bare_dir = NULL;
	}
	free(j->stub_path);
	j->stub_path = NULL;
}
