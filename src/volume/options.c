/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/options.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

int options_take(void *to, size_t to_size, const void *from, size_t from_size, struct err *err)
{
	const uint8_t *bytes = from;

	if (!from)
		return 0;
	if (from_size < sizeof(size_t))
		return err_set(err, EINVAL,
			       "options: struct_size is not set (initialise the struct with PST_OPTIONS)");
	for (size_t i = to_size; i < from_size; i++) {
		if (bytes[i] != 0)
			return err_set(err, EINVAL,
				       "options: a field that this version of the library does not know is set");
	}
	memcpy(to, from, MIN(to_size, from_size));
	return 0;
}

void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void cond_deadline(uint64_t io_time_ns, struct timespec *ret)
{
	const uint64_t second = 1000000000;

	*ret = (struct timespec){ .tv_sec = (time_t)(io_time_ns / second), .tv_nsec = (long)(io_time_ns % second) };
}
