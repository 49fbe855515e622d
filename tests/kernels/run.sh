#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# run.sh [RELEASE...]: the tests inside the kernels of these Debian releases, booted under QEMU, which needs neither
# root nor KVM. Nothing on the machine changes; kernels are kept in build/kernels, delete it for newer ones. Those that
# the registry does not give, because it cannot be reached, are skipped, each in a line.
#
#   KERNEL_TESTS   which tests, in place of those below       KERNEL_JOBS   how many kernels at once (2)
#   KERNEL_ARCH    amd64 (what this machine is) or arm64      KERNEL_LIMIT  seconds a kernel has for all of them (450)
#   KERNEL_FLAVOUR cloud, or empty for kernels with every driver: PPPoE is in those
#   KERNEL_APPEND  more for the kernel's command line: lockdown=integrity
set -uo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
# shellcheck source-path=SCRIPTDIR source=machine.sh
. "$here/machine.sh"
limit=${KERNEL_LIMIT:-450}
releases=("$@")
[ $# != 0 ] || releases=(bullseye bookworm trixie trixie-backports)

# WireGuard, VRF and IPsec are in these kernels: KERNEL_TESTS=XDP_BLOOM_CASES=shows:cli_guards.sh takes minutes of its own.
# With the variables, commas between them, that keep a test short enough for an emulated machine.
tests=("EXACT_ASKS=3000000,XDP_BLOOM_PACKETS=40000:prog_" net_attach.sh net_shared.sh
	"XDP_BLOOM_CASES=finds_interfaces.--shared:net_service.sh"
	"XDP_BLOOM_ROTATIONS=10,XDP_BLOOM_CASES=rotates:net_rotate.sh"
	"XDP_BLOOM_CASES=ipv..plain:net_modes.sh" net_frames.sh
	"XDP_BLOOM_CASES=every.destination|beside.ingress|heals:net_egress.sh"
	"XDP_BLOOM_CASES=legal|files|nothing|bpffs|instances:cli_errors.sh"
	"XDP_BLOOM_CASES=that.is.shared:cli_purge.sh")
# shellcheck disable=SC2206 # words
[ -z "${KERNEL_TESTS:-}" ] || tests=($KERNEL_TESTS)

# report RELEASE: what its console said, numbered on; a line for every test, also for those that it did not get to.
report() {
	# What is left in its queue was not asked for.
	sed 's/^/# run: /' "$work/$1.queue" | cat "$work/$1.log" - | awk -v release="$1" -v first="$n" -f "$here/report.awk"
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

[ "$build" = "$top/build" ] || packages+=(gcc-aarch64-linux-gnu)
if ! "$top/tools/deps.sh" "${packages[@]}" >&2; then
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
list_tests "$work/all" "$limit" "${tests[@]}" || exit 1
count=$(wc -l <"$work/all")
BUILD=$build "$here/image.sh" tools "$work/tools" || exit 1

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
	cp "$work/all" "$work/$release.queue"
	boot "$release" "$release" "$work/$release.queue" "$limit" >"$work/$release.log" 2>&1 &
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
