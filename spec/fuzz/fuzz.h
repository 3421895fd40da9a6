/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz.h - shared parts of the targets: the entry, promises, planted bugs, pieces of the input, scratch
 * files. */
#ifndef FUZZ_H
#define FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* PROMISE(condition, "sentence") - an invariant that holds for every input. */
#define PROMISE(condition, text) ((condition) ? (void)0 : fuzz__broken(__FILE__, __LINE__, text))
static inline void fuzz__broken(const char *file, int line, const char *text) {
  fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, text);
  abort();
}

/*
 * PLANTED(condition) - a write behind the end of the heap's memory when @condition holds, in a build with -DPLANT_BUG
 * (make fuzz-proof). Only the code under test can make the condition true, so an input that triggers the bug has
 * reached that code.
 */
#ifdef PLANT_BUG
#define PLANTED(condition) ((condition) ? fuzz__planted() : (void)0)
static inline void fuzz__planted(void) {
  fprintf(stderr, "the planted bug\n");
  volatile size_t n = 8;
  volatile char *p = malloc(n);
  p[n] = 1;
  free((void *)(uintptr_t)p);
}
#else
#define PLANTED(condition) ((void)(condition))
#endif

/* The input, read from its front; missing bytes are 0. */
struct fuzz_input {
  const uint8_t *at, *end;
};
static inline uint8_t fuzz_byte(struct fuzz_input *in) {
  return in->at < in->end ? *in->at++ : 0;
}
static inline uint64_t fuzz_word(struct fuzz_input *in) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v = v << 8 | fuzz_byte(in);
  return v;
}

/* Up to the next @end byte, or all: a copy with a 0 behind it, to be freed. Overflows of it are seen. */
static inline char *fuzz_text(struct fuzz_input *in, uint8_t end, size_t *n) {
  const uint8_t *stop = in->at < in->end ? memchr(in->at, end, (size_t)(in->end - in->at)) : NULL;
  *n = (size_t)((stop != NULL ? stop : in->end) - in->at);
  char *text = malloc(*n + 1);
  if (text == NULL) abort();
  memcpy(text, in->at, *n);
  text[*n] = '\0';
  in->at = stop != NULL ? stop + 1 : in->end;
  return text;
}

/* An anonymous file with these bytes; its descriptor, to be closed. */
static inline int fuzz_file(const void *bytes, size_t n) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0) abort();
  return fd;
}

/* The path of the one anonymous file of this kind, which now has these bytes. */
static inline const char *fuzz_path(const void *bytes, size_t n) {
  static char path[64];
  static int fd = -1;
  if (fd < 0) {
    fd = fuzz_file("", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, n, 0) != (ssize_t)n) abort();
  return path;
}

/* A folder in memory for this process, gone when it ends well. */
static char fuzz__dir[64];
static inline void fuzz__remove(void) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", fuzz__dir);
  if (system(command) != 0) perror(command);
}
static inline const char *fuzz_folder(void) {
  if (fuzz__dir[0] != '\0') return fuzz__dir;
  snprintf(fuzz__dir, sizeof fuzz__dir, "/dev/shm/pmlua-fuzz-XXXXXX");
  if (mkdtemp(fuzz__dir) == NULL) abort();
  atexit(fuzz__remove);
  return fuzz__dir;
}
static inline void fuzz_write(const char *folder, const char *name, const void *bytes, size_t n) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) abort();
  close(fd);
}

#endif
