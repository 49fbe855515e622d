// SPDX-License-Identifier: GPL-2.0-only
/* What a server answers, in pieces of any size: every element comes once and in its place, and none is longer than it
 * may be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "ktap.h"

static bool no_memory, no_reader;
static unsigned int freed;

#define calloc(n, size)			     (no_memory ? NULL : calloc(n, size))
#define redisReaderCreateWithFunctions(them) (no_reader ? NULL : redisReaderCreateWithFunctions(them))
#define redisReaderFree(reader)		     (freed++, redisReaderFree(reader))
#include "fleet/reply.c"
#undef calloc

/* What came, as text. */
static struct {
	char text[65536];
	size_t n, replies, longest;
} came;

static void take(void *arg, const struct reply_value *v)
{
	static const char kinds[] = "$+-:_*";

	(void)arg;
	if (v->kind < REPLY_INTEGER && (strlen(v->text) > v->length || v->text[v->length]))
		abort();
	if (v->length > came.longest)
		came.longest = v->length;
	came.n += (size_t)snprintf(came.text + came.n, sizeof(came.text) - came.n, "%c", kinds[v->kind]);
	for (int i = 0; i < v->depth; i++)
		came.n += (size_t)snprintf(came.text + came.n, sizeof(came.text) - came.n, "%s%d", i ? "." : "",
					   v->at[i]);
	if (v->kind == REPLY_INTEGER || v->kind == REPLY_ARRAY)
		came.n +=
			(size_t)snprintf(came.text + came.n, sizeof(came.text) - came.n, "=%lld", (long long)v->number);
	else if (v->kind != REPLY_NIL)
		came.n += (size_t)snprintf(came.text + came.n, sizeof(came.text) - came.n, "'%.20s'", v->text);
	came.n += (size_t)snprintf(came.text + came.n, sizeof(came.text) - came.n, " ");
	if (came.n > sizeof(came.text) - 100)
		came.n = 0;
}

static void end(void *arg)
{
	(void)arg;
	came.replies++;
}

static int feed(const char *bytes, size_t n, size_t piece)
{
	struct replies *r = replies_new(take, end, NULL);
	int err = 0;

	memset(&came, 0, sizeof(came));
	for (size_t at = 0; at < n && !err; at += piece)
		err = replies_feed(r, bytes + at, n - at < piece ? n - at : piece);
	replies_free(r);
	return err;
}

static const char stream[] =
	"+OK\r\n"
	"-WRONGTYPE no\r\n"
	":-7\r\n"
	"$-1\r\n"
	"*-1\r\n"
	"*0\r\n"
	"$0\r\n\r\n"
	"*2\r\n*2\r\n$5\r\na:log\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\ne\r\n$2\r\n\r\n\r\n$1\r\nn\r\n$1\r\n7\r\n*2\r\n$1\r\nb\r\n*0\r\n";
static const char expected[] =
	"+'OK' -'WRONGTYPE no' :=-7 _ _ *=0 $'' *=2 *0=2 $0.0'a:log' *0.1=1 *0.1.0=2 $0.1.0.0'1-0' "
	"*0.1.0.1=4 $0.1.0.1.0'e' $0.1.0.1.1'\r\n' $0.1.0.1.2'n' $0.1.0.1.3'7' *1=2 $1.0'b' *1.1=0 ";

static void in_pieces(void)
{
	for (size_t piece = 1; piece < sizeof(stream); piece++) {
		int err = feed(stream, sizeof(stream) - 1, piece);

		if (!CHECK(!err && came.replies == 8 && !strcmp(came.text, expected),
			   "pieces of %zu: %d, %zu replies: %s", piece, err, came.replies, came.text))
			return;
	}
}

static void too_long(void)
{
	static const char head[] = "*3\r\n$1\r\na\r\n", last[] = "$1\r\nb\r\n";
	static const size_t lengths[] = { REPLY_TEXT_MOST - 1, REPLY_TEXT_MOST, REPLY_TEXT_MOST + 1, 1 << 20,
					  100 << 20 };
	static char zeros[1 << 16];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct replies *r = replies_new(take, end, NULL);
		char text[64];

		memset(&came, 0, sizeof(came));
		replies_feed(r, head, sizeof(head) - 1);
		replies_feed(r, text, (size_t)snprintf(text, sizeof(text), "$%zu\r\n", lengths[i]));
		for (size_t left = lengths[i]; left;) {
			size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

			replies_feed(r, zeros, n);
			left -= n;
		}
		replies_feed(r, "\r\n", 2);
		CHECK(!replies_feed(r, last, sizeof(last) - 1) && came.replies == 1 && came.longest <= REPLY_TEXT_MOST,
		      "%zu: %zu replies, %zu", lengths[i], came.replies, came.longest);
		CHECK(!strcmp(came.text,
			      lengths[i] > REPLY_TEXT_MOST ? "*=3 $0'a' _1 $2'b' " : "*=3 $0'a' $1'' $2'b' "),
		      "%s", came.text);
		replies_free(r);
	}
}

static void no_protocol(void)
{
	static const char *const bad[] = {
		"HTTP/1.1 400 Bad Request\r\n",
		"\r\n",
		"$\n",
		"$-2\r\n",
		"$99999999999\r\n",
		"$x\r\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
		"%1\r\n",
		"*x\r\n",
		":1"
	};
	static char endless[2000];

	/* The last of them is none yet. */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad) - 1; i++)
		CHECK(feed(bad[i], strlen(bad[i]), 3), "'%s' is taken", bad[i]);
	memset(endless, '+', sizeof(endless));
	CHECK(feed(endless, sizeof(endless), 100), "a line without an end");
}

/* The longest first line, and one byte more; and what is announced at its bounds. */
static void heads(void)
{
	static const struct {
		const char *text;
		bool taken;
	} bounds[] = {
		{ "$4294967296\r\n", true },
		{ "$4294967297\r\n", false },
		{ "$0\r\n", true },
		{ "+\r\n", true },
		{ "+\n", false },
		{ "$-1\n\r\n", false },
		{ "_\r\n", false },
	};
	static char line[600];

	for (size_t n = 509; n <= 514; n++) {
		memset(line, 'x', sizeof(line));
		line[0] = '+';
		memcpy(line + n - 2, "\r\n", 2);
		for (size_t piece = 1; piece <= n; piece += 100)
			CHECK(!feed(line, n, piece) == (n < 512) && (n >= 512 || came.longest == n - 3),
			      "a line of %zu bytes: %zu", n, came.longest);
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
		CHECK(!feed(bounds[i].text, strlen(bounds[i].text), 100) == bounds[i].taken, "'%s' is %s",
		      bounds[i].text, bounds[i].taken ? "refused" : "taken");
	/* Nothing is taken behind what is none. */
	CHECK(feed("%1\r\n+OK\r\n", 10, 1) && !came.replies, "%zu replies behind rubbish", came.replies);
	/* A text that is longer than anything here, between two that are not. */
	CHECK(!feed("*2\r\n$5\r\nabcde\r\n$-1\r\n", 20, 1) && came.replies == 1 &&
		      !strcmp(came.text, "*=2 $0'abcde' _1 "),
	      "%s", came.text);
}

/* As deep as it may be, and deeper; hiredis before 1.0 has a limit of its own. */
static void deep(void)
{
	char text[4 * (REPLY_DEPTH + 3)] = "";
	struct replies *r;

	for (int depth = 0; depth < 7; depth++) {
		strcat(text, "*1\r\n");
		r = replies_new(take, end, NULL);
		memset(&came, 0, sizeof(came));
		CHECK(!replies_feed(r, text, strlen(text)) && !replies_feed(r, ":1\r\n", 4) && came.replies == 1,
		      "depth %d: %s", depth, came.text);
		replies_free(r);
	}
}

/* Whatever the library hands over, nothing is deeper or longer than it may be. */
static void beyond(void)
{
	static char text[REPLY_TEXT_MOST + 2];
	struct replies *r = replies_new(take, end, NULL);
	redisReadTask tasks[REPLY_DEPTH + 2] = { 0 };

	if (!CHECK(r, "no memory"))
		return;
	memset(text, 'x', sizeof(text));
	for (int depth = 0; depth < REPLY_DEPTH + 2; depth++) {
		tasks[depth].privdata = r;
		tasks[depth].idx = depth;
		tasks[depth].type = REDIS_REPLY_STRING;
		tasks[depth].parent = depth ? (void *)&tasks[depth - 1] : NULL;
		memset(&came, 0, sizeof(came));
		on_integer(&tasks[depth], 5);
		CHECK((came.n > 0) == (depth <= REPLY_DEPTH) && r->failed == (depth > REPLY_DEPTH), "depth %d: %s",
		      depth, came.text);
	}
	CHECK(replies_feed(r, "+OK\r\n", 5) && !came.replies, "it goes on");
	for (size_t n = REPLY_TEXT_MOST - 1; n <= sizeof(text); n++) {
		memset(&came, 0, sizeof(came));
		on_text(&tasks[0], text, n);
		CHECK(came.longest == (n < REPLY_TEXT_MOST ? n : REPLY_TEXT_MOST), "%zu bytes: %zu", n, came.longest);
	}
	freed = 0;
	replies_free(r);
	replies_free(NULL);
	CHECK(freed == 1, "%u readers are given back", freed);
}

static void without_memory(void)
{
	no_memory = true;
	CHECK(!replies_new(take, end, NULL), "it begins");
	no_memory = false;
	no_reader = true;
	CHECK(!replies_new(take, end, NULL), "it begins without a reader");
	no_reader = false;
}

static void made(void)
{
	const char *const words[] = { "SET", "a b", "" };
	static const char wanted[] = "*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$0\r\n\r\n";
	struct outgoing out = { 0 };

	CHECK(command_add(&out, 3, words, NULL) && outgoing_waits(&out) == sizeof(wanted) - 1 &&
		      !memcmp(out.bytes, wanted, sizeof(wanted) - 1),
	      "another command");
	outgoing_free(&out);
}

static const struct ktap_case cases[] = {
	{ "in_pieces", in_pieces },
	{ "too_long", too_long },
	{ "no_protocol", no_protocol },
	{ "heads", heads },
	{ "deep", deep },
	{ "made", made },
	{ "beyond what may be", beyond },
	{ "without memory", without_memory },
};

int main(void)
{
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
