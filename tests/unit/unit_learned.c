// SPDX-License-Identifier: GPL-2.0-only
/* What was learned of sources, as a file, and what is taken for one; and samples, from the service or from the ring. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "base/trusted_dir.h"
#include "bpf/abi.h"
#include "kernel/ring.h"
#include "ktap.h"

static const char *failing = "";
static int with, rings;

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0)
		return false;
	errno = with;
	return true;
}

static int given_ring(const struct context *context, struct ring **ring, double per_second)
{
	(void)context;
	if (fails("ring") || per_second != 7)
		return because(-EBUSY, "somebody reads it");
	*ring = (struct ring *)&rings;
	rings++;
	return 0;
}

static int given_ring_read(struct ring *ring, void (*each)(void *arg, const struct sample *sample), void *arg)
{
	(void)ring;
	each(arg, &(struct sample){ .ifindex = 77 });
	return 5;
}

#define trust_directory(of)	  (fails("trust") ? because(-EPERM, "it is not ours") : trust_directory(of))
#define json_dumpfd(what, fd, as) (fails("write") ? -1 : json_dumpfd(what, fd, as))
#define fsync(fd)		  (fails("sync") ? -1 : fsync(fd))
#define rename(from, to)	  (fails("rename") ? -1 : rename(from, to))
#include "observe/learned.c"
#undef rename
#undef fsync
#define ring_open	given_ring
#define ring_close(of)	(rings -= (of) != NULL)
#define ring_fd(of)	((of) == (const struct ring *)&rings ? 88 : -1)
#define ring_read	given_ring_read
#define ring_refill(of) ((of) == (struct ring *)&rings ? 6 : -1)
#define calloc(n, size) (fails("calloc") ? NULL : calloc(n, size))
#include "observe/samples.c"
#undef calloc

static char own_directory[] = "/tmp/unit_learned.XXXXXX", file[64], beside[72];
static struct context own = CONTEXT_DEFAULT;

static void put(const char *text, size_t blanks)
{
	FILE *out = fopen(file, "w");

	if (!out || fputs(text, out) < 0)
		abort();
	while (blanks--)
		putc(' ', out);
	if (fclose(out))
		abort();
}

static bool is_read(void)
{
	json_t *document = learned_read(&own);
	bool is = document != NULL;

	json_decref(document);
	return is;
}

#define WHOLE "{\"from\": \"a\", \"until\": \"b\", \"detect\": {\"classes\": {}}}"

static void taken_for_one(void)
{
	static const struct {
		const char *text;
		bool is;
	} each[] = {
		{ WHOLE, true },
		{ "", false },
		{ "{", false },
		{ "[]", false },
		{ "{\"until\": \"b\", \"detect\": {\"classes\": {}}}", false },
		{ "{\"from\": 1, \"until\": \"b\", \"detect\": {\"classes\": {}}}", false },
		{ "{\"from\": \"a\", \"detect\": {\"classes\": {}}}", false },
		{ "{\"from\": \"a\", \"until\": 2, \"detect\": {\"classes\": {}}}", false },
		{ "{\"from\": \"a\", \"until\": \"b\"}", false },
		{ "{\"from\": \"a\", \"until\": \"b\", \"detect\": {\"classes\": []}}", false },
	};

	CHECK(!is_read(), "what is not there is read");
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		put(each[i].text, 0);
		CHECK(is_read() == each[i].is, "%s", each[i].text);
	}
	put(WHOLE, (64 << 10) - strlen(WHOLE));
	CHECK(is_read(), "one as long as may be");
	/* Of a longer one what is beyond is not read. */
	put(WHOLE, 65 << 10);
	CHECK(is_read(), "a longer one");
	unlink(file);
	CHECK(!symlink("/dev/zero", file) && !is_read(), "a link is followed");
	unlink(file);
	CHECK(!mkfifo(file, 0600) && !is_read(), "a pipe is waited for");
	unlink(file);
}

static void written(void)
{
	static const char *const each[] = { "write", "sync", "rename" };
	json_t *document = json_loads(WHOLE, 0, NULL), *back;
	char wanted[100];
	struct stat st;
	int err;

	CHECK(!learned_write(&own, document) && !stat(file, &st) && (st.st_mode & 0777) == 0600, "mode %o",
	      (unsigned int)st.st_mode);
	back = learned_read(&own);
	CHECK(back && json_equal(back, document), "another comes back");
	json_decref(back);
	for (size_t i = 0; i < 2 * sizeof(each) / sizeof(*each); i++) {
		failing = each[i / 2];
		with = i % 2 ? ENOSPC : 0;
		errno = 0;
		put("before", 0);
		err = learned_write(&own, document);
		snprintf(wanted, sizeof(wanted), "%s: %s", beside, strerror(with ?: EIO));
		CHECK(err_is(err, with ?: EIO) && !strcmp(reason(err), wanted), "'%s', not '%s'", reason(err), wanted);
		CHECK(stat(beside, &st) && !stat(file, &st) && st.st_size == 6,
		      "%s: what was there is gone, or more is", failing);
	}
	failing = "trust";
	err = learned_write(&own, document);
	CHECK(err_is(err, EPERM) && stat(beside, &st), "a directory of another's");
	failing = "";
	/* Nor through a link. */
	CHECK(!symlink(file, beside), "no link");
	err = learned_write(&own, document);
	CHECK(err_is(err, ELOOP) && !stat(file, &st) && st.st_size == 6, "through a link: %d", err);
	unlink(file);
	unlink(beside);
	json_decref(document);
}

static unsigned int seen[4], seen_n;

static void see(void *arg, const struct sample *sample)
{
	CHECK(arg == seen, "another argument");
	seen[seen_n++ % 4] = sample->ifindex;
}

static void from_the_ring(void)
{
	struct samples *s = (void *)1;

	failing = "calloc";
	CHECK(err_is(samples_open(&own, &s, 7), ENOMEM) && !s, "without memory");
	failing = "ring";
	s = (void *)1;
	CHECK(err_is(samples_open(&own, &s, 7), EBUSY) && !s, "the ring is somebody's");
	failing = "";
	CHECK(!samples_open(&own, &s, 7) && s && rings == 1, "not opened");
	seen_n = 0;
	CHECK(samples_fd(s) == 88 && samples_refill(s) == 6 && samples_read(s, see, seen) == 5 && seen_n == 1 &&
		      seen[0] == 77,
	      "it is not the ring");
	samples_close(s);
	CHECK(!rings, "it stays open");
	samples_close(NULL);
}

static void from_the_service(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), there, err;
	struct samples *s = NULL;

	if (relay_path(&own, address.sun_path, sizeof(address.sun_path)) ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1))
		abort();
	failing = "trust";
	CHECK(!samples_open(&own, &s, 7) && rings == 1, "in a directory of another's it is believed");
	samples_close(s);
	failing = "";
	CHECK(!samples_open(&own, &s, 7) && !rings, "the ring is read beside the service");
	there = accept(listener, NULL, NULL);
	seen_n = 0;
	CHECK(samples_fd(s) >= 0 && !samples_refill(s) && !samples_read(s, see, seen) && !seen_n, "something came");
	for (unsigned int i = 1; i < 3; i++)
		if (send(there, &(struct sample){ .ifindex = i }, sizeof(struct sample), 0) != sizeof(struct sample))
			abort();
	CHECK(!samples_read(s, see, seen) && seen_n == 2 && seen[0] == 1 && seen[1] == 2, "%u came", seen_n);
	CHECK(send(there, "short", 5, 0) == 5, "not sent");
	err = samples_read(s, see, seen);
	CHECK(err_is(err, EPIPE) && !strcmp(reason(err), "the service has gone") && seen_n == 2,
	      "what is none is taken");
	close(there);
	CHECK(err_is(samples_read(s, see, seen), EPIPE), "it has not gone");
	samples_close(s);
	close(listener);
	/* A service that was killed has left it. */
	CHECK(!samples_open(&own, &s, 7) && rings == 1, "nobody is believed");
	samples_close(s);
	unlink(address.sun_path);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "what is taken for one", taken_for_one },
		{ "what is written", written },
		{ "samples from the ring", from_the_ring },
		{ "samples from the service", from_the_service },
	};
	int status;

	if (!mkdtemp(own_directory))
		return KTAP_FAIL;
	own.state = own_directory;
	snprintf(file, sizeof(file), "%s/" STATE_LEARNED, own_directory);
	snprintf(beside, sizeof(beside), "%s.new", file);
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(own_directory);
	return status;
}
