// SPDX-License-Identifier: GPL-2.0-only
#include "observe/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "base/log.h"
#include "base/trusted_dir.h"

/* Nobody tries 2^80 of them. */
#define TOKEN_LEAST 16

static int check_file(int fd, const char *path)
{
	struct stat is;

	if (fd < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &is) || !S_ISREG(is.st_mode))
		return because(-EINVAL, "%s: not a file", path);
	if (is.st_mode & (S_IROTH | S_IWOTH))
		return because(-EPERM, "%s: every user may read it: chmod o= %s", path, path);
	return trust_open_file(fd, path, "who may ask the service");
}

/* Printable, without blanks: what a header and a file that others read as well have for sure. */
static bool is_token(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return n >= TOKEN_LEAST;
}

int token_read(struct token *token, const char *path)
{
	/* Without waiting for whoever has the other end of a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = check_file(fd, path);
	char text[TOKEN_MAX + 2] = "";
	ssize_t n = err ? 0 : read(fd, text, sizeof(text) - 1);

	*token = (struct token){ .wanted = true };
	if (n < 0)
		err = because(-errno, "%s: %s", path, strerror(errno));
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		n--;
	if (!err && n >= TOKEN_MAX)
		err = because(-EINVAL, "%s: the token is longer than %d characters", path, TOKEN_MAX - 1);
	if (!err && !is_token(text, (size_t)n))
		err = because(-EINVAL,
			      "%s: no token: one line of at least %d printable characters without blanks, as of"
			      " 'openssl rand -hex 32'",
			      path, TOKEN_LEAST);
	if (!err)
		memcpy(token->text, text, (size_t)n);
	explicit_bzero(text, sizeof(text));
	close_fd(fd);
	return err;
}

bool token_is(const struct token *token, const char *said)
{
	char padded[TOKEN_MAX] = "";
	unsigned char differs = 0;
	size_t n = said ? strnlen(said, TOKEN_MAX) : 0;

	if (!n || n == TOKEN_MAX)
		return false;
	memcpy(padded, said, n);
	for (size_t i = 0; i < TOKEN_MAX; i++)
		differs |= (unsigned char)(padded[i] ^ token->text[i]);
	return token->wanted && !differs;
}
