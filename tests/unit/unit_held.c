// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the service holds of the filter, while commands change it and others damage it: what each look finds and says,
 * and what is there again afterwards; and the same with each call to the kernel failing once.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "base/close_fd.h"
#include "kernel/attach.h"
#include "kernel/held.h"
#include "model_world.h"

static const struct shown known[] = {
#include "unit_held.txt"
};

static struct shows shows = { .file = "tests/unit/unit_held.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

typedef void step_fn(void);
static struct held *held;
static unsigned int looks;

/* Of those before which a call failed, only the last counts: by then it is to be as if it had not. */
static void look(void)
{
	unsigned int found = held_look(held);
	const struct attachment *at;
	bool by_force;

	looks++;
	if (fail_at && looks < 3)
		return;
	printf("look: %u %s\n", found, held_faults(held));
	for (size_t n = 0; (at = held_detached(held, n, &by_force)); n++)
		printf("detached: %s%s\n", at->name, by_force ? ", by force" : "");
}

static void say(const char *what, int err)
{
	if (err || !fail_at)
		printf("%s: %s\n", what, err ? reason(err) : "done");
}

static void close_gap(void)
{
	say("close the gap", held_close_gap(held));
}

static void repair(void)
{
	say("repair", held_repair(held));
}

static void forget(void)
{
	held_forget_detached(held);
}

static void expect_4(void)
{
	held_expect(held, (struct committed){ .number = 4 });
}

static void expect_4_on_trial(void)
{
	held_expect(held, (struct committed){ .number = 4, .on_trial = true });
}

static void expect_3(void)
{
	held_expect(held, (struct committed){ .number = 3 });
}

static int attach(const char *name, int64_t until)
{
	struct attachment at = { .mode = MODE_NATIVE, .until = until };

	snprintf(at.name, sizeof(at.name), "%s", name);
	return attach_one(&model_context, &at);
}

static int eth0(void)
{
	return attach("eth0", 0);
}

static int eth0_trial(void)
{
	return attach("eth0", 1000);
}

static int eth3_7(void)
{
	return attach("eth3.7", 0);
}

static int eth0_shared(void)
{
	struct attachment at = { .name = "eth0", .mode = MODE_NATIVE, .shared = true };

	return attach_one(&model_context, &at);
}

static int detach(void)
{
	return detach_one(&model_context, "eth0", &(struct attach_kept){ 0 });
}

static int confirm(void)
{
	return attach_keep(&model_context);
}

static void on_eth0(void)
{
	quietly(eth0);
}

static void on_two(void)
{
	quietly(eth0);
	quietly(eth3_7);
}

static void on_trial(void)
{
	quietly(eth0_trial);
}

static void shared(void)
{
	quietly(eth0_shared);
}

/* --- What happens --- */

static void another_attached(void)
{
	quietly(eth3_7);
}

static void command_detaches(void)
{
	quietly(detach);
}

static void command_confirms(void)
{
	quietly(confirm);
}

static void unpinned(const char *name)
{
	touched = true;
	if (put_aside(name))
		abort();
}

static void link_unpinned(void)
{
	unpinned("pins/links/eth0");
}

static void shared_unpinned(void)
{
	unpinned("pins/links/eth0%shared");
}

static void slot_unpinned(void)
{
	unpinned("pins/slot");
}

static void some_unpinned(void)
{
	unpinned("pins/counters");
	unpinned("pins/samples");
	unpinned("pins/generation/3/meta");
}

static void all_unpinned(void)
{
	touched = true;
	remove_below("pins");
}

/* In the place of another, by another inode: file systems give those of removed files again. */
static void pin_over(const struct thing *thing, const char *name)
{
	char path[PIN_PATH_MAX];

	touched = true;
	snprintf(path, sizeof(path), "pins/%s", name);
	pin(thing, "new");
	__real_rename("pins/new", path);
}

static void foreign_pinned(void)
{
	pin_over(slot_map, "counters");
}

/* Behind the back of who looks: it has seen what is pinned there, and not yet the file. */
static void foreign_just_then(void)
{
	when_opened.pin = "pins/counters";
	when_opened.times = 2;
	when_opened.then = foreign_pinned;
}

/* Links alone are left. */
static void base_unpinned(void)
{
	static const char *const names[] = { "root",	"slot",		 "counters",	 "list_counters",
					     "samples", "sample_shares", "sample_budget" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "pins/%s", names[i]);
		unpinned(path);
	}
	remove_below("pins/generation");
}

static void foreign_in_slot(void)
{
	memcpy(slot_map->value, &root_program->id, sizeof(root_program->id));
}

static void slot_emptied(void)
{
	slot_map->full = false;
}

static void link_turned(void)
{
	link_on(2)->program = 55;
}

static void link_detached(void)
{
	link_on(2)->ifindex = 0;
}

static void interface_gone(void)
{
	iface_gone(2);
}

static void interface_back(void)
{
	iface_new(8, "eth0");
	quietly(eth0);
}

static void renamed(void)
{
	snprintf(iface_at(2)->name, IF_NAMESIZE, "wan");
}

static void renamed_and_new(void)
{
	renamed();
	iface_new(8, "eth0");
	quietly(eth0);
}

static void renamed_and_shared(void)
{
	renamed();
	iface_new(8, "eth0");
	quietly(eth0_shared);
}

static void behind_taken_out(void)
{
	iface_at(2)->n = 0;
	iface_at(2)->dispatcher = false;
}

static void next_generation(void)
{
	touched = true;
	put_into_slot(generation_new(4, counters_map));
	remove_below("pins/generation/3");
}

/* Not whole: the command was killed before all was pinned. */
static void next_half(void)
{
	touched = true;
	put_into_slot(generation_new(4, counters_map));
	put_aside("pins/generation/4/meta");
}

static void next_pinned_only(void)
{
	touched = true;
	generation_new(4, counters_map);
}

static void trial_begins(void)
{
	touched = true;
	generation_on_trial();
}

/* Before anybody has looked at it. */
static void trial_unpinned(void)
{
	unpinned("pins/generation/4/trial");
}

static void trial_and_term_unpinned(void)
{
	trial_unpinned();
	unpinned("pins/generation/4/term");
}

static void trial_confirmed(void)
{
	struct thing *program = thing_called("bpf-prog-4");

	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == PINNED_PROGRAM && !strcmp(things[i].name, "xdp_bloom_gen"))
			program = &things[i];
	memcpy(slot_map->value, &program->id, sizeof(program->id));
	put_aside("pins/generation/4/trial");
	put_aside("pins/generation/4/term");
}

static void trial_taken_back(void)
{
	memcpy(slot_map->value, &program3->id, sizeof(program3->id));
	remove_below("pins/generation/4");
}

/* Another root of the slot that there is: the interface runs it. */
static void root_again(void)
{
	struct thing *link = link_on(2);

	root_program = thing_new(PINNED_PROGRAM, "xdp_bloom_root");
	program_uses(root_program, slot_map);
	pin_over(root_program, "root");
	if (link)
		link->program = root_program->id;
}

/* Begun anew: all of it is another. */
static void base_again(void)
{
	touched = true;
	slot_map = map_new("slot", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	pin_over(slot_map, "slot");
	root_again();
	put_into_slot(generation_new(4, counters_map));
}

/* The same, but nobody has turned the interface to it. */
static void base_again_unturned(void)
{
	__u32 runs = root_program->id;

	base_again();
	link_on(2)->program = runs;
}

/* An older generation with a base of its own. */
static void base_older(void)
{
	base_again();
	__real_rename("pins/generation/4", "pins/generation/2");
}

/* The root alone is another. What the old one calls, that the interface runs still, is in the same slot. */
static void root_older(void)
{
	__u32 runs = root_program->id;

	root_again();
	link_on(2)->program = runs;
	next_generation();
	__real_rename("pins/generation/4", "pins/generation/2");
}

/* --- Of what is asked about destinations --- */

static struct thing *slot_to;

static void into_slot_to(const struct thing *program)
{
	touched = true;
	memcpy(slot_to->value, &program->id, sizeof(program->id));
	slot_to->full = true;
}

static struct thing *program_to(const char *generation, const char *called)
{
	struct thing *program = thing_new(PINNED_PROGRAM, "xdp_bloom_to");
	char name[64];

	touched = true;
	snprintf(name, sizeof(name), "generation/%s/%s", generation, called);
	pin(program, name);
	return program;
}

static int eth0_to(void)
{
	return attach_one(&model_context,
			  &(struct attachment){ .name = "eth0", .mode = MODE_NATIVE, .match = MATCH_DESTINATION });
}

static void by_destination(void)
{
	slot_to = map_new(match_pins[MATCH_DESTINATION].slot, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);
	into_slot_to(program_to("3", match_pins[MATCH_DESTINATION].program));
	quietly(eth0_to);
}

static void next_to(void)
{
	next_pinned_only();
	into_slot_to(program_to("4", match_pins[MATCH_DESTINATION].program));
}

static void next_to_on_trial(void)
{
	next_pinned_only();
	into_slot_to(program_to("4", match_pins[MATCH_DESTINATION].trial));
}

static void foreign_to(void)
{
	next_pinned_only();
	program_to("4", match_pins[MATCH_DESTINATION].program);
	into_slot_to(root_program);
}

static void emptied_to(void)
{
	slot_to->full = false;
}

/* --- On more interfaces --- */

/* In the other way, too, by an exchange that was cut short; one for what leaves is no second. */
static void attached_by_tc(void)
{
	struct thing *root = thing_new(PINNED_PROGRAM, ROOT_FRAGS), *link = thing_new(PINNED_LINK, "");
	const struct match_pins *pins = &match_pins[MATCH_COMING(MATCH_SOURCE)];

	touched = true;
	program_uses(root, map_new(pins->slot, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1));
	pin(root, pins->root);
	link->ifindex = 2;
	link->program = root->id;
	link->tc = ATTACH_TCX_INGRESS;
	pin(link, "links/eth0%in");
}

static int eth0_leaving(void)
{
	return attach_one(&model_context, &(struct attachment){ .name = "eth0",
								.match = MATCH_LEAVING(MATCH_SOURCE),
								.mode = MODE_TC });
}

static void attached_leaving(void)
{
	quietly(eth0_leaving);
}

/* More than there is room for the names of. */
static const char *const long_names[] = { "a-long-name-no0", "a-long-name-no1", "a-long-name-no2", "a-long-name-no3",
					  "a-long-name-no4", "a-long-name-no5", "a-long-name-no6", "a-long-name-no7",
					  "a-long-name-no8", "a-long-name-no9" };

static int long_one(void)
{
	return attach(ifaces[n_ifaces - 1].name, 0);
}

static void on_many(void)
{
	quietly(eth0);
	for (unsigned int i = 0; i < 10; i++) {
		iface_new(20 + i, long_names[i]);
		quietly(long_one);
	}
}

static void many_turned(void)
{
	for (unsigned int i = 0; i < n_things; i++)
		if (things[i].kind == PINNED_LINK)
			things[i].program = 55;
}

/* An interface may be called like a pin of ours. */
static int like_a_pin(void)
{
	return attach(match_pins[MATCH_DESTINATION].root, 0);
}

static void on_like_a_pin(void)
{
	iface_new(9, match_pins[MATCH_DESTINATION].root);
	quietly(like_a_pin);
}

static void like_a_pin_detached(void)
{
	link_on(9)->ifindex = 0;
}

/* --- What comes in another's place --- */

/* Of the next generation a map is not pinned, which its program uses. */
static void next_without_map(void)
{
	next_generation();
	put_aside("pins/generation/4/gate4");
}

/* Whole, but for a program in the slot of destinations that nobody has pinned. */
static void next_foreign_to(void)
{
	next_generation();
	into_slot_to(thing_new(PINNED_PROGRAM, "foreign"));
}

/* What is to come into force behind the trial is not whole. */
static void trial_without_map(void)
{
	trial_begins();
	put_aside("pins/generation/4/gate4");
}

static void to_unpinned(void)
{
	char name[64];

	snprintf(name, sizeof(name), "pins/generation/3/%s", match_pins[MATCH_DESTINATION].program);
	unpinned(name);
	snprintf(name, sizeof(name), "pins/%s", match_pins[MATCH_DESTINATION].slot);
	unpinned(name);
}

/* One that is attached to nothing, under the name of one that is. */
static void dead_link_pinned(void)
{
	struct thing *link = thing_new(PINNED_LINK, "");

	link->program = root_program->id;
	pin_over(link, "links/eth0");
}

/* What is no link of ours is not held, in the place of one and where there was none. */
static void no_links_pinned(void)
{
	pin_over(slot_map, "links/eth0");
	pin_over(root_program, "links/eth3");
}

static void detached_and_attached(void)
{
	link_on(2)->ifindex = 0;
	unpinned("pins/links/eth0");
	quietly(eth0);
}

/* Nobody asks about destinations any more; then somebody does by another slot and another root. */
static void to_detached(void)
{
	link_on(2)->ifindex = 0;
	unpinned("pins/links/eth0" ATTACH_TO);
}

static void to_again(void)
{
	const struct match_pins *pins = &match_pins[MATCH_DESTINATION];
	struct thing *root, *slot = map_new("slot_new", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1);

	touched = true;
	slot_to = slot;
	pin_over(slot, pins->slot);
	into_slot_to(thing_by_id(PINNED_PROGRAM, program3->id));
	root = thing_new(PINNED_PROGRAM, ROOT_FRAGS);
	program_uses(root, slot);
	pin_over(root, pins->root);
	quietly(eth0_to);
	link_on(2)->program = root->id;
}

/* So many descriptors beyond those that are open already; RLIM_INFINITY: as many as may be. */
static void files_left(rlim_t more)
{
	int first = more == RLIM_INFINITY ? -1 : open("/", O_PATH | O_CLOEXEC);
	struct rlimit may;

	if (getrlimit(RLIMIT_NOFILE, &may))
		abort();
	may.rlim_cur = first < 0 ? may.rlim_max : (rlim_t)first + more;
	close_fd(first);
	if (setrlimit(RLIMIT_NOFILE, &may))
		abort();
}

/* With each number of descriptors for the first look: it sees all or nothing. */
static void look_with_few(void)
{
	unsigned int found = HELD_UNSEEN;

	for (rlim_t more = 0; more < 200 && found; more++) {
		held_close(held);
		if (held_open(&held, &model_context))
			abort();
		files_left(more);
		found = held_look(held);
		if (!more || (found && found != HELD_UNSEEN))
			printf("with %s: %u %s\n", more ? "some" : "none", found, held_faults(held));
		files_left(RLIM_INFINITY);
	}
	printf("with enough: %u\n", found);
}

/* Nothing of what is held is let go, or called gone, for want of one to look with. */
static void look_with_fewer(void)
{
	unsigned int before = 0;

	for (rlim_t more = 0; more < 100; more++) {
		unsigned int found;

		files_left(more);
		found = held_look(held);
		if (found != before)
			printf("%s: %u %s\n", more ? "with more" : "with none", found, held_faults(held));
		before = found;
		files_left(RLIM_INFINITY);
	}
}

/* With many open already: what is held leaves low numbers to others. */
static void look_with_many(void)
{
	int others[FD_SETSIZE / 2], n = 0, taken = 0, high = 0;

	files_left(RLIM_INFINITY);
	do
		others[n] = open("/", O_PATH | O_CLOEXEC);
	while (others[n] >= 0 && others[n] < FD_SETSIZE / 2 - 1 && ++n);
	look();
	for (int fd = FD_SETSIZE / 2; fd < 2 * FD_SETSIZE; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			++*(fd < FD_SETSIZE ? &taken : &high);
	printf("with many: %d below FD_SETSIZE%s\n", taken, high ? ", and others beyond" : "");
	while (n >= 0)
		close_fd(others[n--]);
}

static int script(step_fn *const steps[])
{
	int err;

	touched = true;
	looks = 0;
	err = held_open(&held, &model_context);
	for (size_t i = 0; steps[i] && !err; i++)
		steps[i]();
	held_close(held);
	return err;
}

#define STEPS(name, ...)                                                \
	static int name(void)                                           \
	{                                                               \
		return script((step_fn *const[]){ __VA_ARGS__, NULL }); \
	}

STEPS(quiet, look, look, look)
STEPS(sees_with_few, look_with_few, look)
STEPS(sees_with_many, look_with_many, some_unpinned, look, repair, look)
STEPS(keeps_with_few, look, slot_unpinned, look_with_fewer, look, repair, look)
STEPS(keeps_all_with_few, look, all_unpinned, link_detached, look_with_fewer, look, repair, look)
STEPS(sees_attach, look, another_attached, look, look)
STEPS(sees_detach, look, command_detaches, look, look)
STEPS(forgets_detach, look, command_detaches, look, forget, look, look)
STEPS(sees_confirm, look, command_confirms, look, look)
STEPS(mends_link_pin, look, link_unpinned, look, look, repair, look, look)
STEPS(mends_slot_pin, look, slot_unpinned, look, look, close_gap, repair, look)
STEPS(mends_some, look, some_unpinned, look, look, repair, look)
STEPS(mends_all, look, all_unpinned, look, look, close_gap, repair, look)
STEPS(mends_foreign, look, foreign_pinned, look, look, repair, look)
STEPS(mends_just_then, foreign_just_then, look, look, repair, look)
STEPS(fills_slot, look, foreign_in_slot, look, look, close_gap, look)
STEPS(fills_empty, look, slot_emptied, look, look, close_gap, look, look)
STEPS(fills_unpinned, look, slot_unpinned, slot_emptied, look, look, close_gap, look, repair, look)
STEPS(turns_link, look, link_turned, look, look, close_gap, look)
STEPS(sees_force, look, link_detached, look, look, repair, look)
STEPS(forgets_force, look, link_detached, look, look, forget, look, look)
STEPS(sees_all_go, look, all_unpinned, link_detached, look, look, repair, look)
STEPS(sees_gone, look, interface_gone, look, look)
STEPS(sees_back, look, interface_gone, look, interface_back, look, look)
STEPS(sees_renamed, look, renamed, look, link_detached, look, look)
STEPS(keeps_renamed, look, renamed_and_new, look, look)
STEPS(keeps_renamed_shared, look, shared_unpinned, renamed_and_shared, look, look, repair, look)
STEPS(keeps_unpinned_renamed, look, link_unpinned, renamed_and_new, look, look, repair, look)
STEPS(sees_behind, look, behind_taken_out, look, look)
STEPS(takes_next, look, next_generation, look, look)
STEPS(keeps_from_half, look, next_half, look, look, close_gap, look)
STEPS(not_for_pins, look, next_pinned_only, look, look)
STEPS(takes_trial, look, trial_begins, look, look)
STEPS(takes_confirmed, look, trial_begins, look, trial_confirmed, look, look)
STEPS(takes_back, look, trial_begins, look, trial_taken_back, look, look)
STEPS(mends_trial, look, trial_begins, look, all_unpinned, slot_emptied, look, close_gap, repair, look)
STEPS(keeps_from_unpinned_trial, look, trial_begins, trial_unpinned, expect_4_on_trial, look, close_gap, look, repair,
      look)
STEPS(keeps_from_lost_trial, look, trial_begins, trial_and_term_unpinned, expect_4_on_trial, look, close_gap, look)
STEPS(leaves_unpinned_trial, trial_begins, trial_unpinned, expect_4_on_trial, look, close_gap, repair, look)
STEPS(expects_trial, trial_begins, slot_emptied, expect_4_on_trial, look, look, close_gap, look)
STEPS(takes_base, look, base_again, look, look)
STEPS(turns_to_base, look, base_again_unturned, look, look)
STEPS(not_older, look, base_older, look, look)
STEPS(takes_older, look, command_detaches, base_older, look, look)
STEPS(takes_older_in_slot, look, root_older, look, look, close_gap, look)
STEPS(expects, next_pinned_only, slot_emptied, expect_4, look, look, close_gap, look)
STEPS(expects_none, slot_emptied, expect_4, look, look, close_gap, look)
STEPS(sees_next_to, look, next_to, look, look)
STEPS(sees_trial_to, look, next_to_on_trial, look, look)
STEPS(sees_foreign_to, look, foreign_to, look, look)
STEPS(sees_empty_to, look, emptied_to, look, look)
STEPS(sees_twice, look, attached_by_tc, look, look, link_detached, look, look)
STEPS(sees_leaving, look, attached_leaving, look, look)
STEPS(sees_many, look, many_turned, some_unpinned, look, look)
STEPS(sees_like_a_pin, look, look, like_a_pin_detached, look, look)
STEPS(keeps_from_no_map, look, next_without_map, look, look, close_gap, look)
STEPS(sees_link_alone, base_unpinned, look, link_detached, look)
STEPS(keeps_from_foreign_to, look, next_foreign_to, look, look, close_gap, look)
STEPS(keeps_from_half_trial, look, trial_without_map, look, look, close_gap, look)
STEPS(takes_later, look, by_destination, look, to_unpinned, look, repair, look)
STEPS(keeps_from_dead, look, dead_link_pinned, look, look, repair, look)
STEPS(keeps_from_no_links, look, no_links_pinned, look, look, repair, look)
STEPS(takes_attached_again, look, detached_and_attached, look, look, link_unpinned, look, repair, look)
STEPS(takes_to_again, look, to_detached, look, to_again, look, to_unpinned, look, repair, look)
STEPS(expects_same, look, expect_3, look, slot_emptied, look, close_gap, look)

static const struct happens all[] = {
	{ "what is no link is pinned as one", on_eth0, keeps_from_no_links, EACH_FAILS },
	{ "nothing", on_eth0, quiet, EACH_FAILS },
	{ "nothing, on two", on_two, quiet, ONCE },
	{ "nothing, on trial", on_trial, quiet, ONCE },
	{ "nothing, shared", shared, quiet, ONCE },
	{ "nothing, attached nowhere", NULL, quiet, ONCE },
	{ "another is attached", on_eth0, sees_attach, ONCE },
	{ "one is detached", on_eth0, sees_detach, EACH_FAILS },
	{ "one of two is detached", on_two, sees_detach, ONCE },
	{ "a shared one is detached", shared, sees_detach, ONCE },
	{ "detached, and forgotten", on_two, forgets_detach, ONCE },
	{ "one on trial is confirmed", on_trial, sees_confirm, ONCE },
	{ "a link's pin is gone", on_eth0, mends_link_pin, EACH_FAILS },
	{ "a link's pin is gone, on trial", on_trial, mends_link_pin, ONCE },
	{ "the slot's pin is gone", on_eth0, mends_slot_pin, ONCE },
	{ "some pins are gone", on_eth0, mends_some, ONCE },
	{ "all pins are gone", on_two, mends_all, ONCE },
	{ "all pins are gone, shared", shared, mends_all, ONCE },
	{ "another's pin", on_eth0, mends_foreign, ONCE },
	{ "another's pin, just when it is looked at", on_eth0, mends_just_then, ONCE },
	{ "another's program in the slot", on_eth0, fills_slot, EACH_FAILS },
	{ "the slot is empty", on_eth0, fills_empty, ONCE },
	{ "the slot is empty, and its pin gone", on_eth0, fills_unpinned, ONCE },
	{ "a link runs another's", on_two, turns_link, EACH_FAILS },
	{ "a link runs another's, on trial", on_trial, turns_link, ONCE },
	{ "few descriptors", on_two, sees_with_few, ONCE },
	{ "many descriptors", on_two, sees_with_many, ONCE },
	{ "few descriptors, and the slot's pin is gone", on_two, keeps_with_few, ONCE },
	{ "few descriptors, and all is taken away", on_two, keeps_all_with_few, ONCE },
	{ "detached by force", on_two, sees_force, ONCE },
	{ "detached by force, and nothing else was pinned", on_eth0, sees_link_alone, ONCE },
	{ "detached by force, and forgotten", on_two, forgets_force, ONCE },
	{ "all is taken away", on_two, sees_all_go, ONCE },
	{ "an interface goes", on_two, sees_gone, ONCE },
	{ "an interface goes, and comes back", on_two, sees_back, ONCE },
	{ "an interface goes, and comes back, shared", shared, sees_back, ONCE },
	{ "renamed, then detached", on_two, sees_renamed, ONCE },
	{ "renamed, and another of that name", on_eth0, keeps_renamed, ONCE },
	{ "renamed, unpinned, and another of that name, both shared", shared, keeps_renamed_shared, ONCE },
	{ "renamed, unpinned, and another of that name", on_eth0, keeps_unpinned_renamed, ONCE },
	{ "taken out of the dispatcher", shared, sees_behind, ONCE },
	{ "the next generation", on_eth0, takes_next, ONCE },
	{ "half of the next generation", on_eth0, keeps_from_half, ONCE },
	{ "the next generation is pinned alone", on_eth0, not_for_pins, ONCE },
	{ "a generation on trial", on_eth0, takes_trial, EACH_FAILS },
	{ "a generation on trial, confirmed", on_eth0, takes_confirmed, ONCE },
	{ "a generation on trial, taken back", on_eth0, takes_back, ONCE },
	{ "a generation on trial, all taken away", on_eth0, mends_trial, ONCE },
	{ "a generation on trial, its program unpinned at once", on_eth0, keeps_from_unpinned_trial, ONCE },
	{ "a generation on trial, that and its term", on_eth0, keeps_from_lost_trial, ONCE },
	{ "a generation on trial, unpinned before the first look", on_eth0, leaves_unpinned_trial, ONCE },
	{ "a generation on trial is expected", on_eth0, expects_trial, ONCE },
	{ "another base", on_eth0, takes_base, ONCE },
	{ "another base, and the link on the old one", on_eth0, turns_to_base, EACH_FAILS },
	{ "another base, and one on trial", on_trial, turns_to_base, ONCE },
	{ "another base, older", on_eth0, not_older, ONCE },
	{ "another base, older, and nothing attached", on_eth0, takes_older, ONCE },
	{ "another root, and the slot has an older one", on_eth0, takes_older_in_slot, ONCE },
	{ "what the state has is expected", on_eth0, expects, ONCE },
	{ "what the state has is not pinned", on_eth0, expects_none, ONCE },
	{ "what the state has is in force", on_eth0, expects_same, ONCE },
	{ "the next generation's in the slot of destinations alone", by_destination, sees_next_to, ONCE },
	{ "one on trial in the slot of destinations alone", by_destination, sees_trial_to, ONCE },
	{ "another's program in the slot of destinations", by_destination, sees_foreign_to, ONCE },
	{ "the slot of destinations is empty", by_destination, sees_empty_to, ONCE },
	{ "the next generation, without a map of it", on_eth0, keeps_from_no_map, ONCE },
	{ "the next generation, another's program in the slot of destinations", by_destination, keeps_from_foreign_to,
	  ONCE },
	{ "a generation on trial, without a map of it", on_eth0, keeps_from_half_trial, ONCE },
	{ "destinations are asked about, and their pins go", NULL, takes_later, ONCE },
	{ "a link that is attached to nothing in its place", on_eth0, keeps_from_dead, ONCE },
	{ "detached, and attached again", on_eth0, takes_attached_again, ONCE },
	{ "destinations are asked about anew", by_destination, takes_to_again, ONCE },
	{ "filtered by XDP and by tc", on_eth0, sees_twice, ONCE },
	{ "filtered where it comes in and where it leaves", on_eth0, sees_leaving, ONCE },
	{ "an interface is called like a pin", on_like_a_pin, sees_like_a_pin, ONCE },
	{ "more run another's than there is room to say", on_many, sees_many, ONCE },
};

static void happens(void)
{
	happen_all(all, sizeof(all) / sizeof(all[0]), &shows);
}

int main(void)
{
	return model_run(happens);
}
