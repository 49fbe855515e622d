#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The units under a systemd that is process 1: in namespaces, on a picture of this machine, booted twice.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need_sources
# shellcheck source=../support/systemd.sh
. "$here/systemd.sh"

install_units() {
	local changes=upper/changes

	mkdir upper
	trap 'umount upper; stop_jobs' EXIT
	mount -t tmpfs tmpfs upper
	mkdir -p $changes/usr/local/sbin $changes/etc/systemd/system $changes/var/lib
	# Whatever this machine has of it is not there.
	mknod $changes/var/lib/xdp-bloom c 0 0
	cp "$XDP_BLOOM" $changes/usr/local/sbin/
	make -s -C "$top" units PREFIX=/usr/local UNITS="$WORK/$changes/etc/systemd/system" || fail "cannot make the units"
	mkdir $changes/etc/systemd/system/xdp-bloom.service.d
	printf '[Service]\nRestartSec=0\nStandardError=append:/run/said-by-it\n' >$changes/etc/systemd/system/xdp-bloom.service.d/trial.conf
	mkdir -p $changes/usr/local/lib/systemd/system-generators
	cp "$top/packaging/systemd/xdp-bloom-generator" $changes/usr/local/lib/systemd/system-generators/
	echo "run --rotate-every 0" >$changes/etc/xdp-bloom.conf
	begin_trials $changes
}

boots() {
	install_units
	trial <<-'SH'
		said "$(state "" ActiveState), $(state -restore ActiveState), OOM: $(state "" OOMPolicy)"
		cable
		"$XDP_BLOOM" attach edge0 -q
		"$XDP_BLOOM" add 203.0.113.5
		before=$(state "" MainPID)
		# To reload is to send a signal: it may be "active" before it has heard it, and is "reloading" then.
		echo "allow 203.0.113.77" >>/etc/xdp-bloom.conf
		systemctl reload xdp-bloom.service
		until "$XDP_BLOOM" allow | grep -q 203.0.113.77; do sleep 0.1; done
		until [ "$(state "" ActiveState)" = active ]; do sleep 0.1; done
		said "read again"
		systemctl kill -s KILL xdp-bloom.service
		"$XDP_BLOOM" test 203.0.113.5 | head -1
		# It is "active" until its end is noticed, and has no process for a moment then.
		until now=$(state "" MainPID) && [ "$now" != 0 ] && [ "$now" != "$before" ]; do sleep 0.1; done
		until [ "$(state "" ActiveState)" = active ]; do sleep 0.1; done
		said "started again"
		echo "nonsense" >>/etc/xdp-bloom.conf
		systemctl kill -s KILL xdp-bloom.service
		until [ "$(state "" ActiveState)" = failed ] || [ "$(state "" NRestarts)" -gt 12 ]; do sleep 0.1; done
		sed -i '$d' /etc/xdp-bloom.conf
		until [ "$(state "" ActiveState)" = failed ] || [ "$(state "" ActiveState)" = active ]; do sleep 0.1; done
		said "many times: $(state "" ActiveState)"
		systemctl stop xdp-bloom.service
		said "stopped: $(state "" ActiveState) $(state "" Result)"
		"$XDP_BLOOM" test 203.0.113.5 | head -1
	SH
	is "$(cat said)" "$(printf '%s\n' 'active, inactive, OOM: continue' 'read again' '203.0.113.5: drop (roster)' 'started again' \
		'many times: active' \
		'stopped: inactive success' '203.0.113.5: drop (roster)')" "what the first boot says"
	# Its interface is late.
	trial <<-'SH'
		said "$(state "" ActiveState), $(state -restore ActiveState) $(state -restore Result)"
		"$XDP_BLOOM" test 203.0.113.5 | head -1
		cable
		until "$XDP_BLOOM" show | grep -q edge0; do sleep 0.1; done
		said "$(state "" StatusText)"
	SH
	is "$(head -2 said)" "$(printf '%s\n' 'active, active success' '203.0.113.5: drop (roster)')" "what the second boot says"
}

# The rights that a config asks for, and no others: sockets, programs, lists in home directories.
rights() {
	need curl
	install_units
	mkdir -p upper/changes/root upper/changes/usr/local/bin
	echo 203.0.113.0/24 | tee upper/changes/root/hand >upper/changes/root/line
	cat >upper/changes/usr/local/bin/hook <<-'SH'
		#!/bin/sh
		[ "$XDP_BLOOM_EVENT" != load ] || curl -s http://127.0.0.1:9913/healthz | head -n 1 >/var/lib/xdp-bloom/answer
	SH
	chmod +x upper/changes/usr/local/bin/hook
	trial <<-'SH'
		ip link set lo up
		"$XDP_BLOOM" load hand /root/hand -q >/dev/null
		until grep -q "'hand'" /run/said-by-it; do sleep 0.1; done
		said "$(grep -o "list 'hand': .*;" /run/said-by-it)"
		echo "run --rotate-every 0 --listen 9913" >/etc/xdp-bloom.conf
		systemctl restart xdp-bloom.service
		said "$(grep -o 'cannot listen: [^;]*' /run/said-by-it)"
		systemctl daemon-reload
		systemctl restart xdp-bloom.service
		said "listening: $(curl -sS http://127.0.0.1:9913/healthz 2>&1 | head -n 1)"
		why() { curl -s http://127.0.0.1:9913/page.json | sed -n 's/.*"passing":{"seconds":[1-9][^}]*"why":\([^:,]*\).*/\1/p' | grep .; }
		cable
		"$XDP_BLOOM" attach edge0 -q
		echo "run --page" >>/etc/xdp-bloom.conf
		systemctl restart xdp-bloom.service
		until why; do sleep 0.1; done
		systemctl daemon-reload
		systemctl restart xdp-bloom.service
		until why; do sleep 0.1; done
		echo "load line /root/line" >>/etc/xdp-bloom.conf
		echo "run --hook /usr/local/bin/hook" >>/etc/xdp-bloom.conf
		systemctl daemon-reload
		systemctl restart xdp-bloom.service
		echo 198.51.100.0/28 >>/root/line
		until "$XDP_BLOOM" test 198.51.100.9 >/dev/null; do sleep 0.1; done
		until [ -s /var/lib/xdp-bloom/answer ]; do sleep 0.1; done
		said "the hook got $(cat /var/lib/xdp-bloom/answer)"
	SH
	is "$(cat said)" "$(printf '%s\n' "list 'hand': /root/hand: Permission denied;" \
		'cannot listen: Address family not supported by protocol' 'listening: degraded' \
		'"what passes is seen by a packet socket' null 'the hook got degraded')" "what is said"
}

# Where chronyd is installed the service may ask it, and the bus it may ask anyway: a list is loaded without their servers.
asks_clocks() {
	local timesyncd

	need chronyd dbus-daemon
	{ chronyd --version && dbus-daemon --version; } >out 2>&1 || skip "chronyd or dbus-daemon: $(tail -n 1 out)"
	timesyncd=$("$here/timesyncd.sh" which "${XDP_BLOOM%/*}/peers") || skip "needs systemd-timesyncd of the package systemd-timesyncd"
	install_units
	cp "$here/timesyncd.sh" upper/changes/etc/timesyncd
	cp "$(command -v chronyd)" "$(command -v dbus-daemon)" upper/changes/usr/local/sbin/
	mkdir -p upper/changes/usr/local/lib/systemd
	cp "$timesyncd" upper/changes/usr/local/lib/systemd/
	printf '%s\n' 198.51.100.{1..9} 45.8.0.11 >upper/changes/etc/feed
	trial <<-'SH'
		ip link set lo up
		cable
		ip addr add 45.0.0.1/24 dev edge0
		ip route add default via 45.0.0.254
		echo "45.8.0.11 clock.test" >>/etc/hosts
		known() { until "$XDP_BLOOM" guards | grep -q "^45.8.0.11 "; do sleep 0.1; done; }
		loaded() {
			"$XDP_BLOOM" unload feed -q >/dev/null 2>&1
			: >/run/said-by-it
			systemctl restart xdp-bloom.service
			until grep -q 45.8.0.11 /run/said-by-it; do sleep 0.1; done
			said "$(grep -o "without 45.8.0.11[^;]*" /run/said-by-it)"
		}
		printf 'server clock.test\npidfile /run/chronyd.pid\nbindcmdaddress /\n' >/etc/clock.conf
		chronyd -x -u root -f /etc/clock.conf
		known
		echo "load feed /etc/feed" >>/etc/xdp-bloom.conf
		loaded
		kill $(cat /run/chronyd.pid)
		until ! "$XDP_BLOOM" guards | grep -q "^45.8.0.11 "; do sleep 0.1; done
		/etc/timesyncd bus 2>/dev/null &
		until [ -S /run/dbus/system_bus_socket ]; do sleep 0.1; done
		/etc/timesyncd clock.test /usr/local >/dev/null 2>&1 &
		known
		loaded
	SH
	is "$(cat said)" "$(printf 'without 45.8.0.11, a time server in use (%s)\n' 'a source of chronyd' 'the server of systemd-timesyncd')" \
		"what the service loads"
}

# A list from a server, and a fleet: the service has no network, and processes of the sockets, which are nobody, have nothing else.
fetches() {
	local program

	need pgrep
	install_units
	mkdir -p upper/changes/usr/local/lib/xdp-bloom
	for program in "${XDP_BLOOM%/*}"/xdp-bloom-{fetch,fleet}; do
		[ -x "$program" ] || skip "$program is not built"
		cp "$program" upper/changes/usr/local/lib/xdp-bloom/
	done
	cat >upper/changes/etc/server <<-'PYTHON'
		import http.server, os, time

		class List(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        open("/run/asked", "w").close()
		        while not os.path.exists("/run/answer"):
		            time.sleep(0.1)
		        self.send_response(200)
		        self.end_headers()
		        self.wfile.write(b"203.0.113.0/24\n")

		server = http.server.HTTPServer(("127.0.0.1", 8180), List)
		open("/run/serves", "w").close()
		server.serve_forever()
	PYTHON
	trial <<-'SH'
		ip link set lo up
		python3 /etc/server 2>/dev/null &
		until [ -e /run/serves ]; do sleep 0.1; done
		echo "load drop http://localhost:8180/list --every 1h --insecure --lan" >>/etc/xdp-bloom.conf
		systemctl reload xdp-bloom.service
		until [ -e /run/asked ]; do sleep 0.1; done
		fetcher=$(pgrep -x xdp-bloom-fetch)
		said "its rights: $(sed -n 's/^\(Cap[EPB][a-z]*\|NoNewPrivs\|Seccomp\):[[:space:]]*0*//p' /proc/$fetcher/status | paste -sd ' ')"
		said "its user: $(sed -n 's/^Uid:[[:space:]]*6[0-9]*[[:space:]]6[0-9]*[[:space:]].*/nobody/p' /proc/$fetcher/status)"
		[ -s /var/lib/xdp-bloom/state.db ] && said "of the state it sees: $(ls -A /proc/$fetcher/root/var/lib/xdp-bloom)"
		said "of the service: $(grep -c '^0::.*/xdp-bloom.service' /proc/$fetcher/cgroup)"
		: >/run/answer
		until "$XDP_BLOOM" -q test 203.0.113.7 >/dev/null; do sleep 0.1; done
		said "asked of the socket: $(systemctl show -P NAccepted xdp-bloom-fetch.socket)"
		while pgrep -x xdp-bloom-fetch >/dev/null; do sleep 0.1; done
		said "afterwards: $(systemctl show -P NConnections xdp-bloom-fetch.socket)"
		"$XDP_BLOOM" -q fleet join redis://localhost:8180 --as me
		until grep "^xdp-bloom: fleet" /run/said-by-it >/run/of-fleet; do sleep 0.1; done
		said "$(sed 's/;.*//' /run/of-fleet)"
		said "asked of its socket: $(systemctl show -P NAccepted xdp-bloom-fleet.socket)"
	SH
	is "$(cat said)" "$(printf '%s\n' 'its rights:    1 2' 'its user: nobody' 'of the state it sees: ' 'of the service: 0' \
		'asked of the socket: 1' 'afterwards: 0' \
		"xdp-bloom: fleet: redis://localhost:8180: it does not speak Redis's protocol" 'asked of its socket: 1')" "what is said"
}

run_cases boots rights asks_clocks fetches
