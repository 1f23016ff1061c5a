/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading small, local configuration files such as /etc/nvme/hostnqn: at once, outside any loop, and
 * never anything that could block for long or be large.
 */
#ifndef PENSTOCK_IO_SMALL_H
#define PENSTOCK_IO_SMALL_H

#include <stddef.h>

/*
 * The contents of the regular file @path as a text, terminated, in @buf of @cap bytes. Any thread.
 * -errno of open(2) and read(2); -EINVAL: no regular file, or with a NUL in it; -EFBIG: longer than
 * cap - 1.
 */
int io_read_small_file(const char *path, char *buf, size_t cap);

#endif
