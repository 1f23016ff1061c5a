/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands, all of them: the entry (sqe.h), what admin, I/O and Fabrics commands keep in it. The
 * include for code that handles commands; code that only moves entries about needs no more than
 * sqe.h.
 */
#ifndef PENSTOCK_NVME_CMD_H
#define PENSTOCK_NVME_CMD_H

#include "nvme/cmd-admin.h"
#include "nvme/cmd-nvm.h"
#include "nvme/fabrics.h"
#include "nvme/sqe.h"

#endif
