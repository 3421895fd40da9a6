/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/section/pml_section_cache.h - a log's sections in memory, by label. Internal.
 *
 * A report writes section by section what each log has of it. With very many labels a log is read once, not once for
 * each. Some 1 KB for each label and 300 bytes for each row.
 */
#ifndef PML_SECTION_CACHE_H
#define PML_SECTION_CACHE_H

#include "read/section/pml_section_reader.h"

struct pml__section_cache {
  struct pml__section_reader reader;
  struct pml__section_items rows; /* by section and thread */
  void **label;                   /* the definitions by label */
};

/*
 * pml__section_cache_open - read the log @path: all sections, their rows, and the quantiles of their durations.
 * Returns 0, or what pml__section_reader_open(), pml__section_reader_sorted() or pml__section_reader_durations()
 * returns. Close it either way; @path is used until then. From one thread at a time.
 */
PML__SHARED int pml__section_cache_open(struct pml__section_cache *c, const char *path);
PML__SHARED void pml__section_cache_close(struct pml__section_cache *c);

/*
 * pml__section_cache_view - the reader of section @label of @interface alone: an empty one if the log has no such
 * section. It reads nothing, lasts as long as @c, and is not closed.
 */
PML__SHARED void pml__section_cache_view(const struct pml__section_cache *c, const char *label, const char *interface,
                                         struct pml__section_reader *view);

#endif
