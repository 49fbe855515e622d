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

cases=()
for mode in native skb tc; do
	for family in ipv4 ipv6; do
		for tags in plain vlan qinq pppoe qinq+pppoe vlan+vlan+vlan; do
			cases+=("filters $mode $family $tags")
		done
	done
	cases+=("lets_through $mode ipv6 plain")
done
run_cases "${cases[@]}"
