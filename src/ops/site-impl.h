/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a site share. */
#ifndef OPS_SITE_IMPL_H
#define OPS_SITE_IMPL_H

#include <pthread.h>

#include "base/list.h"
#include "io/io.h"
#include "nvme/nqn.h"
#include "ops/site.h"
#include "store/store.h"

enum { SITE_CORES_MAX = 256 };

/* A store that was opened for a namespace. */
struct site_store {
	struct list link;
	struct site *site;
	struct store *store;
	char nqn[NVME_NQN_SIZE];
	uint32_t nsid;
	bool retired;  /* its namespace was removed; by site->lock, as is the next */
	bool released; /* and nothing uses it */
};

struct site {
	struct config *config;
	const struct log *log;
	struct io_loop *loop; /* opens files; turned for the last flush only */
	struct target_config tc;
	struct target *target;
	int cores[SITE_CORES_MAX];
	uint64_t started; /* ns, monotonic */

	pthread_mutex_t lock;
	pthread_cond_t released;
	struct list stores;
	void (*wake)(void *arg);
	void *wake_arg;
};

/* What the target wants to know of a subsystem or namespace. Pointers into the configuration. */
struct site_view {
	struct target_subsys_config c;
	struct target_ns_config *ns; /* c.namespaces */
};

/* Opens the stores of all its namespaces. */
int site_view_init(struct site *s, struct site_view *v, const struct config_subsystem *from, struct err *err);
/* @failed: the target did not take it: the stores are closed. */
void site_view_deinit(struct site *s, struct site_view *v, bool failed);

int site_open_ns(struct site *s, const char *nqn, const struct config_namespace *from,
		 struct target_ns_config *ret_ns, struct err *err);
/* The target did not take it. */
void site_close_ns(struct site *s, const struct target_ns_config *ns);

/*
 * What serves namespace @nsid (0: any) of @nqn, but for @keep, is to be let go of: it was told to the
 * target.
 */
void site_retire(struct site *s, const char *nqn, uint32_t nsid, const struct store *keep);

void site_listener_config(const struct config_listener *from, struct target_listener_config *ret);

#endif
