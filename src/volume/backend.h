/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind a port: an NVMe controller's queues, or a file. A backend moves whole blocks
 * of a volume and knows nothing of requests, edges or devices. One ops table per kind, all
 * callbacks mandatory. Everything happens on the port's loop, but for open, which may block.
 */
#ifndef VOLUME_BACKEND_H
#define VOLUME_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "host/host.h"
#include "io/io.h"
#include "memory/staging.h"
#include "penstock.h"
#include "volume/uri.h"

enum backend_kind {
	BACKEND_READ,
	BACKEND_WRITE,
	BACKEND_FLUSH,
	BACKEND_DISCARD,
	BACKEND_ZERO,
};

/* One command. @done comes from a later turn of the loop, exactly once. */
struct backend_cmd {
	void (*done)(struct backend_cmd *c);
	enum backend_kind kind;
	uint64_t offset; /* bytes, whole blocks */
	uint64_t length;
	const struct iovec *iov; /* sums up to length */
	int niov;

	int error; /* 0 or -errno */
	uint16_t nvme_status; /* SCT << 8 | SC, 0 if no controller spoke */
	/* Loop times: on its way out; all of the answer is in. 0 = never. */
	uint64_t sent_ns;
	uint64_t last_ns;
	bool sampled;	/* sent_ns is to be exact, and @times asked for */
	bool has_times;	/* of its time between, the target has said: */
	struct nvme_times times;

	/* private to the backend */
	struct host_io host;
	struct io_op op;
	uint64_t moved;
	void *bounce;
	struct mem_staging_wait wait;
	struct iovec vec[4];
	struct backend *backend;
};

struct backend_info {
	uint64_t size;
	uint32_t block;
	uint32_t max_transfer; /* bytes of a read or write */
	uint32_t optimal;
	uint64_t max_discard; /* bytes of a discard or zeroing command */
	unsigned int queues;
	unsigned int depth;   /* commands in flight that are of use, all queues together */
	bool read_only;
	bool volatile_cache;
	bool remote; /* what happens between sent and last is not ours to see */
};

struct backend;

struct backend_ops {
	const char *name;
	void (*submit)(struct backend *b, struct backend_cmd *c);
	/* Fills in what pst_volume_info() shows beyond backend_info. */
	void (*describe)(struct backend *b, struct pst_volume_info *ret_info);
	void (*stats)(struct backend *b, struct pst_volume_stats *stats);
	/*
	 * No command is in flight. Ends in order; @closed is called from a turn of the loop, after
	 * which the memory is gone.
	 */
	void (*close)(struct backend *b, void (*closed)(void *arg), void *arg);
};

struct backend {
	const struct backend_ops *ops;
	struct io_loop *loop;
	struct backend_info info;
};

struct backend_options {
	const struct uri *uri;
	const char *text; /* the URI as given */
	const char *hostnqn;
	const uint8_t *hostid;
	unsigned int queues; /* of this port's share */
	unsigned int depth;
	bool read_only;
	bool hdgst;
	bool ddgst;
	uint64_t kato_ns;
	uint64_t io_timeout_ns;
	uint64_t connect_timeout_ns;
	uint64_t loss_timeout_ns;
	bool times; /* ask the target where sampled commands were, if it can tell */
};

/* Called once, from a turn of the loop or from inside open: @b, or NULL and @err. */
typedef void (*backend_opened_fn)(void *arg, struct backend *b, const struct err *err);

void backend_nvme_open(struct io_loop *loop, const struct backend_options *o, backend_opened_fn fn,
		       void *arg);
void backend_file_open(struct io_loop *loop, const struct backend_options *o, backend_opened_fn fn,
		       void *arg);

#endif
