// SPDX-License-Identifier: GPL-2.0-only
/* What the reader makes of files as such: long, odd, packed, and those that the fuzzer once found. */
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "ktap.h"
#include "base/log.h"
#include "sets/ranges.h"
#include "reader_texts.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as gcc says it */
#endif
#endif

/* Streams longer than the window, in every way that one can be cut. */
static void long_streams(void)
{
	static const struct {
		const char *before, *entry, *after;
	} shapes[] = {
		{ "", "10.%u.%u.%u\n", "" },
		{ "[\"::\"", ",\n\"10.%u.%u.%u\"", "]" },
		{ "{\"prefixes\":[{\"ip_prefix\":\"::\"}", ",{\"ip_prefix\":\"10.%u.%u.%u\"}", "]}" },
		{ "", "{\"cidr\":\"10.%u.%u.%u\"}\n", "" },
		{ "elements = { ::", ", 10.%u.%u.%u", "}" },
		{ "", "add x 10.%u.%u.%u timeout 5\n", "" },
	};
	unsigned int entries = 50000;
	char *text = malloc(entries * 40 + 100);

	if (!text)
		return ktap_skip("no memory");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		size_t len = (size_t)sprintf(text, "%s", shapes[i].before);
		struct ranges set;

		for (unsigned int n = 0; n < entries; n++)
			len += (size_t)sprintf(text + len, shapes[i].entry, n >> 16, n >> 8 & 0xff, n & 0xff);
		len += (size_t)sprintf(text + len, "%s", shapes[i].after);
		if (!CHECK(!read_text(text, len, NULL, false, &set), "%s: %s", shapes[i].entry, error))
			break;
		CHECK(set.n4 == 1 && ranges_count4(&set) == entries, "%s: %zu ranges", shapes[i].entry, set.n4);
		ranges_free(&set);
	}
	free(text);
}

static void odd_files(void)
{
	static char line[200000];
	static const char nul[] = "1.2.3.4\n# x\0y\n";
	static const char utf16[] = "\xff\xfe"
				    "1\0.\0";
	struct reader_options options = { 0 };
	struct ranges set = RANGES_EMPTY;

	CHECK(reader_read("/nonexistent/list", &options, &set, &report, error) < 0 &&
		      !strcmp(error, "/nonexistent/list: No such file or directory"),
	      "%s", error);
	CHECK(reader_read(directory, &options, &set, &report, error) < 0 && strstr(error, ": Is a directory"), "%s",
	      error);
	CHECK(read_text(nul, sizeof(nul) - 1, NULL, false, &set) < 0 && strstr(error, ":2: '# x\\x00y': a NUL byte"),
	      "%s", error);
	CHECK(read_text(utf16, sizeof(utf16) - 1, NULL, false, &set) < 0 && strstr(error, "UTF-16"), "%s", error);
	memset(line, '1', sizeof(line));
	line[0] = line[sizeof(line) - 9] = '\n';
	memcpy(line + sizeof(line) - 8, "1.2.3.4\n", 8);
	CHECK(read_text(line, sizeof(line), "plain", false, &set) < 0 && strstr(error, ":2: '1111") &&
		      strstr(error, "...': the line is longer than 64 KiB"),
	      "%s", error);
	CHECK(!read_text(line, sizeof(line), "plain", true, &set), "%s", error);
	CHECK(report.bad == 1 && report.lines == 3 && ranges_count4(&set) == 1, "%" PRIu64 " lines", report.lines);
	ranges_free(&set);
	if (geteuid()) {
		chmod(path, 0);
		CHECK(read_file(NULL, false, &set) < 0 && strstr(error, "Permission denied"), "%s", error);
		chmod(path, 0600);
	}
}

/* However much of it is read at once, and whatever is behind it: the line is one, and what follows is read. */
static void long_lines(void)
{
	static const size_t lengths[] = { 65536,  65537,  131072, 262135, 262136, 262137,
					  262144, 262145, 400000, 524280, 524288, 1500000 };
	static const struct {
		const char *text;
		uint64_t lines, addresses;
	} behind[] = { { "\n1.2.3.4\n", 3, 2 },
		       { "\n1.2.3.4", 3, 2 },
		       { "\n\n\n1.2.3.4\n", 5, 2 },
		       { "\n", 2, 1 },
		       { "", 2, 1 } };
	static const char before[] = "5.6.7.8\n";
	static char text[1600000];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (size_t k = 0; k < sizeof(behind) / sizeof(*behind); k++) {
			size_t n = (size_t)sprintf(text, "%s", before);
			struct ranges set;
			int err;

			memset(text + n, '1', lengths[i]);
			n += lengths[i];
			n += (size_t)sprintf(text + n, "%s", behind[k].text);
			err = read_text(text, n, "plain", false, &set);
			CHECK(err && strstr(error, ":2: '1111") &&
				      !!strstr(error, "...': the line is longer than 64 KiB") == (lengths[i] > 65536),
			      "%zu bytes: %s", lengths[i], err ? error : "read");
			err = read_text(text, n, "plain", true, &set);
			CHECK(!err && report.bad == 1 && report.lines == behind[k].lines &&
				      ranges_count4(&set) == behind[k].addresses,
			      "%zu bytes before '%s': %" PRIu64 " bad of %" PRIu64 " lines", lengths[i], behind[k].text,
			      report.bad, report.lines);
			ranges_free(&set);
		}
}

/* One is left out as long as it may be an accident. */
static void endless_line(void)
{
	static const struct {
		const char *format, *begins, *ends;
	} each[] = {
		{ "plain", "5.6.7.8\n", "\n1.2.3.4\n" },
		{ "csv:1", "5.6.7.8,a\n", "\n1.2.3.4,b\n" },
	};
	static char text[5 << 20];

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		for (size_t mib = 3; mib <= 5; mib += 2) {
			size_t n = mib << 20, ends = strlen(each[i].ends);
			struct ranges set;
			int err;

			memset(text, 'x', n);
			memcpy(text, each[i].begins, strlen(each[i].begins));
			memcpy(text + n - ends, each[i].ends, ends);
			err = read_text(text, n, each[i].format, true, &set);
			if (mib == 3)
				CHECK(!err && report.bad == 1 && ranges_count4(&set) == 2, "%s: %s", each[i].format,
				      error);
			else
				CHECK(err_is(err, EBADMSG) &&
					      strstr(error, ": damaged: a line of it is longer than 4 MiB"),
				      "%s: %s", each[i].format, err ? error : "read");
			ranges_free(&set);
		}
}

static size_t pack(int how, const void *text, size_t len, uint8_t *out, size_t room)
{
	z_stream gzip = {
		.next_in = (void *)(uintptr_t)text, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)room
	};
	size_t made = 0;

	switch (how) {
	case 0:
		deflateInit2(&gzip, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
		deflate(&gzip, Z_FINISH);
		made = gzip.total_out;
		deflateEnd(&gzip);
		return made;
	case 1:
		lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, text, len, out, &made, room);
		return made;
	default:
		return ZSTD_compress(out, room, text, len, 1);
	}
}

/* Whole, in two members, cut anywhere, with one byte changed anywhere: right, or an error, never less than all. */
static void packed(void)
{
	static uint8_t out[4096];
	char text[1024] = "";
	struct ranges set;

	for (int i = 0; i < 64; i++)
		sprintf(text + strlen(text), "10.%d.0.1\n", i);
	for (int how = 0; how < 3; how++) {
		static const char *const damaged[] = { "damaged gzip data", "damaged xz data", "damaged zstd data" };
		size_t len = pack(how, text, strlen(text), out, sizeof(out)), twice, said = 0;

		if (!CHECK(!read_text((char *)out, len, NULL, false, &set) && ranges_count4(&set) == 64, "%d: %s", how,
			   error))
			return;
		ranges_free(&set);
		twice = len + pack(how, "9.9.9.9\n", 8, out + len, sizeof(out) - len);
		if (!CHECK(!read_text((char *)out, twice, NULL, false, &set) && ranges_count4(&set) == 65, "%d: %s",
			   how, error))
			return;
		ranges_free(&set);
		for (size_t cut = 7; cut < len; cut++) {
			if (!CHECK(read_text((char *)out, cut, NULL, false, &set) < 0, "%d: cut at %zu", how, cut) ||
			    !CHECK(cut < len / 2 || strstr(error, "ends too early"), "%d: cut at %zu: %s", how, cut,
				   error))
				return;
		}
		for (size_t i = 0; i < len; i++) {
			out[i] ^= 0x10;
			if (read_text((char *)out, len, NULL, false, &set))
				said += !!strstr(error, damaged[how]);
			else
				CHECK(how == 2 || ranges_count4(&set) == 64, "%d: changed at %zu", how, i);
			out[i] ^= 0x10;
			ranges_free(&set);
		}
		CHECK(said > 4, "%d: %zu times it says that it is damaged", how, said);
	}
}

/* Where there are only blanks it is an error, too, that there is not all. */
static void packed_blanks(void)
{
	static const char *const begins[] = { "", "[", "[\"10.0.0.1\"", "[\"10.0.0.1\",", "[\"10.0.0.1\"]" };
	static const char *const ends[] = { "[\"10.0.0.1\"]", "\"10.0.0.1\"]", "]", "\"10.0.0.2\"]", "" };
	static char text[400000];
	static uint8_t out[65536];
	struct ranges set;

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		for (int how = 0; how < 3; how++) {
			size_t len, first = strlen(begins[i]);

			memset(text, ' ', sizeof(text));
			memcpy(text, begins[i], first);
			memcpy(text + sizeof(text) - strlen(ends[i]), ends[i], strlen(ends[i]));
			len = pack(how, text, sizeof(text), out, sizeof(out));
			CHECK(!read_text((char *)out, len, "json", false, &set) && ranges_count4(&set) == 1 + (i == 3),
			      "%s, %d: %s", begins[i], how, error);
			ranges_free(&set);
			for (size_t cut = len - 1; cut > len / 2; cut -= len / 16 + 1)
				CHECK(read_text((char *)out, cut, "json", false, &set) < 0 &&
					      strstr(error, "ends too early"),
				      "%s, %d, cut at %zu of %zu: %s", begins[i], how, cut, len, error);
		}
}

/* So many members of 16 MiB in a file, of which one is made. */
static bool write_members(const uint8_t *member, size_t len, int n)
{
	FILE *file = fopen(path, "w");

	while (file && n--)
		fwrite(member, 1, len, file);
	return CHECK(file && !fclose(file), "cannot write %s", path);
}

/* Half a gigabyte of one line, packed into a megabyte; more than a whole one is none. */
static void bomb(void)
{
	static char lines[1 << 24];
	static uint8_t member[1 << 17];
	struct ranges set;
	struct rusage before, after;
	size_t len;

	for (size_t i = 0; i < sizeof(lines); i += 16)
		memcpy(lines + i, "255.255.255.255\n", 16);
	len = pack(0, lines, sizeof(lines), member, sizeof(member));
	if (!write_members(member, len, 32))
		return;
	getrusage(RUSAGE_SELF, &before);
	if (!CHECK(!read_file(NULL, false, &set), "%s", error))
		return;
	getrusage(RUSAGE_SELF, &after);
	CHECK(report.lines == (uint64_t)512 << 16 && ranges_count4(&set) == 1, "%" PRIu64 " lines", report.lines);
	CHECK(report.taken == 32 * len, "%" PRIu64 " bytes", report.taken);
#ifndef __SANITIZE_ADDRESS__
	CHECK(after.ru_maxrss - before.ru_maxrss < 160 << 10, "%ld KiB", after.ru_maxrss - before.ru_maxrss);
#endif
	ranges_free(&set);
	len = pack(2, lines, sizeof(lines), member, sizeof(member));
	if (write_members(member, len, 65))
		CHECK(err_is(read_file(NULL, true, &set), EFBIG) &&
			      strstr(error, "/list: it unpacks to more than 1 GiB"),
		      "%s", error);
}

/* Fills with one text again and again, packed or as it is, and reads that. */
static int read_many(const char *text, size_t bytes, int how, bool skip_bad, struct ranges *set)
{
	size_t len = strlen(text), room = how < 0 ? 1 : bytes / 100 + 65536, made = 0;
	char *many = malloc(bytes);
	uint8_t *out = malloc(room);
	int err = -ENOMEM;

	*set = RANGES_EMPTY;
	for (size_t i = 0; many && i < bytes; i++)
		many[i] = text[i % len];
	if (many && out) {
		made = how < 0 ? bytes : pack(how, many, bytes, out, room);
		err = read_text(how < 0 ? many : (char *)out, made, NULL, skip_bad, set);
	}
	free(many);
	free(out);
	return err;
}

/* What is made to cost more than its size: nothing of it is a list, and each is refused after so much work. */
static void costly(void)
{
	static const struct {
		const char *text;
		size_t bytes;
		int how;
		const char *why;
	} texts[] = {
		{ "#\n", 12 << 20, 0, "packed to so little" },
		{ "elements = {\n\n\n\n\n\n\n\n\n\n\n\n\n1.1.1.1 }\n", 32 << 20, 2, "packed to so little" },
		{ "{}\n", 16 << 20, 0, "packed to so little" },
		/* Each line is damaged, and could be the beginning of all that follows. */
		{ "{\"a\":[\n", 64 << 10, -1, "reading on takes too long" },
	};
	struct ranges set;

	/* A line that nobody looks at costs next to nothing. */
	CHECK(!read_many("\n", 64 << 20, 0, false, &set) && report.lines == 64 << 20, "%s", error);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int err = read_many(texts[i].text, texts[i].bytes, texts[i].how, true, &set);

		CHECK(err && strstr(error, texts[i].why), "%s: %s", texts[i].text, error);
		ranges_free(&set);
	}
}

/* Two bytes of text, a hundred in memory. */
static void large_value(void)
{
	static const char begin[] = "{\"x\":[", entry[] = "[],";
	size_t bytes = sizeof(void *) == 4 ? 24 << 20 : 12 << 20; /* it takes half there */
	char *text = malloc(bytes);
	struct rusage before, after;
	struct ranges set;
	int err;

	for (size_t i = 0; text && i < bytes; i++)
		text[i] = entry[i % 3];
	if (!text)
		return ktap_skip("no memory");
	memcpy(text, begin, sizeof(begin) - 1);
	getrusage(RUSAGE_SELF, &before);
	err = read_text(text, bytes, "json", true, &set);
	getrusage(RUSAGE_SELF, &after);
	CHECK(err_is(err, EINVAL) && strstr(error, "one JSON value takes more than 256 MiB"), "%s", error);
#ifndef __SANITIZE_ADDRESS__
	CHECK(after.ru_maxrss - before.ru_maxrss < 320 << 10, "%ld KiB", after.ru_maxrss - before.ru_maxrss);
#endif
	free(text);
}

/* What the fuzzer once found. */
static void found(void)
{
	const char *folder = getenv("XDP_BLOOM_FOUND") ? getenv("XDP_BLOOM_FOUND") : "tests/fuzz/corpus/found";
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		dir = opendir(folder = "corpus/found"); /* in a kernel tree */
	if (!dir)
		return ktap_skip("no folder tests/fuzz/corpus/found here");
	while ((entry = readdir(dir))) {
		char name[512];

		if (*entry->d_name == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		for (int i = 0; i < 2; i++) {
			struct reader_options options = { .skip_bad = i };
			struct ranges set = RANGES_EMPTY;

			reader_read(name, &options, &set, &report, error);
			ranges_free(&set);
		}
	}
	closedir(dir);
}

/* qemu-user says that it limits the memory of what it emulates, and does not. */
static bool memory_is_limited(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		struct rlimit is = { 1 << 30, 1 << 30 };

		_exit(setrlimit(RLIMIT_AS, &is) || getrlimit(RLIMIT_AS, &is) || is.rlim_cur != 1 << 30);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* Addresses that do not merge: each takes 32 bytes, and while they are put in order more. */
static void memory(void)
{
	struct reader_options options = { .memory = (size_t)16 << 20 };
	struct ranges set = RANGES_EMPTY;
	char random[] = "/tmp/unit-reader-XXXXXX";
	int fd = mkstemp(random);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!CHECK(file, "no file"))
		return;
	if (!memory_is_limited()) {
		fclose(file);
		unlink(random);
		return ktap_skip("the emulator limits no memory");
	}
	for (int i = 0; i < 600000; i++)
		fprintf(file, "2001:db8::%x:%x\n", (unsigned int)(ktap_random() & 0xffff), (unsigned int)i & 0xffff);
	fclose(file);
	CHECK(err_is(reader_read(random, &options, &set, &report, error), ENOMEM) && !set.v6 &&
		      strstr(error, "it takes more than 16 MiB of memory to read"),
	      "'%s'", error);
	options.memory = 0;
	CHECK(!reader_read(random, &options, &set, &report, error) && set.n6 > 300000, "'%s'", error);
	ranges_free(&set);
	unlink(random);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "long_streams", long_streams },
		{ "odd_files", odd_files },
		{ "long_lines", long_lines },
		{ "endless_line", endless_line },
		{ "packed", packed },
		{ "packed blanks", packed_blanks },
		{ "bomb", bomb },
		{ "costly", costly },
		{ "large_value", large_value },
		{ "found", found },
#ifndef __SANITIZE_ADDRESS__
		{ "memory", memory },
#endif
	};

	return reader_texts_run(cases, sizeof(cases) / sizeof(*cases));
}
