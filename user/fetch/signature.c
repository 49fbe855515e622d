// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signature file has four lines: a comment that nobody signed; algorithm, number of the key and signature of the
 * list; a comment, and the signature of signature and comment together. "Ed" signs the list, "ED" its BLAKE2b.
 */
#include "fetch/signature.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/log.h"
#include "fetch/public_key.h"
#include "fetch/request.h"

#define UNTRUSTED "untrusted comment: "
#define TRUSTED	  "trusted comment: "
#define PIECE	  ((size_t)64 << 10)

/* As they stand in the files. */
struct key {
	char algorithm[2];
	unsigned char number[8], key[crypto_sign_PUBLICKEYBYTES];
};

struct signature {
	char algorithm[2];
	unsigned char number[8], of_list[crypto_sign_BYTES];
};

_Static_assert(sizeof(struct key) == 42 && sizeof(struct signature) == 74, "no bytes between");

struct line {
	const char *text;
	size_t length;
};

PRINTF(2, 3) static bool failed(struct fetch_answer *answer, const char *fmt, ...)
{
	char text[sizeof(answer->why)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	clean_copy(answer->why, sizeof(answer->why), text);
	return false;
}

static bool take_line(const char **at, const char *end, const char *begins, struct line *line)
{
	const char *stop = memchr(*at, '\n', (size_t)(end - *at)) ?: end, *next = stop < end ? stop + 1 : end;
	size_t skip = strlen(begins);

	if (stop > *at && stop[-1] == '\r')
		stop--;
	if ((size_t)(stop - *at) < skip || memcmp(*at, begins, skip) != 0)
		return false;
	*line = (struct line){ *at + skip, (size_t)(stop - *at) - skip };
	*at = next;
	return true;
}

static bool decode(void *to, size_t size, struct line from)
{
	size_t n;

	/* libsodium 1.0.18 takes each byte above 127 for a slash. */
	for (size_t i = 0; i < from.length; i++)
		if ((unsigned char)from.text[i] > 127)
			return false;
	return !sodium_base642bin(to, size, from.text, from.length, NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL) &&
	       n == size;
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at) && *at)
		at++;
	return at == end;
}

/* Of the list, or, of a list that is hashed first, of its hash. */
static bool check_hash(const struct signature *s, const struct key *key, int list, struct fetch_answer *answer)
{
	unsigned char hash[crypto_generichash_BYTES_MAX];
	static unsigned char piece[PIECE];
	crypto_generichash_state state;
	off_t at = 0;
	ssize_t n;

	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	while ((n = pread(list, piece, sizeof(piece), at)) > 0 || (n < 0 && errno == EINTR)) {
		crypto_generichash_update(&state, piece, n > 0 ? (unsigned long long)n : 0);
		at += n > 0 ? n : 0;
	}
	if (n < 0)
		return failed(answer, "the list cannot be read: %s", strerror(errno));
	crypto_generichash_final(&state, hash, sizeof(hash));
	return !crypto_sign_verify_detached(s->of_list, hash, sizeof(hash), key->key) ||
	       failed(answer, "the signature is not one of this list");
}

static bool check_whole(const struct signature *s, const struct key *key, int list, struct fetch_answer *answer)
{
	static unsigned char nothing;
	unsigned char *text = &nothing;
	struct stat st;
	bool good;

	if (fstat(list, &st))
		return failed(answer, "the list cannot be read: %s", strerror(errno));
	if (st.st_size)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, list, 0);
	if (text == MAP_FAILED)
		return failed(answer, "the list is too long for a signature of the old kind: %s", strerror(errno));
	good = !crypto_sign_verify_detached(s->of_list, text, (size_t)st.st_size, key->key) ||
	       failed(answer, "the signature is not one of this list");
	munmap(text, (size_t)st.st_size); /* of nothing, it does nothing */
	return good;
}

static bool check_comment(const struct signature *s, struct line comment, struct line global, const struct key *key,
			  struct fetch_answer *answer)
{
	unsigned char of_all[crypto_sign_BYTES], *all;
	bool good = false;

	if (!decode(of_all, sizeof(of_all), global))
		return failed(answer, "the signature's fourth line is no signature");
	all = malloc(sizeof(s->of_list) + comment.length);
	if (!all)
		return failed(answer, "%s", strerror(ENOMEM));
	memcpy(all, s->of_list, sizeof(s->of_list));
	memcpy(all + sizeof(s->of_list), comment.text, comment.length);
	good = !crypto_sign_verify_detached(of_all, all, sizeof(s->of_list) + comment.length, key->key);
	free(all);
	return good || failed(answer, "the signature's comment is not the one that was signed");
}

/* "timestamp:1700000000"; 0: it does not say. */
static uint64_t number_of(struct line comment, const char *name)
{
	const char *at = comment.text, *end = at + comment.length;
	size_t length = strlen(name);
	uint64_t number = 0;

	for (; at < end; at++) {
		bool begins = at == comment.text || at[-1] == '\t' || at[-1] == ' ';

		if (begins && (size_t)(end - at) > length && !memcmp(at, name, length))
			break;
	}
	if (at == end)
		return 0;
	for (at += length; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return 0;
	return at == end || *at == '\t' || *at == ' ' ? number : 0;
}

static void take_comment(struct line comment, struct fetch_answer *answer)
{
	char text[sizeof(answer->comment)];

	snprintf(text, sizeof(text), "%.*s", (int)(comment.length < sizeof(text) ? comment.length : sizeof(text) - 1),
		 comment.text);
	for (char *tab = text; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	clean_copy(answer->comment, sizeof(answer->comment), text);
	answer->signed_at = number_of(comment, "timestamp:");
	answer->version = number_of(comment, "version:");
}

static bool check(const char *key_text, const char *text, size_t length, int list, struct fetch_answer *answer)
{
	struct line untrusted, first, comment, global;
	const char *at = text, *end = text + length;
	struct signature s;
	struct key key;

	if (!decode(&key, sizeof(key), (struct line){ key_text, strlen(key_text) }) ||
	    memcmp(key.algorithm, "Ed", 2) != 0)
		return failed(answer, "the key is no public key of minisign");
	if (memchr(text, '\0', length) || !take_line(&at, end, UNTRUSTED, &untrusted) ||
	    !take_line(&at, end, "", &first) || !take_line(&at, end, TRUSTED, &comment) ||
	    !take_line(&at, end, "", &global) || !is_blank(at, end))
		return failed(answer, "it is no signature of minisign");
	if (!decode(&s, sizeof(s), first) || (memcmp(s.algorithm, "Ed", 2) != 0 && memcmp(s.algorithm, "ED", 2) != 0))
		return failed(answer, "the signature's second line is no signature");
	/* As minisign prints it. */
	if (memcmp(s.number, key.number, sizeof(key.number)) != 0)
		return failed(answer, "it is signed with another key: %016" PRIX64 ", and not %016" PRIX64,
			      public_key_number(s.number), public_key_number(key.number));
	if (!(s.algorithm[1] == 'D' ? check_hash : check_whole)(&s, &key, list, answer) ||
	    !check_comment(&s, comment, global, &key, answer))
		return false;
	take_comment(comment, answer);
	return true;
}

int signature_begin(void)
{
	return sodium_init() < 0 ? because(-EIO, "libsodium does not start") : 0;
}

void signature_check(const char *key, const char *text, size_t length, int list, struct fetch_answer *answer)
{
	*answer = (struct fetch_answer){ .outcome = FETCH_FAILED };
	if (check(key, text, length, list, answer))
		answer->outcome = FETCH_SIGNED;
}
