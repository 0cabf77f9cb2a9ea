/*
 * httprule.h - which requests may be made of a host, and what is put into
 * them on the way: --http-allow, --secret and --inject as the gateway holds
 * them.
 *
 * A rule is 'METHODS [http://|https://]HOST[:PORTS][/PATH]'. METHODS is a list
 * with commas, or *; HOST as of --net-allow, without networks; PORTS a list
 * with commas; PATH a pattern of net/httppath.h, without one all paths.
 * Without ports a rule means 80 and 443.
 *
 * A host and port that a rule or an injection names is *governed*: TLS with
 * it is terminated, and only requests that a rule allows pass. One that is
 * governed by an injection alone allows all requests.
 *
 * An injection is 'HOST[:PORT] WHERE NAME', the port 443 if not given:
 *   Header-Name: text {} text   the header is set, {} is the secret
 *   bearer                      Authorization: Bearer {}
 *   basic, basic:USER           Authorization: Basic, the secret the password
 *   query:PARAM                 the query parameter is set
 *   placeholder                 the secret's placeholder is swapped where it
 *                               stands in a header or in the query
 * Only over TLS, to that very name.
 *
 * Built before the first guest runs, read-only afterwards.
 */
#ifndef CLOCHE_NET_HTTPRULE_H
#define CLOCHE_NET_HTTPRULE_H

#include "addr.h"
#include "httphead.h"
#include "secret.h"

enum {
	HTTP_RULES_MAX = 1024,
	HTTP_METHODS_MAX = 16,
	HTTP_PORTS_MAX = 8,
	HTTP_INJECTS_MAX = 64,
	HTTP_TEMPLATE_MAX = 256,
};

enum http_host_kind { HTTP_HOST_ANY, HTTP_HOST_NAME, HTTP_HOST_BELOW };

struct http_rule {
	unsigned nmethods; /* 0: all */
	char methods[HTTP_METHODS_MAX][HTTP_METHOD_SIZE];
	bool plain, tls; /* schemes */
	enum http_host_kind kind;
	char host[NETHOST_SIZE]; /* canonical; an address as its text */
	unsigned nports;	 /* 0: 80 and 443 */
	uint16_t ports[HTTP_PORTS_MAX];
	char *path;   /* NULL: all; owned */
	char *text;   /* as written; owned */
	char *origin; /* "policy.yaml:4"; owned; NULL: an option */
};

enum http_inject_kind {
	HTTP_INJECT_HEADER,
	HTTP_INJECT_BASIC,
	HTTP_INJECT_QUERY,
	HTTP_INJECT_SWAP,
};

struct http_inject {
	enum http_inject_kind kind;
	char host[NETHOST_SIZE];
	uint16_t port;
	char name[HTTP_TEMPLATE_MAX]; /* of the header or parameter */
	char before[HTTP_TEMPLATE_MAX], after[HTTP_TEMPLATE_MAX];
	unsigned secret; /* its index */
	char secret_name[SECRET_NAME_SIZE];
};

struct http_policy {
	struct http_rule *rules;
	size_t nrules;
	struct http_inject *injects;
	size_t ninjects;
	struct secrets secrets;
};

struct http_error {
	size_t at;
	const char *expected;
};

int MUST_CHECK http_rule_add(struct http_policy *p, const char *text,
			     struct http_error *err);
int MUST_CHECK http_inject_add(struct http_policy *p, const char *text,
			       struct http_error *err);
/* Of the rule added last; copied; NULL: an option. */
void http_rule_set_origin(struct http_policy *p, const char *origin);
/* What a record and a person are told decided. */
void http_rule_name(const struct http_rule *r, char *out, size_t size);
/* "name[:port]" as of a Host header, made canonical: NULL, or why not. port
 * stays if none is given. */
const char *http_host_read(struct http_str s, char host[NETHOST_SIZE],
			   uint16_t *port);
/* The rule's host and ports as --net-allow takes them; to be freed. */
char *http_rule_net(const struct http_rule *r);
/* Every injection's secret exists: NULL, or the name of one that does not.
 * Fills in their indexes. */
const char *http_policy_link(struct http_policy *p);
void http_policy_fini(struct http_policy *p);

/* host is canonical, or the text of an address. */
bool http_governed(const struct http_policy *p, const char *host,
		   uint16_t port);
/* Is any host governed at this port? */
bool http_port_governed(const struct http_policy *p, uint16_t port);

struct http_question {
	const char *host;
	uint16_t port;
	bool tls;
	struct http_str method;
	const char *path;
};

struct http_verdict {
	bool allowed;
	const struct http_rule *rule; /* NULL: an injection alone, or none */
};

/* Of a governed host. */
struct http_verdict http_match(const struct http_policy *p,
			       const struct http_question *q);
/* Headers by which a framework takes an allowed request for another one:
 * NULL, or why it is refused. */
const char *http_overridden(const struct http_policy *p,
			    const struct http_question *q,
			    const struct http_verdict *v,
			    const struct http_head *h);

#endif
