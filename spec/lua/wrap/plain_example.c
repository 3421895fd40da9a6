/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/plain_example.c - calls every function of the library; wrappers do not change its output. */
#include "plain.h"

#include <errno.h>

static int twice(int x) {
  return 2 * x;
}
static int minus(int a, int b) {
  return a - b;
}

int main(void) {
  char text[64];
  int list[3] = {1, 2, 3};
  jmp_buf here;
  struct plain_pair p = plain_swap((struct plain_pair){1, 2});
  for (int i = 0; i < 100; i++) list[0] = plain_add(i, 1);
  plain_each(twice, list, 3);
  printf("%d %d %d %d %d\n", list[0], list[1], list[2], p.a, p.b);
  printf("%g %g\n", plain_scale(2.0, 3.0f, 4.0L), plain_total(plain_fill(1.5)));
  printf("%zu %zu %d %d\n", plain_length("four"), plain_length(NULL), plain_next(PLAIN_ONE), plain_other(PLAIN_RED));
  printf("%d %d %d\n", plain_apply(minus, 5, 3), plain_choose(0)(6, 7), plain_choose_raw(0)(2, 3));
  printf("%d %d %d\n", plain_first(list, 3), plain_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), plain_fact(5));
  if (setjmp(here) == 0) plain_leap(here);
  errno = 42;
  int length = plain_format(text, sizeof text, "%d %s %.2f %Lg %c", 1, "two", 3.0, 4.0L, '5');
  printf("%d %s %d\n", length, text, errno);
  plain_log("%s %d %g\n", "logged", 6, 7.5);
  printf("%d %d %d %d\n", plain_sum(3, 1, 2, 3), plain_renamed(21), plain_old(), plain_inline(1));
#ifdef __x86_64__
  printf("%d\n", plain_unusual(14));
#endif
  return 0;
}
