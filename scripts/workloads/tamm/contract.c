/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/tamm/contract.c - a contraction as tasks: each makes a block of C by a chain of DGEMMs.
 *
 * Blocks are sorted into matrices first, as is usual for DGEMM: A's into (shared with C,
 * summed over), B's into (summed over, shared with C). The chain adds up in a matrix that is sorted into C at its end.
 * Threads take the next task from a common counter.
 */
#include "tamm.h"
#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Where the indices of a matrix are in a tensor: two of its rows, two of its columns. */
struct order {
  int at[TAMM_RANK];
};

struct job {
  const struct tamm_term *term;
  const struct tamm_tensor *a, *b;
  struct tamm_tensor *c;
  const struct tamm_options *options;
  struct order of_a, of_b, of_c;
  size_t tasks, *block; /* blocks of C */
  struct tamm__task *done;
  size_t next;       /* atomic */
  int out_of_memory; /* atomic */
};

struct worker {
  struct job *job;
  pthread_t thread;
  double busy_s;
  double *a, *b, *c; /* sorted */
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The positions in @t of the letters of @wanted that are in @with, or, if not @common, that are not. */
static unsigned places(const char *t, const char *wanted, const char *with, bool common, int *at) {
  unsigned n = 0;
  for (const char *l = wanted; *l; l++) {
    const char *here = strchr(t, *l);
    if (here && (strchr(with, *l) != NULL) == common && n < 2) at[n++] = (int)(here - t);
  }
  return n;
}

static int find_orders(struct job *j, struct tamm_error *e) {
  const char *a = j->a->label, *b = j->b->label, *c = j->c->label;
  if (strcmp(a, j->term->a) != 0 || strcmp(b, j->term->b) != 0 || strcmp(c, j->term->c) != 0)
    return tamm__fail(e, -EINVAL, "%s is %s += %s %s, not %s += %s %s", j->term->name, j->term->c, j->term->a,
                      j->term->b, c, a, b);
  unsigned n = places(a, c, c, true, j->of_a.at) + places(a, a, c, false, j->of_a.at + 2) +
               places(b, a, c, false, j->of_b.at) + places(b, c, c, true, j->of_b.at + 2) +
               places(c, c, a, true, j->of_c.at) + places(c, c, b, true, j->of_c.at + 2);
  return n == 12 ? 0 : tamm__fail(e, -EINVAL, "%s: A and B must share two indices each with C and with each other", a);
}

/* --- blocks and matrices --- */

struct view {
  size_t extent[TAMM_RANK], stride[TAMM_RANK]; /* in the order of the matrix */
};

static struct view view_of(const struct tamm_tensor *t, const size_t tile[TAMM_RANK], struct order o) {
  size_t extent[TAMM_RANK], stride[TAMM_RANK], step = 1;
  struct view v;
  for (int d = TAMM_RANK - 1; d >= 0; d--) {
    extent[d] = t->space[d]->tile[tile[d]].size;
    stride[d] = step;
    step *= extent[d];
  }
  for (int d = 0; d < TAMM_RANK; d++) {
    v.extent[d] = extent[o.at[d]];
    v.stride[d] = stride[o.at[d]];
  }
  return v;
}

static void sort_in(double *matrix, const double *block, struct view v) {
  for (size_t p = 0; p < v.extent[0]; p++)
    for (size_t q = 0; q < v.extent[1]; q++)
      for (size_t r = 0; r < v.extent[2]; r++) {
        const double *from = block + p * v.stride[0] + q * v.stride[1] + r * v.stride[2];
        for (size_t s = 0; s < v.extent[3]; s++) *matrix++ = from[s * v.stride[3]];
      }
}

static void add_out(double *block, const double *matrix, struct view v, double factor) {
  for (size_t p = 0; p < v.extent[0]; p++)
    for (size_t q = 0; q < v.extent[1]; q++)
      for (size_t r = 0; r < v.extent[2]; r++) {
        double *to = block + p * v.stride[0] + q * v.stride[1] + r * v.stride[2];
        for (size_t s = 0; s < v.extent[3]; s++) to[s * v.stride[3]] += factor * *matrix++;
      }
}

/* --- tasks --- */

/* One link of the chain: a pair of tiles to sum over. False: spin leaves no blocks to multiply. */
static bool multiply(struct worker *w, const size_t c[TAMM_RANK], size_t s, size_t u, struct tamm__task *task) {
  const struct job *j = w->job;
  const int *of_a = j->of_a.at, *of_b = j->of_b.at, *of_c = j->of_c.at;
  size_t a[TAMM_RANK], b[TAMM_RANK];
  for (int i = 0; i < 2; i++) {
    a[of_a[i]] = c[of_c[i]];
    b[of_b[i + 2]] = c[of_c[i + 2]];
    a[of_a[i + 2]] = b[of_b[i]] = i == 0 ? s : u;
  }
  size_t at_a = j->a->start[tamm_tensor_block(j->a, a)], at_b = j->b->start[tamm_tensor_block(j->b, b)];
  if (at_a == SIZE_MAX || at_b == SIZE_MAX) return false;
  struct view va = view_of(j->a, a, j->of_a), vb = view_of(j->b, b, j->of_b);
  size_t m = va.extent[0] * va.extent[1], k = va.extent[2] * va.extent[3], n = vb.extent[2] * vb.extent[3];
  sort_in(w->a, j->a->data + at_a, va);
  sort_in(w->b, j->b->data + at_b, vb);
  j->options->dgemm(m, n, k, w->a, w->b, w->c);
  int64_t flops = 2 * (int64_t)(m * n * k);
  tamm__tell_dgemm(j->term, flops);
  task->dgemms++;
  task->flops += flops;
  return true;
}

static void do_task(struct worker *w, size_t number) {
  struct job *j = w->job;
  struct tamm__task *task = &j->done[number];
  double begun = now_s();
  size_t c[TAMM_RANK], block = j->block[number];
  for (int d = TAMM_RANK - 1; d >= 0; d--) {
    c[d] = block % j->c->space[d]->tiles;
    block /= j->c->space[d]->tiles;
  }
  struct view v = view_of(j->c, c, j->of_c);
  memset(w->c, 0, v.extent[0] * v.extent[1] * v.extent[2] * v.extent[3] * sizeof *w->c);
  size_t last_s = j->a->space[j->of_a.at[2]]->tiles, last_u = j->a->space[j->of_a.at[3]]->tiles;
  for (size_t s = 0; s < last_s; s++)
    for (size_t u = 0; u < last_u; u++) multiply(w, c, s, u, task);
  add_out(j->c->data + j->c->start[j->block[number]], w->c, v, j->term->factor);
  task->seconds = now_s() - begun;
  w->busy_s += task->seconds;
  tamm__tell_length(j->term, task->dgemms);
}

static void *work(void *arg) {
  struct worker *w = arg;
  struct job *j = w->job;
  w->a = malloc(j->a->largest * sizeof *w->a);
  w->b = malloc(j->b->largest * sizeof *w->b);
  w->c = malloc(j->c->largest * sizeof *w->c);
  if (!w->a || !w->b || !w->c) __atomic_store_n(&j->out_of_memory, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&j->out_of_memory, __ATOMIC_RELAXED) && !(j->options->interrupt && *j->options->interrupt)) {
    size_t number = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
    if (number >= j->tasks) break;
    do_task(w, number);
  }
  free(w->a);
  free(w->b);
  free(w->c);
  return NULL;
}

/* --- the contraction --- */

static int find_tasks(struct job *j, struct tamm_error *e) {
  const struct tamm_tensor *c = j->c;
  for (size_t b = 0; b < c->blocks; b++) j->tasks += c->start[b] != SIZE_MAX;
  j->block = calloc(j->tasks, sizeof *j->block);
  j->done = calloc(j->tasks, sizeof *j->done);
  if (!j->block || !j->done) return tamm__fail(e, -ENOMEM, "no memory for %zu tasks", j->tasks);
  size_t n = 0;
  for (size_t b = 0; b < c->blocks; b++)
    if (c->start[b] != SIZE_MAX) j->block[n++] = b;
  return 0;
}

/* All tasks, on all threads. */
static int run_threads(struct job *j, struct worker *worker, struct tamm_error *e) {
  size_t started = 0, threads = j->options->threads;
  int err = 0;
  while (started < threads && !err) {
    worker[started].job = j;
    err = pthread_create(&worker[started].thread, NULL, work, &worker[started]);
    if (!err) started++;
  }
  if (err) __atomic_store_n(&j->next, j->tasks, __ATOMIC_RELAXED);
  for (size_t i = 0; i < started; i++) pthread_join(worker[i].thread, NULL);
  if (err) return tamm__fail(e, -EAGAIN, "only %zu of %zu threads start; request fewer", started, threads);
  if (j->out_of_memory) return tamm__fail(e, -ENOMEM, "no memory for the blocks of %zu threads", threads);
  if (j->next < j->tasks) return tamm__fail(e, -EINTR, "interrupted");
  return 0;
}

static void tell(const struct job *j, const struct worker *worker, struct tamm_report *report) {
  report->tasks = j->tasks;
  for (size_t i = 0; i < j->tasks; i++) {
    const struct tamm__task *t = &j->done[i];
    tamm__tell_task(j->term, t);
    report->dgemms += (size_t)t->dgemms;
    report->flops += (uint64_t)t->flops;
    if ((size_t)t->dgemms > report->longest) report->longest = (size_t)t->dgemms;
  }
  for (size_t i = 0; i < j->options->threads; i++) {
    tamm__tell_thread(j->term, worker[i].busy_s);
    report->busy_s += worker[i].busy_s;
  }
  tamm__tell_end(j->term, report);
}

int tamm_contract(const struct tamm_term *term, const struct tamm_tensor *a, const struct tamm_tensor *b,
                  struct tamm_tensor *c, const struct tamm_options *options, struct tamm_report *report,
                  struct tamm_error *e) {
  struct job j = {.term = term, .a = a, .b = b, .c = c, .options = options};
  struct worker *worker = NULL;
  memset(report, 0, sizeof *report);
  if (options->threads < 1 || options->threads > TAMM_THREADS_MAX)
    return tamm__fail(e, -EINVAL, "%zu threads; give 1 to %u", options->threads, TAMM_THREADS_MAX);
  int err = find_orders(&j, e);
  if (!err) err = tamm__tell_open(e);
  if (!err) err = find_tasks(&j, e);
  if (!err) worker = calloc(options->threads, sizeof *worker);
  if (!err && !worker) err = tamm__fail(e, -ENOMEM, "no memory for %zu threads", options->threads);
  if (worker) {
    tamm__tell_begin(term);
    double begun = now_s();
    err = run_threads(&j, worker, e);
    report->runtime_s = now_s() - begun;
    if (!err) tell(&j, worker, report);
  }
  free(worker);
  free(j.block);
  free(j.done);
  return err;
}
