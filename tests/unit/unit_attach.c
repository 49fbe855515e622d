// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filter on interfaces, alone and behind libxdp's dispatchers, which few kernels at hand allow: what is attached
 * and pinned afterwards, and what is said; and the same with each call to the kernel failing once.
 */
#include "kernel/attach.h"
#include "kernel/dispatcher.h"
#include "kernel/dispatcher_refresh.h"
#include "kernel/live.h"
#include "kernel/link_header.h"
#include "model_world.h"

static const struct shown known[] = {
#include "unit_attach.txt"
};

static struct shows shows = { .file = "tests/unit/unit_attach.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static unsigned int next_match;

static int attach(const char *name, enum attach_mode mode, bool shared, int64_t until)
{
	struct attachment at = { .mode = mode, .shared = shared, .until = until, .match = next_match };
	int err;

	snprintf(at.name, sizeof(at.name), "%s", name);
	err = attach_one(&model_context, &at);
	if (!err && !fail_at)
		printf("attached as %s: %s%s, until %d\n", at.as, attach_mode_names[at.mode],
		       at.shared ? ", shared" : "", (int)at.until);
	return err;
}

#define ATTACHES(name, ...)                 \
	static int name(void)               \
	{                                   \
		return attach(__VA_ARGS__); \
	}

ATTACHES(eth0, "eth0", MODE_AUTO, false, 0)
ATTACHES(eth0_skb, "eth0", MODE_SKB, false, 0)
ATTACHES(eth0_trial, "eth0", MODE_NATIVE, false, 1000)
ATTACHES(eth0_shared, "eth0", MODE_AUTO, true, 0)
ATTACHES(eth0_shared_skb, "eth0", MODE_SKB, true, 0)
ATTACHES(eth0_shared_trial, "eth0", MODE_AUTO, true, 1000)
ATTACHES(eth1, "eth1", MODE_AUTO, false, 0)
ATTACHES(eth1_native, "eth1", MODE_NATIVE, false, 0)
ATTACHES(eth1_skb, "eth1", MODE_SKB, false, 0)
ATTACHES(eth1_shared, "eth1", MODE_AUTO, true, 0)
ATTACHES(eth1_shared_native, "eth1", MODE_NATIVE, true, 0)
ATTACHES(ppp0, "ppp0", MODE_AUTO, false, 0)
ATTACHES(wg0, "wg0", MODE_AUTO, false, 0)
ATTACHES(wg0_trial, "wg0", MODE_AUTO, false, 1000)
ATTACHES(wg0_shared, "wg0", MODE_AUTO, true, 0)
ATTACHES(eth2, "eth2", MODE_AUTO, false, 0)
ATTACHES(eth2_shared, "eth2", MODE_AUTO, true, 0)
ATTACHES(eth3_7, "eth3.7", MODE_AUTO, false, 0)
ATTACHES(eth9, "eth9", MODE_AUTO, false, 0)
ATTACHES(eth0_at, "eth0@if7", MODE_AUTO, false, 0)
ATTACHES(eth0_comma, "eth0,eth1", MODE_AUTO, false, 0)

static int eth0_both(void)
{
	int err;

	next_match = MATCH_BOTH;
	err = eth0();
	next_match = MATCH_SOURCE;
	return err;
}

static int eth0_shared_both(void)
{
	int err;

	next_match = MATCH_BOTH;
	err = eth0_shared();
	next_match = MATCH_SOURCE;
	return err;
}

static int eth0_tc(void)
{
	int err;

	next_match = MATCH_COMING(MATCH_SOURCE);
	err = attach("eth0", MODE_TC, false, 0);
	next_match = MATCH_SOURCE;
	return err;
}

/* From what it is in. */
static int instead(enum attach_mode mode, bool shared)
{
	struct attachment at, then = { .mode = mode,
				       .shared = shared,
				       .match = mode == MODE_TC ? MATCH_COMING(MATCH_SOURCE) : MATCH_SOURCE };
	int err = attach_is(&model_context, "eth0", &at) ?: attach_instead(&model_context, &at, &then);

	if (!fail_at)
		printf("it is in mode %s%s\n", attach_mode_names[at.mode], at.shared ? ", shared" : "");
	return err;
}

static int instead_tc(void)
{
	return instead(MODE_TC, false);
}

static int instead_skb(void)
{
	return instead(MODE_SKB, false);
}

static int instead_shared(void)
{
	return instead(MODE_NATIVE, true);
}

/* Is it what the root is now? Who was killed in a rematch has left it at another. */
static int turned_eth0(void)
{
	struct attachment at = { .name = "eth0", .as = "eth0", .ifindex = 2, .match = next_match };

	return attach_turned(&model_context, &at);
}

static int rematch_eth0(void)
{
	struct attachment at;
	int err = attach_is(&model_context, "eth0", &at);

	return err ?: attach_rematch(&model_context, &at, at.match == MATCH_BOTH ? MATCH_SOURCE : MATCH_BOTH);
}

/* As restore asks. */
static int settle_eth0(void)
{
	struct attachment kept = { .name = "eth0", .mode = MODE_TC, .match = MATCH_COMING(MATCH_SOURCE) };
	int err = attach_settle(&model_context, &kept, true);
	char path[PIN_PATH_MAX];

	kept.bare = true;
	snprintf(kept.as, sizeof(kept.as), "eth0");
	attachment_path(&model_context, path, &kept);
	if (!fail_at)
		printf("%s %s\n", path, access(path, F_OK) ? "is not there" : "is there");
	return err;
}

static int rename_wan(void)
{
	struct attachment at;
	int err = attach_is(&model_context, "wan", &at);

	return err ?: attach_rename(&model_context, &at);
}

static const char *next_name;

static int next(void)
{
	return attach(next_name, MODE_AUTO, false, 0);
}

static const struct attach_kept nothing_kept;

static int detach_nowhere(void)
{
	return detach_one(&model_context, "nowhere-at-all", &nothing_kept);
}

static int detach_eth0(void)
{
	return detach_one(&model_context, "eth0", &nothing_kept);
}

/* The state has that name, too. */
static int detach_eth0_keeping(const char *name, unsigned int match)
{
	struct attachment is[] = { { .name = "eth1" }, { .match = match } };

	snprintf(is[1].name, sizeof(is[1].name), "%s", name);
	return detach_one(&model_context, "eth0", &(struct attach_kept){ is, 2 });
}

static int detach_eth0_not_wan(void)
{
	return detach_eth0_keeping("wan", MATCH_BOTH);
}

static int detach_eth0_not_egress(void)
{
	return detach_eth0_keeping("wan", MATCH_LEAVING(MATCH_DESTINATION));
}

static int detach_eth0_itself(void)
{
	return detach_eth0_keeping("eth0", MATCH_SOURCE);
}

static int find_eth0_not_wan(void)
{
	return attach_find(&model_context, "eth0", &(struct attach_kept){ &(struct attachment){ .name = "wan" }, 1 });
}

static int detach_wan(void)
{
	return detach_one(&model_context, "wan", &nothing_kept);
}

static int detach_eth9(void)
{
	return detach_one(&model_context, "eth9", &nothing_kept);
}

static int again_eth0(void)
{
	return detach_again(&model_context, "eth0");
}

static int take_back_eth0(void)
{
	return attach_take_back(&model_context, "eth0");
}

static int filters_eth0(void)
{
	return attach_is_filtered(&model_context, "eth0");
}

static int filters_wan(void)
{
	return attach_is_filtered(&model_context, "wan");
}

static int find_eth0(void)
{
	return attach_find(&model_context, "eth0", &nothing_kept);
}

static int list_all(void)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(&model_context, &list, &n);

	for (size_t i = 0; i < n && !fail_at; i++)
		printf("%s as %s, %u %s%s%s%s at %u\n", list[i].name, list[i].as, list[i].set_aside,
		       attach_mode_names[list[i].mode], list[i].shared ? ", shared" : "", list[i].gone ? ", gone" : "",
		       list[i].moved ? ", moved" : "", list[i].ifindex);
	if (fail_at && !err)
		printf("%zu of them\n", n);
	free(list);
	return err;
}

static int list_cut(void)
{
	int err;

	listing_fails = EIO;
	err = list_all();
	listing_fails = 0;
	return err;
}

static int new_root(void)
{
	char path[96];
	struct thing *root = thing_new(PINNED_PROGRAM, "xdp_bloom_frags");
	int fd = open(thing_file(root, path), O_RDWR | O_CREAT | O_CLOEXEC, 0600), err;

	err = attach_new_root(&model_context, MATCH_KINDS, fd);
	close(fd);
	return err;
}

static int keep(void)
{
	return attach_keep(&model_context);
}

static int may_refresh(void)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(&model_context, &list, &n) ?: attach_may_refresh(list, n);

	free(list);
	return err;
}

static int refresh(void)
{
	struct attachment *list;
	size_t n;
	int err = attach_list(&model_context, &list, &n);

	if (!err)
		attach_refresh(&model_context, list, n);
	free(list);
	return err;
}

static int catch_up(void)
{
	attach_catch_up(&model_context);
	return 0;
}

static int where_is_it(void)
{
	return (int)shared_where(2, shared_id("pins/links/eth0%shared"));
}

static int where_is_it_verbose(void)
{
	int where;

	log_settings.verbose = true;
	where = where_is_it();
	log_settings.verbose = false;
	return where;
}

static int is_live(void)
{
	return shared_is_live(&model_context, "pins/links/eth0%shared");
}

/* --- What was before --- */

static void on_eth0(void)
{
	quietly(eth0);
}

static void on_trial(void)
{
	quietly(eth0_trial);
}

static void on_two(void)
{
	quietly(eth1);
	quietly(eth0);
}

static void shared(void)
{
	quietly(eth0_shared);
}

/* Another's program is there first, and one comes behind. */
static void others(void)
{
	struct iface *at = iface_at(2);

	at->dispatcher = true;
	at->behind[at->n++] = 90;
	quietly(eth0_shared);
	at->behind[at->n++] = 91;
}

static void others_skb(void)
{
	struct iface *at = iface_at(2);

	at->dispatcher = at->skb = true;
	at->behind[at->n++] = 90;
}

static void no_freplace(void)
{
	freplace = false;
}

static void renamed(void)
{
	quietly(eth0);
	snprintf(iface_at(2)->name, IF_NAMESIZE, "wan");
}

static void renamed_and_new(void)
{
	renamed();
	iface_new(8, "eth0");
}

/* What was called wan before is still pinned as that. */
static void two_renamed(void)
{
	renamed();
	snprintf(iface_at(3)->name, IF_NAMESIZE, "eth0");
	quietly(eth0);
	snprintf(iface_at(2)->name, IF_NAMESIZE, "eth1");
	snprintf(iface_at(3)->name, IF_NAMESIZE, "wan");
	quietly(rename_wan);
	snprintf(iface_at(3)->name, IF_NAMESIZE, "lan");
	snprintf(iface_at(2)->name, IF_NAMESIZE, "wan");
}

static void renamed_on_trial(void)
{
	quietly(eth0_trial);
	snprintf(iface_at(2)->name, IF_NAMESIZE, "wan");
}

/* Another, which is filtered for good, has its name. */
static void swapped_on_trial(void)
{
	renamed_on_trial();
	quietly(eth1);
	snprintf(iface_at(3)->name, IF_NAMESIZE, "eth0");
}

static void shared_renamed(void)
{
	quietly(eth0_shared);
	snprintf(iface_at(2)->name, IF_NAMESIZE, "wan");
}

static void shared_renamed_and_new(void)
{
	shared_renamed();
	iface_new(8, "eth0");
}

static void moved(void)
{
	quietly(eth0);
	iface_at(2)->elsewhere = true;
}

static void moved_and_new(void)
{
	moved();
	iface_new(8, "eth0");
}

/* In each of two network namespaces an interface has that number. */
static void moved_and_same_number(void)
{
	moved();
	link_on(2)->away = true;
	iface_new(2, "eth0");
}

static void on_many(void)
{
	static const char *const names[] = { "a-rather-long-1", "a-rather-long-2", "a-rather-long-3",
					     "a-rather-long-4", "a-rather-long-5", "a-rather-long-6" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		iface_new(20 + i, names[i]);
		next_name = names[i];
		quietly(next);
	}
}

static void gone(void)
{
	quietly(eth0);
	iface_gone(2);
}

static void gone_and_new(void)
{
	gone();
	iface_new(8, "eth0");
}

static void shared_gone_and_new(void)
{
	quietly(eth0_shared);
	iface_gone(2);
	iface_new(8, "eth0");
}

static void foreign_took_over(void)
{
	quietly(eth0);
	link_on(2)->program = 55;
}

static void without_root(void)
{
	touched = true;
	put_aside("pins/root");
}

static void foreign_root(void)
{
	touched = true;
	put_aside("pins/root");
	pin(slot_map, "root");
}

static void old_frags_root(void)
{
	snprintf(root_program->name, sizeof(root_program->name), "xdp_bloom_frags");
}

static void nothing_in_force(void)
{
	slot_map->full = false;
}

/* Another is in force, and the pins behind dispatchers are of the one before. */
static void next_generation(void)
{
	put_into_slot(generation_new(4, counters_map));
}

static void shared_then_next(void)
{
	others();
	next_generation();
}

/* The exchange was cut short: both run, and the old one is pinned. */
static void cut_short(void)
{
	struct iface *at = iface_at(2);
	struct thing *new;

	others();
	next_generation();
	__real_mkdir("pins/links/eth0%shared%exchange", 0700);
	new = thing_new(PINNED_PROGRAM, "xdp_bloom_gen");
	new->n_maps = n_uses;
	memcpy(new->maps, uses, sizeof(uses));
	at->behind[at->n++] = new->id;
	pin(new, "links/eth0%shared%new");
}

/* The new one is pinned, the old one runs still. */
static void cut_short_later(void)
{
	cut_short();
	put_aside("pins/links/eth0%shared");
	__real_rename("pins/links/eth0%shared%new", "pins/links/eth0%shared");
}

/* Ours, without a pin. */
static void left_behind(void)
{
	others();
	put_aside("pins/links/eth0%shared");
}

/* Of another instance, which has counters of its own. */
static void another_instance(void)
{
	struct thing *theirs = thing_new(PINNED_PROGRAM, "xdp_bloom_gen");
	struct thing *counters = thing_new(PINNED_MAP, "counters");

	left_behind();
	program_uses(theirs, counters);
	iface_at(2)->behind[iface_at(2)->n++] = theirs->id;
}

static void all_kinds(void)
{
	quietly(eth3_7);
	quietly(eth1);
	quietly(eth0_shared);
	snprintf(iface_at(6)->name, IF_NAMESIZE, "vlan");
	iface_new(9, "lan");
	pin(link_on(3), "links/x%link12");
	pin(slot_map, "links/no.name");
}

/* Its frames are larger than a page. */
static void too_large(void)
{
	iface_at(3)->native = ERANGE;
}

/* It is a veth that receives on one queue, of that many; its other end sends from two. */
static void veth_of(unsigned int queues)
{
	iface_at(3)->native = ENOSPC;
	iface_at(3)->queues = queues;
}

static void queues_in_use(void)
{
	veth_of(2);
}

static void no_queues(void)
{
	veth_of(1);
}

static void not_so(void)
{
	iface_at(3)->native = EINVAL;
}

static void no_freplace_any_more(void)
{
	quietly(eth0);
	freplace = false;
}

/* Neither what is wanted instead is possible any more, nor what was. */
static void no_way_back(void)
{
	quietly(eth0);
	freplace = false;
	iface_at(2)->native = EIO;
}

static void another_root(void)
{
	quietly(eth0);
	link_on(2)->program = program3->id;
}

static void by_tc(void)
{
	quietly(eth0_tc);
}

/* A version before read its packets from the frame on. */
static void by_tc_framed(void)
{
	quietly(eth0_tc);
	iface_at(2)->kind = "vxlan";
}

/* What has no Ethernet header: of which kind, what it is called, and with which kernel; of a gre how it was made.
 * Owners of tun and tap say what they like. */
static int headers(void)
{
	static const struct {
		const char *kind;
		int hardware;
	} links[] = { { "tun", ARPHRD_NONE },	   { "wireguard", ARPHRD_NONE }, { "ipip", ARPHRD_TUNNEL },
		      { "sit", ARPHRD_SIT },	   { "gre", ARPHRD_IPGRE },	 { "ip6tnl", ARPHRD_TUNNEL6 },
		      { "ip6gre", ARPHRD_IP6GRE }, { "vti", ARPHRD_TUNNEL },	 { "gre", ARPHRD_NONE },
		      { "", ARPHRD_ETHER },	   { "", ARPHRD_LOOPBACK },	 { "tun", ARPHRD_ETHER },
		      { "tun", ARPHRD_PPP },	   { "tap", ARPHRD_NONE },	 { "tap", ARPHRD_ETHER },
		      { "netkit", ARPHRD_ETHER },  { "vxlan", ARPHRD_ETHER } };
	static const struct {
		short flags;
		const char *text;
	} made[] = { { IFF_POINTOPOINT, "" },
		     { IFF_NOARP, " without a far end" },
		     { IFF_POINTOPOINT | IFF_BROADCAST, " to many" } };
	static const unsigned int kernels[] = { KERNEL_VERSION(5, 13, 19), KERNEL_VERSION(5, 14, 0) };
	struct attachment at = { .name = "it0" }, fit;
	struct iface *is = iface_new(9, at.name);

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		for (unsigned int way = 0; way < (links[i].hardware == ARPHRD_IPGRE ? 24 : 8); way++) {
			const unsigned int how = way % 4, k = way / 4 % 2, m = way / 8;
			bool bare = false;
			int err;

			is->kind = links[i].kind;
			is->hardware = links[i].hardware;
			is->flags = made[m].flags;
			kernel_is = kernels[k];
			at.shared = how == 1;
			at.match = how == 2   ? MATCH_LEAVING(MATCH_SOURCE)
				   : how == 3 ? MATCH_COMING(MATCH_SOURCE)
					      : MATCH_SOURCE;
			err = link_header(&at, &bare);
			fit = at;
			link_fit(&fit);
			printf("%s%s%s%s%s: %s%s%s\n", links[i].kind, made[m].text, k ? "" : ", old",
			       at.shared ? ", shared" : "",
			       how == 2	  ? ", leaving"
			       : how == 3 ? ", tc"
					  : "",
			       err ? reason(err) : "may", bare ? ", bare" : "",
			       fit.match != at.match && fit.mode == MODE_TC ? "; it is to be tc" : "");
		}
	kernel_is = KERNEL_VERSION(6, 12, 0);
	return 0;
}

static const struct happens all[] = {
	{ "attach eth0", NULL, eth0, BY_EACH_ERRNO },
	{ "attach eth0 --mode skb", NULL, eth0_skb, EACH_FAILS },
	{ "attach eth0, on trial", NULL, eth0_trial, EACH_FAILS },
	{ "attach eth0 --match both", NULL, eth0_both, EACH_FAILS },
	{ "attach eth0 --match both --shared", NULL, eth0_shared_both, EACH_FAILS },
	{ "attach eth0 --match both, which is attached", on_eth0, rematch_eth0, EACH_FAILS },
	{ "attach eth0 --match both, which is on trial", on_trial, rematch_eth0, EACH_FAILS },
	{ "rename", renamed, rename_wan, EACH_FAILS },
	{ "rename, another is pinned under that name", two_renamed, rename_wan, EACH_FAILS },
	{ "rename, shared", shared_renamed, rename_wan, EACH_FAILS },
	{ "rename, on trial", renamed_on_trial, rename_wan, EACH_FAILS },
	{ "attach eth0 --mode tc", NULL, eth0_tc, EACH_FAILS },
	{ "attach eth0 --mode tc, which is attached", on_eth0, instead_tc, EACH_FAILS },
	{ "attach eth0 --mode skb, which is attached", on_eth0, instead_skb, EACH_FAILS },
	{ "attach eth0 --mode skb, which is on trial", on_trial, instead_skb, EACH_FAILS },
	{ "attach eth0 --mode skb, which is attached by tc", by_tc, instead_skb, EACH_FAILS },
	{ "restore eth0, attached by tc", by_tc, settle_eth0, ONCE },
	{ "restore eth0, attached by tc as if it had a header", by_tc_framed, settle_eth0, EACH_FAILS },
	{ "attach eth0 --shared, which is attached by tc", by_tc, instead_shared, EACH_FAILS },
	{ "attach eth0 --shared", NULL, eth0_shared, BY_EACH_ERRNO },
	{ "attach eth0 --shared --mode skb", NULL, eth0_shared_skb, EACH_FAILS },
	{ "attach eth0 --shared, on trial", NULL, eth0_shared_trial, EACH_FAILS },
	{ "attach eth0 --shared, while a generation is on trial", generation_on_trial, eth0_shared, EACH_FAILS },
	{ "attach eth0 --shared, on trial, while a generation is", generation_on_trial, eth0_shared_trial, EACH_FAILS },
	{ "attach eth0 --shared, nothing in force", nothing_in_force, eth0_shared, EACH_FAILS },
	{ "attach eth0 --shared, frags", old_frags_root, eth0_shared, EACH_FAILS },
	{ "attach eth0 --shared, without freplace", no_freplace, eth0_shared, EACH_FAILS },
	{ "attach eth0, others are there by skb", others_skb, eth0, EACH_FAILS },
	{ "attach eth0 --shared, others are there by skb", others_skb, eth0_shared, EACH_FAILS },
	{ "attach eth0 twice", on_eth0, eth0, EACH_FAILS },
	{ "attach eth0 --shared twice", shared, eth0_shared, EACH_FAILS },
	{ "attach eth0 --shared, attached alone", on_eth0, eth0_shared, EACH_FAILS },
	{ "attach eth1, which has no native mode", NULL, eth1, EACH_FAILS },
	{ "attach eth1 --mode native", NULL, eth1_native, EACH_FAILS },
	{ "attach eth1 --shared", NULL, eth1_shared, EACH_FAILS },
	{ "attach eth1 --shared --mode native", NULL, eth1_shared_native, EACH_FAILS },
	{ "attach eth1 --shared, without freplace", no_freplace, eth1_shared, EACH_FAILS },
	{ "attach eth1 --mode native, its packets are too large", too_large, eth1_native, ONCE },
	{ "attach eth1 --mode native, its driver refuses it", not_so, eth1_native, ONCE },
	{ "attach eth1, its other end sends from more queues", queues_in_use, eth1, EACH_FAILS },
	{ "attach eth1, its other end sends from more queues than there are", no_queues, eth1, EACH_FAILS },
	{ "attach eth1 --mode native, its other end sends from more queues", queues_in_use, eth1_native, ONCE },
	{ "attach eth1 --mode native, its other end sends from more queues than there are", no_queues, eth1_native,
	  ONCE },
	{ "attach eth1 --mode skb, its other end sends from more queues", queues_in_use, eth1_skb, ONCE },
	{ "attach eth1 --shared, its other end sends from more queues", queues_in_use, eth1_shared, EACH_FAILS },
	{ "attach eth1 --shared, its other end sends from more queues than there are", no_queues, eth1_shared, ONCE },
	{ "attach eth0 --shared, which is attached, without freplace", no_freplace_any_more, instead_shared,
	  EACH_FAILS },
	{ "attach eth0 --shared, which is attached, and there is no way back", no_way_back, instead_shared, ONCE },
	{ "attach ppp0", NULL, ppp0, EACH_FAILS },
	{ "attach wg0", NULL, wg0, EACH_FAILS },
	{ "attach wg0 on trial", NULL, wg0_trial, EACH_FAILS },
	{ "attach wg0 --shared", NULL, wg0_shared, EACH_FAILS },
	{ "attach eth2, which has another's program", NULL, eth2, EACH_FAILS },
	{ "attach eth2 --shared", NULL, eth2_shared, EACH_FAILS },
	{ "attach eth3.7", NULL, eth3_7, EACH_FAILS },
	{ "attach eth9, which is not there", NULL, eth9, EACH_FAILS },
	{ "attach eth0@if7", NULL, eth0_at, ONCE },
	{ "attach eth0,eth1", NULL, eth0_comma, ONCE },
	{ "turned", on_eth0, turned_eth0, EACH_FAILS },
	{ "turned, at another root", another_root, turned_eth0, EACH_FAILS },
	{ "turned, on trial", on_trial, turned_eth0, EACH_FAILS },
	{ "turned, where nothing is attached", NULL, turned_eth0, EACH_FAILS },
	{ "attach eth0 without a root", without_root, eth0, EACH_FAILS },
	{ "attach eth0 with another's root", foreign_root, eth0, EACH_FAILS },
	{ "attach eth0, which was renamed, and is new", renamed_and_new, eth0, BY_EACH_ERRNO },
	{ "attach eth0 --shared, which was renamed, and is new", shared_renamed_and_new, eth0_shared, EACH_FAILS },
	{ "attach eth0, which was moved, and is new", moved_and_new, eth0, EACH_FAILS },
	{ "attach eth0, which was moved, and is new with its number", moved_and_same_number, eth0, ONCE },
	{ "detach what is not there, of many", on_many, detach_nowhere, ONCE },
	{ "attach eth0, which went, and is new", gone_and_new, eth0, EACH_FAILS },
	{ "attach eth0 --shared, which went, and is new", shared_gone_and_new, eth0_shared, EACH_FAILS },
	{ "detach eth0", on_eth0, detach_eth0, BY_EACH_ERRNO },
	{ "detach eth0, of two", on_two, detach_eth0, EACH_FAILS },
	{ "detach eth0, shared with others", others, detach_eth0, BY_EACH_ERRNO },
	{ "detach eth0, moved", moved, detach_eth0, EACH_FAILS },
	{ "detach eth0, gone", gone, detach_eth0, EACH_FAILS },
	{ "detach eth0, renamed", renamed, detach_eth0, EACH_FAILS },
	{ "detach eth0, renamed, and a new one", renamed_and_new, detach_eth0, EACH_FAILS },
	{ "detach eth0, renamed, and kept by that name", renamed, detach_eth0_not_wan, EACH_FAILS },
	{ "detach eth0, renamed, and kept by that name for what leaves", renamed, detach_eth0_not_egress, ONCE },
	{ "detach eth0, shared, renamed, and kept by that name", shared_renamed, detach_eth0_not_wan, EACH_FAILS },
	{ "detach eth0, renamed on trial, and kept by that name", renamed_on_trial, detach_eth0_not_wan, EACH_FAILS },
	{ "detach eth0, which is kept", on_eth0, detach_eth0_itself, ONCE },
	{ "detach eth0, moved, and kept", moved, detach_eth0_itself, ONCE },
	{ "detach wan, renamed", renamed, detach_wan, EACH_FAILS },
	{ "detach wan, shared and renamed", shared_renamed, detach_wan, EACH_FAILS },
	{ "detach eth9", on_two, detach_eth9, EACH_FAILS },
	{ "detach eth0, where nothing is attached", NULL, detach_eth0, EACH_FAILS },
	{ "detach again, where nothing is attached", NULL, again_eth0, EACH_FAILS },
	{ "detach again", on_eth0, again_eth0, BY_EACH_ERRNO },
	{ "detach again, renamed", renamed, again_eth0, EACH_FAILS },
	{ "detach eth0, left with the exchange cut short", cut_short, detach_eth0, EACH_FAILS },
	{ "take back", on_eth0, take_back_eth0, EACH_FAILS },
	{ "take back, renamed", renamed, take_back_eth0, EACH_FAILS },
	{ "take back, renamed on trial", renamed_on_trial, take_back_eth0, EACH_FAILS },
	{ "take back, renamed on trial, and another has its name", swapped_on_trial, take_back_eth0, EACH_FAILS },
	{ "take back, shared and renamed", shared_renamed, take_back_eth0, EACH_FAILS },
	{ "take back, of two", on_two, take_back_eth0, EACH_FAILS },
	{ "take back, left behind", left_behind, take_back_eth0, EACH_FAILS },
	{ "take back, another instance", another_instance, take_back_eth0, EACH_FAILS },
	{ "take back, nothing", NULL, take_back_eth0, EACH_FAILS },
	{ "is it filtered", on_eth0, filters_eth0, EACH_FAILS },
	{ "is it filtered, of nothing", NULL, filters_eth0, EACH_FAILS },
	{ "is it filtered, gone", gone, filters_eth0, EACH_FAILS },
	{ "is it filtered, moved", moved, filters_eth0, EACH_FAILS },
	{ "is it filtered, renamed", renamed, filters_eth0, EACH_FAILS },
	{ "is it filtered, renamed to wan", renamed, filters_wan, EACH_FAILS },
	{ "find", renamed, find_eth0, EACH_FAILS },
	{ "find, renamed, and kept by that name", renamed, find_eth0_not_wan, ONCE },
	{ "list", all_kinds, list_all, BY_EACH_ERRNO },
	{ "list, cut short", on_two, list_cut, ONCE },
	{ "list, moved", moved_and_new, list_all, EACH_FAILS },
	{ "list, gone", gone, list_all, EACH_FAILS },
	{ "list, another's program", foreign_took_over, list_all, EACH_FAILS },
	{ "list, shared and renamed", shared_renamed_and_new, list_all, EACH_FAILS },
	{ "new root", on_two, new_root, EACH_FAILS },
	{ "new root, on trial", on_trial, new_root, EACH_FAILS },
	{ "new root, shared", shared, new_root, EACH_FAILS },
	{ "new root, gone", gone, new_root, EACH_FAILS },
	{ "keep", on_trial, keep, EACH_FAILS },
	{ "keep without a root", without_root, keep, EACH_FAILS },
	{ "may refresh", shared_then_next, may_refresh, EACH_FAILS },
	{ "may refresh, alone", on_two, may_refresh, EACH_FAILS },
	{ "refresh", shared_then_next, refresh, BY_EACH_ERRNO },
	{ "refresh, renamed", shared_renamed, refresh, EACH_FAILS },
	{ "refresh, alone", on_two, refresh, EACH_FAILS },
	{ "catch up", shared_then_next, catch_up, EACH_FAILS },
	{ "catch up, nothing to do", others, catch_up, EACH_FAILS },
	{ "catch up, cut short", cut_short, catch_up, EACH_FAILS },
	{ "catch up, cut short later", cut_short_later, catch_up, EACH_FAILS },
	{ "catch up, alone", on_two, catch_up, EACH_FAILS },
	{ "where is it", shared, where_is_it, EACH_FAILS },
	{ "where is it, by the words of libxdp", shared, where_is_it_verbose, ONCE },
	{ "where is it, renamed", shared_renamed_and_new, where_is_it, EACH_FAILS },
	{ "where is it, gone", shared_gone_and_new, where_is_it, EACH_FAILS },
	{ "is it live", others, is_live, EACH_FAILS },
	{ "is it live, no more", shared_then_next, is_live, EACH_FAILS },
	{ "is it live, nothing in force", nothing_in_force, is_live, EACH_FAILS },
	{ "headers of each kind", NULL, headers, ONCE },
};

/* What stands in a pin's place again and again is no filter that is attached already. */
static void no_filter_in_its_place(void)
{
	static int (*const attaching[])(void) = { eth0, eth0_trial, wg0, wg0_trial, eth3_7 };

	for (size_t i = 0; i < sizeof(attaching) / sizeof(attaching[0]); i++) {
		int err;

		world_new();
		pins_refused = EEXIST;
		err = attaching[i]();
		pins_refused = 0;
		CHECK(err_is(err, EBUSY), "%zu: %s", i, reason(err));
	}
}

static void happens(void)
{
	no_filter_in_its_place();
	happen_all(all, sizeof(all) / sizeof(all[0]), &shows);
}

int main(void)
{
	return model_run(happens);
}
