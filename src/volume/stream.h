/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests in the order of a stream of the user's. What the stream had to do when the request was
 * made comes first: a mark in the stream says when that is over, and the request is parked until
 * then. It holds no command and no staging meanwhile, so a slow kernel holds up nobody else.
 */
#ifndef VOLUME_STREAM_H
#define VOLUME_STREAM_H

#include <stdbool.h>

struct landing;
struct request;
struct mem_job;

/* In the caller's thread, when the request is made. -EAGAIN, -EIO. */
int stream_mark(struct request *r);
/* Takes back the mark of a request that was never handed over. */
void stream_unmark(struct request *r);
/* Worker's thread: may it begin? If not it is parked, and port_submit()ted again when it may. */
bool stream_admit(struct request *r);
/* Looks whether parked requests may begin. */
void stream_look(struct landing *l);
/* A copy of a read is under way: true if the stream waits for it from now on, so that nobody else has to. */
bool stream_follows(const struct request *r, struct mem_job *job);

#endif
