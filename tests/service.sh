# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A service to test: behind lib.sh and sandbox.

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
	# shellcheck disable=SC2034 # for who wants to hear it
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

# shellcheck disable=SC2120 # mostly without
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
	ip link set lo up
	veth 0
	a_list
	cat >conf <<-CONF
		# what to filter, and where
		load bad '$WORK/list'
		attach edge0
	CONF
}

# turned: the filter has the new version of the list.
turned() {
	heard "$log" "load bad: done"
	printf '%s\n' 198.51.100.1 2001:db8::7 203.0.113.9 >banned
	echo 192.0.2.7 >>clean
	send 0 -b banned -c clean
}

# get_page PATH: of what it listens for, into page; its status is in $code.
get_page() {
	# shellcheck disable=SC2034 # for who asked
	code=$(python3 -c '
import sys, urllib.request, urllib.error
try:
	answer = urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as error:
	answer = error
sys.stdout.buffer.write(answer.read())
print(answer.status, file=sys.stderr)' "http://127.0.0.1:9913$1" 2>&1 >page)
}
