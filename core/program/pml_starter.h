/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_starter.h - arguments and messages of pmlua-starter. Internal. */
#ifndef PML_STARTER_H
#define PML_STARTER_H

#include <stdint.h>

/* Its arguments; an empty one is unset. The program and its arguments come last. */
enum {
  PML__STARTER_LINE = 1, /* descriptor of the socket to pmlua */
  PML__STARTER_BOUND,    /* not empty: the program is killed when pmlua's thread ends */
  PML__STARTER_INPUT,
  PML__STARTER_OUTPUT,
  PML__STARTER_ERROR,
  PML__STARTER_PROGRAM
};

/*
 * The starter sends an int: the pid of the waiting child, or -errno. The child sends, after one byte from pmlua, a
 * uint64_t, the largest resident set before the program in bytes; and, if it cannot execute the program, an int with
 * errno.
 */

#endif
