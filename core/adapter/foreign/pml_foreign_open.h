/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/foreign/pml_foreign_open.h - regions of domains, regions that overlap, and values. Internal.
 */
#ifndef PML_FOREIGN_OPEN_H
#define PML_FOREIGN_OPEN_H

#include "adapter/foreign/pml_foreign.h"

#include <stdbool.h>
#include <wchar.h>

/*
 * pml__foreign_within - the section "DOMAIN/LABEL", as pml_foreign_section(); a @domain that is NULL or empty: LABEL.
 * Cost: labels and domains that were last used at the same address take a comparison of their text.
 */
struct pml_section *pml__foreign_within(enum pml_foreign_interface i, const char *domain, const char *label);

/*
 * Regions that any thread may end, in any order. They are in no call tree: the thread that ends one counts a call of
 * its section (pml_section_interval.h).
 *
 * pml__foreign_open - begin a call of @s under @key; @other: a number that close returns. False: too many are open, or
 * @s is NULL; then its end is unmatched.
 * pml__foreign_close - end it. False: nothing is open under this key, which is a misuse of the section "(no begin)".
 * If several calls are open under one key, it ends one of them.
 *
 * Some 20000 calls may be open in the process. Cost: no lock and no allocation; two atomic exchanges for a call.
 */
bool pml__foreign_open(enum pml_foreign_interface i, struct pml_section *s, uint64_t key, uint64_t other);
bool pml__foreign_close(enum pml_foreign_interface i, uint64_t key, uint64_t *other);

/*
 * pml__foreign_value - a number that the program attached to @label: a value of the recorder
 * "sde:::INTERFACE::LABEL". Values of more than PML__FOREIGN_RECORDERS labels, and more than PML__FOREIGN_VALUES of a
 * label, are dropped; the recorder counts the latter.
 */
#define PML__FOREIGN_RECORDERS 1024u
#define PML__FOREIGN_VALUES (UINT64_C(1) << 20)
void pml__foreign_value(enum pml_foreign_interface i, const struct pml_section *s, double value);

/* pml__foreign_narrow - UTF-8 of @wide in @text, cut at its @bytes; bytes of no character become '?'. NULL stays. */
const char *pml__foreign_narrow(const wchar_t *wide, char *text, size_t bytes);

/*
 * pml__foreign_tool - load the other tool, which the environment of `pmlua record` named for interface @i; *@library is
 * its handle. Returns its function @symbol; NULL: it has none, or no tool was named, or *@library is NULL because the
 * tool cannot be loaded; then a call of a section tells the reason.
 */
void *pml__foreign_tool(enum pml_foreign_interface i, const char *symbol, void **library);

#endif
