/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_recorder.c - recorders and counting sets of a program written for PAPI's libsde. */
#include "check.h"
#include "compat.h"

static double quantile(const char *name) {
  double *p = (double *)(intptr_t)value_of(name), v = -1;
  if (p) v = *p;
  free(p);
  return v;
}

static void series(void) {
  papi_handle_t lib = papi_sde_init("REC");
  void *r = NULL, *same = NULL;
  CHECK(papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &r) == SDE_OK && r, "a recorder");
  CHECK(papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &same) == SDE_OK && same == r,
        "again: the same handle");
  CHECK(value_of("REC::R:CNT") == 0 && value_of("REC::R:MIN") == 0 && value_of("REC::R:MED") == 0 &&
            value_of("REC::R:MAX") == 0,
        "quantiles of nothing are 0");
  const double shuffled[10] = {3, 10, 1, 7, 5, 9, 2, 8, 4, 6};
  for (int i = 0; i < 10; i++) papi_sde_record(r, sizeof(double), &shuffled[i]);
  CHECK(value_of("REC::R:CNT") == 10, "the count");
  CHECK(quantile("REC::R:MIN") == 1 && quantile("REC::R:Q1") == 3 && quantile("REC::R:MED") == 6 &&
            quantile("REC::R:Q3") == 8 && quantile("REC::R:MAX") == 10,
        "the five quantiles of 1 to 10 by libsde's rule");
  double *copy = GET_SDE_RECORDER_ADDRESS(value_of("REC::R"), double);
  CHECK(copy && memcmp(copy, shuffled, sizeof shuffled) == 0, "the series comes as a copy, in the order of recording");
  free(copy);
  float f = 1;
  CHECK(papi_sde_record(r, sizeof f, &f) == SDE_EINVAL && value_of("REC::R:CNT") == 10, "a wrong size is refused");
  CHECK(papi_sde_record(r, sizeof(double), NULL) == SDE_EINVAL, "and no value at all");
  CHECK(papi_sde_inc_counter(r, 1) == SDE_EINVAL, "a recorder is no counter");
  CHECK(sde_ti_reset_counter(code_of("REC::R")) == SDE_OK && value_of("REC::R:CNT") == 10,
        "a tool's reset says OK and leaves the series");
  CHECK(sde_ti_write_counter(code_of("REC::R"), 1) == SDE_EINVAL, "a tool's write is refused");
  CHECK(sde_ti_set_counter_overflow(code_of("REC::R"), 5) == SDE_EINVAL, "and its wish for overflows");
}

static void again_and_long(void) {
  papi_handle_t lib = papi_sde_init("LONG");
  void *r;
  papi_sde_create_recorder(lib, "R", sizeof(long long), papi_sde_compare_long_long, &r);
  for (int round = 0; round < 3; round++) {
    for (long long i = 0; i < 10000; i++) papi_sde_record(r, sizeof i, &i);
    CHECK(value_of("LONG::R:CNT") == 10000, "round %d: 10,000 values after a reset", round);
    long long *copy = (long long *)(intptr_t)value_of("LONG::R"), wrong = 0;
    for (long long i = 0; copy && i < 10000; i++) wrong += copy[i] != i;
    CHECK(copy && wrong == 0, "all of them as they were recorded");
    free(copy);
    CHECK(papi_sde_reset_recorder(r) == SDE_OK && value_of("LONG::R:CNT") == 0, "reset forgets them");
  }
  CHECK(papi_sde_unregister_counter(lib, "R") == SDE_OK && value_of("LONG::R:CNT") == -1 && value_of("LONG::R") == -1,
        "unregistering takes the derived events along");
}

struct point {
  char name[3];
  unsigned char rank;
};
static int by_rank(const void *a, const void *b) {
  return ((const struct point *)a)->rank - ((const struct point *)b)->rank;
}

static void any_type(void) {
  papi_handle_t lib = papi_sde_init("ANY");
  void *r, *plain;
  papi_sde_create_recorder(lib, "P", sizeof(struct point), by_rank, &r);
  const struct point points[3] = {{"b", 200}, {"c", 7}, {"a", 90}};
  for (int i = 0; i < 3; i++) papi_sde_record(r, sizeof *points, &points[i]);
  struct point *p = (struct point *)(intptr_t)value_of("ANY::P:MED");
  CHECK(p && p->rank == 90 && strcmp(p->name, "a") == 0, "a program's own type by its own comparator");
  free(p);
  papi_sde_create_recorder(lib, "PLAIN", 3, NULL, &plain);
  papi_sde_record(plain, 3, "xyz");
  char *bytes = (char *)(intptr_t)value_of("ANY::PLAIN");
  CHECK(bytes && memcmp(bytes, "xyz", 3) == 0 && value_of("ANY::PLAIN:CNT") == 1,
        "no comparator: a series and a count");
  free(bytes);
  CHECK(value_of("ANY::PLAIN:MED") == -1, "and no quantiles");
  CHECK(papi_sde_create_recorder(lib, "ZERO", 0, NULL, &plain) == SDE_EINVAL, "elements of no size are refused");
}

static cset_list_object_t *list_of(const char *name) {
  return (cset_list_object_t *)(intptr_t)value_of(name);
}
/* How often @name is in the list as @type_id, and the number of elements in *length. */
static uint32_t count_in(const cset_list_object_t *list, const char *name, uint32_t type_id, int *length) {
  uint32_t count = 0;
  *length = 0;
  for (; list; list = list->next, ++*length)
    if (list->type_id == type_id && list->type_size == 8 && strcmp(list->ptr, name) == 0) count = list->count;
  return count;
}

static void sets(void) {
  papi_handle_t lib = papi_sde_init("SET");
  void *s = NULL;
  int length;
  CHECK(papi_sde_create_counting_set(lib, "S", &s) == SDE_OK && s, "a counting set");
  CHECK(list_of("SET::S") == NULL, "is empty at first");
  char red[8] = "red", blue[8] = "blue", redder[8] = "red\0er";
  for (int i = 0; i < 3; i++) papi_sde_counting_set_insert(s, 8, 8, red, 1);
  papi_sde_counting_set_insert(s, 8, 8, red, 2);
  papi_sde_counting_set_insert(s, 8, 8, blue, 1);
  cset_list_object_t *list = list_of("SET::S");
  CHECK(count_in(list, "red", 1, &length) == 3 && count_in(list, "red", 2, &length) == 1 &&
            count_in(list, "blue", 1, &length) == 1 && length == 3,
        "elements are told apart by bytes and type");
  free_list(list);
  papi_sde_counting_set_remove(s, 8, red, 1);
  papi_sde_counting_set_remove(s, 8, blue, 1);
  list = list_of("SET::S");
  CHECK(count_in(list, "red", 1, &length) == 2 && count_in(list, "blue", 1, &length) == 0 && length == 2,
        "a removal takes one away; the last one the element");
  free_list(list);
  papi_sde_counting_set_insert(s, 8, 4, redder, 3);
  papi_sde_counting_set_insert(s, 8, 4, red, 3);
  list = list_of("SET::S");
  CHECK(count_in(list, "red", 3, &length) == 2, "only the hashable bytes count");
  free_list(list);
  CHECK(papi_sde_counting_set_insert(s, 4, 8, red, 1) == SDE_EINVAL, "more hashable bytes than there are");
  CHECK(sde_ti_reset_counter(code_of("SET::S")) == SDE_OK && list_of("SET::S") == NULL, "a tool's reset empties it");
  CHECK(sde_ti_set_counter_overflow(code_of("SET::S"), 5) == SDE_EINVAL, "no overflows of a set");
}

int main(void) {
  series();
  again_and_long();
  any_type();
  sets();
  return check_done();
}
