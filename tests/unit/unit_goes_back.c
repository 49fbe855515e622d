// SPDX-License-Identifier: GPL-2.0-only
/* What is judged while something waits: the state behind each deadline in turn, as random trials leave it; and all of
 * it is forgotten again.
 */
#include "own_state.h"
#include "base/clock.h"
#include "state/state.h"

#define TRIALS 6

struct waits {
	const char *setting;
	double before, now; /* -1: there was none */
	int64_t due;
	bool rebooted;
};

static struct waits trials[TRIALS];
static size_t trials_n;
static unsigned int judged, refused_at;
static int64_t judged_at; /* what has gone back is due by then */

static double kept(struct state *s, const char *name)
{
	return state_setting(s, name, -1);
}

static int64_t when(const struct waits *t)
{
	return t->rebooted ? 0 : t->due;
}

/* The next deadline behind this one; INT64_MAX: there is none. */
static int64_t later(int64_t than)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < trials_n; i++)
		if (when(&trials[i]) > than && when(&trials[i]) < next)
			next = when(&trials[i]);
	return next;
}

static int judge(struct state *s, void *arg)
{
	CHECK(arg == trials, "another argument");
	judged_at = later(judged_at);
	for (size_t i = 0; i < trials_n; i++) {
		const struct waits *t = &trials[i];
		bool back = when(t) <= judged_at;

		CHECK(kept(s, t->setting) == (back ? t->before : t->now), "deadline %u: '%s' is %g", judged, t->setting,
		      kept(s, t->setting));
		CHECK(state_pending_has(s, PENDING_SETTING, t->setting) == !back, "deadline %u: '%s' waits", judged,
		      t->setting);
	}
	return judged++ == refused_at ? because(-EINVAL, "this one") : 0;
}

static void begin(struct state *s, struct waits *t)
{
	struct pending one = { .kind = PENDING_SETTING, .deadline = 5000 - t->due, .due = t->due };

	strcpy(one.name, t->setting);
	ENOUGH(t->before < 0 || !state_set(s, t->setting, t->before));
	ENOUGH(!state_pending_add(s, &one) && !state_set(s, t->setting, t->now));
	if (t->rebooted)
		ENOUGH(!state_put(s, "UPDATE pending SET boot = 'another' WHERE name = ?", "s", t->setting));
}

static unsigned int deadlines(void)
{
	unsigned int n = 0;

	for (int64_t at = -1; (at = later(at)) < INT64_MAX;)
		n++;
	return n;
}

static bool is_first(const char *name, unsigned int at)
{
	int64_t time = -1;

	for (unsigned int i = 0; i <= at; i++)
		time = later(time);
	for (size_t i = 0; i < trials_n; i++)
		if (!strcmp(trials[i].setting, name))
			return when(&trials[i]) == time;
	return false;
}

static void random_trials(void)
{
	static const char *const settings[TRIALS] = { "fpr", "k", "exact", "labels", "headroom", "embedded" };

	for (int i = 0; i < 100; i++) {
		struct state *s = opened(true);
		char name[LIST_NAME_MAX] = "";
		int err;

		if (!s)
			return;
		trials_n = ktap_random() % (TRIALS + 1);
		for (size_t t = 0; t < trials_n; t++) {
			bool share = !strcmp(settings[t], "fpr") || !strcmp(settings[t], "headroom");
			double on = share ? 0.25 : 1, before = (double)(ktap_random() % 3) - 1;

			trials[t] = (struct waits){ settings[t], before > 0 ? on : before, before ? 0 : on,
						    1 + (int64_t)(ktap_random() % 4), ktap_random() % 4 == 0 };
			begin(s, &trials[t]);
		}
		judged = 0;
		judged_at = -1;
		refused_at = (unsigned int)(ktap_random() % 6);
		err = state_pending_undone(s, judge, trials, name);
		if (refused_at < deadlines())
			CHECK(err_is(err, EINVAL) && judged == refused_at + 1 && is_first(name, refused_at),
			      "deadline %u of %u: '%s', judged %u times", refused_at, deadlines(), name, judged);
		else
			CHECK(!err && judged == deadlines(), "judged %u times, of %u: %s", judged, deadlines(),
			      err ? reason(err) : "done");
		for (size_t t = 0; t < trials_n; t++)
			CHECK(kept(s, trials[t].setting) == trials[t].now &&
				      state_pending_has(s, PENDING_SETTING, trials[t].setting) == 1,
			      "'%s' is %g afterwards", trials[t].setting, kept(s, trials[t].setting));
		state_close(s); /* nothing of it was committed */
	}
}

static int count(struct state *s, void *arg)
{
	CHECK(state_pending_has(s, PENDING_BAN, "45.0.0.1") == 1, "the ban has gone back");
	CHECK(state_pending_has(s, PENDING_INTERFACE, "eth0") == 1, "the interface has gone back");
	++*(int *)arg;
	return 0;
}

/* Of these no filter is built. */
static void others(void)
{
	static const struct pending waiting[] = { { .kind = PENDING_BAN, .name = "45.0.0.1", .due = 7 },
						  { .kind = PENDING_INTERFACE, .name = "eth0", .due = 8 },
						  { .kind = PENDING_SETTING, .name = "k", .due = 7 },
						  { .kind = PENDING_SETTING, .name = "fpr", .due = 8 } };
	struct state *s = opened(true);
	char name[LIST_NAME_MAX] = "";
	int times = 0;

	for (size_t i = 0; i < 4 && s; i++) {
		CHECK(!state_pending_undone(s, count, &times, name) && times == (i == 3), "%zu wait: judged %d times",
		      i, times);
		ENOUGH(!state_pending_add(s, &waiting[i]));
	}
	times = 0;
	CHECK(s && !state_pending_undone(s, count, &times, name) && times == 2, "judged %d times", times);
	state_close(s);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "random trials", random_trials }, { "others", others } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
