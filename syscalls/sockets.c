/*
 * sockets.c - bind, connect, names of sockets and sends to an address.
 *
 * Internet sockets: the sentry's copy is bound and connected in the guests'
 * own network. Unix sockets with a path: a worker, whose cwd is its own, goes
 * to the store's directory and uses the bare name there. The sentry owns the
 * guests' user namespace, so the kernel would let it do more than a guest
 * may: ports are checked here first (law 8).
 *
 * LIMIT: the kernel notes the sentry as the peer of a Unix connection that it
 * made; SO_PEERCRED is answered from socknames.c, SCM_CREDENTIALS is not.
 */
#include "sockets.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#define SEND_MAX (1u << 20) /* bytes of one addressed send */

int sockop_fd(struct call *c, gfd_t fd, struct sockop *op)
{
	socklen_t n = sizeof(int);
	int flags;

	op->dirfd = -1;
	op->fd = call_fd(c, fd);
	if (op->fd < 0)
		return op->fd;
	if (getsockopt(op->fd, SOL_SOCKET, SO_DOMAIN, &op->domain, &n) < 0)
		return errno == ENOTSOCK && help_fd_usable(op->fd) ? -ENOTSOCK
								   : -EBADF;
	n = sizeof(int);
	if (getsockopt(op->fd, SOL_SOCKET, SO_TYPE, &op->type, &n) < 0)
		return -errno;
	flags = fcntl(op->fd, F_GETFL);
	op->nonblock = flags >= 0 && (flags & O_NONBLOCK);
	return 0;
}

int sockop_get(struct call *c, int i, struct sockop *op)
{
	int err = sockop_fd(c, arg_int(c, 0), op), bad;

	if (err && err != -ENOTSOCK)
		return err;
	/* connect looks at the address before it asks for a socket */
	if (err && c->nr != SYS_connect)
		return err;
	bad = help_sockaddr(c, i, &op->addr, &op->len);
	return bad ? bad : err;
}

/* The worker's cwd and umask become its own, once in its life. */
int sockets_enter_dir(int dirfd)
{
	static __thread bool own;

	if (dirfd < 0)
		return 0;
	if (!own && unshare(CLONE_FS) < 0) {
		log_host(errno, "unshare(CLONE_FS)");
		return -EIO;
	}
	own = true;
	return fchdir(dirfd) < 0 ? -errno : 0;
}

void sockets_leave_dir(void)
{
	if (chdir("/") < 0)
		log_debug("chdir: %s", strerror(errno));
}

void sockets_sigpipe(struct call *c)
{
	if (c->task)
		syscall(SYS_tgkill, c->task->tg->pid, c->tid, SIGPIPE);
}

/* ---- bind ---- */

/* Remembers what the guest called the new socket, and where it is. */
static void bind_note(struct call *c, const struct sockop *op,
		      const struct vfs_at *at)
{
	AUTO_PUT_VREF struct vref ref = {0};
	char path[PATH_LEN_MAX];
	struct sockname *k;
	struct stat st;

	if (fstat(op->fd, &st) < 0)
		return;
	k = sockname_add(c->s, st.st_ino, (const void *)&op->addr, op->len,
			 &op->un, op->un_len);
	if (vfs_lookup(&c->vfs, at, 0, &ref) == 0 &&
	    dentry_path(ref.dentry, c->vfs.root, path, sizeof(path)) > 0)
		k->path = xstrdup(path);
}

static int64_t bind_store(struct call *c, void *arg)
{
	struct sockop *op = arg;
	int64_t ret = sockets_enter_dir(op->dirfd);

	if (!ret) {
		if (bind(op->fd, (void *)&op->un, op->un_len) < 0)
			ret = errno == EADDRINUSE ? -EADDRINUSE : -errno;
		sockets_leave_dir();
	}
	close(fd_take(&op->dirfd));
	if (call_lock(c) && !ret) {
		char path[109];
		struct vfs_at at = {.path = path};

		sockaddr_path(op, path);
		ret = vfs_socket_bound(&c->vfs, &at);
		if (!ret)
			bind_note(c, op, &at);
	}
	call_unlock(c);
	return ret;
}

static bool already_bound(int fd)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);

	return getsockname(fd, (void *)&ss, &n) == 0 && n > sizeof(sa_family_t);
}

static int64_t bind_path(struct call *c, struct sockop *op)
{
	AUTO_PUT_VREF struct vref parent = {0};
	char path[109], name[NAME_LEN_MAX + 1];
	struct vfs_at at = {.path = path};
	int64_t ret;
	int err;

	if (already_bound(op->fd))
		return -EINVAL;
	sockaddr_path(op, path);
	call_audit_path(c, path);
	err = vfs_socket_prepare(&c->vfs, &at, 0777, &op->dirfd, name, &parent);
	if (err)
		return err == -EEXIST ? -EADDRINUSE : err;
	err = sockaddr_set_name(op, name);
	if (err) {
		close(fd_take(&op->dirfd));
		return err;
	}
	ret = call_block(c, bind_store, op);
	if (ret != CALL_DEFERRED)
		close(fd_take(&op->dirfd));
	return ret;
}

static struct sockop *op_alloc(struct call *c)
{
	struct sockop *op = call_alloc(c, sizeof(*op));

	if (op)
		op->dirfd = -1;
	return op;
}

int64_t h_bind(struct call *c)
{
	struct sockop *op = op_alloc(c);
	const void *addr;
	struct stat st;
	socklen_t len;
	int err;

	if (!op)
		return -ENOMEM;
	err = sockop_get(c, 1, op);
	if (err)
		return err;
	if (sockaddr_is_path(op))
		return bind_path(c, op);
	addr = &op->addr;
	len = op->len;
	if (sockaddr_is_abstract(op)) {
		err = sockaddr_abstract(c, op);
		addr = &op->un;
		len = op->un_len;
	} else {
		err = sockaddr_port_check(c, op);
	}
	if (err)
		return err;
	if (bind(op->fd, addr, len) < 0)
		return -errno;
	if (op->un_len && fstat(op->fd, &st) == 0)
		sockname_add(c->s, st.st_ino, (void *)&op->addr, op->len,
			     &op->un, op->un_len);
	return 0;
}

/* ---- connect ---- */

static const void *op_address(const struct sockop *op, socklen_t *len)
{
	*len = op->un_len ? op->un_len : op->len;
	return op->un_len ? (const void *)&op->un : (const void *)&op->addr;
}

/* Remembers who connected, for SO_PEERCRED on the other side. */
static void connect_note(struct call *c, const struct sockop *op)
{
	struct sockname *k;

	if (op->domain != AF_UNIX || !op->un_len)
		return;
	k = sockname_by_real(c->s, &op->un, op->un_len);
	if (!k)
		return;
	k->has_peer = true;
	k->peer_vpid = tgroup_vpid(c->task->tg);
	k->peer_uid = c->task->cred->euid;
	k->peer_gid = c->task->cred->egid;
}

static int64_t connect_worker(struct call *c, void *arg)
{
	struct sockop *op = arg;
	socklen_t len;
	const void *addr = op_address(op, &len);
	int64_t ret = c->cancel ? -EINTR : sockets_enter_dir(op->dirfd);

	if (!ret) {
		/* noted before: the server may ask at once */
		if (call_lock(c))
			connect_note(c, op);
		call_unlock(c);
		if (connect(op->fd, addr, len) < 0)
			ret = -errno;
	}
	if (op->dirfd >= 0) {
		sockets_leave_dir();
		close(fd_take(&op->dirfd));
	}
	return ret;
}

int64_t h_connect(struct call *c)
{
	struct sockop *op = op_alloc(c);
	const void *addr;
	socklen_t len;
	int64_t ret;
	int err;

	if (!op)
		return -ENOMEM;
	err = sockop_get(c, 1, op);
	op->may_leave = true;
	if (!err)
		err = sockaddr_resolve(c, op);
	if (err)
		return err;
	if (op->leaves && !netconnect_under_way(op))
		return netconnect_call(c, op);
	if (op->dirfd < 0 && (op->nonblock || op->type == SOCK_DGRAM ||
			      op->domain == AF_NETLINK)) {
		addr = op_address(op, &len);
		connect_note(c, op);
		return connect(op->fd, addr, len) < 0 ? -errno : 0;
	}
	ret = call_block(c, connect_worker, op);
	if (ret != CALL_DEFERRED && op->dirfd >= 0)
		close(fd_take(&op->dirfd));
	return ret;
}

/* ---- names ---- */

static int64_t socket_name(struct call *c, bool peer)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	int fd = call_fd(c, arg_int(c, 0));
	int err;

	if (fd < 0)
		return fd;
	if (!help_fd_usable(fd))
		return -EBADF;
	err = peer ? getpeername(fd, (void *)&ss, &len)
		   : getsockname(fd, (void *)&ss, &len);
	if (err < 0)
		return -errno;
	sockaddr_show(c, fd, peer, &ss, &len);
	return help_out_sockaddr(c, 1, &ss, len);
}

int64_t h_getsockname(struct call *c)
{
	return socket_name(c, false);
}

int64_t h_getpeername(struct call *c)
{
	return socket_name(c, true);
}

/* ---- sendto ---- */

struct sendop {
	struct sockop op;
	void *data; /* owned */
	size_t len;
	int flags;
};

static int64_t send_now(struct sendop *so, int more)
{
	socklen_t len;
	const void *addr = op_address(&so->op, &len);
	ssize_t n = sendto(so->op.fd, so->data, so->len,
			   (so->flags & ~MSG_ZEROCOPY) | more | MSG_NOSIGNAL,
			   addr, len);

	return n < 0 ? -errno : n;
}

static void send_fini(struct sendop *so)
{
	free(so->data);
	so->data = NULL;
	if (so->op.dirfd >= 0)
		close(fd_take(&so->op.dirfd));
}

static int64_t send_worker(struct call *c, void *arg)
{
	struct sendop *so = arg;
	int64_t ret = c->cancel ? -EINTR : sockets_enter_dir(so->op.dirfd);

	if (!ret && so->op.leaves)
		ret = netconnect_datagram(c, &so->op);
	if (!ret) {
		ret = send_now(so, 0);
		if (so->op.dirfd >= 0)
			sockets_leave_dir();
	}
	send_fini(so);
	if (call_lock(c) && ret == -EPIPE && !(so->flags & MSG_NOSIGNAL))
		sockets_sigpipe(c);
	call_unlock(c);
	return ret;
}

/* The kernel would send from our memory after we have freed it, and the guest
 * would see what stands there then. ENOBUFS: programs go on without. */
static int send_zerocopy(const struct sendop *so)
{
	int on = 0;
	socklen_t n = sizeof(on);

	if (!(so->flags & MSG_ZEROCOPY))
		return 0;
	if (getsockopt(so->op.fd, SOL_SOCKET, SO_ZEROCOPY, &on, &n) < 0)
		return 0;
	return on ? -ENOBUFS : 0;
}

static int send_prepare(struct call *c, struct sendop *so)
{
	bool stream = so->op.type == SOCK_STREAM;
	int err;

	so->len = c->args[2];
	if (so->len > SEND_MAX && !stream)
		return -EMSGSIZE;
	if (so->len > SEND_MAX)
		so->len = SEND_MAX; /* a short write, as streams may do */
	so->flags = arg_int(c, 3);
	err = send_zerocopy(so);
	if (!err)
		err = sockaddr_resolve(c, &so->op);
	if (err)
		return err;
	so->data = malloc(so->len ? so->len : 1);
	if (!so->data)
		return -ENOMEM;
	return so->len ? call_read(c, c->args[1], so->data, so->len) : 0;
}

int64_t h_sendto(struct call *c)
{
	struct sendop *so = call_alloc(c, sizeof(*so));
	int64_t ret;
	int err;

	if (!so)
		return -ENOMEM;
	so->op.dirfd = -1;
	err = sockop_get(c, 4, &so->op);
	so->op.may_leave = so->op.type == SOCK_DGRAM;
	if (!err)
		err = send_prepare(c, so);
	if (err) {
		send_fini(so);
		return err;
	}
	if (so->op.leaves && netconnect_datagram_known(c, &so->op))
		so->op.leaves = false;
	if (so->op.dirfd < 0 && !so->op.leaves) {
		ret = send_now(so, MSG_DONTWAIT);
		if (ret == -EPIPE && !(so->flags & MSG_NOSIGNAL))
			sockets_sigpipe(c);
		if (ret != -EAGAIN || so->op.nonblock ||
		    (so->flags & MSG_DONTWAIT)) {
			send_fini(so);
			return ret;
		}
	}
	ret = call_block(c, send_worker, so);
	if (ret != CALL_DEFERRED)
		send_fini(so);
	return ret;
}
