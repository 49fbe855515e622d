#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What this machine needs is not banned unawares: every need by every verb that puts something into force, each refused
# in one line that names the need and where it was learned, and done with --force. A part of that table, or all of it:
# make guards. And whoever would pass for a need, hide one, or make it take long to know them.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready has arguments of its own
. "$(dirname "$0")/../support/lib.sh"
stalls=$(realpath "$(dirname "$0")/stalls.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/machine.sh
. "$here/machine.sh"

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

# A link in the place of a file that tells of needs leads to one who stalls, or only past him: nobody waits for him.
by_a_link() {
	local leases=/run/systemd/netif/leases to process

	stall 60001
	read -r process _ <<<"$(cat "/proc/$!/task/$!/children")"
	mount -t tmpfs tmpfs /run
	mkdir -p $leases
	printf 'SERVER_ADDRESS=45.6.0.7\n' >$leases/1
	chown 60001 $leases
	for to in environ map_files/400000-401000; do
		rm -f $leases/2 # others look where it leads
		ln -s "/proc/$process/$to" $leases/2
		chown -h 60001 $leases/2
		expect 0 timeout 60 "$XDP_BLOOM" add 203.0.113.1
		one_line "not all that this machine needs may be known: $leases/2: another user's link leads to /proc, where a look may last for ever"
		bloom del 203.0.113.1
		expect 2 "$XDP_BLOOM" add 45.6.0.7
		grep -q "bans 45.6.0.7, the DHCP server of a lease ($leases/1)" err || fail "not refused for that: $(cat err)"
	done
	# Root may have what it likes there.
	chown -hR 0 $leases
	rm $leases/2
	ln -s /proc/version $leases/2
	bloom add 203.0.113.1
	[ ! -s err ] || fail "it warns: $(cat err)"
	umount /run
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

# Where the kernel cannot be asked about sockets, as without its modules, sessions and guests are known all the same, and
# who only tries is banned; that servers may not be known is said.
without_diag() {
	local without=(python3 -c '
import ctypes, errno, os, struct, sys

number = {"x86_64": 41, "aarch64": 198, "riscv64": 198}.get(os.uname().machine)
step = lambda code, no, k: struct.pack("=HBBI", code, 0, no, k)
# socket(AF_NETLINK, ..., NETLINK_SOCK_DIAG)
steps = ctypes.create_string_buffer(
    step(0x20, 0, 0) + step(0x15, 5, number or 0) + step(0x20, 0, 16) + step(0x15, 3, 16) + step(0x20, 0, 32) +
    step(0x15, 1, 4) + step(6, 0, 0x50000 | errno.EPROTONOSUPPORT) + step(6, 0, 0x7fff0000))
program = struct.pack("@HP", 8, ctypes.addressof(steps))
libc = ctypes.CDLL(None)
if not number or libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])' "$XDP_BLOOM") said="not all servers and guests of this machine may be known: the kernel does not say"

	machine
	unset SSH_CONNECTION
	"${without[@]}" --version >out 2>err || skip "no call can be refused here: $(cat err)"
	expect 2 "${without[@]}" add 45.0.0.9
	grep -q "bans 45.0.0.9, the peer of an SSH session (environment of process " err || fail "not refused for that: $(cat err)"
	grep -q "$said" err || fail "it is not said: $(cat err)"
	expect 2 "${without[@]}" add 45.0.0.10
	grep -q "bans 45.0.0.10, somebody who is connected (TCP port 8443)" err || fail "not refused for that: $(cat err)"
	expect 0 "${without[@]}" add 45.0.0.11
	grep -q "$said" err || fail "it is not said: $(cat err)"
	expect 0 "${without[@]}" doctor
	grep -q '^note  *sockets  *the kernel does not say' out || fail "$(cat out)"
	bloom doctor
	! grep '^note  *sockets' out || fail "it can be asked about them"
}

carry() { # N: so many connections carry the session
	[ "$(ss -Htn state established sport = :22 | grep -c .)" = "$1" ]
}

# A session that MPTCP carries says the ends of its first connection: each of its peers is known, also once that is over.
by_mptcp() {
	need ss
	[ -e /proc/sys/net/mptcp ] || skip "this kernel has no MPTCP"
	ip mptcp limits set subflow 2 add_addr_accepted 2 2>err || skip "needs 'ip mptcp': $(cat err)"
	sysctl -qw net.mptcp.enabled=1
	veth 0
	other_network
	ip link set wire0 netns "$far"
	ip addr add 45.19.0.1/24 dev edge0
	ip addr add 45.19.1.1/24 dev edge0
	nsenter -t "$far" -n sh -c 'ip addr add 45.19.0.22/24 dev wire0; ip addr add 45.19.1.22/24 dev wire0; ip link set wire0 up
		ip route add default via 45.19.0.1; ip rule add from 45.19.1.22 table 7; ip route add default via 45.19.1.1 table 7
		sysctl -qw net.mptcp.enabled=1; ip mptcp limits set subflow 2; ip mptcp endpoint add 45.19.1.22 dev wire0 subflow'
	unset SSH_CONNECTION
	python3 -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind(("45.19.0.1", 22)); s.listen(); print("listens", flush=True)
c, peer = s.accept()
if not os.fork():
    os.setuid(60001)
    os.execve("/bin/sleep", ["sleep", "infinity"], {"SSH_CONNECTION": "%s %d 45.19.0.1 22" % peer})
while c.send(c.recv(100)): pass' >sshd &
	wait_until "sshd" grep -qs listens sshd
	nsenter -t "$far" -n python3 -c '
import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind(("45.19.0.22", 0)); s.connect(("45.19.0.1", 22))
s.send(b"x"); s.recv(1); s.send(b"x"); s.recv(1); signal.pause()' &
	wait_until "a second connection" carry 2
	expect 2 "$XDP_BLOOM" add 45.19.1.22
	grep -q "bans 45.19.1.22, the peer of an SSH session (environment of process " err || fail "not refused for that: $(cat err)"
	nsenter -t "$far" -n ip mptcp endpoint delete id 0 45.19.0.22
	wait_until "the end of the first" carry 1
	expect 2 "$XDP_BLOOM" add 45.19.1.22
	grep -q "bans 45.19.1.22, the peer of an SSH session (environment of process " err || fail "not refused for that: $(cat err)"
	bloom add 45.19.1.23
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

# A machine that resolves clock.test as 45.8.0.11 and pool.test as 45.8.0.12, and one that is not asked.
with_names() {
	veth 0
	ip link set lo up
	ip addr add 45.0.0.1/24 dev edge0
	ip route add default via 45.0.0.254
	files
	printf '45.8.0.11 clock.test\n45.8.0.12 pool.test\n2001:db8:8::12 pool.test\n' >hosts
	mount --bind hosts /etc/hosts
	trap 'stop_jobs; umount /etc/hosts' EXIT
}

is_needed() { # ADDRESS
	"$XDP_BLOOM" guards | grep -q "^$1 "
}

# knows_clock ADDRESS WHERE: it is one in use; banned by nobody unawares, and a list is loaded without it.
knows_clock() {
	local it="$1, a time server in use ($2)"

	bloom guards
	grep -q "^$1 .*a time server in use ($2)" out || fail "guards does not know $1: $(cat out)"
	refused "$it" add "$1"
	printf '%s\n' 198.51.100.{1..9} "$1" >names
	expect 1 "$XDP_BLOOM" load names names --spare
	one_line "list 'names' is loaded without $it"
	bloom unload names
	bloom add "$1" --force
	bloom flush
}

# Which servers chronyd has found by their names, it says.
found_by_chronyd() {
	need chronyd
	chronyd --version >out 2>&1 || skip "chronyd: $(head -n 1 out)"
	with_names
	printf '%s\n' 'server clock.test' 'pool pool.test' 'server unknown.test' 'server 45.8.0.1' 'refclock SHM 0' \
		"pidfile $WORK/chronyd.pid" 'bindcmdaddress /' >chrony.conf
	chronyd -d -x -u root -f "$WORK/chrony.conf" >chronyd.log 2>&1 &
	wait_until "a server with an address" is_needed 45.8.0.11
	knows_clock 45.8.0.11 "a source of chronyd"
	knows_clock 45.8.0.12 "a source of chronyd"
	# A file of root's says that one.
	is "$(get '[.needs[]|select(.address == "45.8.0.1")|.where]' guards)" '["/run/chrony-dhcp/eth0.sources"]' "who says it"
	kill $!
	end_of $! || true
	bloom add 45.8.0.11
}

# And ntpd of ntpsec, which has no right to set the clock here.
found_by_ntpd() {
	need ntpd setpriv
	ntpd --version 2>&1 | grep -q ntpsec || skip "this ntpd is not ntpsec's, or does not run: $(ntpd --version 2>&1 | head -n 1)"
	with_names
	printf '%s\n' 'server clock.test' 'pool pool.test' 'server unknown.test' 'refclock shm unit 0' 'restrict default noquery' \
		'restrict 127.0.0.1' >ntp.conf
	setpriv --bounding-set=-sys_time --inh-caps=-sys_time ntpd -n -c "$WORK/ntp.conf" >ntpd.log 2>&1 &
	wait_until "a server with an address" is_needed 45.8.0.11
	knows_clock 45.8.0.11 "a peer of ntpd"
	kill $!
	end_of $! || true
	bloom add 45.8.0.11
}

has_begun() { # PID
	[ -e /run/systemd/timesync ] || ! kill -0 "$1" 2>/dev/null
}

# And systemd-timesyncd, on the bus.
found_by_timesyncd() {
	local bus

	need dbus-daemon setpriv
	dbus-daemon --version >out 2>&1 || skip "dbus-daemon: $(head -n 1 out)"
	with_names
	"$here/timesyncd.sh" bus 2>bus.log &
	bus=$!
	wait_until "a bus" test -S /run/dbus/system_bus_socket
	"$here/timesyncd.sh" clock.test "${XDP_BLOOM%/*}/peers" 2>timesyncd.log &
	wait_until "its directory" has_begun $!
	[ -e /run/systemd/timesync ] || skip "needs systemd-timesyncd of the package systemd-timesyncd"
	wait_until "a server with an address" is_needed 45.8.0.11
	knows_clock 45.8.0.11 "the server of systemd-timesyncd"
	# Without the daemon, or a bus that answers, none is in use.
	kill $!
	end_of $! || true
	bloom add 45.8.0.11
	kill -STOP $bus
	bloom guards
	kill -CONT $bus
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

run_cases shows_all asked_by_daemons found_by_chronyd found_by_ntpd found_by_timesyncd of_many_ptys of_a_long_table of_a_crowd of_many_routes through_a_tunnel by_a_liar by_three_who_stall by_a_link what_may_not_be_read what_is_hidden without_diag by_mptcp table by_the_service left_out embedded by_no_chance
