// SPDX-License-Identifier: GPL-2.0-only
#include "change/own_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char resolver_is[] = "a name server in use", dhcp_is[] = "the DHCP server of a lease",
		  router_is[] = "a gateway in use", clock_is[] = "a time server in use",
		  session_is[] = "somebody who is logged in";

/* The lines whose first word is this name addresses. */
struct keyword {
	enum own_format format;
	const char *word, *what;
};

static const struct keyword keywords[] = {
	{ OWN_RESOLV, "nameserver", resolver_is },
	{ OWN_LEASE, "SERVER_ADDRESS", dhcp_is },
	{ OWN_LEASE, "ROUTER", router_is },
	{ OWN_LEASE, "DNS", resolver_is },
	{ OWN_LEASE, "NTP", clock_is },
	{ OWN_DHCLIENT, "dhcp-server-identifier", dhcp_is },
	{ OWN_DHCLIENT, "routers", router_is },
	{ OWN_DHCLIENT, "domain-name-servers", resolver_is },
	{ OWN_DHCLIENT, "ntp-servers", clock_is },
	{ OWN_CLOCK, "server", clock_is },
	{ OWN_CLOCK, "peer", clock_is },
	{ OWN_CLOCK, "pool", clock_is },
	{ OWN_TIMESYNC, "NTP", clock_is },
	{ OWN_TIMESYNC, "FallbackNTP", clock_is },
	{ OWN_DNSMASQ, "server", resolver_is },
	{ OWN_UNBOUND, "forward-addr", resolver_is },
	{ OWN_SESSION, "REMOTE_HOST", session_is },
};

/* What parts words; an address ends at "%eth0", "#53" and "@853" as well. */
#define BLANKS " \t\r=,;/{}\"'"
#define ENDS   "%#@"

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

static const char *next_word(const char **at, const char *end, size_t *length)
{
	const char *word = *at;

	while (word < end && strchr(BLANKS, *word) && *word)
		word++;
	*length = 0;
	while (word + *length < end && word[*length] && !strchr(BLANKS, word[*length]))
		++*length;
	*at = word + *length;
	return *length ? word : NULL;
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
	return length == strlen(wanted) && !strncasecmp(word, wanted, length);
}

static const char *what_of(enum own_format format, const char *word, size_t length)
{
	if (length && word[length - 1] == ':') /* unbound */
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

static void on_words(struct scan *s, const char *what, const char *at, const char *end)
{
	const char *word;
	size_t length;

	while ((word = next_word(&at, end, &length))) {
		struct addr addr;
		size_t n = 0;

		while (n < length && !strchr(ENDS, word[n]))
			n++;
		if (addr_parse(word, n, &addr))
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
	what = word ? what_of(format, word, length) : NULL;
	if (what)
		on_words(s, what, at, end);
	if (s->one_by_one || memchr(begin, '}', (size_t)(end - begin)))
		emit(s);
}

void own_scan(enum own_format format, const char *text, size_t size, long long now, own_found_fn *found, void *arg)
{
	struct scan s = { .found = found, .arg = arg, .now = now, .one_by_one = format != OWN_DHCLIENT };

	for (const char *at = text, *end = text + size; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at)) ?: end;

		on_line(&s, format, at, line);
		at = line + 1;
	}
	emit(&s);
}
