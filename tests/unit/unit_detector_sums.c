// SPDX-License-Identifier: GPL-2.0-only
/* The detector in a few figures, of what the kernel is made to see; and which interfaces it does not see. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "bpf/detect.h"
#include "kernel/attachment.h"
#include "kernel/detect_seen.h"
#include "shown.h"

static const struct shown known[] = {
#include "unit_detector_sums.txt"
};

static struct shows shows = { .file = "tests/unit/unit_detector_sums.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

static int fails_with, held;
static struct suspect_seen suspects[8];
static struct seen kernel;

static int given_seen(const struct context *context, struct seen *to)
{
	(void)context;
	*to = (struct seen){ 0 };
	if (fails_with)
		return because(fails_with, "it cannot be seen");
	*to = kernel;
	held++;
	return 0;
}

static void given_free(struct seen *seen)
{
	held -= seen->suspect != NULL;
}

#define kernel_seen	  given_seen
#define seen_free	  given_free
#define seen_banned_n(of) ((of)->n)
#include "observe/detector.c"

#define SECOND 1000000000ULL

static const struct context context = CONTEXT_DEFAULT;

static void begin(void)
{
	fails_with = 0;
	kernel = (struct seen){
		.on = true, .now = 100 * SECOND, .room = 64, .suspect = suspects, .packets = { 1, 2, 3, 4, 5, 6 }
	};
	kernel.with.then[THEN_WATCH] = 5;
	memset(suspects, 0, sizeof(suspects));
}

/* of: by class. */
static void suspect(__u64 key, __u64 mark, __u64 seconds, unsigned int packets, unsigned int syn)
{
	suspects[kernel.n++] = (struct suspect_seen){ .key = key,
						      .mark = mark,
						      .is = { .over = { [CLASS_PACKETS] = packets, [CLASS_SYN] = syn },
							      .over_at = seconds * SECOND } };
}

static void print(const char *what, int err, const struct detector_sums *s)
{
	printf("%s: %s%s, room %zu, tracked %zu, above %zu, banned %zu, now %llu, of '%s' %llu, classes %x, limited %x\n",
	       what, err ? reason(err) : "seen", s->in_force ? "" : ", nothing in force", s->room, s->tracked, s->above,
	       s->banned, (unsigned long long)(s->now / SECOND), s->busiest, (unsigned long long)s->over, s->classes,
	       s->limited);
	printf("  above by class");
	for (enum packet_class class = 0; class < CLASSES; class ++)
		printf(" %zu", s->above_of[class]);
	printf(", packets");
	for (int of = 0; of < DETECTEDS; of++)
		printf(" %llu", (unsigned long long)s->packets[of]);
	printf(", dropped %llu\n", (unsigned long long)detector_dropped(s->packets));
}

static void looks(const char *what, __u64 since)
{
	struct detector_sums sums;
	int err = detector_sum(&context, since, &sums);

	print(what, err, &sums);
	if (held)
		puts("it is not given back");
}

static void sums(void)
{
	looks("nobody", 0);
	suspect(0x2d000001, SUSPECT_IPV4, 50, 0, 0);
	looks("one, not above", 0);
	suspect(0x2d000002, SUSPECT_IPV4, 50, 3, 0);
	suspect(0x2d000002, SUSPECT_IPV4 | 1 << 8, 60, 2, 4);
	suspect(0x2d000003, SUSPECT_IPV4, 70, 0, 4);
	suspect(0x2d000004, SUSPECT_IPV4, 50, 5, 0);
	suspect(0x20010db8ULL << 32, SUSPECT_IPV6, 80, 5, 1);
	looks("all", 0);
	looks("since 50", 50 * SECOND);
	looks("after 50", 50 * SECOND + 1);
	looks("since 80", 80 * SECOND);
	looks("after 80", 80 * SECOND + 1);
	kernel.on = false;
	looks("none in force", 0);
}

/* Of the last ten seconds: at the bound, before it, and where it counts for less. */
static void now(void)
{
	static const __u64 at[] = { 0, 5, 9, 10, 60, 61 };

	suspect(0x2d000001, SUSPECT_IPV4, 0, 3, 0);
	suspect(0x2d000002, SUSPECT_IPV4, 50, 7, 0);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct detector_sums sums;
		int err;

		kernel.now = at[i] * SECOND;
		err = detector_now(&context, &sums);
		print("now", err, &sums);
		kernel.now += at[i] ? 1 : 0;
		err = detector_now(&context, &sums);
		print("  just after", err, &sums);
	}
	if (held)
		puts("it is not given back");
}

static void failures(void)
{
	static const int with[] = { -ENOENT, -EIO };

	for (size_t i = 0; i < 2; i++) {
		struct detector_sums sums = { .room = 7 };

		fails_with = with[i];
		looks("since", 0);
		print("now", detector_now(&context, &sums), &sums);
	}
}

static void unseen(void)
{
	static const unsigned int matches[] = { MATCH_SOURCE, MATCH_DESTINATION, MATCH_BOTH, MATCH_COMING(MATCH_SOURCE),
						MATCH_LEAVING(MATCH_DESTINATION) };
	struct attachment on[12] = { { .name = "" } };
	char text[UNSEEN_TEXT_MAX];

	printf("of none: '%s'\n", detector_unseen(text, on, 0));
	for (size_t i = 0; i < sizeof(matches) / sizeof(*matches); i++)
		for (enum attach_mode mode = MODE_NATIVE; mode <= MODE_SKB; mode++) {
			on[0] = (struct attachment){ .name = "eth0", .mode = mode, .match = matches[i] };
			printf("%s, match %x: '%s'", attach_mode_names[mode], matches[i], detector_unseen(text, on, 1));
			on[0].gone = true;
			printf(", gone '%s'\n", detector_unseen(text, on, 1));
		}
	/* The text is full with the ninth of them, or one letter before. */
	for (int shorter = 0; shorter <= 1; shorter++) {
		for (int i = 0; i < 10; i++) {
			size_t length = i == 8 ? 5 - (size_t)shorter : 14;

			on[i] = (struct attachment){ .mode = MODE_NATIVE, .match = MATCH_DESTINATION };
			memcpy(on[i].name, "interface_with", length);
			on[i].name[length] = (char)('0' + i);
		}
		for (size_t n = 8; n <= 10; n++) {
			detector_unseen(text, on, n);
			printf("%zu of them: %zu, '%s'\n", n, strlen(text), text);
		}
	}
	snprintf(on[0].name, IF_NAMESIZE, "a\nb");
	printf("'%s'\n", detector_unseen(text, on, 1));
}

static void word_for_word(void)
{
	static const struct scene scenes[] = {
		{ "sums", sums },
		{ "now", now },
		{ "failures", failures },
		{ "unseen", unseen },
	};

	shows_scenes(&shows, scenes, sizeof(scenes) / sizeof(scenes[0]), begin);
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", word_for_word } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
