/*
 * standin_text.c - see standin_text.h.
 *
 * shadow and gshadow are made from the readable passwd and group beside them:
 * each name with a locked password (shadow(5), gshadow(5)), so that useradd,
 * passwd, chage and pwck find all of them, and nobody can log in by one.
 * sudoers lets root do what root may do anyway.
 */
#include "standin_text.h"

#include <string.h>

/* Takes the next field, ended by a colon or the line's end. */
static const char *field(const char **p, const char *end, size_t *len)
{
	const char *at = *p;
	const char *colon = memchr(at, ':', (size_t)(end - at));

	*len = (size_t)((colon ? colon : end) - at);
	*p = colon ? colon + 1 : end;
	return at;
}

static void shadow_line(const char *p, const char *end, long day,
			struct strbuf *out)
{
	size_t len;
	const char *name = field(&p, end, &len);

	strbuf_add(out, name, len);
	strbuf_printf(out, ":*:%ld:0:99999:7:::\n", day < 1 ? 1 : day);
}

static void gshadow_line(const char *p, const char *end, long day,
			 struct strbuf *out)
{
	size_t name_len, len;
	const char *name = field(&p, end, &name_len), *members;

	(void)day;
	field(&p, end, &len);		/* password */
	field(&p, end, &len);		/* number */
	members = field(&p, end, &len); /* to the end */
	strbuf_add(out, name, name_len);
	strbuf_puts(out, ":*::");
	strbuf_add(out, members, len);
	strbuf_putc(out, '\n');
}

static void each_line(const char *from, size_t len, long day,
		      void (*line)(const char *p, const char *end, long day,
				   struct strbuf *out),
		      struct strbuf *out)
{
	const char *end = from + len;

	while (from < end) {
		const char *nl = memchr(from, '\n', (size_t)(end - from));
		const char *stop = nl ? nl : end;

		/* comments, and the lines of NIS, are no names */
		if (stop > from && *from != '#' && *from != '+' &&
		    *from != '-' && *from != ':')
			line(from, stop, day, out);
		from = nl ? nl + 1 : end;
	}
}

static void make_shadow(const char *from, size_t len, long day,
			struct strbuf *out)
{
	each_line(from, len, day, shadow_line, out);
}

static void make_gshadow(const char *from, size_t len, long day,
			 struct strbuf *out)
{
	each_line(from, len, day, gshadow_line, out);
}

static void make_sudoers(const char *from, size_t len, long day,
			 struct strbuf *out)
{
	(void)from;
	(void)len;
	(void)day;
	strbuf_puts(out, "Defaults env_reset\n"
			 "root ALL=(ALL:ALL) NOPASSWD: ALL\n"
			 "@includedir /etc/sudoers.d\n");
}

static const struct standin_text texts[] = {
	{"shadow", "passwd", make_shadow},  {"shadow-", "passwd", make_shadow},
	{"gshadow", "group", make_gshadow}, {"gshadow-", "group", make_gshadow},
	{"sudoers", NULL, make_sudoers},
};

const struct standin_text *standin_text_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].name, name))
			return &texts[i];
	return NULL;
}
