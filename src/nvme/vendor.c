/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme/vendor.h"

enum { VALUE_BITS = 16, FIGURE_BITS = 21, SHIFT_MAX = 31 };

#define VALID (UINT64_C(1) << 63)

/* Rounded down, so that the parts of a whole never exceed it. */
static uint64_t encode(uint64_t ns)
{
	unsigned int bits = ns ? 64 - (unsigned int)__builtin_clzll(ns) : 0;
	unsigned int shift = bits > VALUE_BITS ? bits - VALUE_BITS : 0;

	if (shift > SHIFT_MAX)
		return (UINT64_C(1) << FIGURE_BITS) - 1;
	return (uint64_t)shift << VALUE_BITS | ns >> shift;
}

static uint64_t decode(uint64_t figure)
{
	return nvme_bits64(figure, VALUE_BITS - 1, 0) << nvme_bits64(figure, FIGURE_BITS - 1, VALUE_BITS);
}

uint64_t nvme_times_encode(const struct nvme_times *t)
{
	return VALID | encode(t->queue) << (2 * FIGURE_BITS) | encode(t->qos) << FIGURE_BITS | encode(t->media);
}

bool nvme_times_decode(uint64_t dw, struct nvme_times *ret_times)
{
	if (!(dw & VALID))
		return false;
	*ret_times = (struct nvme_times){
		.queue = decode(nvme_bits64(dw, 3 * FIGURE_BITS - 1, 2 * FIGURE_BITS)),
		.qos = decode(nvme_bits64(dw, 2 * FIGURE_BITS - 1, FIGURE_BITS)),
		.media = decode(nvme_bits64(dw, FIGURE_BITS - 1, 0)),
	};
	return true;
}
