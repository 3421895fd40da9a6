/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/ends_long.c - the same as ends.c, with more ends at random.
 *
 * Slow: a thousand processes are killed.
 */
#define KILLS 1000
#include "ends.c"
