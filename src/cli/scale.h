/* SPDX-License-Identifier: Apache-2.0 */
/* A factor as people write it, "0.25", "1" or "2.5", in millionths: exactly, without floating point. */
#ifndef CLI_SCALE_H
#define CLI_SCALE_H

#include <stdint.h>

#define SCALE_ONE UINT64_C(1000000)
#define SCALE_MAX (SCALE_ONE * 1000)

/* -EINVAL: no such number, nothing, or more than a thousand. At most six places. */
int scale_parse(const char *arg, uint64_t *ret_ppm);

#endif
