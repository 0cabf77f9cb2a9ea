/*
 * chain.c - see chain.h. SHA-256 comes from nettle: OpenSSL's libcrypto does
 * the same, but loading it alone takes more than a millisecond of each start.
 */
#include "chain.h"

void chain_init(struct chain *c)
{
	memset(c, 0, sizeof(*c));
	sha256_init(&c->ctx);
}

void chain_add(struct chain *c, const void *data, size_t len)
{
	if (!c->open) {
		sha256_update(&c->ctx, CHAIN_HASH_SIZE, c->hash);
		c->open = true;
	}
	sha256_update(&c->ctx, len, data);
}

void chain_close(struct chain *c)
{
	chain_add(c, "", 0);
	sha256_digest(&c->ctx, CHAIN_HASH_SIZE, c->hash);
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
