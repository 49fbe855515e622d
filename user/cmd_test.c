// SPDX-License-Identifier: GPL-2.0-only
/* test: what the loaded program does with an address, and why */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "state.h"

struct question {
	struct addr *addrs;
	size_t n, room;
};

static int ask_for(struct question *q, const char *text, size_t len)
{
	const char *fault;

	if (q->n == q->room) {
		struct addr *grown = reallocarray(q->addrs, q->room ? 2 * q->room : 64, sizeof(*grown));

		if (!grown)
			return fail("out of memory");
		q->addrs = grown;
		q->room = q->room ? 2 * q->room : 64;
	}
	fault = addr_parse(text, len, &q->addrs[q->n]);
	if (fault)
		return fail("test: '%.*s': %s", (int)len, text, fault);
	q->n++;
	return 0;
}

static int ask_for_lines(struct question *q)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int status = 0;

	while (!status && (len = getline(&line, &room, stdin)) > 0) {
		while (len && strchr(" \t\r\n", line[len - 1]))
			len--;
		if (len)
			status = ask_for(q, line, (size_t)len);
	}
	free(line);
	return status;
}

static const char *stage_name(__u32 answer)
{
	switch (ANSWER_STAGE(answer)) {
	case STAGE_GATE:
		return "gate";
	case STAGE_FILTER:
		return "filter";
	case STAGE_ROSTER:
		return "roster";
	default:
		return "parse";
	}
}

/* The sets behind the answers, to name the entry, and to notice if program and sets ever disagree. */
struct sets {
	struct list_info *lists;
	struct ranges *at;
	size_t n;
};

static int read_sets(struct sets *s)
{
	struct state *state = NULL;
	int err = state_open(&state, false);

	if (!err)
		err = state_lists(state, &s->lists, &s->n);
	s->at = calloc(s->n + 1, sizeof(*s->at));
	for (size_t i = 0; i < s->n && !err; i++)
		err = state_list_set(state, s->lists[i].name, &s->at[i]);
	state_close(state);
	return err;
}

static void free_sets(struct sets *s)
{
	for (size_t i = 0; s->at && i < s->n; i++)
		ranges_free(&s->at[i]);
	free(s->at);
	free(s->lists);
}

/* The list that counts: an allow list before all, then the first that holds the address; NULL where none does. */
static const struct list_info *holder(const struct sets *s, struct addr addr, int *length)
{
	const struct list_info *first = NULL;

	for (size_t i = 0; i < s->n; i++) {
		int covering = ranges_covering(&s->at[i], addr);

		if (covering < 0 || (first && !s->lists[i].allow))
			continue;
		first = &s->lists[i];
		*length = covering;
		if (first->allow)
			break;
	}
	return first;
}

static struct addr network(struct addr addr, int length)
{
	int width = addr.family == 4 ? 32 : 128;

	if (length < width)
		addr.num = length ? addr.num >> (width - length) << (width - length) : 0;
	return addr;
}

static json_t *or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

int cmd_test(int argc, char **argv)
{
	struct question q = { 0 };
	struct sets sets = { 0 };
	json_t *array = NULL;
	__u32 *answers = NULL;
	int status = 0, err;
	bool wrong = false, passes = false;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("test: which address? (- reads them from standard input)");
	for (int i = 1; i < argc && !status; i++)
		status = strcmp(argv[i], "-") ? ask_for(&q, argv[i], strlen(argv[i])) : ask_for_lines(&q);
	if (status)
		goto out;
	answers = calloc(q.n + 1, sizeof(*answers));
	err = answers ? kernel_ask(q.addrs, q.n, answers) : -ENOMEM;
	if (!err)
		err = read_sets(&sets);
	if (err) {
		status = fail("%s", reason(err));
		goto out;
	}
	if (opt_json)
		array = json_array();
	for (size_t i = 0; i < q.n; i++) {
		char text[PREFIX_TEXT_MAX], prefix[PREFIX_TEXT_MAX] = "";
		int length = -1;
		const struct list_info *list = holder(&sets, q.addrs[i], &length);
		bool drop = answers[i] & ANSWER_DROP, banned = list && !list->allow;

		passes = passes || !drop;
		if (list)
			prefix_text(prefix, network(q.addrs[i], length), length);
		prefix_text(text, q.addrs[i], -1);
		if (drop != banned && (!drop || ANSWER_STAGE(answers[i]) != STAGE_FILTER)) {
			fail("%s: the program says %s, the lists say %s; 'xdp-bloom rotate' builds it anew", text,
			     drop ? "drop" : "pass", banned ? "drop" : "pass");
			wrong = true;
		}
		if (opt_json)
			json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:o, s:o}", "address", text, "verdict",
							       drop ? "drop" : "pass", "stage", stage_name(answers[i]),
							       "list", or_null(list ? list->name : NULL), "prefix",
							       or_null(list ? prefix : NULL)));
		else if (list)
			printf("%s: %s (%s%s %s, %s)\n", text, drop ? "drop" : "pass", list->allow ? "allowed by " : "",
			       list->name, prefix, stage_name(answers[i]));
		else
			printf("%s: %s (%s)\n", text, drop ? "drop" : "pass", stage_name(answers[i]));
	}
	status = opt_json ? out_json(array) : out_end();
	if (!status)
		status = wrong ? EXIT_ERROR : passes ? EXIT_PASSES : EXIT_DONE;
out:
	free_sets(&sets);
	free(answers);
	free(q.addrs);
	return status;
}
