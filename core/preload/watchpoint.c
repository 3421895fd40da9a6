/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/watchpoint.c - watchpoints in unmodified programs: LD_PRELOAD=libpmlua-watchpoint.so.
 *
 * PMLUA_WATCHPOINT_DIR: the folder with the file plan (pml_watchpoint_plan.h); without it nothing happens. Each process
 * in which an object of the plan is loaded at its start creates the log PID.pmlog there. It writes the log
 * continuously, so the log survives however the process ends. A forked child is watched from its fork on, and has its
 * own log.
 */
#include "program/pml_watchpoint_plan.h"

#include "base/pml_error.h"
#include "base/pml_process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS_MAX 1000u

static struct {
  char dir[PATH_MAX - 64];
  uint64_t values;
  size_t points;
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX]; /* the points of the plan whose objects are loaded here */
  struct pml_watchpoints *set;
} watch;

static void complain(const char *why) {
  char line[PATH_MAX];
  int n = snprintf(line, sizeof line, "pmlua: watchpoint: nothing is watched in process %d: %s\n", (int)getpid(), why);
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0) return;
}

/* A process may execute several programs one after another. */
static int open_file(void) {
  char path[PATH_MAX];
  const struct pml_watchpoint_options o = {.values = watch.values, .path = path};
  int err = -EEXIST;
  for (unsigned i = 1; i < PROGRAMS_MAX && err == -EEXIST; i++) {
    (void)snprintf(path, sizeof path, i == 1 ? "%s/%d.pmlog" : "%s/%d.%u.pmlog", watch.dir, (int)getpid(), i);
    err = pml_watchpoints_open(&watch.set, watch.point, watch.points, &o);
  }
  return err;
}

static void start(void) {
  int err = open_file();
  if (err == 0) err = pml_watchpoints_start(watch.set);
  if (err < 0) complain(pml_error_detail(err));
}

static void start_in_child(void) {
  pml_watchpoints_close(watch.set);
  watch.set = NULL;
  start();
}

static int read_plan(void) {
  char path[PATH_MAX];
  struct pml_watchpoint_plan plan;
  (void)snprintf(path, sizeof path, "%s/plan", watch.dir);
  int err = pml_watchpoint_plan_read(&plan, path);
  if (err < 0) return err;
  watch.values = plan.values;
  watch.points = pml_watchpoint_plan_place(&plan, watch.point);
  return 0;
}

__attribute__((constructor)) static void start_in_program(void) {
  const char *dir = secure_getenv("PMLUA_WATCHPOINT_DIR");
  if (dir == NULL || dir[0] == '\0' || strlen(dir) >= sizeof watch.dir) return;
  int saved = errno;
  memcpy(watch.dir, dir, strlen(dir) + 1);
  int err = read_plan();
  if (err < 0) complain(pml_error_detail(err));
  if (watch.points > 0) {
    start();
    (void)pml__process_watch(start_in_child);
  }
  errno = saved;
}

/* Other destructors may still write; these writes are not recorded. */
__attribute__((destructor)) static void stop(void) {
  if (watch.set != NULL) (void)pml_watchpoints_stop(watch.set);
}
