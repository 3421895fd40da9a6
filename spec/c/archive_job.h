/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/archive_job.h - logs of an MPI job with known clock errors, in the folder @dir.
 *
 * Each rank is on a separate host: its clock has an offset, drifts, and was compared with rank 0's, possibly
 * inaccurately. In each of 100 rounds each rank sends to the next one; a message takes 20 us.
 */
#ifndef ARCHIVE_JOB_H
#define ARCHIVE_JOB_H

#include "check.h"
#include "read/archive/pml_archive.h"
#include "record/log/pml_log.h"

#include <math.h>

enum { RANKS = 4, ROUNDS = 100, REGION = 1 };
#define ROUND_NS 1e6
#define WAY_NS 20e3
#define LATE_NS 500

enum wrong { NOTHING, REQUESTS, LENGTHS, OPERATIONS };

/* The errors of clocks: rank r has r times the offset and the drift. */
static const struct job {
  const char *name;
  double offset_ns, drift; /* offset and drift of clocks */
  double error_ns;         /* error of the measured offset and drift */
  bool bent;               /* the clock was set in the middle */
  double curve_ns;         /* error of the clock in the middle; it is 0 at both ends */
  bool measured, early;    /* messages are early by the measured clocks */
  bool missing;            /* rank 2 has no log */
  bool late;               /* rank 1 calls MPI later, in each round */
  enum wrong wrong;        /* in the records */
} jobs[] = {
    {.name = "exact", .measured = true},
    {.name = "offset", .offset_ns = 5e6, .drift = 50e-6, .measured = true},
    {.name = "unmeasured", .offset_ns = -5e6, .early = true},
    {.name = "inexact", .offset_ns = 5e6, .drift = 50e-6, .error_ns = -1e5, .measured = true, .early = true},
    {.name = "bent", .bent = true, .measured = true, .early = true},
    {.name = "curved", .curve_ns = 4e5, .measured = true, .early = true},
    {.name = "missing", .measured = true, .missing = true},
    {.name = "late", .measured = true, .late = true},
    {.name = "requests", .measured = true, .wrong = REQUESTS},
    {.name = "lengths", .measured = true, .wrong = LENGTHS},
    {.name = "operations", .measured = true, .wrong = OPERATIONS},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static char dir[200];
static uint64_t began_ns; /* all ranks */

struct rank {
  const struct job *job;
  uint32_t rank;
  struct pml__log *log;
  struct pml__log_event *next;
};

/* The reading of rank r's clock at the true time @ns. */
static uint64_t ticks_at(const struct rank *r, double ns) {
  double wrong = r->rank * (r->job->offset_ns + ns * r->job->drift);
  wrong += r->rank * r->job->curve_ns * sin(ns / (ROUNDS * ROUND_NS) * 3.141592653589793);
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

static void compare_clocks(struct rank *r) {
  for (int i = 0; r->job->measured && i < 2; i++) {
    double ns = i * ROUNDS * ROUND_NS;
    double wrong = r->rank * (r->job->offset_ns + ns * r->job->drift + r->job->error_ns);
    const struct pml__log_clock_offset o = {ticks_at(r, ns), -llround(wrong), 1};
    CHECK(pml__log_define(r->log, PML__LOG_CLOCK_OFFSET, &o, sizeof o, NULL, 0) == 0, "an offset is in the log");
  }
}

/* Send to the next rank, receive from the previous one, then a barrier of two. */
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

static void (*define_more)(struct rank *r);

static void write_rank(const struct job *job, uint32_t rank, char path[300]) {
  char name[40];
  struct rank r = {.job = job, .rank = rank};
  struct pml__log_entry *recording, *events_entry;
  (void)snprintf(name, sizeof name, "host%u.%u", rank, 100 + rank);
  const struct pml__log_process p = {name, (int)rank, RANKS, began_ns, 1};
  if (!CHECK(pml__log_open(&r.log, dir, &p) == 0, "a log is made")) exit(1);
  (void)snprintf(path, 300, "%s", r.log->file.path);
  (void)snprintf(r.log->head->host, sizeof r.log->head->host, "host%u", rank);
  r.log->head->pid = 100 + (int)rank;
  struct pml__log_recording *is = pml__log_extent(r.log, PML__LOG_RECORDING, 0, 0, 4096, 0, &recording);
  const size_t bytes = 65536;
  char *events = pml__log_extent(r.log, PML__LOG_EVENTS, 100 + rank, 1, bytes, 0, &events_entry);
  if (!CHECK(is != NULL && events != NULL, "it has room")) exit(1);
  is->traced = 1;
  r.next = (struct pml__log_event *)(void *)(events + sizeof(struct pml__log_buffer));
  define(&r);
  if (define_more != NULL) define_more(&r);
  compare_clocks(&r);
  for (int i = 0; i < ROUNDS; i++) put_round(&r, i);
  CHECK((char *)r.next < events + bytes, "and enough of it");
  pml__log_end(r.log);
  pml__log_close(r.log);
}

static size_t write_job(const struct job *job, char path[RANKS][300]) {
  size_t n = 0;
  for (uint32_t rank = 0; rank < RANKS; rank++)
    if (rank != 2 || !job->missing) write_rank(job, rank, path[n++]);
  return n;
}

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

static bool begin_job(void) {
  const char *temporary = getenv("TMPDIR");
  if (pml_clock_init() < 0) return false;
  began_ns = pml_clock_realtime_ns() - UINT64_C(10000000000);
  (void)snprintf(dir, sizeof dir, "%s/pmlua-archive-XXXXXX", temporary != NULL ? temporary : "/tmp");
  return mkdtemp(dir) != NULL && setenv("DIR", dir, 1) == 0;
}

#endif
