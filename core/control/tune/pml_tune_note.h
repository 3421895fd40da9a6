/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_note.h - messages of a tuner, and the log of a dry run. Internal. */
#ifndef PML_TUNE_NOTE_H
#define PML_TUNE_NOTE_H

#include "base/pml_cancel.h"
#include "base/pml_region.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PML__NOTES_LINES 64u  /* kept; one says how many more there were */
#define PML__NOTES_LOG 65536u /* entries */
#define PML__NOTES_TEXT 64

struct pml__notes_entry {
  uint64_t ns, thread;
  pml_region_t region;
  const char *what; /* not copied */
  char text[PML__NOTES_TEXT];
};

/* Empty in a forked child, where a thread that is not there may hold the lock. */
struct pml__notes {
  pid_t pid;
  struct pml__mutex lock;
  char *line[PML__NOTES_LINES], last[64];
  size_t nlines, more;
  struct pml__notes_entry *entry;
  size_t nentries, room, most;
};

void pml__notes_init(struct pml__notes *n, size_t most); /* entries; 0: PML__NOTES_LOG */
void pml__notes_free(struct pml__notes *n);

/* All are thread-safe. A line without the memory for it is lost. */
void pml__notes_say(struct pml__notes *n, const char *fmt, ...) PML_PRINTF(2, 3);
void pml__notes_unentered(struct pml__notes *n, const char *what, const char *name); /* no region of that @name was */
const char *pml__notes_line(struct pml__notes *n, size_t i);                         /* stays; NULL after the last */
void pml__notes_log(struct pml__notes *n, pml_region_t region, const char *what, const char *text);
bool pml__notes_entry(struct pml__notes *n, size_t i, struct pml__notes_entry *e);

#endif
