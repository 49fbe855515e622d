#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Who knows all about the code but not the seeds: a supplier of lists who is after others' addresses, and senders of random
# sources without end. What a packet takes under them is in the benchmarks (random sources); here everything is counted.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

attacker=(-S "$WORK/attacker" -B "$XDP_BLOOM_BPFFS-attacker")

# hits ARGS...: of the addresses on standard input, those that the filter says yes to.
hits() {
	"$XDP_BLOOM" -j "$@" test - 2>"$WORK/err" | jq -r '.[]|select(.verdict=="drop").address'
}

# by_chance GOT ASKED RATE: could that be chance, once in 10^9 times?
by_chance() {
	python3 - "$@" <<'PYTHON'
import math, sys

got, asked, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
tail = sum(math.exp(math.lgamma(asked + 1) - math.lgamma(k + 1) - math.lgamma(asked - k + 1) +
                    k * math.log(rate) + (asked - k) * math.log1p(-rate)) for k in range(got, asked + 1))
sys.exit(tail < 1e-9)
PYTHON
}

# The supplier has the code, and so a machine where the list's filter hits whom it is to hit: there it is a hundred percent.
# Elsewhere, with other seeds, it is chance, before and after a rotation; where the roster has the last word, no address
# is hit.
list_against_victims() {
	local rate got n

	# Close together: the gate would let nearly all others pass.
	python3 - >pool <<'PYTHON'
import os, random

rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
near = ["45.%d.%d.%d" % (n >> 16, n >> 8 & 255, n & 255) for n in rng.sample(range(1 << 20), 60000)]
with open("list", "w") as file:
    print(*near[:20000], sep="\n", file=file)
print(*near[20000:], sep="\n")
PYTHON
	for n in "tune --exact=off --fpr 0.02 --force" "load list list --bogons=keep"; do
		# shellcheck disable=SC2086 # words
		bloom $n
		# shellcheck disable=SC2086
		bloom "${attacker[@]}" $n
	done
	hits "${attacker[@]}" <pool >victims
	[ "$(wc -l <victims)" -gt 200 ] || fail "the attacker has only $(wc -l <victims) victims"
	is "$(hits "${attacker[@]}" <victims | wc -l)" "$(wc -l <victims)" "those that are hit where the seeds are known"
	! by_chance "$(wc -l <victims)" "$(wc -l <victims)" 0.04 || fail "this test takes anything for chance"
	for n in 1 2 3; do
		rate=$(get .fpr.filter show)
		got=$(hits <victims | wc -l)
		echo "# $got of $(wc -l <victims) victims hit, by chance $rate of them"
		by_chance "$got" "$(wc -l <victims)" "$rate" || fail "$got of $(wc -l <victims) victims are hit: that is no chance"
		bloom rotate
	done
	bloom tune --exact=on
	is "$(hits <victims | wc -l)" 0 "the victims that are hit with a roster"
	bloom "${attacker[@]}" flush
	rm -rf "$XDP_BLOOM_BPFFS-attacker"
}

# What there is in files, pins and memory of the kernel; the service's counters of the past minutes are of a fixed size.
held() {
	find "$XDP_BLOOM_STATE" "$XDP_BLOOM_BPFFS" -mindepth 1 ! -name '*-shm' -printf '%P %s\n' | sort
	get '.memory,.keys,.filter' show
	get 'length' bans
	for map in counters list_counters samples; do
		bpftool -j map show pinned "$XDP_BLOOM_BPFFS/$map" | jq -c '[.type,.max_entries,.bytes_memlock]'
	done
}

resident() {
	sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$service_pid/status"
}

# Floods of other sources each time, as fast as they go, with a reader of samples: the second finds what the first left.
random_sources() {
	local n before rss

	need bpftool
	veth 0
	# shellcheck disable=SC2094 # the word is no file
	judge list 2000 0 0 >list
	printf "load list '%s/list' --bogons=keep\nattach edge0\n" "$WORK" >conf
	ready
	for n in 1 2 3; do
		XDP_BLOOM_SEED=$((XDP_BLOOM_SEED + n)) judge list 60000 0 0 >sources
		grep -vxFf list sources >random
		send 0 -b list -c random
		[ $n != 1 ] || { before=$(held) && rss=$(resident); }
	done
	is "$(held)" "$before" "what is held after two more floods"
	[ "$(resident)" -le $((rss + 1024)) ] || fail "the service took $rss kB after one flood, $(resident) after three"
	stop
	cat <&"$log" >said
	is "$(grep -vc 'ready$' said)" 0 "what it logged: $(head -n 3 said)"
}

run_cases list_against_victims random_sources
