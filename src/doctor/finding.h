/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: what a report is made of. Each has an id that scripts may rely on; the table of ids says
 * once why the matter matters and how it is mended, so that neither differs from one machine to the
 * next.
 */
#ifndef DOCTOR_FINDING_H
#define DOCTOR_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

enum doctor_status {
	DOCTOR_PASS,
	DOCTOR_WARN,    /* it works, slower or less surely than it could */
	DOCTOR_FAIL,    /* it does not work, or hardware is not what it should be */
	DOCTOR_ABSENT,  /* this machine has none, so there is nothing to judge */
	DOCTOR_UNKNOWN, /* not visible */
	DOCTOR_STATUSES
};

/* "pass", "warn", "fail", "absent", "unknown". */
const char *doctor_status_name(enum doctor_status s);

/* In the order in which they are reported. Texts are in catalogue.c. */
/* clang-format off */
#define DOCTOR_ID_LIST(X) \
	X(GPU_PRESENT, "gpu.present") \
	X(GPU_DRIVER, "gpu.driver") \
	X(GPU_CUDA, "gpu.cuda") \
	X(GPU_LINK, "gpu.link") \
	X(GPU_NUMA, "gpu.numa") \
	X(GPU_BAR1, "gpu.bar1") \
	X(GPU_NIC, "gpu.nic") \
	X(GPU_NVME, "gpu.nvme") \
	X(GPU_ACS, "gpu.acs") \
	X(GPU_PEER, "gpu.peer_memory") \
	X(GPU_FS, "gpu.nvidia_fs") \
	X(GPU_CUFILE, "gpu.cufile") \
	X(PATH_STAGED, "path.staged") \
	X(PATH_GDR, "path.gdr") \
	X(PATH_GDS, "path.gds") \
	X(NIC_PRESENT, "nic.present") \
	X(NIC_STATE, "nic.state") \
	X(NIC_LINK, "nic.link") \
	X(NIC_RATE, "nic.rate") \
	X(NIC_NUMA, "nic.numa") \
	X(NIC_MTU, "nic.mtu") \
	X(NIC_COALESCE, "nic.coalesce") \
	X(NIC_PAUSE, "nic.pause") \
	X(NIC_RING, "nic.ring") \
	X(NIC_QUEUES, "nic.queues") \
	X(NIC_IRQS, "nic.irqs") \
	X(DISK_PRESENT, "disk.present") \
	X(DISK_LINK, "disk.link") \
	X(DISK_NUMA, "disk.numa") \
	X(DISK_SCHEDULER, "disk.scheduler") \
	X(DISK_CACHE, "disk.write_cache") \
	X(DISK_REQUEST, "disk.request_size") \
	X(IOMMU_MODE, "system.iommu") \
	X(URING, "system.io_uring") \
	X(MEMLOCK, "system.memlock") \
	X(FILES, "system.files") \
	X(CLOCK, "system.clock") \
	X(GOVERNOR, "system.governor") \
	X(IDLE, "system.idle_states") \
	X(IRQBALANCE, "system.irqbalance") \
	X(HUGEPAGES, "system.hugepages") \
	X(TCP_RMEM, "system.tcp_rmem") \
	X(TCP_WMEM, "system.tcp_wmem") \
	X(NVME_TCP, "system.nvme_tcp") \
	X(TARGET_ADDRESS, "target.address") \
	X(TARGET_CONNECT, "target.connect") \
	X(TARGET_RTT, "target.round_trip") \
	X(TARGET_INTERFACE, "target.interface") \
	X(TARGET_NUMA, "target.numa") \
	X(TARGET_MTU, "target.path_mtu") \
	X(TARGET_IDENTITY, "target.identity") \
	X(TARGET_NAMESPACE, "target.namespace") \
	X(TARGET_TRANSFER, "target.transfer") \
	X(TARGET_CAPSULE, "target.in_capsule") \
	X(TARGET_QUEUES, "target.queues") \
	X(TARGET_DIGESTS, "target.digests") \
	X(TARGET_KEEPALIVE, "target.keep_alive") \
	X(TARGET_QUIESCE, "target.quiesce") \
	X(TARGET_EXTENSION, "target.extension") \
	X(TARGET_FILE, "target.file") \
	X(TARGET_DIRECT, "target.direct") \
	X(LIMITS, "doctor.limits")
/* clang-format on */

enum doctor_id {
#define DOCTOR_ID_ENUM(id, text) DOCTOR_##id,
	DOCTOR_ID_LIST(DOCTOR_ID_ENUM)
#undef DOCTOR_ID_ENUM
	DOCTOR_IDS
};

/* What is the same on every machine. */
struct doctor_entry {
	const char *why;  /* it matters */
	const char *mend; /* how; NULL where there is nothing to be done */
	const char *root; /* what root would add where it is unknown; NULL: nothing */
};

const char *doctor_id_name(enum doctor_id id);
const struct doctor_entry *doctor_entry(enum doctor_id id);

struct doctor_finding {
	enum doctor_id id;
	enum doctor_status status;
	char subject[64]; /* which one: "0000:18:00.0", "eth0"; empty where there is only one */
	char what[256];
	char mend[256];   /* instead of the entry's; empty: that one */
};

struct doctor_report {
	struct doctor_finding *findings;
	size_t count, room;
	size_t by_status[DOCTOR_STATUSES];
	bool incomplete; /* there was no memory for some */
};

#define DOCTOR_REPORT_NULL { NULL, 0, 0, { 0 }, false }

/* @subject: NULL for none. */
void report_add(struct doctor_report *r, enum doctor_id id, const char *subject,
		enum doctor_status status, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* How to mend what was added last, where the machine decides it. */
void report_mend(struct doctor_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* In the order of ids, and of being added. */
void report_sort(struct doctor_report *r);
void report_deinit(struct doctor_report *r);

#endif
