/*
 * addr_test.c - canonical addresses and host names.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>

#include "../../net/addr.h"

static struct netaddr addr(const char *s)
{
	struct netaddr a;

	cr_assert_eq(netaddr_parse(s, strlen(s), &a), 0, "%s", s);
	return a;
}

static const char *canon(const char *s)
{
	static char out[NETADDR_TEXT];
	struct netaddr a = addr(s);

	netaddr_format(&a, out);
	return out;
}

Test(addr, ambiguous_ipv4_is_refused)
{
	static const char *const bad[] = {
		"127.1",
		"0177.0.0.1",
		"0x7f.0.0.1",
		"2130706433",
		"1.2.3",
		"1.2.3.4.5",
		"01.2.3.4",
		"1.2.3.04",
		"256.1.1.1",
		"1.2.3.-4",
		" 1.2.3.4",
		"1.2.3.4 ",
		"1.2.3.4.",
		"",
		".",
		"1..2.3",
		"::ffff:1.2.3.04",
		"fe80::1%eth0",
		"[::1]",
		"1::2::3",
		":::",
	};
	struct netaddr a;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect_eq(netaddr_parse(bad[i], strlen(bad[i]), &a), -EINVAL,
			     "%s", bad[i]);
	cr_expect_eq(netaddr_parse("1.2.3.4\0.5", 10, &a), -EINVAL);
}

Test(addr, one_form_for_one_address)
{
	cr_assert_str_eq(canon("1.2.3.4"), "1.2.3.4");
	cr_assert_str_eq(canon("::ffff:1.2.3.4"), "1.2.3.4");
	cr_assert_str_eq(canon("::FFFF:0102:0304"), "1.2.3.4");
	cr_assert_str_eq(canon("2001:0DB8:0:0::1"), "2001:db8::1");
	cr_assert(netaddr_equal(&(struct netaddr){AF_INET, {1, 2, 3, 4}},
				&(struct netaddr){AF_INET, {1, 2, 3, 4}}));
}

Test(addr, sockaddr_lengths_and_mapped)
{
	struct sockaddr_storage ss = {.ss_family = AF_INET6};
	struct sockaddr_in6 *in6 = (void *)&ss;
	struct netaddr a;
	uint16_t port = 0;

	inet_pton(AF_INET6, "::ffff:10.0.0.1", &in6->sin6_addr);
	in6->sin6_port = htons(443);
	cr_assert_eq(netaddr_from_sockaddr(&ss, 23, &a, &port), -EINVAL);
	cr_assert_eq(netaddr_from_sockaddr(&ss, 24, &a, &port), 0);
	cr_assert_eq(a.family, AF_INET);
	cr_assert_eq(port, 443);
	cr_assert_eq(netaddr_from_sockaddr(&ss, 1, &a, &port), -EINVAL);
	ss.ss_family = AF_INET;
	cr_assert_eq(netaddr_from_sockaddr(&ss, 15, &a, &port), -EINVAL);
	ss.ss_family = AF_UNIX;
	cr_assert_eq(netaddr_from_sockaddr(&ss, 28, &a, &port), -EAFNOSUPPORT);
}

Test(addr, kinds_look_through_what_carries_ipv4)
{
	static const struct {
		const char *text;
		enum netaddr_kind kind;
	} t[] = {
		{"8.8.8.8", NETADDR_PUBLIC},
		{"127.9.9.9", NETADDR_LOOPBACK},
		{"0.0.0.0", NETADDR_LOOPBACK},
		{"10.0.0.1", NETADDR_PRIVATE},
		{"172.16.0.1", NETADDR_PRIVATE},
		{"172.32.0.1", NETADDR_PUBLIC},
		{"192.168.1.1", NETADDR_PRIVATE},
		{"100.64.0.1", NETADDR_PRIVATE},
		{"169.254.169.254", NETADDR_LINKLOCAL},
		{"224.0.0.1", NETADDR_RESERVED},
		{"255.255.255.255", NETADDR_RESERVED},
		{"::", NETADDR_LOOPBACK},
		{"::1", NETADDR_LOOPBACK},
		{"::127.0.0.1", NETADDR_LOOPBACK},
		{"fe80::1", NETADDR_LINKLOCAL},
		{"fd00::1", NETADDR_PRIVATE},
		{"ff02::1", NETADDR_RESERVED},
		{"2606:2800::1", NETADDR_PUBLIC},
		{"64:ff9b::10.0.0.1", NETADDR_PRIVATE},
		{"64:ff9b::8.8.8.8", NETADDR_PUBLIC},
		{"64:ff9b:1::8.8.8.8", NETADDR_PRIVATE},
		{"2002:7f00:1::", NETADDR_LOOPBACK},
		{"::ffff:169.254.1.1", NETADDR_LINKLOCAL},
		{"::ffff:0:10.0.0.1", NETADDR_RESERVED},
		{"4000::1", NETADDR_RESERVED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct netaddr a = addr(t[i].text);

		cr_expect_eq(netaddr_kind(&a), t[i].kind, "%s", t[i].text);
	}
}

Test(addr, prefixes)
{
	struct netaddr net = addr("10.128.0.0"), six = addr("2001:db8::");
	struct netaddr in = addr("10.255.1.1"), out = addr("10.127.1.1");

	cr_assert(netaddr_in(&in, &net, 9));
	cr_assert_not(netaddr_in(&out, &net, 9));
	cr_assert(netaddr_in(&out, &net, 0));
	cr_assert_not(netaddr_in(&out, &net, 33));
	cr_assert_not(netaddr_in(&in, &six, 0));
}

Test(addr, host_names)
{
	static const struct {
		const char *in, *out;
	} t[] = {
		{"Example.ORG", "example.org"},
		{"example.org.", "example.org"},
		{"a_b.c-d", "a_b.c-d"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"localhost", "localhost"},
		{"1e100.net", "1e100.net"},
		{"", NULL},
		{".", NULL},
		{"a..b", NULL},
		{".a", NULL},
		{"a b", NULL},
		{"a/b", NULL},
		{"a:1", NULL},
		{"b\xc3\xbc", NULL},
		{"*.a", NULL},
		{"a..", NULL},
		{"127.1", NULL},
		{"1", NULL},
		{"a.0x7f", NULL},
		{"0x", NULL},
		{"1.2.3.4", NULL},
		{"a.1.", NULL},
	};
	char out[NETHOST_SIZE], longest[300];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int ret = nethost_canon(t[i].in, strlen(t[i].in), out);

		cr_expect_eq(ret, t[i].out ? 0 : -EINVAL, "%s", t[i].in);
		if (!ret)
			cr_expect_str_eq(out, t[i].out);
	}
	cr_expect_eq(nethost_canon("a\0.b", 4, out), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	cr_expect_eq(nethost_canon(longest, 63, out), 0);
	cr_expect_eq(nethost_canon(longest, 64, out), -EINVAL);
	for (int i = 63; i < 253; i += 64)
		longest[i] = '.';
	cr_expect_eq(nethost_canon(longest, 253, out), 0);
	cr_expect_eq(nethost_canon(longest, 254, out), -EINVAL);
}
