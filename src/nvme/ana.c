/* SPDX-License-Identifier: Apache-2.0 */
/* Walking an ANA log; see ana.h. */
#include "nvme/ana.h"

#include <errno.h>
#include <string.h>

int nvme_ana_walk_init(struct nvme_ana_walk *walk, const void *log, size_t size)
{
	struct nvme_log_ana head;

	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, log, sizeof(head));
	*walk = (struct nvme_ana_walk){
		.log = log,
		.size = size,
		.at = sizeof(head),
		.left = le16_to_cpu(head.ngrps),
		.chgcnt = le64_to_cpu(head.chgcnt),
	};
	return 0;
}

int nvme_ana_walk_next(struct nvme_ana_walk *walk, struct nvme_ana_group *ret_group)
{
	struct nvme_ana_desc desc;
	uint32_t nnsids;
	size_t room;

	if (walk->left == 0)
		return 0;
	room = walk->size - walk->at;
	if (room < sizeof(desc))
		return -EPROTO;
	memcpy(&desc, walk->log + walk->at, sizeof(desc));
	room -= sizeof(desc);
	nnsids = le32_to_cpu(desc.nnsids);
	if (nnsids > room / sizeof(le32))
		return -EPROTO;

	*ret_group = (struct nvme_ana_group){
		.grpid = le32_to_cpu(desc.grpid),
		.chgcnt = le64_to_cpu(desc.chgcnt),
		.state = desc.state & 0xf,
		.nnsids = nnsids,
		.nsids = (const le32 *)(const void *)(walk->log + walk->at + sizeof(desc)),
	};
	walk->at += sizeof(desc) + (size_t)nnsids * sizeof(le32);
	walk->left--;
	return 1;
}
