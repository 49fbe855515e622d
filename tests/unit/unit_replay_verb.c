// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay: what it says of captures against lists, an image and the filter in force, in words and as JSON, what it
 * writes, and what it says where it cannot. Lists and captures are real; the kernel, images and the state are made up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "captures.h"
#include "change/change.h"
#include "filter/build.h"
#include "filter/plan_sizes.h"
#include "filter/settings.h"
#include "image/contents.h"
#include "image/image.h"
#include "kernel/ask.h"
#include "kernel/generation.h"
#include "kernel/root.h"
#include "observe/capture_apart.h"
#include "observe/pcapng.h"
#include "observe/senders.h"
#include "observe/tallies.h"
#include "state/bans.h"
#include "state/settings.h"
#include "typed.h"
#include "verbs/list_files.h"
#include "verbs/packets_out.h"
#include "verbs/replay.h"

static const struct shown known[] = {
#include "unit_replay_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_replay_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define THEN 1700000000

static char directory[200];
static int calls, fails_at;
static bool terminal, hides, counts, scoped, live_is_exact, embedded, no_memory, full;
static int allocations_fail;
static __u64 image_holds = 2;
static __u64 generations[2], edits[2]; /* the first time and the second */
static bool images[2];
static int explained, opened_n;

static int call(const char *what)
{
	if (++calls != fails_at)
		return 0;
	printf("  %s: fails\n", what);
	return because(-EIO, "a call failed");
}

/* Descriptors and structs that the code under test is to give back. */
static int opens(const char *what)
{
	int err = call(what);

	opened_n += !err;
	return err;
}

static int given_state(struct state **state, const struct context *context, bool change)
{
	int err = opens(change ? "the state, to change it" : "the state");

	(void)context;
	*state = err ? NULL : (struct state *)&calls;
	return err;
}

static struct settings given_settings(struct state *state)
{
	struct settings settings = SETTINGS_DEFAULT;

	if (state == (struct state *)&calls)
		settings.embedded = settings.inner = embedded;
	return settings;
}

static bool given_exact(const struct context *context, const struct state *state)
{
	return live_is_exact && context->state == typed_context.state && state == (struct state *)&calls;
}

static int given_ready(const struct context *context)
{
	(void)context;
	return call("the kernel");
}

static int given_live(const struct context *context, struct candidate *live);
static void given_release(struct candidate *live);
static int given_image(struct image *image, const char *path, const char *name, bool whole);
static void given_image_close(struct image *image);
static int given_image_lists(const struct image *image, struct list_info **lists, size_t *n);
static int given_explain(const struct context *context, struct explanation *e, const struct addr *addrs, size_t n);

static ssize_t read_fd(void *arg, void *buf, size_t size)
{
	return read(*(int *)arg, buf, size);
}

static int (*packet_to)(void *arg, const struct captured *packet);
static void *packet_arg;

static int packet_on(void *arg, const struct captured *packet)
{
	(void)arg;
	return packet_to(packet_arg, packet);
}

static int given_read(int fd, bool whole, int (*packet)(void *arg, const struct captured *packet), void *arg,
		      struct capture_end *end)
{
	struct capture_calls reads = { read_fd, packet_on, &fd };
	int err = call("the capture");

	printf("  reads packets %s\n", whole ? "whole" : "as far as frames go");
	packet_to = packet;
	packet_arg = arg;
	err = err ?: capture_read(&reads, end);
	return err_is(err, EPROTO) ? because(err, "%s", end->error) : err;
}

static int given_packet(struct replay *r, const struct captured *p, __u32 *answer, bool *judged)
{
	if (!hides)
		return replay_packet(r, p, answer, judged) ?: call("a packet");
	*answer = ANSWER_HIDDEN;
	*judged = true;
	r->hidden.packets++;
	r->dropped.packets++;
	return 0;
}

static int given_write(const struct pcapng *file, const char *interface, uint16_t link, uint64_t time,
		       const void *bytes, size_t captured, size_t length, const char *comment)
{
	printf("  writes%s of %s, link %u, %llu ns, byte %02x, %zu of %zu: %s\n", file ? "" : " nowhere", interface,
	       link, (unsigned long long)time, ((const uint8_t *)bytes)[29], captured, length, comment ?: "-");
	return call("to write") ? -ENOSPC : 0;
}

static void given_progress(const struct context *context, const char *what, double part)
{
	(void)context;
	printf("  %s: %.2f\n", what, part);
}

static void *given_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

static void *given_reallocarray(void *old, size_t n, size_t size)
{
	return allocations_fail ? NULL : reallocarray(old, n, size);
}

static int given_entries(const struct explanation *e, const struct replay_source *const *who, const struct addr *addrs,
			 size_t n, struct replay_entry **entries, size_t *entries_n)
{
	return call("the entries") ?: replay_entries(e, who, addrs, n, entries, entries_n);
}

static int given_top(const struct replay_table *table, enum fate fate, size_t most, const struct replay_source ***top,
		     size_t *n)
{
	return call("the sources") ?: replay_table_top(table, fate, most, top, n);
}

#define build_until_placed(...) (opened_n++, build_until_placed(__VA_ARGS__))
#define arrays_release(g)	(opened_n--, arrays_release(g))
#define state_open		given_state
#define state_close(state)	(opened_n -= (state) == (struct state *)&calls)
#define settings_read		given_settings
#define live_label_is_exact	given_exact
#define kernel_ready		given_ready
#define kernel_open_live	given_live
#define kernel_release		given_release
#define image_open		given_image
#define image_close		given_image_close
#define image_lists		given_image_lists
#define explain(...)		given_explain(__VA_ARGS__)
#define capture_read_apart	given_read
#define replay_packet		given_packet
#define pcapng_packet		given_write
#define progress		given_progress
#define isatty(fd)		((fd) == STDIN_FILENO && terminal)
#define calloc(n, size)		given_calloc(n, size)
#define reallocarray		given_reallocarray
#define replay_entries		given_entries
#define replay_table_top	given_top
#define senders_new()		(no_memory ? NULL : senders_new())
#include "verbs/replay.c"
#undef calloc
#undef reallocarray
#undef image_close
#undef explain
#undef state_open

/* What is in force, and in an image: these lists. */
static char *held[] = { (char[]){ "a" }, (char[]){ "b" } };
static struct filter made;

static int make(const struct context *context)
{
	static const struct options none;
	int before = fails_at, err;

	fails_at = 0;
	err = build(&made, context, &none, held, 2);
	calls -= 1; /* its look at the state */
	fails_at = before;
	if (counts) {
		made.g.shadow[0] |= 1 << 2;
		made.g.shadows = 1;
	}
	made.g.scoped = scoped;
	return err;
}

static int given_live(const struct context *context, struct candidate *live)
{
	int err = opens("what is in force");

	if (err)
		return because(fails_at == 2 ? -ENOENT : -EIO, "a call failed");
	err = make(context);
	live->g = made.g;
	return err;
}

static void give_back(const struct generation *g, const char *what)
{
	if (memcmp(g, &made.g, sizeof(*g)) != 0)
		printf("  gives back another %s\n", what);
	arrays_release(&made.g);
	list_files_free(&made.files);
	opened_n--;
}

static void given_release(struct candidate *live)
{
	give_back(&live->g, "generation");
}

static int given_image(struct image *image, const char *path, const char *name, bool whole)
{
	static struct image_header header;
	int err = opens("the image");

	if (strcmp(path, "image") != 0 || strcmp(name, "image") != 0 || !whole)
		puts("  of another image");
	if (err)
		return err;
	header.lists = image_holds;
	image->header = &header;
	err = make(&typed_context);
	image->g = made.g;
	return err;
}

static void given_image_close(struct image *image)
{
	if (image->header)
		give_back(&image->g, "image");
}

static int given_image_lists(const struct image *image, struct list_info **lists, size_t *n)
{
	int err = call("the image's lists");

	if (err || !image->header->lists)
		return err;
	*lists = calloc(2, sizeof(**lists));
	memcpy(*lists, made.files.lists, 2 * sizeof(**lists));
	*n = 2;
	return 0;
}

static int given_explain(const struct context *context, struct explanation *e, const struct addr *addrs, size_t n)
{
	static const struct reader_options reading;
	struct list_files files = { 0 };
	int err = call("to explain");

	*e = (struct explanation){ 0 };
	if (err)
		return err;
	if (list_files_read(&files, context, &reading, held, 2))
		abort();
	e->lists = files.lists;
	e->sets = files.sets;
	e->n = files.n;
	if (n)
		err = explain_files(context, e, files.paths, addrs, n);
	if (counts)
		e->lists[1].kind = LIST_SHADOW;
	e->generation = generations[explained];
	e->edits = edits[explained];
	e->image = images[explained];
	explained = 1;
	files.lists = NULL;
	files.sets = NULL;
	list_files_free(&files);
	return err;
}

static void put(const char *name, const void *bytes, size_t n)
{
	FILE *file = fopen(name, "w");

	if (!file || fwrite(bytes, 1, n, file) != n || fclose(file))
		abort();
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

static uint8_t room[1 << 20];
static struct capture_file capture;

/* So many packets from 45.0.0.x, of 60 bytes, of which so many were captured. */
static void sends(uint8_t from, int packets, uint32_t second, uint32_t captured)
{
	uint8_t frame[60] = { [12] = 0x08, [14] = 0x45, [17] = 46, [26] = 45, [29] = from };

	if (!from) /* no IP */
		frame[13] = 6;
	frame[23] = 17;
	while (packets--)
		pcap_packet(&capture, second, 5, frame, captured, 60);
}

/* One by IPv6, from an address with 45.0.0.1 in it. */
static void sends_within(uint32_t second)
{
	uint8_t frame[60] = {
		[12] = 0x86, [13] = 0xdd, [14] = 0x60, [19] = 6, [20] = 59, [22] = 0x20, [23] = 2, [24] = 45, [27] = 1
	};

	pcap_packet(&capture, second, 5, frame, sizeof(frame), sizeof(frame));
}

static void begin(void)
{
	put_text("a", "45.0.0.1\n45.0.0.2\n45.0.0.8/30 # some\n");
	put_text("b", "45.0.0.2\n45.0.0.16/29\n45.0.0.100-45.0.0.102\n");
	put_text("bad", "x\n45.0.0.1\n");
	capture = (struct capture_file){ .bytes = room };
	pcap_begin(&capture, false, 1);
	sends(1, 1, THEN, 60);
	sends(200, 1, THEN, 60);
	put("few", capture.bytes, capture.n);
	capture.n = 24;
	sends(1, 3, THEN, 60);
	sends(16, 5, THEN + 1, 60);
	sends(9, 1, THEN + 1, 60);
	sends(200, 4, THEN + 1, 60);
	sends(201, 2, THEN, 60);
	put("packets", capture.bytes, capture.n);
	unlink("new");
	unlink("other");
	fails_at = allocations_fail = 0;
	terminal = hides = counts = scoped = live_is_exact = embedded = no_memory = full = false;
	image_holds = 2;
	memset(generations, 0, sizeof(generations));
	memset(edits, 0, sizeof(edits));
	memset(images, 0, sizeof(images));
}

static int end(void)
{
	if (opened_n)
		printf("  not given back: %d\n", opened_n);
	return calls < fails_at;
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = opened_n = explained = 0;
	return !typed_apart(line, end);
}

static void in_both(const char *line)
{
	char json[300];

	snprintf(json, sizeof(json), "%s --json", line);
	types(line);
	types(json);
}

static void has(const char *name)
{
	printf("  %s %s\n", access(name, F_OK) ? "no" : "there is", name);
}

static void longest(void)
{
	char name[LIST_NAME_MAX], line[LIST_NAME_MAX + 32];
	FILE *file;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	file = fopen(name, "w");
	for (int i = 1; file && i < 54321; i++)
		fputc('\n', file);
	if (!file || fputs("45.0.0.16\n", file) < 0 || fclose(file))
		abort();
	snprintf(line, sizeof(line), "replay packets %s", name);
	types(line);
	unlink(name);
}

static void lists(void)
{
	in_both("replay packets a b");
	in_both("replay packets a --top 1");
	types("replay packets b --top 2");
	types("replay packets a --detect");
	types("replay packets a --detect --json");
	puts("-- a list with the longest name, of which a line far down is the entry");
	longest();
	puts("-- nothing is dropped, or all");
	put_text("none", "46.0.0.1\n");
	in_both("replay packets none");
	put_text("none", "45.0.0.0/24\n");
	in_both("replay packets none");
	unlink("none");
	puts("-- what is not judged");
	sends(0, 2, THEN + 2, 60);
	sends(1, 1, THEN + 2, 20);
	put("packets", capture.bytes, capture.n);
	in_both("replay packets a");
	hides = true;
	in_both("replay packets a");
	hides = false;
	puts("-- an address within another");
	capture.n = 24;
	sends_within(THEN);
	put("few", capture.bytes, capture.n);
	for (int i = 0; i < 2; i++) {
		embedded = i;
		types("replay few a");
		types("replay few --image image");
	}
	puts("-- what goes out");
	capture.n = 0;
	pcap_begin(&capture, false, 113);
	pcap_packet(&capture, THEN, 0, (uint8_t[60]){ [1] = 4, [14] = 8, [16] = 0x45 }, 60, 60);
	put("few", capture.bytes, capture.n);
	in_both("replay few a");
	puts("-- it is cut, or empty");
	capture.n = 0;
	pcap_begin(&capture, false, 1);
	sends(1, 3, THEN, 60);
	put("packets", capture.bytes, capture.n - 1);
	in_both("replay packets a");
	put("packets", capture.bytes, 24);
	in_both("replay packets a --detect");
	put("packets", capture.bytes, 23);
	in_both("replay packets a");
	puts("-- reading lists");
	types("replay packets bad");
	types("replay packets bad --skip-bad");
	types("replay packets nowhere");
	types("replay packets a --format json");
}

static void an_image(void)
{
	in_both("replay packets --image image");
	image_holds = 0;
	in_both("replay packets --image image");
	embedded = true;
	types("replay packets --image image");
	types("replay packets a --image image");
	types("replay few --image image --write-passed new --write-dropped other");
	for (fails_at = 1; types("replay few --image image --write-passed new"); fails_at++)
		;
}

static void in_force(void)
{
	in_both("replay packets");
	live_is_exact = true;
	types("replay packets");
	counts = true;
	in_both("replay packets");
	types("replay few --write-passed new --write-dropped other");
	counts = false;
	puts("-- it changes meanwhile");
	generations[1] = 1;
	in_both("replay packets");
	generations[0] = edits[0] = 1;
	types("replay packets");
	edits[1] = 1;
	types("replay packets");
	images[1] = true;
	types("replay packets");
	images[0] = true;
	in_both("replay packets");
	images[1] = false;
	types("replay packets");
	puts("-- a call fails");
	images[0] = false;
	unlink("new");
	for (fails_at = 1; types("replay few --write-dropped new --detect"); fails_at++)
		has("new");
	fails_at = 0;
	scoped = true;
	types("replay packets");
}

static void written(void)
{
	types("replay packets a b --write-passed new --write-dropped other");
	has("new");
	has("other");
	unlink("new");
	types("replay packets a --write-dropped new");
	has("new");
	puts("-- what is read is not written");
	types("replay packets a --write-dropped packets");
	types("replay packets a --write-passed ./packets");
	types("replay packets a b --write-passed b");
	types("replay packets a b --write-dropped a");
	put_text("image", "");
	types("replay packets --image image --write-dropped image");
	unlink("image");
	types("replay packets a --write-dropped new --write-passed ./new");
	types("replay packets a --write-dropped nowhere/new");
	types("replay packets a --write-passed nowhere/new");
	types("replay packets a --write-passed -");
	has("new");
	unlink("new");
	puts("-- a call fails");
	for (fails_at = 1; types("replay few a --write-passed new --write-dropped other"); fails_at++) {
		has("new");
		has("other");
	}
	fails_at = 0;
	types("replay packets a --write-passed new --check");
	has("new");
	allocations_fail = 1;
	types("replay packets a b");
	counts = true;
	types("replay packets");
	allocations_fail = 0;
	no_memory = true;
	types("replay packets a --detect");
	types("replay packets a");
}

/* Standard input is the capture, and then a list. */
static void from_input(void)
{
	int before = dup(STDIN_FILENO);

	freopen("packets", "r", stdin);
	types("replay - a");
	freopen("b", "r", stdin);
	types("replay packets -");
	freopen("packets", "r", stdin);
	types("replay - a -");
	types("replay - a b - a");
	types("replay - -");
	types("replay - a --write-dropped packets");
	terminal = true;
	types("replay - a");
	freopen("b", "r", stdin);
	types("replay - a");
	terminal = false;
	types("replay - a");
	types("replay nowhere a");
	types("replay");
	types("replay packets a --top 0");
	types("replay few a --top 1000000");
	types("replay few a --top 1000001");
	dup2(before, STDIN_FILENO);
	close(before);
}

/* How far it is is said after so many, and how many lists there may be. */
static void many(void)
{
	static char line[3000];
	size_t n = (size_t)snprintf(line, sizeof(line), "replay packets");

	capture.n = 24;
	sends(1, 4095, THEN, 60);
	put("packets", capture.bytes, capture.n);
	types("replay packets a");
	sends(200, 1, THEN + 90, 60);
	put("packets", capture.bytes, capture.n);
	types("replay packets a");
	sends(200, 4096, THEN + 90, 60);
	put("packets", capture.bytes, capture.n);
	types("replay packets a");
	puts("-- lists");
	for (int i = 1; i <= 256; i++) {
		char name[20];

		snprintf(name, sizeof(name), "l%d", i);
		put_text(name, "45.0.0.1\n");
		if (i == 256)
			types(line);
		n += (size_t)snprintf(line + n, sizeof(line) - n, " %s", name);
	}
	types(line);
	for (int i = 1; i <= 256; i++) {
		char name[20];

		snprintf(name, sizeof(name), "l%d", i);
		unlink(name);
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "lists", lists },	{ "an image", an_image },     { "in force", in_force },
		{ "written", written }, { "from input", from_input }, { "many", many },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };
	static const char *const names[] = { "a", "b", "bad", "packets", "few", "new", "other" };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(directory, sizeof(directory), "%s/xdp-bloom-replay-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory)) {
		perror(directory);
		return KTAP_FAIL;
	}
	typed_in(directory, &shows);
	typed_context.state = "nowhere";
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	rmdir(directory);
	return status;
}
