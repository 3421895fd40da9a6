/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read_private.h - structure of an archive reader and its definitions. Internal. */
#ifndef PML_OTF2_READ_PRIVATE_H
#define PML_OTF2_READ_PRIVATE_H

#include "read/otf2/pml_otf2_read.h"

#include "base/pml_error.h"

#include <errno.h>
#include <otf2/otf2.h>

/* The first parameters of a callback for events. */
#define PML__OTF2_UNUSED __attribute__((unused))
#define PML__OTF2_AT                                                                                                   \
  PML__OTF2_UNUSED OTF2_LocationRef location, PML__OTF2_UNUSED OTF2_TimeStamp time,                                    \
      PML__OTF2_UNUSED uint64_t position, void *user, PML__OTF2_UNUSED OTF2_AttributeList *attributes

/* Definitions of a kind, of @size bytes each, which begin with their number; sorted by number once all are read. */
struct pml__otf2_list {
  char *at;
  size_t n, capacity, size;
  bool wide; /* numbers have 64 bits */
};

/* pml__otf2_find - the index of number @id, or PML_OTF2_NONE. One load if numbers have no gaps, otherwise a search. */
size_t pml__otf2_search(const struct pml__otf2_list *l, uint64_t id);
static inline uint64_t pml__otf2_id(const struct pml__otf2_list *l, size_t i) {
  const char *at = l->at + i * l->size;
  return l->wide ? *(const uint64_t *)(const void *)at : *(const uint32_t *)(const void *)at;
}
static inline size_t pml__otf2_find(const struct pml__otf2_list *l, uint64_t id) {
  return id < l->n && pml__otf2_id(l, (size_t)id) == id ? (size_t)id : pml__otf2_search(l, id);
}

struct pml__otf2_group {
  struct pml_otf2_read_group is;
  OTF2_GroupType type;
  uint64_t *members; /* the members of @is, owned */
  bool mpi;
};

/* A class of metrics, or an instance, which refers to a class and has a scope: number @scope of @kind. */
struct pml__otf2_class {
  uint32_t id, like, n;
  size_t *metric; /* [n] indices in the order of metrics, or PML_OTF2_NONE; NULL: the same as class @like */
  uint64_t recorder, scope;
  OTF2_MetricScope kind;
  bool of_process; /* class: an instance has the process of its recorder as its scope */
};

struct pml__otf2_window_of {
  uint32_t id, comm;
};

struct pml_otf2_read {
  OTF2_Reader *reader; /* used while the definitions are read */
  char *path, *creator, *machine;
  uint64_t resolution, start, length, realtime;
  uint64_t chunk; /* buffer size for reading a location's events, bytes */
  struct pml__otf2_list strings, nodes, processes, locations, regions, groups, comms, metrics, classes, properties,
      domains, /* domains: numbers of nodes that share memory */
      windows;
  size_t hosts;
  const struct pml__otf2_group *world; /* the locations in the order of ranks; NULL: no MPI */
  bool refused;                        /* no memory for a definition */
  bool reading;                        /* an iteration over its events is open */
  char *repaired;                      /* the anchor for reading events; NULL: @path */
  bool *undefined;                     /* [nlocations] its definition file is missing */
  uint64_t *whole;                     /* [nlocations] events in the copy of a truncated file; 0: not truncated */
};

/* pml__otf2_read_definitions - call it after _open. Returns 0, -ENOMEM, PML_EOTF2 or PML_EFORMAT. */
void pml__otf2_definitions_open(struct pml_otf2_read *t);
int pml__otf2_read_definitions(struct pml_otf2_read *t);
void pml__otf2_definitions_close(struct pml_otf2_read *t);

/* pml__otf2_add - room for another definition in @l; NULL: no memory, which @t->refused keeps. */
void *pml__otf2_add(struct pml_otf2_read *t, struct pml__otf2_list *l);

/* pml__otf2_resolve_scopes - add a metric for each scope of each metric, after all other definitions are resolved.
 * Returns false without memory. Cost: linear in instances, and in the depth of the system tree. */
bool pml__otf2_resolve_scopes(struct pml_otf2_read *t);

/* pml__otf2_class_of - the class of an event's reference; NULL: undefined. */
const struct pml__otf2_class *pml__otf2_class_of(const struct pml_otf2_read *t, uint32_t id);

/* pml__otf2_asked - whether @q selects location @i, and it has events. */
bool pml__otf2_asked(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t i);
/* pml__otf2_wanted - [nregions] the regions selected by @q, to be freed with free(); NULL: no memory. */
bool *pml__otf2_wanted(const struct pml_otf2_read *t, const struct pml_otf2_question *q);
/* pml__otf2_peer - the location of rank @rank in communicator @id, which @location uses, or PML_OTF2_NONE. */
size_t pml__otf2_peer(const struct pml_otf2_read *t, size_t location, uint32_t rank, OTF2_CommRef id);

/* pml__otf2_members - the number of ranks in communicator @id; 0: unknown. */
uint32_t pml__otf2_members(const struct pml_otf2_read *t, OTF2_CommRef id);

/*
 * pml__otf2_open_file - the archive's file @name, such as "/0.evt" or ".def"; *@size: its bytes, if not NULL. Returns a
 * descriptor or -errno; -ENOENT: no such file. Only regular files are opened.
 * pml__otf2_file_name - the name of a location's file of @kind "def" or "evt".
 */
int pml__otf2_open_file(const struct pml_otf2_read *t, const char *name, uint64_t *size);
#define PML__OTF2_NAME 32
void pml__otf2_file_name(char name[PML__OTF2_NAME], uint64_t location, const char *kind);

/*
 * pml__otf2_look_at_files - after reading the definitions: find the number of events in each location's file, and
 * missing definition files. Returns 0, -ENOMEM or PML_EFORMAT (events without a location). Cost: opens two files of
 * each location.
 */
int pml__otf2_look_at_files(struct pml_otf2_read *t);

/* pml__otf2_check_file, _check_definitions - check that libotf2 can read a file of a location; returns 0, PML_EFORMAT
 * or -errno. */
int pml__otf2_check_file(const struct pml_otf2_read *t, uint64_t location, const char *kind);
int pml__otf2_check_definitions(const struct pml_otf2_read *t, size_t i);

/*
 * pml__otf2_check_end - check that the archive's file @name, such as "/0.evt" or ".def", has libotf2's end marker.
 * Returns 0, also if the file does not exist; PML_EFORMAT; or -errno if it is not a regular file, which must not be
 * read.
 */
int pml__otf2_check_end(const struct pml_otf2_read *t, const char *name);

/* A separate reader of the archive for the events of one location, because libotf2's work for a location grows with the
 * number of locations in a reader. It costs 15 us, 10 KB and the memory of a chunk. */
struct pml__otf2_opened {
  OTF2_Reader *archive; /* NULL: closed */
  OTF2_EvtReader *events;
};
/*
 * pml__otf2_open_events - open the events of location @i; closed on failure. Several threads may each open locations.
 */
int pml__otf2_open_events(const struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user,
                          struct pml__otf2_opened *o);
void pml__otf2_close_events(struct pml__otf2_opened *o);

/* pml__otf2_read_events - pass the events of location @i to @callbacks, any of which may interrupt; *n: their number.
 * Returns 0, or PML_EOTF2 after the events before the damage. */
int pml__otf2_read_events(const struct pml_otf2_read *t, size_t i, const OTF2_EvtReaderCallbacks *callbacks, void *user,
                          uint64_t *n);

/* pml__otf2_boundaries - [columns + 1] the limits of the columns of @q's window, in ticks, to be freed with free();
 * NULL: no memory. A single column ends with the window, several at the latest with the trace. */
uint64_t *pml__otf2_boundaries(const struct pml_otf2_read *t, const struct pml_otf2_question *q, size_t columns);

/* pml__otf2_first - begin of @q's window, in ticks; 0 if it begins with the trace, even if events are earlier. */
uint64_t pml__otf2_first(const struct pml_otf2_read *t, const struct pml_otf2_question *q);

/* pml__otf2_ticks - convert seconds since the trace's beginning to its clock; out of range: 0 or UINT64_MAX. */
uint64_t pml__otf2_ticks(const struct pml_otf2_read *t, double s);

/* pml__otf2_time - an event's time after libotf2's correction: a time that the correction moves below 0 has wrapped
 * around, and becomes 0. Times are less than 2^63 from the start, so the distance tells these from large times. */
static inline uint64_t pml__otf2_time(const struct pml_otf2_read *t, uint64_t time) {
  int64_t distance = (int64_t)(time - t->start);
  return distance < 0 && UINT64_C(0) - (uint64_t)distance > t->start ? 0 : time;
}

/* pml__otf2_is_damage - whether @err concerns the events of one location only. */
static inline bool pml__otf2_is_damage(int err) {
  return err == PML_EOTF2 || err == PML_EFORMAT || err == -ENOENT;
}

/* pml__otf2_busy - refuses to read events during an iteration. */
int pml__otf2_busy(const struct pml_otf2_read *t);

/* pml__otf2_failed_read - a failure of libotf2 while @t is read. */
int pml__otf2_failed_read(const struct pml_otf2_read *t, const char *what, OTF2_ErrorCode code);

#endif
