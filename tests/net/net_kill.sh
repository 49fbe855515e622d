#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands killed at random moments, under traffic: the set before or the set after is in force and nothing in between,
# what was acknowledged stays, and the next command finds everything in order. XDP_BLOOM_KILLS: how many.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

kills=${XDP_BLOOM_KILLS:-40}

# The naive model beside it: which version of a list, and which bans.
killer() {
	python3 - "$1" <<'PYTHON'
import collections, json, os, random, signal, subprocess, sys, time

rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
bloom, bpffs, state = (os.environ[name] for name in ("XDP_BLOOM", "XDP_BLOOM_BPFFS", "XDP_BLOOM_STATE"))
known_files = {"state.db", "state.db-wal", "state.db-shm", "lock", "events", "events.1", "history", "reserve", "reserve.2"}
# One of each version of the list alone, and one of both.
probes = {"100.64.1.1": {1}, "100.64.2.2": {2}, "100.64.3.3": {1, 2}}
bans = ["198.18.%d.%d" % (rng.randrange(256), rng.randrange(256)) for _ in range(40)]
bans += ["2001:db8:%x::%x" % (rng.randrange(65536), rng.randrange(65536)) for _ in range(10)]
took = collections.defaultdict(lambda: 0.05)
tally = collections.Counter()


def run(*args, **more):
    return subprocess.run([bloom, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def die(text, model):
    sys.exit("%s\nmodel: %s" % (text, model))


def verdicts():
    """What the kernel says; the state is not asked."""
    told = run("-j", "-S", "nowhere", "test", *probes, *bans)
    return {answer["address"]: answer["verdict"] == "drop" for answer in json.loads(told.stdout)}


def expected(model):
    version, banned = model
    return {**{a: version in versions for a, versions in probes.items()}, **{a: a in banned for a in bans}}


def next_command(model):
    version, banned = model
    verb = rng.choice(["load", "load", "add", "add", "del", "rotate", "restore", "unload", "batch"])
    free, taken = [a for a in bans if a not in banned], sorted(banned)
    if verb == "unload" and version:
        return ["unload", "vary"], (None, banned)
    if verb == "add" and free:
        some = rng.sample(free, min(len(free), rng.choice((1, 1, 3))))
        return ["add", *some], (version, banned | set(some))
    if verb == "del" and taken:
        some = rng.sample(taken, min(len(taken), rng.choice((1, 1, 2))))
        return ["del", *some], (version, banned - set(some))
    if verb == "batch" and free and taken:
        with open("batch", "w") as file:
            file.write("add %s\ndel %s\nload vary version1 --force\n" % (free[0], taken[0]))
        return ["batch", "batch"], (1, (banned | {free[0]}) - {taken[0]})
    if verb in ("rotate", "restore"):
        return [verb], model
    version = rng.choice((1, 2))
    return ["load", "vary", "version%d" % version, "--force"], (version, banned)


def leftovers(model):
    generations = os.listdir(bpffs + "/generation")
    if len(generations) != 1:
        die("generations left behind: %s" % generations, model)
    more = set(os.listdir(state)) - known_files
    if more:
        die("files left behind: %s" % more, model)


model = None, frozenset()
for n in range(int(sys.argv[1])):
    args, after = next_command(model)
    after = after[0], frozenset(after[1])
    begin = time.monotonic()
    child = subprocess.Popen([bloom, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        # A random moment: waiting for it is the test.
        child.wait(rng.random() * 1.1 * took[args[0]])
    except subprocess.TimeoutExpired:
        child.kill()
        took[args[0]] *= 1.1
    child.wait()
    status, said = child.returncode, child.stderr.read().decode()
    if status == 0:
        took[args[0]] = 0.7 * took[args[0]] + 0.3 * (time.monotonic() - begin)
    elif status != -signal.SIGKILL:
        die("kill %d: %s ended with %d: %s" % (n, args, status, said), model)
    tally[args[0], "killed" if status else "done"] += 1
    seen = verdicts()
    if seen == expected(after):
        model_now = after
    elif status != 0 and seen == expected(model):
        model_now = model
    else:
        wrong = {a for a in seen if seen[a] != expected(after)[a]}
        die("kill %d: %s (%d): neither the set before nor the one after: %s" % (n, args, status, wrong), model)
    healing = run(rng.choice(("restore", "rotate")))
    if healing.returncode or healing.stderr:
        die("kill %d: %s, then: %d, %s" % (n, args, healing.returncode, healing.stderr), model)
    seen = verdicts()
    if model_now == after or seen == expected(after):
        model = after
    if seen != expected(model):
        die("kill %d: %s (%d): another set after the next command" % (n, args, status), model)
    told = run("-j", "bans")
    if {ban["prefix"] for ban in json.loads(told.stdout)} != model[1]:
        die("kill %d: %s (%d): the bans are %s" % (n, args, status, told.stdout), model)
    leftovers(model)
print("#", ", ".join("%s %s %d" % (*key, count) for key, count in sorted(tally.items())))
PYTHON
}

prepare() {
	judge list 500 50 50 | grep -v '^100\.\|^198\.\|^2001:' >base # what is banned and probed is not in it by chance
	judge sample of_base 200 base
	sort -u of_base/clean | grep -v '^100\.64\.\|^198\.1[89]\.\|^2001:db8:' >clean
	judge list 20000 0 0 | grep -v '^100\.64\.\|^198\.1[89]\.' >many
	sort clean >sorted
	{ sort many | comm -23 - sorted; echo 100.64.1.1; echo 100.64.3.3; } >version1
	{ sort many | comm -23 - sorted; echo 100.64.2.2; echo 100.64.3.3; } >version2
	veth 0
	bloom load base base --bogons=keep
	bloom attach edge0
}

kills() {
	local root

	prepare
	root=$(xdp_id edge0)
	flow 0 -b of_base/banned -c clean
	killer "$kills" >said 2>&1 || fail "$(cat said)"
	cat said
	stop_flow 0
	is "$(xdp_id edge0)" "$root" "the program on the interface"
}

# Everything is pulled away under it; what the kernel runs, it runs on.
pins_removed() {
	prepare
	send 0 -b of_base/banned -c clean
	rm -rf "${XDP_BLOOM_BPFFS:?}/generation"
	send 0 -b of_base/banned -c clean
	bloom restore
	send 0 -b of_base/banned -c clean
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	let_go edge0
	bloom restore
	send 0 -b of_base/banned -c clean
	is "$(get '[.interfaces[].name]' show)" '["edge0"]' "the interfaces"
}

interface_deleted() {
	prepare
	ip link del edge0
	bloom rotate
	expect 1 "$XDP_BLOOM" restore
	one_line "edge0: there is no such interface"
	veth 0
	bloom restore
	send 0 -b of_base/banned -c clean
}

# What was not acknowledged is on no interface; what waits for confirmation, until its time has come.
attach_cut_short() {
	local n status attached options

	need strace
	prepare
	bloom detach edge0
	for options in "" "--confirm 1h"; do
		status=137
		for ((n = 1; status == 137; n++)); do
			# The shell that says of it that it was killed is not this one.
			# shellcheck disable=SC2086 # words
			(
				strace -o /dev/null -e trace=pwrite64 -e inject=pwrite64:signal=KILL:when=$n \
					"$XDP_BLOOM" attach edge0 $options
				exit $?
			) >out 2>err
			status=$?
			python3 - <<-'PYTHON'
				import sqlite3
				db = sqlite3.connect("state/state.db")
				db.execute("UPDATE pending SET due = 1")
				db.commit()
			PYTHON
			expect 0 "$XDP_BLOOM" rotate
			attached=$(xdp_id edge0)
			expect 0 "$XDP_BLOOM" restore
			is "$(xdp_id edge0)" "$attached" "the program on edge0 after restore, '$options', write $n"
			if [ -n "$options" ] || [ $status = 137 ]; then
				is "$attached" none "the program on edge0, '$options', write $n ($status)"
			fi
			"$XDP_BLOOM" detach edge0 &>/dev/null
		done
		is "$status" 0 "status of attach $options ($(cat err))"
		[ $n -gt 5 ] || fail "it wrote $n times only"
	done
}

disk_full() {
	local verb

	prepare
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small || skip "the kernel has no tmpfs"
	cp -r "$XDP_BLOOM_STATE" small/state
	export XDP_BLOOM_STATE=$WORK/small/state
	bloom rotate
	head -c 20m /dev/zero >small/fill 2>/dev/null
	for verb in "load many version1" "add 198.18.0.1" rotate "allow 198.18.0.2"; do
		# shellcheck disable=SC2086 # a command
		expect 2 "$XDP_BLOOM" $verb
		one_line "full"
		send 0 -b of_base/banned -c clean
	done
	rm small/fill
	bloom add 198.18.0.1
	bloom load many version1
	send 0 -b of_base/banned -c clean
	umount -l small
}

run_cases kills pins_removed interface_deleted attach_cut_short disk_full
