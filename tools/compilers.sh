#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# compilers.sh [COMPILER...]: everything built by each of them, and what the kernel's verifier and made packets say of the
# programs that came out. clang-N compiles both sides; gcc only user space, beside the clang that there is.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/..")
compilers=("$@")
[ $# != 0 ] || compilers=(clang-14 clang-15 clang-16 clang-19 gcc)
tests=(prog_budget prog_packets prog_sets)
n=0
failed=0
skipped=0

# build COMPILER: into a directory of its own.
build() {
	local clang=clang

	[ "$1" = gcc ] || clang=$1
	make --no-print-directory -s -C "$top" BUILD="build/$1" CC="$1" CLANG="$clang" all &&
		make --no-print-directory -s -C "$top/tests" OUTPUT="$top/build/$1/tests" CC="$1" CLANG="$clang" \
			"${tests[@]/#/$top/build/$1/tests/}"
}

# verdict COMPILER: what there is to say of it, behind "ok" or "not ok"; 4 where it cannot be had.
verdict() {
	local log=$top/build/$1.log test said=

	"$here/deps.sh" "$1" >/dev/null 2>&1 || { echo "# SKIP there is no such package" && return 4; }
	build "$1" >"$log" 2>&1 || { echo "does not build: $(grep -m1 error "$log")" && return 1; }
	for test in "${tests[@]}"; do
		(cd "$top" && XDP_BLOOM=build/$1/xdp-bloom "build/$1/tests/$test") >"$log" 2>&1 ||
			{ echo "$test: $(grep -m1 -B1 '^not ok' "$log" | paste -sd' ')" && return 1; }
		said+=", $test $(sed -n 's/^# Totals: pass:\([0-9]*\).*/\1/p' "$log") passed"
	done
	echo "$("$1" -dumpversion): built${said}"
}

printf 'TAP version 13\n1..%d\n' ${#compilers[@]}
mkdir -p "$top/build"
for compiler in "${compilers[@]}"; do
	n=$((n + 1))
	result=ok
	text=$(verdict "$compiler")
	case $? in
	0) ;;
	4) skipped=$((skipped + 1)) ;;
	*)
		result="not ok"
		failed=$((failed + 1))
		;;
	esac
	echo "$result $n $compiler $text"
done
printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((n - failed - skipped)) $failed $skipped
[ $failed = 0 ] || exit 1
[ $skipped != $n ] || exit 4
