#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# upgrade.sh, with OTHER=another version's xdp-bloom: what that one has put into force this one takes over while packets
# are flowing, and the other way round. Behind make upgrade-test.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tests/support/lib.sh"
[ -x "${OTHER:-}" ] || skip_all "needs OTHER=, the path of another version's command"
OTHER=$(realpath "$OTHER")
export OTHER
sandbox "$@"
# shellcheck source=../tests/support/older.sh
. "$here/older.sh"
# shellcheck source=../tests/support/service.sh
. "$here/service.sh"

newer=$XDP_BLOOM

# version newer|older: from here on `bloom` and `get` are that one.
version() {
	XDP_BLOOM=$newer
	[ "$1" = newer ] || XDP_BLOOM=$OTHER
}

# puts_into_force: lists of every kind, live bans, settings, an interface, and packets that flow.
puts_into_force() {
	judge list 2000 200 200 >random
	printf '%s\n' 198.18.0.0/24 2001:db8:5::/48 >seen
	printf '%s\n' 203.0.113.9 2001:db8:6::9 >mine
	judge sample of_random 500 random
	bloom load drop random --bogons=keep
	bloom load --shadow odd seen --bogons=keep
	bloom load --allow friends mine
	bloom add 198.51.100.7 2001:db8:7::/64 --ttl 1h --reason "an upgrade" --force
	bloom tune --headroom 30
	# What the older one does not know is in nobody's way.
	[ "$XDP_BLOOM" != "$newer" ] || bloom detect limit syn 100/s
	[ "$XDP_BLOOM" != "$newer" ] || bloom detect on
	veth 0
	bloom attach edge0
	grep -vxf mine of_random/banned >banned
	cat of_random/clean mine >clean
	printf '%s\n' 198.51.100.7 2001:db8:7::7 >>banned
	flow 0 -b banned -c clean
}

# says: all that can be asked, without what time or traffic changes.
says() {
	local words

	for words in lists show bans allow tune "state check" "test 198.51.100.7 203.0.113.9 198.18.0.1 2001:db8:7::7 192.0.2.1"; do
		echo "$words"
		# shellcheck disable=SC2086 # a verb and its operands
		get 'del(.. | .packets?, .bytes?, .seconds_left?, .age?, .age_seconds?, .seconds?, .memory?, .counters?)' $words
	done
}

# same FROM TO: both say the same of what FROM has put into force.
same() {
	version "$1"
	puts_into_force
	says >before
	version "$2"
	says >after
	stop_flow 0
	[ "$(wc -c <before)" -gt 2000 ] || fail "$1 says too little: $(cat before)"
	cp before fields
	[ "$1" = older ] || cp after fields
	is "$(diff <(only_fields_of fields <before) <(only_fields_of fields <after))" "" "what $2 says otherwise than $1"
}

# taken_over FROM TO: TO goes on where FROM was, with every verb, and no packet is judged wrongly meanwhile.
taken_over() {
	local n

	version "$1"
	puts_into_force
	version "$2"
	[ "$XDP_BLOOM" != "$newer" ] || is "$(get '.on, .limits.syn.rate, .limits.packets.rate' detect)" $'false\n200\n20000' \
		"the detector of a state that has none"
	bloom add 198.51.100.8 --reason "after the upgrade"
	bloom del 198.51.100.8
	for n in {1..5}; do
		bloom rotate
	done
	bloom tune --fpr 0.01
	bloom load second seen --bogons=keep
	bloom unload second
	bloom tune --fpr 0.001
	bloom state check
	bloom restore
	verdicts 198.51.100.7=drop 203.0.113.9=pass
	flowed
	bloom detach edge0
	bloom flush
}

# Ends the traffic, and says how much of it there was: each packet was judged rightly.
flowed() {
	stop_flow 0
	[ "$(sent .banned.sent)" -gt 100 ] || fail "too little traffic: $(cat sent)"
	sent '"# \(.banned.sent) packets of banned sources, \(.banned.arrived) passed; \(.clean.sent) of others, \(.clean.lost) lost"'
}

# restarted FROM TO: the service of FROM ends, and that of TO goes on; each time by another signal, there and back.
restarted() {
	local signal to

	version "$1"
	puts_into_force
	printf '%s\n' "load drop $PWD/random --bogons=keep" "load --shadow odd $PWD/seen --bogons=keep" "load --allow friends $PWD/mine" \
		"attach edge0" "tune --headroom 30" >conf
	ready
	for to in "$2" "$1" "$2"; do
		for signal in TERM KILL; do
			kill -$signal "$service_pid"
			end_of "$service_pid" || true
			version "$to"
			ready
			bloom add 198.51.100.8 --reason "by $to"
			bloom rotate
		done
	done
	kill -TERM "$service_pid"
	end_of "$service_pid" || true
	verdicts 198.51.100.7=drop 198.51.100.8=drop 203.0.113.9=pass
	bloom state check
	flowed
}

# image FROM TO: what FROM saved, TO loads and says the same of.
image() {
	version "$1"
	puts_into_force
	stop_flow 0
	bloom save saved
	"$XDP_BLOOM" -j image show saved >before
	version "$2"
	"$XDP_BLOOM" -j image show saved >after
	is "$(diff before after)" "" "what $2 says otherwise of an image than $1"
	bloom load --image saved --force
	verdicts 198.51.100.7=drop 203.0.113.9=pass
	send 0 -b banned -c clean -n 1
}

run_cases "same older newer" "same newer older" "taken_over older newer" "taken_over newer older" "restarted older newer" "restarted newer older" \
	"image older newer" "image newer older"
