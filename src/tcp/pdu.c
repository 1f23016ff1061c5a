/* SPDX-License-Identifier: Apache-2.0 */
/* Names and header lengths of PDUs, read from the one table that the receiver checks against. */
#include "tcp/pdu.h"

#include "base/util.h"
#include "tcp/check.h"

static const char *const fes_names[] = {
	[TCP_FES_NONE] = "none",
	[TCP_FES_HDR_FIELD] = "Invalid PDU Header Field",
	[TCP_FES_SEQUENCE] = "PDU Sequence Error",
	[TCP_FES_HDGST] = "Header Digest Error",
	[TCP_FES_RANGE] = "Data Transfer Out of Range",
	/* One value, two names (3.6.2.4, 3.6.2.5): from a host it is about R2Ts, else about data. */
	[TCP_FES_LIMIT] = "Data Transfer or R2T Limit Exceeded",
	[TCP_FES_UNSUPPORTED] = "Unsupported Parameter",
};

const char *tcp_pdu_name(uint8_t type)
{
	const char *name = type < TCP_PDU_TYPES ? tcp_pdu_rules[type].name : NULL;

	return name ? name : "unknown";
}

const char *tcp_fes_name(uint16_t fes)
{
	return fes < ARRAY_SIZE(fes_names) ? fes_names[fes] : "unknown";
}

uint8_t tcp_pdu_hlen(uint8_t type)
{
	return type < TCP_PDU_TYPES ? tcp_pdu_rules[type].hlen : 0;
}
