/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/variable.c - variables of this very program, found as a debugger finds them. */
#include "check.h"
#include "program/pml_variable.h"

typedef float celsius;
enum color { RED = -1, GREEN, BLUE };
struct inner {
  short s;
  union {
    int i;
    float f;
  };
  unsigned bits : 3;
};
struct outer {
  double x[4];
  struct inner in[2][3];
  char *name;
};

static volatile int variable_int;
static volatile unsigned char variable_byte;
static volatile bool variable_bool;
static volatile celsius variable_celsius;
static volatile enum color variable_color;
static volatile long double variable_long_double;
static volatile double _Complex variable_complex;
static volatile struct { float _Complex z[2]; } variable_of_complex;
__extension__ static volatile __int128 variable_int128;
static volatile uint64_t variable_big;
static volatile struct outer variable_outer;
static _Thread_local volatile int variable_thread_local;

__attribute__((noinline)) static int variable_function(void) {
  static volatile int variable_in_function;
  return ++variable_in_function;
}

#define SELF "/proc/self/exe"

static uint64_t base(void) {
  struct pml_variable v;
  return pml_variable_find(SELF, "variable_function", false, &v) == 0 ? (uintptr_t)variable_function - v.address : 0;
}

static void check_found(const char *name, volatile void *at, size_t bytes, enum pml_content content, const char *type) {
  struct pml_variable v;
  int err = pml_variable_find(SELF, name, true, &v);
  if (!CHECK(err == 0, "%s is found%s%s", name, err ? ": " : "", err ? pml_error_detail(err) : "")) return;
  CHECK(v.address + base() == (uintptr_t)at, "%s is where it is", name);
  CHECK(v.bytes == bytes && v.content == content && !v.function, "it has %zu bytes of its kind", bytes);
  CHECK(strcmp(v.type, type) == 0, "its type is %s", v.type);
}

static void check_all(void) {
  check_found("variable_int", &variable_int, 4, PML_CONTENT_SIGNED, "volatile int");
  check_found("variable_byte", &variable_byte, 1, PML_CONTENT_UNSIGNED, "volatile unsigned char");
  check_found("variable_bool", &variable_bool, 1, PML_CONTENT_UNSIGNED, "volatile _Bool");
  check_found("variable_celsius", &variable_celsius, 4, PML_CONTENT_FLOAT, "volatile celsius");
  check_found("variable_color", &variable_color, 4, PML_CONTENT_SIGNED, "volatile color");
  check_found("variable_big", &variable_big, 8, PML_CONTENT_UNSIGNED, "volatile uint64_t");
  check_found("variable_outer.x[3]", &variable_outer.x[3], 8, PML_CONTENT_FLOAT, "double");
  check_found("variable_outer.in[1][2].f", &variable_outer.in[1][2].f, 4, PML_CONTENT_FLOAT, "float");
  check_found("variable_long_double", &variable_long_double, sizeof(long double), PML_CONTENT_LONG_DOUBLE,
              "volatile long double");
  check_found("variable_complex.real", &variable_complex, 8, PML_CONTENT_FLOAT, "volatile complex double");
  check_found("variable_complex.imag", (volatile double *)&variable_complex + 1, 8, PML_CONTENT_FLOAT,
              "volatile complex double");
  check_found("variable_of_complex.z[1].imag", (volatile float *)&variable_of_complex + 3, 4, PML_CONTENT_FLOAT,
              "complex float");
  check_found("variable_outer.name", &variable_outer.name, 8, PML_CONTENT_UNSIGNED, "char *");
}

static void check_symbols(void) {
  struct pml_variable v;
  CHECK(pml_variable_find(SELF, "variable_function", false, &v) == 0 && v.function, "a function is one");
  CHECK(pml_variable_find(SELF, "variable_outer+8", false, &v) == 0 &&
            v.address + base() == (uintptr_t)&variable_outer.x[1],
        "bytes behind a symbol are found");
  CHECK(pml_variable_find(SELF, "variable_outer", false, &v) == 0 && v.bytes == sizeof variable_outer,
        "a whole struct is");
  CHECK(pml_variable_find(SELF, "variable_in_function", true, &v) == 0 && v.bytes == 4,
        "static variables of a function are found");
}

static void check_refused(const char *name, bool typed, int code, const char *says) {
  struct pml_variable v;
  int err = pml_variable_find(SELF, name, typed, &v);
  CHECK(err == code && strstr(pml_error_detail(err), says), "%s: %s", name, pml_error_detail(err));
}

static void check_refusals(void) {
  struct pml_variable v;
  check_refused("variable_itn", true, PML_ENOSYMBOL, "nearest: variable_int");
  check_refused("variable_function", true, -EINVAL, "is a function");
  check_refused("variable_outer", true, -EINVAL, "name a member");
  check_refused("variable_outer.in[1]", true, -EINVAL, "name an element");
  check_refused("variable_outer.y", true, -EINVAL, "no member y; nearest: x");
  check_refused("variable_outer.x[4]", true, -EINVAL, "has 4 elements");
  check_refused("variable_outer.x[", true, -EINVAL, "brackets");
  check_refused("variable_outer.x[1]y", true, -EINVAL, "neither");
  check_refused("variable_outer.in[0][0].bits", true, -EINVAL, "bit field");
  check_refused("variable_int.x", true, -EINVAL, "not a struct");
  check_refused("variable_int[0]", true, -EINVAL, "not an array");
  check_refused("variable_int+x", false, -EINVAL, "not a number");
  check_refused("variable_int+4", true, -EINVAL, "no type");
  check_refused("variable_int128", true, -EINVAL, "128 of 16 bytes, whose content cannot be read");
  check_refused("variable_complex", true, -EINVAL, "name a part, .real or .imag");
  check_refused("variable_complex.re", true, -EINVAL, "a complex number has .real and .imag");
  check_refused("variable_complex.real.real", true, -EINVAL, "no member real");
  check_refused("variable_complex.imag[0]", true, -EINVAL, "not an array");
  check_refused("variable_thread_local", true, -ENXIO, "thread-local");
  check_refused("", true, -EINVAL, "not the name");
  CHECK(pml_variable_find("/nowhere", "x", true, &v) == -ENOENT, "no file, no variable");
  int err = pml_variable_find("/etc/passwd", "x", true, &v);
  CHECK(err == PML_EFORMAT && strcmp(pml_error_detail(err), "/etc/passwd: not a valid ELF file") == 0,
        "nor in a file that is no program: %s", pml_error_detail(err));
}

int main(void) {
  struct pml_variable v;
  variable_thread_local = variable_function();
  variable_int = variable_byte = variable_bool = 0;
  variable_celsius = 1;
  variable_color = BLUE;
  variable_long_double = 1;
  variable_complex = variable_of_complex.z[0] = 1;
  variable_int128 = 1;
  variable_big = variable_outer.in[0][0].bits;
  int err = pml_variable_find(SELF, "variable_int", true, &v);
  if (err == PML_ENOTHERE || err == -ENODATA) {
    SKIP(pml_error_detail(err));
    return check_done();
  }
  CHECK_EACH(check_all, check_symbols, check_refusals);
  return check_done();
}
