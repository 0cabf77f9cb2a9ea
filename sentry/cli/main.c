/*
 * main.c - where cloche begins. Apart, so that tests link all but this.
 */
#include "cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
