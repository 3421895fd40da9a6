/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive.c - logs of a job of MPI whose clocks are known to be wrong, as one archive.
 *
 * Each rank is on a host of its own: its clock has an offset, drifts, and was compared with rank 0's, perhaps badly. In
 * each of 100 rounds each rank sends to the next one; a message is on its way for 20 us.
 *
 * `archive write DIR HOW`: leave the logs of such a job in DIR. HOW is one of the names of jobs below.
 *
 * Link: -Wl,--wrap=flock,--wrap=rmdir,--wrap=pml_otf2_close
 */
#include "check.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "record/log/pml_log.h"
#include "substrate/archive/pml_archive.h"
#include "substrate/archive/pml_archive_private.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, ROUNDS = 100, REGION = 1 };
#define ROUND_NS 1e6
#define WAY_NS 20e3
#define LATE_NS 500

enum wrong { NOTHING, REQUESTS, LENGTHS, OPERATIONS };

/* What is wrong with clocks: rank r's has r times the offset and the drift. */
static const struct job {
  const char *name;
  double offset_ns, drift; /* of clocks */
  double error_ns;         /* of what was measured of that */
  bool bent;               /* half way through the clock was set */
  bool measured, early;    /* messages are early by clocks as measured */
  bool missing;            /* rank 2 has no log */
  bool late;               /* rank 1 calls MPI later, in each round */
  enum wrong wrong;        /* in the records */
} jobs[] = {
    {.name = "exact", .measured = true},
    {.name = "offset", .offset_ns = 5e6, .drift = 50e-6, .measured = true},
    {.name = "unmeasured", .offset_ns = -5e6, .early = true},
    {.name = "inexact", .offset_ns = 5e6, .drift = 50e-6, .error_ns = -1e5, .measured = true, .early = true},
    {.name = "bent", .bent = true, .measured = true, .early = true},
    {.name = "missing", .measured = true, .missing = true},
    {.name = "late", .measured = true, .late = true},
    {.name = "requests", .measured = true, .wrong = REQUESTS},
    {.name = "lengths", .measured = true, .wrong = LENGTHS},
    {.name = "operations", .measured = true, .wrong = OPERATIONS},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static char dir[200];
static uint64_t began_ns; /* all ranks */

/* ---- a rank's log ---- */

struct rank {
  const struct job *job;
  uint32_t rank;
  struct pml__log *log;
  struct pml__log_event *next;
};

/* What rank r's clock says at the true time @ns. */
static uint64_t ticks_at(const struct rank *r, double ns) {
  double wrong = r->rank * (r->job->offset_ns + ns * r->job->drift);
  if (r->job->bent && ns > ROUNDS * ROUND_NS / 2) wrong += r->rank * 1e6;
  return r->log->head->started_ticks + (uint64_t)llround((1e9 + ns + wrong) * 1e-9 * r->log->head->ticks_per_second);
}

static void put(struct rank *r, double ns, uint64_t word) {
  *r->next++ = (struct pml__log_event){ticks_at(r, ns), word};
}

static void put_values(struct rank *r, double ns, uint32_t what, uint32_t n, uint32_t code, const uint64_t *value) {
  put(r, ns, PML__LOG_WORD(PML__LOG_COMMUNICATION, PML__LOG_COMMUNICATED(what, n, code)));
  memcpy(r->next, value, n * sizeof *value);
  r->next += (n + 1) / 2;
}

static void define(struct rank *r) {
  static const char *const region[] = {"MPI_Sendrecv", ""}, *const world[] = {"MPI_COMM_WORLD", "", ""};
  const char *const pair[] = {"pair", r->rank < 2 ? "0 1" : "2 3", ""};
  const struct pml__log_region is = {.region = REGION};
  int half = (int)r->rank / 2;
  const struct pml__log_communicator of_all = {1, PML__LOG_COMM_WORLD, (int)r->rank, RANKS, 0, 0, 0},
                                     of_two = {3, 0, (int)r->rank % 2, 2, 1, 2 * half, (uint64_t)(2 * half) << 32 | 1};
  CHECK(pml__log_define(r->log, PML__LOG_REGION, &is, sizeof is, region, 2) == 0 &&
            pml__log_define(r->log, PML__LOG_COMMUNICATOR, &of_all, sizeof of_all, world, 3) == 0 &&
            pml__log_define(r->log, PML__LOG_COMMUNICATOR, &of_two, sizeof of_two, pair, 3) == 0,
        "names are in the log");
}

/* Before the first round and after the last. */
static void compare_clocks(struct rank *r) {
  for (int i = 0; r->job->measured && i < 2; i++) {
    double ns = i * ROUNDS * ROUND_NS;
    double wrong = r->rank * (r->job->offset_ns + ns * r->job->drift + r->job->error_ns);
    const struct pml__log_clock_offset o = {ticks_at(r, ns), -llround(wrong), 1};
    CHECK(pml__log_define(r->log, PML__LOG_CLOCK_OFFSET, &o, sizeof o, NULL, 0) == 0, "an offset is in the log");
  }
}

/* Send to the next rank, receive from the one before, then a barrier of two. */
static void put_round(struct rank *r, int round) {
  double ns = round * ROUND_NS, left = ns + WAY_NS + 10e3;
  uint32_t to = (r->rank + 1) % RANKS, from = (r->rank + RANKS - 1) % RANKS;
  const uint64_t world = UINT64_C(1) << 32, pair = UINT64_C(3) << 32, id = (uint64_t)round + 1;
  const uint64_t other = r->job->wrong == REQUESTS ? 1000 + id : id, bytes = r->job->wrong == LENGTHS ? 101 : 100;
  uint32_t operation = r->job->wrong == OPERATIONS && r->rank == 1 ? PML__LOG_SCAN : PML__LOG_BARRIER;
  put(r, ns + (r->job->late && r->rank == 1 ? LATE_NS : 0), PML__LOG_WORD(PML__LOG_ENTER, REGION));
  put_values(r, ns + 1e3, PML__LOG_IRECV, 1, 0, (const uint64_t[]){id});
  put_values(r, ns + 2e3, PML__LOG_SEND, 3, 0, (const uint64_t[]){world | to, 9, 100});
  put_values(r, ns + 2e3 + WAY_NS, PML__LOG_IRECV_COMPLETE, 4, 0, (const uint64_t[]){world | from, 9, bytes, other});
  put_values(r, left, PML__LOG_COLLECTIVE_BEGIN, 1, 0, (const uint64_t[]){0});
  put_values(r, left + 1e3, PML__LOG_COLLECTIVE_END, 4, operation,
             (const uint64_t[]){pair | PML__LOG_NO_RANK, 0, 0, 0});
  put(r, left + 2e3, PML__LOG_WORD(PML__LOG_LEAVE, REGION));
}

static void write_rank(const struct job *job, uint32_t rank, char path[300]) {
  char name[40];
  struct rank r = {.job = job, .rank = rank};
  struct pml__log_entry *recording, *track;
  (void)snprintf(name, sizeof name, "host%u.%u", rank, 100 + rank);
  const struct pml__log_process p = {name, (int)rank, RANKS, began_ns, 1};
  if (!CHECK(pml__log_open(&r.log, dir, &p) == 0, "a log is made")) exit(1);
  (void)snprintf(path, 300, "%s", r.log->file.path);
  (void)snprintf(r.log->head->host, sizeof r.log->head->host, "host%u", rank);
  r.log->head->pid = 100 + (int)rank;
  struct pml__log_recording *is = pml__log_extent(r.log, PML__LOG_RECORDING, 0, 0, 4096, 0, &recording);
  const size_t bytes = 65536;
  char *events = pml__log_extent(r.log, PML__LOG_EVENTS, 100 + rank, 1, bytes, 0, &track);
  if (!CHECK(is != NULL && events != NULL, "it has room")) exit(1);
  is->traced = 1;
  r.next = (struct pml__log_event *)(void *)(events + sizeof(struct pml__log_track));
  define(&r);
  compare_clocks(&r);
  for (int i = 0; i < ROUNDS; i++) put_round(&r, i);
  CHECK((char *)r.next < events + bytes, "and enough of it");
  pml__log_end(r.log);
  pml__log_close(r.log);
}

/* How many logs; their paths. */
static size_t write_job(const struct job *job, char path[RANKS][300]) {
  size_t n = 0;
  for (uint32_t rank = 0; rank < RANKS; rank++)
    if (rank != 2 || !job->missing) write_rank(job, rank, path[n++]);
  return n;
}

/* ---- the archive ---- */

static void remove_all(void) {
  char command[300];
  (void)snprintf(command, sizeof command, "rm -rf %s/*", dir);
  CHECK(system(command) == 0, "all goes away");
}

/* The archive of @n logs; the waits of its story are freed. */
static int write_it(const struct pml_archive_log *log, size_t n, int (*progress)(uint64_t, uint64_t, void *), void *arg,
                    struct pml_archive_story *s) {
  int err = pml_archive_write(dir, log, n, progress, arg, s);
  CHECK((s->wait != NULL) == (err == 0), "waits are told of archives alone");
  free(s->wait);
  return err;
}

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

/* Rank 2 waits for what rank 1 sends, and rank 0 for it in the barrier of both. */
static void waits(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  uint64_t late = 0, met = 0;
  for (size_t i = write_job(&jobs[6], path); i-- > 0;) log[i].path = path[i];
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

/* ---- several processes ---- */

static pid_t helper;

/* How many processes' events it wrote is its exit status. */
static void start_helper(void) {
  uint32_t written;
  helper = fork();
  if (helper != 0) return;
  int err = pml_archive_help(dir, UINT64_C(60000000000), &written);
  _exit(err == 0 ? (int)written : 99);
}

/* While the first part is written, the helper has all others to itself. */
static int wait_for_helper(uint64_t done, uint64_t all, void *arg) {
  int status;
  (void)done, (void)all;
  if (helper == 0) return 0;
  CHECK(waitpid(helper, &status, 0) == helper && WIFEXITED(status), "the helper ends while the leader is at work");
  *(int *)arg = WEXITSTATUS(status);
  helper = 0;
  return 0;
}

/* A plan with as many ranks as a number holds, which are more than the memory of its reader. */
static void crowd(const unsigned char *plan, size_t n, const char *path, const char *other) {
  uint32_t written;
  size_t origin = 0;
  while (plan[origin++] >= 0x80) continue;
  FILE *f = fopen(path, "w");
  CHECK(f != NULL && fwrite(plan, 1, origin, f) == origin && fwrite("\xff\xff\xff\xff\x0f", 1, 5, f) == 5 &&
            fwrite(plan + origin + 1, 1, n - origin - 1, f) == n - origin - 1 && fclose(f) == 0,
        "a plan is changed");
  CHECK(pml_archive_help(other, 0, &written) == PML_EFORMAT, "a plan of 2^32 - 1 ranks is damaged");
}

/* A helper that reads damaged plans: cut anywhere, or with any byte changed. Each ends with a failure, or with no work.
 */
static int damage(uint64_t done, uint64_t all, void *arg) {
  static unsigned char plan[65536];
  char path[300], other[300];
  uint32_t written;
  (void)done, (void)all;
  if ((*(int *)arg)++ > 0) return 0;
  (void)snprintf(path, sizeof path, "%s/.making-traces/plan", dir);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(plan, 1, sizeof plan, f) : 0;
  if (!CHECK(n > 100 && n < sizeof plan && fclose(f) == 0, "there is a plan of %zu bytes", n)) return 0;
  (void)snprintf(other, sizeof other, "%s/other", dir);
  (void)snprintf(path, sizeof path, "%s/other/.making-traces", dir);
  CHECK(mkdir(other, 0777) == 0 && mkdir(path, 0777) == 0, "and a place for others");
  (void)snprintf(path, sizeof path, "%s/other/.making-traces/plan", dir);
  for (size_t i = 0; i < 2 * n; i++) {
    size_t bytes = i < n ? i : n;
    if (i >= n) plan[i - n] ^= 0xff;
    f = fopen(path, "w");
    if (f == NULL || fwrite(plan, 1, bytes, f) != bytes || fclose(f) != 0) break;
    int err = pml_archive_help(other, 0, &written);
    if (i < n && err != PML_EFORMAT) CHECK(false, "a plan of %zu bytes is damaged: %d", i, err);
    if (i >= n) plan[i - n] ^= 0xff;
  }
  crowd(plan, n, path, other);
  return 0;
}

/* As if another process had written the last part, with a thread that is not in it. */
static int lie(uint64_t done, uint64_t all, void *arg) {
  (void)done, (void)all, (void)arg;
  CHECK(system("cd $DIR/.making-traces; test ! -e 0 -o -e 3 && exit; cp -r 0 3.lie; "
               "(printf '\\002'; tail -c +2 0/part) >3.lie/part; mv 3.lie 3") == 0,
        "the last part is not what it says");
  return 0;
}

/* As if one had claimed the last part, and had died then. */
static int claim_last(uint64_t done, uint64_t all, void *arg) {
  char path[300];
  (void)done, (void)all;
  (void)snprintf(path, sizeof path, "%s/.making-traces/%d.claim", dir, RANKS - 1);
  FILE *f = (*(int *)arg)++ == 0 ? fopen(path, "w") : NULL;
  if (f != NULL) (void)fclose(f);
  return 0;
}

/* Whether something of the name was made in the folder since it was watched. */
static bool was_made(int watched, const char *name) {
  _Alignas(struct inotify_event) char got[4096];
  bool made = false;
  for (ssize_t n; (n = read(watched, got, sizeof got)) > 0;) {
    for (const char *at = got; at < got + n;) {
      const struct inotify_event *e = (const void *)at;
      made |= e->len > 0 && strcmp(e->name, name) == 0;
      at += sizeof *e + e->len;
    }
  }
  return made;
}

/* A second leader, which must leave the first one's folders alone. */
static int lead_again(uint64_t done, uint64_t all, void *arg) {
  const struct pml_archive_log *log = *(const struct pml_archive_log **)arg;
  struct pml_archive_story s;
  (void)done, (void)all;
  if (log == NULL) return 0;
  *(const struct pml_archive_log **)arg = NULL;
  int watched = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (!CHECK(watched >= 0 && inotify_add_watch(watched, dir, IN_CREATE) >= 0, "the folder is watched")) return 0;
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EBUSY, "a second leader is refused");
  CHECK(!was_made(watched, "traces"), "and makes nothing that the first would take for a trace");
  close(watched);
  return 0;
}

static void shared(void) {
  char path[RANKS][300];
  const struct pml_archive_log *again;
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  uint32_t written;
  int n = 0;
  for (size_t i = write_job(&jobs[1], path); i-- > 0;) log[i].path = path[i];
  CHECK(pml_archive_help(dir, 0, &written) == -ETIMEDOUT && written == 0, "without a leader there is nothing to help");
  start_helper();
  CHECK(write_it(log, RANKS, wait_for_helper, &n, &s) == 0, "two write an archive");
  CHECK(n == RANKS - 1, "the one that has time writes %d of %d parts (%d)", RANKS - 1, RANKS, n);
  CHECK(s.messages == RANKS * ROUNDS && s.events == 7 * RANKS * ROUNDS, "it has %llu events",
        (unsigned long long)s.events);
  CHECK(system("rm -r $DIR/traces*") == 0, "and is there");
  n = 0;
  CHECK(write_it(log, RANKS, damage, &n, &s) == 0, "damaged plans elsewhere are survived");
  CHECK(system("rm -r $DIR/traces* $DIR/other") == 0, "and it is there");
  n = 0;
  CHECK(write_it(log, RANKS, claim_last, &n, &s) == 0 && s.events == 7 * RANKS * ROUNDS,
        "a part that was claimed and not written is written by the leader");
  CHECK(system("rm -r $DIR/traces*") == 0, "and it is there");
  CHECK(write_it(log, RANKS, lie, NULL, &s) == PML_EFORMAT && strstr(pml_error_detail(PML_EFORMAT), "/3/part") != NULL,
        "a part with another number of threads is named, and makes no trace");
  CHECK(system("rm -rf $DIR/traces*") == 0, "of which nothing counts");
  again = log;
  CHECK(write_it(log, RANKS, lead_again, &again, &s) == 0 && again == NULL, "the first leader writes it");
  remove_all();
}

/* ---- leaders, one after the other ---- */

/* What happens just before the next flock(), or before the folder's rmdir(). */
static void (*before_flock)(void), (*before_rmdir)(void);

static void meanwhile(void (**what)(void)) {
  void (*now)(void) = *what;
  *what = NULL;
  if (now != NULL) now();
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  meanwhile(&before_flock);
  return __real_flock(fd, operation);
}

int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path) {
  if (strcmp(strrchr(path, '/'), "/.making-traces") == 0) meanwhile(&before_rmdir);
  return __real_rmdir(path);
}

/* The leader before ends between this one's open() and its flock(). */
static void leader_ends(void) {
  CHECK(system("rm -r $DIR/.making-traces") == 0, "the leader before removes its folder");
}

/* Another leader takes the folder that this one is about to remove. */
static int its_lock;
static void leader_begins(void) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/.making-traces/lock", dir);
  its_lock = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  CHECK(its_lock >= 0 && __real_flock(its_lock, LOCK_EX | LOCK_NB) == 0, "there is no lock when another leader begins");
}

static void leaders(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  const struct pml_archive_log *again = log;
  struct pml_archive_story s;
  struct stat st;
  for (size_t i = write_job(&jobs[0], path); i-- > 0;) log[i].path = path[i];
  before_flock = leader_ends;
  CHECK(write_it(log, RANKS, lead_again, &again, &s) == 0 && before_flock == NULL && again == NULL,
        "one that had opened the lock before it was removed locks the new one, and is the only leader");
  CHECK(system("rm -r $DIR/traces*") == 0, "and the trace is there");
  before_rmdir = leader_begins;
  CHECK(write_it(log, RANKS, NULL, NULL, &s) == 0 && before_rmdir == NULL, "one ends while another begins");
  (void)snprintf(path[0], sizeof path[0], "%s/.making-traces/lock", dir);
  CHECK(lstat(path[0], &st) == 0, "and leaves the other's lock alone");
  close(its_lock);
  CHECK(system("rm -r $DIR/.making-traces") == 0, "with its folder");
  remove_all();
}

/* ---- a leader that is killed ---- */

static bool killed_at_close;

int __real_pml_otf2_close(struct pml_otf2 *o);
int __wrap_pml_otf2_close(struct pml_otf2 *o);
int __wrap_pml_otf2_close(struct pml_otf2 *o) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/.making-traces/uniting", dir);
  if (killed_at_close && access(path, F_OK) == 0) (void)raise(SIGKILL);
  return __real_pml_otf2_close(o);
}

/* One is killed before the archive is whole: the next removes what it left, and nothing that another made. */
static void killed(void) {
  char path[RANKS][300];
  struct pml_archive_log log[RANKS] = {{0}};
  struct pml_archive_story s;
  int status = 0;
  for (size_t i = write_job(&jobs[0], path); i-- > 0;) log[i].path = path[i];
  pid_t pid = fork();
  if (pid == 0) {
    killed_at_close = true;
    _exit(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == 0);
  }
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "a leader is killed before the end");
  CHECK(system("cd $DIR && test -e traces && test ! -s traces.otf2") == 0, "and leaves an archive without its anchor");
  CHECK(write_it(log, RANKS, NULL, NULL, &s) == 0 && s.messages > 0, "of which the next makes a whole one");
  CHECK(system("mkdir $DIR/.making-traces && touch $DIR/.making-traces/uniting") == 0, "a killed one had finished it");
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EEXIST, "then it stays");
  CHECK(system("cd $DIR && test -s traces.otf2 -a -s traces.def -a ! -e .making-traces") == 0, "with all its files");
  CHECK(system("rm $DIR/traces.otf2 $DIR/traces.def") == 0, "what has no anchor");
  CHECK(pml_archive_write(dir, log, RANKS, NULL, NULL, &s) == -EEXIST && system("test -d $DIR/traces") == 0,
        "stays if no leader left a sign that it is its own");
  CHECK(system("rm -r $DIR/traces") == 0, "for its owner to remove");
  remove_all();
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
  if (pml_clock_init() < 0) return 1;
  began_ns = pml_clock_realtime_ns() - UINT64_C(10000000000);
  if (argc == 4 && strcmp(argv[1], "write") == 0) {
    (void)snprintf(dir, sizeof dir, "%s", argv[2]);
    for (size_t i = 0; i < JOBS; i++)
      if (strcmp(jobs[i].name, argv[3]) == 0) return write_job(&jobs[i], path) == 0;
    return 2;
  }
  (void)snprintf(dir, sizeof dir, "%s/pmlua-archive-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
  if (mkdtemp(dir) == NULL) return 1;
  for (size_t i = 0; i < JOBS; i++) archive(&jobs[i]);
  (void)setenv("DIR", dir, 1);
  clocks();
  waits();
  unite();
  shared();
  leaders();
  killed();
  two_jobs();
  refused();
  CHECK(rmdir(dir) == 0, "nothing is left");
  return check_done();
}
