/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_note.h - process metadata stored with sections. Internal. */
#ifndef PML_SECTION_NOTE_H
#define PML_SECTION_NOTE_H

enum pml__section_note { PML__SECTION_COUNTED, PML__SECTION_UNCOUNTED, PML__SECTION_PERMISSION, PML__SECTION_NOTES };
#define PML__SECTION_NOTE_BYTES 1024u
/* Its line's first field, its others in @text, with tabs between them; NULL: there is nothing to say. */
const char *pml__section_note(enum pml__section_note which, char text[PML__SECTION_NOTE_BYTES]);

#endif
