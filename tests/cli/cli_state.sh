#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A damaged state: refused by every verb, the filter untouched, and what can be saved is.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='begins_at_nothing'
sandbox "$@"

rounds=${XDP_BLOOM_ROUNDS:-8}

prepare() {
	judge list 3000 100 100 >big
	printf '%s\n' 198.51.100.0/25 2001:db8::/40 >small
	bloom load big big --bogons=keep
	bloom load small small --bogons=keep
	bloom add 203.0.113.4 --reason 'seen at night'
	bloom allow 198.51.100.9
	bloom tune --headroom 33
	printf '%s\n' 198.51.100.1 198.51.100.9 203.0.113.4 203.0.113.5 2001:db8:1::1 8.8.8.8 >asked
	head -500 big >>asked
	answers >before
}

# What the kernel says, whatever the state is like.
answers() {
	"$XDP_BLOOM" -j -S "$WORK/nowhere" test - <asked 2>/dev/null | jq -c '.[]|[.address,.verdict]'
}

sound_state() {
	prepare
	bloom state check
	is "$(cat out)" "$XDP_BLOOM_STATE/state.db: sound" "what check says"
	bloom state recover
	is "$(get '[.[].name]' lists)" '["big","small","(allow)"]' "the lists"
	is "$(get '[.[].reason]' bans)" '["seen at night"]' "the bans"
	is "$(get .headroom tune)" 33 "a setting"
	answers >after
	cmp before after || fail "the filter is another"
	bloom restore
	answers >after
	cmp before after || fail "the filter is another after restore"
}

# Lists of the least and the greatest number that there is.
numbers_at_their_ends() {
	local name number table

	prepare
	while read -r name number; do
		for table in chunk source; do
			sql "$XDP_BLOOM_STATE/state.db" "update $table set list = $number where list = (select id from list where name = '$name')"
		done
		sql "$XDP_BLOOM_STATE/state.db" "update list set id = $number where name = '$name'"
	done <<-END
		big -9223372036854775808
		small 9223372036854775807
	END
	bloom state recover
	is "$(get '[.[].name] | sort' lists)" '["(allow)","big","small"]' "the lists"
	bloom restore
	answers >after
	cmp before after || fail "the filter is another after restore"
}

# What it says of what it saved; and after a reboot, too, what follows is a newer generation than any before.
counts_what_it_saves() {
	local before

	prepare
	veth 0 1 2
	bloom attach edge0 edge1
	bloom attach edge1 edge2 --egress
	bloom add 203.0.113.7 2001:db8:9::/48
	bloom rotate
	before=$(get .generation show)
	is "$(get '[.lists,.interfaces,.bans,.whole,.texts,.lost]' state recover)" '[3,3,3,true,true,[]]' "what it saved, as JSON"
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	bloom state recover
	grep -qx 'saved: 3 lists, 3 interfaces, 3 bans' out || fail "what it saved: $(cat out)"
	bloom restore
	[ "$(get .generation show)" -gt "$before" ] || fail "generation $(get .generation show) after $before"
	is "$(get '[.interfaces[]|[.name,.direction]]' show)" \
		'[["edge0","ingress"],["edge1","ingress"],["edge1","egress"],["edge2","egress"]]' "the interfaces"
}

# damage ROUND: overwrites or cuts off some of the file.
damage() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$1" <<'PYTHON'
import os, random, sys

path, number = sys.argv[1], int(sys.argv[2])
rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]) + number)
size = os.path.getsize(path)
if number % 3 == 0:
    os.truncate(path, rng.randrange(1, size))
else:
    with open(path, "r+b") as file:
        for _ in range(rng.randrange(1, 6)):
            # Once in a while where everything begins.
            file.seek(rng.randrange(100 if rng.random() < 0.2 else size))
            file.write(rng.randbytes(rng.choice((1, 40, 5000))))
os.truncate(path, max(1, os.path.getsize(path)))
PYTHON
}

damaged() {
	local n verb status refusals=0 saved=0 nothing=0

	prepare
	for ((n = 0; n < rounds; n++)); do
		damage "$n"
		for verb in lists rotate "add 203.0.113.4" bans; do
			# A warning that something waits may come before the refusal.
			# shellcheck disable=SC2086 # a command
			"$XDP_BLOOM" -q $verb >out 2>err
			status=$?
			[ $status != 2 ] || one_line ""
			[ $status = 2 ] || [ $status = 0 ] || fail "round $n: '$verb': $status, $(cat err)"
			refusals=$((refusals + status / 2))
			answers >after
			cmp before after || fail "round $n: the filter is another after '$verb'"
		done
		"$XDP_BLOOM" state recover >out 2>err
		status=$?
		answers >after
		cmp before after || fail "round $n: the filter is another after recover"
		if [ $status = 2 ]; then
			nothing=$((nothing + 1))
			one_line "the state is as it was"
			sed 's/^/# /' err
		else
			saved=$((saved + 1))
			bloom state check
			bloom restore
			bloom rotate
		fi
		# Everything starts from nothing.
		rm -rf "$XDP_BLOOM_STATE"
		bloom flush
		prepare
	done
	printf '# %d rounds: %d commands refused, %d times something saved, %d times nothing\n' \
		"$rounds" $refusals $saved $nothing
}

begins_at_nothing() {
	expect 2 "$XDP_BLOOM" state recover
	one_line "No such file"
	expect 2 "$XDP_BLOOM" state
	one_line "check, or recover"
	head -c 9000 /dev/urandom >junk
	expect 2 "$XDP_BLOOM" state recover junk
	one_line "nothing can be saved"
	one_line "to begin with an empty state, move it away"
	[ ! -e "$XDP_BLOOM_STATE/state.db" ] || fail "there is a state now"
}

sql() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db: db.executescript(sys.argv[2])' "$1" "$2"
}

# One impossible setting: nothing is changed that would follow from it, and the rest is saved.
damaged_setting() {
	local what

	prepare
	sql "$XDP_BLOOM_STATE/state.db" "INSERT INTO setting VALUES ('layout', -1)"
	for what in rotate "tune --headroom 40" "add 203.0.113.9"; do
		# shellcheck disable=SC2086 # a command
		refused "a setting is damaged (see 'xdp-bloom state recover')" $what
	done
	refused "setting 'layout' is damaged; see 'xdp-bloom state recover'" tune
	expect 2 "$XDP_BLOOM" state check
	one_line "setting 'layout' is damaged"
	expect 1 "$XDP_BLOOM" state recover
	bloom state check
	bloom restore
	is "$(get '[.layout,.headroom]' tune)" '["auto",33]' "the settings"
	bloom rotate
	answers >after
	cmp before after || fail "the filter is another"
}

# Those of the detector and of interfaces, which have names of their own: nothing goes by them, and check finds each.
damaged_limits() {
	local row

	prepare
	bloom detect limit syn 5/s --on eth7
	cp "$XDP_BLOOM_STATE/state.db" sound.db
	for row in "'on eth7 limit_syn', -5" "'on eth7 limit_syn', 1e-300" "'on eth7 limit_syn', 1e300" "'on eth7 limit_fish', 5" \
		"'on eth7 limit_syn_then', 7" "'on eth7 limit_bytes', 5" "'on a b limit_syn', 5" "'on eth7', 5" "'on ../x limit_syn', 5" \
		"'limit_scan', 1e-9" "'limit_syn', 'fast'" "'detect_networks', 1e18" "'proven a b', 1"; do
		cp sound.db "$XDP_BLOOM_STATE/state.db"
		sql "$XDP_BLOOM_STATE/state.db" "INSERT OR REPLACE INTO setting VALUES ($row)"
		"$XDP_BLOOM" detect on >out 2>err && fail "it is taken: $row"
		expect 2 "$XDP_BLOOM" state check
		grep -q ": setting '.*' is damaged$" out err || fail "$row: $(cat out err)"
		expect 1 "$XDP_BLOOM" state recover
		bloom state check
		rm -r "$XDP_BLOOM_STATE"/state.db*
	done
	cp sound.db "$XDP_BLOOM_STATE/state.db"
	bloom state check
}

# Another program's file, whose tables are queries without end.
endless_tables() {
	prepare
	tidied
	cp "$XDP_BLOOM_STATE/state.db" theirs
	sql theirs "DROP TABLE ban; CREATE VIEW ban (family, length, first, added, expires, reason) AS
		WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n)
		SELECT 4, 32, x'0a000001', i, NULL, '' FROM n"
	expect 0 timeout 60 "$XDP_BLOOM" state recover theirs
	is "$(get '[.[].name]' lists)" '["big","small","(allow)"]' "the lists"
	is "$("$XDP_BLOOM" -j bans)" "[]" "the bans"
}

# One list whose ranges are not what was written: it is named, and to load it again is enough.
damaged_list() {
	prepare
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys
		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("UPDATE chunk SET data = x'00' WHERE family > 0 AND list = (SELECT id FROM list WHERE name = 'small')")
	PYTHON
	refused "list 'small' is damaged; load it again" rotate
	refused "list 'small' is damaged" load small small --bogons=keep --if-changed --skip-bad
	bloom load small small --bogons=keep
	bloom state check
	bloom rotate
	answers >after
	cmp before after || fail "the filter is another"
}

# Killed wherever it touches a name, it has lost nothing of what is in the journal alone, and the next command tidies up.
recover_cut_short() {
	local call n status

	need strace
	echo 192.0.2.0/24 >list
	bloom load list list
	python3 - <<-'PYTHON'
		import sqlite3
		db = sqlite3.connect("state/state.db")
		db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
	PYTHON
	bloom add 203.0.113.5
	bloom tune --headroom 50
	cp -a "$XDP_BLOOM_STATE" before
	for call in link rename unlink rmdir fsync; do
		status=137
		for ((n = 1; status == 137; n++)); do
			rm -rf "$XDP_BLOOM_STATE" "${XDP_BLOOM_BPFFS:?}"
			cp -a before "$XDP_BLOOM_STATE"
			(
				strace -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$n \
					"$XDP_BLOOM" state recover
				exit $?
			) >out 2>err
			status=$?
			[ $n != 1 ] || is $status 137 "status of recover, killed at the first $call"
			bloom tune --headroom 51
			is "$(get '.[].prefix' bans)" 203.0.113.5 "the bans after $call number $n"
			[ ! -e "$XDP_BLOOM_STATE/recovering" ] || fail "$call number $n left a directory"
			bloom state recover
			is "$(get '.[].prefix' bans)" 203.0.113.5 "the bans after recover, after $call number $n"
		done
		is $status 0 "status of recover with nothing to kill"
	done
}

run_cases sound_state numbers_at_their_ends counts_what_it_saves damaged recover_cut_short damaged_list damaged_setting damaged_limits endless_tables begins_at_nothing
