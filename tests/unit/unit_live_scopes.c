// SPDX-License-Identifier: GPL-2.0-only
/* Live bans with a scope: the list that each has, by which name, and what goes out of which of them. */
#include "own_state.h"
#include "no_disk.h"

#include "base/log.h"
#include "change/change.h"
#include "change/exceptions.h"
#include "change/live_scopes.h"
#include "change/revert_timer.h"

static char waits[LIST_NAME_MAX]; /* a change of that list does */
static unsigned int zeroed;
static long confirms;

static int given_pending(struct change *change, enum pending_kind kind, const char *name, long confirm)
{
	(void)change;
	confirms = confirm;
	if (kind != PENDING_LIST || strcmp(name, waits) != 0)
		return 0;
	return because(-EBUSY, "%s waits", name);
}

static void given_zero(struct change *change, uint8_t label)
{
	(void)change;
	zeroed = label;
}

#define change_pending	  given_pending
#define change_zero_given given_zero
#define put		  list_given /* own_state.h has one */
#include "change/live_scopes.c"
#undef put

static struct change its;

static void begin(void)
{
	empty_directory();
	*waits = '\0';
	zeroed = 0;
	its = (struct change){ .context = &own_context, .state = opened(true) };
	ENOUGH(its.state);
}

static void end(void)
{
	state_close(its.state);
}

/* TCP ports: as many as there may be, the last of them this one. */
static struct scope ports(size_t n, uint16_t last)
{
	struct scope scope = { .only_n = n };

	for (size_t i = 0; i < n; i++)
		scope.only[i] = (struct scope_rule){ 6, (uint16_t)(40000 + 2 * i), (uint16_t)(40000 + 2 * i) };
	scope.only[n - 1].lo = scope.only[n - 1].hi = last;
	return scope;
}

static struct prefix prefix(const char *text, unsigned int length)
{
	struct prefix p = { .length = length };

	ENOUGH(!addr_parse(text, strlen(text), &p.first));
	return p;
}

static int add(const struct scope *scope, const char *text, unsigned int length, size_t *added)
{
	struct prefix one = prefix(text, length);

	return live_scopes_add(&its, scope, &(struct prefixes){ .at = &one, .n = 1 }, 7, added);
}

static size_t rows(struct list_info lists[8])
{
	struct list_info *all = NULL;
	size_t n = 0;

	ENOUGH(!state_lists(its.state, &all, &n) && n <= 8);
	for (size_t i = 0; i < n; i++)
		lists[i] = all[i];
	free(all);
	return n;
}

/* So many addresses are in the list of that name. */
static bool holds(const char *name, const char *addresses)
{
	struct list_info list;
	int err = state_list_get(its.state, name, &list);

	return CHECK(!err && !strcmp(list.addresses, addresses) && list.kind == LIST_BAN, "%s: %s", name,
		     err ? reason(err) : list.addresses);
}

static void names(void)
{
	struct scope one = ports(1, 22), first = ports(SCOPE_RULES, 50001), second = ports(SCOPE_RULES, 50003),
		     third = ports(SCOPE_RULES, 50005);
	char text[SCOPE_TEXT_MAX], name[LIST_NAME_MAX], more[LIST_NAME_MAX + 4];
	struct list_info lists[8];
	size_t added = 0, n;

	begin();
	CHECK(!add(&one, "192.0.2.0", 24, &added) && added == 1 && confirms == 7, "%zu, %ld", added, confirms);
	n = rows(lists);
	CHECK(n == 1 && live_scope_is(&lists[0]) && zeroed == lists[0].label, "%zu lists, counter %u", n, zeroed);
	holds("(tcp-22)", "256");
	zeroed = 0;
	CHECK(!add(&one, "192.0.2.7", 32, &added) && !added, "%zu of none", added);
	CHECK(!add(&one, "198.51.100.0", 24, &added) && added == 1 && !zeroed, "%zu, counter %u", added, zeroed);
	holds("(tcp-22)", "512");
	/* Those that begin alike. */
	ENOUGH(scope_text(text, &first) && strlen(text) > NAME_LETTERS);
	for (char *c = text; *c; c++)
		*c = strchr(LIST_NAME_BYTES, *c) ? *c : '-';
	snprintf(name, sizeof(name), "(%.*s)", NAME_LETTERS, text);
	CHECK(!add(&first, "192.0.2.1", 32, &added) && !add(&second, "192.0.2.2", 31, &added) &&
		      !add(&third, "192.0.2.4", 30, &added) && !add(&second, "192.0.2.8", 31, &added),
	      "it is refused");
	holds(name, "1");
	snprintf(more, sizeof(more), "(%.*s-2)", NAME_LETTERS, text);
	holds(more, "4");
	snprintf(more, sizeof(more), "(%.*s-3)", NAME_LETTERS, text);
	holds(more, "4");
	end();
}

static void refused(void)
{
	struct scope one = ports(1, 22), wide = ports(SCOPE_RULES, 50001);
	size_t added = 0, n;
	struct list_info lists[8];
	int err;

	begin();
	wide.to_n = SCOPE_TO;
	for (size_t i = 0; i < SCOPE_TO; i++) {
		wide.to[i] = prefix("2001:db8:1111:2222:3333:4444:5555:6666", 128);
		wide.to[i].first.num += i;
	}
	wide.on_n = SCOPE_ON;
	for (size_t i = 0; i < SCOPE_ON; i++)
		snprintf(wide.on[i], sizeof(wide.on[i]), "fifteen-lette%02zu", i);
	err = add(&wide, "192.0.2.1", 32, &added);
	CHECK(err_is(err, EINVAL) &&
		      !strcmp(reason(err), "--only, --to and --on have no more than 1023 letters in all"),
	      "%s", reason(err));
	strcpy(waits, "(tcp-22)");
	err = add(&one, "192.0.2.1", 32, &added);
	CHECK(err_is(err, EBUSY), "%s", reason(err));
	n = rows(lists);
	CHECK(!n, "%zu lists", n);
	*waits = '\0';
	CHECK(!add(&one, "192.0.2.1", 32, &added) && !state_list_set_kind(its.state, "(tcp-22)", LIST_SHADOW), "no");
	err = add(&one, "192.0.2.2", 32, &added);
	CHECK(err_is(err, EINVAL) && !strcmp(reason(err), "(tcp-22) only counts: 'xdp-bloom enforce (tcp-22)' first"),
	      "%s", reason(err));
	end();
}

/* What waits is not changed: of all scopes the others are, of one it is said. */
static void taken_out(void)
{
	struct scope one = ports(1, 22), other = ports(1, 80);
	struct prefix p = prefix("192.0.2.0", 31);
	size_t added, from = 7;
	FILE *messages = stderr;
	char *said = NULL;
	size_t size;
	int err;

	begin();
	ENOUGH(!add(&one, "192.0.2.0", 30, &added) && !add(&other, "192.0.2.0", 30, &added));
	CHECK(!live_scopes_del(&its, &other, &p, &from) && from == 1 && !confirms, "%zu lists", from);
	holds("(tcp-22)", "4");
	holds("(tcp-80)", "2");
	p = prefix("192.0.2.2", 32);
	strcpy(waits, "(tcp-22)");
	err = live_scopes_del(&its, &one, &p, &from);
	CHECK(err_is(err, EBUSY) && !from, "%s, %zu lists", reason(err), from);
	stderr = open_memstream(&said, &size);
	err = live_scopes_del(&its, NULL, &p, &from);
	fclose(stderr);
	stderr = messages;
	CHECK(!err && from == 1, "%s, %zu lists", reason(err), from);
	CHECK(strstr(said, "(tcp-22) waits: 192.0.2.2 stays banned for tcp/22\n") &&
		      strstr(said, "192.0.2.2: not banned for tcp/80 any more either\n"),
	      "%s", said);
	free(said);
	holds("(tcp-22)", "4");
	holds("(tcp-80)", "1");
	*waits = '\0';
	p = prefix("198.51.100.1", 32);
	CHECK(!live_scopes_del(&its, NULL, &p, &from) && !from, "%zu lists", from);
	end();
}

static const struct ktap_case cases[] = { { "names", names }, { "refused", refused }, { "taken out", taken_out } };

int main(void)
{
	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
