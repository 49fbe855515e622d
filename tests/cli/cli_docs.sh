#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The man pages, the help text and the completions say the same as the command; the examples are run.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
promises=$(realpath "$(dirname "$0")/contract.py")
no_kernel='clean|names|contract|promised|complete_|asked_for_help|same_options|help_fits'
sandbox "$@"
# shellcheck source=../support/screen.sh
. "$here/screen.sh"
# shellcheck source=../support/recipe.sh
. "$here/recipe.sh"

need_sources
man8=$top/docs/xdp-bloom.8
man5=$top/docs/xdp-bloom.conf.5

# in_path: xdp-bloom is where a user has it.
in_path() {
	mkdir -p bin
	ln -sf "$XDP_BLOOM" bin/xdp-bloom
	PATH=$WORK/bin:$PATH
}

# called NAME: edge0 is called so.
called() {
	veth 0
	ip link set edge0 down
	ip link set edge0 name "$1"
	ip link set "$1" up
}

verbs() {
	"$XDP_BLOOM" --list-options | grep -v '^-' | sort
}

# list VERB: its long options, with those that every verb takes.
list() {
	"$XDP_BLOOM" --list-options "$1" | sed -n 's/^--\([a-z0-9-]*\).*/\1/p'
}

options() {
	for verb in $(verbs); do
		list "$verb"
	done | sort -u
}

clean() {
	need mandoc
	# Pages that there are, but perhaps not on this machine.
	is "$(mandoc -T lint "$man8" "$man5" 2>/dev/null | grep -vE 'mandoc.db|Xr (xdp-bloom|bpftool 8|ip-link 8|ipset 8|nft 8)')" \
		"" "what mandoc finds"
}

# paged VERB: the options that stand under it in the man page; helped VERB: in its help. Long ones, one a line.
paged() {
	awk -v verb="$1" '
		/^\.Sh/ { at = "" }
		/^\.It Cm / { at = $3 }
		/^\.It Fl / && at == verb { while (match($0, / -[a-z][a-z0-9-]*/)) {
			print substr($0, RSTART + 2, RLENGTH - 2)
			$0 = substr($0, RSTART + RLENGTH)
		} }' "$man8" | sort -u
}

helped() {
	"$XDP_BLOOM" help "$@" | sed '/^      --/s/, --/\n      --/g' | sed -nE 's/^  (-., |    )--([a-z0-9-]+).*/\2/p' | sort -u
}

# Help, man page, completion and table: one set of options. The table is what the command takes.
same_options() {
	local verb option

	helped | grep -vx version >common
	is "$(sed -n '/^\.Sh OPTIONS/,/^\.Sh FORMATS/s/^\.It Fl \(. , \)*-\([a-z]*\).*/\2/p' "$man8" | grep -v version | sort)" \
		"$(cat common)" "the options of all verbs in the man page"
	for verb in $(verbs); do
		list "$verb" | sort -u | comm -23 - common >own
		is "$(helped "$verb")" "$(cat own)" "the options in the help of $verb"
		is "$(paged "$verb")" "$(cat own)" "the options under $verb in the man page"
		while read -r option; do
			"$XDP_BLOOM" --check "$verb" "--$option=" &>err
			! grep -q 'unknown option' err || fail "$verb does not take --$option: $(cat err)"
		done <own
	done
}

# On a terminal of 24 lines, with what it is asked by, and of 80 columns.
help_fits() {
	local verb

	expect 2 "$XDP_BLOOM"
	one_line "which verb?"
	cp out alone
	bloom --help
	is "$(cat out)" "$(cat alone)" "what help says, and the command alone"
	for verb in $(verbs); do
		grep -qw -- "$verb" alone || fail "no '$verb' in the help"
		"$XDP_BLOOM" help "$verb" >"help $verb"
		grep -c '^  xdp-bloom ' "help $verb" | grep -qx 2 || fail "no two examples of $verb"
	done
	for verb in alone help\ *; do
		[ "$(wc -l <"$verb")" -le 23 ] || fail "$verb has $(wc -l <"$verb") lines"
		[ "$(wc -L <"$verb")" -le 79 ] || fail "$verb is $(wc -L <"$verb") wide"
	done
}

# Every verb, every option, and none that does not exist.
complete_pages() {
	local verb option

	for verb in $(verbs); do
		grep -qE "^\.It (.*, )?Cm $verb( |$)" "$man8" || fail "no '$verb' in the man page"
	done
	sed -n '/^\.Sh VERBS/,/^\.Sh OPTIONS/s/^\.It Cm \([a-z]*\).*/\1/p' "$man8" | sort -u >in_page
	is "$(verbs | comm -13 - in_page)" "" "the verbs that only the man page has"
	for option in $(options); do
		[ "$option" != write ] || continue # -w is there
		grep -qE -e "(Fl|,) -$option( |$)" "$man8" "$man5" || fail "no '--$option' in the man pages"
	done
	grep -hoE 'Fl -[a-z][a-z-]+' "$man8" "$man5" | sed 's/Fl -//' | sort -u >in_page
	is "$(options | comm -13 - in_page | grep -vx 'help\|version')" "" "the options that only the man pages have"
}

# offered WORD...: what the completion offers for the last.
offered() {
	bash -c 'source "$1" && shift
		COMP_WORDS=(./xdp-bloom "$@") COMP_CWORD=$#
		_xdp_bloom
		printf "%s\n" "${COMPREPLY[@]}"' - "$top/packaging/completions/xdp-bloom.bash" "$@" | sort -u
}

complete_completions() {
	local verb

	need bash
	ln -s "$XDP_BLOOM" xdp-bloom
	is "$(offered '' | grep -v '^-')" "$(verbs)" "the verbs that are offered"
	for verb in $(verbs); do
		is "$(offered "$verb" -- | sed 's/^--//')" "$(list "$verb" | sort -u)" "the options that are offered for $verb"
	done
	is "$(offered load a b --bogons '' | xargs)" "keep refuse" "what --bogons takes"
	is "$(offered load a b --bogons = ke)" keep "what is offered behind --bogons=ke, which is three words to bash"
	is "$(offered load a b --bogons = | xargs)" "keep refuse" "what is offered behind --bogons="
	is "$(offered detect limit syn --then '' | xargs)" "ban police watch" "what --then takes"
	is "$(offered detect limit syn 5/s --on lo)" lo "which interfaces --on takes"
	is "$(offered detect room --pps '' | xargs)" default "what --pps takes"
	is "$(offered -S capture watch --co)" --count "what watch takes, behind a directory called capture"
	is "$(offered help lo)" load "what help takes"
}

# A name is chosen by others: it is offered as it is, and never run.
complete_hostile_names() {
	need bash
	cat >fake <<-'end'
		#!/bin/sh
		case "$*" in
		"--list-options unload") printf '\t<list>\n' ;;
		--list-options) echo unload ;;
		*) echo '{"name":"$(>ran)"},{"name":"`>ran`"},{"name":"*"}' ;;
		esac
	end
	chmod +x fake
	ln -sf fake xdp-bloom
	# shellcheck disable=SC2016
	is "$(offered unload '' | xargs -d '\n')" '$(>ran) * `>ran`' "the names that are offered"
	[ ! -e ran ] || fail "a name was run"
}

# Help is given wherever the word stands, but not where it is an option's value.
asked_for_help() {
	is "$("$XDP_BLOOM" -j help load)" "$("$XDP_BLOOM" load --help)" "what help says behind an option"
	is "$("$XDP_BLOOM" -S . help)" "$("$XDP_BLOOM" --help)" "what help says behind an option and its value"
	expect 2 "$XDP_BLOOM" help nosuch
	expect 2 "$XDP_BLOOM" nosuch --help
	bloom --check add 192.0.2.1 --reason -h
	is "$(cat out)" "" "what add says whose reason is -h"
}

# beginnings WHOLE BEGINNING...: what is made of them, when each ends with a Tab.
beginnings() {
	local whole=$1 word

	shift
	types C-u "xdp-bloom "
	for word; do
		types "$word"
		types Tab
	done
	shows "^$whole *\$"
}

# In the shell itself, with the files where they are installed.
completed() {
	need "$1"
	in_path
	mkdir -p share/bash-completion/completions share/zsh/site-functions
	cp "$top/packaging/completions/xdp-bloom.bash" share/bash-completion/completions/xdp-bloom
	cp "$top/packaging/completions/_xdp-bloom" share/zsh/site-functions
	filtering attackers
	terminal 80x24
	if [ "$1" = zsh ]; then
		types "exec zsh -f" Enter
		types "PS1= fpath=($PWD/share/zsh/site-functions \$fpath)" Enter
		types 'autoload -U compinit && compinit -D -u && clear && echo ready' Enter
	else
		types '. share/bash-completion/completions/xdp-bloom && clear && echo ready' Enter
	fi
	shows '^ready'
	beginnings 'xdp-bloom report --last minute' repo --la mi
	beginnings 'xdp-bloom unload attackers' unl att
	beginnings 'xdp-bloom -q detach edge0' '-q deta' edg
	beginnings 'xdp-bloom load bad banned --format ipset' 'loa' 'bad ban' '--form' ips
	beginnings 'xdp-bloom image make' ima mak
}

# Each line of the tables in SECURITY.md names a test, or a case of one, that there is.
contract() {
	local script case

	while IFS=: read -r script case; do
		compgen -G "$top/tests/*/$script.*" >/dev/null || fail "SECURITY.md: there is no test $script"
		[ -z "$case" ] || grep -q "^$case() {" "$top"/tests/*/"$script.sh" || fail "SECURITY.md: $script has no case $case"
	done < <(sed -n "/^## Who may attack/,/^## What is not/s/.*| \(\`.*\`\) |$/\1/p" "$top/SECURITY.md" | tr ',' '\n' | tr -d ' `')
}

# What docs/contract.md says that others may rely on is in the sources, and there is no more of it.
promised() {
	expect 0 "$promises" "$top"
	grep -q members out || fail "nothing was compared"
}

# In their order, in one sandbox, with the files that they name.
examples() {
	local line

	in_path
	printf '#!/bin/sh\necho create blocked hash:ip\necho add blocked 192.0.2.99\n' >bin/ipset
	chmod +x bin/ipset
	called eth0
	printf '203.0.113.0/24\n198.51.100.1\n' >drop.txt
	printf '203.0.113.0/24\n198.51.100.2\n' >drop-new.txt
	printf 'first,ip\n2026-01-01,192.0.2.66\n' >feed.csv
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >minute.pcap
	sed -n 's/^\.Dl # //p' "$man8" >examples
	is "$(wc -l <examples)" "$(grep -c '^\.D1\|^\.Dl\|^\.Bd' "$man8")" "the number of examples that can be run"
	# One that reads standard input must not have the next for it.
	while read -r line <&3; do
		expect 0 bash -o pipefail -c "$line" </dev/null
		echo "$line" >>run
	done 3<examples
	is "$(cat run)" "$(cat examples)" "the examples that were run"
	ip link del eth0
}

# Each example of each verb's help, where what it is about is there, and what it makes is not.
help_examples() {
	local verb line there='' n=0

	in_path
	called eth0
	mkdir conf
	mount --bind conf /etc
	a_list
	printf '203.0.113.0/24\n198.51.100.1\n' >drop.txt
	printf '203.0.113.0/24\n198.51.100.2\n' >drop-new.txt
	printf 'first,ip\n2026-01-01,192.0.2.66\n' >feed.csv
	printf '203.0.113.8\n203.0.113.9\n' >addresses.txt
	printf '+198.51.100.8 1h tries\n-198.51.100.8\n' >new-bans.txt
	printf 'add 198.51.100.7\ndel 198.51.100.9\n' >changes.txt
	printf 'load drop %s\n' "$PWD/drop.txt" >/etc/xdp-bloom.conf
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >minute.pcap
	after_example "xdp-bloom run --listen 127.0.0.1:9617" # so that there is a history
	for verb in $(verbs); do
		"$XDP_BLOOM" help "$verb" | sed -n 's/^  xdp-bloom /xdp-bloom /p' >examples
		while read -r line <&3; do
			before_example "$line"
			after_example "$line"
			n=$((n + 1))
		done 3<examples
	done
	umount /etc
	is "$n" "$(($(verbs | wc -l) * 2))" "the number of examples"
	ip link del eth0
}

# What an example is about: the state, what is pinned, and the image. One that only looked leaves it to the next.
is_there() {
	find "$XDP_BLOOM_STATE/state.db" "$XDP_BLOOM_STATE/state.db-wal" drop.image -printf '%p %i %T@\n' 2>&1
	find "$XDP_BLOOM_BPFFS" -printf '%p %i\n'
}

before_example() {
	[[ $1 != *\ attach* && $1 != *\ confirm* && $(is_there) == "${there:-}" ]] || prepare_example "$1"
}

prepare_example() {
	bloom detach --all
	bloom flush
	bloom load drop drop.txt
	bloom load feed feed.csv --shadow
	bloom add 198.51.100.9 --reason 'login failures'
	bloom allow 203.0.113.1
	[[ $1 == *\ attach* ]] || bloom attach eth0
	bloom image make drop.image drop.txt
	[ "$1" != "xdp-bloom confirm" ] || bloom load drop drop-new.txt --confirm 60s
	there=
	[[ $1 == *\ attach* || $1 == *\ confirm* ]] || there=$(is_there)
}

# It ends with 0; what goes on until it is stopped does so then.
after_example() {
	local pid

	case $1 in
	*--listen* | *--follow* | *\ announce\ *)
		rm -f out
		ip link set lo up
		bash -c "exec $1 --verbose" >out 2>&1 </dev/null &
		pid=$!
		wait_until "that it says something: $1" test -s out
		kill -TERM $pid
		end_of $pid || true
		! grep -q '^xdp-bloom: .*unknown' out || fail "$1: $(cat out)"
		;;
	*\ top | *\ top\ --passed) expect 2 bash -c "$1" </dev/null ;; # it wants a terminal
	*) expect 0 bash -o pipefail -c "$1" </dev/null ;;
	esac
}

# What the page of the config file shows is a config file.
config() {
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$man5" | grep -v '^\.' | sed "s|/var/lib/feeds|$PWD|" >example.conf
	echo 203.0.113.0/24 >drop.txt
	printf '2026-01-01,192.0.2.66\n' >feed.csv
	veth 0
	sed -i 's/eth0/edge0/' example.conf
	bloom run --check --config example.conf
}

router() {
	in_path
	called wan
	a_list
	recipe 'A router' | sed "s|/etc/drop.txt|$PWD/list|" >router
	expect 0 bash -e router
	is "$(get '[.interfaces[].name]' show) $(get '[.[]|.name,.addresses]' lists)" '["wan"] ["(allow)","65536","drop","258"]' "what there is"
	bloom test 203.0.113.9
	ip link del wan
}

sets() {
	need ipset nft
	ipset create blocked hash:net timeout 600 counters comment 2>/dev/null || skip "the kernel has no ipset (CONFIG_IP_SET)"
	ipset add blocked 203.0.113.0/24 comment "it's 198.51.100.1"
	ipset add blocked 192.0.2.7 timeout 10
	nft -f - <<-'NFT' || skip "the kernel has no nftables (CONFIG_NF_TABLES)"
		table inet filter {
			set blocked {
				type ipv4_addr
				flags interval, timeout
				elements = { 203.0.113.0/24, 198.51.100.4-198.51.100.7 timeout 1h }
			}
		}
	NFT
	in_path
	called eth0
	recipe 'From ipset' >ipset.sh
	expect 0 bash -e -o pipefail ipset.sh
	is "$(get '[.[]|.name,.addresses]' lists)" '["blocked","257"]' "the list from ipset"
	recipe 'From nftables' >nft.sh
	expect 0 bash -e -o pipefail nft.sh
	is "$(get '[.[]|.name,.addresses]' lists)" '["blocked","260"]' "the list from nft"
	ip link del eth0
}

textfile() {
	in_path
	a_list
	bloom load bad list
	recipe 'Prometheus and Grafana' | sed -n "s|/var/lib/node_exporter|$PWD|g; /^xdp-bloom metrics/,/^mv/p" >textfile
	[ -s textfile ] || fail "no such lines"
	expect 0 bash -e textfile
	grep -q '^xdp_bloom_list_prefixes{list="bad",kind="ban"} 3$' xdp-bloom.prom || fail "$(cat xdp-bloom.prom)"
}

# The week that the page describes, but for the two that look for so long.
detector_page() {
	local line n=0

	in_path
	called eth1
	echo 192.0.2.9 >partners.txt
	while read -r line; do
		line=${line/--for 10m/--for 1s}
		[[ $line == *' detect top' ]] || expect 0 bash -c "$line" </dev/null
		n=$((n + 1))
	done < <(sed -n 's/^    //p' "$top/docs/detector.md")
	[ $n -ge 15 ] || fail "only $n commands"
	is "$(get '[.limits.syn.rate, .limits.packets.then, .networks] | map(if type == "number" then floor else . end) | join(" ")' detect)" "500 ban 8" \
		"what the page comes to"
	is "$(get '.proven' detect proven)" '["eth1"]' "what is proven"
	ip link del eth1
}

# With the programs that hand something over played by others.
recipes() {
	local ip action how

	in_path
	for ip in 192.0.2.66 2001:db8::66; do
		sh -e -c "$(recipe fail2ban | sed -n "s/^actionban *= //p" | sed "s/<ip>/$ip/; s/<bantime>/600/; s/<name>/sshd/")" || fail "actionban"
		is "$(get '[.[]|.prefix,.reason,.seconds_left>590]' bans)" "[\"$ip\",\"fail2ban sshd\",true]" "the ban"
		# bantime.increment: whoever comes back is banned for the usual time, and then told to be for longer.
		is "$(recipe fail2ban | sed -n "s/^actionprolong *= //p")" "%(actionban)s" "what makes it longer"
		sh -e -c "$(recipe fail2ban | sed -n "s/^actionban *= //p" | sed "s/<ip>/$ip/; s/<bantime>/6000/; s/<name>/sshd/")" || fail "actionprolong"
		is "$(get '[.[]|.seconds_left>5990]' bans)" "[true]" "that it is longer"
		for _ in first again; do
			sh -e -c "$(recipe fail2ban | sed -n "s/^actionunban *= //p" | sed "s/<ip>/$ip/; s/<name>/sshd/")" 2>/dev/null || fail "actionunban"
		done
		is "$(get length bans)" 0 "the bans"
	done
	# A ban made by another command outlives it, whichever was first.
	for how in "" "--ttl 30d" "--reason mine"; do
		sh -e -c "$(recipe fail2ban | sed -n "s/^actionban *= //p" |
			sed "s/<ip>/192.0.2.66/; s/<bantime>/600/; s/<name>/sshd/")" || fail "actionban"
		# shellcheck disable=SC2086 # words
		bloom add 192.0.2.66 $how
		one_line "192.0.2.66 was banned for 'fail2ban sshd': this ban ends later, and that reason is gone"
		sh -e -c "$(recipe fail2ban | sed -n "s/^actionunban *= //p" | sed "s/<ip>/192.0.2.66/; s/<name>/sshd/")" 2>/dev/null ||
			fail "actionunban"
		verdicts 192.0.2.66=drop
		bloom del 192.0.2.66
	done
	bloom add 192.0.2.66 --reason 'never again'
	for action in actionban actionunban; do
		sh -e -c "$(recipe fail2ban | sed -n "s/^$action *= //p" |
			sed "s/<ip>/192.0.2.66/; s/<bantime>/600/; s/<name>/sshd/")" 2>/dev/null || fail "$action"
		is "$(get '[.[]|.expires,.reason]' bans)" '[null,"never again"]' "the ban after $action"
	done
	printf '%s\n' '#!/bin/sh' 'cat decisions || exit 1' >bin/cscli
	chmod +x bin/cscli
	recipe CrowdSec | sed "s|/run/|$WORK/|" >crowdsec
	cat >decisions <<-'JSON'
		[{"decisions":[{"origin":"crowdsec","scope":"Ip","type":"ban","value":"192.0.2.7"},
		{"scope":"Range","value":"203.0.113.0/24"},{"scope":"Country","value":"XX"}],
		"events":[{"meta":[{"key":"source_ip","value":"198.51.100.1"}]}],
		"source":{"ip":"192.0.2.7","range":"192.0.0.0/16","scope":"Ip","value":"192.0.2.7"}}]
	JSON
	sh -e crowdsec 2>err || fail "CrowdSec: $(cat err)"
	is "$(get '[.[]|.name,.addresses]' lists)" '["crowdsec","257"]' "the list"
	mv decisions away
	! sh -e crowdsec 2>/dev/null || fail "CrowdSec, without cscli"
	is "$(get '[.[]|.addresses]' lists)" '["257"]' "the list after cscli failed"
	echo null >decisions
	sh -e crowdsec || fail "CrowdSec, no decision"
	is "$(get '[.[]|.addresses]' lists)" '["0"]' "the list of no decision"
}

# Every function and file that design.md names is there.
names() {
	local name

	while read -r name; do
		grep -rqE "\b$name\(" "$top/user" "$top/bpf" || fail "there is no $name()"
	done < <(grep -oE "\`[a-z_0-9]+\(\)\`" "$top/docs/design.md" | tr -d "\`()" | sort -u)
	while read -r name; do
		[ -e "$top/$name" ] || [ -e "$top/user/$name" ] || fail "there is no $name"
	done < <(grep -oE "\`[a-z]+/[a-zA-Z_0-9./-]+\`" "$top/docs/design.md" | tr -d "\`" | sort -u)
}

run_cases clean names contract promised same_options help_fits complete_pages complete_completions complete_hostile_names asked_for_help "completed bash" "completed zsh" examples help_examples config recipes detector_page router sets textfile
