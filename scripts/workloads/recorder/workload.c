/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/recorder/workload.c - the cost of a push to a recorder, each push timed separately.
 *
 * Threads start together, each on a separate cpu if there are enough, and push whole numbers: thread t (from 0)
 * pushes t * pushes, t * pushes + 1 ... The durations of thread t are in site t + 1. PAPI's libsde does the same, if it
 * is installed. Each run has new recorders and, as in a process that begins, new memory.
 */
#include "recorder.h"

#include <malloc.h>
#include <sched.h>
#include <stdlib.h>

#define THREADS 8
#define PUSHES (1 << 20) /* per thread: all numbers are exact in a float */

enum { O_THREADS, O_PUSHES, O_RECORDER, O_LIBRARY, O_KEEP, O_TYPE, O_MEASURE, O_LIBSDE };
enum { BYTES = THREADS, SLOW, KEPT, SITES };

/* --- recorders -------------------------------------------------------------------------------------------------------
 */

enum library { NONE, PMLUA, LIBSDE };

struct job {
  size_t threads, pushes;
  bool different, watch;
  enum library library;
  enum pml_keep keep;
  const struct element *element;
  size_t nrecorders;
  void *recorder[THREADS];
  unsigned number[THREADS]; /* libsde's */
  uint64_t recorded, dropped;
};

static int open_recorder(struct pml_workload_run *r, struct job *j, size_t k) {
  struct pml_recorder *recorder;
  struct pml_recorder_options o = {.type = j->element->type, .keep = j->keep};
  if (j->library == LIBSDE) return recorder_peer_create(r, j->element->bytes, &j->number[k], &j->recorder[k]);
  int err = pml_recorder_open(&recorder, &o);
  if (err < 0) return workload_fail(r, err, "recorder: %s", pml_error_text(err));
  j->recorder[k] = recorder;
  return 0;
}

static int open_recorders(struct pml_workload_run *r, struct job *j) {
  size_t n = j->library == NONE ? 0 : j->different ? j->threads : 1;
  int err = j->library == LIBSDE ? recorder_peer_open(r, r->text[O_LIBSDE]) : 0;
  while (err == 0 && j->nrecorders < n) {
    err = open_recorder(r, j, j->nrecorders);
    if (err == 0) j->nrecorders++;
  }
  return err;
}

static void close_recorders(struct job *j) {
  for (size_t k = 0; k < j->nrecorders && j->library == PMLUA; k++) pml_recorder_close(j->recorder[k]);
}

/* Copy the numbers in a recorder, as many as fit. A sketch has none. */
static void keep_elements(const struct job *j, struct pml_samples *kept, const void *from, size_t n) {
  for (size_t i = 0; i < n && kept->n < kept->capacity; i++) kept->value[kept->n++] = j->element->whole(from, i);
}

static void look_into(struct job *j, struct pml_recorder *recorder, struct pml_samples *kept) {
  max_align_t some[256];
  size_t n, at = 0;
  j->recorded += pml_recorder_count(recorder);
  j->dropped += pml_recorder_dropped(recorder);
  while (kept->n < kept->capacity && (n = pml_recorder_copy(recorder, at, some, sizeof some / j->element->bytes)) > 0) {
    keep_elements(j, kept, some, n);
    at += n;
  }
}

/* All or nothing: its copy is whole. */
static void look_into_peer(struct job *j, unsigned number, struct pml_samples *kept) {
  long long count = recorder_peer_count(number);
  if (count <= 0) return;
  j->recorded += (uint64_t)count;
  if (kept->capacity - kept->n < (size_t)count) return;
  void *copy = recorder_peer_copy(number);
  if (copy != NULL) keep_elements(j, kept, copy, (size_t)count);
  free(copy);
}

static void look_into_all(struct job *j, struct pml_samples *kept) {
  kept->n = 0;
  for (size_t i = 0; i < j->nrecorders; i++)
    if (j->library == PMLUA)
      look_into(j, j->recorder[i], kept);
    else
      look_into_peer(j, j->number[i], kept);
}

/* --- threads ---------------------------------------------------------------------------------------------------------
 */

/* Sleeping costs a late start, but where threads are more than cpus, those that are not here yet need one. */
static bool pass(struct gate *g) {
  const struct timespec nap = {.tv_nsec = 20000};
  atomic_fetch_add(&g->here, 1);
  for (unsigned i = 0; atomic_load(&g->here) < g->all; i++) {
    if (atomic_load(&g->off)) return false;
    if (i < 1000)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
  return true;
}

/*
 * Memory that earlier runs freed returns to the kernel, so that this run touches its pages first: glibc retains 128
 * KiB of it at the end of each arena, unless mallopt changes this. The default is restored after the run.
 */
static void give_memory_back(bool begins) {
#ifdef __GLIBC__
  enum { GLIBC_DEFAULT = 128 * 1024 };
  (void)mallopt(M_TRIM_THRESHOLD, begins ? 0 : GLIBC_DEFAULT);
  (void)mallopt(M_TOP_PAD, begins ? 0 : GLIBC_DEFAULT);
  if (begins) malloc_trim(0);
#else
  (void)begins;
#endif
}

/* The end of the thread's own arena is only looked at when a large block beside it is freed; glibc's limit is 64 KiB.
 */
static void give_own_memory_back(void) {
  void *volatile block = malloc((size_t)96 * 1024);
  free(block);
}

static void *work(void *arg) {
  struct worker *w = arg;
  give_own_memory_back();
  if (!pass(w->gate)) return NULL;
  w->start = pml_clock_ticks();
  w->loop(w);
  w->end = pml_clock_ticks();
  return NULL;
}

/* The @k-th allowed cpu from the last one down: the first ones serve most interrupts. */
static void choose_cpu(const cpu_set_t *allowed, size_t k, cpu_set_t *one) {
  CPU_ZERO(one);
  for (size_t cpu = CPU_SETSIZE; cpu-- > 0;)
    if (CPU_ISSET(cpu, allowed) && k-- == 0) {
      CPU_SET(cpu, one);
      return;
    }
}

/* Returns whether each thread has a separate cpu. */
static bool start(struct worker *w, size_t n, size_t *started) {
  cpu_set_t allowed, one;
  bool pinned = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && (size_t)CPU_COUNT(&allowed) >= n;
  for (*started = 0; *started < n; ++*started) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) break;
    if (pinned) {
      choose_cpu(&allowed, *started, &one);
      pinned = pthread_attr_setaffinity_np(&attr, sizeof one, &one) == 0;
    }
    int rc = pthread_create(&w[*started].thread, &attr, work, &w[*started]);
    pthread_attr_destroy(&attr);
    if (rc != 0) break;
  }
  if (*started < n) atomic_store(&w->gate->off, true);
  return pinned;
}

static void prepare(const struct job *j, const struct pml_workload_run *r, struct gate *gate, struct slow *slow,
                    struct worker *w) {
  bool peer = j->library == LIBSDE;
  for (size_t t = 0; t < j->threads; t++) {
    w[t] = (struct worker){.recorder = j->nrecorders == 0 ? NULL : j->recorder[j->different ? t : 0],
                           .one = j->library == NONE ? recorder_push_nothing
                                  : peer             ? j->element->record
                                                     : j->element->push,
                           .first = (double)(t * j->pushes),
                           .n = j->pushes,
                           .samples = r->probe[j->watch ? BYTES : t].samples,
                           .slow = &slow[t * RECORDER_SLOW_MAX],
                           .slow_ticks = (uint64_t)(RECORDER_SLOW_NS * 1e-9 * pml__clock.ticks_per_second),
                           .stop = r->stop,
                           .gate = gate};
    w[t].loop = j->watch             ? recorder_watch
                : j->library == NONE ? recorder_time_nothing
                : peer               ? j->element->time_record
                                     : j->element->time_push;
    w[t].samples->n = 0;
  }
}

static void tell_times(struct pml_workload_run *r, const struct worker *w, size_t n, bool pinned, pml_region_t region) {
  uint64_t first = w[0].start, last = w[0].end, begin = first, finish = last;
  for (size_t t = 1; t < n; t++) {
    if (w[t].start < first) first = w[t].start;
    if (w[t].end > last) last = w[t].end;
    if (w[t].start > begin) begin = w[t].start;
    if (w[t].end < finish) finish = w[t].end;
  }
  workload_phase(r, region, first, last);
  workload_result(r, "pinned", "", pinned);
  workload_result(r, "overlap", "%", finish > begin ? 100 * (double)(finish - begin) / (double)(last - first) : 0);
}

/* Five numbers for each: thread, from 0; index; faults, waits, preemptions. */
static void tell_slow(const struct worker *w, size_t n, struct pml_samples *out) {
  out->n = 0;
  for (size_t t = 0; t < n; t++)
    for (size_t i = 0; i < w[t].nslow && out->capacity - out->n >= 5; i++) {
      const struct slow *s = &w[t].slow[i];
      const uint64_t row[] = {t, s->index, s->faults, s->waits, s->preemptions};
      memcpy(&out->value[out->n], row, sizeof row);
      out->n += 5;
    }
}

static int join(struct pml_workload_run *r, const struct worker *w, size_t n, size_t started) {
  int err = 0;
  for (size_t t = 0; t < started; t++) {
    pthread_join(w[t].thread, NULL);
    if (err == 0) err = w[t].error;
  }
  if (started < n) return workload_fail(r, -EAGAIN, "thread %zu failed to start", started + 1);
  if (err == -EINTR) return workload_fail(r, err, "interrupted");
  return err < 0 ? workload_fail(r, err, "a push failed: %s", pml_error_text(err)) : 0;
}

static int push_and_look(struct pml_workload_run *r, struct job *j, struct slow *slow, pml_region_t region) {
  struct gate gate = {.all = (unsigned)j->threads};
  struct worker w[THREADS] = {0};
  size_t started;
  prepare(j, r, &gate, slow, w);
  bool pinned = start(w, j->threads, &started);
  int err = join(r, w, j->threads, started);
  if (err < 0) return err;
  look_into_all(j, r->probe[KEPT].samples);
  tell_slow(w, j->threads, r->probe[SLOW].samples);
  tell_times(r, w, j->threads, pinned, region);
  workload_result(r, "recorded", "", (double)j->recorded);
  workload_result(r, "dropped", "", (double)j->dropped);
  return 0;
}

/* --- options ---------------------------------------------------------------------------------------------------------
 */

/* Which of two or three words an option is. */
static int word(struct pml_workload_run *r, unsigned option, const char *name, const char *const *known, int *out) {
  for (*out = 0; known[*out] != NULL; ++*out)
    if (strcmp(r->text[option], known[*out]) == 0) return 0;
  return workload_fail(r, -EINVAL, "option %s is %.64s, it must be %s, %s%s%s", name, r->text[option], known[0],
                       known[1], known[2] != NULL ? ", " : "", known[2] != NULL ? known[2] : "");
}

static int check_room(struct pml_workload_run *r, const struct job *j) {
  if (j->watch && j->threads > 1) return workload_fail(r, -EINVAL, "option threads must be 1 to watch the growth");
  if (j->keep == PML_KEEP_SKETCH && j->library == LIBSDE)
    return workload_fail(r, -EINVAL, "option keep is sketch, but libsde keeps all numbers");
  for (size_t t = 0; t < j->threads; t++) {
    const struct pml_samples *s = r->probe[j->watch ? BYTES : t].samples;
    if (s->capacity < j->pushes)
      return workload_fail(r, -EINVAL, "option pushes is %zu, it must be at most %zu, the room for samples", j->pushes,
                           s->capacity);
  }
  return 0;
}

static int read_options(struct pml_workload_run *r, struct job *j) {
  static const char *const sharing[] = {"same", "different", NULL},
                           *const library[] = {"none", "pmlua", "libsde", NULL},
                           *const keep[] = {"all", "sketch", NULL}, *const measure[] = {"time", "growth", NULL};
  int v[4];
  int err = workload_size(r, O_THREADS, "threads", 1, THREADS, &j->threads);
  if (!err) err = workload_size(r, O_PUSHES, "pushes", 1, PUSHES, &j->pushes);
  if (!err) err = word(r, O_RECORDER, "recorder", sharing, &v[0]);
  if (!err) err = word(r, O_LIBRARY, "library", library, &v[1]);
  if (!err) err = word(r, O_KEEP, "keep", keep, &v[2]);
  if (!err) err = word(r, O_MEASURE, "measure", measure, &v[3]);
  if (err) return err;
  j->element = recorder_element(r->text[O_TYPE]);
  if (j->element == NULL)
    return workload_fail(r, -EINVAL, "option type is %.64s, it must be double, float, int64 or int32", r->text[O_TYPE]);
  j->different = v[0] == 1;
  j->library = (enum library)v[1];
  j->keep = v[2] == 1 ? PML_KEEP_SKETCH : PML_KEEP_ALL;
  j->watch = v[3] == 1;
  return check_room(r, j);
}

static int run(struct pml_workload_run *r) {
  struct job j = {0};
  pml_region_t region;
  int err = read_options(r, &j);
  if (!err) err = workload_region(r, "push", &region);
  if (!err) err = workload_stopped(r, SITES);
  if (err) return err;
  size_t bytes = j.threads * RECORDER_SLOW_MAX * sizeof(struct slow);
  struct slow *slow = malloc(bytes);
  if (slow == NULL) return workload_out_of_memory(r, (double)bytes);
  memset(slow, 0xff, bytes);
  give_memory_back(true);
  err = open_recorders(r, &j);
  if (!err) err = push_and_look(r, &j, slow, region);
  close_recorders(&j);
  give_memory_back(false);
  free(slow);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "recorder",
    .help = "pushes to a recorder from several threads, each timed by itself",
    .site = {"thread1", "thread2", "thread3", "thread4", "thread5", "thread6", "thread7",
             "thread8", [BYTES] = "bytes", [SLOW] = "slow", [KEPT] = "kept"},
    .option = {[O_THREADS] = {"threads", "threads that push", 1, NULL},
               [O_PUSHES] = {"pushes", "pushes of each thread", 16384, NULL},
               [O_RECORDER] = {"recorder", "same: one for all threads; different: one per thread", 0, "same"},
               [O_LIBRARY] = {"library", "pmlua, libsde, or none: only the clock is read", 0, "pmlua"},
               [O_KEEP] = {"keep", "all numbers, or a sketch of them", 0, "all"},
               [O_TYPE] = {"type", "double, float, int64 or int32", 0, "double"},
               [O_MEASURE] = {"measure", "time; or growth: the bytes that each push takes", 0, "time"},
               [O_LIBSDE] = {"libsde", "the file of PAPI's libsde", 0, "libsde.so.1"}},
    .run = run,
};
