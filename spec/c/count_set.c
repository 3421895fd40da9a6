/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/count_set.c - event sets of the thread's compiler counts: correct by every way of reading, while threads and
 * modules come and go. */
#include "check.h"
#include "count.h"

static const char *nine[PML_BYFL_EVENTS];

static void name_the_nine(void) {
  static char name[PML_BYFL_EVENTS][48];
  for (unsigned e = 0; e < PML_BYFL_EVENTS; e++) {
    snprintf(name[e], sizeof name[e], "sde:::BYFL::%s", pml_byfl_events[e].name);
    nine[e] = name[e];
  }
}

static struct pml_eventset *started(const char *const *names, size_t n) {
  struct pml_eventset *set = NULL;
  if (CHECK(pml_eventset_open(&set, names, n, NULL) == 0, "a set of %zu opens", n)) pml_eventset_start(set);
  return set;
}

/* The values of the nine events after @n[c] operations of each cell. */
static void worth(const uint64_t *n, uint64_t *expect) {
  memset(expect, 0, PML_BYFL_EVENTS * sizeof *expect);
  for (unsigned c = 0; c < PML_CELL_COUNT; c++)
    for (unsigned e = 0; e < PML_BYFL_EVENTS; e++) expect[e] += n[c] * pml_count_cells[c].worth[e];
}

static void every_call(void) {
  const char *const names[] = {"sde:::BYFL::flop_count_I", "sde:::BYFL::fp_bits_count_I", "clock::ns",
                               "sde:::BYFL::fp_add_double"};
  struct pml_eventset *set = started(names, 4);
  uint64_t v[4] = {0}, sum[4] = {1, 1, 1, 1};
  if (set == NULL) return;
  add_doubles(5);
  pml_eventset_read(set, v);
  CHECK(v[0] == 5 && v[1] == 960 && v[3] == 5, "beside a clock they are read");
  pml_eventset_accum(set, sum);
  add_doubles(2);
  pml_eventset_accum(set, sum);
  CHECK(sum[0] == 8 && sum[1] == 1345 && sum[3] == 8, "and accumulated");
  add_doubles(3);
  pml_eventset_reset(set);
  add_doubles(1);
  pml_eventset_stop(set, v);
  add_doubles(1);
  CHECK(v[0] == 1 && v[1] == 192 && v[3] == 1, "and counted from a reset to a stop");
  pml_eventset_start(set);
  add_doubles(4);
  pml_eventset_read(set, v);
  CHECK(v[0] == 4 && v[1] == 768 && v[3] == 4, "and from another start");
  pml_eventset_close(set);
}

static void events_go(void) {
  struct pml_count_module m = module_of("again.c", PML_COUNT_SOURCE);
  struct pml_eventset *set = started(nine, PML_BYFL_EVENTS);
  struct pml_sde_library *lib;
  uint64_t v[PML_BYFL_EVENTS];
  if (set == NULL || pml_sde_library(&lib, "BYFL") != 0) return;
  add_doubles(6);
  pml_eventset_read(set, v);
  CHECK(pml_sde_unregister(lib, pml_byfl_events[PML_BYFL_FLOP_COUNT].name) == 0, "an event is taken back");
  pml_eventset_read(set, v);
  CHECK(v[PML_BYFL_FLOP_COUNT] == UINT64_MAX && v[PML_BYFL_LOAD_INS_COUNT] == 6,
        "then it reads as nothing, and the others count on");
  pml_count_module_begin(&m);
  add_doubles(1);
  pml_eventset_read(set, v);
  CHECK(v[PML_BYFL_FLOP_COUNT] == 7 && v[PML_BYFL_LOAD_INS_COUNT] == 7, "registered again, it is back");
  pml_eventset_close(set);
}

/* More cells than a set lists: some six hundred in the nine. */
static void all_operations(void) {
  struct pml_count_module m = module_of("all.c", PML_COUNT_SOURCE);
  struct pml_eventset *set = started(nine, PML_BYFL_EVENTS);
  uint64_t v[PML_BYFL_EVENTS], n[PML_CELL_COUNT], expect[PML_BYFL_EVENTS];
  if (set == NULL) return;
  for (unsigned c = 0; c < PML_CELL_COUNT; c++) uses(&m, c);
  pml_count_module_begin(&m);
  for (unsigned c = 0; c < PML_CELL_COUNT; c++) count(c, n[c] = 3 * (uint64_t)c + 1);
  worth(n, expect);
  pml_eventset_read(set, v);
  CHECK(memcmp(v, expect, sizeof v) == 0, "of a program that does all there is the nine are right");
  pml_eventset_close(set);
}

struct reader {
  struct pml_eventset *set;
  uint64_t v[PML_BYFL_EVENTS];
};

static void *read_elsewhere(void *arg) {
  struct reader *r = arg;
  add_doubles(100);
  pml_eventset_read(r->set, r->v);
  return NULL;
}

static void other_threads(void) {
  struct reader r = {.set = started(nine, PML_BYFL_EVENTS)};
  if (r.set == NULL) return;
  pml_eventset_read(r.set, r.v);
  add_doubles(3);
  in_threads(1, read_elsewhere, &r, 0);
  CHECK(r.v[PML_BYFL_FLOP_COUNT] == 3, "read by another thread, a set has what its own counted");
  pml_eventset_close(r.set);
}

static void *reads_on(void *arg) {
  uint64_t v[PML_BYFL_EVENTS], *wrong = arg;
  struct pml_eventset *set = NULL;
  if (pml_eventset_open(&set, nine, PML_BYFL_EVENTS, NULL) < 0) return NULL;
  pml_eventset_start(set);
  *wrong = 0;
  for (unsigned i = 0; i < 3; i++) { /* the first may take another way of reading than the next */
    add_doubles(3);
    pml_eventset_reset(set);
  }
  for (uint64_t i = 1; i <= 20000; i++) {
    add_doubles(1);
    *wrong += pml_eventset_read(set, v) != 0 || v[PML_BYFL_LOAD_INS_COUNT] != i || v[PML_BYFL_LOAD_COUNT] != 8 * i;
  }
  pml_eventset_close(set);
  return NULL;
}

static void modules_come_meanwhile(void) {
  uint64_t wrong[2] = {1, 1};
  pthread_t thread[2];
  for (unsigned i = 0; i < 2; i++) pthread_create(&thread[i], NULL, reads_on, &wrong[i]);
  for (unsigned kind = 0; kind < PML_INT_KIND_COUNT; kind++) {
    struct pml_count_module m = module_of("meanwhile.c", PML_COUNT_SOURCE);
    uses(&m, PML_CELL_INT + kind);
    pml_count_module_begin(&m);
  }
  for (unsigned i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  CHECK(wrong[0] == 0 && wrong[1] == 0, "threads read on while modules come, and each read is right");
}

int main(void) {
  struct pml_count_module m = module_of("count_set.c", PML_COUNT_SOURCE);
  uses(&m, DOUBLE_ADD);
  uses(&m, DOUBLE_LOAD);
  pml_count_module_begin(&m);
  CHECK_EACH(name_the_nine, every_call, events_go, other_threads, modules_come_meanwhile, all_operations);
  pml_count_module_end(&m);
  return check_done();
}
