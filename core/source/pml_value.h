/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_value.h - the native types that events and recorders carry, and one value of any of them. */
#ifndef PML_VALUE_H
#define PML_VALUE_H

#include "base/pml_api.h"

#include <stdint.h>

PML_BEGIN_DECLS

enum pml_type {
  PML_TYPE_INT64,
  PML_TYPE_INT32,
  PML_TYPE_DOUBLE,
  PML_TYPE_FLOAT,
  PML_TYPE_OTHER /* bytes, recorders only */
};

/* What a read gives: int32 widened to int64, float widened to double. */
struct pml_value {
  enum pml_type type; /* PML_TYPE_INT64 or PML_TYPE_DOUBLE */
  union {
    int64_t i;
    double d;
  };
};

static inline double pml_value_number(const struct pml_value *v) {
  return v->type == PML_TYPE_DOUBLE ? v->d : (double)v->i;
}

PML_END_DECLS

#endif
