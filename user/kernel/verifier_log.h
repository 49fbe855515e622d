/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What libbpf has to say, with --verbose. Of a program that is refused that is all the verifier went through, and the
 * seeds are numbers in the instructions: an image's are in force elsewhere. They are not shown.
 */
#ifndef KERNEL_VERIFIER_LOG_H
#define KERNEL_VERIFIER_LOG_H

void verifier_log_ready(void);

#endif
