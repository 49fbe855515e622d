#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What happened, as those see it who keep watch: the events file, the journal's socket, --log json.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

events() {
	jq -rc '[.event,.message,.generation]' "$XDP_BLOOM_STATE/events"
}

in_the_file() {
	echo 192.0.2.7 >list
	bloom load bad list
	expect 2 "$XDP_BLOOM" unload other
	bloom lists
	bloom rotate
	bloom -q unload bad
	is "$(events)" '["load","load bad list",1]
["refused","unload other: there is no list '"'other'"'; see xdp-bloom lists; nothing was unloaded",1]
["rotate","rotate",2]
["unload","unload bad",3]' "the events"
	is "$(stat -c %a "$XDP_BLOOM_STATE/events")" 600 "the mode of the file"
}

# A message is cut, and kept, however much of it JSON writes with a backslash.
long_ones() {
	local quotes

	quotes=$(printf '"%.0s' {1..900})
	bloom add 45.0.0.1
	expect 2 "$XDP_BLOOM" unload "$quotes"
	is "$(jq -r '[.event,(.message|length)]|@csv' "$XDP_BLOOM_STATE/events" | tail -n 1)" '"refused",1023' "the last event"
	[ "$(tail -n 1 "$XDP_BLOOM_STATE/events" | wc -c)" -gt 2048 ] || fail "a short line, which tests nothing"
}

# The line after one that a full disk cut is whole.
after_a_cut_line() {
	bloom add 45.0.0.1
	printf '{"time":"20' >>"$XDP_BLOOM_STATE/events"
	bloom add 45.0.0.2
	is "$(tail -n 1 "$XDP_BLOOM_STATE/events" | jq -r .message)" "add 45.0.0.2" "the last event"
}

# What is no file keeps nobody waiting, and no link leads anywhere else.
no_file_in_its_place() {
	bloom add 45.0.0.1
	rm "$XDP_BLOOM_STATE/events"
	mkfifo "$XDP_BLOOM_STATE/events"
	expect 0 timeout 10 "$XDP_BLOOM" add 45.0.0.2
	expect 0 timeout 10 "$XDP_BLOOM" events
	expect 2 timeout 10 "$XDP_BLOOM" status
	rm "$XDP_BLOOM_STATE/events"
	ln -s "$WORK/elsewhere" "$XDP_BLOOM_STATE/events"
	bloom add 45.0.0.3
	[ ! -e elsewhere ] || fail "a link was followed"
	verdicts 45.0.0.2=drop 45.0.0.3=drop
}

kinds() {
	jq -r .event "$XDP_BLOOM_STATE/events"
}

# What the service did is told apart from what was typed.
by_themselves() {
	bloom add 45.0.0.2
	expect 2 "$XDP_BLOOM" add 44.0.0.0/7
	bloom add 45.0.0.1 --ttl 1s
	wait_until "the end of the second ban" gives 1 length bans
	bloom add 45.0.0.3 45.0.0.4 45.0.0.5 --ttl 1s
	wait_until "the end of three" gives 1 length bans
	bloom rotate
	is "$(events | jq -rc '.[:2]')" '["add","add 45.0.0.2"]
["guard","add 44.0.0.0/7: add: 44.0.0.0/7 is very wide; --force bans it; nothing was changed"]
["add","add 45.0.0.1 --ttl 1s"]
["expired","the ban of 45.0.0.1"]
["add","add 45.0.0.3 45.0.0.4 45.0.0.5 --ttl 1s"]
["expired","3 bans, among them 45.0.0.3"]
["rotate","rotate"]' "the events"
}

runs_full() {
	local n=0

	bloom add 45.0.0.0
	until kinds | grep -qx capacity; do
		n=$((n + 1))
		[ "$n" -le 64 ] || fail "no event of a full generation after $n commands"
		seq 0 127 | awk -v "n=$n" '{ print "46." n "." $1 ".7" }' | bloom add -
	done
	is "$(kinds | grep -vx -e add -e capacity)" "" "the other events"
}

# A flood of commands fills no disk.
bounded() {
	echo 192.0.2.7 >list
	bloom load bad list
	yes '{"event":"old"}' | head -c 300000 >"$XDP_BLOOM_STATE/events"
	bloom rotate
	is "$(events)" '["rotate","rotate",2]' "the new file"
	[ -s "$XDP_BLOOM_STATE/events.1" ] || fail "the old one is gone"
}

# The oldest first, the file before this one as well.
shown() {
	local uid

	uid=$(cat /proc/self/loginuid 2>/dev/null || echo 4294967295)
	[ "$uid" != 4294967295 ] || uid=$(id -u)
	expect 0 "$XDP_BLOOM" events
	[ ! -s out ] || fail "without a state there is $(cat out)"
	expect 2 "$XDP_BLOOM" events --follow
	one_line "$XDP_BLOOM_STATE"
	echo 192.0.2.7 >list
	bloom load bad list
	expect 2 "$XDP_BLOOM" unload other
	bloom add 45.0.0.2
	expect 0 "$XDP_BLOOM" events
	is "$(cut -c 11- out | sed 's/:[0-9:]*Z//')" "$(sed 's/^/T'"$(cut -c 12-13 out | head -1)"'/' <<-EOF
		  load      uid $(printf %-5s "$uid")  load bad list
		  refused   uid $(printf %-5s "$uid")  unload other: there is no list 'other'; see xdp-bloom lists; nothing was unloaded
		  add       uid $(printf %-5s "$uid")  add 45.0.0.2
	EOF
	)" "what is shown"
	expect 0 "$XDP_BLOOM" -j events
	is "$(jq -rc '[.event,.uid]' out | paste -sd' ')" "[\"load\",$uid] [\"refused\",$uid] [\"add\",$uid]" "the JSON"
	cmp -s out "$XDP_BLOOM_STATE/events" || fail "the lines are not those of the file"
	mv "$XDP_BLOOM_STATE/events" "$XDP_BLOOM_STATE/events.1"
	printf '{"event":"cut' >>"$XDP_BLOOM_STATE/events.1"
	bloom rotate
	{ echo '{"event":"'; echo nonsense; printf '{"time":"%s","event":"\\u001b[31m","message":"x"}\n' 2001-01-01T00:00:00Z; } \
		>>"$XDP_BLOOM_STATE/events"
	expect 0 "$XDP_BLOOM" events
	is "$(awk '{ print $2 }' out | paste -sd' ')" "load refused add rotate ?[31m" "the events of both files"
	expect 0 "$XDP_BLOOM" events --since 1d
	is "$(awk '{ print $2 }' out | paste -sd' ')" "load refused add rotate" "the events of the last day"
}

# Each as it comes, whatever becomes of the file meanwhile.
followed() {
	local pid

	bloom add 45.0.0.1
	yes '{"event":"old"}' | head -c 300000 >>"$XDP_BLOOM_STATE/events"
	"$XDP_BLOOM" -j events --follow --since 1h >seen &
	pid=$!
	wait_until "the first event" grep -qs 45.0.0.1 seen
	bloom add 45.0.0.2
	wait_until "the first of another file" grep -q 45.0.0.2 seen
	bloom add 45.0.0.3
	wait_until "one more" grep -q 45.0.0.3 seen
	is "$(jq -r .message seen | paste -sd' ')" "add 45.0.0.1 add 45.0.0.2 add 45.0.0.3" "what was seen"
	kill $pid
	end_of $pid || fail "it ended with $?"
}

# What a journal gets: one datagram, a field a line.
in_the_journal() {
	mount -t tmpfs tmpfs /run
	mkdir -p /run/systemd/journal
	python3 - <<'PYTHON' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/run/systemd/journal/socket")
open("listening", "w").close()
open("journal", "wb").write(s.recv(65536))
PYTHON
	wait_until "a socket" [ -e listening ]
	echo 192.0.2.7 >list
	bloom load bad list
	wait $!
	umount /run
	is "$(grep -aE '^(XDP_BLOOM_EVENT|MESSAGE|PRIORITY)=' journal | sort | paste -sd' ')" \
		"MESSAGE=load: load bad list PRIORITY=5 XDP_BLOOM_EVENT=load" "what the journal got"
}

as_json_lines() {
	expect 2 "$XDP_BLOOM" --log json unload other
	is "$(jq -rc '[.level,.message]' err)" '["error","there is no list '"'other'"'; nothing was unloaded"]' "the line"
	expect 2 "$XDP_BLOOM" --log xml lists
	one_line "--log is text or json"
}

# The lines of the service's commands, too: which verb and list they are about, and how long that took.
service_as_json_lines() {
	local running

	printf '192.0.2.7\n198.51.100.1/24\n' >good
	echo nonsense >bad
	printf 'load good %s\nload bad %s\n' "$WORK/good" "$WORK/bad" >conf
	"$XDP_BLOOM" --log json run --config conf >log 2>&1 &
	running=$!
	wait_until "that it is ready" grep -qs '"ready"' log
	echo 192.0.2.8 >>good
	wait_until "that the new version is loaded" grep -q '"load good: done"' log
	kill $running
	wait $running
	jq -e . log >/dev/null || fail "a line is no JSON: $(cat log)"
	is "$(jq -rc 'select(.list=="bad")|[.level,.verb,(.seconds|type)]' log | sort -u)" '["error","load","number"]' \
		"who speaks of the list that cannot be read"
	is "$(jq -rc 'select(.message=="load good: done")|[.verb,.list,.seconds>0 and .seconds<600]' log)" '["load","good",true]' \
		"what the service says of it"
}

# What is no event is not passed on, with -j either.
damaged_lines() {
	bloom flush
	printf '%s\n' '{}' '[1]' 'nonsense' '{"time":"now","event":"add","message":"x"}' '{"time":"2026-01-01T00:00:00Z","event":1}' \
		'{"time":"2026-01-01T00:00:00Zx","event":"add","message":"x","generation":1,"uid":0}' \
		'{"time":"2026-01-01T00:00:00Z","event":"add","message":"whole","generation":1,"uid":0}' >"$XDP_BLOOM_STATE/events"
	bloom events
	is "$(cat out)" "2026-01-01T00:00:00Z  add       uid 0      whole" "the events"
	is "$("$XDP_BLOOM" -j events | jq -c .message)" '"whole"' "the events, as JSON"
}

# What waits for a confirmation is a process that nobody has started.
nobody_typed_it() {
	need pgrep
	bloom add 45.0.0.9 --confirm 1s
	# shellcheck disable=SC2317 # wait_until calls it
	ended() {
		! pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch" >/dev/null
	}
	wait_until "the end of what waits" ended
	! grep -n -e --watch "$XDP_BLOOM_STATE/events" || fail "is an event"
}

run_cases nobody_typed_it damaged_lines in_the_file after_a_cut_line no_file_in_its_place long_ones by_themselves runs_full bounded shown followed in_the_journal as_json_lines service_as_json_lines
