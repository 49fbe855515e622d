#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the service sees: the history behind report, Prometheus's pages, samples handed on, and a page for a browser.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

prometheus() {
	prepare
	ready --listen 9913
	send 0 -n 100 -b banned -c clean
	get_page /healthz
	is "$code $(cat page)" "200 ok" "/healthz"
	get_page /other
	is "$code" 404 "another page"
	get_page /metrics
	is "$code" 200 "/metrics"
	is "$(sed -n 's/^xdp_bloom_list_packets_total{list="bad",kind="ban"} //p' page)" 300 "dropped by the list"
	is "$(sed -n 's/^xdp_bloom_packets_total{interface="edge0",verdict="dropped".*} //p' page | jq -s add)" 300 \
		"dropped on the interface"
	bloom metrics
	# What the service alone knows stands last.
	is "$(sed 's/ .*//' out)" "$(sed '/faults_total/,$d; s/ .*//' page)" "the names on the page and of the verb"
	grep -q '^xdp_bloom_faults_total 0$' page || fail "nothing was gone, but: $(tail -n 6 page)"
	stop
	[ ! -e "$XDP_BLOOM_STATE/samples.sock" ] || fail "the socket is still there"
}

# What promtool would find in a page, for where it is not.
conventions() {
	python3 - <<-'PYTHON'
		import re, sys

		NAME = re.compile(r"xdp_bloom_[a-z][a-z0-9]*(_[a-z0-9]+)*")
		LABELS = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
		SAMPLE = re.compile(r"(\w+)(\{%s(?:,%s)*\})? (\S+)" % (LABELS, LABELS))
		helped, kinds, series, name = set(), {}, set(), None
		for line in open("page"):
		    words = line.split()
		    if words[:2] == ["#", "HELP"]:
		        name = words[2]
		        assert NAME.fullmatch(name) and len(words) > 3 and name not in helped, line
		        helped.add(name)
		    elif words[:2] == ["#", "TYPE"]:
		        assert words[2] == name and name not in kinds and words[3] in ("counter", "gauge"), line
		        kinds[name] = words[3]
		        assert (words[3] == "counter") == name.endswith("_total"), line
		        assert not re.search("_(milli|micro|nano)?(secs?|ms|us|ns|kb|mb|percent|pct|minutes|hours)(_|$)", name), line
		    else:
		        found = SAMPLE.fullmatch(line.rstrip("\n"))
		        assert found and found[1] == name and name in kinds, line
		        assert found.group(1, 2) not in series and float(found[3]) >= 0, line
		        series.add(found.group(1, 2))
		assert len(series) > 10
	PYTHON
}

by_the_conventions() {
	filtering bad
	send 0 -b banned -c clean
	bloom metrics
	mv out page
	conventions 2>err || fail "not by the conventions: $(tail -n 3 err)"
	command -v promtool >/dev/null || return 0
	expect 0 promtool check metrics <page
	is "$(cat out err)" "" "what promtool says"
}

# until_health CODE WORDS: what /healthz comes to say.
until_health() {
	wait_until "$1 and '$2' from /healthz" health_is "$1" "$2"
}

# The page may say first that there is no filter, and then which parts are gone.
health_is() {
	get_page /healthz
	[ "$code" = "$1" ] && [ "$(head -n 1 page)" = "$2" ]
}

# Not ok where the filter is gone, or the state cannot be read. An empty one is one, too.
health() {
	prepare
	mv conf later
	: >conf
	ready --listen 9913
	until_health 200 ok
	stop
	mv later conf
	ready --listen 9913
	until_health 200 ok
	tidied
	cp "$XDP_BLOOM_STATE/state.db" sound
	printf 'garbage garbage garbage' | dd of="$XDP_BLOOM_STATE/state.db" conv=notrunc status=none
	kill -HUP "$service_pid"
	until_health 503 "the state is lost, or cannot be read"
	cp sound "$XDP_BLOOM_STATE/state.db"
	kill -HUP "$service_pid"
	until_health 200 ok
	# What is no reason to take the machine out of service.
	no_agent
	until_health 200 degraded
	grep -qx "crowdsec: the agent does not answer" page || fail "no agent: $(cat page)"
	kill "$agent"
	until_health 200 ok
	mv "$XDP_BLOOM_STATE" elsewhere
	until_health 503 "the state is lost, or cannot be read"
	mv elsewhere "$XDP_BLOOM_STATE"
	until_health 200 ok
	grep -qx "healed 2 times, at last at 20[^ ]*Z" page || fail "/healthz does not say what was: $(cat page)"
	# It must not heal some of them before it cannot.
	kill -STOP "$service_pid"
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	mount -o remount,ro /sys/fs/bpf
	kill -CONT "$service_pid"
	until_health 503 "a part of the filter is gone or cannot be seen, or an interface is not filtered"
	mount -o remount,rw /sys/fs/bpf
	until_health 200 ok
	stop
}

# until_true JQ-FILTER: what report says after the service has counted, once a second.
until_true() {
	wait_until "a report with $1" report_has "$1"
}

report_has() {
	[ "$(get "$1" report --last hour)" = true ]
}

reported() {
	prepare
	ready
	send 0 -n 500 -b banned -c clean
	until_true '.dropped.packets==1500'
	is "$(get '[.lists[]|.name,.packets]' report)" '["bad",1500]' "the lists"
	is "$(get '.passed.packets' report --last day)" "$(get .packets.passed stats)" "what passed"
	is "$(get '[.sources[].name]|sort' report)" '["192.0.2.7","2001:db8::7","203.0.113.9"]' "the sources"
	is "$(get '[.networks[].name]|sort' report)" '["192.0.2.0/24","2001:db8::/48","203.0.113.0/24"]' "the networks"
	is "$(get '[.ports[].name]' report)" '["udp 9"]' "the ports"
	is "$(get '[.series[][2]]|add' report --last minute)" 1500 "the sum of the seconds"
	# Sums of a service that was killed are still there for the next.
	kill -KILL "$service_pid"
	end_of "$service_pid"
	ready
	send 0 -n 10 -b banned -c clean
	until_true '.dropped.packets==1530'
	bloom report
	grep -q '^dropped *1530 packets' out || fail "the text says: $(cat out)"
	stop
}

# A list that came later has the label of one that went; what each dropped stays its own.
of_lists_that_went() {
	prepare
	ready
	send 0 -n 100 -b banned -c clean
	until_true '.dropped.packets==300'
	bloom unload bad --force
	echo 192.0.2.7 >second
	bloom load second second
	is "$(get '[.lists[]|.name,.packets]' report)" '["bad",300]' "the lists"
	sed -i 1q banned
	send 0 -n 10 -b banned -c clean
	until_true '.dropped.packets==310'
	is "$(get '[.lists[]|.name,.packets]' report)" '["bad",300,"second",10]' "the lists"
	bloom unload second --force
	bloom add 192.0.2.7
	send 0 -n 20 -b banned -c clean
	until_true '.dropped.packets==330'
	is "$(get '[.lists[]|.name,.packets]' report)" '["bad",300,"live",20,"second",10]' "the lists and the bans"
	stop
}

without_a_service() {
	refused "there is no history" report
	prepare
	bloom load bad list
	refused "there is no history" report
}

# Two look at once, and the service as well.
handed_on() {
	local one two

	prepare
	ready
	send 0 -b banned -c clean
	until_true '.samples>=3'
	"$XDP_BLOOM" -vj watch --count 3 >one 2>one.err &
	one=$!
	"$XDP_BLOOM" -vj watch --count 3 >two 2>two.err &
	two=$!
	wait_until "the first who watches" grep -qs watching one.err
	wait_until "the second who watches" grep -qs watching two.err
	flow 0 -b banned -c clean
	end_of "$one" || fail "watch ended with $?"
	end_of "$two" || fail "watch ended with $?"
	stop_flow 0
	is "$(wc -l <one) $(wc -l <two)" "3 3" "the samples that two saw"
	stop
}

# The service goes: watch says so, in one line.
left_alone() {
	local watcher

	prepare
	ready
	"$XDP_BLOOM" -v watch >seen 2>seen.err &
	watcher=$!
	wait_until "who watches" grep -qs watching seen.err
	stop
	end_of "$watcher"
	is $? 2 "the status of watch"
	is "$(tail -1 seen.err)" "xdp-bloom: the service has gone" "what it said"
}

# What a browser makes of page.html, for where there is none: what is in it, element by element, in `out`.
parsed() {
	python3 - <<-'PYTHON'
		import html.parser

		class Page(html.parser.HTMLParser):
		    def __init__(self):
		        super().__init__()
		        self.open = []

		    def handle_starttag(self, tag, attributes):
		        assert len(dict(attributes)) == len(attributes), self.getpos()
		        print("<%s>" % " ".join([tag] + ['%s="%s"' % pair for pair in attributes]), end="")
		        if tag not in ("meta", "br", "hr", "link", "img"):
		            self.open.append(tag)

		    def handle_startendtag(self, tag, attributes):
		        assert "svg" in self.open, self.getpos()
		        self.handle_starttag(tag, attributes)
		        self.handle_endtag(tag)

		    def handle_endtag(self, tag):
		        assert self.open and self.open.pop() == tag, (tag, self.getpos())
		        print("</%s>" % tag)

		    def handle_data(self, data):
		        print(data, end="")

		page = Page()
		page.feed(open("page.html").read())
		page.close()
		assert not page.open, page.open
	PYTHON
}

says_all() {
	grep -q '<strong id="dropped">1500</strong>' out || fail "the number is not on the page"
	grep -q '<td>bad</td>' out || fail "the list is not on the page"
	grep -qE '<rect class="drop" x="[0-9.]+" y="[0-9.]+"' out || fail "there is no chart"
	! grep -qE '(src|href)=' out || fail "the page needs something else"
}

# The highest bar reaches the top, none is higher, and no table is longer than was asked for.
drawn_to_scale() {
	python3 - <<-'PYTHON' || fail "the chart is drawn wrongly"
		import re

		page = open("page.html").read()
		bars = [tuple(map(float, bar)) for bar in re.findall(r'<rect class="\w+" x="\S+" y="(\S+)" width="\S+" height="(\S+)"/>', page)]
		assert bars and abs(min(y for y, _ in bars)) < 0.01, bars
		assert all(0 <= y and y + height < 220.01 for y, height in bars), bars
		rows = {name: table.count("<tr><td>") for name, table in re.findall(r'<table id="(\w+)">(.*?)</table>', page, re.S)}
		assert rows["sources"] == rows["networks"] == 2 and rows["lists"] == 1, rows
	PYTHON
}

in_a_browser() {
	local browser

	prepare
	ready
	send 0 -n 500 -b banned -c clean
	until_true '.dropped.packets==1500 and .samples>0'
	bloom report --html --top 2
	mv out page.html
	stop
	drawn_to_scale
	expect 0 parsed
	says_all
	browser=$(command -v chromium || command -v google-chrome) || return 0
	expect 0 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$WORK/browser" --dump-dom "file://$WORK/page.html"
	says_all
}

# Whom a list drops most, as it names them; what another one drops is not its own.
busiest() {
	prepare
	printf '%s\n' 203.0.113.0/24 192.0.2.7 2001:db8:5::/48 >list
	echo 198.18.0.0/15 >others
	echo "load other '$WORK/others'" >>conf
	printf '%s\n' 203.0.113.{1..4} 192.0.2.7 2001:db8:5::1 2001:db8:5:f::2 198.18.0.1 >banned
	ready
	send 0 -n 10 -b banned -c clean
	until_true '[.sources[].packets] | length == 8 and add == 80'
	is "$(get '[.busiest[] | .entry, .samples, .packets]' lists bad)" \
		'["203.0.113.0/24",40,40,"2001:db8:5::/48",20,20,"192.0.2.7",10,10]' "the busiest"
	is "$(get '[.busiest[] | .entry, .packets]' lists other)" '["198.18.0.0/15",10]' "the busiest of the other"
	bloom lists bad
	is "$(grep 'last hour' out | tr -s ' ')" "$(cat <<-'EOF'
		busiest 203.0.113.0/24 about 40 packets in the last hour
		 2001:db8:5::/48 about 20 packets in the last hour
		 192.0.2.7 about 10 packets in the last hour
	EOF
	)" "what it says"
}

run_cases prometheus by_the_conventions health reported of_lists_that_went without_a_service handed_on left_alone in_a_browser busiest
