// SPDX-License-Identifier: GPL-2.0-only
/* feeds check: a list on a server, tried */
#include "change/feed_check.h"
#include "observe/documents.h"
#include "sets/networks.h"
#include "verbs/verbs.h"

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void checked_text(const struct context *context, const struct feed_checked *c, const char *refused)
{
	const struct fetch_answer *a = &c->loaded.answer;
	const struct reader_report *read = &c->loaded.read;
	char number[NUMBER_TEXT_MAX], network[NETWORK_TEXT_MAX] = "";
	struct networks *networks = networks_open(context->state);
	struct addr addr;

	if (!addr_parse(a->address, strlen(a->address), &addr))
		networks_text(network, networks, addr, addr_width(addr.family));
	networks_close(networks);
	if (*a->url)
		out_line("%-9s %s", "from", a->url);
	if (*a->address)
		out_line("%-9s %s%s%s", "address", a->address, *network ? "  " : "", network);
	if (a->status)
		out_line("%-9s %llu, %s, %llu bytes", "answer", (unsigned long long)a->status, or_dash(a->type),
			 (unsigned long long)a->bytes);
	if (a->status == 200)
		out_line("%-9s tag %s, changed %s, its clock %s", "version", or_dash(a->etag), or_dash(a->modified),
			 or_dash(a->date));
	if (*c->loaded.signed_comment)
		out_line("%-9s %s", "signed", c->loaded.signed_comment);
	if (read->format)
		out_line("%-9s %llu lines, %llu entries (%s), %llu of them twice, %llu damaged", "read",
			 (unsigned long long)read->lines, (unsigned long long)read->entries, read->format,
			 (unsigned long long)read->duplicates, (unsigned long long)read->bad);
	if (c->loaded.set.n4 || c->loaded.set.n6)
		out_line("%-9s %s addresses", "holds", number_text(number, ranges_count(&c->loaded.set)));
	if (c->in_force) {
		out_line("%-9s %llu IPv4 addresses that no list in force bans", "new", (unsigned long long)c->new4);
		if (c->new6)
			out_line("%-9s %s IPv6 addresses that no list in force bans", "new",
				 number_text(number, c->new6));
	}
	out_line("%-9s %s", "verdict", refused ? refused : "load takes it");
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? out_text(text) : json_null();
}

static json_t *checked_json(const struct context *context, const struct feed_checked *c, const char *refused)
{
	const struct fetch_answer *a = &c->loaded.answer;
	const struct reader_report *read = &c->loaded.read;
	char addresses[NUMBER_TEXT_MAX], new4[NUMBER_TEXT_MAX], new6[NUMBER_TEXT_MAX];
	struct networks *networks = networks_open(context->state);
	struct addr addr;
	json_t *object;

	object = json_pack("{s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s, s:o, s:o}",
			   "url", text_or_null(a->url), "address", text_or_null(a->address), "status",
			   (json_int_t)a->status, "type", text_or_null(a->type), "bytes", (json_int_t)a->bytes, "etag",
			   text_or_null(a->etag), "modified", text_or_null(a->modified), "date", text_or_null(a->date),
			   "signed", text_or_null(c->loaded.signed_comment), "format", text_or_null(read->format),
			   "lines", (json_int_t)read->lines, "entries", (json_int_t)read->entries, "duplicates",
			   (json_int_t)read->duplicates, "bad", (json_int_t)read->bad, "addresses",
			   number_text(addresses, ranges_count(&c->loaded.set)), "new",
			   c->in_force ? json_pack("{s:s, s:s}", "ipv4", number_text(new4, c->new4), "ipv6",
						   number_text(new6, c->new6))
				       : json_null(),
			   "refused", text_or_null(refused));
	if (!addr_parse(a->address, strlen(a->address), &addr))
		put_network(object, networks, addr, addr_width(addr.family));
	networks_close(networks);
	return object;
}

int feeds_check(const struct call *call)
{
	static struct feed_checked checked;
	char why[512] = "";
	int err = feed_check(call->context, call->options, call->operands[1], &checked), status = EXIT_DONE;

	if (err)
		snprintf(why, sizeof(why), "%s", reason(err));
	if (call->context->json)
		status = out_json(call->context, checked_json(call->context, &checked, err ? why : NULL));
	else if (!err || *checked.loaded.answer.url)
		checked_text(call->context, &checked, err ? why : NULL);
	loaded_free(&checked.loaded);
	if (err)
		return fail("feeds: %s", why);
	return status ?: out_end();
}
