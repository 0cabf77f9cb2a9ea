/*
 * main.c - where cloche begins. Apart, so that tests link all but this.
 */
#include <stdio.h>

#include "cli.h"

/* What was printed has arrived, or the status says that it has not. */
static int printed(int status)
{
	int err = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;

	if (!err || status || err == EPIPE)
		return status;
	log_info("standard output: %s", strerror(err));
	return CLI_FAILED;
}

int main(int argc, char **argv)
{
	return printed(cli_main(argc, argv));
}
