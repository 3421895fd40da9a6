/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/libsde.c - papi_sde_*: libsde's library interface on pmlua's registry.
 *
 * The hot functions (inc_counter, record) find the thread's cell through the handle, without lock or look-up.
 */
#include "compat/libsde.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int _sde_be_verbose;
int _sde_debug;

int pml__libsde_error(int err) {
  if (err >= 0) return SDE_OK;
  switch (err) {
  case -EINVAL:
  case -EACCES:
  case -EEXIST:
  case PML_EMODE:
    return SDE_EINVAL;
  case -ENOENT:
  case PML_ENOEVENT:
    return SDE_ENOEVNT;
  case -ENOMEM:
  case PML_EFULL:
    return SDE_ENOMEM;
  default:
    return SDE_EMISC;
  }
}

/* Checks of every function on a library: return at once, report a misuse, or continue with *lib. */
#define ENTER(handle, lib, registry)                                                                                   \
  struct sde_library *lib = (handle);                                                                                  \
  if (!lib) return SDE_OK;                                                                                             \
  struct pml_sde_library *registry = atomic_load_explicit(&lib->registry, memory_order_acquire);                       \
  if (!registry) return SDE_EINVAL

/* The same for functions on a counter, recorder or set; they end with LEAVE_EVENT(code). */
#define ENTER_EVENT(handle, e, is)                                                                                     \
  if (!(handle)) return SDE_OK;                                                                                        \
  pml__libsde_enter();                                                                                                 \
  struct sde_event *e = pml__libsde_of_handle(handle);                                                                 \
  if (atomic_load_explicit(&e->kind, memory_order_acquire) != (is)) return pml__libsde_leave_call(SDE_EINVAL)
#define LEAVE_EVENT(rc) return pml__libsde_leave_call(rc)

papi_handle_t papi_sde_init(const char *name) {
  if (!name || !*name) return NULL;
  if (secure_getenv("PAPI_VERBOSE")) _sde_be_verbose = 1;
  const char *debug = secure_getenv("PAPI_DEBUG");
  if (debug && (strstr(debug, "SDE") || strstr(debug, "ALL"))) _sde_debug = 1;
  struct sde_library *lib = pml__libsde_library(name);
  struct pml_sde_library *registry;
  if (!lib || pml_sde_library(&registry, name) < 0) return NULL;
  atomic_store_explicit(&lib->registry, registry, memory_order_release);
  return lib;
}

int papi_sde_shutdown(papi_handle_t handle) {
  ENTER(handle, lib, registry);
  if (!atomic_compare_exchange_strong(&lib->registry, &registry, NULL)) return SDE_EINVAL;
  pml__libsde_leave_library(lib->name);
  pml__libsde_wait();
  int err = pml_sde_shutdown(registry);
  pml__libsde_left_library(lib->name, err == 0 && pml__libsde_calls_left());
  return pml__libsde_error(err);
}

/* Before registering: sets the event. Returns 1 if it is registered already (libsde then returns OK and leaves it
 * unchanged), 0 to continue, or a negative libsde code. */
static int before(struct sde_event **e, const struct sde_library *lib, const char *event, int mode) {
  if (!event || !*event) return SDE_EINVAL;
  if (mode & ~(PAPI_SDE_RW | PAPI_SDE_INSTANT)) return SDE_ECMP;
  int err = pml__libsde_event_of(e, lib, event);
  if (err < 0) return pml__libsde_error(err);
  return pml__libsde_refresh(*e) != PML_SDE_PLACEHOLDER;
}

static int after(struct sde_event *e, int err) {
  if (err < 0) return pml__libsde_error(err);
  pml__libsde_refresh(e);
  return pml__libsde_filled(e);
}

/* Sets *@handle, unless it is NULL, to a handle of the event, which has @object. */
static int hand_out(struct sde_event *e, void *object, void **handle) {
  atomic_store(&e->created, object);
  struct sde_handle *h = pml__libsde_handle(e);
  if (h && handle) *handle = h;
  return h ? SDE_OK : SDE_ENOMEM;
}

int papi_sde_register_counter(papi_handle_t handle, const char *event, int mode, int type, void *counter) {
  struct sde_event *e;
  ENTER(handle, lib, registry);
  if (type < PAPI_SDE_long_long || type > PAPI_SDE_float) return SDE_EINVAL;
  int there = before(&e, lib, event, mode);
  if (there) return there < 0 ? there : SDE_OK;
  if (!counter) return SDE_OK; /* a listing hook has no variable yet: the name is listed and reads as a placeholder */
  return after(e, pml_sde_register(registry, event, (unsigned)mode, (enum pml_type)type, counter));
}

int papi_sde_register_counter_cb(papi_handle_t handle, const char *event, int mode, int type, papi_sde_fptr_t callback,
                                 void *param) {
  struct sde_event *e;
  ENTER(handle, lib, registry);
  if (type < PAPI_SDE_long_long || type > PAPI_SDE_float) return SDE_EINVAL;
  int there = before(&e, lib, event, mode);
  if (there) return there < 0 ? there : SDE_OK;
  if (!callback) return SDE_OK;
  /* long long and int64_t (long) have the same calling convention on all platforms of pmlua */
  pml_sde_callback *call = (pml_sde_callback *)(void (*)(void))callback;
  return after(e, pml_sde_register_callback(registry, event, (unsigned)mode, (enum pml_type)type, call, param));
}

static const char *const derived[] = {":CNT", ":MIN", ":Q1", ":MED", ":Q3", ":MAX"};

/* Call @use with the name of each event derived from recorder @event. */
static int each_derived(const struct sde_library *lib, const char *event, bool quantiles,
                        int (*use)(const struct sde_library *, const char *)) {
  size_t n = strlen(event), last = quantiles ? sizeof derived / sizeof *derived : 1;
  char *name = malloc(n + sizeof ":CNT");
  if (!name) return -ENOMEM;
  memcpy(name, event, n);
  int err = 0;
  for (size_t i = 0; i < last && err >= 0; i++) {
    memcpy(name + n, derived[i], strlen(derived[i]) + 1);
    err = use(lib, name);
  }
  free(name);
  return err;
}

static int adopt(const struct sde_library *lib, const char *event) {
  struct sde_event *e;
  int err = pml__libsde_event_of(&e, lib, event);
  return err < 0 ? err : pml__libsde_refresh(e);
}

/* The known event, or NULL. */
static struct sde_event *known(const struct sde_library *lib, const char *event) {
  char *name = pml__libsde_full_name(lib->name, event);
  struct sde_event *e = name ? pml__libsde_known(name) : NULL;
  free(name);
  return e;
}

static int leave(const struct sde_library *lib, const char *event) {
  struct sde_event *e = known(lib, event);
  if (e) pml__libsde_leave(e);
  return 0;
}

static int left(const struct sde_library *lib, const char *event) {
  struct sde_event *e = known(lib, event);
  if (e) pml__libsde_left(e, 0, false);
  return 0;
}

static int left_quiet(const struct sde_library *lib, const char *event) {
  struct sde_event *e = known(lib, event);
  if (e) pml__libsde_left(e, 0, true);
  return 0;
}

int papi_sde_unregister_counter(papi_handle_t handle, const char *event) {
  ENTER(handle, lib, registry);
  struct sde_event *e = event ? known(lib, event) : NULL;
  if (!e || pml__libsde_refresh(e) == PML_SDE_PLACEHOLDER) return SDE_EINVAL;
  bool recorder = atomic_load(&e->kind) == PML_SDE_RECORDER;
  pml__libsde_leave(e);
  if (recorder) (void)each_derived(lib, event, true, leave);
  pml__libsde_wait();
  int err = pml_sde_unregister(registry, event);
  bool quiet = err == 0 && pml__libsde_calls_left();
  pml__libsde_left(e, err, quiet);
  if (recorder) (void)each_derived(lib, event, true, quiet ? left_quiet : left);
  return pml__libsde_error(err);
}

int papi_sde_describe_counter(papi_handle_t handle, const char *event, const char *description) {
  ENTER(handle, lib, registry);
  if (!event || !description) return SDE_EINVAL;
  int err = pml_sde_describe(registry, event, description);
  return err == PML_ENOEVENT || err == -ENOENT ? SDE_EINVAL : pml__libsde_error(err);
}

int papi_sde_add_counter_to_group(papi_handle_t handle, const char *event, const char *group, uint32_t flags) {
  struct sde_event *e;
  ENTER(handle, lib, registry);
  if (!event || !group || flags > PAPI_SDE_MIN) return SDE_EINVAL;
  int err = pml_sde_group_add(registry, event, group, (enum pml_sde_operation)flags);
  if (err == PML_ENOEVENT || err == -ENOENT) return SDE_EINVAL;
  if (err < 0) return pml__libsde_error(err);
  struct sde_event *member = known(lib, event);
  err = pml__libsde_event_of(&e, lib, group);
  if (err == 0 && member) err = pml__libsde_join(e, member, (enum pml_sde_operation)flags);
  return after(e, err);
}

int papi_sde_create_counter(papi_handle_t handle, const char *event, int mode, void **counter) {
  struct sde_event *e;
  struct pml_sde_counter *c;
  ENTER(handle, lib, registry);
  int there = before(&e, lib, event, mode);
  if (there < 0) return there;
  int err = pml_sde_create(registry, event, (unsigned)mode, &c);
  if (err < 0) return pml__libsde_error(err);
  err = hand_out(e, c, counter);
  return err != SDE_OK || there ? err : after(e, 0);
}

/* Slow path: a handle of another kind, a counter with a threshold, or the thread's first increment. */
static __attribute__((noinline)) int increment_slowly(void *counter, long long int increment) {
  ENTER_EVENT(counter, e, PML_SDE_CREATED);
  int err = pml_sde_increment(atomic_load_explicit(&e->created, memory_order_relaxed), increment);
  LEAVE_EVENT(PML_LIKELY(err == 0) ? SDE_OK : pml__libsde_error(err));
}

int papi_sde_inc_counter(void *counter, long long int increment) {
  struct sde_handle *h = counter;
  if (PML_UNLIKELY(!h)) return SDE_OK;
  bool added = pml__sde_add(&h->count, increment);
  return PML_LIKELY(added) ? SDE_OK : increment_slowly(counter, increment);
}

int papi_sde_reset_counter(void *counter) {
  ENTER_EVENT(counter, e, PML_SDE_CREATED);
  LEAVE_EVENT(pml__libsde_error(pml_sde_counter_reset(atomic_load(&e->created))));
}

/* pmlua's comparators determine the type of the elements. */
static enum pml_type type_of(size_t bytes, papi_sde_order_t *compare) {
  if (compare == papi_sde_compare_double && bytes == sizeof(double)) return PML_TYPE_DOUBLE;
  if (compare == papi_sde_compare_long_long && bytes == sizeof(long long)) return PML_TYPE_INT64;
  if (compare == papi_sde_compare_int && bytes == sizeof(int)) return PML_TYPE_INT32;
  if (compare == papi_sde_compare_float && bytes == sizeof(float)) return PML_TYPE_FLOAT;
  return PML_TYPE_OTHER;
}

int papi_sde_create_recorder(papi_handle_t handle, const char *event, size_t bytes, papi_sde_order_t *compare,
                             void **recorder) {
  struct sde_event *e;
  struct pml_recorder *r;
  ENTER(handle, lib, registry);
  if (bytes == 0) return SDE_EINVAL;
  int there = before(&e, lib, event, PAPI_SDE_RO);
  if (there < 0) return there;
  struct pml_recorder_options options = {.type = type_of(bytes, compare), .bytes = bytes, .compare = compare};
  if (options.type != PML_TYPE_OTHER) options.compare = NULL;
  int err = there && atomic_load(&e->kind) != PML_SDE_RECORDER ? -EINVAL
                                                               : pml_sde_create_recorder(registry, event, &options, &r);
  if (err < 0) return pml__libsde_error(err);
  err = hand_out(e, r, recorder);
  if (err != SDE_OK || there) return err;
  atomic_store(&e->bytes, bytes);
  err = each_derived(lib, event, compare != NULL, adopt);
  return after(e, err);
}

/* Slow path: a thread's first call, another recorder in its cell, elements that do not have 8 bytes, no room, or a
 * misuse. Only a thread's outermost call fills a cell, because no other call waits for it. */
static __attribute__((noinline)) int record_slowly(void *recorder, size_t bytes, const void *value) {
  struct sde_handle *h = recorder;
  ENTER_EVENT(recorder, e, PML_SDE_RECORDER);
  uint64_t key = pml__recorder_cache_key(&h->series);
  if (!value || bytes != atomic_load_explicit(&e->bytes, memory_order_relaxed)) LEAVE_EVENT(SDE_EINVAL);
  struct pml_recorder *r = atomic_load_explicit(&e->created, memory_order_relaxed);
  int err = pml_recorder_push(r, value);
  if (bytes == 8 && pml__libsde_call.inside == 1) pml__recorder_cache_fill(&h->series, r, key);
  LEAVE_EVENT(pml__libsde_error(err));
}

int papi_sde_record(void *recorder, size_t bytes, const void *value) {
  struct sde_handle *h = recorder;
  if (PML_UNLIKELY(!h)) return SDE_OK;
  bool recorded = PML_LIKELY(value != NULL) && pml__recorder_cache_push(&h->series, bytes, value);
  return PML_LIKELY(recorded) ? SDE_OK : record_slowly(recorder, bytes, value);
}

int papi_sde_reset_recorder(void *recorder) {
  ENTER_EVENT(recorder, e, PML_SDE_RECORDER);
  pml_recorder_reset(atomic_load(&e->created));
  LEAVE_EVENT(SDE_OK);
}

int papi_sde_create_counting_set(papi_handle_t handle, const char *event, void **set) {
  struct sde_event *e;
  struct pml_sde_set *s;
  ENTER(handle, lib, registry);
  int there = before(&e, lib, event, PAPI_SDE_RO);
  if (there < 0) return there;
  int err = pml_sde_create_set(registry, event, &s);
  if (err < 0) return pml__libsde_error(err);
  err = hand_out(e, s, set);
  return err != SDE_OK || there ? err : after(e, 0);
}

int papi_sde_counting_set_insert(void *set, size_t bytes, size_t hashable, const void *element, uint32_t type_id) {
  ENTER_EVENT(set, e, PML_SDE_SET);
  if (!element || bytes == 0 || hashable == 0 || hashable > bytes) LEAVE_EVENT(SDE_EINVAL);
  LEAVE_EVENT(pml__libsde_error(pml_sde_set_insert(atomic_load(&e->created), bytes, hashable, element, type_id)));
}

int papi_sde_counting_set_remove(void *set, size_t hashable, const void *element, uint32_t type_id) {
  ENTER_EVENT(set, e, PML_SDE_SET);
  if (!element || hashable == 0) LEAVE_EVENT(SDE_EINVAL);
  int err = pml_sde_set_remove(atomic_load(&e->created), hashable, element, type_id);
  LEAVE_EVENT(err == -ENOENT ? SDE_EINVAL : pml__libsde_error(err));
}

void *papi_sde_get_counter_handle(papi_handle_t handle, const char *event) {
  struct sde_library *lib = handle;
  if (!lib || !event || !atomic_load(&lib->registry)) return NULL;
  struct sde_event *e = known(lib, event);
  return e && atomic_load(&e->kind) != PML_SDE_PLACEHOLDER ? pml__libsde_handle(e) : NULL;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

int papi_sde_compare_long_long(const void *a, const void *b) {
  return ORDER(*(const long long *)a, *(const long long *)b);
}

int papi_sde_compare_int(const void *a, const void *b) {
  return ORDER(*(const int *)a, *(const int *)b);
}

/* A NaN comes after every number, because qsort needs a total order. */
static int order_double(double a, double b) {
  return isnan(a) || isnan(b) ? ORDER(isnan(a) != 0, isnan(b) != 0) : ORDER(a, b);
}

int papi_sde_compare_double(const void *a, const void *b) {
  return order_double(*(const double *)a, *(const double *)b);
}

int papi_sde_compare_float(const void *a, const void *b) {
  return order_double((double)*(const float *)a, (double)*(const float *)b);
}
