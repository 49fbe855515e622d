#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Lists and images are read in a process that has no rights: what it has, and what is said when it is killed or cannot give them up.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='has_nothing|gives_up|stays_in'
sandbox "$@"

# The child of $pid that has given up its rights.
parser_is_there() {
	parser=$(pgrep -P "$pid") && grep -q '^NoNewPrivs:.*1' "/proc/$parser/status" && grep -q '^Seccomp:.*[12]' "/proc/$parser/status"
}

# parse_fifo ARGUMENT...: the command with a list that does not come to its end.
parse_fifo() {
	rm -f fifo
	mkfifo fifo
	"$XDP_BLOOM" "$@" >out 2>err &
	pid=$!
	exec 7>fifo
	echo 203.0.113.7 >&7
	wait_until "a process that parses" parser_is_there
}

end_fifo() {
	exec 7>&-
	wait "$pid"
	status=$?
}

has_nothing() {
	local user

	need pgrep
	grep -q '^Seccomp:' /proc/self/status || skip "needs a kernel with seccomp"
	parse_fifo set count fifo
	cp "/proc/$parser/status" "/proc/$parser/limits" .
	# Only root may look: the command cannot be dumped.
	# shellcheck disable=SC2012 # numbers
	[ "$(id -u)" != 0 ] || is "$(ls "/proc/$parser/fd" | paste -sd ' ')" "0 1" "its files"
	end_fifo
	is "$status" 0 "the command's end"
	grep -q '1 addresses' out || fail "$(cat out err)"
	is "$(grep '^Cap[IPE]' status | cut -f 2 | sort -u)" 0000000000000000 "its rights"
	# One that no other process has, or else, in a namespace of few, nobody.
	user=$((0x70000000 + parser))
	awk -v user=$user '$1 + $3 > user { found = 1 } END { exit !found }' /proc/self/uid_map || user=65534
	[ "$(id -u)" != 0 ] || is "$(grep '^[UG]id' status | cut -f 2-5 | sort -u | tr -s '\t' ' ')" "$user $user $user $user" "its user"
	is "$(grep -c 'Max \(file size\|open files\|core file size\) *0 ' limits)" 3 "its limits"
	! grep -q 'Max address space *unlimited' limits || fail "its memory has no bound"
}

# As the kernel ends one that calls what it may not.
killed() {
	need strace
	echo 198.51.100.1 >before
	echo 203.0.113.7 >after
	bloom load list before
	expect 2 strace -f -o /dev/null -e trace=capget -e inject=capget:signal=SYS "$XDP_BLOOM" load list after
	one_line 'after: the process that reads it did not come to an end: it was killed by signal 31'
	bloom image make image after
	expect 2 strace -f -o /dev/null -e trace=capget -e inject=capget:signal=SYS "$XDP_BLOOM" load --image image --force
	one_line 'image: the process that checks it did not come to an end: it was killed by signal 31'
	expect 0 "$XDP_BLOOM" test 198.51.100.1
	expect 1 "$XDP_BLOOM" test 203.0.113.7
	bloom load --image image --force
	expect 0 "$XDP_BLOOM" test 203.0.113.7
}

# The parser ends with its command.
stays_in() {
	need pgrep
	parse_fifo set count fifo
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_until "the end of the process that parses" gone "$parser"
	exec 7>&-
}

# calls_in_child ARGUMENT...: a line for each call of the child: the call and which one of its kind. Those that the command
# made as often before main() are not in it: each process is counted by itself, and the command would fail before it begins.
calls_in_child() {
	strace -f -o trace "$XDP_BLOOM" "$@" >/dev/null 2>&1
	awk '
		NR == 1 { command = $1 }
		{ call = $2; if (!sub(/\(.*/, "", call)) next; n[$1, call]++ }
		/\/dev\/null/ { begun = 1 }
		!begun { before[call]++ }
		$1 != command && n[$1, call] > before[call] { print call, n[$1, call] }' trace |
		grep -v '^\(close\|exit_group\|getppid\|rt_sig[a-z]*\|munmap\|set_robust_list\|madvise\) '
}

# each_call_fails ARGUMENT...: each that could fail: then what comes out is right, or one line says that nothing did.
each_call_fails() {
	local call n status count=0

	"$XDP_BLOOM" "$@" >right
	calls_in_child "$@" >all
	for call in capget prctl prlimit64 setresuid setgroups; do
		[ "$(id -u)" != 0 ] || grep -q "^$call " all || fail "$1: its child does not call $call"
	done
	while read -r call n <&3; do
		strace -f -o /dev/null -e trace="$call" -e inject="$call:error=EIO:when=$n" "$XDP_BLOOM" "$@" >out 2>err 3<&-
		status=$?
		case $status in
		0) cmp -s out right || fail "$call number $n failed, and what comes out is wrong: $(cat out err)" ;;
		# The line itself is another write.
		2) [ "$call" = write ] || is "$(grep -c ^xdp-bloom: err)" 1 "lines after $call number $n failed: $(cat err)" ;;
		*) fail "$call number $n: ended with $status: $(cat err)" ;;
		esac
		# Rights that it cannot give up: it does not begin.
		case $call in
		capset | setresuid | setresgid | setgroups) is "$status" 2 "the end after $call failed" ;;
		esac
		count=$((count + 1))
	done 3<all
	echo "# $1: $count calls failed"
}

# A command that cannot be dumped is traced by whoever has CAP_SYS_PTRACE, bit 19.
gives_up() {
	need strace
	((0x$(sed -n 's/^CapEff:\t//p' /proc/self/status) >> 19 & 1)) || skip "needs the right to trace such a process, CAP_SYS_PTRACE"
	seq -f 203.0.113.%.0f 1 200 >list
	bloom image make image list
	each_call_fails set count list
	each_call_fails image show image
}

run_cases has_nothing killed stays_in gives_up
