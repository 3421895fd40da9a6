/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/library.h - a library whose functions cover all arguments and results of the C convention. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <complex.h>
#include <stdint.h>

#define CALLED __attribute__((visibility("default")))

/* Whether code shows which address slots are only called. If it does not, those slots stay unchanged. */
#if defined(__x86_64__)
#define SHOWS_CALLS 1
#else
#define SHOWS_CALLS 0
#endif
#define HIDES_CALLS "without a PLT: this compiler, or this instruction set, calls by registers: code does not show that"

struct two {
  long a;
  double b;
}; /* in an integer and a vector register */
struct floats {
  float a, b;
}; /* in one vector register */
struct pair {
  long a, b;
}; /* in two integer registers */
struct many {
  long at[9];
  double b;
}; /* in memory */

CALLED long lib_integers(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
                         long l);
CALLED double lib_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i,
                          double j, double k, double l);
CALLED double lib_mixed(int8_t a, float b, uint16_t c, double d, long e, struct two f, struct floats g, struct many h,
                        struct pair i, long double j, const char *k);
CALLED struct two lib_two(struct two a, int n);
CALLED struct floats lib_floats(struct floats a, float n);
CALLED struct pair lib_pair(struct pair a, int n);
CALLED struct many lib_many(struct many a, int n);
CALLED double lib_variable(const char *what,
                           ...); /* 'i' int, 'd' double, 'l' long double, 's' string, 'm' struct many */
CALLED long double lib_extended(long double a, int n, long double b);
CALLED long double _Complex lib_complex(long double _Complex a, double _Complex b);
CALLED float _Complex lib_small_complex(float _Complex a);
CALLED __int128 lib_int128(long n, __int128 a, __int128 b);
CALLED void lib_nothing(void);
CALLED int lib_recursive(int n); /* n calls of itself, through the library's own slot */
CALLED int lib_again(int n);     /* the other half of it */
CALLED int lib_tail(int n);      /* ends with a jump to lib_tailed */
CALLED int lib_tailed(int n);
CALLED int lib_back(int (*back)(void *arg), void *arg);
CALLED int lib_errno(int set);
CALLED int lib_guard(int (*back)(void *arg), void *arg, int *cleaned); /* counts there however @back ends */

/* The library's setjmp and longjmp, with different names: lib_save() returns 0, then the value of lib_load(). */
CALLED int lib_save(void **at) __attribute__((returns_twice));
CALLED void lib_load(void **at, int value) __attribute__((noreturn));
#define LIB_SAVED 32

/* Does nothing, and preserves all registers. @wide: bytes of a vector register. */
struct registers;
CALLED void lib_registers(void);
CALLED const struct registers *lib_seen(int wide);

#ifdef __x86_64__
typedef double wide4 __attribute__((vector_size(32)));
typedef double wide8 __attribute__((vector_size(64)));
__attribute__((target("avx"))) CALLED wide4 lib_avx(wide4 a, wide4 b, wide4 c, wide4 d, wide4 e, wide4 f, wide4 g,
                                                    wide4 h, wide4 i);
__attribute__((target("avx512f"))) CALLED wide8 lib_avx512(wide8 a, wide8 b, wide8 c, wide8 d, wide8 e, wide8 f,
                                                           wide8 g, wide8 h, wide8 i);
#endif

CALLED int lib_catch(int (*back)(void *arg), void *arg); /* the result of @back, or 1000 + the value thrown */
CALLED int lib_throw(int n);                             /* throws @n if it is above 0 */

#endif
