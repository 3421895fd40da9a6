/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/check.h - common functions of C specs: TAP lines, a closing count, exit status 0 / 1 / 77; includes pmlua's
 * public header and the usual headers of C and POSIX. */
#ifndef CHECK_H
#define CHECK_H

#include "pml.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* To be used from the main thread; workers hand their findings back to it. */
static struct { unsigned passed, failed, skipped; } check__count;

static inline unsigned check__number(void) {
  return check__count.passed + check__count.failed + check__count.skipped;
}

__attribute__((format(printf, 5, 6))) static inline bool check__say(bool good, const char *file, int line,
                                                                    const char *expr, const char *fmt, ...) {
  good ? check__count.passed++ : check__count.failed++;
  printf("%s %u - ", good ? "ok" : "not ok", check__number());
  va_list ap;
  va_start(ap, fmt);
  vprintf(fmt, ap);
  va_end(ap);
  putchar('\n');
  if (!good) printf("#   %s:%d: %s\n", file, line, expr);
  fflush(stdout); /* a crash or a fork must neither lose nor double a line */
  return good;
}

static inline void check__skip(const char *reason) {
  check__count.skipped++;
  printf("ok %u # SKIP %s\n", check__number(), reason);
  fflush(stdout);
}

/* CHECK(cond, "sentence", ...) - one claim; the sentence may take printf arguments. Its value is the condition. */
#define CHECK(cond, ...) check__say((cond) ? true : false, __FILE__, __LINE__, #cond, __VA_ARGS__)

/* SKIP("reason") - a claim that cannot be tested on this machine; the program continues. */
#define SKIP(reason) check__skip(reason)

static inline void check__each(const char *names, void (*const *part)(void), size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t length = strcspn(names, ",");
    void (*volatile each)(void) = part[i]; /* not inlined: some parts use setjmp() */
    printf("# %.*s\n", (int)length, names);
    fflush(stdout);
    each();
    names += length + strspn(names + length, ", ");
  }
}

/* CHECK_EACH(part, ...) - call the parts of a spec in turn; a comment line has the name of each. */
#define CHECK_EACH(...)                                                                                                \
  check__each(#__VA_ARGS__, (void (*const[])(void)){__VA_ARGS__},                                                      \
              sizeof((void (*const[])(void)){__VA_ARGS__}) / sizeof(void (*)(void)))

/* Run @work in @n threads at the same time, and join them. Each gets its element of the array @each, whose elements
 * have
 * @bytes; with 0 bytes, all get @each. */
static inline void in_threads(size_t n, void *(*work)(void *), void *each, size_t bytes) {
  pthread_t *thread = calloc(n, sizeof *thread);
  for (size_t i = 0; i < n; i++)
    if (thread == NULL || pthread_create(&thread[i], NULL, work, bytes == 0 ? each : (char *)each + i * bytes) != 0)
      abort();
  for (size_t i = 0; i < n; i++) pthread_join(thread[i], NULL);
  free(thread);
}

/* Wait for a child: its exit status, the negative of the signal that ended it, or INT32_MIN if there is no such child.
 */
static inline int exit_of(pid_t child) {
  int status = 0;
  if (child <= 0 || waitpid(child, &status, 0) != child) return INT32_MIN;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The exit status: 1 if a claim failed or none was made, 77 if all were skipped. */
static inline int check_done(void) {
  printf("1..%u\n", check__number());
  printf("%u passed, %u failed, %u skipped\n", check__count.passed, check__count.failed, check__count.skipped);
  fflush(stdout);
  if (check__count.failed > 0 || check__number() == 0) return 1;
  return check__count.passed == 0 ? 77 : 0;
}

#endif
