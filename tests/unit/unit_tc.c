// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of tc on interfaces, by links of tcx and by filters of clsact: what is attached, found by a pin, turned and
 * detached, also where interfaces have other names by now; and what is said where the kernel refuses. What the kernel
 * cannot say is an error, and not that there is none. The kernel is a table here (made_pins.h).
 */
#include <linux/version.h>
#include <net/if.h>

#include "made_pins.h"

#include "kernel/attachment.h"
#include "kernel/host.h"
#include "kernel/tc.h"

static const struct shown known_texts[] = {
#include "unit_tc.txt"
};

static struct shows shows = { .file = "tests/unit/unit_tc.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static const struct context own_context = { .bpffs = "P" };

#define FILTERS_ONLY KERNEL_VERSION(5, 10, 0)
#define WITH_TCX     KERNEL_VERSION(6, 6, 0)
static unsigned int kernel;

/* What leaves, and what comes in. */
enum { OUT, IN };

static struct {
	const char *name;
	bool clsact, other_kind; /* another kind of filter is where ours would be */
	struct made_map *filter[2];
	__u32 first[4]; /* of what leaves, by tcx */
	__u32 n;
} links[4];
static size_t links_n;

static bool pin_vanishes; /* when the filter is put there */

/* A program is known by its place, and so is a link, which names one: in `flags`, and its interface in `type`. */
static __u32 id_of(const struct made_map *is)
{
	return 100 + (__u32)(is - made_maps);
}

static struct made_map *program(const char *name)
{
	struct made_map *is = made_new(name, 0, 4, 4, 1);

	is->program = is->old = true;
	return is;
}

static void link_is(const char *name, bool clsact)
{
	links[links_n].name = name;
	links[links_n++].clsact = clsact;
}

static unsigned int given_number(const char *name)
{
	for (size_t i = 0; i < links_n; i++)
		if (!strcmp(links[i].name, name))
			return (unsigned int)i + 1;
	return 0;
}

static struct if_nameindex *given_all(void)
{
	static struct if_nameindex all[5];
	static char names[4][IF_NAMESIZE];

	if (fails("if_nameindex"))
		return NULL;
	memset(all, 0, sizeof(all));
	for (size_t i = 0; i < links_n; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", links[i].name);
		all[i] = (struct if_nameindex){ (unsigned int)i + 1, names[i] };
	}
	return all;
}

static void given_free(struct if_nameindex *all)
{
	(void)all;
}

static __u32 given_kernel(void)
{
	return kernel;
}

static int given_query(const struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	size_t i = (size_t)hook->ifindex - 1;
	const struct made_map *is;

	if (fails("bpf_tc_query"))
		return -errno;
	if (opts->handle != 0x786462 || opts->priority != 1)
		abort();
	if (i >= links_n)
		return -ENODEV;
	if (!links[i].clsact || links[i].other_kind)
		return -EINVAL;
	is = links[i].filter[hook->attach_point == BPF_TC_EGRESS ? OUT : IN];
	if (!is)
		return -ENOENT;
	opts->prog_id = id_of(is);
	return 0;
}

static int given_create(struct bpf_tc_hook *hook)
{
	size_t i = (size_t)hook->ifindex - 1;

	if (fails("bpf_tc_hook_create"))
		return -errno;
	if (i >= links_n)
		return -ENODEV;
	if (links[i].clsact)
		return -EEXIST;
	does("clsact of %s", links[i].name);
	links[i].clsact = true;
	return 0;
}

static int given_attach(const struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	bool leaves = hook->attach_point == BPF_TC_EGRESS;
	size_t i = (size_t)hook->ifindex - 1;

	if (fails("bpf_tc_attach"))
		return -errno;
	if (opts->handle != 0x786462 || opts->priority != 1 || opts->flags != BPF_TC_F_REPLACE)
		abort();
	if (links[i].other_kind)
		return -EINVAL;
	does("filter of %s, %s: %s", links[i].name, leaves ? "egress" : "ingress", made_text(opts->prog_fd));
	links[i].filter[leaves ? OUT : IN] = made_of(opts->prog_fd);
	made_pins_n -= pin_vanishes;
	return 0;
}

static int given_detach(const struct bpf_tc_hook *hook, const struct bpf_tc_opts *opts)
{
	bool leaves = hook->attach_point == BPF_TC_EGRESS;
	size_t i = (size_t)hook->ifindex - 1;

	if (fails("bpf_tc_detach"))
		return -errno;
	if (opts->handle != 0x786462 || opts->priority != 1 || opts->prog_fd || opts->prog_id || opts->flags)
		abort();
	does("no filter of %s, %s", links[i].name, leaves ? "egress" : "ingress");
	links[i].filter[leaves ? OUT : IN] = NULL;
	return 0;
}

static int given_by_id(__u32 id)
{
	if (fails("bpf_prog_get_fd_by_id"))
		return -errno;
	return made_fd(&made_maps[id - 100]);
}

static int given_pinned(int fd, struct pinned *is)
{
	struct made_map *of = made_of(fd);

	*is = (struct pinned){ 0 };
	if (fails("pinned_info"))
		return -errno;
	if (of->program)
		is->kind = PINNED_PROGRAM;
	else if (of->flags)
		is->kind = PINNED_LINK;
	is->id = id_of(of);
	is->program = of->program ? is->id : of->flags;
	is->ifindex = of->program ? 0 : of->type;
	memcpy(is->name, of->name, sizeof(is->name) - 1);
	return 0;
}

static int given_link(int root, int ifindex, enum bpf_attach_type type, const struct bpf_link_create_opts *opts)
{
	struct made_map *is;

	if (fails("bpf_link_create"))
		return -errno;
	does("link of %s by %d, flags %u: %s", links[ifindex - 1].name, (int)type, opts->flags, made_text(root));
	is = made_new("link", 0, 4, 4, 1);
	is->flags = id_of(made_of(root));
	is->type = (__u32)ifindex;
	return made_fd(is);
}

static int given_update_link(int link, int root, const struct bpf_link_update_opts *opts)
{
	if (opts)
		abort();
	if (fails("bpf_link_update"))
		return -errno;
	does("%s turns to %s", made_text(link), made_text(root));
	return 0;
}

static int given_detach_link(int link)
{
	if (fails("bpf_link_detach"))
		return -errno;
	does("%s is detached", made_text(link));
	return 0;
}

static int given_programs(int ifindex, enum bpf_attach_type type, struct bpf_prog_query_opts *opts)
{
	if (fails("bpf_prog_query_opts"))
		return -errno;
	if ((size_t)ifindex > links_n) {
		errno = ENODEV;
		return -errno;
	}
	does("programs of %s by %d", links[ifindex - 1].name, (int)type);
	memcpy(opts->prog_ids, links[ifindex - 1].first, sizeof(links[0].first));
	opts->prog_cnt = links[ifindex - 1].n;
	return 0;
}

static int given_rename(const char *from, const char *to)
{
	size_t at = made_pin_at(from), old = made_pin_at(to);

	if (fails("rename"))
		return -1;
	does("rename %s to %s", from, to);
	made_pins[old].is = made_pins[at].is;
	made_pins_n--;
	return 0;
}

static int given_because(int err, const char *what)
{
	return because(err, "%s: it is refused (%s)", what, errno_text(err));
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	(void)key;
}

static void put_value(const struct made_map *map, const void *value)
{
	(void)map;
	(void)value;
}

#define pin_directory				   given_directory
#define pin_next				   given_next
#define access					   given_access
#define unlink					   given_unlink
#define rename					   given_rename
#define close					   given_close
#define bpf_obj_get				   given_obj_get
#define bpf_obj_pin				   given_obj_pin
#define pinned_info				   given_pinned
#define because_kernel				   given_because
#define host_kernel				   given_kernel
#define if_nametoindex				   given_number
#define if_nameindex()				   given_all()
#define if_freenameindex			   given_free
#define bpf_tc_query				   given_query
#define bpf_tc_hook_create			   given_create
#define bpf_tc_attach				   given_attach
#define bpf_tc_detach				   given_detach
#define bpf_prog_get_fd_by_id			   given_by_id
#define bpf_prog_query_opts(ifindex, type, opts)   given_programs(ifindex, type, opts)
#define bpf_link_create(root, ifindex, type, opts) given_link(root, ifindex, type, opts)
#define bpf_link_update				   given_update_link
#define bpf_link_detach				   given_detach_link

#include "kernel/tc.c"

#undef close
#undef unlink
#undef access
#undef rename

static const struct attachment leaves0 = { .name = "eth0", .as = "eth0", .match = MATCH_LEAVING(MATCH_DESTINATION) };
static const struct attachment comes0 = { .name = "eth0", .as = "eth0", .match = MATCH_COMING(MATCH_SOURCE) };

static struct made_map *root, *next;

static void begin(void)
{
	made_pins_begin();
	kernel = FILTERS_ONLY;
	memset(links, 0, sizeof(links));
	links_n = 0;
	pin_vanishes = false;
	root = program(ROOT_BEGINS "out");
	next = program(ROOT_BEGINS "next");
	link_is("eth0", true);
}

static const char *path_of(const struct attachment *at)
{
	static char path[PIN_PATH_MAX];

	attachment_path(&own_context, path, at);
	return path;
}

/* --- What there is --- */

static void no_clsact(void)
{
	links[0].clsact = false;
}

static void other_kind(void)
{
	links[0].other_kind = true;
}

static void filtered(void)
{
	links[0].filter[OUT] = root;
	made_pin(path_of(&leaves0), root);
}

static void coming(void)
{
	links[0].filter[IN] = root;
	made_pin(path_of(&comes0), root);
}

static void anothers(void)
{
	filtered();
	links[0].filter[OUT] = program("cilium");
}

static void unfiltered(void)
{
	filtered();
	links[0].filter[OUT] = NULL;
}

static void clsact_is_gone(void)
{
	filtered();
	links[0].clsact = false;
}

static void renamed(void)
{
	filtered();
	links[0].name = "wan0";
	link_is("lan0", false);
}

/* And another has its name. */
static void renamed_and_taken(void)
{
	renamed();
	link_is("eth0", true);
}

static void set_aside(void)
{
	renamed_and_taken();
	links[2].filter[OUT] = root;
}

/* Two of them, of which each pin has one; a third has kept its name. */
static void two_renamed(void)
{
	struct attachment other = leaves0;

	renamed();
	strcpy(other.as, "eth1");
	made_pin(path_of(&other), root);
	strcpy(other.as, "eth2");
	made_pin(path_of(&other), root);
	/* Of another direction, no pin of ours, and one of XDP. */
	made_pin(path_of(&comes0), root);
	made_pin("P/links/%zz", root);
	made_pin("P/links/eth9", root);
	link_is("eth2", true);
	link_is("wan1", true);
	links[2].filter[OUT] = links[3].filter[OUT] = root;
}

static void is_link(void)
{
	struct made_map *link = made_new("link", 1, 4, 4, 1);

	kernel = WITH_TCX;
	link->flags = id_of(root);
	link->old = true;
	made_pin(path_of(&leaves0), link);
	links[0].first[0] = id_of(root);
	links[0].n = 1;
}

static void behind_others(void)
{
	is_link();
	links[0].first[0] = 7;
	links[0].first[1] = 8;
	links[0].first[2] = id_of(root);
	links[0].n = 3;
}

static void of_others(void)
{
	behind_others();
	links[0].n = 2;
}

static void interface_is_gone(void)
{
	is_link();
	links_n = 0;
}

static void vanishes(void)
{
	pin_vanishes = true;
}

static void by_link(void)
{
	kernel = WITH_TCX;
}

/* --- What is asked for --- */

static void put_pins(void)
{
	for (size_t i = 0; i < made_pins_n; i++)
		printf(" %s is %s\n", made_pins[i].path, made_pins[i].is->name);
}

static int attach_to(const struct attachment *at)
{
	int fd = made_fd(root), err = tc_attach(at, 1, fd, path_of(at));

	given_close(fd);
	put_pins();
	return err;
}

static int attach_leaves(void)
{
	return attach_to(&leaves0);
}

static int attach_comes(void)
{
	return attach_to(&comes0);
}

static int runs_id(__u32 id)
{
	struct attachment at = leaves0;
	unsigned int behind = 9;
	bool runs = true;
	int err;

	at.ifindex = 1;
	err = tc_runs(&at, id, &runs, &behind);
	printf(" %s, behind %u\n", runs ? "it runs" : "it does not run", behind);
	return err;
}

static int runs(void)
{
	return runs_id(id_of(root));
}

static int runs_none(void)
{
	return runs_id(0);
}

static int look(const struct attachment *at, unsigned int where)
{
	int fd = given_obj_get(path_of(at)), err;
	struct pinned now;

	if (fd < 0)
		return fd;
	err = attachment_runs(&own_context, at, fd, where, &now);
	if (!err && now.kind == PINNED_PROGRAM)
		printf(" %u on %u, which is %s\n", now.program, now.ifindex,
		       now.ifindex ? links[now.ifindex - 1].name : "none");
	else if (!err)
		printf(" a link of %u to %u\n", now.ifindex, now.program);
	given_close(fd);
	return err;
}

static int look_at(void)
{
	return look(&leaves0, 0);
}

static int look_at_comes(void)
{
	return look(&comes0, 0);
}

static int look_there(void)
{
	return look(&leaves0, 1);
}

static int look_at_second(void)
{
	struct attachment other = leaves0;

	strcpy(other.as, "eth1");
	return look(&other, 0);
}

static int look_at_aside(void)
{
	struct attachment aside = leaves0;

	aside.set_aside = id_of(root);
	made_pin(path_of(&aside), root);
	return look(&aside, 0);
}

static int turn_there(unsigned int where)
{
	int fd = given_obj_get(path_of(&leaves0)), to = made_fd(next), err;

	err = fd < 0 ? fd : attachment_turn(&own_context, &leaves0, fd, where, to);
	if (fd >= 0)
		given_close(fd);
	given_close(to);
	put_pins();
	return err;
}

static int turn(void)
{
	return turn_there(0);
}

static int turn_known(void)
{
	return turn_there(1);
}

static int turn_xdp(void)
{
	static const struct attachment xdp = { .name = "eth0", .as = "eth0" };
	int fd = made_fd(next), err = attachment_turn(&own_context, &xdp, fd, 0, fd);

	given_close(fd);
	return err;
}

static int detach_at_number(unsigned int ifindex)
{
	struct attachment at = leaves0;
	int fd = given_obj_get(path_of(&at)), err;

	if (fd < 0)
		return fd;
	at.ifindex = ifindex;
	err = attachment_detach(&own_context, &at, fd);
	given_close(fd);
	return err;
}

static int detach(void)
{
	return detach_at_number(0);
}

static int detach_known(void)
{
	return detach_at_number(1);
}

static int detach_xdp(void)
{
	static const struct attachment xdp = { .name = "eth0", .as = "eth0" };
	int fd = made_fd(next), err = attachment_detach(&own_context, &xdp, fd);

	given_close(fd);
	return err;
}

static void word_for_word(void)
{
	static const int errnos[] = { ENOMEM, ENOENT, EINVAL, ENODEV, EOPNOTSUPP, EEXIST, ERANGE };
	static const struct scenario all[] = {
		{ "attach, without clsact", no_clsact, attach_leaves, BY_EACH_ERRNO },
		{ "attach, with clsact", NULL, attach_leaves, BY_EACH_ERRNO },
		{ "attach what comes in", NULL, attach_comes, EACH_FAILS },
		{ "attach, in the place of one without its pin", filtered, attach_leaves, ONCE },
		{ "attach, another kind is there", other_kind, attach_leaves, EACH_FAILS },
		{ "attach, and somebody detaches", vanishes, attach_leaves, EACH_FAILS },
		{ "attach by a link", by_link, attach_leaves, BY_EACH_ERRNO },
		{ "attach by a link what comes in", by_link, attach_comes, ONCE },
		{ "it runs", filtered, runs, BY_EACH_ERRNO },
		{ "another's runs", anothers, runs, EACH_FAILS },
		{ "none runs", unfiltered, runs, BY_EACH_ERRNO },
		{ "it has no number", filtered, runs_none, ONCE },
		{ "it runs by a link", is_link, runs, BY_EACH_ERRNO },
		{ "it runs behind others", behind_others, runs, ONCE },
		{ "others run", of_others, runs, ONCE },
		{ "it ran where nothing is", interface_is_gone, runs, ONCE },
		{ "look", filtered, look_at, BY_EACH_ERRNO },
		{ "look at what comes in", coming, look_at_comes, EACH_FAILS },
		{ "look, where it was", filtered, look_there, EACH_FAILS },
		{ "look, another's is there", anothers, look_at, EACH_FAILS },
		{ "look, none is there", unfiltered, look_at, EACH_FAILS },
		{ "look, no clsact is there", clsact_is_gone, look_at, ONCE },
		{ "look, it is renamed", renamed, look_at, BY_EACH_ERRNO },
		{ "look, another has its name", renamed_and_taken, look_at, EACH_FAILS },
		{ "look, another with a filter has its name", set_aside, look_at, EACH_FAILS },
		{ "look, and it was set aside", set_aside, look_at_aside, EACH_FAILS },
		{ "look, two are renamed", two_renamed, look_at, EACH_FAILS },
		{ "look, two are renamed, the second", two_renamed, look_at_second, EACH_FAILS },
		{ "look at a link", is_link, look_at, EACH_FAILS },
		{ "turn", filtered, turn, BY_EACH_ERRNO },
		{ "turn, where it was", filtered, turn_known, EACH_FAILS },
		{ "turn, another's is there", anothers, turn, EACH_FAILS },
		{ "turn, it is renamed", renamed, turn, EACH_FAILS },
		{ "turn a link", is_link, turn, EACH_FAILS },
		{ "turn one of XDP", NULL, turn_xdp, EACH_FAILS },
		{ "detach", filtered, detach, BY_EACH_ERRNO },
		{ "detach, where it was", filtered, detach_known, BY_EACH_ERRNO },
		{ "detach, another's is there", anothers, detach, EACH_FAILS },
		{ "detach, none is there", unfiltered, detach, EACH_FAILS },
		{ "detach, it is renamed", renamed, detach, EACH_FAILS },
		{ "detach a link", is_link, detach, EACH_FAILS },
		{ "detach one of XDP", NULL, detach_xdp, EACH_FAILS },
	};

	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
