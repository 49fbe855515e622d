// SPDX-License-Identifier: GPL-2.0-only
/* A scope: how its words are read and written, its bounds, and which packets it takes, against a naive look. */
#include <errno.h>

#include "base/log.h"
#include "base/words.h"
#include "ktap.h"
#include "sets/address.h"
#include "sets/scope.h"

static int add(struct scope *s, const char *only, const char *to, const char *on)
{
	*s = (struct scope){ 0 };
	return (only ? scope_add_only(s, only) : 0) ?: (to ? scope_add_to(s, to) : 0) ?: (on ? scope_add_on(s, on) : 0);
}

static void words(void)
{
	static const struct {
		const char *only, *to, *on, *text, *options;
	} known[] = {
		{ "tcp/22", NULL, NULL, "tcp/22", " --only tcp/22" },
		{ "6", NULL, NULL, "tcp", " --only tcp" },
		{ "tcp/0-65535", NULL, NULL, "tcp", " --only tcp" },
		{ "tcp/0", NULL, NULL, "tcp/0", " --only tcp/0" },
		{ "sctp/65535", NULL, NULL, "sctp/65535", " --only sctp/65535" },
		{ "132/1-2", NULL, NULL, "sctp/1-2", " --only sctp/1-2" },
		{ "icmp,icmpv6,255,0", NULL, NULL, "0,icmp,icmpv6,255", " --only icmp,icmpv6,255,0" },
		{ "udp/53,tcp/23,tcp/22", NULL, NULL, "tcp/22-23,udp/53", " --only udp/53,tcp/23,tcp/22" },
		{ "tcp/5-9,tcp/1-6,tcp/8", NULL, NULL, "tcp/1-9", " --only tcp/5-9,tcp/1-6,tcp/8" },
		{ "tcp/1-100,tcp/3-4,tcp/101,tcp/103", NULL, NULL, "tcp/1-101,tcp/103",
		  " --only tcp/1-100,tcp/3-4,tcp/101,tcp/103" },
		{ "tcp/1,udp/2", NULL, NULL, "tcp/1,udp/2", " --only tcp/1,udp/2" },
		{ NULL, "192.0.2.0/24", NULL, "to 192.0.2.0/24", " --to 192.0.2.0/24" },
		{ NULL, "2001:db8::/32,192.0.2.7,192.0.2.0/29,192.0.1.0/24", NULL,
		  "to 192.0.1.0/24,192.0.2.0/29,2001:db8::/32",
		  " --to 2001:db8::/32,192.0.2.7,192.0.2.0/29,192.0.1.0/24" },
		{ NULL, "192.0.2.0/25,192.0.2.0/24", NULL, "to 192.0.2.0/24", " --to 192.0.2.0/25,192.0.2.0/24" },
		{ NULL, "192.0.2.128/25,192.0.2.0/25", NULL, "to 192.0.2.0/25,192.0.2.128/25",
		  " --to 192.0.2.128/25,192.0.2.0/25" },
		{ NULL, NULL, "wan1,eth0,wan1,wan0", "on eth0,wan0,wan1", " --on wan1,eth0,wan1,wan0" },
		{ NULL, NULL, "fifteen-letters", "on fifteen-letters", " --on fifteen-letters" },
		{ "udp", "192.0.2.7", NULL, "udp to 192.0.2.7", " --only udp --to 192.0.2.7" },
		{ "udp", NULL, "eth0", "udp on eth0", " --only udp --on eth0" },
		{ NULL, "192.0.2.7", "eth0", "to 192.0.2.7 on eth0", " --to 192.0.2.7 --on eth0" },
		{ "udp", "192.0.2.7", "eth0", "udp to 192.0.2.7 on eth0", " --only udp --to 192.0.2.7 --on eth0" },
		{ "58,132,17,1", NULL, NULL, "icmp,udp,icmpv6,sctp", " --only icmpv6,sctp,udp,icmp" },
		{ "57", NULL, NULL, "57", " --only 57" },
		{ NULL, "::5,192.0.2.7", NULL, "to 192.0.2.7,::5", " --to ::5,192.0.2.7" },
		{ NULL, "::/0,0.0.0.0/0", NULL, "to 0.0.0.0/0,::/0", " --to ::/0,0.0.0.0/0" },
		{ NULL, NULL, "on", "on on", " --on on" },
		{ NULL, NULL, "to,on", "on on,to", " --on to,on" },
		{ "udp", "192.0.2.7", "to", "udp to 192.0.2.7 on to", " --only udp --to 192.0.2.7 --on to" },
		{ NULL, NULL, "#a,b'c,d\"e,f\\g#", "on #a,b'c,d\"e,f\\g#", " --on \\#a,b\\'c,d\\\"e,f\\\\g\\#" },
		{ "any", NULL, NULL, "", " --only any" },
		{ "any", "192.0.2.7", NULL, "to 192.0.2.7", " --only any --to 192.0.2.7" },
	};
	char text[SCOPE_TEXT_MAX], options[SCOPE_TEXT_MAX];
	struct scope s, again;
	struct words split;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int err = add(&s, known[i].only, known[i].to, known[i].on);

		scope_options(options, sizeof(options), &s);
		CHECK(!err && scope_text(text, &s) && !strcmp(text, known[i].text) &&
			      !strcmp(options, known[i].options),
		      "%zu: %d, '%s', '%s'", i, err, text, options);
		CHECK(!words_split(&split, options) &&
			      split.n == 2 * (!!known[i].only + !!known[i].to + !!known[i].on) &&
			      (!known[i].on || !strcmp(split.words[split.n - 1], known[i].on)),
		      "%zu: '%s' are other words", i, options);
		words_free(&split);
		err = scope_parse(&again, text);
		CHECK(!err && scope_text(options, &again) && !strcmp(options, text), "'%s' is read as '%s'", text,
		      options);
		CHECK(scope_is_all(&again) == !*text, "'%s' is all packets: %d", text, scope_is_all(&again));
	}
}

static void wrong(void)
{
	static const struct {
		const char *only, *to, *on, *says;
	} bad[] = {
		{ "", NULL, NULL, "--only '': a protocol is" },
		{ "tcp,", NULL, NULL, "--only '': a protocol is" },
		{ "256", NULL, NULL, "--only '256': a protocol is" },
		{ "-1", NULL, NULL, "--only '-1': a protocol is" },
		{ "tcpp", NULL, NULL, "--only 'tcpp': a protocol is" },
		{ "tc", NULL, NULL, "--only 'tc': a protocol is" },
		{ "icmp/8", NULL, NULL, "--only 'icmp/8': only tcp, udp and sctp have ports" },
		{ "47/8", NULL, NULL, "--only '47/8': only tcp, udp and sctp have ports" },
		{ "tcp/", NULL, NULL, "--only 'tcp/': a port is" },
		{ "tcp/65536", NULL, NULL, "--only 'tcp/65536': a port is" },
		{ "tcp/100000", NULL, NULL, "--only 'tcp/100000': a port is" },
		{ "tcp/2-1", NULL, NULL, "--only 'tcp/2-1': a port is" },
		{ "tcp/-2", NULL, NULL, "--only 'tcp/-2': a port is" },
		{ "tcp/2-", NULL, NULL, "--only 'tcp/2-': a port is" },
		{ "tcp/2-65536", NULL, NULL, "--only 'tcp/2-65536': a port is" },
		{ "tcp/x", NULL, NULL, "--only 'tcp/x': a port is" },
		{ "tcp/1,any", NULL, NULL, "--only any is for all packets" },
		{ NULL, "", NULL, "--to '': " },
		{ NULL, "192.0.2.7/33", NULL, "--to '192.0.2.7/33': " },
		{ NULL, "192.0.2.7,x", NULL, "--to 'x': " },
		{ NULL, NULL, "", "--on '': that is no name" },
		{ NULL, NULL, "eth0,", "--on '': that is no name" },
		{ NULL, NULL, ".", "--on '.': that is no name" },
		{ NULL, NULL, "a/b", "--on 'a/b': that is no name" },
		{ NULL, NULL, "eth0:1", "--on 'eth0:1': that is no name" },
		{ NULL, NULL, "a b", "--on 'a b': that is no name" },
		{ NULL, NULL, "sixteen--letters", "--on 'sixteen--letters': that is no name" },
	};
	static const char *const none[] = { "to on eth0",
					    "on to 192.0.2.7",
					    "on on on",
					    "tcp to",
					    "to",
					    "on",
					    "tcp/22 192.0.2.7",
					    "any",
					    "to 192.0.2.7 192.0.2.8",
					    "tcp  udp",
					    "tcp/x",
					    " ",
					    "tcp on eth0 to",
					    "up" };
	struct scope s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = add(&s, bad[i].only, bad[i].to, bad[i].on);

		CHECK(err_is(err, EINVAL) && strstr(reason(err), bad[i].says) == reason(err), "%zu: %d, '%s'", i, err,
		      reason(err));
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(err_is(scope_parse(&s, none[i]), EINVAL), "'%s' is a scope", none[i]);
}

/* n words, each with its number. */
static const char *many(const char *form, int n)
{
	static char text[4096];
	int at = 0;

	for (int i = 0; i < n; i++) {
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s", i ? "," : "");
		at += snprintf(text + at, sizeof(text) - (size_t)at, form, i);
	}
	return text;
}

static void bounds(void)
{
	char text[SCOPE_TEXT_MAX], longest[SCOPE_TEXT_MAX + 1];
	struct scope s;
	int err;

	err = add(&s, many("tcp/2%03d", SCOPE_RULES), NULL, NULL);
	CHECK(!err && s.only_n == SCOPE_RULES, "%d, %zu", err, s.only_n);
	err = add(&s, many("tcp/2%03d", SCOPE_RULES + 1), NULL, NULL);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "--only: no more than 64 protocols and ports"), "%s",
	      reason(err));
	err = add(&s, NULL, many("192.0.2.%d", SCOPE_TO), NULL);
	CHECK(!err && s.to_n == SCOPE_TO, "%d, %zu", err, s.to_n);
	err = add(&s, NULL, many("192.0.2.%d", SCOPE_TO + 1), NULL);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "--to: no more than 32 prefixes"), "%s", reason(err));
	err = add(&s, NULL, NULL, many("wan%d", SCOPE_ON));
	CHECK(!err && s.on_n == SCOPE_ON, "%d, %zu", err, s.on_n);
	err = add(&s, NULL, NULL, many("wan%d", SCOPE_ON + 1));
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "--on: no more than 16 interfaces"), "%s", reason(err));
	/* Each within its bound, and too long together. */
	err = add(&s, many("tcp/3%02d0", SCOPE_RULES), NULL, NULL)
		      ?: scope_add_to(&s, many("2001:db8:1111:2222:3333:4444:5555:%x", SCOPE_TO));
	CHECK(!err && !scope_text(text, &s) && strlen(text) < SCOPE_TEXT_MAX, "%d: it is written: '%s'", err, text);
	memset(longest, 'x', sizeof(longest));
	longest[SCOPE_TEXT_MAX] = '\0';
	err = scope_parse(&s, longest);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "a scope has no more than 1023 letters"), "%s", reason(err));
	longest[SCOPE_TEXT_MAX - 1] = '\0';
	err = scope_parse(&s, longest);
	CHECK(err_is(err, EINVAL) && strstr(reason(err), "a protocol is"), "%s", reason(err));
}

static bool naive_takes(const struct scope *s, const struct scope_asked *p)
{
	bool rule = !s->only_n, net = !s->to_n, name = !s->on_n;

	for (size_t i = 0; i < s->only_n; i++)
		rule |= s->only[i].protocol == p->protocol &&
			((s->only[i].lo == 0 && s->only[i].hi == 65535) ||
			 (p->port_given && p->port >= s->only[i].lo && p->port <= s->only[i].hi));
	/* All of IPv4 lies in IPv6 as ::ffff:0:0/96. */
	for (size_t i = 0; i < s->to_n; i++) {
		ip6 size = (ip6)1 << ((s->to[i].first.family == 4 ? 32 : 128) - s->to[i].length);
		ip6 first = s->to[i].first.num + (s->to[i].first.family == 4 ? (ip6)0xffff << 32 : 0);
		ip6 to = p->to.num + (p->to.family == 4 ? (ip6)0xffff << 32 : 0);

		net |= to >= first && to - first < size;
	}
	for (size_t i = 0; i < s->on_n; i++)
		name |= !strcmp(s->on[i], p->on);
	return rule && net && name;
}

/* A number of few, so that what is asked is often what is there. */
static unsigned int few(unsigned int n)
{
	return (unsigned int)(ktap_random() % n);
}

static void random_scope(struct scope *s)
{
	static const uint8_t protocols[] = { 6, 17, 132, 1, 58, 47 };
	static const unsigned int lengths4[] = { 8, 24, 31, 32 }, lengths6[] = { 1, 48, 127, 128 };

	*s = (struct scope){ 0 };
	for (unsigned int n = few(5); s->only_n < n; s->only_n++) {
		uint8_t protocol = protocols[few(sizeof(protocols))];
		unsigned int lo = few(12), hi = lo + few(4);

		if (few(4) && scope_has_ports(protocol))
			s->only[s->only_n] = (struct scope_rule){ protocol, (uint16_t)lo, (uint16_t)hi };
		else
			s->only[s->only_n] = (struct scope_rule){ protocol, 0, UINT16_MAX };
	}
	for (unsigned int n = few(4); s->to_n < n; s->to_n++) {
		bool is6 = few(2);
		unsigned int length = is6 ? lengths6[few(4)] : lengths4[few(4)];
		ip6 num = is6 ? (ip6)0x20010db8 << 96 | few(4) : 0xc6336400 | few(4);

		num &= is6 ? ~(length == 128 ? 0 : ~(ip6)0 >> length) : ~(length == 32 ? 0U : ~0U >> length);
		s->to[s->to_n] = (struct prefix){ .first = { num, is6 ? 6 : 4 }, .length = length };
	}
	for (unsigned int n = few(3); s->on_n < n; s->on_n++)
		snprintf(s->on[s->on_n], SCOPE_IFNAME, "wan%u", few(3));
}

static void random_packet(struct scope_asked *p)
{
	static const uint8_t protocols[] = { 6, 17, 132, 1, 58, 47 };
	bool is6 = few(2);

	*p = (struct scope_asked){ .protocol_given = true,
				   .to_given = true,
				   .on_given = true,
				   .protocol = protocols[few(sizeof(protocols))],
				   .port = (uint16_t)few(16) };
	p->port_given = scope_has_ports(p->protocol);
	p->to = (struct addr){ is6 ? (ip6)0x20010db8 << 96 | few(4) : 0xc6336400 | few(4), is6 ? 6 : 4 };
	snprintf(p->on, SCOPE_IFNAME, "wan%u", few(3));
}

static void takes(void)
{
	char text[SCOPE_TEXT_MAX], again[SCOPE_TEXT_MAX];
	unsigned int taken = 0, sure = 0;

	for (int i = 0; i < 3000; i++) {
		struct scope s, read;

		random_scope(&s);
		if (!CHECK(scope_text(text, &s) && !scope_parse(&read, text) && scope_text(again, &read) &&
				   !strcmp(text, again),
			   "'%s' is read as '%s'", text, again))
			return;
		for (int k = 0; k < 30; k++) {
			struct scope_asked p, part;
			enum scope_takes whole, known;
			bool is;

			random_packet(&p);
			is = naive_takes(&s, &p);
			whole = scope_takes(&s, &p);
			taken += is;
			if (!CHECK(whole == (is ? SCOPE_ALWAYS : SCOPE_NEVER) && scope_takes(&read, &p) == whole,
				   "'%s': %d of protocol %u, port %u on %s, not %d", text, whole, p.protocol, p.port,
				   p.on, is))
				return;
			/* Of a packet that is known in part, what is said holds for all of it. */
			part = p;
			part.protocol_given = few(2);
			part.port_given = p.port_given && few(2);
			part.to_given = few(2);
			part.on_given = few(2);
			known = scope_takes(&s, &part);
			sure += known != SCOPE_PERHAPS;
			if (!CHECK(known == SCOPE_PERHAPS || known == whole, "'%s': %d of a part, %d of the whole",
				   text, known, whole))
				return;
			/* Where all that it asks for is known, it is sure. */
			if (!CHECK(known != SCOPE_PERHAPS || (s.only_n && (!part.protocol_given || !part.port_given)) ||
					   (s.to_n && !part.to_given) || (s.on_n && !part.on_given),
				   "'%s': not sure", text))
				return;
		}
	}
	CHECK(taken > 5000 && sure > 30000, "%u are taken, %u are sure", taken, sure);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "words", words },
		{ "what is none", wrong },
		{ "bounds", bounds },
		{ "what it takes", takes },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
