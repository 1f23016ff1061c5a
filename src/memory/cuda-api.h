/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver as this program sees it: the part of libcuda.so.1 that it calls, declared here
 * from the documented ABI, so that no toolkit is needed to build and no driver to start. The names
 * with _v2 are what the driver exports for the calls that changed once (cuda.h maps the plain names
 * to them); they have been stable since CUDA 4, and all that is used here is in every driver since
 * 11.4. The library is loaded once and stays: a driver cannot be unloaded while threads may be in it.
 */
#ifndef PENSTOCK_MEMORY_CUDA_API_H
#define PENSTOCK_MEMORY_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_deviceptr;
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;

enum {
	CU_SUCCESS = 0,
	CU_INVALID_VALUE = 1,
	CU_OUT_OF_MEMORY = 2,
	CU_NOT_READY = 600,
};

enum {
	CU_STREAM_NON_BLOCKING = 1, /* not ordered with the legacy default stream */
	CU_EVENT_DISABLE_TIMING = 2,
	CU_HOST_PORTABLE = 1, /* pinned for every context */
};

/* The handle that stands for "this thread's default stream": it means another one in each thread. */
#define CU_STREAM_PER_THREAD ((uintptr_t)2)

enum {
	CU_ATTR_CONTEXT = 1,
	CU_ATTR_MEMORY_TYPE = 2,
	CU_ATTR_IS_MANAGED = 8,
	CU_ATTR_DEVICE_ORDINAL = 9,
	CU_ATTR_RANGE_START = 11,
	CU_ATTR_RANGE_SIZE = 12,
	CU_ATTR_MAPPED = 13,
	CU_ATTR_MAPPING_SIZE = 18, /* these two: 11.6 and later */
	CU_ATTR_MAPPING_BASE = 19,
};

enum {
	CU_MEMORY_HOST = 1,
	CU_MEMORY_DEVICE = 2,
};

struct cuda_api {
	cu_result (*init)(unsigned int flags);
	cu_result (*driver_get_version)(int *version);
	cu_result (*get_error_name)(cu_result error, const char **name);
	cu_result (*get_error_string)(cu_result error, const char **text);
	cu_result (*device_get_count)(int *count);
	cu_result (*device_get)(cu_device *device, int ordinal);
	cu_result (*device_get_name)(char *name, int length, cu_device device);
	cu_result (*device_total_mem)(size_t *bytes, cu_device device);
	cu_result (*primary_ctx_retain)(cu_context *ctx, cu_device device);
	cu_result (*primary_ctx_release)(cu_device device);
	cu_result (*ctx_push)(cu_context ctx);
	cu_result (*ctx_pop)(cu_context *ctx);
	cu_result (*ctx_priorities)(int *least, int *greatest);
	cu_result (*pointer_attributes)(unsigned int n, int *attributes, void **data, cu_deviceptr ptr);
	cu_result (*mem_alloc)(cu_deviceptr *ptr, size_t bytes);
	cu_result (*mem_free)(cu_deviceptr ptr);
	cu_result (*host_alloc)(void **ptr, size_t bytes, unsigned int flags);
	cu_result (*host_free)(void *ptr);
	cu_result (*copy_in)(cu_deviceptr dst, const void *src, size_t bytes, cu_stream stream);
	cu_result (*copy_out)(void *dst, cu_deviceptr src, size_t bytes, cu_stream stream);
	cu_result (*stream_create)(cu_stream *stream, unsigned int flags, int priority);
	cu_result (*stream_destroy)(cu_stream stream);
	cu_result (*stream_synchronize)(cu_stream stream);
	cu_result (*stream_wait_event)(cu_stream stream, cu_event event, unsigned int flags);
	cu_result (*event_create)(cu_event *event, unsigned int flags);
	cu_result (*event_destroy)(cu_event event);
	cu_result (*event_record)(cu_event event, cu_stream stream);
	cu_result (*event_query)(cu_event event);
};

/*
 * The driver, loaded and initialised by the first call. NULL with @err: -ENODEV (no driver, or none
 * of its devices may be used), -ENOSYS (too old), -EIO. The answer is the same for ever. Any thread.
 */
const struct cuda_api *cuda_api(struct err *err);

/* Sets "@what: CUDA_ERROR_..., what that means" and returns the errno for it, negative. */
int cuda_failed(const struct cuda_api *api, cu_result error, const char *what, struct err *err);
/* That errno alone. */
int cuda_errno(cu_result error);

#endif
