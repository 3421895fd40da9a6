/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_origin.h - what process this is, and what its environment asks it to leave.
 * Internal. */
#ifndef PML_SECTION_ORIGIN_H
#define PML_SECTION_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What belongs to the process as it was when sections were first used. */
struct pml__section_origin {
  int pid;
  long rank, size;     /* -1: not known */
  uint64_t started_ns; /* CLOCK_REALTIME */
  uint64_t zero_ticks; /* the same moment of pml_clock */
};
const struct pml__section_origin *pml__section_origin(void);

/*
 * pml__section_read_origin - read the environment, once; the clock runs. @timeline: how many events of a thread it asks
 * for. 0 or a negative code, with its sentence.
 */
int pml__section_read_origin(uint32_t *timeline);

/* Whether the process has a log of its sections, once that was read, and in which folder. */
bool pml__section_reports(void);
const char *pml__section_folder(void);

/* What there is to be noted of the process. */
enum pml__section_note { PML__SECTION_COUNTED, PML__SECTION_UNCOUNTED, PML__SECTION_PERMISSION, PML__SECTION_NOTES };
#define PML__SECTION_NOTE_BYTES 1024u
/* Its line's first field, its others in @text, with tabs between them; NULL: there is nothing to say. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]);

#endif
