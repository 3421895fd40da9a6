/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/plain.c - the library. */
#include "plain.h"

#include <string.h>

#undef plain_add

int plain_add(int a, int b) {
  return a + b;
}
double plain_scale(double x, float y, long double z) {
  return x * (double)y * (double)z;
}
struct plain_pair plain_swap(struct plain_pair p) {
  return (struct plain_pair){p.b, p.a};
}
struct plain_large plain_fill(double v) {
  struct plain_large l;
  for (int i = 0; i < 8; i++) l.v[i] = v + i;
  return l;
}
double plain_total(struct plain_large l) {
  double sum = 0;
  for (int i = 0; i < 8; i++) sum += l.v[i];
  return sum;
}
size_t plain_length(const char *text) {
  return text != NULL ? strlen(text) : 0;
}
enum plain_kind plain_next(enum plain_kind kind) {
  return kind == PLAIN_ONE ? PLAIN_TWO : PLAIN_ONE;
}
plain_colour plain_other(plain_colour colour) {
  return colour == PLAIN_RED ? PLAIN_BLUE : PLAIN_RED;
}
int plain_apply(int (*operation)(int, int), int a, int b) {
  return operation(a, b);
}
static int times(int a, int b) {
  return a * b;
}
plain_operation plain_choose(int which) {
  return which != 0 ? plain_add : times;
}
int (*plain_choose_raw(int which))(int, int) {
  return which != 0 ? plain_add : times;
}
int plain_first(int list[3], size_t n) {
  return n > 0 ? list[0] : -1;
}
void plain_each(int f(int), int *list, size_t n) {
  for (size_t i = 0; i < n; i++) list[i] = f(list[i]);
}
int plain_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}
/* Calls itself through the PLT, so that a definition before the library's intercepts these calls. */
int plain_fact(int n) {
  int (*volatile self)(int) = plain_fact;
  return n <= 1 ? 1 : n * self(n - 1);
}
void plain_leap(jmp_buf where) {
  longjmp(where, 7);
}
int plain_vformat(char *out, size_t n, const char *format, va_list args) {
  return vsnprintf(out, n, format, args);
}
int plain_format(char *out, size_t n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(out, n, format, args);
  va_end(args);
  return length;
}
int plain_log_with_list(const char *format, va_list args) {
  return vprintf(format, args);
}
int plain_log(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vprintf(format, args);
  va_end(args);
  return length;
}
int plain_sum(int n, ...) {
  va_list args;
  int sum = 0;
  va_start(args, n);
  for (int i = 0; i < n; i++) sum += va_arg(args, int);
  va_end(args);
  return sum;
}
int plain_renamed(int x) {
  return 2 * x;
}
#ifdef __x86_64__
int __attribute__((ms_abi)) plain_unusual(int x) {
  return 3 * x;
}
#endif
int plain_old(void) {
  return 1;
}
