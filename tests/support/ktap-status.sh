#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs one test for prove: exit status 4 says that all of it was skipped, which its output says too.
"$@"
status=$?
[ $status = 4 ] && exit 0
exit $status
