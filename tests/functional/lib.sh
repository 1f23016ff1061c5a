# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the functional tests share: TAP, a target of their own on a free port, and taking both down
# whatever happens. Sourced by bash scripts that meson gives PENSTOCK, the program to test.
#
#	. "$(dirname "$0")/lib.sh"
#	serve memory:64M			sets TARGET (pid), PORT, NQN, URI
#	check "what holds" command args...	one test: the command's exit status
#	finish

set -u
export LC_ALL=C
PENSTOCK=${PENSTOCK:?the program to test}
T=$(mktemp -d "${TMPDIR:-/tmp}/penstock-test.XXXXXX")
TESTS=0
FAILED=0
TARGETS=
# Where each target of these tests has its control socket.
export XDG_RUNTIME_DIR=$T
NQN=nqn.2026-11.io.penstock:test

stop_all() {
	local pid
	for pid in $TARGETS; do
		kill "$pid" 2>/dev/null
	done
	for pid in $TARGETS; do
		wait "$pid" 2>/dev/null
	done
	TARGETS=
}
trap 'stop_all; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM

note() { echo "# $*"; }

# check NAME COMMAND...: output is shown only on failure
check() {
	local name=$1 status
	shift
	TESTS=$((TESTS + 1))
	"$@" >"$T/check.out" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok $TESTS - $name"
		return 0
	fi
	FAILED=$((FAILED + 1))
	echo "not ok $TESTS - $name"
	echo "# '$*' ended with $status:"
	head -c 4000 "$T/check.out" | tail -n 40 | sed 's/^/# /'
	return 1
}

skip() {
	TESTS=$((TESTS + 1))
	echo "ok $TESTS - $1 # SKIP $2"
}

finish() {
	echo "1..$TESTS"
	[ $FAILED -eq 0 ]
	exit
}

# fails STATUS TEXT COMMAND...: the command must end with STATUS and say TEXT on stderr
fails() {
	local want=$1 text=$2 status
	shift 2
	"$@" >"$T/fails.out" 2>"$T/fails.err" </dev/null
	status=$?
	[ $status -eq "$want" ] || { echo "status $status, not $want"; cat "$T/fails.err"; return 1; }
	grep -qF -- "$text" "$T/fails.err" || { echo "no '$text' in:"; cat "$T/fails.err"; return 1; }
}

# json FILE EXPRESSION: evaluates a Python expression over the document d, which must be true
json() {
	python3 - "$1" "$2" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
if not eval(sys.argv[2]):
    print("not true:", sys.argv[2])
    print(json.dumps(d, indent=1)[:3000])
    sys.exit(1)
P
}

# serve ARGUMENTS...: starts a target on a free port and waits until it is ready
serve() {
	local i
	: >"$T/ready"
	"$PENSTOCK" serve --listen tcp://127.0.0.1:0 --nqn "$NQN" --log-level "${LOG_LEVEL:-warn}" "$@" \
		>"$T/ready" 2>>"$T/target.log" &
	TARGET=$!
	TARGETS="$TARGETS $TARGET"
	for ((i = 0; i < 400; i++)); do
		grep -q '^ready ' "$T/ready" && break
		kill -0 "$TARGET" 2>/dev/null || break
		sleep 0.025
	done
	PORT=$(sed -n 's/^ready .*listen=tcp:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$T/ready")
	if [ -z "$PORT" ]; then
		note "the target did not become ready:"
		sed 's/^/# /' "$T/target.log"
		return 1
	fi
	URI=nvme+tcp://127.0.0.1:$PORT/$NQN
}

# stop PID [SIGNAL]: ends one target and waits for it
stop() {
	kill -"${2:-TERM}" "$1" && wait "$1"
	local status=$?
	TARGETS=${TARGETS/ $1/}
	return $status
}
