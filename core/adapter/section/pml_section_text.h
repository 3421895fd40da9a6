/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_text.h - who writes which part of a section file. Internal. */
#ifndef PML_SECTION_TEXT_H
#define PML_SECTION_TEXT_H

#include "base/pml_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What belongs to the process as it was when sections were first used. */
struct pml__section_origin {
  int pid;
  long rank, size;     /* -1: not known */
  uint64_t started_ns; /* CLOCK_REALTIME */
  uint64_t zero_ns;    /* the same moment on pml_clock's axis */
};
const struct pml__section_origin *pml__section_origin(void);

/* Once the clock runs: reads the environment at its first call. The same result at every call, with its sentence. */
int pml__section_prepare_file(void);

/* Whether the process leaves a file of its sections, once it is prepared. */
bool pml__section_reports(void);

/* As pml_section_text(); @rows: how many there are. */
int pml__section_text(struct pml__text *t, bool timeline, size_t *rows);
void pml__section_timeline_text(struct pml__text *t);

#endif
