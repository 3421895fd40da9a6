/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench.h - interleaved timing of several ways to do the same work, with one row of output for each. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One way: does its operation @n times. */
typedef void bench_batch(void *arg, size_t n);

struct bench_op {
  bench_batch *batch; /* NULL: not on this machine */
  void *arg;
  size_t n;            /* per batch; found by bench_run() */
  double ns;           /* median over the rounds */
  double instructions; /* in user space, or < 0 where nothing can count them */
};

/* Fill ns and instructions of @count operations, one batch of each per round, in turn. */
void bench_run(struct bench_op *op, size_t count);

/* @op against @reference (limit of the ratio) and, where there is one, @peer (which must be slower). */
void bench_row(const char *figure, const struct bench_op *op, const char *reference_name,
               const struct bench_op *reference, double limit, const char *peer_name, const struct bench_op *peer);
void bench_head(void);
double bench_median(double *v, size_t n); /* sorts them */

/* Find the folder of the built plugins beside this program; @path has room for 4096 bytes. Returns false if the folder
 * does not exist. */
bool bench_plugins(char *path);
unsigned bench_rows_over(void);

/*
 * Start a second thread that runs batches of 64 on another cpu until it is stopped; only one at a time. False if there
 * is no second cpu.
 */
bool bench_second_start(bench_batch *batch, void *arg);
void bench_second_stop(void);

/* A page that the bench owns, the counter instruction replaced by rdtsc: reader and bare sequence, without and with
 * times. */
bench_batch bench_page_count, bench_page_count_bare, bench_page_read, bench_page_read_bare;

/* The real page of a counter of this thread; @arg is its struct pml_counter. */
bench_batch bench_real_count, bench_real_count_bare;

/* Rows of software-defined events. */
void bench_sde_rows(void);
void bench_count_rows(void); /* last: it makes sections count */

/* Rows of metric plugins. */
void bench_foreign_rows(void);
void bench_plugin_rows(void);

/* PAPI, if it is installed. */
struct bench_papi;
struct bench_papi *bench_papi_open(const char *const *names, size_t n); /* NULL: none, or it refuses; started */
void bench_papi_close(struct bench_papi *p);
const char *bench_papi_version(void); /* NULL: not installed */
bench_batch bench_papi_read, bench_papi_start_stop, bench_papi_ns;

/*
 * libsde, if it is installed. It must be opened before PAPI, which looks for it once; PAPI then reads its events by the
 * same names as in pmlua's registry: sde:::BENCH::EVENT. NULL if it is not installed or refuses.
 */
struct bench_libsde {
  void *(*init)(const char *);
  int (*register_counter)(void *, const char *, int, int, void *);
  int (*add_to_group)(void *, const char *, const char *, unsigned);
  int (*create_counter)(void *, const char *, int, void **);
  int (*inc_counter)(void *, long long);
  int (*create_recorder)(void *, const char *, size_t, int (*)(const void *, const void *), void **);
  int (*record)(void *, size_t, const void *);
  int (*reset_recorder)(void *);
  void *library;
};
bool bench_libsde_find(struct bench_libsde *l, void *loaded, const char *library);
struct bench_libsde *bench_sde_open(void);
void *bench_sde_counter(struct bench_libsde *l, const char *event);
void *bench_sde_recorder(struct bench_libsde *l, const char *event); /* for doubles */

/* @arg of the three batches below: an event of a counter for increment, of a recorder for the others. record resets the
 * recorder before it grows; record_shared lets it grow, and two threads may run it. */
struct bench_sde_event {
  struct bench_libsde *of;
  void *event;
};
bench_batch bench_sde_increment, bench_sde_record, bench_sde_record_shared;

/* Recorders and quantiles. */
void bench_recorder_rows(void);

/* The drop-in for libsde beside the real one. */
void bench_dropin_rows(void);

/* Intercepted calls. */
void bench_intercept_rows(void);

/* Calls by wrappers. */
void bench_wrap_rows(void);

/* The start of an intercepted program with many slots. */
void bench_startup_rows(void);

/* Consumers of events. */
void bench_substrate_rows(void);

/* Taking samples out of a buffer of the kernel. */
void bench_sampler_rows(void);

/* Sections. */
void bench_section_rows(void);
void bench_annotation_rows(void);

#endif
