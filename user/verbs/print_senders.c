// SPDX-License-Identifier: GPL-2.0-only
/* How much sources send, and the limits that follow from it. */
#include "state/limits.h"
#include "state/state.h"
#include "verbs/verbs.h"

static struct limits limits_here(const struct context *context)
{
	struct state *state = NULL;
	struct limits limits = state_limits(state_open(&state, context, false) ? NULL : state);

	state_close(state);
	return limits;
}

static double number(const json_t *class, const char *field)
{
	return json_number_value(json_object_get(class, field));
}

/* Those that the proposed limit may hit. */
static void print_above(const json_t *c, enum packet_class class)
{
	const json_t *busiest = json_object_get(c, "busiest"), *one;
	bool first = true;

	for (size_t i = 0; (one = json_array_get(busiest, i)); i++) {
		char rate[LIMIT_TEXT_MAX];

		if (!json_is_true(json_object_get(one, "above")))
			continue;
		out_line("%-10s %-43s %9s", first ? limit_names[class] : "",
			 json_string_value(json_object_get(one, "source")) ?: "-",
			 limit_text(rate, class, number(one, "second")));
		first = false;
	}
}

/* As detect limit takes it. */
static void print_commands(const json_t *classes)
{
	const char *before = "\nTo take them over:\n";
	char rate[LIMIT_TEXT_MAX];

	for (enum packet_class class = 0; class < LIMITED; class ++) {
		double proposed = number(json_object_get(classes, limit_names[class]), "proposed");

		if (proposed > 0) {
			printf("%sxdp-bloom detect limit %s %s\n", before, limit_names[class],
			       limit_text(rate, class, proposed));
			before = "";
		}
	}
}

void print_senders(const struct context *context, const json_t *senders)
{
	const json_t *classes = json_object_get(senders, "classes");
	struct limits limits = limits_here(context);
	double one_in = number(senders, "one_in");
	bool above = false;

	printf("What passed, by source and its busiest second");
	if (one_in > 1)
		printf(", of one source in %.0f", one_in);
	puts(":");
	printf("%-10s %8s %9s %9s %9s %9s %9s %9s\n", "CLASS", "SOURCES", "MEDIAN", "99 %", "99.9 %", "MOST", "LIMIT",
	       "PROPOSED");
	for (enum packet_class class = 0; class < LIMITED_ALONE; class ++) {
		const json_t *c = json_object_get(classes, limit_names[class]);
		const json_t *most = json_array_get(json_object_get(c, "busiest"), 0);
		double rates[] = { number(c, "median"),	   number(c, "p99"),	  number(c, "p999"),
				   number(most, "second"), limits.of[class].rate, number(c, "proposed") };

		printf("%-10s %8.0f", limit_names[class], number(c, "sources"));
		for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
			char text[LIMIT_TEXT_MAX];

			printf(" %9s", rates[i] > 0 ? limit_text(text, class, rates[i]) : "-");
		}
		putchar('\n');
		above |= number(c, "above") > 0;
	}
	if (above)
		puts("\nThe limits proposed may hit these, the busiest of each class:");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		print_above(json_object_get(classes, limit_names[class]), class);
	/* A capture cannot know the sockets of this machine, and the tap that looks asks none of them. */
	puts("\nOf unanswered and scan nothing is proposed, as sockets tell them and packets do not: give these a limit that only\n"
	     "watches, as in 'xdp-bloom detect limit scan 10/s', and see in 'xdp-bloom detect' whom it would hit.");
	print_commands(classes);
}
