/* SPDX-License-Identifier: Apache-2.0 */
#include "host/test-world.h"

#include <stdlib.h>

static void on_event(struct host_ctrl *c, enum host_event event, void *arg)
{
	struct world *w = arg;

	w->events[event]++;
	w->live |= event == HOST_EVENT_LIVE;
	w->lost |= event == HOST_EVENT_LOST;
	w->failed |= event == HOST_EVENT_FAILED;
}

void world_prepare(struct world *w, world_knob knob)
{
	memset(w, 0, sizeof(*w));
	fake_init(&w->f, 1);
	fake_config(&w->f, &w->config);
	w->config.event = on_event;
	w->config.arg = w;
	if (knob)
		knob(&w->f, &w->config);
}

void world_open(struct world *w, world_knob knob)
{
	world_prepare(w, knob);
	INVARIANT(host_ctrl_new(w->f.host_loop, &w->config, &w->ctrl, NULL) == 0);
}

static bool event_came(void *arg)
{
	struct world *w = arg;

	return w->events[w->want] > w->want_count;
}

bool world_until(struct world *w, enum host_event event)
{
	bool came;

	w->want = event;
	came = sim_run_until(w->f.sim, event_came, w, 60 * FAKE_S) == 0;
	w->want_count = 0;
	w->events[event] = 0;
	return came;
}

static void on_closed(void *arg)
{
	((struct world *)arg)->closed = true;
}

static bool is_closed(void *arg)
{
	return ((struct world *)arg)->closed;
}

void world_close(struct world *w)
{
	if (!w->ctrl)
		return;
	host_ctrl_close(w->ctrl, on_closed, w);
	INVARIANT(sim_run_until(w->f.sim, is_closed, w, 60 * FAKE_S) == 0);
	w->ctrl = NULL;
}

void world_end(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_IOS; i++) {
		INVARIANT(!w->ios[i].pending && w->ios[i].dones <= 1);
		free(w->ios[i].buf);
	}
	fake_deinit(&w->f);
}

static void on_done(struct host_io *io)
{
	struct world_io *i = container_of(io, struct world_io, io);

	i->pending = false;
	i->dones++;
	if (i->w->resubmit > 0 && io->error != -ECANCELED) {
		i->w->resubmit--;
		world_submit(i->w, (unsigned int)(i - i->w->ios), io->kind, io->slba, io->nlb);
	}
}

/* What the memory of a read holds at first, and no pattern does: bytes that did not arrive. */
#define HOLE 0xee

static uint8_t pattern(uint64_t at, unsigned int salt)
{
	uint8_t b = (uint8_t)(at * 31 + at / 512 * 7 + salt * 101);

	return b == HOLE ? 0 : b;
}

void world_submit(struct world *w, unsigned int i, enum host_io_kind kind, uint64_t slba,
		  uint32_t blocks)
{
	bool moves = kind == HOST_IO_READ || kind == HOST_IO_WRITE || kind == HOST_IO_COMPARE;
	struct world_io *o = &w->ios[i];
	uint32_t bytes = moves ? blocks * FAKE_BLOCK : 0;

	INVARIANT(!o->pending && bytes <= WORLD_IO_BYTES);
	/* Exactly as long as the I/O, so that a sanitizer sees one byte too many. */
	free(o->buf);
	o->buf = malloc(bytes);
	for (uint32_t at = 0; at < bytes; at++)
		o->buf[at] = kind == HOST_IO_READ ? HOLE : pattern(slba * FAKE_BLOCK + at, i);
	o->iov[0] = (struct iovec){ o->buf, bytes / 4 };
	o->iov[1] = (struct iovec){ o->buf + bytes / 4, bytes / 4 + 4 };
	o->iov[2] = (struct iovec){ o->buf + bytes / 2 + 4, bytes - bytes / 2 - 4 };
	o->w = w;
	o->pending = true;
	o->dones = 0;
	o->io.done = on_done;
	o->io.kind = kind;
	o->io.nsid = 1;
	o->io.slba = slba;
	o->io.nlb = blocks;
	o->io.bytes = bytes;
	o->io.iov = o->iov;
	o->io.niov = moves ? 3 : 0;
	host_submit(w->ctrl, &o->io);
	INVARIANT(o->pending); /* done never comes from inside */
}

static bool io_done(void *arg)
{
	struct world *w = arg;

	return !w->ios[w->waiting_io].pending;
}

int world_done(struct world *w, unsigned int i)
{
	w->waiting_io = i;
	if (sim_run_until(w->f.sim, io_done, w, 60 * FAKE_S) != 0)
		return -EDEADLK;
	return w->ios[i].io.error;
}

void world_pattern(struct world *w)
{
	for (uint64_t at = 0; at < (uint64_t)FAKE_BLOCKS * FAKE_BLOCK; at++)
		w->f.disk[at] = pattern(at, 0);
}

bool world_matches(const struct world *w, unsigned int i)
{
	const struct host_io *io = &w->ios[i].io;
	uint64_t from = io->slba * FAKE_BLOCK;

	if (io->kind == HOST_IO_READ)
		return !memcmp(w->ios[i].buf, w->f.disk + from, io->bytes);
	for (uint32_t at = 0; at < io->bytes; at++) {
		if (w->f.disk[from + at] != pattern(from + at, i))
			return false;
	}
	return true;
}
