#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Real packets through the filter, in each mode, every header it reads: verdicts and counters.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# Two lists that have no address in common: each packet dropped is on the account of one of them.
make_lists() {
	if [ "$1" = ipv4 ]; then
		printf '11.1.0.%d\n' {1..255..2} >hosts
		printf '%s\n' 11.2.0.0/16 11.3.4.0/24 11.3.5.128/25 11.3.6.16/28 11.3.7.8/31 12.16.0.0/12 >nets
	else
		printf '2001:db8:1::%x\n' {1..255..2} >hosts
		printf '%s\n' 2001:db9::/32 2001:dba:4::/48 2001:dbb:0:80::/57 2001:dbc::/64 2001:dbd::8/127 >nets
	fi
}

# filters MODE FAMILY TAGS
filters() {
	local list passed=0 passed_bytes=0 dropped=0 dropped_bytes=0 stats behind=() beside=0

	[ "$1" != tc ] || behind=(-t)
	# By then the kernel has taken the first tag out of the frame.
	[[ $1 != tc || $3 != *vlan* && $3 != qinq* ]] || beside=4
	make_lists "$2"
	veth 0
	bloom attach edge0 --mode "$1"
	judge sample clean 500 hosts nets
	for list in hosts nets; do
		bloom load "$list" "$list"
	done
	stats='{packets,bytes,lists:[.lists[]|{name,packets,bytes}]|sort_by(.name)}'
	for list in hosts nets; do
		judge sample "of_$list" 500 "$list"
		send 0 -b "of_$list/banned" -c clean/clean -e "$3" "${behind[@]}"
		passed=$((passed + $(sent .clean.sent)))
		passed_bytes=$((passed_bytes + $(sent "(.clean|.bytes-$beside*.sent)")))
		dropped=$((dropped + $(sent .banned.sent)))
		dropped_bytes=$((dropped_bytes + $(sent "(.banned|.bytes-$beside*.sent)")))
		printf '{"name":"%s","packets":%d,"bytes":%d}\n' "$list" "$(sent .banned.sent)" \
			"$(sent "(.banned|.bytes-$beside*.sent)")" >>lists_sent
	done
	is "$(get "$stats" stats)" "$(jq -sc "{packets:{passed:$passed,dropped:$dropped,unparsed:0},
		bytes:{passed:$passed_bytes,dropped:$dropped_bytes,unparsed:0},lists:.}" lists_sent)" "what stats counted"
	is "$(get '.interfaces[]|[.name,.mode]' show)" "[\"edge0\",\"$1\"]" "what show says of the interface"
}

# lets_through MODE FAMILY TAGS: banned sources of a family it has no list of.
lets_through() {
	make_lists ipv4
	judge sample of_hosts 500 hosts
	[ "$2" = ipv4 ] || sed -i 's/^/2001:db8::/' of_hosts/*
	veth 0
	bloom load hosts hosts
	bloom attach edge0 --mode "$1"
	cat of_hosts/* >all
	send 0 -c all -e "$3"
	is "$(get .packets.passed stats)" "$(sent .clean.sent)" "the number passed"
	is "$(get .packets.dropped stats)" 0 "the number dropped"
}

# redirected MODE HOW: what whoever has the other end sends with a mark of the kernel's own on it, by tc's mirred, or once more
# by way of an ifb. Native mode sees both; docs/what-passes.md has the others.
redirected() {
	local behind=()

	need tc
	# What comes by way of an ifb is not shown to packet sockets of all protocols, either.
	[[ $1 != tc && $2 != ifb ]] || behind=(-t)
	printf '%s\n' 192.0.2.7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 203.0.113.255 >banned
	printf '%s\n' 192.0.2.6 203.0.112.255 >clean
	cat banned clean >everybody
	veth 0 1
	bloom load bad list
	bloom attach edge0 --mode "$1"
	tc qdisc add dev edge1 clsact 2>/dev/null || skip "the kernel has no clsact (CONFIG_NET_SCH_INGRESS)"
	tc filter add dev edge1 ingress u32 match u32 0 0 action mirred egress redirect dev wire0 2>/dev/null ||
		skip "the kernel has no mirred (CONFIG_NET_ACT_MIRRED), or no u32"
	if [ "$2" = ifb ]; then
		ip link add edge7 type ifb 2>/dev/null || skip "the kernel has no ifb (CONFIG_IFB)"
		ip link set edge7 up
		tc qdisc add dev wire0 clsact
		# Not what the ifb sends: an action would take the mark off.
		tc filter add dev wire0 egress u32 match u32 0 0 indev edge1 action mirred egress redirect dev edge7 2>/dev/null ||
			skip "u32 does not ask by which interface a packet came"
	fi
	case $1:$2 in
	skb:mirred | tc:ifb) set -- -c everybody ;;
	*) set -- -b banned -c clean ;;
	esac
	"$TRAFFIC" "$@" "${behind[@]}" wire1 edge0 >sent 2>err || fail "traffic $*: $(cat err sent)"
}

far() {
	nsenter -t "${far:?}" -n "$@"
}

# away: moves wire0 to another network namespace, which routes what comes from one behind it, $beyond; it has both marks as it
# comes in by edge0: an ifb sets the one on a macvlan, nft's fwd the other on what is under that.
away() {
	other_network
	beyond=$far
	other_network
	ip link set wire0 netns "$far"
	ip link add in netns "$far" type veth peer name out netns "$beyond"
	far ip addr add 10.1.0.1/24 dev in
	nsenter -t "$beyond" -n ip addr add 10.1.0.2/24 dev out
	nsenter -t "$beyond" -n ip link set out up
	far ip link set in up
	nsenter -t "$beyond" -n ip route add default via 10.1.0.1
	far sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	far ip link add under type veth peer name no-one
	far ip link add link under name over type macvlan mode private 2>/dev/null || skip "the kernel has no macvlan (CONFIG_MACVLAN)"
	far ip link add edge7 type ifb 2>/dev/null || skip "the kernel has no ifb (CONFIG_IFB)"
	for end in wire0 under no-one edge7 over; do
		far ip link set "$end" up
	done
	far ip addr add 10.0.0.2/24 dev over
	far ip neigh replace 10.0.0.1 lladdr "$(cat /sys/class/net/edge0/address)" dev over
	far tc qdisc add dev over clsact 2>/dev/null || skip "the kernel has no clsact (CONFIG_NET_SCH_INGRESS)"
	far tc filter add dev over egress u32 match u32 0 0 indev in action mirred egress redirect dev edge7 2>/dev/null ||
		skip "the kernel has no mirred (CONFIG_NET_ACT_MIRRED), or no u32 that asks by which interface a packet came"
	far nft 'table netdev t { chain c { type filter hook egress device "under" priority 0; fwd to "wire0"; }; }' 2>/dev/null ||
		skip "the kernel has no fwd of nft on the way out (CONFIG_NFT_FWD_NETDEV, CONFIG_NETFILTER_EGRESS)"
}

# redirected_in_a_tunnel MODE UNDER: the same of what a tunnel carries that ends here. UNDER is the mode of the veth that it comes in
# by, or none.
redirected_in_a_tunnel() {
	local far beyond end

	need nft nsenter tc
	printf '%s\n' 192.0.2.7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 203.0.113.255 >banned
	printf '%s\n' 192.0.2.6 203.0.112.255 >clean
	cat banned clean >everybody
	veth 0
	ip addr add 10.0.0.1/24 dev edge0
	ip route add 10.1.0.0/24 dev edge0
	ip link add edge9 type vxlan id 7 dstport 4789 local 10.0.0.1 remote 10.1.0.2 dev edge0 2>/dev/null || skip "the kernel has no VXLAN (CONFIG_VXLAN)"
	ip link set edge9 up
	away
	# What is sent by it here leaves from there.
	nsenter -t "$beyond" -n ip link add wire9 type vxlan id 7 dstport 4789 local 10.1.0.2 remote 10.0.0.1 dev out
	nsenter -t "$beyond" -n ip link set wire9 netns $BASHPID
	ip link set wire9 up
	bloom load bad list
	[ "$2" = none ] || bloom attach edge0 --mode "$2"
	bloom attach edge9 --mode "$1"
	case $1 in
	skb) set -- -c everybody ;;
	tc) set -- -t -b banned -c clean ;;
	esac
	"$TRAFFIC" "$@" wire9 edge9 >sent 2>err || fail "traffic $*: $(cat err sent)"
}

cases=("redirected_in_a_tunnel "{skb,tc}" "{none,native})
for mode in native skb tc; do
	for how in mirred ifb; do
		cases+=("redirected $mode $how")
	done
done
for mode in native skb tc; do
	for family in ipv4 ipv6; do
		for tags in plain vlan qinq pppoe qinq+pppoe vlan+vlan+vlan; do
			cases+=("filters $mode $family $tags")
		done
	done
	cases+=("lets_through $mode ipv6 plain")
done
run_cases "${cases[@]}"
