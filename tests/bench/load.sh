#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# From a file of addresses, one a line, to an enforced set: how long, how much memory the command takes at its peak,
# and how much the kernel keeps. Usage: load.sh LOOKUP [ENTRIES...]
#
# Everything happens in namespaces of its own and goes with them.

set -u
[ $# -ge 1 ] || {
	echo "Usage: load.sh LOOKUP [ENTRIES...]" >&2
	exit 2
}
if [ -z "${XDP_BLOOM_SANDBOX:-}" ]; then
	XDP_BLOOM_SANDBOX=1 exec unshare --net --mount "$BASH" "$0" "$@"
fi
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
bloom=$(realpath -m "${XDP_BLOOM:-$top/build/xdp-bloom}")
lookup=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 100000 1000000 10000000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 1
mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf || exit 1
export XDP_BLOOM_BPFFS=/sys/fs/bpf/xdp-bloom-bench-$$ XDP_BLOOM_STATE=$work/state

# What the kernel has allocated, in kilobytes: slabs, and whatever is mapped beside them.
kernel_kilobytes() {
	awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}

# run COMMAND...: leaves seconds and peak kilobytes in `cost`.
run() {
	cost=$(python3 -c '
import resource, subprocess, sys, time
begin = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
took = time.monotonic() - begin
print("%.3f %d" % (took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode != 0)' "$@")
}

# measure SUBJECT CHECK COMMAND...: one row, unless the command or the check fails.
measure() {
	local subject=$1 check=$2 before after
	shift 2

	before=$(kernel_kilobytes)
	if ! run "$@"; then
		echo "load: $subject: failed with $entries entries" >&2
		return
	fi
	after=$(kernel_kilobytes)
	if ! $check; then
		echo "load: $subject: an address is missing with $entries entries: not printed" >&2
		return
	fi
	# shellcheck disable=SC2086 # two words
	set -- $cost
	[ "$subject" != xdp-bloom ] || ours=$1
	printf '%-10s %10d %10.3f %10d %10d %8.2f\n' "$subject" "$entries" "$1" $(($2 / 1024)) \
		$(((after - before) / 1024)) "$(awk "BEGIN { print $1 / $ours }")"
	awk -v s="$1" -v o="$ours" 'BEGIN { printf "ns=%.0f p99=%.0f ratio=%.2f", s * 1e9, s * 1e9, s / o }' >numbers
	echo "RESULT scenario=load subject=$subject entries=$entries $(cat numbers) runs=1 rss_kb=$2" \
		"kernel_kb=$((after - before))" >>results
}

check_bloom() {
	"$bloom" -q test "$first" "$last" >/dev/null
}

check_ipset() {
	ipset -q test bench "$first" && ipset -q test bench "$last"
}

check_nft() {
	nft get element inet bench banned "{ $first, $last }" >/dev/null
}

ours=1
: >results
printf '%-10s %10s %10s %10s %10s %8s\n' subject entries seconds "peak MB" "kernel MB" ratio
for entries; do
	"$lookup" --list --scenario ipv4-hosts --entries "$entries" | sort -u >list
	first=$(sed -n 1p list) last=$(sed -n '$p' list)

	measure xdp-bloom check_bloom "$bloom" load --bogons=keep bench list
	"$bloom" flush

	{
		echo "create bench hash:ip maxelem $((entries * 2)) hashsize $((entries / 2))"
		sed 's/^/add bench /' list
	} >ipset
	measure ipset check_ipset ipset restore -file ipset
	ipset -q destroy bench
	rm -f ipset

	{
		echo 'table inet bench { set banned { type ipv4_addr; elements = {'
		sed 's/$/,/' list
		printf '}\n}\n}\n'
	} >nft
	measure nft check_nft nft -f nft
	nft delete table inet bench 2>/dev/null
	rm -f nft
done
cat results
