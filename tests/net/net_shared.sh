#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces that have another XDP program, or may get one: refused, or shared with it through libxdp.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"
# In an emulated machine only its kernel may be a reason to skip; a tool that is missing there is missing in its image.
[ -z "${XDP_BLOOM_MACHINE:-}" ] || need() { command -v "$@" >/dev/null || fail "there is no $*"; }

another_program_is_there() {
	local id mode=$1

	other_program
	prepare
	ip link set dev edge0 "$mode" obj other.o sec xdp 2>err || skip "the ip of this iproute2 attaches no programs: $(tail -n 1 err)"
	id=$(xdp_id edge0)
	refused edge0 attach edge0
	refused edge0 attach edge0 --mode skb
	refused edge0 attach edge0 --shared
	is "$(xdp_id edge0)" "$id" "the other program"
	sed -i 1q of_other
	send 0 -b of_other -c everybody
}

# Both of them see the traffic; then each of them without the other.
both_then_one() {
	cat banned of_other >of_both
	is "$(get '[.interfaces[]|.name]' show)" '["edge0"]' "what show says"
	send 0 -b of_both -c clean
	refused edge0 attach edge0 --shared
	bloom rotate
	send 0 -b of_both -c clean
	bloom detach edge0
	send 0 -b of_other -c everybody
	bloom attach edge0 --shared
	send 0 -b of_both -c clean
	expect 0 xdp-loader unload edge0 --id "$(other_id)"
	cat clean of_other >clean_and_other
	send 0 -b banned -c clean_and_other
	bloom detach edge0
	is "$(xdp_id edge0)" none "the program on edge0"
}

other_id() {
	xdp-loader status edge0 | awk '/other_program/ { print $4 }'
}

# shared MODE FIRST ARGS...: who is there first, and how the command attaches.
shared() {
	local mode=$1 first=$2

	shift 2
	other_program
	prepare
	need_dispatcher
	[ "$first" = other ] || bloom attach edge0 --mode "$mode" "$@"
	expect 0 xdp-loader load -m "$mode" edge0 other.o
	[ "$first" != other ] || bloom attach edge0 --mode "$mode" "$@"
	both_then_one
}

has_dispatcher() {
	need xdp-loader
	expect 0 xdp-loader load -m skb edge1 other.o
	xdp-loader status edge1 | grep -q xdp_dispatcher
}

need_dispatcher() {
	has_dispatcher || skip_dispatcher
}

# Without a dispatcher libxdp would put our program there alone, where no other program can join it or take it away.
shared_without_dispatcher() {
	other_program
	prepare
	! has_dispatcher || skip "the kernel loads programs of type EXT (freplace): there is a dispatcher"
	refused edge0 attach edge0 --shared
	is "$(xdp_id edge0)" none "the program on edge0"
	refused edge1 attach edge1
	refused edge1 attach edge1 --shared
	send 1 -b of_other -c clean
}

# An interface that comes back has no dispatcher; nor has one whose programs others took away.
shared_is_lost() {
	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	filters 0
	ip link del edge0
	veth 0
	passes_all 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,true]]' "what show says of one that came back"
	bloom attach edge0 --shared --if-needed
	filters 0
	expect 0 xdp-loader unload edge0 --all
	passes_all 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,true]]' "what show says of one taken away"
	bloom attach edge0 --shared
	filters 0
	bloom detach edge0
	passes_all 0
}

# It filters on under its new name, what is in force, until it is detached under the old one.
shared_is_renamed() {
	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	filters_renamed
	printf '%s\n' 192.0.2.6 2001:db8::6 >list
	printf '%s\n' 192.0.2.6 2001:db8::6 >banned
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0 >clean
	bloom load bad list --force
	filters 8
	bloom detach edge0
	passes_all 8
}

# Who may not have libxdp put the new generation there leaves the old one in force everywhere, as the service does.
shared_without_the_right() {
	local generation
	local -a limited=(setpriv --bounding-set "-all,+bpf,+net_admin,+perfmon" --inh-caps -all)

	setpriv --list-caps | grep -q perfmon || skip "needs a setpriv that knows CAP_PERFMON, of a newer package util-linux"
	ulimit -l unlimited 2>/dev/null # before 5.11 maps count against it
	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	generation=$(get .generation show)
	expect 2 "${limited[@]}" "$XDP_BLOOM" rotate
	one_line "edge0: to share an interface with other programs, libxdp wants CAP_SYS_ADMIN, too"
	is "$(get .generation show)" "$generation" "the generation"
	expect 0 "${limited[@]}" "$XDP_BLOOM" -j show
	is "$(jq -c '[.interfaces[]|[.name,.moved,.gone]]' out)" '[["edge0",false,false]]' "what show says"
	expect 2 "${limited[@]}" "$XDP_BLOOM" detach edge0
	one_line "libxdp wants CAP_SYS_ADMIN, too"
	filters 0
	bloom rotate
	filters 0
	bloom detach edge0
	passes_all 0
}

# Two instances side by side: each takes away only its own.
shared_by_two_instances() {
	local second=(-S "$WORK/state2" -B "$XDP_BLOOM_BPFFS-2")

	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	bloom "${second[@]}" load other of_other
	bloom "${second[@]}" attach edge0 --shared
	cat banned of_other >of_both
	send 0 -b of_both -c clean
	bloom "${second[@]}" detach edge0
	send 0 -b banned -c clean
	send 0 -c of_other
	bloom "${second[@]}" attach edge0 --shared
	bloom detach edge0
	send 0 -b of_other -c everybody
	bloom "${second[@]}" detach --all
	rm -rf "$XDP_BLOOM_BPFFS-2"
}

ours() {
	xdp-loader status edge0 | grep -c xdp_bloom_gen
}

# cut_short CALL PATH ARGS...: the command is killed at its call of that name, of that pin; CALL:2 at the second.
cut_short() {
	local call=${1%:*} nth=${1#*:} path=$2

	shift 2
	[ "$nth" != "$call" ] || nth=1
	# The shell that says of it that it was killed is not this one.
	(
		strace -o /dev/null -e trace="$call" -e inject="$call:signal=KILL:when=$nth" -P "$path" "$XDP_BLOOM" "$@"
		exit $?
	) >out 2>err
	is "$?" 137 "status of $*, to be killed at $call $path ($(cat err))"
}

# One program follows the other there. Whichever command is killed in between, the next one leaves only the program in
# force.
shared_cut_short() {
	local pin=$XDP_BLOOM_BPFFS/links/edge0%shared at

	need strace
	strace -e trace=rename,mkdir,rmdir,unlink true 2>/dev/null || skip "this kind of machine has no such system calls as mkdir"
	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	cp banned banned_too
	echo 192.0.2.8 >>banned_too
	grep -vx 192.0.2.8 clean >fewer
	# Before the new program; behind it, without a pin; with it; behind the old one.
	for at in mkdir%exchange unlink%new rename%new unlink:2%new rmdir%exchange; do
		cut_short "${at%\%*}" "$pin%${at#*%}" rotate
		bloom add 192.0.2.8
		is "$(ours)" 1 "programs of ours behind the dispatcher, after $at"
		send 0 -b banned_too -c fewer
		is "$(find "$XDP_BLOOM_BPFFS/links" -name 'edge0*' | wc -l)" 1 "the pins of edge0, after $at"
		bloom del 192.0.2.8
	done
	bloom detach edge0
	cut_short rename "$pin%new" attach edge0 --shared
	filters 0
	bloom rotate
	is "$(get .interfaces show)" '[]' "the interfaces"
	passes_all 0
}

# alone ARGS...: with --confirm 1s, and nobody waits for that but the kernel.
alone() {
	bloom "$@" --confirm 1s
	pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch" | xargs -r kill -KILL
}

# lets_through FILE
lets_through() {
	(send 0 -c "$1") >/dev/null 2>&1
}

# Behind a dispatcher what is on trial lets everything pass when its time is over, and the next command brings the rest.
# Where the time was over before the program ran, what was there before runs.
shared_on_trial() {
	need pgrep
	other_program
	prepare
	need_dispatcher
	bloom attach edge0 --shared
	echo 198.51.100.77 >extra
	bloom add 198.51.100.77 --confirm 1h
	send 0 -b extra -c clean
	bloom confirm
	cat banned extra >all
	send 0 -b all -c clean
	bloom del 198.51.100.77
	alone add 198.51.100.77
	wait_until "that edge0 lets through whom it did before" lets_through extra
	expect 2 "$XDP_BLOOM" confirm
	cat clean extra >others
	send 0 -b banned -c others
	bloom detach edge0
	alone attach edge0 --shared
	wait_until "that edge0 lets everybody through" lets_through everybody
	expect 2 "$XDP_BLOOM" confirm
	is "$(xdp_id edge0)" none "the program on edge0"
}

run_cases "another_program_is_there xdpdrv" "another_program_is_there xdpgeneric" shared_without_dispatcher \
	"shared native other --shared" "shared skb other --shared" "shared native other" "shared skb other" \
	"shared native us --shared" "shared skb us --shared" shared_is_lost shared_is_renamed shared_without_the_right \
	shared_by_two_instances shared_cut_short shared_on_trial
