// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options: what each kind of them makes of its value, at the bounds of what it takes; which words are operands; what is
 * said where one is wrong; and how they are listed. Word for word.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/errand.h"
#include "base/log.h"
#include "base/words.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_options.txt"
};

static struct shows shows = { .file = "tests/unit/unit_options.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

__attribute__((format(printf, 1, 2))) static int given_fail(const char *fmt, ...)
{
	va_list args;

	printf("  %s! ", log_settings.json ? "as JSON " : "");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	return EXIT_ERROR;
}

#define fail given_fail
#include "base/options.c"

struct own {
	bool all, hidden;
	int kind, word;
	const char *text, *file, *directory, *choice, *maybe;
	struct number time, ms, time0, most_time, whole, up, number, bytes, rate;
	char read[20];
};

#define AT_OWN(member) .target = offsetof(struct own, member)

static int read_it(const struct option_spec *o, void *target, const char *value)
{
	snprintf(target, 20, "%s=%s", o->name, value);
	return strcmp(value, "bad") ? 0 : fail("--%s: it is bad", o->name);
}

static const char *const words[] = { "red", "green", "blue", NULL }, *const two[] = { "on", "off", NULL };

static const char *const *some_words(void)
{
	return two;
}

static const struct option_spec own[] = {
	{ "all", 'a', AT_OWN(all), .does = "all of it", .also = "--everything" },
	{ "one", .type = OPTION_KIND, AT_OWN(kind), .least = 1, .wants = "--two", .does = NULL },
	{ "two", .type = OPTION_KIND, AT_OWN(kind), .least = 2, .wants = "--one", .does = "one of them" },
	{ "word", 'w', .type = OPTION_WORD, AT_OWN(word), .words = words, .does = "a colour" },
	{ "colour", .type = OPTION_WORD, AT_OWN(word), .words = words, .wants = "a colour", .does = "another" },
	{ "text", 't', .type = OPTION_TEXT, AT_OWN(text), .most = 5, .value = "TEXT", .does = "at most five bytes" },
	{ "choice", .type = OPTION_TEXT, AT_OWN(choice), .value = "watch|N|ban",
	  .does = "a longer name, and what it does" },
	{ "only", .type = OPTION_TEXT, AT_OWN(choice), .value = "watch|ban", .does = "words" },
	{ "interface", .type = OPTION_TEXT, AT_OWN(choice), .value = "IFNAME", .does = "an interface" },
	{ "file", .type = OPTION_FILE, AT_OWN(file), .value = "FILE", .does = "a file" },
	{ "directory", 'D', .type = OPTION_DIRECTORY, AT_OWN(directory), .value = "DIR", .does = "a directory" },
	{ "maybe", 'm', .optional = true, .type = OPTION_TEXT, AT_OWN(maybe), .value = "X", .does = "with or without" },
	{ "time", .type = OPTION_TIME, AT_OWN(time), .value = "TIME", .does = "a time" },
	{ "ms", .type = OPTION_TIME, AT_OWN(ms), .least = 0.5, .most = 2, .value = "TIME",
	  .does = "parts of a second" },
	{ "time0", .type = OPTION_TIME_OR_0, AT_OWN(time0), .value = "TIME", .does = "a time, or none" },
	{ "short", .type = OPTION_TIME_OR_0, AT_OWN(most_time), .most = 60, .value = "TIME",
	  .does = "a minute at most" },
	{ "whole", .type = OPTION_WHOLE, AT_OWN(whole), .least = 2, .most = 10, .value = "N", .does = "a number" },
	{ "up", .type = OPTION_WHOLE, AT_OWN(up), .least = 3, .value = "N", .does = "and more" },
	{ "wanted", .type = OPTION_WHOLE, AT_OWN(up), .most = 3, .wants = "what it wants", .value = "N",
	  .does = "with words" },
	{ "number", .type = OPTION_NUMBER, AT_OWN(number), .least = 0.5, .most = 1.5, .value = "X",
	  .does = "a number" },
	{ "ratio", .type = OPTION_NUMBER, AT_OWN(number), .least = 0.5, .most = 1.5, .wants = "a ratio",
	  .does = "a ratio" },
	{ "bytes", .type = OPTION_BYTES, AT_OWN(bytes), .value = "BYTES", .does = "bytes" },
	{ "some", .type = OPTION_BYTES, AT_OWN(bytes), .least = 1024, .value = "BYTES", .does = "some of them" },
	{ "read", .type = OPTION_READ, AT_OWN(read), .read = read_it, .words_of = some_words, .value = "on|off",
	  .does = "read" },
	{ "secret", .type = OPTION_SWITCH, AT_OWN(hidden), .hidden = true, .does = "for itself" },
	OPTIONS_END(struct own),
};

static void print_number(const char *name, const struct number *n)
{
	if (n->given)
		printf(" %s %.10g", name, n->value);
}

static void print_text(const char *name, const char *text)
{
	if (text)
		printf(" %s '%s'", name, text);
}

static unsigned int in_line;

static void reads(const char *line)
{
	struct context context = CONTEXT_DEFAULT;
	struct own is = { 0 };
	struct words w;

	context.line = in_line;
	log_settings = (struct log_settings){ 0 };
	if (words_split(&w, line))
		abort();
	printf("%s\n", line);
	if (options_read(&context, own, &is, &w.n, w.words)) {
		words_free(&w);
		return;
	}
	printf("  =%s%s", is.all ? " all" : "", is.hidden ? " hidden" : "");
	if (is.kind)
		printf(" kind %d", is.kind);
	if (is.word)
		printf(" word %d", is.word);
	print_text("text", is.text);
	print_text("file", is.file);
	print_text("directory", is.directory);
	print_text("choice", is.choice);
	print_text("maybe", is.maybe);
	print_number("time", &is.time);
	print_number("ms", &is.ms);
	print_number("time0", &is.time0);
	print_number("short", &is.most_time);
	print_number("whole", &is.whole);
	print_number("up", &is.up);
	print_number("number", &is.number);
	print_number("bytes", &is.bytes);
	print_text("read", *is.read ? is.read : NULL);
	printf("%s%s%s%s", context.json ? " JSON" : "", context.pretty ? " pretty" : "", context.quiet ? " quiet" : "",
	       context.verbose ? " verbose" : "");
	if (context.log || context.check || context.wait != 60)
		printf(" log %d, check %d, waits %ld", context.log, (int)context.check, context.wait);
	if (strcmp(context.state, "/var/lib/xdp-bloom") != 0 || strcmp(context.bpffs, "/sys/fs/bpf/xdp-bloom") != 0)
		printf(" in %s and %s", context.state, context.bpffs);
	printf(";");
	for (int i = 1; i < w.n; i++)
		printf(" %s", w.words[i]);
	printf("%s\n", w.words[w.n] ? ", and more" : "");
	words_free(&w);
}

static void values(void)
{
	static const char *const lines[] = {
		"show",
		"show a b",
		"show a --all b",
		"show -a",
		"show -- --all",
		"show - a",
		"show --one",
		"show --two --two",
		"show --one --two",
		"show --two --one",
		"show --word red",
		"show -w blue",
		"show -wgreen",
		"show --word=gren",
		"show --word x",
		"show --colour x",
		"show --text ''",
		"show --text 12345",
		"show -t 123456",
		"show --file f --directory d",
		"show -Dd",
		"show --maybe a",
		"show --maybe=b a",
		"show -mx a",
		"show -m",
		"show --time 1",
		"show --time 1s",
		"show --time 1h30m",
		"show --time 0",
		"show --time 0s",
		"show --time 1.5s",
		"show --time 366d",
		"show --time 367d",
		"show --time x",
		"show --ms 0.5s",
		"show --ms 0.4s",
		"show --ms 500ms",
		"show --ms 2s",
		"show --ms 3s",
		"show --ms 1.25s",
		"show --time0 0",
		"show --time0 5s",
		"show --time0 1.5s",
		"show --short 60s",
		"show --short 61s",
		"show --whole 1",
		"show --whole 2",
		"show --whole 010",
		"show --whole 10",
		"show --whole 11",
		"show --whole 5x",
		"show --whole ''",
		"show --whole 2.5",
		"show --up 2",
		"show --up 3",
		"show --up 123456789",
		"show --wanted 3",
		"show --wanted 4",
		"show --wanted -1",
		"show --wanted x",
		"show --number 0.5",
		"show --number 1.5",
		"show --number 0.4",
		"show --number 1.6",
		"show --number 1x",
		"show --number ''",
		"show --number nan",
		"show --ratio 1",
		"show --ratio 2",
		"show --ratio x",
		"show --bytes 0",
		"show --bytes 1",
		"show --bytes 0.5",
		"show --bytes 64K",
		"show --bytes 1.5M",
		"show --bytes 2G",
		"show --bytes 1T",
		"show --bytes 64k",
		"show --bytes 64KB",
		"show --bytes 1e18",
		"show --bytes 1e19",
		"show --bytes K",
		"show --bytes ''",
		"show --bytes -1",
		"show --some 1023",
		"show --some 1K",
		"show --read x",
		"show --read bad",
		"show --secret",
	};

	in_line = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		reads(lines[i]);
}

static void common(void)
{
	static const char *const lines[] = {
		"show --json",
		"show --pretty",
		"show -jqv",
		"show -p",
		"show --state /s --bpffs /b",
		"show -S/s -B /b",
		"show --log text",
		"show --log json",
		"show --log x",
		"show --check",
		"show --check=words",
		"show --check=x",
		"show --wait 0",
		"show --wait 60s",
		"show --wait 1d",
		"show --wait 86401",
		"show --wait 1.5s",
		"show --wait x",
		"show --quiet --verbose",
	};

	for (in_line = 0; in_line < 2; in_line++)
		for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
			reads(lines[i]);
	in_line = 0;
	/* Another process has found this one by them. */
	errand.here = true;
	reads("show --state /s --bpffs /b --json");
	errand.here = false;
	log_settings = (struct log_settings){ 0 };
}

static void wrong(void)
{
	static const char *const lines[] = {
		"show --al",
		"show --al l",
		"show --alll",
		"show --everything",
		"show -all",
		"show -x",
		"show -ax",
		"show -xa",
		"show --word",
		"show -w",
		"show a --text",
		"show --all=x",
		"show --json=x",
		"show --jsn",
		"show --format",
		"show --secert",
		"show -o",
		"show --log json --word x",
		"show --word x --log json",
		"show --log=json --al --whole x",
		"show --zzzz",
		"show --zzzz=5",
		"show -zz",
		"show -",
		"show --secre",
		"show --w x",
		"show --t x",
		"show -at",
		"show --all -- -x",
		"show -D",
		"show --textt=5",
		"show -tex",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		reads(lines[i]);
}

static void singles(void)
{
	static const char *const numbers[] = { "0", "1", "2", "2.5", "x", "1x", "", "auto", "-1", "1e3" };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		double n = -7, r = -7;

		printf("%s:\n", numbers[i]);
		if (!option_number("n", numbers[i], 1, 2, &n))
			printf("  = %g\n", n);
		if (!option_rate("n", numbers[i], 1, 2, &r))
			printf("  = %g\n", r);
	}
}

/* How many words each takes, and whose it is. */
static void looked_at(void)
{
	static const char *const each[] = {
		"a",	      "",	 "-",	   "--",   "-a",  "--all", "--text", "--text=x",
		"-t",	      "-tx",	 "-at",	   "-atx", "-ta", "-tt",   "-w",     "--word",
		"--maybe",    "-m",	 "--json", "-j",   "-jS", "-S",	   "-S/s",   "--state",
		"--state=/s", "--check", "--zzz",  "-z",   "-az", "--log", "--al",   "--one",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		printf("'%s': %d words%s%s\n", each[i], option_words(own, each[i]),
		       option_is_common(each[i]) ? ", common" : "", option_is_of(own, each[i]) ? ", own" : "");
	printf("of none: %d, %d, %zu; of all: %d\n", option_words(NULL, "--all"), option_words(NULL, "--state"),
	       options_size(NULL), options_size(own) == sizeof(struct own));
}

static void listed(void)
{
	static const struct option_spec some[] = { { "all", 'a', AT_OWN(all), .does = "x" },
						   { "time", .type = OPTION_TIME, AT_OWN(time) },
						   OPTIONS_END(struct own) };

	printf("%d lines\n", options_help(own, NULL));
	printf("%d lines\n", options_help(own, some));
	printf("%d lines\n", options_help(options_common, own));
	printf("%d lines\n", options_help(NULL, NULL));
	options_list(own);
	options_list(options_common);
	options_list(NULL);
}

static void logged(void)
{
	struct context context = CONTEXT_DEFAULT;

	for (int i = 0; i < 16; i++) {
		context.quiet = i & 1;
		context.warns = i & 2;
		context.verbose = i & 4;
		context.log = i & 8 ? i & 1 ? 2 : 1 : 0;
		options_log(&context);
		printf("%d%d%d%d: %s%s%s%s\n", context.quiet, context.warns, context.verbose, context.log,
		       log_settings.quiet ? "quiet " : "", log_settings.verbose ? "verbose " : "",
		       log_settings.json ? "JSON " : "", log_settings.kept ? "kept" : "");
	}
	log_settings = (struct log_settings){ 0 };
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "values", values },   { "common", common },	   { "wrong", wrong },
					       { "singles", singles }, { "looked at", looked_at }, { "listed", listed },
					       { "logged", logged } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), NULL);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
