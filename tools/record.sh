#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# record.sh [PART...]: the run that the README's tables come from: kernels, faults, compilers, fuzz; then the tables. Emulated
# machines have one CPU to themselves, the rest the other. What each part said stays in build/record; with parts named,
# only those run again, and the tables are made of what there is.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/..")
into=$top/build/record
fuzz_seconds=${FUZZ_SECONDS:-20}
parts=("$@")
[ $# != 0 ] || parts=(kernels faults compilers fuzz)
mkdir -p "$into"
cd "$top" || exit 1

# What the table has a column for, and what a machine can do to a filter.
KERNEL_TESTS='prog_budget prog_packets prog_sets XDP_BLOOM_PACKETS=40000:prog_detect
	XDP_BLOOM_CASES=two_interfaces|jumbo:net_attach.sh XDP_BLOOM_CASES=(native.other|skb.other).--shared:net_shared.sh
	XDP_BLOOM_ROTATIONS=10,XDP_BLOOM_CASES=rotates:net_rotate.sh XDP_BLOOM_CASES=ipv..plain:net_modes.sh
	XDP_BLOOM_CASES=offline:net_conditions.sh'
export KERNEL_TESTS

run_kernels() {
	KERNEL_JOBS=1 "$top/tests/kernels/run.sh" >"$into/kernels-amd64" 2>"$into/kernels-amd64.err"
	KERNEL_JOBS=1 KERNEL_ARCH=arm64 "$top/tests/kernels/run.sh" trixie >"$into/kernels-arm64" 2>"$into/kernels-arm64.err"
}

run_faults() {
	FAULTS=all XDP_BLOOM=$top/build/xdp-bloom TRAFFIC=$top/build/tests/traffic "$top/tests/cli/cli_faults.sh" >"$into/faults" 2>&1
}

run_compilers() {
	"$here/compilers.sh" >"$into/compilers" 2>&1
}

run_fuzz() {
	make --no-print-directory fuzz FUZZ_SECONDS="$fuzz_seconds" >"$into/fuzz" 2>&1
	echo "# exit status $?" >>"$into/fuzz"
}

start=$(date +%s)
wanted=" ${parts[*]} "
kernels=
if [[ $wanted = *" kernels "* ]]; then
	run_kernels &
	kernels=$!
fi
trap '[ -z "$kernels" ] || kill "$kernels" 2>/dev/null' EXIT
trap 'exit 143' INT TERM
for part in faults compilers fuzz; do
	[[ $wanted != *" $part "* ]] || "run_$part"
done
[ -z "$kernels" ] || wait "$kernels"
kernels=
echo "$(($(date +%s) - start)) s" | tee "$into/seconds"
"$here/record.py" "$into" README.md
