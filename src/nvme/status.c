/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of statuses, and the two bridges between statuses and errno.
 *
 * The names and the errno of each status come from the list in status-list.h. The other direction
 * is a table of its own, since many errors of a store fold into few statuses and what is folded,
 * and whether a retry makes sense, is a judgement that needs its reason beside it.
 */
#include "nvme/status.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "base/util.h"

struct status_entry {
	uint16_t code;
	int err;
	const char *name;
};

#define STATUS_ENTRY(name, value, text, err) { (value), (err), (text) },

static const struct status_entry status_table[] = { NVME_STATUS_LIST(STATUS_ENTRY) };

static const struct status_entry fabrics_table[] = { NVME_STATUS_FABRICS_LIST(STATUS_ENTRY) };

/* A search along some hundred entries: statuses are named in logs, not on the I/O path. */
static const struct status_entry *status_find(const struct status_entry *table, size_t n,
					      uint16_t code)
{
	for (size_t i = 0; i < n; i++) {
		if (table[i].code == code)
			return &table[i];
	}
	return NULL;
}

static const struct status_entry *status_find_fabrics(uint16_t code)
{
	const struct status_entry *e;

	e = status_find(fabrics_table, ARRAY_SIZE(fabrics_table), code);
	/*
	 * 180h to 1BFh belong to the command set: what Fabrics does not define there is not NVM's.
	 */
	if (e || (code >= 0x180 && code <= 0x1bf))
		return e;
	return status_find(status_table, ARRAY_SIZE(status_table), code);
}

static const char *status_unknown(uint16_t code)
{
	switch (code >> 8) {
	case NVME_SCT_GENERIC:
		return "unknown generic status";
	case NVME_SCT_COMMAND:
		return "unknown command specific status";
	case NVME_SCT_MEDIA:
		return "unknown media status";
	case NVME_SCT_PATH:
		return "unknown path status";
	case NVME_SCT_VENDOR:
		return "vendor specific status";
	default:
		return "status of a reserved type";
	}
}

const char *nvme_status_name(struct nvme_status st)
{
	const struct status_entry *e;

	e = status_find(status_table, ARRAY_SIZE(status_table), nvme_status_code(st));
	return e ? e->name : status_unknown(nvme_status_code(st));
}

const char *nvme_status_name_fabrics(struct nvme_status st)
{
	const struct status_entry *e = status_find_fabrics(nvme_status_code(st));

	return e ? e->name : status_unknown(nvme_status_code(st));
}

int nvme_status_to_errno(struct nvme_status st)
{
	const struct status_entry *e;

	if (nvme_status_ok(st))
		return 0;
	e = status_find(status_table, ARRAY_SIZE(status_table), nvme_status_code(st));
	return e ? -e->err : -EIO;
}

int nvme_status_to_errno_fabrics(struct nvme_status st)
{
	const struct status_entry *e;

	if (nvme_status_ok(st))
		return 0;
	e = status_find_fabrics(nvme_status_code(st));
	return e ? -e->err : -EIO;
}

/*
 * What a store's errno means to a host.
 *
 * Do Not Retry is set where the very same command must fail again until somebody changes something
 * (the range, the space, the permission). It is clear where time may cure it, and for media errors
 * too: an EIO of a block device may as well have been a link of its own that is back by now, and a
 * host bounds its retries.
 *
 * Not used: Command Interrupted, which a controller may send only to hosts that set ACRE; and the
 * path related type, since on those a Linux host with one path retries without limit or pause.
 */
struct errno_entry {
	int err;
	bool dnr;
	enum nvme_sc code;
};

static const struct errno_entry errno_table[] = {
	/* The media failed; a write turns this into Write Fault. */
	{ EIO, false, NVME_SC_UNRECOVERED_READ },
	{ ENODATA, false, NVME_SC_UNRECOVERED_READ },   /* the block layer's BLK_STS_MEDIUM */
	{ EREMOTEIO, false, NVME_SC_UNRECOVERED_READ }, /* its BLK_STS_TARGET */
	{ EUCLEAN, false, NVME_SC_UNRECOVERED_READ },   /* the file system is corrupt */
	{ EBADMSG, false, NVME_SC_UNRECOVERED_READ },   /* the file system's checksum is wrong */
	{ EILSEQ, true, NVME_SC_GUARD_CHECK }, /* integrity metadata of a device is wrong */

	/* No space: the thin pool, the quota, the largest file. Stays so until somebody acts. */
	{ ENOSPC, true, NVME_SC_CAPACITY_EXCEEDED },
	{ EDQUOT, true, NVME_SC_CAPACITY_EXCEEDED },
	{ EFBIG, true, NVME_SC_CAPACITY_EXCEEDED },

	/* Not allowed. */
	{ EROFS, true, NVME_SC_WRITE_PROTECTED },
	{ EACCES, true, NVME_SC_ACCESS_DENIED },
	{ EPERM, true, NVME_SC_ACCESS_DENIED },
	{ EBADE, true, NVME_SC_RESERVATION_CONFLICT },

	/* Not possible. */
	{ EOPNOTSUPP, true, NVME_SC_INVALID_OPCODE },
	{ ENOSYS, true, NVME_SC_INVALID_OPCODE },
	{ ENOTTY, true, NVME_SC_INVALID_OPCODE }, /* an ioctl the backing lacks */
	{ EINVAL, true, NVME_SC_INVALID_FIELD },
	{ ERANGE, true, NVME_SC_LBA_OUT_OF_RANGE },
	{ EOVERFLOW, true, NVME_SC_LBA_OUT_OF_RANGE },

	/* The backing is away: unplugged, unmounted, its server silent. It may come back. */
	{ ENXIO, false, NVME_SC_NS_NOT_READY },
	{ ENODEV, false, NVME_SC_NS_NOT_READY },
	{ ENOENT, false, NVME_SC_NS_NOT_READY },
	{ ENOMEDIUM, false, NVME_SC_NS_NOT_READY },
	{ ESTALE, false, NVME_SC_NS_NOT_READY },
	{ ENOTCONN, false, NVME_SC_NS_NOT_READY },
	{ ENOLINK, false, NVME_SC_NS_NOT_READY },
	{ ESHUTDOWN, false, NVME_SC_NS_NOT_READY },

	/* Stopped on purpose. */
	{ ECANCELED, false, NVME_SC_ABORT_REQUESTED },

	/* Short of something for a moment: as the default below, but listed, since decided. */
	{ ENOMEM, false, NVME_SC_INTERNAL_ERROR },
	{ EAGAIN, false, NVME_SC_INTERNAL_ERROR },
	{ EBUSY, false, NVME_SC_INTERNAL_ERROR },
	{ EINTR, false, NVME_SC_INTERNAL_ERROR },
	{ ENOBUFS, false, NVME_SC_INTERNAL_ERROR },
	{ ETIMEDOUT, false, NVME_SC_INTERNAL_ERROR },
};

struct nvme_status nvme_status_from_errno(int err, enum nvme_media_op op)
{
	if (err == 0)
		return nvme_status_success();
	if (err < 0)
		err = err == INT_MIN ? INT_MAX : -err;
	/* Not an error of the store but the answer of the command: the data differs. */
	if (err == EILSEQ && op == NVME_MEDIA_COMPARE)
		return nvme_status_dnr(NVME_SC_COMPARE_FAILURE);

	for (size_t i = 0; i < ARRAY_SIZE(errno_table); i++) {
		const struct errno_entry *e = &errno_table[i];

		if (e->err != err)
			continue;
		if (e->code == NVME_SC_UNRECOVERED_READ && op == NVME_MEDIA_WRITE)
			return nvme_status(NVME_SC_WRITE_FAULT);
		return e->dnr ? nvme_status_dnr(e->code) : nvme_status(e->code);
	}
	return nvme_status(NVME_SC_INTERNAL_ERROR);
}
