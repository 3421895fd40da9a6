/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign.h - regions that programs name to other tools, as sections. Internal.
 *
 *   struct pml_section *s = pml_foreign_section(PML_FOREIGN_NVTX, "solve");  // a few instructions if it is known
 *   pml_section_start(s);
 *   pml_section_stop(s);
 *
 * A program that is annotated for Kokkos Tools, ITT, NVTX, LIKWID, Caliper or PAPI calls functions of the interface.
 * One file for each interface, pml_foreign_NAME.c, contains these functions. They belong to libpmlua-record.so, which
 * `pmlua record` preloads, and call the functions here. Each label of an interface is a section, whose interface is
 * shown beside it, so that sums, traces, flow graphs, --event, reports and live questions have it as any section.
 * Misuse, such as an end without its begin, is a misuse of the section.
 *
 * A process has at most PML_FOREIGN_NAMES_MAX different labels; further labels are one section of their interface,
 * "(other names)". A label that is NULL is "(null)", an empty one "(empty)". A label is cut at PML_FOREIGN_LABEL bytes,
 * which an ellipsis shows. Labels may contain any bytes, as labels of sections; tables and JSON show them printable.
 *
 * All functions are thread-safe; none is async-signal-safe.
 */
#ifndef PML_FOREIGN_H
#define PML_FOREIGN_H

#include "adapter/section/pml_section.h"

#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/*
 * A row for each interface: id; name; the environment variables by which programs find a tool, separated by blanks.
 * Programs link with the library of an interface without variables: the functions here come first, and call that
 * library. `pmlua record` sets the variables. If another tool was named there, PMLUA_RECORD_ID contains its library,
 * and the functions here load it and pass each call on, so that both tools get all calls.
 */
#define PML_FOREIGN_LIST(X)                                                                                            \
  X(KOKKOS, "Kokkos", "KOKKOS_TOOLS_LIBS KOKKOS_PROFILE_LIBRARY")                                                      \
  X(ITT, "ITT", "INTEL_LIBITTNOTIFY64")                                                                                \
  X(NVTX, "NVTX", "NVTX_INJECTION64_PATH")                                                                             \
  X(LIKWID, "LIKWID", NULL)                                                                                            \
  X(CALIPER, "Caliper", NULL)                                                                                          \
  X(PAPI, "PAPI", NULL)
#define PML__FOREIGN_ENUM(id, name, variables) PML_FOREIGN_##id,
enum pml_foreign_interface { PML_FOREIGN_LIST(PML__FOREIGN_ENUM) PML_FOREIGN_INTERFACES };
#undef PML__FOREIGN_ENUM

#define PML_FOREIGN_NAMES_MAX 100000u
#define PML_FOREIGN_LABEL 4096u /* bytes by which labels differ; later ones are cut */

struct pml_foreign_about {
  const char *name, *variables, *before; /* before: the variable with what another tool's variable contained */
};

/* pml_foreign_about - the row of the list for interface @i. */
PML__SHARED const struct pml_foreign_about *pml_foreign_about(enum pml_foreign_interface i);

/*
 * pml_foreign_section - the section of @label, defined at its first use; NULL without memory or while sections cannot
 * be defined, which every function takes. Sections are never freed, so the caller may keep it.
 * Cost: a label that was last used at the same address takes a comparison of its text; others a hash and a search
 * without a lock; a new one a lock and an allocation.
 */
PML__SHARED struct pml_section *pml_foreign_section(enum pml_foreign_interface i, const char *label);

/* pml_foreign_transfer - the same for a section whose work is bytes. */
PML__SHARED struct pml_section *pml_foreign_transfer(enum pml_foreign_interface i, const char *label);

/*
 * pml_foreign_count - sections that are defined from now on count the @n events of the recording. The texts and the
 * array stay as long as the process. Called before the program runs.
 */
PML__SHARED void pml_foreign_count(const char *const *list, size_t n);

/*
 * pml__foreign_table - the table of @bytes of zeros at *@at, which is mapped at its first use, because few programs
 * need it, and the size of a library's data counts against the limits of all. Lock-free: the table that is stored
 * first, with release, is the one; it is loaded with acquire. Never freed. NULL: no memory.
 */
PML__SHARED void *pml__foreign_map(void **at, size_t bytes);
static inline void *pml__foreign_table(void **at, size_t bytes) {
  void *table = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  return PML_LIKELY(table != NULL) ? table : pml__foreign_map(at, bytes);
}

/* pml_foreign_unmatched - count an end without a begin whose label is unknown: a misuse of the section "(no begin)". */
PML__SHARED void pml_foreign_unmatched(enum pml_foreign_interface i);

/* pml_foreign_mark - an event without duration: one call of @s, which takes no time, with @work if that is not 0. */
PML__SHARED void pml_foreign_mark(struct pml_section *s, double work);

/*
 * Regions whose end does not say which one ends.
 *
 * pml_foreign_push - start @s on the stack (@i, @stack) of the calling thread. A thread has any number of stacks, one
 * for each value of @stack, such as the address of a domain; the caller chooses the values. pml_foreign_push_work - the
 * same, with the work that will be done in it.
 * pml_foreign_pop - stop the section that was pushed last on this stack of this thread. An empty stack is unmatched.
 * Cost: some instructions more than start and stop. A push allocates when a thread nests deeper than before; without
 * memory it is dropped, and its pop is unmatched.
 */
PML__SHARED void pml_foreign_push(enum pml_foreign_interface i, uint64_t stack, struct pml_section *s);
PML__SHARED void pml_foreign_push_work(enum pml_foreign_interface i, uint64_t stack, struct pml_section *s,
                                       double work);
PML__SHARED void pml_foreign_pop(enum pml_foreign_interface i, uint64_t stack);

/*
 * Regions whose start and end have a number.
 *
 * pml_foreign_id - the number of @s, below 2^PML_FOREIGN_ID_BITS; 0 if @s is NULL.
 * pml_foreign_of - the section of a number, whose other bits may be anything. A number that interface @i did not give
 * out is unmatched, and returns NULL.
 */
#define PML_FOREIGN_ID_BITS 25
PML__SHARED uint64_t pml_foreign_id(const struct pml_section *s);
PML__SHARED struct pml_section *pml_foreign_of(enum pml_foreign_interface i, uint64_t id);

PML_END_DECLS

#endif
