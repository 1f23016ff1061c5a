/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a machine and of the way to a target, as plain values: gathered by gather.h from
 * sysfs, procfs and live probes, judged by judge.h, which sees nothing else. So every judgement can
 * be tested without the machine that it is about.
 *
 * What could not be seen is a value of its own, never a zero: DOCTOR_UNSEEN and DOCTOR_DENIED in
 * numbers, an empty text in texts. Nothing of the kind is ever judged to be right.
 */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DOCTOR_UNSEEN (-1) /* there is nothing to read it from */
#define DOCTOR_DENIED (-2) /* there is, but not for this user */

enum {
	DOCTOR_GPUS_MAX = 32,    /* more than any one machine has today */
	DOCTOR_NICS_MAX = 64,
	DOCTOR_DISKS_MAX = 128,
	DOCTOR_BRIDGES_MAX = 256,
	DOCTOR_CHAIN_MAX = 12,   /* bridges above a device; a switch tree is two or three deep */
	DOCTOR_BDF_SIZE = 20,    /* "0000:18:00.0"; a domain may have eight digits */
	DOCTOR_NAME_SIZE = 40,
	DOCTOR_TEXT_SIZE = 96,
};

/* A number or one of the two above. */
typedef int64_t doctor_number;

/* Speeds in tenths of GT/s: 25, 50, 80, 160, 320, 640. */
struct doctor_link {
	doctor_number speed, width;           /* as negotiated */
	doctor_number speed_max, width_max;   /* what the device can do */
	doctor_number port_speed, port_width; /* what the port above it can do */
};

struct doctor_pci {
	char bdf[DOCTOR_BDF_SIZE]; /* empty: no PCI device, or not visible */
	char driver[DOCTOR_NAME_SIZE];
	doctor_number vendor;
	int node; /* NUMA node; -1: none, or not visible */
	struct doctor_link link;
	char iommu[16];                        /* domain type of its group: "DMA", "DMA-FQ", "identity" */
	char local_cpus[DOCTOR_TEXT_SIZE];     /* a list: "0-31,64-95" */
	bool placed;                           /* the bridges are known */
	int depth;
	char chain[DOCTOR_CHAIN_MAX][DOCTOR_BDF_SIZE]; /* bridges above it, nearest first */
	char host_bridge[DOCTOR_BDF_SIZE];     /* "0000:00" */
};

/* A bridge on the way from a GPU, NIC or disk to the CPU. */
struct doctor_bridge {
	char bdf[DOCTOR_BDF_SIZE];
	doctor_number acs; /* ACS control register; 0 where it has no such capability */
};

struct doctor_gpu {
	struct doctor_pci pci;
	char model[DOCTOR_TEXT_SIZE];
	doctor_number bar1_bytes; /* the window through which others reach its memory; 0: none */
};

struct doctor_nic {
	struct doctor_pci pci;
	char name[DOCTOR_NAME_SIZE];
	char state[16]; /* "up", "down" */
	char rdma[DOCTOR_NAME_SIZE]; /* its RDMA device */
	bool rdma_seen; /* whether it has one could be seen */
	doctor_number mbits; /* line rate, Mbit/s */
	doctor_number mtu;
	doctor_number rx_queues, tx_queues;
	doctor_number irqs, irqs_far, irq_cpus; /* of the device; those handled by no local CPU; CPUs they use */
	doctor_number adaptive, rx_usecs;       /* interrupt coalescing */
	doctor_number pause_rx, pause_tx;
	doctor_number ring, ring_max;           /* receive ring, entries */
	doctor_number channels, channels_max;   /* RSS queues */
};

struct doctor_disk {
	struct doctor_pci pci;
	char name[DOCTOR_NAME_SIZE];
	char model[DOCTOR_TEXT_SIZE];
	char transport[16]; /* NVMe: "pcie", "tcp", ...; otherwise empty */
	char scheduler[DOCTOR_NAME_SIZE]; /* the one in use */
	char cache[DOCTOR_NAME_SIZE];     /* "write back", "write through" */
	bool nvme;
	doctor_number rotational;
	doctor_number block_bytes;
	doctor_number max_kib, max_hw_kib; /* largest request: as set, and what the device could do */
};

struct doctor_system {
	char kernel[DOCTOR_TEXT_SIZE]; /* "6.1.0-18-amd64" */
	bool root;      /* effective user 0 */
	bool captured;  /* a tree of another machine: nothing can be probed */
	bool hypervisor, container;
	bool sysfs;     /* /sys has something in it */
	doctor_number nodes, cpus; /* as hwloc sees them */

	doctor_number uring_error; /* 0: usable; an errno; UNSEEN: not probed */
	doctor_number uring_disabled; /* sysctl kernel.io_uring_disabled */
	char uring_features[DOCTOR_TEXT_SIZE];
	char uring_lacks[DOCTOR_TEXT_SIZE];
	doctor_number seccomp; /* 0 none, 1 strict, 2 filter */
	doctor_number memlock_bytes, files; /* limits; INT64_MAX: unlimited */

	char clock[DOCTOR_NAME_SIZE], clocks[DOCTOR_TEXT_SIZE]; /* in use, and available */
	doctor_number governors, governors_slow; /* cpufreq policies, and those that clock down */
	char governor[DOCTOR_NAME_SIZE];         /* of the first slow one, or of the first */
	char idle_driver[DOCTOR_NAME_SIZE], idle_name[DOCTOR_NAME_SIZE];
	doctor_number idle_us;   /* exit latency of the deepest state in use */
	doctor_number irqbalance; /* runs: 1 */

	char thp[DOCTOR_NAME_SIZE]; /* "always", "madvise", "never" */
	doctor_number huge_total, huge_free; /* pages of 2 MiB */

	doctor_number iommus;
	doctor_number tcp_rmem, tcp_wmem; /* largest, bytes */
	doctor_number nvme_tcp; /* 2 loaded or built in, 1 can be loaded, 0 not there */
};

struct doctor_nvidia {
	bool proc;                      /* /proc/driver/nvidia is there */
	char version[DOCTOR_NAME_SIZE]; /* of the kernel driver */
	bool open;                      /* the open kernel modules */
	doctor_number peermem;          /* module nvidia-peermem: 1 loaded */
	doctor_number fs;               /* module nvidia-fs: 1 loaded */
	doctor_number libcuda, libcufile, libnvml; /* 1 found */
	doctor_number cuda_version;     /* 12040; what libcuda says */
	doctor_number compat_allowed;   /* cufile.json: allow_compat_mode */
	doctor_number compat_forced;
	doctor_number p2pdma;           /* cufile.json: use_pci_p2pdma */
	char cufile_json[DOCTOR_TEXT_SIZE]; /* which file; empty: none */
	char cufile_error[DOCTOR_TEXT_SIZE]; /* it is there, but no JSON */
};

enum doctor_target_kind { DOCTOR_TO_NONE, DOCTOR_TO_TCP, DOCTOR_TO_FILE };

/* How far it came; what is behind that point is not there. */
enum doctor_reached { DOCTOR_NOWHERE, DOCTOR_RESOLVED, DOCTOR_CONNECTED, DOCTOR_LIVE };

struct doctor_target {
	enum doctor_target_kind kind;
	enum doctor_reached reached;
	struct err err; /* why it came no further */
	char address[DOCTOR_TEXT_SIZE];
	bool loopback;
	char interface[DOCTOR_NAME_SIZE]; /* that it leaves by */
	doctor_number rtt_us, rtt_var_us; /* TCP's own measure */
	doctor_number path_mtu, mss;

	char subnqn[224], model[48], serial[24], firmware[12];
	uint32_t version; /* property VS */
	uint32_t nsid;
	bool namespace_there;
	uint64_t size_bytes;
	uint32_t block_bytes;
	uint32_t mdts_bytes; /* 0: the controller sets no limit */
	uint32_t ioccsz_bytes, in_capsule_bytes;
	unsigned int queues_asked, queues, depth_asked, depth;
	bool hdgst, ddgst;
	uint32_t kato_ms;
	uint32_t cqt_ms;
	bool extension; /* it has Penstock's own (nvme/vendor.h), */
	bool times;	/* and agreed to say how long commands were where within it */
	doctor_number command_us; /* round trip of an admin command, the least of several */

	/* A file or block device. */
	char path[256];
	char filesystem[DOCTOR_NAME_SIZE];
	char disk[DOCTOR_NAME_SIZE]; /* the block device that it is or lies on */
	doctor_number direct_error;  /* opening it with O_DIRECT: 0 or an errno */
};

struct doctor_facts {
	struct doctor_system system;
	struct doctor_nvidia nvidia;
	size_t gpu_count, nic_count, disk_count, bridge_count;
	bool more; /* than there is room for */
	struct doctor_gpu gpus[DOCTOR_GPUS_MAX];
	struct doctor_nic nics[DOCTOR_NICS_MAX];
	struct doctor_disk disks[DOCTOR_DISKS_MAX];
	struct doctor_bridge bridges[DOCTOR_BRIDGES_MAX];
	struct doctor_target target;
};

/* All of it unseen. About half a megabyte: for the heap. NULL without memory. */
struct doctor_facts *doctor_facts_new(void);
void doctor_facts_free(struct doctor_facts *f);

/* Each field of it unseen. */
void doctor_pci_init(struct doctor_pci *p);
/* The next one of its kind, unseen; NULL and f->more when there is no room. */
struct doctor_gpu *doctor_gpu_add(struct doctor_facts *f);
struct doctor_nic *doctor_nic_add(struct doctor_facts *f);
struct doctor_disk *doctor_disk_add(struct doctor_facts *f);
/* The bridge of that address, made if it is new; NULL when there is no room. */
struct doctor_bridge *doctor_bridge_get(struct doctor_facts *f, const char *bdf);
const struct doctor_bridge *doctor_bridge_find(const struct doctor_facts *f, const char *bdf);

#endif
