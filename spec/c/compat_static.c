/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/compat_static.c - libsde.a alone: no libpmlua, and the COMMON pointers by which a static libpapi finds it.
 *
 * The pointers are declared here as libpapi.a declares them, without a value; the linker must merge both.
 */
#include "check.h"
#include "compat.h"

__attribute__((common)) int (*sde_ti_read_counter_ptr)(uint32_t, long long int *);
__attribute__((common)) int (*sde_ti_name_to_code_ptr)(const char *, uint32_t *);
__attribute__((common)) int (*sde_ti_set_counter_overflow_ptr)(uint32_t, int);

/* Variables that libpapi.a initialises. */
static long long heard, times;
static void hear(uint32_t code, long long int value) {
  (void)code;
  heard = value;
  times++;
}
void (*papi_sde_check_overflow_status_ptr)(uint32_t code, long long int value);
void (*papi_sde_check_overflow_status_ptr)(uint32_t code, long long int value) = hear;
static int timers;
static int set_timer(void) {
  timers++;
  return SDE_OK;
}
int (*papi_sde_set_timer_for_overflow_ptr)(void);
int (*papi_sde_set_timer_for_overflow_ptr)(void) = set_timer;

int main(void) {
  uint32_t code = 0, late = 0, kept = 0;
  long long v = 0;
  void *counter;
  papi_handle_t lib = papi_sde_init("STATIC");
  papi_sde_create_counter(lib, "C", PAPI_SDE_RO, &counter);
  papi_sde_inc_counter(counter, 3);
  if (!CHECK(sde_ti_read_counter_ptr == sde_ti_read_counter && sde_ti_name_to_code_ptr == sde_ti_name_to_code,
             "the pointers of a static libpapi lead to the functions"))
    return check_done();
  CHECK(sde_ti_name_to_code_ptr("STATIC::C", &code) == SDE_OK && sde_ti_read_counter_ptr(code, &v) == SDE_OK && v == 3,
        "and work");

  CHECK(times == 0 && sde_ti_set_counter_overflow_ptr(code, 10) == SDE_OK, "overflows of a created counter");
  papi_sde_inc_counter(counter, 4);
  CHECK(times == 1 && heard == 7, "are checked inside the increment, with the value: %lld", heard);
  CHECK(!sde_ti_is_counter_set_to_overflow(code), "it needs no timer");
  CHECK(sde_ti_set_counter_overflow_ptr(code, 0) == SDE_OK && papi_sde_inc_counter(counter, 100) == SDE_OK &&
            times == 1,
        "and end with a threshold of 0");

  sde_ti_name_to_code("STATIC::LATE", &late);
  CHECK(sde_ti_set_counter_overflow(late, 5) == SDE_OK && sde_ti_is_counter_set_to_overflow(late),
        "for a placeholder it is remembered");
  CHECK(timers == 0 && papi_sde_register_counter(lib, "LATE", PAPI_SDE_RO, PAPI_SDE_long_long, &v) == SDE_OK &&
            timers == 1,
        "and the timer is set when a counter is registered");
  CHECK(sde_ti_is_simple_counter(late) && !sde_ti_is_simple_counter(code), "only registered counters are simple");
  CHECK(sde_ti_set_counter_overflow(late, 9) > 0, "a registered one is left to libpapi's timer");
  sde_ti_name_to_code("STATIC::SOON", &kept);
  sde_ti_set_counter_overflow(kept, 5);
  papi_sde_create_counter(lib, "SOON", PAPI_SDE_RO, &counter);
  papi_sde_inc_counter(counter, 6);
  CHECK(times == 2 && heard == 6, "a placeholder that becomes a created counter is checked in its increments");
  return check_done();
}
