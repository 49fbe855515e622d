#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What this machine needs is not banned unawares: every need by every verb that puts something into force, each refused
# in one line that names the need and where it was learned, and done with --force. A part of that table, or all of it:
# make guards.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
stalls=$(realpath "$(dirname "$0")/stalls.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# A machine with every kind of need, in files as the programs write them that are not here.
#	ADDRESS|WHAT (WHERE)
needs() {
	cat <<-'NEEDS'
		45.0.0.1|an address of this machine (interface edge0)
		45.0.0.254|a gateway in use (route table 254)
		45.1.0.253|a gateway in use (route table 254)
		45.0.0.252|a gateway in use (route table 1234567)
		2001:db8:45::fd|a gateway in use (route table 254)
		2001:db8:45::fe|a gateway in use (route table 100)
		45.0.0.251|a gateway in use (nexthop 7)
		45.3.0.2|a point-to-point peer (interface edge1)
		45.4.0.2|the far end of a tunnel (interface edge9)
		45.4.0.3|the far end of a tunnel (forwarding table of edge9)
		45.4.0.4|the far end of a tunnel (route table 254)
		45.4.0.5|the far end of a tunnel (route table 254)
		45.4.0.6|the far end of a tunnel (neighbours of edge6)
		45.0.0.249|a gateway in use (route table 77)
		45.5.0.9|a WireGuard peer's endpoint (interface edge8)
		2001:db8:5::9|a WireGuard peer's endpoint (interface edge8)
		45.5.0.2|an IPsec endpoint (XFRM state)
		45.5.0.3|an IPsec endpoint (XFRM policy)
		45.6.0.1|a name server in use (/etc/resolv.conf)
		45.6.0.2|a name server in use (/run/systemd/resolve/resolv.conf)
		45.6.0.3|a name server in use (/run/dnsmasq/resolv.conf)
		45.6.0.4|a name server in use (/run/systemd/netif/leases/2)
		45.7.0.1|the DHCP server of a lease (/run/systemd/netif/leases/2)
		45.7.0.2|the DHCP server of a lease (/var/lib/dhcp/dhclient.eth0.leases)
		45.7.0.3|the DHCP server of a lease (/var/lib/NetworkManager/internal-7-eth0.lease)
		45.7.0.4|the DHCP server of a lease (/var/lib/dhcpcd/eth0.lease)
		45.7.0.5|the DHCP server of a lease (/run/NetworkManager/devices/2)
		45.7.0.6|the DHCP server of a lease (/var/lib/NetworkManager/dhclient-7-eth0.lease)
		45.7.0.10|the DHCP server of a lease (/var/run/xdp-bloom-leases/eth0)
		45.7.0.12|the DHCP server of a lease (/run/wicked/leaseinfo.eth0.dhcp.ipv4)
		45.7.0.13|a gateway in use (/var/run/xdp-bloom-leases/eth0)
		45.8.0.1|a time server in use (/run/chrony-dhcp/eth0.sources)
		45.8.0.2|a time server in use (/run/systemd/timesyncd.conf.d/x.conf)
		45.8.0.9|a time server in use (a socket to its port 123)
		45.8.0.7|a name server in use (a socket to its port 53)
		45.9.0.1|the peer of this SSH session (environment of process
		45.0.0.9|the peer of an SSH session (environment of process
		45.0.0.10|somebody who is connected (TCP port 8443)
		45.9.2.1|somebody who is logged in (/var/run/utmp, :7)
		2001:db8:9:2::|somebody who is logged in (/var/run/utmp, :4)
		2001:db8::9:3:0:0|somebody who is logged in (/var/run/utmp, :5)
		2001:db8::9:4|somebody who is logged in (/var/run/utmp, :6)
		45.9.3.1|somebody who is logged in (/run/systemd/sessions/5)
		45.10.0.1|the server of a feed (list 'kept')
		45.10.0.2|the CrowdSec agent (follow crowdsec)
	NEEDS
}

# The answer of 45.7.0.N, for an hour.
dhcpcd() { # N
	printf '\2\1\6%233s\143\202\123\143\65\1\5\66\4\55\7 %b\63\4  \16\20\377' '' "\\0$1" | tr ' ' '\0'
}

# As OpenWrt's script calls ours.
udhcpc() { # EVENT
	need_sources
	interface=eth0 sh -c '. "$0"' "$top/packaging/openwrt/files/xdp-bloom.udhcpc" "$1" || fail "udhcpc $1: it ended with $?"
}

files() {
	# What an emulated machine may not have.
	[ -z "${XDP_BLOOM_MACHINE:-}" ] || { touch /etc/resolv.conf && { [ -e /var/run ] || ln -s /run /var/run; }; }
	umount /etc/resolv.conf 2>/dev/null # of the case before
	mount -t tmpfs tmpfs /run
	mount -t tmpfs tmpfs /var/lib
	mkdir -p /run/{systemd/{resolve,netif/leases,timesyncd.conf.d,sessions},NetworkManager/devices,dnsmasq,chrony-dhcp,wicked} \
		/var/lib/{dhcp,dhcpcd,NetworkManager}
	printf 'search x\nnameserver 127.0.0.53\nnameserver 45.6.0.1 # first\n' >resolv.conf
	mount --bind resolv.conf /etc/resolv.conf
	echo 'nameserver 45.6.0.2%eth0' >/run/systemd/resolve/resolv.conf
	printf 'nameserver\t45.6.0.3' >/run/dnsmasq/resolv.conf
	printf '%s\n' '# private' ADDRESS=45.0.0.77 SERVER_ADDRESS=45.7.0.1 'DNS=45.6.0.4 45.6.0.5' NTP=45.8.0.3 \
		>/run/systemd/netif/leases/2
	printf 'SERVER_ADDRESS=45.7.0.3\n' >/var/lib/NetworkManager/internal-7-eth0.lease
	cat >/var/lib/dhcp/dhclient.eth0.leases <<-'LEASES'
		lease {
		  option dhcp-server-identifier 45.7.0.7;
		  expire 4 2020/01/02 00:00:00;
		}
		lease {
		  interface "eth0";
		  option dhcp-server-identifier 45.7.0.2;
		  option domain-name-servers 45.6.0.6,45.6.0.7;
		  expire 4 2099/01/01 00:00:00;
		}
	LEASES
	printf '[device]\nnext-server=45.7.0.9\n\n[dhcp4]\ndhcp4.dhcp_server_identifier=45.7.0.5\n' >/run/NetworkManager/devices/2
	printf 'lease {\n  option dhcp-server-identifier 45.7.0.6;\n}\n' >/var/lib/NetworkManager/dhclient-7-eth0.lease
	dhcpcd 4 >/var/lib/dhcpcd/eth0.lease
	dhcpcd 8 >/var/lib/dhcpcd/wlan0-x.lease
	touch -d '2 hours ago' /var/lib/dhcpcd/wlan0-x.lease
	printf "INTERFACE='eth0'\nSERVERID='45.7.0.12'\n" >/run/wicked/leaseinfo.eth0.dhcp.ipv4
	udhcpc deconfig
	serverid=45.7.0.10 router=45.7.0.13 udhcpc bound
	serverid=45.7.0.11 udhcpc nak
	echo 'server 45.8.0.1 iburst' >/run/chrony-dhcp/eth0.sources
	printf '[Time]\nNTP=45.8.0.2 time.example\n' >/run/systemd/timesyncd.conf.d/x.conf
	printf 'UID=0\nREMOTE=1\nREMOTE_HOST=45.9.3.1\n' >/run/systemd/sessions/5
	mkfifo /run/systemd/sessions/5.ref
	python3 - $$ <<-'PYTHON'
		import socket, struct, sys

		def record(kind, pid, line, address):
		    return struct.pack("=hxxi32s4s32s256shhiii16s20x", kind, pid, line, b"7", b"root", b"host", 0, 0, 0, 0, 0,
		                       socket.inet_pton(socket.AF_INET6, address) if ":" in address
		                       else socket.inet_aton(address) + bytes(12))

		with open("/run/utmp", "wb") as file:
		    file.write(record(7, int(sys.argv[1]), b":7", "45.9.2.1"))
		    file.write(record(7, int(sys.argv[1]), b":4", "2001:db8:9:2::"))
		    file.write(record(7, int(sys.argv[1]), b":5", "2001:db8::9:3:0:0"))
		    file.write(record(7, int(sys.argv[1]), b":6", "2001:db8::9:4"))
		    file.write(record(8, int(sys.argv[1]), b":8", "45.9.2.2"))
		    file.write(record(7, 2 ** 22 + 1, b":9", "45.9.2.3"))
		    # As any user may write it.
		    file.write(record(7, int(sys.argv[1]), b"pts/7", "45.9.2.4"))
	PYTHON
}

links() {
	veth 0 1 2
	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip addr add 45.0.0.1/24 dev edge0
	ip -6 addr add 2001:db8:45::1/64 dev edge0 nodad
	ip addr add 45.1.0.1/24 dev edge1
	ip addr add 45.3.0.1 peer 45.3.0.2 dev edge1
	ip route add default via 45.0.0.254
	ip route add 46.0.0.0/8 nexthop via 45.0.0.253 nexthop via 45.1.0.253 dev edge1
	ip route add 47.0.0.0/8 via 45.0.0.252 table 1234567
	ip route add 48.0.0.0/8 via inet6 2001:db8:45::fd dev edge0
	ip -6 route add 2001:db8:47::/48 via 2001:db8:45::fe table 100
	ip link add edge9 type vxlan id 9 remote 45.4.0.2 dstport 4789 dev edge0 2>err || echo 45.4.0.2 >>lacks
	bridge fdb append 00:00:00:00:00:00 dev edge9 dst 45.4.0.3 2>err || echo 45.4.0.3 >>lacks
	bridge fdb add 02:00:00:00:00:09 dev edge9 dst 45.4.0.9 dynamic 2>err || : # as packets would teach it
	ip route add 51.0.0.0/8 encap ip id 100 dst 45.4.0.4 dev edge0 2>err || echo 45.4.0.4 >>lacks
	ip route add 52.0.0.0/8 nexthop encap ip id 100 dst 45.4.0.5 dev edge0 nexthop dev edge1 2>err ||
		echo 45.4.0.5 >>lacks
	if ip link add edge6 type gre local 45.0.0.1 key 1 2>err; then
		ip link set edge6 up
		ip neigh add 10.8.0.2 lladdr 45.4.0.6 dev edge6
	else
		echo 45.4.0.6 >>lacks
	fi
	if command -v wg >/dev/null && ip link add edge8 type wireguard 2>err; then
		wg set edge8 peer "$(head -c 32 /dev/urandom | base64)" endpoint 45.5.0.9:51820
		wg set edge8 peer "$(head -c 32 /dev/urandom | base64)" endpoint '[2001:db8:5::9]:51820'
	else
		printf '%s\n' 45.5.0.9 2001:db8:5::9 >>lacks
	fi
	{ ip link add edge7 type vrf table 77 && ip link set edge7 up; } 2>err || echo 45.0.0.249 >>lacks
	# A number is reserved for it by whoever negotiates, for half a minute otherwise; that takes no cipher.
	echo 3600 >/proc/sys/net/core/xfrm_acq_expires
	ip xfrm state allocspi src 45.0.0.1 dst 45.5.0.2 proto esp mode tunnel min 256 max 300 &>err ||
		echo 45.5.0.2 >>lacks
	ip xfrm policy add dir out src 10.1.0.0/16 dst 10.2.0.0/16 tmpl src 45.0.0.1 dst 45.5.0.3 proto esp mode tunnel \
		2>err || echo 45.5.0.3 >>lacks
}

# Who is behind wire0, in a namespace of his own, is connected: to an sshd that has let him in, and to another listener.
# His session is $user's, or root's. To sshd alone, from 45.0.0.11, who has not logged in, and from 45.0.0.12, who comes as a name server would answer.
people() {
	mkfifo away here
	touch said
	unshare --net sh -c 'echo >away; read line <here; ip addr add 45.0.0.9/24 dev wire0; ip addr add 45.0.0.10/24 dev wire0
		ip addr add 45.0.0.11/24 dev wire0; ip addr add 45.0.0.12/24 dev wire0; ip link set wire0 up; exec python3 -c "
import socket, signal
held = [socket.create_connection((\"45.0.0.1\", port), source_address=source)
        for source, port in (((\"45.0.0.9\", 0), 2222), ((\"45.0.0.11\", 0), 2222), ((\"45.0.0.12\", 53), 2222),
                             ((\"45.0.0.10\", 0), 8443))]
signal.pause()"' &
	away=$!
	read -r _ <away
	ip link set wire0 netns $away
	python3 -u -c '
import os, signal, socket, sys
sshd, other = (socket.create_server(("45.0.0.1", port)) for port in (2222, 8443))
clock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
clock.connect(("45.8.0.9", 123))
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.connect(("45.8.0.7", 53))
# A server that answers each from a socket of its own.
served = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for one in served:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("45.0.0.1", 4433))
served[1].connect(("45.8.0.6", 53))
if not os.fork():
    os.setuid(65534)
    mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mine.connect(("45.8.0.8", 123))
    # At another address, at the ports that questions come from: that hides nobody who is asked.
    beside = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for one, asks in zip(beside, (clock, resolver)):
        one.bind(("45.1.0.1", asks.getsockname()[1]))
    signal.pause()
print("listening")
held = [sshd.accept(), sshd.accept(), sshd.accept(), other.accept()]
for connection, peer in held[:2]:
    # Of the other, a session of before is left in a screen.
    if not os.fork():
        os.setuid(int(sys.argv[1]))
        port = peer[1] if peer[0] == "45.0.0.9" else 1
        os.execve("/bin/sleep", ["sleep", "infinity"], {"SSH_CONNECTION": "%s %d 45.0.0.1 2222" % (peer[0], port)})
print("connected")
signal.pause()' "${user:-0}" >said &
	wait_until "the listeners" grep -q listening said
	echo >here
	wait_until "their guests" grep -q connected said
}

# As the command keeps them that has reached them: one of each. Not an address of this machine, nor what was long ago.
servers() {
	echo 'load kept https://45.10.0.1/list --every 1d' >lines
	bloom batch lines
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys, time

		with sqlite3.connect(sys.argv[1]) as db:
		    db.executemany("INSERT OR REPLACE INTO setting VALUES (?, ?)",
		                   [("server list kept 45.10.0.1", 1), ("server list kept 45.0.0.1", 1),
		                    ("server list gone 45.10.0.7", 1), ("server agent 45.10.0.2", time.time() - 29 * 86400),
		                    ("server agent 45.10.0.8", time.time() - 31 * 86400)])
	PYTHON
}

# A link that was down for a moment has lost them.
nexthops() {
	echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode
	ip nexthop add id 7 via 45.0.0.251 dev edge0
	ip route add 49.0.0.0/8 nhid 7
	[ ! -e /sys/class/net/edge7 ] || ip route add 50.0.0.0/8 via 45.0.0.249 dev edge0 table 77
}

machine() {
	files
	links
	people
	nexthops
	export SSH_CONNECTION='45.9.0.1 1 45.0.0.1 22'
	bloom guards --port 8443
	servers
	touch lacks
}

# In the table's order; what this kernel has not is left out.
each_need() {
	needs | grep -vFf <(sed 's/$/|/' lacks)
}

# What is learned, and nothing else: no other peer, nobody who only tries, no lease that ran out.
shows_all() {
	local address what

	machine
	each_need >wanted
	bloom guards
	while IFS='|' read -r address what; do
		grep -qE "^$address +no +" out || fail "guards does not know $address: $(cat out)"
		grep -F "$what" out | grep -q "^$address " || fail "guards does not say of $address: $what ($(grep "^$address" out))"
	done <wanted
	for address in 45.0.0.11 45.0.0.12 45.4.0.9 45.8.0.8 45.8.0.6 45.7.0.{7,8,9,11} 45.0.0.77 45.10.0.7 45.10.0.8 45.9.2.2 45.9.2.3 45.9.2.4 127.0.0.53; do
		! grep -q "^$address " out || fail "$address is nobody's need: $(grep "^$address " out)"
	done
	! grep -q '^45\.0\.0\.1 .*feed' out || fail "an address of this machine is another's"
	is "$(get '.ports' guards)" '[8443]' "the ports"
	is "$(get '[.needs[]|select(.address == "45.6.0.2")]' guards)" \
		'[{"address":"45.6.0.2","what":"a name server in use","where":"/run/systemd/resolve/resolv.conf","dropped":false,"granted":false}]' \
		"one of them"
	# Who only tries passwords can be banned while he does.
	bloom add 45.0.0.11 45.0.0.12
	bloom add 45.0.0.10 --force
	is "$(get '[.needs[]|select(.dropped)|[.address, .granted]]' guards)" '[["45.0.0.10",true]]' "what is dropped of them"
	bloom guards --no-port 8443
	is "$(get '.ports' guards)" '[]' "the ports"
	expect 2 "$XDP_BLOOM" guards --port 65536
}

# edge9, whose far end root has set up.
vxlan() { # END
	ip link add edge9 type vxlan id 9 dstport 4789 2>err || skip "this kernel has no VXLAN"
	bridge fdb append 00:00:00:00:00:00 dev edge9 dst "$1"
}

# A long table takes no longer than its first lines, and that is said: who fills it hides no far end that was known.
of_a_long_table() {
	need bridge
	vxlan 45.4.0.3
	bloom add 198.51.100.1
	# As packets teach it.
	python3 -c '
for i in range(33000):
    print("fdb add 02:00:00:00:%02x:%02x dev edge9 dst 45.4.0.66 dynamic" % (i >> 8, i & 255))' >neighbours
	bridge -batch neighbours
	bloom guards
	one_line "not all far ends of tunnels may be known: edge9 has more than 32768 neighbours; those that were found before stay known"
	grep -q '^45.4.0.3 .*the far end of a tunnel' out || fail "its far end is hidden: $(cat out)"
	! grep -q '45.4.0.66' out || fail "packets taught it"
	expect 2 "$XDP_BLOOM" add 45.4.0.3
	ip link del edge9
	vxlan 45.4.0.4
	bloom guards
	[ ! -s err ] || fail "it warns: $(cat err)"
	grep -q '^45.4.0.4 .*forwarding table of edge9' out || fail "the new one is not known: $(cat out)"
	! grep -q '^45.4.0.3 ' out || fail "the far end of a tunnel that is gone is known"
	bloom add 45.4.0.3
}

# Of how many answers of the kernel the needs are made.
answers() {
	strace -f -o trace -e trace=recvfrom,recvmsg,read "$XDP_BLOOM" guards >out 2>err || fail "guards: $(cat err)"
	grep -c 'recv.*= [1-9]' trace
}

are_bound() {
	[ "$(grep -c bound crowd)" = 2 ]
}

# However many sockets somebody has in one row of the kernel's table, and beside that of a name server in use: none of them is
# shown, and it is known.
of_a_crowd() {
	local without pages

	need strace
	veth 0
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge0
	ip route add 45.8.0.0/24 dev edge0
	asking 45.8.0.7
	without=$(answers)
	pages=$(grep -c 'read(' trace)
	python3 -c '
import os, resource, signal, socket

port = next(int(line.split()[1].split(":")[1], 16) for line in open("/proc/net/udp") if line.split()[2].endswith(":0035"))
resource.setrlimit(resource.RLIMIT_NOFILE, (15100, 15100))
half = os.fork()
os.setuid(65534)
held = []
for i in range(10000):
    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    held[-1].bind(("127.%d.%d.%d" % (1 if half else 2, i >> 8, i & 255), port))
for i in range(0 if half else 5000):
    held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE))
    held[-1].bind((0, 0))
os.write(1, b"bound\n")
signal.pause()' >crowd &
	wait_until "the crowd" are_bound
	is "$(answers)" "$without" "the answers of the kernel"
	# Of the list of netlink's sockets, which takes longer with each page, only the first thousand lines.
	[ "$(grep -c 'read(' trace)" -lt $((pages + 200)) ] || fail "$(grep -c 'read(' trace) pages are read, and $pages without"
	[ ! -s err ] || fail "it says: $(cat err)"
	grep -q '^45.8.0.7 .*a name server in use (a socket to its port 53)' out || fail "its name server is hidden: $(cat out)"
	kill "$asker"
}

# What beginning to filter asks the kernel's programs and maps.
questions() {
	ip link del edge0
	veth 0
	strace -f -o trace -e trace=bpf "$XDP_BLOOM" restore --spare >out 2>err || fail "restore: $(cat err)"
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	grep -c 'bpf(' trace
}

# However many routes a peer announces: each gateway is asked about once.
of_many_routes() {
	local few

	need strace
	veth 0 5
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge5
	printf '%s\n' 45.0.0.7 198.51.100.{1..9} >it
	bloom load it it
	bloom attach edge0
	ip -batch - <<<"$(printf 'route add 45.9.%d.0/24 via 45.0.0.%d\n' 1 7 2 8 3 9 4 10)"
	questions >/dev/null
	grep -q "bans 45.0.0.7, a gateway in use (route table 254): it is allowed now" err || fail "it said: $(cat err)"
	few=$(questions)
	python3 -c '
for i in range(20000):
    print("route add 46.%d.%d.0/24 via 45.0.0.%d" % (i >> 8, i & 255, 7 + i % 4))' >routes
	ip -batch routes
	is "$(questions)" "$few" "the questions"
	verdicts 45.0.0.7=pass 198.51.100.1=drop
}

# through FROM WHERE COMMAND: in a session from there it is done, and says once in a day that nobody knows how it comes here.
through() {
	rm -f "$XDP_BLOOM_STATE/carried"
	SSH_CONNECTION="$1 1 10.8.0.1 22" bloom "${@:3}"
	one_line "this SSH session ($1, $2) comes through a tunnel of a process, whose far end the guard rails do not know: 'xdp-bloom allow ADDRESS' lets it through, whatever is banned"
	SSH_CONNECTION="$1 1 10.8.0.1 22" bloom "${@:3}"
	[ ! -s err ] || fail "it is said again: $(cat err)"
}

# A session whose packets a process of this machine carries, to somebody whom nothing here knows.
through_a_tunnel() {
	printf '%s\n' 198.51.100.{1..9} >list
	printf 'add 198.51.100.20\nload b list\nadd 198.51.100.21\n' >lines
	through 127.0.0.1 lo add 198.51.100.30
	through ::1 lo load a list
	through 127.0.0.1 lo batch lines
	SSH_CONNECTION='192.0.2.1 1 192.0.2.2 22' bloom add 198.51.100.31
	[ ! -s err ] || fail "it warns: $(cat err)"
	ip tuntap add tun0 mode tun 2>why || skip "no tun device can be made here: $(cat why)"
	ip addr add 10.8.0.1/24 dev tun0
	ip link set tun0 up
	through 10.8.0.2 tun0 add 198.51.100.32
}

# What a process says that its environment is, it may choose: here a terabyte, which nobody reads to its end.
by_a_liar() {
	local liar

	machine
	python3 -c '
import ctypes, mmap, os, signal, struct

os.setuid(65534)
lie = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
at = ctypes.addressof(ctypes.c_char.from_buffer(lie))
stat = open("/proc/self/stat").read().rpartition(")")[2].split()
field = lambda n: int(stat[n - 3])
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
told = struct.pack("=12QII", field(26), field(27), field(45), field(46), field(47), libc.sbrk(0), field(28), field(48),
                   field(49), at, at + (1 << 40), 0, 0, 0xffffffff)
print("ready" if not libc.prctl(35, 14, told, len(told), 0) else "refused", flush=True)
signal.pause()' >liar.said &
	liar=$!
	wait_until "the liar" grep -qs . liar.said
	! grep -q refused liar.said || skip "needs a kernel with CONFIG_CHECKPOINT_RESTORE"
	is "$(head -c 1000000 /proc/$liar/environ | wc -c)" 1000000 "what there is of it"
	bloom add 45.0.0.11
	bloom guards
}

# By utempter any user has rows in utmp, with what text he likes, of as many ptys as he likes: he speaks for few.
of_many_ptys() {
	mount -t tmpfs tmpfs /run
	python3 - $$ <<-'PYTHON' >ptys.said &
		import os, pty, signal, struct, sys

		os.seteuid(60001)
		kept = [pty.openpty() for _ in range(40)]
		os.seteuid(0)
		with open("/run/utmp", "wb") as file:
		    for i, (_, terminal) in enumerate(kept):
		        host = "45.17.%d.%d%s" % (i % 2, i // 2, " via mosh [7]" if i % 2 else "")
		        file.write(struct.pack("=hxxi32s4s32s256shhiii16s20x", 7, int(sys.argv[1]), os.ttyname(terminal)[5:].encode(),
		                               b"7", b"nobody", host.encode(), 0, 0, 0, 0, 0, bytes(16)))
		print("written", flush=True)
		signal.pause()
	PYTHON
	wait_until "what is logged in" grep -qs written ptys.said
	bloom guards
	is "$(grep -c 'somebody who is logged in' out)" 8 "of how many he is believed: $(cat out)"
	one_line "a login from 45.17.1.8 does not count: in /var/run/utmp user 60001 has logins from more than 8 addresses"
	! grep '^45\.17\.0\..*logged in' out || fail "who is not connected is logged in"
	printf '45.17.0.%d\n' {0..19} | bloom add -
	[ ! -s err ] || fail "it warns: $(cat err)"
	printf '45.17.1.%d\n' {8..19} | bloom add -
	expect 2 "$XDP_BLOOM" add 45.17.1.7
}

# Whom a daemon speaks to that others tell whom to speak to is no name server, whatever the port: but who asks for a living.
asked_by_daemons() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add 45.18.0.0/24 dev edge0
	[ -z "${XDP_BLOOM_MACHINE:-}" ] || touch /etc/passwd
	printf '%s:/:/bin/false\n' unbound:x:990:990: www:x:991:991: >passwd
	grep -v ':x:99[0-2]:' /etc/passwd >>passwd
	mount --bind passwd /etc/passwd
	python3 -c '
import os, signal, socket
held = []
for user in 0, 990, 991, 992, 1000:
    os.seteuid(user)
    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    os.seteuid(0)
    held[-1].connect(("45.18.0.%d" % len(held), 53))
print("asks", flush=True)
signal.pause()' >asks &
	wait_until "who asks" grep -qs asks asks
	bloom guards
	is "$(sed -n 's/^\(45\.18\.0\.[0-9]\) .*a name server in use (a socket to its port 53)/\1/p' out | sort | tr '\n' ' ')" \
		"45.18.0.1 45.18.0.2 " "the name servers"
	refused "a name server in use (a socket to its port 53)" add 45.18.0.2
	bloom add 45.18.0.3 45.18.0.4 45.18.0.5
	umount /etc/passwd
}

# stall USER...: a process of each whose environment nobody can read to its end.
stall() {
	mkdir slow
	chmod 755 "$WORK"
	trap 'stop_jobs; umount -l slow' EXIT
	python3 "$stalls" slow "$@" >stalls.said &
	wait_until "those who stall" grep -qs . stalls.said
	! grep -q refused stalls.said || skip "needs FUSE: $(cat stalls.said)"
}

# Three users have the reading of their environments wait, and hide nobody by that, not even a user above them.
by_three_who_stall() {
	local began user=60009

	stall 60001 60002 60003
	machine
	unset SSH_CONNECTION
	began=$SECONDS
	expect 2 "$XDP_BLOOM" add 45.0.0.9
	grep -q "bans 45.0.0.9, the peer of an SSH session (environment of process " err || fail "not refused for that: $(cat err)"
	is "$(grep -c 'not all SSH sessions may be known: of .* the environments of 3 could not be read in time' err)" 1 \
		"how often it is said ($(cat err))"
	((SECONDS - began < 30)) || fail "it took $((SECONDS - began)) s"
}

unseen="not all SSH sessions may be known: this process may not read the environments of all others, which takes"

# Who may not read all environments says so, where somebody may have an SSH session whom nothing else tells of; and the
# service, whose unit gives no such rights, says it once for all that it starts.
what_may_not_be_read() {
	local lacks=(setpriv --bounding-set "-dac_read_search,-dac_override") n

	need setpriv
	machine
	unset SSH_CONNECTION
	setpriv --reuid 60001 --clear-groups sleep infinity &
	bloom add 45.0.0.11
	[ ! -s err ] || fail "it warns: $(cat err)"
	bloom del 45.0.0.11
	expect 0 "${lacks[@]}" "$XDP_BLOOM" add 45.0.0.11
	one_line "$unseen CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
	# Not of whom it was not asked, nor of who is known by his connection.
	expect 0 "${lacks[@]}" "$XDP_BLOOM" add 203.0.113.7
	[ ! -s err ] || fail "it warns: $(cat err)"
	expect 2 "${lacks[@]}" "$XDP_BLOOM" add 45.0.0.10
	one_line "bans 45.0.0.10, somebody who is connected"
	expect 0 "${lacks[@]}" "$XDP_BLOOM" doctor
	grep -q '^note  *SSH  *this process knows of SSH sessions only by logins' out || fail "$(cat out)"
	bloom doctor
	! grep 'SSH' out || fail "it knows of all sessions"
	printf '%s\n' 198.51.100.{1..20} 45.0.0.11 >feed
	echo "load feed '$WORK/feed'" >conf
	under=("${lacks[@]}" env)
	ready
	for n in 1 2 3; do
		printf '%s\n' 198.51.100.{1..20} 45.0.0.11 203.0.113.$n >feed
		heard "$log" "load feed: done"
	done
	is "$(grep -c "$unseen" unheard)" 1 "how often it is said: $(cat unheard)"
	bloom doctor
	grep -q '^note  *SSH  *the service knows of SSH sessions only by logins' out || fail "$(cat out)"
	stop
}

# Nor are processes read that are hidden, as they are from what runs under the unit.
what_is_hidden() {
	need setpriv
	machine
	unset SSH_CONNECTION
	mount -t proc -o hidepid=2 proc /proc || skip "no /proc can be mounted here"
	trap 'stop_jobs; umount -l /proc' EXIT
	bloom add 45.0.0.11
	[ ! -s err ] || fail "it warns: $(cat err)"
	expect 0 setpriv --bounding-set -sys_ptrace "$XDP_BLOOM" add 45.0.0.12
	one_line "$unseen CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
}

forget_grants() {
	python3 - "$XDP_BLOOM_STATE/state.db" <<-'PYTHON'
		import sqlite3, sys

		with sqlite3.connect(sys.argv[1]) as db:
		    db.execute("DELETE FROM setting WHERE name LIKE 'granted %'")
	PYTHON
}

# As if it were needed since, or banned by an older version: it is in the state, and nobody has granted it.
loaded_unasked() {
	bloom load it it --force
	forget_grants
}

reboot() {
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	let_go edge2
}

# Each: what comes before, and then the command; with --force, where that stands.
VERBS=(load image enforce add disallow unload allow batch tune rotate attach restore)

before() {
	case $1 in
	enforce) bloom load it it --shadow ;;
	disallow) bloom allow "$address" && bloom load it it ;;
	unload | allow) bloom load friends it --allow && bloom load it it ;;
	image) bloom image make it.image it ;;
	tune | rotate) loaded_unasked && reboot ;;
	attach) loaded_unasked ;;
	restore) bloom attach edge2 && loaded_unasked && reboot ;;
	esac
}

# command VERB [--force]
command_of() {
	case $1 in
	load) command=(load it it) ;;
	image) command=(load --image it.image) ;;
	enforce) command=(enforce it) ;;
	add | disallow) command=("$1" "$address") ;;
	unload) command=(unload friends) ;;
	allow) command=(load friends other --allow --big-change) ;;
	tune) command=(tune --headroom $((RANDOM % 50 + 20))) ;;
	rotate | restore) command=("$1") ;;
	attach) command=(attach edge2) ;;
	batch)
		printf 'load other other --force\nadd %s %s\ntune --samples 7\n' "$address" "${2:-}" >lines
		command=(batch lines)
		return
		;;
	esac
	command+=(${2:+"$2"})
}

# lets_begin VERB WHAT: a list that nobody renews is no reason to filter nothing.
lets_begin() {
	[[ $1 = @(tune|rotate|attach|restore) && $2 = @(*feed*|*agent*) ]]
}

# refuses VERB ADDRESS WHAT
refuses() {
	local verb=$1 address=$2 what=$3 command generation

	"$XDP_BLOOM" detach --all &>/dev/null
	"$XDP_BLOOM" flush &>/dev/null
	[[ $what != *feed* ]] || servers
	echo "$address" >it
	echo 198.51.100.77 >other
	before "$verb"
	generation=$(get .generation show)
	command_of "$verb"
	if lets_begin "$verb" "$what"; then
		expect 0 "$XDP_BLOOM" "${command[@]}"
		grep -q " bans $address, $what" err || fail "what '${command[*]}' says: $(cat err)"
		verdicts "$address=drop"
		return
	fi
	expect 2 "$XDP_BLOOM" "${command[@]}"
	one_line " bans $address, $what"
	one_line "; --force bans it"
	is "$(get .generation show)" "$generation" "the generation after '${command[*]}'"
	[ "$verb" != attach ] || is "$(xdp_id edge2)" none "the program on edge2"
	[ "$verb" != batch ] || expect 1 "$XDP_BLOOM" test 198.51.100.77
	command_of "$verb" --force
	expect 0 "$XDP_BLOOM" "${command[@]}"
	verdicts "$address=drop"
	is "$(get "[.needs[]|select(.address == \"$address\")|.granted]|all" guards)" true "whether $address is granted"
	# What was granted is not asked again; what is not banned any more is granted no more.
	bloom rotate
	[ "$verb" != restore ] || { reboot && bloom restore && verdicts "$address=drop"; }
	bloom flush
	is "$(get "[.needs[]|select(.granted)]|length" guards)" 0 "what is granted without a ban"
}

# Every other need by a verb, and every verb by a need, or all by all.
table() {
	local address what i=0 verb count=0

	machine
	each_need >wanted
	# shellcheck disable=SC2094 # only read
	while IFS='|' read -r address what <&3; do
		for verb in "${VERBS[@]}"; do
			i=$((i + 1))
			# An image takes the place of all lists, and there is no feed any more.
			[[ $verb/$what != image/*feed* ]] || continue
			[ "${GUARDS:-}" = all ] || [ $(((i + XDP_BLOOM_SEED) % (2 * ${#VERBS[@]} + 1))) = 0 ] || continue
			refuses "$verb" "$address" "$what"
			count=$((count + 1))
		done
	done 3<wanted
	[ ! -s lacks ] || echo "# this kernel, or machine, has no $(sort -u lacks | tr '\n' ' ')"
	echo "# $count of $((i)) were refused, and done with --force: $(wc -l <wanted) needs, ${#VERBS[@]} verbs"
}

is_banned() {
	"$XDP_BLOOM" test "$1" &>/dev/null
}

is_let_in() {
	"$XDP_BLOOM" bans &>/dev/null
	! is_banned "$1"
}

# What others than root have a say in holds up nothing else: a list is loaded without it.
said_by_others() {
	[[ $1 = *'('@("a socket to"|"environment of"|"TCP port"|/var/run/utmp|/run/systemd/sessions/|"list '"|"follow crowdsec")* ]]
}

# speaks_against LIST ADDRESS WHAT: what the service says of it.
speaks_against() {
	if said_by_others "$3"; then
		heard "$log" "list '$1' is loaded without $2, $3"
	else
		heard "$log" "$2 bans $2, $3"
		[[ $line = *"; --force bans it; nothing was loaded" ]] || fail "other words: $line"
	fi
}

# The same words by the service: a config line, and a new version of a feed.
by_the_service() {
	local address what n=0

	machine
	unset SSH_CONNECTION
	each_need | grep -v 'this SSH session' >wanted
	[ "${GUARDS:-}" = all ] || shuf -n 3 --random-source=<(yes "$XDP_BLOOM_SEED") wanted -o wanted
	printf '198.51.100.%d\n' {1..9} >feed
	echo "load feed '$WORK/feed'" >conf
	ready
	while IFS='|' read -r address what <&3; do
		n=$((n + 1))
		printf '%s\n' 198.51.100.{1..9} "$address" >feed
		speaks_against feed "$address" "$what"
		verdicts 198.51.100.1=drop "$address=pass"
		# Before the ban is agreed to: the feed could then bring it, and be refused for having lost it.
		printf '198.51.100.%d\n' {1..9} >feed
		heard "$log" "load feed: done"
		echo "$address" >"line$n"
		printf "load feed '%s/feed'\nload line%d '%s/line%d'\n" "$WORK" $n "$WORK" $n >conf
		kill -HUP "$service_pid"
		speaks_against line$n "$address" "$what"
		heard "$notes" READY=1
		printf "load feed '%s/feed'\nload line%d '%s/line%d' --force\n" "$WORK" $n "$WORK" $n >conf
		kill -HUP "$service_pid"
		wait_until "the ban of $address" is_banned "$address"
		heard "$notes" READY=1
		bloom unload "line$n"
		echo "load feed '$WORK/feed'" >conf
		kill -HUP "$service_pid"
		heard "$notes" READY=1
	done 3<wanted
	stop
}

# Whoever can have this machine ask one address of the next version freezes no list by that: it is loaded without it.
left_out() {
	local asker generation

	veth 0
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge0
	ip route add 45.8.0.0/24 dev edge0
	printf '198.51.100.%d\n' {1..9} >feed
	printf "load feed '%s/feed'\nattach edge0\n" "$WORK" >conf
	ready
	asking 45.8.0.7
	printf '45.8.0.%d\n' 6 7 8 >>feed
	heard "$log" "list 'feed' is loaded without 45.8.0.7, a name server in use (a socket to its port 53); the service loads"
	verdicts 198.51.100.1=drop 45.8.0.6=drop 45.8.0.7=pass 45.8.0.8=drop
	expect 1 "$XDP_BLOOM" status
	grep -q "list 'feed': its next version was refused, since .*: only in part, without 45.8.0.7, a name server in use" out ||
		fail "status says: $(cat out)"
	is "$(get length allow)" 0 "the exceptions"
	# Once more it is the same, which is no news.
	generation=$(get .generation show)
	kill -HUP "$service_pid"
	heard "$notes" READY=1
	is "$(get .generation show)" "$generation" "the generation after the same version"
	! grep -q 'loaded without' unheard || fail "it said: $(cat unheard)"
	# Nobody else leaves anything out, and what root says nobody does.
	refused "45.8.0.7, a name server in use (a socket to its port 53)" load feed feed
	echo 45.0.0.1 >>feed
	heard "$log" "45.0.0.1 bans 45.0.0.1, an address of this machine"
	verdicts 45.8.0.6=drop 45.8.0.7=pass
	sed -i '$d' feed
	# When that is over it has its turn with all that was refused.
	kill "$asker"
	end_of "$asker" || true
	kill -HUP "$service_pid"
	wait_until "the rest of it" is_banned 45.8.0.7
	heard "$notes" READY=1
	bloom status
	# How much of a first version that is, is no growth: the next one is held against all of it.
	asking 45.8.0.20
	printf '45.8.0.%d\n' 20 21 >short
	echo "load short '$WORK/short'" >>conf
	kill -HUP "$service_pid"
	heard "$log" "list 'short' is loaded without 45.8.0.20"
	heard "$notes" READY=1
	kill "$asker"
	end_of "$asker" || true
	kill -HUP "$service_pid"
	wait_until "the rest of the short one" is_banned 45.8.0.20
	heard "$notes" READY=1
	bloom status
	stop
}

# Nobody can answer at boot, and a refusal would leave no filter: what is needed is let through, all else is filtered.
spares_at_boot() {
	machine
	printf '%s\n' 45.0.0.254 45.0.0.10 45.9.3.1 198.51.100.0/24 >it
	bloom attach edge2
	loaded_unasked
	bloom add 45.6.0.1 --force
	reboot
	expect 2 "$XDP_BLOOM" restore
	one_line "45.0.0.254 bans 45.0.0.254, a gateway in use"
	is "$(xdp_id edge2)" none "the program on edge2"
	expect 0 "$XDP_BLOOM" restore --spare
	grep -q "45.0.0.254 bans 45.0.0.254, a gateway in use (route table 254): it is allowed now; 'disallow 45.0.0.254 --force' ends that" err ||
		fail "what it said: $(cat err)"
	# A guest, by a connection or a login, is not let in for good; what was granted stays so.
	verdicts 45.0.0.254=pass 198.51.100.7=drop 45.0.0.10=drop 45.9.3.1=drop 45.6.0.1=drop
	[ "$(xdp_id edge2)" != none ] || fail "edge2 is not filtered"
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254"]' "the exceptions"
	is "$(jq -rc 'select(.event=="guard").message' "$XDP_BLOOM_STATE/events" | tail -n 1)" \
		"45.0.0.254 bans 45.0.0.254, a gateway in use (route table 254): it is allowed now" "the event"
	bloom rotate
	verdicts 45.0.0.254=pass
	bloom disallow 45.0.0.254 --force
	verdicts 45.0.0.254=drop
	# An interface that comes is a beginning, too.
	forget_grants
	bloom detach edge2
	expect 2 "$XDP_BLOOM" attach edge1
	one_line "what is loaded bans"
	bloom attach edge1 --force
	bloom restore
}

network_up() {
	echo 'nameserver 45.6.0.1' >resolv.conf
	mount --bind resolv.conf /etc/resolv.conf
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via 45.0.0.254
}

# restored_early ADDRESS...: the machine starts with a list that bans these, and its network is not up.
restored_early() {
	veth 0
	ip link set lo up
	umount /etc/resolv.conf 2>/dev/null
	printf '%s\n' "$@" 198.51.100.{1..9} >it
	bloom attach edge0
	bloom load it it
	rm -rf "$XDP_BLOOM_BPFFS"
	ip link del edge0
	veth 0
	bloom restore --spare
	is "$(get length allow)" 0 "the exceptions before the network is up"
	: >conf
}

# Before the network is up nothing is needed: the service asks again, once, and takes back no decision.
asked_again() {
	restored_early 45.0.0.25{3,4} 45.6.0.1
	network_up
	ready
	verdicts 45.0.0.254=pass 45.6.0.1=pass 45.0.0.253=drop 198.51.100.1=drop
	stop
	is "$(jq -rc 'select(.event=="guard").message' "$XDP_BLOOM_STATE/events" | head -n 1)" \
		"what is loaded bans 45.0.0.254, a gateway in use (route table 254): it is allowed now" "the event"
	bloom disallow 45.0.0.254 --force
	ip route replace default via 45.0.0.253
	ready
	stop
	is "$(get '[.[].prefix]' allow)" '["45.6.0.1"]' "the exceptions after its next start"
	verdicts 45.0.0.254=drop 45.0.0.253=drop 45.6.0.1=pass
}

# A lease that comes behind the service: nobody was there to be asked about until then.
asked_when_it_comes() {
	restored_early 45.0.0.25{3,4} 45.6.0.1
	ready
	network_up
	wait_until "the exceptions" has_exceptions '["45.0.0.254","45.6.0.1"]'
	verdicts 45.0.0.254=pass 45.6.0.1=pass 45.0.0.253=drop 198.51.100.1=drop
	# The network is up.
	ip route replace default via 45.0.0.253
	kill -HUP "$service_pid"
	heard "$log" "what this machine needs is dropped: 45.0.0.253, a gateway in use"
	stop
	verdicts 45.0.0.254=pass 45.0.0.253=drop
}

# The network comes up, and nothing that it needs is banned: what is needed from then on is no more let through.
asked_no_more() {
	restored_early 45.0.0.253
	ready
	network_up
	wait_until "the end of the question" is_asked
	stop
	ip route replace default via 45.0.0.253
	ready
	stop
	is "$(get length allow)" 0 "the exceptions"
	verdicts 45.0.0.253=drop
}

is_asked() {
	python3 -c '
import sqlite3, sys
row = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("SELECT value FROM setting WHERE name = ?", ("restored early",)).fetchone()
sys.exit(bool(row and row[0]))' "$XDP_BLOOM_STATE/state.db"
}

has_exceptions() {
	[ "$(get '[.[].prefix] | sort' allow)" = "$1" ]
}

# What is needed later is said, once, and let through by nobody but the operator.
said_when_needed() {
	veth 0
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge0
	printf '%s\n' 45.0.0.25{3,4} 198.51.100.{1..9} >it
	bloom load it it
	bloom attach edge0
	: >conf
	ready --listen 9913
	ip route add default via 45.0.0.254
	kill -HUP "$service_pid" # nobody waits for a minute
	heard "$log" "what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow 45.0.0.254' lets it through"
	wait_until "that it is kept" grep -q 45.0.0.254 "$XDP_BLOOM_STATE/needs"
	expect 1 "$XDP_BLOOM" status
	grep -q "what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow" out ||
		fail "status says: $(cat out)"
	get_page /healthz
	grep -q "what this machine needs is dropped: 'xdp-bloom status' says what" page || fail "/healthz says: $(cat page)"
	verdicts 45.0.0.254=drop
	is "$(get length allow)" 0 "the exceptions"
	is "$(jq -rc 'select(.event=="fault").message' "$XDP_BLOOM_STATE/events")" \
		"what this machine needs is dropped: 45.0.0.254, a gateway in use; 'xdp-bloom allow 45.0.0.254' lets it through" "the event"
	# The next one, and that one no more. What the operator grants is no fault.
	bloom allow 45.0.0.254
	ip route add 192.0.2.0/24 via 45.0.0.253
	kill -HUP "$service_pid"
	heard "$log" "what this machine needs is dropped: 45.0.0.253"
	wait_until "that the other one is none" is_fault_no_more 45.0.0.254
	bloom add 45.0.0.253 --force
	kill -HUP "$service_pid"
	wait_until "that nothing is wrong" is_fault_no_more 45.0.0.253
	bloom status
	stop
	! grep -q "dropped: 45.0.0.25" unheard || fail "it said it twice: $(cat unheard)"
}

is_fault_no_more() {
	! grep -q "$1" "$XDP_BLOOM_STATE/needs" 2>/dev/null
}

has_gone_back() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(get '.waiting' show)" = '[]' ]
}

# What is spared while exceptions wait to be confirmed is spared behind that, too.
spares_beside_a_trial() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	echo 45.0.0.254 >it
	bloom load it it
	bloom attach edge0
	bloom allow 198.51.100.1 --confirm 2
	ip route add default via 45.0.0.254
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom restore --spare
	grep -q "it is allowed now" err || fail "what it said: $(cat err)"
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254","198.51.100.1"]' "the exceptions on trial"
	wait_until "they have gone back" has_gone_back
	verdicts 45.0.0.254=pass
	is "$(get '[.[].prefix]' allow)" '["45.0.0.254"]' "the exceptions"
	bloom disallow 45.0.0.254 --force
	verdicts 45.0.0.254=drop
}

waits_alone() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(get '[.waiting[].name]' show)" = "[\"$1\"]" ]
}

granted_after_a_start() {
	is "$(get '[.needs[]|select(.granted and .dropped)|.address]' guards)" "[\"$1\"]" "what is granted behind it"
	rm -r "$XDP_BLOOM_BPFFS"
	bloom restore
	verdicts "$1"=drop
	bloom flush
	bloom load other other
}

# What was granted is granted when a trial has gone back that had taken its ban out, or that was another one: whoever
# starts the machine then is not refused.
grants_come_back() {
	local address=45.0.0.254 first trial

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	echo 198.51.100.1 >other
	printf '%s\n' "add $address --force" 'add 198.51.100.2 --confirm 2' >lines
	bloom load other other
	while IFS='|' read -r first trial; do
		# shellcheck disable=SC2086 # words
		bloom $first
		# shellcheck disable=SC2086
		[ -z "$trial" ] || bloom $trial --confirm 2
		wait_until "it has gone back" has_gone_back
		granted_after_a_start $address
	done <<-TRIALS
		load g it --force|unload g
		add $address --force|allow $address
		add $address --force|add $address --replace --ttl 1
		batch lines|
	TRIALS
	bloom flush
	bloom image make it.image it
	bloom image make other.image other
	bloom load --image it.image --force
	bloom load --image other.image --confirm 2
	wait_until "the image has gone back" has_gone_back
	granted_after_a_start $address
	bloom load g it --force --confirm 1h
	bloom add 198.51.100.2 --confirm 2
	wait_until "the other has gone back" waits_alone g
	bloom confirm
	granted_after_a_start $address
	# What a list has, too, stays granted where an edit takes out the ban.
	bloom load g it --force
	bloom add $address --force
	bloom del $address
	granted_after_a_start $address
}

# A trial that is ended by hand takes what was granted for it along, and no other one makes that good.
trials_ended() {
	local address=45.0.0.254 trial end

	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip link add edgetop type bridge
	ip link set edge1 down
	ip link set edge1 master edgetop
	echo $address >it
	bloom load g it
	bloom load tried it --shadow
	ip route add default via $address
	while IFS='|' read -r trial end; do
		# shellcheck disable=SC2086 # words
		bloom $trial --force --confirm 1h
		bloom add 198.51.100.2 --confirm 2h
		is "$(get '[.needs[]|select(.granted)]|length' guards)" 1 "what is granted to: $trial"
		# shellcheck disable=SC2086
		bloom $end
		bloom confirm
		is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind: $end"
		refused "$address, a gateway in use" attach edge0
		bloom del 198.51.100.2
	done <<-TRIALS
		attach edge0|detach edge0
		attach edge0|detach --all
		attach edgetop --ports|detach edgetop --ports
		load h it|unload h
		enforce tried|unload tried
	TRIALS
	ip link del edgetop
}

how_many_are_granted() {
	get '[.needs[]|select(.granted)]|length' guards
}

# One that ends while another one waits as long: what is left of the grant is what that bans.
trials_ended_beside_others() {
	local it="45.0.0.254, a gateway in use"

	veth 0 1 2
	ip addr add 45.0.0.1/24 dev edge0
	echo 45.0.0.254 >it
	echo 99.1.1.1 >other
	bloom load a it
	ip route add default via 45.0.0.254
	printf '%s\n' 'load b it --force --confirm 1h' 'load c other --confirm 1h' >lines
	bloom batch lines
	bloom unload b
	is "$(how_many_are_granted)" 0 "how many are granted beside the other list"
	bloom confirm
	refused "$it" attach edge1
	bloom unload c
	bloom batch lines
	bloom unload c
	is "$(how_many_are_granted)" 1 "how many are granted to the list"
	bloom confirm
	bloom attach edge1
	bloom detach edge1
	bloom unload b
	forget_grants
	printf '%s\n' 'load b it --force --confirm 30m' 'load c other --confirm 2h' >lines
	bloom batch lines
	refused "$it" attach edge1 --confirm 1h
	bloom confirm
	bloom unload b
	forget_grants
	bloom attach edge0 edge1 --force --confirm 1h
	bloom detach edge0
	is "$(how_many_are_granted)" 1 "how many are granted beside the other interface"
	bloom load b it --force --confirm 2h
	refused "$it" attach edge2
	bloom unload b
	refused "$it" attach edge2 --confirm 90m
	bloom attach edge2 --confirm 30m
	bloom detach edge2
	bloom detach edge1
	is "$(how_many_are_granted)" 0 "how many are granted behind all of it"
}

# Each line of a batch for itself, where the address has been banned for as long already.
grants_by_lines() {
	local address=45.0.0.254 force

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	echo $address >it
	echo 198.51.100.1 >other
	bloom load g it
	bloom load s it --shadow
	bloom load b it
	bloom load other other
	bloom allow 45.0.0.255
	ip route add default via $address
	for force in "load h it" "enforce s" "unload b" "disallow $address/31"; do
		echo "$force --force --confirm 2"
	done >lines
	echo 'add 198.51.100.2 --force' >>lines
	bloom batch lines
	is "$(get '[.needs[]|select(.granted and .dropped)|.address]' guards)" "[\"$address\"]" "what is granted on trial"
	wait_until "it has gone back" has_gone_back
	is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind it"
	printf '%s\n' "load h it --force" 'add 198.51.100.3 --confirm 2' "add $address --force" >lines
	bloom batch lines
	wait_until "it has gone back" has_gone_back
	granted_after_a_start $address
}

# What is judged by the IPv4 address within is banned by that: whether the ban comes later, or the setting.
embedded() {
	local it="198.51.100.1 bans 198.51.100.1, a gateway in use (it is within 64:ff9b::c633:6401)"

	veth 0
	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip -6 route add 2001:db8:1::/48 via 64:ff9b::c633:6401 dev edge0 onlink
	bloom add 198.51.100.1
	refused "$it" tune --embedded on
	bloom tune --embedded on --force
	verdicts 64:ff9b::c633:6401=drop
	bloom del 198.51.100.1
	verdicts 64:ff9b::c633:6401=pass
	refused "$it" add 198.51.100.1
	echo 198.51.100.1 >it
	refused "$it" load it it
	bloom load it it --force
	forget_grants
	bloom attach edge0 --force
	forget_grants
	rm -rf "${XDP_BLOOM_BPFFS:?}"
	let_go edge0
	bloom restore --spare
	verdicts 64:ff9b::c633:6401=pass
	bloom tune --embedded off
}

# Without a roster the filter drops some of all that is not banned: never what is needed, whatever puts it into force.
by_no_chance() {
	local n

	machine
	# Their neighbours are banned: elsewhere the gate would let them pass.
	needs | cut -d '|' -f 1 | sed -n 's/^\(45.*\)\.[0-9]*$/\1/p' | sort -u | while read -r n; do
		printf "$n.%d\n" {200..230}
	done >many
	judge list 20000 0 0 | grep -v '^45\.' >>many # a filter of more than a page
	bloom load many many --bogons=keep
	bloom tune --exact=off --fpr 0.1 --headroom 60 --force
	for n in {1..8}; do
		[ $((n % 2)) = 0 ] || bloom rotate
		[ $((n % 2)) = 1 ] || XDP_BLOOM_SEED=$((XDP_BLOOM_SEED + n)) judge list 4000 0 0 | grep -vE '^(0|45|127)\.' | bloom add -
		is "$(get '[.needs[]|select(.dropped)]|length' guards)" 0 "the needs that are hit by chance"
	done
}

# What is granted for a while, or for what waits to be confirmed, is granted for that: what stays longer is asked about.
for_a_while() {
	local address=45.0.0.254 it="bans 45.0.0.254, a gateway in use (route table 254)" in=''

	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom image make it.image it
	for in in '' scoped; do
		[ -z "$in" ] || bloom load scoped other --only tcp/22
		bloom add $address --ttl 1h --force
		bloom load other other
		bloom rotate
		# Nor for a moment longer: each could be asked for anew.
		refused "$it" add $address --ttl 3601s
		refused "$it" add 45.0.0.254/31 --ttl 3601s
		bloom add $address --ttl 50m
		refused "$it" load second it
		refused "$it" load second it --only tcp/22
		# What is put on trial may be confirmed.
		refused "$it" load second it --confirm 30m
		refused "$it" add 45.0.0.254/31 --confirm 30m
		refused "$it" add $address --ttl 2h
		refused "$it" add $address
		refused "$it" add 45.0.0.254/31 --ttl 2h
		echo "+$address 2h" >lines
		expect 1 "$XDP_BLOOM" follow - <lines
		grep -q "$it" err || fail "what follow says: $(cat err)"
		printf 'load other other\nload second it\n' >commands
		refused "$it" batch commands
		bloom load second it --shadow
		refused "$it" enforce second
		refused "$it" enforce second --confirm 30m
		bloom enforce second --force
		bloom rotate
		bloom add $address --ttl 2h
		bloom del $address
		bloom load third it
		verdicts $address=drop
		bloom unload second third
		is "$(get "[.needs[]|select(.granted)]|length" guards)" 0 "what is granted without a ban"
		# What waits goes back, and leaves nothing behind it.
		bloom load second it --confirm 1h --force
		bloom rotate
		refused "$it" load third it --confirm 1h
		bloom load third it --confirm 30m
		refused "$it" load fourth it --confirm 2h
		refused "$it" load fourth it
		refused "$it" add $address
		bloom confirm
		bloom load fourth it
		bloom unload second third fourth
		bloom add $address --confirm 1h --force
		refused "$it" load second it
		bloom confirm
		bloom load second it
		bloom unload second
		bloom del $address
		bloom load second it --confirm 2 --force
		# It may just go back.
		expect 2 "$XDP_BLOOM" load third it
		grep -q "$it" err || fail "what load says: $(cat err)"
		wait_until "$address passes" is_let_in $address
		bloom unload other ${in:+scoped}
	done
	bloom image make other.image other
	bloom load --image other.image
	bloom add $address --ttl 1h --force
	bloom rotate
	refused "$it" add $address
	refused "$it" load --image it.image
	refused "$it" load --image it.image --confirm 30m
	bloom load --image it.image --force
	bloom rotate
	bloom add $address
}

is_no_ban() {
	! "$XDP_BLOOM" bans | grep -q "^$1"
}

# The last exception that lasts is not taken away beside a trial behind which the address is banned: what waits may be
# another exception, or a ban or list that comes back.
taken_beside_a_trial() {
	local address=45.0.0.254 back trial
	local trials=("load b other --confirm 1h --big-change" "unload b --confirm 1h" "shadow b --confirm 1h"
		"add $address --replace --ttl 1 --confirm 1h" "load a it --allow --confirm 1h")

	back="$address, a gateway in use (route table 254), would be banned when what waits for confirmation goes back"
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	echo 198.51.100.1 >other
	bloom load other other
	for trial in "${trials[@]}"; do
		bloom allow $address
		if [ "${trial#* b }" != "$trial" ]; then bloom load b it; else bloom add $address; fi
		# shellcheck disable=SC2086 # words
		bloom $trial
		[ "${trial#add}" = "$trial" ] || wait_until "the ban is over" is_no_ban $address
		refused "$back" disallow $address
		bloom rotate
		bloom load other other
		bloom disallow $address --force
		bloom flush
		bloom load other other
	done
	# Of two exceptions one is enough, as long as it stays.
	bloom allow $address
	bloom load a it --allow --confirm 1h
	bloom load c it --allow
	bloom add $address
	bloom disallow $address
	refused "$back" unload c
	bloom flush
	bloom image make it.image it
	bloom image make other.image other
	bloom load --image other.image
	bloom allow $address
	bloom load --image it.image
	bloom load --image other.image --confirm 1h
	refused "$back" disallow $address
	bloom allow 198.51.100.7
	bloom disallow 198.51.100.7
}

# The gateway 45.0.0.254 is in the file `it`; another list is loaded.
gateway_in_a_list() {
	veth 0
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via 45.0.0.254
	echo 45.0.0.254 >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom load other other
}

# What is out on trial comes back, and is granted then: that is not now, and no other packets.
beside_a_trial() {
	local address=45.0.0.254 it="bans 45.0.0.254, a gateway in use (route table 254)" first trial line

	gateway_in_a_list
	while IFS='|' read -r first trial line; do
		# shellcheck disable=SC2086 # words
		bloom $first --force
		# shellcheck disable=SC2086
		bloom $trial --confirm 1h
		bloom load other other
		# shellcheck disable=SC2086
		refused "$it" $line
		bloom rotate
		bloom add 198.51.100.77
		# shellcheck disable=SC2086
		bloom $line --force
		bloom rotate
		bloom flush
		bloom load other other
	done <<-TRIALS
		load a it|unload a|load b it
		load a it|shadow a|add $address
		load a it|load a other --big-change|load b it --only tcp/22
		load a it --only tcp/80|unload a|load b it --only tcp/22
		add $address|add $address --replace --ttl 1|load b it
	TRIALS
	bloom flush
	bloom image make other.image other
	bloom add $address --force
	bloom load --image other.image --force --confirm 1h
	refused "$it" add $address
	bloom add 198.51.100.78
	bloom flush
	# What nobody was asked about: it became a need later.
	ip route del default
	bloom load a it --only tcp/80
	ip route add default via $address
	bloom allow $address --confirm 1h
	refused "$address, a gateway in use (route table 254), would be banned when what waits" load b it --only tcp/22
	bloom load b it --only tcp/80
	bloom flush
	# Nothing is in force.
	bloom load a it --only tcp/80 --force
	rm -r "$XDP_BLOOM_BPFFS"
	refused "$it" load b it --only tcp/22
	bloom load b it --only tcp/80
	bloom restore
	verdicts $address=drop
}

# What was forced for a trial ends with it, whatever date that has.
date_set_beside_a_trial() {
	local address=45.0.0.254 ahead

	[ -e "${TRAFFIC%/*}/clock.so" ] || skip "clock.so is not built"
	gateway_in_a_list
	for ahead in 86400 -86400; do
		echo $ahead >ahead
		expect 0 env LD_PRELOAD="${TRAFFIC%/*}/clock.so" CLOCK_AHEAD="$WORK/ahead" "$XDP_BLOOM" load g it --force --confirm 1h
		refused "bans $address, a gateway in use" add $address --ttl 12h
		bloom add $address --ttl 10m
		bloom flush
		bloom load other other
	done
}

# Where the filter begins, what comes back as a trial goes back is asked about, too.
begins_beside_a_trial() {
	local address=45.0.0.254 back trial

	back="$address, a gateway in use (route table 254), would be banned when what waits for confirmation goes back"
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip link add edgetop type bridge
	ip link set edgetop up
	echo $address >it
	bloom attach edgetop --ports
	bloom load a it
	ip route add default via $address
	for trial in "allow $address" "unload a" "shadow a"; do
		# shellcheck disable=SC2086 # words
		bloom $trial --confirm 2
		refused "$back" attach edge0
		[ "${trial% a}" != "$trial" ] || refused "$back" tune --inner on
		wait_until "it has gone back" has_gone_back
	done
	bloom allow $address --confirm 2
	ip link set edge1 master edgetop
	bloom add 198.51.100.1
	grep -q "$back" err || fail "what it said of a port that came: $(cat err)"
	wait_until "it has gone back" has_gone_back
	is "$(xdp_id edge1)" none "the program on the port"
	bloom detach edgetop --ports
	ip route del default
	bloom attach edge0
	ip route add default via $address
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom unload a --confirm 2
	refused "$back" restore
	bloom restore --spare
	grep -q "$back: it is allowed now; 'disallow $address --force' ends that" err || fail "what it said: $(cat err)"
	wait_until "it has gone back" has_gone_back
	verdicts $address=pass
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	bloom disallow $address --force
	rm "$XDP_BLOOM_BPFFS"/links/*
	bloom allow $address --confirm 2
	bloom restore
	wait_until "it has gone back" has_gone_back
	verdicts $address=drop
}

# What was granted on trial is none for what begins to filter for good beside it; with it, or for no longer, it is.
begins_by_a_grant_on_trial() {
	local it="45.0.0.254, a gateway in use" trial

	need sqlite3
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge1
	echo 45.0.0.254 >it
	bloom load a it
	ip route add default via 45.0.0.254
	for trial in "attach edge0" "load b it"; do
		# shellcheck disable=SC2086 # words
		bloom $trial --force --confirm 1h
		refused "$it" attach edge1
		refused "$it" tune --inner on
		[ "$trial" = "load b it" ] || bloom attach edge1 --confirm 30m
		all_over
	done
	refused "$it" attach edge1
}

# What comes for good beside a trial, or a batch begins, is not granted by that: a port, an interface that is made again.
# Nor by a command that fails.
comes_beside_a_trial() {
	local it="what is loaded bans 45.0.0.254, a gateway in use"

	need sqlite3
	veth 0 1 2
	ip addr add 45.0.0.1/24 dev edge2
	ip link add edgetop type bridge
	ip link set edgetop up
	echo 45.0.0.254 >it
	bloom attach edgetop --ports
	bloom load a it
	ip route add default via 45.0.0.254
	ip link set edge1 master edgetop
	expect 2 "$XDP_BLOOM" attach nosuch --force
	grep -q "ports that have come are not filtered.*$it" err || fail "what a command that failed said: $(cat err)"
	bloom attach edge0 --force --confirm 1h
	grep -q "ports that have come are not filtered.*$it" err || fail "what it said of a port that came: $(cat err)"
	is "$(xdp_id edge1)" none "the program on the port"
	printf '%s\n' 'tune --inner on' 'add 198.51.100.2 --confirm 30m' >lines
	expect 2 "$XDP_BLOOM" batch lines
	grep -q "45.0.0.254, a gateway in use" err || fail "what it said of the batch: $(cat err)"
	all_over
	is "$(get '[.needs[]|select(.granted)]' guards)" '[]' "what is granted behind it"
	bloom detach edgetop --ports
	ip link set edge1 nomaster
	bloom attach edge1 --force
	ip link del edge1
	forget_grants
	veth 1
	bloom attach edge0 --force --confirm 1h
	refused "$it" restore
	bloom restore --spare
	grep -q "$it (route table 254): it is allowed now" err || fail "what it said: $(cat err)"
	verdicts 45.0.0.254=pass
	[ "$(xdp_id edge1)" != none ] || fail "edge1 is not filtered"
}

# What is filtered again that was so, on trial or by what is banned on trial alone, is granted as long.
begins_again_by_a_grant() {
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge1
	echo 45.0.0.254 >it
	bloom load a it
	ip route add default via 45.0.0.254
	bloom attach edge0 --force --confirm 1h
	rm "$XDP_BLOOM_BPFFS"/links/*
	let_go edge0
	bloom restore
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	bloom detach edge0
	bloom unload a
	bloom attach edge0
	bloom load b it --force --confirm 1h
	rm "$XDP_BLOOM_BPFFS"/links/*
	let_go edge0
	bloom attach edge1
	bloom restore --spare
	[ ! -s err ] || fail "it warns: $(cat err)"
	[ "$(xdp_id edge0)" != none ] || fail "edge0 is not filtered"
	verdicts 45.0.0.254=drop
	bloom load c it --shadow
	refused "45.0.0.254 bans 45.0.0.254, a gateway in use" enforce c
}

# As behind each deadline.
all_over() {
	sqlite3 -cmd '.timeout 10000' "$XDP_BLOOM_STATE/state.db" "UPDATE pending SET due = 1"
	bloom add 198.51.100.1
	is "$(get '.waiting | length' show)" 0 "how much waits"
}

# What an exception lets through, or a setting, that waits to be confirmed is not let through for good; nor is granted for
# good what --force granted for what waits.
what_goes_back() {
	local address=45.0.0.254 it="45.0.0.254, a gateway in use (route table 254)" back n

	back="$it, would be banned when what waits for confirmation goes back: 'xdp-bloom confirm' prevents that"
	veth 0 1
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via $address
	echo $address >it
	printf '%s\n' 198.51.100.{1..9} >other
	bloom load other other
	bloom attach edge1
	for n in 1 2; do
		if [ $n = 1 ]; then bloom allow $address --confirm 1h; else bloom load ok it --allow --confirm 1h; fi
		refused "$back" load second it
		refused "$back" add $address
		refused "$back" add 45.0.0.254/31 --ttl 2h
		bloom load other other
		bloom add 198.51.100.77
		bloom load second it --shadow
		refused "$back" enforce second
		bloom unload second
		bloom confirm
		bloom load second it
		bloom unload second
		[ $n = 1 ] || bloom unload ok
		[ $n = 2 ] || bloom disallow $address
	done
	# Of what is banned already, nothing new is asked.
	bloom load second it --force
	bloom allow $address --confirm 1h
	bloom add $address
	bloom rotate
	bloom confirm
	bloom unload second
	bloom disallow $address --force
	bloom del $address
	ip route del default
	bloom load second it
	ip route add default via $address
	refused "$it" attach edge0
	bloom attach edge0 --force --confirm 2
	wait_until "edge0 is open again" is_open edge0
	refused "$it" attach edge0
	bloom attach edge0 --force --confirm 1h
	bloom confirm
	bloom detach edge0
	is "$(get "[.needs[]|select(.granted)]|length" guards)" 1 "what was confirmed is granted"
	bloom unload second
	[ -e /proc/sys/net/ipv6 ] || return 0
	echo 0 >/proc/sys/net/ipv6/conf/edge0/disable_ipv6
	ip -6 route add 2001:db8:1::/48 via 64:ff9b::c633:640a dev edge0 onlink
	echo 198.51.100.10 >within
	bloom tune --embedded on
	bloom tune --embedded off --confirm 1h
	refused "198.51.100.10, a gateway in use (it is within 64:ff9b::c633:640a)" load within within
	bloom confirm
	bloom load within within
}

is_open() {
	"$XDP_BLOOM" bans &>/dev/null
	[ "$(xdp_id "$1")" = none ]
}

run_cases shows_all asked_by_daemons of_many_ptys of_a_long_table of_a_crowd of_many_routes through_a_tunnel by_a_liar by_three_who_stall what_may_not_be_read what_is_hidden table by_the_service left_out spares_at_boot asked_again asked_when_it_comes asked_no_more said_when_needed spares_beside_a_trial grants_come_back trials_ended trials_ended_beside_others grants_by_lines embedded by_no_chance for_a_while beside_a_trial date_set_beside_a_trial begins_beside_a_trial begins_by_a_grant_on_trial comes_beside_a_trial begins_again_by_a_grant what_goes_back taken_beside_a_trial
