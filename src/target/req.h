/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request: one command from its capsule to the last byte of its answer.
 *
 * Everything that one command needs is in here: the SQE, the buffer, the store operation, the PDUs
 * that answer it. An association has a pool of as many as its queue has entries, so nothing is
 * allocated for a command. What state a request is in says who holds it and what it waits for;
 * there is one setter, which asserts that the transition is one of those in the table.
 */
#ifndef PENSTOCK_TARGET_REQ_H
#define PENSTOCK_TARGET_REQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "nvme/cmd.h"
#include "nvme/status.h"
#include "store/store.h"
#include "target/arena.h"
#include "tcp/tx.h"

struct tgt_assoc;
struct tgt_ns;
struct tgt_ns_pin;
struct tgt_req;

enum tgt_req_state {
	TGT_REQ_FREE,
	TGT_REQ_NEW,     /* its capsule is being looked at */
	TGT_REQ_BUFFER,  /* waits for memory */
	TGT_REQ_CAPSULE, /* its data is arriving in its capsule */
	TGT_REQ_R2T,     /* its data was asked for and is arriving in H2CData */
	TGT_REQ_FUSED,   /* waits for the other command of its fused operation */
	TGT_REQ_FENCED,  /* waits until older associations of its host are drained */
	TGT_REQ_STORE,   /* in the store: nobody may touch it until the store is done */
	TGT_REQ_PARKED,  /* an admin command that waits for an event or for another core */
	TGT_REQ_SENDING, /* answered: PDUs are queued */
	TGT_REQ_STATES
};

/* For what Abort of another core's command does on the way; see abort.c. */
struct tgt_abort {
	struct list link; /* in an inbox of the other association, or of ours on the way back */
	uint16_t cid;
	bool aborted;
};

struct tgt_req {
	struct list link; /* in the list of its association that belongs to its state */
	struct tgt_assoc *assoc;
	uint8_t state; /* enum tgt_req_state */
	uint8_t dir;   /* enum nvme_direction: which way data really moves */
	uint8_t fuse;  /* enum nvme_fuse */
	uint8_t access; /* enum tgt_access: what a reservation may forbid */
	bool control;  /* admin or Fabrics command: its memory comes first */
	bool abort;    /* Abort came when it was too late to stop and too early to be done */
	bool bad_data; /* a data digest was wrong */
	bool timed;    /* its host wants to know where it was: timing.h */
	bool mutates;  /* changes what the store holds: the fence waits for it */
	uint16_t tag;  /* index in the pool */
	uint16_t ttag; /* of the R2T that is out */
	struct nvme_cmd cmd;
	struct tgt_resv_drain *drain; /* a Preempt and Abort that waits for its end: resv-job.c */
	struct tgt_req *other; /* of a fused operation, once both are there; see fused.h */

	/* The answer. */
	struct nvme_status status;
	uint64_t result; /* dwords 0 and 1 of the completion */

	/* Data. */
	struct tgt_buf buf;
	uint32_t data_len;              /* bytes the command moves */
	uint32_t xfer;                  /* of those received, or queued for sending */
	struct iovec part[TGT_BUF_IOV]; /* the vectors of that PDU */
	bool reserve;                   /* the buffer is the association's reserve */
	bool lends;                     /* no buffer: a Read that sends the store's memory, see lend.h */
	const uint8_t *lent_at;         /* while it does: where the PDU's payload begins */
	struct store_loan loan;

	/*
	 * What it does. @exec runs when the data is there; it ends in tgt_req_complete() or parks.
	 */
	void (*exec)(struct tgt_req *req);
	void (*stored)(struct tgt_req *req); /* a store operation that took its time has ended */
	const struct tgt_ns *ns;
	struct tgt_ns_pin *pin; /* keeps @ns */
	struct store_op op;
	uint64_t store_seq; /* when it was ready for the store, in order; 0: it is not yet */
	uint32_t step;      /* of commands that take several store operations */
	uint64_t since;     /* io_now() when it came into its present state */
	uint64_t begun;     /* ... and when its capsule was there */
	uint64_t queue_ns;  /* timed: in which it waited here, and */
	uint64_t store_ns;  /* io_now_precise() when it went to the store */

	struct tcp_tx_pdu data_pdu; /* R2T or C2HData */
	struct tcp_tx_pdu rsp_pdu;  /* CapsuleResp */
	struct tgt_abort abort_msg;
};

/* "store" and so on. */
const char *tgt_req_state_name(enum tgt_req_state s);

/* Moves to @s and notes when. The transition must be in the table. */
void tgt_req_set_state(struct tgt_req *req, enum tgt_req_state s);

/*
 * Clears everything of an earlier command; @req is then NEW and belongs to @a. Done for each
 * command, because what one leaves behind the next one must not see.
 */
void tgt_req_begin(struct tgt_req *req, struct tgt_assoc *a, uint16_t tag,
		   const struct nvme_cmd *cmd);

static inline uint16_t tgt_req_cid(const struct tgt_req *req)
{
	return nvme_cmd_cid(&req->cmd);
}

/*
 * Answers. With a status other than success no data is sent. Call it once for each request that
 * has begun, from whatever state; the request may be gone when it returns.
 */
void tgt_req_complete(struct tgt_req *req, struct nvme_status status);
/* Shorthands. */
void tgt_req_succeed(struct tgt_req *req, uint64_t result);
void tgt_req_fail(struct tgt_req *req, enum nvme_sc code); /* with Do Not Retry */

/*
 * Ends a request without an answer: its association is gone. Gives back its buffer, its hold on the
 * namespace and its place in the pool.
 */
void tgt_req_release(struct tgt_req *req);

#endif
