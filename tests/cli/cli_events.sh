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
["refused","unload other: there is no list '"'other'"'; nothing was unloaded",1]
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

kinds() {
	jq -r .event "$XDP_BLOOM_STATE/events"
}

# What the service did is told apart from what was typed.
by_themselves() {
	bloom add 45.0.0.2
	expect 2 "$XDP_BLOOM" add 44.0.0.0/7
	bloom add 45.0.0.1 --ttl 1s
	wait_until "the end of the second ban" gives 1 length bans
	bloom rotate
	is "$(events | jq -rc '.[:2]')" '["add","add 45.0.0.2"]
["guard","add 44.0.0.0/7: add: 44.0.0.0/7 is very wide; --force bans it; nothing was changed"]
["add","add 45.0.0.1 --ttl 1s"]
["expired","the ban of 45.0.0.1"]
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

run_cases in_the_file long_ones by_themselves runs_full bounded in_the_journal as_json_lines service_as_json_lines
