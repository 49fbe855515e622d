// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char resolver_is[] = "a name server in use", dhcp_is[] = "the DHCP server of a lease",
		  router_is[] = "a gateway in use", session_is[] = "somebody who is logged in";

const char own_clock_is[] = "a time server in use";

/* The lines whose first word is this name addresses; of an upstream, lists that begin with it. */
struct keyword {
	enum own_format format;
	const char *word, *what;
};

static const struct keyword keywords[] = {
	{ OWN_RESOLV, "nameserver", resolver_is },
	{ OWN_LEASE, "SERVER_ADDRESS", dhcp_is },
	{ OWN_LEASE, "ROUTER", router_is },
	{ OWN_LEASE, "DNS", resolver_is },
	{ OWN_LEASE, "NTP", own_clock_is },
	{ OWN_LEASE, "SERVERID", dhcp_is }, /* wicked */
	{ OWN_LEASE, "GATEWAYS", router_is },
	{ OWN_LEASE, "DNSSERVERS", resolver_is },
	{ OWN_LEASE, "NTPSERVERS", own_clock_is },
	{ OWN_LEASE, "dhcp4.dhcp_server_identifier", dhcp_is }, /* NetworkManager */
	{ OWN_LEASE, "dhcp4.routers", router_is },
	{ OWN_LEASE, "dhcp4.domain_name_servers", resolver_is },
	{ OWN_LEASE, "dhcp4.ntp_servers", own_clock_is },
	{ OWN_DHCLIENT, "dhcp-server-identifier", dhcp_is },
	{ OWN_DHCLIENT, "routers", router_is },
	{ OWN_DHCLIENT, "domain-name-servers", resolver_is },
	{ OWN_DHCLIENT, "ntp-servers", own_clock_is },
	{ OWN_CLOCK, "server", own_clock_is },
	{ OWN_CLOCK, "peer", own_clock_is },
	{ OWN_CLOCK, "pool", own_clock_is },
	{ OWN_TIMESYNC, "NTP", own_clock_is },
	{ OWN_TIMESYNC, "FallbackNTP", own_clock_is },
	{ OWN_DNSMASQ, "server", resolver_is },
	{ OWN_UNBOUND, "forward-addr", resolver_is },
	{ OWN_BIND, "forwarders", resolver_is },
	{ OWN_RECURSOR, "forwarders", resolver_is },	/* PowerDNS as YAML */
	{ OWN_RECURSOR, "forward-zones", resolver_is }, /* and before */
	{ OWN_RECURSOR, "forward-zones-recurse", resolver_is },
	{ OWN_RECURSOR, "policy.FORWARD", resolver_is }, /* Knot Resolver */
	{ OWN_RECURSOR, "policy.TLS_FORWARD", resolver_is },
	{ OWN_RECURSOR, "policy.STUB", resolver_is },
	{ OWN_RECURSOR, "servers", resolver_is }, /* and as YAML */
	{ OWN_RECURSOR, "address", resolver_is },
	{ OWN_UPSTREAM, "forward", resolver_is },	      /* CoreDNS */
	{ OWN_UPSTREAM, "address_data", resolver_is },	      /* stubby */
	{ OWN_UPSTREAM, "bootstrap_resolvers", resolver_is }, /* dnscrypt-proxy */
	{ OWN_UPSTREAM, "fallback_resolvers", resolver_is },
	{ OWN_UPSTREAM, "fallback_resolver", resolver_is },
	{ OWN_UPSTREAM, "upstreams", resolver_is }, /* Pi-hole, AdGuard Home */
	{ OWN_UPSTREAM, "upstream_dns", resolver_is },
	{ OWN_UPSTREAM, "bootstrap_dns", resolver_is },
	{ OWN_UPSTREAM, "fallback_dns", resolver_is },
	{ OWN_OPENWRT, "server", resolver_is }, /* "list server" */
	{ OWN_SESSION, "REMOTE_HOST", session_is },
};

/* What parts words; an address ends at "%eth0", "#53", "@853" and, of IPv4, ":53" as well. */
#define BLANKS " \t\r=,;/{}\"'"
#define ENDS   "%#@"
#define BRACES BLANKS "()[]"

/* What one lease says waits until it is known that it has not run out. So many addresses are taken of it. */
#define WAITING_MAX 32

struct scan {
	own_found_fn *found;
	void *arg;
	long long now;
	bool one_by_one; /* nothing has to wait */
	bool expired;
	struct {
		struct addr addr;
		const char *what;
	} waiting[WAITING_MAX];
	size_t n;
};

static size_t word_length(const char *word, const char *end, const char *blanks)
{
	size_t n = 0;

	while (word + n < end && word[n] && !strchr(blanks, word[n]))
		n++;
	return n;
}

static const char *next_word(const char **at, const char *end, size_t *length)
{
	const char *word = *at;

	while (word < end && strchr(BLANKS, *word) && *word)
		word++;
	*length = word_length(word, end, BLANKS);
	*at = word + *length;
	return *length ? word : NULL;
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
	return length == strlen(wanted) && !strncasecmp(word, wanted, length);
}

static const char *what_of(enum own_format format, const char *word, size_t length)
{
	if (length && (word[length - 1] == ':' || word[length - 1] == '+')) /* unbound; PowerDNS */
		length--;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (keywords[i].format == format && is_word(word, length, keywords[i].word))
			return keywords[i].what;
	return NULL;
}

static void emit(struct scan *s)
{
	for (size_t i = 0; i < s->n && !s->expired; i++)
		s->found(s->arg, s->waiting[i].addr, s->waiting[i].what);
	s->n = 0;
	s->expired = false;
}

/* "5 2026/11/22 13:50:58;", "epoch 1795355458;" or "never;" */
static bool has_expired(const char *at, const char *end, long long now)
{
	char text[64];
	struct tm tm = { 0 };
	int day;

	snprintf(text, sizeof(text), "%.*s", (int)(end - at < 63 ? end - at : 63), at);
	if (sscanf(text, " epoch %lld", &(long long){ 0 }) == 1)
		return strtoll(text + strspn(text, " \t") + strlen("epoch"), NULL, 10) < now;
	if (sscanf(text, "%d %d/%d/%d %d:%d:%d", &day, &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec) != 7)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm) < now;
}

static bool is_address(const char *word, size_t length, struct addr *addr)
{
	return !addr_parse(word, word_length(word, word + length, ENDS), addr) ||
	       !addr_parse(word, word_length(word, word + length, ":"), addr);
}

static void on_words(struct scan *s, const char *what, const char *at, const char *end)
{
	const char *word;
	size_t length;

	while ((word = next_word(&at, end, &length))) {
		struct addr addr;

		if (!is_address(word, length, &addr))
			continue;
		if (s->n == WAITING_MAX && s->one_by_one)
			emit(s);
		if (s->n == WAITING_MAX)
			return;
		s->waiting[s->n].addr = addr;
		s->waiting[s->n++].what = what;
	}
}

static void on_line(struct scan *s, enum own_format format, const char *at, const char *end)
{
	const char *begin = at, *word, *what;
	size_t length;

	word = next_word(&at, end, &length);
	if (word && format == OWN_DHCLIENT) {
		if (is_word(word, length, "lease"))
			s->n = 0;
		if (is_word(word, length, "expire"))
			s->expired = has_expired(at, end, s->now);
		if (is_word(word, length, "option"))
			word = next_word(&at, end, &length);
	}
	if (word && format == OWN_OPENWRT && is_word(word, length, "list"))
		word = next_word(&at, end, &length);
	what = word ? what_of(format, word, length) : NULL;
	if (what)
		on_words(s, what, at, end);
	if (s->one_by_one || memchr(begin, '}', (size_t)(end - begin)))
		emit(s);
}

/*
 * "#", "--" and "//" to the end of the line, but in "tls://192.0.2.1" and "[//]192.0.2.1"; and what C has. Returns
 * where it ends; NULL: here is none.
 */
static const char *comment_end(char before, const char *at, const char *end)
{
	const char *close;

	if (*at == '#' || (end - at > 1 && (!memcmp(at, "--", 2) || (!memcmp(at, "//", 2) && !strchr(":[", before)))))
		return at + word_length(at, end, "\n");
	if (end - at < 2 || memcmp(at, "/*", 2) != 0)
		return NULL;
	close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
	return close ? close + 2 : end;
}

/*
 * Lists of addresses, over however many lines: of braces, of YAML, TOML and Lua. A list goes on until a line begins
 * with a word that is none: with the next setting. An address too many costs less than one too few.
 */
static void on_upstreams(struct scan *s, enum own_format format, const char *at, const char *end)
{
	const char *what = NULL, *is;
	bool begins = true; /* a line */
	char before = '\n';

	while (at < end) {
		size_t length = word_length(at, end, BRACES "\n");
		const char *comment = comment_end(before, at, end);
		struct addr addr;

		before = length ? at[length - 1] : *at;
		if (comment || !length) {
			begins = *at == '\n' || (begins && (comment || strchr(" \t\r", *at)));
			at = comment ?: at + 1;
			continue;
		}
		is = what_of(format, at, length);
		if (is)
			what = is;
		else if (!is_address(at, length, &addr))
			what = begins && *at != '-' ? NULL : what;
		else if (what)
			s->found(s->arg, addr, what);
		begins = false;
		at += length;
	}
}

void own_scan(enum own_format format, const char *text, size_t size, long long now, own_found_fn *found, void *arg)
{
	struct scan s = { .found = found, .arg = arg, .now = now, .one_by_one = format != OWN_DHCLIENT };

	if (format == OWN_UPSTREAM || format == OWN_RECURSOR || format == OWN_BIND)
		return on_upstreams(&s, format, text, text + size);
	for (const char *at = text, *end = text + size; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at)) ?: end;

		on_line(&s, format, at, line);
		at = line + 1;
	}
	emit(&s);
}
