/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose a directory is: who may put files where root keeps its own decides what is read and written there. */
#ifndef BASE_TRUSTED_DIR_H
#define BASE_TRUSTED_DIR_H

/* 0 where it is a directory that is ours or root's, and nobody else may write to it; else the reason is recorded. */
int trust_directory(const char *path);

#endif
