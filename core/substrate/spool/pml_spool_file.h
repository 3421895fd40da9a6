/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/spool/pml_spool_file.h - what is where in a spool, and what its writers share. Internal.
 *
 * A file is units of 64 KiB. The first has the head; the others belong to extents of one or more units each, which
 * begin with a struct pml__spool_extent. What was allocated and not used, or could not be allocated, is zeros. All is
 * in the byte order and with the struct layouts of the machine that wrote it, and read there.
 *
 * Every part is written so that it can end anywhere: what counts is stored last, with release.
 */
#ifndef PML_SPOOL_FILE_H
#define PML_SPOOL_FILE_H

#include "record/pml_grown.h"
#include "substrate/spool/pml_spool.h"

#include <pthread.h>

#define PML__SPOOL_MAGIC UINT64_C(0x4c4f4f50534c4d50) /* PMLSPOOL, read from low to high */
#define PML__SPOOL_VERSION 4u
#define PML__SPOOL_UNIT 65536u
#define PML__SPOOL_HEAD_BYTES 16384u
#define PML__SPOOL_TEXT_BYTES 7168u
#define PML__SPOOL_EVENT_UNITS 4u
#define PML__SPOOL_MARKS (1u << 20) /* regions from here on are not recorded */
#define PML__SPOOL_SIZES 40
#define PML__SPOOL_FILE_MAX 4095u
#define PML__SPOOL_NAME_MAX 16383u

enum pml__spool_counter {
  PML__SPOOL_DROPPED,   /* calls, and values alone, without room or too deep to follow */
  PML__SPOOL_UNMATCHED, /* leaves of what was not entered, or is not innermost */
  PML__SPOOL_LIFTED,    /* events whose time went back */
  PML__SPOOL_DEEP,      /* calls left out: by each limit */
  PML__SPOOL_SHORT,
  PML__SPOOL_OFTEN,
  PML__SPOOL_UNRECORDED, /* events whose values are not those that are kept */
  PML__SPOOL_COUNTERS
};

struct pml__spool_head {
  uint64_t magic;               /* atomic, stored last */
  uint32_t version, node_bytes; /* of struct pml__profile_node */
  uint32_t clock_kind;
  uint32_t ended; /* atomic: enum pml_spool_end */
  int32_t pid, parent;
  uint64_t ticks, realtime_ns; /* at the same moment, when it was made */
  double ticks_per_second;
  uint64_t lost_children; /* atomic */
  int32_t refused;        /* atomic: the errno of why the file did not grow; 0: it always did */
  uint32_t counted;       /* atomic: enum pml_count_at */
  int32_t uncounted;      /* atomic: of why a thread's events have no more values; 0: all have */
  uint32_t unused;
  uint64_t count[PML__SPOOL_COUNTERS]; /* atomic: of threads without an extent */
  uint64_t real[2];                    /* atomic: which metrics are doubles */
  uint32_t nmetrics, traced;           /* their names are in the text */
  uint32_t told;                       /* atomic: 0: nothing yet, 1 or 2: that text counts */
  char text[2][PML__SPOOL_TEXT_BYTES];
};
_Static_assert(sizeof(struct pml__spool_head) <= PML__SPOOL_HEAD_BYTES, "the head has its place");

enum pml__spool_kind { PML__SPOOL_NAMES = 1, PML__SPOOL_MEMORY, PML__SPOOL_EVENTS };

struct pml__spool_extent {
  uint32_t kind; /* atomic, stored last */
  uint32_t units;
  uint32_t thread; /* of events: whose, until a record names another */
  int32_t tid;
  uint64_t count[PML__SPOOL_COUNTERS]; /* atomic: of the threads that wrote here */
  uint64_t at;                         /* atomic, of names: where the next one goes: the writers' */
  uint64_t unused[6];
};
_Static_assert(sizeof(struct pml__spool_extent) == 128, "events begin at a cache line");

/* In an extent of names, one after the other; a zero @region is 8 bytes that nobody used. */
struct pml__spool_name {
  uint32_t region; /* atomic, stored last */
  uint32_t bytes;  /* of all, a multiple of 8 */
  char text[];     /* the file, the name, each ended by a zero */
};

/* In an extent of memory, one after the other. */
struct pml__spool_block {
  uint32_t used; /* atomic, stored last: PML__SPOOL_USED */
  uint32_t whose, part;
  uint32_t unused[5];
  uint64_t bytes;                /* of what follows, a multiple of 64; 0: no more blocks */
  struct pml__spool_block *next; /* in the list of free ones: the writer's */
  uint64_t padding[2];
};
_Static_assert(sizeof(struct pml__spool_block) == 64, "memory is aligned");
#define PML__SPOOL_USED 0x75u

/* A block with this part: sums of a region's values. */
#define PML__SPOOL_SUMS_PART 0x200u
struct pml__spool_sums {
  pml_region_t region;
  uint32_t n;
  uint64_t sum[]; /* [n] atomic */
};

/*
 * A block with this part: values of a region's calls, with copies of their figures, and then their names, each ended by
 * a zero.
 */
#define PML__SPOOL_VALUES_PART 0x201u
#define PML__SPOOL_STRIPES 8u
#define PML__SPOOL_VALUE_NAME_MAX 255u
struct pml__spool_figures {
  uint64_t count;       /* atomic, as all here; added to last */
  uint64_t low, high;   /* the sum: a double's bits, or an integer of 128 bits */
  uint64_t least, most; /* a double's bits, or an int64_t's */
};
struct pml__spool_values {
  pml_region_t region;
  uint32_t n;       /* atomic, stored last */
  uint64_t real;    /* which are doubles */
  uint64_t results; /* 1: they are what calls gave; 0: what they were given */
  uint64_t padding[5];
};
_Static_assert(sizeof(struct pml__spool_values) == 64, "stripes begin at a cache line");

/* Of the largest block, which is a multiple of 64 as all are. */
#define PML__SPOOL_VALUES_BYTES_MAX                                                                                    \
  (sizeof(struct pml__spool_values) +                                                                                  \
   PML_SPOOL_VALUES_MAX * (PML__SPOOL_STRIPES * sizeof(struct pml__spool_figures) + PML__SPOOL_VALUE_NAME_MAX + 1))
_Static_assert(PML__SPOOL_VALUES_BYTES_MAX % 64 == 0, "a block can be as large");

static inline size_t pml__spool_stripe_bytes(uint32_t n) {
  return (n * sizeof(struct pml__spool_figures) + 63) & ~(size_t)63;
}
/* [n]; those behind the last stripe are the names. */
static inline struct pml__spool_figures *pml__spool_figures(struct pml__spool_values *b, uint32_t n, uint32_t stripe) {
  return (struct pml__spool_figures *)(void *)((char *)(b + 1) + stripe * pml__spool_stripe_bytes(n));
}

/* In an extent of events: {ticks, kind << 32 | region}. */
struct pml__spool_event {
  uint64_t ticks; /* of PML__SPOOL_THREAD: the tid */
  uint64_t word;  /* atomic, stored last; 0: no more events here */
};
enum pml__spool_event_kind {
  PML__SPOOL_ENTER = 1,
  PML__SPOOL_LEAVE,
  PML__SPOOL_METRIC, /* of that many values, two to each event that follows */
  PML__SPOOL_THREAD, /* from here on it is that thread's */
  PML__SPOOL_LEFT,   /* a leave of a call that did not return */
  PML__SPOOL_VALUES  /* of the innermost call, two to each event that follows: its block of values has their names */
};
#define PML__SPOOL_WORD(kind, low) ((uint64_t)(kind) << 32 | (uint32_t)(low))

/* The lower half of values: whether they are results, how many there are, and the region. */
#define PML__SPOOL_OF_CALL(results, n, region) ((uint32_t)(results) << 31 | (uint32_t)(n) << 24 | (uint32_t)(region))
#define PML__SPOOL_OF_CALL_RESULTS(low) ((low) >> 31 != 0)
#define PML__SPOOL_OF_CALL_N(low) ((low) >> 24 & 0x7fu)
#define PML__SPOOL_OF_CALL_REGION(low) ((low)&0xffffffu)
_Static_assert(PML__SPOOL_MARKS <= 1u << 24 && PML_SPOOL_VALUES_MAX <= 0x7f, "each has its bits");

#define PML__SPOOL_FIRST_EVENT (sizeof(struct pml__spool_extent) / sizeof(struct pml__spool_event))
#define PML__SPOOL_EXTENT_EVENTS (PML__SPOOL_EVENT_UNITS * PML__SPOOL_UNIT / sizeof(struct pml__spool_event))

/* ---- what the writer's parts share ---- */

struct pml__spool_track;

struct pml_spool {
  struct pml__spool_head *head;
  struct pml__grown file;
  bool sealed;        /* atomic */
  uint64_t next_unit; /* atomic */

  struct pml__spool_extent *names; /* atomic: where names are put now */
  struct pml__spool_map *maps;     /* atomic: extents that stay mapped */

  pthread_mutex_t lock;                            /* guards what follows */
  struct pml__spool_block *free[PML__SPOOL_SIZES]; /* by the logarithm of their sizes */
  char *at, *end;                                  /* of the extent that small blocks come from */

  uint32_t *mark; /* [PML__SPOOL_MARKS] atomic: a bit if the region has its name in the file, and its calls */
  struct pml_spool_limits limits;
  const struct pml_stream_metrics *metrics;
  uint64_t consumer;
  struct pml__spool_track *tracks, *spare; /* under the lock */
  uint32_t nthreads;                       /* atomic */
  uint64_t summing;
  struct pml__spool_summer *summers, *spare_summers; /* under the lock */
  struct pml__spool_values **values;                 /* atomic, [2 PML__SPOOL_MARKS]: arguments, results of a region */
  bool trace_values;                                 /* they are in the trace, too */
};

/* No system call is made for it. */
static inline bool pml__spool_is_sealed(const struct pml_spool *s) {
  return __atomic_load_n(&s->sealed, __ATOMIC_RELAXED);
}
#define PML__SPOOL_NAMED (UINT32_C(1) << 31)

/* pml__spool_extent - @units more of the file, mapped, with all but the kind to be filled in; NULL: no room. Keeps
 * errno. */
struct pml__spool_extent *pml__spool_extent(struct pml_spool *s, uint32_t units);
void pml__spool_unmap(struct pml__spool_extent *e);

/* Each ends its consumer, if there is one. */
void pml__spool_sum_end(struct pml_spool *s);
void pml__spool_trace_end(struct pml_spool *s);
void pml__spool_values_end(struct pml_spool *s);
/* The calling thread's trace gets values of its innermost call, if that is one of @region and is in the trace. */
void pml__spool_trace_values(const struct pml_spool *s, pml_region_t region, bool results,
                             const struct pml_spool_value *v, uint32_t n);
void pml__spool_trace_abandon(const struct pml_spool *s); /* in a child: unmaps what threads of the parent had */

#endif
