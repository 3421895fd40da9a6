/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_origin.c - what process this is, and what its environment asks it to leave. */
#include "adapter/section/pml_section_origin.h"
#include "adapter/section/pml_section_file.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_event.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pml__section_origin origin = {.rank = -1, .size = -1};
static char folder[PATH_MAX]; /* "": PMLUA_REPORT is not set */

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
  return 0;
}

static int read_timeline(uint32_t *events) {
  const char *wish = secure_getenv("PMLUA_REPORT_TIMELINE");
  *events = 0;
  if (wish == NULL || *wish == '\0' || strcmp(wish, "off") == 0) return 0;
  long n = strcmp(wish, "on") == 0 || strcmp(wish, "1") == 0 ? (long)PML_SECTION_TIMELINE_EVENTS : number(wish);
  if (n < 0 || n > (long)PML_SECTION_TIMELINE_EVENTS_MAX) return -EINVAL;
  *events = (uint32_t)n;
  return 0;
}

int pml__section_read_origin(uint32_t *timeline) {
  origin.pid = (int)getpid();
  origin.started_ns = pml_clock_realtime_ns();
  origin.zero_ticks = pml_clock_ticks();
  read_rank();
  int err = read_folder();
  if (err < 0)
    return pml_fail(err, "PMLUA_REPORT=%.300s: %s; name a folder that can be written to", secure_getenv("PMLUA_REPORT"),
                    pml_error_text(err));
  err = read_timeline(timeline);
  if (err < 0)
    return pml_fail(err, "PMLUA_REPORT_TIMELINE=%.100s: %s; say on, off, or how many events of a thread",
                    secure_getenv("PMLUA_REPORT_TIMELINE"), pml_error_text(err));
  return 0;
}

bool pml__section_reports(void) {
  return folder[0] != '\0';
}

/* What the compiler counts, what it does not, and why events are called NAME:u. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]) {
  char libraries[512];
  const char *user_only = which == PML__SECTION_PERMISSION ? pml_event_user_only_reason() : NULL;
  if (user_only != NULL) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", user_only);
    return "permission";
  }
  if (which == PML__SECTION_PERMISSION || !pml_count_active()) return NULL;
  if (which == PML__SECTION_COUNTED) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", pml_count_at_name(pml_count_here()));
    return "counted";
  }
  uint64_t places = pml_count_left_out(libraries, sizeof libraries);
  if (places == 0 && libraries[0] == '\0') return NULL;
  (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%llu\t%s", (unsigned long long)places, libraries);
  return "uncounted";
}
