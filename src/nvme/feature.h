/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features: identifiers, and what dword 11 of Set Features and dword 0 of Get Features' completion
 * hold for each (NVMe Base 2.0, 5.27.1, and for 03h, 05h, 0Ah, 15h the NVM Command Set 1.0; they
 * have the same layout for all features here but Number of Queues, whose completion says what was
 * granted).
 */
#ifndef PENSTOCK_NVME_FEATURE_H
#define PENSTOCK_NVME_FEATURE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/bits.h"

enum nvme_fid {
	NVME_FID_ARBITRATION = 0x01,
	NVME_FID_POWER_MANAGEMENT = 0x02,
	NVME_FID_LBA_RANGE_TYPE = 0x03,
	NVME_FID_TEMPERATURE_THRESHOLD = 0x04,
	NVME_FID_ERROR_RECOVERY = 0x05,
	NVME_FID_VOLATILE_WRITE_CACHE = 0x06,
	NVME_FID_NUMBER_OF_QUEUES = 0x07,
	NVME_FID_INTERRUPT_COALESCING = 0x08,
	NVME_FID_INTERRUPT_VECTOR = 0x09,
	NVME_FID_WRITE_ATOMICITY = 0x0a,
	NVME_FID_ASYNC_EVENT_CONFIG = 0x0b,
	NVME_FID_AUTONOMOUS_POWER = 0x0c,
	NVME_FID_HOST_MEMORY_BUFFER = 0x0d,
	NVME_FID_TIMESTAMP = 0x0e,
	NVME_FID_KEEP_ALIVE = 0x0f,
	NVME_FID_HOST_THERMAL = 0x10,
	NVME_FID_NON_OPERATIONAL_POWER = 0x11,
	NVME_FID_READ_RECOVERY_LEVEL = 0x12,
	NVME_FID_PREDICTABLE_LATENCY_CONFIG = 0x13,
	NVME_FID_PREDICTABLE_LATENCY_WINDOW = 0x14,
	NVME_FID_LBA_STATUS_INTERVAL = 0x15,
	NVME_FID_HOST_BEHAVIOR = 0x16,
	NVME_FID_SANITIZE_CONFIG = 0x17,
	NVME_FID_ENDURANCE_GROUP_EVENTS = 0x18,
	NVME_FID_IO_COMMAND_SET_PROFILE = 0x19,
	NVME_FID_SPINUP_CONTROL = 0x1a,
	NVME_FID_ENHANCED_CONTROLLER_METADATA = 0x7d,
	NVME_FID_CONTROLLER_METADATA = 0x7e,
	NVME_FID_NAMESPACE_METADATA = 0x7f,
	NVME_FID_SOFTWARE_PROGRESS = 0x80,
	NVME_FID_HOST_ID = 0x81,
	NVME_FID_RESERVATION_MASK = 0x82,
	NVME_FID_RESERVATION_PERSISTENCE = 0x83,
	NVME_FID_NS_WRITE_PROTECTION = 0x84,
};

/* Dword 0 of Get Features with SEL = NVME_FEATURE_CAPABILITIES. */
enum {
	NVME_FEATURE_CAP_SAVEABLE = 1 << 0,
	NVME_FEATURE_CAP_PER_NS = 1 << 1,
	NVME_FEATURE_CAP_CHANGEABLE = 1 << 2,
};

/* --- 01h Arbitration: burst as a power of two (7 no limit), weights counted from zero --- */

struct nvme_arbitration {
	uint8_t burst;
	uint8_t low, medium, high;
};

static inline struct nvme_arbitration nvme_arbitration_decode(uint32_t dw)
{
	return (struct nvme_arbitration){
		.burst = (uint8_t)nvme_bits32(dw, 2, 0),
		.low = (uint8_t)nvme_bits32(dw, 15, 8),
		.medium = (uint8_t)nvme_bits32(dw, 23, 16),
		.high = (uint8_t)nvme_bits32(dw, 31, 24),
	};
}

static inline uint32_t nvme_arbitration_encode(struct nvme_arbitration a)
{
	return (uint32_t)a.high << 24 | (uint32_t)a.medium << 16 | (uint32_t)a.low << 8 |
	       (a.burst & 7u);
}

/* --- 02h Power Management --- */

static inline uint8_t nvme_power_state(uint32_t dw)
{
	return (uint8_t)nvme_bits32(dw, 4, 0);
}

static inline uint8_t nvme_power_workload_hint(uint32_t dw)
{
	return (uint8_t)nvme_bits32(dw, 7, 5);
}

/* --- 04h Temperature Threshold --- */

enum {
	NVME_THSEL_OVER = 0,
	NVME_THSEL_UNDER = 1,
	NVME_TMPSEL_COMPOSITE = 0, /* 1 to 8: that sensor */
	NVME_TMPSEL_ALL = 0xf,
};

static inline uint16_t nvme_temperature_kelvin(uint32_t dw)
{
	return (uint16_t)nvme_bits32(dw, 15, 0);
}

static inline uint8_t nvme_temperature_tmpsel(uint32_t dw)
{
	return (uint8_t)nvme_bits32(dw, 19, 16);
}

static inline uint8_t nvme_temperature_thsel(uint32_t dw)
{
	return (uint8_t)nvme_bits32(dw, 21, 20);
}

/* --- 05h Error Recovery --- */

enum {
	NVME_ERROR_RECOVERY_DULBE = 1 << 16, /* reading deallocated blocks is an error */
};

/* TLER: units of 100 ms a command may spend on recovery, 0 no limit. */
static inline uint16_t nvme_error_recovery_tler(uint32_t dw)
{
	return (uint16_t)nvme_bits32(dw, 15, 0);
}

/* --- 06h Volatile Write Cache --- */

enum {
	NVME_VWC_ENABLE = 1 << 0, /* WCE */
};

/* --- 07h Number of Queues --- */

/*
 * Counted from one on this side: 1 to 65536, of which 65536 (FFFFh on the wire) is not allowed in a
 * request.
 */
struct nvme_queue_counts {
	uint32_t sq;
	uint32_t cq;
};

static inline struct nvme_queue_counts nvme_queue_counts_decode(uint32_t dw)
{
	return (struct nvme_queue_counts){
		.sq = nvme_bits32(dw, 15, 0) + 1,
		.cq = nvme_bits32(dw, 31, 16) + 1,
	};
}

static inline uint32_t nvme_queue_counts_encode(struct nvme_queue_counts n)
{
	return (n.cq - 1) << 16 | ((n.sq - 1) & 0xffff);
}

/*
 * --- 0Bh Asynchronous Event Configuration; from bit 8 on the bits of OAES in Identify Controller
 * too ---
 */

#define NVME_AEC_SMART            UINT32_C(0x000000ff) /* the bits of SMART's critical warning */
#define NVME_AEC_NS_ATTRIBUTE     (UINT32_C(1) << 8)
#define NVME_AEC_FIRMWARE         (UINT32_C(1) << 9)
#define NVME_AEC_TELEMETRY        (UINT32_C(1) << 10)
#define NVME_AEC_ANA              (UINT32_C(1) << 11)
#define NVME_AEC_LATENCY_EVENTS   (UINT32_C(1) << 12)
#define NVME_AEC_LBA_STATUS       (UINT32_C(1) << 13)
#define NVME_AEC_ENDURANCE_EVENTS (UINT32_C(1) << 14)
#define NVME_AEC_SHUTDOWN         (UINT32_C(1) << 15)
#define NVME_AEC_DISCOVERY        (UINT32_C(1) << 31)

/* --- 0Eh Timestamp: its data --- */

struct nvme_timestamp {
	uint8_t ms[6]; /* milliseconds since 1970, little-endian */
	uint8_t attr;  /* bit 0 stopped at times, bits 3:1 origin */
	uint8_t rsvd7;
};

enum {
	NVME_TIMESTAMP_ORIGIN_RESET = 0 << 1, /* counts from the last reset */
	NVME_TIMESTAMP_ORIGIN_HOST = 1 << 1,  /* counts from what a host set */
};

static_assert(sizeof(struct nvme_timestamp) == 8, "timestamp");

static inline uint64_t nvme_timestamp_ms(const struct nvme_timestamp *t)
{
	uint64_t ms = 0;

	for (int i = 5; i >= 0; i--)
		ms = ms << 8 | t->ms[i];
	return ms;
}

static inline void nvme_timestamp_set_ms(struct nvme_timestamp *t, uint64_t ms)
{
	for (int i = 0; i < 6; i++)
		t->ms[i] = (uint8_t)(ms >> (8 * i));
}

/* 0Fh Keep Alive Timer: the whole dword is KATO in milliseconds. */

/* --- 16h Host Behavior Support: its data --- */

struct nvme_host_behavior {
	uint8_t acre; /* 1: Command Interrupted and retry delays may be used */
	uint8_t etdas;
	uint8_t lbafee;
	uint8_t rsvd3[509];
};

static_assert(sizeof(struct nvme_host_behavior) == 512, "host behavior support");

/* --- 81h Host Identifier: its data is 8 bytes, or 16 with this bit --- */

enum {
	NVME_HOST_ID_EXTENDED = 1 << 0, /* EXHID; the only form over fabrics */
};

/* --- 82h Reservation Notification Mask (1 masks), 83h Reservation Persistence --- */

enum {
	NVME_RESV_MASK_REGISTRATION_PREEMPTED = 1 << 1,
	NVME_RESV_MASK_RELEASED = 1 << 2,
	NVME_RESV_MASK_PREEMPTED = 1 << 3,
	NVME_RESV_PTPL = 1 << 0,
};

/* --- 84h Namespace Write Protection Config --- */

enum nvme_write_protection {
	NVME_WRITE_PROTECT_NONE = 0,
	NVME_WRITE_PROTECT = 1,
	NVME_WRITE_PROTECT_UNTIL_POWER_CYCLE = 2,
	NVME_WRITE_PROTECT_PERMANENT = 3,
};

static inline uint8_t nvme_write_protection(uint32_t dw)
{
	return (uint8_t)nvme_bits32(dw, 2, 0);
}

#endif
