/*
 * gateway_look.c - what the first bytes of a connection say about where it
 * goes: to be passed on as it is, refused, or led to the HTTP stage.
 *
 * A connection that was allowed for a name must, where it is TLS, ask for an
 * allowed name. On ports that rules about requests speak of, TLS for a host
 * that is governed is opened, and plain HTTP is read whoever it is for.
 */
#include "gateway_priv.h"
#include "sni.h"

#include <strings.h>

bool gw_name_of(struct gw *gw, const struct netaddr *addr, const char *name)
{
	const char *names[NAMES_PER_ADDR_MAX];
	char text[NETADDR_TEXT];
	size_t n;

	if (netaddr_equal(addr, &gw->cfg->host4))
		return !strcmp(name, ALLOW_HOST_INTERNAL);
	netaddr_format(addr, text);
	if (!strcmp(name, text))
		return true;
	n = names_find(&gw->cfg->names, addr, gw->ms / 1000, names,
		       ARRAY_SIZE(names));
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_governed(struct gw *gw, const char *host, uint16_t port)
{
	return gw->cfg->http_on && http_governed(&gw->cfg->http, host, port);
}

/* Is the address itself a host that rules about requests name? */
static bool addr_governed(struct gw *gw, const struct conn_info *info,
			  char text[NETADDR_TEXT])
{
	netaddr_format(&info->addr, text);
	if (netaddr_equal(&info->addr, &gw->cfg->host4))
		return is_governed(gw, ALLOW_HOST_INTERNAL, info->port);
	return is_governed(gw, text, info->port);
}

bool gw_name_allowed(struct gw *gw, const struct conn_info *info,
		     const char *name)
{
	const struct allow_query q = {
		.proto = ALLOW_TCP,
		.addr = &info->addr,
		.names = &name,
		.nnames = 1,
		.port = info->port,
	};
	char text[NETADDR_TEXT];

	if (!info->check_name) /* by a rule about addresses */
		return !addr_governed(gw, info, text);
	return allow_match(&gw->cfg->rules, &q).allowed;
}

/* RFC 9110 5.6.2, of what methods are made */
static bool is_token(uint8_t c)
{
	return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

/*
 * Could a server take it for a request? Letters and a space are a method.
 * Servers pass over empty lines in front, and take other words for methods,
 * too: there the first line tells.
 */
static enum gw_look is_http(const uint8_t *p, size_t len)
{
	const uint8_t *end;
	size_t n = 0, line;

	while (len && (*p == '\r' || *p == '\n' || *p == ' ' || *p == '\t'))
		p++, len--;
	if (!len)
		return LOOK_MORE;
	while (n < len && (p[n] | 0x20) >= 'a' && (p[n] | 0x20) <= 'z')
		n++;
	if (n && n < len && p[n] == ' ')
		return LOOK_HTTP;
	end = memchr(p, '\n', len);
	line = end ? (size_t)(end - p) : len;
	if (!is_token(p[0]) || memchr(p, 0, line))
		return LOOK_PASS;
	if (!end)
		return LOOK_MORE;
	for (size_t i = 0; i + 5 <= line; i++)
		if (!strncasecmp((const char *)p + i, "HTTP/", 5))
			return LOOK_HTTP;
	return LOOK_PASS;
}

static enum gw_look look_plain(struct gw *gw, const struct conn_info *info,
			       const uint8_t *p, size_t len, const char **why)
{
	const char *names[NAMES_PER_ADDR_MAX];
	char text[NETADDR_TEXT];
	enum gw_look got = is_http(p, len);
	bool governed;
	size_t n;

	if (got != LOOK_PASS)
		return got;
	governed = addr_governed(gw, info, text);
	n = info->check_name
		    ? names_find(&gw->cfg->names, &info->addr, gw->ms / 1000,
				 names, ARRAY_SIZE(names))
		    : 0;
	for (size_t i = 0; i < n; i++)
		governed |= is_governed(gw, names[i], info->port);
	if (!governed)
		return LOOK_PASS;
	*why = "not HTTP, where rules are about requests";
	return LOOK_REFUSE;
}

enum gw_look gw_look_at(struct gw *gw, const struct conn_info *info,
			const uint8_t *p, size_t len, char host[NETHOST_SIZE],
			const char **why)
{
	char text[NETADDR_TEXT];

	switch (sni_parse(p, len, host)) {
	case SNI_NOT_TLS:
		return info->look ? look_plain(gw, info, p, len, why)
				  : LOOK_PASS;
	case SNI_MORE:
		return LOOK_MORE;
	case SNI_NONE:
		host[0] = '\0';
		if (info->look && addr_governed(gw, info, text) &&
		    is_governed(gw, text, info->port)) {
			memcpy(host, text, strlen(text) + 1);
			return LOOK_HTTP;
		}
		*why = "TLS without a server name";
		break;
	case SNI_NAME:
		if (info->look && is_governed(gw, host, info->port))
			return LOOK_HTTP;
		if (gw_name_allowed(gw, info, host))
			return LOOK_PASS;
		*why = "TLS for a name that is not allowed";
		return LOOK_REFUSE;
	case SNI_BAD:
		host[0] = '\0';
		*why = "malformed TLS hello";
		break;
	}
	return info->check_name || addr_governed(gw, info, text) ? LOOK_REFUSE
								 : LOOK_PASS;
}
