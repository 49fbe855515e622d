# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the shell tests share. A test sources this, calls `sandbox "$@"`, defines its cases and hands them to run_cases.
#
# A sandbox is a network and a mount namespace of the test's own: the interfaces, the pins in its bpffs and the XDP
# programs are its own, and go with it however the test ends. Both ends of a veth pair live in it: nothing
# has an address, the traffic program sends out of wireN, and edgeN is where packets are filtered. (`ip netns exec`
# would hide the bpffs: it mounts /sys again.)

set -u
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
top=$(realpath "$here/../..")
# In a kernel tree the programs are in the directory of the tests, and the sources elsewhere.
if [ -x "$here/../xdp-bloom" ]; then
	: "${XDP_BLOOM:=$here/../xdp-bloom}" "${TRAFFIC:=$here/../traffic}"
	top=${XDP_BLOOM_SRC:-$here/..}
fi
XDP_BLOOM=$(realpath -m "${XDP_BLOOM:-$top/build/xdp-bloom}")
TRAFFIC=$(realpath -m "${TRAFFIC:-$top/build/tests/traffic}")
XDP_BLOOM_SEED=$((${XDP_BLOOM_SEED:-(RANDOM << 15) + RANDOM}))
# Servers of others, which are not installed: tools/unpack.sh.
PATH=$PATH:${XDP_BLOOM%/*}/peers/usr/bin:${XDP_BLOOM%/*}/peers/usr/sbin
export XDP_BLOOM TRAFFIC XDP_BLOOM_SEED PATH

skip_all() {
	printf 'TAP version 13\n1..0 # SKIP %s\n' "$1"
	exit 4
}

# sandbox "$@": starts the script again in namespaces of its own, with a work directory that goes at its end. Where they
# cannot be made, those of its cases that $no_kernel, a regular expression, has run without; $no_sandbox then says why.
sandbox() {
	no_sandbox=
	if [ -z "${XDP_BLOOM_SANDBOX:-}" ]; then
		no_sandbox=$(refused_sandbox)
		[ -n "$no_sandbox" ] || XDP_BLOOM_SANDBOX=$$ exec unshare --net --mount "$BASH" "$0" "$@"
		[ -n "${no_kernel:-}" ] || skip_all "$no_sandbox"
	fi
	unset XDP_BLOOM_SANDBOX
	need jq python3
	[ -n "$no_sandbox" ] || need ip
	[ -x "$XDP_BLOOM" ] || skip_all "$XDP_BLOOM is not built"
	[ -x "$TRAFFIC" ] || skip_all "$TRAFFIC is not built"
	if [ -z "$no_sandbox" ]; then
		mount -t sysfs sysfs /sys || skip_all "cannot mount /sys"
		mount -t bpf bpf /sys/fs/bpf || skip_all "cannot mount bpffs"
	fi
	WORK=$(mktemp -d) || skip_all "cannot make a directory"
	mkfifo "$WORK.never" || skip_all "cannot make a pipe"
	# Without a bpffs of one's own, none.
	export XDP_BLOOM_BPFFS=${no_sandbox:+$WORK}/sys/fs/bpf/xdp-bloom-test
	export XDP_BLOOM_STATE=$WORK/state
	trap 'stop_jobs; stop_all; rm -rf "${WORK:?}" "${WORK:?}".*' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	cd "$WORK" || exit 1
}

refused_sandbox() {
	if [ "${XDP_BLOOM_RIGHTS:-}" = no ]; then
		echo "needs the rights that tools/rights.sh looks for"
	elif [ "$(id -u)" != 0 ]; then
		echo "needs root"
	elif ! unshare --net --mount true 2>/dev/null; then
		echo "needs network and mount namespaces"
	fi
}

# without_rights COMMAND...: as nobody; whoever has none already stays who it is.
without_rights() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# need TOOL...: or all of it is skipped; within a case, that case.
need() {
	local tool package

	for tool; do
		command -v "$tool" >/dev/null && continue
		package=$tool
		case $tool in
		bridge | ip) package=iproute2 ;;
		chronyd) package=chrony ;;
		nft) package=nftables ;;
		pgrep | ps) package=procps ;;
		redis-cli | redis-server) package=redis-tools ;;
		promtool) package=prometheus ;;
		nsenter | setpriv | taskset | unshare) package=util-linux ;;
		systemctl | systemd-analyze | */systemd) package=systemd ;;
		xdp-loader) package=xdp-tools ;;
		esac
		"${skip_with:-skip_all}" "needs $tool, of the package $package"
	done
}

# A real server for a fleet, behind sandbox: Valkey where Debian has it, Redis elsewhere, both under the older names. Packages of
# the servers start one on the machine; their binaries are also those which check files, and packages of tools have them.
need_redis() {
	local name server bin=$WORK.bin

	for name in valkey redis; do
		server=$(command -v $name-server || command -v $name-check-rdb) || continue
		command -v $name-cli >/dev/null || continue
		mkdir -p "$bin"
		ln -sf "$(realpath "$server")" "$bin/redis-server"
		ln -sf "$(realpath "$(command -v $name-cli)")" "$bin/redis-cli"
		[[ $("$bin/redis-server" --version 2>&1) = *' server v='* ]] || continue
		PATH=$bin:$PATH
		break
	done
	need redis-server redis-cli
}

need_sources() {
	[ -d "$top/packaging" ] || "${skip_with:-skip_all}" "needs the sources: XDP_BLOOM_SRC names no directory of them"
}

stop_jobs() {
	local pids

	pids=$(jobs -p)
	# shellcheck disable=SC2086 # one word a process
	[ -z "$pids" ] || { kill $pids; kill -CONT $pids; } 2>/dev/null # stopped, they would not hear of it
	wait
}

# Whatever else still runs in these namespaces, in sessions of its own, such as what waits for a --confirm: it would take
# back what the next case does in the same place.
stop_all() {
	local process found=yes

	[ -z "$no_sandbox" ] || return 0
	while [ $found ]; do
		found=
		for process in /proc/[0-9]*; do
			[ "$process/ns/mnt" -ef /proc/self/ns/mnt ] || continue
			[[ ! ${process#/proc/} =~ ^($$|$BASHPID)$ ]] || continue
			kill -9 "${process#/proc/}" 2>/dev/null
			found=yes
		done
	done
}

# veth N...: a pair wireN -> edgeN for each N. Neither end says anything of its own accord.
veth() {
	local n end

	for n; do
		ip link add "edge$n" ${link_number:+index "$link_number"} type veth peer name "wire$n" || fail "cannot make a veth pair"
		for end in "edge$n" "wire$n"; do
			[ ! -e "/proc/sys/net/ipv6/conf/$end" ] || echo 1 >"/proc/sys/net/ipv6/conf/$end/disable_ipv6"
			ip link set "$end" up
		done
	done
}

# rename FROM TO: an interface that was up is so again.
rename() {
	ip link set "$1" down
	ip link set "$1" name "$2"
	ip link set "$2" up
}

# many_names DEVICE [COMMAND...]: so many other names that what the kernel says of it is longer than it says otherwise at once.
# COMMAND: runs ip, as in another network.
many_names() {
	local i

	for i in {1..480}; do
		printf 'link property add dev %s altname n%0120d\n' "$1" "$i"
	done >many_names
	"${@:2}" ip -batch many_names 2>/dev/null || skip "interfaces have no other names here"
}

# --- Cases ------------------------------------------------------------------------------------------------------------

# run_cases 'FUNCTION ARGS'...: all of them, or those in which XDP_BLOOM_CASES, a regular expression, is found; each in a
# subshell that ends at its first failure, with nothing left of the one before. The last thing a test does: its status is
# the test's. XDP_BLOOM_SHARE=3 runs a third of them, drawn by the seed; a script with one case then runs it one time in
# three.
run_cases() {
	local case status n=0 failed=0 skipped=0 reason result left wanted share=${XDP_BLOOM_SHARE:-1}
	local -a cases=()

	for case; do
		[[ ! $case =~ ${XDP_BLOOM_CASES:-} ]] || cases+=("$case")
	done
	left=${#cases[@]}
	[ "$left" != 0 ] || { echo "Bail out! no case has '$XDP_BLOOM_CASES' in it" && return 1; }
	[ -z "${XDP_BLOOM_CASES:-}" ] || share=1
	RANDOM=$XDP_BLOOM_SEED
	wanted=$(((left + RANDOM % share) / share))
	[ $wanted != 0 ] || skip_all "of one in $share, which are run on this machine, it has none"
	set --
	for case in "${cases[@]}"; do
		((RANDOM % left-- >= wanted)) || { set -- "$@" "$case" && wanted=$((wanted - 1)); }
	done
	printf 'TAP version 13\n1..%d\n# seed: XDP_BLOOM_SEED=%d\n' $# "$XDP_BLOOM_SEED"
	for case; do
		rm -rf "${WORK:?}"/*
		[ -n "$no_sandbox" ] || rm -rf "${XDP_BLOOM_BPFFS:?}" "${XDP_BLOOM_BPFFS:?}-other" /sys/fs/bpf/xdp
		(
			trap stop_jobs EXIT
			skip_with=skip
			# make mutants asks which lines each case reaches.
			[ -z "${XDP_BLOOM_REACHED:-}" ] || export LLVM_PROFILE_FILE=$XDP_BLOOM_REACHED/$n-%m%c.profraw
			[ -z "$no_sandbox" ] || [[ $case =~ $no_kernel ]] || skip "$no_sandbox"
			# shellcheck disable=SC2086 # a function and its arguments
			$case
		) &
		wait $! # not in the foreground: there a signal would have to wait for its end
		status=$?
		stop_all
		remove_interfaces
		result=ok reason=
		if [ $status = 4 ]; then
			skipped=$((skipped + 1))
			reason=" # SKIP $(cat "$WORK/skipped")"
		elif [ $status != 0 ]; then
			failed=$((failed + 1))
			result="not ok"
		fi
		n=$((n + 1))
		printf '%s %d %s%s\n' "$result" $n "${case//_/ }" "$reason"
	done
	printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((n - failed - skipped)) $failed $skipped
	[ $failed = 0 ] || return 1
	[ $skipped != $n ] || return 4
}

remove_interfaces() {
	local link

	[ -z "$no_sandbox" ] || return 0
	for link in /sys/class/net/edge*; do
		# One whose other end was in a network that has just ended goes by itself.
		[ ! -e "$link" ] || ip link del "${link##*/}" 2>"$WORK.del" || [ ! -e "$link" ] || cat "$WORK.del"
	done
	ip addr flush dev lo scope global
}

fail() {
	printf '%s\n' "$1" | sed 's/^/# /'
	exit 1
}

skip() {
	echo "$1" >"$WORK/skipped"
	exit 4
}

# libxdp has put no dispatcher on an interface. That is the kernel's doing, or else a failure.
skip_dispatcher() {
	! bpftool feature probe kernel 2>/dev/null | grep -q 'program_type ext is available' ||
		fail "no dispatcher of libxdp, although the kernel loads programs of type EXT (freplace)"
	skip "no dispatcher of libxdp: this kernel loads no programs of type EXT (freplace); those of make test-kernels do"
}

# is GOT WANTED WHAT
is() {
	[ "$1" = "$2" ] || fail "$3 is '$1', not '$2'"
}

# --- Waiting ----------------------------------------------------------------------------------------------------------

# How many seconds a wait takes at most: ten, and more where others keep the processors busy, or they are emulated.
patience=${XDP_BLOOM_PATIENCE:-$(awk -v cpus="$(nproc)" '{ print int(10 + 3 * $1 / cpus) }' /proc/loadavg)}
[ -z "${XDP_BLOOM_MACHINE:-}" ] || patience=60

# wait_until WHAT COMMAND...: until the command succeeds. WHAT is what has not come where it does not.
wait_until() {
	local what=$1 end=$((SECONDS + patience)) n

	shift
	# What is not there in half a second is asked for less often: to ask takes a processor from what is waited for.
	for ((n = 0; ; n++)); do
		! "$@" || return 0
		[ $SECONDS -le $end ] || fail "waited $patience s for this, and it did not come: $what$(unmet)"
		if ((n < 10)); then moment; else moment 0.2; fi
	done
}

# What a test has to say of what did not come: more than that.
unmet() {
	:
}

# moment [SECONDS]: without a process of its own: bash lost one of them in some ten thousands, and waited for it forever.
moment() {
	read -rt "${1:-0.05}" <>"$WORK.never" || true
}

# gone PID: it has ended, perhaps as a zombie.
gone() {
	! grep -qs '^State:[^Z]*$' "/proc/$1/status"
}

# end_of PID: waits for the end of a child, and its status is the status.
end_of() {
	wait_until "the end of process $1" gone "$1"
	wait "$1"
}

# stopped_by_strace FILE: what strace writes into it says that the command has stopped where it was to.
stopped_by_strace() {
	wait_until "that it stops, by $1" grep -qs "stopped by SIGSTOP" "$1"
}

# stopped_under FILE ARGUMENT...: runs strace by these arguments, which stop the command, until it has stopped. FILE is what strace
# writes: what an earlier one left in it is no answer. $! is strace's, or with -D the command's.
stopped_under() {
	rm -f "$1"
	strace -o "$@" &
	stopped_by_strace "$1"
}

# hold_lock: process $holder holds the state's lock, until it is killed.
hold_lock() {
	local line

	rm -f held
	mkfifo held
	python3 - "$XDP_BLOOM_STATE/lock" >held <<-'PYTHON' &
		import fcntl, signal, sys

		with open(sys.argv[1], "r+") as lock:
		    fcntl.lockf(lock, fcntl.LOCK_EX)
		    print("held", flush=True)
		    signal.pause()
	PYTHON
	# shellcheck disable=SC2034 # for who asked
	holder=$!
	read -rt "$patience" line <>held
	[ "$line" = held ] || fail "the lock is not held"
}

# has_open PID N: so many files.
has_open() {
	[ "$(find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l)" = "$2" ]
}

# keeps_open PID COMMAND...: after twenty times, it has as many files open as after the first.
keeps_open() {
	local pid=$1 n=0 i

	shift
	"$@" 0
	until has_open "$pid" "$n"; do
		n=$(find "/proc/$pid/fd" -mindepth 1 | wc -l)
		moment
	done
	for i in {1..20}; do
		"$@" "$i"
	done
	wait_until "that $n files are open" has_open "$pid" "$n"
}

# --- The command ------------------------------------------------------------------------------------------------------

# expect STATUS COMMAND...: runs it, its output in $WORK/out and $WORK/err.
expect() {
	local wanted=$1 status at_most=()

	shift
	# What hangs fails in time. What is preloaded is for the command alone.
	declare -F "$1" >/dev/null || [ -n "${LD_PRELOAD:-}" ] || at_most=(timeout -s KILL $((3 * patience)))
	"${at_most[@]}" "$@" >"$WORK/out" 2>"$WORK/err"
	status=$?
	[ $status = "$wanted" ] || fail "'$*' ended with $status, not $wanted: $(head -c 1000 "$WORK/err")"
}

# peak_of COMMAND...: the most memory that it took, in KiB.
peak_of() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

bloom() {
	expect 0 "$XDP_BLOOM" "$@"
}

# another ARGS...: another instance of it, which is to this one any other program.
another() {
	XDP_BLOOM_BPFFS=$XDP_BLOOM_BPFFS-other XDP_BLOOM_STATE=$XDP_BLOOM_STATE-other bloom "$@"
}

# refused WORDS ARGS...: ends with 2, says why in one line that has WORDS in it, and changes nothing.
refused() {
	local words=$1 before

	shift
	before=$(snapshot)
	expect 2 "$XDP_BLOOM" "$@"
	one_line "$words"
	[ ! -s "$WORK/out" ] || fail "'$*' was refused, but printed: $(head -c 1000 "$WORK/out")"
	is "$(snapshot)" "$before" "what is loaded and attached after '$*'"
}

# one_line WORDS: the error it printed.
one_line() {
	is "$(wc -l <"$WORK/err")" 1 "number of lines on standard error ($(head -c 1000 "$WORK/err"))"
	grep -q '^xdp-bloom: ' "$WORK/err" || fail "does not say who speaks: $(cat "$WORK/err")"
	grep -qF -e "$1" "$WORK/err" || fail "no '$1' in: $(cat "$WORK/err")"
}

snapshot() {
	# That its next version was refused is no part of what is loaded.
	"$XDP_BLOOM" -j lists 2>&1 | sed -E 's/,"refused":(null|\{([^"}]|"([^"\]|\\.)*")*\})//g'
	"$XDP_BLOOM" -j show 2>&1
	ip -o link | grep -o '^[0-9]*: [^:]*\|prog/xdp id [0-9]*'
}

# numbers JQ-FILTER: the same filter; its numbers are written as numbers, not (by jq 1.7) as they were spelled.
numbers() {
	echo "($1) | walk(if type == \"number\" then . + 0 else . end)"
}

# get JQ-FILTER ARGS...: what the command says as JSON, through jq.
get() {
	local filter=$1

	shift
	"$XDP_BLOOM" -j "$@" 2>"$WORK/err" | jq -rc "$(numbers "$filter")"
}

# gives WANTED JQ-FILTER ARGS...: whether that is what the command says.
gives() {
	local wanted=$1

	shift
	[ "$(get "$@")" = "$wanted" ]
}

# verdicts ADDR=VERDICT...
verdicts() {
	local pair

	for pair; do
		is "$(get '.[0].verdict' test "${pair%=*}")" "${pair#*=}" "the verdict of ${pair%=*}"
	done
}

# a_list: hosts and a prefix; banned and clean are sources to send from, those beside it among them.
a_list() {
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.9 >banned
	printf '%s\n' 192.0.2.6 2001:db8::6 203.0.112.255 >clean
}

# filtering NAME: edge0 filters a list of that name.
filtering() {
	veth 0
	a_list
	bloom load "$1" list
	bloom attach edge0
}

# filtering_two: edge1 filters that list, and one called other: it is even now, and may become odd. edge0 is free.
filtering_two() {
	veth 0 1
	a_list
	printf '%s\n' 198.51.100.1 198.51.100.2 >even
	printf '%s\n' 198.51.100.{1..3} 2001:db8:1::/48 >odd
	bloom load base list
	bloom load other even
	bloom attach edge1
}

# All that is kept is in the one file then, and nothing in SQLite's log beside it.
tidied() {
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)")' \
		"$XDP_BLOOM_STATE/state.db"
}

# The XDP program on an interface.
xdp_id() {
	ip -j link show "$1" | jq -r '.[0].xdp.prog.id // "none"'
}

# without_program INTERFACE
without_program() {
	[ "$(xdp_id "$1")" = none ]
}

# let_go INTERFACE: waits until nothing is there. The kernel lets go of a program a little after its last pin has gone.
let_go() {
	wait_until "no program on $1" without_program "$1"
}

# asking ADDRESS: as a resolver that asks a name server, until process $asker ends.
asking() {
	rm -f asks
	python3 -c 'import signal, socket, sys
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.connect((sys.argv[1], 53))
print("asking", flush=True)
signal.pause()' "$1" >asks &
	# shellcheck disable=SC2034 # for who ends it
	asker=$!
	wait_until "that somebody asks $1" grep -qs asking asks
}

# no_agent: decisions of an agent are followed that is not there, by process $agent.
no_agent() {
	ip link set lo up
	echo key >agent.key
	chmod 600 agent.key
	"$XDP_BLOOM" follow crowdsec --key-file agent.key --url http://127.0.0.1:1 2>/dev/null &
	# shellcheck disable=SC2034 # for who asked
	agent=$!
	wait_until "that it does not answer" test -e "$XDP_BLOOM_STATE/crowdsec"
}

# shellcheck source=tests/support/traffic.sh
. "$here/traffic.sh"
