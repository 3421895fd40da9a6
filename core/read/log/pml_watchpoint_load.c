/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_watchpoint_load.c - the accesses that another process recorded, from its log. */
#include "base/pml_error.h"
#include "program/pml_watchpoint_store.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int not_one(const char *path) {
  return pml_fail(PML_EFORMAT, "%.400s: damaged, or a log that no watchpoints left", path);
}

/*
 * Position and length of the store in the log @path. It is mapped, since it may be large, and its process may still
 * run.
 */
static int find(const char *path, uint64_t *at, size_t *bytes) {
  struct pml__log_reader r;
  int err = pml__log_read_open(&r, path);
  *bytes = 0;
  for (size_t i = 0; i < r.n && err == 0; i++) {
    if (r.entry[i].kind != PML__LOG_ACCESSES) continue;
    *at = r.entry[i].at;
    *bytes = r.entry[i].bytes;
  }
  pml__log_read_close(&r);
  return err == 0 && *bytes < pml__store_bytes(0) ? not_one(path) : err;
}

/* NULL and *err. */
static void *map_old(const char *path, uint64_t at, size_t bytes, int *err) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool whole = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= at + bytes;
  void *memory = whole ? mmap(NULL, at + bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (memory == MAP_FAILED)
    *err = fd < 0 || whole ? pml_fail(-errno, "%.400s: %s", path, strerror(errno)) : not_one(path);
  if (fd >= 0) (void)close(fd);
  return memory == MAP_FAILED ? NULL : memory;
}

int pml_watchpoint_load(struct pml_watchpoint_store **to, const char *path) {
  size_t bytes = 0;
  uint64_t at = 0;
  *to = NULL;
  int err = find(path, &at, &bytes);
  void *memory = err == 0 ? map_old(path, at, bytes, &err) : NULL;
  if (memory == NULL) return err;
  struct pml_watchpoint_store *s = calloc(1, sizeof *s);
  if (s != NULL) {
    pml__store_lay_out(s, memory, (size_t)at, bytes);
    if (s->head->points <= PML_WATCHPOINTS_MAX && pml__store_bytes(s->head->chunks_max) == bytes) {
      *to = s;
      return 0;
    }
  }
  (void)munmap(memory, at + bytes);
  err = s != NULL ? not_one(path) : pml_fail(-ENOMEM, "%.400s: no memory to read it", path);
  free(s);
  return err;
}

void pml_watchpoint_unload(struct pml_watchpoint_store *s) {
  if (s == NULL) return;
  pml__store_unmap(s);
  free(s);
}
