#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Taking part in a fleet, with a script in the place of the program that speaks to its server: what goes to and fro, and
# that no fault of either ends a ban early or loses one.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

unmet() {
	printf ' (heard: %s; said: %s)' "$(tail -n 5 beside/heard 2>/dev/null | tr '\n\t' '; ')" "$(tail -n 3 run.err 2>/dev/null)"
}

EPOCH=0123456789abcdef OTHER=fedcba9876543210

# prepare: the script lies beside a copy of the command.
prepare() {
	mkdir beside
	cp "$XDP_BLOOM" beside/xdp-bloom
	XDP_BLOOM=$WORK/beside/xdp-bloom
	cp "$top/tests/support/fleet_stub.py" beside/xdp-bloom-fleet
	mkfifo beside/todo
	: >beside/heard
}

joined() {
	prepare
	bloom fleet join redis://127.0.0.1 --as edge-1 "$@"
}

# takes_part: the process of the fleet runs, $part.
takes_part() {
	"$XDP_BLOOM" fleet run >run.out 2>run.err &
	part=$!
}

killed() {
	kill -9 "$part"
	wait "$part" 2>/dev/null
}

# says LINE...: the script says these; \t is a tab.
says() {
	printf '%b\n' "$@" >beside/todo
}

# hears LINE: the command has said that, \t is a tab; and nothing of what it said before is looked at again.
hears() {
	wait_until "the line '$1'" grep -qxF -- "$(printf '%b' "$1")" beside/heard
}

hears_like() {
	wait_until "a line like '$1'" grep -qE -- "$1" beside/heard
}

forgets() {
	: >beside/heard
}

server() {
	get ".server.$1" fleet
}

# reads LINE: it is one of those that a person reads of the fleet; in it a time is TIME.
reads() {
	"$XDP_BLOOM" fleet | sed -E 's/[0-9]{4}-[0-9-]+T[0-9:]+Z/TIME/g; s/ +/ /g' | grep -qxF -- "$1" ||
		fail "no '$1' in: $("$XDP_BLOOM" fleet)"
}

waiting_is() {
	[ "$(server waiting)" = "$1" ]
}

# Asking succeeds, whatever is the answer.
is_banned() {
	[ "$("$XDP_BLOOM" bans "$1" | wc -l)" -gt 0 ]
}

bans_one() {
	bloom add "45.0.7.$1"
	hears "+\\t45.0.7.$1\\t0\\t"
	wait_until "that nothing waits" waiting_is 0
}

stays_small() {
	joined
	takes_part
	hears 'own\t-\t0'
	keeps_open "$part" bans_one
}

own_bans_go_out() {
	joined
	bloom add 45.0.0.1 --reason first
	bloom add 45.0.0.2 --ttl 1h --reason 'login failures'
	takes_part
	hears 'name edge-1'
	hears 'own\t-\t0'
	hears '+\t45.0.0.1\t0\tfirst'
	hears_like '^\+	45\.0\.0\.2	3[56][0-9]{5}	login failures$'
	hears 'all-end\t1'
	wait_until "that nothing waits" waiting_is 0
	is "$(server said)" 2 "what is said"
	forgets
	bloom add 2001:db8::/48
	hears '+\t2001:db8::/48\t0\t'
	hears 'batch\t2'
	bloom del 45.0.0.1
	hears '-\t45.0.0.1'
	wait_until "that nothing waits" waiting_is 0
	# What is no more when it is sent is said as it is.
	touch beside/mute
	forgets
	bloom add 45.0.0.7
	hears '+\t45.0.0.7\t0\t'
	bloom add 45.0.0.8
	bloom del 45.0.0.8
	kill -9 "$(cat beside/pid)"
	rm beside/mute
	hears '-\t45.0.0.8'
	wait_until "that nothing waits" waiting_is 0
	is "$(grep -c 45.0.0.7 beside/heard)" 2 "what nobody could tell came"
	bloom state check
}

only_what_it_is_to_say() {
	joined --say fail2ban
	takes_part
	hears 'all-end\t1'
	bloom add 45.0.0.1 --reason mine
	bloom add 45.0.0.2 --reason 'fail2ban sshd'
	hears '+\t45.0.0.2\t0\tfail2ban sshd'
	wait_until "that nothing waits" waiting_is 0
	! grep -q 45.0.0.1 beside/heard || fail "it says what it is not to say"
}

# metric NAME: its value.
metric() {
	"$XDP_BLOOM" metrics | awk -v name="xdp_bloom_fleet_$1" '$1 == name { print $2 }'
}

members_are_heard() {
	joined
	bloom fleet accept edge-7 --max-entries 50
	takes_part
	hears 'follow\tedge-7\t-\t0\t-\t50'
	says '+\tedge-7\t45.0.0.1\t60000\t41 k SYN/s' '+\tedge-7\t2001:db8:7::/48\t0\tlong' "at\tedge-7\t$EPOCH\t2\t17-1\t5"
	hears 'took\tedge-7\t17-1'
	verdicts 45.0.0.1=drop 2001:db8:7::9=drop
	is "$(get '.[0].reason' bans 45.0.0.1)" "edge-7: 41 k SYN/s" "why"
	# Its word is where it was, also after a kill.
	killed
	takes_part
	hears "follow\tedge-7\t$EPOCH\t2\t17-1\t50"
	says '-\tedge-7\t45.0.0.1' "at\tedge-7\t$EPOCH\t3\t18-0\t7"
	hears 'took\tedge-7\t18-0'
	verdicts 45.0.0.1=pass 2001:db8:7::9=drop
	says "quiet\tedge-7\t2000" 'bad\tedge-7\ta time' 'gap\tedge-7\ttrimmed' 'clock\t-1500\t3'
	wait_until "that it is shown" gives '[true,-1500,"edge-1"]' '.server | [.up, .clock_ms, .name]' fleet
	wait_until "its gap" gives '[1,1,"trimmed"]' '.members[0].server | [.gaps, .malformed, .trouble]' fleet
	is "$(get '.members[0].server | [.entries, (.p50_ms >= 7)]' fleet)" '[1,true]' "what is counted"
	reads ' gaps: 1, malformed: 1, last: trimmed'
	"$XDP_BLOOM" fleet | grep -Eq '^edge-7 .* [0-9]+ ms +[0-9]+ ms +[0-9]+s$' || fail "how long it takes: $("$XDP_BLOOM" fleet)"
	is "$(metric up) $(metric waiting) $(metric clock_seconds)" "1 0 -1.5" "what metrics says of the server"
	is "$(metric 'bans_total{member="edge-7",became="taken"}') $(metric 'bans_total{member="edge-7",became="refused"}')" "2 0" \
		"what metrics says of its bans"
	is "$(($(date +%s) - $(metric 'heard_seconds{member="edge-7"}') < 60 + 2))" 1 "when it was heard"
	[ "$(date +%s)" -ge $(($(metric 'heard_seconds{member="edge-7"}') + 2)) ] || fail "it was heard later: $("$XDP_BLOOM" metrics)"
	metric 'latency_seconds{member="edge-7",quantile="0.5"}' | awk '!($1 >= 0.005 && $1 < 60) { exit 1 }' || fail "$("$XDP_BLOOM" metrics)"
	metric 'latency_seconds{member="edge-7",quantile="0.99"}' | awk '!($1 >= 0.005 && $1 < 60) { exit 1 }' || fail "$("$XDP_BLOOM" metrics)"
	# Where its server was reached is what it needs.
	says '+\tedge-7\t45.8.8.8\t60000\tx' "at\tedge-7\t$EPOCH\t4\t19-0\t7"
	hears 'took\tedge-7\t19-0'
	verdicts 45.8.8.8=pass
	gives true '.members[0].needed | test("bans 45.8.8.8, the server of its fleet")' fleet || fail "why: $("$XDP_BLOOM" -j fleet)"
	bloom fleet refuse edge-7
	hears 'unfollow\tedge-7'
	bloom fleet accept '*' --max-entries 9
	hears 'any\t9'
	says 'member\tedge-9' "+\tedge-9\t45.0.0.9\t60000\t" "at\tedge-9\t$EPOCH\t1\t1-0\t5"
	hears 'took\tedge-9\t1-0'
	verdicts 45.0.0.9=drop
	bloom state check
}

# What this machine needs for a moment waits until it does no more, whoever is killed meanwhile: nobody says it again.
needed_for_a_moment() {
	veth 0
	ip addr add 192.0.2.1/24 dev edge0
	ip route add default via 192.0.2.254
	joined
	bloom fleet accept edge-7 --max-entries 3
	takes_part
	asking 45.9.9.9
	says '+\tedge-7\t45.9.9.9\t600000\ta' '+\tedge-7\t45.9.9.0/24\t600000\t' '+\tedge-7\t45.9.8.1\t600000\tb' \
		"at\tedge-7\t$EPOCH\t3\t3-0\t5"
	hears 'took\tedge-7\t3-0'
	says '+\tedge-7\t45.9.8.2\t600000\t' "at\tedge-7\t$EPOCH\t4\t4-0\t5"
	hears 'took\tedge-7\t4-0'
	verdicts 45.9.9.9=pass 45.9.9.8=pass 45.9.8.1=drop 45.9.8.2=pass
	gives '[3,2,1]' '.members[0] | [.bans, .waiting, .refused]' fleet || fail "it does not wait: $("$XDP_BLOOM" -j fleet)"
	gives true '.members[0].needed | test("^45.9.9.0/24 bans 45.9.9.9, a name server in use")' fleet ||
		fail "why: $("$XDP_BLOOM" -j fleet)"
	reads ' waiting until this machine needs it no more: 2; 45.9.9.0/24 bans 45.9.9.9, a name server in use (a socket to its port 53)'
	"$XDP_BLOOM" bans --from edge-7 | grep -Eq '^45.9.9.9 +waits ' || fail "$("$XDP_BLOOM" bans --from edge-7)"
	is "$(get '[.[] | select(.added == null).prefix]' bans --from edge-7)" '["45.9.9.0/24","45.9.9.9"]' "what waits"
	says '-\tedge-7\t45.9.9.0/24' "at\tedge-7\t$EPOCH\t5\t5-0\t5"
	hears 'took\tedge-7\t5-0'
	killed
	kill "$asker"
	wait "$asker" 2>/dev/null
	takes_part
	wait_until "that it is in force" is_banned 45.9.9.9
	verdicts 45.9.9.8=pass 45.9.8.1=drop
	gives '[2,0,null]' '.members[0] | [.bans, .waiting, .needed]' fleet || fail "it waits: $("$XDP_BLOOM" -j fleet)"
	bloom state check
}

# What was not committed comes again; nothing ends for it.
killed_between() {
	joined
	bloom fleet accept edge-7
	takes_part
	says '+\tedge-7\t45.0.0.1\t600000\ta' "at\tedge-7\t$EPOCH\t1\t1-0\t5"
	hears 'took\tedge-7\t1-0'
	says '-\tedge-7\t45.0.0.1' '+\tedge-7\t45.0.0.2\t600000\tb'
	wait_until "that it is in force" is_banned 45.0.0.2
	killed
	forgets
	takes_part
	hears "follow\tedge-7\t$EPOCH\t1\t1-0\t100000"
	says '-\tedge-7\t45.0.0.1' '+\tedge-7\t45.0.0.2\t600000\tb' "at\tedge-7\t$EPOCH\t3\t3-0\t5"
	hears 'took\tedge-7\t3-0'
	verdicts 45.0.0.1=pass 45.0.0.2=drop
}

snapshots() {
	joined
	bloom fleet accept edge-7
	takes_part
	says '+\tedge-7\t45.0.0.1\t600000\ta' '+\tedge-7\t45.0.0.2\t600000\tb' "at\tedge-7\t$EPOCH\t2\t2-0\t5"
	hears 'took\tedge-7\t2-0'
	# Not whole: it ends nothing.
	says 'snapshot\tedge-7' '+\tedge-7\t45.0.0.3\t600000\tc' 'snapshot-end\tedge-7\tincomplete\t-\t0\t-'
	wait_until "the third" is_banned 45.0.0.3
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop
	# Cut short: neither.
	says 'snapshot\tedge-7' '+\tedge-7\t45.0.0.4\t600000\td'
	wait_until "the fourth" is_banned 45.0.0.4
	kill -9 "$(cat beside/pid)"
	forgets
	hears "follow\tedge-7\t$EPOCH\t2\t2-0\t100000"
	says "snapshot-end\tedge-7\tcomplete\t$OTHER\t9\t9-0" 'member\tedge-7'
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop 45.0.0.4=drop
	# Whole: what it lacks ends.
	says 'snapshot\tedge-7' '+\tedge-7\t45.0.0.2\t600000\tb' "snapshot-end\tedge-7\tcomplete\t$OTHER\t1\t9-1"
	hears 'took\tedge-7\t9-1'
	verdicts 45.0.0.1=pass 45.0.0.2=drop 45.0.0.3=pass 45.0.0.4=pass
	# An empty one, too: its owner says so.
	says 'snapshot\tedge-7' "snapshot-end\tedge-7\tcomplete\t$EPOCH\t0\t10-1"
	hears 'took\tedge-7\t10-1'
	verdicts 45.0.0.2=pass
	forgets
	bloom fleet resync edge-7
	hears 'again\tedge-7'
	bloom fleet resync
	hears_like '^all	[0-9a-f]{16}$'
}

# Where a snapshot has others than there is room for, those find room that took the place of what ended.
snapshot_of_others() {
	local n

	joined
	bloom fleet accept edge-7 --max-entries 20
	takes_part
	for n in {1..20}; do
		says "+\tedge-7\t45.0.0.$n\t600000\ta"
	done
	says "at\tedge-7\t$EPOCH\t20\t2-0\t5"
	hears 'took\tedge-7\t2-0'
	others() {
		says 'snapshot\tedge-7'
		for n in {1..20}; do
			says "+\tedge-7\t45.0.1.$n\t600000\ta"
		done
		says "snapshot-end\tedge-7\tcomplete\t$OTHER\t20\t$1"
		hears "took\tedge-7\t$1"
	}
	others 9-0
	hears 'again\tedge-7'
	others 9-1
	is "$(get '[.[] | .prefix] | length' bans --from edge-7)" 20 "how many there are"
	verdicts 45.0.0.1=pass 45.0.1.1=drop 45.0.1.20=drop
}

the_server_loses_it() {
	joined
	bloom add 45.0.0.1
	takes_part
	hears 'all-end\t1'
	wait_until "that nothing waits" waiting_is 0
	rm beside/server
	forgets
	says 'own-lost\tit was emptied'
	hears '+\t45.0.0.1\t0\t'
	hears 'all-end\t2'
	wait_until "when it was" gives true '.server.lost != null' fleet
	reads ' at TIME: it was emptied'
	"$XDP_BLOOM" events >out
	grep -q 'it was emptied; all of it is said again' out || fail "no event: $(cat out)"
	verdicts 45.0.0.1=drop
	# Another's words in its place: seen at the start.
	killed
	echo "$OTHER 77" >beside/server
	forgets
	takes_part
	hears 'all-end\t1'
	# It came, and nobody could tell.
	wait_until "that nothing waits" waiting_is 0
	killed
	bloom add 45.0.0.2
	read -r epoch n <beside/server
	echo "$epoch $((n + 1))" >beside/server
	forgets
	takes_part
	hears '+\t45.0.0.2\t0\t'
	! grep -q '^all	' beside/heard || fail "all of it is said again"
}

the_server_refuses_it() {
	joined
	takes_part
	hears 'all-end\t1'
	touch beside/refuse
	bloom add 45.0.0.1
	wait_until "that it is said" gives 'OOM command not allowed' .server.refused fleet
	is "$(server waiting)" 1 "what waits"
	"$XDP_BLOOM" fleet >out
	grep -q 'the server refuses it: OOM' out || fail "it does not say so: $(cat out)"
	rm beside/refuse
	wait_until "that nothing waits" waiting_is 0
	wait_until "that it is taken" gives null .server.refused fleet
}

# Whatever comes from there: no more than members may.
lies() {
	joined
	bloom fleet accept edge-7 --max-ttl 1h
	ip addr add 198.51.100.1/24 dev lo
	ip link set lo up
	takes_part
	hears 'follow\tedge-7\t-\t0\t-\t100000'
	says '+\tedge-7\t198.51.100.1\t60000\tyours' '+\tedge-7\t0.0.0.0/0\t60000\tall' '+\tedge-7\t45.0.0.1/24\t60000\thost bits' \
		'+\tedge-7\t45.0.0.3\t-5\tnever' '+\tedge-7\t45.0.0.4\t99999999999999999999\tlong' '+\tedge-7' '+' '' '\t\t\t' \
		'+\tedge-1\t45.0.0.5\t60000\tmine' '+\tx\0033[2J\t45.0.0.6\t60000\tname' '+\tedge-8\t45.0.0.7\t60000\tnobody' \
		'+\tedge-7\t45.0.0.8\t3153600000000\t\0033[2Jcentury' "at\tedge-7\tnonsense\t1\t1-0\t5" "at\tedge-7\t$EPOCH\t-1\t1-0\t5" \
		'took\tedge-7' 'what\tis\tthis' "at\tedge-7\t$EPOCH\t9\t9-0\t5"
	hears 'took\tedge-7\t9-0'
	verdicts 198.51.100.1=pass 45.0.0.1=pass 45.0.0.3=pass 45.0.0.4=pass 45.0.0.5=pass 45.0.0.6=pass 45.0.0.7=pass 45.0.0.8=drop
	is "$(get '.[0] | .reason' bans 45.0.0.8)" "edge-7: ?[2Jcentury" "its reason"
	[ "$(get '.[0].expires | fromdate' bans 45.0.0.8)" -lt $(($(date +%s) + 3700)) ] || fail "it stays a century"
	# A line without an end: whoever writes that is ended, and begun again.
	forgets
	head -c 20000 /dev/zero | tr '\0' x >beside/todo
	hears "follow\tedge-7\t$EPOCH\t9\t9-0\t100000"
	verdicts 45.0.0.8=drop
	bloom state check
}

left() {
	joined
	bloom fleet accept edge-7
	takes_part
	hears 'all-end\t1'
	says '+\tedge-7\t45.0.0.1\t600000\ta' "at\tedge-7\t$EPOCH\t1\t1-0\t5"
	hears 'took\tedge-7\t1-0'
	refused "by process" fleet run
	bloom fleet leave
	# What it could not take out itself; whoever takes another name leaves as much.
	grep -qF 'SREM xdp-bloom:members edge-1; UNLINK xdp-bloom:edge-1:log ' out || fail "the server keeps: $(cat out)"
	grep -q 'ACL DELUSER edge-1$' out || fail "and its user: $(cat out)"
	end_of "$part" || fail "it ended with $?: $(cat run.err)"
	verdicts 45.0.0.1=drop
	is "$(get .server fleet)" null "the fleet"
	refused "this machine has joined none" fleet leave
	refused "this machine has joined none" fleet resync
	refused "this machine has not joined one" fleet run
	bloom add 45.0.0.9
	bloom state check
}

# What was on its way when somebody wants it from the beginning is no place to go on from.
resync_is_not_overtaken() {
	joined
	bloom fleet accept edge-7
	takes_part
	hears 'all-end\t1'
	says "at\tedge-7\t$EPOCH\t1\t1-0\t5"
	hears 'took\tedge-7\t1-0'
	# Where it stands still in the middle of a look at the state, nobody else may write there.
	until kill -STOP "$part" && timeout 5 "$XDP_BLOOM" --wait 1s fleet resync edge-7 >/dev/null 2>&1; do
		kill -CONT "$part"
		moment
	done
	says '+\tedge-7\t45.0.0.1\t600000\ta' "at\tedge-7\t$EPOCH\t2\t2-0\t5"
	wait_until "that it is on its way" grep -q '2-0' beside/sent
	forgets
	kill -CONT "$part"
	hears 'again\tedge-7'
	hears 'took\tedge-7\t2-0'
	says "at\tedge-7\t$EPOCH\t3\t3-0\t5"
	hears 'took\tedge-7\t3-0'
	kill -9 "$(cat beside/pid)"
	forgets
	hears 'follow\tedge-7\t-\t0\t-\t100000'
	says 'snapshot\tedge-7' "snapshot-end\tedge-7\tcomplete\t$EPOCH\t3\t3-0"
	hears 'took\tedge-7\t3-0'
	says "at\tedge-7\t$EPOCH\t4\t4-0\t5"
	hears 'took\tedge-7\t4-0'
	kill -9 "$(cat beside/pid)"
	forgets
	hears "follow\tedge-7\t$EPOCH\t4\t4-0\t100000"
}

# Two of one name take all of it from each other: that is said, and each waits longer.
two_of_one_name() {
	joined
	takes_part
	hears 'all-end\t1'
	wait_until "that nothing waits" waiting_is 0
	forgets
	says 'own-lost\tthe server has another epoch: another machine has this name'
	hears 'all-end\t2'
	says 'own-lost\tthe server has another epoch: another machine has this name'
	wait_until "that it is said again, after a while" grep -q '^all-end.3$' beside/heard
	! grep -q 'takes part as' run.err || fail "it says so at once: $(cat run.err)"
	says 'own-lost\tthe server has another epoch: another machine has this name'
	wait_until "that it is said" grep -q "another machine takes part as 'edge-1'" run.err
	says 'own-lost\tthe server has another epoch: another machine has this name'
	hears 'all-end\t4'
	is "$(grep -c "another machine takes part" run.err)" 1 "how often it is said"
}

# More members than are kept: each of the rest is told off, and it is said once; whoever is named has room.
too_many() {
	local n

	joined
	bloom fleet accept '*'
	takes_part
	hears 'all-end\t1'
	for ((n = 0; n < 4100; n++)); do
		printf 'member\tm%04d\n' "$n"
	done >beside/todo
	hears 'unfollow\tm4099'
	hears 'unfollow\tm4096'
	! grep -q 'unfollow.m4095' beside/heard || fail "one too many"
	is "$(grep -c 'more than 4096 members' run.err)" 1 "how often it is said"
	bloom fleet accept m4097
	hears 'follow\tm4097\t-\t0\t-\t100000'
}

# Its last word is shown.
cannot_begin() {
	joined
	takes_part
	hears 'all-end\t1'
	says 'failed\tno certificate of an authority'
	wait_until "that it is on its way" grep -qs failed beside/sent
	kill -9 "$(cat beside/pid)"
	wait_until "why" grep -q 'redis://127.0.0.1: no certificate of an authority; what is banned stays' run.err
}

# Once each: that it does not answer, and that it does again. Where it is reached now is what this machine needs.
goes_and_comes() {
	joined
	takes_part
	hears 'all-end\t1'
	says 'down\tno route' 'down\tno route at all'
	wait_until "that it is shown" gives '[false,"no route at all"]' '.server | [.up, .why]' fleet
	reads 'edge-1 at redis://127.0.0.1: DOWN since TIME: no route at all'
	is "$(cat run.err)" "xdp-bloom: fleet: redis://127.0.0.1: no route; what is banned stays, what this machine bans is said later" \
		"what is said"
	is "$(get '.event + ": " + .message' events | tail -n 1)" "fault: fleet: redis://127.0.0.1: no route" "the event"
	says 'up\tstub 2\t45.8.8.9\t2001:db8:8::9'
	wait_until "that it is shown" gives '[true,"stub 2"]' '.server | [.up, .version]' fleet
	is "$(tail -n +2 run.err)" "xdp-bloom: fleet: redis://127.0.0.1 answers again" "what is said"
	is "$(get '.event + ": " + .message' events | tail -n 1)" "healed: fleet: redis://127.0.0.1 answers again" "the event"
	refused "bans 45.8.8.9, the server of its fleet" add 45.8.8.9
	refused "bans 2001:db8:8::9, the server of its fleet" add 2001:db8:8::/64
	says 'up\tstub 3\t2001:db8:8::9\t45.8.8.9'
	wait_until "that it is shown" gives '[true,"stub 3"]' '.server | [.up, .version]' fleet
	is "$(wc -l <run.err)" 2 "how often it is said"
	says 'up\tstub 4\t45.8.8.9\t45.8.8.9'
	wait_until "that it is shown" gives '[true,"stub 4"]' '.server | [.up, .version]' fleet
	refused "bans 45.8.8.9, the server of its fleet" add 45.8.8.9
	bloom add 45.8.8.8 2001:db8:8::/64
}

asked_wrongly() {
	prepare
	printf 'fleet join redis://127.0.0.1 --as edge-1\nfleet join redis://127.0.0.1 --as edge-2\n' >two.conf
	refused "two.conf:2: a machine takes part in one fleet, and line 1 joins one" run --check --config two.conf
	refused "--ca is for TLS" fleet join redis://127.0.0.1 --as edge-1 --ca two.conf
	refused "these options are for join" fleet --ca two.conf
	refused "join which, and as whom?" fleet join redis://127.0.0.1
	refused "a member is called by" fleet join redis://127.0.0.1 --as 'a b'
	refused "http" fleet join http://127.0.0.1 --as edge-1
	refused "No such file" fleet join redis://127.0.0.1 --as edge-1 --password-file nothing
	refused "these options are for join" fleet --as edge-1
	refused "these options are for join" fleet accept edge-7 --say all
	refused "these options are for accept" fleet join redis://127.0.0.1 --as edge-1 --quorum 2
	refused "acl of which member" fleet acl
	refused "--user 'a b': up to 63 letters" fleet join redis://127.0.0.1 --as edge-1 --user 'a b'
	refused "--say '': all, add, detector" fleet join redis://127.0.0.1 --as edge-1 --say ''
	refused "--read 'ftp://127.0.0.1': " fleet join redis://127.0.0.1 --as edge-1 --read ftp://127.0.0.1
	refused "--prefix 'a b': " fleet join redis://127.0.0.1 --as edge-1 --prefix 'a b'
	refused "--prefix 'a b': " fleet acl edge-1 --prefix 'a b'
	refused "a member is called by" fleet acl 'a b'
	refused "'default' is the server's own user" fleet acl default
	refused "a member is called by" fleet resync 'a b'
	refused "leave takes nothing more" fleet leave now
	refused "init takes nothing more" fleet init now
	refused "run takes nothing more" fleet run now
	echo 'fleet run' >lines
	refused "run is no line of a file" batch lines
	bloom fleet acl edge-7
	grep -q '^ACL SETUSER edge-7 ' out || fail "no ACL: $(cat out)"
	bloom fleet init
	grep -q '^maxmemory-policy noeviction$' out || fail "not what the server needs: $(cat out)"
	echo secret >password
	chmod 644 password
	bloom fleet join redis://127.0.0.1 --as edge-1 --password-file password
	takes_part
	wait_until "that it says so" gives '[false,true]' '.server | [.up, (.why // "" | test("chmod 600"))]' fleet
	chmod 600 password
	hears 'password secret'
	hears 'user edge-1'
	bloom fleet join redis://127.0.0.1 --as edge-1 --read redis://127.0.0.2 --pace 0.2s
	end_of "$part" || fail "it ended with $?"
	takes_part
	hears 'read redis://127.0.0.2'
	hears 'pace 200'
}

# The service takes part, whether it was joined before or meanwhile, by the config file or by hand.
by_the_service() {
	local pid

	prepare
	echo 'fleet join redis://127.0.0.1 --as edge-1' >service.conf
	"$XDP_BLOOM" run --config service.conf >run.out 2>run.err &
	hears 'name edge-1'
	hears 'all-end\t1'
	bloom add 45.0.0.1
	hears '+\t45.0.0.1\t0\t'
	wait_until "that it is shown" gives '[true,true]' '.fleet | [.runs, .up]' status
	gives '[]' '[.troubles[] | select(test("fleet"))]' status || fail "it says: $("$XDP_BLOOM" status)"
	"$XDP_BLOOM" metrics >out || true
	grep -q '^xdp_bloom_fleet_up 1$' out || fail "no metric: $(grep fleet out)"
	pid=$(cat beside/pid)
	kill -9 "$pid"
	forgets
	hears 'name edge-1'
	wait_until "the process that has ended" gone "$pid"
	bloom fleet join redis://127.0.0.1 --as edge-2
	hears 'name edge-2'
	bloom fleet leave
	wait_until "that nobody takes part" gone "$(cat beside/pid)"
	is "$(get .fleet status)" null "what status says"
	forgets
	bloom fleet join redis://127.0.0.1 --as edge-3
	hears 'name edge-3'
}

run_cases own_bans_go_out stays_small only_what_it_is_to_say members_are_heard needed_for_a_moment killed_between snapshots \
	snapshot_of_others the_server_loses_it the_server_refuses_it lies left resync_is_not_overtaken two_of_one_name too_many \
	cannot_begin goes_and_comes asked_wrongly by_the_service
