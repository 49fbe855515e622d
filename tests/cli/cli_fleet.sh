#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Members of a fleet: what they say is on accounts of their own, within what this machine accepts, and never what it needs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# says LINE...: lines of follow; all are acknowledged.
says() {
	printf '%s\n' "$@" | expect 0 "$XDP_BLOOM" follow -
	is "$(tail -n 1 out)" "ok $#" "what is acknowledged"
}

# of MEMBER JQ: what fleet has of it.
of() {
	get "[.members[] | select(.member == \"$1\")][0] | $2" fleet
}

nothing_is_taken() {
	says '@edge-7 +45.0.0.1 1h syn flood'
	verdicts 45.0.0.1=pass
	is "$(of edge-7 '[.rule, .taken, .refused, .refused_last]')" '["none",0,1,"it is not accepted"]' "what is known of it"
	expect 0 "$XDP_BLOOM" fleet
	grep -q 'refused last: it is not accepted' out || fail "it does not say why: $(cat out)"
}

on_its_account() {
	bloom fleet accept edge-7
	says '@edge-7 +45.0.0.1 1h 41 k SYN/s' '@edge-7 +2001:db8:7::/48 1h' '+45.0.0.2 1h mine'
	verdicts 45.0.0.1=drop 2001:db8:7::9=drop 45.0.0.2=drop
	is "$(get '[.[] | .prefix + " " + (.reason // "")]' bans)" \
		'["45.0.0.1 edge-7: 41 k SYN/s","45.0.0.2 mine","2001:db8:7::/48 edge-7"]' "bans"
	is "$(get '[.[] | .prefix + " " + (.reason // "")]' bans --from edge-7)" '["45.0.0.1 41 k SYN/s","2001:db8:7::/48 "]' "its bans"
	"$XDP_BLOOM" test 45.0.0.1 >out
	grep -Eq '^    banned by edge-7, [0-9]+s ago, 41 k SYN/s \(until 20' out || fail "test does not say who: $(cat out)"
	is "$(get '.[0].entries[0].said | [length, .[0].member, .[0].reason]' test 45.0.0.1)" '[1,"edge-7","41 k SYN/s"]' "test as JSON"
	# What only others ban is not this machine's to take back, but to allow.
	refused "45.0.0.1 is not banned by this machine, but by members of the fleet (edge-7: 41 k SYN/s): allow 45.0.0.1" del 45.0.0.1
	bloom allow 45.0.0.1
	verdicts 45.0.0.1=pass
	bloom disallow 45.0.0.1
	# Both say it: each takes back its own.
	bloom add 45.0.0.1 --reason also
	is "$(get '.[0].reason' bans 45.0.0.1)" also "the reason of both"
	"$XDP_BLOOM" test 45.0.0.1 >out
	is "$(grep -c 'banned by this machine,\|banned by edge-7,' out)" 2 "who says it ($(cat out))"
	says '@edge-7 -45.0.0.1'
	verdicts 45.0.0.1=drop
	is "$(get '[.[] | .reason, .expires]' bans 45.0.0.1)" '["also",null]' "what is left"
	says '@edge-7 +45.0.0.1 1h again'
	bloom del 45.0.0.1
	verdicts 45.0.0.1=drop
	is "$(get '.[0].reason' bans 45.0.0.1)" "edge-7: again" "what is left"
	refused "members of the fleet ban 45.0.0.1, too" add 45.0.0.1 --confirm 60s
	says '@edge-7 -45.0.0.1' '@edge-7 -45.0.0.9'
	verdicts 45.0.0.1=pass 2001:db8:7::9=drop
	bloom state check
}

waits_no_more() {
	[ "$(get '.waiting | length' show)" = 0 ]
}

# This machine's own ban goes back; what a member has said meanwhile stays.
beside_a_trial() {
	bloom fleet accept edge-7
	bloom add 45.0.0.1 45.0.0.2 45.0.0.3 --confirm 3s
	says '@edge-7 +45.0.0.1 1h scans' '@edge-7 +45.0.0.2 1h' '@edge-7 -45.0.0.2'
	wait_until "the end of the trial" waits_no_more
	verdicts 45.0.0.1=drop 45.0.0.2=pass 45.0.0.3=pass
	is "$(get '.[0].reason' bans 45.0.0.1)" "edge-7: scans" "the ban that stays"
	is "$(of edge-7 '[.bans, .refused]')" '[1,0]' "what was taken"
	says '@edge-7 -45.0.0.1'
	verdicts 45.0.0.1=pass
	bloom state check
}

forgotten() {
	local before

	bloom fleet accept '*'
	for i in $(seq 600); do
		echo "@edge-7 +46.0.$((i / 200)).$((i % 200)) 1h"
		echo "@edge-8 +46.1.$((i / 200)).$((i % 200)) 1h"
	done >lines
	{ cat lines && echo '@edge-8 +46.0.0.7 2h' && echo '+46.0.0.8 3h'; } | expect 0 "$XDP_BLOOM" follow -
	is "$(get .count bans --count)" 1200 "bans"
	before=$(get .generation show)
	is "$(get .forgotten fleet forget edge-7)" 600 "how many are forgotten"
	[ "$(get .generation show)" -le $((before + 1)) ] || fail "it took more than one generation"
	is "$(get .count bans --count)" 602 "bans"
	verdicts 46.0.0.7=drop 46.0.0.8=drop 46.0.0.9=pass 46.0.2.9=pass 46.1.0.7=drop
	is "$(of edge-7 .bans) $(of edge-8 .bans)" "null 601" "on their accounts"
	refused "nothing was heard of a member 'edge-9'" fleet forget edge-9
	bloom state check
}

within_its_limits() {
	bloom fleet accept edge-7 --max-entries 2 --max-ttl 60s --prefix-at-least /28,/64 --rate 0.001/s
	says '@edge-7 +45.0.0.0/24 1h wide' '@edge-7 +2001:db8::/48 1h wide' '@edge-7 +45.0.0.16/28 100d long' '@edge-7 +45.0.1.1 - no end' \
		'@edge-7 +45.0.1.2 1h a third'
	verdicts 45.0.0.1=pass 2001:db8::1=pass 45.0.0.17=drop 45.0.1.1=drop 45.0.1.2=pass
	is "$(get '[.[] | .seconds_left <= 60 and .seconds_left > 0] | all' bans)" true "their ends"
	is "$(of edge-7 '[.bans, .taken, .refused]')" '[2,2,3]' "what was taken"
	# A line that is repeated changes nothing, and what one of them says is what holds.
	before=$("$XDP_BLOOM" events | wc -l)
	bloom fleet accept edge-7 --max-entries 2 --max-ttl 60s --prefix-at-least /28,/64 --rate 0.001/s
	is "$("$XDP_BLOOM" events | wc -l)" "$before" "events"
	bloom fleet accept edge-7 --max-entries 10
	is "$(of edge-7 '.limits | [.max_entries, .max_ttl, .prefix4_at_least, .prefix6_at_least, .rate, .shadow, .quorum] | map(if type == "number" then floor else . end)')" \
		'[10,86400,24,48,1000,false,1]' "the limits"
	bloom fleet refuse edge-7
	says '@edge-7 +45.0.0.9 1h'
	verdicts 45.0.0.9=pass 45.0.1.1=drop
	is "$(of edge-7 '[.rule, .refused_last]')" '["refused","it is not accepted"]' "what is known of it"
}

quorum_and_shadow() {
	bloom fleet accept '*' --quorum 2
	bloom fleet accept watcher --shadow
	says '@a +45.0.0.1 1h one' '@watcher +45.0.0.1 1h' '@watcher +45.0.0.2 1h' '@a +45.0.0.3 1h' '@b +45.0.0.3 30m'
	verdicts 45.0.0.1=pass 45.0.0.2=pass 45.0.0.3=drop
	is "$(get '.[0].seconds_left | . > 1700 and . <= 1800' bans)" true "it ends with the first of two"
	says '@b +45.0.0.1 1h two'
	verdicts 45.0.0.1=drop
	says '@a -45.0.0.1'
	verdicts 45.0.0.1=pass
	# Another rule judges what was said before.
	bloom fleet accept '*'
	bloom fleet accept watcher
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop
	bloom fleet accept watcher --shadow
	verdicts 45.0.0.2=pass
	is "$(get '[.[].prefix]' bans --from watcher)" '["45.0.0.1","45.0.0.2"]' "what it says"
}

what_is_needed() {
	ip addr add 45.0.9.1/32 dev lo
	bloom fleet accept edge-7
	{
		seq -f '@edge-7 +46.0.1.%g 1h' 200
		echo '@edge-7 +45.0.9.0/24 1h x'
		seq -f '@edge-7 +46.0.2.%g 1h' 200
	} | expect 0 "$XDP_BLOOM" follow -
	is "$(tail -n 1 out)" "ok 401" "what is acknowledged"
	is "$(of edge-7 '[.taken, .waiting, .refused]')" '[401,1,0]' "what was taken"
	of edge-7 .needed | grep -q '45.0.9.0/24 bans 45.0.9.1, an address of this machine' || fail "why: $(of edge-7 .)"
	verdicts 45.0.9.1=pass 46.0.2.200=drop
	# Nobody could take back what cuts this machine off from who says it.
	bloom fleet join redis://45.7.7.7:7000 --as edge-1 --read "redis://[2a07::7]"
	says '@edge-7 +45.7.7.7 1h' '@edge-7 +2a07::/48 1h' '@edge-7 +45.7.7.8 1h'
	verdicts 45.7.7.7=pass 2a07::7=pass 45.7.7.8=drop
	is "$(of edge-7 '[.waiting, .refused]')" '[3,0]' "what waits"
	says '@edge-7 -45.0.9.0/24' '@edge-7 -45.7.7.7'
	of edge-7 .needed | grep -q '2a07::/48 bans 2a07::7, the server of its fleet' || fail "why: $(of edge-7 .)"
	echo 45.7.7.7 >list
	refused "45.7.7.7, the server of its fleet (fleet join redis://45.7.7.7:7000)" load drop list
	bloom fleet leave
	bloom load drop list
}

passes() {
	[ "$("$XDP_BLOOM" -j test "$1" | jq -r ".[0].verdict")" = pass ]
}

ends_and_reboots() {
	bloom fleet accept '*'
	bloom add 45.0.0.2 --reason own
	says '@edge-7 +45.0.0.1 2s' '@edge-7 +45.0.0.2 2s' '@edge-7 +45.0.0.3 1h'
	wait_until "the end of the first" passes 45.0.0.1
	verdicts 45.0.0.2=drop 45.0.0.3=drop
	rm -rf "$XDP_BLOOM_BPFFS"
	bloom restore
	verdicts 45.0.0.1=pass 45.0.0.2=drop 45.0.0.3=drop
	bloom del 45.0.0.2
	verdicts 45.0.0.2=pass
	# Of what is lost, the rest.
	bloom state recover
	is "$(get '[.[].prefix]' bans --from edge-7)" '["45.0.0.3"]' "what it says"
	bloom flush
	is "$(get length bans) $(of edge-7 .bans)" "0 0" "bans after flush"
	bloom state check
}

# A step back to a version that knows no fleet, and forward again. That version is played by what it does to the file.
stepped_back() {
	local added

	need sqlite3
	bloom fleet accept edge-7
	says '@edge-7 +45.0.0.1 1h a' '@edge-7 +45.0.0.2 1h b' '@edge-7 +45.0.0.3 1h c' '+45.0.0.3 2h mine' '+45.0.0.4 1h mine'
	added=$(date +%s)
	sqlite3 "$XDP_BLOOM_STATE/state.db" "
		UPDATE ban SET added = $added, expires = $((added + 7200)), due = NULL, reason = 'by hand' WHERE first = x'2d000001';
		DELETE FROM ban WHERE first IN (x'2d000002', x'2d000003', x'2d000004');
		UPDATE setting SET value = value + 1 WHERE name = 'generation'" || fail "sqlite3"
	bloom add 45.0.0.9
	# Members' words hold as they say them; what was banned by hand is this machine's own, and what was taken out is not any more.
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop 45.0.0.4=pass 45.0.0.9=drop
	is "$(get '[.[] | .reason]' bans 45.0.0.1 45.0.0.2 45.0.0.3)" '["by hand","edge-7: b","edge-7: c"]' "reasons"
	bloom events --json
	grep -q '3 bans that an older version has changed' out || fail "it says nothing of that: $(tail -n 3 out)"
	says '@edge-7 -45.0.0.1' '@edge-7 -45.0.0.2' '@edge-7 -45.0.0.3'
	verdicts 45.0.0.1=drop 45.0.0.2=pass 45.0.0.3=pass
	bloom state check
}

bad_words() {
	refused "'edge 7': a member is called by up to 32 letters" fleet accept 'edge 7'
	refused "'*': a member is called by" fleet forget '*'
	refused "these options are for accept" fleet refuse a --shadow
	refused "--prefix-at-least '/33'" fleet accept a --prefix-at-least /33
	refused "--rate 'fast'" fleet accept a --rate fast
	refused "accept|refuse|forget MEMBER" fleet accept
	refused "nothing was heard of a member 'a'" bans --from a
	printf '%s\n' '@ +45.0.0.1 1h' '@a/b +45.0.0.1' "@$(printf 'x%.0s' {1..40}) +45.0.0.1" '@a 45.0.0.1' '@a' '@* +45.0.0.1' |
		expect 1 "$XDP_BLOOM" follow -
	is "$(wc -l <err)" 6 "lines that are named ($(cat err))"
	is "$(get '.members | length' fleet)" 0 "members"
}

run_cases nothing_is_taken on_its_account beside_a_trial forgotten within_its_limits quorum_and_shadow what_is_needed ends_and_reboots stepped_back bad_words
