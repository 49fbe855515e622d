// SPDX-License-Identifier: GPL-2.0-only
/* A file of packets that is there whole or not at all: where its name leads, what else it may be, and each failure. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ktap.h"
#include "observe/pcapng.h"

static const char *failing = "";

static bool fails(const char *call)
{
	if (strcmp(call, failing) != 0)
		return false;
	errno = EIO;
	return true;
}

static int given_close(struct pcapng *p)
{
	int err = pcapng_close(p);

	return fails("close") ? -EIO : err;
}

static size_t leads_long; /* to a directory of such a long name; 0: as it does */

static char *given_realpath(const char *path, char *to)
{
	if (fails("realpath"))
		return NULL;
	if (!leads_long)
		return realpath(path, to);
	errno = ENOENT;
	memset(to, 'd', leads_long);
	to[leads_long] = '\0';
	return strcmp(path, "new") != 0 ? to : NULL;
}

#define rename(from, to) (fails("rename") ? -1 : rename(from, to))
#define realpath	 given_realpath
#define pcapng_close	 given_close
#include "verbs/packets_out.c"
#undef rename
#undef realpath
#undef pcapng_close

static char own[] = "/tmp/unit_packets_out.XXXXXX";
static struct packets_out out;

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static long size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? -1 : (long)st.st_size;
}

/* Is nothing there but these? */
static bool only(int n)
{
	char command[200];
	FILE *ls;
	int there = 0, c;

	snprintf(command, sizeof(command), "ls -A %s", own);
	ls = popen(command, "r");
	while (ls && (c = getc(ls)) != EOF)
		there += c == '\n';
	return CHECK(ls && !pclose(ls) && there == n, "%d files are there, not %d", there, n);
}

static bool is(int err, int wanted, const char *text)
{
	return CHECK(wanted ? err_is(err, wanted) : !err, "error %d, not %d", err, wanted) &&
	       CHECK(!text || !strcmp(reason(err), text), "'%s', not '%s'", reason(err), text);
}

static void not_asked(void)
{
	is(packets_out_look(&out, NULL), 0, NULL);
	is(packets_out_open(&out), 0, NULL);
	is(packets_out_close(&out, 0), 0, NULL);
	is(packets_out_keep(&out, 0), 0, NULL);
	is(packets_out_close(&out, -EIO), EIO, NULL);
	is(packets_out_keep(&out, -EIO), EIO, NULL);
	only(0);
}

/* Its name leads to the same file in whatever words, also before there is one. */
static void leads_to(void)
{
	static const char *const each[] = { "new", "./new", "sub/../new", "link/new", "sub//../new" };
	char wanted[100], here[PATH_MAX];

	if (mkdir("sub", 0700) || symlink(".", "link") || !getcwd(here, sizeof(here)))
		abort();
	snprintf(wanted, sizeof(wanted), "%.80s/new", here);
	for (int there = 0; there < 2; there++) {
		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
			is(packets_out_look(&out, each[i]), 0, NULL);
			CHECK(!strcmp(out.real, wanted) && out.there == there && out.path == each[i] && !out.file &&
				      !out.beside[0],
			      "%s leads to '%s'", each[i], out.real);
		}
		put("new", "");
	}
	unlink("new");
	is(packets_out_look(&out, wanted), 0, NULL);
	CHECK(!strcmp(out.real, wanted), "the whole name leads to '%s'", out.real);
	is(packets_out_look(&out, "/new-of-nobody"), 0, NULL);
	CHECK(!strcmp(out.real, "//new-of-nobody"), "from the root: '%s'", out.real);
	is(packets_out_look(&out, "none/new"), ENOENT, "none/new: No such file or directory");
	put("file", "");
	is(packets_out_look(&out, "file/new"), ENOTDIR, "file/new: Not a directory");
	unlink("file");
	unlink("link");
	rmdir("sub");
	failing = "realpath";
	is(packets_out_look(&out, "new"), EIO, "new: Input/output error");
	failing = "";
	is(packets_out_look(&out, "-"), EINVAL, "the report goes to standard output; write packets into a file");
}

/* As long as a path may be, and one more: as it is written, as it leads, and beside it with seven more. */
static void too_long(void)
{
	char path[PATH_MAX + 10];

	for (size_t more = 0; more < 2; more++) {
		memset(path, '/', sizeof(path));
		path[0] = '.';
		strcpy(path + PATH_MAX - 1 + more, "new");
		is(packets_out_look(&out, path), more ? ENAMETOOLONG : 0, NULL);
		leads_long = PATH_MAX - 5 + more;
		is(packets_out_look(&out, "new"), more ? ENAMETOOLONG : 0, more ? "new: File name too long" : NULL);
		CHECK(more || (strlen(out.real) == PATH_MAX - 1 && !strcmp(out.real + PATH_MAX - 6, "d/new")),
		      "it leads to '%s'", out.real);
		leads_long = 0;
	}
	is(packets_out_look(&out, "new"), 0, NULL);
	for (size_t more = 0; more < 2; more++) {
		memset(out.real, 'x', sizeof(out.real));
		out.real[PATH_MAX - 8 + more] = '\0';
		is(packets_out_open(&out), ENAMETOOLONG,
		   more ? "new: the name is too long" : "new: File name too long");
		CHECK(!out.beside[0] && !out.file, "'%s' is left", out.beside);
	}
	only(0);
}

static void whole_or_not(void)
{
	struct stat st;

	for (int there = 0; there < 2; there++) {
		if (there)
			put("new", "before");
		is(packets_out_look(&out, "new"), 0, NULL);
		is(packets_out_open(&out), 0, NULL);
		CHECK(out.file && !stat(out.beside, &st) && (st.st_mode & 0777) == 0600, "mode %o",
		      (unsigned int)st.st_mode);
		CHECK(size_of("new") == (there ? 6 : -1), "it is there at once");
		only(1 + there);
		is(packets_out_close(&out, 0), 0, NULL);
		CHECK(!out.file && size_of("new") == (there ? 6 : -1), "it is there when it is closed");
		is(packets_out_keep(&out, 0), 0, NULL);
		CHECK(size_of("new") == 28, "%ld bytes", size_of("new"));
		only(1);
		unlink("new");
	}
}

/* What went wrong before, here, or at the end: nothing is left, and what was there is there. */
static void goes_wrong(void)
{
	for (int where = 0; where < 6; where++) {
		put("new", "before");
		is(packets_out_look(&out, "new"), 0, NULL);
		is(packets_out_open(&out), 0, NULL);
		failing = where == 1 || where == 2 ? "close" : where >= 4 ? "rename" : "";
		if (where == 0 || where == 2)
			is(packets_out_close(&out, because(-ENOMEM, "it was not to be")), ENOMEM, "it was not to be");
		else if (where == 1)
			is(packets_out_close(&out, 0), EIO, "new: Input/output error");
		else
			is(packets_out_close(&out, 0), 0, NULL);
		if (where == 3 || where == 5)
			is(packets_out_keep(&out, because(-ENOMEM, "it was not to be")), ENOMEM, "it was not to be");
		else if (where == 4)
			is(packets_out_keep(&out, 0), EIO, "new: Input/output error");
		failing = "";
		CHECK(!out.beside[0] && size_of("new") == 6, "%d: %ld bytes, beside it '%s'", where, size_of("new"),
		      out.beside);
		only(1);
		unlink("new");
	}
	/* Its directory is gone meanwhile. */
	if (mkdir("sub", 0700))
		abort();
	is(packets_out_look(&out, "sub/new"), 0, NULL);
	rmdir("sub");
	is(packets_out_open(&out), ENOENT, "sub/new: No such file or directory");
	CHECK(!out.beside[0] && !out.file, "'%s' is left", out.beside);
	only(0);
}

/* What is no file is written as it is, and stays. */
static void no_file(void)
{
	struct stat st;
	char block[28];
	int fd;

	if (mkfifo("pipe", 0600) || (fd = open("pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		abort();
	is(packets_out_look(&out, "pipe"), 0, NULL);
	CHECK(out.there && !out.real[0], "it leads to '%s'", out.real);
	is(packets_out_open(&out), 0, NULL);
	CHECK(out.file && !out.beside[0], "it is written beside");
	is(packets_out_close(&out, 0), 0, NULL);
	is(packets_out_keep(&out, 0), 0, NULL);
	CHECK(read(fd, block, sizeof(block)) == sizeof(block) && block[0] == 0x0a, "nothing came");
	CHECK(!stat("pipe", &st) && S_ISFIFO(st.st_mode), "it is no pipe any more");
	CHECK(packets_out_is(&out, &st), "the pipe is not itself");
	close(fd);
	unlink("pipe");
	is(packets_out_open(&out), ENOENT, "pipe: No such file or directory");
	only(0);
	is(packets_out_look(&out, "/dev/null"), 0, NULL);
	CHECK(!stat("/dev/null", &st) && !packets_out_is(&out, &st), "a device is somebody's");
}

static bool same(const char *one, const char *other)
{
	static struct packets_out a, b;

	is(packets_out_look(&a, one), 0, NULL);
	is(packets_out_look(&b, other), 0, NULL);
	return packets_out_same(&a, &b);
}

static void the_same(void)
{
	struct stat st;
	int was, file;

	put("one", "");
	put("other", "");
	if (link("one", "again"))
		abort();
	CHECK(same("one", "./one") && same("one", "again") && same("new", "./new"), "the same is not");
	CHECK(!same("one", "other") && !same("new", "newer") && !same("one", "new") && !same("new", "one"), "all are");
	CHECK(!same(NULL, "one") && !same("one", NULL) && !same(NULL, NULL), "what is not asked for is the same");
	is(packets_out_look(&out, "one"), 0, NULL);
	CHECK(!stat("again", &st) && packets_out_is(&out, &st), "it is not itself");
	st.st_dev++;
	CHECK(!packets_out_is(&out, &st), "of another device");
	st.st_dev--;
	st.st_ino++;
	CHECK(!packets_out_is(&out, &st), "of another inode");
	is(packets_out_look(&out, "new"), 0, NULL);
	memset(&st, 0, sizeof(st));
	st.st_mode = S_IFREG;
	CHECK(!packets_out_is(&out, &st), "what is not there is something");
	/* The report goes there. */
	fflush(stdout);
	was = dup(STDOUT_FILENO);
	file = open("one", O_WRONLY | O_CLOEXEC);
	dup2(file, STDOUT_FILENO);
	is(packets_out_look(&out, "again"), EINVAL, "the report goes to standard output; write packets into a file");
	is(packets_out_look(&out, "other"), 0, NULL);
	is(packets_out_look(&out, "new"), 0, NULL);
	fflush(stdout);
	dup2(was, STDOUT_FILENO);
	close(was);
	close(file);
	unlink("one");
	unlink("again");
	unlink("other");
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "not asked for", not_asked },	    { "where it leads", leads_to },    { "too long", too_long },
		{ "whole or not", whole_or_not },   { "what goes wrong", goes_wrong }, { "what is no file", no_file },
		{ "which are the same", the_same },
	};
	int status;

	if (!mkdtemp(own) || chdir(own))
		return KTAP_FAIL;
	status = ktap_run(cases, sizeof(cases) / sizeof(*cases));
	rmdir(own);
	return status;
}
