// SPDX-License-Identifier: GPL-2.0-only
/* The name of an attachment's pin, and the attachment that it names. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/label.h"
#include "kernel/attachment.h"
#include "ktap.h"

static struct context context = CONTEXT_DEFAULT;

static const struct {
	const char *as, *file;
	unsigned int set_aside;
	bool shared, bare;
	unsigned int match;
} known[] = {
	{ "eth0", "eth0", 0, false, false, 0 },
	{ "eth0", "eth0%shared", 0, true, false, 0 },
	{ "eth0", "eth0%link7", 7, false, false, 0 },
	{ "eth0", "eth0%link4294967295%shared", 4294967295u, true, false, 0 },
	{ "eth0.100", "eth0%2e100", 0, false, false, 0 },
	{ "a%b.c", "a%25b%2ec%shared", 0, true, false, 0 },
	{ "...............", "%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e%2e", 0, false, false, 0 },
	{ ".", "%2e%link12", 12, false, false, 0 },
	{ "fifteen-letters", "fifteen-letters", 0, false, false, 0 },
	{ "link", "link", 0, false, false, 0 },
	{ "%link1", "%25link1", 0, false, false, 0 },
	{ "%shared", "%25shared%shared", 0, true, false, 0 },
	{ "x", "x", 0, false, false, 0 },
	{ "wg0", "wg0%ip", 0, false, true, 0 },
	{ "sit.6", "sit%2e6%link9%ip", 9, false, true, 0 },
	{ "%ip", "%25ip%ip", 0, false, true, 0 },
	{ "ip", "ip", 0, false, false, 0 },
	{ "eth1", "eth1%to", 0, false, false, MATCH_DESTINATION },
	{ "eth1", "eth1%link7%or", 7, false, false, MATCH_BOTH },
	{ "wg0.1", "wg0%2e1%link9%to%ip", 9, false, true, MATCH_DESTINATION },
	{ "%to", "%25to%or%shared", 0, true, false, MATCH_BOTH },
	{ "to", "to", 0, false, false, 0 },
	{ "eth1", "eth1%out", 0, false, false, MATCH_LEAVING(MATCH_DESTINATION) },
	{ "eth1.7", "eth1%2e7%outfrom", 0, false, false, MATCH_LEAVING(MATCH_SOURCE) },
	{ "%out", "%25out%link7%outor", 7, false, false, MATCH_LEAVING(MATCH_BOTH) },
	{ "eth1", "eth1%in", 0, false, false, MATCH_COMING(MATCH_SOURCE) },
	{ "eth1.7", "eth1%2e7%into%ip", 0, false, true, MATCH_COMING(MATCH_DESTINATION) },
	{ "%in", "%25in%link7%inor", 7, false, false, MATCH_COMING(MATCH_BOTH) },
	{ "out", "out", 0, false, false, 0 },
};

static void there_and_back(void)
{
	char path[PIN_PATH_MAX], wanted[PIN_PATH_MAX];

	context.bpffs = "/sys/fs/bpf/some";
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct attachment at = { .set_aside = known[i].set_aside,
					 .shared = known[i].shared,
					 .bare = known[i].bare,
					 .match = known[i].match },
				  back;

		snprintf(at.as, sizeof(at.as), "%s", known[i].as);
		attachment_path(&context, path, &at);
		snprintf(wanted, sizeof(wanted), "%s/%s/%s", context.bpffs, PIN_LINKS, known[i].file);
		CHECK(!strcmp(path, wanted), "%s: %s, not %s", known[i].as, path, wanted);
		memset(&back, 1, sizeof(back)); /* true, of a bool */
		CHECK(attachment_of_pin(known[i].file, &back) && !strcmp(back.as, known[i].as) &&
			      !strcmp(back.name, known[i].as) && back.set_aside == known[i].set_aside &&
			      back.shared == known[i].shared && back.bare == known[i].bare &&
			      back.match == known[i].match && !back.gone && !back.moved && !back.ifindex && !back.until,
		      "%s: %s, %u, %d", known[i].file, back.as, back.set_aside, back.shared);
	}
}

/* A label says which of an interface's two it is. */
static void labels(void)
{
	static const char *const names[] = { "eth0", "egress", "fifteen-letters", "%out", "%in" };
	char label[LABEL_MAX], other[LABEL_MAX], name[IF_NAMESIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (unsigned int kind = 0; kind < MATCH_KINDS; kind++) {
			label_of(label, names[i], kind);
			CHECK(label_split(label, name) == MATCH_LEAVES(kind) && !strcmp(name, names[i]),
			      "'%s' is of '%s'", label, name);
			for (unsigned int of = 0; of < MATCH_KINDS; of++)
				CHECK(label_is(label, names[i], of) == (MATCH_LEAVES(of) == MATCH_LEAVES(kind)),
				      "'%s' and kind %u", label, of);
			CHECK(!label_ports(label), "'%s' is of ports", label);
			label_of_ports(other, names[i], kind);
			CHECK(label_ports(other) && label_split(other, name) == MATCH_LEAVES(kind) &&
				      !strcmp(name, names[i]),
			      "'%s' is of '%s'", other, name);
			label_of(other, names[!i], kind);
			CHECK(strcmp(label, other) != 0, "'%s' twice", label);
		}
	CHECK(!strcmp(label_of(label, "eth0", MATCH_LEAVING(0)), "eth0 egress"), "'%s'", label);
}

static void none_of_ours(void)
{
	static const char *const files[] = {
		"",
		".",
		"..",
		".eth0",
		"%shared",
		"%link7",
		"eth0%link",
		"eth0%link0",
		"eth0%linkx",
		"eth0%link7x",
		"eth0%link7%",
		"eth0%link7%share",
		"eth0%zz",
		"eth0%",
		"%ip",
		"eth0%ip%shared",
		"%to",
		"eth0%to%or",
		"eth0%shared%to",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct attachment at;

		CHECK(!attachment_of_pin(files[i], &at), "'%s' is '%s'", files[i], at.as);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "there and back", there_and_back },
		{ "labels", labels },
		{ "none of ours", none_of_ours },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
