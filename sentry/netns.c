/*
 * netns.c - see netns.h.
 *
 * Neighbours are permanent and both ends have fixed addresses, so nothing is
 * ever asked by ARP: with one neighbour entry per destination a scan would
 * fill the table. IPv6 is left out where the host has none.
 */
#include "netns.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "filterdata.h"
#include "rtnl.h"
#include "../net/maker.h"

static const unsigned char guest_mac[6] = {2, 0, 10, 0, 2, 100};
static const unsigned char gateway_mac[6] = {2, 0, 10, 0, 2, 2};

struct report {
	int32_t err;
	char what[60];
};

/* What failed, and the errno of it, for the sentry. */
NORETURN static void fail(int sock, int err, const char *what)
{
	struct report r = {.err = err < 0 ? -err : EIO};

	snprintf(r.what, sizeof(r.what), "%s", what);
	if (write(sock, &r, sizeof(r)) < 0)
		_exit(1);
	_exit(0);
}

static void must(int sock, int ret, const char *what)
{
	if (ret < 0)
		fail(sock, ret, what);
}

static int last(long ret)
{
	return ret < 0 ? -errno : (int)ret;
}

/* Best effort: /proc/sys may be read-only. */
static void sysctl_set(const char *path, const char *value)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		log_debug("%s: %s", path, strerror(errno));
}

/* What the host's administrator has set, and programs wait by. */
static const char *const kept_sysctls[] = {
	"/proc/sys/net/ipv4/tcp_syn_retries",
	"/proc/sys/net/ipv4/tcp_keepalive_time",
	"/proc/sys/net/ipv4/tcp_keepalive_intvl",
	"/proc/sys/net/ipv4/tcp_keepalive_probes",
};

enum { SYSCTL_SIZE = 16 };

static void sysctls_read(char value[][SYSCTL_SIZE])
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_sysctls); i++) {
		AUTO_CLOSE int fd = open(kept_sysctls[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, value[i], SYSCTL_SIZE - 1);

		value[i][n > 0 ? n : 0] = '\0';
	}
}

static void sysctls_write(char value[][SYSCTL_SIZE])
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_sysctls); i++)
		if (value[i][0])
			sysctl_set(kept_sysctls[i], value[i]);
}

static int open_ns(pid_t pid, const char *ns)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, ns);
	return last(open(path, O_RDONLY | O_CLOEXEC));
}

static int everything_local(int nl, int lo, int gw, bool six)
{
	struct rtnl_ip half[2] = {
		rtnl_prefix(six ? "::" : "0.0.0.0", 1),
		rtnl_prefix(six ? "8000::" : "128.0.0.0", 1),
	};
	struct rtnl_ip guest = rtnl_ip(six ? NETNS_GUEST6 : NETNS_GUEST4);
	struct rtnl_ip own = rtnl_ip(six ? NETNS_GATEWAY6 : NETNS_GATEWAY4);
	int ret = rtnl_addr(nl, gw, &own);

	/* in the same table, so that the longer prefix wins */
	if (!ret)
		ret = rtnl_route(nl, gw, RTN_UNICAST, RT_TABLE_LOCAL, &guest,
				 NULL);
	for (int i = 0; !ret && i < 2; i++)
		ret = rtnl_route(nl, lo, RTN_LOCAL, RT_TABLE_LOCAL, &half[i],
				 NULL);
	if (!ret)
		ret = rtnl_neigh(nl, gw, &guest, guest_mac);
	return ret;
}

static void gateway_side(int sock, int guest_net)
{
	AUTO_CLOSE int nl = rtnl_open();
	int lo, gw, ret;

	must(sock, nl, "a netlink socket");
	lo = (int)if_nametoindex("lo");
	must(sock, rtnl_up(nl, lo), "the gateway's loopback");
	must(sock,
	     rtnl_veth(nl, "gw0", gateway_mac, "eth0", guest_mac, guest_net),
	     "a veth pair (is the kernel module there?)");
	gw = (int)if_nametoindex("gw0");
	must(sock, rtnl_up(nl, gw), "the gateway's end of the pair");
	must(sock, everything_local(nl, lo, gw, false), "the gateway's routes");
	ret = everything_local(nl, lo, gw, true);
	if (ret)
		log_debug("no IPv6 in the sandbox: %s", strerror(-ret));
}

static int guest_family(int nl, int eth, bool six)
{
	struct rtnl_ip own = rtnl_ip(six ? NETNS_GUEST6 : NETNS_GUEST4);
	struct rtnl_ip via = rtnl_ip(six ? NETNS_GATEWAY6 : NETNS_GATEWAY4);
	struct rtnl_ip all = rtnl_prefix(six ? "::" : "0.0.0.0", 0);
	int ret = rtnl_addr(nl, eth, &own);

	if (!ret)
		ret = rtnl_neigh(nl, eth, &via, gateway_mac);
	if (!ret && six) /* IPv6 wants a way to the gateway first */
		ret = rtnl_route(nl, eth, RTN_UNICAST, RT_TABLE_MAIN, &via,
				 NULL);
	if (!ret)
		ret = rtnl_route(nl, eth, RTN_UNICAST, RT_TABLE_MAIN, &all,
				 &via);
	return ret;
}

static void guest_side(int sock)
{
	AUTO_CLOSE int nl = rtnl_open();
	int eth, ret;

	must(sock, nl, "a netlink socket");
	eth = (int)if_nametoindex("eth0");
	must(sock, rtnl_up(nl, eth), "the guests' eth0");
	must(sock, guest_family(nl, eth, false), "the guests' routes");
	ret = guest_family(nl, eth, true);
	if (ret)
		log_debug("no IPv6 in the sandbox: %s", strerror(-ret));
	/* sendmsg is native: no connect by MSG_FASTOPEN. What comes through
	 * all the same is not expected by the gateway, and dropped. */
	sysctl_set("/proc/sys/net/ipv4/tcp_fastopen", "0");
}

/* No file, no capability, and no call but those of maker_serve. */
static void maker_confine(int sock)
{
	struct sock_fprog prog = filterdata_maker();
	int four, six;

	must(sock, maker_icmp(&four, &six), "a socket for errors");

	prctl(PR_SET_NAME, "cloche-sockets", 0, 0, 0);
	capng_get_caps_process();
	capng_clear(CAPNG_SELECT_BOTH);
	/* Filters of listeners need it on some kernels; good for this network
	 * namespace alone. */
	if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
			 CAP_NET_ADMIN) ||
	    capng_apply(CAPNG_SELECT_BOTH) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		fail(sock, -errno, "dropping rights");
	/* above those that they become */
	sock = fcntl(sock, F_DUPFD_CLOEXEC, 16);
	four = fcntl(four, F_DUPFD_CLOEXEC, 16);
	six = six < 0 ? -1 : fcntl(six, F_DUPFD_CLOEXEC, 16);
	close_range(0, 15, 0);
	if (dup2(sock, 0) < 0 || dup2(four, MAKER_ICMP4) < 0 ||
	    (six >= 0 && dup2(six, MAKER_ICMP6) < 0) ||
	    close_range(3, ~0U, 0) < 0)
		_exit(1);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		fail(0, -errno, "the seccomp filter of the socket maker");
}

NORETURN static void maker_main(pid_t init, int sock)
{
	int user = open_ns(init, "user"), guest = open_ns(init, "net"), own;
	char sysctls[ARRAY_SIZE(kept_sysctls)][SYSCTL_SIZE];
	struct report ok = {0};

	setsid();
	sysctls_read(sysctls);
	must(sock, user, "the sandbox's user namespace");
	must(sock, guest, "the sandbox's network namespace");
	must(sock, last(setns(user, CLONE_NEWUSER)),
	     "joining the sandbox's user namespace");
	must(sock, last(unshare(CLONE_NEWNET)), "a second network namespace");
	own = open_ns(getpid(), "net");
	must(sock, own, "the second network namespace");
	gateway_side(sock, guest);
	must(sock, last(setns(guest, CLONE_NEWNET)),
	     "joining the sandbox's network namespace");
	guest_side(sock);
	sysctls_write(sysctls);
	must(sock, last(setns(own, CLONE_NEWNET)), "coming back");
	maker_confine(sock);
	if (send(0, &ok, sizeof(ok), MSG_NOSIGNAL) < 0)
		_exit(1);
	maker_serve(0);
}

int netns_build(pid_t init, int *maker, char *reason, size_t size)
{
	struct report r;
	int sv[2], ret = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(sv[0]);
		if (fork() == 0)
			maker_main(init, sv[1]);
		_exit(0);
	}
	close(sv[1]);
	if (pid < 0)
		ret = -errno;
	else
		waitpid(pid, NULL, 0);
	if (!ret && read(sv[0], &r, sizeof(r)) != (ssize_t)sizeof(r))
		r = (struct report){EPIPE, "the process that makes sockets"};
	if (!ret && r.err) {
		r.what[sizeof(r.what) - 1] = '\0';
		snprintf(reason, size, "%s: %s", r.what, strerror(r.err));
		ret = -r.err;
	}
	if (ret)
		close(sv[0]);
	else
		*maker = sv[0];
	return ret;
}
