// SPDX-License-Identifier: GPL-2.0-only
/* Captured packets as a file: each block taken apart again, as the format has it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"

/* Which of the calls fails, and with what errno. */
static const char *failing = "";
static int at_call, calls_n, with;

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0 || ++calls_n != at_call)
		return false;
	errno = with;
	return true;
}

static void fail_at(const char *call, int n, int error)
{
	failing = call;
	at_call = n;
	with = error;
	calls_n = 0;
}

static int given_fclose(FILE *out)
{
	bool failed = fails("fclose");

	return fclose(out) || failed ? EOF : 0;
}

#define fwrite(at, size, n, out) (fails("fwrite") ? 0 : fwrite(at, size, n, out))
#define fflush(out)		 (fails("fflush") ? EOF : fflush(out))
#define fclose(out)		 given_fclose(out)
#define calloc(n, size)		 (fails("calloc") ? NULL : calloc(n, size))
#include "observe/pcapng.c"
#undef fwrite
#undef fflush
#undef fclose
#undef calloc

static char path[200];
static uint32_t *words;
static size_t bytes_n;

static void take_file(void)
{
	FILE *file = fopen(path, "re");
	struct stat st;

	free(words);
	words = NULL;
	bytes_n = 0;
	if (!CHECK(file && !fstat(fileno(file), &st), "no file"))
		return;
	CHECK((st.st_mode & 0777) == 0600, "mode %o", (unsigned int)st.st_mode);
	words = calloc(1, (size_t)st.st_size + 4);
	bytes_n = words ? fread(words, 1, (size_t)st.st_size, file) : 0;
	fclose(file);
}

/* The block that begins at this word: of this type, as long at its end as at its beginning. Where the next one begins.
 */
static size_t block_at(size_t at, uint32_t type)
{
	size_t length = (at + 2) * 4 <= bytes_n ? words[at + 1] : 0;

	if (!CHECK(length >= 12 && length % 4 == 0 && at * 4 + length <= bytes_n, "at %zu of %zu bytes: %zu long",
		   at * 4, bytes_n, length) ||
	    !CHECK(words[at] == type, "at %zu: type %x, not %x", at * 4, words[at], type) ||
	    !CHECK(words[at + length / 4 - 1] == length, "at %zu: %zu, and %u at its end", at * 4, length,
		   words[at + length / 4 - 1]))
		return SIZE_MAX;
	return at + length / 4;
}

/* An option with this value: its padding is zeros. Where the next one begins. */
static size_t option_at(size_t at, uint16_t code, const void *value, size_t n)
{
	static const char zeros[4];
	const char *there = (const char *)&words[at + 1];
	uint16_t head[2];

	memcpy(head, &words[at], sizeof(head));
	CHECK(head[0] == code && head[1] == n && !memcmp(there, value, n) && !memcmp(there + n, zeros, (4 - n % 4) % 4),
	      "at %zu: option %x, not %u with %zu bytes", at * 4, words[at], code, n);
	return at + 1 + (n + 3) / 4;
}

static size_t interface_at(size_t at, const char *name)
{
	size_t next = block_at(at, 1), end;

	if (next == SIZE_MAX)
		return next;
	CHECK(words[at + 2] == 1 && !words[at + 3], "link type %x, limit %u", words[at + 2], words[at + 3]);
	end = option_at(at + 4, 2, name, strlen(name));
	end = option_at(end, 9, "\x09", 1);
	CHECK(!words[end] && end + 2 == next, "%zu words at its end", next - end);
	return next;
}

static size_t packet_at(size_t at, uint32_t number, uint64_t when, const void *data, size_t captured, size_t length,
			const char *comment)
{
	size_t next = block_at(at, 6), end;

	if (next == SIZE_MAX)
		return next;
	CHECK(words[at + 2] == number && words[at + 3] == (uint32_t)(when >> 32) && words[at + 4] == (uint32_t)when &&
		      words[at + 5] == captured && words[at + 6] == length && !memcmp(&words[at + 7], data, captured),
	      "interface %u, not %u; %u of %u bytes", words[at + 2], number, words[at + 5], words[at + 6]);
	end = option_at(at + 7 + (captured + 3) / 4, 1, comment, strlen(comment));
	CHECK(!words[end] && end + 2 == next, "%zu words at its end", next - end);
	return next;
}

#define RAW  101
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
	at = block_at(0, 0x0a0d0d0a);
	CHECK(at == 7 && words[2] == 0x1a2b3c4d && words[3] == 1 && words[4] == ~0u && words[5] == ~0u,
	      "the first block");
	for (unsigned int i = 0; i < 132 && at != SIZE_MAX && !ktap_failed; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%u", i);
		if (i < 64)
			at = interface_at(at, name);
		if (at != SIZE_MAX)
			at = packet_at(at, i % 66 < 64 ? i % 66 : 63, WHEN + i, data, i, 1000 + i, "why");
		n++;
	}
	comment[240] = '\0';
	if (at != SIZE_MAX && !ktap_failed)
		at = packet_at(at, 0, WHEN, data, CAPTURED_MAX, sizeof(data), comment);
	CHECK(n == 132 && at * 4 == bytes_n, "%zu of %zu bytes", at * 4, bytes_n);
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

static long lowest(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

/* Each piece of each block that is not written is told, with or without a reason, and nothing is left open. */
static void each_write(void)
{
	struct pcapng *p;

	for (int n = 1; n <= 9; n++)
		for (int how = 0; how < 2; how++) {
			long before = lowest();
			int err;

			fail_at("fwrite", n, how ? ENOSPC : 0);
			err = pcapng_open(&p, path);
			CHECK(!err == (n > 3) && !p == (n <= 3), "opened: %d", err);
			if (p) {
				err = pcapng_packet(p, "eth0", LINK_ETHERNET, 1, "data", 4, 4, NULL);
				CHECK(!pcapng_close(p), "not closed");
			}
			CHECK(err_is(err, how ? ENOSPC : EIO), "%d: error %d", n, err);
			CHECK(lowest() == before, "%d: it is left open", n);
		}
	fail_at("", 0, 0);
	unlink(path);
}

static void each_end(void)
{
	static const struct {
		const char *call;
		int with, wanted;
	} each[] = { { "fflush", ENOSPC, ENOSPC }, { "fflush", 0, EIO }, { "fclose", EDQUOT, EDQUOT } };
	struct pcapng *p;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		long before = lowest();

		CHECK(!pcapng_open(&p, path), "not opened");
		fail_at(each[i].call, 1, each[i].with);
		CHECK(err_is(pcapng_close(p), each[i].wanted), "%s: another error", each[i].call);
		CHECK(lowest() == before, "%s: it is left open", each[i].call);
	}
	CHECK(!pcapng_open(&p, path), "not opened");
	fail_at("fflush", 1, ENOSPC);
	CHECK(err_is(pcapng_flush(p), ENOSPC), "another error of a flush");
	fail_at("fflush", 1, 0);
	CHECK(err_is(pcapng_flush(p), EIO), "no error of a flush");
	fail_at("", 0, 0);
	CHECK(!pcapng_close(p), "not closed");
	unlink(path);
}

/* What cannot be opened is closed. */
static void not_opened(void)
{
	struct pcapng *p = (void *)1;
	long before = lowest();
	int fd;

	fail_at("calloc", 1, ENOMEM);
	CHECK(err_is(pcapng_open(&p, path), ENOMEM) && !p && lowest() == before, "without memory");
	fail_at("", 0, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	p = (void *)1;
	CHECK(err_is(pcapng_open_fd(&p, fd), EINVAL) && !p && lowest() == before, "only to read");
	unlink(path);
}

/* Standard output is written to, and stays open, also where there is no memory. */
static void to_standard_output(void)
{
	int was = dup(STDOUT_FILENO), to;
	struct pcapng *p;

	fflush(stdout);
	to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(to, STDOUT_FILENO);
	fail_at("calloc", 1, ENOMEM);
	CHECK(err_is(pcapng_open(&p, "-"), ENOMEM) && fcntl(STDOUT_FILENO, F_GETFD) >= 0, "without memory");
	fail_at("", 0, 0);
	CHECK(!pcapng_open(&p, "-") && !pcapng_packet(p, "lo", RAW, WHEN, "abcde", 5, 5, NULL) && !pcapng_close(p),
	      "not written");
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0, "it is closed");
	dup2(was, STDOUT_FILENO);
	close(was);
	close(to);
	take_file();
	CHECK(block_at(0, 0x0a0d0d0a) == 7 && block_at(7, 1) != SIZE_MAX && words[9] == RAW, "no interface");
	/* No comment: no option, and no end of options. */
	CHECK(block_at(bytes_n / 4 - 10, 6) == bytes_n / 4 && words[bytes_n / 4 - 5] == 5 &&
		      words[bytes_n / 4 - 4] == 5,
	      "no packet");
	CHECK(!memcmp(&words[bytes_n / 4 - 3], "abcde\0\0", 8), "no padding");
	unlink(path);
}

/* A kind that comes when there are as many as may be is counted for one of its own kind, or refused. */
static void too_many(void)
{
	char name[16];
	struct pcapng *p;
	size_t at;

	CHECK(!pcapng_open(&p, path), "not opened");
	CHECK(!pcapng_packet(p, "raw", RAW, WHEN, "", 0, 0, "first"), "the first");
	for (int i = 1; i < 64; i++) {
		snprintf(name, sizeof(name), "eth%d", i);
		CHECK(!pcapng_packet(p, name, LINK_ETHERNET, WHEN, "", 0, 0, NULL), "packet %d", i);
	}
	CHECK(!pcapng_packet(p, "raw2", RAW, WHEN, "", 0, 0, NULL), "another of its kind");
	CHECK(err_is(pcapng_packet(p, "x", RAW + 1, WHEN, "", 0, 0, NULL), E2BIG), "one of another kind");
	CHECK(!pcapng_packet(p, "eth63", LINK_ETHERNET, WHEN, "", 0, 0, NULL), "one that is known");
	CHECK(!pcapng_packet(p, "raw", LINK_ETHERNET, WHEN, "", 0, 0, NULL), "the name of another kind");
	CHECK(!pcapng_close(p), "not closed");
	take_file();
	at = bytes_n / 4 - 3 * 8;
	for (int i = 0; i < 3 && at != SIZE_MAX; i++) {
		static const uint32_t wanted[] = { 0, 63, 63 };

		CHECK(words[at] == 6 && words[at + 2] == wanted[i], "packet %d is of %u", i, words[at + 2]);
		at = block_at(at, 6);
	}
	unlink(path);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "blocks", blocks },
		{ "what cannot be written", cannot_be_written },
		{ "each write that fails", each_write },
		{ "each end that fails", each_end },
		{ "what cannot be opened", not_opened },
		{ "to standard output", to_standard_output },
		{ "too many interfaces", too_many },
	};

	snprintf(path, sizeof(path), "%s/unit_pcapng.%d", getenv("TMPDIR") ?: "/tmp", (int)getpid());
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
