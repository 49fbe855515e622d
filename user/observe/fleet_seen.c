// SPDX-License-Identifier: GPL-2.0-only
#include "observe/fleet_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/close_fd.h"
#include "base/context.h"
#include "base/log.h"
#include "base/out.h"
#include "base/state_path.h"
#include "base/trusted_dir.h"
#include "state/unshown.h"

/* Of all members that may be known. */
#define BYTES_MOST (4 << 20)

static json_t *member_json(const struct member_seen *m)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "name", m->name, "heard", (json_int_t)m->heard,
			 "entries", (json_int_t)m->entries, "gaps", (json_int_t)m->gaps, "bad", (json_int_t)m->bad,
			 "p50", m->p50, "p99", m->p99, "why", out_text(m->why));
}

static json_t *as_json(const struct fleet_seen *s)
{
	json_t *members = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(members, member_json(&s->members[i]));
	return json_pack("{s:b, s:I, s:I, s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:I, s:o, s:o}", "up", s->up, "at",
			 (json_int_t)s->at, "since", (json_int_t)s->since, "version", out_text(s->version), "why",
			 out_text(s->why), "clock", s->clock_known, "offset", (json_int_t)s->offset, "rtt",
			 (json_int_t)s->rtt, "said", (json_int_t)s->said, "unsaid", out_text(s->unsaid), "lost_at",
			 (json_int_t)s->lost_at, "lost", out_text(s->lost), "members", members);
}

#define FRESH STATE_FLEET ".new"

/* It need not outlast the machine. */
int fleet_seen_write(const struct context *context, const struct fleet_seen *seen)
{
	char fresh[STATE_PATH_MAX], path[STATE_PATH_MAX];
	json_t *document = as_json(seen);
	int err = document ? trust_directory(context->state) : -ENOMEM, fd;

	if (err) {
		json_decref(document);
		return err;
	}
	state_path(fresh, context->state, FRESH);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || json_dumpfd(document, fd, JSON_COMPACT) ||
	    rename(fresh, state_path(path, context->state, STATE_FLEET)))
		err = because(-(errno ?: EIO), "%s: %s", fresh, strerror(errno ?: EIO));
	close_fd(fd);
	json_decref(document);
	if (err) {
		unlink(fresh);
		unshown_note(context->state);
	}
	return err;
}

void fleet_seen_forget(const struct context *context)
{
	char path[STATE_PATH_MAX];

	unlink(state_path(path, context->state, STATE_FLEET));
}

static void take_text(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	clean_copy(to, size, text ?: "");
}

static int64_t take_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int64_t take_time(const json_t *object, const char *key)
{
	int64_t time = take_number(object, key);

	return time < 0 || time > TIME_MOST ? 0 : time;
}

static bool take_member(struct member_seen *m, const json_t *from)
{
	*m = (struct member_seen){ .heard = take_number(from, "heard"),
				   .entries = take_number(from, "entries"),
				   .gaps = take_number(from, "gaps"),
				   .bad = take_number(from, "bad"),
				   .p50 = json_number_value(json_object_get(from, "p50")),
				   .p99 = json_number_value(json_object_get(from, "p99")) };
	take_text(m->name, sizeof(m->name), from, "name");
	take_text(m->why, sizeof(m->why), from, "why");
	if (m->heard < 0 || m->heard / 1000 > TIME_MOST)
		m->heard = 0;
	return member_name_is_sound(m->name, false);
}

static bool take(struct fleet_seen *s, const json_t *from)
{
	const json_t *members = json_object_get(from, "members");

	*s = (struct fleet_seen){ .up = json_is_true(json_object_get(from, "up")),
				  .at = take_time(from, "at"),
				  .since = take_time(from, "since"),
				  .clock_known = json_is_true(json_object_get(from, "clock")),
				  .offset = take_number(from, "offset"),
				  .rtt = take_number(from, "rtt"),
				  .said = take_number(from, "said"),
				  .lost_at = take_time(from, "lost_at") };
	take_text(s->version, sizeof(s->version), from, "version");
	take_text(s->why, sizeof(s->why), from, "why");
	take_text(s->unsaid, sizeof(s->unsaid), from, "unsaid");
	take_text(s->lost, sizeof(s->lost), from, "lost");
	s->members = calloc(json_array_size(members) + 1, sizeof(*s->members));
	for (size_t i = 0; s->members && i < json_array_size(members); i++)
		s->n += take_member(&s->members[s->n], json_array_get(members, i));
	return s->members && s->at;
}

bool fleet_seen_read(const struct context *context, struct fleet_seen *seen)
{
	char path[STATE_PATH_MAX];
	int fd = open(state_path(path, context->state, STATE_FLEET), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	json_t *document = NULL;
	bool is;

	*seen = (struct fleet_seen){ 0 };
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= BYTES_MOST)
		document = json_loadfd(fd, 0, NULL);
	close_fd(fd);
	is = document && take(seen, document);
	json_decref(document);
	if (!is)
		fleet_seen_free(seen);
	return is;
}

void fleet_seen_free(struct fleet_seen *seen)
{
	free(seen->members);
	*seen = (struct fleet_seen){ 0 };
}

const struct member_seen *fleet_seen_of(const struct fleet_seen *seen, const char *name)
{
	for (size_t i = 0; i < seen->n; i++)
		if (!strcmp(seen->members[i].name, name))
			return &seen->members[i];
	return NULL;
}
