/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVMe/TCP target: subsystems with namespaces on stores, served to hosts on listeners.
 *
 * A target is made from a configuration, which is copied, and then runs either on threads of its
 * own, one reactor per core (target_new), or on loops that the caller turns (target_new_on_loops:
 * simulator, fuzzer, unit tests, embedding). Everything else is the same in both cases.
 *
 *	target_config_init(&c); c.subsystems = ...; c.listeners = ...;
 *	target_new(&c, &t, &err); target_start(t, &err); target_run(t); target_free(t);
 *
 * One reactor owns a connection for its whole life; what the connections of one controller share
 * changes under one lock that the I/O path never takes.
 *
 * Thread: unless a function says otherwise, the thread that made the target.
 */
#ifndef PENSTOCK_TARGET_TARGET_H
#define PENSTOCK_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/uuid.h"
#include "io/addr.h"
#include "io/io.h"
#include "store/store.h"

struct target;

/* ---- configuration --------------------------------------------------------------------------- */

struct target_ns_config {
	uint32_t nsid;       /* 1 .. target_limits.namespaces; unique in its subsystem */
	struct store *store; /* must live until @release, or until target_free() has returned */
	struct uuid uuid;    /* nil: the store's own */
	uint8_t nguid[16];   /* all zero: derived from the UUID */
	bool read_only;      /* also when the store can write */
	/*
	 * The target is done with the store for good. Called once for a namespace that was taken
	 * on, from any thread of the target: be quick, call nothing of it. NULL: nobody asks.
	 */
	void (*release)(void *arg, struct store *store);
	void *release_arg;
};

struct target_subsys_config {
	const char *nqn;
	const char *serial;       /* at most 20 ASCII; NULL: derived from the NQN */
	const char *model;        /* at most 40 ASCII; NULL: "Penstock" */
	bool allow_any;           /* any host may connect; otherwise those in @hosts only */
	const char *const *hosts; /* host NQNs */
	size_t host_count;
	const struct target_ns_config *namespaces;
	size_t namespace_count;
};

struct target_listener_config {
	struct io_addr addr; /* port 0: any free one, see target_listener_addr() */
	/*
	 * What the discovery log says instead of @addr, for a target behind a NAT or a name; len 0:
	 * the address itself, or, when that is a wildcard, the one the asking host reached us at.
	 */
	struct io_addr advertise;
	const char *const *nqns; /* the subsystems that are reached here; count 0: all */
	size_t nqn_count;
};

/* Every bound has a default in target_config_init(); times in ns, 0 there means "no limit". */
struct target_limits {
	uint32_t subsystems;           /* at most, those added later included */
	uint32_t connections;          /* open at once, whole target */
	uint32_t controllers;          /* per subsystem */
	uint32_t controllers_per_host; /* per subsystem and host */
	uint32_t io_queues;            /* per controller */
	uint32_t queue_depth;          /* entries of a queue, 2 .. 1024; CAP.MQES + 1 */
	uint32_t namespaces;           /* NN: largest NSID, fixed for the life of a controller */
	uint32_t mdts;       /* bytes a command moves at most: a power of two, 4 KiB .. 2 MiB */
	uint32_t in_capsule; /* bytes of data in an I/O command capsule, 0 .. 128 KiB */
	uint32_t maxh2cdata; /* bytes a host sends in one H2CData PDU, >= 4096 */
	uint32_t c2h_chunk;  /* bytes of one C2HData PDU at most, so that reads interleave */
	uint64_t arena;      /* bytes of data buffers, all reactors together; lazily touched */
	uint64_t icreq_ns;   /* accept to ICReq */
	uint64_t connect_ns; /* ICReq to a successful Connect */
	uint64_t first_command_ns;    /* admin Connect to the first command after it */
	uint64_t transfer_ns;         /* a PDU once begun; data asked for by R2T */
	uint64_t send_ns;             /* no progress in sending what the host should take */
	uint64_t linger_ns;           /* after C2HTermReq or Disconnect: until the host closes */
	uint64_t keep_alive_grace_ns; /* on top of KATO */
	uint64_t fence_ns; /* an I/O command waits for the fence at most; then it fails */
	uint64_t drain_ns; /* target_drain(), and what is withdrawn: until connections are cut */
	uint64_t tcp_keepalive_ns; /* a silent connection is probed after this; 0: never */
};

struct target_config {
	const struct target_subsys_config *subsystems;
	size_t subsystem_count;
	const struct target_listener_config *listeners;
	size_t listener_count;
	const char *discovery_nqn; /* of its own; NULL: the well-known one alone */
	const struct log *log;     /* NULL: silent; must outlive the target */
	/* Where reservations that persist through power loss are kept; NULL: none do. */
	const char *state_dir;
	struct target_limits limits;

	/* For target_new() only. */
	unsigned int reactors; /* threads; 0: as many as @cores, or 1 */
	const int *cores;      /* CPU of each reactor, or NULL: not pinned */
	size_t core_count;
	struct io_loop_options loop;

	/* For tests only: what the simulator plants to see its oracles fire. */
	struct target_hooks {
		bool no_fence; /* I/O is served at once, whatever dead associations still do */
	} hooks;
};

/* Defaults for everything but subsystems and listeners. */
void target_config_init(struct target_config *c);

/* ---- life ------------------------------------------------------------------------------------ */

/* -EINVAL with a sentence that names the offending value; -ENOMEM; errors of making a loop. */
int target_new(const struct target_config *c, struct target **ret_target, struct err *err);
/*
 * The same on @n loops that the calling thread owns and turns. They must outlive the target. Calls
 * that would block elsewhere never do here.
 */
int target_new_on_loops(const struct target_config *c, struct io_loop *const loops[], size_t n,
			struct target **ret_target, struct err *err);

/*
 * Binds all listeners and accepts. On error nothing listens; errors of bind(2), and of reading
 * state_dir, with a sentence.
 */
int target_start(struct target *t, struct err *err);
/* The address that listener @i is really bound to. Valid after target_start(). */
const struct io_addr *target_listener_addr(const struct target *t, size_t i);

/*
 * Own threads only: waits until target_drain() was called and has come to its end. 0 or -errno of
 * a loop that failed.
 */
int target_run(struct target *t);

/*
 * Begins the end: listeners close, commands that are in flight are answered, then connections are
 * closed; what is left after limits.drain_ns is cut. @now: cut at once. Store operations are always
 * waited for. May be called again, to turn a slow end into a quick one. Any thread, and a signal
 * handler.
 */
void target_drain(struct target *t, bool now);
/* target_drain() was called. Any thread. */
bool target_is_draining(const struct target *t);
/* Nothing is open any more and no store operation is in flight. On loops: turn them until then. */
bool target_drained(const struct target *t);

/* Must be drained, or never started. Takes NULL, returns NULL. */
struct target *target_free(struct target *t);

/* ---- statistics: any thread, at any time ----------------------------------------------------- */

/* Why connections ended. The texts are stable: they are metric labels and log values. */
#define TARGET_CLOSE_LIST(X)                                                                       \
	X(HOST_CLOSED, "host_closed")         /* end of stream */                                  \
	X(HOST_RESET, "host_reset")           /* the stream broke */                               \
	X(HOST_TERM, "host_term")             /* H2CTermReq */                                     \
	X(DISCONNECTED, "disconnected")       /* Disconnect command */                             \
	X(PDU_FIELD, "pdu_field")             /* FES 1 */                                          \
	X(PDU_SEQUENCE, "pdu_sequence")       /* FES 2 */                                          \
	X(PDU_HDGST, "pdu_hdgst")             /* FES 3 */                                          \
	X(PDU_RANGE, "pdu_range")             /* FES 4 */                                          \
	X(PDU_LIMIT, "pdu_limit")             /* FES 5 */                                          \
	X(PDU_UNSUPPORTED, "pdu_unsupported") /* FES 6 */                                          \
	X(QUEUE_OVERRUN, "queue_overrun")     /* more commands than the queue has entries */       \
	X(CONNECT_REFUSED, "connect_refused") /* the Connect command failed */                     \
	X(ICREQ_TIMEOUT, "icreq_timeout")                                                          \
	X(CONNECT_TIMEOUT, "connect_timeout")                                                      \
	X(FIRST_COMMAND_TIMEOUT, "first_command_timeout")                                          \
	X(TRANSFER_TIMEOUT, "transfer_timeout")                                                    \
	X(SEND_TIMEOUT, "send_timeout")                                                            \
	X(KEEP_ALIVE, "keep_alive_timeout")                                                        \
	X(CONTROLLER_GONE, "controller_gone") /* the admin queue ended, or a controller reset */   \
	X(TOO_MANY, "too_many_connections")   /* refused at accept */                              \
	X(NO_MEMORY, "no_memory")                                                                  \
	X(WITHDRAWN, "withdrawn") /* the subsystem, the listener or the host's right is gone */    \
	X(DRAINED, "drained") /* the target is stopping */

enum target_close {
#define TARGET_CLOSE_ENUM(id, text) TARGET_CLOSE_##id,
	TARGET_CLOSE_LIST(TARGET_CLOSE_ENUM)
#undef TARGET_CLOSE_ENUM
		TARGET_CLOSE_COUNT
};

const char *target_close_name(enum target_close reason);

struct target_io_stats {
	uint64_t reads, writes, flushes, others; /* completed, failed ones included */
	uint64_t read_bytes, write_bytes;        /* of those that succeeded */
	uint64_t errors;                         /* completed with a status other than success */
};

struct target_stats {
	uint64_t accepted; /* connections, ever */
	uint64_t open;     /* now */
	uint64_t closed[TARGET_CLOSE_COUNT];
	uint64_t accept_errors;    /* out of descriptors, for instance */
	uint64_t connects;         /* Connect commands that succeeded */
	uint64_t connects_refused; /* ... that failed */
	uint64_t controllers;      /* now */
	uint64_t admin_commands;
	uint64_t ddgst_errors;
	uint64_t fence_waits;                          /* I/O commands that waited for the fence */
	uint64_t fence_expired;                        /* ... in vain, for limits.fence_ns */
	uint64_t arena_bytes, arena_used, arena_waits; /* waits: commands that found it empty */
	struct target_io_stats io;
};

void target_stats(struct target *t, struct target_stats *ret_stats);
/* -ENOENT if there is no such subsystem. */
int target_subsys_stats(struct target *t, const char *nqn, struct target_io_stats *ret_stats);

/* One controller as an operator sees it. Texts are valid during the call only. */
struct target_ctrl_info {
	const char *subnqn;
	const char *hostnqn;
	const char *peer; /* address of the admin connection */
	uint16_t cntlid;
	bool discovery;
	bool ready;
	uint32_t kato_ms;
	uint32_t io_queues; /* connected now */
	bool fenced;        /* I/O waits for an older association of the host */
	struct target_io_stats io;
};

/*
 * Calls @fn for each controller, with the control lock held: be quick, call nothing of the target.
 */
void target_visit_ctrls(struct target *t,
			void (*fn)(void *arg, const struct target_ctrl_info *info), void *arg);

#endif
