#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service: what it does by itself, what it says, and that nothing it does depends on its being alive.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
units=$top/packaging/systemd
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

starts_and_stops() {
	local since

	prepare
	under=(env WATCHDOG_USEC=200000)
	ready
	heard "$notes" WATCHDOG=1
	heard "$notes" WATCHDOG=1
	send 0 -b banned -c clean
	stop
	heard "$notes" STOPPING=1
	send 0 -b banned -c clean
	# An unchanged config changes nothing.
	since=$(snapshot)
	under=(env)
	ready
	is "$(snapshot)" "$since" "what is loaded and attached after a second start"
	stop KILL 137
	send 0 -b banned -c clean
	ready
	stop INT
	is "$(snapshot)" "$since" "what is loaded and attached after a third"
}

# A service manager that takes no message at that moment gets it later: it would wait forever.
tells_who_is_busy() {
	need strace
	prepare
	mkfifo pipe
	busy=(pipe)
	under=(strace -D -o calls -e trace=sendto)
	service
	wait_until "a READY=1 in vain" grep -qs 'READY=1.*EAGAIN' calls
	echo >pipe
	heard "$notes" READY=1
	heard "$log" ready
	stop
}

only_one() {
	prepare
	ready
	refused "is held by process $service_pid" run --config conf
	XDP_BLOOM_STATE=$WORK/other expect 0 "$XDP_BLOOM" run --check --config conf
	stop
}

# finds_interfaces [--shared]
finds_interfaces() {
	local before

	prepare
	if [ $# != 0 ]; then
		"$XDP_BLOOM" attach edge0 "$@" &>/dev/null || skip_dispatcher
		bloom detach edge0
		sed -i "s/^attach edge0/& $*/" conf
	fi
	ip link del edge0
	ready
	heard "$log" "edge0: there is no such interface"
	for before in first again; do
		veth 0
		restored
		send 0 -b banned -c clean
		is "$(get '[.interfaces[].name]' show)" '["edge0"]' "the interfaces, $before"
		[ $before = again ] || ip link del edge0
	done
	stop
}

# Whether or not it has the number that the one before had.
finds_the_same_number() {
	local round

	prepare
	sed -i /attach/d conf # a line is tried again for itself
	ready
	heard "$log" ready
	bloom attach edge0
	for round in 1 2 3; do
		ip link del edge0
		kill -HUP "$service_pid" # it has seen that edge0 is not there when it is ready
		heard "$log" ready
		link_number=77 veth 0
		wait_until "the filter on edge0 of round $round" is_attached edge0
		send 0 -b banned -c clean
	done
	stop
}

# Another command has the lock, for as long as it takes to build a filter: also while one that came waits for it already.
comes_beside_a_command() {
	local round

	prepare
	veth 1
	echo 'attach edge1 --match both' >>conf
	ready
	heard "$log" ready
	hold_lock
	for round in 1 2 3; do
		ip link del edge0
		veth 0
		wait_until "the filter on edge0 of round $round" is_attached edge0
		send 0 -b banned -c clean
	done
	wait_until "a service that holds it" is_held edge0
	rm "${XDP_BLOOM_BPFFS:?}/links/edge0"
	heard "$log" "made again when the command that works now has ended"
	send 0 -b banned -c clean
	# Of a kind that waits for the lock.
	ip link del edge1
	veth 1
	kill -0 "$holder" || fail "nobody has the lock any more"
	kill "$holder"
	wait_until "the filter on edge1" is_attached edge1
	send 1 -b banned -c clean
	wait_until "the pin of edge0" [ -e "$XDP_BLOOM_BPFFS/links/edge0" ]
	send 0 -b banned -c clean
	bloom status
	stop
}

# passes ADDRESS: test says so.
passes() {
	[ "$(get '.[0].verdict' test "$1")" = pass ]
}

# ended_beside_a_command service|restore: who attached it ends before it has the lock, as where the service is started again. The
# next one asks what is needed behind it.
ended_beside_a_command() {
	veth 0
	ip link set lo up
	printf '%s\n' 45.0.0.25{3,4} 198.51.100.{1..9} >it
	bloom attach edge0
	bloom load it it
	: >conf
	ready
	hold_lock
	ip link del edge0
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add 203.0.0.0/16 via 45.0.0.254
	wait_until "the filter on edge0" is_attached edge0
	if [ "$1" = service ]; then
		stop
	else
		pkill -KILL -P "$service_pid" -f '^xdp-bloom restore '
		heard "$log" "restore: it was ended by signal 9"
	fi
	is "$(get '.[0].verdict' test 45.0.0.254 || true)" drop "what becomes of a gateway that nobody was asked about"
	kill "$holder"
	[ "$1" = restore ] || ready
	wait_until "what was asked" passes 45.0.0.254
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254"]' "what was let through"
	bloom disallow 45.0.0.254 --force
	bloom restore --spare
	is "$(get '[.[].prefix]' allow)" '[]' "what was let through, once that was taken back"
	stop
}

# is_held INTERFACE: the service has a descriptor of what filters there.
is_held() {
	grep -qs "^ifindex:[[:blank:]]*$(<"/sys/class/net/$1/ifindex")\$" "/proc/$service_pid/fdinfo"/*
}

# Whoever has the lock takes it out of the state, or waits for the lock to do that.
detached_beside_a_command() {
	prepare
	sed -i /attach/d conf # a line is tried again for itself
	veth 1 2
	ready
	heard "$log" ready
	bloom attach edge0 edge1 edge2
	hold_lock
	ip link del edge0
	veth 0
	wait_until "the filter on edge0" is_attached edge0
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("DELETE FROM interface WHERE name = 'edge0'")
	PYTHON
	let_go edge0
	"$XDP_BLOOM" detach edge1 &
	detaches=$!
	let_go edge1
	ip link del edge2
	veth 2
	wait_until "the filter on edge2" is_attached edge2
	without_program edge1 || fail "edge1 was attached again, and detach has not had the lock yet"
	kill "$holder"
	end_of "$detaches" || fail "detach ended with $?"
	kill -HUP "$service_pid"
	heard "$log" ready
	send 0 -c banned -c clean
	send 1 -c banned -c clean
	stop
}

# From a container, whose root gave it many names: each message of it is long.
comes_with_many_names() {
	local -a there

	prepare
	ready
	heard "$log" ready
	ip link del edge0
	other_network
	there=(nsenter --net="/proc/${far:?}/ns/net")
	"${there[@]}" ip link add edge0 type veth peer name wire0
	many_names edge0 "${there[@]}"
	"${there[@]}" ip link set wire0 netns $$
	"${there[@]}" ip link set edge0 netns $$
	ip link set wire0 up
	ip link set edge0 up
	wait_until "the filter on edge0" is_attached edge0
	stop
}

# Another comes with its name as another name, while it is away.
name_of_what_is_away() {
	prepare
	ready
	heard "$log" ready
	ip link del edge0
	veth 9
	ip link property add dev edge9 altname edge0 2>/dev/null || skip "interfaces have no other names here"
	expect 1 "$XDP_BLOOM" restore
	ip link del edge9
	veth 0
	wait_until "the filter on edge0" is_attached edge0
	stop
}

# What others can send past the filter where it attaches that again, its log says.
says_what_is_not_seen() {
	prepare
	sed -i /attach/d conf
	ready
	bloom attach edge0 --mode skb
	stop
	other_network
	ip link set wire0 netns "${far:?}"
	# As after a start of the machine.
	rm -r "${XDP_BLOOM_BPFFS:?}"/*
	ready
	heard "$log" 'edge0: packets that its other end, in another network namespace, redirects to it are not seen in skb mode'
	stop
}

is_attached() {
	! without_program "$1"
}

# One that another program was on when it came: it is not done until it is done.
tries_interfaces_again() {
	prepare
	ip link del edge0
	ready
	heard "$log" "edge0: there is no such interface"
	veth 9
	expect 0 "$XDP_BLOOM" -S "$WORK/other" -B /sys/fs/bpf/other attach edge9
	ip link set wire9 down
	ip link set wire9 name wire0 up
	ip link set edge9 down
	ip link set edge9 name edge0 up
	heard "$log" "edge0: another XDP program is attached there"
	expect 0 "$XDP_BLOOM" -S "$WORK/other" -B /sys/fs/bpf/other detach edge9
	rm -rf /sys/fs/bpf/other
	heard "$log" "restore: done"
	send 0 -b banned -c clean
	stop
}

# A filter of somebody else's.
other() {
	expect 0 "$XDP_BLOOM" -S "$WORK/other" -B "$XDP_BLOOM_BPFFS-other" "$@"
}

# is_faulty NUMBER TEXT [TROUBLE]: what the service tells whoever watches over it, and who may see the page.
is_faulty() {
	get_page /healthz
	is "$code" "$([ "$1" = 0 ] && echo 200 || echo 503)" "the status of /healthz"
	grep -qF "$2" page || fail "no '$2' in /healthz: $(cat page)"
	get_page /metrics
	grep -qx "xdp_bloom_faulty $1" page || fail "another number than $1: $(grep faulty page)"
	get_page /page.json
	is "$(jq -r .health.status page)" "$([ "$1" = 0 ] && echo ok || echo failing)" "the word of the page"
	grep -qF "${3:-}" page || fail "no '$3' on the page: $(cat page)"
}

faults_told() {
	"$XDP_BLOOM" -j events | jq -sr '[.[].event|select(. == "fault" or . == "healed")]|join(" ")'
}

# Another program is where the filter is to be: it is up, as the rest of it works, and says that it does not filter there.
claims_no_filter() {
	local taken="edge0 is to be filtered, and is not: another XDP program is attached there"

	prepare
	veth 1
	echo "attach edge1" >>conf
	other attach edge0
	ready --listen 9913 --page
	[[ $line = *"STATUS=1 of 2 interfaces attached; $taken"* ]] || fail "the service manager is told: $line"
	heard "$log" "edge0: another XDP program is attached there"
	heard "$log" "ready, but $taken"
	is_faulty 1 "an interface is not filtered" "$taken"
	expect 1 "$XDP_BLOOM" status
	grep -qF "$taken" out || fail "status says: $(cat out)"
	is "$(faults_told)" "fault" "what was told of it"
	send 1 -b banned -c clean
	# Another reason to look, and not another fault.
	veth 2
	bloom attach edge2
	kill -HUP "$service_pid"
	heard "$log" "ready, but $taken"
	other detach edge0
	heard "$log" "edge0 is filtered again, and was not filtered since 20"
	heard "$notes" "STATUS=3 of 3 interfaces attached"
	is_faulty 0 "healed 1 times"
	bloom status
	is "$(faults_told)" "fault healed" "what was told of it then"
	send 0 -b banned -c clean
	stop
}

# What need not be filtered any more is no fault, either.
gives_up_an_interface() {
	prepare
	other attach edge0
	ready
	heard "$log" "ready, but edge0 is to be filtered"
	bloom detach edge0
	heard "$log" "edge0 is gone, or is not to be filtered any more, and was not filtered since 20"
	expect 1 "$XDP_BLOOM" attach edge0 --if-needed
	heard "$log" "edge0 is to be filtered, and is not: another XDP program is attached there"
	ip link del edge0
	heard "$log" "edge0 is gone, or is not"
	stop
}

# A disk that takes its time: the filter is off before the state says so, or on after it. That is no fault.
changes_slowly() {
	local slowly=(strace -o calls -e trace="fdatasync,fsync" -e inject="fdatasync,fsync:delay_enter=1500000")

	need strace
	prepare
	veth 2
	echo "attach edge2" >>conf
	ready
	sed -i '/edge2/d' conf
	expect 0 "${slowly[@]}" "$XDP_BLOOM" detach edge2
	kill -HUP "$service_pid"
	heard "$log" ready
	expect 0 "${slowly[@]}" "$XDP_BLOOM" attach edge2
	kill -HUP "$service_pid"
	heard "$log" ready
	is "$(faults_told)" "" "what was told of it"
	stop
}

# In force until it is ended.
banned_too_long() {
	bloom add 192.0.2.6 --ttl 1h
	bloom test 192.0.2.6
	overdue ban due
}

ends_bans() {
	prepare
	ready
	asleep banned_too_long
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].prefix]' bans)" '[]' "the bans"
	send 0 -b banned -c clean
	# It is not confirmed.
	echo 192.0.2.6 >other
	asleep unwatched load other other
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].name]' lists)" '["bad"]' "the lists"
	stop
}

# A command is killed behind its commit, at each call that would bring that into the kernel: the service does it.
ends_what_was_killed() {
	local n calls committed=0

	need strace
	prepare
	ready
	echo 192.0.2.6 >added
	expect 0 strace -o calls -e trace=bpf "$XDP_BLOOM" load other added
	calls=$(grep -c '^bpf' calls)
	for ((n = calls - 20; n <= calls; n++)); do
		"$XDP_BLOOM" unload other &>/dev/null
		# The shell that says of it that it was killed is not this one.
		(
			strace -o /dev/null -e trace=bpf -e inject=bpf:signal=KILL:when=$n "$XDP_BLOOM" load other added
			exit $?
		) &>/dev/null
		[ "$(get '[.[].name]' lists)" != '["bad"]' ] || continue
		committed=$((committed + 1))
		wait_until "what was committed, call $n of $calls" in_force
	done
	[ $committed != 0 ] || fail "none of $calls calls is behind the commit"
	stop
}

in_force() {
	[ "$(get '.[0].verdict' test 192.0.2.6)" = drop ]
}

# One waiting process is not joined by more and more of them.
restores_without_watchers() {
	need strace
	prepare
	ready
	echo 192.0.2.6 >other
	bloom load other other --confirm 1h
	expect 0 strace -o calls -e trace=process "$XDP_BLOOM" restore
	! grep SIGCHLD calls || fail "restore left a process behind"
	stop
	expect 0 strace -o calls -e trace=process "$XDP_BLOOM" restore
	grep -q SIGCHLD calls || fail "without a service nothing watches"
}

# When the clock is set, as the kernel reports it, everything that waits for a time waits for it again.
clock_is_set() {
	need strace
	prepare
	under=(strace -D -o reads -e trace=read -e inject=read:error=ECANCELED:when=1 -P 'anon_inode:[timerfd]')
	LD_PRELOAD=${TRAFFIC%/*}/clock.so CLOCK_AHEAD=$WORK/ahead ready
	bloom add 192.0.2.5 --ttl 10h
	wait_until "a timer for the end of the ban" ended_or_timed
	echo 3600 >ahead
	bloom add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].prefix]' bans)" '["192.0.2.5"]' "bans"
	grep -q INJECTED reads || skip "needs a strace that knows a timer by its name, of a newer package strace"
	send 0 -b banned -c clean
	stop
}

# before_the_end SECONDS STATE COMMAND...: done when the service waits for the end of a ban, and before that comes; the state
# is there then. Fails where the machine is too slow for so many seconds.
before_the_end() {
	local seconds=$1 state=$2

	shift 2
	bloom add 192.0.2.6 --ttl "${seconds}s"
	wait_until "a timer for the end of the ban" ended_or_timed
	"$@"
	[ "$(get length -S "$state" bans)" = 1 ]
}

ended_or_timed() {
	[ "$(get length bans)" = 0 ] || grep -qs '^it_value: ([1-9]' "/proc/$service_pid/fdinfo/"*
}

fills_up() {
	head -c 20m /dev/zero >small/fill 2>/dev/null
}

# Where nothing can be written a ban does not end: that is tried again, now and then, and not said to be done.
ends_bans_later() {
	local seconds=2

	prepare
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	ready
	until before_the_end $seconds small/state fills_up; do
		rm small/fill
		heard "$log" "what ran out of time: done"
		seconds=$((2 * seconds))
	done
	rm -f unheard
	# To open the state, or to write to it: that depends on when its log was last tidied up.
	heard "$log" "the disk is full"
	heard "$log" "the disk is full"
	! grep "done" unheard || fail "it says done, and is not"
	rm small/fill
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].prefix]' bans)" '[]' "the bans"
	stop
	umount -l small
}

# Its log and index are gone, as after a service that was ended; so are the filter and its pins.
machine_starts() {
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("SELECT name FROM list").fetchall()' small/state/state.db
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	let_go edge0
	fills_up
}

# The machine starts and the state's disk is full: for that some room was kept. Without it the service tries again.
starts_on_a_full_disk() {
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	ip link set lo up
	veth 0
	a_list
	bloom load bad list
	bloom attach edge0
	: >conf
	ready
	stop
	machine_starts
	bloom restore --spare
	one_line "the disk is full: the room that was kept for this is used"
	send 0 -b banned -c clean
	machine_starts
	expect 2 "$XDP_BLOOM" restore --spare
	one_line "the disk is full"
	rm small/state/history
	fills_up
	ready --listen 9913
	heard "$log" "history is not kept until there is room"
	get_page /healthz
	is "$code" 503 "what /healthz says without a filter"
	rm small/fill
	wait_until "that it is restored" send_through
	wait_until "that room is kept again" test -e small/state/reserve
	stop
	umount -l small
}

# Any user can take all names that a disk has place for: that of a socket is missing; for those of SQLite's some were kept.
starts_without_names() {
	local line n=0

	mkdir small
	mount -t tmpfs -o size=30m,nr_inodes=60 tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	prepare
	ready
	stop
	machine_starts
	while : >"small/name$n"; do
		n=$((n + 1))
	done 2>/dev/null
	service
	heard "$log" "samples.sock: No space left on device; no other command sees samples until there is room"
	heard "$log" "the disk is full: the room that was kept for this is used"
	heard "$notes" READY=1
	[[ $line == *"=1 of 1 interfaces attached"* ]] || fail "it is ready with '$line': $(cat unheard; "$XDP_BLOOM" status)"
	send 0 -b banned -c clean
	rm small/name*
	wait_until "its socket" test -S small/state/samples.sock
	stop
	umount -l small
}

send_through() {
	"$TRAFFIC" -b banned -c clean wire0 edge0 &>/dev/null
}

state_is_back() {
	rm -rf state
	mv gone state
}

# Of a state that is gone nothing can be ended: that is said once, and is done when it is there again.
ends_bans_of_a_state_that_was_gone() {
	local line seconds=2

	prepare
	ready
	heard "$log" ready
	# Where the ban ends before the service has seen that the state is gone, it is the command for that which says so.
	until before_the_end $seconds gone mv state gone && heard "$log" "does not know the filter" &&
		[[ $line = *"what was known of it stays in force" ]]; do
		asleep state_is_back
		heard "$log" "what ran out of time: done"
		# What it said meanwhile is not for the next time.
		kill -HUP "$service_pid"
		heard "$log" ready
		seconds=$((2 * seconds))
	done
	! read -rt 4 line <&"$log" || fail "it goes on: $line"
	asleep state_is_back
	heard "$log" "what ran out of time: done"
	is "$(get '[.[].prefix]' bans)" '[]' "the bans"
	send 0 -b banned -c clean
	stop
}

generation_is_behind() {
	[ "$(get .generation show)" -gt "$1" ]
}

rotates() {
	local before

	prepare
	ready --rotate-every 1s
	before=$(get .generation show)
	flow 0 -b banned -c clean
	# What it has said may be of rotations before.
	wait_until "a second rotation" generation_is_behind $((before + 1))
	heard "$log" "rotate: done"
	stop_flow 0
	stop
}

# Where a rotation fails, the next is not tried at once: the service does nothing else meanwhile.
rotates_later() {
	prepare
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	ready
	head -c 20m /dev/zero >small/fill 2>/dev/null
	echo "run --rotate-every 1s" >>conf
	rm -f unheard
	kill -HUP "$service_pid"
	heard "$log" "the generation before is still in force"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	stop
	! grep "generation before" - <&"$log" || fail "it tried again and again"
	send 0 -b banned -c clean
	umount -l small
}

# Who kills the command that it begins with has a service that did not begin.
killed_at_start() {
	prepare
	bloom load bad list
	hold_lock
	service
	child_of "xdp-bloom restore"
	kill -KILL "$child"
	heard "$log" "start: it was ended by signal 9"
	end_of "$service_pid"
	is $? 2 "the exit status of the service"
}

# All of it with no more rights than the unit gives.
with_few_rights() {
	local given

	need setpriv
	need_sources
	setpriv --list-caps | grep -q '^bpf' || skip "needs a setpriv that knows CAP_BPF, of a newer package util-linux"
	given=$(sed -n 's/^CapabilityBoundingSet=//p' "$units/hardened" | tr '[:upper:]' '[:lower:]' | sed 's/ *cap_/,+/g')
	prepare
	under=(setpriv --bounding-set "-all$given" --inh-caps -all --no-new-privs)
	ready
	send 0 -b banned -c clean
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	bloom add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	ip link del edge0
	veth 0
	restored
	send 0 -b banned -c clean
	stop
}

damaged_state() {
	prepare
	ready
	stop
	tidied
	printf 'garbage garbage garbage' | dd of="$XDP_BLOOM_STATE/state.db" conv=notrunc status=none
	service
	heard "$log" "damaged"
	end_of "$service_pid"
	is $? 2 "the exit status of the service"
	send 0 -b banned -c clean
}

# Prometheus is answered; the library for it is loaded for that alone, and only who asks for it needs it.
answers_prometheus() {
	local library

	prepare
	ready --listen 9753
	python3 -c 'from urllib.request import urlopen
print(urlopen("http://127.0.0.1:9753/metrics", timeout=30).read().decode())' >page
	grep -q '^xdp_bloom_' page || fail "no metrics, but: $(head -3 page)"
	is "$(healthz)" ok "what /healthz says"
	echo nonsense >refused
	expect 2 "$XDP_BLOOM" load bad refused
	healthz >page
	is "$(head -1 page)" degraded "what /healthz says of a list that was refused"
	grep -qx "list 'bad': refused since 20[^ ]*Z" page || fail "which: $(cat page)"
	library=$(awk '/libmicrohttpd/ { print $NF; exit }' "/proc/$service_pid/maps")
	[ -f "$library" ] || fail "the library is not where it was loaded from: '$library'"
	stop
	mount --bind /dev/null "$library"
	bloom rotate
	service --listen 9753
	heard "$log" "metrics need libmicrohttpd"
	end_of "$service_pid"
	is $? 2 "the exit status of the service"
	umount "$library"
}

# Any user may have the port while no service has it: it filters without, says so, and listens as soon as it can.
port_is_taken() {
	local line

	prepare
	without_rights python3 -c '
import os, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *of: sys.exit())
server = socket.create_server(("127.0.0.1", 9753))
print(os.getpid(), flush=True)
signal.pause()' >others &
	wait_until "that another user listens" test -s others
	ready --listen 9753
	heard "$log" "9753: cannot listen: Address already in use, by user 65534"
	send 0 -b banned -c clean
	"$XDP_BLOOM" status >said
	grep -q "9753: cannot listen: Address already in use, by user 65534" said || fail "status says: $(cat said)"
	bloom run --check --config conf --listen 9753
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	kill "$(cat others)"
	heard "$log" "the service listens at 9753 now"
	is "$(healthz)" ok "what /healthz says"
	! "$XDP_BLOOM" status | grep "cannot listen" || fail "status says it still"
	grep -q '"healed".*the service listens at 9753 now' "$XDP_BLOOM_STATE/events" || fail "there is no event"
	stop
}

# Root of a container may be the same user, and have all of inotify's instances: it filters, looks by itself, and says so.
# Here both are another user, who has what the unit gives: root's instances are others', too.
nothing_is_told() {
	local line may=+bpf,+net_admin,+perfmon,+sys_admin,+dac_override,+dac_read_search

	need setpriv
	setpriv --list-caps | grep -q '^bpf' || skip "needs a setpriv that knows CAP_BPF, of a newer package util-linux"
	[ $(($(</proc/sys/fs/inotify/max_user_instances) + 10)) -lt "$(ulimit -Hn)" ] || skip "one process cannot have them all"
	prepare
	chmod 711 .
	mkdir -p "$XDP_BLOOM_STATE" "$XDP_BLOOM_BPFFS"
	chown 4242 "$XDP_BLOOM_STATE" "$XDP_BLOOM_BPFFS"
	under=(setpriv --reuid 4242 --regid 4242 --clear-groups --bounding-set "-all,$may" --inh-caps "-all,$may" --ambient-caps "-all,$may")
	setpriv --reuid 4242 --regid 4242 --clear-groups python3 -c '
import ctypes, os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_NOFILE, 2 * resource.getrlimit(resource.RLIMIT_NOFILE)[1:])
signal.signal(signal.SIGTERM, lambda *of: sys.exit())
kernel = ctypes.CDLL(None)
while kernel.inotify_init1(0) >= 0:
    pass
print(os.getpid(), flush=True)
signal.pause()' >theirs &
	wait_until "that nothing is left" test -s theirs
	ready --listen 9753
	heard "$log" "inotify: Too many open files (fs.inotify.max_user_instances?); what other commands do is seen a second later"
	send 0 -b banned -c clean
	wait_until "status and /healthz to say it" is_told "inotify: Too many open files"
	expect 0 "${under[@]}" "$XDP_BLOOM" add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	kill "$(cat theirs)"
	heard "$log" "what other commands do is seen at once again"
	wait_until "nothing to be said of it" says_no_more "inotify"
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	stop
}

# begin_flapping: the other end of edge0 is in another network namespace, down and up without pause, some thousand times a second.
begin_flapping() {
	other_network
	ip link set wire0 netns "$far"
	nsenter --net="/proc/$far/ns/net" python3 - wire0 <<-'PYTHON' &
		import fcntl, socket, struct, sys

		asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		name = sys.argv[1].encode()
		(flags,) = struct.unpack_from("H", fcntl.ioctl(asks, 0x8913, struct.pack("16s24x", name)), 16)
		while True:
		    for now in flags & ~1, flags | 1:
		        fcntl.ioctl(asks, 0x8914, struct.pack("16sH22x", name, now))
	PYTHON
	flapper=$!
}

# Of an interface whose other end somebody has the kernel speaks as often as he likes: nothing waits for that.
spoken_of_all_the_time() {
	local far flapper number

	need nsenter
	prepare
	for number in {1..20}; do
		veth "$number"
	done
	bloom attach edge{1..20}
	ready
	begin_flapping
	ip link del edge1
	veth 1
	wait_until "the filter on what comes meanwhile" is_attached edge1
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	kill "$flapper"
	end_of "$flapper"
	kill "$far"
	stop
}

# Counters that cannot be read are tried now and then: the service does not turn and turn.
counts_nothing() {
	local polls n

	need strace
	# Others make files where it would watch the way to this case's directory: each of these is a turn.
	mount -t tmpfs tmpfs /mnt
	cp "$WORK.listen" /mnt/work.listen
	export WORK=/mnt/work XDP_BLOOM_STATE=/mnt/state
	mkdir $WORK
	cd $WORK || return
	prepare
	under=(env WATCHDOG_USEC=200000 strace -D -o polls -e trace=poll)
	ready
	rm "$XDP_BLOOM_BPFFS/counters"
	mkdir "$XDP_BLOOM_BPFFS/counters"
	polls=$(wc -l <polls)
	for ((n = 0; n < 20; n++)); do
		heard "$notes" WATCHDOG=1
	done
	polls=$(($(wc -l <polls) - polls))
	stop
	[ $polls -lt 200 ] || fail "it turned $polls times while it had to 20 times"
}

# Measured at an edit: nothing is due; then less is asked for than the filter has, as after many edits.
grows() {
	local before number

	prepare
	seq -f '198.18.%.0f.1' 0 255 >>list
	seq -f '198.19.%.0f.2' 0 255 >>list
	for ((before = 0; before < 40; before++)); do
		seq -f "100.$before.%.0f.3" 0 99 >>list
	done
	ready --rotate-every 0
	before=$(get .filter.bits_per_key show)
	bloom add 192.0.2.4
	number=$(get .generation show)
	stop
	is "$(get .generation show)" "$number" "the generation where nothing is due"
	ready --rotate-every 0
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("INSERT OR REPLACE INTO setting VALUES ('fpr', 1e-12)")
	PYTHON
	bloom add 192.0.2.5
	heard "$log" "it is rebuilt larger"
	heard "$log" "rotate: done"
	[ "$(jq -n "$(get .filter.bits_per_key show) > $before")" = true ] || fail "the filter is as large as before"
	is "$(get .generation show)" $((number + 1)) "the generation: one rotation is enough"
	printf '%s\n' 192.0.2.5 192.0.2.4 >>banned
	send 0 -b banned -c clean
	stop
}

run_cases grows starts_and_stops tells_who_is_busy only_one finds_interfaces "finds_interfaces --shared" finds_the_same_number comes_beside_a_command "ended_beside_a_command service" "ended_beside_a_command restore" detached_beside_a_command comes_with_many_names name_of_what_is_away says_what_is_not_seen tries_interfaces_again claims_no_filter gives_up_an_interface changes_slowly ends_bans ends_what_was_killed \
	restores_without_watchers clock_is_set ends_bans_later starts_on_a_full_disk starts_without_names ends_bans_of_a_state_that_was_gone rotates rotates_later killed_at_start answers_prometheus port_is_taken nothing_is_told with_few_rights damaged_state spoken_of_all_the_time counts_nothing
