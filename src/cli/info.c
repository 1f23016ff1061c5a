/* SPDX-License-Identifier: Apache-2.0 */
/* penstock info: what a volume is. */
#include <stdio.h>

#include "base/parse.h"
#include "base/uuid.h"
#include "cli/volume.h"

const struct cli_option info_options[] = {
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

static void uuid_text(const struct pst_volume_info *i, char text[UUID_TEXT_MAX])
{
	struct uuid u;

	for (size_t k = 0; k < sizeof(i->uuid); k++)
		u.b[k] = i->uuid[k];
	uuid_format(&u, text);
}

static int print_json(const struct cli_volume *v)
{
	const struct pst_volume_info *i = &v->info;
	struct json_object *o = cli_json_new("info");
	char uuid[UUID_TEXT_MAX];

	uuid_text(i, uuid);
	cli_json_str(o, "uri", i->uri);
	cli_json_str(o, "transport", i->transport);
	cli_json_str(o, "io", pst_context_io(v->ctx));
	cli_json_u64(o, "size_bytes", i->size_bytes);
	cli_json_u64(o, "block_bytes", i->block_bytes);
	cli_json_u64(o, "max_transfer_bytes", i->max_transfer_bytes);
	cli_json_u64(o, "optimal_bytes", i->optimal_bytes);
	cli_json_bool(o, "read_only", i->read_only);
	cli_json_bool(o, "volatile_cache", i->volatile_cache);
	cli_json_str(o, "uuid", uuid);
	if (i->subsystem_nqn[0]) {
		cli_json_str(o, "address", i->address);
		cli_json_str(o, "subsystem_nqn", i->subsystem_nqn);
		cli_json_u64(o, "nsid", i->nsid);
		cli_json_u64(o, "queues", i->queues);
		cli_json_u64(o, "depth", i->depth);
		cli_json_str(o, "model", i->model);
		cli_json_str(o, "serial", i->serial);
		cli_json_str(o, "firmware", i->firmware);
	}
	return cli_json_print(o);
}

static int print_text(const struct cli_volume *v)
{
	const struct pst_volume_info *i = &v->info;
	char a[FORMAT_MAX], uuid[UUID_TEXT_MAX];

	uuid_text(i, uuid);
	printf("uri            %s\n", i->uri);
	printf("size           %s (%llu bytes, blocks of %u)\n", format_size(i->size_bytes, a, sizeof(a)),
	       (unsigned long long)i->size_bytes, i->block_bytes);
	printf("access         %s%s\n", i->read_only ? "read-only" : "read and write",
	       i->volatile_cache && !i->read_only ? ", durable after a flush" : "");
	printf("transfer       %s at most", format_size(i->max_transfer_bytes, a, sizeof(a)));
	printf(", %s preferred\n", format_size(i->optimal_bytes, a, sizeof(a)));
	printf("uuid           %s\n", uuid);
	if (i->subsystem_nqn[0]) {
		printf("subsystem      %s, namespace %u\n", i->subsystem_nqn, i->nsid);
		printf("address        %s (%s)\n", i->address, i->transport);
		printf("queues         %u of depth %u\n", i->queues, i->depth);
		printf("controller     %s, serial %s, firmware %s\n", i->model, i->serial, i->firmware);
	}
	printf("io             %s\n", pst_context_io(v->ctx));
	return CLI_DONE;
}

int cmd_info(int argc, char **argv)
{
	struct cli_volume v;
	int rc = cli_volume_open(&v, argv[0], CLI_LOOK);

	if (rc != CLI_DONE)
		return rc;
	rc = cli_json ? print_json(&v) : print_text(&v);
	cli_volume_close(&v);
	return rc;
}
