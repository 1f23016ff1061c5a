/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the CUDA driver, and saying in words what it answered; see cuda-api.h. */
#include "memory/cuda-api.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

struct symbol {
	const char *name;
	size_t offset;
};

static const struct symbol symbols[] = {
	{ "cuInit", offsetof(struct cuda_api, init) },
	{ "cuDriverGetVersion", offsetof(struct cuda_api, driver_get_version) },
	{ "cuGetErrorName", offsetof(struct cuda_api, get_error_name) },
	{ "cuGetErrorString", offsetof(struct cuda_api, get_error_string) },
	{ "cuDeviceGetCount", offsetof(struct cuda_api, device_get_count) },
	{ "cuDeviceGet", offsetof(struct cuda_api, device_get) },
	{ "cuDeviceGetName", offsetof(struct cuda_api, device_get_name) },
	{ "cuDeviceTotalMem_v2", offsetof(struct cuda_api, device_total_mem) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct cuda_api, primary_ctx_retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct cuda_api, primary_ctx_release) },
	{ "cuCtxPushCurrent_v2", offsetof(struct cuda_api, ctx_push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct cuda_api, ctx_pop) },
	{ "cuCtxGetStreamPriorityRange", offsetof(struct cuda_api, ctx_priorities) },
	{ "cuPointerGetAttributes", offsetof(struct cuda_api, pointer_attributes) },
	{ "cuMemAlloc_v2", offsetof(struct cuda_api, mem_alloc) },
	{ "cuMemFree_v2", offsetof(struct cuda_api, mem_free) },
	{ "cuMemHostAlloc", offsetof(struct cuda_api, host_alloc) },
	{ "cuMemFreeHost", offsetof(struct cuda_api, host_free) },
	{ "cuMemcpyHtoDAsync_v2", offsetof(struct cuda_api, copy_in) },
	{ "cuMemcpyDtoHAsync_v2", offsetof(struct cuda_api, copy_out) },
	{ "cuStreamCreateWithPriority", offsetof(struct cuda_api, stream_create) },
	{ "cuStreamDestroy_v2", offsetof(struct cuda_api, stream_destroy) },
	{ "cuStreamSynchronize", offsetof(struct cuda_api, stream_synchronize) },
	{ "cuStreamWaitEvent", offsetof(struct cuda_api, stream_wait_event) },
	{ "cuEventCreate", offsetof(struct cuda_api, event_create) },
	{ "cuEventDestroy_v2", offsetof(struct cuda_api, event_destroy) },
	{ "cuEventRecord", offsetof(struct cuda_api, event_record) },
	{ "cuEventQuery", offsetof(struct cuda_api, event_query) },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cuda_api table;
static bool usable;
static struct err why_not = ERR_NULL;

int cuda_errno(cu_result error)
{
	switch (error) {
	case CU_SUCCESS:
		return 0;
	case CU_INVALID_VALUE:
		return -EINVAL;
	case CU_OUT_OF_MEMORY:
		return -ENOMEM;
	case 3:	  /* not initialised, */
	case 4:	  /* shutting down: a call from an exit handler */
		return -ESHUTDOWN;
	case 34:  /* the stub library of a toolkit */
	case 100: /* no device */
	case 101: /* no such device */
		return -ENODEV;
	case 46:  /* another process has it exclusively */
		return -EBUSY;
	default:
		return -EIO;
	}
}

int cuda_failed(const struct cuda_api *api, cu_result error, const char *what, struct err *err)
{
	const char *name = NULL, *text = NULL;

	if (api->get_error_name(error, &name) != CU_SUCCESS || !name)
		name = "CUDA error";
	if (api->get_error_string(error, &text) != CU_SUCCESS || !text)
		text = "unknown to this driver";
	return err_set(err, -cuda_errno(error), "%s: %s (%d): %s", what, name, error, text);
}

static bool resolve(void *library)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *at = dlsym(library, symbols[i].name);

		if (!at) {
			err_set(&why_not, ENOSYS,
				"the NVIDIA driver has no %s: it is older than release 470 (CUDA 11.4), which this "
				"needs",
				symbols[i].name);
			return false;
		}
		memcpy((uint8_t *)&table + symbols[i].offset, &at, sizeof(at));
	}
	return true;
}

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	cu_result r;

	if (!library) {
		const char *said = dlerror();

		err_set(&why_not, ENODEV, "no NVIDIA driver can be used (%s): install it, or where this runs in a "
					  "container, pass the GPU through to it",
			said ? said : LIBRARY);
		return;
	}
	if (!resolve(library))
		return;
	r = table.init(0);
	if (r != CU_SUCCESS) {
		cuda_failed(&table, r, "the NVIDIA driver does not start (nvidia-smi may say more)", &why_not);
		return;
	}
	usable = true;
}

const struct cuda_api *cuda_api(struct err *err)
{
	pthread_once(&once, load);
	if (usable)
		return &table;
	if (err)
		*err = why_not;
	return NULL;
}
