# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What is particular to the machine that $arch names: how a command for it is compiled, and in $emulator what runs it here, if it needs that.
# shellcheck disable=SC2034 # for who sources this
: "${arch:?}"

# said: the place of an object's flags, and what they are where an object that only holds bytes says others.
release=bookworm gcc=12 order=bpfel linker=lld flags='' shrink='-Wl,--icf=safe -Wl,-O2' cpu=$arch bits=64 big='' said=''
case $arch in
amd64) triple=x86_64-linux-gnu musl=x86_64-linux-musl cpu=x86_64 ;;
arm64) triple=aarch64-linux-gnu musl=aarch64-linux-musl cpu=aarch64 ;;
# Where gcc has no numbers of 128 bits, clang takes two words for one.
armhf)
	bits=32 triple=arm-linux-gnueabihf musl=arm-linux-musleabihf cpu=arm
	flags="-Xclang -fforce-enable-int128 -march=armv7-a -mfpu=vfpv3-d16 -mthumb"
	;;
mipsel)
	bits=32 triple=mipsel-linux-gnu musl=mipsel-linux-musl said='36 \7\20\0\160'
	flags="-Xclang -fforce-enable-int128 -mips32r2"
	;;
s390x) triple=s390x-linux-gnu musl=s390x-linux-musl order=bpfeb big=yes linker=/usr/bin/s390x-linux-gnu-ld.bfd shrink= ;;
# A part of Debian since 13.
riscv64)
	triple=riscv64-linux-gnu musl=riscv64-linux-musl release=trixie gcc=14 said='48 \5'
	flags="-march=rv64gc -mabi=lp64d -mno-relax"
	;;
*) echo "ARCH=$arch: amd64, arm64, armhf, mipsel, riscv64 or s390x" >&2 && exit 1 ;;
esac
emulator=
[ "$arch" = "$(dpkg --print-architecture)" ] || emulator=qemu-$cpu-static
