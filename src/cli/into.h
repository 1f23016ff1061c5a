/* SPDX-License-Identifier: Apache-2.0 */
/* --into: which memory data lands in; --require-path: which way it has to take. */
#ifndef CLI_INTO_H
#define CLI_INTO_H

#include "cli/cli.h"
#include "cli/volume.h"

#define CLI_INTO_VALUES "host|emulated|cuda:N"
#define CLI_PATH_VALUES "host|staged|gdr|gds|emulated"

struct cli_into {
	enum pst_memory_kind kind;
	unsigned int device; /* number of the GPU */
	char name[80];	     /* of the GPU */
	enum pst_path require; /* PST_PATH_NONE: any */
};

/*
 * Takes both texts apart; NULL where they were not given. With a GPU the driver is asked at once.
 * CLI_DONE, or what was said: CLI_REQUIRE if a path was required and there is no such device.
 */
int cli_into_parse(const char *command, const char *into, const char *require, struct cli_into *ret);

/* Memory of that kind. */
int cli_into_memory(const struct cli_into *i, struct pst_context *ctx, size_t size, struct pst_memory **ret_mem);

/* Will data between the two take the way it has to? CLI_DONE, or CLI_REQUIRE when it was said why not. */
int cli_path_check(const char *command, const struct cli_into *i, const struct pst_volume *vol,
		   const struct pst_memory *mem);

#endif
