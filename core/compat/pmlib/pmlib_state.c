/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_state.c - PMlib's measuring calls, mapped to pmlua's sections. */
#include "base/pml_clock.h"

#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "compat/pmlib/pmlib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pml__lock lock;
static struct pmlib_known *knowns; /* guarded by the lock */

void pmlib_lock(void) {
  pml__lock_take(&lock);
}
void pmlib_unlock(void) {
  pml__lock_leave(&lock);
}

struct pmlib_known *pmlib_known_of(const struct pml_section *s) {
  struct pmlib_known *k = knowns;
  while (k != NULL && k->section != s) k = k->next;
  return k;
}

void pmlib_know(const struct pml_section *s, enum pmlib_type type, bool exclusive) {
  pmlib_lock();
  struct pmlib_known *k = pmlib_known_of(s);
  if (k == NULL && (k = calloc(1, sizeof *k)) != NULL) {
    k->section = s;
    k->next = knowns;
    knowns = k;
  }
  if (k != NULL) {
    k->type = type;
    k->exclusive = exclusive;
  }
  pmlib_unlock();
}

void pmlib_forget_bases(void) {
  pmlib_lock();
  for (struct pmlib_known *k = knowns; k != NULL; k = k->next) {
    free(k->base);
    k->base = NULL;
    k->nbases = 0;
  }
  pmlib_unlock();
}

/* ---- OpenMP's thread numbers, for the report ---- */

struct numbered {
  uint64_t thread;
  uint32_t number;
  struct numbered *next;
};
static struct numbered *numbers; /* guarded by the lock */
static _Thread_local bool is_numbered;

static int call_openmp(const char *name, int otherwise) {
  void *f = dlsym(RTLD_DEFAULT, name);
  int (*call)(void);
  if (f == NULL) return otherwise;
  memcpy(&call, &f, sizeof call);
  return call();
}

int pmlib_max_threads(void) {
  return call_openmp("omp_get_max_threads", 1);
}

void pmlib_number_thread(void) {
  if (PML_LIKELY(is_numbered)) return;
  is_numbered = true;
  struct numbered *n = malloc(sizeof *n);
  if (n == NULL) return;
  n->thread = pml_thread_self()->id;
  n->number = (uint32_t)call_openmp("omp_get_thread_num", 0);
  pmlib_lock();
  n->next = numbers;
  numbers = n;
  pmlib_unlock();
}

uint32_t pmlib_number_of(uint64_t thread) {
  const struct numbered *n = numbers;
  while (n != NULL && n->thread != thread) n = n->next;
  return n == NULL ? 0 : n->number;
}

enum { UNKNOWN, OFF, ON };
static int state; /* atomic */

static pid_t owner;

static void at_exit(void) {
  if (getpid() != owner) return; /* a child: the report belongs to its parent */
  pmlib_trace_close();
  if (!pmlib.report_asked || pmlib_printed() || pmlib.rank > 0) return;
  pmlib_stop_root();
  pmlib_collect(false);
  const struct pmlib_run *run = pmlib_last();
  if (run == NULL || run->nsections == 0) return;
  pmlib_text_report(stdout, run);
}

static void initialize(void) {
  if (secure_getenv("BYPASS_PMLIB") != NULL) {
    __atomic_store_n(&state, OFF, __ATOMIC_RELEASE);
    return;
  }
  (void)pml_clock_init();
  (void)pmlib_mpi(&pmlib.rank, &pmlib.nprocs);
  pmlib_environment();
  pmlib_trace_open();
  owner = getpid();
  (void)atexit(at_exit);
  pmlib.begin_ticks = pml_clock_ticks();
  __atomic_store_n(&state, ON, __ATOMIC_RELEASE);
}

void pmlib_initialize(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize);
}

bool pmlib_on(void) {
  int s = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(s == UNKNOWN)) {
    pmlib_initialize();
    s = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  }
  return s == ON;
}

/* Warn once at each of the few call sites. */
static void once(int *said, const char *what, const char *why) {
  if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED) == 0) pmlib_warn("%.200s: %s", what, why);
}

static struct pml_section *define(const char *label, enum pmlib_type type, bool exclusive) {
  static int said;
  struct pml_section_options o = {.type = type == PMLIB_COMM ? PML_SECTION_COMMUNICATION : PML_SECTION_CALCULATION,
                                  .exclusive = exclusive,
                                  .events = pmlib.event,
                                  .nevents = pmlib.nevents};
  struct pml_section *s = pml_section_find(label);
  if (s != NULL) return s;
  int err = pml_section_define(label, &o, &s);
  if (err < 0) s = pml_section_find(label); /* another thread defined it with other options */
  if (s == NULL) once(&said, label, pml_error_detail(err));
  return s;
}

static bool label_ok(const char *label) {
  static int said;
  if (label != NULL && *label != '\0') return true;
  once(&said, "label", "empty name; call ignored");
  return false;
}

void pmlib_properties(const char *label, int t, bool exclusive) {
  enum pmlib_type type = t == 0 ? PMLIB_COMM : PMLIB_CALC;
  if (!pmlib_on() || !label_ok(label)) return;
  const struct pml_section *s = define(label, type, exclusive);
  if (s == NULL) return;
  pmlib_know(s, type, exclusive);
}

/* ---- starting and stopping ---- */

/* Programs start sections at few places, so the section of a label's address is cached, and used if the label at this
 * address is unchanged. */
#define PLACES 64u
struct place {
  const char *at, *label;
  struct pml_section *section;
};
static _Thread_local struct place places[PLACES];

static struct pml_section *look_up(const char *label, struct place *p) {
  struct pml_section_info info;
  struct pml_section *s = label_ok(label) ? define(label, PMLIB_CALC, true) : NULL;
  if (s == NULL) return NULL;
  pmlib_number_thread();
  pml_section_describe(s, &info);
  p->at = label;
  p->label = info.label;
  p->section = s;
  return s;
}

static struct pml_section *section_of(const char *label) {
  struct place *p = &places[((uintptr_t)label >> 3 ^ (uintptr_t)label >> 9) % PLACES];
  if (PML_LIKELY(label != NULL && p->at == label && strcmp(p->label, label) == 0)) return p->section;
  return look_up(label, p);
}

void pmlib_start(const char *label) {
  if (!pmlib_on()) return;
  struct pml_section *s = section_of(label);
  if (s != NULL) (void)pml_section_start(s); /* misuse is counted, and appears in the report */
}

void pmlib_stop(const char *label, double work, unsigned iterations) {
  if (!pmlib_on()) return;
  struct pml_section *s = section_of(label);
  if (s == NULL) return;
  double done = work * iterations;
  if (pmlib.tracing == PMLIB_TRACE_FULL && done > 0) pmlib_trace_work(s, done);
  if (work == 0.0) /* time only */
    (void)pml_section_stop(s);
  else
    (void)pml_section_stop_work(s, done, iterations);
}

/* ---- resetting ---- */

static void take_base(struct pmlib_known *k, const struct pml_section_report *r) {
  free(k->base);
  k->base = NULL;
  k->nbases = 0;
  struct pmlib_base *base = calloc(r->n == 0 ? 1 : r->n, sizeof *base);
  if (base == NULL) return;
  for (size_t i = 0; i < r->n; i++) {
    const struct pml_section_row *row = &r->row[i];
    if (row->section != k->section) continue;
    struct pmlib_base *b = &base[k->nbases++];
    b->thread = row->thread;
    b->was.count = row->count;
    b->was.seconds = row->total_ns * 1e-9;
    b->was.work = row->work;
    for (uint32_t v = 0; row->value != NULL && v < pmlib.nevents; v++)
      b->was.value[v] = row->value[v].real ? row->value[v].d : (double)row->value[v].i;
  }
  k->base = base;
}

void pmlib_reset(const char *label) {
  if (!pmlib_on() || !label_ok(label)) return;
  const struct pml_section *s = pml_section_find(label);
  if (s == NULL) {
    pmlib_warn("reset of section '%.200s': it was never started", label);
    return;
  }
  struct pml_section_info info;
  pml_section_describe(s, &info);
  pmlib_lock();
  bool known = pmlib_known_of(s) != NULL;
  pmlib_unlock();
  if (!known) pmlib_properties(label, info.type == PML_SECTION_COMMUNICATION ? PMLIB_COMM : PMLIB_CALC, info.exclusive);
  struct pml_section_report r;
  int err = pml_section_report(true, &r);
  if (err < 0) {
    pmlib_warn("reset of section '%.200s': %s", label, pml_error_detail(err));
    return;
  }
  pmlib_lock();
  struct pmlib_known *k = pmlib_known_of(s);
  if (k != NULL) take_base(k, &r);
  pmlib_unlock();
  pml_section_report_free(&r);
}

void pmlib_reset_all(void) {
  if (!pmlib_on()) return;
  pmlib_forget_bases();
  pml_section_reset();
  pmlib.begin_ticks = pml_clock_ticks();
  pmlib.end_ticks = 0;
}

/* ---- other calls ---- */

bool pmlib_tell(struct pmlib_setting *s) {
  *s = (struct pmlib_setting){.processes = 1, .threads = 1};
  if (!pmlib_on()) return false;
  *s = (struct pmlib_setting){.processes = pmlib.nprocs, .threads = pmlib_max_threads(), .rank = pmlib.rank};
  return true;
}

void pmlib_stop_root(void) {
  if (pmlib_on() && pmlib.end_ticks == 0) pmlib.end_ticks = pml_clock_ticks();
}

void pmlib_set_mode(const char *mode) {
  if (!pmlib_on() || mode == NULL || *mode == '\0') return;
  char *copy = strdup(mode);
  if (copy == NULL) return;
  pmlib_lock();
  char *old = (char *)(uintptr_t)pmlib.mode;
  pmlib.mode = copy;
  pmlib_unlock();
  free(old);
}

void pmlib_no_power(void) {
  static int said;
  if (pmlib_on() && pmlib.rank == 0) once(&said, "power knob", "no power API available; call ignored");
}
