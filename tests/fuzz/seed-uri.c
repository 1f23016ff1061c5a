/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-uri into a directory: what people would write, one text each. */
#include "tests/fuzz/seed.h"

/* The kind is byte 0 of fuzz-uri. */
static const struct seed_text seeds[] = {
	{ 0, "nvme+tcp://127.0.0.1/nqn.2026-11.io.penstock:default" },
	{ 0, "nvme+tcp://[::1]:4420/nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6/7" },
	{ 0, "nvme+tcp://h:1/nqn.2026-11.io.penstock:a/b/2?queues=4&depth=64&hdgst=1&ddgst=0&sample=off" },
	{ 0, "nvme+tcp://h/nqn.2026-11.io.penstock:a?kato=5s&io_timeout=30s&connect_timeout=1.5s&loss_timeout=10ms" },
	{ 0, "nvme+tcp://h/nqn.2026-11.io.penstock:a?sample=1000" },
	{ 0, "file:///srv/a.img?direct=1&gds=0" },
	{ 1, "file:/srv/a\\,b\\\\c,size=1G,create=on,direct=auto,lock=off,block=4096" },
	{ 1, "memory:64M,huge=on,filter=delay:2ms:read+write:jitter=1ms:seed=7,filter=torn:1%" },
	{ 1, "null:1.5G,ro,uuid=7c4e2f3a-0000-4000-8000-000000000001,block=512" },
	{ 1, "./disk.img,ro" },
	{ 1, "memori:1G" },
	{ 2, "error:read+flush:EIO:0.5%:range=1M+4k:seed=3" },
	{ 2, "error:any:ENOSPC:every=100" },
	{ 2, "error:discard:ETIMEDOUT" },
	{ 2, "error:write:EROFS:100%" },
	{ 2, "delay:2ms:any" },
	{ 2, "torn:0.0001%:seed=1" },
	{ 3, "1.5k" },
	{ 3, "16GiB" },
	{ 3, "0.0009765625k" },
	{ 3, "18446744073709551615" },
	{ 4, "1.5us" },
	{ 4, "0.000000001s" },
	{ 4, "0" },
	{ 5, "0xffffffffffffffff" },
	{ 5, "18446744073709551616" },
	{ 6, "0,2-4,63" },
	{ 6, "0-63" },
	{ 7, "tcp://127.0.0.1:4420" },
	{ 7, "[fe80::1%lo]:4420" },
	{ 7, "[fe80::1%7]:1" },
	{ 7, "::ffff:127.0.0.1" },
	{ 10, "0.0.0.0:0" },
	{ 8, "nqn.2026-11.io.penstock:\xc3\xa4\xf0\x9f\x98\x80" },
	{ 8, "nqn.2014-08.org.nvmexpress.discovery" },
	{ 8, "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6" },
	{ 9, "F81D4FAE-7dec-11d0-a765-00a0c91e6bf6" },
};

int main(int argc, char **argv)
{
	seed_save_texts(seed_directory(argc, argv), seeds, ARRAY_SIZE(seeds));
	return 0;
}
