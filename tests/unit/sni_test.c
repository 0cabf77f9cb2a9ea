/*
 * sni_test.c - the server name of a ClientHello.
 */
#include <criterion/criterion.h>

#include "../../net/sni.h"

static uint8_t hello[4096];
static size_t len;
static char name[NETHOST_SIZE];

static void put(size_t v, int n)
{
	while (n--)
		hello[len++] = (uint8_t)(v >> (8 * n));
}

/* A hello with one record; sni of n bytes, or none. */
static void make(const char *sni, size_t n)
{
	size_t ext = sni ? n + 9 : 0, body = 2 + 32 + 1 + 4 + 2 + 2 + ext + 6;

	len = 0;
	put(22, 1);
	put(0x301, 2);
	put(body + 4, 2);
	put(1, 1);
	put(body, 3);
	put(0x303, 2);
	len += 32;
	put(0, 1);
	put(2, 2);
	put(0x1301, 2);
	put(0x100, 2);
	put(ext + 6, 2);
	put(43, 2);
	put(2, 2);
	put(0x304, 2);
	if (!sni)
		return;
	put(0, 2);
	put(n + 5, 2);
	put(n + 3, 2);
	put(0, 1);
	put(n, 2);
	memcpy(hello + len, sni, n);
	len += n;
}

Test(sni, name_is_found_and_canonical)
{
	make("WWW.Example.org", 15);
	cr_assert_eq(sni_parse(hello, len, name), SNI_NAME);
	cr_assert_str_eq(name, "www.example.org");
}

Test(sni, any_prefix_waits_for_more)
{
	make("www.example.org", 15);
	for (size_t i = 1; i < len; i++)
		cr_assert_eq(sni_parse(hello, i, name), SNI_MORE, "%zu", i);
	cr_assert_eq(sni_parse(hello, 0, name), SNI_MORE);
}

Test(sni, bytes_after_the_hello_do_not_matter)
{
	make("a.org", 5);
	memset(hello + len, 0xff, 100);
	cr_assert_eq(sni_parse(hello, len + 100, name), SNI_NAME);
}

Test(sni, cut_into_records)
{
	uint8_t cut[4096];
	size_t n = 0;

	make("www.example.org", 15);
	for (size_t i = 5; i < len; i++) {
		memcpy(cut + n, "\x16\3\1\0\1", 5);
		cut[n + 5] = hello[i];
		n += 6;
	}
	cr_assert_eq(sni_parse(cut, n, name), SNI_NAME);
	cr_assert_str_eq(name, "www.example.org");
	cut[6 * 3] = 23; /* another kind of record in between */
	cr_assert_eq(sni_parse(cut, n, name), SNI_BAD);
}

Test(sni, none_and_not_tls)
{
	make(NULL, 0);
	cr_assert_eq(sni_parse(hello, len, name), SNI_NONE);
	cr_assert_eq(sni_parse((const uint8_t *)"GET / HTTP/1.1", 14, name),
		     SNI_NOT_TLS);
	cr_assert_eq(sni_parse((const uint8_t *)"SSH-2.0-x", 9, name),
		     SNI_NOT_TLS);
}

/* What servers take for TLS though no program sends it. */
Test(sni, other_beginnings)
{
	static const uint8_t v2[] = {0x80, 0x2e, 1, 3, 3, 0, 3, 0, 0, 0, 0x20};
	static const uint8_t v2_old[] = {0x80, 0x2e, 1, 0, 2, 0, 3};
	static const uint8_t telnet[] = {0xff, 0xfd, 1, 3, 3};
	static const uint8_t other[] = {0x80, 0x2e, 2, 3, 3};
	uint8_t alert[] = {21, 3, 1, 0, 2, 1, 90, 22, 3, 1};

	for (uint8_t type = 20; type <= 24; type++) {
		alert[0] = type;
		if (type == 22)
			continue;
		cr_assert_eq(sni_parse(alert, sizeof(alert), name), SNI_BAD);
		cr_assert_eq(sni_parse(alert, 1, name), SNI_MORE);
	}
	cr_assert_eq(sni_parse(v2, sizeof(v2), name), SNI_BAD);
	for (size_t i = 1; i < 5; i++)
		cr_assert_eq(sni_parse(v2, i, name), SNI_MORE, "%zu", i);
	cr_assert_eq(sni_parse(v2_old, sizeof(v2_old), name), SNI_BAD);
	cr_assert_eq(sni_parse(telnet, sizeof(telnet), name), SNI_NOT_TLS);
	cr_assert_eq(sni_parse(other, sizeof(other), name), SNI_NOT_TLS);
}

Test(sni, names_that_are_none)
{
	make("a\0.org", 6);
	cr_assert_eq(sni_parse(hello, len, name), SNI_BAD);
	make("", 0);
	cr_assert_eq(sni_parse(hello, len, name), SNI_BAD);
	make("1.2.3.4", 7);
	cr_assert_eq(sni_parse(hello, len, name), SNI_BAD);
}

Test(sni, two_names)
{
	size_t at, ext = 14;

	make("a.org", 5);
	at = len - ext;
	memcpy(hello + len, hello + at, ext);
	len += ext;
	hello[4] += 14;	 /* record */
	hello[8] += 14;	 /* handshake */
	hello[51] += 14; /* extensions */
	cr_assert_eq(sni_parse(hello, len, name), SNI_BAD);
}

Test(sni, lengths_that_lie)
{
	make("www.example.org", 15);
	for (size_t i = 9; i < len; i++) {
		uint8_t old = hello[i];

		hello[i] = 0xff;
		cr_assert_neq(sni_parse(hello, len, name), SNI_NOT_TLS);
		hello[i] = old;
	}
}
