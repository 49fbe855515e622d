#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An emulated machine in place of this one, where tools/rights.sh finds rights or the kernel missing.
#   instead.sh packages            the packages that this needs
#   instead.sh show PROGRAM        one program of this folder tree; what it prints there is printed here
#   instead.sh test TEST...        these tests, by their names; as many machines as there are processors share them
#
#   KERNELS      which Debian release's kernel (this machine's release, else bookworm)
#   VM_SECONDS   how long the tests may take (600). What is left then is named.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
# shellcheck source-path=SCRIPTDIR source=machine.sh
. "$here/machine.sh"
seconds=${VM_SECONDS:-600}
# shellcheck source=/dev/null
release=${KERNELS:-$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}")}
release=${release:-bookworm}

# What keeps a test short enough for an emulated machine.
short="EXACT_ASKS=1000000 XDP_BLOOM_ROTATIONS=10 XDP_BLOOM_PACKETS=40000 XDP_BLOOM_KILLS=5 XDP_BLOOM_SCALE=50000"

give_up() {
	echo "no emulated machine: $1" >&2
	exit 1
}

prepare() {
	"$top/tools/deps.sh" "${packages[@]}" >&2 || exit 1
	mkdir -p "$cache"
	"$here/fetch.sh" "$cache" "$arch" "$release" >"$work/fetch.log" 2>&1 ||
		give_up "the kernel of $release cannot be fetched: $(said fetch)"
	BUILD=$build "$here/image.sh" tools "$work/tools" || give_up "its files cannot be put together"
	: >"$work/queue"
}

show() {
	local line last='' status=''

	prepare
	echo "$seconds $1" >"$work/queue"
	mkfifo "$work/console"
	boot one "$release" "$work/queue" "$seconds" >"$work/console" 2>&1 &
	job[one]=$!
	while IFS= read -r line; do
		case $line in
		"  "*) printf '%s\n' "${line#  }" ;;
		"ok "*SKIP* | "not ok "*) status=1 ;;
		"ok "*) status=0 ;;
		*) last=$line ;;
		esac
	done <"$work/console"
	[ -n "$status" ] || give_up "$last"
	return "$status"
}

# count RESULT: prints it with its number. A program or network test that is skipped here has run nowhere, unless it
# was for want of the lists that are an extra, or of the benchmarks, which take no part there.
count() {
	local result=$1

	n=$((n + 1))
	case $result in
	"ok cli_"*"# SKIP"* | *"# SKIP XDP_BLOOM_LISTS"* | *"# SKIP the benchmarks"*) skipped+=("${result#ok }") ;;
	"ok "*"# SKIP"*) result="not ${result/\# SKIP/did not run:}" ;;
	esac
	[[ $result = ok* ]] || failed=$((failed + 1))
	printf '%s\n' "${result/ok/ok $n}"
}

tests() {
	local name file late n=0 failed=0 machines
	local -a skipped=()

	prepare
	list_tests "$work/queue" "$seconds" "$@" || exit 1
	sed -i "s/ / $short /" "$work/queue"
	printf 'TAP version 13\n1..%d\n' "$(wc -l <"$work/queue")"
	machines=$(nproc)
	[ "$machines" -le "$#" ] || machines=$#
	mkfifo "$work/reports"
	# busybox's awk: others may wait for more of a pipe than a line.
	for ((name = 1; name <= machines; name++)); do
		boot $name "$release" "$work/queue" "$seconds" \
			> >(busybox awk -v brief="$work/report.$name" -f "$here/report.awk" >"$work/reports") 2>&1 &
		job[$name]=$!
	done
	while read -r file; do
		sed '$d' "$file"
		count "$(tail -n 1 "$file")"
	done <"$work/reports"
	while read -r file; do
		if [ $SECONDS -ge "$seconds" ]; then
			count "ok ${file##*/}: # SKIP no time in $seconds s"
		else
			count "not ok ${file##*/}: no machine"
		fi
	done <"$work/queue"
	printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((n - failed - ${#skipped[@]})) $failed ${#skipped[@]}
	printf '# %d tests in %d emulated machines with the kernel of Debian %s: %d s\n' $n "$machines" "$release" $SECONDS
	late=$(printf '%s\n' "${skipped[@]}" | sed -n 's/: # SKIP no time.*//p' | paste -sd' ')
	[ -z "$late" ] || echo "# no time in $seconds s (VM_SECONDS) for: $late"
	printf '%s\n' "${skipped[@]}" | grep -v 'SKIP no time' | sed -n '/./s/^/# did not run: /p'
	[ $failed = 0 ]
}

case $1 in
packages) echo "${packages[*]}" ;;
show) show "$2" ;;
test) shift && tests "$@" ;;
esac
