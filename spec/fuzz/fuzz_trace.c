/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_trace.c - any bytes as the files of tracefs: a tracepoint's id, and the list of all.
 *
 * Link: -Wl,--wrap=open,--wrap=access,--wrap=fopen
 *
 * The place of tracefs is fixed: the core's own calls are turned to the input.
 */
#include "fuzz.h"
#include "source/kernel/event/pml_event_parsers.h"

static const char *id, *list;
static size_t nid, nlist;

static bool in_tracefs(const char *path) {
  return strncmp(path, "/sys/kernel/tracing/", 20) == 0;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  return in_tracefs(path) ? fuzz_file(id, nid) : __real_open(path, flags);
}
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  return in_tracefs(path) ? 0 : __real_access(path, mode);
}
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  return in_tracefs(path) ? fdopen(fuzz_file(list, nlist), "r") : __real_fopen(path, mode);
}

static int visit(const struct pml_event_info *info, void *arg) {
  PROMISE(*info->name && strlen(info->name) < PML_EVENT_NAME_MAX && strchr(info->name, ':'), "a row has a name");
  ++*(int *)arg;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml_event ev = {0};
  struct pml__mods none = {0};
  int rows = 0;
  char *name = fuzz_text(&in, '|', &nid);
  char *first = fuzz_text(&in, '|', &nid), *rest = fuzz_text(&in, 0, &nlist);
  id = first;
  list = rest;
  int err = strlen(name) < PML_EVENT_NAME_MAX ? pml__event_parse_trace(&ev, name, &none) : PML__NOT_MINE;
  PROMISE(err == PML__NOT_MINE || (err == 0 && ev.nparts == 1), "a number, or not a tracepoint");
  struct pml__walk w = {.visit = visit, .arg = &rows};
  PROMISE(pml__event_walk_trace(&w) == 0, "a list can be walked");
  PLANTED(err == 0 && ev.first.attr.config > 1000 && rows >= 2);
  free(name);
  free(first);
  free(rest);
  return 0;
}
