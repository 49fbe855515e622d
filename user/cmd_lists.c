// SPDX-License-Identifier: GPL-2.0-only
/* load, unload, lists */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply.h"
#include "cmd.h"
#include "kernel.h"
#include "log.h"
#include "out.h"
#include "reader.h"
#include "state.h"

static struct reader_options reading;
static bool allow;

static int load_option(int option, const char *value)
{
	switch (option) {
	case 'a':
		allow = true;
		return 0;
	case 'b':
		reading.skip_bad = true;
		return 0;
	default:
		reading.format = value;
	}
	for (const char *const *name = reader_formats(); *name; name++)
		if (!strcmp(*name, value))
			return 0;
	fail("there is no list format '%s'", value);
	return EXIT_ERROR;
}

/* A list's name goes into file names, metrics and scripts of other people: nothing in it may surprise them. */
static const char *name_fault(const char *name)
{
	if (!*name || strlen(name) >= LIST_NAME_MAX)
		return "a list's name has 1 to 63 characters";
	if (*name == '-')
		return "a list's name does not begin with '-'";
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return "a list's name has letters, digits, '.', '_' and '-'";
	return NULL;
}

static uint64_t count_prefixes(const struct ranges *set)
{
	uint64_t n = 0;
	unsigned int length;

	for (size_t i = 0; i < set->n4; i++) {
		uint32_t lo = set->v4[i].lo, first;
		bool done = false;

		while (range4_next_prefix(&lo, set->v4[i].hi, &done, &first, &length))
			n++;
	}
	for (size_t i = 0; i < set->n6; i++) {
		ip6 lo = set->v6[i].lo, first;
		bool done = false;

		while (range6_next_prefix(&lo, set->v6[i].hi, &done, &first, &length))
			n++;
	}
	return n;
}

static void describe(struct list_info *list, const char *name, const char *source, const struct ranges *set)
{
	char number[NUMBER_TEXT_MAX];
	time_t now = time(NULL);
	struct tm utc;

	memset(list, 0, sizeof(*list));
	list->allow = allow;
	list->prefixes = count_prefixes(set);
	snprintf(list->name, sizeof(list->name), "%s", name);
	snprintf(list->source, sizeof(list->source), "%s", source);
	snprintf(list->addresses, sizeof(list->addresses), "%s",
		 number_text(number, ranges_count6(set) + ranges_count4(set)));
	strftime(list->loaded, sizeof(list->loaded), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

static int report_load(const struct list_info *list, const struct reader_report *read)
{
	if (opt_json)
		return out_json(json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name", list->name,
					  "kind", list->allow ? "allow" : "ban", "prefixes", (json_int_t)list->prefixes,
					  "addresses", list->addresses, "format", read->format ? read->format : "plain",
					  "lines", (json_int_t)read->lines, "entries", (json_int_t)read->entries,
					  "duplicates", (json_int_t)read->duplicates, "merged",
					  (json_int_t)read->merged, "bad", (json_int_t)read->bad));
	if (!opt_quiet) {
		printf("%s: %llu entries, %llu prefixes, %s addresses", list->name, (unsigned long long)read->entries,
		       (unsigned long long)list->prefixes, list->addresses);
		if (read->bad)
			printf(", %llu damaged lines left out", (unsigned long long)read->bad);
		putchar('\n');
	}
	return out_end();
}

int cmd_load(int argc, char **argv)
{
	static const struct option own[] = {
		{ "allow", no_argument, NULL, 'a' },
		{ "skip-bad", no_argument, NULL, 'b' },
		{ "format", required_argument, NULL, 'f' },
		{ 0 },
	};
	struct ranges set = RANGES_EMPTY;
	struct reader_report read = { 0 };
	char error[READER_TEXT_MAX];
	struct state *state = NULL;
	struct list_info list;
	const char *fault;
	int err, status;

	if (options_read(&argc, argv, own, load_option))
		return EXIT_ERROR;
	if (argc != 3)
		return fail("load: a name and a file, as in: xdp-bloom load drop drop.txt");
	fault = name_fault(argv[1]);
	if (fault)
		return fail("load: '%s': %s", argv[1], fault);
	reading.progress = !opt_quiet;
	err = reader_read(argv[2], &reading, &set, &read, error);
	if (err)
		return fail("%s; nothing was loaded", error);
	for (uint64_t i = 0; i < read.bad && i < READER_BAD_MAX; i++)
		warn("%s; left out", read.bad_text[i]);
	describe(&list, argv[1], argv[2], &set);
	err = kernel_ready();
	if (!err)
		err = state_open(&state, true);
	if (!err)
		err = state_list_put(state, &list, &set);
	if (!err)
		err = apply(state);
	status = err ? fail("%s: %s; nothing was loaded", argv[2], reason(err)) : report_load(&list, &read);
	state_close(state);
	ranges_free(&set);
	return status;
}

int cmd_unload(int argc, char **argv)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	size_t n = 0;
	int err;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	if (argc < 2)
		return fail("unload: which list?");
	err = kernel_ready();
	if (!err)
		err = state_open(&state, true);
	if (!err)
		err = state_lists(state, &lists, &n);
	for (int i = 1; i < argc && !err; i++)
		err = state_list_drop(state, argv[i]);
	if (!err)
		err = apply(state);
	for (size_t i = 0; i < n && !err; i++)
		for (int j = 1; j < argc; j++)
			if (!strcmp(lists[i].name, argv[j]) && lists[i].label)
				kernel_zero_label(lists[i].label);
	free(lists);
	state_close(state);
	return err ? fail("%s; nothing was unloaded", reason(err)) : EXIT_DONE;
}

int cmd_lists(int argc, char **argv)
{
	struct list_info *lists = NULL;
	struct state *state = NULL;
	json_t *array = NULL;
	size_t n = 0;
	int err;

	if (options_read(&argc, argv, NULL, NULL))
		return EXIT_ERROR;
	err = state_open(&state, false);
	if (!err)
		err = state_lists(state, &lists, &n);
	state_close(state);
	if (err)
		return fail("%s", reason(err));
	if (opt_json)
		array = json_array();
	else if (n)
		printf("%-20s %-5s %10s %20s  %-20s  %s\n", "LIST", "KIND", "PREFIXES", "ADDRESSES", "LOADED",
		       "SOURCE");
	for (size_t i = 0; i < n; i++) {
		const struct list_info *l = &lists[i];
		const char *kind = l->allow ? "allow" : "ban";

		if (opt_json)
			json_array_append_new(array,
					      json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "name", l->name, "kind", kind,
							"prefixes", (json_int_t)l->prefixes, "addresses", l->addresses,
							"source", l->source, "loaded", l->loaded));
		else
			printf("%-20s %-5s %10llu %20s  %-20s  %s\n", l->name, kind, (unsigned long long)l->prefixes,
			       l->addresses, l->loaded, l->source);
	}
	free(lists);
	return opt_json ? out_json(array) : out_end();
}
