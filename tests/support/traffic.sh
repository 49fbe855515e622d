# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets, and an independent judge of who is banned: a part of lib.sh.

# send N ARGS...: frames through edgeN, every one judged; the report is in $WORK/sent.
send() {
	local n=$1

	shift
	"$TRAFFIC" "$@" "wire$n" "edge$n" >"$WORK/sent" 2>"$WORK/err" ||
		fail "traffic $* through edge$n: $(cat "$WORK/err" "$WORK/sent")"
}

sent() {
	jq -r "$1" "$WORK/sent"
}

declare -a flow_pid flow_fd

# flow N ARGS...: the same without end, in the background and behind the test itself; returns when frames are flowing.
flow() {
	local n=$1 fd line=

	shift
	mkfifo "$WORK/flow$n"
	nice "$TRAFFIC" -n 0 "$@" "wire$n" "edge$n" >"$WORK/flow$n" 2>"$WORK/flow$n.err" &
	flow_pid[n]=$!
	# shellcheck disable=SC2093 # only opens it
	exec {fd}<"$WORK/flow$n"
	flow_fd[n]=$fd
	read -rt "${patience:?}" line <&"$fd"
	[ "$line" = flowing ] || fail "no traffic: $(cat "$WORK/flow$n.err")"
}

# stop_flow N: ends it; fails if a frame was judged wrongly. The report is in $WORK/sent.
stop_flow() {
	kill "${flow_pid[$1]}" 2>/dev/null
	timeout "$patience" cat <&"${flow_fd[$1]}" >"$WORK/sent"
	end_of "${flow_pid[$1]}" || fail "traffic through edge$1: $(cat "$WORK/flow$1.err" "$WORK/sent")"
}

# What is banned, by lists alone: judge.py says what it can be asked.
judge() {
	python3 "${here:?}/judge.py" "$@"
}

# other_network: a network namespace beside this one, that of process $far.
other_network() {
	unshare --net sleep infinity &
	far=$!
	wait_until "the other namespace" elsewhere
}

elsewhere() {
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
