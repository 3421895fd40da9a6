/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/number.c - numbers as text: equal to printf(), digit by digit, in any locale. */
#include "base/text/pml_number.h"
#include "check.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>

static unsigned long wrong;

static void compare(const char *text, size_t n, const char *wanted) {
  if (strcmp(text, wanted) == 0 && n == strlen(wanted)) return;
  if (wrong++ < 10) printf("# %s instead of %s\n", text, wanted);
}

static void check_one(double v) {
  char text[PML__NUMBER_MAX], wanted[64];
  const int digits[] = {15, 17};
  for (size_t i = 0; i < 2; i++) {
    (void)snprintf(wanted, sizeof wanted, "%.*g", digits[i], v);
    compare(text, pml__number_text(text, v, digits[i]), wanted);
  }
  (void)snprintf(wanted, sizeof wanted, "%.15g", v);
  if (strtod(wanted, NULL) != v) (void)snprintf(wanted, sizeof wanted, "%.17g", v);
  compare(text, pml__number_text(text, v, PML__NUMBER_EXACT), wanted);
}

static void check_both(double v) {
  check_one(v);
  check_one(-v);
}

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state ^ *state >> 29;
}

static void check_bits(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  check_both(v);
}

/* Near short numbers, and near powers of two and of ten, where digits and exponents change. */
static void check_edges(void) {
  for (int e = -330; e < 310; e++)
    for (int digit = 1; digit < 10; digit++) {
      char text[32];
      (void)snprintf(text, sizeof text, "%de%d", digit, e);
      double v = strtod(text, NULL);
      check_both(v);
      check_both(nextafter(v, INFINITY));
      check_both(nextafter(v, 0));
    }
  for (int e = -1074; e < 1024; e++) {
    check_both(ldexp(1, e));
    check_both(nextafter(ldexp(1, e), 0));
    check_both(nextafter(ldexp(1, e), INFINITY));
  }
}

/* Halves between two numbers of 15 or 17 digits, and their nearest neighbours. */
static void check_ties(void) {
  for (uint64_t i = 0; i < 2000; i++) {
    double v = ldexp((double)(UINT64_C(1000000000000001) + 2 * i * i), -1);
    check_both(v);
    check_both(ldexp(v, -4));
    check_both(nextafter(v, 0));
  }
}

static void check_whole(int64_t v) {
  char text[PML__NUMBER_MAX], wanted[64];
  (void)snprintf(wanted, sizeof wanted, "%" PRId64, v);
  compare(text, pml__number_whole(text, v), wanted);
}

static void check_locale(void) {
  char text[PML__NUMBER_MAX];
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
    SKIP("no locale de_DE.UTF-8");
    return;
  }
  (void)pml__number_text(text, 1.5e-30, 15);
  CHECK(strcmp(text, "1.5e-30") == 0, "a decimal point in a locale with a comma");
}

int main(void) {
  uint64_t state = 1;
  check_edges();
  check_ties();
  check_both(0);
  check_both(INFINITY);
  for (int i = 0; i < 100000; i++) check_bits(next(&state));
  CHECK(wrong == 0, "doubles of any bits");
  for (int i = 0; i < 200000; i++) {
    double ns = ldexp((double)(next(&state) >> 11), -(int)(next(&state) >> 59));
    check_both(ns);
    check_both(ns / 1e9);
  }
  CHECK(wrong == 0, "times in nanoseconds and seconds");
  for (int i = 0; i < 100000; i++) check_both((double)(next(&state) % 100000000) / 1e6);
  CHECK(wrong == 0, "numbers that are short in decimal");
  for (int i = 0; i < 64; i++) {
    check_whole((int64_t)(UINT64_C(1) << i));
    check_whole((int64_t)(next(&state) >> i));
    check_whole(-(int64_t)(next(&state) >> i));
  }
  check_whole(0);
  check_whole(INT64_MAX);
  CHECK(wrong == 0, "integers");
  check_locale();
  return check_done();
}
