# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - what the interop tests share: results in TAP, targets of ours, guests.
#
# A test script boots one guest and drives it from outside ('vm.sh exec'), since a
# boot costs 5 s of software emulation and most checks cost milliseconds.  What is
# checked inside the guest comes back as TAP lines and is counted as our own.
#
# Environment (meson sets the first two):
#   PENSTOCK      the program under test
#   INTEROP_DIR   a folder for the guest image (kept from run to run) and for the
#                 files of a run (removed when it passed)
#   INTEROP_PORT  the first of 10 ports of 127.0.0.1 that are used (default: the first
#                 ten from 14400 on that nobody listens on)
#   INTEROP_REQUIRED=1  a machine without QEMU or kernel image fails, not skips
#   INTEROP_KEEP=1      keep the files of a run that passed, too
#   VERBOSE=1     show what passed checks printed

set -u
export LC_ALL=C
interop=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm=$interop/vmkit/vm.sh
work=
declare -A server guests

free_ports() {
	local base p taken
	taken=$(awk '{ sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
	for ((base = 14400; base < 15400; base += 10)); do
		for ((p = base; p < base + 10; p++)); do
			grep -qix "$(printf %04X $p)" <<<"$taken" && continue 2
		done
		echo $base; return
	done
}
# shellcheck disable=SC2034 # used by the scripts
port=${INTEROP_PORT:-$(free_ports)}

# ---- results -----------------------------------------------------------------
tap_count=0 tap_failed=0

diag() { sed 's/^/# /'; }
result() {	# 'ok'|'not ok' TEXT
	tap_count=$((tap_count + 1))
	[ "$1" = ok ] || tap_failed=$((tap_failed + 1))
	echo "$1 $tap_count - $2"
}

# t NAME COMMAND...: one check; what COMMAND prints is shown when it failed
t() {
	local name=$1 start=${EPOCHREALTIME/./} rc; shift
	"$@" >"$work/t.out" 2>&1; rc=$?
	name+=" ($(((${EPOCHREALTIME/./} - start) / 1000)) ms)"
	if [ $rc = 0 ]; then
		result ok "$name"
		[ -z "${VERBOSE-}" ] || diag <"$work/t.out"
		return 0
	fi
	result "not ok" "$name, status $rc"
	diag <"$work/t.out"
	return 1
}

fail() { echo "$*"; return 1; }

# ---- start and end of a script -----------------------------------------------
# What keeps this machine from running a guest, if anything
lacking() {
	local v
	if ! type -P qemu-system-x86_64 >/dev/null; then
		echo "no qemu-system-x86_64 (qemu-system-x86)"
		return
	fi
	for v in /boot/vmlinuz-*; do
		[ -e "/lib/modules/${v#/boot/vmlinuz-}/modules.dep" ] && return
	done
	echo "no kernel image in /boot with its modules (linux-image-amd64)"
}

interop_start() {	# NAME
	local why
	why=$(lacking)
	if [ -n "$why" ]; then
		[ -z "${INTEROP_REQUIRED-}" ] || { echo "Bail out! $why"; exit 1; }
		echo "1..0 # SKIP $why"; exit 0
	fi
	[ -x "${PENSTOCK-}" ] || { echo "Bail out! PENSTOCK names no program: '${PENSTOCK-}'"; exit 1; }
	mkdir -p "${INTEROP_DIR:?}" && work=$(mktemp -d "$INTEROP_DIR/$1.XXXXXX") || exit 1
	export TMPDIR=$work
	trap interop_clean EXIT
	trap 'exit 1' INT TERM HUP
	export VMKIT_IMAGE=$INTEROP_DIR/image
	if ! "$interop/vmkit/mkinitramfs.sh" -o "$VMKIT_IMAGE" >"$work/image.log" 2>&1; then
		diag <"$work/image.log"
		echo "Bail out! no guest image"; exit 1
	fi
	diag <"$work/image.log"
}

interop_clean() {
	local n
	for n in "${!guests[@]}"; do "$vm" kill "${guests[$n]}" >/dev/null 2>&1; done
	for n in "${!server[@]}"; do kill -KILL "${server[$n]}" 2>/dev/null; done
	if [ $tap_failed = 0 ] && [ -z "${INTEROP_KEEP-}" ]; then rm -rf "$work"; else
		echo "# files are kept in $work"
	fi
}

interop_end() {
	echo "1..$tap_count"
	[ $tap_failed = 0 ]
	exit
}

# ---- targets of ours ---------------------------------------------------------
# serve NAME ARG...: start 'penstock serve ARG...' and wait for its ready line;
# $work/NAME.out and NAME.err have its output.  The environment is the caller's.
serve() {
	local -x XDG_RUNTIME_DIR=$work
	local name=$1 end=$((SECONDS + ${SERVE_WAIT:-30})); shift
	: >"$work/$name.out"
	setpriv --pdeathsig KILL -- "$PENSTOCK" serve "$@" >"$work/$name.out" 2>>"$work/$name.err" &
	server[$name]=$!
	until grep -q '^ready ' "$work/$name.out"; do
		if ! kill -0 "${server[$name]}" 2>/dev/null; then
			wait "${server[$name]}"; fail "serve $*: ended with status $?"
			cat "$work/$name.err"
			unset "server[$name]"; return 1
		fi
		if [ $SECONDS -ge $end ]; then
			fail "serve $*: not ready"; cat "$work/$name.err"; return 1
		fi
		sleep 0.02
	done
	cat "$work/$name.out"
}

# A target that is told to end does so by itself, with status 0, and has not
# reported anything that is a bug of ours.
serve_stop() {	# NAME
	local pid=${server[$1]} i
	kill -TERM "$pid" || return 1
	for ((i = 0; i < 500; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	kill -KILL "$pid" 2>/dev/null && fail "did not end in 10 s"
	wait "$pid"; i=$?
	unset "server[$1]"
	cat "$work/$1.err"
	! grep -qE 'Sanitizer|runtime error|INVARIANT|assert' "$work/$1.err" && [ $i = 0 ]
}

serve_kill() {	# NAME
	kill -KILL "${server[$1]}" || return 1
	wait "${server[$1]}" 2>/dev/null
	unset "server[$1]"
}

# ---- guests ------------------------------------------------------------------
guest_start() {	# NAME OPTION... SCRIPT [ARG...]
	guests[$1]=$work/guest-$1
	"$vm" start --ready 180 --dir "${guests[$1]}" "${@:2}"
}

# guest NAME COMMAND [SECONDS]: run it in the guest, print its output
guest() {
	VMKIT_EXEC_TIMEOUT=${3:-120} "$vm" exec "${guests[$1]}" ". /vmkit/lib.sh; $2"
}

guest_stop() {	# NAME: fails if the kernel log has something that no test explains
	"$vm" stop "${guests[$1]}" >"$work/stop.out"; local rc=$?
	tail -n 40 "$work/stop.out"
	cat "${guests[$1]}/usage"
	return $rc
}

# guest_tests NAME LABEL COMMAND SECONDS: a guest script whose TAP lines become ours
guest_tests() {
	local rc bad=$tap_failed seen=0 line
	VMKIT_EXEC_TIMEOUT=$4 "$vm" exec "${guests[$1]}" \
		"bash -c 'set -o pipefail; $3 2>&1 | tee /run/live'" >"$work/g.out" 2>&1
	rc=$?
	while IFS= read -r line; do
		case $line in
		"ok "*"# SKIP "*) echo "# left out: ${line#ok - }" ;;
		"ok "*)     result ok "$2: ${line#* - }"; seen=1 ;;
		"not ok "*) result "not ok" "$2: ${line#* - }"; seen=1 ;;
		1..*) ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <"$work/g.out"
	[ $rc = 0 ] && [ $seen = 1 ] && return 0
	if [ "$bad" = $tap_failed ]; then
		result "not ok" "$2: '$3' ended with status $rc and $seen results"
		tail -n 30 "${guests[$1]}/out.log" | diag
	fi
	return 1
}

# guest_quiet NAME COMMAND [SECONDS] [ERE]: as guest; the kernel log must stay clean,
# but for lines that match ERE
guest_quiet() {
	guest "$1" "klog_mark; ( $2 ); rc=\$?; klog_bad '${4-}' && exit \$rc" "${3:-60}"
}
