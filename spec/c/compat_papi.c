/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/compat_papi.c - PAPI itself, where it is installed, reads software-defined events through the drop-in. */
#include "check.h"
#include "compat.h"

#if __has_include(<papi.h>)
#include <dlfcn.h>
#include <papi.h>

/* Looked up at run time, so that the spec builds and runs without libpapi's development link. */
#define PAPI_CALLS(X)                                                                                                  \
  X(PAPI_library_init)                                                                                                 \
  X(PAPI_get_component_index)                                                                                          \
  X(PAPI_get_component_info)                                                                                           \
  X(PAPI_create_eventset)                                                                                              \
  X(PAPI_add_named_event)                                                                                              \
  X(PAPI_start)                                                                                                        \
  X(PAPI_read)                                                                                                         \
  X(PAPI_reset)                                                                                                        \
  X(PAPI_write)                                                                                                        \
  X(PAPI_stop)                                                                                                         \
  X(PAPI_event_name_to_code)                                                                                           \
  X(PAPI_event_code_to_name)                                                                                           \
  X(PAPI_enum_cmp_event)                                                                                               \
  X(PAPI_overflow)                                                                                                     \
  X(PAPI_shutdown)
#define DECLARE(name) static __typeof__(name) *p_##name;
PAPI_CALLS(DECLARE)

static const char *find_papi(void) {
  const char *const names[] = {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7", "libpapi.so"};
  void *papi = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !papi; i++) papi = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
  if (!papi) return "libpapi is not installed";
#define FIND(name)                                                                                                     \
  *(void **)&p_##name = dlsym(papi, #name);                                                                            \
  if (!p_##name) return "libpapi lacks " #name;
  PAPI_CALLS(FIND)
  if (p_PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "libpapi is of another version than its header";
  int component = p_PAPI_get_component_index("sde");
  if (component < 0) return "this libpapi was built without its SDE component";
  return p_PAPI_get_component_info(component)->disabled ? "libpapi's SDE component says it is disabled" : NULL;
}

static long long variable, level = 40;
static double real = 1.5;
static void *counter, *recorder;

static papi_handle_t library(void) {
  papi_handle_t lib = papi_sde_init("PAPISPEC");
  papi_sde_register_counter(lib, "V", PAPI_SDE_RW | PAPI_SDE_DELTA, PAPI_SDE_long_long, &variable);
  papi_sde_register_counter(lib, "L", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &level);
  papi_sde_register_counter(lib, "D", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_double, &real);
  papi_sde_create_counter(lib, "C", PAPI_SDE_RW | PAPI_SDE_DELTA, &counter);
  papi_sde_create_recorder(lib, "R", sizeof(double), papi_sde_compare_double, &recorder);
  papi_sde_add_counter_to_group(lib, "V", "G", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(lib, "L", "G", PAPI_SDE_SUM);
  return lib;
}

static void reading(papi_handle_t lib) {
  const char *const names[] = {"V", "L", "D", "C", "G", "R:CNT", "R:MED", "SOON"};
  int set = PAPI_NULL, added = 0;
  long long v[8] = {0}, soon = 5;
  char name[64];
  variable = 1000;
  papi_sde_inc_counter(counter, 50);
  p_PAPI_create_eventset(&set);
  for (int i = 0; i < 8; i++) {
    snprintf(name, sizeof name, "sde:::PAPISPEC::%s", names[i]);
    added += p_PAPI_add_named_event(set, name) == PAPI_OK;
  }
  if (!CHECK(added == 8 && p_PAPI_start(set) == PAPI_OK, "an event set of eight starts, one still a placeholder"))
    return;
  variable += 7;
  real += 0.25;
  papi_sde_inc_counter(counter, 3);
  for (int i = 1; i <= 10; i++) papi_sde_record(recorder, sizeof(double), &(double){i});
  CHECK(p_PAPI_read(set, v) == PAPI_OK && v[0] == 7 && v[1] == 40 && GET_DOUBLE_SDE(v[2]) == 0.25 && v[3] == 3,
        "delta and instant counters are read");
  CHECK(v[4] == 47, "the group counts its members from where they started: %lld", v[4]);
  CHECK(v[5] == 10 && v[6] && *GET_SDE_RECORDER_ADDRESS(v[6], double) == 6, "the recorder's count and median");
  free((void *)(intptr_t)v[6]);
  CHECK(v[7] == -1, "the placeholder reads -1");
  papi_sde_register_counter(lib, "SOON", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &soon);
  CHECK(p_PAPI_reset(set) == PAPI_OK && p_PAPI_read(set, v) == PAPI_OK && v[0] == 0 && v[3] == 0 && v[1] == 40,
        "an explicit reset counts from here");
  free((void *)(intptr_t)v[6]);
  CHECK(v[7] == 5, "and the placeholder was filled in meanwhile");
  CHECK(p_PAPI_stop(set, v) == PAPI_OK, "the set stops");
  free((void *)(intptr_t)v[6]);
}

static void writing(void) {
  int set = PAPI_NULL;
  long long v[64] = {5, 6}; /* PAPI_write reads as many values as the component could have events */
  p_PAPI_create_eventset(&set);
  p_PAPI_add_named_event(set, "sde:::PAPISPEC::L");
  p_PAPI_add_named_event(set, "sde:::PAPISPEC::C");
  p_PAPI_start(set);
  CHECK(p_PAPI_write(set, v) == PAPI_OK && level == 5, "PAPI_write reaches a registered counter");
  papi_sde_inc_counter(counter, 1);
  int stopped = p_PAPI_stop(set, v);
  CHECK(stopped == PAPI_OK && v[0] == 5 && v[1] == 7 - 53, "and a created one: %lld", v[1]);
}

static void enumerating(void) {
  int code = PAPI_NATIVE_MASK, found = 0, component = p_PAPI_get_component_index("sde");
  char name[PAPI_MAX_STR_LEN];
  int rc = p_PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component);
  for (int i = 0; rc == PAPI_OK && i < 1000; i++) {
    if (p_PAPI_event_code_to_name(code, name) == PAPI_OK) found += strstr(name, "PAPISPEC::") != NULL;
    rc = p_PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component);
  }
  CHECK(found >= 12, "PAPI lists the library's events: %d", found);
}

static int overflows;
static void on_overflow(int set, void *address, long long vector, void *context) {
  (void)set, (void)address, (void)vector, (void)context;
  overflows++;
}

static void overflowing(void) {
  int set = PAPI_NULL, code;
  long long v;
  p_PAPI_create_eventset(&set);
  p_PAPI_add_named_event(set, "sde:::PAPISPEC::C");
  p_PAPI_event_name_to_code("sde:::PAPISPEC::C", &code);
  papi_sde_reset_counter(counter);
  if (p_PAPI_overflow(set, code, 10, 0, on_overflow) != PAPI_OK) {
    SKIP("this libpapi refuses overflows of software-defined events");
    return;
  }
  p_PAPI_start(set);
  for (int i = 0; i < 45; i++) papi_sde_inc_counter(counter, 1);
  p_PAPI_stop(set, &v);
  CHECK(overflows == 4, "45 increments pass a threshold of 10 four times: %d", overflows);
}
#endif

int main(void) {
#if __has_include(<papi.h>)
  const char *why = find_papi();
  if (why) {
    SKIP(why);
    return check_done();
  }
  papi_handle_t lib = library();
  reading(lib);
  CHECK_EACH(writing, enumerating, overflowing, p_PAPI_shutdown);
  CHECK(papi_sde_inc_counter(counter, 1) == SDE_OK, "the library works after PAPI was unloaded");
#else
  SKIP("papi.h is not installed (libpapi-dev)");
#endif
  return check_done();
}
