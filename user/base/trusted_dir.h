/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may write to a directory: that user decides what root reads and writes there. */
#ifndef BASE_TRUSTED_DIR_H
#define BASE_TRUSTED_DIR_H

/* 0 where it is ours or root's, and no other user may write to it; else -errno with the reason recorded. */
int trust_directory(const char *path);

#endif
