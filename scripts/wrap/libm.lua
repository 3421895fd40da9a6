-- SPDX-License-Identifier: BSD-3-Clause
-- The C math library. Calls that the compiler replaces by instructions (sqrt, fabs, floor) or evaluates itself do not reach
-- it. isinf and isnan are also in libc, and are left out, as are the names with two underscores that math.h declares and
-- libm lacks. C++ programs always link libm.
--
--     pmlua wrap init --recipe libm

return {
  name = "libm",
  title = "C math library",
  package = "libc6-dev",
  headers = { "math.h" },
  cflags = "-D_GNU_SOURCE",
  libs = "-lm",
  record = { "exp:1", "pow:2", "lgamma:return" },
  filter = [[
# math.h has its functions in files of its own; what libc has, too, is not of libm alone.
SCOREP_FILE_NAMES_BEGIN
  EXCLUDE *
  INCLUDE */math.h */bits/mathcalls*.h
SCOREP_FILE_NAMES_END
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE __* isinf* isnan*
SCOREP_REGION_NAMES_END
]],
  calls = { sin = 1000, cos = 1000, exp = 100, pow = 50, lgamma = 20, j0 = 10, sinf = 30, expl = 5, remquo = 3 },
  example = [[
/* Identities that the functions of libm keep. */
#include "headers.h"

#include <stdio.h>

static volatile double one = 1; /* what the compiler does not know, it does not evaluate */

static double circle(void) {
  double worst = 0;
  for (int i = 0; i < 1000; i++) {
    double s = sin(one * i), c = cos(one * i), error = s * s + c * c - 1;
    if (error > worst) worst = error;
    if (-error > worst) worst = -error;
  }
  return worst;
}

int main(void) {
  double sum = 0, power = 0, factorial = 0, bessel = 0;
  for (int i = 1; i <= 100; i++) sum += exp(-one * i); /* a geometric series */
  for (int i = 1; i <= 50; i++) power += pow(one * 2, i);
  for (int i = 1; i <= 20; i++) factorial = lgamma(one * i);
  for (int i = 0; i < 10; i++) bessel += j0(one * i);
  float single = 0;
  for (int i = 0; i < 30; i++) single += sinf((float)one * (float)i);
  long double wide = 0;
  for (int i = 0; i < 5; i++) wide += expl(-(long double)one * i);
  int bits = 0, turns = 0;
  for (int i = 0; i < 3; i++, turns += bits & 7) remquo(one * 10 * i, 3, &bits);
  printf("%.1e %.12f %.0f %.6f %.6f %.4f %.6Lf %d\n", circle() < 1e-15 ? 0.0 : 1.0, sum, power, factorial, bessel, single, wide,
         turns);
  return sum > 0.58197 && sum < 0.58198 && power == 2251799813685246.0 && factorial > 39.3 && factorial < 39.4 ? 0 : 1;
}
]],
}
