/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world in one thread: machines with disks and a network between them, virtual time, and faults
 * drawn from a seed. It is the third implementation of the ops table behind io.h, so the target and
 * the host run in it unchanged; what a real machine does rarely and never twice happens here
 * thousands of times a second, and again whenever the seed is given again.
 *
 * The model is a heap of pending effects ordered by (time, sequence). An operation has its effect
 * when it completes, not when it is submitted: a read reads then, the bytes of a write land then.
 * So operations in flight overtake each other in every way the contract of io.h allows. The
 * trade-off is that computing takes no virtual time; sim_node_pause() and the turn delay stand in
 * for it.
 *
 * Swarm testing: sim_config_swarm() draws for a seed which kinds of fault exist at all in that
 * run, since faults that are always on hide each other. Every run should end with sim_heal(),
 * after which no new fault occurs and the work must finish.
 *
 * Memory: the simulator aborts when it gets none; injected failures (base/alloc.h) hit the code
 * under test only. Thread: a world, its loops and what is attached to them belong to one thread.
 */
#ifndef PENSTOCK_IO_SIM_H
#define PENSTOCK_IO_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/rng.h"
#include "base/util.h"
#include "io/io.h"

struct sim;      /* a world */
struct sim_node; /* a machine: an address, a disk, a clock, and whatever runs in its loops */

/*
 * Kinds of fault. Each has a chance (parts per million, per occasion) and a count of occurrences.
 */
enum sim_fault {
	/* occasion: a transfer of a stream, at either end */
	SIM_NET_SHORT,   /* moves only a part of what it could */
	SIM_NET_BYTE,    /* moves one byte */
	SIM_NET_STALL,   /* what was sent, and all behind it, comes much later */
	SIM_NET_RESET,   /* the connection is reset; one or both ends come to know */
	SIM_NET_HOLE,    /* from now on nothing arrives, in one direction or both; nobody is told */
	SIM_NET_CORRUPT, /* a bit flips under TCP's checksum; for runs with digests only */
	/* occasion: a connect or an accept */
	SIM_NET_REFUSE, /* -ECONNREFUSED though somebody listens */
	SIM_NET_SYN,    /* the first packet is lost: a retry later, or -ETIMEDOUT in the end */
	SIM_NET_EMFILE, /* accept: -EMFILE; the connection stays in the queue */
	SIM_NET_NOMEM,  /* connect, attach: -ENOMEM */
	/* occasion: a file operation */
	SIM_FILE_READ,  /* -EIO */
	SIM_FILE_WRITE, /* write, discard, zero: -EIO; a part may have landed */
	SIM_FILE_SYNC,  /* -EIO; nothing became durable; sim-disk.c has worse */
	SIM_FILE_SPACE, /* write: -ENOSPC; a part may have landed */
	SIM_FILE_SHORT, /* read or write moves a part and says so */
	SIM_FILE_SPLIT, /* read or write has its effect in two steps, with others in between */
	SIM_FILE_SLOW,  /* takes much longer */
	SIM_FILE_BAD,   /* read: the range becomes unreadable (-EIO) until it is written again */
	/* occasion: any event */
	SIM_NODE_PAUSE, /* a node runs nothing for a while */
	SIM_NODE_CLOCK, /* a node's wall clock jumps, forwards or backwards */
	SIM_LINK_DOWN,  /* two nodes are cut off for a while; what was sent comes later */
	/*
	 * occasion: an allocation in a loop's turn, on nodes where sim_node_fail_alloc() allows it
	 */
	SIM_ALLOC,
	SIM_FAULT_COUNT
};

/* "net-short" and so on; for traces and reports. */
const char *sim_fault_name(enum sim_fault f);

/* Everything in nanoseconds and bytes. Chances are parts per million. */
struct sim_config {
	/* weather: what is always so, and no fault */
	uint64_t net_min_ns, net_max_ns;   /* one way */
	uint64_t disk_min_ns, disk_max_ns; /* one operation */
	uint64_t turn_max_ns;              /* from a completion to the turn that sees it, at most */
	uint32_t turn_late_ppm;            /* how often that is not at once */
	uint32_t inline_ppm;               /* an operation that can finish when submitted does */
	bool scribble;                     /* into buffers of what is cancelled, until it is done */
	size_t stream_buffer;              /* what one direction of a stream holds */
	uint32_t sector;                   /* what a disk writes whole: 512 or 4096 */
	bool disk_cache;                   /* writes are lost at a power cut unless synced */
	bool disk_discard;                 /* discard works */
	bool disk_direct;                  /* direct I/O works, with @sector alignment */
	uint64_t connect_timeout_ns;       /* -ETIMEDOUT then */
	uint64_t dead_peer_ns; /* unacknowledged data that old resets (no user timeout) */

	/* faults */
	uint32_t ppm[SIM_FAULT_COUNT];
	uint64_t stall_max_ns;
	uint64_t slow_max_ns;
	uint64_t pause_max_ns;
	uint64_t clock_max_ns;
	uint64_t link_down_max_ns;
};

/* A world without faults and with fixed, ordinary weather. */
void sim_config_calm(struct sim_config *c);
/*
 * Weather and faults as @seed draws them: each kind exists in about a third of all runs, rarely or
 * often. Left out, as they need the test's consent: NET_CORRUPT and ALLOC.
 */
void sim_config_swarm(struct sim_config *c, uint64_t seed);
/* One line, "seed-independent" facts and the chances that are not zero. For diagnosis. */
void sim_config_print(const struct sim_config *c, FILE *to);

/* ---- the world --------------------------------------------------------------------------- */

struct sim *sim_new(uint64_t seed, const struct sim_config *config);
/* Its loops must have been freed. Takes NULL, returns NULL. */
struct sim *sim_free(struct sim *sim);

uint64_t sim_now(const struct sim *sim); /* virtual ns, the same for all nodes */
/* The world's source of randomness. What a test draws from it is as repeatable as the rest. */
struct rng *sim_rng(struct sim *sim);
/* Hash of everything that happened: time, kind, objects, sizes, contents. */
uint64_t sim_hash(const struct sim *sim);
uint64_t sim_events(const struct sim *sim);
uint64_t sim_fault_count(const struct sim *sim, enum sim_fault f);

/* From now on a line of text for every event. Changes nothing else. NULL: off. */
void sim_trace(struct sim *sim, FILE *to);
/* Adds to the hash, and a line of the test's own to the trace. */
void sim_note(struct sim *sim, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A sink of base/log.h for the trace; @ctx is the world. Not part of the hash. */
void sim_log_sink(void *ctx, enum log_level level, const char *line, size_t n);

/*
 * Lets time pass until @done(@arg), which is asked after every event; NULL: never true. 0, or
 * -ETIMEDOUT after @limit_ns, -EDEADLK when nothing is left that could ever happen, -ELOOP when
 * the program under test does without end at one and the same time.
 */
int sim_run_until(struct sim *sim, bool (*done)(void *arg), void *arg, uint64_t limit_ns);
/* Lets @ns pass. 0 or -ELOOP. */
int sim_run_for(struct sim *sim, uint64_t ns);
/*
 * No new faults: chances become 0, links come up, pauses end, bad sectors read again. What has
 * happened stays: a connection in a black hole is still there. Nodes that are down are the test's.
 */
void sim_heal(struct sim *sim);

/* ---- nodes ------------------------------------------------------------------------------- */

/* Up, with an empty disk. Freed with the world. @name is copied. At most 200. */
struct sim_node *sim_node_new(struct sim *sim, const char *name);
/*
 * A loop of a process on that node, which must be up; io_loop_free() ends it. Besides
 * sim_run_until(), io_loop_turn() and io_loop_run() on it work: they let the whole world run until
 * that loop has something to do (-EDEADLK if it never will).
 */
struct io_loop *sim_loop_new(struct sim_node *node);

/* The node's address in the world's network. 127.0.0.1 and ::1 work too, within the node. */
void sim_node_addr(const struct sim_node *node, uint16_t port, struct io_addr *ret_addr);
void sim_node_addr6(const struct sim_node *node, uint16_t port, struct io_addr *ret_addr);

enum sim_crash {
	SIM_CRASH_PROCESS, /* killed: the kernel lives: peers get resets, files keep all */
	SIM_CRASH_POWER,   /* un-synced sectors are kept or lost each; peers may hear nothing */
};

/*
 * Ends whatever runs on the node, now. Operations in flight finish with -ECANCELED and have no
 * further effect, nor has anything submitted later: its loops go on turning, cut off from the
 * world, so that what lived there can be torn down by ordinary means. Writes in flight may have
 * landed, in part (sectors are never torn).
 */
void sim_node_crash(struct sim_node *node, enum sim_crash how);
/* Up again, with the disk as the crash left it. Make new loops; those from before stay cut off. */
void sim_node_restart(struct sim_node *node);
bool sim_node_up(const struct sim_node *node);

/* No loop of the node turns for @ns; completions gather meanwhile. */
void sim_node_pause(struct sim_node *node, uint64_t ns);
/* Moves io_wall() by @ns, either way. Monotonic time knows nothing of it. */
void sim_node_clock(struct sim_node *node, int64_t ns);
/* Resets each connection of the node as SIM_NET_RESET would. */
void sim_node_reset(struct sim_node *node);
/* Puts each connection of the node into a black hole. */
void sim_node_hole(struct sim_node *node);
/* Nothing passes between the two for @ns; what was sent arrives afterwards. */
void sim_link_down(struct sim_node *a, struct sim_node *b, uint64_t ns);
/* Whether SIM_ALLOC applies to the turns of this node's loops. Off at first. */
void sim_node_fail_alloc(struct sim_node *node, bool on);
/* Connections the node has a live end of. For conservation checks. */
unsigned int sim_node_streams(const struct sim_node *node);

/* Nothing that the node has sent, before a crash or since, can still arrive anywhere. */
bool sim_node_quiet(const struct sim_node *node);

/* ---- disks ------------------------------------------------------------------------------- */

/*
 * What is in a file: as programs see it, or as a power cut right now would leave it at the least.
 */
enum sim_view { SIM_VIEW_CACHED, SIM_VIEW_DURABLE };
/* Bytes copied, less at the end of the file; -ENOENT. */
int64_t sim_disk_peek(struct sim_node *node, const char *path, enum sim_view view, uint64_t offset,
		      void *buf, size_t n);
/* The range cannot be read (-EIO) until it is written again. -ENOENT. */
int sim_disk_bad(struct sim_node *node, const char *path, uint64_t offset, uint64_t length);
/* While set, writes to space never written before fail with -ENOSPC. */
void sim_disk_full(struct sim_node *node, bool full);

#endif
