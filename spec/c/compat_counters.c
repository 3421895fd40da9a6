/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_counters.c - counters, callbacks and groups of a program written for PAPI's libsde. */
#include "check.h"
#include "compat.h"

#include <malloc.h>

static long long calls;
static long long tick(void *param) {
  calls++;
  return ++*(long long *)param;
}
static long long half(void *param) {
  double d = *(double *)param / 2;
  long long bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
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

static void types(void) {
  papi_handle_t lib = papi_sde_init("TYPES");
  long long l = 1LL << 40;
  int i = -7;
  double d = 2.5;
  float f = 0.25f;
  papi_sde_register_counter(lib, "L", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &l);
  papi_sde_register_counter(lib, "I", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_int, &i);
  papi_sde_register_counter(lib, "D", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, &d);
  papi_sde_register_counter(lib, "F", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_float, &f);
  CHECK(value_of("TYPES::L") == 1LL << 40, "a long long is read as it is");
  CHECK(value_of("TYPES::I") == -7, "an int is widened with its sign");
  CHECK(number_of("TYPES::D") == 2.5, "a double travels as its bits");
  CHECK(number_of("TYPES::F") == 0.25, "a float is widened to double");
  long long again = 5;
  CHECK(papi_sde_register_counter(lib, "L", PAPI_SDE_RO, PAPI_SDE_long_long, &again) == SDE_OK &&
            value_of("TYPES::L") == 1LL << 40,
        "registering it again is SDE_OK and changes nothing");
}

static void delta(void) {
  papi_handle_t lib = papi_sde_init("DELTA");
  long long v = 100, now = 40;
  double d = 1.5;
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &v);
  papi_sde_register_counter(lib, "NOW", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &now);
  papi_sde_register_counter(lib, "D", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_double, &d);
  CHECK(sde_ti_reset_counter(code_of("DELTA::V")) == SDE_OK && value_of("DELTA::V") == 0, "a reset stores the value");
  sde_ti_reset_counter(code_of("DELTA::NOW"));
  sde_ti_reset_counter(code_of("DELTA::D"));
  v += 11, now += 2, d += 0.25;
  CHECK(value_of("DELTA::V") == 11, "a delta counter then reads what was added");
  CHECK(value_of("DELTA::NOW") == 42, "an instant one its value");
  CHECK(number_of("DELTA::D") == 0.25, "a double subtracts as double");

  const char *const name = "sde:::DELTA::V";
  struct pml_eventset *set;
  uint64_t seen = 0;
  if (!CHECK(pml_eventset_open(&set, &name, 1, NULL) == 0, "pmlua finds the event")) return;
  v += 7;
  CHECK(sde_ti_reset_counter(code_of("DELTA::V")) == SDE_OK && pml_eventset_read(set, &seen) == 0 && seen == 7,
        "and a set counts from its own start, whatever a tool resets");
  pml_eventset_close(set);

  long long start = 10;
  papi_sde_register_counter_cb(lib, "TICK", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, tick, &start);
  uint32_t code = code_of("DELTA::TICK");
  long long before = calls, got;
  sde_ti_reset_counter(code);
  sde_ti_read_counter(code, &got);
  CHECK(got == 1 && calls - before == 2, "a callback runs once at reset and once at each read");
  double whole = 5;
  papi_sde_register_counter_cb(lib, "HALF", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, half, &whole);
  CHECK(number_of("DELTA::HALF") == 2.5, "a callback gives a double as its bits");
}

static void created(void) {
  papi_handle_t lib = papi_sde_init("CREATED");
  void *c = NULL, *same = NULL;
  CHECK(papi_sde_create_counter(lib, "C", PAPI_SDE_DELTA, &c) == SDE_OK && c, "a counter is created");
  CHECK(papi_sde_create_counter(lib, "C", PAPI_SDE_DELTA, &same) == SDE_OK && same == c, "again: the same handle");
  CHECK(papi_sde_get_counter_handle(lib, "C") == c, "and by name");
  CHECK(papi_sde_get_counter_handle(lib, "NONE") == NULL, "no handle for an unknown name");
  for (int i = 0; i < 100; i++) papi_sde_inc_counter(c, 3);
  CHECK(value_of("CREATED::C") == 300, "it counts");
  CHECK(papi_sde_inc_counter(c, -400) == SDE_OK && value_of("CREATED::C") == -100, "also down, below 0");
  CHECK(papi_sde_reset_counter(c) == SDE_OK && value_of("CREATED::C") == 0, "a reset sets it to 0");
  CHECK(papi_sde_record(c, 8, &lib) == SDE_EINVAL, "it is no recorder");
}

static void written(void) {
  papi_handle_t lib = papi_sde_init("WRITE");
  long long rw = 1, ro = 2, bits;
  int i = 3;
  double d = 4, want = -0.5;
  float f = 5;
  void *c;
  memcpy(&bits, &want, sizeof bits);
  papi_sde_register_counter(lib, "RW", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &rw);
  papi_sde_register_counter(lib, "RO", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &ro);
  papi_sde_register_counter(lib, "I", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_int, &i);
  papi_sde_register_counter(lib, "D", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_double, &d);
  papi_sde_register_counter(lib, "F", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_float, &f);
  papi_sde_create_counter(lib, "C", PAPI_SDE_RW | PAPI_SDE_INSTANT, &c);
  papi_sde_register_counter_cb(lib, "CB", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, tick, &ro);
  CHECK(sde_ti_write_counter(code_of("WRITE::RW"), 77) == SDE_OK && rw == 77, "a write reaches the variable");
  CHECK(sde_ti_write_counter(code_of("WRITE::I"), -8) == SDE_OK && i == -8, "an int");
  CHECK(sde_ti_write_counter(code_of("WRITE::D"), bits) == SDE_OK && d == -0.5, "a double by its bits");
  CHECK(sde_ti_write_counter(code_of("WRITE::F"), bits) == SDE_OK && f == -0.5f, "a float, narrowed");
  CHECK(sde_ti_write_counter(code_of("WRITE::C"), 9) == SDE_OK && value_of("WRITE::C") == 9, "a created counter");
  papi_sde_inc_counter(c, 1);
  CHECK(value_of("WRITE::C") == 10, "which goes on from there");
  CHECK(sde_ti_write_counter(code_of("WRITE::RO"), 1) == SDE_EINVAL && ro == 2, "not a read-only one");
  CHECK(sde_ti_write_counter(code_of("WRITE::CB"), 1) == SDE_EINVAL, "not a callback");
  CHECK(sde_ti_write_counter(code_of("WRITE::NONE"), 1) == SDE_EINVAL, "not a placeholder");
}

static void groups(void) {
  papi_handle_t lib = papi_sde_init("GROUP");
  long long v[4] = {5, 9, -3, -8};
  const char *names[4] = {"A", "B", "C", "D"};
  void *recorder;
  for (int i = 0; i < 4; i++)
    papi_sde_register_counter(lib, names[i], PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &v[i]);
  for (int i = 0; i < 2; i++) {
    papi_sde_add_counter_to_group(lib, names[i], "SUM", PAPI_SDE_SUM);
    papi_sde_add_counter_to_group(lib, names[i], "MIN", PAPI_SDE_MIN);
    papi_sde_add_counter_to_group(lib, names[i + 2], "MAXNEG", PAPI_SDE_MAX);
    papi_sde_add_counter_to_group(lib, names[i + 2], "MINNEG", PAPI_SDE_MIN);
  }
  CHECK(value_of("GROUP::SUM") == 14, "the sum of 5 and 9");
  CHECK(value_of("GROUP::MIN") == 5, "the minimum of 5 and 9 is not 0");
  CHECK(value_of("GROUP::MAXNEG") == -3, "the maximum of -3 and -8 is not 0");
  CHECK(value_of("GROUP::MINNEG") == -8, "the minimum of -3 and -8");
  CHECK(papi_sde_add_counter_to_group(lib, "SUM", "ALL", PAPI_SDE_SUM) == SDE_OK &&
            papi_sde_add_counter_to_group(lib, "MINNEG", "ALL", PAPI_SDE_SUM) == SDE_OK && value_of("GROUP::ALL") == 6,
        "groups nest");
  CHECK(papi_sde_add_counter_to_group(lib, "NOSUCH", "SUM", PAPI_SDE_SUM) == SDE_EINVAL, "a member must exist");
  CHECK(papi_sde_add_counter_to_group(lib, "C", "SUM", PAPI_SDE_MAX) == SDE_EINVAL, "a group keeps its flags");
  CHECK(papi_sde_add_counter_to_group(lib, "C", "NEW", 9) == SDE_EINVAL, "flags that do not exist");
  papi_sde_create_recorder(lib, "REC", sizeof(double), papi_sde_compare_double, &recorder);
  CHECK(papi_sde_add_counter_to_group(lib, "REC", "SUM", PAPI_SDE_SUM) == SDE_EINVAL, "no recorder in a group");
  CHECK(sde_ti_reset_counter(code_of("GROUP::SUM")) == SDE_OK && value_of("GROUP::SUM") == 14,
        "a reset of a group says OK and does nothing");
  CHECK(papi_sde_shutdown(lib) == SDE_OK, "shutting down a library with groups is survived");
  CHECK(value_of("GROUP::SUM") == -1, "its events then read as placeholders");
}

static void placeholders(void) {
  long long v = 6;
  uint32_t code = UINT32_MAX, later;
  CHECK(sde_ti_name_to_code("NOLIBRARY", &code) == SDE_ENOEVNT, "a name without a library is no event");
  CHECK(sde_ti_name_to_code("LATE::V", &code) == SDE_OK, "a library that is not there yet is believed");
  CHECK(value_of("LATE::V") == -1, "its event reads -1 without an error");
  CHECK(sde_ti_reset_counter(code) == SDE_OK, "and can be reset");
  papi_handle_t lib = papi_sde_init("LATE");
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &v);
  CHECK(sde_ti_name_to_code("LATE::V", &later) == SDE_OK && later == code, "registering keeps the code");
  CHECK(value_of("LATE::V") == 6, "and fills it in");
  CHECK(value_of("LATE::C") == -1 && value_of("LATE::G") == -1, "more of them");
  void *c;
  papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c);
  papi_sde_inc_counter(c, 4);
  papi_sde_add_counter_to_group(lib, "V", "G", PAPI_SDE_SUM);
  CHECK(value_of("LATE::C") == 4 && value_of("LATE::G") == 6, "create and group fill in, too");
}

static void unregistered(void) {
  papi_handle_t lib = papi_sde_init("GONE");
  long long v = 3, w = 4;
  void *c;
  papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &v);
  papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c);
  uint32_t code = code_of("GONE::V");
  CHECK(papi_sde_unregister_counter(lib, "V") == SDE_OK, "an event can be unregistered");
  CHECK(sde_ti_get_event_name((int)code) == NULL, "it is no longer listed");
  CHECK(papi_sde_unregister_counter(lib, "V") == SDE_EINVAL, "not twice");
  CHECK(papi_sde_unregister_counter(lib, "NEVER") == SDE_EINVAL, "nor an unknown one");
  CHECK(papi_sde_register_counter(lib, "V", PAPI_SDE_RO, PAPI_SDE_long_long, &w) == SDE_OK && value_of("GONE::V") == 4,
        "the name can be used again");
  CHECK(papi_sde_inc_counter(c, 5) == SDE_OK && papi_sde_unregister_counter(lib, "C") == SDE_OK, "a created one too");
  CHECK(papi_sde_inc_counter(c, 1) == SDE_EINVAL, "an old handle is refused, not followed");
  CHECK(papi_sde_shutdown(lib) == SDE_OK && papi_sde_inc_counter(c, 1) == SDE_EINVAL, "also after shutdown");
  lib = papi_sde_init("GONE");
  CHECK(lib && papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &c) == SDE_OK && papi_sde_inc_counter(c, 2) == SDE_OK &&
            value_of("GONE::C") == 2,
        "a library that shut down can come again, and its counter starts from 0");
}

/* What is made and taken back again and again is freed, whatever handles are left of it. */
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

int main(void) {
  handles();
  types();
  delta();
  created();
  written();
  groups();
  placeholders();
  unregistered();
  cycles();
  listed();
  CHECK(sde_ti_shutdown() == SDE_OK, "the tool may go; the libraries stay");
  return check_done();
}
