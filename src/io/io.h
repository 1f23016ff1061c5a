/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam. Every socket, file, clock and random number of Penstock is reached through this
 * header and nothing else, so that the same target and the same host run on io_uring, on epoll
 * with a thread pool (where a container forbids io_uring) and in a deterministic simulator.
 *
 * The model is completion: an operation is a struct io_op embedded in its owner; it is submitted,
 * and later its done function is called exactly once, from inside io_loop_turn(), on the thread
 * that owns the loop. It is never called from inside the function that submitted it, so owners
 * need not be re-entrant. The trade-off is one list insertion for an operation that could have
 * finished at once; what is bought is that no caller has two ways to continue.
 *
 * Ownership: an op, and every iovec array and buffer named in it, belongs to the loop from submit
 * until done. A loop and all that is attached to it belong to one thread; the only calls allowed
 * from other threads are io_post() and io_loop_stop().
 */
#ifndef PENSTOCK_IO_IO_H
#define PENSTOCK_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/list.h"
#include "io/addr.h"

struct io_loop;     /* a reactor: one thread's event loop */
struct io_listener; /* a bound, listening address */
struct io_sock;     /* a connected byte stream that belongs to no loop yet (may be handed over) */
struct io_stream;   /* a byte stream attached to a loop */
struct io_file;     /* an open file or block device; usable from every loop of the process */
struct io_op;

typedef void (*io_done_fn)(struct io_op *op);

/*
 * One operation. The owner sets @done before submitting and reads @result in done: a count of
 * bytes, 0, or -errno. @sock is set by a successful accept or connect. The rest is private to
 * the loop; io_op_init() clears it.
 */
struct io_op {
	io_done_fn done;
	int64_t result;
	struct io_sock *sock;
	bool pending; /* between submit and done */

	/* private to the implementation */
	uint8_t kind;
	uint8_t flags;
	int niov;
	struct list link;
	struct io_loop *loop;
	void *obj; /* the stream, file or listener it acts on */
	const struct iovec *iov;
	uint64_t offset;
	uint64_t length;
	uint64_t seq;
	uint64_t impl[4];
};

static inline void io_op_init(struct io_op *op, io_done_fn done)
{
	*op = (struct io_op){ .done = done };
}

/* ---- loops ------------------------------------------------------------------------------- */

enum io_kind { IO_KIND_AUTO, IO_KIND_URING, IO_KIND_EPOLL };

struct io_loop_options {
	enum io_kind kind;     /* AUTO: PENSTOCK_IO=uring|epoll, else io_uring if the kernel lets us */
	unsigned int depth;    /* most operations expected in flight; 0 = 1024. More is still right. */
	uint64_t spin_ns;      /* poll this long for completions before sleeping; 0 = never spin */
	unsigned int file_threads; /* epoll: threads for file operations; 0 = 4 */
};

/* A loop for the calling thread. Errors: -ENOSYS/-EPERM when the kind asked for is refused. */
int io_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop, struct err *err);
/* Every stream, listener and file operation must be finished before. Takes NULL, returns NULL. */
struct io_loop *io_loop_free(struct io_loop *loop);
/* "uring", "epoll" or "sim": for banners, JSON and logs. */
const char *io_loop_name(const struct io_loop *loop);

/*
 * One turn: collects completions (waiting up to @timeout_ns; 0 = do not wait, UINT64_MAX = until
 * something happens), runs messages, expired timers, done functions and, last, the deferred
 * functions. Returns the number of functions it called, or -errno when the loop itself failed.
 */
int io_loop_turn(struct io_loop *loop, uint64_t timeout_ns);
/* Turns until io_loop_stop(), which any thread (and a signal handler) may call. */
int io_loop_run(struct io_loop *loop);
void io_loop_stop(struct io_loop *loop);
void io_loop_set_spin(struct io_loop *loop, uint64_t spin_ns);

/* ---- time, randomness -------------------------------------------------------------------- */

/* Monotonic nanoseconds, read once a turn: cheap, and the same for all of a turn. */
uint64_t io_now(struct io_loop *loop);
/* Monotonic nanoseconds, read now: for measuring. */
uint64_t io_now_precise(struct io_loop *loop);
/* Nanoseconds since 1970 (UTC). */
uint64_t io_wall(struct io_loop *loop);
/* Fills from the system's generator (seeded in the simulator). Cannot fail. */
void io_random(struct io_loop *loop, void *buf, size_t n);

/* A timer, embedded in its owner. After io_timer_stop() its function is not called. */
struct io_timer {
	void (*fn)(struct io_timer *t);
	uint64_t deadline;  /* io_now() time */
	uint32_t heap_index; /* private; 0 = not armed */
	uint64_t seq;        /* private; ties in order of arming */
};

static inline void io_timer_init(struct io_timer *t, void (*fn)(struct io_timer *t))
{
	*t = (struct io_timer){ .fn = fn };
}

static inline bool io_timer_armed(const struct io_timer *t)
{
	return t->heap_index != 0;
}

/* Arms or re-arms. -ENOMEM: the heap could not grow (the timer is not armed then). */
int io_timer_start(struct io_loop *loop, struct io_timer *t, uint64_t delay_ns);
void io_timer_stop(struct io_loop *loop, struct io_timer *t);

/* Runs once at the end of the present turn (or the next, outside one). Arming twice is one run. */
struct io_defer {
	void (*fn)(struct io_defer *d);
	struct list link;
	bool armed;
};

static inline void io_defer_init(struct io_defer *d, void (*fn)(struct io_defer *d))
{
	*d = (struct io_defer){ .fn = fn };
}

void io_defer(struct io_loop *loop, struct io_defer *d);
void io_defer_cancel(struct io_defer *d);

/* A message to a loop, from any thread; its memory belongs to the loop until fn is called. */
struct io_msg {
	void (*fn)(struct io_msg *m);
	struct io_msg *next; /* private */
};

void io_post(struct io_loop *loop, struct io_msg *m);

/* ---- byte streams ------------------------------------------------------------------------ */

struct io_listen_options {
	int backlog; /* 0 = 1024 */
	bool v6only;
};

/* Binds and listens, now. Errors: those of bind(2), with a sentence in @err. Port 0 = any. */
int io_listen(struct io_loop *loop, const struct io_addr *addr, const struct io_listen_options *opts,
	      struct io_listener **ret_listener, struct err *err);
/* The address really bound (with its port). */
const struct io_addr *io_listener_addr(const struct io_listener *l);
/* One accept may be pending per listener; result 0 and op->sock, or -errno (-EMFILE: back off). */
void io_accept(struct io_listener *l, struct io_op *op);
/* Closes; a pending accept finishes with -ECANCELED in a later turn. */
void io_listener_close(struct io_listener *l);

/* Result 0 and op->sock, or -errno. Cancel with io_cancel(). @local may be NULL (any). */
void io_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		const struct io_addr *local);
/* Asks a pending accept, connect or file operation to end early; its done still comes. */
void io_cancel(struct io_op *op);

const struct io_addr *io_sock_peer(const struct io_sock *s);
const struct io_addr *io_sock_local(const struct io_sock *s);
/* Closes a sock that was never attached. */
void io_sock_close(struct io_sock *s);

struct io_stream_options {
	uint64_t user_timeout_ns; /* unacknowledged data older than this resets the stream; 0 = system's */
	/*
	 * A stream on which nothing was received for this long is probed (TCP keepalive), and reset
	 * when there is no answer for three probes, or for user_timeout_ns; 0 = never. Whole
	 * seconds. The simulator has no probes.
	 */
	uint64_t keepalive_ns;
	size_t send_buffer;       /* bytes; 0 = system's */
	size_t recv_buffer;
};

/* Attaches @s to @loop and consumes it, also on error. TCP_NODELAY is always set. */
int io_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		  struct io_stream **ret_stream);
const struct io_addr *io_stream_peer(const struct io_stream *s);
const struct io_addr *io_stream_local(const struct io_stream *s);

/*
 * Receives at least one byte into @iov, in order. result: bytes, 0 at the peer's end of stream,
 * or -errno. One receive and one send may be pending on a stream at a time. At most IO_MAX_IOV
 * vectors; @iov stays the caller's and unchanged until done.
 */
#define IO_MAX_IOV 64
void io_stream_recv(struct io_stream *s, struct io_op *op, const struct iovec *iov, int niov);
/* Sends a part or all of @iov. result: bytes (at least 1) or -errno. @more: more follows soon. */
void io_stream_send(struct io_stream *s, struct io_op *op, const struct iovec *iov, int niov, bool more);
/*
 * Sends a part or all of @iov now or not at all: bytes (at least 1), -EAGAIN when there is no room,
 * or another -errno. Nothing of @iov is in use once it returns, so memory can be sent that is held
 * still only for as long. Not while a send is pending.
 */
int64_t io_stream_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more);
/*
 * After -EAGAIN: ends when there may be room again, with result 0, or -errno. Counts as the pending
 * send. Data is not in use, so closing the stream ends it without having sent anything.
 */
void io_stream_wait_room(struct io_stream *s, struct io_op *op);
/* Says end of stream to the peer once what was sent is out; receiving goes on. */
void io_stream_shutdown(struct io_stream *s);
/*
 * Ends the stream. Pending operations finish with -ECANCELED in a later turn (a buffer given to
 * them is not touched after that); the handle is dead at once. @reset: abort (RST) instead of FIN.
 */
void io_stream_close(struct io_stream *s, bool reset);

/* A connected pair of streams without a network, one end in each loop: for tests and in-process use. */
int io_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b);

/* ---- files ------------------------------------------------------------------------------- */

struct io_file_options {
	bool read_only;
	bool direct;     /* O_DIRECT where the file system has it; see io_file_info.direct */
	bool create;     /* create if missing */
	uint64_t size;   /* with create: size of a new file, bytes */
	bool exclusive;  /* take a write lease (flock) so that two servers cannot share a file by mistake */
};

struct io_file_info {
	uint64_t size;        /* bytes */
	uint32_t dio_align;   /* alignment of offset, length and memory for direct I/O; 1 if not direct */
	bool direct;
	bool block_device;
	bool can_discard;     /* punching holes (or BLKDISCARD) works */
	bool volatile_cache;  /* a flush is needed for durability */
	uint32_t physical_block; /* bytes; 0 unknown */
	/* What it is, whatever its name; the same after a restart. Zeroes where it cannot be known. */
	uint64_t device;   /* st_dev; of a block device its own number (st_rdev) */
	uint64_t inode;
	uint64_t birth_ns; /* when it was created, ns since 1970; 0 unknown */
};

/* Blocking: a control-plane call. Errors: those of open(2), EBUSY (exclusive), with a sentence. */
int io_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		 struct io_file **ret_file, struct err *err);
const struct io_file_info *io_file_info(const struct io_file *f);
/* Re-reads the size (a file that grew or shrank). */
int io_file_refresh(struct io_file *f);
/* All operations on it must be finished. */
struct io_file *io_file_close(struct io_file *f);

enum io_file_flags {
	IO_FILE_DSYNC = 1 << 0, /* write: durable when done (RWF_DSYNC) */
};

/* result: bytes moved (short at end of file) or -errno. */
void io_file_read(struct io_loop *loop, struct io_file *f, struct io_op *op, const struct iovec *iov,
		  int niov, uint64_t offset);
void io_file_write(struct io_loop *loop, struct io_file *f, struct io_op *op, const struct iovec *iov,
		   int niov, uint64_t offset, unsigned int flags);
/* result: 0 or -errno. Every write finished before the submit is durable when done (fdatasync). */
void io_file_sync(struct io_loop *loop, struct io_file *f, struct io_op *op);
/* Deallocate; reads as zeroes afterwards. -EOPNOTSUPP where it cannot. */
void io_file_discard(struct io_loop *loop, struct io_file *f, struct io_op *op, uint64_t offset,
		     uint64_t length);
/* Write zeroes; @keep: stay allocated. Falls back to writing when there is no faster way. */
void io_file_zero(struct io_loop *loop, struct io_file *f, struct io_op *op, uint64_t offset,
		  uint64_t length, bool keep);

/* ---- small files that are replaced as a whole -------------------------------------------- */

/*
 * Blocking: a control-plane call. Bytes that @path holds, -ENOENT, -EFBIG when that is more than
 * @max, other errors of reading, with a sentence.
 */
int64_t io_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
		      struct err *err);
/*
 * Makes @contents what @path holds, durably: whenever power fails it holds what it held before, or
 * this. Of 0 bytes: removes it. @path and @contents stay the caller's and unchanged until done.
 * result: 0 or -errno; then it may be either.
 */
void io_state_save(struct io_loop *loop, struct io_op *op, const char *path,
		   const struct iovec *contents);

/* Finishes @op with @result in this or the next turn: for code that has the answer already. */
void io_complete(struct io_loop *loop, struct io_op *op, int64_t result);

#endif
