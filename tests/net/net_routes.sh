#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# follow routes: a table of the kernel as a list. Verdicts are what the table says, what most of it loses stays for a
# while, and what this machine needs is never banned. XDP_BLOOM_ROUTES: rounds and lines of random changes.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

follows() {
	"$XDP_BLOOM" follow routes --table 666 "$@" 2>>said &
	follower=$!
}

ends() {
	kill -TERM "$follower"
	end_of "$follower" || fail "SIGTERM: $(cat said)"
}

empty() {
	local family

	for family in -4 -6; do
		ip $family route flush table 666 2>/dev/null
		ip $family route flush table 667 2>/dev/null
	done
}

verdicts() {
	"$XDP_BLOOM" -j test "$@" 2>/dev/null | jq -r '[.[].verdict] | join(" ")'
}

# until_is VERDICTS ADDRESS...
until_is() {
	local wanted=$1 end=$((SECONDS + 2 * patience))

	shift
	while [ "$(verdicts "$@")" != "$wanted" ]; do
		[ $SECONDS -le $end ] || fail "$* are not '$wanted', but '$(verdicts "$@")'; $(cat said)"
		moment
	done
}

# routes VERB N: as many of 45.1.0.0/16, and of IPv6.
routes() {
	seq "$2" | awk -v verb="$1" '{ printf "route %s blackhole 45.1.%d.%d/32 table 666\n", verb, $1 / 256, $1 % 256
		printf "route %s blackhole 2a00:1::%x/128 table 666\n", verb, $1 }' >lines
	ip -batch lines || fail "ip -batch"
}

route_one() {
	ip route add blackhole "45.1.7.$1" table 666
	until_is drop "45.1.7.$1"
}

stays_small() {
	empty
	follows
	keeps_open "$follower" route_one
	ends
}

what_a_table_does() {
	empty
	routes add 3
	follows
	until_is "drop drop pass" 45.1.0.1 2a00:1::3 45.1.0.4
	ip route add blackhole 45.1.0.4 table 666
	ip route add unreachable 45.1.0.5 table 666
	ip route add blackhole 45.1.0.6 table 667
	ip route add blackhole 45.1.0.7
	ip -6 route add blackhole 2a00:2::/48 table 666
	until_is "drop pass pass pass drop" 45.1.0.4 45.1.0.5 45.1.0.6 45.1.0.7 2a00:2::9
	ip route replace unreachable 45.1.0.4 table 666
	ip route replace blackhole 45.1.0.5 table 666
	ip route del 45.1.0.2 table 666
	until_is "pass drop pass" 45.1.0.4 45.1.0.5 45.1.0.2
	# Two of one prefix: it stays until both are gone.
	ip route add blackhole 45.1.0.3 table 666 metric 7
	ip route del blackhole 45.1.0.3 table 666 metric 0
	ip route add blackhole 45.1.0.8 table 666
	until_is drop 45.1.0.8
	is "$(verdicts 45.1.0.3)" drop "the verdict on what one of two routes is left of"
	is "$(get '.[0] | .name + " " + .kind + " " + .source' lists)" "routes-666 ban route table 666" "the list"
	"$XDP_BLOOM" test 45.1.0.1 | grep -q routes-666 || fail "test does not name it: $("$XDP_BLOOM" test 45.1.0.1)"
	"$XDP_BLOOM" events | grep -q "follow .*list 'routes-666'" || fail "no event: $("$XDP_BLOOM" events)"
	# What is allowed, and what somebody else bans, stays so.
	bloom allow 45.1.0.1
	bloom add 45.1.0.9 45.1.0.8
	ip route del 45.1.0.8 table 666
	ip route add blackhole 45.1.0.10 table 666
	until_is "drop pass drop drop" 45.1.0.10 45.1.0.1 45.1.0.8 45.1.0.9
	ends
	is "$(cat said)" "xdp-bloom: route table 666: 45.1.0.5 is there by a route of another type, which bans nobody; others are not named" \
		"what is said"
	is "$(verdicts 45.1.0.10 45.1.0.5)" "drop drop" "verdicts after its end"
	# What happened meanwhile.
	ip route del 45.1.0.10 table 666
	ip route add blackhole 45.1.0.11 table 666
	follows --verbose
	until_is "drop pass drop" 45.1.0.11 45.1.0.10 45.1.0.5
	ends
}

one_family() {
	empty
	routes add 2
	ip route add unreachable 45.1.0.9 table 666
	follows --family 6 --name six --shadow
	wait_until "the list" lists_have six
	is "$(get '.[] | .name + " " + .kind + " " + (.prefixes | floor | tostring)' lists)" "six shadow 2" "the list"
	ends
	follows --family 4 --type unreachable,prohibit
	until_is "drop pass" 45.1.0.9 45.1.0.1
	ends
	# What went meanwhile is not there, whichever other family is not read.
	follows --family 4 --grace 0
	until_is "drop drop" 45.1.0.1 45.1.0.2
	ends
	ip route del 45.1.0.1 table 666
	follows --family 4 --grace 0
	until_is "pass drop" 45.1.0.1 45.1.0.2
	ends
	follows --family 6 --name six --shadow --grace 0
	wait_until "two" lists_say six 2
	ends
	ip -6 route del 2a00:1::1 table 666
	follows --family 6 --name six --shadow --grace 0
	wait_until "one" lists_say six 1
	ends
	bloom load mine - <<<45.2.0.1
	refused "list 'mine' is from standard input" follow routes --table 666 --name mine
	follows --grace 0
	wait_until "the list" lists_have routes-666
	refused "is held by process $follower, " follow routes --table 666 --type prohibit
	ends
	refused "of which table" follow routes
	refused "only 'follow routes'" follow - --table 666 </dev/null
	refused "these there are" follow routes --table 666 --type unicast
	refused "4 or 6" follow routes --table 666 --family 5
	bloom --check follow routes --table 666
}

# lists_say NAME PREFIXES
lists_say() {
	[ "$(get ".[] | select(.name == \"$1\") | .prefixes" lists)" = "$2" ]
}

lists_have() {
	"$XDP_BLOOM" lists -j 2>/dev/null | grep -q "\"name\":\"$1\""
}

guards() {
	empty
	ip addr add 45.0.9.1/32 dev lo
	ip link set lo up
	veth 1
	ip addr add 45.0.8.1/24 dev edge1
	ip route add 45.3.0.0/16 via 45.0.8.7
	routes add 1
	ip route add blackhole default table 666
	ip -6 route add blackhole default table 666
	ip route add blackhole 0.0.0.0/1 table 666
	ip route add blackhole 45.0.9.0/24 table 666
	ip route add blackhole 45.0.8.7 table 666
	ip route add blackhole 45.0.8.8 table 666
	follows
	until_is "drop drop pass pass drop pass" 45.1.0.1 45.0.9.2 45.0.9.1 45.0.8.7 45.0.8.8 8.8.8.8
	# It is said after it is in force; the events come last.
	wait_until "two events of what is spared" spared 2
	grep -q "3 of its routes are left out: .* is very wide" said || fail "wide routes: $(cat said)"
	grep -q "45.0.8.7 is not banned: it is a gateway in use" said || fail "the gateway: $(cat said)"
	grep -q "45.0.9.1 is not banned: it is an address of this machine" said || fail "its address: $(cat said)"
	# Two that may stand alone may stand side by side. So many that it is too much are left out, and the rest goes on;
	# what was in force stays.
	seq 62 81 | sed 's,.*,route add blackhole &.0.0.0/8 table 666,' >lines
	ip -batch lines || fail "ip -batch"
	until_is "drop drop" 62.1.1.1 81.1.1.1
	{
		seq 46 61 | sed 's,.*,route add blackhole &.0.0.0/8 table 666,'
		seq 82 125 | grep -v 100 | sed 's,.*,route add blackhole &.0.0.0/8 table 666,'
		echo "route add blackhole 46.0.0.0/9 table 666"
	} >lines
	# No more than it reads in one go: a part of them is not too much.
	kill -STOP "$follower"
	ip -batch lines || fail "ip -batch"
	kill -CONT "$follower"
	wait_until "that it is said" grep -qs "59 of its routes are left out: list 'routes-666': it bans .* % of all IPv4" said
	until_is "drop drop pass pass drop" 62.1.1.1 46.1.1.1 46.200.1.1 99.1.1.1 45.1.0.1
	# Once is enough.
	ip route add blackhole 45.1.0.2 table 666
	until_is "drop pass" 45.1.0.2 45.0.9.1
	is "$(grep -c 'is not banned' said)" 2 "how often it is said"
	ends
}

spared() {
	[ "$("$XDP_BLOOM" events | grep -c 'is not banned')" = "$1" ]
}

status_has() {
	"$XDP_BLOOM" status 2>/dev/null | grep -v '^last refused' | grep -q "$1"
}

# What notices do not say: which of several was replaced, that one of two goes that look the same, and that a nexthop of a
# route of another type becomes a blackhole.
unsaid() {
	empty
	ip link set lo up
	ip route add 45.5.0.1 dev lo table 666
	ip route append blackhole 45.5.0.1 table 666
	ip route add blackhole 45.5.0.2 table 666
	ip route append blackhole 45.5.0.2 mtu 1400 table 666
	ip nexthop add id 5 dev lo
	ip route add 45.5.0.3 nhid 5 table 666
	follows --grace 0 --verbose
	until_is "drop drop pass" 45.5.0.1 45.5.0.2 45.5.0.3
	wait_until "that it is said what bans nobody" grep -qs "45.5.0.[13] is there by a route of another type" said
	# The one that is replaced is the first, which is no blackhole.
	ip route replace unreachable 45.5.0.1 table 666
	ip route del blackhole 45.5.0.2 mtu 1400 table 666
	wait_until "that all is read again" grep -qs "read whole again" said
	ip nexthop replace id 5 blackhole
	ip route add blackhole 45.5.0.9 table 666
	until_is "drop drop drop drop" 45.5.0.1 45.5.0.2 45.5.0.3 45.5.0.9
	# What lingers would have gone by now.
	ip route del 45.5.0.9 table 666
	until_is "pass" 45.5.0.9
	is "$(verdicts 45.5.0.1 45.5.0.2 45.5.0.3)" "drop drop drop" "verdicts at rest"
	ends
}

# A daemon that is gone takes its routes with it.
lost() {
	empty
	routes add 100
	follows --grace 1h
	until_is "drop drop" 45.1.0.100 2a00:1::64
	ip route flush table 666
	ip -6 route flush table 666
	wait_until "that it is said" grep -qs "has lost .* stay in force until" said
	wait_until "that status says it" status_has "has lost"
	is "$(verdicts 45.1.0.1 2a00:1::1)" "drop drop" "verdicts after a flush"
	"$XDP_BLOOM" events | grep -q "has lost" || fail "no event: $("$XDP_BLOOM" events)"
	"$XDP_BLOOM" status >shown
	grep -v '^last refused' shown | grep -q "has lost" || fail "not in status: $(cat shown)"
	# New ones are taken nevertheless, whoever is started again; and when they are there again, all is as it was.
	ip route add blackhole 45.1.9.9 table 666
	until_is "drop drop" 45.1.9.9 45.1.0.1
	kill -9 "$follower"
	end_of "$follower"
	: >said
	follows --grace 1h
	wait_until "that it is said again" grep -qs "has lost .* stay in force until" said
	is "$(verdicts 45.1.0.1 45.1.9.9 2a00:1::1)" "drop drop drop" "verdicts after it was killed"
	routes add 99
	patience=$((3 * patience)) wait_until "that it is over" grep -qs "there again" said
	until_is "drop pass drop" 45.1.0.99 45.1.0.100 45.1.9.9
	! "$XDP_BLOOM" status | grep -v '^last refused' | grep -q "has lost" || fail "still in status: $("$XDP_BLOOM" status)"
	ends
}

# Where another has the lock for longer than is waited; and that most of the table is lost is still said when it works again.
fails() {
	local lost

	for lost in '' 'has lost'; do
		empty
		routes add 10
		: >said
		follows --wait 0
		until_is "drop drop" 45.1.0.10 2a00:1::a
		if [ "$lost" ]; then
			routes del 9
			wait_until "that status says it" status_has "$lost"
		fi
		hold_lock
		ip route add blackhole 45.1.9.9 table 666
		wait_until "that it is said" grep -qs "what was in force stays, and it is tried again" said
		[ "$lost" ] || wait_until "that status says it, too" status_has "lock is held by"
		is "$(verdicts 45.1.9.9 45.1.0.10)" "pass drop" "verdicts meanwhile"
		kill -9 "$holder"
		until_is "drop drop" 45.1.9.9 45.1.0.10
		wait_until "that it works" grep -qs "it works again" said
		if [ "$lost" ]; then
			wait_until "that status says it again" status_has "$lost"
		else
			wait_until "that status is silent" status_lacks "lock is held by"
		fi
		ends
		bloom unload routes-666
	done
}

status_lacks() {
	! status_has "$1"
}

grace_ends() {
	empty
	routes add 10
	follows --grace 1s
	until_is "drop drop" 45.1.0.10 2a00:1::a
	routes del 9
	wait_until "that it is said" grep -qs "has lost" said
	until_is "pass pass drop drop" 45.1.0.1 2a00:1::1 45.1.0.10 2a00:1::a
	grep -q "have not come back in time" said || fail "of the end is said: $(cat said)"
	ends
	# Two of two are no accident; and who wants none of it.
	ip route del 45.1.0.10 table 666
	ip -6 route del 2a00:1::a table 666
	routes add 10
	follows --grace 0
	until_is "drop drop" 45.1.0.10 2a00:1::a
	routes del 10
	until_is "pass pass" 45.1.0.10 2a00:1::a
	ends
	is "$(grep -c 'has lost' said)" 1 "how often it is said"
}

# A small change of a large table is made in place; what somebody else has too is built anew.
in_place() {
	empty
	printf '45.1.0.7\n2a00:1::7\n' | bloom load other -
	bloom add 45.1.0.8 2a00:1::8
	routes add 100
	follows --grace 0 --verbose
	until_is "drop drop" 45.1.0.100 2a00:1::64
	ip -6 route add blackhole 2a00:1::1:1 table 666
	ip route add blackhole 45.1.1.1 table 666
	until_is "drop drop" 45.1.1.1 2a00:1::1:1
	wait_until "an edit" grep -qs "places\? of it changed" said
	edits=$(grep -c "of it changed" said)
	ip route del 45.1.1.1 table 666
	ip -6 route del 2a00:1::1:1 table 666
	until_is "pass pass" 45.1.1.1 2a00:1::1:1
	wait_until "another edit" edited
	ip -batch - <<-'LINES'
		route del 45.1.0.7 table 666
		route del 45.1.0.8 table 666
		route del 45.1.0.9 table 666
		route del 2a00:1::7 table 666
		route del 2a00:1::8 table 666
		route del 2a00:1::9 table 666
	LINES
	until_is "pass pass" 45.1.0.9 2a00:1::9
	is "$(verdicts 45.1.0.7 45.1.0.8 2a00:1::7 2a00:1::8)" "drop drop drop drop" "what others have"
	# Of four that are one prefix, as another route is, one goes.
	printf 'route add blackhole 2a00:%s table 666\n' 8::/126 9:: 9::1 9::2 9::3 | ip -batch -
	until_is "drop drop drop drop" 2a00:9:: 2a00:9::1 2a00:9::2 2a00:9::3
	ip -6 route del 2a00:9::2 table 666
	until_is "drop drop pass drop" 2a00:9:: 2a00:9::1 2a00:9::2 2a00:9::3
	# What is allowed stays so, and what is taken out of the other list passes.
	bloom allow 45.1.1.2
	ip route add blackhole 45.1.1.2 table 666
	ip route add blackhole 45.1.1.3 table 666
	until_is "drop pass" 45.1.1.3 45.1.1.2
	bloom unload other
	bloom del 45.1.0.8 2a00:1::8
	is "$(verdicts 45.1.0.7 45.1.0.8 2a00:1::7 2a00:1::8 45.1.0.10)" "pass pass pass pass drop" "verdicts without others"
	before=$(get '[.[] | .addresses]' lists)
	bloom rotate
	is "$(get '[.[] | .addresses]' lists) $(verdicts 45.1.0.9 45.1.1.3 45.1.1.2 45.1.0.10 2a00:1::9 2a00:1::a)" \
		"$before pass drop pass drop pass drop" "after a rotation"
	ends
}

edited() {
	[ "$(grep -c "of it changed" said)" -gt "$edits" ]
}

# More than the kernel keeps for who does not read: all is read again.
gap() {
	empty
	routes add 1
	follows --verbose
	until_is "drop" 45.1.0.1
	kill -STOP "$follower"
	python3 - >lines <<-'PYTHON'
		for i in range(260000):
		    print("route add blackhole 46.%d.%d.%d/32 table 666" % (i >> 16, i >> 8 & 255, i & 255))
	PYTHON
	ip -batch lines || fail "ip -batch"
	ip route del 45.1.0.1 table 666
	kill -CONT "$follower"
	patience=$((4 * patience)) until_is "drop drop pass" 46.0.0.1 46.3.247.159 45.1.0.1
	ends
	grep -q "read whole again" said || fail "it was not read again: $(cat said)"
}

# The list is unloaded, unless that is confirmed: what the table says meanwhile is in force when it has gone back.
on_trial() {
	empty
	ip route add blackhole 45.1.0.1 table 666
	ip route add blackhole 45.1.0.2 table 666
	: >said
	follows --grace 0
	until_is "drop drop" 45.1.0.1 45.1.0.2
	bloom unload routes-666 --confirm 5s
	ip route del blackhole 45.1.0.1 table 666
	ip route add blackhole 45.1.0.3 table 666
	wait_until "the follower waits" grep -q "routes-666: a change of it waits for confirmation" said
	until_is "pass drop drop" 45.1.0.1 45.1.0.2 45.1.0.3
	is "$(get .waiting show)" "[]" "what waits"
	ends
}

# As a line of the config file.
in_the_service() {
	empty
	routes add 3
	echo "follow routes --table 666 --grace 0" >conf
	ready
	until_is "drop drop" 45.1.0.1 2a00:1::3
	child=$(pgrep -P "$service_pid" -f 'follow.*routes')
	kill -9 "$child"
	heard "$log" "ended by signal 9 (memory?); it begins again in 1 s"
	ip route add blackhole 45.1.0.4 table 666
	until_is "drop" 45.1.0.4
	# A line that stays goes on; another takes its place; none ends it.
	child=$(pgrep -P "$service_pid" -f 'follow.*routes')
	echo "allow 203.0.113.9" >>conf
	kill -HUP "$service_pid"
	heard "$notes" READY=1
	is "$(pgrep -P "$service_pid" -f 'follow.*routes')" "$child" "the process of a line that stays"
	echo "follow routes --table 667 --grace 0" >conf
	ip route add blackhole 45.1.0.7 table 667
	kill -HUP "$service_pid"
	until_is "drop drop" 45.1.0.7 45.1.0.4
	ip route add blackhole 45.1.0.8 table 667
	until_is "drop" 45.1.0.8
	echo "follow routes --grace 0 --table 667" >>conf
	echo "follow routes --table 667 --grace 0" >>conf
	kill -HUP "$service_pid"
	heard "$log" "conf:3: a line before says the same"
	echo "follow -" >conf
	kill -HUP "$service_pid"
	heard "$log" "conf:1: nobody writes to the service's standard input"
	child=$(pgrep -P "$service_pid" -f 'follow.*routes')
	stop
	[ ! -e "/proc/$child" ] || fail "it goes on without the service"
	# Killed, the service leaves none behind.
	echo "follow routes --table 667" >conf
	ready
	ip route add blackhole 45.1.0.9 table 667
	until_is "drop" 45.1.0.9
	child=$(pgrep -P "$service_pid" -f 'follow.*routes')
	kill -9 "$service_pid"
	end_of "$service_pid"
	wait_until "the end of what it started" gone "$child"
}

gone() {
	[ ! -e "/proc/$1" ]
}

random_changes() {
	empty
	ip addr add 45.0.9.1/32 dev lo
	ip link set lo up
	# shellcheck disable=SC2086 # two words
	python3 "$top/tests/net/routes.py" ${XDP_BLOOM_ROUTES:-8 100} || fail "see above; $(tail -n 5 follow.err)"
}

# The gap last: of so many routes ip flush empties no table.
run_cases what_a_table_does stays_small one_family guards unsaid lost fails grace_ends in_place on_trial in_the_service random_changes gap
