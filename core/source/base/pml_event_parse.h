/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_event_parse.h - parser functions for event names: modifiers, numbers, parts, texts. Internal. */
#ifndef PML_EVENT_PARSE_H
#define PML_EVENT_PARSE_H

#include "base/pml_error.h"
#include "base/text/pml_nearest.h"
#include "source/pml_event.h"

#include <sys/types.h>

/* pml__event_begin - clear @ev and name it @name. Returns 0, PML_ESYNTAX or -ENAMETOOLONG (too long for any source's
 * event). */
int pml__event_begin(struct pml_event *ev, const char *name);

/* Returned by a parser that leaves the name to the next parser. */
#define PML__NOT_MINE 1

/* :u :k :h; @any: at least one of them was given. :p :pp :ppp: perf's precise_ip, 1 to 3. */
struct pml__mods {
  bool user, kernel, hyper, any;
  unsigned precise;
};

/* pml__mods_parse - whether @s consists of letters of "ukh", each at most once, and at most three "p", at least one in
 * all. */
bool pml__mods_parse(struct pml__mods *m, const char *s);

/*
 * pml__mods_split - copy @name to @base (PML_EVENT_NAME_MAX bytes) without its trailing ":modifiers", if it has them.
 */
void pml__mods_split(struct pml__mods *m, char *base, const char *name);

/* Default exclusions: a core PMU also excludes hypervisor and guests, which other PMUs may refuse. */
void pml__mods_apply(const struct pml__mods *m, struct perf_event_attr *attr, bool core_pmu);

/* pml__event_first - give @ev a single part and return it: zeroed, except attr.size and @pmu, which is static. */
struct pml_event_part *pml__event_first(struct pml_event *ev, const char *pmu);

/* pml__event_others - add @n parts to @ev, which has one. Returns 0 or -ENOMEM, which is also noted. */
int pml__event_others(struct pml_event *ev, const struct pml_event_other *other, unsigned n);

/* pml__event_set_core - tell the kernel which core PMU of a hybrid CPU is meant. */
void pml__event_set_core(struct perf_event_attr *attr, uint32_t type);

/*
 * pml__keep - intern these bytes for the life of the process, because events are plain data: names of PMUs, differences
 * between their parts, paths that the kernel reads at every open. NULL: no memory, which is noted. Thread-safe.
 */
const void *pml__keep(const void *bytes, size_t n);
const char *pml__keep_text(const char *text); /* "" if there is no memory */

/* pml__copy - copy what fits and end it; never warns, never overflows. */
void pml__copy(char *to, size_t size, const char *from);

/* pml__parse_u64 - all @n bytes of @s are one number, decimal or 0x hexadecimal, that fits 64 bits. */
bool pml__parse_u64(const char *s, size_t n, uint64_t *value);

/* A lack of memory or descriptors does not mean that an event is invalid: the function that fails notes the error, and
 * the parse, list or cache under way is abandoned. Per thread. */
void pml__event_note_shortage(int err); /* @err: any -errno; only ENOMEM, EMFILE and ENFILE are kept */
int pml__event_shortage(void);          /* the first since the last reset, or 0 */
int pml__event_shortage_reset(int err); /* set it to @err (0: none yet); returns what it was */

#endif
