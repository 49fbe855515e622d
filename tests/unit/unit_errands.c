// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket at which commands ask for bans: when there is one, when it is given to a process, and when it goes so that
 * whoever waits there does it himself; over sockets in a directory of the test's own, word for word.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/state_path.h"
#include "model_jobs.h"

#define note given_warn
#include "service/errands.c"

static const struct shown known[] = {
#include "unit_errands.txt"
};

static struct shows shows = { .file = "tests/unit/unit_errands.txt",
			      .known = known,
			      .n = sizeof(known) / sizeof(known[0]) };

/* In a directory of the test's own, so that what is said is the same everywhere. */
#define DIRECTORY "state"

static struct context context = CONTEXT_DEFAULT;
static struct errands e;
static int client = -1;

static void at_socket(struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(address->sun_path, DIRECTORY "/errands.sock");
}

static void look(void)
{
	struct sockaddr_un address;
	int64_t due = errands_due(&e);
	struct stat is;

	at_socket(&address);
	printf("%6lld ", (long long)(now_ms - BEGINS));
	if (lstat(address.sun_path, &is))
		printf("no socket");
	else
		printf("%s of mode %o", S_ISSOCK(is.st_mode) ? "a socket" : "something else", is.st_mode & 0777);
	printf(", %s", errands_fd(&e) >= 0 ? "polled" : "not polled");
	if (due != INT64_MAX)
		printf(", due in %lld", (long long)(due ? due - now_ms : 0));
	putchar('\n');
}

static void turn(void)
{
	errands_turn(&e, now_ms);
	look();
}

static void after(int64_t ms)
{
	now_ms += ms;
	turn();
}

static void comes(void)
{
	struct sockaddr_un address;

	at_socket(&address);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(client, (struct sockaddr *)&address, sizeof(address)))
		line("nobody listens");
}

static void let_in(void)
{
	line("somebody waits");
	errands_came(&e, now_ms);
	look();
}

/* Who waits is let in, or not. */
static void ends(int status, bool took)
{
	if (took)
		close(accept(e.listener, NULL, NULL));
	ended_pid = e.jobs.pid;
	ended_status = status;
	errands_ended(&e, now_ms);
	look();
	close_fd(client);
	client = -1;
}

/* --- What happens --- */

static void serves(void)
{
	look();
	turn();
	turn();
	comes();
	let_in();
	line("its input is%s the socket", e.jobs.first->in == e.listener ? "" : " not");
	errands_ended(&e, now_ms);
	ends(EXITS(0), true);
	now_ms += 100;
	comes();
	let_in();
	now_ms += 100;
	ends(EXITS(2), true);
	comes();
	let_in();
	ends(SIGKILL, true);
}

static void fails(void)
{
	turn();
	for (int i = 0; i < 8; i++) {
		comes();
		let_in();
		ends(i % 2 ? SIGKILL : EXITS(1), false);
		comes();
		ends(0, false);
		after(e.retry.wait - 1);
		after(1);
	}
	comes();
	let_in();
	ends(EXITS(0), true);
	comes();
	let_in();
	ends(EXITS(1), false);
	after(1000);
	no_process = true;
	let_in();
	after(2000);
	no_process = false;
	comes();
	let_in();
}

static void no_socket(void)
{
	static const char path[] = DIRECTORY "/errands.sock";

	context.state = "none";
	turn();
	after(999);
	after(1);
	context.state = DIRECTORY;
	mkdir(path, 0700);
	after(2000);
	rmdir(path);
	close_fd(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	after(4000);
	errands_stop(&e);
	context.state =
		"a-path-that-has-with-the-name-of-the-socket-behind-it-one-byte-more-than-there-is-room-for-xxxx";
	errands_begin(&e, &context);
	turn();
	context.state = DIRECTORY;
}

static void word_for_word(void)
{
	static const struct {
		const char *name;
		void (*happens)(void);
	} each[] = { { "it serves", serves }, { "it fails", fails }, { "no socket", no_socket } };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		model_begin();
		shows_begin(&shows);
		errands_begin(&e, &context);
		each[i].happens();
		line("the service ends");
		errands_stop(&e);
		look();
		close_fd(client);
		client = -1;
		shows_as(&shows, each[i].name);
	}
}

static void in_directory(void)
{
	static char record[PATH_MAX];
	char own[] = "/tmp/xdp-bloom-errands-XXXXXX";

	if (realpath(shows.file, record))
		shows.file = record;
	if (!CHECK(mkdtemp(own) && !chdir(own) && !mkdir(DIRECTORY, 0700), "no directory"))
		return;
	context.state = DIRECTORY;
	word_for_word();
	CHECK(!rmdir(DIRECTORY) && !chdir("/") && !rmdir(own), "something is left");
}

int main(void)
{
	static const struct ktap_case cases[] = { { "word for word", in_directory } };

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
