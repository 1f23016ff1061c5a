/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy engine of a GPU as one thread uses it: a stream of its own, and a ring of events, one
 * behind each copy. A copy for which no event is free waits in line, which bounds what the driver
 * is given.
 *
 * Whether a copy is over is asked for, not told. The driver can call back (cuLaunchHostFunc()), but
 * then holds up what is behind that call in the stream until a thread of its own has run, and two
 * threads wake up for each copy. A copy takes little and known time (some microseconds and its
 * bytes over the bus), so the first look is after that; each further one after a quarter of the
 * time that has passed. The trade-off is a copy seen late by up to a quarter of what it took, which
 * is a few microseconds unless the copy engine has other work.
 */
#include <errno.h>

#include "base/alloc.h"
#include "memory/cuda-impl.h"
#include "memory/cuda.h"

enum {
	EVENTS = 64,	       /* copies that the driver has at a time */
	LAUNCH_NS = 6000,      /* what a copy takes besides its bytes */
	BYTES_PER_NS = 25,     /* PCIe 4.0 x16 as it is in practice; faster ones are seen a little later */
	LOOK_MIN_NS = 2000,
	LOOK_MAX_NS = 1000000, /* however long it takes: this is how late a look may be */
	SHUT_OUT_MAX = 8,      /* looks in a row for which the context could not be had: it is gone */
};

struct cuda_queue {
	struct mem_queue q;
	cu_stream stream;
	struct list flying;  /* mem_job.link, in the stream's order; impl NULL: failed, nothing in flight */
	struct list waiting; /* no event was free */
	uint64_t since_ns;   /* the first of flying is the first since then */
	uint64_t look_ns;    /* at it again then */
	unsigned int shut_out;
	unsigned int free;
	cu_event events[EVENTS]; /* the first @free of them */
};

_Static_assert(offsetof(struct cuda_queue, q) == 0, "a queue is its own head");

static struct cuda_queue *queue_of(struct mem_queue *q)
{
	return container_of(q, struct cuda_queue, q);
}

static struct mem_job *head_of(const struct list *l)
{
	return list_empty(l) ? NULL : container_of(l->next, struct mem_job, link);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void take_down(struct cuda *c, struct cuda_queue *cq)
{
	while (cq->free > 0)
		(void)c->api->event_destroy(cq->events[--cq->free]);
	if (cq->stream)
		(void)c->api->stream_destroy(cq->stream);
	mem_free(cq);
}

static cu_result set_up(struct cuda *c, struct cuda_queue *cq)
{
	int least = 0, greatest = 0;
	cu_result r = c->api->ctx_priorities(&least, &greatest);

	if (r == CU_SUCCESS)
		r = c->api->stream_create(&cq->stream, CU_STREAM_NON_BLOCKING, greatest);
	while (r == CU_SUCCESS && cq->free < EVENTS) {
		r = c->api->event_create(&cq->events[cq->free], CU_EVENT_DISABLE_TIMING);
		cq->free += r == CU_SUCCESS;
	}
	return r;
}

int cuda_queue_new(struct mem_device *dev, mem_wake_fn wake, void *arg, struct mem_queue **ret_queue)
{
	struct cuda *c = cuda_of(dev);
	struct cuda_queue *cq = mem_zalloc(sizeof(*cq));
	int rc;

	if (!cq)
		return -ENOMEM;
	cq->q.dev = dev;
	list_init(&cq->flying);
	list_init(&cq->waiting);
	if (!cuda_enter(c)) {
		mem_free(cq);
		return -EIO;
	}
	rc = cuda_result(c, set_up(c, cq), "a stream for copies");
	if (rc < 0)
		take_down(c, cq);
	cuda_leave(c);
	if (rc == 0)
		*ret_queue = &cq->q;
	return rc;
}

void cuda_queue_free(struct mem_queue *q)
{
	struct cuda *c = cuda_of(q->dev);

	if (!cuda_enter(c)) {
		mem_free(queue_of(q)); /* the context is gone, and with it what was in it */
		return;
	}
	take_down(c, queue_of(q));
	cuda_leave(c);
}

/* ---- submitting ---------------------------------------------------------------------------- */

static void expect(struct cuda_queue *cq, uint64_t now)
{
	const struct mem_job *job = head_of(&cq->flying);

	cq->since_ns = now;
	cq->look_ns = job && job->impl ? now + LAUNCH_NS + job->length / BYTES_PER_NS : now;
}

static int give(struct cuda *c, struct cuda_queue *cq, struct mem_job *job)
{
	uint64_t at = job->addr;
	int rc = 0;

	for (int i = 0; rc == 0 && i < job->niov; at += job->iov[i].iov_len, i++) {
		const struct iovec *v = &job->iov[i];

		if (v->iov_len == 0)
			continue;
		if (job->kind == MEM_JOB_IN)
			rc = cuda_result(c, c->api->copy_in(at, v->iov_base, v->iov_len, cq->stream),
					 "cuMemcpyHtoDAsync");
		else
			rc = cuda_result(c, c->api->copy_out(v->iov_base, at, v->iov_len, cq->stream),
					 "cuMemcpyDtoHAsync");
	}
	return rc;
}

/* The context is current. Whatever happens, the job is in flying afterwards. */
static void launch(struct cuda *c, struct cuda_queue *cq, struct mem_job *job, uint64_t now)
{
	cu_event event = cq->events[--cq->free];
	bool first = list_empty(&cq->flying);
	int rc = give(c, cq, job);

	job->impl = event;
	job->deadline = now;
	if (cuda_result(c, c->api->event_record(event, cq->stream), "cuEventRecord") < 0) {
		/* Part of it may be on its way: its buffers must not be used again before it is over. */
		(void)cuda_result(c, c->api->stream_synchronize(cq->stream), "cuStreamSynchronize");
		cq->events[cq->free++] = event;
		job->impl = NULL;
		rc = rc < 0 ? rc : -EIO;
	}
	job->result = rc;
	list_add_tail(&cq->flying, &job->link);
	if (first)
		expect(cq, now);
}

static void refuse(struct cuda_queue *cq, struct mem_job *job, int error, uint64_t now)
{
	bool first = list_empty(&cq->flying);

	job->impl = NULL;
	job->result = error;
	list_add_tail(&cq->flying, &job->link);
	if (first)
		expect(cq, now);
}

void cuda_queue_copy(struct mem_queue *q, struct mem_job *job, uint64_t now_ns)
{
	struct cuda_queue *cq = queue_of(q);
	struct cuda *c = cuda_of(q->dev);

	job->impl = NULL;
	if (cq->free == 0 || !list_empty(&cq->waiting)) {
		list_add_tail(&cq->waiting, &job->link);
	} else if (cuda_enter(c)) {
		launch(c, cq, job, now_ns);
		cuda_leave(c);
	} else {
		refuse(cq, job, -EIO, now_ns);
	}
}

void cuda_queue_compute(struct mem_queue *q, struct mem_job *job, uint64_t now_ns)
{
	refuse(queue_of(q), job, -EOPNOTSUPP, now_ns);
}

int mem_cuda_follow(struct mem_job *job, uint64_t stream)
{
	struct cuda *c = cuda_of(job->queue->dev);
	int rc;

	/* One that could not be started has an event behind it all the same: only its done says so. */
	if (!job->impl || job->result < 0)
		return -EAGAIN;
	if (!cuda_enter(c))
		return -EIO;
	rc = cuda_result(c, c->api->stream_wait_event((cu_stream)(uintptr_t)stream, job->impl, 0), /* NOLINT */
			 "cuStreamWaitEvent");
	cuda_leave(c);
	return rc;
}

/* ---- finishing ----------------------------------------------------------------------------- */

/* Is the first one over? Sets its result if it failed on its way. */
static bool over(struct cuda *c, struct cuda_queue *cq, struct mem_job *job)
{
	cu_result r;

	if (!job->impl)
		return true;
	r = c->api->event_query(job->impl);
	if (r == CU_NOT_READY)
		return false;
	if (r != CU_SUCCESS) {
		int rc = cuda_result(c, r, "a copy");

		job->result = job->result < 0 ? job->result : rc;
		/* Nothing is known of it: no buffer is given back while the GPU may still use it. */
		(void)c->api->stream_synchronize(cq->stream);
	}
	cq->events[cq->free++] = job->impl;
	job->impl = NULL;
	return true;
}

static void look_again(struct cuda_queue *cq, uint64_t now)
{
	uint64_t waited = now > cq->since_ns ? now - cq->since_ns : 0;

	cq->look_ns = now + MIN(MAX(waited / 4, (uint64_t)LOOK_MIN_NS), (uint64_t)LOOK_MAX_NS);
}

/*
 * What is over moves to @done, with the context current; calling done is left to the caller, so
 * that a callback which submits anew does not do so in the middle.
 */
static void collect(struct cuda *c, struct cuda_queue *cq, struct list *done, uint64_t now)
{
	struct mem_job *job;

	while ((job = head_of(&cq->flying))) {
		if (!over(c, cq, job)) {
			look_again(cq, now);
			break;
		}
		list_del(&job->link);
		list_add_tail(done, &job->link);
		expect(cq, now);
	}
	while (cq->free > 0 && (job = list_pop_entry(&cq->waiting, struct mem_job, link)))
		launch(c, cq, job, now);
}

/* Nothing can be asked any more: all fails. The driver has no such context, so it copies nothing. */
static void give_up(struct cuda_queue *cq, struct list *done)
{
	struct mem_job *job;

	list_splice_tail(done, &cq->flying);
	list_splice_tail(done, &cq->waiting);
	list_for_each_entry(job, done, link) {
		if (job->impl)
			cq->events[cq->free++] = job->impl;
		job->impl = NULL;
		job->result = job->result < 0 ? job->result : -EIO;
	}
}

unsigned int cuda_queue_poll(struct mem_queue *q, uint64_t now_ns)
{
	struct cuda_queue *cq = queue_of(q);
	struct cuda *c = cuda_of(q->dev);
	struct list done = LIST_INIT(done);
	unsigned int calls = 0;
	struct mem_job *job;

	if (cuda_enter(c)) {
		cq->shut_out = 0;
		collect(c, cq, &done, now_ns);
		cuda_leave(c);
	} else if (++cq->shut_out < SHUT_OUT_MAX) {
		cq->look_ns = now_ns + LOOK_MAX_NS;
	} else {
		give_up(cq, &done);
	}
	while ((job = list_pop_entry(&done, struct mem_job, link))) {
		q->pending--;
		calls++;
		job->done(job);
	}
	return calls;
}

uint64_t cuda_queue_next(const struct mem_queue *q)
{
	const struct cuda_queue *cq = (const struct cuda_queue *)(const void *)q;

	return list_empty(&cq->flying) ? UINT64_MAX : cq->look_ns;
}
