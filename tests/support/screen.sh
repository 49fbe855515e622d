# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A terminal to test in: behind lib.sh and sandbox.

# A server of our own, which goes with the case.
mux() {
	tmux -f /dev/null -S "$WORK/tmux" "$@"
}

# terminal SIZE: 80x24, say, with a shell in it that knows try COMMAND: how that ended, and what became of the terminal.
terminal() {
	need tmux
	trap 'mux kill-server 2>/dev/null; stop_jobs' EXIT
	cat >shell <<-'SH'
		PS1= xdp_bloom=$XDP_BLOOM
		try() {
			clear
			stty -g >before
			"$@"
			echo "ended with $?"
			stty -g | cmp - before && echo "as before"
		}
	SH
	LC_ALL=C.UTF-8 mux new-session -d -s test -x "${1%x*}" -y "${1#*x}" \
		"exec bash --rcfile shell --noprofile -i"
}

# types WORDS, or the names of keys.
types() {
	mux send-keys -t test -- "$@"
}

# tries COMMAND: on an empty screen, so that nothing shows what became of the one before.
tries() {
	mux send-keys -R -t test
	types "try $*" Enter
}

# attacked SIZE VERB: in such a terminal, while banned packets come.
attacked() {
	terminal "$1"
	tries "$XDP_BLOOM $2"
	flow 0 -b banned -c clean
}

# shows WORDS: waits until they are on the screen.
shows() {
	(wait_until "'$1' on the screen" on_screen "$1") || fail "$(cat screen)"
}

on_screen() {
	mux capture-pane -p -t test >screen 2>/dev/null
	grep -qE -e "$1" screen
}

# The program that try runs.
tried() {
	pgrep -P "$(mux display-message -p -t test '#{pane_pid}')"
}

# ended STATUS: the terminal has its modes, its screen and its cursor back.
ended() {
	shows "^(\\^C)?ended with $1\$" # the terminal says what was pressed
	shows '^as before$'
	is "$(mux display-message -p -t test '#{alternate_on} #{cursor_flag}')" "0 1" "its own screen, and the cursor"
}

# ends_by HOW: Ctrl-C, or a signal.
ends_by() {
	if [ "$1" = Ctrl-C ]; then
		types C-c
	else
		kill "-$1" "$(tried)"
	fi
}
