// SPDX-License-Identifier: GPL-2.0-only
#include "feeds/decisions.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/grow.h"
#include "base/log.h"

/* No decision lasts longer: the end is a number that has room for it. */
#define SECONDS_MOST 6e9
/* Answers give what is left, and are under way: an end that is so near is the same. */
#define SAME_SECONDS 2
/* Of each kind in an answer: agents have some hundred thousand. */
#define DECISIONS_MOST 1000000
/* Bytes of one of them, of which agents write some three hundred. */
#define VALUE_MOST 65536

/* "3h59m57.5s", as Go writes it; false: it is none. */
static bool read_duration(const char *text, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ms", 1e-3 }, { "us", 1e-6 }, { "µs", 1e-6 }, { "ns", 1e-9 },
		      { "h", 3600 },  { "m", 60 },    { "s", 1 } };
	bool minus = *text == '-';

	*seconds = 0;
	text += minus;
	if (!*text)
		return false;
	while (*text) {
		double value;
		size_t i = 0;
		char *end;

		if (!isdigit((unsigned char)*text))
			return false;
		value = strtod(text, &end);
		while (i < sizeof(units) / sizeof(*units) && strncmp(end, units[i].name, strlen(units[i].name)) != 0)
			i++;
		if (i == sizeof(units) / sizeof(*units))
			return false;
		*seconds += value * units[i].seconds;
		text = end + strlen(units[i].name);
	}
	if (minus)
		*seconds = -*seconds;
	*seconds = *seconds > SECONDS_MOST ? SECONDS_MOST : *seconds < -SECONDS_MOST ? -SECONDS_MOST : *seconds;
	return true;
}

/* NULL: there is none; "" also where there is a NUL in it, which a sender may have had put there. */
static const char *text_of(const json_t *object, const char *name)
{
	const json_t *text = json_object_get(object, name);
	const char *is = json_string_value(text);

	return is && strlen(is) != json_string_length(text) ? "" : is;
}

/* 1: it is of another kind. */
static int read_one(struct decision *d, const json_t *object, int64_t now)
{
	const char *scope = text_of(object, "scope"), *value = text_of(object, "value");
	const char *duration = text_of(object, "duration"), *type = text_of(object, "type") ?: "";
	char text[BAN_REASON_MAX];
	double left;

	*d = (struct decision){ .id = json_integer_value(json_object_get(object, "id")) };
	if (!scope || !*scope || !value || !duration)
		return because(-EINVAL, "a decision without a scope, a value or a duration");
	if ((strcasecmp(scope, "ip") != 0 && strcasecmp(scope, "range") != 0) || strcasecmp(type, "ban") != 0 ||
	    json_is_true(json_object_get(object, "simulated")))
		return 1;
	if (!read_duration(duration, &left))
		return because(-EINVAL, "a decision without a duration");
	if (prefix_parse(value, strlen(value), &d->prefix.first, &d->prefix.length) ||
	    (!strcasecmp(scope, "ip") && d->prefix.length < addr_width(d->prefix.first.family)))
		return 1;
	d->end = now + (int64_t)left;
	snprintf(text, sizeof(text), CROWDSEC_REASON "%.40s %.70s", text_of(object, "origin") ?: "",
		 text_of(object, "scenario") ?: "");
	clean_copy(d->reason, sizeof(d->reason), text);
	return 0;
}

/* --- The document: a tree of all of it would take eighty times its bytes, so each decision has its own --- */

struct text {
	const char *at, *end;
};

/* The next byte that is no blank; 0: there is none. */
static char next_of(struct text *t)
{
	while (t->at < t->end && memchr(" \t\r\n", *t->at, 4))
		t->at++;
	return t->at < t->end ? *t->at : '\0';
}

static bool take(struct text *t, char c)
{
	bool is = next_of(t) == c;

	t->at += is;
	return is;
}

/* By its strings and brackets alone: whatever a sender has had written into it ends with it. */
static int skip_value(struct text *t)
{
	bool quoted = false;
	size_t depth = 0;

	if (memchr(",:]}", next_of(t) ?: ',', 4))
		return because(-EINVAL, "no decisions: no JSON");
	for (; t->at < t->end; t->at++) {
		char c = *t->at;

		if (quoted && c == '\\')
			t->at += t->at + 1 < t->end;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '[' || c == '{'))
			depth++;
		else if (!quoted && !depth && memchr(",:]}", c, 4))
			return 0;
		else if (!quoted && (c == ']' || c == '}'))
			depth--;
	}
	return because(-EINVAL, "no decisions: they break off");
}

/* NULL, and no error: what has so many bytes is no decision about an address. */
static int take_value(struct text *t, json_t **value)
{
	const char *begins = t->at;
	json_error_t error;
	int err = skip_value(t);

	*value = NULL;
	if (err || t->at - begins > VALUE_MOST)
		return err;
	*value = json_loadb(begins, (size_t)(t->at - begins), JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES,
			    &error);
	if (!*value)
		return because(-EINVAL, "no decisions: %s", error.text);
	return 0;
}

static int take_decision(struct text *t, struct decisions *decisions, int64_t now, size_t *others)
{
	json_t *object;
	int err = take_value(t, &object);

	if (err)
		return err;
	if (decisions->n + *others >= DECISIONS_MOST)
		err = because(-E2BIG, "more than %d decisions", DECISIONS_MOST);
	else if (!GROW(decisions->at, decisions->n))
		err = -ENOMEM;
	else
		err = object ? read_one(&decisions->at[decisions->n], object, now) : 1;
	json_decref(object);
	if (err < 0)
		return err;
	decisions->n += !err;
	*others += err > 0;
	return 0;
}

static int take_decisions(struct text *t, struct decisions *decisions, int64_t now, size_t *others)
{
	json_t *value;
	int err;

	if (!take(t, '[')) {
		err = take_value(t, &value);
		if (!err && !(value && json_is_null(value)))
			err = because(-EINVAL, "decisions that are no array");
		json_decref(value);
		return err;
	}
	if (take(t, ']'))
		return 0;
	do
		err = take_decision(t, decisions, now, others);
	while (!err && take(t, ','));
	return err || take(t, ']') ? err : because(-EINVAL, "no decisions: they break off");
}

/* What else the answer has is of no interest. */
static int take_member(struct text *t, struct decision_changes *c, int64_t now, bool found[2], size_t *ended)
{
	json_t *name;
	int err = take_value(t, &name), which;

	if (err)
		return err;
	which = !json_is_string(name) || !take(t, ':')	      ? -1
		: !strcmp(json_string_value(name), "new")     ? 0
		: !strcmp(json_string_value(name), "deleted") ? 1
							      : 2;
	if (which < 0 || (which < 2 && found[which]))
		err = because(-EINVAL, "no decisions: %s", which < 0 ? "no JSON" : "they come twice");
	else if (which == 2)
		err = skip_value(t);
	else if (which == 1)
		err = take_decisions(t, &c->deleted, now, ended);
	else
		err = take_decisions(t, &c->added, now, &c->others);
	if (which >= 0 && which < 2)
		found[which] = true;
	json_decref(name);
	return err;
}

static int take_answer(struct text *t, struct decision_changes *c, int64_t now)
{
	bool found[2] = { false };
	size_t ended = 0;
	int err;

	if (!take(t, '{') || next_of(t) != '"')
		return because(-EINVAL, "no decisions: another document");
	do
		err = take_member(t, c, now, found, &ended);
	while (!err && take(t, ','));
	if (err)
		return err;
	if (!take(t, '}') || next_of(t) || t->at < t->end)
		return because(-EINVAL, "no decisions: the answer breaks off, or goes on");
	return found[0] && found[1] ? 0 : because(-EINVAL, "no decisions: another document");
}

/* At once: jansson would ask the kernel for each byte of a descriptor. */
static int read_file(int file, char **text, size_t *bytes)
{
	struct stat is;
	size_t room;
	ssize_t n = 1;

	*bytes = 0;
	if (fstat(file, &is))
		return because(-errno, "the answer cannot be read: %s", strerror(errno));
	room = (size_t)is.st_size;
	*text = malloc(room + 1);
	if (!*text)
		return -ENOMEM;
	while (*bytes < room && n > 0) {
		n = pread(file, *text + *bytes, room - *bytes, (off_t)*bytes);
		*bytes += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0)
		return 0;
	free(*text);
	return because(-errno, "the answer cannot be read: %s", strerror(errno));
}

int decisions_read(struct decision_changes *c, int file, int64_t now)
{
	size_t bytes;
	char *text = NULL;
	int err = read_file(file, &text, &bytes);

	*c = (struct decision_changes){ 0 };
	if (err)
		return err;
	err = take_answer(&(struct text){ text, text + bytes }, c, now);
	free(text);
	if (err)
		changes_free(c);
	return err;
}

void decisions_free(struct decisions *d)
{
	free(d->at);
	*d = (struct decisions){ 0 };
}

void changes_free(struct decision_changes *c)
{
	decisions_free(&c->added);
	decisions_free(&c->deleted);
}

/* --- What they come to --- */

static int by_place(const void *a, const void *b)
{
	const struct decision *x = a, *y = b;

	return prefix_order(&x->prefix, &y->prefix) ?: x->id < y->id ? -1 : x->id > y->id;
}

void decisions_sort(struct decisions *d)
{
	if (d->n)
		qsort(d->at, d->n, sizeof(*d->at), by_place);
}

static struct decision *find(const struct decisions *d, const struct decision *one)
{
	return d->n ? bsearch(one, d->at, d->n, sizeof(*d->at), by_place) : NULL;
}

/* Of a ban that was there before, nobody knows by which decisions: one that ends no sooner takes its place. */
static bool replaced(const struct decisions *added, const struct decision *one)
{
	size_t low = 0, high = added->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (prefix_order(&added->at[middle].prefix, &one->prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < added->n && !prefix_order(&added->at[low].prefix, &one->prefix); low++)
		if (added->at[low].end >= one->end - SAME_SECONDS)
			return true;
	return false;
}

static int merge(struct decisions *after, const struct decisions *before, struct decision_changes *c, int64_t now,
		 bool whole, size_t *lacks)
{
	size_t n = 0;

	decisions_sort(&c->added);
	decisions_sort(&c->deleted);
	*after = (struct decisions){ .at = calloc(before->n + c->added.n + 1, sizeof(*after->at)) };
	if (!after->at)
		return -ENOMEM;
	for (size_t i = 0; i < before->n; i++) {
		const struct decision *old = &before->at[i];
		struct decision *same = find(&c->added, old);

		if (same)
			same->others = old->others;
		if (old->end <= now || same || find(&c->deleted, old) || (!old->id && replaced(&c->added, old)) ||
		    (whole && old->lacked))
			continue;
		after->at[n] = *old;
		after->at[n].lacked = old->lacked || whole;
		*lacks += after->at[n++].lacked;
	}
	for (size_t i = 0; i < c->added.n; i++)
		if (c->added.at[i].end > now && (!i || by_place(&c->added.at[i - 1], &c->added.at[i])))
			after->at[n++] = c->added.at[i];
	after->n = n;
	decisions_sort(after);
	return 0;
}

int decisions_merge(struct decisions *after, const struct decisions *before, struct decision_changes *c, int64_t now)
{
	size_t lacks = 0;

	return merge(after, before, c, now, false, &lacks);
}

int decisions_renew(struct decisions *after, const struct decisions *before, struct decision_changes *c, int64_t now,
		    size_t *lacks)
{
	*lacks = 0;
	return merge(after, before, c, now, true, lacks);
}

/* The last of a prefix's to end; *i becomes the first of the next prefix. */
static const struct decision *last_of(const struct decisions *d, size_t *i)
{
	const struct decision *last = &d->at[*i];

	for (size_t first = *i; *i < d->n && !prefix_order(&d->at[first].prefix, &d->at[*i].prefix); ++*i)
		if (d->at[*i].end > last->end)
			last = &d->at[*i];
	return last;
}

/* Is there another's ban in place of what its prefix's decisions come to? */
static bool stands_back(const struct decisions *d, const struct decision *one)
{
	size_t i = (size_t)(one - d->at);

	while (i && !prefix_order(&d->at[i - 1].prefix, &one->prefix))
		i--;
	for (; i < d->n && !prefix_order(&d->at[i].prefix, &one->prefix); i++)
		if (d->at[i].others)
			return true;
	return false;
}

static int order(struct ban_order **orders, size_t *n, const struct decision *d, bool del, int64_t now)
{
	if (!GROW(*orders, *n))
		return -ENOMEM;
	(*orders)[(*n)++] = (struct ban_order){
		.prefix = d->prefix, .ttl = (double)(d->end - now), .reason = del ? NULL : d->reason, .del = del
	};
	return 0;
}

int decisions_orders(const struct decisions *before, const struct decisions *after, int64_t now, bool again,
		     struct ban_order **orders, size_t *n)
{
	size_t i = 0, k = 0;
	int err = 0;

	*orders = NULL;
	*n = 0;
	while ((i < before->n || k < after->n) && !err) {
		int side = i == before->n  ? 1
			   : k == after->n ? -1
					   : prefix_order(&before->at[i].prefix, &after->at[k].prefix);
		const struct decision *old = side <= 0 ? last_of(before, &i) : NULL;
		const struct decision *new = side >= 0 ? last_of(after, &k) : NULL;

		/* What is over by itself needs no order. */
		if (side < 0 && old->end <= now)
			continue;
		if (!side && llabs(old->end - new->end) <= SAME_SECONDS && !(again && stands_back(before, old)))
			continue;
		err = side < 0 ? order(orders, n, old, true, now) : order(orders, n, new, false, now);
	}
	if (err) {
		free(*orders);
		*orders = NULL;
		*n = 0;
	}
	return err;
}

void decisions_missed(struct decisions *after, const struct ban_order *orders, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (orders[i].del)
			continue;
		while (k < after->n && prefix_order(&after->at[k].prefix, &orders[i].prefix) < 0)
			k++;
		for (; k < after->n && !prefix_order(&after->at[k].prefix, &orders[i].prefix); k++)
			after->at[k].others = orders[i].missed;
	}
}
