/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs by their PCI class, and what NVIDIA's driver and libraries show of themselves in files. No
 * library of theirs is needed for any of it.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "doctor/gather.h"

enum {
	CLASS_DISPLAY = 0x03, /* PCI base class; VGA, 3D and other controllers */
	CLASS_ACCELERATOR = 0x12,
	VENDOR_NVIDIA = 0x10de,
	VENDOR_AMD = 0x1002,
	REGIONS = 6,
	JSON_MAX = 65536, /* of cufile.json, which has some 4 KB */
};

struct look {
	const struct tree *t;
	struct doctor_facts *f;
};

/*
 * The largest of the six regions in the lines "0xSTART 0xEND 0xFLAGS" of file `resource`. That is the
 * window onto its memory with every vendor: NVIDIA's BAR1 is region 1 up to Ampere and region 2 since
 * Hopper, whose BAR0 has 64 bits; AMD's is region 0. The others have some MiB.
 */
static doctor_number window(const struct tree *t, const char *bdf)
{
	unsigned long long start, end;
	char text[2048], *line = text;
	doctor_number largest = 0;

	if (tree_text(t, text, sizeof(text), "sys/bus/pci/devices/%s/resource", bdf) <= 0)
		return DOCTOR_UNSEEN;
	for (int i = 0; i < REGIONS && line; i++) {
		if (sscanf(line, "%llx %llx", &start, &end) != 2 || end < start || end - start >= INT64_MAX)
			return DOCTOR_UNSEEN;
		if (end > 0)
			largest = MAX(largest, (doctor_number)(end - start + 1));
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return largest;
}

/* "Model: \t\t NVIDIA H100 80GB HBM3" is a line of /proc/driver/nvidia/gpus/BDF/information. */
static void model_of(const struct tree *t, struct doctor_gpu *g)
{
	char text[2048], *at;

	if (tree_text(t, text, sizeof(text), "proc/driver/nvidia/gpus/%s/information", g->pci.bdf) <= 0)
		return;
	at = strstr(text, "Model:");
	if (!at)
		return;
	at += strlen("Model:");
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = 0;
	snprintf(g->model, sizeof(g->model), "%s", at);
}

static void device(const char *name, void *arg)
{
	const struct look *l = arg;
	doctor_number class = tree_number(l->t, "sys/bus/pci/devices/%s/class", name), vendor;
	struct doctor_gpu *g;

	if (class < 0 || strlen(name) >= DOCTOR_BDF_SIZE)
		return;
	if (class >> 16 != CLASS_DISPLAY && class >> 16 != CLASS_ACCELERATOR)
		return;
	/* Consoles of servers and virtual machines are display controllers as well. */
	vendor = tree_number(l->t, "sys/bus/pci/devices/%s/vendor", name);
	if (vendor != VENDOR_NVIDIA && vendor != VENDOR_AMD)
		return;
	g = doctor_gpu_add(l->f);
	if (!g)
		return;
	snprintf(g->pci.bdf, sizeof(g->pci.bdf), "%s", name);
	gather_pci(l->t, &g->pci);
	g->bar1_bytes = window(l->t, name);
	model_of(l->t, g);
}

/* Whether any of the usual directories of libraries has @name. UNSEEN where there are no such directories. */
static doctor_number library(const struct tree *t, const char *name)
{
	static const char *const dirs[] = {
		"usr/lib/x86_64-linux-gnu",
		"usr/lib/aarch64-linux-gnu",
		"usr/lib64",
		"usr/lib",
		"usr/local/cuda/lib64",
		"usr/local/cuda/targets/x86_64-linux/lib",
		"usr/local/nvidia/lib64",
		"usr/lib/x86_64-linux-gnu/nvidia/current",
		"opt/cuda/lib64",
	};
	doctor_number found = DOCTOR_UNSEEN;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (tree_exists(t, "%s/%s", dirs[i], name))
			return 1;
		if (tree_exists(t, "%s", dirs[i]))
			found = 0;
	}
	return found;
}

static doctor_number flag(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_boolean(v) : DOCTOR_UNSEEN;
}

/* cuFile's own file is JSON with comments, which json-c takes. */
static void cufile_json(const struct tree *t, struct doctor_nvidia *n)
{
	const char *path = t->root[0] ? NULL : getenv("CUFILE_ENV_PATH_JSON");
	struct json_object *o, *p;
	enum json_tokener_error e;
	char *text = mem_alloc(JSON_MAX);

	if (!text)
		return;
	path = path && path[0] == '/' ? path + 1 : "etc/cufile.json";
	if (tree_text(t, text, JSON_MAX, "%s", path) < 0) {
		mem_free(text);
		return;
	}
	snprintf(n->cufile_json, sizeof(n->cufile_json), "/%s", path);
	o = json_tokener_parse_verbose(text, &e);
	if (!o) {
		snprintf(n->cufile_error, sizeof(n->cufile_error), "%s", json_tokener_error_desc(e));
	} else if (json_object_object_get_ex(o, "properties", &p)) {
		n->compat_allowed = flag(p, "allow_compat_mode");
		n->compat_forced = flag(p, "force_compat_mode");
		n->p2pdma = flag(p, "use_pci_p2pdma");
	}
	json_object_put(o);
	mem_free(text);
}

static void nvidia(const struct tree *t, struct doctor_nvidia *n)
{
	char text[512];

	n->proc = tree_exists(t, "proc/driver/nvidia");
	if (tree_text(t, text, sizeof(text), "proc/driver/nvidia/version") > 0)
		n->open = strstr(text, "Open Kernel Module") != NULL;
	tree_text(t, n->version, sizeof(n->version), "sys/module/nvidia/version");
	if (tree_exists(t, "sys/module")) {
		n->peermem = tree_exists(t, "sys/module/nvidia_peermem");
		n->fs = tree_exists(t, "sys/module/nvidia_fs");
	}
	n->libcuda = library(t, "libcuda.so.1");
	n->libnvml = library(t, "libnvidia-ml.so.1");
	n->libcufile = library(t, "libcufile.so.0");
	cufile_json(t, n);
}

void gather_gpus(const struct tree *t, struct doctor_facts *f)
{
	struct look l = { .t = t, .f = f };

	tree_list(t, "sys/bus/pci/devices", device, &l);
	nvidia(t, &f->nvidia);
}
