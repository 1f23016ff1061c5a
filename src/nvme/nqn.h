/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVMe Qualified Names (NVMe Base 2.0, 4.5).
 *
 * An NQN is at most 223 bytes of UTF-8, compared byte by byte, and lies NUL terminated in 256-byte
 * fields. Two checks, because two kinds of NQN exist: what a peer sends must be a bounded,
 * printable string and is then compared with what is configured; what our own user configures must
 * have one of the two forms of the standard. Linux targets accept any string as a subsystem's name,
 * and a host that insisted on the form could not attach to them.
 */
#ifndef PENSTOCK_NVME_NQN_H
#define PENSTOCK_NVME_NQN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"

enum {
	NVME_NQN_MAX = 223,               /* bytes, without the NUL */
	NVME_NQN_SIZE = NVME_NQN_MAX + 1, /* a buffer for one */
};

/* The well-known discovery service, Base 2.0, 3.1.2.3. */
#define NVME_DISCOVERY_NQN "nqn.2014-08.org.nvmexpress.discovery"

/* The form for hosts, and others, that have a UUID and no domain. */
#define NVME_NQN_UUID_PREFIX "nqn.2014-08.org.nvmexpress:uuid:"

/*
 * Reads the NQN in a 256-byte field that a peer sent. -EINVAL when it is not terminated, empty,
 * longer than 223 bytes, or not UTF-8 free of control characters; nothing beyond the field is read
 * in any case. What is returned is terminated and safe to print. Bytes after the terminator are
 * ignored.
 */
int nvme_nqn_from_field(const uint8_t field[256], char ret[NVME_NQN_SIZE]);

/*
 * Writes @nqn into a field, the rest zero. -EINVAL when it could not be read back by the function
 * above.
 */
int nvme_nqn_to_field(const char *nqn, uint8_t field[256]);

/*
 * What keeps @nqn from being one of the two forms of 4.5, "nqn.yyyy-mm.reverse.domain[:anything]"
 * or the prefix above followed by a UUID; NULL when it is one. The answer completes the sentence
 * "NQN: ...". Reads 224 bytes at most.
 */
const char *nvme_nqn_fault(const char *nqn);

/* Whether @nqn has one of the two forms. */
static inline bool nvme_nqn_valid(const char *nqn)
{
	return !nvme_nqn_fault(nqn);
}

/* Whether @nqn is the well-known discovery NQN. */
bool nvme_nqn_is_discovery(const char *nqn);

/* The NQN made of @uuid, as a host without a configured one uses. */
void nvme_nqn_from_uuid(const struct uuid *uuid, char ret[NVME_NQN_SIZE]);

#endif
