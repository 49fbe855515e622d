// SPDX-License-Identifier: GPL-2.0-only
/*
 * detect: what its words make of the limits in the state, what it warns of, and what it prints of what the detector
 * sees; the state is in a directory of the test's own, the kernel and the clock are made up.
 */
#include "own_state.h"
#include "no_disk.h"

#include <math.h>
#include <net/if.h>
#include <poll.h>

#include "bpf/detect.h"
#include "change/change.h"
#include "change/jail.h"
#include "kernel/attach.h"
#include "kernel/detect.h"
#include "kernel/detect_seen.h"
#include "state/limits.h"
#include "state/proven.h"
#include "made_change.h"
#include "typed.h"

static const struct shown known[] = {
#include "unit_detect_verb.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detect_verb.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static bool no_proof, no_look_up, proven_here, forwards4, forwards6;
static size_t bans_seen;
static struct attachment links[3];
static size_t links_n;
static struct seen seen;
static int looks;

static int given_move(struct change *change, const struct ranges *only, const struct ranges *needed)
{
	(void)change;
	return call("who is banned moves%s", only || needed ? ", some" : "");
}

static int given_go(struct change *change, struct addr first, unsigned int length)
{
	char text[PREFIX_TEXT_MAX];

	(void)change;
	return call("let go: %s", prefix_text(text, first, (int)length));
}

static int given_put(struct state *state, const struct limits *limits)
{
	return call("limits are kept") ?: state_limits_put(state, limits);
}

static int given_proven(struct state *state, struct proven **proven, size_t *n)
{
	(void)state;
	*proven = NULL;
	*n = proven_here;
	return 0;
}

static int given_list(const struct context *context, struct attachment **list, size_t *n)
{
	int err = call("what is filtered");

	(void)context;
	*list = malloc(sizeof(links));
	memcpy(*list, links, sizeof(links));
	*n = links_n;
	return err;
}

/* Between two looks each has sent ten packets more. */
static int given_seen(const struct context *context, struct seen *to)
{
	int err = call("a look");

	(void)context;
	*to = (struct seen){ 0 };
	if (err)
		return err;
	*to = seen;
	to->suspect = calloc(seen.n + 1, sizeof(*to->suspect));
	for (size_t i = 0; i < seen.n; i++) {
		to->suspect[i] = seen.suspect[i];
		for (enum packet_class class = 0; class < LIMITED; class ++)
			to->suspect[i].is.count[class] += (unsigned int)looks * 10 * (class + 1);
	}
	to->now += (unsigned int)looks++ * 500000000ULL;
	return 0;
}

static int given_poll(struct pollfd *fds, nfds_t n, int ms)
{
	printf("  waits %d ms%s\n", ms, fds || n ? " for something" : "");
	return 0;
}

static int given_said(struct state *state, json_t **said)
{
	int err = detect_said(state, said);

	if (!err && proven_here)
		json_object_set_new(*said, "proven", json_pack("[s, s]", "eth0", "eth1"));
	return err;
}

static FILE *given_open(const char *path, const char *mode)
{
	bool is = strstr(path, "ipv4/ip_forward") ? forwards4 : strstr(path, "ipv6/conf/all/forwarding") && forwards6;

	(void)mode;
	return fmemopen((char *)(uintptr_t)(is ? "1\n" : "0\n"), 2, "r");
}

static unsigned int given_index(const char *name)
{
	return !strncmp(name, "eth", 3) ? 7 : 0;
}

static int given_done(const struct context *context)
{
	puts(context->json ? "  done, as JSON" : "  done");
	return EXIT_DONE;
}

static int other(const char *what)
{
	printf("  %s\n", what);
	return EXIT_DONE;
}

static int given_suggest(const struct context *context, double seconds, unsigned int one_in)
{
	(void)context;
	printf("  suggests: %.0f s, one in %u\n", seconds, one_in);
	return EXIT_DONE;
}

#define jail_move	  given_move
#define jail_let_go	  given_go
#define state_limits_put  given_put
#define detect_said	  given_said
#define state_proven	  given_proven
#define attach_list	  given_list
#define kernel_seen	  given_seen
#define kernel_proves()	  (!no_proof)
#define kernel_looks_up() (!no_look_up)
#define detect_tick()	  4000000
#define seen_banned_n(of) ((void)(of), bans_seen)
#define poll		  given_poll
#define fopen		  given_open
#define if_nametoindex	  given_index
#define out_done	  given_done
#define detect_attacks(c) ((void)(c), other("attacks"))
#define detect_top(c)	  ((void)(c), other("top"))
#define detect_learn(c)	  ((void)(c), other("learn"))
#define detect_trust(c)	  ((void)(c), other("trust"))
#define detect_proven(c)  ((void)(c), other("proven"))
#define detect_ladder(c)  ((void)(c), other("ladder"))
#define detect_suggest	  given_suggest
#define file		  opened_file /* own_state.h has one */
#include "verbs/detect.c"
#undef fopen
#undef file

static void clear(void)
{
	no_proof = no_look_up = proven_here = forwards4 = forwards6 = quiet_calls = false;
	bans_seen = links_n = 0;
	looks = calls = fails_at = 0;
	fails_with = -EIO;
	free(seen.suspect);
	seen = (struct seen){ 0 };
}

static void begin(void)
{
	clear();
	empty_directory();
}

/* Each word after what the ones before have made of it. */
static void types(const char *const lines[])
{
	for (size_t i = 0; lines[i]; i++) {
		looks = calls = 0;
		typed(lines[i]);
	}
}

#define TYPES(...) types((const char *const[]){ __VA_ARGS__, NULL })

static void limits_of_words(void)
{
	TYPES("detect", "detect on", "detect on", "detect limit syn 300/s", "detect limit syn --then police",
	      "detect limit syn 400/s", "detect limit syn 400/s --burst 1000 --then ban", "detect limit syn none",
	      "detect limit syn --then ban", "detect limit bytes 100Mbit --burst 4M", "detect", "detect limit udp none",
	      "detect networks x8", "detect room --pps 2M --suspects 20k", "detect", "detect room --pps default",
	      "detect --json", "detect networks off", "detect off", "detect off --json", "detect");
	TYPES("detect on", "detect limit packets none", "detect limit bytes none", "detect limit syn none",
	      "detect limit udp none", "detect limit icmp none", "detect limit fragments none", "detect",
	      "detect networks x8", "detect");
}

static void of_interfaces(void)
{
	TYPES("detect on", "detect limit syn 300/s --on eth0", "detect limit syn --then police --on eth0",
	      "detect limit udp --then police --on eth0", "detect limit syn none --on eth1",
	      "detect limit syn 5/s --on vlan9", "detect limit icmp 9/s --on eth0 --then watch", "detect",
	      "detect --json", "detect limit syn none --on eth0", "detect limit icmp none --on eth0", "detect",
	      "detect limit syn 5/s --on a/b", "detect on --on eth0");
	for (int i = 1; i <= LIMITS_ON_MOST + 1; i++) {
		char line[100];

		snprintf(line, sizeof(line), "detect limit syn 5/s --on eth%d", 10 + i);
		quiet_calls = i < LIMITS_ON_MOST;
		calls = 0;
		typed(line);
	}
}

static void wrong_words(void)
{
	TYPES("detect limit", "detect limit syn", "detect limit tcp 5/s", "detect limit tcp --then ban",
	      "detect limit syn 5/s more", "detect limit syn x", "detect limit bytes x", "detect limit syn 200M/s",
	      "detect limit syn 5/s --then drop", "detect limit syn --then drop", "detect limit syn --burst 5",
	      "detect limit syn --then ban --burst 5", "detect limit syn none --burst 5",
	      "detect limit syn none --then ban", "detect limit syn 1000/s --burst 8",
	      "detect limit syn 1000/s --burst 9", "detect limit syn 1000/s --burst 3600000",
	      "detect limit syn 1000/s --burst 3600001", "detect limit syn 1000/s --burst x",
	      "detect limit bytes 8Mbit --burst 1", "detect room", "detect room more --pps 1M", "detect room --pps x",
	      "detect room --suspects x", "detect room --pps 1", "detect room --pps 1e18", "detect room --suspects 0",
	      "detect room --suspects 1e18", "detect room --pps 20000.7", "detect networks", "detect networks x1",
	      "detect networks x2", "detect networks 8", "detect networks x", "detect networks x8x",
	      "detect networks x-8", "detect networks x+8", "detect networks x999999", "detect networks on",
	      "detect networks x8 x9", "detect on off", "detect onn", "detect off off", "detect on --burst 5",
	      "detect on --then ban", "detect room --on eth0 --pps 1M", "detect limit syn 5/s --pps 1M",
	      "detect limit syn 5/s --suspects 5", "detect on --for 5s", "detect on --one-in 5", "detect --burst 5");
}

static void others(void)
{
	TYPES("detect attacks", "detect attacks x", "detect top", "detect top x", "detect suggest",
	      "detect suggest --for 5s --one-in 9", "detect suggest x", "detect learn", "detect learn x",
	      "detect trust", "detect proven", "detect ladder", "detect top --json");
}

/* Where nobody's source is proven, and where nothing is seen. */
static void warnings(void)
{
	static const char *const bans[] = {
		"detect limit packets 5k/s --then ban",	  "detect limit bytes 1Mbit --then ban",
		"detect limit syn 5/s --then ban",	  "detect limit udp 5/s --then ban",
		"detect limit icmp 5/s --then ban",	  "detect limit fragments 5/s --then ban",
		"detect limit unanswered 5/s --then ban", "detect limit scan 5/s --then ban"
	};

	quiet_calls = true;
	for (int kind = 0; kind < 3; kind++) {
		no_proof = kind == 1;
		proven_here = kind == 2;
		printf("-- %s\n", kind == 2 ? "behind a proven interface" : kind ? "no proof" : "a connection proves");
		for (size_t i = 0; i < sizeof(bans) / sizeof(*bans); i++) {
			empty_directory();
			typed(bans[i]);
			typed(bans[i]);
		}
	}
	puts("-- look-ups");
	for (int kind = 0; kind < 4; kind++) {
		no_look_up = kind == 1;
		forwards4 = kind == 2;
		forwards6 = kind == 3;
		empty_directory();
		TYPES("detect limit syn 5/s", "detect limit scan 5/s", "detect limit scan 6/s",
		      "detect limit unanswered 5/s");
	}
	puts("-- unseen");
	links[0] = (struct attachment){ .name = "eth0", .as = "eth0", .mode = MODE_NATIVE, .match = MATCH_SOURCE };
	links[1] = (struct attachment){ .name = "eth1", .as = "eth1", .mode = MODE_NATIVE, .match = MATCH_DESTINATION };
	quiet_calls = false;
	for (links_n = 1; links_n <= 2; links_n++)
		TYPES("detect off", "detect on", "detect on", "detect off");
	fails_at = 4;
	TYPES("detect on");
}

static void sees(void)
{
	static const struct suspect_seen are[] = {
		{ .key = 0x2d000001,
		  .mark = SUSPECT_IPV4,
		  .is = { .count = { 10, 1000, 5 }, .over = { 3 }, .over_at = 9000000000, .since = 1 } },
		{ .key = 0x2d000002,
		  .mark = SUSPECT_IPV4,
		  .is = { .count = { 20, 2000, 6 },
			  .over = { 5, 0, 4 },
			  .over_at = 8000000000,
			  .dropped = 2,
			  .since = 1 } },
		{ .key = 0x20010db8ULL << 32, .mark = SUSPECT_IPV6, .is = { .count = { 30 }, .since = 1 } },
	};

	TYPES("detect on", "detect limit syn 5/s --then police");
	links[0] = (struct attachment){ .name = "eth1", .as = "eth1", .mode = MODE_NATIVE, .match = MATCH_DESTINATION };
	for (int kind = 0; kind < 4; kind++) {
		free(seen.suspect);
		seen = (struct seen){ .on = kind,
				      .now = 10000000000,
				      .room = 4096,
				      .n = kind > 1 ? 3 : 0,
				      .packets = { 1, 2, 3, 4, 5, 6 } };
		seen.suspect = calloc(3, sizeof(are[0]));
		memcpy(seen.suspect, are, sizeof(are));
		if (kind == 3)
			seen.suspect[0].is.over[0] = 99;
		limits_plan(&seen.with, &(struct limits){ .on = true }, 4000000);
		bans_seen = kind == 3 ? 2 : 0;
		links_n = kind == 3;
		printf("-- %d\n", kind);
		TYPES("detect", "detect --json");
	}
	TYPES("detect limit syn --then watch");
	bans_seen = links_n = 0;
	seen.packets[DETECTED_DROPPED] = seen.packets[DETECTED_BANNED] = 0;
	proven_here = true;
	TYPES("detect", "detect limit scan 5/s", "detect");
}

/* A file that is no state. */
static void put_garbage(void)
{
	FILE *to = fopen(file, "w");

	ENOUGH(to);
	fputs("this is no database", to);
	fclose(to);
}

static void failures(void)
{
	TYPES("detect on", "detect limit syn 5/s --then ban");
	for (fails_at = 1; fails_at <= 6; fails_at++)
		TYPES("detect limit syn 6/s", "detect limit syn 5/s");
	quiet_calls = true;
	fails_at = 0;
	TYPES("detect limit syn --then ban");
	quiet_calls = false;
	puts("-- nobody is banned any more");
	for (fails_at = 1; fails_at <= 7; fails_at++)
		TYPES("detect limit syn --then police", "detect limit syn --then ban");
	puts("-- looks");
	seen = (struct seen){ .on = true, .n = 1, .suspect = calloc(1, sizeof(*seen.suspect)) };
	for (fails_at = 1; fails_at <= 3; fails_at++)
		for (int kind = 0; kind < 2; kind++) {
			fails_with = kind ? -ENOENT : -EIO;
			TYPES("detect");
		}
	fails_at = 0;
	put_garbage();
	TYPES("detect", "detect on");
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "limits", limits_of_words }, { "interfaces", of_interfaces }, { "wrong words", wrong_words },
		{ "others", others },	       { "warnings", warnings },	{ "sees", sees },
		{ "failures", failures },
	};

	typed_in(directory, &shows);
	typed_context.state = ".";
	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
	begin();
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return own_state_run(cases, sizeof(cases) / sizeof(*cases));
}
