/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/library.c - the part in C: each result depends on every byte of the arguments. */
#include "library.h"
#include "registers.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

long lib_integers(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

double lib_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j,
                   double k, double l) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

double lib_mixed(int8_t a, float b, uint16_t c, double d, long e, struct two f, struct floats g, struct many h,
                 struct pair i, long double j, const char *k) {
  double many = h.b;
  for (int n = 0; n < 9; n++) many += (double)h.at[n] * n;
  return a + (double)b * 2 + c * 3 + d * 4 + (double)e * 5 + (double)f.a * 6 + f.b * 7 + (double)g.a * 8 +
         (double)g.b * 9 + many + (double)i.a * 10 + (double)i.b * 11 + (double)j * 12 + (double)strlen(k);
}

struct two lib_two(struct two a, int n) {
  return (struct two){a.a + n, a.b * n};
}
struct floats lib_floats(struct floats a, float n) {
  return (struct floats){a.b * n, a.a + n};
}
struct pair lib_pair(struct pair a, int n) {
  return (struct pair){a.b + n, a.a * n};
}
struct many lib_many(struct many a, int n) {
  for (int i = 0; i < 9; i++) a.at[i] += n;
  a.b *= n;
  return a;
}

double lib_variable(const char *what, ...) {
  double sum = 0;
  va_list ap;
  va_start(ap, what);
  for (; *what != '\0'; what++) {
    sum *= 3;
    if (*what == 'i') sum += va_arg(ap, int);
    if (*what == 'd') sum += va_arg(ap, double);
    if (*what == 'l') sum += (double)va_arg(ap, long double);
    if (*what == 's') sum += (double)strlen(va_arg(ap, const char *));
    if (*what == 'm') sum += (double)va_arg(ap, struct many).at[8];
  }
  va_end(ap);
  return sum;
}

long double lib_extended(long double a, int n, long double b) {
  return a * n + b;
}
long double _Complex lib_complex(long double _Complex a, double _Complex b) {
  return a * 3 + b;
}
float _Complex lib_small_complex(float _Complex a) {
  return a * 2.0f + 1.0f;
}
__int128 lib_int128(long n, __int128 a, __int128 b) {
  return a * n + b;
}
void lib_nothing(void) {
  __asm__ volatile("");
}

int lib_recursive(int n) {
  int inner = n > 0 ? lib_again(n - 1) : 0;
  __asm__ volatile("" : "+r"(inner)); /* a call, no loop */
  return inner + 1;
}
int lib_again(int n) {
  int inner = lib_recursive(n);
  __asm__ volatile("" : "+r"(inner));
  return inner;
}
int lib_tailed(int n) {
  return n * 2;
}
int lib_tail(int n) {
  return lib_tailed(n + 1);
}
int lib_back(int (*back)(void *arg), void *arg) {
  int got = back(arg);
  __asm__ volatile("" : "+r"(got));
  return got + 1;
}
int lib_errno(int set) {
  int was = errno;
  errno = set;
  return was;
}

static void clean(int **cleaned) {
  ++**cleaned;
}
int lib_guard(int (*back)(void *arg), void *arg, int *cleaned) {
  __attribute__((cleanup(clean))) int *guard = cleaned;
  int got = back(arg);
  __asm__ volatile("" : "+r"(got));
  return got + (guard == NULL);
}

#ifdef __x86_64__
wide4 lib_avx(wide4 a, wide4 b, wide4 c, wide4 d, wide4 e, wide4 f, wide4 g, wide4 h, wide4 i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
wide8 lib_avx512(wide8 a, wide8 b, wide8 c, wide8 d, wide8 e, wide8 f, wide8 g, wide8 h, wide8 i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
#endif

__asm__(FUNCTION("lib_registers") COPY_REGISTERS "ret\n.size lib_registers, . - lib_registers\n");

const struct registers *lib_seen(int bytes) {
  wide = bytes;
  return &seen;
}

#ifdef __x86_64__
__asm__(".text\n.globl lib_save\n.type lib_save, @function\nlib_save:\n"
        "mov %rbx, (%rdi)\nmov %rbp, 8(%rdi)\nmov %r12, 16(%rdi)\nmov %r13, 24(%rdi)\nmov %r14, 32(%rdi)\n"
        "mov %r15, 40(%rdi)\nlea 8(%rsp), %rdx\nmov %rdx, 48(%rdi)\nmov (%rsp), %rdx\nmov %rdx, 56(%rdi)\n"
        "xor %eax, %eax\nret\n.size lib_save, . - lib_save\n"
        ".globl lib_load\n.type lib_load, @function\nlib_load:\n"
        "mov %esi, %eax\nmov (%rdi), %rbx\nmov 8(%rdi), %rbp\nmov 16(%rdi), %r12\nmov 24(%rdi), %r13\n"
        "mov 32(%rdi), %r14\nmov 40(%rdi), %r15\nmov 48(%rdi), %rsp\njmp *56(%rdi)\n.size lib_load, . - lib_load\n");
#else
__asm__(".text\n.globl lib_save\n.type lib_save, %function\nlib_save:\n"
        "stp x19, x20, [x0]\nstp x21, x22, [x0, #16]\nstp x23, x24, [x0, #32]\nstp x25, x26, [x0, #48]\n"
        "stp x27, x28, [x0, #64]\nstp x29, x30, [x0, #80]\nmov x1, sp\nstr x1, [x0, #96]\nstp d8, d9, [x0, #112]\n"
        "stp d10, d11, [x0, #128]\nstp d12, d13, [x0, #144]\nstp d14, d15, [x0, #160]\nmov w0, #0\nret\n"
        ".size lib_save, . - lib_save\n"
        ".globl lib_load\n.type lib_load, %function\nlib_load:\n"
        "ldp x19, x20, [x0]\nldp x21, x22, [x0, #16]\nldp x23, x24, [x0, #32]\nldp x25, x26, [x0, #48]\n"
        "ldp x27, x28, [x0, #64]\nldp x29, x30, [x0, #80]\nldr x2, [x0, #96]\nmov sp, x2\nldp d8, d9, [x0, #112]\n"
        "ldp d10, d11, [x0, #128]\nldp d12, d13, [x0, #144]\nldp d14, d15, [x0, #160]\nmov w0, w1\nret\n"
        ".size lib_load, . - lib_load\n");
#endif
