/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespace Identification Descriptor list (Identify, CNS 03h; NVMe Base 2.0, 5.17): building one,
 * walking one.
 *
 * Descriptors are packed and of any length, so a list from a peer is walked here and nowhere else;
 * a descriptor that claims more than is left, or a length its type does not have, ends the walk.
 */
#ifndef PENSTOCK_NVME_NSDESC_H
#define PENSTOCK_NVME_NSDESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvme/identify.h"

/*
 * Appends the identifier @id, whose length follows from @type, at byte @at of the page. Returns
 * where the next one goes. The caller zeroes the page first, which ends the list; one descriptor of
 * each type always fits.
 */
size_t nvme_ns_desc_append(uint8_t page[NVME_IDENTIFY_SIZE], size_t at, enum nvme_nidt type,
			   const void *id);

/*
 * The descriptor at *@at: true, with its type and a pointer into the page, and *@at moved past it.
 * Descriptors of types this room does not know are passed over. False at the end of the list;
 * @ret_bad then says whether it ended because it is malformed.
 */
bool nvme_ns_desc_next(const uint8_t page[NVME_IDENTIFY_SIZE], size_t *at, enum nvme_nidt *ret_type,
		       const uint8_t **ret_id, bool *ret_bad);

#endif
