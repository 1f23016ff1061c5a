/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who this host is to a target: its NQN and its host identifier (NVMe Base 2.0, 4.5, 5.27.1.25). A
 * target grants access, fences and keeps reservations by them, so they must be the same next time
 * and the two must belong together: where one is given, or found, the other follows from it.
 */
#ifndef PENSTOCK_HOST_IDENTITY_H
#define PENSTOCK_HOST_IDENTITY_H

#include <stdint.h>

#include "base/err.h"
#include "io/io.h"
#include "nvme/nqn.h"

struct host_identity {
	char nqn[NVME_NQN_SIZE];
	uint8_t id[16];
	const char *source; /* static: "given", "/etc/nvme/hostnqn", "/etc/machine-id", "generated", ... */
};

/*
 * In this order: @nqn and @id (a UUID), either NULL; /etc/nvme/hostnqn and /etc/nvme/hostid, as
 * nvme-cli keeps them; made from /etc/machine-id; random. An identifier that is not there is made
 * from the NQN, and the other way round. Blocking; reads no file when @nqn is given. @loop: for
 * randomness only. -EINVAL with a sentence naming what is no NQN or UUID, and where it was found.
 */
int host_identity_get(struct io_loop *loop, const char *nqn, const char *id,
		      struct host_identity *ret_identity, struct err *err);

/* The same with another directory in place of /etc: for tests. */
int host_identity_get_in(struct io_loop *loop, const char *etc, const char *nqn, const char *id,
			 struct host_identity *ret_identity, struct err *err);

#endif
