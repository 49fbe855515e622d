# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# A machine with every kind of need: behind lib.sh, sandbox and service.sh.

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
	interface=eth0 sh -c '. "$0"' "${top:?}/packaging/openwrt/files/xdp-bloom.udhcpc" "$1" || fail "udhcpc $1: it ended with $?"
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

is_banned() {
	"$XDP_BLOOM" test "$1" &>/dev/null
}
