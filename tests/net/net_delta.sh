#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packed lists that are kept fresh by what changes of them (NAME.delta-SUM beside the list), from a server that does it well, and
# from one that does not: whatever is wrong with a change, the list comes whole, or what is in force stays.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
lists=$(realpath "$(dirname "$0")/fresh.py")
sandbox "$@"
need_sources
# shellcheck source=../support/service.sh
. "$here/service.sh"
[ -x "$(dirname "$XDP_BLOOM")/xdp-bloom-fetch" ] || skip_all "xdp-bloom-fetch is not built"

port=8181
feed=http://127.0.0.1:$port
open="--insecure --lan"

# A server of the files in www, where there are three versions of a list; version 1 is what it has. Made on one day each.
serves() {
	local fd line=

	need sqlite3
	ip link set lo up
	mkdir -p www
	printf '%s\n' 203.0.113.0/24 198.51.100.{1..9} 2a01::/48 >v1
	printf '%s\n' 203.0.113.0/24 198.51.100.{2..10} 2a01::/48 >v2
	printf '%s\n' 203.0.113.0/24 198.51.100.{3..11} 2a01::/48 2a02::1 >v3
	for i in 1 2 3; do
		bloom set pack v$i.set v$i
		touch -d "2026-01-0$i 12:00 UTC" v$i.set
	done
	cp -p v1.set www/drop
	mkfifo served
	python3 "$lists" "$WORK/www" $port >served 2>serve.err &
	exec {fd}<served
	read -rt "$patience" line <&"$fd"
	[ "$line" = ready ] || fail "no server: $(cat serve.err)"
}

sum() {
	sed -n 's/^sha256 //p;/^$/q' "v$1.set"
}

# changes FROM TO [NAME]: what changes is there from now on, as of the day of TO; under the sum of FROM, or of NAME.
changes() {
	local to

	to=www/drop.delta-$(sum "${3:-$1}")
	bloom set delta "v$1" "v$2" change
	mv change "$to"
	touch -d "2026-01-0$2 12:00 UTC" "$to"
}

as_sql() {
	sqlite3 -cmd '.timeout 10000' "$XDP_BLOOM_STATE/state.db" "$1"
}

row() {
	as_sql "SELECT $1 FROM feed WHERE list = 'drop'"
}

of_feed() {
	get ".[] | select(.name == \"drop\") | .$1" feeds
}

# asks NAME...: since the last time, exactly this was asked for.
asks() {
	is "$(cut -d' ' -f1 www.log | tr '\n' ' ')" "$(printf '/%s ' "$@")" "what was asked for"
	rm www.log
}

# in_force VERSION: the list is that one.
in_force() {
	verdicts 203.0.113.7=drop 198.51.100."$1"=drop 198.51.100.$(($1 + 8))=drop 198.51.100.$(($1 + 9))=pass
	[ "$1" = 1 ] || verdicts 198.51.100.$(($1 - 1))=pass
}

begin() {
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/drop --every 1h $open
	in_force 1
	asks drop
}

knows() {
	"$XDP_BLOOM" lists -j 2>/dev/null | grep -q "\"name\":\"$1\""
}

# By its name alone, with all that was said when it was loaded first.
by_its_options() {
	serves
	{ printf '192.0.2.%d\n' {1..20} && echo no address; } >www/drop
	# shellcheck disable=SC2086 # two options
	refused "no address" load drop $feed/drop --every 1h $open
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/drop --every 1h --skip-bad --shadow $open
	echo 192.0.2.21 >>www/drop
	bloom load drop
	is "$(get '.[0] | "\(.kind) \(.addresses)"' lists)" "shadow 21" "what it is then"
	refused "load: drop alone is loaded as it is kept; --every goes with its URL" load drop --every 2h
	refused "load: drop alone is loaded as it is kept; --allow, --shadow or --trust goes with its URL" load drop --allow
	# And as a line of the service's file, which fetches it for the first time later.
	echo "load later $feed/drop --every 1h --skip-bad --shadow $open" >conf
	ready
	wait_until "that it is there" knows later
	is "$(get '.[] | select(.name == "later") | "\(.kind) \(.addresses)"' lists)" "shadow 21" "what the service loads"
	stop
}

# What changes is enough, also of nothing; and the version that comes whole afterwards is the same.
by_change() {
	begin
	changes 1 2
	bloom load drop
	asks "drop.delta-$(sum 1)"
	in_force 2
	is "$(of_feed last)" "a new version, of what changed" "what feeds says"
	is "$(row "etag || modified || '-' || dated")" "-$(date -ud '2026-01-02 12:00' +%s)" "what is kept of it"
	is "$(get '.[0].source' lists)" $feed/drop "where it is from"
	# No change of this one: then it is asked for whole; that is of the day before the change, and no older version.
	cp v2.set www/drop
	touch -d '2026-01-02 11:00 UTC' www/drop
	generation=$(get .generation show)
	bloom load drop
	asks "drop.delta-$(sum 2)" drop
	is "$(of_feed last) $(get .generation show)" "as it was $generation" "what feeds says"
	is "$(row dated)" "$(date -ud '2026-01-02 12:00' +%s)" "its date"
	bloom load drop
	is "$(tail -n 1 www.log)" "/drop $(row etag) $(tail -n 1 www.log | cut -d' ' -f3-)" "what is asked for with its tag"
	asks "drop.delta-$(sum 2)" drop
	# A publisher who has a change of nothing is asked for nothing else.
	changes 2 2
	bloom load drop
	asks "drop.delta-$(sum 2)"
	is "$(of_feed last) $(get .generation show)" "as it was $generation" "what feeds says"
	changes 2 3
	bloom load drop
	asks "drop.delta-$(sum 2)"
	in_force 3
	verdicts 2a02::1=drop
	bloom state check
}

# unuseful WORDS: what lies at the change of version 1 is of no use; the list comes whole.
unuseful() {
	cp -p v2.set www/drop
	bloom load drop
	asks "drop.delta-$(sum 1)" drop
	in_force 2
	is "$(of_feed last)" "a new version" "what feeds says of $1"
	is "$(of_feed failures) $(row refused)" "0 0" "failures by $1"
	# And back, by hand.
	cp -p v1.set www/drop
	bloom load drop --force
	in_force 1
	asks drop
}

bad_changes() {
	local to

	begin
	to=www/drop.delta-$(sum 1)
	unuseful "no change"
	changes 2 3 1
	unuseful "a change of another version"
	changes 1 2
	head -c -5 "$to" >short
	mv short "$to"
	unuseful "a change that is cut off"
	changes 1 3
	sed "s/^sha256 .*/sha256 $(sum 2)/" "$to" >lies
	mv lies "$to"
	unuseful "a change whose head says another sum"
	changes 1 3
	python3 - "$to" <<-'PYTHON'
		import sys
		text = bytearray(open(sys.argv[1], "rb").read())
		text[-20] ^= 0x10
		open(sys.argv[1], "wb").write(text)
	PYTHON
	unuseful "a change with one wrong bit"
	cp v3.set "$to"
	unuseful "another list, whole"
	cp v3 "$to"
	unuseful "another list, as text"
	echo '<html>' >"$to"
	unuseful "a page"
	: >"$to"
	unuseful "nothing"
	echo 500 >"$to.status"
	unuseful "an error"
	printf '302\nLocation: file:///etc/passwd\n' >"$to.status"
	unuseful "a place elsewhere"
	rm "$to.status"
	# What it makes is dated before what is in force.
	changes 1 3
	touch -d '2025-12-31 UTC' "$to"
	unuseful "a change that is older than what it changes"
}

# What is refused of a version is refused of one that a change makes: both are, and what was in force stays.
guarded() {
	begin
	printf '%s\n' 203.0.113.0/24 198.51.100.{1..9} 2a01::/48 127.0.0.0/8 0.0.0.0/1 >v2
	bloom set pack v2.set v2
	changes 1 2
	cp v2.set www/drop
	refused "bans" load drop
	asks "drop.delta-$(sum 1)" drop
	in_force 1
	echo 198.51.100.1 >v2
	bloom set pack v2.set v2
	changes 1 2
	cp v2.set www/drop
	refused "it lost" load drop
	asks "drop.delta-$(sum 1)" drop
	in_force 1
	is "$(of_feed state) $(of_feed failures)" "failing 2" "what feeds says"
	# By a change alone it does not come either.
	cp -p v1.set www/drop
	bloom load drop
	asks "drop.delta-$(sum 1)" drop
	in_force 1
	# Who says when to ask again is asked nothing else.
	printf '429\nRetry-After: 7200\n' >"www/drop.delta-$(sum 1).status"
	refused "status 429" load drop
	asks "drop.delta-$(sum 1)"
	is "$(row 'next - tried')" 7200 "when it is asked again"
	in_force 1
}

# Blocks of zeros, which are ranges without end and have no length in zstd.
bomb() {
	local most

	need zstd
	begin
	python3 - "$(sum 1)" "www/drop.delta-$(sum 1)" <<-'PYTHON' || fail "no bomb"
		import struct, subprocess, sys
		head = "xdp-bloom set 1\ntime 2026-01-02T00:00:00Z\nsha256 %s\nfrom %s\n\n" % ("0" * 64, sys.argv[1])
		# IPv6: as many as there are.
		blocks = struct.pack("<IIII", 4, 1 << 18, 0, 0) * 100000
		packed = subprocess.run(["zstd", "-c"], input=head.encode() + blocks, stdout=subprocess.PIPE, check=True)
		with open(sys.argv[2], "wb") as file:
		    file.write(head.encode() + packed.stdout)
	PYTHON
	cp -p v2.set www/drop
	most=$(peak_of "$XDP_BLOOM" load drop)
	in_force 2
	printf '# %d bytes, %d KiB of memory\n' "$(stat -c %s "www/drop.delta-$(sum 1)")" "$most"
	[ "$most" -lt 400000 ] || [ -n "${SAN:-}" ] || fail "it took $most KiB"
	cp "www/drop.delta-$(sum 1)" bomb
	bloom load other v1.set
	refused "packed to so little that it cannot be a list" load other bomb
}

# Lists that are not packed, or read as something else, have no changes; nor has what is asked for by hand.
not_packed() {
	serves
	cp v1 www/drop
	touch -d '2025-12-31 UTC' www/drop
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/drop --every 1h $open
	bloom load drop
	asks drop drop
	cp -p v1.set www/drop
	bloom load drop
	asks drop
	bloom load drop --force
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/drop --every 2h $open
	asks drop drop
	changes 1 2
	bloom load drop --dry-run
	asks drop
	in_force 1
	bloom load drop
	asks "drop.delta-$(sum 1)"
	in_force 2
}

# publish FILE TIME: signed as of then.
publish() {
	minisign -S -s key -m "$1" -t "timestamp:$2" >/dev/null || fail "it does not sign"
}

signed() {
	local to

	need minisign
	serves
	minisign -G -W -p pub -s key >/dev/null
	minisign -G -W -p pub2 -s key2 >/dev/null
	publish www/drop 1700000000
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/drop --every 1h --key pub $open
	asks drop drop.minisig
	to=www/drop.delta-$(sum 1)
	changes 1 2
	publish "$to" 1700000002
	bloom load drop
	asks "${to#www/}" "${to#www/}.minisig"
	in_force 2
	# The whole of it was signed a little earlier, and is what is in force.
	cp -p v2.set www/drop
	publish www/drop 1700000001
	bloom load drop
	asks "drop.delta-$(sum 2)" drop drop.minisig
	is "$(of_feed last) $(of_feed failures)" "as it was 0" "what feeds says"
	# A change back, signed as of then; and one that nobody has signed, or somebody else.
	changes 2 1
	to=www/drop.delta-$(sum 2)
	touch "$to"
	publish "$to" 1700000001
	bloom load drop
	asks "${to#www/}" "${to#www/}.minisig" drop
	in_force 2
	rm "$to.minisig"
	bloom load drop
	asks "${to#www/}" "${to#www/}.minisig" drop
	in_force 2
	minisign -S -s key2 -m "$to" >/dev/null
	bloom load drop
	asks "${to#www/}" "${to#www/}.minisig" drop
	in_force 2
	# The version before, whole, is refused as ever.
	cp v1.set www/drop
	publish www/drop 1700000000
	refused "was signed at" load drop
	in_force 2
	rm "$to"*
	cp -p v3.set www/drop
	publish www/drop 1700000003
	bloom load drop
	in_force 3
}

is_kept() {
	[ "$(row 'next > 1000 AND good > 0')" = 1 ]
}

has() {
	"$XDP_BLOOM" -q test "$1" >/dev/null 2>&1
}

# The service does the same.
by_service() {
	serves
	echo "load drop $feed/drop?token=1 --every 1h $open" >conf
	ready
	wait_until "the list" is_kept
	has 198.51.100.1 || fail "the first version is not in force"
	changes 1 2
	as_sql "UPDATE feed SET next = 1"
	bloom add 192.0.2.200 --ttl 1h # it notices that
	wait_until "the second version" has 198.51.100.10
	is "$(cut -d' ' -f1 www.log | tr '\n' ' ')" "/drop?token=1 /drop.delta-$(sum 1)?token=1 " "what was asked for"
	in_force 2
	stop
}

run_cases by_its_options by_change bad_changes guarded bomb not_packed signed by_service
