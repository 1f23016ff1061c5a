/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy past the caches, for the emulated copy engine: what it writes is a device's memory, which this
 * CPU does not read soon, so fetching those lines first and keeping them afterwards is work for nothing
 * that a real engine does not make the CPU do. It halves the CPU time of a copy whose source is in the
 * cache. Two twins: stream-x86.c, and stream-any.c where there are no such stores.
 */
#ifndef PENSTOCK_MEMORY_STREAM_H
#define PENSTOCK_MEMORY_STREAM_H

#include <stddef.h>

/* As memcpy(3). When it returns the bytes are visible to every thread as after memcpy(). */
void mem_stream_copy(void *dst, const void *src, size_t n);

#endif
