/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target is to serve, as people write it: from the command line or from a YAML file, in one
 * structure. Texts are kept as given; what they mean (addresses, stores) is settled by serve, so
 * that the error names the word that was written. Every pointer belongs to the configuration.
 */
#ifndef OPS_CONFIG_H
#define OPS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/addr.h"

struct config_namespace {
	char *store; /* NAMESPACE specification: "file:/srv/a.img,block=4096" */
	uint32_t nsid; /* 0: next free one */
	char *uuid;    /* NULL: the store's */
	bool read_only;
};

struct config_subsystem {
	char *nqn;
	char *serial; /* NULL: derived from the NQN */
	char *model;
	char **allow; /* host NQNs, or the one word "any" or "none"; none given: see config_check() */
	size_t allow_count;
	struct config_namespace *namespaces;
	size_t namespace_count;
};

struct config_listener {
	char *address;	 /* "tcp://ADDR:PORT" */
	char *advertise; /* NULL: the address itself */
	char **nqns;	 /* subsystems reached here; none: all */
	size_t nqn_count;
	struct io_addr bound; /* where it really listens, once it does */
};

/*
 * Bounds on what hosts may have, take and how long: name in the file, how it is written, and the
 * field of struct target_limits that it sets. What each means is said there.
 */
#define CONFIG_LIMIT_LIST(X)                                                                       \
	X(subsystems, COUNT, subsystems)                                                           \
	X(controllers, COUNT, controllers)                                                         \
	X(controllers_per_host, COUNT, controllers_per_host)                                       \
	X(namespaces, COUNT, namespaces)                                                           \
	X(mdts, SIZE, mdts)                                                                        \
	X(in_capsule, SIZE, in_capsule)                                                            \
	X(max_h2c_data, SIZE, maxh2cdata)                                                          \
	X(c2h_chunk, SIZE, c2h_chunk)                                                              \
	X(icreq, TIME, icreq_ns)                                                                   \
	X(connect, TIME, connect_ns)                                                               \
	X(first_command, TIME, first_command_ns)                                                   \
	X(transfer, TIME, transfer_ns)                                                             \
	X(send, TIME, send_ns)                                                                     \
	X(linger, TIME, linger_ns)                                                                 \
	X(keep_alive_grace, TIME, keep_alive_grace_ns)                                             \
	X(fence, TIME, fence_ns)                                                                   \
	X(tcp_keepalive, TIME, tcp_keepalive_ns)

struct config_limit {
	char *text; /* as written; NULL: default */
	uint64_t value; /* a number, bytes or ns; the first two fit 32 bits */
};

struct config_limits {
#define CONFIG_LIMIT_FIELD(name, kind, field) struct config_limit name;
	CONFIG_LIMIT_LIST(CONFIG_LIMIT_FIELD)
#undef CONFIG_LIMIT_FIELD
};

struct config {
	struct config_listener *listeners;
	size_t listener_count;
	struct config_subsystem *subsystems;
	size_t subsystem_count;
	char *cores;	 /* "0,2-3"; NULL: one reactor, not pinned */
	char *log_level; /* NULL: info */
	char *state_dir; /* what must survive power loss; NULL: nothing does */
	char *control;	 /* path of the control socket, or "none"; NULL: the default one */
	uint32_t queue_depth; /* 0: default */
	uint32_t io_queues;   /* per controller; 0: default */
	uint32_t connections; /* 0: default */
	/* As written, and as numbers; 0: default. */
	char *spin;
	char *arena;
	char *drain;
	uint64_t spin_ns;
	uint64_t arena_bytes;
	uint64_t drain_ns;
	struct config_limits limits;
};

/* Reads a YAML file. -EINVAL with file, line and what was expected; errors of opening. */
int config_load(const char *path, struct config **ret_config, struct err *err);

/*
 * One subsystem from the words of a command line. NULL or zero for what was not given. -ENOMEM.
 */
struct config_words {
	const char *const *listen;
	size_t listen_count;
	const char *advertise;
	const char *nqn;
	const char *serial;
	const char *model;
	const char *const *allow;
	size_t allow_count;
	char *const *namespaces;
	size_t namespace_count;
};

/*
 * Fills in what a file may leave out: the default listener, and numbers of namespaces: in each
 * subsystem the place in the list, where that is free.
 */
int config_settle(struct config *c, struct err *err);
int config_from_words(const struct config_words *w, struct config **ret_config, struct err *err);

/* Takes NULL, returns NULL. */
struct config *config_free(struct config *c);
/* -ENOMEM. */
int config_copy(const struct config *c, struct config **ret_config, struct err *err);

/* "0,2-3" into CPU numbers. Returns how many, or -EINVAL with a sentence. */
int config_parse_cores(const char *text, int *ret_cores, size_t max, struct err *err);

/*
 * Whether it can be served, as far as can be said without opening anything: addresses, names,
 * numbers, and who may connect. On loopback a subsystem that says nothing admits anybody of this
 * machine; a listener anywhere else is refused unless each subsystem that is reached there names
 * its hosts, or says "any" or "none". -EINVAL and -EACCES with a sentence.
 */
int config_check(const struct config *c, struct err *err);

struct config_subsystem *config_find(const struct config *c, const char *nqn);
/* NULL if there is none. */
struct config_namespace *config_find_ns(const struct config_subsystem *s, uint32_t nsid);
/* What config_check() found right. */
void config_address(const struct config_listener *l, struct io_addr *ret_addr,
		    struct io_addr *ret_advertise);
bool config_allows_any(const struct config_subsystem *s);
/* The hosts that are named; none with "any" and "none". */
size_t config_host_count(const struct config_subsystem *s);

#define CONFIG_DEFAULT_PORT   4420
#define CONFIG_DEFAULT_LISTEN "tcp://127.0.0.1:4420"
#define CONFIG_DEFAULT_NQN    "nqn.2026-11.io.penstock:default"

#endif
