/* SPDX-License-Identifier: Apache-2.0 */
/* How memory.c gets its docks from landing.c. */
#ifndef VOLUME_MEMORY_H
#define VOLUME_MEMORY_H

#include "volume/landing.h"

/* Takes over @dev, also when it fails. @piece: 0 = default. Not from a worker's thread. */
int dock_new(struct pst_context *ctx, struct mem_device *dev, size_t staging, size_t piece, struct dock **ret,
	     struct err *err);
/* Nothing is in flight. Takes NULL, returns NULL. */
struct dock *dock_free(struct dock *d);

#endif
