/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_gomp.c - lookup of libgomp's functions; parallel regions. */
#include "preload/record_gomp.h"
#include "base/pml_setting.h"

#include <dlfcn.h>
#include <stdlib.h>

/* ---- the runtime ---- */

/* For a library that was opened locally, look up the function in the library's own scope. The result is not cached,
 * because another library may use another runtime. */
static void *find_for(const char *name, const void *caller) {
  Dl_info at;
  void *library = dladdr(caller, &at) != 0 ? dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void *found = library != NULL ? dlsym(library, name) : NULL;
  if (library != NULL) dlclose(library);
  return found;
}

void *pml__gomp_real(struct pml__gomp_function *f, const void *caller) {
  void *found = atomic_load_explicit(&f->found, memory_order_relaxed);
  if (PML_LIKELY(found != NULL)) return found;
  found = dlsym(RTLD_NEXT, f->name);
  if (found == NULL) return find_for(f->name, caller);
  atomic_store_explicit(&f->found, found, memory_order_relaxed);
  return found;
}

/* Whether the runtime has OMPT: libomp also exports libgomp's functions for programs compiled with gcc. */
static bool has_ompt(const void *caller) {
  static struct pml__gomp_function parallel = {"GOMP_parallel", NULL};
  static _Atomic int known; /* 1: no, 2: yes */
  int is = atomic_load_explicit(&known, memory_order_relaxed);
  if (PML_LIKELY(is != 0)) return is == 2;
  Dl_info at;
  void *function = pml__gomp_real(&parallel, caller);
  void *library = function != NULL && dladdr(function, &at) != 0 ? dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  bool has = library != NULL && dlsym(library, "__kmpc_fork_call") != NULL;
  if (library != NULL) dlclose(library);
  if (function != NULL) atomic_store_explicit(&known, has ? 2 : 1, memory_order_relaxed);
  return has;
}

static bool is_wanted(void) {
  static _Atomic int known; /* 1: no, 2: yes */
  int is = atomic_load_explicit(&known, memory_order_relaxed);
  if (PML_UNLIKELY(is == 0)) {
    const char *folder = pml__setting("PMLUA_RECORD_DIR");
    is = folder != NULL && folder[0] != '\0' ? 2 : 1;
    atomic_store_explicit(&known, is, memory_order_relaxed);
  }
  return is == 2;
}

struct pml__openmp_thread *pml__gomp_self(const void *caller) {
  return is_wanted() && !has_ompt(caller) ? pml__openmp_self(PML_OPENMP_LIBGOMP) : NULL;
}

/* The program's place of a region. If a region's last call is a tail call, @code is in take_part(): then the place is
 * the team's. */
static const void *place_of(const void *code) {
  extern const char __ehdr_start[] __attribute__((visibility("hidden")));
  extern const char _etext[] __attribute__((visibility("hidden")));
  bool own = (uintptr_t)code >= (uintptr_t)__ehdr_start && (uintptr_t)code < (uintptr_t)_etext;
  return own ? NULL : code;
}

void pml__gomp_barrier(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, void (*wait)(void),
                       const void *code) {
  if (construct != PML__LOG_OPENMP_TASKWAIT) pml__gomp_end_single(t);
  pml__openmp_enter(t, construct, place_of(code), 0);
  wait();
  pml__openmp_leave(t, construct);
}

uint64_t pml__gomp_trips(long start, long end, long step) {
  if (step > 0 && end > start) return ((uint64_t)end - (uint64_t)start + (uint64_t)step - 1) / (uint64_t)step;
  if (step < 0 && start > end) return ((uint64_t)start - (uint64_t)end - (uint64_t)step - 1) / -(uint64_t)step;
  return 0;
}

/* ---- parallel regions ---- */

typedef void work(void *);

/* The work of a team's threads; lives until the last thread has finished it. */
struct region {
  work *work;
  void *data;
  struct pml__openmp_team *team;
  enum pml__log_openmp_construct construct; /* construct at the region's start; 0: none */
  uint64_t count;
  const void *code;
  int (*number)(void), (*threads)(void);
  void (*barrier)(void);
  bool (*cancelled)(int);
};

static void take_part(void *arg) {
  const struct region r = *(const struct region *)arg;
  struct pml__openmp_thread *t = pml__openmp_self(PML_OPENMP_LIBGOMP);
  if (t == NULL) {
    r.work(r.data);
    r.barrier();
    return;
  }
  pml__openmp_begin(t, r.team, arg, (uint32_t)r.number(), (uint32_t)r.threads());
  if (r.construct != 0) pml__openmp_enter(t, r.construct, r.code, r.count);
  r.work(r.data);
  if (r.construct != 0) pml__openmp_leave(t, r.construct);
  if (!r.cancelled(1)) pml__gomp_barrier(t, PML__LOG_OPENMP_IMPLICIT_BARRIER, r.barrier, r.code);
  pml__openmp_end(t);
}

/* Returns false if the region is not recorded. */
static bool begin(struct region *r, struct pml__openmp_thread *t, unsigned threads) {
  static struct pml__gomp_function number = {"omp_get_thread_num", NULL}, all = {"omp_get_num_threads", NULL},
                                   barrier = {"GOMP_barrier", NULL}, cancelled = {"GOMP_cancellation_point", NULL};
  if (t == NULL) return false;
  *(void **)&r->number = pml__gomp_real(&number, r->code);
  *(void **)&r->threads = pml__gomp_real(&all, r->code);
  *(void **)&r->barrier = pml__gomp_real(&barrier, r->code);
  *(void **)&r->cancelled = pml__gomp_real(&cancelled, r->code);
  if (r->number == NULL || r->threads == NULL || r->barrier == NULL || r->cancelled == NULL) return false;
  r->team = pml__openmp_fork(t, r->code, threads);
  return r->team != NULL;
}

/* If no event is emitted, the call of the runtime's function is a tail call, so that a runtime with OMPT sees the
 * program's call. Code that needs a stack frame is therefore in separate functions. */
#define APART __attribute__((noinline)) static

typedef void gomp_parallel(work *, void *, unsigned, unsigned);
APART void parallel(gomp_parallel *real, struct pml__openmp_thread *t, struct region r, unsigned threads,
                    unsigned flags) {
  bool seen = begin(&r, t, threads);
  real(seen ? take_part : r.work, seen ? &r : r.data, threads, flags);
  if (seen) pml__openmp_join(t, r.team);
}

PML_API gomp_parallel GOMP_parallel;
PML_API void GOMP_parallel(work *fn, void *data, unsigned threads, unsigned flags) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(gomp_parallel, GOMP_parallel, caller);
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t == NULL)
    real(fn, data, threads, flags);
  else
    parallel(real, t, (struct region){.work = fn, .data = data, .code = caller}, threads, flags);
}

typedef void gomp_parallel_sections(work *, void *, unsigned, unsigned, unsigned);
APART void parallel_sections(gomp_parallel_sections *real, struct pml__openmp_thread *t, struct region r,
                             unsigned threads, unsigned flags) {
  unsigned count = (unsigned)r.count;
  bool seen = begin(&r, t, threads);
  real(seen ? take_part : r.work, seen ? &r : r.data, threads, count, flags);
  if (seen) pml__openmp_join(t, r.team);
}

PML_API gomp_parallel_sections GOMP_parallel_sections;
PML_API void GOMP_parallel_sections(work *fn, void *data, unsigned threads, unsigned count, unsigned flags) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(gomp_parallel_sections, GOMP_parallel_sections, caller);
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t == NULL)
    real(fn, data, threads, count, flags);
  else
    parallel_sections(
        real, t,
        (struct region){
            .work = fn, .data = data, .code = caller, .construct = PML__LOG_OPENMP_SECTIONS, .count = count},
        threads, flags);
}

struct turns {
  long start, end, step, chunk;
};

static struct region loop_region(work *fn, void *data, const struct turns *l, const void *caller) {
  return (struct region){.work = fn,
                         .data = data,
                         .code = caller,
                         .construct = PML__LOG_OPENMP_LOOP,
                         .count = pml__gomp_trips(l->start, l->end, l->step)};
}

typedef void gomp_parallel_loop(work *, void *, unsigned, long, long, long, long, unsigned);
APART void parallel_loop(gomp_parallel_loop *real, struct pml__openmp_thread *t, work *fn, void *data,
                         const void *caller, struct turns l, unsigned threads, unsigned flags) {
  struct region r = loop_region(fn, data, &l, caller);
  bool seen = begin(&r, t, threads);
  real(seen ? take_part : fn, seen ? &r : data, threads, l.start, l.end, l.step, l.chunk, flags);
  if (seen) pml__openmp_join(t, r.team);
}

/* The same for schedules without a chunk size. */
typedef void gomp_parallel_runtime(work *, void *, unsigned, long, long, long, unsigned);
APART void parallel_runtime(gomp_parallel_runtime *real, struct pml__openmp_thread *t, work *fn, void *data,
                            const void *caller, struct turns l, unsigned threads, unsigned flags) {
  struct region r = loop_region(fn, data, &l, caller);
  bool seen = begin(&r, t, threads);
  real(seen ? take_part : fn, seen ? &r : data, threads, l.start, l.end, l.step, flags);
  if (seen) pml__openmp_join(t, r.team);
}

#define LOOPS(X) X(static) X(dynamic) X(guided) X(nonmonotonic_dynamic) X(nonmonotonic_guided)
#define RUNTIME_LOOPS(X) X(runtime) X(nonmonotonic_runtime) X(maybe_nonmonotonic_runtime)

#define PARALLEL_LOOP(schedule)                                                                                        \
  PML_API gomp_parallel_loop GOMP_parallel_loop_##schedule;                                                            \
  PML_API void GOMP_parallel_loop_##schedule(work *fn, void *data, unsigned threads, long start, long end, long step,  \
                                             long chunk, unsigned flags) {                                             \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(gomp_parallel_loop, GOMP_parallel_loop_##schedule, caller);                                         \
    struct pml__openmp_thread *t = pml__gomp_self(caller);                                                             \
    if (t == NULL)                                                                                                     \
      real(fn, data, threads, start, end, step, chunk, flags);                                                         \
    else                                                                                                               \
      parallel_loop(real, t, fn, data, caller, (struct turns){start, end, step, chunk}, threads, flags);               \
  }
LOOPS(PARALLEL_LOOP)

#define PARALLEL_RUNTIME(schedule)                                                                                     \
  PML_API gomp_parallel_runtime GOMP_parallel_loop_##schedule;                                                         \
  PML_API void GOMP_parallel_loop_##schedule(work *fn, void *data, unsigned threads, long start, long end, long step,  \
                                             unsigned flags) {                                                         \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(gomp_parallel_runtime, GOMP_parallel_loop_##schedule, caller);                                      \
    struct pml__openmp_thread *t = pml__gomp_self(caller);                                                             \
    if (t == NULL)                                                                                                     \
      real(fn, data, threads, start, end, step, flags);                                                                \
    else                                                                                                               \
      parallel_runtime(real, t, fn, data, caller, (struct turns){start, end, step, 0}, threads, flags);                \
  }
RUNTIME_LOOPS(PARALLEL_RUNTIME)
