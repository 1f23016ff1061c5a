/* SPDX-License-Identifier: Apache-2.0 */
/* Namespace Identification Descriptor lists; see nsdesc.h. */
#include "nvme/nsdesc.h"

#include <string.h>

#include "base/util.h"

/* Length of an identifier of @type, 0 for types that are not known. */
static size_t nidl_of(uint8_t type)
{
	switch (type) {
	case NVME_NIDT_EUI64:
		return NVME_NIDL_EUI64;
	case NVME_NIDT_NGUID:
		return NVME_NIDL_NGUID;
	case NVME_NIDT_UUID:
		return NVME_NIDL_UUID;
	case NVME_NIDT_CSI:
		return NVME_NIDL_CSI;
	default:
		return 0;
	}
}

size_t nvme_ns_desc_append(uint8_t page[NVME_IDENTIFY_SIZE], size_t at, enum nvme_nidt type,
			   const void *id)
{
	size_t len = nidl_of((uint8_t)type);
	struct nvme_ns_desc head = { .nidt = (uint8_t)type, .nidl = (uint8_t)len };

	INVARIANT(len > 0 && at + sizeof(head) + len <= NVME_IDENTIFY_SIZE);
	memcpy(page + at, &head, sizeof(head));
	memcpy(page + at + sizeof(head), id, len);
	return at + sizeof(head) + len;
}

bool nvme_ns_desc_next(const uint8_t page[NVME_IDENTIFY_SIZE], size_t *at, enum nvme_nidt *ret_type,
		       const uint8_t **ret_id, bool *ret_bad)
{
	struct nvme_ns_desc head;

	*ret_bad = false;
	while (NVME_IDENTIFY_SIZE - *at >= sizeof(head)) {
		const uint8_t *id = page + *at + sizeof(head);

		memcpy(&head, page + *at, sizeof(head));
		if (head.nidt == 0)
			return false;
		if (head.nidl == 0 || head.nidl > NVME_IDENTIFY_SIZE - *at - sizeof(head)) {
			*ret_bad = true;
			return false;
		}
		if (nidl_of(head.nidt) == 0) {
			*at += sizeof(head) + head.nidl;
			continue;
		}
		if (nidl_of(head.nidt) != head.nidl) {
			*ret_bad = true;
			return false;
		}
		*at += sizeof(head) + head.nidl;
		*ret_type = (enum nvme_nidt)head.nidt;
		*ret_id = id;
		return true;
	}
	return false;
}
