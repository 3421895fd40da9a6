/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/sde_ends_long.c - the same as sde_ends.c, with more ends at random.
 *
 * Slow: a thousand processes are killed.
 */
#define KILLS 1000
#include "sde_ends.c"
