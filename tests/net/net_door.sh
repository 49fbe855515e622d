#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# follow socket: bans from many at a time. What each is told is in force in the kernel and in the state, however it ends;
# who is silent, slow, floods or sends what is refused harms no other. XDP_BLOOM_KILLS: how often it is killed.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # stop has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

verdict() {
	"$XDP_BLOOM" -j test "$@" | jq -r '[.[].verdict] | join(" ")'
}

opens() {
	door=$XDP_BLOOM_STATE/follow.sock
	"$XDP_BLOOM" "$@" 2>>said &
	follower=$!
	wait_until "the socket" answers
}

answers() {
	sends </dev/null
}

# Standard input through it; what is answered.
sends() {
	XDP_BLOOM_AS=$as timeout $((2 * patience)) python3 "$top/tests/net/door.py" send "$door"
}

ends() {
	kill -TERM "$follower"
	end_of "$follower" || fail "SIGTERM: $(cat said)"
	[ ! -e "$door" ] || fail "the socket is left"
}

as='0 0'

what_it_does() {
	ip addr add 45.0.9.1/32 dev lo
	opens follow socket
	printf '# a comment\n+45.0.0.1 1h ssh login\n+45.0.0.300\n+2001:db8:7::/48\n+45.0.9.1 1h\n\n+45.0.0.2\n-45.0.0.2\n' | sends >out
	is "$(grep -v '^ok' out | cut -d' ' -f1,2 | xargs)" "no 3 no 5" "lines that are refused ($(cat out))"
	grep -q "^no 5 .*an address of this machine" out || fail "why: $(cat out)"
	is "$(tail -n 1 out)" "ok 8" "what is acknowledged in the end"
	is "$(verdict 45.0.0.1 2001:db8:7::9 45.0.0.2 45.0.9.1)" "drop drop pass pass" "verdicts"
	is "$(get '[.[] | .prefix + " " + .reason] | sort | join(", ")' bans)" "2001:db8:7::/48 , 45.0.0.1 ssh login" "bans"
	is "$(stat -c '%a %F' "$door")" "600 socket" "its mode"
	# A line without an end is not taken, one that is too long neither.
	{
		head -c 5000 /dev/zero | tr '\0' x
		printf '\n+45.0.0.4 1h\n+45.0.0.5 1h'
	} | sends >out
	is "$(grep -v '^ok' out | cut -d' ' -f1,2 | xargs)" "no 1 no 3" "lines that are refused ($(cat out))"
	is "$(tail -n 1 out)" "ok 3" "what is acknowledged of them"
	is "$(verdict 45.0.0.4 45.0.0.5)" "drop pass" "verdicts"
	# Many a second that are refused, more than there is room for, and nobody reads that.
	yes nonsense | head -n 100000 | timeout 60 python3 "$top/tests/net/door.py" late "$door" >out
	is "$(tail -n 1 out)" "ok 100000" "what is acknowledged of rubbish"
	is "$(awk '/^no more/ { n += $3; next } /^no/ { n++ } END { print n }' out)" 100000 "how many of it were refused"
	grep -q "^no more " out || fail "how many more were refused: $(head -n 3 out)"
	is "$(cat said)" "" "what is said in its own log"
	refused "is held by process $follower, " follow socket
	refused "for a group the socket lies elsewhere" follow socket --group nogroup
	refused "there is no such group" follow socket "$WORK/other" --group no-such-group
	refused "only 'follow socket'" follow - --group nogroup </dev/null
	refused "path is too long" follow socket "/tmp/$(printf '%0150d' 0)"
	ends
	echo keep >door
	refused "something else than a socket" follow socket "$WORK/door"
	is "$(cat door)" keep "a file in its place"
	opens -j follow socket
	printf '+45.0.0.6\n"\n' | sends >out
	is "$(jq -sc '[(map(.refused // empty) | .[]), last.ok] | map(floor)' out)" "[2,2]" "answers as JSON ($(cat out))"
	# Left behind by one that was killed.
	kill -9 "$follower"
	end_of "$follower"
	[ -S "$door" ] || fail "no socket is left"
	opens follow socket
	ends
}

# From there those ask who have no address yet, and neighbours whom all have.
nobodys() {
	opens follow socket
	printf '%s\n' '+0.0.0.0 1h' '+:: 1h' '+fe80::1 1h' '+127.0.0.0/24 1h' '+255.255.255.255 1h' '+ff02::/16 1h' '+10.0.0.1 1h' | sends >out
	is "$(sed -n 's/^no \([0-9]\) .* stands for no single host .*/\1/p' out | xargs)" "1 2 3 4 5 6" "what is refused ($(cat out))"
	is "$(verdict 0.0.0.0 :: fe80::1 10.0.0.1)" "pass pass pass drop" "verdicts"
	refused "0.0.0.0 stands for no single host (0.0.0.0/8, this network); --force bans it" add 0.0.0.0
	bloom add 0.0.0.0 --force
	echo '-0.0.0.0' | sends >out
	is "$(cat out) $(verdict 0.0.0.0)" "ok 1 pass" "what is ended"
	ends
}

# No more than a list may ban, in however small pieces; the operator may.
in_pieces() {
	opens follow socket
	{
		seq -f '+%.0f.0.0.0/8 1h' 11 80
		echo '+82.1.2.0/24 1h'
	} | sends >out
	grep -q '^no [0-9]* live bans would be of [23][0-9] % of all IPv4 addresses' out || fail "what it is told: $(cat out)"
	is "$(tail -n 1 out) $(verdict 82.1.2.3)" "ok 71 drop" "what is narrow"
	[ "$(get length bans)" -le 65 ] || fail "$(get length bans) bans"
	seq -f '%.0f.0.0.0/8' 11 80 | bloom add -
	is "$(get length bans) $(verdict 80.0.0.1)" "71 drop" "by hand"
	echo '+83.0.0.0/9 1h' | sends >out
	is "$(cut -d' ' -f1-5 out)" $'no 1 live bans would\nok 1' "what the socket adds to that"
	ends
}

who_may_come() {
	local as nogroup

	nogroup=$(getent group nogroup | cut -d: -f3)
	chmod 711 "$WORK"
	mkdir -m 755 at
	"$XDP_BLOOM" follow socket "$WORK/at/follow.sock" --group nogroup 2>>said &
	follower=$!
	door=$WORK/at/follow.sock
	as="65534 $nogroup"
	wait_until "the socket" answers
	is "$(stat -c '%a %G' at/follow.sock)" "660 nogroup" "its mode"
	echo +45.0.1.1 | sends >out
	is "$(cat out)" "ok 1" "what one of the group is told"
	as="65534 65533 $nogroup"
	echo +45.0.1.2 | sends >out
	is "$(cat out)" "ok 1" "what another of the group is told"
	as='65534 65533'
	! echo +45.0.1.3 | sends >out 2>&1 || fail "who is not of the group comes in: $(cat out)"
	# Even if somebody has changed its mode.
	chmod 666 at/follow.sock
	echo +45.0.1.3 | sends >out 2>&1
	! grep -q '^ok' out || fail "who is not of the group comes in: $(cat out)"
	wait_until "that it is said" grep -qs "of user 65534 may not come in" said
	as='0 0'
	is "$(verdict 45.0.1.1 45.0.1.2 45.0.1.3)" "drop drop pass" "verdicts"
	ends
	mkdir -m 777 anybodys
	refused "may write" follow socket "$WORK/anybodys/door"
}

harms_nobody() {
	ip addr add 45.0.9.1/32 dev lo
	opens follow socket
	python3 "$top/tests/net/door.py" harm "$door" || fail "see above; $(tail -n 3 said)"
	ends
}

# As a line of the config file.
in_the_service() {
	echo "follow socket" >conf
	ready
	door=$XDP_BLOOM_STATE/follow.sock
	wait_until "the socket" answers
	echo +45.0.2.1 | sends >out
	is "$(cat out) $(verdict 45.0.2.1)" "ok 1 drop" "through the service"
	stop
	[ ! -e "$door" ] || fail "the socket is left"
}

killed() {
	bloom add 45.200.0.1
	python3 "$top/tests/net/door.py" kill "$XDP_BLOOM_STATE/follow.sock" "${XDP_BLOOM_KILLS:-12}" || fail "see above"
}

run_cases what_it_does nobodys in_pieces who_may_come harms_nobody in_the_service killed
