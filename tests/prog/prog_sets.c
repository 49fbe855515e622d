// SPDX-License-Identifier: GPL-2.0-only
/*
 * The real programs in the real kernel, for every kind of set: stages that a set does not need and that are not in its
 * program, every layout of the filter, lists that only count; and the memory that all of it takes.
 */
#include "worth_asking.h"

static bool some_shapes(bool exact)
{
	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < FRAME_SHAPES; i++)
			if (!ask_shape(&frame_shapes[i], FRAME_MAX - 1, exact))
				return false;
	return check_all_counters();
}

/* Programs without the stages that their set does not need. */
static void other_sets(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	hosts_only();
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model = (struct naive){ .label = { 3 } };
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	add(4, 0x0b000000, 8, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	add(6, IP6(0x20010db800000000, 0), 32, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	add(6, (ip6)1 << 127, 1, 0);
	add(6, 5, 128, 0);
	if (!install(&settings, NULL) || !some_shapes(true))
		goto failed;
	model.n = 0;
	for (unsigned int length = 20; length <= 128; length++) /* all rungs there can be */
		add(6, ((ip6)1 << 125) + ((ip6)1 << (128 - length)), length, 0);
	if (!install(&settings, NULL) || !CHECK(live.g.rungs == RUNGS_MAX, "%llu rungs", live.g.rungs) ||
	    !some_shapes(true))
		goto failed;
	return;
failed:
	printf("# the set had %zu ranges\n", model.n);
}

/* The filter alone decides: no banned packet passes, and the programs agree with the arrays on all others. */
static void without_roster(void)
{
	struct settings settings = SETTINGS_DEFAULT;

	settings.exact = false;
	hosts_only();
	if (install(&settings, NULL))
		some_shapes(false);
}

/* Every layout of the filter, with both families, all rungs, and with the roster or alone. */
static void every_layout(void)
{
	static const unsigned int ks[] = { 1, 2, 11, 24 };

	for (enum layout layout = 0; layout < LAYOUTS; layout++) {
		for (size_t k = 0; k < (layout == LAYOUT_CLASSIC ? sizeof(ks) / sizeof(*ks) : 1); k++) {
			struct settings settings = SETTINGS_DEFAULT;

			settings.layout = layout;
			settings.k = ks[k];
			settings.exact = true;
			everything();
			for (unsigned int length = 20; length <= 128; length++)
				add(6, ((ip6)1 << 125) + ((ip6)1 << (128 - length)), length, 0);
			if (!install(&settings, NULL) ||
			    !CHECK(live.g.filter_layout == layout && live.g.rungs == RUNGS_MAX, "not the layout") ||
			    !some_shapes(true))
				return;
			settings.exact = false;
			hosts_only();
			if (!install(&settings, NULL) || !some_shapes(false))
				return;
		}
	}
}

static void shadow_lists(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	__u64 shadow[LABELS / 64] = { [200 / 64] = 1ULL << 200 % 64 };

	everything();
	if (install(&settings, shadow))
		some_shapes(true);
}

/* What was predicted is what the kernel holds, to the byte. */
static void memory(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	__u64 bytes[ARRAYS];

	for (int set = 0; set < 2; set++) {
		struct candidate there;
		int err;

		if (set)
			everything();
		else
			hosts_only();
		for (uint32_t i = 0; i < 3000; i++)
			add(4, (uint32_t)ktap_random(), 32, i % 3);
		if (!install(&settings, NULL))
			return;
		err = kernel_open_live(&own_context, &there);
		if (!CHECK(!err, "the maps: %s", reason(err)))
			return;
		kernel_map_bytes(&there, bytes);
		kernel_release(&there);
		for (enum array a = 0; a < ARRAYS; a++) {
			__u64 predicted = array_bytes(&live.g, a);

			CHECK(bytes[a] == predicted, "%s: %llu bytes, not %llu", array_kinds[a].name, bytes[a],
			      predicted);
		}
	}
}

static int run_cases(void)
{
	static const struct ktap_case cases[] = {
		{ "sets that leave stages out", other_sets },	{ "without a roster", without_roster },
		{ "every layout of the filter", every_layout }, { "shadow lists pass, and are counted", shadow_lists },
		{ "the memory that was predicted", memory },
	};

	return in_force_run(cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return own_pins_run(run_cases);
}
