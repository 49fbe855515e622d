// SPDX-License-Identifier: GPL-2.0-only
/* Who answers for what is on a mount, by the kernel's own table and by made ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "naive.h"

/* The table; NULL: there is none. */
static const char *table;

static FILE *given_table(const char *path, const char *how)
{
	if (strcmp(path, "/proc/self/mountinfo") != 0)
		return fopen(path, how);
	return table ? fmemopen((char *)(uintptr_t)table, strlen(table), "r") : NULL;
}

#define fopen(path, how) given_table(path, how)
#include "base/mounts.c"
#undef fopen

static void of_each_type(void)
{
	static const struct {
		const char *row;
		enum answers who;
	} each[] = {
		{ "/srv rw - ext4 /dev/sda1 rw", KERNEL_ANSWERS },
		{ "/srv rw shared:1 master:2 - tmpfs tmpfs rw,size=10k", KERNEL_ANSWERS },
		{ "/srv rw - overlay overlay rw,lowerdir=/nfs", KERNEL_ANSWERS },
		{ "/srv rw - nfs server:/export rw,vers=3", SERVER_ANSWERS },
		{ "/srv rw shared:1 master:2 propagate_from:3 unbindable - nfs4 [::1]:/ rw", SERVER_ANSWERS },
		{ "/srv rw - cifs //server/share rw", SERVER_ANSWERS },
		{ "/srv rw - autofs systemd-1 rw,fd=40", SERVER_ANSWERS },
		{ "/srv rw - virtiofs host rw", SERVER_ANSWERS },
		{ "/srv\\040-\\040x rw - 9p host rw", SERVER_ANSWERS },
		{ "/srv rw - fuse.sshfs host: rw,user_id=0,group_id=0", SERVER_ANSWERS },
		{ "/srv rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0,allow_other", SERVER_ANSWERS },
		{ "/srv rw - fuse.sshfs host: rw,user_id=1000,group_id=1000,allow_other", USER_ANSWERS },
		{ "/srv rw - fuse x rw,user_id=60001", USER_ANSWERS },
		{ "/srv rw - fuse x rw", SERVER_ANSWERS },
		{ "/srv rw - fusectl fusectl rw", KERNEL_ANSWERS },
		{ "/srv rw - nfsd nfsd rw", KERNEL_ANSWERS },
		{ "/ rw - nfs server:/export rw", KERNEL_ANSWERS },
		{ "/ rw - fuse x rw,user_id=1000", KERNEL_ANSWERS },
		{ "/srv rw", KERNEL_ANSWERS },
	};
	char text[600], padding[300];

	memset(padding, 'p', sizeof(padding) - 1);
	padding[sizeof(padding) - 1] = '\0';
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		snprintf(text, sizeof(text),
			 "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 0:5 / /%s rw - nfs server:/ rw\n"
			 "23 21 0:6 /of/it %s\n24 21 0:7 / /srv rw - fuse x rw,user_id=1\n",
			 padding, each[i].row);
		table = text;
		CHECK(mount_answers(23) == each[i].who, "%s: %d", each[i].row, mount_answers(23));
	}
	CHECK(mount_answers(22) == SERVER_ANSWERS && mount_answers(24) == USER_ANSWERS, "others in the table");
	CHECK(mount_answers(2) == KERNEL_ANSWERS && !mount_answers(0), "one that is not there");
	table = NULL;
	CHECK(mount_answers(23) == KERNEL_ANSWERS, "there is no table");
}

/* The kernel's own numbers. */
static void as_it_is(void)
{
	int here = open("/", O_PATH | O_CLOEXEC), proc = open("/proc", O_PATH | O_CLOEXEC);
	unsigned long root = mount_of(here);

	ENOUGH(here >= 0 && proc >= 0);
	CHECK(root && mount_of(proc) && mount_of(proc) != root, "%lu and %lu", root, mount_of(proc));
	CHECK(!mount_of(-1), "one that is not open has a mount");
	close(here);
	close(proc);
}

int main(void)
{
	static const struct ktap_case cases[] = {
		{ "of each type", of_each_type },
		{ "as the kernel has it", as_it_is },
	};

	return ktap_run(cases, sizeof(cases) / sizeof(*cases));
}
