/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text fields: ASCII, left justified, padded with spaces, without a terminator (NVMe Base 2.0,
 * "Conventions"): serial and model number, firmware revision, transport address and service.
 *
 * What is encoded is what the standard says. What is decoded came from a peer: the end may be a
 * NUL, the padding may be missing, any byte may be in it; the result is always terminated, and safe
 * to print because every byte outside printable ASCII is written as \xNN.
 */
#ifndef PENSTOCK_NVME_TEXT_H
#define PENSTOCK_NVME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A buffer in which nvme_text_escape() keeps all of @n bytes. */
#define NVME_TEXT_ESCAPED_MAX(n) (4 * (n) + 1)

/*
 * Fills @field with @s: cut at @size, padded with spaces, bytes outside 20h to 7Eh replaced by '?'.
 */
void nvme_text_encode(uint8_t *field, size_t size, const char *s);

/*
 * The text in @field, without padding (spaces and NULs at the end; all from a first NUL on),
 * escaped as below, cut to @out_size. Returns @out, for use in an argument list. @out_size is at
 * least 1.
 */
char *nvme_text_decode(const uint8_t *field, size_t size, char *out, size_t out_size);

/*
 * @n bytes made printable: 20h to 7Eh as they are but the backslash, which becomes \\, the rest as
 * \xNN. Always terminated; cut where @out_size ends, but not inside an escape. Returns @out.
 * @out_size is at least 1.
 */
char *nvme_text_escape(const void *bytes, size_t n, char *out, size_t out_size);

#endif
