/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a controller says of itself. Everything here reads fields of the object, which are there in
 * every state, and nothing that lives only as long as a connection (I020).
 */
#include <string.h>

#include "base/util.h"
#include "host/ctrl.h"

static bool has(const struct host_ctrl *c, uint16_t oncs)
{
	return c->identified && (le16_to_cpu(c->id.oncs) & oncs);
}

void host_ctrl_info(const struct host_ctrl *c, struct host_ctrl_info *ret)
{
	uint64_t zeroes = c->max_zeroes ? c->max_zeroes : c->max_transfer;

	*ret = (struct host_ctrl_info){
		.state = host_state_name(c->state),
		.live = host_ctrl_live(c),
		.discovery = c->discovery,
		.subnqn = c->subnqn,
		.hostnqn = c->hostnqn,
		.addr = c->config.addr,
		.local = c->admin.local,
		.error = -c->err.code,
		.error_text = c->err.code ? err_text(&c->err) : "",
		.cntlid = c->cntlid,
		.version = c->version,
		.identified = c->identified,
		.id = &c->id,
		.queues = c->io_up,
		.depth = c->depth,
		.max_transfer = c->max_transfer,
		.max_in_capsule = c->max_in_capsule,
		.maxh2cdata = c->admin.maxh2cdata,
		.hdgst = c->admin.hdgst,
		.ddgst = c->admin.ddgst,
		.volatile_cache = c->identified && (c->id.vwc & NVME_VWC_PRESENT),
		.times = c->times,
		.can_deallocate = has(c, NVME_ONCS_DATASET_MGMT),
		.can_write_zeroes = has(c, NVME_ONCS_WRITE_ZEROES),
		.can_compare = has(c, NVME_ONCS_COMPARE),
		.max_write_zeroes = (uint32_t)MIN(zeroes / host_ns_largest_block(c),
						  (uint64_t)NVME_RW_MAX_BLOCKS),
		.kato_ms = c->ka_off ? 0
				     : (uint32_t)MIN(DIV_ROUND_UP(c->config.kato_ns,
								  UINT64_C(1000000)),
						     (uint64_t)UINT32_MAX),
	};
}

void host_ctrl_stats(const struct host_ctrl *c, struct host_ctrl_stats *ret)
{
	*ret = c->stats;
	ret->ddgst_errors = c->counts.ddgst_errors;
	ret->protocol_errors = c->counts.protocol_errors;
	ret->term_received = c->counts.term_received;
	ret->waiting = c->waiting_count;
	ret->inflight = 0;
	for (unsigned int i = 0; i < c->config.queues; i++)
		ret->inflight += host_queue_inflight(&c->io[i]);
}
