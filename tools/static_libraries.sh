# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What a static command is linked with, of Debian's sources, in $root, by a compiler that is then $cache/cc. Sourced by static.sh.
#
# The C library is musl: an eighth of glibc. Everything is made for size, each function apart, so that what nobody calls
# goes; SQLite has nothing of what the state does not need. libxdp alone comes as Debian made it, with its programs for the kernel:
# it asks for glibc's names of functions that musl has by other names.
: "${directory:?}" "${cache:?}" "${arch:?}" "${release:?}" "${triple:?}" "${musl:?}" "${flags?}" "${linker:?}" "${gcc:?}" "${bits:?}" "${said?}"

root=$cache/root
library=$root/usr/lib
sources=$directory/source
small="-Oz -g0 -w -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-stack-protector"
compile="clang --target=$musl --sysroot=$root -static -nostdlibinc -isystem $root/usr/include $flags"

OMITTED=(AUTOINCREMENT AUTOVACUUM BTREECOUNT CASE_SENSITIVE_LIKE_PRAGMA COMPILEOPTION_DIAGS COMPLETE CTE
	DATETIME_FUNCS DECLTYPE DEPRECATED DESERIALIZE EXPLAIN GENERATED_COLUMNS GET_TABLE INCRBLOB JSON LOAD_EXTENSION LOCALTIME
	ANALYZE REINDEX SHARED_CACHE TCL_VARIABLE UTF16 WINDOWFUNC XFER_OPT)

# sources: once for all architectures.
get_sources() {
	local cache=$sources.new arch=amd64 state name
	local -a names=(musl libbpf elfutils zlib jansson xz-utils libmicrohttpd ncurses sqlite3 libzstd)

	[ ! -e "$sources/ready" ] || return 0
	rm -rf "$cache" "$sources"
	mkdir -p "$cache"
	state=$(apt_directory bookworm)
	apt_open bookworm
	sed -i 's/^deb \(.*\)/&\ndeb-src \1/' "$state/sources.list"
	apt bookworm apt-get update >"$(apt_log bookworm)" 2>&1 || apt_failed bookworm
	(cd "$cache" && apt bookworm apt-get source --download-only --only-source "${names[@]}" >>"$(apt_log bookworm)" 2>&1) ||
		apt_failed bookworm
	for name in "${names[@]}"; do
		dpkg-source --no-check -x "$cache/$name"_*.dsc "$cache/$name" >/dev/null
	done
	rm "$cache"/*.*
	apt_close bookworm

	# Not in the standard, but the command sets them, as it may with glibc.
	(cd "$cache/musl" && sed -i 's/^extern FILE \*const std/extern FILE *std/' include/stdio.h &&
		sed -i '/^#\(undef\|define\) std/d' src/include/stdio.h && sed -i 's/^FILE \*const std/FILE *std/' src/stdio/std{in,out,err}.c)
	# What errors are called, as everywhere else.
	python3 - "$cache/musl/src/errno/__strerror.h" <<-'END'
		import errno, os, re, sys
		path = sys.argv[1]
		text = open(path).read()
		said = lambda m: 'E(%s,' % m[1] + ' "%s")' % os.strerror(getattr(errno, m[1])) if hasattr(errno, m[1]) else m[0]
		open(path, "w").write(re.sub(r'E\((E\w+),\s*"[^"]*"\)', said, text))
	END
	mkdir "$cache/sqlite3/build"
	# The parser is made of a grammar that knows what is left out.
	(cd "$cache/sqlite3/build" && ../configure >log 2>&1 && another make sqlite3.c OPTS="${OMITTED[*]/#/-DSQLITE_OMIT_}" >>log 2>&1) ||
		{ tail "$cache/sqlite3/build/log" >&2 && return 1; }
	echo >"$cache/ready"
	mv "$cache" "$sources"
}

# packages: what there is of the architecture itself.
get_packages() {
	local state package

	[ ! -e "$library/libxdp.a" ] || return 0
	state=$(apt_directory "$release")
	apt_open "$release"
	rm -rf "$root"
	mkdir -p "$root/usr/include" "$library"
	(cd "$state/archives" && apt "$release" apt-get download linux-libc-dev "libgcc-$gcc-dev" libxdp-dev >>"$(apt_log "$release")" 2>&1) ||
		apt_failed "$release"
	for package in "$state"/archives/*.deb; do
		dpkg-deb -x "$package" "$root/debian"
	done
	apt_close "$release"
	cp -rL "$root"/debian/usr/include/{linux,asm-generic,xdp} "$root/debian/usr/include/$triple/asm" "$root/usr/include"
	cp "$root/debian/usr/lib/gcc/$triple/$gcc"/lib{gcc,atomic}.a "$root/debian/usr/lib/$triple/libxdp.a" "$library"
	llvm-ar t "$library/libxdp.a" | grep ^xsk | xargs llvm-ar d "$library/libxdp.a"
	# Bytes alone, which say nothing of how this machine passes numbers: the linker wants all alike.
	[ -z "$said" ] || (
		cd "$library" || exit
		llvm-ar x libxdp.a xdp-dispatcher.embed.o
		# shellcheck disable=SC2059 # its bytes
		printf "${said#* }" | dd of=xdp-dispatcher.embed.o bs=1 seek="${said% *}" conv=notrunc status=none
		llvm-ar r libxdp.a xdp-dispatcher.embed.o
		rm xdp-dispatcher.embed.o
	)
	rm -r "$root/debian"
}

# another MAKE WORD...: which has nothing of the make that this one came from.
another() {
	env -u ARCH -u MAKEFLAGS -u MAKELEVEL "$@"
}

# archive NAME FLAG... FILE.c...
archive() {
	local name=$1 word
	local -a words=() files=()

	[ ! -e "$library/lib$name.a" ] || return 0
	shift
	for word; do
		case $word in *.c) files+=("$word") ;; *) words+=("$word") ;; esac
	done
	rm -rf "$cache/objects"
	mkdir "$cache/objects"
	# shellcheck disable=SC2086 # words
	(cd "$cache/objects" && printf '%s\0' "${files[@]}" |
		xargs -0 -n 8 -P "$(nproc)" $compile $small "${words[@]}" -c && llvm-ar rcs "$library/lib$name.a" ./*.o)
	rm -r "$cache/objects"
}

# configured NAME ARCHIVE DIRECTORY-BELOW WORD...: what is made by a configure of its own.
configured() {
	local name=$1 makes=$2 below=$3 log=$cache/$1.log

	[ ! -e "$library/$makes" ] || return 0
	shift 3
	rm -rf "${cache:?}/$name"
	mkdir "$cache/$name"
	(
		cd "$cache/$name"
		CC=$cache/cc CFLAGS=$small AR=llvm-ar RANLIB=llvm-ranlib NM=llvm-nm "$sources/$name/configure" --host="$triple" --prefix=/usr "$@"
		case $name in
		libmicrohttpd) another make DESTDIR="$root" -C src/include install && another make -j"$(nproc)" DESTDIR="$root" -C "$below" libmicrohttpd.la install ;;
		ncurses) another make -j"$(nproc)" libs && another make DESTDIR="$root" install.libs install.includes ;;
		*) another make -j"$(nproc)" -C "$below" DESTDIR="$root" install ;;
		esac
	) >"$log" 2>&1 || { tail "$log" >&2 && return 1; }
	rm -r "${cache:?}/$name" "$log"
	rm -f "$library"/*.la
}

c_library() {
	local log=$cache/musl.log

	[ ! -e "$library/libc.a" ] || return 0
	rm -rf "$cache/musl"
	mkdir "$cache/musl"
	(cd "$cache/musl" && CC="clang --target=$musl $flags" LIBCC=' ' CFLAGS=$small another "$sources/musl/configure" --target="$musl" --prefix=/usr \
		--disable-shared && another make -j"$(nproc)" AR=llvm-ar RANLIB=llvm-ranlib DESTDIR="$root" install) >"$log" 2>&1 || { tail "$log" >&2 && return 1; }
	rm -r "$cache/musl" "$log"
}

compiler() {
	cat >"$cache/cc" <<-END
		#!/bin/sh
		# For ${arch}, and linked without any library of this machine.
		for word; do
			case \$word in -c | -E | -S) exec $compile "\$@" ;; esac
		done
		exec $compile -Wno-unused-command-line-argument -fuse-ld=$linker -nostdlib -Wl,-z,stack-size=0x800000 \\
			$library/crt1.o $library/crti.o "\$@" -L$library -lc -latomic -lgcc -lc $library/crtn.o
	END
	chmod +x "$cache/cc"
}

# glibc's names, for libxdp.
glibc_names() {
	cat >"$cache/glibc.c" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>

		/* Of AF_XDP, which is not used. */
		const char _binary_xsk_def_xdp_prog_o_start[1], _binary_xsk_def_xdp_prog_o_end[1];
		const char _binary_xsk_def_xdp_prog_5_3_o_start[1], _binary_xsk_def_xdp_prog_5_3_o_end[1];

		int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list args)
		{
			return vsnprintf(to, size, format, args);
		}

		int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...)
		{
			va_list args;
			int n;

			__builtin_va_start(args, format);
			n = vsnprintf(to, size, format, args);
			__builtin_va_end(args);
			return n;
		}

		int __vfprintf_chk(FILE *to, int flag, const char *format, va_list args)
		{
			return vfprintf(to, format, args);
		}

		int __isoc23_sscanf(const char *text, const char *format, ...)
		{
			va_list args;
			int n;

			__builtin_va_start(args, format);
			n = vsscanf(text, format, args);
			__builtin_va_end(args);
			return n;
		}

		int fcntl64(int fd, int what, long arg)
		{
			return fcntl(fd, what, arg);
		}
	END
	archive glibc "$cache/glibc.c"
}

make_libraries() {
	local at

	c_library
	compiler
	glibc_names
	cp "$sources"/zlib/{zlib,zconf}.h "$sources"/libzstd/lib/{zstd,zstd_errors}.h "$sources"/elfutils/libelf/{libelf,gelf,nlist}.h \
		"$sources/sqlite3/build/sqlite3.h" "$sources/jansson/src/jansson.h" "$root/usr/include"
	archive z -DHAVE_UNISTD_H -DNO_GZCOMPRESS "$sources"/zlib/*.c
	archive zstd -DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM=1 -DDYNAMIC_BMI2=0 -DZSTD_STRIP_ERROR_STRINGS \
		-DHUF_FORCE_DECOMPRESS_X1 -DZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT -DZSTD_NO_INLINE "$sources"/libzstd/lib/{common,compress,decompress}/*.c
	archive sqlite3 -DSQLITE_THREADSAFE=1 -DSQLITE_DQS=0 -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_LIKE_DOESNT_MATCH_BLOBS -DSQLITE_UNTESTABLE \
		"${OMITTED[@]/#/-DSQLITE_OMIT_}" "$sources/sqlite3/build/sqlite3.c"

	sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' "$sources/jansson/src/jansson_config.h.in" >"$root/usr/include/jansson_config.h"
	: >"$cache/jansson_private_config.h"
	archive jansson -I"$cache" -DHAVE_STDINT_H -DHAVE_UNISTD_H -DHAVE_SYS_TYPES_H -DHAVE_SYS_TIME_H -DHAVE_FCNTL_H -DHAVE_GETPID \
		-DHAVE_GETTIMEOFDAY -DHAVE_OPEN -DHAVE_READ -DHAVE_CLOSE -DHAVE_SCHED_YIELD -DHAVE_ATOMIC_BUILTINS -DHAVE_LOCALECONV \
		-DUSE_URANDOM -DINITIAL_HASHTABLE_ORDER=3 "$sources"/jansson/src/*.c

	cat >"$cache/config.h" <<-'END'
		#define HAVE_DECL_MEMPCPY 1
		#define HAVE_DECL_REALLOCARRAY 1
		#define HAVE_DECL_MEMRCHR 1
		#define HAVE_VISIBILITY 1
		#define HAVE_FALLTHROUGH 1
		#define HAVE_ERR_H 1
		#define PACKAGE_NAME "elfutils"
		#define PACKAGE_VERSION ""
		#define rawmemchr(s, c) memchr(s, c, (size_t)-1)
		#include <eu-config.h>
	END
	archive elf -D_GNU_SOURCE -DHAVE_CONFIG_H -I"$cache" -I"$sources/elfutils/libelf" -I"$sources/elfutils/lib" "$sources"/elfutils/libelf/*.c

	mkdir -p "$root/usr/include/bpf"
	cp "$sources"/libbpf/src/*.h "$root/usr/include/bpf"
	archive bpf -D_GNU_SOURCE -D_LARGEFILE64_SOURCE -I"$sources/libbpf/include" -I"$sources/libbpf/include/uapi" "$sources"/libbpf/src/*.c

	# The tests pack, too.
	at=$sources/xz-utils/src
	cp -r "$at"/liblzma/api/lzma{.h,} "$root/usr/include"
	archive lzma -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_LIMITS_H -DHAVE_STDBOOL_H -DHAVE__BOOL -DHAVE_VISIBILITY -DNDEBUG -DASSUME_RAM=32 \
		-DHAVE_{EN,DE}CODERS -DHAVE_{EN,DE}CODER_{LZMA1,LZMA2,DELTA,X86,ARM,ARMTHUMB,ARM64} -DHAVE_MF_{HC3,HC4,BT2,BT3,BT4} -DHAVE_CHECK_{CRC32,CRC64,SHA256} -DPACKAGE_NAME='"xz"' \
		"-DSIZEOF_SIZE_T=$((bits / 8))" ${big:+-DWORDS_BIGENDIAN} -I"$at"/{common,liblzma/{api,common,check,lz,rangecoder,lzma,delta,simple}} \
		"$at"/liblzma/common/{common,block_util,filter_common,index,index_hash,stream_flags_common,vli_size,easy_preset,*_encoder,*_decoder}.c \
		"$at"/liblzma/check/{check,crc32_fast,crc32_table,crc64_fast,crc64_table,sha256}.c "$at"/liblzma/lz/lz_{decoder,encoder,encoder_mf}.c \
		"$at"/liblzma/lzma/{lzma_decoder,lzma2_decoder,lzma_encoder*,lzma2_encoder,fastpos_table}.c "$at"/liblzma/rangecoder/price_table.c \
		"$at"/liblzma/delta/delta_*.c "$at"/liblzma/simple/{simple_*,x86,arm,armthumb,arm64}.c
	configured libmicrohttpd libmicrohttpd.a src/microhttpd --disable-shared --disable-https --disable-bauth --disable-dauth \
		--disable-httpupgrade --disable-postprocessor --disable-doc --disable-examples --disable-curl --disable-nls
	configured ncurses libncursesw.a . --without-cxx --without-cxx-binding --without-ada --without-progs --without-tests --without-manpages \
		--without-debug --without-gpm --without-dlsym --disable-db-install --disable-stripping --enable-widec --with-build-cc=cc \
		--with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo --with-default-terminfo-dir=/usr/share/terminfo
}
