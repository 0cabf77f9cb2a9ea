/*
 * dns_test.c - questions and answers of the resolver.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../net/dns.h"
#include "../../net/names.h"

static struct dns_question q;
static struct dns_answer in, out;
static uint8_t buf[DNS_MSG_MAX];

static ssize_t question(const char *name, uint16_t type)
{
	ssize_t n = dns_build_question(77, name, type, buf, sizeof(buf));

	cr_assert_gt(n, 12);
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), 0);
	return n;
}

static void add(uint16_t type, const char *owner, const char *target,
		uint32_t ttl)
{
	struct dns_record *r = &in.rec[in.count++];

	memset(r, 0, sizeof(*r));
	r->type = type;
	r->ttl = ttl;
	strcpy(r->owner, owner);
	if (type == DNS_CNAME)
		strcpy(r->target, target);
	else
		cr_assert_eq(netaddr_parse(target, strlen(target), &r->addr),
			     0);
}

static int answered(const char *name, uint16_t type)
{
	ssize_t n = dns_build_reply(&q, DNS_OK, &in, buf, sizeof(buf));

	cr_assert_gt(n, 0);
	return dns_parse_answer(buf, (size_t)n, 77, name, type, &out);
}

Test(dns, question_is_canonical)
{
	question("www.Example.ORG", DNS_A);
	cr_assert_str_eq(q.name, "www.example.org");
	cr_assert_eq(q.type, DNS_A);
	cr_assert_eq(q.id, 77);
	cr_assert(q.recurse);
	cr_assert(q.edns);
	cr_assert_eq(q.udp_size, 1232);
}

Test(dns, chain_is_followed_to_its_addresses)
{
	question("www.example.org", DNS_A);
	add(DNS_A, "edge.cdn.net", "93.184.216.34", 60);
	add(DNS_CNAME, "www.example.org", "a.cdn.net", 30);
	add(DNS_CNAME, "a.cdn.net", "edge.cdn.net", 20);
	add(DNS_A, "other.net", "6.6.6.6", 60);
	add(DNS_A, "a.cdn.net", "7.7.7.7", 60);
	cr_assert_eq(answered("www.example.org", DNS_A), 0);
	cr_assert_eq(out.count, 3);
	cr_assert_str_eq(out.rec[1].target, "edge.cdn.net");
	cr_assert_eq(out.rec[2].addr.b[0], 93);
	cr_assert_eq(out.rec[2].ttl, 60);
}

Test(dns, a_loop_of_names_ends)
{
	question("a.org", DNS_A);
	add(DNS_CNAME, "a.org", "b.org", 1);
	add(DNS_CNAME, "b.org", "a.org", 1);
	cr_assert_eq(answered("a.org", DNS_A), 0);
	cr_assert_leq(out.count, DNS_CHAIN_MAX);
}

Test(dns, an_answer_to_something_else)
{
	ssize_t n;

	question("a.org", DNS_A);
	add(DNS_A, "a.org", "1.2.3.4", 1);
	cr_assert_eq(answered("b.org", DNS_A), -EBADMSG);
	cr_assert_eq(answered("a.org", DNS_AAAA), -EBADMSG);
	n = dns_build_reply(&q, DNS_OK, &in, buf, sizeof(buf));
	cr_assert_eq(dns_parse_answer(buf, (size_t)n, 78, "a.org", DNS_A, &out),
		     -EBADMSG);
	/* a query is no answer */
	n = dns_build_question(77, "a.org", DNS_A, buf, sizeof(buf));
	cr_assert_eq(dns_parse_answer(buf, (size_t)n, 77, "a.org", DNS_A, &out),
		     -EBADMSG);
}

Test(dns, too_long_for_udp_is_truncated)
{
	ssize_t n;

	question("a.org", DNS_AAAA);
	for (int i = 0; i < 40; i++)
		add(DNS_AAAA, "a.org", "2606::1", 1);
	n = dns_build_reply(&q, DNS_OK, &in, buf, DNS_UDP_MIN);
	cr_assert_gt(n, 0);
	cr_assert_leq(n, DNS_UDP_MIN);
	cr_assert(buf[2] & 2);
	n = dns_build_reply(&q, DNS_OK, &in, buf, sizeof(buf));
	cr_assert_gt(n, DNS_UDP_MIN);
	cr_assert_not(buf[2] & 2);
}

Test(dns, bad_questions)
{
	ssize_t n = question("a.org", DNS_A);

	cr_assert_eq(dns_parse_question(buf, 11, &q), -EBADMSG);
	buf[2] |= 0x80;
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), -EBADMSG);
	buf[2] = 4 << 3; /* notify */
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), DNS_NOTIMP);
	buf[2] = 1;
	buf[5] = 2; /* two questions, one there */
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), DNS_FORMERR);
	buf[5] = 1;
	buf[12] = 0xc0; /* a name that points to itself */
	buf[13] = 12;
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), DNS_FORMERR);
}

Test(dns, labels_that_no_host_has)
{
	ssize_t n = question("abc.org", DNS_A);

	buf[14] = 0;
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), 0);
	cr_assert_str_eq(q.name, "");
	cr_assert_gt(dns_build_reply(&q, DNS_NXDOMAIN, NULL, buf, 512), 0);
	question("abc.org", DNS_A);
	n = question("abc.org", DNS_A);
	buf[14] = '.';
	cr_assert_eq(dns_parse_question(buf, (size_t)n, &q), 0);
	cr_assert_str_eq(q.name, "");
}

Test(names, live_as_long_as_they_were_given_for)
{
	struct names t;
	struct netaddr a = {AF_INET, {1, 2, 3, 4}}, b = {AF_INET, {1, 2, 3, 5}};
	const char *got[4];

	names_init(&t);
	names_add(&t, &a, "a.org", 100, 0);
	names_add(&t, &a, "b.org", 200, 0);
	names_add(&t, &b, "c.org", NAMES_FOREVER, 0);
	cr_assert_eq(names_find(&t, &a, 50, got, 4), 2);
	cr_assert_eq(names_find(&t, &a, 150, got, 4), 1);
	cr_assert_str_eq(got[0], "b.org");
	cr_assert_eq(names_find(&t, &a, 250, got, 4), 0);
	names_add(&t, &a, "a.org", 300, 250);
	cr_assert_eq(names_find(&t, &a, 260, got, 4), 1);
	cr_assert_eq(names_find(&t, &b, 1u << 30, got, 4), 1);
	cr_assert_eq(names_addresses(&t, "c.org", &a, 1), 1);
	cr_assert(netaddr_equal(&a, &b));
	names_fini(&t);
}

Test(names, one_address_does_not_fill_the_table)
{
	struct names t;
	struct netaddr a = {AF_INET, {1, 2, 3, 4}};
	const char *got[NAMES_PER_ADDR_MAX + 8];
	char name[32];

	names_init(&t);
	for (int i = 0; i < 2 * NAMES_PER_ADDR_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.org", i);
		names_add(&t, &a, name, 100, 0);
	}
	cr_assert_eq(names_find(&t, &a, 0, got, ARRAY_SIZE(got)),
		     NAMES_PER_ADDR_MAX);
	/* expired ones make room */
	names_add(&t, &a, "new.org", 500, 200);
	cr_assert_eq(names_find(&t, &a, 200, got, ARRAY_SIZE(got)), 1);
	names_fini(&t);
}
