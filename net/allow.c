/*
 * allow.c - see allow.h.
 */
#include "allow.h"

#include <stdio.h>

struct reader {
	const char *text, *p;
	struct allow_error *err;
};

static int expected(struct reader *r, const char *at, const char *what)
{
	r->err->at = (size_t)(at - r->text);
	r->err->expected = what;
	return -EINVAL;
}

static void read_scheme(struct reader *r, struct allow_rule *rule)
{
	rule->protos = rule->allow ? ALLOW_TCP : ALLOW_TCP | ALLOW_UDP;
	if (!strncmp(r->p, "tcp://", 6)) {
		rule->protos = ALLOW_TCP;
		r->p += 6;
	} else if (!strncmp(r->p, "udp://", 6)) {
		rule->protos = ALLOW_UDP;
		r->p += 6;
	}
}

/* Decimal, no sign, no leading zero: the digits read, 0 if none or too big. */
static size_t read_number(const char *s, unsigned max, unsigned *out)
{
	unsigned v = 0;
	size_t n = 0;

	while (s[n] >= '0' && s[n] <= '9') {
		v = v * 10 + (unsigned)(s[n++] - '0');
		if (v > max)
			return 0;
	}
	if (n == 0 || (n > 1 && s[0] == '0'))
		return 0;
	*out = v;
	return n;
}

/* "/BITS", or the whole address. */
static int read_bits(struct reader *r, struct allow_rule *rule)
{
	unsigned max = rule->net.family == AF_INET ? 32 : 128;
	struct netaddr low = rule->net;
	size_t n;

	rule->bits = max;
	if (*r->p != '/')
		return 0;
	n = read_number(r->p + 1, max, &rule->bits);
	if (!n)
		return expected(r, r->p + 1,
				max == 32 ? "0 to 32" : "0 to 128");
	for (unsigned i = rule->bits; i < max; i++)
		low.b[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	if (!netaddr_equal(&low, &rule->net))
		return expected(r, r->p + 1,
				"as many bits as the address has (what "
				"follows them must be zero)");
	r->p += 1 + n;
	return 0;
}

static int read_net(struct reader *r, struct allow_rule *rule, size_t len)
{
	rule->kind = ALLOW_NET;
	r->p += len;
	return read_bits(r, rule);
}

static int read_bracket(struct reader *r, struct allow_rule *rule)
{
	const char *end = strchr(r->p, ']');
	const char *s = r->p + 1, *slash;
	size_t len;

	if (!end)
		return expected(r, r->p + strlen(r->p), "]");
	slash = memchr(s, '/', (size_t)(end - s));
	len = (size_t)((slash ? slash : end) - s);
	if (netaddr_parse(s, len, &rule->net) || !memchr(s, ':', len))
		return expected(r, s, "an IPv6 address");
	rule->kind = ALLOW_NET;
	rule->bits = 128;
	if (rule->net.family == AF_INET) /* mapped */
		rule->bits = 32;
	if (slash) { /* [2001:db8::/32] */
		r->p = slash;
		if (read_bits(r, rule))
			return -EINVAL;
		if (r->p != end)
			return expected(r, r->p, "]");
		r->p = end + 1;
		return 0;
	}
	r->p = end + 1;
	return read_bits(r, rule);
}

static int read_name(struct reader *r, struct allow_rule *rule, size_t len)
{
	size_t skip = !strncmp(r->p, "*.", 2) ? 2 : 0;

	if (len == 1 && *r->p == '*') {
		rule->kind = ALLOW_ANY;
		r->p++;
		return 0;
	}
	rule->kind = skip ? ALLOW_BELOW : ALLOW_NAME;
	if (nethost_canon(r->p + skip, len - skip, rule->host))
		return expected(r, r->p + skip,
				"a host name, an address like 192.0.2.1 or "
				"[2001:db8::1], or *.example.org");
	r->p += len;
	return 0;
}

static int read_host(struct reader *r, struct allow_rule *rule)
{
	size_t len = strcspn(r->p, ":/"), all = strcspn(r->p, "/");
	const char *colon = strchr(r->p, ':');

	if (*r->p == '[')
		return read_bracket(r, rule);
	if (colon && strchr(colon + 1, ':') && /* IPv6 without a port */
	    !netaddr_parse(r->p, all, &rule->net))
		return read_net(r, rule, all);
	if (!netaddr_parse(r->p, len, &rule->net))
		return read_net(r, rule, len);
	if (!len)
		return expected(r, r->p, "a host name or address");
	return read_name(r, rule, len);
}

static int read_ports(struct reader *r, struct allow_rule *rule)
{
	if (!*r->p)
		return 0;
	if (*r->p != ':')
		return expected(r, r->p, ":PORT or the end");
	do {
		unsigned low, high;
		size_t n = read_number(++r->p, 65535, &low);

		if (!n || !low)
			return expected(r, r->p, "a port, 1 to 65535");
		r->p += n;
		high = low;
		if (*r->p == '-') {
			n = read_number(++r->p, 65535, &high);
			if (!n || high < low)
				return expected(r, r->p,
						"a higher port, to 65535");
			r->p += n;
		}
		if (rule->nports == ALLOW_PORTS_MAX)
			return expected(r, r->p, "at most 16 ports or ranges");
		rule->ports[rule->nports].low = (uint16_t)low;
		rule->ports[rule->nports++].high = (uint16_t)high;
	} while (*r->p == ',');
	if (*r->p)
		return expected(r, r->p, "a comma or the end");
	return 0;
}

int allow_add(struct allow *a, bool allowing, const char *text,
	      struct allow_error *err)
{
	struct allow_rule rule = {.allow = allowing}, *rules;
	struct reader r = {.text = text, .p = text, .err = err};
	int ret;

	if (a->count >= ALLOW_RULES_MAX) {
		expected(&r, text, "at most 4096 rules");
		return -E2BIG;
	}
	read_scheme(&r, &rule);
	ret = read_host(&r, &rule);
	if (!ret)
		ret = read_ports(&r, &rule);
	if (ret)
		return ret;
	rules = realloc(a->rules, (a->count + 1) * sizeof(*rules));
	BUG_ON(!rules);
	rule.text = xstrdup(text);
	a->rules = rules;
	a->rules[a->count++] = rule;
	return 0;
}

void allow_set_origin(struct allow *a, const char *origin)
{
	struct allow_rule *r = &a->rules[a->count - 1];

	free(r->origin);
	r->origin = origin ? xstrdup(origin) : NULL;
}

void allow_rule_name(const struct allow_rule *r, char *out, size_t size)
{
	if (r->origin)
		snprintf(out, size, "%s", r->origin);
	else
		snprintf(out, size, "--net-%s %s", r->allow ? "allow" : "deny",
			 r->text);
}

void allow_fini(struct allow *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->rules[i].text);
		free(a->rules[i].origin);
	}
	free(a->rules);
	memset(a, 0, sizeof(*a));
}

static bool port_matches(const struct allow_rule *r,
			 const struct allow_query *q)
{
	if (q->any_port || !r->nports)
		return true;
	for (unsigned i = 0; i < r->nports; i++)
		if (q->port >= r->ports[i].low && q->port <= r->ports[i].high)
			return true;
	return false;
}

static bool name_matches(const struct allow_rule *r, const char *name)
{
	size_t n = strlen(name), h = strlen(r->host);

	if (r->allow && !strcmp(name, ALLOW_HOST_INTERNAL))
		return r->kind == ALLOW_NAME && !strcmp(name, r->host);
	if (r->kind == ALLOW_ANY)
		return true;
	if (r->kind == ALLOW_NAME)
		return !strcmp(name, r->host);
	return r->kind == ALLOW_BELOW && n > h + 1 && name[n - h - 1] == '.' &&
	       !strcmp(name + n - h, r->host);
}

static const char *names_match(const struct allow_rule *r,
			       const struct allow_query *q)
{
	for (size_t i = 0; i < q->nnames; i++)
		if (name_matches(r, q->names[i]))
			return q->names[i];
	return NULL;
}

/* Rules about names do not reach where no name of the world's may point. */
static bool name_may_reach(const struct allow *a, const struct allow_rule *r,
			   const struct allow_query *q, const char *name)
{
	if (!r->allow || !q->addr || netaddr_kind(q->addr) == NETADDR_PUBLIC ||
	    !strcmp(name, ALLOW_HOST_INTERNAL))
		return true;
	return allow_match_addr(a, q->addr);
}

static bool rule_matches(const struct allow *a, const struct allow_rule *r,
			 const struct allow_query *q, const char **name)
{
	*name = NULL;
	if (!(q->any_proto || (r->protos & q->proto)) || !port_matches(r, q))
		return false;
	if (r->kind == ALLOW_NET)
		return q->addr && netaddr_in(q->addr, &r->net, r->bits);
	if (r->kind == ALLOW_ANY && q->addr && !q->nnames)
		return !r->allow || netaddr_kind(q->addr) == NETADDR_PUBLIC;
	*name = names_match(r, q);
	return *name && name_may_reach(a, r, q, *name);
}

struct allow_verdict allow_match(const struct allow *a,
				 const struct allow_query *q)
{
	struct allow_verdict v = {0};

	for (size_t i = a->count; i-- > 0;) {
		const struct allow_rule *r = &a->rules[i];

		if (!rule_matches(a, r, q, &v.name))
			continue;
		v.allowed = r->allow;
		v.rule = r;
		v.by_name = r->kind != ALLOW_NET && v.name;
		return v;
	}
	return v;
}

/* A denial of some ports does not keep the others from being reached. */
struct allow_verdict allow_match_name(const struct allow *a, const char *name)
{
	const struct allow_query q = {.names = &name,
				      .nnames = 1,
				      .any_port = true,
				      .any_proto = true};
	struct allow_verdict v = {0};

	for (size_t i = a->count; i-- > 0;) {
		const struct allow_rule *r = &a->rules[i];

		if (!rule_matches(a, r, &q, &v.name))
			continue;
		if (!r->allow &&
		    (r->nports || r->protos != (ALLOW_TCP | ALLOW_UDP)))
			continue;
		v.allowed = r->allow;
		v.rule = r;
		v.by_name = true;
		return v;
	}
	return v;
}

bool allow_match_addr(const struct allow *a, const struct netaddr *addr)
{
	for (size_t i = a->count; i-- > 0;) {
		const struct allow_rule *r = &a->rules[i];

		if (r->kind != ALLOW_NET || !netaddr_in(addr, &r->net, r->bits))
			continue;
		if (r->allow)
			return true;
		if (!r->nports && r->protos == (ALLOW_TCP | ALLOW_UDP))
			return false;
	}
	return false;
}
