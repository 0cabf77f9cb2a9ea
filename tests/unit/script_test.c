/*
 * script_test.c - the "#!" line, by the rules of fs/binfmt_script.c.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "../../loader/script.h"

static struct script_line line;

static int parse(const char *text, size_t len)
{
	char head[SCRIPT_HEAD] = {0};

	memcpy(head, text, len < sizeof(head) ? len : sizeof(head));
	return script_parse(head, &line);
}

#define PARSE(s) parse(s, sizeof(s) - 1)

/* "#!/" then n times `c`, then the rest of the head `fill`. */
static int parse_long(size_t n, char c, char fill)
{
	char head[SCRIPT_HEAD];

	memset(head, fill, sizeof(head));
	memcpy(head, "#!/", 3);
	memset(head + 3, c, n);
	return script_parse(head, &line);
}

Test(script, interpreter_alone)
{
	cr_assert_eq(PARSE("#!/bin/sh\necho"), 0);
	cr_assert_str_eq(line.interp, "/bin/sh");
	cr_assert_not(line.has_arg);
}

Test(script, blanks_before_and_after_are_dropped)
{
	cr_assert_eq(PARSE("#! \t /bin/sh \t \n"), 0);
	cr_assert_str_eq(line.interp, "/bin/sh");
	cr_assert_not(line.has_arg);
}

Test(script, rest_of_the_line_is_one_argument)
{
	cr_assert_eq(PARSE("#!/usr/bin/env  -S a  b \t\nx"), 0);
	cr_assert_str_eq(line.interp, "/usr/bin/env");
	cr_assert(line.has_arg);
	cr_assert_str_eq(line.arg, "-S a  b");
}

Test(script, carriage_return_belongs_to_the_name)
{
	cr_assert_eq(PARSE("#!/bin/sh\r\n"), 0);
	cr_assert_str_eq(line.interp, "/bin/sh\r");
}

Test(script, without_newline_the_file_end_ends_it)
{
	cr_assert_eq(PARSE("#!/bin/sh"), 0);
	cr_assert_str_eq(line.interp, "/bin/sh");
	cr_assert_eq(PARSE("#!/bin/sh -e"), 0);
	cr_assert_str_eq(line.arg, "-e");
}

Test(script, nothing_or_blanks_only_is_enoexec)
{
	cr_assert_eq(PARSE(""), -ENOEXEC);
	cr_assert_eq(PARSE("#"), -ENOEXEC);
	cr_assert_eq(PARSE("x!/bin/sh\n"), -ENOEXEC);
	cr_assert_eq(PARSE("#!\n/bin/sh"), -ENOEXEC);
	cr_assert_eq(PARSE("#!  \t \n"), -ENOEXEC);
	cr_assert_eq(parse_long(0, 'a', 'b'), -ENOEXEC);
}

Test(script, head_of_blanks_only_is_enoexec)
{
	char head[SCRIPT_HEAD];

	memset(head, ' ', sizeof(head));
	memcpy(head, "#!", 2);
	cr_assert_eq(script_parse(head, &line), -ENOEXEC);
}

Test(script, truncated_interpreter_is_enoexec)
{
	cr_assert_eq(parse_long(SCRIPT_HEAD - 3, 'a', 'a'), -ENOEXEC);
	cr_assert_eq(parse_long(SCRIPT_HEAD - 4, 'a', ' '), 0);
	cr_assert_eq(strlen(line.interp), SCRIPT_HEAD - 3);
	cr_assert_eq(parse_long(SCRIPT_HEAD - 4, 'a', '\n'), 0);
	cr_assert_eq(strlen(line.interp), SCRIPT_HEAD - 3);
}

Test(script, truncated_argument_is_passed_on)
{
	char head[SCRIPT_HEAD];

	memset(head, 'z', sizeof(head));
	memcpy(head, "#!/bin/sh ", 10);
	cr_assert_eq(script_parse(head, &line), 0);
	cr_assert_str_eq(line.interp, "/bin/sh");
	cr_assert_eq(strlen(line.arg), SCRIPT_HEAD - 11);
}

Test(script, nul_in_the_line_ends_the_string)
{
	cr_assert_eq(PARSE("#!/bin/sh\0 x\n"), 0);
	cr_assert_str_eq(line.interp, "/bin/sh");
	cr_assert_not(line.has_arg);
	cr_assert_eq(PARSE("#!\0"), 0);
	cr_assert_str_empty(line.interp);
}

Test(script, head_is_read_with_nul_padding)
{
	char head[SCRIPT_HEAD];
	int fd = memfd_create("s", 0);
	struct file_head h;

	cr_assert_eq(write(fd, "#!/x\n", 5), 5);
	cr_assert_eq(file_head_read(&h, fd), 0);
	cr_assert_eq(h.len, 5);
	script_take_head(&h, head);
	cr_assert_str_eq(head, "#!/x\n");
	cr_assert_eq(head[SCRIPT_HEAD - 1], 0);
	close(fd);
	cr_assert_eq(file_head_read(&h, -1), -EBADF);
}

Test(script, bytes_beyond_the_head_come_from_the_file)
{
	char text[FILE_HEAD + 8], got[16];
	int fd = memfd_create("s", 0);
	struct file_head h;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	cr_assert_eq(write(fd, text, sizeof(text)), sizeof(text));
	cr_assert_eq(file_head_read(&h, fd), 0);
	cr_assert_eq(h.len, FILE_HEAD);
	for (size_t at = FILE_HEAD - 20; at <= sizeof(text) - 16; at++) {
		cr_assert_eq(file_head_get(&h, got, 16, at), 0);
		cr_assert_arr_eq(got, text + at, 16);
	}
	cr_assert_eq(file_head_get(&h, got, 16, sizeof(text) - 15), -EIO);
	cr_assert_eq(file_head_get(&h, got, 16, UINT64_MAX - 3), -EINVAL);
	close(fd);
}
