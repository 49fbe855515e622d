#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# batch: all of its commands or none, each of them as if it stood alone, and the guard rails for all of them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

generation() {
	get .generation show
}

batches() {
	local before

	echo 47.0.0.0/24 >list
	cat >commands <<'END'
# all of these, or none
add 45.0.0.1 --reason "two words"
load mine list
allow 47.0.0.7
add 45.0.0.2 45.0.0.3
del 45.0.0.2
tune --headroom 50
END
	bloom load other list
	before=$(generation)
	bloom batch commands
	verdicts 45.0.0.1=drop 45.0.0.2=pass 45.0.0.3=drop 47.0.0.6=drop 47.0.0.7=pass
	is "$(get '.[0].reason' test 45.0.0.1)" "two words" "the reason"
	is "$(generation)" $((before + 1)) "the generation"
	echo 'del 45.9.9.9' >>commands
	sed -i 's/45.0.0.1/45.0.0.9/' commands
	refused "commands:8: del: 45.9.9.9 is not banned" batch commands
	verdicts 45.0.0.9=pass
	echo 'show' >commands
	refused "commands:1: 'show' does not go into a batch" batch commands
	echo 'add 45.0.0.9 "' >commands
	refused "commands:1: " batch commands
	printf 'unload mine\nload mine nowhere\n' >commands
	refused "commands:2: nowhere" batch commands
	is "$(get '[.[].name]' lists)" '["other","mine","(allow)"]' "the lists"
}

# A batch reports no success, but keeps nothing in silence; of one kind the first, and how many more.
warns() {
	bloom add 45.0.0.1 45.0.0.2 45.0.0.3 --reason theirs
	bloom add 45.0.1.1
	printf 'add 45.0.0.%d --reason mine\n' 1 2 3 >commands
	printf '%s\n' 'add 45.0.1.1 --ttl 1h' 'allow 45.2.0.1/24' >>commands
	bloom batch commands
	grep -q "commands:1: 45.0.0.1 is banned for 'theirs' already: that reason stays" err || fail "no reason: $(cat err)"
	grep -q "commands: 2 more like this: 45.0.0.1 is banned for 'theirs'" err || fail "no count: $(cat err)"
	grep -q "commands:4: 45.0.1.1 is banned without end already" err || fail "no end: $(cat err)"
	grep -q "commands:5: 45.2.0.1/24.* is taken" err || fail "not what it is taken for: $(cat err)"
	is "$(wc -l <err)" 4 "the number of lines"
	bloom -q batch commands
	is "$(cat err)" "" "what is said with --quiet"
}

# A list's refusal ends when the batch is made, and is recorded where it goes back.
refusals() {
	echo 45.0.0.1 >list
	bloom load mine list
	expect 2 "$XDP_BLOOM" load mine nowhere
	is "$(get '.[0].refused.list' lists)" mine "what was refused"
	printf '%s\n' 'load mine list' 'del 45.9.9.9' >commands
	expect 2 "$XDP_BLOOM" batch commands
	is "$(get '.[0].refused.list' lists)" mine "what was refused, after a batch that went back"
	printf '%s\n' 'unload mine' 'del 45.9.9.9' >commands
	expect 2 "$XDP_BLOOM" batch commands
	is "$(get '.[0].refused.list' lists)" mine "what was refused, after another"
	echo 'load mine list' >commands
	bloom batch commands
	is "$(get '.[0].refused' lists)" null "what was refused, after a batch that was made"
	printf '%s\n' 'add 45.0.0.9' 'load mine nowhere' >commands
	expect 2 "$XDP_BLOOM" batch commands
	is "$(get '.[0].refused.list' lists)" mine "what a batch was refused for"
	bloom unload mine
}

# What stands in a line stands for that line; what does not belong there is refused, and so is all of the batch.
lines_of_a_batch() {
	local line words

	veth 0
	ip addr add 45.0.9.1/24 dev edge0
	echo 45.0.0.1 >list
	bloom add 45.0.0.1
	while IFS='|' read -r line words; do
		printf 'add 45.0.0.5\n%s\n' "$line" >commands
		refused "commands:2: $words" batch commands
		verdicts 45.0.0.5=pass
	done <<-'LINES'
		add 45.0.0.6 --check|--check stands on the command line
		add 45.0.0.6 -S other|--state stands on the command line
		add 45.0.0.6 --bpff other|--bpffs stands on the command line
		add 45.0.0.6 --wait 1|--wait stands on the command line
		add 45.0.0.6 --log json|--log stands on the command line
		add -|add: '-': a line of a file of commands reads no standard input
		load mine -|'-': a line of a file of commands reads no standard input
	LINES
	[ ! -e other ] || fail "a directory was made"
	printf 'add -\n45.0.0.5\n' >commands
	expect 2 "$XDP_BLOOM" batch - <commands
	one_line "standard input:1: add: '-'"
	printf 'add 45.0.9.1\ndel 45.0.9.1\nadd 45.0.0.5\n' >commands
	bloom batch commands
	verdicts 45.0.9.1=pass 45.0.0.5=drop
	for line in 'add 45.0.0.6 --force' 'load mine list --force'; do
		printf '%s\nadd 45.0.9.1\n' "$line" >commands
		refused "45.0.9.1, an address of this machine" batch commands
	done
	printf 'add 45.0.0.6\ndel 45.0.0.6\ndel 45.0.0.6\n' >commands
	refused "commands:3: del: 45.0.0.6 is not banned" batch commands
	printf 'del 45.0.0.5\ndel 45.0.0.5\n' >commands
	refused "commands:2: del: 45.0.0.5 is not banned" batch commands
	printf 'add 45.0.0.6 -j\nadd 45.0.0.7\ndel 45.9.9.9\n' >commands
	refused "commands:3: del: 45.9.9.9 is not banned" batch commands
	sed -i '$d' commands
	bloom batch commands
	[ ! -s out ] || fail "a line has something to show: $(cat out)"
	bloom add 2a00::1 2a00::2 2a00::3
	printf 'del 2a00::1\nadd 2a00::1\ndel 2a00::1\n' >commands
	bloom batch commands
	is "$(get .keys.ipv6 show)" 2 "the keys after one went twice"
	verdicts 2a00::1=pass 2a00::2=drop
}

# A writer of commands may be slow: while it writes nothing, no other command waits for it.
slow_batch() {
	local batch pipe

	mkfifo commands
	"$XDP_BLOOM" batch - <commands >said 2>&1 &
	batch=$!
	exec {pipe}>commands
	# It waits for its standard input.
	wait_until "a batch that reads" grep -qs '^[0-9]* 0x0 ' "/proc/$batch/syscall"
	bloom --wait 0 add 45.0.0.1
	printf 'add 45.0.0.2\nadd 45.0.0.3\n' >&"$pipe"
	bloom --wait 0 add 45.0.0.4
	verdicts 45.0.0.1=drop 45.0.0.2=pass 45.0.0.4=drop
	exec {pipe}>&-
	end_of "$batch" || fail "the batch: $(cat said)"
	verdicts 45.0.0.1=drop 45.0.0.2=drop 45.0.0.3=drop 45.0.0.4=drop
	(echo "add 45.0.0.5") | bloom batch /dev/stdin
	verdicts 45.0.0.5=drop
}

# Who owns a list's file may put a pipe in its place: others' commands wait for the batch, and it for nobody.
waits_for_no_file() {
	mkfifo pipe
	echo 'load mine pipe' >commands
	expect 2 timeout 30 "$XDP_BLOOM" batch commands
	one_line "commands:1: pipe: not a regular file; nothing was loaded"
}

checks_a_batch() {
	bloom add 45.0.0.1
	printf 'add 45.0.0.2\nload mine nowhere\n' >commands
	refused "commands:2: nowhere: " batch --check commands
	bloom batch --check=words commands
	is "$(cat out)" "commands: 2 commands, all right" "what --check says"
	printf '%s\n' 'add 45.0.0.300' nonsense show 'add 45.0.0.2 --ttl soon' 'add 45.0.0.2' >commands
	expect 2 "$XDP_BLOOM" batch --check - <commands
	is "$(sed 's/^xdp-bloom: standard input:\([0-9]*\): .*/\1/' err | tr '\n' ' ')" "1 2 3 4 " "the lines that are wrong"
	verdicts 45.0.0.2=pass
}

# A label is another list's only when the batch is done.
counted_on() {
	filtering mine
	send 0 -b banned -c clean
	is "$(get '[.lists[]|[.name,.packets]]' stats)" '[["mine",3]]' "the lists that are counted"
	printf '%s\n' 'unload mine' 'load other list' 'add 300.1.1.1' >commands
	refused "commands:3: " batch commands
	is "$(get '[.lists[]|[.name,.packets]]' stats)" '[["mine",3]]' "the counts after a batch that failed"
	sed -i '$d' commands
	bloom batch commands
	is "$(get '[.lists[]|select(.packets>0)|.name]' stats)" '[]' "the lists with a count after the batch"
}

# What would shut out this machine is refused, whichever line it is, and whatever stands before it and behind it.
guards_of_a_batch() {
	local line

	veth 0
	ip addr add 45.0.9.1/24 dev edge0
	ip -6 addr add 2a00:9::1/64 dev lo
	printf '%s\n' 45.0.9.0/25 2a00:9::/64 >own
	echo 45.0.0.1 >other
	bloom load friends own --allow
	bloom load own own
	bloom load shadowed own --shadow
	bloom load kept other
	bloom allow 45.0.9.1 2a00:9::1
	bloom unload friends
	verdicts 45.0.9.1=pass 45.0.9.2=drop 2a00:9::1=pass 2a00:9::2=drop
	for line in 'disallow 45.0.9.1' 'disallow 2a00:9::1'; do
		refused_in_a_batch "$line"
	done
	bloom unload own
	bloom disallow 45.0.9.1 2a00:9::1
	for line in 'load new own' 'enforce shadowed' 'add 45.0.9.1' 'add 2a00:9::/64'; do
		refused_in_a_batch "$line"
	done
	printf '%s\n' 'load new own' 'unload new' 'enforce shadowed' 'shadow shadowed' 'tune --headroom 40' >commands
	bloom batch commands
	printf '%s\n' 'load new own --force' 'tune --headroom 50' >commands
	bloom batch commands
	verdicts 45.0.9.1=drop 2a00:9::1=drop
}

# refused_in_a_batch LINE: alone, between lines that build a generation as well, and beside one that is forced.
refused_in_a_batch() {
	local lines own='45.0.9.1, an address of this machine'

	[[ $1 != *2a00* ]] || own='2a00:9::1, an address of this machine'
	for lines in "$1" "$1|tune --headroom 40" "tune --headroom 40|$1" "add 45.0.0.5|$1|unload kept --force" \
		"load third other --force|$1|rotate"; do
		echo "$lines" | tr '|' '\n' >commands
		refused "$own" batch commands
	done
	is "$(get .headroom tune)" 10 "the headroom after batches that were refused"
}

# A filter that the state does not know is replaced only where a line gives up what there is.
begins_anew() {
	local lines

	echo 45.0.0.1 >list
	bloom add 45.0.0.1
	cp -a state before
	bloom add 45.0.0.3
	rm -rf state
	mv before state
	for lines in 'add 45.0.0.4' 'load mine list' 'rotate|tune --headroom 40'; do
		echo "$lines" | tr '|' '\n' >commands
		refused "does not know the filter that is in force" batch commands
	done
	printf '%s\n' flush 'load mine list' 'add 45.0.0.4' 'tune --headroom 40' >commands
	bloom batch commands
	verdicts 45.0.0.1=drop 45.0.0.3=pass 45.0.0.4=drop
}

# on_a_terminal ARGS...: what it says there, where its standard input takes more than a second.
on_a_terminal() {
	python3 -c '
import os, pty, subprocess, sys, time
ours, theirs = pty.openpty()
batch = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stderr=theirs)
os.close(theirs)
while not open(f"/proc/{batch.pid}/syscall").read().startswith("0 0x0 "): # it reads
    time.sleep(0.01)
time.sleep(1.1) # a second is what it is about
batch.stdin.write(open("commands", "rb").read())
batch.stdin.close()
said = b""
try:
    while piece := os.read(ours, 4096):
        said += piece
except OSError:
    pass
open("said", "wb").write(said)
sys.exit(batch.wait())' "$XDP_BLOOM" "$@"
}

how_far() {
	printf 'add 45.9.%d.0/28\n' {1..255} {1..255} >commands
	on_a_terminal batch - || fail "$(cat said)"
	grep -q '\[#* *\] .* % reading the commands' said || fail "nothing is said of how far it is: $(cat -v said)"
	is "$(tail -c 4 said | od -An -c | tr -d ' ')" '\r033[K' "the end of what is said"
	on_a_terminal -q batch - || fail "$(cat said)"
	is "$(cat said)" "" "what is said with -q"
	on_a_terminal -j batch - >out || fail "$(cat said)"
	! grep -q reading said || fail "said with -j: $(cat -v said)"
	# Many bans at once, too.
	cp commands lines
	printf '%s\n' 45.10.{0..99}.{0..99} >commands
	on_a_terminal add - || fail "$(cat said)"
	grep -q '% keeping the bans' said || fail "nothing is said of how far add is: $(cat -v said)"
	on_a_terminal del - || fail "$(cat said)"
	grep -q '% taking the bans out' said || fail "nothing is said of how far del is: $(cat -v said)"
	on_a_terminal -q add - || fail "$(cat said)"
	is "$(cat said)" "" "what add says with -q"
	mv lines commands
	bloom flush
	bloom batch commands
	[ ! -s err ] || fail "said where there is no terminal: $(cat -v err)"
	bloom flush
}

# As the verb by itself does.
says_what_is_allowed() {
	bloom allow 45.7.0.1
	printf '%s\n' 'add 45.7.0.1' 'add 45.7.0.0/30' 'add 45.8.0.1' >commands
	bloom batch commands
	grep -q "45.7.0.1 is allowed by list '(allow)', and passes" err || fail "$(cat err)"
	is "$(grep -c 45.8.0.1 err)" 0 "what is said of what is not allowed"
	bloom -q batch commands
	[ ! -s err ] || fail "with -q: $(cat err)"
	bloom flush
}

# --check asks what the verb asks.
checks_as_the_verb() {
	local line

	bloom flush
	for line in "tune --exact=off" "add 16.0.0.0/4" "allow 0.0.0.0/0"; do
		echo "$line" >commands
		# shellcheck disable=SC2086 # a line is words
		expect 2 "$XDP_BLOOM" $line
		expect 2 "$XDP_BLOOM" batch --check commands
		grep -q "^xdp-bloom: commands:1: .*--force" err || fail "$line: $(cat err)"
		echo "$line --force" >commands
		bloom batch --check commands
	done
}

# It asks, and that ends; nothing is written.
checks_and_ends() {
	local line before

	echo 192.0.2.7 >list
	bloom image make one list
	bloom load list list
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >capture.pcap
	before=$(ls)
	for line in "stats" "stats --interval 1h" "watch" "capture -w new" "top" "events --follow" "image make new list" \
		"image union new one one" "replay capture.pcap list --write-passed new --write-dropped new2"; do
		# shellcheck disable=SC2086 # a line is words
		bloom --check $line
		[ ! -s out ] || fail "$line: prints: $(cat out)"
		is "$(ls)" "$before" "files after '$line'"
	done
	refused "--count goes with --interval" --check stats --count 5
	refused "to which file?" --check capture
	refused "nosuch" --check image make new nosuch
	refused "nosuch" --check replay nosuch list
	bloom flush
}

# As an editor of Windows writes it.
from_windows() {
	printf '\xef\xbb\xbfadd 45.0.0.9\r\nadd 45.0.0.10 --reason "two words"\r\n' >commands
	bloom batch commands
	verdicts 45.0.0.9=drop 45.0.0.10=drop
	bloom flush
}

run_cases from_windows checks_and_ends how_far says_what_is_allowed checks_as_the_verb batches warns refusals lines_of_a_batch slow_batch waits_for_no_file checks_a_batch counted_on guards_of_a_batch begins_anew
