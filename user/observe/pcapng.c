// SPDX-License-Identifier: GPL-2.0-only
/* The format: draft-ietf-opsawg-pcapng. Blocks of 32-bit words in our own byte order, which the first block states. */
#include "observe/pcapng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/capture_read.h"

#define BLOCK_SECTION	0x0a0d0d0a
#define BLOCK_INTERFACE 1
#define BLOCK_PACKET	6
#define BLOCK_ORDER	0x1a2b3c4d
#define OPTION_END	0
#define OPTION_COMMENT	1
#define OPTION_NAME	2
#define OPTION_TSRESOL	9
#define OPTION_TEXT_MAX 240

#define INTERFACES_MAX 64
#define NAME_MAX_      32

/* The body of a block: a packet, and what is said of it. */
struct block {
	size_t n;
	uint32_t words[CAPTURED_MAX / 4 + 128];
};

struct pcapng {
	FILE *out;
	struct {
		char name[NAME_MAX_];
		uint16_t link;
	} interface[INTERFACES_MAX];
	uint32_t interfaces;
	struct block block;
};

static void put(struct block *b, uint32_t word)
{
	b->words[b->n++] = word;
}

static void put_bytes(struct block *b, const void *bytes, size_t n)
{
	if (n)
		b->words[b->n + (n - 1) / 4] = 0; /* padding */
	memcpy(&b->words[b->n], bytes, n);
	b->n += (n + 3) / 4;
}

static void put_option(struct block *b, uint16_t code, const void *value, size_t n)
{
	uint16_t head[2] = { code, (uint16_t)n };

	put_bytes(b, head, sizeof(head));
	put_bytes(b, value, n);
}

static void put_text(struct block *b, uint16_t code, const char *text)
{
	put_option(b, code, text, strnlen(text, OPTION_TEXT_MAX));
}

static struct block *new_block(struct pcapng *p)
{
	p->block.n = 0;
	return &p->block;
}

static int write_block(struct pcapng *p, uint32_t type)
{
	const struct block *body = &p->block;
	uint32_t length = (uint32_t)(body->n + 3) * 4, head[2] = { type, length };

	if (fwrite(head, sizeof(head), 1, p->out) != 1 || fwrite(body->words, 4, body->n, p->out) != body->n ||
	    fwrite(&length, sizeof(length), 1, p->out) != 1)
		return errno ? -errno : -EIO;
	return 0;
}

static int begin(struct pcapng **file, FILE *out)
{
	struct pcapng *p = calloc(1, sizeof(*p));
	struct block *b;
	int err;

	*file = p;
	if (!p) {
		if (out != stdout)
			fclose(out);
		return -ENOMEM;
	}
	p->out = out;
	b = new_block(p);
	put(b, BLOCK_ORDER);
	put(b, 1);   /* version 1.0: two halves of a word */
	put(b, ~0u); /* the length of the section is not known yet */
	put(b, ~0u);
	err = write_block(p, BLOCK_SECTION);
	if (err) {
		pcapng_close(p);
		*file = NULL;
	}
	return err;
}

int pcapng_open_fd(struct pcapng **file, int fd)
{
	FILE *out = fdopen(fd, "w");
	int err = out ? 0 : -errno;

	*file = NULL;
	if (out)
		return begin(file, out);
	close(fd);
	return err;
}

int pcapng_open(struct pcapng **file, const char *path)
{
	int fd;

	*file = NULL;
	if (!strcmp(path, "-"))
		return begin(file, stdout);
	/* Other people's packets: only the owner may read them. */
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : pcapng_open_fd(file, fd);
}

int pcapng_flush(struct pcapng *p)
{
	if (!fflush(p->out) && !ferror(p->out))
		return 0;
	return errno ? -errno : -EIO;
}

int pcapng_close(struct pcapng *p)
{
	int err = pcapng_flush(p);

	if (p->out != stdout && fclose(p->out) && !err)
		err = -errno;
	free(p);
	return err;
}

/* The number of the interface in the file. The first time, its description is written. */
static int number_of(struct pcapng *p, const char *interface, uint16_t link, uint32_t *number)
{
	static const uint8_t nanoseconds = 9;
	struct block *b = new_block(p);

	for (*number = 0; *number < p->interfaces; ++*number)
		if (!strncmp(p->interface[*number].name, interface, NAME_MAX_ - 1) &&
		    p->interface[*number].link == link)
			return 0;
	/* Too many: one of the same kind stands for it. */
	if (p->interfaces == INTERFACES_MAX) {
		for (*number = INTERFACES_MAX - 1; p->interface[*number].link != link; --*number)
			if (!*number)
				return -E2BIG;
		return 0;
	}
	p->interface[p->interfaces].link = link;
	strncpy(p->interface[p->interfaces++].name, interface, NAME_MAX_ - 1);
	put(b, link);
	put(b, 0); /* no limit to what is captured */
	put_text(b, OPTION_NAME, interface);
	put_option(b, OPTION_TSRESOL, &nanoseconds, 1);
	put(b, OPTION_END);
	return write_block(p, BLOCK_INTERFACE);
}

int pcapng_packet(struct pcapng *p, const char *interface, uint16_t link, uint64_t time_ns, const void *bytes,
		  size_t captured, size_t length, const char *comment)
{
	struct block *b;
	uint32_t number;
	int err = number_of(p, interface, link, &number);

	b = new_block(p);
	if (captured > CAPTURED_MAX)
		captured = CAPTURED_MAX;
	put(b, number);
	put(b, (uint32_t)(time_ns >> 32));
	put(b, (uint32_t)time_ns);
	put(b, (uint32_t)captured);
	put(b, (uint32_t)length);
	put_bytes(b, bytes, captured);
	if (comment) {
		put_text(b, OPTION_COMMENT, comment);
		put(b, OPTION_END);
	}
	return err ? err : write_block(p, BLOCK_PACKET);
}
