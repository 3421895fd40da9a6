/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/archive/pml_archive_private.h - declarations shared by the files that write archives from logs.
 * Internal.
 */
#ifndef PML_ARCHIVE_PRIVATE_H
#define PML_ARCHIVE_PRIVATE_H

#include "base/pml_map.h"
#include "read/archive/pml_archive.h"
#include "read/otf2/write/pml_otf2_mpi.h"
#include "read/recording/pml_recording_read_private.h"

#include <linux/limits.h>

#define PML__ARCHIVE_RANKS_MAX (1 << 20) /* per job */

/* ---- pml_archive_clock.c: ticks of a process by the clock of rank 0 ---- */

/* Added at a time: an offset of rank 0's clock, with @at in ticks of this clock; or a shift, with @at in ns. */
struct pml__archive_correction {
  uint64_t at;
  int64_t by_ns;
};

struct pml__archive_clock {
  uint64_t started_ns, started_ticks; /* the same moment */
  double ns_per_tick;
  struct pml__archive_correction *offset; /* [noffsets] by ticks */
  size_t noffsets, offsets;
  struct pml__archive_correction *shift; /* [nshifts] by ns without shifts */
  size_t nshifts;
};

/*
 * pml__archive_clock_ns - @ticks in ns of CLOCK_REALTIME; the result never decreases with @ticks. Offsets are
 * interpolated linearly between measurements, and constant before the first and after the last; then shifts,
 * interpolated in the same way, are added.
 */
uint64_t pml__archive_clock_ns(const struct pml__archive_clock *c, uint64_t ticks);

/*
 * pml__archive_clock_measured - add a measured offset.
 * pml__archive_clock_shift - add @n shifts, sorted by time, to the existing ones; between two offsets or two shifts,
 * the value never decreases by more than the time between them. Both return 0 or -ENOMEM.
 * pml__archive_clock_free - free the lists.
 */
int pml__archive_clock_measured(struct pml__archive_clock *c, uint64_t ticks, int64_t ns);
int pml__archive_clock_shift(struct pml__archive_clock *c, const struct pml__archive_correction *by, size_t n);
void pml__archive_clock_free(struct pml__archive_clock *c);

/* pml__archive_clock_same - whether both count the ticks of one machine since its boot. */
bool pml__archive_clock_same(const struct pml__archive_clock *a, const struct pml__archive_clock *b);

/* ---- structs ---- */

/* A communicator in the log of a process. */
struct pml__archive_comm {
  struct pml__log_communicator is;
  uint32_t ref;            /* index in the archive */
  size_t place;            /* position among the definitions */
  char *name, *members[2]; /* world ranks as text; empty: unknown */
};

/* A window in the log of a process. */
struct pml__archive_window {
  struct pml__log_window is;
  uint32_t ref; /* index in the archive */
  char *name;
};

/* A list of values of a region's calls. */
struct pml__archive_list {
  pml_region_t region;
  bool results;
  uint32_t n, single[PML_RECORDING_VALUES_MAX]; /* indices of the archive's single metrics */
};

/* No time at @ticks or later may be earlier than @ns. */
struct pml__archive_delay {
  uint64_t ticks, ns;
};

/* A process, by its log. */
struct pml__archive_process {
  const struct pml_archive_log *log;
  char *name, *host;
  int32_t pid;
  uint64_t bytes; /* size of its log */
  struct pml__archive_clock own;
  uint32_t keeper;                  /* the process whose clock is used: one of its host */
  struct pml__archive_clock *clock; /* that clock */
  struct pml__archive_delay *delay; /* [ndelays] by ticks */
  size_t ndelays, delays;
  int32_t rank, size;             /* in MPI_COMM_WORLD; -1: not a rank */
  uint32_t job;                   /* number of the job, the same in all its ranks; 0: unknown */
  uint64_t job_began_ns;          /* start of the job's first rank; 0 for jobs without a number */
  uint32_t world;                 /* index among the jobs without a number, or of the same size */
  uint32_t base, index;           /* among all ranks: of its job's rank 0, and its own */
  struct pml__archive_comm *comm; /* [ncomms] by number */
  size_t ncomms, comms;
  struct pml__archive_window
      *window; /* [nwindows] in the order of definition; of several with one number, the last counts */
  size_t nwindows, windows;
  int32_t *child; /* [nchildren] pids of children without a log, which made no call */
  size_t nchildren, children;
  char *program;
  struct pml__otf2_process *group; /* its process in the archive */
};

/*
 * A lock of the file DIR/.making-traces, which the kernel releases when the writer is killed. Once the writer creates
 * the archive it makes the file non-empty. So the next writer can distinguish the remains of a killed writer, which it
 * removes, from an archive of another program, which it leaves alone.
 */
struct pml__archive_lock {
  char dir[PATH_MAX - 32];
  int fd; /* -1: not locked */
};

struct pml__archive {
  struct pml__archive_process *process; /* [nprocesses] in the archive's order */
  size_t nprocesses;
  uint64_t origin_ns; /* CLOCK_REALTIME at time 0 */
  struct pml__otf2_mpi mpi;
  uint32_t *of_rank; /* [mpi.nranks]: the process; UINT32_MAX: the rank has no log */
  uint32_t nforeign; /* the last ranks represent ranks of other jobs in communicators with such ranks */
  struct pml__archive_lock lock;
  struct pml_otf2 *otf2;
  struct pml_archive_story *story;
  int (*progress)(uint64_t done, uint64_t all, void *arg);
  void *progress_arg;
  uint64_t done, all; /* bytes */
};

/* ---- pml_archive_lock.c ---- */

/*
 * pml__archive_lock - become the writer of the archive in @dir, and remove the remains of a killed one. -EBUSY: another
 * process is the writer.
 * pml__archive_creates - note that the archive is created now.
 * pml__archive_unlock - remove the file and release the lock; @failed: also remove the archive, which this process
 * began.
 */
int pml__archive_lock(struct pml__archive_lock *l, const char *dir);
int pml__archive_creates(const struct pml__archive_lock *l);
void pml__archive_unlock(struct pml__archive_lock *l, bool failed);

/* ---- pml_archive_process.c ---- */

/* pml__archive_know - read the metadata of the process of @log. pml__archive_forget - free it. */
int pml__archive_know(struct pml__archive_process *p, const struct pml_archive_log *log);
void pml__archive_forget(struct pml__archive_process *p);
/* pml__archive_comm_of - the communicator with @number in the log of @p, or NULL. */
const struct pml__archive_comm *pml__archive_comm_of(const struct pml__archive_process *p, uint32_t number);

/* pml__archive_window_of - the same for a window. */
const struct pml__archive_window *pml__archive_window_of(const struct pml__archive_process *p, uint32_t number);

/* ---- pml_archive_ranks.c ---- */

/* pml__archive_order - sort the processes, ranks first, and number the ranks. */
int pml__archive_order(struct pml__archive *a);
/* pml__archive_unite - merge the communicators and windows of all ranks. pml__archive_disunite - free them. */
int pml__archive_unite(struct pml__archive *a);
void pml__archive_disunite(struct pml__archive *a);

/* pml__archive_is_foreign - whether the rank @index belongs to another job, so that nothing is known about it. */
static inline bool pml__archive_is_foreign(const struct pml__archive *a, uint32_t index) {
  return index >= a->mpi.nranks - a->nforeign;
}

/* ---- pml_archive_threads.c ---- */

/* pml__archive_events - write the events of @p as locations of its group; @calls gets the calls in which a process may
 * wait. */
struct pml__archive_calls;
int pml__archive_events(struct pml__archive *a, struct pml__archive_process *p, struct pml__archive_calls *calls);

/* pml__archive_add - write the calls in the log @path, which this process wrote, as locations of its archive @a.
 * *@unrecorded: the number of events whose values are not in it. pml__archive_add_locations - the same of the events
 * that locations of @a recorded, to these. */
int pml__archive_add(struct pml_otf2 *a, const char *path, uint64_t *unrecorded);
int pml__archive_add_locations(struct pml_otf2 *a, const char *path, uint64_t *unrecorded);

/* ---- pml_archive_communication.c ---- */

/* pml__archive_take - convert @e of @p to an event of the archive; returns false if the process is not a rank, or @e
 * contradicts the communicators in the log. */
bool pml__archive_take(const struct pml__archive *a, const struct pml__archive_process *p,
                       const struct pml__recording_communicated *e, struct pml__otf2_communication *c);

/* ---- pml_archive_messages.c ---- */

/*
 * pml__archive_correct - pair the messages, and correct the clocks of hosts as far as messages arrived before they were
 * sent; the story counts them. Logs are read once, and again for each step of a correction. Memory: 16 bytes for each
 * message that is sent and not received yet, in the order of reading.
 */
int pml__archive_correct(struct pml__archive *a);

/* pml__archive_time - ticks of @p as ns of the archive. pml__archive_ns - as ns of CLOCK_REALTIME. */
uint64_t pml__archive_ns(const struct pml__archive_process *p, uint64_t ticks);
static inline uint64_t pml__archive_time(const struct pml__archive *a, const struct pml__archive_process *p,
                                         uint64_t ticks) {
  uint64_t ns = pml__archive_ns(p, ticks);
  return ns > a->origin_ns ? ns - a->origin_ns : 0;
}

/* ---- pml_archive_metrics.c ---- */

/* The metrics of a process in the archive. */
struct pml__archive_metrics {
  const struct pml__otf2_set *set;
  struct pml__archive_list *list; /* [nlists] sorted */
  size_t nlists, lists;
  struct pml__archive_named *named; /* by the number of a list of values */
};

/*
 * How the archive takes the values of a list. RECORD: the list begins with the metrics of the set. SINGLES: the single
 * values are metrics @first and following. IGNORE: the list contains only compiler counts. LOSE: no metric fits.
 */
struct pml__archive_named {
  enum { PML__ARCHIVE_LOSE, PML__ARCHIVE_IGNORE, PML__ARCHIVE_RECORD, PML__ARCHIVE_SINGLES } doing;
  uint32_t first;
};

/*
 * pml__archive_metrics - add the metrics of @r to @to. @own: the set of all events of the archive; NULL: the log names
 * its set. pml__archive_metrics_free - free the lists.
 */
int pml__archive_metrics(const struct pml_recording_reader *r, struct pml_otf2 *to, const struct pml__otf2_set *own,
                         struct pml__archive_metrics *m);
void pml__archive_metrics_free(struct pml__archive_metrics *m);

/* pml__archive_value - @bits, a double if @real, as a value of @m: a double stays one where the metric is. */
uint64_t pml__archive_value(const struct pml_otf2_metric *m, bool real, uint64_t bits);
const struct pml__archive_list *pml__archive_list_of(const struct pml__archive_metrics *m, pml_region_t region,
                                                     bool results);

/* ---- pml_archive_pairs.c: matching of sends and receives ---- */

/* Messages in a communicator from one rank to another with one tag, which arrive in the order of sending. */
struct pml__archive_channel {
  uint32_t comm, from, to, tag;
};

struct pml__archive_end {
  uint64_t ticks, ns;
};

struct pml__archive_queue {
  struct pml__archive_channel channel;
  bool receives; /* receives wait, otherwise sends */
  uint32_t n, first, capacity;
  struct pml__archive_end *waiting; /* [n] from @first on */
};

struct pml__archive_pairs {
  struct pml__archive_queue *queue; /* [channels.n] */
  size_t capacity;
  struct pml__map channels;
};

/* pml__archive_pair - find the other end of the message and remove it from the waiting ends; if it is missing, *@found
 * is false, and this end waits. Returns 0 or -ENOMEM. */
int pml__archive_pair(struct pml__archive_pairs *p, const struct pml__archive_channel *c, bool receives,
                      const struct pml__archive_end *end, struct pml__archive_end *other, bool *found);

/* pml__archive_waiting - the number of waiting ends. pml__archive_pairs_free - free all. */
uint64_t pml__archive_waiting(const struct pml__archive_pairs *p);
void pml__archive_pairs_free(struct pml__archive_pairs *p);

/* ---- pml_archive_waits.c ---- */

/*
 * Waiting times of ranks. Late sender, as defined by Scalasca: a receive, or the call that completes one, was entered
 * before the send; the wait is the time in between, at most the receive's duration. Collective operations that no
 * member leaves before all have arrived: the wait is the time until the last member enters, at most the operation's
 * duration.
 */
enum { PML__ARCHIVE_SENT, PML__ARCHIVE_RECEIVED, PML__ARCHIVE_MET };

/* One end of a message, or a collective operation, in a call that began at @entered_ns and ended at @ns. */
struct pml__archive_call {
  uint64_t entered_ns, ns;
  uint32_t kind;
  struct pml__archive_channel channel; /* only the communicator for a collective operation */
};

/* The calls of a process. */
struct pml__archive_calls {
  struct pml__archive_call *call; /* [n] */
  size_t n, capacity;
};

/* pml__archive_call_add - add @c if ranks wait in it; other communications are ignored. Returns 0 or -ENOMEM. */
int pml__archive_call_add(struct pml__archive_calls *l, const struct pml__archive_process *p,
                          const struct pml__otf2_communication *c, uint64_t entered_ns, uint64_t ns);

/* The calls of all processes, until they are summed. */
struct pml__archive_waits {
  struct pml__archive_pairs pairs;
  struct pml__archive_met *met; /* [nmet] */
  size_t nmet, capacity;
};

/*
 * pml__archive_waits_take - add the calls of the process @i, and sort them; once for each process. Returns 0 or
 * -ENOMEM.
 * pml__archive_waits_end - add the sums of each rank to the story, and free @w.
 */
int pml__archive_waits_take(struct pml__archive_waits *w, struct pml__archive *a, uint32_t i,
                            struct pml__archive_calls *l);
void pml__archive_waits_end(struct pml__archive_waits *w, struct pml__archive *a);

#endif
