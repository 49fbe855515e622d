/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is logged in, as a file of the machine has it: in records of glibc's, whatever this program is linked with. */
#ifndef CHANGE_OWN_UTMP_H
#define CHANGE_OWN_UTMP_H

#include <stdint.h>
#include <utmp.h>

/* Where programs of 32 bits may read the file as well, what has a time in it is not wider for 64. */
#if defined(__x86_64__) || defined(__riscv) || defined(__powerpc64__) || __SIZEOF_POINTER__ == 4
typedef int32_t login_long;
#else
typedef int64_t login_long;
#endif

struct glibc_login {
	int16_t ut_type;
	int32_t ut_pid;
	char ut_line[32], ut_id[4], ut_user[32], ut_host[256];
	int16_t ut_exit[2];
	login_long ut_session, ut_at[2];
	int32_t ut_addr_v6[4];
	char unused[20];
};
_Static_assert(sizeof(struct glibc_login) == (sizeof(login_long) == 4 ? 384 : 400), "not what glibc has");

#ifdef __GLIBC__
#define LOGINS	     _PATH_UTMP
#define login_record utmp
#else
#define LOGINS	     "/var/run/utmp"
#define login_record glibc_login
#endif

#endif
