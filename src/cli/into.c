/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/into.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"

static int parse_require(const char *command, const char *text, enum pst_path *ret)
{
	*ret = PST_PATH_NONE;
	if (!text)
		return CLI_DONE;
	for (int i = PST_PATH_HOST; i <= PST_PATH_EMULATED; i++) {
		if (strcmp(text, pst_path_name((enum pst_path)i)) == 0) {
			*ret = (enum pst_path)i;
			return CLI_DONE;
		}
	}
	return cli_usage("%s: --require-path '%s': expected host, staged, gdr, gds or emulated", command, text);
}

static int parse_kind(const char *command, const char *text, struct cli_into *ret)
{
	uint64_t n = 0;

	if (!text || strcmp(text, "host") == 0) {
		ret->kind = PST_MEMORY_HOST;
	} else if (strcmp(text, "emulated") == 0) {
		ret->kind = PST_MEMORY_EMULATED;
	} else if (strcmp(text, "cuda") == 0 ||
		   (strncmp(text, "cuda:", 5) == 0 && parse_u64_between(text + 5, 0, 1023, &n) == 0)) {
		ret->kind = PST_MEMORY_CUDA;
		ret->device = (unsigned int)n;
	} else {
		return cli_usage("%s: '%s' is no memory: expected host, emulated or cuda:N", command, text);
	}
	return CLI_DONE;
}

int cli_into_parse(const char *command, const char *into, const char *require, struct cli_into *ret)
{
	struct pst_error err;
	int rc;

	*ret = (struct cli_into){ .kind = PST_MEMORY_HOST };
	rc = parse_kind(command, into, ret);
	if (rc == CLI_DONE)
		rc = parse_require(command, require, &ret->require);
	if (rc != CLI_DONE || ret->kind != PST_MEMORY_CUDA)
		return rc;
	if (pst_cuda_name(ret->device, ret->name, sizeof(ret->name), &err) == 0)
		return CLI_DONE;
	if (ret->require == PST_PATH_NONE)
		return cli_error("%s: cuda:%u: %s", command, ret->device, err.text);
	cli_error("%s: --require-path %s: cuda:%u: %s", command, require, ret->device, err.text);
	return CLI_REQUIRE;
}

int cli_into_memory(const struct cli_into *i, struct pst_context *ctx, size_t size, struct pst_memory **ret_mem)
{
	struct pst_error err;
	int rc;

	if (i->kind == PST_MEMORY_CUDA)
		rc = pst_memory_cuda_alloc(ctx, i->device, size, NULL, ret_mem, &err);
	else if (i->kind == PST_MEMORY_EMULATED)
		rc = pst_memory_emulated(ctx, size, NULL, ret_mem, &err);
	else
		rc = pst_memory_alloc(ctx, size, ret_mem, &err);
	return rc < 0 ? cli_error("%s", err.text) : CLI_DONE;
}

int cli_path_check(const char *command, const struct cli_into *i, const struct pst_volume *vol,
		   const struct pst_memory *mem)
{
	struct pst_error err;

	if (i->require == PST_PATH_NONE || pst_path_require(vol, mem, i->require, &err) == 0)
		return CLI_DONE;
	cli_error("%s: --require-path %s: %s", command, pst_path_name(i->require), err.text);
	return CLI_REQUIRE;
}
