/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status: what a completion says (NVMe Base 2.0, 3.3.3.2.1 "Status Field Definition").
 *
 * A status code means nothing without its type (SCT): code 81h is Capacity Exceeded, Controller
 * Busy or Unrecovered Read Error. So constants here hold both, type in bits 10:8 and code in bits
 * 7:0, and success is a test of both (a path error with code 0 is not success). struct nvme_status
 * is passed by value and is neither an errno nor a bool; nvme_status_from_errno() and
 * nvme_status_to_errno() are the only bridges.
 *
 * The list itself, with the standard's names, is nvme/status-list.h.
 */
#ifndef PENSTOCK_NVME_STATUS_H
#define PENSTOCK_NVME_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status-list.h"

/* Status code types. */
enum nvme_sct {
	NVME_SCT_GENERIC = 0,
	NVME_SCT_COMMAND = 1, /* command specific */
	NVME_SCT_MEDIA = 2,   /* media and data integrity */
	NVME_SCT_PATH = 3,
	NVME_SCT_VENDOR = 7,
};

/* Every status of Base 2.0, NVM Command Set 1.0 and the Fabrics command set: (SCT << 8) | SC. */
enum nvme_sc {
#define NVME_STATUS_ENUM(name, value, text, err) NVME_SC_##name = (value),
	NVME_STATUS_LIST(NVME_STATUS_ENUM) NVME_STATUS_FABRICS_LIST(NVME_STATUS_ENUM)
#undef NVME_STATUS_ENUM
};

struct nvme_status {
	uint8_t sct; /* enum nvme_sct, 0 to 7 */
	uint8_t sc;
	uint8_t crd; /* command retry delay: 0, or which of CRDT1 to CRDT3 applies */
	bool more;   /* the error log has more about this command */
	bool dnr;    /* do not retry: the same command would fail again */
};

/* A status that a retry may cure. */
static inline struct nvme_status nvme_status(enum nvme_sc code)
{
	return (struct nvme_status){ .sct = (uint8_t)(code >> 8), .sc = (uint8_t)code };
}

/* The same with Do Not Retry. */
static inline struct nvme_status nvme_status_dnr(enum nvme_sc code)
{
	return (struct nvme_status){
		.sct = (uint8_t)(code >> 8),
		.sc = (uint8_t)code,
		.dnr = true,
	};
}

static inline struct nvme_status nvme_status_success(void)
{
	return nvme_status(NVME_SC_SUCCESS);
}

/* (SCT << 8) | SC, comparable with enum nvme_sc; may be a value this file does not list. */
static inline uint16_t nvme_status_code(struct nvme_status st)
{
	return (uint16_t)(st.sct << 8 | st.sc);
}

static inline bool nvme_status_is(struct nvme_status st, enum nvme_sc code)
{
	return nvme_status_code(st) == (uint16_t)code;
}

static inline bool nvme_status_ok(struct nvme_status st)
{
	return nvme_status_code(st) == NVME_SC_SUCCESS;
}

/*
 * Bytes 15:14 of a CQE as a number: phase tag (bit 0, always 0 here), SC 8:1, SCT 11:9, CRD 13:12,
 * M 14, DNR 15.
 */
static inline uint16_t nvme_status_encode(struct nvme_status st)
{
	return (uint16_t)(st.sc << 1 | (st.sct & 7) << 9 | (st.crd & 3) << 12 | st.more << 14 |
			  st.dnr << 15);
}

/* The reverse; the phase tag is ignored. */
static inline struct nvme_status nvme_status_decode(uint16_t field)
{
	return (struct nvme_status){
		.sc = (uint8_t)(field >> 1),
		.sct = (field >> 9) & 7,
		.crd = (field >> 12) & 3,
		.more = (field >> 14) & 1,
		.dnr = (field >> 15) & 1,
	};
}

/*
 * The standard's name of @st, a static string; "unknown status" and the like for values outside the
 * list, by type.
 *
 * Codes 80h and up of the command specific type mean one thing for an NVM command and another for a
 * Fabrics command; nvme_status_name() reads them as NVM, nvme_status_name_fabrics() as Connect and
 * Disconnect do.
 */
const char *nvme_status_name(struct nvme_status st);
const char *nvme_status_name_fabrics(struct nvme_status st);

/* What a command was doing when the store failed: the same errno means different things. */
enum nvme_media_op {
	NVME_MEDIA_READ = 0,  /* also Verify */
	NVME_MEDIA_WRITE = 1, /* also Write Zeroes, Dataset Management and Flush */
	NVME_MEDIA_COMPARE = 2,
};

/*
 * What the host is told when the store failed with @err, a positive errno or the negative of one (0
 * is success). The table and the reason for each line, Do Not Retry included, are in status.c.
 */
struct nvme_status nvme_status_from_errno(int err, enum nvme_media_op op);

/*
 * What our own caller is told when a command ended with @st: 0 or a negative errno. The list of
 * status-list.h names the errno of every code; codes outside it are -EIO. The second form is for
 * Fabrics commands, as above.
 */
int nvme_status_to_errno(struct nvme_status st);
int nvme_status_to_errno_fabrics(struct nvme_status st);

#endif
