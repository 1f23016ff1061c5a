/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading /sys, /proc and /etc: of this machine, or of another one whose files were copied below a
 * directory. Everything that is read from there goes through here. What is not there and what may
 * not be read stay apart, as DOCTOR_UNSEEN and DOCTOR_DENIED in numbers and as -errno elsewhere.
 *
 * Paths are given without the leading slash, as printf formats.
 */
#ifndef DOCTOR_TREE_H
#define DOCTOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "doctor/facts.h"

struct tree {
	const char *root; /* "" for this machine, otherwise a directory */
};

/* The bytes of a file, at most @n. Their number, or -errno. */
int64_t tree_bytes(const struct tree *t, void *buf, size_t n, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The first @n - 1 bytes as text without what is white at its end. Its length, or -errno and "". */
int64_t tree_text(const struct tree *t, char *buf, size_t n, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* A number in decimal, or after 0x in hexadecimal; a negative one is UNSEEN. */
doctor_number tree_number(const struct tree *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool tree_exists(const struct tree *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The name of what a symbolic link leads to in the end; "" if that is not there. */
void tree_link(const struct tree *t, char *buf, size_t n, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The PCI address of the device in whose directory that path really lies; "" if there is none. */
void tree_bdf(const struct tree *t, char buf[DOCTOR_BDF_SIZE], const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Does any line of a file hold @needle? 1, 0, or UNSEEN, DENIED. */
doctor_number tree_contains(const struct tree *t, const char *needle, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Calls @fn with each name in a directory, sorted, numbers by their value. Their count, or -errno. */
int tree_list(const struct tree *t, const char *path, void (*fn)(const char *name, void *arg), void *arg);

/* UNSEEN or DENIED, for an errno from opening a file. */
doctor_number tree_unseen(int error);

#endif
