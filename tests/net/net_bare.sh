#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces whose packets begin with IP: tun, WireGuard and the tunnels. What has no such device skips it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
[ -e /proc/sys/net/ipv6 ] || skip_all "needs IPv6 in the kernel"
need nsenter
# shellcheck source=../support/bare.sh
. "$here/bare.sh"
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

# by MATCH: what that match says is dropped, and nothing else.
by() {
	local all from=("${clean[@]}") to=("${clean_to[@]}")

	all=("${banned[@]}" "${clean[@]}" "${banned_to[@]}" "${clean_to[@]}")
	[ "$1" != destination ] || from=("${banned[@]}" "${clean[@]}")
	[ "$1" != source ] || to=("${banned_to[@]}" "${clean_to[@]}")
	is "$(python3 "$bare" judged "$far" "${all[@]}" | paste -sd' ')" "${from[*]} ${to[*]}" "what is heard by $1"
}

arrive() {
	is "$(python3 "$bare" judged "$far" "${banned[@]}" "${clean[@]}" | paste -sd' ')" "$*" "who is heard"
}

has() {
	is "$(xdp_id edge9)" "$1" "the program on edge9"
}

# by_each: one match in the place of another, and then none.
by_each() {
	local match

	for match in destination both source; do
		bloom attach edge9 --match $match
		by $match
	done
	bloom detach edge9
	arrive "${banned[@]}" "${clean[@]}"
}

# filters MODE KIND ARGS...
filters() {
	local mode=$1

	device "${@:2}"
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 192.0.2.107 2001:db8::107 >list
	bloom load bad list --bogons=keep
	arrive "${banned[@]}" "${clean[@]}"
	if ! tunnels_are_clean "$2"; then
		refused "before 5.14 kernels" attach edge9 --mode skb
		return
	fi
	refused "edge9: --shared is for interfaces with an Ethernet header" attach edge9 --shared
	bloom attach edge9 --mode "$mode"
	is "$(get '.interfaces[0].mode' show)" "$mode" "its mode"
	arrive "${clean[@]}"
	is "$(get .packets.dropped stats)" ${#banned[@]} "the number dropped"
	bloom add 192.0.2.6 --ttl 10m
	arrive "${clean[@]:1}"
	bloom rotate
	arrive "${clean[@]:1}"
	bloom del 192.0.2.6
	arrive "${clean[@]}"
	by source
	by_each
	bloom attach edge9 --mode "$mode" --match both
	by both
}

# leaves KIND ARGS...: the other way, by a program of tc, where what comes in is filtered, too.
leaves() {
	local address

	device "$@"
	for address in "${banned[@]}" "${clean[@]}"; do
		ip route replace "$address" dev edge9
	done
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 >list
	bloom load bad list --bogons=keep
	left "${banned[@]}" "${clean[@]}"
	bloom attach edge9 --egress
	left "${clean[@]}"
	is "$(get .packets.dropped stats)" ${#banned[@]} "the number dropped"
	bloom add 192.0.2.6 --ttl 10m
	bloom rotate
	left "${clean[@]:1}"
	bloom del 192.0.2.6
	if [ "$1" != ppp ] && tunnels_are_clean "$1"; then
		bloom attach edge9 --mode skb
		arrive "${clean[@]}"
	fi
	left "${clean[@]}"
	bloom detach edge9
	left "${banned[@]}" "${clean[@]}"
}

left() {
	local all=("${banned[@]}" "${clean[@]}")

	is "$(far python3 "$bare" judged $BASHPID "${all[@]/#/to/}" | sed 's|to/||' | paste -sd' ')" "$*" "who is heard at the other end"
}

# behind_tags END: those that the sender puts between GRE and IP, and the stack takes off.
behind_tags() {
	local tags

	for tags in 8100/0 8100/4000 88a8/6000 "8100/0 8100/0" "8100/2000 88a8/e000 8100/7000 8100/0"; do
		GRE_TAGS="$1 $tags" arrive "${clean[@]}"
	done
	GRE_TAGS="$1 8100/0 8100/0 8100/0 8100/0 8100/0 8100/0" arrive
	arrive "${clean[@]}"
}

# tagged END MODE KIND ARGS...: there, and where a router looks into what it carries.
tagged() {
	device "${@:3}"
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 >list
	bloom load bad list --bogons=keep
	if [ "$2" = tc ] || tunnels_are_clean "$3"; then
		bloom attach edge9 --mode "$2"
		behind_tags "$1"
		bloom detach edge9
	fi
	bloom tune --inner on
	bloom attach to-far --mode skb
	behind_tags "$1"
}

# Of all that GRE's sender may say, IP (and a cache's, which the kernel takes for IPv4) and tags of both kinds are what the stack
# delivers; nothing of it is heard of who is banned.
types() {
	local address wanted

	device gre local HERE4 remote THERE4
	for address in 192.0.2.7 2001:db8::7; do
		echo $address >list
		bloom load bad list --force
		wanted="0800 883e tagged 8100 tagged 883e tagged 88a8"
		[ $address = 192.0.2.7 ] || wanted="86dd tagged 8100 tagged 88a8"
		is "$(python3 "$bare" types "$far" 10.0.0.1 $address | paste -sd' ')" "$wanted" "what is heard without a filter"
		if tunnels_are_clean gre; then
			bloom attach edge9 --mode skb
			is "$(python3 "$bare" types "$far" 10.0.0.1 $address)" "" "what is heard"
			bloom detach edge9
		fi
		bloom tune --inner on
		bloom attach to-far --mode skb
		is "$(python3 "$bare" types "$far" 10.0.0.1 $address)" "" "what is heard where packets are looked into"
		bloom detach to-far
		bloom tune --inner off
	done
}

# no_far_end none|many: a gre that whoever sends to may reach, or a group; XDP's programs see the outer header there. What the
# state has in skb mode, of one that had a far end or of a version before, is restored by tc.
no_far_end() {
	local near=(local 10.0.0.1) there=(local 10.0.0.2 remote 10.0.0.1) words="a gre without a fixed far end"

	tunnels_are_clean gre || words="before 5.14 kernels"
	device gre local HERE4 remote THERE4 key 7
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 >list
	bloom load bad list --bogons=keep
	bloom attach edge9
	if [ "$1" = many ]; then
		near+=(remote 239.1.1.1 dev to-far)
		there=(local 10.0.0.2 remote 239.1.1.1 dev to-here)
		banned=("${banned[@]:0:3}")
		clean=("${clean[@]:0:2}")
	fi
	ip link del edge9
	far ip link del edge9
	ip link add edge9 type gre "${near[@]}" key 7 ttl 64 || fail "no such gre"
	far ip link add edge9 type gre "${there[@]}" key 7 ttl 64 || fail "no such gre at the other end"
	addresses 2>/dev/null # the others are there
	arrive "${banned[@]}" "${clean[@]}"
	bloom restore
	is "$(get '.interfaces[0].mode' show)" tc "its mode"
	arrive "${clean[@]}"
	refused "$words" attach edge9 --mode skb
	arrive "${clean[@]}"
	bloom detach edge9
	arrive "${banned[@]}" "${clean[@]}"
	refused "$words" attach edge9 --mode skb
	bloom attach edge9
	is "$(get '.interfaces[0].mode' show)" tc "its mode"
	arrive "${clean[@]}"
	# That would be told by nothing.
	! ip link change edge9 type gre local 10.0.0.1 remote 10.0.0.2 key 7 ttl 64 2>/dev/null || fail "it has a far end now"
}

# prepare [KIND ARGS...]
prepare() {
	device "${@:-tun}"
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 >list
	bloom load bad list --bogons=keep
}

# Whoever asks again and again may be overtaken by what is to come.
filters_now() {
	[ "$(python3 "$bare" judged "$far" "${banned[@]}" "${clean[@]}" 2>/dev/null | paste -sd' ')" = "${clean[*]}" ]
}

passes_all_now() {
	[ "$(python3 "$bare" judged "$far" "${banned[@]}" "${clean[@]}" 2>/dev/null | paste -sd' ')" = "${banned[*]} ${clean[*]}" ]
}

unmet() {
	"$XDP_BLOOM" show
	find "$bpffs"
}

# What waits for a confirmation, on an interface and in a generation.
on_trial() {
	prepare
	refused "has no XDP;" attach edge9 --mode native
	bloom attach edge9 --mode skb --confirm 3s
	wait_until "that it is taken back" passes_all_now
	bloom attach edge9 --mode skb --confirm 1h
	arrive "${clean[@]}"
	bloom confirm
	arrive "${clean[@]}"
	bloom add 192.0.2.6 --confirm 1h
	arrive "${clean[@]:1}"
	bloom confirm
	arrive "${clean[@]:1}"
}

# Its root is lost with everybody's, or with its pin alone; and what was there before a reboot is there after it.
restores() {
	prepare
	bloom attach edge9 --mode skb
	rm "$bpffs/root" "$bpffs/slot" "$bpffs"/generation/*/slot
	bloom restore
	arrive "${clean[@]}"
	rm "$bpffs/root_bare"
	bloom detach edge9
	bloom attach edge9 --mode skb
	arrive "${clean[@]}"
	rm -r "${bpffs:?}"/*
	wait_until "that nothing filters" passes_all_now
	bloom restore
	arrive "${clean[@]}"
	ip link set edge9 down
	ip link set edge9 name edge8 up
	ip addr add fd09::1/64 dev edge8 nodad
	arrive "${clean[@]}"
	bloom detach edge8
	is "$(xdp_id edge8)" none "the program on edge8"
}

heals() {
	local pin

	prepare
	echo 'attach edge9 --mode skb' >conf
	ready
	arrive "${clean[@]}"
	for pin in root_bare root slot links/edge9%ip; do
		rm "$bpffs/$pin"
		wait_until "$pin" test -e "$bpffs/$pin"
		arrive "${clean[@]}"
	done
	rm -r "${bpffs:?}"/*
	wait_until "all of them" test -e "$bpffs/links/edge9%ip"
	wait_until "the root of it" test -e "$bpffs/root_bare"
	wait_until "that it filters" filters_now
	stop TERM
	arrive "${clean[@]}"
}

# says KIND TYPE MODE: of tun and tap the owner says the type, who may be anybody.
says() {
	local address

	TUN_TYPE=$2 prepare "$1"
	is "$(cat /sys/class/net/edge9/type)" "$2" "its type"
	if [ "$1" = tap ]; then
		for address in 10.9.0.1 fd09::1; do
			far ip neigh replace $address lladdr ff:ff:ff:ff:ff:ff dev edge9 # it says none any more
		done
	fi
	bloom attach edge9 --mode "$3"
	arrive "${clean[@]}"
	is "$(get .packets.dropped stats)" ${#banned[@]} "the number dropped"
}

# by_tc KIND ARGS...: that of ppp is none that XDP's programs read; by tc all kinds are.
by_tc() {
	local address

	prepare "$@"
	for address in "${banned_to[@]}" "${clean_to[@]}"; do # nobody answers for their neighbours
		[[ $1 != vxlan || $address != *:* ]] || far ip -6 route replace "${address#to/}" via fd09::1 dev edge9
	done
	[ "$1" != ppp ] || refused "it is none of those that are read without" attach edge9 --mode skb
	bloom attach edge9 --mode tc
	arrive "${clean[@]}"
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 192.0.2.107 2001:db8::107 >list
	bloom load bad list --bogons=keep --force
	by_each
}

# in_fragments KIND ARGS...: what carries a packet comes in two, and the first ends where the port of the packet within begins: the
# tunnel's end puts them together, but not into one buffer.
in_fragments() {
	local mac said="" setting

	apart
	ip link add edge9 type "$@" 2>/dev/null || skip "the kernel has no devices of the kind $1"
	for setting in all edge9; do
		echo 0 >/proc/sys/net/ipv4/conf/$setting/rp_filter
	done
	ip addr add 10.9.0.1/24 dev edge9
	ip link set edge9 up
	ip link set lo up
	ip route add default dev edge9
	mac=$(cat /sys/class/net/to-far/address)
	echo 192.0.2.7 >list
	bloom load bad list --only udp/4711
	heard_of() {
		python3 "$bare" cut "$far" to-here "$mac" "$1" 192.0.2.7 192.0.2.6 | paste -sd' '
	}
	is "$(heard_of "$1")" "192.0.2.7 192.0.2.6" "who is heard without a filter"
	bloom attach edge9 --mode tc
	is "$(heard_of "$1")" 192.0.2.6 "who is heard"
	said=$("$XDP_BLOOM" lists bad)
	[[ $said != *"could not be read"* ]] || fail "a port could not be read: $said"
	bloom detach edge9
	bloom attach edge9 --mode tc --match both
	is "$(heard_of "$1")" 192.0.2.6 "who is heard by both"
}

# A pair whose other end is in another namespace, where somebody has a packet socket: a netkit's packets are delivered by what that
# says, and not by what stands in the frame; a veth's by the frame. A VXLAN that is there, with this one's network under it, is such an
# other end, too: the kernel takes a short way between the two.
# as_said KIND
as_said() {
	local mac setting peer way match wanted
	local -A open=()
	local -a ways=("0800 0800" "0800 88b5" "0800 86dd" "0800 0806" "8100 080000000800" "8100 88b500000800" "8100 08006000810000000800"
		"88a8 86dd00000800")

	other_network
	if [ "$1" = netkit ]; then
		ip link add edge9 type netkit mode l2 2>/dev/null || ip link add edge9 type netkit 2>/dev/null || skip "the kernel has no netkit"
		peer=$(ip -o link | sed -n 's/^[0-9]*: \(nk[0-9]*\)@.*/\1/p')
		ip link set "$peer" netns "$far"
		far ip link set "$peer" name to-here
	elif [ "$1" = vxlan ]; then
		need bridge
		ip addr add 10.0.0.1/32 dev lo
		ip link add edge9 type vxlan id 7 dstport 4789 local 10.0.0.1 2>/dev/null || skip "the kernel has no VXLAN (CONFIG_VXLAN)"
		ip link add to-here type vxlan id 8 dstport 4789 local 10.0.0.1
		ip link set to-here netns "$far"
	else
		ip link add edge9 type "$1" peer name to-here netns "$far"
	fi
	for setting in all edge9; do
		echo 0 >/proc/sys/net/ipv4/conf/$setting/rp_filter
	done
	ip addr add 10.9.0.1/24 dev edge9
	ip link set edge9 up
	ip addr add fd09::1/64 dev edge9 nodad
	ip link set lo up
	ip route add default dev edge9
	ip -6 route add default dev edge9
	far ip link set to-here up
	mac=$(cat /sys/class/net/edge9/address)
	[ "$1" != vxlan ] || far bridge fdb append "$mac" dev to-here dst 10.0.0.1 vni 7 self
	printf '%s\n' 192.0.2.7 2001:db8::7 >list
	bloom load bad list --bogons=keep
	heard_by() {
		python3 "$bare" unlike "$far" to-here "$mac" "$1" "$2" 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6 | paste -sd' '
	}
	for way in "${ways[@]}"; do
		# shellcheck disable=SC2086 # words
		open[$way]=$(heard_by $way)
		echo "# ${way% *} in a frame of ${way#* }: ${open[$way]:-nobody}"
	done
	is "${open[0800 0800]}" "192.0.2.7 192.0.2.6" "who is heard without a filter"
	[ "$1" = veth ] || is "${open[0800 88b5]}" "192.0.2.7 192.0.2.6" "who is heard without a filter by another frame"
	for match in source both; do
		bloom attach edge9 --mode tc --match $match --force
		for way in "${ways[@]}"; do
			wanted=${open[$way]/192.0.2.7 /}
			# shellcheck disable=SC2086
			is "$(heard_by $way)" "${wanted/2001:db8::7 /}" "who is heard by $match, $way"
		done
	done
	[ "$1" != veth ] || return 0
	# As a version before attached it, by another root.
	bloom attach edge9 --match source
	mv "$bpffs/links/edge9%in%ip" "$bpffs/links/edge9%in"
	bloom add 192.0.2.8
	is "$(heard_by 0800 88b5)" "192.0.2.7 192.0.2.6" "who is heard where the frame is asked"
	bloom restore
	is "$(heard_by 0800 88b5)" 192.0.2.6 "who is heard"
	[ -e "$bpffs/links/edge9%in%ip" ] || fail "$(ls "$bpffs/links")"
	bloom detach edge9
	is "$(heard_by 0800 88b5)" "192.0.2.7 192.0.2.6" "who is heard in the end"
}

# A kind of another header: a VXLAN has none of Ethernet by a protocol of its own.
no_others() {
	prepare
	ip link add edge8 type vxlan dstport 4790 gpe external 2>/dev/null || skip "the kernel has no VXLAN (CONFIG_VXLAN)"
	is "$(cat /sys/class/net/edge8/type)" 65534 "its type"
	refused "edge8: its packets have no Ethernet header, and it is none of those that are read without" attach edge8
	refused "edge8: its packets have no Ethernet header" attach edge9 edge8 --mode skb
	is "$(xdp_id edge9)$(xdp_id edge8)" nonenone "the programs"
	bloom attach edge8 --mode tc
	is "$(get '.interfaces[0]|[.name,.mode]' show)" '["edge8","tc"]' "what show says"
}

run_cases types "no_far_end none" "no_far_end many" "${kinds[@]/#/filters skb }" "${kinds[@]/#/leaves }" on_trial restores heals no_others "in_fragments gre local 10.0.0.1 remote 10.0.0.2" \
	"in_fragments vxlan dstport 4790 gpe external" "as_said "{netkit,vxlan,veth} "by_tc tun" "by_tc ppp" \
	"by_tc vxlan id 7 dstport 4789 local HERE4 remote THERE4" "leaves ppp" \
	"says tun "{1,512}" "{skb,tc} "says tap "{512,65534}" "{skb,tc} \
	"tagged 10.0.0.1 "{skb,tc}" gre local HERE4 remote THERE4" "tagged fd00::1 "{skb,tc}" ip6gre local HERE6 remote THERE6"
