/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_read_location.c - the events of one location, and what they refer to. */
#include "substrate/trace/read/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "substrate/trace/pml_otf2_error.h"
#include "substrate/trace/read/pml_otf2_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what a question is about ---- */

/* The nearest tick, so that an event's time is its own. Whole ones are added: a time since 1970 has more digits. */
uint64_t pml__otf2_ticks(const struct pml_otf2_read *t, double s) {
  double ticks = floor(s * (double)t->resolution + 0.5);
  if (!(ticks > -(double)t->start)) return 0;
  if (ticks >= 0x1p63) return UINT64_MAX;
  uint64_t time = t->start + (uint64_t)(int64_t)ticks;
  return ticks >= 0 && time < t->start ? UINT64_MAX : time;
}

double pml_otf2_read_end(const struct pml_otf2_read *t, const struct pml_otf2_question *q) {
  double length = (double)t->length / (double)t->resolution;
  return q->to_s < length ? q->to_s : length;
}

uint64_t *pml__otf2_boundaries(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t columns) {
  uint64_t *at = calloc(columns + 1, sizeof *at);
  if (at == NULL) return NULL;
  double end = columns > 1 ? pml_otf2_read_end(t, q) : q->to_s;
  for (size_t i = 0; i < columns; i++)
    at[i] = pml__otf2_ticks(t, q->from_s + (end - q->from_s) * ((double)i / (double)columns));
  at[0] = pml__otf2_ticks(t, q->from_s);
  at[columns] = pml__otf2_ticks(t, end);
  return at;
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
  const struct pml_otf2_read_comm *comm = (const void *)t->comms.at;
  const struct pml__otf2_group *group = (const void *)t->groups.at;
  size_t c = pml__otf2_find(&t->comms, id);
  size_t g = c != PML_OTF2_NONE ? comm[c].group : PML_OTF2_NONE;
  return g != PML_OTF2_NONE ? &group[g] : NULL;
}

/* The group of a communicator counts ranks of MPI_COMM_WORLD, or it is of one rank alone. */
size_t pml__otf2_peer(const struct pml_otf2_read *t, size_t location, uint32_t rank, OTF2_CommRef id) {
  const struct pml__otf2_group *group = group_of(t, id);
  if (group == NULL || !group->mpi) return PML_OTF2_NONE;
  if (group->type == OTF2_GROUP_TYPE_COMM_SELF) return location;
  if (group->type != OTF2_GROUP_TYPE_COMM_GROUP || rank >= group->is.n || t->world == NULL) return PML_OTF2_NONE;
  uint64_t world = group->is.member[rank];
  return world < t->world->is.n ? pml__otf2_find(&t->locations, t->world->is.member[world]) : PML_OTF2_NONE;
}

uint32_t pml__otf2_members(const struct pml_otf2_read *t, OTF2_CommRef id) {
  const struct pml__otf2_group *group = group_of(t, id);
  if (group == NULL) return 0;
  if (group->type == OTF2_GROUP_TYPE_COMM_SELF) return 1;
  return group->type == OTF2_GROUP_TYPE_COMM_GROUP ? (uint32_t)group->is.n : 0;
}

const struct pml__otf2_class *pml__otf2_class_of(const struct pml_otf2_read *t, uint32_t id) {
  const struct pml__otf2_class *class = (const void *)t->classes.at;
  size_t i = pml__otf2_find(&t->classes, id);
  if (i != PML_OTF2_NONE && class[i].metric == NULL) i = pml__otf2_find(&t->classes, class[i].like);
  return i != PML_OTF2_NONE && class[i].metric != NULL ? &class[i] : NULL;
}

/* ---- reading ---- */

/* The descriptor of a file of the archive; *n: its bytes. -1: it cannot be opened, and libotf2 will say why. */
static int open_file(const struct pml_otf2_read *t, const char *name, off_t *n) {
  char path[PATH_MAX];
  struct stat status;
  const char *anchor = t->mended != NULL ? t->mended : t->path;
  int stem = (int)(strlen(anchor) - strlen(".otf2")); /* the anchor's name says where the files are */
  int length = snprintf(path, sizeof path, "%.*s%s", stem, anchor, name);
  int fd = length > 0 && (size_t)length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  bool is = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  *n = is ? status.st_size : 0;
  if (fd >= 0 && !is) close(fd);
  return is ? fd : -1;
}

/*
 * libotf2 ends each file with the records "end of chunk" and "end of file". Where they are missing it reads on in
 * memory that it did not fill: events that never were, or for ever.
 */
int pml__otf2_check_end(const struct pml_otf2_read *t, const char *name) {
  static const char ending[] = {2, 1};
  char last[sizeof ending];
  off_t size;
  int fd = open_file(t, name, &size);
  if (fd < 0) return 0;
  bool is = size >= (off_t)sizeof last && pread(fd, last, sizeof last, size - (off_t)sizeof last) == sizeof last &&
            memcmp(last, ending, sizeof last) == 0;
  close(fd);
  return is ? 0 : pml_fail(PML_EFORMAT, "%.300s: cut: the end of its file '%s' is missing", t->path, name);
}

/* Of a byte order that it does not know libotf2 reads numbers that never were. */
static int check_order(const struct pml_otf2_read *t, const char *name) {
  static const char big = 0x23, little = 0x42;
  char first[2];
  off_t size;
  int fd = open_file(t, name, &size);
  if (fd < 0) return 0;
  bool is = pread(fd, first, sizeof first, 0) == sizeof first && (first[1] == big || first[1] == little);
  close(fd);
  return is ? 0 : pml_fail(PML_EFORMAT, "%.300s: damaged: its file '%s' has no byte order", t->path, name);
}

static int check_location(const struct pml_otf2_read *t, uint64_t id, const char *kind) {
  char name[32];
  (void)snprintf(name, sizeof name, "/%" PRIu64 ".%s", id, kind);
  int err = pml__otf2_check_end(t, name);
  return err < 0 ? err : check_order(t, name);
}

/* libotf2 keeps the memory of a file of definitions that it did not find. */
static bool has_definitions(const struct pml_otf2_read *t, uint64_t id) {
  char name[32];
  off_t size;
  (void)snprintf(name, sizeof name, "/%" PRIu64 ".def", id);
  int fd = open_file(t, name, &size);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* Tables that map a location's numbers to those of the archive are in files of definitions, which need not be there. */
static void read_maps(const struct pml_otf2_read *t, OTF2_Reader *of, uint64_t id) {
  uint64_t n;
  if (!has_definitions(t, id)) return;
  (void)OTF2_Reader_OpenDefFiles(of);
  OTF2_DefReader *reader = OTF2_Reader_GetDefReader(of, id);
  if (reader != NULL) {
    (void)OTF2_Reader_ReadAllLocalDefinitions(of, reader, &n);
    (void)OTF2_Reader_CloseDefReader(of, reader);
  }
  pml__otf2_forget();
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

/* With a reader of its own: libotf2 keeps what it read of a location's clock, and would add it again. */
int pml_otf2_read_clock(struct pml_otf2_read *t, size_t i, struct pml_otf2_read_clock *c) {
  struct offsets o = {0};
  uint64_t n;
  *c = (struct pml_otf2_read_clock){0};
  if (i >= t->locations.n) return pml_fail(-EINVAL, "%.300s: no such location", t->path);
  uint64_t id = pml__otf2_id(&t->locations, i);
  if (pml_otf2_read_location(t, i)->events == 0 || !has_definitions(t, id)) return 0;
  if (check_location(t, id, "def") < 0) return 0;
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
  o->archive = OTF2_Reader_Open(t->mended != NULL ? t->mended : t->path);
  if (o->archive == NULL) return pml__otf2_failed_read(t, "open", OTF2_ERROR_INVALID);
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(o->archive);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_SelectLocation(o->archive, id);
  read_maps(t, o->archive, id);
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
  int err = check_location(t, id, "def");
  if (err == 0) err = check_location(t, id, "evt");
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

/*
 * Not more events than the definitions count: behind the end of a file that is cut libotf2 may read its last chunk
 * again and again.
 */
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
