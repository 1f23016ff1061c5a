/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the double: a thread for each, which does what it is given in order and after a delay
 * of its own. Nothing orders two streams but events, and what one sees of the other's work is up to
 * chance, as with a GPU.
 */
#ifndef TESTS_DOUBLES_CUDA_STREAM_H
#define TESTS_DOUBLES_CUDA_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;
struct event;

/* Longest delay before each thing that is done. @lost: a copy that failed sets it, for good. */
void stream_init(uint64_t delay_us, _Atomic int *lost);

struct stream *stream_new(void);
void stream_free(struct stream *s); /* waits for its work */
/* @bytes: the shadow of the device's address. The move is made when its turn comes. */
void stream_copy(struct stream *s, void *to, const void *from, size_t n);
void stream_record(struct stream *s, struct event *e);
void stream_wait(struct stream *s, struct event *e); /* for what the event was last recorded behind */
void stream_call(struct stream *s, void (*fn)(void *arg), void *arg);
void stream_drain(struct stream *s);
/* Nothing is waiting to be done. */
bool stream_idle(struct stream *s);

struct event *event_new(void);
void event_free(struct event *e);
bool event_over(struct event *e);

/* Alive now. */
unsigned int stream_count(void);
unsigned int event_count(void);

#endif
