#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service: what it does by itself, what it says, and that nothing it does depends on its being alive.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"

# What systemd would hear: each datagram, a line.
cat >"$WORK.listen" <<'PYTHON'
import os, socket, sys

heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
print("listening", flush=True)
while True:
    print(heard.recv(4096).decode().replace("\n", "|"), flush=True)
PYTHON
trap 'stop_jobs; rm -rf "$WORK" "$WORK.listen"' EXIT

# service ARGS...: starts it; what it logs comes from descriptor $log, what it notifies from $notes.
service() {
	rm -f socket notes.pipe log.pipe
	mkfifo notes.pipe log.pipe
	python3 "$WORK.listen" "$WORK/socket" >notes.pipe 2>/dev/null &
	exec {notes}<notes.pipe
	heard "$notes" listening
	NOTIFY_SOCKET=$WORK/socket "${under[@]}" "$XDP_BLOOM" run --config "$WORK/conf" "$@" >log.pipe 2>&1 &
	service_pid=$!
	exec {log}<log.pipe
}
under=(env)

# heard FD WORDS: waits for a line that has WORDS in it.
heard() {
	local line

	while read -r -t 30 line <&"$1"; do
		[[ $line != *"$2"* ]] || return 0
		echo "$line" >>unheard
	done
	fail "never said '$2', but: $(cat unheard 2>/dev/null)"
}

# ready ARGS...: starts it and waits until it is.
ready() {
	service "$@"
	heard "$notes" READY=1
}

# stop [SIGNAL]: and its exit status.
stop() {
	kill "-${1:-TERM}" "$service_pid"
	wait "$service_pid"
	is $? "${2:-0}" "the exit status of the service"
}

# An interface, a list file and a config with both.
prepare() {
	veth 0
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.9 >banned
	printf '%s\n' 192.0.2.6 2001:db8::6 203.0.112.255 >clean
	cat >conf <<-CONF
		# what to filter, and where
		load bad '$WORK/list'
		attach edge0
	CONF
}

starts_and_stops() {
	local since

	prepare
	under=(env WATCHDOG_USEC=200000)
	ready
	heard "$notes" WATCHDOG=1
	heard "$notes" WATCHDOG=1
	send 0 -b banned -c clean
	stop
	heard "$notes" STOPPING=1
	send 0 -b banned -c clean
	# An unchanged config changes nothing.
	since=$(snapshot)
	under=(env)
	ready
	is "$(snapshot)" "$since" "what is loaded and attached after a second start"
	stop KILL 137
	send 0 -b banned -c clean
	ready
	stop INT
	is "$(snapshot)" "$since" "what is loaded and attached after a third"
}

only_one() {
	prepare
	ready
	refused "is held by process $service_pid" run --config conf
	XDP_BLOOM_STATE=$WORK/other expect 0 "$XDP_BLOOM" run --check --config conf
	stop
}

# turned WORDS: the list is now banned/clean the other way round.
turned() {
	heard "$log" "$1"
	send 0 -b clean -c banned
}

reloads() {
	prepare
	mv list list.1
	cp clean list.2
	mkdir data
	case $1 in
	written) cp list.1 list ;;
	renamed) cp list.1 list ;;
	link) ln -s list.1 list ;;
	behind_link) mv list.1 data && ln -s data/list.1 list ;;
	by_hand) : >conf ;;
	esac
	if [ "$1" = by_hand ]; then
		cp list.1 list
		bloom load bad list
		bloom attach edge0
	fi
	ready
	send 0 -b banned -c clean
	case $1 in
	written | by_hand) cat list.2 >list ;;
	renamed) mv list.2 list ;;
	link) ln -sfn list.2 list ;;
	behind_link) cat list.2 >data/list.1 ;;
	esac
	case $1 in
	by_hand) heard "$log" "addresses came or went" ;; # nobody forced it
	*) heard "$log" "addresses came or went" ;;
	esac
	send 0 -b banned -c clean
	sed -i 's/^load.*/& --big-change/' conf
	kill -HUP "$service_pid"
	[ "$1" != by_hand ] || bloom load bad list --big-change
	[ "$1" = by_hand ] || heard "$log" "conf read again"
	heard "$notes" READY=1
	send 0 -b clean -c banned
	stop
}

run_cases starts_and_stops only_one "reloads written" "reloads renamed" "reloads link" "reloads behind_link" \
	"reloads by_hand"
