/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_define.c - definitions of sections and their agreement. */
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_setting.h"
#include "source/compiler/pml_count_file.h"
#include "source/simulation/pml_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int environment; /* result of reading PMLUA_SECTIONS: 0 or -EINVAL */

static int open_recorder(struct pml_section *s, enum pml_section_record record) {
  struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE,
                                   .keep = record == PML_SECTION_RECORD_SKETCH ? PML_KEEP_SKETCH : PML_KEEP_ALL};
  return record == PML_SECTION_NO_RECORD ? 0 : pml_recorder_open(&s->recorder, &o);
}

static int open_events(struct pml_section *s, const char *label, const struct pml_section_options *o) {
  const char *names[PML_SECTION_EVENTS_MAX];
  uint64_t values[PML_SECTION_EVENTS_MAX];
  if (o->nevents > PML_SECTION_EVENTS_MAX)
    return pml_fail(-EINVAL, "a section takes at most %u events, not %zu", PML_SECTION_EVENTS_MAX, o->nevents);
  s->counting = pml_count_active();
  s->simulated = pml__log_wanted() && pml_sim_available() == 0;
  size_t n = pml__section_names(s, o, names);
  int err = n > 0 ? pml__section_list(names, n, &s->list) : 0;
  if (err < 0 || n == 0) return err;
  struct pml__section_thread *t = pml__section_thread();
  return t == NULL ? pml_fail(-ENOMEM, "no memory for section %.200s", label) : pml__section_try(t, s->list, values);
}

/* Open the parts of the section before the lock is taken, because other locks are never taken within it. */
static int prepare_section(struct pml_section *s, const char *label, const struct pml_section_options *o,
                           const char *interface) {
  struct pml_region_info region;
  bool own = interface[0] == '\0';
  int err = pml__region_of(own ? PML__REGION_SECTION : interface, label, own ? o->file : interface, own ? o->line : 0,
                           &s->region);
  if (err == 0) err = open_events(s, label, o);
  if (err == 0) err = open_recorder(s, o->record);
  if (err < 0) return err;
  (void)pml_region_describe(s->region, &region);
  pml__region_overlaps(s->region);
  s->label = region.name;
  s->interface = interface;
  s->type = o->type;
  s->exclusive = o->exclusive;
  s->record = o->record;
  s->counted = s->list != NULL || s->recorder != NULL;
  return 0;
}

static bool says_nothing(const struct pml_section_options *o) {
  return o->type == PML_SECTION_CALCULATION && !o->exclusive && o->record == PML_SECTION_NO_RECORD && o->nevents == 0;
}

static bool same_events(const struct pml_section *s, const struct pml_section_options *o) {
  const char *names[PML_SECTION_EVENTS_MAX];
  struct pml_stream_metrics *m;
  if (o->nevents > PML_SECTION_EVENTS_MAX) return false;
  size_t n = pml__section_names(s, o, names);
  if (s->list == NULL || n == 0) return s->list == NULL && n == 0;
  if (pml_stream_metrics(names, n, &m) == 0 && m == s->list->metrics) return true;
  return pml__section_metrics(names, n, &m) == 0 && m == s->list->metrics;
}

static int agree(const struct pml_section *s, const struct pml_section_options *o) {
  if (says_nothing(o)) return 0;
  if (s->type == o->type && s->exclusive == o->exclusive && s->record == o->record && same_events(s, o)) return 0;
  return pml_fail(-EINVAL, "section %.200s was defined before with other options", s->label);
}

static int make(const char *label, const struct pml_section_options *o, const char *interface,
                struct pml_section **out) {
  struct pml_section *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory for section %.200s", label);
  int err = prepare_section(s, label, o, interface);
  if (err < 0) {
    free(s);
    return err;
  }
  pml__section_lock_take();
  struct pml_section *other = pml__section_find(s->label, s->interface);
  if (other == NULL) err = pml__section_insert(s);
  if (other == NULL && err == 0) pml__section_log_define(s);
  pml__section_lock_leave();
  if (other == NULL && err == 0) {
    pml__section_log_notes();
    pml__section_timeline_name(s->region);
    *out = s;
    return 0;
  }
  pml_recorder_close(s->recorder);
  free(s);
  if (other == NULL) return pml_fail(err, "section %.200s: %s", label, pml_error_text(err));
  *out = other;
  return agree(other, o);
}

static void read_environment(void) {
  const char *wish = pml__setting("PMLUA_SECTIONS");
  environment = pml_clock_init();
  pml__section_prepare();
  pml__section_clock_runs();
  if (wish == NULL || strcmp(wish, "on") == 0) return;
  if (strcmp(wish, "off") != 0) environment = -EINVAL;
  pml_section_enable(false);
}

static int check(const char *label, const struct pml_section_options *o) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  if (environment < 0) {
    int err = pml_clock_init(); /* says why, if it was the clock */
    return err < 0 ? err
                   : pml_fail(-EINVAL, "PMLUA_SECTIONS is neither on nor off; set it to one of the two, or unset it");
  }
  int err = pml__section_prepare_file();
  if (err < 0) return err;
  if (label == NULL || *label == '\0') return pml_fail(-EINVAL, "a section needs a label that is not empty");
  if ((unsigned)o->type > PML_SECTION_COMMUNICATION)
    return pml_fail(-EINVAL, "section %.200s has an unknown type", label);
  if ((unsigned)o->record > PML_SECTION_RECORD_SKETCH)
    return pml_fail(-EINVAL, "section %.200s has an unknown kind of record", label);
  return o->nevents > 0 && o->events == NULL ? pml_fail(-EINVAL, "section %.200s has no names of events", label) : 0;
}

static void (*first)(void); /* atomic */

void pml_section_on_first(void (*notify)(void)) {
  __atomic_store_n(&first, notify, __ATOMIC_RELEASE);
}

/* Exchanged, so that only one of two threads with a first section calls it. */
static void tell_of_section(void) {
  if (PML_LIKELY(__atomic_load_n(&first, __ATOMIC_RELAXED) == NULL)) return;
  void (*notify)(void) = __atomic_exchange_n(&first, NULL, __ATOMIC_ACQ_REL);
  if (notify != NULL) notify();
}

int pml__section_define(const char *label, const struct pml_section_options *o, const char *interface,
                        struct pml_section **out) {
  *out = NULL;
  int err = check(label, o);
  if (err < 0) return err;
  struct pml_section *s = pml__section_find(label, interface);
  err = s != NULL ? agree(s, o) : make(label, o, interface, &s);
  if (err < 0) return err;
  *out = s;
  tell_of_section();
  return 0;
}

int pml_section_define(const char *label, const struct pml_section_options *options, struct pml_section **out) {
  static const struct pml_section_options nothing;
  return pml__section_define(label, options != NULL ? options : &nothing, "", out);
}

int pml__section_by_label(const char *label, struct pml_section **s) {
  *s = pml_section_find(label);
  return *s != NULL ? 0 : pml_section_define(label, NULL, s);
}
