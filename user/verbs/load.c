// SPDX-License-Identifier: GPL-2.0-only
/* load */
#include "base/span.h"
#include "change/load.h"
#include "observe/documents.h"
#include "state/feeds.h"
#include "verbs/verbs.h"

static const char *const then_words[] = { "keep", "shadow", "drop", NULL };
static const char *const bogons_words[] = { "keep", "refuse", NULL };

const struct option_spec load_list_options[] = {
	{ "allow", .type = OPTION_KIND, AT(load_options, kind), .least = LIST_ALLOW, .wants = "--shadow or --trust",
	  .does = "an allow list", .also = "--whitelist" },
	{ "shadow", .type = OPTION_KIND, AT(load_options, kind), .least = LIST_SHADOW, .wants = "--allow or --trust",
	  .does = "a list that only counts" },
	{ "trust", .type = OPTION_KIND, AT(load_options, kind), .least = LIST_TRUST, .wants = "--allow or --shadow",
	  .does = "its addresses have more of each limit of detect" },
	{ "format", .type = OPTION_TEXT, AT(load_options, reading.format), .value = "FORMAT",
	  .words_of = reader_formats, .does = "read it as that, whatever it looks like" },
	{ "skip-bad", AT(load_options, reading.skip_bad), .does = "leave out lines that cannot be read" },
	WHERE_OPTION(load_options, reading.where),
	SCOPE_OPTIONS(load_options, scope),
	{ "dry-run", AT(load_options, dry_run), .does = "say what would happen" },
	CONFIRM_OPTION(load_options),
	{ "every", .type = OPTION_TIME, AT(load_options, feed.every), .value = "TIME", .least = FEED_EVERY_LEAST,
	  .wants = "a time such as 6h, and no less than 5m" },
	{ "max-age", .type = OPTION_TIME, AT(load_options, feed.max_age), .value = "TIME" },
	{ "then", .type = OPTION_WORD, AT(load_options, feed.then), .words = then_words, .does = "keep a URL fresh" },
	{ "insecure", AT(load_options, feed.insecure) },
	{ "lan", AT(load_options, feed.lan) },
	{ "key", .type = OPTION_FILE, AT(load_options, feed.key), .value = "KEY" },
	{ "header-file", .type = OPTION_FILE, AT(load_options, feed.header_file), .value = "FILE",
	  .does = "of a URL: xdp-bloom(8)" },
	{ "renew", AT(load_options, renew) },
	{ "if-changed", AT(load_options, if_changed) },
	{ "spare", AT(load_options, spare), .does = "how the service loads: xdp-bloom(8)" },
	{ "bogons", .type = OPTION_WORD, AT(load_options, bogons), .words = bogons_words,
	  .does = "private, multicast and such: left out otherwise" },
	{ "ban-own", AT(load_options, ban_own) },
	{ "wide", AT(load_options, wide) },
	{ "big-change", AT(load_options, big_change), .does = "even own addresses; very much; half new" },
	{ "force", AT(load_options, force), .does = "against all guard rails" },
	OPTIONS_END(struct load_options),
};

static json_t *counts_json(uint64_t v4, ip6 v6)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX];

	return json_pack("{s:s, s:s}", "ipv4", number_text(a, v4), "ipv6", number_text(b, v6));
}

static json_t *bogons_json(const struct loaded *l)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bogon_table_n; i++)
		if (l->bogons_found[i])
			json_array_append_new(array, json_string(bogon_table[i].prefix));
	return array;
}

static int loaded_json(const struct context *context, const struct loaded *l, const struct load_options *o)
{
	const struct reader_report *read = &l->read;

	return out_json(
		context,
		json_pack(
			"{s:s, s:s, s:I, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:b, s:o, s:o, s:o, s:b, s:I, s:s?, s:o, s:o}",
			"name", l->list.name, "kind", list_kind_names[l->list.kind], "prefixes",
			(json_int_t)l->list.prefixes, "addresses", l->list.addresses, "covered",
			counts_json(ranges_count4(&l->set), ranges_count6(&l->set)), "format", read->format, "lines",
			(json_int_t)read->lines, "entries", (json_int_t)read->entries, "duplicates",
			(json_int_t)read->duplicates, "merged", (json_int_t)read->merged, "bad", (json_int_t)read->bad,
			"bogons", bogons_json(l), "replaced", l->replaces, "added", counts_json(l->added4, l->added6),
			"removed", counts_json(l->removed4, l->removed6), "kept", counts_json(l->kept4, l->kept6),
			"dry_run", o->dry_run, "masked", (json_int_t)read->masked, "signed",
			*l->signed_comment ? l->signed_comment : NULL, "every",
			l->every ? json_integer((json_int_t)l->every) : json_null(), "scope",
			scope_json(l->list.scope)));
}

/* "12 IPv4 and 3 IPv6" */
static const char *counts_text(char *buf, size_t size, uint64_t v4, ip6 v6)
{
	char a[NUMBER_TEXT_MAX], b[NUMBER_TEXT_MAX];

	if (!v6)
		snprintf(buf, size, "%s", number_text(a, v4));
	else
		snprintf(buf, size, "%s IPv4 and %s IPv6", number_text(a, v4), number_text(b, v6));
	return buf;
}

static int loaded_text(const struct context *context, const struct loaded *l, const struct load_options *o)
{
	const struct reader_report *read = &l->read;
	char a[2 * NUMBER_TEXT_MAX], b[2 * NUMBER_TEXT_MAX], c[2 * NUMBER_TEXT_MAX], every[SPAN_TEXT_MAX];

	if (context->quiet)
		return out_end();
	printf("%s: %s%llu lines, %llu entries (%s), %llu duplicates, %llu merged\n", l->list.name,
	       o->dry_run ? "would load " : "", (unsigned long long)read->lines, (unsigned long long)read->entries,
	       read->format, (unsigned long long)read->duplicates, (unsigned long long)read->merged);
	printf("%s: %llu prefixes, %s addresses\n", l->list.name, (unsigned long long)l->list.prefixes,
	       counts_text(a, sizeof(a), ranges_count4(&l->set), ranges_count6(&l->set)));
	if (l->list.scope[0])
		printf("%s: only %s\n", l->list.name, l->list.scope);
	if (*l->signed_comment)
		printf("%s: signed: %s\n", l->list.name, l->signed_comment);
	if (read->bad)
		printf("%s: %llu damaged lines left out\n", l->list.name, (unsigned long long)read->bad);
	for (size_t i = 0; i < bogon_table_n; i++)
		if (l->bogons_found[i])
			printf("%s: %s left out (%s; --bogons=keep keeps it)\n", l->list.name, bogon_table[i].prefix,
			       bogon_table[i].what);
	if (l->replaces)
		printf("%s: %s added, %s removed, %s kept\n", l->list.name,
		       counts_text(a, sizeof(a), l->added4, l->added6),
		       counts_text(b, sizeof(b), l->removed4, l->removed6),
		       counts_text(c, sizeof(c), l->kept4, l->kept6));
	if (*l->left_out && o->dry_run)
		printf("%s: without %s\n", l->list.name, l->left_out);
	if (l->every && !o->dry_run && !o->feed.again)
		printf("%s: fetched again every %s\n", l->list.name, span_text(every, l->every));
	if (o->confirm.given && !o->dry_run)
		printf("%s: goes back in %.0f s unless you run: xdp-bloom confirm\n", l->list.name, o->confirm.value);
	return out_end();
}

/* A name alone: what is kept of it, and for this once what was given. */
struct again {
	struct feed feed;
	struct words words;
	struct load_options options;
};

/* What was given that would have to be kept; NULL: nothing. */
static const char *to_keep(const struct load_options *o)
{
	return o->kind					  ? "--allow, --shadow or --trust"
	       : o->bogons				  ? "--bogons"
	       : o->reading.format			  ? "--format"
	       : o->reading.where[0]			  ? "--where"
	       : o->reading.skip_bad			  ? "--skip-bad"
	       : o->scope.any || !scope_is_all(&o->scope) ? "--only, --to or --on"
	       : o->feed.key				  ? "--key"
							  : feed_option(&o->feed);
}

static int options_again(const struct call *call, struct again *a)
{
	const struct load_options *given = call->options;
	struct state *state = NULL;
	char **argv;
	int n, err = state_open(&state, call->context, false);

	err = err ?: state_feed_get(state, call->operands[0], &a->feed);
	state_close(state);
	if (err_is(err, ENOENT))
		return fail("%s: %s", call->verb->name, call->verb->asks);
	if (!err && to_keep(given))
		return fail("load: %s alone is loaded as it is kept; %s goes with its URL", call->operands[0],
			    to_keep(given));
	if (err || words_split(&a->words, a->feed.options))
		return fail("%s", err ? reason(err) : "its options cannot be read");
	n = a->words.n + 1;
	argv = calloc((size_t)n + 1, sizeof(*argv));
	if (!argv)
		return fail("%s", strerror(ENOMEM));
	argv[0] = (char *)(uintptr_t)call->verb->name;
	memcpy(argv + 1, a->words.words, (size_t)a->words.n * sizeof(*argv));
	err = options_read(call->context, call->verb->options, &a->options, &n, argv);
	free(argv);
	a->options.force = given->force;
	a->options.ban_own = given->ban_own;
	a->options.big_change = given->big_change;
	a->options.wide = given->wide;
	a->options.dry_run = given->dry_run;
	a->options.confirm = given->confirm;
	a->options.if_changed = given->if_changed;
	a->options.spare = given->spare;
	a->options.feed = (struct feed_options){ .insecure = a->feed.insecure,
						 .lan = a->feed.lan,
						 .key = a->feed.key[0] ? a->feed.key : NULL,
						 .header_file = a->feed.headers[0] ? a->feed.headers : NULL,
						 .again = true,
						 .kept = a->feed.options };
	return err;
}

static int load_one(const struct call *call, const struct load_options *o, const char *name, const char *from)
{
	struct loaded loaded;
	int err = load_list(call->context, o, name, from, &loaded), status = EXIT_DONE;

	if (err_is(err, EALREADY))
		status = out_done(call->context);
	else if (err)
		status = fail("%s; nothing was loaded", reason(err));
	else if (!loaded.list.prefixes)
		warn("%s: there is no address in it", loaded.list.name);
	if (!err)
		status = call->context->json ? loaded_json(call->context, &loaded, o)
					     : loaded_text(call->context, &loaded, o);
	if (status == EXIT_DONE && *loaded.left_out)
		status = EXIT_MISSING;
	loaded_free(&loaded);
	return status;
}

int verb_load(const struct call *call)
{
	struct again *a;
	int status;

	if (call->n > 1)
		return load_one(call, call->options, call->operands[0], call->operands[1]);
	/* A feed of the catalog has a name that a list may have, too. */
	if (call->operands[0][0] == '@')
		return load_one(call, call->options, call->operands[0] + 1, call->operands[0]);
	a = calloc(1, sizeof(*a));
	if (!a)
		return fail("%s", strerror(ENOMEM));
	status = options_again(call, a) ?: load_one(call, &a->options, a->feed.list, a->feed.url);
	words_free(&a->words);
	free(a);
	return status;
}
