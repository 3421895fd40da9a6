/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/bench/scale/logs.c - logs of a job that never ran: logs DIR RANKS THREADS SECTIONS
 *
 * Each rank's log is as pmlua writes it (docs/log.md), and ranks differ: times spread by a fifth around their
 * section's, some ranks are slow in one section, every 97th was killed, every 13th has a section fewer.
 */
#include "adapter/section/pml_section_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFINITIONS PML__LOG_DIRECTORY
#define SUMS (DEFINITIONS + PML__LOG_DEFINITIONS_BYTES)

struct job {
  unsigned long ranks, threads, sections;
  char definitions[PML__LOG_DEFINITIONS_BYTES];
  uint32_t bytes; /* in `definitions` */
};

static void fail(const char *what) {
  fprintf(stderr, "logs: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
  x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
  return x ^ x >> 33;
}

static void define(struct job *job) {
  for (uint32_t i = 0; i < job->sections; i++) {
    char label[24];
    struct pml__log_section s = {.index = i, .type = i % 5 == 4, .exclusive = i > 0};
    int n = snprintf(label, sizeof label, i == 0 ? "all" : i % 5 == 4 ? "exchange %u" : "solve %u", i);
    struct pml__log_definition d = {PML__LOG_SECTION, (uint32_t)(sizeof d + sizeof s + (size_t)n + 8) & ~7u};
    if (job->bytes + d.bytes > sizeof job->definitions) exit(2);
    memcpy(job->definitions + job->bytes, &d, sizeof d);
    memcpy(job->definitions + job->bytes + sizeof d, &s, sizeof s);
    memcpy(job->definitions + job->bytes + sizeof d + sizeof s, label, (size_t)n);
    job->bytes += d.bytes;
  }
}

static void put(int fd, const void *bytes, size_t n, uint64_t at) {
  if (pwrite(fd, bytes, n, (off_t)at) != (ssize_t)n) fail("write");
}

/* Calls of one thread: a number that all ranks share, times that vary. */
static struct pml__section_stat stat_of(const struct job *job, uint64_t rank, uint64_t thread, uint32_t section) {
  uint64_t calls = section == 0 ? 1 : 10 * section;
  uint64_t mean = 1000000 / calls + mix(rank << 20 ^ thread << 8 ^ section) % (200000 / calls);
  if (section == rank % job->sections && rank % 7 == 0) mean += mean / 2;
  struct pml__section_stat s = {
      .seq = 2 * (uint32_t)calls, .self = section == 0 ? mean / 10 : mean * calls, .epoch = 1};
  s.calls = (struct pml_exact_sums){calls, mean * calls, mean - mean / 8, mean + mean / 8, {mean * mean * calls, 0}};
  s.work = section % 5 == 4 ? 4096 : 1e6;
  s.iterations = calls;
  return s;
}

static void put_sums(int fd, const struct job *job, uint64_t rank, uint64_t thread) {
  struct pml__section_stat stat[PML__SECTION_BLOCK];
  uint32_t n = (uint32_t)job->sections - (rank % 13 == 12);
  memset(stat, 0, sizeof stat);
  for (uint32_t i = 0; i < n; i++) stat[i] = stat_of(job, rank, thread, i);
  put(fd, stat, n * sizeof *stat, SUMS + (thread - 1) * sizeof stat);
}

static void put_rank(const char *dir, const struct job *job, uint64_t rank) {
  struct pml__log_head h = {
      .magic = PML__LOG_MAGIC, .version = PML__LOG_VERSION, .pid = (int32_t)(1000 + rank % 4000000)};
  struct pml__log_entry *entry = calloc(job->threads + 1, sizeof *entry);
  char path[4096];
  if (entry == NULL) fail("calloc");
  h.rank = (int32_t)rank;
  h.size = (int32_t)job->ranks;
  h.born = rank + 1;
  h.started_ns = UINT64_C(1700000000000000000) + mix(rank) % 1000000000;
  h.ended_ns = h.started_ns + 1000000000;
  h.ended = rank % 97 == 96 ? PML__LOG_RUNNING : PML__LOG_ENDED_EXIT;
  h.ticks_per_second = 1e9;
  h.epoch = 1;
  h.entries = (uint32_t)job->threads + 1;
  (void)snprintf(h.clock, sizeof h.clock, "monotonic");
  (void)snprintf(h.host, sizeof h.host, "node%04u", (unsigned)(rank / 64));
  (void)snprintf(h.command, sizeof h.command, "./solver -n %lu", job->ranks);
  (void)snprintf(path, sizeof path, "%s/rank%lu.%s.%d.pmlog", dir, (unsigned long)rank, h.host, h.pid);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail(path);
  entry[0] = (struct pml__log_entry){
      .kind = PML__LOG_DEFINITIONS, .at = DEFINITIONS, .bytes = PML__LOG_DEFINITIONS_BYTES, .committed = job->bytes};
  for (uint64_t t = 1; t <= job->threads; t++) {
    entry[t] = (struct pml__log_entry){.kind = PML__LOG_SECTION_SUMS,
                                       .owner = t,
                                       .at = SUMS + (t - 1) * PML__SECTION_BLOCK_BYTES,
                                       .bytes = PML__SECTION_BLOCK_BYTES};
    put_sums(fd, job, rank, t);
  }
  put(fd, &h, sizeof h, 0);
  put(fd, entry, (job->threads + 1) * sizeof *entry, PML__LOG_ENTRIES_AT);
  put(fd, job->definitions, job->bytes, DEFINITIONS);
  if (ftruncate(fd, (off_t)(SUMS + job->threads * PML__SECTION_BLOCK_BYTES)) != 0 || close(fd) != 0) fail(path);
  free(entry);
}

int main(int argc, char **argv) {
  static struct job job;
  if (argc != 5) {
    fprintf(stderr, "usage: logs DIR RANKS THREADS SECTIONS\n");
    return 2;
  }
  job.ranks = strtoul(argv[2], NULL, 10);
  job.threads = strtoul(argv[3], NULL, 10);
  job.sections = strtoul(argv[4], NULL, 10);
  if (job.ranks == 0 || job.threads == 0 || job.threads > 900 || job.sections < 2 || job.sections > PML__SECTION_BLOCK)
    return 2;
  if (mkdir(argv[1], 0700) != 0 && errno != EEXIST) fail(argv[1]);
  define(&job);
  for (uint64_t rank = 0; rank < job.ranks; rank++) put_rank(argv[1], &job, rank);
  return 0;
}
