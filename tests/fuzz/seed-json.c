/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-json into a directory: texts as our programs write them. */
#include "tests/fuzz/seed.h"

#define MANIFEST "{\"schema\":\"penstock.dataset-manifest/"
#define REST                                                                                       \
	"\"workload\":\"w\",\"extension\":\"npz\",\"seed\":7,\"scale_ppm\":1000000,\"sizes\":\"normal-12/1\","  \
	"\"contents\":\"content/1\","
#define HIST "hist/1 7 41 3 600 100 300 100:1 164:2"
#define REPORT "\"latency_us\":{\"mean\":200,\"p95\":1},\"latency_histogram\":\"" HIST "\","

/* The kind is byte 0 of fuzz-json. */
static const struct seed_text seeds[] = {
	{ 0, MANIFEST "1\"," REST "\"samples\":8,\"sample_bytes\":1000,\"sample_stddev_bytes\":100}" },
	{ 0, MANIFEST "2\"," REST "\"samples\":8,\"sample_bytes\":1000,\"sample_stddev_bytes\":0,\"format\":"
		      "\"packed\",\"samples_per_file\":5,\"rows_per_group\":0}" },
	{ 0, MANIFEST "2\"," REST "\"samples\":8,\"sample_bytes\":1000,\"sample_stddev_bytes\":0,\"format\":"
		      "\"tfrecord\",\"samples_per_file\":5,\"rows_per_group\":0}" },
	{ 0, MANIFEST "2\"," REST "\"samples\":96,\"sample_bytes\":761,\"sample_stddev_bytes\":0,\"format\":"
		      "\"columns\",\"samples_per_file\":64,\"rows_per_group\":16}" },
	{ 1, "{\"schema\":\"penstock.checkpoints/1\",\"model\":\"llama\",\"known_contents\":true,\"ranks\":8,"
	     "\"scale_ppm\":1000,\"seed\":1,\"run\":18446744073709551615,\"volumes\":2,\"volume\":1,\"slots\":3,"
	     "\"slot_bytes\":65536,\"oldest\":4,\"newest\":6}" },
	{ 2, HIST },
	{ 2, "hist/1 7 41 0 0 0 0" },
	{ 3, "{\"type\":\"ready\"}\n{\"type\":\"result\",\"status\":0,\"document\":null}\n[1]\n{" },
	{ 4, "{\"ops\":3," REPORT "\"bytes\":4096,\"path\":\"host\",\"notes\":[\"a\",null,\"b\"],\"seconds\":1.5,"
	     "\"workload\":{\"accelerators\":2,\"au_storage\":0.9,\"classes\":[{\"turns\":1," REPORT
	     "\"target_p95_us\":2,\"target_p99_us\":9}]},\"durations_seconds\":[1,[2],{}]}\n"
	     "{\"ops\":4," REPORT "\"bytes\":1,\"path\":\"gds\",\"notes\":[\"b\",1],\"seconds\":2,"
	     "\"workload\":{\"accelerators\":1,\"au_storage\":1,\"classes\":[{\"turns\":0," REPORT
	     "\"target_p95_us\":2}]},\"durations_seconds\":[3,4,5]}" },
	{ 4, "{\"ops\":1,\"latency_us\":{},\"latency_histogram\":\"hist/1 7 41 0 0 0 0\",\"stall_split\":{\"a\":1},"
	     "\"latency_split_us\":{\"b\":2},\"cpu\":{\"client\":1.5},\"interrupted\":true,\"failures\":[]}" },
	{ 5, "{\"version\":\"1\",\"listeners\":[{\"address\":\"a\",\"subsystems\":[\"x\",1]}],\"subsystems\":"
	     "[{\"nqn\":\"n\",\"allow\":[]},{\"allow\":1},{}],\"namespaces\":[{\"nsid\":1,\"size_bytes\":512}],"
	     "\"controllers\":[{\"cntlid\":1}],\"changes\":[{\"what\":\"w\",\"nsid\":1,\"detail\":\"d\"},3]}" },
	{ 5, "{\"cores\":[{\"core\":0}],\"namespaces\":[{}],\"hosts\":[{}],\"latency_us\":{\"read\":{\"count\":1}},"
	     "\"connections\":{\"closed\":{\"host_closed\":1}},\"changes\":{},\"size_bytes\":1,\"draining\":true}" },
};

int main(int argc, char **argv)
{
	seed_save_texts(seed_directory(argc, argv), seeds, ARRAY_SIZE(seeds));
	return 0;
}
