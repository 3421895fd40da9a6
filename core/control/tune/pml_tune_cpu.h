/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/tune/pml_tune_cpu.h - cpus below a root, and their files for frequency, governor and idle states.
 * Internal.
 */
#ifndef PML_TUNE_CPU_H
#define PML_TUNE_CPU_H

#include "control/tune/pml_tune_control.h"

struct pml__cpus {
  unsigned *number; /* [n], ascending */
  size_t n, room;
};

/* pml__cpus_find - the cpus with a folder below @root; -ENOENT: no such folder. pml__cpus_free - also of all zero. */
int pml__cpus_find(struct pml__cpus *c, const char *root);
void pml__cpus_free(struct pml__cpus *c);

/* One value for one kind of file. */
struct pml__cpu_setting {
  char text[PML__CONTROL_TEXT];
  struct pml__control **control; /* [n], owned; NULL where a cpu has no such file */
};

/*
 * Open the file of each cpu and check the value. Cpus without the file (they may be offline) are left out; -ENOENT: all
 * are. -EINVAL, with a sentence: a frequency out of the range of all cpus, a governor or a state that there is not.
 * @out->control is to be freed, also after a failure.
 */
int pml__cpu_frequency(struct pml__controls *k, const struct pml__cpus *c, const char *file, double hz,
                       struct pml__cpu_setting *out);
int pml__cpu_governor(struct pml__controls *k, const struct pml__cpus *c, const char *name,
                      struct pml__cpu_setting *out);
int pml__cpu_idle(struct pml__controls *k, const struct pml__cpus *c, const char *state, bool on,
                  struct pml__cpu_setting *out);

/* pml__cpu_is_userspace - whether frequencies are the user's to set: the governor of the first cpu that has one. 0, or
 * why that could not be read. */
int pml__cpu_is_userspace(const char *root, const struct pml__cpus *c, bool *is);

/* pml__cpu_range_hz - of all cpus; -ENOENT, without a sentence: unknown. */
int pml__cpu_range_hz(const char *root, const struct pml__cpus *c, double *min, double *max);

/* pml__cpu_text - how the kernel's files have a frequency: in kHz. */
void pml__cpu_text(double hz, char text[PML__CONTROL_TEXT]);

#endif
