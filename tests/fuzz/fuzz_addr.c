/*
 * fuzz_addr.c - address strings, host names and rules: whatever is accepted
 * has one form, and that form is accepted again.
 */
#include "../../net/allow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_addr(const char *s, size_t len)
{
	char text[NETADDR_TEXT];
	struct netaddr a, b;

	if (netaddr_parse(s, len, &a))
		return;
	netaddr_format(&a, text);
	BUG_ON(netaddr_parse(text, strlen(text), &b));
	BUG_ON(!netaddr_equal(&a, &b));
	BUG_ON(netaddr_kind(&a) != netaddr_kind(&b));
}

static void check_host(const char *s, size_t len)
{
	char once[NETHOST_SIZE], twice[NETHOST_SIZE];
	struct netaddr a;

	if (nethost_canon(s, len, once))
		return;
	BUG_ON(nethost_canon(once, strlen(once), twice));
	BUG_ON(strcmp(once, twice));
	BUG_ON(!netaddr_parse(once, strlen(once), &a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = xcalloc(size + 1, 1);
	struct allow a = {0};
	struct allow_error e = {0};

	memcpy(text, data, size);
	check_addr(text, size);
	check_host(text, size);
	if (allow_add(&a, true, text, &e))
		BUG_ON(!e.expected || e.at > strlen(text));
	else
		BUG_ON(a.count != 1);
	allow_fini(&a);
	return 0;
}
