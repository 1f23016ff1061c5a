/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways for threads to wait for one another. A gate: threads arrive and wait; whoever started
 * them waits until all have come and opens it, so that they begin at one moment. A meeting: a
 * barrier at which all that come tell something, and all leave with the same answer; so no thread
 * goes on alone when another has to stop, and none waits for one that has left.
 */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int arrived;
	bool open;
};

void gate_init(struct gate *g);
void gate_deinit(struct gate *g);
/* A thread of the starter's: waits until the gate is open. */
void gate_arrive(struct gate *g);
/* The starter: waits until @n have arrived. */
void gate_wait(struct gate *g, unsigned int n);
void gate_open(struct gate *g);

struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int members;
	unsigned int here;
	uint64_t round;
	/* of the round that gathers, and of the one before */
	bool stop, stopped;
	uint64_t most, most_before;
};

void meeting_init(struct meeting *m, unsigned int members);
void meeting_deinit(struct meeting *m);
/*
 * Waits for all members. Returns whether any of them said @stop; @ret_most is the largest @value
 * that was told. A member that got true comes to no further meeting.
 */
bool meeting_join(struct meeting *m, bool stop, uint64_t value, uint64_t *ret_most);

#endif
