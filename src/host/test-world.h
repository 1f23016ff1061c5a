/* SPDX-License-Identifier: Apache-2.0 */
/* The fake controller, a host connected to it, and a few I/Os: what most tests of this room need. */
#ifndef PENSTOCK_HOST_TEST_WORLD_H
#define PENSTOCK_HOST_TEST_WORLD_H

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "host/test-fake.h"

enum { WORLD_IOS = 64, WORLD_IO_BYTES = 131072 };

struct world;

struct world_io {
	struct host_io io;
	struct world *w;
	struct iovec iov[3];
	uint8_t *buf;
	bool pending;
	unsigned int dones; /* since it was submitted: must be 1 in the end */
};

struct world {
	struct fake f;
	struct host_config config;
	struct host_ctrl *ctrl;
	bool live, lost, failed, closed; /* events since the last world_until() of that kind */
	unsigned int events[HOST_EVENT_DISCOVERY + 1];
	enum host_event want;
	unsigned int want_count;
	struct world_io ios[WORLD_IOS];
	unsigned int waiting_io;
	unsigned int resubmit; /* so many more I/Os are started from inside done functions */
};

typedef void (*world_knob)(struct fake *f, struct host_config *c);

/* The controller alone, and a configuration for it; @knob may change both. */
void world_prepare(struct world *w, world_knob knob);
/* And a host that begins to connect. */
void world_open(struct world *w, world_knob knob);
/* Lets time pass until an event of that kind comes; false after 60 s. */
bool world_until(struct world *w, enum host_event event);
/* Closes the host's controller and waits for that. */
void world_close(struct world *w);
/* Ends the world; checks that nothing is left. */
void world_end(struct world *w);

/* I/O number @i: @blocks from @slba on, in three vectors. A write writes a pattern of @i. */
void world_submit(struct world *w, unsigned int i, enum host_io_kind kind, uint64_t slba,
		  uint32_t blocks);
/* Waits for it; its error. -EDEADLK if it does not come within 60 s. */
int world_done(struct world *w, unsigned int i);
/* Fills the disk of the fake with a pattern, and whether I/O @i read it. */
void world_pattern(struct world *w);
bool world_matches(const struct world *w, unsigned int i);

#endif
