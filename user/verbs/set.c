// SPDX-License-Identifier: GPL-2.0-only
/* set: the algebra of lists. It needs no rights and no kernel. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "sets/packed.h"
#include "sets/ranges.h"
#include "sets/reader.h"
#include "sets/writer.h"
#include "verbs/verbs.h"

struct options {
	struct reader_options reading;
	const char *output, *name;
};

static bool is_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; len && (p = strstr(p, word)); p += len) {
		if ((p == list || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	}
	return false;
}

static int read_output(const struct option_spec *o, void *target, const char *value)
{
	*(const char **)target = value;
	return is_word(writer_formats(), value) ? 0
						: fail("--%s is one of %s, not '%s'", o->name, writer_formats(), value);
}

static int read_name(const struct option_spec *o, void *target, const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	*(const char **)target = value;
	if (*value && strlen(value) <= WRITER_NAME_MAX && !value[strspn(value, letters)])
		return 0;
	return fail("--%s is up to %d letters, digits, _ and .", o->name, WRITER_NAME_MAX);
}

const struct option_spec set_options[] = {
	READING_OPTIONS(options, reading.format, reading.skip_bad, reading.where),
	{ "output", .type = OPTION_READ, AT(options, output), .value = "FORMAT", .words_of = reader_formats,
	  .does = "the format to print (plain)", .read = read_output },
	{ "name", .type = OPTION_READ, AT(options, name), .value = "NAME",
	  .does = "its name in ipset and nft (xdp_bloom)", .read = read_name },
	OPTIONS_END(struct options),
};

/* Adds a file to a set. */
static int take(const struct call *call, const char *path, struct ranges *set, struct reader_report *report)
{
	struct reader_options reading = ((const struct options *)call->options)->reading;
	char error[READER_TEXT_MAX];

	reading.progress = !call->context->quiet && !call->context->json;
	if (reader_read(path, &reading, set, report, error))
		return fail("%s", error);
	for (uint64_t i = 0; i < report->bad && i < READER_BAD_MAX; i++)
		warn("%s", report->bad_text[i]);
	reader_warn_masked(report);
	if (report->bad)
		warn("%s: %llu damaged entries were left out", path, (unsigned long long)report->bad);
	return EXIT_DONE;
}

static int print_set(const struct call *call, const struct ranges *set)
{
	const struct options *o = call->options;
	const char *format = o->output ? o->output : call->context->json ? "json" : "plain";
	const char *why = writer_write(stdout, set, format, o->name ? o->name : "xdp_bloom");

	return why ? fail("--output=%s: %s", format, why) : out_end();
}

typedef int algebra_fn(struct ranges *out, const struct ranges *a, const struct ranges *b);

/* The first list, and all others one after the other; NULL: the union. */
static int fold(const struct call *call, int files, char **paths, algebra_fn *algebra)
{
	struct ranges set = RANGES_EMPTY;
	struct reader_report report;
	int status = take(call, paths[0], &set, &report);

	for (int i = 1; i < files && !status; i++) {
		struct ranges other = RANGES_EMPTY, result;

		status = take(call, paths[i], algebra ? &other : &set, &report);
		if (!algebra)
			continue;
		if (!status && algebra(&result, &set, &other))
			status = fail("%s", strerror(ENOMEM));
		ranges_free(&other);
		if (!status) {
			ranges_free(&set);
			set = result;
		}
	}
	if (!status)
		status = print_set(call, &set);
	ranges_free(&set);
	return status;
}

static void print_change(struct addr first, unsigned int length, void *arg)
{
	char buf[PREFIX_TEXT_MAX];

	printf("%c%s\n", *(const char *)arg, prefix_text(buf, first, (int)length));
}

static void append_prefix(struct addr first, unsigned int length, void *arg)
{
	char buf[PREFIX_TEXT_MAX];

	json_array_append_new(arg, json_string(prefix_text(buf, first, (int)length)));
}

static int print_changes(const struct call *call, const struct ranges *added, const struct ranges *removed)
{
	char plus = '+', minus = '-';
	json_t *plus_array, *minus_array;

	if (!call->context->json) {
		writer_prefixes(removed, print_change, &minus);
		writer_prefixes(added, print_change, &plus);
		return out_end();
	}
	plus_array = json_array();
	minus_array = json_array();
	writer_prefixes(added, append_prefix, plus_array);
	writer_prefixes(removed, append_prefix, minus_array);
	return out_json(call->context, json_pack("{s:o, s:o}", "added", plus_array, "removed", minus_array));
}

static int set_diff(const struct call *call, int files, char **paths)
{
	struct ranges old = RANGES_EMPTY, new = RANGES_EMPTY, added = RANGES_EMPTY, removed = RANGES_EMPTY;
	struct reader_report report;
	int status;

	if (files != 2)
		return fail("set diff: an old list and a new one");
	if (((const struct options *)call->options)->output)
		return fail("set diff: it prints +prefix and -prefix, or JSON with --json");
	status = take(call, paths[0], &old, &report);
	if (!status)
		status = take(call, paths[1], &new, &report);
	if (!status && (ranges_subtract(&added, &new, &old) || ranges_subtract(&removed, &old, &new)))
		status = fail("%s", strerror(ENOMEM));
	if (!status)
		status = print_changes(call, &added, &removed);
	ranges_free(&old);
	ranges_free(&new);
	ranges_free(&added);
	ranges_free(&removed);
	return status;
}

static json_t *report_json(const char *path, const struct reader_report *report)
{
	return json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I}", "file", out_text(path), "format", report->format,
			 "lines", (json_int_t)report->lines, "entries", (json_int_t)report->entries, "duplicates",
			 (json_int_t)report->duplicates, "merged", (json_int_t)report->merged, "bad",
			 (json_int_t)report->bad);
}

static json_t *print_family(const struct call *call, const struct ranges *set, int family)
{
	struct ranges only = *set;
	size_t ranges = family == 4 ? set->n4 : set->n6, prefixes;
	ip6 addresses = family == 4 ? ranges_count4(set) : ranges_count6(set);
	char text[NUMBER_TEXT_MAX];
	const char *number;

	if (family == 4)
		only.n6 = 0;
	else
		only.n4 = 0;
	prefixes = writer_prefixes(&only, NULL, NULL);
	number = number_text(text, addresses);
	if (call->context->json)
		return json_pack("{s:s, s:I, s:I}", "addresses", number, "ranges", (json_int_t)ranges, "prefixes",
				 (json_int_t)prefixes);
	printf("IPv%d: %s addresses, %zu ranges, %zu prefixes\n", family, number, ranges, prefixes);
	return NULL;
}

static int print_counts(const struct call *call, const struct ranges *set, const struct reader_report *reports,
			int files, char **paths)
{
	json_t *array = json_array(), *ipv4, *ipv6;

	for (int i = 0; i < files; i++) {
		const struct reader_report *r = &reports[i];

		if (call->context->json)
			json_array_append_new(array, report_json(paths[i], r));
		else
			out_line("%s: %s, %llu lines, %llu entries, %llu duplicates, %llu merged", paths[i], r->format,
				 (unsigned long long)r->lines, (unsigned long long)r->entries,
				 (unsigned long long)r->duplicates, (unsigned long long)r->merged);
	}
	ipv4 = print_family(call, set, 4);
	ipv6 = print_family(call, set, 6);
	if (call->context->json)
		return out_json(call->context,
				json_pack("{s:o, s:o, s:o}", "files", array, "ipv4", ipv4, "ipv6", ipv6));
	json_decref(array);
	return out_end();
}

static int set_count(const struct call *call, int files, char **paths)
{
	struct reader_report *reports = calloc((size_t)files, sizeof(*reports));
	struct ranges set = RANGES_EMPTY;
	int status = EXIT_DONE;

	if (!reports)
		return fail("%s", strerror(ENOMEM));
	for (int i = 0; i < files && !status; i++)
		status = take(call, paths[i], &set, &reports[i]);
	if (!status)
		status = print_counts(call, &set, reports, files, paths);
	ranges_free(&set);
	free(reports);
	return status;
}

/* Into a file, or to standard output. */
static int write_packed(const struct call *call, const char *path, const struct ranges *set, const struct ranges *from)
{
	bool out = !strcmp(path, "-");
	struct new_file file = { .fd = STDOUT_FILENO };
	mode_t mask = umask(0);
	char sum[SHA256_TEXT], number[NUMBER_TEXT_MAX];
	struct stat st = { 0 };
	int err;

	umask(mask);
	if (out && isatty(STDOUT_FILENO))
		return fail("set: what is packed is no text for a terminal: name a file, or lead it into one");
	err = out ? 0 : new_file_begin(&file, path);
	if (err)
		return fail("%s", reason(err));
	err = packed_write(file.fd, set, from, PACKED_SMALL);
	if (err)
		err = because(err, "%s: %s", path, errno_text(err));
	if (!err && !out && fstat(file.fd, &st))
		err = because(-errno, "%s: %s", path, strerror(errno));
	err = out ? err : new_file_end(&file, 0666 & ~mask, err);
	if (err || out)
		return err ? fail("%s", reason(err)) : EXIT_DONE;
	packed_sum(set, sum);
	if (call->context->json)
		return out_json(call->context,
				json_pack("{s:o, s:I, s:I, s:s, s:s}", "file", out_text(path), "bytes",
					  (json_int_t)st.st_size, "ranges", (json_int_t)(set->n4 + set->n6),
					  "addresses", number_text(number, ranges_count(set)), "sha256", sum));
	out_line("%s: %zu ranges, %s addresses, %lld bytes; sha256 %s", path, set->n4 + set->n6,
		 number_text(number, ranges_count(set)), (long long)st.st_size, sum);
	return out_end();
}

static int set_pack(const struct call *call, int files, char **paths)
{
	struct ranges set = RANGES_EMPTY;
	struct reader_report report;
	int status = EXIT_DONE;

	for (int i = 1; i < files && !status; i++)
		status = take(call, paths[i], &set, &report);
	if (!status)
		status = write_packed(call, paths[0], &set, NULL);
	ranges_free(&set);
	return status;
}

static int set_delta(const struct call *call, int files, char **paths)
{
	struct ranges old = RANGES_EMPTY, new = RANGES_EMPTY;
	struct reader_report report;
	int status;

	if (files != 3)
		return fail("set delta: an old list, a new one, and a file for what changes");
	status = take(call, paths[0], &old, &report);
	if (!status)
		status = take(call, paths[1], &new, &report);
	if (!status)
		status = write_packed(call, paths[2], &new, &old);
	ranges_free(&old);
	ranges_free(&new);
	return status;
}

static const struct {
	const char *name;
	int least;						      /* files */
	algebra_fn *algebra;					      /* of fold() */
	int (*run)(const struct call *call, int files, char **paths); /* NULL: fold() */
} operations[] = {
	{ "union", 1, NULL, NULL },
	{ "merge", 1, NULL, NULL }, /* a union is always printed as its fewest prefixes */
	{ "intersect", 2, ranges_intersect, NULL },
	{ "subtract", 2, ranges_subtract, NULL },
	{ "diff", 2, NULL, set_diff },
	{ "count", 1, NULL, set_count },
	{ "pack", 2, NULL, set_pack },
	{ "delta", 3, NULL, set_delta },
};

int verb_set(const struct call *call)
{
	int files = call->n - 1, inputs = 0;

	for (int i = 0; i < files; i++)
		inputs += !strcmp(call->operands[i + 1], "-");
	if (inputs > 1)
		return fail("set: standard input can be read only once");
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (strcmp(operations[i].name, call->operands[0]) != 0)
			continue;
		if (files < operations[i].least)
			return fail("set %s: which files?", operations[i].name);
		if (operations[i].run)
			return operations[i].run(call, files, call->operands + 1);
		return fold(call, files, call->operands + 1, operations[i].algebra);
	}
	return fail("set: there is no '%s'; union, intersect, subtract, diff, count, merge, pack or delta",
		    call->operands[0]);
}
