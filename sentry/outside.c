/*
 * outside.c - see outside.h.
 *
 * The gateway parses what comes from the world, so what it says is checked
 * (netmsg_valid) and used for records and errnos only. It is not a child of
 * ours: the tracer waits for all children. If it dies, connects fail.
 */
#include "outside_priv.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "audit/audit.h"
#include "call.h"
#include "filterdata.h"
#include "jail.h"
#include "netns.h"
#include "sentry.h"
#include "../fs/textfs.h"
#include "../net/gateway.h"

enum {
	FINISH_MS = 3000, /* of silence */
	FINISH_S = 30,	  /* in all: it may be hostile */
	GATEWAY_NOFILE = 65536,
};

/* ---- starting -------------------------------------------------------- */

static struct netaddr fixed(const char *text)
{
	struct netaddr a;

	BUG_ON(netaddr_parse(text, strlen(text), &a));
	return a;
}

/* Real root's gateway is root no more; it keeps the right to bind low ports
 * inside. An unprivileged user's has that by owning the namespace. */
static int gateway_drop_root(void)
{
	const gid_t gid = JAIL_HIGH_ID + 1; /* not that of any guest */
	const uid_t uid = JAIL_HIGH_ID + 1;

	if (geteuid() != 0)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	capng_get_caps_process();
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
			 CAP_NET_BIND_SERVICE) ||
	    capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	return 0;
}

static int gateway_confine(void)
{
	struct sock_fprog prog = filterdata_gateway();
	struct rlimit core = {0, 0};
	int ret = gateway_drop_root();

	if (ret)
		return ret;
	setrlimit(RLIMIT_CORE, &core);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return -errno;
	return 0;
}

static void close_others(const struct gateway *g)
{
	int keep[4 + 2 * GATEWAY_PUBLISH_MAX], n = 0, from = 3;

	keep[n++] = g->main_sock;
	keep[n++] = g->maker;
	if (g->http_on)
		keep[n++] = g->http_sock;
	for (size_t i = 0; i < g->npublish; i++)
		keep[n++] = g->publish_fd[i];
	for (;;) {
		int next = -1;

		for (int i = 0; i < n; i++)
			if (keep[i] >= from && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next > from)
			close_range((unsigned)from, (unsigned)next - 1, 0);
		if (next < 0)
			break;
		from = next + 1;
	}
	close_range((unsigned)from, ~0U, 0);
}

/* The caller's environment may hold secrets; nobody in here needs it. */
static void scrub(void)
{
	extern char **environ;

	for (char **e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	clearenv();
}

NORETURN static void gateway_process(struct gateway *g)
{
	struct rlimit rl;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	scrub();
	signal(SIGPIPE, SIG_IGN);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	close_others(g);
	if (chdir("/") < 0)
		log_debug("chdir: %s", strerror(errno));
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max < GATEWAY_NOFILE ? rl.rlim_max
							   : GATEWAY_NOFILE;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	g->confine = gateway_confine;
	gateway_main(g);
}

static void read_rules(const struct config *cfg, struct gateway *g)
{
	struct allow_error err;

	for (size_t i = 0; i < cfg->nnet; i++) {
		if (allow_add(&g->rules, cfg->net[i].allow, cfg->net[i].text,
			      &err))
			die("%s: at byte %zu %s was expected", cfg->net[i].text,
			    err.at + 1, err.expected);
		allow_set_origin(&g->rules, cfg->net[i].origin);
	}
}

static void read_config(const struct config *cfg, struct gateway *g)
{
	names_init(&g->names);
	g->limits = (struct gateway_limits){
		.rate = cfg->limits.net_rate,
		.connections = cfg->limits.net_connections,
		.opens = cfg->limits.net_opens,
		.idle_ms = cfg->limits.net_idle_ms,
		.time_ms = cfg->limits.net_time_ms,
	};
	read_rules(cfg, g);
	gateway_read_files(g, "/etc/resolv.conf", "/etc/hosts");
	if (cfg->dns) {
		g->nservers = 1;
		if (netaddr_parse(cfg->dns, strlen(cfg->dns), &g->servers[0]))
			die("--dns %s: an address like 192.0.2.1 was expected",
			    cfg->dns);
	}
	g->guest4 = fixed(NETNS_GUEST4);
	g->guest6 = fixed(NETNS_GUEST6);
	g->host4 = fixed(NETNS_GATEWAY4);
	g->resolver4 = fixed(NETNS_RESOLVER4);
	for (size_t i = 0; i < cfg->npublish; i++) {
		struct gateway_publish p;
		int ret = gateway_publish_parse(cfg->publish[i], &p);

		if (!ret)
			ret = gateway_publish_open(g, &p);
		if (ret)
			die("--publish %s: %s", cfg->publish[i],
			    strerror(-ret));
	}
}

/* A grandchild, so that nobody here waits for it. */
static int spawn(struct gateway *g, int *sock)
{
	struct netmsg m;
	int sv[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(sv[0]);
		g->main_sock = sv[1];
		if (fork() == 0)
			gateway_process(g);
		_exit(0);
	}
	close(sv[1]);
	if (pid < 0)
		return -errno;
	waitpid(pid, NULL, 0);
	ret = netmsg_recv(sv[0], &m, NULL, 0);
	if (!ret && m.kind != NETMSG_STARTED)
		ret = -EPROTO;
	if (!ret)
		ret = -m.value;
	if (ret)
		close(sv[0]);
	else
		*sock = sv[0];
	return ret;
}

static void gateway_forget(struct gateway *g)
{
	close(g->maker);
	for (size_t i = 0; i < g->npublish; i++)
		close(g->publish_fd[i]);
	allow_fini(&g->rules);
	names_fini(&g->names);
	free(g);
}

bool outside_wanted(const struct config *cfg)
{
	return cfg->nnet || cfg->npublish;
}

void outside_start(struct sentry *s, pid_t init)
{
	const struct config *cfg = s->cfg;
	struct gateway *g;
	struct outside *o;
	char reason[160];
	int ret;

	if (!outside_wanted(cfg)) {
		outside_http_drop(s);
		return;
	}
	if (s->bare)
		die("--net-allow and --publish need user namespaces, which "
		    "%s",
		    cfg->insecure_no_userns
			    ? "--insecure-no-userns leaves out"
			    : "do not work here; see `cloche doctor`");
	g = xcalloc(1, sizeof(*g));
	o = xcalloc(1, sizeof(*o));
	read_config(cfg, g);
	ret = netns_build(init, &g->maker, reason, sizeof(reason));
	if (ret)
		die("cannot make the sandbox's network: %s", reason);
	o->guest4 = g->guest4;
	o->guest6 = g->guest6;
	o->resolver4 = g->resolver4;
	for (size_t i = 0; i < g->rules.count; i++)
		o->datagrams |= g->rules.rules[i].allow &&
				(g->rules.rules[i].protos & ALLOW_UDP);
	pthread_mutex_init(&o->lock, NULL);
	outside_http_give(s, g);
	ret = spawn(g, &o->sock);
	if (ret)
		die("cannot start the network gateway: %s", strerror(-ret));
	outside_http_given(s, g);
	gateway_forget(g);
	s->outside = o;
}

void outside_mounts(struct sentry *s)
{
	int ret;

	if (!s->outside)
		return;
	ret = textfs_mount(s->vfs, "/etc/resolv.conf",
			   "# the sandbox's own resolver\n"
			   "nameserver " NETNS_RESOLVER4 "\n");
	if (ret)
		die("cannot show /etc/resolv.conf in the sandbox: %s",
		    strerror(-ret));
	outside_http_mounts(s);
}

bool outside_on(const struct sentry *s)
{
	return s->outside;
}

bool outside_datagrams(const struct sentry *s)
{
	const struct outside *o = s->outside;

	return o && o->datagrams;
}

bool outside_is_inside(const struct sentry *s, const struct netaddr *addr,
		       uint16_t port)
{
	const struct outside *o = s->outside;

	return netaddr_equal(addr, &o->guest4) ||
	       netaddr_equal(addr, &o->guest6) ||
	       (netaddr_equal(addr, &o->resolver4) && port == 53);
}

/* ---- records --------------------------------------------------------- */

/* Fields of a record that are the message's. */
static void message_args(const struct netmsg *m, struct strbuf *b)
{
	char addr[NETADDR_TEXT];

	strbuf_printf(b, "{\"host\":");
	strbuf_json_string(b, m->name, strlen(m->name));
	if (m->kind == NETMSG_DNS) {
		strbuf_printf(b, ",\"type\":%u}", m->qtype);
		return;
	}
	netaddr_format(&m->addr, addr);
	strbuf_printf(b, ",\"addr\":\"%s\",\"port\":%u", addr, m->port);
	if (m->proto)
		strbuf_printf(b, ",\"proto\":\"%s\"",
			      m->proto == ALLOW_UDP ? "udp" : "tcp");
	if (m->id)
		strbuf_printf(b, ",\"conn\":%llu", (unsigned long long)m->id);
	if (m->kind == NETMSG_CLOSED)
		strbuf_printf(b,
			      ",\"sent\":%llu,\"received\":%llu,"
			      "\"duration_ns\":%llu",
			      (unsigned long long)m->sent,
			      (unsigned long long)m->received,
			      (unsigned long long)m->ns);
	if (m->kind == NETMSG_INCOMING)
		strbuf_printf(b, ",\"direction\":\"in\",\"to\":%u",
			      m->local_port);
	strbuf_putc(b, '}');
}

void outside_path(const struct netmsg *m, char *out, size_t size)
{
	if (m->kind == NETMSG_DNS || (m->name[0] && !m->port))
		snprintf(out, size, "%s", m->name);
	else if (m->name[0])
		snprintf(out, size, "%s:%u", m->name, m->port);
	else
		netaddr_format_port(&m->addr, m->port, out, size);
}

void outside_record(struct sentry *s, const char *call, const struct netmsg *m,
		    struct audit_event *ev)
{
	char path[NETHOST_SIZE + 8], hint[NETHOST_SIZE + 32];
	struct strbuf b;

	strbuf_init(&b, 0);
	message_args(m, &b);
	outside_path(m, path, sizeof(path));
	snprintf(hint, sizeof(hint), "--net-allow %s", path);
	ev->call = call;
	ev->path = path;
	ev->args = b.data;
	ev->args_len = b.len;
	if (ev->verdict == AUDIT_DENY && m->kind == NETMSG_DNS)
		ev->hint = hint;
	audit_emit(s->audit, ev);
	strbuf_fini(&b);
}

/* Once for each limit. */
static void say_limit(struct outside *o, const char *limit)
{
	static const char *const known[] = {"--net-connections", "--net-opens",
					    "--net-idle", "--net-time"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i], limit) || (o->limits_said & 1u << i))
			continue;
		o->limits_said |= 1u << i;
		log_info("limited: %s has stopped connections", known[i]);
	}
}

static void on_message(struct sentry *s, const struct netmsg *m)
{
	struct audit_event ev = {.verdict = AUDIT_ALLOW};
	struct outside *o = s->outside;
	struct netmsg ack;

	snprintf(ev.rule, sizeof(ev.rule), "%s", m->rule);
	switch (m->kind) {
	case NETMSG_CLOSED:
		outside_record(s, "net.close", m, &ev);
		return;
	case NETMSG_INCOMING:
		outside_record(s, "net.open", m, &ev);
		return;
	case NETMSG_REFUSED:
		ev.verdict = AUDIT_DENY;
		outside_record(s, "net.refused", m, &ev);
		return;
	case NETMSG_LIMITED:
		ev.verdict = AUDIT_LIMIT;
		ev.coalesce = true;
		outside_record(s, "limit", m, &ev);
		say_limit(o, m->rule);
		return;
	case NETMSG_DNS:
		ev.verdict = m->value ? AUDIT_ALLOW : AUDIT_DENY;
		ev.coalesce = true;
		if (!m->value && !m->rule[0])
			snprintf(ev.rule, sizeof(ev.rule), "network");
		outside_record(s, "dns", m, &ev);
		break;
	default:
		return;
	}
	if (!m->id || audit_flush(s->audit))
		return;
	netmsg_init(&ack, NETMSG_ACK, m->id);
	/* Not waiting: a gateway that does not read asks again. */
	if (netmsg_send(o->sock, &ack, -1, MSG_DONTWAIT))
		log_debug("the gateway does not read");
}

int outside_fd(const struct sentry *s)
{
	const struct outside *o = s->outside;

	return o && !o->dead ? o->sock : -1;
}

void outside_event(struct sentry *s)
{
	struct outside *o = s->outside;
	struct netmsg m;
	int ret = netmsg_recv(o->sock, &m, NULL, MSG_DONTWAIT);

	if (!ret) {
		on_message(s, &m);
		return;
	}
	if (ret == -EAGAIN || ret == -EINTR)
		return;
	o->dead = true;
	shutdown(o->sock, SHUT_RDWR);
	log_warn("the network gateway has died: connections of the sandbox "
		 "fail from now on");
}

static time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

void outside_finish(struct sentry *s)
{
	struct outside *o = s->outside;
	struct netmsg m;
	time_t end = seconds() + FINISH_S;

	if (!o || o->dead)
		return;
	netmsg_init(&m, NETMSG_END, 0);
	if (netmsg_send(o->sock, &m, -1, MSG_DONTWAIT))
		return;
	for (;;) {
		struct pollfd p = {.fd = o->sock, .events = POLLIN};

		if (seconds() > end || poll(&p, 1, FINISH_MS) <= 0 ||
		    netmsg_recv(o->sock, &m, NULL, MSG_DONTWAIT))
			break;
		on_message(s, &m);
	}
	if (outside_http_fd(s) >= 0)
		outside_http_event(s);
	close(fd_take(&o->sock));
	o->dead = true;
}
