// SPDX-License-Identifier: GPL-2.0-only
/* rotate, flush, restore and confirm: what each does, in which order, and what is said where a part fails; word for
 * word. */
#include <stdlib.h>

#include "change/apply.h"
#include "change/feed_row.h"
#include "change/restore.h"
#include "change/revert_timer.h"
#include "kernel/live.h"
#include "naive.h"
#include "observe/unfiltered.h"
#include "state/bans.h"
#include "state/failed.h"
#include "state/kept_image.h"
#include "state/ports.h"
#include "state/state.h"
#include "typed.h"
#include "verb_change.h"

static const struct shown known[] = {
#include "unit_rotate_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_rotate_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static size_t lists_n, refused_n, pending_n, missing_n;
static uint64_t in_image;
static int zeroed, zeroed_last; /* how many labels are, and the last of them */

static void *copies(const void *of, size_t n, size_t size)
{
	void *copy = malloc(n * size + 1);

	ENOUGH(copy);
	memcpy(copy, of, n * size);
	return copy;
}

static int given_lists(struct state *state, struct list_info **lists, size_t *n)
{
	static const struct list_info all[] = { { .name = "drop", .label = 3 }, { .name = "feed", .label = 9 } };

	(void)state;
	*lists = copies(all, lists_n, sizeof(all[0]));
	*n = lists_n;
	return call("lists");
}

static void given_failures(const struct context *context, struct list_failure **failures, size_t *n)
{
	static const struct list_failure all[] = { { .list = "drop" }, { .list = "gone" } };

	(void)context;
	*failures = copies(all, refused_n, sizeof(all[0]));
	*n = refused_n;
}

static int given_pending(struct state *state, struct pending **pending, size_t *n)
{
	static const struct pending all[] = { { .name = "drop" },
					      { .name = "eth0\n" },
					      { .name = "eth0", .kind = PENDING_INTERFACE },
					      { .name = "eth1 egress", .kind = PENDING_INTERFACE },
					      { .name = "ports of br0", .kind = PENDING_INTERFACE } };

	(void)state;
	*pending = copies(all, pending_n, sizeof(all[0]));
	*n = pending_n;
	return call("what waits");
}

static int given_drop(struct state *state, const char *list)
{
	char what[100];

	(void)state;
	snprintf(what, sizeof(what), "'%s' goes", list);
	return call(what);
}

static uint64_t given_kept(struct state *state)
{
	(void)state;
	puts("  is there an image");
	return in_image;
}

static int given_go(struct change *change, struct addr first, unsigned int length)
{
	char what[100];

	(void)change;
	snprintf(what, sizeof(what), "let go %llx of IPv%d, %u bits", (unsigned long long)first.num, first.family,
		 length);
	return call(what);
}

static void given_zero(struct change *change, uint8_t label)
{
	(void)change;
	if (zeroed++ && label != zeroed_last + 1)
		printf("  counters up to %d begin anew\n", zeroed_last);
	zeroed_last = label;
}

static int given_commit(struct change *change, const struct apply_options *o)
{
	char what[100];

	(void)change;
	if (zeroed)
		printf("  counters up to %d begin anew, %d in all\n", zeroed_last, zeroed);
	zeroed = 0;
	snprintf(what, sizeof(what), "it is committed%s%s", o->again ? ", built again" : "",
		 o->discard_unknown ? ", whatever is there" : "");
	return call(what);
}

static void given_succeeded(struct change *change, const char *list)
{
	(void)change;
	printf("  no refusal of '%s' stays\n", list);
}

static int given_force(struct change *change, const struct ranges *set)
{
	(void)change;
	return call(set ? "it is forced for a set" : "it is forced");
}

static void given_spare(const struct context *context)
{
	(void)context;
	puts("  who is needed is spared");
}

static int given_restore(struct context *context, const struct restore_options *o, size_t *missing)
{
	(void)context;
	*missing = missing_n;
	return call(o->spare && o->force ? "restore, spare, force"
		    : o->spare		 ? "restore, spare"
		    : o->force		 ? "restore, force"
					 : "restore");
}

static void given_timer(struct context *context, long seconds)
{
	printf("  waits in %s, %ld s\n", context->state, seconds);
}

static bool is_open; /* what is to be filtered is not */

static int given_open(struct state **state, const struct context *context, bool change)
{
	(void)context;
	*state = NULL;
	return call(change ? "the state is changed" : "the state is read");
}

static int given_interfaces(struct state *state, struct interface_info **kept, size_t *n)
{
	static const struct interface_info all[] = { { .name = "eth0" },
						     { .name = "eth1" },
						     { .name = "eth1", .match = MATCH_LEAVING(0) } };

	(void)state;
	*kept = copies(all, 3, sizeof(all[0]));
	*n = 3;
	return call("what is to be filtered");
}

static int given_port_rows(struct state *state, struct port_row **rows, size_t *n)
{
	static const struct port_row all[] = { { .name = "eth1", .of = "br0" },
					       { .name = "eth1", .of = "br1", .leaves = true } };

	(void)state;
	*rows = copies(all, 2, sizeof(all[0]));
	*n = 2;
	return call("which are ports");
}

static int given_attach_list(const struct context *context, struct attachment **list, size_t *n)
{
	static const struct attachment all[] = { { .name = "eth7" }, { .name = "eth8" } };

	(void)context;
	*list = copies(all, 2, sizeof(all[0]));
	*n = 2;
	return call("all that are filtered");
}

static bool given_unfiltered(const struct context *context, const struct attachment *on, size_t n, const char *name,
			     unsigned int match, const char *of, struct unfiltered *is)
{
	(void)context;
	printf("  is %s filtered%s, by %s to %s%s?\n", name, MATCH_LEAVES(match) ? ", what leaves" : "", on[0].name,
	       on[n - 1].name, of ?: "");
	*is = (struct unfiltered){ 0 };
	label_of(is->label, name, match);
	return is_open;
}

static int given_confirm(struct change *change)
{
	(void)change;
	return call("all that waits stays");
}

static int given_rows_drop(struct change *change, long confirm)
{
	(void)change;
	return call(confirm ? "the feeds go for a while" : "the feeds go");
}

static int given_flush(struct state *state)
{
	(void)state;
	return call("nothing waits any more");
}

static int given_leave(struct state *state)
{
	(void)state;
	return call("the image goes");
}

static int given_clear(struct state *state)
{
	(void)state;
	return call("the bans go");
}

#define change_begin		  given_begin
#define change_end		  given_end
#define change_commit		  given_commit
#define change_force		  given_force
#define change_zero		  given_zero
#define change_succeeded	  given_succeeded
#define change_confirm		  given_confirm
#define state_open		  given_open
#define state_interfaces	  given_interfaces
#define attach_list		  given_attach_list
#define state_port_rows		  given_port_rows
#define unfiltered(...)		  given_unfiltered(__VA_ARGS__)
#define state_lists		  given_lists
#define list_failures		  given_failures
#define state_list_drop		  given_drop
#define feed_rows_drop		  given_rows_drop
#define state_pending_flush	  given_flush
#define image_kept		  given_kept
#define image_leave		  given_leave
#define state_bans_clear	  given_clear
#define jail_let_go		  given_go
#define jail_spare_alone	  given_spare
#define restore			  given_restore
#define state_pending		  given_pending
#define revert_timer_run	  given_timer
#define kernel_live_generation(c) ((void)(c), 7ULL)
#include "verbs/rotate.c"
#include "verbs/confirm.c"
#include "verbs/answer.c"

static void begin(void)
{
	calls = fails_at = held = zeroed = 0;
	lists_n = refused_n = pending_n = missing_n = 0;
	in_image = 0;
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = zeroed = 0;
		typed(lines[i]);
		if (held)
			puts("  the change has not ended");
		held = 0;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void rotates(void)
{
	TYPES("rotate", "rotate --force", "rotate --json", "rotate x");
	for (fails_at = 1; fails_at <= 3; fails_at++)
		TYPES("rotate --force");
}

static void flushes(void)
{
	TYPES("flush", "flush --json", "flush drop");
	lists_n = 1;
	refused_n = 1;
	TYPES("flush");
	lists_n = refused_n = 2;
	TYPES("flush");
	in_image = 5;
	TYPES("flush");
	lists_n = 0;
	TYPES("flush");
	lists_n = 2;
	for (fails_at = 1; fails_at <= 11; fails_at++)
		TYPES("flush");
}

static void restores(void)
{
	TYPES("restore", "restore --spare", "restore --force", "restore --spare --force", "restore --json",
	      "restore x");
	missing_n = 1;
	TYPES("restore", "restore --json");
	fails_at = 1;
	TYPES("restore");
}

static void confirms(void)
{
	TYPES("confirm", "confirm --json", "confirm x");
	printf("  the events are in '%s'\n", typed_left.state);
	TYPES("confirm --watch 60");
	printf("  the events are in '%s'\n", typed_left.state);
	for (pending_n = 1; pending_n <= 2; pending_n++)
		TYPES("confirm", "confirm --json", "confirm --quiet");
	for (fails_at = 1; fails_at <= 3; fails_at++)
		TYPES("confirm");
	fails_at = 0;
	pending_n = 5;
	TYPES("confirm");
	is_open = true;
	TYPES("confirm", "confirm --json");
	for (fails_at = 4; fails_at <= 8; fails_at++)
		TYPES("confirm");
	is_open = false;
}

/* What verbs say in common. */
static void answers(void)
{
	struct generation g = { .rungs = 2, .rung = { { .length = 48 }, { .length = 64 } } };
	struct stage_bytes bytes = { 1, 2, 3, 4, 5 };
	struct sizing sizing = { .bits_per_key = 12.25, .ns = 3.75, .ns_usual = 4.25 };
	struct number none = { 0 }, given = { true, 60 };
	struct context context = CONTEXT_DEFAULT;

	for (int i = 0; i < 8; i++) {
		context.quiet = i & 1;
		context.json = i & 2;
		context.waits = i & 4;
		printf("-- %d\n", i);
		printf("= %d\n", out_confirm(&context, "it\n", &none));
		printf("= %d\n", out_confirm(&context, "it\n", &given));
	}
	context.json = true;
	out_json(&context, out_rungs(&g));
	g.rungs = 0;
	out_json(&context, out_rungs(&g));
	out_json(&context, out_memory(&bytes));
	for (int i = 0; i < 3; i++) {
		sizing.by_cost = i;
		sizing.measured = i == 2;
		sizing_text(&sizing);
		out_json(&context, json_pack("[o]", out_sizing(&sizing)));
	}
}

/* What is said of an image. */
static void images(void)
{
	struct image_header header = { .saved = "2026-01-01T00:00:00Z" };
	struct image image = { .header = &header, .id = "0123456789abcdef", .size = 12345 };
	struct context context = CONTEXT_DEFAULT;
	__u64 place;

	for (int i = 0; i < 3; i++) {
		header.lists = (__u64)i;
		context.quiet = i == 2;
		printf("= %d\n", image_report(&context, &image, "a\nfile", "wrote"));
	}
	image.g.keys4 = 7;
	image.g.keys6 = 9;
	image.g.all24 = 11;
	context.quiet = false;
	printf("= %d\n", image_report(&context, &image, "file", "holds"));
	context.json = true;
	for (int i = 0; i < 5; i++) {
		image.g.filter = i ? (__u64)(uintptr_t)&place : 0;
		image.g.roster4 = i & 2 ? (__u64)(uintptr_t)&place : 0;
		image.g.roster6 = i == 3 || i == 4 ? (__u64)(uintptr_t)&place : 0;
		printf("= %d\n", image_report(&context, &image, "file", "holds"));
	}
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "rotates", rotates },	  { "flushes", flushes }, { "restores", restores },
		{ "confirms", confirms }, { "answers", answers }, { "images", images },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	typed_context.state = "/the/state";
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
