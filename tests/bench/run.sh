#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every benchmark, one after the other; the RESULT lines also go into a JSON file, with what they were measured on.
# Usage: run.sh [--quick] PROGRAMS JSON, where PROGRAMS is the directory with the benchmarks' programs.
# BENCH_ONLY, a list of real, lookup, packets, router, rates, scopes, load, edits, growth, reader, follow and attack, leaves the others out.
# XDP_BLOOM_LISTS is a directory of real lists to measure, too; BENCH_GROWTH_MAX (100000000) the largest set of growth.

# shellcheck disable=SC2317 # part() calls functions
set -u
quick=
[ "${1:-}" != --quick ] || {
	quick=1
	shift
}
[ $# = 2 ] || {
	echo "Usage: run.sh [--quick] PROGRAMS JSON" >&2
	exit 2
}
bench=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
programs=$(realpath "$1") json=$2
XDP_BLOOM=$(realpath -m "${XDP_BLOOM:-$bench/../../build/xdp-bloom}")
export XDP_BLOOM PYTHONDONTWRITEBYTECODE=1
only=${BENCH_ONLY:-real lookup packets router rates scopes load edits growth reader follow attack}
lines=$(mktemp)
trap 'rm -f "$lines" "$lines".*' EXIT
status=0

# part NAME COMMAND...: unless it was left out.
part() {
	local name=$1 start=$SECONDS

	shift
	[[ " $only " = *" $name "* ]] || return
	echo
	echo "--- $name"
	"$@" || {
		echo "run.sh: $name failed" >&2
		status=1
	}
	echo "(took $((SECONDS - start)) s)"
}

# In namespaces of its own, with which everything goes that was left behind.
apart() {
	# shellcheck disable=SC2016 # for the shell in there
	unshare --net --mount sh -c 'mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf &&
		mount -t tmpfs tmpfs /run && exec "$@"' sh "$@"
}

# The lists of XDP_BLOOM_LISTS, a directory, each family in one.
real_lists() {
	local family

	for family in 4 6; do
		find "$XDP_BLOOM_LISTS" -type f ! -name 'README*' -exec cat {} + | tr -d '\r' | awk -v v6=$((family == 6)) '
			$1 ~ /^[0-9a-fA-F.:]+(\/[0-9]+)?$/ && $1 ~ /[.:]/ && (index($1, ":") > 0) == v6 { print $1 }' |
			sort -u >"$lines.real"
		[ ! -s "$lines.real" ] ||
			"$programs/lookup" --scenario "ipv$family-real" --file "$lines.real" ${quick:+--repeats 11} || return
	done
}

# Five processes, one after the other: where a map's pages lie decides as much as what else the machine does. Ten million are put
# into the peers' maps in the first alone: it takes minutes.
five() {
	local round most=()

	for round in 1 2 3 4 5; do
		echo "round $round"
		"$@" "${most[@]}" || return
		most=(--peers-max 1000000)
	done
}

# What it costs that rates are watched: a loop, and real packets.
rates() {
	"$programs/rates" && apart python3 "$bench/rates.py" "$programs"
}

everything() {
	[ -z "${XDP_BLOOM_LISTS:-}" ] || part real real_lists
	if [ -n "$quick" ]; then
		part lookup "$programs/lookup" --quick --repeats 5
		part packets apart python3 "$bench/packets.py" --quick "$programs"
		part router apart python3 "$bench/router.py" --quick "$programs"
		part rates "$programs/rates" --quick
		part scopes apart python3 "$bench/scopes.py" --quick
		part load apart python3 "$bench/load.py" --entries 100000 "$programs"
		part edits apart python3 "$bench/edits.py" --entries 100000 --rounds 3 --singles 100 --batch 10000 "$programs"
		part follow apart python3 "$bench/follow.py" --entries 0 --lines 20000 --rounds 1
	else
		part lookup five "$programs/lookup" --repeats 11
		part packets apart python3 "$bench/packets.py" "$programs"
		part router apart python3 "$bench/router.py" "$programs"
		part rates rates
		part scopes apart python3 "$bench/scopes.py"
		part load apart python3 "$bench/load.py" "$programs"
		part edits apart python3 "$bench/edits.py" "$programs"
		part growth apart python3 "$bench/growth.py" "$programs"
		part reader "$bench/reader.sh"
		part follow apart python3 "$bench/follow.py"
		part packed "$bench/packed.sh"
		part attack apart python3 "$bench/attack.py" "$programs"
	fi
	echo "$status" >"$lines.status"
}

begin=$(date +%s)
python3 "$bench/report.py" machine
everything > >(tee "$lines")
wait $!
status=$(cat "$lines.status")
python3 "$bench/report.py" collect "$lines" "$json" $(($(date +%s) - begin)) || status=1
exit "$status"
