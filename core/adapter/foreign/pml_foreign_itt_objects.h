/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/foreign/pml_foreign_itt_objects.h - domains, strings, counters and locks of ITT. Internal. */
#ifndef PML_FOREIGN_ITT_OBJECTS_H
#define PML_FOREIGN_ITT_OBJECTS_H

#include "adapter/section/pml_section.h"
#include "interface/itt/pml_itt.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Objects of their names, created at their first use and never freed; NULL: no name, or no memory. A process gets at
 * most PML_FOREIGN_NAMES_MAX; further names are one object, "(other names)". A lock.
 */
struct pml_itt_domain *pml__itt_domain(const char *name);
struct pml_itt_string *pml__itt_string(const char *name);
struct pml_itt_counter *pml__itt_counter(const char *name, const char *domain, int type);

/* pml__itt_number - number @k of @data, as a double. False: the type has no numbers. */
bool pml__itt_number(int type, const void *data, size_t k, double *value);

/*
 * The software-defined event of a counter, or of a counter that has only a name: add to it, or set it to the number at
 * @value. It is created at the first use. Some thousand counters are recorded; later ones are not.
 */
void pml__itt_count(const struct pml_itt_counter *c, unsigned long long by);
void pml__itt_count_in(const struct pml_itt_domain *domain, const struct pml_itt_string *name, unsigned long long by);
void pml__itt_set(const struct pml_itt_counter *c, const void *value);

/* pml__itt_lock - @lock is called @name from now on. pml__itt_lock_section - the section of waiting for it. */
void pml__itt_lock(const void *lock, const char *name);
struct pml_section *pml__itt_lock_section(const void *lock);

#endif
