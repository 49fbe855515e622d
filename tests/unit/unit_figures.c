// SPDX-License-Identifier: GPL-2.0-only
/* What sets, settings and limits come to in figures: at the bounds of each choice, and around them; word for word. */
#include <errno.h>
#include <math.h>

#include "base/log.h"
#include "bpf/filter.h"
#include "filter/arrays.h"
#include "filter/forecast.h"
#include "filter/layout.h"
#include "filter/limits.h"
#include "filter/measured_rate.h"
#include "filter/plan_sizes.h"
#include "filter/roster_table.h"
#include "ktap.h"
#include "naive.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_figures.txt"
};

static struct shows shows = { .file = "tests/unit/unit_figures.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define U(number) ((unsigned long long)(number))

static void print_generation(const struct generation *g)
{
	struct stage_bytes bytes;
	__u64 of[ARRAYS];

	printf("  version %llu%s%s%s, filter %llu of layout %llu, k %llu, lanes %llu, %llu, for %llu\n", U(g->version),
	       g->samples ? ", samples" : "", g->embedded ? ", embedded" : "", g->inner ? ", inner" : "", U(g->filter),
	       U(g->filter_layout), U(g->filter_k), U(g->lanes_blocks), U(g->filter_blocks), U(g->capacity));
	if (g->gate4 || g->keys4 || g->all24)
		printf("  IPv4: gate %llu, label %llu%s, %llu keys, %llu whole, %llu minorities, roster %llu: %llu%s for %llu\n",
		       U(g->gate4), U(g->gate4_label), g->gate4_labels ? ", of each" : "", U(g->keys4), U(g->all24),
		       U(g->minorities), U(g->roster4), U(buckets4(g)), keeps_codes4(g) ? " of codes" : "",
		       U(g->capacity4));
	if (g->rungs || g->keys6) {
		printf("  IPv6: gate %llu of 2^%llu, %llu keys of %llu, roster %llu: %llu for %llu, rungs", U(g->gate6),
		       U(g->gate6_log2), U(g->keys6), U(g->prefixes6), U(g->roster6), U(g->roster6_buckets),
		       U(g->capacity6));
		for (unsigned int i = 0; i < g->rungs; i++)
			printf(" %llu", U(g->rung[i].length));
		puts("");
	}
	for (enum array a = 0; a < ARRAYS; a++)
		of[a] = array_bytes(g, a);
	bytes = stage_bytes(of);
	printf("  bytes: gate %llu, filter %llu, roster %llu, labels %llu, in all %llu, %llu; rosters %llu\n",
	       U(bytes.gate), U(bytes.filter), U(bytes.roster), U(bytes.labels), U(bytes.total), U(arrays_total(g)),
	       U(arrays_rosters(g)));
}

static void plan(const char *of, const struct counts *n, const struct settings *settings)
{
	struct generation g;
	int err = plan_sizes(&g, n, settings);

	printf("%s:%s%s\n", of, err ? " " : "", err ? reason(err) : "");
	if (!err)
		print_generation(&g);
}

static const struct settings by_default = SETTINGS_DEFAULT;

/* Where the gate of IPv4 is left out, and whose label it has. */
static void gates(void)
{
	static const struct counts sets[] = {
		{ .hosts = 0 },
		{ .hosts = 1, .some24 = 1 },
		{ .all24 = 1 },
		{ .all24 = 1, .hosts = 2047, .some24 = 9 },
		{ .all24 = 1, .hosts = 2048, .some24 = 9 },
		{ .all24 = 1, .hosts = 2049, .some24 = 9 },
		{ .hosts = 251658, .some24 = 251658 },
		{ .hosts = 251659, .some24 = 251659 },
		{ .all24 = 9, .label = 3 },
		{ .all24 = 9, .label = 3, .labels_differ = true },
		{ .all24 = 9, .label = 3, .minorities = 2 },
		{ .all24 = 9, .label = 3, .minorities = 2, .labels_differ = true },
		{ .all24 = 9, .hosts = 9, .some24 = 2, .label = 3, .minorities = 700 },
	};
	struct settings s = by_default;
	char of[100];

	for (int i = 0; i < 4; i++) {
		s.exact = !(i & 1);
		s.labels = !(i & 2);
		for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++) {
			snprintf(of, sizeof(of), "%llu hosts in %llu, %llu whole%s%s%s", U(sets[k].hosts),
				 U(sets[k].some24), U(sets[k].all24), sets[k].labels_differ ? ", of several" : "",
				 s.exact ? "" : ", without a roster", s.labels ? "" : ", without labels");
			plan(of, &sets[k], &s);
		}
	}
}

/* Of how many keys on a roster has so many buckets, and keeps codes. */
static void rosters(void)
{
	static const uint64_t hosts[] = { 558,	  559,	  560,	  698,	   699,	    812725,
					  812726, 981818, 981819, 1080000, 1080001, 40000000 };
	static const double headrooms[] = { 0, 0.1, 10 };
	struct settings s = by_default;
	struct generation g;
	char of[100];

	for (size_t h = 0; h < sizeof(headrooms) / sizeof(*headrooms); h++)
		for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
			struct counts n = { .hosts = hosts[i], .some24 = hosts[i] / 2 };

			s.headroom = headrooms[h];
			snprintf(of, sizeof(of), "%llu hosts, headroom %g", U(hosts[i]), s.headroom);
			plan(of, &n, &s);
			n.all24 = hosts[i];
			n.minorities = hosts[i] / 3;
			if (h == 1) {
				strcat(of, ", and whole /24s");
				plan(of, &n, &s);
			}
			n = (struct counts){ .v6[64] = hosts[i], .nets32 = 5 };
			snprintf(of, sizeof(of), "%llu of IPv6, headroom %g", U(hosts[i]), s.headroom);
			plan(of, &n, &s);
		}
	for (size_t i = 4; i < sizeof(hosts) / sizeof(*hosts); i++) {
		ENOUGH(!plan_sizes(&g, &(struct counts){ .hosts = hosts[i] }, &by_default));
		printf("%llu buckets", U(buckets4(&g)));
		for (int k = 0; k < 3; k++) {
			plan_more_buckets4(&g);
			printf(", %llu", U(buckets4(&g)));
		}
		printf("%s\n", keeps_codes4(&g) ? " of codes" : "");
	}
}

/* Prefixes of IPv6: rungs and masks, and where there is a gate of which size. */
static void prefixes(void)
{
	static const unsigned int lengths[] = { 0, 1, 31, 32, 63, 64, 65, 127, 128 };
	static const double nets[] = {
		1, 8191, 8192, 8193, 16384, 16385, 1e5, 2097152, 2097153, 4194304, 4194305, 1e8
	};
	static const uint64_t keys[] = { 4000000000, 4000000001 };
	struct counts n = { .v6[48] = 1 };
	char of[100];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct rung r = rung_of(lengths[i]);

		printf("/%llu: %016llx %016llx, salt %llu\n", U(r.length), U(r.mask_hi), U(r.mask_lo), U(r.salt));
		n = (struct counts){ .v6[48] = 2, .nets32 = 3 };
		n.v6[lengths[i]] = 7;
		snprintf(of, sizeof(of), "/%u and /48", lengths[i]);
		plan(of, &n, &by_default);
	}
	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++) {
		n = (struct counts){ .v6[48] = 9, .nets32 = nets[i] };
		snprintf(of, sizeof(of), "in %.0f /32s", nets[i]);
		plan(of, &n, &by_default);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		n = (struct counts){ .v6[128] = keys[i], .nets32 = 9 };
		snprintf(of, sizeof(of), "%llu keys", U(keys[i]));
		plan(of, &n, &by_default);
	}
	n = (struct counts){ .v6[16] = 1, .v6[20] = 255, .v6[24] = 9, .nets32 = 9 };
	plan("short ones", &n, &by_default);
	n = (struct counts){ .v6[32] = 1, .v6[48] = 4097, .v6[64] = 4096 * 8, .v6[128] = 12345, .nets32 = 9 };
	plan("of all kinds", &n, &by_default);
}

static void print_layout(const char *of, const struct layout_plan *l)
{
	printf("  %s: %s, k %u, %.5g bits a key, rate %.5g\n", of, layout_names[l->kind], l->k, l->bits_per_key,
	       l->fpr);
}

/* Which layout is chosen, of which size, and what the memory forbids. */
static void layouts(void)
{
	static const double rates[] = { 0, 1e-7, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5 };
	static const double bits[] = { 4, 10, BITS_USUAL, 24, 40, 64 };
	static const double keys[] = { 0, 1, 2048, 2049, 1e6, 6.87e10, 6.88e10, 1e11 };
	struct settings s = by_default;

	for (s.layout = LAYOUT_LANES; s.layout <= LAYOUT_AUTO; s.layout++)
		for (s.k = 0; s.k <= 24; s.k += 12)
			for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
				for (size_t b = 0; b < (rates[i] > 0 ? 1 : sizeof(bits) / sizeof(*bits)); b++) {
					struct layout_plan chosen, leanest;

					if (s.k && s.layout != LAYOUT_CLASSIC)
						continue;
					s.fpr = rates[i];
					s.bits_per_key = rates[i] > 0 ? BITS_USUAL : bits[b];
					chosen = layout_choose(&s);
					leanest = layout_leanest(&s);
					printf("%s, k %u, rate %g, %g bits: by cost %d\n", layout_names[s.layout], s.k,
					       s.fpr, s.bits_per_key, settings_auto(&s));
					print_layout("chosen", &chosen);
					if (memcmp(&chosen, &leanest, sizeof(chosen)))
						print_layout("leanest", &leanest);
				}
	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		s = by_default;
		s.layout = layout;
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			struct layout_plan l = layout_choose(&s);
			struct generation g = { 0 };
			int err = layout_size(&g, &l, keys[i]);
			struct filter_shape shape = layout_shape(&g);

			printf("%s, %g keys: %s\n", layout_names[layout], keys[i], err ? reason(err) : "fits");
			if (!err)
				printf("  %llu blocks, %llu, lanes %llu, k %llu, for %llu, %.5g bits; %.5g, %g, %d\n",
				       U(g.filter), U(g.filter_blocks), U(g.lanes_blocks), U(g.filter_k), U(g.capacity),
				       layout_bits(&g), shape.bits, shape.k, shape.lanes);
		}
	}
}

/* Where the memory has a limit, a leaner layout, or none. */
static void memory(void)
{
	static const struct counts n = { .hosts = 1000000, .some24 = 900000, .v6[64] = 1000, .nets32 = 800 };
	struct settings s = by_default;
	struct generation g;
	char of[100];

	ENOUGH(!plan_sizes(&g, &n, &s));
	for (int i = -1; i <= 1; i++) {
		s.memory_max = arrays_total(&g) + (uint64_t)i;
		snprintf(of, sizeof(of), "%d bytes more than it takes", i);
		plan(of, &n, &s);
	}
	s.exact = false;
	s.fpr = 1e-5;
	for (s.memory_max = 1 << 20; s.memory_max <= 1 << 23; s.memory_max *= 2) {
		snprintf(of, sizeof(of), "%llu bytes without a roster", U(s.memory_max));
		plan(of, &n, &s);
	}
	s = by_default;
	s.samples = 0;
	s.embedded = s.inner = true;
	plan("no samples", &n, &s);
	s.lines = line_times_usual();
	plan("by cost", &n, &s);
	s.lines.kept = 12;
	plan("by cost, with 12 bits until now", &n, &s);
}

/* What a line of so much memory takes, and which measurements are believed. */
static void lines(void)
{
	static const double rounds[][2] = { { 0.29, 0.29 }, { 0.29, 0.31 }, { 0.3, 0.3 },   { 0.3, 0.45 },
					    { 0.3, 0.46 },  { 2000, 2000 }, { 2001, 2001 }, { 40, 60 } };
	struct line_times t = line_times_usual();

	for (t.n = 2; t.n <= LINE_SIZES; t.n += 2) {
		printf("%u sizes:", t.n);
		for (double bytes = 1 << 10; bytes < 1e11; bytes *= 7)
			printf(" %.5g", line_ns(&t, bytes));
		printf("; %.5g\n", kept_ns(&t, 1e7, 12, 1e8));
	}
	for (unsigned int n = 3; n <= LINE_SIZES + 1; n++)
		for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
			line_rounds all[LINE_SIZES + 1];
			bool believed;

			for (unsigned int k = 0; k <= LINE_SIZES; k++)
				for (int r = 0; r < LINE_ROUNDS; r++)
					all[k][r] = k == (rounds[i][0] < 1 ? 0 : n - 1) ? rounds[i][r != 1] : 20 + k;
			t = (struct line_times){ .kept = 11 };
			believed = line_times_judge(&t, (const line_rounds *)all, n);
			printf("%u of %g, %g: %d, %u, measured %d, kept %g, last %g\n", n, rounds[i][0], rounds[i][1],
			       believed, t.n, t.measured, t.kept, t.ns[n > LINE_SIZES ? 0 : n - 1]);
		}
	for (double bits = 9; bits < 17; bits += 0.36)
		printf("%g bits: %g\n", bits, line_times_round(bits));
	for (double keys = 1 << 17; keys < 1e9; keys *= 4) {
		t = line_times_usual();
		printf("%g keys: matters %d, %g bits", keys, line_times_matter(keys),
		       line_times_bits(&t, keys, keys * 5));
		t.kept = 11.5;
		printf(", %g\n", line_times_bits(&t, keys, keys * 5));
	}
}

static void print_forecast(const struct forecast *f)
{
	printf("  layout %llu, k %llu, %llu blocks, gates %llu and %llu, %llu bytes\n", U(f->g.filter_layout),
	       U(f->g.filter_k), U(f->g.filter_blocks), U(f->g.gate4), U(f->g.gate6), U(f->bytes.total));
	printf("  %s, %.5g keys, %.5g bits a key, rate %.5g, full %.5g, asked %.5g, due %.5g\n",
	       f->fits ? "fits" : "does not fit", f->keys, f->bits_per_key, f->fpr, f->fpr_full, f->asked, f->due);
	printf("  strangers %.5g, %.5g, %.5g in all; lines %.5g, %.5g; headroom %.5g, by cost %d\n", f->verdict4,
	       f->verdict6, f->innocent4, f->lines_pass, f->lines_drop, f->settings.headroom, f->sizing.by_cost);
}

/* What a plan comes to, and what is solved for. */
static void forecasts(void)
{
	static const struct plan_goals goals[] = {
		{ 0, 0, -1 },	    { 0.001, 0, -1 },  { 0, 0, 0.5 },	      { 0, 0, 0 },
		{ 0, 4 << 20, -1 }, { 0, 8 << 20, 1 }, { 0.01, 8 << 20, -1 }, { 0, 1000, -1 },
	};
	struct settings s = by_default;
	struct counts sets[4];
	struct forecast f;
	double keys;
	int err;

	sets[0] = forecast_counts(1);
	sets[1] = forecast_counts(1e6);
	sets[2] = forecast_counts(1000);
	forecast_add6(&sets[2], 1000, 48);
	forecast_add6(&sets[2], 10, 31);
	forecast_add6(&sets[2], 10, 32);
	sets[3] = (struct counts){ .all24 = 5000, .label = 4 };
	forecast_add6(&sets[3], 20000, 64);
	for (size_t i = 0; i < 4; i++)
		printf("set %zu: %llu in %llu, %.5g, %.5g\n", i, U(sets[i].hosts), U(sets[i].some24), sets[i].nets32,
		       sets[i].lengths32);
	err = forecast_solve(&f, &(struct counts){ .v6[128] = 4000000001, .nets32 = 1 }, &s, &goals[4]);
	printf("too many: %s\n", reason(err));
	s.lines = line_times_usual();
	for (s.lines.measured = false;; s.lines.measured = true) {
		ENOUGH(!forecast_solve(&f, &sets[1], &s, &goals[0]));
		print_forecast(&f);
		printf("  %.5g ns, %.5g, %.5g bits, measured %d\n", f.sizing.ns, f.sizing.ns_usual,
		       f.sizing.bits_per_key, f.sizing.measured);
		if (s.lines.measured)
			break;
	}
	s.lines.n = 0;
	for (size_t k = 0; k < sizeof(goals) / sizeof(*goals); k++)
		for (int exact = 0; exact < 2; exact++)
			for (enum layout layout = exact ? LAYOUT_AUTO : 0; layout <= LAYOUT_AUTO; layout++) {
				s.exact = exact;
				s.layout = layout;
				for (size_t i = 0; i < 4; i++) {
					if (layout != LAYOUT_AUTO && (k || i == 1))
						continue;
					err = forecast_solve(&f, &sets[i], &s, &goals[k]);
					printf("rate %g, memory %llu, headroom %g: set %zu, %s%s: %s\n", goals[k].fpr,
					       U(goals[k].memory), goals[k].headroom, i, layout_names[layout],
					       exact ? "" : ", no roster", err ? reason(err) : "");
					if (!err)
						print_forecast(&f);
				}
				if (!goals[k].memory || goals[k].headroom > 0 || layout != LAYOUT_AUTO)
					continue;
				err = forecast_keys(&keys, &s, &goals[k]);
				printf("  at most %.5g keys: %s\n", err ? 0 : keys, err ? reason(err) : "fits");
			}
}

/* A filter that is as full as that, of each layout. */
static void rates(void)
{
	static __u64 blocks[4 * FILTER_LANES];
	static const int percents[] = { 0, 25, 50, 100 };

	for (enum layout layout = 0; layout < LAYOUTS; layout++)
		for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
			struct generation g = { .filter = (__u64)(uintptr_t)blocks,
						.filter_blocks = 4,
						.filter_layout = layout,
						.filter_k = 5 };
			struct rate rate;

			for (size_t k = 0; k < 4 * FILTER_LANES; k++) {
				int share = percents[i] + (k < FILTER_LANES && percents[i] == 50 ? 25 : 0);

				blocks[k] = share == 100 ? ~0ULL : (1ULL << (64 * share / 100)) - 1;
			}
			rate_measure(&g, &rate);
			printf("%s, %d %%: fill %.5g, rate %.5g +- %.5g%s; passed %d %d %d\n", layout_names[layout],
			       percents[i], rate.fill, rate.fpr, rate.error, rate.sampled ? ", a sample" : "",
			       rate_passed(&rate, 0), rate_passed(&rate, rate.fpr), rate_passed(&rate, rate.fpr / 2));
		}
	for (int i = 0; i < 16; i++) {
		struct generation g = { .keys4 = i & 1, .keys6 = i & 2, .roster4 = i & 4, .roster6 = i & 8 };

		printf("%d: %.5g %.5g %.5g\n", i, rate_verdict(&g, 0.01, 4, 3), rate_verdict(&g, 0.01, 6, 3),
		       rate_verdict(&g, 0.01, 6, 1.5));
	}
	for (int i = 0; i < 4; i++) {
		static __u8 gate[1 << 4];
		struct generation g = { .rungs = 5, .gate6 = i ? (__u64)(uintptr_t)gate : 0, .gate6_log2 = 4 };

		memset(gate, 0, sizeof(gate));
		if (i > 1)
			gate[0] = 1;
		if (i > 2)
			gate[15] = 7;
		printf("rungs %.5g\n", rate_rungs(&g));
	}
}

/* What each setting takes, and what is said where it does not. */
static void settings(void)
{
	static const char *const typed[][2] = {
		{ "exact", "on" },
		{ "exact", "off" },
		{ "exact", "maybe" },
		{ "labels", "on" },
		{ "labels", "off" },
		{ "layout", "auto" },
		{ "layout", "lanes" },
		{ "layout", "lanes2" },
		{ "layout", "classic" },
		{ "layout", "class" },
		{ "k", "0" },
		{ "k", "24" },
		{ "k", "25" },
		{ "k", "-1" },
		{ "k", "1.5" },
		{ "embedded", "on" },
		{ "inner", "off" },
		{ "fpr", "auto" },
		{ "fpr", "0.01" },
		{ "fpr", "0.5" },
		{ "fpr", "0.51" },
		{ "fpr", "1e-7" },
		{ "fpr", "0.9e-7" },
		{ "headroom", "0" },
		{ "headroom", "12.5" },
		{ "headroom", "1000" },
		{ "headroom", "1001" },
		{ "samples", "0" },
		{ "samples", "99.9" },
		{ "samples", "100000" },
		{ "samples", "100001" },
		{ "memory", "0" },
		{ "memory", "64M" },
		{ "memory", "x" },
		{ "fetch-most", "1K" },
		{ "fetch-most", "1" },
		{ "fetch-most", "1000G" },
		{ "fetch-most", "64M" },
		{ "fetch-most", "x" },
		{ "fetch-unpacked", "1G" },
		{ "fetch-unpacked", "1000G" },
	};
	int errors = dup(STDERR_FILENO);

	fflush(stdout);
	ENOUGH(errors >= 0 && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0);
	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		double number = -1;
		const struct setting *s = setting_parse(typed[i][0], typed[i][1], &number);

		printf("%s %s: %s %.12g\n", typed[i][0], typed[i][1], s ? s->name : "none", s ? number : 0);
		fflush(stdout);
	}
	ENOUGH(dup2(errors, STDERR_FILENO) >= 0);
	close(errors);
	for (unsigned int i = 0; i < settings_n; i++)
		printf("%s by --%s, %d, %.12g to %.12g: %s\n", settings_table[i].name,
		       settings_table[i].option ?: "none", settings_table[i].kind, settings_table[i].least,
		       settings_table[i].most, settings_table[i].help);
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "gates", gates },	  { "rosters", rosters }, { "prefixes", prefixes },
		{ "layouts", layouts },	  { "memory", memory },	  { "lines", lines },
		{ "settings", settings }, { "rates", rates },	  { "forecasts", forecasts },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
