#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What a machine may do to a filter: no memory, nothing to write on, pins gone, wires gone, CPUs gone. (A full disk is in
# net_kill.sh, missing capabilities in net_privilege.sh, jumbo frames in net_attach.sh.)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

read_only_state() {
	filtering_two
	mount --bind "$XDP_BLOOM_STATE" "$XDP_BLOOM_STATE"
	mount -o remount,ro,bind "$XDP_BLOOM_STATE" || skip "the kernel cannot make a bind mount read-only"
	refused "" load other odd --force
	refused "" rotate
	refused "" attach edge0
	refused "" add 198.18.0.1
	expect 0 "$XDP_BLOOM" test 192.0.2.7 198.51.100.1
	umount "$XDP_BLOOM_STATE"
	bloom load other odd --force
}

# memory_group: a control group of one's own, as $group, and the file that its limit goes into, as $limit.
memory_group() {
	mkdir groups
	if [ -d /sys/fs/cgroup/unified ] || ! mount -t cgroup2 none groups 2>/dev/null ||
		! echo +memory 2>/dev/null >groups/cgroup.subtree_control; then
		umount groups 2>/dev/null
		mount -t cgroup -o memory none groups 2>/dev/null || skip "the kernel has no control groups with a limit to memory"
	fi
	group=$WORK/groups/xdp-bloom-$$
	mkdir "$group" || skip "the control groups are read-only here"
	limit=$group/memory.max
	[ -e "$limit" ] || limit=$group/memory.limit_in_bytes
}

# A limit to what the command may take, as a service has it: it is refused or killed, and nothing has changed; with twice
# as much each time it is done in the end.
memory_limit() {
	local group limit before status=1 mib ends=0

	filtering_two
	memory_group
	python3 -c 'for n in range(300000): print("11.%d.%d.%d" % (n >> 14, n >> 6 & 255, n & 63))' >many
	for ((mib = 2; mib <= 1024 && status != 0; mib *= 2)); do
		before=$(snapshot)
		echo ${mib}M >"$limit" || skip "the control groups are read-only here"
		# bash need not report which process was killed.
		{ bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" "$XDP_BLOOM" load many many &>out; } 2>/dev/null
		status=$?
		send 1 -b banned -c clean
		[ $status = 0 ] && break
		is "$(snapshot)" "$before" "what is loaded after a limit of $mib MiB (status $status)"
		ends=$((ends + 1))
	done
	rmdir "$group"
	umount groups
	[ $status = 0 ] || fail "it is never done: $(cat out)"
	[ $ends != 0 ] || fail "no limit was too low"
	echo "# done with $mib MiB, after $ends that were too little"
	bloom test 11.0.0.1
}

# The other end of the wire goes while frames are on it: the filter goes on elsewhere, and later commands work.
peer_vanishes_under_traffic() {
	filtering_two
	bloom attach edge0
	flow 0 -b banned -c clean
	ip link del wire0
	kill "${flow_pid[0]}" 2>/dev/null
	end_of "${flow_pid[0]}"
	send 1 -b banned -c clean
	bloom rotate
	bloom load other odd --force
	send 1 -b banned -c clean
	veth 0
	bloom attach edge0
	send 0 -b banned -c clean
}

# With the pins the filter goes, whatever the command: that is what unmounting means. What is kept brings it back.
bpffs_unmounted() {
	filtering_two
	umount /sys/fs/bpf
	mount -t bpf bpf /sys/fs/bpf
	let_go edge1
	bloom restore
	send 1 -b banned -c clean
	umount /sys/fs/bpf
	let_go edge1
	bloom load other odd --force
	bloom restore
	send 1 -b banned -c clean
}

# The kernel fills in a value for each CPU, however many the command has room for: it must not guess.
cpus_untold() {
	filtering_two
	mkdir empty
	(
		mount --bind empty /sys/devices/system/cpu || exit 4
		expect 2 "$XDP_BLOOM" stats
		expect 2 "$XDP_BLOOM" watch --count 1
		expect 2 "$XDP_BLOOM" attach edge0
		umount /sys/devices/system/cpu
	) || exit
	is "$(xdp_id edge0)" none "the program on edge0"
	bloom attach edge0
	send 0 -b banned -c clean
}

# Only in a machine of the test's own.
a_cpu_goes_offline() {
	local switch=/sys/devices/system/cpu/cpu1/online state dropped=0 passed=0

	[ -n "${XDP_BLOOM_MACHINE:-}" ] || skip "takes a CPU away: only where the test has a machine of its own, as in make test-kernels"
	[ -w $switch ] || skip "the kernel cannot take a CPU away (CONFIG_HOTPLUG_CPU)"
	filtering_two
	flow 1 -b banned -c clean
	for state in 0 1; do
		echo $state >$switch || skip "the kernel does not let CPU 1 go"
		bloom rotate
		bloom add 198.18.0.1
		bloom del 198.18.0.1
	done
	stop_flow 1
	# What was counted on a CPU that is not there still counts.
	echo 0 >$switch
	dropped=$(sent .banned.sent) passed=$(sent .clean.sent)
	is "$(get '[.packets[]]' stats)" "[$passed,$dropped,0]" "what was counted with one CPU"
	echo 1 >$switch
	is "$(get '[.packets[]]' stats)" "[$passed,$dropped,0]" "what was counted with both again"
}

run_cases read_only_state memory_limit peer_vanishes_under_traffic bpffs_unmounted cpus_untold a_cpu_goes_offline
