/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/tune.c - settings that rules change while a region is open, and restore after it; in a folder like the
 * kernel's. */
#include "check.h"
#include "cpus_folder.h"

#include <sched.h>

#define SPEED "cpufreq/scaling_setspeed"
#define C6 "cpuidle/state2/disable"

static struct pml_tune_options options(void) {
  return (struct pml_tune_options){.root = cpus_folder, .cpus = PML_TUNE_ALL};
}

static struct pml_tune *tune(const struct pml_tune_rule *rule, size_t n) {
  struct pml_tune *t;
  struct pml_tune_options o = options();
  int err = pml_tune_open(&t, rule, n, &o);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return err < 0 ? NULL : t;
}

static void enter(const char *label) {
  (void)pml_section_start_label(label);
}
static void leave(const char *label) {
  (void)pml_section_stop_label(label);
}

static void nested(void) {
  const struct pml_tune_idle c6 = {"C6", false};
  const struct pml_tune_rule r[] = {{.region = "outer", .frequency_hz = 2e9, .idle = &c6, .nidle = 1},
                                    {.region = "inner", .frequency_hz = 1.2e9, .governor = "userspace"},
                                    {.region = "inn*", .max_hz = 3e9},
                                    {.region = "f(int [*])", .max_hz = 2.5e9}};
  struct pml_tune *t = tune(r, 4);
  if (!CHECK(t != NULL, "rules are taken")) return;
  struct pml_tune_stats before, after;
  enter("outer");
  CHECK(cpus_are(0, MAX, "2000000\n") && cpus_are(1, MIN, "2000000\n") && cpus_are(1, C6, "1\n"),
        "a rule sets frequency and idle states of all cpus on enter");
  enter("inner");
  CHECK(cpus_are(0, GOVERNOR, "userspace\n") && cpus_are(1, SPEED, "1200000\n") && cpus_are(0, MAX, "2000000\n"),
        "a rule inside sets what it names, by the speed itself under its governor");
  pml_tune_stats(t, &before);
  enter("inner");
  leave("inner");
  pml_tune_stats(t, &after);
  CHECK(before.writes == after.writes && cpus_are(0, SPEED, "1200000\n"), "an equal value is not written");
  enter("inner2");
  CHECK(cpus_are(0, MAX, "3000000\n"), "a pattern holds where no name does");
  leave("inner2");
  leave("inner");
  CHECK(cpus_are(0, GOVERNOR, "schedutil\n") && cpus_are(0, MAX, "2000000\n"), "leaving the inner keeps the outer's");
  leave("outer");
  CHECK(cpus_are(0, MAX, "3500000\n") && cpus_are(1, MIN, "800000\n") && cpus_are(1, C6, "0\n"),
        "leaving the outer region restores the old value, to the byte");
  enter("f(int [*])");
  CHECK(cpus_are(0, MAX, "2500000\n"), "a name may look like a pattern");
  leave("f(int [*])");
  enter("other");
  pml_tune_stats(t, &before);
  CHECK(before.writes > after.writes && cpus_are(0, MAX, "3500000\n"), "regions without a rule change nothing");
  leave("other");
  enter("outer");
  pml_tune_close(t);
  CHECK(cpus_are(0, MAX, "3500000\n") && cpus_are(0, C6, "0\n"), "closing puts back what an open region set");
  leave("outer");
}

struct shared {
  pthread_barrier_t barrier;
  char during[2][64];
  bool pinned;
};

static void *pinned(void *arg) {
  struct shared *s = arg;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(1, &one);
  s->pinned = pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
  enter("solve");
  snprintf(s->during[0], 64, "%s", cpus_get(0, MAX));
  snprintf(s->during[1], 64, "%s", cpus_get(1, MAX));
  leave("solve");
  enter("solve"); /* and ends in it */
  return NULL;
}

static void *stays(void *arg) {
  struct shared *s = arg;
  enter("long");
  pthread_barrier_wait(&s->barrier);
  pthread_barrier_wait(&s->barrier);
  leave("long");
  return NULL;
}

static void threads(void) {
  struct shared s;
  pthread_t thread;
  const struct pml_tune_rule r[] = {{.region = "solve", .max_hz = 1e9}, {.region = "long", .max_hz = 1.5e9}};
  struct pml_tune_options o = options();
  struct pml_tune *t;
  pthread_barrier_init(&s.barrier, NULL, 2);
  o.cpus = PML_TUNE_THREAD;
  if (CHECK(pml_tune_open(&t, r, 2, &o) == 0, "rules may hold for the thread's cpus")) {
    in_threads(1, pinned, &s, 0);
    if (s.pinned)
      CHECK(strcmp(s.during[0], "3500000\n") == 0 && strcmp(s.during[1], "1000000\n") == 0,
            "a pinned thread sets its cpu alone");
    else
      SKIP("cpu 1 is not there, or not for this process: no thread can be pinned to it");
    CHECK(cpus_are(1, MAX, "3500000\n"), "and a thread that ends in a region leaves it");
    pml_tune_close(t);
  }
  t = tune(r, 2);
  pthread_create(&thread, NULL, stays, &s);
  pthread_barrier_wait(&s.barrier);
  enter("solve");
  CHECK(cpus_are(0, MAX, "1000000\n"), "of two threads the last that entered holds");
  pthread_barrier_wait(&s.barrier);
  pthread_join(thread, NULL);
  CHECK(cpus_are(0, MAX, "1000000\n"), "also when the other leaves before it");
  leave("solve");
  CHECK(cpus_are(0, MAX, "3500000\n"), "and when both have left all files have their old values");
  pml_tune_close(t);
  pthread_barrier_destroy(&s.barrier);
}

struct calls {
  unsigned enters, leaves;
  bool fail_enter, fail_leave;
};

static int on_call(void *arg, bool is_leave, pml_region_t region, char why[PML_TUNE_WHY]) {
  struct calls *c = arg;
  (void)region;
  is_leave ? c->leaves++ : c->enters++;
  if (is_leave ? !c->fail_leave : !c->fail_enter) return 0;
  snprintf(why, PML_TUNE_WHY, "no more");
  return -1;
}

static void calls(void) {
  struct calls a = {0}, b = {.fail_enter = true}, c = {.fail_leave = true};
  const struct pml_tune_rule r[] = {{.region = "good", .max_hz = 1e9, .call = on_call, .arg = &a},
                                    {.region = "bad enter", .max_hz = 1e9, .call = on_call, .arg = &b},
                                    {.region = "bad leave", .max_hz = 1e9, .call = on_call, .arg = &c},
                                    {.region = "threads", .threads = 3}};
  struct pml_tune *t = tune(r, 4);
  enter("good");
  CHECK(a.enters == 1 && a.leaves == 0, "a rule may call a function on enter");
  enter("bad enter");
  CHECK(b.enters == 1 && b.leaves == 0 && cpus_are(0, MAX, "1000000\n"), "a rule that fails has set nothing");
  leave("bad enter");
  leave("good");
  CHECK(a.leaves == 1 && cpus_are(0, MAX, "3500000\n"), "and on leave");
  enter("bad enter");
  CHECK(b.enters == 1 && cpus_are(0, MAX, "3500000\n"), "a rule that failed is dropped");
  leave("bad enter");
  enter("bad leave");
  leave("bad leave");
  CHECK(c.leaves == 1 && cpus_are(0, MAX, "3500000\n"), "a rule that fails on leave has restored");
  enter("threads");
  leave("threads");
  pml_tune_stop(t);
  CHECK(has_line(t, "rule 'bad enter': enter: no more; its settings are undone and the rule is dropped") &&
            has_line(t, "rule 'bad leave': leave: no more"),
        "and what failed is named");
  CHECK(has_line(t, "rule 'threads': threads = 3 does nothing: this process has no OpenMP runtime"),
        "so is a number of threads that cannot be set");
  pml_tune_close(t);
}

int main(void) {
  cpus_make(2);
  CHECK_EACH(pml_tune_allow, nested, threads, calls, cpus_remove);
  return check_done();
}
