/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpenstock: read flash that sits in other machines, straight into the memory an accelerator
 * uses, and know what each wait was for.
 *
 * A context owns the I/O. A volume is opened from a URI and is an array of bytes: any offset and
 * length will do, blocks and their edges are the library's business. Memory that data lands in is
 * registered first. Reads and writes are asynchronous, with a callback or a queue of completions;
 * each has a blocking twin.
 *
 *	pst_context_new(NULL, &ctx, &err);
 *	pst_volume_open(ctx, "nvme+tcp://10.0.0.1/nqn.2026-11.io.penstock:default", NULL, &vol, &err);
 *	pst_memory_host(ctx, buf, sizeof(buf), &mem, &err);
 *	pst_read_sync(vol, mem, 0, offset, length, &completion);
 *
 * Threads. A threaded context (the default) has I/O threads of its own; every function may then
 * be called from any thread, callbacks come on an I/O thread and must not block, nor call a _sync
 * function. A polled context has none: all its functions are called from one thread, and I/O
 * moves only inside pst_poll(), pst_wait() and the _sync functions, which is where callbacks come.
 *
 * Results. Functions return 0 (or a count) or a negative errno value; with a struct pst_error
 * they also say in a sentence what was wrong and what to do. Results come back through ret_
 * parameters, written only on success. Objects are freed by their _free or _close function, which
 * takes NULL. Option structs are zero-initialised for defaults and start with their size, so that
 * fields can be added: `struct pst_volume_options o = PST_OPTIONS(o);`.
 *
 * Names beginning with pst_ or PST_ are reserved.
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PST_VERSION_MAJOR 0
#define PST_VERSION_MINOR 1
#define PST_VERSION_PATCH 0

#define PST_API __attribute__((visibility("default")))
#ifndef __cplusplus
#define PST_OPTIONS(var) { .struct_size = sizeof(var) }
#else
} /* extern "C" */
template <typename T> static inline T pst_options_of()
{
	T options = T();

	options.struct_size = sizeof(T);
	return options;
}
extern "C" {
#define PST_OPTIONS(var) pst_options_of<__typeof__(var)>()
#endif

/* "0.1.0" of the library in use. */
PST_API const char *pst_version(void);

struct pst_error {
	int code;       /* errno value, positive; 0 = none */
	char text[512]; /* one line, no newline */
};

/* ---- context ----------------------------------------------------------------------------- */

struct pst_context;

enum pst_mode {
	PST_MODE_THREADED,
	PST_MODE_POLLED
};

struct pst_context_options {
	size_t struct_size;
	enum pst_mode mode;
	unsigned int threads;      /* threaded: I/O threads, 0 = 1; volumes' queues are spread over them */
	unsigned int max_inflight; /* most requests at a time, 0 = 4096; more: -EAGAIN */
	uint64_t spin_ns;          /* poll this long before sleeping; 0 = never */
	const char *hostnqn;       /* NULL: /etc/nvme/hostnqn, or one generated for this process */
	const char *hostid;        /* UUID; NULL: /etc/nvme/hostid, or from hostnqn */
};

/*
 * @opts NULL: defaults. Starts the I/O threads, connects to nothing. -EINVAL: an option; -ENOMEM;
 * -EMFILE and what else making a thread, a ring or a descriptor may say.
 */
PST_API int pst_context_new(const struct pst_context_options *opts, struct pst_context **ret_ctx,
			    struct pst_error *err);
/* Every volume, memory and dataset of it must be closed before. */
PST_API void pst_context_free(struct pst_context *ctx);
/* "uring", "epoll": how the context does its I/O. */
PST_API const char *pst_context_io(const struct pst_context *ctx);

/* ---- memory ------------------------------------------------------------------------------ */

struct pst_memory;

enum pst_memory_kind {
	PST_MEMORY_HOST,     /* ordinary memory */
	PST_MEMORY_EMULATED, /* an emulated accelerator's memory: no CPU address */
	PST_MEMORY_CUDA      /* memory of a GPU: no CPU address */
};

/* Which way the bytes of a request really went. */
enum pst_path {
	PST_PATH_NONE,
	PST_PATH_HOST,     /* received or read into host memory */
	PST_PATH_STAGED,   /* through a pinned staging ring, copied by the accelerator's driver */
	PST_PATH_GDR,      /* GPUDirect RDMA */
	PST_PATH_GDS,      /* GPUDirect Storage (cuFile) */
	PST_PATH_EMULATED  /* staging ring, then an emulated copy engine */
};

PST_API const char *pst_path_name(enum pst_path path);

/*
 * Registers memory that the caller owns and keeps until pst_memory_free(). -EINVAL: no address, or no
 * bytes.
 */
PST_API int pst_memory_host(struct pst_context *ctx, void *ptr, size_t size,
			    struct pst_memory **ret_mem, struct pst_error *err);
/* Allocates host memory, page-aligned. */
PST_API int pst_memory_alloc(struct pst_context *ctx, size_t size, struct pst_memory **ret_mem,
			     struct pst_error *err);

struct pst_emulated_options {
	size_t struct_size;
	uint64_t copy_bytes_per_second; /* of its copy engine; 0 = 25e9 */
	uint64_t copy_latency_ns;       /* per copy; 0 = 5000 */
	size_t staging_bytes;           /* staging ring; 0 = 32 MiB */
};

/* Memory of an emulated accelerator: for trying and testing without one, and labelled so. */
PST_API int pst_memory_emulated(struct pst_context *ctx, size_t size,
				const struct pst_emulated_options *opts, struct pst_memory **ret_mem,
				struct pst_error *err);

struct pst_cuda_options {
	size_t struct_size;
	size_t staging_bytes; /* pinned staging ring, of all I/O threads together; 0 = 32 MiB */
	size_t piece_bytes;   /* of the ring: 128 KiB to 1 MiB, in steps of 4096; 0 = 256 KiB */
	/*
	 * Copies into the GPU of up to this many bytes are stored by the CPU through BAR1 where gdrcopy
	 * is installed: 0 = 16384, at most 65536; SIZE_MAX = never.
	 */
	size_t mapped_bytes;
};

/*
 * Registers memory of a GPU that the caller owns and keeps until pst_memory_free(): any part of
 * what cudaMalloc(), cudaMallocAsync(), cuMemMap() or a framework's allocator gave, in the device's
 * primary context. The driver is loaded when this is first called (libcuda.so.1). -ENODEV: no driver
 * or no GPU; -EFAULT: it is not memory of a GPU; -EOPNOTSUPP: managed memory, or another context's.
 * The staging ring is made with the first memory of a device in a context, and stays: memories of
 * the same device with the same options share it.
 */
PST_API int pst_memory_cuda(struct pst_context *ctx, uint64_t device_ptr, size_t size,
			    const struct pst_cuda_options *opts, struct pst_memory **ret_mem,
			    struct pst_error *err);
/* Allocates memory of GPU number @device, as CUDA counts them. Its contents are undefined. */
PST_API int pst_memory_cuda_alloc(struct pst_context *ctx, unsigned int device, size_t size,
				  const struct pst_cuda_options *opts, struct pst_memory **ret_mem,
				  struct pst_error *err);
/* The name of a GPU. Without one or without a driver: as pst_memory_cuda(). */
PST_API int pst_cuda_name(unsigned int device, char *buf, size_t n, struct pst_error *err);

PST_API enum pst_memory_kind pst_memory_kind(const struct pst_memory *mem);
/* Whose memory it is: "NVIDIA H200", "emulated 8 GiB, 23.3 GiB/s", "host". Until it is freed. */
PST_API const char *pst_memory_device(const struct pst_memory *mem);
/* Its address on the device, for kernels and for other libraries; 0 where that is the CPU's. */
PST_API uint64_t pst_memory_device_ptr(const struct pst_memory *mem);
PST_API size_t pst_memory_size(const struct pst_memory *mem);
/* CPU address, or NULL where there is none. */
PST_API void *pst_memory_ptr(const struct pst_memory *mem);
/* Copies out of or into any kind of memory, blocking: for checking contents. -EINVAL: outside of it. */
PST_API int pst_memory_copy_out(struct pst_memory *mem, size_t offset, void *dst, size_t n);
PST_API int pst_memory_copy_in(struct pst_memory *mem, size_t offset, const void *src, size_t n);
/* No request may be under way with it. What was registered stays its owner's. */
PST_API void pst_memory_free(struct pst_memory *mem);

/* ---- volumes ----------------------------------------------------------------------------- */

struct pst_volume;

struct pst_volume_options {
	size_t struct_size;
	/* Each overrides the URI's query when not zero. */
	unsigned int queues;        /* I/O queues (connections); 0 = 1 */
	unsigned int depth;         /* commands in flight per queue; 0 = 128 */
	bool header_digest;
	bool data_digest;
	bool read_only;
	uint64_t keep_alive_ns;     /* 0 = 5 s */
	uint64_t io_timeout_ns;     /* 0 = 30 s: a command older than this costs its connection */
	uint64_t connect_timeout_ns; /* 0 = 10 s */
	uint64_t loss_timeout_ns;   /* 0 = 600 s: give up reconnecting and fail what is waiting */
	/*
	 * How often a request is sampled: its timing is then exact, and a Penstock target says how long
	 * it was where within the target. Requests of 64 KiB and more always are; of smaller ones one in
	 * this many; 0 = 64. UINT32_MAX: none, and the target is not asked at all.
	 */
	uint32_t sample_every;
};

struct pst_volume_info {
	uint64_t size_bytes;
	uint32_t block_bytes;
	uint32_t max_transfer_bytes; /* of one command; larger requests are split */
	uint32_t optimal_bytes;      /* preferred request size */
	unsigned int queues;
	unsigned int depth;
	bool read_only;
	bool volatile_cache; /* writes are durable only after a flush */
	char transport[16];  /* "tcp", "file" */
	char uri[512];
	char subsystem_nqn[224];
	char address[80];
	char model[48];
	char serial[24];
	char firmware[12];
	uint32_t nsid;
	uint8_t uuid[16];
	bool target_times; /* the target says, of sampled requests, where they were within it */
};

/*
 * URIs: nvme+tcp://HOST[:PORT]/SUBNQN[/NSID][?queues=4&depth=64&hdgst=1&ddgst=1&kato=5s
 * &io_timeout=30s&connect_timeout=10s&loss_timeout=600s&sample=64|off], file:/path. Blocks until connected.
 */
PST_API int pst_volume_open(struct pst_context *ctx, const char *uri,
			    const struct pst_volume_options *opts, struct pst_volume **ret_vol,
			    struct pst_error *err);
PST_API void pst_volume_info(const struct pst_volume *vol, struct pst_volume_info *ret_info);
/* Waits for requests in flight, then disconnects in order. */
PST_API void pst_volume_close(struct pst_volume *vol);

/*
 * Where a request spent its time, nanoseconds: of one that took several commands, the one that was over
 * last. The parts sum to @total. What a target other than Penstock's does cannot be seen, nor is it asked
 * for small requests that are not sampled (pst_volume_options.sample_every): then @remote has it, and
 * @network, @target_queue, @qos and @media are 0. Otherwise @remote is 0.
 */
struct pst_timing {
	uint64_t total;	       /* from submit until the callback */
	uint64_t client_queue; /* from submit until on the wire: waiting for room in the volume's window */
	uint64_t network;      /* from there on, without what the target says it spent: the way, both ways */
	uint64_t target_queue; /* in the target, waiting for memory, for a fence, for its turn */
	uint64_t qos;	       /* held back by the target on purpose */
	uint64_t media;	       /* in the target's store, or the file */
	uint64_t staging;      /* waiting for and copying by the copy engine */
	uint64_t wakeup;       /* from arrival until the callback */
	uint64_t remote;       /* network and target together */
};

struct pst_completion {
	int error;            /* 0 or a negative errno value */
	uint16_t nvme_status; /* SCT << 8 | SC when the error came from a controller, else 0 */
	enum pst_path path;
	uint64_t bytes; /* moved; on error: 0, and the destination's contents are undefined */
	bool sampled;	/* timing is exact; where not, it is so to a turn of the I/O thread */
	struct pst_timing timing;
	void *user;
};

/* The name of a status as the NVMe standard has it ("LBA Out of Range"). */
PST_API const char *pst_nvme_status_name(uint16_t nvme_status);

typedef void (*pst_callback)(const struct pst_completion *completion, void *user);

/*
 * Asynchronous requests. With @cb the completion is handed to it; without, it waits in the
 * context's queue for pst_wait(). Returns 0 when it is under way (a completion will come, once),
 * or -EAGAIN (too many in flight), -EINVAL (outside the volume or the memory), -EROFS.
 * Zero length is allowed and completes at once. Overlapping requests in flight have no order.
 */
PST_API int pst_read(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
		     uint64_t length, pst_callback cb, void *user);
/*
 * Writes whose edges are not block-aligned read, merge and write those edge blocks; requests of
 * this volume object that overlap an edge block wait for it, other writers of it must not be.
 */
PST_API int pst_write(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset, uint64_t offset,
		      uint64_t length, pst_callback cb, void *user);
/* Every write completed before is durable when this completes. */
PST_API int pst_flush(struct pst_volume *vol, pst_callback cb, void *user);
/* Deallocates the blocks that lie whole within the range; they read as zeroes where the target says so. */
PST_API int pst_discard(struct pst_volume *vol, uint64_t offset, uint64_t length, pst_callback cb,
			void *user);
PST_API int pst_write_zeroes(struct pst_volume *vol, uint64_t offset, uint64_t length, pst_callback cb,
			     void *user);

/*
 * The same for memory of a GPU, in the order of a stream of the caller's (a CUstream or cudaStream_t
 * of the primary context as an integer; 0 is the legacy default stream). What the stream was given
 * before the call is over before any byte is moved. A read completes as soon as its last copy is
 * under way, and whatever the stream is given after that runs behind the copies: nobody waits for
 * the copy engine (and until the stream has come there, the memory stays registered). A write's
 * memory is in use until it completes. -EINVAL: the memory is not a
 * GPU's, or the stream is the per-thread default one; -EAGAIN: too many at a time. An error of the
 * GPU after a read's completion comes out of the stream, as any other of that stream's work.
 */
PST_API int pst_read_on_stream(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset,
			       uint64_t offset, uint64_t length, uint64_t stream, pst_callback cb, void *user);
PST_API int pst_write_on_stream(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset,
				uint64_t offset, uint64_t length, uint64_t stream, pst_callback cb, void *user);

/*
 * The path that whole blocks take between the two. A file and memory of a GPU: cuFile is asked, which
 * may block the first time, as the first read may.
 */
PST_API enum pst_path pst_path(const struct pst_volume *vol, const struct pst_memory *mem);
/* 0 if that is @want; else -EOPNOTSUPP, and @err says why it is not, and what would bring it. */
PST_API int pst_path_require(const struct pst_volume *vol, const struct pst_memory *mem, enum pst_path want,
			     struct pst_error *err);

/* Blocking twins: return completion.error. @ret_completion may be NULL. */
PST_API int pst_read_sync(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset,
			  uint64_t offset, uint64_t length, struct pst_completion *ret_completion);
PST_API int pst_write_sync(struct pst_volume *vol, struct pst_memory *mem, size_t mem_offset,
			   uint64_t offset, uint64_t length, struct pst_completion *ret_completion);
PST_API int pst_flush_sync(struct pst_volume *vol, struct pst_completion *ret_completion);

/*
 * Polled: runs the I/O, waiting up to @timeout_ns (0: not at all, UINT64_MAX: as long as it takes) for
 * something to happen. Returns callbacks made. Not from a callback. -EINVAL: the context is threaded.
 */
PST_API int pst_poll(struct pst_context *ctx, uint64_t timeout_ns);
/*
 * Takes up to @max completions of requests made without a callback; waits up to @timeout_ns for at
 * least one, as pst_poll() does. Returns how many; 0: none came in time, or no such request is under
 * way. -EINVAL: @max is below 1.
 */
PST_API int pst_wait(struct pst_context *ctx, struct pst_completion *ret_completions, int max,
		     uint64_t timeout_ns);

struct pst_volume_stats {
	uint64_t reads;
	uint64_t writes;
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint64_t errors;
	uint64_t retries;
	uint64_t reconnects;
	uint64_t inflight;
	uint64_t path_bytes[8]; /* by enum pst_path */
	bool connected;
};

/* Since it was opened. Safe in every state, from any thread. */
PST_API void pst_volume_stats(const struct pst_volume *vol, struct pst_volume_stats *ret_stats);

/* ---- discovery --------------------------------------------------------------------------- */

struct pst_discovery_entry {
	char transport[8]; /* "tcp", "rdma", ... */
	char family[8];    /* "ipv4", "ipv6", ... */
	char kind[32];     /* "nvme subsystem", "current discovery subsystem", ... */
	char address[256];
	char service[32]; /* port */
	char subsystem_nqn[224];
	char secure[32]; /* "not specified", "required", "not required" */
	uint16_t port_id;
	uint16_t controller_id;
	uint16_t admin_queue_size;
	uint16_t flags;
};

/*
 * Reads the discovery log of the controller at "[tcp://]ADDR[:PORT]" (8009 if none, and where
 * nothing listens there 4420). Free with pst_discovery_free().
 */
PST_API int pst_discover(struct pst_context *ctx, const char *address, uint64_t *ret_generation,
			 struct pst_discovery_entry **ret_entries, size_t *ret_count,
			 struct pst_error *err);
PST_API void pst_discovery_free(struct pst_discovery_entry *entries);

/* ---- datasets ---------------------------------------------------------------------------- */

/* A dataset is a POSIX tar archive at the beginning of a volume; a sample is a regular file in it. */
struct pst_dataset;

struct pst_sample {
	const char *name; /* the dataset's, until it is closed */
	uint64_t offset;  /* of its contents, bytes from the volume's start */
	uint64_t size;
	uint64_t file_offset; /* where in its file it begins: 0, unless pst_dataset_records() was called */
};

/* Reads the index; blocks. -EBADMSG with the offset when it is no valid archive. */
PST_API int pst_dataset_open(struct pst_volume *vol, struct pst_dataset **ret_dataset,
			     struct pst_error *err);
PST_API uint64_t pst_dataset_count(const struct pst_dataset *ds);
/* -EINVAL: @index is not below the count. */
PST_API int pst_dataset_sample(const struct pst_dataset *ds, uint64_t index, struct pst_sample *ret_sample);
/* The first of that name; -ENOENT if there is none. */
PST_API int pst_dataset_find(const struct pst_dataset *ds, const char *name, uint64_t *ret_index);
/* What is on the volume as a whole: bytes of all samples, the largest one, members that are no samples. */
struct pst_dataset_info {
	uint64_t samples;
	uint64_t bytes;
	uint64_t largest_bytes;
	uint64_t other_members; /* directories, symbolic links and the like */
	/* "penstock-dataset.json" describes a generated dataset and is no sample; 0 bytes: none. */
	uint64_t manifest_offset;
	uint64_t manifest_bytes;
};
PST_API void pst_dataset_info(const struct pst_dataset *ds, struct pst_dataset_info *ret_info);

struct pst_extent {
	uint64_t offset;
	uint64_t length;
};

/* Files as rows of groups of one length; of each group the same extents are read. */
struct pst_records {
	size_t struct_size;
	uint64_t group_bytes; /* from the beginning of a group to that of the next */
	uint32_t extent_count; /* at most 4096 */
	const struct pst_extent *extents; /* within a group, ascending */
};

/*
 * From now on samples are not files but parts of them, numbered extent by extent, group by group,
 * file by file: the record of a TFRecord file of fixed size is one extent that leaves out the framing,
 * the columns that are wanted of a row group are as many as have others between them. A feed keeps
 * those of a group together with pst_feed_options.group. No feed may be open. -EBADMSG: a file is not
 * made of whole groups.
 */
PST_API int pst_dataset_records(struct pst_dataset *ds, const struct pst_records *layout,
				struct pst_error *err);
/* No feed of it may be open. The volume stays open. */
PST_API void pst_dataset_close(struct pst_dataset *ds);

/*
 * Writing a dataset, from the volume's start: for each sample pst_dataset_add(), then its contents
 * by pst_dataset_write() in any pieces; at last pst_dataset_finish(), which flushes. What was on
 * the volume before is lost from the first call on. One thread. -ENOSPC: the volume is full.
 */
struct pst_dataset_writer;

PST_API int pst_dataset_create(struct pst_volume *vol, struct pst_dataset_writer **ret_writer,
			       struct pst_error *err);
/* @mtime: seconds since 1970. @name: at most 4095 bytes, relative, '/' between directories. */
PST_API int pst_dataset_add(struct pst_dataset_writer *w, const char *name, uint64_t size, uint64_t mtime,
			    uint32_t mode, struct pst_error *err);
PST_API int pst_dataset_write(struct pst_dataset_writer *w, const void *data, size_t n,
			      struct pst_error *err);
/* @ret_bytes: length of the archive; may be NULL. */
PST_API int pst_dataset_finish(struct pst_dataset_writer *w, uint64_t *ret_bytes, struct pst_error *err);
/* Without a finish before: the archive is left incomplete. */
PST_API void pst_dataset_writer_free(struct pst_dataset_writer *w);

/* ---- feeds ------------------------------------------------------------------------------- */

/*
 * A feed hands an accelerator one batch after another: each epoch a new permutation of the
 * samples, given by seed and epoch alone, split over ranks, read ahead into a ring of batches.
 */
struct pst_feed;

struct pst_feed_options {
	size_t struct_size;
	uint32_t batch;    /* samples per batch; 0 = 1 */
	uint32_t prefetch; /* batches read ahead; 0 = 2 */
	/*
	 * Requests in flight at most; 0: as many bytes as the way to the data holds twice over, which is
	 * measured, and at most 128 requests, or as many as the volume's queues take.
	 */
	uint32_t inflight;
	uint32_t request_bytes; /* samples are read in requests of at most this; 0 = the volume's optimum */
	uint64_t seed;
	bool sequential; /* no shuffle */
	bool keep_last;  /* also hand out the last, smaller batch of an epoch */
	uint32_t rank;
	uint32_t ranks; /* 0 = 1 */
	/*
	 * So many consecutive samples stay together, in order, wherever the shuffle puts them; 0 = 1. A
	 * batch is a whole number of groups; samples behind the last whole group are left out.
	 */
	uint32_t group;
	/*
	 * Nothing is read: a batch is there as soon as there is room for it, and its memory holds what it
	 * held. An infinitely fast store, for measuring what all the rest costs.
	 */
	bool synthetic;
};

struct pst_batch_sample {
	uint64_t index;   /* in the dataset */
	size_t mem_offset; /* where in the feed's memory it lies */
	uint64_t size;
	int error; /* 0 or a negative errno value: this sample's data is not there */
};

struct pst_batch {
	uint64_t epoch;
	uint64_t number; /* within the epoch */
	uint32_t count;
	const struct pst_batch_sample *samples;
	uint64_t bytes;
	enum pst_path path;
	uint64_t wait_ns;          /* how long pst_feed_next() waited for it, calls that timed out included */
	/*
	 * That wait, by what the request that arrived last was doing, and before it was submitted the one
	 * whose arrival made room for it, and so on back to the wait's begin. Sums to wait_ns.
	 */
	struct pst_timing stall;
	void *priv;
};

/*
 * How much memory a feed wants: prefetch + 1 batches of mean size, and never less than two of the
 * largest samples. With less than one batch of the largest samples pst_feed_new() refuses; in
 * between it reads ahead as far as there is room.
 */
PST_API size_t pst_feed_memory_size(const struct pst_dataset *ds, const struct pst_feed_options *opts);
PST_API int pst_feed_new(struct pst_dataset *ds, struct pst_memory *mem,
			 const struct pst_feed_options *opts, struct pst_feed **ret_feed,
			 struct pst_error *err);
PST_API uint64_t pst_feed_batches(const struct pst_feed *feed); /* per epoch, of this rank */
/*
 * Begins an epoch: its batches start to be read. The epoch before is abandoned if not at its end, and
 * batches that are still held are taken back: their contents change, and releasing them does nothing.
 */
PST_API int pst_feed_start(struct pst_feed *feed, uint64_t epoch);
/*
 * Waits for the next batch, up to @timeout_ns (UINT64_MAX: as long as it takes). 1: @ret_batch is there;
 * 0: end of the epoch; -ETIMEDOUT; -EDEADLK: the caller holds every batch there is room for, so none can
 * come; -EINVAL: no epoch was started. That a sample could not be read is said in its own .error.
 */
PST_API int pst_feed_next(struct pst_feed *feed, uint64_t timeout_ns, struct pst_batch *ret_batch);
/*
 * The batch's memory may be used for another. Batches are released in the order they were given, each
 * once. A feed is used by one thread at a time.
 */
PST_API void pst_feed_release(struct pst_feed *feed, struct pst_batch *batch);
/* Waits for what is in flight. Its memory and its dataset stay. */
PST_API void pst_feed_free(struct pst_feed *feed);

#ifdef __cplusplus
}
#endif

#endif
