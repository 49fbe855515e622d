#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the service shows to a browser: the page, the document that it reads, and who may have it. Without a browser; with one
# it is make page-test.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need curl
# shellcheck source=../support/service.sh
. "$here/service.sh"

token=0123456789abcdef-of-a-test

# ask PATH ARGS...: its status is in $code, what came in page, and what came before it in head.
ask() {
	code=$(curl -s -m 30 -o page -D head -w '%{http_code}' "${@:2}" "http://127.0.0.1:9913$1")
}

bearer() {
	ask "$1" -H "Authorization: Bearer $2"
}

# header NAME: what it says.
header() {
	sed -n "s/^$1: \(.*\)\r\$/\1/Ip" head
}

# Every answer, also one that refuses.
closed() {
	is "$(header X-Content-Type-Options) $(header X-Frame-Options) $(header Referrer-Policy) $(header Cross-Origin-Resource-Policy)" \
		"nosniff DENY no-referrer same-origin" "the headers of $1"
	is "$(header Cache-Control)" no-store "what $1 says of keeping it"
	is "$(header Access-Control-Allow-Origin)" "" "who else may read $1"
	[[ $(header Content-Security-Policy) == "default-src 'none'; "*"frame-ancestors 'none'"* ]] ||
		fail "the policy of $1: $(header Content-Security-Policy)"
}

# What may run is what is in it, by its hash; and it names nothing else.
self_contained() {
	python3 - "$(header Content-Security-Policy)" <<-'PYTHON' || fail "the page is not by its policy"
		import base64, hashlib, html.parser, re, sys

		policy = dict(rule.split(" ", 1) for rule in sys.argv[1].split("; "))
		text = open("page").read()
		for kind in "script", "style":
		    inside = re.findall("<%s>(.*?)</%s>" % (kind, kind), text, re.S)
		    assert len(inside) == 1 and len(inside[0]) > 1000, kind
		    digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
		    assert policy[kind + "-src"] == "'sha256-%s'" % digest, (policy, digest)
		assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'", policy
		assert policy["connect-src"] == "'self'" and policy["img-src"] == "data:" and "unsafe" not in sys.argv[1], policy


		class Page(html.parser.HTMLParser):
		    def handle_starttag(self, tag, attributes):
		        for name, value in attributes:
		            assert not name.startswith("on") and name != "style", (tag, name)
		            assert name not in ("src", "href", "action") or value == "data:,", (tag, name, value)


		Page().feed(text)
		assert "://" not in text and "innerHTML" not in text and "@import" not in text
	PYTHON
}

page() {
	local path

	prepare
	ready --listen 9913 --page
	ask /
	is "$code $(header Content-Type)" "200 text/html; charset=utf-8" "the page"
	closed /
	self_contained
	for path in /page.json /metrics /healthz /other; do
		ask "$path"
		closed "$path"
	done
	ask /page.json -H 'Host: evil.example'
	is "$code" 421 "page.json for another page in a browser"
	ask / -X POST -d x
	is "$code" 405 "POST"
	stop
}

json() {
	jq -c "$1" page
}

json_is() {
	ask /page.json
	[ "$code" = 200 ] && [ "$(json "$1")" = "$2" ]
}

until_json() {
	wait_until "$2 as $1 of page.json" json_is "$1" "$2"
}

# whose WANTED: what is said of the IPv4 addresses there.
whose() {
	until_json '[.hour.sources[], .hour.networks[], .bans.next[]]|map(select(.name // .prefix|test(":")|not).network)|unique' "$1"
}

# A table of networks that comes, changes and goes while the service runs.
networks() {
	need_sources
	prepare
	ready --listen 9913 --page
	send 0 -n 100 -b banned -c clean
	until_json '[.hour.dropped.packets]' '[300]'
	bloom add 198.51.100.77
	whose '[null]'
	is "$(json '[.hour.sources[], .bans.next[]]|map(has("network"))|any')" false "a table that nobody gave"
	printf '%s\n' network,cc,asn,org 0.0.0.0/0,DE,64500,Docs >networks.csv
	bloom tune --networks networks.csv
	whose '[{"country":"DE","asn":64500,"name":"Docs"}]'
	is "$(get '[.sources[]|select(.name|test(":")|not).network.asn]|unique' report)" '[64500]' "what report says"
	# The service reads a new version; one that is damaged, or gone, changes nothing.
	printf '%s\n' network,cc,asn,org 0.0.0.0/0,FR,64501,New >networks.new
	mv networks.new networks.csv
	whose '[{"country":"FR","asn":64501,"name":"New"}]'
	echo '<html>' >networks.new
	mv networks.new networks.csv
	heard "$log" networks.csv
	whose '[{"country":"FR","asn":64501,"name":"New"}]'
	rm networks.csv
	printf '%s\n' network,cc,asn,org 0.0.0.0/0,IT,64502,Again >networks.csv
	whose '[{"country":"IT","asn":64502,"name":"Again"}]'
	bloom tune --networks none
	whose '[null]'
}

# Every field that the manual names is there, and no other; and it says what is.
document() {
	need_sources
	prepare
	ready --listen 9913 --page
	until_json '.health' '{"status":"ok","troubles":[]}'
	sed -n '/^\.Ss The page/,/^\.Ss/p' "$top/docs/xdp-bloom.conf.5" | sed -n 's/^\.It Li //p' | sort >documented
	is "$(json 'keys[]' | tr -d '"')" "$(cat documented)" "the fields that are documented"
	is "$(json '.interfaces')" '[{"name":"edge0","mode":"native","match":"source","direction":"ingress","shared":false,"gone":false,"moved":false,"behind":0}]' "the interfaces"
	is "$(json '[.lists[]|.name,.kind,.prefixes,.age<60,.refused]')" '["bad","ban",3,true,null]' "the lists"
	is "$(json '[.hour.window,(.hour.series|length),(.minute.series|length),.bans.count,.refused]')" '["hour",60,60,0,[]]' "the rest"
	send 0 -n 100 -b banned -c clean
	until_json '[.hour.dropped.packets,([.hour.series[][2]]|add),.hour.lists[0].packets]' '[300,300,300]'
	until_json '.packets.dropped_per_second != null' true
	is "$(json '[.hour.sources[].name]|length>0')" true "the sources"
	bloom add 198.51.100.77 --ttl 1h --reason '<b>\"&'
	bloom add 198.51.100.78
	bloom add 198.51.100.79 --ttl 1m
	until_json '[.bans.count,[.bans.next[].prefix]]' '[3,["198.51.100.79","198.51.100.77","198.51.100.78"]]'
	is "$(json '.bans.next[1].reason')" '"<b>\\\"&"' "its reason"
	is "$(json '[.events[0].event,.events[0].message]')" '["add","add 198.51.100.79 --ttl 1m"]' "the last event"
	is "$(jq -r '.events[].message' page | grep -c '^restore')" 1 "the first event"
	# A version that is refused, and an interface that is gone.
	echo '<img src=x>' >list
	until_json '[.health.status,(.refused|length),.lists[0].refused.list]' '["degraded",1,"bad"]'
	[[ $(json '.health.troubles[0]') == *"list 'bad': refused since "*"<img src=x>"* ]] || fail "the trouble: $(json .health)"
	bloom detach --all
	until_json '[.health.status,.health.troubles[-1]]' '["failing","no interface is filtered"]'
	stop
}

# Who has only a number for whoever asks that the library does not take says so.
many_files() {
	need prlimit
	prepare
	# shellcheck disable=SC2016 # that shell's own
	under=(prlimit --nofile=4096 bash -c 'for ((i = 0; i < 1024; i++)); do exec {fd}</dev/null; done; exec "$@"' many)
	ready --listen 9913
	! curl -s -m 10 http://127.0.0.1:9913/healthz || fail "there is a number for who asks"
	heard "$log" "who asks here is not answered: the service has too many files open"
	stop
}

# Who does not listen has nothing of it.
nobody_asks() {
	prepare
	ready
	! grep -q libmicrohttpd "/proc/$service_pid/maps" || fail "the web library is loaded"
	stop
	ready --listen 9913
	grep -q libmicrohttpd "/proc/$service_pid/maps" || fail "the web library is not where it was looked for"
	stop
}

by_token() {
	local path wrong

	prepare
	(umask 077 && echo "$token" >secret)
	ready --listen 9913 --listen-token "$WORK/secret"
	for path in /page.json /metrics; do
		ask "$path"
		is "$code $(header WWW-Authenticate)" '401 Bearer realm="xdp-bloom"' "$path without a token"
		closed "$path"
		for wrong in "" x "${token%?}" "${token}x" "${token^^}" "$token $token" "$(printf '%300s' x | tr ' ' x)"; do
			bearer "$path" "$wrong"
			is "$code" 401 "$path with the token '$wrong'"
		done
		ask "$path" -H "Authorization: Basic $token"
		is "$code" 401 "$path with another scheme"
		ask "$path?token=$token"
		is "$code" 401 "$path with the token in what is asked for"
		bearer "$path" "$token"
		is "$code" 200 "$path with the token"
		ask "$path" -H "authorization: bearer   $token"
		is "$code" 200 "$path with the token, written in another way"
	done
	# The page has nothing in it before it has the token.
	ask /
	is "$code" 200 "the page"
	is "$(grep -c edge0 page)" 0 "what is in it of this machine"
	echo '<img src=x>' >list
	wait_until "that /healthz is degraded" degraded_in_a_word
	bearer /healthz "$token"
	is "$code $(sed -n 1p page) $(grep -c refused page)" "200 degraded 1" "/healthz with the token"
	! grep -rqs -e "$token" "$XDP_BLOOM_STATE" "/proc/$service_pid/cmdline" "/proc/$service_pid/environ" unheard || fail "the token is written down"
	stop
}

degraded_in_a_word() {
	ask /healthz
	[ "$code $(cat page)" = "200 degraded" ]
}

# figures_alone WHY: Prometheus is answered, and whoever asks for the page hears why it is not shown.
figures_alone() {
	local path

	for path in /metrics /healthz; do
		ask "$path"
		is "$code" 200 "$path without the page"
	done
	for path in / /page.json; do
		ask "$path"
		is "$code $(cat page)" "403 $1" "$path"
		closed "$path"
	done
}

# What worked goes on to work: Prometheus, from anywhere. The page needs a token there.
beyond() {
	prepare
	ready --listen 0.0.0.0:9913 --page
	figures_alone "beyond this machine the page is shown with run --listen-token FILE"
	stop
	(umask 077 && printf '%s\r\n\n' "$token" >secret)
	echo "run --listen 0.0.0.0:9913 --listen-token '$WORK/secret'" >>conf
	ready
	ask /page.json
	is "$code" 401 "page.json beyond this machine"
	bearer /page.json "$token"
	is "$code" 200 "page.json beyond this machine, with the token"
	stop
}

# Whoever listens for Prometheus shows other users of the machine no more than before.
local_users() {
	prepare
	ready --listen 9913
	figures_alone "the page is shown with run --listen-token FILE, or to every user of this machine with run --page"
	stop
	echo "run --listen 9913 --page" >>conf
	ready
	ask /page.json
	is "$code $(json '.lists[0].name')" '200 "bad"' "page.json with --page"
	stop
	(umask 077 && echo "$token" >secret)
	ready --listen-token "$WORK/secret"
	ask /page.json
	is "$code" 401 "page.json with --page and a token"
	stop
	touch empty
	refused "run: --page: there is no --listen that it would be for" run --page --config empty
	refused "run: --page: there is no --listen that it would be for" run --check --page --config empty
}

# Packet sockets, of whoever in this namespace.
sockets() {
	[ "$(tail -n +2 /proc/net/packet | wc -l)" = "$1" ]
}

# asked JQ WANTED: so it is when it is asked for once more, with packets meanwhile.
asked() {
	send 0 -n 20 -b banned -c clean
	json_is "$1" "$2"
}

# What passes is sampled while page.json is asked for, and nothing else asks for it; it ends by itself.
passing() {
	local path names='[.passing.sources[].name]|sort'

	prepare
	(umask 077 && echo "$token" >secret)
	ready --listen 9913 --listen-token "$WORK/secret"
	for path in / /page.json /metrics /healthz; do
		ask "$path"
	done
	bearer /metrics "$token"
	bearer /page.json "$token-"
	send 0 -n 20 -b banned -c clean
	wait_until "the service to count once more" has_counted "$(sent .clean.sent)"
	sockets 0 || fail "before anybody asks: $(cat /proc/net/packet)"
	stop
	ready --listen 9913 --page
	json_is '[.passing.sources,.passing.samples,.passing.why]' '[[],0,null]' || fail "the first answer: $(json .passing)"
	wait_until "a packet socket" sockets 1
	wait_until "what passes, in page.json" asked "$names" '["192.0.2.6","2001:db8::6","203.0.112.255"]'
	is "$(json '[.passing.ports[].name,(.passing.networks|length)]')" '["udp 9",3]' "ports and networks"
	is "$(json '.passing.sources[0]|keys_unsorted==["name","samples","error","packets","share","share_error"]')" true "a source"
	sockets 1 || fail "while it is asked for: $(cat /proc/net/packet)"
	patience=$((patience + 10)) wait_until "the end of it" sockets 0
	json_is '[.passing.sources,.passing.seconds]' '[[],0]' || fail "after a while: $(json .passing)"
	wait_until "the next packet socket" sockets 1
	stop KILL 137
	sockets 0 || fail "left behind: $(cat /proc/net/packet)"
}

has_counted() {
	[ "$(get .passed.packets report)" = "$1" ]
}

# Each sample stands for as many as the interface's counter says: what is said of all of them is exact.
passing_weighed() {
	prepare
	ready --listen 9913 --page
	json_is '.passing.why' null || fail "$(json .passing)"
	wait_until "a packet socket" sockets 1
	send 0 -n 2000 -b banned -c clean
	until_json '[.hour.passed.packets,(.passing.weighed|round)]|@csv' "\"$(sent '[.clean.sent,.clean.sent]|@csv')\""
	is "$(json '[.passing.sources[]|select((.share-1/3|fabs) < 2*.share_error)]|length')" 3 \
		"sources that sent a third each: $(json .passing.sources)"
	stop
}

# Interfaces come, go, come back with their number, and go to another namespace.
passing_elsewhere() {
	local away

	prepare
	veth 1
	ready --listen 9913 --page
	unshare --net sleep infinity &
	away=$!
	wait_until "another namespace" other_net $away
	wait_until "a packet socket" asks_with_sockets 1
	bloom attach edge1
	wait_until "one for each" asks_with_sockets 2
	ip link del edge1
	wait_until "one that is left" asks_with_sockets 1
	ip link set edge0 netns $away
	wait_until "none that is left" asks_with_sockets 0
	until_json '.passing.why' '"no interface of this network namespace is filtered"'
	nsenter -t $away -n ip link set edge0 netns $$
	ip link set edge0 up
	wait_until "what passes there now" asked '.passing.sources|length' 3
	is "$(json .passing.why)" null "why there is nothing"
	stop
	kill $away
}

asks_with_sockets() {
	ask /page.json
	sockets "$1"
}

other_net() {
	[ ! "/proc/$1/ns/net" -ef /proc/self/ns/net ]
}

# It says what is missing, and is none the worse for it.
passing_forbidden() {
	need setpriv
	prepare
	under=(setpriv --bounding-set -net_raw --inh-caps -net_raw)
	ready --listen 9913 --page
	until_json '[.passing.sources,.passing.seconds>0,.health.status]' '[[],true,"ok"]'
	[[ $(json .passing.why) == *"takes CAP_NET_RAW; 'run --listen ... --page' in /etc/xdp-bloom.conf gives that to the unit, after"* ]] ||
		fail "why: $(json .passing.why)"
	sockets 0 || fail "$(cat /proc/net/packet)"
	stop
}

lost_state() {
	ask /healthz
	[ "$code $(cat page)" = "503 the state is lost, or cannot be read" ]
}

# What cannot be read is null, and the health says why; it never looks like what is not there.
unreadable() {
	prepare
	ready --listen 9913 --page
	until_json '.health' '{"status":"ok","troubles":[]}'
	dd if=/dev/urandom of="$XDP_BLOOM_STATE/state.db" bs=8192 count=4 conv=notrunc status=none
	until_json '[.lists,.bans]' '[null,null]'
	[ "$(json '.health.status')" != '"ok"' ] || fail "the health: $(json .health)"
	[[ $(json '.health.troubles') == *"the state cannot be read: $XDP_BLOOM_STATE"* ]] || fail "the troubles: $(json .health)"
	wait_until "that /healthz says it" lost_state
	expect 1 "$XDP_BLOOM" status
	grep -q "the state cannot be read: $XDP_BLOOM_STATE.*'xdp-bloom state recover'" out || fail "status says: $(cat out)"
	stop
}

# A trouble with a name in it that is not UTF-8.
not_utf8() {
	export XDP_BLOOM_BPFFS=/sys/fs/bpf/xdp-bloom-$'\377'
	prepare
	ready --listen 9913 --page
	kill -STOP "$service_pid"
	rm -rf "$XDP_BLOOM_BPFFS"
	mount -o remount,ro /sys/fs/bpf || skip "the kernel cannot make a bpffs read-only"
	kill -CONT "$service_pid"
	until_json '.health.troubles[0]|contains("gone from /sys/fs/bpf/xdp-bloom-?")' true
	mount -o remount,rw /sys/fs/bpf
	stop
}

# refuses MODE TEXT MESSAGE: a token file of that.
refuses() {
	printf '%s' "$2" >secret
	chmod "$1" secret
	refused "$3" run --listen 9913 --listen-token secret --config conf
	refused "$3" run --check --listen 9913 --listen-token secret --config conf
	[ ${#2} -lt 8 ] || ! grep -qF -e "$2" err || fail "the message has the token in it: $(cat err)"
}

token_files() {
	touch conf
	refused "there is no --listen that it would be for" run --listen-token secret --config conf
	refused "run: --listen-token: secret: No such file or directory" run --listen 9913 --listen-token secret --config conf
	refuses 604 "$token" "secret: every user may read it: chmod o= secret"
	refuses 620 "$token" "others may write to it"
	refuses 600 "" "secret: no token: one line of at least 16 printable characters"
	refuses 600 "0123456789abcde" "at least 16 printable characters"
	refuses 600 "0123456789abcdef 0123456789abcdef" "without blanks"
	refuses 600 "0123456789abcdef
0123456789abcdef" "without blanks"
	refuses 600 $'0123456789abcdef\e[31m' "printable characters"
	refuses 600 "$(printf '%256s' '' | tr ' ' x)" "longer than 255 characters"
	rm secret
	mkfifo -m 600 secret
	refused "secret: not a file" run --listen 9913 --listen-token secret --config conf
	rm secret
	printf '%255s' '' | tr ' ' x >secret
	chmod 640 secret
	bloom run --check --listen 9913 --listen-token secret --config conf
}

# Whom the detector sees, and which attacks; where it is off, nothing of it.
detector() {
	prepare
	ready --listen 9913 --page
	until_json '.detector' null
	bloom detect limit udp 1/s --burst 100
	bloom detect on
	until_json '.detector | [.in_force, .above, .suspects, .busiest, .attacks]' '[true,0,0,null,[]]'
	send 0 -n 300 -c clean
	until_json '.detector | [.above, .suspects, (.attacks | length), .attacks[0].what]' \
		"[$(wc -l <clean),$(wc -l <clean),1,\"udp\"]"
	is "$(json '.detector | [.above_of, .banned_sources]')" "[{\"udp\":$(wc -l <clean)},0]" "above which limit"
	is "$(json '.detector.attacks[0] | [.ended, .sources]')" "[null,$(wc -l <clean)]" "the attack"
	is "$("$XDP_BLOOM" -j report | jq -c '[.detected[].what]')" '["udp"]' "the attack in the report"
	bloom report
	grep -qE '^detected   20.* \(not over\), many sources, UDP, [0-9]+ packets above a limit, [0-9]+ in the worst second$' out ||
		fail "$(cat out)"
	bloom report --html
	grep -q '<table id="detected">.*' out || fail "not on the page"
	bloom detect off
	until_json '.detector' null
	stop
}

run_cases page detector document networks many_files nobody_asks passing passing_weighed passing_elsewhere passing_forbidden by_token beyond local_users \
	unreadable not_utf8 token_files
