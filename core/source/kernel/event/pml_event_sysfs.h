/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_sysfs.h - the files of a sysfs PMU, for the parser and the lister of pmu/event/
 * names.
 */
#ifndef PML_EVENT_SYSFS_H
#define PML_EVENT_SYSFS_H

#include "source/kernel/event/pml_event_parsers.h"

#include <dirent.h>

#define PML__PATH_MAX 4096
#define PML__ALIAS_MAX 1024 /* text of an event's or format's file */

/*
 * pml__sysfs_names - the sorted names in FOLDER of @pmu ("" and "": the PMUs themselves). Returns their number, 0 if
 * it cannot be read; free with pml__sysfs_names_free().
 */
int pml__sysfs_names(const char *pmu, const char *folder, struct dirent ***names);
void pml__sysfs_names_free(struct dirent **names, int n);

int pml__sysfs_type(const char *pmu, uint32_t *type); /* 0, -errno, -EINVAL for garbage */
bool pml__sysfs_is_core(const char *pmu);

/* PMUs of one kind, uncore_imc_0, uncore_imc_1, ..., by number; @n includes those that do not fit in @number. */
struct pml__family {
  unsigned n;
  uint32_t number[PML_EVENT_PARTS_MAX];
  char stem[64]; /* "uncore_imc_" */
};

/* pml__sysfs_is_family - is @pmu "STEM_*"? */
bool pml__sysfs_is_family(const char *pmu);
/* pml__sysfs_family - find all PMUs whose names match @pmu, such as "STEM_*". Returns 0 or -ENOENT. */
int pml__sysfs_family(const char *pmu, struct pml__family *family);
/* pml__sysfs_member - the name of member @i of those that there is room for. */
void pml__sysfs_member(const struct pml__family *family, unsigned i, char pmu[64]);

#endif
