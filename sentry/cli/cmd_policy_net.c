/*
 * cmd_policy_net.c - `cloche policy check net` and `http`: decided by the rules
 * that the gateway would have, without a gateway.
 */
#include <stdio.h>

#include "cmd_policy.h"
#include "../../net/allow.h"
#include "../../net/httppath.h"
#include "../../net/httprule.h"

/* HOST:PORT with a scheme or without, as rules write it. */
struct place_asked {
	struct netaddr addr; /* family 0: a name */
	char name[NETHOST_SIZE];
	uint16_t port;
	uint8_t proto;
};

static int read_port(const char *text, uint16_t *port)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > 65535)
		return -EINVAL;
	*port = (uint16_t)n;
	return 0;
}

static int read_place(const char *text, struct place_asked *p)
{
	const char *port = strrchr(text, ':');
	size_t len;

	memset(p, 0, sizeof(*p));
	p->proto = strncmp(text, "udp://", 6) == 0 ? ALLOW_UDP : ALLOW_TCP;
	if (strncmp(text, "udp://", 6) == 0 || strncmp(text, "tcp://", 6) == 0)
		text += 6;
	if (!port || port <= text || read_port(port + 1, &p->port))
		return -EINVAL;
	len = (size_t)(port - text);
	if (len > 2 && *text == '[' && text[len - 1] == ']')
		return netaddr_parse(text + 1, len - 2, &p->addr);
	if (netaddr_parse(text, len, &p->addr) == 0)
		return 0;
	memset(&p->addr, 0, sizeof(p->addr));
	return nethost_canon(text, len, p->name);
}

static int read_rules(const struct config *cfg, struct allow *rules)
{
	struct allow_error err;
	int ret = 0;

	memset(rules, 0, sizeof(*rules));
	for (size_t i = 0; !ret && i < cfg->nnet; i++) {
		ret = allow_add(rules, cfg->net[i].allow, cfg->net[i].text,
				&err);
		if (!ret)
			allow_set_origin(rules, cfg->net[i].origin);
	}
	return ret;
}

/* request: an option that would do with less, or NULL. */
static int say_net(const char *text, const struct place_asked *p,
		   const struct allow_verdict *v, const char *request)
{
	char rule[256] = "default";
	const char *note = "";

	if (v->rule)
		allow_rule_name(v->rule, rule, sizeof(rule));
	if (v->allowed && p->name[0] && strcmp(p->name, ALLOW_HOST_INTERNAL))
		note = " (where its address is a public one)";
	printf("%s%s: net %s, rule %s", v->allowed ? "allow" : "refused", note,
	       text, rule);
	if (!v->allowed && request)
		printf("; to allow: %s, or all requests: --net-allow %s",
		       request, text);
	else if (!v->allowed)
		printf("; to allow: --net-allow %s", text);
	printf("\n");
	return v->allowed ? 0 : 1;
}

static int check_net(const struct config *cfg, const char *text,
		     const char *request)
{
	struct place_asked p;
	const char *names[] = {p.name};
	struct allow_query q = {.names = names};
	struct allow_verdict v;
	struct allow rules;
	int status;

	if (read_place(text, &p)) {
		log_info("policy check: net: \"%s\" is no HOST:PORT", text);
		return CLI_FAILED;
	}
	if (p.addr.family && netaddr_kind(&p.addr) == NETADDR_LOOPBACK) {
		printf("allow: net %s, the sandbox's own loopback (the host's "
		       "is " ALLOW_HOST_INTERNAL ")\n",
		       text);
		return 0;
	}
	if (read_rules(cfg, &rules))
		return CLI_FAILED;
	q.addr = p.addr.family ? &p.addr : NULL;
	q.nnames = p.addr.family ? 0 : 1;
	q.proto = p.proto;
	q.port = p.port;
	v = allow_match(&rules, &q);
	status = say_net(text, &p, &v, request);
	allow_fini(&rules);
	return status;
}

int policy_check_net(const struct config *cfg, const char *text)
{
	return check_net(cfg, text, NULL);
}

/* ---- requests ---- */

struct url {
	char place[NETHOST_SIZE + 16]; /* HOST:PORT */
	struct place_asked at;
	bool tls;
	struct http_target target;
};

static int read_url(const char *text, struct url *u, const char **why)
{
	const char *host = strstr(text, "://"), *path, *colon;
	size_t len;

	*why = "http://HOST/PATH or https://HOST/PATH was expected";
	u->tls = strncmp(text, "https://", 8) == 0;
	if (!host || (!u->tls && strncmp(text, "http://", 7) != 0))
		return -EINVAL;
	host += 3;
	len = strcspn(host, "/?#");
	path = host[len] ? host + len : "/";
	if (!len || len >= NETHOST_SIZE || memchr(host, '@', len))
		return -EINVAL;
	colon = memrchr(host, ':', len);
	if (colon && memchr(colon, ']', len - (size_t)(colon - host)))
		colon = NULL;
	snprintf(u->place, sizeof(u->place), "%.*s%s", (int)len, host,
		 colon	  ? ""
		 : u->tls ? ":443"
			  : ":80");
	if (read_place(u->place, &u->at))
		return -EINVAL;
	*why = http_target_parse((struct http_str){path, strlen(path)},
				 &u->target);
	return *why ? -EINVAL : 0;
}

static int read_policy(const struct config *cfg, struct http_policy *p)
{
	struct http_error e;
	int ret = 0;

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; !ret && i < cfg->http.count; i++) {
		ret = http_rule_add(p, cfg->http.text[i], &e);
		if (!ret)
			http_rule_set_origin(p, cfg->http.origin[i]);
	}
	for (size_t i = 0; !ret && i < cfg->injects.count; i++)
		ret = http_inject_add(p, cfg->injects.text[i], &e);
	return ret;
}

static int say_http(const char *method, const char *url,
		    const struct http_verdict *v)
{
	char rule[256] = "--http-allow";

	if (v->rule)
		http_rule_name(v->rule, rule, sizeof(rule));
	else if (v->allowed)
		snprintf(rule, sizeof(rule), "--inject alone, all requests");
	printf("%s: http %s %s, rule %s", v->allowed ? "allow" : "refused",
	       method, url, rule);
	if (!v->allowed)
		printf("; to allow: --http-allow '%s %.*s'", method,
		       (int)strcspn(url, "?#"), url);
	printf("\n");
	return v->allowed ? 0 : 1;
}

int policy_check_http(const struct config *cfg, const char *method,
		      const char *url)
{
	char host[NETHOST_SIZE];
	struct http_policy p;
	struct http_verdict v;
	struct http_question q;
	const char *why;
	struct url u;
	int status = 1;

	if (read_url(url, &u, &why)) {
		log_info("policy check: http: \"%s\": %s", url, why);
		return CLI_FAILED;
	}
	if (u.at.addr.family)
		netaddr_format(&u.at.addr, host);
	else
		snprintf(host, sizeof(host), "%s", u.at.name);
	if (read_policy(cfg, &p)) {
		http_policy_fini(&p);
		return CLI_FAILED;
	}
	/* without a deeper rule all requests pass where the host may be
	 * reached */
	if (!http_governed(&p, host, u.at.port)) {
		AUTO_FREE char *request =
			xasprintf("--http-allow '%s %.*s'", method,
				  (int)strcspn(url, "?#"), url);

		http_policy_fini(&p);
		return check_net(cfg, u.place, request);
	}
	q = (struct http_question){
		.host = host,
		.port = u.at.port,
		.tls = u.tls,
		.method = {method, strlen(method)},
		.path = u.target.path,
	};
	v = http_match(&p, &q);
	status = say_http(method, url, &v);
	http_policy_fini(&p);
	return status;
}
