/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the initiator against a controller that does anything, at any time. The controller is
 * the fake one of src/host; the input takes commands out of its hands and answers them, or not, with
 * PDUs that are right, wrong or no PDUs at all. Whatever it was: every I/O is done once, no read
 * succeeds with a byte missing, no memory is sent that was not asked for, and once the controller is
 * itself again so is the host.
 *
 * Input: byte 0 bits 0 and 1 digests, bit 2 SQ flow control, bit 3 two queues, bit 4 commands of the
 * admin queue are taken as well, bit 5 done functions start the next I/O; then steps of 4 bytes: what
 * to do, and three bytes for it.
 */
#include <stdlib.h>
#include <string.h>

#include "host/ctrl.h"
#include "host/test-world.h"
#include "tests/fuzz/fuzz.h"

enum {
	STEPS_MAX = 200,
	HELD_MAX = 128,
	STEP = 4,
	HOLE = 0xee, /* in the memory of a read where nothing arrived: world_submit() */
	DISK = 0x11,
};

/* A command that was taken, on a connection that may be gone. */
struct held {
	struct fake_conn *c;
	struct nvme_cmd cmd;
};

static struct held held[HELD_MAX];
static unsigned int held_count;
static bool take_admin;
static uint8_t flags;
static uint8_t junk[4096];

static bool take(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if ((c->qid == 0 && !take_admin) || held_count == HELD_MAX)
		return false;
	held[held_count++] = (struct held){ c, *cmd };
	return true;
}

static void knob(struct fake *f, struct host_config *c)
{
	c->hdgst = flags & 1;
	c->ddgst = flags & 2;
	c->sqflow = flags & 4;
	c->queues = flags & 8 ? 2 : 1;
	c->retry_first = true;
	c->loss_timeout_ns = 1000 * FAKE_S;
	c->retries = 3;
	f->hook = take;
}

static bool alive(const struct fake *f, const struct fake_conn *c)
{
	const struct fake_conn *pos;

	list_for_each_entry (pos, &f->conns, link) {
		if (pos == c)
			return !c->closing;
	}
	return false;
}

/* Takes one of the commands in hand off the list; false if there is none whose connection lives. */
static bool pick(struct fake *f, unsigned int which, struct held *ret)
{
	while (held_count > 0) {
		unsigned int i = which % held_count;

		*ret = held[i];
		held[i] = held[--held_count];
		if (alive(f, ret->c))
			return true;
	}
	return false;
}

static struct nvme_status any_status(const uint8_t *s)
{
	return nvme_status_decode((uint16_t)(s[2] << 8 | s[3]));
}

/* One answer to one command. @s: kind, which command, and two bytes more. */
static void answer(struct world *w, const uint8_t *s)
{
	uint32_t offset = s[2] * 256u, len = s[3] * 64u + 4;
	struct held h;
	uint16_t cid;

	if (!pick(&w->f, s[1], &h))
		return;
	cid = nvme_cmd_cid(&h.cmd);
	switch (s[0] % 8) {
	case 0:
		fake_rsp(h.c, cid, any_status(s), s[1]);
		break;
	case 1:
		fake_c2h(h.c, cid, offset, junk, MIN(len, 4096u), s[1] & 0x80, false);
		held[held_count++] = h;
		break;
	case 2:
		fake_c2h(h.c, cid, offset, junk, MIN(len, 4096u), true, s[1] & 0x80);
		break;
	case 3:
		fake_r2t(h.c, cid, FAKE_TTAG, offset, len);
		held[held_count++] = h;
		break;
	case 4:
		fake_c2h_corrupt(h.c, cid, 0, junk, MIN(nvme_cmd_sgl_len(&h.cmd) | 4, 4096u), true,
				 true);
		break;
	case 5:
		fake_rsp(h.c, (uint16_t)(cid + s[3]), nvme_status_success(), 0);
		break;
	default:
		fake_execute(h.c, &h.cmd);
	}
}

static void connection(struct world *w, const uint8_t *s)
{
	struct fake_conn *c = list_last_entry(&w->f.conns, struct fake_conn, link);
	uint8_t raw[24] = { s[1], s[2], 24, s[3], 24 };

	if (!c)
		return;
	switch (s[1] % 5) {
	case 0:
		fake_raw(c, raw, 24);
		break;
	case 1:
		fake_raw(c, s, STEP);
		break;
	case 2:
		fake_close(c, s[2] & 1);
		break;
	case 3:
		sim_node_reset(w->f.node);
		break;
	default:
		if (w->f.aer_conn)
			fake_event(&w->f, (uint32_t)s[2] << 8 | (s[3] & 7) | 0x40000);
	}
}

static void submit(struct world *w, const uint8_t *s)
{
	unsigned int i = s[1] % 16;

	if (!w->ios[i].pending)
		world_submit(w, i, (enum host_io_kind)(s[2] % 6), s[3], s[2] / 6 + 1u);
}

static void step(struct world *w, const uint8_t *s)
{
	if (s[0] < 64)
		submit(w, s);
	else if (s[0] < 192)
		answer(w, s);
	else if (s[0] < 208)
		connection(w, s);
	else if (s[0] < 224 && s[1] > 250)
		host_ctrl_reset(w->ctrl);
	sim_run_for(w->f.sim, s[0] >= 224 ? s[1] * FAKE_MS : 100 * UINT64_C(1000));
}

/* The controller is itself again: what waits must come to its end. */
static void heal(struct world *w)
{
	w->f.hook = NULL;
	w->resubmit = 0;
	fake_stop(&w->f);
	fake_start(&w->f);
	for (unsigned int i = 0; i < 16; i++) {
		const struct world_io *o = &w->ios[i];

		INVARIANT(!o->pending || world_done(w, i) != -EDEADLK);
		if (!o->dones || o->io.kind != HOST_IO_READ || o->io.error)
			continue;
		INVARIANT(memchr(o->buf, HOLE, o->io.bytes) == NULL);
	}
	world_submit(w, 20, HOST_IO_WRITE, 1000, 100);
	/* Told that it was another namespace in between, the host is right to keep off it for good. */
	if (world_done(w, 20) == -ESTALE) {
		INVARIANT(take_admin && host_ns_is_replaced(w->ctrl, 1));
		return;
	}
	INVARIANT(w->ios[20].io.error == 0);
	world_submit(w, 21, HOST_IO_READ, 1000, 100);
	INVARIANT(world_done(w, 21) == 0 && world_matches(w, 21));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	if (size < 1 || size > 1 + STEPS_MAX * STEP)
		return 0;
	held_count = 0;
	flags = data[0];
	take_admin = flags & 16;
	memset(junk, 0x22, sizeof(junk));
	world_open(&w, knob);
	memset(w.f.disk, DISK, (size_t)FAKE_BLOCKS * FAKE_BLOCK);
	w.resubmit = flags & 32 ? 50 : 0;
	for (size_t at = 1; at + STEP <= size; at += STEP)
		step(&w, data + at);
	heal(&w);
	world_close(&w);
	world_end(&w);
	return 0;
}
