/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking a controller where commands were: of one of ours only, where it agrees, for the commands that
 * their owner wants timed; and any other controller sees nothing of it.
 */
#include <stdlib.h>
#include <string.h>

#include "host/test-world.h"
#include "nvme/vendor.h"
#include "tests/tap.h"

/* What the controller saw, and how it behaves. */
static struct {
	unsigned int features; /* Set Features C0h */
	uint32_t dw11;	       /* of the last one */
	unsigned int timed;    /* Reads and Writes with the bit */
	unsigned int odd;      /* ... with anything else in dword 13 */
	bool refuse;
	bool mute; /* agrees, and then answers as any other */
	struct nvme_times times;
} seen;

static bool watch_admin(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (cmd->opc != NVME_ADMIN_SET_FEATURES || nvme_feature_fid(cmd) < 0xc0)
		return false;
	seen.features++;
	seen.dw11 = nvme_feature_dw11(cmd);
	fake_rsp(c, nvme_cmd_cid(cmd),
		 seen.refuse ? nvme_status_dnr(NVME_SC_INVALID_FIELD) : nvme_status_success(), 0);
	return true;
}

static bool watch(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	uint16_t cid = nvme_cmd_cid(cmd);

	if (c->qid == 0)
		return watch_admin(c, cmd);
	if (cmd->opc != NVME_NVM_READ && cmd->opc != NVME_NVM_WRITE)
		return false;
	seen.timed += nvme_cmd_timed(cmd);
	seen.odd += (le32_to_cpu(cmd->cdw13) & ~NVME_RW_TIMED) != 0;
	if (cmd->opc != NVME_NVM_READ || !nvme_cmd_timed(cmd) || seen.mute)
		return false;
	fake_c2h(c, cid, 0, c->f->disk + nvme_cmd_slba(cmd) * FAKE_BLOCK, nvme_cmd_sgl_len(cmd), true, false);
	fake_rsp(c, cid, nvme_status_success(), nvme_times_encode(&seen.times));
	return true;
}

static void k_foreign(struct fake *f, struct host_config *c)
{
	f->hook = watch;
}

static void k_ours(struct fake *f, struct host_config *c)
{
	f->hook = watch;
	nvme_vendor_put(&f->id, NVME_VENDOR_CAP_TIMES);
}

static void k_ours_without(struct fake *f, struct host_config *c)
{
	k_ours(f, c);
	c->times = false;
}

static void k_later(struct fake *f, struct host_config *c)
{
	f->hook = watch;
	nvme_vendor_put(&f->id, ~(uint32_t)NVME_VENDOR_CAP_TIMES);
}

static const struct host_io *io(struct world *w, enum host_io_kind kind, bool timed)
{
	w->ios[0].io.timed = timed;
	world_submit(w, 0, kind, 8, 8);
	ok(world_done(w, 0) == 0 && world_matches(w, 0), "%s %s", timed ? "a timed" : "an ordinary",
	   kind == HOST_IO_READ ? "read" : "write");
	return &w->ios[0].io;
}

static void open_world(struct world *w, world_knob knob)
{
	bool refuse = seen.refuse, mute = seen.mute;

	memset(&seen, 0, sizeof(seen));
	seen.refuse = refuse;
	seen.mute = mute;
	seen.times = (struct nvme_times){ 1000, 2000, 3000 };
	world_open(w, knob);
	world_pattern(w);
	ok(world_until(w, HOST_EVENT_LIVE), "live");
}

static void nothing(const char *what, world_knob knob, unsigned int features)
{
	const struct host_io *o;
	struct world w;

	open_world(&w, knob);
	o = io(&w, HOST_IO_READ, true);
	ok(!o->has_times && o->sent_ns > 0 && o->sent_ns <= o->last_ns, "%s: sent and arrived is what is known", what);
	io(&w, HOST_IO_WRITE, true);
	is_u64(seen.features, features, "%s: feature C0h", what);
	is_u64(seen.timed + seen.odd, 0, "%s: no command has anything unusual", what);
	world_close(&w);
	world_end(&w);
}

static void ours(void)
{
	const struct host_io *o;
	struct host_ctrl_info i;
	struct world w;

	open_world(&w, k_ours);
	ok(seen.features == 1 && seen.dw11 == 0x1ffff, "ours: asked for once, for all I/O queues");
	host_ctrl_info(w.ctrl, &i);
	ok(i.times, "and known to be there");
	o = io(&w, HOST_IO_READ, false);
	ok(!o->has_times && seen.timed == 0, "who does not want times does not ask");
	o = io(&w, HOST_IO_READ, true);
	ok(seen.timed == 1 && o->has_times, "who does, does");
	ok(o->times.queue == 1000 && o->times.qos == 2000 && o->times.media == 3000, "and is told");
	io(&w, HOST_IO_WRITE, true);
	is_u64(seen.timed, 2, "writes likewise");
	ok(!w.ios[0].io.has_times, "an answer without times has none");
	o = io(&w, HOST_IO_READ, false);
	ok(!o->has_times, "what one command was told is not left for the next");
	world_submit(&w, 0, HOST_IO_FLUSH, 0, 0);
	world_done(&w, 0);
	is_u64(seen.odd, 0, "nothing else in dword 13");
	world_close(&w);
	world_end(&w);
}

int main(void)
{
	nothing("a foreign controller", k_foreign, 0);
	nothing("one of ours that has other things", k_later, 0);
	nothing("ours, and not wanted", k_ours_without, 0);
	seen.refuse = true;
	nothing("ours, refusing", k_ours, 1);
	seen.refuse = false;
	ours();
	return tap_done();
}
