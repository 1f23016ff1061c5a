/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a dataset: its volume and its index. */
#ifndef FEED_DATASET_H
#define FEED_DATASET_H

#include "feed/index.h"
#include "feed/records.h"
#include "penstock.h"

struct pst_dataset {
	struct pst_volume *vol;
	struct index index; /* of files */
	struct records records;
};

#endif
