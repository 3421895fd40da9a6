/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/count_events.c - compiler counts as software-defined events: names, descriptions, reads, sums. */
#include "check.h"
#include "count.h"
#include "source/compiler/pml_count_file.h"
#include "source/compiler/pml_count_runtime.h"

static const char *const nine[] = {
    "sde:::BYFL::load_count_I",      "sde:::BYFL::store_count_I",    "sde:::BYFL::load_ins_count_I",
    "sde:::BYFL::store_ins_count_I", "sde:::BYFL::call_ins_count_I", "sde:::BYFL::flop_count_I",
    "sde:::BYFL::fp_bits_count_I",   "sde:::BYFL::op_count_I",       "sde:::BYFL::op_bits_count_I"};

static int64_t total(const char *name) {
  struct pml_sde_event *ev;
  struct pml_value v = {.i = -2};
  if (pml_sde_find(name, &ev, NULL) < 0) return -2;
  (void)pml_sde_read(ev, &v);
  pml_sde_release(ev);
  return v.i;
}

static void the_nine(void) {
  struct pml_eventset *set;
  uint64_t v[9], expect[9] = {80, 0, 10, 0, 0, 10, 1920, 20, 0};
  if (!CHECK(pml_eventset_open(&set, nine, 9, NULL) == 0, "a set of Byfl's nine events opens")) return;
  pml_eventset_start(set);
  add_doubles(10);
  pml_eventset_read(set, v);
  CHECK(memcmp(v, expect, sizeof v) == 0, "10 loads and additions of doubles are 80 bytes, 10 loads, 10 flop of 1920 "
                                          "bits, 20 operations");
  pml_eventset_stop(set, v);
  add_doubles(10);
  pml_eventset_read(set, v);
  CHECK(memcmp(v, expect, sizeof v) == 0, "a set that was stopped stands still");
  CHECK(pml_eventset_type(set, 5) == PML_TYPE_INT64, "they are integers");
  pml_eventset_close(set);
}

static void information(void) {
  struct pml_sde_event *ev;
  struct pml_sde_info info;
  const struct pml_value ten = {.type = PML_TYPE_INT64, .i = 10};
  CHECK(pml_count_active(), "that the process counts is known");
  if (!CHECK(pml_sde_find("BYFL::fp_add_double", &ev, NULL) == 0, "an operation has a separate event")) return;
  CHECK(pml_sde_info(ev, &info) == 0 && info.kind == PML_SDE_PER_THREAD && strcmp(info.library, "BYFL") == 0 &&
            strcmp(info.description, "additions of doubles") == 0,
        "it says what it is");
  CHECK(pml_sde_write(ev, &ten) == PML_EMODE, "it cannot be written");
  int64_t before = total("BYFL::fp_add_double");
  CHECK(pml_sde_reset(ev) == 0 && total("BYFL::fp_add_double") == before, "a reset changes nothing");
  pml_sde_release(ev);
}

static void new_operations(void) {
  const unsigned cell = PML_CELL_FP + PML_FP_fma * PML_FP_FORM_COUNT + PML_FP_FORM_double_256;
  const char *const names[] = {"sde:::BYFL::flop_count_I", "sde:::BYFL::fp_fma_double_256"};
  struct pml_count_module m = module_of("library.c", PML_COUNT_SOURCE);
  struct pml_eventset *set;
  uint64_t v[2];
  uses(&m, cell);
  if (!CHECK(pml_eventset_open(&set, names, 2, NULL) == 0, "an operation that no code performs yet can be requested"))
    return;
  pml_eventset_start(set);
  pml_eventset_read(set, v);
  CHECK(v[0] == 0 && v[1] == UINT64_MAX, "it reads as nothing");
  pml_count_module_begin(&m);
  count(cell, 3);
  pml_eventset_read(set, v);
  CHECK(v[0] == 24 && v[1] == 3, "then 3 fused operations on 4 doubles are 24 flop");
  pml_count_module_end(&m);
  pml_count_module_begin(&m);
  pml_eventset_read(set, v);
  CHECK(v[0] == 24 && v[1] == 3, "unloaded and loaded again, its counts stay");
  pml_eventset_close(set);
}

static void groups(void) {
  struct pml_sde_library *lib;
  const char *const names[] = {"sde:::BYFL::moved"};
  struct pml_eventset *set;
  uint64_t v = 0;
  int rc = pml_sde_library(&lib, "BYFL");
  if (rc == 0) rc = pml_sde_group_add(lib, "load_count_I", "moved", PML_SDE_SUM);
  if (rc == 0) rc = pml_sde_group_add(lib, "store_count_I", "moved", PML_SDE_SUM);
  if (rc == 0) rc = pml_eventset_open(&set, names, 1, NULL);
  if (!CHECK(rc == 0, "bytes loaded and stored make a group")) return;
  pml_eventset_start(set);
  add_doubles(2);
  pml_eventset_read(set, &v);
  CHECK(v == 16, "which is the thread's, too");
  pml_eventset_close(set);
}

static void forks(void) {
  const char *const names[] = {"sde:::BYFL::flop_count_I"};
  struct pml_eventset *set;
  uint64_t v = 0;
  if (!CHECK(pml_eventset_open(&set, names, 1, NULL) == 0, "a set opens before a fork")) return;
  pml_eventset_start(set);
  add_doubles(4);
  pid_t child = fork();
  if (child == 0) {
    add_doubles(3);
    _exit(pml_eventset_read(set, &v) == 0 && v == 7 ? 0 : 1);
  }
  CHECK(exit_of(child) == 0, "in the child it counts on from where it was");
  CHECK(pml_eventset_read(set, &v) == 0 && v == 4, "and the parent knows nothing of that");
  pml_eventset_close(set);
}

static void others(void) {
  struct pml_count_runtime other = {.abi = PML_COUNT_ABI + 1};
  const char *name, *text;
  size_t n = 0;
  CHECK(pml_count_attach(NULL) == -EINVAL && pml_count_attach(&other) == -EINVAL,
        "a runtime of another version is refused");
  while (pml_count_kind(n, &name, &text) && *name != '\0' && *text != '\0') n++;
  CHECK(n == PML_BYFL_EVENTS + PML_CELL_COUNT, "each of %zu kinds has a name and a description", n);
  struct pml_count_module m = module_of("other.c", PML_COUNT_SOURCE);
  m.abi = PML_COUNT_ABI + 1;
  m.used[0] = UINT64_MAX;
  pml_count_module_begin(&m); /* reports it on stderr */
  CHECK(total("BYFL::load_int_1") == -1, "so is a module of another version: its operations are no events");
}

int main(void) {
  struct pml_count_module m = module_of("count_events.c", PML_COUNT_SOURCE);
  uses(&m, DOUBLE_ADD);
  uses(&m, DOUBLE_LOAD);
  pml_count_module_begin(&m);
  CHECK_EACH(the_nine, information, new_operations, groups, forks, others);
  pml_count_module_end(&m);
  return check_done();
}
