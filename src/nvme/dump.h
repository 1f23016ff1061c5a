/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command or a completion as one line of text, for logs and for tools that decode what was
 * captured.
 *
 * The name first, then key=value, only fields that this command has, keys as the standard
 * abbreviates them. Numbers only, no text of a peer, so a line needs no escaping.
 */
#ifndef PENSTOCK_NVME_DUMP_H
#define PENSTOCK_NVME_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvme/cpl.h"
#include "nvme/sqe.h"

enum {
	NVME_DUMP_SIZE = 256, /* a buffer in which every line fits */
};

/*
 * "Read opc=0x02 cid=7 nsid=1 slba=2048 nlb=8 fua sgl=transport:4096". @is_admin says which queue
 * it was on. Always terminated, cut where @size ends; returns @buf. @size is at least 1.
 */
char *nvme_cmd_dump(const struct nvme_cmd *cmd, bool is_admin, char *buf, size_t size);

/*
 * "cid=7 sqhd=3 status=0x080 (LBA Out of Range) dnr dw0=0x0". @is_fabrics says how to read the
 * command specific codes. The same rules.
 */
char *nvme_cpl_dump(const struct nvme_cpl *cpl, bool is_fabrics, char *buf, size_t size);

#endif
