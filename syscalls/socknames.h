/*
 * socknames.h - the names that guests gave to Unix sockets.
 *
 * A socket bound to a virtual path is really bound in the store, under a name
 * relative to its directory. Here is kept, by the socket's own inode number
 * (of sockfs, counted up and not reused while one sentry lives), what the
 * guest called it, and who connected to it last. Bounded: the oldest names
 * are forgotten. Under the state lock.
 *
 * accept(2) and the recv family are native and show a bound Unix peer by its
 * name in the store: the last component. A send or connect to such a name,
 * where nothing is called so, goes to that socket.
 *
 * LIMIT: where two sockets in different directories have the same last
 * component, the younger wins.
 */
#ifndef CLOCHE_SYSCALLS_SOCKNAMES_H
#define CLOCHE_SYSCALLS_SOCKNAMES_H

#include <sys/socket.h>
#include <sys/un.h>

#include "../sentry/sentry.h"

#define SOCKNAMES_MAX 4096

struct sockname {
	struct hnode node; /* sentry.sockets, by inode number */
	struct list age;
	ino_t ino;
	struct sockaddr_un given; /* as the guest gave it */
	socklen_t given_len;
	struct sockaddr_un real; /* as bind(2) was told */
	socklen_t real_len;
	char *path; /* virtual and absolute at bind time; NULL: abstract */
	/* credentials of the last process that connected to it */
	bool has_peer;
	pid_t peer_vpid;
	uid_t peer_uid;
	gid_t peer_gid;
};

struct sockname *sockname_by_ino(struct sentry *s, ino_t ino);
struct sockname *sockname_by_real(struct sentry *s,
				  const struct sockaddr_un *real,
				  socklen_t len);
struct sockname *sockname_add(struct sentry *s, ino_t ino,
			      const struct sockaddr_un *given,
			      socklen_t given_len,
			      const struct sockaddr_un *real,
			      socklen_t real_len);

#endif
