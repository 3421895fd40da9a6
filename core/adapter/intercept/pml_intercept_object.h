/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_object.h - loaded objects, and the tables of their dynamic sections.
 *
 * A file's tables may be damaged in ways that the loader never notices. Therefore no table is trusted: a table must lie
 * in one readable mapped segment, counts are limited to it, and names end in it.
 */
#ifndef PML_INTERCEPT_OBJECT_H
#define PML_INTERCEPT_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapter/intercept/pml_intercept_hooks.h"
#include "adapter/intercept/pml_intercept_wrapped.h"
#include "base/pml_region.h"

#define PML__SEGMENTS 16u /* further segments are ignored */

struct pml__segment {
  uintptr_t lo, hi;
  uint64_t offset, filled; /* offset in the file; number of bytes from the file */
  uint32_t flags;
};

struct pml__object {
  uintptr_t base, lo, hi; /* bounds of its image */
  char *path;             /* also for the program; owned */
  char *file;             /* result of pml__object_file(); owned */
  const char *soname;     /* its soname, or NULL */
  struct pml__segment segment[PML__SEGMENTS];
  uint32_t nsegments;
  uintptr_t relro_lo, relro_hi; /* pages that the loader made read-only */
  bool program;
  bool startup; /* loaded with the program: it is never unloaded, and its exports are global */
  bool wanted;  /* its functions are chosen; set by the caller */
  bool fresh;   /* it is new, or some of them have new thunks; set by the caller */
  enum pml__hooks_role role;
  /* from its dynamic section, or NULL and 0 */
  const Elf64_Sym *sym;
  const char *str;
  const Elf64_Rela *jmprel, *rela;
  const uint16_t *versym;
  const Elf64_Verneed *verneed;
  const uint32_t *gnu_hash, *hash;
  size_t nsym, nstr, njmprel, nrela; /* bounds; there may be fewer symbols */
  size_t nrelative;                  /* relocations without a symbol, before rela[0] */
  void *handle;                      /* set while it is pinned */
  const Elf64_Phdr *phdr;
  size_t nphdr;
  struct pml__wrap_list wrapped; /* functions for which it has wrappers; set by the caller */
  bool asked;                    /* @wrapped was searched */
};

/* Address range of an object, in a compact form for binary search. */
struct pml__image {
  uintptr_t lo, hi;
  uint32_t object; /* its index */
};

struct pml__objects {
  struct pml__object *at; /* in the loader's order; the first is the program */
  size_t n, room;
  struct pml__image *by_address; /* the ranges of all, sorted */
};

/*
 * Collect all objects of the program's namespace. Returns 0 or -ENOMEM; pair with pml__objects_free() in either case.
 */
int pml__objects_collect(struct pml__objects *all);
void pml__objects_free(struct pml__objects *all);
/* The object at @address, or NULL. Cost: a binary search. */
const struct pml__object *pml__objects_find(const struct pml__objects *all, uintptr_t address);

/* The name by which the object is reported, independent of the name by which it was loaded; owned by the object. Cost:
 * some system calls, once, if it was loaded by another name than its soname. */
const char *pml__object_file(struct pml__object *o);
/* The kind of its functions' regions. */
static inline const char *pml__object_kind(const struct pml__object *o) {
  return o->program ? PML__REGION_FUNCTION : PML__REGION_LIBRARY;
}

/* Describe only the object at @address. Returns false if there is no object or no memory; otherwise the caller frees
 * its path. */
bool pml__object_at(struct pml__object *o, uintptr_t address);

/* Describe the first object in the loader's order for which @is returns true. Returns false if there is no such object
 * or no memory; otherwise the caller frees its path. */
bool pml__object_first(struct pml__object *o, bool (*is)(const struct pml__object *o, void *arg), void *arg);

/* Keep an object loaded until it is unpinned. Returns false if it is no longer loaded. */
bool pml__object_pin(struct pml__object *o);
void pml__object_unpin(struct pml__object *o);

bool pml__object_is_code(const struct pml__object *o, uintptr_t address);
/* Whether @address is a possible slot: aligned, and in a writable part of the file's image. */
bool pml__object_has_slot(const struct pml__object *o, uintptr_t address);
/* Number of bytes of segment @s that can be read without a fault, even if the file was truncated since. */
size_t pml__object_readable(const struct pml__object *o, const struct pml__segment *s);
size_t pml__segment_readable(const struct pml__segment *s, uint64_t file_bytes); /* for a file of this size */
/* Whether @n bytes at @address are in a readable segment, and equal @bytes. */
bool pml__object_has_bytes(const struct pml__object *o, uintptr_t address, const void *bytes, size_t n);

/*
 * pml__object_read_text - call @seen with each piece of the code of @o, from its file or its memory, and its address
 * when mapped. Consecutive pieces of one segment share @shared bytes. After an error of the file some pieces are
 * repeated.
 */
typedef void pml__seen_text(void *arg, const uint8_t *text, size_t n, uintptr_t at);
void pml__object_read_text(const struct pml__object *o, size_t shared, pml__seen_text *seen, void *arg);

/* Whether the function uses another convention for vector registers, which arm64 marks. */
static inline bool pml__symbol_is_variant(const Elf64_Sym *s) {
#ifdef __aarch64__
  return (s->st_other & 0x80) != 0;
#else
  (void)s;
  return false;
#endif
}

/* Symbol @i, or NULL; its name and the name's length, or NULL. */
const Elf64_Sym *pml__object_symbol(const struct pml__object *o, size_t i);
const char *pml__object_name(const struct pml__object *o, const Elf64_Sym *s, size_t *n);
/* Whether the symbol has this name, of @n bytes. */
bool pml__object_is_named(const struct pml__object *o, const Elf64_Sym *s, const char *name, size_t n);
/* The version of symbol @i that the object needs, or NULL. */
const char *pml__object_needs(const struct pml__object *o, size_t i);

/* The hash of a name in DT_GNU_HASH. */
uint32_t pml__object_hash(const char *name, size_t n);

/* An object's table of defined names: DT_GNU_HASH. */
struct pml__hash_table {
  const uint32_t *bucket, *chain;
  size_t nchain;            /* upper limit */
  uint32_t nbuckets, first; /* first: the symbol at the beginning of the chains */
};

/* Returns false if the object has no table of this kind. */
bool pml__hash_table_read(const struct pml__object *o, struct pml__hash_table *h);

/* pml__hash_table_find - call @seen with every symbol of @o named @name, of @n bytes and hash @hash, until it returns
 * false. @h: NULL: use the older table. Includes undefined symbols; @seen must check. */
typedef bool pml__seen_symbol(void *arg, size_t symbol);
void pml__hash_table_find(const struct pml__object *o, const struct pml__hash_table *h, const char *name, size_t n,
                          uint32_t hash, pml__seen_symbol *seen, void *arg);

/* Call @seen with every symbol of the hash table until it returns false. */
void pml__object_walk(const struct pml__object *o, pml__seen_symbol *seen, void *arg);

/* Whether @address is a PLT entry of @o, the program, that serves as the address of the function @name of a library: a
 * program at a fixed address has such entries for functions whose address it takes, and every object uses them. */
bool pml__object_stands_in(const struct pml__object *o, const char *name, uintptr_t address);

/* Whether the object exports @name as the function at @address, or as an IFUNC that chose it. */
bool pml__object_exports(const struct pml__object *o, const char *name, uintptr_t address);
/* Whether it exports a function @name. */
bool pml__object_defines(const struct pml__object *o, const char *name);

#endif
