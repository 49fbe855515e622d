// SPDX-License-Identifier: GPL-2.0-only
/* show: interfaces, stages, sizes, memory */
#include <errno.h>
#include <math.h>

#include "filter/layout.h"
#include "kernel/attach.h"
#include "base/clean_text.h"
#include "base/clock.h"
#include "observe/in_force.h"
#include "observe/documents.h"
#include "state/ports.h"
#include "state/state.h"
#include "verbs/verbs.h"

static json_t *stages_json(const struct generation *g)
{
	json_t *array = json_array();

	if (g->gate4)
		json_array_append_new(array, json_string("gate4"));
	if (g->gate6)
		json_array_append_new(array, json_string("gate6"));
	if (g->filter)
		json_array_append_new(array, json_string("filter"));
	if (g->roster4 || g->roster6)
		json_array_append_new(array, json_string("roster"));
	return array;
}

static json_t *image_json(const struct inforce *s)
{
	return s->image[0] ? json_pack("{s:s, s:s}", "id", s->image, "saved", s->saved) : json_null();
}

/* With a roster a high rate costs time; without one, innocent addresses are dropped. */
static void warn_rate(const struct inforce *s)
{
	if (rate_passed(&s->rate, s->asked))
		warn("the filter takes %.4f %% of other addresses, and the target is %.4f %%: %s", s->rate.fpr * 100,
		     s->asked * 100,
		     s->image[0] ? "make the image again with more --headroom" : "'xdp-bloom rotate' makes it bigger");
}

int waiting_of(struct state *state, struct pending **pending, size_t *n)
{
	size_t all = 0;
	int err = state_pending(state, pending, &all);

	*n = 0;
	for (size_t i = 0; i < all && !err; i++)
		if ((*pending)[i].deadline != PENDING_IN_PROGRESS)
			(*pending)[(*n)++] = (*pending)[i];
	return err;
}

/* Without a state nothing waits, and no ports are followed; of one that is damaged nobody knows. */
static int state_take(const struct context *context, struct pending **pending, size_t *n, struct ports_kept *ports)
{
	struct state *state = NULL;
	int err = state_open(&state, context, false) ?: waiting_of(state, pending, n) ?: ports_kept_take(ports, state);

	state_close(state);
	if (err && !err_is(err, EUCLEAN) && !err_is(err, ENOENT))
		warn("whether anything waits for confirm cannot be read: %s", reason(err));
	return err_is(err, EUCLEAN) ? err : 0;
}

double waiting_seconds(const struct pending *pending)
{
	return ceil((double)pending_left(pending, 0) / 1e9);
}

json_t *out_waiting(const struct pending *pending, size_t n)
{
	json_t *array = json_array();
	char text[UTC_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_pack("{s:o, s:s}", "name", out_text(pending[i].name), "goes_back",
						       utc_text(text, pending[i].deadline)));
	return array;
}

void waiting_line(bool first, const char *what, double seconds)
{
	const char *word = first ? "waiting" : "";
	char name[LIST_NAME_MAX];

	clean_copy(name, sizeof(name), what);
	if (seconds < 0.5)
		printf("%-11s %s: goes back now\n", word, name);
	else
		printf("%-11s %s: goes back in %.0f s unless you run: xdp-bloom confirm\n", word, name, seconds);
}

static void waiting_text(const struct pending *pending, size_t n)
{
	for (size_t i = 0; i < n; i++)
		waiting_line(!i, pending[i].name, waiting_seconds(&pending[i]));
}

static int show_json(const struct context *context, const struct inforce *s, const struct attachment *list, size_t n,
		     json_t *ports, json_t *waiting)
{
	return out_json(context,
			json_pack("{s:I, s:o, s:o, s:{s:I, s:I}, s:I, s:o, s:o, s:{s:s, s:i, s:f, s:f},"
				  " s:o, s:{s:f, s:f, s:f, s:f, s:b}, s:{s:f, s:f}, s:o, s:o, s:o}",
				  "generation", (json_int_t)s->g.number, "interfaces", out_interfaces(list, n),
				  "stages", stages_json(&s->g), "keys", "ipv4", (json_int_t)s->g.keys4, "ipv6",
				  (json_int_t)s->g.keys6, "banned24", (json_int_t)s->g.all24, "rungs", out_rungs(&s->g),
				  "memory", out_memory(&s->bytes), "filter", "layout", layout_names[s->g.filter_layout],
				  "k", (int)s->g.filter_k, "bits_per_key", s->bits_per_key, "fill", s->rate.fill,
				  "sized", out_sizing(&s->sizing), "fpr", "filter", s->rate.fpr, "verdict", s->verdict,
				  "asked", s->asked, "error", s->rate.error, "passed", rate_passed(&s->rate, s->asked),
				  "innocent", "per_million_ipv4", s->verdict4 * 1e6, "per_million_ipv6",
				  s->verdict6 * 1e6, "image", image_json(s), "waiting", waiting, "ports", ports));
}

const char *behind_text(char text[BEHIND_TEXT_MAX], unsigned int behind)
{
	text[0] = '\0';
	if (behind)
		snprintf(text, BEHIND_TEXT_MAX, ", behind %u other%s", behind, behind > 1 ? "s" : "");
	return text;
}

static int show_text(const struct inforce *s, const struct attachment *list, size_t n, const struct ports_kept *ports,
		     const struct pending *pending, size_t waiting)
{
	const struct generation *g = &s->g;
	char a[BYTES_TEXT_MAX], b[BYTES_TEXT_MAX], c[BYTES_TEXT_MAX], d[BYTES_TEXT_MAX], e[BYTES_TEXT_MAX];
	char name[IF_NAMESIZE], behind[BEHIND_TEXT_MAX];

	if (!n)
		puts("interfaces  none");
	for (size_t i = 0; i < n; i++)
		printf("%-11s %s (%s%s%s%s)%s\n", i ? "" : "interfaces", clean_copy(name, sizeof(name), list[i].name),
		       attach_mode_names[list[i].mode], list[i].shared ? ", shared" : "", match_texts[list[i].match],
		       behind_text(behind, list[i].behind),
		       list[i].gone && list[i].shared ? " - the interface is gone, or others took the program out"
		       : list[i].gone		      ? " - the interface is gone"
		       : list[i].moved		      ? " - in another network namespace"
						      : "");
	ports_text(ports);
	waiting_text(pending, waiting);
	if (!g->number) {
		puts("generation  none: nothing is loaded");
		return out_end();
	}
	printf("generation  %llu\n", (unsigned long long)g->number);
	if (s->image[0])
		printf("image       %s, saved %s, in the place of lists\n", s->image, s->saved);
	printf("stages      parse%s%s%s%s\n", g->gate4 ? " -> gate4" : "", g->gate6 ? " -> gate6" : "",
	       g->filter ? " -> filter" : "", g->roster4 || g->roster6 ? " -> roster" : "");
	printf("keys        %llu IPv4 hosts, %llu IPv4 /24 whole, %llu IPv6", (unsigned long long)g->keys4,
	       (unsigned long long)g->all24, (unsigned long long)g->keys6);
	for (unsigned int i = 0; i < g->rungs; i++)
		printf("%s/%llu", i ? ", " : " on rungs ", (unsigned long long)g->rung[i].length);
	printf("\nmemory      %s: gate %s, filter %s, roster %s, labels %s\n", bytes_text(a, s->bytes.total),
	       bytes_text(b, s->bytes.gate), bytes_text(c, s->bytes.filter), bytes_text(d, s->bytes.roster),
	       bytes_text(e, s->bytes.labels));
	if (g->filter)
		printf("filter      %s, k = %d, %.1f bits a key, %.0f %% full, lets %.3g %% of others through to the %s\n",
		       layout_names[g->filter_layout], (int)g->filter_k, s->bits_per_key, s->rate.fill * 100,
		       s->rate.fpr * 100, s->verdict > 0 ? "verdict" : "roster");
	sizing_text(&s->sizing);
	if (s->verdict > 0)
		printf("verdict     NOT EXACT: %.3g %% of innocent IPv4 addresses and %.3g %% of IPv6 are dropped\n",
		       s->verdict4 * 100, s->verdict6 * 100);
	else
		puts("verdict     exact");
	return out_end();
}

int verb_show(const struct call *call)
{
	struct attachment *list = NULL;
	struct pending *pending = NULL;
	struct ports_kept ports = { 0 };
	struct inforce s = { 0 };
	size_t n = 0, waiting = 0;
	int err = attach_list(call->context, &list, &n), status;

	if (!err)
		err = inforce_take(call->context, &s) ?: state_take(call->context, &pending, &waiting, &ports);
	if (err) {
		status = fail("%s", reason(err));
	} else {
		status = call->context->json ? show_json(call->context, &s, list, n, out_ports(&ports),
							 out_waiting(pending, waiting))
					     : show_text(&s, list, n, &ports, pending, waiting);
		warn_rate(&s);
	}
	ports_kept_free(&ports);
	free(pending);
	free(list);
	return status;
}
