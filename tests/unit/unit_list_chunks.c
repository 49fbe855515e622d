// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists in pieces, on machines of either byte order: as many as there are ranges at the bounds of a piece; pieces that
 * are no ranges of ours; and each call that fails on the way in and out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int succeed = -1; /* so many calls succeed before one fails; -1: all of them */
static const char *failing;
static size_t writes_most; /* bytes at once; 0: all */

static int fails(const char *what)
{
	int is = !succeed;

	succeed -= succeed >= 0;
	failing = is ? what : failing;
	errno = is ? EIO : errno;
	return is;
}

static ssize_t made_write(int fd, const void *data, size_t bytes)
{
	return fails("write") ? -1 : write(fd, data, writes_most && bytes > writes_most ? writes_most : bytes);
}

#define malloc(size)	      (fails("malloc") ? NULL : malloc(size))
#define realloc(old, size)    (fails("realloc") ? NULL : realloc(old, size))
#define write		      made_write
#define lseek(fd, to, how)    (fails("lseek") ? -1 : lseek(fd, to, how))
#define memfd_create(is, how) (fails("memfd_create") ? -1 : memfd_create(is, how))
#include "own_state.h"
#include "no_disk.h"
#undef malloc
#undef realloc
#undef write
#undef lseek
#undef memfd_create

#include "base/log.h"

static void set_of(struct ranges *set, unsigned int n4, unsigned int n6)
{
	*set = RANGES_EMPTY;
	for (unsigned int i = 0; i < n4; i++)
		ENOUGH(!ranges_add4(set, i * 0x01000000 + 5, i * 0x01000000 + 7 + i));
	for (unsigned int i = 0; i < n6; i++)
		ENOUGH(!ranges_add6(set, (ip6)(0x20010db8 + i) << 96 | 3, (ip6)(0x20010db8 + i) << 96 | (5 + i)));
	ENOUGH(!ranges_finish(set));
}

static int number(struct state *s, const char *sql)
{
	sqlite3_stmt *stmt = state_prepare(s, sql);
	int n = stmt && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int(stmt, 0) : -1;

	sqlite3_finalize(stmt);
	return n;
}

/* Three ranges of IPv6 have room in a piece. */
static void as_many_pieces(void)
{
	for (byte_order = LITTLE_ENDIAN;; byte_order = BIG_ENDIAN) {
		for (unsigned int n = 0; n < 8; n++) {
			struct state *s;
			struct ranges set, is;

			empty_directory();
			s = opened(true);
			ENOUGH(s);
			set_of(&set, 9 * n, n);
			ENOUGH(!put(s, "one", LIST_BAN, &set));
			CHECK(!state_list_set(s, "one", &is) && ranges_equal(&set, &is), "%u ranges are others", n);
			CHECK(is.room4 >= is.n4 && is.room6 >= is.n6, "%u ranges have less room", n);
			CHECK(number(s, "SELECT count(*) FROM chunk WHERE family = 6") == (int)(n + 2) / 3,
			      "%u ranges of IPv6 in %d pieces", n,
			      number(s, "SELECT count(*) FROM chunk WHERE family = 6"));
			CHECK(number(s, "SELECT max(length(data)) FROM chunk WHERE family = 6") ==
				      (n < 3 ? (int)n * 32 : 96),
			      "%u ranges: a piece has %d bytes", n,
			      number(s, "SELECT max(length(data)) FROM chunk WHERE family = 6"));
			CHECK(!n || number(s,
					   "SELECT count(*) FROM chunk WHERE family = 5 AND length(data) BETWEEN 1 AND"
					   " 100") == number(s, "SELECT count(*) FROM chunk WHERE family = 5"),
			      "a piece is too long");
			/* What the file has is little-endian. */
			CHECK(!n || byte_order != __BYTE_ORDER ||
				      number(s,
					     "SELECT data = x'030000000000000000000000b80d0120050000000000000000000000b80d0120'"
					     " OR length(data) > 32 AND substr(data, 1, 16) ="
					     " x'030000000000000000000000b80d0120' FROM chunk WHERE family = 6") == 1,
			      "%u ranges: other bytes", n);
			ranges_free(&set);
			ranges_free(&is);
			state_close(s);
		}
		if (byte_order == BIG_ENDIAN)
			break;
	}
	byte_order = __BYTE_ORDER;
}

/* A piece that somebody else has written. */
static void damaged_pieces(void)
{
	static const struct {
		const char *piece; /* family, part, data, sum */
		bool sound;
	} known[] = {
		{ "4, 0, x'0100000001000000', NULL", true },
		{ "4, 0, x'0100000001000000', 7", false },
		{ "4, 0, x'0100000001000000', 'x'", false },
		{ "4, 0, x'0100000001000000', -1", false },
		{ "4, 0, x'01000000010000', NULL", false },
		{ "4, 0, x'010000000100000000', NULL", false },
		{ "4, 0, '01000000', NULL", false },
		{ "4, 0, x'', NULL", true },
		{ "4, 0, x'', 0", true },
		{ "4, 0, x'', 1", false },
		{ "4, 0, x'0200000001000000', NULL", false },
		{ "4, 0, x'01000000020000000300000004000000', NULL", true },
		{ "4, 0, x'01000000020000000200000004000000', NULL", false },
		{ "4, 0, x'03000000040000000100000002000000', NULL", false },
		{ "6, 0, x'0100000000000000000000000000000001000000000000000000000000000000', NULL", true },
		{ "6, 0, x'0200000000000000000000000000000001000000000000000000000000000000', NULL", false },
		{ "6, 0, x'01000000000000000000000000000000020000000000000000000000000000000300000000000000000000"
		  "000000000004000000000000000000000000000000', NULL",
		  true },
		{ "6, 0, x'01000000000000000000000000000000020000000000000000000000000000000200000000000000000000"
		  "000000000004000000000000000000000000000000', NULL",
		  false },
		{ "6, 0, x'01', NULL", false },
		{ "5, 0, x'ff', NULL", false },
		{ "5, 0, x'', NULL", true },
		{ "3, 0, x'0100000001000000', NULL", false },
		{ "7, 0, x'0100000001000000', NULL", false },
		{ "0, 0, x'0100000001000000', NULL", true },
		{ "1.5, 0, x'0100000001000000', NULL", false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct ranges none = RANGES_EMPTY, is;
		struct state *s;
		char sql[300];
		int err;

		empty_directory();
		s = opened(true);
		ENOUGH(s);
		ENOUGH(!put(s, "one", LIST_BAN, &none));
		snprintf(sql, sizeof(sql), "INSERT INTO chunk SELECT id, %s FROM list", known[i].piece);
		ENOUGH(!state_run(s, sql));
		err = state_list_set(s, "one", &is);
		CHECK(!err == known[i].sound &&
			      (!err || (err_is(err, EUCLEAN) && strstr(reason(err), "list 'one' is damaged"))),
		      "%s: %s", known[i].piece, err ? reason(err) : "read");
		if (!err)
			ranges_free(&is);
		else
			CHECK(!is.n4 && !is.n6 && !is.v4 && !is.v6, "%s: something is left", known[i].piece);
		state_close(s);
	}
}

/* A text of several pieces, written as much at once as there is room for. */
static void a_text(void)
{
	static const size_t at_once[] = { 0, 1, 2, 7 };
	char text[64], is[64];
	struct ranges none = RANGES_EMPTY;
	struct state *s;
	ssize_t n;
	int fd;

	empty_directory();
	s = opened(true);
	ENOUGH(s);
	ENOUGH(!put(s, "one", LIST_BAN, &none) && !put(s, "two", LIST_BAN, &none));
	ENOUGH(!put_chunk(s, 1, CHUNK_TEXT, 1, "second", 6) && !put_chunk(s, 1, CHUNK_TEXT, 0, "first, ", 7) &&
	       !put_chunk(s, 1, CHUNK_PACKED4, 0, "", 0) && !put_chunk(s, 2, CHUNK_TEXT, 0, "other", 5));
	snprintf(text, sizeof(text), "first, second");
	for (size_t i = 0; i < sizeof(at_once) / sizeof(*at_once); i++) {
		writes_most = at_once[i];
		fd = state_text_get(s, "one");
		n = fd < 0 ? -1 : read(fd, is, sizeof(is));
		CHECK(n == (ssize_t)strlen(text) && !memcmp(is, text, (size_t)n), "%zu at once: %zd bytes", at_once[i],
		      n);
		close(fd);
	}
	writes_most = 0;
	for (int at = 0;; at++) {
		failing = NULL;
		succeed = at;
		fd = state_text_get(s, "one");
		succeed = -1;
		CHECK(failing ? err_is(fd, EIO) : fd >= 0, "call %d, %s: %d", at, failing ?: "none", fd);
		if (!failing) {
			close(fd);
			break;
		}
	}
	state_close(s);
}

static void without_memory(void)
{
	struct ranges set, is;

	set_of(&set, 50, 7);
	for (byte_order = LITTLE_ENDIAN;; byte_order = BIG_ENDIAN) {
		for (int at = 0;; at++) {
			struct state *s;
			int err;

			empty_directory();
			s = opened(true);
			ENOUGH(s);
			failing = NULL;
			succeed = at;
			err = put(s, "one", LIST_BAN, &set) ?: state_list_set(s, "one", &is);
			succeed = -1;
			CHECK(failing ? err_is(err, ENOMEM) : !err && ranges_equal(&set, &is), "call %d, %s: %s", at,
			      failing ?: "none", reason(err));
			if (!err)
				ranges_free(&is);
			state_close(s);
			if (!failing)
				break;
		}
		if (byte_order == BIG_ENDIAN)
			break;
	}
	byte_order = __BYTE_ORDER;
	ranges_free(&set);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "as many pieces as it takes", as_many_pieces },
		{ "damaged pieces", damaged_pieces },
		{ "a text in pieces", a_text },
		{ "without memory", without_memory },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
