// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>

#include "bpf/abi.h"
#include "base/label.h"
#include "base/out.h"
#include "kernel/ask.h"
#include "kernel/attachment.h"
#include "observe/packet.h"
#include "observe/tallies.h"

static char *time_text(char buf[64], int64_t ns, const char *format, bool utc)
{
	time_t seconds = ns / 1000000000;
	struct tm tm;
	size_t n;

	n = strftime(buf, 64, format, utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm));
	snprintf(buf + n, 64 - n, ".%06d%s", (int)(ns % 1000000000 / 1000), utc ? "Z" : "");
	return buf;
}

static json_t *port_json(int port)
{
	return port < 0 ? json_null() : json_integer(port);
}

static json_t *addr_json(struct addr addr)
{
	char text[PREFIX_TEXT_MAX];

	return addr.family ? json_string(prefix_text(text, addr, -1)) : json_null();
}

static int print_json(const struct context *context, const struct sample *s, const struct packet_origin *from)
{
	struct packet p;
	char when[64], protocol[16];

	packet_sampled(&p, s);
	return out_json(context,
			json_pack("{s:s, s:o, s:s, s:s, s:o, s:s?, s:s?, s:b, s:o, s:o, s:s, s:o, s:o, s:I}", "time",
				  time_text(when, (int64_t)s->time + from->clock_ahead, "%Y-%m-%dT%H:%M:%S", true),
				  "interface", out_text(from->interface), "direction",
				  direction_names[!from->passed && p.out], "verdict",
				  verdict_names[from->passed ? PASSED : DROPPED], "list",
				  from->list ? json_string(from->list) : json_null(), "stage",
				  from->passed ? NULL : answer_stage(s->answer), "match",
				  from->passed ? NULL
				  : p.to       ? "destination"
					       : "source",
				  "inner", !from->passed && p.inner, "source", addr_json(p.source), "destination",
				  addr_json(p.destination), "protocol", packet_protocol(p.protocol, protocol),
				  "source_port", port_json(p.source_port), "destination_port",
				  port_json(p.destination_port), "bytes", (json_int_t)s->length));
}

static void end_text(char *buf, size_t size, struct addr addr, int port)
{
	char text[PREFIX_TEXT_MAX];

	if (!addr.family)
		snprintf(buf, size, "-");
	else if (port < 0)
		snprintf(buf, size, "%s", prefix_text(text, addr, -1));
	else
		snprintf(buf, size, addr.family == 6 ? "[%s]:%d" : "%s:%d", prefix_text(text, addr, -1), port);
}

static int print_text(const struct sample *s, const struct packet_origin *from)
{
	char when[64], protocol[16], source[96], destination[96], label[LABEL_MAX];
	struct packet p;

	packet_sampled(&p, s);
	end_text(source, sizeof(source), p.source, p.source_port);
	end_text(destination, sizeof(destination), p.destination, p.destination_port);
	printf("%s %-8s %-16s %-6s %s > %s %s %u%s\n",
	       time_text(when, (int64_t)s->time + from->clock_ahead, "%H:%M:%S", false),
	       label_of(label, from->interface, !from->passed && p.out ? MATCH_LEAVING(0) : 0),
	       from->list ? from->list : "-", from->passed ? "passed" : answer_stage(s->answer), source, destination,
	       packet_protocol(p.protocol, protocol), s->length, !from->passed && p.inner ? " inner" : "");
	return out_end();
}

int packet_line(const struct context *context, const struct sample *s, const struct packet_origin *from)
{
	return context->json ? print_json(context, s, from) : print_text(s, from);
}
