/*
 * session_test.c - names of sandboxes, the messages of the control socket and
 * the blocks that commands come in.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../sentry/command.h"
#include "../../sentry/session/control.h"
#include "../../sentry/session/place.h"
#include "../../sentry/stdio.h"

Test(place, names_that_are_taken)
{
	char longest[PLACE_NAME_MAX + 1];

	memset(longest, 'a', PLACE_NAME_MAX);
	longest[PLACE_NAME_MAX] = '\0';
	cr_assert(place_name_valid("a"));
	cr_assert(place_name_valid("0"));
	cr_assert(place_name_valid("Build-1.2_x"));
	cr_assert(place_name_valid("a.."));
	cr_assert(place_name_valid(longest));
}

Test(place, names_that_are_refused)
{
	static const char *const bad[] = {"",	      ".",     "..",   "-a",
					  "_a",	      "a/b",   "a b",  "a\n",
					  "\xc3\xa4", "a\x7f", ".lock"};
	char longer[PLACE_NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_not(place_name_valid(bad[i]), "'%s'", bad[i]);
	memset(longer, 'a', PLACE_NAME_MAX + 1);
	longer[PLACE_NAME_MAX + 1] = '\0';
	cr_assert_not(place_name_valid(longer));
}

static char *own_place(void)
{
	char *dir = xstrdup("/tmp/session_test.XXXXXX");

	cr_assert(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1);
	return dir;
}

static void remove_place(char *dir)
{
	AUTO_FREE char *sub = xasprintf("%s/cloche", dir);

	rmdir(sub);
	rmdir(dir);
	free(dir);
}

Test(place, one_name_one_sandbox)
{
	char *dir = own_place();
	int a, b;

	cr_assert_eq(place_claim("x", &a), 0);
	cr_assert_eq(place_claim("x", &b), -EEXIST);
	cr_assert_eq(place_connect("x", &b), 0);
	close(b);
	place_release("x");
	close(a);
	cr_assert_eq(place_claim("x", &a), 0);
	place_release("x");
	close(a);
	remove_place(dir);
}

Test(place, a_leftover_socket_is_removed)
{
	char *dir = own_place(), **names;
	int a, b;

	cr_assert_eq(place_claim("x", &a), 0);
	close(a);
	names = place_list();
	cr_assert_str_eq(names[0], "x");
	place_list_free(names);
	cr_assert_eq(place_connect("x", &b), -ENOENT);
	names = place_list();
	cr_assert_null(names[0]);
	place_list_free(names);
	cr_assert_eq(place_claim("x", &a), 0);
	close(a);
	cr_assert_eq(place_claim("x", &a), 0);
	place_release("x");
	close(a);
	remove_place(dir);
}

Test(place, a_directory_open_to_others_is_refused)
{
	char *dir = own_place();
	AUTO_FREE char *sub = xasprintf("%s/cloche", dir);
	int a;

	cr_assert_eq(mkdir(sub, 0700), 0);
	cr_assert_eq(chmod(sub, 0770), 0);
	cr_assert_eq(place_claim("x", &a), -EPERM);
	cr_assert_eq(place_connect("x", &a), -EPERM);
	remove_place(dir);
}

static int parse(const char *text)
{
	json_t *o = NULL;
	int ret = control_parse(text, strlen(text), &o);

	json_decref(ret ? NULL : o);
	return ret;
}

Test(control, what_is_no_message)
{
	static const char *const bad[] = {
		"",
		"x",
		"1",
		"[]",
		"\"v\"",
		"{",
		"{\"v\":1",
		"{\"v\":1}x",
		"{\"v\":1,\"v\":1}",
		"{\"v\":1,\"op\":\"\xff\"}",
		"null",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_eq(parse(bad[i]), -EBADMSG, "'%s'", bad[i]);
	cr_assert_eq(parse("{}"), -EPROTO);
	cr_assert_eq(parse("{\"v\":2}"), -EPROTO);
	cr_assert_eq(parse("{\"v\":\"1\"}"), -EPROTO);
	cr_assert_eq(parse("{\"v\":1}"), 0);
}

Test(control, deep_nesting_is_refused)
{
	size_t n = 60000;
	AUTO_FREE char *text = xmalloc(n + 1);

	memset(text, '[', n);
	text[n] = '\0';
	cr_assert_eq(parse(text), -EBADMSG);
}

Test(control, members_of_other_types_give_the_default)
{
	json_t *o = json_pack("{s:s,s:i,s:b}", "t", "x", "n", 3, "f", 1);

	cr_assert_str_eq(control_text(o, "t", "d"), "x");
	cr_assert_str_eq(control_text(o, "n", "d"), "d");
	cr_assert_str_eq(control_text(o, "none", "d"), "d");
	cr_assert_eq(control_number(o, "n", 7), 3);
	cr_assert_eq(control_number(o, "t", 7), 7);
	cr_assert(control_flag(o, "f"));
	cr_assert_not(control_flag(o, "n"));
	json_decref(o);
}

Test(control, messages_and_descriptors_pass)
{
	struct control_msg m;
	int sv[2], p[2], fd;
	json_t *o = json_pack("{s:s}", "op", "x");
	char c = 0;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	cr_assert_eq(pipe(p), 0);
	cr_assert_eq(control_send(sv[0], o, &p[0], 1, false, 0), 0);
	json_decref(o);
	cr_assert_eq(control_recv(sv[1], &m, false, 0), 0);
	cr_assert_str_eq(control_text(m.root, "op", ""), "x");
	fd = control_take_fd(&m, 0);
	cr_assert_eq(control_take_fd(&m, 0), -1);
	cr_assert_eq(control_take_fd(&m, 1), -1);
	control_msg_fini(&m);
	cr_assert_eq(write(p[1], "y", 1), 1);
	cr_assert_eq(read(fd, &c, 1), 1);
	cr_assert_eq(c, 'y');
	close(sv[0]);
	cr_assert_eq(control_recv(sv[1], &m, false, 0), -EPIPE);
}

Test(control, a_large_answer_comes_as_a_body)
{
	size_t n = 3 * CONTROL_MAX;
	AUTO_FREE char *text = xmalloc(n + 1);
	struct control_msg m;
	int sv[2];
	json_t *o;

	memset(text, 'x', n);
	text[n] = '\0';
	o = json_pack("{s:s}", "text", text);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	cr_assert_eq(control_send(sv[0], o, NULL, 0, false, 0), -EMSGSIZE);
	cr_assert_eq(control_send(sv[0], o, NULL, 0, true, 0), 0);
	json_decref(o);
	cr_assert_eq(control_recv(sv[1], &m, true, 0), 0);
	cr_assert_str_eq(control_text(m.root, "text", ""), text);
	control_msg_fini(&m);
}

Test(control, an_oversized_packet_is_refused)
{
	AUTO_FREE char *text = xmalloc(CONTROL_MAX + 1);
	struct control_msg m;
	int sv[2];

	memset(text, ' ', CONTROL_MAX + 1);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	cr_assert_eq(send(sv[0], text, CONTROL_MAX + 1, 0), CONTROL_MAX + 1);
	cr_assert_eq(control_recv(sv[1], &m, false, 0), -EMSGSIZE);
}

Test(command, comes_back_as_it_was)
{
	char *argv[] = {"a", "", "\xff\n", NULL}, *envp[] = {"X=1", NULL};
	struct command c;
	int fd;

	cr_assert_eq(command_write("/dir", argv, envp, &fd), 0);
	cr_assert_eq(command_read(fd, &c), 0);
	cr_assert_str_eq(c.cwd, "/dir");
	cr_assert_eq(c.argc, 3);
	cr_assert_eq(c.envc, 1);
	for (int i = 0; i < 3; i++)
		cr_assert_str_eq(c.argv[i], argv[i]);
	cr_assert_null(c.argv[3]);
	cr_assert_str_eq(c.envp[0], "X=1");
	command_fini(&c);
	close(fd);
}

Test(command, a_damaged_block_is_refused)
{
	char *argv[] = {"a", "b", NULL}, buf[64], cut[64];
	struct command c;
	ssize_t n;
	int fd;

	cr_assert_eq(command_write(NULL, argv, NULL, &fd), 0);
	n = pread(fd, buf, sizeof(buf), 0);
	cr_assert_gt(n, 0);
	cr_assert_eq(command_parse(buf, (size_t)n, &c), 0);
	command_fini(&c);
	for (ssize_t i = 0; i < n; i++)
		cr_assert_eq(command_parse(buf, (size_t)i, &c), -EBADMSG);
	for (int i = 0; i < 16; i++) { /* each byte of the head */
		memcpy(cut, buf, sizeof(cut));
		cut[i] ^= 0x55;
		cr_assert_eq(command_parse(cut, (size_t)n, &c), -EBADMSG);
	}
	memcpy(cut, buf, sizeof(cut));
	cut[n - 1] = 'x'; /* the last NUL */
	cr_assert_eq(command_parse(cut, (size_t)n, &c), -EBADMSG);
	close(fd);
}

Test(command, environment_is_put_over)
{
	char *base[] = {"A=1", "AB=2", "C=3", NULL};
	char *more[] = {"AB=9", "D=4", "D=5", NULL};
	AUTO_FREE char **e = command_env(base, more);

	cr_assert_str_eq(e[0], "A=1");
	cr_assert_str_eq(e[1], "AB=9");
	cr_assert_str_eq(e[2], "C=3");
	cr_assert_str_eq(e[3], "D=5");
	cr_assert_null(e[4]);
}

Test(stdio, what_is_not_passed)
{
	int p[2], s = socket(AF_INET, SOCK_DGRAM, 0);

	cr_assert_eq(pipe(p), 0);
	cr_assert_null(stdio_refused(p[0]));
	cr_assert_null(stdio_refused(open("/dev/null", O_RDWR)));
	cr_assert_null(stdio_refused(open("/etc/passwd", O_RDONLY)));
	cr_assert_not_null(stdio_refused(open("/", O_RDONLY)));
	cr_assert_not_null(stdio_refused(open("/etc/passwd", O_PATH)));
	cr_assert_not_null(stdio_refused(open("/dev/ptmx", O_RDWR)));
	cr_assert_not_null(stdio_refused(s));
	cr_assert_not_null(stdio_refused(-1));
}
