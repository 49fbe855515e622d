// SPDX-License-Identifier: GPL-2.0-only
/* What is taken for signed, and what is not: both kinds of signatures, and each way to damage one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "change/feed.h"
#include "fetch/public_key.h"
#include "fetch/request.h"
#include "fetch/signature.h"
#include "ktap.h"
#include "minisign.h"

static enum { ALL_WORKS, NO_MEMORY, NO_READ, NO_LOOK, NO_MAP } fails;
static unsigned int interrupts;

static void *given_memory(size_t size)
{
	return fails == NO_MEMORY ? NULL : malloc(size);
}

static ssize_t given_pread(int fd, void *to, size_t n, off_t at)
{
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	errno = EIO;
	return fails == NO_READ ? -1 : pread(fd, to, n, at);
}

static int given_fstat(int fd, struct stat *st)
{
	errno = EIO;
	return fails == NO_LOOK ? -1 : fstat(fd, st);
}

static void *given_map(void *at, size_t n, int access, int kind, int fd, off_t from)
{
	errno = ENOMEM;
	return fails == NO_MAP ? MAP_FAILED : mmap(at, n, access, kind, fd, from);
}

#define malloc	      given_memory
#define pread	      given_pread
#define fstat(fd, to) given_fstat(fd, to)
#define mmap	      given_map
#include "fetch/signature.c"
#undef malloc
#undef pread
#undef fstat
#undef mmap

static const char list[] = "203.0.113.0/24\n198.51.100.7\n";
static const char comment[] = "timestamp:1700000000\tfile:drop.txt\thashed";

static struct minisign ours, other;
static char key[64];

static FILE *file_of(const char *text, size_t length)
{
	FILE *file = tmpfile();

	if (!file || fwrite(text, 1, length, file) != length || fflush(file))
		abort();
	return file;
}

static bool is_signed(const char *text, size_t length, const char *signs, size_t signs_length,
		      struct fetch_answer *answer)
{
	FILE *file = file_of(signs, signs_length);

	signature_check(key, text, length, fileno(file), answer);
	fclose(file);
	return answer->outcome == FETCH_SIGNED;
}

static bool good(const char *text, size_t length)
{
	struct fetch_answer answer;

	return is_signed(text, length, list, strlen(list), &answer);
}

/* Why it is none. */
static const char *why(const char *text)
{
	static struct fetch_answer answer;

	return is_signed(text, strlen(text), list, strlen(list), &answer) ? "it is one" : answer.why;
}

static void both_kinds(void)
{
	char text[MINISIGN_TEXT], *big = calloc(1, 300001);
	struct fetch_answer answer;
	size_t n;

	for (int hashed = 0; hashed < 2 && big; hashed++) {
		n = minisign_sign(&ours, hashed, list, strlen(list), comment, text);
		CHECK(is_signed(text, n, list, strlen(list), &answer), "%s", answer.why);
		CHECK(answer.signed_at == 1700000000 && !answer.version, "at %llu",
		      (unsigned long long)answer.signed_at);
		CHECK(!strcmp(answer.comment, "timestamp:1700000000 file:drop.txt hashed"), "'%s'", answer.comment);
		/* Of every length around the pieces that it is read in. */
		for (size_t length = 0; length <= 300001; length += length < 3 || length > 65533 ? 1 : 65533) {
			big[length ? length - 1 : 0] = 'x';
			n = minisign_sign(&ours, hashed, big, length, comment, text);
			CHECK(is_signed(text, n, big, length, &answer), "%zu bytes: %s", length, answer.why);
			CHECK(!is_signed(text, n, big, length + 1, &answer), "one byte more than %zu", length);
			CHECK(!length || !is_signed(text, n, big, length - 1, &answer), "one byte less than %zu",
			      length);
			if (length > 65540)
				length = length < 131060 ? 131060 : length > 131080 ? 300001 : length;
		}
	}
	free(big);
}

/* As minisign 0.11 wrote it. */
static void by_minisign(void)
{
	static const char hashed[] =
		"untrusted comment: signature from minisign secret key\n"
		"RUTD/+tjV0p2KX8qQuFb/GQn+Uvt/4frwNE8pFoZHqO6M68RGbBOJEycRi5Wubbo2QEGsnrWuCSWQXM0SrRGhDAzfnohlNDbxQ0=\n"
		"trusted comment: timestamp:1795453331\tfile:f\thashed\n"
		"Pr6KyfKGVU8xWcquG1Q9TXyZfmMdltSijIWz5r6N46VRBqIsv19jTtbqYhTOB8RoMLLH+Gb2ibN7qbgEfnEMBQ==\n";
	static const char whole[] =
		"untrusted comment: signature from minisign secret key\r\n"
		"RWTD/+tjV0p2KXlx92o/03GiHrRdUwrClU2BJ+FgXxJPBPCvsrkMGbHghO+KVk5KtJKSLexEJP88MaVwP23N5Y/EgmewhDkAfgo=\r\n"
		"trusted comment: timestamp:1795453331\tfile:f\r\n"
		"jpJusittXH4bR3rE1fEax4Gc9/nmV37aQnAnHqPi8I6ftZJEMxGsnbz6Bcj2IO5qdZwm5tf2txa60WzL8Wb4AQ==\r\n\r\n";
	static const char its_key[] = "RWTD/+tjV0p2KdLSiCqdnGoVmlXw+tiXjmDOwL2i2SZ8sPc+c5MaZ9I+";
	const char *texts[] = { hashed, whole };
	struct fetch_answer answer;

	for (int i = 0; i < 2; i++) {
		FILE *file = file_of("hi\n", 3);

		signature_check(its_key, texts[i], strlen(texts[i]), fileno(file), &answer);
		CHECK(answer.outcome == FETCH_SIGNED && answer.signed_at == 1795453331, "%s", answer.why);
		fclose(file);
	}
	CHECK(strstr(why(hashed), "with another key: 29764A5763EBFFC3, and not 0101010101010101"), "%s", why(hashed));
}

static void other_keys(void)
{
	struct minisign pretends = other;
	char text[MINISIGN_TEXT];

	for (int hashed = 0; hashed < 2; hashed++) {
		minisign_sign(&other, hashed, list, strlen(list), comment, text);
		CHECK(strstr(why(text), "with another key: 0202020202020202"), "%s", why(text));
		memcpy(pretends.number, ours.number, sizeof(ours.number));
		minisign_sign(&pretends, hashed, list, strlen(list), comment, text);
		CHECK(strstr(why(text), "is not one of this list"), "%s", why(text));
		minisign_sign(&ours, hashed, "203.0.113.0/25\n", 15, comment, text);
		CHECK(strstr(why(text), "is not one of this list"), "%s", why(text));
	}
}

/* One kind's signature, called the other's. */
static void other_kind(void)
{
	char text[MINISIGN_TEXT], *letter;

	for (int hashed = 0; hashed < 2; hashed++) {
		minisign_sign(&ours, hashed, list, strlen(list), comment, text);
		letter = strchr(text, '\n') + 2;
		if (!CHECK(letter[-1] == 'R' && (*letter == 'U' || *letter == 'W'), "%s", text))
			return;
		*letter = *letter == 'U' ? 'W' : 'U';
		CHECK(strstr(why(text), "is not one of this list"), "%s", why(text));
	}
}

/* The comment that nobody signed may be any; each other byte counts. */
static void damaged(void)
{
	char text[MINISIGN_TEXT], changed[MINISIGN_TEXT];
	struct fetch_answer answer;
	size_t n, first;

	for (int hashed = 0; hashed < 2; hashed++) {
		n = minisign_sign(&ours, hashed, list, strlen(list), comment, text);
		first = (size_t)(strchr(text, '\n') - text);
		/* All but the last newline has to be there. */
		for (size_t at = 0; at + 1 < n; at++)
			CHECK(!good(text, at), "%zu of %zu bytes are enough", at, n);
		CHECK(good(text, n - 1), "without its last newline: %s", why(text));
		for (size_t at = 0; at + 1 < n; at++)
			for (int byte = 0; byte < 256; byte += 1 + (int)(ktap_random() % 8)) {
				memcpy(changed, text, n);
				changed[at] = (char)byte;
				if (byte == text[at] || (at >= strlen("untrusted comment: ") && at < first))
					continue;
				CHECK(!good(changed, n), "byte %zu as %d", at, byte);
			}
		memcpy(changed, text, n);
		strcpy(changed + n, "\nmore\n");
		CHECK(strstr(why(changed), "no signature of minisign"), "%s", why(changed));
		for (size_t at = 0; at < strlen(list); at++) {
			char *other_list = strdup(list);

			other_list[at] ^= 1;
			CHECK(!is_signed(text, n, other_list, strlen(list), &answer), "byte %zu of the list", at);
			free(other_list);
		}
	}
}

/* Each refusal says why. */
static void reasons(void)
{
	static const struct {
		const char *words;
		int line; /* which one is another, and what it is */
		const char *is;
	} known[] = {
		{ "it is no signature of minisign", 0, "comment: by nobody" },
		{ "it is no signature of minisign", 2, "comment: by nobody" },
		{ "the signature's second line is no signature", 1, "RWQ=" },
		{ "the signature's second line is no signature", 1, "" },
		{ "the signature's fourth line is no signature", 3, "RWQ=" },
		{ "the signature's fourth line is no signature", 3, "" },
		{ "the signature's comment is not the one that was signed", 2, "trusted comment: another" },
	};
	char text[MINISIGN_TEXT], changed[MINISIGN_TEXT];
	int directory = open("/", O_RDONLY | O_DIRECTORY);
	struct fetch_answer answer;
	size_t n;

	for (int hashed = 0; hashed < 2; hashed++) {
		n = minisign_sign(&ours, hashed, list, strlen(list), comment, text);
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
			const char *line = text;

			for (int at = 0; at < known[i].line; at++)
				line = strchr(line, '\n') + 1;
			snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(line - text), text, known[i].is,
				 strchr(line, '\n'));
			CHECK(!strcmp(why(changed), known[i].words), "line %d, '%s': %s", known[i].line, known[i].is,
			      why(changed));
		}
		signature_check("RWQ=", text, n, -1, &answer);
		CHECK(answer.outcome == FETCH_FAILED && !strcmp(answer.why, "the key is no public key of minisign"),
		      "%s", answer.why);
		signature_check(key, text, n, -1, &answer);
		CHECK(answer.outcome == FETCH_FAILED &&
			      !strcmp(answer.why, "the list cannot be read: Bad file descriptor"),
		      "%s", answer.why);
		signature_check(key, text, n, directory, &answer);
		CHECK(answer.outcome == FETCH_FAILED && strstr(answer.why, hashed ? "Is a directory" : "too long"),
		      "%s", answer.why);
	}
	close(directory);
}

static void garbage(void)
{
	char bytes[FETCH_SIGNATURE_MOST];

	for (size_t n = 0; n <= sizeof(bytes); n += 1 + n / 8) {
		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)ktap_random();
		CHECK(!good(bytes, n), "%zu bytes", n);
		memset(bytes, 'A', n);
		CHECK(!good(bytes, n), "%zu letters", n);
		memset(bytes, '\n', n);
		CHECK(!good(bytes, n), "%zu empty lines", n);
	}
}

static void comments(void)
{
	static const struct {
		const char *comment;
		uint64_t at, version;
	} known[] = {
		{ "", 0, 0 },
		{ "timestamp:5", 5, 0 },
		{ "version:7 timestamp:5", 5, 7 },
		{ "file:a\tversion:18446744073709551615\ttimestamp:5\t", 5, UINT64_MAX },
		{ "version:18446744073709551616", 0, 0 },
		{ "mytimestamp:5", 0, 0 },
		{ "timestamp:5x", 0, 0 },
		{ "timestamp:-5", 0, 0 },
		{ "timestamp:", 0, 0 },
		{ "file:a timestamp:9 timestamp:5", 9, 0 },
	};
	char text[MINISIGN_TEXT], lots[8001];
	struct fetch_answer answer;
	size_t n;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		n = minisign_sign(&ours, true, list, strlen(list), known[i].comment, text);
		CHECK(is_signed(text, n, list, strlen(list), &answer), "'%s': %s", known[i].comment, answer.why);
		CHECK(answer.signed_at == known[i].at && answer.version == known[i].version, "'%s': %llu, %llu",
		      known[i].comment, (unsigned long long)answer.signed_at, (unsigned long long)answer.version);
	}
	memset(lots, 'x', sizeof(lots));
	lots[sizeof(lots) - 1] = '\0';
	n = minisign_sign(&ours, true, list, strlen(list), lots, text);
	CHECK(is_signed(text, n, list, strlen(list), &answer) && strlen(answer.comment) < sizeof(answer.comment), "%s",
	      answer.why);
}

static void rollback(void)
{
	struct fetch_answer answer = { .signed_at = 1700000000 };

	CHECK(!feed_fresh(&answer, "a", 0) && !feed_fresh(&answer, "a", 1700000000), "the same, or the first");
	CHECK(feed_fresh(&answer, "a", 1700000001) < 0, "an older one");
	answer = (struct fetch_answer){ 0 };
	CHECK(!feed_fresh(&answer, "a", 0) && feed_fresh(&answer, "a", 1) < 0, "one that does not say");
	answer.version = 7;
	CHECK(!feed_fresh(&answer, "a", 7) && feed_fresh(&answer, "a", 8) < 0, "a version");
	answer.signed_at = (uint64_t)time(NULL) + 86000;
	CHECK(!feed_fresh(&answer, "a", 8), "a clock that is a little fast");
	answer.signed_at += 1000;
	CHECK(feed_fresh(&answer, "a", 8) < 0, "tomorrow");
	answer.signed_at = UINT64_MAX;
	CHECK(feed_fresh(&answer, "a", 8) < 0, "at the end of all days");
}

/* reads PATH: a key as an argument, and as a file with this in it. */
static bool reads(const char *text)
{
	char path[] = "/tmp/xdp-bloom-key-XXXXXX", got[PUBLIC_KEY_MAX] = "";
	int fd = mkstemp(path);
	bool same = false;

	if (CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path))
		same = !public_key_read(got, path) && !strcmp(got, key);
	close(fd);
	unlink(path);
	return same;
}

static void keys(void)
{
	static const char secret[] =
		"untrusted comment: minisign encrypted secret key\n"
		"RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAw//rY1dKdilYDjG/FSObDAXMT+F5"
		"aDhKCQWB8Vxm7QpAU2giFCxNkNLSiCqdnGoVmlXw+tiXjmDOwL2i2SZ8sPc+c5MaZ9I+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		"AAAAAAAAAAA=\n";
	char got[PUBLIC_KEY_MAX], text[5000], cut[80];

	CHECK(!public_key_read(got, key) && !strcmp(got, key), "the key itself");
	snprintf(text, sizeof(text), "untrusted comment: minisign public key 0101010101010101\r\n%s\r\n", key);
	CHECK(reads(text), "a file of minisign's");
	CHECK(reads(key), "a file with nothing else");
	CHECK(!reads(""), "an empty file");
	CHECK(!reads(secret), "a secret key");
	CHECK(strstr(reason(public_key_read(got, "/nowhere")), "no such file"), "no file");
	CHECK(public_key_read(got, "/tmp") < 0, "a directory");
	CHECK(public_key_read(got, "/dev/zero") < 0, "no end");
	for (size_t n = 0; n < strlen(key); n++) {
		snprintf(cut, sizeof(cut), "%.*s", (int)n, key);
		CHECK(public_key_read(got, cut) < 0 && !reads(cut), "'%s'", cut);
	}
	snprintf(cut, sizeof(cut), "%sA", key);
	CHECK(public_key_read(got, cut) < 0 && !reads(cut), "'%s'", cut);
	snprintf(cut, sizeof(cut), "%s", key);
	for (size_t at = 0; at < strlen(key); at++) {
		cut[at] = '*';
		CHECK(public_key_read(got, cut) < 0 && !reads(cut), "'%s'", cut);
		cut[at] = key[at];
	}
}

/* The list cannot be read, or there is no memory; nothing is signed then. Interrupted, it reads on. */
static void failures(void)
{
	static const struct {
		int what, hashed;
		const char *why;
	} known[] = {
		{ NO_READ, 1, "the list cannot be read: Input/output error" },
		{ NO_LOOK, 0, "the list cannot be read: Input/output error" },
		{ NO_MAP, 0, "the list is too long for a signature of the old kind: Cannot allocate memory" },
		{ NO_MEMORY, 0, "Cannot allocate memory" },
		{ NO_MEMORY, 1, "Cannot allocate memory" },
		{ NO_LOOK, 1, "it is one" },
		{ NO_MAP, 1, "it is one" },
		{ NO_READ, 0, "it is one" },
	};
	char text[MINISIGN_TEXT];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		minisign_sign(&ours, known[i].hashed, list, strlen(list), comment, text);
		fails = known[i].what;
		interrupts = known[i].hashed ? 2 : 0;
		CHECK(!strcmp(why(text), known[i].why) && !interrupts, "case %zu: %s", i, why(text));
		fails = ALL_WORKS;
	}
}

/* No byte above 127 stands for a slash, the first of a line neither. */
static void the_first_byte(void)
{
	char text[MINISIGN_TEXT], number[16], *second;
	size_t n;
	int i = 0;

	do {
		snprintf(number, sizeof(number), "%d", i);
		n = minisign_sign(&ours, i & 1, list, strlen(list), number, text);
		text[n - 1] = '\0';
		second = strrchr(text, '\n') + 1;
		text[n - 1] = '\n';
	} while (*second != '/' && ++i < 10000);
	CHECK(*second == '/' && good(text, n), "it is none");
	for (int byte = 128; byte < 256; byte++) {
		*second = (char)byte;
		CHECK(!good(text, n), "byte %d", byte);
	}
}

static const struct ktap_case cases[] = {
	{ "the_first_byte", the_first_byte },
	{ "both_kinds", both_kinds },
	{ "by_minisign", by_minisign },
	{ "other_keys", other_keys },
	{ "other_kind", other_kind },
	{ "damaged", damaged },
	{ "reasons", reasons },
	{ "garbage", garbage },
	{ "comments", comments },
	{ "rollback", rollback },
	{ "keys", keys },
	{ "failures", failures },
};

int main(void)
{
	if (signature_begin())
		return KTAP_FAIL;
	minisign_key(&ours, 1);
	minisign_key(&other, 2);
	minisign_public(&ours, key);
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
