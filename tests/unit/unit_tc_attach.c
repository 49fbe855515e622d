// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filter of tc on an interface, by clsact and by a link, in a made-up kernel: what is called, what is there
 * afterwards and what is said; and the same with each call failing once. Word for word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/close_fd.h"
#include "base/context.h"
#include "base/interfaces.h"
#include "base/log.h"
#include "kernel/attachment.h"
#include "kernel/host.h"
#include "kernel/tc.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_tc_attach.txt"
};

static struct shows shows = { .file = "tests/unit/unit_tc_attach.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

#define OUT	 MATCH_LEAVING(MATCH_DESTINATION)
#define IN	 MATCH_COMING(MATCH_SOURCE)
#define PROGRAMS 100 /* descriptors: of the program of that number, */
#define LINKS	 200 /* and of the link */
#define FOREIGN	 60  /* from here on programs are others' */
#define OTHERS	 64  /* as many as the kernel has room for */

static struct {
	unsigned int index;
	char name[IF_NAMESIZE];
	struct {
		bool clsact, other_kind;
		__u32 program, tcx[OTHERS];
		unsigned int n;
	} way[2]; /* in, out */
} ifaces[8];

static struct {
	char path[PIN_PATH_MAX + 8];
	int fd;
} pins[8];

static const struct context made_context = { .bpffs = "/bpf" };
static size_t ifaces_n, pins_n;
static unsigned int linux_is;
static int calls, fail_at, fails_with, open_n;
static bool detached; /* by another process, as soon as the filter is there */
static bool silent;   /* libbpf */

static bool fails(const char *what)
{
	if (++calls != fail_at)
		return false;
	printf("  %s fails: ", what);
	errno = fails_with;
	return true;
}

static int no(int error)
{
	errno = error;
	return -1;
}

static int place_of(unsigned int index)
{
	for (size_t i = 0; i < ifaces_n; i++)
		if (ifaces[i].index == index)
			return (int)i;
	return -1;
}

static bool loud(void)
{
	return !fail_at;
}

static const char *const ways[] = { "in", "out" };

/* --- What is called --- */

static unsigned int given_kernel(void)
{
	return linux_is;
}

static libbpf_print_fn_t given_set_print(libbpf_print_fn_t print)
{
	silent = !print;
	return (libbpf_print_fn_t)(uintptr_t)1;
}

static int way_of(const struct bpf_tc_hook *hook)
{
	if (hook->sz != sizeof(*hook))
		abort();
	return hook->attach_point == BPF_TC_EGRESS ? 1 : hook->attach_point == BPF_TC_INGRESS ? 0 : -1;
}

static int given_hook(struct bpf_tc_hook *hook)
{
	int way = way_of(hook), i = place_of((unsigned int)hook->ifindex);

	if (fails("clsact"))
		return -errno;
	if (i < 0)
		return -ENODEV;
	if (loud())
		printf("  clsact on %d\n", hook->ifindex);
	if (ifaces[i].way[way].clsact)
		return -EEXIST;
	ifaces[i].way[way].clsact = true;
	return 0;
}

static bool is_its(const struct bpf_tc_opts *opts)
{
	return opts->handle == 0x786462 && opts->priority == 1;
}

static int given_attach(const struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	int way = way_of(hook), i = place_of((unsigned int)hook->ifindex);

	if (fails("putting the filter there"))
		return -errno;
	if (i < 0)
		return -ENODEV;
	if (ifaces[i].way[way].other_kind)
		return -EINVAL;
	if (ifaces[i].way[way].program && !(opts->flags & BPF_TC_F_REPLACE))
		return -EEXIST;
	if (!is_its(opts))
		puts("  it is at another place");
	ifaces[i].way[way].program = (__u32)(opts->prog_fd - PROGRAMS);
	if (loud())
		printf("  filter %u %s of %d\n", ifaces[i].way[way].program, ways[way], hook->ifindex);
	if (detached) {
		pins_n = 0;
		if (loud())
			puts("  whoever detaches takes away the pin");
	}
	return 0;
}

static int given_query(const struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	int way = way_of(hook), i = place_of((unsigned int)hook->ifindex);

	if (fails("asking for the filter"))
		return -errno;
	if (!silent || !is_its(opts))
		puts("  it is asked otherwise");
	if (i < 0)
		return -ENODEV;
	if (!ifaces[i].way[way].clsact || ifaces[i].way[way].other_kind)
		return -EINVAL;
	if (!ifaces[i].way[way].program)
		return -ENOENT;
	opts->prog_id = ifaces[i].way[way].program;
	return 0;
}

static int given_detach(const struct bpf_tc_hook *hook, const struct bpf_tc_opts *opts)
{
	int way = way_of(hook), i = place_of((unsigned int)hook->ifindex);

	if (fails("taking the filter off"))
		return -errno;
	if (i < 0 || !is_its(opts))
		return -ENOENT;
	ifaces[i].way[way].program = 0;
	if (loud())
		printf("  no filter %s of %d\n", ways[way], hook->ifindex);
	return 0;
}

static int given_by_id(__u32 id)
{
	if (fails("the program of a number"))
		return -1;
	if (id == FOREIGN + 9)
		return no(ENOENT);
	open_n++;
	return PROGRAMS + (int)id;
}

static int given_info(int fd, struct pinned *is)
{
	if (fails("asking what it is"))
		return -errno;
	memset(is, 0, sizeof(*is));
	is->kind = fd >= LINKS ? PINNED_LINK : PINNED_PROGRAM;
	is->id = (__u32)(fd % 100);
	if (is->kind == PINNED_PROGRAM)
		snprintf(is->name, sizeof(is->name), is->id < FOREIGN ? "xdp_bloom_out" : "another");
	else
		is->ifindex = 4;
	return 0;
}

static void given_close(int fd)
{
	open_n -= fd >= 0;
}

static size_t pin_at(const char *path)
{
	size_t i = 0;

	while (i < pins_n && strcmp(pins[i].path, path))
		i++;
	return i;
}

static void pin_it(const char *path, int fd)
{
	size_t i = pin_at(path);

	pins_n += i == pins_n;
	snprintf(pins[i].path, sizeof(pins[i].path), "%s", path);
	pins[i].fd = fd;
}

static int given_pin(int fd, const char *path)
{
	if (fails("pinning"))
		return -1;
	if (pin_at(path) < pins_n)
		return no(EEXIST);
	pin_it(path, fd);
	if (loud())
		printf("  %d is pinned as %s\n", fd, path);
	return 0;
}

static int given_obj_get(const char *path)
{
	size_t i = pin_at(path);

	if (fails("opening a pin"))
		return -1;
	if (i == pins_n)
		return no(ENOENT);
	open_n++;
	return pins[i].fd;
}

static int given_unlink(const char *path)
{
	size_t i = pin_at(path);

	if (i == pins_n)
		return no(ENOENT);
	memmove(pins + i, pins + i + 1, (--pins_n - i) * sizeof(*pins));
	return 0;
}

static int given_access(const char *path, int mode)
{
	return mode == F_OK && pin_at(path) < pins_n ? 0 : no(ENOENT);
}

static int given_rename(const char *from, const char *to)
{
	size_t i = pin_at(from);
	int fd = pins[i].fd;

	if (fails("renaming the pin"))
		return -1;
	if (i == pins_n)
		return no(ENOENT);
	given_unlink(from);
	pin_it(to, fd);
	return 0;
}

static unsigned int given_nametoindex(const char *name)
{
	for (size_t i = 0; i < ifaces_n; i++)
		if (!strcmp(ifaces[i].name, name))
			return ifaces[i].index;
	return 0;
}

static struct if_nameindex *given_nameindex(void)
{
	struct if_nameindex *all = calloc(ifaces_n + 1, sizeof(*all));

	if (!all)
		abort();
	if (fails("asking for the interfaces")) {
		free(all);
		return NULL;
	}
	open_n++;
	for (size_t i = 0; i < ifaces_n; i++)
		all[i] = (struct if_nameindex){ ifaces[i].index, ifaces[i].name };
	return all;
}

static void given_freenameindex(struct if_nameindex *all)
{
	open_n--;
	free(all);
}

static size_t next_pin;

static DIR *given_directory(const struct context *its, const char *name)
{
	if (its != &made_context || strcmp(name, "links"))
		abort();
	if (fails("opening the directory of the pins"))
		return NULL;
	next_pin = 0;
	return (DIR *)(uintptr_t)1;
}

static const char *given_next(DIR **dir)
{
	if (!*dir)
		return NULL;
	if (next_pin < pins_n)
		return strrchr(pins[next_pin++].path, '/') + 1;
	*dir = NULL;
	return NULL;
}

static int given_link_create(int program, int where, enum bpf_attach_type type, const struct bpf_link_create_opts *opts)
{
	int i = place_of((unsigned int)where), way = type == 47 ? 1 : type == 46 ? 0 : -1;

	if (fails("making the link"))
		return -1;
	if (i < 0)
		return no(ENODEV);
	if (ifaces[i].way[way].n == OTHERS)
		return no(ERANGE);
	if (loud())
		printf("  link of %d to %d, %s, flags %u\n", program, where, ways[way], opts->flags);
	open_n++;
	return LINKS + 5;
}

static int given_link_update(int fd, int root, const void *opts)
{
	if (fails("turning the link"))
		return -1;
	if (loud())
		printf("  %d has %d%s\n", fd, root, opts ? ", with more" : "");
	return 0;
}

static int given_link_detach(int fd)
{
	if (fails("detaching the link"))
		return -1;
	if (loud())
		printf("  %d is detached\n", fd);
	return 0;
}

static int given_prog_query(int where, enum bpf_attach_type type, struct bpf_prog_query_opts *opts)
{
	int i = place_of((unsigned int)where), way = type == 47 ? 1 : type == 46 ? 0 : -1;

	if (fails("asking what runs"))
		return -1;
	if (i < 0)
		return no(ENODEV);
	memcpy(opts->prog_ids, ifaces[i].way[way].tcx, ifaces[i].way[way].n * sizeof(__u32));
	opts->prog_cnt = ifaces[i].way[way].n;
	return 0;
}

#define host_kernel		 given_kernel
#define libbpf_set_print	 given_set_print
#define bpf_tc_hook_create	 given_hook
#define bpf_tc_attach		 given_attach
#define bpf_tc_query		 given_query
#define bpf_tc_detach		 given_detach
#define bpf_prog_get_fd_by_id	 given_by_id
#define pinned_info		 given_info
#define close_fd		 given_close
#define bpf_obj_pin		 given_pin
#define bpf_obj_get		 given_obj_get
#define unlink			 given_unlink
#define access			 given_access
#define rename			 given_rename
#define if_nametoindex		 given_nametoindex
#define interfaces_all()	 given_nameindex()
#define interfaces_free		 given_freenameindex
#define pin_directory		 given_directory
#define pin_next		 given_next
#define bpf_link_create		 given_link_create
#define bpf_link_update		 given_link_update
#define bpf_link_detach		 given_link_detach
#define bpf_prog_query_opts(...) given_prog_query(__VA_ARGS__)
#include "kernel/tc.c"

/* --- What is there --- */

static void iface(unsigned int index, const char *name)
{
	ifaces[ifaces_n].index = index;
	snprintf(ifaces[ifaces_n++].name, IF_NAMESIZE, "%s", name);
}

/* That program is its filter, both ways where `ways` is 3. */
static void filtered(unsigned int index, unsigned int its, __u32 program)
{
	for (unsigned int way = 0; way < 2; way++)
		if (its & 1 << way) {
			ifaces[place_of(index)].way[way].clsact = true;
			ifaces[place_of(index)].way[way].program = program;
		}
}

static void pinned(const char *file, int fd)
{
	char path[PIN_PATH_MAX + 8];

	snprintf(path, sizeof(path), "/bpf/links/%s", file);
	pin_it(path, fd);
}

static void world(void)
{
	memset(ifaces, 0, sizeof(ifaces));
	ifaces_n = pins_n = 0;
	linux_is = KERNEL_VERSION(6, 5, 255);
	detached = silent = false;
	calls = open_n = 0;
	iface(2, "eth0");
	iface(4, "wg0");
}

static void tcx(void)
{
	world();
	linux_is = KERNEL_VERSION(6, 6, 0);
}

static void other_kind(void)
{
	world();
	for (int way = 0; way < 2; way++)
		ifaces[1].way[way].clsact = ifaces[1].way[way].other_kind = true;
}

static void another_kernel(void)
{
	tcx();
	other_kind();
	linux_is = KERNEL_VERSION(6, 6, 0);
}

static void full(void)
{
	tcx();
	ifaces[1].way[1].n = OTHERS;
}

static void first_of_three(void)
{
	tcx();
	ifaces[1].way[1].n = 3;
	for (__u32 i = 0; i < 3; i++) {
		ifaces[1].way[1].tcx[i] = 7 + i;
		ifaces[1].way[0].tcx[i] = 9 - i;
	}
	ifaces[1].way[0].n = 2;
}

static void on_wg0(void)
{
	world();
	filtered(4, 3, 7);
	pinned("wg0%out", PROGRAMS + 7);
	pinned("wg0%in", PROGRAMS + 7);
}

static void foreign(void)
{
	on_wg0();
	filtered(4, 3, FOREIGN);
}

/* Between two calls. */
static void program_gone(void)
{
	on_wg0();
	filtered(4, 3, FOREIGN + 9);
}

static void unfiltered(void)
{
	on_wg0();
	filtered(4, 3, 0);
}

static void taken_down(void)
{
	world();
	detached = true;
}

static void renamed(void)
{
	on_wg0();
	snprintf(ifaces[1].name, IF_NAMESIZE, "vpn");
}

/* Three have lost theirs, by the same program, two have not; and what comes in is another matter. */
static void many_renamed(void)
{
	world();
	iface(5, "x");
	iface(6, "y");
	iface(7, "z");
	iface(8, "w");
	for (unsigned int i = 4; i <= 8; i++)
		filtered(i, i == 5 ? 3 : 2, 7);
	filtered(2, 2, 8);
	pinned("a%in", PROGRAMS + 7);
	pinned("b%out", PROGRAMS + 7);
	pinned("eth9%out", PROGRAMS + 8);
	pinned("c%out", PROGRAMS + 7);
	pinned("x%out", PROGRAMS + 7);
	pinned("w%out", PROGRAMS + 7);
	pinned("d%out", PROGRAMS + 7);
}

/* Another one is called so now: its pin has the number of the first. */
static void set_aside(void)
{
	on_wg0();
	ifaces[0].index = 9;
	pinned("eth0%link2%out", PROGRAMS + 7);
}

static void linked(void)
{
	tcx();
	pinned("wg0%out", LINKS + 5);
	pinned("wg0%in", LINKS + 5);
}

/* --- What is done --- */

static struct attachment where_at(const char *name, unsigned int match)
{
	struct attachment made = { .match = match, .mode = MODE_TC, .ifindex = given_nametoindex(name) };

	snprintf(made.name, sizeof(made.name), "%s", name);
	snprintf(made.as, sizeof(made.as), "%s", name);
	return made;
}

static int attaches(const char *name, unsigned int match)
{
	const struct attachment made = where_at(name, match);
	char path[PIN_PATH_MAX];

	attachment_path(&made_context, path, &made);
	return tc_attach(&made, made.ifindex, PROGRAMS + 7, path);
}

static int attach_out(void)
{
	return attaches("wg0", OUT);
}

static int attach_in(void)
{
	return attaches("wg0", IN);
}

static int attach_nowhere(void)
{
	return attaches("wg9", OUT);
}

static int attach_both(void)
{
	return attach_out() ?: attach_in();
}

static int runs(void)
{
	const struct {
		const char *name;
		unsigned int match;
		__u32 id;
	} asked[] = { { "wg0", OUT, 7 }, { "wg0", IN, 7 }, { "wg0", OUT, 9 }, { "wg0", OUT, FOREIGN },
		      { "wg0", OUT, 0 }, { "wg0", IN, 9 }, { "wg9", OUT, 7 } };
	unsigned int behind = 77;
	bool its = true;
	int err = 0;

	for (size_t i = 0; i < (loud() ? sizeof(asked) / sizeof(*asked) : 1) && !err; i++) {
		const struct attachment made = where_at(asked[i].name, asked[i].match);

		err = tc_runs(&made, asked[i].id, &its, &behind);
		if (loud())
			printf("  %u %s of %s: %s, behind %u\n", asked[i].id, ways[MATCH_LEAVES(asked[i].match)],
			       asked[i].name, its ? "it runs" : "it does not", behind);
	}
	return err;
}

/* Where a call fails, of the last pin alone. `where`: where it was; 0: that is not known. */
static int finds(const char *file, unsigned int where)
{
	struct attachment made;
	struct pinned now;
	char path[PIN_PATH_MAX];
	size_t i;
	int err;

	if (!attachment_of_pin(file, &made))
		abort();
	attachment_path(&made_context, path, &made);
	i = pin_at(path);
	err = attachment_runs(&made_context, &made, pins[i].fd, where, &now);
	if (loud())
		printf("  %s%s: kind %d, program %u on %u\n", file, where ? ", where it was" : "", (int)now.kind,
		       now.program, now.ifindex);
	return err;
}

static int find_all(void)
{
	int err = 0;

	for (size_t i = loud() ? 0 : pins_n - 1; i < pins_n && !err; i++)
		err = finds(strrchr(pins[i].path, '/') + 1, 0);
	return err;
}

static int find_there(void)
{
	return finds("wg0%out", 4) ?: finds("wg0%out", 2);
}

static int turns(const char *file, unsigned int where)
{
	struct attachment made;
	char path[PIN_PATH_MAX];

	if (!attachment_of_pin(file, &made))
		abort();
	attachment_path(&made_context, path, &made);
	return attachment_turn(&made_context, &made, pins[pin_at(path)].fd, where, PROGRAMS + 8);
}

static int turn(void)
{
	return turns("wg0%out", 0);
}

static int turn_there(void)
{
	return turns("wg0%in", 4);
}

/* What was left of a turn that somebody ended is no obstacle. */
static int turn_again(void)
{
	pinned("wg0%out%next", PROGRAMS + 7);
	return turn();
}

static int turn_xdp(void)
{
	pinned("wg0", LINKS + 6);
	return turns("wg0", 0);
}

static int detaches(const char *file, unsigned int where)
{
	struct attachment made;
	char path[PIN_PATH_MAX];

	if (!attachment_of_pin(file, &made))
		abort();
	attachment_path(&made_context, path, &made);
	made.ifindex = where;
	return attachment_detach(&made_context, &made, pins[pin_at(path)].fd);
}

static int detach(void)
{
	return detaches("wg0%out", 0);
}

static int detach_there(void)
{
	return detaches("wg0%in", 4);
}

static int detach_xdp(void)
{
	pinned("wg0", LINKS + 6);
	return detaches("wg0", 0);
}

#define THERE_MAX 1000

static void is_there(char text[THERE_MAX])
{
	FILE *to = fmemopen(text, THERE_MAX, "w");

	if (!to)
		abort();
	for (size_t i = 0; i < ifaces_n; i++)
		for (int way = 0; way < 2; way++)
			if (ifaces[i].way[way].program)
				fprintf(to, ", %s %s %u", ifaces[i].name, ways[way], ifaces[i].way[way].program);
	for (size_t i = 0; i < pins_n; i++)
		fprintf(to, ", %s is %d", strrchr(pins[i].path, '/') + 1, pins[i].fd);
	if (silent)
		fprintf(to, ", libbpf is silent");
	if (open_n)
		fprintf(to, ", %d are open", open_n);
	fclose(to);
}

static const struct {
	const char *name;
	void (*before)(void);
	int (*does)(void);
	int with; /* how calls fail */
} tries[] = {
	{ "attached, what leaves", world, attach_out, EIO },
	{ "attached, what leaves and comes in", world, attach_both, EPERM },
	{ "attached by links", tcx, attach_both, EIO },
	{ "attached where it is", on_wg0, attach_out, EIO },
	{ "attached nowhere", world, attach_nowhere, EIO },
	{ "attached nowhere, by a link", tcx, attach_nowhere, EIO },
	{ "attached beside another kind, what leaves", other_kind, attach_out, EINVAL },
	{ "attached beside another kind, what comes in", other_kind, attach_in, ERANGE },
	{ "attached beside another kind, by a link", another_kernel, attach_out, EINVAL },
	{ "attached behind 64 others", full, attach_out, ERANGE },
	{ "attached while somebody detaches", taken_down, attach_out, EIO },
	{ "does it run?", on_wg0, runs, EIO },
	{ "does it run, by links?", first_of_three, runs, EIO },
	{ "does it run, by links, where the interface goes?", first_of_three, runs, ENODEV },
	{ "does it run, by links, where nothing can?", first_of_three, runs, ENOENT },
	{ "does another one run?", foreign, runs, EIO },
	{ "does one run that goes?", program_gone, runs, EIO },
	{ "found by its name", on_wg0, find_all, EIO },
	{ "found by its name, where programs go", on_wg0, find_all, ENOENT },
	{ "found where it was", on_wg0, find_there, EIO },
	{ "found by its link", linked, find_all, EIO },
	{ "found under another name", renamed, find_all, EIO },
	{ "found, of many", many_renamed, find_all, ENOENT },
	{ "found where another has the name", set_aside, find_all, EIO },
	{ "not found", unfiltered, find_all, EIO },
	{ "turned", on_wg0, turn, EIO },
	{ "turned where it was", on_wg0, turn_there, EIO },
	{ "turned under another name", renamed, turn, EIO },
	{ "turned once more", on_wg0, turn_again, EIO },
	{ "turned by its link", linked, turn, EIO },
	{ "turned by a link of XDP", linked, turn_xdp, EIO },
	{ "turned where it is none", unfiltered, turn_there, EIO },
	{ "turned where it is another's", foreign, turn, EIO },
	{ "detached", on_wg0, detach, EIO },
	{ "detached where it was", on_wg0, detach_there, EIO },
	{ "detached by its link", linked, detach, EIO },
	{ "detached, a link of XDP", linked, detach_xdp, EIO },
	{ "detached where it is another's", foreign, detach, EIO },
};

/* False: it does not call so often. */
static bool tried(int how, int i)
{
	char before[THERE_MAX] = "", after[THERE_MAX] = "";
	int err;

	tries[i].before();
	is_there(before);
	if (!how)
		printf("  it is%s\n", before[0] ? before + 1 : " not there");
	fail_at = how;
	fails_with = tries[i].with;
	err = tries[i].does();
	if (calls < how)
		return false;
	is_there(after);
	printf("%s%s%s\n", how ? "" : "  ", err ? reason(err) : "done", strcmp(before, after) ? after : "");
	return true;
}

static void word_for_word(void)
{
	for (int i = 0; i < (int)(sizeof(tries) / sizeof(*tries)); i++) {
		shows_begin(&shows);
		for (int how = 0; tried(how, i); how++)
			;
		shows_as(&shows, tries[i].name);
	}
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
