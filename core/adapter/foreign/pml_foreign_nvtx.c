/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_nvtx.c - Nvidia's NVTX 3: ranges, marks, domains, registered strings, locks.
 *
 * A pushed range is a region of its thread, "LABEL" or "DOMAIN/LABEL". A started range may end on any thread. A mark is
 * a call without duration. Waiting for a lock of the program is a region "wait NAME" of its thread. A payload is a
 * value of the recorder sde:::NVTX::LABEL. Categories, colours, and names of objects of CUDA and OpenCL are not
 * recorded.
 *
 * Handles are numbers, so that a wrong one is found. If the environment named another tool, calls that are passed
 * on to it contain the handles that it returned.
 */
#include "adapter/foreign/pml_foreign_open.h"

#include "base/pml_map.h"
#include "base/pml_process.h"
#include "interface/nvtx/pml_nvtx.h"
#include "record/events/pml_recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVTX PML_FOREIGN_NVTX
#define TEXT_BYTES PML_FOREIGN_LABEL
#define EVENT const struct pml_nvtx_event *event

/* The functions in the order of their slots, without "nvtx": X(result, name, parameters). */
#define FUNCTIONS(X)                                                                                                   \
  X(void, MarkEx, (EVENT))                                                                                             \
  X(void, MarkA, (const char *text))                                                                                   \
  X(void, MarkW, (const wchar_t *text))                                                                                \
  X(uint64_t, RangeStartEx, (EVENT))                                                                                   \
  X(uint64_t, RangeStartA, (const char *text))                                                                         \
  X(uint64_t, RangeStartW, (const wchar_t *text))                                                                      \
  X(void, RangeEnd, (uint64_t id))                                                                                     \
  X(int, RangePushEx, (EVENT))                                                                                         \
  X(int, RangePushA, (const char *text))                                                                               \
  X(int, RangePushW, (const wchar_t *text))                                                                            \
  X(int, RangePop, (void))                                                                                             \
  X(void, NameOsThreadA, (uint32_t tid, const char *name))                                                             \
  X(void, NameOsThreadW, (uint32_t tid, const wchar_t *name))                                                          \
  X(void, DomainMarkEx, (void *domain, EVENT))                                                                         \
  X(uint64_t, DomainRangeStartEx, (void *domain, EVENT))                                                               \
  X(void, DomainRangeEnd, (void *domain, uint64_t id))                                                                 \
  X(int, DomainRangePushEx, (void *domain, EVENT))                                                                     \
  X(int, DomainRangePop, (void *domain))                                                                               \
  X(void *, DomainResourceCreate, (void *domain, const struct pml_nvtx_resource *resource))                            \
  X(void, DomainNameCategoryA, (void *domain, uint32_t category, const char *name))                                    \
  X(void, DomainNameCategoryW, (void *domain, uint32_t category, const wchar_t *name))                                 \
  X(void *, DomainRegisterStringA, (void *domain, const char *text))                                                   \
  X(void *, DomainRegisterStringW, (void *domain, const wchar_t *text))                                                \
  X(void *, DomainCreateA, (const char *name))                                                                         \
  X(void *, DomainCreateW, (const wchar_t *name))                                                                      \
  X(void, DomainDestroy, (void *domain))                                                                               \
  X(void *, DomainSyncUserCreate, (void *domain, const struct pml_nvtx_lock *lock))                                    \
  X(void, DomainSyncUserDestroy, (void *lock))                                                                         \
  X(void, DomainSyncUserAcquireStart, (void *lock))                                                                    \
  X(void, DomainSyncUserAcquireFailed, (void *lock))                                                                   \
  X(void, DomainSyncUserAcquireSuccess, (void *lock))                                                                  \
  X(void, DomainSyncUserReleasing, (void *lock))

/* The other tool's functions, stored before the first call of an object arrives; later objects store the same. */
static struct {
#define FUNCTION(result, name, parameters) result(*name) parameters;
  FUNCTIONS(FUNCTION)
#undef FUNCTION
} tool;

#define PASS_ON(name, ...)                                                                                             \
  do {                                                                                                                 \
    if (PML_UNLIKELY(tool.name != NULL)) tool.name(__VA_ARGS__);                                                       \
  } while (0)

/* ---- handles ---- */

enum kind { DOMAIN, STRING, LOCK };
struct object {
  enum kind kind;
  uint64_t domain; /* the handle; 0: none */
  char *name;
  struct pml_section *section; /* NULL: a domain */
  void *theirs;                /* atomic: the other tool's handle; NULL: none */
};

/* By handle, from 1 on. Stored with release, when the object is complete; loaded with acquire. */
#define OBJECTS (PML_FOREIGN_NAMES_MAX + 4)
static void *all_objects;       /* struct object *[OBJECTS], of pml__foreign_table() */
static struct pml__map objects; /* the lock guards it, and additions */
static struct pml__lock lock;

static inline struct object *object_of(const void *handle, enum kind kind) {
  uintptr_t at = (uintptr_t)handle;
  struct object **object = __atomic_load_n(&all_objects, __ATOMIC_ACQUIRE);
  bool may = at > 0 && at < OBJECTS && object != NULL;
  struct object *o = may ? __atomic_load_n(&object[at], __ATOMIC_ACQUIRE) : NULL;
  return o != NULL && o->kind == kind ? o : NULL;
}

static inline const char *domain_name(const void *domain) {
  const struct object *o = object_of(domain, DOMAIN);
  return o != NULL ? o->name : domain != NULL ? "(unknown domain)" : NULL;
}

static inline void *theirs(const void *handle, enum kind kind) {
  const struct object *o = object_of(handle, kind);
  return o != NULL ? __atomic_load_n(&o->theirs, __ATOMIC_RELAXED) : NULL;
}

static struct pml_section *section_for(enum kind kind, void *domain, const char *name) {
  char text[TEXT_BYTES];
  if (kind == DOMAIN) return NULL;
  if (kind == STRING) return pml__foreign_within(NVTX, domain_name(domain), name);
  (void)snprintf(text, sizeof text, "wait %.4000s", name);
  return pml__foreign_within(NVTX, domain_name(domain), text);
}

static struct object *new_object(enum kind kind, void *domain, const char *name, struct pml_section *s) {
  struct object *o = calloc(1, sizeof *o);
  char *copy = o != NULL ? strndup(name, TEXT_BYTES) : NULL;
  if (copy != NULL) {
    *o = (struct object){.kind = kind, .domain = (uintptr_t)domain, .name = copy, .section = s};
    return o;
  }
  free(o);
  return NULL;
}

/* Under the lock. */
static uintptr_t find(enum kind kind, void *domain, const char *name, struct pml_section *s) {
  uint64_t hash = pml__hash(pml__hash(PML__HASH, kind), (uintptr_t)domain);
  hash = pml__hash_bytes(hash, name, strnlen(name, TEXT_BYTES));
  uint32_t at = 0, i;
  struct object **object = pml__foreign_table(&all_objects, sizeof(struct object *) * OBJECTS);
  if (object == NULL) return 0;
  while ((i = pml__map_next(&objects, hash, &at)) != PML__MAP_NONE) {
    const struct object *o = object[i + 1];
    if (o->kind == kind && o->domain == (uintptr_t)domain && strncmp(o->name, name, TEXT_BYTES) == 0) return i + 1;
  }
  struct object *o = objects.n + 1 < OBJECTS ? new_object(kind, domain, name, s) : NULL;
  if (o != NULL && (i = pml__map_add(&objects, hash)) != PML__MAP_NONE) {
    __atomic_store_n(&object[i + 1], o, __ATOMIC_RELEASE);
    return i + 1;
  }
  if (o != NULL) free(o->name);
  free(o);
  return 0;
}

/* The same name is the same handle. A process gets PML_FOREIGN_NAMES_MAX; later ones are "(other names)". */
static void *handle_of(enum kind kind, void *domain, const char *name) {
  int saved = errno;
  if (name == NULL) name = "(null)";
  bool full = __atomic_load_n(&objects.n, __ATOMIC_RELAXED) >= PML_FOREIGN_NAMES_MAX;
  if (full) name = "(other names)";
  if (full) domain = NULL;
  struct pml_section *s = section_for(kind, domain, name);
  pml__lock_take(&lock);
  uintptr_t handle = find(kind, domain, name, s);
  pml__lock_leave(&lock);
  errno = saved;
  return (void *)handle; /* NOLINT(performance-no-int-to-ptr) */
}

static void *with_theirs(void *handle, enum kind kind, void *their) {
  struct object *o = object_of(handle, kind);
  if (o != NULL) __atomic_store_n(&o->theirs, their, __ATOMIC_RELAXED);
  return handle;
}

static void *DomainCreateA(const char *name) {
  void *handle = handle_of(DOMAIN, NULL, name);
  return tool.DomainCreateA != NULL ? with_theirs(handle, DOMAIN, tool.DomainCreateA(name)) : handle;
}
static void *DomainCreateW(const wchar_t *name) {
  char text[TEXT_BYTES];
  void *handle = handle_of(DOMAIN, NULL, pml__foreign_narrow(name, text, sizeof text));
  return tool.DomainCreateW != NULL ? with_theirs(handle, DOMAIN, tool.DomainCreateW(name)) : handle;
}
static void DomainDestroy(void *domain) {
  PASS_ON(DomainDestroy, theirs(domain, DOMAIN));
  (void)with_theirs(domain, DOMAIN, NULL);
}
static void *DomainRegisterStringA(void *domain, const char *text) {
  void *handle = handle_of(STRING, domain, text);
  if (tool.DomainRegisterStringA == NULL) return handle;
  return with_theirs(handle, STRING, tool.DomainRegisterStringA(theirs(domain, DOMAIN), text));
}
static void *DomainRegisterStringW(void *domain, const wchar_t *wide) {
  char text[TEXT_BYTES];
  void *handle = handle_of(STRING, domain, pml__foreign_narrow(wide, text, sizeof text));
  if (tool.DomainRegisterStringW == NULL) return handle;
  return with_theirs(handle, STRING, tool.DomainRegisterStringW(theirs(domain, DOMAIN), wide));
}

/* ---- events ---- */

/* Apart, because of its large frame. */
static __attribute__((noinline)) struct pml_section *wide_within(const char *domain, const wchar_t *wide) {
  char text[TEXT_BYTES];
  return pml__foreign_within(NVTX, domain, pml__foreign_narrow(wide, text, sizeof text));
}

static struct pml_section *named(const void *domain, int32_t type, union pml_nvtx_message message) {
  const char *in = domain_name(domain);
  const struct object *o;
  switch (type) {
  case PML_NVTX_ASCII:
    return pml__foreign_within(NVTX, in, message.ascii);
  case PML_NVTX_WIDE:
    return wide_within(in, message.wide);
  case PML_NVTX_REGISTERED:
    o = object_of(message.registered, STRING);
    return o != NULL ? o->section : pml__foreign_within(NVTX, in, "(unknown string)");
  default:
    return pml__foreign_within(NVTX, in, "(no message)");
  }
}

static inline bool is_whole(EVENT) {
  return event != NULL && event->bytes >= sizeof *event;
}

static void add_payload(const struct pml_section *s, EVENT) {
  switch (event->payload_type) {
  case PML_NVTX_U64:
    pml__foreign_value(NVTX, s, (double)event->payload.u64);
    break;
  case PML_NVTX_S64:
    pml__foreign_value(NVTX, s, (double)event->payload.s64);
    break;
  case PML_NVTX_DOUBLE:
    pml__foreign_value(NVTX, s, event->payload.real);
    break;
  case PML_NVTX_U32:
    pml__foreign_value(NVTX, s, event->payload.u32);
    break;
  case PML_NVTX_S32:
    pml__foreign_value(NVTX, s, event->payload.s32);
    break;
  case PML_NVTX_FLOAT:
    pml__foreign_value(NVTX, s, (double)event->payload.small);
    break;
  default:
    break;
  }
}

static struct pml_section *section_of(const void *domain, EVENT) {
  if (PML_UNLIKELY(!is_whole(event)))
    return pml__foreign_within(NVTX, domain_name(domain), "(unknown version of NVTX)");
  struct pml_section *s = named(domain, event->message_type, event->message);
  if (PML_UNLIKELY(event->payload_type != PML_NVTX_NO_PAYLOAD)) add_payload(s, event);
  return s;
}

/* @event with the other tool's handle, in @copy if it contains one. */
static const struct pml_nvtx_event *for_tool(EVENT, struct pml_nvtx_event *copy) {
  if (!is_whole(event) || event->message_type != PML_NVTX_REGISTERED) return event;
  *copy = *event;
  copy->bytes = sizeof *copy;
  copy->message.registered = theirs(event->message.registered, STRING);
  return copy;
}

/* Call the other tool's function @name with the event, after @..., and return its result. */
#define GIVE(name, ...) tool.name(__VA_ARGS__ for_tool(event, &(struct pml_nvtx_event){0}))
#define HAS(name) PML_UNLIKELY(tool.name != NULL)
#define COMMA ,

static void MarkEx(EVENT) {
  pml_foreign_mark(section_of(NULL, event), 0);
  if (HAS(MarkEx)) GIVE(MarkEx, );
}
static void MarkA(const char *text) {
  pml_foreign_mark(pml_foreign_section(NVTX, text), 0);
  PASS_ON(MarkA, text);
}
static void MarkW(const wchar_t *text) {
  pml_foreign_mark(wide_within(NULL, text), 0);
  PASS_ON(MarkW, text);
}
static void DomainMarkEx(void *domain, EVENT) {
  pml_foreign_mark(section_of(domain, event), 0);
  if (HAS(DomainMarkEx)) GIVE(DomainMarkEx, theirs(domain, DOMAIN) COMMA);
}

/* ---- ranges of a thread ---- */

/* The nesting levels that push and pop return, of the domains that the thread used last. */
#define LEVELS 8u
static PML_THREAD_LOCAL struct {
  uint64_t domain; /* the handle, plus 1 */
  int level;
} levels[LEVELS] __attribute__((tls_model("initial-exec")));

static int *level_of(const void *domain) {
  for (unsigned k = 0; k < LEVELS; k++) {
    if (levels[k].domain == 0) levels[k].domain = (uintptr_t)domain + 1;
    if (levels[k].domain == (uintptr_t)domain + 1) return &levels[k].level;
  }
  return NULL;
}

static inline int push(const void *domain, struct pml_section *s) {
  pml_foreign_push(NVTX, (uintptr_t)domain, s);
  int *level = level_of(domain);
  return level != NULL ? (*level)++ : PML_NVTX_NOT_TRACKED;
}

static inline int pop(const void *domain) {
  pml_foreign_pop(NVTX, (uintptr_t)domain);
  int *level = level_of(domain);
  if (level == NULL) return PML_NVTX_NOT_TRACKED;
  return *level > 0 ? --*level : -1;
}

static int RangePushEx(EVENT) {
  int level = push(NULL, section_of(NULL, event));
  return HAS(RangePushEx) ? GIVE(RangePushEx, ) : level;
}
static int RangePushA(const char *text) {
  int level = push(NULL, pml_foreign_section(NVTX, text));
  return HAS(RangePushA) ? tool.RangePushA(text) : level;
}
static int RangePushW(const wchar_t *text) {
  int level = push(NULL, wide_within(NULL, text));
  return HAS(RangePushW) ? tool.RangePushW(text) : level;
}
static int RangePop(void) {
  int level = pop(NULL);
  return HAS(RangePop) ? tool.RangePop() : level;
}
static int DomainRangePushEx(void *domain, EVENT) {
  int level = push(domain, section_of(domain, event));
  return HAS(DomainRangePushEx) ? GIVE(DomainRangePushEx, theirs(domain, DOMAIN) COMMA) : level;
}
static int DomainRangePop(void *domain) {
  int level = pop(domain);
  return HAS(DomainRangePop) ? tool.DomainRangePop(theirs(domain, DOMAIN)) : level;
}

/* ---- ranges of the process ---- */

static uint64_t last_range; /* atomic */

/* The number of the range; @other is the other tool's. */
static uint64_t open_range(struct pml_section *s, uint64_t other) {
  uint64_t id = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
  (void)pml__foreign_open(NVTX, s, id, other);
  return id;
}

static uint64_t RangeStartEx(EVENT) {
  return open_range(section_of(NULL, event), HAS(RangeStartEx) ? GIVE(RangeStartEx, ) : 0);
}
static uint64_t RangeStartA(const char *text) {
  return open_range(pml_foreign_section(NVTX, text), HAS(RangeStartA) ? tool.RangeStartA(text) : 0);
}
static uint64_t RangeStartW(const wchar_t *text) {
  return open_range(wide_within(NULL, text), HAS(RangeStartW) ? tool.RangeStartW(text) : 0);
}
static uint64_t DomainRangeStartEx(void *domain, EVENT) {
  uint64_t other = HAS(DomainRangeStartEx) ? GIVE(DomainRangeStartEx, theirs(domain, DOMAIN) COMMA) : 0;
  return open_range(section_of(domain, event), other);
}
static void RangeEnd(uint64_t id) {
  uint64_t other;
  if (pml__foreign_close(NVTX, id, &other)) PASS_ON(RangeEnd, other);
}
static void DomainRangeEnd(void *domain, uint64_t id) {
  uint64_t other;
  if (pml__foreign_close(NVTX, id, &other)) PASS_ON(DomainRangeEnd, theirs(domain, DOMAIN), other);
}

/* ---- names ---- */

static void NameOsThreadA(uint32_t tid, const char *name) {
  pml_recording_name_thread(tid, name);
  PASS_ON(NameOsThreadA, tid, name);
}
static void NameOsThreadW(uint32_t tid, const wchar_t *name) {
  char text[TEXT_BYTES];
  pml_recording_name_thread(tid, pml__foreign_narrow(name, text, sizeof text));
  PASS_ON(NameOsThreadW, tid, name);
}
static void *DomainResourceCreate(void *domain, const struct pml_nvtx_resource *resource) {
  if (tool.DomainResourceCreate == NULL || resource == NULL || resource->bytes < sizeof *resource) return NULL;
  struct pml_nvtx_resource copy = *resource;
  if (copy.message_type == PML_NVTX_REGISTERED) copy.message.registered = theirs(copy.message.registered, STRING);
  void *handle = tool.DomainResourceCreate(theirs(domain, DOMAIN), &copy);
  return handle; /* cppcheck-suppress returnDanglingLifetime ; it is the tool's */
}
static void DomainNameCategoryA(void *domain, uint32_t category, const char *name) {
  PASS_ON(DomainNameCategoryA, theirs(domain, DOMAIN), category, name);
}
static void DomainNameCategoryW(void *domain, uint32_t category, const wchar_t *name) {
  PASS_ON(DomainNameCategoryW, theirs(domain, DOMAIN), category, name);
}

/* ---- locks ---- */

static void *DomainSyncUserCreate(void *domain, const struct pml_nvtx_lock *of) {
  char text[TEXT_BYTES];
  const char *name = "(unnamed lock)";
  struct pml_nvtx_lock copy = {.message_type = PML_NVTX_NO_TEXT};
  if (of != NULL && of->bytes >= sizeof *of) copy = *of;
  const struct object *string =
      copy.message_type == PML_NVTX_REGISTERED ? object_of(copy.message.registered, STRING) : NULL;
  if (copy.message_type == PML_NVTX_ASCII) name = copy.message.ascii;
  if (copy.message_type == PML_NVTX_WIDE) name = pml__foreign_narrow(copy.message.wide, text, sizeof text);
  if (string != NULL) name = string->name;
  void *handle = handle_of(LOCK, domain, name);
  if (tool.DomainSyncUserCreate == NULL) return handle;
  if (string != NULL) copy.message.registered = string->theirs;
  return with_theirs(handle, LOCK, tool.DomainSyncUserCreate(theirs(domain, DOMAIN), &copy));
}
static void DomainSyncUserDestroy(void *of) {
  PASS_ON(DomainSyncUserDestroy, theirs(of, LOCK));
  (void)with_theirs(of, LOCK, NULL);
}
static struct pml_section *wait_of(const void *of) {
  const struct object *o = object_of(of, LOCK);
  return o != NULL ? o->section : pml_foreign_section(NVTX, "wait (unknown lock)");
}
static void DomainSyncUserAcquireStart(void *of) {
  (void)pml_section_start(wait_of(of));
  PASS_ON(DomainSyncUserAcquireStart, theirs(of, LOCK));
}
static void DomainSyncUserAcquireFailed(void *of) {
  (void)pml_section_stop(wait_of(of));
  PASS_ON(DomainSyncUserAcquireFailed, theirs(of, LOCK));
}
static void DomainSyncUserAcquireSuccess(void *of) {
  (void)pml_section_stop(wait_of(of));
  PASS_ON(DomainSyncUserAcquireSuccess, theirs(of, LOCK));
}
static void DomainSyncUserReleasing(void *of) {
  PASS_ON(DomainSyncUserReleasing, theirs(of, LOCK));
}

/* ---- initialisation ---- */

struct ours {
  pml_nvtx_function function, *theirs;
};

#define SLOTS 16u
static const int modules[] = {PML_NVTX_CORE, PML_NVTX_CORE2, PML_NVTX_SYNC};
#define PLACES (SLOTS * (unsigned)(sizeof modules / sizeof modules[0]))

/* Our function for the slot at @place, of all modules; NULL: none. Code instead of a table, because the loader would
 * relocate a table at the start of each program. */
static struct ours ours_at(unsigned place) {
#define ROW(at, name)                                                                                                  \
  case at:                                                                                                             \
    return (struct ours){(pml_nvtx_function)name, (pml_nvtx_function *)(void *)&tool.name};
#define CORE(number, name) ROW(number, name)
#define CORE2(number, name) ROW(SLOTS + (number), name)
#define SYNC(number, name) ROW(2 * SLOTS + (number), name)
  switch (place) {
    PML_NVTX_CORE_LIST(CORE)
    PML_NVTX_CORE2_LIST(CORE2)
    PML_NVTX_SYNC_LIST(SYNC)
  default:
    return (struct ours){NULL, NULL};
  }
}

/* The pointers of this object at each place; NULL: it lacks one. False: no such table. */
static bool find_pointers(pml_nvtx_tables *tables, pml_nvtx_function **at) {
  const struct pml_nvtx_callbacks *c = tables != NULL ? tables(PML_NVTX_CALLBACKS) : NULL;
  if (c == NULL || c->bytes < sizeof *c || c->functions == NULL) return false;
  for (unsigned k = 0; k < PLACES; k++) {
    pml_nvtx_function **slots = NULL;
    unsigned n = 0;
    bool is = c->functions(modules[k / SLOTS], &slots, &n) == 1 && slots != NULL && k % SLOTS < n;
    at[k] = is && ours_at(k).function != NULL ? slots[k % SLOTS] : NULL;
  }
  return true;
}

PML_API int InitializeInjectionNvtx2(pml_nvtx_tables *tables);
PML_API int InitializeInjectionNvtx2(pml_nvtx_tables *tables) {
  pml_nvtx_function *at[PLACES] = {NULL}, before[PLACES];
  void *library = NULL;
  if (!find_pointers(tables, at)) {
    pml_foreign_mark(pml_foreign_section(NVTX, "(unknown version of NVTX)"), 0);
    return 0;
  }
  for (unsigned k = 0; k < PLACES; k++) before[k] = at[k] != NULL ? *at[k] : NULL;
  void *init = pml__foreign_tool(NVTX, "InitializeInjectionNvtx2", &library);
  bool theirs = init != NULL && ((int (*)(pml_nvtx_tables *))init)(tables) != 0;
  for (unsigned k = 0; k < PLACES; k++) {
    if (at[k] == NULL) continue;
    const struct ours o = ours_at(k);
    if (theirs && *at[k] != before[k] && *at[k] != o.function) *o.theirs = *at[k];
    *at[k] = o.function;
  }
  return 1;
}
