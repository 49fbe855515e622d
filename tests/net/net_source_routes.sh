#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets whose header says the next hop, and whose source route says where they go: what Linux does with them, and what the filter
# sees of them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
routes=$(realpath "$(dirname "$0")/source_routes.py")
sandbox "$@"

# A router: edge0 inside, edge1 outside. Behind that are who is banned, and a hop that is not.
router() {
	local n

	veth 0 1
	for n in 0 1; do
		echo 0 >"/proc/sys/net/ipv4/conf/edge$n/rp_filter"
		ip addr add "10.$((n + 1)).0.1/24" dev "edge$n"
		[ ! -e /proc/sys/net/ipv6 ] || echo 0 >"/proc/sys/net/ipv6/conf/edge$n/disable_ipv6"
		[ ! -e /proc/sys/net/ipv6 ] || ip addr add "fd0$((n + 1))::1/64" dev "edge$n" nodad
	done
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	echo 1 >/proc/sys/net/ipv4/ip_forward
	[ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	ip route add 203.0.113.9 dev edge1
	ip neigh add 203.0.113.9 lladdr 02:00:00:00:00:09 dev edge1
	ip route add 198.51.100.1 dev edge1
	ip neigh add 198.51.100.1 lladdr 02:00:00:00:00:0a dev edge1
	[ ! -e /proc/sys/net/ipv6 ] || {
		ip route add 2001:db8::9 dev edge1
		ip neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 dev edge1
	}
	printf '%s\n' 203.0.113.9 2001:db8::9 >list
	bloom load bad list --bogons=keep
}

# comes_out 4|6 FIRST LAST: what comes out of the router of a packet from inside.
comes_out() {
	python3 "$routes" "$1" "$(cat /sys/class/net/edge0/address)" wire0 wire1 "$2" "$3" || fail "cannot send"
}

# forwards 4|6 FIRST LAST SWITCH: such a packet is dropped by the stack, unless that is told to follow such routes.
forwards() {
	local n

	[ "$1" = 4 ] || [ -e /proc/sys/net/ipv6 ] || skip "needs IPv6 in the kernel"
	router
	is "$(cat "/proc/sys/net/ipv$1/conf/all/$4")" 0 "net.ipv$1.conf.all.$4, as Linux has it"
	bloom attach edge0 --match destination --mode skb
	is "$(comes_out "$1" "$2" "$3")" nothing "what comes out where Linux is as it is"
	for n in all edge0; do
		echo 1 >"/proc/sys/net/ipv$1/conf/$n/$4"
	done
	is "$(comes_out "$1" "$2" "$3")" "$3" "what comes out where Linux follows source routes"
	bloom attach edge1 --egress
	is "$(comes_out "$1" "$2" "$3")" nothing "what comes out past the filter of what leaves"
	echo 0 >"/proc/sys/net/ipv$1/conf/all/$4"
}

# What this machine sends itself has the first hop as its destination: whether that one sends it on is not this machine's to say.
sent() {
	router
	bloom attach edge1 --egress
	is "$(python3 "$routes" 4 - - wire1 198.51.100.1 203.0.113.9)" 198.51.100.1 "what comes out of what is banned by its route alone"
	bloom add 198.51.100.1
	is "$(python3 "$routes" 4 - - wire1 198.51.100.1 203.0.113.9)" nothing "what comes out of what is banned by its header"
}

# arrives: what of a banned source comes to a socket out of routing headers.
arrives() {
	python3 "$routes" within "$(cat /sys/class/net/edge0/address)" wire0 203.0.113.9 10.1.0.1 || fail "cannot send"
}

# says_so YES|NO: doctor does.
says_so() {
	"$XDP_BLOOM" doctor edge0 >out
	is "$(grep -c '^note *IPv6 *net.ipv6.conf.all.seg6_enabled is on' out)" "$1" "what doctor says: $(cat out)"
}

# What the stack takes out of a routing header by itself, where it is told to.
taken_out() {
	local n

	[ -e /proc/sys/net/ipv6/conf/all/seg6_enabled ] || skip "needs SRv6 in the kernel"
	router
	ip addr add 2001:db8:77::1/64 dev edge0 nodad
	is "$(cat /proc/sys/net/ipv6/conf/all/seg6_enabled)" 0 "net.ipv6.conf.all.seg6_enabled, as Linux has it"
	bloom attach edge0
	is "$(arrives)" nothing "what comes where Linux is as it is"
	says_so 0
	for n in all edge0; do
		echo 1 >"/proc/sys/net/ipv6/conf/$n/seg6_enabled"
	done
	is "$(arrives)" "once hop twice" "what comes where it takes them out"
	says_so 1
	bloom tune --inner on
	is "$(arrives)" twice "what comes behind tune --inner on"
	says_so 0
	echo 0 >/proc/sys/net/ipv6/conf/all/seg6_enabled
}

run_cases "forwards 4 10.1.0.1 203.0.113.9 accept_source_route" "forwards 6 fd01::1 2001:db8::9 seg6_enabled" sent taken_out
