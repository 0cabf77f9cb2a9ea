/*
 * outside_ask.c - the sentry's questions to the gateway; see outside.h.
 *
 * A place that was allowed a moment ago is recorded and asked for in one go:
 * the gateway still decides, and dials at once if its verdict is the same.
 * Otherwise it says so, and all goes as for a new place.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "call.h"
#include "outside_priv.h"
#include "sentry.h"

#define KNOWN_NS 30000000000ULL

void outside_ask_end(struct outside_ask *a)
{
	if (a->chan >= 0)
		close(fd_take(&a->chan));
}

/* The next message on the pair: 0, -EINTR if the call is to be given up (not
 * where the answer is sure to come at once), -ECONNREFUSED if the gateway has
 * gone. */
static int hear(struct call *c, struct outside_ask *a, bool sure)
{
	for (;;) {
		struct pollfd p = {.fd = a->chan, .events = POLLIN};
		int ret;

		if (c->cancel && !sure)
			return -EINTR;
		ret = poll(&p, 1, a->wait_ms);
		if (ret == 0)
			return -ETIME;
		if (ret < 0)
			continue;
		ret = netmsg_recv(a->chan, &a->got, NULL, MSG_DONTWAIT);
		if (ret == -EAGAIN || ret == -EINTR)
			continue;
		return ret ? -ECONNREFUSED : 0;
	}
}

/* Sends the question: the gateway's end of the pair goes with it. */
static int ask(struct call *c, struct outside_ask *a, const struct netmsg *m)
{
	struct outside *o = c->s->outside;
	int sv[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -EMFILE;
	a->chan = sv[0];
	do {
		ret = netmsg_send(o->sock, m, sv[1], 0);
	} while (ret == -EINTR && !c->cancel);
	close(sv[1]);
	return !ret || ret == -EINTR ? ret : -ECONNREFUSED;
}

/* ---- what is known ---- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct outside_known *known_slot(struct outside *o,
					const struct outside_ask *a)
{
	uint64_t h = hash_bytes(&a->addr, sizeof(a->addr), a->port);

	return &o->known[(h ^ a->proto) % OUTSIDE_KNOWN_MAX];
}

static void remember(struct outside *o, const struct outside_ask *a, int pid,
		     const struct netmsg *verdict)
{
	struct outside_known *k = known_slot(o, a);

	pthread_mutex_lock(&o->lock);
	k->addr = a->addr;
	k->port = a->port;
	k->proto = a->proto;
	k->pid = pid;
	k->until_ns = now_ns() + KNOWN_NS;
	k->got = *verdict;
	pthread_mutex_unlock(&o->lock);
}

/* The verdict on a place into a->got. */
static bool recall(struct outside *o, struct outside_ask *a, int pid)
{
	const struct outside_known *k = known_slot(o, a);
	bool found;

	pthread_mutex_lock(&o->lock);
	found = k->proto == a->proto && k->port == a->port && k->pid == pid &&
		netaddr_equal(&k->addr, &a->addr) && k->until_ns > now_ns();
	if (found)
		a->got = k->got;
	pthread_mutex_unlock(&o->lock);
	return found;
}

bool outside_sends(struct call *c, struct outside_ask *a)
{
	return recall(c->s->outside, a, c->task->tg->pid);
}

static void refuse(struct call *c, const struct outside_ask *a)
{
	enum { HINT_SIZE = NETHOST_SIZE + 32 };
	char path[NETHOST_SIZE + 8];
	char *hint = call_alloc(c, HINT_SIZE);
	struct netmsg m = a->got;

	m.addr = a->addr;
	m.port = a->port;
	outside_path(&m, path, sizeof(path));
	if (hint)
		snprintf(hint, HINT_SIZE, "--net-allow %s%s",
			 a->proto == ALLOW_UDP ? "udp://" : "", path);
	call_deny(c, m.rule[0] ? m.rule : "network", hint);
}

/* LAW 11: out before the effect. */
static int record_open(struct call *c, struct outside_ask *a,
		       const struct netmsg *m)
{
	struct audit_event ev = {.verdict = AUDIT_ALLOW};
	AUTO_FREE char *exe = NULL;
	struct netmsg r = *m;

	a->pid = 0;
	memcpy(r.name, a->got.name, sizeof(r.name));
	snprintf(ev.rule, sizeof(ev.rule), "%s", a->got.rule);
	if (call_lock(c)) {
		struct tgroup *tg = c->task->tg;

		a->pid = tg->pid;
		exe = tg->exe_path ? xstrdup(tg->exe_path) : NULL;
		ev.pid = tgroup_vpid(tg);
		ev.tid = task_vtid(c->task);
		ev.ppid = tg->parent ? tgroup_vpid(tg->parent) : 0;
	}
	call_unlock(c);
	ev.exe = exe;
	outside_record(c->s, "net.open", &r, &ev);
	return audit_flush(c->s->audit);
}

/* How it ended: see outside_open and outside_hold. */
static int outcome(const struct outside_ask *a)
{
	if (a->got.kind == NETMSG_HELD)
		return 2;
	if (a->got.kind == NETMSG_READY)
		return 1;
	if (a->got.kind == NETMSG_FAILED && a->got.value > 0 &&
	    a->got.value < 4096)
		return -a->got.value;
	return -ECONNREFUSED;
}

/* After its verdict on what was not recorded yet. */
static int go(struct call *c, struct outside_ask *a, struct netmsg *m, int most)
{
	const struct netmsg verdict = a->got;
	int ret;

	if (!verdict.value) {
		refuse(c, a);
		return 0;
	}
	ret = record_open(c, a, m);
	if (ret)
		return -ECONNREFUSED;
	if (a->proto == ALLOW_TCP)
		remember(c->s->outside, a, 0, &verdict);
	netmsg_init(m, NETMSG_GO, m->id);
	if (netmsg_send(a->chan, m, -1, 0))
		return -ECONNREFUSED;
	a->wait_ms = most;
	a->dialing = true;
	ret = hear(c, a, false);
	if (ret)
		return ret;
	ret = outcome(a);
	if (ret == 1 && a->datagram && a->pid)
		remember(c->s->outside, a, a->pid, &verdict);
	return ret;
}

int outside_open(struct call *c, struct outside_ask *a)
{
	struct outside *o = c->s->outside;
	bool known = a->proto == ALLOW_TCP && recall(o, a, 0);
	struct netmsg m;
	int ret, most = a->wait_ms;

	netmsg_init(&m, NETMSG_ASK,
		    __atomic_add_fetch(&o->ids, 1, __ATOMIC_RELAXED));
	m.proto = a->proto;
	m.addr = a->addr;
	m.port = a->port;
	if (known && record_open(c, a, &m))
		return -ECONNREFUSED;
	if (known) {
		m.value = 1; /* recorded: go */
		memcpy(m.name, a->got.name, sizeof(m.name));
		memcpy(m.rule, a->got.rule, sizeof(m.rule));
	} else {
		a->wait_ms = -1;
	}
	ret = ask(c, a, &m);
	a->dialing = known && !ret;
	if (!ret)
		ret = hear(c, a, false);
	if (ret)
		return ret;
	a->wait_ms = -1;
	if (a->got.kind == NETMSG_VERDICT) {
		a->dialing = false;
		return go(c, a, &m, most);
	}
	return known ? outcome(a) : -ECONNREFUSED;
}

int outside_hold(struct call *c, struct outside_ask *a, uint16_t local_port)
{
	struct netmsg m;
	int ret;

	netmsg_init(&m, NETMSG_HOLD, a->got.id);
	m.local_port = local_port;
	if (netmsg_send(a->chan, &m, -1, 0))
		return -ECONNREFUSED;
	a->wait_ms = -1;
	ret = hear(c, a, true);
	return ret ? ret : outcome(a);
}

void outside_connected(struct outside_ask *a, uint16_t local_port)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_CONNECTED, a->got.id);
	m.local_port = local_port;
	if (netmsg_send(a->chan, &m, -1, 0))
		log_debug("the gateway has gone");
}
