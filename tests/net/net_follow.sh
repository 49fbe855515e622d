#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# follow: bans from whoever sends lines. What it acknowledged is in force in the kernel and in the state, however it
# ends; what is wrong with a line is said, and the stream goes on. XDP_BLOOM_KILLS: how often it is killed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

kills=${XDP_BLOOM_KILLS:-12}

verdict() {
	"$XDP_BLOOM" -j test "$1" | jq -r '.[0].verdict'
}

lines() {
	cat <<-'LINES'
		# a comment
		+45.0.0.1 1h ssh login
		+2001:db8:7::/48 - whole network
		+45.0.0.2

		-45.0.0.2
		+45.0.0.3 90s
	LINES
}

what_a_line_does() {
	lines | expect 0 "$XDP_BLOOM" follow -
	is "$(tail -n 1 out)" "ok 7" "what is acknowledged in the end"
	is "$(cat err)" "" "what is said of good lines"
	is "$(get '[.[] | .prefix + " " + .reason] | sort | join(", ")' bans)" \
		"2001:db8:7::/48 whole network, 45.0.0.1 ssh login, 45.0.0.3 " "bans"
	is "$(get '[.[] | select(.expires == null).prefix] | join(" ")' bans)" 2001:db8:7::/48 "bans without an end"
	is "$(verdict 45.0.0.1) $(verdict 2001:db8:7::9) $(verdict 45.0.0.2)" "drop drop pass" "verdicts"
	"$XDP_BLOOM" events | grep -q 'follow .*standard input: 4 banned, 0 renewed, 1 taken out' || fail "no event: $("$XDP_BLOOM" events)"
	# The end of one that is not there is no fault.
	echo -45.0.0.9 | expect 0 "$XDP_BLOOM" -j follow -
	is "$(cat out)" '{"ok":1}' "what is acknowledged as JSON"
	bloom --check follow - </dev/null
}

bad_lines() {
	ip addr add 45.0.9.1/32 dev lo
	{
		printf 'hello\n+45.0.0.300 1h\n+45.0.0.1 soon\n+1.2.3.4/7\n+45.0.0.4/24\n-45.0.0.5 1h\n'
		printf '+45.0.0.6 1h a\0b\n\001\002\n'
		head -c 100000 /dev/zero | tr '\0' x
		printf '\n+45.0.9.1 1h\n+10.0.0.0/7\n+45.0.0.7 1h good\n+45.0.0.8 1h with no e'
	} | expect 1 "$XDP_BLOOM" follow -
	is "$(tail -n 1 out)" "ok 13" "what is acknowledged in the end"
	mv err bad
	is "$(get '[.[].prefix] | join(" ")' bans)" 45.0.0.7 "bans"
	is "$(sed -n 's/^xdp-bloom: standard input:\([0-9]*\):.*/\1/p' bad | sort -n | xargs)" "1 2 3 4 5 6 7 8 9 10 11 13" \
		"lines that were named ($(cat bad))"
	grep -q "10: .*45.0.9.1, an address of this machine" bad || fail "the machine's own address: $(cat bad)"
	is "$(wc -l <bad)" 12 "lines on standard error"
	# Of very many, some, and how many more.
	head -c 300000 /dev/urandom | tr '\n+-' '   ' | fold -w 60 | { cat && echo && echo +45.0.0.9; } | tr -d '\0' |
		expect 1 "$XDP_BLOOM" follow -
	[ "$(wc -l <err)" -le 200 ] || fail "$(wc -l <err) lines are said of rubbish"
	is "$(verdict 45.0.0.9)" drop "the verdict on what comes behind rubbish"
}

# One that a guard rail refuses is found among many, and all others are in force.
one_of_many() {
	ip addr add 45.0.9.1/32 dev lo
	ip addr add 2001:db8:9::1/128 dev lo
	python3 - >many <<-'PYTHON'
		import os, random
		rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
		lines = ["+46.%d.%d.%d 1h" % (rng.randrange(256), rng.randrange(256), rng.randrange(256)) for _ in range(3000)]
		for at, ours in zip(rng.sample(range(3000), 2), ("45.0.9.0/24", "2001:db8:9::/64")):
		    lines[at] = "+%s 1h" % ours
		print("\n".join(lines))
	PYTHON
	expect 1 "$XDP_BLOOM" follow many
	is "$(tail -n 1 out)" "ok 3000" "what is acknowledged"
	is "$(grep -c 'this machine' err)" 2 "lines about this machine ($(cat err))"
	sed -n 's/^+\(46[^ ]*\).*/\1/p' many | "$XDP_BLOOM" -j test - | jq -e 'all(.verdict == "drop")' >/dev/null ||
		fail "not all others are dropped"
	is "$(verdict 45.0.9.1)" pass "the verdict on an address of this machine"
}

pipes_and_commands() {
	mkfifo bans
	"$XDP_BLOOM" follow bans >said 2>err &
	follower=$!
	echo "+45.0.1.1 1h first" >bans
	wait_until "the first" grep -qsx 'ok 1' said
	printf '+45.0.1.9 1h cut' >bans
	wait_until "a word about a line without an end" grep -qs 'bans:2: it has no end' err
	printf '+45.0.1.2 1h second\n' >bans
	wait_until "the second" grep -qsx 'ok 3' said
	is "$(verdict 45.0.1.1) $(verdict 45.0.1.2) $(verdict 45.0.1.9)" "drop drop pass" "verdicts"
	kill -TERM $follower
	end_of $follower
	is $? 1 "the status at SIGTERM, with a bad line"
	# A command is told on its standard input.
	cat >sender <<-'SENDER'
		echo "+45.0.2.1 1h"
		read -r answer
		echo "$answer" >answer
	SENDER
	bloom follow exec -- sh -e sender
	is "$(cat answer) $(verdict 45.0.2.1)" "ok 1 drop" "what a command is told, and the verdict"
	is "$(cat out)" "" "what is printed of a command"
	refused "sh ended with status 3" follow exec -- sh -c 'exit 3'
	refused "ended with status 127" follow exec no-such-command
	refused "No such file" follow nowhere
}

# Neither a writer nor a reader that stalls holds up others, nor one another.
stalls() {
	mkfifo bans acknowledged
	"$XDP_BLOOM" follow bans >acknowledged 2>err &
	follower=$!
	exec 8<>acknowledged 7>bans
	# Nobody reads, and the pipe is full.
	head -c 1000000 /dev/zero | dd of=acknowledged oflag=nonblock conv=notrunc bs=4096 2>/dev/null
	printf '+45.0.3.1 1h\n+45.0.3.' >&7
	until_dropped 45.0.3.1
	bloom add 45.0.3.2
	printf '2 1h\n+45.0.3.3 1h\n' >&7
	until_dropped 45.0.3.3
	exec 7>&-
	kill -TERM $follower
	end_of $follower || fail "SIGTERM: $(cat err)"
	grep -q "all lines up to 3 are in force, and nobody reads that" err || fail "of the end is said: $(cat err)"
}

until_dropped() {
	local end=$((SECONDS + patience))

	while [ "$(verdict "$1")" != drop ]; do
		[ $SECONDS -le $end ] || fail "$1 is not dropped"
		moment
	done
}

# What cannot be done now is done later, and said once.
waits_for_others() {
	mkfifo bans
	bloom add 45.0.4.1
	"$XDP_BLOOM" --wait 1 follow bans >said 2>err &
	follower=$!
	exec 7>bans
	echo "+45.0.4.2 1h" >&7
	wait_until "the first" grep -qsx 'ok 1' said
	hold_lock
	echo "+45.0.4.3 1h" >&7
	wait_until "that it is said" grep -qs 'another command has held' err
	kill -9 "$holder"
	wait_until "the second" grep -qsx 'ok 2' said
	is "$(grep -c 'another command has held' err)" 1 "how often it is said"
	grep -q "it works again" err || fail "not said: $(cat err)"
	is "$(verdict 45.0.4.3)" drop "the verdict"
	# The service beside it; and other commands have their turn.
	"$XDP_BLOOM" run --config /dev/null 2>service.err &
	service=$!
	python3 -c '
import random
for _ in range(40000):
    print("+47.%d.%d.%d 1h" % tuple(random.randrange(256) for _ in range(3)))' >&7 &
	bloom add 45.0.4.4
	bloom add 45.0.4.5
	is "$(verdict 45.0.4.5)" drop "the verdict on what was added meanwhile"
	exec 7>&-
	patience=$((6 * patience)) wait_until "all of them" grep -qsx 'ok 40002' said
	kill -TERM $service $follower
	end_of $follower || fail "SIGTERM: $(cat err)"
}

# Killed at random moments: what was acknowledged is in force, and the next one goes on.
killed() {
	python3 - "$kills" <<'PYTHON' || fail "see above"
import ipaddress, json, os, random, re, signal, subprocess, sys, threading, time

seed = int(os.environ["XDP_BLOOM_SEED"])
rng = random.Random(seed)
bloom = os.environ["XDP_BLOOM"]
sure, maybe = {}, {}  # address: banned; what was sent behind the last acknowledgement may have become of it


def address():
    if rng.random() < 0.8:
        return "%d.%d.%d.%d" % (rng.choice((45, 46, 47)), rng.randrange(4), rng.randrange(64), rng.randrange(256))
    return str(ipaddress.ip_address("2a00:%x::%x" % (rng.randrange(16), rng.randrange(256))))


for turn in range(int(sys.argv[1])):
    process = subprocess.Popen([bloom, "follow", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent = []
    for _ in range(rng.choice((50, 2000, 20000))):
        a = address()
        sent.append((a, rng.random() < 0.7))
    text = "".join("%s%s%s\n" % ("+" if ban else "-", a, " 1h seed" if ban else "") for a, ban in sent).encode()

    def write():
        try:
            process.stdin.write(text)
            process.stdin.flush()
        except BrokenPipeError:
            pass
    writer = threading.Thread(target=write)
    writer.start()
    # Sooner or later, or behind one that was acknowledged.
    ends, told, turn_at = [], [], rng.choice((0, 0, 1, 1, 2))

    def kill_in(seconds):
        ends.append(threading.Timer(seconds, process.send_signal, (signal.SIGKILL,)))
        ends[-1].start()
    kill_in(rng.random() * rng.choice((0.05, 0.3)) if not turn_at else 3)
    for line in process.stdout:
        told.append(int(re.fullmatch(rb"ok (\d+)\n", line)[1]))
        if len(told) == turn_at:
            kill_in(rng.random() * rng.choice((0.001, 0.01, 0.1)))
    process.wait()
    for end in ends:
        end.cancel()
    writer.join()
    last = told[-1] if told else 0
    for a, ban in sent[:last]:
        sure[a] = ban
        maybe.pop(a, None)
    for a, ban in sent[last:]:
        maybe[a] = True  # either
    asked = sorted(sure)
    if not asked:
        continue
    # Only the kernel is asked, as it was left; then after another command has caught up with what was left half done.
    for after in (False, True):
        if after:
            subprocess.run([bloom, "-q", "add", "45.200.0.1"], check=True)
        answers = json.loads(subprocess.run([bloom, "-j", "-S", "nowhere", "test", "-"], text=True,
                                            input="\n".join(asked), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        wrong = [x["address"] for x in answers
                 if x["address"] not in maybe and (x["verdict"] == "drop") != sure[x["address"]]]
        if wrong:
            sys.exit("# seed %d, kill %d (after %d of %d lines): wrong: %s" % (seed, turn, last, len(sent), wrong[:9]))
    # What may be either is known now.
    state = {b["prefix"] for b in json.loads(subprocess.run([bloom, "-j", "bans"], stdout=subprocess.PIPE).stdout)}
    for a, ban in sure.items():
        if a not in maybe and (a in state) != ban:
            sys.exit("# seed %d, kill %d: the state has lost %s" % (seed, turn, a))
    for a in maybe:
        sure[a] = a in state
    maybe.clear()
    print("# kill %d: %d of %d lines acknowledged" % (turn, last, len(sent)))
PYTHON
}

# What the service's config names and ends begins again, each time later.
begins_again() {
	echo 'follow exec -- sh -c "exit 3"' >conf
	"$XDP_BLOOM" run --config conf >/dev/null 2>service.err &
	service=$!
	wait_until "the second end" ends_twice
	kill -TERM $service
	end_of $service
	is "$(grep -o 'ended with status [0-9]*; it begins again in .*' service.err | head -n 2 | cut -d' ' -f4-)" \
		"2; it begins again in 1 s"$'\n'"2; it begins again in 2 s" "what it says"
	grep -q 'sh ended with status 3' service.err || fail "$(cat service.err)"
}

# A command that ignores the signal by which it is to end: neither the service nor its SIGHUP waits for it.
does_not_end() {
	local n

	for n in 1 2; do
		printf '%s\n' "trap '' TERM" "echo \$\$ >pid$n; echo +45.0.0.$n 1h; exec sleep 1000" >deaf$n
	done
	printf 'follow exec -- sh %s\n' deaf1 deaf2 >conf
	"$XDP_BLOOM" run --config conf >/dev/null 2>service.err &
	service=$!
	wait_until "a ban by each" banned_by_each 2>/dev/null
	echo 'follow exec -- sh deaf1' >conf
	kill -HUP $service
	wait_until "the end of the one whose line is gone" gone "$(cat pid2)"
	gone "$(cat pid1)" && fail "the other one has ended, too"
	kill -TERM $service
	end_of $service
	is "$?" 0 "the status of the service"
	gone "$(cat pid1)" || fail "the command runs on"
}

banned_by_each() {
	[ "$(verdict 45.0.0.1) $(verdict 45.0.0.2)" = "drop drop" ]
}

ends_twice() {
	[ "$(grep -c 'it begins again in' service.err)" -ge 2 ]
}

run_cases what_a_line_does begins_again does_not_end bad_lines one_of_many pipes_and_commands stalls waits_for_others killed
