/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the target: a target on a simulated loop, stores that do as they are told, and a
 * host that speaks raw PDUs and believes nothing. Time is virtual, so a time limit of a minute
 * costs nothing.
 */
#ifndef PENSTOCK_TARGET_TEST_RIG_H
#define PENSTOCK_TARGET_TEST_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "io/io.h"
#include "io/sim.h"
#include "nvme/cmd.h"
#include "nvme/cpl.h"
#include "nvme/reg.h"
#include "store/store.h"
#include "target/core.h"
#include "target/target.h"
#include "tcp/pdu.h"
#include "tcp/tx.h"

#define RIG_NQN   "nqn.2026-11.io.penstock:test"
#define RIG_OTHER "nqn.2026-11.io.penstock:other" /* admits RIG_HOST2 only */
#define RIG_HOST  "nqn.2014-08.org.nvmexpress:uuid:11111111-1111-4111-8111-111111111111"
#define RIG_HOST2 "nqn.2014-08.org.nvmexpress:uuid:22222222-2222-4222-8222-222222222222"

#define RIG_MS UINT64_C(1000000)
#define RIG_S  UINT64_C(1000000000)

enum {
	RIG_BLOCKS = 2048, /* of namespace 1: 512 bytes each; namespace 3: 4096 bytes each */
	RIG_PEER_BUFFER = 8 << 20,
	RIG_TAKERS = 128,
};

/* A memory store that holds or fails operations. */
struct rig_store {
	struct store store;
	struct store *under;
	bool hold;                                   /* operations wait until rig_store_release() */
	bool hold_writes;                            /* those that change something do */
	int fail;                                    /* operations end with this, 0: not */
	struct list held;                            /* store_op.link */
	unsigned int count[STORE_COMPARE_WRITE + 1]; /* by kind */
	unsigned int fua;                            /* operations with STORE_FUA */
	unsigned int keep;                           /* ... with STORE_KEEP */
};

struct rig {
	struct sim *sim;
	struct sim_node *node;
	struct io_loop *loop;
	struct target *target;
	struct rig_store
		stores[2]; /* NSID 1: 512-byte blocks; NSID 3: 4096-byte blocks, volatile cache */
	struct target_config config;
	struct target_subsys_config subsystems[2];
	struct target_ns_config namespaces[3];
	struct target_listener_config listeners[2];
	const char *hosts[1];
	struct log log;
	char log_text[1 << 16]; /* what was logged, all of it */
	size_t log_len;
	/* Of rig_take_arena(). */
	struct tgt_arena_user takers[RIG_TAKERS];
	struct tgt_buf taken[RIG_TAKERS];
	int taken_count;
};

/* A target that is not started yet; change rig->config, then rig_start(). */
void rig_init(struct rig *rig);
void rig_start(struct rig *rig);
/* Ends it; every pool must be full then (the target asserts it). */
void rig_end(struct rig *rig);
void rig_run(struct rig *rig, uint64_t ns);
uint64_t rig_closed(struct rig *rig, enum target_close reason);
bool rig_logged(const struct rig *rig, const char *text);

/*
 * Memory for data runs out: takes all of it but one piece, in the name of as many hosts as that
 * needs, until it is given back.
 */
void rig_take_arena(struct rig *rig);
void rig_give_arena(struct rig *rig);

void rig_store_release(struct rig_store *s);
/* The first of those that are held; true if there was one. */
bool rig_store_release_one(struct rig_store *s);

/* One connection of a host. */
struct peer {
	struct rig *rig;
	struct io_stream *stream;
	struct io_op recv_op, send_op;
	struct iovec recv_iov, send_iov;
	uint8_t *in; /* received and not yet taken */
	size_t in_len, in_at;
	uint8_t *out;
	size_t out_len, out_at;
	bool eof;
	int error;
	bool hdgst, ddgst;
	uint16_t cid;
	struct tcp_tx tx;
	bool sqflow; /* for peer_connect(): keep flow control */
	uint8_t hostid[16];
	const char *hostnqn;
	uint32_t maxh2cdata;
	uint64_t patience; /* how long it waits for a PDU */
	size_t sip;        /* receives so much at a time; 0: all there is */
};

/* Connected, nothing said yet. @listener: index, or -1: an in-process connection. */
void peer_open(struct peer *p, struct rig *rig, int listener);
void peer_close(struct peer *p);
/* From its next receive on it takes so many bytes at a time; 0: all there is. */
void peer_sip(struct peer *p, size_t bytes);
/* Queues bytes; they go out as the rig runs. */
void peer_bytes(struct peer *p, const void *bytes, size_t n);
void peer_pdu(struct peer *p, struct tcp_tx_pdu *pdu);
/*
 * The next PDU, digests verified: its header to @ret, its payload to @data. False: none within
 * p->patience.
 */
bool peer_next(struct peer *p, union tcp_pdu *ret, void *data, size_t max, uint32_t *ret_len);
/* The same, waiting for @ns of virtual time. */
bool peer_next_in(struct peer *p, uint64_t ns, union tcp_pdu *ret, void *data, size_t max,
		  uint32_t *ret_len);
/* Whether the connection ends within @ns; PDUs before that are dropped. */
bool peer_ends(struct peer *p, uint64_t ns);
/* The next PDU is a C2HTermReq with @fes and @fei, and then the connection ends. */
bool peer_terminated(struct peer *p, uint16_t fes, uint32_t fei);

void peer_ic(struct peer *p, uint8_t hpda, bool hdgst, bool ddgst);
/* Connect with what @p says of the host; the completion. */
struct nvme_cpl peer_connect_with(struct peer *p, const struct nvme_cmd *sqe,
				  const struct nvme_connect_data *data);
void peer_connect_data(const struct peer *p, const char *subnqn, uint16_t cntlid,
		       struct nvme_connect_data *ret);
struct nvme_cpl peer_connect(struct peer *p, const char *subnqn, uint16_t qid, uint16_t cntlid,
			     uint32_t entries, uint32_t kato_ms);

/* Sends a command with data in its capsule, or none; CID is set. Returns the CID. */
uint16_t peer_submit(struct peer *p, struct nvme_cmd *cmd, const void *in_capsule, uint32_t len);
/* The completion of @cid; other completions are dropped. Status FFFFh: none came. */
struct nvme_cpl peer_wait(struct peer *p, uint16_t cid);
/* A whole command, however its data travels: to the host into @buf, or from it. */
struct nvme_cpl peer_do(struct peer *p, struct nvme_cmd *cmd, void *buf, uint32_t len);
/* What is left of a command that was submitted. */
struct nvme_cpl peer_finish(struct peer *p, uint16_t cid, void *buf, uint32_t len);

uint64_t peer_get(struct peer *p, uint32_t ofst, unsigned int size);
struct nvme_cpl peer_set(struct peer *p, uint32_t ofst, uint64_t value);
/* Writes CC and waits for CSTS.RDY. */
void peer_enable(struct peer *p);
/* Initialised, connected and enabled: an admin queue. The controller's identifier. */
uint16_t peer_admin(struct peer *p, struct rig *rig, const char *subnqn);
/* Initialised and connected: an I/O queue. */
void peer_io(struct peer *p, struct rig *rig, const char *subnqn, uint16_t qid, uint16_t cntlid);

uint16_t peer_status(const struct nvme_cpl *cpl);
#define is_status(cpl, sc, ...) is_u64(peer_status(cpl), NVME_SC_##sc, __VA_ARGS__)
bool peer_dnr(const struct nvme_cpl *cpl);

#endif
