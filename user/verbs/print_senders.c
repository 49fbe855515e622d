// SPDX-License-Identifier: GPL-2.0-only
/* How much sources send, and the limits that follow from it. */
#include "observe/senders.h"
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

static int all_classes(const struct senders *senders, struct sender_class is[LIMITED])
{
	int err = 0;

	for (enum packet_class class = 0; class < LIMITED && !err; class ++)
		err = senders_class(senders, class, &is[class]);
	return err;
}

static json_t *busiest_json(const struct sender_class *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++) {
		char text[PREFIX_TEXT_MAX];

		json_array_append_new(array, json_pack("{s:s, s:I, s:b}", "source",
						       source_key_text(text, c->busiest[i].key, c->busiest[i].kind),
						       "second", (json_int_t)c->busiest[i].peak, "above",
						       (double)c->busiest[i].peak > c->proposed / 2));
	}
	return array;
}

int out_senders(const struct senders *senders, uint64_t one_in, json_t **object)
{
	json_t *classes = json_object();
	struct sender_class is[LIMITED];
	int err = all_classes(senders, is);

	for (enum packet_class class = 0; class < LIMITED && !err; class ++) {
		const struct sender_class *c = &is[class];

		json_object_set_new(classes, limit_names[class],
				    !c->sources ? json_null()
						: json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:o}", "sources",
							    (json_int_t)c->sources, "median", (json_int_t)c->median,
							    "p99", (json_int_t)c->most99, "p999",
							    (json_int_t)c->most999, "proposed", c->proposed, "above",
							    (json_int_t)c->above, "busiest", busiest_json(c)));
	}
	if (err) {
		json_decref(classes);
		return err;
	}
	*object = json_pack("{s:I, s:o}", "one_in", (json_int_t)(one_in * senders_share(senders)), "classes", classes);
	return 0;
}

/* Those that the proposed limit may hit. */
static void print_above(const struct sender_class *c, enum packet_class class)
{
	for (size_t i = 0; i < c->n && (double)c->busiest[i].peak > c->proposed / 2; i++) {
		char text[PREFIX_TEXT_MAX], rate[LIMIT_TEXT_MAX];

		printf("%-10s %-43s %9s\n", i ? "" : limit_names[class],
		       source_key_text(text, c->busiest[i].key, c->busiest[i].kind),
		       limit_text(rate, class, (double)c->busiest[i].peak));
	}
}

/* As detect limit takes it. */
static void print_command(const struct sender_class *c, enum packet_class class)
{
	char rate[LIMIT_TEXT_MAX];

	if (c->proposed > 0)
		printf("xdp-bloom detect limit %s %s\n", limit_names[class], limit_text(rate, class, c->proposed));
}

int print_senders(const struct context *context, const struct senders *senders, uint64_t one_in)
{
	struct limits limits = limits_here(context);
	struct sender_class is[LIMITED];
	int err = all_classes(senders, is);
	bool above = false;

	if (err)
		return err;
	one_in *= senders_share(senders);
	printf("What passed, by source and its busiest second");
	if (one_in > 1)
		printf(", of one source in %llu", (unsigned long long)one_in);
	puts(":");
	printf("%-10s %8s %9s %9s %9s %9s %9s %9s\n", "CLASS", "SOURCES", "MEDIAN", "99 %", "99.9 %", "MOST", "LIMIT",
	       "PROPOSED");
	for (enum packet_class class = 0; class < LIMITED; class ++) {
		const struct sender_class *c = &is[class];
		double rates[] = { (double)c->median,	       (double)c->most99,     (double)c->most999,
				   (double)c->busiest[0].peak, limits.of[class].rate, c->proposed };

		printf("%-10s %8llu", limit_names[class], (unsigned long long)c->sources);
		for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
			char text[LIMIT_TEXT_MAX];

			printf(" %9s", rates[i] > 0 ? limit_text(text, class, rates[i]) : "-");
		}
		putchar('\n');
		above |= c->above > 0;
	}
	if (above)
		puts("\nThe limits proposed may hit these, the busiest of each class:");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		print_above(&is[class], class);
	puts("\nTo take them over:");
	for (enum packet_class class = 0; class < LIMITED; class ++)
		print_command(&is[class], class);
	return 0;
}
