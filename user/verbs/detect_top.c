// SPDX-License-Identifier: GPL-2.0-only
/* detect top: the suspects, on the whole screen, as they come and go. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "bpf/detect.h"
#include "change/change.h"
#include "kernel/detect_seen.h"
#include "kernel/root.h"
#include "observe/senders.h"
#include "observe/suspects.h"
#include "observe/top_screen.h"
#include "verbs/verbs.h"

#define TURN_MS 1000
#define WAIT_MS 100
#define CTRL_C	3
/* More than a screen is high. */
#define ROWS 200

struct detect_top {
	const struct context *context;
	struct seen before, now;
	struct rated {
		const struct suspect_seen *is;
		double over, packets;
	} * rated;
	const struct suspect_seen **above;
	char row[ROWS][TOP_ROW_MAX];
	struct top_page page;
};

/* Who is above a limit now, by how much; then who was, then who is looked at closely, by all that they send. */
static int by_rate(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;
	bool x_was = suspect_over(x->is), y_was = suspect_over(y->is);

	if (x->over != y->over)
		return x->over < y->over ? 1 : -1;
	if (x_was != y_was)
		return x_was ? -1 : 1;
	return (x->packets < y->packets) - (x->packets > y->packets);
}

static double more(const struct detect_top *t, enum detected of)
{
	__u64 before = t->before.packets[of], now = t->now.packets[of];

	return (double)(now < before ? now : now - before) / seen_between(&t->before, &t->now);
}

static void put_sums(struct detect_top *t, size_t above, size_t banned)
{
	double dropped = more(t, DETECTED_DROPPED) + more(t, DETECTED_BANNED);
	char rate[LIMIT_TEXT_MAX], lost[LIMIT_TEXT_MAX], out[LIMIT_TEXT_MAX];

	if (!t->now.on) {
		snprintf(t->page.head, sizeof(t->page.head), "no detector is in force");
		snprintf(t->page.sums, sizeof(t->page.sums), "'xdp-bloom detect on' watches who sends too much");
		return;
	}
	snprintf(t->page.head, sizeof(t->page.head), "%zu above a limit now, %zu looked at closely, room for %zu",
		 above, t->now.n, t->now.room);
	snprintf(t->page.sums, sizeof(t->page.sums), "above a limit %s  dropped %s  without a place %s  banned %zu",
		 limit_text(rate, CLASS_PACKETS, more(t, DETECTED_OVER) + dropped),
		 limit_text(lost, CLASS_PACKETS, dropped), limit_text(out, CLASS_PACKETS, more(t, DETECTED_UNTRACKED)),
		 banned);
}

static void put_row(const struct detect_top *t, const struct suspect_seen *is, char row[TOP_ROW_MAX])
{
	char text[PREFIX_TEXT_MAX], above[SUSPECT_ABOVE_MAX], rate[LIMIT_TEXT_MAX];
	size_t n = (size_t)snprintf(row, TOP_ROW_MAX, "%-22s", source_key_text(text, is->key, MARK_KIND(is->mark)));

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (suspect_column(&t->now, class))
			n += (size_t)snprintf(row + n, TOP_ROW_MAX - n, " %*s", suspect_column(&t->now, class),
					      limit_text(rate, class, suspect_rate(&t->before, &t->now, is, class)));
	if (suspect_over(is))
		snprintf(row + n, TOP_ROW_MAX - n, "  %s", suspect_above(above, &t->now, is));
}

static void put_heading(struct top_page *page, const struct seen *seen)
{
	size_t n = (size_t)snprintf(page->heading, sizeof(page->heading), "%-22s", "SOURCE");

	for (enum packet_class class = 0; class < LIMITED; class ++)
		if (suspect_column(seen, class))
			n += (size_t)snprintf(page->heading + n, sizeof(page->heading) - n, " %*s",
					      suspect_column(seen, class), limit_names[class]);
	snprintf(page->heading + n, sizeof(page->heading) - n, "  ABOVE THE LIMIT OF");
}

static void put_rows(struct detect_top *t)
{
	size_t above = 0;

	for (size_t i = 0; i < t->now.n; i++) {
		const struct suspect_seen *is = &t->now.suspect[i];

		t->rated[i] = (struct rated){ is, suspect_over_rate(&t->before, &t->now, is),
					      suspect_rate(&t->before, &t->now, is, CLASS_PACKETS) };
		if (t->rated[i].over > 0)
			t->above[above++] = is;
	}
	qsort(t->rated, t->now.n, sizeof(*t->rated), by_rate);
	put_heading(&t->page, &t->now);
	t->page.row = (const char(*)[TOP_ROW_MAX])t->row;
	t->page.rows = t->now.n < ROWS ? t->now.n : ROWS;
	for (size_t i = 0; i < t->page.rows; i++)
		put_row(t, t->rated[i].is, t->row[i]);
	put_sums(t, seen_once(t->above, above), seen_banned_n(&t->now));
}

static int look(struct detect_top *t)
{
	int err;

	seen_free(&t->before);
	t->before = t->now;
	err = kernel_seen(t->context, &t->now);
	if (err && !err_is(err, ENOENT))
		return err;
	free(t->rated);
	free(t->above);
	t->rated = calloc(t->now.n + 1, sizeof(*t->rated));
	t->above = calloc(t->now.n + 1, sizeof(*t->above));
	if (!t->rated || !t->above)
		return -ENOMEM;
	put_rows(t);
	return 0;
}

static int follow(struct detect_top *t)
{
	int64_t next = clock_ms() + TURN_MS;
	int err = 0;

	while (!stop_asked && !err) {
		struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
		int64_t left = next - clock_ms();
		int key;

		poll(&ready, 1, left < 0 ? 0 : left < WAIT_MS ? (int)left : WAIT_MS);
		if (ready.revents & (POLLHUP | POLLERR)) /* the terminal is gone */
			break;
		while ((key = top_view_key()) != -1) {
			if (key == 'q' || key == 'Q' || key == CTRL_C)
				stop_asked = 1;
			else if (key == 'p' || key == ' ')
				t->page.paused = !t->page.paused;
			top_page_draw(&t->page);
		}
		if (clock_ms() < next)
			continue;
		next = clock_ms() + TURN_MS;
		if (t->page.paused)
			continue;
		err = look(t);
		if (!err)
			top_page_draw(&t->page);
	}
	return err;
}

int detect_top(const struct context *context)
{
	static const int ends[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	static struct detect_top t;
	int err;

	change_check(context, false);
	t.context = context;
	/* Twice: what came before is no rate. */
	err = kernel_ready_to_look(context) ?: look(&t) ?: look(&t);
	/* Before the screen is taken: these signals must restore it. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		stop_on(ends[i]);
	err = err ?: top_view_begin("detect top", "detect");
	if (!err) {
		top_page_draw(&t.page);
		err = follow(&t);
	}
	top_view_end();
	free(t.rated);
	free(t.above);
	seen_free(&t.before);
	seen_free(&t.now);
	return err ? fail("detect top: %s", reason(err)) : EXIT_DONE;
}
