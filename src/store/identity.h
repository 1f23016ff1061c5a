/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a namespace is called for good: a UUID that hosts use to tell that two paths lead to the
 * same blocks. uuid= in the specification always wins.
 *
 * File: from the inode and the time of its birth, and not from the name or the device number, both
 * of which change while the file stays. A file system that keeps no time of birth: device and
 * inode. A block device: from the path it was opened by, as device numbers are dealt out anew at
 * each start; name it by /dev/disk/by-id. Copies of a whole machine image share births and inodes,
 * so two targets made from one image need uuid=.
 *
 * Memory and null: from kind, size and block, and which of those open in this process it is, so
 * the same command line gives the same identities.
 */
#ifndef PENSTOCK_STORE_IDENTITY_H
#define PENSTOCK_STORE_IDENTITY_H

#include "base/list.h"
#include "io/io.h"
#include "store/spec.h"
#include "store/store.h"

/* Holds a number among the volatile stores of one process. */
struct volatile_identity {
	struct list link;
	bool taken;
	uint64_t hash; /* of kind, size and block */
	uint32_t index;
};

/* Sets info->uuid, from info's kind, size and block. Any thread. */
void volatile_identity_take(struct volatile_identity *v, struct store_info *info,
			    const struct store_spec *spec);
void volatile_identity_drop(struct volatile_identity *v);

void file_identity(struct store_info *info, const struct store_spec *spec,
		   const struct io_file_info *file);

#endif
