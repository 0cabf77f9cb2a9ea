/*
 * cmd_policy.h - what the files of `cloche policy` share.
 */
#ifndef CLOCHE_CMD_POLICY_H
#define CLOCHE_CMD_POLICY_H

#include "cli.h"

/* Print the verdict on HOST:PORT, on a request. The exit status: 0 allowed, 1
 * refused, CLI_FAILED for nonsense. */
int policy_check_net(const struct config *cfg, const char *text);
int policy_check_http(const struct config *cfg, const char *method,
		      const char *url);

#endif
