# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# An emulated machine: QEMU, which needs neither root nor KVM, a Debian release's kernel and, from image.sh, this machine's
# own tools. On its console it asks for one test after the other. The answers come from a queue, a file with a line for
# each test: seconds, then variables and the program. Machines may share a queue.
#
# Source this with $here (this folder) and $top set; then $arch, $build, $cache, $work (a directory that goes at the end)
# and $packages are there.

: "${here:?}" "${top:?}"
arch=${KERNEL_ARCH:-$(dpkg --print-architecture)}
build=$top/build
[ "$arch" = "$(dpkg --print-architecture)" ] || build=$top/build/$arch
cache=$top/build/kernels
# Where ip and the like are; not every user's path has it.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

skip_all() {
	printf 'TAP version 13\n1..0 # SKIP %s\n' "$1"
	exit 4
}

# Without cmpxchg16b, and with one thread for all CPUs: as QEMU 7.2 emulates them, newer kernels fault now and then at boot.
cpus=2
case $arch in
amd64)
	packages=(qemu-system-x86)
	machine=(qemu-system-x86_64 -M pc -cpu "max,-cx16")
	console=ttyS0
	;;
arm64)
	packages=(qemu-system-arm)
	machine=(qemu-system-aarch64 -M virt -cpu "max,pauth-impdef=on")
	console=ttyAMA0
	;;
# These two stopped at the first process in one thread, and have not with one for each CPU.
armhf)
	threads=multi
	packages=(qemu-system-arm)
	machine=(qemu-system-arm -M "virt,highmem=off" -cpu cortex-a15)
	console=ttyAMA0
	;;
riscv64)
	threads=multi
	packages=(qemu-system-misc opensbi)
	machine=(qemu-system-riscv64 -M virt)
	console=ttyS0
	;;
s390x)
	packages=(qemu-system-misc)
	machine=(qemu-system-s390x -M s390-ccw-virtio -cpu max)
	console=ttysclp0
	;;
*) skip_all "no machine for $arch" ;;
esac
machine+=(-accel "tcg,thread=${threads:-single}" -smp "$cpus" -m 2G -nic none -display none -serial stdio -monitor none -no-reboot)
packages+=(busybox-static xz-utils zstd)

work=$(mktemp -d)
declare -A job=()
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stop() {
	[ ${#job[@]} = 0 ] || kill "${job[@]}" 2>/dev/null
	wait
}

# list_tests QUEUE SECONDS TEST...: a line for each of them. A TEST may have variables before a colon, commas between
# them, and stands for all whose names begin with it.
list_tests() {
	local queue=$1 seconds=$2 test path vars found

	shift 2
	for test; do
		found=
		for path in "$build/tests/${test##*:}"* "$top"/tests/{prog,net,cli}/"${test##*:}"*; do
			if [ ! -f "$path" ] || [ ! -x "$path" ]; then
				continue
			fi
			case $path in
			"$build"/*) path=build/tests/${path##*/} ;;
			*) path=${path#"$top"/} ;;
			esac
			vars=${test%%:*}
			[ "$vars" = "$test" ] || path="${vars//,/ } $path"
			echo "$seconds $path" >>"$queue"
			found=yes
		done
		[ $found ] || { echo "there is no test ${test##*:}" >&2 && return 1; }
	done
}

# said NAME: the first error in that log, in one line.
said() {
	grep -m1 '^E: ' "$work/$1.log" || grep -v '^$' "$work/$1.log" | tail -n 1
}

# boot NAME RELEASE QUEUE SECONDS: one machine, which may run that long; its console goes to standard output. Before it
# each test's line stands as "# run: LINE".
boot() {
	local name=$1 kernel=$cache/$2-${KERNEL_FLAVOUR-cloud}-$arch queue=$3 seconds=$4 vmlinuz qemu server answers late=

	if [ ! -d "$kernel" ] || ! "$here/image.sh" modules "$kernel" "$work/$name.modules" >&2; then
		echo "no kernel"
		return
	fi
	vmlinuz=$(find "$kernel" -name 'vmlinu[xz]-*' -print -quit)
	cat "$work/tools" "$work/$name.modules" >"$work/$name.initrd"
	mkfifo "$work/$name.in" "$work/$name.out"
	exec {answers}<>"$work/$name.in"
	# An emulator's fault is no test's: once more, if it came before the first of them.
	for _ in 1 2; do
		timeout -k 5 "$seconds" "${machine[@]}" -kernel "$vmlinuz" -initrd "$work/$name.initrd" \
			-append "console=$console quiet loglevel=1 panic=-1 oops=panic no_timer_check ${KERNEL_APPEND:-}" \
			<&"$answers" >"$work/$name.out" 2>&1 &
		qemu=$!
		serve "$name" "$queue" "$answers" <"$work/$name.out" &
		server=$!
		# shellcheck disable=SC2064 # this one
		trap "kill $qemu 2>/dev/null" EXIT
		trap 'exit 143' TERM
		wait $qemu
		[ $? != 124 ] || late=yes
		wait $server
		[ ! $late ] || echo "# late: $seconds s"
		trap - EXIT
		[ ! -e "$work/$name.asked" ] || break
	done
}

# serve NAME QUEUE ANSWERS: passes on what the console says; "# next" there gets the first line of the queue, or, when the
# queue is empty, an empty line.
serve() {
	local line

	while IFS= read -r line; do
		line=${line%$'\r'}
		if [ "$line" != "# next" ]; then
			printf '%s\n' "$line"
			continue
		fi
		: >"$work/$1.asked"
		line=$(take "$2")
		[ -z "$line" ] || echo "# run: $line"
		echo "$line" >&"$3"
	done
}

take() {
	(
		flock 9
		head -n 1 "$1"
		sed -i 1d "$1"
	) 9>>"$1.lock"
}
