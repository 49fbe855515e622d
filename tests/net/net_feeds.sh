#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service and the files that lists come from: every new version is taken, however it comes, and none that is not whole.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

# A new version of a file, in all the ways there are; and by_hand: of a list that is in no config.
reloads() {
	local -a rows=()

	[ "$1" != rows ] || rows=(--where 'kind=a\, \\b "c"')
	prepare
	mv list list.1
	sed 's/192.0.2.7/198.51.100.1/' list.1 >list.2
	mkdir data
	[ "$1" != rows ] || sed -i 's/.*/&,"a, \\b ""c"""/; 1i net,kind\n198.51.100.99,b' list.1 list.2
	case $1 in
	link) ln -s list.1 list ;;
	behind_link) mv list.1 data && ln -s data/list.1 list ;;
	*) mv list.1 list ;;
	esac
	if [ "$1" = by_hand ] || [ "$1" = rows ]; then
		: >conf
		bloom load bad ./list "${rows[@]}"
		bloom attach edge0
	fi
	[ "$1" != behind_options ] || sed -i '1i run --rotate-every 0' conf
	ready
	send 0 -b banned -c clean
	case $1 in
	renamed) mv list.2 list ;;
	link) ln -sfn list.2 list ;;
	behind_link) cat list.2 >data/list.1 ;;
	*) cat list.2 >list ;;
	esac
	turned
	stop
}

# A new version that comes with its directory; then one in that directory, which was not looked at before.
changes_directory() {
	local file

	prepare
	mkdir -p feeds/old feeds/new
	sed 's/192.0.2.7/198.51.100.1/' list >feeds/new/list
	mv list feeds/old
	ln -s feeds/old current
	case $1 in
	turned) file=current/list ;;
	*) file=feeds/old/list ;;
	esac
	if [ "${2:-}" = by_hand ]; then
		: >conf
		bloom load bad "$file"
		bloom attach edge0
	else
		sed -i "s|$WORK/list|$WORK/$file|" conf
	fi
	ready
	send 0 -b banned -c clean
	case $1 in
	turned) ln -sfn feeds/new current ;;
	renamed) mv feeds/old feeds/older && mv feeds/new feeds/old ;;
	above) cp -r feeds other && mv other/new/list other/old && mv feeds gone && mv other feeds ;;
	again) cp feeds/new/list new && rm -r feeds && mkdir -p feeds/old && cat new >feeds/old/list ;;
	esac
	turned
	echo 192.0.2.8 >>"$file"
	heard "$log" "load bad: done"
	echo 192.0.2.8 >>banned
	send 0 -b banned -c clean
	stop
}

# A list whose first version comes when the service is there already.
comes_later() {
	prepare
	mv list feeds.list
	sed -i "s|$WORK/list|$WORK/feeds/list|" conf
	ready
	mkdir feeds
	mv feeds.list feeds/list
	heard "$log" "line 2: done"
	send 0 -b banned -c clean
	stop
}

# What went back unconfirmed is not taken again, and the file before it is the one to follow.
goes_back() {
	prepare
	: >conf
	bloom load bad list
	bloom attach edge0
	ready
	sed 's/192.0.2.7/192.0.2.8/' list >other
	asleep unwatched load bad other
	heard "$log" "what ran out of time: done"
	send 0 -b banned -c clean
	sed -i 's/192.0.2.7/198.51.100.1/' list
	turned
	stop
}

# A file that is still being written is no version yet, whichever way it is asked for: the part that is there would
# pass the guards.
waits_for_the_end() {
	prepare
	ready
	rm list
	exec {slow}>list
	printf '%s\n' 198.51.100.1 203.0.113.0/24 >&"$slow"
	kill -HUP "$service_pid"
	heard "$log" "list is being written; nothing was loaded"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	send 0 -b banned -c clean
	echo 2001:db8::7 >&"$slow"
	exec {slow}>&-
	turned
	stop
}

# A pipe without a writer keeps no other list waiting.
no_pipes() {
	prepare
	ready
	rm list
	mkfifo list
	kill -HUP "$service_pid"
	heard "$log" "list: not a regular file; nothing was loaded"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	bloom add 192.0.2.6 --ttl 1s
	heard "$log" "what ran out of time: done"
	send 0 -b banned -c clean
	stop
}

# A version that is damaged, and one that is too different: the one before stays in force, and it is said.
keeps_what_it_has() {
	prepare
	ready
	echo 192.0.2.300 >>list
	heard "$log" "list:4: '192.0.2.300'"
	send 0 -b banned -c clean
	echo 2001:db8:1::/48 >list
	heard "$log" "list 'bad': it lost 100 % of its IPv4 addresses"
	send 0 -b banned -c clean
	sed '$a 2000::/3' list >list.2
	mv list.2 list
	heard "$log" "list 'bad': it bans 100 % of all IPv6 addresses"
	send 0 -b banned -c clean
	rm list
	printf '%s\n' 198.51.100.1 2001:db8::7 203.0.113.0/24 >list.2
	mv list.2 list
	turned
	stop
}

run_cases "reloads written" "reloads renamed" "reloads link" "reloads behind_link" "reloads by_hand" "reloads rows" "reloads behind_options" \
	"changes_directory turned" "changes_directory turned by_hand" "changes_directory renamed" "changes_directory above" \
	"changes_directory again" comes_later goes_back waits_for_the_end no_pipes keeps_what_it_has
