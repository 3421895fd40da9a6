/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/write/pml_otf2_define.c - global definitions of an archive: clock, tree, locations, regions; and
 * metrics in the log of its events.
 */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/text/pml_demangle.h"
#include "read/otf2/write/pml_otf2_mpi.h"
#include "read/otf2/write/pml_otf2_openmp.h"
#include "record/events/pml_recording.h"

#include <errno.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clock ---- */

/* The time of the clock at @ticks; events may be earlier than the opening of the archive. */
static uint64_t realtime_of(const struct pml_otf2 *a, uint64_t ticks) {
  if (a->in_ns) return a->opened_realtime_ns > 0 ? a->opened_realtime_ns + ticks : OTF2_UNDEFINED_TIMESTAMP;
  return ticks >= a->opened_ticks ? a->opened_realtime_ns + pml_clock_ticks_to_ns(ticks - a->opened_ticks)
                                  : a->opened_realtime_ns - pml_clock_ticks_to_ns(a->opened_ticks - ticks);
}

/* The trace spans its events, or without events the archive's lifetime. */
static void define_clock(struct pml__otf2_defs *d) {
  const struct pml_otf2 *a = d->a;
  uint64_t first = UINT64_MAX, last = 0;
  for (const struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next) {
    if (loc->nevents == 0) continue;
    if (loc->first_written < first) first = loc->first_written;
    if (loc->last_written > last) last = loc->last_written;
  }
  if (first > last) {
    first = a->opened_ticks;
    last = a->in_ns ? first : pml_clock_ticks();
  }
  double rate = a->in_ns || pml__clock.kind == PML_CLOCK_MONOTONIC ? 1e9 : pml__clock.ticks_per_second;
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteClockProperties(d->out, (uint64_t)llround(rate), first, last - first,
                                                                 realtime_of(a, first)));
}

/* ---- the tree ---- */

/* The first process of the same host, which defines the host's node. */
static const struct pml__otf2_process *first_there(const struct pml_otf2 *a, const struct pml__otf2_process *p) {
  const struct pml__otf2_process *q = a->processes;
  while (strcmp(q->host, p->host) != 0) q = q->next;
  return q;
}

static void define_processes(struct pml__otf2_defs *d) {
  const struct pml_otf2 *a = d->a;
  uint32_t nodes = 0;
  OTF2_StringRef class = pml__otf2_string(d, "node");
  for (struct pml__otf2_process *p = a->processes; p != NULL; p = p->next) {
    if (first_there(a, p) != p) continue;
    OTF2_StringRef host = pml__otf2_string(d, p->host);
    p->node = nodes++;
    pml__otf2_defined(
        d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->out, p->node, host, class, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  }
  for (const struct pml__otf2_process *p = a->processes; p != NULL; p = p->next) {
    OTF2_StringRef name = pml__otf2_string(d, p->name);
    pml__otf2_defined(d,
                      OTF2_GlobalDefWriter_WriteLocationGroup(d->out, p->ref, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                              first_there(a, p)->node, OTF2_UNDEFINED_LOCATION_GROUP));
  }
}

/* Losses are stored in the trace. */
static void define_property(struct pml__otf2_defs *d, const struct pml_otf2_location *loc, const char *name,
                            uint64_t value) {
  if (value == 0) return;
  OTF2_AttributeValue v = {.uint64 = value};
  OTF2_StringRef ref = pml__otf2_string(d, name);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteLocationProperty(d->out, loc->ref, ref, OTF2_TYPE_UINT64, v));
}

static void define_locations(struct pml__otf2_defs *d) {
  for (const struct pml_otf2_location *loc = d->a->first; loc != NULL; loc = loc->next) {
    OTF2_StringRef name = pml__otf2_string(d, loc->name);
    OTF2_LocationType type = loc->series != NULL ? OTF2_LOCATION_TYPE_METRIC : OTF2_LOCATION_TYPE_CPU_THREAD;
    pml__otf2_defined(
        d, OTF2_GlobalDefWriter_WriteLocation(d->out, loc->ref, name, type, loc->nevents, loc->process->ref));
    define_property(d, loc, "PMLUA::DROPPED", loc->dropped);
    define_property(d, loc, "PMLUA::LIFTED", loc->lifted);
    define_property(d, loc, "PMLUA::UNMATCHED", loc->unmatched + loc->closed);
  }
}

/* ---- regions ---- */

static void define_region(struct pml__otf2_defs *d, uint32_t ref, pml_region_t region) {
  struct pml_region_info info;
  uint8_t paradigm = OTF2_PARADIGM_USER, role = OTF2_REGION_ROLE_CODE;
  if (pml_region_describe(region, &info) < 0) return;
  const char *kind = pml__region_kind(region);
  if (strcmp(kind, PML__REGION_OPENMP) == 0 && pml__otf2_openmp_role(info.name, &role)) {
    paradigm = OTF2_PARADIGM_OPENMP;
  } else if (strcmp(kind, PML__REGION_MPI) == 0) {
    paradigm = OTF2_PARADIGM_MPI;
    role = pml__otf2_mpi_role(info.name);
  }
  char *nice = pml__demangled(info.name);
  OTF2_StringRef canonical = pml__otf2_string(d, info.name);
  OTF2_StringRef name = nice != NULL ? pml__otf2_string(d, nice) : canonical;
  free(nice);
  OTF2_StringRef file = pml__otf2_string(d, info.file);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteRegion(d->out, ref, name, canonical, pml__otf2_string(d, kind), role,
                                                        paradigm, OTF2_REGION_FLAG_NONE, file, info.line, 0));
}

/* In the order of references, which some readers expect. */
static void define_regions(struct pml__otf2_defs *d) {
  const struct pml_otf2 *a = d->a;
  pml_region_t *by_ref = pml__otf2_regions(a);
  if (by_ref == NULL) {
    if (d->err == 0) d->err = pml_fail(-ENOMEM, "no memory to define %u regions of the trace", a->nregions);
    return;
  }
  for (uint32_t ref = 0; ref < a->nregions; ref++) define_region(d, ref, by_ref[ref]);
  free(by_ref);
}

int pml__otf2_define(struct pml_otf2 *a, struct OTF2_GlobalDefWriter_struct *out) {
  struct pml__otf2_defs d = {.a = a, .out = out};
  define_clock(&d);
  pml__otf2_string(&d, "");
  define_processes(&d);
  define_locations(&d);
  define_regions(&d);
  pml__otf2_define_metrics(&d);
  if (a->mpi != NULL) pml__otf2_define_mpi(&d);
  pml__otf2_define_teams(&d);
  free(d.member);
  return d.err;
}

/* ---- a log ---- */

/* A line for each metric, by @say; a killed process leaves its log, and its readers need these. */
static void note_metrics(const struct pml_otf2 *a, struct pml_recording *s, const char *key,
                         void (*say)(FILE *to, const struct pml_otf2_metric *m)) {
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  for (size_t i = 0; to != NULL && i < a->own.n; i++) say(to, &a->own.metric[i]);
  if (to != NULL && fclose(to) == 0) pml_recording_note(s, key, text);
  free(text);
}

static void say_name(FILE *to, const struct pml_otf2_metric *m) {
  fputs(m->name, to);
  fputc('\n', to);
}

/* As pml__record_plugins_units() has them. */
static void say_unit(FILE *to, const struct pml_otf2_metric *m) {
  const char *type = m->real ? "double" : m->is_signed ? "int64" : "uint64";
  fputs(m->name, to);
  fputs("\t1", to);
  char number[96];
  (void)snprintf(number, sizeof number, "\t%d\t%d\t%lld\t%s\t", (int)m->mode, m->binary, (long long)m->exponent, type);
  fputs(number, to);
  fputs(m->unit, to);
  fputc('\n', to);
}

int pml__otf2_record(const struct pml_otf2 *a, struct pml_recording **out) {
  char *folder = realpath(a->dir, NULL);
  *out = NULL;
  if (folder == NULL) return pml_fail(-errno, "%.300s: %s", a->dir, pml_error_text(-errno));
  int err = pml_recording_open(out, folder, NULL);
  free(folder);
  if (err < 0) return err;
  note_metrics(a, *out, "events", say_name);
  note_metrics(a, *out, "units", say_unit);
  pml_recording_note(*out, "program", program_invocation_name);
  return 0;
}
