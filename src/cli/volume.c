/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/volume.h"

#include <errno.h>
#include <string.h>

struct cli_identity cli_identity;

int cli_context_open(enum pst_mode mode, unsigned int threads, struct pst_context **ret_ctx)
{
	struct pst_context_options opts = PST_OPTIONS(opts);
	struct pst_error err;

	opts.mode = mode;
	opts.threads = threads;
	opts.hostnqn = cli_identity.hostnqn;
	opts.hostid = cli_identity.hostid;
	if (pst_context_new(&opts, ret_ctx, &err) < 0)
		return cli_error("%s", err.text);
	return CLI_DONE;
}

int cli_volume_open(struct cli_volume *v, const char *uri, enum cli_access access)
{
	struct pst_volume_options opts = PST_OPTIONS(opts);
	struct pst_error err;
	int rc;

	memset(v, 0, sizeof(*v));
	rc = cli_context_open(PST_MODE_THREADED, 1, &v->ctx);
	if (rc != CLI_DONE)
		return rc;
	opts.read_only = access == CLI_READ;
	rc = pst_volume_open(v->ctx, uri, &opts, &v->vol, &err);
	if (access == CLI_LOOK && (rc == -EACCES || rc == -EROFS || rc == -EPERM)) {
		opts.read_only = true;
		rc = pst_volume_open(v->ctx, uri, &opts, &v->vol, &err);
	}
	if (rc < 0) {
		pst_context_free(v->ctx);
		return cli_error("%s: %s", uri, err.text);
	}
	pst_volume_info(v->vol, &v->info);
	return CLI_DONE;
}

void cli_volume_close(struct cli_volume *v)
{
	pst_volume_close(v->vol);
	pst_context_free(v->ctx);
}

int cli_request_error(const char *what, const char *uri, uint64_t offset, const struct pst_completion *c)
{
	if (c->nvme_status)
		return cli_error("%s: %s at byte %llu: %s (%s)", uri, what, (unsigned long long)offset,
				 pst_nvme_status_name(c->nvme_status), strerror(-c->error));
	return cli_error("%s: %s at byte %llu: %s", uri, what, (unsigned long long)offset,
			 strerror(-c->error));
}
