/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files named reader_*.c share. */
#ifndef SETS_READER_INTERNAL_H
#define SETS_READER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets/address.h"
#include "sets/reader.h"

struct input;
struct reader;
struct where;

enum { ITEM_PREFIX = 1, ITEM_NETMASK = 2, ITEM_RANGE = 4, ITEM_ANY = 7 };

/* One entry of a list: an address or a prefix, a network with a dotted mask, or a range. */
struct item {
	int family; /* 0: this line has none */
	unsigned int kind;
	ip6 lo, hi;
	bool masked; /* it is written as one of the hosts in it, which is this */
	ip6 host;
};

/*
 * A format is read by lines or by a function of its own. line() gives NULL or the reason why the line does not fit, and
 * keeps nothing, so that any line can be tried with it.
 */
struct format {
	const char *name;
	const char *(*line)(const struct reader *reader, const char *text, size_t len, struct item *item);
	int (*stream)(struct reader *reader); /* 0 or -errno */
	unsigned int kinds;		      /* of items that it takes */
	bool hosts;			      /* a line may be one IPv4 address and nothing else */
	bool names;			      /* behind the address: one that means "nowhere" blocks a name */
};

struct reader {
	const struct reader_options *options;
	struct reader_report *report;
	struct ranges *set;
	const char *name; /* of the file, in messages */
	char *error;

	struct input *input;
	char *buf; /* [start, end) has been read and not used */
	size_t start, end, room;
	bool ended;
	bool cut;      /* what was last handed out does not end its line */
	uint64_t line; /* the number of the line last handed out; for streams, of the one that last came to its end */

	uint64_t entry_line; /* streams: where the entry stands; 0: on reader->line */
	const struct format *format;
	unsigned int column; /* csv: counted from 0 */
	char separator;
	uint64_t heading; /* csv: the number of the line with the names of the columns; 0: there is none */

	const struct where *where; /* the rows that are taken; NULL: all */
	struct network network;	   /* whose the entry is, where that is asked for */

	uint64_t read;	     /* bytes of text, ever */
	uint64_t work, most; /* lines, words, values that were looked at one by one; and how many may be */
	unsigned int kinds;  /* of items seen */
	uint64_t nowhere;    /* entries that no packet comes from: 0.0.0.0, 127.0.0.1 and the like */
};

/* How much is read at a time, of text and of packed bytes; so little for the fuzzer that it meets every edge. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define READER_WINDOW ((size_t)512)
#define READER_PACKED ((size_t)64)
#else
#define READER_WINDOW ((size_t)256 << 10)
#define READER_PACKED ((size_t)128 << 10)
#endif

/*
 * What nothing comes of: padding, as of tapes, empty members, frames that are skipped, a line without end. Beyond
 * that it is made to be read for ever: a hole in a file costs who makes it nothing.
 */
#ifndef READER_PADDING
#define READER_PADDING ((uint64_t)4 << 20)
#endif

/* Room in the buffer beyond what was read: the fast path looks at whole words. */
#define READER_SLACK 32

/* reader.c: all return 0 or -errno. */
int reader_add(struct reader *reader, const struct item *item);
/* A damaged entry: remembered with skip_bad, otherwise the end of it. */
int reader_bad(struct reader *reader, uint64_t line, const char *text, size_t len, const char *reason);
int reader_refuse(struct reader *reader, uint64_t line, const char *text, size_t len, const char *reason);
int reader_fail(struct reader *reader, int err, const char *reason);
void reader_progress(struct reader *reader);
/* What the file says: parsers and all. It fills the set and the report. */
int reader_parse(struct reader *reader);

/* reader_apart.c: the same in a process of its own, whose answer is checked. */
int reader_parse_apart(struct reader *reader);

/* reader_text.c: reader_fill() returns 1, 0 at the end, or -errno; the others 0 or -errno. */
int reader_fill(struct reader *reader);
int reader_lines(struct reader *reader);
/* For streams: takes so many bytes from the window and counts the lines that end in them. */
void reader_skip(struct reader *reader, size_t len);
int reader_skip_line(struct reader *reader);
#define READER_LINE_MAX ((size_t)64 << 10)

/*
 * What is looked at one by one takes up to a microsecond. A file has at most a few of these a byte, unless it is made
 * to pack to a thousandth: then it ends here, with -EFBIG.
 */
#define READER_WORK_LEAST ((uint64_t)4 << 20)
#define READER_WORK_BYTE  16
int because_of_work(struct reader *reader);
static inline int reader_work(struct reader *reader)
{
	return reader->work++ < reader->most ? 0 : because_of_work(reader);
}

/* reader_detect.c: both set reader->format, from what is in the window; 0 or -errno. */
int reader_detect(struct reader *reader);
int reader_choose(struct reader *reader, const char *name);
/* The same where rows are chosen. */
int reader_choose_rows(struct reader *reader);
/* Nothing of it is an entry: says why not, by how it begins, or else for this reason. */
int reader_nothing(struct reader *reader, const char *reason);

/* Walks over the first significant lines without taking them. */
struct sample {
	size_t at;
	unsigned int taken;
	uint64_t number; /* of the line */
	const char *text;
	size_t len;
};
bool reader_sample(const struct reader *reader, struct sample *sample);

/* reader_item.c */
const char *skip_blanks(const char *p, const char *end);
const char *skip_word(const char *p, const char *end);
void trim_blanks(const char **text, size_t *len);
/* A # or ; begins a comment. */
bool starts_comment(const char *p, const char *end);
/* Nothing at all, or a comment. */
bool line_is_empty(const char *text, size_t len);
/* Takes an entry from the beginning of a text; *rest is what follows it. */
const char *item_take(const char *text, size_t len, struct item *item, const char **rest);
/* The whole text is one entry. */
const char *item_parse(const char *text, size_t len, struct item *item);
const char *item_range(const struct addr *first, const struct addr *last, struct item *item);

/* reader_lines.c, reader_csv.c: one function a format, and what else detection asks for. */
#define LINE_FUNCTION(name)                                                                                        \
	const char *name##_line(const struct reader *reader __attribute__((unused)), const char *text, size_t len, \
				struct item *item)
LINE_FUNCTION(plain);
LINE_FUNCTION(label);
LINE_FUNCTION(hosts);
LINE_FUNCTION(p2p);
LINE_FUNCTION(dat);
LINE_FUNCTION(ipset);
LINE_FUNCTION(csv);
/* An entry and, in [*rest, end), its label. */
const char *label_take(const char *text, const char *end, struct item *item, const char **rest);
/* Finds the column that holds addresses in the sample; says no when there is none, or more than one. */
const char *csv_detect(struct reader *reader);
#define CSV_COLUMNS_MAX 64
extern const char csv_several[];
bool csv_is_heading(char separator, const char *text, size_t len);

/* reader_table.c, reader_json.c, reader_nft.c */
int table_stream(struct reader *reader);
int json_stream(struct reader *reader);
int packed_stream(struct reader *reader);
bool packed_begins(const char *text, size_t len);
int nft_stream(struct reader *reader);
bool nft_begins(const char *text, size_t len);

#endif
