#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The service's page in a real browser, and what a hundred open ones cost the service.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need chromium
# shellcheck source=../support/service.sh
. "$here/service.sh"
browser() {
	expect 0 python3 "$top/tests/browser/browser.py" "$@"
}

url=http://127.0.0.1:9913/
markup='<img src=x onerror=alert(1)>'
# Expressions that become true in the page.
shows() {
	printf 'document.getElementById("%s").innerText.includes(%s)' "$1" "$(jq -n --arg text "$2" '$text')"
}
loaded='document.getElementById("updated").textContent.startsWith("as of")'
only_text='document.images.length === 0 && document.querySelectorAll("script").length === 1'

# A number is counted on while it is looked at.
updates='(n => (window.first ??= n) && n !== window.first)(+document.getElementById("hour").title.replaceAll(",", ""))'

hostile() {
	prepare
	ready --listen 9913 --page
	bloom add 5.8.1.77 --ttl 1h --reason "$markup"
	bloom add 5.8.1.78 --reason 'a reason that goes on and on, for as long as the longest that there may be, and longer than a phone is wide'
	cp list 'list of <img src=x onerror=alert(1)>'
	bloom load other 'list of <img src=x onerror=alert(1)>'
	bloom load with_the_longest_name_that_a_list_may_have_and_no_place_to_brea list
	echo "$markup" >list
}

in_a_browser() {
	hostile
	flow 0 -b banned -c clean
	browser "$url" "$loaded" "$(shows health degraded)" "$(shows troubles "list 'bad': refused since")" "$(shows troubles "$markup")" \
		"$(shows lists bad)" "$(shows lists "$markup")" "$(shows bans "$markup")" "$(shows events "$markup")" "$(shows sources 192.0.2.7)" \
		"$(shows passed-sources 192.0.2.6)" '!by("passed-sources").innerText.includes("192.0.2.7")' \
		"$(shows interfaces edge0)" "$updates" '/[0-9]% ± [0-9.]+%/.test(document.getElementById("sources").innerText)' \
		'document.querySelector("#chart path.drop").getAttribute("d").length > 0' \
		'document.getElementById("span-minute").click() || document.getElementById("chart").ariaLabel.includes("minute")' \
		"$ '$XDP_BLOOM' add 5.8.1.79 --reason later --ttl 1m" "$(shows bans later)" "$(shows bans-n 3)" \
		"lists({ hour: last.hour, lists: [{ name: '$markup', kind: 'ban', prefixes: 1, age: 1, refused: null }] }) || true" \
		"document.getElementById('lists').rows[0].cells[0].textContent === '$markup'" "$only_text"
	stop_flow 0
	stop
}

# What a service without the right to packet sockets says; it is not asked for once more.
forbidden='!asking && (clearTimeout(timer), asking = true, tables({ ...last, passing: { ...last.passing, sources: [], why:
	"<b>what passes is seen by a packet socket</b>, and that takes CAP_NET_RAW; /etc/xdp-bloom.conf gives that" } }), true)'

on_a_phone() {
	hostile
	send 0 -n 100 -b banned -c clean
	browser --width 360 "$url" "$loaded" "$(shows lists "$markup")" "$(shows bans "$markup")" "$only_text" \
		"$forbidden" "$(shows passed-sources '/etc/xdp-bloom.conf gives that')" "$only_text"
	browser --width 360 --dark "$url" "$loaded" 'getComputedStyle(document.body).backgroundColor === "rgb(17, 21, 27)"'
	stop
}

nothing_read='(page => { last = page; head(page); tables(page); draw(); return ["interfaces", "sources", "lists"].every(id =>
	by(id).innerText.includes("It cannot be read.")) && by("hour").textContent === "–" && by("readout").textContent.endsWith("cannot be read.")
	})({ ...last, lists: null, hour: null, minute: null, interfaces: null })'
# What cannot be read does not look like what is not there, and what is shown goes on.
unreadable() {
	prepare
	ready --listen 9913 --page
	browser "$url" "$loaded" "$ dd if=/dev/urandom of='$XDP_BLOOM_STATE/state.db' bs=8192 count=4 conv=notrunc status=none" \
		"$(shows troubles 'the state cannot be read')" "$(shows lists 'It cannot be read.')" "$(shows bans 'It cannot be read.')" \
		"$(shows interfaces edge0)" "$nothing_read"
	stop
}

# It asks for the token, says that one is wrong, and keeps the right one for a second look.
with_a_token() {
	local enter='(t => { token = ""; document.getElementById("token").value = t; document.getElementById("ask").requestSubmit(); return true })'

	prepare
	(umask 077 && echo 0123456789abcdef >secret)
	ready --listen 0.0.0.0:9913 --listen-token secret
	browser --allow 'status of 401' "$url" '!document.getElementById("ask").hidden' "$enter('0123456789abcdeX')" \
		"$(shows refused 'That is not the token.')" "$enter('0123456789abcdef')" "$loaded" "$(shows lists bad)" \
		'document.getElementById("ask").hidden' 'location.reload() || true' "$loaded" "$(shows lists bad)"
	stop
}

# It says that nobody answers, and goes on when somebody does.
without_a_service() {
	prepare
	ready --listen 9913 --page
	browser --allow ERR_CONNECTION_REFUSED "$url" "$loaded" "$ kill -STOP $service_pid; kill -TERM $service_pid; kill -CONT $service_pid" \
		"$(shows updated 'no answer; what is shown is of')" 'document.documentElement.className === "stale"'
	end_of "$service_pid"
}

# A hundred pages, each a client that asks as often as page.json says: what they are told is made once a second, and after their
# first questions all of them together ask twenty times a second. How much of a CPU the service takes for them depends on the
# machine, and is shown. Packets are dropped and pass all the while.
hundred() {
	local pages answers documents without with

	prepare
	for n in {1..50}; do
		printf '5.8.%d.0/24\n' "$n" >"list$n"
		echo "load list$n '$WORK/list$n'" >>conf
	done
	ready --listen 9913 --page
	seq -f '5.9.%g.7' 200 | "$XDP_BLOOM" add - --ttl 1h --reason crowd
	flow 0 -b banned -c clean
	pages=$(python3 "$top/tests/browser/pages.py" "$service_pid" 0 5) || fail "the service alone"
	read -r _ _ without <<<"$pages"
	pages=$(python3 "$top/tests/browser/pages.py" "$service_pid" 100 10) || fail "100 pages"
	read -r answers documents with <<<"$pages"
	stop_flow 0
	printf '# %s %% of a CPU without a page, %s %% with 100 open ones; %s answers, %s of them new\n' "$without" "$with" "$answers" "$documents"
	[ "$documents" -le 12 ] || fail "$documents documents in ten seconds"
	[ "$answers" -le 350 ] || fail "$answers answers in ten seconds"
	stop
}

run_cases in_a_browser on_a_phone with_a_token unreadable without_a_service hundred
