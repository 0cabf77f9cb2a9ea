/*
 * filter_args.c - argument rules of the rows of class `args`, as one table.
 *
 * Each rule is a conjunction of masked comparisons; a call runs natively if
 * one rule of its number and column holds. The compiled filter, the plain C
 * oracle and the handlers' second look all read this table, so they cannot
 * drift apart.
 *
 * LAW 1: every comparison covers 64 bits. Where the kernel looks at the low
 *   half only, a high half that is not zero never matches: the call is
 *   notified, and filter_args_truncated() says whether the kernel's own
 *   truncation makes it harmless. Tested by tests/unit/filter_test.c.
 * LAW 2: a rule names register values only, never what a pointer or a
 *   descriptor number refers to.
 *
 * Why each family is safe is said above its rules. Immutable; any thread.
 */
#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sys/syscall.h>

#include "filter_args.h"
#include "table.h"

enum { JAIL = FILTER_JAIL, BARE = FILTER_BARE, BOTH = JAIL | BARE };

/* Rows are packed by hand: one family a block. */
/* clang-format off */
#define HIGH 0xffffffff00000000ull
#define EQ(a, v) { a, ~0ull, (uint32_t)(v) }
#define SEXT(a, v) { a, ~0ull, (uint64_t)(int64_t)(int32_t)(v) }
/* the low half under a mask, the high half zero */
#define LOW(a, m, v) { a, HIGH | (uint32_t)(m), (uint32_t)(v) }
/* all low bits but `free` are zero */
#define ONLY(a, free) LOW(a, ~(uint32_t)(free), 0)

#define RULE(call, col, ...) { SYS_##call, col, { __VA_ARGS__ } }
#define IOC(cmd) RULE(ioctl, BOTH, EQ(1, cmd))
/* numbers with bit 31 arrive sign-extended from an int parameter (musl) */
#define IOC31(cmd) IOC(cmd), RULE(ioctl, BOTH, SEXT(1, cmd))
#define IOCNET(cmd) RULE(ioctl, JAIL, EQ(1, cmd))
#define FCN(cmd) RULE(fcntl, BOTH, EQ(1, cmd))
#define PR(opt) RULE(prctl, BOTH, EQ(0, opt))
#define RLIM(r)                                        \
	RULE(prlimit64, JAIL, EQ(0, 0), EQ(1, r)),     \
		RULE(setrlimit, BOTH, EQ(0, r)),       \
		RULE(getrlimit, BOTH, EQ(0, r))
#define OPT(level, name)                                    \
	RULE(setsockopt, BOTH, EQ(1, level), EQ(2, name)),  \
		RULE(getsockopt, BOTH, EQ(1, level), EQ(2, name))
#define OPTNET(level, name)                                 \
	RULE(setsockopt, JAIL, EQ(1, level), EQ(2, name)),  \
		RULE(getsockopt, JAIL, EQ(1, level), EQ(2, name))
#define GETOPT(level, name) RULE(getsockopt, BOTH, EQ(1, level), EQ(2, name))
#define SOCKFLAGS ((uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK)) /* free */
#define INET(dom, type, proto) \
	RULE(socket, JAIL, EQ(0, dom), LOW(1, ~SOCKFLAGS, type), EQ(2, proto))

/* clone: no namespaces, no untraced child (law 6 of the design). A sibling of
 * the caller (PARENT) may be a child of init, which reaps any; PTRACE asks for
 * the tracer that there is. And a thread shares descriptors and memory with its group,
 * since descriptors are fetched through the group's pidfd. */
#define CLONE_NEVER                                                         \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |      \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_UNTRACED)
#define CLONE_WHOLE (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_FILES)

/* seccomp: TSYNC, SPEC_ALLOW, TSYNC_ESRCH; never NEW_LISTENER; LOG writes
 * to the host's log */
#define SECCOMP_FREE 0x15u

static const struct argrule rules[] = {
	/* a pidfd of an own child names nobody else */
	RULE(clone, BOTH, LOW(0, CLONE_NEVER | CLONE_THREAD, 0)),
	RULE(clone, BOTH,
	     LOW(0, CLONE_NEVER | CLONE_PIDFD | CLONE_WHOLE, CLONE_WHOLE)),

	/* A socket names nothing until bind, connect or a send to a name;
	 * families outside the private namespaces (VSOCK) never match. */
	RULE(socket, BOTH, EQ(0, AF_UNIX)),
	RULE(socketpair, BOTH, EQ(0, AF_UNIX)),
	INET(AF_INET, SOCK_STREAM, 0), INET(AF_INET, SOCK_STREAM, 6),
	INET(AF_INET, SOCK_DGRAM, 0), INET(AF_INET, SOCK_DGRAM, 17),
	INET(AF_INET6, SOCK_STREAM, 0), INET(AF_INET6, SOCK_STREAM, 6),
	INET(AF_INET6, SOCK_DGRAM, 0), INET(AF_INET6, SOCK_DGRAM, 17),
	INET(AF_INET, SOCK_DGRAM, 136 /* UDPLITE */),
	INET(AF_INET6, SOCK_DGRAM, 136),
	INET(AF_NETLINK, SOCK_RAW, 0), INET(AF_NETLINK, SOCK_DGRAM, 0),

	/* ioctl: terminals are our own pty or the guest's; TIOCSTI, TIOCCONS,
	 * TIOCLINUX, TIOCGPTPEER (an open) and line disciplines are notified */
	IOC(TCGETS), IOC(TCSETS), IOC(TCSETSW), IOC(TCSETSF), IOC(TCGETA),
	IOC(TCSETA), IOC(TCSETAW), IOC(TCSETAF), IOC(TCSBRK), IOC(TCSBRKP),
	IOC(TCXONC), IOC(TCFLSH), IOC31(TCGETS2), IOC(TCSETS2),
	IOC(TCSETSW2), IOC(TCSETSF2), IOC(TIOCGWINSZ), IOC(TIOCSWINSZ),
	IOC(TIOCGPGRP), IOC(TIOCSPGRP), IOC(TIOCGSID), IOC(TIOCNOTTY),
	IOC(TIOCSCTTY), IOC(TIOCEXCL), IOC(TIOCNXCL), IOC31(TIOCGEXCL),
	IOC(TIOCOUTQ), IOC(FIONREAD), IOC31(TIOCGPTN), IOC(TIOCSPTLCK),
	IOC31(TIOCGPTLCK), IOC(TIOCPKT), IOC31(TIOCGPKT),
	IOC(TIOCGETD), IOC(TIOCSBRK), IOC(TIOCCBRK), IOC(TIOCMGET),
	IOC(TIOCSIG), IOC31(TIOCGDEV), IOC(TIOCGLCKTRMIOS),
	/* descriptors and data; a clone's target must be open for writing, so
	 * it is a store file; a read-only source only lends its blocks */
	IOC(FIONBIO), IOC(FIOCLEX), IOC(FIONCLEX), IOC(FIOQSIZE),
	IOC(FIGETBSZ), IOC(FICLONE), IOC(FICLONERANGE), IOC31(RNDGETENTCNT),
	/* the private network's interfaces (bare: those are the host's) */
	IOC(SIOCATMARK), IOCNET(SIOCGIFNAME), IOCNET(SIOCGIFCONF),
	IOCNET(SIOCGIFFLAGS), IOCNET(SIOCGIFADDR), IOCNET(SIOCGIFBRDADDR),
	IOCNET(SIOCGIFNETMASK), IOCNET(SIOCGIFMTU), IOCNET(SIOCGIFHWADDR),
	IOCNET(SIOCGIFINDEX), IOCNET(SIOCGIFTXQLEN), IOCNET(SIOCGIFDSTADDR),
	IOCNET(SIOCGIFMETRIC),

	/* fcntl: the descriptor table, pipes, seals (store files refuse
	 * them); 1027 F_DUPFD_QUERY, 1035 and 1037 read write-hints */
	FCN(0 /* F_DUPFD */), FCN(1030 /* F_DUPFD_CLOEXEC */),
	FCN(1 /* F_GETFD */), FCN(2 /* F_SETFD */),
	FCN(1031 /* F_SETPIPE_SZ */), FCN(1032 /* F_GETPIPE_SZ */),
	FCN(1033 /* F_ADD_SEALS */), FCN(1034 /* F_GET_SEALS */), FCN(1027),
	FCN(1035), FCN(1037),

	/* prctl: the caller's own attributes. Numbers are those of
	 * linux/prctl.h: PDEATHSIG 1 2, UNALIGN 5 6, FP 9-12, TIMING 13 14,
	 * NAME 15 16, ENDIAN 19 20, SECCOMP 21 22, TSC 25 26, TIMERSLACK 29
	 * 30, perf off and on 31 32, MCE 33 34, SUBREAPER 36 37,
	 * TID_ADDRESS 40, THP 41 42, MPX 43 44, FP_MODE
	 * 45 46, SVE 50 51, SPECULATION 52 53, PAC 54, TAGGED 55 56,
	 * SYSCALL_USER_DISPATCH 59, SME 63 64, MDWE 65 66 */
	PR(1), PR(2), PR(5), PR(6), PR(9), PR(10), PR(11), PR(12), PR(13),
	PR(14), PR(15), PR(16), PR(19), PR(20), PR(21), PR(22), PR(25),
	PR(26), PR(29), PR(30), PR(31), PR(32), PR(33), PR(34), PR(36),
	PR(37), PR(40), PR(41), PR(42), PR(43), PR(44),
	PR(45), PR(46), PR(50), PR(51), PR(52), PR(53), PR(54), PR(55),
	PR(56), PR(59), PR(63), PR(64), PR(65), PR(66),
	PR(0x53564d41) /* SET_VMA */, PR(0x41555856) /* GET_AUXV */,
	/* PR_SET_MM_MAP and its size: an exe_fd in the map needs a capability
	 * that no guest has; the loader stub uses it without one */
	RULE(prctl, BOTH, EQ(0, 35), EQ(1, 14)),
	RULE(prctl, BOTH, EQ(0, 35), EQ(1, 15)),

	/* socket options: all concern the socket alone. Peer identity, marks,
	 * devices and attached programs are notified. */
	OPT(SOL_SOCKET, SO_REUSEADDR), OPT(SOL_SOCKET, SO_TYPE),
	OPT(SOL_SOCKET, SO_ERROR), OPT(SOL_SOCKET, SO_DONTROUTE),
	OPT(SOL_SOCKET, SO_BROADCAST), OPT(SOL_SOCKET, SO_SNDBUF),
	OPT(SOL_SOCKET, SO_RCVBUF), OPT(SOL_SOCKET, SO_KEEPALIVE),
	OPT(SOL_SOCKET, SO_OOBINLINE), OPT(SOL_SOCKET, SO_LINGER),
	OPT(SOL_SOCKET, SO_REUSEPORT), OPT(SOL_SOCKET, SO_PASSCRED),
	OPT(SOL_SOCKET, SO_RCVLOWAT), OPT(SOL_SOCKET, SO_SNDLOWAT),
	OPT(SOL_SOCKET, SO_RCVTIMEO_OLD), OPT(SOL_SOCKET, SO_SNDTIMEO_OLD),
	OPT(SOL_SOCKET, SO_RCVTIMEO_NEW), OPT(SOL_SOCKET, SO_SNDTIMEO_NEW),
	OPT(SOL_SOCKET, SO_TIMESTAMP_OLD), OPT(SOL_SOCKET, SO_TIMESTAMP_NEW),
	OPT(SOL_SOCKET, SO_TIMESTAMPNS_OLD),
	OPT(SOL_SOCKET, SO_TIMESTAMPNS_NEW), OPT(SOL_SOCKET, SO_ACCEPTCONN),
	OPT(SOL_SOCKET, SO_PROTOCOL), OPT(SOL_SOCKET, SO_DOMAIN),
	OPT(SOL_SOCKET, SO_RXQ_OVFL), OPT(SOL_SOCKET, SO_PEEK_OFF),
	OPT(SOL_SOCKET, SO_SELECT_ERR_QUEUE), OPT(SOL_SOCKET, SO_ZEROCOPY),
	GETOPT(SOL_SOCKET, SO_COOKIE), GETOPT(SOL_SOCKET, SO_INCOMING_CPU),
	OPT(SOL_SOCKET, SO_PRIORITY), OPT(SOL_SOCKET, SO_BSDCOMPAT),
	OPT(SOL_SOCKET, SO_PASSSEC), OPT(SOL_SOCKET, SO_TIMESTAMPING_OLD),
	OPT(SOL_SOCKET, SO_TIMESTAMPING_NEW), OPT(SOL_SOCKET, SO_WIFI_STATUS),
	OPT(SOL_SOCKET, SO_NOFCS), OPT(SOL_SOCKET, SO_LOCK_FILTER),
	OPT(SOL_SOCKET, SO_DETACH_FILTER), OPT(SOL_SOCKET, SO_MAX_PACING_RATE),
	OPT(SOL_SOCKET, SO_BUF_LOCK), OPT(SOL_SOCKET, 74 /* TXREHASH */),
	GETOPT(SOL_SOCKET, SO_DEBUG), GETOPT(SOL_SOCKET, SO_MARK),
	GETOPT(SOL_SOCKET, SO_BUSY_POLL), GETOPT(SOL_SOCKET, SO_MEMINFO),
	GETOPT(SOL_SOCKET, SO_BPF_EXTENSIONS), GETOPT(SOL_SOCKET, SO_TXTIME),
	GETOPT(SOL_SOCKET, SO_INCOMING_NAPI_ID),
	GETOPT(SOL_SOCKET, SO_PREFER_BUSY_POLL),
	GETOPT(SOL_SOCKET, SO_RESERVE_MEM), GETOPT(SOL_SOCKET, 75 /* RCVMARK */),
	GETOPT(SOL_SOCKET, SO_GET_FILTER),
	/* an interface of the private network */
	OPTNET(SOL_SOCKET, SO_BINDTODEVICE), OPTNET(SOL_SOCKET, SO_BINDTOIFINDEX),
	/* TCP: NODELAY 1 ... CONGESTION 13, USER_TIMEOUT 18, FASTOPEN 23,
	 * TIMESTAMP 24, NOTSENT_LOWAT 25; THIN_LINEAR_TIMEOUTS 16,
	 * THIN_DUPACK 17, CC_INFO 26, SAVE_SYN 27, SAVED_SYN 28, INQ 36,
	 * TX_DELAY 37 */
	OPTNET(6, 1), OPTNET(6, 2), OPTNET(6, 3), OPTNET(6, 4), OPTNET(6, 5),
	OPTNET(6, 6), OPTNET(6, 7), OPTNET(6, 8), OPTNET(6, 9), OPTNET(6, 10),
	OPTNET(6, 11), OPTNET(6, 12), OPTNET(6, 13), OPTNET(6, 18),
	OPTNET(6, 23), OPTNET(6, 24), OPTNET(6, 25), OPTNET(6, 16),
	OPTNET(6, 17), OPTNET(6, 26), OPTNET(6, 27), OPTNET(6, 28),
	OPTNET(6, 36), OPTNET(6, 37),
	/* IP: TOS TTL PKTINFO MTU_DISCOVER RECVERR RECVTTL RECVTOS MTU
	 * BIND_ADDRESS_NO_PORT MULTICAST_*; RECVOPTS RETOPTS MINTTL, groups
	 * by source 37-48, MULTICAST_ALL, LOCAL_PORT_RANGE */
	OPTNET(0, 1), OPTNET(0, 2), OPTNET(0, 8), OPTNET(0, 10),
	OPTNET(0, 11), OPTNET(0, 12), OPTNET(0, 13), OPTNET(0, 14),
	OPTNET(0, 24), OPTNET(0, 32), OPTNET(0, 33), OPTNET(0, 34),
	OPTNET(0, 35), OPTNET(0, 36), OPTNET(0, 49), OPTNET(0, 6),
	OPTNET(0, 7), OPTNET(0, 21), OPTNET(0, 37), OPTNET(0, 38),
	OPTNET(0, 39), OPTNET(0, 40), OPTNET(0, 41), OPTNET(0, 42),
	OPTNET(0, 43), OPTNET(0, 44), OPTNET(0, 45), OPTNET(0, 46),
	OPTNET(0, 47), OPTNET(0, 48), OPTNET(0, 51),
	/* IPv6: UNICAST_HOPS MULTICAST_* MTU* RECVERR V6ONLY RECVPKTINFO
	 * RECVHOPLIMIT DONTFRAG RECVTCLASS TCLASS; groups 27-29, 42-48, PKTINFO,
	 * HOPLIMIT, what is received of headers 53 56 58 60, PATHMTU,
	 * AUTOFLOWLABEL, ADDR_PREFERENCES, MINHOPCOUNT */
	OPTNET(41, 16), OPTNET(41, 17), OPTNET(41, 18), OPTNET(41, 19),
	OPTNET(41, 20), OPTNET(41, 21), OPTNET(41, 23), OPTNET(41, 24),
	OPTNET(41, 25), OPTNET(41, 26), OPTNET(41, 49), OPTNET(41, 51),
	OPTNET(41, 62), OPTNET(41, 66), OPTNET(41, 67), OPTNET(41, 27),
	OPTNET(41, 28), OPTNET(41, 29), OPTNET(41, 42), OPTNET(41, 43),
	OPTNET(41, 44), OPTNET(41, 45), OPTNET(41, 46), OPTNET(41, 47),
	OPTNET(41, 48), OPTNET(41, 50), OPTNET(41, 52), OPTNET(41, 53),
	OPTNET(41, 56), OPTNET(41, 58), OPTNET(41, 60), OPTNET(41, 61),
	OPTNET(41, 70), OPTNET(41, 72), OPTNET(41, 73),
	/* UDP: CORK SEGMENT GRO; UDPLITE: SEND_CSCOV RECV_CSCOV; netlink */
	OPTNET(136, 1), OPTNET(136, 10), OPTNET(136, 11),
	OPTNET(17, 1), OPTNET(17, 103), OPTNET(17, 104), OPTNET(270, 1),
	OPTNET(270, 2), OPTNET(270, 3), OPTNET(270, 4), OPTNET(270, 5),
	OPTNET(270, 10), OPTNET(270, 11), OPTNET(270, 12),

	/* own limits; NOFILE, CORE and NPROC are virtual */
	RLIM(RLIMIT_CPU), RLIM(RLIMIT_FSIZE), RLIM(RLIMIT_DATA),
	RLIM(RLIMIT_STACK), RLIM(RLIMIT_RSS), RLIM(RLIMIT_MEMLOCK),
	RLIM(RLIMIT_AS), RLIM(RLIMIT_LOCKS), RLIM(RLIMIT_SIGPENDING),
	RLIM(RLIMIT_MSGQUEUE), RLIM(RLIMIT_NICE), RLIM(RLIMIT_RTPRIO),
	RLIM(RLIMIT_RTTIME),

	/* no address: data on a connected descriptor */
	{ SYS_sendto, BOTH, { { 4, ~0ull, 0 } } },

	/* a guest's own filters can only deny it its own calls */
	RULE(seccomp, BOTH, EQ(0, 0), EQ(1, 0)),
	RULE(seccomp, BOTH, EQ(0, 1), ONLY(1, SECCOMP_FREE)),
	RULE(seccomp, BOTH, EQ(0, 2)), RULE(seccomp, BOTH, EQ(0, 3)),

	/* the network is private, abstract names too, and pathnames resolve
	 * in the jail's empty root. With rules about datagrams they
	 * are notified (filter_build_datagrams). LIMIT: so a pathname in
	 * msg_name is ECONNREFUSED or ENOENT instead of found in the virtual
	 * tree */
	RULE(sendmsg, JAIL), RULE(sendmmsg, JAIL),
};

/* Arguments of which the kernel looks at the low half only; one bit each. */
static const struct {
	int16_t nr;
	uint8_t args;
} int_args[] = {
	{ SYS_clone, 1 },	{ SYS_socket, 7 },
	{ SYS_socketpair, 7 },	{ SYS_ioctl, 2 },
	{ SYS_fcntl, 2 },	{ SYS_prctl, 1 },
	{ SYS_setsockopt, 6 },	{ SYS_getsockopt, 6 },
	{ SYS_prlimit64, 3 },	{ SYS_setrlimit, 1 },
	{ SYS_getrlimit, 1 },	{ SYS_seccomp, 3 },
};
/* clang-format on */

static uint8_t column_bit(bool bare)
{
	return bare ? BARE : JAIL;
}

static bool rule_holds(const struct argrule *r, const uint64_t args[6])
{
	for (size_t i = 0; i < FILTER_CMP_MAX && r->cmp[i].mask; i++) {
		const struct argcmp *c = &r->cmp[i];

		if ((args[c->arg] & c->mask) != c->value)
			return false;
	}
	return true;
}

bool filter_args_allow(int nr, const uint64_t args[6], bool bare)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct argrule *r = &rules[i];

		if (r->nr == nr && (r->columns & column_bit(bare)) &&
		    rule_holds(r, args))
			return true;
	}
	return false;
}

bool filter_args_truncated(int nr, const uint64_t args[6], bool bare)
{
	uint64_t low[6];

	memcpy(low, args, sizeof(low));
	for (size_t i = 0; i < ARRAY_SIZE(int_args); i++)
		for (int a = 0; int_args[i].nr == nr && a < 6; a++)
			if (int_args[i].args & (1 << a))
				low[a] = (uint32_t)low[a];
	/* Else the filter has seen the same. */
	return memcmp(low, args, sizeof(low)) &&
	       filter_args_allow(nr, low, bare);
}

bool filter_args_known(int nr, bool bare)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].nr == nr && (rules[i].columns & column_bit(bare)))
			return true;
	return false;
}

size_t filter_args_sample(size_t i, int *nr, uint64_t args[6])
{
	if (i < ARRAY_SIZE(rules)) {
		*nr = rules[i].nr;
		for (size_t k = 0; k < FILTER_CMP_MAX && rules[i].cmp[k].mask;
		     k++)
			args[rules[i].cmp[k].arg] = rules[i].cmp[k].value;
	}
	return ARRAY_SIZE(rules);
}

const struct argrule *filter_args_rules(size_t *count)
{
	*count = ARRAY_SIZE(rules);
	return rules;
}
