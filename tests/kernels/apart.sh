#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# apart.sh HERE -- FUZZERS -- THERE: make test where rights or the kernel are missing. HERE are the tests that need neither,
# as a whole or in part; FUZZERS the fuzzers that have a corpus; THERE the names of those for emulated machines. It ends
# with 0 only where every one of them ran, here or there, and passed.
set -uo pipefail

top=$(realpath "$(dirname "$0")/../..")
export XDP_BLOOM_RIGHTS=no
unset MAKEFLAGS # a test calls make, which is to have a jobserver of its own
cd "$top" || exit 1
status=0
declare -a here=() fuzzers=()

while [ "$1" != -- ]; do
	here+=("$1")
	shift
done
shift
while [ "$1" != -- ]; do
	fuzzers+=("$1")
	shift
done
shift

if [ ${#here[@]} != 0 ]; then
	echo "# Here: units, and of the command line what needs no kernel"
	prove --timer --exec tests/support/ktap-status.sh -j"${JOBS:-$(nproc)}" "${here[@]}" || status=1
fi
if [ ${#fuzzers[@]} != 0 ]; then
	echo "# Here: the corpora of the fuzzers"
	for fuzzer in "${fuzzers[@]}"; do
		corpus=tests/fuzz/corpus/${fuzzer##*/fuzz_}
		if "$fuzzer" -runs=0 "$corpus" >"$fuzzer.log" 2>&1; then
			echo "${fuzzer##*/}: ok, $(find "$corpus" -type f | wc -l) inputs"
		else
			status=1
			cat "$fuzzer.log"
		fi
	done
fi
if [ $# != 0 ]; then
	echo "# In emulated machines: everything else"
	tests/kernels/instead.sh test "$@" || status=1
fi
exit $status
