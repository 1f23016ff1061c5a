/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of admin commands; the idea is in admin.h. A new command is a line here and a parser.
 */
#include "target/admin.h"

#include <stddef.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/log.h"
#include "nvme/reg.h"
#include "target/abort.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/feature.h"
#include "target/identify.h"
#include "target/log.h"
#include "target/property.h"

static struct nvme_status keep_alive_parse(struct tgt_req *req);

static const struct admin_cmd {
	uint8_t opc;
	bool discovery; /* on discovery controllers too (Base 2.0, 3.1.2.3) */
	uint32_t effects;
	struct nvme_status (*parse)(struct tgt_req *req);
} cmds[] = {
	{ NVME_ADMIN_GET_LOG_PAGE, true, 0, tgt_log_parse },
	{ NVME_ADMIN_IDENTIFY, true, 0, tgt_identify_parse },
	{ NVME_ADMIN_ABORT, false, 0, tgt_abort_parse },
	{ NVME_ADMIN_SET_FEATURES, true, NVME_EFFECT_CTRL_CAPS, tgt_set_features_parse },
	{ NVME_ADMIN_GET_FEATURES, true, 0, tgt_get_features_parse },
	{ NVME_ADMIN_ASYNC_EVENT_REQUEST, true, 0, tgt_event_parse },
	{ NVME_ADMIN_KEEP_ALIVE, true, 0, keep_alive_parse },
};

static const struct admin_cmd *find(uint8_t opc, bool discovery)
{
	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++)
		if (cmds[i].opc == opc)
			return cmds[i].discovery || !discovery ? &cmds[i] : NULL;
	return NULL;
}

uint32_t tgt_admin_effects(uint8_t opc, bool discovery)
{
	const struct admin_cmd *cmd = find(opc, discovery);

	return cmd ? cmd->effects | NVME_EFFECT_SUPPORTED : 0;
}

struct nvme_status tgt_admin_parse(struct tgt_req *req)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	const struct admin_cmd *cmd = find(req->cmd.opc, c->subsys->discovery);

	tgt_count(&req->assoc->reactor->stats.admin_commands, 1);
	if (!cmd)
		return nvme_status_dnr(NVME_SC_INVALID_OPCODE);
	/* Before CC.EN and CSTS.RDY only Fabrics commands are served (Base 2.0, 3.5.1). */
	if (!(tgt_ctrl_csts(c) & NVME_CSTS_RDY) || !(c->cc & NVME_CC_EN))
		return nvme_status_dnr(NVME_SC_SEQUENCE_ERROR);
	return cmd->parse(req);
}

static struct nvme_status needs(struct tgt_req *req, enum nvme_direction dir, uint64_t bytes)
{
	uint32_t len = nvme_cmd_sgl_len(&req->cmd);

	if (bytes > req->assoc->target->limits.mdts || len > req->assoc->target->limits.mdts)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	if (len < bytes)
		return nvme_status_dnr(NVME_SC_SGL_INVALID_LENGTH);
	req->dir = (uint8_t)dir;
	req->data_len = len;
	return nvme_status_success();
}

struct nvme_status tgt_needs_output(struct tgt_req *req, uint64_t bytes)
{
	return needs(req, NVME_DIR_TO_HOST, bytes);
}

struct nvme_status tgt_needs_input(struct tgt_req *req, uint64_t bytes)
{
	return needs(req, NVME_DIR_TO_CONTROLLER, bytes);
}

/* Base 2.0, 5.18. Receiving it was traffic already, which is all that counts: see keep-alive.c. */
static void keep_alive_exec(struct tgt_req *req)
{
	tgt_req_succeed(req, 0);
}

static struct nvme_status keep_alive_parse(struct tgt_req *req)
{
	req->exec = keep_alive_exec;
	return nvme_status_success();
}
