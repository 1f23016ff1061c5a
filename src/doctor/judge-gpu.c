/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs: link, place, window, driver, and the ways from NICs and disks to them. A way is judged for the
 * nearest NIC and the nearest disk of each GPU: those are the ones that should be used for it.
 */
#include <stdio.h>
#include <string.h>

#include "doctor/judge.h"
#include "doctor/pci-config.h"

enum {
	VENDOR_NVIDIA = 0x10de,
	CUDA_P2PDMA = 12080, /* cuFile does without nvidia-fs since CUDA 12.8, on Linux 6.2 or later */
};

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)
/* A window below this is the one of a card without Resizable BAR, 256 MiB, or cut down by the BIOS. */
#define BAR1_LARGE GIB

/* ---- driver and libraries ------------------------------------------------------------------ */

static bool any_nvidia(const struct doctor_facts *f)
{
	for (size_t i = 0; i < f->gpu_count; i++) {
		if (f->gpus[i].pci.vendor == VENDOR_NVIDIA)
			return true;
	}
	return false;
}

static void driver(const struct doctor_facts *f, const struct doctor_gpu *g, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;
	const char *bdf = g->pci.bdf, *name = g->pci.driver;

	if (!name[0]) {
		report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_FAIL, "no driver is bound to it");
	} else if (strcmp(name, "nvidia") == 0) {
		if (!n->version[0])
			report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_UNKNOWN,
				   "nvidia, of a version that is not visible");
		else
			report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_PASS, "nvidia %s, %s kernel modules",
				   n->version, n->open ? "open" : "proprietary");
	} else if (strcmp(name, "vfio-pci") == 0) {
		report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_ABSENT,
			   "vfio-pci: it belongs to a virtual machine or a user-space driver");
	} else if (g->pci.vendor == VENDOR_NVIDIA) {
		report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_FAIL, "%s, which has no CUDA", name);
	} else {
		report_add(r, DOCTOR_GPU_DRIVER, bdf, DOCTOR_WARN, "%s: Penstock puts data into NVIDIA GPUs only",
			   name);
		report_mend(r, "read into host memory and copy from there");
	}
}

static void cuda(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;
	int v = (int)n->cuda_version;

	if (n->libcuda < 0)
		report_add(r, DOCTOR_GPU_CUDA, NULL, DOCTOR_UNKNOWN,
			   "libcuda.so.1: no directory of libraries is visible");
	else if (n->libcuda == 0)
		report_add(r, DOCTOR_GPU_CUDA, NULL, DOCTOR_FAIL, "libcuda.so.1 is not there");
	else if (v < 0)
		report_add(r, DOCTOR_GPU_CUDA, NULL, DOCTOR_UNKNOWN, "libcuda.so.1 is there; its version%s",
			   unseen_text(f, n->cuda_version));
	else
		report_add(r, DOCTOR_GPU_CUDA, NULL, DOCTOR_PASS, "CUDA %d.%d", v / 1000, v % 1000 / 10);
}

/* ---- peer-to-peer -------------------------------------------------------------------------- */

static void peer(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;

	if (peer_memory(f) < 0)
		report_add(r, DOCTOR_GPU_PEER, NULL, DOCTOR_UNKNOWN, "modules are not visible");
	else if (n->peermem == 1)
		report_add(r, DOCTOR_GPU_PEER, NULL, DOCTOR_PASS, "nvidia-peermem is loaded");
	else if (peer_memory(f) == 1)
		report_add(r, DOCTOR_GPU_PEER, NULL, DOCTOR_PASS,
			   "dma-buf, by the open kernel modules and Linux %s", f->system.kernel);
	else
		report_add(r, DOCTOR_GPU_PEER, NULL, DOCTOR_WARN,
			   "neither: nvidia-peermem is not loaded, and dma-buf needs the open modules");
}

/* cuFile's way without nvidia-fs. */
static bool p2pdma(const struct doctor_facts *f)
{
	return f->nvidia.p2pdma == 1 && f->nvidia.open && f->nvidia.cuda_version >= CUDA_P2PDMA &&
	       kernel_since(f, 6, 2);
}

static void storage(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;

	if (n->fs < 0)
		report_add(r, DOCTOR_GPU_FS, NULL, DOCTOR_UNKNOWN, "modules are not visible");
	else if (n->fs == 1)
		report_add(r, DOCTOR_GPU_FS, NULL, DOCTOR_PASS, "nvidia-fs is loaded");
	else if (p2pdma(f))
		report_add(r, DOCTOR_GPU_FS, NULL, DOCTOR_PASS,
			   "not loaded, and not needed: cuFile uses PCI P2PDMA");
	else
		report_add(r, DOCTOR_GPU_FS, NULL, DOCTOR_ABSENT, "nvidia-fs is not loaded");
}

static void cufile(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;
	const char *file = n->cufile_json;

	if (n->libcufile < 0)
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_UNKNOWN,
			   "libcufile.so.0: no directory of libraries is visible");
	else if (n->libcufile == 0)
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_ABSENT, "libcufile.so.0 is not there");
	else if (n->cufile_error[0])
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_FAIL, "%s is no JSON: %s", file, n->cufile_error);
	else if (n->compat_forced == 1)
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_WARN,
			   "%s forces compatibility mode: every read is copied", file);
	else if (n->compat_allowed == 0 && (n->fs == 1 || p2pdma(f)))
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_PASS, "goes direct or fails (%s)", file);
	else if (n->compat_allowed == 0)
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_WARN,
			   "there is no nvidia-fs, and %s allows nothing else", file);
	else if (n->fs == 1 || p2pdma(f))
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_WARN,
			   "may fall back to copying without saying so (%s)",
			   file[0] ? file : "no cufile.json: its default");
	else
		report_add(r, DOCTOR_GPU_CUFILE, NULL, DOCTOR_WARN,
			   "there is no nvidia-fs: every read is copied, without saying so");
}

/* ---- one GPU ------------------------------------------------------------------------------- */

static void bar1(const struct doctor_facts *f, const struct doctor_gpu *g, struct doctor_report *r)
{
	doctor_number n = g->bar1_bytes;

	if (n < 0)
		report_add(r, DOCTOR_GPU_BAR1, g->pci.bdf, DOCTOR_UNKNOWN, "its size%s", unseen_text(f, n));
	else if (n == 0)
		report_add(r, DOCTOR_GPU_BAR1, g->pci.bdf, DOCTOR_FAIL, "the BIOS gave it no window at all");
	else if (n < BAR1_LARGE)
		report_add(r, DOCTOR_GPU_BAR1, g->pci.bdf, DOCTOR_WARN, "%lld MiB", (long long)(n / MIB));
	else
		report_add(r, DOCTOR_GPU_BAR1, g->pci.bdf, DOCTOR_PASS, "%lld GiB", (long long)(n / GIB));
}

/* A device that data may come from. */
struct source {
	const struct doctor_pci *pci;
	const char *name;
	enum distance distance;
	int below_gpu, below_source; /* bridges of each chain below what they have in common */
};

static void consider(const struct doctor_facts *f, const struct doctor_gpu *g, const struct doctor_pci *pci,
		     const char *name, struct source *best)
{
	struct source s = { .pci = pci, .name = name };

	s.distance = distance_between(f, &g->pci, pci, &s.below_gpu, &s.below_source);
	if (!best->pci || s.distance < best->distance)
		*best = s;
}

static void distance(const struct doctor_facts *f, const struct doctor_gpu *g, enum doctor_id id,
		     const char *kind, const struct source *s, struct doctor_report *r)
{
	const char *bdf = g->pci.bdf, *where;

	if (!s->pci) {
		report_add(r, id, bdf, DOCTOR_ABSENT, "there is no %s", kind);
		return;
	}
	where = distance_text(s->distance);
	if (s->distance == DISTANCE_UNKNOWN)
		report_add(r, id, bdf, DOCTOR_UNKNOWN, "%s is %s", s->name, where);
	else if (s->distance == DISTANCE_SYSTEM)
		report_add(r, id, bdf, DOCTOR_WARN, "the nearest %s, %s, is %s (%d, the GPU on %d)", kind,
			   s->name, where, s->pci->node, g->pci.node);
	else
		report_add(r, id, bdf, DOCTOR_PASS, "%s is %s", s->name, where);
}

struct acs {
	int on, off, denied, unseen;
	char bridges[128];
};

static void look_at(const struct doctor_facts *f, const char *bdf, struct acs *a)
{
	const struct doctor_bridge *b = doctor_bridge_find(f, bdf);
	size_t len = strlen(a->bridges);

	if (!b || b->acs == DOCTOR_UNSEEN) {
		a->unseen++;
	} else if (b->acs == DOCTOR_DENIED) {
		a->denied++;
	} else if (b->acs & PCICFG_ACS_DETOUR) {
		a->on++;
		snprintf(a->bridges + len, sizeof(a->bridges) - len, "%s%s", len ? " " : "", bdf);
	} else {
		a->off++;
	}
}

/*
 * Only where a switch could turn the traffic around: beyond it everything goes over the root complex
 * anyway. What counts are the ports between both devices and the bridge they have in common.
 */
static void acs(const struct doctor_facts *f, const struct doctor_gpu *g, const struct source *s,
		struct doctor_report *r)
{
	struct acs a = { 0 };

	if (!s->pci || s->distance > DISTANCE_SWITCHES)
		return;
	for (int i = 0; i < s->below_gpu; i++)
		look_at(f, g->pci.chain[i], &a);
	for (int i = 0; i < s->below_source; i++)
		look_at(f, s->pci->chain[i], &a);
	if (a.on > 0) {
		report_add(r, DOCTOR_GPU_ACS, g->pci.bdf, DOCTOR_WARN, "to %s: ACS redirects on %s", s->name,
			   a.bridges);
		report_mend(
			r,
			"turn ACS off in the BIOS, or now: setpci -s BRIDGE ECAP_ACS+6.w=0000 for each of them");
	} else if (a.denied > 0) {
		report_add(r, DOCTOR_GPU_ACS, g->pci.bdf, DOCTOR_UNKNOWN,
			   "to %s: ACS of %d bridges is not visible to this user, who may read 64 bytes", s->name,
			   a.denied);
	} else if (a.unseen > 0 || a.off == 0) {
		report_add(r, DOCTOR_GPU_ACS, g->pci.bdf, DOCTOR_UNKNOWN, "to %s: ACS of the bridges between%s",
			   s->name, unseen_text(f, DOCTOR_UNSEEN));
	} else {
		report_add(r, DOCTOR_GPU_ACS, g->pci.bdf, DOCTOR_PASS, "to %s: off on all %d bridges between",
			   s->name, a.off);
	}
}

static void gpu(const struct doctor_facts *f, const struct doctor_gpu *g, struct doctor_report *r)
{
	struct source nic = { 0 }, disk = { 0 };

	report_add(r, DOCTOR_GPU_PRESENT, g->pci.bdf, DOCTOR_PASS, "%s",
		   g->model[0]                      ? g->model
		   : g->pci.vendor == VENDOR_NVIDIA ? "an NVIDIA GPU"
						    : "an AMD GPU");
	driver(f, g, r);
	judge_link(r, f, DOCTOR_GPU_LINK, g->pci.bdf, &g->pci.link, true);
	judge_node(r, f, DOCTOR_GPU_NUMA, g->pci.bdf, g->pci.node);
	bar1(f, g, r);
	for (size_t i = 0; i < f->nic_count; i++)
		consider(f, g, &f->nics[i].pci, f->nics[i].name, &nic);
	for (size_t i = 0; i < f->disk_count; i++) {
		if (f->disks[i].nvme && f->disks[i].pci.bdf[0])
			consider(f, g, &f->disks[i].pci, f->disks[i].name, &disk);
	}
	distance(f, g, DOCTOR_GPU_NIC, "NIC", &nic, r);
	distance(f, g, DOCTOR_GPU_NVME, "NVMe disk", &disk, r);
	acs(f, g, &nic, r);
	acs(f, g, &disk, r);
}

void judge_gpus(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->gpu_count == 0) {
		if (f->system.sysfs)
			report_add(r, DOCTOR_GPU_PRESENT, NULL, DOCTOR_ABSENT, "no GPU on the PCI bus");
		else
			report_add(r, DOCTOR_GPU_PRESENT, NULL, DOCTOR_UNKNOWN, "PCI devices%s",
				   unseen_text(f, DOCTOR_UNSEEN));
		return;
	}
	for (size_t i = 0; i < f->gpu_count; i++)
		gpu(f, &f->gpus[i], r);
	if (any_nvidia(f)) {
		cuda(f, r);
		peer(f, r);
		storage(f, r);
		cufile(f, r);
	}
}

/* ---- the paths that follow ----------------------------------------------------------------- */

static void staged(const struct doctor_facts *f, struct doctor_report *r)
{
	bool bound = false;

	for (size_t i = 0; i < f->gpu_count; i++)
		bound |= strcmp(f->gpus[i].pci.driver, "nvidia") == 0;
	if (!bound)
		report_add(r, DOCTOR_PATH_STAGED, NULL, DOCTOR_ABSENT, "no GPU has NVIDIA's driver");
	else if (f->nvidia.libcuda == 1)
		report_add(r, DOCTOR_PATH_STAGED, NULL, DOCTOR_PASS,
			   "the machine has what it takes: driver and libcuda");
	else if (f->nvidia.libcuda < 0)
		report_add(r, DOCTOR_PATH_STAGED, NULL, DOCTOR_UNKNOWN,
			   "whether there is a libcuda.so.1 is not visible");
	else
		report_add(r, DOCTOR_PATH_STAGED, NULL, DOCTOR_FAIL, "it lacks libcuda.so.1");
}

static void gdr(const struct doctor_facts *f, struct doctor_report *r)
{
	const char *rdma = NULL;

	for (size_t i = 0; i < f->nic_count && !rdma; i++)
		rdma = f->nics[i].rdma[0] ? f->nics[i].rdma : NULL;
	if (!rdma)
		report_add(r, DOCTOR_PATH_GDR, NULL, DOCTOR_ABSENT, "no NIC has an RDMA device");
	else if (peer_memory(f) < 0)
		report_add(r, DOCTOR_PATH_GDR, NULL, DOCTOR_UNKNOWN,
			   "whether %s may reach GPU memory is not visible", rdma);
	else if (peer_memory(f) == 0)
		report_add(r, DOCTOR_PATH_GDR, NULL, DOCTOR_ABSENT,
			   "%s is there; dma-buf or nvidia-peermem is not", rdma);
	else
		report_add(r, DOCTOR_PATH_GDR, NULL, DOCTOR_PASS, "the machine has what it takes: %s%s", rdma,
			   f->nvidia.peermem == 1 ? " and nvidia-peermem" : " and dma-buf");
}

static void gds(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_nvidia *n = &f->nvidia;

	if (n->libcufile < 0 || n->fs < 0)
		report_add(r, DOCTOR_PATH_GDS, NULL, DOCTOR_UNKNOWN, "libraries or modules are not visible");
	else if (n->libcufile == 0)
		report_add(r, DOCTOR_PATH_GDS, NULL, DOCTOR_ABSENT, "it lacks libcufile.so.0%s",
			   n->fs == 1 ? "" : " and nvidia-fs");
	else if (n->fs == 1 || p2pdma(f))
		report_add(r, DOCTOR_PATH_GDS, NULL, DOCTOR_PASS, "the machine has what it takes: cuFile and %s",
			   n->fs == 1 ? "nvidia-fs" : "PCI P2PDMA");
	else
		report_add(r, DOCTOR_PATH_GDS, NULL, DOCTOR_ABSENT,
			   "cuFile is there; it lacks nvidia-fs, or PCI P2PDMA (CUDA 12.8, Linux 6.2, open "
			   "modules)");
}

void judge_paths(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->gpu_count == 0)
		return;
	staged(f, r);
	gdr(f, r);
	gds(f, r);
}
