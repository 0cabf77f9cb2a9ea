/*
 * fuzz_dns.c - DNS messages from guests and from outside.
 */
#include "../../net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
	char again[NETHOST_SIZE];

	if (!name[0])
		return;
	BUG_ON(nethost_canon(name, strlen(name), again));
	BUG_ON(strcmp(name, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dns_question q;
	static struct dns_answer a;
	static uint8_t out[DNS_MSG_MAX];
	static const char name[] = "a.org";

	if (dns_parse_question(data, size, &q) == 0) {
		ssize_t n = dns_build_reply(&q, DNS_NXDOMAIN, NULL, out, 4096);

		check_name(q.name);
		BUG_ON(n > 4096);
	}
	if (size < 2 ||
	    dns_parse_answer(data, size, (uint16_t)(data[0] << 8 | data[1]),
			     name, DNS_A, &a))
		return 0;
	BUG_ON(a.count > DNS_RECORDS_MAX);
	for (size_t i = 0; i < a.count; i++) {
		check_name(a.rec[i].owner);
		check_name(a.rec[i].target);
	}
	q = (struct dns_question){.id = 1, .type = DNS_A, .class = 1};
	memcpy(q.shown, name, sizeof(name));
	BUG_ON(dns_build_reply(&q, a.rcode & 15, &a, out, 512) > 512);
	return 0;
}
