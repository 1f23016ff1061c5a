/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a target for people: changes, status, statistics; scripts take --output-format json. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/ctl.h"

struct json_object *ctl_get(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) ? v : NULL;
}

const char *ctl_text(struct json_object *o, const char *key)
{
	struct json_object *v = ctl_get(o, key);

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

uint64_t ctl_u64(struct json_object *o, const char *key)
{
	return json_object_get_uint64(ctl_get(o, key));
}

static double real(struct json_object *o, const char *key)
{
	return json_object_get_double(ctl_get(o, key));
}

static bool flag(struct json_object *o, const char *key)
{
	return json_object_get_boolean(ctl_get(o, key));
}

/* Elements of a list; 0 if it is not there, or no list. */
static size_t count(struct json_object *o, const char *key)
{
	struct json_object *list = ctl_get(o, key);

	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* Calls @fn for each element of a list. */
static void each(struct json_object *o, const char *key, void (*fn)(struct json_object *x))
{
	for (size_t i = 0, n = count(o, key); i < n; i++)
		fn(json_object_array_get_idx(ctl_get(o, key), i));
}

static size_t words; /* printed of the present list */

static void listed(struct json_object *x)
{
	if (json_object_is_type(x, json_type_string))
		printf("%s%s", words++ ? "," : "", json_object_get_string(x));
}

static void word(struct json_object *x)
{
	if (json_object_is_type(x, json_type_string))
		printf(" %s", json_object_get_string(x));
}

static int done(void)
{
	return cli_output_done();
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change(struct json_object *x)
{
	printf("%s", ctl_text(x, "what"));
	if (ctl_get(x, "subsystem"))
		printf(" subsystem=%s", ctl_text(x, "subsystem"));
	if (ctl_get(x, "nsid"))
		printf(" nsid=%" PRIu64, ctl_u64(x, "nsid"));
	if (ctl_get(x, "detail"))
		printf(" %s", ctl_text(x, "detail"));
	putchar('\n');
}

int ctl_show_change(struct json_object *result)
{
	each(result, "changes", change);
	if (ctl_get(result, "changes") && count(result, "changes") == 0)
		puts("nothing to change");
	if (ctl_u64(result, "stores_still_in_use") > 0)
		printf("%" PRIu64 " removed store(s) still serve commands in flight\n",
		       ctl_u64(result, "stores_still_in_use"));
	if (ctl_get(result, "size_bytes"))
		printf("size_bytes=%" PRIu64 "%s\n", ctl_u64(result, "size_bytes"),
		       json_object_get_boolean(ctl_get(result, "changed")) ? "" : " (as before)");
	if (ctl_get(result, "draining"))
		puts("draining");
	return done();
}

/* ---- status ---------------------------------------------------------------------------------- */

static void listener(struct json_object *x)
{
	printf("listener    %s", ctl_text(x, "address"));
	if (ctl_text(x, "advertise")[0])
		printf(" advertised as %s", ctl_text(x, "advertise"));
	each(x, "subsystems", word);
	putchar('\n');
}

static void subsystem(struct json_object *x)
{
	printf("subsystem   %s serial=%s controllers=%" PRIu64 "%s allow=", ctl_text(x, "nqn"),
	       ctl_text(x, "serial"), ctl_u64(x, "controllers"), flag(x, "leaving") ? " (leaving)" : "");
	if (count(x, "allow") == 0)
		printf("none");
	words = 0;
	each(x, "allow", listed);
	putchar('\n');
}

static void ns(struct json_object *x)
{
	char size[FORMAT_MAX];

	printf("namespace   %s/%" PRIu64 " %s, blocks of %" PRIu64 "%s, %s:%s\n", ctl_text(x, "subsystem"),
	       ctl_u64(x, "nsid"), format_size(ctl_u64(x, "size_bytes"), size, sizeof(size)),
	       ctl_u64(x, "block_bytes"), flag(x, "read_only") ? ", read-only" : "", ctl_text(x, "store"),
	       ctl_text(x, "name"));
}

static void controller(struct json_object *x)
{
	printf("controller  %s cntlid=%" PRIu64 " host=%s peer=%s io_queues=%" PRIu64 " kato=%gs%s%s\n",
	       ctl_text(x, "subsystem"), ctl_u64(x, "cntlid"), ctl_text(x, "host"), ctl_text(x, "peer"),
	       ctl_u64(x, "io_queues"), real(x, "kato_seconds"), flag(x, "ready") ? "" : " not-ready",
	       flag(x, "fenced") ? " fenced" : "");
}

int ctl_show_status(struct json_object *result)
{
	printf("target      penstock %s, process %" PRIu64 ", up %.0f s%s\n", ctl_text(result, "version"),
	       ctl_u64(result, "pid"), real(result, "uptime_seconds"),
	       flag(result, "draining") ? ", draining" : "");
	each(result, "listeners", listener);
	each(result, "subsystems", subsystem);
	each(result, "namespaces", ns);
	each(result, "controllers", controller);
	return done();
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void io(struct json_object *x)
{
	char in[FORMAT_MAX], out[FORMAT_MAX];

	printf("reads=%" PRIu64 " (%s) writes=%" PRIu64 " (%s) flushes=%" PRIu64 " others=%" PRIu64
	       " errors=%" PRIu64 "\n",
	       ctl_u64(x, "reads"), format_size(ctl_u64(x, "read_bytes"), out, sizeof(out)), ctl_u64(x, "writes"),
	       format_size(ctl_u64(x, "written_bytes"), in, sizeof(in)), ctl_u64(x, "flushes"),
	       ctl_u64(x, "others"), ctl_u64(x, "errors"));
}

static void latency(struct json_object *all, const char *name)
{
	struct json_object *x = ctl_get(all, name);

	if (ctl_u64(x, "count") > 0)
		printf("latency     %-5s mean=%.1fus p50=%.1fus p95=%.1fus p99=%.1fus p99.9=%.1fus max=%.1fus\n",
		       name, real(x, "mean"), real(x, "p50"), real(x, "p95"), real(x, "p99"), real(x, "p99_9"),
		       real(x, "max"));
}

static void core(struct json_object *x)
{
	printf("core        %" PRIu64 " connections=%" PRIu64 " arena=%" PRIu64 "/%" PRIu64 " ", ctl_u64(x, "core"),
	       ctl_u64(x, "connections"), ctl_u64(x, "arena_used_bytes"), ctl_u64(x, "arena_bytes"));
	io(x);
}

static void ns_stats(struct json_object *x)
{
	printf("namespace   %s/%" PRIu64 " ", ctl_text(x, "subsystem"), ctl_u64(x, "nsid"));
	io(x);
}

static void host(struct json_object *x)
{
	printf("host        %s connections=%" PRIu64 " arena_io=%" PRIu64 " arena_control=%" PRIu64 "\n",
	       ctl_text(x, "host"), ctl_u64(x, "connections"), ctl_u64(x, "arena_io_bytes"),
	       ctl_u64(x, "arena_control_bytes"));
}

static void connections(struct json_object *c)
{
	struct json_object *closed = ctl_get(c, "closed");

	printf("connections open=%" PRIu64 " of %" PRIu64 ", accepted=%" PRIu64 " accept_errors=%" PRIu64
	       " connects=%" PRIu64 " refused=%" PRIu64 "\n",
	       ctl_u64(c, "open"), ctl_u64(c, "limit"), ctl_u64(c, "accepted"), ctl_u64(c, "accept_errors"),
	       ctl_u64(c, "connects"), ctl_u64(c, "connects_refused"));
	if (!json_object_is_type(closed, json_type_object))
		return;
	json_object_object_foreach(closed, reason, n) {
		if (json_object_get_uint64(n) > 0)
			printf("closed      %s=%" PRIu64 "\n", reason, json_object_get_uint64(n));
	}
}

int ctl_show_stats(struct json_object *result)
{
	static const char *const classes[] = { "read", "write", "other" };
	struct json_object *arena = ctl_get(result, "arena"), *fence = ctl_get(result, "fence");

	printf("io          ");
	io(ctl_get(result, "io"));
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		latency(ctl_get(result, "latency_us"), classes[i]);
	connections(ctl_get(result, "connections"));
	printf("controllers %" PRIu64 ", admin_commands=%" PRIu64 " data_digest_errors=%" PRIu64 "\n",
	       ctl_u64(result, "controllers"), ctl_u64(result, "admin_commands"),
	       ctl_u64(result, "data_digest_errors"));
	printf("fence       waits=%" PRIu64 " expired=%" PRIu64 "\n", ctl_u64(fence, "waits"),
	       ctl_u64(fence, "expired"));
	printf("arena       used=%" PRIu64 " of %" PRIu64 " bytes, waits=%" PRIu64 "\n",
	       ctl_u64(arena, "used_bytes"), ctl_u64(arena, "bytes"), ctl_u64(arena, "waits"));
	each(result, "cores", core);
	each(result, "namespaces", ns_stats);
	each(result, "hosts", host);
	return done();
}
