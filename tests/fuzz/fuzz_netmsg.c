/*
 * fuzz_netmsg.c - messages that are taken for valid can be printed and
 * compared without care.
 */
#include "../../net/netmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[NETADDR_TEXT + 8];
	struct netmsg m;

	memset(&m, 0, sizeof(m));
	m.version = NETMSG_VERSION;
	m.kind = NETMSG_VERDICT;
	memcpy((char *)&m + 8, data,
	       size < sizeof(m) - 8 ? size : sizeof(m) - 8);
	if (!netmsg_valid(&m, sizeof(m)))
		return 0;
	BUG_ON(strlen(m.name) >= sizeof(m.name));
	BUG_ON(strlen(m.rule) >= sizeof(m.rule));
	netaddr_format_port(&m.addr, m.port, text, sizeof(text));
	return 0;
}
