// SPDX-License-Identifier: GPL-2.0-only
/*
 * A route table that is followed: when what it holds comes into force, what of it is left out and said, what becomes of
 * failures, and of routes that are lost together; kernel, list and clock are made up, word for word.
 */
#include <linux/rtnetlink.h>

#include "change/change.h"
#include "change/followed.h"
#include "change/guard_rails.h"
#include "change/own_addresses.h"
#include "feeds/route_source.h"
#include "feeds/route_table.h"
#include "sets/prefixes.h"
#include "sets/ranges.h"
#include "state/failed.h"
#include "model_feed.h"

static const struct shown texts[] = {
#include "unit_routes_run.txt"
};

static struct shows shows = { .file = "tests/unit/unit_routes_run.txt",
			      .known = texts,
			      .n = sizeof(texts) / sizeof(texts[0]) };

#define SOURCE 1000000 /* a descriptor that nobody has */

/* --- The kernel's table ------------------------------------------------------------------------------------------- */

static struct route_table kernel;
static bool is_open, is_taken;
static unsigned int readings;
static uint64_t gateways, gateways_said;

static int given_source_open(struct route_source **source, const struct route_wish *wish, int64_t grace)
{
	int err = fails("source");

	line("table %u is read, family %d, types %llx, grace %lld", wish->table, wish->family,
	     (unsigned long long)wish->types, (long long)grace);
	if (err)
		return err;
	*source = (struct route_source *)&kernel;
	kernel.grace = grace;
	is_open = true;
	return 0;
}

static void given_source_close(struct route_source *source)
{
	if (source)
		line("it is read no more");
	is_open = false;
}

static int given_fd(const struct route_source *source)
{
	return source == (const struct route_source *)&kernel ? SOURCE : -1;
}

static struct route_table *given_take(struct route_source *source, int *err)
{
	if (source != (struct route_source *)&kernel || is_taken || !is_open)
		abort();
	*err = fails("take");
	is_taken = !*err;
	return *err ? NULL : &kernel;
}

static void given_give(struct route_source *source)
{
	(void)source;
	if (!is_taken)
		abort();
	is_taken = false;
}

static uint64_t given_elsewhere(const struct route_source *source)
{
	(void)source;
	if (!is_taken)
		abort();
	return gateways;
}

static bool has_other;

static const struct route *given_other(const struct route_source *source)
{
	static const struct route other = { .first = 0xc0000263, .family = 4, .length = 32, .type = RTN_UNICAST };

	(void)source;
	if (!is_taken)
		abort();
	return has_other ? &other : NULL;
}

static unsigned int given_readings(const struct route_source *source)
{
	(void)source;
	if (!is_taken)
		abort();
	return readings;
}

/* --- The list ----------------------------------------------------------------------------------------------------- */

#define SPARED_MOST 300

static struct ranges in_force;
static long limit; /* more new addresses than that are too much; 0: none are */
static int64_t takes;
static size_t spared_n;
static int arrays; /* that are not given back yet */

static uint64_t addresses(const struct ranges *set)
{
	uint64_t n = 0;

	for (size_t i = 0; i < set->n4; i++)
		n += (uint64_t)set->v4[i].hi - set->v4[i].lo + 1;
	for (size_t i = 0; i < set->n6; i++)
		n += (uint64_t)((set->v6[i].hi - set->v6[i].lo) >> 64) + 1;
	return n;
}

static uint64_t new_ones(const struct ranges *before, const struct ranges *after)
{
	struct ranges came = RANGES_EMPTY;
	uint64_t n;

	if (ranges_subtract(&came, after, before))
		abort();
	n = addresses(&came);
	ranges_free(&came);
	return n;
}

static void print_range(struct addr lo, struct addr hi)
{
	char text[PREFIX_TEXT_MAX];

	printf(" %s", prefix_text(text, lo, -1));
	if (lo.num != hi.num)
		printf("-%s", prefix_text(text, hi, -1));
}

static void print_set(const char *what, const struct ranges *set)
{
	begin_line();
	printf("%s:", what);
	for (size_t i = 0; i < set->n4; i++)
		print_range((struct addr){ set->v4[i].lo, 4 }, (struct addr){ set->v4[i].hi, 4 });
	for (size_t i = 0; i < set->n6; i++)
		print_range((struct addr){ set->v6[i].lo, 6 }, (struct addr){ set->v6[i].hi, 6 });
	putchar('\n');
}

static void copy(struct ranges *to, const struct ranges *from)
{
	struct ranges none = RANGES_EMPTY;

	*to = RANGES_EMPTY;
	if (ranges_subtract(to, from, &none))
		abort();
}

static int given_put(struct context *context, const struct followed *f, struct ranges *set, struct followed_put *put)
{
	int err = fails("put");

	(void)context;
	*put = (struct followed_put){ 0 };
	print_set(f->list, set);
	now_ms += takes;
	if (err)
		return err;
	if (fails("trial")) {
		put->waits = 4500000000;
		return because(-EBUSY, "a change of it waits");
	}
	/* One that a guard rail refuses for another reason. */
	if (fails("guard"))
		return guard_because("it has grown too much");
	put->spared = calloc(spared_n + 1, sizeof(*put->spared));
	arrays++;
	put->came = new_ones(&in_force, set);
	put->went = new_ones(set, &in_force);
	if (limit && put->came > (ip6)limit) {
		put->too_much = true;
		return guard_because("%llu addresses are too many", (unsigned long long)put->came);
	}
	put->changed = put->came || put->went;
	put->generation = 7;
	put->prefixes = set->n4 + set->n6;
	for (; put->spared && put->spared_n < spared_n; put->spared_n++)
		put->spared[put->spared_n] = (struct own_address){ .addr = { 0xc6120000 + (ip6)put->spared_n, 4 },
								   .what = "a gateway in use",
								   .where = "route table 254" };
	ranges_free(&in_force);
	copy(&in_force, set);
	return 0;
}

static void given_put_free(struct followed_put *put)
{
	arrays -= put->spared != NULL;
	free(put->spared);
	*put = (struct followed_put){ 0 };
}

static int given_get(struct context *context, const struct followed *f, struct ranges *set)
{
	int err = fails("get");

	(void)context;
	line("what is in force of '%s'", f->list);
	*set = RANGES_EMPTY;
	if (!err)
		copy(set, &in_force);
	return err;
}

static int given_much(const char *name, const struct ranges *before, const struct ranges *after)
{
	uint64_t n = new_ones(before, after);
	int err = fails("much");

	print_set("too much", after);
	return err ?: n > (uint64_t)limit ? guard_because("list '%s': %llu addresses", name, (unsigned long long)n) : 0;
}

static int given_alone(const struct context *context, const struct followed *f)
{
	(void)context;
	line("list '%s' of %s%s%s", f->list, f->source, f->shadow ? ", shadow" : "", f->wide ? ", wide" : "");
	return fails("alone");
}

static int given_begin(struct change **change, struct context *context)
{
	(void)context;
	*change = (struct change *)&in_force;
	return fails("change");
}

static void given_end(struct change *change)
{
	line("a change is ended%s", change == (struct change *)&in_force ? "" : ": another");
}

static void given_failed(const struct context *context, const char *list, const char *why)
{
	(void)context;
	line("'%s' is refused: %s", list, why);
}

static void given_succeeded(const struct context *context, const char *list)
{
	(void)context;
	line("'%s' is not refused any more", list);
}

static void given_own(uint64_t version)
{
	if (version != gateways_said)
		line("gateways are those of %llx", (unsigned long long)version);
	gateways_said = version;
}

#define route_source_open	 given_source_open
#define route_source_close	 given_source_close
#define route_source_fd		 given_fd
#define route_source_take	 given_take
#define route_source_give	 given_give
#define route_source_elsewhere	 given_elsewhere
#define route_source_other	 given_other
#define route_source_readings	 given_readings
#define followed_put(c, f, s, p) given_put(c, f, s, p)
#define followed_put_free(p)	 given_put_free(p)
#define followed_get(c, f, s)	 given_get(c, f, s)
#define followed_alone(c, f)	 given_alone(c, f)
#define guard_much(n, b, a)	 given_much(n, b, a)
#define change_begin(c, x)	 given_begin(c, x)
#define change_end(c)		 given_end(c)
#define list_failed		 given_failed
#define list_succeeded		 given_succeeded
#define own_routes_are(v)	 given_own(v)
#include "feeds/routes.c"

/* --- What happens ------------------------------------------------------------------------------------------------- */

static const char *waits_for(int fd)
{
	return fd == SOURCE ? "the table" : "something else";
}

/* "192.0.2.1" or "192.0.2.1..9" or "192.0.2.0/24" */
static void each_of(const char *text, void (*each)(struct addr first, unsigned int length))
{
	const char *more = strstr(text, "..");
	unsigned int length, last = more ? (unsigned int)atoi(more + 2) : 0;
	struct addr first;

	if (prefix_parse(text, more ? (size_t)(more - text) : strlen(text), &first, &length))
		abort();
	do
		each(first, length);
	while ((first.num++ & 255) < last);
}

static struct route route_of(struct addr first, unsigned int length)
{
	return (struct route){
		.first = first.num, .family = (uint8_t)first.family, .length = (uint8_t)length, .type = RTN_BLACKHOLE
	};
}

static void comes(struct addr first, unsigned int length)
{
	struct route r = route_of(first, length);

	if (routes_put(&kernel, &r, now_ms))
		abort();
}

static void goes(struct addr first, unsigned int length)
{
	struct route r = route_of(first, length);

	routes_drop(&kernel, &r, now_ms);
}

static void was(struct addr first, unsigned int length)
{
	if (ranges_add_prefix(&in_force, first, length))
		abort();
}

static void happens(const char *what)
{
	long long n;

	line("* %s", what);
	if (*what == '+' || *what == '-') {
		each_of(what + 1, *what == '+' ? comes : goes);
	} else if (*what == '=') {
		each_of(what + 1, was);
		if (ranges_finish(&in_force))
			abort();
	} else if (sscanf(what, "limit %ld", &limit) == 1 || sscanf(what, "takes %lld", &n) == 1) {
		takes = *what == 't' ? n : takes;
	} else if (sscanf(what, "spares %lld", &n) == 1) {
		spared_n = (size_t)n;
	} else if (sscanf(what, "elsewhere %lld", &n) == 1) {
		gateways = (uint64_t)n;
	} else if (sscanf(what, "other %lld", &n) == 1) {
		has_other = n;
	} else if (sscanf(what, "readings %lld", &n) == 1) {
		readings = (unsigned int)n;
	} else {
		abort();
	}
}

#define END             \
	{               \
		0, NULL \
	}

static const struct step goes_well[] = {
	{ -1, "+192.0.2.1" },	    { -1, "+2001:db8::/48" },
	{ -1, "=192.0.2.1" },	    { -1, "=192.0.2.9" },
	{ -1, "=2001:db8:1::/48" }, { 100, "+192.0.2.2" },
	{ 119, "+192.0.2.3" },	    { 3000, "-192.0.2.3" },
	{ 4000, "+192.0.2.3" },	    { 4100, "-192.0.2.2" },
	{ 6200, "takes 500" },	    { 6200, "+192.0.2.4" },
	{ 6300, "+192.0.2.5" },	    { 6800, "+192.0.2.6" },
	{ 8000, "elsewhere 3" },    { 8000, "readings 2" },
	{ 8000, "takes 0" },	    { 8001, "readings 3" },
	{ 8210, "+192.0.2.7" },	    { 70000, "+192.0.2.8" },
	{ 130000, "TERM" },	    END,
};

static const struct step leaves_out[] = {
	{ -1, "+0.0.0.0/1" },
	{ -1, "+192.0.2.1" },
	{ 1000, "+192.0.2.2" },
	{ 2000, "+128.0.0.0/2" },
	{ 3000, "-128.0.0.0/2" },
	{ 6000, "-0.0.0.0/1" },
	{ 9000, "+::/1" },
	{ 9000, "spares 2" },
	{ 10000, "+192.0.2.3" },
	{ 11000, "+192.0.2.3" },
	{ 12000, "spares 3" },
	{ 12000, "+192.0.2.4" },
	{ 12500, "+255.255.255.254/31" },
	{ 12500, "+255.255.255.0/25" },
	{ 12500, "+255.255.255.255" },
	{ 12600, "+::/127" },
	{ 12600, "+::2/127" },
	{ 12600, "+::1" },
	{ 12600, "+0:0:0:1::/65" },
	{ 13000, "INT" },
	END,
};

static const struct step of_another_type[] = {
	{ -1, "+192.0.2.1" }, { 1000, "other 1" },    { 1000, "+192.0.2.2" }, { 2000, "other 0" },
	{ 3000, "other 1" },  { 3000, "+192.0.2.3" }, { 4000, "INT" },	      END,
};

static const struct step tries_again[] = {
	{ -1, "+192.0.2.1" },
	{ -1, "fail put 16 1" },
	{ 500, "+192.0.2.2" },
	{ 500, "fail put 28 1" },
	{ 1100, "fail put 28 1" },
	{ 3100, "fail put 28 1" },
	{ 7100, "fail put 28 1" },
	{ 15100, "fail put 28 1" },
	{ 31100, "fail put 28 1" },
	{ 61100, "fail put 28 1" },
	{ 100000, "fail put 28 1" },
	{ 200000, "fail guard 1 1" },
	{ 200000, "+192.0.2.3" },
	{ 220000, "+192.0.2.4" },
	{ 220000, "fail trial 16 1" },
	{ 220000, "fail trial 16 1" },
	{ 220000, "fail trial 16 1" },
	{ 220000, "fail trial 16 1" },
	{ 250000, "TERM" },
	END,
};

static const struct step too_much[] = {
	{ -1, "=192.0.2.0/24" },
	{ -1, "=198.51.100.0/28" },
	{ -1, "=203.0.117.0/30" },
	{ -1, "limit 20" },
	{ -1, "+192.0.2.0/24" },
	{ -1, "+198.51.100.0/29" },
	{ -1, "+203.0.113.0/24" },
	{ -1, "+203.0.117.0/24" },
	{ -1, "+203.0.114.0/28" },
	{ -1, "+203.0.115.1" },
	{ -1, "+2001:db8::/56" },
	{ -1, "+2001:db8:1::/64" },
	{ 5000, "+203.0.115.2" },
	{ 6000, "limit 0" },
	{ 6000, "+203.0.115.3" },
	{ 7000, "limit 2" },
	{ 7000, "+203.0.116.0/30" },
	{ 7000, "fail much 12 2" },
	{ 7500, "fail get 5 1" },
	{ 8500, "TERM" },
	END,
};

static const struct step is_lost[] = {
	{ -1, "+192.0.2.1..10" },  { 1000, "-192.0.2.1..5" },  { 4000, "+192.0.2.1..4" },  { 9000, "-192.0.2.1..8" },
	{ 10000, "fail put 5 1" }, { 10000, "+192.0.2.11" },   { 12000, "+192.0.2.1..7" }, { 40000, "-192.0.2.1..9" },
	{ 105000, "+192.0.2.20" }, { 105000, "fail put 5 1" }, { 300000, "TERM" },	   END,
};

/* Some had gone already when so many had. */
static const struct step is_lost_slowly[] = {
	{ -1, "+192.0.2.1..20" },     { 1000, "-192.0.2.1..2" }, { 20000, "-192.0.2.3..9" },
	{ 40000, "-192.0.2.10..12" }, { 110000, "TERM" },	 END,
};

static const struct step cannot_be_followed[] = {
	{ -1, "+192.0.2.1" }, { 10, "fail take 105 1" }, { 10, "+192.0.2.2" }, END
};
static const struct step not_read_then[] = { { -1, "+192.0.2.1" }, { -1, "fail take 105 4" }, { 2000, "TERM" }, END };
static const struct step ends_at_once[] = { { -1, "TERM" }, END };
static const struct step no_rights[] = { { -1, "fail change 1 1" }, END };
static const struct step is_busy[] = { { -1, "fail change 16 1" }, { 1, "TERM" }, END };
static const struct step is_full[] = { { -1, "fail change 28 1" }, { 1, "TERM" }, END };
static const struct step not_alone[] = { { -1, "fail alone 16 1" }, END };
static const struct step no_source[] = { { -1, "fail source 1 1" }, END };
static const struct step not_its[] = { { -1, "fail get 17 1" }, END };
static const struct step not_taken[] = { { -1, "fail take 5 1" }, END };

static const struct routes_options plain = { .wish = { 667, 0, 1ULL << RTN_BLACKHOLE }, .grace = 60000 };

static void run(const struct step *all, const struct routes_options *options)
{
	struct context context = CONTEXT_DEFAULT;
	int err;

	ranges_free(&in_force);
	in_force = RANGES_EMPTY;
	if (routes_begin(&kernel, 0))
		abort();
	kernel.seed = 0;
	is_open = is_taken = false;
	readings = 1;
	has_other = false;
	gateways = gateways_said = 0;
	limit = 0;
	takes = 0;
	spared_n = 0;
	arrays = 0;
	shows_begin(&shows);
	model_begin(all);
	err = follow_routes(&context, options);
	line("it ends: %s", err ? reason(err) : "done");
	if (arrays || is_taken || is_open)
		line("%d are left%s%s", arrays, is_taken ? ", taken" : "", is_open ? ", open" : "");
	routes_end(&kernel);
	ranges_free(&in_force);
	in_force = RANGES_EMPTY;
}

static void word_for_word(void)
{
	static const struct routes_options four = { .wish = { 667, 4, 3 }, .shadow = true, .grace = 0 };
	static const struct routes_options six = { .wish = { 66, 6, 3 }, .wide = true, .grace = 1 };
	static const struct routes_options main_one = { .wish = { RT_TABLE_MAIN, 4, 1ULL << RTN_BLACKHOLE } };
	static const struct routes_options named = { .wish = { 66, 6, 3 }, .list = "mine", .grace = 1 };
	static const struct {
		const char *name;
		const struct step *steps;
		const struct routes_options *options;
	} each[] = {
		{ "it goes well", goes_well, &plain },
		{ "what is left out", leaves_out, &plain },
		{ "a route of another type", of_another_type, &plain },
		{ "a route of another type of the main table", of_another_type, &main_one },
		{ "it is tried again", tries_again, &plain },
		{ "it is too much", too_much, &plain },
		{ "most is lost", is_lost, &plain },
		{ "most is lost slowly", is_lost_slowly, &plain },
		{ "it cannot be followed any more", cannot_be_followed, &plain },
		{ "nor read", not_read_then, &plain },
		{ "it ends at once", ends_at_once, &plain },
		{ "without rights", no_rights, &four },
		{ "another command is at work", is_busy, &four },
		{ "the disk is full", is_full, &six },
		{ "another follows it", not_alone, &named },
		{ "without a table", no_source, &named },
		{ "the list is another's", not_its, &plain },
		{ "the table cannot be taken", not_taken, &plain },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		run(each[i].steps, each[i].options);
		shows_as(&shows, each[i].name);
	}
}

/* So many addresses that are spared are said, and no more. */
static void said_most(void)
{
	static const struct step many[] = { { -1, "+192.0.2.1" },  { -1, "spares 255" }, { 100, "spares 280" },
					    { 100, "+192.0.2.2" }, { 200, "TERM" },	 END };
	static char text[1 << 17];
	size_t said = 0;
	ssize_t n;

	run(many, &plain);
	fflush(stdout);
	dup2(shows.out, STDOUT_FILENO);
	n = pread(shows.seen, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(shows.out);
	close(shows.seen);
	for (const char *at = text; (at = strstr(at, "! route table 667: 198.18.")); at++)
		said++;
	CHECK(said == 256, "%zu are said", said);
}

/* What may be in force by itself. */
static void sound(void)
{
	static const struct {
		const char *prefix;
		bool sound;
	} cases[] = {
		{ "192.0.2.0/24", false },     { "192.0.2.0/25", true },	{ "192.0.2.1/32", true },
		{ "255.255.255.0/25", false }, { "255.255.255.255/32", false }, { "255.255.254.255/32", true },
		{ "2001:db8::/64", false },    { "2001:db8::/65", true },	{ "::1/128", false },
		{ "::1:0:0:0:1/128", true },   { "0.0.0.1/32", false },		{ "127.0.0.128/25", false },
		{ "224.0.0.1/32", false },     { "240.0.0.1/32", true },	{ "fe80::1/128", false },
		{ "ff02::1/128", false },      { "fec0::1/128", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct addr first;
		unsigned int length;

		if (prefix_parse(cases[i].prefix, strlen(cases[i].prefix), &first, &length))
			abort();
		CHECK(is_sound(first, length) == cases[i].sound, "%s", cases[i].prefix);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word },
						  { "said most", said_most },
						  { "what is sound", sound } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
