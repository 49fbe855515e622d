#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# top in a real terminal, small and large: what it shows of real packets, and how it ends.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/screen.sh
. "$here/screen.sh"

# on SIZE: there, with attackers at the door.
on() {
	filtering attackers
	terminal "$1"
	tries "$XDP_BLOOM top"
	shows 'INTERFACES'
	flow 0 -b banned -c clean
	shows 'dropped +[1-9]'
}

# Nothing reaches into the next column or beyond the edge.
at() {
	on "$1"
	shows 'attackers +[1-9]'
	shows '203\.0\.113\.9 +[0-9.]+%'
	shows '192\.0\.2\.0/24 +[0-9.]+%'
	shows 'udp 9 +[0-9.]+%'
	shows 'edge0 +[1-9]'
	shows 'attach edge0'
	[ "${1#*x}" -lt 30 ] || grep -q ' load attackers list$' screen || fail "the event before is not shown: $(cat screen)"
	[ "$(wc -L <screen)" -le "${1%x*}" ] || fail "wider than $1: $(cat screen)"
	types h
	shows 'this help'
	types h p
	shows HELD
	types p q
	ended 0
	stop_flow 0
}

fewer_sockets() {
	[ "$(wc -l </proc/net/packet)" -lt "$1" ]
}

# Who inside sends to what is banned, in place of who is banned, and back.
inside() {
	filtering attackers
	terminal "$1"
	tries "$XDP_BLOOM top --inside"
	shows 'no interface has --match destination'
	bloom detach edge0
	bloom attach edge0 --match both
	flow 0 -d -b banned -c clean
	shows '198\.51\.100\.1 +[0-9.]+%'
	shows '203\.0\.113\.0/24 +[0-9.]+%'
	! grep -E '203\.0\.113\.9 ' screen || fail "that is no host inside: $(cat screen)"
	types i
	shows '203\.0\.113\.9 +[0-9.]+%'
	! grep -E '198\.51\.100\.1 ' screen || fail "that one is not banned: $(cat screen)"
	types i
	shows 'INSIDE'
	types q
	ended 0
	stop_flow 0
	refused "--passed or --inside" top --passed --inside
}

# Who passes, on the other side of the same screen, and back.
passed() {
	local sockets

	filtering attackers
	terminal "$1"
	tries "$XDP_BLOOM top --passed"
	shows 'SOURCES that pass'
	flow 0 -b banned -c clean
	shows '192\.0\.2\.6 +3[0-9.]+%'
	shows '2001:db8::6 +3[0-9.]+%'
	shows '203\.0\.112\.0/24 +3[0-9.]+%'
	shows 'udp 9 +[0-9.]+%'
	! grep -E '(203\.0\.113|192\.0\.2\.7).*%' screen || fail "that has not passed: $(cat screen)"
	sockets=$(wc -l </proc/net/packet)
	types s
	shows '203\.0\.113\.9 +[0-9.]+%'
	! grep 'that pass' screen || fail "$(cat screen)"
	wait_until "the end of top's packet socket" fewer_sockets "$sockets"
	types s
	shows '192\.0\.2\.6 +3[0-9.]+%'
	types q
	ended 0
	stop_flow 0
}

# Who sends too much, on a screen of its own: sorted by how much is above the limit now.
suspects() {
	veth 0
	bloom attach edge0
	bloom detect limit udp 1/s --burst 100
	bloom detect on
	printf '203.0.113.7\n%.0s' {1..9} >loud
	printf '198.51.100.7\n192.0.2.1\n' >>loud
	echo 192.0.2.2 >quiet
	terminal "$1"
	tries "$XDP_BLOOM detect top"
	shows '0 above a limit now, 0 looked at closely, room for [1-9]'
	"$TRAFFIC" -c loud -n 0 wire0 edge0 >flow.out 2>&1 &
	local sender=$!
	shows '3 above a limit now'
	shows '^203\.0\.113\.7 .*udp \('
	shows 'above a limit [1-9].* banned 0'
	is "$(grep -E '^[0-9.]+ .*/s' screen | head -n 1 | cut -d' ' -f1)" 203.0.113.7 "who is first"
	[ "$(wc -L <screen)" -le "${1%x*}" ] || fail "wider than $1: $(cat screen)"
	types p
	shows HELD
	kill $sender
	types p
	shows '0 above a limit now, 3 looked at closely'
	types q
	ended 0
	is "$(get '[.suspects[] | select(.above.udp > 0).source] | sort | join(" ")' detect top)" \
		"192.0.2.1 198.51.100.7 203.0.113.7" "who was above a limit, in JSON"
	"$TRAFFIC" -c loud -n 20 wire0 edge0 >flow.out 2>&1
	tries "$XDP_BLOOM top"
	shows '^xdp-bloom .* generation [0-9]+  3 above a limit$'
	types q
	ended 0
	bloom detect off
	tries "$XDP_BLOOM top"
	shows '^xdp-bloom .* generation [0-9]+$'
	types q
	ended 0
	refused "detect top needs a terminal; 'detect' does not" detect top </dev/null
}

resized() {
	on 80x24
	mux resize-window -t test -x 60 -y 15
	shows '^q end'
	mux resize-window -t test -x 132 -y 50
	shows 'udp 9 +[0-9.]+%'
	types q
	ended 0
	stop_flow 0
}

# ended_by SIZE HOW
ended_by() {
	on "$1"
	ends_by "$2"
	ended 0
	stop_flow 0
}

# And comes back, with a screen of its own.
stopped() {
	on 80x24
	types C-z
	ended 148
	tries "fg"
	shows 'INTERFACES'
	types q
	ended 0
	stop_flow 0
}

ring_is_read() {
	! flock -n "$XDP_BLOOM_STATE/samples.lock" true
}

# The service hands on what top shows. It goes: top reads for itself. All goes that there is to see: top says so.
left_alone() {
	filtering attackers
	: >conf
	ready
	attacked "$1" top
	shows '203\.0\.113\.9 +[0-9.]+%'
	stop KILL 137
	# Samples of a minute ago would be on the screen for as long: the ring's own lock tells who reads.
	wait_until "a reader of the ring" ring_is_read
	shows 'dropped +[1-9]'
	stop_flow 0
	bloom detach edge0
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	shows 'nothing is loaded'
	types q
	ended 0
}

# The window is closed: no reader is left for how it ended, but it ends.
hung_up() {
	local top

	on 80x24
	top=$(tried)
	mux kill-server
	wait_until "the end of top" gone "$top"
	stop_flow 0
}

# Terminals that cannot do it, or hardly.
poor_terminals() {
	local term size

	filtering attackers
	terminal 80x24
	for term in TERM=dumb TERM= -uTERM; do
		tries "env $term $XDP_BLOOM top 2>said"
		ended 2
		is "$(wc -l <said)" 1 "the lines that top says with $term ($(cat said))"
	done
	tries "env TERM=vt100 $XDP_BLOOM top"
	shows 'INTERFACES'
	for size in 20x5 1x1 12x7 300x90 80x24; do
		mux resize-window -t test -x "${size%x*}" -y "${size#*x}"
		types h p p h
	done
	shows 'INTERFACES'
	types q
	shows 'ended with 0' # without a screen of its own it leaves behind what it drew
	shows 'as before'
	# Which terminfo does not know: what nearly all of them do is enough.
	tries "env TERM=no-such-terminal $XDP_BLOOM top"
	shows 'INTERFACES'
	types q
	shows 'ended with 0'
}

# An interface's name that would set the window's title, and a reason that would clear it.
obeys_nobody() {
	local name=$'\xc2\x9b\e]0;mine\a'

	veth 0
	a_list
	bloom load attackers list
	ip link set edge0 down
	ip link set edge0 name "$name" || skip "the kernel takes no such name for an interface"
	ip link set "$name" up
	terminal 200x50
	mux pipe-pane -t test 'cat >raw'
	tries "$XDP_BLOOM top"
	shows 'INTERFACES'
	bloom attach "$name"
	shows 'attach \?\?\?\]0;mine\?'
	shows '^\?\?\?\]0;mine\? +0 +0'
	bloom add 198.51.100.66 --reason $'\e[2J\xc2\x9b2J\e]0;mine\a "é"'
	shows 'add .*\?\[2J\?\?2J\?\]0;mine\? "é"'
	! LC_ALL=C grep -aqP '\xc2\x9b|\e\]|\x07' raw || fail "the terminal was told to: $(LC_ALL=C grep -aoP '.{9}(\xc2\x9b|\e\]|\x07).{9}' raw | cat -v)"
	! mux display-message -p -t test '#{pane_title}' | grep mine || fail "the window's title is not its own"
	types q
	ended 0
	ip link del "$name"
}

without_a_terminal() {
	veth 0
	echo 192.0.2.7 >bad
	bloom load bad bad
	refused "top needs a terminal" top
}

run_cases "at 80x24" "at 200x50" "inside 80x24" "passed 80x24" "passed 200x50" "suspects 132x24" resized "ended_by 80x24 Ctrl-C" "ended_by 200x50 Ctrl-C" "ended_by 80x24 TERM" \
	"ended_by 200x50 TERM" "ended_by 80x24 QUIT" "ended_by 80x24 HUP" stopped "left_alone 80x24" "left_alone 200x50" hung_up \
	poor_terminals obeys_nobody without_a_terminal
