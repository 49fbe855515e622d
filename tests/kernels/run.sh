#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# run.sh [RELEASE...]: the tests inside the kernels of these Debian releases, booted under QEMU, which needs neither
# root nor KVM. Nothing on the machine changes; kernels are kept in build/kernels, delete it for newer ones. Those that
# the registry does not give, because it cannot be reached, are skipped, each in a line.
#
#   KERNEL_TESTS   which tests, in place of those below       KERNEL_JOBS   how many kernels at once (2)
#   KERNEL_ARCH    amd64 (what this machine is) or arm64      KERNEL_LIMIT  seconds a kernel has for all of them (450)
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
arch=${KERNEL_ARCH:-$(dpkg --print-architecture)}
limit=${KERNEL_LIMIT:-450}
build=$top/build
[ "$arch" = "$(dpkg --print-architecture)" ] || build=$top/build/$arch
cache=$top/build/kernels
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie trixie-backports)

# With the variables, commas between them, that keep a test short enough for an emulated machine.
tests=(EXACT_ASKS=3000000:prog_ net_attach.sh net_shared.sh
	"XDP_BLOOM_ROTATIONS=10,XDP_BLOOM_CASES=rotates:net_rotate.sh"
	"XDP_BLOOM_CASES=ipv..plain:net_modes.sh"
	"XDP_BLOOM_CASES=legal|files|nothing|bpffs|instances:cli_errors.sh")
# shellcheck disable=SC2206 # words
[ -z "${KERNEL_TESTS:-}" ] || tests=($KERNEL_TESTS)

skip_all() {
	printf 'TAP version 13\n1..0 # SKIP %s\n' "$1"
	exit 4
}

# Without cmpxchg16b, and with one thread for all CPUs: as QEMU 7.2 emulates them, newer kernels fault now and then at boot.
case $arch in
amd64)
	packages=(qemu-system-x86)
	machine=(qemu-system-x86_64 -M pc -cpu "max,-cx16")
	console=ttyS0
	;;
arm64)
	packages=(qemu-system-arm gcc-aarch64-linux-gnu)
	machine=(qemu-system-aarch64 -M virt -cpu "max,pauth-impdef=on")
	console=ttyAMA0
	;;
*) skip_all "no machine for $arch" ;;
esac

work=$(mktemp -d)
declare -A job=()
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stop() {
	[ ${#job[@]} = 0 ] || kill "${job[@]}" 2>/dev/null
	wait
}

# list_tests: a line for each, $count of them, as init wants them: seconds, then variables and the program with its path.
# A name stands for all that begin with it.
list_tests() {
	local test path vars before=0

	for test in "${tests[@]}"; do
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
			echo "$limit $path" >>"$work/run-these"
			count=$((count + 1))
		done
		[ $count != $before ] || { echo "there is no test ${test##*:}" >&2 && return 1; }
		before=$count
	done
}

# said NAME: the first error in that log, in one line.
said() {
	grep -m1 '^E: ' "$work/$1.log" || grep -v '^$' "$work/$1.log" | tail -n 1
}

# boot RELEASE: one machine, its console in $work/RELEASE.log.
boot() {
	local release=$1 kernel=$cache/$1-$arch vmlinuz try qemu

	if [ ! -d "$kernel" ] || ! "$here/image.sh" modules "$kernel" "$work/$release.modules" >>"$work/$release.log" 2>&1; then
		echo "no kernel" >>"$work/$release.log"
		return
	fi
	vmlinuz=$(find "$kernel" -name 'vmlinuz*' -print -quit)
	cat "$work/tools" "$work/$release.modules" >"$work/$release.initrd"
	# An emulator's fault is no test's: once more, if it came before the first of them.
	for try in 1 2; do
		timeout -k 5 "$limit" "${machine[@]}" -accel tcg,thread=single -smp 2 -m 1G -nic none -display none \
			-serial stdio -monitor none -no-reboot -kernel "$vmlinuz" -initrd "$work/$release.initrd" \
			-append "console=$console quiet loglevel=1 panic=-1 oops=panic no_timer_check" \
			</dev/null >"$work/$release.log" 2>&1 &
		qemu=$!
		# shellcheck disable=SC2064 # this one
		trap "kill $qemu 2>/dev/null" EXIT
		trap 'exit 143' TERM
		wait $qemu
		trap - EXIT
		grep -q '^TAP version' "$work/$release.log" && break
		cp "$work/$release.log" "$work/$release.log.$try"
	done
}

# report RELEASE: what its console said, numbered on; a line for every test, also for those that it did not get to.
report() {
	tr -d '\r' <"$work/$1.log" | awk -v release="$1" -v first="$n" -v list="$work/run-these" '
		BEGIN {
			while ((getline line <list) > 0) {
				words = split(line, word, /[ \/]/)
				name[++tests] = word[words]
			}
		}
		/^# kernel: / { kernel = $3; started = 1 }
		/^  # Totals: / { totals = $0 }
		/^  / { print "  " $0; next }
		/^# [0-9]+ s$/ { took = $2 }
		/^(not )?ok / {
			says = ""
			if (match(totals, /pass:[0-9]+/))
				says = substr(totals, RSTART + 5, RLENGTH - 5) " passed, "
			if (match(totals, /fail:[0-9]+/) && substr(totals, RSTART + 5, RLENGTH - 5) > 0)
				says = says substr(totals, RSTART + 5, RLENGTH - 5) " failed, "
			if (match(totals, /skip:[0-9]+/) && substr(totals, RSTART + 5, RLENGTH - 5) > 0)
				says = says substr(totals, RSTART + 5, RLENGTH - 5) " skipped, "
			reason = index($0, "#") ? " " substr($0, index($0, "#")) : ""
			done++
			printf "%s %d %s %s: %s%d s%s\n", /^not/ ? "not ok" : "ok", first + done, kernel, name[done], says, took, reason
			totals = ""
		}
		{ last[++lines] = $0 }
		END {
			if (done < tests)
				for (i = lines > 12 ? lines - 11 : 1; i <= lines; i++)
					print "# " last[i]
			while (done < tests) {
				done++
				printf "not ok %d %s %s: %s\n", first + done, kernel ? kernel : release, name[done],
					started ? "the machine ended before" : "no machine"
			}
		}'
}

# cross_build: the command and the tests for another architecture; what they link comes from its packages.
cross_build() {
	local triplet=aarch64-linux-gnu
	local -a variables

	ROOT=$cache/root-$arch
	"$here/root.sh" "$cache" "$arch" >"$work/root.log" 2>&1 || return
	export ROOT PKG_CONFIG_SYSROOT_DIR=$ROOT PKG_CONFIG_LIBDIR=$ROOT/usr/lib/$triplet/pkgconfig
	variables=(BUILD="build/$arch" CC="$triplet-gcc --sysroot=$ROOT" AR="$triplet-ar"
		CLANG="clang -idirafter $ROOT/usr/include/$triplet")
	mkdir -p "$build/tests"
	make --no-print-directory -s -C "$top" "${variables[@]}" >&2 && make --no-print-directory -s -C "$top" "${variables[@]}" tests >&2
}

if ! "$top/tools/deps.sh" "${packages[@]}" busybox-static xz-utils zstd >&2; then
	[ "$(id -u)" != 0 ] || skip_all "not all of ${packages[*]} can be installed"
	exit 1
fi
mkdir -p "$cache"
if [ "$build" != "$top/build" ]; then
	cross_build
	case $? in
	0) ;;
	4) skip_all "no packages of $arch: $(said root)" ;;
	*) cat "$work"/root.log >&2 && exit 1 ;;
	esac
fi
for program in "$build/xdp-bloom" "$build/tests/traffic"; do
	[ -x "$program" ] || { echo "$program is not built: make tests" >&2 && exit 1; }
done
count=0
list_tests || exit 1
BUILD=$build RUN=$work/run-these "$here/image.sh" tools "$work/tools" || exit 1

present=()
absent=()
for release in "${releases[@]}"; do
	"$here/fetch.sh" "$cache" "$arch" "$release" >"$work/$release.log" 2>&1 &
	job[$release]=$!
done
for release in "${releases[@]}"; do
	wait "${job[$release]}"
	if [ $? = 4 ]; then
		absent+=("$release # SKIP no packages: $(said "$release")")
	else
		present+=("$release")
	fi
	unset "job[$release]"
done
[ ${#present[@]} != 0 ] || skip_all "no kernel can be fetched: ${absent[0]#*: }"

printf 'TAP version 13\n1..%d\n' $((${#present[@]} * count + ${#absent[@]}))
n=0
running=0
for release in "${present[@]}"; do
	if [ $running -ge "${KERNEL_JOBS:-2}" ]; then
		wait -n
		running=$((running - 1))
	fi
	boot "$release" &
	job[$release]=$!
	running=$((running + 1))
done
for release in "${present[@]}"; do
	wait "${job[$release]}"
	unset "job[$release]"
	report "$release" | tee -a "$work/report"
	n=$((n + count))
done
for release in "${absent[@]}"; do
	n=$((n + 1))
	echo "ok $n $release" | tee -a "$work/report"
done
passed=$(grep -c '^ok .*' "$work/report")
skipped=$(grep -c '^ok .*# SKIP' "$work/report")
printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((passed - skipped)) $((n - passed)) "$skipped"
[ "$passed" = "$n" ] || exit 1
[ "$skipped" != "$n" ] || exit 4
