// SPDX-License-Identifier: GPL-2.0-only
/* Files packed into pieces: they come back as they were, whatever their size; what cannot be read is said. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compress.c"

#include "ktap.h"

static int file_of(const void *bytes, size_t n)
{
	char path[] = "/tmp/xdp-bloom-compress.XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0 && (unlink(path) || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET)))
		abort();
	return fd;
}

/* All pieces in one; free() it. */
static char *joined(const struct packed_piece *pieces, size_t n, size_t *bytes)
{
	char *all;

	*bytes = 0;
	for (size_t i = 0; i < n; i++)
		*bytes += pieces[i].bytes;
	all = malloc(*bytes + 1);
	*bytes = 0;
	for (size_t i = 0; all && i < n; i++) {
		memcpy(all + *bytes, pieces[i].data, pieces[i].bytes);
		*bytes += pieces[i].bytes;
	}
	return all;
}

static void kinds(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum packing is;
	} known[] = {
		{ "\x1f\x8b\x08", 3, GZIP },	      { "\x1f\x8b\x08xyz", 6, GZIP },  { "\x1f\x8b\x08", 2, PLAIN },
		{ "\x1f\x8b\x09xyz", 6, PLAIN },      { "\xfd\x37zXZ\0", 6, XZ },      { "\xfd\x37zXZ\0", 5, PLAIN },
		{ "\xfd\x37zXZ\1", 6, PLAIN },	      { "\x28\xb5\x2f\xfd", 4, ZSTD }, { "\x28\xb5\x2f\xfd", 3, PLAIN },
		{ "\x28\xb5\x2f\xfc\0\0", 6, PLAIN }, { "1.2.3.4\n", 8, PLAIN },       { "", 0, PLAIN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		CHECK(packing_of(known[i].bytes, known[i].n) == known[i].is, "%zu is %d", i,
		      packing_of(known[i].bytes, known[i].n));
}

static void come_back(void)
{
	static const size_t sizes[] = { 0, 1, 5, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (17 << 20) + 7 };
	char *bytes = malloc(18 << 20), *back = malloc(18 << 20);

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes) && bytes && back; i++) {
		size_t size = sizes[i / 2], packed, n;
		const struct packed_piece *pieces;
		struct packer *p;
		char *all;
		int fd, err;

		/* The second time it looks as if it were packed, and stays as it is. */
		for (size_t at = 0; at < size; at += 8) {
			uint64_t word = ktap_random();

			memcpy(bytes + at, &word, 8);
		}
		if (i % 2 && size > 3)
			memcpy(bytes, "\x1f\x8b\x08", 3);
		fd = file_of(bytes, size);
		p = packer_begin(fd);
		err = p ? packer_end(p, &pieces, &n) : -ENOMEM;
		if (!CHECK(!err, "%zu bytes: %s", size, reason(err)))
			return;
		all = joined(pieces, n, &packed);
		for (size_t at = 0; at < n; at++)
			CHECK(pieces[at].bytes && (at == n - 1 || pieces[at].bytes == (16u << 20)),
			      "piece %zu of %zu has %zu bytes", at, n, pieces[at].bytes);
		if (i % 2 && size > 3)
			CHECK(packed == size && !memcmp(all, bytes, size), "%zu bytes are not as they were", size);
		else if (size)
			CHECK(packing_of(all, packed) == ZSTD && ZSTD_decompress(back, 18 << 20, all, packed) == size &&
				      !memcmp(back, bytes, size),
			      "%zu bytes do not come back from %zu", size, packed);
		else
			CHECK(!packed, "of nothing %zu bytes are kept", packed);
		free(all);
		packer_free(p);
		close(fd);
	}
	free(bytes);
	free(back);
}

static void unreadable(void)
{
	static const char *const paths[] = { "/", "/proc/self/mem" };

	for (size_t i = 0; i < 2; i++) {
		const struct packed_piece *pieces;
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC), err;
		struct packer *p = packer_begin(fd);
		size_t n;

		err = p ? packer_end(p, &pieces, &n) : 0;
		CHECK(err_is(err, i ? EIO : EISDIR) && strstr(reason(err), "keeping the list's text: "), "%s: %s",
		      paths[i], reason(err));
		packer_free(p);
		close(fd);
	}
	packer_free(NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is packed", kinds },
		{ "they come back", come_back },
		{ "what cannot be read", unreadable },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
