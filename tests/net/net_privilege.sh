#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# As an ordinary user with three capabilities and no more; and no other user learns the seeds.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
need setpriv bpftool

USER_ID=65534
NEEDED=bpf,net_admin,perfmon

# A bpffs and a state directory of the user's own, and the command where he can read it.
prepare() {
	setpriv --list-caps | grep -q perfmon || skip "needs a setpriv that knows CAP_PERFMON, of a newer package util-linux"
	ulimit -l unlimited 2>/dev/null # before 5.11 maps count against it; the units say so, too
	chmod 755 "$WORK"
	mkdir -p fs own
	mount -t bpf bpf fs || skip "the kernel mounts no second bpffs"
	chmod 700 fs
	chown $USER_ID fs own
	install -m 755 "$XDP_BLOOM" command
	export XDP_BLOOM_BPFFS=$WORK/fs/filter XDP_BLOOM_STATE=$WORK/own/state
	veth 0
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.255 >banned
	printf '%s\n' 192.0.2.8 2001:db8::8 >clean
	chmod 644 list
}

# as CAPABILITIES COMMAND...: as that user, with these and nothing to get more from.
as() {
	local all=+${1//,/,+}

	shift
	setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --no-new-privs --bounding-set "-all,$all" \
		--inh-caps "-all,$all" --ambient-caps "-all,$all" "$@"
}

three_capabilities_are_enough() {
	prepare
	is "$(as $NEEDED grep -cE '^(Uid:(\s65534){4}|Groups:\s*|Cap(Eff|Prm|Bnd|Amb):\s000000c000001000|NoNewPrivs:\s1)$' /proc/self/status)" 7 \
		"what the kernel says of that user: $(as $NEEDED cat /proc/self/status)"
	expect 0 as $NEEDED ./command load bad list
	expect 0 as $NEEDED ./command attach edge0
	send 0 -b banned -c clean
	expect 0 as $NEEDED ./command rotate
	expect 0 as $NEEDED ./command test 192.0.2.7
	send 0 -b banned -c clean
	expect 0 as $NEEDED ./command stats
	grep -q '^dropped  *6 ' out || fail "$(cat out)"
	expect 0 as $NEEDED ./command detach edge0
	send 0 -c banned
	umount fs
}

# libxdp would attach what it could not take away.
shared_wants_another() {
	prepare
	expect 0 as $NEEDED ./command load bad list
	expect 2 as $NEEDED ./command attach edge0 --shared
	one_line "edge0: to share an interface with other programs, libxdp wants CAP_SYS_ADMIN, too; nothing was changed"
	is "$(xdp_id edge0)" none "the program on edge0"
	umount fs
}

# Each of them is asked for by name where it is missing, and nothing is left behind.
two_are_not() {
	local missing with

	prepare
	for missing in bpf net_admin perfmon; do
		with=$(tr , '\n' <<<$NEEDED | grep -vx $missing | paste -sd,)
		expect 2 as "$with" ./command load bad list
		one_line "CAP_${missing^^}"
		is "$(find fs/filter/generation fs/filter/links -mindepth 1 2>/dev/null)" "" "pins without CAP_${missing^^}"
	done
	umount fs
}

others_read_nothing() {
	local found

	prepare
	(umask 0 && expect 0 as $NEEDED ./command load bad list)
	expect 0 as $NEEDED ./command attach edge0
	found=$(find fs/filter own/state -perm /077 -printf '%m %p\n')
	is "$found" "" "what others may read"
	# shellcheck disable=SC2012 # names of our own
	[ "$(find fs/filter own/state | wc -l)" -gt 10 ] || fail "this test sees nothing: $(ls -R fs own | head -n 20)"
	expect 0 as $NEEDED ./command detach edge0
	umount fs
}

# What the command prints and keeps, in whatever form a number may be written; and a core would hold them.
nobody_learns_the_seeds() {
	local verb live

	prepare
	expect 0 as $NEEDED ./command -v load bad list
	mkdir said
	install -d -o $USER_ID spare
	cat out err >said/load
	for verb in "-v rotate" show "-j show" "-v show" lists "-j lists" "-j stats" "-j test 192.0.2.7 2001:db8::7" "-j tune" \
		"-v add 192.0.2.9" bans "-j metrics" "-v tune --k 0" "-v save spare/image" "-j image show spare/image" "-v state check"; do
		# shellcheck disable=SC2086 # words
		expect 0 as $NEEDED ./command $verb
		cat out err >"said/${verb////-}"
		live=$(echo fs/filter/generation/*/meta)
		bpftool -j map dump pinned "$live" >"said/.meta"
		hides_seeds said own || fail "after '$verb'"
	done
	mv said/.meta meta
	refused_program
	hides_seeds said own || fail "after a program was refused"
	cp meta said/shown
	! hides_seeds said >/dev/null || fail "this test sees no seeds"
	umount fs
}

# The verifier refuses a program that has the seeds of an image in it, which is in force elsewhere, and is asked why.
refused_program() {
	expect 2 as bpf,net_admin ./command -v load --image spare/image --force
	cat out err >said/refused
	grep -q "PROG LOAD LOG" said/refused || fail "the verifier has nothing to say: $(cat said/refused)"
}

# aborted ARGS... -- INJECTIONS...: the command gets SIGABRT when it first says something, and may leave a core in cores/.
aborted() {
	local -a args=()

	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	shift
	rm -rf cores
	mkdir cores
	(
		cd cores || exit
		ulimit -c unlimited
		strace -o /dev/null -e trace=write,prctl -e inject=write:signal=ABRT:when=1 "$@" "$XDP_BLOOM" "${args[@]}"
		exit
	) &>/dev/null
	is $? 134 "the status of an aborted '${args[*]}'"
	bpftool -j map dump pinned "$(echo "$XDP_BLOOM_BPFFS"/generation/*/meta)" >meta
}

# Nor a core of root's own, who may have one of anything: what forbids it taken away, there is one, and the seeds are in it.
aborts_without_a_core() {
	local verb

	need strace
	[[ $(cat /proc/sys/kernel/core_pattern) != *[\|/]* ]] || skip "kernel.core_pattern hands cores to a program: '$(cat /proc/sys/kernel/core_pattern)'"
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	bloom load bad list
	for verb in "show" "test 192.0.2.7" "rotate"; do
		# shellcheck disable=SC2086 # words
		aborted $verb --
		is "$(ls cores)" "" "the core of '$verb'"
		# shellcheck disable=SC2086
		aborted $verb -- -e inject=prctl:retval=0
		[ -n "$(ls cores)" ] || fail "this test sees no core of '$verb'"
		! hides_seeds cores >/dev/null || fail "this test sees no seeds in the core of '$verb'"
	done
}

# Of a process that may dump no core the kernel shows something to root alone; of the user's other processes, to the user. (Capabilities that
# one gets by starting a program have the same effect: so without any.)
dumps_no_core() {
	local fd pid owner wanted=0 program

	install -m 755 "$XDP_BLOOM" command
	chmod 755 "$WORK"
	for program in "./command set union" cat; do
		rm -f first
		mkfifo -m 644 first
		# shellcheck disable=SC2086 # words
		setpriv --reuid $USER_ID --regid $USER_ID --clear-groups $program first &>out &
		pid=$!
		exec {fd}>first # when it reads
		owner=$(stat -c %u "/proc/$pid/environ")
		exec {fd}>&-
		end_of $pid
		is "$owner" $wanted "the owner of the memory of $program"
		wanted=$USER_ID
	done
}

# hides_seeds DIR...: none of the seeds that said/.meta or meta shows is in any file there.
hides_seeds() {
	python3 - "$@" <<'PYTHON'
import json, os, struct, sys

meta = "meta" if os.path.exists("meta") else "said/.meta"
value = json.load(open(meta))[0]["value"]
data = bytes(int(byte, 16) for byte in value)
# A seed is a random word; everything else in there is small, or a mask.
seeds = {word for (word,) in struct.iter_unpack("<Q", data) if word >> 48 and word & 0xffffffff}
seeds -= {(1 << 64) - (1 << n) for n in range(64)}
if len(seeds) < 8:
    sys.exit("# only %d seeds" % len(seeds))
forms = [f for s in seeds for f in (b"%d" % s, b"%x" % s, b"%X" % s, struct.pack("<Q", s), struct.pack(">Q", s),
         b" ".join(b"%02x" % b for b in struct.pack("<Q", s)), b'","'.join(b"0x%02x" % b for b in struct.pack("<Q", s)))]
for top in sys.argv[1:]:
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            if name == ".meta":
                continue
            content = open(path, "rb").read()
            if any(form in content for form in forms):
                print("# a seed is in " + path)
                sys.exit(1)
PYTHON
}

run_cases three_capabilities_are_enough shared_wants_another two_are_not others_read_nothing nobody_learns_the_seeds aborts_without_a_core dumps_no_core
