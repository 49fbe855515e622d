// SPDX-License-Identifier: GPL-2.0-only
/* Which lists were refused, since when and why: what is written is read again, and what is damaged is not believed. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "base/state_path.h"
#include "ktap.h"
#include "state/failed.h"

static char directory[64];
static struct context context = CONTEXT_DEFAULT;

static void write_file(const char *list, const char *text, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/" STATE_FAILED "/%s", directory, list);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* "name since last why", one a line. */
static void text_of(char text[4096])
{
	struct list_failure *all;
	size_t n;

	*text = '\0';
	list_failures(&context, &all, &n);
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), 4096 - strlen(text), "%s %lld %lld %s\n", all[i].list,
			 (long long)all[i].since, (long long)all[i].last, all[i].why);
	for (size_t i = 0; i < n; i++)
		CHECK(list_failure_of(all, n, all[i].list) == &all[i], "%s is not found", all[i].list);
	CHECK(!list_failure_of(all, n, "another"), "another is found");
	CHECK(!n || !list_failure_of(all, 0, all[0].list), "one of none is found");
	free(all);
}

static bool reads(const char *wanted)
{
	char text[4096];

	text_of(text);
	return CHECK(!strcmp(text, wanted), "'%s', not '%s'", text, wanted);
}

static void damaged(void)
{
	static const struct {
		const char *text, *read; /* NULL: it is not believed */
		size_t size;		 /* 0: that of the text */
	} known[] = {
		{ "100 200\nit is empty\n", "100 200 it is empty", 0 },
		{ "100 100\nit is empty", "100 100 it is empty", 0 },
		{ "0 0\n\n", "0 0 ", 0 },
		{ "100 200\n\nbehind\n", "100 200 behind", 0 }, /* blanks behind the times do not matter */
		{ "100 200\ntwo\nlines\n", "100 200 two", 0 },
		{ "100 200\na\033[2Jb\n", "100 200 a?[2Jb", 0 },
		{ "100 200\nx\0y\n", "100 200 x", 12 },
		{ "200 100\nit is empty\n", NULL, 0 },
		{ "-1 100\nit is empty\n", NULL, 0 },
		{ "100 99999999999999\nit is empty\n", NULL, 0 },
		{ "100\nit is empty\n", NULL, 0 },
		{ "it is empty\n", NULL, 0 },
		{ "", NULL, 0 },
	};
	char wanted[256];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		write_file("feed", known[i].text, known[i].size ? known[i].size : strlen(known[i].text));
		*wanted = '\0';
		if (known[i].read)
			snprintf(wanted, sizeof(wanted), "feed %s\n", known[i].read);
		CHECK(reads(wanted), "number %zu", i);
	}
	list_succeeded(&context, "feed");
}

/* What is no list's is none's, whoever put it there. */
static void names(void)
{
	static const char *const none[] = { "-12", "a,b", "a b", "a\033b" };
	char path[128], large[1024];

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		write_file(none[i], "1 2\nwhy\n", 8);
	write_file("b", "1 2\nwhy b\n", 10);
	write_file("a.txt", "3 4\nwhy a\n", 10);
	memset(large, 'x', sizeof(large));
	memcpy(large, "5 6\n", 4);
	write_file("c", large, sizeof(large));
	snprintf(path, sizeof(path), "%s/" STATE_FAILED "/link", directory);
	if (symlink("b", path))
		abort();
	{
		struct list_failure *all;
		size_t n;

		list_failures(&context, &all, &n);
		CHECK(n == 3 && !strcmp(all[0].list, "a.txt") && !strcmp(all[1].list, "b") &&
			      !strcmp(all[2].list, "c") && strlen(all[2].why) == sizeof(all[2].why) - 1,
		      "%zu are read", n);
		free(all);
	}
	unlink(path);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		snprintf(path, sizeof(path), "%s/" STATE_FAILED "/%s", directory, none[i]);
		list_succeeded(&context, none[i]);
		CHECK(!unlink(path), "%s is taken for a list", none[i]);
	}
	list_succeeded(&context, "a.txt");
	list_succeeded(&context, "c");
	CHECK(reads("b 1 2 why b\n"), "after two of three");
	list_succeeded(&context, "b");
	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	CHECK(access(path, F_OK), "the directory of none stays");
}

/* The first time stays while it goes on. */
static void in_a_row(void)
{
	char wanted[256], text[4096];
	int64_t before = time(NULL);
	struct list_failure *all;
	size_t n;

	list_failed(&context, "feed", "it is\nempty");
	list_failures(&context, &all, &n);
	CHECK(n == 1 && all[0].since >= before && all[0].since == all[0].last && all[0].last <= time(NULL) &&
		      !strcmp(all[0].why, "it is?empty"),
	      "'%s'", n ? all[0].why : "");
	free(all);
	write_file("feed", "100 200\nfirst\n", 14);
	list_failed(&context, "feed", "then");
	text_of(text);
	CHECK(!strncmp(text, "feed 100 ", 9) && strtoll(text + 9, NULL, 10) >= before && strstr(text, " then\n"), "%s",
	      text);
	/* The clock was set back. */
	write_file("feed", "90000000000 90000000000\nfirst\n", 30);
	list_failed(&context, "feed", "then");
	list_failures(&context, &all, &n);
	CHECK(n == 1 && all[0].since <= time(NULL) && all[0].since >= before, "since %lld",
	      n ? (long long)all[0].since : -1);
	free(all);
	list_succeeded(&context, "feed");
	list_succeeded(&context, "feed");
	reads("");
	/* Not of names that no list has, nor where nothing can be written. */
	list_failed(&context, "-1", "why");
	list_failed(&context, "", "why");
	list_failed(&context, "..", "why");
	list_failed(&context, "a/b", "why");
	memset(wanted, 'a', 64);
	wanted[64] = '\0';
	list_failed(&context, wanted, "why");
	reads("");
	wanted[63] = '\0';
	list_failed(&context, wanted, "why");
	text_of(text);
	CHECK(!strncmp(text, wanted, 63), "%s", text);
	list_succeeded(&context, wanted);
	context.state = "/nowhere";
	list_failed(&context, "feed", "why");
	reads("");
	context.state = directory;
}

/* What cannot be written is warned of, and leaves nothing behind. */
static void not_written(void)
{
	char path[128], *said;
	FILE *messages = stderr;
	size_t size;

	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/" STATE_FAILED "/feed", directory);
	mkdir(path, 0700);
	stderr = open_memstream(&said, &size);
	list_failed(&context, "feed", "why");
	fclose(stderr);
	stderr = messages;
	CHECK(strstr(said, "'status' and 'lists' will not show that the list was refused"), "'%s'", said);
	free(said);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	CHECK(!rmdir(path), "something is left: %s", strerror(errno));
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "damaged", damaged },
		{ "names", names },
		{ "in a row", in_a_row },
		{ "not written", not_written },
	};
	int status;

	snprintf(directory, sizeof(directory), "/tmp/unit_failed.XXXXXX");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	context.state = directory;
	status = ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
	rmdir(directory);
	return status;
}
