/*
 * addr.c - see addr.h.
 */
#include "addr.h"

#include <arpa/inet.h>
#include <stdio.h>

enum { V4_LEN = 4, V6_LEN = 16, LABEL_MAX = 63 };
/* SIN6_LEN_RFC2133 of the kernel */
enum { SIN6_LEN_MIN = 24 };

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static void canon_mapped(struct netaddr *a)
{
	if (a->family != AF_INET6 || memcmp(a->b, mapped, sizeof(mapped)))
		return;
	memmove(a->b, a->b + sizeof(mapped), V4_LEN);
	memset(a->b + V4_LEN, 0, V6_LEN - V4_LEN);
	a->family = AF_INET;
}

/* inet_pton takes no octal, hexadecimal or short form, and no leading zero
 * in a number of two digits or more. */
int netaddr_parse(const char *s, size_t len, struct netaddr *out)
{
	struct netaddr a = {0};
	char text[NETADDR_TEXT];

	if (len == 0 || len >= sizeof(text) || memchr(s, 0, len))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = '\0';
	if (inet_pton(AF_INET, text, a.b) == 1)
		a.family = AF_INET;
	else if (inet_pton(AF_INET6, text, a.b) == 1)
		a.family = AF_INET6;
	else
		return -EINVAL;
	canon_mapped(&a);
	*out = a;
	return 0;
}

void netaddr_format(const struct netaddr *a, char out[NETADDR_TEXT])
{
	if (!a->family || !inet_ntop(a->family, a->b, out, NETADDR_TEXT))
		snprintf(out, NETADDR_TEXT, "?");
}

void netaddr_format_port(const struct netaddr *a, uint16_t port, char *out,
			 size_t size)
{
	char text[NETADDR_TEXT];

	netaddr_format(a, text);
	snprintf(out, size, a->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text,
		 port);
}

int netaddr_from_sockaddr(const struct sockaddr_storage *ss, size_t len,
			  struct netaddr *out, uint16_t *port)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;
	struct netaddr a = {0};

	if (len < sizeof(sa_family_t))
		return -EINVAL;
	if (ss->ss_family == AF_INET) {
		if (len < sizeof(*in))
			return -EINVAL;
		memcpy(a.b, &in->sin_addr, V4_LEN);
		*port = ntohs(in->sin_port);
	} else if (ss->ss_family == AF_INET6) {
		if (len < SIN6_LEN_MIN)
			return -EINVAL;
		memcpy(a.b, &in6->sin6_addr, V6_LEN);
		*port = ntohs(in6->sin6_port);
	} else {
		return -EAFNOSUPPORT;
	}
	a.family = ss->ss_family;
	canon_mapped(&a);
	*out = a;
	return 0;
}

socklen_t netaddr_to_sockaddr(const struct netaddr *a, uint16_t port,
			      struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_in6 *in6 = (void *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = a->family;
	if (a->family == AF_INET) {
		memcpy(&in->sin_addr, a->b, V4_LEN);
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	memcpy(&in6->sin6_addr, a->b, V6_LEN);
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

bool netaddr_equal(const struct netaddr *a, const struct netaddr *b)
{
	return a->family == b->family && !memcmp(a->b, b->b, V6_LEN);
}

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	if (memcmp(a, b, whole))
		return false;
	return !rest || (a[whole] & mask) == (b[whole] & mask);
}

bool netaddr_in(const struct netaddr *a, const struct netaddr *net,
		unsigned bits)
{
	unsigned max = a->family == AF_INET ? 32 : 128;

	return a->family == net->family && bits <= max &&
	       bits_equal(a->b, net->b, bits);
}

struct special {
	uint8_t b[16];
	uint8_t bits, kind;
};

/* IANA's special-purpose registries; the first that matches counts. */
static const struct special special4[] = {
	{{0}, 8, NETADDR_LOOPBACK}, /* "this host" */
	{{10}, 8, NETADDR_PRIVATE},
	{{100, 64}, 10, NETADDR_PRIVATE},
	{{127}, 8, NETADDR_LOOPBACK},
	{{169, 254}, 16, NETADDR_LINKLOCAL},
	{{172, 16}, 12, NETADDR_PRIVATE},
	{{192, 0, 0}, 24, NETADDR_RESERVED},
	{{192, 0, 2}, 24, NETADDR_RESERVED},
	{{192, 88, 99}, 24, NETADDR_RESERVED},
	{{192, 168}, 16, NETADDR_PRIVATE},
	{{198, 18}, 15, NETADDR_PRIVATE},
	{{198, 51, 100}, 24, NETADDR_RESERVED},
	{{203, 0, 113}, 24, NETADDR_RESERVED},
	{{224}, 3, NETADDR_RESERVED}, /* multicast, class E, broadcast */
};

static const struct special special6[] = {
	{{[15] = 1}, 128, NETADDR_LOOPBACK},
	{{0}, 96, NETADDR_LOOPBACK}, /* unspecified, v4-compatible */
	{{0x01}, 64, NETADDR_RESERVED},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, NETADDR_RESERVED},
	{{0x20, 0x01, 0}, 23, NETADDR_RESERVED}, /* Teredo, ORCHID ... */
	{{0x3f, 0xff}, 20, NETADDR_RESERVED},
	{{0xfc}, 7, NETADDR_PRIVATE},
	{{0xfe, 0x80}, 10, NETADDR_LINKLOCAL},
	{{0xfe, 0xc0}, 10, NETADDR_PRIVATE},
	{{0xff}, 8, NETADDR_RESERVED},
};

static enum netaddr_kind kind_in(const struct special *t, size_t n,
				 const uint8_t *b)
{
	for (size_t i = 0; i < n; i++)
		if (bits_equal(b, t[i].b, t[i].bits))
			return t[i].kind;
	return NETADDR_PUBLIC;
}

enum netaddr_kind netaddr_kind(const struct netaddr *a)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	static const uint8_t nat64_local[6] = {0x00, 0x64, 0xff, 0x9b, 0, 1};
	static const uint8_t six_to_four[2] = {0x20, 0x02};
	enum netaddr_kind kind;

	if (a->family == AF_INET)
		return kind_in(special4, ARRAY_SIZE(special4), a->b);
	if (!memcmp(a->b, nat64, sizeof(nat64)))
		return kind_in(special4, ARRAY_SIZE(special4), a->b + 12);
	if (!memcmp(a->b, nat64_local, sizeof(nat64_local)))
		return NETADDR_PRIVATE;
	if (!memcmp(a->b, six_to_four, sizeof(six_to_four)))
		return kind_in(special4, ARRAY_SIZE(special4), a->b + 2);
	kind = kind_in(special6, ARRAY_SIZE(special6), a->b);
	/* what is given out at all begins with 001 */
	return kind == NETADDR_PUBLIC && a->b[0] >> 5 != 1 ? NETADDR_RESERVED
							   : kind;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* As the URL standard: a last label that parses as a number makes the whole
 * an IPv4 address, in whatever base. */
static bool label_is_number(const char *s, size_t len)
{
	size_t i = 0;

	if (len >= 2 && s[0] == '0' && s[1] == 'x') {
		for (i = 2; i < len; i++)
			if (!is_digit(s[i]) && (s[i] < 'a' || s[i] > 'f'))
				return false;
		return true;
	}
	for (; i < len; i++)
		if (!is_digit(s[i]))
			return false;
	return true;
}

int nethost_canon(const char *s, size_t len, char out[NETHOST_SIZE])
{
	char text[NETHOST_SIZE];
	size_t label = 0;

	if (len && s[len - 1] == '.')
		len--;
	if (len == 0 || len >= NETHOST_SIZE)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		text[i] = c;
		if (c == '.') {
			if (i == label || i - label > LABEL_MAX)
				return -EINVAL;
			label = i + 1;
		} else if (!is_digit(c) && (c < 'a' || c > 'z') && c != '-' &&
			   c != '_') {
			return -EINVAL;
		}
	}
	if (len == label || len - label > LABEL_MAX ||
	    label_is_number(text + label, len - label))
		return -EINVAL;
	text[len] = '\0';
	memcpy(out, text, len + 1);
	return 0;
}
