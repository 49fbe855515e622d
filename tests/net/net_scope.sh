#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Lists of which only some packets are dropped: by real connections, and what the command says of them. That every packet
# is judged right is prog_scope's.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need nsenter
# shellcheck source=../support/service.sh
. "$here/service.sh"

banned=203.0.113.9

# A host beside this one that has a banned address and another one; this one answers on two ports.
neighbours() {
	local port

	other_network
	ip link add edge0 type veth peer name far0 netns "$far"
	ip addr add 10.0.0.1/24 dev edge0
	ip link set edge0 up
	ip link set lo up
	ip route add 203.0.113.0/24 via 10.0.0.2 dev edge0 2>/dev/null || ip route add 203.0.113.0/24 dev edge0
	nsenter -t "$far" -n ip addr add 10.0.0.2/24 dev far0
	nsenter -t "$far" -n ip addr add $banned/32 dev far0
	nsenter -t "$far" -n ip link set far0 up
	for port in 22 80; do
		python3 -c 'import socket, sys
s = socket.create_server(("10.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    s.accept()[0].close()' $port >"listens$port" &
		wait_until "port $port" grep -q listening "listens$port"
	done
	bloom attach edge0
}

# All that a program can have at once is loaded on trial, too: kernels before 6.9 count its stack by more than it takes.
# all_at_once [--shared]
all_at_once() {
	veth 7
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 2001:db8:99::/48 >list
	"$XDP_BLOOM" attach edge7 "$@" 2>err || skip_dispatcher
	bloom detect on
	bloom detect limit unanswered 100/s --then police 2>/dev/null || skip "the kernel has no sockets to look up"
	bloom detect limit syn 100/s --on edge7
	bloom load drop list --confirm 1h
	bloom confirm
	bloom load some list --only tcp/22
	bloom tune --headroom 50 --confirm 1h
	bloom confirm
	bloom rotate
}

# reaches FROM PORT: 0 where a connection comes about.
reaches() {
	nsenter -t "$far" -n python3 -c 'import socket, sys
s = socket.socket()
s.settimeout(float(sys.argv[3]))
s.bind((sys.argv[1], 0))
s.connect(("10.0.0.1", int(sys.argv[2])))' "$1" "$2" "${3:-5}" 2>/dev/null
}

# The recipe: a server that only wants sshd protected.
sshd_alone() {
	neighbours
	echo $banned >list
	reaches $banned 22 || fail "no connection before"
	bloom load drop list --only tcp/22
	! reaches $banned 22 0.3 || fail "a banned address reaches port 22"
	reaches $banned 80 || fail "it does not reach port 80"
	reaches 10.0.0.2 22 || fail "another address does not reach port 22"
	[ "$(get .drops.packets lists drop)" -ge 1 ] || fail "its drops are not counted: $(cat out)"
	# Anywhere but here.
	bloom load drop list --only tcp/22 --to 10.0.0.7
	reaches $banned 22 || fail "it is dropped on its way to another address than the scope's"
	bloom load drop list --only tcp/22 --to 10.0.0.0/30 --on edge0
	! reaches $banned 22 0.3 || fail "not by its way to this address"
	bloom load drop list --only any
	! reaches $banned 80 0.3 || fail "without a scope it reaches port 80"
	bloom load drop list --only tcp/22
	bloom add $banned
	! reaches $banned 80 0.3 || fail "a live ban without a scope does not win"
	bloom del $banned
	reaches $banned 80 || fail "after the live ban port 80 is shut"
	! reaches $banned 22 0.3 || fail "after the live ban port 22 is open"
	bloom allow $banned
	reaches $banned 22 || fail "an exception is dropped"
}

# to PORT: the other host sends there, through this one, to an address behind it.
to() {
	nsenter -t "$far" -n python3 -c 'import socket, sys
s = socket.socket()
s.settimeout(0.2)
s.bind(("10.0.0.2", 0))
s.connect(("198.51.100.5", int(sys.argv[1])))' "$1" 2>/dev/null
}

# leaves PORT: a connection from here to the banned address.
leaves() {
	python3 -c 'import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))' $banned "$1" "${2:-5}" 2>/dev/null
}

# by_destination MODE: the port is the one that a packet goes to, and --to where it goes, whichever address was looked up.
by_destination() {
	local match

	neighbours
	nsenter -t "$far" -n ip route add 198.51.100.0/24 via 10.0.0.1
	printf '%s\n' 198.51.100.5 $banned >list
	for match in destination both; do
		bloom attach edge0 --mode "$1" --match $match
		bloom load drop list --only tcp/22
		to 22
		is_dropped "to port 22, $match"
		to 80
		is_kept "to port 80, $match"
		bloom load drop list --only tcp --to 198.51.100.0/30
		to 22
		is_kept "to where the scope is not, $match"
		bloom load drop list --only tcp --to 198.51.100.4/30 --on edge0
		to 80
		is_dropped "to where the scope is, $match"
		bloom load drop list --on edge1
		to 80
		is_kept "on another interface, $match"
		bloom load drop list --only any
	done
	bloom load drop list --only tcp/22
	! reaches $banned 22 0.3 || fail "both: a banned source reaches port 22"
	reaches $banned 80 || fail "both: it does not reach port 80"
	# A source that a scope lets pass is no reason to let its destination pass.
	printf '%s\n' 10.0.0.2 >source
	bloom load source source --only udp --force --ban-own
	to 22
	is_dropped "from a banned source, to port 22"
	to 80
	is_kept "from a banned source, to port 80"
	bloom rotate
	bloom load drop list --only tcp/22 --confirm 1h
	to 22
	is_dropped "on trial"
	bloom confirm
	to 22
	is_dropped "after a trial"
}

drops() {
	get .drops.packets lists drop
}

before=0
is_dropped() {
	local now

	now=$(drops)
	[ "$now" -gt "$before" ] || fail "$1: it is not dropped"
	before=$now
}

is_kept() {
	is "$(drops)" "$before" "$1: drops"
}

what_leaves() {
	local match port

	neighbours
	bloom detach edge0
	for port in 22 80; do
		nsenter -t "$far" -n python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listening", flush=True)
while True:
    s.accept()[0].close()' $banned $port >"far$port" &
		wait_until "port $port there" grep -q listening "far$port"
	done
	echo $banned >list
	leaves 22 || fail "no connection before"
	for match in destination both; do
		bloom attach edge0 --egress --match $match
		bloom load drop list --only tcp/22
		! leaves 22 0.3 || fail "$match: port 22 is reached"
		leaves 80 || fail "$match: port 80 is not reached"
		bloom load drop list --only tcp --to 203.0.113.0/29
		leaves 22 || fail "$match: it is dropped on its way to where the scope is not"
		bloom load drop list --only tcp --to 203.0.113.8/29 --on edge0
		! leaves 22 0.3 || fail "$match: not on its way to where the scope is"
		bloom load drop list --on edge1
		leaves 22 || fail "$match: it is dropped on another interface"
	done
	bloom load drop list --only tcp/22
	# What answers a banned host goes to no port 22.
	reaches $banned 22 || fail "an answer of port 22 is dropped"
}

# By add: banned for some packets, beside a ban for all and a list.
live_bans() {
	neighbours
	bloom add $banned --only tcp/22
	! reaches $banned 22 0.3 || fail "a live ban of port 22: it is reached"
	reaches $banned 80 || fail "port 80 is not reached"
	bloom add $banned --only tcp/80 --on edge0
	! reaches $banned 80 0.3 || fail "a second scope does not hold"
	! reaches $banned 22 0.3 || fail "the first scope does not hold any more"
	bloom del $banned --only tcp/22
	reaches $banned 22 || fail "it stays banned"
	! reaches $banned 80 0.3 || fail "del of one scope took the other"
	bloom add $banned
	! reaches $banned 22 0.3 || fail "a ban for all packets does not win"
	bloom del $banned
	reaches $banned 80 || fail "del without a scope leaves one"
	is "$(get . bans)" '[]' "bans after all are taken back"
	is "$(get . lists)" '[]' "lists after that"
	printf 'add %s --only tcp/22\nadd %s --only tcp/80\ndel %s --only tcp/80\n' $banned $banned $banned >commands
	bloom batch commands
	! reaches $banned 22 0.3 || fail "by a batch: port 22 is reached"
	reaches $banned 80 || fail "by a batch: port 80 is not reached"
}

live_bans_said() {
	veth 0
	is "$(get '[.added,.kept]' add 192.0.2.7 192.0.2.8 2001:db8::7 --only udp/53,tcp/22)" '[3,0]' "what add says"
	is "$(get '[.added,.kept]' add 192.0.2.7 192.0.2.9 --only tcp/22,udp/53)" '[1,1]' "what it says of the same scope"
	is "$(get '[.[]|[.prefix,.scope.only[]]]' bans 192.0.2.7 2001:db8::/32)" \
		'[["192.0.2.7","tcp/22","udp/53"],["2001:db8::7","tcp/22","udp/53"]]' "bans"
	is "$(get .count bans --count)" 3 "how many there are" # 192.0.2.8/31 is one
	is "$(get '[.[]|.name]' lists)" '["(tcp-22-udp-53)"]' "its list"
	says "192.0.2.8/31" bans
	says "192.0.2.7: drop (roster), only tcp/22,udp/53" test 192.0.2.7
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 23
	refused "has no end and no reason: leave out --ttl" add 192.0.2.7 --only tcp/22 --ttl 1h
	refused "has no end and no reason: leave out --reason" add 192.0.2.7 --on edge0 --reason x
	refused "leave it out" add 192.0.2.7 --only any
	refused "192.0.2.7 is not banned for tcp/22 alone" del 192.0.2.7 --only tcp/22
	refused "have no reasons" del 192.0.2.7 --only tcp/22 --reason x
	ip link set lo up
	ip addr add 203.0.113.77/32 dev lo
	refused "this machine" add 203.0.113.77 --only tcp/22
	bloom add 203.0.113.77 --only tcp/22 --force
	bloom del 203.0.113.77
	bloom add 192.0.2.78 --only udp/2
	"$XDP_BLOOM" add 192.0.2.78 --only udp/2 --confirm 1h >out || fail "a ban that is there, on trial"
	is "$(cat out)" "add: all was so already; nothing waits to be confirmed" "what it says"
	bloom del 192.0.2.78
	bloom add 192.0.2.77 --only udp/1 --confirm 1h
	as_sql "UPDATE pending SET due = 1"
	expect 2 "$XDP_BLOOM" confirm
	expect 1 "$XDP_BLOOM" test 192.0.2.77
	bloom state check
	bloom state recover
	expect 0 "$XDP_BLOOM" test 192.0.2.9 --proto udp --dport 53
	# Two scopes that a name cannot tell apart.
	bloom add 192.0.2.7 --only tcp/22 --to 198.51.100.0/24
	bloom add 192.0.2.7 --only tcp/22 --to 198.51.100.0
	bloom add 192.0.2.7 --on a.b --only tcp
	bloom add 192.0.2.7 --only tcp/22,tcp/23,tcp/24,tcp/25,tcp/26,tcp/27,tcp/28,tcp/29,udp
	bloom add 192.0.2.7 --only tcp/22,tcp/23,tcp/24,tcp/25,tcp/26,tcp/27,tcp/28,tcp/29,udp/1
	is "$(get '[.[].name]|[length,(unique|length)]' lists)" '[6,6]' "names"
	bloom del 192.0.2.7
	is "$(get length bans)" 2 "what is left"
	bloom unload "(tcp-22-udp-53)"
	is "$(get . bans)" '[]' "bans of a list that was unloaded"
}

# says TEXT VERB...: a line of what the verb prints, or of what it says is wrong.
# Who says no scope takes out those with one as well, but what waits; and nobody is banned by a list that only counts.
live_bans_apart() {
	bloom add 192.0.2.6
	bloom add 192.0.2.0/28 --only udp/99 --confirm 1h
	bloom del 192.0.2.6
	grep -q 'waits for confirmation.*: 192.0.2.6 stays banned for udp/99' err || fail "said: $(cat err)"
	is "$(get 'map(.prefix)|join(" ")' bans)" 192.0.2.0/28 "bans"
	bloom confirm
	bloom add 192.0.2.6
	bloom del 192.0.2.6
	grep -q '192.0.2.6: not banned for udp/99 any more either' err || fail "said: $(cat err)"
	bloom add 192.0.2.9 --only udp
	bloom shadow '(udp)'
	refused "(udp) only counts: 'xdp-bloom enforce (udp)' first" add 192.0.2.10 --only udp
}

says() {
	local text=$1

	shift
	"$XDP_BLOOM" "$@" >out 2>err
	grep -qF -- "$text" out err || fail "$*: '$text' is not in $(cat out err)"
}

what_is_said() {
	printf '%s\n' 192.0.2.7 2001:db8::7 >list
	veth 0
	bloom load drop list --only udp/53,tcp/2222,tcp/22 --to 198.51.100.0/24
	says "drop: only tcp/22,tcp/2222,udp/53 to 198.51.100.0/24" load drop list --dry-run
	says "192.0.2.7: drop (roster), only tcp/22,tcp/2222,udp/53 to 198.51.100.0/24" test 192.0.2.7
	says "  banned by drop: 192.0.2.7 (list:1), only tcp/22" test 192.0.2.7
	says "; only tcp/22,tcp/2222,udp/53 to 198.51.100.0/24" lists
	says "only        tcp/22,tcp/2222,udp/53" lists drop
	says " ago, only tcp/22,tcp/2222,udp/53 to 198.51.100.0/24" status
	says '"scope":{"only":["tcp/22","tcp/2222","udp/53"],"to":["198.51.100.0/24"],"on":[]}' -j status
	says 'xdp_bloom_list_unread_packets_total{list="drop",kind="ban"} 0' metrics
	is "$(get '.[0].scope' lists)" '{"only":["tcp/22","tcp/2222","udp/53"],"to":["198.51.100.0/24"],"on":[]}' "the scope"
	expect 0 "$XDP_BLOOM" test 192.0.2.7
	expect 0 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 22 --to 198.51.100.9
	expect 0 "$XDP_BLOOM" test 2001:db8::7 --proto tcp
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 23
	expect 1 "$XDP_BLOOM" test 2001:db8::7 --proto tcp --dport 22 --to 2001:db8::1
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto icmp
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 22 --to 198.51.101.9
	bloom load other list --shadow
	is "$(get '[.[0].verdict, .[0].shadow]' test 192.0.2.7 --proto icmp)" '["pass",true]' "what a shadow list counts"
	bloom shadow drop
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 22 --to 198.51.100.9
	bloom enforce drop --force
	is "$(get '[.[].kind, .[0].scope.to[]]' lists)" '["ban","shadow","198.51.100.0/24"]' "what they are"
}

# It is kept as its kind is, until another one is given.
kept() {
	printf '%s\n' 192.0.2.7 192.0.2.8 >list
	bloom load drop list --only tcp/22
	bloom load drop list
	is "$(get '.[0].scope.only' lists)" '["tcp/22"]' "the scope after another load"
	bloom load drop list --only udp --confirm 1h
	is "$(get '.[0].scope.only' lists)" '["udp"]' "another scope"
	as_sql "UPDATE pending SET due = 1"
	expect 2 "$XDP_BLOOM" confirm
	is "$(get '[.[0].kind, .[0].scope.only[]]' lists)" '["ban","tcp/22"]' "what was not confirmed"
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --proto udp --dport 1
	bloom unload drop --confirm 1h
	as_sql "UPDATE pending SET due = 1"
	expect 2 "$XDP_BLOOM" confirm
	expect 0 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 22
	bloom rotate
	expect 0 "$XDP_BLOOM" test 192.0.2.7 --proto tcp --dport 22
	bloom state check
	cp "$XDP_BLOOM_STATE/state.db" before.db
	bloom state recover
	is "$(get '[.[0].kind, .[0].scope.only[]]' lists)" '["ban","tcp/22"]' "what was recovered"
	as_sql "UPDATE scope SET scope = 'tcp/x'"
	expect 2 "$XDP_BLOOM" rotate
	grep -q damaged err || fail "$(cat err)"
}

as_sql() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: db.executescript(sys.argv[2])' "$XDP_BLOOM_STATE/state.db" "$1"
}

what_cannot_be() {
	echo 192.0.2.7 >list
	bloom load drop list --only tcp/22
	refused "a protocol is tcp, udp" load drop list --only tpc/22
	refused "a port is a number up to 65535" load drop list --only tcp/22-
	refused "a port is a number up to 65535" load drop list --only tcp/70000
	refused "only tcp, udp and sctp have ports" load drop list --only icmp/8
	refused "--to '192.0.2.0/33'" load drop list --to 192.0.2.0/33
	says "--to ::/80 takes what is sent to IPv4, too, as ::ffff:0:0/96" load wide list --to 2001:db8::/32,::/80
	expect 0 "$XDP_BLOOM" test 192.0.2.7 --to 10.0.0.1
	echo 2001:db8:77::7 >list6
	bloom load wide6 list6 --to ::/80
	expect 0 "$XDP_BLOOM" test 2001:db8:77::7 --to 10.0.0.1
	expect 1 "$XDP_BLOOM" test 2001:db8:77::7 --to 2001:db8::1
	refused "no name of an interface" load drop list --on ./eth0
	refused "give it alone" load drop list --only any,tcp
	refused "an allow list bans nobody" load good list --allow --only tcp/22
	refused "a trust list bans nobody" load good list --trust --to 192.0.2.0/24
	refused "an image has no room for lists with a scope" save file
	expect 2 "$XDP_BLOOM" replay /dev/null
	one_line "replay asks for no ports"
	refused "a list with a scope needs the roster" tune --exact off --force
	# This machine's own is needed whatever the scope is.
	ip link set lo up
	ip addr add 203.0.113.77/32 dev lo
	echo 203.0.113.77 >own
	refused "this machine" load own own --only tcp/22
}

# Without the service the next command knows of an interface that came.
by_interface_alone() {
	a_list
	bloom load bad list --on edge0
	veth 0
	bloom attach edge0
	send 0 -b banned -c clean
	ip link del edge0
	veth 0
	bloom restore
	send 0 -b banned -c clean
}

by_interface() {
	echo 192.0.2.7 >list
	veth 0
	bloom load drop list --on wan0
	bloom attach edge0
	expect 1 "$XDP_BLOOM" test 192.0.2.7 --on edge0
	: >conf

	ready
	ip link set edge0 down
	ip link set edge0 name wan0
	ip link set wan0 up
	wait_until "the scope to know its interface" "$XDP_BLOOM" -q -j test 192.0.2.7 --on wan0
}

# told TEXT VERB...: it is done, and that is said of it; "": nothing of the kind.
told() {
	local text=$1

	shift
	expect 0 "$XDP_BLOOM" "$@"
	if [ -n "$text" ]; then
		grep -q "$text" err || fail "$* said '$(cat err)', not '$text'"
	else
		! grep "is seen to come in" err >unwanted || fail "$* said: $(cat err)"
	fi
}

# What only comes in by what is not filtered is said to be nothing, once.
by_unfiltered() {
	local ports="not it but its ports are filtered" none="nothing is seen to come in by nosuch0, as it is not filtered"

	veth 3
	a_list
	ip link add br0 type bridge
	ip link set edge3 master br0
	told "" add 192.0.2.6 --on br0
	bloom attach br0 --ports
	told "$ports" add 192.0.2.7 --on br0 --only tcp
	told "$ports" add 192.0.2.8 --on br0 --only tcp
	told "" add 192.0.2.8 --on br0 --only tcp
	told "" add 192.0.2.7 --on edge3
	told "$none" add 192.0.2.7 --on nosuch0
	told "$ports" load drop list --on br0
	told "" load drop list --on br0
	told "" load drop list
	told "$none" load drop list --on edge3,nosuch0
	told "$ports" detect limit syn 200/s --on br0
	told "" detect limit syn 200/s --on br0
	told "" detect limit syn 200/s --on edge3
	told "$ports" detect proven br0
	told "" detect proven edge3
}

# Of a need that is dropped in part, more is not dropped without a word, whoever asks; the same, or less, is no news.
what_it_needs() {
	local own="45.50.0.2, the peer of this SSH session"

	veth 0
	bloom attach edge0
	echo 45.50.0.2 >list
	echo 192.0.2.0/24 >other
	bloom load drop list --only tcp/80,tcp/443 --to 10.0.0.0/8
	export SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22'
	bloom rotate
	bloom load other other
	bloom load drop list --only tcp/80 --to 10.0.0.0/8
	bloom load drop list --only tcp/80 --to 10.7.0.0/16 --on edge0
	for more in '--only any' '--only tcp/22 --to 10.7.0.0/16 --on edge0' '--only tcp/80 --to 0.0.0.0/0 --on edge0' \
		'--only tcp/80 --to 10.0.0.0/8 --on edge0' '--only tcp/80 --to 10.7.0.0/16 --on edge1'; do
		# shellcheck disable=SC2086
		refused "$own" load drop list $more
	done
	refused "$own" add 45.50.0.2
	refused "$own" add 45.50.0.0/24 --only udp/53
	refused "$own" load second list
	echo 'add 45.50.0.2' >commands
	refused "$own" batch commands
	echo '+45.50.0.2 1h' >lines
	expect 1 "$XDP_BLOOM" follow - <lines
	grep -q "$own" err || fail "what follow says: $(cat err)"
	# What is granted for some packets is not granted for all.
	bloom load drop list --only tcp/22 --force
	bloom rotate
	refused "$own" add 45.50.0.2
	bloom add 45.50.0.2 --force
	bloom rotate
	bloom del 45.50.0.2
	# That it is counted is not that it is dropped.
	bloom unload drop
	bloom load drop list --shadow --only tcp/22
	bloom rotate
	refused "$own" enforce drop
	refused "$own" add 45.50.0.2
	printf '%s\n' 'unload drop' 'add 45.50.0.2' >commands
	refused "$own" batch commands
	verdicts 45.50.0.2=pass
}

run_cases all_at_once "all_at_once --shared" sshd_alone "by_destination auto" "by_destination tc" what_leaves live_bans live_bans_said live_bans_apart what_is_said kept what_cannot_be what_it_needs by_interface_alone by_interface by_unfiltered
