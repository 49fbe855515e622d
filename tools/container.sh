#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# container.sh FILE COMMAND ARCH VERSION: an image with that static command in it, as an archive that podman, Docker and containerd load.
# What buildah keeps is kept apart and goes: nothing of it is in this machine's own store.
set -euo pipefail
file=$(realpath -m "$1") command=$(realpath "$2") arch=$3 name=localhost/xdp-bloom:$4
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $arch in
armhf) platform=linux/arm/v7 ;;
mipsel) platform=linux/mipsle ;;
*) platform=linux/$arch ;;
esac
store=(buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs)
mkdir "$work/context"
cp "$command" "$work/context/xdp-bloom"
# The same command makes the same image.
"${store[@]}" build --quiet --isolation chroot --timestamp "$(stat -c %Y "$command")" --platform "$platform" -t "$name" \
	-f "$here/../packaging/container/Containerfile" "$work/context" >/dev/null
rm -f "$file"
mkdir -p "${file%/*}"
"${store[@]}" push --quiet "$name" "oci-archive:$file:$name"
ls -l "$file"
