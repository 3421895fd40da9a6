/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/section_ends_long.c - the same as section_ends.c, with more ends at random.
 *
 * Slow: a thousand processes are killed.
 */
#define KILLS 1000
#include "section_ends.c"
