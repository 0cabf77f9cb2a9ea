/*
 * sockets.h - what sockets.c, sockaddr.c, sockopt.c and sendmsg.c share.
 *
 * The sentry acts on its own copy of the guest's socket with its own copy of
 * the address; nothing about addresses is ever left to the kernel to read
 * again (law 2). The guests' network has a loopback and nothing else; the
 * sentry connects guest sockets, which live in that network, wherever it
 * itself is.
 */
#ifndef CLOCHE_SYSCALLS_SOCKETS_H
#define CLOCHE_SYSCALLS_SOCKETS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "help.h"
#include "socknames.h"
#include "../net/addr.h"

/* The guest's socket with the address it named. Lives in the call's arena. */
struct sockop {
	int fd; /* our copy; borrowed from the call */
	int domain, type;
	bool nonblock;
	struct sockaddr_storage addr; /* as given */
	socklen_t len;
	/* Where the kernel is to look: addr itself, or a name below dirfd */
	struct sockaddr_un un;
	socklen_t un_len;
	int dirfd; /* owned; -1: none */
	/* Internet addresses beyond the sandbox: asked for by the handler that
	 * can go there (may_leave), else refused by sockaddr_resolve. */
	bool may_leave, leaves;
	struct netaddr out_addr;
	uint16_t out_port;
};

/* Copies descriptor (argument 0) and address (arguments i, i + 1). */
int MUST_CHECK sockop_get(struct call *c, int i, struct sockop *op);
/* Sets what the descriptor is: -EBADF, -ENOTSOCK. */
int MUST_CHECK sockop_fd(struct call *c, gfd_t fd, struct sockop *op);

/* Finds where a connect or a send to op->addr goes: sets un and dirfd for a
 * Unix name; refuses (with a record) addresses outside the loopback. 0 or
 * -errno. */
int MUST_CHECK sockaddr_resolve(struct call *c, struct sockop *op);
/* Abstract names of the bare column carry the sandbox's tag. */
int MUST_CHECK sockaddr_abstract(struct call *c, struct sockop *op);
/* op->un becomes the name of a directory entry; -ENAMETOOLONG. */
int MUST_CHECK sockaddr_set_name(struct sockop *op, const char *name);
bool sockaddr_is_path(const struct sockop *op);
bool sockaddr_is_abstract(const struct sockop *op);
/* The text after sun_path's bytes, NUL-terminated: path of the guest. */
void sockaddr_path(const struct sockop *op, char path[109]);
/* Takes the tag off, and finds the name that a guest gave. */
void sockaddr_show(struct call *c, int fd, bool peer,
		   struct sockaddr_storage *addr, socklen_t *len);
/* 0, or -EACCES for a port below 1024 without the virtual capability. */
int sockaddr_port_check(const struct call *c, const struct sockop *op);

/* For workers: the thread's own cwd becomes dirfd. */
int MUST_CHECK sockets_enter_dir(int dirfd);
void sockets_leave_dir(void);

/* Has a connect on this TCP socket begun, or is it past that? Then the kernel
 * answers by itself and opens nothing. */
bool netconnect_under_way(const struct sockop *op);
/* connect to op->out_addr, op->leaves being set. May return CALL_DEFERRED. */
int64_t netconnect_call(struct call *c, struct sockop *op);
/* In a worker: may datagrams go to op->out_addr? 0 or -errno. */
int MUST_CHECK netconnect_datagram(struct call *c, const struct sockop *op);
/* Has this process been told so a moment ago? Never blocks; state lock. */
bool netconnect_datagram_known(struct call *c, const struct sockop *op);
/* sendmsg, sendmmsg of count messages, where datagrams are watched. May return
 * CALL_DEFERRED. */
int64_t netsend_call(struct call *c, unsigned count);

/* SIGPIPE for the calling thread, as the kernel would have sent it. */
void sockets_sigpipe(struct call *c);

#endif
