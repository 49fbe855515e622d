// SPDX-License-Identifier: GPL-2.0-only
/* The file that names a proxy: one line, of one of three kinds, and nobody else's to read where a password is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/trusted_dir.h"
#include "fetch/proxy.h"
#include "ktap.h"

static int no_read; /* an error */

static ssize_t given_read(int fd, void *to, size_t n)
{
	errno = no_read;
	return no_read ? -1 : read(fd, to, n);
}

static char opened[100];

static int given_open(const char *path, const char *what)
{
	snprintf(opened, sizeof(opened), "%s", path);
	return open_trusted(path, what);
}

#define read	     given_read
#define open_trusted given_open
#include "fetch/proxy.c"
#undef read

static char directory[200], file[220];

static void write_file(const char *text, size_t n, mode_t mode)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n && !fchmod(fd, mode), "no %s", file);
	close(fd);
}

/* The proxy; or, where none is wanted, the error. */
static void reads(const char *text, size_t n, mode_t mode, const char *wanted, int error)
{
	char proxy[FETCH_URL_MAX];
	int err;

	memset(proxy, 'x', sizeof(proxy));
	write_file(text, n, mode);
	err = proxy_read(proxy);
	CHECK((error ? err_is(err, error) : !err) && !strcmp(proxy, wanted), "'%.60s': '%s', %s", text, proxy,
	      err ? reason(err) : "no error");
	CHECK(!err || !strstr(reason(err), "secret"), "the reason has a password: %s", reason(err));
}

static void taken(void)
{
	static const char *const proxies[] = {
		"http://proxy.example:3128",	     "https://192.0.2.1",   "socks5h://[2001:db8::1]:1080",
		"HTTP://name:secret@proxy.example/", "http://a:p@secret@b", "http://~!",
	};
	char text[FETCH_URL_MAX + 100];

	for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++) {
		int n = snprintf(text, sizeof(text), "%s", proxies[i]);

		reads(text, (size_t)n, 0600, proxies[i], 0);
		n = snprintf(text, sizeof(text), "# a remark: http://another\r\n\r\n%s\r\n\n#\n", proxies[i]);
		reads(text, (size_t)n, 0600, proxies[i], 0);
	}
	reads("http://proxy.example\n", 21, 0644, "http://proxy.example", 0);
}

static void refused(void)
{
	static const char *const texts[] = {
		"",
		"\n#\n",
		"proxy.example:3128\n",
		"ftp://proxy.example\n",
		"socks5://proxy.example\n",
		"http://\n",
		"http:///x\n",
		"http://:3128\n",
		"http://?\n",
		"http://#\n",
		"http://name:secret@\n",
		"http://name:secret@:3128\n",
		"http://a b\n",
		" http://a\n",
		"http://a\t\n",
		"http://a\x7f\n",
		"http://\xc3\xa4\n",
		"http://a\nhttp://b\n",
		"http://a\nx\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		reads(texts[i], strlen(texts[i]), 0600, "", EINVAL);
	reads("http://a\0\n", 10, 0600, "", EINVAL);
	reads("http://name:secret@a\n", 21, 0644, "", EACCES);
	reads("http://name:secret@a\n", 21, 0640, "", EACCES);
	reads("http://a\n", 9, 0622, "", EPERM);
	no_read = EIO;
	reads("http://a\n", 9, 0600, "", EIO);
	no_read = 0;
}

/* To the byte. */
static void long_ones(void)
{
	static char text[8192], wanted[FETCH_URL_MAX + 1];

	for (size_t n = FETCH_URL_MAX - 2; n <= FETCH_URL_MAX; n++) {
		memset(wanted, 'a', n);
		memcpy(wanted, "http://", 7);
		wanted[n] = '\0';
		snprintf(text, sizeof(text), "%s\n", wanted);
		reads(text, n + 1, 0600, n < FETCH_URL_MAX ? wanted : "", n < FETCH_URL_MAX ? 0 : EINVAL);
	}
	for (size_t n = 4095; n <= 4097; n++) {
		memset(text, '#', n);
		memcpy(text, "http://a\n", 9);
		reads(text, n, 0600, n <= 4096 ? "http://a" : "", n <= 4096 ? 0 : EINVAL);
	}
}

static void none(void)
{
	char proxy[FETCH_URL_MAX] = "nothing";

	unlink(file);
	CHECK(!proxy_read(proxy) && !*proxy, "without a file: '%s'", proxy);
	strcpy(proxy, "nothing");
	CHECK(!mkdir(file, 0700) && err_is(proxy_read(proxy), EINVAL) && !*proxy, "a directory: '%s'", proxy);
	rmdir(file);
	/* Without the variable it is the system's file, whatever that is here. */
	unsetenv("XDP_BLOOM_PROXY");
	CHECK((!proxy_read(proxy) || !*proxy) && !strcmp(opened, PROXY_FILE), "%s, and '%s'", opened, proxy);
	setenv("XDP_BLOOM_PROXY", "", 1);
	CHECK((!proxy_read(proxy) || !*proxy) && !strcmp(opened, PROXY_FILE), "%s, and '%s'", opened, proxy);
	setenv("XDP_BLOOM_PROXY", file, 1);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "taken", taken },
		{ "refused", refused },
		{ "long_ones", long_ones },
		{ "none", none },
	};
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_proxy.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	snprintf(file, sizeof(file), "%s/proxy", directory);
	setenv("XDP_BLOOM_PROXY", file, 1);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(file);
	rmdir(directory);
	return status;
}
