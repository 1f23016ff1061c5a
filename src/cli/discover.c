/* SPDX-License-Identifier: Apache-2.0 */
/* penstock discover: the discovery log. */
#include <stdio.h>

#include "cli/volume.h"

const struct cli_option discover_options[] = {
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

static int print_json(uint64_t generation, const struct pst_discovery_entry *e, size_t n)
{
	struct json_object *o = cli_json_new("discover"), *list;

	cli_json_u64(o, "generation", generation);
	list = cli_json_array(o, "entries");
	for (size_t i = 0; i < n; i++) {
		struct json_object *x = cli_json_object(list, NULL);

		cli_json_str(x, "transport", e[i].transport);
		cli_json_str(x, "family", e[i].family);
		cli_json_str(x, "kind", e[i].kind);
		cli_json_str(x, "address", e[i].address);
		cli_json_str(x, "service", e[i].service);
		cli_json_str(x, "subsystem_nqn", e[i].subsystem_nqn);
		cli_json_str(x, "secure", e[i].secure);
		cli_json_u64(x, "port_id", e[i].port_id);
		cli_json_u64(x, "controller_id", e[i].controller_id);
		cli_json_u64(x, "admin_queue_size", e[i].admin_queue_size);
	}
	return cli_json_print(o);
}

static int print_text(uint64_t generation, const struct pst_discovery_entry *e, size_t n)
{
	printf("generation %llu, %zu %s\n", (unsigned long long)generation, n, n == 1 ? "entry" : "entries");
	for (size_t i = 0; i < n; i++)
		printf("%s\t%s\t%s\t%s\t%s\n", e[i].transport, e[i].address, e[i].service, e[i].subsystem_nqn,
		       e[i].kind);
	return CLI_DONE;
}

int cmd_discover(int argc, char **argv)
{
	struct pst_discovery_entry *entries;
	struct pst_context *ctx;
	struct pst_error err;
	uint64_t generation;
	size_t count;
	int rc = cli_context_open(PST_MODE_THREADED, 1, &ctx);

	if (rc != CLI_DONE)
		return rc;
	if (pst_discover(ctx, argv[0], &generation, &entries, &count, &err) < 0) {
		rc = cli_error("%s: %s", argv[0], err.text);
	} else {
		rc = cli_json ? print_json(generation, entries, count)
			      : print_text(generation, entries, count);
		pst_discovery_free(entries);
	}
	pst_context_free(ctx);
	return rc;
}
