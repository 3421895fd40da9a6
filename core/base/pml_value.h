/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_value.h - native types of events and recorders, and values of them. */
#ifndef PML_VALUE_H
#define PML_VALUE_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_type {
  PML_TYPE_INT64,
  PML_TYPE_INT32,
  PML_TYPE_DOUBLE,
  PML_TYPE_FLOAT,
  PML_TYPE_OTHER /* bytes, recorders only */
};

/* The type of a read: int32 widened to int64, float widened to double. */
struct pml_value {
  enum pml_type type; /* PML_TYPE_INT64 or PML_TYPE_DOUBLE */
  union {
    int64_t i;
    double d;
  };
};

/* pml_value_number - the value as a double, rounded if it is an integer of more than 53 bits. */
static inline double pml_value_number(const struct pml_value *v) {
  return v->type == PML_TYPE_DOUBLE ? v->d : (double)v->i;
}

/* pml_value_is_int64 - the integral part of @d is an int64_t: from -2^63 to below 2^63, and no NaN. */
static inline bool pml_value_is_int64(double d) {
  return d >= -9223372036854775808.0 && d < 9223372036854775808.0;
}

/* The kind of a metric's values, and the time that each value covers: since the beginning (START), one moment (POINT),
 * since the previous value (LAST), or until the next one (NEXT). The order is Score-P's and OTF2's. */
#define PML_MODE_LIST(X)                                                                                               \
  X(ACCUMULATED_START, "accumulated_start")                                                                            \
  X(ACCUMULATED_POINT, "accumulated_point")                                                                            \
  X(ACCUMULATED_LAST, "accumulated_last")                                                                              \
  X(ACCUMULATED_NEXT, "accumulated_next")                                                                              \
  X(ABSOLUTE_POINT, "absolute_point")                                                                                  \
  X(ABSOLUTE_LAST, "absolute_last")                                                                                    \
  X(ABSOLUTE_NEXT, "absolute_next")                                                                                    \
  X(RELATIVE_POINT, "relative_point")                                                                                  \
  X(RELATIVE_LAST, "relative_last")                                                                                    \
  X(RELATIVE_NEXT, "relative_next")
#define PML_MODE_ENUM(id, name) PML_MODE_##id,
enum pml_mode { PML_MODE_LIST(PML_MODE_ENUM) PML_MODES };
#undef PML_MODE_ENUM

/*
 * pml_mode_is_level    - the value is a state, such as a temperature: values are not added up.
 * pml_mode_is_relative - the value is the increase since the previous value.
 */
static inline bool pml_mode_is_level(enum pml_mode m) {
  return m >= PML_MODE_ABSOLUTE_POINT && m <= PML_MODE_ABSOLUTE_NEXT;
}
static inline bool pml_mode_is_relative(enum pml_mode m) {
  return m >= PML_MODE_RELATIVE_POINT && m <= PML_MODE_RELATIVE_NEXT;
}

/* The value of an absolute metric that has no value yet: all bits set, which is a NaN as a double, or the least integer
 * of a signed metric. Traces omit it, and Lua gets nil. */
#define PML_VALUE_ABSENT UINT64_MAX
#define PML_VALUE_ABSENT_SIGNED (UINT64_C(1) << 63)

/* pml_value_absent - the bits that mean "no value yet". */
static inline uint64_t pml_value_absent(bool is_signed_integer) {
  return is_signed_integer ? PML_VALUE_ABSENT_SIGNED : PML_VALUE_ABSENT;
}

/* pml_value_plus, pml_value_minus - x + y and x - y, of integers, or of doubles given as their bits (@real). */
static inline uint64_t pml_value_plus(uint64_t x, uint64_t y, bool real) {
  double a, b;
  if (!real) return x + y;
  __builtin_memcpy(&a, &x, sizeof a);
  __builtin_memcpy(&b, &y, sizeof b);
  a += b;
  __builtin_memcpy(&x, &a, sizeof x);
  return x;
}
static inline uint64_t pml_value_minus(uint64_t x, uint64_t y, bool real) {
  double a, b;
  if (!real) return x - y;
  __builtin_memcpy(&a, &x, sizeof a);
  __builtin_memcpy(&b, &y, sizeof b);
  a -= b;
  __builtin_memcpy(&x, &a, sizeof x);
  return x;
}

/* pml_value_is_absent - are these the bits of no value, of a metric of unknown signedness? */
static inline bool pml_value_is_absent(uint64_t bits, bool real) {
  return bits == PML_VALUE_ABSENT || (!real && bits == PML_VALUE_ABSENT_SIGNED);
}

/* pml_value_change - @to - @from. An absent value counts as 0 at the beginning, and there is no change to one. */
static inline uint64_t pml_value_change(uint64_t from, uint64_t to, bool real) {
  if (pml_value_is_absent(to, real)) return 0;
  return pml_value_is_absent(from, real) ? to : pml_value_minus(to, from, real);
}

/* The mode of a metric after summation: relative becomes accumulated. */
static inline enum pml_mode pml_mode_summed(enum pml_mode m) {
  static const enum pml_mode sum[] = {PML_MODE_ACCUMULATED_POINT, PML_MODE_ACCUMULATED_LAST, PML_MODE_ACCUMULATED_NEXT};
  return pml_mode_is_relative(m) ? sum[m - PML_MODE_RELATIVE_POINT] : m;
}

PML_END_DECLS

#endif
