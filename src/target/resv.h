/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations of one namespace, pure: who is registered, who holds what, which access that leaves
 * to whom (NVMe Base 2.0, 8.19). A command goes in; a status, the new state and what other hosts
 * are to be told come out. Nothing here knows of controllers, cores, files or time: how commands
 * get here and how the result reaches all cores is in resv-cmd.c.
 *
 * A host is known by its Host Identifier, whatever controllers it has at the moment, or none.
 *
 * Registrants are an array in the order in which they registered. There are few of them, and
 * commands that change them are rare; what I/O looks at is a view of its own, sorted.
 */
#ifndef PENSTOCK_TARGET_RESV_H
#define PENSTOCK_TARGET_RESV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nvme/cmd-nvm.h"
#include "nvme/fabrics.h"
#include "nvme/status.h"

enum {
	/* More than hosts share a volume: its report is 16 KiB, its state 6 KiB. */
	TGT_RESV_REGISTRANTS = 256,
};

/* What feature 83h does, which is no I/O command: @cptpl is all of it. */
#define TGT_RESV_SET_PTPL 0xff

struct tgt_registrant {
	uint8_t host[NVME_HOSTID_SIZE];
	uint64_t key; /* not 0 */
};

struct tgt_resv_state {
	uint32_t generation;
	uint8_t type;    /* enum nvme_resv_type; NONE: nobody holds a reservation */
	bool ptpl;       /* persists through power loss */
	uint16_t holder; /* index; of the All Registrants types every registrant is one */
	uint16_t count;
	struct tgt_registrant registrants[TGT_RESV_REGISTRANTS];
};

struct tgt_resv_cmd {
	uint8_t opc;    /* NVME_NVM_RESV_REGISTER, _ACQUIRE, _RELEASE or TGT_RESV_SET_PTPL */
	uint8_t action; /* RREGA, RACQA or RRELA */
	uint8_t type;   /* RTYPE */
	uint8_t cptpl;
	bool ignore_key;  /* IEKEY */
	bool may_persist; /* PTPL can be had: RESCAP says so */
	uint8_t host[NVME_HOSTID_SIZE];
	uint64_t crkey;
	uint64_t key; /* NRKEY or PRKEY */
};

/*
 * What each registrant of the state before is told, by index: enum nvme_resv_notification. Who is
 * told that its registration was preempted has lost it to another host's Preempt.
 */
struct tgt_resv_told {
	uint8_t what[TGT_RESV_REGISTRANTS];
};

/* Does the command on @s. Not SUCCESS: nothing has changed. */
struct nvme_status tgt_resv_apply(struct tgt_resv_state *s, const struct tgt_resv_cmd *cmd,
				  struct tgt_resv_told *told);

/* Index of the registrant, -1 for none. */
int tgt_resv_find(const struct tgt_resv_state *s, const uint8_t host[NVME_HOSTID_SIZE]);
/* Whether registrant @i holds the reservation. */
bool tgt_resv_holds(const struct tgt_resv_state *s, int i);

/* ---- access ---------------------------------------------------------------------------------- */

/* Command groups of the figure "Command Behavior in the Presence of a Reservation". */
enum tgt_access {
	TGT_ACCESS_OTHER, /* commands that no reservation keeps from anybody */
	TGT_ACCESS_READ,
	TGT_ACCESS_WRITE,
};

enum tgt_resv_role {
	TGT_ROLE_STRANGER,
	TGT_ROLE_REGISTRANT, /* and not the holder */
	TGT_ROLE_HOLDER,
};

bool tgt_resv_allows(enum nvme_resv_type type, enum tgt_resv_role role, enum tgt_access access);

/*
 * What a core needs to know of a reservation: constant, and shared by all that have not got a newer
 * one. There is none where there is no reservation.
 */
struct tgt_resv_view {
	atomic_uint refs;
	uint8_t type;
	uint8_t holder[NVME_HOSTID_SIZE]; /* not of the All Registrants types */
	uint32_t count;
	uint8_t hosts[][NVME_HOSTID_SIZE]; /* ascending */
};

/* With one reference; NULL with SUCCESS where there is no reservation. -ENOMEM. */
int tgt_resv_view_new(const struct tgt_resv_state *s, struct tgt_resv_view **ret_view);
struct tgt_resv_view *tgt_resv_view_get(struct tgt_resv_view *v);
/* Takes NULL. */
void tgt_resv_view_put(struct tgt_resv_view *v);

bool tgt_resv_view_allows(const struct tgt_resv_view *v, const uint8_t host[NVME_HOSTID_SIZE],
			  enum tgt_access access);

#endif
