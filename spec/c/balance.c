/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/balance.c - regions, call paths and files of a balancer; spec/core/balance_spec.lua has the decision. */
#include "check.h"
#include "control/balance/pml_balance.h"
#include "cpus_folder.h"

#include <math.h>
#include <sched.h>

#define GHZ 1e9

static bool same(double a, double b) {
  return fabs(a - b) < 1;
}

static uint64_t now = 1000000;

static void at(enum pml_stream_kind kind, const char *name, uint64_t later) {
  pml_region_t region;
  now += later;
  (void)pml_region_intern(name, NULL, 0, &region);
  const struct pml_stream_event e = {.ticks = now, .region = region};
  pml_stream_emit(kind, &e);
}

static void sync_after(const char *name, uint64_t compute, uint64_t wait) {
  at(PML_STREAM_ENTER, name, compute);
  at(PML_STREAM_LEAVE, name, wait);
}

static int balance(struct pml_balance **b, const char *sync, bool dry_run) {
  const char *names[] = {sync};
  const struct pml_balance_options o = {
      .sync = names, .nsync = 1, .tune = {.root = cpus_folder, .cpus = PML_TUNE_CURRENT, .dry_run = dry_run}};
  return pml_balance_open(b, &o);
}

static void pin(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
}

static void permission(void) {
  struct pml_balance *b;
  const struct pml_balance_options none = {.tune = {.root = cpus_folder}}, all = {.tune = {.cpus = PML_TUNE_ALL}};
  CHECK(balance(&b, "barrier", false) == -EPERM && b == NULL, "nothing is written without permission");
  CHECK(pml_balance_open(&b, &none) == -EINVAL && pml_balance_open(&b, &all) == -EINVAL &&
            balance(&b, "", true) == -EINVAL,
        "names of blocking regions are needed, and cpus of a thread");
  pml_tune_allow();
}

static void files(void) {
  struct pml_balance *b;
  struct pml_pace_rule rule;
  CHECK(balance(&b, "MPI_B*", false) == 0, "a balancer takes names or patterns");
  pml_balance_rule(b, &rule);
  CHECK(same(rule.reference_hz, 3.5 * GHZ) && same(rule.min_hz, 0.8 * GHZ) && same(rule.delta_hz, 0.35 * GHZ),
        "and the machine's range");
  for (int i = 0; i < 4; i++) sync_after("MPI_Barrier", 500, 500);
  CHECK(cpus_are(0, MAX, "3500000\n"), "the time before the first blocking call does not count");
  sync_after("MPI_Barrier", 500, 500);
  CHECK(cpus_are(0, MAX, "2100000\n") && cpus_are(1, MAX, "3500000\n"),
        "half of 3.5 GHz and delta, for this thread's cpu");
  at(PML_STREAM_ENTER, "MPI_Bcast", 500);
  sync_after("MPI_Barrier", 10, 10);
  at(PML_STREAM_LEAVE, "MPI_Bcast", 480);
  CHECK(cpus_are(0, MAX, "3500000\n"), "after another blocking call another region begins, at the reference");
  at(PML_STREAM_ENTER, "MPI_Barrier", 500);
  at(PML_STREAM_LEAVE, "MPI_Barrier", 500);
  CHECK(cpus_are(0, MAX, "2100000\n"), "and the first one's frequency comes back with it");
  at(PML_STREAM_ENTER, "outer", 1);
  sync_after("MPI_Barrier", 900, 100);
  CHECK(cpus_are(0, MAX, "3500000\n"), "the same call on another path is another region");
  at(PML_STREAM_LEAVE, "outer", 1);
  at(PML_STREAM_LEAVE, "never entered", 1);
  struct pml_balance_record r[16];
  size_t n = pml_balance_take(b, r, 16);
  CHECK(n == 7 && r[0].region == 1 && r[0].sync_ticks - r[0].begin_ticks == 500 &&
            r[0].end_ticks - r[0].sync_ticks == 500 && same(r[0].hz, 3.5 * GHZ) && same(r[3].next_hz, 2.1 * GHZ) &&
            r[5].region == 2 && r[6].region == 1,
        "each repetition is recorded, with its times and frequencies");
  CHECK(same(r[4].hz, 2.1 * GHZ) && r[4].sync != r[3].sync && pml_balance_take(b, r, 16) == 0, "once");
  struct pml_balance_stats s;
  pml_balance_stats(b, &s);
  CHECK(s.repetitions == 7 && s.threads == 1 && s.lost == 0 && s.total_s > s.compute_s && s.writes > 0, "and counted");
  pml_balance_close(b);
  CHECK(cpus_are(0, MAX, "3500000\n"), "in the end all files have their first values");
}

static void misspelt(void) {
  struct pml_balance *b;
  CHECK(balance(&b, "bariers", true) == 0, "a name may be misspelt");
  pml_balance_stop(b);
  const char *line = pml_balance_line(b, 0);
  CHECK(line != NULL && strstr(line, "sync 'bariers': no such region was entered; nearest: barrier") != NULL,
        "which is reported at the end");
  pml_balance_close(b);
}

static void refused(void) {
  struct pml_balance *b;
  struct pml_balance_record r[8];
  char path[512];
  cpus_path(path, 0, MAX);
  cpus_seal(0, MAX, "3500000");
  CHECK(balance(&b, "barrier", false) == 0, "a file that refuses");
  for (int i = 0; i < 7; i++) sync_after("barrier", 500, 500);
  CHECK(pml_balance_take(b, r, 8) == 6 && same(r[5].hz, 3.5 * GHZ) && same(r[5].next_hz, 2.1 * GHZ),
        "leaves the reference in force, by which is decided");
  const char *line = pml_balance_line(b, 0);
  CHECK(line != NULL && strstr(line, "EPERM: the kernel refused '2100000'") != NULL, "and is reported");
  pml_balance_close(b);
  (void)unlink(path);
  cpus_make_one(0);
}

#define STEPS 40

static pthread_barrier_t step_done;

static void *work(void *arg) {
  long ms = *(long *)arg;
  pin((unsigned)(ms % 2));
  for (int i = 0; i < STEPS; i++) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 100000}, NULL);
    (void)pml_section_start_label("team barrier");
    pthread_barrier_wait(&step_done);
    (void)pml_section_stop_label("team barrier");
  }
  return NULL;
}

static void team(void) {
  struct pml_balance *b;
  struct pml_balance_record r[4 * STEPS];
  struct pml_balance_stats s;
  long ms[2] = {1, 4};
  if (!CHECK(balance(&b, "team barrier", false) == 0, "threads of a program")) return;
  pthread_barrier_init(&step_done, NULL, 2);
  in_threads(2, work, ms, sizeof *ms);
  pml_balance_stats(b, &s);
  size_t n = pml_balance_take(b, r, sizeof r / sizeof r[0]), good = 0;
  for (size_t i = 0; i < n; i++)
    good += r[i].begin_ticks <= r[i].sync_ticks && r[i].sync_ticks <= r[i].end_ticks && r[i].hz >= 0.8 * GHZ &&
            r[i].next_hz >= 0.8 * GHZ && r[i].hz <= 3.5 * GHZ && r[i].next_hz <= 3.5 * GHZ;
  CHECK(n == 2 * (STEPS - 1) && good == n && s.threads == 2, "each repetition of each is measured and decided on");
  CHECK(cpus_are(0, MAX, "3500000\n") && cpus_are(1, MAX, "3500000\n"), "a thread that ends requests nothing more");
  pml_balance_close(b);
  pthread_barrier_destroy(&step_done);
}

int main(void) {
  (void)pml_clock_init();
  cpus_make(2);
  pin(0);
  permission();
  if (sched_getcpu() == 0) {
    files();
    refused();
    misspelt();
  } else {
    SKIP("cpu 0 is not for this process: its own files are not in the folder");
  }
  team();
  cpus_remove();
  return check_done();
}
