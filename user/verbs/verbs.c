// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

#include <sys/wait.h>
#include <unistd.h>

#include "change/guard_rails.h"
#include "kernel/live.h"
#include "state/events.h"

#define WHICH_PREFIX "which address or prefix? (- reads them from standard input)"
#define JOINS	     (VERB_CHANGES | VERB_JOINS)

#if defined(WITHOUT_FEEDS) || defined(WITHOUT_FLEET)
static int verb_left_out(const struct call *call)
{
	return fail("%s is " LEFT_OUT, call->verb->name);
}
#endif
#ifdef WITHOUT_FEEDS
#define verb_feeds    verb_left_out
#define verb_announce verb_left_out
#endif
#ifdef WITHOUT_FLEET
#define verb_fleet verb_left_out
#endif

const struct verb verbs[] = {
	{ "attach", .group = "filter on interfaces", .operands = "IFNAME...", .does = "filter on interfaces",
	  .more = "What is loaded is in force there at once. auto tries the driver's own mode first, and then "
		  "the slower generic one, with a warning.",
	  .examples = { "attach eth0", "attach eth0 --mode native --confirm 60s" }, .also = "start enable up -i",
	  .completes = "<interface>", .options = attach_options, .least = 1, .most = VERB_MANY,
	  .asks = "which interface?", .if_news = "--if-needed", .flags = VERB_CHANGES | VERB_IN_CONFIG,
	  .run = verb_attach },
	{ "detach", .operands = "IFNAME... | --all", .does = "stop filtering there",
	  .more = "Everything passes again. Lists and bans stay, and are in force with the next attach; "
		  "with --all --purge they go, too.",
	  .examples = { "detach eth0", "detach --all" }, .also = "stop disable down", .completes = "<interface>",
	  .options = detach_options, .most = VERB_MANY, .flags = VERB_CHANGES, .run = verb_detach },
	{ "doctor", .operands = "[IFNAME...]", .does = "what would be in the way, before anything is attached",
	  .more = "Of this machine and these interfaces, or of all; it changes nothing. The worst comes first: problem "
		  "(attach would fail), note, ok. Ends with 1 where there is a problem.",
	  .examples = { "doctor eth0", "doctor -j" }, .also = "diagnose diag probe doc", .completes = "<interface>",
	  .most = VERB_MANY, .run = verb_doctor },
	{ "load", .group = "ban what lists hold", .operands = "NAME FILE|URL|- | [NAME] @FEED",
	  .does = "create a list, or replace it in one switch; an image: all lists",
	  .examples = { "load drop drop.txt --confirm 60s" }, .also = "create import -N", .completes = "<file>",
	  .options = load_list_options, .least = 1, .most = 2,
	  .asks = "a name and a file, as in: xdp-bloom load drop drop.txt", .if_news = "--if-changed",
	  .flags = JOINS | VERB_IN_CONFIG | VERB_NAMES_LIST, .run = verb_load },
	{ "load", .with = "image", .operands = "--image FILE", .examples = { "load --image drop.image --force" },
	  .options = load_image_options, .asks = "an image contains the names of its lists; another is not wanted",
	  .flags = JOINS, .run = verb_load_image },
	{ "unload", .operands = "NAME...", .does = "drop lists",
	  .more = "What no other list and no ban holds passes from then on.",
	  .examples = { "unload feed", "unload drop feed --confirm 60s" }, .also = "destroy -X", .completes = "<list>",
	  .options = force_options, .least = 1, .most = VERB_MANY, .asks = "which list?",
	  .flags = JOINS | VERB_NAMES_LIST, .run = verb_unload },
	{ "enforce", .operands = "NAME...", .does = "a shadow list begins to drop",
	  .more = "It was loaded with --shadow, or became one by the verb shadow, and has only counted.",
	  .examples = { "enforce feed", "enforce feed --confirm 10m" }, .completes = "<list>", .options = force_options,
	  .least = 1, .most = VERB_MANY, .asks = "which list?", .flags = JOINS | VERB_NAMES_LIST, .run = verb_enforce },
	{ "shadow", .operands = "NAME...", .does = "a list only counts what it would drop",
	  .more = "See stats and lists NAME for what it counts; enforce takes it back.",
	  .examples = { "shadow drop", "shadow drop --confirm 1h" }, .completes = "<list>", .options = force_options,
	  .least = 1, .most = VERB_MANY, .asks = "which list?", .flags = JOINS | VERB_NAMES_LIST, .run = verb_shadow },
	{ "lists", .operands = "[NAME]", .does = "what is loaded; of one list all that is known",
	  .more = "Of one list: where it came from and when, what others hold of it, what it dropped, and its "
		  "busiest entries. A list whose next version was refused is named.",
	  .examples = { "lists", "lists drop" }, .also = "list ls -L", .completes = "<list>", .most = 1,
	  .run = verb_lists },
	{ "feeds", .operands = "[known [PATTERN|@FEED] | check URL|@FEED]",
	  .does = "lists that are fetched, and how fresh each is",
	  .more = "Of each: how old what is in force is, when it is asked for again, and what came of it last. "
		  "load NAME URL --every begins one, load NAME fetches it at once, unload NAME ends it. "
		  "known lists public feeds, which load @FEED takes; check tries all of one, and loads nothing.",
	  .examples = { "feeds", "feeds known spamhaus" }, .completes = "known check", .options = feeds_options,
	  .most = 2, .asks = "alone, known [PATTERN|@FEED], or check URL|@FEED", .run = verb_feeds },
	{ "add", .group = "ban now; exceptions", .operands = "PREFIX...|-",
	  .does = "ban addresses and prefixes, from the moment the command returns",
	  .more = "The kernel ends a ban that has a time. Where there is a ban already, the one of "
		  "the two that ends later stays, with its reason; the command says which it kept.",
	  .examples = { "add 198.51.100.9 --ttl 1h30m --reason 'login failures'",
			"add 203.0.113.0/24 2001:db8:7::/48 --only tcp/22" },
	  .also = "ban block drop deny reject blacklist banip -A -I", .options = add_options, .least = 1,
	  .most = VERB_MANY, .asks = WHICH_PREFIX, .flags = JOINS | VERB_ERRAND, .run = verb_add },
	{ "del", .operands = "PREFIX...|-", .does = "take bans back",
	  .more = "Addresses that a list or a wider ban still holds stay banned, and are named.",
	  .examples = { "del 198.51.100.9", "del 198.51.100.9 --reason 'login failures'" },
	  .also = "delete remove rm unban unblock unbanip -D", .options = del_options, .least = 1, .most = VERB_MANY,
	  .asks = WHICH_PREFIX, .flags = JOINS | VERB_ERRAND, .run = verb_del },
	{ "bans", .operands = "[PREFIX...]", .does = "what was banned with add",
	  .more = "All, or those that lie within a prefix or hold it, and that all the options let through.",
	  .examples = { "bans 198.51.100.0/24", "bans --ends-within 1d --sort end" }, .also = "banned blocked",
	  .options = bans_options, .most = VERB_MANY, .run = verb_bans },
	{ "allow", .operands = "[PREFIX...|-]", .does = "never drop these, whatever lists and bans say",
	  .more = "Alone, it shows these exceptions. One that is very wide takes --force.",
	  .examples = { "allow 203.0.113.1", "allow 2001:db8:7::/48 --confirm 60s" },
	  .also = "whitelist permit accept pass", .options = force_options, .most = VERB_MANY, .asks = WHICH_PREFIX,
	  .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG, .run = verb_allow },
	{ "disallow", .operands = "PREFIX...|-", .does = "take such an exception back, or a part of it",
	  .more = "Lists and bans that hold the address drop it again.",
	  .examples = { "disallow 203.0.113.1", "disallow 203.0.113.1 --confirm 60s" }, .also = "unallow",
	  .options = force_options, .least = 1, .most = VERB_MANY, .asks = WHICH_PREFIX, .flags = JOINS,
	  .run = verb_disallow },
	{ "batch", .operands = "FILE|-", .does = "many commands from a file, all of them or none",
	  .more = "One a line, as on the command line, without \"xdp-bloom\". With --check each line is checked, "
		  "and nothing is done.",
	  .examples = { "batch changes.txt", "--check batch changes.txt" }, .completes = "<file>", .least = 1,
	  .most = 1, .asks = "which file? (- reads standard input)", .flags = VERB_CHANGES | VERB_ERRAND,
	  .run = verb_batch },
	{ "follow", .operands = "-|FILE|exec COMMAND...|socket|routes|crowdsec",
	  .does = "ban what a program sends, a line each, as it comes; or what routes or CrowdSec say",
	  .more = "Lines are +PREFIX TIME REASON (TIME and REASON may be left out; - as the time: without an end) and "
		  "-PREFIX, behind @MEMBER that member's (fleet). \"ok N\": all lines up to the Nth are in force. A command gets that on its standard input; "
		  "its own options stand behind --. socket: from many at a time. routes: a kernel table of blackhole routes, "
		  "which a routing daemon fills, as a list. crowdsec: an agent's decisions.",
	  .examples = { "follow - <new-bans.txt", "follow exec -- cat new-bans.txt" },
	  .completes = "exec socket routes crowdsec <file>", .options = follow_options, .least = 1, .most = VERB_MANY,
	  .asks = "from where? - reads standard input; a file or a named pipe; exec COMMAND; socket; routes --table 666; or crowdsec",
	  .flags = VERB_CHANGES | VERB_IN_CONFIG, .run = verb_follow },
	{ "announce", .does = "tell a routing daemon what this machine bans, as it changes",
	  .more = "Its own bans are blackhole routes of protocol 153 in a table of the kernel, which BIRD or FRR exports to a neighbour; "
		  "routes of others there are not touched. Lists and bans of fleet members are not announced, nor is a ban that "
		  "holds an address that is allowed.",
	  .examples = { "announce --table 667", "announce --table 668 --family 4 --clean" },
	  .options = announce_options, .asks = "only a table: announce --table 667",
	  .flags = VERB_CHANGES | VERB_IN_CONFIG, .run = verb_announce },
	{ "fleet", .operands = "[accept|refuse MEMBER|'*' | WHAT...]",
	  .does = "what other machines ban, and what each of them may",
	  .more = "accept says what a member may; * is whoever has no rule of its own. What this machine bans, allows and needs is its own matter. "
		  "WHAT: forget MEMBER ends all it said. join URL --as NAME: by a Redis or Valkey server; the service takes part; leave; "
		  "resync [MEMBER] reads, and says, all again; acl MEMBER, init: what the server is told; run: take part here.",
	  .examples = { "fleet accept edge-7 --max-entries 1000 --quorum 2", "fleet acl edge-8" },
	  .completes = "accept refuse forget join leave resync acl init run", .options = fleet_options, .most = 2,
	  .asks = "alone, accept|refuse|forget MEMBER, join URL --as NAME, leave, resync, acl MEMBER, init, or run?",
	  .shows = "init", .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG, .run = verb_fleet },
	{ "guards", .group = "not be locked out", .does = "what this machine needs, and where that was learned",
	  .more = "Its addresses, gateways, name servers, who is logged in. A command that would drop any of it "
		  "is refused; the message says how to let it through.",
	  .examples = { "guards", "guards --port 5432" }, .options = guards_options,
	  .asks = "a port goes behind --port: xdp-bloom guards --port 5432",
	  .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG, .run = verb_guards },
	{ "confirm", .does = "keep what was done with --confirm TIME",
	  .more = "Without it the kernel takes the change back when the time is over, whatever has become of "
		  "your session. Ends with 1 where an interface that was kept is not filtered.",
	  .examples = { "load drop drop.txt --confirm 60s", "confirm" }, .also = "commit", .options = confirm_options,
	  .flags = VERB_CHANGES, .run = verb_confirm },
	{ "status", .group = "see what is going on", .does = "one screen: is it on, is it sound, what does it do",
	  .more = "Ends with 0 where all is sound, 1 where a part is missing, 2 where nothing is filtered. "
		  "Rates are those that the service counts.",
	  .examples = { "status", "status -j" }, .also = "info", .run = verb_status },
	{ "top", .does = "what happens now, on the whole screen",
	  .more = "Packets a second, lists, sources, networks and ports. q quits, p pauses, s shows the other side, "
		  "h all keys.",
	  .examples = { "top", "top --passed" }, .options = top_options, .run = verb_top },
	{ "stats", .does = "packets and bytes by verdict, stage, interface and list",
	  .more = "Since the filter was first loaded; with --interval a line of rates each time.",
	  .examples = { "stats", "stats --interval 1s --count 2" }, .options = stats_options,
	  .asks = "a line of rates each second: xdp-bloom stats --interval 1s", .run = verb_stats },
	{ "report", .does = "what attacks looked like",
	  .more = "From the history that the service keeps: sums, peaks, sources, networks, ports, and when "
		  "attacks began and ended.",
	  .examples = { "report --last day --top 3", "report --html >report.html" }, .options = report_options,
	  .run = verb_report },
	{ "events", .does = "what happened, and who did it",
	  .more = "Bans and their ends, loads, refusals, attaches, rotations, the oldest first. With -j a "
		  "document a line.",
	  .examples = { "events --since 1d", "events --follow -j" }, .also = "history journal log",
	  .options = events_options, .run = verb_events },
	{ "watch", .does = "some of the packets that are dropped, or that pass, as they come",
	  .more = "A line each: time, interface, source, what it was, and the list. With -j a document a line.",
	  .examples = { "watch --count 20 --duration 1s", "watch --passed --duration 1s -j >passed.json" },
	  .also = "monitor tail", .options = capture_options + 1, .run = verb_watch },
	{ "capture", .operands = "-w FILE", .does = "some of the packets that are dropped, into a pcapng file",
	  .more = "For Wireshark, tcpdump and replay. The list stands in each packet's comment.",
	  .examples = { "capture -w drops.pcapng --duration 1s", "capture -w drops.pcapng --count 1000 --duration 1s" },
	  .also = "dump tcpdump", .options = capture_options,
	  .asks = "the file goes behind -w: xdp-bloom capture -w FILE", .run = verb_watch },
	{ "metrics", .does = "the counters as Prometheus reads them",
	  .more = "For a textfile collector. The service has the same on /metrics, see xdp-bloom help run.",
	  .examples = { "metrics", "metrics >xdp-bloom.prom" }, .also = "prometheus", .run = verb_metrics },
	{ "show", .does = "interfaces, stages, sizes, memory",
	  .more = "How full the filter is, how often it would be wrong without the exact table, and what goes "
		  "back unless it is confirmed.",
	  .examples = { "show", "show -p" }, .run = verb_show },
	{ "detect", .operands = "[on|off|limit CLASS RATE|WHAT...]",
	  .does = "find who sends too much; alone: what it sees now",
	  .more = "Counts per source, IPv6 by the /64. Classes: packets bytes syn udp icmp fragments, and none at first: unanswered scan. Rates: 200/s, "
		  "1kpps, 100Mbit, none; --on eth1: of what comes in there. Nothing is dropped but what is above a limit --then police. "
		  "WHAT: suggest looks at what passes, and proposes limits; learn 24h has the service do that; "
		  "top shows who sends too much as it comes; attacks: those that it saw; ladder 1m,10m,1h,1d,7d: how long it bans; room: how large "
		  "its tables are; proven IFNAME [off]: nobody can forge there; networks x8 judges "
		  "/24s and /48s by 8 times the limits; trust LIST x10: more for a list of load --trust.",
	  .examples = { "detect on", "detect limit syn 500/s --then police" }, .also = "ratelimit",
	  .completes =
		  "on off limit ladder networks proven trust room top suggest learn attacks packets bytes syn udp icmp fragments unanswered scan "
		  "<interface>",
	  .options = detect_options, .most = 3, .asks = DETECT_ASKS,
	  .shows = "attacks ladder learn proven suggest top trust", .flags = JOINS | VERB_SHOWS_ALONE | VERB_IN_CONFIG,
	  .run = verb_detect },
	{ "test", .group = "ask, and try out", .operands = "ADDR...|-", .does = "would it be dropped, and why",
	  .more = "Asks the program in the kernel itself, and names list, entry and line. Ends with 0 if every "
		  "address is banned, 1 if some address passes.",
	  .examples = { "test 203.0.113.7", "test 203.0.113.7 --proto tcp --dport 22" },
	  .also = "check query lookup get -T -C", .least = 1, .most = VERB_MANY,
	  .asks = "which address? (- reads them from standard input)", .options = test_options, .run = verb_test },
	{ "replay", .operands = "FILE|- [LIST... | --image FILE]", .does = "what a capture would have met",
	  .more = "The filter in force, these lists or this image; with lists or an image no root is needed. "
		  "Packets by list, entry, source and second. A shadow list is judged as if it were enforced.",
	  .examples = { "replay minute.pcap drop.txt", "replay minute.pcap feed.csv --write-dropped hits.pcapng" },
	  .also = "simulate", .completes = "<file>", .options = replay_options, .least = 1, .most = VERB_MANY,
	  .asks = "which capture? (- reads standard input)", .run = verb_replay },
	{ "plan", .operands = "[FILE...]", .does = "sizes and rates before anything is loaded",
	  .more = "Of what is loaded, too.",
	  .examples = { "plan drop.txt feed.csv", "plan --detect --pps 5M --limit 200/s" }, .completes = "<file>",
	  .options = plan_options, .most = VERB_MANY, .run = verb_plan },
	{ "set", .operands = "OPERATION FILE...", .does = "work on list files; needs no root",
	  .more = "union, intersect, subtract, diff, merge or count. Any format that load takes. pack OUT LIST... writes "
		  "a small file for other machines, delta OLD NEW OUT what changes; load takes both.",
	  .examples = { "set diff drop.txt drop-new.txt", "set pack drop.set drop.txt feed.csv" },
	  .completes = "union intersect subtract diff count merge pack delta <file>", .options = set_options,
	  .least = 1, .most = VERB_MANY, .asks = "union, intersect, subtract, diff, count, merge, pack or delta?",
	  .run = verb_set },
	{ "compare", .operands = "A B", .does = "how much two lists, list files or images overlap",
	  .more = "Counted to the address; an image without an exact table is estimated, with the error.",
	  .examples = { "compare drop feed.csv", "compare drop.txt drop-new.txt" }, .completes = "<list>",
	  .options = compare_options, .least = 2, .most = 2,
	  .asks = "two lists, files or images, as in: xdp-bloom compare drop feed.txt", .run = verb_compare },
	{ "save", .group = "move to elsewhere", .operands = "FILE", .does = "write what is in force as an image",
	  .more = "Another machine puts it into force with load --image, without the lists. It contains the "
		  "secret seeds: keep the file private.",
	  .examples = { "save drop.image", "save drop.image && xdp-bloom image show drop.image" }, .also = "export",
	  .completes = "<file>", .least = 1, .most = 1, .asks = "into which file?", .run = verb_save },
	{ "image", .operands = "show FILE | make OUT LIST... | union OUT A B", .does = "images without a kernel",
	  .more = "make writes one of list files, union one that bans what either of two bans, and show checks "
		  "one from end to end. Needs no root.",
	  .examples = { "image make drop.image drop.txt", "image show drop.image" },
	  .completes = "show make union <file>", .options = image_options, .most = VERB_MANY, .run = verb_image },
	{ "run", .group = "keep it running", .does = "the service",
	  .more = "Keeps what its file says, reloads lists whose files change, rotates the seeds, attaches "
		  "interfaces as they come, keeps the history. xdp-bloom.conf(5) has the file.",
	  .examples = { "run --check", "run --listen 127.0.0.1:9617 --rotate-every 1d" }, .also = "daemon service",
	  .options = run_service_options, .asks = "its file goes behind --config: xdp-bloom run --config FILE",
	  .flags = VERB_IN_CONFIG, .run = verb_run_service },
	{ "tune", .does = "settings; they are kept", .more = "Alone, it shows them. With any, the filter is rebuilt.",
	  .examples = { "tune", "tune --headroom 50 --confirm 5m" }, .options = tune_options,
	  .asks = "a setting is an option: xdp-bloom tune --fpr 0.01",
	  .flags = VERB_CHANGES | VERB_SHOWS_ALONE | VERB_JOINS | VERB_IN_CONFIG, .run = verb_tune },
	{ "rotate", .does = "new secret seeds and fresh arrays",
	  .more = "No packet is lost, and nothing stops being banned meanwhile. The service does it by itself, "
		  "see --rotate-every.",
	  .examples = { "rotate", "rotate -v" }, .also = "rekey", .options = rotate_options, .flags = JOINS,
	  .run = verb_rotate },
	{ "flush", .does = "drop every list, ban and exception",
	  .more = "Interfaces stay attached; everything passes. save keeps what was in force.",
	  .examples = { "save before.image && xdp-bloom flush", "flush" }, .also = "clear reset -F",
	  .asks = "it drops everything; one list goes by: xdp-bloom unload NAME", .flags = JOINS, .run = verb_flush },
	{ "restore", .does = "after a reboot: all as it was",
	  .more = "Interfaces, lists, bans and settings. Ends with 1 where some interface is missing.",
	  .examples = { "restore", "restore --spare" }, .options = restore_options,
	  .asks = "it restores what the state (-S) holds; 'state recover' saves a damaged one", .flags = VERB_CHANGES,
	  .run = verb_restore },
	{ "state", .operands = "check | recover [FILE]", .does = "is the state's file sound; save what can be saved",
	  .more = "recover writes whole lists, bans, interfaces and settings into a new file; the damaged one "
		  "stays beside it.",
	  .examples = { "state check", "state recover" }, .completes = "check recover", .least = 1, .most = 2,
	  .asks = "check, or recover [FILE]?", .run = verb_state },
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

static bool is_among(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == length && !strncmp(at, word, length))
			return true;
	return false;
}

static bool only_shows(const struct verb *verb, int argc, char *const *argv, int said)
{
	const struct words words = { (char **)argv, argc };
	const char *operand[2];

	return (said == 1 && verb->flags & VERB_SHOWS_ALONE) ||
	       (verb->shows && verb_operands(verb, &words, operand, 2) == 1 && is_among(verb->shows, operand[0]));
}

void event_verb(const struct verb *verb, const struct context *context, int argc, char *const *argv, int status)
{
	unsigned long long generation;
	char words[512] = "";
	int said = 0;
	size_t n = 0;

	/* Without a state directory there is no event log. */
	if (!(verb->flags & VERB_CHANGES) || context->check || context->unchanged || context->elsewhere ||
	    access(context->state, W_OK))
		return;
	/* Without the common options: they say where and how, not what. */
	for (int i = 0; i < argc && n < sizeof(words); i += option_is_common(argv[i]) ? option_words(NULL, argv[i]) : 1)
		if (!option_is_common(argv[i]))
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", said++ ? " " : "", argv[i]);
	if (status == EXIT_DONE && only_shows(verb, argc, argv, said))
		return;
	generation = kernel_live_generation(context);
	if (status == EXIT_DONE)
		event(context, (struct event){ .kind = EVENT_DONE, .verb = verb->name, .generation = generation }, "%s",
		      words);
	else if (status == EXIT_ERROR)
		event(context,
		      (struct event){ log_last_errno() == GUARD_REFUSED ? EVENT_GUARD : EVENT_REFUSED,
				      .generation = generation },
		      "%s: %s", words, log_last());
}
