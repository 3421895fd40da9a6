/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/starved.h - run each operation of operations.h with a shortage at its first, second, third ... step.
 *
 * Every run is a separate process, because the core keeps some data permanently (regions, paths of uprobes, contents of
 * sysfs). In it the operation first meets the shortage, then runs again without one: it must then succeed, and memory
 * and descriptors in use must be the same as without an earlier shortage. Without one, a third run leaves nothing more.
 */
#ifndef SPEC_STARVED_H
#define SPEC_STARVED_H

#include "check.h"
#include "operations.h"

#include <poll.h>
#include <sys/resource.h>

#define STEPS_MAX 400u

/* Defined by the spec: begin the shortage at step @k (0: never); the number of steps taken; the memory in use. */
static void starve_at(unsigned k);
static unsigned steps_taken(void);
static long memory_in_use(void);

struct run {
  int first, second; /* the result of the operation with the shortage, and again without */
  unsigned steps;
  long memory, descriptors;
  long more; /* memory and descriptors that a third run left, only without a shortage */
  char text[300];
};
static struct run *shared; /* written by the child */

static long descriptors_in_use(void) {
  static struct pollfd all[8192];
  struct rlimit limit;
  nfds_t n = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 8192 ? (nfds_t)limit.rlim_cur : 8192;
  long used = 0;
  for (nfds_t i = 0; i < n; i++) all[i] = (struct pollfd){.fd = (int)i};
  if (poll(all, n, 0) < 0) return -1;
  for (nfds_t i = 0; i < n; i++) used += (all[i].revents & POLLNVAL) == 0;
  return used;
}

static void run_child(const struct operation *o, unsigned k) {
  starve_at(k);
  shared->first = operation_run(o);
  shared->steps = steps_taken();
  snprintf(shared->text, sizeof shared->text, "%s", pml_error_detail(shared->first));
  starve_at(0);
  shared->second = o->slow ? 0 : operation_run(o);
  shared->memory = memory_in_use();
  shared->descriptors = descriptors_in_use();
  if (k == 0 && !o->slow && operation_run(o) == 0)
    shared->more = labs(memory_in_use() - shared->memory) + labs(descriptors_in_use() - shared->descriptors);
  _exit(0);
}

/* The result of the child: 0, or the signal or status that ended it. */
static int run_once(const struct operation *o, unsigned k) {
  int status = -1;
  memset(shared, 0, sizeof *shared);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) run_child(o, k);
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return status;
}

/* Is what the operation answered to a shortage of this kind the truth? */
typedef bool answer_is_true(int err);

static void starve_operation(const struct operation *o, const char *of_what, answer_is_true *right) {
  if (run_once(o, 0) != 0 || shared->first > 0) {
    CHECK(false, "%s works when nothing is short", o->name);
    return;
  }
  struct run good = *shared;
  if (good.first < 0) {
    char why[512];
    snprintf(why, sizeof why, "%s: not here: %.400s", o->name, good.text);
    SKIP(why);
    return;
  }
  CHECK(good.more == 0, "%s leaves no memory and no descriptor: %ld", o->name, good.more);
  unsigned k = 1, refused = 0, wrong = 0;
  for (; k < STEPS_MAX && wrong < 3; k++) {
    int status = run_once(o, k);
    bool fine = status == 0 && (shared->first == 0 || (right(shared->first) && shared->text[0])) &&
                shared->second == 0 && shared->memory == good.memory && shared->descriptors == good.descriptors;
    wrong += !fine;
    if (!fine)
      CHECK(false, "%s, short of %s at %u: status %d, %s (%.150s), then %s; memory %ld of %ld, descriptors %ld of %ld",
            o->name, of_what, k, status, pml_error_name(shared->first), shared->text, pml_error_name(shared->second),
            shared->memory, good.memory, shared->descriptors, good.descriptors);
    refused += shared->first < 0;
    if (shared->first == 0 && shared->steps < k) break; /* it did not come as far as the shortage */
  }
  CHECK(k < STEPS_MAX && wrong == 0, "%s, short of %s at each of %u places: %u times refused", o->name, of_what, k,
        refused);
}

static bool starve_prepare(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared != MAP_FAILED && operations_prepare();
}

/* Initialises data of libraries once, because their shortages are not under test. */
static void starve_all(const char *of_what, answer_is_true *right) {
  struct pml_event ev;
  starve_operation(&operations[0], of_what, right);
  (void)pml_clock_init();
  (void)pml_event_parse(&ev, "perf::TASK-CLOCK");
  all_listed = listed = 0;
  if (pml_event_list(NULL, false, visit, NULL) == 0) all_listed = listed;
  for (size_t i = 1; i < NOPERATIONS; i++) starve_operation(&operations[i], of_what, right);
}

#endif
