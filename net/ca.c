/*
 * ca.c - see ca.h. ECDSA with P-256 throughout.
 */
#include "ca.h"

#include <stdio.h>
#include <sys/random.h>

#include "../sentry/base/hash.h"
#include "../sentry/base/list.h"

enum {
	DAY = 24 * 3600,
	CA_DAYS = 3650,
	LEAF_DAYS = 300, /* some programs take none that is valid for longer */
	COMMON_NAME_MAX = 64,
};

struct leaf {
	struct hnode node;
	struct list used; /* the newest first */
	char host[NETHOST_SIZE];
	uint64_t until_s;
	X509 *cert;
};

struct ca {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	struct htable leaves;
	struct list used;
};

static int add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	int ok;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	ctx.db = NULL;
	e = X509V3_EXT_nconf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok;
}

/* Serial number, dates and key; the rest is the caller's. */
static X509 *begin(EVP_PKEY *key, const char *name, long days)
{
	X509 *x = X509_new();
	uint64_t serial = 0;

	if (!x || getrandom(&serial, sizeof(serial), 0) < 0)
		return x;
	serial = serial >> 1 | 1;
	if (X509_set_version(x, 2) &&
	    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -DAY) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), days * DAY) &&
	    X509_NAME_add_entry_by_txt(
		    X509_get_subject_name(x), "CN", MBSTRING_ASC,
		    (const unsigned char *)name, -1, -1, 0) &&
	    X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

static int make_ca(struct ca *ca)
{
	char name[COMMON_NAME_MAX];
	unsigned id = 0;

	if (getrandom(&id, sizeof(id), 0) < 0)
		return -errno;
	snprintf(name, sizeof(name), "cloche sandbox %08x", id);
	ca->key = EVP_EC_gen("P-256");
	ca->leaf_key = EVP_EC_gen("P-256");
	ca->cert = ca->key ? begin(ca->key, name, CA_DAYS) : NULL;
	if (ca->cert && ca->leaf_key &&
	    X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert)) &&
	    add_extension(ca->cert, ca->cert, NID_basic_constraints,
			  "critical,CA:TRUE,pathlen:0") &&
	    add_extension(ca->cert, ca->cert, NID_key_usage,
			  "critical,keyCertSign,cRLSign") &&
	    add_extension(ca->cert, ca->cert, NID_subject_key_identifier,
			  "hash") &&
	    X509_sign(ca->cert, ca->key, EVP_sha256()))
		return 0;
	return -EIO;
}

int ca_new(struct ca **out)
{
	struct ca *ca = xcalloc(1, sizeof(*ca));
	int ret = make_ca(ca);

	htable_init(&ca->leaves);
	list_init(&ca->used);
	if (!ret)
		*out = ca;
	return ret;
}

size_t ca_der(const struct ca *ca, uint8_t out[CA_DER_MAX])
{
	int n = i2d_X509(ca->cert, NULL);

	BUG_ON(n <= 0 || n > CA_DER_MAX);
	i2d_X509(ca->cert, &out);
	return (size_t)n;
}

uint32_t ca_hash(const struct ca *ca)
{
	return (uint32_t)X509_subject_name_hash(ca->cert);
}

EVP_PKEY *ca_leaf_key(struct ca *ca)
{
	return ca->leaf_key;
}

static X509 *make_leaf(struct ca *ca, const char *host)
{
	char san[NETHOST_SIZE + 16];
	struct netaddr a;
	bool addr = !netaddr_parse(host, strlen(host), &a);
	/* A name that is too long for it stands in the extension alone. */
	const char *cn = strlen(host) < COMMON_NAME_MAX ? host : "cloche";
	X509 *x = begin(ca->leaf_key, cn, LEAF_DAYS);

	snprintf(san, sizeof(san), "%s%s:%s",
		 strlen(host) < COMMON_NAME_MAX ? "" : "critical,",
		 addr ? "IP" : "DNS", host);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	    add_extension(x, ca->cert, NID_basic_constraints,
			  "critical,CA:FALSE") &&
	    add_extension(x, ca->cert, NID_key_usage,
			  "critical,digitalSignature") &&
	    add_extension(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	    add_extension(x, ca->cert, NID_subject_key_identifier, "hash") &&
	    add_extension(x, ca->cert, NID_authority_key_identifier,
			  "keyid:always") &&
	    add_extension(x, ca->cert, NID_subject_alt_name, san) &&
	    X509_sign(x, ca->key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

static void leaf_drop(struct ca *ca, struct leaf *l)
{
	htable_del(&ca->leaves, &l->node);
	list_del(&l->used);
	X509_free(l->cert);
	free(l);
}

X509 *ca_leaf(struct ca *ca, const char *host)
{
	uint64_t hash = hash_bytes(host, strlen(host), 0),
		 now = (uint64_t)time(NULL);
	struct leaf *l;

	for (struct hnode *n = htable_first(&ca->leaves, hash); n;
	     n = htable_next(n)) {
		l = container_of(n, struct leaf, node);
		if (strcmp(l->host, host))
			continue;
		if (now < l->until_s) {
			list_del(&l->used);
			list_add(&ca->used, &l->used);
			return l->cert;
		}
		leaf_drop(ca, l);
		break;
	}
	if (ca->leaves.count >= CA_LEAVES_MAX)
		leaf_drop(ca, list_entry(ca->used.prev, struct leaf, used));
	l = xcalloc(1, sizeof(*l));
	l->cert = make_leaf(ca, host);
	if (!l->cert) {
		free(l);
		return NULL;
	}
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->until_s = now + (LEAF_DAYS - 1) * DAY;
	htable_add(&ca->leaves, &l->node, hash);
	list_add(&ca->used, &l->used);
	return l->cert;
}
