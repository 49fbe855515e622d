// SPDX-License-Identifier: GPL-2.0-only
/* fleet join, leave, resync, acl, init and run: taking part in one */
#include <unistd.h>

#include "base/clean_text.h"
#include "base/trusted_dir.h"
#include "base/users.h"
#include "change/change.h"
#include "feeds/fleet.h"
#include "fleet/acl.h"
#include "service/config.h"
#include "state/fleet.h"
#include "verbs/fleet.h"
#include "verbs/verbs.h"

static int name_fault(const char *name)
{
	return fail("fleet: '%s': a member is called by up to %d letters, digits, and ._-", name, MEMBER_NAME_MAX - 1);
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static int take(char *to, size_t size, const char *from, const char *what)
{
	if (strlen(from) >= size || !is_plain(from))
		return because(-EINVAL, "%s '%.80s': up to %zu letters, digits and signs, and no blanks", what, from,
			       size - 1);
	memcpy(to, from, strlen(from) + 1);
	return 0;
}

static int take_say(struct fleet *f, const char *say)
{
	char clean[BAN_REASON_MAX];

	clean_copy(clean, sizeof(clean), say);
	if (!*say || strcmp(clean, say) != 0)
		return because(-EINVAL, "--say '%s': all, add, detector, or how the reasons of those begin that go out",
			       clean);
	memcpy(f->say, clean, sizeof(f->say));
	return 0;
}

/* As the service opens it, from wherever it was started. */
static int take_file(char to[FLEET_FILE_MAX], const char *path, const char *what)
{
	char whole[PATH_MAX];
	int err;

	if (!path)
		return 0;
	if (!realpath(path, whole))
		return because(-errno, "%s: %s", path, strerror(errno));
	if (strlen(whole) >= FLEET_FILE_MAX)
		return because(-ENAMETOOLONG, "%s: its path is too long", path);
	err = trust_file(whole, what);
	if (!err)
		memcpy(to, whole, strlen(whole) + 1);
	return err;
}

static bool speaks(int way, const char *text)
{
	struct fleet_url url;

	return text && !fleet_url_read(&url, text) && (int)url.way == way;
}

/* Of no other server is the kernel asked whose it is. */
static int take_user(struct fleet *f, const struct fleet_verb_options *o)
{
	uid_t uid = 0;
	int err;

	if (!o->server_user)
		return 0;
	if (!speaks(FLEET_TCP, f->url) && !speaks(FLEET_TCP, o->read))
		return because(-EINVAL, "--server-user is for a server on this machine without TLS: redis://127.0.0.1");
	err = user_named(o->server_user, &uid);
	f->server_user = uid;
	return err;
}

static int wanted(struct fleet *f, const struct call *call, const struct fleet_verb_options *o)
{
	const char *fault = fleet_url_fault(call->operands[1]);
	int err;

	*f = (struct fleet){ 0 };
	if (fault)
		return because(-EINVAL, "'%.200s': %s", call->operands[1], fault);
	err = take(f->url, sizeof(f->url), call->operands[1], "the URL") ?:
	      take(f->prefix, sizeof(f->prefix), o->prefix ?: FLEET_PREFIX, "--prefix") ?:
	      take(f->user, sizeof(f->user), o->user ?: "", "--user") ?:
	      take_say(f, o->say ?: FLEET_SAY_ALL) ?:
	      take_file(f->password_file, o->password_file, FLEET_PASSWORD_IS) ?:
	      take_file(f->ca, o->ca, FLEET_CA_IS);
	if (!err && o->ca && !speaks(FLEET_TLS, f->url) && !speaks(FLEET_TLS, o->read))
		return because(-EINVAL, "--ca is for TLS, and '%s' has none: rediss://...", f->url);
	fault = !err && o->read ? fleet_url_fault(o->read) : NULL;
	if (fault)
		return because(-EINVAL, "--read '%.200s': %s", o->read, fault);
	err = err ?: take(f->read, sizeof(f->read), o->read ?: "", "--read") ?: take_user(f, o);
	f->pace = (int64_t)(o->pace.value * 1000 + 0.5);
	fault = err ? NULL : fleet_prefix_fault(f->prefix);
	if (fault)
		return because(-EINVAL, "--prefix '%s': %s", f->prefix, fault);
	snprintf(f->name, sizeof(f->name), "%s", o->as);
	/* Whose keys are its own is called as they are, unless it is said otherwise. */
	if (!err && !*f->user && *f->password_file)
		snprintf(f->user, sizeof(f->user), "%s", f->name);
	return err;
}

/* before: url empty where it had joined none. */
static int join(struct change *change, const struct fleet *after, struct fleet *before, bool *unchanged)
{
	int err = state_fleet(change->state, before);

	*unchanged = !err && fleet_is_same(before, after);
	if (*unchanged || (err && !err_is(err, ENOENT)))
		return *unchanged ? 0 : err;
	return state_fleet_join(change->state, after) ?: change_commit(change, NULL);
}

/* Neither ends by itself, and a member may not take itself out. */
static void say_kept(const struct call *call, const struct fleet *was)
{
	const char *p = was->prefix, *name = was->name;

	if (call->context->quiet || call->context->json)
		return;
	out_line("the server keeps what this machine said as '%s' and its user; to remove both: SREM %smembers %s;"
		 " UNLINK %s%s:log %s%s:now %s%s:why %s%s:head; ACL DELUSER %s",
		 name, p, name, p, name, p, name, p, name, p, name, *was->user ? was->user : name);
}

int fleet_join(const struct call *call, const struct fleet_verb_options *o)
{
	struct change *change = NULL;
	struct fleet after, before;
	int err;

	if (call->n != 2 || !o->as)
		return fail("fleet: join which, and as whom? fleet join redis://HOST --as NAME");
	if (!member_name_is_sound(o->as, false))
		return name_fault(o->as);
	err = wanted(&after, call, o) ?: change_begin(&change, call->context);
	if (!err)
		err = join(change, &after, &before, &call->context->unchanged);
	change_end(change);
	if (!err && *before.url && (strcmp(before.name, after.name) != 0 || strcmp(before.prefix, after.prefix) != 0))
		say_kept(call, &before);
	return err ? fail("fleet: %s; nothing was changed", reason(err)) : out_done(call->context);
}

/* It is read by the service, and says what the machine is to be. */
static bool config_joins(void)
{
	struct config config;
	bool joins = false;

	if (access(CONFIG_DEFAULT, R_OK) || config_read(&config, CONFIG_DEFAULT, verbs))
		return false;
	for (size_t i = 0; i < config.n; i++)
		joins = joins || config_line_joins(&config.lines[i]);
	config_free(&config);
	return joins;
}

int fleet_leave(const struct call *call)
{
	struct change *change = NULL;
	struct fleet before = { 0 };
	int err = call->n == 1 ? change_begin(&change, call->context) : 0;

	if (call->n != 1)
		return fail("fleet: leave takes nothing more");
	err = err ?: state_fleet(change->state, &before) ?: state_fleet_leave(change->state);
	if (err_is(err, ENOENT))
		err = because(-ENOENT, "this machine has joined none");
	err = err ?: change_commit(change, NULL);
	change_end(change);
	if (err)
		return fail("fleet: %s; nothing was changed", reason(err));
	if (!call->context->quiet && !call->context->json)
		out_line("left; what its members have banned stays until it ends (fleet forget MEMBER)");
	say_kept(call, &before);
	if (config_joins())
		warn("a line of %s joins again when the service starts or reads it again: take it out", CONFIG_DEFAULT);
	return out_done(call->context);
}

int fleet_resync(const struct call *call)
{
	const char *member = call->n > 1 ? call->operands[1] : NULL;
	struct change *change = NULL;
	int err;

	if (member && !member_name_is_sound(member, false))
		return name_fault(member);
	err = change_begin(&change, call->context);
	if (!err && !state_joined(change->state))
		err = because(-ENOENT, "this machine has joined none");
	err = err ?:
	      state_fleet_at_drop(change->state, member) ?:
	      (member ? 0 : state_fleet_say_all(change->state)) ?:
	      change_commit(change, NULL);
	change_end(change);
	if (err)
		return fail("fleet: %s; nothing was changed", reason(err));
	if (!call->context->quiet && !call->context->json)
		out_line("%s is read from the beginning%s", member ?: "what every member says",
			 member ? "" : ", and what this machine bans is said again");
	return out_done(call->context);
}

int fleet_print_acl(const struct call *call, const struct fleet_verb_options *o)
{
	const char *prefix = o->prefix ?: FLEET_PREFIX, *fault = fleet_prefix_fault(prefix);

	if (call->n != 2)
		return fail("fleet: acl of which member?");
	if (!member_name_is_sound(call->operands[1], false))
		return name_fault(call->operands[1]);
	if (!strcmp(call->operands[1], "default"))
		return fail(
			"fleet: 'default' is the server's own user, whom such a line would shut out: give the member"
			" another name");
	if (fault)
		return fail("fleet: --prefix '%s': %s", prefix, fault);
	call->context->unchanged = true;
	fleet_acl(stdout, prefix, call->operands[1], NULL);
	return out_end();
}

/* What keeps the keys of a fleet: none of them is ever to go for the want of room. */
int fleet_init(const struct call *call)
{
	static const char *const lines[] = {
		"# in redis.conf or valkey.conf; as commands: CONFIG SET NAME VALUE, and CONFIG REWRITE",
		"maxmemory-policy noeviction",
		"appendonly yes",
		"appendfsync everysec",
		"stream-node-max-entries 100",
		"# A longer text to all who listen would make the server drop all of them.",
		"proto-max-bulk-len 1048576",
		"# Nobody without a password. Not 'user default off': Redis 7 replays its log as that user, and would leave out",
		"# all transactions.",
		"requirepass PASSWORD",
		"aclfile /etc/redis/users.acl",
		"# the members: xdp-bloom fleet acl NAME, once each, and ACL SAVE",
	};

	if (call->n != 1)
		return fail("fleet: init takes nothing more");
	call->context->unchanged = true;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		puts(lines[i]);
	return out_end();
}

int fleet_take_part(const struct call *call)
{
	int err;

	if (call->n != 1)
		return fail("fleet: run takes nothing more");
	if (call->context->line || call->context->joined)
		return fail("fleet: run is no line of a file: the service takes part in the fleet that was joined");
	change_check(call->context, false);
	call->context->unchanged = true;
	err = fleet_run(call->context);
	return err ? fail("fleet: %s", reason(err)) : EXIT_DONE;
}
