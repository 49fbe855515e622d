# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What the tests of interfaces have in common: who is banned, who is not, and what comes through.

# Two hosts and a prefix are banned; the sources to send from.
prepare() {
	veth 0 1
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0 203.0.113.255 >banned
	printf '%s\n' 192.0.2.6 192.0.2.8 2001:db8::6 203.0.112.255 203.0.114.0 >clean
	cat banned clean >everybody
	bloom load bad list
}

filters() {
	send "$1" -b banned -c clean
}

passes_all() {
	send "$1" -c everybody
}

# The first interface becomes the eighth, and is filtered there.
filters_renamed() {
	renamed 0 8
	filters 8
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge8",false,false]]' "what show says"
}

# renamed FROM TO: both ends of a pair.
renamed() {
	local end

	for end in edge wire; do
		ip link set "$end$1" down
		ip link set "$end$1" name "$end$2" up
	done
}

# Another project's program, which drops what comes from 192.0.2.66: that shows whether it still runs.
other_program() {
	need clang
	clang -O2 -g -target bpf -c -x c -o other.o - <<'C' || fail "cannot compile it"
struct xdp_md { unsigned int data, data_end; };
struct packet { unsigned char ethernet[14]; unsigned short ip[6]; unsigned short source[2]; };

__attribute__((section("xdp"), used)) int other_program(struct xdp_md *ctx)
{
	struct packet *p = (void *)(long)ctx->data;

	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return 2;
	return p->source[0] == __builtin_bswap16(0xc000) && p->source[1] == __builtin_bswap16(0x0242) ? 1 : 2;
}

char _license[] __attribute__((section("license"), used)) = "GPL";
C
	echo 192.0.2.66 >of_other
}

# Two wires, a list of both families, and who is in it, or next to those who are.
setting() {
	veth 0 1
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 2001:db8:99::/48 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0 203.0.113.255 2001:db8:99::1 >banned
	printf '%s\n' 192.0.2.6 192.0.2.8 2001:db8::6 203.0.112.255 203.0.114.0 2001:db8:98::1 >clean
	cat banned clean >everybody
	bloom load bad list
}

# by MATCH N [ARGS...]: what the match says is dropped, and nothing else; $sends sends it.
sends=send
by() {
	local from='-c everybody' to='-c everybody'

	[ "$1" = destination ] || from='-b banned -c clean'
	[ "$1" = source ] || to='-b banned -c clean'
	# shellcheck disable=SC2086 # options
	"$sends" "$2" $from "${@:3}"
	# shellcheck disable=SC2086
	"$sends" "$2" -d $to "${@:3}"
}

# beyond DEVICE: another network namespace, which has addresses that are banned and others, behind that device.
beyond() {
	local address

	printf '%s\n' 192.0.2.7 2001:db8::7 >list
	bloom load bad list
	other_network
	ip link add edge7 type veth peer name wire7 netns "${far:?}"
	ip link set edge7 up
	nsenter -t "$far" -n ip link set lo up
	nsenter -t "$far" -n ip link set wire7 up
	if [ "$1" != edge7 ]; then
		ip link add link edge7 name edge7.5 type vlan id 5 || skip "the kernel has no VLANs"
		nsenter -t "$far" -n ip link add link wire7 name wire7.5 type vlan id 5
	fi
	ip addr add 10.7.0.1/24 dev "$1"
	ip addr add fd07::1/64 dev "$1" nodad
	ip link set "$1" up
	nsenter -t "$far" -n ip addr add 10.7.0.2/24 dev "${1/edge/wire}"
	nsenter -t "$far" -n ip addr add fd07::2/64 dev "${1/edge/wire}" nodad
	nsenter -t "$far" -n ip link set "${1/edge/wire}" up
	for address in 192.0.2.7 192.0.2.6 2001:db8::7 2001:db8::6; do
		nsenter -t "$far" -n ip addr add "$address" dev lo
	done
	ip route add 192.0.2.0/24 via 10.7.0.2
	ip route add 2001:db8::/32 via fd07::2
}

# leave N ARGS...: frames from edgeN to wireN, as what this machine sends.
leave() {
	"$TRAFFIC" -q "${@:2}" "edge$1" "wire$1" >"$WORK/sent" 2>"$WORK/err" ||
		fail "traffic ${*:2} out of edge$1: $(cat "$WORK/err" "$WORK/sent")"
}

# other_tc_program DIRECTION OFFSET: another project's on edge0, which drops what has 192.0.2.8 at that place.
other_tc_program() {
	need tc clang
	clang -O2 -g -target bpf -DAT="$2" -c -x c -o other.o - <<-'C' || skip "cannot compile it"
		struct __sk_buff;
		static long (*load)(const void *ctx, unsigned int at, void *to, unsigned int size) = (void *)26;

		__attribute__((section("tc"), used)) int other_program(struct __sk_buff *ctx)
		{
			unsigned char to[4];

			return !load(ctx, AT, to, 4) && to[0] == 192 && to[1] == 0 && to[2] == 2 && to[3] == 8 ? 2 : -1;
		}

		char _license[] __attribute__((section("license"), used)) = "GPL";
	C
	tc qdisc add dev edge0 clsact 2>/dev/null || skip "the kernel has no clsact"
	tc filter add dev edge0 "$1" prio 5 bpf da obj other.o sec tc 2>err || skip "tc loads no program: $(head -n 1 err)"
}

# watch_two: process $watching, which writes the first two samples that it is told of into seen.
watch_two() {
	mkfifo said.pipe
	"$XDP_BLOOM" -v -j watch --count 2 >seen 2>said.pipe &
	# shellcheck disable=SC2034 # for who asked
	watching=$!
	exec {said}<said.pipe
	read -rt "${patience:?}" <&"$said" || fail "watch says nothing"
}
