// modes: bare
/* Unix sockets: paths, abstract names, descriptors sent, credentials. */
#include "guest.h"

static struct sockaddr_un addr(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strncpy(a.sun_path, path, sizeof(a.sun_path));
	return a;
}

static socklen_t alen(const struct sockaddr_un *a, size_t name)
{
	(void)a;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name);
}

static int serve(const struct sockaddr_un *a, socklen_t len, int type)
{
	int s = OK(socket(AF_UNIX, type, 0));

	OK(bind(s, (const void *)a, len));
	if (type != SOCK_DGRAM)
		OK(listen(s, 5));
	return s;
}

static void talk(const struct sockaddr_un *a, socklen_t len)
{
	char b[8] = "";
	int s = serve(a, len, SOCK_STREAM);
	pid_t k = CHILD({
		int c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
		OK(connect(c, (const void *)a, len));
		EQ(write(c, "ping", 4), 4);
		EQ(read(c, b, 4), 4);
	});
	int c = OK(accept(s, NULL, NULL));
	EQ(read(c, b, 4), 4);
	EQ(write(c, "pong", 4), 4);
	EQ(wait_for(k), 0);
	OK(close(s));
}

TEST(stream_by_path)
{
	struct sockaddr_un a = addr("s");
	struct stat st;

	talk(&a, sizeof(a));
	OK(stat("s", &st));
	CHECK(S_ISSOCK(st.st_mode));
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	ERR(bind(s, (void *)&a, sizeof(a)), EADDRINUSE);
	ERR(connect(s, (void *)&a, sizeof(a)), ECONNREFUSED);
	OK(unlink("s"));
	ERR(connect(s, (void *)&a, sizeof(a)), ENOENT);
}

TEST(stream_by_a_path_of_107_and_108_bytes)
{
	char p[128];

	memset(p, 'p', sizeof(p));
	p[107] = 0;
	struct sockaddr_un a = addr(p);
	talk(&a, sizeof(a));
	CHECK(exists(p));
	OK(unlink(p));
	p[107] = 'p', p[108] = 0;
	a = addr(p);
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(bind(s, (void *)&a, sizeof(a)));
	CHECK(exists(p));
}

TEST(stream_by_abstract_name)
{
	struct sockaddr_un a = addr("");

	snprintf(a.sun_path + 1, 90, "cloche-test-%d", getpid());
	talk(&a, alen(&a, 1 + strlen(a.sun_path + 1)));
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	ERR(connect(s, (void *)&a, alen(&a, 4)), ECONNREFUSED);
}

TEST(autobind_gives_an_abstract_name)
{
	struct sockaddr_un a = addr("");
	socklen_t len = sizeof(a);
	int s = OK(socket(AF_UNIX, SOCK_DGRAM, 0));

	OK(bind(s, (void *)&a, sizeof(sa_family_t)));
	OK(getsockname(s, (void *)&a, &len));
	EQ(len, sizeof(sa_family_t) + 6);
	EQ(a.sun_path[0], 0);
}

TEST(names_by_getsockname_and_getpeername)
{
	struct sockaddr_un a = addr("./s"), b;
	socklen_t len = sizeof(b);
	int s = serve(&a, alen(&a, 4), SOCK_STREAM);

	OK(getsockname(s, (void *)&b, &len));
	EQ(len, 2 + 4);
	STREQ(b.sun_path, "./s");
	int c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(connect(c, (void *)&a, sizeof(a)));
	len = sizeof(b);
	memset(&b, 0, sizeof(b));
	OK(getpeername(c, (void *)&b, &len));
	STREQ(b.sun_path, "./s");
	len = sizeof(b);
	OK(getsockname(c, (void *)&b, &len));
	EQ(len, 2);
	int d = OK(accept(s, (void *)&b, (len = sizeof(b), &len)));
	EQ(len, 2);
	len = sizeof(b);
	OK(getpeername(d, (void *)&b, &len));
	EQ(len, 2);
}

TEST(socket_through_directories_and_links)
{
	OK(mkdir("d", 0755));
	struct sockaddr_un a = addr("d/s"), l = addr("l");
	int s = serve(&a, sizeof(a), SOCK_STREAM);
	OK(symlink("d/s", "l"));
	OK(rename("d", "e"));
	OK(unlink("l"));
	OK(symlink("e/s", "l"));
	int c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(connect(c, (void *)&l, sizeof(l)));
	OK(accept(s, NULL, NULL));
	struct sockaddr_un n = addr("none/s"), f = addr("f");
	c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	ERR(connect(c, (void *)&n, sizeof(n)), ENOENT);
	ERR(bind(c, (void *)&n, sizeof(n)), ENOENT);
	put("f", "x");
	ERR(connect(c, (void *)&f, sizeof(f)), ECONNREFUSED);
	ERR(bind(c, (void *)&f, sizeof(f)), EADDRINUSE);
}

TEST(bind_respects_umask)
{
	struct sockaddr_un a = addr("s");

	umask(077);
	serve(&a, sizeof(a), SOCK_STREAM);
	EQ(mode_of("s"), 0700);
	OK(chmod("s", 0666));
	EQ(mode_of("s"), 0666);
}

TEST(datagrams_to_a_name)
{
	struct sockaddr_un a = addr("srv"), b = addr("cli"), from;
	socklen_t len = sizeof(from);
	char buf[16] = "";
	int s = serve(&a, sizeof(a), SOCK_DGRAM);
	int c = serve(&b, sizeof(b), SOCK_DGRAM);

	EQ(sendto(c, "one", 3, 0, (void *)&a, sizeof(a)), 3);
	EQ(recvfrom(s, buf, 16, 0, (void *)&from, &len), 3);
	STREQ(from.sun_path, "cli");
	EQ(sendto(s, "back", 4, 0, (void *)&from, len), 4);
	EQ(recv(c, buf, 16, 0), 4);
	OK(connect(c, (void *)&a, sizeof(a)));
	EQ(send(c, "x", 1, 0), 1);
	struct sockaddr_un n = addr("none");
	ERR(sendto(s, "x", 1, 0, (void *)&n, sizeof(n)), ENOENT);
}

/* LIMIT of the sandbox with namespaces: a name in a message is not looked up
 * there, since no filter can see it: ENOENT. */
TEST(messages_to_a_name)
{
	struct sockaddr_un a = addr("srv");
	char buf[16] = "";
	int s = serve(&a, sizeof(a), SOCK_DGRAM);
	int c = OK(socket(AF_UNIX, SOCK_DGRAM, 0));
	struct iovec v = {"two", 3};
	struct msghdr m = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_iov = &v,
			   .msg_iovlen = 1};
	ssize_t n = sendmsg(c, &m, 0);

	if (n < 0 && errno == ENOENT)
		return;
	EQ(n, 3);
	struct mmsghdr mm[2] = {{.msg_hdr = m}, {.msg_hdr = m}};
	EQ(sendmmsg(c, mm, 2, 0), 2);
	for (int i = 0; i < 3; i++)
		EQ(recv(s, buf, 16, 0), 3);
}

TEST(answers_go_to_the_sender_wherever_it_is)
{
	char buf[16];
	struct sockaddr_un a = addr("d/srv"), b = addr("e/c"), from;
	socklen_t len = sizeof(from);

	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	int s = serve(&a, sizeof(a), SOCK_DGRAM);
	int c = serve(&b, sizeof(b), SOCK_DGRAM);
	EQ(sendto(c, "ask", 3, 0, (void *)&a, sizeof(a)), 3);
	EQ(recvfrom(s, buf, 16, 0, (void *)&from, &len), 3);
	EQ(sendto(s, "answer", 6, 0, (void *)&from, len), 6);
	EQ(recv(c, buf, 16, 0), 6);
}

static void send_fds(int s, int *fds, int n)
{
	char c = 'x', ctl[256] = "";
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen =
				   CMSG_SPACE(sizeof(int) * (size_t)n)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(h), fds, sizeof(int) * (size_t)n);
	EQ(sendmsg(s, &m, 0), 1);
}

static void recv_fds(int s, int *fds, int n)
{
	char c, ctl[256];
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};

	EQ(recvmsg(s, &m, 0), 1);
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_RIGHTS);
	EQ(h->cmsg_len, CMSG_LEN(sizeof(int) * (size_t)n));
	memcpy(fds, CMSG_DATA(h), sizeof(int) * (size_t)n);
}

TEST(files_sockets_and_memfds_are_sent)
{
	int sp[2], fds[4], got[4];
	char b[16] = "";
	struct stat st;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
	put("f", "");
	fds[0] = OK(open("f", O_RDWR));
	fds[1] = OK(socket(AF_UNIX, SOCK_DGRAM, 0));
	fds[2] = OK(memfd_create("m", 0));
	fds[3] = OK(open(lower("file"), O_RDONLY));
	pid_t k = CHILD({
		recv_fds(sp[1], got, 4);
		EQ(write(got[0], "written", 7), 7);
		OK(fchmod(got[0], 0640));
		OK(fstat(got[1], &st));
		CHECK(S_ISSOCK(st.st_mode));
		EQ(write(got[2], "mem", 3), 3);
		EQ(read(got[3], b, 16), 11);
		OK(fstat(got[3], &st));
		EQ(st.st_ino, ino_of(lower("file")));
		char p[32];
		snprintf(p, sizeof(p), "/proc/self/fd/%d", got[0]);
		EQ(readlink(p, b, 1), 1);
	});
	send_fds(sp[0], fds, 4);
	EQ(wait_for(k), 0);
	STREQ(get("f"), "written");
	EQ(mode_of("f"), 0640);
	EQ(pread(fds[2], b, 3, 0), 3);
}

TEST(peer_credentials)
{
	struct ucred u;
	socklen_t len = sizeof(u);
	struct sockaddr_un a = addr("s");
	int sp[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
	OK(getsockopt(sp[0], SOL_SOCKET, SO_PEERCRED, &u, &len));
	EQ(u.pid, getpid());
	EQ(u.uid, geteuid());
	EQ(u.gid, getegid());
	int s = serve(&a, sizeof(a), SOCK_STREAM);
	int p[2];
	char ch;
	OK(pipe(p));
	pid_t k = CHILD({
		int c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
		OK(connect(c, (void *)&a, sizeof(a)));
		len = sizeof(u);
		OK(getsockopt(c, SOL_SOCKET, SO_PEERCRED, &u, &len));
		EQ(u.pid, getppid());
		EQ(read(p[0], &ch, 1), 1);
	});
	int c = OK(accept(s, NULL, NULL));
	len = sizeof(u);
	OK(getsockopt(c, SOL_SOCKET, SO_PEERCRED, &u, &len));
	EQ(u.pid, k);
	EQ(u.uid, geteuid());
	EQ(write(p[1], "x", 1), 1);
	EQ(wait_for(k), 0);
}

TEST(passed_credentials)
{
	int sp[2], on = 1;
	char c = 'x', ctl[256];
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};

	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sp));
	OK(setsockopt(sp[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	pid_t k = CHILD(EQ(write(sp[1], "x", 1), 1));
	EQ(recvmsg(sp[0], &m, 0), 1);
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_CREDENTIALS);
	struct ucred u;
	memcpy(&u, CMSG_DATA(h), sizeof(u));
	EQ(u.pid, k);
	EQ(wait_for(k), 0);
}

TEST(socketpairs_of_all_types)
{
	int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	int sp[2];
	char b[8];

	for (int i = 0; i < 3; i++) {
		OK(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, sp));
		EQ(write(sp[0], "abc", 3), 3);
		EQ(read(sp[1], b, 8), 3);
		EQ(fcntl(sp[0], F_GETFD), FD_CLOEXEC);
	}
	ERR(socketpair(AF_UNIX, 99, 0, sp), EINVAL);
	ERR(socketpair(AF_INET, SOCK_STREAM, 0, sp), EOPNOTSUPP);
}

TEST(listen_backlog_nonblocking_connect)
{
	struct sockaddr_un a = addr("s");
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	int r = 0;

	OK(bind(s, (void *)&a, sizeof(a)));
	OK(listen(s, 1));
	for (int i = 0; i < 10 && r == 0; i++) {
		int c = OK(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
		r = connect(c, (void *)&a, sizeof(a));
	}
	EQ(r, -1);
	EQ(errno, EAGAIN);
}

TEST(connect_blocks_until_there_is_room)
{
	struct sockaddr_un a = addr("s");
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));

	OK(bind(s, (void *)&a, sizeof(a)));
	OK(listen(s, 0));
	int c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(connect(c, (void *)&a, sizeof(a)));
	pid_t k = CHILD({
		int d = OK(socket(AF_UNIX, SOCK_STREAM, 0));
		OK(connect(d, (void *)&a, sizeof(a)));
		EQ(write(d, "k", 1), 1);
	});
	usleep(50000);
	OK(accept(s, NULL, NULL));
	char ch;
	int e = OK(accept(s, NULL, NULL));
	EQ(read(e, &ch, 1), 1);
	EQ(wait_for(k), 0);
}
