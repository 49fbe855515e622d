// SPDX-License-Identifier: GPL-2.0-only
#include "observe/unfiltered.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/other_name.h"
#include "bpf/abi.h"
#include "kernel/dispatcher.h"
#include "kernel/link_header.h"
#include "kernel/port.h"

bool is_filtered(const struct attachment *on, size_t n, const char *name, unsigned int match)
{
	char own[IF_NAMESIZE];

	if (is_other_name(name, own))
		name = own;
	for (size_t i = 0; i < n; i++)
		if (!on[i].gone && !on[i].moved && !strcmp(on[i].name, name) &&
		    MATCH_LEAVES(on[i].match) == MATCH_LEAVES(match))
			return true;
	return false;
}

/* It has another name by now, or is in another network namespace. */
static bool is_elsewhere(const struct attachment *on, size_t n, const char *name, unsigned int match)
{
	for (size_t i = 0; i < n; i++)
		if (!on[i].gone && !strcmp(on[i].as, name) && MATCH_LEAVES(on[i].match) == MATCH_LEAVES(match))
			return true;
	return false;
}

/* Another's program: who is behind a dispatcher makes room. */
static void find_busy(const char *name, char why[NATIVE_TEXT_MAX])
{
	struct port port;

	if (!port_look(&port, name) && (port.program ? !shared_is_there((int)port.ifindex) : port.above_filtered))
		port_busy(&port, why);
}

/* As attaching it would say, as far as that can be told without. */
static void find_why(const struct context *context, const char *name, unsigned int match, struct unfiltered *is)
{
	struct attachment at = { .match = match };
	const char *text;
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	link_fit(&at);
	is->missing = !if_nametoindex(name);
	err = is->missing ? 0 : attach_may(context, &at);
	if (!err && !is->missing && !MATCH_BY_TC(at.match))
		find_busy(name, is->why);
	if (!err || err_is(err, EEXIST))
		return;
	text = reason(err);
	if (!strncmp(text, name, strlen(name)) && !strncmp(text + strlen(name), ": ", 2))
		text += strlen(name) + 2;
	snprintf(is->why, sizeof(is->why), "%s", text);
}

bool unfiltered(const struct context *context, const struct attachment *on, size_t n, const char *name,
		unsigned int match, const char *of, struct unfiltered *is)
{
	if (is_filtered(on, n, name, match))
		return false;
	*is = (struct unfiltered){ 0 };
	label_of(is->label, name, match);
	snprintf(is->of, sizeof(is->of), "%s", of ?: "");
	find_why(context, name, match, is);
	return !is->missing || !is_elsewhere(on, n, name, match);
}

const char *unfiltered_text(char text[UNFILTERED_TEXT_MAX], const struct unfiltered *is)
{
	snprintf(text, UNFILTERED_TEXT_MAX, "%s%s%s%s is to be filtered, and is not: %s", is->label,
		 is->of[0] ? ", a port of " : "", is->of, is->of[0] ? "," : "",
		 is->missing  ? "there is no such interface"
		 : is->why[0] ? is->why
			      : "'restore' attaches it, or says why not");
	return text;
}
