/* SPDX-License-Identifier: Apache-2.0 */
/* Status and statistics as JSON; the idea is in report.h. */
#include "ops/report.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "ops/doc.h"
#include "ops/site.h"
#include "target/inspect.h"

static void put_io(struct json_object *o, const struct target_io_stats *io)
{
	doc_u64(o, "reads", io->reads);
	doc_u64(o, "writes", io->writes);
	doc_u64(o, "flushes", io->flushes);
	doc_u64(o, "others", io->others);
	doc_u64(o, "read_bytes", io->read_bytes);
	doc_u64(o, "written_bytes", io->write_bytes);
	doc_u64(o, "errors", io->errors);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void put_texts(struct json_object *o, const char *key, const char *const *texts, size_t n)
{
	struct json_object *list = doc_array(o, key);

	for (size_t i = 0; i < n; i++)
		doc_str(list, NULL, texts[i]);
}

static void put_subsystem(void *arg, const struct target_subsys_info *info)
{
	static const char *const any[] = { "any" };
	struct json_object *o = doc_object(arg, NULL);

	doc_str(o, "nqn", info->nqn);
	doc_str(o, "serial", info->serial);
	doc_str(o, "model", info->model);
	put_texts(o, "allow", info->allow_any ? any : info->hosts, info->allow_any ? 1 : info->host_count);
	doc_u64(o, "namespaces", info->namespaces);
	doc_u64(o, "controllers", info->controllers);
	doc_bool(o, "leaving", info->leaving);
}

static void put_ns_head(struct json_object *o, const struct target_ns_info *info)
{
	doc_str(o, "subsystem", info->subnqn);
	doc_u64(o, "nsid", info->nsid);
}

static void put_namespace(void *arg, const struct target_ns_info *info)
{
	struct json_object *o = doc_object(arg, NULL);
	char uuid[UUID_TEXT_MAX];

	put_ns_head(o, info);
	doc_str(o, "store", info->kind);
	doc_str(o, "name", info->name);
	doc_u64(o, "size_bytes", info->size_bytes);
	doc_u64(o, "block_bytes", info->block_bytes);
	doc_bool(o, "read_only", info->read_only);
	doc_str(o, "uuid", uuid_format(&info->uuid, uuid));
}

static void put_addr(struct json_object *o, const char *key, const struct io_addr *a)
{
	char text[IO_ADDR_TEXT + 8] = "tcp://";

	if (a)
		io_addr_format(a, text + 6);
	doc_str(o, key, a ? text : NULL);
}

static void put_listener(void *arg, const struct target_listener_info *info)
{
	struct json_object *o = doc_object(arg, NULL);

	put_addr(o, "address", info->addr);
	put_addr(o, "advertise", info->advertise);
	put_texts(o, "subsystems", info->nqns, info->nqn_count);
}

static void put_controller(void *arg, const struct target_ctrl_info *info)
{
	struct json_object *o = doc_object(arg, NULL);

	doc_str(o, "subsystem", info->subnqn);
	doc_u64(o, "cntlid", info->cntlid);
	doc_str(o, "host", info->hostnqn);
	doc_str(o, "peer", info->peer);
	doc_bool(o, "discovery", info->discovery);
	doc_bool(o, "ready", info->ready);
	doc_bool(o, "fenced", info->fenced);
	doc_double(o, "kato_seconds", info->kato_ms / 1000.0);
	doc_u64(o, "io_queues", info->io_queues);
	put_io(doc_object(o, "io"), &info->io);
}

void report_status(const struct site *s, struct json_object *o)
{
	struct target *t = site_target(s);

	doc_str(o, "schema", "penstock.status/1");
	doc_str(o, "version", PENSTOCK_VERSION);
	doc_u64(o, "pid", (uint64_t)getpid());
	doc_double(o, "uptime_seconds", site_uptime(s));
	doc_bool(o, "draining", target_is_draining(t));
	target_visit_listeners(t, put_listener, doc_array(o, "listeners"));
	target_visit_subsystems(t, put_subsystem, doc_array(o, "subsystems"));
	target_visit_namespaces(t, put_namespace, doc_array(o, "namespaces"));
	target_visit_ctrls(t, put_controller, doc_array(o, "controllers"));
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void put_ns_stats(void *arg, const struct target_ns_info *info)
{
	struct json_object *o = doc_object(arg, NULL);

	put_ns_head(o, info);
	put_io(o, &info->io);
}

static void put_subsystem_stats(void *arg, const struct target_subsys_info *info)
{
	struct json_object *o = doc_object(arg, NULL);

	doc_str(o, "nqn", info->nqn);
	doc_u64(o, "controllers", info->controllers);
	put_io(o, &info->io);
}

static void put_core(void *arg, const struct target_core_info *info)
{
	struct json_object *o = doc_object(arg, NULL);

	doc_u64(o, "core", info->index);
	if (info->cpu >= 0)
		doc_u64(o, "cpu", (uint64_t)info->cpu);
	doc_u64(o, "connections", info->connections);
	doc_u64(o, "arena_bytes", info->arena_bytes);
	doc_u64(o, "arena_used_bytes", info->arena_used);
	doc_u64(o, "arena_waits", info->arena_waits);
	put_io(o, &info->io);
}

/* Hosts come core by core, on those cores' threads: they are noted there, and written down here. */
struct hosts {
	struct host {
		char nqn[224];
		struct target_host_info info;
	} *items;
	size_t count;
	bool out_of_memory;
};

static void note_host(void *arg, const struct target_host_info *info)
{
	struct hosts *h = arg;
	struct host *x = NULL;

	for (size_t i = 0; i < h->count && !x; i++)
		if (strcmp(h->items[i].nqn, info->hostnqn) == 0)
			x = &h->items[i];
	if (!x) {
		struct host *grown = mem_realloc(h->items, (h->count + 1) * sizeof(*grown));

		if (!grown) {
			h->out_of_memory = true;
			return;
		}
		h->items = grown;
		x = &grown[h->count++];
		memset(x, 0, sizeof(*x));
		memcpy(x->nqn, info->hostnqn, MIN(strlen(info->hostnqn), sizeof(x->nqn) - 1));
	}
	x->info.connections += info->connections;
	x->info.io_bytes += info->io_bytes;
	x->info.control_bytes += info->control_bytes;
}

static void put_hosts(struct target *t, struct json_object *list)
{
	struct hosts h = { 0 };

	target_visit_hosts(t, note_host, &h);
	for (size_t i = 0; i < h.count; i++) {
		struct json_object *o = doc_object(list, NULL);

		doc_str(o, "host", h.items[i].nqn);
		doc_u64(o, "connections", h.items[i].info.connections);
		doc_u64(o, "arena_io_bytes", h.items[i].info.io_bytes);
		doc_u64(o, "arena_control_bytes", h.items[i].info.control_bytes);
	}
	if (h.out_of_memory)
		doc_put(NULL, NULL, NULL); /* remembered as a failure */
	mem_free(h.items);
}

static void put_latency(struct json_object *o, const char *key, const struct hist *h)
{
	static const struct {
		const char *name;
		double percent;
	} marks[] = {
		{ "p50", 50 },	   { "p95", 95 },      { "p99", 99 },
		{ "p99_9", 99.9 }, { "p99_99", 99.99 }, { "max", 100 },
	};
	struct json_object *x = doc_object(o, key);

	doc_u64(x, "count", h->count);
	doc_double(x, "mean", hist_mean(h) / 1000);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		doc_double(x, marks[i].name, (double)hist_percentile(h, marks[i].percent) / 1000);
}

static void put_latencies(struct target *t, struct json_object *o)
{
	struct hist *h = mem_calloc(TARGET_LATENCY_CLASSES, sizeof(*h));

	if (!h) {
		doc_put(NULL, NULL, NULL);
		return;
	}
	for (int i = 0; i < TARGET_LATENCY_CLASSES; i++)
		hist_init(&h[i]);
	target_latency(t, h);
	put_latency(o, "read", &h[TARGET_LATENCY_READ]);
	put_latency(o, "write", &h[TARGET_LATENCY_WRITE]);
	put_latency(o, "other", &h[TARGET_LATENCY_OTHER]);
	mem_free(h);
}

static void put_connections(struct json_object *o, const struct target_stats *st,
			    const struct target_limits *limits)
{
	struct json_object *closed;

	doc_u64(o, "open", st->open);
	doc_u64(o, "limit", limits->connections);
	doc_u64(o, "accepted", st->accepted);
	doc_u64(o, "accept_errors", st->accept_errors);
	doc_u64(o, "connects", st->connects);
	doc_u64(o, "connects_refused", st->connects_refused);
	closed = doc_object(o, "closed");
	for (int i = 0; i < TARGET_CLOSE_COUNT; i++)
		doc_u64(closed, target_close_name((enum target_close)i), st->closed[i]);
}

void report_stats(const struct site *s, struct json_object *o)
{
	struct target *t = site_target(s);
	struct json_object *x;
	struct target_stats st;

	target_stats(t, &st);
	doc_str(o, "schema", "penstock.stats/1");
	doc_double(o, "uptime_seconds", site_uptime(s));
	put_io(doc_object(o, "io"), &st.io);
	put_latencies(t, doc_object(o, "latency_us"));
	put_connections(doc_object(o, "connections"), &st, site_limits(s));
	doc_u64(o, "controllers", st.controllers);
	doc_u64(o, "admin_commands", st.admin_commands);
	doc_u64(o, "data_digest_errors", st.ddgst_errors);
	x = doc_object(o, "fence");
	doc_u64(x, "waits", st.fence_waits);
	doc_u64(x, "expired", st.fence_expired);
	x = doc_object(o, "arena");
	doc_u64(x, "bytes", st.arena_bytes);
	doc_u64(x, "used_bytes", st.arena_used);
	doc_u64(x, "waits", st.arena_waits);
	target_visit_cores(t, put_core, doc_array(o, "cores"));
	target_visit_subsystems(t, put_subsystem_stats, doc_array(o, "subsystems"));
	target_visit_namespaces(t, put_ns_stats, doc_array(o, "namespaces"));
	put_hosts(t, doc_array(o, "hosts"));
}
