// SPDX-License-Identifier: GPL-2.0-only
/* That something wrong could not be kept is noted without room, by all that keep such things, and is over in time. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/state_path.h"
#include "ktap.h"
#include "observe/agent_seen.h"
#include "observe/fleet_seen.h"
#include "observe/lines_down.h"
#include "state/failed.h"
#include "state/unshown.h"

static char directory[64], lock[128];
static struct context context = CONTEXT_DEFAULT;

/* The file as it is where nothing was ever noted. */
static void begin(void)
{
	unlink(lock);
	close(open(lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int64_t noted(void)
{
	return unshown_at(directory, time(NULL));
}

static void in_time(void)
{
	char text[UNSHOWN_TEXT_MAX] = "x";
	struct timespec at[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1767225600 } };
	struct stat is;

	begin();
	CHECK(!noted() && !unshown_trouble(directory, time(NULL), text) && !*text, "'%s'", text);
	unshown_note(directory);
	CHECK(time(NULL) - noted() < 10 && !stat(lock, &is) && !is.st_size && (is.st_mode & 0777) == 0700, "not noted");
	CHECK(!utimensat(AT_FDCWD, lock, at, 0), "no date");
	CHECK(unshown_at(directory, 1767225600 + 3700) == 1767225600, "it is over after an hour");
	CHECK(!unshown_at(directory, 1767225600 + 7200), "it is not over");
	CHECK(unshown_at(directory, 1767225500) == 1767225600, "the date was set back");
	CHECK(unshown_trouble(directory, 1767225600, text) && strstr(text, "2026-01-01T00:00:00Z"), "'%s'", text);
	unlink(lock);
	unshown_note(directory);
	CHECK(!noted() && access(lock, F_OK), "it was made");
}

static void failed(void)
{
	list_failed(&context, "feed", "why");
}

static void lines(void)
{
	lines_down_keep(&context, STATE_LINES, &(struct lines_down){ .text = { "why" }, .n = 1 });
}

static void fleet(void)
{
	CHECK(fleet_seen_write(&context, &(struct fleet_seen){ .at = 1 }), "it is written");
}

static void agent(void)
{
	struct agent_word word;

	agent_word_begin(&word, &context);
	CHECK(!agent_word_silent(&word, "http://a", 1, "why"), "it is written");
	agent_word_end(&word);
}

/* There is another in its place, as where there is no room for it. */
static void each(void)
{
	static const struct {
		const char *place;
		void (*keep)(void);
	} all[] = { { STATE_FAILED "/feed", failed },
		    { STATE_LINES, lines },
		    { STATE_FLEET, fleet },
		    { STATE_AGENT ".new", agent } };
	char path[128], in_it[160];
	FILE *messages = stderr;

	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	mkdir(path, 0700);
	stderr = fopen("/dev/null", "w");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && stderr; i++) {
		begin();
		snprintf(path, sizeof(path), "%s/%s", directory, all[i].place);
		snprintf(in_it, sizeof(in_it), "%s/x", path);
		CHECK(!mkdir(path, 0700) && !mkdir(in_it, 0700), "no directory");
		all[i].keep();
		CHECK(noted(), "%s: not noted", all[i].place);
		CHECK(!rmdir(in_it) && !rmdir(path), "it is another");
	}
	if (stderr)
		fclose(stderr);
	stderr = messages;
	snprintf(path, sizeof(path), "%s/" STATE_AGENT_LOCK, directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" STATE_FAILED, directory);
	rmdir(path);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "in time", in_time }, { "each", each } };
	const char *temporary = getenv("TMPDIR");
	int status;

	snprintf(directory, sizeof(directory), "%s/unit_unshown.XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(directory))
		return KTAP_FAIL;
	context.state = directory;
	snprintf(lock, sizeof(lock), "%s/" STATE_LOCK, directory);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	unlink(lock);
	if (rmdir(directory))
		printf("# %s stays\n", directory);
	return status;
}
