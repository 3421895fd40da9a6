/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_itt.c - Intel's ITT: tasks, frames, regions, markers, counters, locks, pause.
 *
 * A task is a region "DOMAIN/NAME" of its thread, a legacy event a region "NAME". Overlapped tasks, regions and frames
 * may overlap and end on any thread; a frame is "DOMAIN/frame". A marker is a call without duration. Waiting for a lock
 * is a region "wait NAME" of its thread, from "prepare" to "acquired" or "cancel". A counter is the software-defined
 * event sde:::ITT::DOMAIN/NAME, numeric metadata a recorder of that name, a text a call "DOMAIN/KEY=TEXT". Pause and
 * resume switch all recording.
 *
 * Timestamps of clock domains are ignored: such calls count when they are made. Heap functions, relations, histograms,
 * suppressions, Intel Advisor's annotations and code of JIT compilers are not recorded.
 */
#include "adapter/foreign/pml_foreign_open.h"

#include "adapter/foreign/pml_foreign_itt_objects.h"
#include "adapter/intercept/pml_intercept.h"
#include "adapter/section/pml_section_interval.h"
#include "base/pml_clock.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "record/events/pml_recording.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ITT PML_FOREIGN_ITT
#define DOMAIN const struct pml_itt_domain *domain
#define NAME struct pml_itt_string *name
#define ID struct pml_itt_id id
#define IDS struct pml_itt_id id, struct pml_itt_id parent
#define CLOCK void *clock, unsigned long long time
#define LOCK void *lock

/* The functions that are recorded, without "__itt_": X(result, name, parameters, arguments). */
#define FUNCTIONS(X)                                                                                                   \
  X(struct pml_itt_domain *, domain_create, (const char *name), (name))                                                \
  X(struct pml_itt_string *, string_handle_create, (const char *name), (name))                                         \
  X(struct pml_itt_counter *, counter_create, (const char *name, const char *domain), (name, domain))                  \
  X(struct pml_itt_counter *, counter_create_typed, (const char *name, const char *domain, int type),                  \
    (name, domain, type))                                                                                              \
  X(struct pml_itt_counter *, counter_create_v3, (DOMAIN, const char *name, int type), (domain, name, type))           \
  X(unsigned long long, get_timestamp, (void), ())                                                                     \
  X(void *, frame_create, (const char *domain), (domain))                                                              \
  X(int, event_create, (const char *name, int bytes), (name, bytes))                                                   \
  X(int, event_start, (int event), (event))                                                                            \
  X(int, event_end, (int event), (event))                                                                              \
  X(int, mark_create, (const char *name), (name))                                                                      \
  X(int, mark, (int mark, const char *text), (mark, text))                                                             \
  X(int, mark_global, (int mark, const char *text), (mark, text))                                                      \
  X(int, thr_name_set, (const char *name, int bytes), (name, bytes))                                                   \
  CALLS(X)
/* The functions without a result. */
#define CALLS(X)                                                                                                       \
  X(void, pause, (void), ())                                                                                           \
  X(void, resume, (void), ())                                                                                          \
  X(void, pause_scoped, (int scope), (scope))                                                                          \
  X(void, resume_scoped, (int scope), (scope))                                                                         \
  X(void, detach, (void), ())                                                                                          \
  X(void, thread_set_name, (const char *name), (name))                                                                 \
  X(void, task_begin, (DOMAIN, IDS, NAME), (domain, id, parent, name))                                                 \
  X(void, task_begin_fn, (DOMAIN, IDS, void *function), (domain, id, parent, function))                                \
  X(void, task_end, (DOMAIN), (domain))                                                                                \
  X(void, task_begin_ex, (DOMAIN, CLOCK, IDS, NAME), (domain, clock, time, id, parent, name))                          \
  X(void, task_end_ex, (DOMAIN, CLOCK), (domain, clock, time))                                                         \
  X(void, task_begin_overlapped, (DOMAIN, IDS, NAME), (domain, id, parent, name))                                      \
  X(void, task_end_overlapped, (DOMAIN, ID), (domain, id))                                                             \
  X(void, task_begin_overlapped_ex, (DOMAIN, CLOCK, IDS, NAME), (domain, clock, time, id, parent, name))               \
  X(void, task_end_overlapped_ex, (DOMAIN, CLOCK, ID), (domain, clock, time, id))                                      \
  X(void, region_begin, (DOMAIN, IDS, NAME), (domain, id, parent, name))                                               \
  X(void, region_end, (DOMAIN, ID), (domain, id))                                                                      \
  X(void, frame_begin_v3, (DOMAIN, struct pml_itt_id * id), (domain, id))                                              \
  X(void, frame_end_v3, (DOMAIN, struct pml_itt_id * id), (domain, id))                                                \
  X(void, frame_submit_v3, (DOMAIN, struct pml_itt_id * id, unsigned long long begin, unsigned long long end),         \
    (domain, id, begin, end))                                                                                          \
  X(void, frame_begin, (void *frame), (frame))                                                                         \
  X(void, frame_end, (void *frame), (frame))                                                                           \
  X(void, marker, (DOMAIN, ID, NAME, int scope), (domain, id, name, scope))                                            \
  X(void, marker_ex, (DOMAIN, CLOCK, ID, NAME, int scope), (domain, clock, time, id, name, scope))                     \
  X(void, metadata_add, (DOMAIN, ID, NAME, int type, size_t n, void *data), (domain, id, name, type, n, data))         \
  X(void, metadata_add_with_scope, (DOMAIN, int scope, NAME, int type, size_t n, void *data),                          \
    (domain, scope, name, type, n, data))                                                                              \
  X(void, metadata_str_add, (DOMAIN, ID, NAME, const char *text, size_t n), (domain, id, name, text, n))               \
  X(void, metadata_str_add_with_scope, (DOMAIN, int scope, NAME, const char *text, size_t n),                          \
    (domain, scope, name, text, n))                                                                                    \
  X(void, counter_inc, (struct pml_itt_counter * c), (c))                                                              \
  X(void, counter_inc_delta, (struct pml_itt_counter * c, unsigned long long by), (c, by))                             \
  X(void, counter_dec, (struct pml_itt_counter * c), (c))                                                              \
  X(void, counter_dec_delta, (struct pml_itt_counter * c, unsigned long long by), (c, by))                             \
  X(void, counter_set_value, (struct pml_itt_counter * c, void *value), (c, value))                                    \
  X(void, counter_set_value_v3, (struct pml_itt_counter * c, void *value), (c, value))                                 \
  X(void, counter_set_value_ex, (struct pml_itt_counter * c, CLOCK, void *value), (c, clock, time, value))             \
  X(void, counter_inc_v3, (DOMAIN, NAME), (domain, name))                                                              \
  X(void, counter_inc_delta_v3, (DOMAIN, NAME, unsigned long long by), (domain, name, by))                             \
  X(void, counter_dec_v3, (DOMAIN, NAME), (domain, name))                                                              \
  X(void, counter_dec_delta_v3, (DOMAIN, NAME, unsigned long long by), (domain, name, by))                             \
  X(void, sync_create, (LOCK, const char *type, const char *name, int kind), (lock, type, name, kind))                 \
  X(void, sync_rename, (LOCK, const char *name), (lock, name))                                                         \
  X(void, sync_prepare, (LOCK), (lock))                                                                                \
  X(void, sync_cancel, (LOCK), (lock))                                                                                 \
  X(void, sync_acquired, (LOCK), (lock))

/* The other tool's functions. Stored before any call can arrive from the module that is being initialised; later
 * modules store the same again. */
static struct {
#define FUNCTION(result, name, parameters, arguments) result(*name) parameters;
  FUNCTIONS(FUNCTION)
#undef FUNCTION
} tool;

#define PASS_ON(name, ...)                                                                                             \
  do {                                                                                                                 \
    if (PML_UNLIKELY(tool.name != NULL)) tool.name(__VA_ARGS__);                                                       \
  } while (0)
/* Objects that the other tool creates are used by both. */
#define OR_THEIRS(name, own, ...) (PML_UNLIKELY(tool.name != NULL) ? tool.name(__VA_ARGS__) : (own))

static inline struct pml_section *section_of(DOMAIN, const NAME) {
  return pml__foreign_within(ITT, domain != NULL ? domain->name : NULL, name != NULL ? name->text : NULL);
}

static inline uint64_t key_of(DOMAIN, const struct pml_itt_id *id) {
  uint64_t key = pml__hash(PML__HASH, (uintptr_t)domain);
  for (unsigned k = 0; id != NULL && k < 3; k++) key = pml__hash(key, id->word[k]);
  return key;
}

/* ---- objects ---- */

static struct pml_itt_domain *domain_create(const char *name) {
  return OR_THEIRS(domain_create, pml__itt_domain(name), name);
}
static struct pml_itt_string *string_handle_create(const char *name) {
  return OR_THEIRS(string_handle_create, pml__itt_string(name), name);
}
static struct pml_itt_counter *counter_create(const char *name, const char *domain) {
  return OR_THEIRS(counter_create, pml__itt_counter(name, domain, PML_ITT_U64), name, domain);
}
static struct pml_itt_counter *counter_create_typed(const char *name, const char *domain, int type) {
  return OR_THEIRS(counter_create_typed, pml__itt_counter(name, domain, type), name, domain, type);
}
static struct pml_itt_counter *counter_create_v3(DOMAIN, const char *name, int type) {
  const char *in = domain != NULL ? domain->name : NULL;
  return OR_THEIRS(counter_create_v3, pml__itt_counter(name, in, type), domain, name, type);
}
static unsigned long long get_timestamp(void) {
  return OR_THEIRS(get_timestamp, pml_clock_ticks(), );
}

/* ---- recording off and on ---- */

static void switch_recording(bool on) {
  pml_section_enable(on);
  pml_intercept_pause(!on);
}
static void pause(void) {
  PASS_ON(pause, );
  switch_recording(false);
}
static void resume(void) {
  switch_recording(true);
  PASS_ON(resume, );
}
static void pause_scoped(int scope) {
  PASS_ON(pause_scoped, scope);
  switch_recording(false);
}
static void resume_scoped(int scope) {
  switch_recording(true);
  PASS_ON(resume_scoped, scope);
}
static void detach(void) {
  PASS_ON(detach, );
  switch_recording(false);
}

/* ---- threads ---- */

static void thread_set_name(const char *name) {
  pml_recording_name_thread(0, name);
  PASS_ON(thread_set_name, name);
}
static int thr_name_set(const char *name, int bytes) {
  pml_recording_name_thread(0, name);
  return OR_THEIRS(thr_name_set, 0, name, bytes);
}

/* ---- tasks and events: regions of their thread ---- */

static void task_begin(DOMAIN, IDS, NAME) {
  pml_foreign_push(ITT, (uintptr_t)domain, section_of(domain, name));
  PASS_ON(task_begin, domain, id, parent, name);
}
static void task_end(DOMAIN) {
  pml_foreign_pop(ITT, (uintptr_t)domain);
  PASS_ON(task_end, domain);
}
static void task_begin_ex(DOMAIN, CLOCK, IDS, NAME) {
  pml_foreign_push(ITT, (uintptr_t)domain, section_of(domain, name));
  PASS_ON(task_begin_ex, domain, clock, time, id, parent, name);
}
static void task_end_ex(DOMAIN, CLOCK) {
  pml_foreign_pop(ITT, (uintptr_t)domain);
  PASS_ON(task_end_ex, domain, clock, time);
}

static void task_begin_fn(DOMAIN, IDS, void *function) {
  char address[32];
  Dl_info in;
  const struct pml_itt_string name = {.text = address};
  (void)snprintf(address, sizeof address, "%p", function);
  bool known = dladdr(function, &in) != 0 && in.dli_sname != NULL;
  const struct pml_itt_string symbol = {.text = known ? in.dli_sname : NULL};
  pml_foreign_push(ITT, (uintptr_t)domain, section_of(domain, known ? &symbol : &name));
  PASS_ON(task_begin_fn, domain, id, parent, function);
}

static int event_create(const char *name, int bytes) {
  return OR_THEIRS(event_create, (int)pml_foreign_id(pml_foreign_section(ITT, name)), name, bytes);
}
static int event_start(int event) {
  (void)pml_section_start(pml_foreign_of(ITT, (uint64_t)event));
  return OR_THEIRS(event_start, 0, event);
}
static int event_end(int event) {
  (void)pml_section_stop(pml_foreign_of(ITT, (uint64_t)event));
  return OR_THEIRS(event_end, 0, event);
}

/* ---- regions that overlap ---- */

static void task_begin_overlapped(DOMAIN, IDS, NAME) {
  (void)pml__foreign_open(ITT, section_of(domain, name), key_of(domain, &id), 0);
  PASS_ON(task_begin_overlapped, domain, id, parent, name);
}
static void task_end_overlapped(DOMAIN, ID) {
  (void)pml__foreign_close(ITT, key_of(domain, &id), NULL);
  PASS_ON(task_end_overlapped, domain, id);
}
static void task_begin_overlapped_ex(DOMAIN, CLOCK, IDS, NAME) {
  (void)pml__foreign_open(ITT, section_of(domain, name), key_of(domain, &id), 0);
  PASS_ON(task_begin_overlapped_ex, domain, clock, time, id, parent, name);
}
static void task_end_overlapped_ex(DOMAIN, CLOCK, ID) {
  (void)pml__foreign_close(ITT, key_of(domain, &id), NULL);
  PASS_ON(task_end_overlapped_ex, domain, clock, time, id);
}

/* Regions and tasks may have the same id. */
static void region_begin(DOMAIN, IDS, NAME) {
  (void)pml__foreign_open(ITT, section_of(domain, name), key_of(domain, &id) + 1, 0);
  PASS_ON(region_begin, domain, id, parent, name);
}
static void region_end(DOMAIN, ID) {
  (void)pml__foreign_close(ITT, key_of(domain, &id) + 1, NULL);
  PASS_ON(region_end, domain, id);
}

static struct pml_section *frame_of(const char *domain) {
  return pml__foreign_within(ITT, domain, "frame");
}
static void *frame_create(const char *domain) {
  void *frame = (void *)(uintptr_t)pml_foreign_id(frame_of(domain)); /* NOLINT(performance-no-int-to-ptr) */
  return OR_THEIRS(frame_create, frame, domain);
}
static void frame_begin(void *frame) {
  struct pml_section *s = tool.frame_create == NULL ? pml_foreign_of(ITT, (uintptr_t)frame) : frame_of("another tool");
  (void)pml__foreign_open(ITT, s, (uintptr_t)frame, 0);
  PASS_ON(frame_begin, frame);
}
static void frame_end(void *frame) {
  (void)pml__foreign_close(ITT, (uintptr_t)frame, NULL);
  PASS_ON(frame_end, frame);
}
static void frame_begin_v3(DOMAIN, struct pml_itt_id *id) {
  (void)pml__foreign_open(ITT, frame_of(domain != NULL ? domain->name : NULL), key_of(domain, id) + 2, 0);
  PASS_ON(frame_begin_v3, domain, id);
}
static void frame_end_v3(DOMAIN, struct pml_itt_id *id) {
  (void)pml__foreign_close(ITT, key_of(domain, id) + 2, NULL);
  PASS_ON(frame_end_v3, domain, id);
}
/* The program reads the times by get_timestamp(). */
static void frame_submit_v3(DOMAIN, struct pml_itt_id *id, unsigned long long begin, unsigned long long end) {
  struct pml_section *s = frame_of(domain != NULL ? domain->name : NULL);
  if (tool.get_timestamp == NULL && begin <= end && end <= pml_clock_ticks())
    (void)pml_section_interval(s, begin, end);
  else
    pml_foreign_mark(s, 0);
  PASS_ON(frame_submit_v3, domain, id, begin, end);
}

/* ---- markers ---- */

static void marker(DOMAIN, ID, NAME, int scope) {
  pml_foreign_mark(section_of(domain, name), 0);
  PASS_ON(marker, domain, id, name, scope);
}
static void marker_ex(DOMAIN, CLOCK, ID, NAME, int scope) {
  pml_foreign_mark(section_of(domain, name), 0);
  PASS_ON(marker_ex, domain, clock, time, id, name, scope);
}
static int mark_create(const char *name) {
  return OR_THEIRS(mark_create, (int)pml_foreign_id(pml_foreign_section(ITT, name)), name);
}
static int mark(int of, const char *text) {
  if (tool.mark_create == NULL) pml_foreign_mark(pml_foreign_of(ITT, (uint64_t)of), 0);
  return OR_THEIRS(mark, 0, of, text);
}
static int mark_global(int of, const char *text) {
  if (tool.mark_create == NULL) pml_foreign_mark(pml_foreign_of(ITT, (uint64_t)of), 0);
  return OR_THEIRS(mark_global, 0, of, text);
}

/* ---- numbers ---- */

static void add_metadata(DOMAIN, const NAME, int type, size_t n, const void *data) {
  double value;
  const struct pml_section *s = n > 0 && data != NULL ? section_of(domain, name) : NULL;
  for (size_t k = 0; s != NULL && k < n && pml__itt_number(type, data, k, &value); k++)
    pml__foreign_value(ITT, s, value);
}
static void metadata_add(DOMAIN, ID, NAME, int type, size_t n, void *data) {
  add_metadata(domain, name, type, n, data);
  PASS_ON(metadata_add, domain, id, name, type, n, data);
}
static void metadata_add_with_scope(DOMAIN, int scope, NAME, int type, size_t n, void *data) {
  add_metadata(domain, name, type, n, data);
  PASS_ON(metadata_add_with_scope, domain, scope, name, type, n, data);
}

/* @n 0: the text ends with a zero. */
static void mark_text(DOMAIN, const NAME, const char *text, size_t n) {
  char both[PML_FOREIGN_LABEL];
  const struct pml_itt_string label = {.text = both};
  if (text == NULL) return;
  (void)snprintf(both, sizeof both, "%.2000s=%.*s", name != NULL && name->text != NULL ? name->text : "(null)",
                 (int)(n > 0 && n < 2000 ? n : 2000), text);
  pml_foreign_mark(section_of(domain, &label), 0);
}
static void metadata_str_add(DOMAIN, ID, NAME, const char *text, size_t n) {
  mark_text(domain, name, text, n);
  PASS_ON(metadata_str_add, domain, id, name, text, n);
}
static void metadata_str_add_with_scope(DOMAIN, int scope, NAME, const char *text, size_t n) {
  mark_text(domain, name, text, n);
  PASS_ON(metadata_str_add_with_scope, domain, scope, name, text, n);
}

static void counter_inc(struct pml_itt_counter *c) {
  pml__itt_count(c, 1);
  PASS_ON(counter_inc, c);
}
static void counter_inc_delta(struct pml_itt_counter *c, unsigned long long by) {
  pml__itt_count(c, by);
  PASS_ON(counter_inc_delta, c, by);
}
static void counter_dec(struct pml_itt_counter *c) {
  pml__itt_count(c, -UINT64_C(1));
  PASS_ON(counter_dec, c);
}
static void counter_dec_delta(struct pml_itt_counter *c, unsigned long long by) {
  pml__itt_count(c, -by);
  PASS_ON(counter_dec_delta, c, by);
}
static void counter_set_value(struct pml_itt_counter *c, void *value) {
  pml__itt_set(c, value);
  PASS_ON(counter_set_value, c, value);
}
static void counter_set_value_v3(struct pml_itt_counter *c, void *value) {
  pml__itt_set(c, value);
  PASS_ON(counter_set_value_v3, c, value);
}
static void counter_set_value_ex(struct pml_itt_counter *c, CLOCK, void *value) {
  pml__itt_set(c, value);
  PASS_ON(counter_set_value_ex, c, clock, time, value);
}
static void counter_inc_v3(DOMAIN, NAME) {
  pml__itt_count_in(domain, name, 1);
  PASS_ON(counter_inc_v3, domain, name);
}
static void counter_inc_delta_v3(DOMAIN, NAME, unsigned long long by) {
  pml__itt_count_in(domain, name, by);
  PASS_ON(counter_inc_delta_v3, domain, name, by);
}
static void counter_dec_v3(DOMAIN, NAME) {
  pml__itt_count_in(domain, name, -UINT64_C(1));
  PASS_ON(counter_dec_v3, domain, name);
}
static void counter_dec_delta_v3(DOMAIN, NAME, unsigned long long by) {
  pml__itt_count_in(domain, name, -by);
  PASS_ON(counter_dec_delta_v3, domain, name, by);
}

/* ---- locks ---- */

/* A thread acquires a lock without "prepare" if it need not wait. */
#define WAITS 8u
static PML_THREAD_LOCAL struct {
  const void *lock;
  struct pml_section *section;
} waiting[WAITS] __attribute__((tls_model("initial-exec")));
static PML_THREAD_LOCAL unsigned nwaiting __attribute__((tls_model("initial-exec")));

static void end_wait(const void *lock) {
  if (nwaiting == 0 || waiting[nwaiting - 1].lock != lock) return;
  (void)pml_section_stop(waiting[--nwaiting].section);
}

static void sync_create(LOCK, const char *type, const char *name, int kind) {
  pml__itt_lock(lock, name != NULL && name[0] != '\0' ? name : type);
  PASS_ON(sync_create, lock, type, name, kind);
}
static void sync_rename(LOCK, const char *name) {
  pml__itt_lock(lock, name);
  PASS_ON(sync_rename, lock, name);
}
static void sync_prepare(LOCK) {
  while (PML_UNLIKELY(nwaiting == WAITS) || (nwaiting > 0 && PML_UNLIKELY(waiting[nwaiting - 1].lock == lock)))
    end_wait(waiting[nwaiting - 1].lock); /* it was never acquired */
  waiting[nwaiting].lock = lock;
  waiting[nwaiting].section = pml__itt_lock_section(lock);
  (void)pml_section_start(waiting[nwaiting++].section);
  PASS_ON(sync_prepare, lock);
}
static void sync_cancel(LOCK) {
  end_wait(lock);
  PASS_ON(sync_cancel, lock);
}
static void sync_acquired(LOCK) {
  end_wait(lock);
  PASS_ON(sync_acquired, lock);
}

/* ---- initialisation ---- */

struct ours {
  void *function, **theirs; /* NULL: the name is another function's */
};

/* Code instead of a table, because the loader would relocate a table at the start of each program. */
static struct ours ours_of(const char *name) {
#define ROW(result, own, parameters, arguments)                                                                        \
  if (strcmp(name, "__itt_" #own) == 0) return (struct ours){(void *)own, (void **)(void *)&tool.own};
  FUNCTIONS(ROW)
#undef ROW
  return (struct ours){NULL, NULL};
}

typedef void init_function(struct pml_itt_global *, int);

/* The functions of the other tool, in the pointers of @g as far as it has them. */
static void let_other_tool(struct pml_itt_global *g, int group, size_t row_bytes) {
  void *library = NULL;
  void *init = pml__foreign_tool(ITT, "__itt_api_init", &library);
  if (library != NULL) g->library = library; /* where the tool and the static part look for its functions */
  if (init != NULL) ((init_function *)init)(g, group);
  for (const char *at = g->functions; init == NULL && library != NULL; at += row_bytes) {
    const struct pml_itt_function_without_none *f = (const void *)at;
    if (f->name == NULL) break;
    void *theirs = dlsym(library, f->name);
    if (theirs != NULL) *f->at = theirs;
  }
}

/* Whether the runtime of OpenMP contains @g: OMPT reports the same regions. */
static bool is_openmp(const struct pml_itt_global *g) {
  Dl_info in, there;
  if (dladdr(g, &in) == 0) return false;
  void *file = dlopen(in.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *fork = file != NULL ? dlsym(file, "__kmpc_fork_call") : NULL;
  if (file != NULL) (void)dlclose(file);
  return fork != NULL && dladdr(fork, &there) != 0 && there.dli_fbase == in.dli_fbase;
}

/* Rows begin alike in all versions. */
static void store(const struct pml_itt_function_without_none *row, bool has_none, bool recorded) {
  const struct pml_itt_function *whole = (const void *)row;
  const struct ours o = recorded ? ours_of(row->name) : (struct ours){0};
  void *there = *row->at, *none = has_none ? whole->none : NULL;
  bool theirs = there != NULL && there != row->first && there != none;
  if (o.function != NULL && there == o.function) return;
  if (o.function != NULL && theirs) *o.theirs = there;
  if (o.function != NULL)
    *row->at = o.function;
  else if (!theirs && has_none)
    *row->at = none;
}

#define ROWS_MAX 1000u

PML_API void __itt_api_init(struct pml_itt_global *g, int group);
PML_API void __itt_api_init(struct pml_itt_global *g, int group) {
  static const unsigned char magic[8] = PML_ITT_MAGIC;
  static struct pml__lock lock;
  if (g == NULL || memcmp(g->magic, magic, sizeof magic) != 0 || g->major != PML_ITT_MAJOR || g->functions == NULL) {
    pml_foreign_mark(pml_foreign_section(ITT, "(unknown version of ITT)"), 0);
    return;
  }
  bool recorded = !is_openmp(g), has_none = g->build > PML_ITT_BUILD_WITHOUT_NONE;
  size_t row_bytes = has_none ? sizeof(struct pml_itt_function) : sizeof(struct pml_itt_function_without_none);
  const char *at = g->functions;
  let_other_tool(g, group, row_bytes);
  pml__lock_take(&lock);
  for (unsigned k = 0; k < ROWS_MAX; k++, at += row_bytes) {
    const struct pml_itt_function_without_none *row = (const void *)at;
    if (row->name == NULL) break;
    if (row->at != NULL) store(row, has_none, recorded);
  }
  pml__lock_leave(&lock);
}
