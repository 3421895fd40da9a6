/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_recorder.c - timed pushes: every one is timed, and every one is in the recorder, in its order. */
#include "sanitized.h"
#include "workload.h"

#define PUSHES ((size_t)5000)
#define MOST_THREADS 8

enum { BYTES = MOST_THREADS, SLOW, KEPT };

static void set(struct workload *l, const char *library, const char *recorder, double threads) {
  workload_defaults(l);
  workload_set(l, "pushes", (double)PUSHES);
  workload_set(l, "threads", threads);
  workload_text(l, "library", library);
  workload_text(l, "recorder", recorder);
}

static bool all_timed(const struct workload *l, size_t threads) {
  for (size_t t = 0; t < MOST_THREADS; t++)
    if (l->samples[t].n != (t < threads ? PUSHES : 0)) return false;
  return true;
}

static bool all_kept(const struct workload *l, size_t threads) {
  size_t next[MOST_THREADS] = {0};
  const struct pml_samples *kept = &l->samples[KEPT];
  if (kept->n != threads * PUSHES) return false;
  for (size_t i = 0; i < kept->n; i++) {
    size_t t = kept->value[i] / PUSHES;
    if (t >= threads || kept->value[i] % PUSHES != next[t]++) return false;
  }
  return true;
}

static bool slow_are_slow(const struct workload *l, size_t threads) {
  const struct pml_samples *slow = &l->samples[SLOW];
  const struct pml_clock *clock = &pml__clock; /* this program's, which it exports: the workload finds it first */
  uint64_t(*row)[5] = (uint64_t(*)[5])slow->value;
  for (size_t i = 0; i < slow->n / 5; i++)
    if (row[i][0] >= threads || row[i][1] >= PUSHES ||
        (double)l->samples[row[i][0]].value[row[i][1]] * 1e9 < 499 * clock->ticks_per_second)
      return false;
  return slow->n % 5 == 0;
}

static void pushes(struct workload *l, const char *library, const char *recorder, size_t threads, const char *type) {
  set(l, library, recorder, (double)threads);
  workload_text(l, "type", type);
  CHECK(workload_go(l, NULL) == 0, "%s: %zu threads push %s to the %s recorder: %s", library, threads, type, recorder,
        l->run.error);
  CHECK(all_timed(l, threads) && slow_are_slow(l, threads), "each of its pushes is timed");
  CHECK(workload_value(l, "recorded") == (double)(threads * PUSHES) && workload_value(l, "dropped") == 0,
        "it recorded %g", workload_value(l, "recorded"));
  CHECK(all_kept(l, threads), "all numbers are there, each thread's in its order");
  workload_phases_in_order(l, 1);
}

static void both_ways(struct workload *l, const char *library) {
  static const char *const type[] = {"double", "float", "int64", "int32"};
  for (size_t i = 0; i < 4; i++) pushes(l, library, "same", 1, type[i]);
  pushes(l, library, "same", 2, "double");
  pushes(l, library, "different", 2, "double");
  pushes(l, library, "same", MOST_THREADS, "int32");
}

static void sketch_and_floor(struct workload *l) {
  set(l, "pmlua", "different", 2);
  workload_text(l, "keep", "sketch");
  CHECK(workload_go(l, NULL) == 0 && all_timed(l, 2) && workload_value(l, "recorded") == 2.0 * (double)PUSHES,
        "a sketch counts all");
  CHECK(l->samples[KEPT].n == 0, "and keeps none");
  set(l, "none", "same", 2);
  CHECK(workload_go(l, NULL) == 0 && all_timed(l, 2) && workload_value(l, "recorded") == 0,
        "the floor is timed as often and records nothing");
}

/* What is known of a recorder of doubles from its header: a chunk of at least 512 bytes, then a sixteenth more each. */
static void growth(struct workload *l) {
  set(l, "pmlua", "same", 1);
  workload_text(l, "measure", "growth");
  CHECK(workload_go(l, NULL) == 0 && l->samples[BYTES].n == PUSHES && all_timed(l, 0),
        "growth is told of each push, and nothing is timed: %s", l->run.error);
  uint64_t bytes = 0, times = 0;
  for (size_t i = 0; i < PUSHES; i++) {
    bytes += l->samples[BYTES].value[i];
    times += l->samples[BYTES].value[i] > 0;
  }
  if (bytes == 0) {
    SKIP("the allocator does not tell what it gives out");
    return;
  }
  CHECK(l->samples[BYTES].value[0] > 0, "the first push takes memory");
  CHECK(bytes >= PUSHES * sizeof(double) && times < PUSHES / 20, "all take %llu bytes, in %llu times",
        (unsigned long long)bytes, (unsigned long long)times);
  workload_set(l, "threads", 2);
  workload_refuses(l, -EINVAL, "threads");
}

static void refusals(struct workload *l) {
  static const char *const option[] = {"recorder", "library", "keep", "type", "measure"};
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) workload_refuses_text(l, option[i], "other", option[i]);
  set(l, "pmlua", "same", MOST_THREADS + 1);
  workload_refuses(l, -EINVAL, "");
  set(l, "pmlua", "same", 1);
  workload_set(l, "pushes", 1 << 20);
  workload_refuses(l, -EINVAL, "room");
  set(l, "libsde", "same", 1);
  workload_text(l, "keep", "sketch");
  workload_refuses(l, -EINVAL, "");
}

/* In a child: once loaded, the drop-in stays, and would be found by libsde's name. */
static bool drop_in_is_refused(struct workload *l) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(workload_go(l, NULL) == -ENOENT && strstr(l->run.error, "drop-in") ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void peers(struct workload *l) {
  char own[PATH_MAX + 32];
  ssize_t n = readlink("/proc/self/exe", own, PATH_MAX);
  set(l, "libsde", "same", 1);
  workload_text(l, "libsde", "/nonexistent/libsde.so.1");
  workload_refuses(l, -ENOENT, "install");
  set(l, "libsde", "same", 1);
  for (own[n > 0 ? n : 0] = 0, n = 0; n < 2 && strrchr(own, '/'); n++) *strrchr(own, '/') = 0;
  strcat(own, "/compat/libsde.so.1");
  workload_text(l, "libsde", own);
  if (access(own, R_OK) == 0)
    CHECK(drop_in_is_refused(l), "pmlua's own drop-in is refused");
  else
    SKIP("the drop-in is not built");
  set(l, "libsde", "same", 1);
  if (SANITIZED)
    SKIP("PAPI's libsde is not built with the sanitizer");
  else if (workload_go(l, NULL) == -ENOENT)
    SKIP(l->run.error);
  else
    both_ways(l, "libsde");
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "recorder", MOST_THREADS * PUSHES)) return check_done();
  both_ways(&l, "pmlua");
  sketch_and_floor(&l);
  growth(&l);
  refusals(&l);
  peers(&l);
  workload_defaults(&l);
  workload_close(&l);
  return check_done();
}
