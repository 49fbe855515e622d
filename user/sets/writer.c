// SPDX-License-Identifier: GPL-2.0-only
#include "sets/writer.h"

#include <string.h>

#include "sets/ranges.h"

struct place {
	FILE *out;
	const char *name;
	size_t written; /* of this family */
};

struct format {
	const char *name;
	/* Either is NULL: a set is written by prefixes or by ranges. */
	void (*prefix)(struct place *place, struct addr first, unsigned int length);
	void (*range)(struct place *place, struct addr lo, struct addr hi);
	/* Around the entries of one family; not called for one that has none. */
	void (*before)(struct place *place, int family, size_t count);
	void (*after)(struct place *place);
	const char *head, *tail;
	bool only4;
};

static void print_addr(FILE *out, struct addr addr, int length)
{
	char buf[PREFIX_TEXT_MAX];

	fputs(prefix_text(buf, addr, length), out);
}

static void plain_prefix(struct place *place, struct addr first, unsigned int length)
{
	print_addr(place->out, first, (int)length);
	fputc('\n', place->out);
}

static void netmask_prefix(struct place *place, struct addr first, unsigned int length)
{
	struct addr mask = { .family = 4, .num = (uint32_t)~addr_mask(4, first.family == 4 ? length : 0) };

	if (first.family != 4) {
		plain_prefix(place, first, length);
		return;
	}
	print_addr(place->out, first, -1);
	fputc('/', place->out);
	print_addr(place->out, mask, -1);
	fputc('\n', place->out);
}

static void range_dash(FILE *out, struct addr lo, struct addr hi)
{
	print_addr(out, lo, -1);
	fputc('-', out);
	print_addr(out, hi, -1);
}

static void range_range(struct place *place, struct addr lo, struct addr hi)
{
	range_dash(place->out, lo, hi);
	fputc('\n', place->out);
}

static void p2p_range(struct place *place, struct addr lo, struct addr hi)
{
	fprintf(place->out, "%s:", place->name);
	range_range(place, lo, hi);
}

static void print_padded(FILE *out, struct addr addr)
{
	unsigned int num = (unsigned int)addr.num;

	fprintf(out, "%03u.%03u.%03u.%03u", num >> 24, num >> 16 & 0xff, num >> 8 & 0xff, num & 0xff);
}

static void dat_range(struct place *place, struct addr lo, struct addr hi)
{
	print_padded(place->out, lo);
	fputs(" - ", place->out);
	print_padded(place->out, hi);
	fprintf(place->out, " , 000 , %s\n", place->name);
}

static void csv_range(struct place *place, struct addr lo, struct addr hi)
{
	fprintf(place->out, "%d,", lo.family);
	range_range(place, lo, hi);
}

static void json_prefix(struct place *place, struct addr first, unsigned int length)
{
	fputs(place->written++ ? ",\n\"" : "\n\"", place->out);
	print_addr(place->out, first, (int)length);
	fputc('"', place->out);
}

static void ipset_before(struct place *place, int family, size_t count)
{
	fprintf(place->out, "create %s%s hash:net family inet%s maxelem %zu\n", place->name, family == 4 ? "" : "6",
		family == 4 ? "" : "6", count < 65536 ? 65536 : count + 1);
}

static void ipset_prefix(struct place *place, struct addr first, unsigned int length)
{
	if (!length) {
		ipset_prefix(place, first, 1);
		first.num = addr_mask(first.family, 1) + 1;
		length = 1;
	}
	fprintf(place->out, "add %s%s ", place->name, first.family == 4 ? "" : "6");
	plain_prefix(place, first, length);
}

static void nft_before(struct place *place, int family, size_t count)
{
	(void)count;
	place->written = 0;
	fprintf(place->out, "\tset %s%s {\n\t\ttype ipv%d_addr\n\t\tflags interval\n\t\telements = {", place->name,
		family == 4 ? "" : "6", family);
}

static void nft_range(struct place *place, struct addr lo, struct addr hi)
{
	fputs(place->written++ ? ",\n\t\t\t     " : " ", place->out);
	if (lo.num == hi.num)
		print_addr(place->out, lo, -1);
	else
		range_dash(place->out, lo, hi);
}

static void nft_after(struct place *place)
{
	fputs(" }\n\t}\n", place->out);
}

static const struct format formats[] = {
	{ .name = "plain", .prefix = plain_prefix },
	{ .name = "netmask", .prefix = netmask_prefix },
	{ .name = "range", .range = range_range },
	{ .name = "p2p", .range = p2p_range, .only4 = true },
	{ .name = "dat", .range = dat_range, .only4 = true },
	{ .name = "csv", .range = csv_range, .head = "family,addresses\n" },
	{ .name = "json", .prefix = json_prefix, .head = "[", .tail = "\n]\n" },
	{ .name = "ipset", .prefix = ipset_prefix, .before = ipset_before },
	{ .name = "nft",
	  .range = nft_range,
	  .before = nft_before,
	  .after = nft_after,
	  .head = "table inet xdp_bloom {\n",
	  .tail = "}\n" },
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

const char *writer_formats(void)
{
	static char names[128];

	names[0] = '\0';
	for (size_t i = 0; i < FORMATS; i++) {
		strcat(names, i ? " " : "");
		strcat(names, formats[i].name);
	}
	return names;
}

static size_t prefixes4(const struct ranges *set, writer_prefix_fn *each, void *arg)
{
	size_t count = 0;

	for (size_t i = 0; i < set->n4; i++) {
		struct cut4 cut = { .lo = set->v4[i].lo, .hi = set->v4[i].hi };

		for (; range4_next_prefix(&cut); count++)
			if (each)
				each((struct addr){ cut.first, 4 }, cut.length, arg);
	}
	return count;
}

static size_t prefixes6(const struct ranges *set, writer_prefix_fn *each, void *arg)
{
	size_t count = 0;

	for (size_t i = 0; i < set->n6; i++) {
		struct cut6 cut = { .lo = set->v6[i].lo, .hi = set->v6[i].hi };

		for (; range6_next_prefix(&cut); count++)
			if (each)
				each((struct addr){ cut.first, 6 }, cut.length, arg);
	}
	return count;
}

size_t writer_prefixes(const struct ranges *set, writer_prefix_fn *each, void *arg)
{
	return prefixes4(set, each, arg) + prefixes6(set, each, arg);
}

struct printing {
	const struct format *format;
	struct place place;
};

static void print_prefix(struct addr first, unsigned int length, void *arg)
{
	struct printing *printing = arg;

	printing->format->prefix(&printing->place, first, length);
}

static void print_family(struct printing *printing, const struct ranges *set, int family)
{
	const struct format *format = printing->format;
	struct place *place = &printing->place;
	size_t count = family == 4 ? set->n4 : set->n6;

	if (!count)
		return;
	if (format->before)
		format->before(place, family, family == 4 ? prefixes4(set, NULL, NULL) : prefixes6(set, NULL, NULL));
	if (format->prefix && family == 4)
		prefixes4(set, print_prefix, printing);
	else if (format->prefix)
		prefixes6(set, print_prefix, printing);
	for (size_t i = 0; i < count && format->range; i++) {
		ip6 lo = family == 4 ? set->v4[i].lo : set->v6[i].lo, hi = family == 4 ? set->v4[i].hi : set->v6[i].hi;

		format->range(place, (struct addr){ lo, family }, (struct addr){ hi, family });
	}
	if (format->after)
		format->after(place);
}

const char *writer_write(FILE *out, const struct ranges *set, const char *format, const char *name)
{
	struct printing printing = { .place = { .out = out, .name = name } };

	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i].name, format))
			printing.format = &formats[i];
	if (!printing.format)
		return "there is no such format";
	if (printing.format->only4 && set->n6)
		return "this format has no IPv6 addresses";
	if (printing.format->head)
		fputs(printing.format->head, out);
	print_family(&printing, set, 4);
	print_family(&printing, set, 6);
	if (printing.format->tail)
		fputs(printing.format->tail, out);
	return NULL;
}
