#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# image.sh tools ARCHIVE               this machine's own tools, with the libraries they need, and the tests
# image.sh modules KERNEL ARCHIVE      the modules the tests need, of an unpacked kernel
# An initramfs is one of each, end to end. In the environment: BUILD has the programs under test, and ROOT, if set, is a
# directory of another architecture's packages that goes in instead of this machine's.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
build=${BUILD:-$top/build}

# All programs of these packages, and these, as far as they are installed here.
PACKAGES=(coreutils diffutils findutils grep gzip mount procps sed tar util-linux)
TOOLS=(awk bash bpftool bridge curl ethtool ip jq make nft sh ss strace tc tcpdump tmux wg xdp-loader)
MODULES=(veth 8021q bonding team dummy tun sch_ingress cls_bpf pppoe wireguard vrf vxlan xfrm_user esp4 tcp_diag udp_diag ip_gre ipip sit ip6_tunnel ip6_gre
	crc32c_generic bridge nf_tables nft_chain_nat nft_nat nft_masq virtio_pci virtio_net)

archive() {
	(cd "$1" && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$2.new"
	mv "$2.new" "$2"
}

# with_libraries FILE...: copies them to the same paths, behind whatever symbolic links.
with_libraries() {
	local file

	for file; do
		cp --parents -L "$file" "$root"
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
	done | sort -u | while read -r file; do
		cp --parents -Lu "$file" "$root"
	done
}

tools() {
	local tool path
	local -a files=()

	if [ -n "${ROOT:-}" ]; then
		# Without what only a compiler wants.
		tar -c -C "$ROOT" --exclude=./usr/include --exclude=./usr/share --exclude=./usr/lib/gcc --exclude='*.a' . |
			tar -x --keep-directory-symlink -C "$root"
		return
	fi
	for tool in $(dpkg -L "${PACKAGES[@]}" 2>/dev/null | sed -n 's,.*/s\?bin/,,p') "${TOOLS[@]}"; do
		path=$(type -P "$tool") || continue
		files+=("$(realpath "$(dirname "$path")")/${path##*/}")
	done
	# The command loads this one when it is asked for metrics.
	mapfile -t -O ${#files[@]} files < <(ldconfig -p | sed -n 's/.*libmicrohttpd\.so\..* => //p')
	with_libraries "${files[@]}"
	# What libxdp makes a dispatcher of, where it looks for it; what terminals can do, and how they are written to.
	for path in /usr/lib/*/bpf/xdp-dispatcher.o /usr/lib/bpf/xdp-dispatcher.o /lib/terminfo /usr/lib/locale/C.utf8; do
		[ ! -e "$path" ] || cp --parents -r -L "$path" "$root"
	done
	python
	ldconfig -r "$root" 2>/dev/null || true
}

# The interpreter, and those modules that the tests import and that are installed here.
python() {
	local python library words

	python=$(PATH=/usr/bin:$PATH python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
	words=$(grep -hoE "(^[[:space:]]*|['\"])(import|from) [a-z3_., ]+" "$top"/tests/*/*.{sh,py} | sed 's|[, ]|\n|g' | sort -u)
	library=$("$python" -c 'import os; print(os.path.dirname(os.__file__))')
	# shellcheck disable=SC2086 # words
	mapfile -t files < <("$python" - $words <<-'PYTHON'
		import encodings.idna
		import importlib
		import sys

		for name in sys.argv[1:]:
		    if name.split(".")[0] not in sys.stdlib_module_names:
		        continue
		    try:
		        importlib.import_module(name)
		    except ModuleNotFoundError:  # of python3-minimal, which has few: what needs it is not run there
		        pass
		for module in list(sys.modules.values()):
		    name = getattr(module, "__file__", None)
		    if name and name[0] == "/" and "/encodings/" not in name:
		        print(name)
	PYTHON
	)
	with_libraries "$python" "${files[@]}"
	cp -r --parents "$library/encodings" "$root"
	"$python" -m compileall -q --invalidation-mode unchecked-hash "$root$library"
	mkdir -p "$root/usr/local/bin"
	ln -s "$python" "$root/usr/local/bin/python3"
}

# Programs that a test compiles: here, not there. The clang in the image only looks up what becomes of a source.
compiled() {
	local source

	mkdir -p "$root/compiled" "$root/usr/local/bin"
	awk -v into="$work/source" '/<<.?C.?( |$)/ { file = into (++n) ".c"; next } /^C$/ { file = "" } file { print >file }' \
		"$top"/tests/*/*.sh
	for source in "$work"/source*.c; do
		[ ! -e "$source" ] ||
			clang -O2 -g -target bpf -c -o "$root/compiled/$(sha256sum <"$source" | cut -c1-64).o" "$source"
	done
	cat >"$root/usr/local/bin/clang" <<-'SH'
		#!/bin/bash
		while [ $# != 0 ]; do
			[ "$1" != -o ] || out=$2
			shift
		done
		cp "/compiled/$(sha256sum | cut -c1-64).o" "$out"
	SH
	chmod +x "$root/usr/local/bin/clang"
}

make_tools() {
	local program

	mkdir -p "$root"/{usr/{bin,sbin,lib,lib64},proc,sys,dev,tmp,run,etc,var/lib,xdp-bloom/build/tests}
	for program in bin sbin lib lib64; do
		ln -sfn "usr/$program" "$root/$program"
	done
	tools
	[ -n "${ROOT:-}" ] || cp -L "$(type -P busybox)" "$root/usr/bin/busybox"
	printf 'root:x:0:0:root:/:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
	grep '^tcpdump:' /etc/passwd >>"$root/etc/passwd" || true
	cp "$here/init" "$root/init"
	sed -n 's/^\(XDP_BLOOM_SEED\)=.*/&/p' < <(env) >"$root/environment"
	compiled
	cp -r "$top"/{bpf,docs,packaging,tests,tools,user,Makefile,README.md,SECURITY.md} "$root/xdp-bloom/"
	for program in "$build/xdp-bloom" "$build"/*.bpf.o "$build"/tests/*; do
		# All units together are more than such a machine has room for; they run here.
		case $program in
		*.bpf.o) ;;
		*.d | *.o | */fuzz*) continue ;;
		*/unit_*) [[ ${KERNEL_TESTS:-} = *unit_* ]] || continue ;;
		esac
		[ -f "$program" ] || continue
		cp "$program" "$root/xdp-bloom/build/${program#"$build"/}"
		[ -n "${ROOT:-}" ] || with_libraries "$program"
	done
	rm -rf "${root:?}$build"
}

# Each after those it depends on, numbered so that a glob has them in order.
module() {
	local file name=$1 to

	[ ! -e "$work/had-$name" ] || return 0
	touch "$work/had-$name"
	file=$(find "$kernel" -name "${name//[-_]/[-_]}.ko*" -print -quit)
	[ -n "$file" ] || return 0 # built in, or not in this kernel
	to=$work/$name.ko
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -qdc "$file" ;;
	*) cat "$file" ;;
	esac >"$to"
	for name in $(tr '\0' '\n' <"$to" | sed -n 's/^depends=//p' | tr ',' ' '); do
		module "$name"
	done
	count=$((count + 1))
	mv "$to" "$(printf '%s/modules/%03d-%s' "$root" $count "${to##*/}")"
}

make_modules() {
	local name

	kernel=$1
	count=0
	mkdir -p "$root/modules"
	for name in "${MODULES[@]}"; do
		module "$name"
	done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"
case $1 in
tools) make_tools ;;
modules) make_modules "$2" ;;
esac
archive "$root" "${*: -1}"
