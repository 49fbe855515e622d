// SPDX-License-Identifier: GPL-2.0-only
/* fleet join, leave, resync, acl, init and run: what they take, what they have the state keep, and what they say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trusted_dir.h"
#include "change/change.h"
#include "feeds/fleet.h"
#include "service/config.h"
#include "state/fleet.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_fleet_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_fleet_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int calls, fails_at;
static bool joined, runs;
static struct fleet was_in;
static struct change the_change;
static unsigned int config_lines, config_joins_at;
static bool no_config, bad_config;

static int call(const char *what)
{
	bool fails = ++calls == fails_at;

	printf("  %s%s\n", what, fails ? ": fails" : "");
	return fails ? because(-EIO, "it was not to be") : 0;
}

static int given_begin(struct change **change, struct context *context)
{
	*change = NULL;
	if (call("a change begins"))
		return because(-EIO, "it was not to be");
	the_change = (struct change){ .context = context };
	*change = &the_change;
	return 0;
}

static void given_end(struct change *change)
{
	printf("  %s\n", change ? "the change ends" : "no change ends");
}

static int given_fleet(struct state *state, struct fleet *fleet)
{
	(void)state;
	*fleet = joined ? was_in : (struct fleet){ 0 };
	return call("what it has joined") ?: joined ? 0 : -ENOENT;
}

static int given_join(struct state *state, const struct fleet *f)
{
	(void)state;
	printf("  '%s' as '%s', user '%s', prefix '%s', says '%s', pace %lld\n", f->url, f->name, f->user, f->prefix,
	       f->say, (long long)f->pace);
	if (f->server_user)
		printf("  its server may be user %lld's\n", (long long)f->server_user);
	if (*f->password_file || *f->ca || *f->read)
		printf("  password '%s', ca '%s', read '%s'\n", f->password_file, f->ca, f->read);
	return call("joins");
}

static int given_leave(struct state *state)
{
	(void)state;
	return call("leaves");
}

static int given_drop(struct state *state, const char *member)
{
	(void)state;
	printf("  word of %s\n", member ?: "all");
	return call("from the beginning");
}

static int given_say_all(struct state *state)
{
	(void)state;
	return call("says all again");
}

static int given_commit(struct change *change, const struct apply_options *options)
{
	if (change != &the_change || options)
		puts("  another change");
	return call("commits");
}

/* Of a name, as long as it says behind a colon. */
static char *given_real(const char *path, char *to)
{
	if (!strcmp(path, "missing")) {
		errno = ENOENT;
		return NULL;
	}
	if (path[0] == ':') {
		memset(to, 'f', (size_t)atoi(path + 1));
		to[atoi(path + 1)] = '\0';
	} else {
		sprintf(to, "/whole/%s", path);
	}
	return to;
}

static int given_trust(const char *path, const char *what)
{
	printf("  %.40s: %s?\n", path, what);
	return call("is it ours");
}

static int given_config(struct config *config, const char *path, const struct verb *all)
{
	static struct config_line lines[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };

	if (strcmp(path, "/etc/xdp-bloom.conf") != 0 || all != verbs || bad_config)
		return -EINVAL;
	*config = (struct config){ .lines = lines, .n = config_lines };
	return 0;
}

static int given_run(struct context *context)
{
	printf("  unchanged: %d\n", context->unchanged);
	runs = true;
	return call("takes part");
}

#define change_begin		 given_begin
#define change_end		 given_end
#define change_commit		 given_commit
#define change_check(of, words)	 ((void)(of), puts((words) ? "  a check of words?" : "  is it a check"))
#define state_fleet		 given_fleet
#define state_fleet_join	 given_join
#define state_fleet_leave	 given_leave
#define state_fleet_at_drop	 given_drop
#define state_fleet_say_all	 given_say_all
#define state_joined(state)	 (joined)
#define realpath		 given_real
#define trust_file		 given_trust
#define access(path, how)	 (no_config || (how) != R_OK)
#define config_read		 given_config
#define config_free(config)	 ((void)(config))
#define config_line_joins(which) ((which)->number == config_joins_at)
#define fleet_run		 given_run
#define out_done(of)		 (puts((of)->unchanged ? "  nothing has changed" : "  done"), EXIT_DONE)
#define out_end()		 (printf("  unchanged: %d\n", call->context->unchanged), out_end())
#include "verbs/fleet_join.c"
#undef access

static void begin(void)
{
	calls = fails_at = 0;
	joined = runs = bad_config = false;
	no_config = true;
	config_lines = config_joins_at = 0;
	was_in = (struct fleet){ .url = "redis://h", .name = "me", .prefix = "xdp-bloom:", .say = "all" };
}

/* True: a call failed, or would have. */
static bool types(const char *line)
{
	calls = 0;
	typed(line);
	return calls >= fails_at;
}

static void joins(void)
{
	static const char *const each[] = {
		"fleet join redis://h --as me",
		"fleet join redis://h:1234 --as me.too --say add --prefix mine: --user u --pace 0.25",
		"fleet join redis://h --as me --pace 0.001",
		"fleet join redis://h --as me --pace 0.0014",
		"fleet join redis://h --as me --pace 0.0015",
		"fleet join redis://h --as me --pace 60s",
		"fleet join redis://h --as me --server-user 998",
		"fleet join redis://h --as me --server-user root",
		"fleet join redis://h --as me --server-user no-such-user",
		"fleet join rediss://h --as me --read redis://r --server-user 998",
		"fleet join rediss://h --as me --server-user 998",
		"fleet join unix:///s --as me --read rediss://r --server-user 998",
		"fleet accept me --server-user 998",
		"fleet join redis://h --as me --password-file pw",
		"fleet join redis://h --as me --password-file pw --user u",
		"fleet join redis://h --as me --user u",
		"fleet join rediss://h --as me --ca ca --read redis://r",
		"fleet join redis://h --as me --ca ca --read rediss://r",
		"fleet join redis://h --as me --ca ca --read redis://r",
		"fleet join redis://h --as me --ca ca",
		"fleet join redis://h --as me --json",
		"fleet join redis://h --as me --quiet",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	puts("-- a call fails");
	for (fails_at = 1; types("fleet join redis://h --as me --password-file pw"); fails_at++)
		;
	for (fails_at = 1; types("fleet join rediss://h --as me --ca ca --password-file pw"); fails_at++)
		;
}

static void rejoins(void)
{
	static const char *const each[] = {
		"fleet join redis://h --as me",
		"fleet join redis://h --as you",
		"fleet join redis://h --as me --prefix of:",
		"fleet join redis://h2 --as me",
		"fleet join redis://h --as you --quiet",
		"fleet join redis://h --as you --json",
	};

	joined = true;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	strcpy(was_in.user, "u");
	types("fleet join redis://h --as you");
	for (fails_at = 1; types("fleet join redis://h --as you"); fails_at++)
		;
}

static void typed_of(const char *form, size_t n)
{
	char line[900], word[600];

	memset(word, 'x', n);
	word[n] = '\0';
	snprintf(line, sizeof(line), form, word);
	types(line);
}

static void refused(void)
{
	static const char *const each[] = {
		"fleet join",
		"fleet join redis://h",
		"fleet join --as me",
		"fleet join redis://h --as ''",
		"fleet join redis://h --as 'a b'",
		"fleet join redis://h --as '*'",
		"fleet join redis://h --as me more",
		"fleet join h --as me",
		"fleet join http://h --as me",
		"fleet join redis:// --as me",
		"fleet join redis://h --as me --prefix ''",
		"fleet join redis://h --as me --prefix 'a*'",
		"fleet join redis://h --as me --prefix 'a b'",
		"fleet join redis://h --as me --user 'a b'",
		"fleet join redis://h --as me --user '!~'",
		"fleet join redis://h --as me --user \xc3\xbc",
		"fleet join redis://h --as me --say ''",
		"fleet join redis://h --as me --say 'a\xff'",
		"fleet join redis://h --as me --say 'two words'",
		"fleet join redis://h --as me --read h",
		"fleet join redis://h --as me --password-file missing",
		"fleet join redis://h --as me --password-file :255",
		"fleet join redis://h --as me --password-file :256",
		"fleet join rediss://h --as me --ca missing",
		"fleet join rediss://h --as me --ca :256",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	puts("-- as long as may be, and one more");
	for (size_t more = 0; more < 2; more++) {
		typed_of("fleet join redis://h --as %s", MEMBER_NAME_MAX - 1 + more);
		typed_of("fleet join redis://h --as me --user %s", FLEET_USER_MAX - 1 + more);
		typed_of("fleet join redis://h --as me --prefix %s", FLEET_PREFIX_MAX - 1 + more);
		typed_of("fleet join redis://h --as me --say %s", BAN_REASON_MAX - 1 + more);
		typed_of("fleet join unix:///%s --as me", FLEET_URL_MAX - 1 - 8 + more);
	}
}

static void leaves(void)
{
	types("fleet leave");
	types("fleet leave more");
	joined = true;
	types("fleet leave");
	strcpy(was_in.user, "u");
	strcpy(was_in.prefix, "of:");
	types("fleet leave");
	types("fleet leave --quiet");
	types("fleet leave --json");
	for (fails_at = 1; types("fleet leave"); fails_at++)
		;
	fails_at = 0;
	puts("-- a line joins again");
	for (int how = 0; how < 6; how++) {
		no_config = how == 0;
		bad_config = how == 1;
		config_lines = 3;
		config_joins_at = how == 5 ? 4 : how < 2 ? 1 : (unsigned int)how - 1;
		printf("%d\n", how);
		types("fleet leave --json");
	}
	config_lines = 0;
	types("fleet leave --json");
}

static void resyncs(void)
{
	types("fleet resync");
	joined = true;
	types("fleet resync");
	types("fleet resync other");
	types("fleet resync 'a b'");
	types("fleet resync '*'");
	types("fleet resync --quiet");
	types("fleet resync --json");
	for (fails_at = 1; types("fleet resync"); fails_at++)
		;
	for (fails_at = 1; types("fleet resync other"); fails_at++)
		;
}

static void shows_only(void)
{
	static const char *const each[] = {
		"fleet acl",
		"fleet acl me",
		"fleet acl 'a b'",
		"fleet acl '*'",
		"fleet acl me --prefix of:",
		"fleet acl me --prefix 'a*'",
		"fleet init",
		"fleet init more",
		"fleet run more",
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		types(each[i]);
	types("fleet run");
	CHECK(runs, "it takes no part");
	fails_at = 1;
	types("fleet run");
	runs = false;
	typed_context.line = true;
	types("fleet run");
	typed_context.line = false;
	typed_context.joined = &the_change;
	types("fleet run");
	typed_context.joined = NULL;
	CHECK(!runs, "it takes part from a file");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = { { "joins", joins },	   { "joins another", rejoins },
					       { "refused", refused },	   { "leaves", leaves },
					       { "begins anew", resyncs }, { "shows", shows_only } };

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
