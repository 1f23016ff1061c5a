/* SPDX-License-Identifier: Apache-2.0 */
/* The discovery log for the public API. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "host/discovery.h"
#include "nvme/names.h"
#include "volume/context.h"
#include "volume/uri.h"

#define DISCOVERY_PORT 8009 /* assigned by IANA for NVMe/TCP discovery */

struct find {
	struct pst_context *ctx;
	struct io_addr addr;
	struct worker_event done;
	struct pst_discovery_entry *entries;
	size_t count;
	uint64_t generation;
	struct err err;
};

static void copy_entry(struct pst_discovery_entry *to, const struct host_discovery_entry *from)
{
	snprintf(to->transport, sizeof(to->transport), "%s", nvme_trtype_name(from->trtype));
	snprintf(to->family, sizeof(to->family), "%s", nvme_adrfam_name(from->adrfam));
	snprintf(to->kind, sizeof(to->kind), "%s", nvme_subtype_name(from->subtype));
	snprintf(to->secure, sizeof(to->secure), "%s", nvme_treq_name(from->treq));
	snprintf(to->address, sizeof(to->address), "%.255s", from->traddr);
	snprintf(to->service, sizeof(to->service), "%.31s", from->trsvcid);
	snprintf(to->subsystem_nqn, sizeof(to->subsystem_nqn), "%s", from->subnqn);
	to->port_id = from->portid;
	to->controller_id = from->cntlid;
	to->admin_queue_size = from->asqsz;
	to->flags = from->eflags;
}

static void found(void *arg, const struct host_discovery_log *log, const struct err *err)
{
	struct find *f = arg;

	if (!log) {
		f->err = *err;
	} else {
		/* One more, so that an empty log is a pointer too. */
		f->entries = mem_calloc(log->count + 1, sizeof(*f->entries));
		if (!f->entries)
			err_set(&f->err, ENOMEM, "no memory for %zu entries", log->count);
		for (size_t i = 0; f->entries && i < log->count; i++)
			copy_entry(&f->entries[i], &log->entries[i]);
		f->count = log->count;
		f->generation = log->generation;
	}
	worker_event_set(&f->done);
}

static void start(struct worker *w, void *arg)
{
	struct find *f = arg;
	struct host_discovery *d;
	struct host_config c;

	host_config_init(&c);
	c.addr = f->addr;
	c.hostnqn = f->ctx->hostnqn;
	memcpy(c.hostid, f->ctx->hostid, sizeof(c.hostid));
	if (host_discover(w->loop, &c, found, f, &d, &f->err) < 0)
		worker_event_set(&f->done);
}

static int find_at(struct find *f, const char *address, uint16_t port, struct err *err)
{
	int rc = io_addr_parse(address, port, false, &f->addr, err);

	if (rc < 0)
		return rc;
	err_clear(&f->err);
	worker_event_init(&f->done, &f->ctx->workers[0]);
	worker_call(&f->ctx->workers[0], start, f);
	worker_event_wait(&f->done);
	*err = f->err;
	return -f->err.code;
}

/* Has the user named a port? Then it is that one and no other. */
static bool names_port(const char *address)
{
	struct io_addr a, b;

	return io_addr_parse(address, 1, false, &a, NULL) == 0 &&
	       io_addr_parse(address, 2, false, &b, NULL) == 0 && io_addr_port(&a) == io_addr_port(&b);
}

int pst_discover(struct pst_context *ctx, const char *address, uint64_t *ret_generation,
		 struct pst_discovery_entry **ret_entries, size_t *ret_count, struct pst_error *error)
{
	struct find f = { .ctx = ctx };
	struct err err = ERR_NULL, other = ERR_NULL;
	int rc = find_at(&f, address, DISCOVERY_PORT, &err);

	/* Where nothing listens on the discovery port, the I/O port will tell as well. */
	if (rc == -ECONNREFUSED && !names_port(address) && find_at(&f, address, URI_DEFAULT_PORT, &other) == 0)
		rc = 0;
	if (rc < 0)
		return pst_error_from(error, &err);
	*ret_generation = f.generation;
	*ret_entries = f.entries;
	*ret_count = f.count;
	return 0;
}

void pst_discovery_free(struct pst_discovery_entry *entries)
{
	mem_free(entries);
}
