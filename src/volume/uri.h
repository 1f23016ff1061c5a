/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A volume's name as text:
 *
 *	nvme+tcp://HOST[:PORT]/SUBNQN[/NSID][?queues=4&hdgst=1&...]	IPv6 hosts in brackets
 *	file:/path[?direct=0|1&gds=0|1]
 *
 * Parsing does no look-ups and touches nothing; errors name the part that is wrong and what was
 * expected in its place, and then nothing is written.
 */
#ifndef VOLUME_URI_H
#define VOLUME_URI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum uri_kind { URI_NVME_TCP, URI_FILE };

struct uri {
	enum uri_kind kind;
	char address[300]; /* "HOST:PORT" as io_addr_parse() takes it; default port left out */
	char subnqn[224];
	uint32_t nsid;
	char path[4096];

	/* Options; 0 = not given. */
	uint32_t queues;
	uint32_t depth;
	uint32_t sample_every; /* UINT32_MAX: off */
	bool hdgst;
	bool ddgst;
	bool has_direct;
	bool direct;
	bool has_gds;
	bool gds;
	uint64_t kato_ns;
	uint64_t io_timeout_ns;
	uint64_t connect_timeout_ns;
	uint64_t loss_timeout_ns;
};

#define URI_DEFAULT_PORT 4420
#define URI_QUEUES_MAX	 64
#define URI_DEPTH_MAX	 1024
#define URI_SAMPLE_MAX	 1000000

int uri_parse(const char *text, struct uri *ret_uri, struct err *err);

#endif
