// SPDX-License-Identifier: GPL-2.0-only
/* Sets as "nft list set" prints them and "nft -f" reads them; a stream of words, lines mean little. */
#include <string.h>

#include "sets/reader_internal.h"

#define WORD_MAX 128

/* The next word, or one of { } , ; = and the newline as a word of its own. Empty at the end. */
struct token {
	char text[WORD_MAX + 1];
	size_t len;
	bool quoted;
	uint64_t line; /* that it begins on; or the end */
};

static bool is_mark(char c)
{
	return strchr("{},;=\n", c) && c;
}

/* The next byte without taking it; 0 at the end. */
static int peek(struct reader *reader, char *c)
{
	*c = '\0';
	if (reader->start == reader->end) {
		int got = reader_fill(reader);

		if (got <= 0)
			return got;
	}
	*c = reader->buf[reader->start];
	if (!*c)
		return reader_refuse(reader, reader->line + 1, "", 0, "a NUL byte: this is not a text file");
	return 0;
}

static int refuse(struct reader *reader, const struct token *token, const char *reason)
{
	return reader_refuse(reader, token->line, token->text, token->len, reason);
}

static int next_token(struct reader *reader, struct token *token)
{
	bool comment = false;
	char c;
	int err;

	*token = (struct token){ 0 };
	err = reader_work(reader);
	if (err)
		return err;
	for (;;) {
		err = peek(reader, &c);
		if (!token->len)
			token->line = reader->line + 1;
		if (err || !c)
			return err;
		if (c == '\n')
			comment = false;
		else if (c == '#' && !token->len)
			comment = true;
		if (!comment && token->quoted && c == '"') {
			reader_skip(reader, 1);
			return 0;
		}
		if (token->quoted && c == '\n')
			return refuse(reader, token, "a quote is not closed on the line");
		if (!comment && !token->quoted && !token->len && c == '"') {
			token->quoted = true;
			token->text[token->len++] = c;
		} else if (!comment && !token->quoted && (is_mark(c) || strchr(" \t\r", c))) {
			if (!token->len && is_mark(c))
				token->text[token->len++] = c;
			else if (token->len)
				return 0;
			reader_skip(reader, 1);
			if (token->len)
				return 0;
			continue;
		} else if (!comment) {
			if (token->len == WORD_MAX)
				return refuse(reader, token, "a word of more than 128 bytes");
			token->text[token->len++] = c;
		}
		reader_skip(reader, 1);
	}
}

static bool is(const struct token *token, const char *word)
{
	return !token->quoted && !strcmp(token->text, word);
}

static bool is_one_of(const struct token *token, const char *const *words)
{
	for (; *words; words++)
		if (is(token, *words))
			return true;
	return false;
}

/* One element and what nft says about it, up to its comma or the closing brace. */
static int take_element(struct reader *reader, struct token *token)
{
	static const char *const attributes[] = { "timeout", "expires", "comment", "counter", "limit", "quota", NULL };
	struct token element = *token;
	struct item item;
	const char *reason = item_parse(element.text, element.len, &item);
	int err = 0;

	for (bool first = true;;) {
		err = next_token(reader, token);
		if (err)
			return err;
		if (is(token, "\n"))
			continue;
		if (!token->len || is(token, ",") || is(token, "}"))
			break;
		if (is(token, "{") || is(token, ";") || is(token, "="))
			return refuse(reader, token, "expected a comma or } behind an element");
		if (first && !reason && !is_one_of(token, attributes))
			reason = "expected a comma behind the address";
		if (!reason && !token->quoted && strpbrk(token->text, ".:")) {
			struct item other;

			if (!item_parse(token->text, token->len, &other))
				reason = "a comma is missing behind the address";
		}
		first = false;
	}
	if (reason)
		return reader_bad(reader, element.line, element.text, element.len, reason);
	reader->entry_line = element.line;
	return reader_add(reader, &item);
}

/* From behind the opening brace up to the closing one. */
static int take_elements(struct reader *reader)
{
	struct token token;
	int err;

	for (;;) {
		err = next_token(reader, &token);
		if (err)
			return err;
		if (!token.len)
			return refuse(reader, &token, "the elements have no closing }");
		if (is(&token, "\n") || is(&token, ","))
			continue;
		if (is(&token, "}"))
			return 0;
		if (is(&token, "{") || is(&token, ";") || is(&token, "="))
			return refuse(reader, &token, "expected an address");
		err = take_element(reader, &token);
		if (err)
			return err;
		if (is(&token, "}"))
			return 0;
		if (!token.len)
			return refuse(reader, &token, "the elements have no closing }");
	}
}

int nft_stream(struct reader *reader)
{
	static const char *const blocks[] = { "table", "set", NULL };
	static const char *const elements[] = { "elements", "element", "define", NULL };
	static const char *const verbs[] = { "add", "create", NULL };
	static const char *const words[] = { "type",   "typeof",     "flags", "size",	 "timeout", "gc-interval",
					     "policy", "auto-merge", "flush", "comment", "counter", NULL };
	struct token token, statement = { 0 };
	unsigned int depth = 0;

	for (;;) {
		int err = next_token(reader, &token);

		if (err)
			return err;
		if (!token.len)
			return depth ? refuse(reader, &token, "a block has no closing }") : 0;
		if (is(&token, "{")) {
			if (is_one_of(&statement, blocks))
				depth++;
			else if (!statement.len || is_one_of(&statement, elements))
				err = take_elements(reader);
			else
				err = refuse(reader, &statement, "this has no elements that are addresses");
			if (err)
				return err;
			statement = (struct token){ 0 };
		} else if (is(&token, "}")) {
			if (!depth--)
				return refuse(reader, &token, "this } closes nothing");
			statement = (struct token){ 0 };
		} else if (is(&token, "\n") || is(&token, ";")) {
			if (is_one_of(&statement, elements))
				return refuse(reader, &statement, "expected { and addresses behind this word");
			statement = (struct token){ 0 };
		} else if (!statement.len || is_one_of(&statement, verbs)) {
			statement = token;
			if (!is_one_of(&token, blocks) && !is_one_of(&token, elements) && !is_one_of(&token, words) &&
			    !is_one_of(&token, verbs))
				return refuse(reader, &token, "expected sets of addresses as nft prints them");
		}
	}
}

bool nft_begins(const char *text, size_t len)
{
	static const struct {
		const char *word, *holds; /* how the line begins, and what it must contain */
	} begins[] = {
		{ "table ", "{" },  { "set ", "{" },	  { "add element ", "{" }, { "create element ", "{" },
		{ "define ", "=" }, { "elements ", "=" }, { "flush set ", " " },
	};
	const char *newline = memchr(text, '\n', len), *p;
	size_t line_len = newline ? (size_t)(newline - text) : len;

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		size_t word_len = strlen(begins[i].word);

		if (line_len > word_len && !memcmp(text, begins[i].word, word_len) &&
		    memchr(text, *begins[i].holds, line_len))
			return true;
	}
	if (!len || *text != '{')
		return false;
	for (p = text + 1; p < text + len && strchr(" \t\r\n", *p) && *p;)
		p++;
	return p < text + len && *p && strchr("0123456789abcdefABCDEF:", *p);
}
