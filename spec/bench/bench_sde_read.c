/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/bench/bench_sde_read.c - cost of software-defined events: increments, and reads of 8 counters and of a group of
 * 100. */
#include "bench.h"

#include "source/pml_eventset.h"
#include "source/sde/pml_sde.h"
#include "source/sde/pml_sde_values.h"

#define EIGHT 8
#define HUNDRED 100

/* The lower limits: a counter in the thread's own memory, and a load and a store for each counter that is read. */
static volatile int64_t own;
static long long variable[HUNDRED];
static volatile uint64_t sink[EIGHT];

static void bare_increment(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) own = own + 1;
}

static void increment(void *counter, size_t n) {
  for (size_t i = 0; i < n; i++) pml_sde_increment(counter, 1);
}

static void bare_read(void *arg, size_t n) {
  const volatile long long *v = arg;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < EIGHT; k++) sink[k] = (uint64_t)v[k];
}

static void bare_sum(void *arg, size_t n) {
  const volatile long long *v = arg;
  for (size_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (size_t k = 0; k < HUNDRED; k++) sum += v[k];
    sink[0] = (uint64_t)sum;
  }
}

static void read_set(void *set, size_t n) {
  uint64_t v[PML_EVENTSET_MAX];
  for (size_t i = 0; i < n; i++) pml_eventset_read(set, v);
}

static struct pml__sde_values *all;
static uint64_t known;

/* As a client of the live service reads: all events of the process. */
static void read_all(void *arg, size_t n) {
  (void)arg;
  for (size_t i = 0; i < n; i++) {
    char *bytes;
    size_t size;
    if (pml__sde_values_take(all, known, "", "", 0, &bytes, &size) < 0) return;
    known = ((const struct pml__sde_values_head *)bytes)->generation;
    sink[0] = size;
    free(bytes);
  }
}

static void all_row(void) {
  if (pml__sde_values_open(&all) != 0) return;
  struct bench_op op[2] = {{.batch = bare_sum, .arg = variable}, {.batch = read_all}};
  bench_run(op, 2);
  bench_row("values of 109 events for a client", &op[1], "a sum of 100 loads", &op[0], 12.0, NULL, NULL);
  pml__sde_values_close(all);
}

static void increment_rows(struct pml_sde_library *lib) {
  struct pml_sde_counter *c;
  if (pml_sde_create(lib, "COUNTER", PML_SDE_RW, &c) != 0) return;
  struct bench_sde_event peer = {bench_sde_open(), bench_sde_counter(bench_sde_open(), "COUNTER")};
  struct bench_op op[3] = {{.batch = bare_increment},
                           {.batch = increment, .arg = c},
                           {.batch = peer.event != NULL ? bench_sde_increment : NULL, .arg = &peer}};
  bench_run(op, 3);
  bench_row("increment a created counter", &op[1], "increment in memory", &op[0], 7.0, "papi_sde_inc_counter", &op[2]);
  struct bench_op two[2] = {op[1], op[2]};
  for (int i = 0; i < 2; i++) {
    if (two[i].batch == NULL || !bench_second_start(two[i].batch, two[i].arg)) continue;
    bench_run(&two[i], 1);
    bench_second_stop();
  }
  bench_row("increment, 2 threads, one counter", &two[0], "the same, 1 thread", &op[1], 1.5, "papi_sde_inc_counter",
            &two[1]);
}

static void set_row(const char *figure, const char *const *names, size_t n, const char *reference, bench_batch *bare,
                    double limit) {
  struct pml_eventset *set;
  if (pml_eventset_open(&set, names, n, NULL) != 0) return;
  struct bench_papi *papi = bench_papi_open(names, n);
  struct bench_op op[3] = {{.batch = bare, .arg = variable},
                           {.batch = read_set, .arg = set},
                           {.batch = papi != NULL ? bench_papi_read : NULL, .arg = papi}};
  bench_run(op, 3);
  bench_row(figure, &op[1], reference, &op[0], limit, "PAPI_read", &op[2]);
  bench_papi_close(papi);
  pml_eventset_close(set);
}

/* The same events for pmlua and, where it is installed, for libsde. */
static void make_events(struct pml_sde_library *lib) {
  char event[24];
  struct pml_sde_counter *c;
  struct bench_libsde *l = bench_sde_open();
  for (int i = 0; i < HUNDRED; i++) {
    snprintf(event, sizeof event, "V%d", i);
    pml_sde_register(lib, event, PML_SDE_RO, PML_TYPE_INT64, &variable[i]);
    pml_sde_group_add(lib, event, "GROUP", PML_SDE_SUM);
    if (l != NULL && l->register_counter(l->library, event, 0, 0, &variable[i]) == 0)
      l->add_to_group(l->library, event, "GROUP", 0);
  }
  for (int i = 0; i < EIGHT; i++) {
    snprintf(event, sizeof event, "C%d", i);
    if (pml_sde_create(lib, event, PML_SDE_RW, &c) == 0) increment(c, 1);
    struct bench_sde_event peer = {l, bench_sde_counter(l, event)};
    if (peer.event != NULL) bench_sde_increment(&peer, 1);
  }
}

static void eight_row(const char *figure, const char *prefix, size_t n, double limit) {
  char name[EIGHT][48];
  const char *names[EIGHT];
  for (size_t i = 0; i < n; i++) {
    snprintf(name[i], sizeof name[i], "sde:::BENCH::%s%zu", prefix, i);
    names[i] = name[i];
  }
  set_row(figure, names, n, "8 loads and stores", bare_read, limit);
}

void bench_sde_rows(void) {
  struct pml_sde_library *lib;
  const char *group = "sde:::BENCH::GROUP";
  if (pml_sde_library(&lib, "BENCH") != 0) return;
  increment_rows(lib);
  make_events(lib);
  eight_row("event set read, 1 registered", "V", 1, 2.5);
  eight_row("event set read, 8 registered", "V", EIGHT, 6.0);
  eight_row("event set read, 8 created", "C", EIGHT, 6.25); /* 15 ns where the loads take 2.4 */
  set_row("event set read, a group of 100", &group, 1, "a sum of 100 loads", bare_sum, 3.0);
  all_row();
  pml_sde_shutdown(lib);
}
