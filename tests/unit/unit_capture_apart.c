// SPDX-License-Identifier: GPL-2.0-only
/* What the process that reads captures answers: told whole, however large; forged in any field, it is not believed. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "observe/capture_read.h"

/* What is read in there is made up here. */
static int made_up(const struct capture_calls *calls, struct capture_end *end);
#define capture_read made_up
#include "observe/capture_apart.c"
#undef capture_read

#include "ktap.h"

#define LINK_ETHERNET 1

static uint8_t bytes[CAPTURED_MAX];

static struct {
	/* Packets of these sizes, and then the end; or this alone, as it is. */
	uint32_t size[600];
	size_t n;
	struct capture_end end;
	int err;
	const void *raw;
	size_t raw_n;
	bool dies;
} answer;

static int made_up(const struct capture_calls *calls, struct capture_end *end)
{
	struct teller *t = calls->arg;
	int err = 0;

	if (answer.raw) {
		confined_tell(t->answer, answer.raw, answer.raw_n);
		answer.dies ? abort() : _exit(0);
	}
	if (answer.dies)
		abort();
	for (size_t i = 0; i < answer.n && !err; i++)
		err = calls->packet(calls->arg, &(struct captured){ .time = 1000 + i,
								    .timed = i & 1,
								    .link = LINK_ETHERNET,
								    .interface = (uint32_t)i,
								    .outgoing = i & 2,
								    .length = answer.size[i] + (uint32_t)i,
								    .size = answer.size[i],
								    .bytes = bytes });
	*end = answer.end;
	return err ?: answer.err;
}

static struct {
	size_t n, stop_at;
	bool whole, wrong;
} heard;

static int packet(void *arg, const struct captured *p)
{
	size_t i = heard.n++;
	uint32_t told = heard.whole || p->size < LOOKED_AT ? p->size : LOOKED_AT;

	(void)arg;
	heard.wrong |= p->size != answer.size[i] || p->length != p->size + i || p->time != 1000 + i ||
		       p->interface != i || p->timed != (i & 1) || p->outgoing != !!(i & 2) ||
		       p->link != LINK_ETHERNET || memcmp(p->bytes, bytes, told) != 0;
	return heard.n == heard.stop_at ? -ECANCELED : 0;
}

static int hears(bool whole, struct capture_end *end)
{
	heard = (typeof(heard)){ .whole = whole, .stop_at = heard.stop_at };
	return capture_read_apart(-1, whole, packet, NULL, end);
}

static void make_bytes(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(ktap_random() >> 13);
	memset(&answer, 0, sizeof(answer));
	memset(&heard, 0, sizeof(heard));
}

/* Around every size at which something is done in another way; and many, which fill what they are told through. */
static void told_whole(void)
{
	static const uint32_t edges[] = { 0,
					  1,
					  7,
					  8,
					  9,
					  LOOKED_AT - 1,
					  LOOKED_AT,
					  LOOKED_AT + 1,
					  OUT_BYTES - sizeof(struct record) - 8,
					  OUT_BYTES - sizeof(struct record),
					  OUT_BYTES - 1,
					  OUT_BYTES };
	struct capture_end end;

	make_bytes();
	for (int whole = 0; whole < 2; whole++) {
		answer.n = 0;
		for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
			for (size_t before = 0; before < 3; before++) {
				answer.size[answer.n++] = edges[i];
				answer.size[answer.n++] = (uint32_t)before * 1000;
			}
		while (answer.n < 600)
			answer.size[answer.n++] = (uint32_t)(ktap_random() % 3000);
		answer.end = (struct capture_end){ .packets = answer.n, .cut = whole };
		CHECK(!hears(whole, &end) && heard.n == answer.n && !heard.wrong, "%zu of %zu%s", heard.n, answer.n,
		      heard.wrong ? ", others" : "");
		CHECK(end.packets == answer.n && end.cut == whole && !end.error[0], "another end");
		for (heard.stop_at = 1; heard.stop_at <= answer.n; heard.stop_at += 299)
			CHECK(err_is(hears(whole, &end), ECANCELED) && heard.n == heard.stop_at, "%zu, then %zu",
			      heard.stop_at, heard.n);
		heard.stop_at = 0;
	}
}

/* What it says is wrong with the capture, is said; with nothing in it that a terminal would obey. */
static void what_is_wrong(void)
{
	struct capture_end end;

	make_bytes();
	answer.err = -ENOMEM;
	CHECK(err_is(hears(false, &end), ENOMEM), "it is well");
	answer.err = -EPROTO;
	strcpy(answer.end.error, "no \033[31mcapture");
	CHECK(err_is(hears(false, &end), EINVAL) && strstr(end.error, "capture") && !strchr(end.error, '\033'), "'%s'",
	      end.error);
	memset(answer.end.error, 'x', sizeof(answer.end.error));
	CHECK(err_is(hears(false, &end), EINVAL) && strlen(end.error) == CAPTURE_TEXT_MAX - 1, "'%s'", end.error);
}

/* --- Forged ---------------------------------------------------------------------------------------------------------
 */

static struct {
	_Alignas(8) uint8_t bytes[4096];
	size_t n;
} forged;

static void add(const void *from, size_t n)
{
	memcpy(forged.bytes + forged.n, from, n);
	forged.n += n;
}

static const struct record a_packet = {
	.kind = KIND_PACKET, .sent = 60, .length = 60, .size = 60, .link = LINK_ETHERNET
};
static const struct record an_end = { .kind = KIND_END, .sent = sizeof(struct ending) };

static int takes(void *arg, const struct captured *p)
{
	(void)arg;
	(void)p;
	return 0;
}

/* A packet and an end, as they are; and what is made of them. */
static int says(const struct record *packet, const struct record *last, const struct ending *ending, bool whole)
{
	struct capture_end end;

	forged.n = 0;
	add(packet, sizeof(*packet));
	add(bytes, PADDED(packet->sent < 2048 ? packet->sent : 2048));
	add(last, sizeof(*last));
	add(ending, sizeof(*ending));
	answer.raw = forged.bytes;
	answer.raw_n = forged.n;
	return capture_read_apart(-1, whole, takes, NULL, &end);
}

static bool is_nonsense(int err)
{
	return err_is(err, EIO) && strstr(reason(err), "makes no sense");
}

#define REFUSED(whole, ...)                                                                   \
	do {                                                                                  \
		struct record packet = a_packet, last = an_end;                               \
		struct ending ending = { .packets = 1 };                                      \
		int is;                                                                       \
                                                                                              \
		__VA_ARGS__;                                                                  \
		is = says(&packet, &last, &ending, whole);                                    \
		CHECK(is_nonsense(is), "%s: %s", #__VA_ARGS__, is ? reason(is) : "believed"); \
	} while (0)

#define BELIEVED(whole, err, ...)                                                                             \
	do {                                                                                                  \
		struct record packet = a_packet, last = an_end;                                               \
		struct ending ending = { .packets = 1 };                                                      \
		int is;                                                                                       \
                                                                                                              \
		__VA_ARGS__;                                                                                  \
		is = says(&packet, &last, &ending, whole);                                                    \
		CHECK((err) ? err_is(is, err) && !is_nonsense(is) : !is, "%s: %s", #__VA_ARGS__, reason(is)); \
	} while (0)

static void is_checked(void)
{
	make_bytes();
	BELIEVED(false, 0, );
	BELIEVED(true, 0, );
	BELIEVED(false, 0, packet.length = UINT32_MAX);
	BELIEVED(false, 0, packet.size = packet.length = CAPTURED_MAX; packet.sent = LOOKED_AT);
	BELIEVED(false, 0, packet.size = packet.length = packet.sent = LOOKED_AT);
	BELIEVED(true, 0, packet.size = packet.length = packet.sent = LOOKED_AT + 1);
	BELIEVED(false, 0, packet.size = packet.length = packet.sent = 0);
	BELIEVED(false, ENOMEM, ending.err = -ENOMEM);
	BELIEVED(false, (1 << ERRNO_BITS) - 1, ending.err = -((1 << ERRNO_BITS) - 1));

	REFUSED(false, packet.kind = 0);
	REFUSED(false, packet.kind = KIND_END + 1);
	REFUSED(false, packet.size = packet.length + 1);
	REFUSED(false, packet.size = packet.length = 59);
	REFUSED(false, packet.size = packet.length = 61);
	REFUSED(true, packet.size = packet.length = 61);
	REFUSED(true, packet.size = packet.length = LOOKED_AT + 1; packet.sent = LOOKED_AT);
	REFUSED(false, packet.size = packet.length = packet.sent = LOOKED_AT + 1);
	REFUSED(false, packet.size = packet.length = CAPTURED_MAX + 1; packet.sent = LOOKED_AT);
	REFUSED(true, packet.size = packet.length = packet.sent = CAPTURED_MAX + 1);
	REFUSED(true, packet.sent = UINT32_MAX);
	REFUSED(false, packet.link = 9999);
	REFUSED(false, last.sent = sizeof(struct ending) - 8);
	REFUSED(false, last.sent = 0);
	REFUSED(false, ending.packets = 0);
	REFUSED(false, ending.packets = 2);
	REFUSED(false, ending.err = 1);
	REFUSED(false, ending.err = -(1 << ERRNO_BITS));
	REFUSED(false, ending.err = INT32_MIN + 1);
}

/* Wherever it is cut off: that is said. */
static void cut_off(void)
{
	struct ending ending = { .packets = 1 };
	struct capture_end end;
	size_t whole;

	make_bytes();
	says(&a_packet, &an_end, &ending, false);
	whole = forged.n;
	answer.dies = true;
	for (size_t n = 0; n <= whole; n += n + 9 < whole ? 9 : 1) {
		int err;

		answer.raw = forged.bytes;
		answer.raw_n = n;
		err = capture_read_apart(-1, false, takes, NULL, &end);
		CHECK(n == whole ? !err
				 : err_is(err, EIO) && strstr(reason(err), "did not come to an end: it was killed by"),
		      "%zu of %zu: %s", n, whole, reason(err));
	}
}

static const struct ktap_case cases[] = {
	{ "told whole", told_whole },
	{ "what is wrong with it", what_is_wrong },
	{ "checked", is_checked },
	{ "cut off", cut_off },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
