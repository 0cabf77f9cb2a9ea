/*
 * filtergen.c - a program of the build: compiles the seccomp filters from
 * syscalls/table.def by libseccomp and prints them as C (filterdata.h).
 *
 * It is linked with all of cloche, since the table names its handlers, but
 * runs none of it.
 */
#include <stdio.h>

#include "filter.h"
#include "filterdata.h"

/* What it makes is not there yet. */
struct sock_fprog filterdata_guest(bool bare)
{
	(void)bare;
	return (struct sock_fprog){0};
}

struct sock_fprog filterdata_datagrams(void)
{
	return (struct sock_fprog){0};
}

struct sock_fprog filterdata_self(void)
{
	return (struct sock_fprog){0};
}

struct sock_fprog filterdata_gateway(void)
{
	return (struct sock_fprog){0};
}

struct sock_fprog filterdata_maker(void)
{
	return (struct sock_fprog){0};
}

static void print_function(const char *name)
{
	printf("\nstruct sock_fprog filterdata_%s(void)\n"
	       "{\n\treturn PROGRAM(%s);\n}\n",
	       name, name);
}

static void print_program(const char *name, const struct sock_fprog *p)
{
	printf("static const struct sock_filter %s[] = {\n", name);
	for (unsigned i = 0; i < p->len; i++)
		printf("\t{%#x, %u, %u, %#x},\n", p->filter[i].code,
		       p->filter[i].jt, p->filter[i].jf, p->filter[i].k);
	printf("};\n\n");
}

int main(void)
{
	struct sock_fprog jailed, bare, datagrams, self, gateway, maker;

	if (filter_build(false, &jailed) || filter_build(true, &bare) ||
	    filter_build_datagrams(&datagrams) || filter_build_self(&self) ||
	    filter_build_gateway(&gateway) || filter_build_maker(&maker))
		die("cannot compile the filters");
	printf("/* Made by sentry/filtergen.c; not edited. */\n"
	       "#include \"sentry/filterdata.h\"\n\n");
	print_program("jailed", &jailed);
	print_program("bare", &bare);
	print_program("datagrams", &datagrams);
	print_program("self", &self);
	print_program("gateway", &gateway);
	print_program("maker", &maker);
	printf("#define PROGRAM(a) (struct sock_fprog){ARRAY_SIZE(a), "
	       "(struct sock_filter *)(uintptr_t)(a)}\n\n"
	       "struct sock_fprog filterdata_guest(bool is_bare)\n"
	       "{\n\treturn is_bare ? PROGRAM(bare) : PROGRAM(jailed);\n}\n");
	print_function("datagrams");
	print_function("self");
	print_function("gateway");
	print_function("maker");
	filter_free(&jailed);
	filter_free(&bare);
	filter_free(&datagrams);
	filter_free(&self);
	filter_free(&gateway);
	filter_free(&maker);
	return 0;
}
