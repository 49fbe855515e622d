// SPDX-License-Identifier: GPL-2.0-only
/* What is taken for a public key, given itself or in a file, and what is said of all else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/public_key.c"
#include "ktap.h"

#define IS_WANTED  "a public key of minisign is 56 characters that begin with RW, or a file that has them"
#define TAIL	   "bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0+" /* behind RWQ */
#define KEY	   "RWQ" TAIL
#define OTHER	   "RWT123456789/zyxwvutsrqponmlkjihgfedcba98765432100AZaz+/"
#define LINE_OF_50 "01234567890123456789012345678901234567890123456789"

static char directory[200];

static void put(const char *name, const char *text, size_t n)
{
	FILE *file = fopen(name, "w");

	if (!file || fwrite(text, 1, n, file) != n || fclose(file))
		abort();
}

/* What comes of it: the key, or the reason. */
static const char *read_from(const char *from, int number)
{
	static char key[PUBLIC_KEY_MAX];
	int err = public_key_read(key, from);

	CHECK(number ? err_is(err, number) : !err, "%s: %d, %s", from, err, reason(err));
	return err ? reason(err) : key;
}

static void says(const char *from, int number, const char *wanted)
{
	const char *is = read_from(from, number);

	CHECK(!strcmp(is, wanted), "'%s' is '%s', not '%s'", from, is, wanted);
}

static const char *no_file(const char *name)
{
	static char text[1000];

	snprintf(text, sizeof(text), "--key '%.100s': no such file; " IS_WANTED, name);
	return text;
}

static void itself(void)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[PUBLIC_KEY_MAX + 1];

	says(KEY, 0, KEY);
	/* Each character at each place. */
	for (size_t at = 0; at < strlen(KEY); at++)
		for (int c = 1; c < 256; c++) {
			const char *may = at == 0 ? "R" : at == 1 ? "W" : at == 2 ? "QRST" : letters;

			strcpy(text, KEY);
			text[at] = (char)c;
			if (strchr(may, c))
				says(text, 0, text);
			else
				says(text, ENOENT, no_file(text));
		}
	for (size_t n = 1; n <= PUBLIC_KEY_MAX; n++) {
		if (n == strlen(KEY))
			continue;
		strcpy(text, KEY "A");
		text[n] = '\0';
		says(text, ENOENT, no_file(text));
	}
}

static void in_a_file(void)
{
	static const struct {
		const char *text, *wanted; /* else: what it is said to be */
	} files[] = {
		{ KEY, KEY },
		{ KEY "\n", KEY },
		{ KEY "\r\n", KEY },
		{ "untrusted comment: minisign public key 1\n" KEY "\n", KEY },
		{ "untrusted comment: minisign public key 1\r\n" KEY "\r\n", KEY },
		{ "\n\n\n" OTHER "\n" KEY "\n", OTHER },
		{ "RW\n" KEY "x\n" OTHER "\n", OTHER },
		{ KEY " \n" OTHER "\n", OTHER },
		{ KEY "\tx\n" OTHER "\n", OTHER },
		{ "", NULL },
		{ "\n", NULL },
		{ KEY " ", NULL },
		{ KEY "\t", NULL },
		{ " " KEY, NULL },
		{ "key: " KEY "\n", NULL },
		{ KEY "=\n", NULL },
		/* What else minisign writes has 100 and 212 characters. */
		{ "untrusted comment: x\nRW" LINE_OF_50 "012345678901234567890123456789012345678901234567\nx\n",
		  "a signature" },
		{ "RW" LINE_OF_50 "012345678901234567890123456789012345678901234567 x\n", "a signature" },
		{ "RW" LINE_OF_50 "01234567890123456789012345678901234567890123456\n", NULL },
		{ "SW" LINE_OF_50 "012345678901234567890123456789012345678901234567\n", NULL },
		{ "RW" LINE_OF_50 "0123456789012345678901234567890123456789012345678\n",
		  "a secret key, which belongs on no other machine" },
		{ LINE_OF_50 LINE_OF_50 LINE_OF_50 LINE_OF_50 "012345678901\n",
		  "a secret key, which belongs on no other machine" },
		{ LINE_OF_50 LINE_OF_50 "=\n", "a secret key, which belongs on no other machine" },
		{ LINE_OF_50 LINE_OF_50 "==\n", "a secret key, which belongs on no other machine" },
		{ LINE_OF_50 LINE_OF_50 "===\n", NULL },
		{ LINE_OF_50 LINE_OF_50 "\n", NULL },
		/* The first of them is said; a key is taken behind them, too. */
		{ LINE_OF_50 LINE_OF_50 "==\nRW" LINE_OF_50 "012345678901234567890123456789012345678901234567\n\n",
		  "a secret key, which belongs on no other machine" },
		{ "RW" LINE_OF_50 "012345678901234567890123456789012345678901234567\n" KEY, KEY },
	};
	char wanted[500];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const char *is = files[i].wanted;
		bool key = is && is[0] == 'R';

		put("pub", files[i].text, strlen(files[i].text));
		snprintf(wanted, sizeof(wanted), "--key pub: %s%s; " IS_WANTED, is ? "it is " : "there is no key in it",
			 is ?: "");
		says("pub", key ? 0 : EINVAL, key ? is : wanted);
	}
}

/* A file's beginning is read: a key that ends there, and one that ends behind it. */
static void beginning(void)
{
	char text[FILE_MOST + 1];

	for (size_t end = 4094; end <= 4096; end++) {
		memset(text, '\n', sizeof(text));
		memcpy(text + end - strlen(KEY), KEY, strlen(KEY));
		put("pub", text, end);
		says("pub", end < 4096 ? 0 : EINVAL, end < 4096 ? KEY : "--key pub: there is no key in it; " IS_WANTED);
	}
	/* A NUL ends it. */
	put("pub", "\0\n" KEY, strlen(KEY) + 2);
	says("pub", EINVAL, "--key pub: there is no key in it; " IS_WANTED);
}

static void no_key(void)
{
	char name[600], wanted[1000];

	says("", ENOENT, no_file(""));
	says("not-there", ENOENT, no_file("not-there"));
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	says(name, ENAMETOOLONG, no_file(name));
	mkdir("folder", 0700);
	says("folder", EISDIR, "--key folder: Is a directory");
	put("pub", "", 0);
	says("pub/x", ENOTDIR, "--key pub/x: Not a directory");
	/* Nobody writes to it: that is not waited for. */
	mkfifo("pipe", 0600);
	alarm(20);
	says("pipe", EINVAL, "--key pipe: there is no key in it; " IS_WANTED);
	alarm(0);
	/* A long name is cut. */
	for (size_t i = 0; i < 400; i += 2)
		memcpy(name + i, "./", 2);
	strcpy(name + 400, "pub");
	snprintf(wanted, sizeof(wanted), "--key %.300s: there is no key in it; " IS_WANTED, name);
	says(name, EINVAL, wanted);
	put("pub", LINE_OF_50 LINE_OF_50 "==\n", 103);
	snprintf(wanted, sizeof(wanted),
		 "--key %.300s: it is a secret key, which belongs on no other machine; " IS_WANTED, name);
	says(name, EINVAL, wanted);
	strcpy(name + 400, "folder");
	snprintf(wanted, sizeof(wanted), "--key %.300s: Is a directory", name);
	says(name, EISDIR, wanted);
}

/* minisign writes it with its last byte in front. */
static void number(void)
{
	static const unsigned char bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 0xf8 };

	CHECK(public_key_number(bytes) == 0xf807060504030201, "it is %" PRIX64, public_key_number(bytes));
}

static const struct ktap_case cases[] = {
	{ "itself", itself }, { "in a file", in_a_file }, { "beginning", beginning },
	{ "no key", no_key }, { "number", number },
};

int main(void)
{
	static const char *const names[] = { "pub", "pipe" };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-key-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory) || chdir(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	rmdir("folder");
	rmdir(directory);
	return status;
}
