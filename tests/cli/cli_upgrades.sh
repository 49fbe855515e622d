#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The states that released versions left, in tests/upgrades: every list, ban and setting is there, and in force, with
# today's command; and a state that is newer is refused. RECORD=VERSION writes that one's, with the command XDP_BLOOM:
# make record-state.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
upgrades=$(realpath "$(dirname "$0")/upgrades.py")
no_kernel='opens|newer|other_tables|cut_off|old_config'
sandbox "$@"
# shellcheck source=../support/older.sh
. "$here/older.sh"
need_sources
need sqlite3 zstd
states=$top/tests/upgrades

# --- Recording --------------------------------------------------------------------------------------------------------

# What the lists are made of.
given() {
	printf '%s\n' 192.0.2.0/25 198.18.7.9 203.0.113.0/24 2001:db8:1::/48 2001:db8::7 >drop.txt
	for ((i = 0; i < 64; i++)); do
		echo "198.18.$i.$((i * 3))"
	done >hosts.txt
	printf '%s\n' 198.19.0.0/24 2001:db8:5::/48 >seen.txt
	printf '%s\n' 203.0.113.9 2001:db8:1:9::/64 >mine.txt
	printf '%s\n' 192.0.2.1 192.0.2.200 198.18.1.3 198.18.1.4 198.18.7.9 198.19.0.1 198.51.100.7 198.51.100.8 \
		198.51.100.9 203.0.113.9 203.0.113.10 2001:db8::7 2001:db8:1::1 2001:db8:1:9::1 2001:db8:5::1 2001:db8:7::1 \
		>asked
}

# What every version takes, and what only later ones do.
puts_there() {
	bloom load drop drop.txt
	bloom save "$RECORD.image"
	bloom load hosts hosts.txt
	bloom load --shadow odd seen.txt
	bloom load --allow friends mine.txt
	bloom allow 192.0.2.200 2001:db8:1:9::/64
	bloom add 198.51.100.7 2001:db8:7::/64 --ttl 366d --reason "years, from 'recorded'"
	bloom add 198.51.100.8 --reason "for good"
	bloom add 198.51.100.9 --ttl 1s --reason "over when anybody reads this"
	bloom add 203.0.113.10 --ttl 365d
	bloom tune --headroom 30 --fpr 0.0005 --samples 50
	if knows --only; then
		bloom load scoped seen.txt --only tcp/22,udp/1000-2000 --on edge7
		bloom load trusted mine.txt --trust
		bloom detect limit syn 100/s --then police
		bloom fleet accept edge-7 --max-entries 1000
	fi
	veth 0
	bloom attach edge0
}

knows() {
	"$XDP_BLOOM" --list-options load 2>/dev/null | grep -q -e "$1"
}

# What is asked of the state, and of the filter.
looks=("lists" "bans" "allow" "tune" "compare drop drop.txt" "compare hosts hosts.txt" "compare odd seen.txt" "compare friends mine.txt")
filters=("test -" "show")

# says WORDS...: what it answers, a line of words and one of JSON each, without what time changes: of an end, after how many minutes.
says() {
	local words filter

	for words; do
		echo "$words"
		filter='walk(if type != "object" then . else (if has("expires") and has("added") then .lasts =
			([.expires, .added] | map(strings | fromdateiso8601) | if length == 2 then (.[0] - .[1]) / 60 | round else null end)
			else . end) | del(.expires, .added, .seconds_left, .memory, .counters) end)'
		[ "$words" != show ] || filter='[.interfaces[] | {name, match} | with_entries(select(.value))]'
		# shellcheck disable=SC2086 # a verb and its operands
		get "$filter" $words <asked
	done
}

over() {
	get '.[].prefix' bans >prefixes
	! grep -q "$1" prefixes
}

record() {
	local to=$states/$RECORD

	# A place that has the same name on each machine.
	if ! mount -t tmpfs tmpfs /mnt || ! cd /mnt; then
		fail "cannot mount /mnt"
	fi
	given
	puts_there
	wait_until "the end of a ban" over 198.51.100.9
	says "${looks[@]}" "${filters[@]}" >"$to.txt"
	says "image show $RECORD.image" >>"$to.txt"
	zstd -q -19 -f "$RECORD.image" -o "$to.image.zst"
	tidied
	# From the file, less what SQLite alone makes of it.
	{
		echo "PRAGMA application_id = $(sqlite3 "$XDP_BLOOM_STATE/state.db" 'PRAGMA application_id');"
		echo "PRAGMA user_version = $(sqlite3 "$XDP_BLOOM_STATE/state.db" 'PRAGMA user_version');"
		sqlite3 "$XDP_BLOOM_STATE/state.db" .dump
	} >"$to.sql"
}

# --- Opening ----------------------------------------------------------------------------------------------------------

# placed VERSION: its state, as if it had been made now: bans end, at the latest after a year.
placed() {
	mkdir -m 700 "$XDP_BLOOM_STATE"
	(umask 077 && sqlite3 "$XDP_BLOOM_STATE/state.db" <"$states/$1.sql") || fail "no state of $1"
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys, time

		db = sqlite3.connect(sys.argv[1])
		later = int(time.time()) - db.execute("SELECT max(added) FROM ban").fetchone()[0]
		columns = [row[1] for row in db.execute("PRAGMA table_info(ban)")]
		due = ", due = due + ?1 * 1000000000" if "due" in columns else ""
		db.execute("UPDATE ban SET added = added + ?1, expires = expires + ?1" + due + " WHERE expires - added > 86400"
		           " OR expires IS NULL", (later,))
		db.commit()
	PYTHON
}

# as_recorded VERSION WORDS...: it answers these as that version did, and more.
as_recorded() {
	local file=$states/$1.txt words

	shift
	says "$@" >now
	for words; do
		grep -A1 -xF -- "$words" "$file"
	done >recorded
	[ -s recorded ] || fail "nothing of it is recorded"
	is "$(diff recorded <(only_fields_of recorded <now))" "" "what is answered otherwise than by the version that made it"
}

opens() {
	given
	placed "$1"
	as_recorded "$1" "${looks[@]}"
	bloom state check
}

# In force by restore, with packets; and by a command that changes something, which brings the state up.
enforced() {
	given
	placed "$1"
	veth 0
	bloom restore
	as_recorded "$1" "${looks[@]}" "${filters[@]}"
	printf '%s\n' 192.0.2.1 198.18.1.3 198.51.100.7 198.51.100.8 203.0.113.10 2001:db8:1::1 2001:db8:7::1 >banned
	printf '%s\n' 192.0.2.200 198.18.1.4 198.51.100.9 203.0.113.9 2001:db8:1:9::1 >clean
	send 0 -b banned -c clean -n 10
	bloom add 198.51.100.77
	bloom del 198.51.100.77
	bloom rotate
	as_recorded "$1" "${looks[@]}" "${filters[@]}"
	bloom state check
	is "$(sqlite3 "$XDP_BLOOM_STATE/state.db" 'PRAGMA user_version')" 5 "the version it says"
	is "$(sqlite3 "$XDP_BLOOM_STATE/state.db" "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'scope'")" 1 \
		"the tables of today"
}

image() {
	given
	zstd -q -d "$states/$1.image.zst" -o "$1.image"
	if [ "$(printf '\1\0' | od -An -td2 | tr -d ' ')" != 1 ]; then
		refused "byte order" load --image "$1.image"
		return
	fi
	as_recorded "$1" "image show $1.image"
	bloom load --image "$1.image" --force
	verdicts 192.0.2.1=drop 192.0.2.130=pass 203.0.113.10=drop 2001:db8::7=drop 2001:db8::8=pass
}

old_config() {
	given
	cp "$states/$1.conf" old.conf
	bloom run --check --config "$PWD/old.conf"
}

# unopened WORDS VERB...: refused in one line, and nothing is changed.
unopened() {
	local before words=$1

	shift
	before=$(sqlite3 "$XDP_BLOOM_STATE/state.db" .dump 'PRAGMA user_version')
	expect 2 "$XDP_BLOOM" "$@"
	one_line "$words"
	is "$(sqlite3 "$XDP_BLOOM_STATE/state.db" .dump 'PRAGMA user_version' | cksum)" "$(echo "$before" | cksum)" "the state after '$*'"
}

# One that this command may not understand: it says so, and what to do.
newer() {
	local version verb

	given
	placed "$1"
	for version in 6 13 2000000000; do
		sqlite3 "$XDP_BLOOM_STATE/state.db" "PRAGMA user_version = $version"
		for verb in lists "add 192.0.2.7" flush; do
			# shellcheck disable=SC2086 # a verb and its operands
			unopened "the state is of a newer xdp-bloom (version $version; " $verb
			grep -q 'use that one, or move' err || fail "it does not say what to do: $(cat err)"
		done
	done
}

# One whose tables are not those of any version: what it cannot see may be a list's. What is there can be recovered.
other_tables() {
	local damage

	given
	for damage in "PRAGMA user_version = 0" "PRAGMA user_version = 1" "PRAGMA user_version = 4" "DROP TABLE accepted"; do
		rm -rf "$XDP_BLOOM_STATE"
		placed "$1"
		sqlite3 "$XDP_BLOOM_STATE/state.db" "$damage"
		unopened "see 'xdp-bloom state recover'" lists
		unopened "see 'xdp-bloom state recover'" add 192.0.2.7
		"$XDP_BLOOM" state recover >out 2>err
		as_recorded "$1" lists bans "compare drop drop.txt"
	done
}

# What is less than a page SQLite takes for a state of nothing.
cut_off() {
	local bytes

	given
	placed "$1"
	for bytes in 100 1 0; do
		truncate -s $bytes "$XDP_BLOOM_STATE/state.db"
		for words in lists "add 192.0.2.7" "state check"; do
			# shellcheck disable=SC2086 # a verb and its operands
			expect 2 "$XDP_BLOOM" $words
			one_line "the state file is damaged: something has cut it off"
		done
		expect 2 "$XDP_BLOOM" state recover
		one_line "to begin with an empty state, move it away"
		is "$(stat -c %s "$XDP_BLOOM_STATE/state.db")" $bytes "the size of what was cut off"
	done
}

# Random states, made of these, opened and changed by this command, and by OTHER where it is there.
fuzzed() {
	"$upgrades" "${XDP_BLOOM_STATES:-40}" "$states"/*.sql || exit 1
}

if [ -n "${RECORD:-}" ]; then
	run_cases record
	exit
fi
cases=()
for version in $(basename -s .sql "$states"/*.sql | sort -V); do
	cases+=("opens $version" "enforced $version" "image $version")
done
# The last of them has all tables.
cases+=("newer $version" "other_tables $version" "cut_off $version" fuzzed)
for config in "$states"/*.conf; do
	cases+=("old_config $(basename "$config" .conf)")
done
run_cases "${cases[@]}"
