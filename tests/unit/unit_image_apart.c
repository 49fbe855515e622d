// SPDX-License-Identifier: GPL-2.0-only
/* The process that looks through an image may say anything of it: only that it is sound, or why not, is believed. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/mapped.h"
#include "base/memory.h"

/* What it says is made up here. */
static bool tells(int answer, const void *bytes, size_t n);
static bool is_cut;
static bool cut_or_given(const void *memory)
{
	return is_cut || mapped_is_cut(memory);
}
static int start_err;
static int starts(struct confined *process, int input, size_t memory, confined_work *work, void *arg);
#define confined_tell  tells
#define confined_start starts
#define mapped_is_cut  cut_or_given
#include "image/image.c"
#undef confined_tell
#undef confined_start

#include "filter/settings.h"
#include "image/make.h"
#include "ktap.h"
#include "naive.h"
#include "sets/owned.h"

static char path[] = "/tmp/xdp-bloom-image-apart.XXXXXX";

static struct {
	bool forged, dies;
	size_t bytes;
	struct finding finding;
} answer;

static bool tells(int to, const void *bytes, size_t n)
{
	if (answer.dies)
		_exit(7);
	return answer.forged ? confined_tell(to, &answer.finding, answer.bytes) : confined_tell(to, bytes, n);
}

/* It has all in memory: no descriptor is left open for it, and its memory is what any has. */
static int starts(struct confined *process, int input, size_t memory, confined_work *work, void *arg)
{
	CHECK(input == -1 && !memory, "it is given descriptor %d, and %zu bytes", input, memory);
	return start_err ?: confined_start(process, input, memory, work, arg);
}

static int opens(void)
{
	static const struct image none;
	struct image image;
	int err;

	memset(&image, 0xff, sizeof(image));
	err = image_open(&image, path, "it", true);
	if (!err)
		image_close(&image);
	CHECK(!memcmp(&image, &none, sizeof(image)), "something is left of it");
	return err;
}

static void make(void)
{
	struct list_info list = {
		.name = "one", .kind = LIST_BAN, .label = 1, .addresses = "1", .loaded = "2026-01-01T00:00:00Z"
	};
	struct settings settings = SETTINGS_DEFAULT;
	struct ranges set = RANGES_EMPTY;
	struct owned owned = { 0 };
	int fd = mkstemp(path);

	ENOUGH(fd >= 0 && !close(fd) && !unlink(path));
	ENOUGH(!ranges_add_host(&set, 7) && !ranges_finish(&set) && !owned_take(&owned, &set, 1));
	CHECK(!image_make(path, &owned, &list, 1, &settings, NULL), "no image");
	owned_free(&owned);
	ranges_free(&set);
}

static void says(void)
{
	static const struct {
		int32_t found;
		size_t bytes;
		const char *text;
		int is;
		const char *reason;
	} cases[] = {
		{ 0, sizeof(struct finding), "", 0, "" },
		{ -EUCLEAN, sizeof(struct finding), "it is damaged: x", EUCLEAN, "it is damaged: x" },
		{ -EPROTO, sizeof(struct finding), "of \033[31manother", EPROTO, "another" },
		{ 1, sizeof(struct finding), "x", EPROTO, "gave no proper answer" },
		{ INT32_MAX, sizeof(struct finding), "x", EPROTO, "gave no proper answer" },
		{ -(1 << ERRNO_BITS), sizeof(struct finding), "x", EPROTO, "gave no proper answer" },
		{ -(1 << ERRNO_BITS) + 1, sizeof(struct finding), "it is", (1 << ERRNO_BITS) - 1, "it is" },
		{ 0, sizeof(struct finding) - 1, "", EIO, "did not come to an end: it ended with 0" },
		{ 0, 0, "", EIO, "did not come to an end: it ended with 0" },
	};
	int err;

	make();
	CHECK(!opens(), "it is refused");
	is_cut = true;
	err = opens();
	CHECK(err_is(err, EUCLEAN) && !strcmp(reason(err), "it was cut while it was read"), "%s", reason(err));
	is_cut = false;
	start_err = -EAGAIN;
	err = opens();
	CHECK(err_is(err, EAGAIN) && !strcmp(reason(err), "it: Resource temporarily unavailable"), "%s", reason(err));
	start_err = 0;
	answer.forged = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		answer.finding = (struct finding){ .err = cases[i].found };
		strcpy(answer.finding.text, cases[i].text);
		answer.bytes = cases[i].bytes;
		err = opens();
		CHECK(cases[i].is ? err_is(err, cases[i].is) && strstr(reason(err), cases[i].reason) &&
					    !strchr(reason(err), '\033')
				  : !err,
		      "case %zu: %s", i, err ? reason(err) : "it is believed");
	}
	answer.finding.err = -EUCLEAN;
	answer.bytes = sizeof(struct finding);
	memset(answer.finding.text, 'x', sizeof(answer.finding.text));
	err = opens();
	CHECK(err_is(err, EUCLEAN) && strlen(reason(err)) < sizeof(answer.finding.text), "%zu bytes are said",
	      strlen(reason(err)));
	answer.dies = true;
	err = opens();
	CHECK(err_is(err, EIO) && strstr(reason(err), "it ended with 7"), "%s", reason(err));
	unlink(path);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "what it says", says } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
