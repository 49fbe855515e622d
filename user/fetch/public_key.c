// SPDX-License-Identifier: GPL-2.0-only
#include "fetch/public_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"

#define FILE_MOST 4096
#define WANTED	  "a public key of minisign is 56 characters that begin with RW, or a file that has them"

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* "Ed" and the first four bits of its number are its first characters. */
static bool is_key(const char *text, size_t length)
{
	return length == PUBLIC_KEY_MAX - 1 && strspn(text, base64) >= length && text[0] == 'R' && text[1] == 'W' &&
	       strchr("QRST", text[2]);
}

/* What else is 100, 88 or 212 characters of that kind. */
static const char *what_else(const char *text, size_t length)
{
	if (length == 100 && text[0] == 'R')
		return "a signature";
	return length > 100 && strspn(text, base64) + 2 >= length ? "a secret key, which belongs on no other machine"
								  : NULL;
}

static int read_text(const char *path, char text[FILE_MOST])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = fd < 0 ? -errno : trust_open_file(fd, path, "which lists are believed");
	ssize_t n = err ? 0 : read(fd, text, FILE_MOST - 1);

	if (n < 0)
		err = -errno;
	close_fd(fd);
	text[n > 0 ? n : 0] = '\0';
	if (err_is(err, ENOENT) || err_is(err, ENAMETOOLONG))
		return because(err, "--key '%.100s': no such file; " WANTED, path);
	return err && err == -error_number(err) ? because(err, "--key %.300s: %s", path, errno_text(err)) : err;
}

int public_key_read(char key[PUBLIC_KEY_MAX], const char *from)
{
	const char *else_is = NULL;
	char text[FILE_MOST], *rest = text, *line;
	int err;

	if (is_key(from, strlen(from))) {
		memcpy(key, from, PUBLIC_KEY_MAX);
		return 0;
	}
	err = read_text(from, text);
	if (err)
		return err;
	while ((line = strsep(&rest, "\r\n"))) {
		size_t length = strcspn(line, " \t");

		if (is_key(line, length) && !line[length]) {
			memcpy(key, line, PUBLIC_KEY_MAX);
			return 0;
		}
		else_is = else_is ?: what_else(line, length);
	}
	if (else_is)
		return because(-EINVAL, "--key %.300s: it is %s; " WANTED, from, else_is);
	return because(-EINVAL, "--key %.300s: there is no key in it; " WANTED, from);
}

uint64_t public_key_number(const unsigned char bytes[8])
{
	uint64_t number = 0;

	for (int i = 7; i >= 0; i--)
		number = number << 8 | bytes[i];
	return number;
}
