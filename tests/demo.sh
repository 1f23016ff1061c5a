#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tour of `make demo`: a target, a dataset on it, an emulated accelerator fed from it through
# the client library, every byte checked, and how long the accelerator waited and for what. Needs
# nothing but the build; leaves nothing behind.
#
# usage: tests/demo.sh BUILD
set -eu
export LC_ALL=C
P=$1/src/cli/penstock
T=$(mktemp -d "${TMPDIR:-/tmp}/penstock-demo.XXXXXX")
target=
cleanup() {
	[ -z "$target" ] || { kill "$target" 2>/dev/null || :; wait "$target" 2>/dev/null || :; }
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

bold= plain=
[ ! -t 1 ] || { bold=$'\033[1m'; plain=$'\033[0m'; }
show() {	# the command as one would type it, then its output
	printf '\n%s$ penstock' "$bold"
	printf ' %s' "${@//$URI/\$URI}"
	printf '%s\n' "$plain"
	"$P" "$@"
}

cat <<E
This demo serves memory over NVMe/TCP on loopback and feeds an emulated accelerator from it. The
accelerator is an emulation (its compute is a timed step, its memory is ordinary memory behind a
timed copy engine); the target, the wire and the client library are the real ones.
E

"$P" serve --listen tcp://127.0.0.1:0 --log-level warn memory:4G >"$T/ready" &
target=$!
for _ in $(seq 200); do
	grep -q '^ready' "$T/ready" && break
	sleep 0.02
done
port=$(sed -n 's/^ready .*:\([0-9]*\)$/\1/p' "$T/ready")
[ -n "$port" ] || { echo "demo: the target did not start" >&2; exit 1; }
URI=nvme+tcp://127.0.0.1:$port/nqn.2026-11.io.penstock:default
printf '\n%s$ penstock serve memory:4G%s\n' "$bold" "$plain"
cat "$T/ready"
printf 'URI=%s\n' "$URI"

show discover "127.0.0.1:$port"
show info "$URI"
show dataset create "$URI" --workload unet3d --samples 28 --scale 0.5
show dataset verify "$URI"
show bench "$URI" --workload unet3d --accelerator h100 --into emulated --batch 2 --epochs 2 --verify
echo
echo "The same with an accelerator that computes fifty times as fast, for which this machine is too slow:"
show bench "$URI" --workload unet3d --accelerator h100 --into emulated --batch 2 --compute-time 6ms --epochs 2
show bench "$URI" --io randread --block-size 4k --depth 32 --time 2s --warmup 500ms
echo
echo "Next: README.md, 'Five minutes'; then 'penstock serve' on a file or a block device of yours."
