/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features; the idea is in feature.h. A new one is a line in the table, with a getter, a setter or
 * neither: a feature without a setter is not changeable.
 */
#include "target/feature.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/feature.h"
#include "nvme/log.h"
#include "nvme/vendor.h"
#include "target/admin.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/identify.h"
#include "target/keep-alive.h"
#include "target/resv-ns.h"
#include "target/timing.h"
#include "target/window.h"

enum {
	ON_IO = 1 << 0,
	ON_DISCOVERY = 1 << 1,
	BURST_NO_LIMIT = 7,
};

#define TEMPERATURE_NONE UINT32_C(0xffff) /* never over */

struct feature {
	uint8_t fid;
	uint8_t on;
	/* The value @dw11 of the command asks for; @initial: as it was in the beginning. */
	struct nvme_status (*get)(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret);
	/* Takes effect and may set req->result. */
	struct nvme_status (*set)(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11);
	/* In place of both: of a namespace. The setter answers the command. */
	struct nvme_status (*get_ns)(struct tgt_req *req, uint32_t *ret);
	void (*set_ns)(struct tgt_req *req, uint32_t dw11);
};

static struct nvme_status good(void)
{
	return nvme_status_success();
}

static struct nvme_status bad(enum nvme_sc code)
{
	return nvme_status_dnr(code);
}

/* ---- each feature ---------------------------------------------------------------------------- */

static struct nvme_status get_zero(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret)
{
	*ret = 0;
	return good();
}

static struct nvme_status get_arbitration(struct tgt_ctrl *c, uint32_t dw11, bool initial,
					  uint32_t *ret)
{
	*ret = initial ? BURST_NO_LIMIT : c->features.arbitration;
	return good();
}

/* CAP.AMS offers round robin only, so burst and weights are kept and mean nothing (3.4.4.1). */
static struct nvme_status set_arbitration(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	c->features.arbitration = dw11;
	return good();
}

static struct nvme_status get_power(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret)
{
	*ret = initial ? 0 : c->features.power;
	return good();
}

static struct nvme_status set_power(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	if (nvme_power_state(dw11) != 0)
		return bad(NVME_SC_INVALID_FIELD); /* NPSS is 0 */
	c->features.power = dw11;
	return good();
}

static struct nvme_status get_temperature(struct tgt_ctrl *c, uint32_t dw11, bool initial,
					  uint32_t *ret)
{
	uint8_t thsel = nvme_temperature_thsel(dw11);

	if (thsel > NVME_THSEL_UNDER || nvme_temperature_tmpsel(dw11) != NVME_TMPSEL_COMPOSITE)
		return bad(NVME_SC_INVALID_FIELD);
	*ret = !initial                   ? c->features.temperature[thsel]
	       : thsel == NVME_THSEL_OVER ? TEMPERATURE_NONE
					  : 0;
	return good();
}

static struct nvme_status set_temperature(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	uint8_t thsel = nvme_temperature_thsel(dw11);
	uint8_t tmpsel = nvme_temperature_tmpsel(dw11);

	if (thsel > NVME_THSEL_UNDER ||
	    (tmpsel != NVME_TMPSEL_COMPOSITE && tmpsel != NVME_TMPSEL_ALL))
		return bad(NVME_SC_INVALID_FIELD);
	c->features.temperature[thsel] = nvme_temperature_kelvin(dw11);
	return good();
}

static struct nvme_status get_recovery(struct tgt_ctrl *c, uint32_t dw11, bool initial,
				       uint32_t *ret)
{
	*ret = initial ? 0 : c->features.error_recovery;
	return good();
}

static struct nvme_status set_recovery(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	if (dw11 & NVME_ERROR_RECOVERY_DULBE)
		return bad(NVME_SC_INVALID_FIELD); /* NSFEAT says that we cannot */
	c->features.error_recovery = dw11;
	return good();
}

static struct nvme_status get_write_cache(struct tgt_ctrl *c, uint32_t dw11, bool initial,
					  uint32_t *ret)
{
	if (!(tgt_identify_vwc(c) & NVME_VWC_PRESENT))
		return bad(NVME_SC_INVALID_FIELD); /* 5.27.1.4 */
	*ret = initial || atomic_load_explicit(&c->write_back, memory_order_relaxed);
	return good();
}

/* Off: every write is made durable before it is answered. */
static struct nvme_status set_write_cache(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	if (!(tgt_identify_vwc(c) & NVME_VWC_PRESENT))
		return bad(NVME_SC_INVALID_FIELD);
	atomic_store_explicit(&c->write_back, dw11 & NVME_VWC_ENABLE, memory_order_relaxed);
	return good();
}

static uint32_t all_queues(const struct tgt_ctrl *c)
{
	uint32_t n = c->target->limits.io_queues;

	return nvme_queue_counts_encode((struct nvme_queue_counts){ .sq = n, .cq = n });
}

static struct nvme_status get_queues(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret)
{
	*ret = initial ? all_queues(c) : c->features.queues;
	return good();
}

static struct nvme_status set_queues(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	struct nvme_queue_counts n = nvme_queue_counts_decode(dw11);
	uint32_t limit = c->target->limits.io_queues;
	uint32_t connected;

	if (n.sq > UINT16_MAX || n.cq > UINT16_MAX)
		return bad(NVME_SC_INVALID_FIELD);
	target_lock(c->target);
	connected = c->io_queues;
	target_unlock(c->target);
	/* Only before there are I/O queues (5.27.1.5). */
	if (connected > 0)
		return bad(NVME_SC_SEQUENCE_ERROR);
	n.sq = MIN(n.sq, limit);
	n.cq = MIN(n.cq, limit);
	c->features.queues = nvme_queue_counts_encode(n);
	req->result = c->features.queues;
	return good();
}

static struct nvme_status get_atomicity(struct tgt_ctrl *c, uint32_t dw11, bool initial,
					uint32_t *ret)
{
	*ret = initial ? 0 : c->features.atomicity;
	return good();
}

/* AWUN is AWUPF here, so Disable Normal changes nothing (5.27.1.8). */
static struct nvme_status set_atomicity(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	c->features.atomicity = dw11 & 1;
	return good();
}

static struct nvme_status get_events(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret)
{
	*ret = initial ? 0 : c->features.aec;
	return good();
}

static struct nvme_status set_events(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	uint32_t offered = tgt_feature_oaes(c->subsys->discovery);

	if (!c->subsys->discovery)
		offered |= NVME_AEC_SMART; /* never raised: nothing here gets hot or wears out */
	if (dw11 & ~offered)
		return bad(NVME_SC_INVALID_FIELD);
	c->features.aec = dw11;
	tgt_events_deliver(req->assoc);
	return good();
}

static struct nvme_status get_keep_alive(struct tgt_ctrl *c, uint32_t dw11, bool initial,
					 uint32_t *ret)
{
	*ret = initial ? 0 : c->kato_ms;
	return good();
}

static struct nvme_status set_keep_alive(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	tgt_ctrl_set_kato(c, dw11);
	req->result = c->kato_ms;
	return good();
}

static struct nvme_status get_host_id(struct tgt_ctrl *c, uint32_t dw11, bool initial,
				      uint32_t *ret)
{
	/* Over fabrics only the 128-bit form (5.27.1.26). */
	if (!(dw11 & NVME_HOST_ID_EXTENDED))
		return bad(NVME_SC_INVALID_FIELD);
	*ret = 0;
	return good();
}

/* Connect has set it, for good (5.27.1.26). */
static struct nvme_status set_host_id(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	return bad(NVME_SC_SEQUENCE_ERROR);
}

/* One combination of command sets there is: that of index 0 (5.27.1.21). */
static struct nvme_status set_profile(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	return (dw11 & 0x1ff) == 0 ? good() : bad(NVME_SC_IOCS_COMBINATION);
}

static struct nvme_status get_times(struct tgt_ctrl *c, uint32_t dw11, bool initial, uint32_t *ret)
{
	bool on;

	if (!tgt_timing_get(c, nvme_times_qid(dw11), &on))
		return bad(NVME_SC_INVALID_FIELD);
	*ret = nvme_times_qid(dw11) | (on && !initial ? NVME_TIMES_ENABLE : 0);
	return good();
}

/* Before or after the queue is connected, and for as long as the controller lives. */
static struct nvme_status set_times(struct tgt_req *req, struct tgt_ctrl *c, uint32_t dw11)
{
	if (!tgt_timing_set(c, nvme_times_qid(dw11), dw11 & NVME_TIMES_ENABLE))
		return bad(NVME_SC_INVALID_FIELD);
	return good();
}

static void set_mask(struct tgt_req *req, uint32_t dw11)
{
	tgt_req_complete(req, tgt_resv_set_mask(req, dw11));
}

static const struct feature table[] = {
	{ NVME_FID_ARBITRATION, ON_IO, get_arbitration, set_arbitration },
	{ NVME_FID_POWER_MANAGEMENT, ON_IO, get_power, set_power },
	{ NVME_FID_TEMPERATURE_THRESHOLD, ON_IO, get_temperature, set_temperature },
	{ NVME_FID_ERROR_RECOVERY, ON_IO, get_recovery, set_recovery },
	{ NVME_FID_VOLATILE_WRITE_CACHE, ON_IO, get_write_cache, set_write_cache },
	{ NVME_FID_NUMBER_OF_QUEUES, ON_IO, get_queues, set_queues },
	/* There are no interrupts over fabrics, but some hosts try to tune them. */
	{ NVME_FID_INTERRUPT_COALESCING, ON_IO, get_zero, NULL },
	{ NVME_FID_INTERRUPT_VECTOR, ON_IO, get_zero, NULL },
	{ NVME_FID_WRITE_ATOMICITY, ON_IO, get_atomicity, set_atomicity },
	{ NVME_FID_ASYNC_EVENT_CONFIG, ON_IO | ON_DISCOVERY, get_events, set_events },
	{ NVME_FID_KEEP_ALIVE, ON_IO | ON_DISCOVERY, get_keep_alive, set_keep_alive },
	{ NVME_FID_IO_COMMAND_SET_PROFILE, ON_IO, get_zero, set_profile },
	{ NVME_FID_HOST_ID, ON_IO, get_host_id, set_host_id },
	{ NVME_FID_RESERVATION_MASK, ON_IO, .get_ns = tgt_resv_get_mask, .set_ns = set_mask },
	{ NVME_FID_RESERVATION_PERSISTENCE, ON_IO, .get_ns = tgt_resv_get_ptpl,
	  .set_ns = tgt_resv_set_ptpl },
	{ NVME_FID_VENDOR_TIMES, ON_IO, get_times, set_times },
};

/* ---- the commands ---------------------------------------------------------------------------- */

static const struct feature *find(uint8_t fid, bool discovery)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].fid == fid)
			return table[i].on & (discovery ? ON_DISCOVERY : ON_IO) ? &table[i] : NULL;
	return NULL;
}

static const struct feature *find_for(const struct tgt_req *req)
{
	return find(nvme_feature_fid(&req->cmd), req->assoc->ctrl->subsys->discovery);
}

uint32_t tgt_feature_effects(uint8_t fid, bool discovery)
{
	const struct feature *f = find(fid, discovery);

	if (!f)
		return 0;
	if (f->set_ns)
		return NVME_FEATURE_SUPPORTED | NVME_EFFECT_NS_CAPS | NVME_EFFECT_SCOPE_NS;
	return NVME_FEATURE_SUPPORTED | (f->set ? NVME_EFFECT_CTRL_CAPS : 0);
}

uint32_t tgt_feature_oaes(bool discovery)
{
	return discovery ? NVME_AEC_DISCOVERY : NVME_AEC_NS_ATTRIBUTE | NVME_AEC_ANA | NVME_AEC_SHUTDOWN;
}

void tgt_features_init(struct tgt_ctrl *c)
{
	c->features = (struct tgt_features){
		.arbitration = BURST_NO_LIMIT,
		.temperature = { [NVME_THSEL_OVER] = TEMPERATURE_NONE },
		.queues = all_queues(c),
	};
	atomic_init(&c->write_back, true);
}

static void get_exec(struct tgt_req *req)
{
	const struct feature *f = find_for(req);
	struct tgt_ctrl *c = req->assoc->ctrl;
	uint8_t sel = nvme_feature_sel(&req->cmd);
	struct nvme_status st;
	struct tgt_window w;
	uint32_t value = 0;

	if (sel == NVME_FEATURE_CAPABILITIES) {
		tgt_req_succeed(req, f->set_ns ? NVME_FEATURE_CAP_CHANGEABLE | NVME_FEATURE_CAP_PER_NS
				     : f->set  ? NVME_FEATURE_CAP_CHANGEABLE
					       : 0);
		return;
	}
	if (f->get_ns) {
		st = f->get_ns(req, &value);
		req->result = sel == NVME_FEATURE_CURRENT ? value : 0;
		tgt_req_complete(req, st);
		return;
	}
	/* What was never saved reads as the default (4.4). */
	st = f->get(c, nvme_feature_dw11(&req->cmd), sel != NVME_FEATURE_CURRENT, &value);
	if (nvme_status_ok(st) && f->fid == NVME_FID_HOST_ID) {
		tgt_window_init(&w, req, 0, req->data_len);
		tgt_window_put(&w, c->host.id, sizeof(c->host.id));
		tgt_window_end(&w);
	}
	req->result = value;
	tgt_req_complete(req, st);
}

struct nvme_status tgt_get_features_parse(struct tgt_req *req)
{
	const struct feature *f = find_for(req);
	uint8_t sel = nvme_feature_sel(&req->cmd);

	if (!f || sel > NVME_FEATURE_CAPABILITIES)
		return bad(NVME_SC_INVALID_FIELD);
	req->exec = get_exec;
	/* The only one with data; what its getter refuses moves none. */
	if (f->fid == NVME_FID_HOST_ID && sel != NVME_FEATURE_CAPABILITIES)
		return tgt_needs_output(req, NVME_HOSTID_SIZE);
	return good();
}

static void set_exec(struct tgt_req *req)
{
	const struct feature *f = find_for(req);

	if (f->set_ns)
		f->set_ns(req, nvme_feature_dw11(&req->cmd));
	else
		tgt_req_complete(req, f->set(req, req->assoc->ctrl, nvme_feature_dw11(&req->cmd)));
}

struct nvme_status tgt_set_features_parse(struct tgt_req *req)
{
	const struct feature *f = find_for(req);
	uint32_t nsid = nvme_cmd_nsid(&req->cmd);

	if (!f)
		return bad(NVME_SC_INVALID_FIELD);
	if (nvme_feature_save(&req->cmd))
		return bad(NVME_SC_FEATURE_NOT_SAVEABLE);
	if (!f->set && !f->set_ns)
		return bad(NVME_SC_FEATURE_NOT_CHANGEABLE);
	if (!f->set_ns && nsid != NVME_NSID_NONE && nsid != NVME_NSID_ALL)
		return bad(NVME_SC_FEATURE_NOT_PER_NS);
	req->exec = set_exec;
	return good();
}
