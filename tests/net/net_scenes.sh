#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Attacks, and those who stand beside them: thirty clients with real sockets, ten of them of IPv6, whose downloads and
# questions are counted (scenes.py). They lose nothing by the detector, but where a scene says why.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
scenes=$(realpath "$(dirname "$0")/scenes.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

served='' service_pid=''
# of_clients, of_attackers: whose a suspect is.
of_clients='(.source | startswith("198.51.100.") or startswith("2001:db8:64:"))'
of_attackers='(.source | startswith("203.0.") or startswith("2001:db8:66:"))'

# served CASE ARGS...: with the service beside it.
served() {
	served=yes
	"$@"
}

other_network() {
	[ -e "/proc/$1/ns/net" ] && ! [ "/proc/$1/ns/net" -ef /proc/self/ns/net ]
}

# addresses6 MAC: the clients' side has that one. Nobody asks for neighbours, which takes of the allowance of ICMP.
addresses6() {
	local n

	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip addr add 2001:db8:1::1/128 dev edge0 nodad
	ip route add 2001:db8:64::/48 dev edge0 src 2001:db8:1::1
	for n in {1..10}; do
		ip neigh add "$(printf '2001:db8:64:%x::1' "$n")" lladdr "$1" nud permanent dev edge0
	done
}

# The server is here; the clients, and who attacks, are in another network. Nobody but the clients is answered.
stage() {
	need nsenter
	veth 0
	export WORK
	mac=$(cat /sys/class/net/edge0/address)
	addresses6 "$(cat /sys/class/net/wire0/address)"
	unshare --net sleep infinity &
	away=$!
	wait_until "a network namespace" other_network $away
	ip link set wire0 netns $away
	ip addr add 192.0.2.1/32 dev edge0
	ip route add 198.51.100.0/24 dev edge0 src 192.0.2.1
	# shellcheck disable=SC2016 # there
	nsenter -t $away -n bash -c 'ip link set lo up; ip link set wire0 up
		for n in {1..20}; do ip addr add 198.51.100.$n/32 dev wire0; done
		ip route add 192.0.2.1/32 dev wire0
		echo 0 >/proc/sys/net/ipv6/conf/wire0/disable_ipv6
		for n in {1..10}; do ip addr add $(printf 2001:db8:64:%x::1 $n)/128 dev wire0 nodad; done
		ip route add 2001:db8:1::1/128 dev wire0
		ip neigh add 2001:db8:1::1 lladdr $1 nud permanent dev wire0' bash "$mac" || fail "no network for the clients"
	local class fd line=
	bloom attach edge0
	# A machine that forwards does not know what is unanswered.
	sysctl -qw net.ipv4.conf.edge0.forwarding=0 net.ipv6.conf.edge0.forwarding=0
	for class in packets bytes syn udp icmp fragments; do
		bloom detect limit $class none
	done
	bloom detect on
	mkfifo served
	python3 "$scenes" serve >served 2>serve.err &
	exec {fd}<served
	read -rt "$patience" line <&"$fd"
	[ "$line" = ready ] || fail "no server: $(cat serve.err)"
}

scene() {
	if [ -n "$served" ] && [ -z "$service_pid" ]; then
		echo attach edge0 >conf
		ready
	fi
	nsenter -t "$away" -n python3 "$scenes" "$1" "$mac" >played 2>err || fail "$1: $(cat err)"
	echo "# $1: $(cat played)"
	is "$(jq .ok played)" true "the attack was sent ($(cat err))"
}

# beside: what the clients lost. Downloads all end; of questions one in a hundred may be lost, as machines lose one.
beside() {
	is "$(jq .downloaded played)" "$(jq .downloads played)" "downloads"
	jq -e '.downloads >= 30' played >/dev/null || fail "hardly a download: $(cat played)"
	is "$(get "[.suspects[] | select($of_clients).dropped] | add // 0" detect)" 0 "what clients lost"
	jq -e '.answered >= .asked * 0.99' played >/dev/null || fail "questions: $(cat played)"
}

dropped() {
	get .dropped detect
}

# What passes of a source in that time: a burst for the sketch, one for the suspect, and the rate.
held() {
	jq -e --argjson dropped "$(dropped)" --argjson rate "$1" --argjson burst "$2" --argjson sources "$3" \
		'.attack - $dropped <= $sources * (2 * $burst + $rate * (.seconds + 1) + 1)' played >/dev/null ||
		fail "only $(dropped) are dropped: $(cat played)"
}

one_source() {
	stage
	bloom detect limit packets 1kpps --then police
	scene "one$1"
	beside
	held 1000 1000 1
}

# Twice the limit of each, and an interface that is proven: all who have a place are banned, and none of the clients.
proven_sources() {
	stage
	bloom detect limit icmp 5/s --burst 5 --then ban
	bloom detect limit udp 15/s --burst 10 --then ban
	bloom detect proven edge0
	bloom detect room --suspects 4k
	scene proven
	jq -e '.attack / .seconds >= 1000 * 2 * 5' played >/dev/null || skip "too slow to send twice the limit: $(cat played)"
	beside
	is "$(get "[.suspects[] | select($of_clients and .banned_until)] | length" detect)" 0 "clients that are banned"
	if [ -n "$served" ]; then
		wait_until "bans" banned_at_least 990
		is "$(get '.[].prefix' bans | grep -c '^198\.51\.100\.\|^2001:db8:64:')" 0 "clients with a live ban"
		return
	fi
	# Of who is banned no packet is looked at any more, however long it waited.
	local before found of="[.suspects[] | select($of_attackers)] | length, (map(.packets) | add)"
	before=$(get "$of" detect)
	nsenter -t "$away" -n python3 "$scenes" again "$mac" >sent 2>err || fail "again: $(cat err)"
	found=$(get "$of" detect)
	is "$found" "$before" "those who are banned"
	[ "$(head -n 1 <<<"$before")" -ge 990 ] || fail "of 1000 only $before are banned"
}

banned_at_least() {
	[ "$(get length bans)" -ge "$1" ]
}

# One packet from each of forty thousand addresses: nobody to be held back, nobody is; and nobody is banned. A limit so
# low that many of them share a cell that is hot, with clients, too: the sketch alone would hold back all of these.
forged_flood() {
	stage
	bloom detect limit icmp 1/s --burst 2 --then ban
	bloom detect limit udp 200/s --then ban
	bloom detect proven edge0
	scene forged
	beside
	is "$(dropped)" 0 "what is dropped of those who sent once"
	is "$(get '[.suspects[] | select(.above != {})] | length' detect)" 0 "who is above a limit"
	is "$(get length bans)" 0 "bans"
	# Sent more slowly, hardly any cell is hot.
	! jq -e '.attack / .seconds >= 30000' played >/dev/null || [ "$(get '.suspects | length' detect)" -ge 100 ] ||
		fail "hardly anybody was looked at: $(get '.suspects | length' detect)"
}

# In the clients' names: they keep their connections, and nobody is banned. Their questions use the allowance that the
# forger uses up: of what is above the limit no machine can tell whose it is.
forged_clients() {
	stage
	bloom detect limit udp 200/s --then ban
	scene as_clients
	is "$(jq .downloaded played)" "$(jq .downloads played)" "downloads"
	[ "$(dropped)" -gt 1000 ] || fail "the forged packets pass: $(dropped)"
	# Nobody is banned: all of them are asked again, and answered.
	local before
	before=$(dropped)
	scene nothing
	beside_again "$before"
}

beside_again() {
	is "$(jq .downloaded played)" "$(jq .downloads played)" "downloads, after it"
	is "$(jq .answered played)" "$(jq .asked played)" "questions, after it"
	is "$(dropped)" "$1" "what is dropped after it"
	is "$(get length bans)" 0 "bans"
	is "$(get '[.suspects[] | select(.banned_until)] | length' detect)" 0 "who is banned"
}

# Each address keeps the limit, and their network does not; the clients' network is another one.
carpet() {
	stage
	bloom detect limit packets 1kpps --then police
	scene "carpet$1"
	is "$(dropped)" 0 "what is dropped while networks are not judged"
	bloom detect networks x1
	bloom detect limit packets 1001/s --then police
	scene "carpet$1"
	beside
	[ "$(dropped)" -ge $(($(jq .attack played) / 3)) ] || fail "only $(dropped) are dropped: $(cat played)"
}

# Five thousand packets of a thousand clients behind one address, ten times the burst: it is trusted with as much, and
# another source that sends the same is held back.
nat() {
	local of='.suspects[] | select(.source == "203.0.113.9")'

	stage
	bloom detect limit packets 500/s --then police
	echo 203.0.113.9 >carrier
	bloom load carrier carrier --trust
	scene nat
	beside
	is "$(get "$of | .dropped" detect)" 0 "what the NAT lost"
	jq -e --argjson dropped "$(dropped)" '.attack / 2 - $dropped <= 2 * 500 + 500 * (.seconds + 1)' played >/dev/null ||
		fail "the other lost $(dropped): $(cat played)"
}

# The clients send fragments, too: two a question, one question in ten.
fragments_flood() {
	stage
	bloom detect limit fragments 100/s --then police
	scene "fragments$1"
	beside
	held 100 100 1
}

# Fifty name servers that somebody asks in our name; the clients' questions are answered meanwhile.
reflection_flood() {
	stage
	bloom detect limit udp 30/s --then police
	scene reflection
	beside
	held 30 30 50
}

# Ever other ports, one SYN each: the clients go to two.
scan_flood() {
	stage
	bloom detect limit scan 50/s --then police
	scene scan
	beside
	[ "$(dropped)" -ge $(($(jq .attack played) * 8 / 10)) ] || fail "only $(dropped) are dropped: $(cat played)"
	is "$(get '[.suspects[] | select(.above.scan) | .source] | unique | join(" ")' detect)" 203.0.113.7 "who scans"
}

# What no connection takes, to an open port and to closed ones; the clients' connections are beside it.
unanswered_flood() {
	stage
	bloom detect limit unanswered 100/s --then police
	scene unanswered
	beside
	held 100 100 1
	is "$(get '[.suspects[] | select(.above.unanswered) | .source] | unique | join(" ")' detect)" 203.0.113.7 "who sends it"
}

# A large upload, and twenty calls that begin at once: with the usual limits, all of them policed, nobody is held back.
honest_burst() {
	stage
	local class
	for class in packets\ 20k/s bytes\ 1Gbit syn\ 200/s udp\ 5k/s icmp\ 100/s fragments\ 500/s \
		unanswered\ 200/s scan\ 10/s; do
		# shellcheck disable=SC2086 # a class and its limit
		bloom detect limit $class --then police
	done
	scene honest
	beside
	is "$(dropped)" 0 "what is dropped"
}

run_cases "one_source 4" "one_source 6" proven_sources forged_flood forged_clients "carpet 4" "carpet 6" nat \
	"fragments_flood 4" "fragments_flood 6" reflection_flood scan_flood unanswered_flood honest_burst \
	"served one_source 6" "served proven_sources" \
	"served forged_flood" "served forged_clients" "served carpet 4" "served nat" "served fragments_flood 4" \
	"served reflection_flood" "served honest_burst"
