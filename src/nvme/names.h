/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the numbers, as the standard writes them: for logs, tools and error messages.
 *
 * Every function returns a static string for every number, "unknown ..." or "vendor specific ..."
 * for those the standards here do not define, so a caller never has to check. None of them is meant
 * for the I/O path.
 */
#ifndef PENSTOCK_NVME_NAMES_H
#define PENSTOCK_NVME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/aen.h"

/*
 * The command of @opc on the admin queue or on an I/O queue; @fctype counts for Fabrics commands
 * only.
 */
const char *nvme_cmd_name(uint8_t opc, bool is_admin, uint8_t fctype);

const char *nvme_log_name(uint8_t lid);
const char *nvme_feature_name(uint8_t fid);
const char *nvme_cns_name(uint8_t cns);
const char *nvme_property_name(uint32_t ofst);

/* What an asynchronous event says; its type alone where the information is unknown. */
const char *nvme_event_name(struct nvme_event e);

const char *nvme_ana_state_name(uint8_t state);

/*
 * Fields of a discovery log entry, in the short forms that tools print: "tcp", "ipv4", "nvme
 * subsystem".
 */
const char *nvme_trtype_name(uint8_t trtype);
const char *nvme_adrfam_name(uint8_t adrfam);
const char *nvme_subtype_name(uint8_t subtype);
const char *nvme_treq_name(uint8_t treq);
const char *nvme_tcp_sectype_name(uint8_t sectype);

#endif
