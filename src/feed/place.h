/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for batches in one piece of memory: samples are placed one behind another, round and round,
 * and given back in the same order. A sample lies in one piece; what does not fit before the end
 * begins anew at the start, and the rest of the end is charged to it.
 */
#ifndef FEED_PLACE_H
#define FEED_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct place {
	uint64_t size;
	uint64_t head; /* bytes placed, ever; position is head mod size */
	uint64_t tail; /* bytes given back, ever */
};

#define PLACE_ALIGN 4096 /* samples begin at pages: direct I/O and copy engines like that */

static inline void place_init(struct place *p, uint64_t size)
{
	*p = (struct place){ .size = size };
}

/* Places @n bytes. True: @ret_offset, and @ret_end is what place_free_to() takes to free it. */
bool place_get(struct place *p, uint64_t n, uint64_t *ret_offset, uint64_t *ret_end);
/* Frees everything placed up to and with that @end. */
void place_free_to(struct place *p, uint64_t end);

#endif
