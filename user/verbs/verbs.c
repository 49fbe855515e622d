// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <sys/wait.h>
#include <unistd.h>

#include "change/guard_rails.h"
#include "kernel/live.h"
#include "state/events.h"

#define WHICH_PREFIX "which address or prefix? (- reads them from standard input)"
#define JOINS	     (VERB_CHANGES | VERB_JOINS)

const struct verb verbs[] = {
	{ "attach", .also = "start enable up -i", .operands = "IFNAME... [--mode auto|native|skb] [--shared]",
	  .does = "filter on interfaces", .completes = "<interface>", .options = attach_options, .least = 1,
	  .most = VERB_MANY, .asks = "which interface?", .if_news = "--if-needed",
	  .flags = VERB_CHANGES | VERB_IN_CONFIG, .run = verb_attach },
	{ "detach", .also = "stop disable down", .operands = "IFNAME... | --all", .does = "stop filtering there",
	  .completes = "<interface>", .options = detach_options, .most = VERB_MANY, .flags = VERB_CHANGES,
	  .run = verb_detach },
	{ "load", .also = "create import", .operands = "NAME FILE|- [OPTIONS]",
	  .does = "create or replace a named list", .completes = "<file>", .options = load_list_options, .least = 2,
	  .most = 2, .asks = "a name and a file, as in: xdp-bloom load drop drop.txt", .if_news = "--if-changed",
	  .flags = JOINS | VERB_IN_CONFIG | VERB_NAMES_LIST, .run = verb_load },
	{ "load", .with = "image", .operands = "--image FILE [--force] [--ban-own] [--wide] [--dry-run]",
	  .does = "put what was saved into force", .options = load_image_options,
	  .asks = "an image contains the names of its lists; another is not wanted", .flags = JOINS,
	  .run = verb_load_image },
	{ "save", .also = "export", .operands = "FILE", .does = "what is in force as an image, for load --image",
	  .completes = "<file>", .least = 1, .most = 1, .asks = "into which file?", .run = verb_save },
	{ "unload", .also = "destroy -X", .operands = "NAME...", .does = "drop lists", .completes = "<list>",
	  .options = force_options, .least = 1, .most = VERB_MANY, .asks = "which list?",
	  .flags = JOINS | VERB_NAMES_LIST, .run = verb_unload },
	{ "enforce", .operands = "NAME...", .does = "a shadow list begins to drop", .completes = "<list>",
	  .options = force_options, .least = 1, .most = VERB_MANY, .asks = "which list?",
	  .flags = JOINS | VERB_NAMES_LIST, .run = verb_enforce },
	{ "shadow", .operands = "NAME...", .does = "a list only counts what it would drop", .completes = "<list>",
	  .options = force_options, .least = 1, .most = VERB_MANY, .asks = "which list?",
	  .flags = JOINS | VERB_NAMES_LIST, .run = verb_shadow },
	{ "add", .also = "ban block drop deny reject blacklist banip -A -I",
	  .operands = "PREFIX...|- [--ttl 10m] [--reason TEXT]", .does = "ban these, now", .options = add_options,
	  .least = 1, .most = VERB_MANY, .asks = WHICH_PREFIX, .flags = JOINS, .run = verb_add },
	{ "del", .also = "delete remove rm unban unblock unbanip -D", .operands = "PREFIX...|- [--reason TEXT]",
	  .does = "take a ban back", .options = del_options, .least = 1, .most = VERB_MANY, .asks = WHICH_PREFIX,
	  .flags = JOINS, .run = verb_del },
	{ "bans", .also = "banned blocked",
	  .operands = "[PREFIX...] [--reason WORD] [--ends-within T] [--since T] [--sort HOW] [--count]",
	  .does = "what was banned with add", .options = bans_options, .most = VERB_MANY, .run = verb_bans },
	{ "allow", .also = "whitelist permit accept pass", .operands = "[PREFIX...|-]",
	  .does = "never drop these, whatever lists say; alone: show", .options = force_options, .most = VERB_MANY,
	  .asks = WHICH_PREFIX, .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG, .run = verb_allow },
	{ "disallow", .also = "unallow", .operands = "PREFIX...|-", .does = "take that back", .options = force_options,
	  .least = 1, .most = VERB_MANY, .asks = WHICH_PREFIX, .flags = JOINS, .run = verb_disallow },
	{ "batch", .operands = "FILE|-", .does = "many commands, all or none of them", .completes = "<file>",
	  .least = 1, .most = 1, .asks = "which file? (- reads standard input)", .flags = VERB_CHANGES,
	  .run = verb_batch },
	{ "guards", .operands = "[--port PORT | --no-port PORT]",
	  .does = "what this machine needs, and where that was learned", .options = guards_options,
	  .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG, .run = verb_guards },
	{ "confirm", .also = "commit", .does = "keep what was done with --confirm TIME", .options = confirm_options,
	  .flags = VERB_CHANGES, .run = verb_confirm },
	{ "lists", .also = "list ls -L", .operands = "[NAME]", .does = "what is loaded; of one list all that is known",
	  .completes = "<list>", .most = 1, .run = verb_lists },
	{ "test", .also = "check query lookup get -T -C", .operands = "ADDR...|-",
	  .does = "would it be dropped, and why", .least = 1, .most = VERB_MANY,
	  .asks = "which address? (- reads them from standard input)", .run = verb_test },
	{ "status", .also = "info", .does = "one screen: is it on, is it sound, what does it do", .run = verb_status },
	{ "show", .does = "interfaces, stages, sizes, memory", .run = verb_show },
	{ "stats", .operands = "[--interval S [--count N]]", .does = "packets by verdict, stage, interface, list",
	  .options = stats_options, .run = verb_stats },
	{ "top", .does = "what happens now, on the whole screen", .run = verb_top },
	{ "report", .operands = "[--last minute|hour|day] [--top N] [--html]", .does = "what attacks looked like",
	  .options = report_options, .run = verb_report },
	{ "events", .also = "history journal log", .operands = "[--follow] [--since TIME]",
	  .does = "what happened, and who did it", .options = events_options, .run = verb_events },
	{ "metrics", .also = "prometheus", .does = "the counters as Prometheus reads them", .run = verb_metrics },
	{ "watch", .also = "monitor tail", .operands = "[--count N] [--duration S]",
	  .does = "some of the packets that are dropped", .options = capture_options + 1, .run = verb_watch },
	{ "capture", .also = "dump tcpdump", .operands = "-w FILE [--count N] [--duration S]",
	  .does = "the same into a pcapng file", .options = capture_options, .run = verb_watch },
	{ "replay", .also = "simulate", .operands = "FILE|- [LIST... | --image FILE]",
	  .does = "what a capture would have met", .completes = "<file>", .options = replay_options, .least = 1,
	  .most = VERB_MANY, .asks = "which capture? (- reads standard input)", .run = verb_replay },
	{ "plan", .operands = "[--keys N] [--keys6 N/LEN] [FILE...] [OPTIONS]",
	  .does = "sizes and rates before anything is loaded", .completes = "<file>", .options = plan_options,
	  .most = VERB_MANY, .run = verb_plan },
	{ "tune", .also = "config", .operands = "[--exact=on|off] [--labels=on|off] [--fpr P] ...",
	  .does = "settings; they are kept", .options = tune_options,
	  .flags = VERB_CHANGES | VERB_SHOWS_ALONE | VERB_JOINS | VERB_IN_CONFIG, .run = verb_tune },
	{ "rotate", .also = "rekey", .does = "new seeds, fresh arrays", .options = force_options, .flags = JOINS,
	  .run = verb_rotate },
	{ "flush", .also = "clear reset -F", .does = "drop every list and ban", .flags = JOINS, .run = verb_flush },
	{ "restore", .operands = "[--spare]", .does = "after a reboot: all as it was", .options = restore_options,
	  .flags = VERB_CHANGES, .run = verb_restore },
	{ "run", .also = "daemon service",
	  .operands = "[--config FILE] [--rotate-every T] [--listen ADDR] [--hook PROGRAM]",
	  .does = "the service; with --check only its file is looked at", .options = run_service_options,
	  .flags = VERB_IN_CONFIG, .run = verb_run_service },
	{ "state", .operands = "check | recover [FILE]", .does = "is the state's file sound; save what can be saved",
	  .completes = "check recover", .least = 1, .most = 2, .asks = "check, or recover [FILE]?", .run = verb_state },
	{ "set", .operands = "union|intersect|subtract|diff|count|merge FILE...",
	  .does = "work on list files; needs no root", .completes = "union intersect subtract diff count merge <file>",
	  .options = set_options, .least = 1, .most = VERB_MANY,
	  .asks = "union, intersect, subtract, diff, count or merge?", .run = verb_set },
	{ "compare", .operands = "A B", .does = "how much two lists, files or images overlap", .completes = "<list>",
	  .options = compare_options, .least = 2, .most = 2,
	  .asks = "two lists, files or images, as in: xdp-bloom compare drop feed.txt", .run = verb_compare },
	{ "image", .operands = "show FILE | make OUT LIST... | union OUT A B", .does = "images without a kernel",
	  .completes = "show make union <file>", .options = image_options, .most = VERB_MANY, .run = verb_image },
	{ 0 },
};

/* In a process of its own: --check ends it. */
int verb_check(const struct context *context, const struct words *w, const char *where, bool files)
{
	struct context line = *context;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		log_where(where);
		line.line = true;
		line.check = files ? CHECK_FILES : CHECK_WORDS;
		status = verb_run(verb_find(verbs, w), &line, w);
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return because(-EAGAIN, "%s: no process to check it", where);
	return status != 0;
}

int verbs_help(void)
{
	puts("usage: xdp-bloom [OPTIONS] VERB [ARGS]\n");
	for (const struct verb *v = verbs; v->name; v++)
		printf("  %-8s %-52s %s\n", v->name, v->operands ? v->operands : "", v->does);
	puts("\n'xdp-bloom help VERB' shows the options of one. Those of all:\n");
	options_help(options_common);
	puts("  -V, --version\n  -h, --help\n\n"
	     "Exit status: 0 done, or every address banned; 1 (test) some address passes; 2 error, nothing changed.");
	return out_end();
}

int verb_help(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++) {
		if (strcmp(v->name, name) != 0)
			continue;
		printf("xdp-bloom %s %s\n  %s\n", name, v->operands ? v->operands : "", v->does);
		options_help(v->options);
	}
	return out_end();
}

int verbs_list(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++) {
		if (!name && !v->with)
			puts(v->name);
		if (!name || strcmp(v->name, name) != 0)
			continue;
		if (v->completes)
			printf("\t%s\n", v->completes);
		options_list(v->options);
	}
	options_list(options_common);
	return out_end();
}

void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status)
{
	unsigned long long generation;
	char words[512] = "";
	int said = 0;
	size_t n = 0;

	/* Without a state directory there is no event log. */
	if (!(verb->flags & VERB_CHANGES) || context->check || access(context->state, W_OK))
		return;
	/* Without the common options: they say where and how, not what. */
	for (int i = 0; i < argc && n < sizeof(words); i += option_is_common(argv[i]) ? option_words(NULL, argv[i]) : 1)
		if (!option_is_common(argv[i]))
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", said++ ? " " : "", argv[i]);
	if (status == EXIT_DONE && said == 1 && verb->flags & VERB_SHOWS_ALONE)
		return;
	generation = kernel_live_generation(context);
	if (status == EXIT_DONE)
		event(context, (struct event){ EVENT_DONE, verb->name, generation }, "%s", words);
	else if (status == EXIT_ERROR)
		event(context,
		      (struct event){ log_last_errno() == GUARD_REFUSED ? EVENT_GUARD : EVENT_REFUSED,
				      .generation = generation },
		      "%s: %s", words, log_last());
}
