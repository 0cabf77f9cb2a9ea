/*
 * sni.c - see sni.h. RFC 8446 4.1.2, RFC 6066 3. A ClientHello may be cut into
 * several records; its handshake bytes are put together first.
 *
 * An encrypted ClientHello carries its public name in the outer SNI: that is
 * the name that counts, and it must be an allowed one like any other.
 *
 * Servers take more for the beginning of TLS than programs send: a warning or
 * another record before the hello, a hello in the form of SSLv2. Neither is
 * passed for something that is not TLS.
 */
#include "sni.h"

enum { REC_HANDSHAKE = 22, HS_CLIENT_HELLO = 1, EXT_SNI = 0 };
enum { REC_HEAD = 5, REC_MAX = 16384 + 256 };
enum { REC_FIRST = 20, REC_LAST = 24 }; /* types of records */

struct bytes {
	const uint8_t *p;
	size_t len;
	bool bad;
};

static const uint8_t *take(struct bytes *b, size_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > b->len) {
		b->bad = true;
		return NULL;
	}
	b->p += n;
	b->len -= n;
	return p;
}

/* A big-endian number of n bytes. */
static size_t number(struct bytes *b, unsigned n)
{
	const uint8_t *p = take(b, n);
	size_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* What a length of n bytes in front says. */
static struct bytes vector(struct bytes *b, unsigned n)
{
	size_t len = number(b, n);
	struct bytes v = {.p = take(b, len), .len = len};

	if (b->bad)
		v = (struct bytes){.bad = true};
	return v;
}

/* 1: a hello with the frame of SSLv2; 0: perhaps; -1: none. */
static int is_v2_hello(const uint8_t *p, size_t len)
{
	if ((p[0] & 0xc0) != 0x80 || (len > 2 && p[2] != HS_CLIENT_HELLO) ||
	    (len > 3 && p[3] != 3 && p[3] != 0) ||
	    (len > 4 && p[3] == 0 && p[4] != 2))
		return -1;
	return len > 4;
}

/* What begins so, if it is no record of a handshake? SNI_NAME: it is one. */
static enum sni_result first_bytes(const uint8_t *p, size_t len)
{
	int v2 = is_v2_hello(p, len);

	if (v2 >= 0)
		return v2 ? SNI_BAD : SNI_MORE;
	if (p[0] < REC_FIRST || p[0] > REC_LAST || (len > 1 && p[1] != 3))
		return SNI_NOT_TLS;
	if (p[0] == REC_HANDSHAKE)
		return SNI_NAME;
	return len > 1 ? SNI_BAD : SNI_MORE;
}

/* The handshake bytes of consecutive records: how many are in out. */
static enum sni_result gather(const uint8_t *data, size_t len, uint8_t *out,
			      size_t *got)
{
	enum sni_result first = len ? first_bytes(data, len) : SNI_MORE;

	*got = 0;
	if (first != SNI_NAME)
		return first;
	while (len) {
		size_t n, have;

		if (data[0] != REC_HANDSHAKE || (len >= 2 && data[1] != 3))
			return SNI_BAD;
		if (len < REC_HEAD)
			return SNI_MORE;
		n = (size_t)data[3] << 8 | data[4];
		if (n == 0 || n > REC_MAX)
			return SNI_BAD;
		data += REC_HEAD;
		len -= REC_HEAD;
		have = n < len ? n : len;
		if (have > SNI_HELLO_MAX - *got)
			have = SNI_HELLO_MAX - *got;
		memcpy(out + *got, data, have);
		*got += have;
		if (*got >= 1 && out[0] != HS_CLIENT_HELLO)
			return SNI_BAD;
		if (*got >= 4 && *got >= 4 + ((size_t)out[1] << 16 |
					      (size_t)out[2] << 8 | out[3]))
			return SNI_NAME; /* complete */
		if (have < n || *got == SNI_HELLO_MAX)
			return SNI_MORE;
		data += n;
		len -= n;
	}
	return SNI_MORE;
}

static enum sni_result server_name(struct bytes ext, char name[NETHOST_SIZE])
{
	struct bytes list = vector(&ext, 2), host;
	size_t type = number(&list, 1);

	host = vector(&list, 2);
	/* one name of type host_name, nothing after it */
	if (host.bad || ext.len || list.len || type != 0 ||
	    nethost_canon((const char *)host.p, host.len, name))
		return SNI_BAD;
	return SNI_NAME;
}

static enum sni_result extensions(struct bytes exts, char name[NETHOST_SIZE])
{
	enum sni_result found = SNI_NONE;

	while (exts.len && !exts.bad) {
		size_t type = number(&exts, 2);
		struct bytes ext = vector(&exts, 2);

		if (ext.bad)
			return SNI_BAD;
		if (type != EXT_SNI)
			continue;
		if (found != SNI_NONE)
			return SNI_BAD; /* twice */
		found = server_name(ext, name);
		if (found == SNI_BAD)
			return SNI_BAD;
	}
	return exts.bad ? SNI_BAD : found;
}

enum sni_result sni_parse(const uint8_t *data, size_t len,
			  char name[NETHOST_SIZE])
{
	uint8_t hello[SNI_HELLO_MAX];
	struct bytes b, exts;
	enum sni_result r;
	size_t got;

	r = gather(data, len, hello, &got);
	if (r != SNI_NAME)
		return r;
	b = (struct bytes){.p = hello + 1, .len = got - 1};
	b = vector(&b, 3);
	take(&b, 2 + 32); /* version, random */
	vector(&b, 1);	  /* session id */
	vector(&b, 2);	  /* cipher suites */
	vector(&b, 1);	  /* compression methods */
	if (b.bad)
		return SNI_BAD;
	if (!b.len)
		return SNI_NONE;
	exts = vector(&b, 2);
	if (exts.bad || b.len)
		return SNI_BAD;
	return extensions(exts, name);
}
