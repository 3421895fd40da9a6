/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_timers.c - the clocks as a workload: every clock is read, in a row and across cpus, or says why not.
 */
#include "workload.h"

enum { COST, STEP, AT, SAID };

static void choose(struct workload *l, const char *clock_name, double reads) {
  workload_defaults(l);
  for (unsigned i = 0; l->w->option[i].name; i++)
    if (strcmp(l->w->option[i].name, "clock") == 0) l->text[i] = clock_name;
  workload_set(l, "reads", reads);
}

/* Steps, and those that were not pushed because they went back, are all the readings; their sum is the way gone. */
static void reads(struct workload *l, const char *name, bool shared) {
  choose(l, name, 900);
  int err = workload_go(l, NULL);
  if (err == -ENOTSUP) {
    SKIP(l->run.error);
    return;
  }
  if (!CHECK(err == 0, "%s is read %s", name, l->run.error)) return;
  double all = workload_value(l, "reads"), still = 0, kept = (double)l->samples[STEP].n;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < l->samples[STEP].n; i++) {
    still += l->samples[STEP].value[i] == 0;
    if (l->samples[STEP].value[i] && l->samples[STEP].value[i] < least) least = l->samples[STEP].value[i];
  }
  CHECK(l->samples[COST].n == 1000 && all >= 900 && kept <= all, "%s: samples of its cost, and %g steps", name, all);
  CHECK(still <= workload_value(l, "still") && workload_value(l, "still") <= all &&
            (least == UINT64_MAX || workload_value(l, "least") <= (double)least),
        "%g of them are none, and none is smaller than the smallest, %g", workload_value(l, "still"),
        workload_value(l, "least"));
  CHECK(workload_value(l, "unit") > 0 && workload_value(l, "claimed") > 0, "with its unit and what it claims");
  double cpus = workload_value(l, "across_cpus");
  CHECK(workload_value(l, "across_reads") == 900 * cpus && (shared || cpus == 0) && cpus != 1,
        "%g cpus compare 900 readings each", cpus);
  bool forward = l->samples[AT].n == l->samples[SAID].n && l->samples[AT].n > 0;
  for (size_t i = 1; i < l->samples[AT].n; i++)
    if (l->samples[AT].value[i] < l->samples[AT].value[i - 1]) forward = false;
  CHECK(forward, "the first readings have their ticks, in order");
}

/* What POSIX promises is held here; a machine where it is not has a broken clock. */
static void never_back(struct workload *l, const char *name) {
  choose(l, name, 100000);
  if (!CHECK(workload_go(l, NULL) == 0, "%s is read 100000 times %s", name, l->run.error)) return;
  CHECK(workload_value(l, "back") == 0 && workload_value(l, "across_back") == 0,
        "it never goes back: %g in a row, %g across cpus", workload_value(l, "back"), workload_value(l, "across_back"));
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "timers", 1000)) return check_done();
  const char *const name[] = {"ticks",     "ticks-ordered",    "ns",
                              "MONOTONIC", "MONOTONIC_RAW",    "BOOTTIME",
                              "REALTIME",  "MONOTONIC_COARSE", "REALTIME_COARSE",
                              "TAI",       "gettimeofday",     "PROCESS_CPUTIME_ID",
                              "clock"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) reads(&l, name[i], true);
  reads(&l, "THREAD_CPUTIME_ID", false);
  never_back(&l, "MONOTONIC");
  never_back(&l, "MONOTONIC_RAW");

  choose(&l, "sundial", 100);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "sundial"), "refused: %s", l.run.error);
  workload_refuses(&l, "reads");
  workload_refuses(&l, "threads");
  choose(&l, "ns", 100);
  workload_set(&l, "threads", 65537);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "threads"), "refused: %s", l.run.error);
  workload_defaults(&l);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
