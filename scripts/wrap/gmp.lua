-- SPDX-License-Identifier: BSD-3-Clause
-- GMP: gmp.h renames what programs write; mpz_add is __gmpz_add in the symbol table, and here.
--
-- Some twenty small functions (mpz_abs, mpz_neg, mpz_size, mpz_get_ui, mpn_add_1 and their like) have their code in the
-- header, and are left out; a program built without optimisation calls some of them. mpz_inits, mpz_clears and their like,
-- and gmp_randinit, take '...' and have no twin. Input and output of C++ streams belong to libgmpxx. The library also passes
-- on the addresses of mpz_add and mpz_sub: a run-time wrapper sees its own calls of these, pmlua record does not. Only
-- machine words can be recorded: mpz_t is a struct behind a pointer.
--
--     pmlua wrap init --recipe gmp

return {
  name = "gmp",
  title = "GMP",
  package = "libgmp-dev",
  headers = { "stdio.h", "stdarg.h", "gmp.h" },
  libs = "-lgmp",
  variadic = { __gmp_printf = "__gmp_vprintf", __gmp_snprintf = "__gmp_vsnprintf", __gmp_sscanf = "__gmp_vsscanf" },
  record = { "__gmpz_fac_ui:2", "__gmpz_probab_prime_p:2", "__gmpz_probab_prime_p:return", "__gmpz_mul_ui:3" },
  filter = [[
# stdio.h and stdarg.h only make gmp.h declare what needs them
SCOREP_FILE_NAMES_BEGIN
  EXCLUDE *
  INCLUDE */gmp*.h
SCOREP_FILE_NAMES_END
]],
  calls = { __gmpz_init = 3, __gmpz_set_ui = 1, __gmpz_clear = 3, __gmpz_fac_ui = 10, __gmpz_mul_ui = 100,
    __gmpz_ui_pow_ui = 1, __gmpz_sub_ui = 1, __gmpz_probab_prime_p = 4, __gmpz_cmp = 1, __gmpz_cmp_ui = 1,
    __gmpz_nextprime = 3, __gmpz_powm = 1, __gmp_snprintf = 1 },
  example = [[
/* Factorials in two ways, primes behind a power of ten, and Fermat's little theorem. */
#include "headers.h"

#include <string.h>

enum { N = 100 };

int main(void) {
  mpz_t product, factorial, m;
  mpz_init(product);
  mpz_init(factorial);
  mpz_init(m);
  mpz_set_ui(product, 1);
  for (unsigned long i = 1; i <= N; i++) mpz_mul_ui(product, product, i);
  for (unsigned long i = 1; i <= N / 10; i++) mpz_fac_ui(factorial, 10 * i);
  int same = mpz_cmp(product, factorial) == 0;

  mpz_ui_pow_ui(m, 10, 30);
  int primes = mpz_probab_prime_p(m, 25) != 0;
  for (int i = 0; i < 3; i++) {
    mpz_nextprime(m, m);
    primes += mpz_probab_prime_p(m, 25) != 0;
  }
  mpz_sub_ui(factorial, m, 1);
  mpz_powm(product, product, factorial, m); /* a^(m-1) mod m */
  int fermat = mpz_cmp_ui(product, 1) == 0;

  char text[64];
  gmp_snprintf(text, sizeof text, "%Zd", m);
  printf("%s: %d %d %d\n", text, same, primes, fermat);
  mpz_clear(product);
  mpz_clear(factorial);
  mpz_clear(m);
  return same && primes == 3 && fermat && strlen(text) == 31 ? 0 : 1;
}
]],
}
