// SPDX-License-Identifier: GPL-2.0-only
#include "sets/scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const struct {
	const char *name;
	uint8_t number;
} protocols[] = { { "tcp", 6 }, { "udp", 17 }, { "icmp", 1 }, { "icmpv6", 58 }, { "sctp", 132 } };

#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

/* Digits alone, and no more than `most`; -1: none. */
static long whole(const char *text, size_t len, long most)
{
	long number = 0;

	if (!len || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = 10 * number + text[i] - '0';
	}
	return number <= most ? number : -1;
}

int scope_protocol(const char *text, size_t len)
{
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (strlen(protocols[i].name) == len && !strncmp(protocols[i].name, text, len))
			return protocols[i].number;
	return (int)whole(text, len, 255);
}

bool scope_has_ports(uint8_t protocol)
{
	return protocol == 6 || protocol == 17 || protocol == 132;
}

static int add_rule(struct scope *s, const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len), *dash;
	size_t name = slash ? (size_t)(slash - text) : len, rest = slash ? len - name - 1 : 0;
	int protocol = scope_protocol(text, name);
	long lo = 0, hi = UINT16_MAX;

	if (len == 3 && !strncmp(text, "any", 3)) {
		s->any = true;
		return 0;
	}
	if (protocol < 0)
		return because(-EINVAL,
			       "--only '%.*s': a protocol is tcp, udp, icmp, icmpv6, sctp or its number; "
			       "with a port as in tcp/22",
			       (int)len, text);
	if (slash && !scope_has_ports((uint8_t)protocol))
		return because(-EINVAL, "--only '%.*s': only tcp, udp and sctp have ports", (int)len, text);
	if (slash) {
		dash = memchr(slash + 1, '-', rest);
		lo = whole(slash + 1, dash ? (size_t)(dash - slash - 1) : rest, UINT16_MAX);
		hi = dash ? whole(dash + 1, len - (size_t)(dash + 1 - text), UINT16_MAX) : lo;
		if (lo < 0 || hi < lo)
			return because(-EINVAL,
				       "--only '%.*s': a port is a number up to 65535, or a range as in "
				       "tcp/1000-2000",
				       (int)len, text);
	}
	if (s->only_n == SCOPE_RULES)
		return because(-EINVAL, "--only: no more than %d protocols and ports", SCOPE_RULES);
	s->only[s->only_n++] = (struct scope_rule){ (uint8_t)protocol, (uint16_t)lo, (uint16_t)hi };
	return 0;
}

static int add_net(struct scope *s, const char *text, size_t len)
{
	struct prefix p = { .length = 0 };
	const char *fault = prefix_parse(text, len, &p.first, &p.length);

	if (fault)
		return because(-EINVAL, "--to '%.*s': %s", (int)len, text, fault);
	if (s->to_n == SCOPE_TO)
		return because(-EINVAL, "--to: no more than %d prefixes", SCOPE_TO);
	s->to[s->to_n++] = p;
	return 0;
}

/* As the kernel takes them. */
static int add_name(struct scope *s, const char *text, size_t len)
{
	if (!len || len >= SCOPE_IFNAME || *text == '.' || memchr(text, '/', len) || memchr(text, ':', len) ||
	    memchr(text, ' ', len))
		return because(-EINVAL, "--on '%.*s': that is no name of an interface", (int)len, text);
	if (s->on_n == SCOPE_ON)
		return because(-EINVAL, "--on: no more than %d interfaces", SCOPE_ON);
	snprintf(s->on[s->on_n++], SCOPE_IFNAME, "%.*s", (int)len, text);
	return 0;
}

static int add_each(struct scope *s, const char *text, int (*add)(struct scope *, const char *, size_t))
{
	int err;

	do {
		size_t len = strcspn(text, ",");

		err = add(s, text, len);
		text += len;
	} while (!err && *text++);
	return err;
}

int scope_add_only(struct scope *s, const char *text)
{
	int err = add_each(s, text, add_rule);

	if (!err && s->any && s->only_n)
		err = because(-EINVAL, "--only any is for all packets: give it alone");
	return err;
}

int scope_add_to(struct scope *s, const char *text)
{
	return add_each(s, text, add_net);
}

int scope_add_on(struct scope *s, const char *text)
{
	return add_each(s, text, add_name);
}

static int by_rule(const void *a, const void *b)
{
	const struct scope_rule *x = a, *y = b;

	return x->protocol != y->protocol ? x->protocol - y->protocol : x->lo - y->lo;
}

static int by_net(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	if (x->first.family != y->first.family)
		return x->first.family - y->first.family;
	if (x->first.num != y->first.num)
		return x->first.num < y->first.num ? -1 : 1;
	return (int)x->length - (int)y->length;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool covers(const struct prefix *a, const struct prefix *b)
{
	return a->first.family == b->first.family && a->length <= b->length &&
	       !((a->first.num ^ b->first.num) & ~addr_mask(a->first.family, a->length));
}

/* An IPv4 destination is one of ::ffff:0:0/96, as a packet has it that is sent to a mapped address. */
static struct prefix as_6(struct prefix p)
{
	if (p.first.family == 6)
		return p;
	return (struct prefix){ { (ip6)0xffff << 32 | p.first.num, 6 }, p.length + 96 };
}

bool scope_net_holds_4(const struct prefix *net)
{
	struct prefix all = as_6((struct prefix){ { 0, 4 }, 0 });

	return net->first.family == 6 && covers(net, &all);
}

static void tidy(struct scope *s)
{
	size_t n = 0;

	qsort(s->only, s->only_n, sizeof(s->only[0]), by_rule);
	for (size_t i = 0; i < s->only_n; i++) {
		struct scope_rule *last = n ? &s->only[n - 1] : NULL;

		if (last && last->protocol == s->only[i].protocol && s->only[i].lo <= (uint32_t)last->hi + 1)
			last->hi = last->hi > s->only[i].hi ? last->hi : s->only[i].hi;
		else
			s->only[n++] = s->only[i];
	}
	s->only_n = n;
	qsort(s->to, s->to_n, sizeof(s->to[0]), by_net);
	n = 0;
	for (size_t i = 0; i < s->to_n; i++)
		if (!n || !covers(&s->to[n - 1], &s->to[i]))
			s->to[n++] = s->to[i];
	s->to_n = n;
	qsort(s->on, s->on_n, sizeof(s->on[0]), by_name);
	n = 0;
	for (size_t i = 0; i < s->on_n; i++)
		if (!n || strcmp(s->on[n - 1], s->on[i]) != 0)
			memmove(s->on[n++], s->on[i], SCOPE_IFNAME);
	s->on_n = n;
}

struct text {
	char *at;
	size_t size, n;
};

static void put(struct text *t, const char *before, const char *word)
{
	int n = snprintf(t->at + (t->n < t->size ? t->n : t->size - 1), t->n < t->size ? t->size - t->n : 1, "%s%s",
			 before, word);

	t->n += (size_t)n;
}

static void put_rule(struct text *t, const char *before, const struct scope_rule *rule)
{
	char word[32], name[8];

	snprintf(name, sizeof(name), "%u", rule->protocol);
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (protocols[i].number == rule->protocol)
			snprintf(name, sizeof(name), "%s", protocols[i].name);
	if (scope_rule_is_whole(rule))
		snprintf(word, sizeof(word), "%s", name);
	else if (rule->lo == rule->hi)
		snprintf(word, sizeof(word), "%s/%u", name, rule->lo);
	else
		snprintf(word, sizeof(word), "%s/%u-%u", name, rule->lo, rule->hi);
	put(t, before, word);
}

/* Of a command line, where these mean something (base/words.h). */
static void put_word(struct text *t, const char *before, const char *name)
{
	char word[2 * SCOPE_IFNAME];
	size_t n = 0;

	for (; *name; name++) {
		if (strchr("\"'\\#\t\n\v\f\r", *name))
			word[n++] = '\\';
		word[n++] = *name;
	}
	word[n] = '\0';
	put(t, before, word);
}

static void put_all(struct text *t, const struct scope *s, const char *only, const char *to, const char *on,
		    void (*put_name)(struct text *, const char *, const char *))
{
	char word[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < s->only_n; i++)
		put_rule(t, i ? "," : only, &s->only[i]);
	for (size_t i = 0; i < s->to_n; i++)
		put(t, i ? "," : to, prefix_text(word, s->to[i].first, (int)s->to[i].length));
	for (size_t i = 0; i < s->on_n; i++)
		put_name(t, i ? "," : on, s->on[i]);
}

bool scope_text(char text[SCOPE_TEXT_MAX], const struct scope *scope)
{
	struct text t = { text, SCOPE_TEXT_MAX, 0 };
	struct scope s = *scope;

	text[0] = '\0';
	tidy(&s);
	put_all(&t, &s, "", s.only_n ? " to " : "to ", s.only_n || s.to_n ? " on " : "on ", put);
	return t.n < SCOPE_TEXT_MAX;
}

void scope_options(char *text, size_t size, const struct scope *scope)
{
	struct text t = { text, size, 0 };

	text[0] = '\0';
	if (scope->any)
		put(&t, " --only ", "any");
	put_all(&t, scope, " --only ", " --to ", " --on ", put_word);
}

int scope_parse(struct scope *scope, const char *text)
{
	char copy[SCOPE_TEXT_MAX], *word, *next = copy;
	int (*add)(struct scope *, const char *) = NULL;
	int err = 0;

	*scope = (struct scope){ 0 };
	if (!*text)
		return 0;
	if (strlen(text) >= sizeof(copy))
		return because(-EINVAL, "a scope has no more than %zu letters", sizeof(copy) - 1);
	memcpy(copy, text, strlen(text) + 1);
	/* An interface may be called as these words are. */
	while (!err && (word = strsep(&next, " "))) {
		if (add)
			err = add(scope, word), add = NULL;
		else if (!strcmp(word, "to"))
			add = scope_add_to;
		else if (!strcmp(word, "on"))
			add = scope_add_on;
		else
			err = word == copy ? scope_add_only(scope, word) : -EINVAL;
	}
	if (!err && (add || scope->any))
		err = because(-EINVAL, "'%s' is no scope", text);
	return err ? because(-EINVAL, "%s", reason(err)) : 0;
}

static enum scope_takes takes_only(const struct scope *s, const struct scope_asked *asked)
{
	enum scope_takes takes = s->only_n ? SCOPE_NEVER : SCOPE_ALWAYS;

	for (size_t i = 0; i < s->only_n; i++) {
		const struct scope_rule *rule = &s->only[i];
		enum scope_takes now = SCOPE_PERHAPS;

		if (asked->protocol_given && rule->protocol != asked->protocol)
			continue;
		if (asked->protocol_given && scope_rule_is_whole(rule))
			now = SCOPE_ALWAYS;
		else if (asked->port_given)
			now = asked->port < rule->lo || asked->port > rule->hi ? SCOPE_NEVER
			      : asked->protocol_given			       ? SCOPE_ALWAYS
									       : SCOPE_PERHAPS;
		takes = now > takes ? now : takes;
	}
	return takes;
}

enum scope_takes scope_takes(const struct scope *s, const struct scope_asked *asked)
{
	enum scope_takes takes = takes_only(s, asked), other = s->to_n ? SCOPE_NEVER : SCOPE_ALWAYS;

	if (s->to_n && !asked->to_given)
		other = SCOPE_PERHAPS;
	for (size_t i = 0; i < s->to_n && asked->to_given; i++) {
		struct prefix net = as_6(s->to[i]);
		struct prefix to = as_6((struct prefix){ asked->to, addr_width(asked->to.family) });

		if (covers(&net, &to))
			other = SCOPE_ALWAYS;
	}
	takes = other < takes ? other : takes;
	other = s->on_n ? SCOPE_NEVER : SCOPE_ALWAYS;
	if (s->on_n && !asked->on_given)
		other = SCOPE_PERHAPS;
	for (size_t i = 0; i < s->on_n && asked->on_given; i++)
		if (!strcmp(s->on[i], asked->on))
			other = SCOPE_ALWAYS;
	return other < takes ? other : takes;
}

static bool has_rule(const struct scope *s, const struct scope_rule *rule)
{
	bool has = !s->only_n;

	for (size_t i = 0; i < s->only_n && !has; i++)
		has = s->only[i].protocol == rule->protocol && s->only[i].lo <= rule->lo && s->only[i].hi >= rule->hi;
	return has;
}

static bool has_net(const struct scope *s, const struct prefix *p)
{
	struct prefix to = as_6(*p);
	bool has = !s->to_n;

	for (size_t i = 0; i < s->to_n && !has; i++) {
		struct prefix net = as_6(s->to[i]);

		has = covers(&net, &to);
	}
	return has;
}

static bool has_name(const struct scope *s, const char *name)
{
	bool has = !s->on_n;

	for (size_t i = 0; i < s->on_n && !has; i++)
		has = !strcmp(s->on[i], name);
	return has;
}

bool scope_covers(const struct scope *s, const struct scope *other)
{
	bool all = (!s->only_n || other->only_n) && (!s->to_n || other->to_n) && (!s->on_n || other->on_n);

	for (size_t i = 0; i < other->only_n && all; i++)
		all = has_rule(s, &other->only[i]);
	for (size_t i = 0; i < other->to_n && all; i++)
		all = has_net(s, &other->to[i]);
	for (size_t i = 0; i < other->on_n && all; i++)
		all = has_name(s, other->on[i]);
	return all;
}
