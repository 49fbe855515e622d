#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# top in a real terminal, small and large: what it shows of real packets, and how it ends.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"
need tmux

# A server of our own, which goes with the test.
mux() {
	tmux -f /dev/null -S "$WORK/tmux" "$@"
}

# wait_for WORDS: until they are on the screen.
wait_for() {
	local i

	for ((i = 0; i < 300; i++)); do
		mux capture-pane -p -t top >screen 2>/dev/null
		! grep -qE -e "$1" screen || return 0
		read -rt 0.1 <> <(:) # a moment, for the program to draw
	done
	fail "no '$1' on the screen: $(cat screen)"
}

prepare() {
	local size=$1

	trap 'mux kill-server 2>/dev/null; stop_jobs' EXIT
	filtering attackers
	# The shell behind it tells how top ended, and what became of the terminal.
	LC_ALL=C.UTF-8 mux new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
		"env XDP_BLOOM_STATE=$XDP_BLOOM_STATE XDP_BLOOM_BPFFS=$XDP_BLOOM_BPFFS PS1= bash --norc --noprofile"
	mux send-keys -t top "stty -a >before; $XDP_BLOOM top; echo ended with \$?; stty -a | cmp - before && echo as before" Enter
	wait_for 'INTERFACES'
	flow 0 -b banned -c clean
}

# Nothing reaches into the next column or beyond the edge.
shows() {
	local width=${1%x*}

	prepare "$1"
	wait_for 'dropped +[1-9]'
	wait_for 'attackers +[1-9]'
	wait_for '203\.0\.113\.9 +[0-9.]+%'
	wait_for '192\.0\.2\.0/24 +[0-9.]+%'
	wait_for 'udp 9 +[0-9.]+%'
	wait_for 'edge0 +[1-9]'
	wait_for 'attach edge0'
	[ "$(wc -L <screen)" -le "$width" ] || fail "wider than $width: $(cat screen)"
	mux send-keys -t top h
	wait_for 'this help'
	mux send-keys -t top h p
	wait_for HELD
	mux send-keys -t top p q
	wait_for 'ended with 0'
	wait_for 'as before'
	stop_flow 0
}

resized() {
	prepare 80x24
	wait_for 'dropped +[1-9]'
	mux resize-window -t top -x 60 -y 15
	wait_for '^q end'
	mux resize-window -t top -x 132 -y 50
	wait_for 'udp 9 +[0-9.]+%'
	mux send-keys -t top q
	wait_for 'ended with 0'
	stop_flow 0
}

ended_by() {
	prepare 80x24
	wait_for 'dropped +[1-9]'
	if [ "$1" = Ctrl-C ]; then
		mux send-keys -t top C-c
	else
		pkill "-$1" -P "$(mux display-message -p -t top '#{pane_pid}')"
	fi
	wait_for 'ended with 0'
	wait_for 'as before'
	stop_flow 0
}

# The service hands on what top shows. It goes: top reads for itself. All goes that there is to see: top says so.
left_alone() {
	local i

	prepare 80x24
	wait_for 'dropped +[1-9]'
	mux send-keys -t top q
	wait_for 'ended with 0'
	: >conf
	"$XDP_BLOOM" -v run --config conf >log 2>&1 &
	for ((i = 0; i < 300; i++)); do
		! grep -q ready log || break
		kill -0 %?run || fail "the service: $(cat log)"
		read -rt 0.1 <> <(:)
	done
	mux send-keys -t top "clear; $XDP_BLOOM top; echo ended with \$?; stty -a | cmp - before && echo as before" Enter
	wait_for '203\.0\.113\.9 +[0-9.]+%'
	kill -KILL %?run
	wait %?run
	# Samples of a minute ago would be on the screen for as long: the ring's own lock tells who reads.
	until ! flock -n "$XDP_BLOOM_STATE/samples.lock" true; do
		read -rt 0.1 <> <(:)
	done
	wait_for 'dropped +[1-9]'
	stop_flow 0
	bloom detach edge0
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	wait_for 'nothing is loaded'
	mux send-keys -t top q
	wait_for 'ended with 0'
	wait_for 'as before'
}

# The window is closed: nobody is left to read how it ended, but it does.
hung_up() {
	local top

	prepare 80x24
	wait_for 'dropped +[1-9]'
	top=$(pgrep -P "$(mux display-message -p -t top '#{pane_pid}')")
	mux kill-server
	while [ -e "/proc/$top" ] && ! grep -q '^State:.*Z' "/proc/$top/status" 2>/dev/null; do
		read -rt 0.1 <> <(:)
	done
	stop_flow 0
}

# Terminals that cannot do it, or hardly.
poor_terminals() {
	local term size

	prepare 80x24
	mux send-keys -t top q
	wait_for 'ended with 0'
	for term in dumb no-such-terminal ''; do
		mux send-keys -t top "clear; TERM='$term' $XDP_BLOOM top 2>said; echo 'ended:' \$?; stty -a | cmp - before && echo as before" Enter
		wait_for 'ended: 2'
		wait_for 'as before'
		is "$(wc -l <said)" 1 "the lines that top says with TERM='$term' ($(cat said))"
	done
	mux send-keys -t top "clear; TERM=vt100 $XDP_BLOOM top; echo ended with \$?" Enter
	wait_for 'INTERFACES'
	for size in 20x5 1x1 12x7 300x90 80x24; do
		mux resize-window -t top -x "${size%x*}" -y "${size#*x}"
		mux send-keys -t top h p p h
	done
	wait_for 'INTERFACES'
	mux send-keys -t top q
	wait_for 'ended with 0'
	stop_flow 0
}

without_a_terminal() {
	veth 0
	echo 192.0.2.7 >bad
	bloom load bad bad
	refused "top needs a terminal" top
}

run_cases "shows 80x24" "shows 200x50" resized "ended_by Ctrl-C" "ended_by TERM" left_alone hung_up poor_terminals without_a_terminal
