/*
 * audit_test.c - the audit stream: form, chain, coalescing, failure.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "../../sentry/audit/audit.h"
#include "../../sentry/audit/batch.h"
#include "../../sentry/audit/reader.h"
#include "../../sentry/base/ticks.h"

static char path[64];

static void make_path(void)
{
	int fd;

	strcpy(path, "/tmp/cloche-audit-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
	unlink(path);
}

static void drop_path(void)
{
	unlink(path);
}

TestSuite(audit, .init = make_path, .fini = drop_path, .timeout = 60);

static struct audit_event event(const char *call, const char *where)
{
	struct audit_event ev = {.call = call,
				 .pid = 2,
				 .tid = 2,
				 .ppid = 1,
				 .path = where,
				 .verdict = AUDIT_ALLOW,
				 .exe = "/bin/sh"};

	return ev;
}

static struct audit *start(void)
{
	struct audit *a = NULL;
	struct audit_event ev = {.call = "start", .verdict = AUDIT_PASS};

	cr_assert_eq(audit_open(path, "test-1", -1, &a), 0);
	audit_emit(a, &ev);
	return a;
}

static void write_stream(unsigned count)
{
	struct audit *a = start();
	char name[64];

	for (unsigned i = 1; i < count; i++) {
		struct audit_event ev = event("openat", name);

		snprintf(name, sizeof(name), "/file/%u", i);
		audit_emit(a, &ev);
	}
	audit_close(a, 0);
}

static char *slurp(size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 8 << 20);

	cr_assert(f);
	*len = fread(text, 1, (8 << 20) - 1, f);
	fclose(f);
	return text;
}

static void spit(const char *text, size_t len)
{
	FILE *f = fopen(path, "we");

	cr_assert_eq(fwrite(text, 1, len, f), len);
	fclose(f);
}

static int verify(const char *head, struct audit_verified *v,
		  struct strbuf *report)
{
	struct audit_reader r;
	int got;

	strbuf_init(report, 0);
	cr_assert_eq(audit_reader_open(&r, path), 0);
	got = audit_verify(&r, head, v, report);
	audit_reader_close(&r);
	return got;
}

/* Line n (from 1) of text, and the next line's start. */
static char *line_at(char *text, unsigned n)
{
	while (--n)
		text = strchr(text, '\n') + 1;
	return text;
}

Test(audit, whole_stream_verifies)
{
	struct audit_verified v;
	struct strbuf report;

	write_stream(600);
	cr_assert_eq(verify(NULL, &v, &report), 0, "%s", report.data);
	cr_assert_eq(v.records, 601u); /* and the end */
	cr_assert_geq(v.blocks, 3u);
	cr_assert_eq(v.streams, 1u);
	strbuf_fini(&report);
}

Test(audit, file_is_private_and_not_through_a_link)
{
	struct stat st;
	struct audit *a;
	char link[80];

	write_stream(3);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	snprintf(link, sizeof(link), "%s.link", path);
	cr_assert_eq(symlink(path, link), 0);
	cr_assert_eq(audit_open(link, "x", -1, &a), -ELOOP);
	unlink(link);
}

Test(audit, bad_sinks_are_refused)
{
	struct audit *a;
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char name[32];

	snprintf(name, sizeof(name), "fd:%d", in);
	cr_assert_eq(audit_open(name, "x", -1, &a), -EINVAL);
	close(in);
	cr_assert_eq(audit_open(name, "x", -1, &a), -EBADF);
	cr_assert_eq(audit_open("fd:", "x", -1, &a), -EINVAL);
	cr_assert_eq(audit_open("fd:1x", "x", -1, &a), -EINVAL);
	cr_assert_eq(audit_open("unix:/no/where", "x", -1, &a), -ENOENT);
	cr_assert_eq(audit_open("/no/where/file", "x", -1, &a), -ENOENT);
}

struct damage {
	const char *name, *expect;
	void (*apply)(char *text, size_t *len);
};

static void damage_byte(char *text, size_t *len UNUSED)
{
	char *at = strstr(line_at(text, 10), "/file/");

	at[6] = at[6] == '8' ? '7' : '8';
}

static void damage_drop_line(char *text, size_t *len)
{
	char *at = line_at(text, 20), *next = line_at(text, 21);

	memmove(at, next, *len - (size_t)(next - text));
	*len -= (size_t)(next - at);
}

static void damage_swap(char *text, size_t *len UNUSED)
{
	char *a = line_at(text, 30), *b = line_at(text, 31),
	     *c = line_at(text, 32), copy[4096];

	memcpy(copy, a, (size_t)(b - a));
	memmove(a, b, (size_t)(c - b));
	memcpy(a + (c - b), copy, (size_t)(b - a));
}

static void damage_cut(char *text, size_t *len)
{
	*len = (size_t)(line_at(text, 100) - text) + 7;
}

static void damage_no_end(char *text, size_t *len)
{
	text[*len - 1] = '\0';
	*len = (size_t)(strrchr(text, '\n') - text) + 1;
}

static void damage_end(char *text, size_t *len)
{
	text[*len - 1] = '\0';
	char *at = strstr(strrchr(text, '\n'), "\"ret\":0");

	text[*len - 1] = '\n';
	at[6] = '1';
}

static void damage_block(char *text, size_t *len)
{
	char *from = text, *to = strstr(text, "\"call\":\"chain\"");

	to = strchr(to, '\n') + 1;
	from = to;
	to = strchr(strstr(from, "\"call\":\"chain\""), '\n') + 1;
	memmove(from, to, *len - (size_t)(to - text));
	*len -= (size_t)(to - from);
}

Test(audit, every_damage_is_found)
{
	static const struct damage all[] = {
		{"a byte altered", "does not fit the block", damage_byte},
		{"a line removed", "follows record", damage_drop_line},
		{"lines swapped", "follows record", damage_swap},
		{"cut in a line", "cut short", damage_cut},
		{"end removed", "no end record", damage_no_end},
		{"status altered", "end record", damage_end},
		{"a block removed", "missing or was altered", damage_block},
	};
	size_t len, work_len;
	char *text;

	write_stream(600);
	text = slurp(&len);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct audit_verified v;
		struct strbuf report;
		char *work = malloc(len + 1);

		memcpy(work, text, len + 1);
		work_len = len;
		all[i].apply(work, &work_len);
		spit(work, work_len);
		cr_expect_eq(verify(NULL, &v, &report), -EBADMSG, "%s",
			     all[i].name);
		cr_expect(report.data && strstr(report.data, all[i].expect),
			  "%s: %s", all[i].name, report.data);
		strbuf_fini(&report);
		free(work);
	}
	free(text);
}

Test(audit, damage_names_its_line)
{
	struct audit_verified v;
	struct strbuf report;
	size_t len;
	char *text;

	write_stream(50);
	text = slurp(&len);
	line_at(text, 5)[0] = '[';
	spit(text, len);
	cr_assert_eq(verify(NULL, &v, &report), -EBADMSG);
	cr_assert(strncmp(report.data, "line 5: not a record", 20) == 0, "%s",
		  report.data);
	strbuf_fini(&report);
	free(text);
}

Test(audit, head_tells_another_whole_stream)
{
	struct audit_verified v;
	struct strbuf report;
	struct audit *a = NULL;
	struct audit_event ev = {.call = "start"};
	char head[256] = "";
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(audit_open(path, "h", fds[1], &a), 0);
	audit_emit(a, &ev);
	audit_close(a, 0);
	cr_assert_gt(read(fds[0], head, sizeof(head) - 1), 64);
	strstr(head, "\"hash\":\"")[8 + 64] = '\0';
	const char *hash = strstr(head, "\"hash\":\"") + 8;

	cr_assert_eq(verify(hash, &v, &report), 0, "%s", report.data);
	strbuf_fini(&report);
	unlink(path);
	write_stream(5);
	cr_assert_eq(verify(hash, &v, &report), -EBADMSG);
	cr_assert(strstr(report.data, "given head"));
	strbuf_fini(&report);
	close(fds[0]);
	close(fds[1]);
}

Test(audit, two_runs_in_one_file_both_verify)
{
	struct audit_verified v;
	struct strbuf report;
	struct audit *a = NULL;
	struct audit_event ev = {.call = "start"};

	write_stream(300);
	cr_assert_eq(audit_open(path, "test-2", -1, &a), 0);
	audit_emit(a, &ev);
	audit_close(a, 3);
	cr_assert_eq(verify(NULL, &v, &report), 0, "%s", report.data);
	cr_assert_eq(v.streams, 2u);
	strbuf_fini(&report);
}

Test(audit, identical_lookups_are_one_record_with_n)
{
	struct audit *a = start();
	struct audit_event ev = event("newfstatat", "/etc/hosts");
	size_t len;
	char *text;

	ev.coalesce = true;
	for (int i = 0; i < 100; i++)
		audit_emit(a, &ev);
	ev.path = "/etc/passwd";
	audit_emit(a, &ev);
	cr_assert_eq(audit_count(a), 102u);
	audit_close(a, 0);
	text = slurp(&len);
	/* a timer may have closed a block in the middle */
	cr_assert(strstr(text, "\"n\":"));
	cr_assert(strstr(text, "/etc/passwd"));
	free(text);
}

static void render_packed(const struct audit_packed *args, struct strbuf *out,
			  struct audit_span *span)
{
	strbuf_puts(out, "{\"p\":");
	span->at = out->len;
	strbuf_json_string(out, args->data + args->path_at,
			   strlen(args->data + args->path_at));
	span->len = out->len - span->at;
	strbuf_puts(out, "}");
}

Test(audit, packed_arguments_are_made_text_of_by_the_writer)
{
	struct audit *a = start();
	char data[32] = "#/a\"b";
	struct audit_event ev = event("stat", data + 1);
	struct audit_verified v;
	struct strbuf report;
	size_t len;
	char *text;

	ev.coalesce = true;
	ev.packed = (struct audit_packed){data, 6, 1, render_packed};
	audit_emit(a, &ev);
	audit_emit(a, &ev);
	data[4] = 'c'; /* another one's, in the same memory */
	audit_emit(a, &ev);
	audit_close(a, 0);
	text = slurp(&len);
	cr_expect(strstr(text, "\"args\":{\"p\":\"/a\\\"b\"},"
			       "\"path\":\"/a\\\"b\",\"verdict\""),
		  "%s", text);
	cr_expect(strstr(text, "\"path\":\"/a\\\"c\",\"verdict\""));
	free(text);
	strbuf_init(&report, 0);
	cr_expect_eq(verify(NULL, &v, &report), 0);
	cr_expect_eq(v.records, 4u);
	strbuf_fini(&report);
}

/* Callers that the writer keeps at the same place are not mixed up. */
Test(audit, records_say_who_called)
{
	struct audit *a = start();
	char want[160];
	size_t len;
	char *text;

	for (int i = 0; i < 600; i++) {
		struct audit_event ev = event("stat", "/x");

		ev.tid = ev.pid = 3 + i % 3 * 16;
		ev.ppid = 1 + i % 2;
		ev.exe = i % 5 ? "/bin/a" : NULL;
		ev.ret = i;
		audit_emit(a, &ev);
	}
	audit_close(a, 0);
	text = slurp(&len);
	for (int i = 0; i < 600; i++) {
		snprintf(want, sizeof(want),
			 ",\"pid\":%d,\"tid\":%d,\"ppid\":%d%s,\"call\":"
			 "\"stat\",\"path\":\"/x\",\"verdict\":\"allow\","
			 "\"ret\":%d,",
			 3 + i % 3 * 16, 3 + i % 3 * 16, 1 + i % 2,
			 i % 5 ? ",\"exe\":\"/bin/a\"" : "", i);
		cr_assert(strstr(text, want), "%s", want);
	}
	free(text);
}

Test(audit, hostile_strings_cannot_forge_a_line)
{
	struct audit *a = start();
	struct audit_event ev = event("openat", "x\"}\n{\"seq\":1,\"hash\":\"");
	struct audit_verified v;
	struct strbuf report;

	ev.exe = "\xff\xfe\x1b[31m";
	ev.ret = -ENOENT;
	audit_emit(a, &ev);
	audit_close(a, 0);
	cr_assert_eq(verify(NULL, &v, &report), 0, "%s", report.data);
	cr_assert_eq(v.records, 3u);
	strbuf_fini(&report);
}

Test(audit, its_clock_goes_as_the_kernels)
{
	struct ticks t;
	uint64_t own, real;

	ticks_begin(&t);
	usleep(3000);
	ticks_settle(&t);
	real = ticks_clock(CLOCK_MONOTONIC);
	own = ticks_ns(&t);
	usleep(20000);
	own = ticks_ns(&t) - own;
	real = ticks_clock(CLOCK_MONOTONIC) - real;
	/* each was asked after the other: something may have come between */
	cr_assert_gt(own, 20000000u - 200000u);
	cr_assert_lt(own, real + real / 100);
}

Test(audit, records_say_when_it_was)
{
	struct audit *a = start();
	struct audit_event ev = event("stat", "/x");
	uint64_t before, after, t;
	size_t len;
	char *text;

	usleep(3000);
	audit_clock_settle(a);
	before = ticks_clock(CLOCK_REALTIME);
	for (int i = 0; i < 400; i++) {
		ev.now = audit_now(a);
		ev.ret = i;
		audit_emit(a, &ev);
	}
	after = ticks_clock(CLOCK_REALTIME);
	audit_close(a, 0);
	text = slurp(&len);
	for (char *p = text; (p = strstr(p, "\"t\":")); p++) {
		t = strtoull(p + 4, NULL, 10);
		cr_assert_gt(t, before - 50000000u);
		cr_assert_lt(t, after + 5000000u);
	}
	free(text);
}

Test(audit, denials_are_counted_and_bounded)
{
	struct audit *a = NULL;
	struct audit_event ev = event("openat", "/etc/shadow");
	struct strbuf out;
	char name[32];

	cr_assert_eq(audit_open(NULL, "x", -1, &a), 0);
	ev.verdict = AUDIT_DENY;
	ev.ret = -EACCES;
	strcpy(ev.rule, "--hide *");
	ev.hint = "leave out --hide *";
	for (int i = 0; i < 3; i++)
		audit_emit(a, &ev);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/x\n%d", i);
		ev.path = name;
		audit_emit(a, &ev);
	}
	strbuf_init(&out, 0);
	audit_denials(a, &out);
	cr_assert(
		strncmp(out.data,
			"refused: openat /etc/shadow (EACCES), rule --hide *, "
			"3 times; to allow: leave out --hide *\n",
			60) == 0,
		"%s", out.data);
	cr_assert(strstr(out.data, "/x\\x0a1 "));
	cr_assert(strstr(out.data, "refused: 801 more"));
	strbuf_fini(&out);
	audit_close(a, 0);
}

Test(audit, a_denial_names_the_option_that_fits)
{
	static const char where[] = "{\"host\":\"x\",\"addr\":\"10.1.2.3\"}";
	struct audit *a = NULL;
	struct audit_event read = event("newfstatat", "/h/notes");
	struct audit_event rm = event("unlinkat", "/h/notes");
	struct audit_event net = event("connect", "1.2.3.4:80");
	struct audit_event dns = event("connect", "10.0.0.1:53");
	struct audit_event name = event("net.refused", "x");
	struct audit_event limit = event("limit", NULL);
	struct strbuf out;

	cr_assert_eq(audit_open(NULL, "x", -1, &a), 0);
	read.verdict = rm.verdict = net.verdict = dns.verdict = AUDIT_DENY;
	name.verdict = AUDIT_DENY;
	limit.verdict = AUDIT_LIMIT;
	read.ret = rm.ret = -ENOENT;
	read.hint = rm.hint = "--ro /h/notes";
	net.hint = dns.hint = "--net-allow";
	name.args = where;
	name.args_len = sizeof(where) - 1;
	strcpy(name.rule, "a private address by name");
	audit_emit(a, &read);
	audit_emit(a, &rm);
	audit_emit(a, &net);
	audit_emit(a, &dns);
	audit_emit(a, &name);
	audit_emit(a, &limit);
	strbuf_init(&out, 0);
	audit_denials(a, &out);
	cr_expect(strstr(out.data, "newfstatat /h/notes (ENOENT), also "
				   "unlinkat"),
		  "%s", out.data);
	cr_expect(strstr(out.data, "2 times; to allow: --rw /h/notes\n"));
	cr_expect(strstr(out.data, "to allow: --net-allow 1.2.3.4:80\n"));
	cr_expect(strstr(out.data, "to allow: --net-allow HOST"));
	cr_expect(strstr(out.data, "to allow: --net-allow 10.1.2.3/32\n"));
	cr_expect_not(strstr(out.data, "limit"));
	strbuf_fini(&out);
	audit_close(a, 0);
}

static void failed(void *arg, int err)
{
	*(volatile int *)arg = err;
}

Test(audit, full_disk_is_told_and_emitters_do_not_hang)
{
	struct audit *a = NULL;
	struct audit_event ev = event("openat", "/x");
	volatile int err = 0;

	cr_assert_eq(audit_open("/dev/full", "x", -1, &a), 0);
	audit_on_failure(a, failed, (void *)&err);
	for (int i = 0; i < 5000; i++)
		audit_emit(a, &ev);
	cr_assert_eq(audit_flush(a), -ENOSPC);
	cr_assert_eq(audit_failed(a), ENOSPC);
	audit_close(a, 0);
	cr_assert_eq(err, ENOSPC);
}

Test(audit, reader_gone_is_epipe_not_a_signal)
{
	struct audit *a = NULL;
	struct audit_event ev = event("openat", "/x");
	char name[32];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	snprintf(name, sizeof(name), "fd:%d", fds[1]);
	cr_assert_eq(audit_open(name, "x", -1, &a), 0);
	close(fds[0]);
	audit_emit(a, &ev);
	cr_assert_eq(audit_flush(a), -EPIPE);
	audit_close(a, 0);
	close(fds[1]);
}

static void *emit_many(void *arg)
{
	struct audit_event ev = event("mkdirat", "/many");

	for (int i = 0; i < 4000; i++)
		audit_emit(arg, &ev);
	return NULL;
}

Test(audit, many_threads_lose_nothing)
{
	struct audit *a = start();
	struct audit_verified v;
	struct strbuf report;
	pthread_t t[4];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_create(&t[i], NULL, emit_many, a);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	audit_close(a, 0);
	cr_assert_eq(verify(NULL, &v, &report), 0, "%s", report.data);
	cr_assert_eq(v.records, 16002u);
	strbuf_fini(&report);
}

Test(audit, flush_reaches_the_file)
{
	struct audit *a = start();
	struct audit_event ev = event("openat", "/flushed");
	size_t len;
	char *text;

	audit_emit(a, &ev);
	cr_assert_eq(audit_flush(a), 0);
	text = slurp(&len);
	cr_assert(strstr(text, "/flushed"));
	free(text);
	audit_close(a, 0);
}

/* ---- text ------------------------------------------------------------ */

Test(text, numbers_are_printf_s)
{
	static const int64_t v[] = {0,	1,  -1, INT64_MAX, INT64_MIN,
				    42, -7, 10, 4096};
	char want[64];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct strbuf b;

		strbuf_init(&b, 0);
		strbuf_dec(&b, v[i]);
		strbuf_putc(&b, ' ');
		strbuf_hex(&b, (uint64_t)v[i]);
		snprintf(want, sizeof(want), "%lld 0x%llx", (long long)v[i],
			 (unsigned long long)v[i]);
		cr_assert_str_eq(b.data, want);
		strbuf_fini(&b);
	}
}

/* A name that reads like another one must not pass for it. */
Test(text, what_is_not_seen_is_shown)
{
	static const char *const s[][2] = {
		{".g\u200cit", ".g\\xe2\\x80\\x8cit"},
		{"a\u202etxt.exe", "a\\xe2\\x80\\xaetxt.exe"},
		{"\u00ad\ufeff\U000e0041", "\\xc2\\xad\\xef\\xbb\\xbf"
					   "\\xf3\\xa0\\x81\\x81"},
		{"\u00fc\u4e2d\U0001f600", "\u00fc\u4e2d\U0001f600"},
	};
	struct strbuf b;

	strbuf_init(&b, 0);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		strbuf_reset(&b);
		strbuf_visible(&b, s[i][0], strlen(s[i][0]));
		cr_expect_str_eq(b.data, s[i][1], "%s", b.data);
	}
	strbuf_fini(&b);
}

Test(text, what_needs_an_escape_gets_one_wherever_it_stands)
{
	static const char s[] = "\"a\\b\n\x7f\xc3\xa9\xc2\x85\xff z\"";
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_json_string(&b, s, sizeof(s) - 1);
	cr_assert_str_eq(b.data, "\"\\\"a\\\\b\\u000a\\u007f\xc3\xa9"
				 "\\u00c2\\u0085\\u00ff z\\\"\"");
	strbuf_reset(&b);
	strbuf_visible(&b, s, sizeof(s) - 1);
	cr_assert_str_eq(b.data, "\"a\\b\\x0a\\x7f\xc3\xa9"
				 "\\xc2\\x85\\xff z\"");
	strbuf_fini(&b);
	strbuf_init(&b, 5);
	strbuf_json_string(&b, "abcdefgh", 8);
	cr_assert_str_eq(b.data, "\"abcd");
	cr_assert(b.truncated);
	strbuf_fini(&b);
}
