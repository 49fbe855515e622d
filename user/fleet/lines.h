/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of fields with a tab between them, both ways over a stream that does not block; what goes over it:
 * docs/design.md */
#ifndef FLEET_LINES_H
#define FLEET_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* No line of either side is longer. */
#define FLEET_LINE_MAX 1024
#define FLEET_FIELDS   8

/* What comes in. Zeroed is empty. */
struct lines {
	char *bytes;
	size_t at, end;
};

#define LINES_ROOM ((size_t)64 << 10)

/* Reads what is there, once. 1; 0: nothing, or no room until lines are taken; -EPIPE: the other side has ended. */
int lines_fill(struct lines *l, int fd);
/* Is there no room for more? */
bool lines_full(const struct lines *l);
/* The next line, ended by a NUL; NULL: none yet. It is there until lines_fill(). One that is too long: -> "" */
char *lines_next(struct lines *l);
void lines_free(struct lines *l);

/* Its fields, at most FLEET_FIELDS; those that it does not have are "". How many it has. */
int lines_fields(char *line, char *fields[FLEET_FIELDS]);

/* What goes out. Zeroed is empty. */
struct outgoing {
	char *bytes;
	size_t at, end, room;
};

/* Room for n more bytes; NULL: there is no memory. outgoing_added() says how many were written there. */
char *outgoing_room(struct outgoing *o, size_t n);
void outgoing_added(struct outgoing *o, size_t n);
bool outgoing_add(struct outgoing *o, const char *bytes, size_t n);
__attribute__((format(printf, 2, 3))) bool outgoing_line(struct outgoing *o, const char *fmt, ...);
static inline size_t outgoing_waits(const struct outgoing *o)
{
	return o->end - o->at;
}
/* Writes what the other side takes; 0 or -errno. */
int outgoing_flush(struct outgoing *o, int fd);
void outgoing_sent(struct outgoing *o, size_t n);
void outgoing_free(struct outgoing *o);

#endif
