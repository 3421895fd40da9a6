/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/section/pml_section_table.c - table of all sections by label and number, its lock and its reset epoch.
 */
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_map.h"
#include "record/recorder/pml_recorder_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pml__lock pml__section_lock;

#define FIRST_SLOTS 256u
#define FIRST_CHUNK 64u
#define CHUNKS 19u /* 64 * (2^19 - 1) is more than PML_SECTIONS_MAX */

/*
 * A table of pointers to sections, at most half full; 0 is a free slot. It is filled under the lock and found through
 * one pointer: an entry is stored with release when its section is complete, a larger table when all are in it. Readers
 * load both with acquire. A table that was outgrown stays, for readers that are in it: all of them together are no
 * larger than the last one.
 */
struct table {
  struct table *outgrown;
  uint64_t mask;
  struct pml_section *slot[];
};
static struct table *table;             /* atomic */
static struct pml_section **by[CHUNKS]; /* by index: chunk k starts at FIRST_CHUNK * (2^k - 1); each atomic */
static uint32_t count;                  /* atomic */

static uint64_t hash_of(const char *label, const char *interface) {
  return pml__hash_text(pml__hash_text(PML__HASH, interface), label);
}

struct pml_section *pml_section_find(const char *label) {
  return label != NULL ? pml__section_find(label, "") : NULL;
}

struct pml_section *pml__section_find(const char *label, const char *interface) {
  uint64_t hash = hash_of(label, interface);
  const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
  if (t == NULL) return NULL;
  for (uint64_t i = hash & t->mask;; i = (i + 1) & t->mask) {
    struct pml_section *s = __atomic_load_n(&t->slot[i], __ATOMIC_ACQUIRE);
    if (s == NULL || (s->hash == hash && strcmp(s->label, label) == 0 && strcmp(s->interface, interface) == 0))
      return s;
  }
}

uint32_t pml__section_count(void) {
  return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

static unsigned chunk_of(uint32_t index) {
  return 31u - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1u);
}

static uint32_t chunk_start(unsigned k) {
  return FIRST_CHUNK * ((1u << k) - 1u);
}

struct pml_section *pml__section_at(uint32_t index) {
  unsigned k = chunk_of(index);
  return __atomic_load_n(&by[k], __ATOMIC_ACQUIRE)[index - chunk_start(k)];
}

/* ---- inserting, under the lock ---- */

static void put(struct table *t, struct pml_section *s) {
  uint64_t i = s->hash & t->mask;
  while (t->slot[i] != NULL) i = (i + 1) & t->mask;
  __atomic_store_n(&t->slot[i], s, __ATOMIC_RELEASE);
}

static bool grow_table(void) {
  uint64_t slots = table == NULL ? FIRST_SLOTS : (table->mask + 1) * 2;
  struct table *t = calloc(1, sizeof *t + slots * sizeof t->slot[0]);
  if (t == NULL) return false;
  t->outgrown = table;
  t->mask = slots - 1;
  for (uint32_t i = 0; i < count; i++) put(t, pml__section_at(i));
  __atomic_store_n(&table, t, __ATOMIC_RELEASE);
  return true;
}

/*
 * The section is counted before it can be found: a child of a fork in between finds it not, and its index is not given
 * twice.
 */
int pml__section_insert(struct pml_section *s) {
  s->hash = hash_of(s->label, s->interface);
  if (count == PML_SECTIONS_MAX) return PML_EFULL;
  if ((table == NULL || 2 * ((uint64_t)count + 1) > table->mask + 1) && !grow_table()) return -ENOMEM;
  unsigned k = chunk_of(count);
  if (by[k] == NULL) {
    struct pml_section **chunk = calloc((size_t)FIRST_CHUNK << k, sizeof(struct pml_section *));
    if (chunk == NULL) return -ENOMEM;
    __atomic_store_n(&by[k], chunk, __ATOMIC_RELEASE);
  }
  s->index = count;
  s->plain_index = s->counted ? PML__SECTION_NOT_PLAIN : count;
  int err = s->recorder != NULL ? pml__recorder_log(s->recorder, s->label, s->index + 1) : 0;
  if (err < 0) return err;
  by[k][count - chunk_start(k)] = s;
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  put(table, s);
  return 0;
}

/* ---- as of when they count ---- */

#define EPOCHS 0x7ffffffeu /* none is another's mark, 0, or PML__SECTION_OFF or its complement */

static uint32_t epoch = 1; /* atomic */
uint32_t pml__section_state = 1;
uint32_t pml__section_plain = PML__SECTION_OFF;

uint32_t pml__section_epoch(void) {
  return __atomic_load_n(&epoch, __ATOMIC_RELAXED);
}

/* Under the lock, or in a child. */
static void set_state(uint32_t state) {
  bool plain = state != 0 && pml__clock.kind == PML_CLOCK_COUNTER;
  __atomic_store_n(&pml__section_state, state, __ATOMIC_RELAXED);
  __atomic_store_n(&pml__section_plain, plain ? state : PML__SECTION_OFF, __ATOMIC_RELAXED);
}

void pml_section_enable(bool on) {
  pml__section_lock_take();
  set_state(on ? pml__section_epoch() : 0);
  pml__section_lock_leave();
}

void pml__section_clock_runs(void) {
  pml__section_lock_take();
  set_state(__atomic_load_n(&pml__section_state, __ATOMIC_RELAXED));
  pml__section_lock_leave();
}

static void reset_recorders(void) {
  for (uint32_t i = 0; i < pml__section_count(); i++) {
    struct pml_recorder *r = pml__section_at(i)->recorder;
    if (r != NULL) pml_recorder_reset(r);
  }
}

void pml__section_renew(void) {
  uint32_t next = pml__section_epoch() + 1;
  if (next > EPOCHS) next = 1;
  __atomic_store_n(&epoch, next, __ATOMIC_RELAXED);
  if (__atomic_load_n(&pml__section_state, __ATOMIC_RELAXED) != 0) set_state(next);
  reset_recorders();
}

/* ---- what a section is ---- */

void pml_section_describe(const struct pml_section *s, struct pml_section_info *info) {
  *info = (struct pml_section_info){.label = s->label,
                                    .region = s->region,
                                    .type = s->type,
                                    .exclusive = s->exclusive,
                                    .record = s->record,
                                    .events = s->list != NULL ? s->list->metrics : NULL};
}

const char *pml__section_interface(const struct pml_section *s) {
  return s->interface;
}

struct pml_recorder *pml_section_durations(const struct pml_section *s) {
  return s->recorder;
}
