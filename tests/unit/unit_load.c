// SPDX-License-Identifier: GPL-2.0-only
/*
 * A list from its file or server into force: what is opened and how, what is compared and kept, which guard rail is
 * asked about what, and what is said where each step fails; with files, a state and a filter that are made up. Word for
 * word.
 */
#include "model_load.h"

static const struct shown texts[] = {
#include "unit_load.txt"
};

static struct shows shows = { .file = "tests/unit/unit_load.txt",
			      .known = texts,
			      .n = sizeof(texts) / sizeof(texts[0]) };

#include "change/load.c"

static struct load_options o;
static const char *path;

static void begins(void)
{
	its = (struct context){ .state = "/s", .quiet = true };
	failing = NULL;
	failing_with = -EIO;
	brief = has_failed = false;
	content = THREE;
	mode = S_IFREG | 0644;
	of_the_kernel = is_written = is_loaded = named_here = of_another = false;
	packed_is = bad = 0;
	last_failure.why[0] = '\0';
	memset(&there, 0, sizeof(there));
	free(server.row);
	memset(&server, 0, sizeof(server));
	memset(&catalog_has, 0, sizeof(catalog_has));
	o = (struct load_options){ 0 };
	path = "drop.txt";
}

/* A version before, so large. */
static void has(enum list_kind kind, const char *set)
{
	there.is = true;
	there.set = set;
	there.info = (struct list_info){ .kind = kind, .times = kind == LIST_TRUST ? 3 : 0, .scope = "on eth0" };
	there.info.prefixes = *set != '\0';
}

static void is_fetched(bool is_known)
{
	path = "https://example.net/drop.txt";
	server.row = calloc(1, sizeof(*server.row));
	ENOUGH(server.row);
	server.known = is_known;
	server.row->every = 3600;
	strcpy(server.row->url, path);
}

static int loads_as(const char *name)
{
	struct loaded is;
	int err;

	has_failed = false;
	err = load_list(&its, &o, name, path, &is);
	if (err)
		printf("%s; ", strerror(error_number(err)));
	printf("%s\n", err ? reason(err) : "loaded");
	if (err && !is.replaces) {
		loaded_free(&is);
		return err;
	}
	printf("%s%s, kind %d, %llu prefixes, scope '%s'; 4: +%llu -%llu =%llu, 6: +%d -%d =%d; every %lld, comment '%s'\n",
	       is.list.name, is.replaces ? " again" : "", is.list.kind, (unsigned long long)is.list.prefixes,
	       is.list.scope, (unsigned long long)is.added4, (unsigned long long)is.removed4,
	       (unsigned long long)is.kept4, (int)is.added6, (int)is.removed6, (int)is.kept6, (long long)is.every,
	       is.signed_comment);
	loaded_free(&is);
	return err;
}

static int loads(void)
{
	return loads_as("drop");
}

/* Each option by which something is let through, and each kind of list. */
static void options_of(int i)
{
	o = (struct load_options){
		.force = i == 1, .ban_own = i == 2, .big_change = i == 3, .wide = i == 4, .dry_run = i == 5
	};
	if (i == 6)
		o.confirm = (struct number){ .value = 60, .given = true };
}

/* --- What happens --- */

static void names(void)
{
	static const char *const each[] = { "",
					    "a",
					    "-a",
					    ".",
					    "..",
					    "...",
					    "a b",
					    "a/b",
					    "A.z_0-9",
					    "\xc3\xa4",
					    "012345678901234567890123456789012345678901234567890123456789012",
					    "0123456789012345678901234567890123456789012345678901234567890123" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		printf("'%s': %s\n", each[i], list_name_fault(each[i]) ?: "right");
	loads_as("..");
}

static void first(void)
{
	loads();
	o.kind = LIST_TRUST;
	loads();
	o.kind = LIST_ALLOW;
	loads();
	o.kind = LIST_SHADOW;
	o.reading.format = "plain";
	strcpy(o.reading.where, "a = b");
	o.reading.skip_bad = true;
	its.quiet = false;
	bad = 2;
	loads();
	its.json = true;
	bad = 11;
	o.dry_run = true;
	loads();
	o = (struct load_options){ 0 };
	loads_as(LIVE_LIST);
}

static void again(void)
{
	for (int i = 0; i < 7; i++) {
		printf("option %d\n", i);
		has(LIST_BAN, OTHER);
		options_of(i);
		loads();
	}
	o = (struct load_options){ 0 };
	has(LIST_ALLOW, OTHER);
	loads();
	options_of(1);
	loads();
	has(LIST_TRUST, OTHER);
	o = (struct load_options){ 0 };
	loads();
	has(LIST_SHADOW, OTHER);
	loads();
	has(LIST_BAN, "");
	loads();
}

static void kinds(void)
{
	for (int was = LIST_BAN; was <= LIST_TRUST; was++)
		for (int kind = LIST_ALLOW; kind <= LIST_TRUST; kind++) {
			has((enum list_kind)was, THREE);
			o.kind = kind;
			brief = true;
			failing = kind == LIST_SHADOW ? "drop waits" : "that is kept";
			printf("%d as %d\n", was, kind);
			loads();
		}
}

static void scopes(void)
{
	ENOUGH(!scope_add_only(&o.scope, "tcp/22"));
	has(LIST_BAN, THREE);
	loads();
	loads();
	o.scope = (struct scope){ .any = true };
	loads();
	for (int i = 0; i < SCOPE_TO; i++) {
		char to[64];

		snprintf(to, sizeof(to), "2001:db8:1111:2222:3333:4444:5555:1%03d", i);
		ENOUGH(!scope_add_to(&o.scope, to));
	}
	loads();
	o.scope = (struct scope){ .any = true };
	o.kind = LIST_ALLOW;
	loads();
}

static void means(void)
{
	static const char *const paths[] = { "drop.txt", "-", "https://example.net/" };

	for (int p = 0; p < 3; p++)
		for (int i = 0; i < 9; i++) {
			begins();
			path = paths[p];
			brief = true;
			failing = p == 1 ? "standard input" : p ? "fetch" : "open";
			o.kind = i == 4 ? LIST_ALLOW : i > 4 ? LIST_TRUST : 0;
			o.feed.then = i == 0;
			o.feed.max_age.given = i == 1 || i == 8;
			o.feed.usual = i == 8;
			o.feed.key = i == 2 ? "key" : NULL;
			o.feed.lan = i == 3;
			o.ban_own = i == 4 || i == 5;
			o.big_change = i == 6;
			o.scope.any = i == 7;
			printf("%s, %d: ", path, i);
			if (p == 1)
				failing = NULL;
			loads();
		}
}

static void files(void)
{
	static const char *const missing[] = { "file:///a", "ftp://a", "192.0.2.0/24", "2001:db8::1", "a" };

	content = NULL;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		path = missing[i];
		loads();
	}
	named_here = true;
	loads();
	begins();
	failing = "open";
	loads();
	failing = "what is it";
	loads();
	failing = "where";
	loads();
	failing = NULL;
	for (int i = 0; i < 8; i++) {
		static const mode_t modes[] = { S_IFDIR | 0755, S_IFIFO | 0644, S_IFREG | 0640, S_IFREG | 0 };

		mode = modes[i % 4];
		o.if_changed = i > 3;
		of_another = i % 4 == 2;
		printf("mode %o%s\n", mode, o.if_changed ? ", if it has changed" : "");
		loads();
	}
	begins();
	of_the_kernel = true;
	loads();
	o.if_changed = true;
	loads();
	begins();
	its.check = CHECK_FILES;
	mode = S_IFREG | 0100;
	loads();
	for (mode_t read = 0400; read; read >>= 3) {
		mode = S_IFREG | read;
		loads();
	}
	mode = S_IFIFO | 0100;
	loads();
	its.line = true;
	loads();
	its.check = 0;
	loads();
	mode = S_IFREG | 0644;
	loads();
	failing = "open";
	failing_with = -EAGAIN;
	loads();
}

/* What may not be there any more under the lock is copied before. */
static void may_not_answer(void)
{
	static const enum answers each[] = { SERVER_ANSWERS, USER_ANSWERS, KERNEL_ANSWERS };

	mode = S_IFREG | 0644;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		who_answers = each[i];
		loads();
	}
	who_answers = SERVER_ANSWERS;
	failing = "a copy";
	loads();
	who_answers = KERNEL_ANSWERS;
}

static void input(void)
{
	path = "-";
	loads();
	o.if_changed = true;
	loads();
	failing = "standard";
	loads();
	failing = "a copy";
	loads();
}

static void if_changed(void)
{
	o.if_changed = true;
	is_written = true;
	loads();
	is_loaded = true;
	loads();
	failing = "where";
	is_loaded = false;
	loads();
	is_fetched(true);
	failing = NULL;
	loads();
}

/* Fetched once more, and the same set; 5 is when the version in force was signed. */
static void signed_again(void)
{
	static const char *const each[] = { "is https", "when was", "drop was signed", "the state is written" };

	server.same = true;
	for (server.signed_at = 4; server.signed_at <= 6; server.signed_at++) {
		is_fetched(true);
		printf("signed at %d\n", (int)server.signed_at);
		loads();
	}
	brief = true;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		is_fetched(true);
		failing = each[i];
		printf("%s\n", failing);
		loads();
	}
}

static void signed_by(void)
{
	o.feed.key = "/etc/key";
	loads();
	has(LIST_BAN, THREE);
	server.same = true;
	loads();
	server.same = false;
	o.force = true;
	loads();
	o.force = false;
	failing = "is drop.txt signed";
	loads();
	o.if_changed = true;
	loads();
	o.if_changed = false;
	its.line = true;
	loads();
	its.line = false;
	failing = "when was";
	loads();
	is_fetched(false);
	failing = NULL;
	loads();
	signed_again();
}

static void fetched(void)
{
	for (int i = 0; i < 7; i++) {
		is_fetched(true);
		has(LIST_BAN, OTHER);
		options_of(i);
		printf("option %d\n", i);
		loads();
	}
	o = (struct load_options){ 0 };
	path = "http://example.net/once";
	server.ends = true;
	loads();
	server.ends = false;
	server.same = true;
	is_fetched(true);
	loads();
	server.same = false;
	is_fetched(true);
	failing = "read";
	loads();
	is_fetched(true);
	feed_is_late = true;
	puts("somebody has renewed it meanwhile");
	loads();
	feed_is_late = false;
	is_fetched(false);
	there.is = false;
	failing = "fetch";
	loads();
	is_fetched(true);
	server.whole = true;
	failing = "has drop grown";
	there.accepted.known = true;
	has(LIST_BAN, OTHER);
	loads();
}

static void aged(void)
{
	static const enum feed_then then[] = { FEED_SHADOW, FEED_KEEP, FEED_SHADOW, FEED_SHADOW, FEED_SHADOW };
	static const enum list_kind was[] = { LIST_SHADOW, LIST_SHADOW, LIST_ALLOW, LIST_SHADOW, LIST_BAN };

	for (int i = 0; i < 5; i++) {
		is_fetched(true);
		server.row->aged = i == 3 ? 0 : 1;
		server.row->then = then[i];
		has(was[i], OTHER);
		o.feed.again = i < 4;
		o.kind = i == 1 ? 0 : LIST_SHADOW;
		printf("then %d, a list of kind %d\n", then[i], was[i]);
		loads();
	}
	/* The same, for other packets, or of other rows. */
	server.same = true;
	for (int i = 0; i < 4; i++) {
		is_fetched(true);
		has(LIST_BAN, THREE);
		o.feed.again = true;
		o.kind = 0;
		o.scope.any = i == 1;
		o.reading.format = i == 2 ? "csv" : NULL;
		snprintf(o.reading.where, sizeof(o.reading.where), "%s", i == 3 ? "a=b" : "");
		loads();
	}
	o.reading.where[0] = '\0';
	server.same = false;
	/* What was dropped has its kind, and is measured by what it was. */
	for (int i = 0; i < 3; i++) {
		is_fetched(true);
		server.row->aged = i < 2;
		server.row->then = FEED_DROP;
		has(i ? LIST_BAN : LIST_SHADOW, "");
		there.accepted = (struct accepted){
			.known = true, .hand = { 9, 9 }, .day = { 2, 2 }, .day_at = DATE - 86400, .wide = { 3, 3 }
		};
		o.feed.again = true;
		printf("%s, a list of kind %d\n", i < 2 ? "dropped" : "empty", there.info.kind);
		loads();
	}
}

static void recalls(void)
{
	static const struct accepted each[] = {
		{ .known = false, .hand = { 1, 1 }, .day = { 2, 2 }, .day_at = DATE - 9, .wide = { 3, 3 } },
		{ .known = true, .hand = { 0, 0 }, .day = { 2, 2 }, .day_at = DATE - 86399 },
		{ .known = true, .hand = { 9, 0 }, .day = { 2, 2 }, .day_at = DATE - 86400, .wide = { 0, 3 } },
		{ .known = true, .hand = { 0, 9 }, .day = { 2, 2 }, .day_at = DATE + 1, .wide = { 3, 0 } },
		{ .known = true, .hand = { 9, 9 }, .day = { 2, 2 }, .day_at = DATE },
		{ .known = true, .hand = { 0, 1 }, .day = { 2, 2 }, .day_at = DATE, .wide = { 0, 1 } },
		{ .known = true, .hand = { 1, 0 }, .day = { 2, 2 }, .day_at = DATE, .wide = { 1, 0 } },
		{ .known = true, .day = { 2, 2 }, .day_at = DATE - 86400, .left = { 5, 7 } },
	};
	static const char *const sets[] = { OTHER, "192.0.2.1", "2001:db8::1", "" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
			struct loaded is = { 0 };
			struct load l = { 0 };

			l.context = &its;
			l.name = "drop";
			l.options = &o;
			l.out = &is;
			there.accepted = each[i];
			parse(&l.before, sets[s]);
			l.out->replaces = i || s;
			l.out->list.kind = (enum list_kind)s;
			if (recall(&l, STATE))
				puts("it is not recalled");
			says_accepted("recalled", &l.accepted);
			ranges_free(&l.before);
		}
}

static void each_fails(void)
{
	static const char *const each[] = { "where",	       "is it a change", "packed",     "read",
					    "a change begins", "drop is",	 "bogons",     "what drop holds",
					    "is drop still",   "what was",	 "the share",  "is drop wide",
					    "is drop another", "has drop",	 "forced",     "drop waits",
					    "put drop",	       "that is kept",	 "the change", "drop is from",
					    "the feed of",     "the text of" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (int how = 0; how < 2; how++) {
			begins();
			has(LIST_BAN, OTHER);
			brief = true;
			there.accepted.known = true;
			there.accepted.hand.v4 = 9;
			failing = each[i];
			o.wide = i == 14 && how;
			o.ban_own = !strcmp(failing, "forced");
			o.if_changed = how;
			printf("%s\n", failing);
			loads();
		}
	brief = false;
	failing = "what drop holds";
	failing_with = -EUCLEAN;
	o = (struct load_options){ 0 };
	loads();
	o.if_changed = true;
	loads();
}

static void packed(void)
{
	packed_is = 1;
	has(LIST_BAN, OTHER);
	loads();
	o.dry_run = true;
	loads();
	failing = "all of it";
	loads();
	failing = "packed";
	o.dry_run = false;
	loads();
}

static void said_of(void)
{
	static const int errs[] = { -EIO, -EBUSY, -EALREADY, -EEXIST };

	for (int i = 0; i < 4; i++)
		for (int how = 0; how < 6; how++) {
			begins();
			brief = true;
			if (how == 1)
				has(LIST_BAN, OTHER);
			if (how == 5)
				is_fetched(true);
			failing = how == 4 ? "a change begins" : "bogons";
			failing_with = errs[i];
			o.if_changed = how == 2;
			its.check = how == 3 ? CHECK_FILES : CHECK_NOT;
			printf("%s, %d\n", errno_text(errs[i]), how);
			loads();
		}
	begins();
	its.joined = &under_way;
	loads();
}

/* What a guest needs of it is left out by whoever may: the list, its file and its server are asked for once more. */
static void spares(void)
{
	o.spare = true;
	for (guests = 0; guests < 4; guests++)
		loads();
	/* As it is in force so already, it is no news; but it is where something else was said of it. */
	o.if_changed = true;
	has(LIST_BAN, "192.0.2.1 192.0.2.4/31");
	strcpy(there.info.scope, "");
	for (int i = guests = 1; i < 3; i++)
		loads();
	has(LIST_BAN, "192.0.2.1");
	loads();
	o.if_changed = false;
	loads();
	o.kind = LIST_ALLOW;
	there.is = false;
	loads();
	o.kind = 0;
	its.joined = &under_way;
	loads();
	its.joined = NULL;
	is_fetched(true);
	o.feed.again = true;
	has(LIST_BAN, "192.0.2.1 192.0.2.4/31");
	strcpy(there.info.scope, "");
	loads();
	has(LIST_BAN, OTHER);
	is_fetched(true);
	loads();
	failing = "put drop";
	is_fetched(true);
	loads();
	/* The next version is held against all of it. */
	begins();
	o.spare = true;
	has(LIST_BAN, "192.0.2.1 192.0.2.4/31");
	there.accepted = (struct accepted){ .known = true, .hand = { 4, 0 }, .day = { 2, 0 }, .left = { 1, 0 } };
	for (guests = 0; guests < 2; guests++)
		loads();
	guests = 0;
}

static void known_feed(void)
{
	for (int i = 0; i < 9; i++) {
		begins();
		path = "@one";
		catalog_has = (struct catalog_feed){ .name = "one", .url = "https://example.net/one", .every = 3600 };
		catalog_has.format = i ? "json" : NULL;
		catalog_has.where = i == 1 || i == 2 ? "a = b" : NULL;
		catalog_has.account = i > 2 && i < 6 ? "ask them" : NULL;
		if (i == 4 || i == 5)
			o.feed.header_file = "header";
		if (i == 5)
			catalog_has.url = "https://example.net/ID/one";
		if (i == 2) {
			o.reading.format = "csv";
			strcpy(o.reading.where, "c = d");
		}
		o.feed.every = (struct number){ .given = i > 5, .value = i == 6 ? 3599 : 3600 };
		catalog_has.every_by = i == 8 ? "its publisher" : NULL;
		if (i == 8)
			o.feed.every.value = 1;
		printf("%d\n", i);
		loads();
	}
	failing = "the catalog";
	loads();
	failing = "@one";
	loads();
	failing = NULL;
	o = (struct load_options){ .dry_run = true };
	path = "@one";
	o.feed.max_age.given = true;
	loads();
	o.dry_run = false;
	loads();
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "names", names },
		{ "the first time", first },
		{ "again", again },
		{ "kinds", kinds },
		{ "scopes", scopes },
		{ "what means nothing", means },
		{ "files", files },
		{ "may not answer", may_not_answer },
		{ "standard input", input },
		{ "if changed", if_changed },
		{ "signed", signed_by },
		{ "fetched", fetched },
		{ "aged", aged },
		{ "recalls", recalls },
		{ "each fails", each_fails },
		{ "packed", packed },
		{ "said of it", said_of },
		{ "by its name", known_feed },
		{ "left out", spares },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begins);
	begins();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
