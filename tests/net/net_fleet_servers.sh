#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# xdp-bloom-fleet at servers of all kinds (fleet_servers.py): TLS with each fault of a certificate, a socket of the machine, a
# replica that is late, has no master or takes over, one that reads its data.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
tests=$(realpath "$(dirname "$0")")
sandbox "$@"
XDP_BLOOM_FLEET=$(realpath -m "${XDP_BLOOM_FLEET:-$(dirname "$XDP_BLOOM")/xdp-bloom-fleet}")
CLOCK=$(dirname "$TRAFFIC")/clock.so
export XDP_BLOOM_FLEET CLOCK
[ -x "$XDP_BLOOM_FLEET" ] || skip_all "$XDP_BLOOM_FLEET is not built"
need_redis

# at CASE: one of fleet_servers.py's.
at() {
	ip link set lo up
	chmod 755 "$WORK"
	if [ "$1" = tls ]; then
		need openssl
		[ -e "$CLOCK" ] || skip "$CLOCK is not built on this machine"
	fi
	python3 "$tests/fleet_servers.py" "$1" 2>out || fail "$(cat out)"
}

# The command itself: it believes the authority that it is told of, and says why it believes no other.
joined_by_tls() {
	need openssl
	ip link set lo up
	chmod 755 "$WORK"
	openssl req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.pem -days 2 -subj /CN=own \
		-addext subjectAltName=IP:127.0.0.1 2>/dev/null || fail "no certificate"
	redis-server --port 0 --tls-port 6390 --bind 127.0.0.1 --dir "$WORK" --save '' --tls-cert-file own.pem --tls-key-file own.key \
		--tls-ca-cert-file own.pem --tls-auth-clients no >server.log 2>&1 &
	bloom fleet join rediss://127.0.0.1:6390 --as edge-1
	"$XDP_BLOOM" fleet run >run.out 2>run.err &
	wait_until "that it says why" grep -q 'rediss://127.0.0.1:6390: TLS: .*issuer' run.err
	bloom fleet join rediss://127.0.0.1:6390 --as edge-1 --ca own.pem
	end_of $! || fail "it ended with $?"
	"$XDP_BLOOM" fleet run >run.out 2>run.err &
	wait_until "that it is up" gives true .server.up fleet
}

# An injected library tries what a hole in one could, as in net_fetch: everything is denied, and it was tried.
confined() {
	local escape

	escape=$(dirname "$TRAFFIC")/escape.so
	grep -q '^Seccomp:' /proc/self/status || skip "needs a kernel with seccomp"
	[ -e "$escape" ] || skip "$escape is not built on this machine"
	veth 0
	echo 198.51.100.0/24 >list
	bloom load drop list
	bloom attach edge0
	cp "$escape" escape.so
	chmod 755 "$WORK" escape.so
	export ESCAPE_STATE=$XDP_BLOOM_STATE/state.db ESCAPE_PIN=$XDP_BLOOM_BPFFS/slot ESCAPE_FILE=$WORK/list
	stat "$ESCAPE_STATE" "$ESCAPE_PIN" "$ESCAPE_FILE" >out || fail "nothing there to be taken"
	LD_PRELOAD=$WORK/escape.so "$XDP_BLOOM_FLEET" --version >out || fail "the library cannot be preloaded"
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s\n' "$WORK/escape.so" "$XDP_BLOOM_FLEET" >preloaded
	chmod 755 preloaded
	export PRELOADED=$WORK/preloaded
	at confined
}

run_cases 'at tls' joined_by_tls 'at unix' 'at replica' 'at loading' 'at promoted' confined
