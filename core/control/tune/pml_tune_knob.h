/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune_knob.h - kernel files that control cpus: requests of values, and restoring. Internal.
 *
 * A knob is a file below a root, opened once. A user that wants another value asks, under a number of its own, and
 * leaves; what is in force is what the last that still asks wants (or, of all, the highest number), and without anybody
 * what was there before the first. Written are the calls that change what is in force, and read back.
 */
#ifndef PML_TUNE_KNOB_H
#define PML_TUNE_KNOB_H

#include "control/tune/pml_tune_note.h"

#define PML__KNOB_TEXT 64

struct pml__knobs;
struct pml__knob;

struct pml__knobs_options {
  const char *root;
  bool dry_run; /* writes go to the log, and nowhere else */
  size_t log;   /* its most entries; 0: PML__NOTES_LOG */
  bool highest; /* wins, not the last */
};

/*
 * pml__knobs_open  - none yet. pml__knobs_knob - the file @path below the root; a file that two paths lead to is one.
 * pml__knobs_guard - no more knobs, from now on they can be asked; @guarded: a process puts back what this one leaves.
 * pml__knobs_close - all back as it was, and freed; also of a process that was forked: that leaves all as it is.
 * An exiting process also restores all files; nothing changes after that.
 *
 * A file that cannot be written is a knob all the same, and a line. Returns 0, -ENOMEM, -ENOENT, or what opening the
 * file says; guard what pml__guard_start() says.
 */
int pml__knobs_open(struct pml__knobs **k, const struct pml__knobs_options *o);
int pml__knobs_knob(struct pml__knobs *k, const char *path, struct pml__knob **knob);
int pml__knobs_guard(struct pml__knobs *k, bool guarded);
void pml__knobs_restore(struct pml__knobs *k);
void pml__knobs_close(struct pml__knobs *k);

const char *pml__knobs_root(const struct pml__knobs *k);
bool pml__knobs_dry(const struct pml__knobs *k);

/* pml__knob_is_writable - else asking has no effect. */
bool pml__knob_is_writable(const struct pml__knob *knob);

/*
 * pml__knob_ask  - @owner (never 0) wants @text from now on, and is the last that asked; @region is for the log.
 * pml__knob_leave - @owner asks no more. -ENOENT: it did not.
 * pml__knob_settle - once more what was refused; if it is again, a line says it, once for each knob.
 *
 * Return 0, -ENOMEM, or what the kernel says: what was in force still is, and the knob can be settled. A lock; a write
 * and a read where something changes. Thread-safe, not async-signal-safe.
 */
int pml__knob_ask(struct pml__knob *knob, uint64_t owner, const char *text, pml_region_t region);
int pml__knob_leave(struct pml__knob *knob, uint64_t owner, pml_region_t region);
int pml__knob_settle(struct pml__knob *knob, pml_region_t region);

struct pml__knobs_stats {
  uint64_t writes, refused;
  size_t knobs;
};
void pml__knobs_stats(struct pml__knobs *k, struct pml__knobs_stats *s);

/* Messages, and the writes of a dry run. */
struct pml__notes *pml__knobs_notes(struct pml__knobs *k);

#endif
