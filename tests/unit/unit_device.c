// SPDX-License-Identifier: GPL-2.0-only
/* Names of ports in a text that names some. */
#include "kernel/device.c"
#include "ktap.h"

static void names(void)
{
	static const struct {
		const char *names, *name;
		bool is;
	} known[] = {
		{ "edge1", "edge1", true },
		{ "edge10", "edge1", false },
		{ "edge10, edge1", "edge1", true },
		{ "edge1, edge10", "edge1", true },
		{ "edge10, edge11", "edge1", false },
		{ "an-edge1, edge2", "edge1", false },
		{ "edge1edge1, edge1", "edge1", true },
		{ "edge1 and 2 more", "edge1", false },
		{ "edge1,edge2", "edge1", false },
		{ "", "edge1", false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK(is_named(known[i].names, known[i].name) == known[i].is, "'%s' in '%s'", known[i].name,
		      known[i].names);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "names", names } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
