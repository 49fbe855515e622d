// SPDX-License-Identifier: GPL-2.0-only
#include "observe/capture_apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean_text.h"
#include "base/confined.h"
#include "base/log.h"

/* What comes through the pipe: packets, each with its bytes behind it, then the end. */
enum kind { KIND_PACKET = 1, KIND_END };

struct record {
	uint64_t time;
	uint32_t kind, sent; /* sent: bytes behind it, of which as many follow as are a multiple of eight */
	uint32_t interface, length, size;
	uint16_t link;
	uint8_t timed, outgoing;
};

struct ending {
	uint64_t packets;
	int32_t err;
	uint32_t cut;
	char error[CAPTURE_TEXT_MAX];
};

_Static_assert(sizeof(struct record) == 32, "no padding");

#define PADDED(n) (((size_t)(n) + 7) & ~(size_t)7)
#define OUT_BYTES (256u << 10)
#define IN_BYTES  (2u * CAPTURED_MAX)
#define LOOKED_AT (FRAME_BYTES + 20) /* what a frame is made of, with the longest header that a capture has */

/* --- In there ----------------------------------------------------------------------------------------------------- */

struct teller {
	int answer;
	bool whole;
	uint8_t *buf;
	size_t filled;
};

static ssize_t read_input(void *arg, void *buf, size_t size)
{
	(void)arg;
	return read(STDIN_FILENO, buf, size);
}

static int tell(struct teller *t, const void *bytes, size_t n)
{
	if (t->filled + n > OUT_BYTES) {
		if (!confined_tell(t->answer, t->buf, t->filled))
			return -EPIPE;
		t->filled = 0;
	}
	if (n > OUT_BYTES)
		return confined_tell(t->answer, bytes, n) ? 0 : -EPIPE;
	memcpy(t->buf + t->filled, bytes, n);
	t->filled += n;
	return 0;
}

static int tell_packet(void *arg, const struct captured *p)
{
	static const uint8_t zeros[8];
	struct teller *t = arg;
	struct record record = { .time = p->time,
				 .kind = KIND_PACKET,
				 .sent = !t->whole && p->size > LOOKED_AT ? LOOKED_AT : p->size,
				 .interface = p->interface,
				 .length = p->length,
				 .size = p->size,
				 .link = p->link,
				 .timed = p->timed,
				 .outgoing = p->outgoing };

	return tell(t, &record, sizeof(record)) ?: tell(t, p->bytes, record.sent) ?:
	       tell(t, zeros, PADDED(record.sent) - record.sent);
}

static void parse(void *arg, int answer)
{
	struct teller t = { .answer = answer, .whole = *(const bool *)arg, .buf = malloc(OUT_BYTES) };
	struct capture_calls calls = { .read = read_input, .packet = tell_packet, .arg = &t };
	struct record last = { .kind = KIND_END, .sent = sizeof(struct ending) };
	struct ending ending = { 0 };
	struct capture_end end;

	if (!t.buf)
		return;
	ending.err = capture_read(&calls, &end);
	ending.packets = end.packets;
	ending.cut = end.cut;
	memcpy(ending.error, end.error, sizeof(ending.error));
	if (!tell(&t, &last, sizeof(last)) && !tell(&t, &ending, sizeof(ending)))
		confined_tell(answer, t.buf, t.filled);
	free(t.buf);
}

/* --- Out here: nothing that comes from there is believed ---------------------------------------------------------- */

struct listener {
	struct confined process;
	uint8_t *buf;
	size_t at, filled;
};

/* So many bytes in one piece; NULL with an error. */
static const void *hear(struct listener *l, size_t n, int *err)
{
	const void *bytes;

	if (l->filled - l->at < n) {
		memmove(l->buf, l->buf + l->at, l->filled - l->at);
		l->filled -= l->at;
		l->at = 0;
	}
	while (l->filled < l->at + n) {
		ssize_t some = read(l->process.answer, l->buf + l->filled, IN_BYTES - l->filled);

		if (!some || (some < 0 && errno != EINTR)) {
			*err = some ? -errno : -EIO;
			return NULL;
		}
		l->filled += some > 0 ? (size_t)some : 0;
	}
	bytes = l->buf + l->at;
	l->at += n;
	return bytes;
}

static int hear_end(const struct ending *ending, uint64_t packets, struct capture_end *end)
{
	char text[CAPTURE_TEXT_MAX];

	if (ending->err > 0 || -ending->err >= 1 << ERRNO_BITS || ending->packets != packets)
		return -EPROTO;
	memcpy(text, ending->error, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	end->packets = packets;
	end->cut = ending->cut;
	clean_copy(end->error, sizeof(end->error), text);
	if (end->error[0])
		return because(-EINVAL, "%s", end->error);
	return ending->err;
}

static int hear_all(struct listener *l, bool whole, int (*packet)(void *arg, const struct captured *packet), void *arg,
		    struct capture_end *end)
{
	uint64_t packets = 0;

	for (;;) {
		const void *bytes;
		struct ending ending;
		struct record r;
		int err = 0;

		bytes = hear(l, sizeof(r), &err);
		if (!bytes)
			return err;
		memcpy(&r, bytes, sizeof(r));
		if (r.sent > CAPTURED_MAX)
			return -EPROTO;
		bytes = hear(l, r.kind == KIND_END ? r.sent : PADDED(r.sent), &err);
		if (!bytes)
			return err;
		if (r.kind == KIND_END) {
			if (r.sent != sizeof(ending))
				return -EPROTO;
			memcpy(&ending, bytes, sizeof(ending));
			return hear_end(&ending, packets, end);
		}
		if (r.kind != KIND_PACKET || r.size > CAPTURED_MAX || r.size > r.length || !frame_link_known(r.link) ||
		    r.sent != (whole || r.size < LOOKED_AT ? r.size : LOOKED_AT))
			return -EPROTO;
		packets++;
		err = packet(arg, &(struct captured){ .time = r.time,
						      .timed = r.timed,
						      .link = r.link,
						      .interface = r.interface,
						      .outgoing = r.outgoing,
						      .length = r.length,
						      .size = r.size,
						      .bytes = bytes });
		if (err)
			return err;
	}
}

int capture_read_apart(int fd, bool whole, int (*packet)(void *arg, const struct captured *packet), void *arg,
		       struct capture_end *end)
{
	struct listener l = { .buf = malloc(IN_BYTES) };
	char how[96];
	int err;

	*end = (struct capture_end){ 0 };
	if (!l.buf)
		return -ENOMEM;
	err = confined_start(&l.process, fd, 0, parse, &whole);
	if (!err) {
		err = hear_all(&l, whole, packet, arg, end);
		/* Its answer ended too early. */
		if (err_is(err, EIO) && confined_end(&l.process, how, sizeof(how)))
			err = because(-EIO, "the process that reads it did not come to an end: %s", how);
		else if (err_is(err, EPROTO))
			err = because(-EIO, "what the process that reads it answered makes no sense");
		confined_stop(&l.process);
	}
	free(l.buf);
	return err;
}
