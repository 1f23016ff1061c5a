/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcufile.so.0 for tests, beside the double of the driver whose memory it fills. Controlled by
 * the environment (double.h, and):
 *
 *	PENSTOCK_DOUBLE_CUFILE=none	no way of DMA: only the compatibility mode, if it is allowed
 *	PENSTOCK_DOUBLE_CUFILE=file	the driver is there, but not for the files of this machine
 *	PENSTOCK_DOUBLE_CUFILE=old	its compatibility mode cannot be switched off
 *	PENSTOCK_DOUBLE_CUFILE_SHORT=1	moves at most 64 KiB at a time, as the real one may
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/doubles/double.h"

struct error {
	int error;
	int cuda;
};

struct file {
	int fd;
};

struct descr {
	int type;
	union {
		int fd;
		void *handle;
	} handle;
	const void *ops;
};

struct properties {
	struct {
		unsigned int major, minor;
		size_t poll_threshold, max_direct_io;
		unsigned int status, control;
	} nvfs;
	unsigned int features, limits[5];
};

static bool compat = true, open_for_use;

static bool is(const char *kind)
{
	const char *s = getenv("PENSTOCK_DOUBLE_CUFILE");

	return s && strcmp(s, kind) == 0;
}

static uint8_t *bytes(const void *base, off_t offset, size_t n)
{
	static uint8_t *(*find)(uint64_t addr, size_t n);
	void *driver, *at;

	if (!find) {
		driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		at = driver ? dlsym(driver, "penstock_double_bytes") : NULL;
		if (!at)
			double_misuse("cuFile without the double of the driver");
		memcpy(&find, &at, sizeof(at));
	}
	return find((uint64_t)(uintptr_t)base + (uint64_t)offset, n);
}

DOUBLE_API struct error cuFileSetParameterBool(int parameter, bool value);
struct error cuFileSetParameterBool(int parameter, bool value)
{
	if (is("old") || open_for_use)
		return (struct error){ 5008, 0 };
	if (parameter == 1)
		compat = value;
	return (struct error){ 0, 0 };
}

DOUBLE_API struct error cuFileDriverOpen(void);
struct error cuFileDriverOpen(void)
{
	if (double_fails(__func__) || (is("none") && !compat))
		return (struct error){ 5010, 0 };
	open_for_use = true;
	return (struct error){ 0, 0 };
}

DOUBLE_API struct error cuFileDriverGetProperties(struct properties *p);
struct error cuFileDriverGetProperties(struct properties *p)
{
	if (double_fails(__func__))
		return (struct error){ 5001, 0 };
	*p = (struct properties){ .features = 0 };
	p->nvfs.major = is("none") ? 0 : 2;
	p->nvfs.minor = is("none") ? 0 : 22;
	p->nvfs.control = compat ? 2 : 0;
	return (struct error){ 0, 0 };
}

DOUBLE_API struct error cuFileHandleRegister(void **handle, const struct descr *d);
struct error cuFileHandleRegister(void **handle, const struct descr *d)
{
	struct file *f;

	if (double_fails(__func__) || (is("file") && !compat))
		return (struct error){ 5008, 0 };
	if (!open_for_use || d->type != 1)
		double_misuse("cuFileHandleRegister");
	f = malloc(sizeof(*f));
	if (!f)
		double_misuse("out of memory");
	f->fd = d->handle.fd;
	*handle = f;
	return (struct error){ 0, 0 };
}

DOUBLE_API void cuFileHandleDeregister(void *handle);
void cuFileHandleDeregister(void *handle)
{
	free(handle);
}

DOUBLE_API struct error cuFileBufRegister(const void *base, size_t n, int flags);
struct error cuFileBufRegister(const void *base, size_t n, int flags)
{
	if (double_fails(__func__) || !bytes(base, 0, n))
		return (struct error){ 5012, 0 };
	return (struct error){ 0, 0 };
}

DOUBLE_API struct error cuFileBufDeregister(const void *base);
struct error cuFileBufDeregister(const void *base)
{
	return (struct error){ 0, 0 };
}

/* Through a buffer that is aligned: the file was opened for direct I/O. */
static ssize_t move(void *handle, const void *base, size_t n, off_t at, off_t offset, bool write)
{
	const struct file *f = handle;
	size_t skip = (size_t)(at % 4096), span;
	uint8_t *there, *buf = NULL;
	ssize_t r;

	if (double_number("PENSTOCK_DOUBLE_CUFILE_SHORT", 0) && n > 65536)
		n = 65536;
	there = bytes(base, offset, n);
	if (!there)
		return -5012;
	span = (skip + n + 4095) / 4096 * 4096;
	if (posix_memalign((void **)&buf, 4096, span) != 0)
		double_misuse("out of memory");
	if (write) {
		if (skip || n % 4096)
			double_misuse("a write that is not of whole blocks");
		memcpy(buf, there, n);
		r = pwrite(f->fd, buf, n, at);
	} else {
		r = pread(f->fd, buf, span, at - (off_t)skip);
		r = r <= (ssize_t)skip ? (r < 0 ? r : 0) : r - (ssize_t)skip;
		r = r > (ssize_t)n ? (ssize_t)n : r;
		if (r > 0)
			memcpy(there, buf + skip, (size_t)r);
	}
	free(buf);
	return r;
}

DOUBLE_API ssize_t cuFileRead(void *handle, void *base, size_t n, off_t at, off_t offset);
ssize_t cuFileRead(void *handle, void *base, size_t n, off_t at, off_t offset)
{
	return double_fails(__func__) ? -5011 : move(handle, base, n, at, offset, false);
}

DOUBLE_API ssize_t cuFileWrite(void *handle, const void *base, size_t n, off_t at, off_t offset);
ssize_t cuFileWrite(void *handle, const void *base, size_t n, off_t at, off_t offset)
{
	if (double_fails(__func__)) {
		errno = ENOSPC;
		return -1;
	}
	return move(handle, base, n, at, offset, true);
}
