// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs/cmd.h"
#include "base/log.h"
#include "base/words.h"

const struct verb verbs[] = {
	{ "attach", cmd_attach, "IFNAME... [--mode auto|native|skb] [--shared]", "filter on interfaces", false },
	{ "detach", cmd_detach, "IFNAME... | --all", "stop filtering there", false },
	{ "load", cmd_load, "NAME FILE|- [OPTIONS]", "create or replace a named list", true },
	{ "load", cmd_load, "--image FILE [--force] [--ban-own] [--wide] [--dry-run]", "put what was saved into force",
	  true },
	{ "save", cmd_save, "FILE", "what is in force as an image, for load --image", false },
	{ "unload", cmd_unload, "NAME...", "drop lists", true },
	{ "enforce", cmd_enforce, "NAME...", "a shadow list begins to drop", true },
	{ "shadow", cmd_shadow, "NAME...", "a list only counts what it would drop", true },
	{ "add", cmd_add, "PREFIX...|- [--ttl 10m] [--reason TEXT]", "ban these, now", true },
	{ "del", cmd_del, "PREFIX...|- [--reason TEXT]", "take a ban back", true },
	{ "bans", cmd_bans, "", "what was banned with add", false },
	{ "allow", cmd_allow, "[PREFIX...|-]", "never drop these, whatever lists say; what there is", true },
	{ "disallow", cmd_disallow, "PREFIX...|-", "take that back", true },
	{ "batch", cmd_batch, "FILE|-", "many commands, all or none of them", false },
	{ "confirm", cmd_confirm, "", "keep what was done with --confirm TIME", false },
	{ "lists", cmd_lists, "", "what is loaded", false },
	{ "test", cmd_test, "ADDR...|-", "would it be dropped, and why", false },
	{ "show", cmd_show, "", "interfaces, stages, sizes, memory", false },
	{ "stats", cmd_stats, "[--interval S [--count N]]", "packets by verdict, stage, interface, list", false },
	{ "top", cmd_top, "", "what happens now, on the whole screen", false },
	{ "report", cmd_report, "[--last minute|hour|day] [--top N] [--html]", "what attacks looked like", false },
	{ "metrics", cmd_metrics, "", "the counters as Prometheus reads them", false },
	{ "watch", cmd_watch, "[--count N] [--duration S]", "some of the packets that are dropped", false },
	{ "capture", cmd_capture, "-w FILE [--count N] [--duration S]", "the same into a pcapng file", false },
	{ "plan", cmd_plan, "[--keys N] [--keys6 N/LEN] [FILE...] [OPTIONS]",
	  "sizes and rates before anything is loaded", false },
	{ "tune", cmd_tune, "[--exact=on|off] [--labels=on|off] [--fpr P] ...", "settings; they are kept", true },
	{ "rotate", cmd_rotate, "", "new seeds, fresh arrays", true },
	{ "flush", cmd_flush, "", "drop every list and ban", true },
	{ "restore", cmd_restore, "", "after a reboot: all as it was", false },
	{ "run", cmd_run, "[--config FILE] [--rotate-every T] [--listen ADDR] [--hook PROGRAM]",
	  "the service; with --check only its file is looked at", false },
	{ "state", cmd_state, "check | recover [FILE]", "is the state's file sound; save what can be saved", false },
	{ "set", cmd_set, "union|intersect|subtract|diff|count|merge FILE...", "work on list files; needs no root",
	  false },
	{ "compare", cmd_compare, "A B", "how much two lists, files or images overlap", false },
	{ "image", cmd_image, "show FILE | make OUT LIST... | union OUT A B", "images without a kernel", false },
};

const size_t verbs_n = sizeof(verbs) / sizeof(verbs[0]);

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verbs_n; i++)
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* In a process of its own: a verb keeps what it was told, and --check ends it. */
int verb_check(const struct context *context, const struct words *w, const char *where, bool files)
{
	struct context line = *context;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		log_where(where);
		opt_check = opt_line = true;
		opt_check_words = !files;
		status = verb_find(w->words[0])->run(&line, w->n, w->words);
		fflush(stdout);
		_exit(status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return because(-EAGAIN, "%s: no process to check it", where);
	return status != 0;
}
