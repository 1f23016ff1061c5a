/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: descriptions of memory, and the two copies. For memory the CPU may touch a copy is a
 * memcpy; for the rest the device does it, and this file only checks the range and fills in the
 * job.
 */
#include "memory/region.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/util.h"

static void *cpu_addr(uint64_t addr)
{
	return (void *)(uintptr_t)addr; /* NOLINT: an address is what it is */
}

void mem_populate(void *p, uint64_t length)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	/* Advice: where it is not taken the pages come one by one, as they are touched. */
	madvise(p, length, MADV_HUGEPAGE);
	if (pages > 0 && page > 0 && length <= (uint64_t)pages * (uint64_t)page / 2)
		madvise(p, length, MADV_POPULATE_WRITE);
}

/* ---- registering and allocating ------------------------------------------------------------ */

static int pin(struct mem_region *r, struct err *err)
{
	if (mlock(cpu_addr(r->addr), r->length) < 0)
		return err_set(err, errno == EAGAIN ? ENOMEM : errno,
			       "cannot pin %" PRIu64 " bytes: the limit on locked memory (ulimit -l, "
			       "LimitMEMLOCK=) is lower",
			       r->length);
	r->locked = true;
	return 0;
}

int mem_region_register(struct mem_region *r, enum mem_kind kind, void *ptr, uint64_t length,
			struct err *err)
{
	struct mem_region region = {
		.kind = kind,
		.addr = (uint64_t)(uintptr_t)ptr,
		.length = length,
	};
	int ret;

	INVARIANT(kind == MEM_HOST || kind == MEM_PINNED);
	if (kind == MEM_PINNED && length > 0) {
		ret = pin(&region, err);
		if (ret < 0)
			return ret;
	}
	*r = region;
	return 0;
}

int mem_region_register_device(struct mem_region *r, struct mem_device *dev, uint64_t addr,
			       uint64_t length, struct err *err)
{
	int ret = dev->ops->check(dev, addr, length, err);

	if (ret < 0)
		return ret;
	*r = (struct mem_region){
		.kind = dev->ops->kind,
		.dev = dev,
		.addr = addr,
		.length = length,
	};
	return 0;
}

int mem_region_alloc(struct mem_region *r, enum mem_kind kind, uint64_t length, struct err *err)
{
	void *p = MAP_FAILED;
	int ret;

	INVARIANT(kind == MEM_HOST || kind == MEM_PINNED);
	if (length == 0)
		return err_set(err, EINVAL, "a region of no bytes");
	if (length <= SIZE_MAX / 2)
		p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, ENOMEM, "no %" PRIu64 " bytes of memory", length);
	ret = mem_region_register(r, kind, p, length, err);
	if (ret < 0) {
		munmap(p, length);
		return ret;
	}
	r->owned = true;
	mem_populate(p, length);
	return 0;
}

int mem_region_alloc_device(struct mem_region *r, struct mem_device *dev, uint64_t length,
			    struct err *err)
{
	uint64_t addr;
	int ret;

	if (length == 0)
		return err_set(err, EINVAL, "a region of no bytes");
	ret = dev->ops->alloc(dev, length, &addr);
	if (ret < 0)
		return err_set(err, -ret, "no %" PRIu64 " bytes left in the memory of %s", length,
			       dev->name);
	*r = (struct mem_region){
		.kind = dev->ops->kind,
		.owned = true,
		.dev = dev,
		.addr = addr,
		.length = length,
	};
	return 0;
}

void mem_region_deinit(struct mem_region *r)
{
	if (r->mapping)
		r->mapping->unmap(r->mapping);
	if (r->owned && r->dev)
		r->dev->ops->free(r->dev, r->addr, r->length);
	else if (r->owned)
		munmap(cpu_addr(r->addr), r->length); /* unlocks as well */
	else if (r->locked)
		munlock(cpu_addr(r->addr), r->length);
	*r = MEM_REGION_NULL;
}

/* ---- asking -------------------------------------------------------------------------------- */

bool mem_region_contains(const struct mem_region *r, uint64_t offset, uint64_t length)
{
	return range_within(offset, length, r->length);
}

void *mem_region_ptr(const struct mem_region *r, uint64_t offset)
{
	INVARIANT(mem_region_cpu(r) && offset <= r->length);
	return cpu_addr(r->addr + offset);
}

uint64_t mem_region_addr(const struct mem_region *r, uint64_t offset)
{
	INVARIANT(offset <= r->length);
	return r->addr + offset;
}

enum mem_path mem_region_path(const struct mem_region *r)
{
	return r->dev ? r->dev->ops->path : MEM_PATH_HOST;
}

/* ---- copying ------------------------------------------------------------------------------- */

static uint64_t sum(const struct iovec *iov, int niov)
{
	uint64_t n = 0;

	for (int i = 0; i < niov; i++)
		n += iov[i].iov_len;
	return n;
}

static void cpu_copy(const struct mem_region *r, uint64_t offset, const struct iovec *iov, int niov,
		     enum mem_job_kind kind)
{
	uint8_t *at = mem_region_ptr(r, offset);

	for (int i = 0; i < niov; at += iov[i].iov_len, i++) {
		if (iov[i].iov_len == 0)
			continue;
		if (kind == MEM_JOB_IN)
			memmove(at, iov[i].iov_base, iov[i].iov_len);
		else
			memmove(iov[i].iov_base, at, iov[i].iov_len);
	}
}

static bool copy(struct mem_queue *q, const struct mem_region *r, uint64_t offset,
		 const struct iovec *iov, int niov, struct mem_job *job, uint64_t now_ns,
		 enum mem_job_kind kind)
{
	uint64_t length = sum(iov, niov);

	INVARIANT(mem_region_contains(r, offset, length));
	job->result = 0;
	if (length == 0)
		return true;
	if (mem_region_cpu(r)) {
		cpu_copy(r, offset, iov, niov, kind);
		return true;
	}
	if (kind == MEM_JOB_IN && r->mapping && length <= r->mapping->max) {
		job->result = r->mapping->copy_in(r->mapping, offset, iov, niov);
		return true;
	}
	INVARIANT(q && q->dev == r->dev && job->done);
	job->kind = kind;
	job->queue = q;
	job->iov = iov;
	job->niov = niov;
	job->addr = r->addr + offset;
	job->length = length;
	q->pending++;
	if (kind == MEM_JOB_IN)
		r->dev->ops->copy_to_device(q, job, now_ns);
	else
		r->dev->ops->copy_to_host(q, job, now_ns);
	return false;
}

bool mem_copy_in(struct mem_queue *q, const struct mem_region *r, uint64_t offset,
		 const struct iovec *iov, int niov, struct mem_job *job, uint64_t now_ns)
{
	return copy(q, r, offset, iov, niov, job, now_ns, MEM_JOB_IN);
}

bool mem_copy_out(struct mem_queue *q, const struct mem_region *r, uint64_t offset,
		  const struct iovec *iov, int niov, struct mem_job *job, uint64_t now_ns)
{
	return copy(q, r, offset, iov, niov, job, now_ns, MEM_JOB_OUT);
}
