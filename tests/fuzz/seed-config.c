/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-config into a directory: one text for each thing that can be said. */
#include "tests/fuzz/seed.h"

#define REQUEST "{\"schema\":\"penstock.control/1\",\"method\":"

/* The kind is byte 0 of fuzz-config. */
static const struct seed_text seeds[] = {
	{ 0, "listeners:\n  - address: tcp://127.0.0.1:4420\n    advertise: 10.0.2.2\n"
	     "  - { address: 'tcp://[::1]:4421', subsystems: [nqn.2026-11.io.penstock:b] }\n"
	     "subsystems:\n  - nqn: nqn.2026-11.io.penstock:a\n    serial: A1\n    model: M\n    allow: [any]\n"
	     "    namespaces:\n      - store: memory:1G\n"
	     "      - { store: 'file:/a,block=4096', nsid: 7, read_only: true, uuid: "
	     "f81d4fae-7dec-11d0-a765-00a0c91e6bf6 }\n  - nqn: nqn.2026-11.io.penstock:b\n" },
	{ 0, "{ \"subsystems\": [ { \"nqn\": \"nqn.2026-11.io.penstock:a\" } ], \"cores\": \"0,2-3\" }" },
	{ 0, "subsystems: [{nqn: nqn.2026-11.io.penstock:a}]\narena: 64M\nstate_dir: /var/lib/penstock\nspin: 20us\n"
	     "drain: 5s\nqueue_depth: 64\nio_queues: 4\nconnections: 100\nlog_level: debug\ncontrol: none\n" },
	{ 0, "subsystems: [{nqn: a}]\nlimits: {controllers: 12, mdts: 256k, icreq: 500ms, send: 0s, fence: 1s}\n" },
	{ 0, "subsystems: [{nqn: a}]\nlimits: {subsystems: 9, controllers_per_host: 3, namespaces: 4, in_capsule: 8k,"
	     " max_h2c_data: 1M, c2h_chunk: 64k, connect: 1s, first_command: 1s, transfer: 2s, linger: 1ms,"
	     " keep_alive_grace: 3s, tcp_keepalive: 60s}\n" },
	{ 0, "a: &x {nqn: a}\nsubsystems: [*x, *x]\n" },
	{ 0, "subsystems: &x [{nqn: &n a}, {nqn: b, allow: [*n, *n]}]\n" },
	{ 0, "subsystems: [{nqn: a, nqn: b}]\nsubsystems: [{nqn: c}]\n" },
	{ 0, "--- !!map\n? subsystems\n: - nqn: |\n      a\n    serial: >-\n      b\n      c\n...\n" },
	{ 0, "subsystems: [{nqn: \"\\x41\\u00e4\\\"\", allow: [], namespaces: []}]\n" },
	{ 0, "subsystems: [{nqn: a, colour: red}]\n" },
	{ 0, "subsystems: [{nqn: a}]\nqueue_depth: many\n" },
	{ 1, REQUEST "\"status\"}\n" REQUEST "\"stats\",\"params\":{}}" },
	{ 1, REQUEST "\"ns.add\",\"params\":{\"store\":\"memory:1M\",\"nsid\":2,\"uuid\":"
	     "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\",\"read_only\":true,\"nqn\":\"nqn.2026-11.io.penstock:a\"}}" },
	{ 1, REQUEST "\"ns.remove\",\"params\":{\"nsid\":1}}\n" REQUEST "\"ns.resize\",\"params\":{\"nsid\":1}}\n"
	     REQUEST "\"ns.set\",\"params\":{\"nsid\":1,\"read_only\":false}}" },
	{ 1, REQUEST "\"listener.add\",\"params\":{\"address\":\"tcp://127.0.0.1:0\",\"advertise\":\"10.0.0.1\","
	     "\"subsystems\":[\"nqn.2026-11.io.penstock:a\"]}}\n"
	     REQUEST "\"listener.remove\",\"params\":{\"address\":\"tcp://127.0.0.1:4420\"}}" },
	{ 1, REQUEST "\"subsys.add\",\"params\":{\"nqn\":\"nqn.2026-11.io.penstock:b\",\"serial\":\"S\","
	     "\"model\":\"M\",\"allow\":[\"any\"]}}\n"
	     REQUEST "\"subsys.remove\",\"params\":{\"nqn\":\"nqn.2026-11.io.penstock:a\"}}" },
	{ 1, REQUEST "\"host.allow\",\"params\":{\"host\":\"any\"}}\n"
	     REQUEST "\"host.deny\",\"params\":{\"host\":\"any\"}}" },
	{ 1, REQUEST "\"reload\"}\n" REQUEST "\"drain\",\"params\":{\"now\":true}}" },
	{ 1, "[]\n1\nnull\n{}\n[[[[[[[[[[\n" REQUEST "\"status\"} x\n{\"schema\":\"penstock.control/2\"}" },
	{ 2, "\x20\x01\x04\x12\x14\x14\x06\x01\x07\x02\x16\x02\x12\x12\x22\x14\x08\x81\x05\x01\x11\x01" },
	{ 2, "\x12\x21\x10\x11\x13\x11\x44\x01\x01\x47\x46\x01\x21\x22\x23\x24\x25\x26\x27\x28\x29" },
	{ 7, "penstock reservations 1\nsubsystem nqn.2026-11.io.penstock:a\nnsid 3\n"
	     "uuid 01020304-0000-0000-0000-000000000000\ngeneration 12\ntype 3 1\n"
	     "registrant 0123456789abcdef0123456789abcdef 00000000000000a1\n"
	     "registrant 1123456789abcdef0123456789abcdef 1\ncrc32c 00000000\n" },
	{ 7, "penstock reservations 1\nsubsystem nqn.2026-11.io.penstock:a\nnsid 3\n"
	     "uuid 01020304-0000-0000-0000-000000000001\ngeneration 0\ntype 0 0\n" },
	{ 3, "penstock reservations 1\n" },
};

int main(int argc, char **argv)
{
	seed_save_texts(seed_directory(argc, argv), seeds, ARRAY_SIZE(seeds));
	return 0;
}
