/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller for tests of the initiator, in a simulated world: by itself it is a small, right
 * NVMe/TCP controller with one memory namespace; a test changes what it is (knobs), or takes a
 * command out of its hands (hook) and does with it what no controller should.
 */
#ifndef PENSTOCK_HOST_TEST_FAKE_H
#define PENSTOCK_HOST_TEST_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "host/host.h"
#include "io/sim.h"
#include "nvme/cmd.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "tcp/rx.h"
#include "tcp/tx.h"

#define FAKE_NQN  "nqn.2026-11.io.penstock:fake"
#define FAKE_HOST "nqn.2026-11.io.penstock:host"

enum {
	FAKE_PORT = 4420,
	FAKE_BLOCK = 512,
	FAKE_BLOCKS = 2048, /* 1 MiB */
	FAKE_TTAG = 0x77,
	FAKE_WRITES = 64,   /* writes whose data is awaited at a time */
};

#define FAKE_MS UINT64_C(1000000)
#define FAKE_S  UINT64_C(1000000000)

struct fake_conn;
struct fake;

/* A command that waits for its H2CData. */
struct fake_write {
	bool used;
	struct nvme_cmd cmd;
	uint32_t received;
};

struct fake_conn {
	struct list link;
	struct fake *f;
	struct io_stream *stream;
	struct io_op recv_op, send_op;
	struct io_defer flush, gone;
	struct tcp_rx rx;
	struct tcp_tx tx;
	uint8_t stage[16384];
	uint8_t payload[1 << 17];
	struct iovec land;
	struct iovec recv_iov[4], send_iov[IO_MAX_IOV];
	bool connected; /* Connect was answered */
	bool closing;
	bool deaf; /* drops whatever comes */
	uint16_t qid;
	uint32_t maxr2t;
	struct fake_write writes[FAKE_WRITES];
};

/* What a test looks at, and sets. Zeroed and then filled by fake_init(). */
struct fake {
	struct sim *sim;
	struct sim_node *node, *host_node;
	struct io_loop *loop, *host_loop;
	struct io_listener *listener;
	struct io_op accept_op;
	struct io_addr addr;
	struct list conns; /* fake_conn.link, newest last */
	uint8_t *disk;

	/* Knobs. */
	bool silent;            /* accepts and says nothing */
	bool keeps_open;        /* does not close when the host has */
	uint8_t dgst;           /* digests that it agrees to, of those asked for */
	uint8_t dgst_forced;    /* and those that it enables unasked */
	uint8_t cpda;
	uint32_t maxh2cdata;
	uint32_t mqes;          /* entries, counted from one */
	uint32_t not_ready;     /* CSTS says not ready this often */
	uint32_t granted;       /* I/O queues */
	uint32_t c2h_chunk;     /* bytes of a C2HData */
	uint32_t r2t_chunk;     /* bytes of an R2T */
	bool success;           /* uses the SUCCESS flag */
	bool success_unasked;   /* even with SQ flow control */
	struct nvme_id_ctrl id;
	struct nvme_id_ns ns;   /* of every NSID */
	uint32_t nsids;         /* namespaces 1 .. n are active */
	uint8_t uuid[16];
	/* true: the test has dealt with the command. */
	bool (*hook)(struct fake_conn *c, const struct nvme_cmd *cmd);
	void *arg;

	/* What happened. */
	unsigned int accepted, connects, commands, keep_alives, aers, writes, reads;
	unsigned int shutdowns, disconnects, terms;
	uint16_t term_fes; /* of the last H2CTermReq */
	uint32_t term_fei;
	uint16_t aer_cid;  /* valid while aer_conn is not NULL */
	struct fake_conn *aer_conn;
	struct nvme_connect_cmd last_connect; /* of the last admin and the last I/O Connect */
	struct nvme_connect_cmd last_io_connect;
	uint32_t aec;
	uint32_t shn;
	uint32_t r2t_oversent; /* H2CData that was not asked for so */
	uint32_t h2c_max;      /* longest H2CData */
};

/* A world with two nodes, and the controller listening on one of them. */
void fake_init(struct fake *f, uint64_t seed);
/* Everything must have been closed. */
void fake_deinit(struct fake *f);
/* Stops and resumes listening; closing also resets what is connected. */
void fake_stop(struct fake *f);
void fake_start(struct fake *f);

/* Answers. Nothing is checked: whatever is given is sent. */
void fake_rsp(struct fake_conn *c, uint16_t cid, struct nvme_status st, uint64_t result);
void fake_c2h(struct fake_conn *c, uint16_t cid, uint32_t datao, const void *data, uint32_t len,
	      bool last, bool success);
/* The same with a wrong data digest. */
void fake_c2h_corrupt(struct fake_conn *c, uint16_t cid, uint32_t datao, const void *data,
		      uint32_t len, bool last, bool success);
void fake_r2t(struct fake_conn *c, uint16_t cid, uint16_t ttag, uint32_t r2to, uint32_t r2tl);
void fake_raw(struct fake_conn *c, const void *bytes, uint32_t len);
void fake_close(struct fake_conn *c, bool reset);
/* What the controller does with a command of its own accord. */
void fake_execute(struct fake_conn *c, const struct nvme_cmd *cmd);
/* Completes the outstanding event request. */
void fake_event(struct fake *f, uint32_t dw0);

/* A configuration for this controller, with short times. */
void fake_config(const struct fake *f, struct host_config *c);

#endif
