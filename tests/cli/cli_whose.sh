#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whose is it? What others may write to is believed by nobody: the state, to read it too, the config file, the hook, and
# every directory on the way to them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='is_r'
sandbox "$@"

NOBODY=65534

# A state below two directories.
prepare() {
	mkdir -p under/way plain
	mkdir -m 700 under/way/state
	python3 - "$WORK/under/way/state/state.db" <<'PYTHON'
import sqlite3, sys

with sqlite3.connect(sys.argv[1]) as db:
    db.executescript("PRAGMA application_id = 2019846509; PRAGMA user_version = 1;"
                     "CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, label INTEGER,"
                     " prefixes INTEGER, addresses TEXT, source TEXT, loaded TEXT, format TEXT);"
                     "CREATE TABLE pending (kind INTEGER, name TEXT, deadline INTEGER, before INTEGER);"
                     "CREATE TABLE setting (name TEXT PRIMARY KEY, value REAL NOT NULL);"
                     "INSERT INTO list VALUES (1, 'theirs', 0, 1, 0, '0', 'x', 'x', '')")
PYTHON
	ln -s "$WORK/under/way" plain/link
	export XDP_BLOOM_STATE=$WORK/under/way/state
}

# read_only COMMAND...: as it would be under the mounts of a service, where none of it can be written to.
read_only() {
	# shellcheck disable=SC2016 # for that shell
	unshare --mount sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"' "$WORK" "$@"
}

# refused_both_ways WHY ARGS...
refused_both_ways() {
	local why=$1

	shift
	expect 2 "$XDP_BLOOM" "$@"
	one_line "$why"
	[ -n "$no_sandbox" ] || expect 2 read_only "$XDP_BLOOM" "$@"
	one_line "$why"
}

# given HOW PATH WHY COMMAND...: the command is refused while PATH is so, and taken before and afterwards.
given() {
	local how=$1 path=$2 why=$3 mode owner

	shift 3
	mode=$(stat -c %a "$path")
	owner=$(stat -c %u "$path")
	expect 0 "$XDP_BLOOM" "$@"
	${how} "$path"
	refused_both_ways "$why" "$@"
	grep -qF "$path" err || fail "it does not say what: $(cat err)"
	chown -h "$owner" "$path"
	chmod "$mode" "$path"
	expect 0 "$XDP_BLOOM" "$@"
	[ -n "$no_sandbox$writes" ] || expect 0 read_only "$XDP_BLOOM" "$@"
}

writes='' # it needs a state that can be written to

# all_ways PATH COMMAND...
all_ways() {
	local path=$1

	shift
	given "chmod go+w" "$path" "others may write" "$@"
	given "chmod o+w" "$path" "others may write" "$@"
	[ "$(id -u)" != 0 ] || given "chown $NOBODY" "$path" "belongs to user $NOBODY" "$@"
}

state_is_read() {
	prepare
	for verb in lists bans tune events; do
		all_ways "$WORK/under/way/state" $verb
	done
	all_ways "$WORK/under" lists
	all_ways "$WORK/under/way" lists
	all_ways "$WORK/under/way/state/state.db" lists
	# By another name: what lies behind a link is asked, and whose the link is.
	all_ways "$WORK/under" -S plain/link/state lists
	all_ways "$WORK/plain" -S "$WORK/plain/link/state" lists
	# As in /tmp: nobody takes away what is not his.
	chmod 1777 under
	bloom lists
	if [ "$(id -u)" = 0 ]; then
		chown $NOBODY under/way
		expect 2 "$XDP_BLOOM" lists
		one_line "belongs to user $NOBODY"
		chown 0 under/way
		chmod 1777 plain
		chown -h $NOBODY plain/link
		expect 2 "$XDP_BLOOM" -S plain/link/state lists
		one_line "belongs to user $NOBODY"
	fi
}

# A damaged file, and the journals that lie beside it: whoever puts one there decides what is in the file.
state_is_recovered() {
	local journal

	writes=yes
	mkdir files
	export XDP_BLOOM_STATE=$WORK/state
	bloom add 203.0.113.7 --force
	cp "$XDP_BLOOM_STATE/state.db" files/damaged
	all_ways "$WORK/files" state recover files/damaged
	all_ways "$WORK/files/damaged" state recover files/damaged
	chmod 1777 files
	refused_both_ways "$WORK/files: others may write there" state recover files/damaged
	ln -s files/damaged link
	refused_both_ways "$WORK/files: others may write there" state recover link
	chmod 755 files
	for journal in wal shm journal; do
		: >"files/damaged-$journal"
		all_ways "$WORK/files/damaged-$journal" state recover files/damaged
		rm "files/damaged-$journal"
		mkfifo "files/damaged-$journal"
		refused_both_ways "$WORK/files/damaged-$journal: not a regular file" state recover link
		rm "files/damaged-$journal"
	done
	expect 2 "$XDP_BLOOM" state recover none
	one_line "none: No such file"
	bloom state recover files/damaged
	is "$(get '.[].prefix' bans)" 203.0.113.7 "what was recovered"
}

# What no state lies in, but something else that would be read there.
nothing_else_is_read() {
	prepare
	rm under/way/state/*
	for verb in report lists; do
		chmod 777 under/way/state
		refused_both_ways "others may write" $verb
	done
}

config_is_read() {
	prepare
	mkdir conf
	echo "allow 192.0.2.1" >conf/file
	all_ways "$WORK/conf/file" run --check --config "$WORK/conf/file"
	all_ways "$WORK/conf" run --check --config "$WORK/conf/file"
	expect 0 "$XDP_BLOOM" run --check --config <(cat conf/file)
}

hook_is_run() {
	prepare
	mkdir hooks
	printf '#!/bin/sh\n' >hooks/hook
	chmod 755 hooks/hook
	all_ways "$WORK/hooks/hook" run --check --hook "$WORK/hooks/hook"
	all_ways "$WORK/hooks" run --check --hook "$WORK/hooks/hook"
	echo "run --hook $WORK/hooks/hook" >under/config
	all_ways "$WORK/hooks" run --check --config "$WORK/under/config"
}

# Who may write to them decides which lists are believed, or which server.
keys_are_read() {
	local key=RWQBAQEBAQEBAYqI49dDHJ3lkgrFF1yRDhkiH7eBuwZe6TsKCmF/AAAA

	mkdir keys
	echo $key >keys/key.pub
	echo 192.0.2.1 >keys/ca.pem
	echo secret >keys/password
	chmod 600 keys/password
	echo "load drop https://feeds.example/list --every 1h --key $WORK/keys/key.pub" >keys/config
	for path in keys keys/key.pub; do
		all_ways "$WORK/$path" run --check --config "$WORK/keys/config"
	done
	echo "fleet join rediss://127.0.0.1 --as edge-1 --ca $WORK/keys/ca.pem --password-file $WORK/keys/password" >keys/joins
	for path in keys keys/ca.pem keys/password; do
		all_ways "$WORK/$path" run --check --config "$WORK/keys/joins"
	done
	# Before anybody is asked for the list.
	chmod o+w keys/key.pub
	expect 2 "$XDP_BLOOM" load drop https://feeds.example/list --key keys/key.pub
	one_line "keys/key.pub: others may write to it, and so change which lists are believed; chmod go-w"
	expect 2 "$XDP_BLOOM" load drop https://feeds.example/list --every 1h --key keys/nowhere
	one_line "no such file"
}

# Where the pins are to be, another's directory above is refused also before they are, and what his link leads to stays as it
# is.
pins_are_made() {
	mkdir -m 755 "$XDP_BLOOM_BPFFS" "$XDP_BLOOM_BPFFS/other"
	echo 192.0.2.1 >list
	chown $NOBODY "$XDP_BLOOM_BPFFS"
	expect 2 "$XDP_BLOOM" -B "$XDP_BLOOM_BPFFS/pins" load list list
	one_line "belongs to user $NOBODY"
	ln -s other "$XDP_BLOOM_BPFFS/link"
	expect 2 "$XDP_BLOOM" -B "$XDP_BLOOM_BPFFS/link" load list list
	one_line "belongs to user $NOBODY"
	is "$(stat -c %a "$XDP_BLOOM_BPFFS/other")" 755 "the mode of what the link leads to"
	chown 0 "$XDP_BLOOM_BPFFS"
	chmod 777 "$XDP_BLOOM_BPFFS/other"
	expect 0 "$XDP_BLOOM" -B "$XDP_BLOOM_BPFFS/other" load list list
	is "$(stat -c %a "$XDP_BLOOM_BPFFS/other")" 700 "the mode of our own"
}

run_cases state_is_read state_is_recovered nothing_else_is_read config_is_read hook_is_run keys_are_read pins_are_made
