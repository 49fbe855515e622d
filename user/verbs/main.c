// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "verbs/verb_event.h"
#include "verbs/verbs.h"

static int help(void)
{
	puts("usage: xdp-bloom [OPTIONS] VERB [ARGS]\n");
	for (size_t i = 0; i < verbs_n; i++)
		printf("  %-8s %-52s %s\n", verbs[i].name, verbs[i].args, verbs[i].does);
	puts("\nload: --allow (an allow list) or --shadow (only counts), --format F, --skip-bad, --dry-run, --confirm TIME,\n"
	     "  --bogons=keep|refuse (private, loopback, link-local, multicast; left out otherwise),\n"
	     "  --ban-own, --wide, --big-change, or --force against all guard rails.\n"
	     "attach: also --confirm TIME. unload, enforce, shadow, allow, disallow, add: also --force.\n"
	     "add: also --keep-longer (a ban that ends later stays).\n"
	     "plan: --fpr P, --memory MAX, --headroom PCT, --exact=on|off, --layout L: what is pinned; it solves for the rest,\n"
	     "  and without keys for how many fit. Also --format F, --skip-bad.\n"
	     "image make: --like IMAGE (its seeds and shape), --headroom PCT, --exact=on|off, --format F, --skip-bad.\n"
	     "tune: also --layout auto|lanes|lanes2|classic, --k N (of classic; 0: the best), --headroom PCT, --samples N (of dropped packets, a second and CPU), --memory MAX (64M; 0: half of what is free); alone it shows the settings.\n");
	puts("  -j, --json        one JSON document      -p, --pretty   the same, indented\n"
	     "  -q, --quiet       no warnings            -v, --verbose  say what is done\n"
	     "  -S, --state DIR   where lists are kept (/var/lib/xdp-bloom; XDP_BLOOM_STATE)\n"
	     "  -B, --bpffs DIR   where the kernel's part is pinned (/sys/fs/bpf/xdp-bloom; XDP_BLOOM_BPFFS)\n"
	     "  --log text|json   how errors and warnings are written\n"
	     "  --wait SECONDS    how long for a command that is changing something (60)\n"
	     "  -V, --version     -h, --help\n\n"
	     "Exit status: 0 done, or every address banned; 1 (test) some address passes; 2 error, nothing changed.");
	return fflush(stdout) ? EXIT_ERROR : EXIT_DONE;
}

/* Options may stand before the verb: they are moved behind it, where its own options are read. */
static int verb_first(int argc, char **argv)
{
	int at = 1;

	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		const char *option = argv[at++];
		bool long_value = !strcmp(option, "--state") || !strcmp(option, "--bpffs") ||
				  !strcmp(option, "--log") || !strcmp(option, "--wait");
		size_t flags = 1 + strspn(option + 1, "jpqv");
		bool short_value =
			option[1] != '-' && strchr("SB", option[flags]) && option[flags] && !option[flags + 1];

		if (long_value || short_value)
			at++;
	}
	if (at < argc) {
		char *verb = argv[at];

		memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
		argv[1] = verb;
	}
	return at;
}

static bool asks(int argc, char **argv, const char *letter, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], letter) || !strcmp(argv[i], word))
			return true;
	return false;
}

static void from_environment(const char **option, const char *name)
{
	const char *value = getenv(name);

	if (value && *value)
		*option = value;
}

static int run_verb(const struct verb *verb, struct context *context, int argc, char **argv)
{
	/* The verb takes its options out. */
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	int status;

	if (!words)
		return fail("out of memory");
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	status = verb->run(context, argc, argv);
	event_verb(argc, words, status);
	free(words);
	return status;
}

int main(int argc, char **argv)
{
	struct context context = CONTEXT_DEFAULT;
	const struct verb *verb;
	int fd;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);  /* who started us may ignore how his end; we look how ours do */
	signal(SIGXFSZ, SIG_IGN);  /* a file that may not grow is told of like a full disk */
	prctl(PR_SET_DUMPABLE, 0); /* a core would hold the seeds */
	/* Whoever starts us without them must not have a file of ours take their place. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	from_environment(&opt_state, "XDP_BLOOM_STATE");
	from_environment(&opt_bpffs, "XDP_BLOOM_BPFFS");
	if (asks(argc, argv, "-h", "--help") || (argc == 2 && !strcmp(argv[1], "help")))
		return help();
	if (asks(argc, argv, "-V", "--version")) {
		puts("xdp-bloom " VERSION);
		return EXIT_DONE;
	}
	if (argc < 2)
		return fail("which verb? see xdp-bloom --help");
	if (verb_first(argc, argv) >= argc)
		return fail("which verb, after '%s'? see xdp-bloom --help", argv[argc - 1]);
	verb = verb_find(argv[1]);
	if (verb)
		return run_verb(verb, &context, argc - 1, argv + 1);
	return fail("there is no verb '%s'; see xdp-bloom --help", argv[1]);
}
