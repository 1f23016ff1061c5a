/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/route.h"
#include "penstock.h"

enum { NODES_MAX = 16, LINE_MAX_ = 256 };

/* ---- the command --------------------------------------------------------------------------- */

static bool plain(const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	return *s && s[strspn(s, safe)] == 0;
}

/* Appends @s as one word of a shell command. */
static size_t quote(char *buf, size_t len, size_t n, const char *s)
{
	if (plain(s))
		return len + (size_t)snprintf(buf + len, n - len, "%s", s);
	len += (size_t)snprintf(buf + len, n - len, "'");
	for (; *s && len < n; s++)
		len += (size_t)snprintf(buf + len, n - len, *s == '\'' ? "'\\''" : "%c", *s);
	return len < n ? len + (size_t)snprintf(buf + len, n - len, "'") : len;
}

/* The command line as it was given: getopt has reordered the one main() has. */
void machine_command(struct json_object *o)
{
	char given[4096], text[8192] = "";
	FILE *f = fopen("/proc/self/cmdline", "r");
	size_t n = f ? fread(given, 1, sizeof(given) - 1, f) : 0, len = 0;

	if (f)
		fclose(f);
	given[n] = 0;
	for (size_t at = 0; at < n && len < sizeof(text); at += strlen(given + at) + 1) {
		if (at > 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " ");
		if (len < sizeof(text))
			len = quote(text, len, sizeof(text), given + at);
	}
	cli_json_str(o, "command", text);
}

/* ---- this machine -------------------------------------------------------------------------- */

/* The first line of a file, without its end. False: there is none. */
static bool first_line(const char *path, char *buf, size_t n)
{
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(buf, (int)n, f);

	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = 0;
	return ok;
}

/* What stands behind "key :" or "key:" in a file of such lines. */
static bool value_of(const char *path, const char *key, char *buf, size_t n)
{
	FILE *f = fopen(path, "r");
	char line[LINE_MAX_], *colon;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon || !strstr(line, key) || strstr(line, key) > colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(buf, n, "%s", colon);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

static void add_node(struct json_object *list, unsigned int number)
{
	char path[128], text[LINE_MAX_], *end;
	struct json_object *o;
	uint64_t kib;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", number);
	if (!first_line(path, text, sizeof(text)))
		return;
	o = cli_json_object(list, NULL);
	cli_json_u64(o, "node", number);
	cli_json_str(o, "cpus", text);
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", number);
	if (!value_of(path, "MemTotal", text, sizeof(text)))
		return;
	end = strchr(text, ' ');
	if (end)
		*end = 0;
	if (parse_u64(text, &kib) == 0)
		cli_json_u64(o, "memory_bytes", kib * 1024);
}

static void add_number(struct json_object *o, const char *key, const char *interface, const char *file)
{
	char path[128], text[32];
	uint64_t value;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface, file);
	/* -1 for what does not apply, such as the node of a machine that has but one. */
	if (first_line(path, text, sizeof(text)) && parse_u64(text, &value) == 0)
		cli_json_u64(o, key, value);
}

static void add_interface(struct json_object *list, const char *name)
{
	struct json_object *o = cli_json_object(list, NULL);
	char path[128], driver[256];
	ssize_t n;

	cli_json_str(o, "name", name);
	snprintf(path, sizeof(path), "/sys/class/net/%s/device/driver", name);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n > 0) {
		driver[n] = 0;
		cli_json_str(o, "driver", strrchr(driver, '/') ? strrchr(driver, '/') + 1 : driver);
	}
	add_number(o, "speed_megabits", name, "speed");
	add_number(o, "mtu_bytes", name, "mtu");
	add_number(o, "numa_node", name, "device/numa_node");
}

/* Those that the volumes are reached through. */
static void add_interfaces(struct json_object *h, const struct bench_target *t, const struct bench_result *r)
{
	struct json_object *list = cli_json_array(h, "interfaces");
	char names[BENCH_URIS_MAX][ROUTE_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < t->uri_count; i++) {
		bool known = false;

		if (!r->info[i].address[0] || route_interface(r->info[i].address, names[n]) < 0)
			continue;
		for (size_t k = 0; k < n; k++)
			known = known || strcmp(names[k], names[n]) == 0;
		if (!known)
			add_interface(list, names[n++]);
	}
}

static void add_host(struct json_object *o, const struct bench_target *t, const struct bench_result *r)
{
	struct json_object *h = cli_json_object(o, "host"), *nodes;
	long pages = sysconf(_SC_PHYS_PAGES), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname u = { .nodename = "" };
	char model[128] = "unknown";

	uname(&u);
	value_of("/proc/cpuinfo", "model name", model, sizeof(model));
	cli_json_str(h, "name", u.nodename);
	cli_json_str(h, "system", u.sysname);
	cli_json_str(h, "kernel", u.release);
	cli_json_str(h, "machine", u.machine);
	cli_json_str(h, "cpu_model", model);
	cli_json_u64(h, "cpus", cpus > 0 ? (uint64_t)cpus : 0);
	cli_json_u64(h, "memory_bytes", pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0);
	cli_json_str(h, "io", r->io);
	nodes = cli_json_array(h, "numa");
	for (unsigned int i = 0; i < NODES_MAX; i++)
		add_node(nodes, i);
	add_interfaces(h, t, r);
}

/* ---- volumes ------------------------------------------------------------------------------- */

static void fill_target(struct json_object *t, const struct pst_volume_info *i)
{
	char interface[ROUTE_NAME_MAX];

	cli_json_str(t, "uri", i->uri);
	cli_json_str(t, "transport", i->transport);
	cli_json_u64(t, "size_bytes", i->size_bytes);
	cli_json_u64(t, "block_bytes", i->block_bytes);
	cli_json_u64(t, "max_transfer_bytes", i->max_transfer_bytes);
	cli_json_bool(t, "volatile_cache", i->volatile_cache);
	cli_json_bool(t, "times", i->target_times);
	if (!i->subsystem_nqn[0])
		return;
	cli_json_str(t, "address", i->address);
	if (route_interface(i->address, interface) == 0)
		cli_json_str(t, "interface", interface);
	cli_json_str(t, "subsystem_nqn", i->subsystem_nqn);
	cli_json_u64(t, "nsid", i->nsid);
	cli_json_str(t, "model", i->model);
	cli_json_str(t, "serial", i->serial);
	cli_json_str(t, "firmware", i->firmware);
}

const char *machine_time(char *buf, size_t n)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || strftime(buf, n, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(buf, n, "unknown");
	return buf;
}

struct json_object *machine_doc(const char *command, const char *label, const struct bench_target *t,
				const struct bench_result *r)
{
	struct json_object *o = cli_json_new(command), *all;
	char now[32];

	cli_json_str(o, "label", label ? label : "");
	cli_json_str(o, "time", machine_time(now, sizeof(now)));
	machine_command(o);
	cli_json_str(o, "version", pst_version());
	add_host(o, t, r);
	fill_target(cli_json_object(o, "target"), &r->info[0]);
	if (t->uri_count < 2)
		return o;
	all = cli_json_array(o, "targets");
	for (size_t i = 0; i < t->uri_count; i++)
		fill_target(cli_json_object(all, NULL), &r->info[i]);
	return o;
}

/* ---- another process ----------------------------------------------------------------------- */

static uint64_t ticks_to_ns(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return ticks * (UINT64_C(1000000000) / (uint64_t)(hz > 0 ? hz : 100));
}

int machine_cpu_of(uint64_t pid, struct bench_cpu *ret)
{
	char path[64], text[1024], *at, *save;
	uint64_t times[2];

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	if (!first_line(path, text, sizeof(text)))
		return -ESRCH;
	/* Field 2 is a name that may hold anything; 14 and 15 are utime and stime, see proc(5). */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 14; field++)
		at = strchr(at + 1, ' ');
	for (int i = 0; i < 2; i++) {
		char *end = at ? strchr(at + 1, ' ') : NULL;

		if (!end)
			return -EINVAL;
		save = at + 1;
		*end = 0;
		if (parse_u64(save, &times[i]) < 0)
			return -EINVAL;
		at = end;
	}
	*ret = (struct bench_cpu){ .user_ns = ticks_to_ns(times[0]), .system_ns = ticks_to_ns(times[1]) };
	return 0;
}
