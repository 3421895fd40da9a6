/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune_control.h - kernel files that control cpus: requests of values, and restoring. Internal.
 *
 * A control file is a file below a root, opened once. A user requests a value under a unique number, and later
 * withdraws the request. The latest remaining request (or the highest number of all) determines the value in force;
 * without requests it is the original value. The file is written, and read back, only when the value in force changes.
 */
#ifndef PML_TUNE_CONTROL_H
#define PML_TUNE_CONTROL_H

#include "base/pml_cancel.h"
#include "base/pml_region.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- messages of a tuner, and the log of a dry run: pml_tune_note.c ---- */

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

/* ---- control files ---- */

#define PML__CONTROL_TEXT 64

struct pml__controls;
struct pml__control;

struct pml__controls_options {
  const char *root;
  bool dry_run; /* writes go to the log, and nowhere else */
  size_t log;   /* its most entries; 0: PML__NOTES_LOG */
  bool highest; /* wins, not the last */
};

/*
 * pml__controls_open - make an empty list. pml__controls_control - add the file @path below the root; two paths to one
 * file give one entry. pml__controls_guard - end adding files and allow requests; @guarded: a guard process restores
 * the files that this process leaves changed. pml__controls_close - restore all files and free the list; in a forked
 * child it restores none. An exiting process also restores all files; they do not change after that.
 *
 * A file that cannot be written is still a control file, and gives a message line. Returns 0, -ENOMEM, -ENOENT, or the
 * error of opening the file; pml__controls_guard: an error of pml__guard_start().
 */
int pml__controls_open(struct pml__controls **k, const struct pml__controls_options *o);
int pml__controls_control(struct pml__controls *k, const char *path, struct pml__control **control);
int pml__controls_guard(struct pml__controls *k, bool guarded);
void pml__controls_restore(struct pml__controls *k);
void pml__controls_close(struct pml__controls *k);

const char *pml__controls_root(const struct pml__controls *k);
bool pml__controls_dry(const struct pml__controls *k);

/* pml__control_is_writable - else asking has no effect. */
bool pml__control_is_writable(const struct pml__control *control);

/*
 * pml__control_ask - @owner (never 0) requests @text, as the latest request; @region is for the log.
 * pml__control_leave - withdraw the request of @owner. -ENOENT: it has none.
 * pml__control_settle - retry a refused value; if it is refused again, report it in a line, once for each control file.
 *
 * Return 0, -ENOMEM, or the kernel's error: the value in force is unchanged, and the control file can be settled. A
 * lock; a write and a read if the value changes. Thread-safe, not async-signal-safe.
 */
int pml__control_ask(struct pml__control *control, uint64_t owner, const char *text, pml_region_t region);
int pml__control_leave(struct pml__control *control, uint64_t owner, pml_region_t region);
int pml__control_settle(struct pml__control *control, pml_region_t region);

struct pml__controls_stats {
  uint64_t writes, refused;
  size_t controls;
};
void pml__controls_stats(struct pml__controls *k, struct pml__controls_stats *s);

/* Messages, and the writes of a dry run. */
struct pml__notes *pml__controls_notes(struct pml__controls *k);

#endif
