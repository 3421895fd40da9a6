/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/log/pml_log_format.h - what is where in a log (docs/log.md is the definition). Internal. */
#ifndef PML_LOG_FORMAT_H
#define PML_LOG_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PML__LOG_MAGIC UINT64_C(0x474f4c41554c4d50) /* PMLUALOG, from the lowest byte to the highest */
#define PML__LOG_VERSION 1u
#define PML__LOG_STEP 4096u       /* extents begin and end at multiples of it */
#define PML__LOG_ENTRIES_AT 4096u /* of the first directory, behind the head */
#define PML__LOG_DIRECTORY 65536u /* bytes: the head with the first directory, and each further directory */
#define PML__LOG_EXTENT_MAX (UINT64_C(1) << 40)
#define PML__LOG_DEFINITIONS_BYTES 65536u /* of an extent of them, if the text is not longer */
#define PML__LOG_NOTES_BYTES 8192u        /* of that, what only notes take */

enum pml__log_kind {
  PML__LOG_FREE,
  PML__LOG_MORE,           /* the next directory; the last entry of one is nothing else */
  PML__LOG_DEFINITIONS,    /* struct pml__log_definition, one behind the other */
  PML__LOG_SECTION_SUMS,   /* of @owner's calls of sections from @key on */
  PML__LOG_SECTION_VALUES, /* what the events of these counted */
  PML__LOG_SECTION_EVENTS  /* @owner's timeline; @key: events without room, at most 2^32 - 1 */
};

enum pml__log_ended { PML__LOG_RUNNING, PML__LOG_ENDED_EXIT, PML__LOG_ENDED_LEFT };

struct pml__log_head {
  uint64_t magic; /* atomic, stored last */
  uint32_t version, unused;
  int32_t pid, parent;
  int32_t rank, size;                 /* -1: not known */
  uint64_t born;                      /* the process's start as /proc/PID/stat has it; the same after exec */
  uint64_t started_ns, started_ticks; /* the same moment, of CLOCK_REALTIME and of the clock */
  double ticks_per_second;
  char clock[32];
  uint64_t ended_ns; /* CLOCK_REALTIME */
  uint32_t ended;    /* atomic, stored last: enum pml__log_ended */
  int32_t refused;   /* atomic: the errno of why the file did not grow; 0: it always did */
  uint32_t epoch;    /* atomic: sums with another one are of before a reset */
  uint32_t entries;  /* atomic: filled, of all directories; the last of each full one is among them */
  char host[256], command[3072];
};
_Static_assert(offsetof(struct pml__log_head, entries) == 116 && offsetof(struct pml__log_head, command) == 376 &&
                   sizeof(struct pml__log_head) <= PML__LOG_ENTRIES_AT,
               "the head is as docs/log.md says, and has its place");

struct pml__log_entry {
  uint32_t kind; /* atomic, stored last */
  uint32_t key;
  uint64_t owner; /* a thread's number, 0: of several that ended */
  uint64_t at, bytes;
  uint64_t committed; /* atomic: bytes that are whole, from the beginning; 0 where records are fixed in place */
  uint64_t unused[3];
};
_Static_assert(sizeof(struct pml__log_entry) == 64, "entries do not share cache lines");

struct pml__log_definition {
  uint32_t what;
  uint32_t bytes; /* of all, a multiple of 8 */
};
enum pml__log_what {
  PML__LOG_SECTION = 1, /* struct pml__log_section, its label, the names of its events; each ends with a zero */
  PML__LOG_NOTE,        /* a key, a text; the last of a key counts */
  PML__LOG_QUANTILES,   /* struct pml__log_quantiles */
  PML__LOG_REGION       /* struct pml__log_region, its name */
};

struct pml__log_section {
  uint32_t index, type; /* enum pml_section_type */
  uint32_t exclusive, record;
  uint32_t nevents;
  uint32_t real; /* a bit for each event whose sums are doubles */
};

#define PML__LOG_QUANTILES_N 7u
struct pml__log_quantiles {
  uint32_t index, unused;
  double ns[PML__LOG_QUANTILES_N]; /* 0, 25, 50, 75, 95, 99, 100 % */
};

struct pml__log_region {
  uint32_t region, unused;
};

struct pml__log_event {
  uint64_t ticks;
  uint32_t region, leave;
};

#endif
