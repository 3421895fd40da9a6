/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/lua/sim/sections.c - a program with known instruction counts: sections that are nested, recursive, or on
 * threads. Usage: sections WHAT N runs N rounds of a mode. spin(n) executes 2n instructions plus a small constant
 * number. Its loop must not begin at the start of the function, because callgrind takes such a jump for a call.
 */
#include "pml.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

__attribute__((noinline, noclone)) static void spin(long n) {
#if defined(__x86_64__)
  __asm__ volatile("nop\n1: dec %0\n\tjnz 1b" : "+r"(n));
#elif defined(__aarch64__)
  __asm__ volatile("nop\n1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n));
#endif
}

static void section(const char *label, long n) {
  pml_section_start_label(label);
  spin(n);
  pml_section_stop_label(label);
}

static void nested(long n) {
  pml_section_start_label("outer");
  spin(10 * n);
  section("inner", n);
  section("inner", n);
  pml_section_stop_label("outer");
}

static void recursive(long n, int depth) {
  pml_section_start_label("recursive");
  spin(n);
  if (depth > 1) recursive(n, depth - 1);
  pml_section_stop_label("recursive");
}

/* No thread ends before all have begun, so that each has a different id. They take turns, because a waiting thread
 * executes more instructions. */
static pthread_barrier_t all;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *in_a_thread(void *n) {
  pthread_barrier_wait(&all);
  pthread_mutex_lock(&turn);
  nested(*(long *)n);
  pthread_mutex_unlock(&turn);
  return NULL;
}

static void threads(long n) {
  pthread_t t[3];
  pthread_barrier_init(&all, NULL, 3);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, in_a_thread, &n);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

static void forked(long n) {
  section("parent", n);
  pid_t child = fork();
  if (child == 0) {
    section("child", 3 * n);
    exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  long n = argc > 2 ? atol(argv[2]) : 1;
  if (strcmp(what, "nested") == 0) nested(n);
  if (strcmp(what, "recursive") == 0) recursive(n, 5);
  if (strcmp(what, "threads") == 0) threads(n);
  if (strcmp(what, "threads, then forked") == 0) threads(n);
  if (strstr(what, "forked") != NULL) forked(n);
  if (strcmp(what, "outside") == 0) section("one", 1000), spin(n);
  for (long i = 0; strcmp(what, "many") == 0 && i < n; i++) section("one of many", 10);
  if (strcmp(what, "closed") == 0) {
    section("before", n);
    for (int fd = 3; fd < 64; fd++) close(fd);
    section("after", n);
  }
  if (strcmp(what, "dumped") == 0) {
    section("before", n);
    CALLGRIND_DUMP_STATS;
    section("after", n);
  }
  if (strcmp(what, "open") == 0) {
    pml_section_start_label("never stopped");
    spin(n);
  }
  return 0;
}
