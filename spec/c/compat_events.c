/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_events.c - events, recorders and counting sets of a program written for PAPI's libsde. */
#include "check.h"
#include "compat.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>

static long long calls;
static long long tick(void *param) {
  calls++;
  return ++*(long long *)param;
}

static void handles(void) {
  papi_handle_t lib = papi_sde_init("HANDLES");
  long long v = 1;
  void *counter = NULL;
  CHECK(lib && papi_sde_init("HANDLES") == lib, "a known name gives the same handle");
  CHECK(papi_sde_init("OTHER") != lib, "another name another");
  CHECK(papi_sde_init(NULL) == NULL, "no name no handle");
  CHECK(papi_sde_register_counter(NULL, "X", PAPI_SDE_RO, PAPI_SDE_long_long, &v) == SDE_OK &&
            papi_sde_create_counter(NULL, "X", 0, &counter) == SDE_OK && !counter &&
            papi_sde_inc_counter(NULL, 1) == SDE_OK && papi_sde_record(NULL, 8, &v) == SDE_OK &&
            papi_sde_reset_recorder(NULL) == SDE_OK && papi_sde_reset_counter(NULL) == SDE_OK &&
            papi_sde_unregister_counter(NULL, "X") == SDE_OK && papi_sde_shutdown(NULL) == SDE_OK &&
            papi_sde_counting_set_insert(NULL, 8, 8, &v, 1) == SDE_OK && !papi_sde_get_counter_handle(NULL, "X"),
        "a NULL handle is answered with SDE_OK and nothing happens");
  CHECK(papi_sde_register_counter(lib, "V", PAPI_SDE_RO, 17, &v) == SDE_EINVAL, "a type that does not exist");
  CHECK(papi_sde_register_counter(lib, NULL, PAPI_SDE_RO, 0, &v) == SDE_EINVAL, "no event name");
}

static const int types[] = {PAPI_SDE_long_long, PAPI_SDE_int, PAPI_SDE_double, PAPI_SDE_float};
static const int modes[] = {PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_RO | PAPI_SDE_DELTA,
                            PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_RW | PAPI_SDE_DELTA};
union variable {
  long long l;
  int i;
  double d;
  float f;
};

static void put(union variable *v, int type, double x) {
  if (type == PAPI_SDE_long_long) v->l = (long long)x;
  if (type == PAPI_SDE_int) v->i = (int)x;
  if (type == PAPI_SDE_double) v->d = x;
  if (type == PAPI_SDE_float) v->f = (float)x;
}

static double get(const union variable *v, int type) {
  return type == PAPI_SDE_long_long ? (double)v->l
         : type == PAPI_SDE_int     ? v->i
         : type == PAPI_SDE_double  ? v->d
                                    : v->f;
}

/* As a tool reads it: a real number travels as the bits of a double. */
static double read_as(const char *name, int type) {
  return type == PAPI_SDE_double || type == PAPI_SDE_float ? number_of(name) : (double)value_of(name);
}

static int write_as(const char *name, int type, double x) {
  long long bits = (long long)x;
  if (type == PAPI_SDE_double || type == PAPI_SDE_float) memcpy(&bits, &x, sizeof bits);
  return sde_ti_write_counter(code_of(name), bits);
}

static void variables(void) {
  papi_handle_t lib = papi_sde_init("VARIABLES");
  static union variable v[16], other;
  for (size_t k = 0; k < 16; k++) {
    const int type = types[k % 4], mode = modes[k / 4];
    const double first = type == PAPI_SDE_long_long ? 0x1p40 : type == PAPI_SDE_int ? -7 : 2.25;
    const bool real = type == PAPI_SDE_double || type == PAPI_SDE_float;
    const bool delta = (mode & PAPI_SDE_INSTANT) == 0, writable = (mode & PAPI_SDE_RW) == PAPI_SDE_RW;
    const double more = real ? 0.25 : 11, other_value = real ? -0.5 : -8;
    char event[16], name[32];
    snprintf(event, sizeof event, "V%zu", k);
    snprintf(name, sizeof name, "VARIABLES::%s", event);
    put(&v[k], type, first);
    bool good = papi_sde_register_counter(lib, event, mode, type, &v[k]) == SDE_OK && read_as(name, type) == first;
    good &= papi_sde_register_counter(lib, event, mode, type, &other) == SDE_OK && read_as(name, type) == first;
    good &= sde_ti_reset_counter(code_of(name)) == SDE_OK && read_as(name, type) == (delta ? 0 : get(&v[k], type));
    double was = get(&v[k], type);
    put(&v[k], type, was + more);
    good &= read_as(name, type) == (delta ? more : was + more);
    good &= write_as(name, type, other_value) == (writable ? SDE_OK : SDE_EINVAL);
    good &= get(&v[k], type) == (writable ? other_value : was + more);
    CHECK(good, "a variable of type %d and mode %#x is read from a reset on or as it is, and written if it may be",
          type, (unsigned)mode);
  }
}

static void callbacks(void) {
  papi_handle_t lib = papi_sde_init("DELTA");
  static long long v = 100, start = 10;
  const char *const name = "sde:::DELTA::V";
  struct pml_eventset *set;
  uint64_t seen = 0;
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &v);
  if (!CHECK(pml_eventset_open(&set, &name, 1, NULL) == 0, "pmlua finds the event")) return;
  v += 7;
  CHECK(sde_ti_reset_counter(code_of("DELTA::V")) == SDE_OK && pml_eventset_read(set, &seen) == 0 && seen == 7,
        "and a set counts from its own start, whatever a tool resets");
  pml_eventset_close(set);
  papi_sde_register_counter_cb(lib, "TICK", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, tick, &start);
  long long before = calls;
  sde_ti_reset_counter(code_of("DELTA::TICK"));
  CHECK(value_of("DELTA::TICK") == 1 && calls - before == 2, "a callback runs once at reset and once at each read");
  CHECK(sde_ti_write_counter(code_of("DELTA::TICK"), 1) == SDE_EINVAL &&
            sde_ti_write_counter(code_of("DELTA::NONE"), 1) == SDE_EINVAL,
        "neither a callback nor a placeholder is written");
}

static void created(void) {
  papi_handle_t lib = papi_sde_init("CREATED");
  void *c = NULL, *same = NULL;
  CHECK(papi_sde_create_counter(lib, "C", PAPI_SDE_RW | PAPI_SDE_DELTA, &c) == SDE_OK && c &&
            papi_sde_create_counter(lib, "C", PAPI_SDE_RW | PAPI_SDE_DELTA, &same) == SDE_OK && same == c &&
            papi_sde_get_counter_handle(lib, "C") == c && papi_sde_get_counter_handle(lib, "NONE") == NULL,
        "a counter is created once, and found by its name");
  for (int i = 0; i < 100; i++) papi_sde_inc_counter(c, 3);
  CHECK(value_of("CREATED::C") == 300 && papi_sde_inc_counter(c, -400) == SDE_OK && value_of("CREATED::C") == -100 &&
            papi_sde_reset_counter(c) == SDE_OK && value_of("CREATED::C") == 0,
        "it counts, also down, below 0, and is reset");
  CHECK(sde_ti_write_counter(code_of("CREATED::C"), 9) == SDE_OK && papi_sde_inc_counter(c, 1) == SDE_OK &&
            value_of("CREATED::C") == 10,
        "it counts on from what a tool writes");
  CHECK(papi_sde_record(c, 8, &lib) == SDE_EINVAL, "it is no recorder");
}

static void groups(void) {
  static const struct {
    const char *member, *group;
    uint32_t flags;
  } bad[] = {{"NOSUCH", "PAIR0", PAPI_SDE_SUM}, {"A", "PAIR0", PAPI_SDE_MAX}, {"A", "NEW", 9}, {"REC", "PAIR0", 0}};
  static const uint32_t flags[] = {PAPI_SDE_SUM, PAPI_SDE_MAX, PAPI_SDE_MIN};
  static long long v[] = {5, 9, -3, -8};
  papi_handle_t lib = papi_sde_init("GROUP");
  void *recorder;
  int wrong = 0;
  for (int i = 0; i < 4; i++)
    papi_sde_register_counter(lib, (char[]){(char)('A' + i), 0}, PAPI_SDE_INSTANT, PAPI_SDE_long_long, &v[i]);
  for (int k = 0; k < 48; k++) {
    const long long a = v[k % 4], b = v[k / 4 % 4], most = a > b ? a : b, least = a < b ? a : b;
    const long long want[] = {k % 4 == k / 4 % 4 ? a : a + b, most, least}; /* a member counts once */
    char group[16], name[32];
    snprintf(group, sizeof group, "PAIR%d", k);
    snprintf(name, sizeof name, "GROUP::%s", group);
    papi_sde_add_counter_to_group(lib, (char[]){(char)('A' + k % 4), 0}, group, flags[k / 16]);
    papi_sde_add_counter_to_group(lib, (char[]){(char)('A' + k / 4 % 4), 0}, group, flags[k / 16]);
    wrong += value_of(name) != want[k / 16];
  }
  CHECK(wrong == 0, "groups of two have the sum, the largest and the least of them (%d of 48 wrong)", wrong);
  papi_sde_create_recorder(lib, "REC", sizeof(double), papi_sde_compare_double, &recorder);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(papi_sde_add_counter_to_group(lib, bad[i].member, bad[i].group, bad[i].flags) == SDE_EINVAL,
          "%s does not join %s by flags %u", bad[i].member, bad[i].group, bad[i].flags);
  CHECK(sde_ti_reset_counter(code_of("GROUP::PAIR4")) == SDE_OK && value_of("GROUP::PAIR4") == 14,
        "a reset of a group says OK and does nothing");
  CHECK(papi_sde_shutdown(lib) == SDE_OK && value_of("GROUP::PAIR4") == -1,
        "a library with groups shuts down, and its events then read as placeholders");
}

/* Members of both types, groups of groups, and a group that two others share. */
static void mixed_groups(void) {
  static const struct {
    const char *member, *group;
    uint32_t flags;
    double then; /* the group's value with this member */
  } step[] = {{"A", "SUM", PAPI_SDE_SUM, 1.5},       {"B", "SUM", PAPI_SDE_SUM, -1.25},
              {"C", "SUM", PAPI_SDE_SUM, 38.75},     {"C", "FIRST", PAPI_SDE_SUM, 0},
              {"A", "FIRST", PAPI_SDE_SUM, 41.5},    {"A", "MAX", PAPI_SDE_MAX, 1.5},
              {"B", "MAX", PAPI_SDE_MAX, 1.5},       {"C", "MAX", PAPI_SDE_MAX, 40},
              {"B", "MIN", PAPI_SDE_MIN, -2.75},     {"A", "MIN", PAPI_SDE_MIN, -2.75},
              {"C", "MIN", PAPI_SDE_MIN, -2.75},     {"SUM", "LEFT", PAPI_SDE_SUM, 38.75},
              {"A", "LEFT", PAPI_SDE_SUM, 40.25},    {"SUM", "RIGHT", PAPI_SDE_SUM, 38.75},
              {"MIN", "RIGHT", PAPI_SDE_SUM, 36},    {"LEFT", "ALL", PAPI_SDE_SUM, 40.25},
              {"RIGHT", "ALL", PAPI_SDE_SUM, 76.25}, {"MAX", "ALL", PAPI_SDE_SUM, 116.25}};
  static double a = 1.5, b = -2.75;
  static long long c = 40;
  char name[32];
  papi_handle_t lib = papi_sde_init("MIXED");
  papi_sde_register_counter(lib, "A", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, &a);
  papi_sde_register_counter(lib, "B", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, &b);
  papi_sde_register_counter(lib, "C", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &c);
  for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
    papi_sde_add_counter_to_group(lib, step[i].member, step[i].group, step[i].flags);
    (void)snprintf(name, sizeof name, "MIXED::%s", step[i].group);
    double v = number_of(name); /* the integer 40 alone is an integer */
    CHECK(step[i].then == 0 ? value_of(name) == c : v == step[i].then, "%s with %s: %g", name, step[i].member, v);
  }
}

/* Each list is in order; every pair is compared both ways. */
#define IN_ORDER(type, compare, ...)                                                                                   \
  do {                                                                                                                 \
    const type list[] = {__VA_ARGS__};                                                                                 \
    int many = (int)(sizeof list / sizeof *list), bad = 0;                                                             \
    for (int i = 0; i < many; i++)                                                                                     \
      for (int k = 0; k < many; k++) bad += compare(&list[i], &list[k]) != (i > k) - (i < k);                          \
    CHECK(bad == 0, #compare " orders all pairs: %d wrong", bad);                                                      \
  } while (0)

static void comparators(void) {
  IN_ORDER(int, papi_sde_compare_int, INT_MIN, -1, 0, 1, INT_MAX);
  IN_ORDER(long long, papi_sde_compare_long_long, LLONG_MIN, -(1LL << 32), -1, 0, 1LL << 32, LLONG_MAX);
  IN_ORDER(double, papi_sde_compare_double, -INFINITY, -1e300, -0.5, 0, 1e-300, 1, INFINITY, NAN);
  IN_ORDER(float, papi_sde_compare_float, -INFINITY, -0.5f, 0, 1e-30f, 1, INFINITY, NAN);
}

static void placeholders(void) {
  long long v = 6;
  uint32_t code = UINT32_MAX, later;
  void *c;
  CHECK(sde_ti_name_to_code("NOLIBRARY", &code) == SDE_ENOEVNT, "a name without a library is no event");
  CHECK(sde_ti_name_to_code("LATE::V", &code) == SDE_OK && value_of("LATE::V") == -1 &&
            sde_ti_reset_counter(code) == SDE_OK && value_of("LATE::C") == -1 && value_of("LATE::G") == -1,
        "events of a library that is not there yet read -1 without an error, and can be reset");
  papi_handle_t lib = papi_sde_init("LATE");
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &v);
  papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c);
  papi_sde_inc_counter(c, 4);
  papi_sde_add_counter_to_group(lib, "V", "G", PAPI_SDE_SUM);
  CHECK(sde_ti_name_to_code("LATE::V", &later) == SDE_OK && later == code && value_of("LATE::V") == 6 &&
            value_of("LATE::C") == 4 && value_of("LATE::G") == 6,
        "what registers, creates and groups fills them in, and keeps their codes");
}

static void unregistered(void) {
  papi_handle_t lib = papi_sde_init("GONE");
  long long v = 3, w = 4;
  void *c;
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &v);
  papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c);
  uint32_t code = code_of("GONE::V");
  CHECK(papi_sde_unregister_counter(lib, "V") == SDE_OK && sde_ti_get_event_name((int)code) == NULL &&
            papi_sde_unregister_counter(lib, "V") == SDE_EINVAL &&
            papi_sde_unregister_counter(lib, "NEVER") == SDE_EINVAL,
        "an event is unregistered once, and no longer listed");
  CHECK(papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &w) == SDE_OK && value_of("GONE::V") == 4,
        "the name can be used again");
  CHECK(papi_sde_inc_counter(c, 5) == SDE_OK && papi_sde_unregister_counter(lib, "C") == SDE_OK &&
            papi_sde_inc_counter(c, 1) == SDE_EINVAL && papi_sde_shutdown(lib) == SDE_OK &&
            papi_sde_inc_counter(c, 1) == SDE_EINVAL,
        "an old handle is refused, not followed, also after shutdown");
  lib = papi_sde_init("GONE");
  CHECK(lib && papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c) == SDE_OK && papi_sde_inc_counter(c, 2) == SDE_OK &&
            value_of("GONE::C") == 2,
        "a library that shut down can come again, and its counter starts from 0");
}

/* Objects that are created and destroyed repeatedly are freed, even if handles to them remain. */
static void cycles(void) {
  enum { WARM = 1000, CYCLES = 70000 }; /* more than there may be recorders */
  papi_handle_t lib = papi_sde_init("CYCLE");
  size_t before = 0;
  bool good = true;
  for (int i = 0; i < WARM + CYCLES && good; i++) {
    void *r = NULL, *c = NULL, *s = NULL;
    double d = i;
    if (i == WARM) before = mallinfo2().uordblks;
    good = papi_sde_create_recorder(lib, "r", sizeof d, papi_sde_compare_double, &r) == SDE_OK &&
           papi_sde_record(r, sizeof d, &d) == SDE_OK && papi_sde_create_counter(lib, "c", 0, &c) == SDE_OK &&
           papi_sde_inc_counter(c, 1) == SDE_OK && papi_sde_create_counting_set(lib, "s", &s) == SDE_OK &&
           papi_sde_counting_set_insert(s, sizeof d, sizeof d, &d, 1) == SDE_OK;
    good = good && papi_sde_unregister_counter(lib, "r") == SDE_OK && papi_sde_unregister_counter(lib, "c") == SDE_OK &&
           papi_sde_unregister_counter(lib, "s") == SDE_OK;
    good = good && papi_sde_record(r, sizeof d, &d) == SDE_EINVAL && papi_sde_inc_counter(c, 1) == SDE_EINVAL &&
           papi_sde_counting_set_insert(s, sizeof d, sizeof d, &d, 1) == SDE_EINVAL;
  }
  size_t after = mallinfo2().uordblks;
  CHECK(good, "a recorder, a counter and a set come and go %d times", WARM + CYCLES);
  CHECK(after < before + (1 << 20), "and leave no memory taken: %zu bytes", after - before);
}

static void listed(void) {
  papi_handle_t lib = papi_sde_init("LIST");
  long long v = 0;
  char name[16];
  for (int i = 0; i < 200; i++) {
    snprintf(name, sizeof name, "E%d", i);
    papi_sde_register_counter(lib, name, PAPI_SDE_RO, PAPI_SDE_long_long, &v);
  }
  papi_sde_describe_counter(lib, "E7", "the seventh");
  int count = sde_ti_get_num_reg_events(), seen = 0;
  for (int i = 0; i < count; i++) {
    const char *full = sde_ti_get_event_name(i);
    seen += full && strncmp(full, "LIST::E", 7) == 0 && sde_ti_get_event_description(i) != NULL;
  }
  CHECK(seen == 200, "all 200 events are listed by their codes: %d", seen);
  const char *text = sde_ti_get_event_description((int)code_of("LIST::E7"));
  CHECK(text && strcmp(text, "the seventh") == 0, "with their description");
  CHECK(papi_sde_describe_counter(lib, "NOSUCH", "x") == SDE_EINVAL, "an unknown event cannot be described");
  CHECK(sde_ti_get_event_name(-1) == NULL && sde_ti_get_event_name(count + 1000) == NULL, "codes out of range");
  CHECK(sde_ti_read_counter(UINT32_MAX, &v) == SDE_EINVAL && sde_ti_reset_counter(1u << 30) == SDE_EINVAL,
        "nor can they be read or reset");
}

static double quantile(const char *name) {
  double *p = (double *)(intptr_t)value_of(name), v = -1;
  if (p) v = *p;
  free(p);
  return v;
}

static void series(void) {
  static const char *const quantiles[] = {"REC::R:MIN", "REC::R:Q1", "REC::R:MED", "REC::R:Q3", "REC::R:MAX"};
  static const double known[] = {1, 3, 6, 8, 10}, shuffled[10] = {3, 10, 1, 7, 5, 9, 2, 8, 4, 6};
  papi_handle_t lib = papi_sde_init("REC");
  void *r = NULL, *same = NULL;
  int wrong = 0;
  CHECK(papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &r) == SDE_OK && r &&
            papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &same) == SDE_OK && same == r,
        "a recorder is created once");
  for (int i = 0; i < 5; i++) wrong += value_of(quantiles[i]) != 0;
  CHECK(value_of("REC::R:CNT") == 0 && wrong == 0, "quantiles of nothing are 0");
  for (int i = 0; i < 10; i++) papi_sde_record(r, sizeof(double), &shuffled[i]);
  for (int i = 0; i < 5; i++) wrong += quantile(quantiles[i]) != known[i];
  CHECK(value_of("REC::R:CNT") == 10 && wrong == 0, "the five quantiles of 1 to 10 by libsde's rule");
  double *copy = GET_SDE_RECORDER_ADDRESS(value_of("REC::R"), double);
  CHECK(copy && memcmp(copy, shuffled, sizeof shuffled) == 0, "the series comes as a copy, in the order of recording");
  free(copy);
  uint32_t code = code_of("REC::R");
  CHECK(sde_ti_reset_counter(code) == SDE_OK && sde_ti_write_counter(code, 1) == SDE_EINVAL &&
            sde_ti_set_counter_overflow(code, 5) == SDE_EINVAL && value_of("REC::R:CNT") == 10,
        "a tool's reset leaves the series, its writes and overflows are refused");
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
  CHECK_EACH(handles, variables, callbacks, created, groups, mixed_groups, comparators, placeholders, unregistered,
             cycles, listed, series, again_and_long, any_type, sets);
  CHECK(sde_ti_shutdown() == SDE_OK, "the tool may go; the libraries stay");
  return check_done();
}
