/*
 * chain.h - the hash chain of an audit stream.
 *
 * A block's hash is SHA-256(previous hash, 32 bytes | the block's lines with
 * their newlines); the first block's previous hash is 32 zero bytes. The end
 * record's hash is SHA-256(previous hash | its line up to ,"hash":). Used by
 * the writer and by the reader, so that both mean the same. Not locked.
 */
#ifndef CLOCHE_CHAIN_H
#define CLOCHE_CHAIN_H

#include <nettle/sha2.h>

#include "../base/base.h"

#define CHAIN_BLOCK_MAX 256 /* records in a block */
#define CHAIN_HASH_SIZE 32
#define CHAIN_HEX_SIZE	(2 * CHAIN_HASH_SIZE + 1)

struct chain {
	struct sha256_ctx ctx;
	unsigned char hash[CHAIN_HASH_SIZE];
	bool open; /* a block has begun */
};

void chain_init(struct chain *c);
void chain_add(struct chain *c, const void *data, size_t len);
/* Ends the block; c->hash is the new one. */
void chain_close(struct chain *c);
void chain_hex(const struct chain *c, char hex[CHAIN_HEX_SIZE]);

#endif
