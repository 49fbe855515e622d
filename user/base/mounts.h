/* SPDX-License-Identifier: GPL-2.0-only */
/* Who answers for what is in a directory: this kernel, or somebody who may not, so that a look at it lasts for ever. */
#ifndef BASE_MOUNTS_H
#define BASE_MOUNTS_H

/* The number of the mount that a descriptor is on, for which nobody is asked; 0: nobody knows. */
unsigned long mount_of(int fd);

/* The order matters: whoever waits for one waits for those before it. */
enum answers {
	KERNEL_ANSWERS, /* also where nobody knows; and always for the root, without which nothing goes on */
	SERVER_ANSWERS, /* that root has mounted: another machine (NFS), or a program (FUSE) */
	USER_ANSWERS,	/* a program of another user */
};
enum answers mount_answers(unsigned long mount);

#endif
