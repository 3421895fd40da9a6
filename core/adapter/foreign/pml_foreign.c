/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/foreign/pml_foreign.c - sections of labels that programs pass to other tools' interfaces. */
#include "adapter/foreign/pml_foreign.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_map.h"
#include "base/text/pml_demangle.h"
#include "base/text/pml_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NO_BEGIN "(no begin)"
#define OTHERS "(other names)"
#define ELLIPSIS "\xe2\x80\xa6"

const struct pml_foreign_about *pml_foreign_about(enum pml_foreign_interface i) {
#define ROW(id, name, variables) {name, variables, "PMLUA_RECORD_" #id},
  static const struct pml_foreign_about about[] = {PML_FOREIGN_LIST(ROW)};
#undef ROW
  return &about[i];
}

void *pml__foreign_map(void **at, size_t bytes) {
  void *other = NULL, *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table == MAP_FAILED) return NULL;
  if (__atomic_compare_exchange_n(at, &other, table, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) return table;
  (void)munmap(table, bytes);
  return other;
}

/* ---- labels ---- */

/* A label of an interface, as far as labels differ. Never freed. */
struct name {
  struct pml_section *section;
  uint64_t hash;
  enum pml_foreign_interface interface;
  char label[];
};

/*
 * All names, in a table that is at most half full. A name is complete when it is stored, with release; a larger table
 * contains all names when it is stored, with release. Readers load both with acquire. A table that was outgrown stays,
 * because a thread may be reading it.
 */
struct table {
  struct table *outgrown;
  uint64_t mask;
  struct name *slot[];
};
static struct table *table; /* atomic; NULL: empty */
static uint32_t names;      /* atomic; in all tables */
static struct pml__lock lock;

/*
 * Names by the address of the label, four to a cache line. Entries are stored and loaded without order between their
 * two halves, because a name counts only if its text is the label's: a buffer may contain another label by now.
 */
#define WAYS 4u
#define SET_BITS 10
struct way {
  const char *at;          /* atomic */
  const struct name *name; /* atomic: stored with release after the name is complete; loaded with acquire */
};
static _Alignas(64) struct way cache[1u << SET_BITS][WAYS];

static inline bool is(const struct name *name, enum pml_foreign_interface i, const char *label) {
  return name->interface == i && strncmp(name->label, label, PML_FOREIGN_LABEL) == 0;
}

static inline struct way *set_of(const char *label) {
  return cache[(uint64_t)(uintptr_t)label * PML__HASH_FACTOR >> (64 - SET_BITS)];
}

static void remember(const char *label, const struct name *name) {
  struct way *set = set_of(label), *to = &set[name->hash % WAYS];
  for (unsigned k = 0; k < WAYS; k++) {
    const char *at = __atomic_load_n(&set[k].at, __ATOMIC_RELAXED);
    const struct name *there = __atomic_load_n(&set[k].name, __ATOMIC_ACQUIRE);
    if (there == NULL || (at == label && there->interface == name->interface)) {
      to = &set[k];
      break;
    }
  }
  __atomic_store_n(&to->name, name, __ATOMIC_RELEASE);
  __atomic_store_n(&to->at, label, __ATOMIC_RELAXED);
}

static uint64_t hash_of(enum pml_foreign_interface i, const char *label) {
  return pml__hash_bytes(pml__hash(PML__HASH, i), label, strnlen(label, PML_FOREIGN_LABEL));
}

static struct name *find(enum pml_foreign_interface i, const char *label, uint64_t hash) {
  const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
  if (t == NULL) return NULL;
  for (uint64_t k = hash >> 16 & t->mask;; k = (k + 1) & t->mask) {
    struct name *name = __atomic_load_n(&t->slot[k], __ATOMIC_ACQUIRE);
    if (name == NULL || (name->hash == hash && is(name, i, label))) return name;
  }
}

/* ---- new labels, under the lock ---- */

static void put(struct table *t, struct name *name) {
  uint64_t k = name->hash >> 16 & t->mask;
  while (t->slot[k] != NULL) k = (k + 1) & t->mask;
  __atomic_store_n(&t->slot[k], name, __ATOMIC_RELEASE);
}

static bool grow(void) {
  uint64_t slots = table != NULL ? (table->mask + 1) * 4 : 256;
  struct table *t = calloc(1, sizeof *t + slots * sizeof(struct name *));
  if (t == NULL) return false;
  t->outgrown = table;
  t->mask = slots - 1;
  for (uint64_t k = 0; table != NULL && k <= table->mask; k++)
    if (table->slot[k] != NULL) put(t, table->slot[k]);
  __atomic_store_n(&table, t, __ATOMIC_RELEASE);
  return true;
}

/* The name itself, or the same that another thread added meanwhile; NULL: no memory. */
static struct name *insert(struct name *name) {
  pml__lock_take(&lock);
  struct name *there = find(name->interface, name->label, name->hash);
  bool room = there == NULL && ((table != NULL && 2 * ((uint64_t)names + 1) <= table->mask + 1) || grow());
  if (room) {
    put(table, name);
    __atomic_store_n(&names, names + 1, __ATOMIC_RELAXED);
    there = name;
  }
  pml__lock_leave(&lock);
  return there;
}

/* ---- sections ---- */

/* A type as C++ writes it in typeid().name(): nested or local, or a number of characters and as many of them. */
static bool is_type(const char *label) {
  if ((label[0] == 'N' || label[0] == 'Z') && strchr(label, 'E') != NULL) return true;
  char *rest;
  return isdigit((unsigned char)label[0]) && strtoul(label, &rest, 10) >= 4 && strlen(rest) >= 4;
}

/* Kokkos calls an unlabelled kernel as its functor's type, and adds a slash and the type of its tag, if it has one. */
static char *kokkos_label(const char *label) {
  const char *slash = strchr(label, '/');
  struct pml__text text = {0};
  if (!is_type(label)) return NULL;
  char *type = slash != NULL ? strndup(label, (size_t)(slash - label)) : strdup(label);
  char *functor = type != NULL ? pml__demangled_type(type) : NULL;
  char *tag = functor != NULL && slash != NULL && is_type(slash + 1) ? pml__demangled_type(slash + 1) : NULL;
  if (functor != NULL) pml__text_add(&text, "%s", functor);
  if (functor != NULL && slash != NULL) pml__text_add(&text, "/%s", tag != NULL ? tag : slash + 1);
  free(type);
  free(functor);
  free(tag);
  return text.at;
}

/* The text with which the section of @label is shown, to be freed; NULL: no memory. */
static char *shown(enum pml_foreign_interface i, const char *label) {
  char *readable = i == PML_FOREIGN_KOKKOS ? kokkos_label(label) : NULL;
  const char *of = readable != NULL ? readable : label;
  size_t n = strnlen(of, PML_FOREIGN_LABEL);
  bool cut = n == PML_FOREIGN_LABEL;
  for (n -= cut; cut && n > PML_FOREIGN_LABEL - 5 && ((unsigned char)of[n] & 0xc0) == 0x80;) n--;
  char *text = malloc(n + sizeof ELLIPSIS);
  if (text != NULL) {
    memcpy(text, of, n);
    memcpy(text + n, cut ? ELLIPSIS : "", cut ? sizeof ELLIPSIS : 1);
  }
  free(readable);
  return text;
}

static const char *const *events;
static size_t nevents;

void pml_foreign_count(const char *const *list, size_t n) {
  events = list;
  nevents = n;
}

/* If its type differs from the first, the first is kept; if its events cannot be opened, it has none. */
static struct pml_section *define(enum pml_foreign_interface i, const char *label, enum pml_section_type type) {
  struct pml_section_options o = {.type = type, .events = events, .nevents = nevents};
  const char *interface = pml_foreign_about(i)->name;
  struct pml_section *s;
  if (pml__section_define(label, &o, interface, &s) == 0) return s;
  o.type = PML_SECTION_CALCULATION;
  o.nevents = 0;
  return pml__section_define(label, &o, interface, &s) == 0 ? s : NULL;
}

static const struct name *add(enum pml_foreign_interface i, const char *label, uint64_t hash,
                              enum pml_section_type type) {
  size_t n = strnlen(label, PML_FOREIGN_LABEL);
  char *text = shown(i, label);
  struct name *name = text != NULL ? malloc(sizeof *name + n + 1) : NULL, *there = NULL;
  if (name != NULL) {
    *name = (struct name){.section = define(i, text, type), .hash = hash, .interface = i};
    memcpy(name->label, label, n);
    name->label[n] = '\0';
    if (name->section != NULL) there = insert(name);
  }
  if (there != name) free(name);
  free(text);
  return there;
}

static __attribute__((noinline, cold)) struct pml_section *look_up(enum pml_foreign_interface i, const char *label,
                                                                   enum pml_section_type type) {
  int saved = errno;
  uint64_t hash = hash_of(i, label);
  const struct name *name = find(i, label, hash);
  struct pml_section *s = NULL;
  if (name == NULL && __atomic_load_n(&names, __ATOMIC_RELAXED) >= PML_FOREIGN_NAMES_MAX)
    s = define(i, OTHERS, PML_SECTION_CALCULATION);
  else if (name == NULL)
    name = add(i, label, hash, type);
  if (name != NULL) remember(label, name);
  errno = saved;
  return name != NULL ? name->section : s;
}

static inline struct pml_section *section_of(enum pml_foreign_interface i, const char *label,
                                             enum pml_section_type type) {
  if (PML_UNLIKELY(label == NULL)) label = "(null)";
  if (PML_UNLIKELY(*label == '\0')) label = "(empty)";
  const struct way *set = set_of(label);
  for (unsigned k = 0; k < WAYS; k++) {
    if (__atomic_load_n(&set[k].at, __ATOMIC_RELAXED) != label) continue;
    const struct name *name = __atomic_load_n(&set[k].name, __ATOMIC_ACQUIRE);
    if (PML_LIKELY(name != NULL) && PML_LIKELY(is(name, i, label))) return name->section;
  }
  return look_up(i, label, type);
}

struct pml_section *pml_foreign_section(enum pml_foreign_interface i, const char *label) {
  return section_of(i, label, PML_SECTION_CALCULATION);
}

struct pml_section *pml_foreign_transfer(enum pml_foreign_interface i, const char *label) {
  return section_of(i, label, PML_SECTION_COMMUNICATION);
}

void pml_foreign_unmatched(enum pml_foreign_interface i) {
  (void)pml_section_stop(pml_foreign_section(i, NO_BEGIN));
}

void pml_foreign_mark(struct pml_section *s, double work) {
  (void)pml_section_start(s);
  (void)(work != 0 ? pml_section_stop_work(s, work, 1) : pml_section_stop(s));
}

/* ---- stacks ---- */

struct pushed {
  struct pml_section *section;
  uint64_t stack;
  double work; /* 0: none */
  enum pml_foreign_interface interface;
};

static PML_THREAD_LOCAL struct {
  struct pushed *at;
  size_t n, room;
} pushes __attribute__((tls_model("initial-exec")));

static pthread_key_t key;

static void free_pushes(void *at) {
  free(at);
  pushes.at = NULL;
  pushes.n = pushes.room = 0;
}

static void make_key(void) {
  (void)pthread_key_create(&key, free_pushes);
}

static __attribute__((noinline, cold)) bool deepen(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  size_t room = pushes.room > 0 ? 2 * pushes.room : 64;
  if (room > 2 * (size_t)PML_SECTION_DEPTH_MAX) return false;
  struct pushed *at = realloc(pushes.at, room * sizeof *at);
  if (at == NULL) return false;
  (void)pthread_once(&once, make_key);
  (void)pthread_setspecific(key, at);
  pushes.at = at;
  pushes.room = room;
  return true;
}

static inline void push(enum pml_foreign_interface i, uint64_t stack, struct pml_section *s, double work) {
  if (PML_UNLIKELY(s == NULL) || (PML_UNLIKELY(pushes.n == pushes.room) && !deepen())) return;
  pushes.at[pushes.n++] = (struct pushed){s, stack, work, i};
  (void)pml_section_start(s);
}

void pml_foreign_push(enum pml_foreign_interface i, uint64_t stack, struct pml_section *s) {
  push(i, stack, s, 0);
}

void pml_foreign_push_work(enum pml_foreign_interface i, uint64_t stack, struct pml_section *s, double work) {
  push(i, stack, s, work);
}

void pml_foreign_pop(enum pml_foreign_interface i, uint64_t stack) {
  size_t k = pushes.n;
  while (k > 0 && PML_UNLIKELY(pushes.at[k - 1].stack != stack || pushes.at[k - 1].interface != i)) k--;
  if (PML_UNLIKELY(k == 0)) {
    pml_foreign_unmatched(i);
    return;
  }
  const struct pushed ended = pushes.at[k - 1];
  if (PML_UNLIKELY(k < pushes.n)) memmove(&pushes.at[k - 1], &pushes.at[k], (pushes.n - k) * sizeof *pushes.at);
  pushes.n--;
  (void)(ended.work != 0 ? pml_section_stop_work(ended.section, ended.work, 1) : pml_section_stop(ended.section));
}

/* ---- numbers ---- */

uint64_t pml_foreign_id(const struct pml_section *s) {
  return s != NULL ? s->index + UINT64_C(1) : 0;
}

struct pml_section *pml_foreign_of(enum pml_foreign_interface i, uint64_t id) {
  uint64_t index = (id & ((UINT64_C(1) << PML_FOREIGN_ID_BITS) - 1)) - 1;
  struct pml_section *s = index < pml__section_count() ? pml__section_at((uint32_t)index) : NULL;
  if (PML_LIKELY(s != NULL && s->interface == pml_foreign_about(i)->name)) return s;
  pml_foreign_unmatched(i);
  return NULL;
}
