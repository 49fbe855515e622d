// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maps of lists with a scope: which ones are made, what is pinned, which numbers interfaces get in them, and what
 * is said where the kernel refuses. The kernel is memory here (made_pins.h).
 */
#include "made_pins.h"

#include <net/if.h>

#include "base/ports.h"
#include "kernel/generation.h"
#include "kernel/scopes.h"

static const struct shown known_texts[] = {
#include "unit_kernel_scopes.txt"
};

static struct shows shows = { .file = "tests/unit/unit_kernel_scopes.txt",
			      .known = known_texts,
			      .n = sizeof(known_texts) / sizeof(known_texts[0]) };

static const struct context own_context = { .bpffs = "P" };

static int live_err, overtaken, opened;
static bool live_scoped;

static int given_live_open(struct live *live, const struct context *context)
{
	*live = (struct live){ .context = context, .number = 3, .g.scoped = live_scoped };
	live->err = fails("live_open") ? -errno : live_err;
	opened++;
	return live->err;
}

static void given_live_close(struct live *live)
{
	(void)live;
	opened--;
}

static int given_live_pin(const struct live *live, const char *name)
{
	char path[PIN_PATH_MAX];

	(void)live;
	if (fails("live_pin"))
		return -errno;
	snprintf(path, sizeof(path), "P/generation/3/%s", name);
	return made_get(path);
}

/* Another has come into force meanwhile; it has scopes, too. */
static bool given_overtaken(struct live *live)
{
	if (!overtaken)
		return false;
	overtaken--;
	live->g.scoped = true;
	does("overtaken");
	return true;
}

static unsigned int given_nametoindex(const char *name)
{
	return !strcmp(name, "eth0") ? 5 : !strcmp(name, "wan") ? 7 : !strcmp(name, "bond0") ? 20 : 0;
}

/* eth1 and eth2 are bond0's, and eth2 is what a driver's VF hands on to; others are a bridge's. */
static struct port_of given_ports[40];
static size_t given_ports_n;

static int given_look(struct port_of **ports, size_t *n)
{
	if (fails("ports_look"))
		return because(-errno, "which interfaces are ports: %s", errno_text(-errno));
	*n = given_ports_n;
	*ports = calloc(given_ports_n + 1, sizeof(**ports));
	if (*ports)
		memcpy(*ports, given_ports, given_ports_n * sizeof(**ports));
	return *ports ? 0 : -ENOMEM;
}

static void port(unsigned int number, unsigned int above, bool hands_on)
{
	given_ports[given_ports_n++] = (struct port_of){ .ifindex = number, .above = above, .hands_on = hands_on };
}

static void put_key(const struct made_map *map, const void *key)
{
	(void)map;
	printf("%u", *(const __u32 *)key);
}

static void put_value(const struct made_map *map, const void *value)
{
	const struct scopes *scopes = value;

	(void)map;
	for (__u64 i = 0; i < scopes->names; i++)
		printf("%s%s %llu", i ? ", " : "", scopes->on[i].name, scopes->on[i].ifindex);
}

#define pin_shared_map	    given_shared_map
#define pinned_info	    given_info
#define close		    given_close
#define mmap		    given_mmap
#define munmap		    given_munmap
#define sysconf		    given_sysconf
#define bpf_map_create	    given_map_create
#define bpf_map_update_elem given_update
#define bpf_map_lookup_elem given_lookup
#define bpf_obj_pin	    given_obj_pin
#define if_nametoindex	    given_nametoindex
#define ports_look	    given_look
#define live_open	    given_live_open
#define live_close	    given_live_close
#define live_overtaken	    given_overtaken
#define live_pin	    given_live_pin

#include "kernel/scopes.c"

#undef close
#undef mmap
#undef munmap
#undef sysconf

static struct scopes scopes;

/* Numbers as they were once: one is another's, one is right, one's interface has gone, and one has come. */
static void begin(void)
{
	made_pins_begin();
	live_err = overtaken = opened = 0;
	given_ports_n = 0;
	live_scoped = true;
	memset(&scopes, 0, sizeof(scopes));
	scopes.names = 4;
	scopes.on[0] = (struct scope_name){ .ifindex = 4, .name = "wan" };
	scopes.on[1] = (struct scope_name){ .ifindex = 5, .name = "eth0" };
	scopes.on[2] = (struct scope_name){ .ifindex = 9, .name = "gone" };
	scopes.on[3] = (struct scope_name){ .ifindex = 0, .name = "bond0" };
	scopes.on[4] = (struct scope_name){ .ifindex = 3, .name = "eth0" };
}

static void unread_is_there(void)
{
	made_pin_old("P/" PIN_UNREAD, PIN_UNREAD, BPF_MAP_TYPE_ARRAY);
}

static void its_map(__u32 value_size)
{
	__u32 key = 0;
	struct made_map *is = made_new(PIN_SCOPES, BPF_MAP_TYPE_ARRAY, 4, value_size, 1);

	is->old = true;
	made_put(is, &key, &scopes);
	made_pin("P/generation/3/" PIN_SCOPES, is);
}

static void in_force(void)
{
	its_map(sizeof(scopes));
}

static void of_another_version(void)
{
	its_map(sizeof(scopes) - 8);
}

static void none_has_a_scope(void)
{
	live_scoped = false;
}

static void nothing_in_force(void)
{
	live_err = -ENOENT;
}

static void unreadable(void)
{
	live_err = -EIO;
}

static void one_overtakes(void)
{
	in_force();
	live_scoped = false;
	overtaken = 1;
}

static void one_overtakes_without(void)
{
	overtaken = 2;
}

static int makes_in(const struct context *context)
{
	struct candidate c = { .scopes = -1, .unread = -1 };
	int err = kernel_scopes(context, &c, &scopes);

	if (!fail_at)
		printf(" candidate: %s, %s\n", made_text(c.scopes), made_text(c.unread));
	if (c.scopes >= 0)
		given_close(c.scopes);
	if (c.unread >= 0)
		given_close(c.unread);
	return err;
}

static int makes(void)
{
	return makes_in(&own_context);
}

/* Nothing of it is pinned. */
static int makes_alone(void)
{
	return makes_in(NULL);
}

/* What is in force has numbers of another network, which stay. */
static int makes_abroad(void)
{
	struct context abroad = own_context;

	abroad.abroad = true;
	for (__u64 i = 0; i < scopes.names; i++)
		scopes.on[i].ifindex = 99;
	return makes_in(&abroad);
}

static int makes_a_new_one_abroad(void)
{
	snprintf(scopes.on[1].name, sizeof(scopes.on[1].name), "new");
	return makes_abroad();
}

static int reads(void)
{
	struct live live;
	int err;

	memset(&scopes, 0, sizeof(scopes));
	given_live_open(&live, &own_context);
	err = kernel_scopes_read(&live, &scopes);
	put_value(NULL, &scopes);
	printf("%s", scopes.names ? "\n" : "");
	return err;
}

static int follows(void)
{
	int err = kernel_scopes_follow(&own_context);

	for (size_t i = 0; i < made_pins_n; i++)
		if (!fail_at && made_pins[i].is->value_size == sizeof(scopes)) {
			put_value(NULL, made_pins[i].is->value);
			putchar('\n');
		}
	if (opened)
		printf(" what is in force is left open\n");
	return err;
}

static void has_ports(void)
{
	port(21, 20, true);
	port(22, 20, true);
	port(23, 22, true);
	port(24, 7, false);
	port(25, 19, true);
	port(26, 24, true);
}

static void has_ports_in_force(void)
{
	has_ports();
	in_force();
}

/* One has left, one has come, and one is what it was. */
static int ports_change(void)
{
	int err = follows();

	given_ports_n = 0;
	port(22, 20, true);
	port(23, 20, false);
	err = err ?: follows();
	port(30, 20, true);
	port(31, 20, true);
	port(32, 5, true);
	err = err ?: follows();
	given_ports_n = 0;
	return err ?: follows();
}

/* A new generation has what the one before has, in another network namespace, too. */
static int makes_abroad_with_ports(void)
{
	int err = follows();

	scopes.on[1].of = 8;
	scopes.on[3].of = 16;
	err = err ?: makes_abroad();
	if (!fail_at)
		for (__u64 i = 0; i < scopes.names; i++)
			printf(" %s %llu of %llu\n", scopes.on[i].name, scopes.on[i].ifindex, scopes.on[i].of);
	return err;
}

/* Whatever does not fit, those that do are there. */
static void has_too_many(void)
{
	for (unsigned int i = 0; i < 29; i++)
		port(100 + i, 20, true);
	in_force();
}

static const struct scenario all[] = {
	{ "made", NULL, makes, BY_EACH_ERRNO },
	{ "made, who was not read is counted already", unread_is_there, makes, EACH_FAILS },
	{ "made for a look", NULL, makes_alone, EACH_FAILS },
	{ "made abroad", in_force, makes_abroad, BY_EACH_ERRNO },
	{ "made abroad, of an interface that is new", in_force, makes_a_new_one_abroad, ONCE },
	{ "made abroad, nothing is in force", nothing_in_force, makes_abroad, ONCE },
	{ "made abroad, none has a scope", none_has_a_scope, makes_abroad, ONCE },
	{ "made abroad, of another version", of_another_version, makes_abroad, ONCE },
	{ "read", in_force, reads, BY_EACH_ERRNO },
	{ "read, of another version", of_another_version, reads, ONCE },
	{ "read, none has a scope", none_has_a_scope, reads, ONCE },
	{ "read, nothing is in force", nothing_in_force, reads, ONCE },
	{ "followed", in_force, follows, BY_EACH_ERRNO },
	{ "made, a bond has ports", has_ports, makes, EACH_FAILS },
	{ "made abroad, a bond has ports", has_ports_in_force, makes_abroad_with_ports, ONCE },
	{ "followed, ports of a bond come and go", has_ports_in_force, ports_change, EACH_FAILS },
	{ "followed, a bond has too many ports", has_too_many, follows, ONCE },
	{ "followed, of another version", of_another_version, follows, ONCE },
	{ "followed, none has a scope", none_has_a_scope, follows, ONCE },
	{ "followed, what is in force cannot be read", unreadable, follows, ONCE },
	{ "followed, another comes into force", one_overtakes, follows, EACH_FAILS },
	{ "followed, others come and go", one_overtakes_without, follows, ONCE },
};

static const int errnos[] = { EIO, ENOENT, EPERM };

static void happens(void)
{
	made_play_all(all, sizeof(all) / sizeof(all[0]), &shows, errnos, sizeof(errnos) / sizeof(errnos[0]));
}

int main(void)
{
	static const struct ktap_case cases[] = { { "maps of scopes", happens } };

	return ktap_run(cases, sizeof(cases) / sizeof(cases[0]));
}
