/*
 * http_test.c - heads, bodies, targets, rules and injections of the gateway.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../net/httpcheck.h"
#include "../../net/httpwrite.h"

static struct http_head head;
static struct http_target target;

static const char *request(const char *text)
{
	size_t seen = 0, len = strlen(text);
	ssize_t n = http_head_find(text, len, &seen);
	const char *why;

	if (n <= 0)
		return n ? "not found" : "more";
	cr_assert_eq(httpcheck_load(), 0);
	why = http_parse_request(text, (size_t)n, &head);
	return why ? why : http_check_request(text, (size_t)n, &head);
}

static const char *response(const char *text, bool to_head)
{
	size_t seen = 0, len = strlen(text);
	ssize_t n = http_head_find(text, len, &seen);
	const char *why;

	if (n <= 0)
		return n ? "not found" : "more";
	cr_assert_eq(httpcheck_load(), 0);
	why = http_parse_response(text, (size_t)n, to_head, &head);
	return why ? why : http_check_response(text, (size_t)n, to_head, &head);
}

Test(http, a_request_is_read)
{
	cr_assert_null(request("POST /a?b HTTP/1.1\r\nHost: x.test\r\n"
			       "Content-Length: 5\r\nX-A:  b c \r\n\r\nhello"));
	cr_assert_eq(head.framing, HTTP_BODY_LENGTH);
	cr_assert_eq(head.length, 5);
	cr_assert_eq(head.count, 3);
	cr_assert(http_str_is(head.h[2].value, "b c"));
	cr_assert(!head.close);
}

Test(http, chunked_and_close_are_read)
{
	cr_assert_null(request("PUT / HTTP/1.1\r\nHost: x\r\n"
			       "Transfer-Encoding: Chunked\r\n"
			       "Connection: close\r\n\r\n"));
	cr_assert_eq(head.framing, HTTP_BODY_CHUNKED);
	cr_assert(head.close);
	cr_assert_null(request("GET / HTTP/1.0\r\nHost: x\r\n\r\n"));
	cr_assert(head.close);
}

Test(http, smuggling_shapes_are_refused)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\nHost: x\n\n",
		"GET / HTTP/1.1\r\nHost: x\r\rA: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
		"GET /\r\nHost: x\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
		" GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"get / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /#a HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nA\x01: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nA: b\x7f\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
		"Content-Length: 2\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
		"Content-Length: 1\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1,1\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n"
		"Content-Length: 9999999999999999999\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nContent_Length: 1\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n"
		"Transfer-Encoding: gzip, chunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n"
		"Transfer-Encoding: xchunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"PUT / HTTP/1.0\r\nHost: x\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n"
		"Transfer_Encoding: chunked\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_not_null(request(bad[i]), "%zu: %s", i, bad[i]);
}

Test(http, nul_bytes_are_refused)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n";
	size_t seen = 0;

	cr_assert_eq(http_head_find(text, sizeof(text) - 1, &seen), -EINVAL);
}

Test(http, a_head_is_found_in_pieces)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
	size_t seen = 0, whole = sizeof(text) - 5;

	for (size_t n = 0; n < whole; n++)
		cr_assert_eq(http_head_find(text, n, &seen), 0, "%zu", n);
	cr_assert_eq(http_head_find(text, sizeof(text) - 1, &seen),
		     (ssize_t)whole);
}

Test(http, framing_of_responses)
{
	cr_assert_null(response("HTTP/1.1 200 OK\r\n\r\n", false));
	cr_assert_eq(head.framing, HTTP_BODY_CLOSE);
	cr_assert(head.close);
	cr_assert_null(
		response("HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n", true));
	cr_assert_eq(head.framing, HTTP_BODY_NONE);
	cr_assert(head.has_length);
	cr_assert_null(response("HTTP/1.1 204 No\r\n\r\n", false));
	cr_assert_eq(head.framing, HTTP_BODY_NONE);
	cr_assert_null(response("HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n",
				false));
	cr_assert_eq(head.framing, HTTP_BODY_NONE);
	cr_assert_null(response("HTTP/1.1 100 Continue\r\n\r\n", false));
	cr_assert_eq(head.status, 100);
	cr_assert_null(response("HTTP/1.1 100 OK\r\nContent-Length: 5\r\n\r\n",
				false));
	cr_assert_eq(head.framing, HTTP_BODY_NONE);
	cr_assert_null(response("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
				false));
	cr_assert_eq(head.framing, HTTP_BODY_NONE);
}

Test(http, malformed_responses_are_refused)
{
	static const char *const bad[] = {
		"HTTP/1.1 200 OK\nA: b\n\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/2 200 OK\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\n Content-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
		"Content-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_not_null(response(bad[i], false), "%s", bad[i]);
}

/* ---- chunks ---- */

/* The body that the chunks carry into out; -1 where they are refused. */
static int chunks(const char *text, size_t len, char *out)
{
	struct http_chunks c = {0};
	struct http_header t;
	struct http_str data;
	size_t used, n = 0;

	for (;;) {
		switch (http_chunk_step(&c, text, len, &used, &data, &t)) {
		case HTTP_MORE:
			return -2;
		case HTTP_BAD:
			return -1;
		case HTTP_DATA:
			memcpy(out + n, data.p, data.len);
			n += data.len;
			break;
		case HTTP_END:
			out[n] = '\0';
			return (int)n;
		default:
			break;
		}
		text += used;
		len -= used;
	}
}

Test(http, chunks_are_read)
{
	static const char text[] = "3;ext=1\r\nabc\r\nA\r\n0123456789\r\n"
				   "0\r\nX-T: v\r\n\r\n";
	char out[64];

	cr_assert_eq(chunks(text, sizeof(text) - 1, out), 13);
	cr_assert_str_eq(out, "abc0123456789");
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		cr_assert_eq(chunks(text, n, out), -2);
}

Test(http, malformed_chunks_are_refused)
{
	static const char *const bad[] = {
		"3\nabc\r\n",
		"3 \r\nabc\r\n",
		"0x3\r\nabc\r\n",
		"-3\r\nabc\r\n",
		"\r\nabc\r\n",
		"3\r\nabcd\r\n",
		"3\r\nabc\n0\r\n\r\n",
		"g\r\nabc\r\n",
		"FFFFFFFFFFFFFFFFF\r\n",
		"3\r\nabc\r\n0\r\n x\r\n\r\n",
		"3;a\rb\r\nabc\r\n",
		"0\r\nA : b\r\n\r\n",
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_eq(chunks(bad[i], strlen(bad[i]), out), -1, "%s",
			     bad[i]);
}

/* ---- targets ---- */

static const char *path(const char *text)
{
	return http_target_parse((struct http_str){text, strlen(text)},
				 &target);
}

Test(http, paths_are_normalised)
{
	static const struct {
		const char *in, *path, *send;
	} rows[] = {
		{"/a/b", "/a/b", "/a/b"},
		{"/a%20b?q=%2F", "/a b", "/a%20b"},
		{"/a/../b", "/b", "/b"},
		{"/a/./b/..", "/a/", "/a/"},
		{"/a/%2e%2E/b%20c", "/b c", "/b%20c"},
		{"/../../x", "/x", "/x"},
		{"/..", "/", "/"},
		{"/a//b", "/a//b", "/a//b"},
		{"/...", "/...", "/..."},
		{"/a.", "/a.", "/a."},
		{"/%C3%A9", "/\xc3\xa9", "/%C3%A9"},
		{"/100%25", "/100%", "/100%25"},
		{"http://x.test/a", "/a", "/a"},
		{"http://x.test", "/", "/"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert_null(path(rows[i].in), "%s", rows[i].in);
		cr_assert_str_eq(target.path, rows[i].path);
		cr_assert_eq(target.send_len, strlen(rows[i].send));
		cr_assert(!memcmp(target.send, rows[i].send, target.send_len));
	}
}

Test(http, ambiguous_paths_are_refused)
{
	static const char *const bad[] = {
		"/a%2fb",
		"/a%5cb",
		"/a\\b",
		"/%252e%252e/x",
		"/a%00b",
		"/a%0ab",
		"/%",
		"/%4",
		"/%zz",
		"/%c0%af",
		"/%c0%ae/",
		"/%ff",
		"/a/..;/b",
		"/a/.;x/b",
		"*",
		"x.test:443",
		"ftp://x/a",
		"http:///",
		"http://u@x/a",
		"/%ed%a0%80",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_not_null(path(bad[i]), "%s", bad[i]);
}

Test(http, patterns)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		{"/a", "/a", true},
		{"/a", "/a/", false},
		{"/a", "/ab", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/", false},
		{"/a/*", "/a/b/c", false},
		{"/a/*/c", "/a//c", false},
		{"/a/**", "/a", true},
		{"/a/**", "/a/b/c/", true},
		{"/a/**", "/ab", false},
		{"/**/x", "/a/b/x", true},
		{"/**/x", "/x", true},
		{"/**/x/*", "/a/x/b/x/c", true},
		{"/**/x/*", "/a/x/b/x", false},
		{"/**", "/", true},
		{"/v*/x", "/v1/x", true},
		{"/v*/x", "/v1/y/x", false},
		{"/*.js", "/a.js", true},
		{"/*.js", "/a.jsx", false},
		{"/a*b*c", "/aXbYbZc", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_assert_eq(http_path_match(rows[i].pattern, rows[i].path),
			     rows[i].match, "%s %s", rows[i].pattern,
			     rows[i].path);
}

/* ---- rules ---- */

static struct http_policy policy;

static bool allowed(const char *method, const char *host, uint16_t port,
		    bool tls, const char *where)
{
	const struct http_question q = {
		.host = host,
		.port = port,
		.tls = tls,
		.method = {method, strlen(method)},
		.path = where,
	};

	return http_governed(&policy, host, port) &&
	       http_match(&policy, &q).allowed;
}

static void rule(const char *text)
{
	struct http_error e = {0};

	cr_assert_eq(http_rule_add(&policy, text, &e), 0, "%s: %zu %s", text,
		     e.at, e.expected);
}

Test(http, rules)
{
	rule("GET,HEAD api.test/repos/**");
	rule("* https://*.low.test");
	rule("POST [2001:db8::1]:8080,8443/x%20y");
	cr_assert(allowed("GET", "api.test", 443, true, "/repos/a"));
	cr_assert(allowed("HEAD", "api.test", 80, false, "/repos"));
	cr_assert(!allowed("POST", "api.test", 443, true, "/repos/a"));
	cr_assert(!allowed("GET", "api.test", 443, true, "/user"));
	cr_assert(!allowed("GET", "api.test", 8443, true, "/repos/a"));
	cr_assert(allowed("PUT", "a.low.test", 443, true, "/"));
	cr_assert(!allowed("PUT", "low.test", 443, true, "/"));
	cr_assert(!allowed("PUT", "a.low.test", 80, false, "/"));
	cr_assert(allowed("POST", "2001:db8::1", 8443, true, "/x y"));
	cr_assert_str_eq(http_rule_net(&policy.rules[0]), "api.test:80,443");
	cr_assert_str_eq(http_rule_net(&policy.rules[1]), "*.low.test:443");
	cr_assert_str_eq(http_rule_net(&policy.rules[2]),
			 "[2001:db8::1]:8080,8443");
}

Test(http, parameters_of_segments_hide_nothing)
{
	rule("GET a.test/img/*.png");
	rule("GET a.test/ok/**");
	rule("GET a.test/v;1/x");
	cr_assert(allowed("GET", "a.test", 443, true, "/img/a.png"));
	cr_assert(!allowed("GET", "a.test", 443, true, "/img/admin;.png"));
	cr_assert(allowed("GET", "a.test", 443, true, "/ok/a;b=c/d"));
	cr_assert(allowed("GET", "a.test", 443, true, "/v;1/x"));
	cr_assert(!allowed("GET", "a.test", 443, true, "/v;2/x"));
}

Test(http, bad_rules_are_refused)
{
	static const char *const bad[] = {
		"",
		"GET",
		"get a.test/",
		"GET a.test/a?b",
		"GET /x",
		"GET  a.test",
		"GET a.test:0/",
		"GET a.test:1x/",
		"GET a_b..c",
		"GET a.test/%2f",
		"GET a.test/%",
		"GET, a.test",
		"GET 10.0.0.0/8",
		"GET a.test/ b",
		"GET [::1/x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct http_error e = {0};
		int ret = http_rule_add(&policy, bad[i], &e);

		/* a network looks like a path; it must not mean one */
		if (!strcmp(bad[i], "GET 10.0.0.0/8"))
			cr_assert(!ret && policy.rules[0].path);
		else
			cr_assert_eq(ret, -EINVAL, "%s", bad[i]);
	}
}

/* ---- injections ---- */

static void inject(const char *text)
{
	struct http_error e = {0};

	cr_assert_eq(http_inject_add(&policy, text, &e), 0, "%s: %zu %s", text,
		     e.at, e.expected);
}

static void secret(const char *name, const char *value)
{
	struct secret *s = &policy.secrets.s[policy.secrets.count++];

	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->placeholder, sizeof(s->placeholder), "cloche_%s", name);
	s->value = xstrdup(value);
	s->len = strlen(value);
}

static const char *written(const char *text, const char *host, bool tls)
{
	static struct hbuf out;
	struct http_place to = {&policy, host, tls ? 443 : 80, tls};

	hbuf_fini(&out);
	cr_assert_null(http_policy_link(&policy));
	cr_assert_null(request(text));
	cr_assert_null(http_target_parse(head.target, &target));
	http_write_request(&head, &target, &to, &out);
	hbuf_add(&out, "", 1);
	return hbuf_data(&out);
}

Test(http, a_request_is_written_anew)
{
	cr_assert_str_eq(written("GET http://x.test/a/../b?c HTTP/1.1\r\nhost: "
				 "X.test\r\n"
				 "Connection: x-hop, keep-alive\r\nX-Hop: 1\r\n"
				 "TE: trailers\r\nUpgrade: h2c\r\nA:b\r\n\r\n",
				 "x.test", false),
			 "GET /b?c HTTP/1.1\r\nHost: x.test\r\nA: b\r\n\r\n");
}

Test(http, connection_cannot_take_away_host_or_authorization)
{
	cr_assert_str_eq(written("GET / HTTP/1.1\r\nHost: x.test\r\n"
				 "Authorization: a\r\n"
				 "Connection: authorization, host\r\n\r\n",
				 "x.test", false),
			 "GET / HTTP/1.1\r\nHost: x.test\r\n"
			 "Authorization: a\r\n\r\n");
}

Test(http, secrets_are_put_in)
{
	secret("key", "s3cr&t");
	inject("x.test Authorization: token {} ! key");
	inject("x.test query:api_key key");
	cr_assert_str_eq(
		written("GET /?a=1&api%5Fkey=mine&b HTTP/1.1\r\nHost: "
			"x.test\r\n"
			"authorization: guest\r\nAccept-Encoding: gzip\r\n\r\n",
			"x.test", true),
		"GET /?a=1&b&api_key=s3cr%26t HTTP/1.1\r\nHost: x.test\r\n"
		"Accept-Encoding: identity\r\n"
		"Authorization: token s3cr&t !\r\n\r\n");
}

Test(http, basic_and_bearer)
{
	secret("key", "pass");
	inject("x.test basic:user key");
	inject("y.test bearer key");
	cr_assert(strstr(written("GET / HTTP/1.1\r\nHost: x.test\r\n\r\n",
				 "x.test", true),
			 "\r\nAuthorization: Basic dXNlcjpwYXNz\r\n"));
	cr_assert(strstr(written("GET / HTTP/1.1\r\nHost: y.test\r\n\r\n",
				 "y.test", true),
			 "\r\nAuthorization: Bearer pass\r\n"));
}

Test(http, placeholders_are_swapped)
{
	secret("key", "secretvalue");
	inject("x.test placeholder key");
	cr_assert_str_eq(
		written("GET /?t=cloche_key HTTP/1.1\r\nHost: x.test\r\n"
			"X-Key: a cloche_key b cloche_key\r\n"
			"Authorization: Basic dTpjbG9jaGVfa2V5\r\n\r\n",
			"x.test", true),
		"GET /?t=secretvalue HTTP/1.1\r\nHost: x.test\r\n"
		"X-Key: a secretvalue b secretvalue\r\n"
		"Authorization: Basic dTpzZWNyZXR2YWx1ZQ==\r\n"
		"Accept-Encoding: identity\r\n\r\n");
}

Test(http, no_secret_for_another_host_or_without_tls)
{
	static const char text[] = "GET /?t=cloche_key HTTP/1.1\r\n"
				   "Host: x.test\r\nX: cloche_key\r\n\r\n";
	struct http_place to = {&policy, "y.test", 443, true};
	const char *misused;
	char names[64];

	secret("key", "secretvalue");
	inject("x.test placeholder key");
	inject("x.test bearer key");
	cr_assert(!strstr(written(text, "y.test", true), "secretvalue"));
	http_secrets_of(&head, &target, &to, names, sizeof(names), &misused);
	cr_assert_str_eq(names, "");
	cr_assert_str_eq(misused, "key");
	cr_assert(!strstr(written(text, "x.test", false), "secretvalue"));
	to.host = "x.test";
	http_secrets_of(&head, &target, &to, names, sizeof(names), &misused);
	cr_assert_str_eq(names, "key");
	cr_assert_null(misused);
	to.port = 8443;
	http_secrets_of(&head, &target, &to, names, sizeof(names), &misused);
	cr_assert_str_eq(names, "");
}

Test(http, bad_injections_are_refused)
{
	static const char *const bad[] = {
		"*.x.test bearer k",
		"1.2.3.4 bearer k",
		"[::1] bearer k",
		"* bearer k",
		"x.test bearer",
		"x.test Host: {} k",
		"x.test A: b k",
		"x.test A: {}{} k",
		"x.test nothing k",
		"x.test query:a&b k",
		"x.test A b: {} k",
		"x.test:0 bearer k",
		"x.test Content-Length: {} k",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct http_error e = {0};

		cr_assert_eq(http_inject_add(&policy, bad[i], &e), -EINVAL,
			     "%s", bad[i]);
	}
}

Test(http, echoes_are_masked_across_pieces)
{
	static const char body[] = "a secretvalue b secretsecretvalue c secret";
	static const char want[] = "a *********** b secret*********** c secret";
	struct http_mask m = {.secrets = &policy.secrets};

	secret("key", "secretvalue");
	for (size_t step = 1; step < sizeof(body); step++) {
		struct hbuf out = {0};

		for (size_t i = 0; i < sizeof(body) - 1; i += step) {
			size_t n = sizeof(body) - 1 - i;

			n = n < step ? n : step;
			http_mask_feed(&m, body + i, n,
				       i + n == sizeof(body) - 1, &out);
		}
		cr_assert_eq(out.len, sizeof(want) - 1);
		cr_assert(!memcmp(hbuf_data(&out), want, out.len), "%.*s",
			  (int)out.len, hbuf_data(&out));
		hbuf_fini(&out);
	}
	http_mask_fini(&m);
}

/* ---- secrets ---- */

Test(http, secrets_are_read_and_wiped)
{
	char *texts[] = {"c=exec:printf '%s\\n' \"[$V]\"", "a=env:V",
			 "b=file:/proc/sys/kernel/ostype"};
	struct secrets s = {0};
	char *in_place;

	setenv("V", "of the environment", 1);
	in_place = getenv("V");
	secrets_read(&s, texts, 3);
	cr_assert_eq(s.count, 3);
	cr_assert_str_eq(s.s[secrets_find(&s, "a")].value,
			 "of the environment");
	cr_assert_str_eq(s.s[secrets_find(&s, "b")].value, "Linux");
	cr_assert_str_eq(s.s[secrets_find(&s, "c")].value, "[]");
	cr_assert_null(getenv("V"));
	cr_assert_eq(in_place[0], 0);
	cr_assert_str_neq(s.s[0].placeholder, s.s[1].placeholder);
	secrets_fini(&s);
	cr_assert_not_null(secret_check("a"));
	cr_assert_not_null(secret_check("a=x:y"));
	cr_assert_not_null(secret_check("a b=env:y"));
	cr_assert_not_null(secret_check("a=fd:x"));
	cr_assert_null(secret_check("a=fd:3"));
}
