/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"
#include "bench/report-impl.h"

/* ---- the way ------------------------------------------------------------------------------- */

static void stop(struct report *r, const char *what, const char *more)
{
	text_add(r->t, "<li><span><b>");
	text_escape(r->t, what);
	text_add(r->t, "</b>");
	text_escape(r->t, more);
	text_add(r->t, "</span></li>\n");
}

static const char *size_text(double bytes, char *buf)
{
	return format_size(bytes > 0 ? (uint64_t)bytes : 0, buf, FORMAT_MAX);
}

/* From where the data lands to where it lies. */
static void way(struct report *r, struct json_object *target)
{
	const char *interface = figures_text(target, "interface"), *address = figures_text(target, "address");
	char text[256], size[FORMAT_MAX];

	text_add(r->t, "<ul class=\"way\">\n");
	snprintf(text, sizeof(text), "path '%s'%s%s", figures_text(r->doc, "path"), r->emulated ? ", " : "",
		 r->emulated ? r->emulated : "");
	stop(r, strcmp(figures_text(r->doc, "path"), "host") == 0 ? "Host memory" : "Accelerator memory", text);
	snprintf(text, sizeof(text), "libpenstock %s, %s", figures_text(r->doc, "version"),
		 figures_text(r->doc, "host.io"));
	stop(r, figures_text(r->doc, "host.name"), text);
	if (*address) {
		if (*interface)
			stop(r, interface, strcmp(interface, "lo") == 0 ? "loopback: no network" : "network interface");
		snprintf(text, sizeof(text), "NVMe/TCP, %s %s", figures_text(target, "model"),
			 figures_text(target, "firmware"));
		stop(r, address, text);
		snprintf(text, sizeof(text), "namespace %.0f, %s in blocks of %.0f", figures_number(target, "nsid"),
			 size_text(figures_number(target, "size_bytes"), size), figures_number(target, "block_bytes"));
		stop(r, figures_text(target, "subsystem_nqn"), text);
	} else {
		snprintf(text, sizeof(text), "%s, %s", figures_text(target, "transport"),
			 size_text(figures_number(target, "size_bytes"), size));
		stop(r, figures_text(target, "uri"), text);
	}
	text_add(r->t, "</ul>\n");
}

/* ---- this machine -------------------------------------------------------------------------- */

static void add_interfaces(struct report *r)
{
	struct json_object *list = figures_at(r->doc, "host.interfaces");

	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *n = report_item(list, i);
		double speed = figures_number(n, "speed_megabits"), node = figures_number(n, "numa_node");
		char text[256], fast[48] = "", where[48] = "";

		if (speed > 0)
			snprintf(fast, sizeof(fast), ", %.0f Mbit/s", speed);
		if (node >= 0)
			snprintf(where, sizeof(where), ", NUMA node %.0f", node);
		snprintf(text, sizeof(text), "%s%s%s%s, MTU %.0f%s", figures_text(n, "name"),
			 *figures_text(n, "driver") ? " " : "", figures_text(n, "driver"), fast,
			 figures_number(n, "mtu_bytes"), where);
		report_fact(r, "Network", text);
	}
}

static void add_nodes(struct report *r)
{
	struct json_object *list = figures_at(r->doc, "host.numa");

	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *n = report_item(list, i);
		double bytes = figures_number(n, "memory_bytes");
		char text[256], size[FORMAT_MAX];

		snprintf(text, sizeof(text), "CPUs %s%s%s", figures_text(n, "cpus"), bytes > 0 ? ", " : "",
			 bytes > 0 ? size_text(bytes, size) : "");
		if (report_length(list) > 1)
			report_fact(r, i ? "" : "NUMA nodes", text);
		else
			report_fact(r, "NUMA", "one node");
	}
}

static void machine(struct report *r)
{
	char text[256], size[FORMAT_MAX];

	text_add(r->t, "<div><h3>This machine</h3>\n<dl class=\"facts\">\n");
	report_fact(r, "Name", figures_text(r->doc, "host.name"));
	snprintf(text, sizeof(text), "%s, %.0f CPUs", figures_text(r->doc, "host.cpu_model"),
		 figures_number(r->doc, "host.cpus"));
	report_fact(r, "CPU", text);
	report_fact(r, "Memory", size_text(figures_number(r->doc, "host.memory_bytes"), size));
	add_nodes(r);
	add_interfaces(r);
	snprintf(text, sizeof(text), "%s %s, %s", figures_text(r->doc, "host.system"),
		 figures_text(r->doc, "host.kernel"), figures_text(r->doc, "host.machine"));
	report_fact(r, "Kernel", text);
	report_fact(r, "I/O through", figures_text(r->doc, "host.io"));
	text_add(r->t, "</dl></div>\n");
}

/* ---- volumes ------------------------------------------------------------------------------- */

static void volume(struct report *r, struct json_object *t, const char *title)
{
	struct json_object *cache = figures_at(t, "volatile_cache");
	char text[256], size[FORMAT_MAX];

	text_add(r->t, "<div><h3>%s</h3>\n<dl class=\"facts\">\n", title);
	report_fact(r, "URI", figures_text(t, "uri"));
	report_fact(r, "Address", figures_text(t, "address"));
	report_fact(r, "Subsystem", figures_text(t, "subsystem_nqn"));
	if (*figures_text(t, "model")) {
		snprintf(text, sizeof(text), "%s, serial %s, firmware %s", figures_text(t, "model"),
			 figures_text(t, "serial"), figures_text(t, "firmware"));
		report_fact(r, "Model", text);
	}
	snprintf(text, sizeof(text), "%s in blocks of %.0f", size_text(figures_number(t, "size_bytes"), size),
		 figures_number(t, "block_bytes"));
	report_fact(r, "Size", text);
	report_fact(r, "Transfer", size_text(figures_number(t, "max_transfer_bytes"), size));
	report_fact(r, "Write cache", json_object_get_boolean(cache) ? "volatile" : "none, or not volatile");
	text_add(r->t, "</dl></div>\n");
}

void report_set_up(struct report *r)
{
	struct json_object *all = figures_at(r->doc, "targets"), *one = figures_at(r->doc, "target");
	size_t n = MAX(report_length(all), (size_t)1);
	char title[32];

	report_section(r, "What it was measured on", false);
	for (size_t i = 0; i < n; i++)
		way(r, all ? report_item(all, i) : one);
	text_add(r->t, "<div class=\"two\">\n");
	machine(r);
	for (size_t i = 0; i < n; i++) {
		if (n > 1)
			snprintf(title, sizeof(title), "Volume %zu", i + 1);
		else
			snprintf(title, sizeof(title), "The volume");
		volume(r, all ? report_item(all, i) : one, title);
	}
	text_add(r->t, "</div>\n</section>\n");
}

/* ---- topology ------------------------------------------------------------------------------ */

static void device(struct report *r, struct json_object *d)
{
	double node = figures_number(d, "numa_node"), lanes = figures_number(d, "pcie_lanes");
	double most = figures_number(d, "pcie_lanes_max");
	const char *name = figures_text(d, "name");
	char where[160] = "", link[64] = "";

	snprintf(where, sizeof(where), "%s%s%s", figures_text(d, "pci_address"),
		 *figures_text(d, "driver") ? ", driver " : "", figures_text(d, "driver"));
	if (lanes > 0)
		snprintf(link, sizeof(link), "%.0f of %.0f PCIe lanes", lanes, most > 0 ? most : lanes);
	text_add(r->t, "<tr><td>%s</td><td>", figures_text(d, "kind"));
	text_escape(r->t, *name ? name : figures_text(d, "model"));
	text_add(r->t, "</td><td class=\"soft\">");
	text_escape(r->t, *where ? where : "no PCI device, or not visible");
	text_add(r->t, "</td><td class=\"soft\">%s</td>", link);
	if (node >= 0)
		text_add(r->t, "<td>node %.0f</td></tr>\n", node);
	else
		text_add(r->t, "<td class=\"soft\">node not known</td></tr>\n");
}

static void finding(struct report *r, struct json_object *f)
{
	const char *subject = figures_text(f, "subject");

	text_add(r->t, "<li><b>");
	text_escape(r->t, *subject ? subject : figures_text(f, "id"));
	text_add(r->t, "</b> ");
	text_escape(r->t, figures_text(f, "what"));
	text_add(r->t, " <span class=\"soft\">");
	text_escape(r->t, figures_text(f, "mend"));
	text_add(r->t, "</span></li>\n");
}

/* As penstock doctor saw it. */
void report_topology(struct report *r)
{
	struct json_object *t = figures_at(r->doc, "topology"), *devices = figures_at(t, "devices");
	struct json_object *findings = figures_at(t, "findings");

	if (!t)
		return;
	report_section(r, "Where devices sit, and what to mind", false);
	if (report_length(devices) > 0)
		text_add(r->t, "<div class=\"scroll\"><table>\n");
	for (size_t i = 0; i < report_length(devices); i++)
		device(r, report_item(devices, i));
	text_add(r->t, "%s", report_length(devices) > 0 ? "</table></div>\n"
							: "<p class=\"soft\">No GPU, NIC or disk is visible.</p>\n");
	if (report_length(findings) > 0)
		text_add(r->t, "<p class=\"soft\">Of what <code>penstock doctor</code> looks at, these can cost "
			       "something here:</p>\n<ul class=\"findings\">\n");
	for (size_t i = 0; i < report_length(findings); i++)
		finding(r, report_item(findings, i));
	text_add(r->t, "%s</section>\n", report_length(findings) > 0 ? "</ul>\n" : "");
}

/* ---- once more ----------------------------------------------------------------------------- */

static void listed(struct report *r, const char *const *list)
{
	for (size_t i = 0; list[i]; i++) {
		if (!figures_at(r->doc, list[i]))
			continue;
		text_add(r->t, "<dt>%s</dt><dd>", list[i]);
		report_number(r, list[i], "");
		text_add(r->t, "</dd>\n");
	}
}

/* Every option that is a number or a word, as it is called in JSON. */
static void options(struct report *r)
{
	struct json_object *o = figures_at(r->doc, "options");
	char path[96];

	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, name, value)
	{
		if (json_object_is_type(value, json_type_object) || json_object_is_type(value, json_type_array))
			continue;
		snprintf(path, sizeof(path), "options.%s", name);
		text_add(r->t, "<dt>");
		text_escape(r->t, name);
		text_add(r->t, "</dt><dd>");
		report_data(r, path, value, value ? json_object_get_string(value) : "none");
		text_add(r->t, "</dd>\n");
	}
}

static const char *const set[] = {
	"workload.name",	 "workload.accelerator", "workload.accelerators",
	"workload.batch",	 "workload.prefetch",	 "workload.compute_seconds_per_step",
	"workload.seed",	 "workload.epochs",	 "workload.dataset_samples",
	"workload.dataset_bytes", "workload.model", "workload.scale", "workload.ranks", "workload.ranks_of_model",
	"workload.piece_bytes", "workload.inflight_per_rank", "workload.token_bytes", "workload.users",
	"workload.threads", "workload.shared_prompts_percent", "workload.last_turns_percent",
	"workload.decode_reads", "workload.think", "workload.warmup_seconds", "workload.phase_seconds", NULL,
};

static const char *const came_to[] = {
	"seconds", "ops", "bytes", "errors", "retries", "reconnects", "verify.samples", "verify.failed",
	"workload.steps", "workload.samples", "workload.compute_seconds", "workload.stall_seconds",
	"workload.checkpoints", "workload.checkpoint_bytes", "workload.checkpoints_held",
	"workload.slowest_rank_bytes_per_second", "workload.conversations", "workload.hits", "workload.misses",
	"workload.dropped", "workload.refused", "workload.tokens_read", "workload.tokens_written",
	"start_uncertainty_us", "workload.job_stall_seconds", "workload.first_batch_seconds",
	"workload.compute_overrun", NULL,
};

/* Lines break between words, not behind the dashes of an option. */
static void command(struct report *r, const char *s)
{
	char word[512];

	while (*s) {
		size_t n = MIN(strcspn(s, " "), sizeof(word) - 1);

		memcpy(word, s, n);
		word[n] = 0;
		text_add(r->t, "<span>");
		text_escape(r->t, word);
		text_add(r->t, "</span>%s", s[n] == ' ' ? " " : "");
		s += n + (s[n] == ' ');
	}
}

void report_again(struct report *r)
{
	report_section(r, "To do it again", false);
	text_add(r->t, "<pre>");
	command(r, figures_text(r->doc, "command"));
	text_add(r->t, "</pre>\n<div class=\"two\">\n<div><h3>What was set, seeds included</h3>\n"
		       "<dl class=\"facts\">\n");
	report_fact(r, "penstock", figures_text(r->doc, "version"));
	report_fact(r, "kernel", figures_text(r->doc, "host.kernel"));
	options(r);
	listed(r, set);
	text_add(r->t, "</dl></div>\n<div><h3>What it came to</h3>\n<dl class=\"facts\">\n");
	listed(r, came_to);
	text_add(r->t, "</dl></div>\n</div>\n</section>\n");
}
