#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A machine with 64 MB and a slow processor: a control group that may have no more, kernel memory and all, in which 100,000 entries
# are loaded, put on an interface, filtered, rotated and edited; and once more with a twentieth of one of these processors.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

LIMIT=$((64 << 20))

# Of either kind, whichever has memory here.
make_group() {
	mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
	if grep -qsw memory /sys/fs/cgroup/cgroup.controllers; then
		group=/sys/fs/cgroup/xdp-bloom-$$ most=memory.max peak=memory.peak now=memory.current
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	else
		mount -t tmpfs none /sys/fs/cgroup
		mkdir /sys/fs/cgroup/memory
		mount -t cgroup -o memory none /sys/fs/cgroup/memory 2>/dev/null || skip "no control group counts memory here"
		group=/sys/fs/cgroup/memory/xdp-bloom-$$ most=memory.limit_in_bytes peak=memory.max_usage_in_bytes
		now=memory.usage_in_bytes
	fi
	mkdir "$group" || skip "no control group can be made here"
	echo "$LIMIT" >"$group/$most" || skip "this control group takes no limit"
	trap 'stop_jobs; rmdir "$group"' EXIT
	entered=("$group")
}

# small ARGS...: the command, in that group.
small() {
	expect 0 "$BASH" -c "for group in ${entered[*]}; do echo \$\$ >\$group/cgroup.procs || exit; done; exec \"\$@\"" - "$XDP_BLOOM" "$@"
}

# slow: from now on with a twentieth of a processor, where a control group can say that.
slow() {
	if [ -e "$group/cgroup.controllers" ]; then
		{ echo +cpu >/sys/fs/cgroup/cgroup.subtree_control && echo '5000 100000' >"$group/cpu.max"; } 2>/dev/null ||
			skip "no control group holds back a processor here"
		return
	fi
	mkdir /sys/fs/cgroup/cpu
	mount -t cgroup -o cpu none /sys/fs/cgroup/cpu 2>/dev/null || skip "no control group counts processors here"
	processor=/sys/fs/cgroup/cpu/xdp-bloom-$$
	mkdir "$processor"
	trap 'stop_jobs; rmdir "$group" "$processor"' EXIT
	echo 5000 >"$processor/cpu.cfs_quota_us" || skip "no control group holds back a processor here"
	entered+=("$processor")
}

memory() {
	local used

	make_group
	used_within
	[ ! -e "$group/$peak" ] || used=$(cat "$group/$peak")
	[ "${used:-2000000}" -gt 1000000 ] || fail "it used $used bytes: they are not counted"
	[ "${used:-0}" -lt $((LIMIT / 2)) ] || fail "it used $used bytes of $LIMIT"
	echo "# at most ${used:-(the kernel does not say)} bytes of $LIMIT"
}

# It takes its time, and ends.
slow_core() {
	make_group
	slow
	patience=$((20 * patience)) SECONDS=0
	used_within
	throttled=$(cat "${processor:-$group}/cpu.stat")
	[[ $throttled =~ nr_throttled\ [1-9] ]] || fail "it was never held back: $throttled"
	echo "# all of it in $SECONDS s"
}

used_within() {
	veth 0
	python3 -c '
import random
random.seed(int("'"$XDP_BLOOM_SEED"'"))
print("\n".join("%d.%d.%d.%d" % (random.randint(11, 99), random.randint(0, 255), random.randint(0, 255), random.randint(1, 254))
                for _ in range(100000)))' >list
	sed -n '1p;50000p;$p' list | sort -u >banned
	printf '%s\n' 192.0.2.6 203.0.112.255 >clean
	small doctor edge0
	grep -qE '^note *memory .* this control group may have 67.1 MB' out || fail "of the limit: $(cat out)"
	small plan list
	small load bad list
	small attach edge0
	send 0 -b banned -c clean
	small rotate
	small add 192.0.2.99 --ttl 1h
	small load bad list
	send 0 -b banned -c clean
}

# Bans are made longer, and the kernel has no memory to be told: they go on behind their old end, and that is said.
longer_bans() {
	local over i

	make_group
	filtering bad
	for ((i = 0; i < 6000; i++)); do
		echo "add 45.0.$((i / 250)).$((i % 250)) --ttl 20s"
	done >short
	sed 's/20s$/1h/' short >long
	awk 'NR % 100 == 0 { print $2 }' short >>banned
	small batch short
	over=$((SECONDS + 22))
	echo $(($(cat "$group/$now") + 4096)) >"$group/$most"
	bloom batch long
	cp err said
	"$XDP_BLOOM" status >out
	grep -q 'the last change is not in force yet' out || skip "the kernel had memory for all of them"
	while [ $SECONDS -lt $over ]; do sleep 0.5; done
	send 0 -b banned -c clean
	grep -q 'not all of these bans end by themselves' said || fail "it says nothing of it: $(cat said)"
	bloom rotate
	send 0 -b banned -c clean
}

run_cases memory slow_core longer_bans
