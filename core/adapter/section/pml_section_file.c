/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_file.c - a section file, written whole; and what the environment asks a process to
 * leave. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "adapter/section/pml_section_text.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- writing ---- */

static int write_all(int fd, const char *text, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, text, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    text += done;
    n -= (size_t)done;
  }
  return 0;
}

/* A device or a pipe is written to; a file in its place would be another's loss. */
static int write_into(const char *path, const char *text, size_t n) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -errno;
  int err = write_all(fd, text, n);
  if (close(fd) != 0 && err == 0) err = -errno;
  return err;
}

static int replace(const char *path, const char *text, size_t n) {
  struct pml_file f;
  int err = pml_file_create(&f, path);
  if (err < 0) return err;
  err = write_all(f.fd, text, n);
  if (err == 0) return pml_file_commit(&f);
  pml_file_discard(&f);
  return err;
}

int pml_section_write(const char *path) {
  char *text;
  size_t n;
  struct stat st;
  if (path == NULL || *path == '\0') return pml_fail(-EINVAL, "a section file needs a path");
  int err = pml_section_text(true, &text, &n);
  if (err < 0) return err;
  bool device = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
  err = device ? write_into(path, text, n) : replace(path, text, n);
  free(text);
  return err < 0 ? pml_fail(err, "%.400s: %s", path, pml_error_text(err)) : 0;
}

/* ---- the environment ---- */

static struct pml__section_origin origin = {.rank = -1, .size = -1};
static char folder[PATH_MAX]; /* "": PMLUA_REPORT is not set */
static int problem;
static char why[512];

const struct pml__section_origin *pml__section_origin(void) {
  return &origin;
}

/* A number from 0 on, or -1. */
static long number(const char *text) {
  char *end;
  if (text == NULL || *text < '0' || *text > '9') return -1;
  errno = 0;
  long v = strtol(text, &end, 10);
  return errno != 0 || *end != '\0' || v > INT_MAX ? -1 : v;
}

static void read_rank(void) {
  static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI_RANK", "PMI_SIZE"},
                                         {"PMIX_RANK", "PMIX_SIZE"},
                                         {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0] && origin.rank < 0; i++) {
    origin.rank = number(secure_getenv(names[i][0]));
    if (origin.rank >= 0) origin.size = number(secure_getenv(names[i][1]));
  }
}

const char *pml__section_folder(void) {
  return folder;
}

static int read_folder(void) {
  const char *wish = secure_getenv("PMLUA_REPORT");
  if (wish == NULL || *wish == '\0') return 0;
  if (mkdir(wish, 0777) != 0 && errno != EEXIST) return -errno;
  if (realpath(wish, folder) == NULL) return -errno;
  struct stat st;
  if (stat(folder, &st) != 0) return -errno;
  if (!S_ISDIR(st.st_mode)) return -ENOTDIR;
  if (access(folder, W_OK | X_OK) != 0) return -errno;
  return atexit(pml__section_log_end) != 0 ? -ENOMEM : 0;
}

static int read_timeline(void) {
  const char *wish = secure_getenv("PMLUA_REPORT_TIMELINE");
  if (wish == NULL || *wish == '\0' || strcmp(wish, "off") == 0) return 0;
  long events = strcmp(wish, "on") == 0 || strcmp(wish, "1") == 0 ? (long)PML_SECTION_TIMELINE_EVENTS : number(wish);
  if (events < 0 || events > (long)PML_SECTION_TIMELINE_EVENTS_MAX) return -EINVAL;
  return pml_section_timeline((uint32_t)events);
}

static void prepare(void) {
  (void)pml_clock_init();
  origin.pid = (int)getpid();
  origin.started_ns = pml_clock_realtime_ns();
  origin.zero_ticks = pml_clock_ticks();
  read_rank();
  problem = read_folder();
  if (problem < 0) {
    (void)snprintf(why, sizeof why, "PMLUA_REPORT=%.300s: %s; name a folder that can be written to",
                   secure_getenv("PMLUA_REPORT"), pml_error_text(problem));
    return;
  }
  problem = read_timeline();
  if (problem < 0)
    (void)snprintf(why, sizeof why, "PMLUA_REPORT_TIMELINE=%.100s: %s; say on, off, or how many events of a thread",
                   secure_getenv("PMLUA_REPORT_TIMELINE"), pml_error_text(problem));
}

bool pml__section_reports(void) {
  return folder[0] != '\0';
}

int pml__section_prepare_file(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  return problem < 0 ? pml_fail(problem, "%s", why) : 0;
}
