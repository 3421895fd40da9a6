/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_scans.h - scan results of objects, cached by file identity.
 *
 * All functions need the lock of pml_intercept.c. Memory: 8 bytes for each slot of a function, and for each call of a
 * function whose address is also used, and 4 for each function of pml__scan_stored(); 4 MiB in total, or one object
 * that needs more.
 */
#ifndef PML_INTERCEPT_SCANS_H
#define PML_INTERCEPT_SCANS_H

#include "adapter/intercept/pml_intercept_object.h"

#include <sys/types.h>
#include <time.h>

/* FNV-1a, starting with PML__SCAN_HASH: it distinguishes files, and does not protect against attacks. */
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
  bool address;                             /* a slot of addresses; false: of calls */
  uint8_t called : 1, used : 1, missed : 1; /* in code: called; used otherwise; has calls that are not in `site` */
  uint8_t choice;                           /* whether its function is chosen, once that was checked */
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
  struct pml__scan_site *site; /* calls through slots whose address is also used; sorted by slot */
  uint32_t *stored;            /* functions that it exports and whose address its own code or data have: symbols */
  size_t n, ncalls, nsites, nstored; /* slots of calls come first */
  bool named, code_read, far;        /* far: its slots lie too far apart to be scanned */
  struct pml__file file;
  uint64_t use;
};

/*
 * pml__scan_of - the slots of @o, which is pinned; valid until the next call. @made: incremented if they had to be
 * read. NULL: no memory.
 */
struct pml__scan *pml__scan_of(const struct pml__object *o, uint64_t *made);

/* Whether the code of @o, whose scan is @s, only calls through @slot, an address slot. The first call reads the code.
 * Returns 1, 0 or -ENOMEM. */
int pml__scan_calls_only(const struct pml__object *o, struct pml__scan *s, const struct pml__scan_slot *slot);

/* The calls through @slot, *@n of them, after its code was read. */
const struct pml__scan_site *pml__scan_sites(const struct pml__scan *s, const struct pml__scan_slot *slot, size_t *n);

/*
 * pml__scan_stored - the functions that @o exports and whose address its code loads, or its data contain, without a
 * symbol that another object could define (-Bsymbolic, protected and hidden names; tables of functions): *@n symbols,
 * any of which may have the mark PML__SCAN_NOTED. NULL: none, or no memory. The first call reads the code, of which
 * loads are recognised on x86-64.
 */
#define PML__SCAN_NOTED (UINT32_C(1) << 31)
uint32_t *pml__scan_stored(const struct pml__object *o, struct pml__scan *s, size_t *n);

/* Whether uses of slots in the code can be recognised as calls. */
bool pml__scan_shows_calls(const struct pml__scan *s);

const Elf64_Rela *pml__scan_relocation(const struct pml__object *o, const struct pml__scan_slot *s);

/* Whether @r refers to a function; @address: it may be used otherwise than in calls, and the symbol's type decides. */
bool pml__scan_is_function(const struct pml__object *o, const Elf64_Rela *r, bool address);

/* The slot filled by @r, if the relocation has @type. */
uintptr_t *pml__slot_at(const struct pml__object *o, const Elf64_Rela *r, uint32_t type);

/* Interception has ended; the next installation makes a new choice. */
void pml__scans_forget(void);
/* In a child, when a thread of the parent was using the scans: drop them without freeing. */
void pml__scans_give_up(void);

#endif
