# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A service to test: behind lib.sh and sandbox.

# What systemd would hear: each datagram, a line. Busy, it takes none until the pipe is opened.
cat >"$WORK.listen" <<'PYTHON'
import os, socket, sys

heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
full = len(sys.argv) < 3
while not full:
    full, others = True, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    others.setblocking(False)
    others.connect(sys.argv[1])
    try:
        while others.send(b"others"):
            full = False
    except BlockingIOError:
        pass
print("listening", flush=True)
if len(sys.argv) > 2:
    open(sys.argv[2]).read()
while True:
    print(heard.recv(4096).decode().replace("\n", "|"), flush=True)
PYTHON

# service ARGS...: starts it; what it logs comes from descriptor $log, what it notifies from $notes.
service() {
	# Of the kernel's queue of ten the eleventh is lost where the receiver does not read.
	echo 512 >/proc/sys/net/unix/max_dgram_qlen
	rm -f socket notes.pipe log.pipe
	mkfifo notes.pipe log.pipe
	python3 "$WORK.listen" "$WORK/socket" "${busy[@]}" >notes.pipe 2>/dev/null &
	exec {notes}<notes.pipe
	heard "$notes" listening
	NOTIFY_SOCKET=$WORK/socket "${under[@]}" "$XDP_BLOOM" run --config "$WORK/conf" "$@" >log.pipe 2>&1 &
	service_pid=$!
	# shellcheck disable=SC2034 # for who wants to hear it
	exec {log}<log.pipe
}
under=(env)
busy=()

# heard FD WORDS: waits for a line that has WORDS in it, which is in $line then. What the service tries again it tries
# ten seconds later.
heard() {
	local end=$((SECONDS + ${patience:?} + 10))

	while [ $SECONDS -lt $end ] && read -r -t $((end - SECONDS)) line <&"$1"; do
		[[ $line != *"$2"* ]] || return 0
		echo "$line" >>unheard
	done
	fail "never said '$2', but: $(tail -n 20 unheard 2>/dev/null)"
}

# shellcheck disable=SC2120 # mostly without
# ready ARGS...: starts it and waits until it is.
ready() {
	service "$@"
	heard "$notes" READY=1
}

# restored: edge0 is filtered again. An interface on its way out may be taken for one that came, and looked for in vain.
restored() {
	heard "$log" "restore: done"
	while without_program edge0; do
		heard "$log" "restore: done"
	done
}

# stop [SIGNAL]: and its exit status.
stop() {
	kill "-${1:-TERM}" "$service_pid"
	end_of "$service_pid"
	is $? "${2:-0}" "the exit status of the service"
}

# asleep COMMAND...: while the service does nothing, however long that takes.
asleep() {
	kill -STOP "$service_pid"
	"$@"
	kill -CONT "$service_pid"
}

# overdue TABLE COLUMN: what ends at a time, in the state alone.
overdue() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$@" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("UPDATE %s SET %s = 1" % (sys.argv[2], sys.argv[3]))
	PYTHON
}

# unwatched ARGS...: with --confirm, and overdue; but no process waits for that.
unwatched() {
	local watcher

	bloom "$@" --confirm 1h
	wait_until "who waits for a confirmation" has_watcher
	kill -KILL "$watcher"
	overdue pending due
}

has_watcher() {
	watcher=$(pgrep -f "^xdp-bloom -S $XDP_BLOOM_STATE .*--watch")
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

# child_of COMMAND-LINE: the process of the service's that is called so, as $child.
child_of() {
	wait_until "a child '$1'" has_child "$1"
}

has_child() {
	# shellcheck disable=SC2034 # for who asked
	child=$(pgrep -P "$service_pid" -f "$1")
}

# healthz: what /healthz says.
healthz() {
	python3 -c 'from urllib.request import urlopen
print(urlopen("http://127.0.0.1:9753/healthz", timeout=30).read().decode(), end="")'
}

# is_told WORDS: status and /healthz say it.
is_told() {
	"$XDP_BLOOM" status >said
	grep -qF "$1" said && healthz >page && grep -qF "$1" page
}

says_no_more() {
	"$XDP_BLOOM" status >said
	! grep -qF "$1" said && healthz >page && ! grep -qF "$1" page
}

is_filtered() {
	ip link show "$1" | grep -q xdp
}
