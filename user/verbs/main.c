// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "verbs/verbs.h"

/* Options may stand before the verb: they are moved behind it, where its own options are read. */
static int verb_first(int argc, char **argv)
{
	int at = 1, taken;

	while (at < argc && (taken = option_words(NULL, argv[at])))
		at += taken;
	if (at < argc) {
		char *verb = argv[at];

		memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
		argv[1] = verb;
	}
	return at;
}

/* Is there such an option, and is it not what another one takes? */
static bool asks(const struct verb *verb, int argc, char **argv, const char *letter, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i += option_words(verb ? verb->options : NULL, argv[i]) ?: 1)
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

/* How many verbs take it, and one of them. */
static int verbs_with(const char *option, const char **takes)
{
	int n = 0;

	for (const struct verb *v = verbs; v->name; v++) {
		if (!option_is_of(v->options, option))
			continue;
		n += !n || strcmp(*takes, v->name) != 0;
		*takes = v->name;
	}
	return n;
}

/* `name`: NULL if there was none. `before`: the words that stood before it: "-A" is a verb of other tools. */
static int no_verb(const char *name, int n, char **before)
{
	struct nearest near = { 0 };
	const char *takes = "";
	int n_take;

	for (int i = 0; i < n; i++) {
		near.word = before[i];
		if (before[i][0] != '-' || option_is_common(before[i]))
			continue;
		n_take = verbs_with(before[i], &takes);
		if (n_take == 1)
			return fail("'%s' stands behind its verb: xdp-bloom %s %s", before[i], takes, before[i]);
		if (n_take)
			continue; /* the verb is what is wrong */
		verb_nearest(verbs, &near);
		if (!near.name[0] && !strncmp(before[i], "--", 2)) {
			near.word += 2;
			verb_nearest(verbs, &near);
		}
		if (!near.name[0])
			option_nearest(&near, NULL);
		if (near.name[0] || name)
			return fail("there is no option '%s'%s", before[i],
				    nearest_text(&near, "; see xdp-bloom help"));
	}
	if (!name)
		return fail("which verb, after '%s'? see xdp-bloom help", n ? before[n - 1] : "");
	near.word = name;
	return fail("there is no verb '%s'%s", name, verb_meant(&near, "; see xdp-bloom help"));
}

/* "help", "help load" */
static int help(int argc, char **argv)
{
	int at = 2, taken;

	while (at < argc && (taken = option_words(NULL, argv[at])))
		at += taken;
	if (at >= argc || !strcmp(argv[at], "help"))
		return verbs_help();
	return verb_find(verbs, &(struct words){ argv + at, 1 }) ? verb_help(argv[at]) : no_verb(argv[at], 0, NULL);
}

static int run_verb(const struct verb *verb, struct context *context, int argc, char **argv)
{
	/* A copy: the verb takes the options out. */
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	int status;

	if (!words)
		return fail("out of memory");
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	context->words = words;
	log_subject =
		(struct log_subject){ verb->name, verb_list(verb, &(struct words){ words, argc }), clock_seconds() };
	status = verb_run(verb, context, &(struct words){ argv, argc });
	event_verb(verb, context, argc, words, status);
	free(words);
	return status;
}

int main(int argc, char **argv)
{
	struct context context = CONTEXT_DEFAULT;
	const struct verb *verb;
	sigset_t none;
	bool named;
	int fd, at;

	/* A daemon's thread may block all, and hand that down; we handle faults, and are told to end, by signals. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);  /* our parent may have ignored it; we wait for our children */
	signal(SIGXFSZ, SIG_IGN);  /* a file-size limit is reported like a full disk */
	prctl(PR_SET_DUMPABLE, 0); /* a core would hold the seeds */
	/* If 0, 1 or 2 is closed, no file of ours may take its place. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	out_begin();
	from_environment(&context.state, "XDP_BLOOM_STATE");
	from_environment(&context.bpffs, "XDP_BLOOM_BPFFS");
	if (argc >= 2 && !strcmp(argv[1], "--list-options"))
		return verbs_list(argc > 2 ? argv[2] : NULL);
	if (argc < 2) {
		verbs_help();
		return fail("which verb?");
	}
	at = verb_first(argc, argv);
	named = at < argc;
	verb = named ? verb_find(verbs, &(struct words){ argv + 1, argc - 1 }) : NULL;
	if (asks(verb, argc, argv, "-h", "--help") && (verb || !named))
		return verb ? verb_help(verb->name) : verbs_help();
	if (asks(verb, argc, argv, "-V", "--version")) {
		puts("xdp-bloom " VERSION);
		return out_end();
	}
	if (!named)
		return no_verb(NULL, argc - 1, argv + 1);
	if (!strcmp(argv[1], "help"))
		return help(argc, argv);
	return verb ? run_verb(verb, &context, argc - 1, argv + 1) : no_verb(argv[1], at - 1, argv + 2);
}
