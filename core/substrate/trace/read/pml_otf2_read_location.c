/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_read_location.c - the events of one location, and what they refer to. */
#include "substrate/trace/read/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "substrate/trace/pml_otf2_error.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

/* ---- what a question is about ---- */

uint64_t pml__otf2_ticks(const struct pml_otf2_read *t, double s) {
  double ticks = (double)t->start + s * (double)t->resolution;
  return !(ticks > 0) ? 0 : ticks < 0x1p64 ? (uint64_t)ticks : UINT64_MAX;
}

bool pml__otf2_asked(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t i) {
  const struct pml_otf2_read_location *l = pml_otf2_read_location(t, i);
  if (q->process >= 0 && (int64_t)l->process != q->process) return false;
  return l->events > 0 && (q->locations == NULL || q->locations[i]);
}

bool *pml__otf2_wanted(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  bool *wanted = calloc(t->regions.n + 1, sizeof *wanted);
  for (size_t i = 0; wanted != NULL && i < t->regions.n; i++)
    wanted[i] = q->region == NULL || fnmatch(q->region, pml_otf2_read_region(t, i)->name, 0) == 0;
  return wanted;
}

/* ---- what an event refers to ---- */

/* NULL: not defined. */
static const struct pml__otf2_group *group_of(const struct pml_otf2_read *t, OTF2_CommRef id) {
  const struct pml__otf2_comm *comm = (const void *)t->comms.at;
  const struct pml__otf2_group *group = (const void *)t->groups.at;
  size_t c = pml__otf2_find(&t->comms, id);
  size_t g = c != PML_OTF2_NONE ? pml__otf2_find(&t->groups, comm[c].group) : PML_OTF2_NONE;
  return g != PML_OTF2_NONE ? &group[g] : NULL;
}

/* The group of a communicator counts ranks of MPI_COMM_WORLD, or it is of one rank alone. */
size_t pml__otf2_peer(const struct pml_otf2_read *t, size_t location, uint32_t rank, OTF2_CommRef id) {
  const struct pml__otf2_group *group = group_of(t, id);
  if (group == NULL) return PML_OTF2_NONE;
  if (group->type == OTF2_GROUP_TYPE_COMM_SELF) return location;
  if (group->type != OTF2_GROUP_TYPE_COMM_GROUP || rank >= group->n || t->world == NULL) return PML_OTF2_NONE;
  uint64_t world = group->member[rank];
  return world < t->world->n ? pml__otf2_find(&t->locations, t->world->member[world]) : PML_OTF2_NONE;
}

uint32_t pml__otf2_members(const struct pml_otf2_read *t, OTF2_CommRef id) {
  const struct pml__otf2_group *group = group_of(t, id);
  if (group == NULL) return 0;
  return group->type == OTF2_GROUP_TYPE_COMM_SELF ? 1 : group->type == OTF2_GROUP_TYPE_COMM_GROUP ? group->n : 0;
}

const struct pml__otf2_class *pml__otf2_class_of(const struct pml_otf2_read *t, uint32_t id) {
  const struct pml__otf2_class *class = (const void *)t->classes.at;
  size_t i = pml__otf2_find(&t->classes, id);
  if (i != PML_OTF2_NONE && class[i].metric == NULL) i = pml__otf2_find(&t->classes, class[i].like);
  return i != PML_OTF2_NONE && class[i].metric != NULL ? &class[i] : NULL;
}

/* ---- reading ---- */

/* Tables that map a location's numbers to those of the archive are in files of definitions, which need not be there. */
static void read_maps(struct pml_otf2_read *t, uint64_t id) {
  uint64_t n;
  OTF2_DefReader *reader = OTF2_Reader_GetDefReader(t->reader, id);
  if (reader != NULL) {
    (void)OTF2_Reader_ReadAllLocalDefinitions(t->reader, reader, &n);
    (void)OTF2_Reader_CloseDefReader(t->reader, reader);
  }
  pml__otf2_forget();
}

int pml__otf2_open_events(struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user,
                          OTF2_EvtReader **out) {
  uint64_t id = pml__otf2_id(&t->locations, i);
  *out = NULL;
  read_maps(t, id);
  OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(t->reader, id);
  if (reader == NULL) return pml__otf2_failed_read(t, "open the events of", OTF2_ERROR_INVALID);
  OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(t->reader, reader, callbacks, user);
  if (pml__otf2_is_fine(code)) {
    *out = reader;
    return 0;
  }
  (void)OTF2_Reader_CloseEvtReader(t->reader, reader);
  return pml__otf2_failed_read(t, "open the events of", code);
}

int pml__otf2_busy(const struct pml_otf2_read *t) {
  return pml_fail(-EBUSY, "%.300s: its events are being read; open it a second time to ask more", t->path);
}

int pml__otf2_read_events(struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user) {
  OTF2_EvtReader *reader;
  uint64_t n;
  if (t->reading) return pml__otf2_busy(t);
  int err = pml__otf2_open_events(t, i, callbacks, user, &reader);
  if (err < 0) return err;
  OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalEvents(t->reader, reader, &n);
  err = pml__otf2_is_fine(code) ? 0 : pml__otf2_failed_read(t, "read the events of", code);
  (void)OTF2_Reader_CloseEvtReader(t->reader, reader);
  pml__otf2_forget();
  return err;
}
