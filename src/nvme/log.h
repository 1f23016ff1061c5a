/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log pages: what Get Log Page returns (NVMe Base 2.0, 5.16.1).
 *
 * Layouts of the logs that a fabrics target keeps or a host reads, with the bits of their fields. A
 * log is a byte array that a host reads in pieces of any size; code that builds one must not take a
 * piece for the whole.
 */
#ifndef PENSTOCK_NVME_LOG_H
#define PENSTOCK_NVME_LOG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/bits.h"

/* Log identifiers; 0Eh is the NVM command set's, 70h the Fabrics'. */
enum nvme_lid {
	NVME_LID_SUPPORTED_LOGS = 0x00,
	NVME_LID_ERROR = 0x01,
	NVME_LID_SMART = 0x02,
	NVME_LID_FIRMWARE_SLOT = 0x03,
	NVME_LID_CHANGED_NS = 0x04,
	NVME_LID_EFFECTS = 0x05,
	NVME_LID_SELF_TEST = 0x06,
	NVME_LID_TELEMETRY_HOST = 0x07,
	NVME_LID_TELEMETRY_CONTROLLER = 0x08,
	NVME_LID_ENDURANCE_GROUP = 0x09,
	NVME_LID_PREDICTABLE_LATENCY_SET = 0x0a,
	NVME_LID_PREDICTABLE_LATENCY_EVENTS = 0x0b,
	NVME_LID_ANA = 0x0c,
	NVME_LID_PERSISTENT_EVENT = 0x0d,
	NVME_LID_LBA_STATUS = 0x0e,
	NVME_LID_ENDURANCE_GROUP_EVENTS = 0x0f,
	NVME_LID_MEDIA_UNIT_STATUS = 0x10,
	NVME_LID_CAPACITY_CONFIGS = 0x11,
	NVME_LID_FEATURE_EFFECTS = 0x12,
	NVME_LID_NVME_MI_EFFECTS = 0x13,
	NVME_LID_LOCKDOWN = 0x14,
	NVME_LID_BOOT_PARTITION = 0x15,
	NVME_LID_ROTATIONAL_MEDIA = 0x16,
	NVME_LID_DISCOVERY = 0x70,
	NVME_LID_RESERVATION = 0x80,
	NVME_LID_SANITIZE = 0x81,
};

/* --- 00h Supported Log Pages, 5.16.1.1 --- */

struct nvme_log_supported {
	le32 lids[256];
};

enum {
	NVME_LOG_SUPPORTED = 1 << 0,    /* LSUPP */
	NVME_LOG_INDEX_OFFSET = 1 << 1, /* IOS: Get Log Page takes an index as its offset */
};

static_assert(sizeof(struct nvme_log_supported) == 1024, "Supported Log Pages");

/* --- 01h Error Information, 5.16.1.2: newest first, as many as ELPE says --- */

struct nvme_log_error {
	le64 count;    /* of this error since the beginning; 0: the entry is not valid */
	le16 sqid;     /* FFFFh: no particular queue */
	le16 cid;      /* FFFFh: no particular command */
	le16 status;   /* as bytes 15:14 of a CQE */
	le16 location; /* of the wrong parameter: byte in 7:0, bit in 10:8; FFFFh: none */
	le64 lba;
	le32 nsid;
	uint8_t vsia;
	uint8_t trtype; /* enum nvme_trtype */
	uint8_t rsvd30[2];
	le64 command_specific;
	le16 trtype_specific;
	uint8_t rsvd42[22];
};

static_assert(sizeof(struct nvme_log_error) == 64, "error log entry");
NVME_AT(nvme_log_error, status, 12);
NVME_AT(nvme_log_error, lba, 16);
NVME_AT(nvme_log_error, nsid, 24);
NVME_AT(nvme_log_error, trtype, 29);
NVME_AT(nvme_log_error, command_specific, 32);
NVME_AT(nvme_log_error, trtype_specific, 40);

/* --- 02h SMART / Health Information, 5.16.1.3 --- */

enum {
	NVME_SMART_SPARE_LOW = 1 << 0,
	NVME_SMART_TEMPERATURE = 1 << 1,
	NVME_SMART_DEGRADED = 1 << 2,
	NVME_SMART_READ_ONLY = 1 << 3,
	NVME_SMART_BACKUP_FAILED = 1 << 4,
	NVME_SMART_PMR_READ_ONLY = 1 << 5,
};

struct nvme_log_smart {
	uint8_t critical_warning;
	le16 temperature; /* kelvin */
	uint8_t spare;    /* percent left */
	uint8_t spare_threshold;
	uint8_t percentage_used;
	uint8_t endurance_group_warning;
	uint8_t rsvd7[25];
	struct nvme_u128 data_units_read;    /* units of 1000 * 512 bytes, rounded up */
	struct nvme_u128 data_units_written; /* likewise */
	struct nvme_u128 host_reads;         /* commands */
	struct nvme_u128 host_writes;        /* commands */
	struct nvme_u128 busy_time;          /* minutes */
	struct nvme_u128 power_cycles;
	struct nvme_u128 power_on_hours;
	struct nvme_u128 unsafe_shutdowns;
	struct nvme_u128 media_errors;
	struct nvme_u128 error_log_entries;
	le32 warning_temperature_time;  /* minutes */
	le32 critical_temperature_time; /* minutes */
	le16 temperature_sensor[8];     /* kelvin; 0 not present */
	le32 tmt1_count;
	le32 tmt2_count;
	le32 tmt1_time; /* seconds */
	le32 tmt2_time; /* seconds */
	uint8_t rsvd232[280];
};

static_assert(sizeof(struct nvme_log_smart) == 512, "SMART log");
NVME_AT(nvme_log_smart, temperature, 1);
NVME_AT(nvme_log_smart, spare, 3);
NVME_AT(nvme_log_smart, percentage_used, 5);
NVME_AT(nvme_log_smart, data_units_read, 32);
NVME_AT(nvme_log_smart, host_reads, 64);
NVME_AT(nvme_log_smart, busy_time, 96);
NVME_AT(nvme_log_smart, power_on_hours, 128);
NVME_AT(nvme_log_smart, media_errors, 160);
NVME_AT(nvme_log_smart, error_log_entries, 176);
NVME_AT(nvme_log_smart, warning_temperature_time, 192);
NVME_AT(nvme_log_smart, temperature_sensor, 200);
NVME_AT(nvme_log_smart, tmt1_count, 216);

/* --- 03h Firmware Slot Information, 5.16.1.4 --- */

struct nvme_log_firmware {
	uint8_t afi; /* active slot in 2:0, the slot after the next reset in 6:4 */
	uint8_t rsvd1[7];
	uint8_t frs[7][8]; /* revision by slot, ASCII, zero if empty */
	uint8_t rsvd64[448];
};

static_assert(sizeof(struct nvme_log_firmware) == 512, "firmware slot log");
NVME_AT(nvme_log_firmware, frs, 8);

/* --- 04h Changed Namespace List, 5.16.1.5: ascending, unused entries zero --- */

enum {
	NVME_CHANGED_NS_MAX = 1024,
};

struct nvme_log_changed_ns {
	le32 nsid[NVME_CHANGED_NS_MAX]; /* more than fit: first entry NVME_NSID_ALL, the rest zero
					 */
};

static_assert(sizeof(struct nvme_log_changed_ns) == 4096, "changed namespace list");

/* --- 05h Commands Supported and Effects, 5.16.1.6 --- */

enum {
	NVME_EFFECT_SUPPORTED = 1 << 0,    /* CSUPP */
	NVME_EFFECT_CONTENT = 1 << 1,      /* LBCC: may change the contents of blocks */
	NVME_EFFECT_NS_CAPS = 1 << 2,      /* NCC */
	NVME_EFFECT_NS_INVENTORY = 1 << 3, /* NIC */
	NVME_EFFECT_CTRL_CAPS = 1 << 4,    /* CCC */
	NVME_EFFECT_ALONE_NS =
		1 << 16,             /* CSE 1: no other command to the same namespace meanwhile */
	NVME_EFFECT_ALONE = 2 << 16, /* CSE 2: no other command to any namespace meanwhile */
	NVME_EFFECT_UUID = 1 << 19,
	NVME_EFFECT_SCOPE_NS = 1 << 20,
	NVME_EFFECT_SCOPE_CTRL = 1 << 21,
};

struct nvme_log_effects {
	le32 acs[256];  /* by admin opcode */
	le32 iocs[256]; /* by I/O opcode, of the command set that CSI named */
	uint8_t rsvd2048[2048];
};

static_assert(sizeof(struct nvme_log_effects) == 4096, "effects log");
NVME_AT(nvme_log_effects, iocs, 1024);

/* --- 12h Feature Identifiers Supported and Effects, 5.16.1.18 --- */

struct nvme_log_feature_effects {
	le32 fids[256];
};

enum {
	NVME_FEATURE_SUPPORTED = 1 << 0, /* FSUPP */
};

static_assert(sizeof(struct nvme_log_feature_effects) == 1024, "feature effects log");

/* --- 0Ch Asymmetric Namespace Access, 5.16.1.13; nvme/ana.h walks it --- */

enum nvme_ana_state {
	NVME_ANA_OPTIMIZED = 0x1,
	NVME_ANA_NON_OPTIMIZED = 0x2,
	NVME_ANA_INACCESSIBLE = 0x3,
	NVME_ANA_PERSISTENT_LOSS = 0x4,
	NVME_ANA_CHANGE = 0xf,
};

enum {
	NVME_ANA_LSP_GROUPS_ONLY = 1
				   << 0, /* LSP of Get Log Page: RGO, groups without their NSIDs */
};

struct nvme_log_ana {
	le64 chgcnt;
	le16 ngrps; /* descriptors that follow */
	uint8_t rsvd10[6];
};

struct nvme_ana_desc {
	le32 grpid;
	le32 nnsids; /* NSIDs that follow this descriptor */
	le64 chgcnt;
	uint8_t state; /* enum nvme_ana_state in bits 3:0 */
	uint8_t rsvd17[15];
};

static_assert(sizeof(struct nvme_log_ana) == 16, "ANA log header");
static_assert(sizeof(struct nvme_ana_desc) == 32, "ANA group descriptor");
NVME_AT(nvme_ana_desc, chgcnt, 8);
NVME_AT(nvme_ana_desc, state, 16);

/* --- 70h Discovery, 5.16.1.23 --- */

enum nvme_trtype {
	NVME_TRTYPE_RDMA = 1,
	NVME_TRTYPE_FC = 2,
	NVME_TRTYPE_TCP = 3,
	NVME_TRTYPE_INTRA_HOST = 254,
};

enum nvme_adrfam {
	NVME_ADRFAM_IPV4 = 1,
	NVME_ADRFAM_IPV6 = 2,
	NVME_ADRFAM_IB = 3,
	NVME_ADRFAM_FC = 4,
	NVME_ADRFAM_INTRA_HOST = 254,
};

enum nvme_subtype {
	NVME_SUBTYPE_REFERRAL = 1, /* another discovery service */
	NVME_SUBTYPE_NVM = 2,
	NVME_SUBTYPE_CURRENT = 3, /* this discovery service itself */
};

enum {
	/* TREQ: secure channel in bits 1:0. */
	NVME_TREQ_NOT_SPECIFIED = 0,
	NVME_TREQ_REQUIRED = 1,
	NVME_TREQ_NOT_REQUIRED = 2,
	NVME_TREQ_SECURE_MASK = 3,
	NVME_TREQ_DISABLE_SQFLOW = 1
				   << 2, /* the controller is able to do without SQ flow control */

	NVME_EFLAGS_DUPRETINFO = 1 << 0, /* any of the ports returns the same information */
	NVME_EFLAGS_EPCSD = 1 << 1, /* explicit persistent connections: Connect may keep it alive */

	/* TSAS of NVMe/TCP: one byte, SECTYPE (TCP Transport 1.0). */
	NVME_TCP_SECTYPE_NONE = 0,
	NVME_TCP_SECTYPE_TLS12 = 1,
	NVME_TCP_SECTYPE_TLS13 = 2,
};

struct nvme_log_discovery {
	le64 genctr; /* changes with the contents: a reader of pieces compares it before and after
		      */
	le64 numrec; /* entries that follow */
	le16 recfmt; /* 0 */
	uint8_t rsvd18[1006];
};

struct nvme_discovery_entry {
	uint8_t trtype;  /* enum nvme_trtype */
	uint8_t adrfam;  /* enum nvme_adrfam */
	uint8_t subtype; /* enum nvme_subtype */
	uint8_t treq;
	le16 portid;
	le16 cntlid; /* NVME_CNTLID_DYNAMIC, NVME_CNTLID_STATIC_ANY or one controller */
	le16 asqsz;  /* largest admin queue, entries */
	le16 eflags;
	uint8_t rsvd12[20];
	uint8_t trsvcid[32]; /* the TCP port in decimal; ASCII, padded: nvme/text.h */
	uint8_t rsvd64[192];
	uint8_t subnqn[256]; /* NUL terminated: nvme/nqn.h */
	uint8_t traddr[256]; /* ASCII, padded: nvme/text.h */
	uint8_t tsas[256];
};

static_assert(sizeof(struct nvme_log_discovery) == 1024, "discovery log header");
static_assert(sizeof(struct nvme_discovery_entry) == 1024, "discovery log entry");
NVME_AT(nvme_log_discovery, numrec, 8);
NVME_AT(nvme_log_discovery, recfmt, 16);
NVME_AT(nvme_discovery_entry, treq, 3);
NVME_AT(nvme_discovery_entry, portid, 4);
NVME_AT(nvme_discovery_entry, cntlid, 6);
NVME_AT(nvme_discovery_entry, asqsz, 8);
NVME_AT(nvme_discovery_entry, eflags, 10);
NVME_AT(nvme_discovery_entry, trsvcid, 32);
NVME_AT(nvme_discovery_entry, subnqn, 256);
NVME_AT(nvme_discovery_entry, traddr, 512);
NVME_AT(nvme_discovery_entry, tsas, 768);

/* --- 80h Reservation Notification, 5.16.1.24 --- */

enum nvme_resv_notification {
	NVME_RESV_LOG_EMPTY = 0,
	NVME_RESV_REGISTRATION_PREEMPTED = 1,
	NVME_RESV_RELEASED = 2,
	NVME_RESV_PREEMPTED = 3,
};

struct nvme_log_reservation {
	le64 count;
	uint8_t type;      /* enum nvme_resv_notification */
	uint8_t available; /* pages after this one; 255: that many or more */
	uint8_t rsvd10[2];
	le32 nsid;
	uint8_t rsvd16[48];
};

static_assert(sizeof(struct nvme_log_reservation) == 64, "reservation notification log");
NVME_AT(nvme_log_reservation, type, 8);
NVME_AT(nvme_log_reservation, nsid, 12);

#endif
