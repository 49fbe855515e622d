#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# static.sh DIR ARCH WITH: DIR/ARCH/xdp-bloom, a command for that architecture that needs no library and no other file. WITH is what
# it has beside the filter: "page top", which is also what "" means, or core, for neither. With a fourth word, the unit tests as well,
# and they are run, emulated.
#
# What it is linked with are Debian's packages of the architecture, unpacked and not installed; but SQLite and zstd are made
# of Debian's sources, as small as they can be, and the web library has no TLS. One clang makes all of it, for any of them.
set -euo pipefail

directory=$(realpath -m "$1") arch=$2 with=${3:-page top}
tools=$(dirname "$(realpath "$0")")
cache=$directory/$arch
root=$cache/root
# shellcheck source=tests/kernels/apt.sh
. "$tools/../tests/kernels/apt.sh"

release=bookworm gcc=12 order=bpfel linker=lld flags='' cpu=$arch wide='-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64'
case $arch in
amd64) triple=x86_64-linux-gnu cpu=x86_64 ;;
arm64) triple=aarch64-linux-gnu cpu=aarch64 ;;
# Where gcc has no numbers of 128 bits, clang takes two words for one.
armhf) triple=arm-linux-gnueabihf cpu=arm flags="-Xclang -fforce-enable-int128 $wide" ;;
mipsel) triple=mipsel-linux-gnu flags="-Xclang -fforce-enable-int128 -mips32r2 $wide" cpu=mipsel ;;
s390x) triple=s390x-linux-gnu order=bpfeb linker=/usr/bin/s390x-linux-gnu-ld.bfd ;;
# A part of Debian since 13.
riscv64) triple=riscv64-linux-gnu release=trixie gcc=14 ;;
*) echo "ARCH=$arch: amd64, arm64, armhf, mipsel, riscv64 or s390x" >&2 && exit 1 ;;
esac
for word in $with; do
	case $word in page | top | core) ;; *) echo "WITH=$word: page, top or core" >&2 && exit 1 ;; esac
done
has() { case " $with " in *" $1 "*) ;; *) return 1 ;; esac }

library=$root/usr/lib/$triple
small="-Os -g0 -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables"
cc="clang --target=$triple --sysroot=$root -static -fuse-ld=$linker -Wno-unused-command-line-argument $flags"

# sources: those of SQLite and zstd, once for all architectures.
sources() {
	local cache=$directory/source arch=amd64 state

	[ ! -e "$cache/sqlite3.c" ] || return 0
	rm -rf "$cache"
	mkdir -p "$cache"
	state=$(apt_directory bookworm)
	apt_open bookworm
	sed -i 's/^deb \(.*\)/&\ndeb-src \1/' "$state/sources.list"
	apt bookworm apt-get update >"$(apt_log bookworm)" 2>&1 || apt_failed bookworm
	(cd "$cache" && apt bookworm apt-get source --download-only --only-source sqlite3 libzstd >>"$(apt_log bookworm)" 2>&1) ||
		apt_failed bookworm
	dpkg-source --no-check -x "$cache"/libzstd_*.dsc "$cache/zstd" >/dev/null
	dpkg-source --no-check -x "$cache"/sqlite3_*.dsc "$cache/sqlite" >/dev/null
	mkdir "$cache/sqlite/build"
	(cd "$cache/sqlite/build" && ../configure >/dev/null && make sqlite3.c >/dev/null)
	mv "$cache"/sqlite/build/sqlite3.[ch] "$cache"
	rm -rf "$cache/sqlite" "$cache"/*.xz
	apt_close bookworm
}

# shellcheck disable=SC2086 # words
# archive NAME FLAG... FILE...
archive() {
	local name=$1

	shift
	rm -rf "$cache/objects" "$library/lib$name.a"
	mkdir "$cache/objects"
	(cd "$cache/objects" && $cc $small -w -c "$@" && llvm-ar rcs "$library/lib$name.a" ./*.o)
	rm -r "$cache/objects"
}

# packages: what comes as it is. Tables for unwinding are a tenth of it, and nothing here unwinds.
packages() {
	local state package

	state=$(apt_directory "$release")
	apt_open "$release"
	rm -rf "$root"
	(cd "$state/archives" && apt "$release" apt-get download libc6-dev linux-libc-dev "libgcc-$gcc-dev" libbpf-dev libxdp-dev \
		libelf-dev zlib1g-dev libjansson-dev liblzma-dev libmicrohttpd-dev libncurses-dev >>"$(apt_log "$release")" 2>&1) ||
		apt_failed "$release"
	for package in "$state"/archives/*.deb; do
		dpkg-deb -x "$package" "$root"
	done
	apt_close "$release"
	for package in "$library"/lib*.a; do
		[ "$(head -c 7 "$package")" != '!<arch>' ] || [ -L "$package" ] || llvm-objcopy -R .eh_frame "$package"
	done
}

# libraries: what is made here.
libraries() {
	local zstd=$directory/source/zstd/lib

	cp "$directory"/source/sqlite3.h "$zstd"/zstd.h "$zstd"/zstd_errors.h "$root/usr/include"
	archive sqlite3 -DSQLITE_THREADSAFE=1 -DSQLITE_DQS=0 -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_OMIT_DEPRECATED \
		-DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_JSON -DSQLITE_OMIT_EXPLAIN -DSQLITE_OMIT_TRACE -DSQLITE_OMIT_UTF16 \
		-DSQLITE_OMIT_GET_TABLE -DSQLITE_OMIT_COMPLETE -DSQLITE_OMIT_TCL_VARIABLE -DSQLITE_OMIT_SHARED_CACHE \
		-DSQLITE_LIKE_DOESNT_MATCH_BLOBS "$directory/source/sqlite3.c"
	archive zstd -DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM=1 -DZSTD_MULTITHREAD=0 "$zstd"/common/*.c "$zstd"/compress/*.c \
		"$zstd"/decompress/*.c
	# The page is never served by TLS here: who would ask for it is told that it failed.
	llvm-nm -u "$library/libmicrohttpd.a" 2>/dev/null | sed -n 's/.* \(gnutls_[a-z_0-9]*\)$/\1/p' | sort -u |
		sed 's/.*/int &(void);\nint &(void) { return -1; }/' >"$cache/gnutls.c"
	archive gnutls "$cache/gnutls.c"
}

[ "$(cat "$cache/ready" 2>/dev/null)" = "$release" ] || {
	echo "what a command for $arch is linked with, from Debian's packages: some minutes, once"
	sources
	packages
	libraries
	echo "$release" >"$cache/ready"
}

cat >"$cache/pkg-config" <<'END'
#!/bin/sh
[ "$1" != --libs ] || echo -lxdp -lbpf -lelf -lz -lsqlite3 -ljansson -llzma -lzstd -lncursesw -ltinfo -lmicrohttpd -lgnutls -lm -lpthread -ldl
END
chmod +x "$cache/pkg-config"
left_out=
has page || left_out="$left_out -DWITHOUT_PAGE"
has top || left_out="$left_out -DWITHOUT_TOP"

cd "$tools/.."
mapfile -t files < <(grep -LE "#include <(curl/|sodium|hiredis/|gnutls/)" user/*/*.c | grep -vE "/(fetch|fleet)/main\.c$")
made=(BUILD="$cache/build" CC="$cc" AR=llvm-ar PKG_CONFIG="$cache/pkg-config" SHARED=1 PACKED=1
	CFLAGS="$small" CPPFLAGS="-DSTATIC_COMMAND$left_out" LDFLAGS="-Wl,--gc-sections -Wl,-s"
	PKGS_FETCH= PKGS_FLEET= FETCH_OBJ= FLEET_OBJ= BPF_ORDER="$order" BPF_ASM="-idirafter $root/usr/include/$triple"
	USER_SRC="${files[*]}")
make --no-print-directory "${made[@]}" "$cache/build/xdp-bloom"
cp "$cache/build/xdp-bloom" "$cache/xdp-bloom"
ls -l "$cache/xdp-bloom"
[ -n "${4:-}" ] || exit 0

# Not those of what is left out; and what needs a kernel of its own is not emulated.
cd tests
mapfile -t tests < <(printf '%s\n' unit/unit_*.c | sed 's|.*/\(.*\)\.c$|\1|' | grep -vxE 'unit_(fetch|signature|fleet_reply|fleet_wire|proxy|confined)')
[ "$4" = all ] || read -ra tests <<<"$4"
make --no-print-directory OUTPUT="$cache/build/tests" "${made[@]}" "${tests[@]/#/$cache/build/tests/}"
cd ..
prove --timer --exec "qemu-$cpu-static" "${tests[@]/#/$cache/build/tests/}"
