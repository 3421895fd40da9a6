/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_note.c - process metadata stored with sections. */
#include "adapter/section/pml_section_note.h"
#include "source/compiler/pml_count_file.h"
#include "source/pml_event.h"

#include <stdio.h>

/* What the compiler counts, what it does not, and why events are called NAME:u. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]) {
  char libraries[512];
  const char *user_only = which == PML__SECTION_PERMISSION ? pml_event_user_only_reason() : NULL;
  if (user_only != NULL) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", user_only);
    return "permission";
  }
  if (which == PML__SECTION_PERMISSION || !pml_count_active()) return NULL;
  if (which == PML__SECTION_COUNTED) {
    (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%s", pml_count_at_name(pml_count_here()));
    return "counted";
  }
  uint64_t places = pml_count_left_out(libraries, sizeof libraries);
  if (places == 0 && libraries[0] == '\0') return NULL;
  (void)snprintf(text, PML__SECTION_NOTE_BYTES, "%llu\t%s", (unsigned long long)places, libraries);
  return "uncounted";
}
