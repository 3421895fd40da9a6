/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/plain.h - a C library with everything that is difficult to wrap. */
#ifndef PLAIN_H
#define PLAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum plain_kind { PLAIN_ONE = 1, PLAIN_TWO };
struct plain_pair {
  int a, b;
};
struct plain_large {
  double v[8];
};
typedef int (*plain_operation)(int, int);
typedef enum { PLAIN_RED, PLAIN_BLUE } plain_colour;

int plain_add(int a, int b);
#define plain_add(a, b) plain_add((a), (b))
double plain_scale(double x, float y, long double z);
struct plain_pair plain_swap(struct plain_pair p);
struct plain_large plain_fill(double v);
double plain_total(struct plain_large l);
size_t plain_length(const char *text);
enum plain_kind plain_next(enum plain_kind kind);
plain_colour plain_other(plain_colour colour);
int plain_apply(int (*operation)(int, int), int a, int b);
plain_operation plain_choose(int which);
int (*plain_choose_raw(int which))(int, int);
int plain_first(int list[3], size_t n);
void plain_each(int f(int), int *list, size_t n);
int plain_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);
int plain_fact(int n);
void plain_leap(jmp_buf where);
int plain_format(char *out, size_t n, const char *format, ...);
int plain_vformat(char *out, size_t n, const char *format, va_list args);
int plain_log(const char *format, ...);
int plain_log_with_list(const char *format, va_list args);
int plain_sum(int n, ...);
int plain_renamed(int x) __asm__("plain_renamed_v2");
int plain_old();
int plain_absent(int x);
#ifdef __x86_64__
int __attribute__((ms_abi)) plain_unusual(int x);
#endif
static inline int plain_inline(int x) {
  return x + 1;
}

#endif
