/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli), the digest of NVMe/TCP headers and data. isa-l does the work with the CPU's
 * own instructions.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC of `n` bytes appended to those whose CRC is `crc`; 0 to begin. Both are finished values, so
 * crc32c(crc32c(0, a, n), b, m) is the CRC of a and b together. As a digest it goes on the wire as
 * an le32.
 */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

#endif
