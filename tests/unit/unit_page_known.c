// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the page keeps of the state and the kernel from one question to the next: where memory is short once, the next
 * question has all of it again, the owners of addresses too. The state is an empty one.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "sets/networks.h"
#include "ktap.h"

static char own_directory[] = "/tmp/xdp-bloom-page-XXXXXX", file[64];
static struct context own = CONTEXT_DEFAULT;

static int map_err, warned, mapped, closed;
static char the_table[1];

static int given_map(struct networks **n, const char *state)
{
	CHECK(state == own.state, "another state");
	*n = map_err ? NULL : (struct networks *)the_table;
	mapped++;
	return map_err;
}

static void given_close(struct networks *n)
{
	closed += n != NULL;
}

static void given_warn(int err)
{
	CHECK(err == map_err, "another error");
	warned++;
}

static int64_t now_ms = 1000;

static int64_t given_ms(void)
{
	return now_ms;
}

/* Which of jansson's calls has no memory; 0: none. */
static unsigned int calls, fails;

static bool fail_now(void)
{
	return ++calls == fails;
}

static json_t *given_object(void)
{
	return fail_now() ? NULL : json_object();
}

static json_t *given_array(void)
{
	return fail_now() ? NULL : json_array();
}

static int given_put(json_t *object, const char *name, json_t *value)
{
	if (!fail_now())
		return json_object_set_new(object, name, value);
	json_decref(value);
	return -1;
}

#define networks_map		     given_map
#define networks_close		     given_close
#define networks_warn		     given_warn
#define clock_ms		     given_ms
#define json_object		     given_object
#define json_array		     given_array
#define json_object_set_new(o, n, v) given_put(o, n, v)
#ifndef VERSION
#define VERSION "0"
#endif
#include "observe/page.c"
#undef json_object
#undef json_array
#undef json_object_set_new

static struct page *page;

static void begin(void)
{
	if (page)
		page_free(page);
	page = calloc(1, sizeof(*page));
	map_err = warned = mapped = closed = 0;
	calls = fails = 0;
}

static void changes(void)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, "x", 1) == 1, "no %s", file);
	close(fd);
}

static int asked(void)
{
	calls = 0;
	return look(page, &own, 0);
}

static bool is_whole(void)
{
	return page->known && json_object_size(page->known) == KNOWN && page->unread;
}

static void once(void)
{
	begin();
	changes();
	CHECK(!asked() && is_whole() && page->networks && mapped == 1, "the first is not whole");
	CHECK(!asked() && mapped == 1, "they are mapped again without a change");
	changes();
	CHECK(!asked() && mapped == 2 && closed == 1, "they are not mapped again");
	now_ms += LOOK_MS;
	CHECK(!asked() && is_whole() && mapped == 2, "a look maps them again");
}

/* Each call that makes something fails once, when all has changed. */
static void short_of_memory(void)
{
	unsigned int most;

	begin();
	changes();
	CHECK(!asked(), "not even once");
	most = calls;
	CHECK(most > KNOWN, "only %u calls", most);
	for (unsigned int i = 1; i <= most; i++) {
		begin();
		changes();
		fails = i;
		if (!asked())
			CHECK(is_whole(), "call %u: something is left out, and kept", i);
		else
			CHECK(!page->known && !page->unread, "call %u: half of it is kept", i);
		fails = 0;
		CHECK(!asked() && is_whole(), "call %u: the next is not whole", i);
		CHECK(page->networks, "call %u: whose addresses are is forgotten", i);
	}
}

static void not_mapped(void)
{
	static const struct {
		int err;
		bool again;
	} each[] = { { -ENOMEM, true }, { -EMFILE, true }, { -ENFILE, true }, { -EUCLEAN, false }, { -EACCES, false } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		begin();
		changes();
		map_err = each[i].err;
		CHECK(!asked() && !page->networks && mapped == 1, "%zu: mapped", i);
		CHECK(warned == !each[i].again, "%zu: %d warnings", i, warned);
		now_ms += LOOK_MS;
		map_err = 0;
		CHECK(!asked() && mapped == 1 + each[i].again && !!page->networks == each[i].again, "%zu: later", i);
		CHECK(warned == !each[i].again, "%zu: %d warnings later", i, warned);
		changes();
		CHECK(!asked() && page->networks, "%zu: not after a change", i);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "once", once },
						  { "short of memory", short_of_memory },
						  { "not mapped", not_mapped } };
	int status;

	if (!mkdtemp(own_directory))
		return 1;
	snprintf(file, sizeof(file), "%s/" STATE_NETWORKS, own_directory);
	own.state = own.bpffs = own_directory;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	page_free(page);
	unlink(file);
	rmdir(own_directory);
	return status;
}
