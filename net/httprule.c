/*
 * httprule.c - see httprule.h.
 */
#include "httprule.h"

#include "allow.h"
#include "httppath.h"

#include <stdio.h>
#include <strings.h>

enum { PLAIN_PORT = 80, TLS_PORT = 443 };

struct reader {
	const char *text, *p;
	struct http_error *err;
};

static int expected(struct reader *r, const char *at, const char *what)
{
	r->err->at = (size_t)(at - r->text);
	r->err->expected = what;
	return -EINVAL;
}

static int read_methods(struct reader *r, struct http_rule *rule)
{
	static const char what[] = "a method like GET, a list like GET,HEAD, "
				   "or *";

	if (r->p[0] == '*' && r->p[1] == ' ') {
		r->p += 2;
		return 0;
	}
	for (;;) {
		size_t n = strspn(r->p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

		if (!n || n >= HTTP_METHOD_SIZE ||
		    rule->nmethods == HTTP_METHODS_MAX)
			return expected(r, r->p, what);
		memcpy(rule->methods[rule->nmethods++], r->p, n);
		r->p += n;
		if (*r->p != ',')
			break;
		r->p++;
	}
	if (*r->p != ' ')
		return expected(r, r->p, "a space and a host");
	r->p++;
	return 0;
}

static void read_scheme(struct reader *r, struct http_rule *rule)
{
	rule->plain = rule->tls = true;
	if (!strncmp(r->p, "https://", 8)) {
		rule->plain = false;
		r->p += 8;
	} else if (!strncmp(r->p, "http://", 7)) {
		rule->tls = false;
		r->p += 7;
	}
}

static int read_port(struct reader *r, uint16_t *port)
{
	unsigned v = 0;
	const char *at = ++r->p;

	while (*r->p >= '0' && *r->p <= '9' && v < 65536)
		v = v * 10 + (unsigned)(*r->p++ - '0');
	if (!v || v > 65535 || *at == '0')
		return expected(r, at, "a port, 1 to 65535");
	*port = (uint16_t)v;
	return 0;
}

static int read_host(struct reader *r, char host[NETHOST_SIZE],
		     enum http_host_kind *kind)
{
	size_t len = strcspn(r->p, ":/ ");
	struct netaddr a;

	*kind = HTTP_HOST_NAME;
	if (*r->p == '[') {
		len = strcspn(r->p, "]");
		if (r->p[len] != ']' || netaddr_parse(r->p + 1, len - 1, &a))
			return expected(r, r->p, "an IPv6 address in brackets");
		netaddr_format(&a, host);
		len++;
	} else if (!netaddr_parse(r->p, len, &a)) {
		netaddr_format(&a, host);
	} else if (len == 1 && *r->p == '*') {
		*kind = HTTP_HOST_ANY;
		host[0] = '\0';
	} else {
		size_t skip = !strncmp(r->p, "*.", 2) ? 2 : 0;

		if (skip)
			*kind = HTTP_HOST_BELOW;
		if (nethost_canon(r->p + skip, len - skip, host))
			return expected(r, r->p + skip, "a host name");
	}
	r->p += len;
	return 0;
}

static int read_ports(struct reader *r, struct http_rule *rule)
{
	int ret = 0;

	if (*r->p != ':')
		return 0;
	do {
		if (rule->nports == HTTP_PORTS_MAX)
			return expected(r, r->p, "at most 8 ports");
		ret = read_port(r, &rule->ports[rule->nports++]);
	} while (!ret && *r->p == ',');
	return ret;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_path(struct reader *r, struct http_rule *rule)
{
	char *out;

	if (!*r->p)
		return 0;
	if (*r->p != '/')
		return expected(r, r->p, "a path, which begins with /");
	for (const char *p = r->p; *p; p++)
		if (*p == '?' || *p == '#' || *p == '\\' || *p == ' ' ||
		    (unsigned char)*p < 0x20)
			return expected(r, p,
					"a path without query; * stands "
					"for a segment, ** for any "
					"number of them");
	if (strlen(r->p) > HTTP_TARGET_MAX)
		return expected(r, r->p, "a shorter path");
	rule->path = out = xstrdup(r->p);
	for (const char *p = r->p; *p; p++, out++) {
		*out = *p;
		if (*p != '%')
			continue;
		if (hex(p[1]) < 0 || hex(p[2]) < 0 ||
		    !(*out = (char)(hex(p[1]) << 4 | hex(p[2]))) ||
		    *out == '/') {
			free(rule->path);
			return expected(r, p, "%20 or another encoded byte");
		}
		p += 2;
	}
	*out = '\0';
	return 0;
}

int http_rule_add(struct http_policy *p, const char *text,
		  struct http_error *err)
{
	struct http_rule rule = {0}, *rules;
	struct reader r = {.text = text, .p = text, .err = err};
	int ret;

	if (p->nrules >= HTTP_RULES_MAX)
		return expected(&r, text, "at most 1024 rules");
	ret = read_methods(&r, &rule);
	if (ret)
		return ret;
	read_scheme(&r, &rule);
	ret = read_host(&r, rule.host, &rule.kind);
	if (!ret)
		ret = read_ports(&r, &rule);
	if (!ret)
		ret = read_path(&r, &rule);
	if (ret)
		return ret;
	rules = realloc(p->rules, (p->nrules + 1) * sizeof(*rules));
	BUG_ON(!rules);
	rule.text = xstrdup(text);
	p->rules = rules;
	p->rules[p->nrules++] = rule;
	return 0;
}

void http_rule_set_origin(struct http_policy *p, const char *origin)
{
	struct http_rule *r = &p->rules[p->nrules - 1];

	free(r->origin);
	r->origin = origin ? xstrdup(origin) : NULL;
}

void http_rule_name(const struct http_rule *r, char *out, size_t size)
{
	if (r->origin)
		snprintf(out, size, "%s", r->origin);
	else
		snprintf(out, size, "--http-allow %s", r->text);
}

char *http_rule_net(const struct http_rule *r)
{
	const char *left = strchr(r->host, ':') ? "[" : "";
	const char *right = *left ? "]" : "";
	const char *star = r->kind == HTTP_HOST_ANY	? "*"
			   : r->kind == HTTP_HOST_BELOW ? "*."
							: "";

	char ports[HTTP_PORTS_MAX * 6 + 1] = "";
	size_t n = 0;

	for (unsigned i = 0; i < r->nports; i++)
		n += (size_t)snprintf(ports + n, sizeof(ports) - n, "%s%u",
				      i ? "," : "", r->ports[i]);
	return xasprintf("%s%s%s%s:%s", left, star, r->host, right,
			 n	     ? ports
			 : !r->tls   ? "80"
			 : !r->plain ? "443"
				     : "80,443");
}

/* ---- injections ---- */

static bool is_header_name(const char *s, size_t len)
{
	struct http_header h;
	char line[HTTP_TEMPLATE_MAX + 1];

	if (len >= HTTP_TEMPLATE_MAX)
		return false;
	memcpy(line, s, len);
	line[len] = ':';
	return !http_parse_line(line, len + 1, &h);
}

static int set_header(struct reader *r, struct http_inject *in,
		      const char *name, const char *value, size_t len)
{
	static const char *const not [] = {"host", "connection",
					   "content-length",
					   "transfer-encoding", "upgrade"};
	const char *hole = NULL;

	for (size_t i = 0; i + 1 < len; i++) {
		if (memcmp(value + i, "{}", 2))
			continue;
		if (hole)
			return expected(r, value + i, "one {} only");
		hole = value + i;
	}
	if (!hole)
		return expected(r, value, "{} where the secret goes");
	for (size_t i = 0; i < ARRAY_SIZE(not ); i++)
		if (!strcasecmp(name, not [i]))
			return expected(r, r->p, "another header");
	in->kind = HTTP_INJECT_HEADER;
	snprintf(in->name, sizeof(in->name), "%s", name);
	memcpy(in->before, value, (size_t)(hole - value));
	memcpy(in->after, hole + 2, len - (size_t)(hole + 2 - value));
	return 0;
}

/* What stands between the host and the secret's name. */
static int read_where(struct reader *r, struct http_inject *in, size_t len)
{
	static const char bearer[] = "Bearer {}";
	const char *colon = memchr(r->p, ':', len);
	size_t n = colon ? (size_t)(colon - r->p) : len;
	char name[HTTP_TEMPLATE_MAX];

	if (len >= HTTP_TEMPLATE_MAX)
		return expected(r, r->p, "less than 256 characters");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)r->p[i] < ' ' || r->p[i] == 0x7f)
			return expected(r, r->p + i, "no control character");
	if (len == 6 && !memcmp(r->p, "bearer", 6))
		return set_header(r, in, "Authorization", bearer,
				  sizeof(bearer) - 1);
	if (len == 11 && !memcmp(r->p, "placeholder", 11)) {
		in->kind = HTTP_INJECT_SWAP;
		return 0;
	}
	if (n == 5 && !memcmp(r->p, "basic", 5)) {
		in->kind = HTTP_INJECT_BASIC;
		snprintf(in->name, sizeof(in->name), "Authorization");
		memcpy(in->before, r->p + n + (colon ? 1 : 0),
		       len - n - (colon ? 1 : 0));
		return 0;
	}
	if (n == 5 && colon && !memcmp(r->p, "query", 5)) {
		in->kind = HTTP_INJECT_QUERY;
		memcpy(in->name, colon + 1, len - n - 1);
		if (in->name[0] &&
		    !in->name[strspn(in->name,
				     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
				     "OPQRSTUVWXYZ0123456789-._~")])
			return 0;
		return expected(r, colon + 1, "a parameter's name");
	}
	if (!colon || !is_header_name(r->p, n))
		return expected(r, r->p,
				"bearer, basic, basic:USER, query:PARAM, "
				"placeholder, or a header like "
				"'Authorization: Bearer {}'");
	memcpy(name, r->p, n);
	name[n] = '\0';
	colon++;
	while (*colon == ' ')
		colon++;
	return set_header(r, in, name, colon, len - (size_t)(colon - r->p));
}

int http_inject_add(struct http_policy *p, const char *text,
		    struct http_error *err)
{
	struct http_inject in = {.port = TLS_PORT}, *more;
	struct reader r = {.text = text, .p = text, .err = err};
	enum http_host_kind kind;
	struct netaddr a;
	const char *name;
	int ret;

	if (p->ninjects >= HTTP_INJECTS_MAX)
		return expected(&r, text, "at most 64 injections");
	ret = read_host(&r, in.host, &kind);
	if (!ret && *r.p == ':')
		ret = read_port(&r, &in.port);
	if (ret)
		return ret;
	/* A secret is for one server, known by its certificate. */
	if (kind != HTTP_HOST_NAME ||
	    !netaddr_parse(in.host, strlen(in.host), &a))
		return expected(&r, text,
				"one host's name: a secret is not sent to "
				"addresses or patterns");
	if (*r.p != ' ')
		return expected(&r, r.p, "a space, and where the secret goes");
	while (*r.p == ' ')
		r.p++;
	name = strrchr(r.p, ' ');
	if (!name || !secret_name_ok(name + 1))
		return expected(&r, name ? name + 1 : r.p,
				"the name of a --secret at the end");
	snprintf(in.secret_name, sizeof(in.secret_name), "%s", name + 1);
	while (name > r.p && name[-1] == ' ')
		name--;
	ret = read_where(&r, &in, (size_t)(name - r.p));
	if (ret)
		return ret;
	more = realloc(p->injects, (p->ninjects + 1) * sizeof(*more));
	BUG_ON(!more);
	p->injects = more;
	p->injects[p->ninjects++] = in;
	return 0;
}

const char *http_policy_link(struct http_policy *p)
{
	for (size_t i = 0; i < p->ninjects; i++) {
		struct http_inject *in = &p->injects[i];
		int at = secrets_find(&p->secrets, in->secret_name);

		if (at < 0)
			return in->secret_name;
		in->secret = (unsigned)at;
	}
	return NULL;
}

void http_policy_fini(struct http_policy *p)
{
	for (size_t i = 0; i < p->nrules; i++) {
		free(p->rules[i].path);
		free(p->rules[i].text);
		free(p->rules[i].origin);
	}
	free(p->rules);
	free(p->injects);
	secrets_fini(&p->secrets);
	memset(p, 0, sizeof(*p));
}

/* ---- questions ---- */

static bool rule_port(const struct http_rule *r, uint16_t port)
{
	for (unsigned i = 0; i < r->nports; i++)
		if (r->ports[i] == port)
			return true;
	return !r->nports && ((r->plain && port == PLAIN_PORT) ||
			      (r->tls && port == TLS_PORT));
}

static bool rule_host(const struct http_rule *r, const char *host)
{
	size_t n = strlen(host), h = strlen(r->host);

	if (r->kind == HTTP_HOST_ANY)
		return strcmp(host, ALLOW_HOST_INTERNAL);
	if (r->kind == HTTP_HOST_NAME)
		return !strcmp(host, r->host);
	return n > h + 1 && host[n - h - 1] == '.' &&
	       !strcmp(host + n - h, r->host);
}

static bool rule_governs(const struct http_rule *r, const char *host,
			 uint16_t port)
{
	return rule_port(r, port) && rule_host(r, host);
}

bool http_governed(const struct http_policy *p, const char *host, uint16_t port)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (rule_governs(&p->rules[i], host, port))
			return true;
	for (size_t i = 0; i < p->ninjects; i++)
		if (p->injects[i].port == port &&
		    !strcmp(p->injects[i].host, host))
			return true;
	return false;
}

bool http_port_governed(const struct http_policy *p, uint16_t port)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (rule_port(&p->rules[i], port))
			return true;
	for (size_t i = 0; i < p->ninjects; i++)
		if (p->injects[i].port == port)
			return true;
	return false;
}

static bool method_matches(const struct http_rule *r, struct http_str method)
{
	for (unsigned i = 0; i < r->nmethods; i++)
		if (method.len == strlen(r->methods[i]) &&
		    !memcmp(method.p, r->methods[i], method.len))
			return true;
	return !r->nmethods;
}

/* Owned: without what follows a semicolon in a segment. */
static char *without_params(const char *path)
{
	char *out = xstrdup(path), *to = out;

	while (*path) {
		path += *path == ';' ? strcspn(path, "/") : 0;
		if (*path)
			*to++ = *path++;
	}
	*to = '\0';
	return out;
}

/* Servers that know parameters of segments take /a;x.png for /a: both must
 * match. */
static bool path_matches(const struct http_rule *r, const char *path)
{
	AUTO_FREE char *pattern = NULL;
	AUTO_FREE char *plain = NULL;

	if (!r->path || !http_path_match(r->path, path))
		return !r->path;
	if (!strchr(path, ';'))
		return true;
	pattern = without_params(r->path);
	plain = without_params(path);
	return http_path_match(pattern, plain);
}

struct http_verdict http_match(const struct http_policy *p,
			       const struct http_question *q)
{
	struct http_verdict v = {.allowed = true};

	for (size_t i = p->nrules; i-- > 0;) {
		const struct http_rule *r = &p->rules[i];

		if (!rule_governs(r, q->host, q->port))
			continue;
		v.allowed = false; /* there are rules, so one must match */
		if ((q->tls ? r->tls : r->plain) &&
		    method_matches(r, q->method) && path_matches(r, q->path)) {
			v.rule = r;
			v.allowed = true;
			return v;
		}
	}
	return v;
}

static bool is_one_of(struct http_str name, const char *const *names)
{
	while (*names && !http_str_alike(name, *names))
		names++;
	return *names;
}

const char *http_overridden(const struct http_policy *p,
			    const struct http_question *q,
			    const struct http_verdict *v,
			    const struct http_head *h)
{
	static const char *const methods[] = {"x-http-method-override",
					      "x-http-method",
					      "x-method-override", NULL};
	static const char *const paths[] = {"x-original-url", "x-rewrite-url",
					    NULL};

	for (size_t i = 0; v->rule && i < h->count; i++) {
		struct http_str value = h->h[i].value;
		struct http_question other = *q;
		char method[HTTP_METHOD_SIZE];

		if (v->rule->path && is_one_of(h->h[i].name, paths))
			return "a header that names another path";
		if (!is_one_of(h->h[i].name, methods))
			continue;
		if (value.len >= sizeof(method))
			return "a header that names another method";
		for (size_t k = 0; k < value.len; k++)
			method[k] = value.p[k] >= 'a' && value.p[k] <= 'z'
					    ? (char)(value.p[k] - 'a' + 'A')
					    : value.p[k];
		other.method = (struct http_str){method, value.len};
		if (!http_match(p, &other).allowed)
			return "a header that names another method";
	}
	return NULL;
}

const char *http_host_read(struct http_str s, char host[NETHOST_SIZE],
			   uint16_t *port)
{
	static const char none[] = "a Host that is none";
	size_t len = s.len, i;
	struct netaddr a;
	unsigned v = 0;

	if (s.len && s.p[0] == '[') {
		const char *end = memchr(s.p, ']', s.len);

		if (!end || netaddr_parse(s.p + 1, (size_t)(end - s.p - 1), &a))
			return none;
		netaddr_format(&a, host);
		len = (size_t)(end + 1 - s.p);
	} else {
		const char *colon = s.len ? memchr(s.p, ':', s.len) : NULL;

		len = colon ? (size_t)(colon - s.p) : s.len;
		if (!netaddr_parse(s.p, len, &a))
			netaddr_format(&a, host);
		else if (nethost_canon(s.p, len, host))
			return none;
	}
	if (len == s.len)
		return NULL;
	for (i = len + 1; i < s.len && v < 65536; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return none;
		v = v * 10 + (unsigned)(s.p[i] - '0');
	}
	if (s.p[len] != ':' || !v || v > 65535)
		return none;
	*port = (uint16_t)v;
	return NULL;
}
