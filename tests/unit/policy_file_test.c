/*
 * policy_file_test.c - policy files: what entries mean, and where mistakes are
 * said to be.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../../sentry/policy/file.h"

struct got {
	char text[4096];
	size_t len;
	const char *refuse; /* an option that is refused */
};

static int take(void *arg, const struct policy_option *o, struct strbuf *err)
{
	static const char *const how[] = {"", " (skip)", " (make)"};
	struct got *g = arg;

	if (g->refuse && strcmp(g->refuse, o->name) == 0) {
		strbuf_printf(err, "--%s: no good", o->name);
		return -EINVAL;
	}
	g->len += (size_t)snprintf(g->text + g->len, sizeof(g->text) - g->len,
				   "%s %s @%s%s\n", o->name, o->value,
				   o->origin, how[o->missing]);
	return 0;
}

/* The options of a file, or its error. */
static const char *read_with(struct got *g, const char *text)
{
	struct policy_file_sink sink = {take, g};
	struct strbuf err;

	strbuf_init(&err, 0);
	if (policy_file_read("p", text, strlen(text), &sink, &err))
		snprintf(g->text, sizeof(g->text), "%s", err.data);
	strbuf_fini(&err);
	return g->text;
}

static const char *reads(const char *text)
{
	static struct got g;

	memset(&g, 0, sizeof(g));
	return read_with(&g, text);
}

Test(policy_file, all_sections)
{
	cr_expect_str_eq(
		reads("version: 1\n"
		      "profile: strict\n"
		      "files:\n"
		      "  - {path: ~/.cache, access: rw, missing: make}\n"
		      "  - {path: '**/.env', access: hide}\n"
		      "  - {path: /a, access: ro, as: /b, missing: skip}\n"
		      "  - path: /t\n"
		      "    access: tmpfs\n"
		      "network:\n"
		      "  - {host: a.example, ports: [443, 8000-8099]}\n"
		      "  - {host: '2001:db8::/32', ports: 53, proto: udp}\n"
		      "  - {host: 10.0.0.0/8, action: deny}\n"
		      "  - host: b.example\n"
		      "    http: [{method: [GET, HEAD], path: /repos/**}]\n"
		      "secrets:\n"
		      "  key: {from: 'env:K', inject: {host: b.example, "
		      "header: 'Authorization: Bearer {}'}}\n"
		      "  two: {from: 'fd:9', env: TWO, inject: [{host: c.d, "
		      "bearer: true}, {host: e.f, port: 8443, basic: u}]}\n"
		      "env: [A, B=c]\n"
		      "limits: {memory: 2G, output: 20k}\n"),
		"profile strict @p:2\n"
		"rw ~/.cache @p:4 (make)\n"
		"hide **/.env @p:5\n"
		"ro /a:/b @p:6 (skip)\n"
		"tmpfs /t @p:7\n"
		"net-allow a.example:443,8000-8099 @p:10\n"
		"net-allow udp://[2001:db8::]/32:53 @p:11\n"
		"net-deny 10.0.0.0/8 @p:12\n"
		"http-allow GET,HEAD b.example/repos/** @p:14\n"
		"secret key=env:K @p:16\n"
		"inject b.example Authorization: Bearer {} key @p:16\n"
		"secret two=fd:9 @p:17\n"
		"secret-env TWO=two @p:17\n"
		"inject c.d bearer two @p:17\n"
		"inject e.f:8443 basic:u two @p:17\n"
		"env A @p:18\n"
		"env B=c @p:18\n"
		"memory 2G @p:19\n"
		"max-output 20k @p:19\n");
}

Test(policy_file, empty_sections_and_json)
{
	cr_expect_str_eq(reads("version: 1\nfiles:\nnetwork: []\n"), "");
	cr_expect_str_eq(reads("{\"version\": 1, \"env\": [\"A\"]}"),
			 "env A @p:1\n");
}

Test(policy_file, mistakes_have_their_place)
{
	static const char *const rows[][2] = {
		{"", "p:1:1: \"version: 1\" was expected; the file is empty"},
		{"- x", "p:1:1: \"version: 1\" and sections was expected, not "
			"a list"},
		{"profile: x", "p:1:1: \"version: 1\" is missing here"},
		{"version: 2", "p:1:10: version 1 was expected, not \"2\""},
		{"version: 1\nversion: 1",
		 "p:2:1: this key stands here a second time"},
		{"version: 1\nexec: []",
		 "p:2:1: \"exec\" is not supported by this version: rules "
		 "about programs"},
		{"version: 1\nrules:\n  - {on: http}",
		 "p:2:1: \"rules\" is not supported by this version: rules "
		 "about what happened before"},
		{"version: 1\nfile: []",
		 "p:2:1: one of version profile files network secrets env "
		 "limits exec rules was expected, not \"file\""},
		{"version: 1\nfiles: [{path: x, acess: ro}]",
		 "p:2:19: one of path access as missing was expected, not "
		 "\"acess\""},
		{"version: 1\nfiles: [{path: x}]",
		 "p:2:9: \"access\" is missing here"},
		{"version: 1\nfiles: [{path: x, access: r}]",
		 "p:2:27: one of ro rw hide tmpfs was expected, not \"r\""},
		{"version: 1\nfiles: [{path: [x], access: ro}]",
		 "p:2:16: a value for \"path\" was expected, not a list"},
		{"version: 1\nfiles: [{path: x, access: hide, as: /y}]",
		 "p:2:37: no \"as\" but with ro and rw was expected, not "
		 "\"/y\""},
		{"version: 1\nfiles: {path: x}",
		 "p:2:8: a list of files like {path: ~/x, access: hide} was "
		 "expected, not a mapping"},
		{"version: 1\nnetwork: [{host: 'udp://a'}]",
		 "p:2:18: a host without a scheme (proto says it) was "
		 "expected, not \"udp://a\""},
		{"version: 1\nnetwork: [{host: a, ports: {}}]",
		 "p:2:28: a list of ports like [443, 8000-8099] was expected, "
		 "not a mapping"},
		{"version: 1\nnetwork: [{host: a, http: []}]",
		 "p:2:27: a list like [{method: GET, path: /x}] was expected, "
		 "not a list"},
		{"version: 1\nnetwork: [{host: a, http: [{method: GET, path: "
		 "x}]}]",
		 "p:2:48: a path that begins with / was expected, not \"x\""},
		{"version: 1\nnetwork: [{host: a, action: deny, http: []}]",
		 "p:2:41: no \"http\" with deny or udp was expected, not a "
		 "list"},
		{"version: 1\nlimits: {memory: []}",
		 "p:2:18: a limit was expected, not a list"},
		{"version: 1\nlimits: {mem: 1}",
		 "p:2:10: one of memory cpus pids disk timeout cpu-time output "
		 "net-rate net-connections net-opens net-idle net-time was "
		 "expected, "
		 "not \"mem\""},
		{"version: 1\nenv: &a [A]",
		 "p:2:6: a value without an anchor or a tag was expected"},
		{"version: 1\nenv: [*a]",
		 "p:2:7: an alias: write the value itself"},
		{"version: !!int 1",
		 "p:1:10: a value without an anchor or a tag was expected"},
		{"version: \"1\\0\"",
		 "p:1:10: a value without a NUL byte was expected"},
		{"version: 1\n? [a]\n: b", "p:2:3: a name was expected as a "
					   "key"},
		{"version: 1\n---\nversion: 1",
		 "p:2:1: the end was expected: one document in a file"},
		{"version: 1\nab: \xff", "p:2:5: invalid leading UTF-8 octet"},
		{"version: 1\nenv: [[[[[[[[[[[[[[[]]]]]]]]]]]]]]]",
		 "p:2:17: nested too deeply"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_str_eq(reads(rows[i][0]), rows[i][1], "%s",
				 rows[i][0]);
}

/* What an option's check says gets the entry's place instead of the option's
 * name. */
Test(policy_file, refused_values)
{
	struct got g = {.refuse = "memory"};

	cr_expect_str_eq(read_with(&g, "version: 1\nlimits:\n  memory: x\n"),
			 "p:3:11: no good");
}

Test(policy_file, parsers_own_mistakes_have_a_place)
{
	cr_expect_eq(strncmp(reads("version: 1\nfiles: {a"), "p:", 2), 0);
	cr_expect_eq(strncmp(reads("version: 1\nfiles:\n\t- x"), "p:3:1: ", 7),
		     0);
}
