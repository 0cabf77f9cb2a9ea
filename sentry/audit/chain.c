/*
 * chain.c - see chain.h. SHA-256 comes from OpenSSL's libcrypto, which is
 * kept from reading its configuration file: the start of a run is measured
 * in milliseconds.
 */
#include "chain.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

int chain_init(struct chain *c)
{
	memset(c, 0, sizeof(*c));
	if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG |
					 OPENSSL_INIT_NO_ATEXIT,
				 NULL))
		return -ENOMEM;
	c->ctx = EVP_MD_CTX_new();
	if (!c->ctx || !EVP_DigestInit_ex(c->ctx, EVP_sha256(), NULL)) {
		EVP_MD_CTX_free(c->ctx);
		c->ctx = NULL;
		return -ENOMEM;
	}
	return 0;
}

void chain_fini(struct chain *c)
{
	EVP_MD_CTX_free(c->ctx);
	c->ctx = NULL;
}

void chain_add(struct chain *c, const void *data, size_t len)
{
	if (!c->open) {
		BUG_ON(!EVP_DigestInit_ex(c->ctx, NULL, NULL));
		BUG_ON(!EVP_DigestUpdate(c->ctx, c->hash, CHAIN_HASH_SIZE));
		c->open = true;
	}
	BUG_ON(!EVP_DigestUpdate(c->ctx, data, len));
}

void chain_close(struct chain *c)
{
	unsigned len = 0;

	chain_add(c, "", 0);
	BUG_ON(!EVP_DigestFinal_ex(c->ctx, c->hash, &len));
	BUG_ON(len != CHAIN_HASH_SIZE);
	c->open = false;
}

void chain_hex(const struct chain *c, char hex[CHAIN_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < CHAIN_HASH_SIZE; i++) {
		hex[2 * i] = digits[c->hash[i] >> 4];
		hex[2 * i + 1] = digits[c->hash[i] & 15];
	}
	hex[CHAIN_HEX_SIZE - 1] = '\0';
}
