/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery log of a discovery controller: which subsystems are where (NVMe Base 2.0, 3.1.2.3,
 * 5.16.1.23). It is read in pieces, and the generation counter before and after: when it moved, the
 * whole is read again (D001). Text is trimmed and safe to print (C014).
 */
#ifndef PENSTOCK_HOST_DISCOVERY_H
#define PENSTOCK_HOST_DISCOVERY_H

#include "host/host.h"
#include "nvme/log.h"

enum {
	HOST_DISCOVERY_MAX = 4096, /* entries; more is -E2BIG */
	HOST_DISCOVERY_TRIES = 10, /* a log that never stands still is -EAGAIN */
};

struct host_discovery_entry {
	uint8_t trtype;  /* enum nvme_trtype and so on: names in nvme/names.h */
	uint8_t adrfam;
	uint8_t subtype;
	uint8_t treq;
	uint8_t sectype; /* TSAS of NVMe/TCP */
	uint16_t portid;
	uint16_t cntlid;
	uint16_t asqsz;
	uint16_t eflags;
	char traddr[256 + 1];
	char trsvcid[32 + 1];
	char subnqn[NVME_NQN_SIZE]; /* empty: the entry's is not valid */
};

struct host_discovery_log {
	uint64_t generation;
	size_t count;
	struct host_discovery_entry *entries;
};

/* @log: NULL on error, else valid during the call. Called once, from a turn. */
typedef void (*host_discovery_fn)(void *arg, const struct host_discovery_log *log,
				  const struct err *err);

struct host_discovery;

/*
 * Connects to the discovery controller of @config (subnqn NULL: the well-known one; queues, nsid,
 * event, arg and kato_ns are not looked at), reads the log, disconnects, and then calls @fn.
 */
int host_discover(struct io_loop *loop, const struct host_config *config, host_discovery_fn fn,
		  void *arg, struct host_discovery **ret_discovery, struct err *err);
/* Gives up: @fn is called with -ECANCELED. Only before @fn was called. */
void host_discovery_cancel(struct host_discovery *d);

/*
 * Reads the log through a controller that is live, for one that stays connected. Same rules; the
 * controller must not be closed before @fn.
 */
int host_discovery_read(struct host_ctrl *c, host_discovery_fn fn, void *arg,
			struct host_discovery **ret_discovery, struct err *err);

#endif
