#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Lists that are kept fresh: by the command, and by the service.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
lists=$(realpath "$(dirname "$0")/fresh.py")
sandbox "$@"
need_sources
# shellcheck source=../support/service.sh
. "$here/service.sh"
[ -x "$(dirname "$XDP_BLOOM")/xdp-bloom-fetch" ] || skip_all "xdp-bloom-fetch is not built"

port=8180
feed=http://127.0.0.1:$port
open="--insecure --lan"

# A server of the files in www.
serves() {
	local fd line=

	ip link set lo up
	mkdir -p www
	printf '203.0.113.0/24\n198.51.100.7\n' >www/list
	mkfifo served
	python3 "$lists" "$WORK/www" $port >served 2>serve.err &
	exec {fd}<served
	read -rt "$patience" line <&"$fd"
	[ "$line" = ready ] || fail "no server: $(cat serve.err)"
}

# asked: how many requests there were; and of whom the last was.
asked() {
	wc -l <www.log
}

as_sql() {
	sqlite3 -cmd '.timeout 10000' "$XDP_BLOOM_STATE/state.db" "$1"
}

# row COLUMN: of the feed drop.
row() {
	as_sql "SELECT $1 FROM feed WHERE list = 'drop'"
}

of_feed() {
	get ".[] | select(.name == \"drop\") | .$1" feeds
}

generation() {
	get .generation show
}

# says_of_feeds LINE...: what a person reads of each, without when it is asked next.
says_of_feeds() {
	bloom feeds
	is "$(sed -E '1d; s/ +/ /g; s/^((\S+ ){2})[0-9]+s (\S+) /\1AGE NEXT /; s/ $//' out)" "$(printf '%s\n' "$@")" "feeds"
}

# What is kept of it, what is asked, and what is built.
by_command() {
	local before

	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 6h $open
	is "$(of_feed state) $(of_feed every) $(of_feed last)" "fresh 21600 a new version" "what feeds says"
	[ "$(of_feed age)" -lt 60 ] || fail "it is $(of_feed age) s old"
	# Its next place in the interval, a minute early at most.
	is "$(row 'next - tried BETWEEN 21540 AND 43200')" 1 "whether it is in $(row 'next - tried') s"
	before=$(generation)
	bloom load drop
	is "$(generation)" "$before" "the generation after what has not changed"
	is "$(tail -n 1 www.log | cut -d' ' -f2)" "$(row etag)" "which version was asked about"
	is "$(of_feed last)" "as it was" "what feeds says of that"
	# The same list in other words.
	printf '# a remark\n198.51.100.7\n203.0.113.0/24\n' >www/list
	bloom load drop
	is "$(generation)" "$before" "the generation after the same list"
	echo 192.0.2.9 >>www/list
	bloom load drop
	is "$(generation)" $((before + 1)) "the generation after another list"
	verdicts 192.0.2.9=drop 203.0.113.7=drop
	is "$("$XDP_BLOOM" events | grep -c ' load drop')" 2 "events"
	# Loaded by hand from a file it is no feed any more, and the command says it.
	echo 192.0.2.1 >file
	bloom load drop file --big-change
	grep -q 'is not fetched any more' err || fail "$(cat err)"
	is "$(get length feeds)" 0 "feeds"
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 6h $open --big-change
	bloom unload drop
	is "$(get length feeds)" 0 "feeds after unload"
	expect 2 "$XDP_BLOOM" load drop
	grep -q 'a name and a file' err || fail "$(cat err)"
}

# What somebody can have this machine ask is left out by the service, and all is asked for until it has come.
in_part() {
	local asker before

	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 6h $open
	ip route add 198.51.100.9 dev lo
	asking 198.51.100.9
	echo 198.51.100.8/31 >>www/list
	refused "198.51.100.9, a name server in use (a socket to its port 53)" load drop
	expect 1 "$XDP_BLOOM" load drop --spare
	one_line "list 'drop' is loaded without 198.51.100.9, a name server in use (a socket to its port 53); the service loads"
	verdicts 198.51.100.8=drop 198.51.100.9=pass
	is "$(row etag),$(row modified),$(of_feed last)" ",,a new version" "what is kept of it"
	before=$(generation)
	expect 1 "$XDP_BLOOM" load drop --spare
	is "$(generation),$(cat err)" "$before," "the generation after the same version, and what is said"
	is "$(tail -n 1 www.log | cut -d' ' -f2),$(row etag)" "-," "which version was asked about, and is"
	kill "$asker"
	end_of "$asker" || true
	ip route del 198.51.100.9 dev lo
	bloom load drop --spare
	verdicts 198.51.100.9=drop
	[ -n "$(row etag)" ] || fail "all of it has no tag"
	is "$(get '.[].refused' lists)" null "what is refused of it"
}

# Beside others: what no other list holds.
compared() {
	serves
	printf '203.0.113.0/25\n' >www/part
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h $open
	# shellcheck disable=SC2086
	bloom load part $feed/part --every 1h $open --shadow
	echo 198.51.100.7 >file
	bloom load file file
	is "$(get '[.[] | [.name, .alone == 0, (.alone * 257 | round)]] | sort' feeds)" \
		'[["drop",false,128],["part",true,0]]' "what each has alone"
	is "$(get '[.[].day.ipv4 | floor]' feeds)" '[0,0]' "what came today"
	for i in 192.0.2.{1..9}; do echo "$i"; done >>www/list
	bloom load drop
	is "$(of_feed 'day.ipv4 | floor')" 9 "what came today"
	says_of_feeds "drop fresh AGE NEXT 6 +9 - 52% a new version" "part fresh AGE NEXT 1 +0 - 0% a new version"
}

has_dropped() {
	[ "$(of_feed dropped_hour)" = "$1" ]
}

# In the last hour. Where no service was, nobody has counted.
drops() {
	veth 0
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h $open
	bloom attach edge0
	echo 203.0.113.9 >banned
	echo 192.0.2.6 >clean
	send 0 -n 5 -b banned -c clean
	is "$(of_feed dropped_hour)" null "what was dropped before the service"
	: >conf
	ready
	send 0 -n 30 -b banned -c clean
	wait_until "its drops" has_dropped 30
	stop
}

# What keeps a version out, and what is in force then.
refuses() {
	need sqlite3
	serves
	touch -d '2026-01-02 00:00 UTC' www/list
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h $open
	is "$(row dated)" "$(date -ud 2026-01-02 +%s)" "its date"
	echo 192.0.2.9 >>www/list
	touch -d '2026-01-01 00:00 UTC' www/list
	refused "the version in force is newer, of 2026-01-02" load drop
	is "$(of_feed state) $(of_feed failures)" "failing 1" "what feeds says"
	is "$(get '.[0].refused.why' lists | grep -c newer)" 1 "what lists says"
	is "$(row 'next - tried')" 1800 "half the interval"
	verdicts 192.0.2.9=pass 203.0.113.7=drop
	bloom load drop --force
	verdicts 192.0.2.9=drop
	# A page with an error; the same text as a list, which the reader would take; and another list.
	printf '429\nRetry-After: 7200\n' >www/list.status
	refused "status 429" load drop
	is "$(row 'next - tried')" 7200 "what the server wants"
	rm www/list.status
	echo "something is wrong" >www/list
	refused "the same text came before" load drop
	refused "the same text came before" load drop
	is "$(row 'next - tried') $(row failures)" "7200 3" "twice as long each time"
	printf '203.0.113.0/24\n198.51.100.7\n192.0.2.10\n' >www/list
	bloom load drop
	is "$(of_feed state) $(of_feed failures) $(row refused)" "fresh 0 0" "what feeds says"
	verdicts 192.0.2.10=drop
}

# publish TIME ADDRESS...: the server's list, signed as of then.
publish() {
	printf '%s\n' "# of $1" "${@:2}" >www/list
	minisign -S -s key -m www/list -t "timestamp:$1" >/dev/null || fail "it does not sign"
}

# The same set, signed later, keeps out what was signed before that; not where its time is still to come.
signed_again() {
	need minisign
	serves
	minisign -G -W -p pub -s key >/dev/null
	publish 1700000000 203.0.113.0/24
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h --key pub $open
	publish 1700000002 203.0.113.0/24
	bloom load drop
	is "$(of_feed last)" "as it was" "what feeds says"
	publish 1700000001 203.0.113.0/24 192.0.2.9
	refused "was signed at 2023-11-14T22:13:21Z, before the version in force, at 2023-11-14T22:13:22Z" load drop
	publish 9999999999 203.0.113.0/24
	bloom load drop
	publish 1700000003 203.0.113.0/24 192.0.2.10
	bloom load drop
	verdicts 192.0.2.9=pass 192.0.2.10=drop
}

# What the list counts.
counted() {
	get '.lists[] | select(.name == "drop").packets' stats
}

# Nobody renews it.
too_old() {
	local then=$1 verdict=$2 state=$3

	need sqlite3
	[ -e "${clock:=$(dirname "$TRAFFIC")/clock.so}" ] || skip "$clock is not built"
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h --max-age 1d --then "$then" $open
	veth 0
	echo 203.0.113.7 >listed
	echo 192.0.2.6 >clean
	bloom attach edge0
	send 0 -n 10 -b listed -c clean
	is "$(counted)" 10 "what the list dropped"
	echo 500 >www/list.status
	refused "status 500" load drop
	verdicts 203.0.113.7=drop
	# Setting the date makes no list old.
	echo 90000 >ahead
	CLOCK_AHEAD=$WORK/ahead LD_PRELOAD=$clock expect 2 "$XDP_BLOOM" load drop
	is "$(of_feed state)" failing "what feeds says"
	verdicts 203.0.113.7=drop
	as_sql "UPDATE feed SET good_up = good_up - 90000"
	[ "$then" = keep ] || as_sql "UPDATE feed SET good = good - 90000, boot = 0"
	expect 2 "$XDP_BLOOM" load drop
	[ "$then" = keep ] || grep -q "nobody has renewed it since" err || fail "$(cat err)"
	is "$(of_feed state)" "$state" "what feeds says"
	verdicts 203.0.113.7="$verdict"
	if [ "$then" != keep ]; then
		is "$(counted)" 0 "what is counted of a list that bans no more"
		send 0 -n 5 -c listed
		is "$(counted)" "$([ "$then" = drop ] && echo 0 || echo 5)" "what it would have dropped"
	fi
	rm www/list.status
	bloom load drop
	[ "$then" = keep ] || is "$(counted)" 0 "what is counted of it since it bans again"
	is "$(of_feed state)" fresh "what feeds says"
	verdicts 203.0.113.7=drop
}

grows_old() {
	as_sql "UPDATE feed SET good_up = good_up - 90000, good = good - 90000, boot = 0 WHERE list = 'drop'"
}

# gets_too_old [FILE]: its server fails, for longer than --max-age.
gets_too_old() {
	echo 500 >"www/${1:-list}.status"
	grows_old
	expect 2 "$XDP_BLOOM" load drop
	verdicts 203.0.113.7=pass
	rm "www/${1:-list}.status"
}

# where BYTES KB COMMAND...: where /tmp has room for so much, and so much memory is free; "": as it is.
where() {
	[ -z "$2" ] || echo "MemAvailable: $2 kB" >little
	# shellcheck disable=SC2016 # that shell's own
	unshare --mount sh -c 'mount --bind "$1" /mnt && mount --bind "${2%/*}" /media &&
		{ [ -z "$4" ] || mount --bind little /proc/meminfo; } && mount -t tmpfs -o size=1m tmpfs /tmp && mkdir -p "$1" &&
		mount --bind /mnt "$1" && head -c $((1048576 - $3)) /dev/zero >/tmp/his || exit 1
		binary=/media/${2##*/}; shift 4; exec "$binary" "$@"' sh "$WORK" "$XDP_BLOOM" "$@"
}

# What fails here is no failure of its server's: the list stays, however old it is. And it takes more than a full /tmp.
not_by_its_server() {
	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h --max-age 1d --then drop $open
	grows_old
	{ cat www/list; printf '# %0999d\n' {1..100}; echo 192.0.2.9; } >longer
	mv longer www/list
	expect 2 where 65536 100 load drop
	one_line "what came cannot be kept: No space left on device"
	expect 2 where 0 1000 load drop
	one_line "bytes in the kernel; the limit is "
	verdicts 203.0.113.7=drop
	is "$(of_feed state)" old "what feeds says"
	is "$(row 'next - tried BETWEEN 1700 AND 1900')" 1 "whether it is tried again soon, in $(row 'next - tried') s"
	expect 0 where 0 '' load drop
	verdicts 192.0.2.9=drop
	is "$(of_feed state)" fresh "what feeds says"
	gets_too_old
}

# The version that comes after that is the list's next one: of its kind and scope, and measured by the one before.
too_old_stays() {
	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h --max-age 1d --then drop --shadow $open --only tcp/25,udp
	bloom enforce drop
	verdicts 203.0.113.7=drop
	gets_too_old
	is "$(get '.[0] | .kind + " " + .addresses' lists)" "ban 0" "a list that was dropped"
	bloom load drop
	verdicts 203.0.113.7=drop
	is "$(as_sql "SELECT scope FROM scope")" tcp/25,udp "its scope"
	bloom shadow drop
	gets_too_old
	bloom load drop
	is "$(get '.[0].kind' lists)" shadow "what was a shadow list"
	gets_too_old
	bloom enforce drop
	bloom load drop
	is "$(get '.[0].kind' lists)" ban "what was enforced while it was dropped"
	gets_too_old
	cp www/list small
	seq -f '%g.0.0.0/9' 11 99 >www/list
	refused "times as many IPv4 addresses as a day ago" load drop
	verdicts 20.0.0.1=pass
	cp small www/list
	bloom load drop
	verdicts 203.0.113.7=drop
	# shellcheck disable=SC2086
	bloom load drop $feed/list --every 1h --max-age 1d --then shadow $open
	gets_too_old
	bloom enforce drop
	verdicts 203.0.113.7=drop
	bloom shadow drop
	bloom load drop
	is "$(get '.[0].kind' lists)" shadow "what somebody wants only to count"
	# What its age has made of it ends with the next version, wherever that comes from: another URL, or a file.
	bloom enforce drop
	gets_too_old
	cp www/list www/other
	# shellcheck disable=SC2086
	bloom load drop $feed/other --every 1h --max-age 1d --then shadow $open
	verdicts 203.0.113.7=drop
	gets_too_old other
	bloom load drop www/list
	verdicts 203.0.113.7=drop
}

# A line that gives the list another scope has the next request bring it, changed or not; with its name alone it has none.
other_scope() {
	need sqlite3
	serves
	veth 0
	echo 203.0.113.7 >listed
	echo 192.0.2.6 >clean
	bloom attach edge0
	echo "load drop $feed/list --every 1h $open --only tcp/25" >lines
	bloom batch lines
	bloom load drop
	is "$(as_sql "SELECT scope FROM scope")" tcp/25 "its scope"
	send 0 -n 10 -c listed
	refused "--only, --to or --on goes with its URL" load drop --only any --force
	echo "load drop $feed/list --every 1h $open --only any" >lines
	bloom batch lines
	bloom load drop
	is "$(as_sql "SELECT scope FROM scope")" "" "its scope"
	send 0 -n 10 -b listed -c clean
	before=$(generation)
	bloom load drop
	is "$(generation)" "$before" "the generation after the same again"
}

# undoes_nothing: what is done to a list while its server keeps an answer back is not undone by that, whatever comes of it.
undoes_nothing() {
	local what answer reading to status wanted its="list, url, every, max_age, etag, dated, good, failures, aged, result"

	need sqlite3
	serves
	cp www/list whole
	cp www/list www/other
	echo 192.0.2.1 >good
	for what in unloaded otherwise elsewhere exceptions renewed; do
		for answer in 'another list' 'no list' 'the same'; do
			cp whole www/list
			# shellcheck disable=SC2086 # two options
			bloom load drop $feed/list --every 6h --max-age 2d --then drop $open --big-change
			[ $what != renewed ] || as_sql "UPDATE feed SET good = good - 180000, boot = 0, failures = 9"
			rm www/list
			mkfifo www/list
			"$XDP_BLOOM" load drop >out 2>said &
			reading=$!
			exec {to}>www/list
			rm www/list
			cp whole www/list
			# shellcheck disable=SC2086 # two options
			case $what in
			unloaded) bloom unload drop ;;
			otherwise) bloom load drop $feed/list --every 6h $open --max-age 1d --then drop ;;
			elsewhere) bloom load drop $feed/other --every 6h $open ;;
			exceptions)
				printf 'unload drop\nload drop good --allow\n' >lines
				bloom batch lines
				;;
			renewed)
				echo 192.0.2.10 >>www/list
				bloom load drop
				;;
			esac
			wanted=$(as_sql "SELECT $its FROM feed")$(get '[.[]|.name,.kind,.addresses]' lists)
			case $answer in
			'another list') printf '203.0.113.0/24\n198.51.100.7\n192.0.2.9\n' ;;
			'the same') cat whole ;;
			esac >&$to
			exec {to}>&-
			status=0
			end_of "$reading" || status=$?
			is "$status $(as_sql "SELECT $its FROM feed")$(get '[.[]|.name,.kind,.addresses]' lists)" \
				"$status $wanted" "$what, and $answer: $(cat said)"
			[ "$answer" = "the same" ] || is "$status" 2 "$what, and $answer"
			"$XDP_BLOOM" -q unload drop 2>/dev/null || [ "$what" = unloaded ]
		done
	done
}

# sets_nothing: a load that fails has set nothing of the feed, and what it asked otherwise is no failure of what is kept.
sets_nothing() {
	local its="options || insecure || lan || every || max_age || becomes || key || refused || failures" before

	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h $open --only tcp/22
	before=$(row "$its")
	echo 500 >www/list.status
	# shellcheck disable=SC2086
	refused "status 500" load drop $feed/list $open
	# shellcheck disable=SC2086
	refused "status 500" load drop $feed/list --every 2h --max-age 3h --then drop $open --only any
	is "$(row "$its")" "$before" "what is set of it"
	rm www/list.status
	printf '203.0.113.0/24\n198.51.100.7\n192.0.2.9\n' >www/list
	# shellcheck disable=SC2086
	refused "not JSON" load drop $feed/list --every 1h $open --format json
	is "$(row "$its")" "$before" "what is set of it"
	bloom load drop
	is "$(get '[.scope.only[0], .prefixes]' lists drop)" '["tcp/22",3]' "the list"
}

# is_over: the time of what waits, so that the next command takes it back.
is_over() {
	as_sql "UPDATE pending SET due = 1"
	bloom add 192.0.2.200 --ttl 1h
	is "$(as_sql "SELECT count(*) FROM pending")" 0 "what waits"
}

# goes_back: of what was tried and not confirmed nothing is set, and the version is not taken again at once.
goes_back() {
	local its="options || insecure || lan || every || max_age || becomes || key || good || aged" before

	need sqlite3
	serves
	# A feed before its list is.
	echo "load drop $feed/list --every 1h $open --only tcp/25" >lines
	bloom batch lines
	before=$(row "$its")
	bloom load drop --confirm 1h
	is "$(of_feed state) $(of_feed prefixes)" "fresh 2" "what feeds says of the trial"
	is_over
	is "$(row "$its")" "$before" "a feed that has no list again"
	is "$(get length lists)" 0 "lists"
	bloom load drop
	before=$(row "$its")
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 2h --max-age 3h --then drop $open --only any --confirm 1h
	is_over
	is "$(row "$its")" "$before" "what is set of it"
	is "$(row 'next - tried <= 3600')" 1 "whether it is in $(row 'next - tried') s"
	bloom load drop
	is "$(of_feed last)" "as it was" "what was not confirmed"
	echo 192.0.2.9 >>www/list
	bloom load drop
	is "$(get '[.scope.only[0], .prefixes]' lists drop)" '["tcp/25",3]' "the next version"
	# What only counts, as nobody has renewed it, does so again.
	as_sql "UPDATE feed SET max_age = 86400, becomes = 1, good = good - 90000, boot = 0"
	echo 500 >www/list.status
	expect 2 "$XDP_BLOOM" load drop
	rm www/list.status
	is "$(of_feed state)" shadow "what feeds says"
	before=$(row "$its")
	bloom load drop --confirm 1h
	is "$(of_feed state) $(row aged)" "fresh 0" "what feeds says of the trial"
	echo "load drop $feed/list --every 3h $open" >lines
	refused "drop: a change of it waits for confirmation" batch lines
	is_over
	is "$(of_feed state) $(row "$its")" "shadow $before" "what feeds says"
	bloom load drop
	is "$(of_feed state) $(get .kind lists drop)" "fresh ban" "what feeds says of the next version"
}

# What waits while its list gets too old goes back to what there was: a list that only counts, and a version of elsewhere.
ages_on_trial() {
	need sqlite3
	serves
	cp www/list www/other
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h --max-age 1d --then shadow --shadow $open
	bloom enforce drop --confirm 1h
	verdicts 203.0.113.7=drop
	gets_too_old
	is_over
	echo 192.0.2.9 >>www/list
	bloom load drop
	is "$(get '[.kind, .prefixes]' lists drop)" '["shadow",3]' "what nobody has enforced"
	bloom enforce drop
	# shellcheck disable=SC2086
	bloom load drop $feed/other --every 10m --max-age 15m --then drop $open --confirm 1h
	gets_too_old other
	is "$(get '.waiting[0].name' show) $(get .prefixes lists drop)" "drop 0" "what waits"
	is_over
	is "$(row 'url, aged') $(get .prefixes lists drop)" "$feed/list|0 3" "what has come back"
	verdicts 203.0.113.7=drop
	# While its server is well, what waits here makes it no older.
	as_sql "UPDATE feed SET becomes = 2"
	bloom shadow drop --confirm 1h
	grows_old
	echo 192.0.2.10 >>www/list
	refused "drop: a change of it waits for confirmation" load drop
	is "$(of_feed state) $(row 'failures, next - tried > 1800') $(get .prefixes lists drop)" "fresh 0|1 3" "what feeds says"
	is_over
	verdicts 203.0.113.7=drop
	bloom load drop
	verdicts 203.0.113.7=drop 192.0.2.10=drop
}

# What means nothing, and what a line of a file may say.
by_lines() {
	local word before

	need sqlite3
	serves
	refused "no less than 5m" load drop $feed/list --every 4m
	refused "give --every, too" load drop $feed/list --max-age 1d
	refused "give both" load drop $feed/list --every 1h --then drop
	refused "--max-age is less than --every" load drop $feed/list --insecure --every 1d --max-age 1h
	refused "--every is for a URL" load drop list --every 1h
	refused "unless it says how often" load drop $feed/list --if-changed
	for word in "confirm 1h" dry-run wide; do
		echo "load drop $feed/list --every 1h $open --$word" >lines
		refused "--${word% *} is for a version that is fetched now" batch lines
	done
	is "$(get length feeds)" 0 "feeds"
	echo "load drop $feed/list --every 1h $open" >lines
	bloom batch lines
	is "$(of_feed state) $(of_feed prefixes)" "new null" "what feeds says"
	says_of_feeds "drop new never now - - - - it was not asked for yet"
	[ ! -e www.log ] || fail "it has asked"
	bloom load drop
	is "$(of_feed state) $(of_feed prefixes)" "fresh 2" "what feeds says"
	before=$(row next)
	bloom batch lines
	is "$(row next)" "$before" "after the same line again"
	echo "load drop $feed/list --every 2h $open" >lines
	bloom batch lines
	is "$(row "every || ' ' || next || etag")" "7200 0" "after another line"
	bloom load drop
	# Of what a line unloads, the next one keeps nothing.
	printf 'unload drop\nload drop %s --every 6h %s\n' $feed/list "$open" >both
	bloom batch both
	is "$(of_feed state) $(row "next || ' ' || tried || ' ' || etag")" "new 0 0 " "after both in one batch"
	bloom load drop
	verdicts 203.0.113.7=drop
	echo "load drop $feed/list --every 6h $open --shadow" >other
	refused "'drop' is a ban list; unload it first" batch other
	bloom unload drop
	bloom batch lines
	bloom unload drop
	is "$(get length feeds)" 0 "feeds"
}

# One whose list has not come yet is a list all the same: flush takes it out, and an image its place.
not_come_yet() {
	need sqlite3
	serves
	echo "load drop $feed/list --every 1h $open" >lines
	bloom batch lines
	bloom flush
	is "$(get length feeds)" 0 "feeds after flush"
	echo 45.0.0.1 >other
	bloom image make image other
	bloom batch lines
	refused "'drop' is to be fetched; --force drops it" load --image image
	bloom load --image image --force --confirm 1h
	is "$(get length feeds)" 0 "feeds beside an image"
	as_sql "UPDATE pending SET due = 1"
	bloom add 45.0.0.9
	is "$(of_feed state)" new "what feeds says of what has come back"
	bloom load --image image --force
	bloom flush
	is "$(get length feeds)" 0 "feeds after flush"
	bloom batch lines
	bloom unload drop --confirm 1h
	is "$(get length feeds)" 0 "feeds"
	refused "no list 'dorp'" unload dorp --confirm 1h
}

# A line names another server, which never answers: the list is as old as it was. And one from a file begins to grow old.
grows_old_elsewhere() {
	need sqlite3
	serves
	# shellcheck disable=SC2086 # two options
	[ "$1" = file ] || bloom load drop $feed/list --every 1h --max-age 1d --then drop $open
	[ "$1" != file ] || bloom load drop www/list
	echo 500 >www/moved.status
	echo "load drop $feed/moved --every 1h --max-age 1d --then drop $open" >lines
	bloom batch lines
	is "$(of_feed state)" new "what feeds says"
	expect 2 "$XDP_BLOOM" load drop
	verdicts 203.0.113.7=drop
	as_sql "UPDATE feed SET good_up = good_up - 900000, good = good - 900000, boot = 0"
	expect 2 "$XDP_BLOOM" load drop
	verdicts 203.0.113.7=pass
	is "$(of_feed state)" dropped "what feeds says of it"
}

# poke: a command that the service notices.
poke() {
	bloom add 192.0.2.200 --ttl 1h
}

# is_due: the feed drop is to be fetched now. Not before the command that fetched it has written its own time into the row,
# which it does after the version is in force; and each time at another one, or the service would know it.
is_due() {
	wait_until "the row of the last one" is_kept
	as_sql "UPDATE feed SET next = $((++turn)) WHERE list = 'drop'"
	poke
}

is_kept() {
	[ "$(row 'next > 1000')" = 1 ]
}

in_force() {
	"$XDP_BLOOM" -q test "$1" >/dev/null 2>&1
}

were_asked() {
	[ -e www.log ] && [ "$(wc -l <www.log)" -ge "$1" ]
}

is_failing() {
	[ "$(of_feed failures)" -ge "$1" ]
}

# asked_for FILE: how often, since the log was removed.
asked_for() {
	touch www.log
	awk -v file="/$1" '$1 == file { n++ } END { print n + 0 }' www.log
}

were_asked_for() {
	[ "$(asked_for "$1")" -ge 1 ]
}

has_no_command() {
	! pgrep -f -P "$service_pid" 'load ' >/dev/null
}

# What a line of the config begins, the service fetches, and again when it is due; whatever becomes of the date.
by_service() {
	local before n=0 turn=0

	need sqlite3 pgrep
	[ -e "${clock:=$(dirname "$TRAFFIC")/clock.so}" ] || skip "$clock is not built"
	serves
	echo "load drop $feed/list --every 1h $open" >conf
	export CLOCK_AHEAD=$WORK/ahead
	under=(env "LD_PRELOAD=$clock")
	ready
	wait_until "the list" in_force 203.0.113.7
	is "$(asked)" 1 "requests"
	wait_until "the end of its command" has_no_command
	# In a year, and before the last request. When the list is due it may read by the date that comes, and asks once more.
	before=$(generation)
	rm -f www.log
	for ahead in 31536000 -31536000; do
		echo $ahead >ahead
		cp www/list www/other$((++n))
		echo "load other$n $feed/other$n --every 1h $open" >lines
		"${under[@]}" "$XDP_BLOOM" -q batch lines || fail "another list is not loaded"
		wait_until "another list" were_asked_for other$n
		is "$(asked_for other$n)" 1 "requests when the date is $ahead s ahead"
	done
	[ "$(asked_for list)" -le 1 ] || fail "it is asked for with each date: $(cat www.log)"
	: >ahead
	echo 192.0.2.9 >>www/list
	is_due
	wait_until "the new version" in_force 192.0.2.9
	# One that fails, and is refused: what there was stays, and everybody who asks is told.
	echo '<html>' >www/list
	is_due
	wait_until "a failure" is_failing 1
	in_force 192.0.2.9 || fail "what was in force is gone"
	expect 2 "$XDP_BLOOM" status # nothing is attached
	grep -q "is a page, and no list" out || fail "$(cat out)"
	stop
}

health_has() {
	get_page /healthz
	[ "$(head -n 1 page)" = "$1" ] && grep -q "$2" page
}

page_has() {
	get_page /page.json
	[ "$(jq -c "$1" page)" = "$2" ]
}

# gauge NAME: of the feed drop, as Prometheus reads it.
gauge() {
	sed -n "s/^xdp_bloom_feed_$1{list=\"drop\"} //p" page
}

# server_away: the files of www are served by 45.0.0.9, behind edge0.
server_away() {
	local fd line

	ip link set lo up
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	mkdir -p www
	printf '203.0.113.0/24\n198.51.100.7\n' >www/list
	mkfifo away here served
	# shellcheck disable=SC2016 # its own
	unshare --net sh -c 'echo >away; read line <here; ip addr add 45.0.0.9/24 dev wire0; ip link set lo up
		ip link set wire0 up; exec python3 "$0" "$1" "$2" 45.0.0.9 >served 2>serve.err' "$lists" "$WORK/www" $port &
	away=$!
	read -r _ <away
	ip link set wire0 netns $away
	echo >here
	exec {fd}<served
	read -rt "$patience" line <&"$fd"
	[ "$line" = ready ] || fail "no server: $(cat serve.err)"
}

# No other list bans the server that keeps one fresh: that could not be renewed any more. Nor does whoever is told so by
# others ban it by hand, unawares.
its_server() {
	local it="45.0.0.9, the server of a feed (list 'drop')"

	need sqlite3
	server_away
	bloom load drop http://45.0.0.9:$port/list --every 1h --max-age 1d --then drop --insecure --lan
	bloom guards
	grep -Fq "${it#*, }" out || fail "guards does not know it: $(cat out)"
	printf '198.51.100.%d\n' {1..9} >theirs
	printf "load theirs '%s/theirs'\nattach edge0\n" "$WORK" >conf
	ready
	printf '45.0.0.%d\n' 8 9 10 >>theirs
	heard "$log" "list 'theirs' is loaded without $it; the service loads"
	verdicts 45.0.0.8=drop 45.0.0.9=pass 45.0.0.10=drop
	bloom load drop
	refused "$it" add 45.0.0.9
	refused "$it" load theirs theirs
	# By force it is, and who asks is told what became of it. An interface is filtered all the same, and the list ages.
	bloom load theirs theirs --force
	stop
	ip route add unreachable 45.0.0.9 # at once, and not in ten seconds
	expect 2 "$XDP_BLOOM" load drop
	one_line "; the filter in force drops what comes from 45.0.0.9 (list 'theirs')"
	[[ $(of_feed last) = *"drops what comes from 45.0.0.9 (list 'theirs')" ]] || fail "feeds says: $(of_feed last)"
	as_sql "DELETE FROM setting WHERE name LIKE 'granted %'"
	veth 1
	bloom attach edge1
	one_line "what is loaded bans $it"
	bloom unload theirs
	ip route del unreachable 45.0.0.9
	# While another is tried, both are needed; and none of what is gone.
	bloom load drop http://45.0.0.9:$port/list?more --every 1h --insecure --lan --confirm 1h
	bloom unload drop
	is "$(as_sql "SELECT count(*) FROM setting WHERE name GLOB 'server *'")" 0 "servers of no feed"
	bloom add 45.0.0.9
}

# How old it is, and whether its server fails, wherever somebody looks.
is_shown() {
	local good tried

	need sqlite3
	serves
	: >conf
	ready --listen 9913 --page
	get_page /metrics
	is "$(grep -c '^xdp_bloom_feed_' page)" 0 "metrics of feeds where there are none"
	is "$(get .feeds status)" "[]" "feeds of status"
	# shellcheck disable=SC2086 # two options
	bloom load drop $feed/list --every 1h $open
	"$XDP_BLOOM" status >out
	grep -q '^lists       drop .*, loaded [0-9]*s ago, renewed [0-9]*s ago$' out || fail "status: $(cat out)"
	grep -q '^feeds       1 of 1 fresh; the oldest is drop, renewed [0-9]*s ago: xdp-bloom feeds$' out || fail "status: $(cat out)"
	is "$(get '.feeds[] | [.name, .state, .age < 60, .failures, .last]' status)" '["drop","fresh",true,0,"a new version"]' "status"
	wait_until "page.json" page_has '[.feeds[] | .name, .state, .every]' '["drop","fresh",3600]'
	get_page /metrics
	good=$(row good) tried=$(row tried)
	is "$(gauge good_timestamp_seconds) $(gauge asked_timestamp_seconds) $(gauge interval_seconds) $(gauge failures) $(gauge old)" \
		"$good $tried 3600 0 0" "metrics"
	wait_until "/healthz" health_has ok '^ok$'
	# Its server fails.
	echo 500 >www/list.status
	as_sql "UPDATE feed SET good = good - 7200, good_up = good_up - 7200, max_age = 86400"
	refused "status 500" load drop
	wait_until "/healthz of a failure" health_has degraded \
		"^list 'drop': refused since [^ ]*Z; its server last had it at 20"
	wait_until "page.json of a failure" page_has '[.feeds[] | .state, .failures, .age >= 7200]' '["failing",1,true]'
	get_page /metrics
	is "$(gauge good_timestamp_seconds) $(gauge failures) $(gauge old)" "$((good - 7200)) 1 0" "metrics of a failure"
	"$XDP_BLOOM" status >out
	grep -q '^lists       drop .*, renewed 2h[0-9ms]* ago, NEXT VERSION REFUSED$' out || fail "status: $(cat out)"
	grep -q '^feeds       0 of 1 fresh' out || fail "status: $(cat out)"
	# For longer than it may.
	as_sql "UPDATE feed SET good = good - 86400, good_up = good_up - 86400"
	refused "status 500" load drop
	wait_until "/healthz of one that is too old" health_has degraded "^list 'drop': nobody has renewed it since .*: it stays"
	wait_until "page.json of that" page_has '[.feeds[].state]' '["old"]'
	get_page /metrics
	is "$(gauge old)" 1 "metrics of that"
	"$XDP_BLOOM" status >out
	grep -q "list 'drop': nobody has renewed it since" out || fail "status: $(cat out)"
	stop
	# Nobody asks for it.
	! grep -q "no service does it" out || fail "status with a service: $(cat out)"
	as_sql "UPDATE feed SET next = 1, max_age = 0"
	"$XDP_BLOOM" status >out
	grep -q "list 'drop': it was to be fetched .* ago, and no service does it: xdp-bloom run" out || fail "status: $(cat out)"
}

# Whoever has no list fetched has no process, no socket and no library for it.
costs_nothing() {
	local fd

	prepare
	ready
	is "$(pgrep -P "$service_pid")" "" "processes of the service"
	for fd in "/proc/$service_pid/fd"/*; do
		readlink "$fd"
	done | sed -n 's/^socket:\[\(.*\)\]$/\1/p' >inodes
	[ -s inodes ] || fail "it has no sockets at all: $(ls -l "/proc/$service_pid/fd")"
	is "$(awk 'NR == FNR { its[$1]; next } $10 in its' inodes /proc/net/{tcp,tcp6,udp,udp6,raw,raw6})" "" "its sockets of the internet"
	grep -q '/xdp-bloom$' "/proc/$service_pid/maps" || fail "no maps: $(head -n 3 "/proc/$service_pid/maps")"
	! grep 'curl\|gnutls\|ssl\|sodium' "/proc/$service_pid/maps" || fail "it has a library for it"
	stop
}

# One request at a time of a host, and no generation but for what is new.
one_at_a_time() {
	local i before

	need sqlite3
	serves
	for i in {1..12}; do
		echo "198.51.$i.0/24" >"www/list$i"
		echo "load list$i $feed/list$i --every 1h $open"
	done >conf
	ready
	wait_until "the lists" were_asked 12
	wait_until "the last of them" all_fresh 12
	is "$(cut -d' ' -f4 www.log | sort -u)" 1 "requests at a time"
	is "$(cut -d' ' -f3 www.log | cut -d/ -f1 | sort -u)" xdp-bloom "who asks"
	poke
	before=$(generation)
	rm www.log
	echo 192.0.2.77 >>www/list7
	as_sql "UPDATE feed SET next = 1"
	poke
	wait_until "the lists again" were_asked 12
	wait_until "the new one" in_force 192.0.2.77
	is "$(generation)" $((before + 1)) "the generation after one new version"
	stop
}

# As systemd has it: the service may neither speak to the network nor become another user, and who does is started beside it.
by_socket() {
	local given

	need systemd-socket-activate setpriv
	setpriv --list-caps | grep -q '^bpf' || skip "needs a setpriv that knows CAP_BPF"
	serves
	given=$(sed -n 's/^CapabilityBoundingSet=//p' "$top/packaging/systemd/hardened" | tr '[:upper:] ' '[:lower:],' | sed 's/cap_/+/g')
	under=(setpriv --bounding-set "-all,$given" --inh-caps -all --no-new-privs)
	expect 2 "${under[@]}" "$XDP_BLOOM" load drop $feed/list --insecure --lan
	grep -q 'fetches nothing as root' err || fail "$(cat err)"
	mount -t tmpfs tmpfs /run || skip "cannot mount over /run"
	mkdir /run/xdp-bloom
	systemd-socket-activate --accept --inetd --seqpacket -l /run/xdp-bloom/fetch "${XDP_BLOOM%/*}/xdp-bloom-fetch" 2>activate.err &
	wait_until "the socket" test -S /run/xdp-bloom/fetch
	echo "load drop $feed/list --every 1h $open" >conf
	ready
	wait_until "the list" in_force 203.0.113.7
	grep -q 'Spawned' activate.err || fail "not by the socket: $(cat activate.err)"
	stop
}

# A week of XDP_BLOOM_FEEDS lists, in the time that the work in it takes.
a_week() {
	local feeds=${XDP_BLOOM_FEEDS:-10} entries=${XDP_BLOOM_ENTRIES:-50} days=${XDP_BLOOM_DAYS:-1} before status

	[ -e "${clock:=$(dirname "$TRAFFIC")/clock.so}" ] || skip "$clock is not built"
	ip link set lo up
	export XDP_BLOOM_CHANGE_DAYS=${XDP_BLOOM_CHANGE_DAYS:-$days}
	python3 "${lists%.py}_week.py" lists "$feeds" "$entries" "$days" || fail "no lists"
	bloom batch batch
	before=$(generation)
	head -c 8 /dev/zero >jumps
	: >ahead
	mkfifo pid
	python3 "${lists%.py}_week.py" run "$feeds" "$entries" "$days" <pid >week 2>week.err &
	runs=$!
	exec {pid}>pid
	wait_until "the servers" grep -q ready week
	CLOCK_JUMPS=$WORK/jumps CLOCK_AHEAD=$WORK/ahead LD_PRELOAD=$clock "$XDP_BLOOM" run --config "$WORK/conf" >log 2>&1 &
	service_pid=$!
	echo $service_pid >&"$pid"
	wait $runs
	status=$?
	sed '/^ready/d; s/^/# /' week
	end_of "$service_pid"
	is $? 0 "the exit status of the service"
	printf '# %s versions, and %s generations\n' "$(cat changes)" $(($(generation) - before))
	[ $(($(generation) - before)) -le "$(cat changes)" ] || fail "more generations than versions"
	[ $status = 0 ] || fail "$(tail -n 3 week week.err; grep -v 'status [45]' log | tail -n 5)"
	grep 'nothing was loaded' log | grep -v 'status [45]' | sed 's/^/# /'
}

# Its state on an ext4 of its own, where the kernel counts what comes to the device: BANS of them, each by a command of its own and
# ended by the service, and a day of four lists that each change once, with 10,000 entries, beside counters, history and events.
a_day_on_flash() {
	local bans=${XDP_BLOOM_BANS:?} n at of_bans of_day

	need mkfs.ext4
	export XDP_BLOOM_FEEDS=${XDP_BLOOM_FEEDS:-4} XDP_BLOOM_ENTRIES=${XDP_BLOOM_ENTRIES:-10000} XDP_BLOOM_DAYS=1
	truncate -s 512M flash
	mkfs.ext4 -q flash
	device=$(losetup -f --show flash) || skip "this kernel has no loop devices"
	mkdir -p "$XDP_BLOOM_STATE"
	trap 'stop_jobs; umount "$XDP_BLOOM_STATE"; losetup -d "$device"' EXIT
	mount -o noatime "$device" "$XDP_BLOOM_STATE" || skip "this kernel has no ext4"
	veth 0
	bloom attach edge0
	read -ra at < <(written "$device")
	for ((n = 0; n < bans; n++)); do
		bloom add "198.51.$((100 + n / 250)).$((n % 250))" --ttl 1h
	done
	read -ra of_bans < <(written "$device")
	a_week
	read -ra of_day < <(written "$device")
	for n in 0 1 2; do
		of_day[n]=$((of_day[n] - of_bans[n])) of_bans[n]=$(((of_bans[n] - at[n]) / bans))
	done
	printf '# a ban: %d writes, %d KB, %d flushes; a day of four lists: %d writes, %d KB, %d flushes\n' "${of_bans[@]}" "${of_day[@]}"
	is "$(get length bans)" 0 "bans that the day has not ended"
	((of_bans[0] <= 8 && of_bans[1] <= 160 && of_bans[2] <= 4)) || fail "more than a ban may write"
	((of_day[0] <= 1000 && of_day[1] <= 32768 && of_day[2] <= 600)) || fail "more than a day may write"
}

# written DEVICE: how many writes came to it, how many KB, how many flushes.
written() {
	sync
	awk '{ print $5, int($7 / 2), $16 }' "/sys/block/${1##*/}/stat"
}

all_fresh() {
	[ "$(get '[.[] | select(.state == "fresh")] | length' feeds)" = "$1" ]
}

too_old_keep() { too_old keep drop old; }
too_old_shadow() { too_old shadow pass shadow; }
too_old_drop() { too_old drop pass dropped; }

run_cases not_come_yet "grows_old_elsewhere feed" "grows_old_elsewhere file" by_command in_part undoes_nothing sets_nothing goes_back ages_on_trial compared drops refuses signed_again its_server too_old_keep too_old_shadow too_old_drop not_by_its_server too_old_stays other_scope by_lines by_service is_shown costs_nothing one_at_a_time by_socket a_week ${XDP_BLOOM_BANS:+a_day_on_flash}
