/* SPDX-License-Identifier: Apache-2.0 */
/* What each finding is about: why it matters, how it is mended, what root would add. */
#include "doctor/finding.h"

static const struct doctor_entry catalogue[DOCTOR_IDS] = {
	[DOCTOR_GPU_PRESENT] = { "without a GPU, reads land in host memory or in an emulation of one", NULL,
				 NULL },
	[DOCTOR_GPU_DRIVER] = { "without its driver nothing can be put into a GPU's memory",
				"install the vendor's driver and load it (modprobe nvidia); nouveau will not do",
				NULL },
	[DOCTOR_GPU_CUDA] = { "pinned memory and copies to the GPU go through libcuda.so.1",
			      "install the user-space part of the same driver version; in a container, run it "
			      "with the "
			      "vendor's container toolkit",
			      NULL },
	[DOCTOR_GPU_LINK] = { "each halving of width or speed halves what can reach the GPU",
			      "reseat the card or its riser; look for a BIOS setting that splits or limits the "
			      "slot",
			      NULL },
	[DOCTOR_GPU_NUMA] = { "memory for staging must be taken, and threads must run, on the GPU's node",
			      "a BIOS that reports no locality may have an option for it; else bind by hand "
			      "(numactl)",
			      NULL },
	[DOCTOR_GPU_BAR1] = { "a NIC or disk reaches GPU memory through BAR1, and no more of it than that window "
			      "is wide",
			      "turn on Above 4G Decoding and Resizable BAR in the BIOS; on a workstation card, "
			      "NVIDIA's display mode selector widens it",
			      NULL },
	[DOCTOR_GPU_NIC] = { "data that crosses between sockets shares the link between them, and arrives later",
			     "use a NIC on the GPU's own socket, best below the same PCIe switch", NULL },
	[DOCTOR_GPU_NVME] = { "data that crosses between sockets shares the link between them, and arrives later",
			      "use a disk on the GPU's own socket, best below the same PCIe switch", NULL },
	[DOCTOR_GPU_ACS] = { "ACS sends traffic between devices below one switch up to the CPU and back: slower, "
			     "and in "
			     "some virtual machines not at all",
			     "turn ACS off in the BIOS, or at run time with setpci on each bridge named here",
			     "configuration space beyond 64 bytes, where the ACS setting is" },
	[DOCTOR_GPU_PEER] = { "a NIC can address GPU memory only through dma-buf or nvidia-peermem",
			      "use the driver's open kernel modules on Linux 5.12 or later (dma-buf), or "
			      "modprobe "
			      "nvidia-peermem",
			      NULL },
	[DOCTOR_GPU_FS] = { "cuFile reads disks straight into GPU memory through nvidia-fs",
			    "install nvidia-gds and modprobe nvidia-fs", NULL },
	[DOCTOR_GPU_CUFILE] = { "where cuFile cannot go direct it may copy through host memory without saying so",
				"set properties.allow_compat_mode to false in cufile.json, so that it fails "
				"instead",
				NULL },
	[DOCTOR_PATH_STAGED] = { "path 'staged': received into pinned host memory, then copied by the GPU's copy "
				 "engine",
				 NULL, NULL },
	[DOCTOR_PATH_GDR] = { "path 'gdr': a NIC writes into GPU memory itself (GPUDirect RDMA)", NULL, NULL },
	[DOCTOR_PATH_GDS] = { "path 'gds': a local disk is read into GPU memory itself (GPUDirect Storage)", NULL,
			      NULL },
	[DOCTOR_NIC_PRESENT] = { "flash in other machines is reached through a NIC", NULL, NULL },
	[DOCTOR_NIC_STATE] = { "an interface that is down carries nothing",
			       "check cable and switch port; ip link set INTERFACE up", NULL },
	[DOCTOR_NIC_LINK] = { "each halving of width or speed halves what the NIC can pass on",
			      "reseat the card or its riser; look for a BIOS setting that splits or limits the "
			      "slot",
			      NULL },
	[DOCTOR_NIC_RATE] = { "a slot that is slower than the wire is what limits the machine",
			      "move the card to a wider or faster slot", NULL },
	[DOCTOR_NIC_NUMA] = { "buffers and threads belong on the NIC's node",
			      "a BIOS that reports no locality may have an option for it", NULL },
	[DOCTOR_NIC_MTU] = { "small frames cost CPU time per byte, on both ends",
			     "ip link set INTERFACE mtu 9000, on every host and switch port of the way", NULL },
	[DOCTOR_NIC_COALESCE] = { "a NIC that holds back its interrupts adds that time to every small read",
				  "ethtool -C INTERFACE adaptive-rx off rx-usecs 8, where latency counts more "
				  "than CPU",
				  NULL },
	[DOCTOR_NIC_PAUSE] = { "without pause frames a full switch drops, and TCP waits for a retransmission; "
			       "with them one "
			       "slow receiver can hold up others",
			       NULL, NULL },
	[DOCTOR_NIC_RING] = { "a short receive ring drops frames in a burst", "ethtool -G INTERFACE rx MAXIMUM",
			      NULL },
	[DOCTOR_NIC_QUEUES] = { "connections are spread over receive queues; one queue is one core",
				"ethtool -L INTERFACE combined N", NULL },
	[DOCTOR_NIC_IRQS] = { "an interrupt on the other socket fetches every packet across, and one core for "
			      "all of them "
			      "is soon full",
			      "spread them over the NIC's own CPUs (set_irq_affinity of its vendor, or "
			      "/proc/irq/N/smp_affinity_list)",
			      NULL },
	[DOCTOR_DISK_PRESENT] = { "a target serves disks, and a cache uses them", NULL, NULL },
	[DOCTOR_DISK_LINK] = { "each halving of width or speed halves what the disk can deliver",
			       "reseat the disk; look at its cable, backplane and slot", NULL },
	[DOCTOR_DISK_NUMA] = { "queues and buffers belong on the disk's node",
			       "a BIOS that reports no locality may have an option for it", NULL },
	[DOCTOR_DISK_SCHEDULER] = { "a scheduler costs CPU time per request and gains nothing on flash with "
				    "queues of its own",
				    "echo none > /sys/block/DISK/queue/scheduler, and a udev rule to keep it so",
				    NULL },
	[DOCTOR_DISK_CACHE] = { "a volatile write cache makes writes durable at a flush only, and flushes slow",
				NULL, NULL },
	[DOCTOR_DISK_REQUEST] = { "larger reads are split by the kernel",
				  "echo MAXIMUM > /sys/block/DISK/queue/max_sectors_kb", NULL },
	[DOCTOR_IOMMU_MODE] = { "an IOMMU that translates costs time at each mapping, and makes peer-to-peer "
				"traffic take "
				"the way over the CPU",
				"boot with iommu=pt (identity), if devices need no isolation from each other",
				NULL },
	[DOCTOR_URING] = { "io_uring takes fewest system calls; without it Penstock uses epoll and threads", NULL,
			   NULL },
	[DOCTOR_MEMLOCK] = { "RDMA and pinned staging memory count against it; io_uring did before Linux 5.12",
			     "ulimit -l unlimited; LimitMEMLOCK=infinity in a systemd unit; memlock in "
			     "/etc/security/limits.conf",
			     NULL },
	[DOCTOR_FILES] = { "each connection and each file is a descriptor",
			   "ulimit -n 65536; LimitNOFILE=65536 in a systemd unit", NULL },
	[DOCTOR_CLOCK] = { "every request reads the clock; other sources than the TSC cost a system call or more",
			   "boot with tsc=reliable if the TSC is sound; look in dmesg for why it was given up",
			   NULL },
	[DOCTOR_GOVERNOR] = { "a CPU that clocks down between requests answers the next one late",
			      "cpupower frequency-set -g performance", NULL },
	[DOCTOR_IDLE] = { "waking from a deep idle state comes on top of each request of a lightly loaded "
			  "machine",
			  "cpupower idle-set -D 10 for a trial; tuned-adm profile latency-performance to keep it",
			  NULL },
	[DOCTOR_IRQBALANCE] = { "irqbalance moves interrupts while a measurement runs, and undoes what was set "
				"by hand",
				"stop it before setting affinities, or ban the NIC's interrupts in it", NULL },
	[DOCTOR_HUGEPAGES] = { "large buffers on small pages cost TLB misses in every copy",
			       "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", NULL },
	[DOCTOR_TCP_RMEM] = { "a connection can have no more on its way than its buffer takes: bandwidth times "
			      "round trip",
			      NULL, NULL },
	[DOCTOR_TCP_WMEM] = { "a connection can have no more on its way than its buffer takes: bandwidth times "
			      "round trip",
			      NULL, NULL },
	[DOCTOR_NVME_TCP] = { "only to attach namespaces to this kernel (nvme connect); Penstock itself does "
			      "without",
			      NULL, NULL },
	[DOCTOR_TARGET_ADDRESS] = { "without an address nothing can be reached",
				    "check the name, and DNS or /etc/hosts", NULL },
	[DOCTOR_TARGET_CONNECT] = { "a volume is as good as the connection to it",
				    "check that the target runs and listens there, firewalls on the way, the "
				    "subsystem's name, "
				    "and that it allows this host",
				    NULL },
	[DOCTOR_TARGET_RTT] = { "a read takes a round trip at least; bandwidth at depth 1 follows from it",
				"look for a detour, a slow switch, or interrupt coalescing on either end", NULL },
	[DOCTOR_TARGET_INTERFACE] = { "its speed and place bound everything behind", NULL, NULL },
	[DOCTOR_TARGET_NUMA] = { "data that crosses between sockets shares the link between them, and arrives "
				 "later",
				 "route to the target through a NIC on the GPU's socket", NULL },
	[DOCTOR_TARGET_MTU] = { "one hop with small frames makes all of the way small",
				"raise the MTU of the hop that has the least; ping -M do -s 8972 TARGET finds it",
				NULL },
	[DOCTOR_TARGET_IDENTITY] = { "whose target it is decides what can be expected of it", NULL, NULL },
	[DOCTOR_TARGET_NAMESPACE] = { "the namespace is what a volume reads",
				      "name another NSID at the end of the URI; penstock discover lists "
				      "subsystems",
				      NULL },
	[DOCTOR_TARGET_TRANSFER] = { "larger reads are split; each part costs a command",
				     "raise MDTS on the target", NULL },
	[DOCTOR_TARGET_CAPSULE] = { "a small write that does not fit in its capsule waits a round trip for R2T",
				    "raise the in-capsule data size on the target", NULL },
	[DOCTOR_TARGET_QUEUES] = { "each queue is a connection of its own, on a core of its own",
				   "raise the target's limit of queues, or ask for fewer", NULL },
	[DOCTOR_TARGET_DIGESTS] = { "TCP's checksum misses some damage that a CRC-32C finds; digests cost CPU "
				    "time",
				    "append ?hdgst=1&ddgst=1 to the URI where the network is not trusted", NULL },
	[DOCTOR_TARGET_KEEPALIVE] = { "without a keep alive a target that died is noticed late",
				      "append ?kato=5s to the URI", NULL },
	[DOCTOR_TARGET_QUIESCE] = { "after a loss, a host may retry writes elsewhere only when the target has "
				    "let go of the old "
				    "ones; it says how long that takes",
				    "wait for a target that reports a Command Quiesce Time (TP4129) before "
				    "relying on failover",
				    NULL },
	[DOCTOR_TARGET_EXTENSION] = { "only the target can tell its queue from its store: without its word a "
				      "stall there is 'remote'",
				      "leave ?sample=off out of the URI; if it is not there, see the target's "
				      "log", NULL },
	[DOCTOR_TARGET_FILE] = { "what lies under the file bounds what can be read from it", NULL, NULL },
	[DOCTOR_TARGET_DIRECT] = { "without O_DIRECT data goes through the page cache: an extra copy, and "
				   "figures of memory "
				   "in place of the disk's",
				   "put the file on a file system with O_DIRECT (ext4, XFS), not on tmpfs or "
				   "overlays of it",
				   NULL },
	[DOCTOR_LIMITS] = { "nothing may be passed over in silence", NULL, NULL },
};

const struct doctor_entry *doctor_entry(enum doctor_id id)
{
	INVARIANT(id < DOCTOR_IDS);
	return &catalogue[id];
}
