# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What can be done to the filter's own parts, and whether packets pass meanwhile: behind lib.sh, sandbox and service.sh.
bpffs=${XDP_BLOOM_BPFFS:?}

# probe: in the background, until probed, which leaves what it says in $through and $open_ms.
probe() {
	rm -f probe.pipe
	mkfifo probe.pipe
	python3 "${here:?}/probe.py" >probe.pipe &
	probe_pid=$!
	exec {probing}<probe.pipe
	heard "$probing" flowing
}

probed() {
	kill "$probe_pid"
	# shellcheck disable=SC2034 # for who asked
	read -r through open_ms <&"$probing" || fail "no word from who sends"
	exec {probing}<&-
}

generation() {
	# shellcheck disable=SC2012 # numbers
	ls "$bpffs/generation" 2>/dev/null | sort -n | tail -n 1
}

# one_of NAME...
one_of() {
	shift $((RANDOM % $#))
	echo "$1"
}

a_pin() {
	local -a all=(root slot counters list_counters samples sample_shares links/edge0)
	local number

	number=$(generation)
	[ -z "$number" ] || all+=("generation/$number/"{program,ask,meta,slot,gate4,filter})
	one_of "${all[@]}"
}

# The name of each says what it does, and closed_ or open_, whether that lets packets in.
closed_pin_removed() {
	rm -f "$bpffs/${1:-$(a_pin)}"
}

closed_pin_replaced() {
	local pin=$bpffs/${1:-$(a_pin)}

	bpftool map create "$bpffs/foreign" type hash key 4 value "$((4 << RANDOM % 8))" entries 9 name foreign || return
	if ! mv -f "$bpffs/foreign" "$pin"; then # its directory is gone
		rm -f "$bpffs/foreign"
		return 1
	fi
}

closed_pin_a_directory() {
	local pin=$bpffs/${1:-$(a_pin)}

	# A service that heals may be quicker than what comes after rm.
	mkdir "$bpffs/directory" && for _ in {1..50}; do
		rm -f "$pin"
		mv -T "$bpffs/directory" "$pin" 2>"$WORK/mv" && return
		[ -e "$pin" ] || break
	done
	cat "$WORK/mv" >&2
	rmdir "$bpffs/directory"
	return 1
}

closed_pin_within_a_directory() {
	local pin=${1:-$(a_pin)}

	closed_pin_a_directory "$pin" && closed_pin_replaced "$pin"
}

closed_pins_mixed_up() {
	mv "$bpffs/counters" "$bpffs/mixed"
	mv "$bpffs/list_counters" "$bpffs/counters"
	mv "$bpffs/mixed" "$bpffs/list_counters"
}

closed_both_slots_removed() {
	rm -f "$bpffs/slot" "$bpffs/generation"/*/slot
}

closed_generation_removed() {
	rm -rf "$bpffs/generation"
}

closed_links_removed() {
	rm -rf "$bpffs/links"
}

closed_all_removed() {
	rm -rf "$bpffs"
}

# With what was mounted over it before. It is busy while the service looks into it.
closed_unmounted() {
	while [ "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs ]; do
		wait_until "that it can be unmounted" umount "$@" /sys/fs/bpf
	done
}

closed_unmounted_lazily() {
	closed_unmounted -l
}

closed_mounted_over() {
	mount -t bpf bpf /sys/fs/bpf
}

open_slot_emptied() {
	bpftool map delete pinned "$bpffs/slot" key 0 0 0 0
}

# What falls through to itself ends as if the slot were empty.
open_slot_another() {
	bpftool map update pinned "$bpffs/slot" key 0 0 0 0 value pinned "$bpffs/root"
}

open_link_detached() {
	bpftool link detach pinned "$bpffs/links/edge0"
}

# shellcheck disable=SC2034 # for who asked
faults=(closed_pin_removed closed_pin_removed closed_pin_replaced closed_pin_replaced closed_pin_a_directory
	closed_pin_within_a_directory closed_pins_mixed_up closed_both_slots_removed closed_generation_removed closed_links_removed
	closed_all_removed closed_unmounted closed_unmounted_lazily closed_mounted_over open_slot_emptied open_slot_another
	open_link_detached)
