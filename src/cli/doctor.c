/* SPDX-License-Identifier: Apache-2.0 */
/* penstock doctor: what the machine, and the way to a target, can do. */
#include "cli/doctor.h"

#include <string.h>

#include "cli/volume.h"
#include "doctor/gather.h"
#include "doctor/judge.h"
#include "doctor/target.h"

static struct {
	const char *root;
	bool strict, verbose;
} o;

const struct cli_option doctor_options[] = {
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ "root", 'r', CLI_TEXT, &o.root, "DIR", "judge the machine whose /sys, /proc, /etc were copied there",
	  NULL },
	{ "strict", 's', CLI_FLAG, &o.strict, NULL, "exit status 1 for a warning as well", NULL },
	{ "verbose", 'v', CLI_FLAG, &o.verbose, NULL, "say why it matters of every finding", NULL },
	{ .name = NULL },
};

const char *doctor_mend(const struct doctor_finding *f)
{
	if (f->status == DOCTOR_PASS)
		return NULL;
	return f->mend[0] ? f->mend : doctor_entry(f->id)->mend;
}

const char *doctor_root_adds(const struct doctor_facts *facts, const struct doctor_finding *f)
{
	if (facts->system.root || facts->system.captured || f->status != DOCTOR_UNKNOWN)
		return NULL;
	return doctor_entry(f->id)->root;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* What was not seen is left out. */
static void number(struct json_object *to, const char *key, doctor_number n)
{
	if (n >= 0)
		cli_json_u64(to, key, (uint64_t)n);
}

static void text(struct json_object *to, const char *key, const char *value)
{
	if (value && value[0])
		cli_json_str(to, key, value);
}

static struct json_object *device(struct json_object *list, const char *kind, const char *name, const char *model,
				  const struct doctor_pci *p)
{
	struct json_object *d = cli_json_object(list, NULL);

	cli_json_str(d, "kind", kind);
	text(d, "name", name);
	text(d, "model", model);
	text(d, "pci_address", p->bdf);
	text(d, "driver", p->driver);
	number(d, "numa_node", p->node);
	number(d, "pcie_lanes", p->link.width);
	number(d, "pcie_lanes_max", p->link.width_max);
	if (link_mbits(p->link.speed, p->link.width) >= 0)
		cli_json_u64(d, "pcie_bits_per_second",
			     (uint64_t)link_mbits(p->link.speed, p->link.width) * 1000000);
	return d;
}

static void machine_json(struct json_object *doc, const struct doctor_facts *f)
{
	const struct doctor_system *s = &f->system;
	struct json_object *m = cli_json_object(doc, "machine"), *list, *d;

	text(m, "kernel", s->kernel);
	number(m, "cpus", s->cpus);
	number(m, "numa_nodes", s->nodes);
	cli_json_bool(m, "virtual", s->hypervisor);
	cli_json_bool(m, "container", s->container);
	cli_json_bool(m, "root", s->root);
	text(m, "copied_tree", s->captured ? o.root : "");
	list = cli_json_array(doc, "devices");
	for (size_t i = 0; i < f->gpu_count; i++) {
		d = device(list, "gpu", "", f->gpus[i].model, &f->gpus[i].pci);
		number(d, "bar1_bytes", f->gpus[i].bar1_bytes);
	}
	for (size_t i = 0; i < f->nic_count; i++) {
		d = device(list, "nic", f->nics[i].name, "", &f->nics[i].pci);
		text(d, "rdma_device", f->nics[i].rdma);
		if (f->nics[i].mbits >= 0)
			cli_json_u64(d, "line_bits_per_second", (uint64_t)f->nics[i].mbits * 1000000);
		number(d, "mtu_bytes", f->nics[i].mtu);
	}
	for (size_t i = 0; i < f->disk_count; i++) {
		d = device(list, "disk", f->disks[i].name, f->disks[i].model, &f->disks[i].pci);
		text(d, "transport", f->disks[i].transport);
	}
}

static void target_json(struct json_object *doc, const char *uri, const struct doctor_target *t)
{
	struct json_object *x;

	if (t->kind == DOCTOR_TO_NONE)
		return;
	x = cli_json_object(doc, "target");
	cli_json_str(x, "uri", uri);
	text(x, "address", t->address);
	text(x, "interface", t->interface);
	text(x, "disk", t->disk);
	number(x, "round_trip_us", t->rtt_us);
	number(x, "command_us", t->command_us);
	number(x, "path_mtu_bytes", t->path_mtu);
	if (t->kind != DOCTOR_TO_TCP || t->reached != DOCTOR_LIVE)
		return;
	text(x, "subsystem_nqn", t->subnqn);
	text(x, "model", t->model);
	text(x, "serial", t->serial);
	text(x, "firmware", t->firmware);
	cli_json_u64(x, "max_transfer_bytes", t->mdts_bytes);
	cli_json_u64(x, "capsule_bytes", t->ioccsz_bytes);
	cli_json_u64(x, "queues", t->queues);
	cli_json_u64(x, "queues_asked", t->queues_asked);
	cli_json_u64(x, "depth", t->depth);
	cli_json_bool(x, "header_digest", t->hdgst);
	cli_json_bool(x, "data_digest", t->ddgst);
	cli_json_u64(x, "keep_alive_ms", t->kato_ms);
	cli_json_u64(x, "quiesce_ms", t->cqt_ms);
	cli_json_bool(x, "times", t->times);
}

static void finding_json(struct json_object *list, const struct doctor_facts *facts,
			 const struct doctor_finding *f)
{
	struct json_object *x = cli_json_object(list, NULL);

	cli_json_str(x, "id", doctor_id_name(f->id));
	text(x, "subject", f->subject);
	cli_json_str(x, "status", doctor_status_name(f->status));
	cli_json_str(x, "what", f->what);
	cli_json_str(x, "why", doctor_entry(f->id)->why);
	text(x, "mend", doctor_mend(f));
	text(x, "root_adds", doctor_root_adds(facts, f));
}

static int print_json(const struct doctor_facts *f, const struct doctor_report *r, const char *uri)
{
	struct json_object *doc = cli_json_new("doctor"), *list, *counts;

	cli_json_str(doc, "version", pst_version());
	machine_json(doc, f);
	target_json(doc, uri, &f->target);
	list = cli_json_array(doc, "findings");
	for (size_t i = 0; i < r->count; i++)
		finding_json(list, f, &r->findings[i]);
	counts = cli_json_object(doc, "counts");
	for (int s = 0; s < DOCTOR_STATUSES; s++)
		cli_json_u64(counts, doctor_status_name((enum doctor_status)s), r->by_status[s]);
	return cli_json_print(doc);
}

/* ---- for reports ----------------------------------------------------------------------------- */

static void add_topology(struct json_object *doc, const struct doctor_facts *f)
{
	struct json_object *x = cli_json_object(doc, "topology"), *list;
	struct doctor_report r = DOCTOR_REPORT_NULL;

	machine_json(x, f);
	doctor_judge(f, &r);
	list = cli_json_array(x, "findings");
	for (size_t i = 0; i < r.count; i++) {
		if (r.findings[i].status == DOCTOR_WARN || r.findings[i].status == DOCTOR_FAIL)
			finding_json(list, f, &r.findings[i]);
	}
	report_deinit(&r);
}

void doctor_topology(struct json_object *doc)
{
	struct doctor_facts *f = doctor_facts_new();
	struct err err = ERR_NULL;

	if (f && gather_machine("", f, &err) == 0)
		add_topology(doc, f);
	doctor_facts_free(f);
}

/* ---- the command --------------------------------------------------------------------------- */

static int print_text(const struct doctor_facts *f, const struct doctor_report *r)
{
	doctor_print(f, r, o.verbose);
	return cli_output_done();
}

static int report(const struct doctor_facts *f, const char *uri)
{
	struct doctor_report r = DOCTOR_REPORT_NULL;
	int rc;

	doctor_judge(f, &r);
	if (r.incomplete)
		rc = cli_error("out of memory");
	else
		rc = cli_json ? print_json(f, &r, uri) : print_text(f, &r);
	if (rc == CLI_DONE && (r.by_status[DOCTOR_FAIL] > 0 || (o.strict && r.by_status[DOCTOR_WARN] > 0)))
		rc = CLI_FAILED;
	report_deinit(&r);
	return rc;
}

static int examine(struct doctor_facts *f, const char *uri)
{
	struct err err = ERR_NULL;

	if (gather_machine(o.root ? o.root : "", f, &err) < 0)
		return cli_usage("doctor: --root: %s", err_text(&err));
	if (uri && gather_target(uri, cli_identity.hostnqn, cli_identity.hostid, &f->target, &err) < 0)
		return cli_usage("doctor: %s: %s", uri, err_text(&err));
	return report(f, uri);
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_facts *f;
	int rc;

	if (o.root && argc > 0)
		return cli_usage(
			"doctor: --root judges a copy of another machine, from which no target can be reached: "
			"give either --root or a URI");
	if (o.root && !o.root[0])
		return cli_usage("doctor: --root: '': expected a directory");
	f = doctor_facts_new();
	if (!f)
		return cli_error("out of memory");
	rc = examine(f, argv[0]);
	doctor_facts_free(f);
	return rc;
}
