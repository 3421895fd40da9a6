/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_scans.h - scan results of objects, cached by file identity.
 *
 * All functions need the lock of pml_intercept.c. Memory: 8 bytes for each slot of a function, and for each call of a
 * function whose address is also used; 4 MiB in all, or one object that needs more.
 */
#ifndef PML_INTERCEPT_SCANS_H
#define PML_INTERCEPT_SCANS_H

#include "adapter/intercept/pml_intercept_object.h"

#include <sys/types.h>
#include <time.h>

/* FNV-1a, from PML__SCAN_HASH on: it tells files apart, and protects from nothing. */
#define PML__SCAN_HASH UINT64_C(0xcbf29ce484222325)
static inline uint64_t pml__scan_mix_one(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x100000001b3);
}
static inline uint64_t pml__scan_mix(uint64_t hash, const void *bytes, size_t n) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < n; i++) hash = pml__scan_mix_one(hash, at[i]);
  return hash;
}

enum { PML__SLOT_UNKNOWN, PML__SLOT_LEFT, PML__SLOT_CHOSEN };

struct pml__scan_slot {
  uint32_t index;                           /* index of its relocation */
  bool address;                             /* a slot of addresses, else of calls */
  uint8_t called : 1, used : 1, missed : 1; /* by code: through it; in any other way; calls that `site` has not */
  uint8_t choice;                           /* whether its function's name is wanted, once that was asked */
};

/* A call through a slot of addresses, or a load of an address that is only called. */
struct pml__scan_site {
  uint32_t slot;
  uint32_t operand; /* offset in the object's image of the bytes after the opcode */
};

struct pml__file {
  dev_t device;
  ino_t inode;
  uint64_t bytes, headers; /* @headers: hash of its mapped headers and notes */
  struct timespec written, changed;
};

struct pml__scan {
  struct pml__scan_slot *slot; /* NULL: a free entry */
  struct pml__scan_site *site; /* of slots whose address is also used; sorted by slot */
  size_t n, ncalls, nsites;    /* slots of calls come first */
  bool named, code_read, far;  /* far: its slots lie too far apart to be looked for */
  struct pml__file file;
  uint64_t use;
};

/*
 * pml__scan_of - the slots of @o, which is pinned; valid until this is called again.
 * @made: counts one more where they had to be read. NULL: no memory.
 */
struct pml__scan *pml__scan_of(const struct pml__object *o, uint64_t *made);

/*
 * Whether the code of @o, of which @s is, calls through @slot, one of addresses, and does nothing else with it. Reads
 * the code when this is first asked. 1, 0 or -ENOMEM.
 */
int pml__scan_calls_only(const struct pml__object *o, struct pml__scan *s, const struct pml__scan_slot *slot);

/* The calls through @slot, *@n of them, whose code was read. */
const struct pml__scan_site *pml__scan_sites(const struct pml__scan *s, const struct pml__scan_slot *slot, size_t *n);

/* Whether the code shows which of its uses of slots are calls. */
bool pml__scan_shows_calls(const struct pml__scan *s);

const Elf64_Rela *pml__scan_relocation(const struct pml__object *o, const struct pml__scan_slot *s);

/* The slot that @r fills, if it is of @type. */
uintptr_t *pml__slot_at(const struct pml__object *o, const Elf64_Rela *r, uint32_t type);

/* Interception is over; the next one chooses again. */
void pml__scans_forget(void);
/* In a child, when a thread of the parent was using them: drop them without freeing. */
void pml__scans_give_up(void);

#endif
