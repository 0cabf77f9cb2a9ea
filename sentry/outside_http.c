/*
 * outside_http.c - the sentry's side of the gateway's HTTP stage: reads rules
 * and secrets before anything else is started, hands them to the gateway,
 * shows its authority to guests, and records what it reports.
 *
 * The values of secrets are in this process from outside_http_read to the
 * gateway's fork, in memory that no other fork gets.
 */
#include "outside_priv.h"

#include <stdio.h>
#include <sys/socket.h>

#include "sentry.h"
#include "trust.h"
#include "../net/gateway.h"
#include "../net/httpmsg.h"

struct outside_http {
	struct http_policy policy;
	bool tls;
	int sock; /* to the gateway */
	uint32_t hash;
	size_t der_len;
	char der[HTTPMSG_DATA];
};

static void env_default(struct config *cfg, const char *entry, bool force)
{
	size_t n = 0, len = strcspn(entry, "=");

	for (; cfg->envp[n]; n++) {
		if (strncmp(cfg->envp[n], entry, len) ||
		    cfg->envp[n][len] != '=')
			continue;
		if (force) {
			free(cfg->envp[n]);
			cfg->envp[n] = xstrdup(entry);
		}
		return;
	}
	cfg->envp = realloc(cfg->envp, (n + 2) * sizeof(*cfg->envp));
	BUG_ON(!cfg->envp);
	cfg->envp[n] = xstrdup(entry);
	cfg->envp[n + 1] = NULL;
}

static void set_env(struct config *cfg, const struct outside_http *h)
{
	size_t count;
	const char *const *names = trust_variables(&count);

	for (size_t i = 0; h->tls && i < count; i++)
		env_default(cfg, names[i], false);
	for (size_t i = 0; i < cfg->secret_env.count; i++) {
		const char *text = cfg->secret_env.text[i];
		size_t n = strcspn(text, "=");
		int at = secrets_find(&h->policy.secrets, text + n + 1);
		AUTO_FREE char *entry = NULL;

		BUG_ON(at < 0);
		entry = xasprintf("%.*s=%s", (int)n, text,
				  h->policy.secrets.s[at].placeholder);
		env_default(cfg, entry, true);
	}
}

void outside_http_read(struct sentry *s, struct config *cfg)
{
	struct outside_http *h;
	struct http_policy *p;
	struct http_error e;
	const char *missing;

	if (!cfg->http.count && !cfg->secrets.count)
		return;
	h = xcalloc(1, sizeof(*h));
	h->sock = -1;
	p = &h->policy;
	for (size_t i = 0; i < cfg->http.count; i++) {
		if (http_rule_add(p, cfg->http.text[i], &e))
			die("--http-allow %s: expected %s", cfg->http.text[i],
			    e.expected);
		http_rule_set_origin(p, cfg->http.origin[i]);
	}
	for (size_t i = 0; i < cfg->injects.count; i++)
		if (http_inject_add(p, cfg->injects.text[i], &e))
			die("--inject %s: expected %s", cfg->injects.text[i],
			    e.expected);
	secrets_read(&p->secrets, cfg->secrets.text, cfg->secrets.count);
	missing = http_policy_link(p);
	if (missing)
		die("--inject: there is no --secret %s=FROM", missing);
	h->tls = p->ninjects;
	for (size_t i = 0; i < p->nrules; i++)
		h->tls |= p->rules[i].tls;
	set_env(cfg, h);
	s->http = h;
}

void outside_http_give(struct sentry *s, struct gateway *g)
{
	struct outside_http *h = s->http;
	int sv[2];

	g->http_sock = -1;
	if (!h)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		die("cannot start the network gateway: %s", strerror(errno));
	h->sock = sv[0];
	g->http_sock = sv[1];
	g->http = h->policy;
	g->http_on = true;
	g->http_tls = h->tls;
	g->ca_bundle = trust_host_bundle();
	g->net_ca = s->cfg->net_ca;
	secrets_pass(&h->policy.secrets);
}

void outside_http_drop(struct sentry *s)
{
	struct outside_http *h = s->http;

	if (h)
		http_policy_fini(&h->policy); /* wipes */
}

void outside_http_given(struct sentry *s, struct gateway *g)
{
	struct outside_http *h = s->http;
	struct httpmsg m;

	if (!h)
		return;
	outside_http_drop(s);
	memset(&g->http, 0, sizeof(g->http));
	close(g->http_sock);
	if (httpmsg_recv(h->sock, &m, 0) || m.kind != HTTPMSG_TRUST)
		die("cannot start the network gateway: it does not answer");
	h->hash = m.hash;
	h->der_len = m.len;
	memcpy(h->der, m.data, m.len);
}

void outside_http_mounts(struct sentry *s)
{
	const struct outside_http *h = s->http;
	int ret;

	if (!h || !h->tls)
		return;
	ret = trust_mounts(s->cfg, s->vfs, h->der, h->der_len, h->hash);
	if (ret)
		die("cannot show the certificates of authorities in the "
		    "sandbox: %s",
		    strerror(-ret));
}

/* ---- records --------------------------------------------------------- */

static void put_text(struct strbuf *b, const char *key, const char *text,
		     size_t len)
{
	strbuf_printf(b, ",\"%s\":", key);
	strbuf_json_string(b, text, len);
}

static void message_args(const struct httpmsg *m, struct strbuf *b)
{
	char addr[NETADDR_TEXT];

	strbuf_puts(b, "{\"host\":");
	strbuf_json_string(b, m->host, strlen(m->host));
	netaddr_format(&m->addr, addr);
	strbuf_printf(b, ",\"addr\":\"%s\",\"port\":%u,\"conn\":%llu", addr,
		      m->port, (unsigned long long)m->conn);
	if (m->id)
		strbuf_printf(b, ",\"request\":%llu",
			      (unsigned long long)m->id);
	if (m->method[0] && m->kind != HTTPMSG_MISUSE)
		put_text(b, "method", m->method, strlen(m->method));
	if (m->len)
		put_text(b, "path", m->data, m->len);
	if (m->secrets[0])
		put_text(b, "secret", m->secrets, strlen(m->secrets));
	if (m->kind == HTTPMSG_DONE)
		strbuf_printf(b,
			      ",\"status\":%u,\"sent\":%llu,\"received\":%llu,"
			      "\"duration_ns\":%llu",
			      m->status, (unsigned long long)m->sent,
			      (unsigned long long)m->received,
			      (unsigned long long)m->ns);
	strbuf_putc(b, '}');
}

/* "https://host:port/path" */
static void message_url(const struct httpmsg *m, struct strbuf *b)
{
	bool six = strchr(m->host, ':');

	if (m->data[0] == '/' || m->method[0])
		strbuf_puts(b, m->tls ? "https://" : "http://");
	strbuf_printf(b, "%s%s%s", six ? "[" : "", m->host, six ? "]" : "");
	if (m->port != (m->tls ? 443 : 80))
		strbuf_printf(b, ":%u", m->port);
	strbuf_add(b, m->data, m->len);
}

/* As a shell takes it and --http-allow reads it. */
static void message_hint(const struct httpmsg *m, struct strbuf *b)
{
	bool six = strchr(m->host, ':');

	strbuf_printf(b, "--http-allow '%s %s%s%s", m->method, six ? "[" : "",
		      m->host, six ? "]" : "");
	if (m->port != (m->tls ? 443 : 80))
		strbuf_printf(b, ":%u", m->port);
	for (uint32_t i = 0; i < m->len; i++) {
		if (m->data[i] == '\'')
			strbuf_puts(b, "%27");
		else
			strbuf_putc(b, m->data[i]);
	}
	strbuf_putc(b, '\'');
}

static void record(struct sentry *s, const char *call, const struct httpmsg *m,
		   struct audit_event *ev)
{
	struct strbuf args, url;

	strbuf_init(&args, 0);
	strbuf_init(&url, 0);
	message_args(m, &args);
	message_url(m, &url);
	ev->call = call;
	ev->path = url.data;
	ev->args = args.data;
	ev->args_len = args.len;
	audit_emit(s->audit, ev);
	strbuf_fini(&args);
	strbuf_fini(&url);
}

/* What the library calls a certificate that nobody known vouches for. */
static bool unknown_issuer(const char *why)
{
	return strstr(why, "self-signed") || strstr(why, "issuer") ||
	       strstr(why, "first certificate");
}

static void on_refused(struct sentry *s, const struct httpmsg *m)
{
	struct audit_event ev = {.verdict = AUDIT_DENY};
	struct strbuf hint;

	strbuf_init(&hint, 0);
	if (m->len) {
		message_hint(m, &hint);
		ev.hint = hint.data;
		snprintf(ev.rule, sizeof(ev.rule), "--http-allow");
	} else {
		snprintf(ev.rule, sizeof(ev.rule), "%s", m->why);
		if (unknown_issuer(m->why))
			ev.hint = "--net-ca FILE";
	}
	record(s, m->len ? "http" : "http.refused", m, &ev);
	strbuf_fini(&hint);
}

/* LAW 11: both are out before the request is. */
static void on_request(struct sentry *s, const struct httpmsg *m)
{
	const struct outside_http *h = s->http;
	struct audit_event ev = {.verdict = AUDIT_ALLOW};

	if (m->secrets[0]) {
		snprintf(ev.rule, sizeof(ev.rule), "--inject");
		record(s, "secret", m, &ev);
	}
	snprintf(ev.rule, sizeof(ev.rule), "%s", m->rule);
	record(s, "http", m, &ev);
	/* Without a destination there is nothing to wait for. */
	if (s->cfg->audit && audit_flush(s->audit))
		return;
	if (httpack_send(h->sock, m->id))
		log_debug("the gateway does not read");
}

static void on_message(struct sentry *s, const struct httpmsg *m)
{
	struct audit_event ev = {.verdict = AUDIT_ALLOW};

	switch (m->kind) {
	case HTTPMSG_REQUEST:
		on_request(s, m);
		break;
	case HTTPMSG_REFUSED:
		on_refused(s, m);
		break;
	case HTTPMSG_DONE:
		record(s, "http.done", m, &ev);
		break;
	case HTTPMSG_MISUSE:
		ev.verdict = AUDIT_DENY;
		snprintf(ev.rule, sizeof(ev.rule), "--inject");
		record(s, "secret", m, &ev);
		break;
	default:
		break;
	}
}

int outside_http_fd(const struct sentry *s)
{
	const struct outside_http *h = s->http;

	return h ? h->sock : -1;
}

enum { BATCH = 1024 }; /* of messages at once */

void outside_http_event(struct sentry *s)
{
	struct outside_http *h = s->http;
	struct httpmsg m;
	int ret = -EAGAIN;

	/* more than a socket holds; a gateway that never ends must not keep
	 * us here */
	for (int i = 0; i < BATCH && h->sock >= 0; i++) {
		ret = httpmsg_recv(h->sock, &m, MSG_DONTWAIT);
		if (ret)
			break;
		on_message(s, &m);
	}
	if (h->sock >= 0 && ret && ret != -EAGAIN && ret != -EINTR)
		close(fd_take(&h->sock));
}
