#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --ports: the ports of a bridge, a bond or a team, as they come and go. XDP_BLOOM_ROUNDS: how often at random.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

# above KIND ARGS...: edgetop, and edge0 to edge3, of which no one is a port yet.
above() {
	veth 0 1 2 3
	ip link add edgetop type "$@" 2>/dev/null || skip "the kernel has no devices of the kind $1"
	ip link set edgetop up
	a_list
	bloom load bad list --bogons=keep
}

join() {
	local n

	for n; do
		ip link set "edge$n" down
		ip link set "edge$n" master edgetop || fail "edge$n cannot become a port"
		ip link set "edge$n" up
	done
}

leave() {
	local n

	for n; do
		ip link set "edge$n" nomaster
		ip link set "edge$n" up
	done
}

# filters N...: these, and none of the others that there are.
filters() {
	local n

	for n in 0 1 2 3; do
		[ -e "/sys/class/net/edge$n" ] || continue
		if [[ " $* " == *" $n "* ]]; then
			send "$n" -b banned -c clean
		else
			send "$n" -c banned -c clean
		fi
	done
}

# on NAMES: what the filter is on.
on() {
	[ "$(get '[.interfaces[].name]|sort|join(" ")' show)" = "$1" ]
}

unmet() {
	"$XDP_BLOOM" show
	ip -br link
}

rule() {
	get '[.ports[]|[.name,.mode,.match,.direction,(.ports|join(" "))]|join(",")]|join(";")' show
}

# by_hand KIND ARGS...: without a service.
by_hand() {
	above "$@"
	join 0 1
	bloom attach edgetop --ports
	is "$(sort out | sed 's/, .*//')" "$(printf 'edge%d: filtering\n' 0 1)" "what it says"
	filters 0 1
	is "$(rule)" "edgetop,auto,source,ingress,edge0 edge1" "the rule"
	bloom status
	grep -q '^ports of    edgetop: edge0, edge1 (auto)$' out || fail "no ports in: $(cat out)"
	join 2
	leave 0
	filters 0 1
	expect 1 "$XDP_BLOOM" status
	grep -q "edge2, a port of edgetop, is to be filtered, and is not: 'restore' attaches it" out || fail "nothing of edge2: $(cat out)"
	grep -q "edge0 is no port any more, and is still filtered: 'restore' detaches it" out || fail "nothing of edge0: $(cat out)"
	expect 1 "$XDP_BLOOM" doctor
	grep -q "edge2.*a port of edgetop, to be filtered, and is not" out || fail "doctor says nothing of edge2: $(cat out)"
	grep -q "ports of edgetop.*no service (xdp-bloom run) follows them" out || fail "doctor says nothing of the service: $(cat out)"
	bloom restore
	filters 1 2
	join 0
	leave 1
	bloom add 45.0.0.1
	filters 0 2
	bloom status
	bloom attach edgetop --ports
	is "$(cat out err)" "" "what attaching again says"
	bloom detach edgetop
	filters
	is "$(rule)" "" "rules that are left"
	is "$(get '.interfaces|length' show)" 0 "interfaces that are left"
	bloom restore
	filters
}

# by_service KIND ARGS...: at once, by the kernel's word, under traffic.
by_service() {
	above "$@"
	join 0
	echo 'attach edgetop --ports' >conf
	ready
	wait_until "the first port" on edge0
	flow 0 -b banned -c clean
	join 1
	wait_until "one that has come" on "edge0 edge1"
	filters 0 1
	join 2 3
	leave 1
	wait_until "two that have come, and one that has gone" on "edge0 edge2 edge3"
	filters 0 2 3
	ip link del edge3
	wait_until "one that is no more" on "edge0 edge2"
	bloom status
	ip link set edge2 down
	ip link set edge2 name edge1x
	ip link set edge1x up
	wait_until "one with another name" on "edge0 edge1x"
	stop_flow 0
	expect 0 "$XDP_BLOOM" doctor
	grep -q "ports of edgetop.*followed by the service" out || fail "doctor says nothing of the service: $(cat out)"
	ip link del edgetop
	wait_until "that no port is left" on ""
	ip link set edge0 up # a bond that goes leaves its ports down
	ip link set edge1 up
	ip link add edgetop type "$@"
	ip link set edgetop up
	join 1
	wait_until "a port of another edgetop" on edge1
	filters 1
	bloom detach edgetop --ports
	leave 0
	join 0
	bloom add 45.0.0.1
	stop TERM
	filters
}

fills_up() {
	head -c 20m /dev/zero >small/fill 2>/dev/null
	expect 2 "$XDP_BLOOM" add 192.0.2.1
	one_line "the disk is full"
}

# Whoever fills the state's disk keeps no port from being filtered, and has not the room that is kept for the start.
full_disk() {
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small || skip "the kernel has no tmpfs"
	export XDP_BLOOM_STATE=$WORK/small/state
	above bridge
	join 0
	echo 'attach edgetop --ports' >conf
	ready
	wait_until "the first port" on edge0
	fills_up
	join 1
	heard "$log" "the disk is full; what can be filtered is, and is kept when there is room"
	wait_until "one that has come" on "edge0 edge1"
	join 2
	wait_until "another one" on "edge0 edge1 edge2"
	filters 0 1 2
	test -e small/state/reserve || fail "the room for the start of the machine is gone"
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rule"
	ip link del edge1
	rm small/fill
	bloom restore
	is "$(rule)" "edgetop,auto,source,ingress,edge0 edge2" "the rule, with room"
	bloom status
	fills_up
	join 3
	wait_until "the last one" on "edge0 edge2 edge3"
	rm small/fill
	bloom detach edgetop --ports
	filters
	stop
	umount -l small
}

# Who is attached by its name is filtered for itself; who is detached by its name stays so for as long as it is a port.
by_name() {
	above bridge
	join 0 1 2
	bloom attach edge1 --match both
	bloom attach edgetop --ports
	filters 0 1 2
	is "$(rule)" "edgetop,auto,source,ingress,edge0 edge2" "the rule"
	leave 1 2
	bloom restore
	filters 0 1
	bloom attach edge0
	one_line "edge0: filtered for itself from now on, also when it is no port"
	is "$(rule)" "edgetop,auto,source,ingress," "the rule, after its port was attached by its name"
	refused "edge0: the filter is attached there already" attach edge0
	bloom detach edge0
	filters 1
	bloom restore
	filters 1
	join 2
	bloom add 45.0.0.1
	filters 1 2
	bloom detach edge2
	bloom restore
	bloom del 45.0.0.1
	filters 1
	leave 2
	bloom restore
	join 2
	bloom restore
	filters 1 2
	bloom attach edge2 --match both
	one_line "edge2: filtered for itself from now on, also when it is no port"
	bloom detach edge2
	bloom detach edgetop --ports
	filters 1
	bloom detach --all
	bloom attach edgetop --ports
	filters 0 2
	bloom detach --all
	bloom restore
	filters
}

# A bridge by another name than its own, which it has now or gets later.
by_other_name() {
	above bridge
	join 0
	ip link property add dev edgetop altname lan0 2>/dev/null || skip "interfaces have no other names here"
	bloom attach lan0 --ports
	is "$(cat err)" "xdp-bloom: lan0 is edgetop" "what is said of the name"
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rule"
	filters 0
	bloom detach lan0
	is "$(rule)" "" "rules that are left"
	ip link property del dev edgetop altname lan0
	echo 'attach lan0 --ports' >conf
	ready
	is "$(rule)" "lan0,auto,source,ingress," "the rule that is remembered"
	ip link property add dev edgetop altname lan0
	wait_until "its port" on edge0
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rule of what is there"
	"$XDP_BLOOM" attach lan0 --ports --if-needed || fail "attaching it again"
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rule, after it was given again"
	bloom status
	join 1
	wait_until "one that has come" on "edge0 edge1"
	stop
}

# One that comes behind an interface with many names.
behind_many_names() {
	above bridge
	ip link del edge1
	veth 4
	many_names edge4
	bloom attach edgetop --ports
	: >conf
	ready
	veth 1
	join 1
	wait_until "its port" on edge1
	filters 1
	bloom status
	stop
}

# Its bridge has another name by now, or is gone: what that means for its ports is said.
renamed() {
	above bridge
	join 0 1 2
	echo 'attach edgetop --ports' >conf
	ready
	wait_until "its ports" on "edge0 edge1 edge2"
	bloom detach edge2
	ip link set edgetop down
	ip link set edgetop name edgelan
	ip link set edgelan up
	wait_until "that nothing is filtered" on ""
	heard "$log" "ports of edgetop are not filtered any more, as there is no such interface: edge0, edge1"
	is "$(get 'select(.event=="fault" and (.message|startswith("ports of"))).message' events)" \
		"ports of edgetop are not filtered any more, as there is no such interface: edge0, edge1" "events"
	expect 2 "$XDP_BLOOM" status
	grep -q "ports of edgetop are to be filtered, and are not: there is no such interface" out || fail "nothing of edgetop: $(cat out)"
	expect 1 "$XDP_BLOOM" doctor
	grep -q "^problem  ports of edgetop  to be filtered, and are not: there is no such interface" out || fail "doctor says nothing of edgetop: $(cat out)"
	"$XDP_BLOOM" -q attach edgelan --ports
	wait_until "its ports, by its name" on "edge0 edge1 edge2"
	expect 1 "$XDP_BLOOM" status
	"$XDP_BLOOM" detach edgetop --ports
	bloom status
	stop
}

# A port gets another name, and what is filtered for itself gets the port's: each of them is filtered as before.
another_has_its_name() {
	above bridge
	join 0
	bloom attach edgetop --ports
	bloom attach edge1
	rename edge0 edge7
	rename edge1 edge0
	[ "${1:-}" != settled ] || bloom add 99.0.0.1
	[ "${1:-}" != settled ] || on "edge0 edge7" || fail "filtered: $(get '.interfaces' show)"
	bloom detach edgetop --ports
	on edge0 || fail "filtered: $(get '.interfaces' show)"
	"$TRAFFIC" -b banned -c clean wire1 edge0 >/dev/null || fail "edge0 is not filtered"
}

# And where it leaves meanwhile, it is none under any name.
leaves_under_another_name() {
	above bridge
	join 0 1
	bloom attach edgetop --ports
	leave 0
	rename edge0 edge7
	bloom add 99.0.0.1
	on edge1 || fail "filtered: $(get '.interfaces' show)"
}

# is_port NAMES: these are filtered, and each is pinned under its name.
is_port() {
	on "$1" && [ "$(find "$bpffs/links" -type f -printf '%f\n' | sed 's/%in$//' | sort | paste -sd' ')" = "$1" ]
}

# renamed_again [service OPTIONS...]: renamed, seen under that name, and renamed once more before anybody looks: it is
# known all the same.
renamed_again() {
	local end

	above bridge
	for end in detached left gone; do
		join 0 1
		bloom attach edgetop --ports "${@:2}"
		if [ "${1:-}" = service ]; then
			: >conf
			ready
			rename edge0 edge7
			wait_until "one with another name" is_port "edge1 edge7"
			stop
		else
			rename edge0 edge7
			bloom add 99.0.0.1
		fi
		is_port "edge1 edge7" || fail "filtered: $(get '.interfaces' show), pinned: $(find "$bpffs/links")"
		case $end in
		detached)
			rename edge7 edge8
			bloom detach edgetop --ports
			is_port "" || fail "filtered: $(get '.interfaces' show)"
			;;
		left)
			ip link set edge7 nomaster
			rename edge7 edge8
			bloom add 99.0.0.2
			is_port edge1 || fail "filtered: $(get '.interfaces' show)"
			;;
		gone)
			ip link del edge7
			bloom add 99.0.0.3
			is_port edge1 || fail "filtered: $(get '.interfaces' show)"
			bloom status
			;;
		esac
		[ $end = gone ] || rename edge8 edge0
	done
}

# The same where another port has its first name before it is seen under the second.
another_has_its_first_name() {
	above bridge
	join 0
	bloom attach edgetop --ports
	rename edge0 edge7
	ip link add edge0 type veth peer name wire9
	join 0
	bloom add 99.0.0.1
	is_port "edge0 edge7" || fail "filtered: $(get '.interfaces' show), pinned: $(find "$bpffs/links")"
	ip link set edge7 nomaster
	rename edge7 edge8
	bloom add 99.0.0.2
	is_port edge0 || fail "filtered: $(get '.interfaces' show)"
}

# And where that one has left before anybody looks: it is let go once the other one is filtered.
leaves_its_name_to_another() {
	above bridge
	join 0
	bloom attach edgetop --ports
	leave 0
	rename edge0 edge7
	ip link add edge0 type veth peer name wire9
	join 0
	bloom add 99.0.0.1
	bloom add 99.0.0.2
	is_port edge0 || fail "filtered: $(get '.interfaces' show)"
}

# Ports of two bridges have each other's names: each goes with its own bridge.
names_change_places() {
	above bridge
	ip link add edgetwo type bridge
	ip link set edgetwo up
	join 0 1
	ip link set edge1 master edgetwo
	bloom attach edgetop edgetwo --ports
	rename edge0 edge7
	rename edge1 edge0
	rename edge7 edge1
	bloom add 99.0.0.1
	is "$(rule)" "edgetop,auto,source,ingress,edge1;edgetwo,auto,source,ingress,edge0" "the rules"
	bloom detach edgetop --ports
	is_port edge0 || fail "filtered: $(get '.interfaces' show)"
	"$TRAFFIC" -b banned -c clean wire1 edge0 >/dev/null || fail "edge0 is not filtered"
}

# How they are filtered is the rule's, for those that come, too; each way is a rule of its own.
options() {
	above bridge
	join 0
	bloom attach edgetop --ports --mode skb --match both
	bloom attach edgetop --ports --egress
	join 1
	bloom restore
	is "$(get '[.interfaces[]|[.name,.mode,.match,.direction]|join(",")]|sort|join(" ")' show)" \
		"edge0,skb,both,ingress edge0,tc,destination,egress edge1,skb,both,ingress edge1,tc,destination,egress" "interfaces"
	is "$(rule)" "edgetop,skb,both,ingress,edge0 edge1;edgetop,tc,destination,egress,edge0 edge1" "rules"
	bloom attach edgetop --ports --mode skb --match source
	join 2
	bloom restore
	is "$(get '[.interfaces[]|select(.direction=="ingress")|.match]|unique|join(" ")' show)" source "what is asked about"
	bloom detach edgetop --ports --ingress
	filters
	is "$(rule)" "edgetop,tc,destination,egress,edge0 edge1 edge2" "rules that are left"
	bloom detach edgetop --egress
	is "$(get '.interfaces|length' show)" 0 "interfaces that are left"
}

on_trial() {
	above bridge
	join 0 1
	bloom attach edgetop --ports --confirm 2s
	wait_until "that it is taken back" on ""
	filters
	is "$(rule)" "" "the rule that is taken back"
	bloom attach edgetop --ports --confirm 1h
	filters 0 1
	join 2
	bloom restore
	leave 1
	filters 0 1
	bloom confirm
	grep -q '^ports of edgetop: kept' out || fail "nothing of the ports is confirmed: $(cat out)"
	filters 0 2
	join 3
	bloom restore
	filters 0 2 3
}

# The time of what waits is over.
over() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: db.execute("UPDATE pending SET due = 1")' "$XDP_BLOOM_STATE/state.db"
}

# One of them for itself, on trial: it is a port again when that goes back, and none when it is confirmed.
for_itself_on_trial() {
	local way

	above bridge
	join 0
	bloom attach edgetop --ports
	for way in back kept; do
		join 1
		bloom attach edge1 --confirm 1h
		leave 1
		bloom restore
		filters 0 1
		if [ $way = back ]; then
			over
			bloom restore
			filters 0
			join 1
			bloom restore
			filters 0 1
			leave 1
			bloom restore
			filters 0
		else
			bloom confirm
			bloom restore
			filters 0 1
		fi
	done
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rule"
}

# Its rule is detached meanwhile: it stays on trial, and is nothing when that goes back.
for_itself_without_its_rule() {
	local way

	above bridge
	for way in back kept; do
		join 0
		bloom attach edgetop --ports
		join 1
		bloom attach edge1 --confirm 1h
		bloom detach edgetop --ports
		filters 1
		if [ $way = back ]; then
			over
			bloom restore
			filters
			leave 1
		else
			bloom confirm
			bloom restore
			filters 1
		fi
	done
}

# It begins nothing: so nothing of it goes back.
not_on_trial() {
	above bridge
	join 0 1
	bloom attach edgetop --ports
	refused "ports of edgetop: filtered already, and --confirm is for what begins" attach edgetop --ports --confirm 1s
	bloom restore
	filters 0 1
	rm -r "${bpffs:?}"/*
	bloom restore
	filters 0 1
}

# From the ports of one to those of another, in one command.
moves() {
	above bridge
	ip link add edgetwo type bridge
	ip link set edgetwo up
	join 0
	bloom attach edgetop edgetwo --ports
	ip link set edge0 master edgetwo
	bloom restore
	filters 0
	is "$(rule)" "edgetop,auto,source,ingress,;edgetwo,auto,source,ingress,edge0" "the rules"
	ip link set edge0 master edgetop
	bloom add 198.51.100.77
	filters 0
}

# To those of one that waits for confirmation: it stays filtered until that is decided.
moves_on_trial() {
	above bridge
	ip link add edgetwo type bridge
	ip link set edgetwo up
	join 0
	bloom attach edgetop --ports
	bloom attach edgetwo --ports --confirm 1h
	ip link set edge0 master edgetwo
	bloom add 198.51.100.77
	filters 0
	bloom status
	is "$(rule)" "edgetop,auto,source,ingress,edge0" "the rules while one waits"
	bloom confirm
	bloom del 198.51.100.77
	filters 0
	is "$(rule)" "edgetop,auto,source,ingress,;edgetwo,auto,source,ingress,edge0" "the rules"
}

# made_again BRIDGE: removed, and there again under its name, with nobody who saw it: a port of that one.
made_again() {
	above bridge
	ip link add edgetwo type bridge
	ip link set edgetwo up
	join 0 1
	bloom attach edgetop edgetwo --ports
	ip link del edge0
	veth 0
	ip link set edge0 master "$1"
	bloom add 45.0.0.1
	is "$(cat err)" "" "what is said"
	filters 0 1
	bloom status
}

# came [SQL]: whether a port has come that is not attached yet.
came() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    if len(sys.argv) > 2:
        db.execute(sys.argv[2])
    print(*(int(n[0]) for n in db.execute("SELECT value FROM setting WHERE name = ?", ("ports came",))))' \
		"$XDP_BLOOM_STATE/state.db" "$@"
}

# A command was killed when the port that came had its entry, and was not filtered: the next one attaches it.
cut_short() {
	above bridge
	join 0
	bloom attach edgetop --ports
	join 1
	bloom add 45.0.0.10
	filters 0 1
	rm "$XDP_BLOOM_BPFFS/links/edge1"
	let_go edge1
	is "$(came)" 0 "what is left to do"
	is "$(came "UPDATE setting SET value = 1 WHERE name = 'ports came'")" 1 "what is left to do"
	bloom add 45.0.0.11
	is "$(cat err)" "" "what is said"
	filters 0 1
	is "$(came)" 0 "what is left to do"
}

# It is filtered as before: the guard rails, which ask of a port that has come, are not asked.
moves_with_a_need() {
	above bridge
	ip link add edgetwo type bridge
	ip link set edgetwo up
	join 0
	echo 45.50.0.2 >own
	bloom load own own
	bloom attach edgetop edgetwo --ports
	export SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22'
	ip link set edge0 master edgetwo
	bloom add 45.0.0.10
	filters 0
	bloom status
	is "$(rule)" "edgetop,auto,source,ingress,;edgetwo,auto,source,ingress,edge0" "the rules"
	# And so for what has detached it.
	bloom detach edge0
	ip link set edge0 master edgetop
	expect 2 "$XDP_BLOOM" restore
	grep -q "bans 45.50.0.2, the peer of this SSH session" err || fail "what restore says: $(cat err)"
}

# What cannot be filtered does not undo the others.
one_cannot() {
	above bridge
	join 0 1
	another attach edge1
	expect 1 "$XDP_BLOOM" attach edgetop --ports
	one_line "edge1: another XDP program is attached there; detach it, or try --shared or --mode tc; the other ports are attached"
	filters 0
	expect 1 "$XDP_BLOOM" status
	another detach edge1
	bloom restore
	filters 0 1
}

refusals() {
	above bridge
	refused "edge0: it has no ports: --ports is for bridges, bonds, teams and VRFs" attach edge0 --ports
	refused "edge9: there is no such interface" attach edge9 --ports
	refused "--all is all: without --ports" detach --all --ports
	refused "ports of edgetop are not filtered" detach edgetop --ports
	bloom attach edgetop --ports
	is "$(rule)" "edgetop,auto,source,ingress," "a rule without ports"
	join 0
	bloom restore
	filters 0
	ip link set edge0 nomaster
	expect 1 "$XDP_BLOOM" attach edge9top --ports --if-needed
	grep -q "remembered" err || fail "nothing is said of what is missing: $(cat err)"
	ip link add edge9top type bridge
	ip link set edge9top up
	ip link set edge3 master edge9top
	bloom restore
	filters 3
}

reboot() {
	above bridge
	join 0 1
	bloom attach edgetop --ports
	rm -r "${bpffs:?}"/*
	leave 0
	join 2
	bloom restore
	filters 1 2
}

# at_random: a service, and a naive model of who is a port.
at_random() {
	local n round was=()

	RANDOM=$XDP_BLOOM_SEED
	above bridge
	echo 'attach edgetop --ports' >conf
	ready
	for ((round = 0; round < ${XDP_BLOOM_ROUNDS:-40}; round++)); do
		for n in 0 1 2 3; do
			case $((RANDOM % 4)) in
			0) join $n && was[n]=1 ;;
			1) leave $n && was[n]= ;;
			esac
		done
		wait_until "round $round: ${was[*]/#/ }" on "$(for n in 0 1 2 3; do [ -z "${was[n]:-}" ] || echo edge$n; done | paste -sd' ')"
		[ $((round % 8)) != 0 ] || filters "$(for n in 0 1 2 3; do [ -z "${was[n]:-}" ] || echo $n; done | paste -sd' ')"
	done
	stop TERM
}

# Who is logged in through a port that comes is not shut out by whichever command would attach it.
needs_pass() {
	above bridge
	echo 45.50.0.2 >own
	bloom load own own
	bloom attach edgetop --ports
	export SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22'
	bloom add 45.0.0.9
	verdicts 45.50.0.2=drop
	join 0
	"$XDP_BLOOM" add 45.0.0.10 2>err || fail "add while a port comes: $(cat err)"
	one_line "ports that have come are not filtered, which 'restore' mends: what is loaded bans 45.50.0.2, the peer of this"
	filters
	verdicts 45.50.0.2=drop 45.0.0.10=drop
	expect 2 "$XDP_BLOOM" restore
	grep -q "bans 45.50.0.2, the peer of this SSH session" err || fail "what restore says: $(cat err)"
	bloom allow 45.50.0.2
	bloom restore
	filters 0
	verdicts 45.50.0.2=pass 45.0.0.10=drop
	# What was granted is no reason; and where the command fails, a port is attached all the same.
	bloom disallow 45.50.0.2 --force
	join 1
	expect 2 "$XDP_BLOOM" unload nothing
	filters 0 1
}

# Another command has the lock: a port that comes is filtered, and one that goes is not any more, as it was for a moment.
beside_a_command() {
	above bridge
	join 0
	bloom attach edgetop --ports
	: >conf
	ready
	hold_lock
	ip link del edge0
	veth 0
	join 0 1
	wait_until "the port that came" program_on edge1
	wait_until "the port that came again" program_on edge0
	filters 0 1
	leave 1
	let_go edge1
	join 2
	wait_until "another port that came" program_on edge2
	filters 0 2
	kill "$holder"
	heard "$log" "restore: done"
	is "$(rule)" "edgetop,auto,source,ingress,edge0 edge2" "the rule"
	filters 0 2
	bloom status
	stop
}

program_on() {
	! without_program "$1"
}

# The same where the process of the service would run the command: it does not see who is logged in, and leaves it.
needs_pass_by_errand() {
	above bridge
	echo 45.50.0.2 >own
	bloom load own own
	bloom attach edgetop --ports
	: >conf
	ready
	export SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22'
	bloom add 45.0.0.9
	# What serves commands goes on, and only that.
	kill -STOP "$service_pid"
	join 0
	"$XDP_BLOOM" -v add 45.0.0.10 2>err || fail "add while a port comes: $(cat err)"
	grep -q "leaves it to this one: a port has come, which is to be filtered" err || fail "who did it: $(cat err)"
	grep -q "ports that have come are not filtered.*: what is loaded bans 45.50.0.2, the peer of this SSH" err || fail "$(cat err)"
	filters
	"$XDP_BLOOM" -v add 45.0.0.11 2>err || fail "add after that: $(cat err)"
	grep -q "run by the process of the service" err || fail "the next one was not served: $(cat err)"
	# One that goes takes nothing from anybody.
	leave 0
	"$XDP_BLOOM" -v add 45.0.0.12 2>err || fail "add when it has gone: $(cat err)"
	grep -q "run by the process of the service" err || fail "the last one was not served: $(cat err)"
	is "$(rule)" "edgetop,auto,source,ingress," "the rule"
	kill -CONT "$service_pid"
	stop
}

run_cases "by_hand bridge" "by_hand bond mode active-backup miimon 50" "by_hand team" \
	"by_service bridge" "by_service bond mode active-backup miimon 50" "by_service team" by_name by_other_name behind_many_names renamed another_has_its_name "another_has_its_name settled" leaves_under_another_name renamed_again "renamed_again service" "renamed_again service --mode tc" another_has_its_first_name leaves_its_name_to_another names_change_places options on_trial for_itself_on_trial for_itself_without_its_rule not_on_trial moves moves_on_trial "made_again edgetop" "made_again edgetwo" cut_short full_disk moves_with_a_need one_cannot \
	beside_a_command refusals reboot at_random needs_pass needs_pass_by_errand
