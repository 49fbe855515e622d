#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# virtio_net as virtio.sh makes it, which boots a machine for this: what doctor says of it is what attach does, and packets are judged.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
[ -n "${XDP_BLOOM_MACHINE:-}" ] || skip_all "needs an emulated machine: make virtio-test"
sandbox "$@"
need ethtool nsenter

# What comes into a virtN leaves from a wireN.
for device in $(nsenter --net=/proc/1/ns/net ip -j link | jq -r '.[] | select(.address | startswith("52:54:00:00:")) |
	.ifname + "," + .address'); do
	n=$((16#$(cut -d : -f 5 <<<"$device")))
	name=$([ "${device##*:}" = 00 ] && echo virt || echo wire)$n
	nsenter --net=/proc/1/ns/net ip link set "${device%%,*}" netns $$ name "$name"
	echo 1 >"/proc/sys/net/ipv6/conf/$name/disable_ipv6"
	ip link set "$name" promisc on up
done
[ -e /sys/class/net/virt2 ] || skip_all "there are no interfaces to try it on"

# combined N: how many queues it may have, and has.
combined() {
	ethtool -l "virt$1" | awk '/^Combined/ { print $2 }' | paste -sd' '
}

through() {
	"$TRAFFIC" "$@" "wire$n" "virt$n" >sent 2>err || fail "traffic $* through virt$n: $(cat err sent)"
}

# filters MODE INTERFACE-NUMBER: doctor finds that mode, attach takes it, and packets are judged; then it is detached.
filters() {
	local mode=$1

	n=$2
	a_list
	seq -f 198.51.100.%g 1 100 >>clean
	bloom load bad list
	expect 0 "$XDP_BLOOM" doctor "virt$n"
	if [ "$mode" = native ]; then
		grep -qE "^ok  *virt$n  *native mode \(virtio_net, MTU $(cat "/sys/class/net/virt$n/mtu")" out || fail "not said by doctor: $(cat out)"
	else
		grep -E "^note  *virt$n  *skb mode, slower and behind the driver: " out | grep -qF "$3" || fail "not said by doctor: $(cat out)"
	fi
	expect 0 "$XDP_BLOOM" attach "virt$n"
	grep -qx "virt$n: filtering, $mode mode" out || fail "not in $mode mode: $(cat out err)"
	ip link set "virt$n" up
	through -b banned -c clean
	echo "# $(uname -r), virt$n: $mode; queues, at most and in use: $(combined "$n")"
	bloom detach "virt$n"
}

# Those in use, and one for each CPU: there are four, for two CPUs.
queues() {
	is "$(combined 0)" "4 2" "the most queues, and those in use"
	filters native 0
	# Packets come by both: each has a program.
	ethtool -S virt0 | awk '/rx(_queue_)?[01]_xdp_packets/ { had += $2 > 0 } END { exit had < 2 }' ||
		fail "not by two queues: $(ethtool -S virt0 | grep rx)"
}

fewer_queues() {
	is "$(combined 1)" "2 2" "the most queues, and those in use"
	filters native 1
}

joined_by_the_host() {
	a_list
	bloom load bad list
	refused 'the host joins packets or leaves out their checksums, and does not let this machine change that' attach virt2 --mode native
	filters skb 2 'the host joins packets'
}

jumbo() {
	local most

	expect 0 "$XDP_BLOOM" doctor virt0
	most=$(sed -n 's/.*at most \([0-9]*\).*/\1/p' out)
	if [ -z "$most" ]; then
		ip link set virt0 mtu 9000
		filters native 0
	else
		ip link set virt0 mtu $((most + 1))
		filters skb 0 "its MTU is $((most + 1)), and its driver (virtio_net) has at most $most in native mode"
		ip link set virt0 mtu "$most"
		filters native 0
	fi
	ip link set virt0 mtu 1500
}

run_cases queues fewer_queues joined_by_the_host jumbo
