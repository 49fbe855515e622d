#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The filter's own parts are taken away under traffic: pins, links, maps, the bpffs, the state. The service makes them
# again, no banned packet passes meanwhile but where something was opened by force, and it is said everywhere.
# XDP_BLOOM_FAULTS is how many random sequences there are, XDP_BLOOM_OPEN_MS how long a gap may be open at most.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sequences=${XDP_BLOOM_FAULTS:-6}
sandbox "$@"
# What could not be made again is tried after 1, 2, 4 and 8 s.
patience=$((patience + 20))

# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/parts.sh
. "$here/parts.sh"

# --- What comes of it -------------------------------------------------------------------------------------------------

prepare_parts() {
	need bpftool
	mount -o remount,rw /sys/fs/bpf # where a case before has left it otherwise
	prepare
	ready --listen 9913
	get_page /metrics
	known=0
}

page_has() {
	get_page "$1"
	[ "$code" = 200 ] && grep -q "$2" page
}

counted_more() {
	local n

	get_page /metrics
	n=$(sed -n 's/^xdp_bloom_faults_total //p' page)
	[ -n "$n" ] && [ "$n" -gt "$known" ] && grep -q '^xdp_bloom_faulty 0$' page && known=$n
}

unmet() {
	printf '\n%s\n' "known: ${known:-}, code ${code:-}"
	grep 'fault\|heal' page
	tail -n 8 "$XDP_BLOOM_STATE/events"
	diff <(echo "$pins") <(all_pins) || echo "the pins: < before, > now"
	"$TRAFFIC" -b banned -c clean wire0 edge0 2>&1
	"$XDP_BLOOM" -j show
}

all_pins() {
	find "$bpffs" -type f 2>/dev/null | sort | sed "s|generation/[0-9]*|generation|"
}

# Several at once are healed one after the other, or with one stroke.
in_place() {
	[ "$(all_pins)" = "$pins" ] && [ "$("$XDP_BLOOM" -j show 2>/dev/null |
		jq -c '[.interfaces[]|[.name,.moved,.gone]]')" = '[["edge0",false,false]]' ] && send_closed
}

# What is lost while something is attached again is not waited for: there is another try.
send_closed() {
	timeout 5 "$TRAFFIC" -b banned -c clean wire0 edge0 &>/dev/null
}

# healed WHAT: it is, and it was said in the log, in the events, on /healthz and in the metrics.
healed() {
	wait_until "$1: all in place" in_place
	wait_until "$1: counted in the metrics" counted_more
	wait_until "$1: ok of /healthz" page_has /healthz '^ok$'
	page_has /healthz '^healed .* times, at last' || fail "$1: not on /healthz, but: $(cat page)"
	heard "$log" ": made again"
	[ "$(events_of fault)" -gt "$faults_before" ] || fail "$1: no event 'fault'"
	[ "$(events_of healed)" -gt "$healed_before" ] || fail "$1: no event 'healed'"
}

events_of() {
	jq -r .event "$XDP_BLOOM_STATE/events" | grep -c "^$1\$"
}

# Again whole for whoever changes something, and not only to look at.
whole() {
	bloom add 198.51.100.9
	bloom del 198.51.100.9
	send 0 -b banned -c clean
	is "$(all_pins)" "$pins" "$1: the pins"
}

before() {
	pins=$(all_pins)
	faults_before=$(events_of fault)
	healed_before=$(events_of healed)
	probe
}

# fault NAME [PIN]: one by itself.
fault() {
	local pins faults_before healed_before

	prepare_parts
	before
	"$@" || fail "cannot: $*"
	healed "$*"
	probed
	whole "$*"
	[[ $1 = open_* || $through = 0 ]] || fail "$*: $through banned frames came through, for $open_ms ms"
	stop
}

# Several at once, one after another.
sequence() {
	local n what did=() pins faults_before healed_before

	before
	# What comes quickly is seen at once.
	((RANDOM % 2)) || kill -STOP "$service_pid"
	for ((n = RANDOM % 3 + 1; n > 0; n--)); do
		what=$(one_of "${faults[@]}")
		# Twice, they would be as they were.
		[[ $what != closed_pins_mixed_up || ${did[*]} != *$what* ]] || continue
		[[ $what != closed_pin_* ]] || what="$what $(a_pin)"
		# It may just be looking into what is to be unmounted.
		[[ $what != closed_unmounted ]] || kill -CONT "$service_pid"
		if $what &>/dev/null; then did+=("$what"); fi
	done
	if [ ${#did[@]} = 0 ]; then
		closed_all_removed
		did=(closed_all_removed)
	fi
	kill -CONT "$service_pid"
	healed "${did[*]}"
	probed
	whole "${did[*]}"
	[[ ${did[*]} = *open_* || $through = 0 ]] || fail "${did[*]}: $through banned frames came through, for $open_ms ms"
	[ "$open_ms" -le "${XDP_BLOOM_OPEN_MS:-100000}" ] || fail "${did[*]}: open for $open_ms ms"
	[ "$open_ms" -le "$most_ms" ] || most_ms=$open_ms
}

# The interface is let go, and what stands in its link's place is none.
detached_and_taken() {
	local pins faults_before healed_before what

	prepare_parts
	for what in closed_pin_removed closed_pin_replaced closed_pin_a_directory closed_pin_within_a_directory; do
		before
		open_link_detached
		$what links/edge0 || fail "cannot: $what"
		healed "detached, $what"
		probed
		whole "detached, $what"
	done
	# And it is not seen one after the other.
	for what in closed_pin_removed\ links/edge0 closed_links_removed closed_pin_removed\ root closed_all_removed \
		closed_unmounted_lazily open_slot_emptied; do
		before
		kill -STOP "$service_pid"
		open_link_detached
		$what || fail "cannot: $what"
		kill -CONT "$service_pid"
		healed "detached and at once $what"
		probed
		whole "detached and at once $what"
	done
	stop
	for what in closed_pin_removed closed_pin_replaced closed_pin_a_directory closed_pin_within_a_directory; do
		open_link_detached
		$what links/edge0 || fail "cannot: $what"
		bloom attach edge0
		send 0 -b banned -c clean
	done
}

# The service hears of a change of the interface while that is not filtered, or is to read its config again, and would put
# back what it expects there: that it was taken away is said all the same.
detached_and_heard_of() {
	local pins faults_before healed_before n

	prepare_parts
	for n in 1 2 3 4 5 6; do
		before
		kill -STOP "$service_pid"
		open_link_detached
		if ((n % 2)); then
			ip link set edge0 mtu $((1400 + n))
		else
			kill -HUP "$service_pid"
		fi
		kill -CONT "$service_pid"
		healed "detached, and heard of, time $n"
		probed
	done
	stop
}

# What waits for a confirmation is two generations, and an interface with another root.
on_trial() {
	local pins faults_before healed_before what

	prepare_parts
	bloom detach edge0
	bloom attach edge0 --confirm 1h
	bloom load bad list --confirm 1h --force
	for what in closed_pin_removed\ slot closed_generation_removed closed_all_removed open_slot_emptied closed_unmounted \
		open_link_detached closed_pin_removed\ links/edge0 closed_pin_removed\ root; do
		before
		$what || fail "cannot: $what"
		healed "$what"
		probed
		is "$(all_pins)" "$pins" "$what: the pins"
		is "$(ip -j link show edge0 | jq -r '.[].xdp.prog.name')" xdp_bloom_trial "$what: what edge0 runs"
	done
	bloom confirm
	send 0 -b banned -c clean
	before
	closed_all_removed
	healed "after it was confirmed"
	probed
	whole "after it was confirmed"
	stop
}

# Who detaches has the last word, though the service holds the link: by hand, where the lock is held, and where the
# state is gone.
detached_stays_so() {
	local detaching

	prepare_parts
	bloom detach edge0
	service_has_looked
	passes
	bloom attach edge0
	service_has_looked
	hold_lock
	"$XDP_BLOOM" detach edge0 &
	detaching=$!
	let_go edge0
	service_has_looked
	passes
	kill "$holder"
	wait $detaching
	service_has_looked
	passes
	bloom attach edge0
	service_has_looked
	mv "$XDP_BLOOM_STATE" gone
	echo garbage >"$WORK/garbage"
	mkdir -m 700 "$XDP_BLOOM_STATE"
	cp garbage "$XDP_BLOOM_STATE/state.db"
	expect 2 "$XDP_BLOOM" detach edge0
	one_line "filtering has stopped"
	service_has_looked
	passes
	stop
}

passes() {
	cat banned clean >everybody
	send 0 -c everybody
}

# Some more looks of the service: it wakes for each.
service_has_looked() {
	local turns

	turns=$(switches)
	wait_until "the service to look" switched_since $((turns + 8))
}

switches() {
	sed -n 's/^voluntary_ctxt_switches:\s*//p' "/proc/$service_pid/status"
}

switched_since() {
	[ "$(switches)" -gt "$1" ]
}

# Its state is moved away, lost under a mount, or another's: the filter goes on, and it is said.
state_lost() {
	local what

	prepare_parts
	for what in moved mounted_over; do
		before
		if [ $what = moved ]; then
			mv "$XDP_BLOOM_STATE" gone
		else
			mount -t tmpfs tmpfs "$XDP_BLOOM_STATE" || skip "the kernel has no tmpfs"
		fi
		wait_until "$what: 503 of /healthz" page_is /healthz 503
		get_page /metrics
		grep -q '^xdp_bloom_faulty 1$' page || fail "$what: not in the metrics: $(tail -n 3 page)"
		closed_all_removed
		wait_until "$what: the pins" in_place
		if [ $what = moved ]; then
			rm -rf "${XDP_BLOOM_STATE:?}"
			mv gone "$XDP_BLOOM_STATE"
		else
			umount -l "$XDP_BLOOM_STATE"
		fi
		wait_until "$what: ok of /healthz" page_has /healthz '^ok$'
		probed
		whole "$what"
		is "$through" 0 "$what: banned frames that came through"
		# Where it was gone nothing could be written; when it was back that was.
		tail -n 5 "$XDP_BLOOM_STATE/events" | grep -q "the state can be read again" || fail "$what: no event"
	done
	stop
}

page_is() {
	get_page "$1"
	[ "$code" = "$2" ]
}

# Nothing can be pinned there: it is said, and not again and again; the filter goes on, and all is well when it can be.
cannot_be_healed() {
	local pins faults_before healed_before

	prepare_parts
	before
	# It is not to see one without the other.
	kill -STOP "$service_pid"
	rm -rf "$bpffs"
	mount -o remount,ro /sys/fs/bpf || skip "the kernel cannot make a bpffs read-only"
	kill -CONT "$service_pid"
	heard "$log" "while the service runs, the filter goes on"
	wait_until "503 of /healthz" page_is /healthz 503
	grep -q "^a part of the filter is gone" page || fail "/healthz says: $(cat page)"
	send 0 -b banned -c clean
	mount -o remount,rw /sys/fs/bpf
	wait_until "ok of /healthz" page_has /healthz '^ok$'
	probed
	whole "a bpffs that cannot be written"
	stop
	is "$(grep -c "while the service runs" - <&"$log")" 0 "how often it was said again"
}

# The interface is renamed, as udev does, or in another network namespace; another has its name, and is filtered at once.
new_interface_under_an_old_name() {
	prepare_parts
	ip link set edge0 down
	ip link set edge0 name edge8 up
	ip link set wire0 down
	ip link set wire0 name wire8 up
	veth 0
	restored
	send 0 -b banned -c clean
	send 8 -b banned -c clean
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,false],["edge8",false,false]]' "the interfaces"
	stop
}

# With no more rights than the unit gives: what has to be mounted is then for somebody else.
with_few_rights() {
	local pins faults_before healed_before given what

	need setpriv
	need_sources
	setpriv --list-caps | grep -q '^bpf' || skip "needs a setpriv that knows CAP_BPF, of a newer package util-linux"
	given=$(sed -n 's/^CapabilityBoundingSet=//p' "$top/packaging/systemd/hardened" | tr '[:upper:]' '[:lower:]' |
		sed 's/ *cap_/,+/g')
	under=(setpriv --bounding-set "-all$given" --inh-caps -all --no-new-privs)
	prepare_parts
	for what in closed_all_removed closed_pin_replaced open_link_detached open_slot_emptied; do
		before
		$what || fail "cannot: $what"
		healed "$what"
		probed
		whole "$what"
	done
	before
	closed_unmounted
	heard "$log" "while the service runs, the filter goes on"
	mount -t bpf bpf /sys/fs/bpf
	wait_until "ok of /healthz" page_has /healthz '^ok$'
	probed
	is "$through" 0 "banned frames that came through"
	whole "mounted again"
	stop
}

# Without a descriptor to look with nothing is called gone, and nothing that is held goes; with one all is made again.
with_few_files() {
	need prlimit
	under=(prlimit --nofile=64:256)
	prepare_parts
	is "$(awk '/open files/ { print $4 }' "/proc/$service_pid/limits")" 256 "what the service may have open"
	before
	prlimit --pid "$service_pid" --nofile=8:256
	closed_all_removed
	heard "$log" "cannot be looked at, nor held: Too many open files"
	send_closed || fail "what is held does not filter any more"
	prlimit --pid "$service_pid" --nofile=256:256
	healed "all removed"
	probed
	is "$through" 0 "banned frames that came through"
	whole "with descriptors again"
	stop
}

# The slot's own pin may go, and comes back with the next command. What opens it all is closed by it, at once.
without_the_service() {
	need bpftool
	veth 0
	a_list
	bloom load bad list
	bloom attach edge0
	closed_pin_removed slot
	send 0 -b banned -c clean
	bloom add 198.51.100.9
	echo 198.51.100.9 >>banned
	send 0 -b banned -c clean
	[ -e "$bpffs/slot" ] || fail "the slot has no pin"
	closed_both_slots_removed
	bloom restore
	send 0 -b banned -c clean
	closed_all_removed
	let_go edge0
	bloom restore
	send 0 -b banned -c clean
}

# What is not ours is named, by whoever looks, and nothing is changed.
foreign_pins() {
	local pin

	need bpftool
	veth 0
	a_list
	bloom load bad list
	for pin in root slot counters list_counters samples sample_shares; do
		mv "$bpffs/$pin" "$bpffs/own"
		bpftool map create "$bpffs/$pin" type hash key 4 value 400 entries 9 name foreign
		expect 2 "$XDP_BLOOM" rotate
		one_line "$bpffs/$pin is map "
		one_line "'foreign' (hash), not ours"
		rm "$bpffs/$pin"
		mv "$bpffs/own" "$bpffs/$pin"
	done
	bloom rotate
}

random_sequences() {
	local n most_ms=0

	prepare_parts
	RANDOM=$XDP_BLOOM_SEED
	for ((n = 0; n < sequences; n++)); do
		sequence
	done
	stop
	echo "# $sequences sequences, packets passed for at most $most_ms ms"
}

all=()
for name in $(printf '%s\n' "${faults[@]}" | sort -u); do
	all+=("fault $name")
done
run_cases without_the_service foreign_pins "${all[@]}" with_few_rights with_few_files detached_and_taken detached_and_heard_of \
	on_trial detached_stays_so state_lost cannot_be_healed new_interface_under_an_old_name random_sequences
