#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# xdp-bloom-fetch and servers that do what servers have done (fetch.py): what it says of each, what it keeps, and what that
# costs; and what it can do besides fetching, which is nothing.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # stop and ready have arguments of their own
. "$(dirname "$0")/../support/lib.sh"
servers=$(realpath "$(dirname "$0")/fetch.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
XDP_BLOOM_FETCH=$(realpath -m "${XDP_BLOOM_FETCH:-$(dirname "$XDP_BLOOM")/xdp-bloom-fetch}")
escape=$(dirname "$TRAFFIC")/escape.so
[ -x "$XDP_BLOOM_FETCH" ] || skip_all "$XDP_BLOOM_FETCH is not built"
need openssl nsenter

other_network() {
	[ -e "/proc/$1/ns/net" ] && ! [ "/proc/$1/ns/net" -ef /proc/self/ns/net ]
}

# request NAME SUBJECT: a new key, and what is to be signed.
request() {
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/CN=$2" -out request
}

# own NAME SUBJECT EXTENSION: signed by itself.
own() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/CN=$2" -days 30 -addext "$3" -out "$1.pem"
}

# signed NAME SUBJECT FROM TO: by our own authority.
signed() {
	request "$1" "$2"
	printf subjectAltName= >names
	printf 'DNS:%s,' "$2" other.example turns.example private.example loop.example third.example feeds.dshield.org >>names
	echo DNS:own.example >>names
	openssl ca -batch -notext -config authority -in request -startdate "$3" -enddate "$4" -extfile names -out "$1.pem"
}

# Once for all cases, in a directory beside theirs.
certificates() {
	mkdir "$keys" "$keys/issued"
	cd "$keys" || exit 1
	: >index
	cat >authority <<-'END'
		[ca]
		default_ca = own
		[own]
		certificate = ca.pem
		private_key = ca.key
		database = index
		new_certs_dir = issued
		rand_serial = yes
		unique_subject = no
		default_md = sha256
		policy = any
		[any]
		commonName = supplied
	END
	{
		own ca authority basicConstraints=critical,CA:TRUE
		own self feeds.example subjectAltName=DNS:feeds.example
		signed good feeds.example 20200101000000Z 20991231000000Z
		signed wrong elsewhere.example 20200101000000Z 20991231000000Z
		signed expired feeds.example 20200101000000Z 20210101000000Z
	} >log 2>&1
	[ -s expired.pem ] || fail "no certificates: $(cat log)"
	chmod 755 .
	cd "$WORK" || exit 1
}

# And a name server for what runs in here.
names() {
	echo 'nameserver 9.9.9.3' >"$WORK.for/resolv.conf"
	echo 'hosts: files dns' >"$WORK.for/nsswitch.conf"
	mount --bind "$WORK.for/resolv.conf" "$(realpath /etc/resolv.conf)" || skip_all "cannot set a name server"
	mount --bind "$WORK.for/nsswitch.conf" /etc/nsswitch.conf || skip_all "cannot set a name server"
	# What the command trusts; libcurl may have been built to look in another place.
	trusted=/etc/ssl/certs/ca-certificates.crt
	[ ! -e $trusted ] || mount --bind "$keys/ca.pem" $trusted || skip_all "cannot set an authority"
}

# The servers are in another network; here is who asks, at 9.9.9.1. The names' server is there, too.
stage() {
	local fd line=

	veth 0
	rm -rf "$keys/heads" "$keys/files"
	unshare --net sleep infinity &
	away=$!
	wait_until "a network namespace" other_network $away
	ip link set lo up
	ip link set wire0 netns $away
	ip addr add 9.9.9.1/24 dev edge0
	ip route add 10.9.9.0/24 dev edge0
	ip route add 9.9.10.0/24 via 9.9.9.254
	# shellcheck disable=SC2016 # there
	nsenter -t $away -n bash -c 'ip link set lo up; ip link set wire0 up
		for address in 9.9.9.2 9.9.9.3 9.9.9.4 10.9.9.2; do ip addr add $address/24 dev wire0; done' || fail "no network for the servers"
	mkfifo served
	nsenter -t $away -n python3 "$servers" serve "$keys" >served 2>serve.err &
	exec {fd}<served
	read -rt "$patience" line <&"$fd"
	[ "$line" = ready ] || fail "no server: $(cat serve.err)"
}

# ask URL LINE...: the answer, in file answer.
ask() {
	python3 "$servers" ask "$XDP_BLOOM_FETCH" body "url $1" "ca $keys/ca.pem" "${@:2}" >answer 2>ask.err || fail "$1: $(cat ask.err)"
	is "$(got end)" 0 "the end of the program for $1 ($(cat ask.err))"
	# Whatever is sent, it passes through.
	[ "$(got rss)" -lt 40000 ] || [ -n "${SAN:-}" ] || fail "$1: it took $(got rss) KiB"
}

got() {
	sed -n "s/^$1 //p" answer
}

# brings URL LINE...: it is fetched, and is the list.
brings() {
	ask "$@"
	is "$(head -n 1 answer)" new "what is said of $1 ($(got why))"
	printf '203.0.113.0/24\n198.51.100.7\n' | cmp -s - body || fail "$1: it brought $(head -c 200 body)"
	is "$(got bytes)" 28 "bytes of $1"
}

# fails WORDS URL LINE...: it is not, and these words are in what is said about it.
fails() {
	ask "${@:2}"
	is "$(head -n 1 answer)" failed "what is said of $2"
	[[ $(got why) = *$1* ]] || fail "$2: '$1' is not in '$(got why)'"
	[ "$(grep -c '^why ' answer)" = 1 ] || fail "$2: $(cat answer)"
}

feed=https://feeds.example

good_ones() {
	stage
	brings $feed/list
	is "$(got etag)" '"one"' "its tag"
	is "$(got modified)" 'Mon, 02 Nov 2026 03:04:05 GMT' "its time"
	is "$(got date)" 'Tue, 03 Nov 2026 03:04:05 GMT' "the server's time"
	is "$(got type)" text/plain "its type"
	is "$(got announced)" 29 "one more than its length"
	is "$(got address)" 9.9.9.2 "whom it came from"
	grep -q '^User-Agent: xdp-bloom/[0-9.]*.$' "$keys/heads" || fail "it does not say who asks: $(cat "$keys/heads")"
	! grep -qi '^Accept-Encoding\|^Cookie\|^If-\|^Authorization' "$keys/heads" || fail "$(cat "$keys/heads")"
	ask $feed/list 'etag "one"' 'modified Mon, 02 Nov 2026 03:04:05 GMT'
	is "$(head -n 1 answer)" same "what is said of the same version"
	[ ! -s body ] || fail "the same version has a body"
	grep -q '^If-Modified-Since: Mon, 02 Nov 2026 03:04:05 GMT' "$keys/heads" || fail "$(cat "$keys/heads")"
	brings $feed/list 'etag "two"'
	brings $feed/chunks
	brings $feed/five
	is "$(got url)" $feed/list "where it was in the end"
	brings http://feeds.example/list 'insecure 1'
	brings https://private.example/list 'lan 1'
}

# What others send: it is handed on with its type, for whoever reads it to judge.
handed_on() {
	stage
	ask $feed/html
	is "$(head -n 1 answer) $(got type)" 'new text/html; charset=utf-8' "a page"
	ask $feed/json
	is "$(head -n 1 answer) $(got type)" 'new application/json' "an error as JSON"
	ask $feed/empty
	is "$(head -n 1 answer) $(got bytes)" 'new 0' "nothing"
	ask $feed/escapes
	! LC_ALL=C grep -q '[^[:print:]]' answer || fail "a terminal would obey it: $(cat -v answer)"
	ask $feed/long-tag
	is "$(head -n 1 answer) $(got etag)" 'new ' "a tag of 3 KB"
	brings $feed/cookie
	! grep -qi '^Cookie' "$keys/heads" || fail "it has kept a cookie"
	# Asked without, and sent: the list's reader knows what it is.
	ask $feed/gzip-said
	is "$(head -n 1 answer) $(got bytes)" 'new 18' "what calls itself packed"
}

broken_off() {
	stage
	fails "after 28 of 100000 bytes" $feed/cut
	fails "the connection ended" $feed/cut-open
	fails "the connection ended" $feed/chunks-cut
	fails "chunk" $feed/chunks-bad
	fails "the connection ended" $feed/nothing
	fails "HTTP/0.9" $feed/no-http
	fails "HTTP/0.9" $feed/http09
	fails "" $feed/negative
	fails "" $feed/nul
}

statuses() {
	stage
	fails "nothing has changed, and was not asked that" $feed/304
	fails "status 206" $feed/partial
	fails "status 500" $feed/error
	fails "status 403" $feed/denied
	[ ! -s body ] || fail "what an error says is kept: $(cat body)"
	fails "status 404" $feed/not-there
	fails "status 429, and wants to be asked again in 3600 s" $feed/later
	is "$(got retry_after)" 3600 "when to ask again"
	fails "status 503, and wants to be asked again in" $feed/later-date
	[ "$(got retry_after)" -gt 1000000 ] || fail "a date in 2100 is in $(got retry_after) s"
}

redirects() {
	local only="only from https:// to https:// is followed"

	stage
	fails "from one place to the next, more than 5 times" $feed/loop
	fails "from one place to the next, more than 5 times" $feed/six
	fails "does not say where" $feed/nowhere
	fails "$only" $feed/to-file
	fails "$only" $feed/to-http
	fails "$only" $feed/to-http 'insecure 1'
	fails "$only" $feed/to-gopher
	fails "$only" $feed/to-user
	! grep -q '^GET /list' "$keys/heads" || fail "it went on to http"
}

# Where nothing of the internet is, by whatever name; judged by the address that is connected to.
inward() {
	stage
	fails "127.0.0.1 (loopback)" https://127.0.0.1/list
	fails "127.0.0.1 (loopback)" $feed/to-loopback
	fails "127.0.0.1 (loopback)" $feed/to-number
	fails "::1 (loopback)" $feed/to-loopback6
	fails "0.0.0.0 (this network)" $feed/to-zero
	fails "10.9.9.2 (private)" $feed/to-private
	fails "10.9.9.2 (private)" $feed/to-mapped
	fails "127.0.0.1 (loopback)" https://loop.example/list
	fails "9.9.9.1 (this machine's own)" https://own.example/list
	fails "9.9.9.1 (this machine's own)" https://9.9.9.1/list
	fails "169.254.169.254 (link-local)" http://169.254.169.254/latest 'insecure 1'
	fails "fe80::1 (link-local)" 'https://[fe80::1]/list'
	fails "64:ff9b::a09:902 (private)" 'https://[64:ff9b::10.9.9.2]/list'
	! grep -q '^GET /list' "$keys/heads" || fail "it has asked: $(cat "$keys/heads")"
	# The name is of the internet when it is asked first, and of this network when it is asked again.
	fails "10.9.9.2 (private)" https://turns.example/to-turned
	is "$(grep -c '^GET' "$keys/heads")" 7 "requests"
}

too_much() {
	stage
	fails "longer than 67108864 bytes" $feed/announces
	is "$(got bytes)" 0 "what is taken of what says that it is too much"
	fails "longer than 1000000 bytes" $feed/big 'bytes 1000000'
	[ "$(stat -c %s body)" -le 1000000 ] || fail "$(stat -c %s body) bytes are kept"
	fails "longer than 1000000 bytes" $feed/big-chunks 'bytes 1000000'
	fails "longer than 67108864 bytes" $feed/big
	fails "header" $feed/long-head
	fails "header" $feed/long-line
	fails "header" $feed/100-for-ever
}

too_slow() {
	stage
	fails "no connection within 1 s" https://9.9.9.9/list 'connect 1'
	fails "no connection within 1 s" https://feeds.example:8446/list 'connect 1'
	fails "" https://silent.example/list 'connect 1'
	fails "fewer than 1024 bytes a second for 1 s" $feed/slow 'floor_seconds 1'
	fails "fewer than 1024 bytes a second for 1 s, after 28 bytes" $feed/still 'floor_seconds 1'
	fails "fewer than 1024 bytes a second for 1 s" $feed/silent 'floor_seconds 1'
	fails "fewer than 1024 bytes a second for 1 s" $feed/slow-head 'floor_seconds 1'
	fails "it was not done after 2 s" $feed/slow 'floor 0' 'floor_seconds 0' 'seconds 2'
	fails "it was not done after 2 s" $feed/silent 'seconds 2' 'floor_seconds 2' 'floor 0'
	fails "no connection to 9.9.9.2: Connection refused" https://feeds.example:1/list
	fails "no address is known for its name" https://nobody.example/list
}

not_trusted() {
	local port

	stage
	fails "its certificate" https://feeds.example:8441/list
	fails "its certificate" https://feeds.example:8442/list
	fails "its certificate" https://feeds.example:8443/list
	fails "its certificate" https://9.9.9.2/list
	fails "no TLS connection that is secure" https://feeds.example:8444/list
	fails "no TLS connection that is secure" https://feeds.example:8445/list
	fails "no TLS connection that is secure" https://feeds.example:8447/list
	python3 "$servers" ask "$XDP_BLOOM_FETCH" body "url $feed/list" "ca $keys/wrong.pem" >answer
	[[ $(got why) = *"its certificate"* ]] || fail "another authority: $(cat answer)"
	# --insecure is about http.
	for port in 8441 8442 8443; do
		fails "its certificate" https://feeds.example:$port/list 'insecure 1'
	done
	[ ! -s "$keys/heads" ] || fail "it has asked: $(cat "$keys/heads")"
	fails "http:// says nothing about who answers" http://feeds.example/list
	fails "does not belong into a URL" https://me:secret@feeds.example/list
	fails "only https:// is fetched" file:///etc/passwd
	fails "only https:// is fetched" ftp://feeds.example/list
}

# A password goes to the server that it is for; no variable of the environment leads elsewhere.
secrets() {
	stage
	printf '# for the feed\nAuthorization: Bearer topsecret\n' >secret
	chmod 600 secret
	export HEADER_FILE=$WORK/secret https_proxy=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1 SSL_CERT_FILE=/dev/null
	brings $feed/list 'etag "two"'
	is "$(grep -c 'Bearer topsecret' "$keys/heads")" 1 "who was told the password"
	ask $feed/to-other 'etag "two"'
	is "$(grep -c 'Bearer topsecret' "$keys/heads")" 2 "who was told the password"
	is "$(grep -c 'If-None-Match' "$keys/heads")" 2 "who was told the version"
	! grep -q topsecret answer || fail "the answer has the password"
	# At the same server it is said at the next place, too.
	ask $feed/one 'etag "two"'
	is "$(grep -c 'Bearer topsecret' "$keys/heads") $(grep -c 'If-None-Match' "$keys/heads")" "4 4" "who was told the password, and the version"
	printf 'Authorization: Bearer a\rX: y\n' >secret
	ask $feed/list
	printf 'no header\n' >secret
	fails "not 'Name: value'" $feed/list
	head -c 20000 /dev/zero | tr '\0' a >secret
	fails "the header file cannot be read" $feed/list
}

# An injected library tries it where the program would ask a server: everything is denied, and it was tried.
confined() {
	grep -q '^Seccomp:' /proc/self/status || skip "needs a kernel with seccomp"
	[ -e "$escape" ] || skip "$escape is not built"
	need ldd
	stage
	a_list
	bloom load drop list
	bloom attach edge0
	cp "$escape" escape.so
	chmod 755 "$WORK" escape.so
	export ESCAPE_STATE=$XDP_BLOOM_STATE/state.db ESCAPE_PIN=$XDP_BLOOM_BPFFS/slot ESCAPE_FILE=$WORK/list
	stat "$ESCAPE_STATE" "$ESCAPE_PIN" "$ESCAPE_FILE" >out || fail "nothing there to be taken"
	LD_PRELOAD=$WORK/escape.so "$XDP_BLOOM_FETCH" --version >/dev/null || fail "the library cannot be preloaded"
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s\n' "$WORK/escape.so" "$XDP_BLOOM_FETCH" >preloaded
	chmod 755 preloaded
	python3 "$servers" ask ./preloaded body "url $feed/list" >answer
	grep -q '^denied another program' body || fail "it did not come to its end: $(cat body answer)"
	# Kernels without Landlock let it read what everybody may.
	[ "$(grep -c . body)" = 20 ] || fail "it tried something else: $(cat body)"
	! grep '^done' body | grep -v 'read a file of others' >out || fail "$(cat out)"
	[ ! -e /tmp/xdp-bloom-escaped ] || fail "it made a file"
}

# Where it only checks a signature it has no connections either.
signature_confined() {
	grep -q '^Seccomp:' /proc/self/status || skip "needs a kernel with seccomp"
	[ -e "$escape" ] || skip "$escape is not built"
	stage
	with_minisign
	a_list
	bloom load drop list
	bloom attach edge0
	cp "$escape" escape.so
	chmod 755 "$WORK" escape.so
	export ESCAPE_STATE=$XDP_BLOOM_STATE/state.db ESCAPE_PIN=$XDP_BLOOM_BPFFS/slot ESCAPE_FILE=$WORK/list
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s\n' "$WORK/escape.so" "$XDP_BLOOM_FETCH" >preloaded
	chmod 755 preloaded
	minisign -S -s key -m list >/dev/null
	cp list body
	HEADER_FILE=list.minisig python3 "$servers" ask "$XDP_BLOOM_FETCH" body "key $(tail -n 1 pub)" >answer
	is "$(head -n 1 answer)" signed "what is said of it ($(got why))"
	[[ $(got comment) = "timestamp:$(got signed_at) file:list hashed" ]] || fail "another comment: $(cat answer)"
	HEADER_FILE=list.minisig python3 "$servers" ask ./preloaded body "key $(tail -n 1 pub)" "bytes 100000" >answer
	grep -q '^denied another program' body || fail "it did not come to its end: $(cat body answer)"
	[ "$(grep -c . body)" = 23 ] || fail "it tried something else: $(cat body)"
	! grep '^done' body | grep -v 'read a file of others' >out || fail "$(cat out)"
}

# What only the fetcher needs, the command does not have.
apart() {
	need ldd
	! ldd "$XDP_BLOOM" | grep -q 'curl\|gnutls\|ssl\|sodium' || fail "the command has it: $(ldd "$XDP_BLOOM")"
	ldd "$XDP_BLOOM_FETCH" | grep -q 'libcurl-gnutls' || [ ! -e /etc/debian_version ] || fail "the fetcher has another: $(ldd "$XDP_BLOOM_FETCH")"
	! ldd "$XDP_BLOOM_FETCH" | grep -q 'libbpf\|libsqlite\|libxdp' || fail "the fetcher has what it does not need"
	expect 0 "$XDP_BLOOM_FETCH" --version
	expect 2 "$XDP_BLOOM_FETCH" --help
	expect 2 "$XDP_BLOOM_FETCH" </dev/null
	expect 2 setpriv --bounding-set -setuid --inh-caps -setuid "$XDP_BLOOM_FETCH" </dev/null
}

# Who may not become another user is told so, and asks nobody.
never_as_root() {
	need setpriv
	stage
	printf '#!/bin/sh\nexec setpriv --bounding-set -setuid,-setgid %s\n' "$XDP_BLOOM_FETCH" >rooted
	chmod 755 rooted
	python3 "$servers" ask ./rooted body "url $feed/list" "ca $keys/ca.pem" >answer
	[[ $(got why) = *"fetches nothing as root"* ]] || fail "$(cat answer)"
	[ ! -s "$keys/heads" ] || fail "it has asked"
}

# keeps WORDS PATH OPTION...: what is fetched there is refused with these words; what was in force stays, and 'lists' says it.
keeps() {
	refused "$1" load drop "$feed/$2" "${@:3}"
	verdicts 203.0.113.9=drop 198.51.100.7=drop 198.51.100.8=pass 9.9.9.2=pass
	[[ $(get '.[0].refused.why' lists) = *$1* ]] || fail "lists does not say '$1': $(get '.[0].refused' lists)"
	[[ $(get '.refused[0].why' status) = *$1* ]] || fail "status does not say it: $(get '.refused' status)"
}

trusts() {
	[ -e $trusted ] || skip "needs $trusted, of the package ca-certificates"
}

# By the command: what is a list comes into force, and nothing else does.
loads() {
	local only=--skip-bad

	trusts
	stage
	bloom load drop $feed/list
	is "$(get '.[0].source' lists)" $feed/list "where it came from"
	verdicts 203.0.113.9=drop 198.51.100.7=drop 198.51.100.8=pass
	keeps "is a page, and no list" html $only
	keeps "is a page, and no list" page $only
	keeps "is a page, and no list" typed $only
	keeps "is a page, and no list" captcha $only
	keeps "is JSON, as errors are" json $only
	keeps "is empty" empty
	keeps "is empty" blank
	keeps "there is no address in it" remarks
	keeps "words:1: 'Too many" words
	keeps "words:1: 'Too many" words $only
	keeps "bans 9.9.9.2, the server that it came from" itself
	keeps "bans 9.9.9.2, the server that sends there" sends-on
	keeps "bans 9.9.9.254, a gateway" gateway
	keeps "UTF-16, not plain text" utf16
	keeps ":" binary
	keeps "a NUL byte" nul-inside
	keeps "latin1:1:" latin1
	keeps "from one place to the next" loop-for-good
	keeps "bans 100 %" everything --ban-own
	keeps "it lost" shrunk
	keeps "it gained" grown
	keeps "after 28 of 100000 bytes" cut
	keeps "status 500" error
	keeps "status 429, and wants to be asked again in 3600 s" later
	keeps "from one place to the next" loop
	keeps "10.9.9.2 (private)" to-private
	keeps "127.0.0.1 (loopback)" to-loopback
	bloom load drop $feed/bom
	is "$(get '.[0].refused' lists)" null "what 'lists' says once it is loaded"
	bloom load json $feed/list.json
	bloom load here https://private.example/list --lan
	bloom load open http://feeds.example/list --insecure --shadow
	refused "its certificate" load drop https://feeds.example:8441/list
	refused "http:// says nothing about who answers" load drop http://feeds.example/list
	bloom load drop $feed/itself --ban-own --big-change
	verdicts 9.9.9.2=drop
}

with_password() {
	trusts
	stage
	echo 'Authorization: Bearer topsecret' >secret
	chmod 644 secret
	refused "others may read it" load drop $feed/list --header-file secret
	chmod 600 secret
	bloom load drop $feed/list --header-file secret
	is "$(grep -c 'Bearer topsecret' "$keys/heads")" 1 "who was told the password"
	! grep -rq topsecret "$XDP_BLOOM_STATE" out err || fail "the password is kept"
}

# through FILE-TEXT: by this proxy from now on; and how often proxies were asked.
through() {
	printf '%s\n' "$@" >proxy
	chmod 600 proxy
	export XDP_BLOOM_PROXY=$WORK/proxy
}

proxied() {
	grep -c . "$keys/proxied"
}

is_fresh() {
	[ "$(get '.[].state' feeds)" = fresh ]
}

# All goes by way of the proxy, but what is in the own network; nobody else hears its password.
by_proxy() {
	local password='me:topsecret' text

	trusts
	stage
	through '# of the building' http://9.9.9.3:3129
	chmod 644 proxy
	bloom load drop $feed/list
	verdicts 203.0.113.9=drop 198.51.100.7=drop 198.51.100.8=pass
	is "$(cat "$keys/proxied")" "CONNECT feeds.example:443" "what the proxy was asked"
	grep -q '^GET /list ' "$keys/heads" || fail "the server was not asked: $(cat "$keys/heads")"
	! grep -qi '^Proxy' "$keys/heads" || fail "the server hears of the proxy: $(cat "$keys/heads")"
	bloom load open http://feeds.example/list --insecure --shadow
	is "$(tail -n 1 "$keys/proxied")" "GET http://feeds.example/list" "what the proxy was asked"
	bloom load here https://private.example/list --lan
	is "$(proxied)" 2 "requests to the proxy, after one to the own network"
	# Whom the proxy connects to is not seen; an address is.
	refused "10.9.9.2 (private)" load drop https://10.9.9.2/list
	refused "(loopback)" load drop 'https://[::1]/list'
	refused "a server's name has no '%'" load drop https://%31%30.9.9.2/list
	refused "a server's name has no '%'" load drop https://%30x0a090902/list
	refused "(private)" load drop https://0x0a090902/list
	refused "(private)" load drop https://10.9.9.2./list
	is "$(proxied)" 2 "requests to the proxy, after those inward"
	keeps "127.0.0.1 (loopback)" to-number
	keeps "(private)" to-mapped
	keeps "status 500" error
	keeps "after 28 of 100000 bytes" cut
	refused "its certificate" load drop https://feeds.example:8441/list
	# With a password, which is in that file and nowhere else.
	through "http://$password@9.9.9.3:3128"
	chmod 640 proxy
	refused "others may read it" load drop $feed/list
	chmod 600 proxy
	rm "$keys/proxied"
	bloom load drop $feed/list
	bloom load token http://feeds.example/list --insecure --shadow
	is "$(cat "$keys/proxied")" "CONNECT feeds.example:443
GET http://feeds.example/list" "what the proxy was asked, and what others see of who asks"
	! grep -q 'topsecret\|Basic' "$keys/heads" || fail "the server hears the password: $(cat "$keys/heads")"
	for text in "http://me:topsecreT@9.9.9.3:3128" http://9.9.9.3:3128; do
		through "$text"
		keeps "the proxy answers with status 407" list
	done
	through "http://$password@9.9.9.3:1"
	keeps "no connection to the proxy 9.9.9.3: Connection refused" list
	through "http://$password@nowhere.example:3128"
	keeps "no address is known for the proxy's name" list
	for text in '' proxy.example:3128 "ftp://$password@a" "http://$password@" http:// "http://$password@a b"; do
		through "$text"
		refused "proxy: one line is wanted" load drop $feed/list
	done
	through http://9.9.9.3:3129 http://9.9.9.3:3128
	refused "proxy: one line is wanted" load drop $feed/list
	! grep -rq topsecre "$XDP_BLOOM_STATE" out err || fail "the password is kept: $(grep -rl topsecre "$XDP_BLOOM_STATE" out err)"
	# The service's.
	through "http://$password@9.9.9.3:3128"
	rm "$keys/proxied"
	echo "load fresh $feed/list --every 1h" >conf
	ready
	wait_until "the service's list" is_fresh
	is "$(cat "$keys/proxied")" "CONNECT feeds.example:443" "what the proxy was asked by the service"
	stop
	cat <&"$log" >said
	! grep -rq topsecre "$XDP_BLOOM_STATE" said || fail "the password is kept"
}

# A feed of the catalog: its address, how it is read, and how often it may be asked for come from there.
known() {
	trusts
	stage
	is "$(get length feeds known)" "$(grep -c '^feed ' "$(dirname "$XDP_BLOOM")/feeds")" "feeds that are known"
	get '[.[] | select(.every < 300 or .name == "" or .holds == "")]' feeds known >out
	is "$(cat out)" '[]' "feeds that lack something"
	bloom feeds known @dshield
	grep -qx '  from     https://feeds.dshield.org/block.txt' out || fail "$(cat out)"
	[ ! -s "$keys/heads" ] || fail "it has asked: $(cat "$keys/heads")"
	bloom load @dshield
	is "$(get '.[0] | [.name, .source, .addresses] | join(" ")' lists)" "dshield https://feeds.dshield.org/block.txt 512" "the list"
	# Whoever takes one by its name wants it tomorrow, too; what was said of it before stays.
	grep -qx 'dshield: fetched again every 10m' out || fail "$(cat out)"
	is "$(get '.[] | [.name, .every] | join(" ")' feeds)" "dshield 600" "how often it is fetched"
	bloom load @dshield --every 2d
	bloom load @dshield
	is "$(get '.[].every' feeds)" 172800 "how often it is fetched, as it was said"
	bloom feeds check @dshield
	bloom load once @dshield --dry-run
	is "$(get length feeds)" 1 "feeds after what loads nothing"
	echo 'load by-line @dshield --shadow --max-age 30d' >lines
	bloom batch lines
	is "$(get '.[] | select(.name == "by-line") | [.state, .max_age] | join(" ")' feeds)" "new 2592000" "by a line"
	bloom load mine @dshield --shadow
	verdicts 203.0.113.200=drop 46.1.2.7=drop 46.1.3.0=pass
	refused "10m" load @dshield --every 5m
	refused "needs an account" load @abuseipdb
}

# tries STATUS WORDS...: what 'feeds check' says, and that nothing is loaded by it.
tries() {
	local before

	before=$(snapshot)
	expect "$1" "$XDP_BLOOM" feeds check "${@:3}"
	grep -qF -e "$2" out || fail "no '$2' in: $(cat out err)"
	is "$(snapshot)" "$before" "what is loaded after 'feeds check ${*:3}'"
}

checks() {
	trusts
	stage
	tries 0 "verdict   load takes it" $feed/list
	grep -qx 'address   9.9.9.2' out || fail "$(cat out)"
	grep -qx 'answer    200, text/plain, 28 bytes' out || fail "$(cat out)"
	grep -qx 'version   tag "one", changed Mon, 02 Nov 2026 03:04:05 GMT, its clock Tue, 03 Nov 2026 03:04:05 GMT' out || fail "$(cat out)"
	grep -qx 'read      2 lines, 2 entries (plain), 0 of them twice, 0 damaged' out || fail "$(cat out)"
	grep -qx 'new       257 IPv4 addresses that no list in force bans' out || fail "$(cat out)"
	echo 203.0.113.0/25 >half
	bloom load half half
	tries 0 "new       129 IPv4 addresses" $feed/list
	is "$(get '[.status, .new.ipv4, .refused] | @json' feeds check $feed/list)" '[200,"129",null]' "JSON"
	tries 2 "from      $feed/list" $feed/five --format csv:9
	tries 0 "from      $feed/list" $feed/five
	tries 0 "from      https://feeds.dshield.org/block.txt" @dshield
	tries 2 "is a page, and no list" $feed/html
	tries 2 "status 500" $feed/error
	tries 2 "bans 9.9.9.2, the server that it came from" $feed/itself
	tries 2 "its certificate" https://feeds.example:8441/list
	is "$("$XDP_BLOOM" -j feeds check $feed/error 2>/dev/null | jq -c '[.status, .new]')" '[500,null]' "JSON of what is refused"
}

# A key, its other half, and where the server's files are.
with_minisign() {
	need minisign
	mkdir -p "$keys/files/s"
	minisign -G -W -p pub -s key >/dev/null
	minisign -G -W -p pub2 -s key2 >/dev/null
}

# publish TIME OPTION...: the server's list, signed by minisign as of then.
publish() {
	cat >"$keys/files/s/drop"
	minisign -S -s key -m "$keys/files/s/drop" -t "timestamp:$1 file:drop" "${@:2}" >/dev/null || fail "it does not sign"
}

signs() {
	local at=$feed/s/drop

	trusts
	stage
	with_minisign
	printf '203.0.113.0/24\n198.51.100.7\n' | publish 1700000000
	cp -r "$keys/files/s" older
	bloom load drop $at --key pub
	grep -q '^drop: signed: timestamp:1700000000 file:drop$' out || fail "$(cat out)"
	grep -q 'GET /s/drop.minisig ' "$keys/heads" || fail "$(cat "$keys/heads")"
	is "$(get .signed load drop $at --key "$(tail -n 1 pub)" --dry-run)" "timestamp:1700000000 file:drop" "what JSON says"
	# By http, and by the older kind of signatures.
	printf '203.0.113.0/24\n198.51.100.7\n45.6.7.8\n' | publish 1700000001 -l
	bloom load drop http://feeds.example/s/drop --key pub
	verdicts 203.0.113.9=drop 45.6.7.8=drop 198.51.100.8=pass
	bloom load token "$at?token=1" --key pub --shadow
	grep -q 'GET /s/drop.minisig?token=1 ' "$keys/heads" || fail "$(cat "$keys/heads")"

	keeps_signed "was signed at 2023-11-14T22:13:20Z, before the version in force, at 2023-11-14T22:13:21Z" older
	printf '45.6.7.8\n' | publish 1700000001
	cp older/drop "$keys/files/s/drop"
	keeps_signed "s/drop.minisig: the signature is not one of this list"
	rm "$keys/files/s/drop.minisig"
	keeps_signed "no signature: it answers with status 404"
	printf '203.0.113.0/24\n198.51.100.7\n45.6.7.8\n46.1.2.3\n' | publish 1700000002
	head -c 250 "$keys/files/s/drop.minisig" >"half a signature"
	cp "half a signature" "$keys/files/s/drop.minisig"
	keeps_signed "drop.minisig: "
	echo '<html>' >"$keys/files/s/drop.minisig"
	keeps_signed "it is no signature of minisign"
	head -c 20000 /dev/zero >"$keys/files/s/drop.minisig"
	keeps_signed "longer than 16384 bytes"
	minisign -S -s key2 -m "$keys/files/s/drop" >/dev/null
	keeps_signed "it is signed with another key"
	minisign -S -s key -m "$keys/files/s/drop" -t "timestamp:1700000002" >/dev/null
	sed -i 's/1700000002/1700000009/' "$keys/files/s/drop.minisig"
	keeps_signed "the signature's comment is not the one that was signed"
	minisign -S -s key -m "$keys/files/s/drop" -t "file:drop" >/dev/null
	keeps_signed "does not say of when it is"
	minisign -S -s key -m "$keys/files/s/drop" -t "timestamp:9999999999" >/dev/null
	keeps_signed "signed in the future, 2286-11-20"
	echo '<html>' | publish 1700000003
	keeps_signed "is a page, and no list"
	cp older/* "$keys/files/s"
	bloom load drop $at --key pub --force
	verdicts 203.0.113.9=drop 45.6.7.8=pass
}

# keeps_signed WORDS [DIRECTORY]: what the server has, or had then, is refused, whoever listens; what was in force stays.
keeps_signed() {
	[ -z "${2:-}" ] || cp "$2"/* "$keys/files/s"
	refused "$1" load drop $feed/s/drop --key pub
	verdicts 203.0.113.9=drop 45.6.7.8=drop 198.51.100.8=pass
	[[ $(get '.[0].refused.why' lists) = *$1* ]] || fail "lists does not say '$1': $(get '.[0].refused' lists)"
}

# The keys are looked at before anybody is asked, and a password goes by https alone.
signed_mistakes() {
	trusts
	stage
	with_minisign
	refused "no such file; a public key of minisign is" load drop $feed/list --key nowhere
	refused "it is a secret key" load drop $feed/list --key key
	echo 'Authorization: Bearer topsecret' >secret
	chmod 600 secret
	refused "http:// says nothing" load drop http://feeds.example/list --key pub --header-file secret
	[ ! -s "$keys/heads" ] || fail "it has asked: $(cat "$keys/heads")"
}

# A file, with its signature beside it. It is not followed: nobody would check the next version.
signed_files() {
	with_minisign
	veth 0
	a_list
	refused "list.minisig: no signature" load drop list --key pub
	minisign -S -s key -m list -t 'version:7' >/dev/null
	bloom load drop list --key pub
	verdicts 192.0.2.7=drop
	cp list other
	echo 45.6.7.8 >>other
	cp list.minisig other.minisig
	refused "other.minisig: the signature is not one of this list" load drop other --key pub
	minisign -S -s key -m other -t 'version:6' >/dev/null
	refused "its signature says version 6, and that of the version in force 7" load drop other --key pub
	minisign -S -s key -m other -t 'version:8' >/dev/null
	bloom load drop other --key pub
	verdicts 45.6.7.8=drop
	"$XDP_BLOOM" state check || fail "the state is damaged"
	refused "nothing is beside standard input" load drop - --key pub
	expect 2 "$XDP_BLOOM" load drop other --key pub --if-changed
	grep -q "a signature is checked by the command alone" err || fail "$(cat err)"
}

# A file of commands holds the lock while its lines are read, and the service has no right to become another user.
not_for_lines() {
	stage
	echo "load drop $feed/list" >lines
	expect 2 "$XDP_BLOOM" batch lines
	grep -q 'a URL is fetched by the command alone' err || fail "$(cat err)"
	expect 2 "$XDP_BLOOM" load drop $feed/list --if-changed
	[ ! -s "$keys/heads" ] || fail "it has asked"
}

as_sql() {
	sqlite3 -cmd '.timeout 10000' "$XDP_BLOOM_STATE/state.db" "$1"
}

all_failing() {
	[ "$(as_sql 'SELECT count(*) FROM feed WHERE NOT failures')" = 0 ]
}

memory() {
	sed -n 's/^VmRSS: *\([0-9]*\).*/\1/p' "/proc/$service_pid/status"
}

# What unpacks to 2 and to 64 GiB of empty lines, in 2 MB.
bombs() {
	mkdir -p "$keys/files"
	python3 - "$keys/files" <<-'PYTHON' || fail "no bombs"
		import struct, sys, zlib

		pack = zlib.compressobj(9, zlib.DEFLATED, 31)
		member = pack.compress(b"\n" * (64 << 20)) + pack.flush()
		with open(sys.argv[1] + "/bomb.gz", "wb") as file:
		    file.write(member * 32)
		# A frame of zstd: a window of 128 KiB, and blocks that each are one byte, so many times.
		block, last = (struct.pack("<I", 131072 << 3 | 1 << 1 | end)[:3] + b"\n" for end in (0, 1))
		with open(sys.argv[1] + "/bomb.zst", "wb") as file:
		    file.write(b"\x28\xb5\x2f\xfd\x00\x38" + block * 524287 + last)
	PYTHON
}

# Each ends with what was in force, and in little memory.
by_bombs() {
	local path most

	trusts
	stage
	bombs
	bloom load drop $feed/list
	for path in bomb.gz bomb.zst; do
		keeps "unpacks to more than 536870912 bytes; 'tune --fetch-unpacked' sets how many it may" $path
		most=$(peak_of "$XDP_BLOOM" load drop $feed/$path)
		printf '# %s: %d bytes, %d KiB of memory\n' "$path" "$(stat -c %s "$keys/files/$path")" "$most"
		[ "$most" -lt 65536 ] || [ -n "${SAN:-}" ] || fail "$path: it took $most KiB"
	done
}

# How long a list may be, as sent and unpacked: less than by default, and more. No filter is built for that.
limits_set() {
	local before

	trusts
	stage
	mkdir -p "$keys/files"
	python3 - "$keys/files" <<-'PYTHON' || fail "no lists"
		import sys, zlib

		text = b"203.0.113.0/24\n198.51.100.7\n"
		def pack(what):
		    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
		    return packer.compress(what) + packer.flush()
		remark = b"# " + b"x" * 1021 + b"\n"
		for name, what in (("long", text + remark * 200 + b"192.0.2.1\n"), ("longer", text + remark * 66000 + b"192.0.2.2\n"),
		                   ("long.gz", pack(text + remark * 200 + b"192.0.2.3\n")),
		                   ("longer.gz", pack(text) + pack(remark * 65536) * 8 + pack(b"192.0.2.4\n"))):
		    with open(sys.argv[1] + "/" + name, "wb") as file:
		        file.write(what)
	PYTHON
	bloom load drop $feed/list
	before=$(get .generation show)
	bloom tune --fetch-most 100K --fetch-unpacked 100K
	is "$(get '[.fetch_most, .fetch_unpacked]' tune)" "[102400,102400]" "the settings"
	is "$(get .generation show)" "$before" "the generation"
	keeps "longer than 102400 bytes, the most that is fetched; 'tune --fetch-most' sets how long it may be" long
	keeps "longer than 102400 bytes, the most that is fetched; 'tune --fetch-most'" big-chunks
	keeps "unpacks to more than 102400 bytes; 'tune --fetch-unpacked' sets how many it may" long.gz
	bloom tune --fetch-most 64M --fetch-unpacked 512M
	bloom load drop $feed/long
	verdicts 203.0.113.9=drop 192.0.2.1=drop
	bloom load drop $feed/long.gz
	verdicts 203.0.113.9=drop 192.0.2.1=pass 192.0.2.3=drop
	keeps "longer than 67108864 bytes" longer
	keeps "unpacks to more than 536870912 bytes" longer.gz
	bloom tune --fetch-most 128M --fetch-unpacked 1G
	bloom load drop $feed/longer
	verdicts 203.0.113.9=drop 192.0.2.2=drop
	bloom load drop $feed/longer.gz
	verdicts 203.0.113.9=drop 192.0.2.2=pass 192.0.2.4=drop
	# What lies here is nobody else's, and has other limits.
	bloom tune --fetch-unpacked 1K
	bloom load drop "$keys/files/long.gz"
	verdicts 192.0.2.3=drop
	expect 2 "$XDP_BLOOM" tune --fetch-most 2G
}

# What is bad, by the service: each list had a good version, and its server is another now. What was in force stays.
in_service() {
	local path before was patience=$((10 * patience)) # one after another: it is one host
	local -a bad=(html page typed captcha json empty blank remarks words itself sends-on gateway utf16 binary nul-inside latin1 loop-for-good everything shrunk grown cut cut-open chunks-cut
		chunks-bad nothing no-http http09 negative nul 304 partial error denied not-there later later-date loop six nowhere
		to-file to-http to-gopher to-user to-loopback to-private announces big-chunks big slow bomb.gz bomb.zst long-head long-line 100-for-ever)

	trusts
	need sqlite3
	stage
	bombs
	for path in "${bad[@]}"; do
		echo "load $path $WORK/list"
	done >lines
	printf '203.0.113.0/24\n198.51.100.7\n' >list
	bloom batch lines
	for path in "${bad[@]}"; do
		echo "load $path $feed/$path --every 1h"
	done >conf
	before=$(get .generation show)
	ready
	was=$(memory)
	wait_until "an answer of each of ${#bad[@]} servers" all_failing
	as_sql "SELECT list || ': ' || result FROM feed ORDER BY list" | sed 's/^/# /'
	is "$(as_sql "SELECT count(*) FROM feed WHERE failures = 1 AND result != '' AND next >= tried + 1800")" ${#bad[@]} "what failed once"
	is "$(as_sql "SELECT next - tried FROM feed WHERE list = 'later'")" 3600 "when it is asked again"
	is "$(get '[.[] | select(.prefixes == 2)] | length' lists)" ${#bad[@]} "lists as they were"
	is "$(get .generation show)" "$before" "the generation"
	verdicts 203.0.113.9=drop 198.51.100.7=drop 198.51.100.8=pass 9.9.9.2=pass
	is "$(get '[.[] | select(.refused != null)] | length' lists)" ${#bad[@]} "lists that are said to be refused"
	[ $(($(memory) - was)) -lt 1024 ] || [ -n "${SAN:-}" ] || fail "its memory went from $was to $(memory) KiB"
	stop
}

# A server that people run: nginx, by HTTP/2, HTTP/1.1 and without TLS; with tags, and with parts of files, for which nobody asks.
real_server() {
	local tag url word

	need nginx
	stage
	mkdir -m 755 www
	chmod 711 .
	printf '203.0.113.0/24\n198.51.100.7\n' >www/list
	{
		printf 'daemon off;\npid %s;\nevents { }\nhttp {\n' "$WORK/nginx.pid"
		# shellcheck disable=SC2016 # variables of nginx
		echo 'log_format asked "$server_protocol $status $request_uri [$http_range$http_accept_encoding]";'
		echo "access_log $WORK/nginx.access asked; gzip on; gzip_types *; gzip_min_length 1;"
		for word in client_body proxy fastcgi uwsgi scgi; do
			echo "${word}_temp_path $WORK/nginx.temp;"
		done
		for word in '9443 ssl http2' '9444 ssl' 9080; do
			printf 'server { listen 9.9.9.2:%s; root %s;\n' "$word" "$WORK/www"
			printf 'ssl_certificate %s; ssl_certificate_key %s; }\n' "$keys/good.pem" "$keys/good.key"
		done
		echo '}'
	} >nginx.conf
	nsenter -t "$away" -n nginx -e "$WORK/nginx.log" -c "$WORK/nginx.conf" 2>nginx.err &
	wait_until "nginx" test -s nginx.pid
	for url in https://feeds.example:9443/list https://feeds.example:9444/list http://feeds.example:9080/list; do
		printf '203.0.113.0/24\n198.51.100.7\n' >www/list
		brings $url 'insecure 1'
		tag=$(got etag)
		[ -n "$tag" ] || fail "no tag: $(cat answer)"
		ask $url 'insecure 1' "etag $tag" "modified $(got modified)"
		is "$(head -n 1 answer) $(got status)" "same 304" "what has not changed"
		echo 192.0.2.1 >>www/list
		ask $url 'insecure 1' "etag $tag"
		is "$(head -n 1 answer) $(got bytes)" "new 38" "what has changed"
		fails "status 404" $url-of-others 'insecure 1'
	done
	is "$(uniq nginx.access)" "$(for word in HTTP/2.0 HTTP/1.1 HTTP/1.1; do
		printf '%s 200 /list [--]\n%s 304 /list [--]\n%s 200 /list [--]\n%s 404 /list-of-others [--]\n' $word $word $word $word
	done)" "what nginx was asked"
}

mkdir -m 755 "$WORK.for"
keys=$WORK.for/keys
certificates
names
run_cases good_ones handed_on broken_off statuses redirects inward too_much too_slow not_trusted secrets confined apart never_as_root signature_confined \
	loads with_password by_proxy known checks signs signed_mistakes signed_files not_for_lines by_bombs limits_set in_service real_server
