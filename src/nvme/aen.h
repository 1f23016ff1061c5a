/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events: what dword 0 of an Asynchronous Event Request's completion says (NVMe Base
 * 2.0, 5.2.1).
 *
 * An event has a type, information within the type, and the log page that tells more; reading that
 * page (without RAE) lets the next event of the type come.
 */
#ifndef PENSTOCK_NVME_AEN_H
#define PENSTOCK_NVME_AEN_H

#include <stdint.h>

#include "nvme/bits.h"
#include "nvme/feature.h"

enum nvme_event_type {
	NVME_EVENT_ERROR = 0,
	NVME_EVENT_SMART = 1,
	NVME_EVENT_NOTICE = 2,
	NVME_EVENT_IMMEDIATE = 3, /* completes at once, needs no clearing */
	NVME_EVENT_IO_COMMAND_SET = 6,
	NVME_EVENT_VENDOR = 7,
};

/* Information, by type. */
enum nvme_event_error {
	NVME_ERROR_DOORBELL_REGISTER = 0x00,
	NVME_ERROR_DOORBELL_VALUE = 0x01,
	NVME_ERROR_DIAGNOSTIC = 0x02,
	NVME_ERROR_PERSISTENT_INTERNAL = 0x03,
	NVME_ERROR_TRANSIENT_INTERNAL = 0x04,
	NVME_ERROR_FIRMWARE_LOAD = 0x05,
};

enum nvme_event_smart {
	NVME_SMART_EVENT_RELIABILITY = 0x00,
	NVME_SMART_EVENT_TEMPERATURE = 0x01,
	NVME_SMART_EVENT_SPARE = 0x02,
};

enum nvme_event_notice {
	NVME_NOTICE_NS_ATTRIBUTE = 0x00,
	NVME_NOTICE_FIRMWARE_ACTIVATION = 0x01,
	NVME_NOTICE_TELEMETRY = 0x02,
	NVME_NOTICE_ANA = 0x03,
	NVME_NOTICE_LATENCY_EVENTS = 0x04,
	NVME_NOTICE_LBA_STATUS = 0x05,
	NVME_NOTICE_ENDURANCE_EVENTS = 0x06,
	NVME_NOTICE_DISCOVERY = 0xf0,
};

enum nvme_event_immediate {
	NVME_IMMEDIATE_SHUTDOWN = 0x00,
};

enum nvme_event_io_command_set {
	NVME_IO_EVENT_RESERVATION_LOG = 0x00,
	NVME_IO_EVENT_SANITIZE_DONE = 0x01,
	NVME_IO_EVENT_SANITIZE_DEALLOCATED = 0x02,
};

struct nvme_event {
	uint8_t type; /* enum nvme_event_type */
	uint8_t info;
	uint8_t lid; /* enum nvme_lid */
};

static inline struct nvme_event nvme_event_decode(uint32_t dw0)
{
	return (struct nvme_event){
		.type = (uint8_t)nvme_bits32(dw0, 2, 0),
		.info = (uint8_t)nvme_bits32(dw0, 15, 8),
		.lid = (uint8_t)nvme_bits32(dw0, 23, 16),
	};
}

static inline uint32_t nvme_event_encode(struct nvme_event e)
{
	return (uint32_t)e.lid << 16 | (uint32_t)e.info << 8 | (e.type & 7u);
}

/*
 * The bit of feature Asynchronous Event Configuration that a notice waits for; 0 for an event that
 * the host cannot turn off. SMART events depend on the critical warning itself: the caller masks
 * that with NVME_AEC_SMART.
 */
static inline uint32_t nvme_event_enable_bit(struct nvme_event e)
{
	if (e.type == NVME_EVENT_IMMEDIATE && e.info == NVME_IMMEDIATE_SHUTDOWN)
		return NVME_AEC_SHUTDOWN;
	if (e.type != NVME_EVENT_NOTICE)
		return 0;
	switch (e.info) {
	case NVME_NOTICE_NS_ATTRIBUTE:
		return NVME_AEC_NS_ATTRIBUTE;
	case NVME_NOTICE_FIRMWARE_ACTIVATION:
		return NVME_AEC_FIRMWARE;
	case NVME_NOTICE_TELEMETRY:
		return NVME_AEC_TELEMETRY;
	case NVME_NOTICE_ANA:
		return NVME_AEC_ANA;
	case NVME_NOTICE_LATENCY_EVENTS:
		return NVME_AEC_LATENCY_EVENTS;
	case NVME_NOTICE_LBA_STATUS:
		return NVME_AEC_LBA_STATUS;
	case NVME_NOTICE_ENDURANCE_EVENTS:
		return NVME_AEC_ENDURANCE_EVENTS;
	case NVME_NOTICE_DISCOVERY:
		return NVME_AEC_DISCOVERY;
	default:
		return 0;
	}
}

#endif
