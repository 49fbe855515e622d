// SPDX-License-Identifier: GPL-2.0-only
/* SHA-256 by values that another program has computed, at each length where a block is full, in pieces of any size. */
#include <string.h>

#include "base/sha256.h"
#include "ktap.h"

/* Of n bytes, each (7 i + n) mod 256: Python's hashlib. */
static const struct {
	size_t n;
	const char *text;
} known[] = {
	{ 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ 1, "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a" },
	{ 3, "6ab0dba1f4f1dfbb37b4f9eeb092c09fca4900ad32bdcd147d8dde35d6c87c35" },
	{ 55, "81afe5b788dc2ce138ff83d9b20164db75a94d75d2b2432eea4a0ef605088c72" },
	{ 56, "2aba54f0ac632420a2b502431408866e40e1d5e430df4cd822642c78ab2eb9c1" },
	{ 57, "903284efbf9100e8ba1614ec65eacacad125e03f857cae7acbf8b73b23e0fdfe" },
	{ 63, "733d3d4ee79ee67145bf73da13588f6f235d37414fc64b14a2f00f1762792f5e" },
	{ 64, "79322907b3e9d013d7dc2c2f256674dbf733045cde01df3539271c6f5605feb8" },
	{ 65, "d85c007c6eb440f085afa2b84f6f2bce4658b240e9f62cb1364bf0485a57e720" },
	{ 119, "6c87eedf096b345de205b702e5223b73b447a3207791ded3ea007ba15ed6736e" },
	{ 120, "42500cf6a1e3936d6b9e0bcfe296d654b63255e525487d3634d0b15fde591c4d" },
	{ 127, "68f6ff710276900c0ffbbc57426f67e00c2e01f0750c7edc25ac06b8ce7a8095" },
	{ 128, "489d55fea9a73af36b6dd0be7b4117d8e5683386d39544e8a44c99a87f368707" },
	{ 1000, "6b0df76627243d095b0c4400cb658b7e804dd03461cc03aee8fc8fe0bcada168" },
};

static void values(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		unsigned char bytes[1000];
		char text[SHA256_TEXT];

		for (size_t k = 0; k < known[i].n; k++)
			bytes[k] = (unsigned char)(7 * k + known[i].n);
		for (size_t piece = 1; piece <= 130; piece += piece < 3 ? 1 : 31) {
			struct sha256 s;

			sha256_begin(&s);
			for (size_t at = 0; at < known[i].n; at += piece)
				sha256_add(&s, bytes + at, known[i].n - at < piece ? known[i].n - at : piece);
			sha256_end(&s, text);
			CHECK(!strcmp(text, known[i].text), "%zu bytes by %zu: %s", known[i].n, piece, text);
		}
		{
			struct sha256 s;

			sha256_begin(&s);
			sha256_add(&s, bytes, known[i].n);
			sha256_add(&s, bytes, 0);
			sha256_end(&s, text);
			CHECK(!strcmp(text, known[i].text), "%zu bytes at once: %s", known[i].n, text);
		}
	}
}

/* As FIPS 180-4 has it. */
static void a_million(void)
{
	static const char wanted[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
	static char bytes[1000000];
	char text[SHA256_TEXT];
	struct sha256 s;

	memset(bytes, 'a', sizeof(bytes));
	sha256_begin(&s);
	sha256_add(&s, bytes, sizeof(bytes));
	sha256_end(&s, text);
	CHECK(!strcmp(text, wanted), "%s", text);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "known values", values }, { "a million letters", a_million } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
