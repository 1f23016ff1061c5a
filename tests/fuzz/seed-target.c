/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for fuzz-target into a directory: sessions that make sense, so that the fuzzer starts
 * behind Connect and knows what commands look like.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvme/cmd.h"
#include "nvme/log.h"

enum { CAP = 4096 };
enum { OPEN, BYTES, COMMAND, DATA, STORE, TIME, CLOSE, ARENA };

static uint8_t seed[CAP];
static size_t len;

static void byte(unsigned int b)
{
	seed[len++] = (uint8_t)b;
}

static void step(unsigned int conn, unsigned int what, unsigned int arg)
{
	byte(conn << 6 | what);
	byte(arg);
}

/* @data: in-capsule data, units of 64 bytes. The parts of the SQE that fuzz-target takes. */
static void command(unsigned int conn, const struct nvme_cmd *cmd, unsigned int data)
{
	step(conn, COMMAND, data);
	memcpy(seed + len, cmd, 8);
	memcpy(seed + len + 8, &cmd->sgl.len, 8);
	memcpy(seed + len + 16, &cmd->cdw10, 12);
	len += 28;
}

static void start(unsigned int flags)
{
	len = 0;
	for (unsigned int n = 0; n < 4; n++)
		step(n, OPEN, flags);
}

static void save(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(seed, 1, len, f) != len || fclose(f)) {
		perror(path);
		exit(1);
	}
}

static void rw(unsigned int conn, uint8_t opc, uint32_t nsid, uint32_t nlb, unsigned int block,
	       bool capsule)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, 0, nlb, 0);
	cmd.sgl = capsule ? nvme_sgl_in_capsule(0, nlb * block) : nvme_sgl_transport(nlb * block);
	command(conn, &cmd, capsule ? nlb * block / 64 : 0);
}

static void io(const char *dir, unsigned int flags, const char *name)
{
	struct nvme_cmd cmd;

	start(flags);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(2, NVME_NVM_WRITE, 3, 8, 4096, false);
	step(2, TIME, 2);
	step(2, DATA, 1);
	step(2, DATA, 7);
	rw(3, NVME_NVM_READ, 1, 16, 512, false);
	nvme_cmd_init_flush(&cmd, NVME_NSID_ALL);
	command(1, &cmd, 0);
	nvme_cmd_init_dsm(&cmd, 3, 2, NVME_DSM_DEALLOCATE);
	cmd.sgl = nvme_sgl_in_capsule(0, 32);
	command(3, &cmd, 1);
	rw(1, NVME_NVM_COMPARE, 1, 1, 512, true);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE_ZEROES, 1, 0, 8, NVME_RW_DEAC);
	command(1, &cmd, 0);
	step(1, TIME, 4);
	nvme_cmd_init_disconnect(&cmd);
	command(2, &cmd, 0);
	step(2, TIME, 4);
	save(dir, name);
}

static void admin(const char *dir)
{
	struct nvme_get_log g = { .lid = NVME_LID_SMART, .bytes = 512 };
	struct nvme_cmd cmd;

	start(0);
	for (uint8_t cns = 0; cns < 4; cns++) {
		nvme_cmd_init_identify(&cmd, cns, 1, 0, 0);
		cmd.sgl = nvme_sgl_transport(4096);
		command(0, &cmd, 0);
	}
	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cmd.sgl = nvme_sgl_transport(512);
	command(0, &cmd, 0);
	nvme_cmd_init_set_features(&cmd, 0x0b, false, 0, 0x100);
	command(0, &cmd, 0);
	nvme_cmd_init_get_features(&cmd, 0x81, 0, 0, 1);
	cmd.sgl = nvme_sgl_transport(16);
	command(0, &cmd, 0);
	nvme_cmd_init_set_features(&cmd, 0x0f, false, 0, 1000);
	command(0, &cmd, 0);
	nvme_cmd_init_async_event(&cmd);
	command(0, &cmd, 0);
	step(0, STORE, 2);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, false);
	nvme_cmd_init_abort(&cmd, 1, 0);
	command(0, &cmd, 0);
	step(0, TIME, 3);
	step(1, DATA, 4);
	nvme_cmd_init_property_set(&cmd, 0x14, 4, 0x464001);
	command(0, &cmd, 0);
	step(0, TIME, 0x84);
	save(dir, "admin");
}

static void trouble(const char *dir)
{
	start(0);
	step(0, STORE, 2);
	step(0, ARENA, 1);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	rw(2, NVME_NVM_READ, 1, 8, 512, false);
	step(1, TIME, 2);
	step(1, CLOSE, 0);
	step(1, OPEN, 0);
	rw(1, NVME_NVM_WRITE, 1, 8, 512, true);
	step(0, STORE, 4);
	step(0, ARENA, 0);
	step(0, TIME, 2);
	step(0, CLOSE, 1);
	step(0, OPEN, 0);
	step(0, STORE, 0);
	step(1, BYTES, 3);
	byte(4);
	byte(0);
	byte(72);
	step(1, TIME, 0xc0);
	save(dir, "trouble");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	io(argv[1], 0, "io");
	io(argv[1], 3, "io-digests");
	io(argv[1], 4, "io-sqflow");
	io(argv[1], 0xf0, "io-pda");
	admin(argv[1]);
	trouble(argv[1]);
	return 0;
}
