/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/place.h"

#include "base/util.h"

bool place_get(struct place *p, uint64_t n, uint64_t *ret_offset, uint64_t *ret_end)
{
	uint64_t need = ALIGN_UP(MAX(n, UINT64_C(1)), (uint64_t)PLACE_ALIGN);
	uint64_t at = p->head % p->size, skip = 0;

	if (need > p->size)
		return false;
	if (need > p->size - at)
		skip = p->size - at;
	/* Nothing is placed: begin at the start, so that the largest sample always fits. */
	if (p->head == p->tail && skip > 0) {
		p->head += skip;
		p->tail = p->head;
		at = 0;
		skip = 0;
	}
	if (p->head - p->tail + skip + need > p->size)
		return false;
	*ret_offset = skip > 0 ? 0 : at;
	p->head += skip + need;
	*ret_end = p->head;
	return true;
}

void place_free_to(struct place *p, uint64_t end)
{
	INVARIANT(end >= p->tail && end <= p->head);
	p->tail = end;
}
