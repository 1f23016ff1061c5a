/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a volume for a command: context, options that every such command has, errors said. */
#ifndef CLI_VOLUME_H
#define CLI_VOLUME_H

#include "cli/cli.h"
#include "penstock.h"

struct cli_volume {
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_volume_info info;
};

struct cli_identity {
	const char *hostnqn;
	const char *hostid;
};

extern struct cli_identity cli_identity;

#define CLI_OPTIONS_IDENTITY                                                                       \
	{ "hostnqn", 'q', CLI_TEXT, &cli_identity.hostnqn, "NQN",                                  \
	  "name of this host (default: /etc/nvme/hostnqn)", NULL },                                \
	{                                                                                          \
		"hostid", 'I', CLI_TEXT, &cli_identity.hostid, "UUID",                             \
			"identity of this host (default: /etc/nvme/hostid)", NULL                  \
	}

/* CLI_DONE, or what cli_error() returned. */
int cli_context_open(enum pst_mode mode, unsigned int threads, struct pst_context **ret_ctx);
enum cli_access {
	CLI_READ,
	CLI_WRITE,
	CLI_LOOK, /* say what it is: writable if it is, but a file that may only be read will do */
};
int cli_volume_open(struct cli_volume *v, const char *uri, enum cli_access access);
void cli_volume_close(struct cli_volume *v);

/* Says what happened to a request at @offset: the errno's text, or the NVMe status by name. */
int cli_request_error(const char *what, const char *uri, uint64_t offset, const struct pst_completion *c);

#endif
