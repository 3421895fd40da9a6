/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/compat.h - for the specs of the drop-in libsde: PAPI's own header where it is installed, so that what runs
 * here was compiled for PAPI's library; and the tool's side as PAPI calls it.
 */
#ifndef COMPAT_H
#define COMPAT_H

#if __has_include(<sde_lib.h>)
#include <sde_lib.h>
#else
#include "interface/sde/sde_lib.h"
#endif

#include <stdlib.h>
#include <string.h>

int sde_ti_read_counter(uint32_t code, long long int *value);
int sde_ti_write_counter(uint32_t code, long long value);
int sde_ti_reset_counter(uint32_t code);
int sde_ti_name_to_code(const char *name, uint32_t *code);
int sde_ti_is_simple_counter(uint32_t code);
int sde_ti_is_counter_set_to_overflow(uint32_t code);
int sde_ti_set_counter_overflow(uint32_t code, int threshold);
char *sde_ti_get_event_name(int code);
char *sde_ti_get_event_description(int code);
int sde_ti_get_num_reg_events(void);
int sde_ti_shutdown(void);

/* The value of an event now; -99 where libsde would have said an error. */
static inline long long value_of(const char *name) {
  uint32_t code;
  long long v;
  if (sde_ti_name_to_code(name, &code) != SDE_OK || sde_ti_read_counter(code, &v) != SDE_OK) return -99;
  return v;
}

static inline double number_of(const char *name) {
  long long v = value_of(name);
  double d;
  memcpy(&d, &v, sizeof d);
  return d;
}

static inline uint32_t code_of(const char *name) {
  uint32_t code = UINT32_MAX;
  (void)sde_ti_name_to_code(name, &code);
  return code;
}

static inline void free_list(cset_list_object_t *list) {
  while (list) {
    cset_list_object_t *next = list->next;
    free(list->ptr);
    free(list);
    list = next;
  }
}

#endif
