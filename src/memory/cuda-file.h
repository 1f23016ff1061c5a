/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUDirect Storage: a file read into the memory of a GPU by DMA, through cuFile (libcufile.so.0,
 * loaded when it is first asked for).
 *
 * cuFile has a compatibility mode in which it reads into host memory and copies, and does not say
 * so. It is switched off here before cuFile starts; where that cannot be done (an older cuFile, or
 * one that the application has started already) and cuFile's properties say that the mode is
 * allowed, no file is opened, for nobody could tell which way its data goes. Our own staging is
 * then the way, and is called that.
 *
 * cuFile's calls block: each file has a few threads that make them.
 */
#ifndef PENSTOCK_MEMORY_CUDA_FILE_H
#define PENSTOCK_MEMORY_CUDA_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "memory/device.h"

#define MEM_GDS_ALIGN 4096u /* writes are of whole blocks of this */

struct mem_gds_file;

/*
 * One move between the file and device memory. @done is called from a thread of the file's, once.
 * result: 0, or -errno (-EIO: the file has been cut short, or cuFile says no more than that).
 */
struct mem_gds_job {
	void (*done)(struct mem_gds_job *job);
	struct mem_device *dev;
	uint64_t base;	 /* as registered; */
	uint64_t skip;	 /* from there */
	uint64_t offset; /* in the file */
	uint64_t length;
	bool write;
	int result;

	struct list link; /* private */
};

/*
 * Blocks, the first time for as long as cuFile takes to start. -ENODEV: no cuFile; -EOPNOTSUPP: it
 * would only pretend, or not for this file; -errno of opening. The sentence says what would help.
 */
int mem_gds_open(const char *path, bool read_only, struct mem_gds_file **ret_file, struct err *err);
/* Nothing is in flight. Takes NULL, returns NULL. */
struct mem_gds_file *mem_gds_close(struct mem_gds_file *f);
/* Any thread. */
void mem_gds_submit(struct mem_gds_file *f, struct mem_gds_job *job);

/* Lets cuFile prepare memory for DMA: without, it goes through a buffer of its own on the GPU. */
int mem_gds_register(struct mem_device *dev, uint64_t addr, uint64_t length);
void mem_gds_unregister(struct mem_device *dev, uint64_t addr);

#endif
