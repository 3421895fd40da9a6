/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_log_read.h - reader of a log's extents and definitions. Nothing in a log is trusted. Internal. */
#ifndef PML_LOG_READ_H
#define PML_LOG_READ_H

#include "record/log/pml_log.h"

struct pml__log_reader {
  int fd;
  const char *path;     /* owned by the caller */
  uint64_t bytes;       /* of the file */
  uint64_t modified_ns; /* CLOCK_REALTIME, by the file system */
  struct pml__log_head head;
  size_t n;
  struct pml__log_entry *entry; /* those in use whose extents are in the file whole */
  uint64_t *place;              /* of each in the file */
  uint32_t missing;             /* extents that the file is too short for */
  bool lossy;                   /* only the last extents that were moved out are kept, and some are gone */
};

/*
 * pml__log_read_open - @path is read from now on; its process may still write to it.
 * Returns 0, -errno of open or read, PML_EFORMAT (no log, of another version or byte order, damaged), -ENOMEM, with a
 * sentence. Nothing in the file is trusted: entries that lie outside of it, or that together are larger than it is, are
 * refused. Memory: 72 bytes per extent, twice as many meanwhile. Close it either way.
 */
PML__SHARED int pml__log_read_open(struct pml__log_reader *r, const char *path);
PML__SHARED void pml__log_read_close(struct pml__log_reader *r);

/* pml__log_read_at - @bytes at @at of the file, all of them. 0, -errno; PML_EFORMAT where the file ends before. */
int pml__log_read_at(const struct pml__log_reader *r, uint64_t at, void *to, size_t bytes);

/*
 * pml__log_read_extent - a copy of what entry @i has; its @bytes are those that are committed, or all, where records
 * are fixed in place. Free it with free(). NULL: *@err says why; 0: the writer has given the extent to another by now.
 */
void *pml__log_read_extent(const struct pml__log_reader *r, size_t i, uint64_t *bytes, int *err);

/*
 * pml__log_call_values - the values that @e, a PML__LOG_CALL_COMMUNICATION, would have as a PML__LOG_COMMUNICATION: how
 * many, 0 if it has no such values. The caller has checked that the events with them follow.
 */
#define PML__LOG_CALL_VALUES 4
uint32_t pml__log_call_values(const struct pml__log_event *e, uint64_t value[PML__LOG_CALL_VALUES]);
/* pml__log_read_part - the same of @bytes at @from, which the extent must have. */
void *pml__log_read_part(const struct pml__log_reader *r, size_t i, uint64_t from, uint64_t bytes, int *err);

/*
 * pml__log_read_definitions - each in the order of writing, its @bytes behind the struct. Damaged records end an
 * extent. Ends early with what @visit returns if that is not 0. Returns 0, -errno, PML_EFORMAT or what @visit returned.
 */
PML__SHARED int pml__log_read_definitions(const struct pml__log_reader *r,
                                          int (*visit)(uint32_t what, const char *at, size_t bytes, void *arg),
                                          void *arg);

/* pml__log_text - the text at *@at, which moves behind it, of at most *@left bytes; NULL: it does not end there. */
PML__SHARED const char *pml__log_text(const char **at, size_t *left);

/* pml__log_region_of - the region that is defined at @at, with texts that are valid as long as @at; false: damaged. */
struct pml__log_named_region {
  uint32_t region, line;
  const char *name, *file, *kind;
};
bool pml__log_region_of(const char *at, size_t bytes, struct pml__log_named_region *r);

#endif
