#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# static.sh DIR ARCH WITH: DIR/ARCH/xdp-bloom, a command for that architecture that needs no library and no other file. WITH is what
# it has beside the filter: "page top feeds fleet", which is also what "" means, some of these, or core, for none. With a fourth word,
# the unit tests as well, and they are run, emulated.
set -euo pipefail

directory=$(realpath -m "$1") arch=$2 with=${3:-page top feeds fleet}
tools=$(dirname "$(realpath "$0")")
cache=$directory/$arch

# shellcheck source=tools/static_machines.sh
. "$tools/static_machines.sh"
left_out=
for word in $with; do
	case $word in page | top | feeds | fleet | core) ;; *) echo "WITH=$word: page, top, feeds, fleet or core" >&2 && exit 1 ;; esac
done
for word in page top feeds fleet; do
	case " $with " in *" $word "*) ;; *) left_out="$left_out -DWITHOUT_${word^^}" ;; esac
done

# shellcheck source=tests/kernels/apt.sh
. "$tools/../tests/kernels/apt.sh"
# shellcheck source=tools/static_libraries.sh
. "$tools/static_libraries.sh"

# What was begun goes on; what another version of this began is done again.
made_by=$(cat "$tools/static_libraries.sh" "$tools/static_machines.sh" | sha256sum)
[ "$(cat "$cache/begun" 2>/dev/null)" = "$made_by" ] || rm -rf "$cache"
mkdir -p "$cache"
echo "$made_by" >"$cache/begun"
[ -e "$cache/ready" ] || {
	echo "what a command for $arch is linked with, from Debian's sources: some minutes, once"
	get_sources
	get_packages
	make_libraries
	touch "$cache/ready"
}

cat >"$cache/pkg-config" <<'END'
#!/bin/sh
case $1 in
--cflags) echo -DNCURSES_WIDECHAR=1 ;;
--libs) echo -lxdp -lglibc -lbpf -lelf -lz -lsqlite3 -ljansson -llzma -lzstd -lncursesw -lmicrohttpd ;;
esac
END
chmod +x "$cache/pkg-config"

cd "$tools/.."
mapfile -t files < <(grep -LE "#include <(curl/|sodium|hiredis/|gnutls/)" user/*/*.c | grep -vE "/(fetch|fleet)/main\.c$")
made=(BUILD="$cache/build" CC="$cache/cc" AR=llvm-ar PKG_CONFIG="$cache/pkg-config" SHARED=1 PACKED=1
	CFLAGS="${small/-w /}" CPPFLAGS="-DSTATIC_COMMAND$left_out" LDFLAGS="-Wl,--gc-sections -Wl,-s $shrink"
	PKGS_FETCH= PKGS_FLEET= FETCH_OBJ= FLEET_OBJ= BPF_ORDER="$order" BPF_ASM="-idirafter $root/usr/include"
	USER_SRC="${files[*]}")
make --no-print-directory "${made[@]}" "$cache/build/xdp-bloom"
# What assemblers of MIPS tell debuggers of each function is not among what the linker leaves out.
llvm-objcopy --remove-section=.pdr "$cache/build/xdp-bloom" "$cache/xdp-bloom"
ls -l "$cache/xdp-bloom"
# What make record-static puts into docs/design.md.
case $with in "page top feeds fleet") kind=all ;; core) kind=core ;; *) kind= ;; esac
if [ "$kind" ]; then
	{
		grep -v "^$arch $kind " "$directory/sizes" 2>/dev/null || true
		echo "$arch $kind $(stat -c %s "$cache/xdp-bloom")"
	} | sort >"$directory/sizes.new"
	mv "$directory/sizes.new" "$directory/sizes"
fi
[ -n "${4:-}" ] || exit 0

# Not those of what is left out; what needs a kernel of its own is not emulated; and where everything is linked into one, the allocations
# of the libraries would fail, too.
cd tests
mapfile -t tests < <(printf '%s\n' unit/unit_*.c | sed 's|.*/\(.*\)\.c$|\1|' | grep -vxE 'unit_(fetch|signature|fleet_reply|fleet_wire|proxy|confined|no_memory)')
[ "$4" = all ] || read -ra tests <<<"$4"
make --no-print-directory OUTPUT="$cache/build/tests" "${made[@]}" "${tests[@]/#/$cache/build/tests/}"
cd ..
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep '^unit_')
[ ${#tests[@]} = 0 ] || prove --timer --exec "${emulator:-env}" "${tests[@]/#/$cache/build/tests/}"
