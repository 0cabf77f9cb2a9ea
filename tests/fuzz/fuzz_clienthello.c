/*
 * fuzz_clienthello.c - the first bytes of a connection: a name that is found
 * is canonical, and more bytes never change what was found.
 */
#include "../../net/sni.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[NETHOST_SIZE], again[NETHOST_SIZE];
	enum sni_result r = sni_parse(data, size, name);

	if (r == SNI_NAME) {
		BUG_ON(nethost_canon(name, strlen(name), again));
		BUG_ON(strcmp(name, again));
	}
	for (size_t n = 0; n < size && n < 600; n++) {
		enum sni_result part = sni_parse(data, n, again);

		BUG_ON(part != SNI_MORE && part != r);
	}
	return 0;
}
