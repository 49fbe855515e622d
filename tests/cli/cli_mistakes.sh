#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Mistakes that people really make: each line of mistakes.txt is a command, and behind ==> words of its answer. For each
# of them one line on standard error, nothing on standard output, the status 2, and nothing changed. Whoever stumbles adds
# a line.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need strace

# --- What the lines run ----------------------------------------------------------------------------------------------------

xdp-bloom() {
	timeout -s KILL $((3 * patience)) "$XDP_BLOOM" "$@"
}

# Without sudo.
nobody() {
	without_rights timeout -s KILL $((3 * patience)) "$WORK/bin/xdp-bloom" "$@"
}

# In another network namespace, where no interface of ours is.
elsewhere() {
	unshare --net "$XDP_BLOOM" "$@"
}

# kernel_says ERROR ARGS...: on a kernel whose bpf() ends with that.
kernel_says() {
	local error=$1

	shift
	strace -f -o /dev/null -e trace=bpf -e inject=bpf:error="$error" "$XDP_BLOOM" "$@"
}

# --- Where they run ----------------------------------------------------------------------------------------------------

prepare() {
	veth 0 1
	# Of a kind whose packets nobody here can read. A kernel without it has one mistake less.
	ip link add edge2 type vxlan dstport 4790 gpe external 2>/dev/null
	ip addr add 45.0.0.1/24 dev edge0
	mkdir bin small fixed nobody
	cp "$XDP_BLOOM" bin
	chmod 755 "$WORK"
	printf '192.0.2.7\n198.51.100.0/29\n' >good.txt
	echo 203.0.113.0/24 >drop.txt
	printf 'first,ip\n2026-01-01,192.0.2.66\n' >feed.csv
	echo '<!DOCTYPE html><html><head><title>404</title></head><body>Not found</body></html>' >page.html
	printf 'example.com\nexample.org\n' >names.txt
	printf '1\0009\0002\000\n\000' >utf16.txt
	printf '\xff\xfe1\0009\0002\000\n\000' >bom16.txt
	printf 'create m hash:mac\nadd m 02:00:00:00:00:01\n' >mac.ipset
	printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' >picture.png
	printf '%s\n' '*filter' ':INPUT ACCEPT [0:0]' '-A INPUT -s 192.0.2.9/32 -j DROP' COMMIT >rules.iptables
	echo 64.0.0.0/3 >wide.txt
	echo 45.0.0.1 >own.txt
	echo '{"prefixes": [{"ip_prefix": "192.0.2.0/24"' >broken.json
	echo '{"name": "x", "n": [1, 2]}' >other.json
	printf 'PK\3\4\24\0\0\0\10\0' >list.zip
	gzip -c drop.txt | head -c 20 >cut.gz
	printf 'create x\n' >commands.sh
	printf '\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\0\0\4\0\1\0\0\0' >minute.pcap
	: >empty.conf
	bloom load good good.txt
	bloom load feed feed.csv --shadow
	bloom attach edge0
	bloom add 198.51.100.9 --reason ssh
	bloom allow 203.0.113.1
	bloom image make good.image drop.txt
	trap 'stop_jobs; umount small fixed' EXIT
	mount -t tmpfs -o size=2m small small
	cp -r state small
	cat /dev/zero >small/fill 2>/dev/null
	mount -t tmpfs fixed fixed
	cp -r state fixed
	mount -o remount,ro fixed
}

# Lists, bans, exceptions, settings, what is in force, interfaces and their programs, pins, files.
everything() {
	snapshot
	for verb in bans allow tune; do
		"$XDP_BLOOM" -j $verb 2>&1
	done
	find "$XDP_BLOOM_BPFFS" . -not -path './state/*' -not -name 'state' | sort
}

# mistake COMMAND WORDS
mistake() {
	(eval "$1") >"$WORK.out" 2>"$WORK.err" </dev/null
	status=$?
	[ "$status" = 2 ] || fail "$1: ends with $status, not 2: $(head -c 500 "$WORK.err")"
	[ "$(wc -l <"$WORK.err")" = 1 ] || fail "$1: says not one line, but: $(head -c 1000 "$WORK.err")"
	grep -q '^xdp-bloom: ' "$WORK.err" || fail "$1: who speaks? $(cat "$WORK.err")"
	grep -qF -e "$2" "$WORK.err" || fail "$1: no '$2' in: $(cat "$WORK.err")"
	[ ! -s "$WORK.out" ] || fail "$1: prints: $(head -c 500 "$WORK.out")"
}

# unchanged COMMANDS
unchanged() {
	[ "$(everything)" = "$before" ] || fail "changed by one of: $1: $(diff <(echo "$before") <(everything) | head -n 6)"
}

mistakes() {
	local line before status since='' n=0

	prepare
	before=$(everything)
	while IFS= read -r line <&3; do
		[[ $line == *' ==> '* && ($line != *edge2* || -e /sys/class/net/edge2) ]] || continue
		mistake "${line%% ==> *}" "${line#* ==> }"
		since+="${line%% ==> *}; " n=$((n + 1))
		# To look takes five times as long as to make one.
		[ $((n % 8)) != 0 ] || { unchanged "$since" && since=; }
	done 3<"$here/../cli/mistakes.txt"
	unchanged "$since"
	[ $n -ge 150 ] || fail "only $n mistakes"
	echo "# $n mistakes"
}

# What is not filtered any more is nothing to mean.
who_is_gone() {
	prepare
	bloom attach edge1
	ip link del edge1
	expect 2 "$XDP_BLOOM" detach edge11
	one_line "edge11: the filter is not attached there (did you mean 'edge0'?)"
}

# While another command does something, and while the service runs.
while_others_run() {
	local before service status

	prepare
	hold_lock
	before=$(everything)
	mistake 'xdp-bloom --wait 0 add 192.0.2.9' "lock is held by process $holder"
	mistake 'xdp-bloom --wait 1s rotate' "another command has held $XDP_BLOOM_STATE/lock for 1 s: process $holder"
	unchanged "what waited"
	kill "$holder"
	wait "$holder" 2>/dev/null
	"$XDP_BLOOM" run --config empty.conf >"$WORK.log" 2>&1 &
	service=$!
	wait_until "that the service is ready" grep -qs '^ready' "$WORK.log"
	mistake 'xdp-bloom run --config empty.conf' "service.lock is held by process"
	unchanged "a second service"
	kill "$service"
	end_of "$service"
}

run_cases mistakes who_is_gone while_others_run
