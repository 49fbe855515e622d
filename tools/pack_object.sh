#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# pack_object.sh SKELETON NAME OBJECT: in that skeleton, another object takes the place of its own, without what only debuggers and the
# verifier's complaints show, and packed by xz: a fiftieth of it, unpacked once by a command that loads it. It may be of the other
# byte order, for which bpftool makes no skeleton.
set -euo pipefail
skeleton=$1 name=$2__elf_bytes

object=$(mktemp) packed=$(mktemp)
trap 'rm -f "$object" "$packed"' EXIT
llvm-objcopy --strip-debug "$3" "$object"
"$(dirname "$0")/drop_lines.py" "$object"
llvm-objcopy --wildcard -R .rel.BTF.ext -R .llvm_addrsig -N 'LBB*' "$object"
xz -c --check=crc32 --lzma2=preset=9e,dict=1MiB "$object" >"$packed"
{
	sed '/^static inline const void \*'"$name"'(size_t \*sz)$/,$d' "$skeleton"
	cat <<-END
		#include <lzma.h>

		static inline const void *$name(size_t *sz)
		{
			static const unsigned char packed[] = {
		$(od -An -v -tu1 -w32 "$packed" | sed 's/ *\([0-9][0-9]*\)/\1,/g')
			};
			static unsigned char object[$(stat -c %s "$object")] __attribute__((aligned(8)));
			uint64_t limit = UINT64_MAX;
			size_t in = 0, out = 0;

			*sz = sizeof(object);
			if (!object[0] && lzma_stream_buffer_decode(&limit, 0, NULL, packed, &in, sizeof(packed), object, &out,
								    sizeof(object)) != LZMA_OK)
				*sz = 0;
			return object;
		}

		#endif
	END
} >"$skeleton.packed"
mv "$skeleton.packed" "$skeleton"
