/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive.c - archive of an MPI job's logs with known clock errors.
 *
 * `archive write DIR HOW`: leave the logs of such a job in DIR. HOW is one of the names of jobs in archive_job.h.
 */
#include "archive_job.h"
#include "read/archive/pml_archive_private.h"
#include "read/archive/pml_archive_skew.h"

static void archive(const struct job *job) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  size_t n = write_job(job, path);
  for (size_t i = 0; i < n; i++) log[i].path = path[i];
  int err = write_it(log, n, NULL, NULL, &s);
  CHECK(err == 0 && s.processes == n && s.ranks == n && s.missing == RANKS - n, "%s: an archive has all ranks: %s",
        job->name, err < 0 ? pml_error_detail(err) : "");
  CHECK(s.messages == (n == RANKS ? RANKS * ROUNDS : (RANKS - 2) * ROUNDS) && s.open == 0, "%s: and %llu messages",
        job->name, (unsigned long long)s.messages);
  CHECK(s.unmatched == (n == RANKS ? 0 : 2 * ROUNDS), "%s: each with its partner, if that has a log (%llu)", job->name,
        (unsigned long long)s.unmatched);
  CHECK((s.early > 0) == job->early, "%s: by the clocks %llu are early", job->name, (unsigned long long)s.early);
  CHECK(s.still_early == 0, "%s: and %llu in the archive", job->name, (unsigned long long)s.still_early);
  CHECK(write_it(log, n, NULL, NULL, &s) == -EEXIST, "%s: it is not written over", job->name);
  remove_all();
}

static const struct job *job_of(const char *name) {
  size_t i = 0;
  while (i + 1 < JOBS && strcmp(jobs[i].name, name) != 0) i++;
  return &jobs[i];
}

/* Rank 2 waits for what rank 1 sends, and rank 0 for it in the barrier of both. */
static void waits(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  uint64_t late = 0, met = 0;
  for (size_t i = write_job(job_of("late"), path); i-- > 0;) log[i].path = path[i];
  if (!CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == 0, "a job with a late rank has an archive")) return;
  for (int i = 0; i < RANKS; i++) {
    late += s.wait[i].late_sender_ns;
    met += s.wait[i].collective_ns;
  }
  const double all = LATE_NS * ROUNDS;
  CHECK(fabs((double)s.wait[2].late_sender_ns - all) < all / 20 && (double)late < all * 1.05,
        "its receiver alone waits for it (%llu ns)", (unsigned long long)s.wait[2].late_sender_ns);
  CHECK(fabs((double)s.wait[0].collective_ns - all) < all / 20 && (double)met < all * 1.05,
        "so does the other one in their barrier (%llu ns)", (unsigned long long)s.wait[0].collective_ns);
  free(s.wait);
  remove_all();
}

/* Two windows of the pair, one of the rank itself; numbers are the rank's own. The first one is named in the end. */
static void define_windows(struct rank *r) {
  static const char *const none[] = {""}, *const named[] = {"halo"}, *const self[] = {"", "", ""};
  const struct pml__log_communicator own = {2, PML__LOG_COMM_SELF, 0, 1, 0, 0, 0};
  const uint32_t n = 10 * r->rank;
  const struct pml__log_window window[] = {{n + 1, 3, 1, 0}, {n + 2, 3, 2, 0}, {n + 3, 2, 1, 0}};
  bool done = pml__log_define(r->log, PML__LOG_COMMUNICATOR, &own, sizeof own, self, 3) == 0;
  for (int i = 0; i < 3; i++)
    done &= pml__log_define(r->log, PML__LOG_WINDOW, &window[i], sizeof *window, none, 1) == 0;
  done &= pml__log_define(r->log, PML__LOG_WINDOW, &window[0], sizeof *window, named, 1) == 0;
  CHECK(done, "windows are in the log");
}

static const struct pml__otf2_window *window_of(const struct pml__archive *a, size_t p, uint32_t number) {
  const struct pml__archive_window *w = pml__archive_window_of(&a->process[p], number);
  return w != NULL && w->ref < a->mpi.nwindows ? &a->mpi.window[w->ref] : NULL;
}

static bool has_members(const struct pml__otf2_comm *c, uint32_t first, uint32_t n) {
  bool has = c->n[0] == n && c->n[1] == 0;
  for (uint32_t i = 0; i < c->n[0] && has; i++) has = c->member[0][i] == first + i;
  return has;
}

static void check_communicators(const struct pml__archive *a) {
  const struct pml__otf2_comm *c = a->mpi.comm;
  if (!CHECK(a->mpi.ncomms == 4, "all ranks have four communicators (%u)", a->mpi.ncomms)) return;
  CHECK(has_members(&c[0], 0, RANKS) && strcmp(c[0].name, "MPI_COMM_WORLD") == 0 && c[0].parent == UINT32_MAX,
        "the first is the world");
  CHECK(c[1].self, "then comes each rank's own");
  CHECK(has_members(&c[2], 0, 2) && has_members(&c[3], 2, 2), "and the communicators of pairs, with their members");
  CHECK(c[2].parent == 0 && c[3].parent == 0, "and come from the world");
}

static void check_windows(const struct pml__archive *a) {
  const struct pml__otf2_window *w[RANKS][4];
  bool apart = true, pairs = true, own = true;
  CHECK(a->mpi.nwindows == 2 * 2 + RANKS, "they have %u windows", a->mpi.nwindows);
  for (uint32_t p = 0; p < RANKS; p++)
    for (uint32_t i = 1; i < 4; i++) w[p][i] = window_of(a, p, 10 * p + i);
  for (uint32_t p = 0; p < RANKS; p++) {
    pairs &= w[p][1] == w[p / 2 * 2][1] && w[p][2] == w[p / 2 * 2][2] && w[p][1]->comm == 2 + p / 2;
    apart &= w[p][1] != w[p][2] && w[p][1] != w[(p + 2) % RANKS][1];
    own &= w[p][3]->comm == 1 && w[p][3] != w[(p + 1) % RANKS][3];
  }
  CHECK(pairs, "members of a pair have the same windows, with any numbers");
  CHECK(apart, "each in its place, and each pair its own");
  CHECK(own, "windows of a rank alone are its own");
  CHECK(strcmp(w[0][1]->name, "halo") == 0 && strcmp(w[0][2]->name, "pair") == 0,
        "a window has its last name, or its communicator's");
}

static void unite(void) {
  struct pml_archive_log log[RANKS] = {{0}};
  char path[RANKS][300];
  struct pml_archive_story s = {0};
  struct pml__archive a = {.story = &s, .nprocesses = RANKS, .lock.fd = -1};
  a.process = calloc(RANKS, sizeof *a.process);
  bool known = a.process != NULL;
  define_more = define_windows;
  (void)write_job(&jobs[0], path);
  define_more = NULL;
  for (uint32_t i = 0; i < RANKS && known; i++) {
    log[i].path = path[i];
    known = pml__archive_know(&a.process[RANKS - 1 - i], &log[i]) == 0;
  }
  if (CHECK(known && pml__archive_order(&a) == 0 && pml__archive_unite(&a) == 0, "definitions of ranks are merged")) {
    check_communicators(&a);
    check_windows(&a);
  }
  for (size_t i = 0; a.process != NULL && i < RANKS; i++) pml__archive_forget(&a.process[i]);
  free(a.process);
  pml__archive_disunite(&a);
  remove_all();
}

/* Clocks whose rate is not a number, as in a damaged log, and times between measurements. */
static void clocks(void) {
  const struct pml__archive_clock endless = {.started_ns = 5, .ns_per_tick = INFINITY};
  CHECK(pml__archive_clock_ns(&endless, 0) == 0, "an invalid time is before the start");
  CHECK(pml__archive_clock_ns(&endless, 1) == 5 + UINT64_C(3200000000000000000), "and an infinite one 100 years later");
  struct pml__archive_clock c = {.started_ns = 5000, .started_ticks = 1000, .ns_per_tick = 2};
  bool done = pml__archive_clock_measured(&c, 2000, 100) == 0 && pml__archive_clock_measured(&c, 2000, 900) == 0 &&
              pml__archive_clock_measured(&c, 3000, 300) == 0;
  CHECK(done && c.noffsets == 2, "one measurement for a time");
  CHECK(pml__archive_clock_ns(&c, 1000) == 5000 + 100 && pml__archive_clock_ns(&c, 4000) == 5000 + 6000 + 300,
        "offsets stay before the first measurement and after the last");
  CHECK(pml__archive_clock_ns(&c, 2500) == 5000 + 3000 + 200, "and are linear between");
  const struct pml__archive_correction a[] = {{10000, 0}, {11000, 100}}, b[] = {{10500, 10}, {11500, 30}};
  const uint64_t time[] = {10000, 10500, 10750, 11000, 11500, 20000}, by[] = {10, 60, 90, 120, 130, 130};
  struct pml__archive_clock shifted = {.ns_per_tick = 1};
  done = pml__archive_clock_shift(&shifted, a, 2) == 0 && pml__archive_clock_shift(&shifted, b, 2) == 0;
  for (size_t i = 0; i < sizeof time / sizeof *time; i++)
    CHECK(done && pml__archive_clock_ns(&shifted, time[i]) == time[i] + by[i], "two shifts add up at %llu",
          (unsigned long long)time[i]);
  pml__archive_clock_free(&c);
  pml__archive_clock_free(&shifted);
}

#define CLOCKS 6u
#define BREAKPOINTS 65u
#define STEP UINT64_C(1000)

static int64_t skew[BREAKPOINTS][CLOCKS][CLOCKS]; /* by hand: the earliest message's lead; INT64_MIN without messages */

static bool taken = true;

/* A message, and what it says of the breakpoints around the steps in which it was on its way. */
static void message(struct pml__archive_skews *l, uint32_t from, uint32_t to, uint64_t sent, uint64_t received) {
  const uint64_t s = sent / STEP, r = received / STEP, first = s < r ? s : r, last = s < r ? r : s;
  taken &= pml__archive_skew_add(l, from, to, sent, received) == 0;
  if (from == to || r > s + 1) return; /* late enough */
  for (uint64_t k = first; k <= last + 1; k++)
    if ((int64_t)(sent - received) > skew[k][from][to]) skew[k][from][to] = (int64_t)(sent - received);
}

/* The longest paths (Floyd and Warshall): false where one has no end. */
static bool longest(int64_t at[CLOCKS][CLOCKS], int64_t shift[CLOCKS], bool known[CLOCKS]) {
  for (uint32_t i = 0; i < CLOCKS; i++) known[i] = false;
  for (uint32_t i = 0; i < CLOCKS; i++)
    for (uint32_t j = 0; j < CLOCKS; j++)
      if (at[i][j] != INT64_MIN) known[i] = known[j] = true;
  for (uint32_t m = 0; m < CLOCKS; m++)
    for (uint32_t i = 0; i < CLOCKS; i++)
      for (uint32_t j = 0; j < CLOCKS; j++)
        if (at[i][m] != INT64_MIN && at[m][j] != INT64_MIN && at[i][m] + at[m][j] > at[i][j])
          at[i][j] = at[i][m] + at[m][j];
  for (uint32_t j = 0; j < CLOCKS; j++) {
    shift[j] = 0;
    if (at[j][j] > 0) return false;
    for (uint32_t i = 0; i < CLOCKS; i++)
      if (at[i][j] > shift[j]) shift[j] = at[i][j];
  }
  for (uint32_t j = CLOCKS; j-- > 0;)
    if (known[j] && known[0]) shift[j] -= shift[0];
  return true;
}

static void shifts_of(bool fast) {
  struct pml__archive_process process[CLOCKS] = {{0}};
  struct pml__archive a = {.process = process, .nprocesses = CLOCKS};
  struct pml__archive_skews l;
  uint32_t breakpoints[CLOCKS] = {0};
  bool shifted = false;
  for (uint32_t k = 0; k < BREAKPOINTS; k++)
    for (uint32_t i = 0; i < CLOCKS * CLOCKS; i++) skew[k][i / CLOCKS][i % CLOCKS] = INT64_MIN;
  pml__archive_skews_begin(&l, 0, (BREAKPOINTS - 1) * (STEP - 1), CLOCKS);
  if (!CHECK(l.breakpoints == BREAKPOINTS && l.step_ns == STEP, "64 steps of the time")) return;
  /* Neighbours send to each other; clocks are behind, the first one most, and more and more so. */
  for (uint32_t i = 0; i < 4000; i++) {
    const uint32_t from = i % CLOCKS, to = i % 4 < 2 ? (from + 1) % CLOCKS : from > 0 ? from - 1 : 0;
    const uint64_t t = 500 + i * UINT64_C(7919) % 63000, step = t / 1000, more = t / 3000;
    if (step % 13 == 5 || (from + to == 1 && step % 7 == 3) || (from == 5 && step >= 48 && step < 54)) continue;
    if (from + 1 < to || to + 1 < from) continue;
    const uint64_t sent = t + 300 - 2 * (CLOCKS - 1 - from) * more, took = i % 50 == 49 ? 2500 : 12 + i % 11;
    message(&l, from, to, sent, t + took + 300 - 2 * (CLOCKS - 1 - to) * more);
  }
  message(&l, 1, 2, 30100, 30090); /* two clocks that are both behind: no shifts at these breakpoints */
  message(&l, 2, 1, 30200, 30150);
  message(&l, 0, 5, 50995, 51005);           /* from one step to the next, to a clock that sends nothing meanwhile */
  if (fast) message(&l, 4, 5, 50900, 50200); /* 700 ns more than a step later: faster than a clock may go */
  CHECK(taken && pml__archive_skews_shift(&l, &a, &shifted) == 0 && shifted == !fast, "shifts are %s",
        fast ? "not possible" : "found");
  for (uint32_t k = 0; k < BREAKPOINTS && !fast; k++) {
    int64_t shift[CLOCKS];
    bool known[CLOCKS];
    const bool fits = longest(skew[k], shift, known);
    CHECK(fits == (k != 30 && k != 31), "breakpoint %u: messages %s", k, fits ? "agree" : "contradict each other");
    for (uint32_t i = 0; i < CLOCKS && fits; i++) {
      if (!known[i]) continue;
      const struct pml__archive_clock *c = &process[i].own;
      const uint32_t n = breakpoints[i]++;
      CHECK(n < c->nshifts && c->shift[n].at == k * STEP && c->shift[n].by_ns == shift[i],
            "breakpoint %u: clock %u by %lld, not %lld", k, i, (long long)shift[i],
            n < c->nshifts ? (long long)c->shift[n].by_ns : -1);
    }
  }
  for (uint32_t i = 0; i < CLOCKS; i++) {
    CHECK(process[i].own.nshifts == breakpoints[i], "clock %u has no other breakpoints", i);
    pml__archive_clock_free(&process[i].own);
  }
  pml__archive_skews_free(&l);
}

static void skews(void) {
  static const struct {
    size_t clocks;
    uint32_t breakpoints;
  } most[] = {{256, 65}, {257, 33}, {1000, 5}, {5000, 2}};
  struct pml__archive_skews l;
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    pml__archive_skews_begin(&l, 7, 7, most[i].clocks);
    CHECK(l.breakpoints == most[i].breakpoints && l.step_ns == 1, "%zu clocks have %u breakpoints", most[i].clocks,
          l.breakpoints);
  }
  shifts_of(false);
  shifts_of(true);
}

static void two_jobs(void) {
  char path[2 * RANKS][300];
  struct pml_archive_log log[2 * RANKS] = {{0}};
  struct pml_archive_story s;
  (void)write_job(&jobs[0], path);
  began_ns += 1000000000;
  (void)write_job(&jobs[0], path + RANKS);
  for (size_t i = 0; i < 2 * RANKS; i++) log[i].path = path[i];
  CHECK(write_it(log, 2 * RANKS, NULL, NULL, &s) == 0 && s.ranks == 2 * RANKS && s.missing == 0,
        "an archive of two jobs has the ranks of both");
  CHECK(s.messages == UINT64_C(2) * RANKS * ROUNDS && s.unmatched == 0 && s.early == 0,
        "and no message from one to the other");
  remove_all();
}

static int stop_at_once(uint64_t done, uint64_t all, void *arg) {
  CHECK(done <= all, "no more is read than there is");
  ++*(int *)arg;
  return -ECANCELED;
}

static void refused(void) {
  char path[RANKS][300];
  struct pml_archive_log log[2] = {{0}};
  struct pml_archive_story s;
  int asked = 0;
  (void)write_job(&jobs[0], path);
  log[0].path = path[0];
  log[1].path = "/nowhere/x.1.pmlog";
  CHECK(write_it(log, 0, NULL, NULL, &s) == -EINVAL, "no logs are refused");
  CHECK(write_it(log, 2, NULL, NULL, &s) == -ENOENT, "a log that is not there is refused");
  CHECK(pml_archive_write("/nowhere", log, 1, NULL, NULL, &s) == -ENOENT, "a folder that is not there is, too");
  CHECK(write_it(log, 1, stop_at_once, &asked, &s) == -ECANCELED && asked == 1, "the work can be ended");
  remove_all();
}

int main(int argc, char **argv) {
  char path[RANKS][300];
  if (argc == 4 && strcmp(argv[1], "write") == 0) {
    if (pml_clock_init() < 0) return 1;
    began_ns = pml_clock_realtime_ns() - UINT64_C(10000000000);
    (void)snprintf(dir, sizeof dir, "%s", argv[2]);
    for (size_t i = 0; i < JOBS; i++)
      if (strcmp(jobs[i].name, argv[3]) == 0) return write_job(&jobs[i], path) == 0;
    return 2;
  }
  if (!begin_job()) return 1;
  for (size_t i = 0; i < JOBS; i++) archive(&jobs[i]);
  clocks();
  skews();
  waits();
  unite();
  two_jobs();
  refused();
  CHECK(rmdir(dir) == 0, "nothing is left");
  return check_done();
}
