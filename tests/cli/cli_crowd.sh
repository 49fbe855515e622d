#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Commands at once: each waits for the one before, none is lost.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

thirty_at_once() {
	local n pid
	local -a pids=()

	for n in {1..10}; do
		printf '198.51.%d.0/24\n' "$n" >"list$n"
		"$XDP_BLOOM" --wait 600 -q load "list$n" "list$n" >"out$n" 2>&1 &
		pids+=($!)
		"$XDP_BLOOM" --wait 600 add "203.0.113.$n" --reason "number $n" >"add$n" 2>&1 &
		pids+=($!)
		"$XDP_BLOOM" --wait 600 allow "192.0.2.$n" >"allow$n" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "one failed: $(cat out* add* allow*)"
	done
	is "$(get '[.[]|select(.kind=="ban")]|length' lists)" 10 "the number of lists"
	is "$(get '.[]|select(.kind=="allow").addresses' lists)" 10 "the number of live exceptions"
	is "$(get length bans)" 10 "the number of bans"
	for n in {1..10}; do
		bloom test "198.51.$n.7" "203.0.113.$n"
	done
	bloom state check
	is "$(find "$XDP_BLOOM_BPFFS/generation" -mindepth 1 -maxdepth 1 | wc -l)" 1 "the number of generations"
}

names_the_holder() {
	bloom rotate
	hold_lock
	refused "another command has held $XDP_BLOOM_STATE/lock for 1 s: process $holder, " --wait 1 rotate
	refused "held by process $holder, " --wait 0 rotate
	# Started by a parent that blocks SIGALRM.
	expect 2 timeout 60 python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
os.execv(sys.argv[1], sys.argv[1:])' "$XDP_BLOOM" --wait 1 rotate
	one_line "for 1 s: process $holder, "
	kill $holder
	bloom rotate
}

# Another program's reading transaction that never ends: the state file does not grow for that.
beside_a_reader() {
	local reader line n

	bloom add 45.0.0.1
	mkfifo reads
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON' >reads &
		import sqlite3, sys, time
		db = sqlite3.connect(sys.argv[1])
		print(db.execute("SELECT count(*) FROM ban").fetchall(), flush=True)
		time.sleep(600)
	PYTHON
	reader=$!
	read -rt "$patience" line <>reads
	for n in {1..90}; do
		bloom add "45.1.0.$n"
	done
	n=$(stat -c %s "$XDP_BLOOM_STATE/state.db-wal")
	[ "$n" -lt 1200000 ] || fail "the log has $n bytes"
	kill $reader
	bloom state check
	is "$(get length bans)" 91 "the number of bans"
}

run_cases thirty_at_once names_the_holder beside_a_reader
