/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/libsde_ti.c - sde_ti_*: the interface of PAPI's SDE component, found by dlsym or, if linked statically,
 * by pointers.
 *
 * libpapi identifies events by code only, so the value stored at start or reset is kept once per code: two event sets
 * of PAPI share it, as with libsde. Event sets of pmlua have separate values.
 */
#include "compat/libsde.h"

#include "base/pml_bits.h"
#include "source/sde/pml_sde_memo.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * libpapi.a defines the same names as COMMON: the linker merges them, so that it finds these functions without dlsym.
 */
#pragma GCC visibility push(default)
#define POINTER(name)                                                                                                  \
  extern __typeof__(sde_ti_##name) *sde_ti_##name##_ptr;                                                               \
  __typeof__(sde_ti_##name) *sde_ti_##name##_ptr = sde_ti_##name;
POINTER(reset_counter)
POINTER(read_counter)
POINTER(write_counter)
POINTER(name_to_code)
POINTER(is_simple_counter)
POINTER(is_counter_set_to_overflow)
POINTER(set_counter_overflow)
POINTER(get_event_name)
POINTER(get_event_description)
POINTER(get_num_reg_events)
POINTER(shutdown)

/* libpapi.a defines these two, and this file declares them as COMMON; with shared libraries dlsym finds the functions
 * instead. */
__attribute__((common)) void (*papi_sde_check_overflow_status_ptr)(uint32_t code, long long int value);
__attribute__((common)) int (*papi_sde_set_timer_for_overflow_ptr)(void);
#pragma GCC visibility pop

static int64_t value_bits(const struct pml_value *v) {
  return v->type == PML_TYPE_DOUBLE ? (int64_t)pml__as_bits(v->d) : v->i;
}

/* The known kind; a placeholder is looked up again, because it may have been registered through pmlua's own interface
 * meanwhile. */
static int kind_of(struct sde_event *e) {
  int kind = atomic_load_explicit(&e->kind, memory_order_acquire);
  if (atomic_load(&e->leaving)) return PML_SDE_PLACEHOLDER;
  return kind == PML_SDE_PLACEHOLDER ? pml__libsde_refresh(e) : kind;
}

/* The current value, with @delta relative to the stored one unless the event is an instant one. Returns 0 or a pmlua
 * code. */
static int value_now(struct sde_event *e, bool delta, struct pml_value *v) {
  int err = pml_sde_read(e->event, v);
  if (err < 0 || !delta || (atomic_load(&e->mode) & PML_SDE_INSTANT)) return err;
  int64_t stored = atomic_load(&e->stored);
  if (v->type == PML_TYPE_DOUBLE)
    v->d -= pml__as_double((uint64_t)stored);
  else
    v->i = (int64_t)((uint64_t)v->i - (uint64_t)stored);
  return 0;
}

static int read_number(struct sde_event *e, bool delta, long long int *value) {
  struct pml_value v;
  int err = value_now(e, delta, &v);
  if (err == 0) *value = value_bits(&v);
  return pml__libsde_error(err);
}

/* @into op= @v; if one is a double, the result is a double. */
static void combine(struct pml_value *into, const struct pml_value *v, enum pml_sde_operation operation) {
  if (into->type == PML_TYPE_DOUBLE || v->type == PML_TYPE_DOUBLE) {
    double a = pml_value_number(into), b = pml_value_number(v);
    into->type = PML_TYPE_DOUBLE;
    into->d = operation == PML_SDE_SUM ? a + b : (operation == PML_SDE_MAX) == (b > a) ? b : a;
  } else {
    int64_t a = into->i, b = v->i;
    if (operation == PML_SDE_SUM)
      into->i = (int64_t)((uint64_t)a + (uint64_t)b);
    else
      into->i = (operation == PML_SDE_MAX) == (b > a) ? b : a;
  }
}

#define DEEPEST 64 /* nesting of groups; the registry refuses cycles */

/* A group as libpapi expects it: its members relative to the values stored when each was started. Only the registry has
 * the members added through pmlua's own interface, so a group with such members is read by the registry. */
static int group_now(struct sde_event *e, unsigned depth, struct pml__sde_memo *memo, struct pml_value *v);

/* A group in a group; a group shared by several is read once. */
static int member_now(struct sde_event *e, unsigned depth, struct pml__sde_memo *memo, struct pml_value *v) {
  bool shared = atomic_load_explicit(&e->groups, memory_order_relaxed) > 1;
  const struct pml__sde_sample *found = shared ? pml__sde_memo_find(memo, e, 1) : NULL;
  if (found) {
    *v = found->value;
    return 0;
  }
  int err = group_now(e, depth, memo, v);
  if (err == 0 && shared) pml__sde_memo_keep(memo, e, &(struct pml__sde_sample){.value = *v, .has = true});
  return err;
}

static int group_now(struct sde_event *e, unsigned depth, struct pml__sde_memo *memo, struct pml_value *v) {
  struct sde_member *m = atomic_load_explicit(&e->members, memory_order_acquire);
  bool first = true;
  if (!m || depth == 0) return value_now(e, false, v);
  for (; m; m = m->next) {
    struct pml_value one;
    int kind = atomic_load_explicit(&m->event->kind, memory_order_acquire);
    if (kind == PML_SDE_PLACEHOLDER) continue; /* unregistered meanwhile */
    int err = kind == PML_SDE_GROUP ? member_now(m->event, depth - 1, memo, &one) : value_now(m->event, true, &one);
    if (err < 0) return err;
    if (first)
      *v = one;
    else
      combine(v, &one, e->operation);
    first = false;
  }
  if (first) *v = (struct pml_value){.type = PML_TYPE_INT64, .i = 0};
  return 0;
}

static int read_group(struct sde_event *e, long long int *value) {
  struct pml_value v;
  struct pml__sde_memo memo = {0};
  int err = group_now(e, DEEPEST, &memo, &v);
  free(memo.found);
  if (err == 0) *value = value_bits(&v);
  return pml__libsde_error(err);
}

/* A malloc'd copy of the series, to be freed by the reader, even if it is empty. */
static int read_series(struct sde_event *e, long long int *value) {
  struct pml_recorder *r = atomic_load(&e->created);
  size_t count = (size_t)pml_recorder_count(r), bytes = atomic_load(&e->bytes);
  if (bytes == 0) return SDE_EINVAL;
  void *copy = malloc(count > 0 ? count * bytes : 1);
  if (!copy) return SDE_ENOMEM;
  (void)pml_recorder_copy(r, 0, copy, count);
  *value = (long long)(intptr_t)copy;
  return SDE_OK;
}

/* The recorder of a derived event: the name without its last ":SUFFIX". */
static struct sde_event *recorder_of(const struct sde_event *e) {
  size_t n = (size_t)(strrchr(e->name, ':') - e->name);
  char name[n + 1];
  memcpy(name, e->name, n);
  name[n] = 0;
  struct sde_event *r = pml__libsde_known(name);
  return r && !atomic_load(&r->leaving) && atomic_load(&r->kind) == PML_SDE_RECORDER ? r : NULL;
}

/* Returns a malloc'd pointer to one element, or 0. */
static int read_quantile(struct sde_event *e, long long int *value) {
  static const struct {
    const char *suffix;
    unsigned percent;
  } quantiles[] = {{":MIN", 0}, {":Q1", 25}, {":MED", 50}, {":Q3", 75}, {":MAX", 100}};
  const char *suffix = strrchr(e->name, ':');
  struct sde_event *r = recorder_of(e);
  *value = 0;
  if (!r || atomic_load(&r->bytes) == 0) return SDE_EINVAL;
  for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
    if (strcmp(suffix, quantiles[i].suffix) != 0) continue;
    void *element = malloc(atomic_load(&r->bytes));
    if (!element) return SDE_ENOMEM;
    int err = pml_recorder_quantile_bytes(atomic_load(&r->created), quantiles[i].percent, element);
    if (err < 0) {
      free(element);
      return err == -ENOENT ? SDE_OK : pml__libsde_error(err);
    }
    *value = (long long)(intptr_t)element;
    return SDE_OK;
  }
  return SDE_EINVAL;
}

static int append(const struct pml_sde_element *element, void *arg) {
  cset_list_object_t ***end = arg, *node = malloc(sizeof *node);
  void *copy = malloc(element->bytes > 0 ? element->bytes : 1);
  if (!node || !copy) {
    free(node);
    free(copy);
    return -ENOMEM;
  }
  memcpy(copy, element->element, element->bytes);
  node->count = element->count;
  node->type_id = element->type_id;
  node->type_size = element->bytes;
  node->ptr = copy;
  node->next = NULL;
  **end = node;
  *end = &node->next;
  return 0;
}

static int read_set(struct sde_event *e, long long int *value) {
  cset_list_object_t *list = NULL, **end = &list;
  int err = pml_sde_set_visit(atomic_load(&e->created), append, &end);
  if (err == 0) {
    *value = (long long)(intptr_t)list;
    return SDE_OK;
  }
  while (list) {
    cset_list_object_t *next = list->next;
    free(list->ptr);
    free(list);
    list = next;
  }
  return pml__libsde_error(err);
}

/* Read the object, unless the event left before it was held. */
static int read_object(struct sde_event *e, int (*read)(struct sde_event *, long long int *), long long int *value) {
  pml__libsde_hold();
  int err = SDE_OK;
  if (atomic_load(&e->leaving) || atomic_load(&e->kind) == PML_SDE_PLACEHOLDER)
    *value = -1;
  else
    err = read(e, value);
  pml__libsde_let_go();
  return err;
}

int sde_ti_read_counter(uint32_t code, long long int *value) {
  struct sde_event *e = pml__libsde_of_code(code);
  if (!e || !value) return SDE_EINVAL;
  switch (kind_of(e)) {
  case PML_SDE_PLACEHOLDER:
    *value = -1;
    return SDE_OK;
  case PML_SDE_RECORDER:
    return read_object(e, read_series, value);
  case PML_SDE_QUANTILE:
    return read_object(e, read_quantile, value);
  case PML_SDE_SET:
    return read_object(e, read_set, value);
  case PML_SDE_GROUP:
    return read_object(e, read_group, value);
  case PML_SDE_COUNT:
    return read_number(e, false, value);
  default:
    return read_number(e, true, value);
  }
}

int sde_ti_write_counter(uint32_t code, long long value) {
  struct sde_event *e = pml__libsde_of_code(code);
  if (!e) return SDE_EINVAL;
  int kind = kind_of(e);
  if (kind != PML_SDE_REGISTERED && kind != PML_SDE_CREATED) return SDE_EINVAL;
  int type = atomic_load(&e->type);
  struct pml_value v = {.type = PML_TYPE_INT64, .i = value};
  if (type == PML_TYPE_DOUBLE || type == PML_TYPE_FLOAT) {
    v.type = PML_TYPE_DOUBLE;
    v.d = pml__as_double((uint64_t)value);
  }
  return pml__libsde_error(pml_sde_write(e->event, &v));
}

int sde_ti_reset_counter(uint32_t code) {
  struct sde_event *e = pml__libsde_of_code(code);
  long long int now;
  if (!e) return SDE_EINVAL;
  switch (kind_of(e)) {
  case PML_SDE_REGISTERED:
  case PML_SDE_CALLBACK:
  case PML_SDE_CREATED:
  case PML_SDE_PER_THREAD: {
    int err = read_number(e, false, &now);
    if (err == SDE_OK) atomic_store(&e->stored, now);
    return err;
  }
  case PML_SDE_SET:
    return pml__libsde_error(pml_sde_reset(e->event));
  default:
    return SDE_OK;
  }
}

int sde_ti_name_to_code(const char *name, uint32_t *code) {
  struct sde_event *e;
  if (!name || !code) return SDE_EINVAL;
  if (strncmp(name, "sde:::", 6) == 0) name += 6;
  if (!strstr(name, "::")) return SDE_ENOEVNT;
  int err = pml__libsde_event(&e, name);
  if (err < 0) return pml__libsde_error(err);
  *code = e->code;
  return SDE_OK;
}

int sde_ti_is_simple_counter(uint32_t code) {
  struct sde_event *e = pml__libsde_of_code(code);
  if (!e) return 0;
  int kind = kind_of(e);
  return kind == PML_SDE_REGISTERED || kind == PML_SDE_COUNT;
}

int sde_ti_is_counter_set_to_overflow(uint32_t code) {
  struct sde_event *e = pml__libsde_of_code(code);
  return e && atomic_load(&e->overflow) && kind_of(e) != PML_SDE_CREATED;
}

static void tell_papi(int64_t value, void *arg) {
  const struct sde_event *e = arg;
  if (papi_sde_check_overflow_status_ptr) papi_sde_check_overflow_status_ptr(e->code, value);
}

/* Look up two functions of libpapi, which is loaded by now, because it requests overflows. */
static void find_papi(void) {
  if (!papi_sde_check_overflow_status_ptr)
    *(void **)&papi_sde_check_overflow_status_ptr = dlsym(RTLD_DEFAULT, "papi_sde_check_overflow_status");
  if (!papi_sde_set_timer_for_overflow_ptr)
    *(void **)&papi_sde_set_timer_for_overflow_ptr = dlsym(RTLD_DEFAULT, "papi_sde_set_timer_for_overflow");
}

/* libpapi compares with the deadline itself, so it is called at every increase, not at multiples of a threshold. */
static int watch_created(struct sde_event *e, bool on) {
  find_papi();
  return pml__libsde_error(pml_sde_on_overflow(e->event, on ? 1 : 0, on ? tell_papi : NULL, e));
}

int pml__libsde_filled(struct sde_event *e) {
  if (!atomic_load(&e->overflow)) return SDE_OK;
  int kind = kind_of(e);
  if (kind == PML_SDE_CREATED) return watch_created(e, true);
  if (kind != PML_SDE_REGISTERED && kind != PML_SDE_CALLBACK && kind != PML_SDE_COUNT) return SDE_OK;
  find_papi();
  return papi_sde_set_timer_for_overflow_ptr ? papi_sde_set_timer_for_overflow_ptr() : SDE_OK;
}

int sde_ti_set_counter_overflow(uint32_t code, int threshold) {
  struct sde_event *e = pml__libsde_of_code(code);
  if (!e) return SDE_EINVAL;
  int kind = kind_of(e);
  bool on = threshold > 0;
  switch (kind) {
  case PML_SDE_CREATED:
    atomic_store(&e->overflow, on);
    return watch_created(e, on);
  case PML_SDE_RECORDER:
  case PML_SDE_QUANTILE:
  case PML_SDE_SET:
    if (on) return SDE_EINVAL;
    break;
  default:
    break;
  }
  atomic_store(&e->overflow, on);
  if (kind == PML_SDE_PLACEHOLDER && on) return SDE_OK; /* stored; pml__libsde_filled() activates it */
  return 0xFF;                                          /* makes libpapi start (or end) its timer */
}

char *sde_ti_get_event_name(int code) {
  struct sde_event *e = code < 0 ? NULL : pml__libsde_of_code((uint32_t)code);
  return e && atomic_load(&e->listed) ? e->name : NULL;
}

char *sde_ti_get_event_description(int code) {
  struct pml_sde_info info;
  struct sde_event *e = code < 0 ? NULL : pml__libsde_of_code((uint32_t)code);
  if (!e || !atomic_load(&e->listed)) return NULL;
  if (pml_sde_info(e->event, &info) < 0 || !info.description || !*info.description) return e->name;
  return (char *)(uintptr_t)info.description; /* the ABI has no const, and libpapi copies */
}

int sde_ti_get_num_reg_events(void) {
  return (int)pml__libsde_sync();
}

/* PAPI_shutdown: the events belong to the libraries, which are still running. */
int sde_ti_shutdown(void) {
  return SDE_OK;
}
