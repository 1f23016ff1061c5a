/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking an ANA log (Get Log Page 0Ch; NVMe Base 2.0, 5.16.1.13): group descriptors of varying
 * length, from a peer.
 *
 * The counts in the log are checked against the bytes that are there before anything is read
 * through them.
 */
#ifndef PENSTOCK_NVME_ANA_H
#define PENSTOCK_NVME_ANA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvme/log.h"

struct nvme_ana_group {
	uint32_t grpid; /* 1 and up */
	uint64_t chgcnt;
	uint8_t state; /* enum nvme_ana_state, or a reserved value: treat that as inaccessible */
	uint32_t nnsids;
	const le32 *nsids; /* into the log */
};

/* A walk in progress. The log stays the caller's and must outlive it. */
struct nvme_ana_walk {
	const uint8_t *log;
	size_t size;
	size_t at;
	uint32_t left; /* descriptors still to come */
	uint64_t chgcnt;
};

/* Starts a walk over @size bytes of log. -EPROTO when not even the header is there. */
int nvme_ana_walk_init(struct nvme_ana_walk *walk, const void *log, size_t size);

/* 1 and the next group; 0 after the last; -EPROTO when the log is shorter than its counts say. */
int nvme_ana_walk_next(struct nvme_ana_walk *walk, struct nvme_ana_group *ret_group);

#endif
