// SPDX-License-Identifier: GPL-2.0-only
/* guards: what this machine needs, which no ban may hit unawares */
#include "change/change.h"
#include "change/jail.h"
#include "change/own_addresses.h"
#include "kernel/ask.h"
#include "kernel/live.h"
#include "state/grants.h"
#include "verbs/verbs.h"

#define PORT_WANTS "the number of a TCP port, 1 to 65535"

struct options {
	struct number port, no_port;
};

const struct option_spec guards_options[] = {
	{ "port", .type = OPTION_WHOLE, AT(options, port), .value = "PORT", .least = 1, .most = TCP_PORTS - 1,
	  .does = "guard whoever is connected to this TCP port, too", .wants = PORT_WANTS },
	{ "no-port", .type = OPTION_WHOLE, AT(options, no_port), .value = "PORT", .least = 1, .most = TCP_PORTS - 1,
	  .does = "no longer", .wants = PORT_WANTS },
	OPTIONS_END(struct options),
};

static int set_ports(const struct call *call)
{
	const struct options *o = call->options;
	struct change *change = NULL;
	int err = change_begin(&change, call->context);

	if (!err)
		change_bans_less(change);
	if (!err && o->port.given)
		err = state_guard_port(change->state, (unsigned int)o->port.value, true);
	if (!err && o->no_port.given)
		err = state_guard_port(change->state, (unsigned int)o->no_port.value, false);
	if (!err)
		err = change_commit(change, NULL);
	change_end(change);
	return err ? fail("guards: %s; nothing was changed", reason(err)) : out_done(call->context);
}

struct shown {
	struct state *state;
	struct live live;
	struct own_address *own;
	size_t n;
	bool *ports;
	struct ranges jailed; /* whom the detector bans */
};

static bool is_dropped(const struct shown *s, const struct own_address *own)
{
	return live_drops(&s->live, own->addr) || ranges_covering(&s->jailed, own->addr) >= 0;
}

static json_t *need_json(struct shown *s, const struct own_address *own)
{
	char text[PREFIX_TEXT_MAX];

	return json_pack("{s:s, s:s, s:o, s:b, s:b}", "address", prefix_text(text, own->addr, -1), "what", own->what,
			 "where", out_text(own->where), "dropped", is_dropped(s, own), "granted",
			 state_granted(s->state, own->addr) != 0);
}

static int show_json(const struct context *context, struct shown *s)
{
	json_t *needs = json_array(), *ports = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(needs, need_json(s, &s->own[i]));
	for (int port = 1; port < TCP_PORTS; port++)
		if (s->ports[port])
			json_array_append_new(ports, json_integer(port));
	return out_json(context, json_pack("{s:o, s:o}", "needs", needs, "ports", ports));
}

static int show_text(struct shown *s)
{
	if (s->n)
		printf("%-39s  %-7s  %s\n", "ADDRESS", "DROPPED", "WHAT");
	for (size_t i = 0; i < s->n; i++) {
		const struct own_address *own = &s->own[i];
		char text[PREFIX_TEXT_MAX], what[OWN_TEXT_MAX];
		const char *dropped = !is_dropped(s, own)		   ? "no"
				      : state_granted(s->state, own->addr) ? "granted"
									   : "yes";

		out_line("%-39s  %-7s  %s", prefix_text(text, own->addr, -1), dropped, own_text(what, own));
	}
	for (int port = 1; port < TCP_PORTS; port++)
		if (s->ports[port])
			printf("whoever is connected to TCP port %d\n", port);
	return out_end();
}

int verb_guards(const struct call *call)
{
	const struct options *o = call->options;
	struct shown s = { .live.meta = -1 };
	int err, status;

	if (o->port.given || o->no_port.given)
		return set_ports(call);
	s.ports = calloc(TCP_PORTS, sizeof(*s.ports));
	err = s.ports ? state_open(&s.state, call->context, false) : -ENOMEM;
	err = err ?: state_guarded_ports(s.state, s.ports) ?: own_addresses(s.state, false, NULL, NULL, &s.own, &s.n) ?: jail_set(call->context, &s.jailed);
	if (err) {
		status = fail("%s", reason(err));
	} else {
		live_open(&s.live, call->context);
		status = call->context->json ? show_json(call->context, &s) : show_text(&s);
		live_close(&s.live);
	}
	state_close(s.state);
	ranges_free(&s.jailed);
	free(s.ports);
	free(s.own);
	return status;
}
