#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The recipes of docs/recipes.md where they are used: machines in network namespaces, real connections between them. The sandbox
# itself is the machine that filters.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
talk=$(realpath "$(dirname "$0")/talk.py")
sandbox "$@"
[ -e /proc/sys/net/ipv6 ] || skip_all "needs IPv6 in the kernel"
need nsenter nft
need_sources
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/recipe.sh
. "$here/recipe.sh"
declare -A machine

# --- Machines and wires -----------------------------------------------------------------------------------------------

# machine NAME...: each a network namespace.
machine() {
	local name

	for name; do
		unshare --net sleep infinity &
		machine[$name]=$!
	done
	for name; do
		wait_until "$name" elsewhere "${machine[$name]}"
		on "$name" ip link set lo up
	done
	ip link set lo up
}

elsewhere() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

on() {
	nsenter -t "${machine[$1]}" -n "${@:2}"
}

# wire IFNAME MACHINE THEIRS: between here and there.
wire() {
	ip link add "$1" type veth peer name "$3" netns "${machine[$2]}" || fail "no wire $1"
	ip link set "$1" up
	on "$2" ip link set "$3" up
}

# has IFNAME ADDRESS...: here; on MACHINE has_there IFNAME ADDRESS... there.
has() {
	local address

	for address in "${@:2}"; do
		# shellcheck disable=SC2046 # a word, or none
		ip addr add "$address" dev "$1" $(nodad "$address") || fail "$1 cannot have $address"
	done
}

has_there() {
	local address

	for address in "${@:3}"; do
		# shellcheck disable=SC2046 # a word, or none
		on "$1" ip addr add "$address" dev "$2" $(nodad "$address") || fail "$2 cannot have $address"
	done
}

nodad() {
	[[ $1 != *:* ]] || echo nodad
}

forwards() {
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
}

# serves MACHINE PORT...
serves() {
	if [ "$1" = here ]; then
		python3 "$talk" serve "${@:2}" >"$WORK/$1.ready" &
	else
		on "$1" python3 "$talk" serve "${@:2}" >"$WORK/$1.ready" &
	fi
	wait_until "the server of $1" grep -qs ready "$WORK/$1.ready"
}

# reaches MACHINE WHAT...: ADDRESS/PORT=SOURCE that the server sees, or -ADDRESS/PORT for what is not reached.
reaches() {
	local what wanted=() all=() answer

	for what in "${@:2}"; do
		[[ $what = -* ]] || wanted+=("$what")
		what=${what%=*}
		all+=("${what#-}")
	done
	answer=$(on "$1" python3 "$talk" reach ${#wanted[@]} "${all[@]}") || fail "no answer to $1"
	is "$answer" "$(printf '%s\n' "${wanted[@]}")" "what $1 reaches"
}

# What the case before has left: wires go by themselves when the machine at their other end has ended, a little later.
empty() {
	local link left=0

	for link in /sys/class/net/*; do
		[[ ${link##*/} =~ ^(wan|lan|eth0|wg0|ppp0|docker0|br0|port[01]|veth-.*|transit[12]|servers)$ ]] || continue
		ip link del "${link##*/}" 2>/dev/null
		left=1
	done
	[ $left = 0 ]
}

# The Internet, one machine of it: banned and clean addresses, and the gateway at the other end of IFNAME.
internet() {
	local address

	wait_until "that nothing is left" empty
	nft flush ruleset
	machine internet
	wire "$1" internet to-us
	for address in $bad4 $good4 $bad6 $good6; do
		has_there internet lo "$address"
	done
	serves internet 80
	serves here 22
	[ "${2:-}" != ppp0 ] || return 0
	has_there internet to-us 198.51.100.1/24 2001:db8:1::1/64
	[ $# = 1 ] || return 0
	has "$1" $us/24 2001:db8:1::2/64
	goes_out_by 198.51.100.1 2001:db8:1::1
}
us=198.51.100.2 bad4=203.0.113.7 good4=192.0.2.80 bad6=2001:db8:bad::7 good6=2001:db8:80::1

goes_out_by() {
	ip route replace default via "$1"
	ip -6 route replace default via "$2"
	on internet ip -6 route replace fd00::/16 via 2001:db8:1::2
}

# behind IFNAME MACHINE N: a machine at the other end of it, in a network of its own.
behind() {
	machine "$2"
	wire "$1" "$2" eth0
	joins "$1" "$2" eth0 "$3"
}

joins() {
	has "$1" "192.168.$4.1/24" "fd00:$4::1/64"
	has_there "$2" "$3" "192.168.$4.10/24" "fd00:$4::10/64"
	on "$2" ip route replace default via "192.168.$4.1"
	on "$2" ip -6 route replace default via "fd00:$4::1"
}

nat() {
	nft -f - <<-NFT || fail "no NAT"
		table ip nat {
			chain before { type nat hook prerouting priority dstnat; ${2:-} }
			chain after { type nat hook postrouting priority srcnat; oifname "$1" masquerade; }
		}
	NFT
}

# in_force TITLE: the service, with what the recipe says.
in_force() {
	printf '%s\n' 203.0.113.0/24 2001:db8:bad::/48 >list
	recipe "$1" | sed "s|/etc/bad.txt|$WORK/list --bogons=keep|" >conf
	ready
}

# What is sent from inside to whom is banned is on the record.
tried() {
	[ "$(get '[.inside[].name] | sort | join(" ")' report --last hour)" = "$*" ]
}

# --- The recipes ------------------------------------------------------------------------------------------------------

# home_router [OVER]: with NAT, and the uplink as it comes or as PPPoE over it.
home_router() {
	internet wan "$@"
	[ $# = 0 ] || pppoe wan
	behind lan pc 1
	nat "${1:-wan}"
	reaches pc $bad4/80=$us $good4/80=$us $bad6/80=fd00:1::10
	reaches internet $bad4%$us/22=$bad4
	in_force 'A home router'
	reaches pc -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::10 192.168.1.1/22=192.168.1.10
	wait_until "who tried" tried 192.168.1.10 fd00:1::10
	reaches internet -$bad4%$us/22 $good4%$us/22=$good4 -$bad6%2001:db8:1::2/22 $good6%2001:db8:1::2/22=$good6
	stop TERM
}

# Two hundred hosts, all at once: none reaches who is banned, each reaches all else, and no connection is left of what was dropped.
two_hundred() {
	local host bad=() good=()

	internet wan
	behind lan pc 1
	for host in {11..209}; do
		has_there pc eth0 "192.168.1.$host/24"
	done
	nat wan
	in_force 'A home router'
	for host in {10..209}; do
		bad+=("-192.168.1.$host%$bad4/80")
		good+=("192.168.1.$host%$good4/80=$us")
	done
	reaches pc "${bad[@]}" "${good[@]}"
	[ "$(get .packets.dropped stats)" -ge 200 ] || fail "only $(get .packets.dropped stats) were dropped"
	# But for one of the case before.
	[ ! -e /proc/net/nf_conntrack ] || is "$(grep -o "src=192[0-9.]* dst=$bad4 " /proc/net/nf_conntrack | grep -vc "192.168.1.10 ")" 0 \
		"connections that are known"
	stop TERM
}

pppoe() {
	python3 -c 'import socket; socket.socket(24, socket.SOCK_STREAM)' 2>/dev/null || skip "the kernel has no PPPoE (CONFIG_PPPOE)"
	[ -e /dev/ppp ] || mknod /dev/ppp c 108 0
	python3 "$talk" ppp "$1" "${machine[internet]}" to-us >session &
	wait_until "the session" grep -qs ready session
	ip link set ppp0 up
	on internet ip link set ppp0 up
	has_there internet ppp0 198.51.100.1/24 2001:db8:1::1/64
	has ppp0 $us/24 2001:db8:1::2/64
	goes_out_by 198.51.100.1 2001:db8:1::1
}

# Packets come by one uplink, and answers go out by the other.
hosting_edge() {
	internet transit1
	wire transit2 internet to-us-too
	has transit2 198.18.0.2/24 2001:db8:2::2/64
	has_there internet to-us-too 198.18.0.1/24 2001:db8:2::1/64
	goes_out_by 198.18.0.1 2001:db8:2::1
	behind servers www 1
	on internet ip route replace 192.168.1.0/24 via $us
	serves www 80
	in_force 'A hosting edge'
	reaches internet -$bad4%192.168.1.10/80 $good4%192.168.1.10/80=$good4 -$bad6%fd00:1::10/80 $good6%fd00:1::10/80=$good6
	on internet ip route replace 192.168.1.0/24 via 198.18.0.2
	on internet ip -6 route replace fd00::/16 via 2001:db8:2::2
	goes_out_by 198.51.100.1 2001:db8:1::1
	reaches internet -$bad4%192.168.1.10/80 $good4%192.168.1.10/80=$good4 -$bad6%fd00:1::10/80 $good6%fd00:1::10/80=$good6
	reaches www -$bad4/80 $good4/80=192.168.1.10 -$bad6/80 $good6/80=fd00:1::10
	wait_until "who tried" tried 192.168.1.10 fd00:1::10
	stop TERM
}

# A port is published; and both containers go out.
containers() {
	internet eth0
	machine one two
	ip link add docker0 type bridge
	ip link set docker0 up
	for name in one two; do
		wire "veth-$name" $name eth0
		ip link set "veth-$name" master docker0
	done
	joins docker0 one eth0 1
	has_there two eth0 192.168.1.11/24 fd00:1::11/64
	on two ip route add default via 192.168.1.1
	on two ip -6 route add default via fd00:1::1
	nat eth0 "iifname \"eth0\" tcp dport 8080 dnat to 192.168.1.10:80;"
	serves one 80
	in_force 'Containers'
	reaches internet -$bad4%$us/8080 $good4%$us/8080=$good4 -$bad6%fd00:1::10/80 $good6%fd00:1::10/80=$good6
	reaches one -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::10
	reaches two -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::11 192.168.1.10/80=192.168.1.11
	wait_until "who tried" tried 192.168.1.10 192.168.1.11 fd00:1::10 fd00:1::11
	stop TERM
}

# Routes of a single address, and one gateway for all; a pod that comes later is asked, too.
pods() {
	internet eth0
	nat eth0
	pod one 192.168.1.10 fd00:1::10
	in_force 'Pods without a bridge'
	reaches one -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::10
	pod two 192.168.1.11 fd00:1::11
	serves two 80
	reaches two -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::11
	reaches one 192.168.1.11/80=192.168.1.10
	reaches internet -$bad6%fd00:1::11/80 $good6%fd00:1::11/80=$good6
	wait_until "who tried" tried $us fd00:1::10 fd00:1::11
	stop TERM
}

pod() {
	machine "$1"
	wire "veth-$1" "$1" eth0
	has "veth-$1" 169.254.1.1/32 fd00:ffff::1/128
	has_there "$1" eth0 "$2/32" "$3/128"
	ip route add "$2" dev "veth-$1"
	ip -6 route add "$3" dev "veth-$1"
	on "$1" ip route add 169.254.1.1 dev eth0 src "$2"
	on "$1" ip route add default via 169.254.1.1 src "$2"
	on "$1" ip -6 route add fd00:ffff::1 dev eth0
	on "$1" ip -6 route add default via fd00:ffff::1
}

# hub KIND: a tunnel of WireGuard; or of a program that has a tun device at each end.
hub() {
	internet eth0
	machine phone
	"wg0_by_$1"
	joins wg0 phone wg0 1
	nat eth0
	reaches phone $bad4/80=$us $good4/80=$us
	in_force 'A WireGuard hub'
	reaches phone -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=fd00:1::10
	wait_until "who tried" tried 192.168.1.10 fd00:1::10
	reaches internet -$bad4%$us/22 $good4%$us/22=$good4
	stop TERM
}

wg0_by_tun() {
	ip tuntap add wg0 mode tun 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	on phone ip tuntap add wg0 mode tun
	python3 "$(dirname "$talk")/bare.py" relay "${machine[phone]}" wg0 >flowing &
	wait_until "the relay" grep -qs flowing flowing
	ip link set wg0 up
	on phone ip link set wg0 up
}

wg0_by_wireguard() {
	local end

	need wg
	ip link add wg0 type wireguard 2>/dev/null || skip "the kernel has no WireGuard (CONFIG_WIREGUARD)"
	on phone ip link add wg0 type wireguard || fail "no WireGuard there"
	wire lan phone eth0
	has lan 10.0.0.1/24
	has_there phone eth0 10.0.0.2/24
	for end in here there; do
		(umask 077 && wg genkey >$end.key) || fail "no key"
	done
	wg set wg0 private-key here.key listen-port 5000 peer "$(wg pubkey <there.key)" allowed-ips 192.168.1.10/32,fd00:1::10/128
	on phone wg set wg0 private-key there.key peer "$(wg pubkey <here.key)" allowed-ips 0.0.0.0/0,::/0 endpoint 10.0.0.1:5000
	ip link set wg0 up
	on phone ip link set wg0 up
}

# Two networks that are one; this machine has no address there.
bridge() {
	internet port0 away
	machine server
	wire port1 server eth0
	ip link add br0 type bridge
	ip link set port0 master br0
	ip link set port1 master br0
	ip link set br0 up
	has_there server eth0 $us/24 2001:db8:1::2/64
	on server ip route add default via 198.51.100.1
	on server ip -6 route add default via 2001:db8:1::1
	serves server 22
	reaches internet $bad4%$us/22=$bad4
	in_force 'A firewall in a bridge'
	reaches internet -$bad4%$us/22 $good4%$us/22=$good4 -$bad6%2001:db8:1::2/22 $good6%2001:db8:1::2/22=$good6
	reaches server -$bad4/80 $good4/80=$us -$bad6/80 $good6/80=2001:db8:1::2
	wait_until "who tried" tried $us 2001:db8:1::2
	stop TERM
}

forwards
run_cases home_router "home_router ppp0" two_hundred hosting_edge containers pods "hub tun" "hub wireguard" bridge
