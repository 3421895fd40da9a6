/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/log/pml_log_own.c - this process's log: existence, folder, name, and its cells. */
#include "record/log/pml_log_own.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_launched.h"
#include "base/pml_setting.h"
#include "base/text/pml_say.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CELLS_FIRST 64u  /* cells of the first extent */
#define CELLS_MORE 1024u /* cells of each further extent */

static struct pml__log_origin origin = {.rank = -1, .size = -1};
static char folder[PATH_MAX]; /* "": PMLUA_REPORT is not set */
static int problem;
static char why[512];
static char no_log[512]; /* why the process has no log: said once for it and its children. Under the lock */
static bool unsaid;      /* atomic: @no_log is to be said */

static struct {
  struct pml__lock lock;
  struct pml__log *log;
  bool tried; /* to make it, in this process */
  struct pml__log_cell *cell;
  uint32_t cells; /* left at @cell */
} own;

const struct pml__log_origin *pml__log_origin(void) {
  return &origin;
}

/* ---- the environment ---- */

static void read_rank(void) {
  struct pml__launched l;
  pml__launched(&l);
  origin.rank = l.rank;
  origin.size = l.size;
}

void pml__log_complain(void) {
  if (__atomic_exchange_n(&unsaid, false, __ATOMIC_ACQUIRE)) pml__say("%s", no_log);
}

static void end_log(void) {
  pml__process_look();
  pml__log_complain();
  if (own.log != NULL && own.log != pml__log_shared()) pml__log_end(own.log);
}

static int read_folder(void) {
  const char *wish = pml__setting("PMLUA_REPORT");
  struct stat st;
  if (wish == NULL || *wish == '\0') return 0;
  if (mkdir(wish, 0777) != 0 && errno != EEXIST) return -errno;
  if (realpath(wish, folder) == NULL) return -errno;
  if (stat(folder, &st) != 0) return -errno;
  if (!S_ISDIR(st.st_mode)) return -ENOTDIR;
  if (access(folder, W_OK | X_OK) != 0) return -errno;
  return atexit(end_log) != 0 ? -ENOMEM : 0;
}

static void forget(void) {
  own.log = NULL;
  own.tried = false;
  own.cells = 0;
}

static void prepare(void) {
  (void)pml_clock_init();
  origin.pid = (int)getpid();
  origin.started_ns = pml_clock_realtime_ns();
  origin.zero_ticks = pml_clock_ticks();
  read_rank();
  problem = pml__process_watch_use(forget);
  if (problem == 0) problem = read_folder();
  if (problem == 0) return;
  folder[0] = '\0';
  (void)snprintf(why, sizeof why, "PMLUA_REPORT=%.300s: %s; name a folder that you can write to",
                 pml__setting("PMLUA_REPORT"), pml_error_text(problem));
}

int pml__log_prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  return problem < 0 ? pml_fail(problem, "%s", why) : 0;
}

bool pml__log_wanted(void) {
  return folder[0] != '\0' || pml__log_shared() != NULL;
}

bool pml__log_asked(void) {
  const char *wish = pml__setting("PMLUA_REPORT");
  return wish != NULL && *wish != '\0' && pml__log_prepare() == 0 && pml__log_wanted();
}

/* ---- the file ---- */

/* The log of recorded calls, if PMLUA_REPORT is its folder, or is not set. */
static struct pml__log *shared_log(void) {
  struct pml__log *log = pml__log_shared();
  if (log == NULL || folder[0] == '\0') return log;
  size_t n = strlen(folder);
  return strncmp(log->file.path, folder, n) == 0 && strrchr(log->file.path, '/') == log->file.path + n ? log : NULL;
}

/* A forked child does not have its parent's rank. Without a log, measuring continues. */
static void open_log(void) {
  bool first = getpid() == origin.pid;
  struct pml__log_process p = {.rank = first ? (int)origin.rank : -1,
                               .size = first ? (int)origin.size : -1,
                               .started_ns = origin.started_ns,
                               .started_ticks = origin.zero_ticks};
  own.tried = true;
  own.log = shared_log();
  if (own.log != NULL) {
    pml__log_rank(own.log, p.rank, p.size);
    return;
  }
  int err = pml__log_open(&own.log, folder, &p);
  if (err == 0 || no_log[0] != '\0') return;
  (void)snprintf(no_log, sizeof no_log, "PMLUA_REPORT=%.300s: %s; this process has no log", folder,
                 pml_error_text(err));
  __atomic_store_n(&unsaid, true, __ATOMIC_RELEASE);
}

static struct pml__log *log_here(void) {
  if (!own.tried) open_log();
  return own.log;
}

struct pml__log *pml__log_own(void) {
  if (pml__log_prepare() < 0 || !pml__log_wanted()) return NULL;
  pml__process_look();
  pml__lock_take(&own.lock);
  struct pml__log *log = log_here();
  pml__lock_leave(&own.lock);
  return log;
}

/* ---- cells ---- */

static bool more_cells(uint32_t n) {
  struct pml__log_entry *entry;
  uint32_t all = own.cell == NULL ? CELLS_FIRST : CELLS_MORE;
  if (n > all) all = n;
  if (log_here() == NULL) return false;
  struct pml__log_cell *cell =
      pml__log_extent(own.log, PML__LOG_CELLS, 0, 0, all * sizeof(struct pml__log_cell), 0, &entry);
  if (cell == NULL) return false;
  own.cell = cell;
  own.cells = all;
  return true;
}

struct pml__log_cell *pml__log_cells(uint32_t n, enum pml__log_cell_what what, uint32_t number) {
  struct pml__log_cell *cell = NULL;
  if (pml__log_own() == NULL) return NULL;
  pml__lock_take(&own.lock);
  if (own.cells >= n || more_cells(n)) {
    cell = own.cell;
    own.cell += n;
    own.cells -= n;
  }
  pml__lock_leave(&own.lock);
  for (uint32_t i = 0; cell != NULL && i < n; i++) {
    cell[i].number = number;
    __atomic_store_n(&cell[i].what, what, __ATOMIC_RELEASE);
  }
  return cell;
}

uint32_t pml__log_number(void) {
  static uint32_t last;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
