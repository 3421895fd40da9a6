/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/bandwidth.c - bytes that threads read and write per second, each in separate memory.
 *
 * Each thread walks its memory in blocks; of `OF` blocks in a row, `writes` are written and the others read. The site
 * `pass` takes the ticks of a pass: from the moment that all threads are ready until the slowest is done.
 */
#include "cpus.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS, BYTES, WRITES };

#define OF 4u
#define BLOCK_WORDS ((size_t)512) /* 4 KiB: whole lines, so that a line is either read or written */
#define BLOCK_BYTES (BLOCK_WORDS * sizeof(uint64_t))
#define HUGE_BYTES ((size_t)2 << 20)
#define THREADS_MAX 4096

enum { WAIT, GO, GIVE_UP };

struct team {
  atomic_int start;
  pthread_barrier_t ready, done;
  bool over; /* written before `ready`, read behind it: the barrier orders them */
  size_t threads, blocks, writes;
};

struct member {
  struct team *team;
  pthread_t thread;
  uint64_t *words, begin, end;
  size_t mapped, cpu, passes;
  bool wrong; /* it read a word that no thread had written */
  int error;
};

static bool is_written(size_t block, size_t writes) {
  return block % OF < writes;
}

static uint64_t read_block(const uint64_t *w) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i < BLOCK_WORDS; i += 4) a += w[i], b += w[i + 1], c += w[i + 2], d += w[i + 3];
  return a + b + c + d;
}

static void write_block(uint64_t *w, uint64_t v) {
  for (size_t i = 0; i < BLOCK_WORDS; i++) w[i] = v;
  __asm__ volatile("" : : "r"(w) : "memory"); /* the stores are wanted */
}

/* Block b of a thread contains its number b, and b is written there, so that each pass reads the same. */
static void pass(struct member *m) {
  const struct team *t = m->team;
  uint64_t sum = 0, expected = 0;
  m->begin = pml_clock_ticks_ordered();
  for (size_t b = 0; b < t->blocks; b++) {
    uint64_t *w = m->words + b * BLOCK_WORDS;
    if (is_written(b, t->writes)) {
      write_block(w, b);
    } else {
      sum += read_block(w);
      expected += b * BLOCK_WORDS;
    }
  }
  m->end = pml_clock_ticks_ordered();
  if (sum != expected) m->wrong = true;
}

/* By the thread that uses it, so that the memory is near to its cpu. */
static int member_open(struct member *m) {
  m->error = cpus_pin(m->cpu);
  if (m->error) return m->error;
  m->mapped = (m->team->blocks * BLOCK_BYTES + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  void *map = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return m->error = -errno;
  m->words = map;
  madvise(map, m->mapped, MADV_HUGEPAGE); /* fewer misses of the TLB where the kernel has them */
  for (size_t b = 0; b < m->team->blocks; b++) write_block(m->words + b * BLOCK_WORDS, b);
  return 0;
}

static void *member_main(void *arg) {
  struct member *m = arg;
  struct team *t = m->team;
  int start;
  while ((start = atomic_load(&t->start)) == WAIT) sched_yield();
  if (start == GIVE_UP) return NULL;
  member_open(m);
  pthread_barrier_wait(&t->done);
  for (;;) {
    pthread_barrier_wait(&t->ready);
    if (t->over) break;
    pass(m);
    pthread_barrier_wait(&t->done);
  }
  if (m->words) munmap(m->words, m->mapped);
  return NULL;
}

/* From the first that began to the last that ended. */
static uint64_t took(const struct team *t, const struct member *m) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (size_t i = 0; i < t->threads; i++) {
    if (m[i].begin < begin) begin = m[i].begin;
    if (m[i].end > end) end = m[i].end;
  }
  return end - begin;
}

static int check(struct pml_workload_run *r, const struct team *t, const struct member *m) {
  for (size_t i = 0; i < t->threads; i++) {
    if (m[i].error == -ENOMEM) return workload_out_of_memory(r, (double)(t->threads * t->blocks * BLOCK_BYTES));
    if (m[i].error) return workload_fail(r, m[i].error, "cpu %zu: %s", m[i].cpu, pml_error_text(m[i].error));
    if (m[i].wrong) return workload_fail(r, PML_EFORMAT, "cpu %zu read a value that was not written", m[i].cpu);
  }
  return 0;
}

static int passes(struct pml_workload_run *r, struct team *t, struct member *m) {
  struct pml_samples *s = r->probe[0].samples;
  pthread_barrier_wait(&t->done); /* all have their memory */
  int err = check(r, t, m);
  for (bool warm = false; !err && s->n < s->capacity; warm = true) {
    pthread_barrier_wait(&t->ready);
    pthread_barrier_wait(&t->done);
    err = check(r, t, m);
    if (!err && warm) pml_samples_push(s, took(t, m));
    if (!err) err = workload_stopped(r, 1);
  }
  t->over = true;
  pthread_barrier_wait(&t->ready);
  return err;
}

/* A barrier that one thread is missing at would never open, so all or none of them are started. */
static int team_run(struct pml_workload_run *r, struct team *t, struct member *m) {
  size_t started = 0;
  int err = 0;
  pthread_barrier_init(&t->ready, NULL, (unsigned)t->threads + 1);
  pthread_barrier_init(&t->done, NULL, (unsigned)t->threads + 1);
  for (; started < t->threads && !err; started += err == 0)
    err = -pthread_create(&m[started].thread, NULL, member_main, &m[started]);
  atomic_store(&t->start, err ? GIVE_UP : GO);
  if (err)
    workload_fail(r, err, "a thread: %s", pml_error_text(err));
  else
    err = passes(r, t, m);
  for (size_t i = 0; i < started; i++) pthread_join(m[i].thread, NULL);
  pthread_barrier_destroy(&t->ready);
  pthread_barrier_destroy(&t->done);
  return err;
}

static int choose_cpus(struct pml_workload_run *r, const struct team *t, struct member *m) {
  struct cpus all;
  int err = cpus_get(&all);
  if (err) return workload_fail(r, err, "cpus: %s", pml_error_text(err));
  if (t->threads > cpus_count(&all))
    return workload_fail(r, -EINVAL, "option threads is %zu, this process may use %u cpus", t->threads,
                         cpus_count(&all));
  size_t cpu = 0;
  for (size_t i = 0; i < t->threads; i++, cpu++) {
    cpu = cpus_next(&all, cpu);
    m[i].cpu = cpu;
  }
  return 0;
}

static int run(struct pml_workload_run *r) {
  struct team t = {0};
  size_t bytes = 0;
  pml_region_t region;
  int err = workload_size(r, THREADS, "threads", 1, THREADS_MAX, &t.threads);
  if (!err) err = workload_size(r, BYTES, "bytes", OF * BLOCK_BYTES, 1e13, &bytes);
  if (!err) err = workload_size(r, WRITES, "writes", 0, OF, &t.writes);
  if (!err) err = workload_region(r, "passes", &region);
  if (!err) err = workload_stopped(r, 1);
  if (err || t.threads == 0) return err;
  const size_t sets = bytes / (OF * BLOCK_BYTES); /* groups of OF consecutive blocks */
  t.blocks = sets * OF;
  struct member *m = calloc(t.threads, sizeof *m);
  if (!m) return workload_out_of_memory(r, (double)(t.threads * sizeof *m));
  for (size_t i = 0; i < t.threads; i++) m[i].team = &t;
  err = choose_cpus(r, &t, m);
  uint64_t enter = pml_clock_ticks();
  if (!err) err = team_run(r, &t, m);
  workload_phase(r, region, enter, pml_clock_ticks());
  double part = (double)(t.threads * sets) * BLOCK_BYTES;
  workload_result(r, "read", "B", part * (double)(OF - t.writes));
  workload_result(r, "written", "B", part * (double)t.writes);
  free(m);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "bandwidth",
    .help = "bytes that threads read and write in their own memory",
    .site = {"pass"},
    .option = {[THREADS] = {"threads", "each on its own cpu", 1, NULL},
               [BYTES] = {"bytes", "of each thread", 1 << 26, NULL},
               [WRITES] = {"writes", "of four blocks, those that are written", 0, NULL}},
    .run = run,
};
