// SPDX-License-Identifier: GPL-2.0-only
/* compare: how much two lists or images overlap; for files it needs no rights and no kernel */
#include <math.h>
#include <unistd.h>

#include "image/compare.h"
#include "sets/reader.h"
#include "state/state.h"
#include "verbs/verbs.h"

static int read_loaded(const struct context *context, struct side *side)
{
	struct state *state = NULL;
	struct list_info list;
	int err = state_open(&state, context, false);

	if (!err)
		err = state_list_get(state, side->name, &list);
	if (!err)
		err = state_list_whole_set(state, &list, &side->set);
	state_close(state);
	return err;
}

/* A loaded list is preferred to a file of the same name; "./name" is the file, "-" standard input. */
static int read_side(const struct context *context, struct side *side, const struct reader_options *reading,
		     const char *name)
{
	struct reader_report report;
	char error[READER_TEXT_MAX];
	int err = -ENOENT;

	side->name = name;
	if (strcmp(name, "-") != 0) {
		if (!strchr(name, '/'))
			err = read_loaded(context, side);
		if (!err || (!err_is(err, ENOENT) && access(name, F_OK)))
			return err;
		if (image_is(name))
			return side_image(side);
		if (access(name, F_OK) && !strchr(name, '/'))
			return because(-ENOENT, "'%s' is neither a loaded list nor a file", name);
	}
	err = reader_read(name, reading, &side->set, &report, error);
	if (err)
		return because(err, "%s", error);
	reader_warn_masked(&report);
	return 0;
}

static double share(ip6 part, ip6 whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static double jaccard(const struct overlap *o)
{
	return (double)o->a + (double)o->b > 0 ? (double)o->both / ((double)o->a + (double)o->b - (double)o->both)
					       : NAN;
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *only_json(ip6 n, ip6 both, bool known)
{
	char buf[NUMBER_TEXT_MAX];

	return known ? json_string(number_text(buf, n - both)) : json_null();
}

static json_t *overlap_json(const struct overlap *o, bool known, const char *unit)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], both[NUMBER_TEXT_MAX];

	if (!known)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "unit", unit, "a", number_text(a, o->a), "b",
			 number_text(b, o->b), "both", number_text(both, o->both), "only_a",
			 only_json(o->a, o->both, !o->from_b), "only_b", only_json(o->b, o->both, !o->from_a),
			 "jaccard", real(o->from_a || o->from_b ? NAN : jaccard(o)));
}

static json_t *estimate_json(const struct estimate *e)
{
	return json_pack("{s:o, s:o}", "keys", real(e->value), "error", real(e->error));
}

static int report_json(const struct context *context, const struct comparison *c)
{
	json_t *filter = json_null();

	if (c->estimated)
		filter = json_pack("{s:o, s:o, s:o, s:o}", "a", estimate_json(&c->keys_a), "b",
				   estimate_json(&c->keys_b), "both", estimate_json(&c->keys_both), "any",
				   estimate_json(&c->keys_any));
	return out_json(context,
			json_pack("{s:o, s:o, s:o, s:o, s:o}", "a", out_text(c->a.name), "b", out_text(c->b.name),
				  "ipv4", overlap_json(&c->v4, c->exact4, "addresses"), "ipv6",
				  overlap_json(&c->v6, c->exact6, c->keys6 ? "keys" : "addresses"), "filter", filter));
}

static void print_overlap(const char *family, const struct overlap *o, const char *unit)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX], both[NUMBER_TEXT_MAX], only_a[NUMBER_TEXT_MAX],
		only_b[NUMBER_TEXT_MAX];

	if (o->from_a || o->from_b) {
		printf("%s: of %s keys of %c, %c bans %s whole (%.1f %%)\n", family,
		       number_text(a, o->from_a ? o->a : o->b), o->from_a ? 'A' : 'B', o->from_a ? 'B' : 'A',
		       number_text(both, o->both), share(o->both, o->from_a ? o->a : o->b) * 100);
		return;
	}
	printf("%s: A %s, B %s %s; both %s", family, number_text(a, o->a), number_text(b, o->b), unit,
	       number_text(both, o->both));
	if (o->a && o->b)
		printf(" (%.1f %% of A, %.1f %% of B)", share(o->both, o->a) * 100, share(o->both, o->b) * 100);
	printf(", only A %s, only B %s", number_text(only_a, o->a - o->both), number_text(only_b, o->b - o->both));
	if (o->a || o->b)
		printf(", Jaccard %.3f", jaccard(o));
	putchar('\n');
}

static int report_text(const struct comparison *c)
{
	out_line("A: %s", c->a.name);
	out_line("B: %s", c->b.name);
	if (c->exact4)
		print_overlap("IPv4", &c->v4, "addresses");
	if (c->exact6 && (c->v6.a || c->v6.b))
		print_overlap("IPv6", &c->v6, c->keys6 ? "keys" : "addresses");
	if (!c->exact6 && !c->estimated)
		puts("IPv6: not known: an image keeps tags of prefixes, which only images of the same seeds share,\n"
		     "and in which a list of not too many keys can be looked up unless there are shadow lists");
	if (c->estimated)
		printf("by the filters' bits, keys: A %.0f +- %.0f, B %.0f +- %.0f; both %.0f +- %.0f, any %.0f +- %.0f\n",
		       c->keys_a.value, c->keys_a.error, c->keys_b.value, c->keys_b.error, c->keys_both.value,
		       c->keys_both.error, c->keys_any.value, c->keys_any.error);
	return out_end();
}

const struct option_spec compare_options[] = {
	READING_OPTIONS(reader_options, format, skip_bad, where),
	OPTIONS_END(struct reader_options),
};

int verb_compare(const struct call *call)
{
	const char *a = call->operands[0], *b = call->operands[1];
	struct comparison c = { 0 };
	int err, status;

	if (!strcmp(a, "-") && !strcmp(b, "-"))
		return fail("compare: %s", call->verb->asks);
	err = read_side(call->context, &c.a, call->options, a);
	if (!err)
		err = read_side(call->context, &c.b, call->options, b);
	if (!err)
		err = compare_sides(&c);
	if (err)
		status = fail("compare: %s", reason(err));
	else
		status = call->context->json ? report_json(call->context, &c) : report_text(&c);
	side_free(&c.a);
	side_free(&c.b);
	return status;
}
