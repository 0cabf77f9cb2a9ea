/* What stand-ins hold, made from any bytes. */
#include <criterion/criterion.h>

#include "../../fs/standin_text.h"

static char made[4096];

static const char *make(const char *name, const char *from, size_t len,
			long day)
{
	const struct standin_text *t = standin_text_of(name);
	struct strbuf b;

	cr_assert_not_null(t);
	strbuf_init(&b, sizeof(made) - 1);
	t->make(from, len, day, &b);
	memcpy(made, b.data ? b.data : "", b.len);
	made[b.len] = '\0';
	strbuf_fini(&b);
	return made;
}

#define MAKE(name, text) make(name, text, sizeof(text) - 1, 20000)

Test(standin, shadow_has_a_locked_line_for_each_user)
{
	cr_assert_str_eq(MAKE("shadow", "root:x:0:0:r:/root:/bin/sh\n"
					"bin:*:2:2::/bin:/bin/false\n"),
			 "root:*:20000:0:99999:7:::\n"
			 "bin:*:20000:0:99999:7:::\n");
	cr_assert_str_eq(MAKE("shadow-", "a:$6$real$hash:0:0:::"),
			 "a:*:20000:0:99999:7:::\n");
}

Test(standin, gshadow_keeps_members)
{
	cr_assert_str_eq(MAKE("gshadow", "root:x:0:\nsudo:x:27:ann,bob\n"),
			 "root:*::\nsudo:*::ann,bob\n");
}

Test(standin, odd_lines)
{
	cr_assert_str_eq(MAKE("shadow", ""), "");
	cr_assert_str_eq(MAKE("shadow", "\n\n# c\n+nis\n-nis\n:x:0\n"), "");
	cr_assert_str_eq(MAKE("shadow", "no colon"),
			 "no colon:*:20000:0:99999:7:::\n");
	cr_assert_str_eq(MAKE("gshadow", "g"), "g:*::\n");
	cr_assert_str_eq(MAKE("gshadow", "g:x:1:a:b:c"), "g:*::a\n");
	cr_assert_str_eq(make("shadow", "a:x", 3, -5), "a:*:1:0:99999:7:::\n");
}

Test(standin, only_a_few_names_hold_anything)
{
	cr_assert_null(standin_text_of("passwd"));
	cr_assert_null(standin_text_of("lock"));
	cr_assert_null(standin_text_of(""));
	cr_assert_not_null(strstr(MAKE("sudoers", ""), "root ALL="));
}
