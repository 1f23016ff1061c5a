/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target defines, and libFuzzer (or replay.c, in ordinary builds) calls. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; says what is wrong by crashing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
