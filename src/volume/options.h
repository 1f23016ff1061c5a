/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small things the public API needs everywhere: option structs that may be older or newer than
 * this library, and waiting with a time limit on the monotonic clock.
 */
#ifndef VOLUME_OPTIONS_H
#define VOLUME_OPTIONS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

/*
 * Copies what the caller knew of an option struct over our defaults. A caller compiled against a
 * newer header is right as long as the fields we do not know are zero. @from may be NULL.
 */
int options_take(void *to, size_t to_size, const void *from, size_t from_size, struct err *err);

/* A condition variable that waits by the clock of real loops, and a time of such a loop for it. */
void cond_init_monotonic(pthread_cond_t *cond);
void cond_deadline(uint64_t io_time_ns, struct timespec *ret);

#endif
