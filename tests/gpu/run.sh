#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that wants a real GPU, in eight minutes: what lands in its memory is right, by which path it came, and how
# fast, beside what the copy engine and loopback give by themselves. Self-contained: run it in the directory that
# tests/gpu/bundle.sh made (bin/, lib/), on a machine that need have nothing but the NVIDIA driver; PyTorch where it
# is there. The last thing it prints is a table.
#
#	./run.sh [GPU]			SIZE=1G (of the volume), REPEAT=3, SECONDS_EACH=2, DIR=/var/tmp
#
# With the doubles of tests/doubles in LD_LIBRARY_PATH it checks its own logic, says so, and its figures mean nothing.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/bin:$PATH
# Where cuFile usually is; the driver's own place is known to the loader.
[ -d /usr/local/cuda/lib64 ] && export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
gpu=${1:-0}
SIZE=${SIZE:-1G}
REPEAT=${REPEAT:-3}
SECONDS_EACH=${SECONDS_EACH:-2}
LIMIT=${LIMIT:-470}
T=$(mktemp -d "${DIR:-/var/tmp}/penstock-gpu.XXXXXX")
target=
trap '[ -n "$target" ] && kill "$target" 2>/dev/null; rm -rf "$T"' EXIT
failed=0 checks=0 left_out=0

left() { echo $((LIMIT - SECONDS)); }
check() {	# NAME COMMAND...
	local name=$1 status
	shift
	if [ "$(left)" -lt 10 ]; then
		left_out=$((left_out + 1))
		echo "LEFT OUT  $name: no time"
		return
	fi
	checks=$((checks + 1))
	timeout "$(left)" "$@" >"$T/out" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo "right     $name"
	else
		failed=$((failed + 1))
		echo "WRONG     $name (status $status)"
		head -c 2000 "$T/out" | sed 's/^/          /'
	fi
}
field() {	# FILE PATH.TO.FIELD
	python3 -c 'import json,sys
d = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."): d = d[k]
print(d)' "$1" "$2" 2>/dev/null || echo 0
}
middle() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)]; else print 0 }'; }

# ---- the machine ----------------------------------------------------------------------------
echo "penstock $(penstock --version | sed 's/.* //'), $(uname -srm), $(nproc) CPUs"
nvidia-smi --query-gpu=index,name,driver_version,pcie.link.gen.current,pcie.link.width.current,memory.total \
	--format=csv,noheader 2>/dev/null || echo "nvidia-smi: not there"
name=$(penstock bench file:/dev/null --into "cuda:$gpu" 2>&1 | head -1)
case $name in
*"no NVIDIA driver"*|*"there is no GPU"*|*"does not start"*)
	echo "$name"
	echo "There is nothing to be measured."
	exit 1 ;;
esac

# ---- a target -------------------------------------------------------------------------------
penstock serve --listen tcp://127.0.0.1:"${PORT:-0}" "memory:$SIZE" memory:64M,block=4096 >"$T/ready" 2>"$T/target.log" &
target=$!
for _ in $(seq 200); do grep -q '^ready ' "$T/ready" && break; sleep 0.05; done
at=$(sed -n 's/^ready .*listen=tcp:\/\/\([^ ]*\).*/\1/p' "$T/ready")
uri=nvme+tcp://$at/nqn.2026-11.io.penstock:default
[ -n "$at" ] || { echo "the target did not start:"; cat "$T/target.log"; exit 1; }

# ---- is it right ----------------------------------------------------------------------------
head -c 33333333 /dev/urandom >"$T/data"
dd if=/dev/urandom of="$T/file.img" bs=1M count=256 status=none
sync "$T/file.img"
there_and_back() {
	penstock write "$1" --from "cuda:$gpu" --offset "$2" <"$T/data" &&
		penstock read "$1" --into "cuda:$gpu" --offset "$2" --length 33333333 | cmp - "$T/data" &&
		penstock read "$1" --offset "$2" --length 33333333 | cmp - "$T/data"
}
same() { penstock read "$1" --into "cuda:$gpu" | cmp - "$2"; }
export -f there_and_back same
export gpu T
# shellcheck disable=SC2016 # expanded by the shell that is started
check "written from the GPU and read into it, over TCP" bash -c 'there_and_back "$@"' - "$uri/2" 0
# shellcheck disable=SC2016
check "at odd bytes" bash -c 'there_and_back "$@"' - "$uri/2" 12345
# shellcheck disable=SC2016
check "a file, read into it" bash -c 'same "$@"' - "file:$T/file.img" "$T/file.img"
for io in write randwrite mixed; do
	check "$io, every block verified" penstock bench "$uri/2" --io $io --into "cuda:$gpu" --require-path staged \
		--block-size 64k --size 32M --passes 2 --verify
done
check "odd blocks, verified" penstock bench "$uri/2" --io randwrite --into "cuda:$gpu" --block-size 1000 --offset 777 \
	--size 4001000 --passes 1 --verify
check "small reads, verified (through BAR1 where gdrcopy is)" penstock bench "$uri/2" --io mixed --into "cuda:$gpu" \
	--block-size 4k --size 8M --passes 2 --verify
check "several queues and threads, verified" penstock bench "$uri/2" --io mixed --into "cuda:$gpu" --queues 4 --threads 4 \
	--block-size 256k --size 32M --passes 2 --verify
check "a dataset" penstock dataset create "$uri" --workload resnet50 --samples 500 --scale 0.2
check "a dataset, verified from the GPU's memory" penstock dataset verify "$uri" --into "cuda:$gpu" --require-path staged
check "a workload into it, verified" penstock bench "$uri" --workload resnet50 --into "cuda:$gpu" --batch 50 --epochs 1 \
	--compute-time 5ms --verify
check "the example: in the order of a stream" cuda-example "$uri" "$gpu" 64
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	penstock read "$uri" --length 64M >"$T/reference"
	for conf in "" expandable_segments:True; do
		check "tensors of PyTorch, checked on the device (${conf:-default allocator})" env PYTORCH_CUDA_ALLOC_CONF=$conf \
			LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
			python3 "$here/torch-check.py" "$here/lib/libpenstock.so.0" "$uri" "$T/reference"
	done
else
	left_out=$((left_out + 1))
	echo "LEFT OUT  tensors of PyTorch: it is not there, or sees no GPU"
fi

# ---- how fast -------------------------------------------------------------------------------
rows=$T/rows
measure() {	# NAME, then ARGUMENTS of bench: one run, into NAME.N.json
	local n=$1
	shift
	[ "$(left)" -gt $((SECONDS_EACH + 15)) ] || return
	timeout $((SECONDS_EACH + 15)) penstock bench "$@" --time "${SECONDS_EACH}s" --warmup 500ms --output-format json \
		>"$T/$n.json" 2>>"$T/bench.err" || return
	printf '%s %s %s %s %s %s\n' "${n%.*}" "$(field "$T/$n.json" bytes_per_second)" \
		"$(field "$T/$n.json" latency_us.p50)" "$(field "$T/$n.json" latency_us.p99)" \
		"$(python3 -c 'import json,sys; c=json.load(open(sys.argv[1]))["cpu_seconds_per_gigabyte"]; print(c["client_user"]+c["client_system"])' "$T/$n.json")" \
		"$(field "$T/$n.json" path)" >>"$rows"
}
: >"$rows"
big="--io randread --block-size 1M --depth 16 --queues 2 --threads 2"
for ((i = 1; i <= REPEAT; i++)); do
	measure "tcp-host.$i" "$uri" $big
	for piece in 128k 256k 512k 1M; do
		measure "tcp-staged-$piece.$i" "$uri" $big --into "cuda:$gpu" --piece-size $piece
	done
	measure "tcp-4k-host.$i" "$uri" --io randread --depth 1
	measure "tcp-4k-copy-engine.$i" "$uri" --io randread --depth 1 --into "cuda:$gpu" --mapped-size 0
	measure "tcp-4k-default.$i" "$uri" --io randread --depth 1 --into "cuda:$gpu"
	measure "file-host.$i" "file:$T/file.img" $big
	measure "file-staged.$i" "file:$T/file.img?gds=0" $big --into "cuda:$gpu"
	measure "file-default.$i" "file:$T/file.img" $big --into "cuda:$gpu"
	timeout 20 floor --block-size 1M --depth 16 --connections 2 --time "${SECONDS_EACH}s" --json 2>/dev/null >"$T/floor.$i"
done
for piece in 131072 262144 524288 1048576 4096; do
	[ "$(left)" -gt 20 ] && timeout 20 gpu-limits copy "$gpu" $piece >>"$T/copies" 2>&1
done
why_gds=$(penstock read "file:$T/file.img" --length 4096 --into "cuda:$gpu" --require-path gds 2>&1 >/dev/null)
compat=$([ "$(left)" -gt 20 ] && timeout 60 gpu-limits cufile "$gpu" "$T/file.img" 256M 2>&1)

# ---- the table ------------------------------------------------------------------------------
echo
[ -s "$T/bench.err" ] && { echo "bench said:"; sort -u "$T/bench.err" | head -5; }
device=$(timeout 20 cuda-example "$uri" "$gpu" 1 2>/dev/null | sed -n 's/^device=//p')
echo "into: cuda:$gpu, ${device:-unknown}"
case ${device:-} in
*double*) echo "THIS IS A TEST DOUBLE, NOT A GPU: the script's logic was run, and none of its figures means anything." ;;
esac
echo "checks: $checks, wrong: $failed, left out: $left_out; medians of $REPEAT interleaved runs; $SECONDS seconds in all"
printf '%-22s %10s %10s %10s %12s %s\n' "read" "GB/s" "p50 us" "p99 us" "CPU s/GB" "path"
for n in $(awk '!seen[$1]++ { print $1 }' "$rows"); do
	col() { awk -v n="$n" -v c="$1" '$1 == n { print $c }' "$rows" | middle; }
	printf '%-22s %10.3f %10.1f %10.1f %12.3f %s\n' "$n" "$(col 2 | awk '{ print $1 / 1e9 }')" "$(col 3)" "$(col 4)" \
		"$(col 5)" "$(awk -v n="$n" '$1 == n { print $6; exit }' "$rows")"
done
for f in "$T"/floor.*; do field "$f" bytes_per_second; done | middle |
	awk '{ printf "%-22s %10.3f   the bytes of those commands over loopback, and nothing else\n", "limit: loopback", $1 / 1e9 }'
sed -nE 's/^piece=([0-9]+) alone_us=([0-9.]+) gigabytes_per_second=([0-9.]+)/\1 \2 \3/p' "$T/copies" 2>/dev/null |
	while read -r piece us rate; do
		printf '%-22s %10.3f %10.1f   cuMemcpyHtoDAsync from pinned memory; one alone\n' "limit: copy of $piece" "$rate" "$us"
	done
echo "GPUDirect Storage: ${why_gds:-gds is the path of files here}"
echo "cuFile by itself, its compatibility mode allowed, on the same file: ${compat:-no time}"
[ $failed -eq 0 ]
