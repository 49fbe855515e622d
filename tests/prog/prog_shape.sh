#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the kernel made of a generation's program: a stage that a set does not need is not in it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need bpftool

# dump LIST-FILE...: loads them all, and nothing else; leaves the live program in $WORK/program (without the lines of
# source between the instructions) and the names of its maps in $WORK/maps.
dump() {
	local file id

	for file in $(get '.[].name' lists); do
		bloom unload "$file"
	done
	for file; do
		bloom load "${file##*/}" "$file"
	done
	expect 0 bpftool prog dump xlated pinned "$XDP_BLOOM_BPFFS/generation/$(get .generation show)/program"
	grep -v '^;' "$WORK/out" >"$WORK/program"
	grep -q exit "$WORK/program" || skip "the kernel shows no instructions of programs"
	for id in $(grep -o 'map\[id:[0-9]*\]' "$WORK/program" | tr -dc '0-9\n' | sort -u); do
		bpftool -j map show id "$id" | jq -r .name
	done | sort -u >"$WORK/maps"
}

instructions() {
	grep -c '^ *[0-9]*: (' "$WORK/program"
}

# maps_are WHAT NAME...: exactly those.
maps_are() {
	local what=$1

	shift
	is "$(paste -sd' ' "$WORK/maps")" "$(printf '%s\n' "$@" | sort | paste -sd' ')" "the maps of a program for $what"
}

# Without samples: they have a case of their own.
write_lists_and_tune() {
	write_lists
	bloom tune --samples 0
}

# Where a packet may lie in several buffers, one that is too large for one is asked how long it is, and read there when
# its headers are not in the first. How long it is, is asked at one place for those that were judged, and at another for
# the rest: no packet comes by both.
several_buffers='bpf_xdp_get_buff_len#\|decide_frags\|bpf_xdp_load_bytes#'
# What hardly a packet has: functions of their own, so that they are on nobody else's way.
rare='_parse_deeper\|_decide_carried\|_drop_hidden\|_packet_end\|_decide_end'

# The look-ups that the kernel does not inline, older ones mostly, show as calls.
only_lookups() {
	local other

	other=$(grep ') call ' "$WORK/program" | grep -v "call [a-z_]*map_lookup_elem#\\|$several_buffers\\|$rare")
	[ "$(grep ') call ' "$WORK/program" | grep -c "$several_buffers")" -le 4 ] || fail "large packets make too many calls"
	[ -z "$other" ] || fail "a program for $1 calls: $other"
}

# Eight bytes of an address are put in order at once, in the IPv6 stages only.
address_words() {
	grep -c '= be64 r' "$WORK/program"
}

write_lists() {
	local i

	for ((i = 0; i < 600; i++)); do
		echo "45.$((i % 250)).$((i / 9)).$((i % 256))"
	done >"$WORK/hosts"
	echo 46.4.0.0/16 >"$WORK/nets"
	printf '%s\n' 2a01:db8::/32 2a01:db9:1::/48 2a01:db9:2::1 >"$WORK/six"
	: >"$WORK/nothing"
}

only_ipv4_hosts() {
	local alone

	write_lists_and_tune
	dump "$WORK/hosts" "$WORK/six"
	only_lookups "hosts and IPv6"
	maps_are "hosts and IPv6" counters list_counters filter roster4 gate6 roster6
	[ "$(address_words)" -gt 0 ] || fail "no trace of IPv6 where there is IPv6: this test sees nothing"
	echo "# hosts and IPv6: $(instructions) instructions"

	dump "$WORK/hosts"
	alone=$(instructions)
	echo "# hosts: $alone instructions, $(grep -c ') call ' "$WORK/program") calls"
	only_lookups hosts
	maps_are hosts counters list_counters filter roster4
	is "$(address_words)" 0 "the number of IPv6 address words in a program for hosts"
}

only_ipv6() {
	write_lists_and_tune
	dump "$WORK/six"
	echo "# IPv6: $(instructions) instructions"
	only_lookups IPv6
	maps_are IPv6 counters list_counters gate6 filter roster6
}

only_whole_networks() {
	write_lists_and_tune
	dump "$WORK/nets"
	echo "# networks of /24 and shorter: $(instructions) instructions"
	only_lookups networks
	maps_are networks counters list_counters gate4
}

nothing_at_all() {
	write_lists_and_tune
	dump "$WORK/nothing"
	echo "# nothing: $(instructions) instructions"
	only_lookups nothing
	maps_are nothing counters
}

# More lists, more keys: the same program, with other numbers in it.
size_does_not_matter() {
	local few

	write_lists_and_tune
	dump "$WORK/hosts"
	few=$(instructions)
	sed 's/^45/47/' "$WORK/hosts" >"$WORK/more"
	dump "$WORK/hosts" "$WORK/more"
	is "$(instructions)" "$few" "the number of instructions for twice as many hosts"
}

# Samples are on the way to a drop alone, and where they are off not even there.
samples() {
	local helpers

	write_lists
	dump "$WORK/hosts"
	helpers=$(grep -o 'call bpf_[a-z_]*' "$WORK/program" | grep -v 'lookup\|bpf_xdp_get_buff_len\|bpf_xdp_load_bytes' | sort -u | paste -sd' ')
	is "$helpers" "call bpf_ktime_get_ns call bpf_ringbuf_reserve call bpf_ringbuf_submit call bpf_user_rnd_u" "what a program with samples calls"
	maps_are "hosts, with samples" counters list_counters filter roster4 samples sample_shares
	echo "# hosts, with samples: $(instructions) instructions"
}

# A layout of the filter that a generation does not have is not in its program, nor are classic's probes beyond k.
only_its_layout() {
	local lanes lanes2 few many

	write_lists
	dump "$WORK/hosts" "$WORK/six"
	lanes=$(instructions)
	! grep -q 'call pc.*_filter_rest' "$WORK/program" || fail "a program with lanes has functions of other layouts"
	bloom tune --layout lanes2
	dump "$WORK/hosts" "$WORK/six"
	lanes2=$(instructions)
	bloom tune --layout classic --k 3
	dump "$WORK/hosts" "$WORK/six"
	few=$(instructions)
	bloom tune --k 4
	dump "$WORK/hosts" "$WORK/six"
	many=$(instructions)
	echo "# lanes $lanes, lanes2 $lanes2, classic $few with k = 3, $many with k = 4"
	[ "$lanes2" -gt "$lanes" ] || fail "lanes2 takes no more than lanes: this test sees nothing"
	[ "$many" -gt "$few" ] || fail "the probes beyond k = 3 are in the program"
	[ "$few" -lt "$lanes" ] || fail "classic's program has the lanes in it: $few instructions"
}

# Who has no detector has nothing of it: what was there before, and after one was on, is the same to the instruction.
detector() {
	local before

	write_lists
	dump "$WORK/hosts" "$WORK/six"
	# Numbers of maps, seeds and sizes differ.
	before=$(sed 's/0x[0-9a-f]*//g; s/id:[0-9]*//g' "$WORK/program")
	bloom detect on
	dump "$WORK/hosts" "$WORK/six"
	echo "# with a detector: $(instructions) instructions"
	grep -qx sketch "$WORK/maps" || fail "no detector's map in the program of one: this test sees nothing"
	bloom detect off
	dump "$WORK/hosts" "$WORK/six"
	is "$(sed 's/0x[0-9a-f]*//g; s/id:[0-9]*//g' "$WORK/program" | grep -c .)" "$(grep -c . <<<"$before")" "the length of a program without one"
	! grep -q 'sketch\|suspects\|detected\|claims' "$WORK/maps" || fail "maps of a detector that is off: $(cat "$WORK/maps")"
}

run_cases detector samples only_its_layout only_ipv4_hosts only_ipv6 only_whole_networks nothing_at_all size_does_not_matter
