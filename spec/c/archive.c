/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive.c - logs of a job of MPI whose clocks are known to be wrong, as one archive.
 *
 * `archive write DIR HOW`: leave the logs of such a job in DIR. HOW is one of the names of jobs in archive_job.h.
 */
#include "archive_job.h"

#include "base/pml_error.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <unistd.h>

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

/* ---- communicators and windows ---- */

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

/* What @p calls @number. */
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
  CHECK(has_members(&c[2], 0, 2) && has_members(&c[3], 2, 2), "and those of pairs, which have their members");
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
  CHECK(pairs, "members of a pair have the same windows, whatever their numbers");
  CHECK(apart, "each in its place, and each pair its own");
  CHECK(own, "those of a rank itself are its own");
  CHECK(strcmp(w[0][1]->name, "halo") == 0 && strcmp(w[0][2]->name, "pair") == 0,
        "a window has its last name, or that of its communicator");
}

static void unite(void) {
  char path[300];
  struct pml_archive_log log[RANKS] = {{0}};
  char paths[RANKS][300];
  struct pml_archive_story s = {0};
  struct pml__archive a = {.story = &s, .nprocesses = RANKS, .share.lock = -1};
  a.process = calloc(RANKS, sizeof *a.process);
  bool known = a.process != NULL;
  for (uint32_t i = 0; i < RANKS && known; i++) {
    struct rank r = {.job = &jobs[0], .rank = i};
    (void)snprintf(path, sizeof path, "host%u.%u", i, i);
    const struct pml__log_process p = {path, (int)i, RANKS, began_ns, 1};
    struct pml__log_entry *recording;
    known = pml__log_open(&r.log, dir, &p) == 0 &&
            pml__log_extent(r.log, PML__LOG_RECORDING, 0, 0, 4096, 0, &recording) != NULL;
    if (!known) break;
    define(&r);
    define_windows(&r);
    (void)snprintf(paths[i], sizeof paths[i], "%s", r.log->file.path);
    pml__log_end(r.log);
    pml__log_close(r.log);
    log[i].path = paths[i];
    known = pml__archive_know(&a.process[RANKS - 1 - i], &log[i]) == 0;
  }
  if (CHECK(known && pml__archive_order(&a) == 0 && pml__archive_unite(&a) == 0, "what ranks define becomes one")) {
    check_communicators(&a);
    check_windows(&a);
  }
  for (size_t i = 0; a.process != NULL && i < RANKS; i++) pml__archive_forget(&a.process[i]);
  free(a.process);
  pml__archive_disunite(&a);
  remove_all();
}

/* Clocks that a damaged plan may have: of no number of ns. */
static void clocks(void) {
  const struct pml__archive_clock endless = {.started_ns = 5, .ns_per_tick = INFINITY};
  CHECK(pml__archive_clock_ns(&endless, 0) == 0, "what is no time is before the start");
}

/* Logs of two jobs in one folder: each has its own ranks. */
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
  waits();
  unite();
  two_jobs();
  refused();
  CHECK(rmdir(dir) == 0, "nothing is left");
  return check_done();
}
