#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service's config file: what may stand in it, and that it is taken up as a whole or not at all.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# shellcheck source=../support/service.sh
. "$here/service.sh"

reads_config_again() {
	prepare
	ready
	echo "allow 203.0.113.9" >>conf
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	sed -i '$d' banned
	echo 203.0.113.9 >>clean
	send 0 -b banned -c clean
	echo "allow 203.0.113.8 --nonsense" >>conf
	kill -HUP "$service_pid"
	heard "$log" "conf:5: allow: unknown option '--nonsense'"
	heard "$notes" READY=1
	send 0 -b banned -c clean
	stop
}

# A file with a mistake is not taken up in part: not its run lines either, which stand before the mistake.
keeps_its_own_settings() {
	local which

	prepare
	mkfifo called
	exec {calls}<>called
	for which in old new; do
		# shellcheck disable=SC2016 # the hook's own
		printf '#!/bin/sh\necho "%s $XDP_BLOOM_EVENT" >>%s\n' $which "$WORK/called" >$which
		chmod +x $which
	done
	cp conf new_conf
	echo "run --hook '$WORK/old' --rotate-every 0" >>conf
	ready
	printf '%s\n' "run --hook '$WORK/new' --rotate-every 1s" "allow 203.0.113.8 --nonsense" >>new_conf
	cat new_conf >conf
	kill -HUP "$service_pid"
	heard "$log" "unknown option '--nonsense'"
	heard "$notes" READY=1
	bloom add 192.0.2.6
	heard "$calls" "old"
	sed -i '$d' conf
	echo "run --listen 9753" >>conf
	kill -HUP "$service_pid"
	heard "$log" "another --listen is taken up at the next start"
	heard "$calls" "new rotate"
	stop
}

# The socket, and who may ask, are those of the start: what would be another is said, each time.
listens_as_at_the_start() {
	local token option

	prepare
	for token in one two; do
		printf '%032d\n' "${#token}$RANDOM" >$token
		chmod 600 $token
	done
	cp conf plain
	echo "run --listen 9754 --listen-token $WORK/one" >>conf
	ready
	for option in "--listen 9755" "--host filter.example" "--listen-token $WORK/two"; do
		{
			cat plain
			echo "run --listen 9754 --listen-token $WORK/one"
			echo "run $option"
		} >conf
		kill -HUP "$service_pid"
		heard "$log" "another ${option%% *} is taken up at the next start: systemctl restart xdp-bloom"
		heard "$notes" READY=1
	done
	{
		cat plain
		echo "run --listen 9754 --listen-token $WORK/one --page"
	} >conf
	printf '%032d\n' 77 >one
	kill -HUP "$service_pid"
	heard "$log" "another token in $WORK/one is taken up at the next start"
	heard "$log" "the new --page is taken up at the next start"
	stop
}

# It hears what happens from then on.
names_a_hook() {
	prepare
	mkfifo called
	exec {calls}<>called
	# shellcheck disable=SC2016 # the hook's own
	printf '#!/bin/sh\necho "$XDP_BLOOM_MESSAGE" >>%s\n' "$WORK/called" >hook
	chmod +x hook
	ready
	bloom add 192.0.2.65
	echo "run --hook '$WORK/hook'" >>conf
	kill -HUP "$service_pid"
	heard "$notes" RELOADING=1
	heard "$notes" READY=1
	bloom add 192.0.2.66
	heard "$calls" 192.0.2.66
	! grep -F 192.0.2.65 unheard || fail "it was told what happened before"
	stop
}

checks_config() {
	local before line words

	prepare
	bloom run --check --config conf
	is "$(cat out)" "conf: 2 commands, all right" "what --check says"
	if [ ! -e /etc/xdp-bloom.conf ]; then
		bloom run --check
		is "$(cat out)" "/etc/xdp-bloom.conf: there is none, and none is needed" "what --check says without a file"
	fi
	before=$(snapshot)
	mkfifo pipe
	expect 2 timeout 30 "$XDP_BLOOM" run --check --config pipe
	one_line "pipe: not a regular file"
	while IFS='|' read -r line words; do
		cp conf wrong
		echo "$line" >>wrong
		expect 2 timeout 30 "$XDP_BLOOM" run --check --config wrong
		one_line "wrong:4: $words"
		is "$(snapshot)" "$before" "what is loaded after '$line'"
	done <<-'LINES'
		load other '/nowhere'|/nowhere: No such file or directory
		load other conf|conf:2: 'load bad
		load other|load: a name and a file
		load "no name" conf|load: 'no name'
		attach edge0 --mode fast|--mode is auto, native, skb or tc
		allow 192.0.2.0/33|allow: '192.0.2.0/33'
		tune --headroom much|--headroom takes a number
		run --rotate-every never|--rotate-every takes a time
		run --config other|run: --config cannot stand
		run --check|--check stands on the command line
		run -S /elsewhere|--state stands on the command line
		attach edge0 -B /elsewhere|--bpffs stands on the command line
		allow 192.0.2.1 --wait 1|--wait stands on the command line
		load other -|'-': a line of a file of commands reads no standard input
		add 192.0.2.1|'add' cannot stand in a config file
		load other pipe|pipe: not a regular file
		load --skip-bad bad other|list 'bad' is loaded by a line before
		load --image conf|'load --image' cannot stand in a config file
		flush|'flush' cannot stand in a config file
		nonsense|'nonsense' cannot stand in a config file
		attach 'edge0|a quote is not closed
	LINES
	printf '%s\n' 'allow 192.0.2.0/33' 'tune --fpr 2' >wrong
	expect 2 "$XDP_BLOOM" run --check --config wrong
	is "$(wc -l <err)" 2 "the number of faults"
	sed -i 2d wrong
	# What is wrong in the words is refused before anything is touched; what is wrong in a file is said, and left.
	refused "wrong:1: allow: '192.0.2.0/33'" run --config wrong --check=words
	refused "nowhere: No such file" run --config nowhere
}

# What would only be found when it is too late.
checks_what_is_named() {
	echo 192.0.2.1 >list
	echo "load drop $WORK/list" >conf
	refused "run: --hook: $WORK/hook: No such file" run --check --config conf --hook "$WORK/hook"
	touch hook
	refused "run: --hook: $WORK/hook: Permission denied" run --check --config conf --hook "$WORK/hook"
	chmod +x hook
	bloom run --check --config conf --hook "$WORK/hook"
	bloom run --check=words --config conf --hook "$WORK/nosuch"
	chmod 000 list
	refused "conf:1: $WORK/list: nobody may read it" run --check --config conf
	chmod 600 list
	echo 'attach "eth 0"' >conf
	refused "conf:1: 'eth 0' can be no interface's name" run --check --config conf
	echo 'attach averylonginterface' >conf
	refused "conf:1: 'averylonginterface' can be no interface's name" run --check --config conf
	echo 'attach edge9' >conf
	bloom run --check --config conf
}

run_cases reads_config_again keeps_its_own_settings listens_as_at_the_start names_a_hook checks_config checks_what_is_named
