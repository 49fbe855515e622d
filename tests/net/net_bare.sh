#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces whose packets begin with IP: tun, WireGuard and the tunnels. What has no such device skips it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
bare=$(realpath "$(dirname "$0")/bare.py")
sandbox "$@"
[ -e /proc/sys/net/ipv6 ] || skip_all "needs IPv6 in the kernel"
need nsenter
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

banned=(192.0.2.7 203.0.113.0 203.0.113.255 2001:db8::7)
clean=(192.0.2.6 203.0.112.255 2001:db8::6)
# The same, as destinations.
banned_to=(to/192.0.2.107 to/203.0.113.100 to/2001:db8::107)
clean_to=(to/192.0.2.106 to/203.0.114.0 to/2001:db8::106)

far() {
	nsenter -t "$far" -n "$@"
}

# A network namespace beside this one, and a wire between.
apart() {
	unshare --net sleep infinity &
	far=$!
	wait_until "the other namespace" elsewhere
	ip link add to-far type veth peer name to-here netns "$far"
	ip addr add 10.0.0.1/24 dev to-far
	ip addr add fd00::1/64 dev to-far nodad
	far ip addr add 10.0.0.2/24 dev to-here
	far ip addr add fd00::2/64 dev to-here nodad
	ip link set to-far up
	far ip link set lo up
	far ip link set to-here up
}

elsewhere() {
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# both ARGS...: the same device at both ends; HERE and THERE are their addresses.
both() {
	# shellcheck disable=SC2046 # words
	ip link add edge9 type $(said 10.0.0.1 10.0.0.2 fd00::1 fd00::2 "$@") 2>/dev/null ||
		skip "the kernel has no devices of the kind $1"
	# shellcheck disable=SC2046
	far ip link add edge9 type $(said 10.0.0.2 10.0.0.1 fd00::2 fd00::1 "$@") || fail "no $1 at the other end"
}

said() {
	echo "${@:5}" | sed "s/HERE4/$1/; s/THERE4/$2/; s/HERE6/$3/; s/THERE6/$4/"
}

wireguard() {
	local end

	for end in here there; do
		wg genkey >$end.key || fail "no key"
	done
	wg set edge9 private-key here.key listen-port 5000 peer "$(wg pubkey <there.key)" allowed-ips 0.0.0.0/0,::/0 endpoint 10.0.0.2:5000
	far wg set edge9 private-key there.key listen-port 5000 peer "$(wg pubkey <here.key)" allowed-ips 0.0.0.0/0,::/0 endpoint 10.0.0.1:5000
}

addresses() {
	local setting address

	for setting in all edge9; do
		echo 0 >/proc/sys/net/ipv4/conf/$setting/rp_filter
	done
	ip link set lo up
	ip addr add 10.9.0.1/24 dev edge9
	ip link set edge9 up
	ip addr add fd09::1/64 dev edge9 nodad
	far ip addr add 10.9.0.2/24 dev edge9
	far ip link set edge9 up
	far ip addr add fd09::2/64 dev edge9 nodad
	for address in "${banned[@]}" "${clean[@]}"; do
		far ip addr add "$address" dev lo
	done
	for address in "${banned_to[@]}" "${clean_to[@]}"; do
		# Not an address of this machine, which nobody may ban, but heard here.
		ip route replace local "${address#to/}" dev lo
		far ip route add "${address#to/}" dev edge9
	done
}

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

# device KIND ARGS...
device() {
	umask 077
	apart
	case $1 in
	tun)
		ip tuntap add edge9 mode tun 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
		far ip tuntap add edge9 mode tun
		python3 "$bare" relay "$far" edge9 >flowing &
		wait_until "the relay" grep -qs flowing flowing
		;;
	wireguard)
		need wg
		both "$@"
		wireguard
		;;
	ipip)
		banned=("${banned[@]:0:3}")
		clean=("${clean[@]:0:2}")
		banned_to=("${banned_to[@]:0:2}")
		clean_to=("${clean_to[@]:0:2}")
		both "$@"
		;;
	*) both "$@" ;;
	esac
	addresses
}

has() {
	is "$(xdp_id edge9)" "$1" "the program on edge9"
}

# filters MODE KIND ARGS...
filters() {
	local mode=$1 match

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
	for match in destination both source; do
		bloom attach edge9 --match $match
		by $match
	done
	bloom detach edge9
	arrive "${banned[@]}" "${clean[@]}"
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
	if tunnels_are_clean "$1"; then
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

prepare() {
	device tun
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

# Frames of radio, say, in a device that has the name of another kind.
no_others() {
	prepare
	python3 - <<-'PYTHON' || fail "no other type"
		import fcntl, os, struct
		fd = os.open("/dev/net/tun", os.O_RDWR)
		fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"edge8", 0x1001))
		fcntl.ioctl(fd, 0x400454CB, 1)  # it stays
		fcntl.ioctl(fd, 0x400454CD, 801)
	PYTHON
	refused "edge8: its packets have no Ethernet header, and it is none of those that are read without" attach edge8
	refused "edge8: its packets have no Ethernet header" attach edge9 edge8 --mode skb
	is "$(xdp_id edge9)$(xdp_id edge8)" nonenone "the programs"
}

tunnels_are_clean() {
	case $1 in
	tun | wireguard) return 0 ;;
	esac
	[ "$(printf '%s\n' 5.14 "$(uname -r)" | sort -V | head -n 1)" = 5.14 ]
}

kinds=(tun wireguard "gre local HERE4 remote THERE4" "ipip local HERE4 remote THERE4" "sit mode any local HERE4 remote THERE4"
	"ip6tnl mode any local HERE6 remote THERE6" "ip6gre local HERE6 remote THERE6")
run_cases "${kinds[@]/#/filters skb }" "${kinds[@]/#/leaves }" on_trial restores heals no_others
