/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/caliper/pml_caliper.h - what a tool needs of the C interface of Caliper 2, by LLNL.
 *
 * A program calls functions of libcaliper.so.2; a library that is found earlier gets the calls. An attribute is a named
 * stack of values; regions are values of the attributes "region", "phase", "comm.region", "loop" and "annotation".
 * cali_loop_attr_id and cali_annotation_attr_id are variables that the program reads, and that cali_init() fills.
 */
#ifndef PML_CALIPER_H
#define PML_CALIPER_H

#include <stddef.h>
#include <stdint.h>

#define PML_CALIPER_SONAME "libcaliper.so.2"

typedef uint64_t pml_caliper_id;
#define PML_CALIPER_NO_ID UINT64_MAX

enum pml_caliper_type {
  PML_CALIPER_INVALID,
  PML_CALIPER_USER,
  PML_CALIPER_INT,
  PML_CALIPER_UINT,
  PML_CALIPER_STRING,
  PML_CALIPER_ADDRESS,
  PML_CALIPER_DOUBLE,
  PML_CALIPER_BOOL,
  PML_CALIPER_TYPE,
  PML_CALIPER_POINTER
};

/* Properties of an attribute, of those that matter here. */
#define PML_CALIPER_AS_VALUE 1 /* its values are data, not regions; they do not nest */
#define PML_CALIPER_NESTED 256 /* its regions nest with the regions of other such attributes */

/* A value with its type in the lowest byte of @type. Passed and returned by value, in two registers. */
struct pml_caliper_value {
  uint64_t type;
  uint64_t bits;
};

#endif
