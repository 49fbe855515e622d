// SPDX-License-Identifier: GPL-2.0-only
/* replay: what the filter in force, or lists, or an image would have done to the packets of a capture */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "change/change.h"
#include "filter/build.h"
#include "filter/plan_sizes.h"
#include "filter/settings.h"
#include "image/contents.h"
#include "image/image.h"
#include "kernel/ask.h"
#include "kernel/generation.h"
#include "kernel/root.h"
#include "observe/capture_apart.h"
#include "observe/pcapng.h"
#include "observe/senders.h"
#include "observe/tallies.h"
#include "state/bans.h"
#include "state/settings.h"
#include "verbs/list_files.h"
#include "verbs/packets_out.h"
#include "verbs/replay.h"
#include "verbs/verbs.h"

#define TOP_USUAL 10

struct options {
	const char *image, *passed, *dropped;
	struct reader_options reading;
	struct number top;
	bool detect;
};

const struct option_spec replay_options[] = {
	{ "image", .type = OPTION_FILE, AT(options, image), .value = "FILE",
	  .does = "what this image would have done" },
	{ "write-passed", .type = OPTION_FILE, AT(options, passed), .value = "FILE",
	  .does = "the packets that pass, as pcapng" },
	{ "write-dropped", .type = OPTION_FILE, AT(options, dropped), .value = "FILE",
	  .does = "those that are dropped, each with its list" },
	{ "top", .type = OPTION_WHOLE, AT(options, top), .least = 1, .most = 1000000, .value = "N",
	  .does = "so many of each kind (10)", .wants = "a number from 1 to 1000000" },
	{ "detect", AT(options, detect), .does = "limits that would suit what passes" },
	READING_OPTIONS(options, reading.format, reading.skip_bad, reading.where),
	OPTIONS_END(struct options),
};

/* The generation that judges, and where it came from. */
struct filter {
	const char *against;
	struct generation g; /* members for maps are addresses */
	struct list_files files;
	struct image image;
	struct candidate live;
	bool is_live, is_built;
	struct explanation e;
};

struct run {
	struct replay replay;
	const struct explanation *e;
	struct packets_out out[2];
	struct pcapng *passed, *dropped; /* NULL: not asked for */
	const struct context *context;
	int capture;
	unsigned int seen;
};

/* --- The filter --------------------------------------------------------------------------------------------------- */

/* Those of this machine, where they may be read, say whose addresses are judged. */
static struct settings judges_by(const struct context *context)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct state *state = NULL;

	if (!state_open(&state, context, false))
		settings = settings_read(state);
	state_close(state);
	return settings;
}

static int build(struct filter *f, const struct context *context, const struct options *o, char **names, size_t n)
{
	struct settings settings = SETTINGS_DEFAULT, here = judges_by(context);
	struct owned owned = { 0 };
	int err = list_files_read(&f->files, context, &o->reading, names, n);

	f->against = "lists";
	settings.embedded = here.embedded;
	settings.inner = here.inner;
	err = err ?: list_files_settle(&f->files, &owned) ?: plan_generation(&f->g, &owned, &settings);
	if (!err) {
		err = build_until_placed(&f->g, &owned, &(struct build_how){ 0 });
		f->is_built = !err;
	}
	owned_free(&owned);
	return err;
}

/* Saved without labels, it may have lists' networks on the account of live bans. */
static bool has_live_label(const struct image *image)
{
	const struct generation *g = &image->g;

	return image_is_exact(image) &&
	       (!image->header->lists || g->gate4_labels || !g->all24 || g->gate4_label != LABEL_LIVE);
}

static int open_image(struct filter *f, const struct context *context, const char *path, bool *live_is_known)
{
	int err = image_open(&f->image, path, path, true);
	struct settings here;

	if (err)
		return err;
	f->against = "image";
	f->g = f->image.g;
	here = judges_by(context);
	f->g.embedded = here.embedded;
	f->g.inner = here.inner;
	*live_is_known = has_live_label(&f->image);
	return image_lists(&f->image, &f->e.lists, &f->e.n);
}

static int open_live(struct filter *f, const struct context *context, bool *live_is_known)
{
	struct state *state = NULL;
	int err = kernel_ready(context) ?: kernel_open_live(context, &f->live);

	f->against = "in force";
	if (err_is(err, ENOENT))
		return because(err, "nothing is in force here; name lists to try: xdp-bloom replay FILE LIST...");
	if (err)
		return err;
	f->is_live = true;
	f->g = f->live.g;
	if (f->g.scoped)
		return because(-EOPNOTSUPP,
			       "lists with a scope are in force, and replay asks for no ports: name lists to"
			       " try: xdp-bloom replay FILE LIST...");
	err = state_open(&state, context, false);
	if (!err)
		*live_is_known = live_label_is_exact(context, state);
	state_close(state);
	err = err ?: explain(context, &f->e, NULL, 0);
	/* Names and labels are wanted until the end, sets only when it is read. */
	for (size_t i = 0; f->e.sets && i < f->e.n; i++)
		ranges_free(&f->e.sets[i]);
	return err;
}

static int open_filter(struct filter *f, struct run *run, const struct call *call)
{
	const struct options *o = call->options;
	int err;

	if (o->image)
		err = open_image(f, call->context, o->image, &run->replay.live_is_known);
	else if (call->n > 1)
		err = build(f, call->context, o, call->operands + 1, (size_t)call->n - 1);
	else
		err = open_live(f, call->context, &run->replay.live_is_known);
	if (!err && f->files.n) {
		f->e.lists = f->files.lists;
		f->e.sets = f->files.sets;
		f->e.n = f->files.n;
		f->files.lists = NULL;
		f->files.sets = NULL;
	}
	run->replay.g = &f->g;
	run->e = &f->e;
	return err;
}

static void close_filter(struct filter *f)
{
	if (f->is_built)
		arrays_release(&f->g);
	if (f->is_live)
		kernel_release(&f->live);
	image_close(&f->image);
	list_files_free(&f->files);
	explain_free(&f->e);
}

/* What was judged by one version of the lists is not traced in another, which may have other labels. */
static int trace_live(struct filter *f, const struct context *context, const struct addr *addrs, size_t n, bool *traced)
{
	struct explanation now, before = f->e;
	int err = explain(context, &now, addrs, n);

	*traced = !err && !now.image && now.generation == before.generation && now.edits == before.edits;
	if (!err && !*traced && !before.image)
		warn("the lists changed while it read; which entries dropped what is not known");
	f->e = *traced ? now : before;
	explain_free(*traced ? &before : &now);
	return err;
}

/* Explains the addresses of these; for an image, there is nothing to explain. */
static int trace(struct filter *f, const struct context *context, const struct addr *addrs, size_t n, bool *traced)
{
	if (f->is_live)
		return trace_live(f, context, addrs, n, traced);
	*traced = f->files.paths;
	return *traced ? explain_files(context, &f->e, f->files.paths, addrs, n) : 0;
}

/* --- The packets -------------------------------------------------------------------------------------------------- */

const char *replayed_list(const struct explanation *e, unsigned int label)
{
	if (label == LABEL_LIVE)
		return LIVE_LIST;
	for (size_t i = 0; i < e->n && label < LABELS; i++)
		if (list_counts(&e->lists[i]) && e->lists[i].label == label)
			return e->lists[i].name;
	return NULL;
}

static int write_packet(struct run *run, const struct captured *p, __u32 answer)
{
	bool drops = answer == ANSWER_HIDDEN || (answer != ANSWER_UNPARSED && answer & ANSWER_DROP);
	struct pcapng *file = drops ? run->dropped : run->passed;
	char name[16], comment[160];
	const char *list = NULL;

	if (!file)
		return 0;
	if (drops && answer != ANSWER_HIDDEN && ANSWER_STAGE(answer) != STAGE_FILTER)
		list = replayed_list(run->e, ANSWER_LABEL(answer));
	snprintf(name, sizeof(name), "%u", p->interface);
	if (drops)
		snprintf(comment, sizeof(comment), "dropped by %s (%s)", list ? list : "the filter",
			 answer_stage(answer));
	return pcapng_packet(file, name, p->link, p->time, p->bytes, p->size, p->length, drops ? comment : NULL);
}

/* How far it is is not asked for each. */
#define PACKETS_A_LOOK 4096

static int on_packet(void *arg, const struct captured *p)
{
	struct run *run = arg;
	__u32 answer;
	bool judged;
	int err = replay_packet(&run->replay, p, &answer, &judged);

	if (!(++run->seen % PACKETS_A_LOOK))
		progress(run->context, "reading the capture", progress_of(run->capture));
	if (err || !judged || (!run->passed && !run->dropped))
		return err;
	err = write_packet(run, p, answer);
	return err ? because(err, "what is written: %s", errno_text(err)) : 0;
}

static bool is_input(const struct packets_out *out, const char *path)
{
	struct stat st;

	return !(strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st)) && packets_out_is(out, &st);
}

/* Nothing that is read may be written, nor one file twice. */
static int check_output(const struct packets_out *out, const struct filter *f, const struct options *o, int capture)
{
	struct stat st;

	if (!fstat(capture, &st) && packets_out_is(out, &st))
		return because(-EINVAL, "%s: that is the capture itself", out->path);
	if (o->image && is_input(out, o->image))
		return because(-EINVAL, "%s: that is the image", out->path);
	for (size_t i = 0; f->files.paths && i < f->e.n; i++)
		if (f->files.paths[i] && is_input(out, f->files.paths[i]))
			return because(-EINVAL, "%s: that is one of the lists", out->path);
	return 0;
}

static int open_outputs(struct run *run, const struct filter *f, const struct context *context, const struct options *o,
			int capture)
{
	struct packets_out *passed = &run->out[0], *dropped = &run->out[1];
	int err = packets_out_look(passed, o->passed) ?: packets_out_look(dropped, o->dropped);

	err = err ?: check_output(passed, f, o, capture) ?: check_output(dropped, f, o, capture);
	if (!err && packets_out_same(passed, dropped))
		err = because(-EINVAL, "what passes and what is dropped cannot go into one file");
	if (!err)
		change_check(context, false);
	err = err ?: packets_out_open(passed) ?: packets_out_open(dropped);
	run->passed = passed->file;
	run->dropped = dropped->file;
	return err;
}

/* Both or none: half of it would be taken for all. */
static int close_outputs(struct run *run, int err)
{
	err = packets_out_close(&run->out[0], err);
	err = packets_out_close(&run->out[1], err);
	err = packets_out_keep(&run->out[0], err);
	return packets_out_keep(&run->out[1], err);
}

static int open_capture(const char *path, int *fd)
{
	*fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (*fd < 0)
		return because(-errno, "%s: %s", path, strerror(errno));
	if (isatty(*fd))
		return because(-EINVAL, "standard input is a terminal; give a file, or a pipe: tcpdump -w - | "
					"xdp-bloom replay -");
	return 0;
}

static int read_packets(struct run *run, const struct filter *f, const struct call *call, struct capture_end *end)
{
	const struct options *o = call->options;
	const char *path = call->operands[0];
	int fd = -1, err = open_capture(path, &fd);

	run->context = call->context;
	run->capture = fd;
	err = err ?: open_outputs(run, f, call->context, o, fd);
	if (!err) {
		err = capture_read_apart(fd, run->passed || run->dropped, on_packet, run, end);
		if (err)
			err = because(err, "%s: %s", strcmp(path, "-") ? path : "standard input", reason(err));
		progress_end();
	}
	err = close_outputs(run, err);
	if (fd > STDIN_FILENO)
		close(fd);
	return err;
}

/* --- The report --------------------------------------------------------------------------------------------------- */

/* All sources that a list dropped or counted. */
static int all_dropped(const struct replay_table *t, const struct replay_source ***who, size_t *n)
{
	const struct replay_source **shadow = NULL;
	size_t shadows;
	int err = replay_table_top(t, FATE_DROPPED, SIZE_MAX, who, n)
			  ?: replay_table_top(t, FATE_SHADOW, SIZE_MAX, &shadow, &shadows);

	if (!err && shadows) {
		const struct replay_source **both = reallocarray((void *)*who, *n + shadows, sizeof(*both));

		err = both ? 0 : -ENOMEM;
		if (both) {
			memcpy((void *)(both + *n), (void *)shadow, shadows * sizeof(*both));
			*who = both;
			*n += shadows;
		}
	}
	free((void *)shadow);
	return err;
}

static int report(struct filter *f, const struct run *run, const struct call *call, const struct capture_end *end,
		  int *status)
{
	const struct options *o = call->options;
	unsigned int top = o->top.given ? (unsigned int)o->top.value : TOP_USUAL;
	const struct replay_source **traced = NULL, **dropped = NULL, **passed = NULL;
	struct replayed r = { .file = call->operands[0],
			      .against = f->against,
			      .replay = &run->replay,
			      .e = &f->e,
			      .top = top,
			      .cut = end->cut };
	struct replay_entry *entries = NULL;
	struct addr *addrs = NULL;
	size_t n = 0;
	int err = all_dropped(&run->replay.sources, &traced, &n);

	if (!err) {
		addrs = calloc(n + 1, sizeof(*addrs));
		err = addrs ? 0 : -ENOMEM;
	}
	if (!err) {
		replay_addresses(&f->g, traced, n, addrs);
		err = trace(f, call->context, addrs, n, &r.traced);
	}
	if (!err && r.traced)
		err = replay_entries(&f->e, traced, addrs, n, &entries, &r.entries_n);
	err = err ?: replay_table_top(&run->replay.sources, FATE_DROPPED, top, &dropped, &r.dropped_n) ?:
		     replay_table_top(&run->replay.sources, FATE_PASSED, top, &passed, &r.passed_n);
	r.entries = entries;
	r.dropped = dropped;
	r.passed = passed;
	if (!err)
		*status = call->context->json ? replayed_json(call->context, &r) : replayed_text(call->context, &r);
	free(entries);
	free(addrs);
	free((void *)traced);
	free((void *)dropped);
	free((void *)passed);
	return err;
}

int verb_replay(const struct call *call)
{
	const struct options *o = call->options;
	struct capture_end end = { 0 };
	static struct run run; /* too large for a stack */
	struct filter f = { 0 };
	int status = 0, err = 0;

	if (o->image && call->n > 1)
		return fail("replay: lists or --image, not both");
	for (int i = 1; i < call->n && !strcmp(call->operands[0], "-"); i++)
		if (!strcmp(call->operands[i], "-"))
			return fail("replay: only one of them can be standard input");
	if (call->n > LABELS)
		return fail("replay: at most %d lists", LABELS - 1);
	if (o->detect) {
		run.replay.senders = senders_new();
		if (!run.replay.senders)
			return fail("replay: no memory");
	}
	err = open_filter(&f, &run, call) ?: read_packets(&run, &f, call, &end);
	replay_end(&run.replay);
	if (!err && end.cut)
		warn("%s: it ends within a packet, after %llu whole ones", call->operands[0],
		     (unsigned long long)end.packets);
	err = err ?: report(&f, &run, call, &end, &status);
	if (err)
		status = fail("replay: %s", reason(err));
	close_filter(&f);
	replay_free(&run.replay);
	return status;
}
