/*
 * allow_test.c - rules about hosts: what they say and whom they match.
 */
#include <criterion/criterion.h>

#include "../../net/allow.h"

static struct allow rules;

static void add(bool allow, const char *text)
{
	struct allow_error e = {0};

	cr_assert_eq(allow_add(&rules, allow, text, &e), 0, "%s: at %zu %s",
		     text, e.at, e.expected);
}

/* Name (or NULL), address (or NULL), port. */
static bool reach(const char *name, const char *ip, uint16_t port,
		  uint8_t proto)
{
	struct netaddr a;
	struct allow_query q = {.proto = proto,
				.port = port,
				.names = &name,
				.nnames = name != NULL};

	if (ip) {
		cr_assert_eq(netaddr_parse(ip, strlen(ip), &a), 0);
		q.addr = &a;
	}
	return allow_match(&rules, &q).allowed;
}

#define TCP(name, ip, port) reach(name, ip, port, ALLOW_TCP)
#define UDP(name, ip, port) reach(name, ip, port, ALLOW_UDP)
#define PUB		    "93.184.216.34"

static void fini(void)
{
	allow_fini(&rules);
}

TestSuite(allow, .fini = fini);

Test(allow, nothing_is_allowed_by_nothing)
{
	cr_assert_not(TCP("a.org", PUB, 443));
	cr_assert_not(TCP(NULL, PUB, 443));
	cr_assert_not(allow_match_name(&rules, "a.org").allowed);
}

Test(allow, a_name_and_its_ports)
{
	add(true, "Example.org.:80,443,8000-8010");
	cr_assert(TCP("example.org", PUB, 80));
	cr_assert(TCP("example.org", PUB, 8005));
	cr_assert_not(TCP("example.org", PUB, 81));
	cr_assert_not(TCP("www.example.org", PUB, 80));
	cr_assert_not(TCP("example.org.evil", PUB, 80));
	cr_assert_not(TCP(NULL, PUB, 80));
	cr_assert_not(UDP("example.org", PUB, 80));
	cr_assert(allow_match_name(&rules, "example.org").allowed);
	cr_assert_not(allow_match_name(&rules, "evil.org").allowed);
}

Test(allow, names_below)
{
	add(true, "*.example.org");
	cr_assert(TCP("a.example.org", PUB, 1));
	cr_assert(TCP("a.b.example.org", PUB, 1));
	cr_assert_not(TCP("example.org", PUB, 1));
	cr_assert_not(TCP("aexample.org", PUB, 1));
}

Test(allow, last_match_decides)
{
	add(true, "*.example.org");
	add(false, "bad.example.org");
	add(true, "bad.example.org:443");
	cr_assert(TCP("a.example.org", PUB, 22));
	cr_assert(TCP("bad.example.org", PUB, 443));
	cr_assert_not(TCP("bad.example.org", PUB, 22));
	cr_assert(allow_match_name(&rules, "bad.example.org").allowed);
	add(false, "*");
	cr_assert_not(TCP("a.example.org", PUB, 22));
	cr_assert_not(allow_match_name(&rules, "a.example.org").allowed);
}

Test(allow, denied_ports_do_not_deny_the_name)
{
	add(true, "a.org");
	add(false, "a.org:25");
	cr_assert(allow_match_name(&rules, "a.org").allowed);
	cr_assert_not(TCP("a.org", PUB, 25));
	cr_assert(TCP("a.org", PUB, 26));
}

Test(allow, addresses_and_networks)
{
	add(true, "10.0.0.0/8:22");
	add(true, "[2001:db8::]/32:443");
	add(true, "[2606::1]");
	add(true, "::ffff:1.2.3.4");
	cr_assert(TCP(NULL, "10.9.9.9", 22));
	cr_assert_not(TCP(NULL, "10.9.9.9", 23));
	cr_assert(TCP(NULL, "2001:db8:1::1", 443));
	cr_assert(TCP("any.name", "2606::1", 443));
	cr_assert(TCP(NULL, "1.2.3.4", 9));
	cr_assert(TCP(NULL, "::ffff:1.2.3.4", 9));
}

Test(allow, no_name_leads_into_private_networks)
{
	add(true, "*");
	cr_assert(TCP("a.org", PUB, 443));
	cr_assert(TCP(NULL, PUB, 443));
	cr_assert_not(TCP("a.org", "10.0.0.1", 443));
	cr_assert_not(TCP(NULL, "10.0.0.1", 443));
	cr_assert_not(TCP("a.org", "169.254.169.254", 80));
	cr_assert_not(TCP("a.org", "64:ff9b::10.0.0.1", 80));
	add(true, "10.0.0.0/24:80");
	cr_assert(TCP("a.org", "10.0.0.1", 443));
}

Test(allow, host_internal_by_its_name_only)
{
	add(true, "*");
	add(true, "*.internal");
	cr_assert_not(TCP("host.internal", NULL, 80));
	cr_assert_not(allow_match_name(&rules, "host.internal").allowed);
	add(true, "host.internal:8080");
	cr_assert(TCP("host.internal", NULL, 8080));
	cr_assert_not(TCP("host.internal", NULL, 80));
	add(false, "*");
	cr_assert_not(TCP("host.internal", NULL, 8080));
}

Test(allow, protocols)
{
	add(true, "udp://a.org:53");
	cr_assert(UDP("a.org", PUB, 53));
	cr_assert_not(TCP("a.org", PUB, 53));
	add(true, "a.org");
	cr_assert(TCP("a.org", PUB, 53));
	add(false, "tcp://a.org");
	cr_assert_not(TCP("a.org", PUB, 53));
	cr_assert(UDP("a.org", PUB, 53));
}

Test(allow, errors_say_where)
{
	static const struct {
		const char *text;
		size_t at;
	} t[] = {
		{"", 0},
		{"a b", 0},
		{"a.org:", 6},
		{"a.org:0", 6},
		{"a.org:65536", 6},
		{"a.org:80,", 9},
		{"a.org:080", 6},
		{"a.org:90-80", 9},
		{"a.org:80x", 8},
		{"10.0.0.1/8", 9},
		{"10.0.0.0/33", 9},
		{"10.0.0.0/08", 9},
		{"[::1", 4},
		{"[1.2.3.4]", 1},
		{"127.1", 0},
		{"0x7f000001", 0},
		{"http://a.org", 5},
		{"*.*.org", 2},
		{"a.org/x", 5},
		{"tcp://", 6},
		{"[::]/1x", 6},
		{"*.1.2.3.4", 2},
		{"a.org:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", 47},
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct allow_error e = {0};

		cr_expect_eq(allow_add(&rules, true, t[i].text, &e), -EINVAL,
			     "%s", t[i].text);
		cr_expect_eq(e.at, t[i].at, "%s: %zu %s", t[i].text, e.at,
			     e.expected ? e.expected : "");
	}
	cr_assert_eq(rules.count, 0);
}
