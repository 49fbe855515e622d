// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list that a packed change is of: its sum, whole and as the state has it; where there is none, where it is another
 * by now, and where its text cannot be read or made.
 */
#include <sys/mman.h>

#include "own_state.h"
#include "no_disk.h"
#include "base/compress.h"
#include "base/log.h"
#include "sets/packed.h"
#include "state/state.h"

static const char *fails;
static int closed;

static bool is_to_fail(const char *call)
{
	errno = EMFILE;
	return fails && !strcmp(fails, call);
}

static int given_write(int fd, const struct ranges *set, const struct ranges *from, int level)
{
	CHECK(!from && level == PACKED_QUICK, "it is packed in another way");
	return is_to_fail("write") ? -ENOSPC : packed_write(fd, set, from, level);
}

static void given_close(int fd)
{
	closed = fd;
	if (fd >= 0)
		close(fd);
}

static int given_text(struct state *state, const char *name)
{
	return is_to_fail("text") ? -EIO : state_text_get(state, name);
}

#define state_text_get			   given_text
#define memfd_create(name, flags)	   (is_to_fail("memfd") ? -1 : memfd_create(name, flags))
#define lseek(fd, to, from)		   (is_to_fail("lseek") ? -1 : lseek(fd, to, from))
#define packed_write(fd, set, from, level) given_write(fd, set, from, level)
#define close_fd			   given_close
#include "change/packed_change.c"
#undef memfd_create
#undef lseek
#undef packed_write

static int file_of(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	ENOUGH(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !lseek(fd, 0, SEEK_SET));
	return fd;
}

static struct ranges set_of(const char *text)
{
	struct ranges set = RANGES_EMPTY;

	for (size_t n; *text; text += n + (text[n] == ' ')) {
		struct addr first;
		unsigned int length;

		n = strcspn(text, " ");
		ENOUGH(!prefix_parse(text, n, &first, &length) && !ranges_add_prefix(&set, first, length));
	}
	ENOUGH(!ranges_finish(&set));
	return set;
}

static int packed_of(const struct ranges *set, const struct ranges *from)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	ENOUGH(fd >= 0 && !packed_write(fd, set, from, PACKED_QUICK) && !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* The state has that set, and the text in this file, which is closed; -1: none. */
static void keep(const char *name, const char *settled, const char *format, const char *where, int text)
{
	struct list_info list = {
		.kind = LIST_BAN, .addresses = "1", .source = "a.txt", .loaded = "2026-01-01T00:00:00Z"
	};
	struct ranges set = set_of(settled);
	struct state *s = opened(true);
	struct packer *packer;

	ENOUGH(s);
	list.prefixes = ranges_count_prefixes(&set);
	snprintf(list.name, sizeof(list.name), "%s", name);
	snprintf(list.format, sizeof(list.format), "%s", format);
	snprintf(list.where, sizeof(list.where), "%s", where);
	ENOUGH(!state_list_put(s, &list, &set));
	if (text >= 0) {
		packer = packer_begin(text);
		ENOUGH(packer && !state_text_put(s, name, packer));
		packer_free(packer);
		close(text);
	}
	ENOUGH(!state_commit(s));
	state_close(s);
	ranges_free(&set);
}

/* With what is nobody's, which the state leaves out. */
#define READ	"192.0.2.0/24 45.1.0.0/16 2001:db8::/32"
#define SETTLED "45.1.0.0/16"

static void fill(void)
{
	struct ranges read = set_of(READ);

	keep("packed", SETTLED, "", "", packed_of(&read, NULL));
	keep("plain", SETTLED, "", "", file_of("45.1.0.0/16\nno address\n45.2.0.9\n"));
	keep("second", SETTLED, "csv:2", "", file_of("45.3.0.0,45.4.0.1\n"));
	keep("rows", SETTLED, "", "country=de", file_of("network,country\n45.1.0.0/16,de\n45.2.0.0/16,fr\n"));
	keep("of rows", SETTLED, "", "country=de", packed_of(&read, NULL));
	keep("nameless", SETTLED, "", "", -1);
	keep("broken", SETTLED, "xdp-bloom", "", file_of("no list at all\n"));
	ranges_free(&read);
}

static void sums(void)
{
	static const struct {
		const char *name;
		bool has;
	} known[] = { { "packed", true },   { "plain", false },	   { "second", false }, { "rows", false },
		      { "of rows", false }, { "nameless", false }, { "broken", false }, { "none", false } };
	struct ranges read = set_of(READ);
	char sum[SHA256_TEXT], wanted[SHA256_TEXT];
	int text = packed_of(&read, &read);
	struct packed_change change;

	CHECK(!packed_change_sum(&own_context, "packed", sum), "without a state there is a sum");
	CHECK(err_is(packed_change_begin(&change, &own_context, "packed", text), EINVAL),
	      "without a state it is taken");
	CHECK(access(file, F_OK), "there is a state now");
	fill();
	packed_sum(&read, wanted);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		bool has = packed_change_sum(&own_context, known[i].name, sum);

		CHECK(has == known[i].has, "%s: %s", known[i].name, has ? "a sum" : "none");
		CHECK(!has || !strcmp(sum, wanted), "%s: %s, not %s", known[i].name, sum, wanted);
	}
	close(text);
	ranges_free(&read);
}

static void is_same(const struct ranges *is, const char *wanted, const char *what)
{
	struct ranges set = set_of(wanted);

	CHECK(ranges_equal(is, &set), "%s: %zu and %zu ranges", what, is->n4, is->n6);
	ranges_free(&set);
}

static void begins(void)
{
	static const struct {
		const char *name, *read; /* NULL: that is refused */
		const char *says;
	} known[] = {
		{ "packed", READ, NULL },
		{ "plain", "45.1.0.0/16 45.2.0.9", NULL },
		{ "second", "45.4.0.1", NULL },
		{ "rows", "45.1.0.0/16", NULL },
		{ "nameless", "", NULL },
		{ "none", NULL,
		  "a change of a list, and there is no list 'none' that it could change: load it whole, once" },
		{ "broken", NULL, "the version before: " },
	};
	struct ranges before = set_of(READ), after = set_of(READ " 45.9.0.0/16");
	struct packed_change change;
	int text = packed_of(&after, NULL);

	memset(&change, 0xff, sizeof(change));
	CHECK(!packed_change_begin(&change, &own_context, "packed", text) && !change.is && !change.settled.n4,
	      "a whole list is a change");
	packed_change_end(&change);
	close(text);
	text = packed_of(&after, &before);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		int err = packed_change_begin(&change, &own_context, known[i].name, text);

		CHECK(change.is, "%s: no change", known[i].name);
		if (CHECK(!err == !known[i].says, "%s: %s", known[i].name, err ? reason(err) : "done") && !err) {
			is_same(&change.read, known[i].read, known[i].name);
			is_same(&change.settled, SETTLED, known[i].name);
		} else if (err) {
			CHECK(!strncmp(reason(err), known[i].says, strlen(known[i].says)), "%s: %s", known[i].name,
			      reason(err));
		}
		packed_change_end(&change);
		CHECK(!change.read.n4 && !change.settled.n4, "%s: something is left", known[i].name);
	}
	fails = "text";
	CHECK(err_is(packed_change_begin(&change, &own_context, "packed", text), EIO), "its text cannot be had");
	packed_change_end(&change);
	fails = NULL;
	close(text);
	ranges_free(&before);
	ranges_free(&after);
}

static void still(void)
{
	struct packed_change change = { .is = true, .settled = set_of(SETTLED) };
	struct ranges same = set_of(SETTLED), other = set_of("45.1.0.0/17");
	int err;

	CHECK(!packed_change_still(&change, "a", &same), "it is the same");
	err = packed_change_still(&change, "a", &other);
	CHECK(err_is(err, EBUSY) && !strcmp(reason(err), "'a' was changed meanwhile: once more"), "it is another: %s",
	      reason(err));
	change.is = false;
	CHECK(!packed_change_still(&change, "a", &other), "no change");
	packed_change_end(&change);
	ranges_free(&same);
	ranges_free(&other);
}

static void texts(void)
{
	static const struct {
		const char *fails, *says;
	} known[] = {
		{ "memfd", "the list that the change makes: Too many open files" },
		{ "write", "the list that the change makes: No space left on device" },
		{ "lseek", "the list that the change makes: Too many open files" },
	};
	struct ranges set = set_of(READ), read = RANGES_EMPTY;
	struct reader_report report;
	char path[64], error[READER_TEXT_MAX];
	int fd = packed_change_text(&set);

	if (!CHECK(fd >= 0, "%s", log_last()))
		return;
	CHECK(!lseek(fd, 0, SEEK_CUR), "it does not stand at its beginning");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(!reader_read(path, &(struct reader_options){ .format = "packed" }, &read, &report, error), "%s", error);
	is_same(&read, READ, "made");
	ranges_free(&read);
	close(fd);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		closed = -2;
		fails = known[i].fails;
		fd = packed_change_text(&set);
		fails = NULL;
		CHECK(fd < 0 && !strcmp(reason(fd), known[i].says), "%s: %s", known[i].fails, reason(fd));
		CHECK(i ? closed >= 0 : closed == -1, "%s: %d closed", known[i].fails, closed);
	}
	ranges_free(&set);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "the sum of a list that was packed", sums },
		{ "the list that a change is of", begins },
		{ "is it still that", still },
		{ "the whole list", texts },
	};

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
