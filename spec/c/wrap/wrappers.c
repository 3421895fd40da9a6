/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/wrap/wrappers.c - wrappers of some functions of spec/c/intercept/library.h, as a generator would write them.
 *
 * With LINK_TIME for a linker that has --wrap, else under the functions' own names.
 */
#include "../intercept/library.h"

#include "adapter/wrap/pml_wrap.h"

#define FILE_NAME "library.h"
#define LIBRARY_NAME "libintercept.so"

#ifdef LINK_TIME
#define WRAPPER(name) __wrap_##name
#define DECLARE(type, name, ...)                                                                                       \
  extern type __real_##name(__VA_ARGS__);                                                                              \
  CALLED type __wrap_##name(__VA_ARGS__)
#define REAL(type, name, ...) type (*const real)(__VA_ARGS__) = __real_##name
#else
#define WRAPPER(name) name
#define DECLARE(type, name, ...) CALLED type name(__VA_ARGS__)
#define REAL(type, name, ...)                                                                                          \
  type (*real)(__VA_ARGS__);                                                                                           \
  *(void **)&real = pml_wrap_real(&wrapped_##name)
#endif
#define WRAPPED(name) PML_WRAP_FUNCTION(wrapped_##name, #name, LIBRARY_NAME, FILE_NAME, __LINE__)

DECLARE(void, lib_nothing, void);
DECLARE(int, lib_recursive, int n);
DECLARE(int, lib_back, int (*back)(void *arg), void *arg);
DECLARE(int, lib_catch, int (*back)(void *arg), void *arg);
DECLARE(int, lib_throw, int n);
DECLARE(struct two, lib_two, struct two a, int n);
DECLARE(int, lib_errno, int set);

WRAPPED(lib_nothing);
void WRAPPER(lib_nothing)(void) {
  PML_WRAP_CALL(call, &wrapped_lib_nothing);
  REAL(void, lib_nothing, void);
  real();
}

WRAPPED(lib_recursive);
int WRAPPER(lib_recursive)(int n) {
  PML_WRAP_CALL(call, &wrapped_lib_recursive);
  REAL(int, lib_recursive, int);
  return real(n);
}

WRAPPED(lib_back);
int WRAPPER(lib_back)(int (*back)(void *arg), void *arg) {
  PML_WRAP_CALL(call, &wrapped_lib_back);
  REAL(int, lib_back, int (*)(void *), void *);
  return real(back, arg);
}

#ifndef WITHOUT_CPLUSPLUS
WRAPPED(lib_catch);
int WRAPPER(lib_catch)(int (*back)(void *arg), void *arg) {
  PML_WRAP_CALL(call, &wrapped_lib_catch);
  REAL(int, lib_catch, int (*)(void *), void *);
  return real(back, arg);
}

WRAPPED(lib_throw);
int WRAPPER(lib_throw)(int n) {
  PML_WRAP_CALL(call, &wrapped_lib_throw);
  REAL(int, lib_throw, int);
  return real(n);
}
#endif

WRAPPED(lib_errno);
int WRAPPER(lib_errno)(int set) {
  PML_WRAP_CALL(call, &wrapped_lib_errno);
  REAL(int, lib_errno, int);
  return real(set);
}

static struct pml_wrap_value in_two[] = {PML_WRAP_VALUE("a.a", PML_WRAP_INTEGER, PML_WRAP_METRIC | PML_WRAP_RECORD),
                                         PML_WRAP_VALUE("n", PML_WRAP_INTEGER, PML_WRAP_RECORD),
                                         PML_WRAP_VALUE("a.b", PML_WRAP_REAL, PML_WRAP_METRIC)};
static struct pml_wrap_value out_two[] = {PML_WRAP_VALUE("return.b", PML_WRAP_REAL, PML_WRAP_METRIC | PML_WRAP_RECORD)};
PML_WRAP_FUNCTION_VALUES(wrapped_lib_two, "lib_two", LIBRARY_NAME, FILE_NAME, __LINE__, in_two, 3, out_two, 1);
struct two WRAPPER(lib_two)(struct two a, int n) {
  uint64_t in[3], out[1];
  PML_WRAP_CALL_VALUES(call, &wrapped_lib_two, in, in[0] = pml_wrap_from_integer(a.a); in[1] = pml_wrap_from_integer(n);
                       in[2] = pml_wrap_from_real(a.b));
  REAL(struct two, lib_two, struct two, int);
  struct two result = real(a, n);
  PML_WRAP_RESULTS(call, &wrapped_lib_two, out, out[0] = pml_wrap_from_real(result.b));
  return result;
}

#ifndef LINK_TIME
DECLARE(int, lib_nowhere, int n);
WRAPPED(lib_nowhere);
int lib_nowhere(int n) {
  PML_WRAP_CALL(call, &wrapped_lib_nowhere);
  REAL(int, lib_nowhere, int);
  return real != NULL ? real(n) : 0;
}
#endif

DECLARE(double, lib_mixed, int8_t a, float b, uint16_t c, double d, long e, struct two f, struct floats g,
        struct many h, struct pair i, long double j, const char *k);
static struct pml_wrap_value in_mixed[] = {PML_WRAP_VALUE("k", PML_WRAP_TEXT, PML_WRAP_METRIC)};
PML_WRAP_FUNCTION_VALUES(wrapped_lib_mixed, "lib_mixed", LIBRARY_NAME, FILE_NAME, __LINE__, in_mixed, 1, NULL, 0);
double WRAPPER(lib_mixed)(int8_t a, float b, uint16_t c, double d, long e, struct two f, struct floats g, struct many h,
                          struct pair i, long double j, const char *k) {
  uint64_t in[1];
  PML_WRAP_CALL_VALUES(call, &wrapped_lib_mixed, in, in[0] = pml_wrap_from_text(k));
  REAL(double, lib_mixed, int8_t, float, uint16_t, double, long, struct two, struct floats, struct many, struct pair,
       long double, const char *);
  return real(a, b, c, d, e, f, g, h, i, j, k);
}
