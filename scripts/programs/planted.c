/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/planted.c - a program with a known amount of work and a known layout.
 *
 * chase() walks LINES lines of memory, one after the other. Without PAD they are 4096 bytes apart, so that they compete
 * for one set of the first-level cache; with PAD 64 each has another set. The instructions are the same. parse()
 * takes MORE rounds more than LETTERS.
 */
#include <stdio.h>

enum { LINES = 32, STEPS = 1000 * CHASE, LETTERS = 10000000 };

static _Alignas(4096) char memory[LINES * (4096 + 64)];
static volatile long distance = 4096 + PAD, more = MORE; /* variables, so that the code is the same */

static void **line(long i) {
  return (void **)(void *)(memory + i % LINES * distance);
}

__attribute__((noinline, noclone)) static void *chase(void *at) {
  for (long i = 0; i < STEPS; i++) at = *(void **)at;
  return at;
}

__attribute__((noinline, noclone)) static unsigned parse(long letters) {
  unsigned sum = 0;
  for (long i = 0; i < letters; i++) sum = sum * 31 + (unsigned)i;
  return sum;
}

int main(void) {
  for (long i = 0; i < LINES; i++) *line(i) = line(i + 1);
  printf("%d %u\n", chase(memory) == memory, parse(LETTERS + more));
  return 0;
}
