/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that describes a store, taken apart. Grammar (a comma inside a path is written "\,", a
 * backslash "\\"):
 *
 *	spec    = [ "file:" ] path { "," option }
 *	        | "memory:" size { "," option }
 *	        | "null:" size { "," option }
 *	option  = "block=" ( 512 | 4096 )             logical block; default 512, or what the device has
 *	        | "ro"                                refuse to change anything
 *	        | "uuid=" UUID                        identity; otherwise see identity.h
 *	        | "filter=" filter                    up to 8, applied left to right, last outermost
 *	file:   | "size=" size                        create the file if missing; else it must match
 *	        | "create=" ( "on" | "off" )          off: size= only checks, a missing file is an error
 *	        | "direct=" ( "auto" | "on" | "off" ) bypass the page cache; auto: where it works
 *	        | "lock=" ( "on" | "off" )            refuse a file that another process serves
 *	memory: | "huge=" ( "on" | "off" )            transparent huge pages; off is the default
 *	filter  = "delay:" duration { ":" what | ":jitter=" duration | ":seed=" N }
 *	        | "error:" what ":" errno { ":" percent "%" | ":every=" N | ":range=" off "+" len
 *	                                  | ":seed=" N }
 *	        | "torn:" percent [ "%" ] [ ":seed=" N ]
 *	what    = word { "+" word }, words: read write flush discard any
 *	errno   = EIO | ENOSPC | EROFS | ENOMEM | EOPNOTSUPP | ETIMEDOUT
 *
 * A path without "file:" may not contain a colon before its first slash.
 */
#ifndef PENSTOCK_STORE_SPEC_H
#define PENSTOCK_STORE_SPEC_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/uuid.h"

#define STORE_FILTERS_MAX 8 /* more than anybody can reason about */

enum spec_kind { SPEC_FILE, SPEC_MEMORY, SPEC_NULL };
enum spec_switch { SPEC_AUTO, SPEC_ON, SPEC_OFF };

/* What an operation does, for filters. */
enum filter_what {
	FILTER_READ = 1 << 0,    /* read, compare, verify, compare and write */
	FILTER_WRITE = 1 << 1,   /* write, zero, compare and write */
	FILTER_FLUSH = 1 << 2,
	FILTER_DISCARD = 1 << 3,
	FILTER_ANY = 15,
};

enum filter_kind { FILTER_DELAY, FILTER_ERROR, FILTER_TORN };

struct filter_spec {
	enum filter_kind kind;
	unsigned int what;
	uint64_t delay_ns;
	uint64_t jitter_ns; /* up to this much more, evenly spread */
	int error;          /* errno, positive */
	uint32_t ppm;       /* chance */
	uint64_t every;     /* each n-th that qualifies; 0: chance decides */
	uint64_t range_offset;
	uint64_t range_length; /* 0: everywhere */
	bool has_seed;
	uint64_t seed;
};

struct store_spec {
	enum spec_kind kind;
	char path[PATH_MAX];
	uint64_t size;  /* bytes; 0: not given */
	uint32_t block; /* 0: not given */
	bool read_only;
	bool has_uuid;
	struct uuid uuid;
	enum spec_switch create;
	enum spec_switch direct;
	enum spec_switch lock;
	bool huge;
	unsigned int filters;
	struct filter_spec filter[STORE_FILTERS_MAX];
};

/* -EINVAL with a sentence that names the word, and says what was expected in its place. */
int store_spec_parse(const char *text, struct store_spec *ret_spec, struct err *err);
/* The part after "filter=". The same errors. */
int filter_spec_parse(const char *text, struct filter_spec *ret_filter, struct err *err);

#endif
