/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/log/pml_log_format.h - layout of a log (docs/log.md is the definition). Internal. */
#ifndef PML_LOG_FORMAT_H
#define PML_LOG_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PML__LOG_MAGIC UINT64_C(0x474f4c41554c4d50) /* PMLUALOG, from the lowest byte to the highest */
#define PML__LOG_VERSION 3u
#define PML__LOG_STEP 4096u       /* extents begin and end at multiples of it */
#define PML__LOG_ENTRIES_AT 4096u /* of the first directory, behind the head */
#define PML__LOG_DIRECTORY 65536u /* bytes: the head with the first directory, and each further directory */
#define PML__LOG_EXTENT_MAX (UINT64_C(1) << 40)
#define PML__LOG_DEFINITIONS_BYTES 65536u /* size of their extents, unless a text is longer */
#define PML__LOG_NOTES_BYTES 8192u        /* part of it reserved for notes */

enum pml__log_kind {
  PML__LOG_FREE,
  PML__LOG_MORE,           /* the next directory; the last entry of one is nothing else */
  PML__LOG_DEFINITIONS,    /* struct pml__log_definition, one behind the other */
  PML__LOG_SECTION_SUMS,   /* of @owner's calls of sections from @key on */
  PML__LOG_SECTION_VALUES, /* what the events of these counted */
  PML__LOG_SECTION_EVENTS, /* @owner's timeline: struct pml__log_timeline, struct pml__log_event */
  PML__LOG_RECORDING,      /* struct pml__log_recording, in a process whose calls are recorded */
  PML__LOG_BLOCKS,         /* a series of struct pml__log_block: sums of calls */
  PML__LOG_EVENTS,         /* struct pml__log_buffer, then events, until an empty one; @key: the tid of @owner */
  PML__LOG_CELLS,          /* struct pml__log_cell, fixed in place */
  PML__LOG_ELEMENTS,       /* stream @owner of recorder @key: struct pml__log_elements, then the elements */
  PML__LOG_SAMPLES,        /* struct pml__log_samples, then the samples; unused ones have all bits set */
  PML__LOG_COUNTS,         /* of compiled-in counts: struct pml_count_area */
  PML__LOG_ACCESSES,       /* of watchpoints: struct pml__store_head, lanes and chunks */
  PML__LOG_SERIES,         /* of plugin metric @key, at thread @owner: struct pml__log_series, then pairs */
  PML__LOG_OPENMP,         /* struct pml__log_openmp, fixed in place */
  PML__LOG_CHILDREN,       /* struct pml__log_children: forked children without a log yet */
  PML__LOG_HISTORY,        /* chunks of compressed series: struct pml__log_history */
  PML__LOG_KINDS
};

/* PML__LOG_SNAPSHOT: a copy of what a process had at ended_ns; the process went on. */
enum pml__log_ended { PML__LOG_RUNNING, PML__LOG_ENDED_EXIT, PML__LOG_ENDED_LEFT, PML__LOG_SNAPSHOT };

struct pml__log_head {
  uint64_t magic; /* atomic, stored last */
  uint32_t version;
  uint32_t waited; /* how it ended, by who waited for it: 1 + its status, or 257 + the signal; 0: not known */
  int32_t pid, parent;
  int32_t rank, size;                 /* -1: not known */
  uint64_t born;                      /* the process's start as /proc/PID/stat has it; the same after exec */
  uint64_t started_ns, started_ticks; /* the same moment, of CLOCK_REALTIME and of the clock */
  double ticks_per_second;
  char clock[32];
  uint64_t ended_ns; /* CLOCK_REALTIME; 0: not known */
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
  uint64_t committed; /* atomic: bytes at the beginning that are whole; 0 if records are fixed in place */
  uint64_t address;   /* of its first byte, in the memory of the process that wrote it; 0: it was never mapped */
  uint64_t turn;      /* atomic: how often it was moved out; in a moved-out extent: how often before that */
  uint64_t from;      /* position of the extent that this was moved out of; 0: none */
};
_Static_assert(sizeof(struct pml__log_entry) == 64, "entries do not share cache lines");

struct pml__log_definition {
  uint32_t what;
  uint32_t bytes; /* including this, a multiple of 8 */
};
enum pml__log_what {
  PML__LOG_SECTION = 1,  /* struct pml__log_section, its label, names of its events, interface; each ends with a zero */
  PML__LOG_NOTE,         /* a key, a text; later notes override earlier ones of the same key */
  PML__LOG_REGION = 4,   /* struct pml__log_region, its name, its file, its kind; logs of 1.0.0 lack kinds */
  PML__LOG_COUNTER,      /* struct pml__log_counter, the event's name */
  PML__LOG_RECORDER,     /* struct pml__log_recorder, the event's name or the section's label */
  PML__LOG_SIMULATED,    /* struct pml__log_simulated: the cost of a region under simulation */
  PML__LOG_MEASURED,     /* struct pml__log_measured, its plugin, name, unit, description */
  PML__LOG_COMMUNICATOR, /* struct pml__log_communicator, its name, ranks */
  PML__LOG_CLOCK_OFFSET, /* struct pml__log_clock_offset */
  PML__LOG_MPI,          /* struct pml__log_mpi, the library's version */
  PML__LOG_TOLD,         /* struct pml__log_told, a name, a value */
  PML__LOG_WINDOW,       /* struct pml__log_window, its name */
  PML__LOG_SKETCH,       /* struct pml__log_sketch, the bytes of a sketch (pml__sketch_pack()) */
  PML__LOG_QUANTILES,    /* struct pml__log_quantiles */
  PML__LOG_LIST,         /* struct pml__log_list, the names of its values */
  PML__LOG_HISTORY_NAME  /* struct pml__log_history_name, the event's name */
};

struct pml__log_section {
  uint32_t index, type; /* enum pml_section_type */
  uint32_t exclusive, record;
  uint32_t nevents;
  uint32_t real; /* a bit for each event whose sums are doubles */
};

struct pml__log_sketch {
  uint32_t index; /* number of the section; durations are in ticks */
  uint32_t bytes; /* of the sketch */
};

/* Quantiles of the durations of a section: 0, 25, 50, 75, 95, 99, 100 %. */
struct pml__log_quantiles {
  uint32_t index, unused;
  double ns[7];
};

/* The values of events of PML__LOG_METRIC with this number. A bit for each value: @real: a double; @single: of the
 * event alone, such as an argument. */
#define PML__LOG_LISTS_MAX (1u << 16)
struct pml__log_list {
  uint32_t number, n;
  uint64_t real[2], single[2];
};

struct pml__log_region {
  uint32_t region, line; /* line 0: not known */
};

#define PML__LOG_SIMULATED_N 13u
struct pml__log_simulated {
  uint32_t region, thread; /* as valgrind numbers it */
  uint64_t calls, open;    /* of them, that were not left */
  uint64_t inclusive[PML__LOG_SIMULATED_N], exclusive[PML__LOG_SIMULATED_N];
};

/* ---- MPI ---- */

/* FOREIGN: it has members of another job. */
enum pml__log_communicator_flag {
  PML__LOG_COMM_WORLD = 1,
  PML__LOG_COMM_SELF = 2,
  PML__LOG_COMM_INTER = 4,
  PML__LOG_COMM_FOREIGN = 8
};
struct pml__log_communicator {
  uint32_t number; /* in this process; 1: of the world, 2: of this process alone */
  uint32_t flags;
  int32_t rank, size; /* in the communicator, or in its local group, if there are two groups */
  uint32_t parent;    /* number of the communicator it was made from; 0: none, or not known */
  int32_t root_world; /* rank in the world of its rank 0; -1: in another world */
  uint64_t global;    /* the same in all members; no two have the same */
};

/* A window of one-sided operations. Members of its communicator make windows in the same order. */
struct pml__log_window {
  uint32_t number;       /* in this process */
  uint32_t communicator; /* that it was made from: its number */
  uint32_t place;        /* among the windows of the communicator, from 1 on */
  uint32_t unused;
};

/* The offset in ns that converts this process's time to rank 0's. */
struct pml__log_clock_offset {
  uint64_t ticks; /* when */
  int64_t offset_ns;
  double error_ns; /* at most; 0: both read one clock */
};

struct pml__log_mpi {
  int32_t rank, size;
  int32_t thread_level; /* 0 single, 1 funneled, 2 serialized, 3 multiple */
  uint32_t job;         /* the same in all ranks, most likely another one in each job; 0: not known (yet) */
};

/* ---- events ---- */

struct pml__log_event {
  uint64_t ticks; /* PML__LOG_THREAD: the tid */
  uint64_t word;  /* kind << 32 | region, PML__LOG_IS_WHOLE; atomic, stored last. 0: no more events here */
};
enum pml__log_event_kind {
  PML__LOG_ENTER = 1,
  PML__LOG_LEAVE,
  PML__LOG_METRIC,         /* values, two in each following event: PML__LOG_OF_LIST */
  PML__LOG_THREAD,         /* later events belong to this thread */
  PML__LOG_LEFT,           /* a leave of a call that did not return, or not yet */
  PML__LOG_VALUES_OF_CALL, /* values of the innermost call, two in each following event; its block has their names */
  PML__LOG_COMMUNICATION,  /* MPI event, with values, two in each following event */
  PML__LOG_OPENMP_EVENT,   /* the same for OpenMP */
  PML__LOG_CALL_COMMUNICATION, /* MPI event of the enclosing call: the first value replaces the ticks */
  PML__LOG_UNDER_WAY           /* a call that began in an extent before, of which only the last are kept */
};
#define PML__LOG_OUTER UINT32_MAX /* instead of PML__LOG_UNDER_WAY's region: the ticks are a number of outer calls */
#define PML__LOG_WORD(kind, low) ((uint64_t)(kind) << 32 | (uint32_t)(low))

/* A whole call with nothing inside: an enter with the ticks that it took, and one more, in the bits above its kind. */
#define PML__LOG_WHOLE_SHIFT 40
#define PML__LOG_WHOLE_LONGEST ((UINT64_C(1) << (64 - PML__LOG_WHOLE_SHIFT)) - 2)
#define PML__LOG_IS_WHOLE(word) ((word) >> PML__LOG_WHOLE_SHIFT != 0)
#define PML__LOG_WHOLE_TICKS(word) (((word) >> PML__LOG_WHOLE_SHIFT) - 1)

/* The lower half of values: the number of their list, 0: the recording's; and how many there are. */
#define PML__LOG_OF_LIST(list, n) ((uint32_t)(list) << 8 | (uint32_t)(n))
#define PML__LOG_OF_LIST_LIST(low) ((low) >> 8)
#define PML__LOG_OF_LIST_N(low) ((low)&0xffu)

/* The lower half of values of a call: whether they are results, how many there are, and the region. */
#define PML__LOG_OF_CALL(results, n, region) ((uint32_t)(results) << 31 | (uint32_t)(n) << 24 | (uint32_t)(region))
#define PML__LOG_OF_CALL_RESULTS(low) ((low) >> 31 != 0)
#define PML__LOG_OF_CALL_N(low) ((low) >> 24 & 0x7fu)
#define PML__LOG_OF_CALL_REGION(low) ((low)&0xffffffu)

/* The lower half of a communication: its kind, the number of values that follow, and the collective operation. */
enum pml__log_communication {
  PML__LOG_SEND = 1, /* blocking */
  PML__LOG_ISEND,
  PML__LOG_ISEND_COMPLETE,
  PML__LOG_IRECV, /* posted */
  PML__LOG_RECEIVE,
  PML__LOG_IRECV_COMPLETE,
  PML__LOG_REQUEST_TESTED, /* and is not complete */
  PML__LOG_REQUEST_CANCELLED,
  PML__LOG_COLLECTIVE_BEGIN,
  PML__LOG_COLLECTIVE_END,
  PML__LOG_RMA
};
#define PML__LOG_COMMUNICATED(what, n, code) ((uint32_t)(what) << 24 | (uint32_t)(n) << 16 | (uint32_t)(code))
#define PML__LOG_COMMUNICATED_WHAT(low) ((low) >> 24)
#define PML__LOG_COMMUNICATED_N(low) ((low) >> 16 & 0xffu)
#define PML__LOG_COMMUNICATED_CODE(low) ((low)&0xffffu)

/* The number of events behind the event with this word that hold its values, two in each. */
static inline uint32_t pml__log_values_behind(uint64_t word) {
  uint32_t low = (uint32_t)word;
  switch (word >> 32) {
  case PML__LOG_METRIC:
    return (PML__LOG_OF_LIST_N(low) + 1) / 2;
  case PML__LOG_VALUES_OF_CALL:
    return (PML__LOG_OF_CALL_N(low) + 1) / 2;
  case PML__LOG_COMMUNICATION:
  case PML__LOG_CALL_COMMUNICATION:
  case PML__LOG_OPENMP_EVENT:
    return (PML__LOG_COMMUNICATED_N(low) + 1) / 2;
  default:
    return 0;
  }
}

/* More bytes than any message has, as from a negative count, mean that the size is unknown. Readers use 0. */
#define PML__LOG_BYTES_MAX (UINT64_C(1) << 62)
static inline uint64_t pml__log_bytes(uint64_t bytes) {
  return bytes <= PML__LOG_BYTES_MAX ? bytes : 0;
}

/*
 * In a call, a message's values are its bytes, the tag above the partner, and the request; its code is the
 * communicator. COLLECTIVE_END means begin and end; its values lack the request, and two values that are 0 are left
 * out.
 */

/* Instead of a root, as in OTF2: no root; this rank, for the other group; another rank of this group. */
#define PML__LOG_NO_RANK UINT32_MAX
#define PML__LOG_ROOT_SELF (UINT32_MAX - 1)
#define PML__LOG_ROOT_HERE (UINT32_MAX - 2)

/* Which collective operation: numbers of OTF2_CollectiveOp, which also has them for what makes communicators. */
/* clang-format off */
#define PML__LOG_COLLECTIVES(X)                                                                                        \
  X(BARRIER, "barrier") X(BCAST, "bcast") X(GATHER, "gather") X(GATHERV, "gatherv") X(SCATTER, "scatter")              \
  X(SCATTERV, "scatterv") X(ALLGATHER, "allgather") X(ALLGATHERV, "allgatherv") X(ALLTOALL, "alltoall")                \
  X(ALLTOALLV, "alltoallv") X(ALLTOALLW, "alltoallw") X(ALLREDUCE, "allreduce") X(REDUCE, "reduce")                    \
  X(REDUCE_SCATTER, "reduce_scatter") X(SCAN, "scan") X(EXSCAN, "exscan")                                              \
  X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block")
/* As from PML__LOG_ALLGATHER on, between neighbours of a topology alone. */
#define PML__LOG_NEIGHBOR_COLLECTIVES(X)                                                                               \
  X(NEIGHBOR_ALLGATHER, "neighbor_allgather") X(NEIGHBOR_ALLGATHERV, "neighbor_allgatherv")                            \
  X(NEIGHBOR_ALLTOALL, "neighbor_alltoall") X(NEIGHBOR_ALLTOALLV, "neighbor_alltoallv")                                \
  X(NEIGHBOR_ALLTOALLW, "neighbor_alltoallw")
#define PML__LOG_COLLECTIVE_ENUM(id, name) PML__LOG_##id,
enum pml__log_collective {
  PML__LOG_COLLECTIVES(PML__LOG_COLLECTIVE_ENUM) PML__LOG_NEIGHBOR_COLLECTIVES(PML__LOG_COLLECTIVE_ENUM)
  PML__LOG_CREATE, /* creation of a communicator or a window, by all members of its parent communicator */
  PML__LOG_DESTROY /* end of a window */
};
#undef PML__LOG_COLLECTIVE_ENUM
/* clang-format on */

/*
 * One-sided operations; an atomic operation modifies the target memory. The operations from WIN_CREATE on synchronise a
 * window, without bytes: NOTIFY_OUT lets the partner continue, NOTIFY_IN was notified by the partner; a lock stores 1
 * instead of bytes if it is exclusive; COMPLETE ends all operations of the process on a partner. The partner
 * PML__LOG_NO_RANK means all.
 */
enum pml__log_rma {
  PML__LOG_PUT,
  PML__LOG_GET,
  PML__LOG_ATOMIC,
  PML__LOG_WIN_CREATE,
  PML__LOG_WIN_DESTROY,
  PML__LOG_FENCE_BEGIN,
  PML__LOG_FENCE_END,
  PML__LOG_NOTIFY_OUT,
  PML__LOG_NOTIFY_IN,
  PML__LOG_LOCK_REQUEST,
  PML__LOG_LOCK,
  PML__LOG_UNLOCK,
  PML__LOG_COMPLETE
};

/* The head of a timeline. */
struct pml__log_timeline {
  uint64_t thread;
  uint32_t capacity;
  uint32_t n;       /* atomic: events that are whole */
  uint64_t dropped; /* atomic: events without room */
};

/* ---- OpenMP ---- */

#define PML__LOG_OPENMP_LIST(X)                                                                                        \
  X(PARALLEL, "parallel")                                                                                              \
  X(IMPLICIT_TASK, "implicit task") /* executed by each thread of a team */                                            \
  X(LOOP, "for")                                                                                                       \
  X(SECTIONS, "sections")                                                                                              \
  X(SINGLE, "single") /* only in the thread that executes it */                                                        \
  X(WORKSHARE, "workshare")                                                                                            \
  X(DISTRIBUTE, "distribute")                                                                                          \
  X(TASKLOOP, "taskloop")                                                                                              \
  X(SCOPE, "scope")                                                                                                    \
  X(MASKED, "masked")                                                                                                  \
  X(BARRIER, "barrier")                                                                                                \
  X(IMPLICIT_BARRIER, "implicit barrier")                                                                              \
  X(TASKWAIT, "taskwait")                                                                                              \
  X(TASKGROUP, "taskgroup")                                                                                            \
  X(CRITICAL, "critical") /* waiting for it, and in it */                                                              \
  X(ORDERED, "ordered")                                                                                                \
  X(LOCK, "lock") /* waiting for it */                                                                                 \
  X(TASK, "task")                                                                                                      \
  X(TASK_CREATION, "task creation") /* the region is the created task's */
enum pml__log_openmp_construct {
  PML__LOG_OPENMP_NONE,
#define PML__LOG_OPENMP_ENUM(construct, name) PML__LOG_OPENMP_##construct,
  PML__LOG_OPENMP_LIST(PML__LOG_OPENMP_ENUM)
#undef PML__LOG_OPENMP_ENUM
      PML__LOG_OPENMP_CONSTRUCTS
};

/* Events of teams, tasks and locks, as PML__LOG_COMMUNICATED(), with their values. */
enum pml__log_openmp_event {
  PML__LOG_OPENMP_FORK = 1,      /* requested threads; 0: not specified */
  PML__LOG_OPENMP_JOIN,          /* none */
  PML__LOG_OPENMP_TEAM_BEGIN,    /* the team's number, the thread's in it << 32 | threads in it */
  PML__LOG_OPENMP_TEAM_END,      /* the team's number */
  PML__LOG_OPENMP_TASK_CREATED,  /* the thread that creates it << 32 | the task's number */
  PML__LOG_OPENMP_TASK_SWITCH,   /* to this one: the same; 0: to the implicit task */
  PML__LOG_OPENMP_TASK_COMPLETE, /* the same */
  PML__LOG_OPENMP_LOCK_ACQUIRED, /* the lock's address, a number that grows from each acquisition to the next */
  PML__LOG_OPENMP_LOCK_RELEASED  /* the lock's address */
};

/* One thread's sums of one construct, as number @index of a team. Only that thread writes. */
struct pml__log_openmp {
  uint32_t region;             /* atomic, stored last; 0: not in use */
  uint16_t construct, runtime; /* enum pml__log_openmp_construct, enum pml_openmp_runtime */
  uint32_t index;
  uint32_t threads;              /* the most that the team had */
  uint64_t calls, ticks, waited; /* ticks that the thread waited are among those that it took */
  uint64_t count;                /* iterations or sections, of the team's first thread; tasks created */
  uint32_t unused[4];
};
_Static_assert(sizeof(struct pml__log_openmp) == 64, "threads do not share cache lines");

/* ---- software-defined events ---- */

struct pml__log_counter {
  uint32_t number;
  uint32_t kind; /* enum pml_sde_kind */
  uint32_t type; /* enum pml_type of its values: PML_TYPE_INT64 or PML_TYPE_DOUBLE */
  uint32_t mode; /* PML_SDE_RW, PML_SDE_INSTANT */
};

struct pml__log_recorder {
  uint32_t number;
  uint32_t section; /* the index of the section whose durations in ticks it has, plus one; 0: it is an event */
  uint32_t type;    /* enum pml_type */
  uint32_t bytes;   /* of an element */
};

/* A thread or a sampler writes it in place; @what says what its words mean. */
enum pml__log_cell_what {
  PML__LOG_CELL_NONE,
  PML__LOG_CELL_SHARE,    /* part of counter @number, whose value is the sum of @value and @more over its cells */
  PML__LOG_CELL_SAMPLE,   /* counter @number: @value at @more ticks or later; @epoch: a double's bits */
  PML__LOG_CELL_RECORDER, /* recorder @number, without elements of streams with another @epoch; @more: dropped */
  PML__LOG_CELL_LANE,     /* recorder @number: @value is the address of the next element of stream @owner */
  PML__LOG_CELL_VISIT     /* @value: its number, 0: its samples are elsewhere; @more are planned of cell @number in
                             round @owner */
};
struct pml__log_cell {
  uint64_t value, more;
  uint64_t writer; /* means something to the process that wrote it */
  uint64_t epoch, owner;
  uint32_t number;
  uint32_t what; /* atomic, stored last */
  uint32_t unused[4];
};
_Static_assert(sizeof(struct pml__log_cell) == 64 && offsetof(struct pml__log_cell, number) == 40,
               "cells are as docs/log.md says, and do not share cache lines");

struct pml__log_elements {
  uint64_t writer;
  uint64_t first, capacity; /* elements before the first of these, and for how many there is room */
  uint64_t bytes;           /* of all of this */
};

/* Data about a cell of a run. */
struct pml__log_told {
  uint32_t cell, round; /* 0: all rounds */
  uint64_t samples;     /* that the cell had by then, if round is 0 */
};

struct pml__log_samples {
  uint64_t visit; /* that they were made for */
  uint32_t real;  /* they are doubles */
  uint32_t unused[13];
};
_Static_assert(sizeof(struct pml__log_samples) == 64, "samples begin with a cache line");

/* ---- series of plugins ---- */

/* A metric of a plugin, at one place. */
struct pml__log_measured {
  uint32_t number; /* the key of its extents */
  int32_t tid;
  uint64_t thread;  /* 0: of the process or more */
  int64_t exponent; /* value * 2^exponent or 10^exponent unit */
  uint32_t binary;  /* 1: the base is 2 */
  uint32_t value;   /* enum pml_plugin_value */
  uint32_t mode;    /* enum pml_mode */
  uint32_t unused;
};

struct pml__log_series {
  uint64_t outside, backwards; /* atomic: values left out, and steps down of what only grows, until now */
};

/* ---- history ---- */

struct pml__log_history_name {
  uint32_t number;
  uint32_t real, instant; /* 1: the values are doubles; the event is a level */
  uint32_t unused;
};

/* A chunk: this, then the bits of pml_compressed.h. */
#define PML__LOG_HISTORY_CHUNK 1024u
struct pml__log_history {
  uint32_t seq;    /* atomic; odd: it is about to belong to another series */
  uint32_t number; /* the number of the series; 0: unused */
  uint32_t rate;   /* enum pml__history_rate */
  uint32_t n;      /* atomic, stored last: samples */
  uint64_t turn;   /* how many chunks were begun before */
  int64_t unused;
};
_Static_assert(sizeof(struct pml__log_history) == 32, "chunks are as docs/log.md says");

/* ---- recorded calls ---- */

enum pml__log_count {
  PML__LOG_DROPPED,   /* calls, and single values, without room or nested too deep */
  PML__LOG_UNMATCHED, /* leaves of regions not entered, or not innermost */
  PML__LOG_LIFTED,    /* events whose time went back */
  PML__LOG_DEEP,      /* calls left out: by each limit */
  PML__LOG_SHORT,
  PML__LOG_OFTEN,
  PML__LOG_UNRECORDED, /* events whose values are not those that are kept */
  PML__LOG_OLDER,      /* extents of events that went for later ones */
  PML__LOG_COUNTERS
};

struct pml__log_recording {
  uint32_t failed;   /* atomic; 1: nothing was recorded */
  uint32_t counted;  /* atomic: enum pml_count_at */
  int32_t uncounted; /* atomic: the errno of why a thread's events have no more values; 0: all have */
  uint32_t nmetrics, traced, unused;
  uint64_t lost_children;            /* atomic */
  uint64_t real[2];                  /* atomic: which metrics are doubles */
  uint64_t count[PML__LOG_COUNTERS]; /* atomic: of threads without an event buffer */
};

/* A child of fork(); each process that has the extent mapped may take one. */
struct pml__log_child {
  uint64_t ticks; /* before the fork */
  int32_t parent;
  int32_t pid;      /* atomic, stored last, by the child; 0: the fork made no child */
  uint32_t has_log; /* atomic: 1: it has a separate log */
  int32_t refused;  /* atomic: the errno of the attempt to make one; 0: no attempt so far */
  uint32_t ended;   /* atomic: enum pml__log_ended, of a child that has none */
  uint32_t unused[9];
};
_Static_assert(sizeof(struct pml__log_child) == 64, "children do not share cache lines");
struct pml__log_children {
  uint32_t taken, room; /* atomic */
  uint32_t unused[14];
  struct pml__log_child child[]; /* [room] */
};
_Static_assert(sizeof(struct pml__log_children) == 64, "the first child begins a cache line");

struct pml__log_buffer {
  uint64_t count[PML__LOG_COUNTERS]; /* atomic: of the threads whose events follow */
};
_Static_assert(sizeof(struct pml__log_buffer) == 64, "events begin at a cache line");

struct pml__log_block {
  uint32_t used; /* atomic, stored last: PML__LOG_USED */
  uint32_t whose, part;
  uint32_t unused[5];
  uint64_t bytes;              /* size of its data, a multiple of 64; 0: no more blocks */
  struct pml__log_block *next; /* in the list of free ones: the writer's */
  uint64_t padding[2];
};
_Static_assert(sizeof(struct pml__log_block) == 64, "memory is aligned");
#define PML__LOG_USED 0x75u

/* A block with this part: sums of a region's values. */
#define PML__LOG_SUMS_PART 0x200u
struct pml__log_sums {
  uint32_t region, n;
  uint64_t sum[]; /* [n] atomic */
};

/*
 * A block with this part: values of a region's calls, with copies of their figures, and then their names, each ended by
 * a zero.
 */
#define PML__LOG_VALUES_PART 0x201u
#define PML__LOG_STRIPES 8u
#define PML__LOG_VALUE_NAME_MAX 255u
struct pml__log_figures {
  uint64_t count;       /* atomic, as all here; added to last */
  uint64_t low, high;   /* the sum: a double's bits, or an integer of 128 bits */
  uint64_t least, most; /* a double's bits, or an int64_t's */
};
struct pml__log_values {
  uint32_t region;
  uint32_t n;       /* atomic, stored last */
  uint64_t real;    /* bit mask of the values that are doubles */
  uint64_t results; /* 1: results of calls; 0: arguments */
  uint64_t padding[5];
};
_Static_assert(sizeof(struct pml__log_values) == 64, "stripes begin at a cache line");

#endif
