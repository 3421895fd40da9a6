/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_location.c - events of one location, and their references. */
#include "read/otf2/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "read/otf2/pml_otf2_cut.h"
#include "read/otf2/write/pml_otf2_error.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- selection of a question ---- */

/* The nearest tick, so that an event's time converts to the same tick. Integers are added, because a double has too few
 * digits for times since 1970. */
uint64_t pml__otf2_ticks(const struct pml_otf2_read *t, double s) {
  double ticks = floor(s * (double)t->resolution + 0.5);
  if (!(ticks > -(double)t->start)) return 0;
  if (ticks >= 0x1p63) return UINT64_MAX;
  uint64_t time = t->start + (uint64_t)(int64_t)ticks;
  return ticks >= 0 && time < t->start ? UINT64_MAX : time;
}

/* Events before the begin or after the end in the definitions also belong to the trace. */
uint64_t pml__otf2_first(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  return q->from_s > 0 ? pml__otf2_ticks(t, q->from_s) : 0;
}

static uint64_t last_of(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  return q->to_s * (double)t->resolution < (double)t->length ? pml__otf2_ticks(t, q->to_s) : UINT64_MAX;
}

double pml_otf2_read_end(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  double length = (double)t->length / (double)t->resolution;
  return q->to_s < length ? q->to_s : length;
}

uint64_t *pml__otf2_boundaries(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t columns) {
  uint64_t *at = calloc(columns + 1, sizeof *at);
  if (at == NULL) return NULL;
  double end = pml_otf2_read_end(t, q);
  for (size_t i = 0; i < columns; i++)
    at[i] = pml__otf2_ticks(t, q->from_s + (end - q->from_s) * ((double)i / (double)columns));
  at[0] = pml__otf2_first(t, q);
  at[columns] = columns > 1 ? last_of(t, q) : pml__otf2_ticks(t, q->to_s);
  return at;
}

bool pml__otf2_asked(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t i) {
  const struct pml_otf2_read_location *l = pml_otf2_read_location(t, i);
  if (q->process >= 0 && (int64_t)l->process != q->process) return false;
  return (l->events > 0 || l->said > 0) && (q->locations == NULL || q->locations[i]);
}

static bool is_listed(const char *kind, const char *list) {
  size_t n = strlen(kind);
  for (const char *at = list; n > 0 && at != NULL; at = strchr(at, ','), at = at != NULL ? at + 1 : NULL)
    if (strncasecmp(at, kind, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
  return false;
}

bool *pml__otf2_wanted(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  bool *wanted = calloc(t->regions.n + 1, sizeof *wanted);
  for (size_t i = 0; wanted != NULL && i < t->regions.n; i++) {
    const struct pml_otf2_read_region *r = pml_otf2_read_region(t, i);
    wanted[i] =
        (q->region == NULL || fnmatch(q->region, r->name, 0) == 0) && (q->kind == NULL || is_listed(r->kind, q->kind));
  }
  return wanted;
}

/* ---- references of events ---- */

static const struct pml__otf2_group *group_at(const struct pml_otf2_read *t, size_t i) {
  return i != PML_OTF2_NONE ? (const struct pml__otf2_group *)(const void *)t->groups.at + i : NULL;
}

static bool has_member(const struct pml__otf2_group *group, uint64_t rank) {
  for (size_t i = 0; i < group->is.n; i++)
    if (group->is.member[i] == rank) return true;
  return false;
}

/* The group to which ranks of messages refer; in an inter-communicator the group without @location. NULL: none. */
static const struct pml__otf2_group *group_of(const struct pml_otf2_read *t, size_t location, OTF2_CommRef id) {
  size_t c = pml__otf2_find(&t->comms, id);
  if (c == PML_OTF2_NONE) return NULL;
  const struct pml_otf2_read_comm *comm = pml_otf2_read_comm(t, c);
  const struct pml__otf2_group *group = group_at(t, comm->group), *remote = group_at(t, comm->remote);
  if (group == NULL || remote == NULL) return group;
  int64_t rank = pml_otf2_read_process(t, pml_otf2_read_location(t, location)->process)->rank;
  return rank >= 0 && has_member(group, (uint64_t)rank) ? remote : group;
}

/* The group of a communicator contains ranks of MPI_COMM_WORLD, or consists of a single rank. */
size_t pml__otf2_peer(const struct pml_otf2_read *t, size_t location, uint32_t rank, OTF2_CommRef id) {
  const struct pml__otf2_group *group = group_of(t, location, id);
  if (group == NULL || !group->mpi) return PML_OTF2_NONE;
  if (group->type == OTF2_GROUP_TYPE_COMM_SELF) return location;
  if (group->type != OTF2_GROUP_TYPE_COMM_GROUP || rank >= group->is.n || t->world == NULL) return PML_OTF2_NONE;
  uint64_t world = group->is.member[rank];
  return world < t->world->is.n ? pml__otf2_find(&t->locations, t->world->is.member[world]) : PML_OTF2_NONE;
}

uint32_t pml__otf2_members(const struct pml_otf2_read *t, OTF2_CommRef id) {
  size_t c = pml__otf2_find(&t->comms, id);
  if (c == PML_OTF2_NONE) return 0;
  const struct pml__otf2_group *group = group_at(t, pml_otf2_read_comm(t, c)->group);
  const struct pml__otf2_group *remote = group_at(t, pml_otf2_read_comm(t, c)->remote);
  if (group == NULL) return 0;
  if (group->type == OTF2_GROUP_TYPE_COMM_SELF) return 1;
  size_t n = group->is.n + (remote != NULL ? remote->is.n : 0);
  return group->type == OTF2_GROUP_TYPE_COMM_GROUP ? (uint32_t)n : 0;
}

const struct pml__otf2_class *pml__otf2_class_of(const struct pml_otf2_read *t, uint32_t id) {
  const struct pml__otf2_class *class = (const void *)t->classes.at;
  size_t i = pml__otf2_find(&t->classes, id);
  if (i != PML_OTF2_NONE && class[i].metric == NULL) i = pml__otf2_find(&t->classes, class[i].like);
  return i != PML_OTF2_NONE && class[i].metric != NULL ? &class[i] : NULL;
}

/* ---- reading ---- */

/* libotf2 leaks memory if a definition file does not exist. */
static bool has_definitions(const struct pml_otf2_read *t, uint64_t id) {
  char name[PML__OTF2_NAME];
  pml__otf2_file_name(name, id, "def");
  int fd = pml__otf2_open_file(t, name, NULL);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* Tables that map a location's numbers to the archive's are in optional definition files. */
static int read_maps(const struct pml_otf2_read *t, OTF2_Reader *of, uint64_t id) {
  uint64_t n;
  if (!has_definitions(t, id)) return 0;
  OTF2_ErrorCode code = OTF2_Reader_OpenDefFiles(of);
  OTF2_DefReader *reader = code == OTF2_SUCCESS ? OTF2_Reader_GetDefReader(of, id) : NULL;
  if (reader != NULL) {
    code = OTF2_Reader_ReadAllLocalDefinitions(of, reader, &n);
    (void)OTF2_Reader_CloseDefReader(of, reader);
  }
  bool fine = reader != NULL && pml__otf2_is_fine(code);
  return fine ? 0 : pml__otf2_failed_read(t, "read the definitions of a location of", code);
}

struct offsets {
  size_t n;
  int64_t least, most;
};

static OTF2_CallbackCode on_offset(void *user, OTF2_TimeStamp time, int64_t offset, double deviation) {
  struct offsets *o = user;
  (void)time, (void)deviation;
  if (o->n == 0 || offset < o->least) o->least = offset;
  if (o->n == 0 || offset > o->most) o->most = offset;
  o->n++;
  return OTF2_CALLBACK_SUCCESS;
}

/* Uses a separate reader, because libotf2 stores the offsets of a location's clock in the reader, and would add them
 * twice. */
int pml_otf2_read_clock(struct pml_otf2_read *t, size_t i, struct pml_otf2_read_clock *c) {
  struct offsets o = {0};
  uint64_t n;
  *c = (struct pml_otf2_read_clock){0};
  if (i >= t->locations.n) return pml_fail(-EINVAL, "%.300s: no such location", t->path);
  uint64_t id = pml__otf2_id(&t->locations, i);
  if (pml_otf2_read_location(t, i)->events == 0 || !has_definitions(t, id)) return 0;
  if (pml__otf2_check_file(t, id, "def") < 0) return 0;
  OTF2_Reader *of = OTF2_Reader_Open(t->path);
  OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
  if (of != NULL && callbacks != NULL) {
    (void)OTF2_Reader_SetSerialCollectiveCallbacks(of);
    (void)OTF2_Reader_SelectLocation(of, id);
    (void)OTF2_Reader_OpenDefFiles(of);
    OTF2_DefReader *reader = OTF2_Reader_GetDefReader(of, id);
    (void)OTF2_DefReaderCallbacks_SetClockOffsetCallback(callbacks, on_offset);
    if (reader != NULL && OTF2_Reader_RegisterDefCallbacks(of, reader, callbacks, &o) == OTF2_SUCCESS)
      (void)OTF2_Reader_ReadAllLocalDefinitions(of, reader, &n);
    if (reader != NULL) (void)OTF2_Reader_CloseDefReader(of, reader);
  }
  OTF2_DefReaderCallbacks_Delete(callbacks);
  if (of != NULL) (void)OTF2_Reader_Close(of);
  pml__otf2_forget();
  *c = (struct pml_otf2_read_clock){o.n, (double)o.least / (double)t->resolution,
                                    (double)o.most / (double)t->resolution};
  return 0;
}

static int open_location(const struct pml_otf2_read *t, uint64_t id, const OTF2_EvtReaderCallbacks *callbacks,
                         void *user, struct pml__otf2_opened *o) {
  o->archive = OTF2_Reader_Open(t->repaired != NULL ? t->repaired : t->path);
  if (o->archive == NULL) return pml__otf2_failed_read(t, "open", OTF2_ERROR_INVALID);
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(o->archive);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_SelectLocation(o->archive, id);
  int err = read_maps(t, o->archive, id);
  if (err < 0) return err;
  if (code == OTF2_SUCCESS) code = OTF2_Reader_OpenEvtFiles(o->archive);
  if (pml__otf2_is_fine(code)) o->events = OTF2_Reader_GetEvtReader(o->archive, id);
  if (o->events == NULL) return pml__otf2_failed_read(t, "open the events of", OTF2_ERROR_INVALID);
  code = OTF2_Reader_RegisterEvtCallbacks(o->archive, o->events, callbacks, user);
  return pml__otf2_is_fine(code) ? 0 : pml__otf2_failed_read(t, "open the events of", code);
}

int pml__otf2_open_events(const struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user,
                          struct pml__otf2_opened *o) {
  uint64_t id = pml__otf2_id(&t->locations, i);
  *o = (struct pml__otf2_opened){0};
  int err = pml__otf2_check_definitions(t, i);
  if (err == 0) err = pml__otf2_check_file(t, id, "evt");
  if (err == 0) err = open_location(t, id, callbacks, user, o);
  if (err < 0) pml__otf2_close_events(o);
  return err;
}

void pml__otf2_close_events(struct pml__otf2_opened *o) {
  if (o->events != NULL) (void)OTF2_Reader_CloseEvtReader(o->archive, o->events);
  if (o->archive != NULL) (void)OTF2_Reader_Close(o->archive);
  *o = (struct pml__otf2_opened){0};
  pml__otf2_forget();
}

int pml__otf2_busy(const struct pml_otf2_read *t) {
  return pml_fail(-EBUSY, "%.300s: its events are being read; open it a second time to ask more", t->path);
}

/* Reads no more events than the file contains, because after the end of a truncated file libotf2 may read the last
 * chunk repeatedly. */
static OTF2_ErrorCode read_counted(OTF2_Reader *of, OTF2_EvtReader *reader, uint64_t most, uint64_t *n) {
  OTF2_ErrorCode code = OTF2_SUCCESS;
  uint64_t got = 1;
  while (*n < most && got > 0 && code == OTF2_SUCCESS) {
    got = 0;
    code = OTF2_Reader_ReadLocalEvents(of, reader, most - *n, &got);
    *n += got;
  }
  return code;
}

int pml__otf2_read_events(const struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user,
                          uint64_t *n) {
  struct pml__otf2_opened o;
  *n = 0;
  int err = pml__otf2_open_events(t, i, callbacks, user, &o);
  if (err < 0) return err;
  bool cut = t->whole != NULL && t->whole[i] > 0;
  OTF2_ErrorCode code = read_counted(o.archive, o.events, cut ? t->whole[i] : pml_otf2_read_location(t, i)->events, n);
  bool fine = code == OTF2_ERROR_INTERRUPTED_BY_CALLBACK || pml__otf2_is_fine(code);
  err = fine ? 0 : pml__otf2_failed_read(t, "read the events of", code);
  if (code == OTF2_SUCCESS) err = pml__otf2_was_cut(t, i);
  pml__otf2_close_events(&o);
  return err;
}
