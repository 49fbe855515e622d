# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces whose packets begin with IP, and a network namespace at their other end: behind lib.sh and sandbox.
bare=$(realpath "${here:?}/../net/bare.py")

banned=(192.0.2.7 203.0.113.0 203.0.113.255 2001:db8::7)
clean=(192.0.2.6 203.0.112.255 2001:db8::6)
# The same, as destinations.
banned_to=(to/192.0.2.107 to/203.0.113.100 to/2001:db8::107)
clean_to=(to/192.0.2.106 to/203.0.114.0 to/2001:db8::106)

far() {
	nsenter -t "${far:?}" -n "$@"
}

# A network namespace beside this one, and a wire between.
apart() {
	other_network
	ip link add to-far type veth peer name to-here netns "$far"
	ip addr add 10.0.0.1/24 dev to-far
	ip addr add fd00::1/64 dev to-far nodad
	far ip addr add 10.0.0.2/24 dev to-here
	far ip addr add fd00::2/64 dev to-here nodad
	ip link set to-far up
	far ip link set lo up
	far ip link set to-here up
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

# device KIND ARGS...
device() {
	umask 077
	apart
	case $1 in
	tun | tap)
		ip tuntap add edge9 mode "$1" 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
		far ip tuntap add edge9 mode "$1"
		TUN_KIND=$1 python3 "$bare" relay "$far" edge9 >flowing &
		wait_until "the relay" grep -qs flowing flowing
		;;
	wireguard)
		need wg
		both "$@"
		wireguard
		;;
	ppp)
		python3 -c 'import socket; socket.socket(24, socket.SOCK_STREAM)' 2>/dev/null || skip "the kernel has no PPPoE (CONFIG_PPPOE)"
		[ -e /dev/ppp ] || mknod /dev/ppp c 108 0
		python3 "${bare%/*}/talk.py" ppp to-far "$far" to-here >session &
		wait_until "the session" grep -qs ready session
		ip link set ppp0 name edge9
		far ip link set ppp0 name edge9
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

tunnels_are_clean() {
	case $1 in
	tun | wireguard) return 0 ;;
	esac
	[ "$(printf '%s\n' 5.14 "$(uname -r)" | sort -V | head -n 1)" = 5.14 ]
}

# shellcheck disable=SC2034 # for who asked
kinds=(tun wireguard "gre local HERE4 remote THERE4" "ipip local HERE4 remote THERE4" "sit mode any local HERE4 remote THERE4"
	"ip6tnl mode any local HERE6 remote THERE6" "ip6gre local HERE6 remote THERE6")
