/* SPDX-License-Identifier: Apache-2.0 */
/* The four actions of the dataset command. Each is given the URI, opens the volume, and says what is wrong. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include <stdatomic.h>

#include "cli/cli.h"

/* Set by SIGINT and SIGTERM; long work stops at the next piece. */
extern atomic_bool dataset_stop;

int dataset_pack(const char *uri, int count, char **files);
int dataset_list(const char *uri);

struct dataset_verify_options {
	bool sha256;	   /* print the digest of each sample */
	const char *check; /* file with digests to compare with; NULL: none */
	const char *into;  /* memory that samples land in; NULL: host */
	const char *require;
};

int dataset_verify(const char *uri, const struct dataset_verify_options *o);

#endif
