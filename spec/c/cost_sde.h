/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_sde.h - the paths of software-defined events whose instructions cost.c counts, and what they work on. */
#ifndef SPEC_COST_SDE_H
#define SPEC_COST_SDE_H

#include "interface/sde/sde_lib.h"
#include "source/pml_eventset.h"
#include "source/sde/pml_sde.h"
#include "source/sde/pml_sde_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SDE_EVENTS 8
#define SDE_MEMBERS 100
#define SDE_PUSHED 100000 /* so many are there that the chunk has room for those that are counted */

static int64_t sde_variable[SDE_MEMBERS];
static double sde_number = 1.5;
static struct pml_sde_counter *sde_counter;
static struct pml_recorder *sde_recorder;
static struct pml_eventset *sde_registered1, *sde_registered8, *sde_created8, *sde_group100, *sde_mixed2;
static uint64_t sde_values[SDE_EVENTS];
static struct pml__sde_values *sde_all;
static uint64_t sde_known;
static void *libsde_counter, *libsde_recorder;

static int sde_open_set(struct pml_eventset **s, const char *prefix, size_t n) {
  char name[SDE_EVENTS][48];
  const char *names[SDE_EVENTS];
  for (size_t i = 0; i < n; i++) {
    snprintf(name[i], sizeof name[i], "sde:::COST::%s%zu", prefix, i);
    names[i] = name[i];
  }
  int rc = pml_eventset_open(s, names, n, NULL);
  return rc < 0 ? rc : pml_eventset_start(*s);
}

/* With an event of the kernel, which is read by read(2). */
static int sde_open_mixed(struct pml_eventset **s) {
  const char *names[] = {"page-faults:u", "sde:::COST::V0"};
  int rc = pml_eventset_open(s, names, 2, NULL);
  return rc < 0 ? rc : pml_eventset_start(*s);
}

static int sde_make_events(struct pml_sde_library *lib) {
  const struct pml_recorder_options options = {.type = PML_TYPE_DOUBLE};
  char event[24];
  int rc = pml_sde_create_recorder(lib, "SERIES", &options, &sde_recorder);
  for (int i = 0; i < SDE_PUSHED && rc == 0; i++) rc = pml_recorder_push(sde_recorder, &sde_number);
  for (int i = 0; i < SDE_MEMBERS && rc == 0; i++) {
    snprintf(event, sizeof event, "V%d", i);
    rc = pml_sde_register(lib, event, PML_SDE_RO, PML_TYPE_INT64, &sde_variable[i]);
    if (rc == 0) rc = pml_sde_group_add(lib, event, "GROUP0", PML_SDE_SUM);
  }
  for (int i = 0; i < SDE_EVENTS && rc == 0; i++) {
    snprintf(event, sizeof event, "C%d", i);
    rc = pml_sde_create(lib, event, PML_SDE_RW, &sde_counter);
    if (rc == 0) rc = pml_sde_increment(sde_counter, 1);
  }
  return rc;
}

static int libsde_open(void) {
  papi_handle_t lib = papi_sde_init("DROPIN");
  int err = papi_sde_create_counter(lib, "C", PAPI_SDE_DELTA, &libsde_counter);
  if (err == SDE_OK)
    err = papi_sde_create_recorder(lib, "R", sizeof sde_number, papi_sde_compare_double, &libsde_recorder);
  for (int i = 0; i < SDE_PUSHED && err == SDE_OK; i++)
    err = papi_sde_record(libsde_recorder, sizeof sde_number, &sde_number);
  return err == SDE_OK ? 0 : -EINVAL;
}

/* All events of the process, as a client reads them: those below, and two recorders with their quantiles. */
static int sde_take_all(void) {
  char *bytes;
  size_t n;
  int rc = pml__sde_values_take(sde_all, sde_known, "", "", 0, &bytes, &n);
  if (rc == 0) sde_known = ((const struct pml__sde_values_head *)bytes)->generation;
  free(bytes);
  return rc;
}

static int sde_open(void) {
  struct pml_sde_library *lib;
  int rc = pml_sde_library(&lib, "COST");
  if (rc == 0) rc = sde_make_events(lib);
  if (rc == 0) rc = sde_open_set(&sde_registered1, "V", 1);
  if (rc == 0) rc = sde_open_set(&sde_registered8, "V", SDE_EVENTS);
  if (rc == 0) rc = sde_open_set(&sde_created8, "C", SDE_EVENTS);
  if (rc == 0) rc = sde_open_set(&sde_group100, "GROUP", 1);
  if (rc == 0) rc = sde_open_mixed(&sde_mixed2);
  if (rc == 0) rc = libsde_open();
  if (rc == 0) rc = pml__sde_values_open(&sde_all);
  return rc == 0 ? sde_take_all() : rc;
}

static void sde_close(void) {
  pml_eventset_close(sde_registered1);
  pml_eventset_close(sde_registered8);
  pml_eventset_close(sde_created8);
  pml_eventset_close(sde_group100);
  pml_eventset_close(sde_mixed2);
  pml__sde_values_close(sde_all);
}

PATH(sde_increment, pml_sde_increment(sde_counter, 1))
PATH(recorder_push_double, pml_recorder_push_double(sde_recorder, sde_number))
PATH(recorder_push, pml_recorder_push(sde_recorder, &sde_number))
PATH(libsde_increment, papi_sde_inc_counter(libsde_counter, 1))
PATH(libsde_record, papi_sde_record(libsde_recorder, sizeof sde_number, &sde_number))
PATH(eventset_read_registered_1, pml_eventset_read(sde_registered1, sde_values))
PATH(eventset_read_registered_8, pml_eventset_read(sde_registered8, sde_values))
PATH(eventset_read_created_8, pml_eventset_read(sde_created8, sde_values))
PATH(eventset_read_group_of_100, pml_eventset_read(sde_group100, sde_values))
PATH(eventset_read_mixed_2, pml_eventset_read(sde_mixed2, sde_values))
PATH(eventset_start_mixed_2, pml_eventset_start(sde_mixed2))
PATH(eventset_reset_mixed_2, pml_eventset_reset(sde_mixed2))
PATH(eventset_accum_mixed_2, pml_eventset_accum(sde_mixed2, sde_values))
PATH(eventset_start_stop_mixed_2, pml_eventset_start(sde_mixed2); pml_eventset_stop(sde_mixed2, sde_values))
PATH(sde_values_of_111_events, sde_take_all())

#endif
