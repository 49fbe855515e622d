// SPDX-License-Identifier: GPL-2.0-only
/* doctor, report and state: what each asks for by what is typed, and prints of the answer; word for word. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/state_path.h"
#include "change/change.h"
#include "kernel/live.h"
#include "naive.h"
#include "observe/doctor.h"
#include "observe/report.h"
#include "sets/networks.h"
#include "state/recover.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_small_verbs.txt"
};

static struct shows shows = { .file = "tests/unit/unit_small_verbs.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int calls, fails_at;
static size_t n_found, n_lost, n_faults;
static bool no_memory, is_whole, has_texts, bad_networks, taken;
static int worst;

__attribute__((format(printf, 1, 2))) static int call(const char *fmt, ...)
{
	bool fails = ++calls == fails_at;
	va_list args;

	va_start(args, fmt);
	printf("  ");
	vprintf(fmt, args);
	puts(fails ? ": fails" : "");
	va_end(args);
	return fails ? because(-EIO, "it was not to be") : 0;
}

static void given_doctor(const struct context *context, char *const *names, int n, struct findings *found)
{
	(void)context;
	printf("  of %d:", n);
	for (int i = 0; i < n; i++)
		printf(" %s", names[i]);
	puts("");
	found->of = calloc(n_found + 1, sizeof(*found->of));
	ENOUGH(found->of);
	for (size_t i = 0; i < n_found; i++) {
		found->of[i].level = i ? FOUND_OK : worst;
		snprintf(found->of[i].about, sizeof(found->of[i].about), i ? "kernel" : "eth0\n");
		found->of[i].is_interface = !i;
		snprintf(found->of[i].text, sizeof(found->of[i].text), "text %zu\n", i);
	}
	found->n = n_found;
	found->lost = no_memory;
}

static int given_take(const struct context *context, struct report *report, enum history_window window,
		      unsigned int top)
{
	(void)context;
	(void)report;
	taken = !call("the last %s, %u of each", history_window_names[window], top);
	return taken ? 0 : because(-EIO, "it was not to be");
}

static int given_text(const struct report *report)
{
	(void)report;
	puts("  as text");
	return 0;
}

static int given_json(const struct context *context, const struct report *report)
{
	(void)report;
	printf("  as JSON%s\n", context->pretty ? ", pretty" : "");
	return 3;
}

static int given_html(const struct report *report)
{
	(void)report;
	puts("  as HTML");
	return 4;
}

static void given_end(struct report *report)
{
	(void)report;
	taken = false;
}

static int given_check(const struct context *context, void (*found)(void *arg, const char *fault), void *arg,
		       size_t *faults)
{
	(void)context;
	for (size_t i = 0; i < n_faults; i++)
		found(arg, i ? "another" : "a row\nis wrong");
	*faults = n_faults;
	return call("the state is checked");
}

static int given_networks(const char *state)
{
	printf("  networks of %s\n", state);
	return bad_networks ? because(-EUCLEAN, "the networks are damaged") : 0;
}

static int given_recover(const struct context *context, const char *path,
			 unsigned long long (*in_force)(const struct context *), struct recovered *r)
{
	*r = (struct recovered){ .lists = 3,
				 .interfaces = 2,
				 .bans = 7,
				 .whole = is_whole,
				 .texts = has_texts,
				 .lost_n = n_lost,
				 .kept = "state.db.damaged\n" };
	for (size_t i = 0; i < n_lost; i++) {
		snprintf(r->lost[i].name, sizeof(r->lost[i].name), "list%zu", i);
		snprintf(r->lost[i].source, sizeof(r->lost[i].source), "file\n%zu", i);
	}
	return call("recover %s in %s, %llu in force", path, context->state, in_force(context));
}

static unsigned long long given_generation(const struct context *context)
{
	(void)context;
	return 7;
}

static void *given_malloc(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

#define doctor			given_doctor
#define report_take		given_take
#define report_text		given_text
#define report_json		given_json
#define report_html		given_html
#define report_end		given_end
#define state_check		given_check
#define state_recover		given_recover
#define networks_check		given_networks
#define kernel_live_generation	given_generation
#define change_check(of, words) ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#include "verbs/doctor.c"
#undef doctor
#include "verbs/report.c"
#define show_json state_json
#define report	  state_report
#define malloc	  given_malloc
#include "verbs/state.c"
#undef malloc

static void begin(void)
{
	calls = fails_at = 0;
	n_found = n_lost = n_faults = 0;
	no_memory = bad_networks = false;
	is_whole = has_texts = true;
	worst = FOUND_PROBLEM;
}

static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		calls = 0;
		typed(lines[i]);
		if (taken)
			puts("  the report has not ended");
		taken = false;
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void doctors(void)
{
	for (n_found = 0; n_found < 3; n_found++)
		for (worst = FOUND_PROBLEM; worst <= FOUND_OK; worst++)
			if (n_found || worst == FOUND_PROBLEM)
				TYPES("doctor", "doctor --json");
	n_found = 1;
	worst = FOUND_PROBLEM;
	TYPES("doctor eth0", "doctor eth0 eth1", "doctor a/b", "doctor eth0 a/b");
	no_memory = true;
	TYPES("doctor", "doctor --json");
}

static void reports(void)
{
	TYPES("report", "report --last minute", "report --last hour", "report --last day", "report --last week",
	      "report --top 0", "report --top 1", "report --top 128", "report --top 129", "report --html",
	      "report --json", "report --html --json", "report x");
	fails_at = 1;
	TYPES("report");
}

static void checks(void)
{
	for (n_faults = 0; n_faults < 3; n_faults++)
		for (int i = 0; i < 2; i++) {
			bad_networks = i;
			TYPES("state check", "state check --json", "state check --quiet");
		}
	TYPES("state", "state chec", "state check x", "state recover x y", "state x");
	fails_at = 1;
	TYPES("state check", "state check --json");
}

static void recovers(void)
{
	TYPES("state recover", "state recover f", "state recover --json");
	for (n_lost = 1; n_lost < 3; n_lost++)
		TYPES("state recover", "state recover --json");
	has_texts = false;
	TYPES("state recover", "state recover --json");
	is_whole = false;
	TYPES("state recover", "state recover --json");
	has_texts = true;
	TYPES("state recover");
	fails_at = 1;
	TYPES("state recover", "state recover --json");
	no_memory = true;
	TYPES("state recover");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "doctors", doctors },
		{ "reports", reports },
		{ "checks", checks },
		{ "recovers", recovers },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	typed_context.state = "/the/state";
	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
