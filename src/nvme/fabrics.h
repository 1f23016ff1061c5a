/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fabrics commands: Connect, Property Get and Set, Disconnect, Authentication Send and Receive
 * (NVMe Base 2.0, 6 "Fabrics Command Set").
 *
 * Their entries are 64 bytes with opcode and CID where every command has them, but FCTYPE in byte 4
 * and their own fields from byte 40 on, so each has a struct; nvme_cmd_as_*() views an entry as one
 * of them. All members are bytes: the view is free and legal wherever the entry lies.
 */
#ifndef PENSTOCK_NVME_FABRICS_H
#define PENSTOCK_NVME_FABRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/bits.h"
#include "nvme/sqe.h"

enum {
	/* NQN fields are 256 bytes, zero padded; an NQN is at most 223 bytes (Base 2.0, 4.5). */
	NVME_NQN_FIELD_SIZE = 256,
	NVME_HOSTID_SIZE = 16,

	NVME_CONNECT_DATA_SIZE = 1024,
	NVME_CNTLID_DYNAMIC = 0xffff,    /* Connect on the admin queue: "give me one" */
	NVME_CNTLID_STATIC_ANY = 0xfffe, /* static controller model: "any of yours" */
	NVME_CNTLID_MAX = 0xffef,        /* FFF0h to FFFFh are reserved */

	NVME_ADMIN_QUEUE_MIN_ENTRIES = 32, /* an admin queue over fabrics has at least this many */
};

/* --- Connect, 6.3 --- */

/* CATTR. */
enum {
	NVME_CATTR_PRIORITY_MASK = 3 << 0, /* 0 urgent, 1 high, 2 medium, 3 low */
	NVME_CATTR_DISABLE_SQFLOW = 1 << 2,
	NVME_CATTR_QUEUE_DELETION = 1 << 3, /* the host may delete single I/O queues */
};

struct nvme_connect_cmd {
	uint8_t opc;
	uint8_t flags;
	le16 cid;
	uint8_t fctype;
	uint8_t rsvd5[19];
	struct nvme_sgl_desc sgl;
	le16 recfmt; /* 0 */
	le16 qid;    /* 0 the admin queue */
	le16 sqsize; /* entries, counted from zero */
	uint8_t cattr;
	uint8_t rsvd47;
	le32 kato; /* milliseconds, admin queue only; 0 off */
	uint8_t rsvd52[12];
};

static_assert(sizeof(struct nvme_connect_cmd) == 64, "an SQE");
static_assert(offsetof(struct nvme_connect_cmd, fctype) == 4, "FCTYPE is byte 4");
static_assert(offsetof(struct nvme_connect_cmd, sgl) == 24, "SGL1 is bytes 39:24");
static_assert(offsetof(struct nvme_connect_cmd, recfmt) == 40, "RECFMT is bytes 41:40");
static_assert(offsetof(struct nvme_connect_cmd, qid) == 42, "QID is bytes 43:42");
static_assert(offsetof(struct nvme_connect_cmd, sqsize) == 44, "SQSIZE is bytes 45:44");
static_assert(offsetof(struct nvme_connect_cmd, cattr) == 46, "CATTR is byte 46");
static_assert(offsetof(struct nvme_connect_cmd, kato) == 48, "KATO is bytes 51:48");

/* Connect's data. */
struct nvme_connect_data {
	uint8_t hostid[NVME_HOSTID_SIZE];
	le16 cntlid; /* NVME_CNTLID_DYNAMIC, or the controller an I/O queue belongs to */
	uint8_t rsvd18[238];
	uint8_t subnqn[NVME_NQN_FIELD_SIZE];  /* read through nvme_nqn_from_field() only */
	uint8_t hostnqn[NVME_NQN_FIELD_SIZE]; /* likewise */
	uint8_t rsvd768[256];
};

static_assert(sizeof(struct nvme_connect_data) == NVME_CONNECT_DATA_SIZE, "Connect data");
static_assert(offsetof(struct nvme_connect_data, cntlid) == 16, "CNTLID is bytes 17:16");
static_assert(offsetof(struct nvme_connect_data, subnqn) == 256, "SUBNQN is bytes 511:256");
static_assert(offsetof(struct nvme_connect_data, hostnqn) == 512, "HOSTNQN is bytes 767:512");

/* Dword 0 of a successful Connect: CNTLID in 15:0, AUTHREQ in 31:16. */
enum {
	NVME_CONNECT_AUTHREQ_ATR = 1 << 17,  /* in-band authentication is required */
	NVME_CONNECT_AUTHREQ_ASCR = 1 << 18, /* then a secure channel on top */
};

static inline uint16_t nvme_connect_dw0_cntlid(uint32_t dw0)
{
	return (uint16_t)dw0;
}

/*
 * Dword 0 of Connect Invalid Parameters: which parameter. IPO, its byte offset, in 15:0; IATTR in
 * 23:16, whose bit 0 says whether the offset is into the data or into the SQE.
 */
static inline uint32_t nvme_connect_dw0_invalid(bool in_data, size_t offset)
{
	return (uint32_t)in_data << 16 | (uint16_t)offset;
}

#define NVME_CONNECT_INVALID_SQE(member)                                                           \
	nvme_connect_dw0_invalid(false, offsetof(struct nvme_connect_cmd, member))
#define NVME_CONNECT_INVALID_DATA(member)                                                          \
	nvme_connect_dw0_invalid(true, offsetof(struct nvme_connect_data, member))

/* --- Property Set 6.6, Property Get 6.5 --- */

/* ATTRIB, bits 2:0: the property's size. */
enum {
	NVME_PROP_SIZE_4 = 0,
	NVME_PROP_SIZE_8 = 1,
};

struct nvme_property_cmd {
	uint8_t opc;
	uint8_t flags;
	le16 cid;
	uint8_t fctype;
	uint8_t rsvd5[35];
	uint8_t attrib;
	uint8_t rsvd41[3];
	le32 ofst;  /* nvme/reg.h */
	le64 value; /* Set only; Get returns it in the completion */
	uint8_t rsvd56[8];
};

static_assert(sizeof(struct nvme_property_cmd) == 64, "an SQE");
static_assert(offsetof(struct nvme_property_cmd, attrib) == 40, "ATTRIB is byte 40");
static_assert(offsetof(struct nvme_property_cmd, ofst) == 44, "OFST is bytes 47:44");
static_assert(offsetof(struct nvme_property_cmd, value) == 48, "VALUE is bytes 55:48");

/* 4, 8, or 0 for a reserved size. */
static inline unsigned int nvme_property_size(const struct nvme_property_cmd *cmd)
{
	switch (cmd->attrib & 7) {
	case NVME_PROP_SIZE_4:
		return 4;
	case NVME_PROP_SIZE_8:
		return 8;
	default:
		return 0;
	}
}

/* --- Disconnect, 6.4: deletes the I/O queue it is sent on --- */

struct nvme_disconnect_cmd {
	uint8_t opc;
	uint8_t flags;
	le16 cid;
	uint8_t fctype;
	uint8_t rsvd5[35];
	le16 recfmt; /* 0 */
	uint8_t rsvd42[22];
};

static_assert(sizeof(struct nvme_disconnect_cmd) == 64, "an SQE");
static_assert(offsetof(struct nvme_disconnect_cmd, recfmt) == 40, "RECFMT is bytes 41:40");

/* --- Authentication Send 6.2, Authentication Receive 6.1 --- */

struct nvme_auth_cmd {
	uint8_t opc;
	uint8_t flags;
	le16 cid;
	uint8_t fctype;
	uint8_t rsvd5[19];
	struct nvme_sgl_desc sgl;
	uint8_t rsvd40;
	uint8_t spsp0; /* 1 */
	uint8_t spsp1; /* 1 */
	uint8_t secp;  /* NVME_AUTH_SECP */
	le32 len;      /* TL of Send, AL of Receive: bytes */
	uint8_t rsvd48[16];
};

static_assert(sizeof(struct nvme_auth_cmd) == 64, "an SQE");
static_assert(offsetof(struct nvme_auth_cmd, secp) == 43, "SECP is byte 43");
static_assert(offsetof(struct nvme_auth_cmd, len) == 44, "TL and AL are bytes 47:44");

enum {
	NVME_AUTH_SECP = 0xe9, /* NVMe's number among security protocols */
};

/* --- Views and builders --- */

static inline const struct nvme_connect_cmd *nvme_cmd_as_connect(const struct nvme_cmd *cmd)
{
	return (const struct nvme_connect_cmd *)(const void *)cmd;
}

static inline const struct nvme_property_cmd *nvme_cmd_as_property(const struct nvme_cmd *cmd)
{
	return (const struct nvme_property_cmd *)(const void *)cmd;
}

static inline const struct nvme_disconnect_cmd *nvme_cmd_as_disconnect(const struct nvme_cmd *cmd)
{
	return (const struct nvme_disconnect_cmd *)(const void *)cmd;
}

static inline const struct nvme_auth_cmd *nvme_cmd_as_auth(const struct nvme_cmd *cmd)
{
	return (const struct nvme_auth_cmd *)(const void *)cmd;
}

static inline bool nvme_cmd_is_fabrics(const struct nvme_cmd *cmd, enum nvme_fabrics_type type)
{
	return cmd->opc == NVME_OPC_FABRICS && nvme_cmd_fctype(cmd) == (uint8_t)type;
}

/* @entries is the queue's size counted from one, 2 to 65536. */
static inline void nvme_cmd_init_connect(struct nvme_cmd *cmd, uint16_t qid, uint32_t entries,
					 uint8_t cattr, uint32_t kato_ms)
{
	struct nvme_connect_cmd c = {
		.opc = NVME_OPC_FABRICS,
		.flags = NVME_FLAGS_SGL,
		.fctype = NVME_FABRICS_CONNECT,
		.qid = cpu_to_le16(qid),
		.sqsize = cpu_to_le16((uint16_t)(entries - 1)),
		.cattr = cattr,
		.kato = cpu_to_le32(kato_ms),
	};

	memcpy(cmd, &c, sizeof(*cmd));
}

/* @size is 4 or 8 bytes. */
static inline void nvme_cmd_init_property(struct nvme_cmd *cmd, enum nvme_fabrics_type type,
					  uint32_t ofst, unsigned int size, uint64_t value)
{
	struct nvme_property_cmd c = {
		.opc = NVME_OPC_FABRICS,
		.flags = NVME_FLAGS_SGL,
		.fctype = (uint8_t)type,
		.attrib = size == 8 ? NVME_PROP_SIZE_8 : NVME_PROP_SIZE_4,
		.ofst = cpu_to_le32(ofst),
		.value = cpu_to_le64(value),
	};

	memcpy(cmd, &c, sizeof(*cmd));
}

static inline void nvme_cmd_init_property_get(struct nvme_cmd *cmd, uint32_t ofst,
					      unsigned int size)
{
	nvme_cmd_init_property(cmd, NVME_FABRICS_PROPERTY_GET, ofst, size, 0);
}

static inline void nvme_cmd_init_property_set(struct nvme_cmd *cmd, uint32_t ofst,
					      unsigned int size, uint64_t value)
{
	nvme_cmd_init_property(cmd, NVME_FABRICS_PROPERTY_SET, ofst, size, value);
}

static inline void nvme_cmd_init_disconnect(struct nvme_cmd *cmd)
{
	nvme_cmd_init(cmd, NVME_OPC_FABRICS, NVME_FABRICS_DISCONNECT);
}

/* @type is Authentication Send or Receive, @len the bytes of its data. */
static inline void nvme_cmd_init_auth(struct nvme_cmd *cmd, enum nvme_fabrics_type type,
				      uint32_t len)
{
	struct nvme_auth_cmd c = {
		.opc = NVME_OPC_FABRICS,
		.flags = NVME_FLAGS_SGL,
		.fctype = (uint8_t)type,
		.spsp0 = 1,
		.spsp1 = 1,
		.secp = NVME_AUTH_SECP,
		.len = cpu_to_le32(len),
	};

	memcpy(cmd, &c, sizeof(*cmd));
}

#endif
