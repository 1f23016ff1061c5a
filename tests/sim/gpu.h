/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver in the simulated world: it stands in for memory/cuda-api.c by the linker, so that all above
 * it runs unchanged, in virtual time and from a seed. Its addresses are in a PROT_NONE range. What a stream
 * is given is over after a time of its own, in the stream's order; two streams are in no order but that of
 * events. A copy reads half of its bytes when it begins and half when it ends, so that one whose buffer is
 * used again too early is wrong. Any call may fail, and a copy may lose the device, as a GPU is after an
 * illegal access.
 *
 * The effects of work happen at the next look, in the order of their times: nothing else in this world sees
 * the bytes. One at a time, one thread; it is no GPU and its name says so.
 */
#ifndef TESTS_SIM_GPU_H
#define TESTS_SIM_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/sim.h"

/* Lies of the driver's, each of which stands for a bug of ours that a test has to find. */
enum gpu_plant {
	GPU_HONEST,
	GPU_PLANT_EARLY,  /* an event counts as over at once: done before the copy is */
	GPU_PLANT_NO_WAIT, /* a stream that shall wait for an event does not */
};

struct gpu_config {
	uint64_t seed;
	uint64_t delay_max_ns; /* of one thing that a stream does */
	uint32_t fail_ppm;     /* a call fails; 0: none does */
	uint32_t lose_ppm;     /* a copy loses the device */
	enum gpu_plant plant;
};

struct gpu_stats {
	uint64_t copies, bytes;
	uint64_t failures; /* calls that did */
	bool lost;
};

void gpu_start(struct sim *sim, const struct gpu_config *config);
/* Frees all. What was left by whoever used it, in words; NULL: nothing. After a failure some may be. */
const char *gpu_end(void);
/* No call fails any more. A device that is lost stays so. */
void gpu_heal(void);
void gpu_stats(struct gpu_stats *ret);
/* What the device saw that must not be: memory that is gone was copied to, a call that was none. NULL: nothing. */
const char *gpu_wrong(void);

/* ---- the application's side ------------------------------------------------------------------ */

/* 0: no room. */
uint64_t gpu_alloc(size_t n);
void gpu_free(uint64_t addr);
/* The bytes as they are now. False: not all of it is memory. */
bool gpu_peek(uint64_t addr, void *buf, size_t n);
void gpu_poke(uint64_t addr, const void *buf, size_t n);

uint64_t gpu_stream_new(void);
void gpu_stream_free(uint64_t stream);
/* A kernel: @fn is called when the stream comes to it, whatever happened to the device. It may peek and poke. */
void gpu_launch(uint64_t stream, void (*fn)(void *arg), void *arg);
/* The stream is past all that it was given. */
bool gpu_stream_idle(uint64_t stream);

#endif
