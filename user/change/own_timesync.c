// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server that systemd-timesyncd uses: a property on the system's bus, where nobody else may have that daemon's
 * name. This is all of D-Bus that asking for it takes.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/close_fd.h"
#include "change/own_internal.h"
#include "change/own_scan.h"

/* It is there while the daemon runs. */
#define RUNS "/run/systemd/timesync"

/*
 * Who we are, which the bus sees; Hello; and Get, which starts no daemon. Of each: its kind, the lengths of what it
 * says and of its fields, and these: a number, a type, a length and a text.
 */
/* clang-format off */
static const char question[] =
	"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"
	"l\1\0\1" "\0\0\0\0" "\1\0\0\0" "\155\0\0\0"
	"\1\1o\0" "\25\0\0\0" "/org/freedesktop/DBus\0\0\0"
	"\2\1s\0" "\24\0\0\0" "org.freedesktop.DBus\0\0\0\0"
	"\3\1s\0" "\5\0\0\0" "Hello\0\0\0"
	"\6\1s\0" "\24\0\0\0" "org.freedesktop.DBus\0" "\0\0\0"

	"l\1\2\1" "\72\0\0\0" "\2\0\0\0" "\220\0\0\0"
	"\1\1o\0" "\32\0\0\0" "/org/freedesktop/timesync1\0\0\0\0\0\0"
	"\2\1s\0" "\37\0\0\0" "org.freedesktop.DBus.Properties\0"
	"\3\1s\0" "\3\0\0\0" "Get\0\0\0\0\0"
	"\6\1s\0" "\31\0\0\0" "org.freedesktop.timesync1\0\0\0\0\0\0\0"
	"\10\1g\0" "\2ss\0"
	"\41\0\0\0" "org.freedesktop.timesync1.Manager\0\0\0"
	"\15\0\0\0" "ServerAddress\0";
/* clang-format on */

/* All that comes has room; it is 500 bytes. */
#define ANSWER_MOST 4096

static uint32_t number(const unsigned char *at, bool big)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return big ? be32toh(n) : le32toh(n);
}

/* The property is a structure: a family, and the bytes of an address. There is none while no server is known. */
static void on_property(struct learned *l, const unsigned char *at, size_t size, bool big)
{
	if (size >= 16 && !memcmp(at, "\5(iay)", 7) && number(at + 12, big) == size - 16)
		own_learn(l, own_bytes((int)number(at + 8, big), at + 16, size - 16), own_clock_is,
			  "the server of systemd-timesyncd");
}

enum { CALL_IS_ANSWERED = 2, CALL_FAILED };

/* Is that all? The second answer is Get's; between them are signals. */
static bool is_answered(struct learned *l, const unsigned char *at, size_t left)
{
	static const char greeting[] = "DATA\r\nOK ";
	const unsigned char *end;

	if (left < strlen(greeting))
		return false;
	if (memcmp(at, greeting, strlen(greeting)) != 0)
		return true;
	end = memmem(at + strlen(greeting), left - strlen(greeting), "\r\n", 2);
	if (!end)
		return false;
	left -= (size_t)(end + 2 - at);
	at = end + 2;
	for (int answers = 0; left >= 16;) {
		bool big = *at == 'B';
		uint32_t body = number(at + 4, big), fields = number(at + 12, big), begin;

		if (body > ANSWER_MOST || fields > ANSWER_MOST)
			return true;
		begin = 16 + (fields + 7) / 8 * 8;
		if (begin + body > left)
			return false;
		answers += at[1] == CALL_IS_ANSWERED || at[1] == CALL_FAILED;
		if (answers == 2) {
			if (at[1] == CALL_IS_ANSWERED)
				on_property(l, at + begin, body, big);
			return true;
		}
		at += begin + body;
		left -= begin + body;
	}
	return false;
}

static bool ask(int fd)
{
	const struct sockaddr_un bus = { .sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket" };

	return !connect(fd, (const struct sockaddr *)&bus, sizeof(bus)) &&
	       send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) == sizeof(question) - 1;
}

bool own_from_timesyncd(struct learned *l, int64_t until)
{
	bool runs = !access(RUNS, F_OK);
	int fd = runs ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	bool ends = fd < 0 || !ask(fd);
	unsigned char answer[ANSWER_MOST];

	for (size_t n = 0; !ends && n < sizeof(answer) && own_comes(fd, until);) {
		ssize_t got = recv(fd, answer + n, sizeof(answer) - n, 0);

		n += got > 0 ? (size_t)got : 0;
		ends = got <= 0 || is_answered(l, answer, n);
	}
	close_fd(fd);
	return runs;
}
