/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping edges apart. A write that covers only part of a block reads that block, merges and
 * writes it back; another write to the same block in between would be lost. So each volume knows
 * its writes in flight, and a write waits while one of the two has an edge in a block that the
 * other touches. Whole-block writes never wait for each other. First come, first served: a write
 * also waits for those before it that wait.
 *
 * The lists are looked through only for or because of a write with an edge, and these are few; so the
 * price of a write of whole blocks does not grow with the number in flight.
 */
#include "volume/request.h"

static uint64_t block_of(const struct request *r)
{
	return r->port->backend->info.block;
}

static bool has_edge(const struct request *r)
{
	return r->offset % block_of(r) != 0 || (r->offset + r->length) % block_of(r) != 0;
}

static uint64_t first_block(const struct request *r)
{
	return r->offset / block_of(r);
}

static uint64_t last_block(const struct request *r)
{
	return (r->offset + r->length - 1) / block_of(r);
}

static bool touches(const struct request *r, uint64_t block)
{
	return block >= first_block(r) && block <= last_block(r);
}

/* Has @a an edge in a block of @b's? */
static bool edge_in(const struct request *a, const struct request *b)
{
	if (a->offset % block_of(a) != 0 && touches(b, first_block(a)))
		return true;
	return (a->offset + a->length) % block_of(a) != 0 && touches(b, last_block(a));
}

static bool conflict(const struct request *a, const struct request *b)
{
	return (a->edged && edge_in(a, b)) || (b->edged && edge_in(b, a));
}

static bool must_wait(struct pst_volume *vol, const struct request *r)
{
	struct request *other;

	if (vol->edged == 0)
		return false; /* neither this one nor any other */
	list_for_each_entry(other, &vol->writes, writes) {
		if (conflict(r, other))
			return true;
	}
	list_for_each_entry(other, &vol->blocked, writes) {
		if (other == r)
			break;
		if (conflict(r, other))
			return true;
	}
	return false;
}

static void lock(struct pst_volume *vol)
{
	if (vol->many)
		pthread_mutex_lock(&vol->writes_lock);
}

static void unlock(struct pst_volume *vol)
{
	if (vol->many)
		pthread_mutex_unlock(&vol->writes_lock);
}

bool edge_admit(struct request *r)
{
	struct pst_volume *vol = r->vol;
	bool wait;

	if (r->length == 0)
		return true;
	r->edged = has_edge(r);
	lock(vol);
	vol->edged += r->edged;
	wait = must_wait(vol, r);
	list_add_tail(wait ? &vol->blocked : &vol->writes, &r->writes);
	r->in_writes = true;
	unlock(vol);
	return !wait;
}

static void admitted(struct io_msg *m)
{
	struct request *r = container_of(m, struct request, msg);

	port_enqueue(r->port, r);
}

void edge_release(struct request *r)
{
	struct pst_volume *vol = r->vol;
	struct request *b, *next;

	lock(vol);
	list_del(&r->writes);
	r->in_writes = false;
	vol->edged -= r->edged;
	list_for_each_entry_safe(b, next, &vol->blocked, writes) {
		if (must_wait(vol, b))
			continue;
		list_del(&b->writes);
		list_add_tail(&vol->writes, &b->writes);
		/* Its port may be another thread's; and nobody is called from in here. */
		b->msg.fn = admitted;
		io_post(b->port->worker->loop, &b->msg);
	}
	unlock(vol);
}
