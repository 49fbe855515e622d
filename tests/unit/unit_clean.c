// SPDX-License-Identifier: GPL-2.0-only
/* Other people's text: what of it may be shown, against a table, and at random against the rules of UTF-8. */
#include <jansson.h>
#include <string.h>

#include "base/clean_text.h"
#include "ktap.h"

#define ROUNDS 100000

static void cases(void)
{
	static const struct {
		const char *text, *clean;
	} known[] = {
		{ "", "" },
		{ "eth0.7 ~", "eth0.7 ~" },
		{ "a\tb\r\n\x1b[31mc\x7f", "a?b???[31mc?" },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x9b[2J \xc2\x85 \xc2\xa0", "??[2J ?? \xc2\xa0" }, /* C1: CSI in one character */
		{ "\xff\x9b\x80", "???" },
		{ "\xc3", "?" },
		{ "\xe2\x82", "??" },
		{ "\xe2\x82x", "??x" },
		{ "\xc0\x80 \xc1\x9b \xe0\x80\x9b", "?? ?? ???" }, /* longer than need be */
		{ "\xc1\xbf \xe0\x9f\xbf \xf0\x8f\xbf\xbf", "?? ??? ????" },
		{ "\xc2\xa0 \xe0\xa0\x80 \xf0\x90\x80\x80", "\xc2\xa0 \xe0\xa0\x80 \xf0\x90\x80\x80" },
		{ "\xed\xa0\x80 \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80", "??? ???? ?????" },
		/* Right to left, of no width, a mark of byte order, a tag, a soft hyphen; then letters that are just
		   others. */
		{ "a\u202etxt.exe \u2066b\u061c", "a???txt.exe ???b??" },
		{ "192.0.2.1\u200b1 \ufeff \u2060", "192.0.2.1???1 ??? ???" },
		{ "\U000e0041x \u00ad \u2028", "????x ?? ???" },
		{ "\u05d0\u0430 \u2013 \u2190", "\u05d0\u0430 \u2013 \u2190" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char text[64];

		clean_copy(text, sizeof(text), known[i].text);
		if (!CHECK(!strcmp(text, known[i].clean), "%zu: '%s', not '%s'", i, text, known[i].clean))
			return;
	}
}

/* All characters that there are: those of no width, those that turn the direction, and control characters are not
 * shown. */
static void every_character(void)
{
	static const uint32_t hidden[][2] = {
		{ 0x1, 0x1f },		{ 0x7f, 0x9f },	      { 0xad, 0xad },	    { 0x34f, 0x34f },
		{ 0x61c, 0x61c },	{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },	{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
		{ 0xd800, 0xdfff },	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
		{ 0x110000, 0x1fffff },
	};
	size_t at = 0;

	for (uint32_t c = 1; c < 0x200000 && !ktap_failed; c++) {
		char text[5] = { (char)c }, clean[5];
		bool is;

		if (c >= 0x10000)
			snprintf(text, sizeof(text), "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 63),
				 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
		else if (c >= 0x800)
			snprintf(text, sizeof(text), "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
		else if (c >= 0x80)
			snprintf(text, sizeof(text), "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
		while (at < sizeof(hidden) / sizeof(*hidden) && c > hidden[at][1])
			at++;
		is = at < sizeof(hidden) / sizeof(*hidden) && c >= hidden[at][0];
		memcpy(clean, text, sizeof(text));
		clean_text(clean);
		CHECK(is ? clean[0] == '?' && strspn(clean, "?") == strlen(text) : !strcmp(clean, text),
		      "character %x is%s shown", c, is ? "" : " not");
	}
}

/* jansson takes what is UTF-8; and what is clean stays as it is. */
static void random_text(void)
{
	static const char alphabet[] = "a \x1b\x7f\x80\x9b\xa0\xbf\xc0\xc2\xc3\xe0\xe2\xed\xef\xf0\xf4\xf8\xff";

	for (int round = 0; round < ROUNDS; round++) {
		char text[17] = "", again[17];
		size_t n = ktap_random() % sizeof(text);
		json_t *string;

		for (size_t i = 0; i < n; i++)
			text[i] = alphabet[ktap_random() % (sizeof(alphabet) - 1)];
		clean_text(text);
		string = json_string(text);
		clean_copy(again, sizeof(again), text);
		if (!CHECK(string && strlen(text) == n && !strpbrk(text, "\x1b\x7f") && !strcmp(text, again),
			   "round %d: %zu of %zu bytes", round, strlen(text), n))
			round = ROUNDS;
		json_decref(string);
	}
}

int main(void)
{
	static const struct ktap_case run[] = {
		{ "what may be shown", cases },
		{ "every character", every_character },
		{ "random bytes come out as UTF-8", random_text },
	};

	return ktap_run(run, sizeof(run) / sizeof(*run));
}
