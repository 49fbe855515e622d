// SPDX-License-Identifier: GPL-2.0-only
/* Captured packets as a file: each block taken apart again, as the format has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"
#include "observe/capture_read.h"
#include "observe/pcapng.h"

static char path[200];
static uint32_t *words;
static size_t bytes;

static void take_file(void)
{
	FILE *file = fopen(path, "re");
	struct stat st;

	free(words);
	words = NULL;
	bytes = 0;
	if (!CHECK(file && !fstat(fileno(file), &st), "no file"))
		return;
	CHECK((st.st_mode & 0777) == 0600, "mode %o", (unsigned int)st.st_mode);
	words = calloc(1, (size_t)st.st_size + 4);
	bytes = words ? fread(words, 1, (size_t)st.st_size, file) : 0;
	fclose(file);
}

/* The block that begins at this word: of this type, as long at its end as at its beginning. Where the next one begins.
 */
static size_t block(size_t at, uint32_t type)
{
	size_t length = (at + 2) * 4 <= bytes ? words[at + 1] : 0;

	if (!CHECK(length >= 12 && length % 4 == 0 && at * 4 + length <= bytes, "at %zu of %zu bytes: %zu long", at * 4,
		   bytes, length) ||
	    !CHECK(words[at] == type, "at %zu: type %x, not %x", at * 4, words[at], type) ||
	    !CHECK(words[at + length / 4 - 1] == length, "at %zu: %zu, and %u at its end", at * 4, length,
		   words[at + length / 4 - 1]))
		return SIZE_MAX;
	return at + length / 4;
}

/* An option with this value: its padding is zeros. Where the next one begins. */
static size_t option(size_t at, uint16_t code, const void *value, size_t n)
{
	static const char zeros[4];
	const char *there = (const char *)&words[at + 1];
	uint16_t head[2];

	memcpy(head, &words[at], sizeof(head));
	CHECK(head[0] == code && head[1] == n && !memcmp(there, value, n) && !memcmp(there + n, zeros, (4 - n % 4) % 4),
	      "at %zu: option %x, not %u with %zu bytes", at * 4, words[at], code, n);
	return at + 1 + (n + 3) / 4;
}

static size_t interface(size_t at, const char *name)
{
	size_t next = block(at, 1), end;

	if (next == SIZE_MAX)
		return next;
	CHECK(words[at + 2] == 1 && !words[at + 3], "link type %x, limit %u", words[at + 2], words[at + 3]);
	end = option(at + 4, 2, name, strlen(name));
	end = option(end, 9, "\x09", 1);
	CHECK(!words[end] && end + 2 == next, "%zu words at its end", next - end);
	return next;
}

static size_t packet(size_t at, uint32_t number, uint64_t when, const void *data, size_t captured, size_t length,
		     const char *comment)
{
	size_t next = block(at, 6), end;

	if (next == SIZE_MAX)
		return next;
	CHECK(words[at + 2] == number && words[at + 3] == (uint32_t)(when >> 32) && words[at + 4] == (uint32_t)when &&
		      words[at + 5] == captured && words[at + 6] == length && !memcmp(&words[at + 7], data, captured),
	      "interface %u, not %u; %u of %u bytes", words[at + 2], number, words[at + 5], words[at + 6]);
	end = option(at + 7 + (captured + 3) / 4, 1, comment, strlen(comment));
	CHECK(!words[end] && end + 2 == next, "%zu words at its end", next - end);
	return next;
}

#define WHEN 0x123456789abcdef0ULL

/* Each interface is described before its first packet, and once; those beyond the 64th are counted for that one. */
static void blocks(void)
{
	struct pcapng *p = NULL;
	static char data[CAPTURED_MAX + 88];
	char comment[300];
	size_t at, n = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(1 + i % 255);
	memset(comment, 'c', sizeof(comment));
	comment[299] = '\0';
	CHECK(!pcapng_open(&p, path), "not opened");
	for (unsigned int i = 0; p && i < 132; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%u", i % 66);
		CHECK(!pcapng_packet(p, name, LINK_ETHERNET, WHEN + i, data, i, 1000 + i, "why"), "packet %u", i);
	}
	CHECK(!pcapng_packet(p, "eth0", LINK_ETHERNET, WHEN, data, sizeof(data), sizeof(data), comment), "the longest");
	CHECK(!pcapng_flush(p) && !pcapng_close(p), "not closed");
	take_file();
	at = block(0, 0x0a0d0d0a);
	CHECK(at == 7 && words[2] == 0x1a2b3c4d && words[3] == 1 && words[4] == ~0u && words[5] == ~0u,
	      "the first block");
	for (unsigned int i = 0; i < 132 && at != SIZE_MAX && !ktap_failed; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%u", i);
		if (i < 64)
			at = interface(at, name);
		if (at != SIZE_MAX)
			at = packet(at, i % 66 < 64 ? i % 66 : 63, WHEN + i, data, i, 1000 + i, "why");
		n++;
	}
	comment[240] = '\0';
	if (at != SIZE_MAX && !ktap_failed)
		at = packet(at, 0, WHEN, data, CAPTURED_MAX, sizeof(data), comment);
	CHECK(n == 132 && at * 4 == bytes, "%zu of %zu bytes", at * 4, bytes);
	free(words);
	words = NULL;
	unlink(path);
}

static void cannot_be_written(void)
{
	struct pcapng *p = (void *)1;
	char data[512] = "";
	int err = pcapng_open(&p, "/nonexistent/file");

	CHECK(err_is(err, ENOENT) && !p, "error %d", err);
	if (access("/dev/full", W_OK))
		return ktap_skip("needs /dev/full");
	err = pcapng_open(&p, "/dev/full");
	if (!CHECK(!err, "error %d", err))
		return;
	for (int i = 0; i < 100 && !err; i++)
		err = pcapng_packet(p, "eth0", LINK_ETHERNET, 1, data, sizeof(data), sizeof(data), "");
	CHECK(err_is(err, ENOSPC), "error %d of a write", err);
	err = pcapng_flush(p);
	CHECK(err, "flushed");
	CHECK(pcapng_close(p), "closed");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "blocks", blocks },
		{ "what cannot be written", cannot_be_written },
	};

	snprintf(path, sizeof(path), "%s/unit_pcapng.%d", getenv("TMPDIR") ?: "/tmp", (int)getpid());
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
