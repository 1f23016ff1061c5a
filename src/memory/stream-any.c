/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/stream.h"

#include <string.h>

void mem_stream_copy(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}
