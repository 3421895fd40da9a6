/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_say.c - a line on stderr. */
#include "base/text/pml_say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD "pmlua: "
#define TEXT_BYTES 500

static struct stat before;

__attribute__((constructor)) static void note_stderr(void) {
  if (fstat(STDERR_FILENO, &before) != 0) before = (struct stat){0};
}

static bool is_stderr(void) {
  struct stat st;
  return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == before.st_dev && st.st_ino == before.st_ino;
}

/* A SIGPIPE that was pending before is the program's. */
static void write_quietly(const char *line, size_t n) {
  sigset_t pipe, was, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &was);
  if (write(STDERR_FILENO, line, n) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
    (void)sigtimedwait(&pipe, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void pml__say(const char *format, ...) {
  char line[sizeof HEAD + TEXT_BYTES] = HEAD;
  int saved = errno;
  va_list ap;
  va_start(ap, format);
  (void)vsnprintf(line + sizeof HEAD - 1, TEXT_BYTES, format, ap);
  va_end(ap);
  size_t n = strlen(line);
  line[n++] = '\n';
  if (is_stderr()) write_quietly(line, n);
  errno = saved;
}
