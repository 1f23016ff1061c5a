#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# linux-target.sh - our client on the stock Linux kernel's NVMe/TCP target (nvmet).
#
# The guest holds two RAM disks, of 512 and of 4096-byte blocks.  What our client
# writes is compared inside the guest, beneath the kernel's target, and the other way
# round; then the kernel drops all connections under a verified load.

# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
interop_start linux-target

nqn=nqn.2014-08.org.nvmexpress:vmkit
port=$((port + 5))
base=nvme+tcp://127.0.0.1:$port/$nqn
# lines that the kernel's target may log when connections are dropped on purpose
EXPECT='connect request for invalid subsystem|fatal error occurred|failed cmd'

json() {	# FILE EXPRESSION: an expression over the document j, printed
	python3 -c 'import json, sys
with open(sys.argv[1]) as f: j = json.load(f)
print(eval(sys.argv[2]))' "$1" "$2"
}
holds() {	# FILE EXPRESSION: it is true
	[ "$(json "$@")" = True ] || { cat "$1"; fail "not so: $2"; }
}

# ---- what is there ---------------------------------------------------------------
discover() {
	"$PENSTOCK" discover "127.0.0.1:$port" || return 1
	"$PENSTOCK" discover "tcp://127.0.0.1:$port" --output-format json >"$work/d.json" &&
		holds "$work/d.json" 'j["schema"] == "penstock.discover/1"' &&
		holds "$work/d.json" "'$nqn' in [e['subsystem_nqn'] for e in j['entries']]" &&
		holds "$work/d.json" "'$port' in [str(e['service']) for e in j['entries']]"
}
info() {	# NSID BLOCKSIZE
	"$PENSTOCK" info "$base/$1" &&
		"$PENSTOCK" info "$base/$1" --output-format json >"$work/i.json" &&
		holds "$work/i.json" "(j['size_bytes'], j['block_bytes']) == (256 << 20, $2)"
}

# ---- data --------------------------------------------------------------------------
in_guest() { guest target "dd if=/dev/nullb$1 bs=64k iflag=skip_bytes,count_bytes,direct \
	skip=$2 count=$3 status=none | sha256sum"; }
# both NSID OFFSET LENGTH OPTIONS: write, look from beneath, read back; unaligned edges
# are read back only, with what is beside them
both() {
	local uri="$base/$1${4:+?$4}" sum
	head -c "$3" /dev/urandom >"$work/src"
	sum=$(sha256sum <"$work/src")
	"$PENSTOCK" write "$uri" --offset "$2" <"$work/src" || return 1
	if [ $(($2 % 4096 + $3 % 4096)) = 0 ] && [ "$(in_guest "$1" "$2" "$3")" != "$sum" ]; then
		fail "the disk beneath the target has other contents"; return 1
	fi
	[ "$("$PENSTOCK" read "$uri" --offset "$2" --length "$3" | sha256sum)" = "$sum" ] ||
		fail "read back otherwise"
}
edges() {	# a write of odd offset and length changes nothing beside it
	local ns
	for ns in 1 2; do
		head -c 65536 /dev/urandom >"$work/bed"
		"$PENSTOCK" write "$base/$ns" --offset 8M <"$work/bed" &&
			both $ns $(((8 << 20) + 1001)) 20011 "queues=1" || return 1
		dd if="$work/src" of="$work/bed" bs=1 seek=1001 conv=notrunc status=none
		"$PENSTOCK" read "$base/$ns" --offset 8M --length 64k | cmp - "$work/bed" || return 1
	done
}
from_guest() {	# written beneath the target, read by our client
	local sum
	sum=$(guest target "dd if=/dev/urandom of=/tmp/r bs=1M count=4 status=none
		dd if=/tmp/r of=/dev/nullb1 bs=1M seek=32 oflag=direct status=none; sha256sum </tmp/r")
	[ "$("$PENSTOCK" read "$base?queues=2" --offset 32M --length 4M | sha256sum)" = "$sum" ]
}
dataset() {
	"$PENSTOCK" dataset create "$base/2?queues=4&ddgst=1" --workload resnet50 --samples 32 --samples-per-file 1 \
		--seed 3 &&
		"$PENSTOCK" dataset verify "$base/2?queues=2" &&
		[ "$("$PENSTOCK" dataset list "$base/2" | wc -l)" -ge 32 ] &&
		[ "$(guest target 'tar -tf /dev/nullb2 | wc -l')" -ge 32 ]
}

# ---- load ----------------------------------------------------------------------------
# bench URI SECONDS IO OPTIONS...: verified, nothing may fail
bench() {
	local uri=$1 time=$2 io=$3; shift 3
	if ! "$PENSTOCK" bench "$uri" --io "$io" --time "${time}s" --warmup 0s --verify --size 32M \
		--output-format json "$@" >"$work/b.json" 2>"$work/b.err"; then
		cat "$work/b.err" "$work/b.json"; return 1
	fi
	holds "$work/b.json" 'j["schema"] == "penstock.bench/1" and j["errors"] == 0' &&
		holds "$work/b.json" 'j["ops"] > 0 and j["verify"]["samples"] > 0' &&
		holds "$work/b.json" 'j["verify"]["failed"] == 0' &&
		json "$work/b.json" '"%d ops, %d verified" % (j["ops"], j["verify"]["samples"])'
}
loads() {
	bench "$base?queues=1" 1 randwrite --block-size 4k --depth 16 &&
		bench "$base?queues=4" 1 mixed --block-size 16k --depth 32 --queues 4 &&
		bench "$base/2?hdgst=1&ddgst=1&queues=2" 1 mixed --block-size 128k --depth 8 --queues 2 \
			--overwrite
}
# the kernel's target drops every connection and closes its port for half a second;
# our side must be there again soon
drop() {
	guest target "made() { [ \$(dmesg | grep -c 'creating nvm controller') -gt \$1 ]; }
		was=\$(dmesg | grep -c 'creating nvm controller')
		nvmet_unlink 1 $nqn && sleep 0.5 && nvmet_link 1 $nqn && wait_for 5 made \$was"
}
dropped() {	# QUERY SECONDS TIMES
	local rc=0 i
	bench "$base?kato=5s&$1" "$2" mixed --block-size 16k --depth 16 --queues 2 &
	local job=$!
	sleep 1
	for ((i = 0; i < $3; i++)); do drop || rc=1; done
	wait $job || rc=1
	holds "$work/b.json" "j['reconnects'] >= $3" || rc=1
	cat "$work/b.err"
	return $rc
}

# ---- what goes wrong --------------------------------------------------------------------
refused() {	# TEXT COMMAND...: exit status 1, one line that tells
	local text=$1 rc; shift
	timeout 30 "$@" >/dev/null 2>"$work/err"; rc=$?
	cat "$work/err"
	[ $rc = 1 ] && [ "$(grep -c '^penstock: ' "$work/err")" = 1 ] && grep -qiE "$text" "$work/err"
}
errors() {
	refused 'Invalid|not.*(exist|found|there)|unknown' "$PENSTOCK" info "$base.missing" &&
		refused 'namespace' "$PENSTOCK" info "$base/77" &&
		refused 'end|size|beyond|range' "$PENSTOCK" read "$base" --offset 255M --length 2M &&
		refused 'refused' "$PENSTOCK" info "nvme+tcp://127.0.0.1:$((port + 3))/$nqn"
}
gone() {	# the namespace is taken away: an error that names it, no hang
	guest target "echo 0 >\$NVMET/subsystems/$nqn/namespaces/2/enable" || return 1
	refused 'namespace' "$PENSTOCK" read "$base/2" --length 4k; local rc=$?
	guest target "echo 1 >\$NVMET/subsystems/$nqn/namespaces/2/enable" && return $rc
}

# ---- run ----------------------------------------------------------------------------------
if t "guest boots, with the kernel's target" guest_start target --smp 2 --timeout 1100 \
	--hostfwd "$port-127.0.0.1:$port" "$interop/vmkit/target.sh" TRADDR=127.0.0.1 PORTS="$port" \
	NAMESPACES="null:256:512 null:256:4096" EXPECT="$EXPECT"; then
	t "discover" discover
	t "info, 512-byte blocks" info 1 512
	t "info, 4096-byte blocks" info 2 4096
	for o in "" "hdgst=1" "ddgst=1" "hdgst=1&ddgst=1" "queues=4" "queues=4&hdgst=1&ddgst=1"; do
		t "write and read, ${o:-no options}" both 1 1048576 2097152 "$o"
	done
	t "write and read, 4096-byte blocks, queues=4&ddgst=1" both 2 4194304 2097152 "queues=4&ddgst=1"
	PENSTOCK_IO=epoll t "write and read by epoll, queues=4" both 1 8388608 2097152 "queues=4"
	t "unaligned edges" edges
	t "written beneath, read by us" from_guest
	t "dataset create, verify, list" dataset
	t "bench, verified" loads
	t "connections dropped under a verified load" dropped "queues=2" 10 2
	PENSTOCK_IO=epoll t "connections dropped, epoll, digests" \
		dropped "queues=2&hdgst=1&ddgst=1" 6 1
	t "errors are told" errors
	t "a namespace that goes away" gone
	t "guest stops, the kernel log of its target is clean" guest_stop target
fi
interop_end
