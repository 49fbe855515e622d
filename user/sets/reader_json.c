// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON: one document, or one a line; an array at the top is taken element by element. Strings in arrays are entries,
 * and so are the members of objects that are named below; everything else is passed over.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "sets/json_flat.h"
#include "sets/reader_input.h"
#include "sets/reader_internal.h"
#include "sets/reader_names.h"
#include "sets/where.h"

/* A value is a tree in memory while it is looked at, up to some twenty times as large as its text. */
#ifndef VALUE_MAX
#define VALUE_MAX  ((size_t)32 << 20)
#define MEMORY_MAX ((size_t)256 << 20)
#endif
/*
 * How many bytes may be parsed for each that was read: a value is parsed again whenever the window has grown, three
 * times in all at most. Damage may look like the beginning of one value that never ends, on every line anew. And for
 * each byte of the file as it lies there, which may be packed.
 */
#define PARSED_TIMES  4
#define PARSED_LEAST  ((uint64_t)1 << 20)
#define PARSED_PACKED ((uint64_t)256 << 20)
#define PACKED_TIMES  400
/* More than jansson reads of a word or an escape before it says that it is none. */
#define TOKEN_CUT 64

static const char *const members[] = {
	"ip",	      "ips",  "ip_prefix", "ipv4_prefix", "ipv6_prefix", "ipv4Prefix",
	"ipv6Prefix", "cidr", "prefix",	   "value",	  "ip_address",	 "ipAddress",
};

struct walk {
	struct reader *reader;
	const char *text; /* of the value that is being walked, for line numbers */
	size_t len;
	const char *found; /* in it: where the last string was that was looked for, and on which line */
	uint64_t found_line;
	uint64_t values, empty;
	uint64_t parsed; /* bytes */
	uint64_t rows;	 /* objects that have one of the columns that are asked for */
	uint64_t having; /* a bit for each condition: its column was there */
	char names[160]; /* of the members of the first object that holds no others */
};

/* What the value that is being looked at takes. */
static size_t held;
static bool exceeded;

static void *take_memory(size_t size)
{
	void *memory = NULL;

	exceeded = exceeded || size > MEMORY_MAX - held;
	if (!exceeded)
		memory = malloc(size);
	held += memory ? malloc_usable_size(memory) : 0;
	return memory;
}

static void give_memory(void *memory)
{
	held -= malloc_usable_size(memory);
	free(memory);
}

static bool is_member(const char *key)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (!strcmp(key, members[i]))
			return true;
	return false;
}

/* Strings come in the order of the text, so one pass finds them all. One that is written with escapes ends the search.
 */
static uint64_t line_of(struct walk *walk, const char *string, size_t len)
{
	const char *slash = memchr(string, '/', len), *end = walk->text + walk->len, *p = walk->found;

	if (slash) /* some write it as "\/" */
		len = (size_t)(slash - string);
	walk->found = memmem(p, (size_t)(end - p), string, len);
	if (!walk->found)
		walk->found = end;
	else
		for (; (p = memchr(p, '\n', (size_t)(walk->found - p))); p++)
			walk->found_line++;
	return walk->found_line;
}

static int bad_value(struct walk *walk, const char *string, size_t len, const char *reason)
{
	return reader_bad(walk->reader, line_of(walk, string, len), string, len, reason);
}

static int take_string(struct walk *walk, const json_t *value)
{
	const char *string = json_string_value(value), *reason;
	size_t len = json_string_length(value);
	struct item item;

	if (walk->reader->options->each)
		walk->reader->entry_line = line_of(walk, string, len);
	reason = item_parse(string, len, &item);
	return reason ? bad_value(walk, string, len, reason) : reader_add(walk->reader, &item);
}

/* In an array without a known name, one address makes all the strings entries: the others are damaged. */
static bool holds_addresses(const json_t *array)
{
	size_t i;
	json_t *value;
	struct item item;

	json_array_foreach(array, i, value)
	{
		if (json_is_string(value) && !item_parse(json_string_value(value), json_string_length(value), &item))
			return true;
	}
	return false;
}

static int walk_value(struct walk *walk, json_t *value, bool entry);

/* A decision about a country or a network operator is not one about an address; a "key" has a value of any kind. */
static int walk_object(struct walk *walk, json_t *object)
{
	const char *scope = json_string_value(json_object_get(object, "scope")), *key;
	bool pair = !scope && json_object_get(object, "key");
	json_t *member;
	int err = 0;

	json_object_foreach(object, key, member)
	{
		bool entry = is_member(key) && !pair;

		if (entry && scope && strcasecmp(scope, "ip") != 0 && strcasecmp(scope, "range") != 0)
			err = bad_value(walk, scope, strlen(scope), "a decision of this scope is not about an address");
		else if (entry || json_is_array(member) || json_is_object(member))
			err = walk_value(walk, member, entry);
		if (err)
			return err;
	}
	return 0;
}

static int walk_value(struct walk *walk, json_t *value, bool entry)
{
	json_t *element;
	int err = 0;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_STRING:
		/* An object may have a member for either family and leave one empty. */
		return json_string_length(value) ? take_string(walk, value) : 0;
	case JSON_NULL:
		return 0;
	case JSON_OBJECT:
		return walk_object(walk, value);
	case JSON_ARRAY:
		walk->empty += !json_array_size(value);
		entry = entry || holds_addresses(value);
		json_array_foreach(value, i, element)
		{
			if (entry || json_is_array(element) || json_is_object(element))
				err = walk_value(walk, element, entry);
			if (err)
				return err;
		}
		return 0;
	default:
		return entry ? bad_value(walk, "", 0, "expected a string with an address") : 0;
	}
}

/* What else a row of a table of networks has: only there, as "network" may be anything in other documents. */
static const char *const range_members[][2] = {
	{ "start_ip", "end_ip" },  { "range_start", "range_end" }, { "start", "end" },
	{ "first_ip", "last_ip" }, { "ip_from", "ip_to" },	   { "first", "last" },
};

static int take_range(struct walk *walk, const json_t *from, const json_t *to)
{
	struct item item, last;
	const char *text = json_string_value(from),
		   *reason = item_parse(text, json_string_length(from), &item)
				     ?: item_parse(json_string_value(to), json_string_length(to), &last);

	if (!reason && (item.lo != item.hi || last.lo != last.hi))
		reason = "a range begins and ends with one address";
	if (!reason)
		reason = item_range(&(struct addr){ item.lo, item.family }, &(struct addr){ last.lo, last.family },
				    &item);
	if (walk->reader->options->each)
		walk->reader->entry_line = line_of(walk, text, json_string_length(from));
	return reason ? bad_value(walk, text, json_string_length(from), reason) : reader_add(walk->reader, &item);
}

static int take_row(struct walk *walk, json_t *row)
{
	const json_t *network = json_object_get(row, "network");

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (json_object_get(row, members[i]))
			return walk_object(walk, row);
	if (json_is_string(network))
		return take_string(walk, network);
	for (size_t i = 0; i < sizeof(range_members) / sizeof(*range_members); i++) {
		const json_t *from = json_object_get(row, range_members[i][0]),
			     *to = json_object_get(row, range_members[i][1]);

		if (json_is_string(from) && json_is_string(to))
			return take_range(walk, from, to);
	}
	return bad_value(walk, "", 0, "no member of it is known to be an address");
}

/* The member with the best name for each. */
struct best_names {
	unsigned int rank[NAME_COLUMNS];
	struct network network;
};

static void take_best(struct best_names *best, const char *name, size_t name_len, const char *value, size_t len)
{
	for (enum name_column c = 0; c < NAME_COLUMNS; c++) {
		unsigned int rank = name_column_rank(c, name, name_len);

		if (!rank || (best->rank[c] && best->rank[c] < rank))
			continue;
		best->rank[c] = rank;
		network_take(&best->network, c, value, len);
	}
}

/* Of an object with an address, as take_row() finds them. */
static bool is_network_row(json_t *object)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (json_is_string(json_object_get(object, members[i])))
			return true;
	for (size_t i = 0; i < sizeof(range_members) / sizeof(*range_members); i++)
		if (json_is_string(json_object_get(object, range_members[i][0])) &&
		    json_is_string(json_object_get(object, range_members[i][1])))
			return true;
	return json_is_string(json_object_get(object, "network"));
}

static int take_named_row(struct walk *walk, json_t *object)
{
	struct best_names best = { 0 };
	const char *key;
	json_t *member;

	json_object_foreach(object, key, member)
	{
		char number[32];

		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(member));
		if (json_is_string(member))
			take_best(&best, key, strlen(key), json_string_value(member), json_string_length(member));
		else if (json_is_integer(member))
			take_best(&best, key, strlen(key), number, strlen(number));
	}
	walk->reader->network = best.network;
	return take_row(walk, object);
}

static bool member_holds(const struct where *where, size_t condition, const json_t *value)
{
	char number[32];

	if (json_is_string(value))
		return where_holds(where, condition, json_string_value(value), json_string_length(value));
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(number, sizeof(number), "%s",
			 json_is_true(value)	? "true"
			 : json_is_false(value) ? "false"
						: "");
	return (json_is_integer(value) || json_is_boolean(value) || json_is_null(value)) &&
	       where_holds(where, condition, number, strlen(number));
}

static void note_names(struct walk *walk, json_t *object)
{
	size_t at = 0;
	json_t *value;
	const char *key;

	json_object_foreach(object, key, value) if (at < sizeof(walk->names)) at +=
		(size_t)snprintf(walk->names + at, sizeof(walk->names) - at, "%s %.40s", at ? "," : "", key);
	for (char *p = walk->names; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

/* An object with one of the columns that are asked for is a row; the others may hold rows. */
static int walk_rows(struct walk *walk, json_t *value)
{
	const struct where *where = walk->reader->where;
	bool holds = true;
	uint64_t having = 0;
	const char *key;
	json_t *member;
	int err = 0;
	size_t i;

	if (json_is_array(value)) {
		walk->empty += !json_array_size(value);
		json_array_foreach(value, i, member) if (!err) err = walk_rows(walk, member);
	}
	if (!json_is_object(value))
		return err;
	if (!walk->names[0])
		note_names(walk, value);
	if (walk->reader->options->named && is_network_row(value)) {
		walk->rows++;
		return take_named_row(walk, value);
	}
	json_object_foreach(value, key, member) for (i = 0;
						     i < where->n && !json_is_object(member) && !json_is_array(member);
						     i++) if (where_names(where, i, key, strlen(key)))
	{
		having |= (uint64_t)1 << i;
		holds = holds && member_holds(where, i, member);
	}
	walk->having |= having;
	walk->rows += having != 0;
	if (having)
		return holds && having + 1 == (uint64_t)1 << where->n ? take_row(walk, value) : 0;
	json_object_foreach(value, key, member) if (!err) err = walk_rows(walk, member);
	return err;
}

/* Counts what was parsed; -EFBIG: it is more than what was read is worth. */
static int count_parsed(struct walk *walk, size_t bytes)
{
	uint64_t most = PARSED_TIMES * walk->reader->read;
	uint64_t packed = PARSED_PACKED + PACKED_TIMES * input_taken(walk->reader->input);

	walk->parsed += bytes;
	if (walk->parsed <= PARSED_LEAST + (most < packed ? most : packed))
		return 0;
	return reader_refuse(walk->reader, walk->reader->line + 1, "", 0,
			     "it is damaged, or packed, so that reading on takes too long: not all of it was read");
}

static const struct flat_member *flat_find(const struct flat_member *row, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (row[i].name.len == strlen(name) && !memcmp(row[i].name.text, name, row[i].name.len))
			return &row[i];
	return NULL;
}

static bool is_flat_member(const struct flat_member *m)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (m->name.len == strlen(members[i]) && !memcmp(m->name.text, members[i], m->name.len))
			return true;
	return false;
}

static bool flat_item(const struct flat_member *m, struct item *item)
{
	return m->is_string && m->value.len && !item_parse(m->value.text, m->value.len, item);
}

/* The entries of a row as take_row() finds them. False: there is more to say about it than that. */
static bool flat_items(const struct flat_member *row, size_t n, struct item *items, size_t *found)
{
	const struct flat_member *network = flat_find(row, n, "network"), *from = NULL, *to = NULL;
	struct item last;

	*found = 0;
	for (size_t i = 0; i < n; i++)
		if (is_flat_member(&row[i]) && !flat_item(&row[i], &items[(*found)++]))
			return false;
	if (*found)
		return !flat_find(row, n, "scope") && !flat_find(row, n, "key");
	*found = 1;
	if (network && network->is_string)
		return flat_item(network, items);
	for (size_t i = 0; i < sizeof(range_members) / sizeof(*range_members) && !(from && to); i++) {
		from = flat_find(row, n, range_members[i][0]);
		to = flat_find(row, n, range_members[i][1]);
		if (from && to && !(from->is_string && to->is_string))
			return false;
	}
	return from && to && flat_item(from, items) && flat_item(to, &last) && items->lo == items->hi &&
	       last.lo == last.hi &&
	       !item_range(&(struct addr){ items->lo, items->family }, &(struct addr){ last.lo, last.family }, items);
}

/* A null is no text: "". */
static bool flat_holds(const struct where *where, size_t condition, const struct flat_member *m)
{
	bool null = !m->is_string && *m->value.text == 'n';

	return where_holds(where, condition, m->value.text, null ? 0 : m->value.len);
}

/* Of a row of a table of networks; false where there is more to say about it. */
static bool take_flat_names(struct reader *reader, const struct flat_member *row, size_t n, struct item *items,
			    size_t *found)
{
	struct best_names best = { 0 };

	if (!flat_items(row, n, items, found))
		return false;
	for (size_t m = 0; m < n; m++)
		if (row[m].is_string || *row[m].value.text == '-' ||
		    (*row[m].value.text >= '0' && *row[m].value.text <= '9'))
			take_best(&best, row[m].name.text, row[m].name.len, row[m].value.text, row[m].value.len);
	reader->network = best.network;
	return true;
}

/*
 * A row of a table, without a tree for it. False: it is none, or there is something to say about it; then nothing has
 * changed. `err` is what became of it otherwise.
 */
static bool flat_row(struct walk *walk, int *err)
{
	struct reader *reader = walk->reader;
	const struct where *where = reader->where;
	struct flat_member row[FLAT_MOST];
	struct item items[FLAT_MOST];
	size_t n, found = 0, len = flat_object(reader->buf + reader->start, reader->buf + reader->end, row, &n);
	uint64_t having = 0;
	bool holds = true;

	if (!len || !walk->names[0]) /* those of the first are told */
		return false;
	for (size_t m = 0; m < n; m++)
		for (size_t i = 0; i < where->n; i++)
			if (where_names(where, i, row[m].name.text, row[m].name.len)) {
				having |= (uint64_t)1 << i;
				holds = holds && flat_holds(where, i, &row[m]);
			}
	if (reader->options->named
		    ? !take_flat_names(reader, row, n, items, &found)
		    : having && holds && having + 1 == (uint64_t)1 << where->n && !flat_items(row, n, items, &found))
		return false;
	walk->having |= having;
	walk->rows += having != 0 || found;
	walk->values++;
	reader->entry_line = reader->line + 1;
	*err = count_parsed(walk, len);
	for (size_t i = 0; i < found && !*err; i++)
		*err = reader_add(reader, &items[i]);
	if (!*err)
		reader_skip(reader, len);
	return true;
}

/* No object had such a member. */
static int no_member(struct walk *walk)
{
	const struct where *where = walk->reader->where;
	char text[READER_TEXT_MAX];

	for (size_t i = 0; i < where->n; i++) {
		if (walk->having >> i & 1)
			continue;
		snprintf(text, sizeof(text), "there is no member '%.40s'%s%s", where->conditions[i].column,
			 walk->names[0] && !walk->reader->options->hidden ? ", but" : " in it",
			 walk->reader->options->hidden ? "" : walk->names);
		return reader_fail(walk->reader, -EINVAL, text);
	}
	return 0;
}

/* The first byte that is no white space, or '\0' at the end. */
static int skip_space(struct reader *reader, char *next)
{
	for (;;) {
		size_t at = reader->start;
		int got;

		while (at < reader->end && strchr(" \t\r\n", reader->buf[at]) && reader->buf[at])
			at++;
		reader_skip(reader, at - reader->start);
		*next = reader->buf[at];
		if (at < reader->end)
			return 0;
		got = reader_fill(reader);
		if (got <= 0)
			return got;
	}
}

/* The syntax is wrong somewhere in the value that begins here. */
static int bad_syntax(struct reader *reader, const json_error_t *error)
{
	const char *line = reader->buf + reader->start, *end = reader->buf + reader->end, *stop;
	uint64_t number = reader->line + 1;
	char reason[96];

	for (int i = 1; i < error->line && (stop = memchr(line, '\n', (size_t)(end - line))); i++) {
		line = stop + 1;
		number++;
	}
	stop = memchr(line, '\n', (size_t)(end - line));
	snprintf(reason, sizeof(reason), reader->options->hidden ? "not JSON" : "not JSON: %.80s", error->text);
	for (char *p = reason; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return reader_bad(reader, number, line, (size_t)((stop ? stop : end) - line), reason);
}

/* Takes one value; where that is damaged, the rest of its line. */
static int one_value(struct walk *walk, bool inside)
{
	struct reader *reader = walk->reader;
	json_error_t error;
	json_t *value;
	int err = reader_work(reader);

	if (err || (reader->where && flat_row(walk, &err)))
		return err;
	for (;;) {
		size_t len = reader->end - reader->start;

		walk->text = reader->buf + reader->start;
		walk->found = walk->text;
		walk->found_line = reader->line + 1;
		value = json_loadb(walk->text, len, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES,
				   &error);
		walk->len = value ? (size_t)error.position : 0;
		if (!value && exceeded)
			return reader_refuse(reader, reader->line + 1, walk->text, len,
					     "one JSON value takes more than 256 MiB (split it, or write one a line)");
		err = count_parsed(walk, error.position > 0 ? (size_t)error.position : 0);
		if (err) {
			json_decref(value);
			return err;
		}
		/* A value that ends with the window may go on behind it; an error well before its end is final. */
		if (reader->ended || (value ? walk->len < len : (size_t)error.position + TOKEN_CUT < len))
			break;
		json_decref(value);
		if (len >= VALUE_MAX)
			return reader_refuse(reader, reader->line + 1, walk->text, len,
					     "one JSON value is larger than 32 MiB (split it, or write one a line)");
		err = reader_fill(reader);
		if (err < 0)
			return err;
	}
	walk->values++;
	walk->empty += json_is_null(value); /* some programs write an empty list so */
	if (value) {
		err = walk->reader->where ? walk_rows(walk, value)
					  : walk_value(walk, value, inside || json_is_string(value));
		json_decref(value);
		if (!err)
			reader_skip(reader, walk->len);
		return err;
	}
	if (!error.text[0]) /* how jansson reports it */
		return reader_fail(reader, -ENOMEM, strerror(ENOMEM));
	err = bad_syntax(reader, &error);
	/* Inside an array nothing tells where the next value begins. */
	if (!err)
		err = inside ? reader_fail(reader, -EINVAL, "the JSON is damaged") : reader_skip_line(reader);
	return err;
}

static int unexpected(struct reader *reader, const char *reason)
{
	size_t len = reader->end - reader->start;
	const char *text = reader->buf + reader->start, *newline = memchr(text, '\n', len);

	return reader_refuse(reader, reader->line + 1, text, newline ? (size_t)(newline - text) : len, reason);
}

static int walk_elements(struct walk *walk)
{
	struct reader *reader = walk->reader;
	char next;
	int err;

	reader_skip(reader, 1);
	err = skip_space(reader, &next);
	if (!err && next == ']') {
		walk->empty++;
		reader_skip(reader, 1);
		return 0;
	}
	for (;;) {
		if (!err)
			err = one_value(walk, true);
		if (!err)
			err = skip_space(reader, &next);
		if (err)
			return err;
		if (next != ',' && next != ']')
			return unexpected(reader, "expected , or ] in a JSON array");
		reader_skip(reader, 1);
		if (next == ']')
			return 0;
		err = skip_space(reader, &next);
	}
}

static int walk_all(struct walk *walk)
{
	struct reader *reader = walk->reader;
	char next;
	int err;

	for (;;) {
		err = skip_space(reader, &next);
		if (err || reader->start == reader->end)
			break;
		err = next == '[' ? walk_elements(walk) : one_value(walk, false);
		if (err)
			break;
	}
	return err;
}

int json_stream(struct reader *reader)
{
	struct walk walk = { .reader = reader };
	struct reader_report *report = reader->report;
	json_malloc_t take;
	json_free_t give;
	int err;

	json_get_alloc_funcs(&take, &give);
	json_set_alloc_funcs(take_memory, give_memory);
	held = 0;
	exceeded = false;
	err = walk_all(&walk);
	json_set_alloc_funcs(take, give);
	if (!err && reader->where && walk.values && !walk.empty && !report->bad)
		err = no_member(&walk);
	if (!err && walk.values && !walk.empty && !walk.rows && !report->entries && !report->bad)
		err = reader_fail(reader, -EINVAL,
				  "no address in this JSON: expected strings, or members named ip, "
				  "ip_prefix, ipv6_prefix, cidr, prefix, value");
	return err;
}
