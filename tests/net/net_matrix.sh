#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each mode, match and family on each type of link: what is banned is dropped and nothing else, or it is refused in one line.
# A line for each; XDP_BLOOM_CASES is looked for in "tun skb both IPv6". For other kernels: make matrix.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"
# shellcheck source=../support/bare.sh
. "$here/bare.sh"

modes=(native skb tc egress)
matches=(source destination both)
families=(IPv4 IPv6)
# Those side by side are frames on one wire.
groups=("Ethernet VLAN QinQ PPPoE" tun wireguard gre)
declare -A tags=([Ethernet]=plain [VLAN]=vlan [QinQ]=qinq [PPPoE]=pppoe)

# cells LINKS MODE MATCH: those of them that are asked for, a line each.
cells() {
	local link family

	for link in $1; do
		for family in "${families[@]}"; do
			[[ ! "$link $2 $3 $family" =~ ${XDP_BLOOM_CASES:-} ]] || echo "$link $2 $3 $family"
		done
	done
}

# all_cells LINKS
all_cells() {
	local mode match

	for mode in "${modes[@]}"; do
		for match in "${matches[@]}"; do
			cells "$1" "$mode" "$match"
		done
	done
}

# prepare_frames, prepare_bare KIND: one wire, or one device, and lists of which the family can be told.
prepare_frames() {
	local family

	device=edge0
	setting
	for family in "${families[@]}"; do
		mkdir "$family"
		for list in banned clean everybody; do
			grep "$([ "$family" = IPv4 ] && echo '[.]' || echo :)" $list >"$family/$list"
		done
	done
}

prepare_bare() {
	local address

	[ -e /proc/sys/net/ipv6 ] || skip "needs IPv6 in the kernel"
	need nsenter
	device=edge9
	device "$@"
	# The other way, too, from addresses that this machine does not have.
	echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind
	for address in "${banned[@]}" "${clean[@]}"; do
		ip route replace "$address" dev edge9
	done
	printf '%s\n' 192.0.2.7 203.0.113.0/24 2001:db8::7 192.0.2.107 2001:db8::107 >list
	bloom load bad list --bogons=keep
}

# of FAMILY ADDRESS...: those of that family.
of() {
	local address

	for address in "${@:2}"; do
		case $1$address in
		IPv6*:* | IPv4*.*) echo "$address" ;;
		esac
	done
}

# judge_frames, judge_bare LINK MODE MATCH FAMILY
judge_frames() {
	local behind=()

	sends=send
	[ "$2" != egress ] || sends=leave
	[ "$2" != tc ] || behind=(-t)
	cd "$4" || exit 1
	by "$3" 0 -e "${tags[$1]}" "${behind[@]}"
}

# What is heard of all, of both families, is asked once: $heard.
hear() {
	if [ "$1" = egress ]; then
		far python3 "$bare" judged $BASHPID "${banned_to[@]#to/}" "${clean_to[@]#to/}" "${banned[@]/#/to/}" "${clean[@]/#/to/}"
	else
		python3 "$bare" judged "$far" "${banned[@]}" "${clean[@]}" "${banned_to[@]}" "${clean_to[@]}"
	fi
}

judge_bare() {
	local -a bad good bad_to good_to wanted

	bad=("${banned[@]}") good=("${clean[@]}") bad_to=("${banned_to[@]}") good_to=("${clean_to[@]}")
	if [ "$2" = egress ]; then
		bad=("${banned_to[@]#to/}") good=("${clean_to[@]#to/}") bad_to=("${banned[@]/#/to/}") good_to=("${clean[@]/#/to/}")
	fi
	wanted=("${good[@]}" "${good_to[@]}")
	[ "$3" != source ] || wanted+=("${bad_to[@]}")
	[ "$3" != destination ] || wanted+=("${bad[@]}")
	# shellcheck disable=SC2086 # words
	is "$(of "$4" $heard | sort | paste -sd' ')" "$(of "$4" "${wanted[@]}" | sort | paste -sd' ')" "what is heard"
}

# attach MODE MATCH: in the place of what was there.
attach() {
	if [ "$1" = egress ]; then
		"$XDP_BLOOM" detach "$device" --ingress >out 2>err
		bloom attach "$device" --egress --match "$2"
	else
		bloom attach "$device" --mode "$1" --match "$2"
	fi
}

# What is said where a driver or a kernel has no such thing: $refusal.
refuses_here() {
	refusal=
	case $1:$2 in
	tun:native | wireguard:native | gre:native) refusal='has no XDP' ;;
	esac
	case $1:$2 in
	gre:native | gre:skb) tunnels_are_clean gre || refusal='before 5.14 kernels' ;;
	esac
	[ -n "$refusal" ]
}

# judge_cell HOW LINK MODE MATCH FAMILY: a line for it, and why.
judge_cell() {
	if ("judge_$1" "${@:2}") </dev/null >why 2>&1; then
		echo "ok ${*:2}"
	else
		echo "not ok ${*:2}"
		cat why
	fi
}

# judge_group LINKS: what became of each cell, a line each, in $WORK.group.
judge_group() {
	local mode match cell how=bare heard device refusal

	case $1 in
	tun | wireguard) prepare_bare "$1" ;;
	gre) prepare_bare gre local HERE4 remote THERE4 ;;
	*) how=frames && prepare_frames ;;
	esac
	for mode in "${modes[@]}"; do
		for match in "${matches[@]}"; do
			cells "$1" "$mode" "$match" >these
			[ -s these ] || continue
			if refuses_here "$1" "$mode"; then
				refused "$refusal" attach "$device" --mode "$mode" --match "$match"
				sed "s/.*/ok &, refused: $refusal/" these
				continue
			fi
			attach "$mode" "$match"
			[ $how = frames ] || heard=$(hear "$mode" 2>&1)
			while read -r cell; do
				# shellcheck disable=SC2086 # words
				judge_cell $how $cell
			done <these
		done
	done
}

# tell LINKS STATUS: what the group said, numbered on from $n; what it did not come to is skipped, or failed.
tell() {
	local line cell

	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			n=$((n + 1))
			[ "${line%%,*}" = "$line" ] || refusals=$((refusals + 1))
			[[ $line = ok* ]] || failed=$((failed + 1))
			echo "${line/ok /ok $n }"
			;;
		*) echo "${line/#[!#]/# &}" ;;
		esac
	done <"$WORK.group"
	all_cells "$1" | while read -r cell; do
		grep -qE "^(not )?ok $cell(,|\$)" "$WORK.group" || echo "$cell"
	done >"$WORK.rest"
	while read -r cell; do
		n=$((n + 1))
		if [ "$2" = 4 ]; then
			skipped=$((skipped + 1))
			echo "ok $n $cell # SKIP $(cat "$WORK/skipped")"
		else
			failed=$((failed + 1))
			echo "not ok $n $cell"
		fi
	done <"$WORK.rest"
}

run_matrix() {
	local links n=0 failed=0 skipped=0 refusals=0 total status

	total=$(for links in "${groups[@]}"; do all_cells "$links"; done | wc -l)
	[ "$total" != 0 ] || { echo "Bail out! no cell has '$XDP_BLOOM_CASES' in it" && return 1; }
	printf 'TAP version 13\n1..%d\n# seed: XDP_BLOOM_SEED=%d\n' "$total" "$XDP_BLOOM_SEED"
	for links in "${groups[@]}"; do
		[ -n "$(all_cells "$links")" ] || continue
		rm -rf "${WORK:?}"/* "${XDP_BLOOM_BPFFS:?}"
		(
			trap stop_jobs EXIT
			skip_with=skip
			judge_group "$links"
		) >"$WORK.group" &
		wait $!
		status=$?
		stop_all
		remove_interfaces
		tell "$links" $status
	done
	printf '# %s: %d judged, %d refused, %d skipped\n' "$(uname -r)" $((n - refusals - skipped)) $refusals $skipped
	printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((n - failed - skipped)) $failed $skipped
	[ $failed = 0 ] || return 1
	[ $skipped != $n ] || return 4
}

run_matrix
