/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_list.c - the list of events: everything in it parses, what it calls available opens. */
#include "check.h"
#include "permission.h"
#include "pml.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rows are kept and parsed after the walk: the visitor may not call back. */
struct rows {
  size_t n, capacity;
  struct row {
    char name[PML_EVENT_NAME_MAX], source[16];
    bool available, reason;
  } * row;
};

static int keep(const struct pml_event_info *info, void *arg) {
  struct rows *r = arg;
  if (r->n == r->capacity) {
    r->capacity = r->capacity ? 2 * r->capacity : 1024;
    r->row = realloc(r->row, r->capacity * sizeof *r->row);
    if (!r->row) abort();
  }
  struct row *row = &r->row[r->n++];
  (void)snprintf(row->name, sizeof row->name, "%s", info->name);
  (void)snprintf(row->source, sizeof row->source, "%s", info->source);
  row->available = info->available;
  row->reason = *info->reason != '\0';
  if (!info->description || !info->pmu || strchr(info->description, '\n')) row->name[0] = '\0';
  return 0;
}

static struct rows list(const char *pattern, bool all) {
  struct rows r = {0};
  if (pml_event_list(pattern, all, keep, &r) != 0) r.n = 0;
  return r;
}

static size_t of_source(const struct rows *r, const char *source) {
  size_t n = 0;
  for (size_t i = 0; i < r->n; i++) n += strcmp(r->row[i].source, source) == 0;
  return n;
}

static void every_row(const struct rows *r, const char *what) {
  struct pml_event ev;
  size_t wrong = 0, mute = 0;
  for (size_t i = 0; i < r->n; i++) {
    const struct row *row = &r->row[i];
    bool stands_for_all = strcmp(row->source, "tracepoint") == 0 && !row->available;
    if (pml_event_parse(&ev, row->name) != 0 && !stands_for_all && wrong++ < 5)
      printf("# %s: %s\n", row->name, pml_error_detail(PML_ENOEVENT));
    if (!row->available && !row->reason && mute++ < 5) printf("# %s has no reason\n", row->name);
  }
  CHECK(wrong == 0, "every one of %zu names %s parses as it stands", r->n, what);
  CHECK(mute == 0, "what is not available says why");
}

/* The first available row of each source opens: as it is, or user-only, which stands in its reason then. */
static void available_opens(const struct rows *r, const char *source) {
  for (size_t i = 0; i < r->n; i++) {
    const struct row *row = &r->row[i];
    struct pml_event ev;
    if (strcmp(row->source, source) != 0 || !row->available) continue;
    if (pml_event_parse(&ev, row->name) != 0) break;
    const struct perf_event_attr *attr = &ev.first.attr;
    if (row->reason) {
      CHECK(!kernel_opens(*attr, false) && kernel_opens(*attr, true), "%s is available and opens as :u", row->name);
      return;
    }
    int cpu = ev.first.cpu_any;
    int fd = (int)syscall(SYS_perf_event_open, attr, cpu >= 0 ? -1 : 0, cpu, -1, 0);
    CHECK(fd >= 0, "%s is available and opens", row->name);
    if (fd >= 0) (void)close(fd);
    return;
  }
  char why[80];
  (void)snprintf(why, sizeof why, "nothing of source %s is available here", source);
  SKIP(why);
}

static void patterns(void) {
  struct rows r = list("*-faults", false);
  size_t wrong = 0;
  for (size_t i = 0; i < r.n; i++) wrong += strcasestr(r.row[i].name, "-faults") == NULL;
  CHECK(r.n >= 5 && wrong == 0, "a glob is matched without case: %zu rows", r.n);
  free(r.row);
  r = list("TASK-cl", false);
  CHECK(r.n >= 2, "plain text is a part of the name, without case");
  free(r.row);
  r = list("mispredicted branches", false);
  CHECK(r.n >= 1, "or of the description");
  free(r.row);
  r = list("no such thing", false);
  CHECK(r.n == 0, "what matches nothing gives nothing");
  free(r.row);
}

static int stop(const struct pml_event_info *info, void *arg) {
  (void)info;
  return ++*(int *)arg == 3 ? 42 : 0;
}

int main(void) {
  int seen = 0;
  CHECK(pml_event_list(NULL, false, stop, &seen) == 42 && seen == 3, "the visitor stops the walk with its own answer");
  struct rows here = list(NULL, false), all = list(NULL, true);
  CHECK(here.n > 60 && of_source(&here, "clock") == 2 && strcmp(here.row[0].name, "clock::ticks") == 0,
        "clocks come first");
  CHECK(all.n > here.n && memcmp(all.row[here.n - 1].name, here.row[here.n - 1].name, 8) == 0 &&
            of_source(&all, "libpfm4") > of_source(&here, "libpfm4"),
        "PMUs that are not here come last: %zu rows more", all.n - here.n);
  every_row(&here, "of this machine");
  every_row(&all, "of all machines");
  static const char *const sources[] = {"generic", "sysfs", "libpfm4", "tracepoint", "breakpoint", "uprobe"};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) available_opens(&here, sources[i]);
  patterns();
  int pmu = pml_event_has_pmu();
  CHECK(pmu == 1 || strstr(pml_error_detail(PML_ENOPMU), "no hardware PMU ("), "no PMU comes with its reason: %s",
        pmu ? "there is one" : pml_error_detail(PML_ENOPMU));
  CHECK(pml_event_has_pmu() == pmu, "the answer stays");
  CHECK(pml_event_set_sysfs("spec/data/sysfs/desktop") == 0, "a described machine is listed");
  struct rows described = list("*/*", false);
  CHECK(of_source(&described, "sysfs") == 8,
        "by its events and their places alone, without units and without broken ones: %zu",
        of_source(&described, "sysfs"));
  every_row(&described, "of a described machine");
  free(described.row);
  free(here.row);
  free(all.row);
  return check_done();
}
