/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune.h - tuning by region: a rule sets frequencies, idle states or thread numbers, or calls a
 * function, on enter; leave restores.
 *
 * After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of
 * Score-P through plugins, section 4.4. The files belong to the kernel's cpufreq and cpuidle.
 */
#ifndef PML_TUNE_H
#define PML_TUNE_H

#include "base/pml_region.h"

#include <stdbool.h>
#include <stddef.h>

PML_BEGIN_DECLS

struct pml_tune;

#define PML_TUNE_ROOT "/sys/devices/system/cpu"
#define PML_TUNE_RULES_MAX 1000u
#define PML_TUNE_TEXT 64
#define PML_TUNE_WHY 256

/*
 * pml_tune_allow - from now on this process may write to the kernel's files: a decision of its user, not
 * of what runs in it. `pmlua --allow-tuning` says it, and an application that embeds pmlua may. Thread-safe; not taken
 * back.
 */
PML__SHARED void pml_tune_allow(void);
PML__SHARED bool pml_tune_allowed(void);

/* Whose setting changes: the cpus that the thread may run on as it enters (pin it to one), the cpu it is on, or all. */
enum pml_tune_cpus { PML_TUNE_THREAD, PML_TUNE_CURRENT, PML_TUNE_ALL };

struct pml_tune_idle {
  const char *state; /* its name, "C6", or "state3" */
  bool on;
};

/*
 * @region: a name, or a shell pattern (*, ?, [...]); the first matching rule of the list applies.
 * @frequency_hz: scaling_setspeed under the governor userspace, else the most and the least alike.
 * @threads: omp_set_num_threads() on the thread that enters, of the OpenMP runtime found in the process.
 * @call: called on enter, after the settings, and on leave, before they are restored; on the thread concerned, and on
 * several threads at once. Returns 0, or -1 with a sentence in @why: then the rule is dropped and its changes are
 * restored. 0 and NULL: no change. All is copied except @arg.
 */
struct pml_tune_rule {
  const char *region;
  double frequency_hz, min_hz, max_hz;
  const char *governor;
  const struct pml_tune_idle *idle;
  size_t nidle;
  unsigned threads;
  int (*call)(void *arg, bool leave, pml_region_t region, char why[PML_TUNE_WHY]);
  void *arg;
};

struct pml_tune_options {
  const char *root; /* NULL: PML_TUNE_ROOT */
  enum pml_tune_cpus cpus;
  bool dry_run; /* nothing is set or called; pml_tune_entry() tells what would be */
  size_t log;   /* the most entries that are kept of that; 0: 65536 */
};

/*
 * pml_tune_open - start tuning. It opens the files, and checks ranges, governors and states.
 * pml_tune_stop - stop tuning; open regions are left, so that all settings are restored, including @call's, on this
 * thread, and the number of threads if this thread set it. Idempotent. pml_tune_close stops and frees.
 *
 * Nested rules: leaving the inner one restores the outer one's settings. If several threads set one file, the last
 * thread still inside its region determines its value. If the kernel refuses or changes a value, the run continues, and
 * a message reports it once per file (pml_tune_line). All settings are restored when the process exits, or by a guard
 * process if it ends in another way: see pml_tune_guard.c for exceptions. A forked child tunes nothing, restores
 * nothing and has no lines. Files are locked (flock) from their first change to the end: another process that tunes
 * them is refused.
 *
 * Returns 0, -EINVAL (no rule, a rule without settings, an invalid value, a frequency out of range, an unknown governor
 * or state), -EPERM (files to write, and pml_tune_allow() was not called), -ENOENT (the machine has no such file),
 * -EMFILE, -ENOMEM, PML_EFULL. Thread-safe, not from a consumer of the stream.
 *
 * Cost of an event without a rule: a look-up, 8 instructions, general registers only. With one: a write and a
 * read for each file that changes, some microseconds each; not for a signal handler.
 */
PML__SHARED int pml_tune_open(struct pml_tune **t, const struct pml_tune_rule *rule, size_t n,
                              const struct pml_tune_options *o);
PML__SHARED void pml_tune_stop(struct pml_tune *t);
PML__SHARED void pml_tune_close(struct pml_tune *t);

/* pml_tune_line - the messages so far; NULL after the last. Valid until close. Thread-safe. */
PML__SHARED const char *pml_tune_line(struct pml_tune *t, size_t i);

/* pml_tune_entry - an action that a dry run would have made; false after the last. Only the first ones are recorded.
 * Thread-safe. */
struct pml_tune_entry {
  uint64_t ns, thread;
  pml_region_t region;
  const char *what; /* a path, "omp_set_num_threads" or "call"; valid until close */
  char text[PML_TUNE_TEXT];
};
PML__SHARED bool pml_tune_entry(struct pml_tune *t, size_t i, struct pml_tune_entry *e);

struct pml_tune_stats {
  uint64_t entered; /* regions that have a rule */
  uint64_t writes;  /* to files */
  uint64_t refused; /* of them */
  uint64_t lost;    /* regions not tuned for want of memory */
  size_t files;
};
PML__SHARED void pml_tune_stats(struct pml_tune *t, struct pml_tune_stats *s);

PML_END_DECLS

#endif
